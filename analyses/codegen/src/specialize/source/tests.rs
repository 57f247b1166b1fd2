use super::*;
use ir::lower::c_family::UnitBodies;
use std::sync::Arc;
use syntax::c_family::{Dialect, parse_unit};
use syntax::preprocess::preprocess_text;

fn language(dialect: Dialect) -> Language {
    match dialect {
        Dialect::Hlsl => Language::Hlsl,
        _ => Language::Cuda,
    }
}

/// Versions the variable whose definition begins at `/*!*/`, which is taken out first.
fn versioned(dialect: Dialect, marked: &str, settings: Settings) -> Result<String, Refusal> {
    let at = marked.find("/*!*/").unwrap_or(0) as u32;
    let text = marked.replacen("/*!*/", "", 1);
    let unit = preprocess_text("main", &text, dialect);
    let parsed = parse_unit(&unit, dialect);
    let items: Vec<Arc<ParsedItem>> = parsed.iter().map(|(_, _, i)| Arc::new(i.clone())).collect();
    let environment = Environment::new(&items);
    let bodies = UnitBodies(items.iter().map(|i| (i.key.clone(), i.clone())).collect());
    let number = parsed
        .iter()
        .position(|(start, end, _)| *start <= at && at < *end)
        .ok_or(Refusal::NoVariable)?;
    let source = Source::new(
        &parsed[number].2,
        &unit.items[number].tokens,
        &text,
        parsed[number].0,
        &environment,
        &bodies,
        language(dialect),
    );
    let offset = at - parsed[number].0;
    let function = function_at(source.item, offset).ok_or(Refusal::NoVariable)?;
    let candidate = candidate_at(&source, function, offset).ok_or(Refusal::NoVariable)?;
    let version = version(&source, function, &candidate, settings)?;
    let (span, new) = &version.edit;
    let mut out = text.clone();
    out.replace_range(span.start as usize..span.end as usize, new);
    check::check(&text, &out, (*span, new.len()), &|name| {
        harmless(&source, name)
    })
    .unwrap_or_else(|violation| panic!("{violation}\n{out}"));
    // The inverse gives the text back.
    let removal = remove(&out, span.start).unwrap_or_else(|| panic!("not removable:\n{out}"));
    let mut back = out.clone();
    back.replace_range(
        removal.edit.0.start as usize..removal.edit.0.end as usize,
        &removal.edit.1,
    );
    assert_eq!(back, text, "{out}");
    Ok(out)
}

const FAST: Settings = Settings {
    absorb: true,
    uniform: false,
    each_lane: false,
    whole_warps: false,
};

fn hlsl(text: &str, expected: &str) {
    let out = versioned(Dialect::Hlsl, text, FAST).unwrap_or_else(|refusal| panic!("{refusal}"));
    assert_eq!(out, expected, "\n{out}");
}

#[test]
fn a_sum_that_a_zero_leaves_alone_is_skipped() {
    hlsl(
        "float3 shade(float3 color, float shadow, float3 n, float3 l)
{
    /*!*/float s = saturate(shadow);

    // Specular, the dear part.
    float3 spec = pow(saturate(dot(n, l)), 32.0) * normalize(n + l);
    color += spec * s;
    return color;
}
",
        "float3 shade(float3 color, float shadow, float3 n, float3 l)
{
    float s = saturate(shadow);

    // lockstep: version on zero of s
    if (!WaveActiveAllTrue(s == 0.0))
    {
        // Specular, the dear part.
        float3 spec = pow(saturate(dot(n, l)), 32.0) * normalize(n + l);
        color += spec * s;
    }
    return color;
}
",
    );
}

