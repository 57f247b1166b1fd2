//! The rewritings by versions on zero: which operations and statements stand in the fast path.

use super::read::read;
use super::{Counts, generate, kind, pinned};
use lockstep_codegen::specialize::source::{Settings, candidates, functions_of, version};
use std::fmt::Write as _;

/// Versions on zero: those offered for random kernels, the refusals, and the contents of the fast path.
#[test]
fn versions_in_the_source() {
    let mut table = String::new();
    for language in [generate::Language::Cuda, generate::Language::Hlsl] {
        let own = match language {
            generate::Language::Cuda => ir::Language::Cuda,
            generate::Language::Hlsl => ir::Language::Hlsl,
        };
        for absorb in [true, false] {
            let mut counts = Counts::default();
            for seed in 0..10 {
                let text = generate::kernel(seed, language);
                let read = read(&text, own);
                for number in 0..read.parsed.len() {
                    let source = read.source(&text, number);
                    let (_, _, item) = &read.parsed[number];
                    for function in functions_of(item) {
                        for candidate in candidates(&source, function).iter().take(24) {
                            let settings = Settings {
                                absorb,
                                whole_warps: seed % 2 == 1,
                                uniform: seed % 3 == 0,
                                each_lane: false,
                            };
                            match version(&source, function, candidate, settings) {
                                Ok(version) => {
                                    counts.add(format!(
                                        "work {} of {}",
                                        version.fast_work, version.work
                                    ));
                                    counts.add(format!(
                                        "lines {} of {}, absorbs {}",
                                        version.fast_lines, version.lines, version.absorbs
                                    ));
                                    for word in version
                                        .edit
                                        .1
                                        .split(|c: char| !c.is_ascii_alphanumeric() && c != '.')
                                    {
                                        counts.add(format!("word {}", kind(word)));
                                    }
                                    for sign in
                                        version.edit.1.chars().filter(char::is_ascii_punctuation)
                                    {
                                        counts.add(format!("sign {sign}"));
                                    }
                                }
                                Err(refusal) => counts.add(format!(
                                    "refused: {}",
                                    kind(&format!("{refusal:?}"))
                                        .split(['(', ' ', '{'])
                                        .next()
                                        .unwrap_or_default()
                                )),
                            }
                        }
                    }
                }
            }
            table += &counts.table(&format!("{own:?}, absorbs: {absorb}"));
        }
    }
    pinned("versions", &table);
}

/// The fast path of a version on zero of `x` in a kernel that has `statements`; `Err`: why there is none.
fn fast_path(statements: &str, language: ir::Language, settings: Settings, breaks: &str) -> String {
    let head = match language {
        ir::Language::Hlsl => {
            "StructuredBuffer<float> a; RWStructuredBuffer<float> o; float n; int m; uint q;\n[numthreads(64, 1, 1)]\nvoid main(uint i : SV_DispatchThreadID)\n{\n    float x = a[i];\n    float y = a[i + 1];\n    float z = a[i + 2];\n    int j = (int)y;\n    uint u = (uint)z;\n"
        }
        _ => {
            "__global__ void main_of(const float* __restrict__ a, float* __restrict__ o, float n, int m, unsigned q)\n{\n    int i = threadIdx.x;\n    float x = a[i];\n    float y = a[i + 1];\n    float z = a[i + 2];\n    int j = (int)y;\n    unsigned u = (unsigned)z;\n"
        }
    };
    let lines: String = statements
        .lines()
        .map(|line| format!("    {line}\n"))
        .collect();
    let text = format!("{head}{lines}    o[i] = r;\n}}\n").replace('\n', breaks);
    let read = read(&text, language);
    for number in 0..read.parsed.len() {
        let source = read.source(&text, number);
        let (_, _, item) = &read.parsed[number];
        for function in functions_of(item) {
            let all = candidates(&source, function);
            let Some(candidate) = all.iter().find(|candidate| candidate.name == "x") else {
                continue;
            };
            return match version(&source, function, candidate, settings) {
                Ok(version) => format!(
                    "{} [work {} of {}, lines {} of {}, absorbs {}]",
                    version.edit.1,
                    version.fast_work,
                    version.work,
                    version.fast_lines,
                    version.lines,
                    version.absorbs
                ),
                Err(refusal) => format!("refused: {}", kind(&format!("{refusal:?}"))),
            };
        }
    }
    "no candidate".to_owned()
}

const FREE: Settings = Settings {
    absorb: true,
    whole_warps: false,
    uniform: true,
    each_lane: false,
};

