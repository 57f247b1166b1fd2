//! Trees as S-expressions, compact enough to compare in a test and to read in a terminal. Spans are left out.

mod statement;
mod types;

use super::ast::{
    Alias, BinaryOp, CBuffer, CastStyle, Declaration, Declarator, DeclaratorName, Enum, Expr,
    ExprKind, Function, FunctionBody, FunctionName, Initializer, ItemKind, Lambda, Member, Name,
    ParsedItem, Struct, UnaryOp,
};
use std::fmt::Write;

/// One item on one line.
pub fn item(item: &ParsedItem) -> String {
    let mut out = String::new();
    item_kind(&item.kind, &mut out);
    out
}

/// One expression on one line.
pub fn expression(value: &Expr) -> String {
    let mut out = String::new();
    expr(value, &mut out);
    out
}

fn item_kind(kind: &ItemKind, out: &mut String) {
    match kind {
        ItemKind::Function(inner) => function(inner, out),
        ItemKind::Struct(inner) => structure(inner, out),
        ItemKind::Enum(inner) => enumeration(inner, out),
        ItemKind::Alias(inner) => alias(inner, out),
        ItemKind::Variables(inner) => {
            out.push_str("(variables ");
            declaration(inner, out);
            out.push(')');
        }
        ItemKind::CBuffer(inner) => constant_buffer(inner, out),
        ItemKind::UsingNamespace(path) => {
            let _ = write!(out, "(using-namespace {})", path.join("::"));
        }
        ItemKind::UsingName(inner) => {
            out.push_str("(using ");
            name(inner, out);
            out.push(')');
        }
        ItemKind::NamespaceAlias { name, target } => {
            let _ = write!(out, "(namespace-alias {} {})", name.name, target.join("::"));
        }
        ItemKind::ExplicitInstantiation {
            name: inner,
            function,
        } => {
            let _ = write!(
                out,
                "(instantiate-{} ",
                if *function { "function" } else { "struct" }
            );
            name(inner, out);
            out.push(')');
        }
        ItemKind::StaticAssert => out.push_str("(static-assert)"),
        ItemKind::Nothing => out.push_str("(nothing)"),
        ItemKind::Unknown { .. } => out.push_str("(unknown)"),
    }
}

fn constant_buffer(inner: &CBuffer, out: &mut String) {
    let _ = write!(
        out,
        "({} {}",
        if inner.texture { "tbuffer" } else { "cbuffer" },
        inner.name.name
    );
    types::attributes(&inner.attributes, out);
    for member in &inner.members {
        out.push(' ');
        declaration(member, out);
    }
    out.push(')');
}

fn function(inner: &Function, out: &mut String) {
    out.push_str("(function ");
    types::template(inner.template.as_ref(), out);
    types::specifiers(&inner.specifiers, out);
    types::ty(&inner.return_type, out);
    out.push(' ');
    function_name(&inner.name, out);
    types::parameters(&inner.parameters, inner.variadic, out);
    if inner.is_const {
        out.push_str(" const");
    }
    if let Some(semantic) = &inner.semantic {
        let _ = write!(out, " :{}", semantic.name);
    }
    for initializer in &inner.initializers {
        out.push_str(" (init ");
        name(&initializer.name, out);
        exprs(&initializer.arguments, out);
        out.push(')');
    }
    match &inner.body {
        FunctionBody::None => {}
        FunctionBody::Defaulted => out.push_str(" default"),
        FunctionBody::Deleted => out.push_str(" delete"),
        FunctionBody::Block(body) => {
            out.push(' ');
            statement::block(body, out);
        }
    }
    out.push(')');
}

