//! The effects of an instruction: the registers that it reads and writes, its access to memory, where control goes.
//!
//! ```text
//! (p16) ld8.s r32 = [r5], 8      M; reads p16 r5, writes r32 r5; loads 8 bytes at r5
//! ```
//!
//! From the table's row and the completers; for `mov` from the files of the operands. One pass over the operands.
//!
//! Source: Intel, *Itanium Architecture Software Developer's Manual*, volume 3, chapters 2 and 4; volume 1,
//! section 3.4 on instructions that may share a group.

use super::{
    Access, Branch, Class, Completer, File, Inst, Memory, Mnemonic, Opcode, Parallel, Reg, Type,
    implied,
};

/// The meaning of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    Register(Reg),
    Number(i64),
    /// `[r5]`
    Memory(Reg),
    /// `cpuid[r3]`, `rr[r5]`: a register of the system by number.
    Indirect(Reg),
    /// A label, a relocation, a name that something elsewhere defines.
    Symbol,
}

/// The operands of an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Operands<'a> {
    /// In front of `=`.
    pub targets: &'a [Meaning],
    /// The operands behind `=`; all operands if there is no `=`.
    pub sources: &'a [Meaning],
}

/// The reason why an instruction has no effects that are known.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Undescribed {
    #[error("the qualifying predicate is no predicate register")]
    Predicate,
    #[error("the target of `mov` is no register that is known")]
    MoveTarget,
    #[error("the mask of `mov pr` is not known")]
    MoveMask,
    #[error("`mov` from {0:?} to {1} is not known")]
    Move(Option<File>, Reg),
    #[error("IA-32 code is not known")]
    OtherSet,
    #[error("a compare has one or two targets")]
    CompareTargets,
    #[error("a target of the compare is no predicate register")]
    CompareTarget,
    #[error("the address is no register that is known")]
    Address,
    #[error("what is added to the address is not known")]
    Step,
    #[error("there is no code of it")]
    NoCode,
}

/// Returns the effects of an instruction. `predicate`: the operand in parentheses in front, where there is one.
pub fn effects(
    mnemonic: Mnemonic,
    predicate: Option<Meaning>,
    operands: Operands<'_>,
) -> Result<Inst, Undescribed> {
    let opcode = mnemonic.opcode();
    let row = mnemonic.row();
    let mut inst = match opcode {
        Opcode::Mov => moved(mnemonic, operands)?,
        Opcode::Nop | Opcode::Hint | Opcode::Break => idle(mnemonic),
        Opcode::Chk => check(mnemonic),
        Opcode::Refused => return Err(Undescribed::NoCode),
        _ => Inst::new(row.unit, row.class),
    };
    if let Some(predicate) = predicate {
        match predicate {
            Meaning::Register(register) if register.file == File::Predicate => {
                inst.predicate = register.number;
                inst.use_of(register);
            }
            _ => return Err(Undescribed::Predicate),
        }
    }
    match inst.class {
        Class::Branch => branch(mnemonic, operands, &mut inst)?,
        Class::Compare | Class::FloatCompare => compare(mnemonic, operands, &mut inst)?,
        Class::Load
        | Class::FloatLoad
        | Class::Store
        | Class::FloatStore
        | Class::Prefetch
        | Class::Semaphore => memory(mnemonic, operands, &mut inst)?,
        _ => {}
    }
    // The count in a register: an operation of the multimedia unit.
    if let (Opcode::Shl | Opcode::Shr, Some(Meaning::Register(_))) = (opcode, operands.source(1)) {
        inst.class = Class::Multimedia;
    }
    if !matches!(inst.class, Class::Branch) {
        operands.registers(&mut inst);
    }
    implied::implied(mnemonic, operands, &mut inst);
    if let (Class::Alu, [Meaning::Register(_)]) = (inst.class, operands.targets) {
        inst.offset = match (opcode, operands.sources) {
            (
                Opcode::Add | Opcode::Adds | Opcode::Addl,
                [Meaning::Number(by), Meaning::Register(of)]
                | [Meaning::Register(of), Meaning::Number(by)],
            ) => Some((*of, *by)),
            (Opcode::Mov, [Meaning::Register(of)]) if of.file == File::General => Some((*of, 0)),
            _ => None,
        };
    }
    inst.uses.sort_unstable();
    inst.uses.dedup();
    Ok(inst)
}

impl Operands<'_> {
    pub(super) fn source(self, index: usize) -> Option<Meaning> {
        self.sources.get(index).copied()
    }
    /// Targets are written, sources read; an address is read wherever it stands.
    fn registers(self, inst: &mut Inst) {
        for source in self.sources {
            match source {
                Meaning::Register(register)
                | Meaning::Memory(register)
                | Meaning::Indirect(register) => {
                    inst.use_of(*register);
                }
                Meaning::Number(_) | Meaning::Symbol => {}
            }
        }
        let predicates = matches!(inst.class, Class::Compare | Class::FloatCompare);
        for target in self.targets {
            match target {
                Meaning::Register(register)
                    if !(predicates && register.file == File::Predicate) =>
                {
                    inst.def_of(*register, Parallel::Alone, false);
                }
                Meaning::Memory(register) | Meaning::Indirect(register) => inst.use_of(*register),
                _ => {}
            }
        }
    }
}

