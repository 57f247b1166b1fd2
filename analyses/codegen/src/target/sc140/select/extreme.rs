//! The smaller and the greater one of two numbers: `min` and `max`, whose registers are four apart, or a comparison and a transfer
//! under its condition.
//!
//! ```text
//! v = min(v, 9)          tfr d1,d4; min d0,d4           a copy of what stays: the next iteration has one of its own
//! m = max(m, a[i])       max d0,d4                      the number that a loop hands on stays in its register
//! v = min(v, 9)          cmpgt.w #9,d0; tfrt d1,d0      where there are no registers four apart, and outside of loops
//! ```

use super::Selection;
use crate::select::Select as _;
use crate::target::sc140::code::Virtual;
use ir::{BinaryOp, IntCondition, Value, ValueDef};
use isa::sc140::Opcode;

impl Selection<'_> {
    /// The extreme replaces the number that a loop hands on, if one of them is: what it hands on next is in its register then.
    pub(super) fn extreme(&mut self, op: BinaryOp, [a, b]: [Value; 2], result: Value) {
        let is_number = |value: Value| self.number(value).is_some();
        let turns = is_number(a) || self.is_handed_on(a) && !self.is_handed_on(b) && !is_number(b);
        let args = if turns { [b, a] } else { [a, b] };
        let repeats = self.forest.of(self.here).is_some();
        let paired = match op {
            _ if !self.extremes || is_number(args[0]) || is_number(args[1]) && !repeats => None,
            BinaryOp::MinSigned => Some(Opcode::Min),
            BinaryOp::MaxSigned => Some(Opcode::Max),
            _ => None,
        };
        let made = match paired {
            Some(opcode) => {
                let [own, b] = args.map(|arg| self.integer(arg));
                // A register that something else reads may have another place.
                let alone = self.forms.uses[args[0]] == 1 && !self.is_param(args[0]);
                let a = if alone { own } else { self.copied(own) };
                let made = self.copied(b);
                self.put(opcode, made, &[a.into()]);
                made
            }
            None => self.chosen_extreme(op, args),
        };
        let to = self.home(result);
        self.copy(to, made);
    }

    fn chosen_extreme(&mut self, op: BinaryOp, args: [Value; 2]) -> Virtual {
        let how = match op {
            BinaryOp::MinSigned => IntCondition::LessSigned,
            BinaryOp::MaxSigned => IntCondition::GreaterSigned,
            BinaryOp::MinUnsigned => IntCondition::LessUnsigned,
            _ => IntCondition::GreaterUnsigned,
        };
        let guard = match self.number(args[1]) {
            Some(number) => self.compare_number(how, args[0], number),
            None => self.compare(how, args),
        };
        let [a, b] = args.map(|arg| self.integer(arg));
        let made = self.copied(b);
        self.put_under(guard, Opcode::Tfr, made, &[a.into()]);
        made
    }

    fn is_param(&self, value: Value) -> bool {
        matches!(self.source.values[value].def, ValueDef::Param(..))
    }
    /// Returns true for what a block is entered with, but for the function's parameters.
    fn is_handed_on(&self, value: Value) -> bool {
        let entry = self.source.entry();
        matches!(self.source.values[value].def, ValueDef::Param(block, _) if block != entry)
    }
}
