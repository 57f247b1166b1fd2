//! Findings about lanes that are missing, against executions: random kernels with one barrier, shuffle or
//! `__syncwarp` behind conditions, loops, returns and traps at random, and the interpreter, which sees who
//! waits for whom. A finding is confirmed by a launch in which threads part there; a launch in which they do
//! asks for a finding. A thread that passes by a barrier waits at the one at the end.
//!
//! `LOCKSTEP_CONVERGENCE_KERNELS=N` runs N kernels, `LOCKSTEP_CONVERGENCE_SEED=N` starts at another seed.

extern crate lockstep_facts as facts;

#[allow(dead_code)]
mod source;

use facts::{Code, Options, Tier, analyze_module, diagnose};
use ir::{Barrier, Function, Inst, Module, Op, Type};
use oracle::interp::{
    Argument, Buffer, Error, EventKind, Instance, Launch, Observer, lanes, run_with,
};
use oracle::random::Random;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use syntax::c_family::Dialect;

const KERNELS: u64 = 400;
const THREADS: u32 = 64;

#[allow(clippy::disallowed_methods)]
fn setting(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}

// ----------------------------------------------------------------------------------------------- the programs

struct Writer {
    random: Random,
    text: String,
    depth: usize,
    loops: u32,
}

impl Writer {
    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.random.below(from.len() as u32) as usize]
    }

    fn line(&mut self, text: &str) {
        let indent = "  ".repeat(self.depth + 1);
        let _ = writeln!(self.text, "{indent}{text}");
    }

    fn condition(&mut self) -> &'static str {
        self.pick(&[
            "t < n",
            "t > n",
            "in[t] > 30",
            "n > 2",
            "lane < n",
            "w == 1",
            "t < 32",
            "w == (n & 1)",
            "lane < 16",
            "t < 64",
            "x & 1",
            "(t ^ x) < n",
            "__any_sync(0xffffffffu, x > 60)",
            "s[0] > 40",
            "t < (n & ~31)",
            "n - n % 32 > t",
        ])
    }

    fn head(&mut self) -> String {
        let head = self.pick(&[
            "for (int I = t; I < n / 32 * 32; I += 64)",
            "for (int I = t; I < (n & ~31); I += blockDim.x)",
            "for (int I = lane; I < n - n % 32; I += 32)",
            "for (int I = t; I < n / 64 * 64; I += 64)",
            "for (int I = t; I < n; I += 64)",
            "for (int I = lane; I < n; I += 32)",
            "for (int I = lane; I < n / 32 * 32 + 1; I += 32)",
            "for (int I = t + (n & 7); I < n / 32 * 32; I += 32)",
            "for (int I = lane; I < n / 32 * 32; I += 16)",
            "for (int I = 0; I < (n & 3); ++I)",
            "for (int I = 0; I < (in[t] & 3); ++I)",
            "for (int I = w; I < (n & 7); I += 2)",
            "for (int I = lane & 7; I < (n & 7); I += 8)",
        ]);
        self.loops += 1;
        head.replace('I', &format!("i{}", self.loops))
    }

    /// Writes a way by which some threads leave instead of going on, on a condition that decides nothing
    /// else.
    fn leaves(&mut self) {
        let condition = self.pick(&["in[t] > 60 - m", "x > m + 40", "m == 20", "lane > m"]);
        let mut ways = vec!["return;", "__trap();", "{ out[t + 64] = x; __trap(); }"];
        if self.loops > 0 {
            ways.extend(["break;", "continue;"]);
        }
        let way = self.pick(&ways);
        self.line(&format!("if ({condition}) {way}"));
    }

    fn around(&mut self, operation: &str) {
        if self.random.percent(20) {
            self.leaves();
        }
        if self.random.percent(20) {
            self.line("x += in[x & 63];");
        }
        if self.depth == 3 || self.depth > 0 && self.random.percent(35) {
            return self.line(operation);
        }
        let (head, is_loop) = match self.random.percent(50) {
            true => (self.head(), true),
            false => (format!("if ({})", self.condition()), false),
        };
        self.line(&format!("{head} {{"));
        self.depth += 1;
        self.around(operation);
        self.depth -= 1;
        self.line("}");
        if is_loop {
            self.loops -= 1;
        } else if self.random.percent(25) {
            self.line("else x += 3;");
        }
    }
}

