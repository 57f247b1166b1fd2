// C++ as CUDA has it, a function a construct: the comment behind each says what it is for k = 0, 1, 2, 5, as a host's compiler of C++ has it.
struct Pair { int a, b; };
struct Outer { struct { int x, y; } in; struct Deep { short s; struct { char c; } leaf; }; Deep deep[2]; };
typedef struct { int u; struct { int v; struct Tail { int w; Tail* next; } tail; } mid; } Named;
union Word { int whole; unsigned char bytes[4]; struct { short lo, hi; } half; float real; };
enum Plain { P0, P1 = 5, P2, P3 = -2, P4 };
enum class Scoped : unsigned char { S0 = 250, S1, S2 };
namespace outer { __device__ constexpr int seven = 7; namespace inner { __device__ int twice(int x) { return 2 * x + seven; } } using inner::twice; }
namespace alias = outer::inner;
template <class T> struct Vec { T v[3]; __device__ T& operator[](int i) { return v[i]; } __device__ const T& operator[](int i) const { return v[i]; } __device__ T sum() const { return v[0] + v[1] + v[2]; } };
template <class T, int N> struct Ring { T at[N]; int head = 0; static constexpr int length = N; __device__ void push(T x) { at[head % N] = x; ++head; } template <class U> __device__ U fold(U start) const { for (int i = 0; i < N; ++i) start = start * 3 + at[i]; return start; } };
template <int N> struct Factorial { static constexpr int value = N * Factorial<N - 1>::value; };
template <> struct Factorial<0> { static constexpr int value = 1; };
template <class T> struct Size { static constexpr int bits = 8 * sizeof(T); };
template <class T> struct Size<T*> { static constexpr int bits = -1; };
template <class A, class B> struct Same { static constexpr bool value = false; };
template <class A> struct Same<A, A> { static constexpr bool value = true; };
struct Base { int n; __device__ Base(int n) : n(n) {} __device__ int get() const { return n; } __device__ int twice() const { return 2 * get(); } };
struct Derived : Base { int m; __device__ Derived(int n, int m = 4) : Base(n + 1), m(m) {} __device__ int get() const { return n * 10 + m; } using Base::twice; };
struct Both : Base, Pair { __device__ Both(int k) : Base(k), Pair{k + 1, k + 2} {} };
struct Complex { float re, im; __device__ Complex operator+(Complex o) const { return {re + o.re, im + o.im}; } __device__ Complex& operator*=(float s) { re *= s; im *= s; return *this; } __device__ friend Complex operator-(Complex a, Complex b) { return Complex{a.re - b.re, a.im - b.im}; } __device__ explicit operator bool() const { return re != 0; } __device__ operator int() const { return (int)re; } __device__ Complex operator-() const { return {-re, -im}; } __device__ Complex operator++(int) { Complex old = *this; re += 1; return old; } __device__ Complex& operator++() { re += 1; return *this; } __device__ float operator()(float x) const { return re * x + im; } };
struct Guard { int* at; __device__ Guard(int* at) : at(at) { *at += 100; } __device__ ~Guard() { *at += 7; } };
__device__ int over(int x) { return x + 1; }
__device__ int over(unsigned x) { return x + 2; }
__device__ int over(float x) { return (int)(x * 4); }
__device__ int over(double x) { return (int)(x * 8); }
__device__ int over(const char* x) { return 77; }
template <class T> __device__ int over(T* x) { return (int)*x * 16; }
__device__ void swap(int& a, int& b) { int t = a; a = b; b = t; }
__device__ int defaults(int a, int b = 3, int c = 5) { return a * 100 + b * 10 + c; }
__device__ void out(int k, int* a, int& b, const int& c) { *a = k + c; b = *a * 2; }
template <class T> __device__ T largest(T a, T b) { return a < b ? b : a; }
template <class T, class... R> __device__ T largest(T a, T b, R... r) { return largest(largest(a, b), r...); }
template <class... A> __device__ int count(A...) { return sizeof...(A); }
template <class... A> __device__ int folded(A... a) { return (a + ...) * 2 + (0 + ... + (a * a)); }
template <class F> __device__ int apply(F f, int n) { int s = 0; for (int i = 0; i < n; ++i) s = s * 2 + f(i); return s; }
template <int N> __device__ int unrolled(const int* a) { if constexpr (N == 0) return 0; else return a[N - 1] + 3 * unrolled<N - 1>(a); }
__device__ auto deduced(int k) { return k * 1.5f; }
__device__ int early(int k) { for (int i = 0;; ++i) { if (i * i >= k) return i; if (i > 50) return -1; } }
__device__ int gcd(int a, int b) { while (b) { int t = a % b; a = b; b = t; } return a; }
constexpr __device__ int cube(int x) { return x * x * x; }

