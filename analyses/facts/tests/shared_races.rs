//! Races on shared memory against executions: random kernels with barriers, loops and conditions at random,
//! and a race detector over the interpreter, which knows nothing but the order that barriers make. Each
//! finding names two threads, and the detector must see just these two collide at just these places; the
//! share of its other collisions that are found is printed.
//!
//! `LOCKSTEP_RACE_KERNELS=N` runs N kernels, `LOCKSTEP_RACE_SEED=N` starts at another seed.

extern crate lockstep_facts as facts;

#[allow(dead_code)]
mod source;

use facts::{Code, FindingReason, Options, SharedAccess, ThreadPlace, analyze_module, diagnose};
use ir::{Barrier, Function, Inst, Module, Op, Space, Type};
use oracle::interp::{AccessKind, Argument, Buffer, Instance, Launch, Observer, lanes, run_with};
use oracle::random::Random;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write;
use syntax::Span;
use syntax::c_family::Dialect;

const KERNELS: u64 = 300;
const THREADS: u32 = 64;

#[allow(clippy::disallowed_methods)]
fn setting(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}

// ---------------------------------------------------------------------------------------------- the detector

/// An access as a finding names it: its place, whether it writes, and the thread.
type Access = (Span, bool, u64);
/// The words that two accesses collide at.
type Races = HashMap<(Access, Access), BTreeSet<u64>>;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Event {
    inst: Inst,
    thread: u64,
    write: bool,
    atomic: bool,
    /// Barriers of the workgroup and of the warp that the thread has passed.
    passed: (u32, u32),
}

/// The accesses of each word of a workgroup's shared memory by the number of barriers before.
struct Detector<'a> {
    function: &'a Function,
    passed: HashMap<(u64, u64), (u32, u32)>,
    words: HashMap<(u64, u32, u64), HashSet<Event>>,
}

impl Detector<'_> {
    /// Pairs of accesses of one word without an order.
    fn races(&self) -> Races {
        let mut found = Races::new();
        let access = |event: &Event| {
            (
                self.function.insts[event.inst].loc.span,
                event.write,
                event.thread,
            )
        };
        for (&(_, _, word), events) in &self.words {
            let events: Vec<&Event> = events.iter().collect();
            for (at, a) in events.iter().enumerate() {
                for b in &events[at + 1..] {
                    let ordered = a.thread / 32 == b.thread / 32 && a.passed.1 != b.passed.1;
                    let harmless = !(a.write || b.write) || a.atomic && b.atomic;
                    if a.thread != b.thread && !ordered && !harmless {
                        found
                            .entry((access(a), access(b)))
                            .or_default()
                            .insert(word);
                        found
                            .entry((access(b), access(a)))
                            .or_default()
                            .insert(word);
                    }
                }
            }
        }
        found
    }
}

impl Observer for Detector<'_> {
    fn memory(
        &mut self,
        instance: &Instance<'_>,
        inst: Inst,
        kind: AccessKind,
        addresses: &[u64],
        mask: u64,
    ) {
        let data = &self.function.insts[inst];
        let (Op::Load(access) | Op::Store(access) | Op::Atomic(_, access)) = &data.op else {
            return;
        };
        if access.space != Space::Shared {
            return;
        }
        let group = instance.workgroup_index;
        for lane in lanes(mask) {
            let thread = instance.first_thread % u64::from(THREADS) + u64::from(lane);
            let passed = self.passed.get(&(group, thread)).copied();
            let passed = passed.unwrap_or_default();
            let word = (addresses[lane as usize] & 0xffff_ffff) / 4;
            self.words
                .entry((group, passed.0, word))
                .or_default()
                .insert(Event {
                    inst,
                    thread,
                    write: kind != AccessKind::Load,
                    atomic: kind == AccessKind::Atomic,
                    passed,
                });
        }
    }
    fn barrier(&mut self, instance: &Instance<'_>, inst: Inst, mask: u64) {
        let warp = self.function.insts[inst].op == Op::Barrier(Barrier::Warp);
        for lane in lanes(mask) {
            let thread = instance.first_thread % u64::from(THREADS) + u64::from(lane);
            let passed = self.passed.entry((instance.workgroup_index, thread));
            let passed = passed.or_default();
            match warp {
                true => passed.1 += 1,
                false => passed.0 += 1,
            }
        }
    }
}

