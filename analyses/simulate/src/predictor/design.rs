//! Designs: a predictor of directions with its sizes, and its use of predicates.

use std::fmt;

/// Tables of TAGE with tags, at most.
pub(super) const TABLES: usize = 16;

/// Sizes of a chooser, each the binary logarithm of a number of entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MetaSizes {
    pub histories: u32,
    /// The counters that local histories choose; histories have as many bits.
    pub local: u32,
    pub global: u32,
    /// Bits of the global history.
    pub history: u32,
    pub choosers: u32,
}

impl Default for MetaSizes {
    /// 4096 of each, histories of 12 bits: 6 KB of histories and 3 KB of counters.
    fn default() -> MetaSizes {
        MetaSizes {
            histories: 12,
            local: 12,
            global: 12,
            history: 12,
            choosers: 12,
        }
    }
}

/// Sizes of TAGE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TageSizes {
    /// The binary logarithm of the counters without tags.
    pub base: u32,
    /// Tables with tags, at most 16.
    pub tables: u32,
    /// The binary logarithm of the entries of each.
    pub entries: u32,
    /// Bits, at most 16.
    pub tag: u32,
    /// Bits of history of the first table and of the last, between which they grow geometrically; at most 1024.
    pub least: u32,
    pub most: u32,
}

impl Default for TageSizes {
    /// Returns sizes of the order of today's cores: 4 KB without tags, 12 times 2048 entries of 17 bits, 51
    /// KB; histories from 4 to 640.
    fn default() -> TageSizes {
        TageSizes {
            base: 14,
            tables: 12,
            entries: 11,
            tag: 12,
            least: 4,
            most: 640,
        }
    }
}

impl TageSizes {
    /// The history of a table, of which the first has number 0.
    #[must_use]
    pub fn length(&self, number: u32) -> u32 {
        if self.tables <= 1 {
            return self.least;
        }
        let part = f64::from(number) / f64::from(self.tables - 1);
        let ratio = f64::from(self.most) / f64::from(self.least);
        (f64::from(self.least) * ratio.powf(part) + 0.5) as u32
    }
}

/// The subject of a chooser's local histories.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Local {
    /// The history of the branch itself.
    #[default]
    Plain,
    /// Two of a branch with a guard: the guard's value, as the register file has it at fetch, chooses.
    Pep,
    /// The same; while a definition of the guard is in flight, it counts as false.
    ResolvedPep,
}

/// A predictor of directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    Meta(MetaSizes, Local),
    /// Two-bit counters, as many as two to this power.
    Gshare(u32),
    Tage(TageSizes),
}

/// The moment when values of compares enter the global history.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Defines {
    #[default]
    Never,
    /// As soon as they are known. A checkpoint of a branch lacks values that become known after its fetch;
    /// after a misprediction, they are lost.
    Resolved,
    /// The same; values after the checkpoint are shifted in again when the history is recovered from it.
    Repaired,
    /// This many cycles after the fetch of the compare: its value if that is known, else 0. Values that a
    /// recovery drops are shifted in again.
    After(u32),
}

/// A predictor and its sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Design {
    pub direction: Direction,
    /// Branches whose guard is known to be false are predicted not taken.
    pub squash: bool,
    pub defines: Defines,
    /// Cycles from the fetch of a branch until it is resolved.
    pub resolve: u32,
    /// The binary logarithm of the entries of the table that knows the guards of branches.
    pub targets: u32,
}

impl Design {
    /// A direction alone, 8 cycles until a branch is resolved, 4096 targets.
    #[must_use]
    pub const fn new(direction: Direction) -> Design {
        Design {
            direction,
            squash: false,
            defines: Defines::Never,
            resolve: 8,
            targets: 12,
        }
    }

