//! A body whose values fit a number of registers, by the allocators of Sampaio et al. (TOPLAS 2013, section 4): linear scan
//! that spills everywhere to local memory, and the same with the spill code rewritten by what is known of the values.
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
//! A slot in shared memory belongs to the warp: its address is that of the slots of this warp, which the start of the
//! kernel computes, and an offset. All lanes that write a value write it with the same number.
//!
//! Lanes of a warp need not run in step (Volta and later): one may be a whole iteration ahead of another. Only a value that
//! has *one definition, outside of every loop* lives in a slot of the warp: each lane then writes the slot before it reads it, once, and
//! what the others write is the same. Such a definition must be reached by all lanes at once, too, or the lanes of
//! two groups write what only each group agrees on: it stands in a block that every execution of the kernel passes through
//! before its lanes part. Other values of rows ii and iv go to local memory.
//!
//! Rows iii and iv are for integers; arithmetic is modulo the width of the register on both sides.

use super::moves::{Space, loaded, moved, stored};
use super::states::State;
use super::{Body, Function, Limits, Operation};
use crate::allocate::rounds::{self, Fitted, Homes};
use crate::mir::function::{FrameOffset, Operand};
use crate::mir::{Target, Virtual};
use crate::refusal::Refusal;
use isa::ptx::{Class, Mnemonic, Ptx, Register};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::fmt::Write;
use syntax::ptx::{PtxFunction, StatementKind, StorageSpace};

/// The allocator that decides where spilled values live.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allocator {
    /// Once a lane in local memory, all of them.
    Linear,
    /// Uniform values once a warp (the paper's DivRA).
    Divergence,
    /// By all four rows (the paper's AffRA).
    Affine,
}

/// The home of a spilled register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Home {
    Constant(i64),
    Known(i64, i64),
    /// Bytes behind the start of the warp's slots.
    Warp(u32),
    /// The same, of the part that is uniform: the factor of `Tid`.
    WarpBase(u32, i64),
    /// Bytes behind the start of the lane's slots.
    Lane(u32),
}

/// A register that lives elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spilled {
    pub name: SmolStr,
    pub home: Home,
    /// Places in the text that load and store it.
    pub loads: u32,
    pub stores: u32,
}

/// A body that fits.
#[derive(Clone, PartialEq, Debug)]
pub struct Made {
    /// The text of the whole function.
    pub text: String,
    pub spilled: Vec<Spilled>,
    /// Of a workgroup, and of a lane.
    pub shared_bytes: u32,
    pub local_bytes: u32,
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
    /// Bytes of shared memory that are left to slots.
    pub shared_bytes: u32,
}

const LANE_SLOTS: &str = "__lockstep_spill";
const WARP_SLOTS: &str = "__lockstep_slots";
/// The largest access to a slot of a warp.
const SLOTS_ALIGN: u32 = 8;

/// Mnemonics of what is put around a body, to be printed.
const MADE: &[&str] = &[
    "mov.b16",
    "mov.b32",
    "mov.b64",
    "mov.u32",
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
];

