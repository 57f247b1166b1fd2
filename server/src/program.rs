//! From a file's text to facts: the choice of the front end, the making of items, the resolution of
//! positions. Pure except for reads through the database; the queries call it.

mod alone;
mod assembly;
mod assumed;
mod hidden;
mod includes;
mod items;
mod machine;
mod passed;
mod problems;
mod rewritten;
mod sets;
mod silent;
mod toolkit;

pub use alone::{ItemText, alone, item_text, macros_by_name};
pub use assembly::{Assembly, assembly};
use assumed::{analysis_options, lower_options};
use includes::Includes;
pub use items::{for_each_item, is_named, item_at, items_to_show, own_items};
pub use machine::{
    MachineText, c_set_processor, charges, costs_of, machine, machine_file_problem,
    machine_problems, machine_text, processor, set_processor, thread_charges,
};
pub use passed::{
    Callees, Passed, all_calls, callees, callers_that_differ, calls, calls_of_device, passed,
};
pub use problems::{item_problems, problems, tree_problems};
pub use rewritten::{Rewritten, bodies, rewritten};
pub use sets::{SetCode, set_code};
pub use silent::{NothingShown, nothing_shown};

use crate::config::AnalysisConfig;
use crate::db::{self, Db, File, Item, ItemPlace, Settings, Source};
pub use crate::language::Language;
use facts::{Cause, CauseReason, CauseStep, Finding, FunctionFacts, Scope};
use ir::lower::c_family::recognize::Recognized;
use ir::lower::c_family::{Bodies, Environment, LowerOptions, Lowered};
use ir::{Block, Function, FunctionKind, Loc, Site, Value};
use smol_str::SmolStr;
use std::path::Path;
use std::sync::Arc;
use syntax::c_family::Dialect;
use syntax::c_family::ast::ParsedItem;
use syntax::c_family::lexer::{LexedFile, lex_shared};
use syntax::c_family::token::Token;
use syntax::preprocess::{IncludedFile, ItemTokens, PreprocessOptions, Unit};
use syntax::{FileId, ItemKey, Problem, ProblemKind, Span};

/// Bytes of a module in the text form of the IR.
const LARGEST_IR: usize = 2 << 20;
/// Blocks and instructions of one function, with the code inlined into it. Beyond, an analysis would take
/// seconds.
const LARGEST_FUNCTION: (usize, usize) = (30_000, 300_000);

/// The source of an item, with positions relative to its start.
#[derive(Clone, PartialEq, Debug)]
pub enum Body {
    Tokens {
        file: FileId,
        scope: Vec<SmolStr>,
        tokens: Arc<[Token]>,
    },
    /// A language whose items are parsed from their text.
    Text(Arc<str>),
}

/// An item as it is cut from a file.
#[derive(Clone, PartialEq, Debug)]
pub struct Piece {
    pub key: ItemKey,
    pub place: ItemPlace,
    pub body: Body,
    pub holds: Holds,
}

/// The contents that an item can have, as far as its tokens tell: most of a header's declarations have no
/// code, and asking for their facts would cost more than they say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Holds {
    /// True if it stands in the file itself, not in one that it includes.
    pub own: bool,
    pub code: bool,
    pub kernels: bool,
}

impl Holds {
    const ALL: Holds = Holds {
        own: true,
        code: true,
        kernels: true,
    };

    fn of_tokens(tokens: &[Token], own: bool, language: Language) -> Holds {
        use syntax::c_family::token::TokenKind;
        let has = |kind| tokens.iter().any(|token| token.kind == kind);
        let code = has(TokenKind::LBrace) && has(TokenKind::LParen);
        let marked = || tokens.iter().any(|token| token.text == "__global__");
        Holds {
            own,
            code,
            kernels: code && (language != Language::Cuda || marked()),
        }
    }
}

/// Facts and findings of the functions of an item.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Analysed {
    /// Indexed by `Module::functions`; the first is the function itself.
    pub functions: Vec<FunctionFacts>,
    pub findings: Vec<Finding>,
}

pub fn text(source: &Source) -> &str {
    source.text()
}

