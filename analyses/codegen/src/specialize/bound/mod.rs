//! The upper bound of the cycles that a version can save, from the values alone that a zero touches: the pass
//! evaluates a candidate in full only while its bound is above the best version found.
//!
//! ```text
//! m = 0: y = x*m is 0, so that x loses a use; z + y is z     ->  gone: y, z + y, and x if that was its last use
//! ```
//!
//! Knowledge goes forward along uses from the members, and a use count that falls to zero goes backwards;
//! values that a zero does not reach are not looked at. `cycles` has values that feed themselves as one: they
//! are gone together, when nothing outside uses them. Without loops the answer is never below the saving that
//! `Context::evaluate` finds: a region is all that the check dominates, and instructions that are dead
//! without any zero count for every candidate. Loops are judged by the edges that enter them, which in one of
//! some thousand candidates misses a constant that goes round several parameters; such a version may lose to
//! one that saves less.
//!
//! Stops because knowledge of a value only rises from varying to a copy to a constant, and an instruction
//! goes once. Constant tables a function, work per candidate in proportion to the values that it touches.

mod cycles;

use super::Context;
use super::fold::{Folded, Known, fold, taken, transfer};
use super::live::{Live, Region, live};
use super::refine::User;
use cycles::Cycles;
use ir::{Block, EntitySet, EntityVec, Function, Inst, Terminator, Value, ValueDef};
use smallvec::SmallVec;

/// Definitions followed back from the condition of a loop to its first iteration.
const STEPS: u32 = 6;

/// The instructions and blocks that one candidate's bound depends on.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Touched {
    pub insts: Vec<Inst>,
    /// Blocks whose ends are touched.
    pub ends: Vec<Block>,
}

/// Tables of a function, and the marks of the candidate at hand.
#[allow(missing_debug_implementations)]
pub struct Bounds<'a, 'b> {
    cx: &'b Context<'a>,
    /// The values known in the function without any zero, and the instructions that those leave.
    known: Folded,
    live: Live,
    cycles: Cycles,
    /// A loop has several entries: nothing is bounded.
    irreducible: bool,
    /// Uses of a value, or of a cycle from outside of it, by the remaining instructions.
    uses: EntityVec<Value, u32>,
    cycle_uses: Vec<u32>,
    home: EntityVec<Inst, Option<Block>>,
    /// Cycles of an instruction by the executions of its block.
    cost: EntityVec<Inst, f64>,
    /// Cycles that are gone without any zero in the blocks that a block dominates.
    idle: EntityVec<Block, f64>,
    /// Least executions of a block that a block dominates.
    rarest: EntityVec<Block, f64>,
    marks: Marks,
}

/// Tables of the candidate at hand; entries stamped with another number are of an earlier one.
#[derive(Default)]
struct Marks {
    stamp: u32,
    known: Vec<(u32, Known)>,
    lost: Vec<(u32, i64)>,
    cycle_lost: Vec<(u32, i64)>,
    gone: Vec<u32>,
    unreached: Vec<u32>,
    members: SmallVec<[Value; 4]>,
    block: Option<Block>,
    /// Values of which something is known, and those whose users are still to be asked.
    changed: Vec<Value>,
    asked: usize,
    /// Blocks whose ends are decided.
    decided: Vec<Block>,
    /// Values that lost a use.
    dying: Vec<Value>,
    gain: f64,
    touched: Touched,
}

