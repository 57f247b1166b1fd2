//! The figures of an assembler for the code of kernels, in place of estimates.
//!
//! A figure belongs to code by a fingerprint of its text, of the target and of the assembler's options: it is
//! found as long as the code is the same, and an edit of one kernel leaves those of the others. The assembler
//! gets the printed PTX of a kernel or stage, if it calls nothing outside of it, and a PTX file as it stands.
//! Nothing is printed where no figure was asked for.

use super::code::architecture;
use crate::db::{self, Db, File, Item};
pub use crate::db::{Figure, Figures};
use crate::program::{self, Language, own_items};
use codegen::target::ptx::{self, Target};
use ir::lower::c_family::Lowered;
use ir::{Function, FunctionKind};
use rustc_hash::FxHasher;
use smol_str::SmolStr;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Code to be assembled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Job {
    pub text: Arc<str>,
    /// `sm_80`
    pub target: String,
    pub max_registers: Option<u32>,
    /// Entries of the code, and the fingerprints of the questions.
    pub entries: Vec<(SmolStr, u64)>,
}

const fn is_entry(kind: FunctionKind) -> bool {
    matches!(kind, FunctionKind::Kernel | FunctionKind::Stage(_))
}

/// The figure of a function of an item, by its order in `lowered`.
pub fn figure(db: &dyn Db, item: Item<'_>, at: usize) -> Option<Figure> {
    let file = item.main(db);
    if file.figures(db).is_empty() {
        return None;
    }
    let key = fingerprint(db, file, item, at)?;
    file.figures(db).get(&key)?.clone()
}

fn fingerprint(db: &dyn Db, file: File, item: Item<'_>, at: usize) -> Option<u64> {
    match file.language(db) {
        Language::Ptx => {
            let lowered = db::lowered(db, item).get(at)?;
            let function = lowered.module.functions.first()?;
            is_entry(function.kind).then(|| of_entry(db::ptx_fingerprint(db, file), &function.name))
        }
        _ => *db::code_fingerprints(db, item).get(at)?,
    }
}

fn of_entry(file: u64, name: &str) -> u64 {
    let mut hasher = FxHasher::default();
    (file, name).hash(&mut hasher);
    hasher.finish()
}

/// The fingerprint of a PTX file.
pub fn of_file(db: &dyn Db, file: File) -> u64 {
    let text = program::text(file.source(db));
    let mut hasher = FxHasher::default();
    (text, target_of(db, file), max_registers(db, file)).hash(&mut hasher);
    hasher.finish()
}

/// Fingerprints of the code of an item's functions, by their order in `lowered`; `None` where there is none to assemble.
pub fn of_item(db: &dyn Db, item: Item<'_>) -> Vec<Option<u64>> {
    let file = item.main(db);
    let sm = architecture(db, file);
    let most = max_registers(db, file);
    let each = db::lowered(db, item).iter().map(|lowered| {
        let (_, text) = printed(db, file, lowered, sm)?;
        let mut hasher = FxHasher::default();
        (text, sm, most).hash(&mut hasher);
        Some(hasher.finish())
    });
    each.collect()
}

/// The complete code of an entry point, and its name.
fn printed(db: &dyn Db, file: File, lowered: &Lowered, sm: u32) -> Option<(SmolStr, String)> {
    let function: &Function = lowered.module.functions.first()?;
    if !is_entry(function.kind) || !function.unknowns.is_empty() {
        return None;
    }
    let analysis = program::settings(db, file).analysis(db);
    let target = Target {
        sm,
        fast_math: analysis.approximates(),
        contract: analysis.contracts(),
        files: &[],
        place: None,
    };
    let code = ptx::generate(&lowered.module, &target).ok()?;
    code.externals
        .is_empty()
        .then(|| (function.name.clone(), code.text))
}

fn max_registers(db: &dyn Db, file: File) -> Option<u32> {
    program::settings(db, file).analysis(db).max_registers
}

/// The target of a PTX file: the configured one, or the one that it names where that is none before it.
pub fn target_of(db: &dyn Db, file: File) -> String {
    let configured = architecture(db, file);
    let named = db::ptx_declarations(db, file).target.as_deref();
    let number = |name: &str| -> Option<u32> {
        let digits = name.strip_prefix("sm_")?;
        let digits = digits.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        digits.parse().ok()
    };
    match named.and_then(|name| Some((name, number(name)?))) {
        // Features of one architecture are those of no other.
        Some((name, number)) if number >= configured || name.ends_with(['a', 'f']) => name.into(),
        _ => format!("sm_{configured}"),
    }
}

/// The code of a file's entry points for which there is no figure yet, in the order of the file.
pub fn wanted(db: &dyn Db, file: File) -> Vec<Job> {
    let known = file.figures(db);
    let sm = architecture(db, file);
    let most = max_registers(db, file);
    let mut out = Vec::new();
    let mut entries = Vec::new();
    for (_, item) in own_items(db, file) {
        if !item.holds(db).code {
            continue;
        }
        for (at, lowered) in db::lowered(db, item).iter().enumerate() {
            let Some(key) = fingerprint(db, file, item, at) else {
                continue;
            };
            if known.contains_key(&key) {
                continue;
            }
            if file.language(db) == Language::Ptx {
                let function = lowered.module.functions.first();
                entries.extend(function.map(|function| (function.name.clone(), key)));
            } else if let Some((name, text)) = printed(db, file, lowered, sm) {
                out.push(Job {
                    text: Arc::from(text),
                    target: format!("sm_{sm}"),
                    max_registers: most,
                    entries: vec![(name, key)],
                });
            }
        }
    }
    if !entries.is_empty() {
        let text = program::text(file.source(db));
        out.push(Job {
            text: Arc::from(text),
            target: target_of(db, file),
            max_registers: most,
            entries,
        });
    }
    out
}
