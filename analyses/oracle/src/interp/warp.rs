//! A warp: executes one block after the other with the reconvergence stack of section 3.6 of the divergence-analysis
//! notes. An entry is (block, block at which it ends, lanes); after a branch that divides the lanes, the entry waits at
//! the branch's immediate post-dominator while each group runs in an entry of its own. A call pushes a frame with its
//! own stack; lanes that return leave it, lanes that are killed leave all.

use super::error::{Error, EventKind};
use super::launch::{Mode, hash, mix};
use super::machine::{Arrival, Group, Machine, State, Step, Stop};
use super::memory::Window;
use super::observe::{Observer, lanes};
use super::plan::{EXIT, FunctionPlan, LocalObject};
use super::warp_ops::Row;
use ir::entity::{Block, Entity, Inst, Value};
use ir::function::{Edge, Terminator};
use smallvec::SmallVec;

/// Instructions that a warp executes before another one has its turn.
const SLICE: u64 = 20_000;
/// More than the most instructions of a lane in one go where lanes are interleaved.
const INTERLEAVED: u64 = 40;

/// One entry of the reconvergence stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) block: u32,
    pub(super) until: u32,
    pub(super) mask: u64,
}

/// The block that is being executed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor {
    pub(super) block: Block,
    pub(super) next: usize,
    pub(super) mask: u64,
    pub(super) visit: u64,
}

#[derive(Debug)]
pub(super) struct Frame {
    pub(super) function: u32,
    /// Lane-wise values: value number times the warp size plus lane.
    pub(super) values: Vec<u64>,
    pub(super) stack: Vec<Entry>,
    pub(super) counters: Vec<u32>,
    /// A number for each lane that distinguishes the calls that led here.
    pub(super) context: Vec<u64>,
    pub(super) cursor: Option<Cursor>,
    /// Addresses of the private objects.
    pub(super) locals: Vec<u64>,
    pub(super) mark: (usize, u64),
    /// The call instruction of the caller and its lanes.
    pub(super) call: Option<(Inst, u64)>,
}

#[derive(Debug)]
pub(super) struct Warp {
    pub(super) number: u32,
    /// The lanes that it started with.
    pub(super) initial: u64,
    pub(super) live: u64,
    pub(super) frames: Vec<Frame>,
    pub(super) local: Vec<u8>,
    pub(super) local_stride: usize,
    pub(super) local_window: Window,
    /// Grid-wide number of lane 0.
    pub(super) first_thread: u64,
    pub(super) steps: u64,
    pub(super) visits: u64,
    pub(super) state: State,
}

impl<'m, 'r, O: Observer> Machine<'m, 'r, O> {
    pub(super) fn run_warp(
        &mut self,
        group: &mut Group<'_>,
        warp: &mut Warp,
    ) -> Result<Stop, Error> {
        let slice = match self.launch.mode {
            Mode::Interleaved => hash(&[self.launch.seed, group.index, self.steps]) % INTERLEAVED,
            Mode::Lockstep | Mode::LanesApart => SLICE,
        };
        self.end_of_slice = self.steps + slice;
        loop {
            let Some(frame) = warp.frames.last_mut() else {
                return Ok(Stop::Done);
            };
            let cursor = match frame.cursor {
                Some(_) if self.is_switched() => return Ok(Stop::Slice),
                Some(cursor) => cursor,
                None => {
                    let entry = loop {
                        match frame.stack.last() {
                            None => break None,
                            Some(top) if top.mask == 0 || top.block == top.until => {
                                frame.stack.pop();
                            }
                            Some(&top) => break Some(top),
                        }
                    };
                    let Some(top) = entry else {
                        self.pop_frame(group, warp);
                        continue;
                    };
                    if self.steps > self.launch.limits.steps {
                        let mut place = self.place(group.id, warp, top.mask.trailing_zeros(), None);
                        place.block = Block(top.block);
                        return Err(Error::StepsExhausted {
                            place: Box::new(place),
                        });
                    }
                    if self.steps > self.end_of_slice {
                        return Ok(Stop::Slice);
                    }
                    warp.visits += 1;
                    let cursor = Cursor {
                        block: Block(top.block),
                        next: 0,
                        mask: top.mask,
                        visit: warp.visits,
                    };
                    frame.cursor = Some(cursor);
                    if self.observing {
                        let function = self.plans[frame.function as usize].function;
                        if let Some(instance) = self.instance(group, warp) {
                            self.observer.block(&instance);
                        }
                        for &param in &function.blocks[cursor.block].params {
                            self.notify(group, warp, param, cursor.mask);
                        }
                    }
                    cursor
                }
            };
            if let Some(arrival) = self.run_block(group, warp, cursor)? {
                return Ok(Stop::Barrier(arrival));
            }
        }
    }

