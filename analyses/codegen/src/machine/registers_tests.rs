use super::*;
use crate::machine::named;
use ir::Module;

fn gpu(name: &str, of: impl Fn(&Gpu)) {
    let table = named(name).unwrap_or_else(|| panic!("no table {name}"));
    of(table.gpu());
}

fn estimate(machine: &str, body: &str) -> Estimate {
    let text = format!("function \"k\" kernel text {{\n{body}}}\n");
    let function = ir::text::parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let module = Module {
        functions: vec![function],
    };
    let facts = facts::analyze(0, &module, &facts::Options::default());
    let function = &module.functions[0];
    let schedules = Schedules::new(function, &facts).expect("a small function");
    let table = named(machine).unwrap_or_else(|| panic!("no table {machine}"));
    super::estimate(function, &schedules, table.gpu())
}

#[test]
fn a_step_is_where_a_scheduler_loses_a_warp() {
    gpu("sm_80", |gpu| {
        assert_eq!(steps(gpu), [32, 40, 48, 56, 64, 72, 80, 96, 128, 168, 255]);
    });
    // Half the warps with as many registers: no warp is lost before 64.
    gpu("sm_75", |gpu| {
        assert_eq!(steps(gpu), [64, 72, 80, 96, 128, 168, 255]);
    });
}

#[test]
fn a_kernel_that_does_nothing_has_the_fewest() {
    let found = estimate("sm_80", "\nb0:\n  return\n");
    assert_eq!((found.allocated, found.needed), (NOTHING, NOTHING));
}

/// Returns the estimate for this many values that are all loaded before any is stored.
fn values(count: usize) -> Estimate {
    let mut body = String::from("  parameter \"p\" \"float*\" (v0)\n\nb0(v0: ptr.global):\n");
    for number in 1..=count {
        body.push_str(&format!("  v{number}: f32 = load.global.volatile v0\n"));
    }
    body.push_str("  barrier.workgroup\n");
    for number in 1..=count {
        body.push_str(&format!("  store.global.volatile v0, v{number}\n"));
    }
    body.push_str("  return\n");
    estimate("sm_80", &body)
}

#[test]
fn what_is_needed_is_allocated_whatever_the_budget() {
    let (few, many) = (values(12), values(60));
    assert_eq!((few.needed, many.needed), (16, 64));
    // Below the first step registers cost nothing; a kernel that has reached a step does not go beyond it.
    assert!(few.allocated > few.needed && few.allocated <= 32, "{few:?}");
    assert_eq!(many.allocated, 64);
    assert_eq!(many.within(48), 64);
    assert_eq!(few.within(18), 18);
    assert_eq!(few.within(8), 16);
}
