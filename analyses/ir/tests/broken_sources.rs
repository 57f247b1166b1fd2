//! Text that is not understood, calls that nothing in sight defines: variables that they may change are
//! unknown behind them, and those that they can't reach keep their values. A value that is not known differs
//! from one seed of the interpreter to the next.

use lockstep_ir::lower::c_family::{LowerOptions, lower_unit};
use lockstep_ir::verify::verify_module;
use lockstep_ir::{FunctionKind, Language, Module};
use oracle::interp::{Argument, Buffer, Launch, run};
use syntax::c_family::{Dialect, parse_text};

fn module(text: &str, dialect: Dialect, language: Language) -> Module {
    let items = parse_text(text, dialect);
    let lowered = lower_unit(&items, &LowerOptions::new(language));
    let mut modules = lowered.into_iter().map(|(_, lowered)| lowered.module);
    let module = modules
        .find(|module| {
            let function = &module.functions[0];
            function.kind == FunctionKind::Kernel || function.name == "k"
        })
        .expect("an entry point");
    assert_eq!(verify_module(&module), Ok(()), "{text}");
    module
}

/// Returns the numbers behind `statements`, in which `x` is 1, `y` 2, `a` of 3 and 4, `n` 5; `?` where they
/// depend on the seed.
fn left(statements: &str, dialect: Dialect) -> String {
    let (text, language) = match dialect {
        Dialect::C => (
            format!(
                "void k(int* o, int n) {{ int x = 1, y = 2, a[2] = {{3, 4}}; {statements}\n o[0] = x; o[1] = y; o[2] = a[0]; o[3] = a[1]; o[4] = n; }}"
            ),
            Language::C,
        ),
        _ => (
            format!(
                "__global__ void k(int* o, int n) {{ int x = 1, y = 2, a[2] = {{3, 4}}; {statements}\n o[0] = x; o[1] = y; o[2] = a[0]; o[3] = a[1]; o[4] = n; }}"
            ),
            Language::Cuda,
        ),
    };
    let module = module(&text, dialect, language);
    let words = |seed| {
        let mut launch = Launch::new(1);
        launch.seed = seed;
        launch.limits.steps = 100_000;
        launch.buffers = vec![Buffer::of_u32(vec![0; 8])];
        launch.parameters = vec![
            Argument::Pointer {
                buffer: 0,
                offset: 0,
            },
            Argument::Bits(5),
        ];
        let outcome = run(&module, &launch);
        (outcome.error.is_none()).then(|| outcome.buffers[0].words())
    };
    let all: Vec<Vec<u32>> = (0..24).filter_map(words).collect();
    assert!(all.len() > 3, "{statements}");
    let shown = (0..5).map(|at| {
        let first = all[0][at];
        match all.iter().all(|words| words[at] == first) {
            true => (first as i32).to_string(),
            false => "?".to_owned(),
        }
    });
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn what_text_names_is_not_known_behind_it() {
    let mut wrong = Vec::new();
    for (statements, expected) in [
        ("", "1 2 3 4 5"),
        ("x = 7;", "7 2 3 4 5"),
        ("FOR_EACH(i, 3) { x = i; }", "? 2 3 4 5"),
        ("FOR_EACH(i, y) { a[0] = i; }", "1 ? ? 4 5"),
        ("x = @ y;", "? ? 3 4 5"),
        ("asm(\"mov %0, 3;\" : \"=r\"(x));", "? 2 3 4 5"),
        (
            "asm volatile(\"add %0, %1, 3;\" : \"+r\"(y) : \"r\"(x));",
            "1 ? 3 4 5",
        ),
        ("asm(\"nop;\");", "1 2 3 4 5"),
        ("if (unseen() & 1) x = 9;", "? 2 3 4 5"),
        ("if (unseen()) { y = 2; }", "1 2 3 4 5"),
        // It may be a reference that is taken.
        ("x = unseen(y);", "? ? 3 4 5"),
        (
            "switch (unseen() & 3) { case 1: x = 3; break; case 2: y = 4; }",
            "? ? 3 4 5",
        ),
        (
            "while (unseen()) { x = x + 1; if (x > 8) break; }",
            "? 2 3 4 5",
        ),
        (
            "for (int i = 0; i < unseen(); i++) { a[1] = 6; break; }",
            "1 2 3 ? 5",
        ),
        ("Unseen u; u.go(); u.x = 3;", "1 2 3 4 5"),
        ("Unseen u(x); y = u.value;", "? ? 3 4 5"),
        ("auto v = unseen(); y = v;", "1 ? 3 4 5"),
        ("a[unseen() & 1] = 9;", "1 2 ? ? 5"),
        ("x = y ? unseen() : 3;", "? 2 3 4 5"),
        ("x = n ? 4 : unseen();", "4 2 3 4 5"),
        ("(unseen() & 1 ? x : y) = 8;", "? ? 3 4 5"),
        ("goto done; x = unseen(); done:;", "1 2 3 4 5"),
    ] {
        let found = left(statements, Dialect::Cuda);
        if found != expected {
            wrong.push(format!("{statements}: {found}, expected {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_c_hands_over_by_value_stays() {
    for (statements, expected) in [
        ("unseen(x, y);", "1 2 3 4 5"),
        ("x = unseen(x);", "? 2 3 4 5"),
        ("extern int declared(int); y = declared(x);", "1 ? 3 4 5"),
        ("int (*f)(int) = unseen_function; x = f(y);", "? 2 3 4 5"),
        ("memcpy(&x, &y, sizeof x);", "2 2 3 4 5"),
        ("memset(a, 0, sizeof a);", "1 2 0 0 5"),
        ("memset(&y, 1, 2);", "1 257 3 4 5"),
        ("memcpy(a, a + 1, 4);", "1 2 4 4 5"),
    ] {
        let found = left(statements, Dialect::C);
        assert_eq!(found, expected, "{statements}");
    }
}