pub fn lex(db: &dyn Db, file: File) -> Option<Arc<LexedFile>> {
    match file.source(db) {
        Source::Text { text, .. } => Some(db.tokens_of(file.path(db), text)),
        Source::Missing | Source::Unusable(_) => None,
    }
}

/// Preprocesses a file and its includes, each file through its own query. A file that another one includes is
/// seen through that one: with its macros and types, its instances of templates and its launches.
pub fn preprocess(db: &dyn Db, file: File) -> Unit {
    let own = path_text(file.path(db));
    let config = file.settings(db).analysis(db);
    let chosen = config.seen_through_of(file.path(db));
    for includer in chosen.chain(file.includers(db)) {
        let includer = db.file(includer);
        if includer.language(db).c_dialect().is_none() {
            continue;
        }
        let unit = preprocessed(db, file, includer, Some(Arc::clone(&own)));
        if unit.seen_through.is_some() {
            return unit;
        }
    }
    preprocessed(db, file, file, None)
}

/// The settings of the file that a file's unit begins with: the meaning of a header depends on the
/// compilation of that file.
pub fn settings(db: &dyn Db, file: File) -> Settings {
    let own = file.settings(db);
    match file.includers(db).is_empty() && own.analysis(db).seen_through.is_empty() {
        true => own,
        false => db::first_file(db, file).settings(db),
    }
}

/// A projection: the file that a file's unit begins with.
pub fn first_file(db: &dyn Db, file: File) -> File {
    if file.language(db).c_dialect().is_none() {
        return file;
    }
    let unit = db::unit(db, file);
    let path = unit.seen_through.and_then(|id| unit.path(id));
    path.map_or(file, |path| db.file(Path::new(path)))
}

/// Returns true if a header is missing.
pub fn misses_includes(db: &dyn Db, file: File) -> bool {
    file.language(db).c_dialect().is_some()
        && (db::unit(db, file).includes.iter()).any(|include| include.resolved.is_none())
}

/// Returns the options of the preprocessor in the settings.
fn preprocess_options(db: &dyn Db, config: &AnalysisConfig, dialect: Dialect) -> PreprocessOptions {
    let mut options = PreprocessOptions::new(dialect);
    if let Some(command) = &config.command {
        options.defines.clone_from(&command.defines);
        options.undefines.clone_from(&command.undefines);
        let forced = command.forced.iter().map(|(path, written)| {
            match db.file(path).source(db) {
                Source::Text { .. } => SmolStr::from(path.to_string_lossy()),
                // As any header in quotes.
                Source::Missing | Source::Unusable(_) => written.clone(),
            }
        });
        options.forced = forced.collect();
    }
    options.defines.extend(config.defines.iter().cloned());
    if config.native_16bit && dialect == Dialect::Hlsl {
        options.defines.push("__HLSL_ENABLE_16_BIT=1".into());
    }
    if config.long_32bit && dialect == Dialect::C {
        // In front: what the settings define counts.
        let model = Dialect::LONG_32_BIT.iter().map(|&define| define.into());
        options.defines.splice(0..0, model);
        let others = Dialect::NOT_OF_LONG_32_BIT.iter();
        options.undefines.extend(others.map(|&name| name.into()));
    }
    options
}

/// The unit of `file` that begins with `main`, by the settings of that one.
fn preprocessed(db: &dyn Db, file: File, main: File, seen_from: Option<Arc<str>>) -> Unit {
    let dialect = file.language(db).c_dialect().unwrap_or(Dialect::Cuda);
    let settings = main.settings(db);
    let mut options = preprocess_options(db, settings.analysis(db), dialect);
    options.seen_from = seen_from;
    let tokens = db::lexed(db, main)
        .clone()
        .unwrap_or_else(|| Arc::new(lex_shared(Arc::from(""))));
    let main = IncludedFile {
        path: path_text(main.path(db)),
        tokens,
    };
    let mut includes = Includes::of(db, file, settings);
    match db.last_unit(file) {
        Some(earlier) => {
            syntax::preprocess::preprocess_again(&main, &options, &mut includes, &earlier)
        }
        None => syntax::preprocess::preprocess(&main, &options, &mut includes),
    }
}

fn path_text(path: &Path) -> Arc<str> {
    Arc::from(path.to_string_lossy())
}

