// Floating point of IEEE 754 in integers, rounded to nearest, halves to even: for processors without it.
//
// A number is taken apart into its sign, its biased exponent and a word whose highest bit but one is the leading one of the
// significand; the bits below the significand's own round it, and the lowest of them is set if anything was lost below. A NaN
// is the quiet one without a payload. Conversions to integers go towards zero and saturate; a NaN becomes 0.

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

u64 u32_multiply_wide(u32 a, u32 b);
u64 u64_multiply(u64 a, u64 b);
u64 u64_multiply_high(u64 a, u64 b);

// The high half of a product, with what is lost in its lowest bit.
static u64 f64_high_product(u64 a, u64 b) {
  u64 low = u64_multiply(a, b);
  return u64_multiply_high(a, b) | (low != 0);
}

// ---------------------------------------------------------------- 64 bits

static int f64_is_nan(u64 a) { return (a & 0x7fffffffffffffffull) > 0x7ff0000000000000ull; }

// To the right; what is lost leaves the lowest bit set.
static u64 f64_sticky(u64 a, int places) {
  if (places <= 0) return a;
  if (places >= 64) return a != 0;
  return a >> places | ((a & (((u64)1 << places) - 1)) != 0);
}

// The leading one of `word` stands at 62, or below where the exponent is as small as it can be.
static u64 f64_packed(u64 sign, int exponent, u64 word) {
  u64 low, out;
  if (exponent >= 2047) return sign | 0x7ff0000000000000ull;
  if (exponent <= 0) {
    word = f64_sticky(word, 1 - exponent);
    exponent = 1;
  }
  low = word & 1023u;
  word = (word + 512u) >> 10;
  if (low == 512u) word &= ~(u64)1;
  out = ((u64)(exponent - 1) << 52) + word;
  return sign | (out >= 0x7ff0000000000000ull ? 0x7ff0000000000000ull : out);
}

// The leading one goes to 62.
static u64 f64_normal(u64 sign, int exponent, u64 word) {
  if (word == 0) return sign;
  while (!(word >> 62)) {
    word <<= 1;
    exponent--;
  }
  return f64_packed(sign, exponent, word);
}

static int f64_exponent(u64 a) {
  int exponent = (int)(a >> 52 & 2047);
  return exponent ? exponent : 1;
}

static u64 f64_significand(u64 a) {
  u64 fraction = a & (((u64)1 << 52) - 1);
  return a & 0x7ff0000000000000ull ? fraction | (u64)1 << 52 : fraction;
}

u64 f64_add(u64 a, u64 b) {
  u64 sign, x, y;
  int ea, eb;
  if (f64_is_nan(a) || f64_is_nan(b)) return 0x7ff8000000000000ull;
  if ((a & 0x7fffffffffffffffull) < (b & 0x7fffffffffffffffull)) {
    u64 other = a;
    a = b;
    b = other;
  }
  // Now `a` is the larger one, whose sign the sum has.
  if ((a & 0x7fffffffffffffffull) == 0x7ff0000000000000ull) {
    return (b & 0x7fffffffffffffffull) == 0x7ff0000000000000ull && a != b ? 0x7ff8000000000000ull : a;
  }
  sign = a & 0x8000000000000000ull;
  ea = f64_exponent(a);
  eb = f64_exponent(b);
  x = f64_significand(a) << 10;
  y = f64_sticky(f64_significand(b) << 10, ea - eb);
  if ((a ^ b) & 0x8000000000000000ull) {
    x -= y;
    return x == 0 ? 0 : f64_normal(sign, ea, x);
  }
  x += y;
  if (x >> (62 + 1)) {
    x = f64_sticky(x, 1);
    ea++;
  }
  return f64_normal(sign, ea, x);
}

u64 f64_subtract(u64 a, u64 b) { return f64_is_nan(b) ? 0x7ff8000000000000ull : f64_add(a, b ^ 0x8000000000000000ull); }

