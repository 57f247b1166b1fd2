//! If-conversion: the acyclic inside of an innermost loop as one stretch of operations under predicates, with its exits at
//! their places.
//!
//! ```text
//! b1: ld x; cmp p, q = x, 0; (p) br b3          x = ..; cmp p, q = x, 0
//! b2: st y = x                                  (q) st y = x
//! b3: add i = 1, i; cmp r, s = i, n; (r) br b1  i = ..; cmp r, s = i, n; exit if s
//! ```
//!
//! A piece of the loop executes under the disjunction of the branch sides that lead to it; both sides of one
//! branch are the branch's own condition, a side alone is a target of its compare, which becomes
//! unconditional (`unc`) under the predicate of its piece, and the remaining sides are or-ed together by
//! parallel compares. Exits don't count: code behind an exit is meant to execute only if that was not taken.
//! A loop that tests at its top is turned: the test is copied in front of the loop, and moves to its end.
//! Ends after one pass over the pieces in the order of control.
//!
//! Not converted: loops with calls, with branches that are no plain jumps, whose conditions are no compare of their own
//! piece, and predicates that survive from one iteration to the next.
//!
//! Source: Muthukumar, Chen, Wu and Lavery, *Software Pipelining of Loops with Early Exits for the Itanium Architecture*,
//! EPIC-1, 2001, sections 4 and 6.

pub(crate) mod counts;
pub mod flag;
pub mod hammocks;
pub mod loops;

use crate::mir::liveness::Liveness;
use crate::mir::{Function, Operand, Operation, Predicated, Targets, Virtual};
use ir::Loc;
use isa::Branch;
use loops::{Next, Piece, Region, pieces};
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use std::collections::BTreeSet;

/// Registers of a function that still grows.
pub type Set = FxHashSet<Virtual>;

/// Control leaves the loop here if the predicate is true.
#[derive(Clone, PartialEq, Debug)]
pub struct Exit {
    /// In front of this operation.
    pub at: usize,
    pub predicate: Virtual,
    pub target: u32,
    pub loc: Loc,
}

/// The code that executes once in front of a loop that was turned.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry<T: Predicated> {
    pub operations: Vec<Operation<T>>,
    /// The loop is entered if the predicate is so, else control goes to `target`.
    pub predicate: Virtual,
    pub enters: bool,
    pub target: u32,
}

/// An iteration.
#[derive(Clone, PartialEq, Debug)]
pub struct Body<T: Predicated> {
    pub entry: Option<Entry<T>>,
    /// Executes once in front of the loop, behind its entry.
    pub preload: Vec<Operation<T>>,
    /// The block with which an iteration begins; `None`: it begins within one.
    pub start: Option<u32>,
    /// True if the values that an iteration begins with are read behind the exits, too.
    pub resumes: bool,
    /// Without branches.
    pub operations: Vec<Operation<T>>,
    /// In the order of places.
    pub exits: Vec<Exit>,
    /// At the start of an iteration, as the blocks have it.
    pub live: Set,
}

/// The reason why a loop has no such form.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Unconvertible {
    #[error("calls {}", callee(.0.as_deref()))]
    Call(Option<SmolStr>, Loc),
    #[error("contains the branch `{0}`, which is not a plain jump")]
    Branch(SmolStr, Loc),
    #[error("has a condition that {0}")]
    Condition(&'static str, Loc),
    #[error("contains a cycle that is not a natural loop (irreducible control flow)")]
    Cyclic,
    #[error("has no exit")]
    Endless,
}

fn callee(name: Option<&str>) -> String {
    match name {
        Some(name) => format!("`{name}`, which is not inlined"),
        None => "a function through a pointer".to_owned(),
    }
}

/// The branch sides of which one was taken; `None`: always.
type Condition = Option<BTreeSet<(usize, bool)>>;

struct Converter<'f, T: Predicated> {
    function: &'f mut Function<T>,
    pieces: Vec<Piece>,
    conditions: Vec<Condition>,
    /// Keyed by predicate: where it is written in the loop, as piece and operation of its block.
    writers: FxHashMap<Virtual, Vec<(usize, usize)>>,
    /// Keyed by compare of a branch: its targets.
    targets: FxHashMap<(usize, usize), Targets<T>>,
    /// Indexed by piece: predicates of its branch's sides, taken first.
    sides: Vec<Option<(Virtual, Virtual)>>,
    /// Pieces whose sides are made from the branch's predicate, which no compare of their own makes.
    made: Vec<bool>,
    joins: FxHashMap<usize, Virtual>,
    live: Set,
    out: Vec<Operation<T>>,
    exits: Vec<Exit>,
}

