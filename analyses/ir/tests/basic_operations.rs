//! Names that are basic operations of ETSI and ITU-T, and names that are what the file says.

use lockstep_ir::lower::c_family::{Environment, LowerOptions, UnitBodies, lower_item};
use lockstep_ir::verify::verify_module;
use lockstep_ir::{BinaryOp, Function, Language, Op};
use syntax::c_family::{Dialect, parse_text};

/// The last function of a text, in a unit that does not find these headers; all of it is understood.
fn lowered(text: &str, missing: &[&str]) -> Function {
    let found = lowered_as_far(text, missing);
    assert!(found.unknowns.is_empty(), "{text}");
    found
}

fn lowered_as_far(text: &str, missing: &[&str]) -> Function {
    let items = parse_text(text, Dialect::C);
    for item in &items {
        assert!(item.problems.is_empty(), "{:?}\n{text}", item.problems);
    }
    let mut env = Environment::new(&items);
    env.set_missing_headers(missing.iter().map(|&spec| spec.into()).collect());
    let bodies = UnitBodies(items.iter().map(|i| (i.key.clone(), i.clone())).collect());
    let key = &items.last().expect("a function").key;
    let options = LowerOptions::new(Language::C);
    let found = lower_item(&env, &bodies, key, &options).remove(0).module;
    if let Err(errors) = verify_module(&found) {
        panic!("{}\n{text}", errors[0]);
    }
    found.functions[0].clone()
}

fn count(function: &Function, wanted: impl Fn(&Op) -> bool) -> usize {
    let blocks = function.layout.iter();
    let insts = blocks.flat_map(|&block| &function.blocks[block].insts);
    insts
        .filter(|&&inst| wanted(&function.insts[inst].op))
        .count()
}

fn sums(function: &Function) -> usize {
    count(function, |op| {
        matches!(op, Op::Binary(BinaryOp::AddSaturateSigned, _))
    })
}
fn calls(function: &Function) -> usize {
    count(function, |op| matches!(op, Op::CallUnknown { .. }))
}
fn stores(function: &Function) -> usize {
    count(function, |op| matches!(op, Op::Store(_)))
}

const SUM: &str = "Word32 f(const Word16 *x, Word32 s) { return L_add(L_mac(s, x[0], x[1]), L_deposit_l(x[2])); }";

#[test]
fn a_header_that_is_not_found_declares_them() {
    for header in ["prototype.h", "basic_op.h", "../common/stl.h"] {
        let found = lowered(SUM, &[header]);
        assert_eq!((sums(&found), calls(&found), stores(&found)), (2, 0, 0));
    }
    // Another one may declare anything of that name.
    let found = lowered(SUM, &["codec.h"]);
    assert_eq!((sums(&found), calls(&found)), (0, 3));
}

#[test]
fn prototypes_with_their_types_declare_them() {
    let types = "typedef short Word16; typedef int Word32;\n";
    let declared = "Word32 L_add(Word32, Word32); Word32 L_mac(Word32 s, Word16 a, Word16 b); Word32 L_deposit_l(Word16);\n";
    let found = lowered(&format!("{types}{declared}{SUM}"), &[]);
    assert_eq!((sums(&found), calls(&found)), (2, 0));
    // The same name, of other types.
    let other = "int add(int a, int b);\nint f(int a, int b) { return add(a, b); }";
    let found = lowered(other, &["basic_op.h"]);
    assert_eq!((sums(&found), calls(&found)), (0, 1));
}

#[test]
fn a_definition_says_what_a_name_means() {
    let wraps = "typedef int Word32;
static Word32 L_add(Word32 a, Word32 b) { return (Word32)((unsigned)a + (unsigned)b); }
Word32 f(Word32 a, Word32 b) { return L_add(a, b); }";
    let found = lowered(wraps, &["basic_op.h"]);
    assert_eq!((sums(&found), calls(&found)), (0, 0));
    let saturates = "static int plus(int a, int b) {
  long long s = (long long)a + b;
  return s > 2147483647LL ? 2147483647 : s < -2147483648LL ? -2147483647 - 1 : (int)s; }