u64 f64_multiply(u64 a, u64 b) {
  u64 sign = (a ^ b) & 0x8000000000000000ull, x, y;
  int ea, eb;
  if (f64_is_nan(a) || f64_is_nan(b)) return 0x7ff8000000000000ull;
  a &= 0x7fffffffffffffffull;
  b &= 0x7fffffffffffffffull;
  if (a == 0x7ff0000000000000ull || b == 0x7ff0000000000000ull) return a == 0 || b == 0 ? 0x7ff8000000000000ull : sign | 0x7ff0000000000000ull;
  if (a == 0 || b == 0) return sign;
  ea = f64_exponent(a);
  eb = f64_exponent(b);
  x = f64_significand(a);
  y = f64_significand(b);
  while (!(x >> 52)) x <<= 1, ea--;
  while (!(y >> 52)) y <<= 1, eb--;
  return f64_normal(sign, ea + eb - (1023 - 1), f64_high_product(x << 10, y << (10 + 1)));
}

u64 f64_divide(u64 a, u64 b) {
  u64 sign = (a ^ b) & 0x8000000000000000ull, x, y, quotient = 0;
  int ea, eb, round;
  if (f64_is_nan(a) || f64_is_nan(b)) return 0x7ff8000000000000ull;
  a &= 0x7fffffffffffffffull;
  b &= 0x7fffffffffffffffull;
  if (a == 0x7ff0000000000000ull) return b == 0x7ff0000000000000ull ? 0x7ff8000000000000ull : sign | 0x7ff0000000000000ull;
  if (b == 0) return a == 0 ? 0x7ff8000000000000ull : sign | 0x7ff0000000000000ull;
  if (a == 0 || b == 0x7ff0000000000000ull) return sign;
  ea = f64_exponent(a);
  eb = f64_exponent(b);
  x = f64_significand(a);
  y = f64_significand(b);
  while (!(x >> 52)) x <<= 1, ea--;
  while (!(y >> 52)) y <<= 1, eb--;
  if (x < y) x <<= 1, ea--;
  for (round = 0; round <= 62; round++) {
    quotient <<= 1;
    if (x >= y) {
      x -= y;
      quotient |= 1;
    }
    x <<= 1;
  }
  return f64_packed(sign, ea - eb + 1023, quotient | (x != 0));
}

int f64_equal(u64 a, u64 b) {
  if (f64_is_nan(a) || f64_is_nan(b)) return 0;
  return a == b || ((a | b) & 0x7fffffffffffffffull) == 0;
}

int f64_less(u64 a, u64 b) {
  if (f64_is_nan(a) || f64_is_nan(b) || ((a | b) & 0x7fffffffffffffffull) == 0) return 0;
  if ((a ^ b) & 0x8000000000000000ull) return a >> (64 - 1) != 0;
  return a >> (64 - 1) ? a > b : a < b;
}

int f64_less_equal(u64 a, u64 b) { return f64_less(a, b) || f64_equal(a, b); }

// The operand that is a number, where one is none; -0 is below 0.
u64 f64_minimum(u64 a, u64 b) {
  if (f64_is_nan(a)) return f64_is_nan(b) ? 0x7ff8000000000000ull : b;
  if (f64_is_nan(b)) return a;
  if (((a | b) & 0x7fffffffffffffffull) == 0) return a | b;
  return f64_less(a, b) ? a : b;
}

u64 f64_maximum(u64 a, u64 b) {
  if (f64_is_nan(a)) return f64_is_nan(b) ? 0x7ff8000000000000ull : b;
  if (f64_is_nan(b)) return a;
  if (((a | b) & 0x7fffffffffffffffull) == 0) return a & b;
  return f64_less(a, b) ? b : a;
}