/// The items of a file's unit.
pub fn split(db: &dyn Db, file: File) -> Vec<Piece> {
    match file.language(db) {
        Language::Cuda | Language::Hlsl | Language::C => {
            let unit = db::unit(db, file);
            let keys = syntax::c_family::item_names(&unit.items);
            unit.items
                .iter()
                .zip(keys)
                .map(|(item, key)| piece_of_tokens(item, key, file.language(db)))
                .collect()
        }
        Language::Ptx => split_ptx(text(file.source(db))),
        Language::Ir | Language::MicroSimd => whole(file.path(db), text(file.source(db))),
        Language::Ia64 | Language::Sc140 | Language::Other => Vec::new(),
    }
}

fn split_ptx(text: &str) -> Vec<Piece> {
    let piece = |item: syntax::ptx::PtxItemText| {
        let source = text.get(item.start as usize..item.end as usize)?;
        let place = ItemPlace {
            file: FileId::MAIN,
            start: item.start,
            end: item.end,
        };
        let holds = Holds {
            own: true,
            code: item.is_function,
            kernels: item.is_function,
        };
        // What is beyond the limits is told of and not kept.
        let source = if item.key.ordinal == u32::MAX {
            ""
        } else {
            source
        };
        Some(Piece {
            key: item.key,
            place,
            body: Body::Text(Arc::from(source)),
            holds,
        })
    };
    syntax::ptx::split_items(text)
        .into_iter()
        .filter_map(piece)
        .collect()
}

/// A text that is one program: µ-SIMD, and the text form of the IR, whose positions are those of the source that it was
/// made from.
fn whole(path: &Path, text: &str) -> Vec<Piece> {
    let name = path
        .file_stem()
        .map_or_else(|| "program".into(), |stem| stem.to_string_lossy());
    let place = ItemPlace {
        file: FileId::MAIN,
        start: 0,
        end: text.len() as u32,
    };
    vec![Piece {
        key: ItemKey {
            name: SmolStr::from(name),
            ordinal: 0,
        },
        place,
        body: Body::Text(Arc::from(text)),
        holds: Holds::ALL,
    }]
}

fn lower_ir(text: &str) -> Lowered {
    if text.len() > LARGEST_IR {
        let message = format!("a module has at most {LARGEST_IR} bytes; this one is not looked at");
        return Lowered {
            problems: vec![Problem::new(ProblemKind::Limit, Span::at(0), message)],
            ..Lowered::default()
        };
    }
    match ir::text::parse_module(text) {
        Ok(module) => match ir::verify_module(&module) {
            Ok(()) => Lowered {
                module,
                ..Lowered::default()
            },
            Err(errors) => {
                let message = format!("not well formed: {errors:?}");
                Lowered {
                    problems: vec![Problem::syntax(Span::at(0), message)],
                    ..Lowered::default()
                }
            }
        },
        Err(error) => {
            let start = syntax::LineIndex::new(text).line_start(error.line.saturating_sub(1));
            let problem = Problem::syntax(Span::at(start), error.message);
            Lowered {
                problems: vec![problem],
                ..Lowered::default()
            }
        }
    }
}

fn lower_musimd(text: &str, name: &str) -> Lowered {
    let program = syntax::musimd::parse(text);
    let (module, mut problems) = ir::lower::musimd::lower(&program, name);
    problems.extend(program.problems);
    Lowered {
        module,
        problems,
        ..Lowered::default()
    }
}

fn lower_ptx(db: &dyn Db, item: Item<'_>) -> Option<Lowered> {
    let file = item.main(db);
    let tree = db::ptx_tree(db, item);
    let syntax::ptx::PtxItemKind::Function(function) = &tree.kind else {
        return None;
    };
    let index = db::items_by_key(db, file);
    let definition = |key: &ItemKey| {
        let at = index.binary_search_by(|(known, _)| known.cmp(key)).ok()?;
        let callee = *db::items(db, file).get(index[at].1 as usize)?;
        match &db::ptx_tree(db, callee).kind {
            syntax::ptx::PtxItemKind::Function(function) => Some(&**function),
            _ => None,
        }
    };
    let unit = ir::lower::ptx::Unit {
        declarations: db::ptx_declarations(db, file),
        definition: &definition,
    };
    let lowered = ir::lower::ptx::lower(function, tree.span, &unit);
    Some(Lowered {
        module: lowered.module,
        problems: lowered.problems,
        ..Lowered::default()
    })
}

