// C++ as CUDA has it, a function a construct of classes and templates: the comment behind each says what it is for k = 0, 1, 2, 5, as a host's compiler of C++ has it.
struct Count { int n; __device__ Count() : n(1) {} __device__ Count(int a, int b) : n(a * b) {} __device__ explicit Count(float f) : n((int)(f * 2)) {} __device__ Count& operator+=(const Count& o) { n += o.n; return *this; } __device__ bool operator<(const Count& o) const { return n < o.n; } __device__ bool operator==(const Count& o) const { return n == o.n; } __device__ Count operator[](int i) const { return Count(n, i); } __device__ int* operator->() { return &n; } };
template <class T, int N = 2> struct Grid { T cells[N][N]; int used = N * 2; __device__ T& at(int r, int c) { return cells[r][c]; } __device__ const T& at(int r, int c) const { return cells[r][c]; } __device__ constexpr static int area() { return N * N; } using value_type = T; enum { side = N }; struct Cell { int row, column; }; __device__ Cell last() const { return {N - 1, N}; } };
template <class T> using Pairs = Grid<T, 3>;
template <class T> struct Limits { static constexpr T most = 100; static constexpr bool whole = true; };
template <> struct Limits<float> { static constexpr float most = 0.5f; static constexpr bool whole = false; };
template <bool B, class T, class F> struct Pick { using type = T; };
template <class T, class F> struct Pick<false, T, F> { using type = F; };
template <class T> struct Bare { using type = T; };
template <class T> struct Bare<T&> { using type = T; };
template <class T> struct Bare<const T> { using type = T; };
template <int... Ns> struct List { static constexpr int count = sizeof...(Ns); static constexpr int sum = (Ns + ... + 0); };
struct Square { int w; __device__ Square(int w) : w(w) {} __device__ int width() const { return w; } __device__ int area() const { return width() * 2; } };
struct Left { int l = 1; __device__ int who() const { return l; } };
struct Right { int r = 2; __device__ int who() const { return r * 10; } };
struct Middle : Left, Right { int m; __device__ Middle(int k) : m(k) { l += k; } __device__ int all() const { return Left::who() + Right::who() + m; } };
struct Deep : Middle { int d = 7; __device__ Deep(int k) : Middle(k) {} };
struct Holder { int values[4]; __device__ int* begin() { return values; } __device__ int* end() { return values + 4; } };
struct Masked { unsigned low : 4; unsigned high : 12; int sign : 3; };
struct Around { struct Inner { int v; __device__ int twice() const { return v * 2; } }; Inner items[2]; Inner* first() const; static constexpr int limit = 9; typedef Inner item_type; };
enum class Level : short { Low = -1, Mid, High = 10 };
enum Flags { FlagA = 1 << 0, FlagB = 1 << 3, FlagAll = FlagA | FlagB };
__device__ constexpr int power(int b, int e) { return e == 0 ? 1 : b * power(b, e - 1); }
__device__ constexpr int digits(int n) { if (n < 10) return 1; return 1 + digits(n / 10); }
__device__ constexpr int grade(int n) { switch (n) { case 0: return 5; case 1: case 2: return 7; default: return n > 10 ? 20 : 9; } }
__device__ constexpr unsigned mixed(unsigned a, unsigned b = 3) { const unsigned c = a ^ b; return (c << 4) % 13 + (a > b ? 1u : ~0u >> 28); }
template <class T> __device__ constexpr T clampTo(T v, T lo, T hi) { return v < lo ? lo : v > hi ? hi : v; }
template <int N> __device__ constexpr int triangle() { return N * (N + 1) / 2; }
template <class T> __device__ int sizes(const T&) { return sizeof(T); }
template <class T> __device__ typename Bare<T>::type copied(T v) { return v + 1; }
template <class T, class U> __device__ auto mixedSum(T a, U b) -> decltype(a + b) { return a + b; }
template <class It, class F> __device__ int accumulate(It a, It b, F f) { int s = 0; for (; a != b; ++a) s = f(s, *a); return s; }
template <class T> struct Box { T v; };
__device__ int pick(Level l) { return l == Level::High ? 3 : 1; }
__device__ int pick(int) { return 5; }
__device__ int pick(Count) { return 7; }
__device__ int nearly(const int& x) { return x + 1; }
__device__ int nearly(int&& x) { return x + 100; }
__device__ int takes(const Left& l) { return l.l; }
__device__ int takes(const Left* l) { return l->l * 2; }
__device__ int takes(void*) { return 1000; }
__device__ int many(int a) { return a; }
__device__ int many(int a, int b) { return a + b; }
__device__ int flag(bool b) { return b ? 1 : 2; }
__device__ int flag(double) { return 3; }
__device__ int flag(const char*) { return 4; }
__device__ void modify(int (&a)[3], int*& p) { a[1] = 9; p = &a[1]; }
__device__ int& largest_of(int& a, int& b) { return a > b ? a : b; }
static __device__ int shift_by(int v, int n = 2) { return v << n; }

