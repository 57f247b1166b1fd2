//! Comparisons, and truth values.

use super::super::code::{Operand, Virtual};
use super::Selection;
use crate::mir::Arithmetic;
use crate::select::{Guard, Select};
use ir::{IntCondition, Type, Value};
use isa::sc140::{Opcode, Sc140};

impl Selection<'_> {
    /// The guard that holds where a truth value does.
    pub(super) fn condition(&mut self, value: Value) -> Guard {
        if self.forms.is_flag(value) {
            let register = self.home(value);
            let holds = self.senses.get(&value).copied().unwrap_or(true);
            return Guard { register, holds };
        }
        let from = match self.number(value) {
            Some(number) => self.constant(number & 1),
            None => self.read(value),
        };
        let flag = self.flag();
        self.append(Sc140::is_set(flag, from));
        Guard::of(flag)
    }

    /// A flag as 1 or 0.
    pub(super) fn flag_number(&mut self, value: Value) -> Virtual {
        let guard = self.condition(value);
        self.guard_number(guard)
    }
    pub(super) fn guard_number(&mut self, guard: Guard) -> Virtual {
        let to = self.data();
        self.put(Opcode::Clr, to, &[]);
        self.put_under(guard, Opcode::Add, to, &[1.into()]);
        to
    }

    pub(super) fn int_compare(&mut self, how: IntCondition, args: [Value; 2], result: Value) {
        let guard = match (self.number(args[0]), self.number(args[1])) {
            (_, Some(number)) => self.compare_number(how, args[0], number),
            (Some(number), None) => self.compare_number(how.mirrored(), args[1], number),
            (None, None) => self.compare(how, args),
        };
        if self.forms.is_flag(result) {
            self.values[result] = Some(guard.register);
            self.senses.insert(result, guard.holds);
            return;
        }
        let number = self.guard_number(guard);
        let to = self.home(result);
        self.copy(to, number);
    }

    pub(super) fn compare(&mut self, how: IntCondition, args: [Value; 2]) -> Guard {
        let pointers = matches!(self.ty(args[0]), Type::Ptr(_));
        if self.ty(args[0]) == Type::I64 {
            self.no_form("comparison", Type::I64);
        }
        let pair = args.map(|arg| match pointers {
            true => self.address(arg),
            false => self.integer(arg),
        });
        self.compare_registers(how, pair, pointers)
    }

    /// The second operand of the machine's relations is compared with the first; what it has not is the complement of
    /// what it has.
    fn compare_registers(
        &mut self,
        how: IntCondition,
        pair: [Virtual; 2],
        pointers: bool,
    ) -> Guard {
        use IntCondition::{
            Equal, GreaterEqualSigned, GreaterEqualUnsigned, GreaterSigned, GreaterUnsigned,
            LessEqualSigned, LessEqualUnsigned, NotEqual,
        };
        let signed = how.is_signed();
        let opcode = match (how, pointers) {
            (Equal | NotEqual, false) => Opcode::Cmpeq,
            (Equal | NotEqual, true) => Opcode::Cmpeqa,
            (_, false) if signed => Opcode::Cmpgt,
            (_, true) if signed => Opcode::Cmpgta,
            (_, false) => Opcode::Cmphi,
            (_, true) => Opcode::Cmphia,
        };
        let [a, b] = pair.map(Operand::from);
        let sources = match how {
            GreaterSigned | GreaterUnsigned | LessEqualSigned | LessEqualUnsigned => [b, a],
            _ => [a, b],
        };
        let flag = self.flag();
        self.put(opcode, flag, &sources);
        let negated = matches!(
            how,
            NotEqual
                | LessEqualSigned
                | LessEqualUnsigned
                | GreaterEqualSigned
                | GreaterEqualUnsigned
        );
        Guard {
            register: flag,
            holds: !negated,
        }
    }

    pub(super) fn compare_number(&mut self, how: IntCondition, value: Value, number: i64) -> Guard {
        use IntCondition::{
            Equal, GreaterEqualSigned, GreaterSigned, LessEqualSigned, LessSigned, NotEqual,
        };
        let ty = self.ty(value);
        let number = match ty {
            Type::I8 => i64::from(number as i8),
            Type::I16 => i64::from(number as i16),
            Type::Bool => number & 1,
            Type::I40 => number,
            _ => i64::from(number as i32),
        };
        let pointer = matches!(ty, Type::Ptr(_));
        if ty == Type::I64 {
            self.no_form("comparison", Type::I64);
        }
        let flag = self.flag();
        let guard = |holds| Guard {
            register: flag,
            holds,
        };
        if pointer {
            let from = self.address(value);
            if number == 0 && matches!(how, Equal | NotEqual) {
                self.put(Opcode::TsteqaL, flag, &[from.into()]);
                return guard(how == Equal);
            }
            let with = self.constant_in(isa::sc140::File::Address, number);
            return self.compare_registers(how, [from, with], true);
        }
        let from = self.integer(value);
        // x > n, or its complement.
        let (least, holds) = match how {
            Equal | NotEqual => (number, how == Equal),
            GreaterSigned => (number, true),
            LessEqualSigned => (number, false),
            GreaterEqualSigned => (number - 1, true),
            LessSigned => (number - 1, false),
            _ => {
                let with = self.constant(number);
                return self.compare_registers(how, [from, with], false);
            }
        };
        let equal = matches!(how, Equal | NotEqual);
        match (equal, least) {
            (true, 0) => self.put(Opcode::Tsteq, flag, &[from.into()]),
            (false, 0) => self.put(Opcode::Tstgt, flag, &[from.into()]),
            (false, -1) => self.put(Opcode::Tstge, flag, &[from.into()]),
            (_, -0x8000..=0x7fff) => {
                let opcode = if equal {
                    Opcode::CmpeqW
                } else {
                    Opcode::CmpgtW
                };
                self.put(opcode, flag, &[least.into(), from.into()]);
            }
            _ => {
                let with = match ty {
                    Type::I40 => self.accumulator(number),
                    _ => self.constant(number),
                };
                return self.compare_registers(how, [from, with], false);
            }
        }
        guard(holds)
    }

    /// `result = condition ? then : otherwise`
    pub(super) fn choice(&mut self, condition: Value, sides: [Value; 2], result: Value) {
        let ty = self.ty(result);
        let pointer = matches!(ty, Type::Ptr(_));
        let [then, otherwise] = sides.map(|side| match pointer {
            true => self.address(side),
            false => self.integer(side),
        });
        let guard = self.condition(condition);
        let to = self.target(result);
        let raw = match to == then {
            true => self.out.register(super::file_of(ty)),
            false => to,
        };
        self.copy(raw, otherwise);
        let opcode = super::super::machine::copy_opcode(super::file_of(ty));
        self.put_under(guard, opcode, raw, &[then.into()]);
        if raw != to {
            self.copy(to, raw);
        }
        self.settle(result, to);
    }
}
