//! The parts of random functions: registers that hold values, pointers with room around them, operations between them.

use crate::quad::set::{Block, Class, Function, Mnemonic, Name, Opcode, Operand, Operation};
use lockstep_codegen::mir::{Object, Reference, Virtual};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// A flag and the value of it for which an operation executes.
pub type Guard = Option<(Virtual, bool)>;

/// A register that points into an object.
#[derive(Clone, Debug)]
pub struct Pointer {
    pub register: Virtual,
    pub object: Object,
    /// Bytes by which it may still be stepped, in one execution of the code or one iteration, either way.
    pub left: i64,
}

/// Registers that hold values here.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    pub data: Vec<Virtual>,
    pub pairs: Vec<Virtual>,
    pub flags: Vec<Virtual>,
}

#[derive(Debug)]
pub struct Maker<'r> {
    pub rng: &'r mut StdRng,
    pub function: Function,
    pub scope: Scope,
    /// Data registers that nothing writes any more.
    pub invariants: Vec<Virtual>,
    pub pointers: Vec<Pointer>,
    /// Comes in front of everything else.
    pub entry: Vec<Operation>,
    /// The operations of the block that is being made.
    pub out: Vec<Operation>,
    pub weight: f64,
}

pub fn register(name: Virtual) -> Operand {
    Operand::Register(Name::Virtual(name))
}

pub fn address(name: Virtual) -> Operand {
    Operand::Address(Name::Virtual(name))
}

pub fn operation(
    opcode: Opcode,
    guard: Guard,
    targets: Vec<Operand>,
    sources: Vec<Operand>,
) -> Operation {
    let mnemonic = Mnemonic {
        opcode,
        sense: guard.is_none_or(|guard| guard.1),
    };
    Operation {
        predicate: guard.map(|guard| guard.0),
        ..Operation::plain(mnemonic, targets, sources)
    }
}

/// A number of any size, a small one more often than not.
pub fn number(rng: &mut StdRng) -> i64 {
    match rng.random_range(0..10) {
        0 => i64::from(rng.random::<i32>()),
        1 | 2 => rng.random_range(-70_000..70_000),
        _ => rng.random_range(-64..64),
    }
}