fn executed(module: &Module, n: u64, m: u64, seed: u64) -> Races {
    let function = &module.functions[0];
    let mut random = Random::new(seed);
    let mut launch = Launch::new(THREADS);
    launch.grid = [3, 1, 1];
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
    let mut detector = Detector {
        function,
        passed: HashMap::new(),
        words: HashMap::new(),
    };
    let outcome = run_with(module, &launch, &mut detector, &());
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    detector.races()
}

// ----------------------------------------------------------------------------------------------- the programs

struct Writer {
    random: Random,
    text: String,
    depth: usize,
    loops: u32,
    left: u32,
}

impl Writer {
    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.random.below(from.len() as u32) as usize]
    }
    fn line(&mut self, text: &str) {
        let indent = "  ".repeat(self.depth + 1);
        let _ = writeln!(self.text, "{indent}{text}");
    }
    fn index(&mut self) -> String {
        if self.loops > 0 && self.random.percent(25) {
            let counter = format!("i{}", self.random.below(self.loops));
            let form = self.pick(&[
                "t + 64 * (I & 1)",
                "(t + I) & 127",
                "I & 63",
                "(t ^ (1 << (I & 3)))",
            ]);
            return form.replace('I', &counter);
        }
        self.pick(&[
            "t",
            "t",
            "t",
            "t",
            "t + 1",
            "63 - t",
            "t ^ 1",
            "lane",
            "w",
            "t / 2",
            "t * 2",
            "0",
            "5",
            "t + 64",
            "lane ^ 16",
            "32 * w + 31 - lane",
            "33 * (t & 7) + t / 8",
            "(n & 7)",
            "t + (n & 7)",
            "(in[t] & 63)",
            "(t + 16) % 64",
        ])
        .to_owned()
    }
    fn value(&mut self) -> &'static str {
        self.pick(&["x", "x", "t", "7", "x + 1", "n", "in[t + 64]"])
    }
    /// `uniform`: all threads come here; `warp`: whole warps do.
    fn statements(&mut self, uniform: bool, warp: bool) {
        for _ in 0..1 + self.random.below(4) {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            self.statement(uniform, warp);
        }
    }
    fn statement(&mut self, uniform: bool, warp: bool) {
        let index = self.index();
        match self.random.below(if self.depth < 3 { 20 } else { 12 }) {
            0..=3 => {
                let value = self.value();
                self.line(&format!("s[{index}] = {value};"));
            }
            4..=6 => self.line(&format!("x += s[{index}];")),
            7 => self.line(&format!("atomicAdd(&s[{index}], 1);")),
            8 => {
                let other = self.index();
                self.line(&format!("s[{index}] += s[{other}];"));
            }
            9..=11 if uniform => self.line("__syncthreads();"),
            9..=11 if warp => self.line("__syncwarp();"),
            12 | 13 => {
                let condition = self.pick(&[
                    "t == 0",
                    "t < 32",
                    "lane == 0",
                    "t & 1",
                    "t < 48",
                    "t >= 16",
                    "t % 4 == 3",
                    "w == 1",
                ]);
                let whole = matches!(condition, "t < 32" | "w == 1");
                self.nested(&format!("if ({condition}) {{"), false, warp && whole);
                if self.random.percent(30) {
                    self.nested("else {", false, warp && whole);
                }
            }
            14 => {
                let condition = self.pick(&[
                    "n > 2",
                    "n == 1",
                    "m > n",
                    "n & 1",
                    "blockIdx.x == 0",
                    "blockIdx.x + n > 3",
                    "gridDim.x > 1",
                ]);
                self.nested(&format!("if ({condition}) {{"), uniform, warp);
                if self.random.percent(30) {
                    self.nested("else {", uniform, warp);
                }
            }
            15 => {
                let condition = self.pick(&[
                    "t < m",
                    "t + n < m",
                    "m > t && t > 3",
                    // Of the grid's threads, in either signedness.
                    "g < 32",
                    "u < 32",
                    "u >= 80",
                    "u + n < 40u",
                    "blockIdx.x * 2 + t < 20",
                    "g < m",
                ]);
                self.nested(&format!("if ({condition}) {{"), false, false);
            }
            16 => {
                let condition = self.pick(&["in[t] > 30", "x & 1", "t == n"]);
                self.nested(&format!("if ({condition}) {{"), false, false);
            }
            17 | 18 => {
                let counter = self.loops;
                let head = self.pick(&[
                    "for (int I = 0; I < n; I++) {",
                    "for (int I = 0; I < 3; I++) {",
                    "for (int I = 32; I > 0; I >>= 1) {",
                    "for (int I = 0; I < m; I += 16) {",
                ]);
                let head = head.replace('I', &format!("i{counter}"));
                self.loops += 1;
                self.nested(&head, uniform, warp);
                self.loops -= 1;
            }
            _ => {
                let counter = self.loops;
                let head = format!("for (int i{counter} = t; i{counter} < m; i{counter} += 64) {{");
                self.loops += 1;
                self.nested(&head, false, false);
                self.loops -= 1;
            }
        }
    }
    fn nested(&mut self, head: &str, uniform: bool, warp: bool) {
        self.line(head);
        self.depth += 1;
        self.statements(uniform, warp);
        self.depth -= 1;
        self.line("}");
    }
}