__device__ int t_promotion(int k) { unsigned char a = 200; signed char b = -100; short c = -1; unsigned short d = 65535; unsigned u = 3; return (a + a) + b * 2 + (c < d) + (c == d) * 2 + (k - u > 0) * 4 + (a << k) + (b >> 1) + ~a + (unsigned char)(a + 100) + (char)(a + k); } // 142 343 744 6347
__device__ int t_conversion(int k) { float f = k * 1.75f - 3; double g = f * 1e3; unsigned u = (unsigned)(k * 7e8); long long w = (long long)(k * 1e12); bool b = f; return (int)f + (int)g + (int)(u >> 20) + (int)(w >> 30) + b * 1000 + (int)(short)w + (int)-2.9f + (int)(float)(k + 16777216) % 1000; } // -1789 5657 13105 35446
__device__ int t_wide(int k) { unsigned long long a = 0x123456789abcdefull * (k + 1); long long b = -(long long)a; return (int)(a >> 35) + (int)(b >> 40) + (int)(a % 1000003) + (int)(b / 1000000007) + (int)(a * b >> 20) + (a > (unsigned long long)b) + (int)(a ^ a >> 7) % 1000; } // -1658227147 2114097916 -1565924121 -1493506947
__device__ int t_shift(int k) { int n = -77 << k; unsigned u = n; return (n >> 2) + (int)(u >> 3) + (1 << k) + (int)((1ull << (30 + k)) >> 28) + ((n >> k) & 15) + (k ^ 5) + (k | 8) + (~k & 6); } // 536870909 536870885 536870840 536870166
__device__ int t_division(int k) { int a = -17 + k, b = k - 3; unsigned u = a; if (b == 0) b = 5; return a / b * 100 + a % b * 10 + (int)(u / 7u % 1000) + (int)(u % 9u) + (-7 / 2) + (-7 % 3) + (7 % -3); } // 1236 1557 2258 152
__device__ int t_compare(int k) { float n = 0.0f / (k - k); return (k < 2) + (k <= 2) * 2 + (k > 1) * 4 + (k >= 1) * 8 + (k == 5) * 16 + (k != 0) * 32 + (n == n) * 64 + (n != n) * 128 + (n < 1) * 256 + !(n >= 1) * 512 + (-1 < 1u) * 1024 + (-1ll < 1u) * 2048; } // 2691 2731 2734 2748
__device__ int t_logic(int k) { int s = 0; bool a = k && (s += 1), b = k > 1 || (s += 10), c = !k == (k < 1); return s * 8 + a + b * 2 + c * 4 + (k > 0 ? s : -s) + (a & b) * 1000 + (a ^ b) * 2000; } // 2076 1106 1016 1016
__device__ int t_assign(int k) { int a = k, b = a++; b += ++a; a += b; b -= a; a *= 3; b <<= 2; a |= 64; b ^= 9; a %= 41; b &= 0xff; b /= 3; a >>= 1; int c = (a = b, b + 1); int d = k--; d -= --k; return a * 1000 + b * 10 + c + d; } // 80883 84927 83916 79872
__device__ int t_loops(int k) { int s = 0; for (int i = 0, j = 9; i < j; ++i, --j) { if (i == k) continue; if (j == k) break; s += i * j; } while (s > 50) s -= 7; do s += 3; while (s % 5); for (int x : {1, 2, k}) s = s * 2 + x; int odd[3] = {3, 5, k}; for (const int& x : odd) s += x; return s; } // 456 498 460 466
__device__ int t_goto(int k) { int s = 0, i = 0; again: s += i; if (++i <= k) goto again; for (int a = 0; a < 4; ++a) { for (int b = 0; b < 4; ++b) { if (a * b == k) goto done; s += 10; } if (a == 3) goto late; } s += 1000; late: s += 500; done: return s; } // 0 51 63 675
__device__ int t_switch(int k) { int s = 0; for (int i = -1; i <= k; ++i) switch (i) { case -1: s += 1; break; case 0: case 1: s += 10; { case 2: s += 100; } break; default: s += 1000; case 7: s += 3; } switch ((unsigned char)(k + 255)) { case 255: s += 5; break; case 4: s += 50000; } switch (static_cast<Scoped>(250 + k % 3)) { case Scoped::S0: s += 1; break; case Scoped::S1: s += 2; break; case Scoped::S2: return s; } return -s; } // -117 -223 321 53330
__device__ int t_enum(int k) { Plain p = k > 1 ? P2 : P4; Scoped s = Scoped::S1; auto e = static_cast<int>(s) + k; return p * 1000 + e + P3 + (s == Scoped::S1) * 7 + (p < P1) + sizeof(Scoped) * 50 + sizeof(Plain) * 300; } // 507 508 7508 7511
__device__ int t_structure(int k) { Pair p{k, 2}, q = p, r = {}; q.b += k; Pair* at = k > 1 ? &p : &q; at->a = 40; r = *at; r.b *= 3; (k ? p : q).b = 9; return p.a + p.b * 10 + q.a * 100 + q.b * 1000 + r.a * 5 + r.b; } // 13226 7300 4536 7836
__device__ int t_nested(int k) { Outer o = {{k, 2}, {{3, {4}}, {5, {6}}}}; o.deep[k & 1].leaf.c += k; o.deep[1].s -= 2; Outer c = o; c.in.x = 9; Outer::Deep d = c.deep[k & 1]; return o.in.x + o.in.y * 10 + d.s * 100 + d.leaf.c * 1000 + c.in.x + sizeof(Outer) + sizeof(Outer::Deep) * 3; } // 4357 7358 6359 11362
__device__ int t_unnamed(int k) { Named n = {k, {2, {3, nullptr}}}; n.mid.tail.next = &n.mid.tail; n.mid.tail.next->w += k; n.mid.v *= 4; return n.u + n.mid.v * 10 + n.mid.tail.w * 100 + sizeof(n.mid); } // 404 505 606 909
__device__ int t_union(int k) { Word w; w.whole = 0x01020304 * (k + 1); w.bytes[k & 3] = 9; w.half.hi ^= 5; Word f; f.real = 1.5f + k; return w.whole + w.half.lo + w.bytes[1] + (f.whole >> 16); } // 17253845 33641017 51139201 101274377
__device__ int t_array(int k) { int a[2][3] = {{1, 2}, {k}}; int b[] = {k, k + 1, [=] { return k * 2; }()}; int* p = &a[1][0]; p[1] = 8; *(p + 2) = 9; int (*row)[3] = a + 1; a[0][2] = (*row)[1] + row[0][2]; return a[0][0] + a[0][2] * 10 + a[1][0] * 100 + *(*(a + 1) + 2) + b[k % 3] * 1000 + (int)(&a[1][2] - &a[0][1]) + sizeof(b) / sizeof *b; } // 187 2287 4387 10687
__device__ int t_pointer(int k) { int x = k, y = 3, *p = &x, **q = &p; **q += 5; *q = &y; *p *= 2; int& r = *p; r += k; int table[5] = {2, 3, 5, 7, 11}; const int* t = table + k % 5; unsigned char* c = reinterpret_cast<unsigned char*>(&x); return x * 100 + y + *t * 1000 + (t - table) + (p == &y) * 7 + c[0] + c[3] + (t != nullptr) * 9; } // 2527 3630 5733 3037
__device__ int t_reference(int k) { int a = k, b = 9; swap(a, b); int c, d; out(a, &c, d, b); const int& e = k > 1 ? a : b; a += 50; return a + b * 10 + c * 100 + d * 1000 + e; } // 18959 21070 23238 29568
__device__ int t_defaults(int k) { return defaults(k) + defaults(k, 1) * 2 + defaults(1, k, 2) * 3; } // 371 701 1031 2021
__device__ int t_overload(int k) { float f = k + 0.5f; double d = f; unsigned u = k; short s = k; unsigned char c = k; return over(k) + over(u) * 10 + over(f) * 100 + over(d) * 1000 + over(s) * 7 + over(c) * 13 + over("z") + over(&f) * 3 + over(&k) * 5; } // 4318 12877 21436 47113
__device__ int t_template(int k) { Vec<int> v = {{k, 2, 3}}; v[1] += k; Vec<float> f = {{0.5f, 1.5f, (float)k}}; const Vec<int>& c = v; return v.sum() * 100 + (int)(f.sum() * 2) + c[1] + largest(k, 3) * 1000 + largest(1, k, 4, 2) * 7 + (int)largest(0.5f, k * 1.0f) + largest<short>(70000, k); } // 7998 8202 8406 11025
__device__ int t_ring(int k) { Ring<short, 4> r = {}; for (int i = 0; i < k + 3; ++i) r.push(i * 5); return r.fold(1) + r.head * 1000 + Ring<int, 9>::length + (int)r.fold<float>(0.5f); } // 3280 4310 6390 9910
__device__ int t_metafunction(int k) { return Factorial<5>::value + Size<double>::bits * 1000 + Size<char*>::bits + Same<int, int>::value * 7 + Same<int, unsigned>::value * 9 + cube(3) + k; } // 64153 64154 64155 64158
__device__ int t_pack(int k) { return count() + count(1, 2.0, 'c') * 10 + folded(1, k, 3) * 100; } // 1830 2130 2630 5330
__device__ int t_constexpr(int k) { int a[4] = {k, 2, 3, 4}; return unrolled<4>(a) + unrolled<1>(a) * 1000 + (int)(deduced(k) * 2); } // 31 1061 2091 5181
__device__ int t_lambda(int k) { int n = 3; auto by_value = [n](int x) { return x * n; }; n = 10; auto by_reference = [&](int x) { n += x; return n; }; auto both = [=, &n](int x) mutable { n += k; return x + n; }; int s = apply(by_value, 4); s += apply(by_reference, 3) * 100; s += both(1) * 1000; return s + n + apply([](int i) { return i & 1; }, 5) + [](auto x, auto y) { return x - y; }(k, 2); } // 21554 22556 23558 26564
__device__ int t_base(int k) { Derived d(k), e(k, 1); Base& b = d; b.n += 2; Base* p = &e; Both o(k); Pair& q = o; q.a *= 2; return d.get() + d.twice() * 100 + b.get() * 1000 + p->get() * 7 + o.n + o.a * 10 + o.b * 100 + sizeof(Both) + d.Base::get(); } // 3876 5215 6554 10571
__device__ int t_operators(int k) { Complex a{1.0f * k, 2}, b = {3, 4}; Complex c = a + b; c *= 2; Complex d = c - a, e = -d, f = c++; ++d; return (int)(c.re * 10 + c.im) + (int)(d.re * 100 + d.im) + (int)(e.im * 1000) + (int)(f.re * 7) + (a ? 10000 : 20000) + (int)b + (int)c(2); } // 10863 1001 1139 1553
__device__ int t_destructor(int k) { int n = k; { Guard g(&n); n *= 2; if (k > 1) { Guard h(&n); n += 1; } } for (int i = 0; i < 2; ++i) { Guard g(&n); if (i == k) break; n *= 3; } return n; } // 314 1041 4099 4153
__device__ int t_namespace(int k) { using namespace outer; return outer::twice(k) + alias::twice(k) * 100 + seven * 1000 + inner::twice(1); } // 7716 7918 8120 8726
__device__ int t_static(int k) { static const int local[3] = {4, 5, 6}; constexpr int n = cube(2) - 1; int a[n] = {}; a[n - 1] = k; return local[k % 3] + a[6] * 10 + n * 100 + sizeof(a); } // 732 743 754 784
__device__ int t_condition(int k) { if (int half = k / 2; half > 0) return half * 10; else if (int more = k + 3) return more; return -1; } // 3 4 10 20
__device__ int t_calls(int k) { return early(k) + gcd(12 * k, 18) * 10 + early(2600) * 100 + early(k * k) * 1000; } // 5280 6161 7162 10163
__device__ int t_vector(int k) { int4 a = make_int4(k, 2, 3, 4); float2 f = make_float2(k * 0.5f, 1.5f); uchar4 c = make_uchar4(250 + k, 1, 2, 3); int4 b = a; b.x += 5; a.w = b.x; float* e = &f.x; return a.x + a.y * 10 + a.w * 100 + (int)(f.x * 2) + (int)(f.y * 4) * 1000 + c.x + c.w + (int)(e[1] * 2) + sizeof(int4) + alignof(float2); } // 6800 6903 7006 7315
__device__ int t_sizes(int k) { return sizeof(Pair) * 3 + alignof(Outer) * 5 + sizeof(long long) * 7 + sizeof(k + 1.0) * 11 + sizeof(Named) * 13 + sizeof(wchar_t) * 17 + sizeof(true) * 19 + sizeof(nullptr) * 23 + sizeof(Plain) * 37 + k; } // 1023 1024 1025 1028
__device__ int t_literals(int k) { return 0x1F + 017 + 0b101 + 1'000 + 'A' + '\n' + '\x41' + '\101' + (int)1e2 + (int)(.5f * 8) + (int)0x1p4 + (int)(3u - k > 0u) + (5'000'000'000ll > 4294967296ull) + (int)sizeof(1.0f) + (10ull - 11 > 0); } // 1383 1383 1383 1383
__device__ int t_casts(int k) { double d = -3.7 + k; const int c = 5; int& m = const_cast<int&>(c); float f = 1.0f; return static_cast<int>(d) + int(d * 2) * 10 + (unsigned char)(k - 1) * 100 + int(unsigned(k) >> 1) + m + *reinterpret_cast<int*>(&f) / 1000000 + (int)(short)(40000 + k) + bool(k) * 3 + (int)(long long)d; } // 958 -24516 -24392 -24034
__device__ int t_comma(int k) { int a = (k++, k * 2), b = (a, 1), c[2] = {(a, k), 7}; return a + b * 10 + c[0] * 100 + c[1] * 1000 + (k > 2 ? a : (b, 7)); } // 7119 7221 7322 7634
struct Number { int v; __device__ Number(int v) : v(v) {} __device__ operator float() const { return v + 0.5f; } };
__device__ int rank(bool) { return 1; }
__device__ int rank(char) { return 2; }
__device__ int rank(short) { return 3; }
__device__ int rank(int) { return 4; }
__device__ int rank(unsigned) { return 5; }
__device__ int rank(long long) { return 6; }
__device__ int rank(float) { return 7; }
__device__ int rank(double) { return 8; }
__device__ int rank(const int*) { return 9; }
__device__ int rank(const void*) { return 10; }
__device__ int rank(Number) { return 11; }
__device__ int rank(Pair) { return 12; }
__device__ int narrow(double) { return 1; }
__device__ int narrow(const Base&) { return 2; }
__device__ int narrow(const void*) { return 3; }
__device__ int narrow(bool, int = 0) { return 4; }
__device__ int arity(int a) { return a; }
__device__ int arity(int a, int b) { return a * 10 + b; }
__device__ int arity(int a, float b) { return a * 100 + (int)(b * 2); }
__device__ int arity(int a, int b, int c) { return a + b + c + 1000; }
template <class T> __device__ int which(T) { return 1; }
template <class T> __device__ int which(T*) { return 2; }
template <> __device__ int which<double>(double) { return 3; }
__device__ int which(long long) { return 4; }
template <class T, int N> __device__ int length(T (&a)[N]) { return N * 10 + (int)sizeof(T); }

