//! Distinctions that an analysis must make to tell one kernel from the next: equal expressions, arrays behind
//! pointers, lanes of a number, branches that certainly part a block, rounds that an instantiation counts.

use super::source::{cuda, functions};
use facts::{Class, Code, Tier, diagnose};
use syntax::c_family::Dialect;

fn told(text: &str) -> Vec<(Code, Tier)> {
    let all = functions(text, Dialect::Cuda);
    let findings = all
        .iter()
        .flat_map(|(module, facts)| diagnose(module, std::slice::from_ref(facts)));
    findings
        .map(|finding| (finding.code, finding.tier))
        .collect()
}

fn tells(text: &str, code: Code) -> bool {
    told(text).iter().any(|(told, _)| *told == code)
}

/// Values computed twice from the same operands are one value, whatever computes them.
#[test]
fn equal_expressions_are_equal() {
    for (expression, other) in [
        ("t * t", "t * n"),
        ("t / 3", "t / 4"),
        ("t % n", "t % (n + 1)"),
        ("t / n * m", "t / m * n"),
        ("t * t & 0xff", "t * t & 0xfe"),
        ("t * t | 5", "t * t | 7"),
        ("t * t ^ n", "t * n ^ n"),
        ("~(t * t)", "~(t * n)"),
        ("t * t >> 2", "t * t >> 3"),
        ("t << (t & 3)", "t << (t & 7)"),
        ("min(t * t, n)", "max(t * t, n)"),
        ("abs(t * t - n)", "abs(t * t - m)"),
        ("(int)(t * t < n)", "(int)(t * t <= n)"),
        ("(int)(t * t == n)", "(int)(t * t != n)"),
        ("(int)(t * t > n)", "(int)(t * t > m)"),
        ("(int)(short)(t * t)", "(int)(char)(t * t)"),
        ("(int)(float)(t * t)", "(int)(double)(t * n)"),
        ("p[t * t]", "p[t * n]"),
        ("__popc(t * t)", "__clz(t * t)"),
    ] {
        let of = |left: &str, right: &str| {
            let parameters = ", int m, const int* __restrict__ p";
            cuda(
                "",
                parameters,
                &format!("int t = threadIdx.x; int a = {left}; int b = {right}; int D = a - b;"),
            )
        };
        assert_eq!(of(expression, expression), Class::Uniform, "{expression}");
        assert_ne!(
            of(expression, other),
            Class::Uniform,
            "{expression}, {other}"
        );
    }
}

/// A template parameter that is not given is one number, wherever it is named.
#[test]
fn a_parameter_of_a_template_is_one_number() {
    let of = |left: &str, right: &str| {
        let body = format!("int t = threadIdx.x; int a = {left}; int b = {right}; int D = a - b;");
        cuda("template <int N, int M>", "", &body)
    };
    for (expression, other) in [
        ("t * N", "t * M"),
        ("t / N", "t / M"),
        ("(t + N) % M", "(t + M) % N"),
        ("t * t << N", "t * t << M"),
    ] {
        assert_eq!(of(expression, expression), Class::Uniform, "{expression}");
        assert_ne!(
            of(expression, other),
            Class::Uniform,
            "{expression}, {other}"
        );
    }
}

#[test]
fn arrays_behind_pointers_hold_what_was_stored() {
    let read = |pointer: &str, stored: &str| {
        cuda(
            "",
            ", int m",
            &format!(
                "int a[4], b[4]; for (int i = 0; i < 4; i++) {{ a[i] = n + i; b[i] = {stored}; }} int* q = {pointer}; int D = q[m & 1];"
            ),
        )
    };
    for pointer in [
        "a",
        "b",
        "a + 1",
        "n > 3 ? a : b",
        "n > 3 ? a + 1 : b",
        "(n > 3 ? a : b) + 2",
    ] {
        assert_eq!(read(pointer, "m * i"), Class::Uniform, "{pointer}");
    }
    assert_eq!(read("a", "threadIdx.x"), Class::Uniform);
    assert_ne!(read("b", "threadIdx.x"), Class::Uniform);
    assert_ne!(read("n > 3 ? a : b", "threadIdx.x"), Class::Uniform);
}

