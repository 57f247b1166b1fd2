//! Queries, from text to rows. Each is one line that calls a pure function; these run again after an edit:
//!
//! ```text
//! lexed, unit, items        the edited file (and `unit` of files that include it)
//! parsed, lowered, facts    items whose tokens changed, and those that inline them
//! environment               when a declaration changed, not when a body did
//! places                    positions only
//! ```
//!
//! Trees, IR and facts are large and kept for the items used last only; the rows that views show of an item
//! are small and are kept for all. A view that needs more of an item than its rows (a cause chain) computes
//! it again.

use super::inputs::{Db, File, Settings};
use crate::derive;
use crate::derive::branches::BranchRow;
use crate::derive::costs::Costs;
use crate::derive::guided::GuidedCode;
use crate::derive::irrelevant_loads::IrrelevantLoads;
use crate::derive::loops::{ItemLoops, MachineCode};
use crate::derive::partly_dead::DeadRow;
use crate::derive::readings::ReadingsText;
use crate::derive::register_rows::RegisterRow;
use crate::derive::rows::Rows;
use crate::derive::sets::{ItemSets, PromisedLoop, SetEmission};
use crate::derive::silences::Silences;
use crate::derive::ways::Ways;
use crate::derive::zeros::{ProfileText, Zeros};
use crate::program::{
    self, Analysed, Assembly, Body, Callees, Holds, ItemText, MachineText, Passed, Places, SetCode,
};
use codegen::machine::Table;
use codegen::specialize::source::scheduled::Scheduled;
use codegen::target::ia64::rebundle::Rebundled;
use codegen::target::sc140::repack::Repacked;
use facts::cost::Machine;
use ir::lower::c_family::recognize::Recognized;
use ir::lower::c_family::{Environment, ItemDeclaration, Lowered};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::sync::Arc;
use syntax::ItemKey;
use syntax::c_family::ast::ParsedItem;
use syntax::c_family::lexer::LexedFile;
use syntax::preprocess::Unit;
use syntax::ptx::{PtxDeclarations, PtxItem};
use syntax::{FileId, LineIndex, Problem, c_family::Dialect, c_family::TypeNames};

/// A top-level declaration. Its identity is its name and its number among those of that name, so that facts
/// about it survive edits elsewhere.
#[salsa::tracked(debug)]
pub struct Item<'db> {
    #[returns(copy)]
    pub main: File,
    pub name: SmolStr,
    #[returns(copy)]
    pub ordinal: u32,
    #[tracked]
    #[returns(copy)]
    pub place: ItemPlace,
    #[tracked]
    pub body: Body,
    #[tracked]
    #[returns(copy)]
    pub holds: Holds,
}

/// Absolute: read by projections only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ItemPlace {
    pub file: FileId,
    pub start: u32,
    pub end: u32,
}

/// Runs every query of a file, so that their old results are freed.
pub(super) fn derive_all(db: &dyn Db, file: File) {
    lexed(db, file);
    unit(db, file);
    first_file(db, file);
    items(db, file);
    line_index(db, file);
    macros_by_name(db, file);
    type_names(db, file);
    ptx_declarations(db, file);
    missing_headers(db, file);
    environment(db, file);
    items_by_key(db, file);
    all_calls(db, file);
    places(db, file);
    machine_text(db, file);
    profile_text(db, file);
    readings_text(db, file);
    profile_of(db, file);
    assembly(db, file);
    bundles(db, file);
    set_code(db, file);
    repacked(db, file);
    silences(db, file);
}

#[salsa::tracked]
pub fn line_index(db: &dyn Db, file: File) -> LineIndex {
    LineIndex::new(program::text(file.source(db)))
}

#[salsa::tracked]
pub fn lexed(db: &dyn Db, file: File) -> Option<Arc<LexedFile>> {
    program::lex(db, file)
}

/// The translation unit of a file of the C family.
#[salsa::tracked(no_eq)]
pub fn unit(db: &dyn Db, file: File) -> Arc<Unit> {
    db.keep_unit(file, Arc::new(program::preprocess(db, file)))
}

/// The file that a file's unit begins with.
#[salsa::tracked(returns(copy))]
pub fn first_file(db: &dyn Db, file: File) -> File {
    program::first_file(db, file)
}

