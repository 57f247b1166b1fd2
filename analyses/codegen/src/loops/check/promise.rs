//! The tree and the IR of a function before and after `restrict`.
//!
//! `restrict` says that memory written through a pointer is reached by no other one, and for a pointer to
//! `const` also that nobody writes the memory read through it. These are the marks in the IR that may be new;
//! places in the text move.

use super::{Edit, Side, Violation};
use ir::function::{Function, Loc, Module};
use ir::inst::Op;
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::{self, ItemKind, TypeKind};

pub(super) fn check(
    before: &Side<'_>,
    after: &Side<'_>,
    edits: &[Edit],
    parameters: &[SmolStr],
) -> Result<(), Violation> {
    let (ItemKind::Function(old), ItemKind::Function(new)) = (&before.item.kind, &after.item.kind)
    else {
        return Err(Violation::Item);
    };
    if old.parameters.len() != new.parameters.len() {
        return Err(Violation::Item);
    }
    let mut constant = false;
    let mut promised = 0;
    for (old, new) in old.parameters.iter().zip(&new.parameters) {
        let name = old.name.as_ref().map(|ident| ident.name.clone());
        let wanted = name.as_ref().is_some_and(|name| parameters.contains(name));
        let name = name.unwrap_or_default();
        if new.name.as_ref().map(|ident| &ident.name) != old.name.as_ref().map(|ident| &ident.name)
        {
            return Err(Violation::Parameter(name));
        }
        if !wanted {
            if is_restrict(&old.ty) != is_restrict(&new.ty) {
                return Err(Violation::Parameter(name));
            }
            continue;
        }
        let of = edits
            .iter()
            .filter(|edit| is_within(edit.0, old.span.shifted(before.start)));
        if is_restrict(&old.ty) || !is_restrict(&new.ty) || of.count() != 1 {
            return Err(Violation::Unpromised(name));
        }
        promised += 1;
        constant |= points_to_const(&old.ty);
    }
    if promised != parameters.len() {
        let known = |name: &SmolStr| {
            let mut all = old
                .parameters
                .iter()
                .filter_map(|parameter| parameter.name.as_ref());
            all.any(|ident| ident.name == *name)
        };
        let missing = parameters.iter().find(|name| !known(name));
        return Err(Violation::Unpromised(missing.cloned().unwrap_or_default()));
    }
    if before.lowered.len() != after.lowered.len() {
        return Err(Violation::Item);
    }
    for (old, new) in before.lowered.iter().zip(after.lowered) {
        functions(&old.module, &new.module, parameters, constant, &|span| {
            let ahead = |edit: &&Edit| edit.0.start <= span.start + before.start;
            let grown: usize = edits.iter().filter(ahead).map(|edit| edit.1.len()).sum();
            Span::new(span.start + grown as u32, span.end + grown as u32)
        })?;
    }
    Ok(())
}