fn kernel(seed: u64) -> String {
    let mut writer = Writer {
        random: Random::new(seed ^ 0x0a2e_5eed),
        text: String::new(),
        depth: 0,
        loops: 0,
        left: 14,
    };
    for _ in 0..4 {
        writer.statements(true, true);
    }
    format!(
        "__global__ void k(int* out, const int* in, int n, int m) {{\n  __shared__ int s[512];\n  \
         int t = threadIdx.x, lane = t % 32, w = t / 32, x = in[t];\n  \
         unsigned u = blockIdx.x * blockDim.x + threadIdx.x; int g = u;\n{}  out[t] = x;\n}}\n",
        writer.text
    )
}

// -------------------------------------------------------------------------------------------------- the judge

/// The first and the second access that a finding is about, and the word, where it is known.
fn said(finding: &facts::Finding) -> (Access, Access, Option<u64>) {
    let FindingReason::SharedRace {
        first,
        second,
        offset,
        ..
    } = &finding.reason
    else {
        panic!("{finding:?}");
    };
    let access = |span, (place, access): &(ThreadPlace, SharedAccess)| {
        let writes = *access != SharedAccess::Read;
        (span, writes, u64::from(place.thread[0]))
    };
    let word = offset.filter(|at| at % 4 == 0).map(|at| at as u64 / 4);
    (
        access(finding.related[0].loc.span, first),
        access(finding.loc.span, second),
        word,
    )
}

#[test]
fn reported_races_happen() {
    let first = setting("LOCKSTEP_RACE_SEED", 0);
    let (mut reported, mut seen, mut told, mut racy) = (0, 0, 0, 0);
    for seed in first..first + setting("LOCKSTEP_RACE_KERNELS", KERNELS) {
        let text = kernel(seed);
        let known = seed % 3 != 0;
        let options = Options {
            block: [
                known.then_some(THREADS),
                known.then_some(1),
                known.then_some(1),
            ],
            ..Options::default()
        };
        let (module, _) = source::functions(&text, Dialect::Cuda).remove(0);
        let facts = analyze_module(&module, &options);
        let mut findings = diagnose(&module, &facts);
        findings.retain(|finding| finding.code == Code::SharedMemoryRace);
        let mut races = Races::new();
        for n in [0, 1, 2, 3, 6] {
            for m in [0, 20, 64, 200] {
                for (pair, words) in executed(&module, n, m, seed) {
                    races.entry(pair).or_default().extend(words);
                }
            }
        }
        for finding in &findings {
            let (a, b, word) = said(finding);
            let happens = races.get(&(a, b));
            assert!(
                happens.is_some(),
                "seed {seed}: {:?}\n{:?} {:?}\n{text}",
                finding.reason,
                a,
                b
            );
            if let Some(word) = word {
                // The array is the only one, and begins at byte 1024.
                let word = word + 256;
                let collides = happens.is_some_and(|words| words.contains(&word));
                assert!(collides, "seed {seed}: {:?}\n{text}", finding.reason);
            }
        }
        let places: BTreeSet<(u32, u32)> = races
            .keys()
            .map(|(a, b)| match a.0.start <= b.0.start {
                true => (a.0.start, b.0.start),
                false => (b.0.start, a.0.start),
            })
            .collect();
        reported += findings.len();
        seen += places.len();
        racy += usize::from(!places.is_empty());
        told += usize::from(!findings.is_empty());
        if setting("LOCKSTEP_RACE_MISSED", 0) > 0 && findings.is_empty() && !places.is_empty() {
            println!("seed {seed}: {places:?}\n{text}");
        }
    }
    println!(
        "{reported} races reported in {told} kernels, all confirmed; {racy} kernels race in a launch, at {seen} pairs of places"
    );
    assert!(reported > 0 && told * 3 > racy, "{told} of {racy}");
}
