//! The lanes that a condition lets through, lane by lane as the language computes it, and the sectors that an
//! access then touches.

use super::source::functions_with;
use facts::{AccessFact, AccessKind, BranchFact, FunctionFacts, Options};
use syntax::c_family::Dialect;

/// A condition of the source, and the same for a lane's number.
type Claim = (&'static str, fn(i64) -> bool);

fn facts_of(body: &str, width: Option<u32>) -> FunctionFacts {
    let text = format!(
        "__global__ void k(int* o, int n) {{ __shared__ int tile[4096]; int t = threadIdx.x; unsigned u = threadIdx.x;
         int gid = blockIdx.x * blockDim.x + threadIdx.x; {body} o[t] = tile[n]; }}"
    );
    let with = Options {
        block: [width, width.map(|_| 1), width.map(|_| 1)],
        ..Options::default()
    };
    functions_with(&text, Dialect::Cuda, &with).swap_remove(0).1
}

/// Returns the facts of the only branch on a condition.
fn branch(condition: &str, width: Option<u32>) -> BranchFact {
    let mut facts = facts_of(&format!("if ({condition}) o[n] = t;"), width);
    assert_eq!(facts.branches.len(), 1, "{condition}");
    facts.branches.remove(0)
}

/// The first store under a condition.
fn store(condition: &str, place: &str, width: Option<u32>) -> AccessFact {
    let facts = facts_of(&format!("if ({condition}) {place} = n;"), width);
    let mut stores = facts
        .accesses
        .into_iter()
        .filter(|a| a.kind == AccessKind::Store);
    stores.next().expect("there is a store")
}

fn set(holds: &dyn Fn(i64) -> bool) -> u128 {
    (0..32).filter(|&t| holds(t)).fold(0, |set, t| set | 1 << t)
}

/// In a block of a warp and a half each lane's numbers are known.
#[test]
fn lanes_for_which_a_condition_holds() {
    let claims: &[Claim] = &[
        ("t < 5", |t| t < 5),
        ("t <= 5", |t| t <= 5),
        ("t > 28", |t| t > 28),
        ("28 <= t", |t| 28 <= t),
        ("t == 7", |t| t == 7),
        ("t != 7", |t| t != 7),
        ("!(t < 9)", |t| t >= 9),
        ("t", |t| t != 0),
        ("!t", |t| t == 0),
        ("u < 5", |t| t < 5),
        ("t - 20 < -4", |t| t - 20 < -4),
        ("31 - t < 3", |t| 31 - t < 3),
        ("3 - t < -20", |t| 3 - t < -20),
        ("t % 4 == 1", |t| t % 4 == 1),
        ("u % 3 == 1", |t| t % 3 == 1),
        ("t / 8 == 2", |t| t / 8 == 2),
        ("t / 5 == 2", |t| t / 5 == 2),
        ("t >> 2 == 3", |t| t >> 2 == 3),
        ("t << 1 > 20", |t| t << 1 > 20),
        ("(t & 6) == 6", |t| t & 6 == 6),
        ("(t & -8) == 8", |t| t & -8 == 8),
        ("(t | 8) == 9", |t| t | 8 == 9),
        ("(t ^ 5) < 4", |t| t ^ 5 < 4),
        ("(3 * t + 1) % 8 == 2", |t| (3 * t + 1) % 8 == 2),
        ("t * t < 50", |t| t * t < 50),
        ("min(t, 7) == 7", |t| t.min(7) == 7),
        ("max(t, 20) == 20", |t| t.max(20) == 20),
        ("-t * 2 > -9", |t| -t * 2 > -9),
        ("(t / 4) * 4 == t", |t| t / 4 * 4 == t),
        ("(long long)t * 3 < 10", |t| t * 3 < 10),
    ];
    for (condition, holds) in claims {
        assert_eq!(
            branch(condition, Some(48)).lanes,
            Some(set(holds)),
            "{condition}"
        );
    }
    // What is below zero, or leaves a narrow type, may go untold.
    let hard: &[Claim] = &[
        ("u - 4 < 100", |t| (4..104).contains(&t)),
        ("(t - 20) >> 1 == -9", |t| (t - 20) >> 1 == -9),
        ("(t - 20) / 2 == -3", |t| (t - 20) / 2 == -3),
        ("(t - 20) % 4 == -1", |t| (t - 20) % 4 == -1),
        ("((t - 20) & 7) == 1", |t| (t - 20) & 7 == 1),
        ("((t - 20) | 3) == -1", |t| (t - 20) | 3 == -1),
        ("((t - 20) ^ 3) < -7", |t| (t - 20) ^ 3 < -7),
        ("(char)(t * 9) > 3", |t| (t * 9) as i8 > 3),
        ("(unsigned char)(t * 9) > 250", |t| (t * 9) as u8 > 250),
        ("(u - 4) / 2 > 100", |t| t < 4),
    ];
    for (condition, holds) in hard {
        let told = branch(condition, Some(48)).lanes;
        assert!(
            told.is_none_or(|told| told == set(holds)),
            "{condition}: {told:x?}"
        );
    }
}

