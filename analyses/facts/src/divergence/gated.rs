//! The paper's analyses over any function of the IR: data dependence, the gates γ, μ and η of its SSA form, and the
//! paper's rules; none of the full method's symbolic forms, intervals or value numbers.
//!
//! ```text
//! i = tid.x; j = i + n; p = i < j; q = n < i      simple: all divergent but n; affine1: i (1,0), j (1,⊥), p (0,⊥), q (⊥,⊥)
//! ```
//!
//! Simple has the levels of Figure 10 (a scope instead of U), degree 1 and 2 the coefficients of Figure 12
//! beside them, over the scope asked for. `Tid` is `tid.x`; the other coordinates of a lane are divergent.
//! The rules of the paper:
//!
//! | rule | here |
//! | --- | --- |
//! | CNT, TID | constants, addresses of symbols, launch values that are equal over the scope; `tid.x` |
//! | ASG | moves are gone in SSA; truncation and bitcasts between integers and pointers, and block parameters with one argument |
//! | SUM, MLV, MLC | `add`, `sub`, `neg`, `not` (-x - 1), `ptr_add`; `mul`; `shl` by a known number as × 2^k |
//! | GUZ, GUN, GBZ, GBN | all other functions of the operands; integer ones of known constants are folded |
//! | comparison | of the difference with 0: `==`, `!=` modulo 2^bits, signed orders where both sides hold in ℤ |
//! | GAM, PDV | `select`; block parameters at a join, whose predicates are all branches that have a join there (`ir::gates`) |
//! | RMU | block parameters of loop headers (with two latches also a join) |
//! | ETA, PDV | uses outside of a loop of what it computes, whose predicates are the branches by which lanes leave in different iterations; literals and launch values have no η |
//! | LDU, LDD | loads of memory that nobody writes; of global and shared memory over a warp, where its lanes come together |
//! | ATM | atomics |
//!
//! Operations that the paper does not have take the conservative row: calls, warp operations, results of
//! barriers, derivatives, stage inputs, volatile, private and generic loads, inline assembly with effects and
//! operations that are not understood are divergent. Integers of the IR wrap, those of the paper don't: a
//! state holds modulo 2^bits, and beside it stands whether it holds in ℤ (`exact`: no wrap by the language's
//! rules, or by all coefficients and the size of the workgroup). Signed orders and extensions need that;
//! unsigned orders of non-uniform values are divergent. Irreducible loops have no gates: lanes that part in
//! one agree on nothing that it computes.
//!
//! Stops: levels and coefficients only fall, each a bounded number of times.
//! Sampaio, Martins de Souza, Collange, Pereira, *Divergence Analysis*, TOPLAS 35(4), 2013, sections 3.3 and 3.4.

use super::assembly;
use super::engine::{DISPATCH, DIVERGENT, Engine, FRESH, Level, SUBGROUP, level_of, scope_of};
use super::form::{Factors, Form, Term, wrap};
use crate::model::{Cause, Class, Method, ValueFact};
use crate::paper::{Coefficient, State};
use crate::symbolic::ValueForm;
use ir::{
    BinaryOp, Block, Convert, FunctionKind, Inst, InstData, IntCondition, Op, Space, Special, Type,
    UnaryOp, Value,
};
use smallvec::SmallVec;
use smol_str::SmolStr;

/// The state of a value at degrees 1 and 2.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Known {
    pub(crate) state: State,
    /// The state holds over the integers, the value read as a signed number; else modulo 2^bits.
    exact: bool,
}

