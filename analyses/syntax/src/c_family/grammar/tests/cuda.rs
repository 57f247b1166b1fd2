//! CUDA C++, one construct a test.

use super::check;
use crate::c_family::Dialect::Cuda;

#[test]
fn variables_in_memory_spaces() {
    check(
        Cuda,
        r##"extern __shared__ float s[]; __shared__ T tile[N][M+1]; __device__ __constant__ float coef[16] = {1.0f, 2};"##,
        &[
            r##"(variables (let shared extern s (array float)))"##,
            r##"(variables (let shared tile (array (array T (+ M 1)) N)))"##,
            r##"(variables (let __device__ __constant__ coef (array float 16) = (list 1.0f 2)))"##,
        ],
    );
}

#[test]
fn launches() {
    check(
        Cuda,
        r##"void h() { k<<<g, b, s, st>>>(a, b); k<float, 4><<<dim3(1,2), (n + 255) / 256>>>(p); ns::k<T><<<1, n >> 2>>>(); }"##,
        &[
            r##"(function void h() {(launch k <<< g b s st >>> a b) (launch k<float, =4> <<< (construct dim3 1 2) (/ (paren (+ n 255)) 256) >>> p) (launch ns::k<?T> <<< 1 (>> n 2) >>>)})"##,
        ],
    );
}

