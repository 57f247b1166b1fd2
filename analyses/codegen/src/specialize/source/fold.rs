//! An expression in the fast path: its value as far as it is known, its text, and the variables that the text
//! still needs.
//!
//! ```text
//! shadow := 0      ambient + albedo * shadow   ->  ambient            albedo is not needed
//!                  lerp(fog, color, shadow)    ->  fog
//!                  shadow > 0.5                ->  false
//! ```
//!
//! Only changed text is replaced; everything around it stays as it was written. The tokens of a macro's body
//! are never taken apart. An operand is left out only where computing it has no effect.

use super::Source;
use super::effects::{Effects, mentioned};
use super::intrinsics::{self, Folded};
use super::names::{Names, VarId, parts};
use super::types::{Base, Shape, Ty, joined};
use crate::specialize::Zeros;
use ir::Language;
use rustc_hash::FxHashMap;
use syntax::Span;
use syntax::c_family::ast::*;

/// The known numbers of a value in the fast path, lane by lane; zeros of both signs are 0.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) enum Abs {
    #[default]
    Top,
    /// Every lane, whatever the shape.
    All(f64),
    Lanes([Option<f64>; 4]),
}

impl Abs {
    pub(super) fn all(self) -> Option<f64> {
        match self {
            Abs::All(number) => Some(number),
            _ => None,
        }
    }
    /// Lanes beyond the value's count as those of `All`.
    pub(super) fn lane(self, lane: usize) -> Option<f64> {
        match self {
            Abs::Top => None,
            Abs::All(number) => Some(number),
            Abs::Lanes(lanes) => lanes.get(lane).copied().flatten(),
        }
    }
    /// From the lanes of a vector of `count`.
    pub(super) fn of_lanes(count: usize, lane: impl Fn(usize) -> Option<f64>) -> Abs {
        let lanes: [Option<f64>; 4] =
            std::array::from_fn(|at| if at < count { lane(at) } else { lane(0) });
        match lanes[0] {
            Some(first) if lanes.iter().all(|lane| *lane == Some(first)) => Abs::All(first),
            _ if lanes.iter().all(Option::is_none) => Abs::Top,
            _ => Abs::Lanes(std::array::from_fn(|at| {
                if at < count { lanes[at] } else { None }
            })),
        }
    }
    pub(super) fn join(self, other: Abs) -> Abs {
        if self == other {
            return self;
        }
        let lanes: [Option<f64>; 4] = std::array::from_fn(|at| {
            let (a, b) = (self.lane(at), other.lane(at));
            if a == b { a } else { None }
        });
        if lanes.iter().all(Option::is_none) {
            Abs::Top
        } else {
            Abs::Lanes(lanes)
        }
    }
}

/// The knowledge of a variable.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Known {
    pub(super) abs: Abs,
    /// Because of the tested zero, not by the source's own constants alone.
    pub(super) derived: bool,
}

/// The knowledge of all variables.
pub(super) type Env = FxHashMap<VarId, Known>;

/// The precedence of a text's outermost operator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Level(u8);

impl Level {
    pub(super) const ASSIGN: Level = Level(1);
    const CONDITIONAL: Level = Level(2);
    pub(super) const UNARY: Level = Level(13);
    pub(super) const POSTFIX: Level = Level(14);
    pub(super) const ATOM: Level = Level(15);
    const fn tighter(self) -> Level {
        Level(self.0 + 1)
    }
}

fn binary_level(op: BinaryOp) -> Level {
    use BinaryOp as B;
    Level(match op {
        B::LogicalOr => 3,
        B::LogicalAnd => 4,
        B::BitOr => 5,
        B::BitXor => 6,
        B::BitAnd => 7,
        B::Equal | B::NotEqual => 8,
        B::Less | B::LessEqual | B::Greater | B::GreaterEqual | B::Spaceship => 9,
        B::Shl | B::Shr => 10,
        B::Add | B::Sub => 11,
        B::Mul | B::Div | B::Rem | B::MemberPointer => 12,
    })
}

