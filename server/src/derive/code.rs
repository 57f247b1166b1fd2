//! The code of the function around a position, with the lines that it comes from: GPU code, of C that of a processor with
//! explicit groups.
//!
//! PTX for `sm_NN` by our own lowering: an estimate of a compiler's output, not that output; the result of
//! `ptxas` for it is `ptxas`'s own. A `.ptx` file is its own code.

pub mod sets;

use super::budget::Budget;
use super::costs::{Costs, Fit, of_function};
use super::rows::rows_of;
use crate::db::{self, Db, File, Item};
use crate::documents::line_column;
use crate::program::{self, Language, is_named, items_to_show};
use codegen::isa::Branch;
use codegen::refusal::{Refusal, Refused};
use codegen::target::ia64::listing::listing;
use codegen::target::ptx::{self, Target};
use ir::{FunctionKind, Loc, Module};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::cell::RefCell;
use syntax::{FileId, ItemKey, LineIndex};

#[derive(Clone, PartialEq, Debug)]
pub struct TargetCode {
    /// The function's name.
    pub name: String,
    pub target: CodeTarget,
    pub text: String,
    /// Lines of the text and lines of the file that they come from, both from 0, ascending by the first.
    pub lines: Vec<(u32, u32)>,
    /// Functions that other modules define.
    pub externals: Vec<String>,
    pub refused: Option<NoCode>,
    /// The warps that fit, by our estimate of registers; of entry points.
    pub fit: Option<Fit>,
    /// The most registers that a thread may have; of entry points.
    pub budget: Option<Budget>,
}

/// The machine that code is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CodeTarget {
    /// A GPU, by its compute capability.
    Gpu { sm: u32 },
    /// A processor with explicit groups, by its name.
    Groups { processor: SmolStr },
    /// A processor that issues execution sets, by its name.
    Sets { processor: SmolStr },
}

/// `sm_80`, `ia64:mckinley`.
impl std::fmt::Display for CodeTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CodeTarget::Gpu { sm } => write!(f, "sm_{sm}"),
            CodeTarget::Groups { processor } => write!(f, "ia64:{processor}"),
            CodeTarget::Sets { processor } => f.write_str(processor),
        }
    }
}

/// The reason why there is no code.
#[derive(Clone, PartialEq, Debug)]
pub enum NoCode {
    /// The refusal of code for a GPU.
    Gpu(Refusal),
    /// The refusals of code for a processor with explicit groups.
    Groups(Vec<Refused>),
}

/// The architecture that code is made for: the configured target, sm_80 where that is none of NVIDIA's.
pub fn architecture(db: &dyn Db, file: File) -> u32 {
    let target = program::settings(db, file).analysis(db).target.as_ref();
    target
        .map_or("", |target| target.as_str())
        .strip_prefix("sm_")
        .and_then(|number| number.trim_end_matches(['a', 'f']).parse().ok())
        .filter(|sm| (75..=129).contains(sm))
        .unwrap_or(80)
}

/// The code of the function at an offset, or of the first entry behind it.
pub fn at(db: &dyn Db, file: File, offset: u32) -> Option<TargetCode> {
    of(db, file, chosen(db, file, offset)?)
}

/// The function at an offset, or the first entry behind it.
pub fn function_at(db: &dyn Db, file: File, offset: u32) -> Option<ItemKey> {
    let item = chosen(db, file, offset)?;
    Some(ItemKey {
        name: item.name(db).clone(),
        ordinal: item.ordinal(db),
    })
}

/// The code of one of several functions of a name.
pub fn of_key(db: &dyn Db, file: File, key: &ItemKey) -> Option<TargetCode> {
    let items = items_to_show(db, file);
    let same = |item: Item<'_>| *item.name(db) == key.name && item.ordinal(db) == key.ordinal;
    let (_, item) = items.iter().find(|(_, item)| same(*item))?;
    of(db, file, *item)
}

