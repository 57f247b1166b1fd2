//! Random functions of Quad on virtual registers, from a seed. They read nothing that was not written, stay
//! within their memory and end; their statements about memory are true.
//!
//! ```text
//! straight     up to 60 values that live at once, choices without loops, guards, pairs
//! counted      a hardware loop of one block
//! branching    one of several, that ends where it began
//! ```
//!
//! Each parameter that is a pointer points into the middle of a region. A `Restrict` object has a region of its own; the
//! other pointers share one, a few words apart. A step moves a pointer by a few bytes; their sum in an iteration is bound,
//! so that no number of iterations of `TRIPS` leaves the region.

pub mod maker;
mod shapes;

use super::set::{Block, Class, Function, Opcode, Operand, Operation, Register};
use lockstep_codegen::mir::{Object, Virtual};
use maker::{Maker, Pointer, Scope, number, operation, register};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};

/// A function, the memory that it finds, and lists of arguments to call it with.
#[derive(Clone, Debug)]
pub struct Case {
    pub function: Function,
    pub memory: Vec<u8>,
    pub arguments: Vec<Vec<u32>>,
}

/// Iterations of loops.
pub const TRIPS: [u32; 7] = [1, 2, 3, 5, 8, 17, 40];

/// Bytes of the memory that belongs to one parameter; the last region is shared.
pub const REGION: u32 = 2048;
const SHARED: u32 = 4;
const PARAMETERS: usize = 4;
/// Bytes by which a pointer moves in an iteration, and in a function without loops.
const STEPS: i64 = 16;
const STRAIGHT_STEPS: i64 = 64;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Restrict,
    Shared,
    Trips,
    Scalar,
}

impl Maker<'_> {
    /// Emits in front of everything.
    fn in_entry<R>(&mut self, make: impl FnOnce(&mut Self) -> R) -> R {
        std::mem::swap(&mut self.out, &mut self.entry);
        let made = make(self);
        std::mem::swap(&mut self.out, &mut self.entry);
        made
    }
    /// A data register that has a value at the entry.
    fn initial(&mut self) -> Virtual {
        self.in_entry(|m| {
            if m.chance(40) {
                let value = number(m.rng);
                return m.made(Opcode::Li, Class::Data, vec![value.into()]);
            }
            let pointer = m.any_pointer();
            let Pointer {
                register: base,
                object,
                ..
            } = m.pointers[pointer].clone();
            let beside = 4 * m.rng.random_range(-8..8_i64);
            let at = m.made(
                Opcode::Add,
                Class::Data,
                vec![register(base), beside.into()],
            );
            let value = m.fresh(Class::Data);
            m.access_at(Opcode::Ld, None, value, (at, object), None);
            value
        })
    }
    fn initial_pair(&mut self) -> Virtual {
        if self.chance(50) {
            return self.in_entry(|m| {
                let pointer = m.any_pointer();
                m.load(Opcode::Ldq, pointer, 0)
            });
        }
        let from = self.initial();
        self.in_entry(|m| m.made(Opcode::Widen, Class::Pair, vec![register(from)]))
    }
    /// A value that goes from iteration to iteration.
    pub fn carried(&mut self) -> Virtual {
        let made = self.initial();
        if self.chance(30) {
            self.scope.data.push(made);
        }
        made
    }
    pub fn carried_pair(&mut self) -> Virtual {
        self.initial_pair()
    }
    /// A value that stays as it is.
    pub fn invariant(&mut self) -> Virtual {
        if !self.invariants.is_empty() && self.chance(60) {
            let found = self.invariants.choose(self.rng).copied();
            return found.expect("there are some");
        }
        let made = self.initial();
        self.invariants.push(made);
        made
    }
}

/// A maker with its parameters, and the kind of each.
fn maker<'r>(rng: &'r mut StdRng, loops: bool) -> (Maker<'r>, Vec<Role>) {
    let pointers = rng.random_range(2..=PARAMETERS - usize::from(loops));
    let mut roles: Vec<Role> = (0..pointers)
        .map(|_| [Role::Restrict, Role::Shared][usize::from(rng.random_range(0..100) < 45)])
        .collect();
    if loops {
        roles.push(Role::Trips);
    }
    if roles.len() < PARAMETERS && rng.random() {
        roles.push(Role::Scalar);
    }
    roles.shuffle(rng);
    let mut out = Maker {
        rng,
        function: Function::default(),
        scope: Scope::default(),
        invariants: Vec::new(),
        pointers: Vec::new(),
        entry: Vec::new(),
        out: Vec::new(),
        weight: 1.0,
    };
    let left = if loops { STEPS } else { STRAIGHT_STEPS };
    for (at, &role) in roles.iter().enumerate() {
        let register = out.fresh(Class::Data);
        out.function.parameters.push(register);
        let object = match role {
            Role::Restrict => Object::Restrict(at as u32),
            Role::Shared if out.chance(60) => Object::Parameter(at as u32),
            Role::Shared => Object::Unknown,
            Role::Trips | Role::Scalar => {
                out.invariants.push(register);
                continue;
            }
        };
        out.pointers.push(Pointer {
            register,
            object,
            left,
        });
    }
    // Second pointers into the same objects.
    for at in 0..out.pointers.len() {
        if out.chance(35) {
            let Pointer {
                register: base,
                object,
                ..
            } = out.pointers[at].clone();
            let beside = 4 * out.rng.random_range(-4..=4_i64);
            let copy = out.in_entry(|m| {
                let sources = vec![register(base), beside.into()];
                m.made(Opcode::Add, Class::Data, sources)
            });
            out.pointers.push(Pointer {
                register: copy,
                object,
                left,
            });
        }
    }
    (out, roles)
}