/// The loop as one stretch. New predicates are registers of the function; nothing else of it changes.
pub fn convert<T: Predicated>(
    function: &mut Function<T>,
    region: &Region,
    liveness: &Liveness,
) -> Result<Body<T>, Unconvertible> {
    let pieces = pieces(function, region, false).map_err(|branch| match branch.branch() {
        Some(Branch::Call) => {
            let callee = branch.sources.iter().find_map(|source| match source {
                Operand::Symbol(name) => Some(name.clone()),
                _ => None,
            });
            Unconvertible::Call(callee, branch.loc)
        }
        _ => Unconvertible::Branch(branch.mnemonic.to_string().into(), branch.loc),
    })?;
    let order = order(&pieces)?;
    let turned = turns(&pieces);
    let mut order = order;
    if turned.is_some() {
        order.retain(|&it| it != 0);
        order.push(0);
    }
    let live = match turned {
        Some(start) => liveness.inside(function, pieces[start].block, pieces[start].from),
        None => liveness.at_start(region.header).clone(),
    };
    let live: Set = live.iter().collect();
    let conditions = conditions(&pieces, &order, turned);
    let mut writers: FxHashMap<Virtual, Vec<(usize, usize)>> = FxHashMap::default();
    for (number, piece) in pieces.iter().enumerate() {
        let operations = &function.blocks[piece.block as usize].operations;
        for (at, operation) in operations
            .iter()
            .enumerate()
            .take(piece.to)
            .skip(piece.from)
        {
            for write in operation
                .writes()
                .filter(|&write| T::is_guard(function.class(write)))
            {
                writers.entry(write).or_default().push((number, at));
            }
        }
    }
    let first = &pieces[turned.unwrap_or(0)];
    let start = (first.from == 0).then_some(first.block);
    let sides = vec![None; pieces.len()];
    let entry = turned.and_then(|_| entry(function, &pieces[0]));
    let mut converter = Converter {
        function,
        pieces,
        conditions,
        writers,
        targets: FxHashMap::default(),
        made: vec![false; sides.len()],
        sides,
        joins: FxHashMap::default(),
        live,
        out: Vec::new(),
        exits: Vec::new(),
    };
    for &piece in &order {
        converter.sides(piece);
    }
    for &piece in &order {
        converter.piece(piece, turned.is_some() && piece == 0)?;
    }
    if converter.exits.is_empty() {
        return Err(Unconvertible::Endless);
    }
    Ok(Body {
        preload: Vec::new(),
        entry,
        start,
        resumes: false,
        operations: converter.out,
        exits: converter.exits,
        live: converter.live,
    })
}

/// Pieces in the order of control, the first first.
fn order(pieces: &[Piece]) -> Result<Vec<usize>, Unconvertible> {
    let next = |piece: &Piece| {
        let sides = [piece.taken.map(|(_, next)| next), Some(piece.next)];
        sides.into_iter().flatten().filter_map(|next| match next {
            Next::Piece(to) => Some(to),
            _ => None,
        })
    };
    let mut reached = vec![false; pieces.len()];
    let mut open = vec![0];
    while let Some(at) = open.pop() {
        if !std::mem::replace(&mut reached[at], true) {
            open.extend(next(&pieces[at]));
        }
    }
    let mut waits = vec![0; pieces.len()];
    for (_, piece) in pieces.iter().enumerate().filter(|(at, _)| reached[*at]) {
        next(piece).for_each(|to| waits[to] += 1);
    }
    let mut ready = BTreeSet::from([0]);
    let mut out = Vec::new();
    while let Some(at) = ready.pop_first() {
        out.push(at);
        for to in next(&pieces[at]) {
            waits[to] -= 1;
            if waits[to] == 0 {
                ready.insert(to);
            }
        }
    }
    match out.len() == reached.iter().filter(|&&it| it).count() {
        true => Ok(out),
        false => Err(Unconvertible::Cyclic),
    }
}