#[test]
fn what_lives_on_is_declared_before() {
    hlsl(
        "float4 main(float3 a : A, float3 n : N, float3 l : L) : SV_Target {
  /*!*/float ndl = saturate(dot(n, l));
  const float3 lit = a * ndl * pow(a, 5.0); // lit
  float3 sum = lit + a;
  return float4(sum, lit.x);
}
",
        "float4 main(float3 a : A, float3 n : N, float3 l : L) : SV_Target {
  float ndl = saturate(dot(n, l));
  // lockstep: version on zero of ndl
  float3 lit; // const float3 lit
  if (WaveActiveAllTrue(ndl == 0.0)) {
    lit = 0.0; // lit
  } else {
    lit = a * ndl * pow(a, 5.0); // lit
  }
  float3 sum = lit + a;
  return float4(sum, lit.x);
}
",
    );
}

#[test]
fn loops_and_branches_fold() {
    hlsl(
        "float main(float3 n : N, float w : W, int count : C) : SV_Target {
    float sum = 0.25;
    /*!*/float k = max(w, 0.0);
    for (int i = 0; i < count; ++i) {
        sum += k * sqrt(n.x + i);
    }
    if (k > 0.5) {
        sum = sqrt(sum);
    } else {
        sum = sum * 2;
    }
    return sum;
}
",
        "float main(float3 n : N, float w : W, int count : C) : SV_Target {
    float sum = 0.25;
    float k = max(w, 0.0);
    // lockstep: version on zero of k
    if (!WaveActiveAllTrue(k == 0.0)) {
        for (int i = 0; i < count; ++i) {
            sum += k * sqrt(n.x + i);
        }
    }
    if (k > 0.5) {
        sum = sqrt(sum);
    } else {
        sum = sum * 2;
    }
    return sum;
}
",
    );
}

#[test]
fn branches_that_a_zero_decides_are_gone() {
    hlsl(
        "float main(float3 n : N, float w : W, bool b : B) : SV_Target {
    /*!*/float k = max(w, 0.0);
    float sum = n.y;
    float lit = pow(n.x, 3.0) / n.z;
    if (k > 0.5) {
        sum = lit;
    } else {
        // Far away.
        sum = sum * 2;
    }
    return b ? sum : sum + n.z;
}
",
        "float main(float3 n : N, float w : W, bool b : B) : SV_Target {
    float k = max(w, 0.0);
    float sum = n.y;
    // lockstep: version on zero of k
    if (WaveActiveAllTrue(k == 0.0)) {
        // Far away.
        sum = sum * 2;
    } else {
        float lit = pow(n.x, 3.0) / n.z;
        if (k > 0.5) {
            sum = lit;
        } else {
            // Far away.
            sum = sum * 2;
        }
    }
    return b ? sum : sum + n.z;
}
",
    );
}

#[test]
fn kernels_vote_among_the_lanes_that_run_together() {
    let text = "__global__ void k(float* out, const float* in, const float* w, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    /*!*/float mask = fmaxf(w[i], 0.0f);
    float x = expf(in[i]);
    float y = x * logf(x + 1.0f);
    out[i] = mask * y;
}
";
    let out = versioned(Dialect::Cuda, text, FAST).unwrap_or_else(|refusal| panic!("{refusal}"));
    assert_eq!(
        out,
        "__global__ void k(float* out, const float* in, const float* w, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float mask = fmaxf(w[i], 0.0f);
    // lockstep: version on zero of mask
    if (__all_sync(__activemask(), mask == 0.0f))
    {
        out[i] = 0.0f;
    }
    else
    {
        float x = expf(in[i]);
        float y = x * logf(x + 1.0f);
        out[i] = mask * y;
    }
}
",
        "\n{out}"
    );
    assert_eq!(
        versioned(Dialect::Cuda, text, Settings::default()),
        Err(Refusal::Ieee)
    );
}

fn refused(dialect: Dialect, text: &str) -> Refusal {
    match versioned(dialect, text, FAST) {
        Err(refusal) => refusal,
        Ok(out) => panic!("{out}"),
    }
}