__device__ int t_constructors(int k) { Count a, b(k, 3), c = Count(2.5f), d{k, k}, e[2] = {{1, 2}, Count()}; a += b; a += Count(k, 1); Count f = c < b ? d : e[0]; return a.n + b.n * 10 + c.n * 100 + f.n + e[1].n + (b == d) * 1000 + c[k].n * 7 + *a.operator->() + (a < c); } // 1506 578 653 893
__device__ int t_grid(int k) { Grid<int> g = {{{1, 2}, {k}}}; const Grid<int>& c = g; g.at(1, 1) = 8; Pairs<char> p; p.at(2, 2) = 'x'; p.used += k; Grid<int>::Cell cell = g.last(); Grid<float>::value_type v = 2.5f; return c.at(0, 1) + c.at(1, 0) * 10 + g.cells[1][1] * 100 + g.used + p.at(2, 2) + p.used * 7 + Grid<int>::area() + Pairs<int>::area() * 3 + Grid<int>::side + Pairs<short>::side * 5 + cell.row + cell.column * 11 + (int)(v * 2) + (int)sizeof(Pairs<char>); } // 1060 1077 1094 1145
__device__ int t_traits(int k) { typename Pick<(sizeof(int) > 2), short, double>::type a = (short)(70000 + k); Pick<false, int, float>::type b = 1.5f; typename Bare<const int>::type c = k; c += 2; return a + (int)(b * 2) + c + Limits<int>::most + (int)(Limits<float>::most * 8) + Limits<char>::whole + Limits<float>::whole * 3 + List<1, 2, 3>::count * 10 + List<4, 5>::sum * 100 + List<>::sum + List<>::count; } // 5504 5506 5508 5514
__device__ int t_area(int k) { Square s(k + 1); return s.area() + s.w; } // 3 6 9 18
__device__ int t_inherited(int k) { Middle m(k); Deep d(k + 2); Right* r = &d; const Left& l = m; r->r += k; d.Left::l *= 3; return m.all() * 10 + d.all() * 100 + l.who() + r->who() + takes(m) + takes(&d) + (int)sizeof(Deep) + d.d; } // 3373 4811 6249 10563
__device__ int t_constant(int k) { constexpr int a = power(3, 4), b = digits(12345), c = grade(1) + grade(0) * 10 + grade(50) * 100 + grade(4) * 1000; constexpr unsigned m = mixed(9) + mixed(1, 8); int n[triangle<3>()] = {}; n[5] = k; static_assert(power(2, 5) == 32, ""); return a + b * 7 + c + m + n[5] + sizeof(n) + clampTo(k, 1, 3) * 11 + clampTo<float>(k, 0, 2) + power(k, 2) + digits(k * 100) + grade(k) + mixed(k); } // 11259 11263 11276 11301
__device__ int t_levels(int k) { Level l = k > 1 ? Level::High : Level::Mid; Flags f = FlagB; int both = FlagAll | k; switch (l) { case Level::Low: return 1; case Level::Mid: both += 100; break; case Level::High: both += 200; } return both + pick(l) + pick(f) * 10 + pick(k) * 100 + pick(Count(1, 2)) * 1000 + (int)l + (f & FlagAll) + (int)sizeof(Level) + static_cast<short>(Level::Low); } // 7669 7669 7783 7785
__device__ int t_references(int k) { int a[3] = {1, 2, 3}, *p = nullptr, x = k, y = 4; modify(a, p); *p += k; largest_of(x, y) = 50; const int& c = k + 1; int&& t = k * 2; t += 5; auto& q = a[2]; q = x; auto z = q; z++; return a[1] * 10 + a[2] * 100 + x + y * 3 + c + t + z; } // 247 362 477 5274
__device__ int t_calls(int k) { short s = 3; float f = 2.5f; return many(k) + many(k, 2) * 10 + flag(k > 1) * 1000 + flag(1.5f) * 7 + flag("x") * 11 + flag(&s) * 13 + sizes(s) + sizes(f) * 3 + sizes('a') * 5 + copied(k) + (int)(mixedSum(k, 0.5f) * 2) + shift_by(k) + shift_by(k, 1); } // 2119 2139 1159 1219
__device__ int t_ranges(int k) { Holder h = {{1, 2, k, 4}}; int s = 0; for (int v : h.values) s = s * 3 + v; for (int& v : h.values) v += 1; for (auto i = h.begin(); i != h.end(); ++i) s ^= *i; return s + accumulate(h.begin(), h.end(), [](int a, int b) { return a * 2 + b; }) + accumulate(h.values, h.values + 2, [k](int a, int b) { return a + b * k; }); } // 87 92 97 136
__device__ int t_fields(int k) { Masked m = {5, 100, -2}; m.low += k * 3; m.high <<= 2; m.sign -= k; m.high |= 1; Masked c = m; c.low--; return m.low + m.high * 10 + m.sign * 1000 + c.low * 7; } // 2043 1067 91 5035
__device__ int t_members(int k) { Around o = {{{k}, {3}}}; Around::Inner* p = &o.items[1]; Around::item_type i = {4}; p->v += 2; return o.items[0].twice() + p->twice() * 10 + i.v * 100 + Around::limit + o.items[k & 1].v * 1000; } // 509 5511 2513 5519
__device__ int t_captures(int k) { int a = 1, b = k; auto add = [&a, b](int x) { a += x; return a + b; }; auto make = [](int n) { return [n](int x) { return x * n; }; }; auto by3 = make(3); auto moved = [v = k * 2]() mutable { return ++v; }; b = 100; int s = add(5) + add(k) * 10; auto rec = [&](auto self, int n) -> int { return n < 2 ? 1 : n * self(self, n - 1); }; return s + by3(4) * 100 + moved() + moved() * 7 + a + (int)([=] { return a + b; }() > 50) + rec(rec, 4) * 1000; } // 25288 25326 25364 25478
__device__ int t_bindings(int k) { struct Two { int a; float b; } t = {k, 2.5f}; auto [x, y] = t; auto& [u, v] = t; u += 3; v *= 2; int arr[2] = {7, k}; auto [p, q] = arr; return x + (int)(y * 2) + t.a * 10 + (int)t.b * 100 + p * 1000 + q; } // 7535 7547 7559 7595
__device__ int t_conditions(int k) { int s = 0; if (int n = k - 1; n > 0) s += n; else s -= n * 10; while (int m = 3 - s % 4) { s += m; if (s > 30) break; } switch (int w = k % 3; w) { case 0: s += 100; [[fallthrough]]; case 1: s += 1000; break; default: s += w; } for (int i = 0, *p = &i; *p < 3; ++*p) s += i; if constexpr (sizeof(long long) == 8) s *= 2; else s = 0; return s; } // 2228 2012 16 24
__device__ int t_scalars(int k) { signed char a = (signed char)(k * 60); unsigned char b = (unsigned char)(a * 3); short s = (short)(a << 8); unsigned short u = (unsigned short)-k; long long w = (long long)a << 33; unsigned long long x = (unsigned long long)-1 / (k + 1); float f = (float)(k * 0.3); bool t = f; a += 100; b >>= 1; u *= 3; s /= 7; f = -f; return a + b * 3 + s + (u >> 4) + (int)(w >> 31) + (int)(x >> 40) + (int)(f * 10) + t + (a > b) + (u == 65535) + ((int)((unsigned)k << 31) >> 31) + (unsigned)(k - 6) / 1000000; } // 16781610 8399601 5605777 2806447
__device__ int t_tricky(int k) { int i = 5, j = i++ * 2, m = --i + j--; i += i -= 2; bool b = !k == 0; int n = -k % 3, o = (k ^ ~k) & 15, p = k ? k > 1 ? 10 : 20 : 30; unsigned q = 1u << 31 >> k; j <<= k & 3; return i + j * 10 + m * 100 + b + n * 7 + o + p + (int)(q >> 24) + (int)sizeof(k++) + k + (2, 3) + (k, i) + +-+k; } // 1782 1792 1923 1715
__device__ int t_layout(int k) { return (int)(sizeof(Count) + sizeof(Grid<double>) * 3 + sizeof(Middle) * 5 + sizeof(Square) * 7 + sizeof(Around) * 13 + sizeof(Level) * 17 + sizeof(Flags) * 19 + alignof(double) * 23 + alignof(Grid<short>) * 29 + sizeof(int[3]) * 31 + sizeof(int*) * 37 + sizeof(decltype(k * 1.0)) * 41 + sizeof(Left&) * 43 + sizeof(Box<char>[5])) + k; } // 1899 1900 1901 1904
__device__ int t_swap(int k) { int a[5] = {5, k, 4, 1, 3}; for (int i = 0; i < 5; ++i) for (int j = i + 1; j < 5; ++j) if (a[j] < a[i]) { int t = a[i]; a[i] = a[j]; a[j] = t; } int r = 0; for (int v : a) r = r * 10 + v; int lo = 0, hi = 4; while (lo < hi) { int mid = (lo + hi) / 2; if (a[mid] < 4) lo = mid + 1; else hi = mid; } return r + lo * 100000; } // 301345 311345 312345 213455
__device__ int t_matrix(int k) { float m[2][2] = {{1, 2}, {3, (float)k}}, r[2][2] = {}; for (int i = 0; i < 2; i++) for (int j = 0; j < 2; j++) for (int l = 0; l < 2; l++) r[i][j] += m[i][l] * m[l][j]; float (*p)[2] = r; const float* f = *r; return (int)(p[1][1] + p[0][1] * 10 + *(f + 2) * 100 + f[0] * 1000); } // 7326 7647 7970 8951
