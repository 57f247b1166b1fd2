//! The machine code of a kernel as NVIDIA's disassembler prints it: the share of its execution that serves
//! spilled values.
//!
//! ```text
//! .L_x_1:
//!     /*0260*/   LDL R5, [R1+0x8] ;          in a loop: ten times
//!     /*0270*/   FFMA R4, R5, R4, R4 ;
//!     /*02c0*/   @P0 BRA `(.L_x_1) ;
//! ```
//!
//! An instruction in a loop counts tenfold a level; a loop is what lies between a branch and the earlier
//! place that it leads to. Unrolling changes the work of a loop in one round: costs are held against the
//! arithmetic on floating-point numbers and the accesses to global memory of the same code, which spilling
//! does not change.

use std::collections::HashMap;

/// The cost of the executed instructions.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize)]
pub struct Weight {
    /// In issue slots.
    pub cost: f64,
    /// Instructions that are independent of spilling.
    pub work: f64,
    /// Accesses to local memory.
    pub local: f64,
    /// Bytes of a lane that the instructions among them load and store, each counted once.
    pub local_bytes: u32,
}

/// Issue slots of a load from local memory, of a store to it, and of an access to shared memory, chosen by the times of three kernels
/// (affine values, a tile of a matrix product, a bank of filters) in 24 to 64 registers on an H200, as they are and with values parked.
/// They tell large differences apart, not small ones: a tile that is 0.7 % cheaper by them took 2 % longer. A value that a loop
/// stores waits for the store when it is loaded.
const LOCAL_LOAD: f64 = 1.5;
const LOCAL_STORE: f64 = 5.0;
const SHARED: f64 = 1.25;
/// Executions of a loop's body for one of the loop, and the levels that are distinguished.
const LEVEL: f64 = 10.0;
const LEVELS: usize = 4;

impl Weight {
    /// Issue slots for each instruction of the kernel's own; `None` if it has none that can be identified.
    pub fn rate(&self) -> Option<f64> {
        (self.work > 0.0).then(|| self.cost / self.work)
    }
}

/// The weight of an entry's code; `None` where the listing has none of it.
pub fn weigh(listing: &str, entry: &str) -> Option<Weight> {
    let mut inside = false;
    let mut labels: HashMap<&str, usize> = HashMap::new();
    let mut code: Vec<&str> = Vec::new();
    for line in listing.lines() {
        let line = line.trim();
        // `.sectioninfo` tells of the section that it stands in.
        if let Some(rest) = line.strip_prefix(".section")
            && rest.starts_with([' ', '\t'])
        {
            let name = rest.trim_start().split([',', ' ', '\t']).next();
            inside = name.and_then(|name| name.strip_prefix(".text.")) == Some(entry);
            continue;
        }
        if !inside {
            continue;
        }
        if let Some(label) = line.strip_suffix(':') {
            labels.insert(label, code.len());
        } else if let Some(text) = line.strip_prefix("/*")
            && let Some((_, text)) = text.split_once("*/")
        {
            code.push(text.trim_start());
        }
    }
    if code.is_empty() {
        return None;
    }
    let mut depths = vec![0usize; code.len()];
    for (at, text) in code.iter().enumerate() {
        let Some(target) = branch(text).and_then(|label| labels.get(label)) else {
            continue;
        };
        // The last instruction of a kernel leads to itself, behind its end.
        if *target < at {
            depths[*target..=at]
                .iter_mut()
                .for_each(|depth| *depth += 1);
        }
    }
    let mut out = Weight::default();
    for (text, &depth) in code.iter().zip(&depths) {
        let name = opcode(text);
        let count = LEVEL.powi(depth.min(LEVELS) as i32);
        let slots = match name {
            "NOP" => 0.0,
            "LDL" => LOCAL_LOAD,
            "STL" => LOCAL_STORE,
            "LDS" | "STS" => SHARED,
            _ => 1.0,
        };
        out.cost += count * slots;
        if matches!(name, "LDL" | "STL") {
            out.local += count;
            out.local_bytes += width(text);
        }
        if is_work(name) {
            out.work += count;
        }
    }
    Some(out)
}

