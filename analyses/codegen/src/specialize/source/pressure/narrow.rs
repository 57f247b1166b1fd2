//! A 64-bit integer whose numbers are proved to fit 32 bits, declared with 32.
//!
//! ```text
//! long long i = row * width;  s += a[i] + b[i * 4];   ->   int i = row * width;  s += a[i] + b[(long long)i * 4];
//! ```
//!
//! Every number that the variable is ever given fits, so that it comes back unchanged where it is read. It is read by a
//! conversion back to the type that it had: operators, overloads, `auto` and formats see that type still. The conversion is left
//! out where the narrower number gives the same by itself: an index of a pointer or an array, the value of a variable that is a
//! number, an operand of `!`, `&&`, `||` and of a comparison with a number of the new type; and `++`, `--`, `+=`, `-=`, `*=`,
//! `&=`, `|=` and `^=` whose value nobody reads, because the lower half of the result depends on lower halves alone.
//!
//! Not done: declarations of several variables, `auto`, `double`; `/=`, `%=`, `<<=` and `>>=`, which read the upper half.

use super::super::emit::all_statements;
use super::super::flow::Edit;
use super::super::permutations;
use super::super::types::{Base, Shape, Ty};
use super::again::spelled;
use super::scene::{Scene, holds};
use super::{Refusal, Rewriting, Subject};
use ir::Language;
use ir::lower::c_family::visit::{self, Node};
use rustc_hash::FxHashSet;
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::*;
use syntax::c_family::lexer::lex_fragment;

/// A variable that is declared with 64 bits.
struct Wide {
    id: super::super::names::VarId,
    name: SmolStr,
    /// Its type as it is written, without `const`.
    ty: String,
    /// The type that it gets.
    narrow: Base,
    /// The words of its type in the declaration.
    words: Span,
    declaration: String,
}

pub(super) fn rewrite(scene: &Scene<'_>, subjects: &[Subject]) -> Result<Rewriting, Refusal> {
    let made = Rewriting::default().of_each(subjects, &mut |subject, made| {
        let wide = wide(scene, subject)?;
        let edits = uses(scene, &wide)?;
        made.edits.push((wide.words, wide.declaration.clone()));
        made.edits.extend(edits);
        made.names.push(wide.name);
        Ok(())
    })?;
    Ok(made.joined())
}

fn wide(scene: &Scene<'_>, subject: &Subject) -> Result<Wide, Refusal> {
    let source = scene.source;
    let mut places = scene.names.places.iter();
    let found = places.find(|(span, id)| {
        *span == subject.declared && scene.names.variable(*id).declared == subject.declared
    });
    let id = found.ok_or(Refusal::NoVariable)?.1;
    let variable = scene.names.variable(id);
    let name = variable.name.clone();
    if variable.parameter {
        return Err(Refusal::Parameter(name));
    }
    if matches!(variable.ty.kind, TypeKind::Auto) {
        return Err(Refusal::Unwritten(name));
    }
    if source.type_of(&variable.ty) != Ty::Number(Base::Long, Shape::Scalar) {
        return Err(Refusal::NotWide(name));
    }
    let unsigned = source
        .is_unsigned(&variable.ty)
        .ok_or_else(|| Refusal::Unwritten(name.clone()))?;
    if variable.escapes || variable.volatile {
        return Err(Refusal::Escapes(name));
    }
    let (low, high) = subject
        .interval
        .ok_or_else(|| Refusal::Unknown(name.clone()))?;
    let fits = |least: i128, most: i128| least <= low && high <= most;
    let narrow = if !unsigned && fits(i32::MIN.into(), i32::MAX.into()) {
        Base::Int
    } else if fits(0, u32::MAX.into()) {
        Base::Uint
    } else {
        return Err(Refusal::TooLarge { name, low, high });
    };
    let elsewhere = permutations::mentioned(source, &scene.names, scene.body.span);
    if elsewhere.iter().any(|(_, of)| *of == id) {
        return Err(Refusal::Directive(name));
    }
    let named: Vec<&str> = match &variable.ty.kind {
        TypeKind::Named(written) => {
            let segments = written.segments.iter();
            segments.map(|each| each.ident.name.as_str()).collect()
        }
        _ => Vec::new(),
    };
    let (words, declaration) = declared(scene, subject.declared, narrow, &name, &named)?;
    let ty = spelled(scene, &variable.ty, 0).ok_or_else(|| Refusal::Macro(name.clone()))?;
    Ok(Wide {
        id,
        name,
        ty,
        narrow,
        words,
        declaration,
    })
}

