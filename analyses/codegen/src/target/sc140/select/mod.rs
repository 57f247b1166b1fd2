//! IR to operations of the SC140 on virtual registers.
//!
//! ```text
//! acc = L_mac(acc, x[i], c[i])      v1 = move.f [p], 2; v2 = move.f [q], 2; acc = mac v1, v2
//! ```
//!
//! Integers are numbers in data registers, extended by their sign where a use reads beyond their width (`forms`); numbers of
//! 16 bits that products take lie in the high part. Addresses are in address registers, comparisons in T, other truth values
//! are numbers. Arithmetic that may wrap is `iadd`, because the mode in which code runs clamps `add`; saturating arithmetic
//! counts on this mode, and on rounding that takes halves up. Of numbers of 64 bits the register has the low half, which is all
//! that offsets of addresses need; those that go to functions and come back have a high half besides (`wide`).
//!
//! An operation without a form is refused with its place, and nothing is made. One pass over the instructions.

mod call;
mod compare;
mod control;
mod extreme;
mod forms;
mod halves;
mod integer;
mod memory;
mod unary;
mod wide;

pub(super) use call::CALL;
pub(super) use control::setup;

use super::code::{Function, Name, Operand, Operation, Virtual, operation};
use crate::prepare::origin::Origins;
use crate::refusal::{Refusal, Refused};
use crate::select::{Flow, Guard, Select};
use crate::unroll::Unrolled;
use forms::Forms;
use ir::{EntityVec, Op, Type, Value};
use isa::sc140::{File, Opcode, Reg, Sc140};
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

const TARGET: &str = "SC140";

pub(super) struct Selection<'m> {
    flow: Flow<'m, Sc140>,
    module: &'m ir::Module,
    /// The names of its functions in the text.
    names: &'m [SmolStr],
    forms: Forms,
    origins: Origins,
    values: EntityVec<Value, Option<Virtual>>,
    /// The high halves of numbers of 64 bits that come from outside.
    highs: FxHashMap<Value, Virtual>,
    /// The value of a comparison's flag where it holds.
    senses: FxHashMap<Value, bool>,
    /// Products that are parts of other operations.
    fused: FxHashSet<Value>,
    /// Numbers in registers: of the whole function, and of this block.
    constants: FxHashMap<(File, i64), Virtual>,
    local: FxHashMap<(File, i64), Virtual>,
    slots: FxHashMap<ir::Inst, u32>,
    refused: Vec<Refused>,
    /// Accesses to several elements that are one.
    wide: &'m FxHashSet<ir::Inst>,
    /// The greater and the smaller one of two numbers have their instruction, whose registers are four apart.
    extremes: bool,
    /// True if cases that the IR leaves open have the reference interpreter's values.
    total: bool,
}

/// The function in machine operations. The pair: its number in the module, and the names of the module's functions.
///
/// # Errors
/// All operations without a form, with their places.
pub(super) fn select(
    module: &ir::Module,
    source: &ir::Function,
    unrolled: &Unrolled,
    (number, names): (usize, &[SmolStr]),
    (total, extremes): (bool, bool),
) -> Result<Function, Vec<Refused>> {
    let mut selection = Selection {
        module,
        names,
        forms: Forms::of(source),
        origins: Origins::of(source),
        values: EntityVec::with_len(None, source.values.len()),
        highs: FxHashMap::default(),
        senses: FxHashMap::default(),
        fused: FxHashSet::default(),
        constants: FxHashMap::default(),
        local: FxHashMap::default(),
        slots: FxHashMap::default(),
        refused: Vec::new(),
        wide: &unrolled.wide,
        total,
        extremes,
        flow: Flow::new(source, names[number].clone()),
    };
    selection.flow.rounds = unrolled.rounds.clone();
    selection.fuse();
    selection.readable();
    selection.blocks();
    match selection.refused.is_empty() {
        true => Ok(selection.flow.finish(control::leave)),
        false => Err(selection.refused),
    }
}

/// Returns true if there is no form of a fractional operation, or of a rotation, on a type.
pub(super) const fn lacks(op: &Op, ty: Type) -> bool {
    match op {
        Op::Binary(ir::BinaryOp::DivFractional, _) => !matches!(ty, Type::I16),
        Op::Binary(ir::BinaryOp::RotateLeft, _) => true,
        Op::Unary(ir::UnaryOp::Normalize) => matches!(ty, Type::I64),
        _ => false,
    }
}

const fn file_of(ty: Type) -> File {
    match ty {
        Type::Ptr(_) => File::Address,
        _ => File::Data,
    }
}

