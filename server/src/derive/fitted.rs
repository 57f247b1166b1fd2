//! Functions of a PTX file with their values in a number of registers.

use crate::db::{self, Db, File, Item};
use crate::program::{self, Language, is_named, own_items};
use codegen::Refusal;
use codegen::machine::Gpu;
use codegen::machine::occupancy::{Need, occupancy};
use codegen::machine::schema::Key;
use codegen::target::ptx::machine::fit::{Allocator, Budget, Made, Scheduling, Source, fit};
use codegen::target::ptx::machine::park::Workgroup;
use codegen::target::ptx::machine::states::{Arrival, State, arrivals_by_statement, states};
use codegen::target::ptx::machine::{Body, read};
use facts::{Method, Options, Scope};
use ir::SymbolKind;
use smol_str::SmolStr;
use syntax::Span;
use syntax::ptx::{PtxFunction, PtxItemKind};

/// Threads that a workgroup has at most where nothing says how many.
const THREADS: u32 = 1024;

/// A function of a file, and its outcome.
#[derive(Clone, PartialEq, Debug)]
pub struct Fitted {
    pub name: SmolStr,
    /// The place of the whole function in the file, and that of its name.
    pub place: Span,
    pub head: Span,
    pub made: Result<Made, Refusal>,
}

/// A function of a PTX file as allocators take it.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub name: SmolStr,
    pub place: Span,
    pub head: Span,
    pub tree: PtxFunction,
    /// The function's text.
    pub text: String,
    pub body: Body,
    pub states: Vec<State>,
    /// The manner in which the lanes of a warp come to each statement.
    pub arrivals: Vec<Arrival>,
    pub lanes: u32,
    pub scheduling: Scheduling,
    pub warps: u32,
    /// Each warp of a workgroup has all its lanes.
    pub whole_warps: bool,
    /// Bytes of shared memory that slots may take.
    pub shared_bytes: u32,
    /// The size of a workgroup, where the file or the configuration tells it.
    pub workgroup: Option<Workgroup>,
    /// Shared memory of the kernel's own.
    pub own_shared: u32,
    pub gpu: Gpu,
}

/// Sizes of workgroups that are usual.
const USUAL: [u32; 6] = [32, 64, 128, 256, 512, 1024];

impl Prepared {
    pub fn budget(&self, words: u16) -> Budget {
        Budget {
            words,
            predicates: 7,
            lanes: self.lanes,
            warps: self.warps,
            whole_warps: self.whole_warps,
            shared_bytes: self.shared_bytes,
            scheduling: self.scheduling,
        }
    }
    /// The same, with shared memory that lowers no occupancy of a kernel in so many `registers`.
    pub fn spared(&self, words: u16, registers: u16) -> Budget {
        Budget {
            shared_bytes: self.spare_shared(registers),
            ..self.budget(words)
        }
    }
    /// Its values in so many words.
    ///
    /// # Errors
    /// As [`fit`].
    pub fn fitted(&self, words: u16, allocator: Allocator) -> Result<Made, Refusal> {
        let budget = match allocator {
            Allocator::Lockstep => self.spared(words, words),
            _ => self.budget(words),
        };
        self.within(&budget, allocator, &[])
    }
    /// Its values in a budget. An assembler must not unroll the loops of these labels.
    ///
    /// # Errors
    /// As [`fit`].
    pub fn within(
        &self,
        budget: &Budget,
        allocator: Allocator,
        rolled: &[u32],
    ) -> Result<Made, Refusal> {
        let source = Source {
            tree: &self.tree,
            body: &self.body,
            text: &self.text,
            rolled,
        };
        fit(source, allocator, &self.states, &self.arrivals, budget)
    }
    /// Bytes of shared memory that leave as many workgroups on a multiprocessor as so many registers allow.
    pub fn spare_shared(&self, words: u16) -> u32 {
        let own = self.workgroup.map(|workgroup| workgroup.threads);
        let sizes = own.as_ref().map_or(&USUAL[..], std::slice::from_ref);
        let fits = |more: u32| {
            sizes.iter().all(|&threads| {
                let need = |shared| Need {
                    threads,
                    registers: u32::from(words),
                    scalar: 0,
                    shared,
                    lanes: self.lanes,
                };
                let blocks = |shared| occupancy(&self.gpu, need(shared)).blocks;
                blocks(self.own_shared + more) >= blocks(self.own_shared)
            })
        };
        let (mut low, mut high) = (0, self.shared_bytes);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if fits(middle) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low
    }
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
    let all = prepared(db, file, name).into_iter();
    let fitted = all.map(|(name, place, head, prepared)| {
        let made = prepared.and_then(|own| own.fitted(words, allocator));
        Fitted {
            name,
            place,
            head,
            made,
        }
    });
    fitted.collect()
}

