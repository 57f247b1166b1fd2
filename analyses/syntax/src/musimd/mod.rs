//! µ-SIMD, the core language of the divergence-analysis paper (Sampaio et al., TOPLAS 2013, section 3, figure 3), in
//! its plain form and in its gated form (μ, γ, η as in the paper's tables).
//!
//! ```text
//! l0 d = 0          // a label, then one instruction; `l0:` and several on one line are fine
//! l1 p = i < L
//! l2 bz p, l5       // also bnz
//! l3 t = ↓i         // or: t = load i
//! l4 ↑x = t         // or: store x = t
//! l5 sync
//! l6 k ←a x + 1     // or: k = atomic x + 1
//! l7 stop
//! ```
//!
//! A file is one program. Its parameters are the variables that it reads and never writes, in order of appearance.
//! Instructions are numbered from 0 in text order; that number is the program counter, labels are names for it.
//! A line that is not understood stays in the tree as `Invalid`, so that the counting goes on.

mod parse;
#[cfg(test)]
mod tests;

pub use parse::parse;

use crate::error::Problem;
use crate::source::Span;
use smol_str::SmolStr;

/// Bytes of a program that are read.
pub const MAX_BYTES: usize = 512 << 10;

/// A parsed program; spans count from the start of the text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    pub instructions: Vec<Instruction>,
    pub problems: Vec<Problem>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// Labels that stand before it.
    pub labels: Vec<Name>,
    pub kind: InstructionKind,
    /// From the first token after the labels to the last.
    pub span: Span,
}

#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Name {
    pub text: SmolStr,
    pub span: Span,
}

#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub enum Operand {
    /// `Tid`, the identifier of the processing element.
    Tid(Span),
    Variable(Name),
    Literal(i64, Span),
}

