//! The view of a profile in an editor.

use super::{Place, errors, fixture, lockstep};
use lockstep_server::config::{AnalysisConfig, ViewConfig};
use lockstep_server::db::{Database, File, Source};
use lockstep_server::views::hints::Category;
use lockstep_server::views::{self, zeros};
use std::path::Path;
use std::sync::Arc;
use syntax::Span;

fn open(db: &mut Database, path: &str) -> File {
    let text = std::fs::read_to_string(path).expect("the source");
    db.file_with_text(Path::new(path), source(&text))
}

fn source(text: &str) -> Source {
    Source::Text {
        text: Arc::from(text),
        lossy: false,
    }
}

/// The name that a hint is about, and the hint's first remark: at the end of the line others may follow.
fn hints(db: &Database, file: File) -> Vec<(String, String)> {
    let switches = file.settings(db).view(db).hints.clone();
    let text = lockstep_server::program::text(file.source(db)).to_owned();
    views::hints::hints(db, file, Span::new(0, u32::MAX), &switches)
        .into_iter()
        .filter(|hint| hint.category == Category::Zero)
        .map(|hint| {
            let rest = &text[hint.about as usize..hint.offset as usize];
            let name = rest.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            let first = hint.label.split(" · ").next();
            (
                name.into_iter().next().unwrap_or("").to_owned(),
                first.unwrap_or("").trim().to_owned(),
            )
        })
        .collect()
}

fn codes(db: &Database, file: File) -> Vec<String> {
    views::diagnostics::diagnostics(db, file)
        .into_iter()
        .filter(|diagnostic| diagnostic.code.contains("profile"))
        .map(|diagnostic| {
            format!(
                "{:?} {}: {}",
                diagnostic.level, diagnostic.code, diagnostic.message
            )
        })
        .collect()
}

fn profiled(place: &Place, stem: &str, extension: &str) -> String {
    let name = format!("{stem}.{extension}");
    let path = place.file(&name, std::fs::read(fixture(&name)).expect("a fixture"));
    let output = lockstep(&[
        "profile",
        &path,
        "--inputs",
        &fixture(&format!("{stem}.toml")),
        "--no-config",
    ]);
    assert!(output.status.success(), "{}", errors(&output));
    path
}

fn hover(db: &Database, file: File, before: &str, name: &str) -> String {
    let text = lockstep_server::program::text(file.source(db)).to_owned();
    let at = text.find(before).expect("the place") + before.len();
    assert!(text[at..].starts_with(name));
    let hover = views::hover::hover(db, file, at as u32);
    hover.map(|hover| hover.markdown).unwrap_or_default()
}

#[test]
fn definitions_say_how_often_they_are_zero() {
    let place = Place::new("hints");
    let path = profiled(&place, "sparse_layer", "cu");
    let mut db = Database::default();
    let file = open(&mut db, &path);
    let shown = hints(&db, file);
    let has = |name: &str, label: &str| shown.contains(&(name.into(), label.into()));
    // The callee's own definition, and what the kernel makes of it.
    assert!(has("relu", "0 in 72 % of warps"), "{shown:?}");
    assert!(has("active", "0 in 72 % of warps"), "{shown:?}");
    assert!(has("scaled", "0 in 72 % of warps"), "{shown:?}");
    assert!(!shown.iter().any(|(name, _)| name == "i"), "{shown:?}");
    let told = hover(&db, file, "    float ", "relu");
    assert!(
        told.contains("0 in 72 % of warps") && told.contains("sparse_layer.toml"),
        "{told}"
    );
    assert!(told.contains("useless"), "{told}");
    assert_eq!(codes(&db, file), Vec::<String>::new());

    let mut view = ViewConfig::default();
    view.hints.zeros = false;
    let off = db.new_settings(AnalysisConfig::default(), view, Vec::new());
    db.set_file_settings(file, off);
    assert_eq!(hints(&db, file), []);

    let path = profiled(&place, "lit_surface", "hlsl");
    let file = open(&mut db, &path);
    let shown = hints(&db, file);
    let has = |name: &str, label: &str| shown.contains(&(name.into(), label.into()));
    assert!(has("diffuse", "0 in 86 % of waves"), "{shown:?}");
    assert!(has("color", "0 in 86 % of waves"), "{shown:?}");
    let told = hover(&db, file, "Shininess);\n    float3 ", "color");
    assert!(told.contains("each alone: `.x` 86 %"), "{told}");
}

