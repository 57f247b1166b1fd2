//! Special registers: the builtin value of the IR that each one reads, and the register that such a value came from.
//!
//! Source: PTX ISA 9.0, section 10.

use crate::inst::Special;
use crate::types::Type;

/// A register without a builtin value of its own name: the same in every thread of the workgroup, or of the dispatch.
struct Other {
    name: &'static str,
    /// Numbers tell the values apart: four of them belong to each register, one for each component.
    number: u16,
    ty: Type,
    dispatch: bool,
    /// True if it has the components x, y and z, and w, which is 0.
    is_vector: bool,
    /// The least architecture that has it.
    sm: u32,
}

const fn of(name: &'static str, number: u16, ty: Type, sm: u32) -> Other {
    Other {
        name,
        number,
        ty,
        dispatch: true,
        is_vector: false,
        sm,
    }
}

const fn vector(name: &'static str, number: u16) -> Other {
    Other {
        is_vector: true,
        ..of(name, number, Type::I32, 90)
    }
}

const fn of_workgroup(other: Other) -> Other {
    Other {
        dispatch: false,
        ..other
    }
}

const OTHERS: [Other; 19] = [
    of_workgroup(vector("%clusterid", 1)),
    of_workgroup(vector("%cluster_ctaid", 2)),
    of_workgroup(of("%cluster_ctarank", 3, Type::I32, 90)),
    of("%nsmid", 1, Type::I32, 20),
    of("%gridid", 2, Type::I64, 30),
    vector("%nclusterid", 3),
    vector("%cluster_nctaid", 4),
    of("%cluster_nctarank", 5, Type::I32, 90),
    of("%dynamic_smem_size", 6, Type::I32, 20),
    of("%total_smem_size", 7, Type::I32, 20),
    of("%aggr_smem_size", 8, Type::I32, 90),
    of("%current_graph_exec", 9, Type::I64, 50),
    of("%is_explicit_cluster", 10, Type::Bool, 90),
    of("%reserved_smem_offset_begin", 11, Type::I32, 80),
    of("%reserved_smem_offset_end", 12, Type::I32, 80),
    of("%reserved_smem_offset_cap", 13, Type::I32, 80),
    of("%reserved_smem_offset_0", 14, Type::I32, 80),
    of("%reserved_smem_offset_1", 15, Type::I32, 80),
    // The most warps that a multiprocessor numbers, not those of the workgroup.
    of("%nwarpid", 16, Type::I32, 20),
];

/// `%envreg0` to `%envreg31`, which the driver sets before the launch.
const ENVIRONMENT: u16 = 32;

/// A read of a special register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegisterRead {
    /// `None` for a component that is always 0.
    pub special: Option<Special>,
    pub ty: Type,
}

/// Returns the value that a register reads, `%tid` with the selector `x` or `%laneid` without one; `None`: no
/// such register.
#[must_use]
pub fn read_of(name: &str, selector: Option<&str>) -> Option<RegisterRead> {
    let axis = match selector {
        Some("x") | None => 0,
        Some("y") => 1,
        Some("z") => 2,
        _ => 3,
    };
    let vector = |special: fn(u8) -> Special| {
        Some(RegisterRead {
            special: (axis < 3).then(|| special(axis)),
            ty: Type::I32,
        })
    };
    let scalar = |special, ty| {
        Some(RegisterRead {
            special: Some(special),
            ty,
        })
    };
    match name {
        "%tid" => return vector(Special::ThreadId),
        "%ntid" => return vector(Special::BlockDim),
        "%ctaid" => return vector(Special::BlockId),
        "%nctaid" => return vector(Special::GridDim),
        "%laneid" => return scalar(Special::LaneId, Type::I32),
        // Not the number of the warp in its workgroup.
        "%warpid" => return scalar(Special::WarpSlot, Type::I32),
        "WARP_SZ" => return scalar(Special::WarpSize, Type::I32),
        "%lanemask_eq" => return scalar(Special::LaneMaskEq, Type::I32),
        "%lanemask_lt" => return scalar(Special::LaneMaskLt, Type::I32),
        "%lanemask_le" => return scalar(Special::LaneMaskLe, Type::I32),
        "%lanemask_gt" => return scalar(Special::LaneMaskGt, Type::I32),
        "%lanemask_ge" => return scalar(Special::LaneMaskGe, Type::I32),
        "%clock" | "%clock_hi" => return scalar(Special::Clock, Type::I32),
        "%globaltimer_lo" | "%globaltimer_hi" => return scalar(Special::Clock, Type::I32),
        "%clock64" | "%globaltimer" => return scalar(Special::Clock, Type::I64),
        "%smid" => return scalar(Special::SmId, Type::I32),
        _ => {}
    }
    if let Some(other) = OTHERS.iter().find(|other| other.name == name) {
        let number = other.number * 4 + u16::from(axis);
        return scalar(
            match other.dispatch {
                true => Special::OtherDispatch(number),
                false => Special::OtherWorkgroup(number),
            },
            other.ty,
        );
    }
    if let Some(number) = name.strip_prefix("%envreg") {
        let number: u16 = number.parse().ok().filter(|&number| number < 32)?;
        return scalar(
            Special::OtherDispatch((ENVIRONMENT + number) * 4),
            Type::I32,
        );
    }
    let number = name.strip_prefix("%pm")?;
    let wide = number.ends_with("_64");
    number.trim_end_matches("_64").parse::<u8>().ok()?;
    scalar(Special::Clock, if wide { Type::I64 } else { Type::I32 })
}

/// The register that an `OtherWorkgroup` or `OtherDispatch` came from, and the least architecture that has it; `None`: it
/// came from none.
#[must_use]
pub fn name_of(special: Special) -> Option<(String, u32)> {
    let (dispatch, number) = match special {
        Special::OtherDispatch(number) => (true, number),
        Special::OtherWorkgroup(number) => (false, number),
        _ => return None,
    };
    let (register, axis) = (number / 4, usize::from(number % 4));
    if dispatch && (ENVIRONMENT..ENVIRONMENT + 32).contains(&register) && axis == 0 {
        return Some((format!("%envreg{}", register - ENVIRONMENT), 20));
    }
    let other = OTHERS
        .iter()
        .find(|other| (other.dispatch, other.number) == (dispatch, register))?;
    let name = match other.is_vector {
        true => format!("{}.{}", other.name, ["x", "y", "z", "w"][axis]),
        false => other.name.to_owned(),
    };
    Some((name, other.sm))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_found_again() {
        for other in &OTHERS {
            let selector = other.is_vector.then_some("z");
            let read = read_of(other.name, selector).expect("a register");
            let (name, _) = name_of(read.special.expect("a value")).expect("a name");
            let expected = match selector {
                Some(selector) => format!("{}.{selector}", other.name),
                None => other.name.to_owned(),
            };
            assert_eq!((name, read.ty), (expected, other.ty));
        }
        let read = read_of("%envreg7", None).and_then(|read| name_of(read.special?));
        assert_eq!(read, Some(("%envreg7".to_owned(), 20)));
        assert_eq!(read_of("%envreg32", None), None);
        assert_eq!(name_of(Special::OtherDispatch(0)), None);
        assert_eq!(name_of(Special::OtherDispatch(1024)), None);
    }
}