impl Engine<'_> {
    /// One of the paper's methods.
    pub(crate) fn is_gated(&self) -> bool {
        self.options.method != Method::Full
    }
    fn degree(&self) -> Option<usize> {
        match self.options.method {
            Method::Polynomial(degree) => Some(usize::from(degree.clamp(1, 2))),
            _ => None,
        }
    }
    pub(super) fn first_states(&self) -> Vec<Known> {
        let count = self.function.values.len();
        match self.degree() {
            Some(degree) => vec![
                Known {
                    state: State::top(degree),
                    exact: true,
                };
                count
            ],
            None => Vec::new(),
        }
    }

    /// The state of a value as a use in `block` has it: after its η, where it has one.
    fn known_at(&self, value: Value, block: Block) -> Option<Known> {
        let known = self.states.get(value.0 as usize)?;
        if self.taint_between(value, block) < level_of(self.options.scope) {
            return Some(Known {
                state: State::bottom(known.state.degree()),
                exact: false,
            });
        }
        Some(known.clone())
    }

    /// Returns true if a polynomial is known of the value where it is defined, and none at a use in `block`.
    pub(super) fn loses_state(&self, value: Value, block: Block) -> bool {
        let known = self.states.get(value.0 as usize);
        known.is_some_and(|k| k.state.is_polynomial())
            && self.taint_between(value, block) < level_of(self.options.scope)
    }

    pub(super) fn gated_fact(
        &self,
        value: Value,
        level: Level,
        block: Option<Block>,
        cause: Cause,
    ) -> ValueFact {
        let wanted = level_of(self.options.scope);
        let known = block.and_then(|block| self.known_at(value, block));
        let polynomial = known.as_ref().is_some_and(|k| k.state.is_polynomial());
        let class = if level >= wanted {
            Class::Uniform
        } else if polynomial {
            Class::Affine
        } else if self.not_understood(value) {
            Class::Unknown
        } else {
            Class::Divergent
        };
        let (state, form) = match &known {
            None => {
                let letter = if class == Class::Uniform { "U" } else { "D" };
                (SmolStr::new_static(letter), ValueForm::NONE)
            }
            Some(known) if known.state.is_top() => Default::default(),
            Some(known) => {
                let integral = self.function.ty(value).is_integral();
                let form = if integral && matches!(class, Class::Uniform | Class::Affine) {
                    known.state.form(&self.coordinate_name())
                } else {
                    None
                };
                (known.state.to_string().into(), form.into())
            }
        };
        ValueFact {
            class,
            uniform_at: scope_of(level),
            form,
            state,
            cause: if level == DISPATCH {
                Cause::None
            } else {
                cause
            },
            assumed: false,
        }
    }

    fn coordinate(&self) -> Special {
        match self.shape.atom(Special::MicroSimdTid) {
            Some(_) => Special::MicroSimdTid,
            None => Special::ThreadId(0),
        }
    }
    fn coordinate_name(&self) -> String {
        super::Shape::name(self.coordinate())
    }

    /// Stores the result of a rule; `known` only where the method has states.
    fn settle(&mut self, value: Value, level: Level, known: Option<Known>) {
        let wanted = level_of(self.options.scope);
        let mut level = level.min(DISPATCH);
        let mut rest = level;
        let mut form = Form::atom(value.0);
        if let Some(new) = known {
            let old = &self.states[value.0 as usize];
            let state = if self.cap(value) < wanted {
                State::bottom(old.state.degree())
            } else {
                old.state.meet(&new.state)
            };
            let met = Known {
                exact: old.exact && new.exact,
                state,
            };
            if met.state.is_uniform() {
                level = level.max(wanted);
                rest = level;
            } else if met.state.is_polynomial() {
                rest = wanted;
            }
            form = self.form_of(value, &met.state);
            if met != *old {
                self.states[value.0 as usize] = met;
                self.push_users(value);
            }
        }
        self.set_atom(value, rest);
        self.lower_unit(value, 0);
        self.finish(value, level, form, self.type_range(value));
    }

    /// The state as a form, in which the value's own atom stands for a constant that is not known.
    fn form_of(&self, value: Value, state: &State) -> Form {
        let atom = self
            .shape
            .atom(self.coordinate())
            .map(|index| index + self.function.values.len() as u32);
        let mut form = Form::constant(0);
        form.exact = false;
        for (power, coefficient) in state.powers().enumerate() {
            let (factors, coefficient): (Factors, i64) = match (coefficient, atom) {
                (Coefficient::Known(0), _) => continue,
                (Coefficient::Known(c), _) if power == 0 => (Factors::NONE, c),
                (Coefficient::Bottom, _) if power == 0 => (Factors::one(value.0), 1),
                (Coefficient::Known(c), Some(atom)) => (Factors::power(atom, power), c),
                _ => return Form::atom(value.0),
            };
            form.terms.push(Term {
                factors,
                coefficient,
            });
        }
        form.terms.sort_by_key(|term| term.factors);
        form
    }
}