    /// The design of a name: `meta`, `gshare` or `tage`, with additions behind signs of addition, as `meta+squash+pgu`.
    ///
    /// # Errors
    /// The part that is not understood, or does not fit the part before it.
    pub fn named(name: &str) -> Result<Design, UnknownDesign> {
        let mut parts = name.split('+');
        let first = parts.next().unwrap_or_default();
        let mut design = Design::new(match first {
            "meta" => Direction::Meta(MetaSizes::default(), Local::Plain),
            "gshare" => Direction::Gshare(12),
            "tage" => Direction::Tage(TageSizes::default()),
            _ => return Err(UnknownDesign::Direction(first.to_owned())),
        });
        for part in parts {
            match (part, &mut design.direction) {
                ("squash", _) => design.squash = true,
                ("pgu", _) => design.defines = Defines::Resolved,
                ("pgu-repaired", _) => design.defines = Defines::Repaired,
                ("pep", Direction::Meta(_, local)) => *local = Local::Pep,
                ("resolved-pep", Direction::Meta(_, local)) => *local = Local::ResolvedPep,
                ("pep" | "resolved-pep", _) => {
                    return Err(UnknownDesign::NoLocal(first.to_owned()));
                }
                _ => match part.strip_prefix("pgu-").map(str::parse) {
                    Some(Ok(cycles)) if cycles <= 1000 => design.defines = Defines::After(cycles),
                    _ => return Err(UnknownDesign::Addition(part.to_owned())),
                },
            }
        }
        Ok(design)
    }

    /// The design if its sizes can be built.
    ///
    /// # Errors
    /// The size that is out of range.
    pub fn checked(self) -> Result<Design, UnknownDesign> {
        let within = |name, size: u32, least: u32, most: u32| match (least..=most).contains(&size) {
            true => Ok(()),
            false => Err(UnknownDesign::Size(name, size, least, most)),
        };
        within("targets", self.targets, 0, 20)?;
        within("resolve", self.resolve, 0, 1000)?;
        match self.direction {
            Direction::Meta(sizes, _) => {
                within("histories", sizes.histories, 0, 20)?;
                within("local", sizes.local, 1, 16)?;
                within("global", sizes.global, 1, 24)?;
                within("history", sizes.history, 0, sizes.global)?;
                within("choosers", sizes.choosers, 0, 24)?;
            }
            Direction::Gshare(bits) => within("counters", bits, 1, 24)?,
            Direction::Tage(sizes) => {
                within("base", sizes.base, 1, 24)?;
                within("tables", sizes.tables, 1, TABLES as u32)?;
                within("entries", sizes.entries, 4, 20)?;
                within("tag", sizes.tag, 4, 16)?;
                within("least", sizes.least, 1, 1024)?;
                within("most", sizes.most, sizes.least, 1024)?;
            }
        }
        Ok(self)
    }
}

impl fmt::Display for Design {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.direction {
            Direction::Meta(..) => "meta",
            Direction::Gshare(_) => "gshare",
            Direction::Tage(_) => "tage",
        })?;
        f.write_str(match self.direction {
            Direction::Meta(_, Local::Pep) => "+pep",
            Direction::Meta(_, Local::ResolvedPep) => "+resolved-pep",
            _ => "",
        })?;
        if self.squash {
            f.write_str("+squash")?;
        }
        match self.defines {
            Defines::Never => Ok(()),
            Defines::Resolved => f.write_str("+pgu"),
            Defines::Repaired => f.write_str("+pgu-repaired"),
            Defines::After(cycles) => write!(f, "+pgu-{cycles}"),
        }
    }
}

/// The reason why there is no design.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UnknownDesign {
    Direction(String),
    Addition(String),
    /// The predictor has no local histories.
    NoLocal(String),
    /// Its name, and the least and the most that it can be.
    Size(&'static str, u32, u32, u32),
}

impl fmt::Display for UnknownDesign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnknownDesign::Direction(name) => write!(
                f,
                "`{name}` is no predictor; `meta`, `gshare` and `tage` are"
            ),
            UnknownDesign::Addition(name) => write!(
                f,
                "`{name}` is no addition to a predictor; `squash`, `pgu`, `pgu-repaired`, `pgu-CYCLES`, `pep` and `resolved-pep` are"
            ),
            UnknownDesign::NoLocal(name) => {
                write!(f, "`{name}` has no local histories for `pep`; `meta` has")
            }
            UnknownDesign::Size(name, size, least, most) => {
                write!(f, "`{name}` is {size}, not from {least} to {most}")
            }
        }
    }
}
impl std::error::Error for UnknownDesign {}
