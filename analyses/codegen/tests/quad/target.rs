//! Quad as passes see it.

use super::set::{
    ACCESSES, Class, Function, Name, Opcode, Operand, Operation, PACKET, PRODUCTS, Quad, Register,
    WORDS, is_access, is_product, latency, words,
};
use lockstep_codegen::mir::packer::Packer;
use lockstep_codegen::mir::{
    Arithmetic, Counted, Definition, FrameAccess, FrameAddress, RegisterFile, Scheduled, SpillCode,
    SpillSlot, Target, Virtual,
};

/// Registers of each class that may be used, at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    pub data: usize,
    pub pairs: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            data: 22,
            pairs: 11,
        }
    }
}

const DATA_SCRATCH: [Register; 3] = [Register::data(29), Register::data(30), Register::data(31)];
const PAIR_SCRATCH: [Register; 3] = [Register::pair(11), Register::pair(12), Register::pair(13)];
const FLAG_SCRATCH: [Register; 1] = [Register::T];
/// A flag as a number, on its way to its spill slot and back.
const WORD: Register = Register::data(28);
/// Forms of slots.
const SINGLE: usize = 0;
const DOUBLE: usize = 1;

fn plain(opcode: Opcode, targets: &[Operand], sources: &[Operand]) -> Operation {
    Operation::plain(opcode.into(), targets.to_vec(), sources.to_vec())
}

fn fixed(register: Register) -> Operand {
    Operand::fixed(register)
}

impl Target for Quad {
    type Processor = ();
    type Frame = ();
    type Limits = Limits;

    const NAME: &'static str = "Quad";
    const NONE: Register = WORD;
    const GENERAL: Class = Class::Data;
    const GUARD: Class = Class::Flag;

    fn arrivals(function: &Function) -> Vec<Option<Register>> {
        let count = function.parameters.len() as u8;
        (0..count)
            .map(|it| (it < 4).then_some(Register::data(it)))
            .collect()
    }
    fn copied(operation: &Operation) -> Option<(Virtual, Virtual)> {
        let is_move = matches!(operation.mnemonic.opcode, Opcode::Mov | Opcode::Movq);
        match (
            &operation.targets[..],
            &operation.sources[..],
            operation.predicate,
        ) {
            (
                [Operand::Register(Name::Virtual(to))],
                [Operand::Register(Name::Virtual(from))],
                None,
            ) if is_move => Some((*to, *from)),
            _ => None,
        }
    }
    fn is_compare(operation: &Operation) -> bool {
        matches!(
            operation.mnemonic.opcode,
            Opcode::Tst | Opcode::Cmpeq | Opcode::Cmplt
        )
    }
    fn acts(operation: &Operation) -> bool {
        use Opcode::{Endloop, Jump, Ret, Setlc, St, Stq, Sts, Stsq};
        let opcode = operation.mnemonic.opcode;
        matches!(opcode, Endloop | Jump | Ret | Setlc | St | Stq | Sts | Stsq)
    }
    fn is_pure(operation: &Operation) -> bool {
        use Opcode::{Add, Addq, And, Li, Mov, Movq, Mul, Narrow, Or, Shr, Sub, Widen, Xor};
        matches!(
            operation.mnemonic.opcode,
            Li | Mov | Movq | Add | Sub | And | Or | Xor | Shr | Mul | Addq | Widen | Narrow
        )
    }
    fn is_sum(operation: &Operation) -> bool {
        matches!(operation.mnemonic.opcode, Opcode::Add | Opcode::Sub)
    }
    fn increment(operation: &Operation) -> Option<(Virtual, i64)> {
        match (&operation.targets[..], &operation.sources[..]) {
            (
                [Operand::Register(Name::Virtual(to))],
                [Operand::Register(Name::Virtual(from)), Operand::Number(by)],
            ) if operation.mnemonic.opcode == Opcode::Add && to == from => Some((*to, *by)),
            _ => None,
        }
    }
    fn takes_step(access: &Operation, by: i64) -> bool {
        use Opcode::{Ld, Ldq, St, Stq};
        (-64..64).contains(&by)
            && access.sources.len() == 1
            && matches!(access.mnemonic.opcode, Ld | Ldq | St | Stq)
    }
    fn unread(_: Class) -> Option<Register> {
        None
    }
    fn copy(to: Register, from: Register) -> Operation {
        let opcode = if to.class == Class::Pair {
            Opcode::Movq
        } else {
            Opcode::Mov
        };
        plain(opcode, &[fixed(to)], &[fixed(from)])
    }

