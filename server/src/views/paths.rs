//! The paths of functions in words.

use super::zeros::unusable;
use crate::derive::paths::{ItemPaths, NoPaths, PathRow};
use std::fmt::Write;

/// Paths of a function that a text lists.
const LISTED: usize = 20;

/// The paths of a function as a table, the most frequent first.
pub fn report(paths: &ItemPaths, all: bool) -> String {
    let mut out = String::new();
    let taken = paths.rows.len();
    let _ = writeln!(
        out,
        "{}: {}{taken} of {} {} {}taken, {} {} by lanes",
        paths.name,
        if paths.cut { "at least " } else { "" },
        paths.possible,
        plural(paths.possible, "path"),
        if paths.edges_alone {
            "may have been "
        } else {
            ""
        },
        paths.entries,
        match paths.entries {
            1 => "entry",
            _ => "entries",
        }
    );
    if paths.edges_alone {
        let _ = writeln!(
            out,
            "  edges alone were counted: the counts of paths are bounds{}",
            match paths.exact {
                true => "",
                false => "; the code has changed since",
            }
        );
    } else if !paths.exact {
        let _ = writeln!(
            out,
            "  the code has changed since it was profiled: {} of the paths that lanes took are not found again",
            paths.lost
        );
    } else if paths.lost > 0 {
        let _ = writeln!(out, "  {} times others, which were not kept", paths.lost);
    }
    let shown = match all {
        true => taken,
        false => taken.min(LISTED),
    };
    let _ = writeln!(out, "       count   share  lines");
    for row in &paths.rows[..shown] {
        let least = 100.0 * row.share[0];
        match row.count.is_exact() {
            true => {
                let _ = writeln!(
                    out,
                    "  {:>10}  {least:>5.1} %  {}",
                    row.count.least,
                    way(Way::of(row))
                );
            }
            false => {
                let (count, share) = match row.count.most {
                    u64::MAX => (
                        format!("at least {}", row.count.least),
                        format!("at least {least:.1} %"),
                    ),
                    most => (
                        format!("{} to {most}", row.count.least),
                        format!("{least:.1} to {:.1} %", 100.0 * row.share[1]),
                    ),
                };
                let _ = writeln!(out, "  {count:>10}  {share}  {}", way(Way::of(row)));
            }
        }
    }
    let rest: u64 = paths.rows[shown..].iter().map(|row| row.count.least).sum();
    if paths.edges_alone && taken > shown {
        let _ = writeln!(out, "  and {} more: --all", taken - shown);
    } else if rest > 0 {
        let _ = writeln!(out, "  {:>10}  in {} more: --all", rest, taken - shown);
    }
    for row in paths.dead.iter().take(LISTED) {
        let counts = row.counts;
        let bound = match counts.least == counts.most {
            true => "",
            false => "at least ",
        };
        let _ = writeln!(
            out,
            "  partly dead: `{}` in line {}: {bound}{} of {} times nothing reads it ({:.0} %){}",
            row.variable,
            row.line,
            counts.least,
            counts.executions,
            100.0 * counts.share(),
            match row.moved {
                Some(moved) => format!(
                    "; `sink-dead` leaves {}",
                    super::partly_dead::remaining(moved)
                ),
                None => String::new(),
            }
        );
    }
    out
}

fn plural(count: u64, word: &str) -> String {
    match count {
        1 => word.to_owned(),
        _ => format!("{word}s"),
    }
}

/// The lines of a path in the order in which they are come to.
#[derive(Clone, Copy, Debug)]
pub struct Way<'a> {
    /// True if it begins with another iteration of a loop.
    pub again: bool,
    pub lines: &'a [u32],
}

impl<'a> Way<'a> {
    fn of(row: &'a PathRow) -> Self {
        Way {
            again: row.again,
            lines: &row.lines,
        }
    }
}

/// `5-8, 10, 14`; of another iteration `again 9-12`.
pub fn way(row: Way<'_>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &line in row.lines {
        match ranges.last_mut() {
            Some((_, last)) if line == *last + 1 => *last = line,
            _ => ranges.push((line, line)),
        }
    }
    let texts = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    let lines = texts.collect::<Vec<_>>().join(", ");
    match (row.again, lines.is_empty()) {
        (_, true) => "no line of its own".to_owned(),
        (true, false) => format!("again {lines}"),
        (false, false) => lines,
    }
}

/// The reason why there are no paths.
pub fn reason(reason: &NoPaths) -> String {
    match reason {
        NoPaths::NoProfile => {
            "there is no profile: `lockstep profile FILE` runs it on described inputs, which `--describe` begins".to_owned()
        }
        NoPaths::Unusable(path, why) => format!("{}: {}", path.display(), unusable(why)),
        NoPaths::NotRun(name) => format!("the profile has no paths of `{name}`"),
        NoPaths::Changed(name) => {
            format!("`{name}` has changed since it was profiled: its counts are not those of the code as it is now")
        }
        NoPaths::Iterations {
            name,
            wanted,
            recorded,
        } => {
            let known = match recorded {
                Some(recorded) => format!("those over {recorded} iterations"),
                None => "none over several iterations".to_owned(),
            };
            format!(
                "the profile has no paths of `{name}` over {wanted} iterations, but {known}: `lockstep profile FILE --iterations {wanted}` records them"
            )
        }
        NoPaths::Bounds(name) => {
            format!("the profile has bounds of how often the branches of `{name}` were taken, not their counts")
        }
        NoPaths::Numbers(name, refusal) => format!("`{name}`: {refusal}"),
    }
}
