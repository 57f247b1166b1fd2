//! Actions on loops of C: their titles, the text that they write, and the results of the changed text, in the
//! reference interpreter and, where a way of pipelining is asked for, as emitted code in the simulator.
//!
//! `LOCKSTEP_LOOP_KERNELS` is how many random kernels are tried (40), `LOCKSTEP_FIRST` the first.

#[path = "support/command.rs"]
mod command;
mod support;

use codegen::target::ia64::emit::{Options, emit};
use command::{Place, errors, json as parsed, lockstep, text};
use ir::Module;
use ir::lower::c_family::{LowerOptions, lower_unit};
use lockstep_server::config::Config;
use lockstep_server::db::{Database, File, Source};
use lockstep_server::views::actions::{Action, Doing, actions, edited};
use lockstep_server::views::diagnostics::diagnostics;
use lockstep_server::views::lens::lenses;
use oracle::random::c::{Argument, Kernel, Scalar, kernel};
use serde_json::{Value, json};
use simulate::ia64::{self as sim, Arg, Memory, Program};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use syntax::Span;
use syntax::c_family::{Dialect, parse_text};

const SAXPY: &str = include_str!("../../fixtures/c/saxpy.c");
const SEARCH: &str = "\
long find(const unsigned char *text, unsigned char wanted) {
  const unsigned char *at = text;
  while (*at != wanted && *at)
    ++at;
  return at - text;
}
";

fn open(source: &str) -> (Database, File) {
    let mut db = Database::default();
    let text = Source::Text {
        text: Arc::from(source),
        lossy: false,
    };
    let file = db.file_with_text(Path::new("/k.c"), text);
    let mut config = Config::default();
    config.analysis.processor = Some("itanium2".into());
    let settings = db.new_settings(config.analysis, config.view, Vec::new());
    db.set_file_settings(file, settings);
    (db, file)
}

fn at(source: &str, part: &str) -> Vec<Action> {
    let (db, file) = open(source);
    let offset = source.find(part).expect(part) as u32;
    actions(&db, file, Span::at(offset))
}

fn of<'a>(found: &'a [Action], id: &str) -> &'a Action {
    let ids: Vec<&str> = found.iter().map(|it| it.id.as_str()).collect();
    let action = found.iter().find(|it| it.id == id);
    action.unwrap_or_else(|| panic!("no {id} in {ids:?}"))
}

fn applied(source: &str, action: &Action) -> String {
    match &action.what {
        Doing::Edit(edits) => edited(source, edits).expect("an edit"),
        other => panic!("{}: {other:?}", action.id),
    }
}

fn number_behind(text: &str, word: &str) -> u32 {
    let rest = &text[text.find(word).expect(word) + word.len()..];
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect(text)
}

#[test]
fn early_exits_have_a_choice_of_methods_each_with_its_interval() {
    let found = at(SEARCH, "while (*at");
    let chain = of(&found, "software-pipeline-predicate-registers");
    let slow = of(&found, "software-pipeline-exit-variable");
    assert!(
        number_behind(&chain.title, "II ") < number_behind(&slow.title, "II "),
        "{} / {}",
        chain.title,
        slow.title
    );
    assert!(chain.title.contains("(exit variable "), "{}", chain.title);
    let changed = applied(SEARCH, slow);
    assert!(
        changed.contains("  #pragma lockstep pipeline(exit_variable)\n  while (*at"),
        "{changed}"
    );
    // The lens obeys, and tells the predicted interval.
    let (db, file) = open(&changed);
    let title = lenses(&db, file).remove(0).title;
    assert!(
        title.starts_with(&format!("II {} ", number_behind(&slow.title, "II "))),
        "{title}"
    );
    // The choice is not offered again; another one and none are.
    let again = at(&changed, "while (*at");
    assert!(
        again
            .iter()
            .all(|it| it.id != "software-pipeline-exit-variable")
    );
    let other = applied(
        &changed,
        of(&again, "software-pipeline-predicate-registers"),
    );
    assert!(other.contains("pipeline(predicate_registers)") && !other.contains("exit_variable"));
    assert_eq!(
        applied(&changed, of(&again, "remove-pipeline-request")),
        SEARCH
    );
    let left = applied(&changed, of(&again, "leave-loop"));
    let (db, file) = open(&left);
    let title = lenses(&db, file).remove(0).title;
    assert!(title.starts_with("not pipelined"), "{title}");
}

