//! The origin of machine operations in the source: the loop that they are a part of, and the variables that hold what they
//! compute and what they read.
//!
//! ```text
//! for (i = 0; i < n; i++) s += x[i];      the sum at `s += x[i]` is what `s` holds; it reads `s`, `x` and `i`
//! ```
//!
//! Operations keep the place of the instruction that they were made of, wherever they are moved to and whichever register
//! they write. So places lead to names, in any order of passes.

use ir::{BindingKind, Function, Loc, SourceLoop, Value, ValueDef, Variable};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

/// The loop whose head is the last in front of most of the places.
#[must_use]
pub fn around<'l>(loops: &'l [SourceLoop], places: &[Loc]) -> Option<&'l SourceLoop> {
    let mut votes = vec![0u32; loops.len()];
    for place in places {
        let heads = loops.iter().enumerate().filter(|(_, known)| {
            known.loc.site == place.site && known.loc.span.start <= place.span.start
        });
        if let Some((at, _)) = heads.max_by_key(|(_, known)| known.loc.span.start) {
            votes[at] += 1;
        }
    }
    let most = (0..loops.len()).max_by_key(|&at| (votes[at], loops[at].loc.span.start))?;
    (votes[most] > 0).then(|| &loops[most])
}

/// The variables of a function by the places that define and read them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Variables {
    names: FxHashMap<Variable, SmolStr>,
    /// Places of operations whose results a variable holds, and of those that read it; sorted.
    defined: Vec<(Loc, Variable)>,
    read: Vec<(Loc, Variable)>,
}

impl Variables {
    #[must_use]
    pub fn of(function: &Function) -> Variables {
        let mut out = Variables::default();
        let mut holders: FxHashMap<Value, Vec<Variable>> = FxHashMap::default();
        for binding in &function.bindings {
            out.names
                .entry(binding.variable)
                .or_insert_with(|| function.variables[binding.variable].name.clone());
            for &value in &binding.values {
                holders.entry(value).or_default().push(binding.variable);
                if let (ValueDef::Result(inst, _), true) = (
                    &function.values[value].def,
                    binding.kind != BindingKind::Read,
                ) {
                    let loc = function.insts[*inst].loc;
                    out.defined.push((loc, binding.variable));
                }
            }
        }
        for data in function.insts.values() {
            for value in data.operands() {
                let held = holders.get(&value).into_iter().flatten();
                out.read.extend(held.map(|&variable| (data.loc, variable)));
            }
        }
        let key = |known: &(Loc, Variable)| (known.0.site.0, known.0.span, known.1);
        for list in [&mut out.defined, &mut out.read] {
            list.sort_unstable_by_key(key);
            list.dedup();
        }
        out
    }

    /// The name of a variable, if something binds it.
    #[must_use]
    pub fn name(&self, variable: Variable) -> Option<&SmolStr> {
        self.names.get(&variable)
    }

    /// Variables that hold what is computed at a place; none without a place.
    pub fn defined_at(&self, loc: Loc) -> impl Iterator<Item = Variable> + '_ {
        let own = self.defined.iter().filter(move |known| known.0 == loc);
        own.filter(move |_| loc != Loc::NONE).map(|known| known.1)
    }

    /// Variables whose values the operations at a place read; none without a place.
    pub fn read_at(&self, loc: Loc) -> impl Iterator<Item = Variable> + '_ {
        let own = self.read.iter().filter(move |known| known.0 == loc);
        own.filter(move |_| loc != Loc::NONE).map(|known| known.1)
    }

    /// The variable whose value is written at all of `written` and read at all of `read`, as far as places tell: an
    /// argument is written nowhere. `None`: a value in the middle of an expression.
    #[must_use]
    pub fn held(&self, written: &[Loc], read: &[Loc]) -> Option<Variable> {
        let known: Vec<Loc> = written
            .iter()
            .copied()
            .filter(|&loc| loc != Loc::NONE)
            .collect();
        let most = |candidates: Vec<Variable>| {
            let mut best: Option<(usize, Variable)> = None;
            for &variable in &candidates {
                let count = candidates
                    .iter()
                    .filter(|&&other| other == variable)
                    .count();
                if best.is_none_or(|(most, first)| (count, first) > (most, variable)) {
                    best = Some((count, variable));
                }
            }
            best.map(|(_, variable)| variable)
        };
        if let Some(found) = most(known.iter().flat_map(|&loc| self.defined_at(loc)).collect()) {
            return Some(found);
        }
        // A variable that something else defines is not what waits here.
        let own = |variable: &Variable| {
            let mut places = self.defined.iter().filter(|it| it.1 == *variable);
            places.all(|place| known.contains(&place.0))
        };
        let mut readers = read.iter().filter(|&&loc| loc != Loc::NONE);
        let mut all: Vec<Variable> = self.read_at(*readers.next()?).collect();
        for &loc in readers {
            all.retain(|variable| self.read_at(loc).any(|here| here == *variable));
        }
        all.retain(own);
        match all[..] {
            [only] => Some(only),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir::Block;
    use syntax::Span;

    fn at(start: u32, end: u32) -> Loc {
        Loc::here(Span::new(start, end))
    }

    fn head(start: u32) -> SourceLoop {
        SourceLoop {
            header: Block(start),
            loc: at(start, start + 4),
            unroll: None,
            pipeline: None,
            independent: false,
        }
    }

    #[test]
    fn a_loop_is_that_in_front_of_most_operations() {
        let loops = [head(10), head(40), head(80)];
        // One operation was moved up.
        let places = [at(12, 14), at(44, 46), at(50, 52)];
        let found = around(&loops, &places).expect("a loop");
        assert_eq!(found.loc, at(40, 44));
        assert_eq!(around(&loops, &[at(2, 4)]), None);
    }

    /// `s` is written at 20 and read there; `n` is an argument, read at 6 beside `i`, which is written at 12.
    fn variables() -> Variables {
        let [s, n, i] = [0, 1, 2].map(Variable);
        Variables {
            names: [(s, "s".into()), (n, "n".into()), (i, "i".into())]
                .into_iter()
                .collect(),
            defined: vec![(at(12, 15), i), (at(20, 21), s)],
            read: vec![
                (at(6, 7), n),
                (at(6, 7), i),
                (at(12, 15), i),
                (at(20, 21), s),
            ],
        }
    }

    #[test]
    fn a_value_has_the_name_of_the_variable_that_holds_it() {
        let known = variables();
        let name = |written: &[Loc], read: &[Loc]| {
            let held = known.held(written, read)?;
            known.name(held).map(SmolStr::as_str)
        };
        assert_eq!(name(&[at(20, 21)], &[at(20, 21)]), Some("s"));
        // Behind the entry nothing writes it; `i` moves on elsewhere.
        assert_eq!(name(&[Loc::NONE], &[at(6, 7)]), Some("n"));
        assert_eq!(
            name(&[at(24, 25)], &[at(20, 21)]),
            None,
            "a part of an expression"
        );
    }
}
