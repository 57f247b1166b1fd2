//! The homes of values that find no register, and the code that loads and stores them.
//!
//! ```text
//! row    state     load of v                          store of v
//! i      (0, c)    v = c                              none
//! ii     (0, ⊥)    ld.shared v, [slot]                st.shared [slot], v
//! iii    (c1, c2)  v = c1*Tid + c2                    none
//! iv     (c, ⊥)    ld.shared u, [slot]; v = c*Tid+u   u = v - c*Tid; st.shared [slot], u
//! else             ld.local v, [slot]                 st.local [slot], v
//! ```
//!
//! A slot of a warp is shared by its lanes: its address is that of the slots of this warp, which the start of the kernel
//! computes, and an offset. Slots of a lane are local memory, or a column of shared memory: word `k` of a lane lies
//! `k * threads` words behind the lane's own address, so that the lanes of a warp access consecutive words.
//!
//! Lanes of a warp need not run in step (Volta and later): one may be a whole iteration ahead of another.
//! Two kinds of values live in a slot of the warp:
//!
//! - A value that has *one definition, outside of every loop*: each lane writes the slot before it reads it,
//!   once, and the others write the same value. All lanes that come to such a definition must come at once,
//!   too, or two groups write values on which only each group agrees: no branch at which lanes part leads to
//!   it on two ways.
//! - A value to whose definitions *all lanes come that have not ended*, equally often. A lane reads what it
//!   wrote until it writes again, and the barrier of the warp in front of each store (`bar.warp.sync`) keeps
//!   the others from writing earlier: those that wait have read. Lanes that go in step need no barrier.
//!
//! A uniform value also fits in one lane of a register that lives throughout: that lane takes it, and all lanes
//! read it there (`shfl.sync`). *Every* lane must come wherever it is stored or read, those that have ended
//! included, and each warp must have all its lanes. Such words take no memory, and no store waits.
//!
//! A value that no time changes may be written anywhere ([`super::invariant`]; only [`super::park`] makes use
//! of it). Slots of a lane have no such condition.
//!
//! Rows iii and iv are for integers; arithmetic is modulo the width of the register on both sides.
//!
//! Source: Sampaio et al., *Divergence Analysis* (TOPLAS 2013), section 4 and Figure 18.

use super::again::Copies;
use super::moves::{Space, loaded, moved, stored};
use super::states::{Arrival, State};
use super::{Body, Function, Operation};
use crate::allocate::rounds::Homes;
use crate::mir::Virtual;
use crate::mir::function::{FrameOffset, Name, Operand};
use isa::ptx::{Class, Mnemonic, Ptx};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The home of a spilled register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Home {
    Constant(i64),
    Known(i64, i64),
    /// Bytes behind the start of the warp's slots.
    Warp(u32),
    /// The same, of the part that is uniform: the factor of `Tid`.
    WarpBase(u32, i64),
    /// The lane of a register whose words are those of the warp.
    RegisterLane(u32),
    /// Bytes behind the start of the lane's slots in local memory.
    Lane(u32),
    /// The same, of those in shared memory.
    Column(u32),
    /// The value is computed again by this many instructions, which read nothing that must be live.
    Again(u32),
    /// One load from parameters or constant memory.
    Reload,
}

/// The homes that values may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Policy {
    /// Row ii: uniform values in slots of their warp.
    pub(super) uniform: bool,
    /// Rows i, iii and iv.
    pub(super) affine: bool,
    /// All others in shared memory, while there is some, for so many threads of a workgroup.
    pub(super) columns: Option<u32>,
    /// A workgroup is known to have one dimension.
    pub(super) flat: bool,
    /// Values are computed again where a few instructions do.
    pub(super) again: bool,
    /// Uniform values in the lanes of one register, rather than in slots of their warp.
    pub(super) register_lanes: bool,
}

/// A register that lives elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spilled {
    pub name: SmolStr,
    pub home: Home,
    /// The bytes of a lane.
    pub bytes: u32,
    /// Places in the text that load and store it.
    pub loads: u32,
    pub stores: u32,
}

