//! The innermost loop around the peak unrolled less: `#pragma unroll 1`, `[loop]`.
//!
//! ```text
//! #pragma unroll            #pragma unroll 1          for (..)        #pragma unroll 1
//! for (..) { .. }     ->    for (..) { .. }           { .. }    ->    for (..) { .. }
//! ```
//!
//! A request for `n` copies, more than two, becomes one for half as many. Refused if an array of the function
//! is indexed by a variable that the loop changes, since such an array lives in registers because the loop is
//! unrolled; and if no copies are requested and compilers make none of themselves: the loop is large, it ends in several ways, or
//! its count is not known in front of it. The iterations stay as they are.

use super::super::Source;
use super::super::effects::{Effects, inner_statements};
use super::super::flow::assigned;
use super::super::names::root;
use super::expression::is_constant;
use super::scene::{Scene, is_loop};
use super::{Refusal, Rewriting};
use ir::Language;
use ir::lower::c_family::visit;
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::*;

/// Operations of a loop that compilers unroll of themselves, at most, unless constants tell how often it iterates. Of 19 loops of
/// public kernels with more, clang and ptxas made the same code of 18 with and without the request; the other was one of constants.
const LARGEST: u32 = 40;
/// Operations of all iterations together, where constants tell how many there are: LLVM's threshold of instructions for a loop that
/// is unrolled wholly.
const LARGEST_WHOLE: u32 = 300;
/// Iterations that are worth copies.
const FEWEST: u32 = 2;
/// Levels of calls that are looked through.
const CALLS: u32 = 3;

pub(super) fn rewrite(scene: &Scene<'_>) -> Result<Rewriting, Refusal> {
    let stmt = scene.loop_at_peak().ok_or(Refusal::NoLoop)?;
    let source = scene.source;
    if source.in_macro(stmt.span) {
        return Err(Refusal::Macro(SmolStr::new_static("the loop")));
    }
    let hlsl = source.language == Language::Hlsl;
    let asked = stmt
        .attributes
        .iter()
        .find(|each| matches!(each.name.as_str(), "unroll" | "nounroll" | "loop"));
    let times = asked.map(|each| match each.arguments.first().map(|e| &e.kind) {
        None => Ok(None),
        Some(ExprKind::Int(literal)) => Ok(Some(literal.value)),
        Some(_) => Err(Refusal::Rolled),
    });
    let times = times.transpose()?;
    if asked.is_some_and(|each| each.name != "unroll") || matches!(times, Some(Some(0 | 1))) {
        return Err(Refusal::Rolled);
    }
    if asked.is_none() {
        of_itself(scene, stmt)?;
    }
    indexed(scene, stmt)?;
    let fewer = match times.flatten() {
        Some(times) if times > 2 => Some(times / 2),
        _ => None,
    };
    let wanted = match (hlsl, fewer) {
        (true, None) => "[loop]".to_owned(),
        (true, Some(times)) => format!("[unroll({times})]"),
        (false, times) => format!("#pragma unroll {}", times.unwrap_or(1)),
    };
    let edit = match asked {
        Some(each) => {
            let span = whole(scene, each.span, hlsl)
                .ok_or_else(|| Refusal::Macro(SmolStr::new_static("the request")))?;
            (span, wanted)
        }
        // A directive needs a line of its own.
        None if !hlsl && !source.begins_line(stmt.span.start) => {
            let end = source.end_of_line();
            let indent = source.indentation(stmt.span.start);
            (
                Span::at(stmt.span.start),
                format!("{end}{wanted}{end}{indent}"),
            )
        }
        None => scene.before(stmt.span, &[wanted]),
    };
    Ok(Rewriting {
        names: Vec::new(),
        edits: vec![edit],
        shared: 0,
        may_be_undone: false,
        divides: false,
    })
}

/// Refuses a loop of which compilers make no copies of themselves.
fn of_itself(scene: &Scene<'_>, stmt: &Stmt) -> Result<(), Refusal> {
    let StmtKind::For { body, .. } = &stmt.kind else {
        return Err(Refusal::Uncounted);
    };
    let iterations = iterations(stmt);
    if iterations.is_none() && leaves(body, true) {
        return Err(Refusal::Uncounted);
    }
    let operations = operations(scene.source, stmt, CALLS);
    let whole = iterations.map_or(u32::MAX, |count| operations.saturating_mul(count));
    match operations > LARGEST && whole > LARGEST_WHOLE {
        true => Err(Refusal::LargeLoop),
        false => Ok(()),
    }
}