/// The name of an instruction, behind its guard and without its words.
fn opcode(text: &str) -> &str {
    let text = match text.strip_prefix('@') {
        Some(rest) => rest
            .split_once(' ')
            .map_or("", |(_, rest)| rest)
            .trim_start(),
        None => text,
    };
    text.split(['.', ' ', ';']).next().unwrap_or("")
}

/// Bytes of a lane that an access moves.
fn width(text: &str) -> u32 {
    let name = text.split_once(" [").map_or(text, |(front, _)| front);
    let has = |word: &str| name.split(['.', ' ']).any(|own| own == word);
    match () {
        () if has("128") => 16,
        () if has("64") => 8,
        () if has("U16") || has("S16") => 2,
        () if has("U8") || has("S8") => 1,
        () => 4,
    }
}

/// The label that a branch leads to.
fn branch(text: &str) -> Option<&str> {
    if !matches!(opcode(text), "BRA" | "BRX" | "JMP") {
        return None;
    }
    let (_, rest) = text.split_once("`(")?;
    rest.split_once(')').map(|(label, _)| label)
}

fn is_work(name: &str) -> bool {
    let memory = [
        "LDG", "STG", "LD", "ST", "ATOM", "ATOMG", "RED", "TEX", "TLD", "TLD4",
    ];
    let numbers = [
        "FFMA", "FADD", "FMUL", "MUFU", "DFMA", "DADD", "DMUL", "HFMA2", "HADD2", "HMUL2", "HMMA",
        "FSETP", "FMNMX", "BAR",
    ];
    memory.contains(&name) || numbers.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "	.headerflags	@\"EF_CUDA_SM80\"
//--------------------- .text.other --------------------------
	.section	.text.other,\"ax\",@progbits
        /*0000*/                   STL [R1], R2 ;
//--------------------- .text.k --------------------------
	.section	.text.k,\"ax\",@progbits
	.sectioninfo	@\"SHI_REGISTERS=24\"
	.align	128
.text.k:
        /*0000*/                   IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;
.L_x_1:
        /*0010*/                   LDG.E R3, [R2.64] ;
.L_x_0:
        /*0020*/                   LDL.LU R5, [R1+0x8]                     (*\"SpillRefill\"*);
        /*0030*/                   FFMA R4, R5, R3, R4 ;
        /*0040*/               @P0 BRA `(.L_x_0) ;
        /*0050*/              @!P1 BRA `(.L_x_1) ;
        /*0060*/                   EXIT ;
.L_x_2:
        /*0070*/                   BRA `(.L_x_2);
        /*0080*/                   NOP;
";

    #[test]
    fn loops_count_tenfold() {
        let found = weigh(LISTING, "k").expect("code");
        assert_eq!(found.local, 100.0);
        assert_eq!(found.local_bytes, 4);
        assert_eq!(found.work, 10.0 + 100.0);
        // Outside: the move, the exit and the last branch; once around: the load and the branch; twice: three, of which one is local.
        assert_eq!(found.cost, 3.0 + 10.0 * 2.0 + 100.0 * (1.5 + 1.0 + 1.0));
        assert_eq!(weigh(LISTING, "none"), None);
    }

    #[test]
    fn code_without_work_has_no_rate() {
        let found = weigh(LISTING, "other").expect("code");
        assert_eq!((found.cost, found.rate()), (5.0, None));
    }

    #[test]
    fn accesses_have_widths() {
        for (text, bytes) in [
            ("STL [R1+0x8], R2 ;", 4),
            ("@P0 LDL.64 R2, [R1] ;", 8),
            ("LDL.LU.128 R4, [R1+0x64] ;", 16),
            ("STL.U8 [R1], R2 ;", 1),
            ("LDL.S16 R2, [R1+0x10] ;", 2),
        ] {
            assert_eq!(width(text), bytes, "{text}");
        }
    }
}
