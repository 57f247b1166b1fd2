//! Lanes that share the rounds of loops, rows of memory, and a warp's exchanges: each finding beside its
//! neighbours that are right.

use super::source::functions;
use facts::{Code, FindingReason};
use syntax::c_family::Dialect;

/// Reasons of a code about a kernel of the thread `t` with the number `v`.
fn found(code: Code, body: &str) -> Vec<FindingReason> {
    let text = format!(
        "__global__ void k(int* o, const int* p, int n, int m) {{ int t = threadIdx.x, v = t; {body} o[t] = v; }}"
    );
    let all = functions(&text, Dialect::Cuda);
    let findings = all
        .iter()
        .flat_map(|(module, facts)| facts::diagnose(module, std::slice::from_ref(facts)));
    let findings = findings.filter(|f| f.code == code);
    findings.map(|f| f.reason).collect()
}

#[test]
fn rounds_that_lanes_share() {
    let told = |head: &str| {
        !found(
            Code::DivergentLoop,
            &format!("int s = blockDim.x * 2; for ({head}) o[i] = p[i];"),
        )
        .is_empty()
    };
    for head in [
        "int i = t; i < n; i += blockDim.x",
        "int i = t; i < n; i += s",
        "int i = t; i < n; i += m",
        "int i = m + t; i < n; i += 32",
        "int i = m + t % 8; i < n; i += 8",
        "int i = t % 8 + m; i < n; i += 8",
        "int i = t & 7; i < n; i += 8",
        "int i = t; i < n; i += 64",
        "int i = 0; i < n; i++",
    ] {
        assert!(!told(head), "{head}");
    }
    for head in [
        "int i = t; i < n; i++",
        "int i = 0; i < t; i++",
        "int i = m + t; i < n; i += 8",
        "int i = m + t % 8; i < n; i += 4",
        "int i = t % 8 + m; i < n; i += 2",
        "int i = t & 7; i < n; i += 2",
        "int i = 0; i < p[t]; i++",
    ] {
        assert!(told(head), "{head}");
    }
}

/// The addresses that the lanes of a warp read in the rounds of a loop are whole rows, or not.
#[test]
fn rows_that_are_read_in_whole() {
    let told = |head: &str, place: &str| {
        let body = format!("for ({head}) v += p[{place}];");
        !found(Code::UncoalescedAccess, &body).is_empty()
    };
    for (head, place) in [
        ("int j = 0; j < 8; j++", "8 * t + j"),
        ("int j = 0; j < 8; j++", "j + 8 * t"),
        ("int j = 0; j < 8; ++j", "(t << 3) + j"),
        ("int j = 0; j < 8; j = 1 + j", "8 * t + j"),
        ("int j = 0; j < 8; j++", "8 * t - j + 7"),
    ] {
        assert!(!told(head, place), "{head} {place}");
    }
    for (head, place) in [
        ("int j = 0; j < 16; j += 2", "8 * t + j"),
        ("int j = 0; j < 8; j++", "8 * t + 8 * j"),
        ("int j = 0; j < 8; j++", "8 * t + (j << 3)"),
        ("int j = 0; j < 8; j++", "8 * t + 2 * j"),
        ("int j = 0; j < 8; j++", "8 * (t + j)"),
        ("int j = 0; j < 8; j++", "8 * t"),
    ] {
        assert!(told(head, place), "{head} {place}");
    }
}

#[test]
fn lanes_that_a_mask_does_not_name() {
    for (condition, mask, lanes) in [
        ("t < 16", "0xff", 0xff00),
        ("t < 16", "0x5555", 0xaaaa),
        ("t < 16", "0xfff7", 0x8),
        ("t < 16", "0xfed7", 0x128),
        ("t % 4 == 1", "0x22", 0x2222_2200),
    ] {
        let body = format!("if ({condition}) v = __shfl_sync({mask}, v, 0);");
        let all = found(Code::WarpSyncMask, &body);
        assert!(
            matches!(&all[..], [FindingReason::MaskLeavesOut { missing, .. }] if *missing == lanes),
            "{body}: {all:?}"
        );
    }
    for (condition, mask) in [
        ("t < 16", "0xffff"),
        ("t % 4 == 1", "0x22222222"),
        ("t < 4 && t % 2", "0xa"),
    ] {
        let body = format!("if ({condition}) v = __shfl_sync({mask}, v, 0);");
        assert_eq!(found(Code::WarpSyncMask, &body), [], "{body}");
    }
}

#[test]
fn lanes_that_are_read_and_do_not_come() {
    for (body, absent) in [
        ("if (t < 16) v = __shfl_sync(0xffff, v, t + 8);", 0xff_0000),
        (
            "if (t < 16) v = __shfl_sync(0xffff, v, t ^ 16);",
            0xffff_0000,
        ),
        (
            "if (t < 16) v = __shfl_sync(0xffff, v, t | 16);",
            0xffff_0000,
        ),
        (
            "if (t < 16) v = __shfl_sync(0xffff, v, 31 - t);",
            0xffff_0000,
        ),
        (
            "if (t < 16) v = 1; else v = __shfl_sync(0xffff0000, v, t - 16);",
            0xffff,
        ),
        (
            "if ((t & 3) == 1) v = __shfl_xor_sync(0x22222222, v, 1);",
            0x1111_1111,
        ),
    ] {
        let all = found(Code::ShuffleInactiveSource, body);
        assert!(
            matches!(&all[..], [FindingReason::AbsentLanesRead { absent: found, .. }] if *found == absent),
            "{body}: {all:?}"
        );
    }
    for body in [
        "if (t < 16) v = __shfl_sync(0xffff, v, t ^ 8);",
        "if (t < 16) v = __shfl_sync(0xffff, v, t | 8);",
        "if (t < 16) v = __shfl_sync(0xffff, v, 15 - t);",
        "if (t < 16) v = __shfl_sync(0xffff, v, (t + 8) % 16);",
        "if (t >= 16) v = 3; else v = __shfl_sync(0xffff, v, t ^ 8);",
        "if ((t & 3) == 1) v = __shfl_xor_sync(0x22222222, v, 4);",
    ] {
        assert_eq!(found(Code::ShuffleInactiveSource, body), [], "{body}");
    }
}
