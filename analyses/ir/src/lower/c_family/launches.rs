//! Kernel launches and explicit instantiations as a function's tree shows them: which kernel, with which template
//! arguments, in blocks of which shape, given which numbers. What a local variable holds is put in its place when nothing can have changed it.
//!
//! ```text
//! const int rows = 8;  dim3 block(32, rows);  k<float, 4><<<grid, block>>>(p);     k <float, 4>, block (32, 8, 1)
//! ```
//! A part that depends on anything else that is local (a parameter, a variable that is written twice or handed to a call) is
//! unknown. Nothing is evaluated here, and nothing has a position: an edit that leaves the launches of a body as they were
//! leaves the result equal to itself. Launches through function pointers, and of kernels that are passed as arguments, are
//! not seen, but for those through `cudaLaunchKernel` and its relatives; where these take a configuration their shape is
//! unknown.

use super::visit::{self, Node};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::*;

const MAX_DEPTH: u32 = 32;

/// A launch or an explicit instantiation.
#[derive(Clone, PartialEq, Debug)]
pub struct Instantiation {
    pub name: SmolStr,
    /// Namespaces around it.
    pub scope: Vec<SmolStr>,
    /// As written; `None`: depends on what is not known here.
    pub arguments: Vec<Option<TemplateArgument>>,
    /// Which of those are template parameters of the function around the launch, whose instantiations tell them.
    pub handed_on: Vec<HandedOn>,
    /// `None`: not a launch.
    pub block: Option<BlockText>,
    /// What the kernel is given, by parameter, where it is a number of the program; what is not listed is not known.
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
    /// By axis; `None`: not known.
    Sizes([Option<Expr>; 3]),
    /// A name that is not local: a number or a `dim3`.
    Named(Name),
}

const UNKNOWN: BlockText = BlockText::Sizes([None, None, None]);

/// What a name stands for in the function around the launch.
#[derive(Clone, Debug)]
enum Local {
    /// An integer, with its value when nothing changes it.
    Number(Option<Expr>),
    /// A `dim3`.
    Block(BlockText),
    Other,
}

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
    for mut one in found {
        one.scope.clone_from(&item.scope);
        if !out.contains(&one) {
            out.push(one);
        }
    }
}

/// What the classes around a method declare.
#[derive(Default)]
struct Around {
    /// Their fields and template parameters.
    names: Vec<SmolStr>,
    parameters: Vec<Owned>,
}

/// A template parameter and what has it.
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