/// The registers and memory that there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Words of 32 bits.
    pub words: u16,
    pub predicates: u16,
    /// Lanes of a warp, and warps that a workgroup has at most.
    pub lanes: u32,
    pub warps: u32,
    /// Each warp of a workgroup has all its lanes.
    pub whole_warps: bool,
    /// Bytes of shared memory that are left to slots.
    pub shared_bytes: u32,
    pub scheduling: Scheduling,
}

/// The manner in which the lanes of a warp are scheduled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheduling {
    /// Together, as on machines before sm_70: the paper's. Code for a later machine never is.
    InStep,
    /// One by one, and code can make them wait for each other: `bar.warp.sync`, from PTX 6.0 on.
    Waiting,
    /// One by one, without a barrier.
    Apart,
}

impl Budget {
    /// Returns whether no lane stores again before the others have read, by itself or behind a barrier. The mask of a barrier
    /// names 32 lanes.
    fn keeps_order(&self) -> bool {
        match self.scheduling {
            Scheduling::InStep => true,
            Scheduling::Waiting => self.lanes == 32,
            Scheduling::Apart => false,
        }
    }
    /// Returns whether lanes can read each other's registers where all of them come.
    pub(super) fn shares_registers(&self) -> bool {
        self.whole_warps && self.lanes == 32 && self.scheduling == Scheduling::Waiting
    }
}

pub(super) const LANE_SLOTS: &str = "__lockstep_spill";
pub(super) const WARP_SLOTS: &str = "__lockstep_slots";
pub const COLUMNS: &str = "__lockstep_columns";
/// The largest access to a slot of a warp.
const SLOTS_ALIGN: u32 = 8;

/// The mnemonics of operations put around a body, for printing.
pub(super) const MADE: &[&str] = &[
    "mov.b16",
    "mov.b32",
    "mov.b64",
    "mov.u32",
    "setp.eq.s32",
    SHUFFLE,
    "shl.b32",
    "add.s32",
    "mad.lo.s32",
    "mul.wide.s32",
    "add.s64",
    "sub.s64",
    "shr.u32",
    "setp.ne.s32",
    "selp.b32",
    "ld.local.b16",
    "ld.local.b32",
    "ld.local.b64",
    "ld.local.b128",
    "st.local.b16",
    "st.local.b32",
    "st.local.b64",
    "st.local.b128",
    "ld.volatile.shared.b16",
    "ld.volatile.shared.b32",
    "ld.volatile.shared.b64",
    "st.volatile.shared.b16",
    "st.volatile.shared.b32",
    "st.volatile.shared.b64",
    BARRIER,
];
/// The barrier of a warp, and the mask of all its lanes.
pub(super) const BARRIER: &str = "bar.warp.sync";
const ALL_LANES: &str = "0xffffffff";

/// A lane's word of a register, read by all lanes.
pub(super) const SHUFFLE: &str = "shfl.sync.idx.b32";
/// The operand of a shuffle that clamps the number of the lane to those of a warp.
const CLAMP: i64 = 31;

/// The mnemonics of the code put around a body, read once.
static MNEMONICS: LazyLock<FxHashMap<&'static str, Mnemonic>> = LazyLock::new(|| {
    let names = MADE.iter().copied();
    names.map(|name| (name, Mnemonic::literal(name))).collect()
});

/// The stores to a slot of the warp that a register may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Sharing {
    /// None: the lanes would overwrite each other's values.
    #[default]
    Never,
    /// Plain ones.
    Plain,
    /// Each behind a barrier of the warp, unless lanes go in step.
    Synchronised,
}