impl Selection<'_> {
    fn put(&mut self, opcode: Opcode, to: Virtual, sources: &[Operand]) {
        self.append(operation(opcode, vec![to.into()], sources.to_vec()));
    }
    /// The same where a guard holds.
    fn put_under(&mut self, guard: Guard, opcode: Opcode, to: Virtual, sources: &[Operand]) {
        let made = operation(opcode, vec![to.into()], sources.to_vec());
        let loc = self.loc;
        let made = <Sc140 as crate::mir::Arithmetic>::under(made, guard.register, guard.holds);
        self.written().operations.push(made.at(loc));
    }
    fn refusal(&mut self, reason: Refusal) {
        if self.refused.len() < 100 {
            let loc = self.loc;
            self.refused.push(Refused { reason, loc });
        }
    }
    fn no_form(&mut self, operation: &str, ty: Type) {
        self.refusal(Refusal::no_form(operation, ty, TARGET));
    }

    fn data(&mut self) -> Virtual {
        self.out.register(File::Data)
    }
    fn pointer(&mut self) -> Virtual {
        self.out.register(File::Address)
    }
    fn flag(&mut self) -> Virtual {
        self.out.register(File::Truth)
    }
    fn ty(&self, value: Value) -> Type {
        self.source.ty(value)
    }
    fn number(&self, value: Value) -> Option<i64> {
        match self.source.defining(value).map(|data| &data.op) {
            Some(Op::Undef) => Some(0),
            _ => self.source.int_constant(value),
        }
    }

    /// The register of a result before `settle`.
    fn target(&mut self, value: Value) -> Virtual {
        match self.forms.extends(self.source, value) {
            true => self.data(),
            false => self.home(value),
        }
    }
    /// Extends the result where something reads beyond its width.
    fn settle(&mut self, value: Value, raw: Virtual) {
        if self.forms.extends(self.source, value) {
            let to = self.home(value);
            let ty = self.ty(value);
            self.sign_extend(to, raw, ty);
        }
    }
    fn sign_extend(&mut self, to: Virtual, from: Virtual, ty: Type) {
        let opcode = match ty {
            Type::I8 => Opcode::SxtB,
            Type::I16 => Opcode::SxtW,
            _ => Opcode::SxtL,
        };
        self.put(opcode, to, &[from.into()]);
    }
    fn zero_extend(&mut self, to: Virtual, from: Virtual, ty: Type) {
        let opcode = match ty {
            Type::I8 => Opcode::ZxtB,
            Type::I16 => Opcode::ZxtW,
            _ => Opcode::ZxtL,
        };
        self.put(opcode, to, &[from.into()]);
    }
    /// `to = from`, of one file.
    fn copy(&mut self, to: Virtual, from: Virtual) {
        let opcode = super::machine::copy_opcode(self.out.class(to));
        self.put(opcode, to, &[from.into()]);
    }
    /// A copy that can be written.
    fn copied(&mut self, from: Virtual) -> Virtual {
        let to = self.out.register_like(from);
        self.copy(to, from);
        to
    }

    /// An integer in a data register, as it is.
    fn integer(&mut self, value: Value) -> Virtual {
        if let Some(number) = self.number(value) {
            return match self.ty(value) {
                Type::I40 => self.accumulator(number),
                _ => self.constant(number),
            };
        }
        if self.forms.is_fraction(value) {
            let from = self.read(value);
            let to = self.data();
            self.put(Opcode::Asrw, to, &[from.into()]);
            return to;
        }
        match self.ty(value) {
            Type::Ptr(_) => {
                let from = self.read(value);
                let to = self.data();
                self.put(Opcode::MoveL, to, &[from.into()]);
                to
            }
            Type::Bool if self.forms.is_flag(value) => self.flag_number(value),
            _ => self.read(value),
        }
    }
    /// A number of 16 bits in the high part of a register.
    fn fraction(&mut self, value: Value) -> Virtual {
        if let Some(number) = self.number(value) {
            return self.constant(number << 16);
        }
        if self.forms.is_fraction(value) {
            return self.read(value);
        }
        let from = self.read(value);
        let to = self.data();
        self.put(Opcode::Aslw, to, &[from.into()]);
        to
    }
    /// An address in an address register.
    fn address(&mut self, value: Value) -> Virtual {
        if let Some(number) = self.number(value) {
            return self.constant_in(File::Address, number);
        }
        match self.ty(value) {
            Type::Ptr(_) => self.read(value),
            _ => {
                let from = self.integer(value);
                let to = self.pointer();
                self.put(Opcode::MoveL, to, &[from.into()]);
                to
            }
        }
    }

    fn constant(&mut self, number: i64) -> Virtual {
        self.constant_in(File::Data, number)
    }
    /// A number of 40 bits in a register.
    fn accumulator(&mut self, number: i64) -> Virtual {
        if i64::from(number as i32) == number {
            return self.constant(number);
        }
        let [high, low] = [number >> 16, number & 0xffff].map(|part| self.constant(part));
        let to = self.data();
        self.out.kept.push(to);
        self.copy(to, high);
        self.put(Opcode::Asll, to, &[16.into()]);
        self.put(Opcode::Or, to, &[low.into()]);
        to
    }
    /// A number in a register, made once a block, or once a function for what is used in a loop.
    fn constant_in(&mut self, file: File, number: i64) -> Virtual {
        let number = i64::from(number as i32);
        let key = (file, number);
        if let Some(&known) = self.constants.get(&key).or_else(|| self.local.get(&key)) {
            return known;
        }
        let to = self.out.register(file);
        let made = constant(to, file, number);
        if self.forest.of(self.here).is_some() {
            self.entry.push(made);
            self.constants.insert(key, to);
        } else {
            let loc = self.loc;
            self.written().operations.push(made.at(loc));
            self.local.insert(key, to);
        }
        to
    }

    fn operation(&mut self, inst: ir::Inst) {
        let source = self.source;
        let data = &source.insts[inst];
        let before = self.out.registers.len();
        self.formed(inst);
        let mut results = data.results.iter();
        if results.any(|&result| self.ty(result) == Type::I40) {
            self.keep_from(before);
        }
    }

    /// Says that registers made since there were so many may hold 40 bits; those of constants do not.
    fn keep_from(&mut self, before: usize) {
        let constants = self.constants.values().chain(self.local.values());
        let constants: FxHashSet<Virtual> = constants.copied().collect();
        let new = (before..self.out.registers.len()).map(|number| Virtual(number as u32));
        for register in new {
            let is_data = self.out.class(register) == File::Data;
            let known = self.out.kept.contains(&register) || constants.contains(&register);
            if is_data && !known {
                self.out.kept.push(register);
            }
        }
    }

    fn formed(&mut self, inst: ir::Inst) {
        let source = self.source;
        let data = &source.insts[inst];
        let needed = |result: &Value| self.forms.needed.contains(result);
        if !data.results.iter().any(needed) && !data.op.has_effect() {
            return;
        }
        if data
            .results
            .iter()
            .any(|result| self.fused.contains(result))
        {
            return;
        }
        self.loc = data.loc;
        let mut types = data
            .args
            .iter()
            .chain(&data.results)
            .map(|&value| self.ty(value));
        let unknown = |ty: &Type| ty.is_float() || matches!(ty, Type::Handle | Type::Opaque);
        if let Some(ty) = types.find(unknown) {
            return self.no_form(&crate::select::name(&data.op), ty);
        }
        if data.guard.is_some() {
            return self.no_form("guarded operation", Type::Bool);
        }
        let result = data.results.first().copied();
        if let (Some(result), Some((op, args))) = (result, halves::of_halves(source, data))
            && self.halves_of(op, args, result)
        {
            return;
        }
        match (&data.op, result) {
            // Written where they are used.
            (Op::Const(_) | Op::Undef, _) => {}
            (Op::Unary(op), Some(result)) => self.unary(*op, data.args[0], result),
            (Op::Binary(op, wrap), Some(result)) => {
                self.binary(*op, *wrap, [data.args[0], data.args[1]], result);
            }
            (Op::IntCompare(condition), Some(result)) => {
                self.int_compare(*condition, [data.args[0], data.args[1]], result);
            }
            (Op::Select, Some(result)) => {
                self.choice(data.args[0], [data.args[1], data.args[2]], result);
            }
            (Op::Convert(kind), Some(result)) => self.convert(*kind, data.args[0], result),
            (Op::PtrAdd, Some(result)) => self.address_sum(data.args[0], data.args[1], result),
            (Op::Alloca { size, align }, Some(result)) => self.alloca(inst, *size, *align, result),
            (Op::SymbolAddress(symbol), Some(result)) => self.symbol(*symbol, result),
            (Op::Load(access), _) => self.load(inst, data, access),
            (Op::Store(access), _) => self.store(inst, data, access),
            (Op::Call(callee), _) => {
                let name = self.names[*callee as usize].clone();
                let convention = self.module.functions[*callee as usize].convention.clone();
                self.call(&name, &data.args, &data.results, &convention);
            }
            (
                Op::CallUnknown {
                    name, convention, ..
                },
                _,
            ) => {
                self.call(name, &data.args, &data.results, convention);
            }
            (Op::Parameter(name), _) => {
                self.refusal(Refusal::SymbolicParameter { name: name.clone() });
            }
            (Op::Unknown(id), _) => {
                let reason = source.unknowns[*id].reason.clone();
                self.refusal(Refusal::Unknown { reason });
            }
            (op, _) => {
                let ty = result.map_or(Type::I32, |result| self.ty(result));
                self.no_form(&crate::select::name(op), ty);
            }
        }
    }
}

/// Loads a number into a register of a file.
fn constant(to: Virtual, file: File, number: i64) -> Operation {
    let (to, sources) = (vec![Operand::from(to)], vec![Operand::Number(number)]);
    match (file, number) {
        (File::Data, 0) => operation(Opcode::Clr, to, Vec::new()),
        (_, -0x8000..=0x7fff) => operation(Opcode::MoveW, to, sources),
        (File::Data, number) if number & 0xffff == 0 => {
            operation(Opcode::MoveF, to, vec![Operand::Number(number >> 16)])
        }
        _ => operation(Opcode::MoveL, to, sources),
    }
}

/// A register of the machine as a name.
const fn fixed(register: Reg) -> Name {
    Name::Fixed(register)
}