/// Returns whether a statement may end the loop around it, or the function; `own`: a `break` is that loop's.
fn leaves(stmt: &Stmt, own: bool) -> bool {
    match &stmt.kind {
        StmtKind::Break => own,
        StmtKind::Return(_) | StmtKind::Goto(_) => true,
        kind => {
            let own = own && !is_loop(stmt) && !matches!(kind, StmtKind::Switch { .. });
            inner_statements(stmt).iter().any(|each| leaves(each, own))
        }
    }
}

/// Operations of a statement, with those of functions that it calls.
fn operations(source: &Source<'_>, stmt: &Stmt, calls: u32) -> u32 {
    let block = Block {
        statements: vec![stmt.clone()],
        span: stmt.span,
    };
    let mut count = 0u32;
    visit::block(&block, &mut |e| {
        let own = match &e.kind {
            ExprKind::Binary { .. }
            | ExprKind::Assign { .. }
            | ExprKind::Unary { .. }
            | ExprKind::Index { .. }
            | ExprKind::Conditional { .. } => 1,
            ExprKind::Call { callee, .. } => match &callee.kind {
                ExprKind::Name(name) => called(source, name, calls),
                // A method of a resource is an instruction.
                ExprKind::Member { .. } if source.language == Language::Hlsl => 1,
                _ => LARGEST,
            },
            _ => 0,
        };
        count = count.saturating_add(own);
    });
    count
}

/// Operations of a function that is called.
fn called(source: &Source<'_>, name: &Name, calls: u32) -> u32 {
    let items = source.unit_functions(name);
    if items.is_empty() {
        return 1;
    }
    let each = items.iter().filter_map(|item| {
        let whole = source.bodies.body(&item.key).filter(|_| calls > 0)?;
        let ItemKind::Function(function) = &whole.kind else {
            return None;
        };
        let FunctionBody::Block(body) = &function.body else {
            return None;
        };
        let each = body.statements.iter();
        let each = each.map(|stmt| operations(source, stmt, calls - 1));
        Some(each.fold(0, u32::saturating_add))
    });
    // Of overloads the largest; a body that is not in sight is not copied.
    each.max().unwrap_or(LARGEST)
}

/// The number of iterations of a loop that begins and ends with constants: `for (int k = -2; k <= 2; k++)`; of one whose constants
/// are named, or that steps otherwise, the smallest that is worth copies.
fn iterations(stmt: &Stmt) -> Option<u32> {
    let StmtKind::For {
        initializer: Some(first),
        condition: Some(Condition::Expr(condition)),
        step,
        ..
    } = &stmt.kind
    else {
        return None;
    };
    let begins = match &first.kind {
        StmtKind::Declaration(declaration) => match declaration.declarators.as_slice() {
            [each] => match &each.initializer {
                Initializer::Copy(e) => e,
                _ => return None,
            },
            _ => return None,
        },
        StmtKind::Expr(Expr {
            kind: ExprKind::Assign { right, .. },
            ..
        }) => right,
        _ => return None,
    };
    let ExprKind::Binary {
        op, right: ends, ..
    } = &condition.kind
    else {
        return None;
    };
    if !is_constant(begins) || !is_constant(ends) {
        return None;
    }
    let last = matches!(op, BinaryOp::LessEqual | BinaryOp::GreaterEqual);
    let counted = || {
        let distance = number(begins)?.abs_diff(number(ends)?) + u64::from(last);
        let step = stepped(step.as_ref()?).filter(|&step| step > 0)?;
        Some(u32::try_from(distance.div_ceil(step)).unwrap_or(u32::MAX))
    };
    Some(counted().unwrap_or(FEWEST))
}