/// Each operation on a zero, and its remainder.
const FOLDS: &[&str] = &[
    "x * y",
    "y * x",
    "x * y + z",
    "z - x * y",
    "x + y",
    "y - x",
    "x - y",
    "-x",
    "-x * y",
    "x / y",
    "y / x",
    "x * x + y",
    "x < y ? y : z",
    "x > 0.0 ? y : z",
    "x == 0.0 ? y : z",
    "x != 0.0 ? y : z",
    "x >= 0.0 ? y : z",
    "x <= -1.0 ? y : z",
    "x < 1.0 ? y : z",
    "(x != 0.0 && y > 0.0) ? z : 1.0",
    "(x == 0.0 || y > 0.0) ? z : 1.0",
    "(y > 0.0 && x != 0.0) ? z : 1.0",
    "!(x != 0.0) ? y : z",
    "(int)x * j",
    "(int)x + j",
    "((int)x & j)",
    "((int)x | j)",
    "((int)x ^ j)",
    "((int)x << 2)",
    "(j << (int)x)",
    "(j >> (int)x)",
    "(1 << (int)x)",
    "(j - (int)x)",
    "((int)x - j)",
    "((int)x - 1)",
    "(int)(x + 2.0)",
    "(j % ((int)x + 3))",
    "((int)x / 3)",
    "((int)x % 3)",
    "~(int)x",
    "(u - (uint)x)",
    "((uint)x - u)",
    "((uint)x - 1u)",
    "(u + (uint)x)",
    "(u * (uint)x)",
    "((uint)x / 3u)",
    "((uint)x % 5u)",
    "(int)(x - 1.5)",
    "(uint)(x - 1.5)",
    "(float)(x < 1.0)",
    "(x + 1.0) * (x - 2.0)",
    "(x + 1.0) * y",
    "(x + 0.5) / 2.0",
    "x * 0.0 + y",
    "1.0 - x",
    "2.0 * (1.0 - x) * y",
    "abs(x) + y",
    "min(x, 1.0)",
    "max(x, y)",
    "max(x, 0.0) * y",
    "min(x, y) + z",
    "sqrt(x) * y",
    "exp(x) * y",
    "exp2(x) + y",
    "log(x + 1.0) + y",
    "sin(x) + y",
    "cos(x) + y",
    "tan(x) + y",
    "sinh(x) + y",
    "cosh(x) * y",
    "tanh(x) + y",
    "asin(x) + y",
    "acos(x) + y",
    "atan(x) + y",
    "atan2(x, y) + z",
    "pow(x, 2.0) + y",
    "pow(x, y) + z",
    "pow(y, x) + z",
    "pow(x + 1.0, 3.0)",
    "floor(x) + y",
    "ceil(x) + y",
    "round(x) + y",
    "trunc(x) + y",
    "fmod(x, y) + z",
    "ldexp(x, j) + y",
    "rsqrt(x + 1.0) + y",
    "fma(x, y, z)",
    "fma(y, x, z)",
    "fma(y, z, x)",
    "isnan(x) ? y : z",
    "step(0.5, x) + y",
    "step(x, y) + z",
    "smoothstep(0.0, 1.0, x) + y",
    "smoothstep(-1.0, 1.0, x) + y",
    "smoothstep(-2.0, -1.0, x) + y",
    "smoothstep(1.0, 0.0, x) + y",
    "smoothstep(y, z, x)",
    "lerp(x, y, z)",
    "lerp(y, z, x)",
    "lerp(y, x, z)",
    "saturate(x) + y",
    "saturate(x + 2.0) + y",
    "saturate(x - 2.0) + y",
    "saturate(x + 0.5) * y",
    "clamp(x, 0.5, 1.0) + y",
    "clamp(x, -1.0, 1.0) + y",
    "clamp(x, y, z)",
    "clamp(y, x, 1.0)",
    "frac(x + 1.25) + y",
    "sign(x) + y",
    "sign(x - 1.0) * y",
    "sign(x + 1.0) * y",
    "rcp(x + 2.0) * y",
    "mad(x, y, z)",
    "mad(y, z, x)",
    "select(x, y, z)",
    "select(x + 1.0, y, z)",
    "select(x != 0.0, y, z)",
    "select(y > 0.0, x, z)",
    "degrees(x) + y",
    "radians(x) + y",
    "dot(float2(x, y), float2(y, z))",
    "dot(float2(x, x), float2(y, z))",
    "length(float2(x, 3.0))",
    "float2(x, y).x * z",
    "float2(x, y).y * z",
    "(float3(x, x, x) * y).z",
    "normalize(float2(x, y)).x",
    "distance(x, y)",
    "reflect(x, y)",
    "mul(x, y) + z",
    "fabsf(x) + y",
    "fminf(x, 1.0f)",
    "fmaxf(x, y)",
    "sqrtf(x) * y",
    "expf(x) * y",
    "__expf(x) + y",
    "cosf(x) + y",
    "sinf(x) + y",
    "powf(x, 2.0f) + y",
    "fmaf(x, y, z)",
    "__fmaf_rn(x, y, z)",
    "__fdividef(x, y) + z",
    "copysignf(x, y)",
    "truncf(x) + y",
    "rintf(x) + y",
    "fdimf(x, y)",
    "hypotf(x, y)",
    "erff(x) + y",
    "(float2(x, y) + z).x",
    "(float2(x, y) * float2(y, x)).y",
    "(float3(y, x, z).zyx * x).y",
    "(float2(y, z) / (x + 2.0)).y",
    "cross(float3(x, x, x), float3(y, z, y)).z",
    "max(float2(x, y), float2(z, x)).x",
    "(x ? y : z)",
    "((bool)x ? y : z)",
    "x * y * z * n",
    "y * (x * z + 1.0)",
    "min(max(x, y), z)",
    "max(min(x, 1.0), -1.0) * y",
    "(u >> (uint)x)",
    "(u & (uint)x)",
    "(u | (uint)x) * 2u",
    "(u % ((uint)x + 8u))",
    "(u / ((uint)x + 8u))",
    "(j * (int)x * 3)",
    "(j / ((int)x - 2))",
    "n * x",
    "m * (int)x",
    "q * (uint)x",
    "+x + y",
    "-(x * y) + z",
    "(y - z) * (x + 1.0)",
    "(y * z) * (1.0 - x) * (1.0 - x)",
    "(x == y ? y : z)",
    "(x + y == z ? y : z)",
    "(x < 0.0 || y < z) ? y : z",
    "(x <= 0.0 && y < z) ? y : z",
    "(int)(x * 100.0) == 0 ? y : z",
    "((int)x == m) ? y : z",
    "((uint)x < 4u) ? y : z",
    "((int)x != 0 ? 1 : 2) * y",
    "(float)((int)x) * y",
    "(float)(1 + (int)x) * y",
    "a[(int)x] * y",
    "a[i + (int)x] + x",
    "a[i * (int)x + 1]",
    "(x * y, z)",
];

