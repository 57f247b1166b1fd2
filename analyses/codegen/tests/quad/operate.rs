//! The meaning of one operation of Quad, as `set.rs` describes it: the registers that it reads and writes,
//! and its effect on them, on memory and on control.
//!
//! ```text
//! q1 = Ldq [d4], 8       reads d4; writes q1 three packets later and d4 one later; 8 bytes at d4
//! Add q1 = d4, 8         a fault: no pair is the target of `Add`
//! ```

use super::set::{Class, Name, Opcode, Operand, Operation, Register, latency};
use lockstep_codegen::mir::{FrameOffset, Virtual};

/// The reason for which an execution ended without a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// Operands that the opcode does not have.
    Operands,
    /// A virtual register without a register of its class.
    NoPlace(Virtual),
    /// The operations of a packet, its words, accesses and products beyond its capacity.
    TooMany(usize),
    TooWide(u32),
    TooManyAccesses(u32),
    TooManyProducts(u32),
    /// A branch in front of another operation of its packet.
    BranchNotLast,
    /// A register that is written twice at once.
    WrittenTwice(Name),
    /// Two stores of a packet to the same byte.
    StoresOverlap,
    Outside {
        address: u64,
        bytes: u32,
    },
    /// More operations or packets than allowed.
    Limit,
    /// Cycles of a block that descend, or of which there are not as many as operations.
    Cycles,
    /// Control behind the last block, or to one that is not there.
    NoBlock,
    /// Arguments that do not match the parameters, or have no register.
    Arguments,
}

/// Bytes that are addressed from 0 on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    Memory,
    Frame,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    pub space: Space,
    pub address: u64,
    pub bytes: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    Block(u32),
    Return(u32),
}

/// The operands of an operation that has those of its opcode.
#[derive(Clone, PartialEq, Debug)]
pub struct Decoded {
    pub guard: Option<Name>,
    pub reads: Vec<Name>,
    /// The registers written, each with the number of packets after which the value is available.
    pub writes: Vec<(Name, u32)>,
}

/// The changes that an operation makes, before they are made.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Effect {
    pub writes: Vec<(Name, u64)>,
    pub load: Option<Access>,
    pub store: Option<(Access, u64)>,
    pub control: Option<Control>,
}

/// The state that an operation reads.
pub trait Machine {
    fn class(&self, name: Name) -> Result<Class, Cause>;
    fn read(&self, name: Name) -> Result<u64, Cause>;
    fn load(&self, access: Access) -> Result<u64, Cause>;
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Data,
    Pair,
    Flag,
    Count,
    Number,
    DataOrNumber,
    Shift,
    Address,
    Frame,
    Block,
    D0,
}

/// Forms of targets and sources, without the step of an access.
const fn forms(opcode: Opcode) -> (&'static [Form], &'static [Form]) {
    use Form::{Address, Block, Count, D0, Data, DataOrNumber, Flag, Frame, Number, Pair, Shift};
    match opcode {
        Opcode::Li => (&[Data], &[Number]),
        Opcode::Mov => (&[Data], &[Data]),
        Opcode::Movq => (&[Pair], &[Pair]),
        Opcode::Add | Opcode::Sub | Opcode::And | Opcode::Or | Opcode::Xor => {
            (&[Data], &[Data, DataOrNumber])
        }
        Opcode::Shr => (&[Data], &[Data, Shift]),
        Opcode::Mul | Opcode::Mac => (&[Data], &[Data, Data]),
        Opcode::Addq => (&[Pair], &[Pair, Pair]),
        Opcode::Widen => (&[Pair], &[Data]),
        Opcode::Narrow => (&[Data], &[Pair]),
        Opcode::Ld => (&[Data], &[Address]),
        Opcode::St => (&[Address], &[Data]),
        Opcode::Ldq => (&[Pair], &[Address]),
        Opcode::Stq => (&[Address], &[Pair]),
        Opcode::Lds => (&[Data], &[Frame]),
        Opcode::Ldsq => (&[Pair], &[Frame]),
        Opcode::Sts => (&[], &[Frame, Data]),
        Opcode::Stsq => (&[], &[Frame, Pair]),
        Opcode::Tst => (&[Flag], &[Data]),
        Opcode::Cmpeq | Opcode::Cmplt => (&[Flag], &[Data, DataOrNumber]),
        Opcode::Sett => (&[Data], &[Flag]),
        Opcode::Setlc => (&[Count], &[Data]),
        Opcode::Jump => (&[], &[Block]),
        Opcode::Endloop => (&[Count], &[Count, Block]),
        Opcode::Ret => (&[], &[D0]),
    }
}