#[test]
fn out_of_class_members() {
    check(
        Cuda,
        r##"template <class T> template <class U> void A<T>::f(U u) const { }"##,
        &[r##"(function template<type T, type U> void A<T>::f(U u) const {})"##],
    );
}

#[test]
fn specialisations() {
    check(
        Cuda,
        r##"template <> struct S<int> { static constexpr int v = 1; }; template <typename T> struct S<T*> : B<T>, public C { };"##,
        &[
            r##"(struct template<> S<int> (let static constexpr v int = 1))"##,
            r##"(struct template<type T> S<(* T)> :B<T> :C)"##,
        ],
    );
}

#[test]
fn members() {
    check(
        Cuda,
        r##"struct P { float x, y; P() = default; __host__ __device__ P(float a) : x(a), y{0} {} ~P(); P& operator+=(const P& o) { x += o.x; return *this; } operator float() const { return x; } bool operator()(int a, int b) const; float operator[](int i) const { return (&x)[i]; } friend P operator*(P a, P b); template<class T> T get() const; unsigned a : 3, b : 5; union { int i; float f; }; enum E { A, B = 2 }; using V = float4; static int count; virtual void v() = 0; };"##,
        &[
            r##"(struct P (let x float, y float) (function void constructor:P() default) (function __device__ __host__ void constructor:P(float a) (init x a) (init y 0) {}) (function void destructor:P()) (function (& P) operator+=((& const P) o) {(+= x (. o x)) (return (* this))}) (function float conversion() const {(return x)}) (function bool operator()(int a, int b) const) (function float operator[](int i) const {(return (index (paren (& x)) i))}) (function friend P operator*(P a, P b)) (function template<type T> T get() const) (let a unsigned-int bits:3, b unsigned-int bits:5) (let _ (union _ (let i int) (let f float))) (enum E A B=2) (alias V float4) (let static count int) (function virtual void v()))"##,
        ],
    );
}

#[test]
fn lambdas_and_loops() {
    check(
        Cuda,
        r##"void f() { auto l = [=, &x, y = z + 1] __device__ (int i) mutable -> int { return i; }; auto [a, b] = pair; for (auto& v : vec) sum += v; for (int i = 0, j = 1; i < n; ++i, --j) ; if constexpr (N > 1) { } else if (auto p = f(); p) { } }"##,
        &[
            r##"(function void f() {(let l auto = (lambda [= &x y=(+ z 1)] __device__ (int i) -> int mutable {(return i)})) (let [a b] auto = pair) (for-range (let v (& auto)) vec (+= sum v)) (for (let i int = 0, j int = 1); (< i n); (, (++_ i) (--_ j)) (empty)) (if-constexpr (> N 1) {} else (if (let p auto = (call f)); p {}))})"##,
        ],
    );
}

#[test]
fn inline_assembly() {
    check(
        Cuda,
        r##"void f() { asm volatile ("mov.u32 %0, %%laneid;" : "=r"(x) : "r"(y), "l"(p + 1) : "memory", "cc"); asm("bar.sync 0;"); asm volatile("x" ::: "memory"); }"##,
        &[
            r##"(function void f() {(asm-volatile "mov.u32 %0, %%laneid;" (out "=r" x) (in "r" y) (in "l" (+ p 1)) "memory" "cc") (asm "bar.sync 0;") (asm-volatile "x" "memory")})"##,
        ],
    );
}

#[test]
fn declaration_or_expression() {
    check(
        Cuda,
        r##"void f() { Foo<T> x(a); thrust::device_vector<float> v; cg::thread_block b = cg::this_thread_block(); a * b; T* p = q; x = (float)y * 2; z = (Foo)(w); u = (a) - b; v = (uint32_t)-1; foo<4>(x); a < b; a < b && c > d; f(a < b, c > d); i = a<b>(c); unsigned long long int q; long unsigned w2; short s3; signed char c; }"##,
        &[
            r##"(function void f() {(let x Foo<?T> (paren a)) (let v thrust::device_vector<float>) (let b cg::thread_block = (call cg::this_thread_block)) (let b (* a)) (let p (* T) = q) (= x (* (cast float y) 2)) (= z (call (paren Foo) w)) (= u (- (paren a) b)) (= v (cast uint32_t (- 1))) (call foo<=4> x) (< a b) (let d a<=(&& b c)>) (call f (< a b) (> c d)) (= i (call a<?b> c)) (let q unsigned-long-long) (let w2 unsigned-long) (let s3 short) (let c signed-char)})"##,
        ],
    );
}

#[test]
fn declarators_and_control() {
    check(
        Cuda,
        r##"void f() { int (*fp)(int, float) = g; int (&r)[4] = a; float* a[3]; float (*m)[4]; void (*tab[2])(void); P p = {.x = 1, .y = {2, 3}}; P q{1, 2}; int z = ({ int t = 1; t + 1; }); goto end; end: ; switch (x) { case 1: case 2 ... 5: break; default: y(); } do { x--; } while (x > 0); }"##,
        &[
            r##"(function void f() {(let fp (fn int int float) = g) (let r (& (array int 4)) = a) (let a (array (* float) 3)) (let m (* (array float 4))) (let tab (array (fn void) 2)) (let p P = (list .x=1 .y=(list 2 3))) (let q P (brace 1 2)) (let z int = (statement {(let t int = 1) (+ t 1)})) (goto end) (label end) (empty) (switch x {(case 1) (case 2 ... 5) (break) (default) (call y)}) (do {(_-- x)} (> x 0))})"##,
        ],
    );
}

#[test]
fn packs_and_folds() {
    check(
        Cuda,
        r##"template <typename... Ts> int sum(Ts... xs) { g(xs...); g(h(xs)...); return (xs + ... + 0) + (... + xs) + sizeof...(Ts); }"##,
        &[
            r##"(function template<type... Ts> int sum(Ts... xs) {(call g (... xs)) (call g (... (call h xs))) (return (+ (+ (paren (fold-right + xs 0)) (paren (fold-left + xs))) (sizeof... Ts)))})"##,
        ],
    );
}

#[test]
fn unknown_macros_in_front() {
    check(
        Cuda,
        r##"FOO_API void f1(); FOO_INLINE float g1(int x) { return x; } TEST(A, B) { int x = 1; } API(x) int h1(); FOO_DEVICE __global__ void k1() {}"##,
        &[
            r##"(function @FOO_API void f1())"##,
            r##"(function @FOO_INLINE float g1(int x) {(return x)})"##,
            r##"(function (unknown) TEST(A, B) {(let x int = 1)})"##,
            r##"(function @API int h1())"##,
            r##"(function __global__ @FOO_DEVICE void k1() {})"##,
        ],
    );
}

#[test]
fn aliases_and_scopes() {
    check(
        Cuda,
        r##"typedef struct { int a; } S1; typedef struct N_ N1; typedef int (*fn)(int); typedef float vec[4]; using X = unsigned int; enum class C : uint8_t { A = 1 << 2, B }; namespace al = a::b; using namespace std; using a::b; template __global__ void kk<float>(float*); static_assert(sizeof(int) == 4, "x"); struct fw; extern "C" int g2;"##,
        &[
            r##"(alias S1 (struct _ (let a int)))"##,
            r##"(alias N1 N_)"##,
            r##"(alias fn (fn int int))"##,
            r##"(alias vec (array float 4))"##,
            r##"(alias X unsigned-int)"##,
            r##"(enum-class C :uint8_t A=(<< 1 2) B)"##,
            r##"(namespace-alias al a::b)"##,
            r##"(using-namespace std)"##,
            r##"(using a::b)"##,
            r##"(instantiate-function kk<float>)"##,
            r##"(static-assert)"##,
            r##"(nothing)"##,
            r##"(variables (let extern g2 int))"##,
        ],
    );
}

#[test]
fn nested_template_closers() {
    check(
        Cuda,
        r##"std::vector<std::vector<int>> f() { std::vector<std::pair<int, float>> v; A<B<(1 > 2)>> c; x = y >> 2; return v; }"##,
        &[
            r##"(function std::vector<std::vector<int>> f() {(let v std::vector<std::pair<int, float>>) (let c A<B<=(paren (> 1 2))>>) (= x (>> y 2)) (return v)})"##,
        ],
    );
}

#[test]
fn parameters_and_directive_in_text() {
    check(
        Cuda,
        r##"__global__ void k(const float* __restrict__ a, float4 const* b, int n = 3, ...) { #pragma unroll 4
 for (;;) {} }"##,
        &[
            r##"(function __global__ void k(restrict (* const float) a, (* const float4) b, int n = 3, ...) {(unknown)})"##,
            r##"! Syntax: expected an expression, found `#`"##,
        ],
    );
}

