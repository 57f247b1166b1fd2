// HLSL, a function a construct: the comment behind each says what it is for k = 0, 1, 2, 5.
struct Light { float3 position; uint kind; float2 range; };
struct Holder { Light lights[2]; int2x2 m; };
static int counted = 5;
enum Mode { None, Some = 4, More };
namespace inner { int twice(int x) { return 2 * x; } }
int over(int x) { return x + 1; }
int over(uint x) { return x + 2; }
int over(float x) { return (int)(x * 4); }
int over(int2 x) { return x.x * 10 + x.y; }
int over(float3 x) { return (int)(x.x * 100 + x.y * 10 + x.z); }
void both(in int a, out int b, inout int c) { b = a * 2; c += b; a = 0; }
int last(int a, int b = 4) { return a * 10 + b; }
template <typename T> T larger(T a, T b) { return a < b ? b : a; }

int t_convert(int k) { float3 f = float3(k + 0.75, -1.5, 2.25); int3 i = (int3)f; uint3 u = uint3(f.zxz); bool3 b = (bool3)i; float3 back = i; half3 h = (half3)f; return i.x * 100 + i.y * 10 + i.z + u.x * 1000 + u.y * 10000 + b.x + b.y * 2 + b.z * 4 + (int)(back.y * 8) + (int)(h.z * 4); } // 1999 12100 22200 52500
int t_swizzle(int k) { int4 v = int4(k, 2, 3, 4); v.xz = v.zx; v.w += v.y; int2 s = v.ww; v.yx = s + int2(1, 2); v.rgb.b *= 3; return v.x * 1000 + v.y * 100 + v.z * 10 + v.w; } // 8706 8736 8766 8856
int t_splat(int k) { int3 a = k; a += 2; int3 b = a * int3(1, 10, 100); b.y -= a; float4 f = 1.5; f *= k; return b.x + b.y + b.z + (int)dot(f, float4(1, 2, 3, 4)); } // 220 345 470 845
int t_truncate(int k) { int4 a = int4(1, k, 3, 4); int2 b = (int2)a; int c = (int)a.yzw.x; float f = a.x; int3x3 m = {1, 2, 3, 4, 5, 6, 7, 8, 9}; int2x2 n = (int2x2)m; return b.x * 100 + b.y * 10 + c + (int)f * 1000 + n._m00 + n._m01 * 2 + n._m10 * 3 + n._m11 * 5; } // 1142 1153 1164 1197
int t_matrix(int k) { int2x3 m = int2x3(1, 2, k, 4, 5, 6); m[1] += 10; m._m00_m12 = int2(7, 8); m._11 -= 1; int3 row = m[0]; int2 column = m._12_22; int3x2 t = transpose(m); return row.x * 1000 + row.y * 100 + row.z * 10 + column.x + column.y + m[1][0] * 3 + t[2].y * 7 + t[0][1]; } // 6329 6339 6349 6379
int t_multiply(int k) { int2x2 a = int2x2(1, k, 3, 4), b = int2x2(5, 6, 7, 8); int2x2 c = mul(a, b), d = a * b; int2 v = mul(int2(1, 2), a), w = mul(a, int2(1, 2)); return c._11 * 1000 + c._12 * 100 + c._21 * 10 + c._22 + d._12 + v.x * 3 + v.y * 5 + w.x * 7 + w.y * 11 + determinant((float2x2)a); } // 6273 14095 21917 45383
int t_compare(int k) { int3 a = int3(k, 2, 5); bool3 b = a < 3, c = a == a.yxz, d = !b; return b.x + b.y * 2 + b.z * 4 + c.x * 8 + c.z * 16 + d.z * 32 + all(b.xy) * 64 + any(c.xy) * 128 + (any(a - 5) ? 256 : 0) + (k > 1 && a.y > 1) * 512; } // 371 371 1019 818
int t_select(int k) { int4 a = int4(1, 2, 3, 4), b = a * 10; int4 c = k > 1 ? a : b; int2 d = bool2(k == 0, k != 0) ? a.xy : b.xy; return c.x + c.w + d.x * 100 + d.y * 1000; } // 20150 3050 3005 3005
int t_structure(int k) { Holder h = (Holder)0; h.lights[1].position = float3(k, 2, 3); h.lights[1].kind = 7; h.lights[k & 1].range.y = 0.5; h.m[1] = int2(8, 9); Holder g = h; g.lights[1].position.y += k; Light l = g.lights[1]; return (int)(l.position.x + l.position.y * 10 + h.lights[1].position.y * 100) + (int)(l.range.y * 2) * 1000 + g.m._21 * 7 + l.kind + (int)(h.lights[0].range.y * 4); } // 285 1294 307 1338
int t_list(int k) { Light l = {{1, 2, k}, 4, {0.5, 6}}; int a[2][3] = {{1, 2, 3}, {4, k, 6}}; int2 v[2] = {1, 2, 3, 4}; a[1][k % 3] += 10; return (int)l.position.z + l.kind * 10 + (int)(l.range.x * 2) * 100 + a[1][0] + a[1][1] * 3 + a[1][2] * 5 + v[1].x * 1000; } // 3184 3208 3232 3244
int t_overload(int k) { uint u = k; float f = k + 0.5; return over(k) + over(u) * 10 + over(f) * 100 + over(int2(k, 3)) * 1000 + over(float3(f, k, 1)) + over(f.xxx) + (int)larger(f, 1.0) + larger(k, 3) * 7; } // 3349 13981 24614 56527
int t_out(int k) { int b, c = 3; both(k, b, c); int v[2] = {1, 2}; int x = k; both(5, v[k & 1], x); int2 w = 1; both(k, w.y, w.x); return b + c * 10 + v[0] * 100 + v[1] * 1000 + x * 7 + w.x * 3 + w.y * 5 + last(k) + last(k, 1) * 2; } // 3109 10284 3259 10584
int t_static(int k) { counted += k; static int own = 2; own *= 3; const int local[] = {5, 6}; return counted + own * 10 + local[k & 1] * 100 + inner::twice(k) + Mode::More + (Some == 4) * 1000; } // 1570 1673 1576 1685
int t_loops(int k) { int s = 0; [unroll] for (int i = 0; i < 4; i++) { if (i == k) continue; s = s * 10 + i; } [loop] while (s > 100) { s -= 97; if (s % 5 == k) break; } do { s++; } while (s % 4); switch (k) { case 0: case 1: s += 100; break; case 2: { s += 200; break; } default: s += 300; } return s; } // 128 124 216 328
int t_bits(int k) { uint u = 0xf0u << k; int n = -9 >> k; return countbits(u) + firstbithigh(u) * 10 + firstbitlow(u) * 100 + reversebits(u + 1) % 1000 + (n & 15) * 3 + (asint(1.0f) >> 23) + (asuint(-2.0f) >> 30) + (int)asfloat(0x40400000 + k) + (int)f16tof32(f32tof16(k + 0.5)) + (u % 7u) + (n / 2) * 5; } // 1498 1513 1072 2176
int t_library(int k) { float x = k * 0.5 - 0.25; float3 v = float3(x, -x, 2); return (int)(abs(v).y * 8) + (int)(clamp(x, 0, 1) * 16) * 10 + (int)(lerp(1, 3, x) * 4) * 100 + (int)(saturate(x) * 4) + (int)(step(0.5, x) * 1000) + (int)(smoothstep(0, 1, x) * 64) + (int)(dot(v, v) * 16) + (int)(cross(v, float3(1, 0, 0)).y * 8) * 3 + (int)(length(float2(3, 4)) * 7) + (int)(max(v.x, v.z) + min(x, 2)) + (int)sign(x) * 5 + (int)(fmod(x, 1) * 32) + (int)(frac(x) * 16) + (int)distance(v.xy, 0); } // 351 821 2392 3779
