//! IR to machine operations on virtual registers.
//!
//! ```text
//! v3 = load v1; v4 = add v2, v3        v3 = ld4 [v1]
//!                                      v4 = add v2, v3
//! ```
//!
//! Every value is a register of its own: integers and addresses in general registers (narrow ones sign-extended where a
//! use reads beyond their width, see `widths`), floating-point values in the register format rounded to their type, `Bool`
//! in predicates. Division and square root are the published sequences from `frcpa` and `frsqrta`. Block parameters become
//! moves on edges; a loop that tests at its top tests at its bottom too, so that an inner loop without control flow in
//! it is one block that branches to itself.
//!
//! An operation without a form is refused with its place, and no code is made. One pass over the
//! instructions.
//!
//! Sources: Intel, *Itanium Architecture Software Developer's Manual*, volume 3; Intel, *Itanium Software Conventions and
//! Runtime Architecture Guide*, chapter 8; Cornea, Harrison, Tang, *Intel Itanium Floating-Point Architecture* (WCAE 2003)
//! and Markstein, *IA-64 and Elementary Functions*, for division and square root.

mod arguments;
mod call;
mod compare;
mod control;
mod divide;
mod factor;
mod float;
mod integer;
mod memory;
mod quotient;
mod reciprocal;
mod widths;

use super::emit::Options;
use crate::prepare::origin::Origins;
use crate::refusal::{Refusal, Refused};
use crate::select::{Flow, Select};
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Function, Name, Operand, Operation, Virtual};
use ir::{EntityVec, Loc, Op, Type, Value};
use isa::ia64::{File, Ia64, Reg};
use isa::ia64::{Mnemonic, Opcode};
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::{SmolStr, format_smolstr};
use widths::Widths;

/// `put!(selector, "add", [to] = [a, b])`
macro_rules! put {
    ($self:expr, $mnemonic:literal, [$($target:expr),*] = [$($source:expr),*]) => {
        put!($self, $crate::target::ia64::code::op!($mnemonic), [$($target),*] = [$($source),*])
    };
    ($self:expr, $mnemonic:expr, [$($target:expr),*] = [$($source:expr),*]) => {
        $self.push($mnemonic, vec![$($crate::target::ia64::code::Operand::from($target)),*], vec![$($crate::target::ia64::code::Operand::from($source)),*])
    };
}
/// The same under a predicate.
macro_rules! put_if {
    ($self:expr, $predicate:expr, $mnemonic:literal, [$($target:expr),*] = [$($source:expr),*]) => {
        put_if!($self, $predicate, $crate::target::ia64::code::op!($mnemonic), [$($target),*] = [$($source),*])
    };
    ($self:expr, $predicate:expr, $mnemonic:expr, [$($target:expr),*] = [$($source:expr),*]) => {{
        let before = $self.predicate.replace($predicate);
        put!($self, $mnemonic, [$($target),*] = [$($source),*]);
        $self.predicate = before;
    }};
}
pub(crate) use {put, put_if};

pub(super) struct Selector<'m> {
    flow: Flow<'m, Ia64>,
    pub(super) module: &'m ir::Module,
    /// The names of its functions in the text.
    pub(super) names: &'m [SmolStr],
    pub(super) options: &'m Options,
    /// Slots of arguments that have names.
    pub(super) unnamed: usize,
    widths: Widths,
    origins: Origins,
    /// Quotients and remainders that they themselves depend on.
    recurrent: FxHashSet<Value>,
    values: EntityVec<Value, Option<Virtual>>,
    /// Complements of predicates.
    pub(super) negations: FxHashMap<Virtual, Virtual>,
    /// Constants of the whole function, and of this block.
    constants: FxHashMap<(File, u64), Virtual>,
    local: FxHashMap<(File, u64), Virtual>,
    pub(super) slots: FxHashMap<ir::Inst, u32>,
    pub(super) refused: Vec<Refused>,
}