#[test]
fn refusals_have_names() {
    let barrier = "__global__ void k(float* o, float* p) { __shared__ float s[32];
    /*!*/float m = p[0];
    float x = expf(p[1]) * m;
    s[threadIdx.x] = x;
    __syncthreads();
    o[0] = m * expf(s[1]);
}
";
    assert_eq!(refused(Dialect::Cuda, barrier).name(), "barrier");
    let derivative = "Texture2D T; SamplerState S;
float4 main(float2 uv : A, float k : B) : SV_Target {
    /*!*/float m = saturate(k);
    float2 at = uv + m * pow(uv, 3.0);
    float4 c = T.Sample(S, at);
    return c;
}
";
    assert_eq!(refused(Dialect::Hlsl, derivative).name(), "derivative");
    let called = "float2 bent(float2 uv, float k) {
    /*!*/float m = saturate(k);
    float2 at = uv + m * pow(uv, 3.0);
    return at;
}
Texture2D T; SamplerState S;
float4 main(float2 uv : A, float k : B) : SV_Target { return T.Sample(S, bent(uv, k)); }
";
    assert_eq!(refused(Dialect::Hlsl, called).name(), "derivative");
    // Refused: the derivative is taken by another function that the caller calls. Not refused: only another
    // entry point takes derivatives.
    let through = "Texture2D T; SamplerState S;
float4 detail(float2 uv) { return T.Sample(S, uv); }
float2 bent(float2 uv, float k) {
    /*!*/float m = saturate(k);
    float2 at = uv + m * pow(uv, 3.0);
    return at;
}
float4 main(float2 uv : A, float k : B) : SV_Target { return detail(bent(uv, k)); }
";
    assert_eq!(refused(Dialect::Hlsl, through).name(), "derivative");
    let apart = through.replace("detail(bent(uv, k))", "bent(uv, k).xyxy");
    assert!(versioned(Dialect::Hlsl, &apart, FAST).is_ok());
    let directive = "float f(float a, float b) {
    /*!*/float m = saturate(a);
    float x = pow(b, 3.0);
#ifdef FOO
    x = 1;
#endif
    return x * m;
}
";
    assert_eq!(refused(Dialect::Hlsl, directive).name(), "directive");
    let made = "#define LIT float x = pow(b, 3.0);
float f(float a, float b) {
    /*!*/float m = saturate(a);
    float y = m * pow(b, 4.0);
    LIT
    return x * y * pow(b, 5.0);
}
";
    assert_eq!(refused(Dialect::Hlsl, made).name(), "macro");
    let precise = "float f(float a, float b) {
    /*!*/float m = saturate(a);
    precise float x = pow(b, 3.0) * m;
    return x;
}
";
    assert_eq!(refused(Dialect::Hlsl, precise).name(), "precise");
    let unknown = "float f(float a, float b) {
    /*!*/float m = saturate(a);
    float y = pow(b, 3.0);
    float x = unseen(b);
    return x * m * y;
}
";
    assert_eq!(refused(Dialect::Hlsl, unknown).name(), "unknown-call");
    let nothing = "float f(float a, float b) {
    /*!*/float m = saturate(a);
    return pow(b, 3.0) + m;
}
";
    assert_eq!(refused(Dialect::Hlsl, nothing).name(), "nothing-saved");
}

#[test]
fn the_checker_finds_faults() {
    let before = "float y = a * s;\nfloat z = y;\nbuf[1] = z;";
    let good = "// lockstep: version on zero of s\nif (WaveActiveAllTrue(s == 0.0)) {\n    buf[1] = 0.0;\n} else {\n    float y = a * s;\n    float z = y;\n    buf[1] = z;\n}";
    let judge = |after: &str| {
        check::check(
            before,
            after,
            (Span::new(0, before.len() as u32), after.len()),
            &|_| false,
        )
    };
    assert_eq!(judge(good), Ok(()));
    for (from, to) in [
        ("y = a * s", "y = a + s"),
        ("s == 0.0", "t == 0.0"),
        ("s == 0.0", "s == 1.0"),
        ("buf[1] = 0.0;", ""),
        ("buf[1] = 0.0;", "buf[1] = 0.0; other = 1;"),
        ("of s", "of t"),
    ] {
        assert!(
            judge(&good.replacen(from, to, 1)).is_err(),
            "{from} -> {to}"
        );
    }
}

