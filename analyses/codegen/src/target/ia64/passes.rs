//! IA-64 as passes see it: the meaning of operations that they match on, the registers of the calling convention, spill code.
//!
//! Source: Intel, *Itanium Software Conventions and Runtime Architecture Guide*, chapter 5.

use super::code::{Function, Name, Operand, Operation, StackFrame, Virtual, op, stacked};
use crate::machine::epic::Epic;
use crate::machine::schema::Issue;
use crate::mir::{
    Definition, FrameAccess, FrameAddress, Predicated, RegisterFile, SpillCode, SpillSlot, Target,
};
use isa::ia64::{Class, Completer, File, Ia64, Mnemonic, Opcode, Parallel, Reg};

/// The most registers of each file that may be used; for tests of shortage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    pub general: u32,
    pub float: u32,
    pub predicate: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            general: 128,
            float: 128,
            predicate: 64,
        }
    }
}

/// Stacked registers that the prologue may need.
pub(super) const SAVES: u32 = 8;

const GENERAL_SCRATCH: [Reg; 4] = [
    Reg::general(3),
    Reg::general(9),
    Reg::general(10),
    Reg::general(11),
];
const FLOAT_SCRATCH: [Reg; 5] = [
    Reg::float(6),
    Reg::float(7),
    Reg::float(14),
    Reg::float(15),
    Reg::float(13),
];
const PREDICATE_SCRATCH: [Reg; 3] = [Reg::predicate(13), Reg::predicate(14), Reg::predicate(15)];
/// Holds the address of a spill slot.
const ADDRESS: Reg = Reg::general(2);
/// The stack pointer.
const SP: Reg = Reg::general(12);

/// Forms of spill slots: as `st8`, `st8.spill` and `stf.spill` write them.
const PLAIN: usize = 0;
const MARKED: usize = 1;
const FLOAT: usize = 2;

fn general(function: &Function, epic: &Epic, limits: &Limits) -> RegisterFile<Ia64> {
    let rotating = function.frame.rotating;
    let inputs = function.inputs();
    let first = 32
        + rotating
            .general
            .max(if rotating.general > 0 { inputs } else { 0 });
    let frame = epic.of(Issue::GeneralStacked);
    let last = (32 + frame).saturating_sub(function.outputs.len() as u32 + SAVES);
    let stacked = (first..last.max(first)).map(|it| Reg::general(it as u8));
    let limit = limits.general as usize;
    RegisterFile {
        class: File::General,
        free: (14..32)
            .map(Reg::general)
            .chain(stacked.clone())
            .take(limit)
            .collect(),
        preserved: stacked.take(limit).collect(),
        turn: 34,
        renamed: None,
        lends: false,
        exclusive: false,
        arrivals: (32..32 + inputs).map(|it| Reg::general(it as u8)).collect(),
    }
}

fn float(function: &Function, epic: &Epic, limits: &Limits) -> RegisterFile<Ia64> {
    let last = 32 + epic.of(Issue::FloatRotating);
    let limit = limits.float as usize;
    RegisterFile {
        class: File::Float,
        free: (32 + function.frame.rotating.float..last)
            .map(|it| Reg::float(it as u8))
            .take(limit)
            .collect(),
        preserved: (16..32).chain(2..6).map(Reg::float).take(limit).collect(),
        turn: 96,
        renamed: Some(Reg::float(32)),
        lends: true,
        exclusive: false,
        arrivals: Vec::new(),
    }
}

fn predicate(function: &Function, epic: &Epic, limits: &Limits) -> RegisterFile<Ia64> {
    let last = 16 + epic.of(Issue::PredicateRotating);
    let rotating = (16 + function.frame.rotating.predicate..last).map(|it| it as u8);
    let kept = (1..6).chain(rotating).map(Reg::predicate);
    let limit = limits.predicate as usize;
    RegisterFile {
        class: File::Predicate,
        free: (6..13)
            .map(Reg::predicate)
            .chain(kept.clone())
            .take(limit)
            .collect(),
        preserved: kept.take(limit).collect(),
        turn: 7,
        renamed: Some(Reg::predicate(16)),
        lends: false,
        exclusive: false,
        arrivals: Vec::new(),
    }
}

