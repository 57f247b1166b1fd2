//! PTX, ISA 1.4 to 9.x, as nvcc, clang and triton print it.
//!
//! A file is split into module-level items by a scan that knows only comments, strings, braces and a few directives
//! (`split_items`); each item is parsed on its own (`parse_item`) into a tree whose spans count from the item's start,
//! so that an edit in one kernel leaves the trees of the others equal. A body is a flat list of statements in which
//! `{` and `}` are statements of their own: nesting costs no recursion.
//!
//! Knows the shape of instructions (guard, opcode, modifiers, operands), not their meaning; an unknown opcode
//! is an instruction like any other. Text that can't be parsed ends at the next `;` or line end and leaves an
//! `Invalid` statement.

mod body;
mod parse;
mod scan;
mod split;
#[cfg(test)]
mod tests;

pub use parse::{declaration, parse_item};
pub use split::{PtxItemText, split_items};

use crate::error::Problem;
use crate::source::{ItemKey, Span};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

/// Module-level items of a file that are looked at.
pub const MAX_ITEMS: usize = 20_000;
/// Bytes of one item, about 140,000 instructions. A tree takes some 100 bytes for each byte of text at the worst.
pub const MAX_ITEM_BYTES: usize = 4 << 20;

/// One module-level item; spans count from its start.
#[derive(Clone, PartialEq, Debug)]
pub struct PtxItem {
    pub kind: PtxItemKind,
    pub span: Span,
    pub problems: Vec<Problem>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum PtxItemKind {
    /// `.version 7.8`
    Version { major: u32, minor: u32 },
    /// `.target sm_75, debug`
    Target(Vec<Name>),
    /// `.address_size 64`
    AddressSize(u32),
    /// `.file 1 "name.cu"`
    File { number: u32, path: SmolStr },
    /// A variable of the module (`.global`, `.const`, `.shared`, ...).
    Variable(VariableDeclaration),
    /// `.entry` or `.func`, with or without a body.
    Function(Box<PtxFunction>),
    /// `.alias a, b;`
    Alias { name: Name, target: Name },
    /// `.section`, `.pragma` and other directives without meaning for execution.
    Other,
    /// Not understood.
    Invalid,
}

#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Name {
    pub text: SmolStr,
    pub span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Linkage {
    pub external: bool,
    pub visible: bool,
    pub weak: bool,
    pub common: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum StorageSpace {
    Register,
    SpecialRegister,
    Constant,
    Global,
    Local,
    Parameter,
    Shared,
    /// `.tex`, the deprecated texture space.
    Texture,
}

/// `.shared .align 16 .b8 a[1024], b[16];`
#[derive(Clone, PartialEq, Debug)]
pub struct VariableDeclaration {
    pub linkage: Linkage,
    pub space: StorageSpace,
    pub align: Option<u32>,
    /// Components: 1, 2, 4 or 8.
    pub vector: u8,
    /// The type without its dot: `b32`, `f64`, `pred`, `texref`.
    pub type_name: SmolStr,
    /// `.ptr .global .align 16` of a kernel parameter.
    pub pointer: Option<PointerAttribute>,
    pub declarators: Vec<Declarator>,
    pub span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct PointerAttribute {
    pub space: Option<StorageSpace>,
    pub align: Option<u32>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Declarator {
    pub name: Name,
    /// `%r<40>` declares `%r0` to `%r39`.
    pub range: Option<u32>,
    /// Array bounds; `None` for `[]`.
    pub dimensions: Vec<Option<u64>>,
    /// The scalars of the initialiser, braces removed.
    pub initial: Option<Vec<Operand>>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct PtxFunction {
    pub linkage: Linkage,
    /// `.entry`, else `.func`.
    pub entry: bool,
    pub name: Name,
    pub returns: Vec<VariableDeclaration>,
    pub parameters: Vec<VariableDeclaration>,
    pub directives: Vec<Directive>,
    /// `None` for a declaration, and where only the declaration was asked for.
    pub body: Option<Vec<Statement>>,
}

/// `.maxntid 256, 1, 1`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Directive {
    /// The name without the dot.
    pub name: Name,
    pub numbers: Vec<u32>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    pub kind: StatementKind,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub enum StatementKind {
    Label(Name),
    Declaration(VariableDeclaration),
    Instruction(Instruction),
    /// `{`
    Open,
    /// `}`
    Close,
    Location(SourceLocation),
    /// `label: .branchtargets a, b;`
    BranchTargets(Vec<Name>),
    /// `label: .calltargets f, g;`
    CallTargets(Vec<Name>),
    /// `label: .callprototype (.param .b32 _) _ (.param .b64 _);`
    CallPrototype {
        returns: Vec<VariableDeclaration>,
        parameters: Vec<VariableDeclaration>,
    },
    /// `.pragma "nounroll";` and other directives.
    Directive(Directive),
    /// Not understood; the names in it, each of which it may write.
    Invalid(Vec<Name>),
}

/// `.loc 1 12 5` and, of inlined code, the place of the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct SourceLocation {
    pub file: u32,
    /// From 1.
    pub line: u32,
    pub column: u32,
    /// `inlined_at file line column`
    pub inlined_at: Option<(u32, u32, u32)>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Instruction {
    pub guard: Option<Guard>,
    /// The part before the first dot.
    pub opcode: Name,
    /// The modifiers without their dots: `["global", "nc", "L2::128B", "v4", "f32"]`.
    pub modifiers: Vec<SmolStr>,
    pub operands: Vec<Operand>,
    /// True if it stands between the comments that surround inline assembly of the source.
    pub inline_assembly: bool,
}

/// `@%p` or `@!%p`
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Guard {
    pub predicate: Name,
    pub negated: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Operand {
    /// A register, special register, label, variable or function.
    Name(Name),
    /// `%tid.x`, `%v.y`, `%r1.b0`: the selector without its dot.
    Component(Name, SmolStr),
    /// Two's complement.
    Integer(i64, Span),
    /// The bits of an f32 (`0f...`).
    Float32(u32, Span),
    /// The bits of an f64 (`0d...`, `1.5`).
    Float64(u64, Span),
    /// `_`
    Sink(Span),
    /// `!%p`
    Not(Box<Operand>, Span),
    /// `-%r1`, allowed in a few places.
    Negative(Box<Operand>, Span),
    /// `{a, b, c, d}`
    Vector(Vec<Operand>, Span),
    /// `a|p`
    Pair(Box<Operand>, Box<Operand>, Span),
    /// `[base + offset]`, `[texture, {x, y}]`: comma-separated parts.
    Address(Vec<Operand>, Span),
    /// `base + offset` inside an address or an initialiser.
    Offset(Box<Operand>, Box<Operand>, Span),
    /// `(a, b)` of a call.
    List(Vec<Operand>, Span),
}

impl Operand {
    pub fn span(&self) -> Span {
        match self {
            Operand::Name(name) | Operand::Component(name, _) => name.span,
            Operand::Integer(_, span)
            | Operand::Float32(_, span)
            | Operand::Float64(_, span)
            | Operand::Sink(span)
            | Operand::Not(_, span)
            | Operand::Negative(_, span)
            | Operand::Vector(_, span)
            | Operand::Pair(_, _, span)
            | Operand::Address(_, span)
            | Operand::Offset(_, _, span)
            | Operand::List(_, span) => *span,
        }
    }
}

impl Instruction {
    pub fn has(&self, modifier: &str) -> bool {
        self.modifiers.iter().any(|m| m == modifier)
    }
    /// The opcode with its modifiers, as written.
    pub fn full_name(&self) -> String {
        let mut name = self.opcode.text.to_string();
        for modifier in &self.modifiers {
            name.push('.');
            name.push_str(modifier);
        }
        name
    }
}

impl VariableDeclaration {
    /// Bytes of one element of the type, `None` for types without a size.
    pub fn element_bytes(&self) -> Option<u32> {
        let bits = match self.type_name.as_str() {
            "b8" | "u8" | "s8" => 8,
            "b16" | "u16" | "s16" | "f16" | "bf16" => 16,
            "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" | "tf32" => 32,
            "b64" | "u64" | "s64" | "f64" => 64,
            "b128" => 128,
            _ => return None,
        };
        Some(bits / 8 * self.vector as u32)
    }
}

impl Declarator {
    /// Bytes of the whole variable, `None` when a bound is open.
    pub fn bytes(&self, element: u32) -> Option<u64> {
        self.dimensions
            .iter()
            .try_fold(element as u64, |size, bound| size.checked_mul((*bound)?))
    }
}

impl PtxFunction {
    /// The statements between `{` and `}`; empty for a declaration.
    pub fn statements(&self) -> &[Statement] {
        self.body.as_deref().unwrap_or(&[])
    }
    /// Source positions by place in the item, in text order: an instruction belongs to the last entry before it.
    pub fn source_lines(&self) -> Vec<(Span, SourceLocation)> {
        self.statements()
            .iter()
            .filter_map(|statement| match &statement.kind {
                StatementKind::Location(location) => Some((statement.span, *location)),
                _ => None,
            })
            .collect()
    }
}

/// The declarations of a file's other items: signatures without bodies, variables, target. Equal to itself
/// after an edit inside a body.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PtxDeclarations {
    /// Functions, in text order; a definition and its forward declaration are two entries.
    pub functions: Vec<(ItemKey, PtxFunction, bool)>,
    pub variables: Vec<(ItemKey, VariableDeclaration)>,
    pub aliases: Vec<(SmolStr, SmolStr)>,
    pub files: Vec<(u32, SmolStr)>,
    pub version: Option<(u32, u32)>,
    pub target: Option<SmolStr>,
    /// 32 or 64; 32 when the file does not say.
    pub address_size: Option<u32>,
    /// Indices into `functions`: definitions where there are any.
    pub functions_by_name: FxHashMap<SmolStr, usize>,
    /// Indices into `variables` and their declarators.
    pub variables_by_name: FxHashMap<SmolStr, (usize, usize)>,
}

/// The declarations of a file that `split_items` has split.
pub fn declarations(text: &str, items: &[PtxItemText]) -> PtxDeclarations {
    let mut all = PtxDeclarations::default();
    for item in items {
        let Some(source) = text.get(item.start as usize..item.end as usize) else {
            continue;
        };
        let (kind, has_body) = declaration(source);
        match kind {
            PtxItemKind::Function(function) => {
                all.functions.push((item.key.clone(), *function, has_body));
            }
            PtxItemKind::Variable(variable) => all.variables.push((item.key.clone(), variable)),
            PtxItemKind::Alias { name, target } => all.aliases.push((name.text, target.text)),
            PtxItemKind::File { number, path } => all.files.push((number, path)),
            PtxItemKind::Version { major, minor } => all.version = Some((major, minor)),
            PtxItemKind::Target(names) => {
                all.target = names.into_iter().next().map(|name| name.text);
            }
            PtxItemKind::AddressSize(bits) => all.address_size = Some(bits),
            PtxItemKind::Other | PtxItemKind::Invalid => {}
        }
    }
    for (number, (key, _, has_body)) in all.functions.iter().enumerate() {
        // A definition wins over its forward declarations.
        if *has_body || !all.functions_by_name.contains_key(&key.name) {
            all.functions_by_name.insert(key.name.clone(), number);
        }
    }
    for (number, (_, variable)) in all.variables.iter().enumerate() {
        for (part, declarator) in variable.declarators.iter().enumerate() {
            all.variables_by_name
                .insert(declarator.name.text.clone(), (number, part));
        }
    }
    all
}