    /// Returns true where another lane goes on in the middle of a block.
    fn is_switched(&self) -> bool {
        self.launch.mode == Mode::Interleaved && self.steps > self.end_of_slice
    }

    /// Executes the rest of a block; gives a barrier at which the warp arrived.
    pub(super) fn run_block(
        &mut self,
        group: &mut Group<'_>,
        warp: &mut Warp,
        cursor: Cursor,
    ) -> Result<Option<Arrival>, Error> {
        let depth = warp.frames.len() - 1;
        let plan = &self.plans[warp.frames[depth].function as usize];
        let function = plan.function;
        let block = &function.blocks[cursor.block];
        // Lanes may have been killed in a call.
        let mask = cursor.mask & warp.live;
        if mask == 0 {
            warp.frames[depth].cursor = None;
            return Ok(None);
        }
        let active = u64::from(mask.count_ones());
        for (number, &inst) in block.insts.iter().enumerate().skip(cursor.next) {
            self.steps += 1;
            self.lane_steps += active;
            warp.steps += 1;
            match self.execute(group, warp, plan, inst, mask)? {
                Step::Next if self.is_switched() => {
                    if let Some(saved) = &mut warp.frames[depth].cursor {
                        saved.next = number + 1;
                    }
                    return Ok(None);
                }
                Step::Next => {}
                Step::Call => {
                    if let Some(saved) = &mut warp.frames[depth].cursor {
                        saved.next = number + 1;
                    }
                    return Ok(None);
                }
                Step::Wait(arrival) => {
                    if let Some(saved) = &mut warp.frames[depth].cursor {
                        saved.next = number + 1;
                    }
                    return Ok(Some(arrival));
                }
            }
        }
        self.steps += 1;
        self.lane_steps += active;
        warp.steps += 1;
        self.terminate(group, warp, plan, cursor.block, mask)?;
        if let Some(frame) = warp.frames.get_mut(depth) {
            frame.cursor = None;
        }
        Ok(None)
    }