#[test]
fn a_word_that_nobody_knows_is_told() {
    let source = SEARCH.replace(
        "  while (*at",
        "#pragma lockstep pipeline(quickly)\n  while (*at",
    );
    let (db, file) = open(&source);
    let told = diagnostics(&db, file);
    assert!(
        told.iter()
            .any(|it| it.message.contains("`quickly` is no way to pipeline")),
        "{told:?}"
    );
}

#[test]
fn restrict_is_offered_where_two_parameters_may_meet() {
    let found = at(SAXPY, "while (i < n)");
    let action = of(&found, "add-restrict");
    assert!(
        action
            .title
            .starts_with("Add `restrict` to `x` and `y`: II "),
        "{}",
        action.title
    );
    assert!(
        action.effect.contains("the promise is yours"),
        "{}",
        action.effect
    );
    let changed = applied(SAXPY, action);
    assert!(
        changed.contains(
            "saxpy_may_alias(int n, float a, const float *restrict x, float *restrict y)"
        ),
        "{changed}"
    );
    let now = number_behind(&action.title, ": II ");
    let (db, file) = open(&changed);
    let titles: Vec<String> = lenses(&db, file)
        .into_iter()
        .map(|lens| lens.title)
        .collect();
    assert!(titles[1].starts_with(&format!("II {now} ")), "{titles:?}");
    // Nothing to promise where nothing may meet.
    assert!(
        at(SAXPY, "for (size_t")
            .iter()
            .all(|it| it.id != "add-restrict")
    );
}

#[test]
fn a_condition_becomes_a_value_or_says_why_not() {
    let source = "\
long largest(long n, const long *a, long *y) {
  long m = 0;
  for (long i = 0; i < n; i++)
    if (a[i] > m)
      m = a[i];
  for (long i = 0; i < n; i++)
    if (a[i] < 3)
      y[i] = 1;
  return m;
}
";
    let found = at(source, "if (a[i] > m)");
    let action = of(&found, "if-convert");
    assert!(action.title.contains("II "), "{}", action.title);
    assert!(applied(source, action).contains("    m = a[i] > m ? a[i] : m;\n"));
    let found = at(source, "if (a[i] < 3)");
    let Doing::Refused { reason } = &of(&found, "if-convert").what else {
        panic!("{found:?}");
    };
    assert!(reason.contains("only one way stores"), "{reason}");
}

#[test]
fn what_can_not_be_pipelined_says_why() {
    let source = "void g(long);\nvoid f(long n) {\n  for (long i = 0; i < n; i++)\n    g(i);\n}\n";
    let found = at(source, "for (long");
    let Doing::Refused { reason } = &of(&found, "software-pipeline").what else {
        panic!("{found:?}");
    };
    assert!(
        !reason.is_empty() && !reason.contains("profitable"),
        "{reason}"
    );
    // Nothing of C is offered in the body of a loop's surroundings, and nothing without a processor.
    assert!(at(source, "void f").is_empty());
    let mut db = Database::default();
    let text = Source::Text {
        text: Arc::from(SAXPY),
        lossy: false,
    };
    let file = db.file_with_text(Path::new("/k.c"), text);
    let offset = SAXPY.find("for (size_t").expect("it") as u32;
    assert!(actions(&db, file, Span::at(offset)).is_empty());
}

#[test]
fn the_command_line_lists_and_applies_them() {
    let place = Place::new("loop_actions");
    let file = place.file("search.c", SEARCH);
    let line = SEARCH
        .lines()
        .position(|line| line.contains("while (*at"))
        .expect("it")
        + 1;
    let at = format!("{line}:3");
    let listed = parsed(&lockstep(&[
        "actions", &file, "--at", &at, "--format", "json",
    ]));
    let rows = listed["actions"].as_array().expect("actions");
    let best = rows
        .iter()
        .find(|row| row["id"] == "software-pipeline-or-andcm")
        .expect("it");
    assert_eq!(
        (&best["kind"], &best["refused"]),
        (&"refactor.rewrite".into(), &serde_json::Value::Null)
    );
    let id = "software-pipeline-parallel-compare";
    let diff = lockstep(&["apply", id, &file, "--at", &at, "--diff"]);
    assert!(diff.status.success(), "{}", errors(&diff));
    assert!(
        text(&diff).contains("\n+  #pragma lockstep pipeline(parallel_compare)\n"),
        "{}",
        text(&diff)
    );
    assert!(
        lockstep(&["apply", id, &file, "--at", &at, "--write"])
            .status
            .success()
    );
    let loops = parsed(&lockstep(&["loops", &file, "--format", "json"]));
    assert_eq!(loops["loops"][0]["method"], "parallel compare", "{loops}");
    // What is asked for in the source is emitted without an option.
    let emitted = lockstep(&["emit", &file, "--item", "find"]);
    assert!(text(&emitted).contains("br.wtop"), "{}", text(&emitted));
}