pub fn ptx_tree(body: &Body) -> syntax::ptx::PtxItem {
    match body {
        Body::Text(text) => syntax::ptx::parse_item(text),
        Body::Tokens { .. } => syntax::ptx::parse_item(""),
    }
}

fn piece_of_tokens(item: &ItemTokens, key: ItemKey, language: Language) -> Piece {
    Piece {
        key,
        holds: Holds::of_tokens(&item.tokens, item.file == FileId::MAIN, language),
        place: ItemPlace {
            file: item.file,
            start: item.start,
            end: item.end,
        },
        body: Body::Tokens {
            file: item.file,
            scope: item.scope.clone(),
            tokens: Arc::clone(&item.tokens),
        },
    }
}

pub fn key(db: &dyn Db, item: Item<'_>) -> ItemKey {
    ItemKey {
        name: item.name(db).clone(),
        ordinal: item.ordinal(db),
    }
}

pub fn parse(db: &dyn Db, item: Item<'_>) -> ParsedItem {
    let nothing = |key| ParsedItem {
        key,
        file: FileId::MAIN,
        scope: Vec::new(),
        kind: syntax::c_family::ast::ItemKind::Nothing,
        problems: Vec::new(),
    };
    let key = key(db, item);
    let main = item.main(db);
    match (item.body(db), main.language(db).c_dialect()) {
        (
            Body::Tokens {
                file,
                scope,
                tokens,
            },
            Some(dialect),
        ) => {
            let tokens = ItemTokens {
                file: *file,
                start: 0,
                end: 0,
                scope: scope.clone(),
                tokens: Arc::clone(tokens),
            };
            let mut parsed =
                syntax::c_family::parse_item(&tokens, db::type_names(db, main), dialect);
            parsed.key = key;
            parsed
        }
        _ => nothing(key),
    }
}

/// The declarations of a unit, without bodies.
pub fn environment(db: &dyn Db, file: File) -> Environment {
    let declarations = db::items(db, file)
        .iter()
        .map(|&item| db::declaration(db, item));
    let mut environment = Environment::of_declarations(declarations);
    environment.set_missing_headers(db::missing_headers(db, file).clone());
    environment
}

/// A projection, so that the declarations do not depend on other contents of a unit.
pub fn missing_headers(db: &dyn Db, file: File) -> Vec<SmolStr> {
    ir::lower::c_family::missing_headers(&db::unit(db, file).includes)
}

/// Bodies of callees, each through its own query.
struct ItemBodies<'db> {
    db: &'db dyn Db,
    file: File,
}

impl Bodies for ItemBodies<'_> {
    fn body(&self, key: &ItemKey) -> Option<Arc<ParsedItem>> {
        let index = db::items_by_key(self.db, self.file);
        let at = index.binary_search_by(|(known, _)| known.cmp(key)).ok()?;
        let item = *db::items(self.db, self.file).get(index[at].1 as usize)?;
        Some(db::parsed(self.db, item).clone())
    }
    fn recognized(
        &self,
        _env: &Environment,
        key: &ItemKey,
        _options: &LowerOptions,
    ) -> Option<Recognized> {
        let index = db::items_by_key(self.db, self.file);
        let at = index.binary_search_by(|(known, _)| known.cmp(key)).ok()?;
        let item = *db::items(self.db, self.file).get(index[at].1 as usize)?;
        *db::recognized(self.db, item)
    }
}

/// The basic operation that a function of C is. What it calls is looked at as it is written, so that no answer asks for
/// another.
pub fn recognized(db: &dyn Db, item: Item<'_>) -> Option<Recognized> {
    let file = item.main(db);
    let config = settings(db, file).analysis(db);
    let options = lower_options(config, ir::Language::C, item.name(db));
    let bodies = ItemBodies { db, file };
    let key = key(db, item);
    ir::lower::c_family::recognize::recognize(db::environment(db, file), &bodies, &key, &options)
}

