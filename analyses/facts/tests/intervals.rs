//! Intervals against the interpreter: no lane of any random program holds a number outside of the interval of
//! its value.

extern crate lockstep_facts as facts;

use facts::Options;
use facts::intervals::{Intervals, intervals, whole};
use ir::{Module, Type, Value};
use oracle::interp::{Instance, Launch, Observer, lanes, run_with};
use oracle::random::{Flavour, Random, Shape, program};

const PROGRAMS: u64 = 600;

struct Judge<'f> {
    module: &'f Module,
    all: Vec<Intervals<'f>>,
    /// Values looked at whose interval is smaller than their type.
    told: u64,
    outside: Vec<String>,
}

/// The number that a lane holds, with its sign.
fn number(bits: u64, ty: Type) -> i128 {
    let shift = 64 - ty.bits();
    match ty {
        Type::Bool => (bits & 1).into(),
        _ => (((bits << shift) as i64) >> shift).into(),
    }
}

impl Judge<'_> {
    fn judge(
        &mut self,
        instance: &Instance<'_>,
        value: Value,
        held: &[u64],
        mask: u64,
        used: bool,
    ) {
        let function = &self.module.functions[instance.function as usize];
        let ty = function.ty(value);
        if !ty.is_int() && ty != Type::Bool {
            return;
        }
        let all = &self.all[instance.function as usize];
        let range = match used {
            true => all.at(value, instance.block),
            false => all.of(value),
        };
        self.told += u64::from(range != Some(whole(ty)));
        for lane in lanes(mask) {
            let number = number(held[lane as usize], ty);
            if range.is_none_or(|range| number < range.0 || number > range.1) {
                let found = format!(
                    "{value} in {}: {number} is not in {range:?}",
                    instance.block
                );
                self.outside.push(found);
                return;
            }
        }
    }
}

impl Observer for Judge<'_> {
    fn values(&mut self, instance: &Instance<'_>, value: Value, lanes: &[u64], mask: u64) {
        self.judge(instance, value, lanes, mask, false);
    }
    fn uses(&mut self, instance: &Instance<'_>, value: Value, lanes: &[u64], mask: u64) {
        self.judge(instance, value, lanes, mask, true);
    }
    fn wants_uses(&self) -> bool {
        true
    }
}

#[test]
fn no_lane_of_a_random_program_is_outside() {
    let mut told = 0;
    for seed in 0..PROGRAMS {
        let mut random = Random::new(seed ^ 0x1_47e7);
        let shape = match random.below(4) {
            0 => Shape::small(Flavour::Structured),
            1 => Shape::arbitrary(),
            2 => Shape::small(Flavour::Arbitrary),
            _ => Shape {
                undefined: random.percent(20),
                fractions: true,
                functions: random.below(2),
                ..Shape::default()
            },
        };
        let program = program(seed, &shape);
        let options = Options {
            warp_size: program.warp_size,
            ..Options::default()
        };
        let functions = program.module.functions.iter();
        let mut judge = Judge {
            module: &program.module,
            all: functions.map(|each| intervals(each, &options)).collect(),
            told: 0,
            outside: Vec::new(),
        };
        let mut launch = Launch::for_program(&program);
        launch.seed = seed;
        launch.scramble_undefined = random.percent(50);
        run_with(&program.module, &launch, &mut judge, &());
        assert!(
            judge.outside.is_empty(),
            "program {seed}: {:?}\n{}",
            judge.outside,
            ir::text::print_module(&program.module)
        );
        told += judge.told;
    }
    println!("{told} values with an interval smaller than their type");
    assert!(told > 100_000, "{told}");
}
