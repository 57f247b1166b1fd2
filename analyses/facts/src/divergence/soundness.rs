//! The analysis against the interpreter: on random programs, launches and arguments no claim of uniformity is refuted at
//! its scope by converged instances of a definition or a use, and every form gives the value that each lane holds.

use super::engine::{Engine, QUAD, SUBGROUP, WORKGROUP};
use super::form::Form;
use super::summaries;
use crate::model::{Method, Options, Scope};
use ir::{Type, Value};
use oracle::interp::{Extent, Instance, Launch, Observer, Witness, lanes, run_with};
use oracle::random::{self, Flavour, Program, Shape};
use rustc_hash::FxHashMap;

struct Judge<'e, 'f> {
    engine: &'e Engine<'f>,
    witness: Witness,
    /// The last number that each lane computed as each value of the kernel, by workgroup and warp.
    current: FxHashMap<(u64, u32), Vec<u64>>,
    block: [u32; 3],
    failures: Vec<String>,
    forms: u64,
    executed: u64,
}

impl Judge<'_, '_> {
    fn special(&self, special: ir::Special, instance: &Instance<'_>, lane: u32) -> Option<i64> {
        let t = instance.warp * instance.warp_size + lane;
        let [x, y, _] = self.block;
        Some(match special {
            ir::Special::ThreadId(0) => i64::from(t % x),
            ir::Special::ThreadId(1) => i64::from(t / x % y),
            ir::Special::ThreadId(_) => i64::from(t / x / y),
            ir::Special::BlockId(a) => i64::from(instance.workgroup[a as usize]),
            ir::Special::LaneId => i64::from(lane),
            _ => return None,
        })
    }

    fn atom(
        &self,
        atom: u32,
        instance: &Instance<'_>,
        lane: u32,
        row: &[u64],
        depth: u32,
    ) -> Option<i64> {
        if let Some(special) = self.engine.special_of(atom) {
            return self.special(special, instance, lane);
        }
        let value = Value(atom);
        let width = instance.warp_size as usize;
        let held = row[atom as usize * width + lane as usize] as i64;
        let form = &self.engine.cells[value].form;
        if form.is_atom(atom) {
            return Some(held);
        }
        // The rest besides the terms of the merge.
        if depth > 8 {
            return None;
        }
        let others = form.filtered(|t| t.factors.as_slice() != [atom]);
        Some(held.wrapping_sub(self.evaluate(&others, instance, lane, row, depth + 1)?))
    }

    fn evaluate(
        &self,
        form: &Form,
        instance: &Instance<'_>,
        lane: u32,
        row: &[u64],
        depth: u32,
    ) -> Option<i64> {
        let mut sum = 0i64;
        for term in &form.terms {
            let mut product = term.coefficient;
            for &atom in term.factors.iter() {
                product = product.wrapping_mul(self.atom(atom, instance, lane, row, depth)?);
            }
            sum = sum.wrapping_add(product);
        }
        Some(sum)
    }
}

impl Observer for Judge<'_, '_> {
    fn values(&mut self, instance: &Instance<'_>, value: Value, row: &[u64], mask: u64) {
        self.witness.values(instance, value, row, mask);
        self.executed += u64::from(mask.count_ones());
        if instance.function != 0 || instance.depth != 0 {
            return;
        }
        let width = instance.warp_size as usize;
        let values = self.engine.function.values.len();
        let key = (instance.workgroup_index, instance.warp);
        let mut current = self
            .current
            .remove(&key)
            .unwrap_or_else(|| vec![0; values * width]);
        for lane in lanes(mask) {
            current[value.0 as usize * width + lane as usize] = row[lane as usize];
        }
        let ty = self.engine.function.ty(value);
        let form = &self.engine.cells[value].form;
        if ty.is_integral() && !form.is_atom(value.0) && !form.assumed {
            let shift = 64 - ty.bits();
            for lane in lanes(mask) {
                let Some(expected) = self.evaluate(form, instance, lane, &current, 0) else {
                    continue;
                };
                self.forms += 1;
                let held = row[lane as usize];
                if (expected as u64) << shift != held << shift && self.failures.len() < 4 {
                    self.failures.push(format!(
                        "{value} in lane {lane}: form {form:?} gives {expected}, holds {}",
                        held as i64
                    ));
                }
                if form.exact
                    && ty.is_int()
                    && ty.bits() < 64
                    && form.terms.iter().all(|t| {
                        t.factors.iter().all(|&a| {
                            self.engine.special_of(a).is_some()
                                || self.engine.cells[Value(a)].form.is_atom(a)
                                    && self.engine.function.ty(Value(a)).bits() <= 64
                        })
                    })
                {
                    let signed = ((held << shift) as i64) >> shift;
                    if expected != signed && self.failures.len() < 4 {
                        self.failures.push(format!(
                            "{value} in lane {lane}: exact form {form:?} gives {expected}, holds {signed}"
                        ));
                    }
                }
            }
        }
        if ty.is_int() || ty == Type::Bool {
            let (low, high) = self.engine.cells[value].range;
            let shift = 64 - ty.bits();
            for lane in lanes(mask) {
                let held = row[lane as usize];
                let signed = if ty == Type::Bool {
                    (held & 1) as i64
                } else {
                    ((held << shift) as i64) >> shift
                };
                if (signed < low || signed > high) && self.failures.len() < 4 {
                    self.failures.push(format!(
                        "{value} in lane {lane}: {signed} not in {low}..={high}"
                    ));
                }
            }
        }
        self.current.insert(key, current);
    }
    fn uses(&mut self, instance: &Instance<'_>, value: Value, row: &[u64], mask: u64) {
        self.witness.uses(instance, value, row, mask);
    }
    fn wants_uses(&self) -> bool {
        true
    }
}

