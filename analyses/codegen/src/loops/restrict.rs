//! `restrict` for the pointers that a function is given, where accesses through them may meet.
//!
//! ```text
//! void f(long n, double *y, const double *x)    ->    void f(long n, double *restrict y, const double *restrict x)
//! ```
//!
//! An access belongs to the parameter from which its address starts, also through pointers that are set from
//! nothing else. The author promises that the objects are apart: nothing here proves it.

use super::{Edit, Refusal, each_expression, each_statement, expressions, unparenthesised};
use crate::specialize::source::Source;
use crate::specialize::source::names::{Names, VarId};
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::*;

/// Pointers that are set from pointers are followed no further.
const STEPS: u32 = 8;

/// Parameters, and the edits that give them `restrict`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Promise {
    /// In the order of the declaration.
    pub parameters: Vec<SmolStr>,
    pub edits: Vec<Edit>,
}

/// The object that an access starts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Start {
    Parameter(VarId),
    /// An object with a name of its own, which no parameter with `restrict` reaches.
    Object,
}

/// `restrict` for the parameters that these pairs of accesses start from; places are item-relative.
///
/// # Errors
/// No pair starts from two different pointers of which one is a parameter without it.
pub fn promise(
    source: &Source<'_>,
    function: &Function,
    pairs: &[(Span, Span)],
) -> Result<Promise, Refusal> {
    let names = Names::of(function);
    let mut wanted: Vec<VarId> = Vec::new();
    let mut refused = None;
    for &(store, other) in pairs {
        match pair(function, &names, store, other) {
            Ok(found) => wanted.extend(found),
            Err(reason) => {
                refused.get_or_insert(reason);
            }
        }
    }
    wanted.sort();
    wanted.dedup();
    let mut out = Promise {
        parameters: Vec::new(),
        edits: Vec::new(),
    };
    let mut already = None;
    for parameter in &function.parameters {
        let Some(ident) = &parameter.name else {
            continue;
        };
        let known = names.declared_at(ident);
        if !known.is_some_and(|id| wanted.contains(&id)) {
            continue;
        }
        if parameter.ty.is_restrict || parameter.specifiers.words.has(SpecifierSet::RESTRICT) {
            already = Some(ident.name.clone());
            continue;
        }
        if source.in_macro(ident.span) {
            return Err(Refusal::Macro);
        }
        out.edits.push(edit(source, parameter, ident)?);
        out.parameters.push(ident.name.clone());
    }
    if out.edits.is_empty() {
        return Err(match already {
            Some(name) => refused.unwrap_or(Refusal::Already(name)),
            None => refused.unwrap_or(Refusal::NoParameter),
        });
    }
    Ok(out)
}

/// The first of some names that means several variables of a function.
#[must_use]
pub fn ambiguous(function: &Function, names: &[SmolStr]) -> Option<SmolStr> {
    let known = Names::of(function);
    let several = |name: &&SmolStr| {
        let variables = known.variables.iter();
        variables.filter(|variable| variable.name == **name).count() > 1
    };
    names.iter().find(several).cloned()
}

/// `restrict` for the parameters of these names.
///
/// # Errors
/// One of them comes out of a macro, or has a type that takes no `restrict`.
pub fn restricted(
    source: &Source<'_>,
    function: &Function,
    names: &[SmolStr],
) -> Result<Vec<Edit>, Refusal> {
    let mut edits = Vec::new();
    for parameter in &function.parameters {
        let own = parameter
            .name
            .as_ref()
            .filter(|ident| names.contains(&ident.name));
        let Some(ident) = own else { continue };
        if source.in_macro(ident.span) {
            return Err(Refusal::Macro);
        }
        edits.push(edit(source, parameter, ident)?);
    }
    Ok(edits)
}

fn pair(
    function: &Function,
    names: &Names,
    store: Span,
    other: Span,
) -> Result<Vec<VarId>, Refusal> {
    let store = start_at(function, names, store, true).ok_or(Refusal::NoParameter)?;
    let other = start_at(function, names, other, false).ok_or(Refusal::NoParameter)?;
    match (store, other) {
        (Start::Parameter(found), Start::Parameter(two)) if found == two => {
            Err(Refusal::SamePointer(names.variable(found).name.clone()))
        }
        (Start::Object, Start::Object) => Err(Refusal::NoParameter),
        (found, two) => {
            let parameter = |start| match start {
                Start::Parameter(id) => Some(id),
                Start::Object => None,
            };
            Ok([found, two].into_iter().filter_map(parameter).collect())
        }
    }
}