    fn files(_: &Function, (): &(), limits: &Limits) -> Vec<RegisterFile<Quad>> {
        let file = |class, free: Vec<Register>, turn, exclusive, arrivals| RegisterFile {
            class,
            preserved: free.clone(),
            free,
            turn,
            renamed: None,
            lends: false,
            exclusive,
            arrivals,
        };
        let arrivals: Vec<Register> = (0..4).map(Register::data).collect();
        let pairs = (0..11)
            .rev()
            .map(Register::pair)
            .take(limits.pairs)
            .collect();
        vec![
            file(
                Class::Data,
                (0..22).map(Register::data).take(limits.data).collect(),
                8,
                false,
                arrivals,
            ),
            file(Class::Pair, pairs, 4, false, Vec::new()),
            file(Class::Flag, vec![Register::T], 1, true, Vec::new()),
        ]
    }
    const UNITS: usize = 34;
    const REGISTERS: usize = 50;
    fn units(register: Register) -> std::ops::Range<usize> {
        let number = usize::from(register.number);
        match register.class {
            Class::Data => number..number + 1,
            Class::Pair => 2 * number..2 * number + 2,
            Class::Flag => 32..33,
            Class::Count => 33..34,
        }
    }
    fn index(register: Register) -> usize {
        let number = usize::from(register.number);
        match register.class {
            Class::Data => number,
            Class::Pair => 32 + number,
            Class::Flag => 48,
            Class::Count => 49,
        }
    }
    fn overlapping(register: Register) -> Vec<Register> {
        let number = register.number;
        match register.class {
            Class::Data => vec![register, Register::pair(number / 2)],
            Class::Pair => vec![
                register,
                Register::data(2 * number),
                Register::data(2 * number + 1),
            ],
            Class::Flag | Class::Count => vec![register],
        }
    }
    fn stays(_: &Function, register: Register) -> bool {
        register.class == Class::Data
    }
    fn passes(register: Register) -> bool {
        register == Register::data(0)
    }
    fn may_have(register: Register) -> bool {
        match register.class {
            Class::Data => register.number < 22,
            Class::Pair => register.number < 11,
            Class::Flag => true,
            Class::Count => false,
        }
    }

