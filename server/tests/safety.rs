//! Files that are none, disks that are full, clients that are gone, documents that were closed: nothing freezes, nothing
//! is lost, nothing is kept.
#![cfg(unix)]

#[path = "support/command.rs"]
mod command;
mod support;

use command::{Place, errors, lockstep};
use rustix::fs::{CWD, Mode};
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::Client;

const KERNEL: &str =
    "__global__ void k(int* out) { if (threadIdx.x < 3) __syncthreads(); out[0] = 1; }\n";
const COUNTED: &str = "__global__ void k(float* out, const float* in) { int i = threadIdx.x; float a = in[i]; float b = a * in[i + 1]; if (i < 3) __syncthreads(); out[i] = b * a; }\n";
const LOOP: &str = "void scale(float *restrict to, const float *restrict from, int n) {\n    for (int i = 0; i < n; i++)\n        to[i] = 2.0f * from[i];\n}\n";

/// Reading one of these never ends, never begins, or takes data that is meant for another reader.
fn endless(place: &Place) -> Vec<String> {
    let fifo = place.path("fifo");
    rustix::fs::mkfifoat(CWD, &fifo, Mode::RUSR | Mode::WUSR).expect("a FIFO");
    let link = place.path("link.h");
    std::os::unix::fs::symlink("/dev/zero", &link).expect("a link");
    vec![fifo, link, "/dev/zero".into(), "/dev/stdin".into()]
}

/// No file that is not a regular one is read, whatever names it: an include, a machine's table, a baseline, a
/// profile.
#[test]
fn what_is_no_regular_file_is_not_read() {
    let place = Place::new("endless");
    let mut includes = String::new();
    for (number, path) in endless(&place).iter().enumerate() {
        includes.push_str(&format!("#include \"{path}\"\n"));
        let folder = place.folder().join(number.to_string());
        std::fs::create_dir(&folder).expect("a folder");
        let settings =
            format!("machine_file = \"{path}\"\nbaseline = \"{path}\"\nprofile = \"{path}\"\n");
        std::fs::write(folder.join("lockstep.toml"), settings).expect("written");
        let file = folder.join("k.cu");
        std::fs::write(&file, KERNEL).expect("written");
        let mut client = Client::spawn(env!("CARGO_BIN_EXE_lockstep"), &["serve", "--stdio"]);
        client.initialize(json!({}));
        let uri = format!("file://{}", file.display());
        client.open(&uri, "cuda-cpp", KERNEL);
        let published = client.wait_for("textDocument/publishDiagnostics", |published| {
            published["uri"] == uri.as_str()
        });
        assert!(
            published.to_string().contains("divergent-barrier"),
            "{published}"
        );
        assert_eq!(client.shutdown(), Some(0));
    }
    let main = place.file("main.cu", format!("{includes}{KERNEL}"));
    let begin = Instant::now();
    let checked = lockstep(&["check", &main]);
    assert!(
        command::text(&checked).contains("divergent-barrier"),
        "{}",
        errors(&checked)
    );
    assert!(begin.elapsed() < Duration::from_secs(30));

    let mut client = Client::spawn(env!("CARGO_BIN_EXE_lockstep"), &["serve", "--stdio"]);
    client.initialize(json!({}));
    let uri = format!("file://{main}");
    client.open(&uri, "cuda-cpp", &format!("{includes}{KERNEL}"));
    let other = "file:///safety/other.cu";
    client.open(other, "cuda-cpp", KERNEL);
    for uri in [other, &uri] {
        let published = client.wait_for("textDocument/publishDiagnostics", |published| {
            published["uri"] == uri
        });
        assert!(
            published.to_string().contains("divergent-barrier"),
            "{published}"
        );
    }
    assert!(client.resident().is_none_or(|kib| kib < 300 << 10));
    assert_eq!(client.shutdown(), Some(0));
}

/// Every command that writes a file: its arguments but for the file.
fn writers<'a>(source: &'a str, loops: &'a str, inputs: &'a str) -> Vec<Vec<&'a str>> {
    vec![
        vec!["emit", loops, "-o"],
        vec!["profile", source, "--inputs", inputs, "-o"],
        vec!["instrument", source, "-o"],
        vec!["check", source, "--write-baseline"],
    ]
}

