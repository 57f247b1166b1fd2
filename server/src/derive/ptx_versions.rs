//! Rewritings of PTX documents by a zero that are tried: written, and judged by the checker.

use super::parts::{self, parts_lanes};
use super::versions;
use crate::db::{self, Db, File, Item};
use crate::program::{self, Body};
use codegen::specialize::accept::Model;
use codegen::specialize::frequency::frequency;
use codegen::specialize::ptx::{
    Candidate, Converted, Document, Refusal, Rejection, Settings, Stay, Sunk, Unconverted, check,
    remove, unguard,
};
use facts::cost::Machine;
use ir::{Block, EntityVec, Function};
use syntax::Span;
use syntax::ptx::PtxItemKind;

/// The ways to be rid of what a zero makes useless.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// A copy for the warps where all lanes hold zero.
    Copy,
    /// Guards in place, by which each lane chooses for itself.
    Guards,
}

/// A text that passed.
#[derive(Clone, PartialEq, Debug)]
pub struct Made {
    pub way: Way,
    pub name: String,
    /// The number of its labels or of its predicate.
    pub number: u32,
    /// The insertions by item-relative offset, ascending.
    pub insertions: Vec<(u32, String)>,
    /// The probability is left at 0.
    pub model: Model,
    /// Statements of the region, and of its copy; guarded statements, and the loads among them.
    pub statements: (usize, usize),
}

/// A function in whose text rewritings are tried.
#[allow(missing_debug_implementations)]
pub struct Trying<'a> {
    pub db: &'a dyn Db,
    pub item: Item<'a>,
    file: File,
    pub document: Document<'a>,
    pub machine: &'a Machine,
    pub weights: EntityVec<Block, f64>,
    /// They are those of a profile.
    pub profiled: bool,
}

impl<'a> Trying<'a> {
    /// `None` for an item that is no function.
    #[must_use]
    pub fn new(db: &'a dyn Db, file: File, item: Item<'a>) -> Option<Self> {
        let PtxItemKind::Function(tree) = &db::ptx_tree(db, item).kind else {
            return None;
        };
        let function = db::lowered(db, item).first()?.module.functions.first()?;
        let Body::Text(own) = item.body(db) else {
            return None;
        };
        let profiled = versions::executions(db, item, function);
        Some(Trying {
            db,
            item,
            file,
            document: Document::new(own, tree, function, db::ptx_declarations(db, file).version),
            machine: db::charges(db, program::settings(db, file)),
            profiled: profiled.is_some(),
            weights: profiled.unwrap_or_else(|| frequency(function)),
        })
    }

    /// The text of the whole file.
    #[must_use]
    pub fn text(&self) -> &'a str {
        program::text(self.file.source(self.db))
    }

    /// The offset at which the item begins in it.
    #[must_use]
    pub fn start(&self) -> u32 {
        self.item.place(self.db).start
    }

    /// Moves the statement at an item-relative offset to where it is read. `None`: there is no statement.
    #[must_use]
    pub fn sink(&self, offset: u32) -> Option<Result<Sunk, Stay>> {
        let at = self.document.statement_at(offset)?;
        let parts = parts::parts(self.db, self.item);
        let parts_lanes = |span: Span| parts_lanes(&parts, span);
        let profiled = self.profiled.then_some(&self.weights);
        Some(self.document.sink(at, self.machine, profiled, &parts_lanes))
    }

    /// Converts the branch at an item-relative offset to predicates. `None`: there is no statement.
    #[must_use]
    pub fn convert(&self, offset: u32) -> Option<Result<Converted, Unconverted>> {
        let at = self.document.statement_at(offset)?;
        let parts = parts::parts(self.db, self.item);
        let parts_lanes = |span: Span| parts_lanes(&parts, span);
        let profiled = self.profiled.then_some(&self.weights);
        let document = &self.document;
        Some(document.convert(at, self.machine, profiled, &parts_lanes))
    }

    /// The permissions of the configuration and the facts.
    #[must_use]
    pub fn allowed(&self, file: File) -> Settings {
        let configured = program::settings(self.db, file).analysis(self.db).fast_math;
        Settings {
            absorb: configured.unwrap_or(false),
            whole_warps: versions::whole_warps(self.db, self.item),
            ..Settings::default()
        }
    }

    #[must_use]
    pub fn function(&self) -> &'a Function {
        self.document.function
    }

    #[must_use]
    pub fn share(&self, candidate: &Candidate) -> Option<f64> {
        versions::share(self.db, self.item, self.function(), &candidate.members)
    }

    /// Writes and judges.
    ///
    /// # Errors
    /// When it would not be right, or saves nothing.
    pub fn attempt(
        &self,
        way: Way,
        candidate: &Candidate,
        settings: Settings,
    ) -> Result<Made, Refusal> {
        let parts = parts::parts(self.db, self.item);
        let tested = parts
            .first()
            .and_then(|part| versions::facts_of(part, &candidate.members));
        if let Some(why) = tested.and_then(|tested| tested.never) {
            let name = candidate.names.join(", ");
            return Err(Refusal::NeverZero { name, why });
        }
        let settings = Settings {
            uniform: tested.is_some_and(|tested| tested.uniform),
            ..settings
        };
        let (costs, weights) = (self.machine, &self.weights);
        let made = match way {
            Way::Copy => {
                let version = (self.document).version(candidate, settings, costs, weights)?;
                Made {
                    way,
                    name: version.name,
                    number: version.number,
                    insertions: version.insertions,
                    model: version.model,
                    statements: (version.statements, version.fast_statements),
                }
            }
            Way::Guards => {
                let guards = (self.document).guards(candidate, settings, costs, weights)?;
                Made {
                    way,
                    name: guards.name,
                    number: guards.number,
                    insertions: guards.insertions,
                    model: guards.model,
                    statements: (guards.guarded, guards.loads),
                }
            }
        };
        made.judged(self.text(), self.start())
    }
}

impl Made {
    /// Itself, if the checker finds nothing against it in a text where the item begins at `start`.
    ///
    /// # Errors
    /// The first rule that does not hold.
    pub fn judged(self, text: &str, start: u32) -> Result<Self, Refusal> {
        let mut after = text.to_owned();
        for (offset, new) in self.insertions.iter().rev() {
            let at = (start + offset) as usize;
            if !after.is_char_boundary(at) {
                return Err(Rejection::OutOfRange.into());
            }
            after.insert_str(at, new);
        }
        let inside = start + self.insertions.first().map_or(0, |it| it.0 + 4);
        let (removal, check) = match self.way {
            Way::Copy => (remove(&after, inside), check::check as Check),
            Way::Guards => (unguard(&after, inside), check::guards as Check),
        };
        let removal = removal.ok_or(Rejection::NotRemovable)?;
        check(text, &after, &removal).map_err(Rejection::Rule)?;
        Ok(self)
    }
}

type Check = fn(
    &str,
    &str,
    &codegen::specialize::ptx::Removal,
) -> Result<(), codegen::specialize::ptx::check::Violation>;
