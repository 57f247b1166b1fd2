// C11, a function a construct: the comment behind each says what it is for k = 0, 1, 2, 5, as a host's compiler has it.
typedef unsigned char byte;
typedef long wide;
typedef struct point { int x, y; } point;
typedef struct { double d; float f; short s; char c; } mixed;
struct node { int value; struct node *next; };
struct bits { unsigned a : 3; int b : 5; unsigned c : 12, : 4, d : 8; _Bool e : 1; long w : 40; };
struct packed_bits { unsigned char lo : 4, hi : 4; unsigned short : 0; short last : 9; };
struct inner { struct { int u, v; }; union { int w; char bytes[4]; float f; }; int tail[]; };
union number { int i; unsigned u; float f; unsigned char b[4]; struct { short lo, hi; } h; };
enum colour { RED, GREEN = 5, BLUE, DARK = -3, DARKER, LAST = BLUE | 8 };
struct big { long n[5]; int last; };
struct floats { float a, b, c; };
struct three { short a, b, c; };
struct odd { char c[7]; };
struct nested { struct point at[2]; struct { char name[6]; enum colour colour; } more; double weight; };
static int table[4] = {1, [2] = 30, 40};
static const char letters[] = "lock" "step";
static const struct nested fixed = {.more = {"ab", BLUE}, .at[1].y = 7, .weight = 2.5};
static point points[] = {[1] = {3, 4}, {.y = 6}, [0].x = 9};
static int *const second = &table[2];
static const char *const names[] = {"zero", "one", "two"};
static int counter;
int external = 11;
static int twice(int x) { return 2 * x; }
static point moved(point p, int by) { p.x += by; p.y -= by; return p; }
static struct big filled(int k) { struct big b = {{k, k + 1}, 3}; b.n[4] = b.n[0] * 2; return b; }
static long sum_of(struct big b) { long s = b.last; for (int i = 0; i < 5; i++) s += b.n[i] * (i + 1); b.last = 0; return s; }
static struct floats scaled(struct floats f, float by) { return (struct floats){f.a * by, f.b + by, f.c - by}; }
static struct three turned(struct three t) { struct three r = {t.c, t.a, t.b}; return r; }
static struct odd named(char first) { struct odd o = {"xyzxyz"}; o.c[2] = first; return o; }
static mixed mixture(int k) { mixed m = {k * 0.5, k + 0.25f, (short)(k * 3), 'q'}; return m; }
static int next(void) { return ++counter; }
static int depth(const struct node *n) { return n ? n->value + 10 * depth(n->next) : 0; }
static void swap(int *a, int *b) { int t = *a; *a = *b; *b = t; }
static int length(const char *s) { const char *e = s; while (*e) e++; return (int)(e - s); }
static int total(int n, const int a[n]) { int s = 0; while (n--) s = s * 3 + a[n]; return s; }
static int recursive(int n) { if (n < 2) return n; return recursive(n - 1) + recursive(n - 2); }
static double mean(const double *v, int n) { double s = 0; for (const double *e = v + n; v != e;) s += *v++; return s / n; }
static inline long max(long a, long b) { return a > b ? a : b; }

