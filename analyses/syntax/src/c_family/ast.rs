//! The tree of the C family: one grammar for CUDA C++, HLSL, C and (later) OpenCL and GLSL. Dialects differ in
//! tables (`dialect`), not in node types. Spans are relative to the item's start and cover exactly the node's text;
//! a node that came out of a macro carries the span of the macro's *use*.

use crate::Problem;
use crate::source::{FileId, ItemKey, Span};
use smol_str::SmolStr;

/// One top-level declaration, with the namespaces around it. Namespaces, `extern "C"` blocks and linkage
/// specifications are flattened away.
#[derive(Clone, PartialEq, Debug)]
pub struct ParsedItem {
    pub key: ItemKey,
    pub file: FileId,
    /// Enclosing namespaces, outermost first; an anonymous one is the empty string.
    pub scope: Vec<SmolStr>,
    pub kind: ItemKind,
    pub problems: Vec<Problem>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum ItemKind {
    Function(Function),
    Struct(Struct),
    Enum(Enum),
    Alias(Alias),
    /// Global variables, `__shared__`/`__constant__` arrays, HLSL resources, `groupshared` variables.
    Variables(Declaration),
    CBuffer(CBuffer),
    /// `using namespace a::b;`
    UsingNamespace(Vec<SmolStr>),
    /// `using a::b;`
    UsingName(Name),
    NamespaceAlias {
        name: Ident,
        target: Vec<SmolStr>,
    },
    /// `template __global__ void f<float>(...)`: names an instantiation that exists.
    ExplicitInstantiation {
        name: Name,
        function: bool,
    },
    StaticAssert,
    /// Empty declarations, forward declarations of types and other statements without effect on execution.
    Nothing,
    /// Could not be understood; `problems` says why.
    Unknown {
        span: Span,
    },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Ident {
    pub name: SmolStr,
    pub span: Span,
}

/// A possibly qualified, possibly templated name: `a::b<int, 4>::c`.
#[derive(Clone, PartialEq, Debug)]
pub struct Name {
    /// Starts with `::`.
    pub global: bool,
    pub segments: Vec<NameSegment>,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub struct NameSegment {
    pub ident: Ident,
    /// `None`: no `<...>` was written.
    pub template_arguments: Option<Vec<TemplateArgument>>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum TemplateArgument {
    Type(Type),
    Value(Expr),
    /// `name` could be a type or a value; the reader decides by looking it up.
    Ambiguous(Type, Box<Expr>),
    /// `Ts...`
    Pack(Box<TemplateArgument>),
}

#[derive(Clone, PartialEq, Debug)]
pub struct TemplateParameters {
    pub parameters: Vec<TemplateParameter>,
    /// C++20 requires-clauses are parsed and not interpreted.
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub struct TemplateParameter {
    pub name: Option<Ident>,
    pub kind: TemplateParameterKind,
    pub pack: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub enum TemplateParameterKind {
    Type {
        default: Option<Type>,
    },
    Value {
        ty: Type,
        default: Option<Expr>,
    },
    /// `template <class> class T = Default`
    Template {
        default: Option<Type>,
    },
}

// ------------------------------------------------------------------------------------------------ functions

#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    /// `None` for a plain function; an empty list is `template <>`, an explicit specialisation.
    pub template: Option<TemplateParameters>,
    pub specifiers: Specifiers,
    pub name: FunctionName,
    /// `void` for constructors and destructors.
    pub return_type: Type,
    pub parameters: Vec<Parameter>,
    /// `...` at the end.
    pub variadic: bool,
    /// HLSL semantic of the return value.
    pub semantic: Option<Ident>,
    pub is_const: bool,
    /// `: a(1), b{2}` of a constructor.
    pub initializers: Vec<MemberInitializer>,
    pub body: FunctionBody,
    /// The whole declaration without its body: the part on which other items may depend.
    pub signature_span: Span,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub enum FunctionBody {
    /// A declaration only.
    None,
    Block(Block),
    Defaulted,
    Deleted,
}

#[derive(Clone, PartialEq, Debug)]
pub enum FunctionName {
    Plain(Name),
    /// `operator+`, `operator()`, `operator[]`, `operator""_h`: `symbol` is the text behind the word
    /// `operator`; `qualifier` is the class of an out-of-class definition.
    Operator {
        qualifier: Option<Name>,
        symbol: SmolStr,
        span: Span,
    },
    Conversion {
        qualifier: Option<Name>,
        span: Span,
    },
    Constructor(Name),
    Destructor(Name),
}

#[derive(Clone, PartialEq, Debug)]
pub struct MemberInitializer {
    pub name: Name,
    pub arguments: Vec<Expr>,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    pub specifiers: Specifiers,
    pub ty: Type,
    pub name: Option<Ident>,
    pub default: Option<Expr>,
    pub direction: Direction,
    pub semantic: Option<Ident>,
    /// `Ts... xs`
    pub pack: bool,
    pub span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Direction {
    #[default]
    In,
    Out,
    InOut,
}

/// Everything that stands before a type: storage, execution space, attributes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Specifiers {
    pub words: SpecifierSet,
    pub attributes: Vec<Attribute>,
    pub span: Span,
}

/// A set of specifier words; each constant is one word or a synonym of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct SpecifierSet(pub u64);

impl SpecifierSet {
    pub const CUDA_GLOBAL: u64 = 1 << 0; // __global__
    pub const CUDA_DEVICE: u64 = 1 << 1; // __device__
    pub const CUDA_HOST: u64 = 1 << 2; // __host__
    pub const SHARED: u64 = 1 << 3; // __shared__, groupshared
    pub const CONSTANT: u64 = 1 << 4; // __constant__
    pub const MANAGED: u64 = 1 << 5; // __managed__
    pub const RESTRICT: u64 = 1 << 6;
    pub const FORCE_INLINE: u64 = 1 << 7; // __forceinline__
    pub const NO_INLINE: u64 = 1 << 8;
    pub const INLINE: u64 = 1 << 9;
    pub const STATIC: u64 = 1 << 10;
    pub const EXTERN: u64 = 1 << 11;
    pub const CONSTEXPR: u64 = 1 << 12; // constexpr, consteval, constinit
    pub const CONST: u64 = 1 << 13;
    pub const VOLATILE: u64 = 1 << 14;
    pub const TYPEDEF: u64 = 1 << 15;
    pub const FRIEND: u64 = 1 << 16;
    pub const VIRTUAL: u64 = 1 << 17;
    pub const EXPLICIT: u64 = 1 << 18;
    pub const MUTABLE: u64 = 1 << 19;
    pub const THREAD_LOCAL: u64 = 1 << 20;
    pub const REGISTER: u64 = 1 << 21;
    pub const GRID_CONSTANT: u64 = 1 << 22; // __grid_constant__
    // HLSL
    pub const UNIFORM: u64 = 1 << 32;
    pub const NOINTERPOLATION: u64 = 1 << 33;
    pub const LINEAR: u64 = 1 << 34;
    pub const CENTROID: u64 = 1 << 35;
    pub const NOPERSPECTIVE: u64 = 1 << 36;
    pub const SAMPLE: u64 = 1 << 37;
    pub const PRECISE: u64 = 1 << 38;
    pub const ROW_MAJOR: u64 = 1 << 39;
    pub const COLUMN_MAJOR: u64 = 1 << 40;
    pub const GLOBALLY_COHERENT: u64 = 1 << 41;
    pub const UNORM: u64 = 1 << 42;
    pub const SNORM: u64 = 1 << 43;
    pub const EXPORT: u64 = 1 << 44;
    /// `point line triangle lineadj triangleadj` of a geometry shader's input.
    pub const GEOMETRY_INPUT: u64 = 1 << 45;
    /// `vertices indices primitives payload` of a mesh shader's parameter.
    pub const MESH_PARAMETER: u64 = 1 << 46;

    pub fn has(self, word: u64) -> bool {
        self.0 & word != 0
    }
    pub fn insert(&mut self, word: u64) {
        self.0 |= word;
    }
}

/// `[numthreads(8, 8, 1)]`, `[[nodiscard]]`, `__attribute__((x))`, `__launch_bounds__(256, 2)`, `alignas(16)`,
/// `[shader("compute")]`, `[unroll(4)]`, `register(t0, space1)`, `packoffset(c0.y)`. The name has no underscores
/// around it (`launch_bounds`, `numthreads`, `unroll`, `align`, `register`).
#[derive(Clone, PartialEq, Debug)]
pub struct Attribute {
    pub name: SmolStr,
    pub arguments: Vec<Expr>,
    pub span: Span,
}

// ------------------------------------------------------------------------------------------------ types

#[derive(Clone, PartialEq, Debug)]
pub struct Type {
    pub kind: TypeKind,
    pub is_const: bool,
    pub is_volatile: bool,
    pub is_restrict: bool,
    pub span: Span,
}

/// A function's type, or that of a pointer to one.
#[derive(Clone, PartialEq, Debug)]
pub struct FunctionType {
    pub return_type: Type,
    pub parameters: Vec<Type>,
    pub variadic: bool,
    /// `int (*)(int)`; without it the function itself, `int (int)`.
    pub pointer: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub enum TypeKind {
    /// Builtin words in canonical order and spelling: `int`, `unsigned int`, `unsigned long long`, `signed char`,
    /// `float`, `double`, `long double`, `bool`, `void`, `wchar_t`, `half`, ... HLSL's `uint`, `float4`, `min16float3x3`
    /// are *names*, not words.
    Builtin(SmolStr),
    /// Any named type, including vector types, HLSL resources (`Texture2D<float4>`) and template parameters.
    Named(Name),
    Auto,
    /// `decltype(e)`, `typeof(e)`.
    Decltype(Box<Expr>),
    Pointer(Box<Type>),
    Reference {
        target: Box<Type>,
        rvalue: bool,
    },
    /// `T x[n]`; `None` for `T x[]`.
    Array {
        element: Box<Type>,
        size: Option<Box<Expr>>,
    },
    FunctionPointer(Box<FunctionType>),
    MemberPointer,
    /// A struct, union or enum that is defined where it is used.
    InlineStruct(Box<Struct>),
    InlineEnum(Box<Enum>),
    Unknown,
}

/// In the text of a string: a byte that is written by its number stands this far behind it.
pub const NUMBERED: u32 = 0x10_0000;

#[derive(Clone, PartialEq, Debug)]
pub struct Struct {
    pub template: Option<TemplateParameters>,
    /// `None` when anonymous. Template arguments on the last segment make it a specialisation.
    pub name: Option<Name>,
    pub kind: StructKind,
    pub bases: Vec<Type>,
    pub members: Vec<Member>,
    pub attributes: Vec<Attribute>,
    /// A forward declaration has no body.
    pub has_body: bool,
    pub span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StructKind {
    Struct,
    Class,
    Union,
    Interface,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Member {
    Fields(Declaration),
    Method(Function),
    Struct(Struct),
    Enum(Enum),
    Alias(Alias),
    /// `using Base::f;`
    UsingName(Name),
    Unknown {
        span: Span,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub struct Enum {
    pub name: Option<Ident>,
    pub scoped: bool,
    pub underlying: Option<Type>,
    pub enumerators: Vec<(Ident, Option<Expr>)>,
    pub span: Span,
}

/// `typedef T name;` or `using name = T;`
#[derive(Clone, PartialEq, Debug)]
pub struct Alias {
    pub template: Option<TemplateParameters>,
    pub name: Ident,
    pub ty: Type,
    pub span: Span,
}

/// `cbuffer`, `tbuffer` (and `ConstantBuffer<T>` is an ordinary variable).
#[derive(Clone, PartialEq, Debug)]
pub struct CBuffer {
    pub name: Ident,
    pub texture: bool,
    pub members: Vec<Declaration>,
    pub attributes: Vec<Attribute>,
    pub span: Span,
}

// ------------------------------------------------------------------------------------------------ declarations

/// `specifiers T a = 1, *b, c[4];` - each declarator has its whole type.
#[derive(Clone, PartialEq, Debug)]
pub struct Declaration {
    pub template: Option<TemplateParameters>,
    pub specifiers: Specifiers,
    pub declarators: Vec<Declarator>,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Declarator {
    pub name: DeclaratorName,
    pub ty: Type,
    pub initializer: Initializer,
    pub bit_width: Option<Expr>,
    pub semantic: Option<Ident>,
    /// `register(...)`, `packoffset(...)`, attributes after the name.
    pub attributes: Vec<Attribute>,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub enum DeclaratorName {
    Plain(Ident),
    /// `int S::x = 0;`
    Qualified(Name),
    /// `auto [a, b] = e;`
    Binding(Vec<Ident>),
    /// An anonymous struct member or bit-field.
    None,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Initializer {
    None,
    /// `= e` (an initializer list is an `ExprKind::List`).
    Copy(Expr),
    /// `(a, b)`
    Paren(Vec<Expr>),
    /// `{a, b}`
    Brace(Vec<Expr>),
}

// ------------------------------------------------------------------------------------------------ statements

#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    pub statements: Vec<Stmt>,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Stmt {
    pub kind: StmtKind,
    /// `[unroll]`, `[branch]`, `#pragma unroll 4` (name `unroll`), `[[likely]]`.
    pub attributes: Vec<Attribute>,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub enum StmtKind {
    Expr(Expr),
    Declaration(Declaration),
    /// A local struct, enum or alias.
    Struct(Struct),
    Enum(Enum),
    Alias(Alias),
    UsingNamespace(Vec<SmolStr>),
    Block(Block),
    If {
        initializer: Option<Box<Stmt>>,
        condition: Condition,
        then: Box<Stmt>,
        otherwise: Option<Box<Stmt>>,
        constexpr: bool,
    },
    For {
        initializer: Option<Box<Stmt>>,
        condition: Option<Condition>,
        step: Option<Expr>,
        body: Box<Stmt>,
    },
    RangeFor {
        declaration: Box<Declaration>,
        range: Expr,
        body: Box<Stmt>,
    },
    While {
        condition: Condition,
        body: Box<Stmt>,
    },
    DoWhile {
        body: Box<Stmt>,
        condition: Expr,
    },
    Switch {
        initializer: Option<Box<Stmt>>,
        condition: Condition,
        body: Box<Stmt>,
    },
    /// `case a:` or GNU `case a ... b:`; the statement that follows is the next one in the block.
    Case {
        value: Expr,
        upper: Option<Expr>,
    },
    Default,
    Break,
    Continue,
    Return(Option<Expr>),
    /// HLSL `discard`.
    Discard,
    Goto(Ident),
    Label(Ident),
    Asm(Asm),
    Empty,
    /// Text of which some was left out, or of which it is not known when it is executed; `problems` says why.
    Skipped(Box<Skipped>),
    /// Text that could not be parsed; `problems` says why.
    Unknown,
}

/// The known parts of text that was not understood; it may assign the names in it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Skipped {
    /// Names in it, in order and once each; not those behind `.`, `->` and `::`.
    pub names: Vec<Ident>,
    /// The part of it that was understood, executed as it stands.
    pub understood: Option<Stmt>,
    /// Statements in it that are executed any number of times, or not at all: the body of a macro that is not known.
    pub perhaps: Vec<Stmt>,
    /// Jumps in the text that was left out.
    pub returns: bool,
    pub breaks: bool,
    pub continues: bool,
    pub labels: Vec<Ident>,
}

/// `if (int x = f())` or `if (e)`.
#[derive(Clone, PartialEq, Debug)]
pub enum Condition {
    Expr(Expr),
    Declaration(Box<Declaration>),
}

/// Inline assembly: opaque, but its operands are known.
#[derive(Clone, PartialEq, Debug)]
pub struct Asm {
    pub volatile: bool,
    pub template: SmolStr,
    /// Constraint text without quotes, and the expression.
    pub outputs: Vec<(SmolStr, Expr)>,
    pub inputs: Vec<(SmolStr, Expr)>,
    pub clobbers: Vec<SmolStr>,
    pub span: Span,
}

// ------------------------------------------------------------------------------------------------ expressions

#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    Int(IntLiteral),
    Float(FloatLiteral),
    Bool(bool),
    Char(u32),
    String(SmolStr),
    Nullptr,
    This,
    Name(Name),
    Unary {
        op: UnaryOp,
        operand: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
        op_span: Span,
    },
    /// `a = b` has no `op`; `a += b` has one.
    Assign {
        op: Option<BinaryOp>,
        left: Box<Expr>,
        right: Box<Expr>,
        op_span: Span,
    },
    /// `_Generic(control, T: value, default: value)`
    Generic {
        control: Box<Expr>,
        cases: Vec<(Option<Type>, Expr)>,
    },
    Conditional {
        condition: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    Call {
        callee: Box<Expr>,
        arguments: Vec<Expr>,
    },
    /// `k<<<grid, block>>>(...)`
    Launch {
        callee: Box<Expr>,
        configuration: Vec<Expr>,
        arguments: Vec<Expr>,
    },
    Index {
        base: Box<Expr>,
        indices: Vec<Expr>,
    },
    /// `a.b`, `a->b`, swizzles, `a.f<T>`, `a.Base::f`.
    Member {
        base: Box<Expr>,
        member: Name,
        arrow: bool,
    },
    Cast {
        style: CastStyle,
        ty: Type,
        operand: Box<Expr>,
    },
    /// `T(a, b)`, `T{a, b}`, for types that the parser knows as types. `float4(a, b)` may also arrive as a `Call`.
    Construct {
        ty: Type,
        arguments: Vec<Expr>,
        brace: bool,
    },
    /// `{a, b, .x = c}`; designators are kept.
    List(Vec<(Option<Ident>, Expr)>),
    /// `[2] = e`, `.a.b[1] = e` in a list, without a plain designator beside it: C's, outermost first.
    Designated {
        path: Vec<Designator>,
        value: Box<Expr>,
    },
    SizeofType(Type),
    SizeofExpr(Box<Expr>),
    AlignofType(Type),
    /// `sizeof...(Ts)`
    SizeofPack(Ident),
    Lambda(Box<Lambda>),
    Comma(Box<Expr>, Box<Expr>),
    Paren(Box<Expr>),
    /// `pack...` in an argument list.
    PackExpansion(Box<Expr>),
    /// `(... + xs)`, `(xs + ... + 0)`: pack side, operator, initial value.
    Fold {
        op: BinaryOp,
        pack: Box<Expr>,
        initial: Option<Box<Expr>>,
        left: bool,
    },
    /// `({ ...; x; })`
    Statement(Block),
    New {
        ty: Type,
    },
    Delete(Box<Expr>),
    Throw,
    /// Not understood; `problems` says why.
    Unknown,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Designator {
    Member(Ident),
    /// `[a]`, and GNU's `[a ... b]`.
    Element {
        first: Expr,
        last: Option<Expr>,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub struct IntLiteral {
    pub value: u64,
    pub unsigned: bool,
    /// 0: none, 1: `l`, 2: `ll`; HLSL's `ll` is 2 as well.
    pub longs: u8,
    /// Written in hexadecimal, octal or binary: such a literal may become unsigned by its value.
    pub based: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct FloatLiteral {
    pub value: f64,
    /// Lower-case suffix: `None`, `f`, `h`, `l`, `d` (written in HLSL as `L`/`l` for double).
    pub suffix: Option<char>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CastStyle {
    /// `(T)e`
    C,
    Static,
    Reinterpret,
    Const,
    Dynamic,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOp {
    Plus,
    Minus,
    Not,
    BitNot,
    Dereference,
    AddressOf,
    PreIncrement,
    PreDecrement,
    PostIncrement,
    PostDecrement,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    /// `<=>`
    Spaceship,
    BitAnd,
    BitOr,
    BitXor,
    LogicalAnd,
    LogicalOr,
    /// `a.*b`, `a->*b`: parsed, not understood further.
    MemberPointer,
}

impl BinaryOp {
    /// Returns the operator as it is written.
    pub const fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Less => "<",
            BinaryOp::LessEqual => "<=",
            BinaryOp::Greater => ">",
            BinaryOp::GreaterEqual => ">=",
            BinaryOp::Equal => "==",
            BinaryOp::NotEqual => "!=",
            BinaryOp::Spaceship => "<=>",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
            BinaryOp::LogicalAnd => "&&",
            BinaryOp::LogicalOr => "||",
            BinaryOp::MemberPointer => "->*",
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct Lambda {
    /// `[=]` / `[&]`
    pub default_capture: Option<CaptureMode>,
    pub captures: Vec<Capture>,
    pub specifiers: Specifiers,
    pub template: Option<TemplateParameters>,
    pub parameters: Vec<Parameter>,
    pub return_type: Option<Type>,
    pub mutable: bool,
    pub body: Block,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CaptureMode {
    Value,
    Reference,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Capture {
    pub mode: CaptureMode,
    /// `this` is the name `this`.
    pub name: Ident,
    /// `[x = e]`
    pub initializer: Option<Expr>,
}