/// Writes a function so that its values fit the budget. `states` are those of its registers, `early` tells of a statement
/// whether all lanes of a warp execute it together, once.
///
/// # Errors
/// Where one instruction names more registers than the budget has, and where registers are parameters or results.
pub fn fit(
    tree: &PtxFunction,
    body: &Body,
    text: &str,
    allocator: Allocator,
    states: &[State],
    early: &dyn Fn(u32) -> bool,
    budget: &Budget,
) -> Result<Made, Refusal> {
    let mut declared = tree.parameters.iter().chain(&tree.returns);
    if declared.any(|one| one.space == StorageSpace::Register) {
        return Err(Refusal::NoForm {
            operation: "parameter".into(),
            ty: "register".into(),
            target: "PTX",
        });
    }
    let mut function = body.function.clone();
    let mut slots = Slots {
        allocator,
        states,
        once: once(body, early),
        budget,
        homes: BTreeMap::new(),
        lane_bytes: 0,
        warp_bytes: 0,
        base: None,
        thread: None,
        counts: FxHashMap::default(),
    };
    // A kernel alone knows its warps, and a shift numbers them.
    if !tree.entry || !budget.lanes.is_power_of_two() {
        slots.allocator = Allocator::Linear;
    }
    let own = function.registers.len();
    let mut kept = Vec::new();
    if slots.allocator != Allocator::Linear {
        let base = function.register(Class::Word);
        slots.base = Some(base);
        kept.push(base);
    }
    if slots.allocator == Allocator::Affine {
        let thread = function.register(Class::Word);
        slots.thread = Some(thread);
        kept.push(thread);
    }
    // Registers of the machine that live through the whole function.
    let prologue = slots.prologue(&mut function);
    for (at, operation) in prologue.iter().enumerate() {
        function.blocks[0].operations.insert(at, operation.clone());
    }
    let limits = Limits {
        words: budget.words,
        predicates: budget.predicates,
    };
    let files = Ptx::files(&function, &(), &limits);
    let fitted = rounds::fit(&mut function, &files, &kept, &mut slots)?;
    let spilled = fitted
        .spilled
        .iter()
        .filter(|one| (one.0 as usize) < own)
        .map(|one| {
            let (loads, stores) = slots.counts.get(one).copied().unwrap_or_default();
            Spilled {
                name: body.names[one.0 as usize].clone(),
                home: slots.homes[one],
                loads,
                stores,
            }
        })
        .collect();
    let made = Text {
        tree,
        body,
        text,
        fitted: &fitted,
        slots: &slots,
        prologue: prologue.len() as u32,
    };
    Ok(Made {
        text: made.print(),
        spilled,
        shared_bytes: slots.of_warp() * budget.warps,
        local_bytes: slots.lane_bytes,
    })
}

/// Registers that are written once, without a guard, where all lanes of the warp are together.
fn once(body: &Body, early: &dyn Fn(u32) -> bool) -> Vec<bool> {
    let mut writes = vec![0u32; body.function.registers.len()];
    let mut out = vec![true; writes.len()];
    for (block, statements) in body.function.blocks.iter().zip(&body.statements) {
        for (operation, &statement) in block.operations.iter().zip(statements) {
            for one in operation.writes() {
                let at = one.0 as usize;
                writes[at] += 1;
                out[at] &= writes[at] == 1 && operation.predicate.is_none() && early(statement);
            }
        }
    }
    out
}

/// The homes of spilled registers.
struct Slots<'a> {
    allocator: Allocator,
    states: &'a [State],
    once: Vec<bool>,
    budget: &'a Budget,
    homes: BTreeMap<Virtual, Home>,
    lane_bytes: u32,
    warp_bytes: u32,
    /// The address of the warp's slots, and `%tid.x`.
    base: Option<Virtual>,
    thread: Option<Virtual>,
    /// Loads and stores by register.
    counts: FxHashMap<Virtual, (u32, u32)>,
}

fn operation(
    name: &'static str,
    targets: Vec<Operand<Ptx>>,
    sources: Vec<Operand<Ptx>>,
) -> Operation {
    debug_assert!(MADE.contains(&name), "`{name}` is not printed");
    Operation::plain(Mnemonic::literal(name), targets, sources)
}

fn symbol(name: &'static str) -> Operand<Ptx> {
    Operand::Symbol(SmolStr::new_static(name))
}

