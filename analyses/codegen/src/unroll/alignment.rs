//! The known alignment of addresses.
//!
//! ```text
//! p promised a multiple of 8; q = p + 6; p' = p + 8 in each iteration        q is 6 behind a multiple of 8, in each iteration
//! ```

use ir::dominators::DominatorTree;
use ir::needed::Arguments;
use ir::{
    BinaryOp, Block, Convert, EntityVec, Function, Linkage, Op, PromiseKind, Type, Value, ValueDef,
};
use rustc_hash::FxHashMap;

/// Operations that are followed.
const DEPTH: u32 = 24;
/// Values that are looked at for an answer.
const MOST: u32 = 400;
/// The largest alignment that is told apart.
const LARGEST: i64 = 16;

/// An address is `rest` behind a multiple of `of`, a power of two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Aligned {
    pub of: i64,
    pub rest: i64,
}

impl Aligned {
    const ANY: Aligned = Aligned { of: 1, rest: 0 };
    const fn new(of: i64, rest: i64) -> Aligned {
        Aligned {
            of,
            rest: rest.rem_euclid(of),
        }
    }
    fn plus(self, other: Aligned) -> Aligned {
        let of = self.of.min(other.of);
        Aligned::new(of, self.rest + other.rest)
    }
    /// The alignment that holds for both.
    fn meet(self, other: Aligned) -> Aligned {
        let mut of = self.of.min(other.of);
        while (self.rest - other.rest) % of != 0 {
            of /= 2;
        }
        Aligned::new(of, self.rest)
    }
}

/// The block that each value is defined in.
type Defined = EntityVec<Value, Option<Block>>;

/// Alignments at a place: promises count that control came through.
pub(super) struct Alignments<'f> {
    function: &'f Function,
    tree: &'f DominatorTree,
    arguments: &'f Arguments,
    defined: &'f Defined,
    objects: i64,
    at: Block,
    /// Parameters that are being looked at, with what is assumed of them.
    assumed: FxHashMap<Value, Aligned>,
    /// Values that may still be looked at.
    left: u32,
}

impl<'f> Alignments<'f> {
    pub(super) fn new(
        function: &'f Function,
        (tree, arguments, defined): (&'f DominatorTree, &'f Arguments, &'f Defined),
        objects: u32,
        at: Block,
    ) -> Self {
        Alignments {
            function,
            tree,
            arguments,
            defined,
            objects: objects.into(),
            at,
            assumed: FxHashMap::default(),
            left: MOST,
        }
    }

    /// Returns what is known of an address.
    pub(super) fn of(&mut self, value: Value) -> Aligned {
        self.left = MOST;
        self.find(value, DEPTH)
    }

    /// Counts a value that is looked at; returns true if that was the last one.
    fn is_spent(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left == 0
    }

    fn find(&mut self, value: Value, depth: u32) -> Aligned {
        if let Some(&assumed) = self.assumed.get(&value) {
            return assumed;
        }
        let own = match depth.checked_sub(1) {
            Some(depth) if !self.is_spent() => self.followed(value, depth),
            _ => Aligned::ANY,
        };
        let mut best = own;
        for promise in &self.function.promises {
            if let PromiseKind::Aligned {
                pointer,
                bytes,
                block,
            } = promise.kind
                && pointer == value
                && i64::from(bytes) > best.of
                && self.tree.dominates(block, self.at)
            {
                best = Aligned::new(i64::from(bytes).min(LARGEST), 0);
            }
        }
        best
    }

    fn followed(&mut self, value: Value, depth: u32) -> Aligned {
        let function = self.function;
        if let Some(number) = function.int_constant(value) {
            return Aligned::new(LARGEST, number);
        }
        let data = match function.values[value].def {
            ValueDef::Result(inst, _) => &function.insts[inst],
            ValueDef::Param(block, _) if block == function.entry() => return Aligned::ANY,
            ValueDef::Param(..) => return self.parameter(value, depth),
        };
        match &data.op {
            Op::PtrAdd | Op::Binary(BinaryOp::Add, _) => {
                let base = self.find(data.args[0], depth);
                base.plus(self.find(data.args[1], depth))
            }
            Op::Binary(BinaryOp::Mul, _) => {
                let [left, right] = [0, 1].map(|at| self.find(data.args[at], depth));
                let zeros = |aligned: Aligned| match aligned.rest {
                    0 => aligned.of,
                    rest => 1 << rest.trailing_zeros(),
                };
                Aligned::new((zeros(left) * zeros(right)).min(LARGEST), 0)
            }
            Op::Binary(BinaryOp::Shl, _) => match function.int_constant(data.args[1]) {
                Some(by @ 0..=8) => {
                    let found = self.find(data.args[0], depth);
                    Aligned::new((found.of << by).min(LARGEST), found.rest << by)
                }
                _ => Aligned::ANY,
            },
            Op::Convert(Convert::SignExtend | Convert::ZeroExtend)
                if function.ty(data.args[0]) == Type::I32 =>
            {
                self.find(data.args[0], depth)
            }
            Op::Alloca { size, align } => {
                let own = i64::from(*align).max(1);
                let more = if i64::from(*size) >= self.objects {
                    self.objects
                } else {
                    1
                };
                Aligned::new(own.max(more).min(LARGEST), 0)
            }
            Op::SymbolAddress(symbol) => {
                let data = &function.symbols[*symbol];
                let here = data.definition.linkage != Linkage::Elsewhere
                    && data
                        .size
                        .is_some_and(|size| i64::from(size) >= self.objects);
                match here {
                    true => Aligned::new(self.objects.min(LARGEST), 0),
                    false => Aligned::ANY,
                }
            }
            _ => Aligned::ANY,
        }
    }

    /// A block's parameter: what holds for all that it is given, once assumed of itself. Falls with each turn.
    fn parameter(&mut self, value: Value, depth: u32) -> Aligned {
        let given = &self.arguments[value];
        if given.is_empty() || self.defined[value].is_none() {
            return Aligned::ANY;
        }
        let mut assumed = Aligned { of: 0, rest: 0 };
        loop {
            let mut now: Option<Aligned> = None;
            for &arg in given {
                let own = match assumed.of {
                    // Nothing is assumed yet: what comes from outside tells.
                    0 if arg == value => continue,
                    0 => {
                        self.assumed.insert(
                            value,
                            Aligned {
                                of: LARGEST,
                                rest: 0,
                            },
                        );
                        let from = self.depends(arg, value, DEPTH);
                        let found = (!from).then(|| self.find(arg, depth));
                        self.assumed.remove(&value);
                        match found {
                            Some(found) => found,
                            None => continue,
                        }
                    }
                    _ => {
                        self.assumed.insert(value, assumed);
                        let found = self.find(arg, depth);
                        self.assumed.remove(&value);
                        found
                    }
                };
                now = Some(now.map_or(own, |known| known.meet(own)));
            }
            let Some(now) = now else {
                return Aligned::ANY;
            };
            let next = if assumed.of == 0 {
                now
            } else {
                assumed.meet(now)
            };
            if next == assumed {
                return next;
            }
            assumed = next;
        }
    }

    /// Returns true if a value is computed from another.
    fn depends(&mut self, value: Value, on: Value, depth: u32) -> bool {
        if value == on || depth == 0 || self.is_spent() {
            return true;
        }
        let function = self.function;
        let data = function.defining(value);
        data.is_some_and(|data| {
            let mut operands = data.operands();
            operands.any(|arg| self.depends(arg, on, depth - 1))
        })
    }
}