    pub(super) fn terminate(
        &mut self,
        group: &mut Group<'_>,
        warp: &mut Warp,
        plan: &FunctionPlan<'m>,
        block: Block,
        mask: u64,
    ) -> Result<(), Error> {
        let width = self.width;
        let data = &plan.function.blocks[block];
        let depth = warp.frames.len() - 1;
        match &data.terminator {
            Terminator::Jump(edge) => {
                if self.observing
                    && let Some(instance) = self.instance(group, warp)
                {
                    self.observer.branch(&instance, &[mask]);
                }
                self.use_edge(group, warp, edge, mask);
                let frame = &mut warp.frames[depth];
                self.take(frame, plan, block, 0, edge, mask);
                if let Some(top) = frame.stack.last_mut() {
                    top.block = edge.block.0;
                }
            }
            Terminator::Branch {
                condition,
                then,
                otherwise,
                uniform,
            } => {
                let at = condition.index() * width;
                let row = &warp.frames[depth].values[at..at + width];
                let mut taken = 0u64;
                for (lane, &bit) in row.iter().enumerate() {
                    taken |= u64::from(bit != 0) << lane;
                }
                let (yes, no) = (taken & mask, !taken & mask);
                if *uniform && yes != 0 && no != 0 {
                    let kind = EventKind::UniformBranchDiverges { mask };
                    self.event(group.id, warp, mask.trailing_zeros(), None, kind);
                }
                if self.observing
                    && let Some(instance) = self.instance(group, warp)
                {
                    self.observer.branch(&instance, &[yes, no]);
                }
                if self.observing_uses {
                    self.notify_use(group, warp, *condition, mask);
                    self.use_edge(group, warp, then, yes);
                    self.use_edge(group, warp, otherwise, no);
                }
                let frame = &mut warp.frames[depth];
                self.take(frame, plan, block, 0, then, yes);
                self.take(frame, plan, block, 1, otherwise, no);
                let groups = &mut [(then.block.0, yes), (otherwise.block.0, no)];
                self.diverge(&mut frame.stack, plan, block, groups);
            }
            Terminator::Switch {
                value,
                cases,
                default,
            } => {
                let mut taken: SmallVec<[u64; 8]> = SmallVec::from_elem(0, cases.len() + 1);
                let at = value.index() * width;
                for lane in lanes(mask) {
                    let selector = warp.frames[depth].values[at + lane as usize] as i64;
                    let edge = cases.iter().position(|&(case, _)| case == selector);
                    taken[edge.unwrap_or(cases.len())] |= 1 << lane;
                }
                if self.observing
                    && let Some(instance) = self.instance(group, warp)
                {
                    self.observer.branch(&instance, &taken);
                }
                if self.observing_uses {
                    self.notify_use(group, warp, *value, mask);
                    let edges = cases.iter().map(|(_, edge)| edge).chain([default]);
                    for (edge, &taken) in edges.zip(&taken) {
                        self.use_edge(group, warp, edge, taken);
                    }
                }
                let frame = &mut warp.frames[depth];
                let mut groups: SmallVec<[(u32, u64); 8]> = SmallVec::new();
                let edges = cases.iter().map(|(_, edge)| edge).chain([default]);
                for (number, edge) in edges.enumerate() {
                    self.take(frame, plan, block, number, edge, taken[number]);
                    match groups.iter_mut().find(|(to, _)| *to == edge.block.0) {
                        Some((_, group)) => *group |= taken[number],
                        None => groups.push((edge.block.0, taken[number])),
                    }
                }
                self.diverge(&mut frame.stack, plan, block, &mut groups);
            }
            Terminator::Return(values) => {
                if self.observing_uses {
                    for &value in values {
                        self.notify_use(group, warp, value, mask);
                    }
                }
                self.leave(warp, values, mask);
                for entry in &mut warp.frames[depth].stack {
                    entry.mask &= !mask;
                }
                if depth == 0 {
                    warp.live &= !mask;
                }
            }
            // The lanes that fail end; what the others still do is no longer seen by anybody.
            Terminator::Kill | Terminator::Trap => {
                warp.live &= !mask;
                for frame in &mut warp.frames {
                    for entry in &mut frame.stack {
                        entry.mask &= !mask;
                    }
                }
            }
            Terminator::Unreachable | Terminator::None => {
                let place = self.place(group.id, warp, mask.trailing_zeros(), None);
                return Err(Error::Unreachable {
                    place: Box::new(place),
                });
            }
        }
        Ok(())
    }

    /// Returns the lanes held at a join from which no barrier is reached: nothing but the stack keeps them
    /// from ending.
    pub(super) fn never_wait(&self, warp: &Warp, mask: u64) -> u64 {
        let [frame] = warp.frames.as_slice() else {
            return 0;
        };
        let plan = &self.plans[frame.function as usize];
        let held_at = |lane: u32| {
            let mut entries = frame.stack.iter().rev();
            entries.find(|entry| entry.mask >> lane & 1 == 1)
        };
        lanes(mask)
            .filter(|&lane| held_at(lane).is_some_and(|e| !plan.reaches_barrier[e.block as usize]))
            .fold(0, |never, lane| never | 1 << lane)
    }

    fn use_edge(&mut self, group: &Group<'_>, warp: &Warp, edge: &Edge, mask: u64) {
        if self.observing_uses {
            for &arg in &edge.args {
                self.notify_use(group, warp, arg, mask);
            }
        }
    }

