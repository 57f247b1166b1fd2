// The basic operations as their definitions say, in wide arithmetic: what the host computes.
#define round basic_round
typedef short Word16;
typedef int Word32;
typedef long long Word40;
typedef int Flag;
static Flag Overflow, Carry;

static long long clamp(long long x, long long low, long long high) {
  if (x < low || x > high) Overflow = 1;
  return x < low ? low : x > high ? high : x;
}
static Word16 to16(long long x) { return (Word16)clamp(x, -32768, 32767); }
static Word32 to32(long long x) { return (Word32)clamp(x, -2147483648LL, 2147483647LL); }
static Word40 to40(unsigned long long x) { return (long long)(x << 24) >> 24; }
// Positive places go left; nothing is kept beyond the limits.
static long long place(long long x, int places, int most) {
  for (; places > 0 && most-- > 0; places--) x *= 2;
  for (; places < 0 && most-- > 0; places++) x >>= 1;
  return x;
}

Word16 add(Word16 a, Word16 b) { return to16((long long)a + b); }
Word16 sub(Word16 a, Word16 b) { return to16((long long)a - b); }
Word16 abs_s(Word16 a) { return a == -32768 ? 32767 : a < 0 ? -a : a; }
Word16 negate(Word16 a) { return a == -32768 ? 32767 : -a; }
Word16 shl(Word16 a, Word16 n) { return to16(place(a, n, 17)); }
Word16 shr(Word16 a, Word16 n) { return to16(place(a, -n, 17)); }
static int odd_before(long long a, int n) { return n > 0 && place(a, 1 - n, 40) & 1; }
Word16 shr_r(Word16 a, Word16 n) { return shr(a, n) + odd_before(a, n); }
Word16 shl_nosat(Word16 a, Word16 n) { return (Word16)place(a, n, 17); }
Word16 shr_nosat(Word16 a, Word16 n) { return (Word16)place(a, -n, 17); }
Word32 L_mult(Word16 a, Word16 b) { return to32(2LL * a * b); }
Word16 mult(Word16 a, Word16 b) { return to16((long long)a * b >> 15); }
Word16 mult_r(Word16 a, Word16 b) { return to16(((long long)a * b + 16384) >> 15); }
Word16 i_mult(Word16 a, Word16 b) { return to16((long long)a * b); }
static int free_places(long long x, int bits) {
  int n = 0;
  if (x == 0) return 0;
  while (n < bits - 1 && x >= -(1LL << (bits - 2)) && x < 1LL << (bits - 2)) { x *= 2; n++; }
  return n;
}
Word16 norm_s(Word16 a) { return free_places(a, 16); }
Word16 norm_l(Word32 a) { return free_places(a, 32); }
Word16 div_s(Word16 a, Word16 b) { return a == b ? 32767 : (Word16)(((long long)a << 15) / b); }
Word32 L_add(Word32 a, Word32 b) { return to32((long long)a + b); }
Word32 L_sub(Word32 a, Word32 b) { return to32((long long)a - b); }
Word16 round(Word32 a) { return L_add(a, 0x8000) >> 16; }
Word16 round_fx(Word32 a) { return round(a); }
Word16 extract_h(Word32 a) { return a >> 16; }
Word16 extract_l(Word32 a) { return (Word16)a; }
Word16 saturate(Word32 a) { return to16(a); }
Word32 L_mac(Word32 s, Word16 a, Word16 b) { return L_add(s, L_mult(a, b)); }
Word32 L_msu(Word32 s, Word16 a, Word16 b) { return L_sub(s, L_mult(a, b)); }
Word16 mac_r(Word32 s, Word16 a, Word16 b) { return round(L_mac(s, a, b)); }
Word16 msu_r(Word32 s, Word16 a, Word16 b) { return round(L_msu(s, a, b)); }
Word16 max(Word16 a, Word16 b) { return a > b ? a : b; }
Word16 min(Word16 a, Word16 b) { return a < b ? a : b; }
static long long size(long long x) { return x < 0 ? -x : x; }
Word16 maxm(Word16 a, Word16 b) { return size(a) < size(b) ? b : a; }
Word16 s_max(Word16 a, Word16 b) { return max(a, b); }
Word16 s_min(Word16 a, Word16 b) { return min(a, b); }
Word16 s_and(Word16 a, Word16 b) { return a & b; }
Word16 s_or(Word16 a, Word16 b) { return a | b; }
Word16 s_xor(Word16 a, Word16 b) { return a ^ b; }
Word16 lshl(Word16 a, Word16 n) { return (Word16)place((unsigned short)a, n, 17); }
Word16 lshr(Word16 a, Word16 n) { return (Word16)place((unsigned short)a, -n, 17); }
Word32 L_abs(Word32 a) { return (Word32)(size(a) > 2147483647 ? 2147483647 : size(a)); }
Word32 L_negate(Word32 a) { return a == -2147483647 - 1 ? 2147483647 : -a; }
Word32 L_shl(Word32 a, Word16 n) { return to32(place(a, n, 32)); }
Word32 L_shr(Word32 a, Word16 n) { return to32(place(a, -n, 32)); }
Word32 L_shr_r(Word32 a, Word16 n) { return L_shr(a, n) + odd_before(a, n); }
Word32 L_shl_nosat(Word32 a, Word16 n) { return (Word32)place(a, n, 32); }
Word32 L_shr_nosat(Word32 a, Word16 n) { return (Word32)place(a, -n, 32); }
Word32 L_mult0(Word16 a, Word16 b) { return a * b; }
Word32 L_mac0(Word32 s, Word16 a, Word16 b) { return L_add(s, a * b); }
Word32 L_msu0(Word32 s, Word16 a, Word16 b) { return L_sub(s, a * b); }
Word32 L_deposit_h(Word16 a) { return (Word32)((unsigned)a << 16); }
Word32 L_deposit_l(Word16 a) { return a; }
Word32 L_max(Word32 a, Word32 b) { return a > b ? a : b; }
static Word32 halves(Word16 high, Word16 low) { return (Word32)((unsigned)high << 16 | (low & 0xffffu)); }
Word32 add2(Word32 a, Word32 b) { return halves((Word16)((a >> 16) + (b >> 16)), (Word16)(a + (unsigned)b)); }
Word32 sub2(Word32 a, Word32 b) { return halves((Word16)((a >> 16) - (b >> 16)), (Word16)(a - (unsigned)b)); }
Word32 max2(Word32 a, Word32 b) { return halves(max((Word16)(a >> 16), (Word16)(b >> 16)), max((Word16)a, (Word16)b)); }
Word32 L_min(Word32 a, Word32 b) { return a < b ? a : b; }
Word32 L_maxm(Word32 a, Word32 b) { return size(a) < size(b) ? b : a; }
Word32 L_and(Word32 a, Word32 b) { return a & b; }
Word32 L_or(Word32 a, Word32 b) { return a | b; }
Word32 L_xor(Word32 a, Word32 b) { return a ^ b; }
Word32 L_lshl(Word32 a, Word16 n) { return (Word32)place((unsigned)a, n, 32); }
Word32 L_lshr(Word32 a, Word16 n) { return (Word32)place((unsigned)a, -n, 32); }
Word32 L_rol(Word32 a, Word16 n) {
  for (n &= 31; n > 0; n--) a = (Word32)((unsigned)a << 1 | (unsigned)a >> 31);
  return a;
}
Word32 L_ror(Word32 a, Word16 n) {
  for (n &= 31; n > 0; n--) a = (Word32)((unsigned)a >> 1 | (unsigned)a << 31);
  return a;
}
// Both flags are those of the sum without the carry, and of the step that the carry adds.
static Word32 carried(Word32 a, Word32 b, int carry) {
  Word32 first = (Word32)((unsigned)a + (unsigned)b);
  int out = (unsigned long long)(unsigned)a + (unsigned)b >> 32 != 0;
  Overflow = (long long)a + b != first || (carry && first == 2147483647);
  Carry = out || (carry && first == -1);
  return (Word32)((unsigned)first + carry);
}
Word32 L_add_c(Word32 a, Word32 b) { return carried(a, b, Carry != 0); }
Word32 L_sub_c(Word32 a, Word32 b) {
  long long rest = (long long)a - b;
  Word32 wrapped = (Word32)rest;
  if (Carry) {
    if (b != -2147483647 - 1) return carried(a, -b, 0);
    Carry = 0;
    if (a > 0) Overflow = 1;
    return wrapped;
  }
  // Of numbers alike the flag is cleared where something is left; what has the wrong sign is lost.
  if (a > 0 && b < 0 && wrapped < 0) Overflow = 1;
  else if (a < 0 && b > 0 && wrapped > 0) Overflow = 1, Carry = 1;
  else if (wrapped > 0 && (a ^ b) > 0) Overflow = 0, Carry = 1;
  if (wrapped == -2147483647 - 1) Overflow = 1;
  return (Word32)((unsigned)wrapped - 1);
}
Word32 L_macNs(Word32 s, Word16 a, Word16 b) { return L_add_c(s, L_mult(a, b)); }
Word32 L_msuNs(Word32 s, Word16 a, Word16 b) { return L_sub_c(s, L_mult(a, b)); }
Word32 L_sat(Word32 a) {
  if (!Overflow) return a;
  a = Carry ? -2147483647 - 1 : 2147483647;
  return Overflow = Carry = 0, a;
}
Word40 X_add(Word40 a, Word40 b) { return to40(a + b); }
Word40 X_sub(Word40 a, Word40 b) { return to40(a - b); }
Word40 X_mult(Word16 a, Word16 b) { return 2LL * a * b; }
Word40 X_mac(Word40 s, Word16 a, Word16 b) { return to40(s + 2LL * a * b); }
Word40 X_msu(Word40 s, Word16 a, Word16 b) { return to40(s - 2LL * a * b); }
Word40 X_shl(Word40 a, Word16 n) { return to40(n > 63 ? 0 : n >= 0 ? (unsigned long long)a << n : place(a, n, 64)); }
Word40 X_shr(Word40 a, Word16 n) { return to40(n < -63 ? 0 : n <= 0 ? (unsigned long long)a << -n : place(a, -n, 64)); }
Word40 X_abs(Word40 a) { return to40(size(a)); }
Word40 X_negate(Word40 a) { return to40(-a); }
Word16 X_norm(Word40 a) { return a == 0 ? 0 : free_places(a, 64) - 32; }
Word40 X_extend(Word32 a) { return a; }
Word32 X_trunc(Word40 a) { return (Word32)a; }
Word32 X_sat(Word40 a) { return to32(a); }
