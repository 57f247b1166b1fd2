//! Changes of PTX text line by line, as an editor's user makes them: guards put on, taken off and negated, registers and
//! numbers replaced, branches led elsewhere, lines deleted, repeated and exchanged. The result may be wrong in every way.

use oracle::random::Random;

/// The text after `count` changes.
pub(crate) fn mutated(text: &str, random: &mut Random, count: u32) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    for _ in 0..count {
        change(&mut lines, random);
    }
    lines.join("\n") + "\n"
}

fn change(lines: &mut Vec<String>, random: &mut Random) {
    let places: Vec<usize> = (0..lines.len())
        .filter(|&n| is_instruction(&lines[n]))
        .collect();
    if places.is_empty() {
        return;
    }
    let at = *random.pick(&places);
    match random.below(12) {
        0..=3 => guard(lines, at, random),
        4 => {
            lines.remove(at);
        }
        5 => {
            let to = *random.pick(&places);
            let line = lines[at].clone();
            lines.insert(to, line);
        }
        6 => {
            let other = *random.pick(&places);
            lines.swap(at, other);
        }
        7 => branch(lines, at, random),
        8 | 9 => number(&mut lines[at], random),
        _ => register(lines, at, random),
    }
}

fn is_instruction(line: &str) -> bool {
    let text = line.trim_start();
    text.ends_with(';') && text.starts_with(|c: char| c.is_ascii_lowercase() || c == '@')
}

/// Returns the number of registers of a prefix that are declared by `.reg .type %x<n>` before a line.
fn declared(lines: &[String], at: usize, prefix: &str) -> u32 {
    let wanted = format!("{prefix}<");
    let found = lines[..at].iter().rev().find_map(|line| {
        let rest = &line[line.find(&wanted)? + wanted.len()..];
        rest.split('>').next()?.parse().ok()
    });
    found.unwrap_or(0)
}

fn guard(lines: &mut [String], at: usize, random: &mut Random) {
    let count = declared(lines, at, "%p");
    let line = lines[at].trim_start().to_string();
    let changed = match line.strip_prefix('@') {
        Some(rest) if random.percent(50) => match rest.strip_prefix('!') {
            Some(rest) => format!("@{rest}"),
            None => format!("@!{rest}"),
        },
        Some(rest) => rest
            .split_once(' ')
            .map_or("", |(_, rest)| rest)
            .to_string(),
        None if count == 0 => return,
        None => {
            let not = if random.percent(40) { "!" } else { "" };
            format!("@{not}%p{} {line}", random.below(count))
        }
    };
    lines[at] = format!("\t{changed}");
}

/// A branch to another label of the file, under a predicate or not.
fn branch(lines: &mut Vec<String>, at: usize, random: &mut Random) {
    let labels: Vec<String> = lines
        .iter()
        .filter_map(|line| line.trim().strip_suffix(':').map(str::to_string))
        .filter(|label| label.starts_with('$'))
        .collect();
    if labels.is_empty() {
        return;
    }
    let label = random.pick(&labels).clone();
    let count = declared(lines, at, "%p");
    let line = if count > 0 && random.percent(80) {
        let not = if random.percent(50) { "!" } else { "" };
        format!("\t@{not}%p{} bra {label};", random.below(count))
    } else {
        format!("\tbra {label};")
    };
    if random.percent(50) {
        lines[at] = line;
    } else {
        lines.insert(at, line);
    }
}

/// Another number in place of one.
fn number(line: &mut String, random: &mut Random) {
    let starts: Vec<usize> = line
        .char_indices()
        .filter(|&(at, c)| {
            c.is_ascii_digit() && matches!(line.as_bytes().get(at.wrapping_sub(1)), Some(b' '))
        })
        .map(|(at, _)| at)
        .collect();
    if starts.is_empty() {
        return;
    }
    let at = *random.pick(&starts);
    let end = line[at..]
        .find(|c: char| !c.is_ascii_alphanumeric())
        .map_or(line.len(), |n| at + n);
    line.replace_range(at..end, &random.below(40).to_string());
}

/// Another register of the same kind in place of one.
fn register(lines: &mut [String], at: usize, random: &mut Random) {
    let line = lines[at].clone();
    let starts: Vec<usize> = line.match_indices('%').map(|(at, _)| at).collect();
    if starts.is_empty() {
        return;
    }
    let start = *random.pick(&starts);
    let word = &line[start + 1..];
    let end = word
        .find(|c: char| !c.is_ascii_alphanumeric())
        .unwrap_or(word.len());
    let name = line[start..start + 1 + end].to_string();
    let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let count = declared(lines, at, prefix);
    if prefix.len() == name.len() || count == 0 {
        return;
    }
    let other = format!("{prefix}{}", random.below(count));
    lines[at].replace_range(start..start + 1 + end, &other);
}
