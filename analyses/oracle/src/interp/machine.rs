//! Workgroups and the grid. Warps of a workgroup run in turn until they wait, end, or have used up their slice;
//! workgroups run one after the other, or in turn where the module has a grid barrier.
//!
//! A barrier is complete when all warps of the workgroup arrived, or as many as its count says. A warp arrives as a
//! whole: lanes on another path, lanes that have ended (unless the launch says that they count as arrived) and warps
//! that wait elsewhere for ever are errors. Stops by the step budget at the latest; nothing recurses.

use super::error::{BarrierFault, Error, Event};
use super::launch::{Launch, Mode, hash, mix};
use super::layout::Layout;
use super::memory::{BufferState, NarrowAddresses, Window};
use super::observe::{Observer, lanes};
use super::plan::FunctionPlan;
use super::warp::Warp;
use ir::checkpoint::Checkpoint;
use ir::entity::{Entity, Inst};
use ir::inst::Barrier;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum State {
    Running,
    Waiting {
        inst: Inst,
        key: BarrierKey,
        mask: u64,
    },
    Done,
}

/// The key that must be equal for two warps to wait together at a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BarrierKey {
    Name(u64),
    /// The number of the warp whose lanes wait.
    Warp(u32),
    Grid,
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

/// The part of its workgroup that an instruction sees.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) id: [u32; 3],
    pub(super) index: u64,
    pub(super) shared: &'a mut [u8],
}

/// The outcome of an instruction for its warp.
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

pub(super) enum Stop {
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
    pub(super) observing_uses: bool,
    pub(super) width: usize,
    pub(super) full: u64,
    pub(super) buffers: Vec<BufferState>,
    pub(super) narrow: NarrowAddresses,
    pub(super) shared_window: Window,
    pub(super) shared_initial: Vec<(u64, Vec<u8>)>,
    pub(super) texels: FxHashMap<(u64, [i64; 4]), [u64; 4]>,
    pub(super) elements: FxHashMap<(u64, u64), u64>,
    pub(super) events: Vec<Event>,
    pub(super) event_index: FxHashMap<(u32, u32, u8), usize>,
    pub(super) steps: u64,
    /// The number of steps at which the running warp's turn is over.
    pub(super) end_of_slice: u64,
    pub(super) lane_steps: u64,
    memory: u64,
    pub(super) pool: Vec<Vec<Vec<u64>>>,
    pub(super) returned: Vec<Vec<u64>>,
    /// The shared memory of workgroup 0 after the run.
    pub(super) shared_after: Vec<u8>,
    pub(super) scratch: Vec<u64>,
    pub(super) arguments: Vec<u64>,
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
        let observing_uses = observing && observer.wants_uses();
        let mut machine = Machine {
            plans,
            launch,
            observer,
            observing,
            observing_uses,
            width,
            full: u64::MAX >> (64 - width),
            buffers: layout.buffers,
            narrow: layout.narrow,
            shared_window: layout.shared,
            shared_initial: layout.shared_initial,
            texels: FxHashMap::default(),
            elements: FxHashMap::default(),
            events: Vec::new(),
            event_index: FxHashMap::default(),
            steps: 0,
            end_of_slice: 0,
            lane_steps: 0,
            memory: 0,
            pool: plans.iter().map(|_| Vec::new()).collect(),
            returned: Vec::new(),
            shared_after: Vec::new(),
            scratch: Vec::new(),
            arguments: Vec::new(),
        };
        machine.charge(layout.bytes)?;
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
            let chosen = &self.launch.workgroups;
            let all = if chosen.is_empty() { count } else { 0 };
            for index in (0..all).chain(chosen.iter().copied().filter(|&index| index < count)) {
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
                groups.into_iter().for_each(|group| self.retire(group));
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
        self.charge(self.shared_window.bytes())?;
        let mut shared = vec![0; self.shared_window.bytes() as usize];
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
                Mode::LanesApart | Mode::Interleaved => lanes(mask).map(|lane| 1 << lane).collect(),
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
        if group.index == 0 {
            self.shared_after = group.shared;
        }
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
            if self.launch.shuffle_warps || self.launch.mode == Mode::Interleaved {
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
        let mut missing = group.warps[number].live & !arrival.mask;
        if self.launch.ended_lanes_arrive {
            missing &= !self.never_wait(&group.warps[number], missing);
        }
        let warp = &mut group.warps[number];
        let fault = if missing != 0 {
            Some(BarrierFault::PartOfWarp { missing })
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
            Barrier::Warp => BarrierKey::Warp(warp.number),
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
            Mode::LanesApart | Mode::Interleaved => 1,
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
            let present = match state.key {
                Some(BarrierKey::Warp(number)) => {
                    let of_warp = |warp: &&Warp| warp.number == number && warp.state != State::Done;
                    group.warps.iter().filter(of_warp).count() as u32
                }
                _ => present,
            };
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
            ir::Op::Barrier(Barrier::WorkgroupAnd) => u64::from(state.all),
            ir::Op::Barrier(Barrier::WorkgroupOr) => u64::from(state.count != 0),
            _ => state.count,
        };
        for &result in &data.results {
            let bits = ir::numbers::canonical(function.ty(result), bits);
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
}
