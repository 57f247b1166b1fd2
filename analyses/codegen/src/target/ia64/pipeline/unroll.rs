//! Several iterations as one, where a whole number of cycles for each wastes some.
//!
//! ```text
//! 3 loads and stores, 2 ports: 2 cycles an iteration       two iterations: 6 on 2 ports, 3 cycles, 1.5 an iteration
//! ```
//!
//! A counted loop keeps its own code behind the kernel: that executes the iterations that are left when the rest does not
//! make a whole, from the state in which the kernel leaves them, and all of them when there are too few. A loop with exits
//! has them in every copy, and needs no rest. Sums of constants that copies add in turn become one: an induction stays a
//! cycle of one sum.

use super::body::{Item, Loop};
use crate::predicate::Exit;
use crate::target::ia64::code::Body;
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Function, Name, Operand, Operation, Virtual};
use isa::ia64::{File, Reg};
use isa::ia64::{Mnemonic, Opcode};
use smallvec::smallvec;

/// Constants that a sum takes.
const NEAR: std::ops::RangeInclusive<i64> = -8192..=8191;

/// Returns true if an iteration of the loop's own code may follow where its counted exit is: nothing behind the exit,
/// which the last iteration of the kernel does not execute, is of use to the next.
pub(super) fn resumes(body: &Body) -> bool {
    let last = body.exits.iter().map(|exit| exit.at).min();
    let behind = last.map_or(&[][..], |at| &body.operations[at..]);
    behind.iter().all(|operation| {
        operation.memory.is_none() && operation.writes().all(|write| !body.live.contains(&write))
    })
}

/// Returns the body of so many iterations at once; for a counted loop, whose only exit is at its end, with
/// the exit of the last one alone.
pub(super) fn repeated(body: &Body, times: u32, counted: bool) -> Body {
    let mut out = body.clone();
    let count = body.operations.len();
    for copy in 1..times as usize {
        out.operations.extend(body.operations.iter().cloned());
        let exits = body.exits.iter().map(|exit| Exit {
            at: exit.at + copy * count,
            ..exit.clone()
        });
        if counted {
            out.exits.clear();
        }
        out.exits.extend(exits);
    }
    out.resumes = counted;
    out
}

/// `b = 1 + a; c = 1 + b` becomes `b = 1 + a; c = 2 + a`.
pub(super) fn fold(given: &mut Loop) {
    let written = |items: &[Item], name: Virtual| {
        let mut all = items
            .iter()
            .enumerate()
            .filter(|(_, item)| item.operation.writes().any(|write| write == name));
        match (all.next(), all.next()) {
            (Some((at, _)), None) => Some(at),
            _ => None,
        }
    };
    for at in 0..given.items.len() {
        let item = &given.items[at];
        let Some((by, of)) = sum(&item.operation) else {
            continue;
        };
        if item.before.contains(&of) || given.statics.contains(&of) {
            continue;
        }
        let Some(from) = written(&given.items, of).filter(|&from| from < at) else {
            continue;
        };
        let Some((more, start)) = sum(&given.items[from].operation) else {
            continue;
        };
        let earlier = given.items[from].before.contains(&start);
        let known = earlier || written(&given.items[from..at], start).is_none();
        if given.statics.contains(&start) || !known || !NEAR.contains(&(by + more)) {
            continue;
        }
        let item = &mut given.items[at];
        item.operation.sources = smallvec![Operand::Number(by + more), Operand::register(start)];
        item.before.retain(|it| *it != of);
        if earlier {
            item.before.push(start);
            item.before.sort_unstable();
        }
    }
}

/// A constant and the register that it is added to, whatever happens.
fn sum(operation: &Operation) -> Option<(i64, Virtual)> {
    let plain = operation.predicate.is_none()
        && matches!(operation.opcode(), Opcode::Add | Opcode::Adds)
        && operation.targets.len() == 1;
    match &operation.sources[..] {
        [Operand::Number(by), Operand::Register(Name::Virtual(of))]
        | [Operand::Register(Name::Virtual(of)), Operand::Number(by)]
            if plain =>
        {
            Some((*by, *of))
        }
        _ => None,
    }
}

/// The iterations that are left of a counted loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rest {
    /// Iterations of one of the kernel.
    pub(super) times: u32,
}

impl Rest {
    /// From `ar.lc` of the loop as it was: that of the kernel, and how many iterations are left. Control goes to `rest`
    /// where there are too few for one of the kernel.
    pub(super) fn split(
        self,
        function: &mut Function,
        count: Operand,
        rest: u32,
        out: &mut Vec<Operation>,
    ) -> (Operand, Virtual) {
        let mut put = |mnemonic: Mnemonic, file: File, sources: Vec<Operand>| {
            let target = function.register(file);
            out.push(Operation::plain(
                mnemonic,
                vec![Operand::register(target)],
                sources,
            ));
            target
        };
        let number = Operand::Number;
        let whole = put(op!("add"), File::General, vec![number(1), count]);
        let whole = Operand::register(whole);
        let (groups, left) = if self.times == 3 {
            // By multiplication with a third: exact for all of 64 bits.
            let third = put(
                op!("movl"),
                File::General,
                vec![number(0xaaaa_aaaa_aaaa_aaab_u64 as i64)],
            );
            let third = put(op!("setf.sig"), File::Float, vec![Operand::register(third)]);
            let wide = put(op!("setf.sig"), File::Float, vec![whole.clone()]);
            let factors = vec![Operand::register(wide), Operand::register(third)];
            let high = put(op!("xmpy.hu"), File::Float, factors);
            let high = put(
                op!("getf.sig"),
                File::General,
                vec![Operand::register(high)],
            );
            let sources = vec![Operand::register(high), number(1)];
            let groups = Operand::register(put(op!("shr.u"), File::General, sources));
            let sources = vec![groups.clone(), number(1), groups.clone()];
            let thrice = Operand::register(put(op!("shladd"), File::General, sources));
            (groups, put(op!("sub"), File::General, vec![whole, thrice]))
        } else {
            let shift = i64::from(self.times.trailing_zeros());
            let groups = put(
                op!("shr.u"),
                File::General,
                vec![whole.clone(), number(shift)],
            );
            let mask = number(i64::from(self.times) - 1);
            let left = put(op!("and"), File::General, vec![mask, whole]);
            (Operand::register(groups), left)
        };
        let none = function.register(File::Predicate);
        let again = |mnemonic: Mnemonic, predicate, targets, sources| {
            Operation::plain(mnemonic, targets, sources).under(predicate)
        };
        let targets = vec![Operand::register(none), Operand::fixed(Reg::P0)];
        out.push(again(
            op!("cmp.eq"),
            None,
            targets,
            vec![number(0), groups.clone()],
        ));
        out.push(again(
            op!("br.cond.sptk"),
            Some(none),
            Vec::new(),
            vec![Operand::Block(rest)],
        ));
        let kernel = function.register(File::General);
        out.push(again(
            op!("add"),
            None,
            vec![Operand::register(kernel)],
            vec![number(-1), groups],
        ));
        (Operand::register(kernel), left)
    }
}