    const FORMS: usize = 2;
    fn slot(class: Class) -> u32 {
        if class == Class::Pair { 8 } else { 4 }
    }
    fn form_bytes(form: usize) -> u32 {
        if form == DOUBLE { 8 } else { 4 }
    }
    fn scratch(class: Class) -> &'static [Register] {
        match class {
            Class::Pair => &PAIR_SCRATCH,
            Class::Flag => &FLAG_SCRATCH,
            Class::Data | Class::Count => &DATA_SCRATCH,
        }
    }
    fn definitions(
        operation: &Operation,
        register: &dyn Fn(Virtual) -> Register,
    ) -> Vec<Definition<Quad>> {
        let place = |name: Name| match name {
            Name::Virtual(name) => register(name),
            Name::Fixed(register) => register,
        };
        let targets = operation.targets.iter().filter_map(|target| match target {
            Operand::Register(name) => Some(*name),
            _ => None,
        });
        let named = targets.chain(operation.stepped());
        named
            .map(|name| Definition {
                register: place(name),
                keeps: false,
                always: operation.predicate.is_none(),
            })
            .collect()
    }
    fn are_outputs(registers: &[Register]) -> bool {
        registers.is_empty()
    }
    fn reload(to: Register, slot: SpillSlot) -> Vec<Operation> {
        let at = slot.operand();
        match to.class {
            Class::Pair => vec![plain(Opcode::Ldsq, &[fixed(to)], &[at])],
            Class::Flag => vec![
                plain(Opcode::Lds, &[fixed(WORD)], &[at]),
                plain(Opcode::Tst, &[fixed(to)], &[fixed(WORD)]),
            ],
            Class::Data | Class::Count => vec![plain(Opcode::Lds, &[fixed(to)], &[at])],
        }
    }
    fn spill(from: Register, slot: SpillSlot, _: Option<Virtual>) -> Vec<Operation> {
        let at = slot.operand();
        match from.class {
            Class::Pair => vec![plain(Opcode::Stsq, &[], &[at, fixed(from)])],
            Class::Flag => vec![
                plain(Opcode::Sett, &[fixed(WORD)], &[fixed(from)]),
                plain(Opcode::Sts, &[], &[at, fixed(WORD)]),
            ],
            Class::Data | Class::Count => vec![plain(Opcode::Sts, &[], &[at, fixed(from)])],
        }
    }
    fn spill_code(operation: &Operation) -> Option<SpillCode<Quad>> {
        if operation.predicate.is_some() {
            return None;
        }
        let access = |offset, form| FrameAccess {
            address: FrameAddress::Offset(offset),
            form,
        };
        let opcode = operation.mnemonic.opcode;
        match (&operation.targets[..], &operation.sources[..]) {
            ([Operand::Register(to)], [Operand::Frame(offset)]) => match opcode {
                Opcode::Lds => Some(SpillCode::Load {
                    to: *to,
                    from: access(*offset, SINGLE),
                }),
                Opcode::Ldsq => Some(SpillCode::Load {
                    to: *to,
                    from: access(*offset, DOUBLE),
                }),
                _ => None,
            },
            ([], [Operand::Frame(offset), Operand::Register(from)]) => match opcode {
                Opcode::Sts => Some(SpillCode::Store {
                    from: *from,
                    to: access(*offset, SINGLE),
                }),
                Opcode::Stsq => Some(SpillCode::Store {
                    from: *from,
                    to: access(*offset, DOUBLE),
                }),
                _ => None,
            },
            ([Operand::Register(to)], [Operand::Register(from)]) => match opcode {
                Opcode::Mov | Opcode::Movq | Opcode::Tst | Opcode::Sett => Some(SpillCode::Copy {
                    to: *to,
                    from: *from,
                }),
                _ => None,
            },
            _ => None,
        }
    }
}

/// The demands of each operation: its words, and whether it is an access, a product, a branch.
#[derive(Clone, PartialEq, Debug)]
pub struct Demands(Vec<[u32; 5]>);

impl Packer for Demands {
    type Demand = [u32; 5];

    fn add(&self, demand: &mut [u32; 5], operation: u32) {
        for (sum, each) in demand.iter_mut().zip(self.0[operation as usize]) {
            *sum += each;
        }
    }
    fn remove(&self, demand: &mut [u32; 5], operation: u32) {
        for (sum, each) in demand.iter_mut().zip(self.0[operation as usize]) {
            *sum -= each;
        }
    }
    fn kind(&self, operation: u32) -> usize {
        operation as usize
    }
    fn kinds(&self) -> usize {
        self.0.len()
    }
    fn fits(&self, demand: &[u32; 5]) -> bool {
        let most = [PACKET as u32, WORDS, ACCESSES, PRODUCTS, 1];
        demand.iter().zip(most).all(|(it, most)| *it <= most)
    }
    fn res_mii(&self) -> u32 {
        self.least_cycles(&mut (0..self.0.len() as u32))
    }
    fn least_cycles(&self, operations: &mut dyn Iterator<Item = u32>) -> u32 {
        let mut all = [0; 5];
        operations.for_each(|it| self.add(&mut all, it));
        let most = [PACKET as u32, WORDS, ACCESSES, PRODUCTS, 1];
        all.iter()
            .zip(most)
            .map(|(it, most)| it.div_ceil(most))
            .max()
            .unwrap_or(0)
    }
    fn scarcity(&self) -> Vec<u32> {
        let weights = [250, 166, 500, 1000, 1000];
        let share = |it: &[u32; 5]| it.iter().zip(weights).map(|(it, by)| it * by).max();
        self.0.iter().map(|it| share(it).unwrap_or(0)).collect()
    }
}

impl Scheduled for Quad {
    type Packer = Demands;

