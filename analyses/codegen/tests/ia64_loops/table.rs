//! The tables, and the figures that they come to.

use super::execute::round;
use super::{MACHINES, emitted, loops};
use lockstep_codegen::machine;
use lockstep_codegen::target::ia64::emit::{Options, emit};
use lockstep_codegen::target::ia64::pipeline::{self, Disambiguation, LoopReport, Method, Reason};
use std::fmt::Write;

/// Loops that leave early with their data, and those in which a value is waited for in some rounds only.
const VARYING: [&str; 4] = [
    "blas_idamax",
    "livermore16_monte_carlo",
    "livermore17_implicit_conditional",
    "livermore20_discrete_ordinates",
];

/// A loop of a table.
struct Row<'l> {
    of: &'l loops::Loop,
    /// In its function, from 1.
    number: usize,
    report: LoopReport,
    /// Cycles in the simulator.
    round: Option<f64>,
}

impl Row<'_> {
    fn is_at_bound(&self) -> bool {
        self.report.pipelined && self.report.ii == Some(self.report.min_ii())
    }

    fn speculates(&self) -> bool {
        self.report.loads.advanced > 0
    }

    fn is_faster_than_in_order(&self) -> bool {
        let mut ways = self.report.ways.iter();
        let ordered = ways.find(|(way, _)| *way == Disambiguation::InOrder);
        let (Some(round), Some((_, ii))) = (self.round, ordered) else {
            return false;
        };
        round < f64::from(*ii)
    }

    /// Returns whether an iteration takes its share of the interval in the simulator.
    fn takes_its_interval(&self) -> bool {
        let (Some(round), Some(ii)) = (self.round, self.report.ii) else {
            return false;
        };
        (round - f64::from(ii) / f64::from(self.report.unrolled)).abs() < 1e-6
    }
}

fn rows<'l>(all: &'l [loops::Loop], machine: &str) -> Vec<Row<'l>> {
    let mut out = Vec::new();
    for of in all {
        let code = emitted(of, machine, Some(None));
        let round = round(of, machine, &code);
        let report = code.functions.into_iter().next().expect("the function");
        assert!(!report.loops.is_empty(), "{}: no loop", of.name);
        for (at, report) in report.loops.into_iter().enumerate() {
            out.push(Row {
                of,
                number: at + 1,
                report,
                round,
            });
        }
    }
    out
}