/// A value that an intrinsic or a method writes is not the zero that the variable began with.
#[test]
fn arguments_that_calls_write_are_not_zero_any_more() {
    for (declared, call) in [
        (
            "RWStructuredBuffer<uint> o;",
            "InterlockedAdd(o[0], 1, old);",
        ),
        ("RWByteAddressBuffer o;", "o.InterlockedAdd(0, 1, old);"),
        ("double d;", "uint low; asuint(d, old, low);"),
        (
            "Texture2D<float4> t;",
            "float4 q = t.Load(int3(0, 0, 0), int2(0, 0), old);",
        ),
        ("float d;", "float e; float m = frexp(d, e); old = uint(e);"),
        (
            "float f;",
            "float4 e; float2 i = 0; float2 u = 0; ProcessQuadTessFactorsMax(f, f, e, i, u); old = uint(i.x);",
        ),
        (
            "float f;",
            "float2 i = 0; Process2DQuadTessFactorsAvg(f, f, float4(f, f, f, f), i, float2(f, f)); old = uint(i.y);",
        ),
        (
            "float f;",
            "float e = 0; float d; ProcessIsolineTessFactors(f, f, e, d); old = uint(e);",
        ),
        (
            "struct P { uint n; }; RaytracingAccelerationStructure scene; RayDesc ray;",
            "P p; p.n = 0; TraceRay(scene, 0, 255, 0, 0, 0, ray, p); old = p.n;",
        ),
        ("", "uint n = 0; CallShader(0, n); old = n;"),
        (
            "SampledTextureCUBE<float4> t;",
            "uint n = 0; float4 g = t.Gather(float3(0, 0, 1), n); old = n;",
        ),
    ] {
        let text = format!(
            "StructuredBuffer<float> b; RWStructuredBuffer<float> p; {declared}
[numthreads(64, 1, 1)] void main(uint3 id : SV_DispatchThreadID) {{
  /*!*/float z = b[id.x];
  uint old = 0; {call}
  float c = sin(b[id.x + 1]) * cos(b[id.x + 2]) * exp(b[id.x + 3]) * z;
  float r = old * sin(c + 1) + c * tan(b[id.x + 4]) + old;
  p[id.x] = r;
}}
"
        );
        let out = versioned(Dialect::Hlsl, &text, FAST).expect(call);
        let zero = out.lines().any(|line| {
            let line = line.replace(' ', "");
            line.contains("r=0;") || line.contains("r=0.0;") || line.contains("p[id.x]=0")
        });
        assert!(!zero, "{out}");
    }
}

/// An argument that an intrinsic writes may be memory that others see: the call stays, whatever happens to
/// its result.
#[test]
fn calls_that_write_memory_stay() {
    let hlsl =
        "StructuredBuffer<float> b; RWStructuredBuffer<float> p; RWStructuredBuffer<float> q;
[numthreads(64, 1, 1)] void main(uint3 id : SV_DispatchThreadID) {
  /*!*/float z = b[id.x];
  float m = modf(b[id.x + 1], q[id.x]) + sin(b[id.x + 2]) * cos(b[id.x + 3]) * exp(b[id.x + 4]);
  float r = m * z;
  p[id.x] = r;
}
";
    let cuda = "__global__ void k(float* p, const float* b, cudaTextureObject_t t) {
  int i = threadIdx.x;
  /*!*/float z = b[i];
  float m;
  tex2D(&m, t, b[i + 1], b[i + 2]);
  float n = sinf(b[i + 2]) * cosf(b[i + 3]) * expf(b[i + 4]);
  float r = n * z;
  p[i] = r + m;
}
";
    for (dialect, text, call) in [
        (Dialect::Hlsl, hlsl, "modf("),
        (Dialect::Cuda, cuda, "tex2D("),
    ] {
        match versioned(dialect, text, FAST) {
            Ok(out) => {
                let (before, after) = out.split_once("else").unwrap_or((&out, ""));
                let stays = before.contains(call) || !after.contains(call);
                assert!(stays && out.contains(call), "{out}");
            }
            Err(refusal) => println!("{call}: {refusal}"),
        }
    }
}

