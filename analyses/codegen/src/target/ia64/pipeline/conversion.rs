//! A checker of if-conversion that shares no code with it: whatever the conditions of a loop are, the stretch
//! of operations that it became has the effects of the blocks.
//!
//! ```text
//! cmp p, q = x, 0; (p) br b3        x = 0:  the blocks skip the store, take the exit, leave i = 1
//! b2: st y = x; b3: ...             (q) st y = x under q = 0; exit if s; i = 1: the same
//! ```
//!
//! Both are interpreted (`interpret`) on registers of random numbers, with the truth of each comparison as a
//! script says; scripts are tried in order, up to `PATHS`, then at random. An iteration begins with any
//! state, so that one that goes around is compared where it does; a loop that was turned is followed from its
//! entry to its end. The comparison covers the exit, the registers that may be read behind it or by the next
//! iteration, memory, and the addresses that were accessed. Stops: scripts are counted, and a path that comes
//! to the loop's start too often is given up.
//!
//! Does not look at groups or times, and tells nothing of a loop that holds an operation without a meaning here.
//!
//! Source: Necula, *Translation Validation for an Optimizing Compiler*, PLDI 2000; and see `interpret`.

use crate::predicate::loops::Region;
use crate::target::ia64::code::Body;
use crate::target::ia64::code::{Function, Name, Virtual};
use crate::target::ia64::interpret::live::Live;
use crate::target::ia64::interpret::{
    Code, Decisions, End, Next, Spaces, State, Style, Truth, mix, run, step,
};
use std::rc::Rc;

/// Scripts that are tried in order, and at random behind them.
const PATHS: u32 = 1 << 12;
const SAMPLES: u64 = 64;
/// Iterations of a loop that is followed from its entry on.
const ITERATIONS: u32 = 3;
/// The seed of the contents of registers and memory.
const SEED: u64 = 0x51ed_270b;

/// A difference between a loop and its stretch. `decisions`: the truth of the comparisons, in the order of the blocks.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Violation {
    /// `None`: the next iteration.
    #[error("control goes to {found:?} in the place of {expected:?} after {decisions:?}")]
    Exit {
        expected: Option<u32>,
        found: Option<u32>,
        decisions: Vec<bool>,
    },
    #[error("v{} has another value behind {decisions:?}", .register.0)]
    Register {
        register: Virtual,
        decisions: Vec<bool>,
    },
    #[error("memory holds other values behind {decisions:?}")]
    Memory { decisions: Vec<bool> },
    #[error("accesses memory that the loop does not behind {decisions:?}")]
    Access { decisions: Vec<bool> },
    #[error("operation {operation} has no meaning where it stands")]
    Operation { operation: u32 },
}

/// The reason why nothing is said of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unchecked {
    #[error("an operation of it is not interpreted")]
    Operation,
}

/// The extent of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Compared {
    /// Paths through the blocks that were compared with the stretch.
    pub paths: u32,
    /// The number of those that were given up before they left the loop.
    pub open: u32,
    /// True if all paths of an iteration were tried.
    pub all: bool,
}

/// Checks that `body` has the effects of the blocks of `region`.
///
/// # Errors
/// The first violation that is found.
pub fn check(
    function: &Function,
    region: &Region,
    body: &Body,
) -> Result<Result<Compared, Unchecked>, Violation> {
    let checker = Checker {
        code: Code::new(function),
        region,
        body,
        live: Live::of(function),
        spaces: Rc::new(Spaces::new(&[function], SEED)),
    };
    let mut compared = Compared::default();
    let mut script = Some(Vec::new());
    while let Some(now) = script {
        if compared.paths + compared.open >= PATHS {
            break;
        }
        let mut decisions = Decisions::new(now);
        match checker.path(&mut decisions, SEED, &mut compared)? {
            Ok(()) => script = decisions.next_script(),
            Err(why) => return Ok(Err(why)),
        }
        compared.all = script.is_none();
    }
    for sample in 0..SAMPLES {
        let bits = (0..64).map(|at| mix(sample, at) & 3 != 0);
        let mut decisions = Decisions::new(bits.collect());
        if let Err(why) = checker.path(&mut decisions, mix(SEED, sample), &mut compared)? {
            return Ok(Err(why));
        }
    }
    Ok(Ok(compared))
}