fn printed(rows: &[Row<'_>], machine: &str) -> String {
    let mut out = format!(
        "Loops on {machine}: early exits, bounds of the interval and what asks for the first, interval (of several iterations), cycles an\n\
         iteration takes in the simulator, stages, rotating registers (general, float, predicate), method, times faster than one\n\
         iteration after the other (estimate), and what holds the loop back.\n\n"
    );
    let _ = writeln!(
        out,
        "{:<34} {:>2}  {:>6} {:<12} {:>6}  {:>3} {:>6} {:>3}  {:>10}  {:<20} {:>8}  why",
        "loop", "N", "ResMII", "", "RecMII", "II", "cycles", "S", "registers", "method", "estimate"
    );
    for row in rows {
        let report = &row.report;
        let name = match row.number {
            1 => row.of.name.clone(),
            more => format!("{}.{more}", row.of.name),
        };
        let resource = report.res_mii.first();
        let live = report.max_live;
        let method = report.method.map_or(String::new(), |it| it.to_string());
        let estimate = match report.ii {
            Some(ii) => format!("{:.1}x", f64::from(report.unpipelined) / f64::from(ii)),
            None => String::new(),
        };
        let mut why: Vec<String> = report
            .reasons
            .iter()
            .filter(|reason| **reason != Reason::TripCount)
            .map(ToString::to_string)
            .collect();
        why.sort();
        why.dedup();
        if !row.is_at_bound() && report.pipelined {
            why.insert(0, "ABOVE ITS BOUND".to_owned());
        }
        match report.disambiguation() {
            Disambiguation::InOrder => {}
            way if report.tests > 0 => why.push(format!("{way}, pairs: {}", report.tests)),
            way => why.push(format!("{way}, loads: {}", report.loads.advanced)),
        }
        let why = why.join("; ");
        let line = format!(
            "{name:<34} {:>2}  {:>6} {:<12} {:>6}  {:>3} {:>6} {:>3}  {:>10}  {method:<20} {estimate:>8}  {why}",
            row.of.exits,
            resource.map_or(0, |it| it.cycles),
            resource.map_or("", |it| it.unit),
            report.rec_mii,
            match (report.ii, report.unrolled) {
                (None, _) => "-".to_owned(),
                (Some(ii), 1) => ii.to_string(),
                (Some(ii), times) => format!("{ii}/{times}"),
            },
            row.round.map_or(String::new(), |cycles| format!(
                "{}",
                (cycles * 1000.0).round() / 1000.0
            )),
            report.stages,
            format!("{} {} {}", live.general, live.float, live.predicate),
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// Loops with early exits: the interval of each method.
fn methods(rows: &[Row<'_>], machine: &str) -> String {
    let mut out = format!("Intervals of loops with early exits on {machine}, by method.\n\n");
    let _ = write!(out, "{:<32} {:>2}", "loop", "N");
    for method in Method::EXITS {
        let _ = write!(out, "  {method}");
    }
    out.push('\n');
    for row in rows.iter().filter(|row| row.of.exits > 0) {
        let mut line = format!("{:<32} {:>2}", row.of.name, row.of.exits);
        for method in Method::EXITS {
            let ii = interval(row, method).map_or("-".to_owned(), |ii| ii.to_string());
            let width = method.to_string().len();
            let _ = write!(line, "  {ii:>width$}");
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

fn interval(row: &Row<'_>, method: Method) -> Option<u32> {
    let known = row.report.methods.iter().find(|(it, _)| *it == method);
    known.and_then(|(_, ii)| *ii)
}

/// Returns the average share by which the first method's interval is less than the second's, and the number
/// of loops.
fn better(rows: &[Row<'_>], method: Method, than: Method) -> (f64, usize) {
    let gains: Vec<f64> = rows
        .iter()
        .filter(|row| row.of.exits > 0)
        .filter_map(|row| {
            let (left, right) = (interval(row, method)?, interval(row, than)?);
            Some(1.0 - f64::from(left) / f64::from(right))
        })
        .collect();
    let sum: f64 = gains.iter().sum();
    (sum / gains.len().max(1) as f64, gains.len())
}

#[test]
fn loops_reach_their_bounds() {
    let all = loops::loops();
    for machine in MACHINES {
        let rows = rows(&all, machine);
        let bound = rows.iter().filter(|row| row.is_at_bound()).count();
        let above: Vec<&str> = rows
            .iter()
            .filter(|row| !row.is_at_bound())
            .map(|row| row.of.name.as_str())
            .collect();
        let (gain, among) = better(&rows, Method::PredicateRegisters, Method::Tirumalai);
        let (more, _) = better(&rows, Method::DeMorgan, Method::PredicateRegisters);
        println!(
            "{machine}: {bound} of {} loops at the bound ({:.1} %), not: {above:?}",
            rows.len(),
            100.0 * bound as f64 / rows.len() as f64
        );
        println!(
            "{machine}: predicate registers {:.1} % better than the exit variable over {among} loops with early exits, or.andcm {:.1} % better than those",
            100.0 * gain,
            100.0 * more
        );
        let measured: Vec<&Row> = rows.iter().filter(|row| row.round.is_some()).collect();
        let slower: Vec<&str> = measured
            .iter()
            .filter(|row| !row.takes_its_interval() && !row.speculates())
            .map(|row| row.of.name.as_str())
            .collect();
        // Where stores do change what loads above them read, each time costs its recovery.
        let lost: Vec<&str> = measured
            .iter()
            .filter(|row| row.speculates() && !row.is_faster_than_in_order())
            .map(|row| row.of.name.as_str())
            .collect();
        println!(
            "{machine}: {} of {} loops take one interval in the simulator, not: {slower:?}",
            measured.len() - slower.len(),
            measured.len()
        );
        let text = printed(&rows, machine);
        fixtures::expect_file(format!("c/loops/{machine}.txt"), &text)
            .unwrap_or_else(|message| panic!("{message}"));
        let text = methods(&rows, machine);
        fixtures::expect_file(format!("c/loops/{machine}-exits.txt"), &text)
            .unwrap_or_else(|message| panic!("{message}"));
        assert!(bound * 100 >= rows.len() * 95, "{above:?}");
        assert!(gain >= 0.31, "{gain}");
        assert!(
            slower.iter().all(|name| VARYING.contains(name)),
            "{slower:?}"
        );
        assert!(lost.is_empty(), "{lost:?}");
    }
}

/// A method that is asked for has the properties that the table of methods states.
#[test]
fn methods_do_what_is_said_of_them() {
    let all = loops::loops();
    let table = machine::named("itanium2").expect("a table");
    let mut compared = 0;
    for of in all.iter().filter(|of| of.exits > 0) {
        let reports = |method| {
            let options = Options {
                pipeline: Some(pipeline::Options {
                    method,
                    always: true,
                    unroll: Some(1),
                    ..pipeline::Options::default()
                }),
                ..Options::default()
            };
            let code = emit(&of.module, table.epic().expect("groups"), &options);
            code.expect("code").functions.remove(0).loops
        };
        let best = reports(None);
        for method in Method::EXITS {
            for (own, best) in reports(Some(method)).iter().zip(&best) {
                let said = best.methods.iter().find(|it| it.0 == method);
                let Some(&(_, Some(said))) = said else {
                    continue;
                };
                assert_eq!(own.ii, Some(said), "{} by {method}", of.name);
                compared += 1;
            }
        }
    }
    assert!(compared > 80, "{compared}");
}

/// The intervals that the paper shows of Intel's compiler for Itanium, and its stages where the interval is the same.
#[test]
fn loops_of_the_case_study_are_as_short_as_its_compiler_made_them() {
    let all = loops::loops();
    let rows = rows(&all, "itanium");
    // Rounds of the paper's that ours make, its interval and its stages.
    for (name, rounds, interval, stages) in [
        ("tuning1_packed_backwards", 1, 2, 9),
        ("tuning2_packed_forwards", 1, 4, 5),
        ("tuning3_packed_dot", 1, 5, 2),
        ("tuning5_sparse_row_by_two", 2, 3, 5),
    ] {
        let row = rows.iter().find(|row| row.of.name == name);
        let report = &row.expect("the loop").report;
        let (ii, own) = (report.ii.expect("pipelined"), report.stages);
        let told = format!("{name}: {ii} cycles and {own} stages, not {interval} and {stages}");
        assert!(ii <= rounds * interval, "{told}");
        assert!(ii < rounds * interval || own <= stages, "{told}");
    }
}

/// The estimate that the speed-up is a ratio to, against plain code in the simulator.
#[test]
fn plain_code_takes_about_as_long_as_is_said() {
    let all = loops::loops();
    for machine in MACHINES {
        let (mut near, mut count) = (0, 0);
        let mut off: Vec<String> = Vec::new();
        for of in all.iter().filter(|of| of.is_single()) {
            let report = emitted(of, machine, Some(None))
                .functions
                .remove(0)
                .loops
                .remove(0);
            let plain = emitted(of, machine, None);
            let cycles = |n: u64| of.cycles(machine, &plain.text, n) as f64;
            let measured = (cycles(2200) - cycles(1000)) * of.step as f64 / 1200.0;
            let said = f64::from(report.unpipelined) / f64::from(report.unrolled);
            count += 1;
            // Those that leave early take no whole run.
            if (said - measured).abs() <= (0.15 * measured).max(1.0) {
                near += 1;
            } else {
                off.push(format!("{} {said} for {measured:.1}", of.name));
            }
        }
        println!(
            "{machine}: of {count} loops {near} take as long without pipelining as is said, within 15 % or a cycle; not: {off:?}"
        );
        assert!(near * 10 >= count * 8);
    }
}