impl Maker<'_> {
    pub fn chance(&mut self, percent: u32) -> bool {
        self.rng.random_range(0..100) < percent
    }
    pub fn fresh(&mut self, class: Class) -> Virtual {
        self.function.register(class)
    }
    pub fn emit(&mut self, opcode: Opcode, guard: Guard, to: Virtual, sources: Vec<Operand>) {
        let made = operation(opcode, guard, vec![register(to)], sources);
        self.out.push(made);
    }
    /// The same into a new register.
    pub fn made(&mut self, opcode: Opcode, class: Class, sources: Vec<Operand>) -> Virtual {
        let to = self.fresh(class);
        self.emit(opcode, None, to, sources);
        to
    }
    pub fn data2(&mut self, opcode: Opcode, left: Virtual, right: Virtual) -> Virtual {
        self.made(opcode, Class::Data, vec![register(left), register(right)])
    }

    /// A load or store at a pointer, and a step of it behind.
    pub fn access_at(
        &mut self,
        opcode: Opcode,
        guard: Guard,
        value: Virtual,
        at: (Virtual, Object),
        step: Option<i64>,
    ) {
        let stores = matches!(opcode, Opcode::St | Opcode::Stq);
        let wide = matches!(opcode, Opcode::Ldq | Opcode::Stq);
        let (targets, mut sources) = if stores {
            (vec![address(at.0)], vec![register(value)])
        } else {
            (vec![register(value)], vec![address(at.0)])
        };
        sources.extend(step.map(Operand::Number));
        let mut made = operation(opcode, guard, targets, sources);
        made.memory = Some(Reference {
            object: at.1,
            bytes: if wide { 8 } else { 4 },
            volatile: false,
            accessed_as: None,
        });
        self.out.push(made);
    }
    /// Takes a step from the room of a pointer, if there is any.
    pub fn step(&mut self, pointer: usize, by: i64) -> Option<i64> {
        let left = &mut self.pointers[pointer].left;
        (*left >= by.abs()).then(|| {
            *left -= by.abs();
            by
        })
    }
    pub fn any_pointer(&mut self) -> usize {
        self.rng.random_range(0..self.pointers.len())
    }
    /// `value = [pointer], by`, the step only if there is room for it.
    pub fn load(&mut self, opcode: Opcode, pointer: usize, by: i64) -> Virtual {
        let class = if opcode == Opcode::Ldq {
            Class::Pair
        } else {
            Class::Data
        };
        let value = self.fresh(class);
        self.access(opcode, None, value, pointer, by);
        value
    }
    pub fn access(&mut self, opcode: Opcode, guard: Guard, value: Virtual, at: usize, by: i64) {
        let step = if by == 0 { None } else { self.step(at, by) };
        let Pointer {
            register, object, ..
        } = self.pointers[at].clone();
        self.access_at(opcode, guard, value, (register, object), step);
    }
    /// An access in one of several ways: with a step, beside the pointer, at an index.
    pub fn random_access(&mut self, opcode: Opcode, guard: Guard, value: Virtual) {
        let pointer = self.any_pointer();
        let Pointer {
            register: base,
            object,
            ..
        } = self.pointers[pointer].clone();
        match self.rng.random_range(0..10) {
            0..=4 => {
                let by = [4, 8, 4, 8, -4, -8, 12].choose(self.rng).copied();
                self.access(opcode, guard, value, pointer, by.unwrap_or(4));
            }
            5 | 6 => {
                let beside = 4 * self.rng.random_range(-4..=4_i64);
                let at = self.made(
                    Opcode::Add,
                    Class::Data,
                    vec![register(base), beside.into()],
                );
                self.access_at(opcode, guard, value, (at, object), None);
            }
            7 => {
                let from = self.data();
                let mask = [0x3c, 0x1c, 4].choose(self.rng).copied().unwrap_or(4);
                let index = self.made(Opcode::And, Class::Data, vec![register(from), mask.into()]);
                let at = self.data2(Opcode::Add, base, index);
                self.access_at(opcode, guard, value, (at, object), None);
            }
            _ => self.access(opcode, guard, value, pointer, 0),
        }
    }

    /// A data register with a value, of the last ones more often.
    pub fn data(&mut self) -> Virtual {
        if !self.invariants.is_empty() && self.chance(20) {
            let found = self.invariants.choose(self.rng).copied();
            return found.expect("there are some");
        }
        if self.chance(2) {
            let pointer = self.any_pointer();
            return self.pointers[pointer].register;
        }
        recent(&self.scope.data, self.rng)
    }
    pub fn pair(&mut self) -> Virtual {
        recent(&self.scope.pairs, self.rng)
    }
    fn data_or_number(&mut self) -> Operand {
        if self.chance(50) {
            return register(self.data());
        }
        number(self.rng).into()
    }
    /// A guard by a flag that holds a value.
    pub fn guard(&mut self) -> Guard {
        let flag = self.scope.flags.choose(self.rng).copied();
        flag.map(|flag| (flag, self.rng.random()))
    }
    fn target(&mut self, class: Class, guard: Guard) -> Virtual {
        let known = match class {
            Class::Pair => &self.scope.pairs,
            Class::Flag => &self.scope.flags,
            _ => &self.scope.data,
        };
        let known = known.choose(self.rng).copied();
        match known {
            Some(known) if guard.is_some() || self.rng.random_range(0..100) < 45 => known,
            _ => self.fresh(class),
        }
    }
    fn now_holds(&mut self, class: Class, register: Virtual) {
        let known = match class {
            Class::Pair => &mut self.scope.pairs,
            Class::Flag => &mut self.scope.flags,
            _ => &mut self.scope.data,
        };
        if !known.contains(&register) {
            known.push(register);
        }
    }

    /// A comparison into a new flag.
    pub fn compare(&mut self) -> Virtual {
        let (opcode, sources) = match self.rng.random_range(0..5) {
            0 => (Opcode::Tst, vec![register(self.data())]),
            1 => {
                // Of the lowest bits, so that both outcomes are likely.
                let from = self.data();
                let mask = [1, 2, 3].choose(self.rng).copied().unwrap_or(1);
                let bits = self.made(Opcode::And, Class::Data, vec![register(from), mask.into()]);
                (Opcode::Cmpeq, vec![register(bits), 0.into()])
            }
            2 => {
                let sources = vec![register(self.data()), self.data_or_number()];
                (Opcode::Cmpeq, sources)
            }
            _ => {
                let sources = vec![register(self.data()), self.data_or_number()];
                (Opcode::Cmplt, sources)
            }
        };
        let flag = self.made(opcode, Class::Flag, sources);
        self.now_holds(Class::Flag, flag);
        flag
    }

    /// Any operation, and the operations that compute its operands.
    pub fn any(&mut self) {
        use Opcode::{
            Add, Addq, And, Cmpeq, Cmplt, Ld, Ldq, Li, Mac, Mov, Movq, Mul, Narrow, Or, Sett, Shr,
            St, Stq, Sub, Tst, Widen, Xor,
        };
        const ALL: [Opcode; 27] = [
            Li, Mov, Movq, Add, Add, Sub, And, Or, Xor, Shr, Mul, Mul, Mac, Mac, Addq, Widen,
            Narrow, Ld, Ld, Ldq, St, St, Stq, Tst, Cmpeq, Cmplt, Sett,
        ];
        let opcode = ALL.choose(self.rng).copied().unwrap_or(Add);
        // There is one flag: what names one is not guarded by another.
        let plain = matches!(opcode, Tst | Cmpeq | Cmplt | Sett);
        let guard = match !plain && self.chance(20) {
            true => self.guard(),
            false => None,
        };
        if guard.is_some() && self.chance(15) {
            self.under_guard(guard);
            return;
        }
        let class = match opcode {
            Movq | Addq | Widen | Ldq => Class::Pair,
            Tst | Cmpeq | Cmplt => Class::Flag,
            _ => Class::Data,
        };
        let sources = match opcode {
            Li => vec![number(self.rng).into()],
            Mov | Widen | Tst => vec![register(self.data())],
            Add | Sub | And | Or | Xor | Cmpeq | Cmplt => {
                vec![register(self.data()), self.data_or_number()]
            }
            Shr => {
                let by = self.rng.random_range(0..32_i64);
                vec![register(self.data()), by.into()]
            }
            Mul | Mac => vec![register(self.data()), register(self.data())],
            Movq | Narrow => vec![register(self.pair())],
            Addq => vec![register(self.pair()), register(self.pair())],
            St => {
                let value = self.data();
                return self.random_access(opcode, guard, value);
            }
            Stq => {
                let value = self.pair();
                return self.random_access(opcode, guard, value);
            }
            Ld | Ldq => {
                let to = self.target(class, guard);
                self.random_access(opcode, guard, to);
                return self.now_holds(class, to);
            }
            Sett => {
                let flag = self.scope.flags.choose(self.rng).copied();
                let flag = flag.unwrap_or_else(|| self.compare());
                vec![register(flag)]
            }
            _ => return,
        };
        let to = if opcode == Mac {
            self.scope.data.choose(self.rng).copied()
        } else {
            None
        };
        let to = to.unwrap_or_else(|| self.target(class, guard));
        let read = sources.contains(&register(to));
        self.emit(opcode, guard, to, sources);
        debug_assert!(guard.is_none() || read || self.known(to));
        self.now_holds(class, to);
    }
    fn known(&self, register: Virtual) -> bool {
        let Scope { data, pairs, flags } = &self.scope;
        [data, pairs, flags]
            .into_iter()
            .any(|all| all.contains(&register))
    }
    /// A value that exists only where the guard holds.
    fn under_guard(&mut self, guard: Guard) {
        let (left, right) = (self.data(), self.data());
        let value = self.fresh(Class::Data);
        let sources = vec![register(left), register(right)];
        self.emit(Opcode::Sub, guard, value, sources);
        let pointer = self.any_pointer();
        let by = if self.chance(50) { 4 } else { 0 };
        self.access(Opcode::St, guard, value, pointer, by);
    }

    /// Ends the block that is being made.
    pub fn close(&mut self) {
        let operations = std::mem::take(&mut self.out);
        self.function.blocks.push(Block {
            operations,
            weight: self.weight,
            cycles: Vec::new(),
            rounds: None,
        });
    }
    /// The number of the block that is being made.
    pub fn here(&self) -> u32 {
        self.function.blocks.len() as u32
    }
    /// A jump that ends the block, whose target, the number of a block, is set later.
    fn jump(&mut self, guard: Guard) -> usize {
        let jump = operation(Opcode::Jump, guard, vec![], vec![Operand::Block(0)]);
        self.out.push(jump);
        self.close();
        self.function.blocks.len() - 1
    }
    fn aim(&mut self, block: usize) {
        let target = Operand::Block(self.here());
        let jump = self.function.blocks[block].operations.last_mut();
        jump.expect("ends in a jump").sources = vec![target].into();
    }

    /// Operations, and choices between some of them, to a depth.
    pub fn choices(&mut self, depth: u32, size: u32) {
        for _ in 0..self.rng.random_range(1..=3) {
            for _ in 0..self.rng.random_range(1..=size) {
                self.any();
            }
            if depth > 0 && self.chance(60) {
                self.choice(depth - 1, size);
            }
        }
    }
    /// `if`, or `if` and `else`.
    pub fn choice(&mut self, depth: u32, size: u32) {
        let old = if self.chance(25) { self.guard() } else { None };
        let guard = match old {
            Some(guard) => guard,
            None => (self.compare(), self.rng.random()),
        };
        let before = self.scope.clone();
        let weight = self.weight;
        let skip = self.jump(Some(guard));
        self.weight = weight / 2.0;
        self.choices(depth, size);
        if self.chance(40) {
            self.close();
            self.scope = before;
        } else {
            let merged: Vec<Virtual> = (0..self.rng.random_range(0..=2))
                .map(|_| self.fresh(Class::Data))
                .collect();
            self.merge(&merged);
            let over = self.jump(None);
            self.aim(skip);
            self.scope.clone_from(&before);
            self.choices(depth, size);
            self.merge(&merged);
            self.close();
            self.scope = before;
            self.scope.data.extend(merged);
            self.weight = weight;
            return self.aim(over);
        }
        self.weight = weight;
        self.aim(skip);
    }
    fn merge(&mut self, merged: &[Virtual]) {
        for &to in merged {
            let (left, right) = (self.data(), self.data());
            if self.chance(50) {
                self.emit(Opcode::Mov, None, to, vec![register(left)]);
            } else {
                self.emit(Opcode::Add, None, to, vec![register(left), register(right)]);
            }
        }
    }

    /// Makes one value of many.
    pub fn fold(&mut self, data: &[Virtual], pairs: &[Virtual], flags: &[Virtual]) -> Virtual {
        let mut sum = self.made(Opcode::Li, Class::Data, vec![1.into()]);
        let mut all = data.to_vec();
        for &flag in flags {
            all.push(self.made(Opcode::Sett, Class::Data, vec![register(flag)]));
        }
        if let Some((&first, rest)) = pairs.split_first() {
            let mut wide = self.made(Opcode::Movq, Class::Pair, vec![register(first)]);
            for &pair in rest {
                let sources = vec![register(wide), register(pair)];
                wide = self.made(Opcode::Addq, Class::Pair, sources);
            }
            let pointer = self.any_pointer();
            self.access(Opcode::Stq, None, wide, pointer, 0);
            all.push(self.made(Opcode::Narrow, Class::Data, vec![register(wide)]));
        }
        for (at, value) in all.into_iter().enumerate() {
            let opcode = [Opcode::Add, Opcode::Xor, Opcode::Sub][at % 3];
            sum = self.data2(opcode, sum, value);
        }
        sum
    }
    /// Returns a value.
    pub fn finish(&mut self, value: Virtual) {
        let d0 = Operand::fixed(crate::quad::set::Register::data(0));
        let sources = vec![register(value)];
        let moved = operation(Opcode::Mov, None, vec![d0.clone()], sources);
        self.out.push(moved);
        self.out
            .push(operation(Opcode::Ret, None, vec![], vec![d0]));
        self.close();
    }
}

fn recent(all: &[Virtual], rng: &mut StdRng) -> Virtual {
    let last = &all[all.len().saturating_sub(4)..];
    let from = if rng.random() { last } else { all };
    from.choose(rng).copied().expect("the entry made some")
}
