//! Registers that the text of an instruction does not name: the frame, the register stack engine, the fields of
//! floating-point status, NaT bits in memory.
//!
//! ```text
//! fma.s1 f8 = f9, f10, f11      reads ar.fpsr.sf1.controls, sets ar.fpsr.sf1.flags
//! mov ar.bspstore = r14         writes ar.bsp, ar.rnat and what the register stack engine holds, too
//! ```
//!
//! Source: Intel, *Itanium Architecture Software Developer's Manual*, volume 3, section 5.3, tables of dependencies.

use super::effects::Meaning;
use super::{
    Branch, Class, Completer, File, Inst, Mnemonic, Opcode, Operands, Parallel, Reg, Type,
};

/// Registers that instructions of the register stack engine read, and those that they write, beside their
/// operands.
const STACK: &[(Opcode, &[Reg], &[Reg])] = &[
    (
        Opcode::Alloc,
        &[Reg::PFS, Reg::RSC, Reg::RSE, Reg::CFM],
        &[Reg::CFM, Reg::BSPSTORE, Reg::RNAT, Reg::RSE],
    ),
    (
        Opcode::Flushrs,
        &[Reg::RSC, Reg::BSP, Reg::BSPSTORE, Reg::RNAT, Reg::RSE],
        &[Reg::BSPSTORE, Reg::RNAT, Reg::RSE],
    ),
    (
        Opcode::Loadrs,
        &[Reg::RSC, Reg::BSP, Reg::RNAT, Reg::RSE, Reg::CFM],
        &[Reg::BSPSTORE, Reg::RNAT, Reg::RSE],
    ),
    (
        Opcode::Cover,
        &[Reg::BSP, Reg::RSE, Reg::CFM],
        &[Reg::BSP, Reg::RSE, Reg::CFM],
    ),
    (Opcode::Clrrrb, &[Reg::CFM], &[Reg::CFM]),
    (Opcode::Epc, &[Reg::PFS], &[]),
];

pub(super) fn implied(mnemonic: Mnemonic, operands: Operands<'_>, inst: &mut Inst) {
    let opcode = mnemonic.opcode();
    if let Some((_, read, written)) = STACK.iter().find(|row| row.0 == opcode) {
        read.iter().for_each(|&it| inst.use_of(it));
        written
            .iter()
            .for_each(|&it| inst.def_of(it, Parallel::Alone, false));
    }
    match opcode {
        Opcode::Ld8 if mnemonic.has(Completer::Fill) => inst.use_of(Reg::UNAT),
        // One bit each: spills of one group don't undo each other, as far as their addresses differ.
        Opcode::St8 if mnemonic.has(Completer::Spill) => {
            inst.def_of(Reg::UNAT, Parallel::Or, false)
        }
        Opcode::Ld16 => inst.def_of(Reg::CSD, Parallel::Alone, false),
        Opcode::St16 => inst.use_of(Reg::CSD),
        Opcode::Cmp8xchg16 => {
            inst.use_of(Reg::CSD);
            inst.use_of(Reg::CCV);
        }
        Opcode::Cmpxchg1 | Opcode::Cmpxchg2 | Opcode::Cmpxchg4 | Opcode::Cmpxchg8 => {
            inst.use_of(Reg::CCV)
        }
        Opcode::Alloc | Opcode::Flushrs | Opcode::Loadrs => inst.first = true,
        Opcode::Cover | Opcode::Clrrrb | Opcode::Rfi | Opcode::Bsw => inst.last = true,
        Opcode::Chk => {
            inst.branch = Some(Branch::Check);
            if let Some(Meaning::Register(Reg {
                file: File::Float, ..
            })) = operands.source(0)
            {
                inst.unit = Some(Type::M);
            }
        }
        Opcode::Frcpa | Opcode::Frsqrta | Opcode::Fprcpa | Opcode::Fprsqrta => {
            for def in &mut inst.defs {
                def.always |= def.register.file == File::Predicate;
            }
        }
        _ => {}
    }
    inst.barrier |=
        inst.class == Class::System && !matches!(opcode, Opcode::Nop | Opcode::Hint | Opcode::Brp);
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
    status(mnemonic, inst);
}

fn written(inst: &mut Inst, registers: &[Reg]) {
    let all = registers.iter();
    all.for_each(|&it| inst.def_of(it, Parallel::Alone, false));
}

/// The fields of floating-point status that an operation works with.
fn status(mnemonic: Mnemonic, inst: &mut Inst) {
    let opcode = mnemonic.opcode();
    let named = [Completer::S0, Completer::S1, Completer::S2, Completer::S3];
    let field = named.iter().position(|&it| mnemonic.has(it)).unwrap_or(0) as u8;
    let arithmetic = match inst.class {
        Class::FloatArithmetic => true,
        Class::FloatConvert => !mnemonic.has(Completer::Xf),
        Class::FloatCompare => opcode == Opcode::Fcmp,
        Class::FloatMisc => matches!(
            opcode,
            Opcode::Fmin
                | Opcode::Fmax
                | Opcode::Famin
                | Opcode::Famax
                | Opcode::Fpmin
                | Opcode::Fpmax
                | Opcode::Fpamin
                | Opcode::Fpamax
                | Opcode::Fpcmp
                | Opcode::Frcpa
                | Opcode::Frsqrta
                | Opcode::Fprcpa
                | Opcode::Fprsqrta
        ),
        _ => false,
    };
    if arithmetic {
        inst.use_of(Reg::controls(field));
        inst.def_of(Reg::flags(field), Parallel::Or, false);
    }
    match opcode {
        // It begins with the controls of the main field.
        Opcode::Fsetc => {
            inst.use_of(Reg::controls(0));
            inst.def_of(Reg::controls(field), Parallel::Alone, false);
        }
        Opcode::Fclrf => inst.def_of(Reg::flags(field), Parallel::Alone, false),
        // It compares with the flags of the main field, and asks which traps are on.
        Opcode::Fchkf => inst
            .uses
            .extend([Reg::FPSR, Reg::flags(0), Reg::flags(field)]),
        _ => {}
    }
}

/// Adds what a move from or to an application register reads and writes beside its operands.
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
