//! Registers whose value is the same whenever a lane computes it: functions of parameters, numbers, constant memory and the place of
//! a lane in its launch.
//!
//! ```text
//! ld.param.u32 %r1, [n]; mov.u32 %r2, %ctaid.x; mad.lo.s32 %r3, %r2, %r1, 7;     of the warp: %r1, %r2, %r3
//! mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r4, 12, %r3;                             12*Tid and a part of the warp: %r5
//! ```
//!
//! No execution in another order, and no lane that is an iteration ahead, makes such a value another one: a slot of the warp
//! may be written with it at any time. Only registers that one instruction without a guard writes. One pass over the
//! statements, in their order; a source that is written behind its use is not known.

use super::Body;
use super::definitions::{Definition, definitions};
use crate::mir::Virtual;
use rustc_hash::FxHashMap;
use syntax::ptx::{Operand, PtxFunction};

/// A value that no time changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Invariant {
    /// The same in all lanes of a warp; an instruction reads it where it lies where nothing is computed.
    Warp { in_place: bool },
    /// `c * %tid.x` and a part that is the same in all lanes of a warp.
    Affine(i64),
}

/// Invariant values by register.
pub(super) fn invariants(tree: &PtxFunction, body: &Body) -> FxHashMap<Virtual, Invariant> {
    let mut known = FxHashMap::default();
    for definition in definitions(tree, body) {
        let reads = Reads {
            known: &known,
            definition,
            tree,
        };
        if let Some(found) = reads.computed() {
            known.insert(definition.register, found);
        }
    }
    known
}

struct Reads<'a> {
    known: &'a FxHashMap<Virtual, Invariant>,
    definition: Definition<'a>,
    tree: &'a PtxFunction,
}

impl Reads<'_> {
    fn computed(&self) -> Option<Invariant> {
        let i = self.definition.instruction;
        let name = self.definition.operation.mnemonic.opcode().name();
        let (_, sources) = i.operands.split_first()?;
        let sources: Option<Vec<Invariant>> =
            sources.iter().map(|source| self.of(source)).collect();
        let sources = sources?;
        let all_of_warp = sources
            .iter()
            .all(|source| matches!(source, Invariant::Warp { .. }));
        let all_in_place = sources
            .iter()
            .all(|source| matches!(source, Invariant::Warp { in_place: true }));
        if name == "ld" {
            let constant = self.definition.loads_constant(self.tree)
                || (i.has("nc") && self.definition.loads_in_any_order());
            let found = Invariant::Warp {
                in_place: self.definition.loads_parameter(self.tree) && all_in_place,
            };
            return (constant && all_of_warp).then_some(found);
        }
        if !self.definition.is_function() {
            return None;
        }
        if all_of_warp {
            let moves = matches!(name, "mov" | "cvta");
            return Some(Invariant::Warp {
                in_place: moves && all_in_place,
            });
        }
        // Exact for one width alone: what widens is left out.
        let integer = |of: &Invariant| match of {
            Invariant::Warp { .. } => 0,
            Invariant::Affine(factor) => *factor,
        };
        let number = |at: usize| match i.operands.get(at) {
            Some(Operand::Integer(number, _)) => Some(*number),
            _ => None,
        };
        let wide = i.has("wide") || i.has("hi") || i.has("sat");
        let word = i
            .modifiers
            .last()
            .is_some_and(|ty| matches!(&ty[..], "s32" | "u32" | "b32"));
        if wide || !word {
            return None;
        }
        let factor = match (name, &sources[..]) {
            ("mov", [a]) => integer(a),
            ("add", [a, b]) => integer(a).wrapping_add(integer(b)),
            ("sub", [a, b]) => integer(a).wrapping_sub(integer(b)),
            ("shl", [a, Invariant::Warp { .. }]) => {
                let count = u32::try_from(number(2)?).ok().filter(|&count| count < 32)?;
                integer(a).wrapping_shl(count)
            }
            ("mul", [a, Invariant::Warp { .. }]) => integer(a).wrapping_mul(number(2)?),
            ("mad", [a, Invariant::Warp { .. }, b]) => {
                integer(a).wrapping_mul(number(2)?).wrapping_add(integer(b))
            }
            _ => return None,
        };
        Some(Invariant::Affine(i64::from(factor as i32)))
    }

    fn of(&self, operand: &Operand) -> Option<Invariant> {
        let whole = Some(Invariant::Warp { in_place: true });
        match operand {
            Operand::Name(name) => {
                match self.definition.register_at(name.span.start) {
                    Some(register) => self.known.get(&register).copied(),
                    None if name.text.starts_with('%') => special(&name.text, None),
                    // A parameter, or the address of a variable.
                    None => whole,
                }
            }
            Operand::Component(name, part) => {
                let register = self.definition.register_at(name.span.start);
                register
                    .is_none()
                    .then(|| special(&name.text, Some(part)))
                    .flatten()
            }
            Operand::Integer(..) | Operand::Float32(..) | Operand::Float64(..) => whole,
            Operand::Address(parts, _) => match &parts[..] {
                [part] => self.of(part),
                _ => None,
            },
            Operand::Offset(base, offset, _) => match (self.of(base)?, &**offset) {
                (Invariant::Warp { in_place }, Operand::Integer(..)) => {
                    Some(Invariant::Warp { in_place })
                }
                _ => None,
            },
            _ => None,
        }
    }
}

/// A special register that says where a lane is in its launch.
fn special(name: &str, part: Option<&str>) -> Option<Invariant> {
    match (name, part) {
        ("%tid", Some("x")) | ("%tid.x", None) => Some(Invariant::Affine(1)),
        ("%ctaid" | "%nctaid" | "%ntid", Some(_)) => Some(Invariant::Warp { in_place: false }),
        _ => {
            let of_workgroup = ["%ctaid.", "%nctaid.", "%ntid."];
            let known = part.is_none() && of_workgroup.iter().any(|word| name.starts_with(word));
            known.then_some(Invariant::Warp { in_place: false })
        }
    }
}
