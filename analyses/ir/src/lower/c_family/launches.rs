//! Kernel launches and explicit instantiations as a function's tree shows them: which kernel, with which
//! template arguments, in blocks of which shape, given which numbers. The value of a local variable is put in
//! its place if nothing can have changed it.
//!
//! ```text
//! const int rows = 8;  dim3 block(32, rows);  k<float, 4><<<grid, block>>>(p);     k <float, 4>, block (32, 8, 1)
//! ```
//! A part that depends on anything else that is local (a parameter, a variable that is written twice or handed to a call) is
//! unknown. Nothing is evaluated here, and nothing has a position: an edit that leaves the launches of a body as they were
//! leaves the result equal to itself. Launches through function pointers, and of kernels that are passed as arguments, are
//! not seen, but for those through `cudaLaunchKernel` and its relatives; where these take a configuration their shape is
//! unknown.

mod changes;
mod host;
mod scoped;

use super::visit::{self};
use host::Host;
use smol_str::SmolStr;
use syntax::c_family::ast::*;

const MAX_DEPTH: u32 = 32;

/// A launch or an explicit instantiation.
#[derive(Clone, PartialEq, Debug)]
pub struct Instantiation {
    pub name: SmolStr,
    /// Namespaces around it.
    pub scope: Vec<SmolStr>,
    /// The arguments as written; `None`: one depends on something that is not known here.
    pub arguments: Vec<Option<TemplateArgument>>,
    /// The arguments that are template parameters of the function around the launch, whose instantiations
    /// determine them.
    pub handed_on: Vec<HandedOn>,
    /// `None`: not a launch.
    pub block: Option<BlockText>,
    /// The arguments of the kernel, by parameter, that are numbers of the program; those not listed are not
    /// known.
    pub passes: Vec<Option<Expr>>,
    /// The parameters that are given a product of which the block's width is a factor.
    pub whole: Vec<u32>,
}

/// An argument that is a template parameter of the function around it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HandedOn {
    pub argument: u32,
    /// The function or the class, by its last name, and which of its parameters it is.
    pub owner: SmolStr,
    pub parameter: u32,
}

/// The size of a launch's block.
#[derive(Clone, PartialEq, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "most are sizes, and there are few"
)]
pub enum BlockText {
    /// The sizes along each axis; `None`: not known.
    Sizes([Option<Expr>; 3]),
    /// A name that is not local: a number or a `dim3`.
    Named(Name),
}

const UNKNOWN: BlockText = BlockText::Sizes([None, None, None]);

/// All that an item launches or instantiates.
pub fn of_item(item: &ParsedItem, out: &mut Vec<Instantiation>) {
    let mut found = Vec::new();
    match &item.kind {
        ItemKind::ExplicitInstantiation { name, .. } => {
            let host = Host::default();
            found.extend(host.instantiation(name, None, &[]));
        }
        ItemKind::Function(function) => function_launches(function, &Around::default(), &mut found),
        ItemKind::Struct(declared) => methods(declared, &mut Around::default(), &mut found, 0),
        _ => {}
    }
    for mut each in found {
        each.scope.clone_from(&item.scope);
        if !out.contains(&each) {
            out.push(each);
        }
    }
}

/// The declarations of the classes around a method.
#[derive(Default)]
struct Around {
    /// Their fields and template parameters.
    names: Vec<SmolStr>,
    parameters: Vec<Owned>,
}

/// A template parameter and its owner.
#[derive(Clone, Debug)]
struct Owned {
    name: SmolStr,
    owner: SmolStr,
    number: u32,
}

fn owned(names: &[SmolStr], owner: &SmolStr) -> impl Iterator<Item = Owned> {
    (0..).zip(names).map(|(number, name)| Owned {
        name: name.clone(),
        owner: owner.clone(),
        number,
    })
}

fn methods(declared: &Struct, around: &mut Around, out: &mut Vec<Instantiation>, depth: u32) {
    if depth > 8 {
        return;
    }
    let before = (around.names.len(), around.parameters.len());
    template_names(declared.template.as_ref(), &mut around.names);
    let last = declared.name.as_ref().and_then(|name| name.segments.last());
    if let Some(last) = last.filter(|last| last.template_arguments.is_none()) {
        let own = &around.names[before.0..];
        around.parameters.extend(owned(own, &last.ident.name));
    }
    for member in &declared.members {
        if let Member::Fields(fields) = member {
            around
                .names
                .extend(fields.declarators.iter().filter_map(|d| match &d.name {
                    DeclaratorName::Plain(ident) => Some(ident.name.clone()),
                    _ => None,
                }));
        }
    }
    for member in &declared.members {
        match member {
            Member::Method(function) => function_launches(function, around, out),
            Member::Struct(inner) => methods(inner, around, out, depth + 1),
            _ => {}
        }
    }
    around.names.truncate(before.0);
    around.parameters.truncate(before.1);
}

