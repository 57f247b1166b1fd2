//! The number of times that sides of branches are taken, and the hot path of a function: beside the code,
//! above it and in hovers, from counted paths and from counts of edges.

#[path = "support/command.rs"]
mod command;
mod support;

use command::{Place, errors, lockstep};
use serde_json::{Value, json};
use support::Client;

/// Few elements are large, but the work for them is much.
const SHADE: &str = "__global__ void shade(const float* in, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    if (x > 0.96f) {
        float y = x * x;
        for (int k = 0; k < 3; ++k)
            y = y * x + sqrtf(y);
        out[i + n] = y;
    }
    if (x > 0.5f)
        x = 0.5f - x;
    out[i] = x;
}
";

const INPUTS: &str = "item = \"shade\"
[launch]
threads = [1024]
block = [64, 1, 1]
[values]
n = 1024
[buffers.in]
type = \"f32\"
count = 1024
fill = \"sequence\"
start = 0
step = 0.0009765625
[buffers.out]
type = \"f32\"
count = 2048
";

struct Shown {
    client: Client,
    uri: String,
}

impl Shown {
    fn open(file: &str, language: &str, text: &str) -> Shown {
        let mut client = Client::spawn(env!("CARGO_BIN_EXE_lockstep"), &["serve", "--stdio"]);
        client.initialize(json!({ "general": { "positionEncodings": ["utf-8"] } }));
        let uri = format!("file://{file}");
        client.open(&uri, language, text);
        Shown { client, uri }
    }

    /// Line from 0, and label.
    fn hints(&mut self) -> Vec<(u64, String)> {
        let all = json!({ "textDocument": { "uri": self.uri }, "range": {
            "start": { "line": 0, "character": 0 }, "end": { "line": 100, "character": 0 } } });
        let hints = self.client.request("textDocument/inlayHint", all);
        let hints = hints.as_array().expect("hints").iter();
        let of = |hint: &Value| {
            let line = hint["position"]["line"].as_u64().expect("a line");
            (line, hint["label"].as_str().expect("a text").to_owned())
        };
        hints.map(of).collect()
    }

    fn lenses(&mut self) -> String {
        let document = json!({ "textDocument": { "uri": self.uri } });
        self.client
            .request("textDocument/codeLens", document)
            .to_string()
    }

    fn hover(&mut self, line: u32, character: u32) -> String {
        let at = json!({ "textDocument": { "uri": self.uri }, "position": { "line": line, "character": character } });
        self.client.request("textDocument/hover", at).to_string()
    }
}

fn profiled(place: &Place) -> String {
    let file = place.file("shade.cu", SHADE);
    let inputs = place.file("shade.toml", INPUTS);
    let ran = lockstep(&["profile", &file, "--inputs", &inputs, "--no-config"]);
    assert!(ran.status.success(), "{}", errors(&ran));
    file
}

#[test]
fn sides_that_are_seldom_taken_and_hot_paths_are_shown() {
    let place = Place::new("ways");
    let file = profiled(&place);
    let mut shown = Shown::open(&file, "cuda-cpp", SHADE);
    let hints = shown.hints();
    // 40 of 1,024 elements; half of them pass the second test, which is nothing to look at.
    let at = |line: u64| -> Vec<&String> {
        let here = hints
            .iter()
            .filter(|(l, label)| *l == line && label.contains("taken"));
        here.map(|(_, label)| label).collect()
    };
    assert!(
        at(4).iter().any(|label| label.contains("taken 4 %")),
        "{hints:?}"
    );
    assert_eq!(at(10), Vec::<&String>::new(), "{hints:?}");
    assert_eq!(
        at(6),
        Vec::<&String>::new(),
        "loops go on as loops do: {hints:?}"
    );
    assert!(
        hints
            .iter()
            .all(|(_, label)| label.trim().chars().count() <= 43),
        "{hints:?}"
    );
    let lenses = shown.lenses();
    assert!(lenses.contains("hot path: 3-5, "), "{lenses}");
    assert!(lenses.contains(" % of what runs)"), "{lenses}");
    let condition = shown.hover(4, 10);
    assert!(
        condition.contains("the condition held in 40 of 1024 executions, by the profile"),
        "{condition}"
    );
    let second = shown.hover(10, 10);
    assert!(second.contains("taken 50 %"), "{second}");
    let head = shown.hover(0, 17);
    assert!(
        head.contains("**hot path** ") && head.contains("in 1024 entries by lanes"),
        "{head}"
    );
}

