//! The rewritings of a kernel that are tried, one after another, and the best of them so far.

use super::{ParkedError, Way};
use crate::derive::fitted::Prepared;
use crate::ptxas::{PtxasError, Report};
use codegen::Refusal;
use codegen::target::ptx::machine::fit::{Allocator, Home, Made};
use codegen::target::ptx::machine::park::{Kernel, Parking};

/// The most steps that are tried, and rewritings without a gain after which a row of them ends.
const STEPS: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 96];
const PATIENCE: u32 = 3;
/// Registers more than there are that our allocator is given: the assembler reads parameters where they lie, and numbers, and
/// orders instructions so that fewer values are live.
const MORE: [i16; 6] = [8, 4, 12, 0, -2, -6];

type Assembler<'a> = dyn Fn(&str) -> Result<Report, PtxasError> + 'a;

pub(super) struct Found {
    pub(super) made: Made,
    pub(super) rolled: Vec<u32>,
    pub(super) way: Way,
    pub(super) after: Report,
    pub(super) own_bytes: u32,
}

pub(super) struct Search<'a> {
    assembled: &'a Assembler<'a>,
    before: &'a Report,
    pub(super) best: Option<Found>,
    /// Bytes spilled, bytes of shared memory taken, loops that are not unrolled.
    pub(super) least: (u32, u32, usize),
    pub(super) tried: u32,
    /// Rewritings that spill less and cost more.
    pub(super) slower: u32,
}

/// Issue slots for each instruction that stays.
fn rate(report: &Report) -> Option<f64> {
    report.weight.and_then(|weight| weight.rate())
}

