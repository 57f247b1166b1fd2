//! Counts the inlay hints that a server shows of the files of projects: all, those that an editor cuts, lines with two.
//!
//! ```text
//! cargo run --release -p lockstep-server --example hints -- [--server PATH]... [--list] [--most N] PROJECT...
//! ```
//!
//! Every server that is named is asked over the protocol, so that an older build can be compared with a newer one; without
//! one it is `target/release/lockstep`. `--list` prints the hints themselves: file, line, label. `--most` bounds the files
//! of a project; of C, which has lenses in place of hints, those are counted.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// The length at which VS Code cuts a hint.
const CUT: usize = 43;
/// The time within which the server finds the headers of a file.
const FOUND: Duration = Duration::from_millis(100);

struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Server {
    fn start(path: &Path) -> Server {
        let mut child = Command::new(path)
            .args(["serve", "--stdio"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut server = Server {
            child,
            input,
            output,
            next: 0,
        };
        let settings = json!({ "processor": "itanium2" });
        server.request(
            "initialize",
            json!({ "capabilities": {}, "initializationOptions": settings }),
        );
        server.notify("initialized", json!({}));
        server
    }

    fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("it reads");
        self.input.flush().expect("it reads");
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({ "method": method, "params": params }));
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(json!({ "id": id, "method": method, "params": params }));
        loop {
            let message = self.receive();
            if message["id"] == json!(id) && message.get("method").is_none() {
                return message["result"].clone();
            }
        }
    }

    /// Waits until a file has its diagnostics.
    fn until_diagnosed(&mut self, uri: &str) {
        loop {
            let message = self.receive();
            if message["method"] == json!("textDocument/publishDiagnostics")
                && message["params"]["uri"] == json!(uri)
            {
                return;
            }
        }
    }

    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).expect("an answer");
            match line.trim().split_once(": ") {
                Some(("Content-Length", number)) => length = number.parse().expect("a number"),
                None if line.trim().is_empty() => break,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        self.output.read_exact(&mut body).expect("a body");
        serde_json::from_slice(&body).expect("JSON")
    }
}

#[derive(Default)]
struct Count {
    files: usize,
    hints: usize,
    cut: usize,
    crowded: usize,
    braces: usize,
    lenses: usize,
}

fn language(path: &Path) -> Option<&'static str> {
    Some(match path.extension()?.to_str()? {
        "cu" | "cuh" => "cuda-cpp",
        "hlsl" | "hlsli" | "fx" => "hlsl",
        "comp" | "frag" | "vert" => "glsl",
        "ptx" => "ptx",
        "c" => "c",
        _ => return None,
    })
}

fn files(root: &Path, most: usize) -> Vec<PathBuf> {
    let walked = ignore::WalkBuilder::new(root).git_ignore(false).build();
    let mut all: Vec<PathBuf> = walked
        .flatten()
        .map(|entry| entry.into_path())
        .filter(|path| path.is_file() && language(path).is_some())
        .collect();
    all.sort();
    // Evenly spread, the same at every call.
    let step = all.len().div_ceil(most.max(1)).max(1);
    all.into_iter().step_by(step).collect()
}

fn count(server: &mut Server, path: &Path, list: bool, count: &mut Count) {
    let Ok(text) = std::fs::read_to_string(path) else {
        return;
    };
    let path = path.canonicalize().expect("it was found");
    let uri = format!("file://{}", path.display());
    let document = json!({ "uri": uri, "languageId": language(&path), "version": 1, "text": text });
    server.notify("textDocument/didOpen", json!({ "textDocument": document }));
    server.until_diagnosed(&uri);
    // Headers that lie elsewhere in the project are found a little later, which only a refresh tells.
    if text.contains("#include") {
        std::thread::sleep(FOUND);
    }
    let lines: Vec<&str> = text.lines().collect();
    let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": lines.len(), "character": 0 } });
    let of = json!({ "uri": uri });
    let hints = server.request(
        "textDocument/inlayHint",
        json!({ "textDocument": of, "range": range }),
    );
    let mut at: Vec<(usize, String)> = Vec::new();
    for hint in hints.as_array().into_iter().flatten() {
        let line = hint["position"]["line"].as_u64().unwrap_or(0) as usize;
        at.push((line, hint["label"].as_str().unwrap_or("").to_owned()));
    }
    at.sort();
    count.files += 1;
    count.hints += at.len();
    count.cut += (at.iter().filter(|(_, label)| label.chars().count() > CUT)).count();
    count.crowded += at
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|it| it.len() > 1)
        .count();
    let brace = |line: &str| !line.is_empty() && !line.contains(char::is_alphanumeric);
    count.braces += (at.iter())
        .filter(|(line, _)| lines.get(*line).is_some_and(|text| brace(text.trim())))
        .count();
    if list {
        for (line, label) in &at {
            println!("{}:{}\t{label}", path.display(), line + 1);
        }
    }
    if language(&path) == Some("c") {
        let lenses = server.request("textDocument/codeLens", json!({ "textDocument": of }));
        count.lenses += lenses.as_array().map_or(0, Vec::len);
    }
    server.notify("textDocument/didClose", json!({ "textDocument": of }));
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (mut servers, mut projects) = (Vec::new(), Vec::new());
    let (mut list, mut most) = (false, usize::MAX);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().expect("an option with a value");
        match argument.as_str() {
            "--server" => servers.push(PathBuf::from(value())),
            "--most" => most = value().parse().expect("a number"),
            "--list" => list = true,
            _ => projects.push(PathBuf::from(argument)),
        }
    }
    if servers.is_empty() {
        servers.push(PathBuf::from("target/release/lockstep"));
    }
    for project in &projects {
        for path in &servers {
            let mut server = Server::start(path);
            let mut found = Count::default();
            for file in files(project, most) {
                count(&mut server, &file, list, &mut found);
            }
            let _ = server.child.kill();
            let _ = server.child.wait();
            println!(
                "{} by {}: {} files, {} hints, {} over {CUT} characters, {} lines with two, {} at a lone brace, {} lenses of C",
                project.display(),
                path.display(),
                found.files,
                found.hints,
                found.cut,
                found.crowded,
                found.braces,
                found.lenses
            );
        }
    }
}
