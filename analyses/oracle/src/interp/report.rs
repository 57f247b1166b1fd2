//! Reports of a run: instances for observers, places, events and errors.

use super::access::Attempt;
use super::error::{Error, Event, EventKind, Fault, Place};
use super::machine::{Group, Machine};
use super::observe::{Instance, Observer};
use super::plan::FunctionPlan;
use super::warp::Warp;
use ir::entity::{Block, Entity, Inst, Value};
use ir::function::Loc;

/// Distinct events that are kept.
const MAX_EVENTS: usize = 256;

impl<'m, 'r, O: Observer> Machine<'m, 'r, O> {
    /// Returns the observer's view of the block that the warp executes.
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

    pub(super) fn notify_use(&mut self, group: &Group<'_>, warp: &Warp, value: Value, mask: u64) {
        if mask != 0
            && let (Some(instance), Some(frame)) = (self.instance(group, warp), warp.frames.last())
        {
            let at = value.index() * self.width;
            let row = &frame.values[at..at + self.width];
            self.observer.uses(&instance, value, row, mask);
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
        access: Attempt,
        fault: Fault,
    ) -> Error {
        let Attempt {
            address,
            size,
            write,
            ..
        } = access;
        Error::Access {
            place: Box::new(self.place(group.id, warp, lane, Some(inst))),
            address,
            size,
            write,
            fault,
        }
    }
}
