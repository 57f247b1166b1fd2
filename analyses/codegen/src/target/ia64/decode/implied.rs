//! Registers that the text of an instruction does not name: the frame, the register stack engine, the fields of
//! floating-point status, NaT bits in memory.
//!
//! ```text
//! fma.s1 f8 = f9, f10, f11      reads ar.fpsr.sf1.controls, sets ar.fpsr.sf1.flags
//! mov ar.bspstore = r14         writes ar.bsp, ar.rnat and what the register stack engine holds, too
//! ```
//!
//! Source: Intel, *Itanium Architecture Software Developer's Manual*, volume 3, section 5.3, tables of dependencies.

use super::Meaning;
use super::{M, Operands};
use crate::mir::{Branch, Class, File, Inst, Parallel, Reg};
use syntax::ia64::Instruction;

/// What the table says of instructions of the register stack engine: registers that are read, and written.
const STACK: &[(&str, &[Reg], &[Reg])] = &[
    (
        "alloc",
        &[Reg::PFS, Reg::RSC, Reg::RSE],
        &[Reg::CFM, Reg::BSPSTORE, Reg::RNAT, Reg::RSE],
    ),
    (
        "flushrs",
        &[Reg::RSC, Reg::BSP, Reg::BSPSTORE, Reg::RNAT, Reg::RSE],
        &[Reg::BSPSTORE, Reg::RNAT, Reg::RSE],
    ),
    (
        "loadrs",
        &[Reg::RSC, Reg::BSP, Reg::RNAT, Reg::RSE, Reg::CFM],
        &[Reg::BSPSTORE, Reg::RNAT, Reg::RSE],
    ),
    (
        "cover",
        &[Reg::BSP, Reg::RSE, Reg::CFM],
        &[Reg::BSP, Reg::RSE, Reg::CFM],
    ),
    ("clrrrb", &[Reg::CFM], &[Reg::CFM]),
    ("epc", &[Reg::PFS], &[]),
];

pub(super) fn implied(text: &Instruction, base: &str, operands: &Operands, inst: &mut Inst) {
    if let Some((_, read, written)) = STACK.iter().find(|row| row.0 == base) {
        read.iter().for_each(|&one| inst.use_of(one));
        written
            .iter()
            .for_each(|&one| inst.def_of(one, Parallel::Alone, false));
    }
    match base {
        "ld8" if text.has("fill") => inst.use_of(Reg::UNAT),
        // One bit each: spills of one group don't undo each other, as far as their addresses differ.
        "st8" if text.has("spill") => inst.def_of(Reg::UNAT, Parallel::Or, false),
        "ld16" => inst.def_of(Reg::CSD, Parallel::Alone, false),
        "st16" => inst.use_of(Reg::CSD),
        "cmp8xchg16" => {
            inst.use_of(Reg::CSD);
            inst.use_of(Reg::CCV);
        }
        "cmpxchg1" | "cmpxchg2" | "cmpxchg4" | "cmpxchg8" => inst.use_of(Reg::CCV),
        "alloc" | "flushrs" | "loadrs" => inst.first = true,
        "cover" | "clrrrb" | "rfi" | "bsw" => inst.last = true,
        "chk" => {
            inst.branch = Some(Branch::Check);
            if let Some(Meaning::Register(Reg {
                file: File::Float, ..
            })) = operands.source(0)
            {
                inst.unit = M;
            }
        }
        "frcpa" | "frsqrta" | "fprcpa" | "fprsqrta" => {
            for def in &mut inst.defs {
                def.always |= def.register.file == File::Predicate;
            }
        }
        _ => {}
    }
    inst.barrier |= inst.class == Class::System && !matches!(base, "nop" | "hint" | "brp");
    match inst.branch {
        Some(Branch::Call) => {
            inst.uses.extend([Reg::BSP, Reg::RSE]);
            written(inst, &[Reg::BSP, Reg::RSE]);
        }
        Some(Branch::Return) => {
            inst.uses.extend([Reg::BSP, Reg::RSE, Reg::CFM]);
            written(inst, &[Reg::BSP, Reg::RSE]);
        }
        _ => {}
    }
    status(text, base, inst);
}

fn written(inst: &mut Inst, registers: &[Reg]) {
    let all = registers.iter();
    all.for_each(|&one| inst.def_of(one, Parallel::Alone, false));
}

/// The fields of floating-point status that an operation works with.
fn status(text: &Instruction, base: &str, inst: &mut Inst) {
    let named = ["s0", "s1", "s2", "s3"];
    let field = named.iter().position(|one| text.has(one)).unwrap_or(0) as u8;
    let arithmetic = match inst.class {
        Class::FloatArithmetic => true,
        Class::FloatConvert => !text.has("xf"),
        Class::FloatCompare => base == "fcmp",
        Class::FloatMisc => matches!(
            base,
            "fmin"
                | "fmax"
                | "famin"
                | "famax"
                | "fpmin"
                | "fpmax"
                | "fpamin"
                | "fpamax"
                | "fpcmp"
                | "frcpa"
                | "frsqrta"
                | "fprcpa"
                | "fprsqrta"
        ),
        _ => false,
    };
    if arithmetic {
        inst.use_of(Reg::controls(field));
        inst.def_of(Reg::flags(field), Parallel::Or, false);
    }
    match base {
        // It begins with the controls of the main field.
        "fsetc" => {
            inst.use_of(Reg::controls(0));
            inst.def_of(Reg::controls(field), Parallel::Alone, false);
        }
        "fclrf" => inst.def_of(Reg::flags(field), Parallel::Alone, false),
        // It compares with the flags of the main field, and asks which traps are on.
        "fchkf" => inst
            .uses
            .extend([Reg::FPSR, Reg::flags(0), Reg::flags(field)]),
        _ => {}
    }
}

/// What a move from or to an application register does beside.
pub(super) fn application(number: u8, inst: &mut Inst) {
    let register = Reg::application(number);
    let writes = inst.class == Class::ToApplication;
    match (register, writes) {
        (Reg::FPSR, false) => {
            let fields = (0..4).flat_map(|field| [Reg::controls(field), Reg::flags(field)]);
            inst.uses.extend(fields);
        }
        (Reg::FPSR, true) => {
            for field in 0..4 {
                written(inst, &[Reg::controls(field), Reg::flags(field)]);
            }
        }
        (Reg::BSPSTORE, true) => {
            inst.uses.extend([Reg::RSC, Reg::RSE]);
            written(inst, &[Reg::BSP, Reg::RNAT, Reg::RSE]);
        }
        (Reg::BSPSTORE, false) | (Reg::RNAT, _) => inst.uses.extend([Reg::RSC, Reg::RSE]),
        (Reg::BSP, false) => inst.uses.push(Reg::RSE),
        _ => {}
    }
}
