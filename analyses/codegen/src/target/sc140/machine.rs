//! The SC140 as passes see it.

use super::capacity::Capacity;
use super::code::{
    self, Allocation, Function, LOOP, Name, Operand, Operation, Virtual, counter, is_access,
    is_move, is_store, operation, writes_truth,
};
use super::demands::{asked, virtual_of};
use super::packer::Packing;
use crate::mir::{
    Arithmetic, Counted, Definition, FrameAccess, FrameAddress, Hidden, Known, RegisterFile,
    Scheduled, SpillCode, SpillSlot, Target, Tuple,
};
use isa::InstructionSet;
use isa::sc140::{Condition, File, Opcode, Reg, Sc140, Status, Unit};

/// Registers that may be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    /// Those that values in memory pass through are kept back for them.
    pub spills: bool,
    /// Registers of each file that are left out besides; for trying out what happens when they run out.
    pub fewer: usize,
}

/// The registers that spilled values pass through.
const DATA_SCRATCH: [Reg; 3] = [Reg::data(13), Reg::data(14), Reg::data(15)];
const ADDRESS_SCRATCH: [Reg; 3] = [Reg::address(13), Reg::address(14), Reg::address(15)];
const TRUTH_SCRATCH: [Reg; 1] = [Reg::TRUTH];
/// T as a number, on its way to its spill slot and back.
const WORD: Reg = Reg::data(12);

/// Registers that a callee leaves as they were: the frame saves those that are used.
pub(super) const PRESERVED: [Reg; 4] =
    [Reg::data(6), Reg::data(7), Reg::address(6), Reg::address(7)];

fn fixed(register: Reg) -> Operand {
    Operand::fixed(register)
}

/// The opcode that copies a register of a file.
#[must_use]
pub(super) const fn copy_opcode(file: File) -> Opcode {
    match file {
        File::Address => Opcode::Tfra,
        _ => Opcode::Tfr,
    }
}

impl Target for Sc140 {
    type Processor = crate::machine::sets::Sets;
    type Frame = ();
    type Limits = Limits;

    const NAME: &'static str = "SC140";
    const NONE: Reg = WORD;
    const GENERAL: File = File::Data;
    const GUARD: File = File::Truth;

    /// The places of parameters by their position: the first two numbers in d0 and d1, the first two pointers in r0 and r1.
    fn arrivals(function: &Function) -> Vec<Option<Reg>> {
        let place = |(at, &parameter): (usize, &Virtual)| {
            (at < 2).then_some(Reg::new(function.class(parameter), at as u8))
        };
        function.parameters.iter().enumerate().map(place).collect()
    }
    fn copied(operation: &Operation) -> Option<(Virtual, Virtual)> {
        let is_copy = matches!(operation.mnemonic.opcode, Opcode::Tfr | Opcode::Tfra);
        match (
            &operation.targets[..],
            &operation.sources[..],
            operation.predicate,
        ) {
            (
                [Operand::Register(Name::Virtual(to))],
                [Operand::Register(Name::Virtual(from))],
                None,
            ) if is_copy => Some((*to, *from)),
            _ => None,
        }
    }
    fn is_compare(operation: &Operation) -> bool {
        writes_truth(operation.mnemonic.opcode)
    }
    fn acts(operation: &Operation) -> bool {
        let unit = operation.mnemonic.row().unit;
        is_store(operation)
            || operation.branch().is_some()
            || matches!(unit, Unit::Flow | Unit::Loop | Unit::Program | Unit::Mask)
            || matches!(operation.mnemonic.opcode, Opcode::Push | Opcode::Pop)
            || operation
                .memory
                .as_ref()
                .is_some_and(|memory| memory.volatile)
    }
    fn is_pure(operation: &Operation) -> bool {
        !Sc140::acts(operation) && !is_access(operation) && !Sc140::is_compare(operation)
    }
    fn is_sum(operation: &Operation) -> bool {
        let opcode = operation.mnemonic.opcode;
        matches!(
            opcode,
            Opcode::Add | Opcode::Sub | Opcode::AddncW | Opcode::Adda
        ) && !Sc140::accumulates(operation.mnemonic)
    }
    fn commutes(operation: &Operation) -> bool {
        use Opcode::{Add, Add2, And, Eor, Iadd, Impy, Mpy, Or};
        matches!(
            operation.mnemonic.opcode,
            Add | Add2 | And | Eor | Iadd | Impy | Mpy | Or
        )
    }
    fn increment(operation: &Operation) -> Option<(Virtual, i64)> {
        match (
            &operation.targets[..],
            &operation.sources[..],
            operation.mnemonic.opcode,
        ) {
            (
                [Operand::Register(Name::Virtual(to))],
                [Operand::Number(by)],
                opcode @ (Opcode::Adda | Opcode::Suba),
            ) => Some((*to, if opcode == Opcode::Adda { *by } else { -by })),
            (
                [Operand::Register(Name::Virtual(to))],
                [Operand::Number(by), Operand::Register(Name::Virtual(from))],
                Opcode::Adda,
            ) if to == from => Some((*to, *by)),
            _ => None,
        }
    }
    fn takes_step(access: &Operation, by: i64) -> bool {
        let opcode = access.mnemonic.opcode;
        is_move(opcode)
            && access.stepped().is_none()
            && by.unsigned_abs() == u64::from(code::bytes(opcode))
    }
    fn unread(_: File) -> Option<Reg> {
        None
    }
    fn fits_slot(operation: &Operation) -> bool {
        matches!(
            operation.mnemonic.opcode,
            Opcode::SatL | Opcode::SatF | Opcode::SxtB | Opcode::SxtW | Opcode::SxtL
        )
    }
    fn copy(to: Reg, from: Reg) -> Operation {
        operation(copy_opcode(to.file), vec![fixed(to)], vec![fixed(from)])
    }