/// Returns the parameters that belong to the class in `template <class A, class B> void S<A, B>::f()`.
fn of_class_outside(function: &Function) -> Vec<Owned> {
    let FunctionName::Plain(name) = &function.name else {
        return Vec::new();
    };
    let [.., class, _] = name.segments.as_slice() else {
        return Vec::new();
    };
    let arguments = class.template_arguments.as_deref().unwrap_or(&[]);
    let arguments = (0..).zip(arguments);
    let found = arguments.filter_map(|(number, argument)| {
        let name = match argument {
            TemplateArgument::Type(ty) | TemplateArgument::Ambiguous(ty, _) => match &ty.kind {
                TypeKind::Named(name) => name,
                _ => return None,
            },
            TemplateArgument::Value(Expr {
                kind: ExprKind::Name(name),
                ..
            }) => name,
            _ => return None,
        };
        match name.segments.as_slice() {
            [only] => Some(Owned {
                name: only.ident.name.clone(),
                owner: class.ident.name.clone(),
                number,
            }),
            _ => None,
        }
    });
    found.collect()
}

fn template_names(template: Option<&TemplateParameters>, out: &mut Vec<SmolStr>) {
    let parameters = template.iter().flat_map(|template| &template.parameters);
    out.extend(parameters.filter_map(|p| p.name.as_ref().map(|name| name.name.clone())));
}

fn function_launches(function: &Function, around: &Around, out: &mut Vec<Instantiation>) {
    let FunctionBody::Block(body) = &function.body else {
        return;
    };
    let mut any = false;
    visit::block(body, &mut |e| {
        any |= matches!(e.kind, ExprKind::Launch { .. }) || runtime_launch(e).is_some()
    });
    if !any {
        return;
    }
    let host = Host::of(function, body, around);
    visit::block(body, &mut |e| {
        if let ExprKind::Launch {
            callee,
            configuration,
            arguments,
        } = &e.kind
        {
            let ExprKind::Name(name) = &unwrapped(callee).kind else {
                return;
            };
            let block = host.launched_by(e, configuration.get(1));
            let found = host.instantiation(name, Some(block), arguments);
            out.extend(found.map(|it| Instantiation {
                whole: host.whole(configuration.get(1), arguments),
                ..it
            }));
        } else if let Some((name, block)) = runtime_launch(e) {
            let block = host.launched_by(e, block);
            out.extend(host.instantiation(name, Some(block), &[]));
        }
    });
}

/// The kernel that a call of the runtime's launch functions names, and its block where that is an operand of its own.
fn runtime_launch(e: &Expr) -> Option<(&Name, Option<&Expr>)> {
    let ExprKind::Call { callee, arguments } = &e.kind else {
        return None;
    };
    let ExprKind::Name(name) = &callee.kind else {
        return None;
    };
    let called = &name.segments.last()?.ident.name;
    if !called.starts_with("cudaLaunch") && !called.starts_with("hipLaunch") {
        return None;
    }
    let block = match called.as_str() {
        "cudaLaunchKernel"
        | "hipLaunchKernel"
        | "cudaLaunchCooperativeKernel"
        | "hipLaunchCooperativeKernel" => arguments.get(2),
        _ => None,
    };
    let mut first = arguments.iter().take(2);
    let name = first.find_map(|argument| match &unwrapped(argument).kind {
        ExprKind::Name(name) => Some(name),
        _ => None,
    })?;
    Some((name, block))
}

/// Returns an expression without parentheses, casts and `&`.
fn unwrapped(mut e: &Expr) -> &Expr {
    for _ in 0..MAX_DEPTH {
        e = match &e.kind {
            ExprKind::Paren(inner)
            | ExprKind::Cast { operand: inner, .. }
            | ExprKind::Unary {
                op: UnaryOp::AddressOf,
                operand: inner,
            } => inner,
            _ => return e,
        };
    }
    e
}