/// The words before a variable's name in its declaration, and those that they become.
fn declared(
    scene: &Scene<'_>,
    declared: Span,
    narrow: Base,
    name: &SmolStr,
    named: &[&str],
) -> Result<(Span, String), Refusal> {
    let source = scene.source;
    let mut found = None;
    visit::nodes(scene.body, &mut |node| {
        if let Node::Declaration(declaration) = node
            && let Some(own) = declaration.declarators.iter().find(
                |each| matches!(&each.name, DeclaratorName::Plain(ident) if ident.span == declared),
            )
        {
            let number = declaration.declarators.len();
            found = Some((declaration.span, number, own.initializer.clone()));
        }
    });
    let (span, number, initializer) = found.ok_or(Refusal::NoVariable)?;
    if number > 1 {
        return Err(Refusal::Together(name.clone()));
    }
    match &initializer {
        Initializer::None => {}
        Initializer::Copy(e) if !matches!(e.kind, ExprKind::List(_)) => {}
        // `{..}` refuses a value of more bits.
        _ => return Err(Refusal::NoValue(name.clone())),
    }
    let words = Span::new(span.start, declared.start);
    if source.in_macro(declared) {
        return Err(Refusal::Macro(name.clone()));
    }
    let text = source.slice(words);
    let mut constant = false;
    for token in lex_fragment(text) {
        let word = text.get(token.start as usize..token.end as usize);
        match word.unwrap_or("") {
            "const" => constant = true,
            "" | "long" | "int" | "unsigned" | "signed" | "::" => {}
            word if named.contains(&word) => {}
            // A macro, or what says where or how the variable lies.
            _ => return Err(Refusal::Macro(name.clone())),
        }
    }
    let ty = match (narrow, source.language) {
        (Base::Int, _) => "int",
        (_, Language::Hlsl) => "uint",
        _ => "unsigned",
    };
    let constant = if constant { "const " } else { "" };
    let space = &text[text.trim_end().len()..];
    Ok((words, format!("{constant}{ty}{space}")))
}

/// The conversions that the uses of a variable need.
fn uses(scene: &Scene<'_>, wide: &Wide) -> Result<Vec<Edit>, Refusal> {
    let source = scene.source;
    known_everywhere(scene, wide)?;
    let mut found = Found::default();
    discarded(scene.body, &mut found.discarded);
    let mut refused = None;
    visit::nodes(scene.body, &mut |node| match node {
        Node::Expr(e) => {
            if let Err(refusal) = look(scene, wide, e, &mut found) {
                refused.get_or_insert(refusal);
            }
        }
        Node::Declaration(declaration) => {
            for declarator in &declaration.declarators {
                let number = source.type_of(&declarator.ty).is_scalar();
                if let Initializer::Copy(e) = &declarator.initializer
                    && number
                {
                    found.bare(scene, wide, e);
                }
            }
        }
        _ => {}
    });
    if let Some(refusal) = refused {
        return Err(refusal);
    }
    let mut edits = Vec::new();
    for (place, id) in &scene.names.places {
        if *id != wide.id || *place == scene.names.variable(*id).declared {
            continue;
        }
        if source.in_macro(*place) {
            return Err(Refusal::Macro(wide.name.clone()));
        }
        if !found.named.contains(place) {
            return Err(Refusal::Unseen(wide.name.clone()));
        }
        if !found.bare.contains(place) {
            let start = found.steps.iter().find(|step| holds(**step, *place));
            let start = start.map_or(place.start, |step| step.start);
            edits.push((Span::at(start), format!("({})", wide.ty)));
        }
    }
    Ok(edits)
}