u64 f64_truncate(u64 a) {
  int exponent = (int)(a >> 52 & 2047) - 1023;
  if (f64_is_nan(a)) return 0x7ff8000000000000ull;
  if (exponent < 0) return a & 0x8000000000000000ull;
  if (exponent >= 52) return a;
  return a & ~(((u64)1 << (52 - exponent)) - 1);
}

u64 f64_floor(u64 a) {
  u64 whole = f64_truncate(a);
  return a & 0x8000000000000000ull && whole != a && !f64_is_nan(a) ? f64_subtract(whole, 0x3ff0000000000000ull) : whole;
}

u64 f64_ceil(u64 a) {
  u64 whole = f64_truncate(a);
  return !(a & 0x8000000000000000ull) && whole != a && !f64_is_nan(a) ? f64_add(whole, 0x3ff0000000000000ull) : whole;
}

// Halves go away from zero.
u64 f64_round(u64 a) {
  u64 whole = f64_truncate(a), rest;
  if (f64_is_nan(a) || whole == a) return whole;
  rest = f64_subtract(a, whole) & 0x7fffffffffffffffull;
  return rest < 0x3fe0000000000000ull ? whole : f64_add(whole, (a & 0x8000000000000000ull) | 0x3ff0000000000000ull);
}

// One bit of the root a round, of two bits of the number.
u64 f64_square_root(u64 a) {
  u64 x, rest = 0, root = 0;
  int exponent, round;
  if (f64_is_nan(a)) return 0x7ff8000000000000ull;
  if ((a & 0x7fffffffffffffffull) == 0) return a;
  if (a & 0x8000000000000000ull) return 0x7ff8000000000000ull;
  if (a == 0x7ff0000000000000ull) return a;
  exponent = f64_exponent(a) - 1075;
  x = f64_significand(a);
  while (!(x >> 52)) x <<= 1, exponent--;
  if (exponent & 1) x <<= 1, exponent--;
  for (round = 0; round < 27 + 29; round++) {
    u64 least = root << 2 | 1;
    rest = rest << 2 | (x >> 52 & 3);
    x <<= 2;
    root <<= 1;
    if (rest >= least) {
      rest -= least;
      root |= 1;
    }
  }
  return f64_packed(0, 1023 + 26 + (exponent >> 1), root << 7 | (rest != 0));
}

u64 f64_of_u64(u64 a) {
  int exponent = 1023 + 63;
  if (a == 0) return 0;
  while (!(a >> 63)) {
    a <<= 1;
    exponent--;
  }
  return f64_packed(0, exponent, f64_sticky(a, 1));
}

u64 f64_of_i64(i64 a) { return a < 0 ? f64_of_u64(0 - (u64)a) | 0x8000000000000000ull : f64_of_u64((u64)a); }
u64 f64_of_u32(u32 a) { return f64_of_u64(a); }
u64 f64_of_i32(int a) { return f64_of_i64(a); }

// The whole number of a size, at most `most`.
static u64 f64_whole(u64 a, u64 most) {
  int places = f64_exponent(a) - 1023 - 52;
  u64 size = f64_significand(a);
  if (places >= 64 - 52) return most;
  size = places >= 0 ? size << places : places <= -64 ? 0 : size >> -places;
  return size > most ? most : size;
}

u64 f64_to_u64(u64 a) {
  if (f64_is_nan(a) || a & 0x8000000000000000ull) return 0;
  return f64_whole(a, ~(u64)0);
}

u32 f64_to_u32(u64 a) {
  if (f64_is_nan(a) || a & 0x8000000000000000ull) return 0;
  return (u32)f64_whole(a, 0xffffffff);
}

i64 f64_to_i64(u64 a) {
  u64 half = (u64)1 << 63;
  if (f64_is_nan(a)) return 0;
  return a & 0x8000000000000000ull ? (i64)(0 - f64_whole(a & 0x7fffffffffffffffull, half)) : (i64)f64_whole(a, half - 1);
}

