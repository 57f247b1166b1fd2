//! C as SC140 assembly from the command line: the text has no problem and computes what the C does, and what has no code says
//! why.

#[path = "support/command.rs"]
mod command;

use command::{Place, errors, json, lockstep, text};

const TEXT: &str = r#"
typedef short Word16;
typedef int Word32;
Word32 L_mac(Word32, Word16, Word16);
Word16 div_s(Word16, Word16);
static const Word16 window[4] = { 1, -2, 3, 32767 };
struct Pair { int wide; short narrow[2]; };
static const struct Pair pair = { 5, { 6, 7 } };
static Word16 own(const Word16 *restrict x, Word32 n) {
    static Word16 calls;
    calls++;
    Word32 s = 0;
    for (Word32 i = 0; i < n; i++) s = L_mac(s, x[i], window[i & 3]);
    return (Word16)(s >> 8) + calls;
}
Word32 f(const Word16 *x, Word32 n) {
    const char *name = "sum";
    return own(x, n) * 1000 + name[n & 3] + div_s(3, 4) / 7;
}
Word32 g(void) { return pair.wide + pair.narrow[1]; }
double h(double x) { return x; }
int variadic(int n, ...) { return n; }
int whole(struct Pair pair) { return pair.wide; }
"#;

#[test]
fn a_file_is_assembled_and_runs() {
    let place = Place::new("emit-sets");
    let source = place.file("f.c", TEXT);
    let assembly = place.path("f.sc140.asm");
    let made = lockstep(&[
        "emit",
        &source,
        "--target",
        "sc140",
        "--pipeline",
        "-o",
        &assembly,
    ]);
    assert_eq!(made.status.code(), Some(1), "{}", errors(&made));
    let told = errors(&made);
    for reason in [
        "no code for `variadic`: ",
        "no code for `whole`: ",
        "are left out",
    ] {
        assert!(told.contains(reason), "{told}");
    }
    // Its problems are those of places among the fetches alone.
    let found = text(&lockstep(&["check", &assembly]));
    assert!(
        !found.contains("error[") && !found.contains("warning["),
        "{found}"
    );
    let ran = json(&lockstep(&[
        "sim",
        &assembly,
        "--item",
        "_f",
        "--arg",
        "i16:100,200,300,400,500",
        "--arg",
        "5:i32",
        "--set",
        "product_saturates=true",
        "--format",
        "json",
    ]));
    // 2 * (100 - 400 + 900 + 400 * 32767 + 500) >> 8, and 1; 'm'? n & 3 is 1: 'u'; 24576 / 7.
    let sum = (2 * (100 - 400 + 900 + 400 * 32767 + 500)) >> 8;
    let own = i64::from(sum as i16 + 1);
    assert_eq!(ran["d0"], own * 1000 + i64::from(b'u') + 24576 / 7);
    assert_eq!(ran["violations"].as_array().map(Vec::len), Some(0));
    assert_eq!(ran["changed_registers"].as_array().map(Vec::len), Some(0));
}

#[test]
fn loops_say_what_became_of_them() {
    let place = Place::new("emit-sets-json");
    let source = place.file("f.c", TEXT);
    let made = |options: &[&str]| {
        let mut all = vec![
            "emit", &source, "--target", "sc140", "--item", "f", "--format", "json",
        ];
        all.extend(options);
        json(&lockstep(&all))
    };
    let plain = made(&[]);
    let functions = plain["functions"].as_array().expect("functions");
    let own = functions
        .iter()
        .find(|function| function["name"] == "own")
        .or(functions.first());
    let loops = own.expect("a function")["loops"].as_array().expect("loops");
    assert_eq!(loops.len(), 1, "{plain}");
    assert_eq!(
        (&loops[0]["stages"], &loops[0]["refused"]),
        (&1.into(), &serde_json::Value::Null)
    );
    assert!(loops[0]["interval"].as_u64() > Some(1), "{plain}");
}

#[test]
fn options_of_other_targets_are_refused() {
    let place = Place::new("emit-sets-options");
    let source = place.file("f.c", TEXT);
    let made = lockstep(&["emit", &source, "--target", "sc140", "--no-bundles"]);
    assert_eq!(made.status.code(), Some(2));
    assert!(errors(&made).contains("`--no-bundles` says nothing of `--target sc140`"));
}

/// A recursion on more values than there are registers.
#[test]
fn spill_code_is_counted_and_may_be_kept() {
    let place = Place::new("emit-sets-spills");
    let kernels = include_str!("../../analyses/codegen/tests/sc140_spills/kernels.c");
    let source = place.file("f.c", kernels);
    let printed = |more: &[&str]| {
        let item = ["--item", "levinson_round"];
        let plain = ["emit", &source, "--target", "sc140", "--format", "json"];
        let made = lockstep(&[&plain[..], &item, more].concat());
        json(&made)["functions"][0].clone()
    };
    let (less, kept) = (printed(&[]), printed(&["--keep-spills"]));
    let count = |function: &serde_json::Value, at: &str| {
        let of = |kind: &str| function["transfers"][at][kind].as_u64().expect("a number");
        of("loads") + of("stores")
    };
    assert_eq!(count(&kept, "left"), count(&kept, "allocated"));
    assert_eq!(count(&less, "allocated"), count(&kept, "allocated"));
    assert!(count(&less, "left") < count(&kept, "left"), "{less} {kept}");
    let cycles = |function: &serde_json::Value| function["cycles"].as_f64().expect("cycles");
    assert!(cycles(&less) < cycles(&kept), "{less} {kept}");
    // There is nothing of it for other processors.
    let refused = lockstep(&["emit", &source, "--keep-spills"]);
    assert_eq!(refused.status.code(), Some(2), "{}", errors(&refused));
    assert!(errors(&refused).contains("`--keep-spills` says nothing of"));
}

/// A header of the system takes its types by the widths of the processor, not by those of the machine that it lies on.
#[test]
fn integers_of_64_bits_have_them_where_long_has_32() {
    let place = Place::new("emit-sets-widths");
    let source = place.file(
        "f.c",
        "#include <stdint.h>\nint widths(void) { return 1000 * sizeof(int64_t) + 100 * sizeof(INT64_MAX) + 10 * sizeof(long) + sizeof(size_t); }\n\
         int32_t product(int32_t x, int32_t y) { return (int32_t)(((int64_t)x * y) >> 31); }\n",
    );
    let assembly = place.path("f.sc140.asm");
    let made = lockstep(&["emit", &source, "--target", "sc140", "-o", &assembly]);
    assert_eq!(made.status.code(), Some(0), "{}", errors(&made));
    let run = |item: &str, arguments: &[&str]| {
        let plain = ["sim", &assembly, "--item", item, "--format", "json"];
        json(&lockstep(&[&plain[..], arguments].concat()))["d0"].clone()
    };
    assert_eq!(run("_widths", &[]), 8844);
    let arguments = ["--arg", "1000000000", "--arg", "1500000000"];
    assert_eq!(run("_product", &arguments), 698_491_930);
}