/// A client of an editor that has a processor configured.
fn client() -> support::Client {
    let mut client = support::Client::spawn(env!("CARGO_BIN_EXE_lockstep"), &["serve", "--stdio"]);
    client.initialize_with(
        json!({
            "general": { "positionEncodings": ["utf-8"] },
            "textDocument": { "codeAction": {
                "codeActionLiteralSupport": { "codeActionKind": { "valueSet": ["refactor.rewrite"] } },
                "disabledSupport": true,
            } },
        }),
        json!({ "processor": "itanium2" }),
    );
    client
}

fn line_of(source: &str, part: &str) -> usize {
    source
        .lines()
        .position(|line| line.contains(part))
        .expect(part)
}

#[test]
fn lines_of_source_and_code_lead_to_each_other_over_the_wire() {
    let mut client = client();
    let uri = "file:///work/saxpy.c";
    client.open(uri, "c", SAXPY);
    let row = line_of(SAXPY, "y[i] = a * x[i]");
    let position = json!({ "line": row, "character": 6 });
    let asked = json!({ "textDocument": { "uri": uri }, "position": position });
    let code = client.request("lockstep/code", asked.clone());
    assert_eq!(
        (&code["name"], &code["target"]),
        (&"saxpy".into(), &"ia64:itanium2".into())
    );
    let shown: Vec<&str> = code["text"].as_str().expect("a text").lines().collect();
    let rows = code["lines"].as_array().expect("lines");
    let pairs: Vec<(usize, usize)> = rows
        .iter()
        .map(|pair| {
            (
                pair[0].as_u64().expect("a line") as usize,
                pair[1].as_u64().expect("a line") as usize,
            )
        })
        .collect();
    // From the source to the code: its loads, its multiply-add and its store, each with its cycle or stage.
    let there: Vec<&str> = pairs
        .iter()
        .filter(|pair| pair.1 == row)
        .map(|pair| shown[pair.0])
        .collect();
    for part in ["ldfs", "fma.s", "stfs"] {
        assert!(
            there.iter().any(|line| line.contains(part)),
            "{part}: {there:?}"
        );
    }
    assert!(
        there.iter().any(|line| line.contains("stage ")),
        "{there:?}"
    );
    // From the code to the source: every line that is named is one, of the function.
    let first = line_of(SAXPY, "void saxpy(");
    let last = SAXPY.lines().count();
    for (line, source) in &pairs {
        assert!(
            *line < shown.len() && (first..last).contains(source),
            "{line} {source}"
        );
    }
    // After an edit in front, lines have moved.
    client.change(uri, 2, Some((0, 0, 0, 0)), "// One more line.\n");
    let moved =
        json!({ "textDocument": { "uri": uri }, "position": { "line": row + 1, "character": 6 } });
    let later = client.request("lockstep/code", moved);
    let expected: Vec<Value> = pairs
        .iter()
        .map(|(line, source)| json!([line, source + 1]))
        .collect();
    assert_eq!(later["lines"], json!(expected));
    assert_eq!(later["text"], code["text"]);
    assert_eq!(client.shutdown(), Some(0));
}