fn function_name(inner: &FunctionName, out: &mut String) {
    let qualified = |qualifier: &Option<Name>, out: &mut String| {
        if let Some(qualifier) = qualifier {
            name(qualifier, out);
            out.push_str("::");
        }
    };
    match inner {
        FunctionName::Plain(inner) => name(inner, out),
        FunctionName::Operator {
            qualifier, symbol, ..
        } => {
            qualified(qualifier, out);
            let _ = write!(out, "operator{symbol}");
        }
        FunctionName::Conversion { qualifier, .. } => {
            qualified(qualifier, out);
            out.push_str("conversion");
        }
        FunctionName::Constructor(inner) => {
            out.push_str("constructor:");
            name(inner, out);
        }
        FunctionName::Destructor(inner) => {
            out.push_str("destructor:");
            name(inner, out);
        }
    }
}

fn structure(inner: &Struct, out: &mut String) {
    let _ = write!(out, "({} ", format!("{:?}", inner.kind).to_lowercase());
    types::template(inner.template.as_ref(), out);
    match &inner.name {
        Some(own) => name(own, out),
        None => out.push('_'),
    }
    types::attributes(&inner.attributes, out);
    for base in &inner.bases {
        out.push_str(" :");
        types::ty(base, out);
    }
    for member in &inner.members {
        out.push(' ');
        match member {
            Member::Fields(inner) => declaration(inner, out),
            Member::Method(inner) => function(inner, out),
            Member::Struct(inner) => structure(inner, out),
            Member::Enum(inner) => enumeration(inner, out),
            Member::Alias(inner) => alias(inner, out),
            Member::UsingName(inner) => {
                out.push_str("(using ");
                name(inner, out);
                out.push(')');
            }
            Member::Unknown { .. } => out.push_str("(unknown)"),
        }
    }
    out.push(')');
}

fn enumeration(inner: &Enum, out: &mut String) {
    let _ = write!(
        out,
        "(enum{} {}",
        if inner.scoped { "-class" } else { "" },
        inner.name.as_ref().map_or("_", |own| &own.name)
    );
    if let Some(underlying) = &inner.underlying {
        out.push_str(" :");
        types::ty(underlying, out);
    }
    for (own, value) in &inner.enumerators {
        let _ = write!(out, " {}", own.name);
        if let Some(value) = value {
            out.push('=');
            expr(value, out);
        }
    }
    out.push(')');
}

fn alias(inner: &Alias, out: &mut String) {
    out.push_str("(alias ");
    types::template(inner.template.as_ref(), out);
    let _ = write!(out, "{} ", inner.name.name);
    types::ty(&inner.ty, out);
    out.push(')');
}

pub(super) fn declaration(inner: &Declaration, out: &mut String) {
    out.push_str("(let ");
    types::template(inner.template.as_ref(), out);
    types::specifiers(&inner.specifiers, out);
    for (index, declarator) in inner.declarators.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        one_declarator(declarator, out);
    }
    out.push(')');
}

fn one_declarator(inner: &Declarator, out: &mut String) {
    match &inner.name {
        DeclaratorName::Plain(own) => out.push_str(&own.name),
        DeclaratorName::Qualified(own) => name(own, out),
        DeclaratorName::Binding(names) => {
            let names: Vec<&str> = names.iter().map(|own| own.name.as_str()).collect();
            let _ = write!(out, "[{}]", names.join(" "));
        }
        DeclaratorName::None => out.push('_'),
    }
    out.push(' ');
    types::ty(&inner.ty, out);
    if let Some(width) = &inner.bit_width {
        out.push_str(" bits:");
        expr(width, out);
    }
    if let Some(semantic) = &inner.semantic {
        let _ = write!(out, " :{}", semantic.name);
    }
    types::attributes(&inner.attributes, out);
    match &inner.initializer {
        Initializer::None => {}
        Initializer::Copy(value) => {
            out.push_str(" = ");
            expr(value, out);
        }
        Initializer::Paren(values) => {
            out.push_str(" (paren");
            exprs(values, out);
            out.push(')');
        }
        Initializer::Brace(values) => {
            out.push_str(" (brace");
            exprs(values, out);
            out.push(')');
        }
    }
}