    /// Constants as registers hold them, and accumulators to which nothing is added.
    fn known(
        operation: &Operation,
        constant: &dyn Fn(Name) -> Option<i64>,
    ) -> Option<Known<Sc140>> {
        let name = |operand: &Operand| operand.name();
        match (operation.mnemonic.opcode, &operation.sources[..]) {
            (Opcode::Clr, []) => Some(Known::Constant(0)),
            (Opcode::MoveW | Opcode::MoveL, [Operand::Number(number)]) => {
                Some(Known::Constant(i64::from(*number as i32)))
            }
            (Opcode::Mac, [factor, other, ..]) => {
                let mut factors = [factor, other].into_iter().filter_map(name);
                let zero = factors.any(|factor| constant(factor) == Some(0));
                let to = operation.targets.first().and_then(name)?;
                zero.then_some(Known::Operand(to))
            }
            _ => None,
        }
    }
    fn hidden(operation: &Operation) -> Hidden {
        let status = operation.mnemonic.row().status;
        let any = |all: &[Status]| status.iter().any(|status| all.contains(status));
        let guarded = operation.predicate.is_some();
        Hidden {
            reads: any(&[Status::ReadsCarry]) || (any(&[Status::ReadsTruth]) && !guarded),
            writes: any(&[Status::WritesCarry, Status::MayWriteCarry]),
        }
    }
    fn constant(to: Reg, constant: i64) -> Option<Operation> {
        let opcode = match (to.file, constant) {
            (File::Data, 0) => return Some(operation(Opcode::Clr, vec![fixed(to)], Vec::new())),
            (File::Data | File::Address, -0x8000..=0x7fff) => Opcode::MoveW,
            (File::Data | File::Address, _) => Opcode::MoveL,
            _ => return None,
        };
        Some(operation(opcode, vec![fixed(to)], vec![constant.into()]))
    }
    /// Moves between files: an address register holds the 32 bits that a slot of the frame would.
    fn transfer(to: Reg, from: Reg, guard: Option<Virtual>) -> Option<Vec<Operation>> {
        let moved = |opcode| vec![operation(opcode, vec![fixed(to)], vec![fixed(from)])];
        match (to.file, from.file) {
            (File::Data, File::Data) | (File::Address, File::Address) => {
                Some(vec![Sc140::copy(to, from)])
            }
            (File::Data, File::Address) | (File::Address, File::Data) => Some(moved(Opcode::MoveL)),
            (File::Truth, File::Data) => Some(moved(Opcode::Tstgt)),
            (File::Data, File::Truth) => {
                let raise = operation(Opcode::Add, vec![fixed(to)], vec![1.into()]);
                Some(vec![
                    operation(Opcode::Clr, vec![fixed(to)], Vec::new()),
                    Sc140::under(raise, guard?, true),
                ])
            }
            _ => None,
        }
    }
    fn homes(function: &Function, sets: &Self::Processor, limits: &Limits) -> Vec<Reg> {
        let all = Limits {
            spills: false,
            ..*limits
        };
        let files = Sc140::files(function, sets, &all).into_iter();
        let open = files.filter(|file| file.class != File::Truth);
        let mut out: Vec<Reg> = Vec::new();
        for file in open {
            let scratch = Sc140::scratch(file.class).iter().copied();
            out.extend(&file.free);
            out.extend(scratch.filter(|register| !file.free.contains(register)));
        }
        out
    }
    fn saved_with(register: Reg) -> &'static [Reg] {
        let pairs = [&PRESERVED[..2], &PRESERVED[2..]];
        let own = pairs.into_iter().find(|pair| pair.contains(&register));
        own.unwrap_or_default()
    }

    fn files(_: &Function, _: &Self::Processor, limits: &Limits) -> Vec<RegisterFile<Sc140>> {
        let file = |class, last: u8, kept: [u8; 2], arrivals: Vec<Reg>| {
            let last = if limits.spills { last } else { 16 };
            let (preserved, free): (Vec<u8>, Vec<u8>) =
                (0..last).partition(|number| kept.contains(number));
            // The lower ones first: an upper one asks for two words of prefix in its set.
            let all = free.iter().chain(&preserved);
            let count = usize::from(last).saturating_sub(limits.fewer);
            let register = |number: &u8| Reg::new(class, *number);
            RegisterFile {
                class,
                free: all.take(count).map(register).collect(),
                preserved: preserved.iter().map(register).collect(),
                turn: 6,
                renamed: None,
                lends: false,
                exclusive: false,
                arrivals,
            }
        };
        let arrivals = |class| vec![Reg::new(class, 0), Reg::new(class, 1)];
        vec![
            file(File::Data, 12, [6, 7], arrivals(File::Data)),
            file(File::Address, 13, [6, 7], arrivals(File::Address)),
            RegisterFile {
                class: File::Truth,
                free: vec![Reg::TRUTH],
                preserved: Vec::new(),
                turn: 1,
                renamed: None,
                lends: false,
                exclusive: true,
                arrivals: Vec::new(),
            },
        ]
    }
    const UNITS: usize = 68;
    const REGISTERS: usize = 68;
    fn units(register: Reg) -> std::ops::Range<usize> {
        let at = Sc140::index(register);
        at..at + 1
    }
    fn index(register: Reg) -> usize {
        let first = match register.file {
            File::Data => 0,
            File::Address => 16,
            File::Offset => 32,
            File::Modifier => 36,
            File::LoopStart => 40,
            File::LoopCount => 44,
            File::LoopFlag => 48,
            File::Truth => 52,
            File::Status => 53,
            File::Control => 57,
        };
        first + usize::from(register.number)
    }
    fn tuple(operation: &Operation) -> Option<Tuple> {
        let is_extreme = code::is_extreme(operation.mnemonic.opcode);
        let named: Vec<&Operand> = match is_extreme {
            true => operation.sources.iter().chain(&operation.targets).collect(),
            false => code::tuple(operation).iter().collect(),
        };
        let members = named.into_iter().filter_map(Operand::virtual_register);
        let members: Vec<Virtual> = members.collect();
        (members.len() > 1).then_some(Tuple {
            members,
            distance: if is_extreme { 4 } else { 1 },
        })
    }
    fn places(tuple: &Tuple, first: Reg) -> Option<Vec<Reg>> {
        let count = u8::try_from(tuple.members.len()).ok()?;
        let begins = match tuple.distance {
            1 => first.number.is_multiple_of(count),
            // Both in one half of the file.
            distance => first.number % 8 < distance,
        };
        let all = (0..count).map(|more| Reg::new(first.file, first.number + more * tuple.distance));
        let fits = first.number + (count - 1) * tuple.distance < 16;
        (begins && fits).then(|| all.collect())
    }
    fn stays(_: &Function, register: Reg) -> bool {
        matches!(register.file, File::Data | File::Address)
    }
    fn clobbered(_: &Function, _: &[Reg]) -> Vec<Reg> {
        let all = |file| (0..16).map(move |number| Reg::new(file, number));
        let mut out: Vec<Reg> = all(File::Data).chain(all(File::Address)).collect();
        out.retain(|register| !PRESERVED.contains(register));
        out.push(Reg::TRUTH);
        out.push(counter());
        out
    }
    fn passes(register: Reg) -> bool {
        matches!(register.file, File::Data | File::Address) && register.number < 3
    }
    fn may_have(register: Reg) -> bool {
        matches!(register.file, File::Data | File::Address | File::Truth)
    }

    const FORMS: usize = 1;
    fn slot(_: File) -> u32 {
        4
    }
    fn form_bytes(_: usize) -> u32 {
        4
    }
    fn scratch(class: File) -> &'static [Reg] {
        match class {
            File::Data => &DATA_SCRATCH,
            File::Address => &ADDRESS_SCRATCH,
            File::Truth => &TRUTH_SCRATCH,
            _ => &[],
        }
    }
    fn definitions(
        operation: &Operation,
        register: &dyn Fn(Virtual) -> Reg,
    ) -> Vec<Definition<Sc140>> {
        let targets = operation.targets.iter().filter_map(|target| match target {
            Operand::Register(name) => Some(*name),
            _ => None,
        });
        let named = targets.chain(operation.stepped());
        named
            .map(|name| Definition {
                register: match name {
                    Name::Virtual(name) => register(name),
                    Name::Fixed(name) => name,
                },
                keeps: false,
                always: operation.predicate.is_none(),
            })
            .collect()
    }
    fn are_outputs(registers: &[Reg]) -> bool {
        registers.is_empty()
    }
    fn load_into(class: File, to: Virtual, slot: SpillSlot) -> Option<Operation> {
        let load = operation(Opcode::MoveL, vec![to.into()], vec![slot.operand()]);
        matches!(class, File::Data | File::Address).then_some(load)
    }
    fn store_from(class: File, from: Virtual, slot: SpillSlot) -> Option<Operation> {
        let sources = vec![slot.operand(), from.into()];
        let store = operation(Opcode::MoveL, Vec::new(), sources);
        matches!(class, File::Data | File::Address).then_some(store)
    }
    fn reload(to: Reg, slot: SpillSlot) -> Vec<Operation> {
        let load = |to| operation(Opcode::MoveL, vec![fixed(to)], vec![slot.operand()]);
        match to.file {
            File::Truth => vec![
                load(WORD),
                operation(Opcode::Tstgt, vec![fixed(to)], vec![fixed(WORD)]),
            ],
            _ => vec![load(to)],
        }
    }
    fn spill(from: Reg, slot: SpillSlot, guard: Option<Virtual>) -> Vec<Operation> {
        let store = |from| operation(Opcode::MoveL, Vec::new(), vec![slot.operand(), fixed(from)]);
        match (from.file, guard) {
            (File::Truth, Some(guard)) => vec![
                operation(Opcode::Clr, vec![fixed(WORD)], Vec::new()),
                Sc140::under(
                    operation(Opcode::Add, vec![fixed(WORD)], vec![1.into()]),
                    guard,
                    true,
                ),
                store(WORD),
            ],
            _ => vec![store(from)],
        }
    }
    fn spill_code(operation: &Operation) -> Option<SpillCode<Sc140>> {
        let access = |offset| FrameAccess {
            address: FrameAddress::Offset(offset),
            form: 0,
        };
        let opcode = operation.mnemonic.opcode;
        match (
            &operation.targets[..],
            &operation.sources[..],
            operation.predicate,
        ) {
            ([Operand::Register(to)], [Operand::Number(1)], Some(guard)) => (opcode == Opcode::Add)
                .then_some(SpillCode::Raise {
                    to: *to,
                    from: Name::Virtual(guard),
                }),
            (.., Some(_)) => None,
            ([Operand::Register(to)], [], None) => {
                (opcode == Opcode::Clr).then_some(SpillCode::Zero { to: *to })
            }
            ([Operand::Register(to)], [Operand::Frame(offset)], None) => (opcode == Opcode::MoveL)
                .then_some(SpillCode::Load {
                    to: *to,
                    from: access(*offset),
                }),
            ([], [Operand::Frame(offset), Operand::Register(from)], None) => {
                (opcode == Opcode::MoveL).then_some(SpillCode::Store {
                    from: *from,
                    to: access(*offset),
                })
            }
            ([Operand::Register(to)], [Operand::Register(from)], None) => {
                matches!(opcode, Opcode::Tfr | Opcode::Tfra | Opcode::Tstgt).then_some(
                    SpillCode::Copy {
                        to: *to,
                        from: *from,
                    },
                )
            }
            _ => None,
        }
    }
}

