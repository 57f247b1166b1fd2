//! Broken text: the problems, the place where parsing goes on, and the parts that survive.

use super::check;
use crate::c_family::Dialect::{Cuda, Hlsl};

#[test]
fn a_missing_semicolon() {
    check(
        Cuda,
        r##"__global__ void k(int* a) { int i = threadIdx.x a[i] = 1; b[i] = 2; }"##,
        &[
            r##"(function __global__ void k((* int) a) {(let i int = (. threadIdx x)) (= (index b i) 2)})"##,
            r##"! Syntax: expected `;`"##,
        ],
    );
}

#[test]
fn missing_operands() {
    check(
        Cuda,
        r##"__global__ void k(int* a) { int x = ; a[0] = (1 + ; if (x { a[1] = 2; } a[2] = 3; }"##,
        &[
            r##"(function __global__ void k((* int) a) {(let x int = (unknown)) (= (index a 0) (paren (+ 1 (unknown)))) (if x {(= (index a 1) 2)}) (= (index a 2) 3)})"##,
            r##"! Syntax: expected an expression, found `;`"##,
            r##"! Syntax: expected an expression, found `;`"##,
            r##"! Syntax: expected `)`, found `{`"##,
        ],
    );
}

#[test]
fn missing_operands_and_brackets() {
    check(
        Cuda,
        r##"void f() { x = 1 +; y = 2; } void g() { foo(1, , 2); bar(3; z = 4; } void h() { ok(); }"##,
        &[
            r##"(function void f() {(= x (+ 1 (unknown))) (= y 2)})"##,
            r##"! Syntax: expected an expression, found `;`"##,
            r##"(function void g() {(call foo 1 (unknown) 2) (call bar 3) (= z 4)})"##,
            r##"! Syntax: expected an expression, found `,`"##,
            r##"! Syntax: expected `)`, found `;`"##,
            r##"(function void h() {(call ok)})"##,
        ],
    );
}

#[test]
fn broken_members() {
    check(
        Cuda,
        r##"struct S { int a int b; void f( { } float c; }; int after;"##,
        &[
            r##"(struct S (let a int) (function void f((unknown)) {}) (let c float))"##,
            r##"! Syntax: expected `;`"##,
            r##"! Syntax: expected a parameter's type, found `{`"##,
            r##"(variables (let after int))"##,
        ],
    );
}

#[test]
fn unclosed_parameters() {
    check(
        Cuda,
        r##"__global__ void k( { int i; } __global__ void ok() { }"##,
        &[
            r##"(function __global__ void k((unknown)) {(let i int)})"##,
            r##"! Syntax: expected a parameter's type, found `{`"##,
            r##"! Syntax: this is not part of the declaration before it"##,
        ],
    );
}

#[test]
fn unknown_statement_macros() {
    check(
        Cuda,
        r##"void f() { FOREACH(i, n) { a[i] = 0; } else { } case 3: } }"##,
        &[
            r##"(function void f() {(perhaps {(= (index a i) 0)} {}) (case 3)})"##,
            r##"! Unsupported: this looks like a macro whose definition is not known"##,
        ],
    );
}

#[test]
fn stray_characters() {
    check(
        Cuda,
        r##"int x = @; int y = 3; $foo; %%% int z;"##,
        &[
            r##"(variables (let x int = (unknown)))"##,
            r##"! Syntax: expected an expression, found `@`"##,
            r##"(variables (let y int = 3))"##,
            r##"(nothing)"##,
            r##"(unknown)"##,
            r##"! Syntax: expected a declaration, found `%`"##,
        ],
    );
}

#[test]
fn unclosed_calls() {
    check(
        Hlsl,
        r##"float4 main() : SV_Target { float4 a = float4(1,2; return a; } cbuffer C { float x } float y;"##,
        &[
            r##"(function float4 main() :SV_Target {(let a float4 = (construct float4 1 2)) (return a)})"##,
            r##"! Syntax: expected `)`, found `;`"##,
            r##"(cbuffer C (let x float))"##,
            r##"! Syntax: expected `;`"##,
            r##"(variables (let y float))"##,
        ],
    );
}

#[test]
fn unclosed_parameters_in_hlsl() {
    check(
        Hlsl,
        r##"float f( { return 1; }
float g() { return 2; }"##,
        &[
            r##"(function float f((unknown)) {(return 1)})"##,
            r##"! Syntax: expected a parameter's type, found `{`"##,
            r##"(function float g() {(return 2)})"##,
        ],
    );
}

#[test]
fn unclosed_template_parameters() {
    check(
        Cuda,
        r##"template <typename T __global__ void k(T x) { } template <int N> void ok() { }"##,
        &[
            r##"(unknown)"##,
            r##"! Syntax: expected `,` or `>`, found `void`"##,
            r##"! Syntax: expected `>`, found `the end of the declaration`"##,
            r##"(function template<int N> void ok() {})"##,
        ],
    );
}

#[test]
fn unfinished_members_and_indices() {
    check(
        Cuda,
        r##"void f() { a.; b->; c[; ]; d(; }"##,
        &[
            r##"(function void f() {(unknown) (unknown) (index c (unknown)) (unknown) (call d (unknown))})"##,
            r##"! Syntax: expected a member's name, found `;`"##,
            r##"! Syntax: expected a member's name, found `;`"##,
            r##"! Syntax: expected an expression, found `;`"##,
            r##"! Syntax: expected an expression, found `]`"##,
            r##"! Syntax: expected an expression, found `;`"##,
        ],
    );
}

#[test]
fn broken_heads() {
    check(
        Cuda,
        r##"void f() { for (int i = 0; i < n i++) { x(); } while () { } do { } if (a) else b(); switch { } }"##,
        &[
            r##"(function void f() {(for (let i int = 0); (< i n); (_++ i) {(call x)}) (while (unknown) {}) (unknown) (if a (unknown)) (switch (unknown) {})})"##,
            r##"! Syntax: expected `;`, found `i`"##,
            r##"! Syntax: expected an expression, found `)`"##,
            r##"! Syntax: expected `while`, found `if`"##,
            r##"! Syntax: `else` without `if`"##,
            r##"! Syntax: expected `(`, found `{`"##,
        ],
    );
}
