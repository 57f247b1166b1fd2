//! The accesses since the last barrier by word, and those that collide with a new one.

use super::terms::{Known, Row, Sum, Terms, equal};
use super::walk::{Decisions, contained};
use super::{Collision, Threads, Touching};
use crate::reason::SharedAccess;
use ir::cfg::ControlFlow;
use ir::loops::LoopId;
use ir::{Function, Inst};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::rc::Rc;

const WORD: i64 = 4;
/// Threads of one execution that are kept for a word: any thread that collides differs from one of them.
const THREADS: usize = 2;
/// Accesses that are kept for a word.
const KEPT: usize = 96;
/// Pairs of instructions.
const PAIRS: usize = 256;

/// One execution of an access by a group of threads.
#[derive(Debug)]
pub(super) struct Execution {
    pub(super) inst: Inst,
    /// In the order of the walk.
    pub(super) number: u32,
    /// The number of operations so far that separate lanes of a warp.
    pub(super) epoch: u32,
    pub(super) kind: SharedAccess,
    pub(super) volatile: bool,
    pub(super) bytes: u32,
    /// Around the access.
    pub(super) loops: SmallVec<[LoopId; 4]>,
    /// Threads in ascending order with their addresses.
    pub(super) touched: Vec<(usize, Known)>,
    /// The values that are written, by component.
    pub(super) stored: Rc<[Row]>,
    pub(super) decisions: Decisions,
}

impl Execution {
    fn writes(&self) -> bool {
        self.kind != SharedAccess::Read
    }
    fn is_atomic(&self) -> bool {
        self.kind == SharedAccess::Atomic
    }
    fn address(&self, thread: usize) -> Option<Known> {
        let at = self.touched.binary_search_by_key(&thread, |(t, _)| *t);
        at.ok().map(|at| self.touched[at].1)
    }
    /// Returns whether two threads write the same value to one place; `None`: not known.
    fn writes_the_same(&self, thread: usize, other: &Execution, with: usize) -> Option<bool> {
        if self.stored.len() != other.stored.len() || self.stored.is_empty() {
            return None;
        }
        let mut pairs = self.stored.iter().zip(other.stored.iter());
        pairs.try_fold(true, |same, (a, b)| {
            Some(same & equal(a.at(thread), b.at(with))?)
        })
    }
}

#[derive(Clone, Copy, Debug)]
struct Touch {
    /// Index into the executions.
    execution: u32,
    thread: u32,
    /// First byte.
    at: i64,
}

#[derive(Default)]
pub(super) struct Table {
    executions: Vec<Execution>,
    words: FxHashMap<(Sum, i64), SmallVec<[Touch; 4]>>,
    found: Vec<Found>,
    known: FxHashMap<(Inst, Inst), ()>,
}

struct Found {
    first: (Inst, u32, SharedAccess),
    second: (Inst, u32, SharedAccess),
    address: Known,
}

impl Table {
    /// Forgets all executions behind a barrier.
    pub(super) fn clear(&mut self) {
        self.executions.clear();
        self.words.clear();
    }

    /// The addresses that threads touch together.
    pub(super) fn add(&mut self, execution: Execution, threads: &Threads) {
        let bytes = i64::from(execution.bytes);
        let number = self.executions.len() as u32;
        let inst = execution.inst;
        let kind = execution.kind;
        self.executions.push(execution);
        for at in 0..self.executions[number as usize].touched.len() {
            let (thread, address) = self.executions[number as usize].touched[at];
            let touch = Touch {
                execution: number,
                thread: thread as u32,
                at: address.at,
            };
            let last = address.at.wrapping_add(bytes - 1).div_euclid(WORD);
            for word in address.at.div_euclid(WORD)..=last {
                let kept = self.words.entry((address.sum, word)).or_default();
                for other in kept.iter() {
                    let first = &self.executions[other.execution as usize];
                    let pair = (first.inst, inst);
                    if self.known.contains_key(&pair) || self.found.len() >= PAIRS {
                        continue;
                    }
                    if collide(&self.executions, kept, *other, touch, threads) {
                        self.known.insert(pair, ());
                        self.found.push(Found {
                            first: (first.inst, other.thread, first.kind),
                            second: (inst, touch.thread, kind),
                            address: Known {
                                sum: address.sum,
                                at: address.at.max(other.at),
                            },
                        });
                    }
                }
                let own = kept.iter().filter(|t| t.execution == number).count();
                if own < THREADS && kept.len() < KEPT {
                    kept.push(touch);
                }
            }
        }
    }

    pub(super) fn collisions(
        self,
        function: &Function,
        terms: &Terms,
        threads: &Threads,
        flow: &ControlFlow,
    ) -> Vec<Collision> {
        let mut order: FxHashMap<Inst, (u32, usize)> = FxHashMap::default();
        for &block in &function.layout {
            for (at, &inst) in function.blocks[block].insts.iter().enumerate() {
                order.insert(inst, (flow.position[block], at));
            }
        }
        let touching = |(inst, thread, kind): (Inst, u32, SharedAccess)| Touching {
            inst,
            thread: threads.coordinates(thread as usize),
            kind,
        };
        let each = self.found.iter().map(|found| {
            let symbol = terms.symbol(found.address);
            Collision {
                first: touching(found.first),
                second: touching(found.second),
                later_round: found.first.0 != found.second.0
                    && order.get(&found.second.0) < order.get(&found.first.0),
                place: symbol
                    .filter(|_| terms.is_symbol_alone(found.address))
                    .map(|symbol| (symbol, found.address.at)),
                symbol,
            }
        });
        each.collect()
    }
}

/// Two accesses of one word may be executed at one time, and it matters.
fn collide(
    executions: &[Execution],
    kept: &[Touch],
    first: Touch,
    second: Touch,
    threads: &Threads,
) -> bool {
    let (a, b) = (
        &executions[first.execution as usize],
        &executions[second.execution as usize],
    );
    let (t, u) = (first.thread as usize, second.thread as usize);
    let apart =
        first.at + i64::from(a.bytes) <= second.at || second.at + i64::from(b.bytes) <= first.at;
    if t == u
        || apart
        || !(a.writes() || b.writes())
        || a.is_atomic() && b.is_atomic()
        || a.volatile
        || b.volatile
    {
        return false;
    }
    if a.epoch != b.epoch && threads.may_share_a_warp(t, u) {
        return false;
    }
    if !contained(&a.decisions, &b.decisions) && !contained(&b.decisions, &a.decisions) {
        return false;
    }
    if a.kind == SharedAccess::Write && b.kind == SharedAccess::Write {
        // What is not known may be the same.
        return a.writes_the_same(t, b, u) == Some(false);
    }
    let polled = (a.is_atomic() || b.is_atomic()) && a.loops.iter().any(|l| b.loops.contains(l));
    if polled && (a.kind == SharedAccess::Read || b.kind == SharedAccess::Read) {
        return false;
    }
    // The reader has written there before, maybe the same.
    let (writer, written_by, reader, read_by) = match a.kind {
        SharedAccess::Write => (a, t, b, u),
        _ => (b, u, a, t),
    };
    let address = reader.address(read_by);
    writer.kind != SharedAccess::Write
        || !kept.iter().any(|own| {
            let before = &executions[own.execution as usize];
            before.kind == SharedAccess::Write
                && before.number < reader.number
                && before.address(read_by) == address
                && before.writes_the_same(read_by, writer, written_by) != Some(false)
        })
}