#[test]
fn only_regular_files_are_written_through_links_and_with_their_mode() {
    let place = Place::new("written");
    let (source, loops) = (place.file("k.cu", COUNTED), place.file("scale.c", LOOP));
    let inputs = place.file(
        "k.toml",
        "[launch]\nthreads = [64]\n[buffers.out]\ntype = \"f32\"\ncount = 4096\n",
    );
    for (number, arguments) in writers(&source, &loops, &inputs).iter().enumerate() {
        let with = |output: &str| {
            let mut all = arguments.clone();
            all.push(output);
            lockstep(&all)
        };
        // A copy of the device: a mistake must not cost the machine its own.
        let device = place.path(&format!("null-{number}"));
        let fifo = rustix::fs::mkfifoat(CWD, &device, Mode::RUSR | Mode::WUSR);
        fifo.expect("a FIFO");
        let refused = with(&device);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}");
        assert!(
            errors(&refused).contains("not a regular file"),
            "{arguments:?}: {}",
            errors(&refused)
        );
        assert!(!std::fs::metadata(&device).expect("is there").is_file());

        let target = place.path(&format!("target-{number}.json"));
        let link = place.path(&format!("link-{number}.json"));
        std::fs::write(&target, "{ \"version\": 1, \"findings\": [] }").expect("written");
        std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o640)).expect("set");
        std::os::unix::fs::symlink(&target, &link).expect("a link");
        let done = with(&link);
        assert_eq!(
            done.status.code(),
            Some(0),
            "{arguments:?}: {}",
            errors(&done)
        );
        assert!(
            std::fs::symlink_metadata(&link)
                .expect("is there")
                .is_symlink()
        );
        let metadata = std::fs::metadata(&target).expect("is there");
        assert_eq!(
            metadata.permissions().mode() & 0o777,
            0o640,
            "{arguments:?}"
        );
        assert!(metadata.len() > 40, "{arguments:?}");
    }
}

/// A limit on the size of files stands for a disk without room.
#[test]
fn a_full_disk_leaves_the_old_file() {
    let place = Place::new("full");
    let old = "what was there before\n".repeat(200);
    let output = place.file("scale.s", &old);
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$@\"";
    let binary = env!("CARGO_BIN_EXE_lockstep");
    let loops: String = (0..40)
        .map(|n| LOOP.replace("scale", &format!("scale{n}")))
        .collect();
    let many = place.file("many.c", loops);
    let run = Command::new("sh")
        .args(["-c", script, "sh", binary])
        .args(["emit", &many, "-o", &output])
        .output()
        .expect("a shell");
    assert_eq!(run.status.code(), Some(2), "{}", errors(&run));
    assert_eq!(std::fs::read_to_string(&output).expect("is there"), old);
    let left = std::fs::read_dir(place.folder()).expect("lists").count();
    assert_eq!(left, 2, "nothing is left behind");
}

#[test]
fn the_server_ends_with_its_client() {
    let mut editor = Command::new("sleep")
        .arg("600")
        .stdout(Stdio::null())
        .spawn()
        .expect("a process");
    let mut client = Client::spawn(env!("CARGO_BIN_EXE_lockstep"), &["serve", "--stdio"]);
    client.request(
        "initialize",
        json!({ "processId": editor.id(), "rootUri": null, "capabilities": {} }),
    );
    client.drain(Duration::from_secs(4));
    assert!(matches!(client.process.try_wait(), Ok(None)), "it lives on");
    editor.kill().expect("it runs");
    // Nobody has waited for it yet: it is a zombie now.
    assert_eq!(client.exit_code(), Some(1));
    editor.wait().expect("it has ended");
}

/// A number that means nothing here is no reason to end.
#[test]
fn a_client_elsewhere_is_not_watched() {
    let mut client = Client::spawn(env!("CARGO_BIN_EXE_lockstep"), &["serve", "--stdio"]);
    client.request(
        "initialize",
        json!({ "processId": 0x7fff_fff0_u32, "rootUri": null, "capabilities": {} }),
    );
    client.drain(Duration::from_secs(4));
    assert_eq!(client.shutdown(), Some(0));
}

/// Documents that were closed, and the headers that only they included, are freed.
#[test]
fn closed_documents_take_no_memory() {
    if !Path::new("/proc/self/status").exists() {
        eprintln!("not judged: there is no /proc to tell how much memory a process has");
        return;
    }
    let place = Place::new("closed");
    let text = support::generated(600);
    let mut client = Client::spawn(env!("CARGO_BIN_EXE_lockstep"), &["serve", "--stdio"]);
    client.initialize(json!({}));
    let kept = "file:///safety/kept.cu";
    client.open(kept, "cuda-cpp", KERNEL);
    // The least of several measures: what an allocator has not given back yet comes and goes.
    let (mut early, mut late) = (u64::MAX, u64::MAX);
    for number in 0..64 {
        let header = place.file(&format!("{number}.cuh"), text.replace("kernel_", "helper_"));
        let uri = format!("file:///safety/{number}.cu");
        client.open(&uri, "cuda-cpp", &format!("#include \"{header}\"\n{text}"));
        client.wait_for("textDocument/publishDiagnostics", |published| {
            published["uri"] == uri.as_str()
        });
        let hints = json!({ "textDocument": { "uri": uri }, "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 600, "character": 0 } } });
        client.request("textDocument/inlayHint", hints);
        client.notify(
            "textDocument/didClose",
            json!({ "textDocument": { "uri": uri } }),
        );
        let resident = client.resident().expect("a process that lives");
        match number {
            4..16 => early = early.min(resident),
            52.. => late = late.min(resident),
            _ => {}
        }
    }
    assert!(
        late < early + early / 4,
        "{early} KiB after 16 documents, {late} after 64"
    );
    assert_eq!(client.shutdown(), Some(0));
}