    /// Gives a target's parameters their values for the lanes that take an edge, and counts iterations.
    pub(super) fn take(
        &mut self,
        frame: &mut Frame,
        plan: &FunctionPlan<'m>,
        from: Block,
        number: usize,
        edge: &Edge,
        mask: u64,
    ) {
        if mask == 0 {
            return;
        }
        let width = self.width;
        let params = &plan.function.blocks[edge.block].params;
        if let ([param], [arg]) = (params.as_slice(), edge.args.as_slice()) {
            let (to, at) = (param.index() * width, arg.index() * width);
            if mask == self.full {
                frame.values.copy_within(at..at + width, to);
            } else {
                for lane in lanes(mask) {
                    frame.values[to + lane as usize] = frame.values[at + lane as usize];
                }
            }
        } else if !params.is_empty() {
            // All arguments are read before any parameter is written.
            self.scratch.clear();
            for arg in &edge.args {
                let at = arg.index() * width;
                self.scratch
                    .extend_from_slice(&frame.values[at..at + width]);
            }
            for (param, row) in params.iter().zip(self.scratch.chunks_exact(width)) {
                let to = param.index() * width;
                if mask == self.full {
                    frame.values[to..to + width].copy_from_slice(row);
                } else {
                    for lane in lanes(mask) {
                        frame.values[to + lane as usize] = row[lane as usize];
                    }
                }
            }
        }
        let Some(edge) = plan.edges[from.index()].get(number) else {
            return;
        };
        for &cycle in &edge.reset {
            let at = cycle as usize * width;
            for lane in lanes(mask) {
                frame.counters[at + lane as usize] = 0;
            }
        }
        if let Some(cycle) = edge.count {
            let at = cycle as usize * width;
            for lane in lanes(mask) {
                let counter = &mut frame.counters[at + lane as usize];
                *counter = counter.wrapping_add(1);
            }
        }
    }

    /// Hands over the results of lanes that return.
    pub(super) fn leave(&mut self, warp: &mut Warp, values: &[Value], mask: u64) {
        let width = self.width;
        let depth = warp.frames.len() - 1;
        let Some((inst, _)) = warp.frames[depth].call else {
            for (number, value) in values.iter().enumerate() {
                let at = value.index() * width;
                let Some(column) = self.returned.get_mut(number) else {
                    break;
                };
                for lane in lanes(mask) {
                    let thread = (warp.first_thread + u64::from(lane)) as usize;
                    if let Some(cell) = column.get_mut(thread) {
                        *cell = warp.frames[depth].values[at + lane as usize];
                    }
                }
            }
            return;
        };
        let caller = self.plans[warp.frames[depth - 1].function as usize].function;
        for (value, result) in values.iter().zip(&caller.insts[inst].results) {
            let (at, to) = (value.index() * width, result.index() * width);
            for lane in lanes(mask) {
                warp.frames[depth - 1].values[to + lane as usize] =
                    warp.frames[depth].values[at + lane as usize];
            }
        }
    }

    // -------------------------------------------------------------------------------------------- frames

    /// Starts a call (or the kernel, with `call` none).
    pub(super) fn push_frame(
        &mut self,
        warp: &mut Warp,
        function: u32,
        mask: u64,
        call: Option<(Inst, u64)>,
        context: Vec<u64>,
    ) -> Result<(), Error> {
        let plan = &self.plans[function as usize];
        let width = self.width;
        let size = plan.function.values.len() * width;
        let values = match self.pool[function as usize].pop() {
            Some(mut values) => {
                values.fill(0);
                values
            }
            None => {
                self.charge(size as u64 * 8)?;
                vec![0; size]
            }
        };
        let mark = warp.local_window.mark();
        let locals = plan.place_local(&mut warp.local_window);
        if !locals.is_empty() {
            let stride = warp.local_window.bytes() as usize;
            if stride > warp.local_stride {
                self.charge(((stride - warp.local_stride) * width) as u64)?;
                let mut bytes = vec![0; stride * width];
                for lane in 0..width {
                    let (old, new) = (lane * warp.local_stride, lane * stride);
                    bytes[new..new + warp.local_stride]
                        .copy_from_slice(&warp.local[old..old + warp.local_stride]);
                }
                warp.local = bytes;
                warp.local_stride = stride;
            }
            for (&start, &(object, size, _)) in locals.iter().zip(&plan.local) {
                let initial = match object {
                    LocalObject::Symbol(symbol) => plan
                        .function
                        .symbols
                        .as_slice()
                        .get(symbol as usize)
                        .and_then(|data| data.initial.as_ref()),
                    LocalObject::Alloca => None,
                };
                for lane in lanes(mask) {
                    let at = lane as usize * warp.local_stride + start as usize;
                    let bytes = &mut warp.local[at..at + size as usize];
                    bytes.fill(0);
                    if let Some(initial) = initial {
                        let count = initial.len().min(bytes.len());
                        bytes[..count].copy_from_slice(&initial[..count]);
                    }
                }
            }
        }
        warp.frames.push(Frame {
            function,
            values,
            stack: vec![Entry {
                block: plan.function.entry().0,
                until: EXIT,
                mask,
            }],
            counters: vec![0; plan.cycle_count * width],
            context,
            cursor: None,
            locals,
            mark,
            call,
        });
        Ok(())
    }

