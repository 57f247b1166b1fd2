//! Terms over the unknowns at the start of a path: equal terms are equal values.
//!
//! ```text
//! trunc(sext(x: i16))  ->  x         a > b  ->  b < a         select(c, a, b) where c holds  ->  a
//! ```
//!
//! Terms are kept once, arguments before the terms made of them. Arithmetic on constants is that of
//! `ir::numbers`.

use ir::inst::{BinaryOp, Convert, FloatCondition, IntCondition, Special, TernaryOp, UnaryOp};
use ir::numbers;
use ir::types::{Space, Type};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use smol_str::SmolStr;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Term(u32);

/// The operation that makes a term.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Form {
    /// Any value.
    Symbol(u32),
    Const(u64),
    Undef,
    Special(Special),
    Parameter(SmolStr),
    /// The address of a symbol of the module.
    Address(SmolStr),
    /// Private memory: which, and its size and alignment.
    Private(u32, u32, u32),
    Unary(UnaryOp),
    Binary(BinaryOp),
    IntCompare(IntCondition),
    FloatCompare(FloatCondition),
    Select,
    Fma,
    Ternary(TernaryOp),
    Convert(Convert),
    PtrAdd,
    /// From memory as it is behind so many effects since a cut; which of several elements.
    Load {
        cut: u32,
        effects: u32,
        space: Space,
        element: u16,
    },
    /// A result of an effect.
    Result {
        cut: u32,
        effects: u32,
        element: u16,
    },
    /// A result of something that has no effect and depends on its operands alone.
    Pure(SmolStr, u16),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Node {
    pub(super) form: Form,
    pub(super) ty: Type,
    pub(super) args: SmallVec<[Term; 3]>,
}

#[derive(Default, Debug)]
pub(super) struct Terms {
    nodes: Vec<Node>,
    known: FxHashMap<Node, Term>,
    symbols: u32,
}

impl Terms {
    pub(super) fn node(&self, term: Term) -> &Node {
        &self.nodes[term.0 as usize]
    }

    pub(super) fn ty(&self, term: Term) -> Type {
        self.node(term).ty
    }

    pub(super) fn fresh(&mut self, ty: Type) -> Term {
        self.symbols += 1;
        self.plain(Form::Symbol(self.symbols), ty, smallvec![])
    }

    pub(super) fn constant(&mut self, ty: Type, bits: u64) -> Term {
        self.plain(Form::Const(numbers::canonical(ty, bits)), ty, smallvec![])
    }

    pub(super) fn value(&self, term: Term) -> Option<u64> {
        match self.node(term).form {
            Form::Const(bits) => Some(bits),
            _ => None,
        }
    }

    /// The same on every path of a call.
    pub(super) fn is_rigid(&self, term: Term) -> bool {
        matches!(
            self.node(term).form,
            Form::Const(_)
                | Form::Undef
                | Form::Special(_)
                | Form::Parameter(_)
                | Form::Address(_)
                | Form::Private(..)
        )
    }

    fn plain(&mut self, form: Form, ty: Type, args: SmallVec<[Term; 3]>) -> Term {
        let node = Node { form, ty, args };
        if let Some(&known) = self.known.get(&node) {
            return known;
        }
        let term = Term(self.nodes.len() as u32);
        self.nodes.push(node.clone());
        self.known.insert(node, term);
        term
    }

    pub(super) fn not(&mut self, term: Term) -> Term {
        let node = self.node(term);
        match node.form {
            Form::Const(bits) => self.constant(Type::Bool, bits ^ 1),
            Form::Unary(UnaryOp::Not) => node.args[0],
            _ => self.plain(Form::Unary(UnaryOp::Not), Type::Bool, smallvec![term]),
        }
    }

    /// A condition without its negations, and whether it is negated.
    pub(super) fn stripped(&self, term: Term) -> (Term, bool) {
        let node = self.node(term);
        match node.form {
            Form::Unary(UnaryOp::Not) if node.ty == Type::Bool => (node.args[0], true),
            _ => (term, false),
        }
    }

