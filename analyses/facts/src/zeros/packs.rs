//! Vectors where the language has lost them: isomorphic, independent instructions of a block, found from adjacent
//! components of loads along uses and definitions.
//!
//! ```text
//! ld.v4 {x, y, z, w}; a = x*l; b = y*l; c = z*l      ->      (x, y, z, w), (a, b, c)
//! ```
//!
//! Nothing is made a vector instruction: profit is judged later, so that every pair is worth following. Stops because
//! a value is on the left, and on the right, of one pair at most; `DEPTH` bounds the search for a dependence.
//!
//! Source: Larsen and Amarasinghe, *Exploiting Superword Level Parallelism*, PLDI 2000, section 4, without scheduling;
//! notes on AZP, section 4.

use ir::{Block, Function, Inst, Op, Value, ValueDef};
use rustc_hash::{FxHashMap, FxHashSet};

/// Instructions looked at to tell whether one value depends on another.
const DEPTH: usize = 64;

/// Groups of two and more values, in the order of their first members.
#[must_use]
pub fn packs(function: &Function) -> Vec<Vec<Value>> {
    let mut all = Vec::new();
    for &block in &function.layout {
        let mut pairs = Pairs::new(function, block);
        pairs.seed();
        pairs.extend();
        all.extend(pairs.combine());
    }
    all
}

struct Pairs<'a> {
    function: &'a Function,
    insts: &'a [Inst],
    here: FxHashSet<Inst>,
    users: FxHashMap<Value, Vec<Inst>>,
    right_of: FxHashMap<Value, Value>,
    left_of: FxHashMap<Value, Value>,
    order: Vec<(Value, Value)>,
}

impl<'a> Pairs<'a> {
    fn new(function: &'a Function, block: Block) -> Self {
        let insts = &function.blocks[block].insts;
        let mut users: FxHashMap<Value, Vec<Inst>> = FxHashMap::default();
        for &inst in insts {
            for &arg in &function.insts[inst].args {
                users.entry(arg).or_default().push(inst);
            }
        }
        Pairs {
            function,
            insts,
            here: insts.iter().copied().collect(),
            users,
            right_of: FxHashMap::default(),
            left_of: FxHashMap::default(),
            order: Vec::new(),
        }
    }

    /// Neighbours of one load or texture, and loads of neighbouring addresses.
    fn seed(&mut self) {
        let function = self.function;
        let mut by_base: FxHashMap<(Value, ir::Type), Vec<(i64, Value)>> = FxHashMap::default();
        for &inst in self.insts {
            let data = &function.insts[inst];
            if !matches!(data.op, Op::Load(_) | Op::Texture(_)) {
                continue;
            }
            for two in data.results.windows(2) {
                if function.ty(two[0]) == function.ty(two[1]) {
                    self.add(two[0], two[1]);
                }
            }
            if let (Op::Load(_), [result], [address]) =
                (&data.op, data.results.as_slice(), data.args.as_slice())
            {
                let (base, offset) = self.address(*address);
                let key = (base, function.ty(*result));
                by_base.entry(key).or_default().push((offset, *result));
            }
        }
        let mut groups: Vec<_> = by_base.into_iter().collect();
        groups.sort_by_key(|((base, ty), _)| (*base, *ty));
        for ((_, ty), mut loads) in groups {
            loads.sort_unstable();
            for two in loads.windows(2) {
                if two[0].0.checked_add(i64::from(function.bytes_of(ty))) == Some(two[1].0) {
                    self.add(two[0].1, two[1].1);
                }
            }
        }
    }

    /// An address as a base and a constant number of bytes.
    fn address(&self, mut address: Value) -> (Value, i64) {
        let mut offset = 0i64;
        for _ in 0..DEPTH {
            let Some(data) = self.function.defining(address) else {
                break;
            };
            let (Op::PtrAdd, [base, by]) = (&data.op, data.args.as_slice()) else {
                break;
            };
            let Some(by) = self.function.int_constant(*by) else {
                break;
            };
            offset = offset.wrapping_add(by);
            address = *base;
        }
        (address, offset)
    }

