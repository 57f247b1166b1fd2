//! An iteration with a name for every value: a value written anew in each iteration may rotate, a value
//! written only sometimes and read again later stays in one register.
//!
//! ```text
//! ld8 x = [p], 8     p stays in its register where nothing else reads it, else: ld8 x = [p]; add p = 8, p
//! add s = s, x       s rotates: it reads what the iteration before wrote
//! (q) add t = t, x   t stays
//! ```

use crate::mir::liveness::Liveness;
use crate::predicate::Set;
use crate::target::ia64::code::Body;
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Function, Name, Operand, Operation, Virtual};
use crate::target::ia64::describe::{Described, describe};
use ir::Loc;
use isa::ia64::File;
use isa::ia64::Mnemonic;
use rustc_hash::FxHashMap;

use super::copies::{self, Earlier};
use super::report::Reason;
use super::speculate::Check;

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Item {
    pub(super) operation: Operation,
    /// The registers that it reads as the iteration before left them.
    pub(super) before: Vec<Virtual>,
    /// Exits in front of it.
    pub(super) passed: usize,
    /// True if it may execute for iterations that do not happen: it writes only rotating registers, and no
    /// memory.
    pub(super) free: bool,
    /// True if it executes ahead of its guard; a failed load may have marked its operands.
    pub(super) speculative: bool,
    /// The work that it repeats where it finds a mark.
    pub(super) check: Option<Check>,
}