#[test]
fn edits_elsewhere_keep_the_hints_and_edits_of_the_code_are_told_once() {
    let place = Place::new("stale");
    let path = profiled(&place, "sparse_layer", "cu");
    let mut db = Database::default();
    let file = open(&mut db, &path);
    let text = std::fs::read_to_string(&path).expect("the source");
    let before = hints(&db, file);
    let moved = format!(
        "// moved\n\n{}\n__device__ int other() {{ return 1; }}\n",
        text.replace("float x", "/* x */ float x")
    );
    db.set_source(file, source(&moved));
    assert_eq!(hints(&db, file), before);
    assert_eq!(codes(&db, file), Vec::<String>::new());

    let edited = text.replace("expf(in[i])", "expf(in[i] + 1.0f)");
    db.set_source(file, source(&edited));
    let told = codes(&db, file);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with("Hint stale-profile: `layer` has changed"),
        "{told:?}"
    );
    let shown = hints(&db, file);
    assert!(shown.iter().any(|(name, _)| name == "relu"), "{shown:?}");
    // Another operation has the name now.
    assert!(
        !shown.iter().any(|(name, _)| name == "nothing"),
        "{shown:?}"
    );
    let renamed = text.replace("float scaled = active *", "float scaled = 2.0f + active *");
    db.set_source(file, source(&renamed));
    let shown = hints(&db, file);
    assert!(!shown.iter().any(|(name, _)| name == "scaled"), "{shown:?}");
}

#[test]
fn a_profile_that_cannot_be_used_is_a_diagnostic() {
    let place = Place::new("corrupt");
    let path = profiled(&place, "sparse_layer", "cu");
    let beside = format!("{path}.lockstep-profile.json");
    let good = std::fs::read_to_string(&beside).expect("the profile");
    for (bad, wanted) in [
        (good[..good.len() / 3].to_owned(), "line"),
        (
            good.replace("\"version\": 1", "\"version\": 7"),
            "version 7",
        ),
        (
            good.replace("\"warp_size\": 32", "\"warp_size\": 64"),
            "64 lanes a warp",
        ),
        ("[".repeat(100_000), "profile"),
    ] {
        std::fs::write(&beside, bad).expect("written");
        let mut db = Database::default();
        let file = open(&mut db, &path);
        let told = codes(&db, file);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].starts_with("Warning unusable-profile") && told[0].contains(wanted),
            "{told:?}"
        );
        assert_eq!(hints(&db, file), []);
        assert!(zeros::hover(&db, file, Span::new(0, 1), ir::Language::Cuda).is_none());
    }
    std::fs::remove_file(&beside).expect("removed");
    let mut db = Database::default();
    let file = open(&mut db, &path);
    assert_eq!(codes(&db, file), Vec::<String>::new());
    let told = hover(&db, file, "    float ", "relu");
    assert!(
        told.contains("unprofiled") && told.contains("maximum with 0"),
        "{told}"
    );
    // Configured, in a directory of its own.
    let elsewhere = place.path("profiles");
    std::fs::create_dir_all(&elsewhere).expect("a directory");
    std::fs::write(
        Path::new(&elsewhere).join("sparse_layer.cu.lockstep-profile.json"),
        &good,
    )
    .expect("written");
    let view = ViewConfig {
        profile: Some(elsewhere.into()),
        ..ViewConfig::default()
    };
    let settings = db.new_settings(AnalysisConfig::default(), view, Vec::new());
    db.set_file_settings(file, settings);
    assert!(!hints(&db, file).is_empty());
}
