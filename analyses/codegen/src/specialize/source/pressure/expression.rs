//! Initial values that can be computed again: the variables that they read, and the operands that are hidden
//! from a compiler so that it does not compute the value once for both places.
//!
//! ```text
//! row * n + tid       hidden: row. A compiler that knows `row * n` from before has no use for it, nor for the sum
//! ```
//!
//! Every operation has a hidden operand below it: one that had none would be computed once and live across the peak instead of
//! the variable. Where an element is loaded at a constant index a hidden zero is added to that.

use super::super::names::{VarId, parts};
use super::super::types::{Base, Shape, Ty};
use super::super::{Source, functions_of};
use super::Refusal;
use super::scene::{Definition, Scene};
use ir::Language;
use ir::lower::c_family::env::EntryKind;
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::*;

/// Work of an expression that is computed again, in additions.
const MOST: u32 = 12;
const DEPTH: u32 = 64;

/// The operands of an expression, and the memory that it reads.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in super::super) struct Reads {
    pub(in super::super) variables: Vec<VarId>,
    /// Names that mean no variable of the function.
    pub(in super::super) others: Vec<SmolStr>,
    /// Loads from memory that is not written while the kernel runs.
    pub(in super::super) loads: u32,
    /// True if it divides.
    pub(in super::super) divides: bool,
    /// Operations, in additions.
    pub(in super::super) work: u32,
    /// The first memory that is read and may be written.
    pub(in super::super) written: Option<SmolStr>,
}

/// An operand that is hidden from a compiler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Hidden {
    pub(super) span: Span,
    /// The type of its copy, and the letter of the constraint.
    pub(super) ty: &'static str,
    pub(super) letter: char,
    /// Zero is added to it, instead of a copy put in its place.
    pub(super) zero: bool,
}

/// The special values of CUDA, which a kernel does not keep in memory.
const SPECIAL: [&str; 5] = ["threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"];

/// The classes of HLSL whose objects are never written.
const READ_ONLY: [&str; 5] = [
    "StructuredBuffer",
    "ByteAddressBuffer",
    "Buffer",
    "Texture",
    "ConstantBuffer",
];

impl Source<'_> {
    /// A name that means no variable of the function keeps its value while the function runs: a special value, a constant, a
    /// member of a constant buffer.
    pub(in super::super) fn is_unchanging(&self, used: &Name) -> bool {
        let Some(last) = used.segments.last() else {
            return false;
        };
        if SPECIAL.contains(&last.ident.name.as_str()) {
            return true;
        }
        let path: Vec<SmolStr> = used.segments.iter().map(|s| s.ident.name.clone()).collect();
        let found = self.environment.lookup(&self.item.scope, &path);
        if found.is_empty() {
            // A member of the class, an enumerator, or a declaration of a header that was not found.
            return self.is_template_parameter(&last.ident.name);
        }
        found.iter().all(|entry| {
            match (&self.environment.item(*entry).kind, entry.what) {
                (ItemKind::Variables(declaration), EntryKind::Variable(at)) => {
                    let words = declaration.specifiers.words;
                    let declarator = declaration.declarators.get(at as usize);
                    let ty = declarator.map(|each| &each.ty);
                    let constant =
                        SpecifierSet::CONST | SpecifierSet::CONSTEXPR | SpecifierSet::CONSTANT;
                    // A global variable of HLSL without `static` or `groupshared` is a constant of a buffer,
                    // or a resource.
                    let kept = SpecifierSet::STATIC | SpecifierSet::SHARED;
                    let hlsl = self.language == Language::Hlsl && !words.has(kept);
                    words.has(constant) || hlsl || ty.is_some_and(|ty| ty.is_const)
                }
                (_, EntryKind::Variable(_)) => false,
                _ => true,
            }
        })
    }
}

impl Source<'_> {
    fn is_template_parameter(&self, name: &str) -> bool {
        let of_class = match &self.item.kind {
            ItemKind::Struct(class) => class.template.as_ref(),
            _ => None,
        };
        let functions = functions_of(self.item);
        let templates = functions.iter().filter_map(|each| each.template.as_ref());
        templates
            .chain(of_class)
            .flat_map(|template| &template.parameters)
            .any(|each| each.name.as_ref().is_some_and(|ident| ident.name == name))
    }
}