/// Returns the object that the access at a place starts from: of the smallest expressions around it the
/// outermost that accesses memory.
fn start_at(function: &Function, names: &Names, place: Span, stores: bool) -> Option<Start> {
    let mut found: Option<&Expr> = None;
    each_statement(function, &mut |statement| {
        for e in expressions(statement) {
            each_expression(
                e,
                &mut |it| {
                    let around = it.span.start <= place.start && place.end <= it.span.end;
                    let closer = |known: &Expr| it.span.len() < known.span.len();
                    if around && found.is_none_or(closer) {
                        found = Some(it);
                    }
                },
                0,
            );
        }
    });
    let e = unparenthesised(found?);
    let accessed = match &e.kind {
        ExprKind::Assign { left, op, .. } if stores || op.is_some() => left,
        _ => e,
    };
    root(function, names, accessed, 0)
}

fn root(function: &Function, names: &Names, e: &Expr, steps: u32) -> Option<Start> {
    if steps > STEPS {
        return None;
    }
    match &unparenthesised(e).kind {
        ExprKind::Index { base, .. } | ExprKind::Member { base, .. } => {
            root(function, names, base, steps)
        }
        ExprKind::Unary {
            op:
                UnaryOp::Dereference
                | UnaryOp::AddressOf
                | UnaryOp::PreIncrement
                | UnaryOp::PreDecrement
                | UnaryOp::PostIncrement
                | UnaryOp::PostDecrement,
            operand,
        } => root(function, names, operand, steps),
        ExprKind::Cast { operand, .. } => root(function, names, operand, steps),
        ExprKind::Binary {
            op: BinaryOp::Add,
            left,
            right,
            ..
        } => root(function, names, left, steps).or_else(|| root(function, names, right, steps)),
        ExprKind::Binary {
            op: BinaryOp::Sub,
            left,
            ..
        } => root(function, names, left, steps),
        ExprKind::Name(name) => match names.meant(name) {
            Some(id) => variable(function, names, id, steps),
            // A global with elements of its own.
            None => Some(Start::Object),
        },
        _ => None,
    }
}

fn is_pointer(ty: &Type) -> bool {
    matches!(ty.kind, TypeKind::Pointer(_))
}

fn variable(function: &Function, names: &Names, id: VarId, steps: u32) -> Option<Start> {
    let known = names.variable(id);
    let pointer = is_pointer(&known.ty);
    let array = matches!(known.ty.kind, TypeKind::Array { .. });
    if known.parameter {
        let named = matches!(known.ty.kind, TypeKind::Named(_));
        return (pointer || array || named).then_some(Start::Parameter(id));
    }
    if array {
        return Some(Start::Object);
    }
    if !pointer || known.escapes {
        return None;
    }
    let mut starts: Vec<Option<Start>> = Vec::new();
    let mut set = |e: &Expr| {
        // A pointer that moves on starts from what it started from.
        let moves = matches!(&unparenthesised(e).kind, ExprKind::Binary { left, .. }
            if matches!(&unparenthesised(left).kind, ExprKind::Name(name) if names.meant(name) == Some(id)));
        if !moves {
            starts.push(root(function, names, e, steps + 1));
        }
    };
    each_statement(function, &mut |statement| {
        if let StmtKind::Declaration(declaration) = &statement.kind {
            for declarator in &declaration.declarators {
                if let (DeclaratorName::Plain(ident), Initializer::Copy(e)) =
                    (&declarator.name, &declarator.initializer)
                    && names.declared_at(ident) == Some(id)
                {
                    set(e);
                }
            }
        }
        for e in expressions(statement) {
            each_expression(
                e,
                &mut |it| {
                    if let ExprKind::Assign {
                        op: None,
                        left,
                        right,
                        ..
                    } = &it.kind
                        && let ExprKind::Name(name) = &unparenthesised(left).kind
                        && names.meant(name) == Some(id)
                    {
                        set(right);
                    }
                },
                0,
            );
        }
    });
    let first = *starts.first()?;
    starts
        .iter()
        .all(|start| *start == first)
        .then_some(first)?
}

fn edit(source: &Source<'_>, parameter: &Parameter, ident: &Ident) -> Result<Edit, Refusal> {
    let word = if source.text.contains("__restrict") && !source.text.contains(" restrict") {
        "__restrict"
    } else {
        "restrict"
    };
    let name = ident.span.shifted(source.start);
    match &parameter.ty.kind {
        TypeKind::Pointer(_) | TypeKind::Named(_) => Ok((Span::at(name.start), format!("{word} "))),
        TypeKind::Array { .. } => {
            let rest = source.text.get(name.end as usize..).unwrap_or("");
            let open = rest.len() - rest.trim_start().len();
            if !rest[open..].starts_with('[') {
                return Err(Refusal::NoPointer(ident.name.clone()));
            }
            let inside = rest[open + 1..].trim_start();
            let space = if inside.starts_with(']') { "" } else { " " };
            let at = name.end + open as u32 + 1;
            Ok((Span::at(at), format!("{word}{space}")))
        }
        _ => Err(Refusal::NoPointer(ident.name.clone())),
    }
}
