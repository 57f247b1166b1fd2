//! One path of one function in terms, from the beginning of a block to a loop's header or the function's end.
//!
//! A branch asks for the decision of its condition; without one, the path can't go on, and the condition is
//! returned.

use super::shape::{Shape, may_fault};
use super::terms::{Form, Term, Terms};
use super::{Effect, Unchecked};
use ir::entity::{Block, Inst, Value};
use ir::function::{Edge, Function, Linkage, Terminator};
use ir::inst::{BinaryOp, IntCondition, Op};
use ir::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::{SmolStr, format_smolstr};

/// An effect, with everything that determines it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Action {
    pub(super) kind: Effect,
    pub(super) name: SmolStr,
    pub(super) args: Vec<Term>,
}

/// The point where a path stops.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    Header(Block, Vec<Term>),
    Return(Vec<Term>),
    Kill,
    Trap,
    Unreachable,
}

/// The reason why a path does not go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stuck {
    Undecided(Term),
    Unchecked(Unchecked),
}

/// The decisions of conditions, as far as they are known.
pub(super) trait Decisions {
    fn decide(&mut self, terms: &mut Terms, condition: Term) -> Result<bool, Term>;
}

/// A path under way.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    pub(super) cut: u32,
    pub(super) values: FxHashMap<Value, Term>,
    pub(super) actions: Vec<Action>,
    /// Addresses with types and effects before them, as terms of loads.
    pub(super) loads: FxHashSet<Term>,
    /// Divisions whose divisor may be zero.
    pub(super) divisions: FxHashSet<Term>,
    /// Sums, products and the like of which the source says that they do not overflow.
    pub(super) exact: FxHashSet<Term>,
    /// Conditions that were asked.
    pub(super) asked: Vec<Term>,
    block: Block,
}

/// Instructions of a path.
const STEPS: usize = 20_000;

impl Walk {
    pub(super) fn new(cut: u32, block: Block, values: FxHashMap<Value, Term>) -> Self {
        Walk {
            cut,
            values,
            actions: Vec::new(),
            loads: FxHashSet::default(),
            divisions: FxHashSet::default(),
            exact: FxHashSet::default(),
            asked: Vec::new(),
            block,
        }
    }

    /// Goes on from a header that was reached.
    pub(super) fn enter(&mut self, shape: &Shape<'_>, block: Block, args: &[Term]) {
        let params = shape.params(block);
        self.values
            .extend(params.iter().copied().zip(args.iter().copied()));
        self.block = block;
    }

    /// The path up to the next header or end.
    pub(super) fn run(
        &mut self,
        shape: &Shape<'_>,
        terms: &mut Terms,
        decisions: &mut dyn Decisions,
    ) -> Result<Stop, Stuck> {
        let function = shape.function;
        let mut steps = 0;
        loop {
            let data = &function.blocks[self.block];
            for &inst in &data.insts {
                steps += 1;
                if steps > STEPS {
                    return Err(Stuck::Unchecked(Unchecked::Paths(STEPS)));
                }
                self.execute(shape, terms, inst)?;
            }
            let edge = match &data.terminator {
                Terminator::Jump(edge) => edge,
                Terminator::Branch {
                    condition,
                    then,
                    otherwise,
                    ..
                } => match self.ask(terms, decisions, self.values[condition])? {
                    true => then,
                    false => otherwise,
                },
                Terminator::Switch {
                    value,
                    cases,
                    default,
                } => {
                    let value = self.values[value];
                    let ty = terms.ty(value);
                    let mut taken = default;
                    for (case, edge) in cases {
                        let case = terms.constant(ty, *case as u64);
                        let form = Form::IntCompare(IntCondition::Equal);
                        let equal = terms.make(form, Type::Bool, &[value, case]);
                        if self.ask(terms, decisions, equal)? {
                            taken = edge;
                            break;
                        }
                    }
                    taken
                }
                Terminator::Return(values) => {
                    return Ok(Stop::Return(
                        values.iter().map(|v| self.values[v]).collect(),
                    ));
                }
                Terminator::Kill => return Ok(Stop::Kill),
                Terminator::Trap => return Ok(Stop::Trap),
                Terminator::Unreachable | Terminator::None => return Ok(Stop::Unreachable),
            };
            let Edge { block, args } = edge;
            let params = function.blocks[*block].params.iter();
            let taken = params
                .zip(args)
                .filter(|(param, _)| shape.is_needed(**param));
            let args: Vec<Term> = taken.map(|(_, arg)| self.values[arg]).collect();
            if shape.is_header(*block) {
                return Ok(Stop::Header(*block, args));
            }
            self.enter(shape, *block, &args);
        }
    }

    fn ask(
        &mut self,
        terms: &mut Terms,
        decisions: &mut dyn Decisions,
        condition: Term,
    ) -> Result<bool, Stuck> {
        self.asked.push(condition);
        decisions.decide(terms, condition).map_err(Stuck::Undecided)
    }

