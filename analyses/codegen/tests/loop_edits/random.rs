//! Random functions with loops, each edit that is offered on them judged by the checker and by execution.
//!
//! `LOCKSTEP_LOOP_KERNELS` is how many of each kind are tried, `LOCKSTEP_FIRST` the first.

use super::c_file::CFile;
use super::generate;
use lockstep_codegen::loops::check::{promised, rewritten};
use lockstep_codegen::loops::{Edit, Refusal, conditional_at, loop_at, promise, unrolled};
use oracle::interp::{self, AccessKind, Instance, Launch, Observer};
use std::collections::{BTreeMap, BTreeSet};
use syntax::Span;

/// Accesses of memory that the caller sees: stores and volatile accesses in their order, and the loads before
/// each of these.
struct Accesses<'m> {
    module: &'m ir::Module,
    effects: Vec<u64>,
    loads: Vec<BTreeSet<u64>>,
}

impl Observer for Accesses<'_> {
    fn memory(
        &mut self,
        instance: &Instance<'_>,
        inst: ir::entity::Inst,
        kind: AccessKind,
        addresses: &[u64],
        _: u64,
    ) {
        let function = &self.module.functions[instance.function as usize];
        let volatile = matches!(&function.insts[inst].op, ir::Op::Load(access) if access.volatile);
        if interp::memory::buffer_of(addresses[0]).is_none() {
            return;
        }
        if kind == AccessKind::Load && !volatile {
            let before = self.loads.last_mut().expect("a set");
            before.insert(addresses[0]);
        } else {
            self.effects.push(addresses[0]);
            self.loads.push(BTreeSet::new());
        }
    }
}

/// The result of a launch and the memory that it leaves, with its accesses.
struct Run {
    outcome: interp::Outcome,
    effects: Vec<u64>,
    loads: Vec<BTreeSet<u64>>,
}

/// `None`: it does not end in time, or leaves a buffer.
fn run(file: &CFile, launch: &Launch) -> Option<Run> {
    let module = &file.lowered[0].module;
    let mut accesses = Accesses {
        module,
        effects: Vec::new(),
        loads: vec![BTreeSet::new()],
    };
    let outcome = interp::run_with(module, launch, &mut accesses, &());
    if outcome.error.is_some() {
        return None;
    }
    Some(Run {
        outcome,
        effects: accesses.effects,
        loads: accesses.loads,
    })
}

impl Run {
    /// The same results, memory and effects, and between two of these no load that the original does not do there.
    fn replaces(&self, original: &Run) -> bool {
        let mut loads = self.loads.iter().zip(&original.loads);
        self.outcome.returned == original.outcome.returned
            && self.outcome.buffers == original.outcome.buffers
            && self.effects == original.effects
            && loads.all(|(own, known)| own.is_subset(known))
    }
}

const KERNELS: u64 = 40;

/// The number of attempts, by kind and outcome.
pub(crate) type Tally = BTreeMap<(String, String), u32>;

/// Counters that may wrap around below the width of `int`, for which there is no proof.
fn has_narrow_counter(file: &CFile) -> bool {
    let declared = ["char i;", "char i =", "short i;", "short i ="];
    declared.iter().any(|text| file.text.contains(text))
}

/// An edit and its outcome.
fn judge(before: &CFile, edit: &Edit, launches: &[Launch]) -> String {
    let mut text = before.text.clone();
    text.replace_range(edit.0.start as usize..edit.0.end as usize, &edit.1);
    let after = CFile::new(&text);
    for launch in launches {
        if let Some(first) = run(before, launch) {
            let same = run(&after, launch).is_some_and(|second| second.replaces(&first));
            assert!(same, "{}\n{text}", before.text);
        }
    }
    match rewritten(&before.side(), &after.side(), edit) {
        Ok(Ok(_)) => "proven".into(),
        Ok(Err(why)) => format!("{why:?}"),
        Err(why) if !why.is_certain() && has_narrow_counter(before) => "not proven".into(),
        Err(why) => panic!("{why}\n{}\n{text}", before.text),
    }
}

fn name(refusal: &Refusal) -> String {
    let text = format!("{refusal:?}");
    text.split(['(', ' ', '{']).next().unwrap_or("").to_owned()
}

