//! An independent judge of the divergence facts: it reads their claims, runs the program, and looks for lanes
//! that contradict them. It knows `facts::model` and the interpreter's observers, but not the derivation of
//! facts.
//!
//! ```text
//! v: Uniform over Subgroup  +  lane 0 holds 4, lane 1 holds 5 in one iteration   ->   a violation, shrunk
//! ```
//!
//! The examination does not see claims about values that no run reaches, symbolic coefficients, and machines
//! that reconverge otherwise where warp operations depend on it.

pub(crate) mod claims;
pub(crate) mod fixed;
pub(crate) mod form;
pub(crate) mod judge;
pub(crate) mod nest;
pub(crate) mod shrink;
pub(crate) mod sweep;

use claims::Claims;
use facts::{FunctionFacts, Options};
use ir::Module;
pub(crate) use judge::{NAMES, Tally, Violation};
use oracle::interp::{self, Launch};

/// A program, the options of its analysis, and the setting of its run.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) module: Module,
    pub(crate) options: Options,
    /// At least one; all of one shape.
    pub(crate) launches: Vec<Launch>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    pub(crate) programs: u64,
    /// Lanes that ran, and the instructions that they executed.
    pub(crate) lanes: u64,
    pub(crate) instructions: u64,
    pub(crate) claims: u64,
    pub(crate) tally: Tally,
    /// Runs that ended at a barrier that is never completed, and for another reason.
    pub(crate) stuck: u64,
    pub(crate) failed: Vec<String>,
    pub(crate) symbolic: u64,
    pub(crate) unread: Vec<String>,
    pub(crate) violations: Vec<Violation>,
}

impl Report {
    pub(crate) fn add(&mut self, other: Report) {
        self.programs += other.programs;
        self.lanes += other.lanes;
        self.instructions += other.instructions;
        self.claims += other.claims;
        self.tally.add(&other.tally);
        self.stuck += other.stuck;
        self.symbolic += other.symbolic;
        let room = |list: &Vec<String>| 20usize.saturating_sub(list.len());
        let left = room(&self.failed);
        self.failed.extend(other.failed.into_iter().take(left));
        let left = room(&self.unread);
        self.unread.extend(other.unread.into_iter().take(left));
        self.violations.extend(other.violations);
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "{} programs, {} lanes, {} instructions of lanes, {} claims, {} violations",
            self.programs,
            self.lanes,
            self.instructions,
            self.claims,
            self.violations.len()
        )?;
        for (name, count) in NAMES.iter().zip(&self.tally.counts) {
            writeln!(f, "  {count:>9} {name}")?;
        }
        write!(
            f,
            "  {} symbolic forms, {} runs stuck at a barrier as foreseen",
            self.symbolic, self.stuck
        )?;
        if !self.unread.is_empty() {
            write!(f, "\n  forms not understood: {:?}", self.unread)?;
        }
        for failure in &self.failed {
            write!(f, "\n  run failed: {failure}")?;
        }
        Ok(())
    }
}

/// Analyses and runs one case.
pub(crate) fn examine(case: &Case) -> Report {
    let facts = facts::analyze_module(&case.module, &case.options);
    examine_with(case, &facts)
}

/// The same with facts from elsewhere.
pub(crate) fn examine_with(case: &Case, facts: &[FunctionFacts]) -> Report {
    let launch = &case.launches[0];
    let claims = Claims::of(&case.module, facts, launch);
    let declared = &case.module.functions[0].launch.block;
    let known = (0..3).all(|axis| declared[axis].or(case.options.block[axis]).is_some());
    let mut judge = judge::Judge::new(&case.module, &claims, launch, known);
    let mut report = Report {
        programs: 1,
        claims: claims.list.len() as u64,
        symbolic: claims.symbolic,
        unread: claims.unread.clone(),
        ..Report::default()
    };
    for launch in &case.launches {
        let outcome = judge.run(facts, launch);
        let lanes = launch.block.iter().chain(&launch.grid);
        report.lanes += lanes.map(|&n| u64::from(n)).product::<u64>();
        report.instructions += outcome.lane_steps;
        match outcome.error {
            Some(interp::Error::Barrier { .. }) => report.stuck += 1,
            Some(error) => report.failed.push(error.to_string()),
            None => {}
        }
    }
    (report.tally, report.violations) = judge.finish();
    report
}

/// A violation with the smallest program that still shows it, for people.
pub(crate) fn describe(title: &str, case: &Case, violation: &Violation) -> String {
    let small = shrink::shrink(case, violation);
    let report = examine(&small);
    let again = report
        .violations
        .iter()
        .find(|v| shrink::same(v, violation))
        .unwrap_or(violation);
    let launch = &small.launches[0];
    format!(
        "; {title}\n; {}\n; {}\n; options {:?} scope {:?} warp {} block {:?} parameters {:?}\n; launch grid {:?} block {:?} warp {} seed {} reverse {} arguments {:?}\n; buffers {:?}\n{}",
        again.claim,
        again.seen.replace('\n', "\n;   "),
        small.options.method,
        small.options.scope,
        small.options.warp_size,
        small.options.block,
        small.options.parameters,
        launch.grid,
        launch.block,
        launch.warp_size,
        launch.seed,
        launch.reverse_groups,
        launch.parameters,
        launch
            .buffers
            .iter()
            .map(|b| b.bytes.len())
            .collect::<Vec<_>>(),
        ir::text::print_module(&small.module)
    )
}
