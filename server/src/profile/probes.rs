//! Counters of IA-64 assembly with probes: the map that goes with a copy, and the counts that a dump of the counters holds.
//!
//! A map says how the copy was made. The same source gives the same copy, so the meaning of each counter is
//! found by making it again; a source that has changed since is recognised by its sum.

use codegen::machine;
use codegen::target::ia64::instrument::{
    BranchRow, COUNTERS, Counts, Instrumented, Probe, Probed, Unbalanced, instrument, values_of,
};
use codegen::target::ia64::listing::listing;
use serde::{Deserialize, Serialize};

/// The kind of event that is counted, as the command line and maps name it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum ProbeKind {
    /// Entries of functions
    Entry,
    /// Executions of branches, and how often each is taken
    Branch,
    /// Paths through functions
    Path,
    /// The most frequent values of loads
    Value,
}

impl ProbeKind {
    fn probe(self) -> Probe {
        match self {
            ProbeKind::Entry => Probe::Entry,
            ProbeKind::Branch => Probe::Branch,
            ProbeKind::Path => Probe::Path,
            ProbeKind::Value => Probe::Value,
        }
    }
}

/// The map of a copy with probes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeMap {
    pub version: u32,
    /// The name of the source.
    pub file: String,
    pub probe: ProbeKind,
    /// The processor that the copy was packed for.
    pub machine: String,
    /// The function that has probes, where it is one alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub item: Option<String>,
    /// The name of the counters.
    pub symbol: String,
    /// Counters of 8 bytes.
    pub counters: u32,
    /// The sum of the source's bytes (FNV-1a), in hexadecimal.
    pub source: String,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProbeError {
    #[error("`{machine}` is no machine with explicit bundles; `itanium` and `itanium2` are")]
    Machine { machine: String },
    #[error("there is no function `{item}`; there are: {known}")]
    Item { item: String, known: String },
    #[error("the source has changed since the copy was made")]
    Changed,
    #[error("{bytes} bytes are neither {counters} counters of 8 bytes nor as many numbers in text")]
    Size { bytes: usize, counters: u32 },
    #[error("{found} numbers in text, for {counters} counters")]
    Count { found: usize, counters: u32 },
}

/// A copy with probes of a text.
///
/// # Errors
/// The machine has no explicit bundles, or there is no such function.
pub fn copy(
    text: &str,
    probe: ProbeKind,
    machine: &str,
    item: Option<&str>,
) -> Result<Instrumented, ProbeError> {
    let table = machine::named(machine);
    let Some(epic) = table.as_ref().and_then(|table| table.epic()) else {
        return Err(ProbeError::Machine {
            machine: machine.to_owned(),
        });
    };
    let document = syntax::ia64::parse(text);
    let listed = listing(&document, text);
    let made = instrument(&document, text, &listed, epic, probe.probe(), item);
    if let Some(item) = item
        && made.functions.is_empty()
        && made.refused.is_empty()
    {
        let all = instrument(&document, text, &listed, epic, Probe::Entry, None);
        let names = all.functions.iter().map(|function| &function.name);
        let names = names.chain(all.refused.iter().map(|(name, _)| name));
        let known: Vec<&str> = names.map(|name| name.as_str()).collect();
        return Err(ProbeError::Item {
            item: item.to_owned(),
            known: known.join(", "),
        });
    }
    Ok(made)
}

impl ProbeMap {
    /// The map of a copy of the file of this name.
    #[must_use]
    pub fn new(
        file: &str,
        text: &str,
        probe: ProbeKind,
        machine: &str,
        item: Option<&str>,
        made: &Instrumented,
    ) -> ProbeMap {
        ProbeMap {
            version: 1,
            file: file.to_owned(),
            probe,
            machine: machine.to_owned(),
            item: item.map(str::to_owned),
            symbol: COUNTERS.to_owned(),
            counters: made.counters,
            source: sum(text),
        }
    }

    /// The copy that it is of, made again.
    ///
    /// # Errors
    /// The source is another one.
    pub fn again(&self, text: &str) -> Result<Instrumented, ProbeError> {
        if sum(text) != self.source {
            return Err(ProbeError::Changed);
        }
        let made = copy(text, self.probe, &self.machine, self.item.as_deref())?;
        match made.counters == self.counters {
            true => Ok(made),
            false => Err(ProbeError::Changed),
        }
    }

