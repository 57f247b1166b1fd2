//! Atomic operations of a warp on one address.

use super::{kernel, reasons, tells};
use facts::{Code, FindingReason};
use syntax::c_family::Dialect;

#[test]
fn a_workgroup_has_no_more_lanes_than_threads() {
    let text = |size: u32| {
        format!(
            "RWByteAddressBuffer u; cbuffer C {{ uint v; }}; [numthreads({size}, 1, 1)] void f(uint t : SV_GroupIndex) {{ u.InterlockedAdd(v, t); }}"
        )
    };
    let of = |size| reasons(&text(size), Dialect::Hlsl);
    let lanes = |size| match &of(size)[..] {
        [(Code::AtomicSameAddress, FindingReason::AtomicContention { lanes, most, .. })] => {
            (*lanes, *most)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(lanes(2), (Some(2), 2));
    assert_eq!(lanes(64), (None, 32));
    assert_eq!(of(1), []);
}

#[test]
fn one_lane_of_a_group_whose_size_a_template_tells() {
    let text = |condition: &str| {
        format!(
            "template <int tile> __global__ void k(int* out, int* cnt, const int* in) {{
               cooperative_groups::thread_block_tile<tile> t = cooperative_groups::tiled_partition<tile>(cooperative_groups::this_thread_block());
               int lane = t.thread_rank(); int part = threadIdx.x % tile;
               if ({condition}) out[0] = atomicAdd(cnt, in[threadIdx.x]);
             }}"
        )
    };
    let of = |condition| tells(&text(condition), Code::AtomicSameAddress);
    assert!(!of("lane == 0"));
    assert!(!of("part == 0"));
    // The first lane of a vote among the tile's.
    assert!(!of("lane == __ffs(t.ballot(in[threadIdx.x] > 0)) - 1"));
    assert!(!of(
        "t.thread_rank() == (unsigned)in[blockIdx.x] && in[0] < 7"
    ));
    assert!(of("lane != 0"));
    assert!(of("in[threadIdx.x] == 0"));
}

#[test]
fn a_ticket_is_drawn_by_one_lane() {
    let of = |drawn: &str, condition: &str| {
        let body = format!(
            "int ticket = atomicAdd({drawn}, 1);
             if ({condition}) out[ticket] = atomicAdd(count + 1, threadIdx.x);"
        );
        let told = reasons(&kernel("", &body), Dialect::Cuda);
        let same = told
            .iter()
            .filter(|(code, _)| *code == Code::AtomicSameAddress);
        same.count()
    };
    assert_eq!(of("count", "ticket == 0"), 0);
    assert_eq!(of("count", "ticket < 4"), 1);
    assert_eq!(of("count + threadIdx.x + 8", "ticket == 0"), 1);
}

#[test]
fn atomics_that_the_compiler_makes_one_of() {
    // By the machine code of ptxas 13: VOTE and POPC, or REDUX, and one operation.
    let of = |body: &str| tells(&kernel("", body), Code::AtomicSameAddress);
    for merged in [
        "atomicAdd(count, 1)",
        "out[atomicAdd(count, 1)] = 1",
        "atomicAdd(count, m + (int)threadIdx.x)",
        "atomicMax(count, (int)threadIdx.x)",
        "atomicOr(count, 1 << threadIdx.x)",
    ] {
        assert!(!of(&format!("{merged};")), "{merged}");
    }
    for told in [
        "atomicAdd(out, in[threadIdx.x])",
        "out[threadIdx.x] = atomicAdd(count, (int)threadIdx.x)",
        "out[threadIdx.x] = atomicMax(count, (int)threadIdx.x)",
        "atomicAdd((unsigned long long*)count, (unsigned long long)threadIdx.x)",
        "atomicInc((unsigned*)count, threadIdx.x)",
        "out[threadIdx.x] = atomicExch(count, 1)",
    ] {
        assert!(of(&format!("{told};")), "{told}");
    }
}