fn level(e: &Expr) -> Level {
    match &e.kind {
        ExprKind::Comma(..) => Level(0),
        ExprKind::Assign { .. } | ExprKind::Throw => Level::ASSIGN,
        ExprKind::Conditional { .. } => Level::CONDITIONAL,
        ExprKind::Binary { op, .. } => binary_level(*op),
        ExprKind::Unary {
            op: UnaryOp::PostIncrement | UnaryOp::PostDecrement,
            ..
        } => Level::POSTFIX,
        ExprKind::Unary { .. }
        | ExprKind::Cast {
            style: CastStyle::C,
            ..
        }
        | ExprKind::SizeofExpr(_)
        | ExprKind::New { .. }
        | ExprKind::Delete(_) => Level::UNARY,
        ExprKind::Call { .. }
        | ExprKind::Index { .. }
        | ExprKind::Member { .. }
        | ExprKind::Construct { .. } => Level::POSTFIX,
        _ => Level::ATOM,
    }
}

/// An expression in the fast path.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Out {
    pub abs: Abs,
    /// True if something in it is known because of the tested zero: text that the source's constants alone
    /// decide is left as written.
    pub derived: bool,
    /// `None`: as written.
    pub text: Option<(String, u8)>,
    /// Variables of the function that the text reads.
    pub uses: Vec<VarId>,
    /// The effects of the computation that remains.
    pub effects: Effects,
}

pub(super) struct Folder<'a> {
    pub source: &'a Source<'a>,
    pub names: &'a Names,
    pub zeros: Zeros,
    /// The operand without a name that is tested.
    pub operand: Option<Span>,
}

enum Choice {
    Same,
    Constant(f64),
    Part(usize),
}