fn case(mut maker: Maker<'_>, roles: &[Role], name: &str) -> Case {
    let rng = &mut *maker.rng;
    let small = rng.random_range(0..3);
    let memory = (0..(SHARED + 1) * REGION / 4)
        .flat_map(|_| {
            let value = match small {
                0 => rng.random(),
                1 => rng.random_range(-200..200_i32) as u32,
                _ => number(rng) as u32,
            };
            value.to_le_bytes()
        })
        .collect();
    let trips: &[u32] = if roles.contains(&Role::Trips) {
        &TRIPS
    } else {
        &[1, 2, 3]
    };
    let mut arguments = Vec::new();
    for &trip in trips {
        let list = roles.iter().enumerate().map(|(at, role)| match role {
            Role::Restrict => at as u32 * REGION + REGION / 2,
            Role::Shared => SHARED * REGION + REGION / 2 + 4 * rng.random_range(0..8),
            Role::Trips => trip,
            Role::Scalar => number(rng) as u32,
        });
        arguments.push(list.collect());
    }
    maker.function.name = name.into();
    Case {
        function: maker.function,
        memory,
        arguments,
    }
}

/// Values to begin with: as many data registers, pairs and flags.
fn begin(maker: &mut Maker<'_>, data: usize, pairs: usize, flags: usize) {
    for _ in 0..data {
        let made = maker.initial();
        maker.scope.data.push(made);
    }
    for _ in 0..pairs {
        let made = maker.initial_pair();
        maker.scope.pairs.push(made);
    }
    for _ in 0..flags {
        maker.in_entry(Maker::compare);
    }
}

/// The same for a loop, now and then more than there are registers.
fn begin_loop(m: &mut Maker<'_>) {
    let data = match m.rng.random_range(0..10) {
        0 => m.rng.random_range(12..40),
        _ => m.rng.random_range(1..6),
    };
    let (pairs, flags) = (m.rng.random_range(1..3), usize::from(m.chance(15)));
    begin(m, data, pairs, flags);
}

/// Puts the entry in front of the blocks, and leaves the function.
fn set_entry(maker: &mut Maker<'_>, block: usize) {
    maker.function.blocks[block].operations = std::mem::take(&mut maker.entry);
}

/// A function without loops.
pub fn straight(rng: &mut StdRng) -> Case {
    let (mut m, roles) = maker(rng, false);
    let many = match m.rng.random_range(0..4) {
        0 => 2,
        1 => m.rng.random_range(2..12),
        2 => m.rng.random_range(12..35),
        _ => m.rng.random_range(30..=60),
    };
    let pairs = m.rng.random_range(1..=1 + many / 8);
    let flags = m.rng.random_range(0..4);
    begin(&mut m, many, pairs, flags);
    m.close();
    let (depth, size) = (m.rng.random_range(0..=2), m.rng.random_range(1..10));
    m.choices(depth, size);
    let Scope { data, pairs, flags } = m.scope.clone();
    let pointer = m.any_pointer();
    if let Some(&stored) = data.choose(m.rng) {
        m.access(Opcode::St, None, stored, pointer, 4);
    }
    let sum = m.fold(&data, &pairs, &flags);
    m.finish(sum);
    set_entry(&mut m, 0);
    case(m, &roles, "straight")
}

/// The entry, to be filled, and the preheader of a loop. Returns the number of the loop's first block.
fn preheader(m: &mut Maker<'_>, roles: &[Role]) -> u32 {
    m.function.blocks.push(Block {
        weight: 1.0,
        ..Block::default()
    });
    let trips = roles.iter().position(|role| *role == Role::Trips);
    let trips = m.function.parameters[trips.expect("loops have a number of trips")];
    let setlc = operation(
        Opcode::Setlc,
        None,
        vec![Operand::fixed(Register::LC)],
        vec![register(trips)],
    );
    m.out.push(setlc);
    m.close();
    m.weight = 20.0;
    m.here()
}