/// In rows of any number of warps, and in any block: of the first warp that comes here whole.
#[test]
fn lanes_of_the_first_warp() {
    let claims: &[Claim] = &[
        ("t < 5", |t| t < 5),
        ("u <= 5", |t| t <= 5),
        ("5 > t", |t| t < 5),
        ("5 >= u", |t| t <= 5),
        ("t % 4 == 1", |t| t % 4 == 1),
        ("(t & 6) == 6", |t| t & 6 == 6),
        ("!(t % 2)", |t| t % 2 == 0),
        ("t % 2", |t| t % 2 == 1),
        ("t * 4 % 64 == 4", |t| t * 4 % 64 == 4),
        ("t / 2 % 16 == 3", |t| t / 2 % 16 == 3),
        ("t / 2 * 4 % 64 == 8", |t| t / 2 * 4 % 64 == 8),
        ("(t & (warpSize - 1)) == 3", |t| t == 3),
        ("t % 96 % 32 == 3", |t| t == 3),
        ("(t & 63) % 32 == 3", |t| t == 3),
        ("(t / 4 << 3) % 64 == 8", |t| ((t / 4) << 3) % 64 == 8),
        // The first block has the first numbers, the first row of a tile its first.
        ("gid < 5", |t| t < 5),
        ("6 > gid", |t| t < 6),
        ("gid * 4 <= 12", |t| t * 4 <= 12),
        ("gid + blockIdx.y < 5", |t| t < 5),
        ("t + (n & 7) < 5", |t| t < 5),
    ];
    for (condition, holds) in claims {
        assert_eq!(
            branch(condition, None).lanes,
            Some(set(holds)),
            "{condition}"
        );
    }
    for condition in [
        "t < n",
        "t / 2 % 32 == 3",
        "t % 96 == 3",
        "(t & 63) == 3",
        "t % 48 % 32 == 3",
        "t * 3 % 64 == 3",
        "t / 2 * 4 % 128 == 8",
        "t > 28",
        "t == 7",
        "t + n < 5",
        "t - n < 5",
        "gid - 40 < 5",
        "t - (n & 7) < 5",
        "gid > 5",
        "gid == 5",
        "o[t] < 3",
        "t % n == 0",
    ] {
        assert_eq!(branch(condition, None).lanes, None, "{condition}");
    }
}