fn kernel(seed: u64) -> String {
    let mut writer = Writer {
        random: Random::new(seed ^ 0x0c07_7e46),
        text: String::new(),
        depth: 0,
        loops: 0,
    };
    let operation = writer.pick(&[
        "__syncthreads();",
        "x += __syncthreads_count(x & 1);",
        "x += __shfl_xor_sync(0xffffffffu, x, 1);",
        "__syncwarp();",
    ]);
    writer.around(operation);
    format!(
        "__global__ void k(int* out, const int* in, int n, int m) {{\n  __shared__ int s[64];\n  \
         int t = threadIdx.x, lane = t % 32, w = t / 32, x = in[t];\n  s[t] = x;\n  __syncthreads();\n{}  \
         __syncthreads();\n  out[t] = x;\n}}\n",
        writer.text
    )
}

// -------------------------------------------------------------------------------------------------- the judge

/// True if threads are missing at a barrier, or lanes at an operation of the warp.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
struct Missing {
    barrier: bool,
    warp: bool,
}

/// The number of times that each thread has come to each barrier of the workgroup.
struct Arrivals<'a> {
    function: &'a Function,
    counts: HashMap<(Inst, u64), u32>,
}

impl Observer for Arrivals<'_> {
    fn barrier(&mut self, instance: &Instance<'_>, inst: Inst, mask: u64) {
        if self.function.insts[inst].op == Op::Barrier(Barrier::Warp) {
            return;
        }
        for lane in lanes(mask) {
            let thread = instance.first_thread + u64::from(lane);
            *self.counts.entry((inst, thread)).or_default() += 1;
        }
    }
}

impl Arrivals<'_> {
    /// Threads that come to the last barrier came to another one more often than others of these.
    fn differ(&self) -> bool {
        let place = |inst: Inst| self.function.insts[inst].loc.span.start;
        let Some(last) = self
            .counts
            .keys()
            .map(|(inst, _)| *inst)
            .max_by_key(|&i| place(i))
        else {
            return false;
        };
        let stay = (0..u64::from(THREADS)).filter(|&t| self.counts.contains_key(&(last, t)));
        let stay: Vec<u64> = stay.collect();
        let barriers: BTreeSet<Inst> = self.counts.keys().map(|(inst, _)| *inst).collect();
        barriers.into_iter().any(|inst| {
            let came = |t: &u64| self.counts.get(&(inst, *t)).copied().unwrap_or(0);
            stay.iter().any(|t| came(t) != came(&stay[0]))
        })
    }
}

fn executed(module: &Module, n: u64, m: u64, seed: u64) -> Missing {
    let function = &module.functions[0];
    let mut random = Random::new(seed);
    let mut launch = Launch::new(THREADS);
    launch.ended_lanes_arrive = true;
    launch.buffers = (0..2)
        .map(|_| Buffer::of_u32((0..4096).map(|_| random.below(64))))
        .collect();
    let mut pointers = 0..2;
    let mut numbers = [n, m].into_iter();
    let entry = &function.blocks[function.entry()].params;
    launch.parameters = entry
        .iter()
        .map(|&param| match function.ty(param) {
            Type::Ptr(_) => Argument::Pointer {
                buffer: pointers.next().unwrap_or(0),
                offset: 0,
            },
            _ => Argument::Bits(numbers.next().unwrap_or(1)),
        })
        .collect();
    let mut arrivals = Arrivals {
        function,
        counts: HashMap::new(),
    };
    let outcome = run_with(module, &launch, &mut arrivals, &());
    let absent = |kind: &EventKind| matches!(kind, EventKind::InactiveLanesInMask { .. });
    match outcome.error {
        None => Missing {
            barrier: arrivals.differ(),
            warp: outcome.events.iter().any(|event| absent(&event.kind)),
        },
        Some(Error::Barrier { .. }) => Missing {
            barrier: true,
            warp: false,
        },
        Some(error) => panic!("{error}"),
    }
}