impl<'a, 'b> Bounds<'a, 'b> {
    #[must_use]
    pub fn new(cx: &'b Context<'a>) -> Self {
        let function = cx.function;
        let entry = function.entry();
        let after = &function.blocks[entry].insts;
        let known = fold(function, &[], &cx.flow.order, after, cx.zeros);
        let region = Region {
            blocks: &cx.flow.order,
            after,
        };
        let live = live(function, region, &known, &cx.held);
        let cycles = Cycles::new(function, &cx.flow);
        let irreducible = cx.flow.order.iter().any(|&block| {
            cx.flow.successors[block].iter().any(|&next| {
                cx.flow.position[next] <= cx.flow.position[block]
                    && !cx.dominators.dominates(next, block)
            })
        });
        let mut out = Bounds {
            uses: EntityVec::with_len(0, function.values.len()),
            cycle_uses: vec![0; cycles.count()],
            home: EntityVec::with_len(None, function.insts.len()),
            cost: EntityVec::with_len(0.0, function.insts.len()),
            idle: EntityVec::with_len(0.0, function.blocks.len()),
            rarest: cx.weights.clone(),
            marks: Marks {
                known: vec![(0, Known::Varies); function.values.len()],
                lost: vec![(0, 0); function.values.len()],
                cycle_lost: vec![(0, 0); cycles.count()],
                gone: vec![0; function.insts.len()],
                unreached: vec![0; function.blocks.len()],
                ..Marks::default()
            },
            cx,
            known,
            live,
            cycles,
            irreducible,
        };
        out.count();
        for &block in cx.dominators.preorder().iter().rev() {
            if let Some(above) = cx.dominators.immediate(block) {
                let (idle, rarest) = (out.idle[block], out.rarest[block]);
                out.idle[above] += idle;
                out.rarest[above] = out.rarest[above].min(rarest);
            }
        }
        out
    }

    fn count(&mut self) {
        let function: &'a Function = self.cx.function;
        for &block in &self.cx.flow.order {
            let data = &function.blocks[block];
            let reached = self.known.reached.contains(&block);
            for &inst in &data.insts {
                self.home[inst] = Some(block);
                if self.cx.executes(inst) {
                    self.cost[inst] = self.cx.costs.inst(function, inst) * self.cx.weights[block];
                }
                if !(reached && self.live.kept.contains(&inst)) {
                    self.idle[block] += self.cost[inst];
                    continue;
                }
                let data = &function.insts[inst];
                let user = data.results.first().copied();
                for arg in operands(function, inst) {
                    self.use_of(arg, user);
                }
                // An effect keeps the cycle that it stands in.
                if data.op.has_effect()
                    && let Some(cycle) = user.and_then(|user| self.cycles.of(user))
                {
                    self.cycle_uses[cycle] += 1;
                }
            }
            if !reached {
                continue;
            }
            let edges = taken(&data.terminator, |value| {
                self.known.constant(function, value)
            });
            if edges.len() > 1
                && let Some(selector) = data.terminator.selector()
            {
                self.use_of(selector, None);
            }
            if let Terminator::Return(values) = &data.terminator {
                for &value in values {
                    self.use_of(value, None);
                }
            }
            for edge in edges {
                for (&param, &arg) in function.blocks[edge.block].params.iter().zip(&edge.args) {
                    if self.live.params.contains(&param) {
                        self.use_of(arg, Some(param));
                    }
                }
            }
        }
    }

    fn use_of(&mut self, value: Value, user: Option<Value>) {
        let Some(Known::Copy(root)) = self.known.of(self.cx.function, value) else {
            return;
        };
        match self.cycles.of(root) {
            None => self.uses[root] += 1,
            Some(cycle) if user.and_then(|user| self.cycles.of(user)) != Some(cycle) => {
                self.cycle_uses[cycle] += 1;
            }
            Some(_) => {}
        }
    }

    /// The upper bound of the saving of a version on `members`, in cycles of a warp for one invocation, and
    /// its origin. `None` where no version can stand, infinite where a loop has several entries or a member
    /// is a constant.
    pub fn of(&mut self, members: &[Value], probability: f64) -> Option<(f64, Touched)> {
        let block = self.cx.lowest(members).ok()?;
        // What is a constant without the candidate would contradict it.
        let constant = |&member: &Value| self.known.constant(self.cx.function, member).is_some();
        if self.irreducible || members.iter().any(constant) {
            return Some((f64::INFINITY, Touched::default()));
        }
        self.begin(members, block);
        for &member in members {
            self.marks.known[member.0 as usize] = (self.marks.stamp, Known::Constant(0));
            self.marks.changed.push(member);
        }
        self.forward();
        self.backward();
        for &member in members {
            let own = self.defining(member);
            self.marks.touched.insts.extend(own);
        }
        let touched = self.marks.touched.clone();
        let gain = self.marks.gain + self.idle[block];
        let check = self.cx.costs.check(members.len()) * self.rarest[block];
        // Sums in another order differ in their last bits.
        let bound = probability * gain - check;
        Some((bound + bound.abs() * 1e-9, touched))
    }