/// The function in machine operations. The pair: its number in the module, and the names of the module's functions.
///
/// # Errors
/// All operations without a form, with their places.
pub fn select(
    module: &ir::Module,
    source: &ir::Function,
    (number, names): (usize, &[SmolStr]),
    options: &Options,
) -> Result<Function, Vec<Refused>> {
    let mut flow = Flow::new(source, names[number].clone());
    flow.weights = options.weights.get(&source.name).map(Vec::as_slice);
    let mut selector = Selector {
        module,
        names,
        options,
        unnamed: 0,
        widths: Widths::of(source, &flow.forest, !options.wraps),
        origins: Origins::of(source),
        recurrent: quotient::recurrent(source, &flow.forest),
        values: EntityVec::with_len(None, source.values.len()),
        negations: FxHashMap::default(),
        constants: FxHashMap::default(),
        local: FxHashMap::default(),
        slots: FxHashMap::default(),
        refused: Vec::new(),
        flow,
    };
    selector.blocks();
    if options.bounds {
        selector.out.refused = std::mem::take(&mut selector.refused);
    }
    if selector.refused.is_empty() {
        Ok(selector.flow.finish(control::leave))
    } else {
        Err(causes(selector.refused))
    }
}

/// Drops refusals that follow from others: where something was not understood, refusals of values computed
/// with it add nothing.
fn causes(mut refused: Vec<Refused>) -> Vec<Refused> {
    let cause = |refused: &Refused| matches!(refused.reason, Refusal::Unknown { .. });
    if refused.iter().any(cause) {
        refused.retain(|refused| !matches!(refused.reason, Refusal::NoType { .. }));
    }
    refused
}

pub(super) const fn file_of(ty: Type) -> File {
    match ty {
        Type::Bool => File::Predicate,
        Type::F16 | Type::BF16 | Type::F32 | Type::F64 => File::Float,
        _ => File::General,
    }
}