#[test]
fn unroll_pragmas() {
    check(
        Cuda,
        r##"__global__ void k() {
#pragma unroll
 for (int i = 0; i < 4; i++) a[i] = 0;
#pragma unroll N * 2
 while (x) { }
 MY_UNROLL for (;;) break;
 CHECK(x)
 return;
}"##,
        &[
            r##"(function __global__ void k() { @unroll (for (let i int = 0); (< i 4); (_++ i) (= (index a i) 0))  @unroll((* N 2)) (while x {})  @MY_UNROLL (for _; _; _ (break)) (call CHECK x) (return)})"##,
        ],
    );
}

#[test]
fn trailing_return_and_casts() {
    check(
        Cuda,
        r##"auto f(int a) -> decltype(a + 1) { return static_cast<unsigned>(a) + reinterpret_cast<T*>(p)[1] + sizeof(int) * 2 + sizeof x + sizeof(x) + alignof(T) + (int)sizeof(float4); }"##,
        &[
            r##"(function (decltype (+ a 1)) f(int a) {(return (+ (+ (+ (+ (+ (+ (static_cast unsigned-int a) (index (reinterpret_cast (* T) p) 1)) (* (sizeof-type int) 2)) (sizeof x)) (sizeof (paren x))) (alignof T)) (cast int (sizeof-type float4))))})"##,
        ],
    );
}

#[test]
fn precedence() {
    check(
        Cuda,
        r##"int a = b ? c : d ? e : f, g = (1, 2); int h = -x * ~y + !z - *p & &q ^ r | s; bool t = a && b || c == d != e <= f; int u = a++ + ++b - c-- - --d;"##,
        &[
            r##"(variables (let a int = (? b c (? d e f)), g int = (paren (, 1 2))))"##,
            r##"(variables (let h int = (| (^ (& (- (+ (* (- x) (~ y)) (! z)) (* p)) (& q)) r) s)))"##,
            r##"(variables (let t bool = (|| (&& a b) (!= (== c d) (<= e f)))))"##,
            r##"(variables (let u int = (- (- (+ (_++ a) (++_ b)) (_-- c)) (--_ d))))"##,
        ],
    );
}