#[salsa::tracked]
pub fn items<'db>(db: &'db dyn Db, file: File) -> Vec<Item<'db>> {
    let make = |piece: program::Piece| {
        Item::new(
            db,
            file,
            piece.key.name,
            piece.key.ordinal,
            piece.place,
            piece.body,
            piece.holds,
        )
    };
    program::split(db, file).into_iter().map(make).collect()
}

/// The text of an item with what it needs to be read by itself. Asked for only where edits are tried.
#[salsa::tracked]
pub fn item_text<'db>(db: &'db dyn Db, item: Item<'db>) -> Option<Arc<ItemText>> {
    program::item_text(db, item)
}

/// The same, of items that are then read as in their file.
#[salsa::tracked]
pub fn alone<'db>(db: &'db dyn Db, item: Item<'db>) -> Option<Arc<ItemText>> {
    program::alone(db, item)
}

/// The last definition of each macro, by its number in the unit.
#[salsa::tracked]
pub fn macros_by_name(db: &dyn Db, file: File) -> FxHashMap<SmolStr, u32> {
    program::macros_by_name(unit(db, file))
}

#[salsa::tracked]
pub fn type_names(db: &dyn Db, file: File) -> TypeNames {
    let dialect = file.language(db).c_dialect().unwrap_or(Dialect::Cuda);
    syntax::c_family::type_names(&unit(db, file).items, dialect)
}

#[salsa::tracked(lru = 128)]
pub fn parsed<'db>(db: &'db dyn Db, item: Item<'db>) -> Arc<ParsedItem> {
    Arc::new(program::parse(db, item))
}

#[salsa::tracked(lru = 32)]
pub fn ptx_tree<'db>(db: &'db dyn Db, item: Item<'db>) -> Arc<PtxItem> {
    Arc::new(program::ptx_tree(item.body(db)))
}

#[salsa::tracked]
pub fn ptx_declarations(db: &dyn Db, file: File) -> PtxDeclarations {
    let text = program::text(file.source(db));
    syntax::ptx::declarations(text, &syntax::ptx::split_items(text))
}

#[salsa::tracked]
pub fn declaration<'db>(db: &'db dyn Db, item: Item<'db>) -> ItemDeclaration {
    ItemDeclaration::of(parsed(db, item))
}

#[salsa::tracked]
pub fn missing_headers(db: &dyn Db, file: File) -> Vec<SmolStr> {
    program::missing_headers(db, file)
}

#[salsa::tracked]
pub fn environment(db: &dyn Db, file: File) -> Environment {
    program::environment(db, file)
}

#[salsa::tracked]
pub fn items_by_key(db: &dyn Db, file: File) -> Vec<(ItemKey, u32)> {
    program::items_by_key(db, file)
}

#[salsa::tracked]
pub fn recognized<'db>(db: &'db dyn Db, item: Item<'db>) -> Option<Recognized> {
    program::recognized(db, item)
}

#[salsa::tracked(lru = 32)]
pub fn lowered<'db>(db: &'db dyn Db, item: Item<'db>) -> Arc<Vec<Lowered>> {
    Arc::new(program::lower(db, item))
}

#[salsa::tracked(lru = 32)]
pub fn facts_of<'db>(db: &'db dyn Db, item: Item<'db>) -> Arc<Vec<Analysed>> {
    Arc::new(program::analyse(db, item))
}

/// Returns the arguments that the kernels of an item pass to their callees.
#[salsa::tracked]
pub fn calls<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<Passed> {
    program::calls(db, item)
}

/// Returns the callees of its other functions.
#[salsa::tracked]
pub fn callees<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<Callees> {
    program::callees(db, item)
}

/// Returns the arguments that its other functions pass, whatever their callers. Asked for only for those that
/// callers out of sight may call.
#[salsa::tracked]
pub fn calls_of_device<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<(SmolStr, Vec<Passed>)> {
    program::calls_of_device(db, item)
}

#[salsa::tracked]
pub fn all_calls(db: &dyn Db, file: File) -> Vec<Passed> {
    program::all_calls(db, file)
}

#[salsa::tracked]
pub fn passed<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<Passed> {
    program::passed(db, item)
}