/// Returns for each register how a slot of the warp may be written. `arrivals` are those of the statements.
pub(super) fn sharing(body: &Body, arrivals: &[Arrival], budget: &Budget) -> Vec<Sharing> {
    let count = body.function.registers.len();
    let mut writes = vec![0u32; count];
    let mut met = vec![(true, true); count];
    for (block, statements) in body.function.blocks.iter().zip(&body.statements) {
        for (operation, &statement) in block.operations.iter().zip(statements) {
            let arrival = arrivals.get(statement as usize).copied();
            let arrival = arrival.filter(|_| operation.predicate.is_none());
            let arrival = arrival.unwrap_or_default();
            for register in operation.writes() {
                let at = register.0 as usize;
                writes[at] += 1;
                met[at].0 &= writes[at] == 1 && arrival.once;
                met[at].1 &= arrival.all;
            }
        }
    }
    let sharing = |(once, all): (bool, bool)| match (once, all && budget.keeps_order()) {
        (true, _) => Sharing::Plain,
        (false, true) => Sharing::Synchronised,
        (false, false) => Sharing::Never,
    };
    met.into_iter().map(sharing).collect()
}

/// Returns for each register whether all statements that name it are such ones to which every lane comes.
pub(super) fn met_by_every_lane(body: &Body, arrivals: &[Arrival]) -> Vec<bool> {
    let mut out = vec![true; body.function.registers.len()];
    for (block, statements) in body.function.blocks.iter().zip(&body.statements) {
        for (operation, &statement) in block.operations.iter().zip(statements) {
            let every = arrivals
                .get(statement as usize)
                .is_some_and(|own| own.every);
            for register in operation.virtual_registers() {
                out[register.0 as usize] &= every;
            }
            if operation.predicate.is_some() {
                for register in operation.writes() {
                    out[register.0 as usize] = false;
                }
            }
        }
    }
    out
}

/// The homes of spilled registers.
#[derive(Clone, Debug)]
pub(super) struct Slots<'a> {
    pub(super) policy: Policy,
    pub(super) states: &'a [State],
    pub(super) sharing: Vec<Sharing>,
    /// Registers that every lane of a warp comes to name; empty without words of a register.
    pub(super) met: Vec<bool>,
    pub(super) budget: &'a Budget,
    pub(super) homes: BTreeMap<Virtual, Home>,
    /// Bytes of a lane in local memory, of a warp, and of a lane in shared memory.
    pub(super) lane_bytes: u32,
    pub(super) warp_bytes: u32,
    pub(super) column_bytes: u32,
    /// Words of a warp in the lanes of a register, and that register.
    pub(super) used_lanes: u32,
    pub(super) pool: Option<Virtual>,
    /// The address of the warp's slots, `%tid.x`, and the address of the lane's first word in shared memory.
    pub(super) base: Option<Virtual>,
    pub(super) thread: Option<Virtual>,
    pub(super) column: Option<Virtual>,
    /// Loads and stores by register.
    pub(super) counts: FxHashMap<Virtual, (u32, u32)>,
    pub(super) copies: Copies,
}

fn operation(
    name: &'static str,
    targets: Vec<Operand<Ptx>>,
    sources: Vec<Operand<Ptx>>,
) -> Operation {
    debug_assert!(MADE.contains(&name), "`{name}` is not printed");
    let known = MNEMONICS.get(name).copied();
    let mnemonic = known.unwrap_or_else(|| Mnemonic::literal(name));
    Operation::plain(mnemonic, targets, sources)
}

fn symbol(name: &'static str) -> Operand<Ptx> {
    Operand::Symbol(SmolStr::new_static(name))
}