pub(super) fn name(inner: &Name, out: &mut String) {
    if inner.global {
        out.push_str("::");
    }
    for (index, segment) in inner.segments.iter().enumerate() {
        if index > 0 {
            out.push_str("::");
        }
        out.push_str(&segment.ident.name);
        if let Some(arguments) = &segment.template_arguments {
            out.push('<');
            for (index, argument) in arguments.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                types::template_argument(argument, out);
            }
            out.push('>');
        }
    }
}

pub(super) fn exprs(values: &[Expr], out: &mut String) {
    for value in values {
        out.push(' ');
        expr(value, out);
    }
}

pub(super) fn expr(value: &Expr, out: &mut String) {
    let form = |head: &str, parts: &[&Expr], out: &mut String| {
        let _ = write!(out, "({head}");
        for part in parts {
            out.push(' ');
            expr(part, out);
        }
        out.push(')');
    };
    match &value.kind {
        ExprKind::Int(literal) => {
            let _ = write!(out, "{}", literal.value);
            if literal.unsigned {
                out.push('u');
            }
            out.push_str(&"l".repeat(literal.longs as usize));
        }
        ExprKind::Float(literal) => {
            let _ = write!(out, "{:?}", literal.value);
            out.extend(literal.suffix);
        }
        ExprKind::Bool(value) => {
            let _ = write!(out, "{value}");
        }
        ExprKind::Char(value) => {
            let _ = write!(out, "'{value}'");
        }
        ExprKind::String(value) => {
            let _ = write!(out, "{value:?}");
        }
        ExprKind::Nullptr => out.push_str("nullptr"),
        ExprKind::This => out.push_str("this"),
        ExprKind::Name(inner) => name(inner, out),
        ExprKind::Unary { op, operand } => form(unary_text(*op), &[operand], out),
        ExprKind::Binary {
            op, left, right, ..
        } => form(op.symbol(), &[left, right], out),
        ExprKind::Assign {
            op, left, right, ..
        } => form(
            &format!("{}=", op.map_or("", BinaryOp::symbol)),
            &[left, right],
            out,
        ),
        ExprKind::Conditional {
            condition,
            then,
            otherwise,
        } => form("?", &[condition, then, otherwise], out),
        ExprKind::Generic { control, cases } => {
            out.push_str("(generic ");
            expr(control, out);
            for (_, value) in cases {
                out.push(' ');
                expr(value, out);
            }
            out.push(')');
        }
        ExprKind::Call { callee, arguments } => {
            out.push_str("(call ");
            expr(callee, out);
            exprs(arguments, out);
            out.push(')');
        }
        ExprKind::Launch {
            callee,
            configuration,
            arguments,
        } => {
            out.push_str("(launch ");
            expr(callee, out);
            out.push_str(" <<<");
            exprs(configuration, out);
            out.push_str(" >>>");
            exprs(arguments, out);
            out.push(')');
        }
        ExprKind::Index { base, indices } => {
            out.push_str("(index ");
            expr(base, out);
            exprs(indices, out);
            out.push(')');
        }
        ExprKind::Member {
            base,
            member,
            arrow,
        } => {
            let _ = write!(out, "({} ", if *arrow { "->" } else { "." });
            expr(base, out);
            out.push(' ');
            name(member, out);
            out.push(')');
        }
        ExprKind::Cast { style, ty, operand } => {
            out.push_str(match style {
                CastStyle::C => "(cast ",
                CastStyle::Static => "(static_cast ",
                CastStyle::Reinterpret => "(reinterpret_cast ",
                CastStyle::Const => "(const_cast ",
                CastStyle::Dynamic => "(dynamic_cast ",
            });
            types::ty(ty, out);
            out.push(' ');
            expr(operand, out);
            out.push(')');
        }
        ExprKind::Construct {
            ty,
            arguments,
            brace,
        } => {
            out.push_str(if *brace {
                "(construct{} "
            } else {
                "(construct "
            });
            types::ty(ty, out);
            exprs(arguments, out);
            out.push(')');
        }
        ExprKind::List(entries) => {
            out.push_str("(list");
            for (designator, value) in entries {
                out.push(' ');
                if let Some(designator) = designator {
                    let _ = write!(out, ".{}=", designator.name);
                }
                expr(value, out);
            }
            out.push(')');
        }
        ExprKind::Designated { path, value } => {
            out.push_str("(designated");
            for designator in path {
                match designator {
                    crate::c_family::ast::Designator::Member(ident) => {
                        let _ = write!(out, " .{}", ident.name);
                    }
                    crate::c_family::ast::Designator::Element { first, last } => {
                        out.push_str(" [");
                        expr(first, out);
                        if let Some(last) = last {
                            out.push_str(" ... ");
                            expr(last, out);
                        }
                        out.push(']');
                    }
                }
            }
            out.push(' ');
            expr(value, out);
            out.push(')');
        }
        ExprKind::SizeofType(ty) | ExprKind::AlignofType(ty) => {
            out.push_str(if matches!(value.kind, ExprKind::SizeofType(_)) {
                "(sizeof-type "
            } else {
                "(alignof "
            });
            types::ty(ty, out);
            out.push(')');
        }
        ExprKind::SizeofExpr(operand) => form("sizeof", &[operand], out),
        ExprKind::SizeofPack(pack) => {
            let _ = write!(out, "(sizeof... {})", pack.name);
        }
        ExprKind::Lambda(inner) => lambda(inner, out),
        ExprKind::Comma(left, right) => form(",", &[left, right], out),
        ExprKind::Paren(inner) => form("paren", &[inner], out),
        ExprKind::PackExpansion(inner) => form("...", &[inner], out),
        ExprKind::Fold {
            op,
            pack,
            initial,
            left,
        } => {
            let head = format!(
                "fold-{} {}",
                if *left { "left" } else { "right" },
                op.symbol()
            );
            match initial {
                Some(initial) => form(&head, &[pack, initial], out),
                None => form(&head, &[pack], out),
            }
        }
        ExprKind::Statement(inner) => {
            out.push_str("(statement ");
            statement::block(inner, out);
            out.push(')');
        }
        ExprKind::New { ty } => {
            out.push_str("(new ");
            types::ty(ty, out);
            out.push(')');
        }
        ExprKind::Delete(operand) => form("delete", &[operand], out),
        ExprKind::Throw => out.push_str("(throw)"),
        ExprKind::Unknown => out.push_str("(unknown)"),
    }
}

