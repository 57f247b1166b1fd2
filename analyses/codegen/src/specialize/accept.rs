//! The cost model of a version: cycles with and without it, and whether it is worth having.
//!
//! The paper prints two rules that cannot be meant: a negative number of cycles saved, and a test of the fraction saved
//! in the wrong direction. `Rule::Corrected` compares the fraction that *remains*; `Rule::Printed` stands beside it for
//! comparison (with the sign of the cycles repaired, else it accepts nothing that helps).
//!
//! Source: Stephenson and Rangan, *AZP*, section 5, equations 5 and 6; notes, section 8.

use super::Costs;

/// Cycles that must be saved for an execution of the region, strictly.
pub const LEAST_SAVED: f64 = 25.0;

/// Loads that wait for each other are told apart up to so many.
pub const CHAIN: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rule {
    #[default]
    Corrected,
    Printed,
}

/// Loads that are under way together behind a check, and wait for lines of which each serves several loads: a line is
/// spared only if all of them are.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Behind {
    /// Loads of one execution.
    pub count: f64,
    /// Their executions, were none skipped.
    pub executions: f64,
    /// Cycles that a miss takes.
    pub latency: f64,
    /// The share of executions of a load that miss.
    pub share: f64,
    /// Checks that decide on the loads of a line, at least 1.
    pub checks: f64,
}

impl Default for Behind {
    fn default() -> Self {
        Behind {
            count: 0.0,
            executions: 0.0,
            latency: 0.0,
            share: 0.0,
            checks: 1.0,
        }
    }
}

impl Behind {
    /// Adds a load that waits so many cycles each time, of which there are so many for one miss; `asked`: executions of
    /// the check.
    pub(super) fn add(&mut self, (cycles, loads): (f64, f64), executions: f64, asked: f64) {
        if cycles <= 0.0 || executions <= 0.0 {
            return;
        }
        let count = self.count + 1.0;
        let mean = |of: f64, more: f64| (of * (count - 1.0) + more) / count;
        let share = mean(self.share, 1.0 / loads);
        let checks = (loads * asked / executions).max(1.0);
        *self = Behind {
            count,
            executions: mean(self.executions, executions),
            // Of the misses of all.
            latency: mean(self.latency * self.share, cycles) / share,
            checks: mean(self.checks * self.share, checks / loads) / share,
            share,
        };
    }
    /// The cycles that remain where each execution is spared with a probability, independently of the others.
    fn remaining(self, probability: f64) -> f64 {
        let executed = 1.0 - probability;
        if self.count == 0.0 || executed <= 0.0 || self.share <= 0.0 {
            return 0.0;
        }
        let missing = (1.0 - probability.powf(self.checks)) * self.share / executed;
        let waits = 1.0 - (1.0 - missing.clamp(0.0, 1.0)).powf(self.count);
        executed * self.executions * self.latency * waits
    }
}

/// Cycles a warp for one invocation of the item; estimates.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Model {
    /// Probability that all lanes hold zero, 0 to 1.
    pub probability: f64,
    /// T_R: the region as it is.
    pub region: f64,
    /// The part of it that loads which are gone in the copy wait for caches; 0 where misses were not counted.
    pub waited: f64,
    /// These loads where they stand behind the check, by how many of the others each waits for; of lines that a further
    /// cache has, and of those that come from memory.
    pub behind: [[Behind; 2]; 8],
    /// Region and copy are iterations of a scheduled loop: the cycles of one before and after.
    pub scheduled: Option<(f64, f64)>,
    /// T_S: its copy, specialised.
    pub special: f64,
    /// Compare, vote and branch, and the overlap that they end.
    pub check: f64,
    /// Blocks of the copy.
    pub blocks: usize,
    /// Memory operations of the region that are gone in the copy.
    pub memory_killed: usize,
    /// The cost to a warp whose lanes take both paths, each for itself: the copy, and the point at which they
    /// meet again. 0 where a vote keeps them together.
    pub parted: f64,
    /// Cycles that must be saved, strictly.
    pub least: f64,
}