/// The form of a slot that an operation writes or reads whole.
fn form(operation: &Operation) -> Option<usize> {
    let special = operation
        .mnemonic
        .has_any(&[Completer::Spill, Completer::Fill]);
    match (operation.opcode(), special) {
        (Opcode::St8 | Opcode::Ld8, special) => {
            let plain = operation.mnemonic.completers().next().is_none();
            (plain || special).then_some(if special { MARKED } else { PLAIN })
        }
        (_, true) if matches!(operation.class(), Class::FloatLoad | Class::FloatStore) => {
            Some(FLOAT)
        }
        _ => None,
    }
}

fn slot_address(slot: SpillSlot) -> Operation {
    let sources = vec![slot.operand(), SP.into()];
    Operation::plain(op!("adds"), vec![ADDRESS.into()], sources)
}

impl Target for Ia64 {
    type Processor = Epic;
    type Frame = StackFrame;
    type Limits = Limits;

    const NAME: &'static str = "IA-64";
    const NONE: Reg = Reg::R0;
    const GENERAL: File = File::General;
    const GUARD: File = File::Predicate;

    fn arrivals(function: &Function) -> Vec<Option<Reg>> {
        let mut floats = 0u8;
        let parameters = function.parameters.iter().enumerate();
        parameters
            .map(|(at, &parameter)| {
                let is_float = function.file(parameter) == File::Float;
                floats += u8::from(is_float);
                match (is_float, at) {
                    (true, _) if floats <= 8 => Some(Reg::float(7 + floats)),
                    (false, 0..8) => Some(Reg::general(32 + at as u8)),
                    _ => None,
                }
            })
            .collect()
    }

    fn copied(operation: &Operation) -> Option<(Virtual, Virtual)> {
        let to = match operation.targets.first()? {
            Operand::Register(Name::Virtual(to)) => *to,
            _ => return None,
        };
        let zero = Operand::fixed(Reg::R0);
        match (operation.opcode(), operation.predicate) {
            (Opcode::Mov, None) => match operation.sources[..] {
                [Operand::Register(Name::Virtual(from))] => Some((to, from)),
                _ => None,
            },
            (Opcode::Cmp, Some(from)) if operation.mnemonic == op!("cmp.eq.unc") => {
                let plain = operation.targets.get(1) == Some(&Operand::fixed(Reg::P0))
                    && operation.sources[..] == [zero.clone(), zero];
                plain.then_some((to, from))
            }
            _ => None,
        }
    }
    fn is_compare(operation: &Operation) -> bool {
        operation.is_compare()
    }
    fn acts(operation: &Operation) -> bool {
        use Class::{Alloc, Branch, Check, FloatStore, Nop, Prefetch, Semaphore, Store, System};
        // What is refused is missed only where something needs it.
        operation.opcode() != Opcode::Refused
            && matches!(
                operation.class(),
                Store | FloatStore | Semaphore | Prefetch | Check | Branch | Alloc | Nop | System
            )
    }
    fn is_pure(operation: &Operation) -> bool {
        use Opcode::{
            Add, Addl, Adds, And, Andcm, Dep, Extr, Getf, Mov, Movl, Mux1, Or, Popcnt, Setf, Shl,
            Shladd, Shr, Shrp, Sub, Sxt1, Sxt2, Sxt4, Xor, Zxt1, Zxt2, Zxt4,
        };
        matches!(
            operation.opcode(),
            Setf | Getf
                | Mov
                | Movl
                | Add
                | Adds
                | Addl
                | Sub
                | Shladd
                | Shl
                | Shr
                | And
                | Or
                | Xor
                | Andcm
                | Extr
                | Dep
                | Shrp
                | Zxt1
                | Zxt2
                | Zxt4
                | Sxt1
                | Sxt2
                | Sxt4
                | Popcnt
                | Mux1
        ) || operation.mnemonic == op!("fcvt.xf")
    }
    fn rotates(operation: &Operation) -> bool {
        operation.opcode() == Opcode::Clrrrb || operation.branch().is_some_and(isa::Branch::rotates)
    }
    fn is_sum(operation: &Operation) -> bool {
        use Opcode::{Add, Adds, Shladd, Sub};
        matches!(operation.opcode(), Adds | Add | Shladd | Sub)
    }
    fn increment(operation: &Operation) -> Option<(Virtual, i64)> {
        match (&operation.targets[..], &operation.sources[..]) {
            (
                [Operand::Register(Name::Virtual(to)), ..],
                [Operand::Number(by), Operand::Register(Name::Virtual(from))],
            ) if operation.opcode() == Opcode::Adds && to == from => Some((*to, *by)),
            _ => None,
        }
    }
    fn takes_step(access: &Operation, by: i64) -> bool {
        use Class::{FloatLoad, FloatStore, Load, Store};
        (-256..256).contains(&by)
            && access.sources.len() == 1
            && matches!(access.class(), Load | FloatLoad | Store | FloatStore)
            && !matches!(access.opcode(), Opcode::Ld16 | Opcode::St16)
    }
    fn unread(class: File) -> Option<Reg> {
        (class == File::Predicate).then_some(Reg::P0)
    }
    fn copy(to: Reg, from: Reg) -> Operation {
        Operation::plain(op!("mov"), vec![to.into()], vec![from.into()])
    }