impl<'a> Slots<'a> {
    pub(super) fn new(
        policy: Policy,
        states: &'a [State],
        sharing: Vec<Sharing>,
        budget: &'a Budget,
    ) -> Slots<'a> {
        Slots {
            policy,
            states,
            sharing,
            met: Vec::new(),
            budget,
            homes: BTreeMap::new(),
            lane_bytes: 0,
            warp_bytes: 0,
            column_bytes: 0,
            used_lanes: 0,
            pool: None,
            base: None,
            thread: None,
            column: None,
            counts: FxHashMap::default(),
            copies: Copies::default(),
        }
    }

    /// The home that a register would get.
    pub(super) fn wanted(&self, function: &Function, register: Virtual) -> Home {
        if let Some(&home) = self.homes.get(&register) {
            return home;
        }
        let class = function.class(register);
        let state = self.states.get(register.0 as usize).copied();
        let state = state.unwrap_or(State::Divergent);
        let integer = matches!(class, Class::Word | Class::Double);
        let affine = self.policy.affine && integer;
        let small = |number: i64| i32::try_from(number).is_ok();
        let bytes = 4 * class.words().max(1);
        let offset = self.warp_bytes.next_multiple_of(bytes);
        let all = (offset + bytes).next_multiple_of(SLOTS_ALIGN);
        let used = self
            .column_bytes
            .saturating_mul(self.policy.columns.unwrap_or(0));
        let fits =
            all.saturating_mul(self.budget.warps).saturating_add(used) <= self.budget.shared_bytes;
        let shared = self.sharing(register) != Sharing::Never
            && fits
            && self.policy.uniform
            && matches!(class, Class::Half | Class::Word | Class::Double);
        let again = self.copies.of(register).filter(|_| self.policy.again);
        match state {
            State::Constant(c) if affine => Home::Constant(c),
            _ if again == Some((1, true)) => Home::Reload,
            State::Known(c1, c2)
                if affine
                    && small(c1)
                    && (small(c2) || class == Class::Double)
                    && again.is_none_or(|(count, _)| count > 2) =>
            {
                Home::Known(c1, c2)
            }
            _ if again.is_some() => Home::Again(again.map_or(0, |(count, _)| count)),
            State::Known(c1, c2)
                if affine && small(c1) && (small(c2) || class == Class::Double) =>
            {
                Home::Known(c1, c2)
            }
            State::Constant(_) | State::Uniform if self.has_register_lane(register, class) => {
                Home::RegisterLane(self.used_lanes)
            }
            State::Constant(_) | State::Uniform if shared => Home::Warp(offset),
            State::Affine(c) if affine && shared && small(c) && c != i64::from(i32::MIN) => {
                Home::WarpBase(offset, c)
            }
            _ if self.has_column(class) => Home::Column(self.column_bytes),
            _ => Home::Lane(self.lane_bytes.next_multiple_of(bytes)),
        }
    }

    fn sharing(&self, register: Virtual) -> Sharing {
        let known = self.sharing.get(register.0 as usize);
        known.copied().unwrap_or_default()
    }

    /// Returns whether a register has a word of the warp in a lane of another one.
    fn has_register_lane(&self, register: Virtual, class: Class) -> bool {
        let met = self.met.get(register.0 as usize).copied();
        let left = self.used_lanes < self.budget.lanes;
        self.policy.register_lanes && left && class == Class::Word && met.unwrap_or_default()
    }

    /// Returns whether a store to a register's slot of the warp stands behind a barrier.
    pub(super) fn waits(&self, register: Virtual) -> bool {
        self.budget.scheduling != Scheduling::InStep
            && self.sharing(register) == Sharing::Synchronised
    }

    /// A store to the warp's slot of a register, behind a barrier where it needs one.
    fn stored_for_all(
        &self,
        register: Virtual,
        class: Class,
        offset: u32,
        from: Virtual,
    ) -> Vec<Operation> {
        let mut sources = self.slot(offset);
        sources.push(from.into());
        let store = operation(stored(class, Space::Shared), Vec::new(), sources);
        let barrier = self
            .waits(register)
            .then(|| operation(BARRIER, Vec::new(), vec![symbol(ALL_LANES)]));
        barrier.into_iter().chain([store]).collect()
    }

    /// Returns whether shared memory has another slot for each lane.
    fn has_column(&self, class: Class) -> bool {
        let Some(threads) = self.policy.columns else {
            return false;
        };
        let bytes = 4 * class.words();
        let all = (self.column_bytes + bytes).saturating_mul(threads);
        let warps = self.of_warp().saturating_mul(self.budget.warps);
        matches!(class, Class::Word | Class::Double)
            && all.saturating_add(warps) <= self.budget.shared_bytes
    }

    fn home(&mut self, function: &Function, register: Virtual) -> Home {
        let home = self.wanted(function, register);
        if self.homes.insert(register, home).is_none() {
            let bytes = 4 * function.class(register).words().max(1);
            match home {
                Home::Warp(offset) | Home::WarpBase(offset, _) => self.warp_bytes = offset + bytes,
                Home::Lane(offset) => self.lane_bytes = offset + bytes,
                Home::Column(offset) => self.column_bytes = offset + bytes,
                Home::RegisterLane(lane) => self.used_lanes = lane + 1,
                Home::Constant(_) | Home::Known(..) | Home::Again(_) | Home::Reload => {}
            }
        }
        home
    }

    /// Values that live elsewhere, and the code for them.
    pub(super) fn spilled(&self, body: &Body, away: impl Iterator<Item = Virtual>) -> Vec<Spilled> {
        let spilled = away.map(|register| {
            let (loads, stores) = self.counts.get(&register).copied().unwrap_or_default();
            Spilled {
                name: body.names[register.0 as usize].clone(),
                home: self.homes[&register],
                bytes: 4 * body.function.class(register).words().max(1),
                loads,
                stores,
            }
        });
        spilled.collect()
    }

    /// Returns the bytes of a workgroup.
    pub(super) fn shared_bytes(&self) -> u32 {
        self.of_warp() * self.budget.warps + self.column_bytes * self.policy.columns.unwrap_or(0)
    }

    /// The number of a lane's thread in its workgroup.
    fn number(&self, function: &mut Function, out: &mut Vec<Operation>) -> Virtual {
        let special = |function: &mut Function, out: &mut Vec<Operation>, name| {
            let register = function.register(Class::Word);
            out.push(operation(
                "mov.u32",
                vec![register.into()],
                vec![symbol(name)],
            ));
            register
        };
        if self.policy.flat {
            return special(function, out, "%tid.x");
        }
        let z = special(function, out, "%tid.z");
        let height = special(function, out, "%ntid.y");
        let y = special(function, out, "%tid.y");
        out.push(mad(z, z, height.into(), y.into()));
        let width = special(function, out, "%ntid.x");
        let x = special(function, out, "%tid.x");
        out.push(mad(z, z, width.into(), x.into()));
        z
    }

    /// Computes the addresses that slots need, if there are any of their kind: the number of the warp in its
    /// workgroup times the bytes of its slots, which are known once all is spilled, behind the start of all
    /// slots; the address of a lane's first word.
    pub(super) fn prologue(&self, function: &mut Function) -> Vec<Operation> {
        let mut out = Vec::new();
        if let Some(base) = self.base {
            let z = self.number(function, &mut out);
            let shift = i64::from(self.budget.lanes.max(1).ilog2());
            let sources = vec![z.into(), shift.into()];
            out.push(operation("shr.u32", vec![z.into()], sources));
            out.push(operation(
                "mov.u32",
                vec![base.into()],
                vec![symbol(WARP_SLOTS)],
            ));
            out.push(mad(base, z, symbol(BYTES), base.into()));
        }
        if let Some(column) = self.column {
            let z = self.number(function, &mut out);
            let sources = vec![z.into(), 2.into()];
            out.push(operation("shl.b32", vec![z.into()], sources));
            out.push(operation(
                "mov.u32",
                vec![column.into()],
                vec![symbol(COLUMNS)],
            ));
            let sources = vec![column.into(), z.into()];
            out.push(operation("add.s32", vec![column.into()], sources));
        }
        if let Some(thread) = self.thread {
            let sources = vec![symbol("%tid.x")];
            out.push(operation("mov.u32", vec![thread.into()], sources));
        }
        if let Some(pool) = self.pool {
            out.push(operation("mov.b32", vec![pool.into()], vec![0.into()]));
        }
        out
    }

    /// One lane takes a word into its own part of the register of words.
    fn kept_in_lane(&self, function: &mut Function, lane: u32, from: Virtual) -> Vec<Operation> {
        let Some(pool) = self.pool else {
            return Vec::new();
        };
        let number = function.register(Class::Word);
        let is_own = function.register(Class::Predicate);
        let sources = vec![number.into(), i64::from(lane).into()];
        let mut own = operation("mov.b32", vec![pool.into()], vec![from.into()]);
        own.predicate = Some(is_own);
        vec![
            operation("mov.u32", vec![number.into()], vec![symbol("%laneid")]),
            operation("setp.eq.s32", vec![is_own.into()], sources),
            own,
        ]
    }

    /// Bytes of the slots of one warp, so that those of the next one are aligned as well.
    pub(super) const fn of_warp(&self) -> u32 {
        self.warp_bytes.next_multiple_of(SLOTS_ALIGN)
    }
    /// Returns whether a value is rebuilt from `%tid.x`.
    pub(super) fn rebuilds(&self) -> bool {
        let rebuilt = |home: &Home| matches!(home, Home::Known(..) | Home::WarpBase(..));
        self.homes.values().any(rebuilt)
    }
    fn slot(&self, offset: u32) -> Vec<Operand<Ptx>> {
        let base = self.base.map(|base| Operand::Address(Name::Virtual(base)));
        base.into_iter()
            .chain([Operand::Number(i64::from(offset))])
            .collect()
    }
    /// A word of the lane in shared memory, so many bytes behind its first one.
    fn word(&self, offset: u32) -> Vec<Operand<Ptx>> {
        let threads = self.policy.columns.unwrap_or(0);
        let base = self
            .column
            .map(|base| Operand::Address(Name::Virtual(base)));
        let number = Operand::Number(i64::from(offset) * i64::from(threads));
        base.into_iter().chain([number]).collect()
    }
    fn lane(offset: u32) -> Operand<Ptx> {
        Operand::Frame(FrameOffset::Spill(offset))
    }
    /// `to = c*Tid + from`, or minus.
    fn rebuilt(
        &self,
        function: &mut Function,
        class: Class,
        to: Virtual,
        c: i64,
        from: Operand<Ptx>,
    ) -> Vec<Operation> {
        let mut out = Vec::new();
        let thread = self.thread.unwrap_or_else(|| {
            let thread = function.register(Class::Word);
            let sources = vec![symbol("%tid.x")];
            out.push(operation("mov.u32", vec![thread.into()], sources));
            thread
        });
        let factor = Operand::Number(c);
        if class == Class::Double {
            let part = function.register(Class::Double);
            let sources = vec![thread.into(), factor];
            out.push(operation("mul.wide.s32", vec![part.into()], sources));
            let sources = vec![part.into(), from];
            out.push(operation("add.s64", vec![to.into()], sources));
            return out;
        }
        let sources = vec![thread.into(), factor, from];
        out.push(operation("mad.lo.s32", vec![to.into()], sources));
        out
    }
}

