//! The dependence graph of an iteration: registers, memory, and the branch at the end.
//!
//! A value that rotates is ordered by its reads and writes alone: the next iteration writes another register. One that
//! stays is read before the next iteration writes it, and written in order. Accesses keep their order where they may meet.
//! The branch stands behind the compares of the predicate that it reads.

use super::address::{Met, Touch};
use super::advance;
use super::body::Item;
use super::exits::Plan;
use super::report::{Alias, Reason};
use super::speculate::Check;
use crate::machine::epic::Epic;
use crate::pipeline::graph::{self, Edge, Graph, Resource};
use crate::pipeline::lifetime::Value;
use crate::target::ia64::bundle::block::Type;
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Function, Operation, Virtual};
use crate::target::ia64::describe::{Described, describe};
use crate::target::ia64::rows::{Kind, Packing, Port, Rows};
use isa::ia64::Access;
use isa::ia64::{Class, File, Parallel, Reg};
use rustc_hash::FxHashMap;

pub(super) struct View {
    pub(super) graph: Graph<Packing>,
    /// The branch, the last operation of the graph.
    pub(super) branch: u32,
    /// Values that rotate, by name.
    pub(super) names: Vec<Virtual>,
    pub(super) values: Vec<Value>,
    pub(super) aliases: Vec<Reason>,
    /// Checks of speculative values, each the first of its cycle.
    pub(super) checks: Vec<u32>,
}

/// Cycles from the write of a register to its read.
pub(super) fn latency(
    machine: &Epic,
    from: &Described,
    to: &Described,
    (written, read): (Virtual, Virtual),
) -> u32 {
    let (Some(written), Some(read)) = (from.stand_in(written), to.stand_in(read)) else {
        return 1;
    };
    let stepped = from
        .inst
        .memory
        .is_some_and(|memory| memory.base == written);
    let mut source = from.inst.clone();
    if !stepped {
        // Only the other operand's number is asked for.
        source.memory = None;
    } else {
        return machine.latency(&from.inst, &to.inst, written);
    }
    machine.latency(&source, &to.inst, read)
}

struct Occurrences {
    /// Item and how it writes.
    writers: Vec<(u32, Parallel)>,
    /// The item, the number of iterations since its operand was written, and the name by which it reads it.
    readers: Vec<(u32, u32, Virtual)>,
}