    fn begin(&mut self, members: &[Value], block: Block) {
        let marks = &mut self.marks;
        marks.stamp += 1;
        marks.members = SmallVec::from_slice(members);
        marks.block = Some(block);
        marks.changed.clear();
        marks.asked = 0;
        marks.decided.clear();
        marks.dying.clear();
        marks.gain = 0.0;
        marks.touched.insts.clear();
        marks.touched.ends.clear();
    }

    /// Returns true if a block is dominated by the check's.
    fn within(&self, block: Block) -> bool {
        self.marks
            .block
            .is_some_and(|head| self.cx.dominators.dominates(head, block))
    }

    fn defining(&self, value: Value) -> Option<Inst> {
        match self.cx.function.values[value].def {
            ValueDef::Result(inst, _) => Some(inst),
            ValueDef::Param(..) => None,
        }
    }

    /// Returns the knowledge of a value itself.
    fn own(&self, value: Value) -> Known {
        let (stamp, known) = self.marks.known[value.0 as usize];
        if stamp == self.marks.stamp {
            return known;
        }
        match self.known.of(self.cx.function, value) {
            Some(Known::Copy(source)) if source == value => Known::Varies,
            Some(known) => known,
            None => Known::Varies,
        }
    }

    /// Past all copies: a constant, or the value that it is equal to.
    fn resolved(&self, mut value: Value) -> Known {
        // A chain of copies is no longer than the number of values; a cycle of copies is cut.
        for _ in 0..64 {
            match self.own(value) {
                Known::Copy(source) if source != value => value = source,
                Known::Constant(bits) => return Known::Constant(bits),
                _ => break,
            }
        }
        Known::Copy(value)
    }

    fn learn(&mut self, value: Value, now: Known) {
        let rank = |known: Known| match known {
            Known::Varies => 0,
            Known::Copy(_) => 1,
            Known::Constant(_) => 2,
        };
        if now == Known::Copy(value) || rank(now) <= rank(self.own(value)) {
            return;
        }
        self.marks.known[value.0 as usize] = (self.marks.stamp, now);
        self.marks.changed.push(value);
    }

    fn forward(&mut self) {
        let cx = self.cx;
        while let Some(&value) = self.marks.changed.get(self.marks.asked) {
            self.marks.asked += 1;
            for &user in &cx.users[value] {
                match user {
                    User::Inst(block, inst) if self.within(block) => self.ask(inst),
                    User::Terminator(block) if self.within(block) => self.decide(block),
                    User::Edge(from, to) if self.within(from) => {
                        self.marks.touched.ends.push(from);
                        self.merge(to);
                    }
                    _ => {}
                }
            }
        }
    }

    fn ask(&mut self, inst: Inst) {
        let function = self.cx.function;
        self.marks.touched.insts.push(inst);
        let data = &function.insts[inst];
        let [result] = *data.results.as_slice() else {
            return;
        };
        if self.marks.members.contains(&result) {
            return;
        }
        let now = transfer(function, data, result, self.cx.zeros, |arg| {
            Some(self.resolved(arg))
        });
        if let Some(now) = now {
            self.learn(result, now);
        }
        let decides = |user: &User| matches!(user, User::Terminator(_));
        if now == Some(Known::Varies)
            && self.cycles.count() > 0
            && self.cx.users[result].iter().any(decides)
            && let Known::Constant(bits) = self.at_first(result, STEPS)
        {
            self.learn(result, Known::Constant(bits));
        }
    }

