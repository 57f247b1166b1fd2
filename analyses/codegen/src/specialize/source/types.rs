//! Types of expressions, as far as folding needs them: numbers, vectors and matrices of them. Everything else
//! keeps its tree, or is unknown; unknown expressions are never folded.

use super::Source;
use super::names::Names;
use ir::Language;
use ir::lower::c_family::env::EntryKind;
use smol_str::SmolStr;
use syntax::c_family::ast::*;

/// In the order of conversion: the later one wins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(super) enum Base {
    Bool,
    Int,
    Uint,
    Long,
    Half,
    Float,
    Double,
}

impl Base {
    pub(super) const fn is_float(self) -> bool {
        matches!(self, Base::Half | Base::Float | Base::Double)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    Scalar,
    Vector(u8),
    Matrix(u8, u8),
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Ty {
    Number(Base, Shape),
    /// A pointer, an array, a resource, a structure.
    Other(Box<Type>),
    Unknown,
}

impl Ty {
    pub(super) fn number(&self) -> Option<(Base, Shape)> {
        match self {
            Ty::Number(base, shape) => Some((*base, *shape)),
            _ => None,
        }
    }
    pub(super) fn scalar(base: Base) -> Ty {
        Ty::Number(base, Shape::Scalar)
    }
    pub(super) fn is_scalar(&self) -> bool {
        matches!(self, Ty::Number(_, Shape::Scalar))
    }
    /// Lanes of a scalar or a vector.
    pub(super) fn lanes(&self) -> Option<usize> {
        match self {
            Ty::Number(_, Shape::Scalar) => Some(1),
            Ty::Number(_, Shape::Vector(n)) => Some(usize::from(*n)),
            _ => None,
        }
    }
}

/// `float3`, `uint`, `half4x4`, `min16float2`, CUDA's `uchar4` and `__half`.
pub(super) fn numeric_name(name: &str, language: Language) -> Option<(Base, Shape)> {
    const HLSL: &[(&str, Base)] = &[
        ("float16_t", Base::Half),
        ("float32_t", Base::Float),
        ("float64_t", Base::Double),
        ("int16_t", Base::Int),
        ("uint16_t", Base::Uint),
        ("int32_t", Base::Int),
        ("uint32_t", Base::Uint),
        ("int64_t", Base::Long),
        ("uint64_t", Base::Long),
        ("min16float", Base::Half),
        ("min10float", Base::Half),
        ("min16uint", Base::Uint),
        ("min16int", Base::Int),
        ("float", Base::Float),
        ("half", Base::Half),
        ("double", Base::Double),
        ("bool", Base::Bool),
        ("uint", Base::Uint),
        ("dword", Base::Uint),
        ("int", Base::Int),
    ];
    const CUDA: &[(&str, Base)] = &[
        ("float", Base::Float),
        ("double", Base::Double),
        ("int", Base::Int),
        ("uint", Base::Uint),
        ("int32_t", Base::Int),
        ("uint32_t", Base::Uint),
        ("int64_t", Base::Long),
        ("uint64_t", Base::Long),
        ("size_t", Base::Long),
    ];
    let table = match language {
        Language::Hlsl => HLSL,
        _ => CUDA,
    };
    for (word, base) in table {
        let Some(rest) = name.strip_prefix(word) else {
            continue;
        };
        let digit = |byte: u8| (b'1'..=b'4').contains(&byte).then(|| byte - b'0');
        let shape = match *rest.as_bytes() {
            [] => Shape::Scalar,
            [n] => match digit(n) {
                Some(n) => Shape::Vector(n),
                None => continue,
            },
            [r, b'x', c] if language == Language::Hlsl => match (digit(r), digit(c)) {
                (Some(r), Some(c)) => Shape::Matrix(r, c),
                _ => continue,
            },
            _ => continue,
        };
        return Some((*base, shape));
    }
    None
}

fn builtin(word: &str, language: Language) -> Option<Base> {
    Some(match word {
        "bool" => Base::Bool,
        "float" => Base::Float,
        "double" => Base::Double,
        "half" if language == Language::Hlsl => Base::Half,
        "char" | "signed char" | "unsigned char" | "short" | "unsigned short" | "int" => Base::Int,
        "unsigned int" => Base::Uint,
        "long" | "unsigned long" | "long long" | "unsigned long long" => Base::Long,
        _ => return None,
    })
}

impl Source<'_> {
    /// Returns the type that a text denotes.
    pub(super) fn type_of(&self, ty: &Type) -> Ty {
        let mut ty = ty.clone();
        for _ in 0..8 {
            match &ty.kind {
                TypeKind::Builtin(word) => {
                    return builtin(word, self.language)
                        .map_or(Ty::Unknown, |base| Ty::Number(base, Shape::Scalar));
                }
                TypeKind::Reference { target, .. } => ty = (**target).clone(),
                TypeKind::Named(name) => {
                    let Some(last) = name.segments.last() else {
                        return Ty::Unknown;
                    };
                    if last.template_arguments.is_none()
                        && let Some((base, shape)) = numeric_name(&last.ident.name, self.language)
                    {
                        return Ty::Number(base, shape);
                    }
                    match self.alias(name) {
                        Some(meant) => ty = meant,
                        None => return Ty::Other(Box::new(ty)),
                    }
                }
                TypeKind::Pointer(_) | TypeKind::Array { .. } => return Ty::Other(Box::new(ty)),
                _ => return Ty::Unknown,
            }
        }
        Ty::Unknown
    }

    /// Returns whether an integer type has no sign; `None`: it is none, or not known.
    pub(super) fn is_unsigned(&self, ty: &Type) -> Option<bool> {
        let mut ty = ty.clone();
        for _ in 0..8 {
            match &ty.kind {
                TypeKind::Builtin(word) => {
                    let base = builtin(word, self.language)?;
                    return (!base.is_float()).then(|| word.starts_with("unsigned"));
                }
                TypeKind::Named(name) => {
                    let word = &name.segments.last()?.ident.name;
                    if let Some((base, Shape::Scalar)) = numeric_name(word, self.language) {
                        let unsigned =
                            word.starts_with('u') || matches!(word.as_str(), "size_t" | "dword");
                        return (!base.is_float()).then_some(unsigned);
                    }
                    ty = self.alias(name)?;
                }
                _ => return None,
            }
        }
        None
    }

    fn path(name: &Name) -> Vec<SmolStr> {
        name.segments.iter().map(|s| s.ident.name.clone()).collect()
    }

    fn alias(&self, name: &Name) -> Option<Type> {
        let found = self.environment.lookup(&self.item.scope, &Self::path(name));
        let entry = found.iter().find(|entry| entry.what == EntryKind::Alias)?;
        match &self.environment.item(*entry).kind {
            ItemKind::Alias(alias) if alias.template.is_none() => Some(alias.ty.clone()),
            _ => None,
        }
    }

    /// A name that is no variable of the function: a global, a constant of a buffer.
    pub(super) fn global_type(&self, name: &Name) -> Ty {
        let found = self.environment.lookup(&self.item.scope, &Self::path(name));
        for entry in &found {
            let item = self.environment.item(*entry);
            let declarator = match (&item.kind, entry.what) {
                (ItemKind::Variables(declaration), EntryKind::Variable(n)) => {
                    declaration.declarators.get(n as usize)
                }
                (ItemKind::CBuffer(buffer), EntryKind::BufferMember(d, n)) => buffer
                    .members
                    .get(d as usize)
                    .and_then(|declaration| declaration.declarators.get(n as usize)),
                _ => None,
            };
            if let Some(declarator) = declarator {
                return self.type_of(&declarator.ty);
            }
        }
        Ty::Unknown
    }

    pub(super) fn structure(&self, ty: &Type) -> Option<Struct> {
        let TypeKind::Named(name) = &ty.kind else {
            return None;
        };
        let found = self.environment.lookup(&self.item.scope, &Self::path(name));
        found.iter().find_map(
            |entry| match (&self.environment.item(*entry).kind, entry.what) {
                (ItemKind::Struct(declared), EntryKind::Struct) if declared.has_body => {
                    Some(declared.clone())
                }
                _ => None,
            },
        )
    }

    fn field(&self, ty: &Type, member: &str) -> Ty {
        let Some(declared) = self.structure(ty) else {
            return Ty::Unknown;
        };
        for each in &declared.members {
            if let Member::Fields(declaration) = each {
                for declarator in &declaration.declarators {
                    if let DeclaratorName::Plain(ident) = &declarator.name
                        && ident.name == member
                    {
                        return self.type_of(&declarator.ty);
                    }
                }
            }
        }
        Ty::Unknown
    }

    /// `None`: the member is no swizzle of such a value.
    pub(super) fn swizzle(ty: &Ty, member: &str) -> Option<Vec<usize>> {
        let lanes = ty.lanes()?;
        if member.len() > 4 {
            return None;
        }
        let places: Option<Vec<usize>> = member
            .bytes()
            .map(|byte| match byte {
                b'x' | b'r' => Some(0),
                b'y' | b'g' => Some(1),
                b'z' | b'b' => Some(2),
                b'w' | b'a' => Some(3),
                _ => None,
            })
            .collect();
        places.filter(|places| places.iter().all(|&place| place < lanes))
    }

    pub(super) fn type_of_expr(&self, names: &Names, e: &Expr, depth: u32) -> Ty {
        if depth > 64 {
            return Ty::Unknown;
        }
        let of = |e: &Expr| self.type_of_expr(names, e, depth + 1);
        match &e.kind {
            ExprKind::Int(literal) => Ty::scalar(match (literal.unsigned, literal.longs) {
                (_, 1..) => Base::Long,
                _ if literal.value > u64::from(u32::MAX) => Base::Long,
                (true, _) => Base::Uint,
                // `0x80000000` is unsigned, in C and C++ `2147483648` is longer.
                _ if literal.value > i32::MAX as u64 => match literal.based {
                    false if self.language != Language::Hlsl => Base::Long,
                    _ => Base::Uint,
                },
                _ => Base::Int,
            }),
            ExprKind::Float(literal) => Ty::scalar(match literal.suffix {
                Some('f') => Base::Float,
                Some('h') => Base::Half,
                None if self.language == Language::Hlsl => Base::Float,
                _ => Base::Double,
            }),
            ExprKind::Bool(_) => Ty::scalar(Base::Bool),
            ExprKind::Paren(inner) => of(inner),
            ExprKind::Name(name) => match names.meant(name) {
                Some(id) => self.type_of(&names.variable(id).ty),
                None => self.global_type(name),
            },
            ExprKind::Unary { op, operand } => match op {
                UnaryOp::Not => match of(operand) {
                    Ty::Number(_, shape) => Ty::Number(Base::Bool, shape),
                    _ => Ty::Unknown,
                },
                UnaryOp::Plus | UnaryOp::Minus | UnaryOp::BitNot => match of(operand) {
                    Ty::Number(base, shape) => self.operated(base.max(Base::Int), shape),
                    _ => Ty::Unknown,
                },
                UnaryOp::Dereference => match of(operand) {
                    Ty::Other(ty) => match &ty.kind {
                        TypeKind::Pointer(to) => self.type_of(to),
                        TypeKind::Array { element, .. } => self.type_of(element),
                        _ => Ty::Unknown,
                    },
                    _ => Ty::Unknown,
                },
                UnaryOp::AddressOf => Ty::Unknown,
                _ => of(operand),
            },
            ExprKind::Binary {
                op, left, right, ..
            } => {
                let (Ty::Number(a, s), Ty::Number(b, t)) = (of(left), of(right)) else {
                    return Ty::Unknown;
                };
                use BinaryOp as B;
                let Some(shape) = joined(s, t) else {
                    return Ty::Unknown;
                };
                match op {
                    B::Less
                    | B::LessEqual
                    | B::Greater
                    | B::GreaterEqual
                    | B::Equal
                    | B::NotEqual
                    | B::LogicalAnd
                    | B::LogicalOr => self.operated(Base::Bool, shape),
                    B::Shl | B::Shr => self.operated(a.max(Base::Int), shape),
                    B::Spaceship | B::MemberPointer => Ty::Unknown,
                    _ => self.operated(a.max(b).max(Base::Int), shape),
                }
            }
            ExprKind::Assign { left, .. } => of(left),
            ExprKind::Conditional {
                then, otherwise, ..
            } => match (of(then), of(otherwise)) {
                (Ty::Number(a, s), Ty::Number(b, t)) if a == b => {
                    joined(s, t).map_or(Ty::Unknown, |shape| Ty::Number(a, shape))
                }
                (Ty::Number(a, s), Ty::Number(b, t)) => joined(s, t).map_or(Ty::Unknown, |shape| {
                    Ty::Number(a.max(b).max(Base::Int), shape)
                }),
                (a, b) if a == b => a,
                _ => Ty::Unknown,
            },
            ExprKind::Cast { ty, .. } | ExprKind::Construct { ty, .. } => self.type_of(ty),
            ExprKind::Member {
                base,
                member,
                arrow,
            } => {
                let Some(last) = member.segments.last() else {
                    return Ty::Unknown;
                };
                let mut base = of(base);
                if *arrow {
                    base = match &base {
                        Ty::Other(ty) => match &ty.kind {
                            TypeKind::Pointer(to) => self.type_of(to),
                            _ => Ty::Unknown,
                        },
                        _ => Ty::Unknown,
                    };
                }
                if let Some(places) = Self::swizzle(&base, &last.ident.name)
                    && let Some((number, _)) = base.number()
                {
                    return match places.len() {
                        1 => Ty::scalar(number),
                        n => Ty::Number(number, Shape::Vector(n as u8)),
                    };
                }
                match base {
                    Ty::Other(ty) => self.field(&ty, &last.ident.name),
                    _ => Ty::Unknown,
                }
            }
            ExprKind::Index { base, .. } => match of(base) {
                Ty::Number(number, Shape::Vector(_)) => Ty::scalar(number),
                Ty::Number(number, Shape::Matrix(_, columns)) => {
                    Ty::Number(number, Shape::Vector(columns))
                }
                Ty::Other(ty) => match &ty.kind {
                    TypeKind::Pointer(to) => self.type_of(to),
                    TypeKind::Array { element, .. } => self.type_of(element),
                    TypeKind::Named(name) => self.element_of_resource(name),
                    _ => Ty::Unknown,
                },
                _ => Ty::Unknown,
            },
            ExprKind::Call { callee, arguments } => {
                self.type_of_call(names, callee, arguments, depth)
            }
            _ => Ty::Unknown,
        }
    }

    /// CUDA's vector types have no operators of their own.
    fn operated(&self, base: Base, shape: Shape) -> Ty {
        if shape != Shape::Scalar && self.language != Language::Hlsl {
            return Ty::Unknown;
        }
        Ty::Number(base, shape)
    }

    pub(super) fn element_of_resource(&self, name: &Name) -> Ty {
        let Some(last) = name.segments.last() else {
            return Ty::Unknown;
        };
        let known = [
            "Texture",
            "RWTexture",
            "Buffer",
            "RWBuffer",
            "StructuredBuffer",
            "RWStructuredBuffer",
            "ConstantBuffer",
        ];
        if !known
            .iter()
            .any(|prefix| last.ident.name.starts_with(prefix))
        {
            return Ty::Unknown;
        }
        match last.template_arguments.as_deref() {
            None => Ty::Number(Base::Float, Shape::Vector(4)),
            Some([TemplateArgument::Type(ty), ..] | [TemplateArgument::Ambiguous(ty, _), ..]) => {
                self.type_of(ty)
            }
            Some(_) => Ty::Unknown,
        }
    }

    fn type_of_call(&self, names: &Names, callee: &Expr, arguments: &[Expr], depth: u32) -> Ty {
        let of = |e: &Expr| self.type_of_expr(names, e, depth + 1);
        match &callee.kind {
            ExprKind::Name(name) => {
                let Some(last) = name.segments.last() else {
                    return Ty::Unknown;
                };
                let word = last.ident.name.as_str();
                if let Some((base, shape)) = numeric_name(word, self.language) {
                    return Ty::Number(base, shape);
                }
                if self.language == Language::Cuda
                    && let Some(vector) = word.strip_prefix("make_")
                    && let Some((base, shape)) = numeric_name(vector, self.language)
                {
                    return Ty::Number(base, shape);
                }
                // What C declares has one type.
                let functions = match self.language {
                    Language::C => self.functions(name),
                    _ => self.unit_functions(name),
                };
                if !functions.is_empty() {
                    let mut found = functions.iter().map(|item| match &item.kind {
                        ItemKind::Function(function) if function.template.is_none() => {
                            self.type_of(&function.return_type)
                        }
                        _ => Ty::Unknown,
                    });
                    let first = found.next().unwrap_or(Ty::Unknown);
                    return if found.all(|other| other == first) {
                        first
                    } else {
                        Ty::Unknown
                    };
                }
                let types: Vec<Ty> = arguments.iter().map(of).collect();
                super::intrinsics::result(word, &types, self.language)
            }
            ExprKind::Member { base, member, .. } => {
                let Some(last) = member.segments.last() else {
                    return Ty::Unknown;
                };
                let Ty::Other(ty) = of(base) else {
                    return Ty::Unknown;
                };
                let TypeKind::Named(name) = &ty.kind else {
                    return Ty::Unknown;
                };
                let texture = name
                    .segments
                    .last()
                    .is_some_and(|last| last.ident.name.contains("Texture"));
                match last.ident.name.as_str() {
                    "Sample" | "SampleLevel" | "SampleGrad" | "SampleBias" if texture => {
                        self.element_of_resource(name)
                    }
                    "SampleCmp" | "SampleCmpLevelZero" if texture => Ty::scalar(Base::Float),
                    "Load" if texture => self.element_of_resource(name),
                    "Load" => match name.segments.last().map(|l| l.ident.name.as_str()) {
                        Some("ByteAddressBuffer" | "RWByteAddressBuffer") => Ty::scalar(Base::Uint),
                        _ => self.element_of_resource(name),
                    },
                    _ => Ty::Unknown,
                }
            }
            _ => Ty::Unknown,
        }
    }
}

/// The shape of an operation on two: scalars are spread.
pub(super) fn joined(left: Shape, right: Shape) -> Option<Shape> {
    match (left, right) {
        (a, b) if a == b => Some(a),
        (Shape::Scalar | Shape::Vector(1), b) => Some(b),
        (a, Shape::Scalar | Shape::Vector(1)) => Some(a),
        _ => None,
    }
}