pub(super) fn view(
    function: &Function,
    plan: &Plan,
    (touches, meetings): (&[Touch], &[Met]),
    live: &[(Virtual, u32)],
    machine: &Epic,
) -> View {
    let described: Vec<Described> = plan
        .items
        .iter()
        .map(|item| describe(function, &item.operation))
        .collect();
    let branch = plan.items.len() as u32;
    let mut edges: Vec<Edge> = Vec::new();
    let mut edge = |from: u32, to: u32, latency: u32, distance: u32| {
        edges.push(Edge {
            from,
            to,
            latency: latency as i32,
            distance,
        });
    };
    let registers = occurrences(plan, &described);
    let apart = Apart::of(plan, &described);
    let (mut names, mut values) = (Vec::new(), Vec::new());
    let mut order: Vec<&Virtual> = registers.keys().collect();
    order.sort_unstable();
    for &register in order {
        let Occurrences { writers, readers } = &registers[&register];
        if writers.is_empty() && register != plan.valid {
            continue;
        }
        let stays = plan.statics.binary_search(&register).is_ok();
        let wait = |from: u32, to: u32, read: Virtual| {
            latency(
                machine,
                &described[from as usize],
                &described[to as usize],
                (register, read),
            )
        };
        for (at, &(first, how)) in writers.iter().enumerate() {
            for &(second, other) in &writers[at + 1..] {
                if first != second && !how.goes_with(other) {
                    edge(first, second, 1, 0);
                    if stays {
                        edge(second, first, 1, 1);
                    }
                }
            }
            for &(reader, ago, read) in readers {
                // A read behind a write in one iteration sees that write; a read in front of it sees that of
                // the iteration before.
                let ago = match stays {
                    true => u32::from(reader <= first),
                    false => ago,
                };
                if stays || ago > 0 || reader > first {
                    // If the two belong to opposite sides of one compare, only one executes: the assembler
                    // asks for another group and no more.
                    let wait = match ago == 0 && apart.are(plan, first, reader) {
                        true => wait(first, reader, read).min(1),
                        false => wait(first, reader, read),
                    };
                    edge(first, reader, wait, ago);
                }
                match stays {
                    // Read before it is written again.
                    true if reader != first => edge(reader, first, 0, u32::from(reader > first)),
                    false if ago == 0 && reader < first => edge(reader, first, 0, 0),
                    _ => {}
                }
            }
        }
        if stays {
            continue;
        }
        if register == plan.valid && !plan.counted {
            for &(writer, _) in writers {
                let from = &described[writer as usize].inst;
                let compare = match from.class {
                    Class::FloatCompare => 1,
                    _ => 0,
                };
                edge(writer, branch, compare, 0);
            }
        }
        let after = live
            .iter()
            .filter(|(it, _)| *it == register)
            .map(|(_, ago)| *ago)
            .max();
        let mut readers: Vec<(u32, u32)> =
            readers.iter().map(|reader| (reader.0, reader.1)).collect();
        let initial = readers.iter().any(|(_, ago)| *ago > 0) || after.is_some_and(|ago| ago > 0);
        if register == plan.valid && !plan.counted {
            readers.push((branch, 0));
        }
        names.push(register);
        values.push(Value {
            writers: writers.iter().map(|(writer, _)| *writer).collect(),
            readers,
            after,
            initial,
        });
    }
    let checks: Vec<(u32, &Check)> = (0..)
        .zip(&plan.items)
        .filter_map(|(at, item)| Some((at, item.check.as_ref()?)))
        .collect();
    // What reads a checked value stands behind the check.
    for &(check, of) in &checks {
        let values = of.covers.iter().filter_map(|cover| registers.get(cover));
        for &(reader, ago, read) in values.flat_map(|all| &all.readers) {
            let item = &plan.items[reader as usize];
            let root = plan.earlier.root(read);
            let again = item.check.as_ref();
            // A check that computes the value itself, or computes it again because its own load was changed,
            // does not wait.
            let own = again.is_some_and(|other| {
                ago == 0 && (other.advanced || other.writes().any(|write| write == root))
            });
            let ahead = item.speculative && (ago == 0 || !of.advanced);
            if !(reader == check && ago == 0 || ahead || own) {
                edge(check, reader, 0, ago);
            }
        }
        // Advanced loads that are done again with it are checked behind it.
        for &(other, own) in checks.iter().filter(|(other, _)| *other != check) {
            let again = |operation: &Operation| {
                operation.memory.is_some() && operation.writes().any(|write| write == own.value)
            };
            let recovery = of.recovery.iter().map(|(operation, _)| operation);
            if of.advanced && own.advanced && recovery.skip(1).any(again) {
                edge(check, other, 0, 0);
            }
        }
    }
    // What a store may change of an advanced load is seen by its check.
    let advanced = |load: u32| {
        let load = &plan.items[load as usize];
        let mut own = checks.iter().filter(|(_, check)| {
            check.advanced && load.operation.writes().any(|write| write == check.value)
        });
        own.next().map(|(at, _)| *at)
    };
    // A load finds the same when it is executed once more.
    let repeated = |load: u32| {
        let load = &plan.items[load as usize].operation;
        let checks = checks.iter().filter(|(_, check)| {
            let mut again = check.writes();
            again.any(|it| load.writes().any(|own| own == it))
        });
        let found: Vec<u32> = checks.map(|(at, _)| *at).collect();
        found
    };
    let accesses: Vec<u32> = (0..)
        .zip(&described)
        .filter(|(_, it)| {
            let memory = it.inst.memory;
            memory.is_some_and(|memory| memory.access != Access::Prefetch)
        })
        .map(|(at, _)| at)
        .collect();
    let mut aliases = Vec::new();
    let mut meetings = meetings.iter().peekable();
    for (at, (&first, each)) in (0..).zip(accesses.iter().zip(touches)) {
        while let Some(met) = meetings.next_if(|met| met.first == at) {
            let Some(&second) = accesses.get(met.second as usize) else {
                continue;
            };
            let (other, meeting) = (&touches[met.second as usize], &met.how);
            // The check of the second load, or of the first, that sees the other access's change.
            let sees = |load: u32, touch: &Touch, store: &Touch| match () {
                () if touch.access.writes() || !store.access.writes() => None,
                () if !advance::is_feared(meeting.why) => None,
                () => advanced(load),
            };
            let (of_second, of_first) = (sees(second, other, each), sees(first, each, other));
            // A load behind a store sees it a cycle later; all other pairs keep their order in one cycle.
            let cycles = |from: &Touch, to: &Touch| {
                u32::from(from.access.writes() && !to.access.writes() || from.ordered)
            };
            if let Some(distance) = meeting.forward {
                match of_second {
                    // It is the first of its cycle.
                    Some(check) => edge(first, check, 1, distance),
                    None => edge(first, second, cycles(each, other), distance),
                }
                if other.access.writes() {
                    let checks = repeated(first).into_iter();
                    checks.for_each(|check| edge(check, second, 0, distance));
                }
            }
            if let Some(distance) = meeting.backward {
                match of_first {
                    Some(check) => edge(second, check, 1, distance),
                    None => edge(second, first, cycles(other, each), distance),
                }
                if each.access.writes() {
                    let checks = repeated(second).into_iter();
                    checks.for_each(|check| edge(check, first, 0, distance));
                }
            }
            // The accesses meet only in their own iteration, by the source's promise: that holds no other
            // iteration back.
            let alone = meeting.backward.is_none() && !matches!(meeting.why, Alias::Meets(_));
            if alone || of_second.is_some() || of_first.is_some() {
                continue;
            }
            let (store, load) = match each.access.writes() {
                true => (first, second),
                false => (second, first),
            };
            let loc = |at: u32| plan.items[at as usize].operation.loc;
            aliases.push(Reason::MayAlias {
                store: loc(store),
                other: loc(load),
                why: meeting.why,
            });
        }
        // A store that meets itself later.
        if each.access.writes() && each.ordered {
            edge(first, first, 1, 1);
        }
    }
    let mut kinds: Vec<Kind> = described.iter().map(|it| Kind::of(&it.inst)).collect();
    kinds.push(Kind {
        ty: Type::B,
        port: Port::Any,
    });
    let graph = Graph {
        operations: vec![graph::Operation { resource: 0 }; kinds.len()],
        edges,
        resources: vec![Resource {
            name: "slots".into(),
            units: None,
        }],
        packing: Some(Packing {
            rows: Rows::new(machine),
            kinds,
        }),
    };
    View {
        graph,
        branch,
        names,
        values,
        aliases,
        checks: checks.iter().map(|(at, _)| *at).collect(),
    }
}