/// All edits of a file's last function.
pub(crate) fn edits(file: &CFile, launches: &[Launch], tally: &mut Tally) {
    let mut count = |what: &str, came: String| {
        *tally.entry((what.to_owned(), came)).or_default() += 1;
    };
    let function = file.text.get(file.start as usize..).expect("the function");
    let (source, tree) = (file.source(), file.function());
    let mut seen: Vec<Edit> = Vec::new();
    for (at, _) in function.match_indices("for (") {
        let Some(statement) = loop_at(tree, at as u32) else {
            continue;
        };
        for times in [2, 3, 4] {
            let came = match unrolled(&source, tree, statement, times) {
                Err(refusal) => name(&refusal),
                Ok(edit) if seen.contains(&edit) => continue,
                Ok(edit) => {
                    seen.push(edit.clone());
                    judge(file, &edit, launches)
                }
            };
            count("unroll", came);
        }
    }
    for (at, _) in function.match_indices("if (") {
        let came = match conditional_at(&source, tree, at as u32) {
            None => "nothing".into(),
            Some((_, Err(refusal))) => name(&refusal),
            Some((_, Ok(found))) if seen.contains(&found.edit) => continue,
            Some((_, Ok(found))) => {
                seen.push(found.edit.clone());
                judge(file, &found.edit, launches)
            }
        };
        count("convert", came);
    }
    // Each store with each access, as the scheduler names them.
    let module = &file.lowered[0].module.functions[0];
    let place = |store: bool| {
        let insts = module.insts.values();
        let of = insts.filter(move |data| match data.op {
            ir::Op::Store(_) => true,
            ir::Op::Load(_) => !store,
            _ => false,
        });
        let own = of.filter(|data| data.loc.site.0 == 0);
        own.map(|data| data.loc.span).collect::<Vec<Span>>()
    };
    for store in place(true) {
        for other in place(false) {
            let came = match promise(&source, tree, &[(store, other)]) {
                Err(refusal) => name(&refusal),
                Ok(found) => {
                    let mut text = file.text.clone();
                    let mut edits = found.edits.clone();
                    edits.sort_by_key(|edit| edit.0);
                    for (span, new) in edits.iter().rev() {
                        text.replace_range(span.start as usize..span.end as usize, new);
                    }
                    let after = CFile::new(&text);
                    let sides = (file.side(), after.side());
                    let verdict = promised(&sides.0, &sides.1, &found.edits, &found.parameters);
                    assert_eq!(verdict, Ok(()), "{}\n{text}", file.text);
                    "proven".into()
                }
            };
            count("restrict", came);
        }
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "whoever runs the test says how much is tried"
)]
fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn all(kind: &str, least: &[(&str, u32)], of: &dyn Fn(u64) -> (String, Vec<Launch>)) {
    let first = setting("LOCKSTEP_FIRST", 0);
    let count = setting("LOCKSTEP_LOOP_KERNELS", KERNELS);
    let mut tally = Tally::new();
    for seed in first..first + count {
        let (text, launches) = of(seed);
        let file = CFile::new(&text);
        assert!(
            file.item.problems.is_empty(),
            "{:?}\n{text}",
            file.item.problems
        );
        assert!(
            file.lowered[0].problems.is_empty(),
            "{:?}\n{text}",
            file.lowered[0].problems
        );
        edits(&file, &launches, &mut tally);
    }
    println!("{count} {kind}: {tally:?}");
    for (what, least) in least {
        let of = |came: &str| {
            tally
                .get(&((*what).into(), came.into()))
                .copied()
                .unwrap_or(0)
        };
        assert!(
            of("proven") >= *least || count < KERNELS,
            "{what}: {tally:?}"
        );
    }
}

#[test]
fn edits_of_random_kernels_are_proven_and_compute_the_same() {
    let least = [("convert", 3), ("restrict", 60)];
    all("kernels", &least, &|seed| {
        let kernel = oracle::random::c::kernel(seed);
        let launch = generate::launch(&kernel);
        (kernel.text, vec![launch])
    });
}

#[test]
fn edits_of_random_loops_are_proven_and_compute_the_same() {
    let least = [("unroll", 30), ("convert", 10), ("restrict", 60)];
    all("loops", &least, &|seed| {
        let found = generate::loops(seed);
        (found.text, found.launches)
    });
}
