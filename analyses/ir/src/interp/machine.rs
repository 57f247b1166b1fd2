//! Warps, workgroups and the grid. A warp executes one block after the other with the reconvergence stack of
//! section 3.6 of the divergence-analysis notes: an entry is (block, block at which it ends, lanes); after a branch
//! that divides the lanes, the entry waits at the branch's immediate post-dominator while each group runs in an entry
//! of its own. A call pushes a frame with its own stack; lanes that return leave it, lanes that are killed leave all.
//!
//! Warps of a workgroup run in turn until they wait, end, or have used up their slice; workgroups run one after the
//! other, or in turn where the module has a grid barrier. Stops by the step budget at the latest; nothing recurses.

use super::error::{BarrierFault, Error, Event, EventKind, Fault, Place};
use super::launch::{Launch, Mode, contents, hash, mix, text};
use super::memory::{BufferState, Window, buffer_address};
use super::observe::{Instance, Observer, lanes};
use super::plan::{EXIT, FunctionPlan, LocalObject, SymbolSource};
use super::warp_ops::Row;
use crate::checkpoint::Checkpoint;
use crate::entity::{Block, Entity, Inst, Value};
use crate::function::{Edge, Function, Loc, SymbolKind, Terminator};
use crate::inst::Barrier;
use crate::types::Space;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use smol_str::SmolStr;

/// Instructions that a warp executes before another one has its turn.
const SLICE: u64 = 20_000;
/// Distinct events that are kept.
const MAX_EVENTS: usize = 256;

/// One entry of the reconvergence stack.
#[derive(Clone, Copy, Debug)]
struct Entry {
    block: u32,
    until: u32,
    mask: u64,
}

/// The block that is being executed.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    block: Block,
    next: usize,
    mask: u64,
    visit: u64,
}

#[derive(Debug)]
pub(super) struct Frame {
    pub(super) function: u32,
    /// Lane-wise values: value number times the warp size plus lane.
    pub(super) values: Vec<u64>,
    stack: Vec<Entry>,
    counters: Vec<u32>,
    /// By lane, what distinguishes the calls that led here.
    context: Vec<u64>,
    cursor: Option<Cursor>,
    /// Addresses of the private objects.
    pub(super) locals: Vec<u64>,
    mark: (usize, u64),
    /// The call instruction of the caller and its lanes.
    call: Option<(Inst, u64)>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Running,
    Waiting {
        inst: Inst,
        key: BarrierKey,
        mask: u64,
    },
    Done,
}

/// What has to be equal for two warps to wait together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BarrierKey {
    Name(u64),
    Grid,
}

#[derive(Debug)]
pub(super) struct Warp {
    pub(super) number: u32,
    /// The lanes that it started with.
    initial: u64,
    pub(super) live: u64,
    pub(super) frames: Vec<Frame>,
    pub(super) local: Vec<u8>,
    pub(super) local_stride: usize,
    pub(super) local_window: Window,
    /// Grid-wide number of lane 0.
    pub(super) first_thread: u64,
    pub(super) steps: u64,
    visits: u64,
    state: State,
}

#[derive(Debug, Default)]
struct BarrierState {
    key: Option<BarrierKey>,
    arrived: u32,
    /// Given by the program; otherwise all warps.
    expected: Option<u32>,
    all: bool,
    count: u64,
}

#[derive(Debug)]
pub(super) struct Workgroup {
    pub(super) id: [u32; 3],
    pub(super) index: u64,
    pub(super) shared: Vec<u8>,
    warps: Vec<Warp>,
    barriers: Vec<BarrierState>,
    round: u64,
}

/// What the rest of an instruction sees of its workgroup.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) id: [u32; 3],
    pub(super) index: u64,
    pub(super) shared: &'a mut [u8],
}

/// How an instruction ends.
pub(super) enum Step {
    Next,
    /// A frame was pushed.
    Call,
    Wait(Arrival),
}

/// A warp's arrival at a barrier.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) kind: Barrier,
    pub(super) name: u64,
    /// Lanes that the program says take part, if it does.
    pub(super) count: Option<u64>,
    /// Does not wait.
    pub(super) arrive: bool,
    /// Lanes whose predicate holds.
    pub(super) votes: u64,
    pub(super) inst: Inst,
    pub(super) mask: u64,
}

enum Stop {
    Done,
    Slice,
    Barrier(Arrival),
}