    /// A value in the first iteration of the loops around it, which is its only one where it decides that no other follows.
    fn at_first(&self, value: Value, steps: u32) -> Known {
        let known = self.resolved(value);
        let (Known::Copy(root), Some(steps)) = (known, steps.checked_sub(1)) else {
            return known;
        };
        let function = self.cx.function;
        match function.values[root].def {
            ValueDef::Result(inst, _) => {
                let of = |arg| Some(self.at_first(arg, steps));
                match transfer(function, &function.insts[inst], root, self.cx.zeros, of) {
                    Some(Known::Constant(bits)) => Known::Constant(bits),
                    _ => known,
                }
            }
            ValueDef::Param(block, at) => {
                let here = self.cx.flow.position[block];
                let mut entering = None;
                for &from in &self.cx.flow.predecessors[block] {
                    if self.cx.flow.position[from] >= here || self.is_unreached(from) {
                        continue;
                    }
                    for edge in self.remaining(from) {
                        let arg = edge.args.get(at as usize).filter(|_| edge.block == block);
                        let Some(&arg) = arg else { continue };
                        let now = self.at_first(arg, steps);
                        if *entering.get_or_insert(now) != now {
                            return known;
                        }
                    }
                }
                entering.unwrap_or(known)
            }
        }
    }

    /// The edges of a block that remain.
    fn remaining(&self, block: Block) -> SmallVec<[&'a ir::Edge; 2]> {
        let function: &'a Function = self.cx.function;
        taken(&function.blocks[block].terminator, |value| {
            match self.resolved(value) {
                Known::Constant(bits) => Some(bits),
                _ => None,
            }
        })
    }

    fn is_unreached(&self, block: Block) -> bool {
        self.marks.unreached[block.0 as usize] == self.marks.stamp
            || !self.known.reached.contains(&block)
    }

    fn decide(&mut self, block: Block) {
        self.marks.touched.ends.push(block);
        if self.marks.decided.contains(&block) {
            return;
        }
        let all = self.cx.function.blocks[block].terminator.edges().len();
        if self.remaining(block).len() == all {
            return;
        }
        self.marks.decided.push(block);
        let mut work: Vec<Block> = self.cx.flow.successors[block].to_vec();
        while let Some(next) = work.pop() {
            if self.is_unreached(next) || Some(next) == self.marks.block {
                continue;
            }
            let here = self.cx.flow.position[next];
            let entered = self.cx.flow.predecessors[next].iter().any(|&from| {
                self.cx.flow.position[from] < here
                    && !self.is_unreached(from)
                    && self.remaining(from).iter().any(|edge| edge.block == next)
            });
            if entered {
                self.merge(next);
            } else if self.within(next) {
                self.marks.unreached[next.0 as usize] = self.marks.stamp;
                self.marks.touched.ends.push(next);
                work.extend(self.cx.flow.successors[next].iter().copied());
            }
        }
    }

    /// Parameters of a block that all edges into it agree on. A back edge may bring a value that depends on
    /// the parameter.
    fn merge(&mut self, block: Block) {
        if Some(block) == self.marks.block || !self.within(block) {
            return;
        }
        let function = self.cx.function;
        let here = self.cx.flow.position[block];
        for (at, &param) in function.blocks[block].params.iter().enumerate() {
            if !matches!(self.own(param), Known::Varies) || self.marks.members.contains(&param) {
                continue;
            }
            let mut agreed: Option<Known> = None;
            let mut differs = false;
            for &from in &self.cx.flow.predecessors[block] {
                if self.is_unreached(from) {
                    continue;
                }
                for edge in self
                    .remaining(from)
                    .iter()
                    .filter(|edge| edge.block == block)
                {
                    let Some(&arg) = edge.args.get(at) else {
                        continue;
                    };
                    let known = self.resolved(arg);
                    let circular = self.cx.flow.position[from] >= here
                        && (known == Known::Copy(param)
                            || self.cycles.of(param).is_some()
                                && self.cycles.of(arg) == self.cycles.of(param));
                    if circular {
                        continue;
                    }
                    differs |= *agreed.get_or_insert(known) != known;
                }
            }
            if let Some(known) = agreed.filter(|_| !differs) {
                self.learn(param, known);
            }
        }
    }