#[salsa::tracked]
pub fn rows<'db>(db: &'db dyn Db, item: Item<'db>) -> Arc<Vec<Rows>> {
    Arc::new(derive::rows::of_item(lowered(db, item), facts_of(db, item)))
}

/// Returns the text of an item that could not be understood, item-relative.
#[salsa::tracked]
pub fn item_problems<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<Problem> {
    program::item_problems(db, item)
}

/// Returns the places of items, with which item-relative positions are resolved.
#[salsa::tracked]
pub fn places(db: &dyn Db, file: File) -> Places {
    program::places(db, file)
}

/// A file as a table of a machine.
#[salsa::tracked]
pub fn machine_text(db: &dyn Db, file: File) -> MachineText {
    program::machine_text(file.source(db))
}

/// The machine whose costs are used.
#[salsa::tracked]
pub fn machine(db: &dyn Db, settings: Settings) -> Arc<Table> {
    program::machine(db, settings)
}

/// The processor that assembly of explicit groups is judged for.
#[salsa::tracked]
pub fn processor(db: &dyn Db, settings: Settings) -> Arc<Table> {
    program::processor(db, settings)
}

/// Its costs of instructions.
#[salsa::tracked]
pub fn charges(db: &dyn Db, settings: Settings) -> Arc<Machine> {
    Arc::new(program::charges(db, settings))
}

/// The costs of a thread by itself.
#[salsa::tracked]
pub fn thread_charges(db: &dyn Db, settings: Settings) -> Arc<Machine> {
    Arc::new(program::thread_charges(db, settings))
}

/// A file as a value profile.
#[salsa::tracked]
pub fn profile_text(db: &dyn Db, file: File) -> ProfileText {
    derive::zeros::profile_text(db, file)
}

/// A file as counts of assembly.
#[salsa::tracked]
pub fn readings_text(db: &dyn Db, file: File) -> ReadingsText {
    derive::readings::readings_text(db, file)
}

/// The profile of a file that can be read.
#[salsa::tracked(returns(copy))]
pub fn profile_of(db: &dyn Db, file: File) -> Option<File> {
    derive::zeros::profile_of(db, file)
}

// A result of a query with several arguments is never freed: its key is interned and outlives the items in it. So what
// is told of an item has the item as its only argument.

/// Returns the costs of an item's functions to a warp, item-relative. Asked for only where costs are shown.
#[salsa::tracked]
pub fn costs<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<Option<Costs>> {
    derive::costs::of_item(db, item)
}

/// The definitions of an item that most recorded ways never read, item-relative. Asked for only where there is a profile.
#[salsa::tracked]
pub fn partly_dead<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<DeadRow> {
    derive::partly_dead::of_item(db, item)
}

/// Returns the number of times that the sides of an item's branches are taken, and its hot paths,
/// item-relative. Asked for only where there is a profile.
#[salsa::tracked]
pub fn ways<'db>(db: &'db dyn Db, item: Item<'db>) -> Ways {
    derive::ways::of_item(db, item)
}

/// The values of an item whose zeros make accesses to memory useless, item-relative. Asked for only where there is a profile.
#[salsa::tracked]
pub fn irrelevant_loads<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<IrrelevantLoads> {
    derive::irrelevant_loads::of_item(db, item)
}

/// Returns the facts that findings need about the registers of an item's kernels, item-relative.
#[salsa::tracked]
pub fn register_rows<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<RegisterRow> {
    derive::register_rows::of_item(db, item)
}

/// Fingerprints of the code that an assembler gets of an item's functions. Asked for only where there are its figures.
#[salsa::tracked]
pub fn code_fingerprints<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<Option<u64>> {
    derive::figures::of_item(db, item)
}

/// The same of a PTX file.
#[salsa::tracked(returns(copy))]
pub fn ptx_fingerprint(db: &dyn Db, file: File) -> u64 {
    derive::figures::of_file(db, file)
}

/// Returns the zeros of an item in a profile, item-relative. Asked for only if there is one.
#[salsa::tracked]
pub fn zeros<'db>(db: &'db dyn Db, item: Item<'db>) -> Zeros {
    derive::zeros::of_item(db, item)
}

