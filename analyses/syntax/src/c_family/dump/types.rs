//! Types, specifiers and parameters.

use super::{declaration, expr, exprs, name};
use crate::c_family::ast::{
    Attribute, Direction, Parameter, SpecifierSet as S, Specifiers, TemplateArgument,
    TemplateParameterKind, TemplateParameters, Type, TypeKind,
};
use std::fmt::Write;

const WORDS: &[(u64, &str)] = &[
    (S::CUDA_GLOBAL, "__global__"),
    (S::CUDA_DEVICE, "__device__"),
    (S::CUDA_HOST, "__host__"),
    (S::SHARED, "shared"),
    (S::CONSTANT, "__constant__"),
    (S::MANAGED, "__managed__"),
    (S::RESTRICT, "restrict"),
    (S::FORCE_INLINE, "__forceinline__"),
    (S::NO_INLINE, "noinline"),
    (S::INLINE, "inline"),
    (S::STATIC, "static"),
    (S::EXTERN, "extern"),
    (S::CONSTEXPR, "constexpr"),
    (S::VOLATILE, "volatile"),
    (S::TYPEDEF, "typedef"),
    (S::FRIEND, "friend"),
    (S::VIRTUAL, "virtual"),
    (S::EXPLICIT, "explicit"),
    (S::MUTABLE, "mutable"),
    (S::THREAD_LOCAL, "thread_local"),
    (S::REGISTER, "register"),
    (S::GRID_CONSTANT, "__grid_constant__"),
    (S::UNIFORM, "uniform"),
    (S::NOINTERPOLATION, "nointerpolation"),
    (S::LINEAR, "linear"),
    (S::CENTROID, "centroid"),
    (S::NOPERSPECTIVE, "noperspective"),
    (S::SAMPLE, "sample"),
    (S::PRECISE, "precise"),
    (S::ROW_MAJOR, "row_major"),
    (S::COLUMN_MAJOR, "column_major"),
    (S::GLOBALLY_COHERENT, "globallycoherent"),
    (S::UNORM, "unorm"),
    (S::SNORM, "snorm"),
    (S::EXPORT, "export"),
    (S::GEOMETRY_INPUT, "geometry-input"),
    (S::MESH_PARAMETER, "mesh-parameter"),
];

/// `const` stands at the type and is not repeated.
pub(super) fn specifiers(inner: &Specifiers, out: &mut String) {
    for (bit, word) in WORDS {
        if inner.words.has(*bit) {
            let _ = write!(out, "{word} ");
        }
    }
    for attribute in &inner.attributes {
        one_attribute(attribute, out);
        out.push(' ');
    }
}

pub(super) fn attributes(inner: &[Attribute], out: &mut String) {
    for attribute in inner {
        out.push(' ');
        one_attribute(attribute, out);
    }
}

fn one_attribute(inner: &Attribute, out: &mut String) {
    let _ = write!(out, "@{}", inner.name);
    if !inner.arguments.is_empty() {
        out.push('(');
        for (index, argument) in inner.arguments.iter().enumerate() {
            if index > 0 {
                out.push(' ');
            }
            expr(argument, out);
        }
        out.push(')');
    }
}

pub(super) fn template(inner: Option<&TemplateParameters>, out: &mut String) {
    let Some(inner) = inner else { return };
    out.push_str("template<");
    for (index, parameter) in inner.parameters.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        let pack = if parameter.pack { "..." } else { "" };
        let own = parameter.name.as_ref().map_or("_", |own| &own.name);
        match &parameter.kind {
            TemplateParameterKind::Type { default } => {
                let _ = write!(out, "type{pack} {own}");
                if let Some(default) = default {
                    out.push('=');
                    ty(default, out);
                }
            }
            TemplateParameterKind::Value { ty: inner, default } => {
                ty(inner, out);
                let _ = write!(out, "{pack} {own}");
                if let Some(default) = default {
                    out.push('=');
                    expr(default, out);
                }
            }
            TemplateParameterKind::Template { default } => {
                let _ = write!(out, "template{pack} {own}");
                if let Some(default) = default {
                    out.push('=');
                    ty(default, out);
                }
            }
        }
    }
    out.push_str("> ");
}

pub(super) fn template_argument(inner: &TemplateArgument, out: &mut String) {
    match inner {
        TemplateArgument::Type(inner) => ty(inner, out),
        TemplateArgument::Value(inner) => {
            out.push('=');
            expr(inner, out);
        }
        TemplateArgument::Ambiguous(inner, _) => {
            out.push('?');
            ty(inner, out);
        }
        TemplateArgument::Pack(inner) => {
            template_argument(inner, out);
            out.push_str("...");
        }
    }
}

pub(super) fn parameters(inner: &[Parameter], variadic: bool, out: &mut String) {
    out.push('(');
    for (index, parameter) in inner.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        out.push_str(match parameter.direction {
            Direction::In => "",
            Direction::Out => "out ",
            Direction::InOut => "inout ",
        });
        specifiers(&parameter.specifiers, out);
        ty(&parameter.ty, out);
        if parameter.pack {
            out.push_str("...");
        }
        if let Some(own) = &parameter.name {
            let _ = write!(out, " {}", own.name);
        }
        if let Some(semantic) = &parameter.semantic {
            let _ = write!(out, " :{}", semantic.name);
        }
        if let Some(default) = &parameter.default {
            out.push_str(" = ");
            expr(default, out);
        }
    }
    if variadic {
        out.push_str(", ...");
    }
    out.push(')');
}

pub(super) fn ty(inner: &Type, out: &mut String) {
    if inner.is_const {
        out.push_str("const ");
    }
    if inner.is_volatile {
        out.push_str("volatile ");
    }
    if inner.is_restrict {
        out.push_str("restrict ");
    }
    match &inner.kind {
        TypeKind::Builtin(word) => out.push_str(&word.replace(' ', "-")),
        TypeKind::Named(inner) => name(inner, out),
        TypeKind::Auto => out.push_str("auto"),
        TypeKind::Decltype(value) => {
            out.push_str("(decltype ");
            expr(value, out);
            out.push(')');
        }
        TypeKind::Pointer(target) => {
            out.push_str("(* ");
            ty(target, out);
            out.push(')');
        }
        TypeKind::Reference { target, rvalue } => {
            out.push_str(if *rvalue { "(&& " } else { "(& " });
            ty(target, out);
            out.push(')');
        }
        TypeKind::Array { element, size } => {
            out.push_str("(array ");
            ty(element, out);
            if let Some(size) = size {
                exprs(std::slice::from_ref(size), out);
            }
            out.push(')');
        }
        TypeKind::FunctionPointer(function) => {
            out.push_str("(fn ");
            ty(&function.return_type, out);
            for parameter in &function.parameters {
                out.push(' ');
                ty(parameter, out);
            }
            out.push(')');
        }
        TypeKind::MemberPointer => out.push_str("(member-pointer)"),
        TypeKind::InlineStruct(inner) => super::structure(inner, out),
        TypeKind::InlineEnum(inner) => super::enumeration(inner, out),
        TypeKind::Unknown => out.push_str("(unknown)"),
    }
}

pub(super) fn local(inner: &crate::c_family::ast::Declaration, out: &mut String) {
    declaration(inner, out);
}