/// The value of a literal, with its sign.
fn number(e: &Expr) -> Option<i64> {
    match &e.kind {
        ExprKind::Int(literal) => i64::try_from(literal.value).ok(),
        ExprKind::Unary {
            op: UnaryOp::Minus,
            operand,
        } => number(operand)?.checked_neg(),
        ExprKind::Paren(inner) => number(inner),
        _ => None,
    }
}

/// The number that a step adds or takes away.
fn stepped(step: &Expr) -> Option<u64> {
    match &step.kind {
        ExprKind::Unary {
            op:
                UnaryOp::PreIncrement
                | UnaryOp::PreDecrement
                | UnaryOp::PostIncrement
                | UnaryOp::PostDecrement,
            ..
        } => Some(1),
        ExprKind::Assign {
            op: Some(BinaryOp::Add | BinaryOp::Sub),
            right,
            ..
        } => number(right).map(i64::unsigned_abs),
        _ => None,
    }
}

/// The text of a request: `#pragma unroll 4` to the end of its line, `[unroll(4)]`.
fn whole(scene: &Scene<'_>, span: Span, hlsl: bool) -> Option<Span> {
    let source = scene.source;
    if hlsl && source.in_macro(span) {
        return None;
    }
    let line = source.line(span.start);
    let before = source.slice(Span::new(line.start, span.start));
    match hlsl {
        true => {
            let open = before.rfind('[')? as u32;
            let after = source.slice(Span::new(span.end, line.end));
            let inside = source.slice(Span::new(line.start + open + 1, span.start));
            let close = after.find(']')? as u32;
            let rest = &after[..close as usize];
            (inside.trim().is_empty() && rest.trim().is_empty())
                .then(|| Span::new(line.start + open, span.end + close + 1))
        }
        false => {
            // A directive, and no `_Pragma` of a macro.
            let all = source.slice(line);
            let start = all.find('#').filter(|at| all[..*at].trim().is_empty())? as u32;
            let text = source.slice(Span::new(line.start + start, line.end));
            let plain = text.trim_start_matches('#').trim_start();
            let known =
                plain.starts_with("pragma") && plain.contains("unroll") && !text.ends_with('\\');
            let end = text
                .find("//")
                .map_or(text.trim_end().len(), |at| text[..at].trim_end().len());
            known.then(|| Span::new(line.start + start, line.start + start + end as u32))
        }
    }
}

/// Neither arrays of the function are indexed by variables that the loop changes, nor derivatives taken.
fn indexed(scene: &Scene<'_>, stmt: &Stmt) -> Result<(), Refusal> {
    let source = scene.source;
    let changing = assigned(source, &scene.names, stmt);
    let block = Block {
        statements: vec![stmt.clone()],
        span: stmt.span,
    };
    let mut found: Option<SmolStr> = None;
    let mut effects = Effects::default();
    visit::block(&block, &mut |e| {
        effects.merge(&source.own(&scene.names, e, 0));
        let ExprKind::Index { base, indices } = &e.kind else {
            return;
        };
        let Some(array) = root(base) else {
            return;
        };
        let local = match scene.names.meant(array) {
            Some(id) => {
                let variable = scene.names.variable(id);
                // Shared arrays are memory; pointers lead to it.
                let pointer = matches!(variable.ty.kind, TypeKind::Pointer(_));
                let shared = variable.escapes && !variable.parameter;
                !pointer && !shared
            }
            // An array of resources wants its index to be a constant.
            None => source.language == Language::Hlsl,
        };
        let varies = indices
            .iter()
            .flat_map(|index| super::super::effects::mentioned(&scene.names, index))
            .any(|id| changing.contains(&id));
        let resource = source.language == Language::Hlsl && scene.names.meant(array).is_none();
        let direct = !resource || matches!(base.kind, ExprKind::Index { .. });
        if local && varies && direct {
            found.get_or_insert(array_name(array));
        }
    });
    if source.language == Language::Hlsl && effects.derivative {
        return Err(Refusal::LoopDerivative);
    }
    match found {
        Some(name) => Err(Refusal::RegisterArray(name)),
        None => Ok(()),
    }
}

fn array_name(name: &Name) -> SmolStr {
    let last = name.segments.last();
    last.map_or(SmolStr::new_static("an array"), |each| {
        each.ident.name.clone()
    })
}