pub(super) fn instruction(engine: &mut Engine<'_>, block: Block, inst: Inst) {
    let function = engine.function;
    let data = &function.insts[inst];
    if data.results.is_empty() {
        return;
    }
    let guard = data.guard.map(|guard| guard.value);
    let read = data.args.iter().copied().chain(guard);
    let least = read
        .map(|arg| engine.level_at(arg, block))
        .min()
        .unwrap_or(DISPATCH);
    if least == FRESH {
        return;
    }
    for &result in &data.results {
        let level = row(engine, block, data, least);
        let known = known(engine, block, data, result, level);
        engine.settle(result, level, known);
    }
}

/// A block parameter: a move, μ, or γ with the predicates of all branches that join here.
pub(super) fn merge(engine: &mut Engine<'_>, block: Block, param: Value) {
    let mut args: SmallVec<[Value; 4]> = SmallVec::new();
    for &(_, arg) in engine.tables.incoming(engine.function, param) {
        if arg != param && engine.level[arg] != FRESH && !args.contains(&arg) {
            args.push(arg);
        }
    }
    let Some(&first) = args.first() else { return };
    let moved = engine
        .tables
        .incoming(engine.function, param)
        .iter()
        .all(|&(_, arg)| arg == first);
    let control = if moved {
        DISPATCH
    } else {
        engine.join_level[block]
    };
    let least = args.iter().map(|&arg| engine.level_at(arg, block)).min();
    let level = least.unwrap_or(DISPATCH).min(control);
    let known = engine.degree().map(|degree| {
        let mut met = Known {
            state: State::top(degree),
            exact: true,
        };
        if control < level_of(engine.options.scope) {
            met.state = State::bottom(degree);
        }
        for known in args.iter().filter_map(|&arg| engine.known_at(arg, block)) {
            met.state = met.state.meet(&known.state);
            met.exact &= known.exact;
        }
        met
    });
    engine.settle(param, level, known);
}

/// A parameter of the function.
pub(super) fn parameter(engine: &mut Engine<'_>, param: Value, level: Level) {
    let known = engine.degree().map(|degree| opaque(engine, degree, level));
    engine.settle(param, level, known);
}

/// Uniform with an unknown number, or nothing.
fn opaque(engine: &Engine<'_>, degree: usize, level: Level) -> Known {
    let uniform = level >= level_of(engine.options.scope);
    Known {
        state: if uniform {
            State::uniform(degree, Coefficient::Bottom)
        } else {
            State::bottom(degree)
        },
        exact: uniform,
    }
}

/// The simple analysis: `least` is the lowest level of the operands and the guard.
fn row(engine: &Engine<'_>, block: Block, data: &InstData, least: Level) -> Level {
    match &data.op {
        Op::Const(_) | Op::SymbolAddress(_) | Op::Parameter(_) => DISPATCH,
        Op::Undef if engine.language_defines_undefined() => DIVERGENT,
        Op::Undef => DISPATCH,
        Op::Special(special @ (Special::Clock | Special::SmId | Special::WarpSlot)) => {
            engine.shape.level_of(*special).min(engine.apart_at(block))
        }
        Op::Special(special) => engine.shape.level_of(*special),
        Op::Alloca { .. } if engine.function.kind == FunctionKind::Device => DIVERGENT,
        Op::Alloca { .. } => DISPATCH,
        Op::Load(access) => match access.space {
            _ if access.volatile => DIVERGENT,
            _ if access.read_only => least,
            Space::Constant => least,
            Space::Global | Space::Shared => least.min(SUBGROUP).min(engine.apart_at(block)),
            Space::Generic | Space::Local => DIVERGENT,
        },
        Op::Asm { template, .. } if data.args.is_empty() && assembly::is_empty(template) => {
            DIVERGENT
        }
        Op::Asm {
            template,
            pure: true,
        } => match assembly::level(template, true, &engine.shape) {
            Some(DISPATCH) => least,
            Some(own) => own.min(least).min(engine.apart_at(block)),
            None => DIVERGENT,
        },
        Op::CallUnknown { pure: true, .. } => least,
        Op::Unary(_)
        | Op::Binary(..)
        | Op::IntCompare(_)
        | Op::FloatCompare(_)
        | Op::Select
        | Op::Fma
        | Op::Ternary(_)
        | Op::Convert(_)
        | Op::PtrAdd
        | Op::ResourceElement { .. } => least,
        _ => DIVERGENT,
    }
}