/// One lane of those that vote for something has none below.
#[test]
fn leaders_among_those_that_vote() {
    let of = |vote: &str, body: &str| {
        let body = format!(
            "int lane = threadIdx.x & 31; bool p = in[threadIdx.x] > 3; int x = 0;
             unsigned all = __ballot_sync(0xffffffff, {vote}), below = all & ((1u << lane) - 1);
             {body} out[threadIdx.x] = x;"
        );
        tells(&kernel("", &body), Code::AtomicSameAddress)
    };
    assert!(!of(
        "true",
        "if (__popc(below) == 0) x = atomicMax(count, n + lane);"
    ));
    assert!(!of(
        "p",
        "if (p) { if (__popc(below) == 0) x = atomicMax(count, n + lane); }"
    ));
    assert!(!of(
        "p",
        "if (p && __popc(below) == m) x = atomicMax(count, n + lane);"
    ));
    assert!(of(
        "p",
        "if (__popc(below) == 0) x = atomicMax(count, n + lane);"
    ));
    assert!(of(
        "p",
        "if (!p) { if (__popc(below) == 0) x = atomicMax(count, n + lane); }"
    ));
    assert!(of(
        "true",
        "if (__popc(below) != 0) x = atomicMax(count, n + lane);"
    ));
    assert!(of(
        "true",
        "if (__popc(all) == 32) x = atomicMax(count, n + lane);"
    ));
    let active = "below = __activemask() & ((1u << lane) - 1);";
    assert!(!of(
        "p",
        &format!("{active} if (__popc(below) == 0) x = atomicMax(count, n + lane);")
    ));
}

/// A counter of failures is not incremented if nothing fails; a counter of a type that is not known is not
/// judged.
#[test]
fn counters_of_failures_and_of_unknown_types() {
    let of = |ty: &str, name: &str| {
        let text = format!(
            "__global__ void k({ty}* {name}, const float* in) {{ if (in[threadIdx.x] > 3) atomicMax({name}, threadIdx.x); }}"
        );
        tells(&text, Code::AtomicSameAddress)
    };
    assert!(of("unsigned long long", "most"));
    for name in ["error_count", "numErrors", "d_overflow", "err", "failed"] {
        assert!(!of("unsigned long long", name), "{name}");
    }
    assert!(of("unsigned long long", "interrupts"));
    assert!(!of("COUNTER", "most"));
}

#[test]
fn one_lane_by_the_number_in_the_grid() {
    let counted = |lane: &str| {
        let body = format!(
            "unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
             if ({lane} == 0) out[id] = atomicExch(count, n);"
        );
        tells(&kernel("", &body), Code::AtomicSameAddress)
    };
    assert!(!counted("id % 32"));
    assert!(!counted("(id & 31)"));
    assert!(counted("id / 32 % 2"));
}

/// The callers of a function determine how many lanes come to its atomic operation.
#[test]
fn counters_in_functions_are_their_callers() {
    let told = |guard: &str| {
        let text = format!(
            "RWBuffer<uint> counter : register(u0); RWBuffer<uint> list : register(u1);
             void count(uint value, out uint first) {{ InterlockedAdd(counter[0], value, first); }}
             [numthreads(64, 1, 1)] void main(uint i : SV_GroupIndex) {{
               uint first = 0; bool leads = WaveIsFirstLane();
               if ({guard}) count(2, first);
               list[i] = first;
             }}"
        );
        reasons(&text, Dialect::Hlsl)
            .iter()
            .any(|(code, _)| *code == Code::AtomicSameAddress)
    };
    assert!(!told("leads"));
    assert!(!told("i == 0"));
    assert!(told("i != 7"));
}

/// A queue that a tile of open width works off, one lane at a time.
#[test]
fn lanes_that_take_turns_in_a_tile_of_open_width() {
    let told = |condition: &str| {
        let text = format!(
            "template <int W> __global__ void k(const int* keys, int* counter, int* out, int n) {{
               auto tile = cooperative_groups::tiled_partition<W>(cooperative_groups::this_thread_block());
               int lane = tile.thread_rank(), i = blockIdx.x * blockDim.x + threadIdx.x;
               unsigned active = tile.ballot(i < n);
               while (active) {{
                 int next = __ffs(active) - 1;
                 if ({condition}) out[i] = atomicExch(counter, keys[i]);
                 active &= active - 1;
               }}
             }}"
        );
        tells(&text, Code::AtomicSameAddress)
    };
    assert!(!told("lane == next"));
    assert!(told("lane != next"));
    assert!(told("keys[i] == next"));
}

/// One lane has made an exchange that found what it expected: that lane alone goes on there.
#[test]
fn the_lane_whose_exchange_was_made() {
    let told = |condition: &str| {
        let body = format!(
            "int old = *count, mine = count[threadIdx.x + 8];
             while (mine > old) {{
                 int found = atomicCAS(count, old, mine);
                 if ({condition}) {{ atomicExch(count + 1, mine); break; }}
                 old = found;
             }}"
        );
        let all = reasons(&kernel("", &body), Dialect::Cuda);
        let contended = all.iter();
        contended
            .filter(|(code, _)| *code == Code::AtomicSameAddress)
            .count()
    };
    // The exchange that compares is contended in any case.
    assert_eq!(told("found == old"), 1);
    assert_eq!(told("!(found != old)"), 1);
    assert_eq!(told("found == mine"), 2);
}