const fn may_step(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::Ld | Opcode::St | Opcode::Ldq | Opcode::Stq)
}

/// Bytes of an access, and where they are.
const fn accessed(opcode: Opcode) -> Option<(Space, u32)> {
    match opcode {
        Opcode::Ld | Opcode::St => Some((Space::Memory, 4)),
        Opcode::Ldq | Opcode::Stq => Some((Space::Memory, 8)),
        Opcode::Lds | Opcode::Sts => Some((Space::Frame, 4)),
        Opcode::Ldsq | Opcode::Stsq => Some((Space::Frame, 8)),
        _ => None,
    }
}

fn fits(
    operand: &Operand,
    form: Form,
    class: &dyn Fn(Name) -> Result<Class, Cause>,
) -> Result<bool, Cause> {
    Ok(match (operand, form) {
        (Operand::Register(name), Form::Data | Form::DataOrNumber) => class(*name)? == Class::Data,
        (Operand::Register(name), Form::Pair) => class(*name)? == Class::Pair,
        (Operand::Register(name), Form::Flag) => class(*name)? == Class::Flag,
        (Operand::Register(name), Form::Count) => class(*name)? == Class::Count,
        (Operand::Register(name), Form::D0) => *name == Name::Fixed(Register::data(0)),
        (Operand::Address(name), Form::Address) => class(*name)? == Class::Data,
        (Operand::Number(number), Form::Number | Form::DataOrNumber) => {
            (i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(number)
        }
        (Operand::Number(number), Form::Shift) => (0..32).contains(number),
        (Operand::Frame(FrameOffset::Spill(_)), Form::Frame) => true,
        (Operand::Block(_), Form::Block) => true,
        _ => false,
    })
}

/// The registers of an operation, or the fault that its operands are.
pub fn decode(
    operation: &Operation,
    class: &dyn Fn(Name) -> Result<Class, Cause>,
) -> Result<Decoded, Cause> {
    let opcode = operation.mnemonic.opcode;
    let (targets, sources) = forms(opcode);
    let steps = may_step(opcode) && operation.sources.len() == sources.len() + 1;
    let step: &[Form] = if steps { &[Form::Number] } else { &[] };
    let given = [&operation.targets[..], &operation.sources[..]];
    let asked = [targets.to_vec(), [sources, step].concat()];
    let mut out = Decoded {
        guard: None,
        reads: Vec::new(),
        writes: Vec::new(),
    };
    if let Some(guard) = operation.predicate {
        let guard = Name::Virtual(guard);
        if class(guard)? != Class::Flag {
            return Err(Cause::Operands);
        }
        out.guard = Some(guard);
    }
    for (behind, (given, asked)) in given.into_iter().zip(asked).enumerate() {
        if given.len() != asked.len() {
            return Err(Cause::Operands);
        }
        for (operand, form) in given.iter().zip(asked) {
            if !fits(operand, form, class)? {
                return Err(Cause::Operands);
            }
            match operand {
                Operand::Register(name) if behind == 0 => {
                    out.writes.push((*name, latency(opcode)));
                    if opcode == Opcode::Mac {
                        out.reads.push(*name);
                    }
                }
                Operand::Register(name) => out.reads.push(*name),
                Operand::Address(name) => {
                    out.reads.push(*name);
                    if steps {
                        out.writes.push((*name, 1));
                    }
                }
                _ => {}
            }
        }
    }
    Ok(out)
}

/// Returns the changes that an operation makes which `decode` understood, `None` where its guard is off.
pub fn perform(operation: &Operation, machine: &dyn Machine) -> Result<Option<Effect>, Cause> {
    if let Some(guard) = operation.predicate {
        let flag = machine.read(Name::Virtual(guard))? != 0;
        if flag != operation.mnemonic.sense {
            return Ok(None);
        }
    }
    let opcode = operation.mnemonic.opcode;
    let value = |operand: &Operand| match operand {
        Operand::Register(name) | Operand::Address(name) => machine.read(*name),
        Operand::Number(number) => Ok(u64::from(*number as u32)),
        Operand::Frame(FrameOffset::Spill(offset)) => Ok(u64::from(*offset)),
        Operand::Block(block) => Ok(u64::from(*block)),
        _ => Err(Cause::Operands),
    };
    let sources: Vec<u64> = operation
        .sources
        .iter()
        .map(value)
        .collect::<Result<_, _>>()?;
    let at = |index: usize| sources[index];
    let word = |index: usize| sources[index] as u32;
    let mut out = Effect::default();
    if let Some((space, bytes)) = accessed(opcode) {
        let (address, stored) = match opcode {
            Opcode::St | Opcode::Stq => (value(&operation.targets[0])?, Some(at(0))),
            Opcode::Sts | Opcode::Stsq => (at(0), Some(at(1))),
            _ => (at(0), None),
        };
        let access = Access {
            space,
            address,
            bytes,
        };
        match stored {
            Some(value) => out.store = Some((access, value)),
            None => out.load = Some(access),
        }
        if may_step(opcode) && sources.len() == 2 {
            let mut operands = operation.targets.iter().chain(&operation.sources);
            let base = operands.find_map(|operand| match operand {
                Operand::Address(name) => Some(*name),
                _ => None,
            });
            let stepped = (address as u32).wrapping_add(word(1));
            out.writes
                .extend(base.map(|base| (base, u64::from(stepped))));
        }
    }
    let result = match opcode {
        Opcode::Li | Opcode::Mov | Opcode::Movq | Opcode::Sett | Opcode::Setlc => Some(at(0)),
        Opcode::Narrow => Some(u64::from(word(0))),
        Opcode::Add => Some(u64::from(word(0).wrapping_add(word(1)))),
        Opcode::Sub => Some(u64::from(word(0).wrapping_sub(word(1)))),
        Opcode::And => Some(at(0) & at(1)),
        Opcode::Or => Some(at(0) | at(1)),
        Opcode::Xor => Some(at(0) ^ at(1)),
        Opcode::Shr => Some(at(0) >> at(1)),
        Opcode::Mul => Some(u64::from(word(0).wrapping_mul(word(1)))),
        Opcode::Mac => {
            let old = value(&operation.targets[0])? as u32;
            let product = word(0).wrapping_mul(word(1));
            Some(u64::from(old.wrapping_add(product)))
        }
        Opcode::Addq => Some(at(0).wrapping_add(at(1))),
        Opcode::Widen => Some(i64::from(word(0) as i32) as u64),
        Opcode::Ld | Opcode::Ldq | Opcode::Lds | Opcode::Ldsq => match out.load {
            Some(access) => Some(machine.load(access)?),
            None => None,
        },
        Opcode::Tst => Some(u64::from(at(0) != 0)),
        Opcode::Cmpeq => Some(u64::from(at(0) == at(1))),
        Opcode::Cmplt => Some(u64::from((word(0) as i32) < word(1) as i32)),
        Opcode::Endloop => (at(0) > 1).then(|| at(0) - 1),
        Opcode::St | Opcode::Stq | Opcode::Sts | Opcode::Stsq | Opcode::Jump | Opcode::Ret => None,
    };
    if let (Some(Operand::Register(target)), Some(result)) = (operation.targets.first(), result) {
        out.writes.push((*target, result));
    }
    out.control = match opcode {
        Opcode::Jump => Some(Control::Block(word(0))),
        Opcode::Endloop if at(0) > 1 => Some(Control::Block(word(1))),
        Opcode::Ret => Some(Control::Return(word(0))),
        _ => None,
    };
    Ok(Some(out))
}