impl Default for Model {
    fn default() -> Self {
        Model {
            probability: 0.0,
            region: 0.0,
            waited: 0.0,
            behind: [[Behind::default(); 2]; CHAIN],
            scheduled: None,
            special: 0.0,
            check: 0.0,
            blocks: 0,
            memory_killed: 0,
            parted: 0.0,
            least: LEAST_SAVED,
        }
    }
}

impl Model {
    /// Adds to the check the cost of iterations around it that are no longer unrolled together and
    /// overlapped: `slots` are those of all `times` that the check is come to while the function is `entered`
    /// so often. Outside of loops there is no iteration to overlap with.
    pub(super) fn end_overlap(&mut self, costs: &dyn Costs, slots: f64, times: f64, entered: f64) {
        if times > entered {
            self.check += costs.lost_overlap(slots / times) * times;
        }
    }
    /// T_AZP, equation 5. Of lanes that choose for themselves each warp with a lane that is not zero is taken to part.
    #[must_use]
    pub fn versioned(&self) -> f64 {
        let slow = self.region - self.waited + self.parted;
        let still = self.still(self.probability);
        self.probability * self.special + (1.0 - self.probability) * slow + self.check + still
    }
    /// Cycles that the version saves; negative where it costs.
    #[must_use]
    pub fn saved(&self) -> f64 {
        self.region - self.versioned()
    }
    /// su, equation 6: the fraction of the region that the fast path saves.
    #[must_use]
    pub fn fraction_saved(&self) -> f64 {
        if self.region > 0.0 {
            (self.region - (self.special + self.check)) / self.region
        } else {
            0.0
        }
    }
    /// Returns the remainder of the region on the fast path.
    #[must_use]
    pub fn remaining(&self) -> f64 {
        1.0 - self.fraction_saved()
    }
    /// su_thresh: falls with the blocks that are added, rises with the memory operations that disappear.
    #[must_use]
    pub fn threshold(&self) -> f64 {
        (-(self.blocks as f64) / (50.0 + 10.0 * self.memory_killed as f64)).exp()
    }
    /// The copy is as much shorter as its size asks for; of iterations that are scheduled both ways are parts of one.
    #[must_use]
    pub fn is_small_enough(&self) -> bool {
        self.scheduled.is_some() || self.remaining() < self.threshold()
    }
    #[must_use]
    pub fn accepted(&self, rule: Rule) -> bool {
        self.saved() > self.least
            && match rule {
                Rule::Corrected => self.is_small_enough(),
                Rule::Printed => self.fraction_saved() < self.threshold(),
            }
    }
    /// The least probability above which the version is accepted, if it ever is: where `saved` is `least`.
    /// The remaining cost does not depend on it.
    #[must_use]
    pub fn break_even(&self) -> Option<f64> {
        let gain = self.region - self.special + self.parted;
        let wanted = (self.check + self.parted + self.least) / gain;
        let enough = self.is_small_enough();
        if self.scheduled.is_some() || self.waited > 0.0 || self.waits().any(|of| of.count > 0.0) {
            return self.crossing().filter(|_| enough);
        }
        (gain > 0.0 && wanted < 1.0 && enough).then_some(wanted)
    }
}

impl Model {
    /// Cycles that loads behind the check wait: all that they wait without it where nothing is skipped, or more.
    fn still(&self, probability: f64) -> f64 {
        let at = |probability| {
            self.waits()
                .map(|of| of.remaining(probability))
                .sum::<f64>()
        };
        match at(0.0) {
            all if all > 0.0 => (self.waited / all).max(1.0) * at(probability),
            _ => self.waited * (1.0 - probability),
        }
    }

    fn waits(&self) -> impl Iterator<Item = &Behind> {
        self.behind.iter().flatten()
    }

