//! Printing: a document as it was read, instructions as the assembler reads them.

use super::{
    Document, ExecutionSet, Expr, Instruction, Memory, Operand, OperandKind, Size, Update,
};
use std::fmt::{self, Display, Formatter};

impl Document {
    /// The text that was read.
    #[must_use]
    pub fn text(&self) -> String {
        self.tokens.iter().map(|token| &*token.text).collect()
    }
}

/// The lines of a set: one line where it is written without brackets.
impl Display for ExecutionSet {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if !self.bracketed {
            for (at, instruction) in self.instructions.iter().enumerate() {
                let blank = if at == 0 { "    " } else { "  " };
                write!(f, "{blank}{instruction}")?;
            }
            return Ok(());
        }
        writeln!(f, " [")?;
        for instruction in &self.instructions {
            writeln!(f, "    {instruction}")?;
        }
        f.write_str(" ]")
    }
}

impl Display for Instruction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(condition) = self.condition {
            write!(f, "{} ", condition.name())?;
        }
        if self.operands.is_empty() {
            return f.write_str(&self.mnemonic);
        }
        write!(f, "{:<8} ", self.mnemonic)?;
        for (at, operand) in self.operands.iter().enumerate() {
            write!(f, "{}{operand}", if at == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            OperandKind::Immediate { size, value } => write!(f, "#{}{value}", sign(*size)),
            OperandKind::Value { size, value } => write!(f, "{}{value}", sign(*size)),
            OperandKind::Group(names) => f.write_str(&names.join(":")),
            OperandKind::Memory(memory) => memory.fmt(f),
            OperandKind::Unknown(text) => f.write_str(text),
        }
    }
}

impl Display for Memory {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "({}{})", sign(self.size), self.address)?;
        match &self.update {
            Update::None => Ok(()),
            Update::Up => f.write_str("+"),
            Update::Down => f.write_str("-"),
            Update::By(name) => write!(f, "+{name}"),
        }
    }
}

const fn sign(size: Option<Size>) -> &'static str {
    match size {
        None => "",
        Some(Size::Short) => "<",
        Some(Size::Long) => ">",
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        bound(self, 0, f)
    }
}

/// An expression where operators at least this strong stand around it.
fn bound(value: &Expr, strength: u8, f: &mut Formatter<'_>) -> fmt::Result {
    match value {
        // The smallest has no positive counterpart that is a number of 64 bits with a sign; its bits print all the same.
        Expr::Number(number) if *number < 0 => write!(f, "${:x}", *number as u64),
        Expr::Number(number) => write!(f, "{number}"),
        Expr::Name(name) => f.write_str(name),
        Expr::Here => f.write_str("*"),
        Expr::Function { name, argument } if argument.contains('\'') => {
            write!(f, "{name}(\"{argument}\")")
        }
        Expr::Function { name, argument } => write!(f, "{name}('{argument}')"),
        Expr::Unary { op, of } => {
            f.write_str(op.sign())?;
            bound(of, u8::MAX, f)
        }
        Expr::Binary { op, left, right } => {
            let own = op.strength();
            let open = own < strength;
            if open {
                f.write_str("(")?;
            }
            bound(left, own, f)?;
            f.write_str(op.sign())?;
            bound(right, own + 1, f)?;
            if open {
                f.write_str(")")?;
            }
            Ok(())
        }
    }
}
