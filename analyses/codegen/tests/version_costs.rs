//! The share of zero warps from which a version on zero is said to pay, beside the measurement on an H200.

#[path = "support/read.rs"]
mod read;
#[path = "support/timed.rs"]
mod timed;

use lockstep_codegen::machine;

/// In percent; `device_latencies.py` of the example `device_cases` measures them.
const MEASURED: [(&str, f64); 4] = [
    ("polynomial", 3.6),
    ("specular", 13.7),
    ("loads", 0.0),
    ("short", 94.0),
];

#[test]
fn versions_pay_about_where_hardware_says() {
    let table = machine::named("sm_90").expect("a table");
    let charges = machine::charges(&table, 32);
    for ((name, variable, text), (of, measured)) in timed::KERNELS.into_iter().zip(MEASURED) {
        assert_eq!(name, of);
        let whole = read::read(text, ir::Language::Cuda);
        let timed = timed::versioned(&whole, text, variable, &charges)
            .unwrap_or_else(|why| panic!("{name}: {why}"));
        let estimated = 100.0 * timed::pays(timed.model.expect("lowered"));
        println!("{name}: from {measured} %, estimated {estimated:.1} %");
        assert!((estimated - measured).abs() < 6.0, "{name}: {estimated} %");
    }
}