/// Of `template <class A, class B> void S<A, B>::f()`: the parameters that are the class's.
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
            out.extend(found.map(|one| Instantiation {
                whole: host.whole(configuration.get(1), arguments),
                ..one
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

/// Without parentheses, casts and `&`.
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

/// The names that a function declares, wherever in it.
#[derive(Default, Debug)]
struct Host {
    locals: FxHashMap<SmolStr, Local>,
    /// What locals are initialised with that nothing changes.
    initial: FxHashMap<SmolStr, Vec<Expr>>,
    /// Names of which nothing more is known, as they may change.
    changed: Vec<SmolStr>,
    /// Launches by a `dim3` of a scope around them, inner scopes behind outer ones.
    scoped: Vec<Scoped>,
    /// A method that is defined outside of its class: a plain name may be one of its fields.
    of_class: bool,
    /// Template parameters in sight, the nearest last.
    parameters: Vec<Owned>,
}

impl Host {
    fn of(function: &Function, body: &Block, around: &Around) -> Host {
        let mut host = Host {
            locals: FxHashMap::default(),
            initial: FxHashMap::default(),
            changed: Vec::new(),
            scoped: Vec::new(),
            of_class: match &function.name {
                FunctionName::Plain(name)
                | FunctionName::Constructor(name)
                | FunctionName::Destructor(name) => name.segments.len() > 1,
                _ => true,
            },
            parameters: Vec::new(),
        };
        let mut own = Vec::new();
        template_names(function.template.as_ref(), &mut own);
        host.parameters = around.parameters.clone();
        host.parameters
            .extend(owned(&own, &super::env::function_last_name(&function.name)));
        host.parameters.extend(of_class_outside(function));
        let mut other: Vec<SmolStr> = around.names.clone();
        other.extend(own);
        let named = |parameters: &[Parameter], other: &mut Vec<SmolStr>| {
            other.extend(
                parameters
                    .iter()
                    .filter_map(|p| p.name.as_ref().map(|n| n.name.clone())),
            );
        };
        // A parameter that is an integer makes a block of one dimension.
        for parameter in &function.parameters {
            if let Some(name) = &parameter.name {
                let local = match kind_of(&parameter.ty) {
                    Kind::Number => Local::Number(None),
                    _ => Local::Other,
                };
                host.locals.insert(name.name.clone(), local);
            }
        }
        let mut changed: Vec<SmolStr> = Vec::new();
        let mut declarations: Vec<(SmolStr, Type, bool, Initializer)> = Vec::new();
        let mut set: Vec<MemberSet> = Vec::new();
        visit::nodes(body, &mut |node| match node {
            Node::Loop(_) => {}
            Node::Block(block) => {
                members_set(block, &mut set);
                scoped(block, &mut host.scoped);
            }
            Node::Declaration(declared) => {
                let constant = declared.specifiers.words.has(SpecifierSet::CONST)
                    || declared.specifiers.words.has(SpecifierSet::CONSTEXPR);
                for declarator in &declared.declarators {
                    match &declarator.name {
                        DeclaratorName::Plain(ident) => {
                            let constant = constant || declarator.ty.is_const;
                            declarations.push((
                                ident.name.clone(),
                                declarator.ty.clone(),
                                constant,
                                declarator.initializer.clone(),
                            ));
                        }
                        DeclaratorName::Binding(names) => {
                            other.extend(names.iter().map(|n| n.name.clone()));
                        }
                        _ => {}
                    }
                    handed_on(declarator, &mut changed);
                }
            }
            Node::Expr(e) => {
                if !set.iter().any(|one| one.at == e.span) {
                    changes(e, &mut changed);
                }
                if let ExprKind::Lambda(lambda) = &e.kind {
                    named(&lambda.parameters, &mut other);
                    other.extend(lambda.captures.iter().map(|c| c.name.name.clone()).filter(
                        |name| {
                            // A plain capture names the variable around the lambda.
                            lambda
                                .captures
                                .iter()
                                .any(|c| c.name.name == *name && c.initializer.is_some())
                        },
                    ));
                }
            }
        });
        for name in other {
            host.locals.insert(name, Local::Other);
        }
        let mut filled: Vec<(SmolStr, BlockText)> = Vec::new();
        for (name, ty, constant, initializer) in declarations {
            let kept = constant || !changed.contains(&name);
            let list = match &initializer {
                Initializer::None => &[][..],
                Initializer::Copy(e) => std::slice::from_ref(e),
                Initializer::Paren(list) | Initializer::Brace(list) => list,
            };
            if kept && !host.locals.contains_key(&name) {
                host.initial.insert(name.clone(), list.to_vec());
            } else {
                host.changed.push(name.clone());
            }
            let mut local = if host.locals.contains_key(&name) {
                Local::Other
            } else {
                host.declared(&ty, &initializer, kept)
            };
            // Until its members are set it is nothing that may be copied.
            if let Local::Block(text) = &mut local
                && kept
                && set.iter().any(|one| one.name == name)
            {
                filled.push((name.clone(), std::mem::replace(text, UNKNOWN)));
            }
            host.locals.insert(name, local);
        }
        for (name, mut text) in filled {
            if let BlockText::Sizes(sizes) = &mut text {
                for (axis, size) in sizes.iter_mut().enumerate() {
                    let mut own = set
                        .iter()
                        .filter(|one| one.name == name && one.axis == axis);
                    if let Some(one) = own.next() {
                        let value = host.substituted(&one.value, 0);
                        *size = value.filter(|_| own.next().is_none());
                    }
                }
            }
            // Of a name that is declared twice nothing is known.
            if let Some(Local::Block(local)) = host.locals.get_mut(&name) {
                *local = text;
            }
        }
        for name in changed {
            if !host.initial.contains_key(&name) {
                host.changed.push(name);
            }
        }
        host.initial.retain(|name, _| !host.changed.contains(name));
        host
    }

    /// `int all = rows * width; k<<<blocks, width>>>(all)`: the parameters that are given a multiple of the block's width,
    /// whatever that is.
    fn whole(&self, block: Option<&Expr>, passed: &[Expr]) -> Vec<u32> {
        let Some(width) = block.and_then(|e| self.width(e)) else {
            return Vec::new();
        };
        let mut wanted = Vec::new();
        if !self.factors(width, true, &mut wanted, 0) || wanted.is_empty() {
            return Vec::new();
        }
        let is_multiple = |e: &Expr| {
            let mut found = Vec::new();
            self.factors(e, true, &mut found, 0);
            wanted.iter().all(|factor| {
                let at = found.iter().position(|other| other == factor);
                at.map(|at| found.swap_remove(at)).is_some()
            })
        };
        let numbered = (0u32..).zip(passed);
        let whole = numbered.filter(|(_, e)| is_multiple(e));
        whole.map(|(number, _)| number).collect()
    }

    /// The expression that gives the block's width.
    fn width<'a>(&'a self, block: &'a Expr) -> Option<&'a Expr> {
        let mut e = block;
        for _ in 0..MAX_DEPTH {
            e = match &e.kind {
                ExprKind::Paren(inner) => inner,
                ExprKind::Construct { ty, arguments, .. } if kind_of(ty) == Kind::Block => {
                    return arguments.first();
                }
                ExprKind::Call { callee, arguments } => match &callee.kind {
                    ExprKind::Name(name) if is_dim3(name) => return arguments.first(),
                    _ => return None,
                },
                ExprKind::Name(name) => match (self.local(name), name.segments.as_slice()) {
                    (Some(Local::Block(_)), [only]) => {
                        self.initial.get(&only.ident.name)?.first()?
                    }
                    _ => return Some(e),
                },
                _ => return Some(e),
            };
        }
        None
    }

    /// Takes a product apart, and names that are initialised with one; `false`: a factor is no name or number. `now`: as it
    /// stands in the launch, where a name has one value whatever changes it before.
    fn factors(&self, e: &Expr, now: bool, out: &mut Vec<SmolStr>, depth: u32) -> bool {
        if depth > MAX_DEPTH {
            return false;
        }
        match &e.kind {
            ExprKind::Paren(inner) | ExprKind::Cast { operand: inner, .. } => {
                self.factors(inner, now, out, depth + 1)
            }
            ExprKind::Binary {
                op: BinaryOp::Mul,
                left,
                right,
                ..
            } => {
                let left = self.factors(left, now, out, depth + 1);
                self.factors(right, now, out, depth + 1) && left
            }
            ExprKind::Int(literal) => {
                out.push(smol_str::format_smolstr!("{}", literal.value));
                true
            }
            ExprKind::Name(name) => {
                let [only] = name.segments.as_slice() else {
                    return false;
                };
                let name = &only.ident.name;
                if self.changed.contains(name) && !now {
                    return false;
                }
                match self.initial.get(name).map(Vec::as_slice) {
                    Some([value]) if is_product(value) => {
                        self.factors(value, false, out, depth + 1)
                    }
                    _ => {
                        out.push(name.clone());
                        true
                    }
                }
            }
            _ => false,
        }
    }

    fn declared(&self, ty: &Type, initializer: &Initializer, kept: bool) -> Local {
        let single = match initializer {
            Initializer::Copy(e) => Some(e),
            Initializer::Paren(list) | Initializer::Brace(list) => match list.as_slice() {
                [only] => Some(only),
                _ => None,
            },
            Initializer::None => None,
        };
        match kind_of(ty) {
            Kind::Number => {
                Local::Number(single.filter(|_| kept).and_then(|e| self.substituted(e, 0)))
            }
            Kind::Block if kept => Local::Block(match initializer {
                Initializer::None => BlockText::Sizes([one(), one(), one()].map(Some)),
                Initializer::Copy(e) => self.block(e, 0),
                Initializer::Paren(list) | Initializer::Brace(list) => match list.as_slice() {
                    [only] => self.block(only, 0),
                    list => self.sizes(list),
                },
            }),
            Kind::Block => Local::Block(UNKNOWN),
            Kind::Auto if kept => match single.map(|e| self.block(e, 0)) {
                // A name that is not local may be of any type.
                Some(sizes @ BlockText::Sizes(_)) => match single.map(|e| &unwrapped(e).kind) {
                    Some(ExprKind::Int(_) | ExprKind::Binary { .. }) => match sizes {
                        BlockText::Sizes([first, _, _]) => Local::Number(first),
                        BlockText::Named(_) => Local::Other,
                    },
                    _ => Local::Block(sizes),
                },
                _ => Local::Other,
            },
            _ => Local::Other,
        }
    }

    fn instantiation(
        &self,
        name: &Name,
        block: Option<BlockText>,
        passed: &[Expr],
    ) -> Option<Instantiation> {
        let last = name.segments.last()?;
        // A kernel in a variable is some kernel.
        if name.segments.len() == 1 && self.locals.contains_key(&last.ident.name) {
            return None;
        }
        let arguments = last.template_arguments.as_deref().unwrap_or(&[]);
        Some(Instantiation {
            name: last.ident.name.clone(),
            scope: Vec::new(),
            arguments: arguments.iter().map(|a| self.argument(a)).collect(),
            handed_on: (0..)
                .zip(arguments)
                .filter_map(|(number, argument)| self.handed_on(number, argument))
                .collect(),
            block,
            passes: passed
                .iter()
                .map(|e| self.substituted(e, 0).or_else(|| self.unit(e, 0).cloned()))
                .collect(),
            whole: Vec::new(),
        })
    }

    /// Nought or one, whichever a condition chooses: a stride that is one at most. The one.
    fn unit<'a>(&'a self, e: &'a Expr, depth: u32) -> Option<&'a Expr> {
        if depth > MAX_DEPTH {
            return None;
        }
        match &unwrapped(e).kind {
            ExprKind::Conditional {
                then, otherwise, ..
            } => {
                let number = |side: &'a Expr| match &unwrapped(side).kind {
                    ExprKind::Int(literal) => Some((literal.value, side)),
                    _ => None,
                };
                match [number(then)?, number(otherwise)?] {
                    [(1, one), (0, _)] | [(0 | 1, _), (1, one)] => Some(one),
                    _ => None,
                }
            }
            ExprKind::Name(name) => match (self.local(name), name.segments.as_slice()) {
                (Some(Local::Number(_)), [only]) => {
                    match self.initial.get(&only.ident.name)?.as_slice() {
                        [initial] => self.unit(initial, depth + 1),
                        _ => None,
                    }
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn handed_on(&self, number: u32, argument: &TemplateArgument) -> Option<HandedOn> {
        let name = match argument {
            TemplateArgument::Type(ty) | TemplateArgument::Ambiguous(ty, _) => match &ty.kind {
                TypeKind::Named(name) => name,
                _ => return None,
            },
            TemplateArgument::Value(e) => match &unwrapped(e).kind {
                ExprKind::Name(name) => name,
                _ => return None,
            },
            TemplateArgument::Pack(_) => return None,
        };
        let [only] = name.segments.as_slice() else {
            return None;
        };
        let mut parameters = self.parameters.iter().rev();
        let parameter = parameters.find(|parameter| parameter.name == only.ident.name)?;
        Some(HandedOn {
            argument: number,
            owner: parameter.owner.clone(),
            parameter: parameter.number,
        })
    }

    fn argument(&self, argument: &TemplateArgument) -> Option<TemplateArgument> {
        let local = |ty: &Type| mentions(ty, &|name| self.locals.contains_key(name), 0);
        match argument {
            TemplateArgument::Value(e) => Some(TemplateArgument::Value(self.substituted(e, 0)?)),
            TemplateArgument::Ambiguous(ty, e) if local(ty) => {
                Some(TemplateArgument::Value(self.substituted(e, 0)?))
            }
            TemplateArgument::Type(ty) if local(ty) => None,
            other => {
                let mut kept = other.clone();
                visit::forget_positions(&mut kept).then_some(kept)
            }
        }
    }

    /// The shape that an expression gives to a block.
    /// The block of a launch: of a variable what its scope says of it.
    fn launched_by(&self, launch: &Expr, block: Option<&Expr>) -> BlockText {
        let mut scoped = self.scoped.iter().rev();
        match (scoped.find(|one| one.launch == launch.span), block) {
            (Some(one), _) => one.shape(self),
            (None, Some(block)) => self.block(block, 0),
            (None, None) => UNKNOWN,
        }
    }

    fn block(&self, e: &Expr, depth: u32) -> BlockText {
        if depth > MAX_DEPTH {
            return UNKNOWN;
        }
        match &e.kind {
            ExprKind::Paren(inner) => self.block(inner, depth + 1),
            ExprKind::Name(name) => match self.local(name) {
                Some(Local::Number(value)) => line(value.clone()),
                Some(Local::Block(text)) => text.clone(),
                Some(Local::Other) => UNKNOWN,
                None if self.of_class && name.segments.len() == 1 => UNKNOWN,
                None => {
                    let mut name = name.clone();
                    if visit::forget_name(&mut name) {
                        BlockText::Named(name)
                    } else {
                        UNKNOWN
                    }
                }
            },
            ExprKind::Int(_) => line(self.substituted(e, depth)),
            ExprKind::Binary { left, right, .. } => {
                // Only numbers have arithmetic.
                let number = |side: &Expr| match &unwrapped(side).kind {
                    ExprKind::Name(name) => {
                        matches!(self.local(name), None | Some(Local::Number(_)))
                    }
                    ExprKind::Int(_) | ExprKind::Binary { .. } => true,
                    _ => false,
                };
                if number(left) || number(right) {
                    line(self.substituted(e, depth))
                } else {
                    UNKNOWN
                }
            }
            ExprKind::Cast { ty, operand, .. } => match kind_of(ty) {
                Kind::Number => line(self.substituted(operand, depth)),
                Kind::Block => self.block(operand, depth + 1),
                _ => UNKNOWN,
            },
            ExprKind::Construct { ty, arguments, .. } if kind_of(ty) == Kind::Block => {
                self.sizes(arguments)
            }
            ExprKind::Call { callee, arguments } => match &callee.kind {
                ExprKind::Name(name) if is_dim3(name) && self.local(name).is_none() => {
                    self.sizes(arguments)
                }
                _ => UNKNOWN,
            },
            ExprKind::List(items) if items.iter().all(|(name, _)| name.is_none()) => {
                let list: Vec<Expr> = items.iter().map(|(_, e)| e.clone()).collect();
                self.sizes(&list)
            }
            ExprKind::Member {
                base,
                member,
                arrow: false,
            } => match (&base.kind, axis(member)) {
                (ExprKind::Name(name), Some(_))
                    if matches!(self.local(name), Some(Local::Block(_))) =>
                {
                    line(self.substituted(e, depth))
                }
                _ => UNKNOWN,
            },
            _ => UNKNOWN,
        }
    }

    /// `dim3(x, y, z)`.
    fn sizes(&self, list: &[Expr]) -> BlockText {
        if list.len() > 3 {
            return UNKNOWN;
        }
        BlockText::Sizes([0, 1, 2].map(|at| match list.get(at) {
            Some(e) => self.substituted(e, 0),
            None => Some(one()),
        }))
    }

    fn local(&self, name: &Name) -> Option<&Local> {
        match name.segments.as_slice() {
            [only] => self.locals.get(&only.ident.name),
            _ => None,
        }
    }

    /// An integer expression without local names and positions.
    fn substituted(&self, e: &Expr, depth: u32) -> Option<Expr> {
        if depth > MAX_DEPTH {
            return None;
        }
        let boxed = |e: &Expr| self.substituted(e, depth + 1).map(Box::new);
        let kind = match &e.kind {
            ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::Char(_) => e.kind.clone(),
            ExprKind::Paren(inner) => ExprKind::Paren(boxed(inner)?),
            ExprKind::Unary {
                op: op @ (UnaryOp::Plus | UnaryOp::Minus | UnaryOp::Not | UnaryOp::BitNot),
                operand,
            } => ExprKind::Unary {
                op: *op,
                operand: boxed(operand)?,
            },
            ExprKind::Binary {
                op, left, right, ..
            } => ExprKind::Binary {
                op: *op,
                left: boxed(left)?,
                right: boxed(right)?,
                op_span: Span::default(),
            },
            ExprKind::Cast { ty, operand, .. } if kind_of(ty) == Kind::Number => {
                return self.substituted(operand, depth + 1);
            }
            ExprKind::Name(name) => match self.local(name) {
                Some(Local::Number(value)) => ExprKind::Paren(Box::new(value.clone()?)),
                Some(_) => return None,
                None if self.of_class && name.segments.len() == 1 => return None,
                None => {
                    let mut name = name.clone();
                    if !visit::forget_name(&mut name) {
                        return None;
                    }
                    ExprKind::Name(name)
                }
            },
            ExprKind::Member {
                base,
                member,
                arrow: false,
            } => {
                let ExprKind::Name(name) = &base.kind else {
                    return None;
                };
                let Some(Local::Block(BlockText::Sizes(sizes))) = self.local(name) else {
                    return None;
                };
                ExprKind::Paren(Box::new(sizes[axis(member)?].clone()?))
            }
            _ => return None,
        };
        Some(Expr {
            kind,
            span: Span::default(),
        })
    }
}

/// A launch by a `dim3` that is declared in a block of statements, and what its declaration and the statements in front of the
/// launch say of it: `if (n) { dim3 b; b.x = 32; k<<<g, b>>>(); } else { dim3 b(64); .. }`.
#[derive(Clone, Debug)]
struct Scoped {
    launch: Span,
    name: SmolStr,
    ty: Type,
    initializer: Initializer,
    set: [Option<Expr>; 3],
}

impl Scoped {
    fn shape(&self, host: &Host) -> BlockText {
        let Local::Block(BlockText::Sizes(mut sizes)) =
            host.declared(&self.ty, &self.initializer, true)
        else {
            return UNKNOWN;
        };
        for (size, set) in sizes.iter_mut().zip(&self.set) {
            if let Some(set) = set {
                *size = host.substituted(set, 0);
            }
        }
        BlockText::Sizes(sizes)
    }
}

fn scoped(block: &Block, out: &mut Vec<Scoped>) {
    let mut open: Vec<Scoped> = Vec::new();
    for statement in &block.statements {
        if let StmtKind::Expr(e) = &statement.kind
            && let Some((name, axis, value)) = member_set(e)
            && let Some(one) = open.iter_mut().find(|one| one.name == *name)
        {
            one.set[axis] = Some(value.clone());
            continue;
        }
        // What the statement changes it may change in front of a launch in it.
        let mut changed = Vec::new();
        let mut launches = Vec::new();
        let alone = Block {
            statements: vec![statement.clone()],
            span: block.span,
        };
        visit::nodes(&alone, &mut |node| match node {
            Node::Expr(e) => {
                changes(e, &mut changed);
                let block = match &e.kind {
                    ExprKind::Launch { configuration, .. } => configuration.get(1),
                    _ => runtime_launch(e).and_then(|(_, block)| block),
                };
                if let Some(ExprKind::Name(name)) = block.map(|e| &unwrapped(e).kind)
                    && let [only] = name.segments.as_slice()
                {
                    launches.push((e.span, only.ident.name.clone()));
                }
            }
            Node::Declaration(declared) => {
                for declarator in &declared.declarators {
                    handed_on(declarator, &mut changed);
                }
            }
            _ => {}
        });
        open.retain(|one| !changed.contains(&one.name));
        for (launch, name) in launches {
            if let Some(one) = open.iter().find(|one| one.name == name) {
                out.push(Scoped {
                    launch,
                    ..one.clone()
                });
            }
        }
        if let StmtKind::Declaration(declared) = &statement.kind {
            for declarator in &declared.declarators {
                if let DeclaratorName::Plain(ident) = &declarator.name {
                    open.retain(|one| one.name != ident.name);
                    // A copy is of what the other one was at that time.
                    let copies = match &declarator.initializer {
                        Initializer::None => false,
                        Initializer::Copy(e) => is_name(e),
                        Initializer::Paren(list) | Initializer::Brace(list) => {
                            matches!(list.as_slice(), [only] if is_name(only))
                        }
                    };
                    if kind_of(&declarator.ty) == Kind::Block && !copies {
                        open.push(Scoped {
                            launch: Span::default(),
                            name: ident.name.clone(),
                            ty: declarator.ty.clone(),
                            initializer: declarator.initializer.clone(),
                            set: [None, None, None],
                        });
                    }
                }
            }
        }
    }
}

fn is_name(e: &Expr) -> bool {
    matches!(unwrapped(e).kind, ExprKind::Name(_))
}

/// `name.x = value`
fn member_set(e: &Expr) -> Option<(&SmolStr, usize, &Expr)> {
    let ExprKind::Assign {
        op: None,
        left,
        right,
        ..
    } = &e.kind
    else {
        return None;
    };
    let ExprKind::Member {
        base,
        member,
        arrow: false,
    } = &left.kind
    else {
        return None;
    };
    // Another block's member may have another value by the time of the launch.
    let mut fixed = matches!(base.kind, ExprKind::Name(_));
    visit::expr(right, &mut |e| {
        fixed &= !matches!(e.kind, ExprKind::Member { .. })
    });
    let name = root(base).filter(|_| fixed)?;
    Some((name, axis(member)?, right))
}

/// Another name, a number or a product.
fn is_product(e: &Expr) -> bool {
    matches!(
        unwrapped(e).kind,
        ExprKind::Name(_)
            | ExprKind::Int(_)
            | ExprKind::Binary {
                op: BinaryOp::Mul,
                ..
            }
    )
}

/// `block.x = 32;` behind `dim3 block;` in the same block of statements, in front of any launch.
struct MemberSet {
    name: SmolStr,
    axis: usize,
    value: Expr,
    at: Span,
}

fn members_set(block: &Block, out: &mut Vec<MemberSet>) {
    let mut open: Vec<&SmolStr> = Vec::new();
    for statement in &block.statements {
        match &statement.kind {
            StmtKind::Declaration(declared) => {
                let blocks = declared.declarators.iter();
                let blocks = blocks.filter(|d| kind_of(&d.ty) == Kind::Block);
                open.extend(blocks.filter_map(|d| match &d.name {
                    DeclaratorName::Plain(ident) => Some(&ident.name),
                    _ => None,
                }));
            }
            StmtKind::Expr(e) => {
                if let Some((name, axis, value)) = member_set(e)
                    && open.contains(&name)
                {
                    out.push(MemberSet {
                        name: name.clone(),
                        axis,
                        value: value.clone(),
                        at: e.span,
                    });
                }
                visit::expr(e, &mut |inner| {
                    if matches!(inner.kind, ExprKind::Launch { .. })
                        || runtime_launch(inner).is_some()
                    {
                        open.clear();
                    }
                });
            }
            // What a branch or a loop does may be in front of a launch or behind it.
            _ => open.clear(),
        }
    }
}

/// A block of one dimension.
fn line(size: Option<Expr>) -> BlockText {
    BlockText::Sizes([size, Some(one()), Some(one())])
}

fn one() -> Expr {
    let literal = IntLiteral {
        value: 1,
        unsigned: false,
        longs: 0,
        based: false,
    };
    Expr {
        kind: ExprKind::Int(literal),
        span: Span::default(),
    }
}

fn axis(member: &Name) -> Option<usize> {
    match member.segments.as_slice() {
        [only] => ["x", "y", "z"]
            .iter()
            .position(|axis| only.ident.name == *axis),
        _ => None,
    }
}

fn is_dim3(name: &Name) -> bool {
    matches!(name.segments.as_slice(), [only] if only.ident.name == "dim3")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Block,
    Auto,
    Other,
}

fn kind_of(ty: &Type) -> Kind {
    match &ty.kind {
        TypeKind::Builtin(words) => match words.as_str() {
            "int" | "unsigned int" | "long" | "unsigned long" | "long long"
            | "unsigned long long" => Kind::Number,
            _ => Kind::Other,
        },
        TypeKind::Named(name) if is_dim3(name) => Kind::Block,
        TypeKind::Named(name) => match name.segments.last().map(|s| s.ident.name.as_str()) {
            Some(
                "size_t" | "uint" | "uint32_t" | "int32_t" | "int64_t" | "uint64_t" | "ssize_t"
                | "ptrdiff_t",
            ) => Kind::Number,
            _ => Kind::Other,
        },
        TypeKind::Auto => Kind::Auto,
        _ => Kind::Other,
    }
}

fn mentions(ty: &Type, local: &dyn Fn(&str) -> bool, depth: u32) -> bool {
    if depth > MAX_DEPTH {
        return true;
    }
    match &ty.kind {
        TypeKind::Builtin(_) => false,
        TypeKind::Named(name) => name.segments.iter().any(|segment| {
            local(&segment.ident.name)
                || segment
                    .template_arguments
                    .iter()
                    .flatten()
                    .any(|argument| match argument {
                        TemplateArgument::Type(ty) | TemplateArgument::Ambiguous(ty, _) => {
                            mentions(ty, local, depth + 1)
                        }
                        TemplateArgument::Value(e) => !matches!(e.kind, ExprKind::Int(_)),
                        TemplateArgument::Pack(_) => true,
                    })
        }),
        TypeKind::Pointer(inner) | TypeKind::Reference { target: inner, .. } => {
            mentions(inner, local, depth + 1)
        }
        _ => true,
    }
}

/// The variable that an expression is, or is a part of.
fn root(e: &Expr) -> Option<&SmolStr> {
    let mut e = e;
    for _ in 0..MAX_DEPTH {
        e = match &e.kind {
            ExprKind::Name(name) => {
                return match name.segments.as_slice() {
                    [only] => Some(&only.ident.name),
                    _ => None,
                };
            }
            ExprKind::Paren(inner)
            | ExprKind::Member { base: inner, .. }
            | ExprKind::Index { base: inner, .. }
            | ExprKind::Unary { operand: inner, .. }
            | ExprKind::Cast { operand: inner, .. } => inner,
            _ => return None,
        };
    }
    None
}

/// Names that an expression may change.
fn changes(e: &Expr, out: &mut Vec<SmolStr>) {
    match &e.kind {
        ExprKind::Assign { left, .. } => {
            // Every variable on the left may be meant: `(c ? a : b) = 1`.
            visit::expr(left, &mut |inner| out.extend(root(inner).cloned()));
        }
        ExprKind::Unary {
            op:
                UnaryOp::AddressOf
                | UnaryOp::PreIncrement
                | UnaryOp::PreDecrement
                | UnaryOp::PostIncrement
                | UnaryOp::PostDecrement,
            operand,
        } => out.extend(root(operand).cloned()),
        // `std::cin >> n`
        ExprKind::Binary {
            op: BinaryOp::Shr,
            right,
            ..
        } => out.extend(root(right).cloned()),
        ExprKind::Call { callee, arguments } => {
            let harmless = match &callee.kind {
                ExprKind::Name(name) => {
                    is_dim3(name)
                        || name.segments.last().is_some_and(|s| {
                            let name = s.ident.name.as_str();
                            name.ends_with("printf") || matches!(name, "min" | "max" | "ceil")
                        })
                }
                _ => false,
            };
            if !harmless {
                out.extend(arguments.iter().filter_map(root).cloned());
            }
            // A method may change its object.
            if let ExprKind::Member { base, .. } = &callee.kind {
                out.extend(root(base).cloned());
            }
        }
        ExprKind::Construct { ty, arguments, .. }
            if !matches!(kind_of(ty), Kind::Number | Kind::Block)
                && !matches!(ty.kind, TypeKind::Builtin(_)) =>
        {
            out.extend(arguments.iter().filter_map(root).cloned());
        }
        ExprKind::Lambda(lambda) => {
            out.extend(
                lambda
                    .captures
                    .iter()
                    .filter_map(|c| c.initializer.as_ref())
                    .filter_map(root)
                    .cloned(),
            );
        }
        _ => {}
    }
}

/// Names that a declaration hands to a constructor or makes a reference to.
fn handed_on(declarator: &Declarator, out: &mut Vec<SmolStr>) {
    let value = matches!(
        kind_of(&declarator.ty),
        Kind::Number | Kind::Block | Kind::Auto
    ) || matches!(declarator.ty.kind, TypeKind::Builtin(_));
    if value {
        return;
    }
    match &declarator.initializer {
        Initializer::None => {}
        Initializer::Copy(e) => out.extend(root(e).cloned()),
        Initializer::Paren(list) | Initializer::Brace(list) => {
            out.extend(list.iter().filter_map(root).cloned());
        }
    }
}
