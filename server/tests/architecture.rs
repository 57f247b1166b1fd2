//! The order of the crates and of the modules in them: the names that each may use.
//!
//! Circles of modules and the places that name a target from outside of it are at most those listed here: a list gets
//! shorter, never longer.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The Rust files of a folder, relative to it, in order.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let walked = ignore::WalkBuilder::new(folder).build();
    let mut found: Vec<PathBuf> = walked
        .flatten()
        .map(|entry| entry.into_path())
        .filter(|path| path.extension().is_some_and(|it| it == "rs"))
        .map(|path| path.strip_prefix(folder).expect("below it").to_owned())
        .collect();
    found.sort();
    found
}

/// The code of a file without comments and without the tests at its end.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("it is there");
    let text = text
        .split("\n#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or("");
    let lines = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or(""));
    lines.collect::<Vec<_>>().join("\n")
}

/// The manifest of a crate of the analyses.
fn manifest(name: &str) -> toml::Table {
    let path = root().join("analyses").join(name).join("Cargo.toml");
    let text = fs::read_to_string(path).expect("it is there");
    text.parse().expect("a manifest")
}

/// Crates that no analysis names.
const NEVER: &[&str] = &["salsa", "tokio", "tower-lsp", "lockstep-server"];

/// Only tests name the oracle and the simulators: they are no dependencies of an analysis but for them.
#[test]
fn each_crate_names_only_those_in_front_of_it() {
    let order = ["isa", "syntax", "ir", "facts", "codegen"];
    for (at, name) in order.iter().enumerate() {
        let table = manifest(name);
        let dependencies = table["dependencies"].as_table().expect("a table");
        for later in &order[at..] {
            assert!(!dependencies.contains_key(*later), "{name} names {later}");
        }
        for never in ["oracle", "simulate"].iter().chain(NEVER) {
            assert!(!dependencies.contains_key(*never), "{name} names {never}");
        }
    }
}

/// The judges of the analyses know the form of programs and no more, or instruction sets and the text of
/// assembly.
#[test]
fn judges_name_nothing_that_they_judge() {
    for (name, others) in [
        ("oracle", ["isa", "simulate", "facts", "codegen"]),
        ("simulate", ["ir", "oracle", "facts", "codegen"]),
    ] {
        judge_names_no_other(name, &others);
    }
}

fn judge_names_no_other(name: &str, others: &[&str]) {
    let table = manifest(name);
    for section in ["dependencies", "dev-dependencies"] {
        let Some(dependencies) = table.get(section).and_then(|it| it.as_table()) else {
            continue;
        };
        for never in others.iter().chain(&[name]).chain(NEVER) {
            assert!(!dependencies.contains_key(*never), "{name} names {never}");
        }
    }
}

/// Passes know the interface of targets, and no target: neither its folder nor its instruction set.
#[test]
fn passes_do_not_name_a_target() {
    let folder = root().join("analyses/codegen/src");
    let passes = [
        "allocate",
        "loops",
        "machine",
        "mir",
        "pack",
        "pipeline",
        "predicate",
    ];
    for path in sources(&folder) {
        let is_pass = passes.iter().any(|pass| path.starts_with(pass));
        // Tests beside a pass are no part of it, wherever they stand.
        let is_test = path.to_string_lossy().ends_with("tests.rs");
        if !is_pass || is_test {
            continue;
        }
        let code = code(&folder.join(&path));
        for name in ["crate::target", "isa::ia64", "Ia64"] {
            assert!(!code.contains(name), "{} names {name}", path.display());
        }
    }
}

/// The module that a file is: `["views", "hints"]`.
fn module(path: &Path) -> Vec<String> {
    let mut parts: Vec<String> = path
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if matches!(
        parts.last().map(String::as_str),
        Some("mod" | "lib" | "main")
    ) {
        parts.pop();
    }
    parts
}

/// The paths behind `crate::` and `super::` in a text, each as far as its names go.
fn paths(text: &str, own: &[String]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for (word, is_crate) in [("crate::", true), ("super::", false)] {
        for (at, _) in text.match_indices(word) {
            let before = text[..at].chars().next_back();
            if before.is_some_and(|it| it.is_alphanumeric() || it == '_' || it == ':') {
                continue;
            }
            let mut rest = &text[at + word.len()..];
            let mut base: Vec<String> = match is_crate {
                true => Vec::new(),
                false => own[..own.len().saturating_sub(1)].to_vec(),
            };
            while let Some(more) = rest.strip_prefix("super::") {
                base.pop();
                rest = more;
            }
            named(rest, &base, &mut found);
        }
    }
    found
}