#[test]
fn who_is_missing_is_told() {
    let first = setting("LOCKSTEP_CONVERGENCE_SEED", 0);
    let (mut confirmed, mut silent, mut witnessed) = (0u32, 0u32, 0u32);
    let (mut unconfirmed, mut untold) = (Vec::new(), Vec::new());
    for seed in first..first + setting("LOCKSTEP_CONVERGENCE_KERNELS", KERNELS) {
        let text = kernel(seed);
        let (module, _) = source::functions(&text, Dialect::Cuda).remove(0);
        let known = seed % 2 == 0;
        let options = Options {
            block: [
                known.then_some(THREADS),
                known.then_some(1),
                known.then_some(1),
            ],
            ..Options::default()
        };
        let facts = analyze_module(&module, &options);
        let findings = diagnose(&module, &facts);
        let told = |codes: &[Code]| {
            let mut told = findings.iter();
            told.any(|f| codes.contains(&f.code) && f.tier != Tier::Hint)
        };
        let said = Missing {
            barrier: told(&[Code::DivergentBarrier, Code::BarrierInDivergentLoop]),
            warp: told(&[Code::WarpSyncMask]),
        };
        // The launch that a finding names has what it says.
        for finding in findings.iter().filter(|f| f.tier != Tier::Hint) {
            let Some(witness) = &finding.witness else {
                continue;
            };
            assert!(witness.times[0] > witness.times[1], "{witness:?}");
            if witness.block != [THREADS, 1, 1] {
                continue;
            }
            let open = |name: &str, tried: i64| {
                let mut numbers = witness.numbers.iter();
                let own = numbers.find(|(own, _)| own == name);
                own.map_or(tried, |(_, number)| *number) as u64
            };
            // A launch that traps shows nothing: others are tried where the kernel can, with what the witness leaves open.
            let (others, data): (&[i64], u64) = match text.contains("__trap") {
                true => (&[5, 0, 40], 16),
                false => (&[5], 1),
            };
            let shown = others.iter().any(|&tried| {
                let (n, m) = (open("n", tried), open("m", tried));
                (seed..seed + data).any(|data| executed(&module, n, m, data) != Missing::default())
            });
            assert!(shown, "{witness:?}\n{text}");
            witnessed += 1;
        }
        let mut seen = Missing::default();
        for n in [0, 1, 2, 3, 7, 30, 33, 64, 70, 96, 100, 130] {
            for m in [0, 1, 2, 20, 33] {
                let now = executed(&module, n, m, seed + n);
                seen.barrier |= now.barrier;
                seen.warp |= now.warp;
            }
        }
        match (said != Missing::default(), seen != Missing::default()) {
            (true, true) => confirmed += 1,
            (false, false) => silent += 1,
            (true, false) => unconfirmed.push((seed, text)),
            (false, true) => untold.push((seed, text)),
        }
    }
    let shown = setting("LOCKSTEP_CONVERGENCE_SHOWN", 0) as usize;
    for (what, list) in [("unconfirmed", &unconfirmed), ("untold", &untold)] {
        for (seed, text) in list.iter().take(shown) {
            println!("{what}, seed {seed}\n{text}");
        }
    }
    println!(
        "{confirmed} findings confirmed by a launch, {} not; {witnessed} that name one; {silent} kernels silent in all launches, {} not",
        unconfirmed.len(),
        untold.len()
    );
    assert!(
        confirmed > 0 && silent > 0 && witnessed > 0,
        "{witnessed} witnesses"
    );
    // Conditions on the way that exclude each other are not seen.
    let (few, fewer) = (unconfirmed.len() as u32 * 12, untold.len() as u32 * 50);
    assert!(few <= confirmed, "{}", unconfirmed[0].1);
    assert!(fewer <= confirmed, "{}", untold[0].1);
}