impl Scene<'_> {
    /// The operands of the initial value of a variable, where computing it again does no more than compute.
    pub(super) fn reads(&self, definition: &Definition<'_>) -> Result<Reads, Refusal> {
        let name = || definition.name.clone();
        let effects = self.source.effects(&self.names, definition.value);
        let what = [
            (effects.writes, "it stores"),
            (effects.volatile, "it reads volatile memory"),
            (effects.barrier, "it waits for others"),
            (effects.cross_lane, "it exchanges values between lanes"),
            (effects.derivative, "it is a difference between lanes"),
            (effects.exits, "it may end the lane"),
            (effects.unknown.is_some(), "it calls what is not in sight"),
        ];
        if let Some((_, what)) = what.into_iter().find(|(holds, _)| *holds) {
            return Err(Refusal::Effect { name: name(), what });
        }
        let mut reads = Reads::default();
        self.read_by(definition, definition.value, &mut reads, 0)?;
        // A load counts as many additions as it may wait; here it is one.
        let work = effects.weight.saturating_sub(20 * reads.loads);
        if work > MOST && reads.written.is_none() {
            return Err(Refusal::Dear {
                name: name(),
                work,
                most: MOST,
            });
        }
        reads.work = work;
        Ok(reads)
    }

    fn read_by(
        &self,
        definition: &Definition<'_>,
        e: &Expr,
        reads: &mut Reads,
        depth: u32,
    ) -> Result<(), Refusal> {
        let name = || definition.name.clone();
        if depth > DEPTH {
            return Err(Refusal::NotHidden(name()));
        }
        let mut below = |e: &Expr| self.read_by(definition, e, reads, depth + 1);
        match &e.kind {
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::Char(_) => Ok(()),
            ExprKind::Name(used) => {
                match self.names.meant(used) {
                    Some(id) => {
                        let variable = self.names.variable(id);
                        if variable.escapes || variable.volatile {
                            return Err(Refusal::Escapes(variable.name.clone()));
                        }
                        // An array of the function is memory that it writes.
                        if matches!(variable.ty.kind, TypeKind::Array { .. }) {
                            reads.written.get_or_insert(variable.name.clone());
                        }
                        reads.variables.push(id);
                    }
                    None => self.global(used, reads),
                }
                Ok(())
            }
            ExprKind::Unary {
                op: UnaryOp::Dereference,
                operand,
            } => {
                self.load(operand, reads);
                self.read_by(definition, operand, reads, depth + 1)
            }
            ExprKind::Unary { op, operand } => match op {
                UnaryOp::Plus | UnaryOp::Minus | UnaryOp::Not | UnaryOp::BitNot => below(operand),
                _ => Err(Refusal::Effect {
                    name: name(),
                    what: "it stores",
                }),
            },
            ExprKind::Paren(inner) | ExprKind::Cast { operand: inner, .. } => below(inner),
            ExprKind::Binary {
                op, left, right, ..
            } => {
                below(left)?;
                below(right)?;
                reads.divides |= matches!(op, BinaryOp::Div | BinaryOp::Rem);
                Ok(())
            }
            ExprKind::Conditional { .. } | ExprKind::Construct { .. } => {
                parts(e).into_iter().try_for_each(below)
            }
            ExprKind::Member { base, arrow, .. } => {
                if *arrow {
                    self.load(base, reads);
                }
                self.read_by(definition, base, reads, depth + 1)
            }
            ExprKind::Index { base, indices } => {
                let register = matches!(
                    self.source.type_of_expr(&self.names, base, 0),
                    Ty::Number(..)
                );
                if !register {
                    self.load(base, reads);
                }
                let all = std::iter::once(&**base).chain(indices);
                all.into_iter()
                    .try_for_each(|e| self.read_by(definition, e, reads, depth + 1))
            }
            ExprKind::Call { callee, arguments } => {
                let callee_name = self.source.slice(callee.span);
                match &callee.kind {
                    ExprKind::Name(word) => {
                        let own = self.names.meant(word).is_some()
                            || !self.source.unit_functions(word).is_empty();
                        let texture = callee_name.starts_with("tex");
                        if own || texture {
                            return Err(Refusal::Call {
                                name: name(),
                                callee: SmolStr::new(callee_name),
                            });
                        }
                        if callee_name == "__ldg" {
                            reads.loads += 1;
                            // The address may be computed from an element, of which nothing is read.
                            return arguments
                                .iter()
                                .try_for_each(|e| self.address(definition, e, reads, depth + 1));
                        }
                    }
                    ExprKind::Member { base, .. } => self.load(base, reads),
                    _ => {
                        return Err(Refusal::Call {
                            name: name(),
                            callee: SmolStr::new(callee_name),
                        });
                    }
                }
                arguments
                    .iter()
                    .try_for_each(|e| self.read_by(definition, e, reads, depth + 1))
            }
            _ => Err(Refusal::Effect {
                name: name(),
                what: "it is not understood",
            }),
        }
    }

    /// The operands from which an address is computed: `&p[i]`, `p + i`.
    fn address(
        &self,
        definition: &Definition<'_>,
        e: &Expr,
        reads: &mut Reads,
        depth: u32,
    ) -> Result<(), Refusal> {
        let mut e = e;
        while let ExprKind::Paren(inner) = &e.kind {
            e = inner;
        }
        if let ExprKind::Unary {
            op: UnaryOp::AddressOf,
            operand,
        } = &e.kind
            && let ExprKind::Index { base, indices } = &operand.kind
        {
            let all = std::iter::once(&**base).chain(indices);
            return all
                .into_iter()
                .try_for_each(|e| self.read_by(definition, e, reads, depth));
        }
        self.read_by(definition, e, reads, depth)
    }

    /// A name that means no variable of the function: a special value, a constant, memory.
    fn global(&self, used: &Name, reads: &mut Reads) {
        let Some(last) = used.segments.last() else {
            return;
        };
        let word = &last.ident.name;
        reads.others.push(word.clone());
        if !self.source.is_unchanging(used) {
            reads.written.get_or_insert(word.clone());
        }
    }

    /// A load through a pointer, from an array or a resource.
    pub(in super::super) fn load(&self, base: &Expr, reads: &mut Reads) {
        let mut at = base;
        let root = loop {
            match &at.kind {
                ExprKind::Name(name) => break Some(name),
                ExprKind::Paren(inner)
                | ExprKind::Member {
                    base: inner,
                    arrow: false,
                    ..
                }
                | ExprKind::Index { base: inner, .. } => at = inner,
                // `*(p + i)`
                ExprKind::Binary {
                    op: BinaryOp::Add | BinaryOp::Sub,
                    left,
                    ..
                } => at = left,
                _ => break None,
            }
        };
        let Some(root) = root else {
            reads
                .written
                .get_or_insert(SmolStr::new_static("an address"));
            return;
        };
        let text = SmolStr::new(self.source.slice(root.span));
        let read_only = match self.names.meant(root) {
            Some(id) => {
                let variable = self.names.variable(id);
                // The elements of a pointer that lies behind another pointer in memory are not looked at.
                let direct = !matches!(&at.kind, ExprKind::Name(_)) || !self.deep(base);
                variable.parameter && direct && unwritten(&variable.ty)
            }
            None => self.is_read_only_global(root),
        };
        match read_only {
            true => reads.loads += 1,
            false => {
                reads.written.get_or_insert(text);
            }
        }
    }

    /// An element of an element: `p[i][j]` through a pointer.
    fn deep(&self, base: &Expr) -> bool {
        let mut at = base;
        loop {
            match &at.kind {
                ExprKind::Paren(inner) => at = inner,
                ExprKind::Index { .. } | ExprKind::Member { .. } => return true,
                _ => return false,
            }
        }
    }

    fn is_read_only_global(&self, name: &Name) -> bool {
        let path: Vec<SmolStr> = name.segments.iter().map(|s| s.ident.name.clone()).collect();
        let environment = self.source.environment;
        let found = environment.lookup(&self.source.item.scope, &path);
        !found.is_empty()
            && found
                .iter()
                .all(|entry| match (&environment.item(*entry).kind, entry.what) {
                    (ItemKind::CBuffer(_), EntryKind::BufferMember(..)) => true,
                    (ItemKind::Variables(declaration), EntryKind::Variable(at)) => {
                        let words = declaration.specifiers.words;
                        let ty = declaration
                            .declarators
                            .get(at as usize)
                            .map(|each| &each.ty);
                        match self.source.language {
                            Language::Hlsl => ty.is_some_and(is_read_only_resource),
                            _ => words.has(SpecifierSet::CONSTANT),
                        }
                    }
                    _ => false,
                })
    }

    /// The operands to hide; empty where the expression has no operation. `None`: an operation has none that can be.
    pub(super) fn hidden(&self, e: &Expr) -> Option<Vec<Hidden>> {
        let mut out = Vec::new();
        self.cover(e, &mut out, 0)?;
        Some(out)
    }

    /// Returns whether a hidden operand is below; `None`: an operation has none.
    fn cover(&self, e: &Expr, out: &mut Vec<Hidden>, depth: u32) -> Option<bool> {
        if depth > DEPTH {
            return None;
        }
        let e = self.without_parens(e);
        if self.leaf(e).is_some() || is_constant(e) {
            return Some(false);
        }
        let mut children: Vec<&Expr> = match &e.kind {
            ExprKind::Call { callee, arguments } => {
                let mut all: Vec<&Expr> = arguments.iter().collect();
                if let ExprKind::Member { base, .. } = &callee.kind {
                    all.push(base);
                }
                all
            }
            // A name that is no number: a pointer, a structure. Nothing is computed.
            ExprKind::Name(_) => return Some(false),
            ExprKind::Unary {
                op: UnaryOp::AddressOf,
                operand,
            } => parts(self.without_parens(operand)),
            _ => parts(e),
        };
        // Members of variables are read where they lie.
        if let ExprKind::Member {
            base, arrow: false, ..
        } = &e.kind
        {
            return self.cover(base, out, depth + 1);
        }
        if let ExprKind::Index { indices, .. } = &e.kind {
            // The index rather than the array.
            children = indices.iter().collect();
        }
        let mut any = false;
        for child in &children {
            any |= self.cover(child, out, depth + 1)?;
        }
        if any {
            return Some(true);
        }
        for child in &children {
            let child = self.without_parens(child);
            if let Some((ty, letter)) = self.leaf(child)
                && !self.source.in_macro(child.span)
            {
                let hidden = Hidden {
                    span: child.span,
                    ty,
                    letter,
                    zero: false,
                };
                if !out.contains(&hidden) {
                    out.push(hidden);
                }
                return Some(true);
            }
        }
        match (&e.kind, children.as_slice()) {
            (ExprKind::Index { .. }, [index])
                if is_constant(index) && !self.source.in_macro(index.span) =>
            {
                out.push(Hidden {
                    span: index.span,
                    ty: "int",
                    letter: 'r',
                    zero: true,
                });
                Some(true)
            }
            _ if children.iter().all(|child| is_constant(child)) => Some(false),
            _ => None,
        }
    }

    fn without_parens<'e>(&self, e: &'e Expr) -> &'e Expr {
        let mut e = e;
        while let ExprKind::Paren(inner) = &e.kind {
            e = inner;
        }
        e
    }

    /// The type of the copy of an operand, and its constraint: of a variable, a parameter or a special value that is a number.
    fn leaf(&self, e: &Expr) -> Option<(&'static str, char)> {
        match &e.kind {
            ExprKind::Name(name) => {
                let id = self.names.meant(name)?;
                match self.source.type_of(&self.names.variable(id).ty) {
                    Ty::Number(base, Shape::Scalar) => copied(base),
                    _ => None,
                }
            }
            ExprKind::Member {
                base, arrow: false, ..
            } => match &base.kind {
                ExprKind::Name(name)
                    if self.names.meant(name).is_none()
                        && SPECIAL.contains(&self.source.slice(name.span)) =>
                {
                    Some(("unsigned", 'r'))
                }
                _ => None,
            },
            _ => None,
        }
    }
}