    fn backward(&mut self) {
        let function = self.cx.function;
        // Users of a copy are users of its source.
        for at in 0..self.marks.changed.len() {
            let value = self.marks.changed[at];
            if let Known::Copy(root) = self.resolved(value)
                && root != value
            {
                let more = i64::from(self.uses[value]);
                *self.lost(root) -= more;
            }
        }
        for at in 0..self.marks.changed.len() {
            let value = self.marks.changed[at];
            if self.marks.members.contains(&value) {
                continue;
            }
            match function.values[value].def {
                ValueDef::Result(inst, _) => self.leave(inst),
                ValueDef::Param(block, _) => self.leave_param(value, block),
            }
            if let Some(cycle) = self.cycles.of(value) {
                self.leave_cycle(cycle);
            }
        }
        for at in 0..self.cx.flow.order.len() {
            if self.marks.decided.is_empty() {
                break;
            }
            let block = self.cx.flow.order[at];
            if self.marks.unreached[block.0 as usize] == self.marks.stamp {
                self.leave_block(block);
            }
        }
        for at in 0..self.marks.decided.len() {
            self.leave_edges(self.marks.decided[at]);
        }
        while let Some(value) = self.marks.dying.pop() {
            match function.values[value].def {
                ValueDef::Result(inst, _) => {
                    let idle = |&it: &Value| it == value || self.is_idle(it);
                    if function.insts[inst].results.iter().all(idle) {
                        self.leave(inst);
                    }
                }
                ValueDef::Param(block, _) => self.leave_param(value, block),
            }
        }
    }

    fn lost(&mut self, value: Value) -> &mut i64 {
        let stamp = self.marks.stamp;
        let entry = &mut self.marks.lost[value.0 as usize];
        if entry.0 != stamp {
            *entry = (stamp, 0);
        }
        &mut entry.1
    }

    /// Returns true if nothing that is left uses a value.
    fn is_idle(&self, value: Value) -> bool {
        let (stamp, lost) = self.marks.lost[value.0 as usize];
        let lost = if stamp == self.marks.stamp { lost } else { 0 };
        !matches!(self.own(value), Known::Varies) || i64::from(self.uses[value]) <= lost
    }

    /// Takes away one use of a value.
    fn lose(&mut self, value: Value, user: Option<Value>) {
        let Known::Copy(root) = self.resolved(value) else {
            return;
        };
        if let Some(inst) = self.defining(root) {
            self.marks.touched.insts.push(inst);
        }
        match self.cycles.of(root) {
            None => {
                let uses = i64::from(self.uses[root]);
                let lost = self.lost(root);
                *lost += 1;
                if *lost == uses {
                    self.marks.dying.push(root);
                }
            }
            Some(cycle) if user.and_then(|user| self.cycles.of(user)) != Some(cycle) => {
                let stamp = self.marks.stamp;
                let entry = &mut self.marks.cycle_lost[cycle];
                if entry.0 != stamp {
                    *entry = (stamp, 0);
                }
                entry.1 += 1;
                if entry.1 >= i64::from(self.cycle_uses[cycle]) {
                    self.leave_cycle(cycle);
                }
            }
            Some(_) => {}
        }
    }

    fn leave(&mut self, inst: Inst) {
        let data = &self.cx.function.insts[inst];
        if !data.op.has_effect() && self.home[inst].is_some_and(|block| self.within(block)) {
            self.remove(inst);
        }
    }

    fn remove(&mut self, inst: Inst) {
        let function: &'a Function = self.cx.function;
        let stamp = self.marks.stamp;
        let at = inst.0 as usize;
        if self.marks.gone[at] == stamp || !self.live.kept.contains(&inst) {
            return;
        }
        self.marks.gone[at] = stamp;
        self.marks.gain += self.cost[inst];
        self.marks.touched.insts.push(inst);
        let user = function.insts[inst].results.first().copied();
        for arg in operands(function, inst) {
            self.lose(arg, user);
        }
    }

