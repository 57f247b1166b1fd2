//! Values parked in shared memory where most is live, so that the assembler, which allocates, has less to spill.
//!
//! ```text
//! mov.u32 %r1, ..;                     mov.u32 %r1, ..; st.volatile.shared.b32 [slot], %r1;
//! (forty other values)                 (forty other values)
//! add.s32 %r9, %r8, %r1;               ld.volatile.shared.b32 %k0, [slot]; add.s32 %r9, %r8, %k0;
//! ```
//!
//! One value a step, as [`super::crowd`] chooses it. Uniform values and uniform parts of affine ones take one
//! slot a warp, others a column of one word a thread where the size of the workgroup is known; values of a function that
//! kernels call have columns alone. Accesses are
//! volatile, or the assembler would keep the value in a register all the same. Only the assembler itself can
//! tell the result: a caller tries several numbers of steps.
//!
//! Parameters and constants are left alone: an instruction reads them where they lie.
//!
//! Source: rows ii and iv of Sampaio et al., *Divergence Analysis* (TOPLAS 2013), Figure 18, as a rewriting in front of an
//! allocator; the choice by cost and place is ours.

use super::crowd::{Crowd, Price};
use super::fit::{Budget, Home, Made};
use super::homes::{Policy, Sharing, Slots, sharing};
use super::invariant::{Invariant, invariants};
use super::listing::{self, Listing, accepts};
use super::states::{Arrival, State};
use super::{Body, Operation};
use crate::mir::Virtual;
use crate::predicate::loops::natural;
use crate::refusal::Refusal;
use isa::ptx::Class;
use rustc_hash::FxHashSet;
use smol_str::{SmolStr, format_smolstr};
use std::collections::BTreeMap;
use std::fmt::Write;
use syntax::ptx::{PtxFunction, StatementKind};

/// The array of the values that have columns, as it is declared in a function's text.
pub use super::homes::COLUMNS;

/// The size of the workgroup, where it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Workgroup {
    pub threads: u32,
    /// True if it has one dimension.
    pub flat: bool,
    /// The kernel does not say so itself: its text will, or a larger workgroup would write where it must not.
    pub assumed: Option<[u32; 3]>,
}

/// A kernel and the facts about it.
#[derive(Clone, Copy, Debug)]
pub struct Kernel<'a> {
    pub tree: &'a PtxFunction,
    pub body: &'a Body,
    /// The item's.
    pub text: &'a str,
    /// The states of its registers.
    pub states: &'a [State],
    pub budget: &'a Budget,
    pub workgroup: Option<Workgroup>,
}

/// A body some of whose values are parked.
#[derive(Clone, Debug)]
pub struct Parking<'a> {
    kernel: Kernel<'a>,
    crowd: Crowd<'a>,
}

/// A register of one word in a column takes shared memory of all threads: slots of warps are preferred by so much.
const COLUMN: f64 = 2.0;

/// The cost of each access to the slot that a value would get; none for values that are not parked.
fn price(home: Home, _: Class) -> Option<Price> {
    let access = match home {
        Home::Warp(_) => 1.0,
        Home::WarpBase(..) => 1.5,
        Home::Column(_) => COLUMN,
        Home::Constant(_)
        | Home::Known(..)
        | Home::Again(_)
        | Home::Reload
        | Home::RegisterLane(_)
        | Home::Lane(_) => {
            return None;
        }
    };
    Some(Price {
        load: access,
        store: access,
    })
}

impl<'a> Parking<'a> {
    /// Returns a state in which nothing is parked yet. `arrivals` are those of the statements; `limit` is the
    /// number of words that may be live, an estimate of the number that fits.
    ///
    /// # Errors
    /// Where registers are parameters or results, and where a function that is no kernel is called in workgroups of unknown size.
    pub fn new(
        kernel: Kernel<'a>,
        arrivals: &[Arrival],
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
        let sized = tree.entry || workgroup.is_some();
        if !sized || !budget.lanes.is_power_of_two() {
            return Err(Refusal::NoForm {
                operation: tree.name.text.clone(),
                ty: "a workgroup of unknown size".into(),
                target: "PTX",
            });
        }
        // The lanes of a warp need not call a function together.
        let policy = Policy {
            uniform: tree.entry,
            affine: tree.entry,
            columns: workgroup.map(|workgroup| workgroup.threads),
            flat: workgroup.is_some_and(|workgroup| workgroup.flat),
            ..Policy::default()
        };
        let invariants = invariants(tree, body);
        let mut sharing = sharing(body, arrivals, budget);
        // What the assembler allocates around barriers was not measured: no value is parked behind one.
        for own in &mut sharing {
            if *own == Sharing::Synchronised {
                *own = Sharing::Never;
            }
        }
        for (register, invariant) in &invariants {
            let at = register.0 as usize;
            let always = match (invariant, states.get(at)) {
                (Invariant::Warp { .. }, _) => true,
                (Invariant::Affine(own), Some(State::Affine(factor))) => own == factor,
                _ => false,
            };
            if always {
                sharing[at] = Sharing::Plain;
            }
        }
        let mut slots = Slots::new(policy, states, sharing, budget);
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
            // Parameters of a function that is called are values of each lane.
            if tree.entry && invariant == (Invariant::Warp { in_place: true }) {
                words[register.0 as usize] = 0;
                fixed.insert(register);
            }
        }
        for (register, state) in (0..).map(Virtual).zip(states) {
            if matches!(state, State::Constant(_) | State::Known(..)) {
                fixed.insert(register);
            }
        }
        let mut crowd = Crowd::new(function, slots, fixed, limit);
        crowd.words = words;
        Ok(Parking { kernel, crowd })
    }

    /// Values that are parked.
    #[must_use]
    pub fn count(&self) -> usize {
        self.crowd.away.len()
    }

    /// Parks one value more. False where there is none that would help.
    pub fn step(&mut self) -> bool {
        self.crowd.step(self.crowd.limit / 2, &price)
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

    /// Returns the directives by which the kernel now states its launch. An assembler heeds a limit of
    /// registers on its command line only for kernels without such directives.
    fn assumption(&self, [x, y, z]: [u32; 3]) -> String {
        let words = self.kernel.budget.words;
        let directives = &self.kernel.tree.directives;
        let limited = directives.iter().any(|own| own.name.text == "maxnreg");
        match limited {
            true => format!("\n.maxntid {x}, {y}, {z}\n"),
            false => format!("\n.maxntid {x}, {y}, {z}\n.maxnreg {words}\n"),
        }
    }

    /// The function with the values parked so far. The assembler must not unroll the loops of these labels.
    #[must_use]
    pub fn made(&self, rolled: &[u32]) -> Made {
        let mut function = self.crowd.function.clone();
        let used = |wanted: bool, register: Option<Virtual>| register.filter(|_| wanted);
        let mut slots = self.crowd.slots.clone();
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
            around: &self.crowd.around,
            slots: &slots,
            skipped: 0,
            prologue: &prologue,
            names,
            declarations,
            declares: true,
            notes: listing::rolled(rolled),
        };
        Made {
            text: listing.print(),
            spilled: slots.spilled(self.kernel.body, self.crowd.away.iter().copied()),
            shared_bytes: slots.shared_bytes(),
            local_bytes: 0,
        }
    }
}