pub fn items_by_key(db: &dyn Db, file: File) -> Vec<(ItemKey, u32)> {
    let mut index: Vec<(ItemKey, u32)> = db::items(db, file)
        .iter()
        .enumerate()
        .map(|(number, &item)| (key(db, item), number as u32))
        .collect();
    index.sort();
    index
}

/// The functions of an item in the IR. One that is too large for the analyses is left out, with a problem.
pub fn lower(db: &dyn Db, item: Item<'_>) -> Vec<Lowered> {
    let mut lowered = lower_whole(db, item);
    for each in &mut lowered {
        let (blocks, instructions) = LARGEST_FUNCTION;
        let large = |function: &&Function| {
            function.blocks.len() > blocks || function.insts.len() > instructions
        };
        if let Some(found) = each.module.functions.iter().find(large) {
            let message = format!(
                "`{}` has {} basic blocks and {} instructions with what it inlines; at most {blocks} and {instructions} are analysed, nothing is known of this one",
                found.name,
                found.blocks.len(),
                found.insts.len()
            );
            let place = each
                .module
                .functions
                .first()
                .map_or(Span::at(0), |function| function.name_span);
            each.problems
                .push(Problem::new(ProblemKind::Limit, place, message));
            each.module = ir::Module::default();
        }
    }
    lowered
}

fn lower_whole(db: &dyn Db, item: Item<'_>) -> Vec<Lowered> {
    let file = item.main(db);
    match item.body(db) {
        Body::Text(source) => match file.language(db) {
            Language::Ptx => lower_ptx(db, item).into_iter().collect(),
            Language::MicroSimd => vec![lower_musimd(source, item.name(db))],
            _ => vec![lower_ir(source)],
        },
        Body::Tokens { .. } => {
            let language = match file.language(db) {
                Language::Hlsl => ir::Language::Hlsl,
                Language::C => ir::Language::C,
                _ => ir::Language::Cuda,
            };
            let config = settings(db, file).analysis(db);
            let options = lower_options(config, language, item.name(db));
            let bodies = ItemBodies { db, file };
            ir::lower::c_family::lower_item(
                db::environment(db, file),
                &bodies,
                &key(db, item),
                &options,
            )
        }
    }
}

/// A function of C with a body that other files may call.
pub fn is_exported(db: &dyn Db, item: Item<'_>) -> bool {
    use syntax::c_family::ast::{FunctionBody, ItemKind, SpecifierSet};
    let ItemKind::Function(function) = &db::parsed(db, item).kind else {
        return false;
    };
    let words = function.specifiers.words;
    let inline = words.has(SpecifierSet::INLINE) && !words.has(SpecifierSet::EXTERN);
    matches!(function.body, FunctionBody::Block(_)) && !words.has(SpecifierSet::STATIC) && !inline
}

/// The objects of external linkage that an item of C defines.
pub fn static_data(db: &dyn Db, item: Item<'_>) -> Option<Lowered> {
    let file = item.main(db);
    if file.language(db) != Language::C {
        return None;
    }
    let config = settings(db, file).analysis(db);
    let options = lower_options(config, ir::Language::C, item.name(db));
    let bodies = ItemBodies { db, file };
    ir::lower::c_family::static_data(db::environment(db, file), &bodies, &key(db, item), &options)
}

/// Facts and findings of an item's functions. The arguments that visible callers pass to a device function
/// are known.
pub fn analyse(db: &dyn Db, item: Item<'_>) -> Vec<Analysed> {
    let settings = settings(db, item.main(db));
    let config = settings.analysis(db);
    let program = match (item.main(db).language(db), item.body(db)) {
        (Language::MicroSimd, Body::Text(source)) => Some(syntax::musimd::parse(source)),
        _ => None,
    };
    let analysed = db::lowered(db, item).iter().map(|lowered| {
        let mut options = analysis_options(config, lowered, || db::passed(db, item));
        options.machine = machine::of_module(db, settings, &lowered.module);
        let (mut functions, findings) = facts::assess(&lowered.module, &options);
        if let (Some(program), Some(function), Some(facts)) = (
            &program,
            lowered.module.functions.first(),
            functions.first_mut(),
        ) {
            facts.named = facts::paper::named(program, function, &options).unwrap_or_default();
        }
        Analysed {
            functions,
            findings,
        }
    });
    analysed.collect()
}