#[test]
fn operations_of_a_zero() {
    let mut table = String::new();
    for language in [ir::Language::Hlsl, ir::Language::Cuda] {
        for absorb in [true, false] {
            let _ = writeln!(table, "{language:?}, absorbs: {absorb}");
            for expression in FOLDS {
                let expression = match language {
                    ir::Language::Hlsl => (*expression).to_owned(),
                    _ => expression.replace("(uint)", "(unsigned)"),
                };
                let settings = Settings { absorb, ..FREE };
                let text = fast_path(
                    &format!("float r = {expression};"),
                    language,
                    settings,
                    "\n",
                );
                let left = text
                    .lines()
                    .find(|line| line.contains("r ="))
                    .unwrap_or(&text);
                let work = text.rsplit_once('[').map_or("", |(_, work)| work);
                let work = work.trim_end_matches(']');
                let _ = writeln!(table, "    {expression}    =>    {}    {work}", left.trim());
            }
        }
    }
    pinned("folds", &table);
}

/// Statements around a zero: the knowledge of it behind assignments, branches and loops.
const STATEMENTS: &[&str] = &[
    "float r = y;\nif (x > 0.0) { r = z; }",
    "float r = y;\nif (x > 0.0) r = z; else r = 2.0 * y;",
    "float r = y;\nif (y > 0.0) { r = x * z; } else { r = z; }",
    "float r = y;\nif (y > 0.0) { x = 1.0; }\nr += x * z;",
    "float r = y;\nfor (int k = 0; k < 4; k++) { r += x * z; }",
    "float r = y;\nfor (int k = 0; k < 4; k++) { r += x * z; x += 1.0; }",
    "float r = y;\nwhile (x > 0.0) { r += z; x -= 1.0; }",
    "float r = y;\ndo { r += x * z; } while (r < 0.0);",
    "float r = y;\nint k = (int)x;\nr += k * z;\nk = 2;\nr += k * z;",
    "float r = y;\nuint k = (uint)(x - 1.0);\nr += k;",
    "float r = y;\nint k = (int)(x + 3.5);\nr += k * z;",
    "float r = y;\nfloat s = x;\ns += 2.0;\nr *= s;",
    "float r = y;\nfloat s = x * y;\nfloat t = s * z;\nr += t + s;",
    "float r = y;\nx *= y;\nr += x;\nx = y;\nr += x * z;",
    "float r = y;\no[i + 1] = x * y;\no[i + 2] = z;",
    "float r = y;\n{ float s = x * z; { r += s * y; } }",
    "float r = y;\nif (x != 0.0) { if (y > 0.0) { r = z; } else { r = -z; } } else if (z > 0.0) { r = x; } else { r = 1.0; }",
    "float r = y;\nswitch (j) { case 0: r = x * z; break; case 1: r = z; default: r += x; }",
    "float r = y;\nif (x == 0.0) { return; }\nr += x * z;",
    "float r = y;\nif (x * z > 1.0) { o[i + 1] = z; return; }\nr += x;",
    "float r = y;\nr -= x;\nr += x;\nr /= x + 1.0;\nr *= 1.0 - x;",
    "float r = y;\nint k = j;\nk <<= (int)x;\nk |= (int)x;\nk ^= (int)x;\nk &= (int)x;\nr += k;",
    "float r = x * y, s = x + z;\nr += s;",
    "float r = y; float s[2];\ns[0] = x * y;\ns[1] = z;\nr += s[0] + s[1];",
    "float r = y;\nbool b = x > 0.0;\nif (b && y > 0.0) { r = z; }\nr += b ? y : z;",
    "float r = y; // of y\nr += x * z; /* x */ r += z;\n\n// nothing\nr += x;",
    "float2 w = float2(x, y);\nw.y += w.x;\nw.x = z;\nfloat r = w.x * w.y;",
    "float r = y;\nconst float c = x;\nconst float e = c * 2.0 + 1.0;\nr *= e;\nr += c;",
    "float r = y;\n{ float x = 3.0; r *= x; }\nr += x;",
    "float r = y;\nfor (int k = 0; k < (int)x + 3; k++) { if (k == j) continue; if (x > 1.0) break; r += z; }",
    "float r = y;\nfor (int k = 0; k < 3; k++) { for (int l = 0; l < k; l++) { r += x * l; } x *= z; }",
    "float r = y;\nfor (int k = 0; k < 3; k++) { if (z > r) { x = 2.0; break; } r += x; }\nr *= x;",
    "float r = y;\nwhile (r < 4.0) { r += x + 1.0; if (x != 0.0) { return; } }",
    "float r = y;\nif (y > 0.0) { if (z > 0.0) { x = y; } else { x = 0.0; } } else { x = 0.0; }\nr += x * z;",
    "float r = y;\nif (x > 0.0 && j > 3) { r = 1.0; } else if (x < 0.0 || j < 2) { r = 2.0; } else { r = x; }",
    "float r = y;\nint k = (int)x;\nk++;\nr += k;\nk -= 1;\nr *= k;\n--k;\nr += a[k + 2];",
    "float r = y;\nuint k = (uint)x;\nk = k * 3u + 2u;\nk >>= 1u;\nk ^= 5u;\nr += k;",
    "float s[3];\nfor (int k = 0; k < 3; k++) { s[k] = x * k; }\nfloat r = s[0] + s[2] * y;",
    "float r = y;\nr = x > 0.0 ? (y > 0.0 ? 1.0 : 2.0) : (z > 0.0 ? 3.0 : x);",
    "float r = y;\nswitch ((int)x) { case 0: r = z; break; case 1: r = 2.0; break; default: r = 3.0; break; }",
    "float r = y;\nswitch (j) { case 1: x = 1.0; break; case 2: r = x; break; }\nr += x;",
    "float r = y;\n;\nif (x > 0.0) ; else r = z;\n{ }\nif (x > 0.0) { }\nr += 1.0;",
    "float r = y, t = 0.0;\nt = x * 2.0, r += t;\no[i + 3] = t, o[i + 4] = r;",
    "float r = y; bool b = x == 0.0, c = !b;\nif (b) { r = z; }\nif (c) { r = 2.0 * z; }\nr += b ? 1.0 : 2.0;",
    "float r = max(x, 0.0);\nr = r * y + r * z;\nr += min(r, 1.0) * n;\no[i + 5] = r * r;",
];

/// The parts of a version do not depend on how lines end.
#[test]
fn statements_around_a_zero() {
    let mut table = String::new();
    for language in [ir::Language::Hlsl, ir::Language::Cuda] {
        for statements in STATEMENTS {
            let statements = match language {
                ir::Language::Hlsl => (*statements).to_owned(),
                _ => statements.replace("uint", "unsigned"),
            };
            for settings in [
                FREE,
                Settings {
                    absorb: false,
                    ..FREE
                },
            ] {
                let text = fast_path(&statements, language, settings, "\n");
                let other = fast_path(&statements, language, settings, "\r\n");
                assert_eq!(other, text.replace('\n', "\r\n"), "{statements}");
                let _ = writeln!(
                    table,
                    "{language:?}, absorbs: {}\n{text}\n",
                    settings.absorb
                );
            }
        }
    }
    pinned("statements", &table);
}