#[test]
fn rewrites_of_loops_and_of_assembly_are_offered_and_compared_over_the_wire() {
    let mut client = client();
    let uri = "file:///work/saxpy.c";
    client.open(uri, "c", SAXPY);
    let at = json!({ "line": line_of(SAXPY, "while (i < n)"), "character": 3 });
    let range = json!({ "start": at, "end": at });
    let document = json!({ "uri": uri });
    let found = client.request(
        "textDocument/codeAction",
        json!({ "textDocument": document, "range": range, "context": { "diagnostics": [] } }),
    );
    let found = found.as_array().expect("actions");
    let titled = |word: &str| {
        let title = |value: &&Value| {
            value["title"]
                .as_str()
                .is_some_and(|title| title.starts_with(word))
        };
        found
            .iter()
            .find(title)
            .unwrap_or_else(|| panic!("{word}: {found:?}"))
    };
    let restrict = titled("Add `restrict` to `x` and `y`");
    assert_eq!(restrict["kind"], "refactor.rewrite");
    assert!(restrict["edit"].is_object(), "{restrict}");
    let preview = client.request(
        "lockstep/preview",
        json!({ "textDocument": document, "range": range, "action": "add-restrict" }),
    );
    for side in ["before", "after"] {
        assert_eq!(preview[side]["target"], "ia64:itanium2", "{preview}");
    }
    assert_ne!(preview["before"]["text"], preview["after"]["text"]);
    let loose = "\t.text\n\t.proc f\nf:\n\tadd r14 = 1, r32 ;;\n\tadd r15 = 2, r33 ;;\n\tadd r16 = 3, r32 ;;\n\tadd r8 = r14, r15\n\tbr.ret.sptk.many b0 ;;\n\t.endp f\n";
    let uri = "file:///work/f.ia64.s";
    client.open(uri, "ia64", loose);
    let found = client.request(
        "textDocument/codeAction",
        json!({
            "textDocument": { "uri": uri },
            "range": { "start": { "line": 4, "character": 2 }, "end": { "line": 4, "character": 2 } },
            "context": { "diagnostics": [] },
        }),
    );
    let titles: Vec<&str> = found
        .as_array()
        .expect("actions")
        .iter()
        .filter_map(|it| it["title"].as_str())
        .collect();
    assert!(
        titles.iter().any(|title| title.starts_with("Re-bundle this block: ") && title.contains(" cycles, ")),
        "{titles:?}"
    );
    assert!(
        titles
            .iter()
            .all(|title| !title.contains("oftware-pipeline")),
        "{titles:?}"
    );
    assert_eq!(client.shutdown(), Some(0));
}

fn lowered(kernel: &Kernel, source: &str) -> Module {
    let items = parse_text(source, Dialect::C);
    for item in &items {
        assert!(item.problems.is_empty(), "{:?}\n{source}", item.problems);
    }
    let all = lower_unit(&items, &LowerOptions::new(ir::Language::C));
    let mut found = all.into_iter().map(|(_, lowered)| lowered);
    let found = found.find(|lowered| lowered.module.functions[0].name == kernel.name);
    let found = found.expect("the kernel");
    assert!(found.problems.is_empty(), "{:?}\n{source}", found.problems);
    found.module
}

/// Bits with one NaN for all.
fn bits(ty: Scalar, bits: u64) -> u64 {
    match ty {
        Scalar::Float if f32::from_bits(bits as u32).is_nan() => 0x7fc0_0000,
        Scalar::Double if f64::from_bits(bits).is_nan() => 0x7ff8_0000_0000_0000,
        _ => bits & (u64::MAX >> (64 - 8 * ty.bytes())),
    }
}

fn elements(ty: Scalar, bytes: &[u8]) -> Vec<u64> {
    let word = |chunk: &[u8]| {
        let bytes = chunk.iter().rev();
        bytes.fold(0u64, |sum, &byte| sum << 8 | u64::from(byte))
    };
    let chunks = bytes.chunks(ty.bytes());
    chunks.map(|chunk| bits(ty, word(chunk))).collect()
}

/// The result, then each buffer.
type Left = (Option<u64>, Vec<Vec<u64>>);

fn interpreted(kernel: &Kernel, source: &str) -> Left {
    let mut launch = oracle::interp::Launch::new(1);
    launch.warp_size = 1;
    launch.limits.steps = 50_000_000;
    for buffer in &kernel.buffers {
        let bytes = buffer.bytes.clone();
        launch.buffers.push(oracle::interp::Buffer::global(bytes));
    }
    for parameter in &kernel.parameters {
        launch.parameters.push(match parameter.argument {
            Argument::Pointer { buffer, offset } => {
                oracle::interp::Argument::Pointer { buffer, offset }
            }
            Argument::Scalar { bits, .. } => oracle::interp::Argument::Bits(bits),
        });
    }
    let outcome = oracle::interp::run(&lowered(kernel, source), &launch);
    assert_eq!(outcome.error, None, "{source}");
    let buffers = kernel.buffers.iter().zip(&outcome.buffers);
    (
        kernel.returns.map(|ty| bits(ty, outcome.returned[0][0])),
        buffers
            .map(|(buffer, after)| elements(buffer.element, &after.bytes))
            .collect(),
    )
}

