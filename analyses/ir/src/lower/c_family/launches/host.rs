//! The meaning of names in the function around a launch.

use super::changes::{Kind, changes, handed_on, kind_of, mentions};
use super::scoped::{MemberSet, Scoped, axis, is_dim3, is_product, line, members_set, one, scoped};
use super::{
    Around, BlockText, HandedOn, Instantiation, MAX_DEPTH, Owned, UNKNOWN, of_class_outside, owned,
    template_names, unwrapped,
};
use crate::lower::c_family::visit::{self, Node};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::*;

/// The meaning of a name in the function around the launch.
#[derive(Clone, Debug)]
pub(super) enum Local {
    /// An integer, with its value when nothing changes it.
    Number(Option<Expr>),
    /// A `dim3`.
    Block(BlockText),
    Other,
}

/// The names that a function declares, wherever in it.
#[derive(Default, Debug)]
pub(super) struct Host {
    locals: FxHashMap<SmolStr, Local>,
    /// The initialisers of locals that nothing changes.
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
    pub(super) fn of(function: &Function, body: &Block, around: &Around) -> Host {
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
        host.parameters.extend(owned(
            &own,
            &crate::lower::c_family::env::function_last_name(&function.name),
        ));
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
                if !set.iter().any(|it| it.at == e.span) {
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
                && set.iter().any(|it| it.name == name)
            {
                filled.push((name.clone(), std::mem::replace(text, UNKNOWN)));
            }
            host.locals.insert(name, local);
        }
        for (name, mut text) in filled {
            if let BlockText::Sizes(sizes) = &mut text {
                for (axis, size) in sizes.iter_mut().enumerate() {
                    let mut own = set.iter().filter(|it| it.name == name && it.axis == axis);
                    if let Some(found) = own.next() {
                        let value = host.substituted(&found.value, 0);
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

    /// `int all = rows * width; k<<<blocks, width>>>(all)`: the parameters that are given a multiple of the
    /// block's width, whatever its value.
    pub(super) fn whole(&self, block: Option<&Expr>, passed: &[Expr]) -> Vec<u32> {
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

    /// Takes a product apart, and names that are initialised with one; `false`: a factor is no name or
    /// number. `now`: as it stands in the launch, where a name has one value in spite of earlier changes.
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

    pub(super) fn declared(&self, ty: &Type, initializer: &Initializer, kept: bool) -> Local {
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

    pub(super) fn instantiation(
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
                    [(1, found), (0, _)] | [(0 | 1, _), (1, found)] => Some(found),
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

    /// The shape that an expression gives to a block. The block of a launch: for a variable, the statements
    /// of its scope about it.
    pub(super) fn launched_by(&self, launch: &Expr, block: Option<&Expr>) -> BlockText {
        let mut scoped = self.scoped.iter().rev();
        match (scoped.find(|it| it.launch == launch.span), block) {
            (Some(found), _) => found.shape(self),
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
    pub(super) fn substituted(&self, e: &Expr, depth: u32) -> Option<Expr> {
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