/// A barrier under a branch that certainly parts the block is an error; one that may be met by all is a warning.
#[test]
fn branches_that_part_a_block() {
    let tier = |condition: &str| {
        let shader = format!(
            "RWStructuredBuffer<int> o; StructuredBuffer<int> p; int n;
             [numthreads(64, 1, 1)] void main(uint3 t : SV_GroupThreadID) {{ {} {{ GroupMemoryBarrierWithGroupSync(); }} o[t.x] = n; }}",
            condition.replace("threadIdx", "t")
        );
        let all = functions(&shader, Dialect::Hlsl);
        let findings = all
            .iter()
            .flat_map(|(module, facts)| diagnose(module, std::slice::from_ref(facts)));
        let mut findings = findings.filter(|f| f.code == Code::DivergentBarrier);
        findings.next().map(|finding| finding.tier)
    };
    for condition in [
        "if (threadIdx.x < 16)",
        "if (threadIdx.x == 5)",
        "if (threadIdx.x != 63)",
        "if (threadIdx.x >= 63)",
        "if (threadIdx.x > 62)",
        "if (threadIdx.x <= 0)",
    ] {
        assert_eq!(tier(condition), Some(Tier::Error), "{condition}");
    }
    for condition in [
        "if (p[threadIdx.x] > 0)",
        "if (p[threadIdx.x] > 0) if (threadIdx.x < 16)",
        "if (threadIdx.x < n)",
        "if (threadIdx.x < 16) if (p[threadIdx.x] > 0)",
    ] {
        assert_eq!(tier(condition), Some(Tier::Warning), "{condition}");
    }
    for condition in [
        "if (threadIdx.x < 64)",
        "if (threadIdx.x != 64)",
        "if (threadIdx.x <= 63)",
        "if (threadIdx.x >= 0)",
        "if (n < 5)",
        "if (threadIdx.x > 63)",
        "if (threadIdx.x == 64)",
    ] {
        assert_ne!(tier(condition), Some(Tier::Error), "{condition}");
    }
}

/// An index that is a constant once the loops of an instantiation are unrolled keeps a local array in registers.
#[test]
fn rounds_that_an_instantiation_counts() {
    let indexed = |limit: &str| {
        let text = format!(
            "template <int N, typename T> __global__ void k(float* o, const int* p, int n) {{ float a[64]; int t = threadIdx.x;
             for (int i = 0; i < {limit}; i++) a[i] = o[i * n + t];
             for (int i = 0; i < {limit}; i++) o[i + t] = a[i] * 2; }}"
        );
        tells(&text, Code::LocalArrayDynamicIndex)
    };
    for limit in [
        "N",
        "N + 1",
        "N * 2 - 1",
        "N / 4",
        "N % 7 + 1",
        "(N > 4 ? 4 : N)",
        "(int)(N * 2)",
        "-N + 64",
        "~N + 65",
        "N << 1",
        "min(N, 8)",
        "8",
        "(int)sizeof(T)",
        "16 / (int)sizeof(T)",
        "(N < 8) * 8",
    ] {
        assert!(!indexed(limit), "{limit}");
    }
    for limit in ["n", "N + n", "p[0]", "N * p[1]", "(n > 4 ? 4 : N)", "N / n"] {
        assert!(indexed(limit), "{limit}");
    }
}

/// A warp that waits for one of its own lanes waits forever, where a lane of its own may hold the lock.
#[test]
fn lanes_that_hold_a_number() {
    let race = |condition: &str| {
        let text = format!(
            "__global__ void k(int* o, int n) {{ __shared__ int s; int t = threadIdx.x; if ({condition}) s = t + n; __syncthreads(); o[t] = s; }}"
        );
        tells(&text, Code::SharedMemoryRace)
    };
    for each in ["t == 0", "t == n", "t == 33"] {
        assert!(!race(each), "{each}");
    }
    for several in ["t < 2", "t % 2 == 0", "(t | 1) == 1", "n > 3"] {
        assert!(race(several), "{several}");
    }
}

/// Rows that threads share, by remainders of sums whose other parts are multiples of the row.
#[test]
fn remainders_of_sums() {
    let race = |write: &str, read: &str| {
        let text = format!(
            "[numthreads(64, 1, 1)] void main(uint3 g : SV_GroupThreadID) {{ uint t = g.x; s[{write}] = n; o[t] = s[{read}]; }}"
        );
        let text = format!("groupshared int s[256]; RWStructuredBuffer<int> o; uint n; {text}");
        let all = functions(&text, Dialect::Hlsl);
        let findings = all
            .iter()
            .flat_map(|(module, facts)| diagnose(module, std::slice::from_ref(facts)));
        findings
            .map(|f| f.code)
            .any(|code| code == Code::SharedMemoryRace)
    };
    for (write, read) in [
        ("t", "t + 1"),
        ("(t + 65) % 64", "t"),
        ("(t + 63) & 63", "t"),
        ("t", "63 - t"),
        ("2 * t", "t"),
        ("t", "t ^ 1"),
        ("(64 + t) % 64", "(t + 1) % 64"),
    ] {
        assert!(race(write, read), "{write}, {read}");
    }
    for (write, read) in [
        ("t", "t"),
        ("(t + 64) % 64", "t"),
        ("t + 64", "t"),
        ("2 * t", "2 * t + 1"),
        ("2 * t", "2 * t"),
        ("t << 1", "t * 2"),
    ] {
        assert!(!race(write, read), "{write}, {read}");
    }
}