#[test]
fn lanes_that_take_part() {
    for (condition, lanes) in [
        ("t < 16 && t % 2 == 0", 8),
        ("!(t < 4 || n == 1)", 32),
        ("t < 4 && n > 3", 4),
        ("t == n", 1),
        ("t == 7", 1),
        ("n == t + 1", 1),
        ("t * 4 == n", 1),
        ("t % 4 == n", 8),
        ("t / 4 == n", 4),
        ("gid == n", 1),
        ("t != n", 32),
        ("n < t", 32),
        ("(t & 1) == 0 && (t & 2) == 0", 8),
        ("gid < 5", 5),
        ("t + (n & 7) < 5", 5),
        ("t + n < 5", 32),
        ("gid - 40 < 5", 32),
        ("t - (n & 7) < 5", 32),
        ("__popc(__activemask() & ((1u << t) - 1)) == 3", 32),
    ] {
        let fact = store(condition, "o[t]", None);
        assert_eq!(
            (fact.lanes, fact.partial),
            (lanes, lanes < 32),
            "{condition}"
        );
    }
    for (condition, lanes) in [
        ("!(t < 4 || n == 1)", 28),
        ("t >= 4 && t < 9", 5),
        ("t >= 4 && n > 3 && t % 2 == 0", 14),
        ("t == 30 || t < 3", 4),
        ("gid == n", 1),
        ("t < 3 || n > 1", 32),
    ] {
        let fact = store(condition, "o[t]", Some(48));
        assert_eq!(
            (fact.lanes, fact.partial),
            (lanes, lanes < 32),
            "{condition}"
        );
    }
}

/// A number that each lane has for itself is held by one.
#[test]
fn lanes_by_rank() {
    let lanes = |condition: &str| {
        let text = format!(
            "RWStructuredBuffer<int> o; int n; [numthreads(64,1,1)]
             void main(uint3 t : SV_DispatchThreadID) {{ if ({condition}) o[t.x] = 1; }}"
        );
        let all = functions_with(&text, Dialect::Hlsl, &Options::default());
        let mut accesses = all[0].1.accesses.iter();
        accesses
            .find(|a| a.kind == AccessKind::Store)
            .map(|a| a.lanes)
    };
    assert_eq!(lanes("WavePrefixCountBits(true) == n"), Some(1));
    assert_eq!(lanes("WavePrefixCountBits(true) < n"), Some(32));
    assert_eq!(lanes("WavePrefixCountBits(t.x > n) == n"), Some(32));
    assert_eq!(lanes("WaveIsFirstLane()"), Some(1));
    assert_eq!(lanes("!WaveIsFirstLane()"), Some(32));
}

/// The sectors that the bytes of a warp need at best.
#[test]
fn sectors_of_places_that_are_not_known() {
    for (ty, sectors) in [("char", 1), ("short", 2), ("int", 4), ("double", 8)] {
        let text = format!("__global__ void k({ty}* p, int* i) {{ p[i[threadIdx.x]] = 1; }}");
        let facts = functions_with(&text, Dialect::Cuda, &Options::default())
            .swap_remove(0)
            .1;
        let store = facts.accesses.iter().find(|a| a.kind == AccessKind::Store);
        assert_eq!(store.map(|a| a.ideal_sectors), Some(sectors), "{ty}");
    }
}

/// An atomic operation of a vector is one access of all its components; the outputs of a mesh shader are no
/// accesses of memory.
#[test]
fn vectors_and_outputs() {
    let accesses = |text: &str, dialect| {
        let mut all = functions_with(text, dialect, &Options::default());
        let facts = all.swap_remove(0).1;
        let of = |a: &facts::AccessFact| (a.bytes, a.sectors, a.ideal_sectors);
        facts.accesses.iter().map(of).collect::<Vec<_>>()
    };
    let pair = "__global__ void k(half2* out, half2 v) { atomicAdd(out + threadIdx.x * 2, v); }";
    assert_eq!(accesses(pair, Dialect::Cuda), [(4, Some(8), 4)]);
    let two = "__global__ void k(float* p) { atomicAdd(p + threadIdx.x, 1.0f); atomicAdd(p + 1 + threadIdx.x, 1.0f); }";
    assert_eq!(accesses(two, Dialect::Cuda).len(), 2);
    let mesh = "struct V { float4 p : SV_Position; };
        [outputtopology(\"triangle\")] [numthreads(32, 1, 1)]
        void main(uint i : SV_GroupIndex, out indices uint3 t[64], out vertices V v[64]) {
            SetMeshOutputCounts(64, 64); t[i * 2] = uint3(0, 1, 2); }";
    assert_eq!(accesses(mesh, Dialect::Hlsl), []);
}