const EXTENTS: [(Extent, u8); 4] = [
    (Extent::Quad, QUAD),
    (Extent::Subgroup, SUBGROUP),
    (Extent::Workgroup, WORKGROUP),
    (Extent::Dispatch, 4),
];

/// The tally of the claims and the runs of one program.
#[derive(Default)]
struct Tally {
    executed: u64,
    compared: u64,
    forms: u64,
    uniform: u64,
    values: u64,
}

fn check(program: &Program, shape: &Shape, known: bool, tally: &mut Tally) -> Vec<String> {
    let options = Options {
        warp_size: program.warp_size,
        block: if known {
            program.block.map(Some)
        } else {
            [None; 3]
        },
        scope: Scope::Subgroup,
        method: Method::Full,
        ..Options::default()
    };
    let summaries = summaries::solve(&program.module, &options);
    let engines: Vec<Engine<'_>> = program
        .module
        .functions
        .iter()
        .map(|f| {
            let mut engine = Engine::new(f, &program.module, &options, &summaries);
            engine.solve();
            engine
        })
        .collect();
    let mut witness = Witness::new(&EXTENTS.map(|e| e.0));
    if shape.warp_ops || shape.memory || shape.exchange {
        witness = witness.same_time();
    }
    let mut judge = Judge {
        engine: &engines[0],
        witness,
        current: FxHashMap::default(),
        block: program.block,
        failures: Vec::new(),
        forms: 0,
        executed: 0,
    };
    for run in 0..2u64 {
        let mut launch = Launch::for_program(program);
        launch.seed = run;
        launch.reverse_groups = run == 1;
        launch.scramble_undefined = true;
        run_with(&program.module, &launch, &mut judge, &());
        judge.witness.next_run();
        judge.current.clear();
    }
    let mut failures = std::mem::take(&mut judge.failures);
    for (index, engine) in engines.iter().enumerate() {
        let function = engine.function;
        for value in function.values.keys() {
            let Some(home) = engine.home(value) else {
                continue;
            };
            let level = engine.level[value];
            tally.values += 1;
            tally.uniform += u64::from(level >= SUBGROUP);
            for (extent, needed) in EXTENTS {
                if level >= needed
                    && let Some(found) = judge.witness.at_definition(index as u32, value, extent)
                {
                    failures.push(format!(
                        "{}: {value} in {home} claimed level {level}, differs at {extent:?}: {found:?}; form {:?}",
                        function.name, engine.cells[value].form
                    ));
                    break;
                }
            }
            for &block in &function.layout {
                let level = engine.level_at(value, block);
                for (extent, needed) in EXTENTS {
                    if level >= needed
                        && let Some(found) =
                            judge.witness.at_use(index as u32, value, block, extent)
                    {
                        failures.push(format!(
                            "{}: {value} of {home} used in {block} claimed level {level}, differs at {extent:?}: {found:?}",
                            function.name
                        ));
                        break;
                    }
                }
            }
        }
    }
    tally.executed += judge.executed;
    tally.compared += judge.witness.compared();
    tally.forms += judge.forms;
    failures
}

fn shapes() -> Vec<Shape> {
    let plain = Shape {
        warp_ops: false,
        exchange: false,
        memory: false,
        ..Shape::default()
    };
    let mut all = vec![
        Shape::small(Flavour::Structured),
        Shape::small(Flavour::Arbitrary),
        plain.clone(),
        Shape::default(),
        Shape::arbitrary(),
    ];
    all.push(Shape {
        loop_depth: 3,
        blocks: 16,
        functions: 0,
        fuel: 3,
        ..plain.clone()
    });
    all.push(Shape {
        functions: 3,
        symbolic_parameters: true,
        undefined: true,
        ..Shape::default()
    });
    all.push(Shape {
        blocks: 24,
        flavour: Flavour::Arbitrary,
        functions: 0,
        ..plain
    });
    all
}

fn programs() -> u64 {
    #[allow(clippy::disallowed_methods)]
    std::env::var("LOCKSTEP_SOUNDNESS_PROGRAMS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(16)
}

#[test]
fn no_claim_is_refuted() {
    let mut tally = Tally::default();
    let mut wrong = 0;
    for (number, shape) in shapes().iter().enumerate() {
        // Seed 15 of shape 4 shifts by the width.
        for seed in 0..programs() {
            let seed = seed + 1_000_000 * number as u64;
            let program = random::program(seed, shape);
            let failures = check(&program, shape, !seed.is_multiple_of(3), &mut tally);
            if !failures.is_empty() {
                wrong += 1;
                if wrong <= 6 {
                    eprintln!("shape {number} seed {seed}: {failures:#?}");
                }
                if wrong == 1 {
                    let text = ir::text::print_module(&program.module);
                    eprintln!(
                        "block {:?} warp {}\n{}",
                        program.block,
                        program.warp_size,
                        &text[..text.len().min(9000)]
                    );
                }
            }
        }
    }
    eprintln!(
        "{} lane values executed, {} comparisons, {} forms evaluated; {} of {} values uniform over the subgroup",
        tally.executed, tally.compared, tally.forms, tally.uniform, tally.values
    );
    assert_eq!(wrong, 0, "programs with refuted claims");
    assert!(tally.executed >= 1_000_000, "{}", tally.executed);
}