/// A function's name, its place, that of its name, and the input of allocators.
pub type Function = (SmolStr, Span, Span, Result<Prepared, Refusal>);

/// The functions of a PTX file that have a body, or the one of a name. Empty for another language.
pub fn prepared(db: &dyn Db, file: File, name: Option<&str>) -> Vec<Function> {
    if file.language(db) != Language::Ptx {
        return Vec::new();
    }
    let text = program::text(file.source(db));
    // Code is assembled for sm_75 and later ([`super::code::architecture`]).
    let waits = db::ptx_declarations(db, file).version >= Some((6, 0));
    let scheduling = if waits {
        Scheduling::Waiting
    } else {
        Scheduling::Apart
    };
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
        let place = Span::new(place.start, place.end);
        let head = tree.name.span.shifted(place.start);
        let known = of_function(db, item, tree, own, (place, head), scheduling);
        out.push((tree.name.text.clone(), place, head, known));
    }
    out
}

fn of_function(
    db: &dyn Db,
    item: Item<'_>,
    tree: &PtxFunction,
    text: &str,
    (place, head): (Span, Span),
    scheduling: Scheduling,
) -> Result<Prepared, Refusal> {
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
    let arrivals = arrivals_by_statement(&body, tree, function, &facts);
    let lanes = function.launch.warp_size.unwrap_or(options.warp_size);
    let gpu = db::machine(db, program::settings(db, item.main(db))).gpu();
    let most = gpu.count(Key::SharedDeclared);
    let most = most.min(gpu.count(Key::SharedBlock));
    let left = left(function, most);
    Ok(Prepared {
        name: tree.name.text.clone(),
        place,
        head,
        tree: tree.clone(),
        text: text.to_owned(),
        states: states(&body, function, &facts),
        body,
        arrivals,
        lanes,
        scheduling,
        warps: threads(function, &options).div_ceil(lanes.max(1)),
        whole_warps: whole_warps(function, lanes),
        shared_bytes: left,
        workgroup: workgroup(function, &options),
        own_shared: most - left,
        gpu: gpu.clone(),
    })
}

fn product(sizes: [Option<u32>; 3]) -> Option<u32> {
    let mut sizes = sizes.into_iter();
    sizes.try_fold(1u32, |all, size| all.checked_mul(size?))
}

/// Returns whether each warp has all its lanes: the function demands a workgroup of so many threads.
fn whole_warps(function: &ir::Function, lanes: u32) -> bool {
    let threads = product(function.launch.block);
    threads.is_some_and(|threads| threads > 0 && threads.is_multiple_of(lanes.max(1)))
}

/// The size of a workgroup, at most: as the function declares it, or as it is configured.
fn workgroup(function: &ir::Function, options: &Options) -> Option<Workgroup> {
    let launch = &function.launch;
    let flat = |sizes: [Option<u32>; 3]| sizes[1..].iter().all(|&size| size == Some(1));
    if let Some(threads) = product(launch.block).or(launch.max_threads) {
        return Some(Workgroup {
            threads,
            flat: flat(launch.block),
            assumed: None,
        });
    }
    let sizes = options.block;
    Some(Workgroup {
        threads: product(sizes)?,
        flat: flat(sizes),
        assumed: Some(sizes.map(|size| size.unwrap_or(1))),
    })
}

/// Threads of a workgroup, at most.
fn threads(function: &ir::Function, options: &Options) -> u32 {
    let sizes = function.launch.block.iter().zip(options.block);
    let product = sizes
        .map(|(own, configured)| own.or(configured))
        .try_fold(1u32, |all, size| Some(all.saturating_mul(size?)));
    product.or(function.launch.max_threads).unwrap_or(THREADS)
}

/// Shared memory that a function leaves to others. A launch that asks for more on top has none to spare.
fn left(function: &ir::Function, most: u32) -> u32 {
    let mut left = most;
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