int f(int a, int b) { return plus(a, plus(b, 1)); }";
    let found = lowered(saturates, &[]);
    assert_eq!((sums(&found), calls(&found)), (2, 0));
}

#[test]
fn the_flag_is_written_where_a_function_of_the_unit_reads_it() {
    let plain = "Word32 f(Word32 a, Word32 b) { Overflow = 0; return L_add(a, b); }";
    assert_eq!(stores(&lowered(plain, &["basic_op.h"])), 1);
    let reads = "int lost(void) { return Overflow; }\n";
    let both = format!("{reads}{plain}");
    assert_eq!(stores(&lowered(&both, &["basic_op.h"])), 2);
}

/// The number that a function returns.
fn returned(text: &str) -> Option<i64> {
    let found = lowered(text, &["prototype.h"]);
    let terminator = &found.blocks[found.entry()].terminator;
    found.int_constant(terminator.reads()[0])
}

/// Modes that operations have anyhow change nothing; others, control and values that nobody tells are said to be unknown.
#[test]
fn what_else_the_header_declares_is_known_or_refused() {
    let unknown = |text: &str, headers: &[&str]| {
        let found = lowered_as_far(text, headers);
        let unknown = count(&found, |op| matches!(op, Op::Unknown(_)));
        (unknown, calls(&found))
    };
    let sum =
        |call: &str| format!("Word32 f(Word32 a, Word32 b) {{ {call}; return L_add(a, b); }}");
    let header = ["prototype.h"];
    assert_eq!(unknown(&sum("setsat32(); set2crm()"), &header), (0, 0));
    for call in [
        "setnosat()",
        "setcnvrm()",
        "di()",
        "mark()",
        "D_mult(a, b)",
        "X_round(a)",
    ] {
        assert_eq!(unknown(&sum(call), &header), (1, 0), "{call}");
    }
    // Any other function may have such a name.
    assert_eq!(unknown(&sum("D_LPC_init()"), &header), (0, 1));
    // Without the header, or with a prototype, it is a function like others.
    assert_eq!(unknown(&sum("setnosat()"), &["codec.h"]), (0, 2));
    let own = format!("void di(void); {}", sum("di()"));
    assert_eq!(unknown(&own, &header), (0, 1));
}

#[test]
fn fractions_are_numbers() {
    let as_fraction = |written: &str| {
        let [short, long] = ["Word16", "Word32"].map(|ty| {
            let name = ty.to_uppercase();
            returned(&format!("{ty} f(void) {{ return {name}({written}); }}"))
        });
        [short, long].map(Option::unwrap)
    };
    assert_eq!(as_fraction("0.5"), [0x4000, 0x4000_0000]);
    assert_eq!(as_fraction("-1.0"), [-0x8000, -0x8000_0000]);
    assert_eq!(as_fraction("1.0"), [0x7fff, 0x7fff_ffff]);
    assert_eq!(as_fraction("0.2"), [6554, 429_496_730]);
    assert_eq!(as_fraction("1"), [0x7fff, 0x7fff_ffff]);
    assert_eq!(as_fraction("0.5 * 0.5"), [0x2000, 0x2000_0000]);
    // What the unit defines is its own.
    let own = "static int WORD16(double x) { return (int)(x * 10); }
int f(void) { const int q = WORD16(0.5); return q; }";
    assert_ne!(returned(own), Some(0x4000));
    let own = "static int min(int a, int b) { return a + b; }
int f(void) { const int q = min(1, 2); return q; }";
    assert_ne!(returned(own), Some(1));
    let text = "int f(int i) { static const Word16 t[3] = { WORD16(0.25), -5, WORD16(-0.5) }; return t[i]; }";
    let found = lowered(text, &["prototype.h"]);
    let mut initial = found
        .symbols
        .values()
        .filter_map(|symbol| symbol.initial.clone());
    assert_eq!(initial.next(), Some(vec![0, 0x20, 0xfb, 0xff, 0, 0xc0]));
}