#[test]
fn a_line_goes_with_the_last_of_its_statements() {
    hlsl(
        "float4 shade(float4 color, float shadow)
{
    /*!*/float s = saturate(shadow);
    color.x += pow(color.y, 3.0) * s;
    color.z = color.x;
    color.x += pow(color.y, 4.0) * s; color.y += pow(color.x, 5.0) * s;

    color.z *= 2.0; color.w += pow(color.y, 6.0) * s;
    color.w += pow(color.y, 7.0) * s;
    return color;
}
",
        "float4 shade(float4 color, float shadow)
{
    float s = saturate(shadow);
    // lockstep: version on zero of s
    if (WaveActiveAllTrue(s == 0.0))
    {
        color.z = color.x;

        color.z *= 2.0;
    }
    else
    {
        color.x += pow(color.y, 3.0) * s;
        color.z = color.x;
        color.x += pow(color.y, 4.0) * s; color.y += pow(color.x, 5.0) * s;

        color.z *= 2.0; color.w += pow(color.y, 6.0) * s;
        color.w += pow(color.y, 7.0) * s;
    }
    return color;
}
",
    );
}

/// A store to an array may go where nothing reads it any more, and a store of what is there already.
#[test]
fn the_checker_knows_what_others_read() {
    let judge = |front: &str, region: &str, behind: &str| {
        let (start, end) = (front.len(), front.len() + region.len());
        let version = format!("// lockstep: version on zero of t\nif (t != 0) {{\n{region}\n}}");
        check::check(
            &format!("{front}{region}{behind}"),
            &format!("{front}{version}{behind}"),
            (Span::new(start as u32, end as u32), version.len()),
            &|_| false,
        )
    };
    let head = "int f(int *x, const int *a, const int *b, int i) {\n";
    let lost = [
        // Read by nobody; behind a jump out of the function; of a row.
        (
            format!("{head}int h[4]; int t = a[i];\n"),
            "h[i] = t * b[i];",
            "\nreturn t; }",
        ),
        (
            format!("{head}int t = a[i]; int h[4];\nh[0] = 1; x[0] = h[0];\n"),
            "h[i] = t * b[i];",
            "\nreturn t; }\nint g(int *h) { return h[0]; }",
        ),
        (
            format!("{head}int t = a[i]; int l = t;\n"),
            "x[i] |= l;",
            "\nreturn t; }",
        ),
        (
            format!("{head}int t = a[i]; const long l = (long)t, k = -l;\n"),
            "x[i] += k;",
            "\nreturn t; }",
        ),
    ];
    for (front, region, behind) in lost {
        assert_eq!(
            judge(&front, region, behind),
            Ok(()),
            "{front}{region}{behind}"
        );
    }
    let kept = [
        // A parameter, and what outlives the call.
        (
            "int f(int h[], const int *a, const int *b, int i) {\nint t = a[i];\n".to_owned(),
            "h[i] = t * b[i];",
            "\nreturn t; }",
        ),
        (
            format!("int h[4];\n{head}int t = a[i];\n"),
            "h[i] = t * b[i];",
            "\nreturn t; }",
        ),
        (
            format!("{head}static int h[4]; int t = a[i] + h[0];\n"),
            "h[i] = t * b[i];",
            "\nreturn t; }",
        ),
        (
            format!("{head}extern int h[4]; int t = a[i];\n"),
            "h[i] = t * b[i];",
            "\nreturn t; }",
        ),
        // In the next iteration, behind the region, through a row, a pointer or a macro.
        (
            format!("{head}int h[4]; int s = 0; for (; i; i--) {{ int t = a[i];\n"),
            "s += t * h[0]; h[0] = t * b[i];",
            "\n} return s; }",
        ),
        (
            format!("{head}int h[4]; for (; i; i--) {{ x[i] = h[0]; int t = a[i];\n"),
            "h[0] = t * b[i];",
            "\n} return 0; }",
        ),
        (
            format!("{head}int h[4]; int t = a[i];\n"),
            "h[i] = t * b[i];",
            "\nreturn h[0]; }",
        ),
        (
            format!("{head}int h[4][4]; int *row = h[1]; int t = a[i];\n"),
            "h[1][i] = t * b[i];",
            "\nreturn row[i]; }",
        ),
        (
            format!("{head}int h[4]; int *p = h; int t = a[i];\n"),
            "h[i] = t * b[i];",
            "\nreturn *p; }",
        ),
        (
            format!("#define LAST(i) h[i]\n{head}int h[4]; int t = a[i];\n"),
            "h[i] = t * b[i];",
            "\nreturn LAST(i); }",
        ),
        // What is computed from a zero is not always one.
        (
            format!("{head}int t = a[i]; int l = b[t];\n"),
            "x[i] |= l;",
            "\nreturn t; }",
        ),
        (
            format!("{head}int t = a[i]; int l = t + 5;\n"),
            "x[i] |= l;",
            "\nreturn t; }",
        ),
        (
            format!("{head}int t = a[i]; int l = t; l = 7;\n"),
            "x[i] |= l;",
            "\nreturn t; }",
        ),
        (
            format!("{head}int t = a[i]; int l = t; int *p = &l; *p = 7;\n"),
            "x[i] |= l;",
            "\nreturn t; }",
        ),
        (
            format!("{head}int l = 0; int t = a[i]; if (i) l = t; else l = 1;\n"),
            "x[i] |= l;",
            "\nreturn t; }",
        ),
        (
            format!("{head}int t = a[i]; int l = t; t = b[i];\n"),
            "x[i] |= l;",
            "\nreturn t; }",
        ),
    ];
    for (front, region, behind) in kept {
        let judged = judge(&front, region, behind);
        assert!(
            matches!(judged, Err(check::Violation::Effect(_))),
            "{judged:?}: {front}{region}{behind}"
        );
    }
}