    fn files(function: &Function, epic: &Epic, limits: &Limits) -> Vec<RegisterFile<Ia64>> {
        vec![
            general(function, epic, limits),
            float(function, epic, limits),
            predicate(function, epic, limits),
        ]
    }
    const UNITS: usize = 7 * 128;
    const REGISTERS: usize = 7 * 128;
    fn units(register: Reg) -> std::ops::Range<usize> {
        let unit = Ia64::index(register);
        unit..unit + 1
    }
    fn index(register: Reg) -> usize {
        register.file as usize * 128 + usize::from(register.number)
    }
    fn stays(function: &Function, register: Reg) -> bool {
        register.file == File::General
            && register.number >= 32
            && function.frame.rotating.general == 0
    }
    fn outputs(function: &Function, given: &mut dyn Iterator<Item = Reg>) -> Vec<Reg> {
        let first = stacked(function, given) + SAVES;
        (first..)
            .take(function.outputs.len())
            .map(|it| Reg::general(it as u8))
            .collect()
    }
    fn preserved() -> Vec<Reg> {
        let general = [4, 5, 6, 7, 12, 13].map(Reg::general);
        general.into_iter().chain((1..6).map(Reg::branch)).collect()
    }
    fn clobbered(_: &Function, outputs: &[Reg]) -> Vec<Reg> {
        // The callee may change its arguments.
        let outputs = outputs.first().map_or(128, |it| it.number.max(32));
        [1..4, 8..12, 14..32, outputs..128]
            .into_iter()
            .flatten()
            .map(Reg::general)
            .chain([6..16, 32..128].into_iter().flatten().map(Reg::float))
            .chain((6..16).map(Reg::predicate))
            .chain([0, 6, 7].map(Reg::branch))
            .collect()
    }
    fn rotating(function: &Function) -> Vec<Reg> {
        let last = (32 + function.frame.rotating.general).min(128) as u8;
        (32..last)
            .map(Reg::general)
            .chain((32..128).map(Reg::float))
            .chain((16..64).map(Reg::predicate))
            .collect()
    }
    fn implied() -> Vec<Reg> {
        vec![Reg::general(1), Reg::branch(0)]
    }
    fn needed_by_calls() -> Vec<Reg> {
        vec![Reg::general(1)]
    }
    fn passes(register: Reg) -> bool {
        match register.file {
            File::General => matches!(register.number, 8..=11),
            File::Float => matches!(register.number, 8..=15),
            _ => false,
        }
    }
    fn may_have(register: Reg) -> bool {
        match register.file {
            File::General => !matches!(register.number, 1 | 4..=7 | 12 | 13),
            File::Branch => !matches!(register.number, 1..=5),
            _ => true,
        }
    }