impl Item {
    /// An operation behind so many exits that reads nothing of earlier iterations and guards itself.
    pub(super) fn of(operation: Operation, passed: usize) -> Item {
        Item {
            operation,
            before: Vec::new(),
            passed,
            free: false,
            speculative: false,
            check: None,
        }
    }
    /// The check of a value that `of` loads ahead.
    pub(super) fn checking(mnemonic: Mnemonic, of: &Item, check: Check) -> Item {
        let sources = vec![Operand::register(check.value), Operand::Block(0)];
        let operation = Operation::plain(mnemonic, Vec::new(), sources);
        Item {
            check: Some(check),
            ..Item::of(operation.at(of.operation.loc), of.passed)
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct LoopExit {
    pub(super) predicate: Virtual,
    pub(super) target: u32,
    pub(super) loc: Loc,
    /// The values read behind: a register, the name of its value, and the number of iterations since.
    pub(super) live: Vec<(Virtual, Virtual, u32)>,
    /// The sums added to registers of these behind the loop.
    pub(super) sums: Vec<PartialSum>,
}

/// A value that is one of several which make a sum.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct PartialSum {
    pub(super) register: Virtual,
    /// The name of the value, and how many iterations ago it was written.
    pub(super) value: Virtual,
    pub(super) ago: u32,
    /// The addition.
    pub(super) mnemonic: Mnemonic,
}

impl LoopExit {
    /// Values that are read behind it, and how many iterations ago each was written.
    pub(super) fn left(&self) -> impl Iterator<Item = (Virtual, u32)> + '_ {
        let live = self.live.iter().map(|&(_, name, ago)| (name, ago));
        live.chain(self.sums.iter().map(|sum| (sum.value, sum.ago)))
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Loop {
    pub(super) items: Vec<Item>,
    pub(super) exits: Vec<LoopExit>,
    /// In front of the loop.
    pub(super) before: Vec<Operation>,
    /// Written, and in one register all the time.
    pub(super) statics: Set,
    /// The names of values that iterations before the last one left.
    pub(super) earlier: Earlier,
}

/// Returns the operand with an operation's address, and the number added to it.
fn stepped(operation: &Operation) -> Option<(Virtual, Operand)> {
    let address = |operand: &Operand| match operand {
        Operand::Address(Name::Virtual(base)) => Some(*base),
        _ => None,
    };
    let base = operation
        .targets
        .iter()
        .chain(&operation.sources)
        .find_map(address)?;
    match operation.sources.len() {
        2 => Some((base, operation.sources[1].clone())),
        _ => None,
    }
}

/// Steps of addresses as sums of their own, except where nothing else uses the address and they need not be `separate`.
fn split(body: &Body, separate: bool) -> (Vec<Operation>, Vec<usize>, Set) {
    let mut occurs: FxHashMap<Virtual, u32> = FxHashMap::default();
    for operation in &body.operations {
        for register in operation.virtual_registers() {
            *occurs.entry(register).or_default() += 1;
        }
    }
    let (mut out, mut place, mut statics) = (Vec::new(), Vec::new(), Set::default());
    for operation in &body.operations {
        place.push(out.len());
        let Some((base, step)) = stepped(operation) else {
            out.push(operation.clone());
            continue;
        };
        if occurs.get(&base) == Some(&1) && !separate {
            statics.insert(base);
            out.push(operation.clone());
            continue;
        }
        let mut plain = operation.clone();
        plain.sources.truncate(1);
        out.push(plain);
        out.push(
            Operation::plain(
                op!("add"),
                vec![Operand::register(base)],
                vec![step, Operand::register(base)],
            )
            .under(operation.predicate)
            .at(operation.loc),
        );
    }
    place.push(out.len());
    (out, place, statics)
}

/// Brings a body into normal form. With `separate`, every step of an address is a sum of its own, so that
/// addresses rotate.
pub(super) fn normalise(
    function: &mut Function,
    body: &Body,
    liveness: &Liveness,
    separate: bool,
) -> Result<Loop, Reason> {
    let (operations, place, mut statics) = split(body, separate);
    let fixed = |operation: &Operation| {
        let names = operation.targets.iter().chain(&operation.sources);
        names.filter_map(Operand::name).any(|name| match name {
            Name::Fixed(reg) => !reg.is_constant(),
            Name::Virtual(_) => false,
        })
    };
    for operation in &operations {
        if let Some(refused) = function.refusal(operation) {
            return Err(Reason::Refused(refused.clone()));
        }
        let described = describe(function, operation);
        if described.opaque.is_some() || fixed(operation) || !goes(&described) {
            return Err(Reason::Operation {
                mnemonic: operation.mnemonic,
                loc: operation.loc,
            });
        }
    }
    // By register: where it is written, and whether that is for certain.
    let mut written: FxHashMap<Virtual, Vec<(usize, bool)>> = FxHashMap::default();
    for (at, operation) in operations.iter().enumerate() {
        let certain = operation.is_certain();
        for write in operation.writes() {
            written.entry(write).or_default().push((at, certain));
        }
    }
    for (&each, all) in &written {
        if body.live.contains(&each) && all.iter().any(|(_, certain)| !certain) {
            statics.insert(each);
        }
        if body.live.contains(&each) && function.file(each) == File::Predicate {
            return Err(Reason::CarriedPredicate(operations[all[0].0].loc));
        }
    }
    // For each register, the present name of its value, and the number of iterations since it was written.
    let mut now: FxHashMap<Virtual, (Virtual, u32)> = FxHashMap::default();
    for &key in written.keys() {
        if !statics.contains(&key) {
            now.insert(key, (key, 1));
        }
    }
    let mut exits = Vec::new();
    let mut items: Vec<Item> = Vec::new();
    let mut next = body.exits.iter().peekable();
    for at in 0..=operations.len() {
        while let Some(exit) = next.next_if(|exit| place[exit.at] <= at) {
            let predicate = now
                .get(&exit.predicate)
                .map_or(exit.predicate, |known| known.0);
            let resumed = body.live.iter().copied().filter(|_| body.resumes);
            let mut live: Vec<(Virtual, Virtual, u32)> = liveness
                .at_start(exit.target)
                .iter()
                .chain(resumed)
                .filter_map(|it| now.get(&it).map(|(name, ago)| (it, *name, *ago)))
                .collect();
            live.sort_unstable();
            live.dedup();
            exits.push(LoopExit {
                predicate,
                target: exit.target,
                loc: exit.loc,
                live,
                sums: Vec::new(),
            });
        }
        let Some(operation) = operations.get(at) else {
            break;
        };
        let mut operation = operation.clone();
        let mut before: Vec<Virtual> = Vec::new();
        let mut read = |register: &mut Virtual| {
            if let Some((name, ago)) = now.get(register) {
                *register = *name;
                if *ago > 0 {
                    before.push(*name);
                }
            }
        };
        let certain = operation.is_certain();
        if let Some(predicate) = &mut operation.predicate {
            read(predicate);
        }
        for operand in &mut operation.sources {
            if let Operand::Register(Name::Virtual(register))
            | Operand::Address(Name::Virtual(register)) = operand
            {
                read(register);
            }
        }
        for operand in &mut operation.targets {
            if let Operand::Address(Name::Virtual(register)) = operand {
                read(register);
            }
        }
        for operand in &mut operation.targets {
            let Operand::Register(Name::Virtual(register)) = operand else {
                continue;
            };
            let Some(&(name, ago)) = now.get(register) else {
                continue;
            };
            let later = written[register]
                .iter()
                .any(|&(place, certain)| place > at && certain);
            let name = match (certain, later) {
                // The last of the iteration keeps the register's own name.
                (true, false) => *register,
                (true, true) => function.register(function.file(*register)),
                // First of all, and something else will be the last.
                (false, true) if ago > 0 => function.register(function.file(*register)),
                (false, _) if ago > 0 => *register,
                (false, _) => name,
            };
            now.insert(*register, (name, 0));
            *register = name;
        }
        before.sort_unstable();
        before.dedup();
        let touches = describe(function, &operation).inst.memory.is_some();
        // Values that an exit in front of it leaves behind must not be overwritten once the exit was taken.
        let kept = |register: Virtual| {
            let mut left = exits.iter().flat_map(|exit: &LoopExit| &exit.live);
            left.any(|&(_, name, ago)| name == register && ago == 0)
        };
        let free = !touches
            && operation
                .writes()
                .all(|write| !statics.contains(&write) && !kept(write));
        items.push(Item {
            operation,
            before,
            passed: exits.len(),
            free,
            speculative: false,
            check: None,
        });
    }
    let mut given = Loop {
        items,
        exits,
        before: Vec::new(),
        statics,
        earlier: Earlier::default(),
    };
    copies::forget(function, &mut given);
    if !separate {
        copies::step(function, &mut given);
    }
    Ok(given)
}

/// Returns true if the instruction may stand in a kernel.
fn goes(described: &Described) -> bool {
    use isa::ia64::{Class, Reg};
    let inst = &described.inst;
    let own = |reg: Reg| {
        described.virtual_register(reg).is_some()
            || reg.is_constant()
            || reg == Reg::FPSR
            || reg.is_status()
    };
    !inst.barrier
        && inst.branch.is_none()
        && !matches!(inst.class, Class::System | Class::Alloc | Class::Semaphore)
        && inst.unit.is_some()
        && inst.uses.iter().all(|&reg| own(reg))
        && inst.defs.iter().all(|def| own(def.register))
}

/// Returns true if it loads two values at once.
pub(super) fn is_pair(operation: &Operation) -> bool {
    use isa::ia64::Opcode::{Ldfp8, Ldfpd, Ldfps};
    matches!(operation.opcode(), Ldfps | Ldfpd | Ldfp8)
}