/// A type that holds every value of another, and the register that it takes.
const fn copied(base: Base) -> Option<(&'static str, char)> {
    match base {
        Base::Int => Some(("int", 'r')),
        Base::Uint => Some(("unsigned", 'r')),
        Base::Float => Some(("float", 'f')),
        Base::Double => Some(("double", 'd')),
        Base::Long => Some(("auto", 'l')),
        Base::Bool | Base::Half => None,
    }
}

pub(super) fn is_constant(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Bool(_)
        | ExprKind::Char(_)
        | ExprKind::SizeofType(_) => true,
        ExprKind::Unary {
            op: UnaryOp::Plus | UnaryOp::Minus | UnaryOp::Not | UnaryOp::BitNot,
            ..
        }
        | ExprKind::Paren(_)
        | ExprKind::Cast { .. }
        | ExprKind::Binary { .. } => parts(e).into_iter().all(is_constant),
        _ => false,
    }
}

/// A pointer to memory that nobody writes: `const T* __restrict__`.
fn unwritten(ty: &Type) -> bool {
    match &ty.kind {
        TypeKind::Pointer(to) => to.is_const && ty.is_restrict,
        // A structure passed by value: its members lie in the parameters, and the objects that they point to
        // are not looked at.
        _ => false,
    }
}

fn is_read_only_resource(ty: &Type) -> bool {
    let mut at = ty;
    while let TypeKind::Array { element, .. } = &at.kind {
        at = element;
    }
    let TypeKind::Named(name) = &at.kind else {
        return true;
    };
    let Some(last) = name.segments.last() else {
        return false;
    };
    let word = last.ident.name.as_str();
    let writes = word.starts_with("RW")
        || word.starts_with("Rasterizer")
        || word.contains("Stream")
        || word.starts_with("Append")
        || word.starts_with("Consume");
    !writes && (READ_ONLY.iter().any(|class| word.starts_with(class)))
}