    fn execute(&mut self, shape: &Shape<'_>, terms: &mut Terms, inst: Inst) -> Result<(), Stuck> {
        let function = shape.function;
        let data = &function.insts[inst];
        if data.guard.is_some() {
            return Err(Stuck::Unchecked(Unchecked::Operation));
        }
        if !may_fault(&data.op) && !data.results.iter().any(|result| shape.is_needed(*result)) {
            return Ok(());
        }
        let args: Vec<Term> = data.args.iter().map(|value| self.values[value]).collect();
        let effects = self.actions.len() as u32;
        let cut = self.cut;
        let action = |walk: &mut Walk, kind, name: SmolStr| {
            walk.actions.push(Action {
                kind,
                name,
                args: args.clone(),
            });
        };
        let simple = match &data.op {
            Op::Const(bits) => {
                Form::Const(ir::numbers::canonical(function.ty(data.results[0]), *bits))
            }
            Op::Undef => Form::Undef,
            Op::Special(special) => Form::Special(*special),
            Op::Parameter(name) => Form::Parameter(name.clone()),
            Op::SymbolAddress(symbol) => Form::Address(symbol_name(function, *symbol)),
            Op::Alloca { size, align } => Form::Private(shape.objects[&inst], *size, *align),
            Op::Unary(op) => Form::Unary(*op),
            Op::Binary(op, _) => Form::Binary(*op),
            Op::IntCompare(condition) => Form::IntCompare(*condition),
            Op::FloatCompare(condition) => Form::FloatCompare(*condition),
            Op::Select => Form::Select,
            Op::Fma => Form::Fma,
            Op::Ternary(op) => Form::Ternary(*op),
            Op::Convert(kind) => Form::Convert(*kind),
            Op::PtrAdd => Form::PtrAdd,
            Op::Load(access) => {
                for (element, &result) in data.results.iter().enumerate() {
                    let form = Form::Load {
                        cut,
                        effects,
                        space: access.space,
                        element: element as u16,
                    };
                    let loaded = terms.make(form, function.ty(result), &args);
                    self.loads.insert(loaded);
                    self.values.insert(result, loaded);
                }
                if access.volatile {
                    let types = data.results.iter().map(|result| function.ty(*result));
                    let name = format_smolstr!("{:?}", types.collect::<Vec<_>>());
                    action(self, Effect::VolatileLoad, name);
                }
                return Ok(());
            }
            Op::CallUnknown {
                name, pure: true, ..
            } => {
                for (element, &result) in data.results.iter().enumerate() {
                    let form = Form::Pure(name.clone(), element as u16);
                    let made = terms.make(form, function.ty(result), &args);
                    self.values.insert(result, made);
                }
                return Ok(());
            }
            op => {
                let (kind, name) = match op {
                    Op::Store(access) => (
                        Effect::Store,
                        format_smolstr!("{:?} {}", access.space, access.volatile),
                    ),
                    Op::Call(callee) => {
                        let callee = shape.module.functions.get(*callee as usize);
                        (
                            Effect::Call,
                            callee.map(|it| it.name.clone()).unwrap_or_default(),
                        )
                    }
                    Op::CallUnknown {
                        name, convention, ..
                    } => (Effect::Call, format_smolstr!("{name} {convention:?}")),
                    Op::Unknown(id) => {
                        (Effect::Other, SmolStr::new(&function.unknowns[*id].reason))
                    }
                    other => (Effect::Other, format_smolstr!("{other:?}")),
                };
                action(self, kind, name);
                for (element, &result) in data.results.iter().enumerate() {
                    let form = Form::Result {
                        cut,
                        effects,
                        element: element as u16,
                    };
                    let made = terms.make(form, function.ty(result), &[]);
                    self.values.insert(result, made);
                }
                return Ok(());
            }
        };
        let [result] = data.results[..] else {
            return Err(Stuck::Unchecked(Unchecked::Operation));
        };
        let made = terms.make(simple, function.ty(result), &args);
        if divides(terms, made) {
            self.divisions.insert(made);
        }
        if let Op::Binary(_, wrap) = data.op
            && wrap.no_signed
        {
            self.exact.insert(made);
        }
        self.values.insert(result, made);
        Ok(())
    }
}

/// Text without a name of its own is identified by its contents.
fn symbol_name(function: &Function, symbol: ir::entity::Symbol) -> SmolStr {
    let data = &function.symbols[symbol];
    match &data.initial {
        Some(bytes) if data.read_only && data.definition.linkage == Linkage::Local => {
            format_smolstr!("{bytes:?} {:?}", data.definition.addresses)
        }
        _ => data.name.clone(),
    }
}

/// A division whose divisor may be zero.
fn divides(terms: &Terms, term: Term) -> bool {
    let node = terms.node(term);
    let op = match node.form {
        Form::Binary(op) => op,
        _ => return false,
    };
    matches!(
        op,
        BinaryOp::DivSigned | BinaryOp::DivUnsigned | BinaryOp::RemSigned | BinaryOp::RemUnsigned
    ) && !terms
        .value(node.args[1])
        .is_some_and(|bits| bits != 0 && bits != u64::MAX)
}