/// Returns the counts of an item's branches in a profile, item-relative. Asked for only where there is one.
#[salsa::tracked]
pub fn branches<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<BranchRow> {
    derive::branches::of_item(db, item)
}

/// Returns the loops of an item on a processor with explicit groups. Asked for only when somebody looks.
#[salsa::tracked(lru = 32)]
pub fn machine_code<'db>(db: &'db dyn Db, item: Item<'db>) -> Option<Arc<MachineCode>> {
    derive::loops::machine_code(db, item)
}

/// Returns the pipelined loops of each of an item's functions, for the prices of what is rewritten in them.
#[salsa::tracked]
pub fn scheduled_loops<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<Vec<Scheduled>> {
    derive::scheduled::scheduled_of(db, item)
}

/// Returns the reports on an item's loops, item-relative. Asked for only when somebody looks.
#[salsa::tracked]
pub fn item_loops<'db>(db: &'db dyn Db, item: Item<'db>) -> Option<Arc<ItemLoops>> {
    derive::loops::item_loops(db, item).map(Arc::new)
}

/// Returns the code of an item of C before and after its profile, where that changes something. Asked for only when somebody
/// looks.
#[salsa::tracked(lru = 8)]
pub fn guided_code<'db>(db: &'db dyn Db, item: Item<'db>) -> Option<Arc<GuidedCode>> {
    derive::guided::code(db, item).map(Arc::new)
}

/// The code of an item of C on a processor that issues execution sets. Asked for only when somebody looks.
#[salsa::tracked(lru = 32)]
pub fn set_emission<'db>(db: &'db dyn Db, item: Item<'db>) -> Option<SetEmission> {
    derive::sets::emission(db, item)
}

/// Returns the reports on that code, item-relative. Asked for only when somebody looks.
#[salsa::tracked]
pub fn item_sets<'db>(db: &'db dyn Db, item: Item<'db>) -> Option<Arc<ItemSets>> {
    derive::sets::item_sets(db, item).map(Arc::new)
}

/// That code with the spills that the allocator asks for, where it differs. Asked for only when somebody looks.
#[salsa::tracked(lru = 8)]
pub fn kept_emission<'db>(db: &'db dyn Db, item: Item<'db>) -> Option<SetEmission> {
    derive::sets::kept_emission(db, item)
}

/// Returns those reports with what keeps each register from the values in memory. Asked for only when somebody looks.
#[salsa::tracked]
pub fn explained_sets<'db>(db: &'db dyn Db, item: Item<'db>) -> Option<Arc<ItemSets>> {
    derive::sets::explained(db, item).map(Arc::new)
}

/// Returns the loops of an item of C that promises would make faster on a processor that issues execution sets.
#[salsa::tracked]
pub fn promised_sets<'db>(db: &'db dyn Db, item: Item<'db>) -> Option<Arc<Vec<PromisedLoop>>> {
    derive::sets::promised(db, item).map(Arc::new)
}

/// A projection: whether a product and a sum may be one operation, which a line of the text forbids.
#[salsa::tracked]
pub fn contracts(db: &dyn Db, file: File) -> bool {
    derive::loops::contracts(db, file)
}

/// A file of assembly, read.
#[salsa::tracked]
pub fn assembly(db: &dyn Db, file: File) -> Arc<Assembly> {
    Arc::new(program::assembly(db, file))
}

/// Its blocks, re-bundled. Asked for only where actions are.
#[salsa::tracked]
pub fn bundles(db: &dyn Db, file: File) -> Vec<Rebundled> {
    derive::bundles::bundles(db, file)
}

/// A file of assembly in execution sets, with the rules that it breaks.
#[salsa::tracked]
pub fn set_code(db: &dyn Db, file: File) -> Arc<SetCode> {
    Arc::new(program::set_code(db, file))
}

/// Its pieces, re-packed. Asked for only where actions are.
#[salsa::tracked]
pub fn repacked(db: &dyn Db, file: File) -> Vec<Repacked> {
    derive::repacked::repacked(db, file)
}

#[salsa::tracked]
pub fn silences(db: &dyn Db, file: File) -> Silences {
    derive::silences::silences(program::text(file.source(db)))
}
