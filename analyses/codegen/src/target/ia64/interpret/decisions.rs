//! Conditions that a script decides: the same comparison of the same values is always as true as it was.

use super::value::mix;
use rustc_hash::FxHashMap;

/// The source of the truth of a comparison.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Truth {
    /// From the numbers.
    Computed,
    /// From a script; comparisons of the code's own numbers, from the numbers.
    Decided(Decisions),
}

/// The truth of comparisons by the number that stands for each.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Decisions {
    known: FxHashMap<u64, bool>,
    /// The decisions on the first ones, in the order in which they are met.
    script: Vec<bool>,
    /// The decisions met while they were recorded.
    pub(crate) met: Vec<bool>,
    /// Others are met without being recorded: they are as true as this says. Those of one place are often alike, so that loops
    /// go around.
    pub(crate) random: Option<u64>,
}

impl Decisions {
    pub(crate) fn new(script: Vec<bool>) -> Decisions {
        Decisions {
            script,
            ..Decisions::default()
        }
    }

    pub(crate) fn at_random(random: u64) -> Decisions {
        Decisions {
            random: Some(random),
            ..Decisions::default()
        }
    }

    /// `place`: a number of the comparison as an operation.
    pub(crate) fn is_true(&mut self, term: u64, place: u64) -> bool {
        if let Some(&known) = self.known.get(&term) {
            return known;
        }
        let truth = match self.random {
            Some(random) => {
                let of = [1, 8, 15][(mix(random, place) % 3) as usize];
                mix(random, term) % 16 < of
            }
            None => {
                let truth = self.script.get(self.met.len()).copied().unwrap_or(false);
                self.met.push(truth);
                truth
            }
        };
        self.known.insert(term, truth);
        truth
    }

    /// The script that comes next when all are tried in order, each as long as the decisions met.
    pub(crate) fn next_script(&self) -> Option<Vec<bool>> {
        let last = self.met.iter().rposition(|&it| !it)?;
        let mut script = self.met[..last].to_vec();
        script.push(true);
        Some(script)
    }
}