int f64_to_i32(u64 a) {
  if (f64_is_nan(a)) return 0;
  return (int)(a & 0x8000000000000000ull ? 0 - f64_whole(a & 0x7fffffffffffffffull, 0x80000000) : f64_whole(a, 0x7fffffff));
}

static u32 f32_high_product(u32 a, u32 b) {
  u64 both = u32_multiply_wide(a, b);
  return (u32)(both >> 32) | ((u32)both != 0);
}

// ---------------------------------------------------------------- 32 bits

static int f32_is_nan(u32 a) { return (a & 0x7fffffffu) > 0x7f800000u; }

// To the right; what is lost leaves the lowest bit set.
static u32 f32_sticky(u32 a, int places) {
  if (places <= 0) return a;
  if (places >= 32) return a != 0;
  return a >> places | ((a & (((u32)1 << places) - 1)) != 0);
}

// The leading one of `word` stands at 30, or below where the exponent is as small as it can be.
static u32 f32_packed(u32 sign, int exponent, u32 word) {
  u32 low, out;
  if (exponent >= 255) return sign | 0x7f800000u;
  if (exponent <= 0) {
    word = f32_sticky(word, 1 - exponent);
    exponent = 1;
  }
  low = word & 127u;
  word = (word + 64u) >> 7;
  if (low == 64u) word &= ~(u32)1;
  out = ((u32)(exponent - 1) << 23) + word;
  return sign | (out >= 0x7f800000u ? 0x7f800000u : out);
}

// The leading one goes to 30.
static u32 f32_normal(u32 sign, int exponent, u32 word) {
  if (word == 0) return sign;
  while (!(word >> 30)) {
    word <<= 1;
    exponent--;
  }
  return f32_packed(sign, exponent, word);
}

static int f32_exponent(u32 a) {
  int exponent = (int)(a >> 23 & 255);
  return exponent ? exponent : 1;
}

static u32 f32_significand(u32 a) {
  u32 fraction = a & (((u32)1 << 23) - 1);
  return a & 0x7f800000u ? fraction | (u32)1 << 23 : fraction;
}

u32 f32_add(u32 a, u32 b) {
  u32 sign, x, y;
  int ea, eb;
  if (f32_is_nan(a) || f32_is_nan(b)) return 0x7fc00000u;
  if ((a & 0x7fffffffu) < (b & 0x7fffffffu)) {
    u32 other = a;
    a = b;
    b = other;
  }
  // Now `a` is the larger one, whose sign the sum has.
  if ((a & 0x7fffffffu) == 0x7f800000u) {
    return (b & 0x7fffffffu) == 0x7f800000u && a != b ? 0x7fc00000u : a;
  }
  sign = a & 0x80000000u;
  ea = f32_exponent(a);
  eb = f32_exponent(b);
  x = f32_significand(a) << 7;
  y = f32_sticky(f32_significand(b) << 7, ea - eb);
  if ((a ^ b) & 0x80000000u) {
    x -= y;
    return x == 0 ? 0 : f32_normal(sign, ea, x);
  }
  x += y;
  if (x >> (30 + 1)) {
    x = f32_sticky(x, 1);
    ea++;
  }
  return f32_normal(sign, ea, x);
}

u32 f32_subtract(u32 a, u32 b) { return f32_is_nan(b) ? 0x7fc00000u : f32_add(a, b ^ 0x80000000u); }

u32 f32_multiply(u32 a, u32 b) {
  u32 sign = (a ^ b) & 0x80000000u, x, y;
  int ea, eb;
  if (f32_is_nan(a) || f32_is_nan(b)) return 0x7fc00000u;
  a &= 0x7fffffffu;
  b &= 0x7fffffffu;
  if (a == 0x7f800000u || b == 0x7f800000u) return a == 0 || b == 0 ? 0x7fc00000u : sign | 0x7f800000u;
  if (a == 0 || b == 0) return sign;
  ea = f32_exponent(a);
  eb = f32_exponent(b);
  x = f32_significand(a);
  y = f32_significand(b);
  while (!(x >> 23)) x <<= 1, ea--;
  while (!(y >> 23)) y <<= 1, eb--;
  return f32_normal(sign, ea + eb - (127 - 1), f32_high_product(x << 7, y << (7 + 1)));
}

