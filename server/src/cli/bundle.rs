//! `lockstep bundle`: IA-64 assembly with its blocks re-bundled, and the cost of each block before and after.

use super::{BundleArgs, BundleChoice, CliError, DataFormat};
use crate::documents::line_column;
use crate::host;
use codegen::machine;
use codegen::target::ia64::bundle::block::Choice;
use codegen::target::ia64::listing::listing;
use codegen::target::ia64::rebundle::{Measure, Options, Outcome, Rebundled, rebundle};
use serde_json::{Value, json};
use simulate::ia64::{Program, SimulatedClock};
use std::io::Write;
use std::time::Duration;
use syntax::{LineIndex, Span};

pub(super) fn bundle(args: &BundleArgs) -> Result<u8, CliError> {
    let text = host::read(&args.file)?.text;
    let table = machine::named(&args.machine);
    let Some(epic) = table.as_ref().and_then(|table| table.epic()) else {
        return Err(CliError::Usage(format!(
            "`{}` is no machine with explicit bundles; `itanium` and `itanium2` are",
            args.machine
        )));
    };
    let document = syntax::ia64::parse(&text);
    let lines = LineIndex::new(&text);
    let name = args.file.display();
    let malformed = Program::malformed_bundles(&document, &text);
    for problem in document.problems.iter().chain(&malformed) {
        let (line, column) = line_column(&text, &lines, problem.span.start);
        eprintln!("{name}:{line}:{column}: {}", problem.message);
    }
    let within = match args.line {
        None => None,
        Some(line) if (1..=lines.line_count()).contains(&line) => {
            let start = lines.line_start(line - 1);
            let length = text[start as usize..]
                .find('\n')
                .unwrap_or(text.len() - start as usize);
            Some(Span::new(start, start + length as u32))
        }
        Some(line) => return Err(CliError::Usage(format!("{name} has no line {line}"))),
    };
    let options = Options {
        choice: match args.choice {
            BundleChoice::All => Choice::All,
            BundleChoice::Eager => Choice::Eager,
            BundleChoice::Lazy => Choice::Lazy,
            BundleChoice::EagerLazy => Choice::EagerLazy,
            BundleChoice::AllowedLoss => Choice::AllowedLoss,
        },
        decisions: args.budget,
        ..Options::default()
    };
    let listing = listing(&document, &text);
    let begun = std::time::Instant::now();
    let clock = SimulatedClock::of_units(epic.width().m);
    let blocks = rebundle(
        &document,
        &text,
        &listing,
        epic,
        &options,
        within,
        clock.as_ref(),
    );
    let took = begun.elapsed();
    let mut changed = text.clone();
    for block in blocks.iter().rev() {
        if let Outcome::Rewritten { text, .. } = &block.outcome {
            changed.replace_range(block.span.start as usize..block.span.end as usize, text);
        }
    }
    let line = |at: u32| line_column(&text, &lines, at).0;
    let mut out = std::io::stdout().lock();
    match (args.format, args.write, args.diff) {
        (DataFormat::Json, _, _) => {
            let rows: Vec<Value> = blocks.iter().map(|block| row(block, &line)).collect();
            let all = json!({ "version": 1, "machine": args.machine, "blocks": rows });
            serde_json::to_writer_pretty(&mut out, &all)?;
            writeln!(out)?;
        }
        (_, true, _) => host::write_changed(&args.file, &text, changed.as_bytes())?,
        (_, _, true) => {
            let diff = similar::TextDiff::from_lines(&text, &changed);
            let name = name.to_string();
            write!(out, "{}", diff.unified_diff().header(&name, &name))?;
        }
        _ => out.write_all(changed.as_bytes())?,
    }
    summary(&blocks, &line, args.verbose, took);
    Ok(u8::from(
        !document.problems.is_empty() || !malformed.is_empty(),
    ))
}

fn measure(of: &Measure) -> Value {
    json!({ "cycles": of.cycles, "bundles": of.bundles, "nops": of.nops })
}

fn row(block: &Rebundled, line: &dyn Fn(u32) -> u32) -> Value {
    let mut row = json!({
        "line": line(block.span.start),
        "end_line": line(block.span.end),
        "instructions": block.items.len(),
        "explicit": block.explicit,
        "before": measure(&block.before),
    });
    match &block.outcome {
        Outcome::Rewritten { after, proved, .. } => {
            row["after"] = measure(after);
            row["proved"] = json!(proved);
        }
        Outcome::Kept(reason) => row["kept"] = json!(reason.to_string()),
    }
    row
}

/// Prints the gain to the terminal, beside the text, block by block on demand.
fn summary(blocks: &[Rebundled], line: &dyn Fn(u32) -> u32, verbose: bool, took: Duration) {
    let (mut before, mut after) = (Measure::default(), Measure::default());
    let mut rewritten = 0;
    for block in blocks {
        let add = |sum: &mut Measure, measure: &Measure| {
            sum.cycles += measure.cycles;
            sum.nops += measure.nops;
            sum.bundles += measure.bundles;
        };
        let place = format!("{}-{}", line(block.span.start), line(block.span.end));
        match &block.outcome {
            Outcome::Rewritten {
                after: new, proved, ..
            } => {
                rewritten += 1;
                add(&mut before, &block.before);
                add(&mut after, new);
                if verbose {
                    let proved = if *proved {
                        ", the fewest for its cycles"
                    } else {
                        ""
                    };
                    eprintln!(
                        "lines {place}: {} -> {} cycles, {} -> {} bundles, {} -> {} nops{proved}",
                        block.before.cycles,
                        new.cycles,
                        block.before.bundles,
                        new.bundles,
                        block.before.nops,
                        new.nops
                    );
                }
            }
            Outcome::Kept(reason) if verbose => eprintln!("lines {place}: stays, {reason}"),
            Outcome::Kept(_) => {}
        }
    }
    eprintln!(
        "{rewritten} of {} blocks: {} -> {} cycles (estimate, each block alone), {} -> {} bundles, {} -> {} nops, in {:.1} ms",
        blocks.len(),
        before.cycles,
        after.cycles,
        before.bundles,
        after.bundles,
        before.nops,
        after.nops,
        1000.0 * took.as_secs_f64()
    );
}