impl<'a> Search<'a> {
    pub(super) fn new(assembled: &'a Assembler<'a>, before: &'a Report) -> Search<'a> {
        Search {
            assembled,
            before,
            best: None,
            least: (before.spilled(), 0, 0),
            tried: 0,
            slower: 0,
        }
    }

    /// Bytes that a rewriting loads from local memory and stores to it, apart from the assembler's spills:
    /// counted in the machine code, or in the text if there is none.
    fn own_bytes(&self, made: &Made, after: &Report) -> u32 {
        if made.local_bytes == 0 {
            return 0;
        }
        let own = |report: &Report| {
            let all = report.weight?.local_bytes;
            Some(all.saturating_sub(report.spilled()))
        };
        if let (Some(before), Some(after)) = (own(self.before), own(after)) {
            return after.saturating_sub(before);
        }
        let in_lane = |home| matches!(home, Home::Lane(_));
        let slots = made.spilled.iter().filter(|own| in_lane(own.home));
        slots.map(|own| (own.loads + own.stores) * own.bytes).sum()
    }

    /// Returns true where the assembler spills less of it, or as much with less, and where it costs no more than before as far as its
    /// machine code tells.
    fn judge(&mut self, made: Made, rolled: &[u32], way: Way) -> Result<bool, ParkedError> {
        self.tried += 1;
        let after = (self.assembled)(&made.text)?;
        let own_bytes = self.own_bytes(&made, &after);
        let cost = (after.spilled() + own_bytes, made.shared_bytes, rolled.len());
        let slower = matches!((rate(&after), rate(self.before)), (Some(rate), Some(before)) if rate > before);
        let better = cost < self.least && !slower;
        self.slower += u32::from(cost < self.least && slower);
        if better {
            self.least = cost;
            self.best = Some(Found {
                made,
                rolled: rolled.to_vec(),
                way,
                after,
                own_bytes,
            });
        }
        Ok(better)
    }

    /// Tries the rewritings of a function, for so many registers of a thread.
    pub(super) fn all(&mut self, function: &Prepared, words: u16) -> Result<(), ParkedError> {
        let budget = function.spared(words, words);
        // As the estimate of registers has it: 4/5 of the live words and six.
        let limit = u32::from(words).saturating_sub(6) * 5 / 4;
        let start = || {
            let parked = Kernel {
                tree: &function.tree,
                body: &function.body,
                text: &function.text,
                states: &function.states,
                budget: &budget,
                workgroup: function.workgroup,
            };
            Parking::new(parked, &function.arrivals, limit)
        };
        let loops = start()?.loops();
        if !loops.is_empty() {
            self.parked(&start()?, &loops)?;
        }
        for rolled in [&loops[..], &[]] {
            if rolled.is_empty() && self.least.0 == 0 {
                break;
            }
            self.row(start()?, rolled)?;
        }
        self.fewer_values(&start)?;
        self.fewer_loops(&start)?;
        self.allocated(function, words, &loops)
    }

    /// The same of a kernel with values parked.
    pub(super) fn parked(
        &mut self,
        parking: &Parking<'_>,
        rolled: &[u32],
    ) -> Result<bool, ParkedError> {
        self.judge(parking.made(rolled), rolled, Way::Parked(parking.count()))
    }

    /// More and more values parked.
    pub(super) fn row(
        &mut self,
        mut parking: Parking<'_>,
        rolled: &[u32],
    ) -> Result<(), ParkedError> {
        let mut waited = 0;
        for steps in STEPS {
            let mut more = true;
            while more && parking.count() < steps {
                more = parking.step();
            }
            if parking.count() == 0 {
                return Ok(());
            }
            let slower = self.slower;
            // What costs too much may be worth it with more values.
            let gains = self.parked(&parking, rolled)? || self.slower > slower;
            waited = if gains { 0 } else { waited + 1 };
            if !more || self.least.0 == 0 || waited > PATIENCE {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Values that the best rewriting parks, and loops that it rolls.
    fn parked_best(&self) -> Option<(usize, Vec<u32>)> {
        let best = self.best.as_ref()?;
        match best.way {
            Way::Parked(count) => Some((count, best.rolled.clone())),
            Way::Allocated(_) => None,
        }
    }

    /// Fewer values than the best rewriting parks, as long as no more is spilled.
    pub(super) fn fewer_values<'p>(
        &mut self,
        start: &dyn Fn() -> Result<Parking<'p>, Refusal>,
    ) -> Result<(), ParkedError> {
        let Some((mut high, rolled)) = self.parked_best() else {
            return Ok(());
        };
        let mut low = STEPS
            .into_iter()
            .rev()
            .find(|&steps| steps < high)
            .unwrap_or(0);
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            let mut parking = start()?;
            while parking.count() < middle && parking.step() {}
            if self.parked(&parking, &rolled)? {
                high = middle;
            } else {
                low = middle;
            }
        }
        Ok(())
    }

    /// Loops of the best rewriting that may be unrolled all the same.
    pub(super) fn fewer_loops<'p>(
        &mut self,
        start: &dyn Fn() -> Result<Parking<'p>, Refusal>,
    ) -> Result<(), ParkedError> {
        let Some((parked, mut rolled)) = self.parked_best() else {
            return Ok(());
        };
        if rolled.is_empty() {
            return Ok(());
        }
        let mut parking = start()?;
        while parking.count() < parked && parking.step() {}
        for label in rolled.clone() {
            let fewer: Vec<u32> = rolled.iter().copied().filter(|&own| own != label).collect();
            if self.parked(&parking, &fewer)? {
                rolled = fewer;
            }
        }
        Ok(())
    }

    /// The kernel as our allocator writes it, for as many registers as there are and for some more and fewer, its loops as they are and
    /// not unrolled.
    pub(super) fn allocated(
        &mut self,
        kernel: &Prepared,
        words: u16,
        loops: &[u32],
    ) -> Result<(), ParkedError> {
        let mut seen: Vec<String> = Vec::new();
        for rolled in [&[], loops] {
            for more in MORE {
                if self.least.0 == 0 {
                    return Ok(());
                }
                let Some(own) = words.checked_add_signed(more) else {
                    continue;
                };
                let budget = kernel.spared(own, words);
                let Ok(made) = kernel.within(&budget, Allocator::Lockstep, rolled) else {
                    continue;
                };
                if made.spilled.is_empty() || seen.contains(&made.text) {
                    continue;
                }
                seen.push(made.text.clone());
                self.judge(made, rolled, Way::Allocated(own))?;
            }
            if loops.is_empty() {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sass::Weight;
    use codegen::target::ptx::machine::fit::Spilled;

    fn report(spilled: u32, weight: Option<(f64, u32)>) -> Report {
        Report {
            spill_load_bytes: spilled,
            weight: weight.map(|(cost, local_bytes)| Weight {
                cost,
                work: 10.0,
                local: 0.0,
                local_bytes,
            }),
            ..Report::default()
        }
    }

    /// Three loads and a store of a word of a lane, and four loads of values that take no memory.
    fn made() -> Made {
        let spilled = |home, loads, stores| Spilled {
            name: "%r1".into(),
            home,
            bytes: 4,
            loads,
            stores,
        };
        Made {
            text: String::new(),
            spilled: vec![
                spilled(Home::Lane(0), 3, 1),
                spilled(Home::Constant(7), 4, 0),
            ],
            shared_bytes: 0,
            local_bytes: 4,
        }
    }

    fn is_better(before: Report, after: Report) -> bool {
        let assembled = |_: &str| Ok(after.clone());
        let mut search = Search::new(&assembled, &before);
        let judged = search.judge(made(), &[], Way::Allocated(8));
        judged.expect("it is assembled")
    }

    #[test]
    fn own_slots_count_as_spilled() {
        assert!(!is_better(report(16, None), report(0, None)));
        assert!(is_better(report(20, None), report(0, None)));
        // The assembler keeps a slot in registers, but for eight bytes; a variable of the kernel's own has eight more.
        let before = |spilled| report(spilled, Some((50.0, spilled + 8)));
        let after = |cost| report(0, Some((cost, 16)));
        assert!(!is_better(before(8), after(50.0)));
        assert!(is_better(before(12), after(50.0)));
        assert!(!is_better(before(12), after(51.0)));
    }
}