    /// A term in its normal form.
    pub(super) fn make(&mut self, form: Form, ty: Type, args: &[Term]) -> Term {
        if let Some(bits) = self.folded(&form, ty, args) {
            return self.constant(ty, bits);
        }
        match form {
            Form::Unary(UnaryOp::Not) if ty == Type::Bool => self.not(args[0]),
            Form::Binary(BinaryOp::Sub) if ty.is_int() && self.value(args[1]).is_some() => {
                let negated = self.value(args[1]).unwrap_or_default().wrapping_neg();
                let negated = self.constant(ty, negated);
                self.make(Form::Binary(BinaryOp::Add), ty, &[args[0], negated])
            }
            Form::Binary(op) => self.binary(op, ty, args),
            Form::IntCompare(condition) => self.compared(condition, args[0], args[1]),
            Form::FloatCompare(FloatCondition::Greater) => {
                let form = Form::FloatCompare(FloatCondition::Less);
                self.plain(form, ty, smallvec![args[1], args[0]])
            }
            Form::FloatCompare(FloatCondition::GreaterEqual) => {
                let form = Form::FloatCompare(FloatCondition::LessEqual);
                self.plain(form, ty, smallvec![args[1], args[0]])
            }
            Form::Select => match self.value(args[0]) {
                Some(0) => args[2],
                Some(_) => args[1],
                None if args[1] == args[2] => args[1],
                None => {
                    let (condition, negated) = self.stripped(args[0]);
                    let (a, b) = if negated {
                        (args[2], args[1])
                    } else {
                        (args[1], args[2])
                    };
                    self.plain(Form::Select, ty, smallvec![condition, a, b])
                }
            },
            Form::PtrAdd if self.value(args[1]) == Some(0) => args[0],
            Form::Convert(kind) => self.converted(kind, ty, args[0]),
            form => self.plain(form, ty, args.into()),
        }
    }

    fn folded(&self, form: &Form, ty: Type, args: &[Term]) -> Option<u64> {
        let value = |at: usize| self.value(*args.get(at)?);
        let from = |at: usize| args.get(at).map_or(ty, |term| self.ty(*term));
        Some(match form {
            Form::Unary(op) => numbers::unary(*op, from(0), ty, value(0)?),
            Form::Binary(op) => numbers::binary(*op, from(0), from(1), ty, value(0)?, value(1)?),
            Form::IntCompare(condition) => {
                u64::from(numbers::int_compare(*condition, value(0)?, value(1)?))
            }
            Form::FloatCompare(condition) => u64::from(numbers::float_compare(
                *condition,
                from(0),
                value(0)?,
                value(1)?,
            )),
            Form::Convert(Convert::SpaceCast) => return None,
            Form::Convert(kind) => numbers::convert(*kind, from(0), ty, value(0)?),
            _ => return None,
        })
    }

    fn binary(&mut self, op: BinaryOp, ty: Type, args: &[Term]) -> Term {
        let (mut a, mut b) = (args[0], args[1]);
        let commutes = matches!(
            op,
            BinaryOp::Add | BinaryOp::Mul | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor
        );
        // Constants come last.
        if commutes && (self.value(a).is_some() || self.value(b).is_none() && b < a) {
            std::mem::swap(&mut a, &mut b);
        }
        if op == BinaryOp::Add && ty.is_int() && self.value(b) == Some(0) {
            return a;
        }
        self.plain(Form::Binary(op), ty, smallvec![a, b])
    }