#[test]
fn template_parameters() {
    check(
        Cuda,
        r##"template <int N, bool B = (N > 4), template <class> class Q = X, typename T = float, class... R> requires C<T> && (N > 1) __global__ void k(T t) { }"##,
        &[
            r##"(function template<int N, bool B=(paren (> N 4)), template Q=X, type T=float, type... R> __global__ void k(T t) {})"##,
        ],
    );
}

#[test]
fn template_parameters_that_are_pointers() {
    check(
        Cuda,
        r##"template <typename T, T(*F)(), bool (T::*)(int) const noexcept, int T::*M, void (&R)(int*)> struct S { T x; }; template <REQUIRES(1)> void f();"##,
        &[
            r##"(struct template<type T, (fn T) F, (member-pointer) _, (member-pointer) M, (fn void (* int)) R> S (let x T))"##,
            r##"(function template<(unknown) _> void f())"##,
        ],
    );
}

#[test]
fn class_heads() {
    check(
        Cuda,
        r##"struct alignas(16) A1 { int x; }; struct __align__(8) B1 { int y; }; class EXPORT C1 final : public A1 { public: int z; private: C1(const C1&) = delete; };"##,
        &[
            r##"(struct A1 @align(16) (let x int))"##,
            r##"(struct B1 @align(8) (let y int))"##,
            r##"(class C1 :A1 (let z int) (function void constructor:C1((& const C1)) delete))"##,
        ],
    );
}

#[test]
fn postfix_and_allocation() {
    check(
        Cuda,
        r##"void f() { new int[4]; delete[] p; throw 1; try { g(); } catch (...) { } x->y.z(1)[2]->w++; a.b<int>(3); a.template c<4>(); A::B::c(); ::d(); this->e; p->~T(); a.operator+(b); }"##,
        &[
            r##"(function void f() {(new (array int 4)) (delete p) (throw) (perhaps {(call g)} {}) (_++ (-> (index (call (. (-> x y) z) 1) 2) w)) (call (. a b<int>) 3) (call (. a c<=4>)) (call A::B::c) (call ::d) (-> this e) (call (-> p ~T)) (call (. a operator+) b)})"##,
            r##"! Unsupported: exceptions are not understood"##,
        ],
    );
}

#[test]
fn branches() {
    check(
        Cuda,
        r##"void f() { if (x) y(); else if (z) { w(); } else v(); while (int i = next()) { } for (;;) ; { } ; return; }"##,
        &[
            r##"(function void f() {(if x (call y) else (if z {(call w)} else (call v))) (while (let i int = (call next)) {}) (for _; _; _ (empty)) {} (empty) (return)})"##,
        ],
    );
}

#[test]
fn parameter_declarators() {
    check(
        Cuda,
        r##"int f(int a[], int (*g)(int), int (&h)[3], void (*)(int), const char *const *argv, T&& t, Ts&&... ts);"##,
        &[
            r##"(function int f((array int) a, (fn int int) g, (& (array int 3)) h, (fn void int), (* const (* const char)) argv, (&& T) t, (&& Ts)... ts))"##,
        ],
    );
}

#[test]
fn literals() {
    check(
        Cuda,
        r##"float x1 = 1.5f, x2 = .5, x3 = 1e-3, x4 = 0x1.8p1, x5 = 1.f; int y1 = 0xFFu, y2 = 017, y3 = 0b101, y4 = 1'000ull, y5 = 'a', y6 = L'b'; const char* s9 = "a" "b\n"; auto u9 = 12_km;"##,
        &[
            r##"(variables (let x1 float = 1.5f, x2 float = 0.5, x3 float = 0.001, x4 float = 3.0, x5 float = 1.0f))"##,
            r##"(variables (let y1 int = 255u, y2 int = 15, y3 int = 5, y4 int = 1000ull, y5 int = '97', y6 int = '98'))"##,
            r##"(variables (let s9 (* const char) = "ab\n"))"##,
            r##"(variables (let u9 auto = 12))"##,
        ],
    );
}