    const FORMS: usize = 3;
    fn slot(class: File) -> u32 {
        if class == File::Float { 16 } else { 8 }
    }
    fn form_bytes(form: usize) -> u32 {
        if form == FLOAT { 16 } else { 8 }
    }
    fn scratch(class: File) -> &'static [Reg] {
        match class {
            File::Float => &FLOAT_SCRATCH,
            File::Predicate => &PREDICATE_SCRATCH,
            _ => &GENERAL_SCRATCH,
        }
    }
    fn definitions(
        operation: &Operation,
        register: &dyn Fn(Virtual) -> Reg,
    ) -> Vec<Definition<Ia64>> {
        let inst = super::describe::executed(operation, register);
        let defs = inst.map_or_else(|_| Vec::new(), |inst| inst.defs);
        defs.into_iter()
            .map(|def| Definition {
                register: def.register,
                keeps: def.parallel != Parallel::Alone,
                always: def.always,
            })
            .collect()
    }
    fn are_outputs(registers: &[Reg]) -> bool {
        registers.windows(2).all(|pair| {
            pair[1].file == File::General
                && pair[0].file == File::General
                && pair[0].number.checked_add(1) == Some(pair[1].number)
        })
    }
    fn marks(function: &Function) -> bool {
        let mut operations = function.blocks.iter().flat_map(|block| &block.operations);
        operations.any(|operation| {
            matches!(operation.class(), Class::Load | Class::FloatLoad)
                && operation.mnemonic.has_any(&[Completer::S, Completer::Sa])
        })
    }
    fn reload(to: Reg, slot: SpillSlot) -> Vec<Operation> {
        let at = || vec![Operand::Address(Name::Fixed(ADDRESS))];
        let mut out = vec![slot_address(slot)];
        match to.file {
            File::Float => out.push(Operation::plain(op!("ldf.fill"), vec![to.into()], at())),
            File::Predicate => {
                let word = GENERAL_SCRATCH[0];
                out.push(Operation::plain(op!("ld8"), vec![word.into()], at()));
                let targets = vec![to.into(), Reg::P0.into()];
                let sources = vec![Reg::R0.into(), word.into()];
                out.push(Operation::plain(op!("cmp.ne"), targets, sources));
            }
            _ => {
                let mnemonic = match slot.marked {
                    true => op!("ld8.fill"),
                    false => op!("ld8"),
                };
                out.push(Operation::plain(mnemonic, vec![to.into()], at()));
            }
        }
        out
    }
    fn spill(from: Reg, slot: SpillSlot, guard: Option<Virtual>) -> Vec<Operation> {
        let at = || vec![Operand::Address(Name::Fixed(ADDRESS))];
        let mut out = vec![slot_address(slot)];
        match from.file {
            File::Float => out.push(Operation::plain(op!("stf.spill"), at(), vec![from.into()])),
            File::Predicate => {
                let word = GENERAL_SCRATCH[0];
                let zero = vec![Reg::R0.into()];
                out.push(Operation::plain(op!("mov"), vec![word.into()], zero));
                out.push(Operation {
                    predicate: guard,
                    ..Operation::plain(op!("mov"), vec![word.into()], vec![1.into()])
                });
                out.push(Operation::plain(op!("st8"), at(), vec![word.into()]));
            }
            _ => {
                let mnemonic = match slot.marked {
                    true => op!("st8.spill"),
                    false => op!("st8"),
                };
                out.push(Operation::plain(mnemonic, at(), vec![from.into()]));
            }
        }
        out
    }
    fn spill_code(operation: &Operation) -> Option<SpillCode<Ia64>> {
        let always = operation.predicate.is_none();
        let name = |operand: &Operand| operand.name();
        let access = |base: &Name| {
            let address = FrameAddress::Register(*base);
            form(operation).map(|form| FrameAccess { address, form })
        };
        match (&operation.targets[..], &operation.sources[..]) {
            (
                [Operand::Register(to), ..],
                [Operand::Frame(offset), Operand::Register(Name::Fixed(SP))],
            ) if always && operation.opcode() == Opcode::Adds => Some(SpillCode::Address {
                to: *to,
                offset: *offset,
            }),
            ([Operand::Address(base)], [source]) if always => Some(SpillCode::Store {
                from: name(source)?,
                to: access(base)?,
            }),
            ([Operand::Register(to)], [Operand::Address(base)]) if always => {
                Some(SpillCode::Load {
                    to: *to,
                    from: access(base)?,
                })
            }
            ([Operand::Register(to)], [source]) if operation.opcode() == Opcode::Mov => {
                let zero = *source == Operand::Number(0) || *source == Operand::fixed(Reg::R0);
                match (name(source), operation.predicate) {
                    (_, None) if zero => Some(SpillCode::Zero { to: *to }),
                    (Some(from), None) => Some(SpillCode::Copy { to: *to, from }),
                    // A predicate as a number.
                    (None, Some(guard)) if *source == Operand::Number(1) => {
                        let from = Name::Virtual(guard);
                        Some(SpillCode::Raise { to: *to, from })
                    }
                    _ => None,
                }
            }
            // And back.
            ([Operand::Register(to), rest], [left, right])
                if always && *rest == Operand::fixed(Reg::P0) =>
            {
                let zero = Operand::fixed(Reg::R0);
                let from = match operation.opcode() {
                    Opcode::Cmp if operation.mnemonic.completers().eq([Completer::Ne]) => {
                        match (*left == zero, *right == zero) {
                            (true, _) => name(right),
                            (_, true) => name(left),
                            _ => None,
                        }
                    }
                    Opcode::Tbit
                        if operation.mnemonic.completers().eq([Completer::Nz])
                            && *right == Operand::Number(0) =>
                    {
                        name(left)
                    }
                    _ => None,
                };
                Some(SpillCode::Copy {
                    to: *to,
                    from: from?,
                })
            }
            _ => None,
        }
    }
}