impl Folder<'_> {
    /// `root`: the value is assigned to a variable, which spreads a number over its lanes.
    pub(super) fn fold(&self, env: &Env, e: &Expr, root: bool, depth: u32) -> Out {
        let own = self.source.own(self.names, e, 0);
        if self.operand == Some(e.span) && !matches!(e.kind, ExprKind::Paren(_)) {
            return Out {
                abs: Abs::All(0.0),
                derived: true,
                uses: mentioned(self.names, e),
                effects: self.source.effects(self.names, e),
                ..Out::default()
            };
        }
        if depth > 128 || self.source.in_macro(e.span) {
            let mut out = self.as_written(env, e);
            if let ExprKind::Name(_) | ExprKind::Int(_) | ExprKind::Float(_) = e.kind {
                out.abs = self.atom(env, e);
                out.derived = self.derived(env, e);
            }
            return out;
        }
        match &e.kind {
            ExprKind::Name(name) => {
                return Out {
                    abs: self.atom(env, e),
                    derived: self.derived(env, e),
                    uses: self.names.meant(name).into_iter().collect(),
                    effects: own,
                    ..Out::default()
                };
            }
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) => {
                return Out {
                    abs: self.atom(env, e),
                    ..Out::default()
                };
            }
            // Nested stores and functions are taken as they are.
            ExprKind::Assign { .. }
            | ExprKind::Lambda(_)
            | ExprKind::Statement(_)
            | ExprKind::Launch { .. }
            | ExprKind::SizeofExpr(_)
            | ExprKind::SizeofType(_)
            | ExprKind::Comma(..)
            | ExprKind::Fold { .. }
            | ExprKind::List(_) => return self.as_written(env, e),
            ExprKind::Unary {
                op:
                    UnaryOp::PreIncrement
                    | UnaryOp::PreDecrement
                    | UnaryOp::PostIncrement
                    | UnaryOp::PostDecrement
                    | UnaryOp::AddressOf,
                ..
            } => return self.as_written(env, e),
            _ => {}
        }
        let below = parts(e);
        let outs: Vec<Out> = below
            .iter()
            .enumerate()
            .map(|(at, part)| {
                let callee = at == 0 && matches!(e.kind, ExprKind::Call { .. });
                if callee {
                    self.callee(env, part, depth)
                } else {
                    let root = root && matches!(e.kind, ExprKind::Paren(_));
                    self.fold(env, part, root, depth + 1)
                }
            })
            .collect();
        let written = match &e.kind {
            ExprKind::Call { callee, arguments } => !self
                .source
                .call(self.names, callee, arguments, 0)
                .written
                .is_empty(),
            _ => false,
        };
        if written {
            return self.as_written(env, e);
        }
        let derived = outs.iter().any(|out| out.derived);
        let (abs, choice) = self.decide(e, &outs);
        let choice = if derived { choice } else { Choice::Same };
        let all = self.source.effects(self.names, e);
        match choice {
            Choice::Constant(number) if self.droppable(&all) => {
                let ty = self.source.type_of_expr(self.names, e, 0);
                if let Some((text, level)) = self.source.literal(&ty, number, root) {
                    return Out {
                        abs: Abs::All(number),
                        derived,
                        text: Some((text, level.0)),
                        ..Out::default()
                    };
                }
            }
            Choice::Part(kept) => {
                let dropped = below
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| *at != kept)
                    .all(|(_, part)| self.droppable(&self.source.effects(self.names, part)));
                if dropped && self.droppable_callee(e) {
                    let part = &outs[kept];
                    let (text, part_level) = match &part.text {
                        Some((text, level)) => (text.clone(), *level),
                        None => (
                            self.source.slice(below[kept].span).to_owned(),
                            level(below[kept]).0,
                        ),
                    };
                    return Out {
                        abs,
                        derived,
                        text: Some((text, part_level)),
                        uses: part.uses.clone(),
                        effects: part.effects.clone(),
                    };
                }
            }
            _ => {}
        }
        let mut out = Out {
            abs,
            derived,
            effects: own,
            ..Out::default()
        };
        // A call's own node has the whole call's effects; the parts add theirs.
        for part in &outs {
            out.effects.merge(&part.effects);
            out.uses.extend(part.uses.iter().copied());
        }
        out.text = self.spliced(e, &below, &outs);
        out
    }

    fn droppable(&self, effects: &Effects) -> bool {
        effects.removable(self.source.language)
    }

    fn droppable_callee(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Call { callee, arguments } => {
                self.droppable(&self.source.call(self.names, callee, arguments, 0).effects)
            }
            _ => true,
        }
    }

    /// An expression whose text is kept: all that it names is needed.
    fn as_written(&self, _env: &Env, e: &Expr) -> Out {
        Out {
            abs: Abs::Top,
            derived: false,
            text: None,
            uses: mentioned(self.names, e),
            effects: self.source.effects(self.names, e),
        }
    }

    /// Returns the callee: a name, or the resource before a method.
    fn callee(&self, env: &Env, e: &Expr, depth: u32) -> Out {
        match &e.kind {
            ExprKind::Member { base, .. } => {
                let mut out = self.fold(env, base, false, depth + 1);
                out.abs = Abs::Top;
                out.text = None;
                out.uses = mentioned(self.names, base);
                out
            }
            _ => self.as_written(env, e),
        }
    }

    fn derived(&self, env: &Env, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Name(name) => self
                .names
                .meant(name)
                .and_then(|id| env.get(&id))
                .is_some_and(|known| known.derived),
            _ => false,
        }
    }

    fn atom(&self, env: &Env, e: &Expr) -> Abs {
        // Numbers that flushing to zero would change are not known.
        let sure = |value: f64| {
            if value == 0.0 || value.abs() >= 1e-30 {
                Abs::All(value)
            } else {
                Abs::Top
            }
        };
        match &e.kind {
            ExprKind::Name(name) => match self.names.meant(name) {
                Some(id) => env.get(&id).map_or(Abs::Top, |known| known.abs),
                None => Abs::Top,
            },
            ExprKind::Int(literal) if literal.value < 1 << 24 => sure(literal.value as f64),
            ExprKind::Float(literal) => {
                let ty = self.source.type_of_expr(self.names, e, 0);
                match ty.number() {
                    Some((Base::Float, _)) => sure(f64::from(literal.value as f32)),
                    Some((Base::Double, _)) => sure(literal.value),
                    _ if literal.value == 0.0 || literal.value == 1.0 => sure(literal.value),
                    _ => Abs::Top,
                }
            }
            ExprKind::Bool(flag) => Abs::All(f64::from(u8::from(*flag))),
            _ => Abs::Top,
        }
    }

    /// The value of a node whose parts are known as far as `outs` says, and its shortest form.
    fn decide(&self, e: &Expr, outs: &[Out]) -> (Abs, Choice) {
        let ty = |e: &Expr| self.source.type_of_expr(self.names, e, 0);
        let same = |abs| (abs, Choice::Same);
        match &e.kind {
            ExprKind::Paren(_) => same(outs[0].abs),
            ExprKind::Unary { op, operand } => {
                let Some((base, _)) = ty(operand).number() else {
                    return same(Abs::Top);
                };
                match (op, outs[0].abs.all()) {
                    (UnaryOp::Minus, Some(0.0)) => constant(0.0),
                    (UnaryOp::Minus, Some(number)) if base.is_float() || base == Base::Int => {
                        same(Abs::All(-number))
                    }
                    (UnaryOp::Plus, Some(number)) => same(Abs::All(number)),
                    (UnaryOp::Not, Some(number)) => constant(f64::from(u8::from(number == 0.0))),
                    _ => same(Abs::Top),
                }
            }
            ExprKind::Binary {
                op, left, right, ..
            } => {
                let (Ty::Number(a, s), Ty::Number(b, t)) = (ty(left), ty(right)) else {
                    return same(Abs::Top);
                };
                let result = ty(e);
                if result == Ty::Unknown || joined(s, t).is_none() {
                    return same(Abs::Top);
                }
                let (abs, choice) =
                    self.binary(*op, outs[0].abs, outs[1].abs, a.max(b), result.lanes());
                // One operand stands for the whole only where it has the whole's type.
                match choice {
                    Choice::Part(0) if ty(left) != result => same(abs),
                    Choice::Part(1) if ty(right) != result => same(abs),
                    choice => (abs, choice),
                }
            }
            ExprKind::Conditional {
                then, otherwise, ..
            } => {
                let result = ty(e);
                match outs[0].abs.all() {
                    Some(condition) if ty(&parts(e)[0].clone()).is_scalar() => {
                        let kept = if condition != 0.0 { 1 } else { 2 };
                        let arm: &Expr = if kept == 1 { then } else { otherwise };
                        if ty(arm) == result && result != Ty::Unknown {
                            (outs[kept].abs, Choice::Part(kept))
                        } else {
                            same(outs[kept].abs)
                        }
                    }
                    _ => match (outs[1].abs.all(), outs[2].abs.all()) {
                        (Some(a), Some(b)) if a == b && result.number().is_some() => constant(a),
                        _ => same(outs[1].abs.join(outs[2].abs)),
                    },
                }
            }
            ExprKind::Cast {
                ty: to,
                style,
                operand,
            } => {
                let plain = matches!(style, CastStyle::C | CastStyle::Static);
                match (self.source.type_of(to), ty(operand), outs[0].abs.all()) {
                    (Ty::Number(base, _), Ty::Number(..), Some(number))
                        if plain && exact(number) && (base != Base::Bool || number == 0.0) =>
                    {
                        same(Abs::All(number))
                    }
                    _ => same(Abs::Top),
                }
            }
            ExprKind::Construct {
                ty: to, arguments, ..
            } => match self.source.type_of(to).number() {
                Some((base, shape)) => self.constructed(base, shape, arguments, outs),
                None => same(Abs::Top),
            },
            ExprKind::Member { base, member, .. } => {
                let Some(last) = member.segments.last() else {
                    return same(Abs::Top);
                };
                match Source::swizzle(&ty(base), &last.ident.name) {
                    Some(places) => {
                        let known = outs[0].abs;
                        same(Abs::of_lanes(places.len(), |at| {
                            known.lane(*places.get(at).unwrap_or(&places[0]))
                        }))
                    }
                    None => same(Abs::Top),
                }
            }
            ExprKind::Index { base, .. } => match (ty(base), outs[0].abs) {
                (Ty::Number(..), Abs::All(number)) => same(Abs::All(number)),
                _ => same(Abs::Top),
            },
            ExprKind::Call { callee, arguments } => self.called(e, callee, arguments, outs),
            _ => same(Abs::Top),
        }
    }

    fn called(&self, e: &Expr, callee: &Expr, arguments: &[Expr], outs: &[Out]) -> (Abs, Choice) {
        let same = |abs| (abs, Choice::Same);
        let ExprKind::Name(name) = &callee.kind else {
            return same(Abs::Top);
        };
        let Some(last) = name.segments.last() else {
            return same(Abs::Top);
        };
        let word = last.ident.name.as_str();
        if self.names.meant(name).is_some() || !self.source.unit_functions(name).is_empty() {
            return same(Abs::Top);
        }
        let Some((base, shape)) = self.source.type_of_expr(self.names, e, 0).number() else {
            return same(Abs::Top);
        };
        let vector = match self.source.language {
            Language::Hlsl => word,
            _ => word.strip_prefix("make_").unwrap_or(word),
        };
        if super::types::numeric_name(vector, self.source.language).is_some() {
            return self.constructed(base, shape, arguments, &outs[1..]);
        }
        if intrinsics::kind(word, self.source.language) != Some(intrinsics::Kind::Pure) {
            return same(Abs::Top);
        }
        let types: Vec<Ty> = arguments
            .iter()
            .map(|argument| self.source.type_of_expr(self.names, argument, 0))
            .collect();
        if types.iter().any(|ty| ty.number().is_none()) {
            return same(Abs::Top);
        }
        let free = self.zeros == Zeros::Absorb
            || !types
                .iter()
                .any(|ty| ty.number().is_some_and(|n| n.0.is_float()));
        let values: Vec<Abs> = outs[1..]
            .iter()
            .zip(&types)
            .map(|(out, ty)| match ty.lanes() {
                // Lanes beyond a short vector count as zero for sums of products.
                Some(count) if word == "dot" && count < 4 => Abs::of_lanes(4, |at| {
                    if at < count {
                        out.abs.lane(at)
                    } else {
                        Some(0.0)
                    }
                }),
                _ => out.abs,
            })
            .collect();
        match intrinsics::fold(word, &values, free) {
            Folded::Same => same(Abs::Top),
            Folded::Constant(number) => constant(number),
            Folded::Argument(at) => {
                let whole = Ty::Number(base, shape);
                if types.get(at) == Some(&whole) {
                    (values[at], Choice::Part(at + 1))
                } else {
                    same(values.get(at).copied().unwrap_or_default())
                }
            }
        }
    }

    fn constructed(
        &self,
        base: Base,
        shape: Shape,
        arguments: &[Expr],
        outs: &[Out],
    ) -> (Abs, Choice) {
        let fits = |abs: Abs| match abs {
            Abs::Top => Abs::Top,
            abs => {
                let lane = |at: usize| {
                    abs.lane(at)
                        .filter(|n| exact(*n) && (base != Base::Bool || *n == 0.0))
                };
                Abs::of_lanes(4, lane)
            }
        };
        let count = match shape {
            Shape::Scalar => 1,
            Shape::Vector(n) => usize::from(n),
            Shape::Matrix(..) => {
                let zero = outs.iter().all(|out| out.abs.all() == Some(0.0));
                return (if zero { Abs::All(0.0) } else { Abs::Top }, Choice::Same);
            }
        };
        let mut lanes: Vec<Option<f64>> = Vec::new();
        for (argument, out) in arguments.iter().zip(outs) {
            let Some(width) = self.source.type_of_expr(self.names, argument, 0).lanes() else {
                return (Abs::Top, Choice::Same);
            };
            let known = fits(out.abs);
            lanes.extend((0..width).map(|at| known.lane(at)));
        }
        if arguments.len() == 1 && lanes.len() == 1 {
            lanes = vec![lanes[0]; count];
        }
        if lanes.len() < count {
            return (Abs::Top, Choice::Same);
        }
        (
            Abs::of_lanes(count, |at| lanes.get(at).copied().flatten()),
            Choice::Same,
        )
    }

    /// The result of an operation on known values; `base` is the operands' common type.
    fn binary(
        &self,
        op: BinaryOp,
        left: Abs,
        right: Abs,
        base: Base,
        lanes: Option<usize>,
    ) -> (Abs, Choice) {
        let free = self.zeros == Zeros::Absorb || !base.is_float();
        let count = lanes.unwrap_or(1);
        let each = |f: &dyn Fn(Option<f64>, Option<f64>) -> Option<f64>| match lanes {
            Some(_) => Abs::of_lanes(count, |at| f(left.lane(at), right.lane(at))),
            None => match f(left.all(), right.all()) {
                Some(number) => Abs::All(number),
                None => Abs::Top,
            },
        };
        let both = |f: fn(f64, f64) -> f64| {
            move |a: Option<f64>, b: Option<f64>| {
                let number = f(a?, b?);
                (exact(a?) && exact(b?) && exact(number)).then_some(number)
            }
        };
        let test = |f: fn(&f64, &f64) -> bool| {
            let abs = each(&|a, b| Some(f64::from(u8::from(f(&a?, &b?)))));
            finish(abs)
        };
        let zero = |abs: Abs| abs.all() == Some(0.0);
        use BinaryOp as B;
        match op {
            B::Mul => {
                let abs = each(&|a, b| {
                    if free && (a == Some(0.0) || b == Some(0.0)) {
                        Some(0.0)
                    } else {
                        both(|a, b| a * b)(a, b)
                    }
                });
                match (left.all(), right.all()) {
                    _ if abs.all().is_some() => finish(abs),
                    (Some(1.0), _) => (abs, Choice::Part(1)),
                    (_, Some(1.0)) => (abs, Choice::Part(0)),
                    _ => (abs, Choice::Same),
                }
            }
            B::Add | B::BitOr | B::BitXor if zero(left) && !zero(right) && free => {
                (right, Choice::Part(1))
            }
            B::Add | B::Sub | B::BitOr | B::BitXor | B::Shl | B::Shr
                if zero(right) && !zero(left) && free =>
            {
                (left, Choice::Part(0))
            }
            B::Add => finish(each(&both(|a, b| a + b))),
            B::Sub if base != Base::Uint => finish(each(&both(|a, b| a - b))),
            B::Sub if zero(left) && zero(right) => constant(0.0),
            B::BitOr | B::BitXor if zero(left) && zero(right) => constant(0.0),
            B::BitAnd if zero(left) || zero(right) => constant(0.0),
            B::Shl | B::Shr if zero(left) => constant(0.0),
            B::Div if zero(left) && free && right.all() != Some(0.0) => constant(0.0),
            B::Rem if zero(left) && !base.is_float() => constant(0.0),
            B::Less => test(f64::lt),
            B::LessEqual => test(f64::le),
            B::Greater => test(f64::gt),
            B::GreaterEqual => test(f64::ge),
            B::Equal => test(f64::eq),
            B::NotEqual => test(f64::ne),
            B::LogicalAnd => match (left.all(), right.all()) {
                (Some(0.0), _) | (_, Some(0.0)) => constant(0.0),
                (Some(_), Some(_)) => constant(1.0),
                (Some(_), None) => (Abs::Top, Choice::Part(1)),
                (None, Some(_)) => (Abs::Top, Choice::Part(0)),
                _ => (Abs::Top, Choice::Same),
            },
            B::LogicalOr => match (left.all(), right.all()) {
                (Some(a), _) if a != 0.0 => constant(1.0),
                (_, Some(b)) if b != 0.0 => constant(1.0),
                (Some(_), Some(_)) => constant(0.0),
                (Some(_), None) => (Abs::Top, Choice::Part(1)),
                (None, Some(_)) => (Abs::Top, Choice::Part(0)),
                _ => (Abs::Top, Choice::Same),
            },
            _ => (Abs::Top, Choice::Same),
        }
    }

    /// A compound assignment's value.
    pub(super) fn combined(&self, op: BinaryOp, left: Abs, right: Abs, ty: &Ty) -> Abs {
        match ty.number() {
            Some((base, _)) => self.binary(op, left, right, base, ty.lanes()).0,
            None => Abs::Top,
        }
    }

    /// The node's own text with the new texts of its parts.
    fn spliced(&self, e: &Expr, below: &[&Expr], outs: &[Out]) -> Option<(String, u8)> {
        if outs.iter().all(|out| out.text.is_none()) {
            return None;
        }
        if let (ExprKind::Paren(_), Some((text, inner))) = (&e.kind, &outs[0].text)
            && *inner >= Level::POSTFIX.0
        {
            return Some((text.clone(), *inner));
        }
        let mut edits: Vec<(Span, String)> = Vec::new();
        for (at, (part, out)) in below.iter().zip(outs).enumerate() {
            let Some((text, bound)) = &out.text else {
                continue;
            };
            let text = if *bound < least(e, at).0 {
                format!("({text})")
            } else {
                text.clone()
            };
            edits.push((part.span, text));
        }
        let text = self.source.edited(e.span, &edits)?;
        Some((text, level(e).0))
    }
}

fn constant(number: f64) -> (Abs, Choice) {
    (Abs::All(number), Choice::Constant(number))
}

fn finish(abs: Abs) -> (Abs, Choice) {
    match abs.all() {
        Some(number) => constant(number),
        None => (abs, Choice::Same),
    }
}

/// The same in every numeric type, and so are sums and products of a few of them.
pub(super) fn exact(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() <= 2048.0
}

/// Returns how tightly a part must bind to stand where it stands.
fn least(e: &Expr, at: usize) -> Level {
    match &e.kind {
        ExprKind::Binary { op, .. } if at == 0 => binary_level(*op),
        ExprKind::Binary { op, .. } => binary_level(*op).tighter(),
        ExprKind::Unary { .. }
        | ExprKind::Cast {
            style: CastStyle::C,
            ..
        } => Level::UNARY,
        ExprKind::Member { .. } => Level::POSTFIX,
        ExprKind::Index { .. } | ExprKind::Call { .. } if at == 0 => Level::POSTFIX,
        ExprKind::Conditional { .. } if at == 0 => Level::CONDITIONAL.tighter(),
        ExprKind::Conditional { .. } => Level::CONDITIONAL,
        _ => Level::ASSIGN,
    }
}