    /// The probability at which `saved` is `least`, below 1: what is saved rises with it.
    fn crossing(&self) -> Option<f64> {
        let pays = |probability: f64| {
            Model {
                probability,
                ..*self
            }
            .saved()
                > self.least
        };
        if !pays(1.0) {
            return None;
        }
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..50 {
            let middle = (low + high) / 2.0;
            match pays(middle) {
                true => high = middle,
                false => low = middle,
            }
        }
        Some(high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(measured: f64, printed: f64, digits: i32) {
        let half = 0.5 * 10f64.powi(-digits) + 1e-9;
        assert!(
            (measured - printed).abs() <= half,
            "{measured} is not {printed}"
        );
    }

    /// Notes, section 11.1.
    #[test]
    fn figure_1() {
        let model = Model {
            probability: 0.5,
            region: 508.0,
            special: 2.0,
            check: 8.0,
            blocks: 1,
            memory_killed: 0,
            ..Model::default()
        };
        near(model.versioned(), 263.0, 6);
        near(model.saved(), 245.0, 6);
        near(model.fraction_saved(), 0.980_315, 6);
        near(model.remaining(), 0.019_685, 6);
        near(model.threshold(), 0.980_199, 6);
        assert!(model.accepted(Rule::Corrected));
        assert!(!model.accepted(Rule::Printed));
        near(model.break_even().unwrap_or(0.0), 33.0 / 506.0, 6);
    }

    /// Notes, section 11.2; columns as printed there.
    #[test]
    fn acceptance() {
        type Row = (f64, f64, f64, usize, usize, f64, f64, f64, f64, bool, bool);
        let rows: [Row; 7] = [
            (
                0.9, 5000.0, 4950.0, 40, 0, 4963.0, 37.0, 0.9916, 0.4493, true, false,
            ),
            (
                0.9, 5000.0, 4950.0, 40, 10, 4963.0, 37.0, 0.9916, 0.7659, true, false,
            ),
            (
                0.6, 400.0, 300.0, 12, 0, 348.0, 52.0, 0.7700, 0.7866, true, true,
            ),
            (
                0.6, 400.0, 300.0, 20, 0, 348.0, 52.0, 0.7700, 0.6703, true, false,
            ),
            (
                0.6, 400.0, 300.0, 20, 5, 348.0, 52.0, 0.7700, 0.8187, true, true,
            ),
            (
                0.32, 100.0, 10.0, 1, 1, 79.2, 20.8, 0.1800, 0.9835, false, false,
            ),
            (
                0.32, 114.0, 10.0, 1, 1, 88.72, 25.28, 0.1579, 0.9835, true, true,
            ),
        ];
        for (
            probability,
            region,
            special,
            blocks,
            memory_killed,
            azp,
            saved,
            remaining,
            threshold,
            printed,
            corrected,
        ) in rows
        {
            let model = Model {
                probability,
                region,
                special,
                check: 8.0,
                blocks,
                memory_killed,
                ..Model::default()
            };
            near(model.versioned(), azp, 6);
            near(model.saved(), saved, 6);
            near(model.remaining(), remaining, 4);
            near(model.threshold(), threshold, 4);
            assert_eq!(model.accepted(Rule::Printed), printed, "{model:?}");
            assert_eq!(model.accepted(Rule::Corrected), corrected, "{model:?}");
        }
    }

    /// A version that is said to pay from some probability on is accepted above it, and one that never pays at none.
    #[test]
    fn the_break_even_is_where_acceptance_begins() {
        let mut random = oracle::random::Random::new(7);
        let (mut paying, mut not) = (0, 0);
        for _ in 0..4000 {
            let mut number = |most: u32| f64::from(random.below(most));
            let region = number(900);
            let model = Model {
                probability: 0.0,
                region,
                special: number(900).min(region),
                check: number(40),
                blocks: number(60) as usize,
                memory_killed: number(8) as usize,
                ..Model::default()
            };
            let model = Model {
                waited: (model.region - model.special) * number(3) / 4.0,
                behind: [0; CHAIN].map(|_| {
                    [0, 1].map(|_| Behind {
                        count: number(3),
                        executions: number(10),
                        latency: number(30),
                        share: 1.0 / (number(16) + 1.0),
                        checks: number(16) + 1.0,
                    })
                }),
                ..model
            };
            let at = |probability: f64| {
                Model {
                    probability,
                    ..model
                }
                .accepted(Rule::Corrected)
            };
            match model.break_even() {
                Some(share) => {
                    paying += 1;
                    assert!(at((share + 1e-6).min(1.0)), "{model:?}");
                    assert!(!at(share - 1e-6), "{model:?}");
                }
                None => {
                    not += 1;
                    assert!(
                        !(0..=100).any(|percent| at(f64::from(percent) / 100.0)),
                        "{model:?}"
                    );
                }
            }
        }
        assert!(paying > 500 && not > 500, "{paying} {not}");
    }

    /// Where no value is zero a guard saves nothing, however loads wait for each other; where all are, nothing of theirs is left.
    #[test]
    fn what_is_not_skipped_is_not_saved() {
        let mut random = oracle::random::Random::new(11);
        for _ in 0..4000 {
            let mut number = |most: u32| f64::from(random.below(most));
            let mut model = Model {
                region: number(900),
                special: number(900),
                check: number(40),
                least: 0.0,
                ..Model::default()
            };
            model.waited = model.region * number(5) / 4.0;
            for _ in 0..number(6) as usize {
                let level = number(8) as usize;
                let loads = number(16) + 1.0;
                let executions = number(40) + 1.0;
                let wait = number(50);
                let asked = executions / (number(8) + 1.0);
                for of in &mut model.behind[level] {
                    of.add((wait, loads), executions, asked);
                }
            }
            assert!(model.saved() <= 1e-9, "{model:?}");
            let all = Model {
                probability: 1.0,
                ..model
            };
            assert_eq!(all.versioned(), model.special + model.check);
        }
    }

    /// Of 16 loads for a line, each with a check of its own, or all behind one check, which spares the line by itself.
    #[test]
    fn a_line_is_spared_if_all_of_its_checks_are() {
        let waits = |asked| {
            let mut behind = Behind::default();
            behind.add((6.25, 16.0), 160.0, asked);
            [0.0, 0.9].map(|probability| behind.remaining(probability))
        };
        let [all, some] = waits(160.0);
        near(all, 1000.0, 6);
        near(some, 1000.0 * (1.0 - 0.9f64.powi(16)), 6);
        let [all, some] = waits(10.0);
        near(all, 1000.0, 6);
        near(some, 100.0, 6);
        // Two loads that miss together wait once.
        let mut both = Behind::default();
        both.add((6.25, 16.0), 160.0, 160.0);
        both.add((6.25, 16.0), 160.0, 160.0);
        near(both.remaining(0.0), 1000.0 * (2.0 - 1.0 / 16.0), 6);
    }

    /// Notes, section 8: su_thresh by memory operations and blocks.
    #[test]
    fn thresholds() {
        let rows: [(usize, [f64; 6]); 5] = [
            (0, [0.9802, 0.9608, 0.9048, 0.8187, 0.6703, 0.3679]),
            (1, [0.9835, 0.9672, 0.9200, 0.8465, 0.7165, 0.4346]),
            (3, [0.9876, 0.9753, 0.9394, 0.8825, 0.7788, 0.5353]),
            (5, [0.9900, 0.9802, 0.9512, 0.9048, 0.8187, 0.6065]),
            (10, [0.9934, 0.9868, 0.9672, 0.9355, 0.8752, 0.7165]),
        ];
        for (memory_killed, row) in rows {
            for (blocks, printed) in [1, 2, 5, 10, 20, 50].into_iter().zip(row) {
                let model = Model {
                    blocks,
                    memory_killed,
                    ..Model::default()
                };
                near(model.threshold(), printed, 4);
            }
        }
    }
}
