//! The cost of a program on each of its paths after a statement has sunk: exact counts, by walking them.
//!
//! A copy's predicate is true where the walk has come over the statement and over no copy since.

use super::{Problem, Sinking};

/// The prices of executions, in cycles or issue slots.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Prices {
    /// `T[s]`: the statement.
    pub statement: f64,
    /// `T[p?s]`: a copy whose predicate is false.
    pub suppressed: f64,
    /// `T[p]`: a definition of the predicate.
    pub predicate: f64,
}

/// Executions on one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathCost {
    /// The executions of the statement as it stood.
    pub before: u32,
    /// The executions of its copies.
    pub executed: u32,
    /// The executions of copies whose predicate was false.
    pub suppressed: u32,
    /// Definitions of the predicate that are met.
    pub predicates: u32,
}

/// Executions over all paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Walked {
    pub before: u64,
    pub executed: u64,
    pub suppressed: u64,
    pub predicates: u64,
}

impl Walked {
    /// Executions of the statement that are gone; copies in other places may execute it more often than before.
    #[must_use]
    pub fn removed(&self) -> i64 {
        self.before as i64 - self.executed as i64
    }

    /// Returns the gain over the program as it stood.
    #[must_use]
    pub fn net(&self, prices: Prices) -> f64 {
        self.removed() as f64 * prices.statement
            - self.suppressed as f64 * prices.suppressed
            - self.predicates as f64 * prices.predicate
    }
}

/// The executions on one path. A predicate is defined at each statement and in front of each enabled join that a way without
/// it enters, where some copy needs one.
#[cfg(test)]
pub(super) fn path_cost(problem: &Problem, sinking: &Sinking, path: &[usize]) -> PathCost {
    cost_on(problem, sinking, path, is_guarded(sinking))
}

/// Some copy needs a predicate.
fn is_guarded(sinking: &Sinking) -> bool {
    let guards = |kept: &[bool], certain: &[bool]| {
        let mut both = kept.iter().zip(certain);
        both.any(|(&kept, &certain)| kept && !certain)
    };
    guards(&sinking.kept.entry, &sinking.certain.entry)
        || guards(&sinking.kept.exit, &sinking.certain.exit)
}

fn cost_on(problem: &Problem, sinking: &Sinking, path: &[usize], guarded: bool) -> PathCost {
    let mut out = PathCost::default();
    let mut pending = false;
    let mut meet = |pending: &mut bool, inserted: bool, kept: bool, certain: bool| {
        if inserted {
            if kept {
                debug_assert!(
                    *pending || !certain,
                    "a copy without a predicate has a statement"
                );
                out.executed += u32::from(*pending);
                out.suppressed += u32::from(!*pending && !certain);
            }
            *pending = false;
        }
    };
    let mut before = 0;
    let mut predicates = 0;
    let mut last: Option<usize> = None;
    for &node in path {
        let enters =
            last.is_some_and(|from| sinking.delayed.entry[node] && !sinking.delayed.exit[from]);
        predicates += u32::from(guarded && enters);
        meet(
            &mut pending,
            sinking.inserted.entry[node],
            sinking.kept.entry[node],
            sinking.certain.entry[node],
        );
        if problem.kinds[node].is_statement {
            before += 1;
            pending = true;
            predicates += u32::from(guarded);
        }
        meet(
            &mut pending,
            sinking.inserted.exit[node],
            sinking.kept.exit[node],
            sinking.certain.exit[node],
        );
        last = Some(node);
    }
    out.before = before;
    out.predicates = predicates;
    out
}

/// The executions over all paths of a problem.
#[must_use]
pub fn walk(problem: &Problem, sinking: &Sinking) -> Walked {
    let all = problem.paths.iter().zip(problem.counts.iter().copied());
    over(
        problem,
        sinking,
        all.map(|(path, count)| (path.as_slice(), count)),
    )
}

/// The same over some paths.
pub(super) fn walk_paths(
    problem: &Problem,
    sinking: &Sinking,
    paths: &[(Vec<usize>, u64)],
) -> Walked {
    let all = paths.iter().map(|(path, count)| (path.as_slice(), *count));
    over(problem, sinking, all)
}

fn over<'p>(
    problem: &Problem,
    sinking: &Sinking,
    paths: impl Iterator<Item = (&'p [usize], u64)>,
) -> Walked {
    let guarded = is_guarded(sinking);
    let mut out = Walked::default();
    for (path, count) in paths {
        let cost = cost_on(problem, sinking, path, guarded);
        let add = |sum: &mut u64, times: u32| {
            *sum = sum.saturating_add(count.saturating_mul(u64::from(times)));
        };
        add(&mut out.before, cost.before);
        add(&mut out.executed, cost.executed);
        add(&mut out.suppressed, cost.suppressed);
        add(&mut out.predicates, cost.predicates);
    }
    out
}