/// Predicates of which at most one is true, and their writer: both targets of one compare, and nothing else.
struct Apart(FxHashMap<Virtual, u32>);

impl Apart {
    fn of(plan: &Plan, described: &[Described]) -> Apart {
        let mut by: FxHashMap<Virtual, Option<u32>> = FxHashMap::default();
        for (at, (item, described)) in (0..).zip(plan.items.iter().zip(described)) {
            let pair = item.operation.is_certain() && item.operation.targets.len() == 2;
            for def in &described.inst.defs {
                if let Some(found) = described.virtual_register(def.register) {
                    let known = by.entry(found).or_insert(Some(at).filter(|_| pair));
                    *known = known.filter(|&known| known == at && pair);
                }
            }
        }
        Apart(
            by.into_iter()
                .filter_map(|(it, at)| Some((it, at?)))
                .collect(),
        )
    }

    /// Returns true if at most one of two items of an iteration executes.
    fn are(&self, plan: &Plan, left: u32, right: u32) -> bool {
        let (earlier, later) = (&plan.items[left as usize], &plan.items[right as usize]);
        let known = |item: &Item| {
            let predicate = item.operation.predicate?;
            let own = !item.before.contains(&predicate) && !item.speculative;
            Some((predicate, *self.0.get(&predicate).filter(|_| own)?))
        };
        match (known(earlier), known(later)) {
            (Some((found, first)), Some((other, second))) => found != other && first == second,
            _ => false,
        }
    }
}

fn occurrences(plan: &Plan, described: &[Described]) -> FxHashMap<Virtual, Occurrences> {
    let mut out: FxHashMap<Virtual, Occurrences> = FxHashMap::default();
    let empty = || Occurrences {
        writers: Vec::new(),
        readers: Vec::new(),
    };
    out.insert(plan.valid, empty());
    for (at, (item, described)) in (0..).zip(plan.items.iter().zip(described)) {
        let known = |register: Reg| described.virtual_register(register);
        for each in described.inst.uses.iter().filter_map(|&reg| known(reg)) {
            let ago = u32::from(item.before.contains(&each));
            // In a counted loop the predicate of the iteration is its own.
            let ago = if each == plan.valid && plan.counted {
                0
            } else {
                ago
            };
            let (root, more) = plan.earlier.of(each);
            let readers = &mut out.entry(root).or_insert_with(empty).readers;
            readers.push((at, ago + more, each));
        }
        // The values that a check may have to compute again are kept until then, and so are their operands.
        if let Some(check) = &item.check {
            let value = (check.value, 0);
            let again = check.writes().map(|write| (write, 0));
            let all = check.inputs().into_iter().chain(again);
            for (each, ago) in all.filter(|it| *it != value) {
                let (root, more) = plan.earlier.of(each);
                let readers = &mut out.entry(root).or_insert_with(empty).readers;
                readers.push((at, ago + more, each));
            }
        }
        for def in &described.inst.defs {
            if let Some(found) = known(def.register) {
                let all = &mut out.entry(found).or_insert_with(empty).writers;
                all.push((at, def.parallel));
            }
        }
    }
    out
}

/// Rotating registers of a file.
pub(super) fn units(file: File, machine: &Epic) -> u32 {
    use crate::machine::schema::Issue;
    match file {
        File::General => machine.of(Issue::GeneralStacked),
        File::Float => machine.of(Issue::FloatRotating),
        // The last one belongs to the branch.
        _ => machine.of(Issue::PredicateRotating).saturating_sub(1),
    }
}

/// The operation as a member of a cycle of dependences.
pub(super) fn link(plan: &Plan, edge: &Edge) -> super::report::Link {
    let operation: Option<&Operation> = plan
        .items
        .get(edge.from as usize)
        .map(|item| &item.operation);
    super::report::Link {
        mnemonic: operation.map_or(op!("br"), |it| it.mnemonic),
        loc: operation.map_or(ir::Loc::NONE, |it| it.loc),
        latency: edge.latency,
        distance: edge.distance,
    }
}
