//! Functions of a PTX file with their values in a number of registers.

use crate::db::{self, Db, File, Item};
use crate::program::{self, Language, is_named, own_items};
use codegen::Refusal;
use codegen::machine::schema::Key;
use codegen::target::ptx::machine::fit::{Allocator, Budget, Made, fit};
use codegen::target::ptx::machine::read;
use codegen::target::ptx::machine::states::{states, together_by_statement};
use facts::{Method, Options, Scope};
use ir::{Function, SymbolKind};
use smol_str::SmolStr;
use syntax::Span;
use syntax::ptx::PtxItemKind;

/// Threads that a workgroup has at most where nothing says how many.
const THREADS: u32 = 1024;
/// Shared memory that a workgroup may declare (CUDA C++ Programming Guide, compute capabilities).
const STATIC_SHARED: u32 = 48 * 1024;

/// A function of a file, and what became of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Fitted {
    pub name: SmolStr,
    /// Of the whole function in the file, and of its name.
    pub place: Span,
    pub head: Span,
    pub made: Result<Made, Refusal>,
}

/// The functions of a PTX file that have a body, or the one of a name, in so many words of 32 bits. Empty for another
/// language.
pub fn fitted(
    db: &dyn Db,
    file: File,
    name: Option<&str>,
    words: u16,
    allocator: Allocator,
) -> Vec<Fitted> {
    if file.language(db) != Language::Ptx {
        return Vec::new();
    }
    let text = program::text(file.source(db));
    let mut out = Vec::new();
    for (place, item) in own_items(db, file) {
        let PtxItemKind::Function(tree) = &db::ptx_tree(db, item).kind else {
            continue;
        };
        let wanted = name.is_none_or(|name| is_named(&tree.name.text, name));
        let own = text.get(place.start as usize..place.end as usize);
        let (true, true, Some(own)) = (wanted, tree.body.is_some(), own) else {
            continue;
        };
        out.push(Fitted {
            name: tree.name.text.clone(),
            place: Span::new(place.start, place.end),
            head: tree.name.span.shifted(place.start),
            made: of_function(db, item, tree, own, words, allocator),
        });
    }
    out
}

fn of_function(
    db: &dyn Db,
    item: Item<'_>,
    tree: &syntax::ptx::PtxFunction,
    own: &str,
    words: u16,
    allocator: Allocator,
) -> Result<Made, Refusal> {
    let body = read(tree)?;
    let lowered = db::lowered(db, item).first();
    let known = db::facts_of(db, item).first();
    let known = known.and_then(|analysed| analysed.functions.first());
    let (Some(lowered), Some(known)) = (lowered, known) else {
        return Err(Refusal::NoForm {
            operation: tree.name.text.clone(),
            ty: "a function".into(),
            target: "PTX",
        });
    };
    let function = &lowered.module.functions[0];
    // What launches in sight agree on is no fact of the file.
    let options = Options {
        method: Method::Polynomial(1),
        scope: Scope::Subgroup,
        warp_size: known.options.warp_size,
        block: known.options.block,
        ..Options::default()
    };
    let facts = facts::analyze(0, &lowered.module, &options);
    let together = together_by_statement(&body, tree, function, &facts);
    let lanes = function.launch.warp_size.unwrap_or(options.warp_size);
    let gpu = db::machine(db, program::settings(db, item.main(db))).gpu();
    let budget = Budget {
        words,
        predicates: 7,
        lanes,
        warps: threads(function, &options).div_ceil(lanes.max(1)),
        shared_bytes: left(function, gpu.count(Key::SharedBlock)),
    };
    let early = |statement: u32| together.get(statement as usize) == Some(&true);
    let states = states(&body, function, &facts);
    fit(tree, &body, own, allocator, &states, &early, &budget)
}

/// Threads of a workgroup, at most.
fn threads(function: &Function, options: &Options) -> u32 {
    let sizes = function.launch.block.iter().zip(options.block);
    let product = sizes
        .map(|(own, configured)| own.or(configured))
        .try_fold(1u32, |all, size| Some(all.saturating_mul(size?)));
    product.or(function.launch.max_threads).unwrap_or(THREADS)
}

/// Shared memory that a function leaves to others. A launch that asks for more on top has none to spare.
fn left(function: &Function, most: u32) -> u32 {
    let mut left = most.min(STATIC_SHARED);
    for symbol in function.symbols.values() {
        if symbol.space == ir::Space::Shared && symbol.kind == SymbolKind::Memory {
            left = match symbol.size {
                Some(size) if size > 0 => {
                    left.saturating_sub(size.next_multiple_of(symbol.align.max(16)))
                }
                _ => 0,
            };
        }
    }
    left
}