fn is_within(inner: Span, outer: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

fn is_restrict(ty: &ast::Type) -> bool {
    ty.is_restrict
}

fn points_to_const(ty: &ast::Type) -> bool {
    match &ty.kind {
        TypeKind::Pointer(to) => to.is_const,
        TypeKind::Array { element, .. } => element.is_const,
        _ => true,
    }
}

/// Functions of two modules are equal but for marks of these parameters; `moved` says where a place is afterwards.
fn functions(
    old: &Module,
    new: &Module,
    parameters: &[SmolStr],
    constant: bool,
    moved: &dyn Fn(Span) -> Span,
) -> Result<(), Violation> {
    if old.functions.len() != new.functions.len() {
        return Err(Violation::Item);
    }
    for (number, (first, second)) in old.functions.iter().zip(&new.functions).enumerate() {
        let own: &[SmolStr] = if number == 0 { parameters } else { &[] };
        let (mut old, mut new) = (placeless(first), placeless(second));
        if old.parameters.len() != new.parameters.len() {
            return Err(Violation::Item);
        }
        for (old, new) in old.parameters.iter_mut().zip(&mut new.parameters) {
            if !own.contains(&old.name) {
                continue;
            }
            if !new.no_alias || new.read_only && !constant {
                return Err(Violation::Unpromised(old.name.clone()));
            }
            old.no_alias = true;
            old.read_only = new.read_only;
            old.type_text.clone_from(&new.type_text);
        }
        texts(&mut old);
        texts(&mut new);
        let with_fewer_loads = constant
            && old.parameters == new.parameters
            && old.returns == new.returns
            && loads_are_fewer(first, second, moved);
        if old != new && !with_fewer_loads {
            return Err(Violation::Ir(old.name.clone()));
        }
    }
    Ok(())
}

/// The same effects at the same places, and no load at a place that had none: values read through a pointer
/// to constants are not read again, and values computed from them are not computed again.
fn loads_are_fewer(old: &Function, new: &Function, moved: &dyn Fn(Span) -> Span) -> bool {
    let places = |function: &Function, effects: bool, moved: &dyn Fn(Span) -> Span| {
        let insts = function
            .layout
            .iter()
            .flat_map(|&block| &function.blocks[block].insts);
        let data = insts.map(|&inst| &function.insts[inst]);
        let of = data.filter(|data| match data.op {
            Op::Load(access) => access.volatile == effects,
            _ => effects && data.op.has_effect(),
        });
        let place = |loc: Loc| match loc.site.0 {
            0 => (0, moved(loc.span)),
            site => (site, loc.span),
        };
        let mut all: Vec<_> = of
            .map(|data| (place(data.loc), std::mem::discriminant(&data.op)))
            .map(|((site, span), kind)| (site, span, kind))
            .collect();
        all.sort_by_key(|it| (it.0, it.1));
        all
    };
    let stays = |span: Span| span;
    let loads = places(old, false, moved);
    let unpromised = |function: &Function| {
        function
            .loops
            .iter()
            .map(|it| (it.unroll, it.independent))
            .collect::<Vec<_>>()
    };
    places(old, true, moved) == places(new, true, &stays)
        && unpromised(old) == unpromised(new)
        && places(new, false, &stays)
            .iter()
            .all(|load| loads.contains(load))
}

/// Types as written are for people.
fn texts(function: &mut Function) {
    let variables: Vec<_> = function.variables.keys().collect();
    for variable in variables {
        function.variables[variable].type_text = SmolStr::default();
    }
}

/// The functions beside the first are equal.
pub(super) fn callees(old: &Module, new: &Module) -> Result<(), Violation> {
    let rest = |module: &Module| -> Vec<Function> {
        module.functions.iter().skip(1).map(placeless).collect()
    };
    let (old, new) = (rest(old), rest(new));
    if old.len() != new.len() {
        return Err(Violation::Item);
    }
    match old.iter().zip(&new).find(|(old, new)| old != new) {
        Some((old, _)) => Err(Violation::Ir(old.name.clone())),
        None => Ok(()),
    }
}

/// A function without places in the text.
fn placeless(function: &Function) -> Function {
    let mut out = function.clone();
    let keys: Vec<_> = out.insts.keys().collect();
    for inst in keys {
        out.insts[inst].loc = Loc::NONE;
    }
    let keys: Vec<_> = out.blocks.keys().collect();
    for block in keys {
        out.blocks[block].loc = Loc::NONE;
    }
    let keys: Vec<_> = out.variables.keys().collect();
    for variable in keys {
        out.variables[variable].declared = Loc::NONE;
    }
    let keys: Vec<_> = out.sites.keys().collect();
    for site in keys {
        out.sites[site].call = Loc::NONE;
    }
    let keys: Vec<_> = out.unknowns.keys().collect();
    for unknown in keys {
        out.unknowns[unknown].loc = Loc::NONE;
    }
    for parameter in &mut out.parameters {
        parameter.loc = Loc::NONE;
    }
    for binding in &mut out.bindings {
        binding.loc = Loc::NONE;
    }
    for each in &mut out.loops {
        each.loc = Loc::NONE;
    }
    out.name_span = Span::at(0);
    out.span = Span::at(0);
    out
}
