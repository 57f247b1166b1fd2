//! Two threads that come to an operation differently often, and a launch in which they do: a test that the
//! author can try.
//!
//! ```text
//! if (threadIdx.x < n) __syncthreads();   =>   thread 0 comes here and thread 1 does not, where `n` is 1
//! ```
//!
//! Each of some threads of the first workgroup is executed by itself, with numbers from a short list for the
//! parameters, and a usual size for a workgroup of unknown size. Only values computed from these decide: a
//! thread that meets a branch on loaded or unknown values is no witness. Numbers without which the threads
//! part as well are left out. Bounded by `STEPS` instructions a launch.

use super::Context;
use crate::model::{CauseStep, Scope, Witness};
use crate::reason::{CauseReason, ThreadPlace};
use ir::numbers;
use ir::{Edge, EntityVec, FunctionKind, Inst, Op, Special, Terminator, Type, Value};
use smol_str::SmolStr;

const STEPS: u32 = 60_000;
/// Numbers that parameters are given.
const NUMBERS: [i64; 9] = [1, 33, 17, 100, 2, 70, 7, 0, 1000];
/// Sizes of workgroups, as far as they are not known.
const SIZES: [[u32; 3]; 3] = [[64, 1, 1], [32, 4, 1], [16, 16, 1]];
/// The threads of a larger workgroup that are tried, besides the last one.
const SOME: [u32; 20] = [
    0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 100, 127, 128, 255, 256, 512,
];

/// The numbers that parameters are given, by their value.
type Given = Vec<(Value, SmolStr, i64)>;

/// `lane`: the one of the warp that must be missing.
pub(super) fn witness(
    cx: &Context<'_>,
    inst: Inst,
    scope: Scope,
    lane: Option<u32>,
) -> Option<Witness> {
    let function = cx.function;
    if function.kind != FunctionKind::Kernel {
        return None;
    }
    let numbers: Vec<(Value, SmolStr)> = function
        .parameters
        .iter()
        .filter(|parameter| parameter.values.len() == 1)
        .map(|parameter| (parameter.values[0], parameter.name.clone()))
        .filter(|(value, _)| function.ty(*value).is_integral())
        .collect();
    let mut steps = 0;
    for size in SIZES {
        let block = [0, 1, 2].map(|axis| cx.size(axis as u8).unwrap_or(size[axis]));
        let count = block
            .iter()
            .try_fold(1u32, |all, &size| all.checked_mul(size))?;
        if !(2..=1024).contains(&count) {
            continue;
        }
        let within = match scope {
            Scope::Subgroup | Scope::Quad => count.min(cx.warp_size()),
            _ => count,
        };
        let threads: Vec<u32> = match within {
            ..=64 => (0..within).collect(),
            _ => {
                let some = SOME.iter().copied().filter(|&t| t < within - 1);
                some.chain([within - 1]).collect()
            }
        };
        for turn in 0..NUMBERS.len() {
            let given: Given = numbers
                .iter()
                .enumerate()
                .map(|(k, (value, name))| {
                    // All alike at first, each its own later.
                    let number = NUMBERS[(turn + k * (turn / 3)) % NUMBERS.len()];
                    (*value, name.clone(), number)
                })
                .collect();
            let mut run = |thread: u32, given: &Given| {
                Thread::new(cx, block, thread, given).arrivals(inst, &mut steps)
            };
            let times: Vec<(u32, u32)> = threads
                .iter()
                .filter_map(|&thread| Some((thread, run(thread, &given)?)))
                .collect();
            let Some(most) = times
                .iter()
                .copied()
                .max_by_key(|&(thread, times)| (times, u32::MAX - thread))
            else {
                continue;
            };
            let mut fewer = times.iter().copied().filter(|&(thread, times)| {
                times < most.1 && lane.is_none_or(|lane| thread == lane)
            });
            if let Some(least) = fewer.next() {
                let mut given = given;
                let parts = |given: &Given, run: &mut dyn FnMut(u32, &Given) -> Option<u32>| {
                    run(most.0, given) == Some(most.1) && run(least.0, given) == Some(least.1)
                };
                for number in (0..given.len()).rev() {
                    let mut without = given.clone();
                    without.remove(number);
                    if parts(&without, &mut run) {
                        given = without;
                    }
                }
                return Some(Witness {
                    threads: [most.0, least.0].map(|thread| coordinates(block, thread)),
                    times: [most.1, least.1],
                    block,
                    numbers: given
                        .into_iter()
                        .map(|(_, name, number)| (name, number))
                        .collect(),
                });
            }
            if steps >= STEPS || numbers.is_empty() {
                break;
            }
        }
        if steps >= STEPS {
            break;
        }
    }
    None
}

/// The witness as a step behind those that tell why lanes part.
pub(super) fn step(cx: &Context<'_>, inst: Inst, witness: &Witness) -> CauseStep {
    let size = witness.block;
    let reason = CauseReason::Example {
        threads: witness.threads.map(|thread| ThreadPlace { thread, size }),
        times: witness.times,
        numbers: witness.numbers.clone(),
        sized: (0..3).any(|axis| cx.size(axis).is_none()),
    };
    CauseStep {
        reason,
        loc: cx.function.insts[inst].loc,
    }
}