    fn compared(&mut self, condition: IntCondition, a: Term, b: Term) -> Term {
        use IntCondition::*;
        let less = |terms: &mut Self, how, a, b| {
            terms.plain(Form::IntCompare(how), Type::Bool, smallvec![a, b])
        };
        match condition {
            LessSigned | LessUnsigned if a == b => self.constant(Type::Bool, 0),
            LessSigned | LessUnsigned => less(self, condition, a, b),
            GreaterSigned => self.compared(LessSigned, b, a),
            GreaterUnsigned => self.compared(LessUnsigned, b, a),
            LessEqualSigned | LessEqualUnsigned | GreaterEqualSigned | GreaterEqualUnsigned
            | NotEqual => {
                let opposite = self.compared(condition.negated(), a, b);
                self.not(opposite)
            }
            Equal if a == b => self.constant(Type::Bool, 1),
            Equal => {
                let (a, b) = match self.value(a).is_some() || self.value(b).is_none() && b < a {
                    true => (b, a),
                    false => (a, b),
                };
                // A number made of a condition.
                let node = self.node(a);
                let widened = matches!(
                    node.form,
                    Form::Convert(Convert::ZeroExtend | Convert::SignExtend)
                );
                if widened && self.value(b) == Some(0) {
                    let inner = node.args[0];
                    if self.ty(inner) == Type::Bool {
                        return self.not(inner);
                    }
                    let zero = self.constant(self.ty(inner), 0);
                    return self.compared(Equal, inner, zero);
                }
                less(self, Equal, a, b)
            }
        }
    }

    fn converted(&mut self, kind: Convert, ty: Type, from: Term) -> Term {
        let node = self.node(from).clone();
        match kind {
            Convert::Truncate | Convert::ZeroExtend | Convert::SignExtend | Convert::Bitcast
                if node.ty == ty =>
            {
                return from;
            }
            Convert::ToBool if node.ty.is_integral() => {
                let zero = self.constant(node.ty, 0);
                return self.compared(IntCondition::NotEqual, from, zero);
            }
            Convert::Truncate => {
                if let Form::Convert(inner @ (Convert::ZeroExtend | Convert::SignExtend)) =
                    node.form
                {
                    let narrow = node.args[0];
                    return match self.ty(narrow).bits().cmp(&ty.bits()) {
                        std::cmp::Ordering::Equal => narrow,
                        std::cmp::Ordering::Less => self.converted(inner, ty, narrow),
                        std::cmp::Ordering::Greater => {
                            self.converted(Convert::Truncate, ty, narrow)
                        }
                    };
                }
            }
            Convert::SignExtend | Convert::ZeroExtend if node.form == Form::Convert(kind) => {
                return self.converted(kind, ty, node.args[0]);
            }
            // Widened and narrowed again, all but the bits of a NaN that nobody sees stay.
            Convert::FloatToFloat if node.form == Form::Convert(Convert::FloatToFloat) => {
                let inner = node.args[0];
                if self.ty(inner) == ty && ty.bits() < node.ty.bits() {
                    return inner;
                }
            }
            _ => {}
        }
        self.plain(Form::Convert(kind), ty, smallvec![from])
    }

    /// All terms that these are made of, arguments first.
    pub(super) fn below(&self, roots: &[Term]) -> Vec<Term> {
        let mut seen: rustc_hash::FxHashSet<Term> = roots.iter().copied().collect();
        let mut work: Vec<Term> = seen.iter().copied().collect();
        while let Some(term) = work.pop() {
            for &arg in &self.node(term).args {
                if seen.insert(arg) {
                    work.push(arg);
                }
            }
        }
        let mut out: Vec<Term> = seen.into_iter().collect();
        out.sort();
        out
    }

    /// Terms where some conditions are decided.
    pub(super) fn resolved(
        &mut self,
        roots: &[Term],
        decided: &dyn Fn(Term) -> Option<bool>,
    ) -> Vec<Term> {
        let mut new: FxHashMap<Term, Term> = FxHashMap::default();
        for term in self.below(roots) {
            let node = self.node(term);
            if node.ty == Type::Bool
                && let Some(known) = decided(term)
            {
                let known = self.constant(Type::Bool, u64::from(known));
                new.insert(term, known);
                continue;
            }
            let args: SmallVec<[Term; 3]> = node.args.iter().map(|arg| new[arg]).collect();
            let made = match args == node.args {
                true => term,
                false => {
                    let (form, ty) = (node.form.clone(), node.ty);
                    self.make(form, ty, &args)
                }
            };
            new.insert(term, made);
        }
        roots.iter().map(|root| new[root]).collect()
    }
}