/// Every word of the function that is spelled like the variable means a variable, or is a member.
fn known_everywhere(scene: &Scene<'_>, wide: &Wide) -> Result<(), Refusal> {
    let base = scene.body.span.start;
    let text = scene.source.slice(scene.body.span);
    let word = |from: u32, to: u32| text.get(from as usize..to as usize).unwrap_or("");
    let mut last = "";
    for token in lex_fragment(text) {
        let own = word(token.start, token.end);
        let span = Span::new(base + token.start, base + token.end);
        let known = || scene.names.places.iter().any(|(place, _)| *place == span);
        if own == wide.name && !matches!(last, "." | "->" | "::") && !known() {
            return Err(Refusal::Unseen(wide.name.clone()));
        }
        last = own;
    }
    Ok(())
}

/// The uses of a variable's places.
#[derive(Default)]
struct Found {
    /// Expressions whose value is not read.
    discarded: FxHashSet<Span>,
    named: FxHashSet<Span>,
    /// Places that need no conversion.
    bare: FxHashSet<Span>,
    /// `v++` and `--v` whose value is read.
    steps: Vec<Span>,
}

impl Found {
    /// Notes that an expression, if it is the variable, needs no conversion.
    fn bare(&mut self, scene: &Scene<'_>, wide: &Wide, e: &Expr) {
        if let Some(place) = own(scene, wide, e) {
            self.bare.insert(place);
        }
    }
}

/// The place of the variable, if an expression is nothing else.
fn own(scene: &Scene<'_>, wide: &Wide, e: &Expr) -> Option<Span> {
    match &e.kind {
        ExprKind::Paren(inner) => own(scene, wide, inner),
        ExprKind::Name(name) if scene.names.meant(name) == Some(wide.id) => {
            name.segments.last().map(|segment| segment.ident.span)
        }
        _ => None,
    }
}