fn chosen<'db>(db: &'db dyn Db, file: File, offset: u32) -> Option<Item<'db>> {
    let items = items_to_show(db, file);
    let around = items
        .iter()
        .filter(|(place, _)| place.file == FileId::MAIN)
        .filter(|(place, item)| place.start <= offset && offset <= place.end && item.holds(db).code)
        .filter(|(_, item)| !rows_of(db, *item).is_empty())
        .min_by_key(|(place, _)| place.end - place.start);
    let is_entry = |item: Item<'_>| {
        // Functions of C are called from anywhere.
        if file.language(db) == Language::C {
            return item.holds(db).code;
        }
        let mut heads = rows_of(db, item)
            .iter()
            .filter_map(|rows| rows.head.as_ref());
        heads.any(|head| matches!(head.kind, FunctionKind::Kernel | FunctionKind::Stage(_)))
    };
    let next = || {
        let mut later = items
            .iter()
            .filter(|(place, _)| place.file == FileId::MAIN && place.end >= offset);
        later.find(|(_, item)| is_entry(*item))
    };
    let first = || items.iter().find(|(_, item)| is_entry(*item));
    let (_, item) = around.or_else(next).or_else(first)?;
    Some(*item)
}

/// The code of the function of this name.
pub fn named(db: &dyn Db, file: File, name: &str) -> Option<TargetCode> {
    let items = items_to_show(db, file);
    let called = |item: Item<'_>| is_named(item.name(db), name);
    // A declaration in front of the function has no code.
    let mut found = items.iter().filter(|(_, item)| called(*item));
    found.find_map(|(_, item)| of(db, file, *item))
}

/// Names of the functions of a file that have code.
pub fn names(db: &dyn Db, file: File) -> Vec<String> {
    let items = items_to_show(db, file);
    let with_code = items.iter().filter(|(_, item)| item.holds(db).code);
    with_code
        .map(|(_, item)| item.name(db).to_string())
        .collect()
}

fn of(db: &dyn Db, file: File, item: Item<'_>) -> Option<TargetCode> {
    // C is for processors with explicit groups.
    if file.language(db) == Language::C {
        return of_c(db, file, item);
    }
    if file.language(db) == Language::Ptx {
        return Some(own_text(db, file, item));
    }
    let lowered = db::lowered(db, item);
    let entry = |module: &Module| {
        let kind = module.functions.first().map(|f| f.kind);
        matches!(kind, Some(FunctionKind::Kernel | FunctionKind::Stage(_)))
    };
    let chosen = lowered
        .iter()
        .find(|l| entry(&l.module))
        .or_else(|| lowered.first())?;
    let function = chosen.module.functions.first()?;
    let sm = architecture(db, file);
    let files: Vec<String> = (0..program::unit_file_count(db, file))
        .filter_map(|id| program::unit_file(db, file, FileId(id)))
        .map(|f| {
            let name = f.path(db).file_name().unwrap_or_default();
            name.to_string_lossy().into_owned()
        })
        .collect();
    let places = Places {
        db,
        file,
        item,
        function,
        known: RefCell::default(),
    };
    let place = |loc: Loc| places.of(loc);
    let target = Target {
        sm,
        fast_math: program::settings(db, file).analysis(db).approximates(),
        contract: program::settings(db, file).analysis(db).contracts(),
        files: &files,
        place: Some(&place),
    };
    let costs = of_function(db, item, function);
    let mut shown = TargetCode {
        name: function.name.to_string(),
        target: CodeTarget::Gpu { sm },
        text: String::new(),
        lines: Vec::new(),
        externals: Vec::new(),
        refused: None,
        fit: costs.and_then(|costs| costs.fit.clone()),
        budget: costs.and_then(|costs| costs.budget),
    };
    match ptx::generate(&chosen.module, &target) {
        Ok(code) => {
            let lines = code.places.iter().filter_map(|&(line, loc)| {
                let (file, source, _) = place(loc)?;
                (file == 1).then_some((line, source - 1))
            });
            shown.lines = lines.collect();
            shown.externals = code.externals.iter().map(ToString::to_string).collect();
            shown.text = code.text;
        }
        Err(refusal) => shown.refused = Some(NoCode::Gpu(refusal)),
    }
    Some(shown)
}

/// The code of a function of C: loops pipelined, cycles as comments.
fn of_c(db: &dyn Db, file: File, item: Item<'_>) -> Option<TargetCode> {
    if super::sets::processor(db, file).is_some() {
        return sets::of(db, file, item);
    }
    let found = db::machine_code(db, item).as_ref()?;
    let function = db::lowered(db, item).first()?.module.functions.first()?;
    let mut shown = TargetCode {
        name: function.name.to_string(),
        target: CodeTarget::Groups {
            processor: found.processor.clone(),
        },
        text: String::new(),
        lines: Vec::new(),
        externals: Vec::new(),
        refused: None,
        fit: None,
        budget: None,
    };
    match &found.code {
        Ok(emitted) => {
            let places = Places {
                db,
                file,
                item,
                function,
                known: RefCell::default(),
            };
            let own = emitted.lines.iter().filter(|line| line.function == 0);
            let lines = own.filter_map(|line| {
                let (id, source, _) = places.of(line.loc)?;
                (id == 1).then_some((line.line, source - 1))
            });
            shown.lines = lines.collect();
            shown.text = with_cycles(db, file, &emitted.text);
        }
        Err(reasons) => shown.refused = Some(NoCode::Groups(reasons.clone())),
    }
    Some(shown)
}