    /// `Op::Call`.
    pub(super) fn call(
        &mut self,
        group: &Group<'_>,
        warp: &mut Warp,
        inst: Inst,
        callee: u32,
        args: &[Row],
        mask: u64,
    ) -> Result<Step, Error> {
        if mask == 0 {
            return Ok(Step::Next);
        }
        let limit = self.launch.limits.call_depth;
        if warp.frames.len() as u32 > limit || callee as usize >= self.plans.len() {
            let place = self.place(group.id, warp, mask.trailing_zeros(), Some(inst));
            return Err(Error::StackOverflow {
                place: Box::new(place),
                limit,
            });
        }
        let mut context = vec![0; self.width];
        if let Some(instance) = self.instance(group, warp) {
            for lane in lanes(mask) {
                context[lane as usize] = mix(instance.history(lane), u64::from(inst.0) + 1);
            }
        }
        self.push_frame(warp, callee, mask, Some((inst, mask)), context)?;
        let function = self.plans[callee as usize].function;
        if let Some(frame) = warp.frames.last_mut() {
            let params = &function.blocks[function.entry()].params;
            for (param, row) in params.iter().zip(args) {
                let at = param.index() * self.width;
                frame.values[at..at + self.width].copy_from_slice(&row[..self.width]);
            }
        }
        Ok(Step::Call)
    }

    pub(super) fn pop_frame(&mut self, group: &Group<'_>, warp: &mut Warp) {
        let Some(frame) = warp.frames.pop() else {
            return;
        };
        warp.local_window.release(frame.mark);
        if let Some((inst, mask)) = frame.call
            && self.observing
            && let Some(caller) = warp.frames.last()
        {
            let function = self.plans[caller.function as usize].function;
            let mask = mask & warp.live;
            if mask != 0 {
                for &result in &function.insts[inst].results {
                    self.notify(group, warp, result, mask);
                }
            }
        }
        self.recycle(frame);
    }

    pub(super) fn recycle(&mut self, frame: Frame) {
        self.pool[frame.function as usize].push(frame.values);
    }

    /// Divides the top entry of the stack among the groups of lanes that go different ways.
    fn diverge(
        &self,
        stack: &mut Vec<Entry>,
        plan: &FunctionPlan<'m>,
        block: Block,
        groups: &mut [(u32, u64)],
    ) {
        let Some(top) = stack.last().copied() else {
            return;
        };
        let mut first = None;
        let mut several = false;
        for &(to, mask) in groups.iter() {
            if mask != 0 {
                several |= first.is_some_and(|f| f != to);
                first = first.or(Some(to));
            }
        }
        let Some(first) = first else { return };
        let depth = stack.len() - 1;
        if !several {
            stack[depth].block = first;
            return;
        }
        let join = plan.post_dominator[block.index()];
        let until = if join == EXIT {
            stack.pop();
            top.until
        } else {
            if join == top.until {
                stack.pop();
            } else {
                stack[depth].block = join;
            }
            join
        };
        // The last one pushed runs first. Lanes that never wait go before those that may: they end or come to the join,
        // and are not in the way of a barrier.
        if !self.launch.reverse_groups {
            groups.reverse();
        }
        groups.sort_by_key(|&(to, _)| !plan.reaches_barrier[to as usize]);
        for &(to, mask) in groups.iter() {
            if mask != 0 && (join == EXIT || to != join) {
                stack.push(Entry {
                    block: to,
                    until,
                    mask,
                });
            }
        }
    }
}
