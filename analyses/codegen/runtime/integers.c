// Products and quotients for processors that multiply 16 bits by 16 and have no division, and bytes moved and set.
// Shifts, sums and comparisons alone beside those products. A division by zero gives all ones and leaves the dividend.

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

u64 u32_multiply_wide(u32 a, u32 b) {
  u32 al = a & 0xffff, ah = a >> 16, bl = b & 0xffff, bh = b >> 16;
  u32 low = al * bl, high = ah * bh, cross = al * bh, other = ah * bl;
  u64 middle = (u64)cross + other;
  return ((u64)high << 32) + (middle << 16) + low;
}

u32 u32_multiply(u32 a, u32 b) {
  u32 al = a & 0xffff, bl = b & 0xffff;
  return al * bl + ((al * (b >> 16) + (a >> 16) * bl) << 16);
}

u64 u64_multiply(u64 a, u64 b) {
  u32 al = (u32)a, bl = (u32)b;
  u32 cross = u32_multiply(al, (u32)(b >> 32)) + u32_multiply((u32)(a >> 32), bl);
  return u32_multiply_wide(al, bl) + ((u64)cross << 32);
}

// The high half of a product.
u64 u64_multiply_high(u64 a, u64 b) {
  u32 al = (u32)a, ah = (u32)(a >> 32), bl = (u32)b, bh = (u32)(b >> 32);
  u64 low = u32_multiply_wide(al, bl), high = u32_multiply_wide(ah, bh);
  u64 first = u32_multiply_wide(al, bh), second = u32_multiply_wide(ah, bl);
  u64 middle = (low >> 32) + (u32)first + (u32)second;
  return high + (first >> 32) + (second >> 32) + (middle >> 32);
}

// One bit of the quotient a round: the remainder takes the dividend's highest bit.
u32 u32_divide(u32 a, u32 b) {
  u32 rest = 0, out = 0;
  int round;
  if (b == 0) return 0xffffffff;
  for (round = 0; round < 32; round++) {
    u32 carry = rest >> 31;
    rest = rest << 1 | a >> 31;
    a <<= 1;
    out <<= 1;
    if (carry || rest >= b) {
      rest -= b;
      out |= 1;
    }
  }
  return out;
}

u32 u32_remainder(u32 a, u32 b) {
  u32 rest = 0;
  int round;
  if (b == 0) return a;
  for (round = 0; round < 32; round++) {
    u32 carry = rest >> 31;
    rest = rest << 1 | a >> 31;
    a <<= 1;
    if (carry || rest >= b) rest -= b;
  }
  return rest;
}

u64 u64_divide(u64 a, u64 b) {
  u64 rest = 0, out = 0;
  int round;
  if (b == 0) return ~(u64)0;
  for (round = 0; round < 64; round++) {
    u64 carry = rest >> 63;
    rest = rest << 1 | a >> 63;
    a <<= 1;
    out <<= 1;
    if (carry || rest >= b) {
      rest -= b;
      out |= 1;
    }
  }
  return out;
}

u64 u64_remainder(u64 a, u64 b) {
  u64 rest = 0;
  int round;
  if (b == 0) return a;
  for (round = 0; round < 64; round++) {
    u64 carry = rest >> 63;
    rest = rest << 1 | a >> 63;
    a <<= 1;
    if (carry || rest >= b) rest -= b;
  }
  return rest;
}

// Towards zero; the remainder has the dividend's sign.
int i32_divide(int a, int b) {
  u32 size = u32_divide(a < 0 ? 0u - (u32)a : (u32)a, b < 0 ? 0u - (u32)b : (u32)b);
  if (b == 0) return -1;
  return (int)((a < 0) != (b < 0) ? 0u - size : size);
}

int i32_remainder(int a, int b) {
  u32 size = u32_remainder(a < 0 ? 0u - (u32)a : (u32)a, b < 0 ? 0u - (u32)b : (u32)b);
  return (int)(a < 0 ? 0u - size : size);
}

i64 i64_divide(i64 a, i64 b) {
  u64 size = u64_divide(a < 0 ? 0 - (u64)a : (u64)a, b < 0 ? 0 - (u64)b : (u64)b);
  if (b == 0) return -1;
  return (i64)((a < 0) != (b < 0) ? 0 - size : size);
}

i64 i64_remainder(i64 a, i64 b) {
  u64 size = u64_remainder(a < 0 ? 0 - (u64)a : (u64)a, b < 0 ? 0 - (u64)b : (u64)b);
  return (i64)(a < 0 ? 0 - size : size);
}

void bytes_copy(unsigned char *to, const unsigned char *from, u32 count) {
  u32 at;
  for (at = 0; at < count; at++) to[at] = from[at];
}

// The places may overlap.
void bytes_move(unsigned char *to, const unsigned char *from, u32 count) {
  u32 at;
  if (to <= from) {
    for (at = 0; at < count; at++) to[at] = from[at];
  } else {
    for (at = count; at > 0; at--) to[at - 1] = from[at - 1];
  }
}

void bytes_set(unsigned char *to, int value, u32 count) {
  u32 at;
  for (at = 0; at < count; at++) to[at] = (unsigned char)value;
}