fn look(scene: &Scene<'_>, wide: &Wide, e: &Expr, found: &mut Found) -> Result<(), Refusal> {
    let source = scene.source;
    let name = || wide.name.clone();
    let of = |e: &Expr| source.type_of_expr(&scene.names, e, 0);
    match &e.kind {
        ExprKind::Name(_) => found.named.extend(own(scene, wide, e)),
        ExprKind::Assign {
            op, left, right, ..
        } => {
            if let Some(place) = own(scene, wide, left) {
                if !found.discarded.contains(&e.span) {
                    return Err(Refusal::ValueRead(name()));
                }
                match op {
                    None
                    | Some(
                        BinaryOp::Add
                        | BinaryOp::Sub
                        | BinaryOp::Mul
                        | BinaryOp::BitAnd
                        | BinaryOp::BitOr
                        | BinaryOp::BitXor,
                    ) => {}
                    Some(op) => {
                        return Err(Refusal::Compound {
                            name: name(),
                            operator: op.symbol(),
                        });
                    }
                }
                found.bare.insert(place);
            }
            let wraps = matches!(op, Some(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul));
            if op.is_none() && of(left).is_scalar() || wraps && of(left) == Ty::scalar(Base::Long) {
                found.bare(scene, wide, right);
            }
        }
        ExprKind::Unary { op, operand } => match op {
            UnaryOp::PreIncrement
            | UnaryOp::PreDecrement
            | UnaryOp::PostIncrement
            | UnaryOp::PostDecrement => {
                if let Some(place) = own(scene, wide, operand) {
                    match found.discarded.contains(&e.span) {
                        true => {
                            found.bare.insert(place);
                        }
                        false => found.steps.push(e.span),
                    }
                }
            }
            UnaryOp::Not => found.bare(scene, wide, operand),
            UnaryOp::AddressOf if own(scene, wide, operand).is_some() => {
                return Err(Refusal::Escapes(name()));
            }
            _ => {}
        },
        ExprKind::Binary {
            op, left, right, ..
        } => match op {
            BinaryOp::LogicalAnd | BinaryOp::LogicalOr => {
                found.bare(scene, wide, left);
                found.bare(scene, wide, right);
            }
            BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual
            | BinaryOp::Equal
            | BinaryOp::NotEqual => {
                if is_alike(scene, wide, right) {
                    found.bare(scene, wide, left);
                }
                if is_alike(scene, wide, left) {
                    found.bare(scene, wide, right);
                }
            }
            _ => {}
        },
        ExprKind::Conditional { condition, .. } => found.bare(scene, wide, condition),
        ExprKind::Index { base, indices } => {
            if own(scene, wide, base).is_some() {
                return Err(Refusal::Unseen(name()));
            }
            let plain = match of(base) {
                Ty::Other(ty) => match &ty.kind {
                    TypeKind::Pointer(_) | TypeKind::Array { .. } => true,
                    _ => source.language == Language::Hlsl,
                },
                Ty::Number(..) => source.language == Language::Hlsl,
                Ty::Unknown => false,
            };
            if plain {
                indices
                    .iter()
                    .for_each(|each| found.bare(scene, wide, each));
            }
        }
        ExprKind::Cast {
            style: CastStyle::C | CastStyle::Static,
            ty,
            operand,
        } if source.type_of(ty).is_scalar() => {
            found.bare(scene, wide, operand);
        }
        ExprKind::SizeofExpr(operand)
            if super::super::effects::mentioned(&scene.names, operand).contains(&wide.id) =>
        {
            return Err(Refusal::Unseen(name()));
        }
        ExprKind::Call { callee, arguments } => {
            for at in source.call(&scene.names, callee, arguments, 0).written {
                if arguments
                    .get(at)
                    .is_some_and(|each| own(scene, wide, each).is_some())
                {
                    return Err(Refusal::Escapes(name()));
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// Returns whether the variable is compared with an expression as a number of its new type, and the result is the same.
fn is_alike(scene: &Scene<'_>, wide: &Wide, other: &Expr) -> bool {
    match &other.kind {
        ExprKind::Paren(inner) => is_alike(scene, wide, inner),
        ExprKind::Int(literal) => {
            literal.longs == 0 && !literal.unsigned && literal.value <= i32::MAX as u64
        }
        ExprKind::Name(_) => {
            let ty = scene.source.type_of_expr(&scene.names, other, 0);
            let unsigned = scene.source.is_unsigned(&scene.names.variable(wide.id).ty);
            // A variable that was signed and is unsigned now would make a negative number large.
            ty == Ty::scalar(wide.narrow) && (wide.narrow == Base::Int || unsigned == Some(true))
        }
        _ => false,
    }
}

/// The expressions of a block whose value is not read: statements, steps of loops, all of a list but the
/// last.
fn discarded(body: &Block, out: &mut FxHashSet<Span>) {
    fn add(e: &Expr, out: &mut FxHashSet<Span>) {
        out.insert(e.span);
        match &e.kind {
            ExprKind::Comma(first, last) => {
                add(first, out);
                add(last, out);
            }
            ExprKind::Paren(inner) => add(inner, out),
            _ => {}
        }
    }
    let mut all = Vec::new();
    for stmt in &body.statements {
        all_statements(stmt, &mut all, 0);
    }
    for stmt in all {
        match &stmt.kind {
            StmtKind::Expr(e) => add(e, out),
            StmtKind::For {
                step: Some(step), ..
            } => add(step, out),
            _ => {}
        }
    }
}