/// The state of a whole run.
pub(super) struct Machine<'m, 'r, O: Observer> {
    pub(super) plans: &'r [FunctionPlan<'m>],
    pub(super) launch: &'r Launch,
    pub(super) observer: &'r mut O,
    pub(super) observing: bool,
    pub(super) width: usize,
    pub(super) full: u64,
    pub(super) buffers: Vec<BufferState>,
    pub(super) shared_window: Window,
    shared_initial: Vec<(u64, Vec<u8>)>,
    pub(super) texels: FxHashMap<(u64, [i64; 4]), [u64; 4]>,
    pub(super) elements: FxHashMap<(u64, u64), u64>,
    pub(super) events: Vec<Event>,
    event_index: FxHashMap<(u32, u32, u8), usize>,
    pub(super) steps: u64,
    pub(super) lane_steps: u64,
    memory: u64,
    pool: Vec<Vec<Vec<u64>>>,
    pub(super) returned: Vec<Vec<u64>>,
    scratch: Vec<u64>,
    pub(super) arguments: Vec<u64>,
}

/// Places symbols in memory before the run.
pub(super) struct Layout<'r> {
    pub(super) launch: &'r Launch,
    pub(super) buffers: Vec<BufferState>,
    pub(super) names: Vec<(SmolStr, usize)>,
    pub(super) shared: Window,
    pub(super) shared_initial: Vec<(u64, Vec<u8>)>,
    shared_names: Vec<(SmolStr, u64)>,
    dynamic: Option<u64>,
}

impl<'r> Layout<'r> {
    pub(super) fn new(launch: &'r Launch) -> Self {
        Layout {
            launch,
            buffers: launch
                .buffers
                .iter()
                .map(|b| BufferState {
                    bytes: b.bytes.clone(),
                    writable: b.writable,
                })
                .collect(),
            names: launch.bindings.clone(),
            shared: Window::default(),
            shared_initial: Vec::new(),
            shared_names: Vec::new(),
            dynamic: None,
        }
    }
}

impl SymbolSource for Layout<'_> {
    fn address(&mut self, function: &Function, symbol: usize) -> u64 {
        let data = &function.symbols.as_slice()[symbol];
        let initial = data.initial.as_ref();
        match (data.kind, data.space) {
            (SymbolKind::Texture | SymbolKind::Sampler | SymbolKind::Other, _) => {
                handle(&data.name)
            }
            (SymbolKind::Memory, Space::Shared) => {
                let size = data.size.or(initial.map(|i| i.len() as u32));
                let Some(size) = size else {
                    let bytes = u64::from(self.launch.dynamic_shared);
                    let (window, align) = (&mut self.shared, data.align);
                    return *self
                        .dynamic
                        .get_or_insert_with(|| window.place(bytes, align));
                };
                let known = self
                    .shared_names
                    .iter()
                    .find(|(name, _)| *name == data.name);
                if let Some(&(_, address)) = known {
                    return address;
                }
                let address = self.shared.place(u64::from(size), data.align);
                self.shared_names.push((data.name.clone(), address));
                if let Some(bytes) = initial {
                    self.shared_initial.push((address, bytes.clone()));
                }
                address
            }
            (kind, space) => {
                let known = self.names.iter().find(|(name, _)| *name == data.name);
                if let Some(&(_, buffer)) = known
                    && buffer < self.buffers.len()
                {
                    return buffer_address(buffer, 0);
                }
                let size = data
                    .size
                    .or(initial.map(|i| i.len() as u32))
                    .unwrap_or(self.launch.default_bytes) as usize;
                let mut bytes = match kind {
                    SymbolKind::Buffer => {
                        contents(hash(&[self.launch.seed, text(&data.name)]), size)
                    }
                    _ => vec![0; size],
                };
                if let Some(initial) = initial {
                    let count = initial.len().min(bytes.len());
                    bytes[..count].copy_from_slice(&initial[..count]);
                }
                self.names.push((data.name.clone(), self.buffers.len()));
                self.buffers.push(BufferState {
                    bytes,
                    writable: !data.read_only && space != Space::Constant,
                });
                buffer_address(self.buffers.len() - 1, 0)
            }
        }
    }
}

/// The handle of a resource by name.
pub(super) fn handle(name: &str) -> u64 {
    1 << 48 | (text(name) & 0xffff_ffff) << 16
}