/// The beginnings of a unit's items, by key, sorted.
pub type Places = Vec<(ItemKey, FileId, u32)>;

pub fn places(db: &dyn Db, file: File) -> Places {
    let place = |&item: &Item<'_>| {
        let place = item.place(db);
        (key(db, item), place.file, place.start)
    };
    let mut places: Places = db::items(db, file).iter().map(place).collect();
    places.sort();
    places
}

/// An item-relative position as one of a file of the unit.
pub fn absolute(
    db: &dyn Db,
    file: File,
    item: Item<'_>,
    function: &Function,
    loc: Loc,
) -> Option<(FileId, Span)> {
    match loc.site {
        Site(0) => absolute_in(db, file, item, None, loc),
        site => absolute_in(db, file, item, function.sites.get(site)?.item.as_ref(), loc),
    }
}

/// The same when the item that an inlined call leads to is known.
pub fn absolute_in(
    db: &dyn Db,
    file: File,
    item: Item<'_>,
    callee: Option<&ItemKey>,
    loc: Loc,
) -> Option<(FileId, Span)> {
    if loc == Loc::NONE {
        return None;
    }
    let Some(key) = callee else {
        let place = item.place(db);
        return Some((place.file, loc.span.shifted(place.start)));
    };
    let places = db::places(db, file);
    let at = places
        .binary_search_by(|(known, _, _)| known.cmp(key))
        .ok()?;
    let (_, id, start) = &places[at];
    Some((*id, loc.span.shifted(*start)))
}

/// The file of a unit by its number.
pub fn unit_file(db: &dyn Db, file: File, id: FileId) -> Option<File> {
    if id == FileId::MAIN {
        return Some(file);
    }
    file.language(db).c_dialect()?;
    let path = db::unit(db, file).path(id)?;
    (!includes::is_built_in(path)).then(|| db.file(Path::new(path)))
}

pub fn unit_file_count(db: &dyn Db, file: File) -> u32 {
    match file.language(db).c_dialect() {
        Some(_) => db::unit(db, file).files.len() as u32,
        None => 1,
    }
}

/// A step of a cause chain with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    pub reason: CauseReason,
    pub place: Option<(FileId, Span)>,
}

/// Returns the reasons why a value, as used in a block, is not uniform.
pub fn chain(
    db: &dyn Db,
    file: File,
    item: Item<'_>,
    function: &Function,
    facts: &FunctionFacts,
    value: Value,
    block: Block,
) -> Vec<Step> {
    placed(
        db,
        file,
        item,
        function,
        facts::cause_chain(function, facts, value, block),
    )
}

/// Returns the reasons why a branch or a loop is not uniform: the chain of the condition that decides.
pub fn cause_steps(
    db: &dyn Db,
    file: File,
    item: Item<'_>,
    function: &Function,
    facts: &FunctionFacts,
    cause: Cause,
    block: Block,
) -> Vec<Step> {
    let (value, block) = match cause {
        Cause::Operand(value) | Cause::Memory(value) => (Some(value), block),
        Cause::Branch(branch) | Cause::LeavesLoop { exit: branch, .. } => (
            function
                .blocks
                .get(branch)
                .and_then(|data| data.terminator.selector()),
            branch,
        ),
        Cause::None | Cause::Source | Cause::Race(_) => (
            function
                .blocks
                .get(block)
                .and_then(|data| data.terminator.selector()),
            block,
        ),
    };
    let chain = value.map_or_else(Vec::new, |value| {
        facts::cause_chain(function, facts, value, block)
    });
    placed(db, file, item, function, chain)
}

fn placed(
    db: &dyn Db,
    file: File,
    item: Item<'_>,
    function: &Function,
    steps: Vec<CauseStep>,
) -> Vec<Step> {
    let step = |step: CauseStep| Step {
        place: absolute(db, file, item, function, step.loc),
        reason: step.reason,
    };
    steps.into_iter().map(step).collect()
}
