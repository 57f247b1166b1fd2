//! Caches: which level answers an access, and how much longer a load waits for it.
//!
//! ```text
//! 2 sets of 1 way, lines of 32 bytes, then memory, 100 cycles
//! load 0x00   misses: 100 cycles      load 0x04   hits, and waits until the line is there
//! load 0x40   misses: the set's only line goes
//! ```
//!
//! Each level has sets of ways, of which the least recently used goes. A line that some level has, or memory,
//! is brought into all levels before it. Stores behave like loads and nobody waits for them; lines that go
//! cost nothing, and any number of misses can be under way. An access costs time in the ways it looks at.
//! Addresses are as the program has them: there is no translation, and instructions are not fetched through
//! caches.

/// A level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Level {
    /// A power of two.
    pub sets: u32,
    pub ways: u32,
    /// Bytes, a power of two.
    pub line: u32,
    /// Cycles that a load takes longer if this level answers than if the first does.
    pub latency: u32,
}

/// The caches of a processor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Caches {
    /// The first is looked at first; its latency is 0, which is in that of a load.
    pub levels: Vec<Level>,
    /// Cycles that a load takes longer if no level answers.
    pub memory: u32,
    /// Index of the level at which floating-point loads and stores look first, whose latency is in theirs.
    pub float: usize,
    /// A load that misses stalls the processor where it stands; else its first use waits.
    pub blocking: bool,
}

/// The purpose of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    Load,
    Store,
    Prefetch,
}

/// An access to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    pub address: u64,
    /// Within a line.
    pub bytes: u32,
    pub kind: AccessKind,
    pub float: bool,
}

/// Lookups of a level and how many found nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LevelCounts {
    pub accesses: u64,
    pub misses: u64,
}

/// The answer to an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The level that it looked at first had it.
    pub hit: bool,
    /// Cycles that its value comes later than from that level.
    pub later: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// `None`: empty.
    number: Option<u64>,
    used: u64,
    /// The cycle in which it is there.
    filled: u64,
}

/// The contents of caches.
#[derive(Clone, Debug)]
pub struct CacheState {
    caches: Caches,
    /// The ways of each set together, indexed by level.
    lines: Vec<Vec<Line>>,
    clock: u64,
    counts: Vec<LevelCounts>,
}

impl CacheState {
    /// Empty caches.
    #[must_use]
    pub fn new(caches: &Caches) -> CacheState {
        let levels = &caches.levels;
        debug_assert!(levels.iter().all(|level| {
            level.sets.is_power_of_two() && level.line.is_power_of_two() && level.ways > 0
        }));
        let empty =
            |level: &Level| vec![Line::default(); level.sets as usize * level.ways as usize];
        CacheState {
            lines: levels.iter().map(empty).collect(),
            counts: vec![LevelCounts::default(); levels.len()],
            clock: 0,
            caches: caches.clone(),
        }
    }

    /// Lookups, the first level first.
    #[must_use]
    pub fn counts(&self) -> &[LevelCounts] {
        &self.counts
    }

    /// An access in a cycle.
    pub fn access(&mut self, access: &Access, cycle: u64) -> Answer {
        self.clock += 1;
        let levels = self.caches.levels.len();
        let first = match access.float {
            true => self.caches.float.min(levels),
            false => 0,
        };
        let known = |level: usize| match level {
            level if level < levels => self.caches.levels[level].latency,
            _ => self.caches.memory,
        };
        let base = if first < levels { known(first) } else { 0 };
        let mut there = None;
        for level in first..levels {
            self.counts[level].accesses += 1;
            if let Some(line) = self.find(level, access.address) {
                there = Some((level, line));
                break;
            }
            self.counts[level].misses += 1;
        }
        let (level, filled) = match there {
            Some((level, line)) => {
                let line = &mut self.lines[level][line];
                line.used = self.clock;
                (level, line.filled)
            }
            None => (levels, 0),
        };
        let later = u64::from(known(level).saturating_sub(base));
        let ready = (cycle + later).max(filled);
        for above in first..level {
            self.fill(above, access.address, ready);
        }
        Answer {
            hit: level == first,
            later: ready - cycle,
        }
    }

    fn set(&self, level: usize, address: u64) -> (usize, u64) {
        let shape = self.caches.levels[level];
        let number = address / u64::from(shape.line);
        let set = number & u64::from(shape.sets - 1);
        (set as usize * shape.ways as usize, number)
    }

    fn find(&self, level: usize, address: u64) -> Option<usize> {
        let (from, number) = self.set(level, address);
        let ways = self.caches.levels[level].ways as usize;
        let lines = &self.lines[level][from..from + ways];
        let at = lines.iter().position(|line| line.number == Some(number))?;
        Some(from + at)
    }

    fn fill(&mut self, level: usize, address: u64, filled: u64) {
        let (from, number) = self.set(level, address);
        let ways = self.caches.levels[level].ways as usize;
        let lines = &mut self.lines[level][from..from + ways];
        let oldest = lines
            .iter_mut()
            .min_by_key(|line| (line.number.is_some(), line.used));
        if let Some(line) = oldest {
            *line = Line {
                number: Some(number),
                used: self.clock,
                filled,
            };
        }
    }
}

#[cfg(test)]
mod tests;