impl Slots<'_> {
    fn home(&mut self, function: &Function, register: Virtual) -> Home {
        if let Some(&home) = self.homes.get(&register) {
            return home;
        }
        let class = function.class(register);
        let state = self.states.get(register.0 as usize).copied();
        let state = state.unwrap_or(State::Divergent);
        let integer = matches!(class, Class::Word | Class::Double);
        let affine = self.allocator == Allocator::Affine && integer;
        let small = |number: i64| i32::try_from(number).is_ok();
        let once = self.once.get(register.0 as usize) == Some(&true);
        let bytes = 4 * class.words().max(1);
        let offset = self.warp_bytes.next_multiple_of(bytes);
        let all = (offset + bytes).next_multiple_of(SLOTS_ALIGN);
        let fits = all.saturating_mul(self.budget.warps) <= self.budget.shared_bytes;
        let shared = once
            && fits
            && self.allocator != Allocator::Linear
            && matches!(class, Class::Half | Class::Word | Class::Double);
        let home = match state {
            State::Constant(c) if affine => Home::Constant(c),
            State::Known(c1, c2)
                if affine && small(c1) && (small(c2) || class == Class::Double) =>
            {
                Home::Known(c1, c2)
            }
            State::Constant(_) | State::Uniform if shared => Home::Warp(offset),
            State::Affine(c) if affine && shared && small(c) && c != i64::from(i32::MIN) => {
                Home::WarpBase(offset, c)
            }
            _ => Home::Lane(self.lane_bytes.next_multiple_of(bytes)),
        };
        match home {
            Home::Warp(_) | Home::WarpBase(..) => self.warp_bytes = offset + bytes,
            Home::Lane(offset) => self.lane_bytes = offset + bytes,
            Home::Constant(_) | Home::Known(..) => {}
        }
        self.homes.insert(register, home);
        home
    }

    /// Computes what slots of a warp need: the number of the warp in its workgroup times the bytes of its slots, which are
    /// known once all is spilled, behind the start of all slots.
    fn prologue(&self, function: &mut Function) -> Vec<Operation> {
        let mut out = Vec::new();
        let word = |name| vec![symbol(name)];
        if let Some(base) = self.base {
            let mut special = |name: &'static str| {
                let register = function.register(Class::Word);
                out.push(operation("mov.u32", vec![register.into()], word(name)));
                register
            };
            let (z, height) = (special("%tid.z"), special("%ntid.y"));
            let y = special("%tid.y");
            let mad = |to: Virtual, a: Virtual, b: Operand<Ptx>, c: Operand<Ptx>| {
                operation("mad.lo.s32", vec![to.into()], vec![a.into(), b, c])
            };
            out.push(mad(z, z, height.into(), y.into()));
            let mut special = |name: &'static str| {
                let register = function.register(Class::Word);
                out.push(operation("mov.u32", vec![register.into()], word(name)));
                register
            };
            let (width, x) = (special("%ntid.x"), special("%tid.x"));
            out.push(mad(z, z, width.into(), x.into()));
            let shift = i64::from(self.budget.lanes.max(1).ilog2());
            out.push(operation(
                "shr.u32",
                vec![z.into()],
                vec![z.into(), shift.into()],
            ));
            out.push(operation("mov.u32", vec![base.into()], word(WARP_SLOTS)));
            out.push(mad(base, z, symbol(BYTES), base.into()));
        }
        if let Some(thread) = self.thread {
            out.push(operation("mov.u32", vec![thread.into()], word("%tid.x")));
        }
        out
    }

    /// Bytes of the slots of one warp, so that those of the next one are aligned as well.
    const fn of_warp(&self) -> u32 {
        self.warp_bytes.next_multiple_of(SLOTS_ALIGN)
    }
    /// Whether a value is rebuilt from `%tid.x`.
    fn rebuilds(&self) -> bool {
        let rebuilt = |home: &Home| matches!(home, Home::Known(..) | Home::WarpBase(..));
        self.homes.values().any(rebuilt)
    }
    fn slot(&self, offset: u32) -> Vec<Operand<Ptx>> {
        let base = self
            .base
            .map(|base| Operand::Address(crate::mir::function::Name::Virtual(base)));
        base.into_iter()
            .chain([Operand::Number(i64::from(offset))])
            .collect()
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
        let Some(thread) = self.thread else {
            return Vec::new();
        };
        let factor = Operand::Number(c);
        if class == Class::Double {
            let part = function.register(Class::Double);
            return vec![
                operation(
                    "mul.wide.s32",
                    vec![part.into()],
                    vec![thread.into(), factor],
                ),
                operation("add.s64", vec![to.into()], vec![part.into(), from]),
            ];
        }
        vec![operation(
            "mad.lo.s32",
            vec![to.into()],
            vec![thread.into(), factor, from],
        )]
    }
}

