//! Modules, functions, blocks, memory.

use super::registers::{CLASSES, Class, Register, memory_type, space_name};
use crate::refusal::Refusal;
use ir::*;
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// Prints a verified module: function 0 as an entry (when it is a kernel), the others as functions.
pub fn emit(module: &Module) -> Result<String, Refusal> {
    let mut symbols: Vec<&SymbolData> = Vec::new();
    for function in &module.functions {
        for symbol in function.symbols.values() {
            if !symbols.iter().any(|known| known.name == symbol.name) {
                symbols.push(symbol);
            }
        }
    }
    let mut text = String::from(".version 7.8\n.target sm_75\n.address_size 64\n\n");
    for symbol in symbols {
        declare_symbol(&mut text, symbol)?;
    }
    // Callees may call each other, so all are declared first.
    let mut bodies = Vec::with_capacity(module.functions.len());
    for (number, function) in module.functions.iter().enumerate() {
        let mut emitter = Emitter::new(module, function, number);
        let header = emitter.header();
        if function.kind != FunctionKind::Kernel {
            let _ = writeln!(text, "{header};");
        }
        emitter.body()?;
        bodies.push((header, emitter));
    }
    for (header, emitter) in bodies.into_iter().rev() {
        emitter.finish(&mut text, &header);
    }
    Ok(text)
}

fn declare_symbol(text: &mut String, symbol: &SymbolData) -> Result<(), Refusal> {
    if symbol.kind != SymbolKind::Memory && symbol.kind != SymbolKind::Buffer {
        return Err(refuse("resource", "handle"));
    }
    let space = match symbol.space {
        Space::Local | Space::Generic => return Err(refuse("symbol", "ptr.local")),
        space => space_name(space),
    };
    let name = identifier(&symbol.name);
    let align = symbol.align.max(1).next_power_of_two();
    match symbol.size {
        None => {
            let _ = writeln!(text, ".extern {space} .align {align} .b8 {name}[];");
        }
        Some(size) => {
            let _ = write!(text, "{space} .align {align} .b8 {name}[{}]", size.max(1));
            if let Some(bytes) = &symbol.initial
                && symbol.space != Space::Shared
            {
                let list: Vec<String> = bytes.iter().map(u8::to_string).collect();
                let _ = write!(text, " = {{{}}}", list.join(", "));
            }
            text.push_str(";\n");
        }
    }
    Ok(())
}

pub(super) fn refuse(operation: &str, ty: &str) -> Refusal {
    Refusal::NoForm {
        operation: operation.into(),
        ty: ty.into(),
        target: "PTX 7.8 for sm_75",
    }
}

/// Characters that PTX does not take become `_`.
fn identifier(name: &str) -> String {
    let mut out: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' || c == '$' {
                c
            } else {
                '_'
            }
        })
        .collect();
    if !out.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '$') || out == "_" {
        out.insert(0, 'k');
    }
    out
}

pub(super) struct Emitter<'f> {
    module: &'f Module,
    pub(super) function: &'f Function,
    name: String,
    registers: FxHashMap<Value, Register>,
    counts: [u32; CLASSES.len()],
    locals: Vec<(u32, u32)>,
    text: String,
    calls: u32,
    /// `@%p1 ` of the instruction being printed.
    pub(super) guard: String,
}

impl<'f> Emitter<'f> {
    fn new(module: &'f Module, function: &'f Function, number: usize) -> Self {
        let mut name = identifier(&function.name);
        let clash = module.functions[..number]
            .iter()
            .any(|other| identifier(&other.name) == name);
        if clash {
            let _ = write!(name, "_{number}");
        }
        Emitter {
            module,
            function,
            name,
            registers: FxHashMap::default(),
            counts: [0; CLASSES.len()],
            locals: Vec::new(),
            text: String::new(),
            calls: 0,
            guard: String::new(),
        }
    }