/// The affine analysis; `level` is that of the simple one.
fn known(
    engine: &Engine<'_>,
    block: Block,
    data: &InstData,
    result: Value,
    level: Level,
) -> Option<Known> {
    let degree = engine.degree()?;
    let wanted = level_of(engine.options.scope);
    let ty = engine.function.ty(result);
    let unknown = opaque(engine, degree, level);
    let skipped = data
        .guard
        .is_some_and(|guard| engine.level_at(guard.value, block) < wanted);
    if skipped || data.results.len() != 1 || !ty.is_integral() {
        return Some(unknown);
    }
    let found = match data.op {
        Op::Const(bits) => Some(Known {
            state: State::uniform(degree, Coefficient::Known(bits as i64)),
            exact: true,
        }),
        Op::Special(special) if special == engine.coordinate() && level < wanted => Some(Known {
            state: State::thread(degree),
            exact: true,
        }),
        Op::Select => select(engine, block, data),
        Op::IntCompare(condition) => compare(engine, block, data, condition),
        _ => linear(engine, block, data, ty),
    };
    let Some(mut found) = found else {
        return Some(unknown);
    };
    if found.state.is_top() {
        return Some(found);
    }
    if level >= wanted && !found.state.is_uniform() {
        return Some(unknown);
    }
    if found.state.is_uniform() {
        // A number of its own type.
        if let Coefficient::Known(c) = found.state.constant() {
            let c = wrap(i128::from(c), ty.bits());
            found.state = State::uniform(degree, Coefficient::Known(c));
        }
        found.exact = true;
    } else {
        found.exact |= fits(engine, &found.state, ty.bits(), true);
    }
    Some(found)
}

/// SUM, MLV, MLC, moves, and folded constants.
fn linear(engine: &Engine<'_>, block: Block, data: &InstData, ty: Type) -> Option<Known> {
    let arg = |index: usize| engine.known_at(*data.args.get(index)?, block);
    if let Op::Convert(kind) = data.op {
        return converted(engine, kind, *data.args.first()?, arg(0)?, ty);
    }
    if ty == Type::Bool {
        return None;
    }
    let (left, right) = match data.op {
        Op::Unary(UnaryOp::Neg | UnaryOp::Not) => (arg(0)?, arg(0)?),
        Op::Binary(..) | Op::PtrAdd => (arg(0)?, arg(1)?),
        _ => return None,
    };
    let exact = left.exact && right.exact;
    let degree = left.state.degree();
    let number = |c: i64| State::uniform(degree, Coefficient::Known(c));
    let (a, b) = (&left.state, &right.state);
    let (state, exact) = match data.op {
        Op::Unary(UnaryOp::Neg) => (a.negated(), false),
        Op::Unary(_) => (a.negated().plus(&number(-1)), exact),
        Op::PtrAdd => (a.plus(b), exact),
        Op::Binary(op, flags) => {
            let exact = exact && flags.no_signed;
            match (op, b.constant()) {
                (BinaryOp::Add, _) => (a.plus(b), exact),
                (BinaryOp::Sub, _) => (a.plus(&b.negated()), exact),
                (BinaryOp::Mul, _) => (a.times(b), exact),
                (BinaryOp::Shl, Coefficient::Known(by @ 0..=62))
                    if b.is_uniform() && by < i64::from(ty.bits()) =>
                {
                    (a.times(&number(1 << by)), exact)
                }
                (_, Coefficient::Known(y)) if a.is_uniform() && b.is_uniform() => {
                    let Coefficient::Known(x) = a.constant() else {
                        return None;
                    };
                    (number(fold(op, x, y, ty.bits())?), true)
                }
                _ => return None,
            }
        }
        _ => return None,
    };
    Some(Known { state, exact })
}

/// GBZ on known numbers; `None`: not folded, or not defined.
fn fold(op: BinaryOp, a: i64, b: i64, bits: u32) -> Option<i64> {
    Some(match op {
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::DivSigned => a.checked_div(b)?,
        BinaryOp::RemSigned => a.checked_rem(b)?,
        BinaryOp::ShrSigned if (0..i64::from(bits)).contains(&b) => a >> b,
        BinaryOp::MinSigned => a.min(b),
        BinaryOp::MaxSigned => a.max(b),
        _ => return None,
    })
}

