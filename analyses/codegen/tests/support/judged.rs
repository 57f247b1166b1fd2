//! The results of a random function and the executions of its parts, and the judge of texts that are
//! rewritten.

use super::read::Read;
use facts::paths::{PathGraph, PathNumbers, PathProfile, Walk};
use ir::entity::Entity;
use ir::{BindingKind, Module, Site};
use lockstep_codegen::specialize::source::sink_dead::{Known, check};
use lockstep_codegen::specialize::source::{Source, functions_of, rewritten};
use oracle::interp::{Instance, Observer, Outcome, lanes};
use std::collections::HashMap;
use syntax::Span;
use syntax::c_family::ast::{Function, FunctionName, ParsedItem};

/// A number that a test is asked for by its environment.
#[allow(clippy::disallowed_methods)]
pub(crate) fn setting(name: &str, otherwise: u64) -> u64 {
    let given = std::env::var(name).ok();
    given
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

/// Counts ways of lanes through function 0, and executions of its instructions.
pub(crate) struct Recorder<'a> {
    module: &'a Module,
    pub(crate) numbers: PathNumbers,
    pub(crate) profile: PathProfile,
    walks: HashMap<(u64, u32, u32), Walk>,
    executed: Vec<u64>,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(module: &'a Module) -> Self {
        let function = &module.functions[0];
        Recorder {
            module,
            numbers: PathNumbers::new(PathGraph::of(function)).expect("few paths"),
            profile: PathProfile::default(),
            walks: HashMap::new(),
            executed: vec![0; function.blocks.len()],
        }
    }

    /// Times that lanes set a variable whose name stands at one of some places.
    pub(crate) fn set_at(&self, places: &[Span]) -> u64 {
        let bindings = self.module.functions[0].bindings.iter();
        let here = bindings.filter(|binding| {
            binding.kind != BindingKind::Read
                && binding.loc.site == Site(0)
                && places.contains(&binding.loc.span)
        });
        here.map(|binding| self.executed[binding.block.index()])
            .sum()
    }
}

impl Observer for Recorder<'_> {
    fn block(&mut self, instance: &Instance<'_>) {
        if instance.function != 0 || instance.depth != 0 {
            return;
        }
        let node = instance.block.index();
        self.executed[node] += u64::from(instance.mask.count_ones());
        let graph = self.numbers.graph();
        let leaves = graph.successors[node].is_empty();
        for lane in lanes(instance.mask) {
            let key = (instance.workgroup_index, instance.warp, lane);
            if node == graph.entry && !self.walks.contains_key(&key) {
                self.walks.insert(key, self.numbers.enter());
            }
            if leaves && let Some(walk) = self.walks.remove(&key) {
                self.profile.count(self.numbers.leave(walk));
            }
        }
    }

    fn branch(&mut self, instance: &Instance<'_>, taken: &[u64]) {
        if instance.function != 0 || instance.depth != 0 {
            return;
        }
        for (edge, &mask) in taken.iter().enumerate() {
            for lane in lanes(mask) {
                let key = (instance.workgroup_index, instance.warp, lane);
                let walk = self.walks.get_mut(&key).expect("it has begun");
                if let Some(number) = self.numbers.step(walk, edge) {
                    self.profile.count(number);
                }
            }
        }
    }
}

pub(crate) fn same(before: &Outcome, after: &Outcome) -> Result<(), String> {
    if before.error.is_some() || after.error.is_some() {
        return Err(format!("{:?} and {:?}", before.error, after.error));
    }
    for (number, (a, b)) in before.buffers.iter().zip(&after.buffers).enumerate() {
        if let Some(word) = (a.words().iter().zip(b.words())).position(|(a, b)| *a != b) {
            return Err(format!("buffer {number}, word {word}"));
        }
    }
    Ok(())
}

pub(crate) fn own(item: &ParsedItem) -> Option<&Function> {
    functions_of(item).into_iter().find(|each| {
        matches!(&each.name, FunctionName::Plain(name)
            if name.segments.iter().any(|segment| segment.ident.name == "kernel"))
    })
}

/// The item of the function, with its number.
pub(crate) fn item_of(read: &Read) -> usize {
    let found = read
        .parsed
        .iter()
        .position(|(_, _, item)| own(item).is_some());
    found.expect("there is a function")
}

pub(crate) fn applied(text: &str, edits: &[(Span, String)]) -> String {
    rewritten(text, edits).expect("edits do not overlap")
}

pub(crate) fn source_slice<'t>(source: &Source<'_>, text: &'t str, span: Span) -> &'t str {
    &text[(source.start + span.start) as usize..(source.start + span.end) as usize]
}

pub(crate) fn judged(
    before: &Source<'_>,
    old: &str,
    after: &Source<'_>,
    new: &str,
) -> Result<(), check::Violation> {
    let old_function = own(before.item).expect("it is there");
    let new_function = own(after.item).expect("it is still there");
    compared(before, old, old_function, after, new, new_function)
}

pub(crate) fn compared(
    before: &Source<'_>,
    old: &str,
    old_function: &Function,
    after: &Source<'_>,
    new: &str,
    new_function: &Function,
) -> Result<(), check::Violation> {
    let old_unit = Known::new(before, old_function).expect("it can be followed");
    let new_unit = Known::new(after, new_function).expect("it can be followed");
    check::check(
        check::Text {
            function: old_function,
            text: &|span| source_slice(before, old, span),
            unit: &old_unit,
        },
        check::Text {
            function: new_function,
            text: &|span| source_slice(after, new, span),
            unit: &new_unit,
        },
    )
}