/// The piece with which an iteration begins once the test at the top has moved to the bottom; `None`: it stays.
fn turns(pieces: &[Piece]) -> Option<usize> {
    let behind = |mut next: Next| {
        for _ in 0..pieces.len() {
            match next {
                // Nothing but a jump.
                Next::Piece(at)
                    if pieces[at].taken.is_none() && pieces[at].from == pieces[at].to =>
                {
                    next = pieces[at].next;
                }
                _ => break,
            }
        }
        next
    };
    let bottom = pieces.iter().any(|piece| {
        let sides = piece
            .taken
            .map(|(_, taken)| (behind(taken), behind(piece.next)));
        matches!(
            sides,
            Some((Next::Back, Next::Exit(_)) | (Next::Exit(_), Next::Back))
        )
    });
    match (bottom, pieces[0].taken?.1, pieces[0].next) {
        (false, Next::Exit(_), Next::Piece(start)) | (false, Next::Piece(start), Next::Exit(_)) => {
            Some(start)
        }
        _ => None,
    }
}

fn entry<T: Predicated>(function: &Function<T>, piece: &Piece) -> Option<Entry<T>> {
    let operations = &function.blocks[piece.block as usize].operations;
    let operations = operations[piece.from..piece.to].to_vec();
    let (predicate, taken) = piece.taken?;
    let (enters, target) = match (taken, piece.next) {
        (Next::Exit(target), _) => (false, target),
        (_, Next::Exit(target)) => (true, target),
        _ => return None,
    };
    Some(Entry {
        operations,
        predicate,
        enters,
        target,
    })
}

fn conditions(pieces: &[Piece], order: &[usize], turned: Option<usize>) -> Vec<Condition> {
    let mut out: Vec<Condition> = vec![Some(BTreeSet::new()); pieces.len()];
    for (place, &at) in order.iter().enumerate() {
        if place == 0 || (turned.is_some() && at == 0) {
            out[at] = None;
            continue;
        }
        let mut any: Condition = Some(BTreeSet::new());
        for &from in &order[..place] {
            let piece = &pieces[from];
            let leads = |next: Next| next == Next::Piece(at);
            let leaves = |next: Next| matches!(next, Next::Exit(_));
            let side = match piece.taken {
                None if leads(piece.next) => out[from].clone(),
                None => continue,
                Some((_, taken)) => match (leads(taken), leads(piece.next)) {
                    (true, true) => out[from].clone(),
                    (true, false) if leaves(piece.next) => out[from].clone(),
                    (false, true) if leaves(taken) => out[from].clone(),
                    (true, false) => Some(BTreeSet::from([(from, true)])),
                    (false, true) => Some(BTreeSet::from([(from, false)])),
                    (false, false) => continue,
                },
            };
            any = match (any, side) {
                (Some(mut any), Some(side)) => {
                    any.extend(side);
                    Some(any)
                }
                _ => None,
            };
        }
        out[at] = reduced(any, &out);
    }
    out
}

/// Both sides of a branch are its piece's condition.
fn reduced(mut any: Condition, known: &[Condition]) -> Condition {
    loop {
        let set = any.as_mut()?;
        let both = set
            .iter()
            .find(|(at, taken)| *taken && set.contains(&(*at, false)));
        let Some(&(at, _)) = both else {
            return any;
        };
        set.remove(&(at, true));
        set.remove(&(at, false));
        set.extend(known[at].as_ref()?.iter().copied());
    }
}

