//! A processor with explicit groups of instructions: the cycles that a dependent instruction waits, the rules
//! of issue, and, if the table has them, its caches and its predictor of branches.

use super::Quantity;
use super::schema::{EPIC, Issue};

/// The values of a processor with explicit groups.
#[derive(Clone, PartialEq, Debug)]
pub struct Epic {
    /// Indexed by `Issue`.
    quantities: Vec<Quantity>,
    /// Optional sections that the table lacks.
    absent: Vec<&'static str>,
}

/// A level of the caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheLevel {
    pub sets: u32,
    pub ways: u32,
    /// Bytes.
    pub line: u32,
    /// Cycles of an integer load that this level answers.
    pub latency: u32,
}

/// The caches of a processor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CacheTable {
    /// The first level first; at least one.
    pub levels: Vec<CacheLevel>,
    /// Cycles of an integer load that no level answers.
    pub memory: u32,
    /// Index of the level at which floating-point accesses look first.
    pub float: usize,
    /// A load that misses waits where it stands, not its first use.
    pub blocking: bool,
}

impl CacheTable {
    /// Cycles that an integer load takes longer than a hit of the first level: if the level of an index answers, or, behind
    /// the last, memory.
    #[must_use]
    pub fn later(&self, level: usize) -> u32 {
        let latency = self
            .levels
            .get(level)
            .map_or(self.memory, |level| level.latency);
        latency.saturating_sub(self.levels[0].latency)
    }
}

/// The predictor of a processor's branches; sizes are binary logarithms of numbers of entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PredictorTable {
    /// The words of the schema: `meta`, `gshare`, `tage`.
    pub kind: &'static str,
    pub entries: u32,
    /// Bits.
    pub history: u32,
    pub tables: u32,
    pub targets: u32,
    /// Cycles of a misprediction.
    pub penalty: u32,
    /// Cycles from a compare until fetches see its predicates.
    pub delay: u32,
    pub squash: bool,
    /// `plain`, `pep`, `resolved-pep`.
    pub local: &'static str,
    /// `never`, `resolved`, `repaired`.
    pub defines: &'static str,
}

impl Epic {
    /// `quantities` by `Issue`; `absent`: the optional sections that there are none of.
    pub(super) fn new(quantities: Vec<Quantity>, absent: Vec<&'static str>) -> Epic {
        Epic { quantities, absent }
    }
    pub(super) fn quantities(&self) -> &[Quantity] {
        &self.quantities
    }
    /// A value of the table; for a section that it lacks, the default of the schema.
    #[must_use]
    pub fn of(&self, key: Issue) -> u32 {
        self.quantities[key as usize].value as u32
    }
    /// Returns true if the table has the section.
    #[must_use]
    pub fn has(&self, section: &str) -> bool {
        !self.absent.contains(&section)
    }
    fn word(&self, key: Issue) -> &'static str {
        EPIC[key as usize].words[self.of(key) as usize]
    }

    /// The caches, where the table has some.
    #[must_use]
    pub fn caches(&self) -> Option<CacheTable> {
        if !self.has("cache") {
            return None;
        }
        let level = |[sets, ways, line]: [Issue; 3], latency| CacheLevel {
            sets: self.of(sets),
            ways: self.of(ways),
            line: self.of(line),
            latency: self.of(latency),
        };
        let levels = [
            level([Issue::L1Sets, Issue::L1Ways, Issue::L1Line], Issue::Load),
            level(
                [Issue::L2Sets, Issue::L2Ways, Issue::L2Line],
                Issue::L2Latency,
            ),
            level(
                [Issue::L3Sets, Issue::L3Ways, Issue::L3Line],
                Issue::L3Latency,
            ),
        ];
        let levels: Vec<CacheLevel> = levels.into_iter().filter(|level| level.sets > 0).collect();
        Some(CacheTable {
            float: (self.of(Issue::FloatLevel) as usize).clamp(1, levels.len()) - 1,
            levels,
            memory: self.of(Issue::MemoryLatency),
            blocking: self.of(Issue::Blocking) != 0,
        })
    }

    /// The predictor of branches, where the table has it.
    #[must_use]
    pub fn predictor(&self) -> Option<PredictorTable> {
        self.has("predictor").then(|| PredictorTable {
            kind: self.word(Issue::Predictor),
            entries: self.of(Issue::PredictorEntries),
            history: self.of(Issue::PredictorHistory),
            tables: self.of(Issue::PredictorTables),
            targets: self.of(Issue::PredictorTargets),
            penalty: self.of(Issue::Mispredicted),
            delay: self.of(Issue::PredicateDelay),
            squash: self.of(Issue::SquashFalse) != 0,
            local: self.word(Issue::LocalHistory),
            defines: self.word(Issue::DefineHistory),
        })
    }
}