int t_promotion(int k) { byte a = 250; signed char b = -7; short s = -1; unsigned short u = 65535; a += k; b *= 20; return a + b + (s < u) * 3 + (s == (short)u) * 5 + (-1 < 1u) * 7 + (-1L < 1u) * 11 + (a << 4) + (b >> 2) + ~a + -u + (int)(sizeof(a + b) + sizeof(1L + a)); } // -61360 -61344 -61328 -61280
int t_conversion(int k) { double d = k * 1.9 - 4; float f = d; unsigned u = (unsigned)(int)d; long l = (long)(d * 1e10); byte c = (byte)(k + 300); _Bool t = f; return (int)d + (int)(f * 100) + (int)(u >> 28) + (int)(l >> 20) + c + t * 1000 + (int)(short)(k * 40000) + (int)(float)16777217 % 100 + (int)(signed char)(k + 127); } // -37349 -44827 13471 57340
int t_literals(int k) { return 0x7f + 017 + 'a' + '\n' + '\x7f' + '\101' + '\'' + L'z' + (int)1e3 + (int)0x1.8p3 + (int)(.25f * 16) + (10u - 11 > 0) + (4294967295 > 0) * 2 + (int)sizeof(1.0f) + (int)sizeof 'a' + (int)sizeof(1ull) + (int)sizeof "abc" + "hello"[k % 5] + (0x80000000 > 0) + (int)(2147483648 >> 4) + 3 % 2; } // 134219475 134219472 134219479 134219475
int t_operators(int k) { int a = k, b = 3; a += b; a <<= 2; a -= ~b; a |= 1; a ^= 6; a %= 23; b = a++ * 2; b += ++a; b -= --a; b -= a-- * 3; a *= b; a /= 3; a &= 0x7f; a >>= 1; return a * 1000 + b + (a, b, k) + !a + !!b + -a + +b + (a > b ? a : b) * 2 + (a && b) + (a || b); } // -1 61023 51036 36016
int t_unsigned(int k) { unsigned a = k - 3, b = 7; wide w = a; unsigned long l = a * b; return (int)(a / b % 1000) + (int)(a % b) + (int)(a >> 5) % 77 + (a > b) + (int)(w % 1000) + (int)(l % 1009) + (int)((l * l) >> 40) + (int)(a << 3) % 100 + (int)-a % 10; } // 16778635 16778651 16778667 32
int t_signed(int k) { int a = k - 3; long l = (long)a * 1000000007; return a / 2 * 100 + a % 2 + (a >> 1) + (int)(l / 1000) % 1000 + (int)(l >> 33) + (-7 / 2) * 3 + (-7 % 2) + (7 % -4) * 5 + (a < 0 ? -a : a); } // -96 -95 3 108
int t_compare(int k) { double n = 0.0 / (k - k), z = -0.0; return (n == n) + (n != n) * 2 + (n < 1) * 4 + !(n >= 1) * 8 + (z == 0) * 16 + (k < 2) * 32 + (k <= 1) * 64 + (k > 1) * 128 + (k >= 2) * 256 + (k == 5) * 512 + (k != 5) * 1024 + (1 / z < 0) * 2048 + (n ? 4096 : 0); } // 7290 7290 7578 7066
int t_short_circuit(int k) { int s = 0; (k && (s += 1)) || (s += 10); (k > 1 || (s += 100)) && (s += 1000); k ? (s += 3) : (s += 5); return s + (k && s > 5 ? 7 : 9) + (!k || s % 2); } // 1125 1111 1011 1011
int t_loops(int k) { int s = 0, i; for (i = 0; i < 10; i += 2) { if (i == k * 2) continue; if (i > 7) break; s += i; } while (i-- > 0) s += i * 2; do { s -= 9; } while (s > k * 10); for (int j = k, m = 20; j < m; j += 3, m--) s += j * m; for (;;) { if (++s % 7 == 0) break; } return s * 10 + i; } // 5109 6089 7139 7419
int t_goto(int k) { int s = 0, i = 0; if (k == 1) goto inside; top: s += 10; while (i < 3) { s += i; inside: i++; if (s + k > 14) goto out; } if (s < 100) { s += 30; goto top; } out: return s * 10 + i; } // 1333 1233 133 101
int t_switch(int k) { int s = 0; for (int i = -1; i <= k + 1; i++) switch (i) { case -1: s += 1; break; case 0: s += 10; case 1: s += 100; break; case 3 ... 5: s += 7; default: s += 1000; if (i == 6) break; s += 2; } switch (k) { int n; case 2: n = 5; s += n; break; case 5: { s *= 2; break; } } switch (k * 2u) { default: s += 1; break; case 4294967295u: s = 0; } return s; } // 212 1214 2228 10481
int t_device(int k) { int n = k + 3, s = 0, r = (n + 3) / 4; switch (n % 4) { case 0: do { s = s * 2 + 1; case 3: s += 5; case 2: s ^= 9; case 1: s += 3; } while (--r > 0); } return s; } // 15 18 8 38
int t_enumeration(int k) { enum colour c = k > 1 ? BLUE : DARKER; enum { A = 3, B = A * 2 + sizeof(char), C } d = B; return c * 100 + d * 10 + C + LAST + DARK + (c == DARKER) * 7 + (int)sizeof(enum colour) + GREEN; } // -95 -95 698 698
int t_structure(int k) { point p = {k, 2}, q = p, *r = &q; r->x += 5; (*r).y *= 3; point s = {.y = 4}; s.x = (k ? p : q).x; p = moved(q, k); q = k > 1 ? s : p; return p.x + p.y * 10 + q.x * 100 + q.y * 1000 + s.x * 7 + (int)sizeof(point) + (int)sizeof *r; } // 6616 5780 4279 4576
int t_passed(int k) { struct big b = filled(k); struct three t = turned((struct three){1, k, 3}); struct odd o = named('a' + k), c = o; mixed m = mixture(k); c.c[0] = 'b'; struct floats f = scaled((struct floats){k, 2, 3}, 1.5f); return (int)sum_of(b) + t.a * 100 + t.b * 1000 + t.c * 7 + o.c[2] + c.c[0] + c.c[5] + (int)(f.a * 4 + f.b * 2 - f.c) + (int)(m.d * 2 + m.f * 4) + m.s * 3 + m.c + b.last; } // 1744 1785 1826 1949
int t_members(int k) { struct inner n = {{1, k}, {.bytes = {1, 2, 3}}}; n.w += k; struct inner *p = &n; p->u = p->v + n.bytes[1]; n.bytes[0] = 9; return n.u * 100 + n.v * 10 + (n.w & 0xffff) + (int)sizeof(struct inner) + (int)(n.f == 0); } // 733 843 953 1283
int t_union(int k) { union number n = {.f = 1.5f + k}, m; m.u = 0x01020304u * (k + 1); m.b[1] = 0x7f; m.h.hi ^= 3; n.h.lo = (short)k; union number c = m; return n.i / 1000 + m.i / 7 + c.b[0] + c.h.lo + (int)sizeof(union number); } // 3512823 5972042 8354266 15645490
int t_bits(int k) { struct bits b = {5, -3, 100, 200, 1, -5}; b.a += k; b.b -= k * 3; b.c <<= k; b.d = b.d + 100; b.e = k; b.w *= 1000000000; struct bits c = b; c.a++; struct packed_bits p = {3, 17 + k, -1}; p.last -= k * 90; return b.a + b.b * 10 + (int)b.c * 3 + (int)b.d * 100 + b.e * 7 + (int)(b.w / 1000003) + c.a * 1000 + p.lo + p.hi * 5 + p.last + (int)sizeof(struct bits) + (int)sizeof(struct packed_bits) + (b.a - 8 < 0); } // 5704 6897 383 12265
int t_array(int k) { int a[2][3] = {{1, 2}, {k}}, b[] = {k, [3] = 4, 5}, (*row)[3] = a + 1, *p = &a[0][1]; (*row)[2] = 8; p[1] += 3; *(*a + 0) += 2; char s[] = "abc", t[5] = "xy", u[3] = "uvw"; s[k % 3] = 'z'; return a[0][0] + a[0][2] * 10 + a[1][0] * 100 + row[0][2] + b[4] * 7 + b[1] + (int)sizeof b + (int)sizeof s + s[1] + t[1] + t[3] + u[2] + (int)(&a[1][1] - p) + 1[b] + (int)(sizeof a / sizeof a[0]); } // 443 567 643 943
int t_pointer(int k) { int x = k, y = 3, *p = &x, **q = &p; **q += 5; *q = &y; *p *= 2; swap(&x, p); int *e = table + 4, *f = second; wide d = e - f; byte *c = (byte *)&x; void *v = &y; return x * 100 + y * 10 + *f + (int)d + (f < e) + (p == &y) * 7 + c[0] + c[3] + *(int *)v + (v != 0) + !p + *(table + k % 4) * 3 + f[1]; } // 745 753 854 797
int t_strings(int k) { const char *s = letters + k, *m = "multi" " " "part\0hidden"; char local[] = {'a', 'b', 0}; return length(s) * 100 + s[0] + (int)sizeof letters + length(m) * 10 + m[11] + length(names[k % 3]) * 1000 + names[1][1] + local[k & 1] + "xyz"[k % 3] + *"q" + letters[k]; } // 5669 4577 4453 4188
int t_designators(int k) { int a[6] = {[1 ... 3] = k, [2] = 9, 8}; struct nested n = {.at = {{1, 2}, [1] = {.x = k}}, .more.name = "hi", .weight = 1.5}, m = {{1, 2, 3}, {"abcde", GREEN}, 4}; point *p = (point[]){{k, 1}, {2, 3}}; p[1].x += k; return a[1] + a[2] * 10 + a[3] * 100 + a[4] * 1000 + n.at[1].x + n.at[0].y * 3 + n.more.name[1] + n.more.colour + (int)(n.weight * 4) + m.at[1].x + m.at[1].y + m.more.name[4] + m.more.colour + p[1].x * 7 + (&(point){5, k})->y; } // 1130 1140 1150 1180
int t_constants(int k) { return table[k & 3] + fixed.at[1].y * 10 + fixed.more.name[1] + fixed.more.colour * 100 + (int)(fixed.weight * 2) + points[0].x * 3 + points[2].y * 5 + points[1].x * 7 + (int)(sizeof points / sizeof *points) + external; } // 866 865 895 865
int t_static(int k) { static int calls = 3, history[3]; calls += k; history[calls % 3]++; int before = counter; int a = next() + next(); return calls * 100 + history[0] + history[2] * 10 + (counter - before) * 1000 + a; } // 2304 2403 2513 2813
int t_list(int k) { struct node c = {3, 0}, b = {2, &c}, a = {k, &b}; if (k > 1) b.next = &a, a.next = 0; int s = 0; for (struct node *n = &b; n; n = n->next) s = s * 10 + n->value; return s + depth(&a) * 1000; } // 320023 321023 2022 5025
int t_recursion(int k) { return recursive(k + 3) * 10 + depth(0); } // 20 30 50 210
int t_variable(int k) { int n = k + 2, a[n][3], s = 0; for (int i = 0; i < n; i++) for (int j = 0; j < 3; j++) a[i][j] = i * 3 + j; int b[2 * n]; b[n] = k; s += (int)sizeof a + (int)sizeof b + (int)sizeof a[0]; return s * 100 + a[n - 1][2] + b[n] + total(n, a[1]) * 1000; } // 20205 67209 231213 9309225
int t_generic(int k) { float f = k; const int c = 2; short s = 1; return _Generic(f, int: 1, float: 2, default: 3) + _Generic(c, int: 10, default: 20) + _Generic(s, int: 100, short: 200) + _Generic(&f, float *: 1000, default: 2000) + _Generic(s + 0L, long: 5, int: 6) + _Generic("a", char *: k, default: 9); } // 1217 1218 1219 1222
int t_statement(int k) { int a = ({ int t = k * 2; t + 1; }), b = ({ int s = 0; for (int i = 0; i < a; i++) s += i; s; }); return a * 100 + b + __builtin_popcount(a) + __builtin_clz(b + 1) + __builtin_ctz(8 << k) + __builtin_expect(k, 0) + __builtin_bswap32(k) / 65536 + __builtin_ffs(k); } // 135 596 1061 2478
int t_offsets(int k) { return (int)__builtin_offsetof(struct nested, more.colour) + (int)__builtin_offsetof(struct nested, at[1].y) * 10 + (int)_Alignof(double) * 100 + (int)_Alignof(struct three) * 1000 + (int)sizeof(mixed) * 3 + (int)sizeof(struct odd) * 5 + (int)sizeof(struct nested) * 7 + (int)sizeof(struct three) + (int)sizeof(long double) + (int)sizeof(int[3][2]) + (int)sizeof(void *) + k; } // 3361 3362 3363 3366
int t_memory(int k) { int a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, b[8]; __builtin_memcpy(b, a, sizeof a); __builtin_memmove(b + 1, b, 5 * sizeof *b); __builtin_memset(b + 6, k, sizeof(int)); if (k) __builtin_memset(a, 0, 2 * sizeof(int)); struct nested n = fixed, m; __builtin_memcpy(&m, &n, sizeof m); char c[11]; __builtin_memset(c, 'a', 7); __builtin_memcpy(c + 3, letters, 8); return b[0] + b[1] * 10 + b[5] * 100 + b[6] % 1000 + b[7] + a[0] * 3 + a[4] * 5 + m.at[1].y + c[2] + c[10] + c[3 + k % 4]; } // 871 880 877 916
int t_mathematics(int k) { double x = k * 0.5 + 0.25; double v[3] = {x, 2, 3}; return (int)(__builtin_sqrt(x) * 1000) + (int)__builtin_floor(-x) + (int)__builtin_ceil(x) * 10 + (int)(__builtin_fabs(-x) * 100) + (int)(mean(v, 3) * 9) + __builtin_abs(k - 3) + (int)__builtin_round(x) + (int)__builtin_trunc(x * 3) + (int)__builtin_labs(k - 9L) + (int)(__builtin_fmax(x, 1) * 4) + (int)(__builtin_copysign(2, -x)) + __builtin_isnan(x) + (int)max(k, 3); } // 566 985 1297 2014
int t_float(int k) { float f = 16777216.0f; double d = 0.1 * k; float g = 0.1f * k; f += k; f += 1; g *= 3; g -= d; d /= 3; return (int)(f - 16777000) + (g == (float)d) + (int)(d * 1e6) + (int)(g * 1e6f) + (int)(1e10f / (k + 1) > 1e9f) + (int)(k / 2 * 2.0f) + (int)(1.0 * k / 2 * 10) + (d > g) * 3; } // 218 233555 466899 1166916
int t_qualified(int k) { volatile int v = k; const int *restrict p = table; register int r = v + 1; v += r; int const c = 4; char a[3] = {1, 2, 3}; _Static_assert(sizeof(int) == 4, "int"); return v * 10 + p[1] + c + r + a[k % 3]; } // 16 38 60 123
int t_logic(int k) { _Bool a = k, b = !a, c = a ^ b, d = 0.5; int e = a + b + c + d; a += 3; b |= 2; return e + a * 10 + b * 100 + (d == 1) * 1000 + (int)sizeof a + -a + (a << 3); } // 1121 1121 1121 1121
int t_long(int k) { wide a = 0x123456789abcdefL * (k + 1), b = -a; unsigned long u = a; long long c = a ^ b; return (int)(a >> 35) + (int)(b >> 40) + (int)(u % 1000003) + (int)(b / 1000000007) + (int)(u >> 50) + (a > b) + (int)((c & 0xff) << 2) + (int)(a % 97) + (u > (unsigned long)b) + (int)((wide)(u << 7) >> 60) + (int)~a % 100; } // -79035739 -159072583 -238109325 -477219856
int t_shadowed(int k) { int a = k, counter = 5; { int a = 7; counter += a; { extern int external; a += external; counter += a; } for (int a = 0; a < 3; a++) counter += a; } struct point { char x; } p = {'a'}; typedef short twice; twice t = (twice)70000; return a + counter * 10 + (int)sizeof(struct point) + p.x + t; } // 4892 4893 4894 4897
int t_comma(int k) { int i, j; for (i = 0, j = 10; i < j; i++, j -= 2) ; int a = (k++, k * 2), b[] = {(k, 3), k}; return i + j * 10 + a * 100 + b[0] + b[1] * 1000; } // 1227 2427 3627 7227
int t_conditional(int k) { int a[2] = {1, 2}, *p = k ? a : 0; point q = {4, 5}, r = {6, 7}; return (p ? *p : 9) + (k > 1 ? q : r).y * 10 + (k ? 1 : 2.5 > 2) * 100 + (int)((k ? 1u : -1) > 0) * 1000 + (k ?: 33) + (k > 1 ? k > 2 ? 3 : 4 : 5) * 7; } // 1247 1207 1181 1177
int t_library(int k) { double x = k * 0.5 + 0.25; return (int)(__builtin_pow(x, 3) * 7) + (int)(__builtin_fmod(x * 10, 3) * 8) + (int)(__builtin_exp(x) * 100) + (int)(__builtin_log(x + 1) * 1000) + (int)(__builtin_ldexp(x, 3)); } // 373 790 1186 3056
struct doubles { double a, b; };
struct single { float f; };
struct holder { struct floats inner; float more; };
struct wrapped { char c; union number u; };
static struct floats walked(struct floats f, int n) { if (n == 0) return f; f.a += n; f.b *= 2; f.c -= f.a; return walked(f, n - 1); }
static struct doubles doubled(struct doubles d, float by, int n) { if (!n) return d; d.b = d.a + by; d.a *= 1.5; return doubled(d, by + 1, n - 1); }
static struct single lone(struct single s, int n) { if (!n) return s; s.f += n; return lone(s, n - 1); }
static struct holder held(int n, struct holder h) { if (!n) return h; h.more += h.inner.b; h.inner.a = h.more; h.inner.c += 2; return held(n - 1, h); }
static mixed blended(mixed m, int n) { if (n <= 0) return m; m.d += m.f; m.s -= 3; m.c++; return blended(m, n - 1); }
static struct big piled(struct big b, int n) { if (n <= 0) return b; b.n[n % 5] += b.last; b.last += n; return piled(b, n - 1); }
static struct odd spelled(struct odd o, int n) { if (n <= 0) return o; o.c[n % 7] += n; return spelled(o, n - 1); }
static struct three rolled(struct three t, int n) { if (n <= 0) return t; struct three r = {t.b, t.c, (short)(t.a + n)}; return rolled(r, n - 1); }
static point stepped(point p, int n) { if (n <= 0) return p; return stepped((point){p.y, p.x + n}, n - 1); }
static union number joined(union number u, int n) { if (n <= 0) return u; u.b[n & 3] ^= 9; return joined(u, n - 1); }
static struct wrapped inside(struct wrapped w, int n) { if (n <= 0) return w; w.c += 1; w.u.h.hi += w.c; return inside(w, n - 1); }
static double crowded(int a, long b, point c, double d, float e, char f, struct big g, short h, double i, struct floats j, mixed k, float l, int n) { if (n <= 0) return a + b * 2 + c.x * 3 + c.y * 5 + d * 7 + e * 11 + f * 13 + g.n[1] * 17 + g.last * 19 + h * 23 + i * 29 + j.a * 31 + j.c * 37 + k.d * 41 + k.s * 43 + k.c + l * 47; return crowded(a + 1, b - 1, (point){c.y, c.x}, d + 0.5, e * 2, f + 1, g, h - 2, i, j, k, l + d, n - 1); }
static long counted(const int *p, int n, long (*unused)(long)) { return n <= 0 ? 0 : p[n - 1] + 3 * counted(p, n - 1, unused); }
static _Bool parity(unsigned char c, unsigned long w, int n) { if (n <= 0) return c ^ w; return parity(c >> 1, w / 3, n - 1); }
int t_walked(int k) { struct floats f = walked((struct floats){1, 2.5f, k}, k + 1); return (int)(f.a * 2 + f.b * 4 - f.c); } // 26 54 109 776
int t_doubled(int k) { struct doubles d = doubled((struct doubles){k, 3}, 0.5f, k + 2); struct single s = lone((struct single){1.25f}, k + 1); return (int)(d.a * 8 + d.b * 4) + (int)(s.f * 4) * 1000; } // 9006 17046 29122 89937
int t_held(int k) { struct holder h = {{1, 2, k}, 0.5f}; h = held(k + 1, h); return (int)(h.inner.a * 2) + (int)h.inner.b * 100 + (int)h.inner.c * 1000 + (int)(h.more * 4); } // 2215 5227 8239 17275
int t_blended(int k) { mixed m = blended((mixed){0.5, 1.5f, 100, 'a'}, k + 1); return (int)(m.d * 2) + (int)(m.f * 2) * 100 + m.s * 1000 + m.c; } // 97402 94406 91410 82422
int t_piled(int k) { struct big b = {{1, 2, 3, 4, k}, 5}; b = piled(b, k + 3); return (int)(b.n[0] + b.n[1] * 3 + b.n[2] * 5 + b.n[3] * 7 + b.n[4] * 11 + b.last * 13); } // 298 476 687 1720
int t_spelled(int k) { struct odd o = spelled((struct odd){"abcdef"}, k + 2); struct three t = rolled((struct three){1, -2, k}, k + 2); return o.c[1] + o.c[2] * 3 + o.c[6] * 5 + o.c[0] * 7 + t.a * 100 + t.b * 1000 + t.c * 10000; } // -5919 21481 65181 143860
int t_stepped(int k) { point p = stepped((point){k, 4}, k + 2); union number u = {.i = 0x01020304}; u = joined(u, k + 1); struct wrapped w = {'a', {.i = 5}}; w = inside(w, k + 1); return p.x + p.y * 100 + u.i / 1000 + w.c * 7 + w.u.i / 999; } // 24526 31622 155932 176743
int t_crowded(int k) { struct big g = {{0, 2}, 3}; return (int)crowded(k, -7L, (point){3, 4}, 1.5, 0.25f, 'c', g, -9, 2.75, (struct floats){1, 2, 3}, (mixed){0.5, 1, 12, 'd'}, 3.5f, k + 1); } // 2262 2334 2431 2992
int t_counted(int k) { return (int)counted(table, k % 4 + 1, 0) + parity(200, 1000003ul * (k + 1), k) * 100000; } // 100001 100003 100039 100003
static const struct bits preset = {5, -3, 100, 200, 1, -5};
static struct bits presets[] = {{.b = 7, .d = 9}, [2] = {.a = 1, .w = 123456789012}};
static const union number whole = {.h = {-2, 3}};
static const struct { char tag; struct floats f; short tail[3]; } record = {'r', {1.5f, .c = -2}, {[1] = 7}};
static long cube[2][2][3] = {{{1, 2}, {3}}, {{[2] = 4}}};
static const char words[3][4] = {"ab", {'c', 'd'}, "efgh"};
static int *const places[] = {table, &table[3], &external};
static const double ratios[] = {1.0 / 3, 2, 1e-3, -0.0, (float)0.1, 7 / 2, 'a'};
static unsigned char small[] = {300 - 44, -1, 0x1ff & 255, sizeof(int)};
int t_preset(int k) { struct bits b = presets[k % 3]; return preset.a + preset.b * 10 + (int)preset.c * 100 + (int)preset.d * 1000 + preset.e + (int)preset.w * 7 + b.a + b.b * 3 + (int)b.d * 5 + (int)(b.w >> 8) + (int)sizeof presets; } // 210055 209989 482463072 482463072
int t_contents(int k) { return whole.i + whole.h.hi + record.tag + (int)(record.f.a * 2) + (int)record.f.b + (int)(record.f.c * 10) + record.tail[k % 3] * 100 + (int)cube[k & 1][0][2] + (int)cube[0][k & 1][0] * 1000 + words[k % 3][1] + words[2][3] + words[0][k & 3] * 7 + *places[k % 3] + (int)(places[1] - places[0]) + (int)(ratios[k] * 1000) + (int)(1 / ratios[3] < 0) + (int)ratios[6] + small[k & 3]; } // 264558 269232 263816 269505
struct layers { int first; union { struct { short low, high; }; int both; }; struct { int deep; struct { char c, d; }; }; int last; };
int t_unnamed(int k) { struct layers a = {.high = 3, .low = 2, .d = 'x', .last = k}, b = {1, {{5, 6}}, {7, {'p', 'q'}}, 9}, c = {.both = 70000, .deep = 4, 'r', .first = k}, e[2] = {[1].c = 5, [0].high = k}; c.high++; a.c = b.d; return a.both + a.d + a.last + a.c + b.low * 10 + b.high * 100 + b.deep * 1000 + b.last + c.both + c.c + c.first * 7 + c.deep + e[1].c * 3 + e[0].both; } // 340171 405715 471259 667891
struct gaps { unsigned a : 3; unsigned : 5; unsigned b : 4; int : 0; short c : 6; unsigned char : 3, d : 2; _Bool e : 1; long : 0; long w : 33; unsigned : 7; int last; };
union bytes { struct gaps g; struct bits b; struct packed_bits p; struct layers l; struct nested n; mixed m; struct wrapped w; unsigned char at[96]; };
static int summed(const unsigned char *at, int n) { unsigned s = 1; for (int i = 0; i < n; i++) s = s * 31 + at[i] + i; return (int)(s % 1000003); }
int t_layout(int k) { union bytes u, v; __builtin_memset(&u, 0, sizeof u); __builtin_memset(&v, 0, sizeof v); u.g.a = 5; u.g.b = k + 3; u.g.c = -7; u.g.d = 2; u.g.e = k; u.g.w = -k; u.g.last = k * 1000; v.b.a = 3; v.b.b = -k; v.b.c = 77; v.b.d = 200; v.b.e = 1; v.b.w = 1234567 * (k + 1); int s = summed(u.at, sizeof(struct gaps)) + summed(v.at, sizeof(struct bits)); __builtin_memset(&v, 255, sizeof v); v.p.lo = k; v.p.hi = 9; v.p.last = -3; return s + summed(v.at, sizeof(struct packed_bits)) + (int)sizeof(struct gaps) * 100; } // 937449 696963 1339642 1527067
int t_offsets_of_members(int k) { union bytes u; __builtin_memset(&u, 0, sizeof u); u.l = (struct layers){1, .high = k, .low = 4, {5, {'a', 'b'}}, 6}; int s = summed(u.at, sizeof(struct layers)); u.n = (struct nested){{{1, 2}, {k, 4}}, {"name", BLUE}, 0.5}; s += u.at[4] + u.at[8] * 3 + u.at[16] + u.at[24] * 5 + u.at[39]; u.m.d = 2.5; u.m.f = k; u.m.s = 7; u.m.c = 'z'; s += summed(u.at, 15); u.w.c = 'q'; u.w.u.u = 0x01020304u * k; return s + u.at[0] + u.at[4] + u.at[7] * 9; } // 197809 284986 1104462 867426
int t_into(int k) { int s = 1; if (k == 1) goto inside; if (k == 2) goto behind; if (0) { inside: s += 5; { s *= 2; behind: s += 30; } } while (0) { late: s += 700; break; } if (k == 5 && s < 500) { k = 0; goto late; } return s; } // 1 42 31 701
int t_unreached(int k) { int s = k; if (s > 1) { return s * 3; dead: s += 100; if (s < 400) goto again; return -s; } for (;;) { if (k == 0) goto dead; break; again: s += 7; k++; } switch (k) { s = 9999; case 1: s += 2; break; for (;;) { case 2: s += 40; break; } } return s; } // 109 3 6 15