u32 f32_divide(u32 a, u32 b) {
  u32 sign = (a ^ b) & 0x80000000u, x, y, quotient = 0;
  int ea, eb, round;
  if (f32_is_nan(a) || f32_is_nan(b)) return 0x7fc00000u;
  a &= 0x7fffffffu;
  b &= 0x7fffffffu;
  if (a == 0x7f800000u) return b == 0x7f800000u ? 0x7fc00000u : sign | 0x7f800000u;
  if (b == 0) return a == 0 ? 0x7fc00000u : sign | 0x7f800000u;
  if (a == 0 || b == 0x7f800000u) return sign;
  ea = f32_exponent(a);
  eb = f32_exponent(b);
  x = f32_significand(a);
  y = f32_significand(b);
  while (!(x >> 23)) x <<= 1, ea--;
  while (!(y >> 23)) y <<= 1, eb--;
  if (x < y) x <<= 1, ea--;
  for (round = 0; round <= 30; round++) {
    quotient <<= 1;
    if (x >= y) {
      x -= y;
      quotient |= 1;
    }
    x <<= 1;
  }
  return f32_packed(sign, ea - eb + 127, quotient | (x != 0));
}

int f32_equal(u32 a, u32 b) {
  if (f32_is_nan(a) || f32_is_nan(b)) return 0;
  return a == b || ((a | b) & 0x7fffffffu) == 0;
}

int f32_less(u32 a, u32 b) {
  if (f32_is_nan(a) || f32_is_nan(b) || ((a | b) & 0x7fffffffu) == 0) return 0;
  if ((a ^ b) & 0x80000000u) return a >> (32 - 1) != 0;
  return a >> (32 - 1) ? a > b : a < b;
}

int f32_less_equal(u32 a, u32 b) { return f32_less(a, b) || f32_equal(a, b); }

// The operand that is a number, where one is none; -0 is below 0.
u32 f32_minimum(u32 a, u32 b) {
  if (f32_is_nan(a)) return f32_is_nan(b) ? 0x7fc00000u : b;
  if (f32_is_nan(b)) return a;
  if (((a | b) & 0x7fffffffu) == 0) return a | b;
  return f32_less(a, b) ? a : b;
}

u32 f32_maximum(u32 a, u32 b) {
  if (f32_is_nan(a)) return f32_is_nan(b) ? 0x7fc00000u : b;
  if (f32_is_nan(b)) return a;
  if (((a | b) & 0x7fffffffu) == 0) return a & b;
  return f32_less(a, b) ? b : a;
}

u32 f32_truncate(u32 a) {
  int exponent = (int)(a >> 23 & 255) - 127;
  if (f32_is_nan(a)) return 0x7fc00000u;
  if (exponent < 0) return a & 0x80000000u;
  if (exponent >= 23) return a;
  return a & ~(((u32)1 << (23 - exponent)) - 1);
}

u32 f32_floor(u32 a) {
  u32 whole = f32_truncate(a);
  return a & 0x80000000u && whole != a && !f32_is_nan(a) ? f32_subtract(whole, 0x3f800000u) : whole;
}

u32 f32_ceil(u32 a) {
  u32 whole = f32_truncate(a);
  return !(a & 0x80000000u) && whole != a && !f32_is_nan(a) ? f32_add(whole, 0x3f800000u) : whole;
}

// Halves go away from zero.
u32 f32_round(u32 a) {
  u32 whole = f32_truncate(a), rest;
  if (f32_is_nan(a) || whole == a) return whole;
  rest = f32_subtract(a, whole) & 0x7fffffffu;
  return rest < 0x3f000000u ? whole : f32_add(whole, (a & 0x80000000u) | 0x3f800000u);
}