/// `to = a * b + c`
fn mad(to: Virtual, a: Virtual, b: Operand<Ptx>, c: Operand<Ptx>) -> Operation {
    operation("mad.lo.s32", vec![to.into()], vec![a.into(), b, c])
}

/// Stands for the bytes of a warp's slots until they are known.
pub(super) const BYTES: &str = "__lockstep_bytes";

impl Homes<Ptx> for Slots<'_> {
    fn load(&mut self, function: &mut Function, from: Virtual, to: Virtual) -> Vec<Operation> {
        let class = function.class(from);
        self.counts.entry(from).or_default().0 += 1;
        match self.home(function, from) {
            Home::Constant(c) => vec![operation(moved(class), vec![to.into()], vec![c.into()])],
            Home::Again(_) | Home::Reload => {
                let mut out = Vec::new();
                self.copies.make(function, from, to, &mut out);
                out
            }
            Home::Known(c1, c2) => self.rebuilt(function, class, to, c1, c2.into()),
            Home::Warp(offset) => {
                vec![operation(
                    loaded(class, Space::Shared),
                    vec![to.into()],
                    self.slot(offset),
                )]
            }
            Home::WarpBase(offset, c) => {
                let part = function.register(class);
                let load = operation(
                    loaded(class, Space::Shared),
                    vec![part.into()],
                    self.slot(offset),
                );
                let rest = self.rebuilt(function, class, to, c, part.into());
                [load].into_iter().chain(rest).collect()
            }
            Home::RegisterLane(lane) => {
                let pool = self.pool.map(Operand::from);
                let numbers = [i64::from(lane).into(), CLAMP.into(), symbol(ALL_LANES)];
                let sources = pool.into_iter().chain(numbers).collect();
                vec![operation(SHUFFLE, vec![to.into()], sources)]
            }
            Home::Column(offset) if class == Class::Double => {
                let parts = [0, 4].map(|more| {
                    let part = function.register(Class::Word);
                    let load = loaded(Class::Word, Space::Shared);
                    operation(load, vec![part.into()], self.word(offset + more))
                });
                let halves = parts.iter().flat_map(|part| part.targets.clone());
                let whole = operation("mov.b64", vec![to.into()], halves.collect());
                parts.into_iter().chain([whole]).collect()
            }
            Home::Column(offset) => {
                let load = loaded(class, Space::Shared);
                vec![operation(load, vec![to.into()], self.word(offset))]
            }
            Home::Lane(offset) if class == Class::Predicate => {
                let word = function.register(Class::Word);
                vec![
                    operation("ld.local.b32", vec![word.into()], vec![Slots::lane(offset)]),
                    operation("setp.ne.s32", vec![to.into()], vec![word.into(), 0.into()]),
                ]
            }
            Home::Lane(offset) => {
                vec![operation(
                    loaded(class, Space::Local),
                    vec![to.into()],
                    vec![Slots::lane(offset)],
                )]
            }
        }
    }

    fn store(&mut self, function: &mut Function, from: Virtual, to: Virtual) -> Vec<Operation> {
        let class = function.class(to);
        let home = self.home(function, to);
        let stores = !matches!(
            home,
            Home::Constant(_) | Home::Known(..) | Home::Again(_) | Home::Reload
        );
        if stores {
            self.counts.entry(to).or_default().1 += 1;
        }
        match home {
            Home::Constant(_) | Home::Known(..) | Home::Again(_) | Home::Reload => Vec::new(),
            Home::Warp(offset) => self.stored_for_all(to, class, offset, from),
            Home::WarpBase(offset, c) => {
                let part = function.register(class);
                let rest = self.rebuilt(function, class, part, -c, from.into());
                let store = self.stored_for_all(to, class, offset, part);
                rest.into_iter().chain(store).collect()
            }
            Home::RegisterLane(lane) => self.kept_in_lane(function, lane, from),
            Home::Column(offset) => {
                let mut out = Vec::new();
                let mut parts = vec![Operand::from(from)];
                if class == Class::Double {
                    parts = (0..2)
                        .map(|_| function.register(Class::Word).into())
                        .collect();
                    out.push(operation("mov.b64", parts.clone(), vec![from.into()]));
                }
                for (more, part) in (0u32..).step_by(4).zip(parts) {
                    let mut sources = self.word(offset + more);
                    sources.push(part);
                    let store = stored(Class::Word, Space::Shared);
                    out.push(operation(store, Vec::new(), sources));
                }
                out
            }
            Home::Lane(offset) if class == Class::Predicate => {
                let word = function.register(Class::Word);
                let sources = vec![1.into(), 0.into(), from.into()];
                vec![
                    operation("selp.b32", vec![word.into()], sources),
                    operation(
                        "st.local.b32",
                        Vec::new(),
                        vec![Slots::lane(offset), word.into()],
                    ),
                ]
            }
            Home::Lane(offset) => {
                let sources = vec![Slots::lane(offset), from.into()];
                vec![operation(stored(class, Space::Local), Vec::new(), sources)]
            }
        }
    }
}
