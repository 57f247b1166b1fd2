//! Types as they are shown for parameters and variables.

use lockstep_ir::Language;
use lockstep_ir::lower::c_family::{LowerOptions, lower_unit};
use syntax::c_family::{Dialect, parse_text};

/// The texts of the types of the variables `v...` of a function `k`.
fn shown(text: &str, dialect: Dialect, language: Language) -> Vec<String> {
    let items = parse_text(text, dialect);
    for item in &items {
        assert!(item.problems.is_empty(), "{text}: {:?}", item.problems);
    }
    let lowered = lower_unit(&items, &LowerOptions::new(language));
    let mut modules = lowered.into_iter().map(|(_, lowered)| lowered.module);
    let module = modules
        .find(|module| module.functions[0].name == "k")
        .expect("a function");
    let variables = module.functions[0].variables.values();
    let variables = variables.filter(|variable| variable.name.starts_with('v'));
    variables
        .map(|variable| variable.type_text.to_string())
        .collect()
}

#[test]
fn types_are_shown_as_they_are_written() {
    let mut wrong: Vec<String> = Vec::new();
    let c = "struct S { int a; }; union U { int a; }; enum E { A }; typedef struct { int a; } N;";
    for (declaration, expected) in [
        ("int v = 0;", "int"),
        ("unsigned v = 0;", "unsigned int"),
        ("unsigned char v = 0;", "unsigned char"),
        ("signed char v = 0;", "char"),
        ("short v = 0;", "short"),
        ("long long v = 0;", "long long"),
        ("float v = 0;", "float"),
        ("double v = 0;", "double"),
        ("_Bool v = 0;", "bool"),
        ("struct S v = {0};", "struct S"),
        ("union U v = {0};", "union U"),
        ("N v = {0};", "N"),
        ("enum E v = A;", "enum E"),
        ("int v[3] = {0};", "int[3]"),
        ("int v[2][3] = {0};", "int[3][2]"),
        ("int* v = 0;", "int*"),
        ("const int* v = 0;", "const int*"),
        ("struct S** v = 0;", "struct S**"),
        ("int (*v)[3] = 0;", "int[3]*"),
        ("void* v = 0;", "void*"),
    ] {
        let text = format!("{c} void k(void) {{ {declaration} }}");
        let found = shown(&text, Dialect::C, Language::C);
        if found != [expected] {
            wrong.push(format!("{declaration}: {found:?}, expected {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (declaration, expected) in [
        ("float3 v = 0;", "float3"),
        ("uint2 v = 0;", "uint2"),
        ("float4x3 v = 0;", "float4x3"),
        ("int2x2 v = 0;", "int2x2"),
        ("bool4 v = true;", "bool4"),
        ("min16uint v = 0;", "unsigned int"),
        ("float v[4];", "float[4]"),
        ("P v = (P)0;", "P"),
    ] {
        let text = format!("struct P {{ float x; }}; void k() {{ {declaration} }}");
        assert_eq!(
            shown(&text, Dialect::Hlsl, Language::Hlsl),
            [expected],
            "{declaration}"
        );
    }
}