impl Selector<'_> {
    // ------------------------------------------------------------------------------------------- operations

    pub(super) fn push(
        &mut self,
        mnemonic: Mnemonic,
        targets: Vec<Operand>,
        sources: Vec<Operand>,
    ) {
        self.append(Operation::plain(mnemonic, targets, sources));
    }
    pub(super) fn refusal(&mut self, reason: Refusal) {
        if self.refused.len() < 100 || self.options.bounds {
            let loc = self.loc;
            self.refused.push(Refused { reason, loc });
        }
    }
    pub(super) fn no_form(&mut self, operation: &str, ty: Type) {
        self.refusal(Refusal::no_form(operation, ty, TARGET));
    }

    // ------------------------------------------------------------------------------------------- registers

    pub(super) fn general(&mut self) -> Virtual {
        self.out.register(File::General)
    }
    pub(super) fn float(&mut self) -> Virtual {
        self.out.register(File::Float)
    }
    pub(super) fn predicate(&mut self) -> Virtual {
        self.out.register(File::Predicate)
    }
    pub(super) fn ty(&self, value: Value) -> Type {
        self.source.ty(value)
    }

    /// Returns where a result goes before `settle`.
    pub(super) fn target(&mut self, value: Value) -> Virtual {
        if self.widths.extends(self.source, value) {
            self.general()
        } else {
            self.home(value)
        }
    }
    /// Extends the result where something reads beyond its width.
    pub(super) fn settle(&mut self, value: Value, raw: Virtual) {
        if self.widths.extends(self.source, value) {
            let to = self.home(value);
            let ty = self.ty(value);
            self.sign_extend(to, raw.into_name(), ty);
        }
    }
    pub(super) fn sign_extend(&mut self, to: Virtual, from: Name, ty: Type) {
        let mnemonic = match ty {
            Type::I8 => op!("sxt1"),
            Type::I16 => op!("sxt2"),
            Type::I32 => op!("sxt4"),
            _ => op!("mov"),
        };
        put!(self, mnemonic, [to] = [from]);
    }
    pub(super) fn zero_extend(&mut self, to: Virtual, from: Name, ty: Type) {
        let mnemonic = match ty {
            Type::I8 => op!("zxt1"),
            Type::I16 => op!("zxt2"),
            Type::I32 => op!("zxt4"),
            _ => op!("mov"),
        };
        put!(self, mnemonic, [to] = [from]);
    }

    pub(super) fn number(&self, value: Value) -> Option<i64> {
        let constant = self.source.int_constant(value)?;
        Some(match self.ty(value) {
            Type::I8 => constant as i8 as i64,
            Type::I16 => constant as i16 as i64,
            Type::I32 => constant as i32 as i64,
            _ => constant,
        })
    }
    fn literal(&self, value: Value) -> Option<u64> {
        match self.source.defining(value)?.op {
            Op::Const(bits) => Some(bits),
            Op::Undef => Some(0),
            _ => None,
        }
    }

    /// An integer or an address.
    pub(super) fn integer(&mut self, value: Value) -> Name {
        if self.ty(value) == Type::Bool {
            return Name::Virtual(self.as_integer(value, 1));
        }
        match self
            .number(value)
            .or_else(|| self.literal(value).map(|it| it as i64))
        {
            Some(number) => self.constant(number),
            None => Name::Virtual(self.read(value)),
        }
    }
    /// An integer, sign-extended.
    pub(super) fn whole_integer(&mut self, value: Value) -> Name {
        let name = self.integer(value);
        let ty = self.ty(value);
        if !widths::narrow(ty) || self.widths.extended(value) || name == Name::Fixed(Reg::R0) {
            return name;
        }
        let to = self.general();
        self.sign_extend(to, name, ty);
        to.into_name()
    }
    /// An integer without anything above its width: as it is, or extended here.
    pub(super) fn plain_integer(&mut self, value: Value) -> Name {
        let name = self.integer(value);
        if self.widths.is_plain(value) {
            return name;
        }
        let ty = self.ty(value);
        self.zero_extended(name, ty)
    }
    /// A `Bool` as 0 or `one`.
    pub(super) fn as_integer(&mut self, value: Value, number: i64) -> Virtual {
        let to = self.general();
        let condition = self.condition(value);
        put!(self, "mov", [to] = [Reg::R0]);
        put_if!(self, condition, "mov", [to] = [number]);
        to
    }
    pub(super) fn floating(&mut self, value: Value) -> Name {
        match self.literal(value) {
            Some(bits) => self.float_constant(self.ty(value), bits),
            None => Name::Virtual(self.read(value)),
        }
    }

    // ------------------------------------------------------------------------------------------- constants

    /// Returns true if values that are made once should be made in front of everything.
    fn hoists(&self) -> bool {
        self.forest.of(self.here).is_some()
    }
    /// Runs `make` once a block, or once a function for values used in a loop.
    fn once(&mut self, key: (File, u64), make: impl FnOnce(&mut Self, Virtual)) -> Virtual {
        if let Some(&known) = self.constants.get(&key).or_else(|| self.local.get(&key)) {
            return known;
        }
        let to = self.out.register(key.0);
        let (predicate, loc) = (self.predicate.take(), self.loc);
        if self.hoists() {
            let draft = std::mem::take(&mut self.written().operations);
            self.loc = Loc::NONE;
            make(self, to);
            let made = std::mem::replace(&mut self.written().operations, draft);
            self.entry.extend(made);
            self.constants.insert(key, to);
        } else {
            make(self, to);
            self.local.insert(key, to);
        }
        (self.predicate, self.loc) = (predicate, loc);
        to
    }

    pub(super) fn constant(&mut self, number: i64) -> Name {
        if number == 0 {
            return Name::Fixed(Reg::R0);
        }
        let make = |this: &mut Self, to: Virtual| {
            let mnemonic = match number {
                -0x20_0000..0x20_0000 => op!("mov"),
                _ => op!("movl"),
            };
            put!(this, mnemonic, [to] = [number]);
        };
        Name::Virtual(self.once((File::General, number as u64), make))
    }
    pub(super) fn float_constant(&mut self, ty: Type, bits: u64) -> Name {
        let value = match ty {
            Type::F32 => f64::from(f32::from_bits(bits as u32)),
            _ => f64::from_bits(bits),
        };
        if bits == 0 {
            return Name::Fixed(Reg::float(0));
        }
        if value == 1.0 {
            return Name::Fixed(Reg::float(1));
        }
        // One register serves a number in both types; patterns of NaNs apart.
        let single = (f64::from(value as f32)).to_bits() == value.to_bits();
        let make = |this: &mut Self, to: Virtual| {
            let bits = match single {
                true => i64::from((value as f32).to_bits()),
                false => value.to_bits() as i64,
            };
            let from = this.general();
            put!(this, "movl", [from] = [bits]);
            let mnemonic = if single { op!("setf.s") } else { op!("setf.d") };
            put!(this, mnemonic, [to] = [from]);
        };
        Name::Virtual(self.once((File::Float, value.to_bits()), make))
    }
    /// Two to the power, as an exponent of the register format.
    pub(super) fn power(&mut self, exponent: i64) -> Name {
        let make = |this: &mut Self, to: Virtual| {
            let from = this.general();
            put!(this, "mov", [from] = [0xffff + exponent]);
            put!(this, "setf.exp", [to] = [from]);
        };
        // A NaN's pattern, which no constant has as its key.
        let key = 0xfff0_0000_0000_0001u64.wrapping_add(((exponent + 0x1000) as u64) << 8);
        Name::Virtual(self.once((File::Float, key), make))
    }

    /// `to = from`, within one file.
    pub(super) fn copy(&mut self, to: Virtual, from: Name) {
        match (self.out.file(to), from) {
            (File::Predicate, Name::Virtual(from)) => {
                debug_assert!(self.predicate.is_none());
                put_if!(self, from, "cmp.eq.unc", [to, Reg::P0] = [Reg::R0, Reg::R0]);
            }
            (_, from) => put!(self, "mov", [to] = [from]),
        }
    }

    // ------------------------------------------------------------------------------------------- instructions

    fn operation(&mut self, inst: ir::Inst) {
        let before = self.refused.len();
        self.formed(inst);
        if self.options.bounds && self.refused.len() > before {
            // The refused operation stands for itself: its results have their registers, and nothing else is
            // known of them.
            let source = self.source;
            let results = source.insts[inst].results.iter();
            let targets = results.map(|&result| Operand::from(self.home(result)));
            let targets = targets.collect();
            self.predicate = None;
            self.push(
                Mnemonic::new(Opcode::Refused, &[]),
                targets,
                vec![Operand::Number(before as i64)],
            );
        }
    }

    fn formed(&mut self, inst: ir::Inst) {
        let source = self.source;
        let data = &source.insts[inst];
        let used = data
            .results
            .iter()
            .any(|result| self.widths.needed.contains(result));
        if !used && !data.op.has_effect() {
            return;
        }
        self.loc = data.loc;
        let types = data
            .args
            .iter()
            .chain(&data.results)
            .map(|&value| self.ty(value));
        if let Some(half) = types.into_iter().find(|ty| {
            matches!(
                ty,
                Type::F16 | Type::BF16 | Type::I40 | Type::Handle | Type::Opaque
            )
        }) {
            return self.no_form(&crate::select::name(&data.op), half);
        }
        if let Some(guard) = data.guard {
            if !matches!(data.op, Op::Load(_) | Op::Store(_)) {
                return self.no_form("guarded operation", Type::Bool);
            }
            let condition = self.condition(guard.value);
            let predicate = if guard.negated {
                self.complement(condition)
            } else {
                condition
            };
            // What a skipped load leaves is some value, defined here.
            for &result in &data.results {
                let to = self.home(result);
                self.zero(to);
            }
            self.predicate = Some(predicate);
        }
        let result = data.results.first().copied();
        match (&data.op, result) {
            // Written where they are used.
            (Op::Const(_) | Op::Undef, _) => {}
            (Op::Unary(op), Some(result)) => self.unary(*op, data.args[0], result),
            (Op::Binary(op, wrap), Some(result)) => self.binary(*op, *wrap, data, result),
            (Op::IntCompare(condition), Some(result)) => {
                self.int_compare(*condition, data.args[0], data.args[1], result);
            }
            (Op::FloatCompare(condition), Some(result)) => {
                self.float_compare(*condition, data.args[0], data.args[1], result);
            }
            (Op::Select, Some(result)) => self.select(data, result),
            (Op::Fma, Some(result)) => self.fused(data, result),
            (Op::Convert(kind), Some(result)) => self.convert(*kind, data.args[0], result),
            (Op::Ternary(op), Some(result)) if self.field(*op, data, result) => {}
            (Op::PtrAdd, Some(result)) => self.address_sum(data.args[0], data.args[1], result),
            (Op::Alloca { size, align }, Some(result)) => self.alloca(inst, *size, *align, result),
            (Op::SymbolAddress(symbol), Some(result)) => self.symbol(*symbol, result),
            (Op::Load(access), _) => self.load(data, access),
            (Op::Store(access), _) => self.store(data, access),
            (Op::Atomic(op, _), _) => self.atomic(data, *op),
            (Op::Fence, _) => put!(self, "mf", [] = []),
            (Op::Call(callee), _) => self.call_own(data, *callee),
            (Op::CallUnknown { name, .. }, Some(result))
                if name == ir::UNNAMED && self.source.variadic =>
            {
                self.unnamed(result);
            }
            (Op::CallUnknown { name, .. }, _) if name.starts_with(VARIADIC) => {
                // `va_arg` is read as a step of the list.
                let operation = match &name[VARIADIC.len()..] {
                    "next" => "va_arg".into(),
                    other => format_smolstr!("va_{other}"),
                };
                let target = TARGET;
                self.refusal(Refusal::Variadic { operation, target });
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
                self.refusal(Refusal::SymbolicParameter { name: name.clone() })
            }
            (Op::Unknown(id), _) => {
                let reason = self.source.unknowns[*id].reason.clone();
                self.refusal(Refusal::Unknown { reason });
            }
            (op, _) => {
                let ty = result.map_or(Type::I64, |it| self.ty(it));
                self.no_form(&crate::select::name(op), ty);
            }
        }
        self.predicate = None;
    }

    /// Any defined value.
    fn zero(&mut self, to: Virtual) {
        match self.out.file(to) {
            File::Predicate => put!(self, "cmp.ne", [to, Reg::P0] = [Reg::R0, Reg::R0]),
            File::Float => put!(self, "mov", [to] = [Reg::float(0)]),
            _ => put!(self, "mov", [to] = [Reg::R0]),
        }
    }

    fn select(&mut self, data: &ir::InstData, result: Value) {
        let (condition, then, otherwise) = (data.args[0], data.args[1], data.args[2]);
        match self.ty(result) {
            Type::Bool => {
                // (c & a) | (!c & b), each part under its own predicate.
                let chosen = self.condition(condition);
                let other = self.complement(chosen);
                let (a, b) = (self.as_integer(then, 1), self.as_integer(otherwise, 1));
                let to = self.home(result);
                put!(self, "cmp.ne", [to, Reg::P0] = [Reg::R0, Reg::R0]);
                put_if!(self, chosen, "cmp.ne", [to, Reg::P0] = [Reg::R0, a]);
                put_if!(self, other, "cmp.ne", [to, Reg::P0] = [Reg::R0, b]);
            }
            ty => {
                let (a, b) = if ty.is_float() {
                    (self.floating(then), self.floating(otherwise))
                } else {
                    (self.integer(then), self.integer(otherwise))
                };
                let chosen = self.condition(condition);
                let raw = self.target(result);
                put!(self, "mov", [raw] = [b]);
                put_if!(self, chosen, "mov", [raw] = [a]);
                self.settle(result, raw);
            }
        }
    }
}

/// Calls that `va_start`, `va_arg`, `va_copy` and `va_end` are read as.
const VARIADIC: &str = "__builtin_va_";
const TARGET: &str = "IA-64";

impl Virtual {
    pub(super) const fn into_name(self) -> Name {
        Name::Virtual(self)
    }
}
