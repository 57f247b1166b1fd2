//! PTX as passes see it.
//!
//! Physical registers are words of 32 bits of the processor's file, which [`Limits`] bounds; a 64-bit value takes an even
//! word and the next. Parameters are in memory, calls pass their arguments in variables and keep every register.

use super::moves::{Space, loaded, moved, stored};
use super::{Function, Operation};
use crate::mir::function::{Name, Operand};
use crate::mir::{
    Definition, FrameAccess, FrameAddress, FrameOffset, RegisterFile, SpillCode, SpillSlot, Target,
    Virtual,
};
use isa::ptx::{Class, Mnemonic, Ptx, Register};

/// Words that have numbers, and predicates.
const WORDS: usize = 2048;
const PREDICATES: usize = 256;
/// Kept back for values that live in memory: as many as one instruction names.
const KEPT: usize = 32;

/// Registers that may be used, at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Words of 32 bits.
    pub words: u16,
    pub predicates: u16,
}

impl Default for Limits {
    /// More than any instruction stream keeps alive in practice.
    fn default() -> Limits {
        Limits {
            words: (WORDS - KEPT) as u16,
            predicates: (PREDICATES - KEPT) as u16,
        }
    }
}

const fn register(class: Class, first: usize) -> Register {
    Register {
        class,
        first: first as u16,
    }
}

const fn scratch<const N: usize>(class: Class, step: usize, end: usize) -> [Register; N] {
    let mut out = [register(class, 0); N];
    let mut at = 0;
    while at < N {
        out[at] = register(class, end - (at + 1) * step);
        at += 1;
    }
    out
}

static WORD_SCRATCH: [Register; KEPT - 1] = scratch(Class::Word, 1, WORDS);
static HALF_SCRATCH: [Register; KEPT - 1] = scratch(Class::Half, 1, WORDS);
static DOUBLE_SCRATCH: [Register; KEPT / 2 - 1] = scratch(Class::Double, 2, WORDS);
static QUAD_SCRATCH: [Register; KEPT / 4 - 1] = scratch(Class::Quad, 4, WORDS);
static PREDICATE_SCRATCH: [Register; KEPT] = scratch(Class::Predicate, 1, PREDICATES);

/// A predicate as a number, on its way to its spill slot and back.
const NUMBER: Register = register(Class::Word, WORDS - KEPT);

/// The classes that words have, and how many of them have numbers.
const CLASSES: [(Class, usize); 4] = [
    (Class::Half, WORDS),
    (Class::Word, WORDS),
    (Class::Double, WORDS / 2),
    (Class::Quad, WORDS / 4),
];

fn fixed(register: Register) -> Operand<Ptx> {
    Operand::fixed(register)
}

impl Target for Ptx {
    type Processor = ();
    type Frame = ();
    type Limits = Limits;

    const NAME: &'static str = "PTX";
    const NONE: Register = NUMBER;
    const GENERAL: Class = Class::Word;
    const GUARD: Class = Class::Predicate;

    fn arrivals(_: &Function) -> Vec<Option<Register>> {
        Vec::new()
    }
    fn copied(operation: &Operation) -> Option<(Virtual, Virtual)> {
        let is_move = operation.mnemonic.opcode().name() == "mov";
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
        operation.mnemonic.opcode().name() == "setp"
    }
    fn acts(operation: &Operation) -> bool {
        use isa::ptx::Effect;
        let opcode = operation.mnemonic.opcode();
        !(opcode.effect() == Effect::Pure || opcode.loads())
    }
    fn is_pure(operation: &Operation) -> bool {
        operation.mnemonic.opcode().effect() == isa::ptx::Effect::Pure
    }
    fn is_sum(_: &Operation) -> bool {
        false
    }
    fn increment(_: &Operation) -> Option<(Virtual, i64)> {
        None
    }
    fn takes_step(_: &Operation, _: i64) -> bool {
        false
    }
    fn unread(_: Class) -> Option<Register> {
        None
    }
    fn copy(to: Register, from: Register) -> Operation {
        let mnemonic = Mnemonic::literal(moved(to.class));
        Operation::plain(mnemonic, vec![fixed(to)], vec![fixed(from)])
    }

