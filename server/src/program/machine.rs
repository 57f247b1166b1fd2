//! The machine whose costs a file's estimates use: the user's table, the one that is named, that of the target.

use super::text;
use crate::config::{self, ConfigProblem};
use crate::db::{self, Db, File, Settings, Source};
use codegen::machine::{self, Problem, Table};
use facts::cost::Machine;
use std::path::Path;
use std::sync::Arc;
use syntax::Span;

/// Bytes of a table that are read.
const LARGEST: usize = 1 << 20;

/// A file as a table of a machine.
#[derive(Clone, PartialEq, Debug)]
pub struct MachineText {
    pub table: Option<Arc<Table>>,
    pub problems: Vec<Problem>,
}

pub fn machine_text(source: &Source) -> MachineText {
    let refused = |message: String| MachineText {
        table: None,
        problems: vec![Problem {
            span: Span::at(0),
            message,
        }],
    };
    match source {
        Source::Missing => refused("there is no such file".into()),
        Source::Unusable(reason) => refused(reason.to_string()),
        Source::Text { text, .. } if text.len() > LARGEST => {
            refused(format!("{} bytes are too many for a table", text.len()))
        }
        Source::Text { .. } => {
            let parsed = machine::load(text(source), &machine::named);
            MachineText {
                table: parsed.table.map(Arc::new),
                problems: parsed.problems,
            }
        }
    }
}

/// The user's own table.
fn own(db: &dyn Db, settings: Settings) -> Option<Arc<Table>> {
    let path = settings.analysis(db).machine_file.as_ref()?;
    db::machine_text(db, db.file(path)).table.clone()
}

/// The GPU whose costs kernels and shaders have.
pub fn machine(db: &dyn Db, settings: Settings) -> Arc<Table> {
    let config = settings.analysis(db);
    let named = |name: &Option<smol_str::SmolStr>| name.as_deref().and_then(machine::named);
    own(db, settings)
        .filter(|table| table.is_gpu())
        .or_else(|| named(&config.machine))
        .or_else(|| named(&config.target))
        .filter(|table| table.is_gpu())
        .unwrap_or_else(machine::default_table)
}

/// The processor with explicit groups for which assembly is judged.
pub fn processor(db: &dyn Db, settings: Settings) -> Arc<Table> {
    let name = settings.analysis(db).processor.as_deref();
    own(db, settings)
        .filter(|table| table.epic().is_some())
        .or_else(|| {
            name.and_then(machine::named)
                .filter(|table| table.epic().is_some())
        })
        .or_else(|| machine::named(config::PROCESSOR))
        .unwrap_or_else(machine::default_table)
}

/// The processor with execution sets for which assembly is judged: the user's own, or the first that is known.
pub fn set_processor(db: &dyn Db, settings: Settings) -> Option<Arc<Table>> {
    let known = || machine::tables().iter();
    own(db, settings)
        .filter(|table| table.sets().is_some())
        .or_else(|| known().find(|table| table.sets().is_some()).cloned())
}

/// The processor with execution sets that C is shown for: the user's own, or the one that is named.
pub fn c_set_processor(db: &dyn Db, settings: Settings) -> Option<Arc<Table>> {
    let name = settings.analysis(db).processor.as_deref();
    own(db, settings)
        .or_else(|| name.and_then(machine::named))
        .filter(|table| table.sets().is_some())
}

pub fn charges(db: &dyn Db, settings: Settings) -> Machine {
    let lanes = settings.analysis(db).options.warp_size;
    machine::charges(db::machine(db, settings), lanes)
}

/// The costs of a thread by itself, on the processor with explicit groups.
pub fn thread_charges(db: &dyn Db, settings: Settings) -> Machine {
    let processor = db::processor(db, settings);
    let name = processor.name.clone();
    processor
        .epic()
        .map_or_else(Machine::default, |epic| epic.costs(name))
}

/// The costs of a file's operations: of a warp on the GPU, of C those of a thread.
pub fn costs_of(db: &dyn Db, file: File) -> &Machine {
    let settings = super::settings(db, file);
    match file.language(db) {
        super::Language::C => db::thread_charges(db, settings),
        _ => db::charges(db, settings),
    }
}

/// Returns the problems with a table of a machine, in the table.
pub fn machine_problems(db: &dyn Db, file: File) -> Vec<ConfigProblem> {
    let problem = |problem: &Problem| ConfigProblem {
        span: problem.span,
        message: problem.message.clone(),
    };
    db::machine_text(db, file)
        .problems
        .iter()
        .map(problem)
        .collect()
}

/// The same where a configuration names the table.
pub fn machine_file_problem(db: &dyn Db, path: &Path, place: Span) -> Option<ConfigProblem> {
    let file = db.file(path);
    let problems = &db::machine_text(db, file).problems;
    let first = problems.first()?;
    let source = text(file.source(db));
    let (line, column) =
        crate::documents::line_column(source, db::line_index(db, file), first.span.start);
    let more = match problems.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    Some(ConfigProblem {
        span: place,
        message: format!(
            "{}:{line}:{column}: {}{more}",
            path.display(),
            first.message
        ),
    })
}

/// The costs for the functions of a module, whose warps may have a size of their own.
pub(super) fn of_module(db: &dyn Db, settings: Settings, module: &ir::Module) -> Arc<Machine> {
    let own = module.functions.first().and_then(|f| f.launch.warp_size);
    match own.filter(|&lanes| lanes != settings.analysis(db).options.warp_size) {
        Some(lanes) => Arc::new(machine::charges(db::machine(db, settings), lanes)),
        None => Arc::clone(db::charges(db, settings)),
    }
}