/// The target of a branch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    pub label: Name,
    /// The instruction's number; `None` when no instruction has that label (a problem says so).
    pub instruction: Option<u32>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum InstructionKind {
    /// `bz v, l`
    BranchZero { condition: Operand, target: Target },
    /// `bnz v, l`
    BranchNotZero { condition: Operand, target: Target },
    /// `jump l`
    Jump { target: Target },
    /// `v = ↓x`
    Load { result: Name, address: Operand },
    /// `↑x = v`
    Store { address: Operand, value: Operand },
    /// `v ←a x + c`: the new value of the cell also goes to v.
    Atomic {
        result: Name,
        address: Operand,
        increment: Operand,
    },
    /// `v = a + b`
    Binary {
        result: Name,
        operator: Operator,
        left: Operand,
        right: Operand,
    },
    /// `v = a`
    Copy { result: Name, value: Operand },
    /// `sync`: the barrier of the innermost open branch.
    Sync,
    /// `stop`
    Stop,
    /// `[a, b] = μ[(a0, b0), (a2, b2)]`: the first row on entry to the loop, the later ones from its latches in text
    /// order. Rows are as long as `results`.
    Mu {
        results: Vec<Name>,
        rows: Vec<Vec<Operand>>,
    },
    /// `[a] = γ(p, a1, a0)`: the first choice where p is not zero.
    Gamma {
        results: Vec<Name>,
        predicate: Operand,
        if_true: Vec<Operand>,
        if_false: Vec<Operand>,
    },
    /// `[a, b] = η[p, (a1, b1)]`: values that leave the loop which p controls.
    Eta {
        results: Vec<Name>,
        predicate: Operand,
        values: Vec<Operand>,
    },
    /// Not understood; `results` are the variables that it seems to write.
    Invalid { results: Vec<Name> },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Operator {
    Add,
    Sub,
    Mul,
    /// Toward zero.
    Div,
    Rem,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

impl Operator {
    /// Result is 0 or 1.
    pub const fn is_comparison(self) -> bool {
        matches!(
            self,
            Operator::Less
                | Operator::LessEqual
                | Operator::Greater
                | Operator::GreaterEqual
                | Operator::Equal
                | Operator::NotEqual
        )
    }
    pub const fn symbol(self) -> &'static str {
        match self {
            Operator::Add => "+",
            Operator::Sub => "-",
            Operator::Mul => "*",
            Operator::Div => "/",
            Operator::Rem => "%",
            Operator::Less => "<",
            Operator::LessEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterEqual => ">=",
            Operator::Equal => "==",
            Operator::NotEqual => "!=",
            Operator::And => "&",
            Operator::Or => "|",
            Operator::Xor => "^",
            Operator::ShiftLeft => "<<",
            Operator::ShiftRight => ">>",
        }
    }
}

impl Operand {
    pub fn span(&self) -> Span {
        match self {
            Operand::Tid(span) | Operand::Literal(_, span) => *span,
            Operand::Variable(name) => name.span,
        }
    }
    pub fn variable(&self) -> Option<&Name> {
        match self {
            Operand::Variable(name) => Some(name),
            _ => None,
        }
    }
}

impl InstructionKind {
    /// The variables that it writes.
    pub fn results(&self) -> &[Name] {
        match self {
            InstructionKind::Load { result, .. }
            | InstructionKind::Atomic { result, .. }
            | InstructionKind::Binary { result, .. }
            | InstructionKind::Copy { result, .. } => std::slice::from_ref(result),
            InstructionKind::Mu { results, .. }
            | InstructionKind::Gamma { results, .. }
            | InstructionKind::Eta { results, .. }
            | InstructionKind::Invalid { results } => results,
            _ => &[],
        }
    }
    /// The operands that it reads, in text order.
    pub fn operands(&self) -> Vec<&Operand> {
        match self {
            InstructionKind::BranchZero { condition, .. }
            | InstructionKind::BranchNotZero { condition, .. } => vec![condition],
            InstructionKind::Load { address, .. } => vec![address],
            InstructionKind::Store { address, value } => vec![address, value],
            InstructionKind::Atomic {
                address, increment, ..
            } => vec![address, increment],
            InstructionKind::Binary { left, right, .. } => vec![left, right],
            InstructionKind::Copy { value, .. } => vec![value],
            InstructionKind::Mu { rows, .. } => rows.iter().flatten().collect(),
            InstructionKind::Gamma {
                predicate,
                if_true,
                if_false,
                ..
            } => std::iter::once(predicate)
                .chain(if_true)
                .chain(if_false)
                .collect(),
            InstructionKind::Eta {
                predicate, values, ..
            } => std::iter::once(predicate).chain(values).collect(),
            InstructionKind::Jump { .. }
            | InstructionKind::Sync
            | InstructionKind::Stop
            | InstructionKind::Invalid { .. } => vec![],
        }
    }
    pub fn target(&self) -> Option<&Target> {
        match self {
            InstructionKind::BranchZero { target, .. }
            | InstructionKind::BranchNotZero { target, .. }
            | InstructionKind::Jump { target } => Some(target),
            _ => None,
        }
    }
}

impl Program {
    /// The variables that are read and never written, in order of appearance, each with its first place.
    pub fn parameters(&self) -> Vec<Name> {
        let mut written: rustc_hash::FxHashSet<&SmolStr> = rustc_hash::FxHashSet::default();
        for instruction in &self.instructions {
            written.extend(instruction.kind.results().iter().map(|name| &name.text));
        }
        let mut seen = rustc_hash::FxHashSet::default();
        let mut parameters = Vec::new();
        for instruction in &self.instructions {
            for operand in instruction.kind.operands() {
                if let Operand::Variable(name) = operand
                    && !written.contains(&name.text)
                    && seen.insert(&name.text)
                {
                    parameters.push(name.clone());
                }
            }
        }
        parameters
    }
    /// The gated form: a μ, γ or η occurs.
    pub fn is_gated(&self) -> bool {
        self.instructions.iter().any(|instruction| {
            matches!(
                instruction.kind,
                InstructionKind::Mu { .. }
                    | InstructionKind::Gamma { .. }
                    | InstructionKind::Eta { .. }
            )
        })
    }
}
