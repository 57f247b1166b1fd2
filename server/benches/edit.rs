//! In-process costs of an edit: from text to hints, without the protocol.

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use lockstep_server::db::{Database, File, Source};
use lockstep_server::views;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use syntax::Span;

#[path = "../tests/support/mod.rs"]
mod support;

fn source(text: &str) -> Source {
    Source::Text {
        text: Arc::from(text),
        lossy: false,
    }
}

fn look(db: &Database, file: File) -> usize {
    let switches = &file.settings(db).view(db).hints;
    views::hints::hints(db, file, Span::new(10_000, 12_000), switches).len()
}

fn edits(criterion: &mut Criterion) {
    for lines in [1_000, 10_000] {
        let text = support::generated(lines);
        let middle = text.len() / 2;
        let at = text[middle..]
            .find("1.0f ? 1.0f")
            .map_or(0, |at| at + middle);
        let other = format!("{}2.0f{}", &text[..at], &text[at + 4..]);
        let shifted = format!("\n{text}");
        let mut db = Database::default();
        let file = db.file_with_text(Path::new("/bench/a.cu"), source(&text));
        look(&db, file);
        let mut group = criterion.benchmark_group(format!("{lines} lines"));
        group.sample_size(20);
        for (name, changed) in [
            ("edit in one function", &other),
            ("line inserted above", &shifted),
        ] {
            let mut flip = false;
            group.bench_function(name, |bencher| {
                bencher.iter(|| {
                    flip = !flip;
                    db.set_source(file, source(if flip { changed } else { &text }));
                    black_box(look(&db, file))
                });
            });
        }
        group.bench_function("lex", |bencher| {
            bencher.iter_batched(
                || Arc::from(text.as_str()),
                |text: Arc<str>| black_box(syntax::c_family::lexer::lex_shared(text)),
                BatchSize::SmallInput,
            );
        });
        group.bench_function("preprocess", |bencher| {
            bencher.iter(|| {
                black_box(syntax::preprocess::preprocess_text(
                    "a.cu",
                    &text,
                    syntax::c_family::Dialect::Cuda,
                ))
            });
        });
        group.finish();
    }
}

criterion_group!(benches, edits);
criterion_main!(benches);