struct Checker<'a> {
    code: Code<'a>,
    region: &'a Region,
    body: &'a Body,
    live: Live,
    spaces: Rc<Spaces>,
}

impl Checker<'_> {
    /// Compares one path.
    fn path(
        &self,
        decisions: &mut Decisions,
        seed: u64,
        compared: &mut Compared,
    ) -> Result<Result<(), Unchecked>, Violation> {
        let (function, header) = (self.code.function, self.region.header);
        let turned = self.body.entry.is_some();
        let start = State::new(seed, Style::Wide, self.spaces.clone());
        let mut before = start.clone();
        before.truth = Truth::Decided(decisions.clone());
        let most = if turned { ITERATIONS } else { 1 };
        let mut visits = 0;
        let mut stops = |block: u32, _: &mut State| {
            visits += u32::from(block == header);
            !self.region.blocks.contains(&block) || visits >= most
        };
        let mut budget = 1 << 16;
        let end = run(&self.code, &mut before, header, &mut stops, &mut budget);
        if let Truth::Decided(met) = &before.truth {
            *decisions = met.clone();
        }
        let (decided, decisions) = (&decisions.met, decisions.clone());
        let expected = match end {
            End::At(block) if block != header => Some(block),
            End::At(_) if !turned => None,
            End::At(_) | End::Budget => {
                compared.open += 1;
                return Ok(Ok(()));
            }
            End::Returned | End::Unknown { .. } | End::Fault { .. } => {
                return Ok(Err(Unchecked::Operation));
            }
        };
        let mut after = start;
        let mut known = decisions;
        known.random = Some(seed);
        after.truth = Truth::Decided(known);
        let found = self.stretch(&mut after, if turned { most + 1 } else { 1 })?;
        let decisions = || decided.clone();
        if found != expected {
            let decisions = decisions();
            return Err(Violation::Exit {
                expected,
                found,
                decisions,
            });
        }
        let mut live = self.live.at(expected.unwrap_or(header));
        let differs = live.find(|&it| {
            let value = |state: &State| state.get(function, Name::Virtual(it));
            value(&before) != value(&after)
        });
        if let Some(register) = differs {
            let decisions = decisions();
            return Err(Violation::Register {
                register,
                decisions,
            });
        }
        let (old, new) = (&before.memory, &after.memory);
        if old.words != new.words || old.events != new.events {
            return Err(Violation::Memory {
                decisions: decisions(),
            });
        }
        if old.touched != new.touched {
            return Err(Violation::Access {
                decisions: decisions(),
            });
        }
        compared.paths += 1;
        Ok(Ok(()))
    }

    /// Executes the stretch, its entry first, and returns the block to which it leaves; `None`: it goes around.
    fn stretch(&self, state: &mut State, iterations: u32) -> Result<Option<u32>, Violation> {
        let function = self.code.function;
        let is_true = |state: &State, register: Virtual| {
            let value = state.get(function, Name::Virtual(register));
            value.bits & 1 != 0
        };
        let execute = |state: &mut State, operations: &[_], from: usize| {
            for (operation, at) in operations.iter().zip(from as u32..) {
                match step(function, state, operation) {
                    Ok(Next::On) => {}
                    _ => return Err(Violation::Operation { operation: at }),
                }
            }
            Ok(())
        };
        if let Some(entry) = &self.body.entry {
            execute(state, &entry.operations, 0)?;
            if is_true(state, entry.predicate) != entry.enters {
                return Ok(Some(entry.target));
            }
        }
        execute(state, &self.body.preload, 0)?;
        for _ in 0..iterations {
            let mut done = 0;
            for exit in &self.body.exits {
                let at = exit.at.max(done).min(self.body.operations.len());
                execute(state, &self.body.operations[done..at], done)?;
                done = at;
                if is_true(state, exit.predicate) {
                    return Ok(Some(exit.target));
                }
            }
            execute(state, &self.body.operations[done..], done)?;
        }
        Ok(None)
    }
}

#[cfg(test)]
#[path = "conversion_tests.rs"]
mod tests;