fn coordinates([x, y, _]: [u32; 3], thread: u32) -> [u32; 3] {
    [thread % x, thread / x % y, thread / x / y]
}

/// A thread of the first workgroup, executed by itself.
struct Thread<'c, 'a> {
    cx: &'c Context<'a>,
    block: [u32; 3],
    number: u32,
    values: EntityVec<Value, Option<u64>>,
}

impl<'c, 'a> Thread<'c, 'a> {
    fn new(cx: &'c Context<'a>, block: [u32; 3], number: u32, given: &Given) -> Self {
        let mut values = EntityVec::with_len(None, cx.function.values.len());
        for (value, _, number) in given {
            values[*value] = Some(numbers::canonical(cx.function.ty(*value), *number as u64));
        }
        Thread {
            cx,
            block,
            number,
            values,
        }
    }

    /// Returns how often the thread comes to the instruction; `None`: something that is not known decides.
    fn arrivals(mut self, inst: Inst, steps: &mut u32) -> Option<u32> {
        let function = self.cx.function;
        // What it takes to begin.
        *steps += function.values.len() as u32 / 64;
        let (mut at, mut times) = (function.entry(), 0);
        loop {
            for &next in &function.blocks[at].insts {
                *steps += 1;
                if next == inst {
                    let guard = function.insts[next].guard;
                    let there = match guard {
                        Some(guard) => (self.values[guard.value]? != 0) != guard.negated,
                        None => true,
                    };
                    times += u32::from(there);
                }
                self.execute(next);
            }
            if *steps >= STEPS {
                return None;
            }
            let edge = match &function.blocks[at].terminator {
                Terminator::Jump(edge) => edge,
                Terminator::Branch {
                    condition,
                    then,
                    otherwise,
                    ..
                } => match self.values[*condition]? {
                    0 => otherwise,
                    _ => then,
                },
                Terminator::Switch {
                    value,
                    cases,
                    default,
                } => {
                    let value = self.values[*value]? as i64;
                    let case = cases.iter().find(|(of, _)| *of == value);
                    case.map_or(default, |(_, edge)| edge)
                }
                Terminator::Return(_) => return Some(times),
                Terminator::Kill
                | Terminator::Trap
                | Terminator::Unreachable
                | Terminator::None => {
                    return None;
                }
            };
            self.take(edge);
            at = edge.block;
        }
    }

    fn take(&mut self, edge: &Edge) {
        let moved: Vec<Option<u64>> = edge.args.iter().map(|&arg| self.values[arg]).collect();
        let params = &self.cx.function.blocks[edge.block].params;
        for (&param, value) in params.iter().zip(moved) {
            self.values[param] = value;
        }
    }

    fn execute(&mut self, inst: Inst) {
        let function = self.cx.function;
        let data = &function.insts[inst];
        let &[result] = data.results.as_slice() else {
            for &result in &data.results {
                self.values[result] = None;
            }
            return;
        };
        self.values[result] = self.computed(data, function.ty(result));
    }

    fn computed(&self, data: &ir::InstData, to: Type) -> Option<u64> {
        if let Op::Special(special) = data.op {
            return self.special(special, to);
        }
        if data.guard.is_some() {
            return None;
        }
        let ty = |number: usize| self.cx.function.ty(data.args[number]);
        if let Op::Select = data.op {
            let chosen = if self.values[data.args[0]]? == 0 {
                2
            } else {
                1
            };
            return self.values[data.args[chosen]];
        }
        let n: Option<Vec<u64>> = data.args.iter().map(|&arg| self.values[arg]).collect();
        let n = n?;
        Some(match data.op {
            Op::Const(bits) => numbers::canonical(to, bits),
            Op::Unary(op) => numbers::unary(op, ty(0), to, n[0]),
            Op::Binary(op, _) => numbers::binary(op, ty(0), ty(1), to, n[0], n[1]),
            Op::IntCompare(condition) => numbers::int_compare(condition, n[0], n[1]).into(),
            Op::FloatCompare(condition) => {
                numbers::float_compare(condition, ty(0), n[0], n[1]).into()
            }
            Op::Convert(kind) => numbers::convert(kind, ty(0), to, n[0]),
            _ => return None,
        })
    }

    fn special(&self, special: Special, to: Type) -> Option<u64> {
        let at = coordinates(self.block, self.number);
        let warp = self.cx.warp_size();
        let value = match special {
            Special::ThreadId(axis) => at[usize::from(axis)],
            Special::BlockDim(axis) => self.block[usize::from(axis)],
            Special::BlockId(_) => 0,
            Special::GridDim(_) => 1,
            Special::LaneId => self.number % warp,
            Special::WarpId => self.number / warp,
            Special::WarpSize => warp,
            _ => return None,
        };
        Some(numbers::canonical(to, value.into()))
    }
}