    fn leave_param(&mut self, param: Value, block: Block) {
        let ValueDef::Param(_, at) = self.cx.function.values[param].def else {
            return;
        };
        if !self.within(block) || !self.live.params.contains(&param) {
            return;
        }
        let known: &Folded = &self.known;
        let function = self.cx.function;
        let mut args: SmallVec<[Value; 4]> = SmallVec::new();
        for &from in &self.cx.flow.predecessors[block] {
            if !known.reached.contains(&from) {
                continue;
            }
            let edges = taken(&function.blocks[from].terminator, |value| {
                known.constant(function, value)
            });
            for edge in edges.iter().filter(|edge| edge.block == block) {
                args.extend(edge.args.get(at as usize).copied());
            }
            self.marks.touched.ends.push(from);
        }
        for arg in args {
            self.lose(arg, Some(param));
        }
    }

    fn leave_cycle(&mut self, cycle: usize) {
        for at in 0..self.cycles.members(cycle).len() {
            let value = self.cycles.members(cycle)[at];
            match self.cx.function.values[value].def {
                ValueDef::Result(inst, _) => self.leave(inst),
                ValueDef::Param(block, _) => {
                    // Once: the mark of values that lost all.
                    let stamp = self.marks.stamp;
                    let lost = self.marks.lost[value.0 as usize];
                    if lost != (stamp, i64::MAX) {
                        self.marks.lost[value.0 as usize] = (stamp, i64::MAX);
                        self.leave_param(value, block);
                    }
                }
            }
        }
    }

    fn leave_block(&mut self, block: Block) {
        let function = self.cx.function;
        for &inst in &function.blocks[block].insts {
            self.remove(inst);
        }
        if let Some(selector) = function.blocks[block].terminator.selector() {
            self.lose(selector, None);
        }
        if let Terminator::Return(values) = &function.blocks[block].terminator {
            for &value in values {
                self.lose(value, None);
            }
        }
        self.leave_edges(block);
    }

    /// Takes away the values that edges which are no longer taken bring to parameters.
    fn leave_edges(&mut self, block: Block) {
        let function = self.cx.function;
        let nothing = self.marks.unreached[block.0 as usize] == self.marks.stamp;
        let left: SmallVec<[*const ir::Edge; 2]> = if nothing {
            SmallVec::new()
        } else {
            self.remaining(block)
                .into_iter()
                .map(std::ptr::from_ref)
                .collect()
        };
        for edge in function.blocks[block].terminator.edges() {
            if left.contains(&std::ptr::from_ref(edge)) {
                continue;
            }
            let params = &function.blocks[edge.block].params;
            for (&param, &arg) in params.iter().zip(&edge.args) {
                // A parameter of which something is known has let go of all its arguments.
                let varies = matches!(self.own(param), Known::Varies);
                if !varies || !self.live.params.contains(&param) {
                    continue;
                }
                match (self.cycles.of(arg), self.cycles.of(param)) {
                    // The cycle is cut, and all of it may go.
                    (Some(left), Some(right)) if left == right => self.leave_cycle(left),
                    _ => self.lose(arg, Some(param)),
                }
            }
        }
    }
}

/// Operands and the guard of an instruction.
fn operands(function: &Function, inst: Inst) -> impl Iterator<Item = Value> {
    let data = &function.insts[inst];
    let guard = data.guard.iter().map(|guard| guard.value);
    data.args.iter().copied().chain(guard)
}

/// Instructions whose place a version moves or copies.
#[must_use]
pub fn region(
    function: &Function,
    refined: &super::refine::Refined,
) -> (EntitySet<Inst>, EntitySet<Block>) {
    let mut insts: EntitySet<Inst> = EntitySet::with_len(function.insts.len());
    for &block in &refined.blocks {
        insts.extend(refined.insts(function, block).iter().copied());
    }
    let ends = match refined.join {
        // The end of the head stays behind the copies.
        super::refine::Join::Inside(_) => EntitySet::default(),
        _ => refined.blocks.iter().copied().collect(),
    };
    (insts, ends)
}