fn lambda(inner: &Lambda, out: &mut String) {
    out.push_str("(lambda [");
    match inner.default_capture {
        Some(super::ast::CaptureMode::Value) => out.push('='),
        Some(super::ast::CaptureMode::Reference) => out.push('&'),
        None => {}
    }
    for capture in &inner.captures {
        let _ = write!(
            out,
            " {}{}",
            if capture.mode == super::ast::CaptureMode::Reference {
                "&"
            } else {
                ""
            },
            capture.name.name
        );
        if let Some(value) = &capture.initializer {
            out.push('=');
            expr(value, out);
        }
    }
    out.push_str("] ");
    types::template(inner.template.as_ref(), out);
    types::specifiers(&inner.specifiers, out);
    types::parameters(&inner.parameters, false, out);
    if let Some(ty) = &inner.return_type {
        out.push_str(" -> ");
        types::ty(ty, out);
    }
    if inner.mutable {
        out.push_str(" mutable");
    }
    out.push(' ');
    statement::block(&inner.body, out);
    out.push(')');
}

fn unary_text(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Plus => "+",
        UnaryOp::Minus => "-",
        UnaryOp::Not => "!",
        UnaryOp::BitNot => "~",
        UnaryOp::Dereference => "*",
        UnaryOp::AddressOf => "&",
        UnaryOp::PreIncrement => "++_",
        UnaryOp::PreDecrement => "--_",
        UnaryOp::PostIncrement => "_++",
        UnaryOp::PostDecrement => "_--",
    }
}