impl Scheduled for Sc140 {
    type Packer = Packing;
    const FRAME_BASE: Option<Reg> = Some(Reg::SP);

    /// A push, or a pop, of an even register and its odd neighbour move the stack pointer once.
    fn are_joined(first: &Operation, second: &Operation) -> bool {
        let register = |operation: &Operation| {
            let mut operands = operation.targets.iter().chain(&operation.sources);
            operands.find_map(|operand| match operand {
                Operand::Register(Name::Fixed(register)) if *register != Reg::SP => Some(*register),
                _ => None,
            })
        };
        let opcode = first.mnemonic.opcode;
        matches!(opcode, Opcode::Push | Opcode::Pop)
            && opcode == second.mnemonic.opcode
            && register(first)
                .zip(register(second))
                .is_some_and(|(even, odd)| {
                    even.file == odd.file
                        && even.number.is_multiple_of(2)
                        && odd.number == even.number + 1
                })
    }

    fn packer(sets: &Self::Processor, operations: &[Operation]) -> Packing {
        let asked = operations.iter().map(asked).collect();
        Packing::new(Capacity::of(sets), asked)
    }
    fn packer_of_iterations(
        sets: &Self::Processor,
        body: &[Operation],
        renamed: &dyn Fn(Virtual) -> bool,
    ) -> Packing {
        let asked = body.iter().map(|operation| {
            let mut asked = asked(operation);
            asked.write_apart(&|key| virtual_of(key).is_some_and(renamed));
            asked
        });
        Packing::new(Capacity::of(sets), asked.collect())
    }
    /// A move to an address register, and T for a unit that is not the data unit, are there a set later.
    fn latency(_: &Self::Processor, from: &Operation, to: &Operation, register: Name) -> u32 {
        let data = to.mnemonic.row().unit == Unit::Data;
        let flow = matches!(to.mnemonic.row().unit, Unit::Flow | Unit::Loop);
        let reads_truth = to
            .predicate
            .is_some_and(|guard| Name::Virtual(guard) == register);
        if reads_truth {
            return if data || flow { 1 } else { 2 };
        }
        let addresses = |operand: &Operand| *operand == Operand::Address(register);
        let operands = to.targets.iter().chain(&to.sources);
        let computes = to.mnemonic.row().unit == Unit::Address && !is_move(to.mnemonic.opcode);
        // A call through a pointer; what it passes on is the callee's.
        let called = to.mnemonic.row().unit == Unit::Flow
            && to.sources.first() == Some(&Operand::Register(register));
        let used = computes || called || operands.into_iter().any(addresses);
        match used && code::moves(from, register) {
            true => 2,
            false => 1,
        }
    }
    /// Address arithmetic writes a stage before moves do.
    fn output_latency(from: &Operation, to: &Operation, register: Name) -> u32 {
        let early = to.mnemonic.row().unit == Unit::Address && !code::moves(to, register);
        match early && code::moves(from, register) {
            true => 2,
            false => 1,
        }
    }
    fn is_late(operation: &Operation, storage: u32) -> bool {
        let first = Sc140::index(Reg::address(0)) as u32;
        is_move(operation.mnemonic.opcode) && (first..first + 16).contains(&storage)
    }
    fn share_cycle(from: &Operation, to: &Operation) -> bool {
        !is_store(from) && Sc140::stores(to)
    }
    /// The stack pointer goes down to where it was.
    fn releases(operation: &Operation) -> bool {
        operation.mnemonic.opcode == Opcode::Suba
            && operation.memory.is_some()
            && operation.targets.contains(&fixed(Reg::SP))
    }
    fn stores(operation: &Operation) -> bool {
        is_store(operation) || Sc140::releases(operation)
    }
    fn loads(operation: &Operation) -> bool {
        is_access(operation) && !is_store(operation)
    }
    fn is_single(class: File) -> bool {
        matches!(class, File::Truth | File::LoopCount)
    }
}