    /// The numbers of a dump: 8 bytes each, little endian, or decimal or hexadecimal (`0x`) numbers between blanks and commas.
    ///
    /// # Errors
    /// There are more or fewer of them.
    pub fn numbers(&self, dump: &[u8]) -> Result<Vec<u64>, ProbeError> {
        let counters = self.counters as usize;
        if dump.len() == 8 * counters {
            let words = dump.chunks_exact(8);
            let word = |bytes: &[u8]| {
                bytes
                    .iter()
                    .rev()
                    .fold(0, |word, &byte| word << 8 | u64::from(byte))
            };
            return Ok(words.map(word).collect());
        }
        let words = std::str::from_utf8(dump)
            .unwrap_or("x")
            .split(|c: char| c.is_whitespace() || c == ',');
        let number = |word: &str| match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => word.parse().ok(),
        };
        let numbers: Option<Vec<u64>> = words.filter(|word| !word.is_empty()).map(number).collect();
        match numbers {
            Some(numbers) if numbers.len() == counters => Ok(numbers),
            Some(numbers) if !numbers.is_empty() => Err(ProbeError::Count {
                found: numbers.len(),
                counters: self.counters,
            }),
            _ => Err(ProbeError::Size {
                bytes: dump.len(),
                counters: self.counters,
            }),
        }
    }
}

/// The counts of all functions of a copy of a text by a dump of its counters, and the copy.
///
/// # Errors
/// The map is of another text, or the dump of another copy.
pub fn read(
    map: &ProbeMap,
    text: &str,
    dump: &[u8],
) -> Result<(Instrumented, Vec<Counted>), ProbeError> {
    let made = map.again(text)?;
    let numbers = map.numbers(dump)?;
    let all = counted(&made, &numbers);
    Ok((made, all))
}

/// The counts of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counted {
    pub name: String,
    /// From 1.
    pub line: u32,
    pub counts: Result<Known, Unbalanced>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Known {
    Entries(u64),
    Branches {
        entries: u64,
        /// Line and executions of each block.
        blocks: Vec<(u32, u64)>,
        branches: Vec<BranchRow>,
        /// The line of a branch, the line that control goes to (0: out of the function), whether it is taken there, and the count.
        edges: Vec<(u32, u32, bool, u64)>,
    },
    /// The executions of each path and the lines of its blocks, the most frequent first; paths that were
    /// never taken are absent.
    Paths(Vec<(u64, Vec<u32>)>),
    /// The line of each load, its register, its executions and the most frequent values with their counts.
    Values(Vec<ValueRow>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueRow {
    pub line: u32,
    pub register: u8,
    pub executions: u64,
    pub values: Vec<(u64, u64)>,
}

/// The counts of all functions of a copy.
#[must_use]
pub fn counted(made: &Instrumented, numbers: &[u64]) -> Vec<Counted> {
    let functions = made.functions.iter();
    functions
        .map(|function| Counted {
            name: function.name.to_string(),
            line: function.line,
            counts: known(function, function.own(numbers)),
        })
        .collect()
}

fn known(function: &Probed, own: &[u64]) -> Result<Known, Unbalanced> {
    Ok(match &function.counts {
        Counts::Entry => Known::Entries(own.first().copied().unwrap_or(0)),
        Counts::Branch(flow) => {
            let solved = flow.solved(own)?;
            Known::Branches {
                entries: solved.first().copied().unwrap_or(0),
                blocks: flow.blocks(&solved),
                branches: flow.branch_rows(&solved),
                edges: flow.counts(&solved),
            }
        }
        Counts::Path(paths) => {
            let all = own
                .iter()
                .zip(&paths.lines)
                .filter(|(count, _)| **count > 0);
            let mut rows: Vec<(u64, Vec<u32>)> =
                all.map(|(&count, lines)| (count, lines.clone())).collect();
            rows.sort_by_key(|row| std::cmp::Reverse(row.0));
            Known::Paths(rows)
        }
        Counts::Value(sites) => {
            let rows = sites.iter().enumerate().filter_map(|(number, site)| {
                let (executions, values) = values_of(own, number)?;
                Some(ValueRow {
                    line: site.line,
                    register: site.register,
                    executions,
                    values,
                })
            });
            Known::Values(rows.collect())
        }
    })
}

/// The sum of a source's bytes: FNV-1a of 64 bits, in hexadecimal.
#[must_use]
pub fn sum(text: &str) -> String {
    let mut sum = 0xcbf2_9ce4_8422_2325u64;
    for byte in text.bytes() {
        sum = (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
    format!("{sum:016x}")
}