/// Stands for the bytes of a warp's slots until they are known.
const BYTES: &str = "__lockstep_bytes";

impl Homes<Ptx> for Slots<'_> {
    fn load(&mut self, function: &mut Function, from: Virtual, to: Virtual) -> Vec<Operation> {
        let class = function.class(from);
        self.counts.entry(from).or_default().0 += 1;
        match self.home(function, from) {
            Home::Constant(c) => vec![operation(moved(class), vec![to.into()], vec![c.into()])],
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
        if !matches!(home, Home::Constant(_) | Home::Known(..)) {
            self.counts.entry(to).or_default().1 += 1;
        }
        match home {
            Home::Constant(_) | Home::Known(..) => Vec::new(),
            Home::Warp(offset) => {
                let mut sources = self.slot(offset);
                sources.push(from.into());
                vec![operation(stored(class, Space::Shared), Vec::new(), sources)]
            }
            Home::WarpBase(offset, c) => {
                let part = function.register(class);
                let rest = self.rebuilt(function, class, part, -c, from.into());
                let mut sources = self.slot(offset);
                sources.push(part.into());
                let store = operation(stored(class, Space::Shared), Vec::new(), sources);
                rest.into_iter().chain([store]).collect()
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

/// A function as text.
struct Text<'a> {
    tree: &'a PtxFunction,
    body: &'a Body,
    text: &'a str,
    fitted: &'a Fitted<Ptx>,
    slots: &'a Slots<'a>,
    /// Operations of the first block in front of its own.
    prologue: u32,
}

impl Text<'_> {
    fn name(&self, register: Virtual) -> String {
        self.fitted.registers[register.0 as usize].to_string()
    }

    fn line(&self, out: &mut String, operation: &Operation) {
        let name = MADE
            .iter()
            .find(|name| Mnemonic::parse(name) == Some(operation.mnemonic));
        let mut operands: Vec<String> = Vec::new();
        let mut base = None;
        for operand in operation.targets.iter().chain(&operation.sources) {
            let text = match operand {
                Operand::Register(_) | Operand::Address(_) => {
                    let register = operand.virtual_register();
                    let name = register.map_or_else(String::new, |one| self.name(one));
                    if matches!(operand, Operand::Address(_)) {
                        base = Some(name);
                        continue;
                    }
                    name
                }
                Operand::Number(number) => match base.take() {
                    Some(base) => format!("[{base}+{number}]"),
                    None => number.to_string(),
                },
                Operand::Symbol(name) if name == BYTES => self.slots.of_warp().to_string(),
                Operand::Symbol(name) => name.to_string(),
                Operand::Frame(FrameOffset::Spill(offset)) => format!("[{LANE_SLOTS}+{offset}]"),
                Operand::Frame(_) | Operand::Block(_) => String::new(),
            };
            operands.push(text);
        }
        let _ = write!(
            out,
            "{} {};\n\t",
            name.copied().unwrap_or_default(),
            operands.join(", ")
        );
    }

    /// By statement and register, the register that stands for it there.
    fn stand_ins(&self) -> FxHashMap<(u32, Virtual), Virtual> {
        let mut out = FxHashMap::default();
        for (number, rows) in self.fitted.around.iter().enumerate() {
            let skipped = if number == 0 { self.prologue } else { 0 };
            for row in rows {
                let Some(own) = row.operation.checked_sub(skipped) else {
                    continue;
                };
                let statement = self.body.statements[number][own as usize];
                let before = &self.body.function.blocks[number].operations[own as usize];
                let pairs = before.virtual_registers().zip(row.now.virtual_registers());
                out.extend(pairs.map(|(old, now)| ((statement, old), now)));
            }
        }
        out
    }

    fn print(&self) -> String {
        let mut edits: BTreeMap<u32, (u32, String)> = BTreeMap::new();
        // By place, what is put there: behind a statement, in front of the next.
        let mut insertions: BTreeMap<u32, String> = BTreeMap::new();
        let statements = self.tree.statements();
        let used = self.slots.warp_bytes > 0;
        for (number, rows) in self.fitted.around.iter().enumerate() {
            let skipped = if number == 0 { self.prologue } else { 0 };
            for row in rows {
                let Some(own) = row.operation.checked_sub(skipped) else {
                    continue;
                };
                let statement = self.body.statements[number][own as usize];
                let span = statements[statement as usize].span;
                for operation in &row.before {
                    self.line(insertions.entry(span.start).or_default(), operation);
                }
                if !row.after.is_empty() {
                    let at = insertions.entry(span.end).or_default();
                    at.push_str("\n\t");
                    for operation in &row.after {
                        self.line(at, operation);
                    }
                }
            }
        }
        let mut counts: BTreeMap<Class, u16> = BTreeMap::new();
        for register in self
            .fitted
            .registers
            .iter()
            .filter(|&&one| one != Ptx::NONE)
        {
            let count = counts.entry(register.class).or_default();
            *count = (*count).max(register.first + 1);
        }
        let stand_ins = self.stand_ins();
        for (number, (statement, places)) in (0..).zip(statements.iter().zip(&self.body.places)) {
            let declares = match &statement.kind {
                StatementKind::Declaration(one) => one.space == StorageSpace::Register,
                _ => false,
            };
            if declares {
                edits.insert(statement.span.start, (statement.span.end, String::new()));
            }
            for &(at, register) in places {
                let length = self.body.names[register.0 as usize].len() as u32;
                let now = stand_ins.get(&(number, register)).copied();
                edits.insert(at, (at + length, self.name(now.unwrap_or(register))));
            }
        }
        let mut head = String::new();
        for (class, count) in counts {
            let prefix = Register { class, first: 0 }.to_string();
            let prefix = prefix.trim_end_matches('0');
            let _ = write!(head, ".reg .{} {prefix}<{count}>;\n\t", class.type_name());
        }
        let bytes = self.slots.lane_bytes.next_multiple_of(16);
        if bytes > 0 {
            let _ = write!(head, ".local .align 16 .b8 {LANE_SLOTS}[{bytes}];\n\t");
        }
        if used {
            let all = self.slots.of_warp() * self.slots.budget.warps;
            let _ = write!(head, ".shared .align 16 .b8 {WARP_SLOTS}[{all}];\n\t");
        }
        for row in self.fitted.around[0].iter().take(self.prologue as usize) {
            // What the slots need, where there are any; `%tid.x` where a value is rebuilt of it.
            let is_thread = row.now.writes().next() == self.slots.thread;
            let wanted = if is_thread {
                self.slots.rebuilds()
            } else {
                used
            };
            if wanted {
                self.line(&mut head, &row.now);
            }
        }
        let mut out = String::with_capacity(2 * self.text.len());
        let mut at = 0usize;
        if let Some(first) = statements.first() {
            at = first.span.start as usize;
            out.push_str(&self.text[..at]);
            out.push_str(&head);
        }
        let mut places: Vec<u32> = edits.keys().chain(insertions.keys()).copied().collect();
        places.sort_unstable();
        places.dedup();
        for place in places {
            out.push_str(&self.text[at..place as usize]);
            at = place as usize;
            if let Some(text) = insertions.get(&place) {
                out.push_str(text);
            }
            if let Some((end, text)) = edits.get(&place) {
                out.push_str(text);
                at = *end as usize;
            }
        }
        out.push_str(&self.text[at..]);
        out
    }
}
