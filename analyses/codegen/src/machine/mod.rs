//! Machines as data: one table a processor, each value with its source and its label - fact, bound or
//! estimate. Tables are TOML files in `tables/`; a user's file has the same form and may start from one of
//! them:
//!
//! ```toml
//! kind = "gpu"
//! name = "my_card"
//! base = "sm_86"                    # what is not said here is as there
//! [throughput]
//! double = 4                        # an estimate of the user's own
//! float = { value = 128, is = "fact", source = "vendor's guide, table 5" }
//! ```
//!
//! `schema` lists the quantities of a kind, `load` reads and checks a file. For a GPU, `charges` gives the
//! cycles that estimates count with, `occupancy` the number of warps that fit. The latencies of a GPU are for
//! showing, and for comparison with measurements: no estimate reads them, since a warp that waits leaves the
//! scheduler to others. Latency that is not hidden in this way is in the charges. For a processor with
//! explicit groups, `kind = "epic"`, `epic` has the latency between two instructions and the rules of issue,
//! and `Epic::caches` and `Epic::predictor` the caches and the predictor with which `lockstep sim` counts
//! misses and mispredictions, if the table has these sections. For a processor that issues execution sets,
//! `kind = "sets"`, `sets` has the contents of a set and the instructions that take more than a cycle.
//!
//! Does not read files: the caller has the text.

mod charges;
pub mod epic;
pub mod estimate;
pub mod files;
mod load;
pub mod occupancy;
pub mod registers;
pub mod schema;
pub mod sets;
mod thread;
pub mod weights;

pub use charges::charges;
pub use load::{Parsed, Problem, load};

use epic::Epic;
use schema::{EPIC, EPIC_SECTIONS, Field, GPU, Key, SECTIONS, SET_SECTIONS, SETS};
use sets::Sets;
use smol_str::SmolStr;
use std::sync::{Arc, LazyLock};

/// The degree to which a value can be trusted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Label {
    /// Documented by the vendor, or measured.
    Fact,
    /// The truth is on one side of it.
    Bound,
    /// The truth is of that order.
    Estimate,
}

impl Label {
    pub const fn name(self) -> &'static str {
        match self {
            Label::Fact => "fact",
            Label::Bound => "bound",
            Label::Estimate => "estimate",
        }
    }
    pub fn from_name(name: &str) -> Option<Label> {
        [Label::Fact, Label::Bound, Label::Estimate]
            .into_iter()
            .find(|label| label.name() == name)
    }
}

/// One value of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Quantity {
    pub value: f64,
    pub label: Label,
    /// A name of `Table::sources`, or a text.
    pub source: SmolStr,
    /// The table that says so, where that is a base.
    pub of: SmolStr,
}

/// A processor.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    pub name: SmolStr,
    /// The name for people: `NVIDIA A100`.
    pub title: String,
    pub base: Option<SmolStr>,
    /// Short names of sources and their descriptions, sorted, those of the bases among them.
    pub sources: Vec<(SmolStr, String)>,
    pub kind: Kind,
}

/// The kind of machine that a table describes.
#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    Gpu(Gpu),
    Epic(Epic),
    Sets(Sets),
}

/// The values of a GPU.
#[derive(Clone, PartialEq, Debug)]
pub struct Gpu {
    /// Indexed by `Key`.
    quantities: Vec<Quantity>,
}

impl Gpu {
    #[must_use]
    pub fn of(&self, key: Key) -> f64 {
        self.quantities[key as usize].value
    }
    #[must_use]
    pub fn quantity(&self, key: Key) -> &Quantity {
        &self.quantities[key as usize]
    }
    /// A count.
    #[must_use]
    pub fn count(&self, key: Key) -> u32 {
        self.of(key) as u32
    }
    /// The warp size to count with when `wanted` lanes are asked for: a machine has one or two.
    #[must_use]
    pub fn lanes(&self, wanted: u32) -> u32 {
        match wanted == self.count(Key::WideLanes) {
            true => wanted,
            false => self.count(Key::Lanes),
        }
    }
    /// All quantities in the order of the schema.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Field, &Quantity)> {
        GPU.iter().zip(&self.quantities)
    }
}

impl Table {
    /// Returns the table of the GPU; for a machine that is no GPU, the table that stands in for machines that
    /// are not known.
    #[must_use]
    pub fn gpu(&self) -> &Gpu {
        match (&self.kind, &TABLES[0].kind) {
            (Kind::Gpu(gpu), _) | (_, Kind::Gpu(gpu)) => gpu,
            _ => unreachable!("the first table is a GPU's"),
        }
    }
    #[must_use]
    pub fn is_gpu(&self) -> bool {
        matches!(self.kind, Kind::Gpu(_))
    }
    /// `None`: no processor with explicit groups.
    #[must_use]
    pub fn epic(&self) -> Option<&Epic> {
        match &self.kind {
            Kind::Epic(epic) => Some(epic),
            Kind::Gpu(_) | Kind::Sets(_) => None,
        }
    }
    /// `None`: no processor that issues execution sets.
    #[must_use]
    pub fn sets(&self) -> Option<&Sets> {
        match &self.kind {
            Kind::Sets(sets) => Some(sets),
            Kind::Gpu(_) | Kind::Epic(_) => None,
        }
    }
    /// All quantities in the order of the schema, but for those of sections that the table lacks.
    pub fn quantities(&self) -> impl Iterator<Item = (&'static Field, &Quantity)> {
        let all = self.schema().fields.iter().zip(self.values());
        all.filter(|(field, _)| self.has(field.section))
    }
    /// Returns true unless the section is one that tables may lack, and this table does.
    #[must_use]
    pub fn has(&self, section: &str) -> bool {
        self.epic().is_none_or(|epic| epic.has(section))
    }
    fn values(&self) -> &[Quantity] {
        match &self.kind {
            Kind::Gpu(gpu) => &gpu.quantities,
            Kind::Epic(epic) => epic.quantities(),
            Kind::Sets(sets) => sets.quantities(),
        }
    }
    /// Returns the contents of a table of this kind.
    #[must_use]
    pub fn schema(&self) -> &'static Schema {
        match &self.kind {
            Kind::Gpu(_) => &SCHEMAS[0],
            Kind::Epic(_) => &SCHEMAS[1],
            Kind::Sets(_) => &SCHEMAS[2],
        }
    }
}