impl<T: Predicated> Converter<'_, T> {
    fn operation(&self, piece: usize, at: usize) -> &Operation<T> {
        &self.function.blocks[self.pieces[piece].block as usize].operations[at]
    }

    /// Predicates of the sides of a piece's branch.
    fn sides(&mut self, piece: usize) {
        let Some((predicate, _)) = self.pieces[piece].taken else {
            return;
        };
        self.sides[piece] = self.compared(piece, predicate);
        if self.sides[piece].is_none() {
            let [yes, no] = [T::GUARD; 2].map(|class| self.function.register(class));
            self.sides[piece] = Some((yes, no));
            self.made[piece] = true;
        }
    }

    /// The predicate and its complement, where one compare under the piece's condition makes both.
    fn compared(&mut self, piece: usize, predicate: Virtual) -> Option<(Virtual, Virtual)> {
        let &[(from, at)] = self.writers.get(&predicate)?.as_slice() else {
            return None;
        };
        let compare = self.operation(from, at);
        let fits = T::is_compare(compare)
            && !T::is_parallel(compare)
            && compare.predicate.is_none()
            && self.conditions[from] == self.conditions[piece]
            && !self.live.contains(&predicate);
        if !fits {
            return None;
        }
        let known = self.targets.get(&(from, at)).cloned();
        let mut targets = known.unwrap_or_else(|| compare.targets.clone());
        if targets.len() == 1 {
            targets.push(Operand::fixed(T::UNREAD));
        }
        let first = targets[0].virtual_register() == Some(predicate);
        let other = &mut targets[usize::from(first)];
        let complement = match other.virtual_register() {
            Some(found) => {
                let single = self.writers.get(&found).is_none_or(|all| all.len() == 1);
                (single && !self.live.contains(&found)).then_some(found)?
            }
            None => {
                let fresh = self.function.register(T::GUARD);
                *other = Operand::register(fresh);
                fresh
            }
        };
        self.targets.insert((from, at), targets);
        Some((predicate, complement))
    }

    /// `yes` where both `own` and the guard are true, `no` where the guard alone is; `own` may be computed anywhere.
    fn under(
        &mut self,
        own: Virtual,
        guard: Option<Virtual>,
        yes: Virtual,
        no: Operand<T>,
        loc: Loc,
    ) {
        let number = self.function.register(T::GENERAL);
        let made = T::conjunction(own, guard, number, [Operand::register(yes), no]);
        let made = made.into_iter().map(|it| Operation { loc, ..it });
        self.out.extend(made);
    }

    /// The predicate under which a piece executes, made where it is none of its own.
    fn predicate(&mut self, piece: usize) -> Option<Virtual> {
        let condition = self.conditions[piece].clone()?;
        let side = |sides: &[Option<(Virtual, Virtual)>], (at, taken): (usize, bool)| {
            let (yes, no) = sides[at]?;
            Some(if taken { yes } else { no })
        };
        if let [found] = condition.iter().copied().collect::<Vec<_>>()[..] {
            return side(&self.sides, found);
        }
        if let Some(&known) = self.joins.get(&piece) {
            return Some(known);
        }
        let join = self.function.register(T::GUARD);
        self.out.push(T::cleared(join));
        for each in condition {
            let from = side(&self.sides, each);
            self.out.push(T::raised(join, from));
        }
        self.joins.insert(piece, join);
        Some(join)
    }

    fn piece(&mut self, number: usize, last: bool) -> Result<(), Unconvertible> {
        let piece = self.pieces[number].clone();
        let predicate = self.predicate(number);
        for at in piece.from..piece.to {
            let mut operation = self.operation(number, at).clone();
            if let Some(targets) = self.targets.get(&(number, at)) {
                operation.targets = targets.clone();
            }
            if let Some(guard) = predicate {
                self.guard(&mut operation, guard, number)?;
            }
            self.out.push(operation);
        }
        let loc = match piece.taken {
            Some(_) => self.operation(number, piece.to).loc,
            None => Loc::NONE,
        };
        if let (true, Some((own, _)), Some((yes, no))) =
            (self.made[number], piece.taken, self.sides[number])
        {
            self.under(own, predicate, yes, Operand::register(no), loc);
        }
        let mut exit = |predicate: Virtual, target: u32| {
            self.exits.push(Exit {
                at: self.out.len(),
                predicate,
                target,
                loc,
            });
        };
        match (piece.taken, self.sides[number]) {
            (Some((_, taken)), Some((yes, no))) => {
                if let Next::Exit(target) = taken {
                    exit(yes, target);
                }
                if let Next::Exit(target) = piece.next {
                    exit(no, target);
                }
            }
            _ => {
                if let Next::Exit(target) = piece.next {
                    match predicate {
                        Some(predicate) if !last => exit(predicate, target),
                        _ => return Err(Unconvertible::Endless),
                    }
                }
            }
        }
        Ok(())
    }

    fn guard(
        &mut self,
        operation: &mut Operation<T>,
        guard: Virtual,
        piece: usize,
    ) -> Result<(), Unconvertible> {
        let certain = operation.is_certain();
        let fresh = operation.writes().all(|write| {
            self.writers.get(&write).is_none_or(|all| all.len() == 1) && !self.live.contains(&write)
        });
        let Some(own) = operation.predicate else {
            operation.predicate = Some(guard);
            if T::is_compare(operation) && certain && fresh {
                operation.mnemonic = T::unconditional(operation.mnemonic);
            }
            return Ok(());
        };
        let writers = self.writers.get(&own).map(Vec::as_slice);
        let local = matches!(writers, Some(&[(from, _)]) if self.conditions[from] == self.conditions[piece])
            && !self.live.contains(&own);
        // True only where the piece executes.
        if local {
            return Ok(());
        }
        if certain && !fresh {
            let why = "clears what another one computes";
            return Err(Unconvertible::Condition(why, operation.loc));
        }
        let both = self.function.register(T::GUARD);
        let none = Operand::fixed(T::UNREAD);
        self.under(own, Some(guard), both, none, operation.loc);
        operation.predicate = Some(both);
        Ok(())
    }
}
