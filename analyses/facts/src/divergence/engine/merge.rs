//! One of several values: block parameters, selections, minima. First the form that all share, then the terms that
//! they share and an atom for the rest, then that atom alone.

use super::{DISPATCH, DIVERGENT, Engine, FRESH, Level};
use crate::divergence::form::{Factors, Form};
use ir::{Block, Value, ValueDef};
use smallvec::SmallVec;

impl Engine<'_> {
    /// A block parameter.
    pub(super) fn merge(&mut self, block: Block, index: u32, param: Value) {
        let arriving = self.tables.take_incoming();
        let incoming = arriving.of(self.tables.param_number(block, index));
        self.merge_of(block, param, self.join_level[block], incoming, None);
        self.tables.give_incoming(arriving);
    }

    /// One of several values, chosen as uniformly as `control` says, and by which: it lies `within` an interval.
    pub(crate) fn merge_of(
        &mut self,
        block: Block,
        result: Value,
        control: Level,
        incoming: &[(Block, Value)],
        within: Option<(i64, i64)>,
    ) {
        let bits = self.ty(result).bits();
        let integral = self.ty(result).is_integral();
        let seen: SmallVec<[Value; 4]> = incoming
            .iter()
            .map(|&(_, a)| a)
            .filter(|&a| a != result && self.level[a] != FRESH)
            .collect();
        let Some(&first) = seen.first() else {
            return;
        };
        let mut range = (i64::MAX, i64::MIN);
        for &arg in &seen {
            let r = self.cells[arg].range;
            range = (range.0.min(r.0), range.1.max(r.1));
        }
        if let Some((low, high)) = within.filter(|_| seen.len() == incoming.len()) {
            range = (range.0.max(low), range.1.min(high));
        }
        let own = matches!(self.function.values[result].def, ValueDef::Param(..));
        let plain = seen
            .iter()
            .map(|&a| self.level_at(a, block))
            .min()
            .unwrap_or(DISPATCH);
        let rule = plain.min(control);
        if !self.cells[result].split {
            let shared = self.cells[first].form.clone();
            let same = seen
                .iter()
                .all(|&a| self.cells[a].form.terms == shared.terms)
                && (!own || self.valid(&shared, block));
            if same {
                let exact = seen.iter().all(|&a| self.cells[a].form.exact);
                let assumed = seen.iter().any(|&a| self.cells[a].form.assumed);
                let form = Form {
                    exact,
                    assumed,
                    ..shared
                };
                // The same value whichever way: its uniformity does not depend on the choice.
                let level = if assumed {
                    rule
                } else {
                    self.form_level(&form, block).max(rule)
                };
                self.finish(result, level, form, range);
                return;
            }
            // The operands of a selection may still come to agree; only block parameters keep the mark.
            self.cells[result].split = own;
        }
        // Terms that all arguments share, and one atom for the rest.
        let before = &self.cells[result].form;
        let mut lanes = if own
            && self.level[result] != FRESH
            && before
                .terms
                .iter()
                .any(|t| t.factors == Factors::one(result.0))
        {
            before.filtered(|t| t.factors != Factors::one(result.0))
        } else {
            let start = &self.cells[first].form;
            start.filtered(|t| {
                !t.factors.is_empty() && (!own || self.valid_factors(&t.factors, block))
            })
        };
        if !integral {
            lanes.terms.clear();
        }
        for &arg in &seen {
            let form = &self.cells[arg].form;
            lanes.terms.retain(|t| {
                form.terms
                    .binary_search_by(|o| o.factors.cmp(&t.factors))
                    .is_ok_and(|at| form.terms[at].coefficient == t.coefficient)
            });
        }
        let mut rest = control;
        if !lanes.terms.is_empty() {
            for &arg in &seen {
                for term in &self.cells[arg].form.terms {
                    if !lanes.terms.contains(term) {
                        rest = rest.min(self.term_level(&term.factors, block));
                    }
                }
            }
            if rest == DIVERGENT {
                lanes.terms.clear();
            }
        }
        lanes.exact = true;
        lanes.assumed = false;
        if lanes.terms.is_empty() {
            rest = rule;
        } else {
            lanes.exact = seen.iter().all(|&a| self.cells[a].form.exact);
            lanes.assumed = seen.iter().any(|&a| self.cells[a].form.assumed);
        }
        self.set_atom(result, rest);
        let unit = if integral {
            let units = seen.iter().map(|&arg| {
                let form = &self.cells[arg].form;
                self.alignment(form, |term| lanes.terms.contains(term))
            });
            units.min().unwrap_or(0)
        } else {
            0
        };
        self.lower_unit(result, unit as u8);
        let (exact, assumed) = (lanes.exact, lanes.assumed);
        let form = match lanes.plus(1, &Form::atom(result.0), bits.max(2)) {
            Some(form) => Form {
                exact,
                assumed,
                ..form
            },
            None => {
                self.set_atom(result, rule);
                self.lower_unit(result, 0);
                Form::atom(result.0)
            }
        };
        let level = if form.assumed {
            rule
        } else {
            self.form_level(&form, block).max(rule)
        };
        self.finish(result, level, form, range);
    }
}
