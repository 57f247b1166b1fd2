//! Values parked in shared memory where most is live, so that the assembler, which allocates, has less to spill.
//!
//! ```text
//! mov.u32 %r1, ..;                     mov.u32 %r1, ..; st.volatile.shared.b32 [slot], %r1;
//! (forty other values)                 (forty other values)
//! add.s32 %r9, %r8, %r1;               ld.volatile.shared.b32 %k0, [slot]; add.s32 %r9, %r8, %k0;
//! ```
//!
//! One value a step: at the place where most is live, the one that is live at most crowded places for each access to its slot
//! that executes (loops count tenfold a level). Uniform values and uniform parts of affine ones take one slot a warp, others
//! a column of one word a thread where the size of the workgroup is known. Accesses are volatile, or the assembler would
//! keep the value in a register all the same. What the assembler makes of it, it alone can tell: a caller tries
//! several numbers of steps.
//!
//! Parameters and constants are left alone: an instruction reads them where they lie.
//!
//! Source: rows ii and iv of Sampaio et al., *Divergence Analysis* (TOPLAS 2013), Figure 18, as a rewriting in front of an
//! allocator; the choice by cost and place is ours.

use super::fit::{Budget, Home, Made};
use super::homes::{Policy, Slots, once};
use super::invariant::{Invariant, invariants};
use super::listing::{Listing, accepts};
use super::states::State;
use super::{Body, Function, Operation};
use crate::allocate::rounds::{Around, unchanged};
use crate::allocate::split::{Cut, before_alone, cuts, split};
use crate::mir::Virtual;
use crate::mir::liveness::Liveness;
use crate::mir::pressure::peak;
use crate::predicate::loops::natural;
use crate::refusal::Refusal;
use ir::EntitySet;
use isa::ptx::{Class, Ptx};
use rustc_hash::FxHashSet;
use smol_str::{SmolStr, format_smolstr};
use std::collections::BTreeMap;
use std::fmt::Write;
use syntax::ptx::{PtxFunction, StatementKind};

/// The size of the workgroup, where it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Workgroup {
    pub threads: u32,
    /// It has one dimension.
    pub flat: bool,
    /// The kernel does not say so itself: its text will, or a larger workgroup would write where it must not.
    pub assumed: Option<[u32; 3]>,
}

/// A kernel and what is known of it.
#[derive(Clone, Copy, Debug)]
pub struct Kernel<'a> {
    pub tree: &'a PtxFunction,
    pub body: &'a Body,
    /// The item's.
    pub text: &'a str,
    /// Of its registers.
    pub states: &'a [State],
    pub budget: &'a Budget,
    pub workgroup: Option<Workgroup>,
}

/// A body some of whose values are parked.
#[derive(Clone, Debug)]
pub struct Parking<'a> {
    kernel: Kernel<'a>,
    slots: Slots<'a>,
    function: Function,
    around: Vec<Vec<Around<Ptx>>>,
    /// By block: executions of it for one of the kernel, estimated.
    weights: Vec<f64>,
    alone: Vec<Option<u32>>,
    /// By register of the body, the words that it takes; nothing for what instructions read where it lies.
    words: Vec<u32>,
    /// Values that stay, and those that are parked.
    fixed: FxHashSet<Virtual>,
    parked: Vec<Virtual>,
    /// Places at which nothing more can be parked.
    done: FxHashSet<(u32, u32)>,
    /// Words that may be live.
    limit: u32,
}

/// How much a level of loops counts, and levels at most.
const LEVEL: f64 = 10.0;
const LEVELS: i32 = 4;
/// A register of one word in a column takes shared memory of all threads: slots of warps are preferred by so much.
const COLUMN: f64 = 2.0;
/// A note for the assembler behind the label of a loop.
const ROLLED: &str = "\n\t.pragma \"nounroll\";";