/// The compare that writes its targets even where it does not execute.
#[must_use]
pub(super) fn unconditional(mnemonic: Mnemonic) -> Mnemonic {
    if mnemonic.has(Completer::Unc) {
        return mnemonic;
    }
    let mut completers: Vec<Completer> = mnemonic.completers().collect();
    completers.insert(1.min(completers.len()), Completer::Unc);
    Mnemonic::new(mnemonic.opcode(), &completers)
}

/// `(predicate) cmp.relation targets = r0, r0`
#[must_use]
pub(super) fn constant_compare(
    mnemonic: Mnemonic,
    predicate: Option<Virtual>,
    targets: [Operand; 2],
    loc: ir::Loc,
) -> Operation {
    Operation::plain(
        mnemonic,
        targets.to_vec(),
        vec![Operand::fixed(Reg::R0), Operand::fixed(Reg::R0)],
    )
    .under(predicate)
    .at(loc)
}

impl Predicated for Ia64 {
    const UNREAD: Reg = Reg::P0;

    fn is_parallel(operation: &Operation) -> bool {
        operation.mnemonic.is_parallel()
    }
    fn unconditional(mnemonic: Mnemonic) -> Mnemonic {
        unconditional(mnemonic)
    }
    fn jump(block: u32) -> Operation {
        let to = vec![Operand::Block(block)];
        Operation::plain(op!("br.cond.sptk.few"), Vec::new(), to)
    }
    fn cleared(to: Virtual) -> Operation {
        let targets = [to.into(), Reg::P0.into()];
        constant_compare(op!("cmp.ne"), None, targets, ir::Loc::NONE)
    }
    fn raised(to: Virtual, guard: Option<Virtual>) -> Operation {
        let targets = [to.into(), Reg::P0.into()];
        constant_compare(op!("cmp.eq.or"), guard, targets, ir::Loc::NONE)
    }
    fn conjunction(
        own: Virtual,
        guard: Option<Virtual>,
        number: Virtual,
        targets: [Operand; 2],
    ) -> Vec<Operation> {
        let set = |value: i64, predicate: Option<Virtual>| Operation {
            predicate,
            ..Operation::plain(op!("mov"), vec![number.into()], vec![value.into()])
        };
        let compare = match guard {
            Some(_) => op!("cmp.ne.unc"),
            None => op!("cmp.ne"),
        };
        let sources = vec![number.into(), Reg::R0.into()];
        vec![
            set(0, None),
            set(1, Some(own)),
            Operation {
                predicate: guard,
                ..Operation::plain(compare, targets.to_vec(), sources)
            },
        ]
    }
}