fn latch(m: &mut Maker<'_>, first: u32) {
    let lc = || Operand::fixed(Register::LC);
    let back = operation(
        Opcode::Endloop,
        None,
        vec![lc()],
        vec![lc(), Operand::Block(first)],
    );
    m.out.push(back);
    m.close();
    m.weight = 1.0;
}

/// The block behind a loop: stores and a result.
fn exit(m: &mut Maker<'_>, outs: &[Virtual]) {
    let mut data = outs.to_vec();
    let many = if m.scope.data.len() > 12 { 40 } else { 3 };
    data.extend(m.scope.data.choose_multiple(m.rng, many).copied());
    if m.chance(30) {
        let pointer = m.any_pointer();
        data.push(m.pointers[pointer].register);
    }
    let pairs: Vec<Virtual> = m.scope.pairs.choose_multiple(m.rng, 2).copied().collect();
    let flags = usize::from(m.chance(40));
    let flags: Vec<Virtual> = m
        .scope
        .flags
        .choose_multiple(m.rng, flags)
        .copied()
        .collect();
    if let Some(&stored) = data.first()
        && m.chance(40)
    {
        let pointer = m.any_pointer();
        m.access(Opcode::St, None, stored, pointer, 0);
    }
    let sum = m.fold(&data, &pairs, &flags);
    m.finish(sum);
    set_entry(m, 0);
}

/// Merges two lists; each stays in its order.
fn interleave(rng: &mut StdRng, left: Vec<Operation>, right: Vec<Operation>) -> Vec<Operation> {
    let mut from: Vec<bool> = vec![true; left.len()];
    from.resize(left.len() + right.len(), false);
    from.shuffle(rng);
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    from.into_iter()
        .filter_map(|is_left| if is_left { left.next() } else { right.next() })
        .collect()
}

/// Increments pointers by additions that stand alone, for passes that make steps of them.
fn increments(m: &mut Maker<'_>) {
    for at in 0..m.pointers.len() {
        if m.chance(25)
            && let Some(by) = m.step(at, 4)
        {
            let base = m.pointers[at].register;
            m.emit(Opcode::Add, None, base, vec![register(base), by.into()]);
        }
    }
}

/// A loop of one block.
pub fn counted(rng: &mut StdRng) -> Case {
    let (mut m, roles) = maker(rng, true);
    let most = m.rng.random_range(3..=25);
    begin_loop(&mut m);
    let first = preheader(&mut m, &roles);
    let mut outs = Vec::new();
    for _ in 0..m.rng.random_range(0..=3) {
        if m.out.len() + 3 > most {
            break;
        }
        let made = std::mem::take(&mut m.out);
        let shape = shapes::SHAPES.choose(m.rng).expect("there are shapes");
        outs.extend(shape(&mut m));
        let more = std::mem::take(&mut m.out);
        m.out = if m.chance(50) {
            interleave(m.rng, made, more)
        } else {
            [made, more].concat()
        };
    }
    // Random operations among the others know nothing of their results, and those behind them do.
    let apart = m.chance(50);
    let made = if apart {
        std::mem::take(&mut m.out)
    } else {
        m.scope.data.extend(&outs);
        Vec::new()
    };
    let random = if made.is_empty() {
        most
    } else {
        m.rng.random_range(0..=most)
    };
    while made.len() + m.out.len() + 1 < random {
        m.any();
    }
    increments(&mut m);
    let random = std::mem::take(&mut m.out);
    m.out = if apart {
        interleave(m.rng, made, random)
    } else {
        random
    };
    latch(&mut m, first);
    exit(&mut m, &outs);
    case(m, &roles, "counted")
}

/// A loop of several blocks.
pub fn branching(rng: &mut StdRng) -> Case {
    let (mut m, roles) = maker(rng, true);
    begin_loop(&mut m);
    let first = preheader(&mut m, &roles);
    let mut outs = Vec::new();
    for _ in 0..1 + u32::from(m.chance(30)) {
        if m.chance(60) {
            let shape = shapes::SHAPES.choose(m.rng).expect("there are shapes");
            let made = shape(&mut m);
            m.scope.data.extend(&made);
            outs.extend(made);
        }
        for _ in 0..m.rng.random_range(0..4) {
            m.any();
        }
        let depth = u32::from(m.chance(40));
        let size = m.rng.random_range(1..4);
        m.choice(depth, size);
    }
    for _ in 0..m.rng.random_range(0..3) {
        m.any();
    }
    increments(&mut m);
    latch(&mut m, first);
    exit(&mut m, &outs);
    case(m, &roles, "branching")
}