    fn packer((): &(), operations: &[Operation]) -> Demands {
        let of = |operation: &Operation| {
            let opcode = operation.mnemonic.opcode;
            [
                1,
                words(operation),
                u32::from(is_access(opcode)),
                u32::from(is_product(opcode)),
                u32::from(operation.branch().is_some()),
            ]
        };
        Demands(operations.iter().map(of).collect())
    }
    fn latency((): &(), from: &Operation, _: &Operation, register: Name) -> u32 {
        match from.stepped() == Some(register) {
            true => 1,
            false => latency(from.mnemonic.opcode),
        }
    }
    fn share_cycle(from: &Operation, to: &Operation) -> bool {
        !Quad::stores(from) && Quad::stores(to)
    }
    fn stores(operation: &Operation) -> bool {
        use Opcode::{St, Stq, Sts, Stsq};
        matches!(operation.mnemonic.opcode, St | Stq | Sts | Stsq)
    }
    fn loads(operation: &Operation) -> bool {
        use Opcode::{Ld, Ldq, Lds, Ldsq};
        matches!(operation.mnemonic.opcode, Ld | Ldq | Lds | Ldsq)
    }
    fn is_single(class: Class) -> bool {
        matches!(class, Class::Flag | Class::Count)
    }
}

impl Counted for Quad {
    fn counter(operation: &Operation) -> Option<Virtual> {
        match operation.mnemonic.opcode {
            Opcode::Setlc => operation.sources[0].virtual_register(),
            _ => None,
        }
    }
    fn set_counter(from: Virtual) -> Operation {
        plain(Opcode::Setlc, &[fixed(Register::LC)], &[from.into()])
    }
    fn loop_back(block: u32) -> Operation {
        let lc = fixed(Register::LC);
        plain(
            Opcode::Endloop,
            std::slice::from_ref(&lc),
            &[lc.clone(), Operand::Block(block)],
        )
    }
}

impl Arithmetic for Quad {
    fn assign(class: Class, to: Virtual, from: Virtual) -> Operation {
        let opcode = if class == Class::Pair {
            Opcode::Movq
        } else {
            Opcode::Mov
        };
        plain(opcode, &[to.into()], &[from.into()])
    }
    fn add_number(to: Virtual, from: Virtual, number: i64) -> Operation {
        plain(Opcode::Add, &[to.into()], &[from.into(), number.into()])
    }
    fn shift_right(to: Virtual, from: Virtual, by: u32) -> Operation {
        plain(
            Opcode::Shr,
            &[to.into()],
            &[from.into(), i64::from(by).into()],
        )
    }
    fn and_number(to: Virtual, from: Virtual, number: i64) -> Operation {
        plain(Opcode::And, &[to.into()], &[from.into(), number.into()])
    }
    fn or(to: Virtual, left: Virtual, right: Virtual) -> Vec<Operation> {
        vec![plain(
            Opcode::Or,
            &[to.into()],
            &[left.into(), right.into()],
        )]
    }
    fn is_less(guard: Virtual, from: Virtual, number: i64) -> (Operation, bool) {
        let sources = [from.into(), number.into()];
        (plain(Opcode::Cmplt, &[guard.into()], &sources), true)
    }
    fn is_set(guard: Virtual, from: Virtual) -> Operation {
        plain(Opcode::Tst, &[guard.into()], &[from.into()])
    }
    fn as_number(to: Virtual, guard: Virtual, holds: bool) -> Vec<Operation> {
        let mut out = vec![plain(Opcode::Sett, &[to.into()], &[guard.into()])];
        if !holds {
            out.push(Quad::add_number(to, to, 1));
            out.push(Quad::and_number(to, to, 1));
        }
        out
    }
    fn jump(block: u32, guard: Option<(Virtual, bool)>) -> Operation {
        let jump = plain(Opcode::Jump, &[], &[Operand::Block(block)]);
        match guard {
            Some((guard, holds)) => Quad::under(jump, guard, holds),
            None => jump,
        }
    }
    fn under(operation: Operation, guard: Virtual, holds: bool) -> Operation {
        let mut out = Quad::always(operation);
        out.mnemonic.sense = holds;
        out.predicate = Some(guard);
        out
    }
    fn always(operation: Operation) -> Operation {
        Operation {
            mnemonic: operation.mnemonic.opcode.into(),
            predicate: None,
            ..operation
        }
    }
}