impl<'m, 'r, O: Observer> Machine<'m, 'r, O> {
    pub(super) fn new(
        plans: &'r [FunctionPlan<'m>],
        layout: Layout<'r>,
        observer: &'r mut O,
    ) -> Result<Self, Error> {
        let launch = layout.launch;
        let width = launch.warp_size as usize;
        let observing = observer.enabled();
        let mut machine = Machine {
            plans,
            launch,
            observer,
            observing,
            width,
            full: u64::MAX >> (64 - width),
            buffers: layout.buffers,
            shared_window: layout.shared,
            shared_initial: layout.shared_initial,
            texels: FxHashMap::default(),
            elements: FxHashMap::default(),
            events: Vec::new(),
            event_index: FxHashMap::default(),
            steps: 0,
            lane_steps: 0,
            memory: 0,
            pool: plans.iter().map(|_| Vec::new()).collect(),
            returned: Vec::new(),
            scratch: Vec::new(),
            arguments: Vec::new(),
        };
        let bytes = machine.buffers.iter().map(|b| b.bytes.len() as u64).sum();
        machine.charge(bytes)?;
        Ok(machine)
    }

    pub(super) fn charge(&mut self, bytes: u64) -> Result<(), Error> {
        self.memory += bytes;
        if self.memory > self.launch.limits.memory {
            return Err(Error::MemoryExhausted {
                needed: self.memory,
            });
        }
        Ok(())
    }

    // -------------------------------------------------------------------------------------------- the grid

    /// Runs all workgroups; `together` when the module has a grid barrier.
    pub(super) fn run_grid(
        &mut self,
        together: bool,
        checkpoint: &dyn Checkpoint,
    ) -> Result<(), Error> {
        let [gx, gy, gz] = self.launch.grid;
        let count = u64::from(gx) * u64::from(gy) * u64::from(gz);
        let id = |index: u64| {
            let (gx, gy) = (u64::from(gx), u64::from(gy));
            [
                (index % gx) as u32,
                (index / gx % gy) as u32,
                (index / gx / gy) as u32,
            ]
        };
        if !together {
            for index in 0..count {
                let mut group = self.new_workgroup(id(index), index)?;
                if !self.run_workgroup(&mut group, checkpoint)? {
                    return Err(self.stuck(&group));
                }
                self.retire(group);
            }
            return Ok(());
        }
        let mut groups = Vec::new();
        for index in 0..count {
            groups.push(self.new_workgroup(id(index), index)?);
        }
        loop {
            let mut waiting = Vec::new();
            for (number, group) in groups.iter_mut().enumerate() {
                if !self.run_workgroup(group, checkpoint)? {
                    waiting.push(number);
                }
            }
            let Some(&first) = waiting.first() else {
                return Ok(());
            };
            if waiting.len() < groups.len() && !self.launch.ended_lanes_arrive {
                return Err(self.stuck(&groups[first]));
            }
            for number in waiting {
                for warp in &mut groups[number].warps {
                    if matches!(warp.state, State::Waiting { .. }) {
                        warp.state = State::Running;
                    }
                }
                groups[number].barriers.clear();
            }
        }
    }

    fn new_workgroup(&mut self, id: [u32; 3], index: u64) -> Result<Workgroup, Error> {
        let [bx, by, bz] = self.launch.block;
        let lanes_of_block = u64::from(bx) * u64::from(by) * u64::from(bz);
        let shared_bytes = self.shared_window.bytes() as usize;
        let mut shared = vec![0; shared_bytes];
        for (at, bytes) in &self.shared_initial {
            let at = *at as usize;
            if let Some(place) = shared.get_mut(at..at + bytes.len()) {
                place.copy_from_slice(bytes);
            }
        }
        let width = self.width as u64;
        let mut warps = Vec::new();
        for number in 0..lanes_of_block.div_ceil(width) {
            let present = (lanes_of_block - number * width).min(width);
            let mask = u64::MAX >> (64 - present);
            let masks: SmallVec<[u64; 1]> = match self.launch.mode {
                Mode::Lockstep => SmallVec::from_slice(&[mask]),
                Mode::LanesApart => lanes(mask).map(|lane| 1 << lane).collect(),
            };
            for mask in masks {
                let mut warp = Warp {
                    number: number as u32,
                    initial: mask,
                    live: mask,
                    frames: Vec::new(),
                    local: Vec::new(),
                    local_stride: 0,
                    local_window: Window::default(),
                    first_thread: index * lanes_of_block + number * width,
                    steps: 0,
                    visits: 0,
                    state: State::Running,
                };
                self.push_frame(&mut warp, 0, mask, None, vec![0; self.width])?;
                let entry = self.plans[0].function.entry();
                let params = &self.plans[0].function.blocks[entry].params;
                for (&param, &bits) in params.iter().zip(&self.arguments) {
                    let at = param.index() * self.width;
                    warp.frames[0].values[at..at + self.width].fill(bits);
                }
                warps.push(warp);
            }
        }
        self.charge(shared_bytes as u64)?;
        Ok(Workgroup {
            id,
            index,
            shared,
            warps,
            barriers: Vec::new(),
            round: 0,
        })
    }

    fn retire(&mut self, group: Workgroup) {
        self.memory -= group.shared.len() as u64;
        for mut warp in group.warps {
            while let Some(frame) = warp.frames.pop() {
                self.recycle(frame);
            }
            self.memory -= warp.local.len() as u64;
        }
    }

    // -------------------------------------------------------------------------------------------- a workgroup

    /// Runs until every warp has ended (`true`) or all that have not wait at a grid barrier.
    fn run_workgroup(
        &mut self,
        group: &mut Workgroup,
        checkpoint: &dyn Checkpoint,
    ) -> Result<bool, Error> {
        let mut order: Vec<usize> = (0..group.warps.len()).collect();
        loop {
            group.round += 1;
            if self.launch.shuffle_warps {
                let key = hash(&[self.launch.seed, group.index, group.round]);
                order.sort_by_key(|&number| mix(key, number as u64));
            }
            let mut ran = false;
            for &number in &order {
                if group.warps[number].state != State::Running {
                    continue;
                }
                checkpoint.check()?;
                ran = true;
                let mut view = Group {
                    id: group.id,
                    index: group.index,
                    shared: &mut group.shared,
                };
                match self.run_warp(&mut view, &mut group.warps[number])? {
                    Stop::Slice => {}
                    Stop::Done => group.warps[number].state = State::Done,
                    Stop::Barrier(arrival) => self.arrive(group, number, arrival)?,
                }
                self.release(group);
            }
            if ran {
                continue;
            }
            let waits = |warp: &Warp| matches!(warp.state, State::Waiting { .. });
            if !group.warps.iter().any(waits) {
                return Ok(true);
            }
            let at_grid = |warp: &Warp| match warp.state {
                State::Waiting { key, .. } => key == BarrierKey::Grid,
                State::Done => self.launch.ended_lanes_arrive,
                State::Running => false,
            };
            if group.warps.iter().all(at_grid) {
                return Ok(false);
            }
            return Err(self.stuck(group));
        }
    }

    /// The report about warps that wait for ever.
    fn stuck(&self, group: &Workgroup) -> Error {
        let mut first = None;
        for warp in &group.warps {
            if let State::Waiting { inst, key, mask } = warp.state {
                first.get_or_insert((warp, inst, key, mask));
            }
        }
        let Some((warp, inst, key, mask)) = first else {
            return Error::Launch("no warp waits".into());
        };
        let mut others: Vec<u32> = group
            .warps
            .iter()
            .filter(|w| !matches!(w.state, State::Waiting { key: k, .. } if k == key))
            .map(|w| w.number)
            .collect();
        others.dedup();
        Error::Barrier {
            place: Box::new(self.place(group.id, warp, mask.trailing_zeros(), Some(inst))),
            fault: BarrierFault::OtherWarps { warps: others },
        }
    }

    fn arrive(
        &mut self,
        group: &mut Workgroup,
        number: usize,
        arrival: Arrival,
    ) -> Result<(), Error> {
        let warp = &mut group.warps[number];
        let fault = if warp.live & !arrival.mask != 0 {
            Some(BarrierFault::PartOfWarp {
                missing: warp.live & !arrival.mask,
            })
        } else if warp.initial & !warp.live != 0 && !self.launch.ended_lanes_arrive {
            Some(BarrierFault::EndedLanes {
                missing: warp.initial & !warp.live,
            })
        } else {
            None
        };
        if let Some(fault) = fault {
            let lane = arrival.mask.trailing_zeros();
            let place = Box::new(self.place(group.id, warp, lane, Some(arrival.inst)));
            return Err(Error::Barrier { place, fault });
        }
        let key = match arrival.kind {
            Barrier::Grid => BarrierKey::Grid,
            _ => BarrierKey::Name(arrival.name),
        };
        if !arrival.arrive {
            warp.state = State::Waiting {
                inst: arrival.inst,
                key,
                mask: arrival.mask,
            };
        }
        let unit = match self.launch.mode {
            Mode::Lockstep => self.width as u64,
            Mode::LanesApart => 1,
        };
        let position = group.barriers.iter().position(|b| b.key == Some(key));
        let position = position.unwrap_or_else(|| {
            group.barriers.push(BarrierState {
                key: Some(key),
                all: true,
                ..BarrierState::default()
            });
            group.barriers.len() - 1
        });
        let state = &mut group.barriers[position];
        state.arrived += 1;
        state.expected = arrival
            .count
            .map(|c| c.div_ceil(unit) as u32)
            .or(state.expected);
        state.all &= arrival.votes == arrival.mask;
        state.count += u64::from(arrival.votes.count_ones());
        Ok(())
    }

    /// Lets the warps go on whose barrier is complete.
    fn release(&mut self, group: &mut Workgroup) {
        let present = if self.launch.ended_lanes_arrive {
            let running = |w: &&Warp| w.state != State::Done;
            group.warps.iter().filter(running).count() as u32
        } else {
            group.warps.len() as u32
        };
        let mut barrier = 0;
        while barrier < group.barriers.len() {
            let state = &group.barriers[barrier];
            let complete = state.key != Some(BarrierKey::Grid)
                && state.arrived >= state.expected.unwrap_or(present).max(1);
            if !complete {
                barrier += 1;
                continue;
            }
            let state = group.barriers.swap_remove(barrier);
            for number in 0..group.warps.len() {
                let State::Waiting { inst, key, mask } = group.warps[number].state else {
                    continue;
                };
                if Some(key) != state.key {
                    continue;
                }
                group.warps[number].state = State::Running;
                self.deliver(group, number, inst, mask, &state);
            }
        }
    }

    /// The result of a reducing barrier.
    fn deliver(
        &mut self,
        group: &mut Workgroup,
        number: usize,
        inst: Inst,
        mask: u64,
        state: &BarrierState,
    ) {
        let warp = &mut group.warps[number];
        let Some(frame) = warp.frames.last_mut() else {
            return;
        };
        let function = self.plans[frame.function as usize].function;
        let data = &function.insts[inst];
        let bits = match data.op {
            crate::Op::Barrier(Barrier::WorkgroupAnd) => u64::from(state.all),
            crate::Op::Barrier(Barrier::WorkgroupOr) => u64::from(state.count != 0),
            _ => state.count,
        };
        for &result in &data.results {
            let bits = super::scalar::canonical(function.ty(result), bits);
            for lane in lanes(mask) {
                frame.values[result.index() * self.width + lane as usize] = bits;
            }
        }
        if self.observing {
            let view = Group {
                id: group.id,
                index: group.index,
                shared: &mut group.shared,
            };
            for &result in &data.results {
                self.notify(&view, &group.warps[number], result, mask);
            }
        }
    }

    // -------------------------------------------------------------------------------------------- a warp

    fn run_warp(&mut self, group: &mut Group<'_>, warp: &mut Warp) -> Result<Stop, Error> {
        let end_of_slice = self.steps + SLICE;
        loop {
            let Some(frame) = warp.frames.last_mut() else {
                return Ok(Stop::Done);
            };
            let cursor = match frame.cursor {
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
                    if self.steps > end_of_slice {
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

    /// Executes the rest of a block; gives a barrier at which the warp arrived.
    fn run_block(
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

    fn terminate(
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
                let frame = &mut warp.frames[depth];
                self.take(frame, plan, block, 0, then, yes);
                self.take(frame, plan, block, 1, otherwise, no);
                diverge(
                    &mut frame.stack,
                    plan.post_dominator[block.index()],
                    &[(then.block.0, yes), (otherwise.block.0, no)],
                    self.launch.reverse_groups,
                );
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
                diverge(
                    &mut frame.stack,
                    plan.post_dominator[block.index()],
                    &groups,
                    self.launch.reverse_groups,
                );
            }
            Terminator::Return(values) => {
                self.leave(warp, values, mask);
                for entry in &mut warp.frames[depth].stack {
                    entry.mask &= !mask;
                }
                if depth == 0 {
                    warp.live &= !mask;
                }
            }
            Terminator::Kill => {
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

    /// Gives a target's parameters their values for the lanes that take an edge, and counts iterations.
    fn take(
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
    fn leave(&mut self, warp: &mut Warp, values: &[Value], mask: u64) {
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
    fn push_frame(
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

    fn pop_frame(&mut self, group: &Group<'_>, warp: &mut Warp) {
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

    fn recycle(&mut self, frame: Frame) {
        self.pool[frame.function as usize].push(frame.values);
    }

    // -------------------------------------------------------------------------------------------- reports

    /// What the observer sees of the block that the warp executes.
    pub(super) fn instance<'a>(&self, group: &Group<'_>, warp: &'a Warp) -> Option<Instance<'a>>
    where
        'r: 'a,
    {
        let frame = warp.frames.last()?;
        let cursor = frame.cursor?;
        let plans: &'r [FunctionPlan<'m>] = self.plans;
        Some(Instance {
            function: frame.function,
            block: cursor.block,
            mask: cursor.mask & warp.live,
            live: warp.live,
            workgroup: group.id,
            workgroup_index: group.index,
            warp: warp.number,
            warp_size: self.width as u32,
            first_thread: warp.first_thread,
            depth: warp.frames.len() as u32 - 1,
            visit: cursor.visit,
            cycles: &plans[frame.function as usize].cycles[cursor.block.index()],
            counters: &frame.counters,
            context: &frame.context,
        })
    }

    pub(super) fn notify(&mut self, group: &Group<'_>, warp: &Warp, value: Value, mask: u64) {
        if let (Some(instance), Some(frame)) = (self.instance(group, warp), warp.frames.last()) {
            let at = value.index() * self.width;
            let row = &frame.values[at..at + self.width];
            self.observer.values(&instance, value, row, mask);
        }
    }

    pub(super) fn place(
        &self,
        workgroup: [u32; 3],
        warp: &Warp,
        lane: u32,
        inst: Option<Inst>,
    ) -> Place {
        let (index, block) = warp.frames.last().map_or((0, Block(0)), |frame| {
            (frame.function, frame.cursor.map_or(Block(0), |c| c.block))
        });
        let function = self.plans[index as usize].function;
        let loc = match inst {
            Some(inst) => function.insts[inst].loc,
            None => function.blocks.get(block).map_or(Loc::NONE, |b| b.loc),
        };
        let linear = u64::from(warp.number) * self.width as u64 + u64::from(lane);
        let [bx, by, _] = self.launch.block.map(u64::from);
        Place {
            function: function.name.clone(),
            function_index: index,
            workgroup,
            warp: warp.number,
            lane,
            thread: [
                (linear % bx) as u32,
                (linear / bx % by) as u32,
                (linear / bx / by) as u32,
            ],
            block,
            inst,
            loc,
        }
    }

    pub(super) fn event(
        &mut self,
        workgroup: [u32; 3],
        warp: &Warp,
        lane: u32,
        inst: Option<Inst>,
        kind: EventKind,
    ) {
        let tag = match kind {
            EventKind::InactiveLanesInMask { .. } => 0,
            EventKind::LaneOutsideOfItsMask { .. } => 1,
            EventKind::ReadOfInactiveLane { .. } => 2,
            EventKind::UniformBranchDiverges { .. } => 3,
            EventKind::CheckedOutOfBounds { .. } => 4,
            EventKind::StandIn { .. } => 5,
        };
        let place = self.place(workgroup, warp, lane, inst);
        let at = inst.map_or(place.block.0 | 1 << 31, |inst| inst.0);
        let key = (place.function_index, at, tag);
        if let Some(&index) = self.event_index.get(&key) {
            self.events[index].count += 1;
        } else if self.events.len() < MAX_EVENTS {
            self.event_index.insert(key, self.events.len());
            self.events.push(Event {
                kind,
                place,
                count: 1,
            });
        }
    }

    pub(super) fn access_error(
        &self,
        group: &Group<'_>,
        warp: &Warp,
        lane: u32,
        inst: Inst,
        access: (u64, u32, bool),
        fault: Fault,
    ) -> Error {
        let (address, size, write) = access;
        Error::Access {
            place: Box::new(self.place(group.id, warp, lane, Some(inst))),
            address,
            size,
            write,
            fault,
        }
    }
}

/// Divides the top entry of the stack among the groups of lanes that go different ways.
fn diverge(stack: &mut Vec<Entry>, join: u32, groups: &[(u32, u64)], reverse: bool) {
    let Some(top) = stack.last().copied() else {
        return;
    };
    let mut first = None;
    let mut several = false;
    for &(to, mask) in groups {
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
    for number in 0..groups.len() {
        // The last one pushed runs first.
        let (to, mask) = groups[if reverse {
            number
        } else {
            groups.len() - 1 - number
        }];
        if mask != 0 && (join == EXIT || to != join) {
            stack.push(Entry {
                block: to,
                until,
                mask,
            });
        }
    }
}