/// `a::{b, c::d}` behind a base: every path in it.
fn named(text: &str, base: &[String], found: &mut Vec<Vec<String>>) {
    let mut path = base.to_vec();
    let mut rest = text;
    loop {
        let end = rest
            .find(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .unwrap_or(rest.len());
        if end > 0 {
            path.push(rest[..end].to_owned());
        }
        rest = &rest[end..];
        match rest.strip_prefix("::") {
            Some(more) if more.starts_with('{') => {
                let mut depth = 0;
                let mut from = 1;
                for (at, each) in more.char_indices() {
                    match each {
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        _ => {}
                    }
                    if depth == 0 || depth == 1 && each == ',' {
                        named(more[from..at].trim(), &path, found);
                        from = at + 1;
                    }
                    if depth == 0 {
                        break;
                    }
                }
                return;
            }
            Some(more) => rest = more,
            None => break,
        }
    }
    found.push(path);
}

/// The largest set of modules of which each leads to each other by the names that they use.
fn largest_circle(folder: &Path) -> Vec<String> {
    let files = sources(folder);
    let modules: BTreeMap<Vec<String>, usize> =
        files.iter().map(|path| module(path)).zip(0..).collect();
    let mut edges: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); files.len()];
    for (path, at) in files.iter().zip(0..) {
        let own = module(path);
        for mut path in paths(&code(&folder.join(path)), &own) {
            while !path.is_empty() && !modules.contains_key(&path) {
                path.pop();
            }
            if let Some(&to) = modules.get(&path)
                && to != at
            {
                edges[at].insert(to);
            }
        }
    }
    let reached = |from: usize| {
        let mut seen: BTreeSet<usize> = BTreeSet::new();
        let mut work: Vec<usize> = edges[from].iter().copied().collect();
        while let Some(at) = work.pop() {
            if seen.insert(at) {
                work.extend(&edges[at]);
            }
        }
        seen
    };
    let all: Vec<BTreeSet<usize>> = (0..files.len()).map(reached).collect();
    let circle = |at: usize| {
        let own = all[at].iter().filter(|&&to| all[to].contains(&at));
        own.map(|&to| files[to].to_string_lossy().into_owned())
            .collect::<Vec<String>>()
    };
    (0..files.len())
        .map(circle)
        .max_by_key(Vec::len)
        .unwrap_or_default()
}

/// Files of the largest circle of each crate, at most.
const CIRCLES: &[(&str, usize)] = &[
    ("analyses/isa/src", 8),
    ("analyses/simulate/src", 4),
    ("analyses/codegen/src", 8),
    ("server/src", 2),
];

#[test]
fn circles_of_modules_are_small() {
    for &(folder, most) in CIRCLES {
        let found = largest_circle(&root().join(folder));
        assert!(
            found.len() <= most,
            "{folder}: {} files: {found:#?}",
            found.len()
        );
    }
}

/// Folders of the server in the order of the data: each names none of those behind it, and views are the last. The queries
/// call those between them, which ask for other queries in turn.
#[test]
fn folders_of_the_server_name_none_behind_them() {
    let folder = root().join("server/src");
    let order = ["program", "derive", "views"];
    for path in sources(&folder) {
        let own = module(&path);
        // Tests of the database look at what is shown.
        if path.to_string_lossy().ends_with("tests.rs") {
            continue;
        }
        let behind: &[&str] = match own.first().map(String::as_str) {
            Some("db") => &order[2..],
            Some("program") => &order[1..],
            Some("derive") => &order[2..],
            _ => continue,
        };
        for named in paths(&code(&folder.join(&path)), &own) {
            let first = named.first().map_or("", String::as_str);
            assert!(!behind.contains(&first), "{} names {first}", path.display());
        }
    }
}

/// Only the queries of the database call the code behind it: inputs and copies know a file, its language and
/// its configuration.
#[test]
fn inputs_of_the_database_name_nothing_behind_them() {
    let folder = root().join("server/src");
    let behind = ["program", "derive", "views", "profile", "cli", "lsp"];
    let mut looked_at = 0;
    for path in sources(&folder) {
        let own = module(&path);
        let is_base = own.first().is_some_and(|first| first == "db")
            && !matches!(own.last().map(String::as_str), Some("queries" | "tests"));
        if !is_base {
            continue;
        }
        looked_at += 1;
        for named in paths(&code(&folder.join(&path)), &own) {
            let first = named.first().map_or("", String::as_str);
            assert!(!behind.contains(&first), "{} names {first}", path.display());
        }
    }
    assert!(looked_at >= 4, "{looked_at}");
}

/// Views, the protocol and the command line are used only by the modules behind them.
#[test]
fn only_what_is_shown_names_views() {
    let folder = root().join("server/src");
    let shown = ["views", "lsp", "cli"];
    for path in sources(&folder) {
        let own = module(&path);
        let first = own.first().map_or("main", String::as_str);
        let is_test = path.to_string_lossy().ends_with("tests.rs");
        if is_test || shown.contains(&first) || matches!(first, "main" | "lib") {
            continue;
        }
        for named in paths(&code(&folder.join(&path)), &own) {
            let named = named.first().map_or("", String::as_str);
            assert!(!shown.contains(&named), "{} names {named}", path.display());
        }
    }
}