/// Macros by what their bodies do.
#[test]
fn macros_are_calls_that_can_be_left_out_or_not() {
    let text = "#define TWICE(x) ((x) * 2)\n#define WHEN(c) if (c)\n#define CAST(x) (int)(x)\n#define BOTH(x) (TWICE(x) + TWICE(1))\n#define SET(x) (p = (x))\n#define STOP return\n#define MAYBE(x) if (x) STOP\n#define APPLY(f, x) (f)(x)\n#define CALLED(x) other(x)\nvoid f(int *o) { o[0] = 1; }\n";
    let unit = preprocess_text("m.c", text, Dialect::C);
    let parsed = parse_unit(&unit, Dialect::C);
    let items: Vec<Arc<ParsedItem>> = parsed.iter().map(|(_, _, i)| Arc::new(i.clone())).collect();
    let environment = Environment::new(&items);
    let bodies = UnitBodies(items.iter().map(|i| (i.key.clone(), i.clone())).collect());
    let source = Source::new(
        &parsed[0].2,
        &unit.items[0].tokens,
        text,
        parsed[0].0,
        &environment,
        &bodies,
        language(Dialect::C),
    );
    for name in ["TWICE", "WHEN", "CAST", "BOTH"] {
        assert!(harmless(&source, name), "{name}");
    }
    for name in ["SET", "MAYBE", "APPLY", "CALLED", "UNKNOWN"] {
        assert!(!harmless(&source, name), "{name}");
    }
}