impl<'a> Parking<'a> {
    /// Nothing parked yet. `early` tells of a statement whether all lanes of a warp execute it together, once; `limit` is the
    /// number of words that may be live, an estimate of what fits.
    ///
    /// # Errors
    /// Where registers are parameters or results, and where the function is no kernel.
    pub fn new(
        kernel: Kernel<'a>,
        early: &dyn Fn(u32) -> bool,
        limit: u32,
    ) -> Result<Parking<'a>, Refusal> {
        let Kernel {
            tree,
            body,
            states,
            budget,
            workgroup,
            ..
        } = kernel;
        accepts(tree)?;
        if !tree.entry || !budget.lanes.is_power_of_two() {
            return Err(Refusal::NoForm {
                operation: tree.name.text.clone(),
                ty: "no kernel".into(),
                target: "PTX",
            });
        }
        let policy = Policy {
            uniform: true,
            affine: true,
            columns: workgroup.map(|workgroup| workgroup.threads),
            flat: workgroup.is_some_and(|workgroup| workgroup.flat),
        };
        let invariants = invariants(tree, body);
        let mut shared = once(body, early);
        for (register, invariant) in &invariants {
            let at = register.0 as usize;
            shared[at] |= match (invariant, states.get(at)) {
                (Invariant::Warp { .. }, _) => true,
                (Invariant::Affine(own), Some(State::Affine(factor))) => own == factor,
                _ => false,
            };
        }
        let mut slots = Slots::new(policy, states, shared, budget);
        let mut function = body.function.clone();
        let own = function.registers.len();
        slots.base = Some(function.register(Class::Word));
        slots.thread = Some(function.register(Class::Word));
        slots.column = policy.columns.map(|_| function.register(Class::Word));
        let mut fixed: FxHashSet<Virtual> = (own..function.registers.len())
            .map(|number| Virtual(number as u32))
            .collect();
        let mut words: Vec<u32> = body
            .function
            .registers
            .iter()
            .map(|class| class.words())
            .collect();
        for (register, invariant) in invariants {
            if invariant == (Invariant::Warp { in_place: true }) {
                words[register.0 as usize] = 0;
                fixed.insert(register);
            }
        }
        for (register, state) in (0..).map(Virtual).zip(states) {
            if matches!(state, State::Constant(_) | State::Known(..)) {
                fixed.insert(register);
            }
        }
        let mut depths = vec![0i32; function.blocks.len()];
        for region in natural(&function) {
            for block in region.blocks {
                depths[block as usize] += 1;
            }
        }
        Ok(Parking {
            kernel,
            slots,
            around: unchanged(&function),
            weights: depths
                .iter()
                .map(|&depth| LEVEL.powi(depth.min(LEVELS)))
                .collect(),
            alone: before_alone(&function),
            function,
            words,
            fixed,
            parked: Vec::new(),
            done: FxHashSet::default(),
            limit,
        })
    }

    /// Values that are parked.
    #[must_use]
    pub fn count(&self) -> usize {
        self.parked.len()
    }

    /// Parks one value more. False where there is none that would help.
    pub fn step(&mut self) -> bool {
        loop {
            let live = Liveness::of(&self.function);
            let mut sums: Vec<Vec<u32>> = vec![Vec::new(); self.function.blocks.len()];
            let words = |register: Virtual| {
                let own = self.words.get(register.0 as usize).copied();
                own.unwrap_or_else(|| self.function.class(register).words())
            };
            let _ = peak(&self.function, &live, &words, &mut |block, _, sum| {
                sums[block as usize].push(sum);
            });
            let places = (0u32..).zip(&sums).flat_map(|(block, sums)| {
                let sums = (0u32..).zip(sums);
                sums.map(move |(at, &sum)| (sum, (block, at)))
            });
            let open = places.filter(|(_, place)| !self.done.contains(place));
            let most = open.max_by_key(|&(sum, place)| (sum, std::cmp::Reverse(place)));
            let Some((sum, place)) = most.filter(|&(sum, _)| 2 * sum > self.limit) else {
                return false;
            };
            let limit = self.limit.min(sum.saturating_sub(1));
            if let Some((register, cuts)) = self.choose(&live, &sums, place, limit) {
                let before = self.function.registers.len() as u32;
                let Parking {
                    function,
                    around,
                    slots,
                    ..
                } = self;
                split(function, register, &cuts, around, slots);
                let new = before..self.function.registers.len() as u32;
                self.fixed.extend(new.map(Virtual));
                self.fixed.insert(register);
                self.parked.push(register);
                // Operations have other numbers now.
                self.done.clear();
                return true;
            }
            self.done.insert(place);
        }
    }

    /// The value that is best parked for a place, and where its live range is cut.
    fn choose(
        &self,
        live: &Liveness,
        sums: &[Vec<u32>],
        (block, at): (u32, u32),
        limit: u32,
    ) -> Option<(Virtual, Vec<Cut>)> {
        let before = live.inside(&self.function, block, at as usize);
        let behind = live.inside(&self.function, block, at as usize + 1);
        let operation = &self.function.blocks[block as usize].operations[at as usize];
        let named: FxHashSet<Virtual> = operation.virtual_registers().collect();
        let is_candidate = |register: &Virtual| {
            let class = self.function.class(*register);
            let moves = matches!(class, Class::Half | Class::Word | Class::Double);
            moves
                && behind.contains(register)
                && !named.contains(register)
                && !self.fixed.contains(register)
                && !matches!(
                    self.slots.wanted(&self.function, *register),
                    Home::Lane(_) | Home::Constant(_) | Home::Known(..)
                )
        };
        let candidates: Vec<Virtual> = before.iter().filter(is_candidate).collect();
        let crowded = self.crowded(live, sums, limit, &candidates);
        let held = |block: u32, at: usize| {
            sums[block as usize]
                .get(at)
                .is_some_and(|&sum| sum <= limit)
        };
        let mut best: Option<(f64, Virtual, Vec<Cut>)> = None;
        for (register, places) in candidates.into_iter().zip(crowded) {
            let cuts = cuts(&self.function, register, &self.alone, &held);
            let executed: f64 = cuts
                .iter()
                .map(|cut| {
                    let count = f64::from(u8::from(cut.load) + u8::from(cut.store));
                    count * self.weights[cut.block as usize]
                })
                .sum();
            let more = match self.slots.wanted(&self.function, register) {
                Home::Column(_) => COLUMN,
                Home::WarpBase(..) => 1.5,
                _ => 1.0,
            };
            let words = self.function.class(register).words();
            let gain = f64::from(words * places) / (executed * more).max(1.0);
            if best.as_ref().is_none_or(|best| gain > best.0) {
                best = Some((gain, register, cuts));
            }
        }
        best.map(|(_, register, cuts)| (register, cuts))
    }

    /// By candidate, operations with more live words than the limit at which it is live.
    fn crowded(
        &self,
        live: &Liveness,
        sums: &[Vec<u32>],
        limit: u32,
        candidates: &[Virtual],
    ) -> Vec<u32> {
        let mut out = vec![0; candidates.len()];
        let mut count = |set: &EntitySet<Virtual>, operations: u32| {
            for (register, out) in candidates.iter().zip(&mut out) {
                *out += if set.contains(register) {
                    operations
                } else {
                    0
                };
            }
        };
        for (number, sums) in (0u32..).zip(sums) {
            let crowded = sums.iter().filter(|&&sum| sum > limit).count() as u32;
            if crowded == 0 {
                continue;
            }
            // Live at both ends of a block: throughout, as good as always.
            count(live.at_start(number), crowded.div_ceil(2));
            count(live.at_end(number), crowded.div_ceil(2));
        }
        out
    }

    /// The loops of the body that the assembler may unroll: of each, the statement of its label.
    #[must_use]
    pub fn loops(&self) -> Vec<u32> {
        let statements = self.kernel.tree.statements();
        let mut out: Vec<u32> = natural(&self.kernel.body.function)
            .iter()
            .filter_map(|region| {
                let first = *self.kernel.body.statements[region.header as usize].first()?;
                let front = statements[..first as usize].iter().enumerate().rev();
                let mut own = front.take_while(|(_, statement)| {
                    !matches!(statement.kind, StatementKind::Instruction(_))
                });
                let label =
                    own.find(|(_, statement)| matches!(statement.kind, StatementKind::Label(_)))?;
                let end = statements[first as usize].span.start as usize;
                let between = self.kernel.text.get(label.1.span.end as usize..end)?;
                (!between.contains("unroll")).then_some(label.0 as u32)
            })
            .collect();
        out.sort_unstable();
        out.dedup();
        out
    }

    /// What the kernel now says of itself. An assembler heeds a limit of registers on its command line only for kernels that say
    /// nothing of their launch.
    fn assumption(&self, [x, y, z]: [u32; 3]) -> String {
        let words = self.kernel.budget.words;
        let directives = &self.kernel.tree.directives;
        let limited = directives.iter().any(|own| own.name.text == "maxnreg");
        match limited {
            true => format!("\n.maxntid {x}, {y}, {z}\n"),
            false => format!("\n.maxntid {x}, {y}, {z}\n.maxnreg {words}\n"),
        }
    }

    /// The function with what is parked so far. The assembler is told not to unroll the loops of these labels.
    #[must_use]
    pub fn made(&self, rolled: &[u32]) -> Made {
        let mut function = self.function.clone();
        let used = |wanted: bool, register: Option<Virtual>| register.filter(|_| wanted);
        let mut slots = self.slots.clone();
        slots.base = used(slots.warp_bytes > 0, slots.base);
        slots.thread = used(slots.rebuilds(), slots.thread);
        slots.column = used(slots.column_bytes > 0, slots.column);
        let prologue: Vec<Operation> = slots.prologue(&mut function);
        let own = self.kernel.body.names.len();
        let mut prefix = String::from("%k");
        while self.kernel.text.contains(&prefix) {
            prefix.push('k');
        }
        let mut names: Vec<SmolStr> = self.kernel.body.names.clone();
        let mut counts: BTreeMap<Class, u32> = BTreeMap::new();
        for &class in &function.registers[own..] {
            let count = counts.entry(class).or_default();
            names.push(format_smolstr!("{prefix}{}_{count}", class.type_name()));
            *count += 1;
        }
        let mut declarations = String::new();
        if !prologue.is_empty() {
            for (class, count) in counts {
                let ty = class.type_name();
                let _ = write!(declarations, ".reg .{ty} {prefix}{ty}_<{count}>;\n\t");
            }
        }
        let assumed = self
            .kernel
            .workgroup
            .and_then(|workgroup| workgroup.assumed);
        let listing = Listing {
            directive: assumed
                .filter(|_| slots.column_bytes > 0)
                .map(|sizes| self.assumption(sizes)),
            tree: self.kernel.tree,
            body: self.kernel.body,
            text: self.kernel.text,
            around: &self.around,
            slots: &slots,
            skipped: 0,
            prologue: &prologue,
            names,
            declarations,
            declares: true,
            notes: rolled.iter().map(|&label| (label, ROLLED)).collect(),
        };
        Made {
            text: listing.print(),
            spilled: slots.spilled(self.kernel.body, self.parked.iter().copied()),
            shared_bytes: slots.shared_bytes(),
            local_bytes: 0,
        }
    }
}