    fn is_entry(&self) -> bool {
        self.function.kind == FunctionKind::Kernel
    }
    fn params(&self) -> &'f [Value] {
        &self.function.blocks[self.function.entry()].params
    }

    fn header(&self) -> String {
        let mut text = String::new();
        let entry = self.is_entry();
        text.push_str(if entry { ".visible .entry " } else { ".func " });
        if !entry && !self.function.returns.is_empty() {
            let list: Vec<String> = self
                .function
                .returns
                .iter()
                .enumerate()
                .map(|(number, &ty)| {
                    format!(".param .{} {}_ret_{number}", parameter_type(ty), self.name)
                })
                .collect();
            let _ = write!(text, "({}) ", list.join(", "));
        }
        text.push_str(&self.name);
        let list: Vec<String> = self
            .params()
            .iter()
            .enumerate()
            .map(|(number, &value)| {
                let ty = self.function.ty(value);
                let pointer = match ty {
                    Type::Ptr(space) if entry => match space {
                        Space::Generic => " .ptr .align 1".to_string(),
                        space => format!(" .ptr {} .align 1", space_name(space)),
                    },
                    _ => String::new(),
                };
                let ty = parameter_type(ty);
                format!("\n\t.param .{ty}{pointer} {}_param_{number}", self.name)
            })
            .collect();
        let _ = write!(text, "({})", list.join(","));
        text
    }

    fn finish(self, text: &mut String, header: &str) {
        text.push('\n');
        text.push_str(header);
        text.push('\n');
        if self.is_entry() {
            let launch = &self.function.launch;
            if let [Some(x), Some(y), Some(z)] = launch.block {
                let _ = writeln!(text, ".reqntid {x}, {y}, {z}");
            } else if let Some(threads) = launch.max_threads {
                let _ = writeln!(text, ".maxntid {threads}, 1, 1");
            }
        }
        text.push_str("{\n");
        for (class, &count) in CLASSES.iter().zip(&self.counts) {
            if count > 0 {
                let (ty, prefix) = (class.type_name(), class.prefix());
                let _ = writeln!(text, "\t.reg .{ty} {prefix}<{count}>;");
            }
        }
        for (number, (size, align)) in self.locals.iter().enumerate() {
            let _ = writeln!(
                text,
                "\t.local .align {align} .b8 __local_{number}[{size}];"
            );
        }
        text.push_str(&self.text);
        text.push_str("}\n");
    }

    // ---------------------------------------------------------------------------------------------- registers

    pub(super) fn fresh(&mut self, class: Class) -> Register {
        let at = CLASSES.iter().position(|&c| c == class).unwrap_or(0);
        let number = self.counts[at];
        self.counts[at] += 1;
        Register { class, number }
    }
    pub(super) fn register(&mut self, value: Value) -> Register {
        if let Some(&register) = self.registers.get(&value) {
            return register;
        }
        let register = self.fresh(Class::of(self.function.ty(value)));
        self.registers.insert(value, register);
        register
    }
    /// Prints one instruction, under the guard of the operation.
    pub(super) fn line(&mut self, instruction: impl std::fmt::Display) {
        let _ = writeln!(self.text, "\t{}{instruction};", self.guard);
    }
    /// Prints one instruction without the guard: for what an operation needs besides.
    pub(super) fn plain(&mut self, instruction: impl std::fmt::Display) {
        let _ = writeln!(self.text, "\t{instruction};");
    }
    fn label(&mut self, name: impl std::fmt::Display) {
        let _ = writeln!(self.text, "{name}:");
    }
    pub(super) fn ty(&self, value: Value) -> Type {
        self.function.ty(value)
    }

    // ---------------------------------------------------------------------------------------------- control flow

    fn body(&mut self) -> Result<(), Refusal> {
        for (number, &value) in self.params().iter().enumerate() {
            let place = format!("{}_param_{number}", self.name);
            self.load_parameter(value, &place);
        }
        let function = self.function;
        for &block in &function.layout {
            if block != function.entry() {
                self.label(format_args!("$B{}", block.0));
            }
            for &inst in &function.blocks[block].insts {
                self.inst(&function.insts[inst])?;
            }
            self.terminator(block)?;
        }
        Ok(())
    }

    fn load_parameter(&mut self, value: Value, place: &str) {
        let register = self.register(value);
        match self.ty(value) {
            Type::Bool => {
                let word = self.fresh(Class::Word);
                self.plain(format_args!("ld.param.u8 {word}, [{place}]"));
                self.plain(format_args!("setp.ne.s32 {register}, {word}, 0"));
            }
            ty => {
                let ty = memory_type(ty);
                self.plain(format_args!("ld.param.{ty} {register}, [{place}]"));
            }
        }
    }
    fn store_parameter(&mut self, value: Value, place: &str) {
        let register = self.register(value);
        let ty = self.ty(value);
        if ty == Type::Bool {
            let word = self.fresh(Class::Word);
            self.plain(format_args!("selp.b32 {word}, 1, 0, {register}"));
            self.plain(format_args!("st.param.u8 [{place}], {word}"));
            return;
        }
        let ty = memory_type(ty);
        self.plain(format_args!("st.param.{ty} [{place}], {register}"));
    }

    fn terminator(&mut self, block: Block) -> Result<(), Refusal> {
        self.guard.clear();
        match &self.function.blocks[block].terminator {
            Terminator::Jump(edge) => self.edge(edge),
            Terminator::Branch {
                condition,
                then,
                otherwise,
                uniform,
            } => {
                let p = self.register(*condition);
                let uni = if *uniform { ".uni" } else { "" };
                if then.args.is_empty() {
                    self.plain(format_args!("@{p} bra{uni} $B{}", then.block.0));
                } else {
                    // The edge's copies need a place of their own.
                    self.plain(format_args!("@{p} bra{uni} $B{}_then", block.0));
                }
                self.edge(otherwise);
                if !then.args.is_empty() {
                    self.label(format_args!("$B{}_then", block.0));
                    self.edge(then);
                }
            }
            Terminator::Switch {
                value,
                cases,
                default,
            } => {
                let selector = self.register(*value);
                let ty = if selector.class == Class::Double {
                    "s64"
                } else {
                    "s32"
                };
                for (number, (case, _)) in cases.iter().enumerate() {
                    let p = self.fresh(Class::Predicate);
                    self.plain(format_args!("setp.eq.{ty} {p}, {selector}, {case}"));
                    self.plain(format_args!("@{p} bra $B{}_case{number}", block.0));
                }
                self.edge(default);
                for (number, (_, edge)) in cases.iter().enumerate() {
                    self.label(format_args!("$B{}_case{number}", block.0));
                    self.edge(edge);
                }
            }
            Terminator::Return(values) => {
                if !self.is_entry() {
                    for (number, &value) in values.iter().enumerate() {
                        let place = format!("{}_ret_{number}", self.name);
                        self.store_parameter(value, &place);
                    }
                }
                self.plain("ret");
            }
            Terminator::Kill => self.plain("exit"),
            Terminator::Unreachable | Terminator::None => self.plain("trap"),
        }
        Ok(())
    }

    /// The copies of an edge, all at once, and the jump.
    fn edge(&mut self, edge: &Edge) {
        let params = &self.function.blocks[edge.block].params;
        let mut moves: Vec<(Register, Register)> = Vec::new();
        for (&param, &arg) in params.iter().zip(&edge.args) {
            let (to, from) = (self.register(param), self.register(arg));
            if to != from {
                moves.push((to, from));
            }
        }
        // A register that is read after it was written goes through a copy.
        let mut written: Vec<Register> = Vec::new();
        let mut sources = Vec::with_capacity(moves.len());
        for &(to, from) in &moves {
            let clobbered = written.contains(&from);
            written.push(to);
            let source = if clobbered {
                let copy = self.fresh(from.class);
                let ty = from.class.type_name();
                self.plain(format_args!("mov.{ty} {copy}, {from}"));
                copy
            } else {
                from
            };
            sources.push(source);
        }
        for (&(to, _), source) in moves.iter().zip(sources) {
            let ty = to.class.type_name();
            self.plain(format_args!("mov.{ty} {to}, {source}"));
        }
        self.plain(format_args!("bra $B{}", edge.block.0));
    }

    // ---------------------------------------------------------------------------------------------- instructions

    fn inst(&mut self, data: &'f InstData) -> Result<(), Refusal> {
        self.guard = match data.guard {
            None => String::new(),
            Some(guard) => {
                let p = self.register(guard.value);
                format!("@{}{p} ", if guard.negated { "!" } else { "" })
            }
        };
        match &data.op {
            Op::Const(bits) => self.constant(data.results[0], *bits),
            Op::Undef => {
                // Read before it is written: undefined here as there.
                self.register(data.results[0]);
            }
            Op::SymbolAddress(symbol) => {
                let name = identifier(&self.function.symbols[*symbol].name);
                let to = self.register(data.results[0]);
                self.plain(format_args!("mov.u64 {to}, {name}"));
            }
            Op::Alloca { size, align } => {
                let number = self.locals.len();
                self.locals
                    .push(((*size).max(1), (*align).max(1).next_power_of_two()));
                let to = self.register(data.results[0]);
                self.plain(format_args!("mov.u64 {to}, __local_{number}"));
            }
            Op::Load(access) => self.load(data, access)?,
            Op::Store(access) => self.store(data, access)?,
            Op::Atomic(op, access) => self.atomic(data, *op, access)?,
            Op::Call(callee) => self.call(data, *callee)?,
            Op::Fence => self.line("membar.gl"),
            Op::Warp(op) => self.warp(data, op)?,
            Op::Barrier(barrier) => self.barrier(data, *barrier)?,
            Op::Special(special) => self.special(data.results[0], *special)?,
            Op::Unknown(id) => {
                return Err(Refusal::Unknown {
                    reason: self.function.unknowns[*id].reason.clone(),
                });
            }
            Op::Parameter(name) => {
                return Err(Refusal::SymbolicParameter { name: name.clone() });
            }
            Op::StageInput(_)
            | Op::ResourceElement { .. }
            | Op::Texture(_)
            | Op::Derivative(_)
            | Op::CallUnknown { .. }
            | Op::Asm { .. } => {
                let name = format!("{:?}", data.op);
                let name = name.split([' ', '(', '{']).next().unwrap_or("operation");
                return Err(refuse(name, "any type"));
            }
            _ => self.operation(data)?,
        }
        Ok(())
    }

    fn constant(&mut self, value: Value, bits: u64) {
        let to = self.register(value);
        match to.class {
            Class::Predicate => {
                let relation = if bits & 1 == 1 { "eq" } else { "ne" };
                self.plain(format_args!("setp.{relation}.s32 {to}, 0, 0"));
            }
            Class::Half => self.plain(format_args!("mov.b16 {to}, 0x{:04X}", bits & 0xffff)),
            Class::Word => self.plain(format_args!("mov.b32 {to}, {}", bits as i32)),
            Class::Double => self.plain(format_args!("mov.b64 {to}, {}", bits as i64)),
            Class::Float => self.plain(format_args!("mov.f32 {to}, 0f{:08X}", bits as u32)),
            Class::DoubleFloat => self.plain(format_args!("mov.f64 {to}, 0d{bits:016X}")),
        }
    }

    /// The space that an access names, and the register with an address of that space.
    fn address(&mut self, pointer: Value, access: &MemoryAccess) -> (Space, Register) {
        let register = self.register(pointer);
        let Type::Ptr(have) = self.ty(pointer) else {
            return (access.space, register);
        };
        if have != Space::Generic || access.space == Space::Generic {
            return (have, register);
        }
        let converted = self.fresh(Class::Double);
        let space = space_name(access.space);
        self.plain(format_args!("cvta.to{space}.u64 {converted}, {register}"));
        (access.space, converted)
    }

    /// The vector suffix when the elements can go at once.
    fn vector(&self, types: &[Type]) -> Option<&'static str> {
        let first = *types.first()?;
        let same = types.iter().all(|&ty| ty == first) && first != Type::Bool;
        match types.len() {
            2 if same => Some(".v2"),
            4 if same && first.bytes() <= 4 => Some(".v4"),
            _ => None,
        }
    }

    fn load(&mut self, data: &InstData, access: &MemoryAccess) -> Result<(), Refusal> {
        let (space, address) = self.address(data.args[0], access);
        let mut name = String::from("ld");
        if access.volatile && space != Space::Constant {
            name.push_str(".volatile");
        }
        name.push_str(space_name(space));
        if access.read_only && space == Space::Global && !access.volatile {
            name.push_str(".nc");
        }
        let types: Vec<Type> = data.results.iter().map(|&v| self.ty(v)).collect();
        if let Some(vector) = self.vector(&types) {
            let list: Vec<String> = data
                .results
                .iter()
                .map(|&v| self.register(v).to_string())
                .collect();
            let ty = memory_type(types[0]);
            let list = list.join(", ");
            self.line(format_args!("{name}{vector}.{ty} {{{list}}}, [{address}]"));
            return Ok(());
        }
        let mut offset = 0;
        for (&result, ty) in data.results.iter().zip(types) {
            let to = self.register(result);
            let suffix = memory_type(ty);
            if ty == Type::Bool {
                let word = self.fresh(Class::Word);
                self.line(format_args!("{name}.{suffix} {word}, [{address}+{offset}]"));
                self.plain(format_args!("setp.ne.s32 {to}, {word}, 0"));
            } else {
                self.line(format_args!("{name}.{suffix} {to}, [{address}+{offset}]"));
            }
            offset += ty.bytes();
        }
        Ok(())
    }

    fn store(&mut self, data: &InstData, access: &MemoryAccess) -> Result<(), Refusal> {
        let (space, address) = self.address(data.args[0], access);
        let mut name = String::from("st");
        if access.volatile {
            name.push_str(".volatile");
        }
        name.push_str(space_name(space));
        let values = &data.args[1..];
        let types: Vec<Type> = values.iter().map(|&v| self.ty(v)).collect();
        if let Some(vector) = self.vector(&types) {
            let list: Vec<String> = values
                .iter()
                .map(|&v| self.register(v).to_string())
                .collect();
            let ty = memory_type(types[0]);
            let list = list.join(", ");
            self.line(format_args!("{name}{vector}.{ty} [{address}], {{{list}}}"));
            return Ok(());
        }
        let mut offset = 0;
        for (&value, ty) in values.iter().zip(types) {
            let mut from = self.register(value);
            if ty == Type::Bool {
                let word = self.fresh(Class::Word);
                self.plain(format_args!("selp.b32 {word}, 1, 0, {from}"));
                from = word;
            }
            let suffix = memory_type(ty);
            self.line(format_args!("{name}.{suffix} [{address}+{offset}], {from}"));
            offset += ty.bytes();
        }
        Ok(())
    }

    fn atomic(
        &mut self,
        data: &InstData,
        op: AtomicOp,
        access: &MemoryAccess,
    ) -> Result<(), Refusal> {
        let ty = self.ty(data.args[1]);
        let (bits, signed, unsigned) = match ty {
            Type::I32 => ("b32", "s32", "u32"),
            Type::I64 => ("b64", "s64", "u64"),
            Type::F32 => ("b32", "f32", "f32"),
            Type::F64 => ("b64", "f64", "f64"),
            _ => return Err(refuse("atomic", &ty.to_string())),
        };
        let (name, suffix) = match op {
            AtomicOp::Add | AtomicOp::Sub => ("add", unsigned),
            AtomicOp::FloatAdd => ("add", signed),
            AtomicOp::MinSigned => ("min", signed),
            AtomicOp::MaxSigned => ("max", signed),
            AtomicOp::MinUnsigned => ("min", unsigned),
            AtomicOp::MaxUnsigned => ("max", unsigned),
            AtomicOp::And => ("and", bits),
            AtomicOp::Or => ("or", bits),
            AtomicOp::Xor => ("xor", bits),
            AtomicOp::Exchange => ("exch", bits),
            AtomicOp::CompareExchange => ("cas", bits),
            AtomicOp::IncrementWrap if ty == Type::I32 => ("inc", unsigned),
            AtomicOp::DecrementWrap if ty == Type::I32 => ("dec", unsigned),
            _ => return Err(refuse(&format!("atomic {op:?}"), &ty.to_string())),
        };
        let (space, address) = self.address(data.args[0], access);
        if !matches!(space, Space::Global | Space::Shared | Space::Generic) {
            return Err(refuse("atomic", "ptr.local"));
        }
        let mut operands = Vec::new();
        for &value in &data.args[1..] {
            let register = self.register(value);
            let class = if ty == Type::F32 {
                Class::Word
            } else {
                Class::Double
            };
            // Exchanges take untyped bits.
            let operand = if ty.is_float() && suffix == bits {
                let word = self.fresh(class);
                self.plain(format_args!("mov.{bits} {word}, {register}"));
                word
            } else {
                register
            };
            operands.push(operand.to_string());
        }
        if op == AtomicOp::Sub {
            let negative = self.fresh(Class::of(ty));
            self.plain(format_args!("neg.{signed} {negative}, {}", operands[0]));
            operands[0] = negative.to_string();
        }
        let space = space_name(space);
        let list = operands.join(", ");
        let exchange = matches!(op, AtomicOp::Exchange | AtomicOp::CompareExchange);
        match data.results.first() {
            None if !exchange => {
                self.line(format_args!(
                    "red{space}.{name}.{suffix} [{address}], {list}"
                ));
            }
            result => {
                let class = match (ty.is_float() && suffix == bits, ty) {
                    (true, Type::F32) => Class::Word,
                    (true, _) => Class::Double,
                    (false, ty) => Class::of(ty),
                };
                let to = match result {
                    Some(&result) if Class::of(ty) == class => self.register(result),
                    _ => self.fresh(class),
                };
                self.line(format_args!(
                    "atom{space}.{name}.{suffix} {to}, [{address}], {list}"
                ));
                if let Some(&result) = result
                    && Class::of(ty) != class
                {
                    let result = self.register(result);
                    self.plain(format_args!("mov.{bits} {result}, {to}"));
                }
            }
        }
        Ok(())
    }

    fn call(&mut self, data: &InstData, callee: u32) -> Result<(), Refusal> {
        let callee_name = {
            let callee = &self.module.functions[callee as usize];
            Emitter::new(self.module, callee, data_index(callee, self.module)).name
        };
        let number = self.calls;
        self.calls += 1;
        let guard = std::mem::take(&mut self.guard);
        if !guard.is_empty() {
            // A guarded call is a branch around it: its parameters are not stored either.
            let inverse = match guard.strip_prefix("@!") {
                Some(p) => format!("@{p}"),
                None => guard.replacen('@', "@!", 1),
            };
            self.plain(format_args!("{inverse}bra $C{number}"));
        }
        self.text.push_str("\t{\n");
        let mut arguments = Vec::new();
        for (at, &value) in data.args.iter().enumerate() {
            let ty = parameter_type(self.ty(value));
            self.plain(format_args!(".param .{ty} arg{at}"));
            self.store_parameter(value, &format!("arg{at}"));
            arguments.push(format!("arg{at}"));
        }
        let mut results = Vec::new();
        for (at, &value) in data.results.iter().enumerate() {
            let ty = parameter_type(self.ty(value));
            self.plain(format_args!(".param .{ty} ret{at}"));
            results.push(format!("ret{at}"));
        }
        let results_list = if results.is_empty() {
            String::new()
        } else {
            format!("({}), ", results.join(", "))
        };
        self.plain(format_args!(
            "call {results_list}{callee_name}, ({})",
            arguments.join(", ")
        ));
        for (at, &value) in data.results.iter().enumerate() {
            self.load_parameter(value, &format!("ret{at}"));
        }
        self.text.push_str("\t}\n");
        if !guard.is_empty() {
            self.label(format_args!("$C{number}"));
        }
        Ok(())
    }
}

fn data_index(function: &Function, module: &Module) -> usize {
    module
        .functions
        .iter()
        .position(|other| std::ptr::eq(other, function))
        .unwrap_or(0)
}

/// The type of a `.param` variable.
fn parameter_type(ty: Type) -> &'static str {
    match ty {
        Type::Bool | Type::I8 => "u8",
        Type::I16 => "u16",
        Type::I32 => "u32",
        Type::F16 | Type::BF16 => "b16",
        Type::F32 => "f32",
        Type::F64 => "f64",
        Type::I64 | Type::Ptr(_) | Type::Handle | Type::Opaque => "u64",
    }
}