/// Half a window has room for an instruction and its comment.
const INDENT: &str = "    ";

/// Assembly with the cycle of each group behind its first instruction, in pipelined loops with the stage of each.
fn with_cycles(db: &dyn Db, file: File, text: &str) -> String {
    let table = db::processor(db, program::settings(db, file));
    let Some(epic) = table.epic() else {
        return text.to_owned();
    };
    let document = syntax::ia64::parse(text);
    let listing = listing(&document, text);
    let index = LineIndex::new(text);
    let mut comments: FxHashMap<u32, String> = FxHashMap::default();
    for groups in listing.timing(epic) {
        let items = |range: &std::ops::Range<u32>| range.start as usize..range.end as usize;
        let rotates = groups.last().is_some_and(|last| {
            let mut branches = listing.items[items(&last.items)].iter().rev();
            let branch = branches.find_map(|item| item.inst.branch);
            matches!(
                branch,
                Some(Branch::CountedRotating | Branch::WhileRotating)
            )
        });
        for group in &groups {
            for (number, at) in group.items.clone().enumerate() {
                let item = &listing.items[at as usize];
                let stage = (rotates && item.inst.predicate >= 16 && item.inst.branch.is_none())
                    .then(|| format!("stage {}", item.inst.predicate - 16));
                let cycle = (number == 0).then(|| format!("cycle {}", group.cycle));
                let parts: Vec<String> = cycle.into_iter().chain(stage).collect();
                if !parts.is_empty() {
                    let span = document.statements[item.statement as usize].span;
                    comments.insert(index.line_column(span.start).0, parts.join(", "));
                }
            }
        }
    }
    let lines = (0..).zip(text.lines()).map(|(number, line)| {
        match comments.get(&number) {
            // Columns that a reader can compare.
            Some(comment) => format!("{:<36} // {comment}\n", line.replace('\t', INDENT)),
            None => line.replace('\t', INDENT) + "\n",
        }
    });
    lines.collect()
}

/// PTX as it stands: each line comes from itself.
fn own_text(db: &dyn Db, file: File, item: Item<'_>) -> TargetCode {
    let text = program::text(file.source(db)).to_owned();
    let lines = (0..text.lines().count() as u32).map(|line| (line, line));
    // What the assembler says is of the entry that needs most.
    let costs: Option<&Costs> = match db::lowered(db, item).as_slice() {
        [lowered] if text.matches(".entry").count() == 1 => {
            let function = lowered.module.functions.first();
            function.and_then(|function| of_function(db, item, function))
        }
        _ => None,
    };
    TargetCode {
        name: item.name(db).to_string(),
        target: CodeTarget::Gpu {
            sm: architecture(db, file),
        },
        lines: lines.collect(),
        externals: Vec::new(),
        refused: None,
        fit: costs.and_then(|costs| costs.fit.clone()),
        budget: costs.and_then(|costs| costs.budget),
        text,
    }
}

/// The places of a function's positions, with line indices kept.
struct Places<'a> {
    db: &'a dyn Db,
    file: File,
    item: Item<'a>,
    function: &'a ir::Function,
    known: RefCell<FxHashMap<Loc, Option<ptx::Place>>>,
}

impl Places<'_> {
    /// A call that was inlined stands where the call is written, in the function itself.
    fn of(&self, loc: Loc) -> Option<ptx::Place> {
        if let Some(&known) = self.known.borrow().get(&loc) {
            return known;
        }
        let found = self.find(loc);
        self.known.borrow_mut().insert(loc, found);
        found
    }
    fn find(&self, loc: Loc) -> Option<ptx::Place> {
        let (id, span) = program::absolute(self.db, self.file, self.item, self.function, loc)?;
        let file = program::unit_file(self.db, self.file, id)?;
        let index: &LineIndex = db::line_index(self.db, file);
        let text = program::text(file.source(self.db));
        let (line, column) = line_column(text, index, span.start);
        Some((id.0 + 1, line, column))
    }
}