fn converted(
    engine: &Engine<'_>,
    kind: Convert,
    from: Value,
    known: Known,
    to: Type,
) -> Option<Known> {
    let from = engine.function.ty(from);
    let state = &known.state;
    let uniform = state.is_uniform();
    let exact = match kind {
        _ if !from.is_integral() || to == Type::Bool => return None,
        Convert::Bitcast => known.exact,
        // The low bits of the sum are the sum of the low bits.
        Convert::Truncate => uniform,
        Convert::SignExtend if from != Type::Bool && known.exact => true,
        Convert::ZeroExtend if uniform => {
            let Coefficient::Known(c) = state.constant() else {
                return Some(known);
            };
            let mask = if from.bits() >= 64 {
                -1
            } else {
                (1i64 << from.bits()) - 1
            };
            let state = State::uniform(state.degree(), Coefficient::Known(c & mask));
            return Some(Known { state, exact: true });
        }
        Convert::ZeroExtend if known.exact && fits(engine, state, from.bits(), false) => true,
        _ => return None,
    };
    Some(Known { exact, ..known })
}

/// GAM, PDV.
fn select(engine: &Engine<'_>, block: Block, data: &InstData) -> Option<Known> {
    let [predicate, yes, no] = data.args[..] else {
        return None;
    };
    let predicate = engine.known_at(predicate, block)?.state;
    if predicate.is_top() {
        return Some(Known {
            state: predicate,
            exact: true,
        });
    }
    if !predicate.is_uniform() {
        return None;
    }
    let (yes, no) = (engine.known_at(yes, block)?, engine.known_at(no, block)?);
    Some(Known {
        state: yes.state.meet(&no.state),
        exact: yes.exact && no.exact,
    })
}

/// The comparison of the difference with 0.
fn compare(
    engine: &Engine<'_>,
    block: Block,
    data: &InstData,
    condition: IntCondition,
) -> Option<Known> {
    use IntCondition::*;
    let [left, right] = data.args[..] else {
        return None;
    };
    let bits = engine.function.ty(left).bits();
    let (a, b) = (
        engine.known_at(left, block)?,
        engine.known_at(right, block)?,
    );
    let difference = a.state.plus(&b.state.negated());
    if difference.is_top() {
        return Some(Known {
            state: difference,
            exact: true,
        });
    }
    if !difference.is_uniform() {
        return None;
    }
    let number = match difference.constant() {
        Coefficient::Known(d) => Some(d),
        _ => None,
    };
    let equal = number.map(|d| wrap(i128::from(d), bits.max(2)) == 0);
    let integers = a.exact && b.exact;
    let holds = match condition {
        Equal => equal,
        NotEqual => equal.map(|equal| !equal),
        LessSigned if integers => number.map(|d| d < 0),
        LessEqualSigned if integers => number.map(|d| d <= 0),
        GreaterSigned if integers => number.map(|d| d > 0),
        GreaterEqualSigned if integers => number.map(|d| d >= 0),
        _ => return None,
    };
    let holds = holds.map_or(Coefficient::Bottom, |yes| {
        Coefficient::Known(i64::from(yes))
    });
    Some(Known {
        state: State::uniform(difference.degree(), holds),
        exact: true,
    })
}

/// Returns true if a state with known coefficients stays within a type's signed range for every lane of a workgroup, or
/// at and above zero there.
fn fits(engine: &Engine<'_>, state: &State, bits: u32, signed: bool) -> bool {
    let last = engine.shape.block[0].unwrap_or(1024).clamp(1, 1024) - 1;
    if engine.coordinate() == Special::MicroSimdTid {
        return false;
    }
    let (mut low, mut high) = (0i128, 0i128);
    for (power, coefficient) in state.powers().enumerate() {
        let Coefficient::Known(c) = coefficient else {
            return false;
        };
        let first = i128::from(power == 0);
        let furthest = i128::from(c) * i128::from(last).pow(power as u32);
        let nearest = i128::from(c) * first;
        low += furthest.min(nearest);
        high += furthest.max(nearest);
    }
    let bound = 1i128 << (bits.clamp(2, 64) - 1);
    high < bound && low >= if signed { -bound } else { 0 }
}