/// `nop.m`, `hint.i`, `break.b`; without a letter in any slot.
fn idle(mnemonic: Mnemonic) -> Inst {
    let unit = mnemonic
        .completers()
        .next()
        .and_then(|letter| match letter {
            Completer::M => Some(Type::M),
            Completer::I => Some(Type::I),
            Completer::F => Some(Type::F),
            Completer::B => Some(Type::B),
            Completer::X => Some(Type::L),
            _ => None,
        });
    let mut inst = Inst::new(unit, mnemonic.row().class);
    inst.barrier = mnemonic.opcode() == Opcode::Break;
    inst
}

/// `chk.s` and `chk.a`, whose failure goes elsewhere.
fn check(mnemonic: Mnemonic) -> Inst {
    let (unit, class) = match () {
        () if mnemonic.has(Completer::A) => (Type::M, Class::CheckAdvanced),
        () if mnemonic.has(Completer::I) => (Type::I, Class::Check),
        () if mnemonic.has(Completer::M) => (Type::M, Class::Check),
        // In front of a floating-point register it is an M; that is a case of it.
        () => (Type::A, Class::Check),
    };
    Inst::new(Some(unit), class)
}

/// `mov` is many instructions: the files of its operands say which.
fn moved(mnemonic: Mnemonic, operands: Operands<'_>) -> Result<Inst, Undescribed> {
    const I: Option<Type> = Some(Type::I);
    let register = |it: Option<&Meaning>| match it {
        Some(Meaning::Register(register)) => Some(*register),
        _ => None,
    };
    let (target, source) = (operands.targets.first(), operands.sources.first());
    if let (Some(Meaning::Indirect(_)), _) | (_, Some(Meaning::Indirect(_))) = (target, source) {
        return Ok(system());
    }
    let (to, from) = (register(target), register(source));
    let to = to.ok_or(Undescribed::MoveTarget)?;
    let application = |number: u8, class: Class| {
        let unit = match () {
            () if mnemonic.has(Completer::M) => Type::M,
            () if mnemonic.has(Completer::I) => Type::I,
            () if number < 64 => Type::M,
            () => Type::I,
        };
        // Those of the register stack, the counters and IA-32 change by themselves.
        let quiet = matches!(number, 25 | 32 | 36 | 40 | 64..=66);
        let mut inst = Inst::new(Some(unit), class);
        let kernel = number < 8 && class == Class::FromApplication;
        inst.barrier = !(quiet || kernel);
        implied::application(number, &mut inst);
        inst
    };
    Ok(match (to.file, from.map(|from| from.file)) {
        (File::General, None | Some(File::General)) => Inst::new(Some(Type::A), Class::Alu),
        (File::Float, Some(File::Float)) => Inst::new(Some(Type::F), Class::FloatMisc),
        (File::General, Some(File::Branch)) => Inst::new(I, Class::FromBranch),
        (File::Branch, _) => Inst::new(I, Class::ToBranch),
        (File::General, Some(File::Application)) => {
            application(from.map_or(0, |from| from.number), Class::FromApplication)
        }
        (File::Application, _) => application(to.number, Class::ToApplication),
        (File::General, Some(File::Special)) => match from {
            Some(Reg::PR) => {
                let mut inst = Inst::new(I, Class::FromPredicates);
                inst.uses.extend((1..64).map(Reg::predicate));
                inst
            }
            Some(Reg::IP) => Inst::new(I, Class::FromBranch),
            _ => system(),
        },
        (File::Special, _) if to == Reg::PR => {
            let mut inst = Inst::new(I, Class::ToPredicates);
            let mask = match operands.source(1) {
                Some(Meaning::Number(mask)) => mask,
                // Without a mask all are meant.
                None => -1,
                Some(_) => return Err(Undescribed::MoveMask),
            };
            // Bit 16 stands for all rotating ones.
            for number in 1..64u8 {
                if mask >> number.min(16) & 1 != 0 {
                    inst.def_of(Reg::predicate(number), Parallel::Alone, false);
                }
            }
            inst
        }
        (File::Special, _) if to == Reg::PR_ROT => {
            let mut inst = Inst::new(I, Class::ToPredicates);
            for number in 16..64 {
                inst.def_of(Reg::predicate(number), Parallel::Alone, false);
            }
            inst
        }
        (File::Special | File::Control, _) | (_, Some(File::Control)) => system(),
        _ => return Err(Undescribed::Move(from.map(|from| from.file), to)),
    })
}