#[test]
fn frequencies_can_be_switched_off() {
    let place = Place::new("ways-off");
    let file = profiled(&place);
    place.file("lockstep.toml", "[hints]\nfrequencies = false\n");
    let mut shown = Shown::open(&file, "cuda-cpp", SHADE);
    let hints = shown.hints();
    assert!(
        hints.iter().all(|(_, label)| !label.contains("taken")),
        "{hints:?}"
    );
    let lenses = shown.lenses();
    assert!(!lenses.contains("hot path"), "{lenses}");
}

const COUNT: &str = "int count(const int *a, int n, int *log)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        if (a[i] < 0) {
            log[0] = a[i];
            log[1] = i * 3 + sum;
            log[2] = sum / 7;
        }
        if (a[i] & 1) { sum++; } if (a[i] & 2) { sum += a[i]; }
    }
    return sum;
}
";

const GCOV: &str = "        -:    0:Source:count.c
function count called 2 returned 100% blocks executed 100%
        2:    1:int count(const int *a, int n, int *log)
        2:    3:    int sum = 0;
      502:    4:    for (int i = 0; i < n; i++) {
branch  0 taken 500
branch  1 taken 2 (fallthrough)
      500:    5:        if (a[i] < 0) {
branch  0 taken 10 (fallthrough)
branch  1 taken 490
       10:    6:            log[0] = a[i];
       10:    7:            log[1] = i * 3 + sum;
       10:    8:            log[2] = sum / 7;
      500:   10:        if (a[i] & 1) { sum++; } if (a[i] & 2) { sum += a[i]; }
branch  0 taken 300 (fallthrough)
branch  1 taken 200
branch  2 taken 200 (fallthrough)
branch  3 taken 300
        2:   12:    return sum;
";

/// Counts of edges say the same where they are exact, and bounds where they are bounds.
#[test]
fn counts_of_lines_are_shown_as_what_they_are() {
    let place = Place::new("ways-gcov");
    let file = place.file("count.c", COUNT);
    let report = place.file("count.c.gcov", GCOV);
    let ran = lockstep(&["profile", "import", &file, "--gcov", &report, "--no-config"]);
    assert!(ran.status.success(), "{}", errors(&ran));
    let written = std::fs::read(format!("{file}.lockstep-profile.json")).expect("a profile");
    std::fs::remove_file(format!("{file}.lockstep-profile.json")).expect("it was there");
    // An editor imports the same.
    let mut shown = Shown::open(&file, "c", COUNT);
    let imported = shown.client.request(
        "workspace/executeCommand",
        json!({ "command": "lockstep.importProfile", "arguments": [
            { "textDocument": { "uri": shown.uri }, "gcov": report } ] }),
    );
    assert_eq!(imported["items"], 1, "{imported}");
    let again = std::fs::read(format!("{file}.lockstep-profile.json")).expect("a profile");
    assert!(written == again, "{}", String::from_utf8_lossy(&again));
    let hints = shown.hints();
    assert!(
        hints
            .iter()
            .any(|(line, label)| *line == 4 && label.contains("taken 2 %")),
        "{hints:?}"
    );
    assert!(
        hints
            .iter()
            .all(|(line, label)| *line != 9 || !label.contains("taken")),
        "{hints:?}"
    );
    let known = shown.hover(4, 14);
    assert!(
        known.contains("held in 10 of 500 executions, by the profile, which counts edges alone"),
        "{known}"
    );
    let bounded = shown.hover(9, 14);
    assert!(bounded.contains("**sides not counted apart**"), "{bounded}");
    assert!(
        bounded.contains("held in between 0 and 500 of 500 executions"),
        "{bounded}"
    );
}
