//! Shapes that real code has and that were once misread.

use super::check;
use crate::c_family::Dialect::{Cuda, Hlsl};

#[test]
fn folds_and_macro_parameters() {
    check(
        Cuda,
        r##"template <class T, REQUIRES(a == 1 || b)> API decltype(auto) f(T const&, U&& t) { (g(static_cast<decltype(t)&&>(t)), ...); (t += ... += xs); (... , h(xs)); }"##,
        &[
            r##"(function template<type T, (unknown) _> @API (decltype (unknown)) f((& const T), (&& U) t) {(paren (... (call g (static_cast (&& (decltype t)) t)))) (paren (unknown)) (paren (... (call h xs)))})"##,
            r##"! Unsupported: a fold over an assignment"##,
        ],
    );
}

#[test]
fn members_behind_macros() {
    check(
        Cuda,
        r##"struct S { API Storage const * data() const { return p; } explicit S<T, D>(float x) { } S& set(_In_ Foo* a, _Out_opt_ const Bar* b = nullptr); Vec get() { return Vec{
  1, 2
  }; } using P = State<R ? A : B>; void *CALLBACK w(int); };"##,
        &[
            r##"(struct S (function @API (* const Storage) data() const {(return p)}) (function explicit void constructor:S<?T, ?D>(float x) {}) (function (& S) set(@_In_ (* Foo) a, @_Out_opt_ (* const Bar) b = nullptr)) (function Vec get() {(return (construct{} Vec 1 2))}) (alias P State<=(? R A B)>) (function (* void) w(int)))"##,
        ],
    );
}

#[test]
fn macros_in_front_of_templates() {
    check(
        Cuda,
        r##"API
template <>
int dot(Array<char, 4> const &a) { op<T, int(sizeof(T))>(a); if (x) {} else if constexpr (get<0>(A{}) == B{} && C{}.d) { } if (auto p = F{1}) { } FOREVER { x(); } }"##,
        &[
            r##"(function template<> int dot((& const Array<char, =4>) a) {(call op<?T, =(construct int (sizeof (paren T)))> a) (if x {} else (if-constexpr (&& (== (call get<=0> (construct{} A)) (construct{} B)) (. (construct{} C) d)) {})) (if (let p auto = (construct{} F 1)) {}) (perhaps {(call x)})})"##,
            r##"! Unsupported: this looks like a macro whose definition is not known"##,
        ],
    );
}

#[test]
fn values_in_template_arguments() {
    check(
        Cuda,
        r##"std::function<void(int, float)> cb; template <auto t> bool_constant<R<a,b>::num == R<x,y>::num && R<a>::d == 1> operator==(R<a>, R<x>) { return {}; }"##,
        &[
            r##"(variables (let cb std::function<(fn void int float)>))"##,
            r##"(function template<auto t> bool_constant<=(&& (== R<?a, ?b>::num R<?x, ?y>::num) (== R<?a>::d 1))> operator==(R<?a>, R<?x>) {(return (list))})"##,
        ],
    );
}

#[test]
fn constructors_or_parameters() {
    check(
        Cuda,
        r##"void f() { dim3 g(M * N, 1), b(256); Foo bar(a * b); T x(int y); std::vector<float> D(M * N, 0.0f); auto s = get<decltype(i)::value>(l); using A = typename decltype(t)::value_type; B<is_same_v<X, Y> ||is_same_v<X, Z>> c; x = sizeof_v<T> / 2; asm volatile("x" ::"r"(a) "l"(b) : "memory"); k << < 1, 2 >> > (a); }"##,
        &[
            r##"(function void f() {(let g dim3 (paren (* M N) 1), b dim3 (paren 256)) (let bar Foo (paren (* a b))) (let x (fn T int)) (let D std::vector<float> (paren (* M N) 0.0f)) (let s auto = (call get<=decltype::value> l)) (alias A decltype::value_type) (let c B<=(|| is_same_v<?X, ?Y> is_same_v<?X, ?Z>)>) (= x (/ sizeof_v<?T> 2)) (asm-volatile "x" (in "r" a) (in "l" b) "memory") (launch k <<< 1 2 >>> a)})"##,
        ],
    );
}

#[test]
fn words_of_hlsl() {
    check(
        Hlsl,
        r##"void f() { unsigned int2 a = (unsigned int3)b; const float x = 1; int arr[2][3] = {{1,2,3},{4,5,6}}; if (any(a < b)) return; for (uint i = 0, n = 4; i < n && !done; ++i) { } while (i-- > 0) continue; }
float4 a(float4 b : A) : B { float c = b.x < 0 ? -1 : 1, d; return c > d; }"##,
        &[
            r##"(function void f() {(let a uint2 = (cast uint3 b)) (let x const float = 1) (let arr (array (array int 3) 2) = (list (list 1 2 3) (list 4 5 6))) (if (call any (< a b)) (return)) (for (let i uint = 0, n uint = 4); (&& (< i n) (! done)); (++_ i) {}) (while (> (_-- i) 0) (continue))})"##,
            r##"(function float4 a(float4 b :A) :B {(let c float = (? (< (. b x) 0) (- 1) 1), d float) (return (> c d))})"##,
        ],
    );
}