    /// Along operands and users of the pairs found so far; pairs that are added are followed in their turn.
    fn extend(&mut self) {
        let mut at = 0;
        while let Some(&(left, right)) = self.order.get(at) {
            at += 1;
            if let (Some(a), Some(b)) = (self.defining(left), self.defining(right))
                && a != b
            {
                let (a, b) = (&self.function.insts[a].args, &self.function.insts[b].args);
                for (&left, &right) in a.iter().zip(b) {
                    self.add(left, right);
                }
            }
            let (Some(ours), Some(theirs)) = (
                self.users.get(&left).cloned(),
                self.users.get(&right).cloned(),
            ) else {
                continue;
            };
            for user in ours {
                let partner = theirs
                    .iter()
                    .copied()
                    .find(|&other| other != user && self.same_position(user, other, left, right));
                if let Some(other) = partner
                    && let (&[found], &[two]) = (
                        self.function.insts[user].results.as_slice(),
                        self.function.insts[other].results.as_slice(),
                    )
                {
                    self.add(found, two);
                }
            }
        }
    }

    fn same_position(&self, user: Inst, other: Inst, left: Value, right: Value) -> bool {
        let (a, b) = (
            &self.function.insts[user].args,
            &self.function.insts[other].args,
        );
        a.iter().position(|&it| it == left) == b.iter().position(|&it| it == right)
    }

    fn defining(&self, value: Value) -> Option<Inst> {
        match self.function.values[value].def {
            ValueDef::Result(inst, _) if self.here.contains(&inst) => Some(inst),
            _ => None,
        }
    }

    fn add(&mut self, left: Value, right: Value) {
        let (Some(a), Some(b)) = (self.defining(left), self.defining(right)) else {
            return;
        };
        let (first, second) = (&self.function.insts[a], &self.function.insts[b]);
        let isomorphic = a == b
            || first.op == second.op
                && first.args.len() == second.args.len()
                && self.function.ty(left) == self.function.ty(right)
                && first
                    .args
                    .iter()
                    .zip(&second.args)
                    .all(|(&x, &y)| self.function.ty(x) == self.function.ty(y));
        if left == right
            || matches!(first.op, Op::Const(_) | Op::PtrAdd)
            || !isomorphic
            || self.right_of.contains_key(&left)
            || self.left_of.contains_key(&right)
            || (a != b && (self.depends(a, b) || self.depends(b, a)))
        {
            return;
        }
        self.right_of.insert(left, right);
        self.left_of.insert(right, left);
        self.order.push((left, right));
    }

    /// Returns true if `inst` uses a result of `on`, through the block; yes when the search is too long.
    fn depends(&self, inst: Inst, on: Inst) -> bool {
        let mut seen: FxHashSet<Inst> = FxHashSet::default();
        let mut work = vec![inst];
        while let Some(found) = work.pop() {
            for &arg in &self.function.insts[found].args {
                let Some(def) = self.defining(arg) else {
                    continue;
                };
                if def == on || seen.len() > DEPTH {
                    return true;
                }
                if seen.insert(def) {
                    work.push(def);
                }
            }
        }
        false
    }

    /// Chains of pairs.
    fn combine(&self) -> Vec<Vec<Value>> {
        let mut chains = Vec::new();
        let mut used: FxHashSet<Value> = FxHashSet::default();
        let mut starts: Vec<Value> = self
            .order
            .iter()
            .map(|&(left, _)| left)
            .filter(|left| !self.left_of.contains_key(left))
            .collect();
        starts.sort_unstable();
        for start in starts {
            let mut chain = vec![start];
            let mut at = start;
            while let Some(&next) = self.right_of.get(&at) {
                if !used.insert(next) {
                    break;
                }
                chain.push(next);
                at = next;
            }
            chains.push(chain);
        }
        chains
    }
}