/// The quantities of a kind of processor.
#[derive(Debug)]
pub struct Schema {
    /// The kind as `kind` names it.
    pub kind: &'static str,
    pub fields: &'static [Field],
    /// Names and values, in the order of the file.
    pub sections: &'static [(&'static str, &'static str)],
}

static SCHEMAS: [Schema; 3] = [
    Schema {
        kind: "gpu",
        fields: GPU,
        sections: SECTIONS,
    },
    Schema {
        kind: "epic",
        fields: EPIC,
        sections: EPIC_SECTIONS,
    },
    Schema {
        kind: "sets",
        fields: SETS,
        sections: SET_SECTIONS,
    },
];

/// The tables that come with us, bases before the tables that start from them; the first stands in for
/// machines that are not known.
const FILES: &[(&str, &str)] = &[
    ("sm_80", include_str!("tables/sm_80.toml")),
    ("sm_70", include_str!("tables/sm_70.toml")),
    ("sm_75", include_str!("tables/sm_75.toml")),
    ("sm_86", include_str!("tables/sm_86.toml")),
    ("sm_87", include_str!("tables/sm_87.toml")),
    ("sm_89", include_str!("tables/sm_89.toml")),
    ("sm_90", include_str!("tables/sm_90.toml")),
    ("sm_100", include_str!("tables/sm_100.toml")),
    ("sm_120", include_str!("tables/sm_120.toml")),
    ("gcn5", include_str!("tables/gcn5.toml")),
    ("cdna2", include_str!("tables/cdna2.toml")),
    ("cdna3", include_str!("tables/cdna3.toml")),
    ("rdna2", include_str!("tables/rdna2.toml")),
    ("rdna1", include_str!("tables/rdna1.toml")),
    ("rdna3", include_str!("tables/rdna3.toml")),
    ("rdna3_small", include_str!("tables/rdna3_small.toml")),
    ("itanium", include_str!("tables/itanium.toml")),
    ("itanium2", include_str!("tables/itanium2.toml")),
    (
        "itanium2_caches",
        include_str!("tables/itanium2_caches.toml"),
    ),
    ("bratt2001", include_str!("tables/bratt2001.toml")),
    ("simon2001", include_str!("tables/simon2001.toml")),
    ("sc140", include_str!("tables/sc140.toml")),
];

/// Other names of the same machines.
const ALIASES: &[(&str, &str)] = &[
    ("sm_72", "sm_70"),
    ("sm_103", "sm_100"),
    ("sm_121", "sm_120"),
    ("gcn", "gcn5"),
    ("gfx900", "gcn5"),
    ("gfx906", "gcn5"),
    ("gfx908", "gcn5"),
    ("cdna1", "gcn5"),
    ("gfx90a", "cdna2"),
    ("gfx942", "cdna3"),
    ("cdna", "cdna3"),
    ("rdna", "rdna2"),
    ("gfx1010", "rdna1"),
    ("gfx1030", "rdna2"),
    ("gfx1100", "rdna3"),
    ("gfx1101", "rdna3"),
    ("gfx1151", "rdna3"),
    ("gfx1102", "rdna3_small"),
    ("gfx1103", "rdna3_small"),
    ("merced", "itanium"),
    ("mckinley", "itanium2"),
];

static TABLES: LazyLock<Vec<Arc<Table>>> = LazyLock::new(|| {
    let mut tables: Vec<Arc<Table>> = Vec::new();
    for (_, text) in FILES {
        let parsed = load(text, &|name| {
            tables.iter().find(|table| table.name == name).cloned()
        });
        tables.extend(parsed.table.map(Arc::new));
    }
    tables
});

/// All tables that come with us.
pub fn tables() -> &'static [Arc<Table>] {
    &TABLES
}

/// The table of this name: `sm_86`, `sm_90a`, `rdna3`, `gfx1100`.
#[must_use]
pub fn named(name: &str) -> Option<Arc<Table>> {
    let plain = match name.starts_with("sm_") {
        true => name.trim_end_matches(['a', 'f']),
        false => name,
    };
    let alias = ALIASES.iter().find(|(alias, _)| *alias == plain);
    let plain = alias.map_or(plain, |(_, name)| name);
    tables().iter().find(|table| table.name == plain).cloned()
}

/// The table that stands in for machines that are not known.
#[must_use]
pub fn default_table() -> Arc<Table> {
    Arc::clone(&tables()[0])
}

#[cfg(test)]
mod tests;