// One bit of the root a round, of two bits of the number.
u32 f32_square_root(u32 a) {
  u32 x, rest = 0, root = 0;
  int exponent, round;
  if (f32_is_nan(a)) return 0x7fc00000u;
  if ((a & 0x7fffffffu) == 0) return a;
  if (a & 0x80000000u) return 0x7fc00000u;
  if (a == 0x7f800000u) return a;
  exponent = f32_exponent(a) - 151;
  x = f32_significand(a);
  while (!(x >> 23)) x <<= 1, exponent--;
  x <<= 1;
  if (exponent & 1) x <<= 1, exponent--;
  for (round = 0; round < 13 + 13; round++) {
    u32 least = root << 2 | 1;
    rest = rest << 2 | (x >> 24 & 3);
    x <<= 2;
    root <<= 1;
    if (rest >= least) {
      rest -= least;
      root |= 1;
    }
  }
  return f32_packed(0, 127 + 12 + (exponent >> 1), root << 5 | (rest != 0));
}

u32 f32_of_u64(u64 a) {
  int exponent = 127 + 63;
  if (a == 0) return 0;
  while (!(a >> 63)) {
    a <<= 1;
    exponent--;
  }
  return f32_packed(0, exponent, (u32)f64_sticky(a, 33));
}

u32 f32_of_i64(i64 a) { return a < 0 ? f32_of_u64(0 - (u64)a) | 0x80000000u : f32_of_u64((u64)a); }
u32 f32_of_u32(u32 a) { return f32_of_u64(a); }
u32 f32_of_i32(int a) { return f32_of_i64(a); }

// The whole number of a size, at most `most`.
static u64 f32_whole(u32 a, u64 most) {
  int places = f32_exponent(a) - 127 - 23;
  u64 size = f32_significand(a);
  if (places >= 64 - 23) return most;
  size = places >= 0 ? size << places : places <= -64 ? 0 : size >> -places;
  return size > most ? most : size;
}

u64 f32_to_u64(u32 a) {
  if (f32_is_nan(a) || a & 0x80000000u) return 0;
  return f32_whole(a, ~(u64)0);
}

u32 f32_to_u32(u32 a) {
  if (f32_is_nan(a) || a & 0x80000000u) return 0;
  return (u32)f32_whole(a, 0xffffffff);
}

i64 f32_to_i64(u32 a) {
  u64 half = (u64)1 << 63;
  if (f32_is_nan(a)) return 0;
  return a & 0x80000000u ? (i64)(0 - f32_whole(a & 0x7fffffffu, half)) : (i64)f32_whole(a, half - 1);
}

int f32_to_i32(u32 a) {
  if (f32_is_nan(a)) return 0;
  return (int)(a & 0x80000000u ? 0 - f32_whole(a & 0x7fffffffu, 0x80000000) : f32_whole(a, 0x7fffffff));
}

// ---------------------------------------------------------------- from one to the other

u64 f64_of_f32(u32 a) {
  u64 sign = (u64)(a & 0x80000000u) << 32;
  if (f32_is_nan(a)) return 0x7ff8000000000000ull;
  a &= 0x7fffffffu;
  if (a == 0x7f800000u) return sign | 0x7ff0000000000000ull;
  return f64_normal(sign, f32_exponent(a) + (1023 - 127), (u64)f32_significand(a) << 39);
}

u32 f32_of_f64(u64 a) {
  u32 sign = (u32)(a >> 32) & 0x80000000u;
  if (f64_is_nan(a)) return 0x7fc00000u;
  a &= 0x7fffffffffffffffull;
  if (a == 0x7ff0000000000000ull) return sign | 0x7f800000u;
  if (a == 0) return sign;
  return f32_packed(sign, f64_exponent(a) - (1023 - 127), (u32)f64_sticky(f64_significand(a), 22));
}