fn system() -> Inst {
    let mut inst = Inst::new(Some(Type::M), Class::System);
    inst.barrier = true;
    inst
}

fn branch(mnemonic: Mnemonic, operands: Operands<'_>, inst: &mut Inst) -> Result<(), Undescribed> {
    for source in operands.sources {
        if let Meaning::Register(register) = source {
            inst.use_of(*register);
        }
    }
    let kind = mnemonic.completers().next().unwrap_or(Completer::Cond);
    inst.branch = Some(match kind {
        Completer::Call => {
            for target in operands.targets {
                if let Meaning::Register(register) = target {
                    inst.def_of(*register, Parallel::Alone, false);
                }
            }
            for register in [Reg::PFS, Reg::CFM] {
                inst.def_of(register, Parallel::Alone, false);
            }
            inst.uses.extend([Reg::EC, Reg::CFM]);
            Branch::Call
        }
        Completer::Ret => {
            inst.uses.push(Reg::PFS);
            for register in [Reg::EC, Reg::CFM] {
                inst.def_of(register, Parallel::Alone, false);
            }
            Branch::Return
        }
        Completer::Cloop => {
            inst.uses.push(Reg::LC);
            inst.def_of(Reg::LC, Parallel::Alone, false);
            Branch::Counted
        }
        Completer::Ctop | Completer::Cexit | Completer::Wtop | Completer::Wexit => {
            let counted = matches!(kind, Completer::Ctop | Completer::Cexit);
            let more: &[Reg] = if counted { &[Reg::LC] } else { &[] };
            for register in [Reg::EC, Reg::CFM, Reg::predicate(63)].iter().chain(more) {
                inst.uses.push(*register);
                inst.def_of(*register, Parallel::Alone, true);
            }
            match counted {
                true => Branch::CountedRotating,
                false => Branch::WhileRotating,
            }
        }
        Completer::Ia => return Err(Undescribed::OtherSet),
        _ => Branch::Jump,
    });
    Ok(())
}

fn compare(mnemonic: Mnemonic, operands: Operands<'_>, inst: &mut Inst) -> Result<(), Undescribed> {
    if operands.targets.is_empty() || operands.targets.len() > 2 {
        return Err(Undescribed::CompareTargets);
    }
    let has = |completer| mnemonic.has(completer);
    let [first, second] = match () {
        () if has(Completer::Or) && has(Completer::Andcm) => {
            [Parallel::DeMorganOr, Parallel::DeMorganAnd]
        }
        () if has(Completer::And) && has(Completer::Orcm) => {
            [Parallel::DeMorganAnd, Parallel::DeMorganOr]
        }
        () if has(Completer::And) || has(Completer::Andcm) => [Parallel::And; 2],
        () if has(Completer::Or) || has(Completer::Orcm) => [Parallel::Or; 2],
        () => [Parallel::Alone; 2],
    };
    for (target, parallel) in operands.targets.iter().zip([first, second]) {
        match target {
            Meaning::Register(register) if register.file == File::Predicate => {
                inst.def_of(*register, parallel, has(Completer::Unc));
            }
            _ => return Err(Undescribed::CompareTarget),
        }
    }
    Ok(())
}

fn memory(mnemonic: Mnemonic, operands: Operands<'_>, inst: &mut Inst) -> Result<(), Undescribed> {
    let store = matches!(inst.class, Class::Store | Class::FloatStore);
    let access = match inst.class {
        Class::Semaphore => Access::Both,
        Class::Prefetch => Access::Prefetch,
        _ if store => Access::Store,
        _ => Access::Load,
    };
    let places = if store {
        operands.targets
    } else {
        operands.sources
    };
    let base = places.iter().find_map(|place| match place {
        Meaning::Memory(base) => Some(*base),
        _ => None,
    });
    let base = base.ok_or(Undescribed::Address)?;
    // Behind the address, or behind what is stored, stands what is added to the base: not the second half of a pair, nor the
    // count and the distance of many fetches.
    let step = match access {
        Access::Both => None,
        Access::Prefetch if mnemonic.has(Completer::Count) => None,
        _ => operands
            .source(1)
            .filter(|&it| it != Meaning::Register(Reg::CSD)),
    };
    let stepped = step.is_some();
    let step = match step {
        Some(Meaning::Number(by)) => Some(by),
        Some(Meaning::Register(_) | Meaning::Symbol) | None => None,
        Some(_) => return Err(Undescribed::Step),
    };
    if stepped {
        inst.def_of(base, Parallel::Alone, false);
    }
    use Completer::{A, Acq, Bias, C, Rel, Sa};
    let ordered = mnemonic.has_any(&[Acq, Rel, Bias, A, Sa, C]) || access == Access::Both;
    inst.memory = Some(Memory {
        access,
        base,
        bytes: mnemonic.row().bytes,
        ordered,
        confirms: mnemonic.has(C) && access == Access::Load,
        step,
    });
    Ok(())
}