    fn files(_: &Function, (): &(), limits: &Limits) -> Vec<RegisterFile<Ptx>> {
        let file = |class, step: usize, count: u16| {
            let count = usize::from(count) / step;
            let free: Vec<Register> = (0..count).map(|at| register(class, at * step)).collect();
            RegisterFile {
                class,
                preserved: free.clone(),
                free,
                turn: 0,
                renamed: None,
                lends: false,
                exclusive: false,
                arrivals: Vec::new(),
            }
        };
        vec![
            file(Class::Half, 1, limits.words),
            file(Class::Word, 1, limits.words),
            file(Class::Double, 2, limits.words),
            file(Class::Quad, 4, limits.words),
            file(Class::Predicate, 1, limits.predicates),
        ]
    }
    const UNITS: usize = WORDS + PREDICATES;
    const REGISTERS: usize = WORDS + WORDS + WORDS / 2 + WORDS / 4 + PREDICATES;
    fn units(register: Register) -> std::ops::Range<usize> {
        let first = usize::from(register.first);
        match register.class {
            Class::Predicate => WORDS + first..WORDS + first + 1,
            class => first..first + class.words() as usize,
        }
    }
    fn index(register: Register) -> usize {
        let first = usize::from(register.first);
        let mut before = 0;
        for (class, count) in CLASSES {
            if class == register.class {
                return before + first / class.words() as usize;
            }
            before += count;
        }
        before + first
    }
    fn overlapping(item: Register) -> Vec<Register> {
        if item.class == Class::Predicate {
            return vec![item];
        }
        let units = Ptx::units(item);
        CLASSES
            .iter()
            .flat_map(|&(class, _)| {
                let step = class.words() as usize;
                let first = units.start / step * step;
                (first..units.end)
                    .step_by(step)
                    .map(move |at| register(class, at))
            })
            .collect()
    }
    fn stays(_: &Function, _: Register) -> bool {
        false
    }
    fn passes(_: Register) -> bool {
        false
    }
    fn may_have(register: Register) -> bool {
        let end = Ptx::units(register).end;
        match register.class {
            Class::Predicate => end <= WORDS + PREDICATES - KEPT,
            _ => end <= WORDS - KEPT,
        }
    }

    /// The forms are the classes, in the order of [`CLASSES`].
    const FORMS: usize = 4;
    fn slot(class: Class) -> u32 {
        4 * class.words().max(1)
    }
    fn form_bytes(form: usize) -> u32 {
        4 * CLASSES[form].0.words()
    }
    fn scratch(class: Class) -> &'static [Register] {
        match class {
            Class::Predicate => &PREDICATE_SCRATCH,
            Class::Half => &HALF_SCRATCH,
            Class::Word => &WORD_SCRATCH,
            Class::Double => &DOUBLE_SCRATCH,
            Class::Quad => &QUAD_SCRATCH,
        }
    }
    fn definitions(
        operation: &Operation,
        register: &dyn Fn(Virtual) -> Register,
    ) -> Vec<Definition<Ptx>> {
        let names = operation.targets.iter().filter_map(Operand::name);
        names
            .map(|name| Definition {
                register: match name {
                    Name::Virtual(name) => register(name),
                    Name::Fixed(register) => register,
                },
                keeps: false,
                always: operation.predicate.is_none(),
            })
            .collect()
    }
    fn are_outputs(registers: &[Register]) -> bool {
        registers.is_empty()
    }
    fn reload(to: Register, slot: SpillSlot) -> Vec<Operation> {
        let load = |to: Register| {
            let mnemonic = Mnemonic::literal(loaded(to.class, Space::Local));
            Operation::plain(mnemonic, vec![fixed(to)], vec![slot.operand()])
        };
        if to.class == Class::Predicate {
            let compare = Mnemonic::literal("setp.ne.s32");
            let compare = Operation::plain(compare, vec![fixed(to)], vec![fixed(NUMBER)]);
            return vec![load(NUMBER), compare];
        }
        vec![load(to)]
    }
    fn spill(from: Register, slot: SpillSlot, _: Option<Virtual>) -> Vec<Operation> {
        let store = |from: Register| {
            let mnemonic = Mnemonic::literal(stored(from.class, Space::Local));
            Operation::plain(mnemonic, Vec::new(), vec![slot.operand(), fixed(from)])
        };
        if from.class == Class::Predicate {
            let select = Mnemonic::literal("selp.b32");
            let select = Operation::plain(select, vec![fixed(NUMBER)], vec![fixed(from)]);
            return vec![select, store(NUMBER)];
        }
        vec![store(from)]
    }
    fn spill_code(operation: &Operation) -> Option<SpillCode<Ptx>> {
        if operation.predicate.is_some() {
            return None;
        }
        let access = |offset: FrameOffset, name: Name<Ptx>| {
            let Name::Fixed(register) = name else {
                return None;
            };
            let form = CLASSES.iter().position(|it| it.0 == register.class)?;
            Some(FrameAccess {
                address: FrameAddress::Offset(offset),
                form,
            })
        };
        match (
            operation.mnemonic.opcode().name(),
            &operation.targets[..],
            &operation.sources[..],
        ) {
            ("ld", [Operand::Register(to)], [Operand::Frame(offset)]) => Some(SpillCode::Load {
                to: *to,
                from: access(*offset, *to)?,
            }),
            ("st", [], [Operand::Frame(offset), Operand::Register(from)]) => {
                Some(SpillCode::Store {
                    from: *from,
                    to: access(*offset, *from)?,
                })
            }
            (
                "mov" | "selp" | "setp",
                [Operand::Register(to @ Name::Fixed(_))],
                [Operand::Register(from @ Name::Fixed(_))],
            ) => Some(SpillCode::Copy {
                to: *to,
                from: *from,
            }),
            _ => None,
        }
    }
}