__device__ int t_ranks(int k) { bool b = k; char c = k; short s = k; unsigned u = k; long long l = k; float f = k; double d = k; int a[2] = {k, 1}; Pair p = {k, 1}; return rank(b) + rank(c) * 3 + rank(s) * 5 + rank(k) * 7 + rank(u) * 11 + rank(l) * 13 + rank(f) * 17 + rank(d) * 19 + rank(a) * 23 + rank(&f) * 29 + rank(p) * 31 + rank('a') * 37 + rank(k > 1) * 41 + rank(c + s) * 43 + rank(Number(k)) * 47 + rank(P1) * 53 + rank(k ? 1 : 2.0f) * 59 + rank(u + l) * 61 + rank(1ll << 40) * 67 + rank(-u) * 71 + rank(+b) * 73 + rank(!k) * 79; } // 4246 4246 4246 4246
__device__ int t_narrow(int k) { Derived d(k); float f = k; return narrow(f) + narrow(d) * 10 + narrow(&d) * 100 + narrow(d.n > 0, 1) * 1000 + narrow(1.5) * 10000; } // 14321 14321 14321 14321
__device__ int t_arity(int k) { return arity(k) + arity(k, 2) + arity(k, 1.5f) + arity(k, 2, 3) + arity(1, (short)2) + arity('b'); } // 1120 1232 1344 1680
__device__ int t_which(int k) { double d = k; long long l = k; const char* c = "x"; int a[3] = {}; const int b = k; return which(k) + which(d) * 100 + which(l) * 1000 + which(c) * 10000 + length(a); } // 24335 24335 24335 24335
__device__ int t_generic(int k) { auto sum = [](auto... x) { return (x + ... + 0); }; auto first = [](auto x, auto... rest) { return x * 100 + (int)sizeof...(rest); }; auto by = [&](auto& x) { x += k; }; int n = 4; by(n); return sum() + sum(k) * 3 + sum(k, 2, 3) * 5 + first(k, 1, 2) + n * 7 + [](int x, int y = 9) { return x - y; }(k); } // 46 162 278 626
__device__ int t_choice(int k) { constexpr int a = sizeof(int) == 4 ? 3 : 5; constexpr double b = a > 2 ? 1 : 2.5; constexpr unsigned c = -1; constexpr bool d = a && !(b < 1); constexpr int e = (c >> 28) + (a << 3 | 5) % 7 - ~a + 'A' % 10 + int(2.9) + (7 / 2 * 2.0 == 6); int n[e] = {}; return a + (int)(b * 4) + (c > 5) * 7 + d * 11 + e * 100 + sizeof(n) + (k ? a : e); } // 2965 2940 2940 2940
__device__ int t_numbers(int k) { return INT_MAX % 1000 + INT_MIN % 1000 + (int)(UINT_MAX >> 20) + SHRT_MAX + SHRT_MIN * 2 + USHRT_MAX + CHAR_BIT + SCHAR_MAX + SCHAR_MIN * 3 + UCHAR_MAX * 5 + (int)(LLONG_MAX >> 40) + (int)(LLONG_MIN >> 44) + (int)(ULLONG_MAX >> 50) + (int)(M_PI * 1e6) + (int)(M_PI_2 * 1e5) + (int)(M_PI_4 * 1e5) + (int)(M_1_PI * 1e5) + (int)(M_2_PI * 1e5) + (int)(M_SQRT2 * 1e5) + (int)(M_SQRT1_2 * 1e5) + (int)(M_E * 1e5) + (int)(M_LOG2E * 1e5) + (int)(M_LN2 * 1e5) + (FLT_MAX > 3e38f) + (int)(FLT_MIN * 1e38f * 100) + (int)(FLT_EPSILON * 1e9) + (DBL_MAX > 1e308) + (int)(DBL_EPSILON * 1e18) + (INFINITY > k) + (NAN != NAN) * 3 + (HUGE_VAL > 1e300) + (NULL == 0) + EXIT_SUCCESS; } // 12089297 12089297 12089297 12089297
