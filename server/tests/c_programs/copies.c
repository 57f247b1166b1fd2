/* memcpy, memmove and memset of constant sizes, between operands of all alignments. */
extern void *memcpy(void *, const void *, unsigned long), *memmove(void *, const void *, unsigned long);
extern void *memset(void *, int, unsigned long);

static const unsigned char table[32] = {1, 2, 3, 4, 5, 6, 7, 200, 201, 250, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
struct pair { int a; long b; short c[3]; };

long word(int k) { unsigned v; memcpy(&v, table + k, 4); return v; }
long wide(int k) { long v = 0; memcpy(&v, table + k, sizeof v); return v; }
int real(int k) { double d; long bits = 0x4000000000000000l + k * 0x10000000000l; memcpy(&d, &bits, 8); return (int)(d * 100); }
int single(int k) { float f = k * 1.5f; int bits; memcpy(&bits, &f, 4); return bits; }
long odd(int k) { unsigned char t[7]; memcpy(t, table + k, 7); long s = 0; for (int i = 0; i < 7; i++) s = s * 3 + t[i]; return s; }
long whole(int k) { struct pair x = {k, k * 7, {1, 2, k}}, y; memcpy(&y, &x, sizeof x); return y.a + y.b * 3 + y.c[2] * 5; }
long part(int k) { struct pair x = {k, k * 7, {1, 2, k}}; long b; memcpy(&b, &x.b, sizeof b); memcpy(&x.a, &b, 4); return b + x.a; }
int moved(int k) { int x[9]; for (int i = 0; i < 9; i++) x[i] = i * k + 1; memmove(x + 1, x, 28); int s = 0; for (int i = 0; i < 9; i++) s = s * 3 + x[i]; return s; }
int back(int k) { char x[12]; for (int i = 0; i < 12; i++) x[i] = i * k + 1; memmove(x, x + 3, 9); int s = 0; for (int i = 0; i < 12; i++) s = s * 3 + x[i]; return s; }
int filled(int k) { unsigned short x[5] = {0}; memset(x, 0xab, 7); return x[k % 5]; }
long cleared(int k) { struct pair x = {k, k, {k, k, k}}; memset(&x, 0, sizeof x); return x.a + x.b + x.c[k % 3] + k; }
int varied(int k) { int v; memset(&v, k * 17, sizeof v); return v; }
int into(int k) { char t[8] = {0}; int v = k * 1000003; memcpy(t + 1, &v, 4); return t[1] + t[2] * 3 + t[3] * 5 + t[4] * 7; }
int swapped(int k) { int a = k, b = k * 3 + 1, t; memcpy(&t, &a, 4); memcpy(&a, &b, 4); memcpy(&b, &t, 4); return a * 100 + b; }
int nothing(int k) { int a = k; memcpy(&a, table, 0); return a; }
int small(int k) { short v = 0x1234; char c; memcpy(&c, &v, 1); memcpy((char *)&v + 1, &c, 1); return v + k; }