impl Counted for Sc140 {
    fn counter(operation: &Operation) -> Option<Virtual> {
        match operation.mnemonic.opcode {
            Opcode::Doen | Opcode::Doensh => operation.sources[0].virtual_register(),
            _ => None,
        }
    }
    fn set_counter(from: Virtual) -> Operation {
        let mut enable = operation(Opcode::Doen, vec![fixed(counter())], vec![from.into()]);
        enable.mnemonic = enable.mnemonic.of_loop(LOOP);
        enable
    }
    fn loop_back(block: u32) -> Operation {
        let sources = vec![fixed(counter()), Operand::Block(block)];
        operation(Opcode::Lpmarka, vec![fixed(counter())], sources)
    }
}

/// The bits of a number from one on, without a sign.
fn bits(to: Virtual, from: Virtual, width: i64, offset: i64) -> Operation {
    let sources = vec![width.into(), offset.into(), from.into()];
    operation(Opcode::Extractu, vec![to.into()], sources)
}

impl Arithmetic for Sc140 {
    fn assign(class: File, to: Virtual, from: Virtual) -> Operation {
        operation(copy_opcode(class), vec![to.into()], vec![from.into()])
    }
    fn add_number(to: Virtual, from: Virtual, number: i64) -> Operation {
        let sources = vec![number.into(), from.into()];
        operation(Opcode::AddncW, vec![to.into()], sources)
    }
    fn shift_right(to: Virtual, from: Virtual, by: u32) -> Operation {
        bits(to, from, 32 - i64::from(by), by.into())
    }
    fn and_number(to: Virtual, from: Virtual, number: i64) -> Operation {
        debug_assert!((number + 1).count_ones() == 1, "a field at the low end");
        match number {
            0 => operation(Opcode::Clr, vec![to.into()], Vec::new()),
            _ => bits(to, from, i64::from(number.trailing_ones()), 0),
        }
    }
    fn or(to: Virtual, left: Virtual, right: Virtual) -> Vec<Operation> {
        vec![
            Sc140::assign(File::Data, to, left),
            operation(Opcode::Or, vec![to.into()], vec![right.into()]),
        ]
    }
    fn is_less(guard: Virtual, from: Virtual, number: i64) -> (Operation, bool) {
        let sources = vec![(number - 1).into(), from.into()];
        (
            operation(Opcode::CmpgtW, vec![guard.into()], sources),
            false,
        )
    }
    fn is_set(guard: Virtual, from: Virtual) -> Operation {
        operation(Opcode::Tstgt, vec![guard.into()], vec![from.into()])
    }
    fn as_number(to: Virtual, guard: Virtual, holds: bool) -> Vec<Operation> {
        let raise = operation(Opcode::Add, vec![to.into()], vec![1.into()]);
        vec![
            operation(Opcode::Clr, vec![to.into()], Vec::new()),
            Sc140::under(raise, guard, holds),
        ]
    }
    fn jump(block: u32, guard: Option<(Virtual, bool)>) -> Operation {
        let opcode = match guard {
            None => Opcode::Bra,
            Some((_, true)) => Opcode::Bt,
            Some((_, false)) => Opcode::Bf,
        };
        let jump = operation(opcode, Vec::new(), vec![Operand::Block(block)]);
        jump.under(guard.map(|(guard, _)| guard))
    }
    fn under(operation: Operation, guard: Virtual, holds: bool) -> Operation {
        let condition = match holds {
            true => Condition::True,
            false => Condition::False,
        };
        let mnemonic = operation.mnemonic.under(condition);
        Operation {
            mnemonic,
            predicate: Some(guard),
            ..operation
        }
    }
    fn always(operation: Operation) -> Operation {
        let mnemonic = operation.mnemonic.under(Condition::Always);
        Operation {
            mnemonic,
            predicate: None,
            ..operation
        }
    }
}

/// The storage of registers, once they are given.
pub(super) fn locate(
    allocation: &Allocation,
) -> impl Fn(Name) -> crate::mir::dependence::Locations + '_ {
    |name| {
        let register = match name {
            Name::Virtual(register) => allocation.register(register),
            Name::Fixed(register) => register,
        };
        Sc140::units(register).map(|unit| unit as u32).collect()
    }
}