/// Returns the result of the emitted code in the simulator: with the source's own requests, and nothing else.
fn simulated(kernel: &Kernel, source: &str) -> Left {
    let table = codegen::machine::named("itanium2").expect("a table");
    let epic = table.epic().expect("explicit groups");
    let options = Options {
        decisions: 60,
        ..Options::default()
    };
    let module = lowered(kernel, source);
    let emitted = emit(&module, epic, &options).expect("code");
    let document = syntax::ia64::parse(&emitted.text);
    let (code, problems) = Program::new(&document, &emitted.text);
    assert_eq!(problems, [], "{source}");
    let mut memory = Memory::new();
    let mut places = Vec::new();
    for buffer in &kernel.buffers {
        places.push(memory.place(&buffer.bytes).expect("room"));
    }
    let arguments: Vec<Arg> = kernel
        .parameters
        .iter()
        .map(|parameter| match parameter.argument {
            Argument::Pointer { buffer, offset } => Arg::Integer(places[buffer] + offset),
            Argument::Scalar { ty, bits } => match ty {
                Scalar::Float => Arg::Single(f32::from_bits(bits as u32)),
                Scalar::Double => Arg::Double(f64::from_bits(bits)),
                _ => Arg::Integer(bits),
            },
        })
        .collect();
    let limits = sim::Limits {
        steps: 200_000_000,
        ..sim::Limits::default()
    };
    let outcome = sim::run(&code, &kernel.name, &arguments, &mut memory, &limits);
    let outcome = outcome.unwrap_or_else(|fault| panic!("{fault}\n{source}"));
    assert_eq!(outcome.violations, [], "{source}");
    let result = kernel.returns.map(|ty| {
        let found = match ty {
            Scalar::Float => u64::from((outcome.float.to_f64() as f32).to_bits()),
            Scalar::Double => outcome.float.to_f64().to_bits(),
            _ => outcome.result.expect("a result"),
        };
        bits(ty, found)
    });
    let buffers = kernel.buffers.iter().zip(places).map(|(buffer, place)| {
        let left = memory.bytes(place, buffer.bytes.len()).expect("memory");
        elements(buffer.element, left)
    });
    (result, buffers.collect())
}

fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn random_kernels_compute_the_same_after_each_action() {
    let first = setting("LOCKSTEP_FIRST", 0);
    let count = setting("LOCKSTEP_LOOP_KERNELS", 40);
    let mut tally: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for seed in first..first + count {
        let kernel = kernel(seed);
        let source = &kernel.text;
        let expected = interpreted(&kernel, source);
        let (db, file) = open(source);
        let mut seen: Vec<String> = Vec::new();
        for word in ["for (", "while (", "do {", "if ("] {
            for (offset, _) in source.match_indices(word) {
                for action in actions(&db, file, Span::at(offset as u32)) {
                    let counts = tally.entry(action.id.clone()).or_default();
                    let Doing::Edit(edits) = &action.what else {
                        counts.1 += 1;
                        continue;
                    };
                    let changed = edited(source, edits).expect("an edit");
                    if seen.contains(&changed) {
                        continue;
                    }
                    counts.0 += 1;
                    let told = || format!("seed {seed} {}\n{source}\n{changed}", action.id);
                    assert!(interpreted(&kernel, &changed) == expected, "{}", told());
                    // A promise that two arrays are apart need not hold for these.
                    if action.id != "add-restrict" {
                        assert!(simulated(&kernel, &changed) == expected, "{}", told());
                    }
                    seen.push(changed);
                }
            }
        }
    }
    println!("applied and refused, of {count} kernels: {tally:?}");
    let applied = |id: &str| tally.get(id).map_or(0, |counts| counts.0);
    for id in [
        "software-pipeline",
        "if-convert",
        "add-restrict",
        "leave-loop",
    ] {
        assert!(applied(id) > 0 || count < 40, "{id}: {tally:?}");
    }
}

/// Comments of several lines are indented with the code around them, and are the same comments all the same.
#[test]
fn comments_of_several_lines_stay_in_an_unrolled_loop() {
    let source = "\
int sum(const int *restrict a, int n) {
    int s = 0;
    for (int i = 0; i < n; i++) {
        /* the first
           of several lines */
        s += a[i];
        s ^= i; /* two
        lines */
    }
    return s;
}
";
    let found = at(source, "for (");
    // The changed text has passed its check, whatever it gains.
    match &of(&found, "unroll-2").what {
        Doing::Edit(_) => {}
        Doing::Refused { reason } => assert!(reason.starts_with("nothing is gained"), "{reason}"),
        other => panic!("{other:?}"),
    }
}
