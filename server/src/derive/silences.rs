//! The comments of a file that silence diagnostics.
//!
//! `// lockstep: allow(code)` silences a line, alone on a line the next one; `// lockstep: allow-file(code)` the file.
//! `all` stands for every code.

/// The codes that comments silence.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Silences {
    file: Vec<String>,
    /// Line from 0 and code, sorted.
    lines: Vec<(u32, String)>,
}

impl Silences {
    pub fn silent(&self, code: &str, line: u32) -> bool {
        let has = |word: &str| word == code || word == "all";
        let from = self.lines.partition_point(|(of, _)| *of < line);
        self.file.iter().any(|it| has(it))
            || self.lines[from..]
                .iter()
                .take_while(|(of, _)| *of == line)
                .any(|(_, it)| has(it))
    }
}

/// Reads the comments of a text.
pub fn silences(source: &str) -> Silences {
    let mut silences = Silences::default();
    if !source.contains("lockstep:") {
        return silences;
    }
    let mut pending: Vec<String> = Vec::new();
    for (number, line) in source.split('\n').enumerate() {
        let Some(mark) = line.find("lockstep:") else {
            let code = line.trim_start();
            if !code.is_empty() && !code.starts_with("//") {
                silences
                    .lines
                    .extend(pending.drain(..).map(|code| (number as u32, code)));
            }
            continue;
        };
        let comment = ["//", "/*", "#"]
            .iter()
            .filter_map(|open| line[..mark].rfind(open))
            .min();
        let Some(comment) = comment else { continue };
        let rest = line[mark + "lockstep:".len()..].trim_start();
        let alone = line[..comment].trim().is_empty();
        if let Some(rest) = rest.strip_prefix("allow-file(") {
            silences.file.extend(codes(rest));
        } else if let Some(rest) = rest.strip_prefix("allow(") {
            if alone {
                pending.extend(codes(rest));
                continue;
            }
            silences
                .lines
                .extend(codes(rest).map(|code| (number as u32, code)));
        }
        if !alone {
            silences
                .lines
                .extend(pending.drain(..).map(|code| (number as u32, code)));
        }
    }
    silences.lines.sort();
    silences
}

fn codes(rest: &str) -> impl Iterator<Item = String> + '_ {
    let list = rest.split(')').next().unwrap_or("");
    list.split(',')
        .map(|code| code.trim().to_owned())
        .filter(|code| !code.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_silence_their_line_the_next_or_the_file() {
        let silences = silences(
            "a; // lockstep: allow(x, y)\n// lockstep: allow(z)\n// other\n\nb;\n\"lockstep: allow(w)\"\n",
        );
        assert!(silences.silent("x", 0) && silences.silent("y", 0) && !silences.silent("x", 1));
        assert!(silences.silent("z", 4) && !silences.silent("z", 2));
        // In a string it is no comment.
        assert!(!silences.silent("w", 5));
        let file = super::silences("/* lockstep: allow-file(all) */\n");
        assert!(file.silent("anything", 77));
    }

    #[test]
    fn a_comment_alone_on_a_line_silences_the_next_line_of_code() {
        let silences = silences("  // lockstep: allow(z)\n\n  b;\n  c;\n");
        assert!(silences.silent("z", 2) && !silences.silent("z", 3));
    }
}