/// Places that look into a sentence: those of problems, whose words front ends choose.
const READ_SENTENCES: &[(&str, usize)] = &[
    ("server/src/views/diagnostics/notes.rs", 3),
    ("server/src/views/page/functions.rs", 1),
];

/// Reasons are types: nothing is decided on the words of a message.
#[test]
fn nothing_is_decided_on_a_sentence() {
    let folders = [
        "analyses/ir/src",
        "analyses/facts/src",
        "analyses/codegen/src",
        "server/src",
    ];
    let words = ["message", "reason", "refused", "sentence", "why"];
    let asked = ["contains(", "starts_with(", "ends_with(", "split("];
    let mut read: BTreeMap<String, usize> = BTreeMap::new();
    for folder in folders {
        for path in sources(&root().join(folder)) {
            // Tests read what is shown.
            if path.to_string_lossy().ends_with("tests.rs") {
                continue;
            }
            let text = code(&root().join(folder).join(&path));
            let count: usize = words
                .iter()
                .flat_map(|word| asked.iter().map(move |asked| format!("{word}.{asked}")))
                .map(|asked| text.matches(&asked).count())
                .sum();
            if count > 0 {
                read.insert(format!("{folder}/{}", path.display()), count);
            }
        }
    }
    for (path, count) in read {
        let known = READ_SENTENCES.iter().find(|(known, _)| *known == path);
        let most = known.map_or(0, |(_, most)| *most);
        assert!(count <= most, "{path}: {count}");
    }
}

/// The types of a text that a block of methods changes.
fn changed(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices("\nimpl") {
        let block = &text[at + 1..];
        let block = &block[..block.find("\n}").unwrap_or(block.len())];
        let Some((head, body)) = block.split_once('{') else {
            continue;
        };
        if head.contains(" for ") || !body.contains("&mut self") {
            continue;
        }
        // Behind the parameters of the block, without its own.
        let mut depth = 0;
        let head = head.trim_start_matches("impl").trim_start();
        let open = head.starts_with('<');
        let end = head.char_indices().find(|&(_, letter)| {
            depth += i32::from(letter == '<') - i32::from(letter == '>');
            depth == 0
        });
        let named = match (open, end) {
            (true, Some((end, _))) => &head[end + 1..],
            _ => head,
        };
        let named = named.split('<').next().unwrap_or("").trim();
        let name = named.rsplit("::").next().unwrap_or("");
        found.insert(name.to_owned());
    }
    found
}

/// The most files that change one structure through its methods. A structure that more files change is one
/// file of ten thousand lines.
const MOST_CHANGING: usize = 10;

/// The engine of divergence and the lowering of the C family, which stand in other crates, wait for one typed tree of all
/// languages.
#[test]
fn structures_are_changed_in_few_files() {
    for (folder, _) in CIRCLES {
        let folder = root().join(folder);
        let mut files: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for path in sources(&folder) {
            for name in changed(&code(&folder.join(&path))) {
                files.entry(name).or_default().push(path.clone());
            }
        }
        assert!(!files.is_empty(), "{}", folder.display());
        for (name, files) in files {
            let count = files.len();
            assert!(count <= MOST_CHANGING, "{count} change {name}: {files:#?}");
        }
    }
}

/// Structures of a text, with their fields.
fn structures(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for (at, word) in text.match_indices("struct ") {
        let rest = &text[at + word.len()..];
        let name: String = rest
            .chars()
            .take_while(|letter| letter.is_alphanumeric())
            .collect();
        let Some(open) = rest.find(['{', ';', '(']) else {
            continue;
        };
        if name.is_empty() || !rest[open..].starts_with('{') {
            continue;
        }
        let mut depth = 0usize;
        let mut fields = 0;
        for line in rest[open..].lines() {
            let trimmed = line.trim_start();
            let is_field = trimmed
                .trim_start_matches("pub(super) ")
                .trim_start_matches("pub(crate) ")
                .trim_start_matches("pub ")
                .split(':')
                .next()
                .is_some_and(|name| {
                    let plain = |letter: char| letter.is_alphanumeric() || letter == '_';
                    !name.is_empty() && trimmed.contains(':') && name.chars().all(plain)
                });
            fields += usize::from(depth == 1 && is_field);
            depth += line.matches('{').count();
            depth = depth.saturating_sub(line.matches('}').count());
            if depth == 0 {
                break;
            }
        }
        found.push((name, fields));
    }
    found
}

/// A structure that many files reach into is one file of ten thousand lines.
#[test]
fn structures_have_few_fields() {
    let mut counted = 0;
    for (folder, _) in CIRCLES {
        let folder = root().join(folder);
        for path in sources(&folder) {
            for (name, fields) in structures(&code(&folder.join(&path))) {
                assert!(fields <= 25, "{}: {name} has {fields}", path.display());
                counted += usize::from(fields > 3);
            }
        }
    }
    assert!(counted > 200, "{counted}");
}
