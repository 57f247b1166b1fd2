//! Modules, functions, registers, constants: the frame that the other files print into.

use super::needed::Needed;
use super::registers::{CLASSES, Class, Register, memory_type, space_name};
use super::{Code, Target};
use crate::refusal::Refusal;
use ir::*;
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use std::fmt::Write;

/// Prints a verified module for `Target::default()`: function 0 as an entry (when it is a kernel or a shader stage), the
/// others as functions.
pub fn emit(module: &Module) -> Result<String, Refusal> {
    Ok(generate(module, &Target::default())?.text)
}

/// Prints a verified module, with the place in the source that each line comes from.
pub fn generate(module: &Module, target: &Target<'_>) -> Result<Code, Refusal> {
    if target.contract {
        let functions = module.functions.iter();
        let functions = functions.map(|each| crate::contract::contracted(each).into_owned());
        let module = Module {
            functions: functions.collect(),
        };
        return printed(&module, target);
    }
    printed(module, target)
}

fn printed(module: &Module, target: &Target<'_>) -> Result<Code, Refusal> {
    let mut text = format!(
        ".version {}\n.target sm_{}\n.address_size 64\n\n",
        target.version(),
        target.sm
    );
    for (number, file) in (1..).zip(target.files) {
        let _ = writeln!(
            text,
            ".file {number} \"{}\"",
            file.replace(['"', '\n'], "_")
        );
    }
    let mut known: Vec<&SymbolData> = Vec::new();
    for function in &module.functions {
        for symbol in function.symbols.values() {
            let memory = symbol.kind == SymbolKind::Memory;
            // The resources of an entry are its parameters; a resource that callees name, too, has its handle
            // in constant memory.
            let parameter = !memory && module.functions.len() == 1;
            if !parameter && !known.iter().any(|k| k.name == symbol.name) {
                known.push(symbol);
                declare_symbol(&mut text, symbol)?;
            }
        }
    }
    // Callees may call each other, so all are declared first.
    let mut externals: Vec<External> = Vec::new();
    let mut bodies = Vec::with_capacity(module.functions.len());
    let mut declarations = String::new();
    for (number, function) in module.functions.iter().enumerate() {
        let mut emitter = Emitter::new(module, function, number, target);
        emitter.externals = std::mem::take(&mut externals);
        emitter.body()?;
        let header = emitter.header();
        if !emitter.is_entry() {
            let _ = writeln!(declarations, "{header};");
        }
        externals = std::mem::take(&mut emitter.externals);
        bodies.push((header, emitter));
    }
    for external in &externals {
        text.push_str(&external.declaration());
    }
    text.push_str(&declarations);
    let mut code = Code {
        text,
        places: Vec::new(),
        externals: externals.into_iter().map(|e| e.name).collect(),
    };
    for (header, emitter) in bodies.into_iter().rev() {
        emitter.finish(&mut code, &header);
    }
    Ok(code)
}

fn declare_symbol(text: &mut String, symbol: &SymbolData) -> Result<(), Refusal> {
    let name = identifier(&symbol.name);
    if symbol.kind != SymbolKind::Memory {
        let _ = writeln!(text, ".const .align 8 .u64 {name};");
        return Ok(());
    }
    // Addresses among the bytes, or contents that are not known at all, would be printed as zeros.
    if symbol.definition.opaque || !symbol.definition.addresses.is_empty() {
        return Err(refuse("an initial value that is no number", "ptr"));
    }
    let space = match symbol.space {
        Space::Local | Space::Generic => return Err(refuse("symbol", "ptr.local")),
        space => space_name(space),
    };
    let align = symbol.align.max(1).next_power_of_two();
    match symbol.size {
        None => {
            let _ = writeln!(text, ".extern {space} .align {align} .b8 {name}[];");
        }
        Some(size) => {
            let _ = write!(text, "{space} .align {align} .b8 {name}[{}]", size.max(1));
            if let Some(bytes) = &symbol.initial
                && !bytes.is_empty()
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
        target: "PTX",
    }
}

pub(super) fn refuse_type(operation: &str, ty: ir::Type) -> Refusal {
    Refusal::no_form(operation, ty, "PTX")
}

/// Characters that PTX does not take become `_`.
pub(super) fn identifier(name: &str) -> String {
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

/// A function that another module defines: one of the device library, or one that the source only declares.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct External {
    pub(super) name: SmolStr,
    pub(super) results: Vec<Type>,
    pub(super) arguments: Vec<Type>,
}

impl External {
    fn declaration(&self) -> String {
        let list = |types: &[Type], name: &str| {
            let each = types.iter().enumerate();
            let each = each.map(|(n, &ty)| passed(ty, &format!("{name}{n}")));
            each.collect::<Vec<_>>().join(", ")
        };
        let results = match self.results.as_slice() {
            [] => String::new(),
            some => format!("({}) ", returned(some, "ret")),
        };
        let arguments = list(&self.arguments, "arg");
        format!(".extern .func {results}{} ({arguments});\n", self.name)
    }
}

/// Returns true if a line is an instruction whose opcode the table has, or no instruction at all: a directive, a label,
/// a brace.
fn has_opcode(line: &str) -> bool {
    let line = line.trim();
    let line = match line.strip_prefix('@') {
        Some(guarded) => guarded.split_once(' ').map_or("", |(_, rest)| rest),
        None => line,
    };
    let (name, _) = line.split_at(line.find(['.', ' ', ';', ':']).unwrap_or(line.len()));
    let is_instruction = line.ends_with(';') && !name.is_empty();
    !is_instruction || isa::ptx::Opcode::find(name).is_some()
}

pub(super) struct Emitter<'f> {
    pub(super) module: &'f Module,
    pub(super) function: &'f Function,
    pub(super) target: &'f Target<'f>,
    pub(super) name: String,
    pub(super) needed: Needed,
    registers: FxHashMap<Value, Register>,
    /// Constants that were put into registers in this block.
    constants: FxHashMap<Value, Register>,
    counts: [u32; CLASSES.len()],
    locals: Vec<(u32, u32)>,
    pub(super) text: String,
    /// The place from which each line of `text` comes.
    lines: Vec<(u32, Loc)>,
    printed: u32,
    here: Loc,
    pub(super) calls: u32,
    /// `@%p1 ` of the instruction being printed.
    pub(super) guard: String,
    /// The block that is printed after this one.
    pub(super) next: Option<Block>,
    pub(super) externals: Vec<External>,
    /// Further parameters of an entry: resources, the records of a stage, numbers that are not known yet.
    extra: Vec<(String, Type)>,
    pub(super) record: Option<Register>,
    labels: FxHashSet<Block>,
}

impl<'f> Emitter<'f> {
    fn new(
        module: &'f Module,
        function: &'f Function,
        number: usize,
        target: &'f Target<'f>,
    ) -> Self {
        Emitter {
            module,
            function,
            target,
            name: function_name(module, number),
            needed: Needed::of(function),
            registers: FxHashMap::default(),
            constants: FxHashMap::default(),
            counts: [0; CLASSES.len()],
            locals: Vec::new(),
            text: String::new(),
            lines: Vec::new(),
            printed: 0,
            here: Loc::NONE,
            calls: 0,
            guard: String::new(),
            next: None,
            externals: Vec::new(),
            extra: Vec::new(),
            record: None,
            labels: FxHashSet::default(),
        }
    }

    pub(super) fn is_entry(&self) -> bool {
        matches!(
            self.function.kind,
            FunctionKind::Kernel | FunctionKind::Stage(_)
        )
    }
    fn params(&self) -> &'f [Value] {
        &self.function.blocks[self.function.entry()].params
    }

    fn header(&self) -> String {
        let mut text = String::new();
        let entry = self.is_entry();
        text.push_str(if entry { ".visible .entry " } else { ".func " });
        if !entry && !self.function.returns.is_empty() {
            let returned = returned(&self.function.returns, &format!("{}_ret", self.name));
            let _ = write!(text, "({returned}) ");
        }
        text.push_str(&self.name);
        let own = self.params().iter().enumerate();
        let own = own.map(|(number, &value)| {
            let name = format!("{}_param_{number}", self.name);
            (name, self.function.ty(value))
        });
        let list: Vec<String> = own
            .chain(self.extra.iter().cloned())
            .map(|(name, ty)| {
                let pointer = match ty {
                    Type::Ptr(space) if entry => match space {
                        Space::Generic => " .ptr .align 1".to_string(),
                        space => format!(" .ptr {} .align 1", space_name(space)),
                    },
                    _ => String::new(),
                };
                if entry {
                    format!("\n\t.param .{}{pointer} {name}", parameter_type(ty))
                } else {
                    format!("\n\t{}", passed(ty, &name))
                }
            })
            .collect();
        let _ = write!(text, "({})", list.join(","));
        text
    }

    fn finish(self, code: &mut Code, header: &str) {
        let text = &mut code.text;
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
            // Of both the assembler takes the number of registers.
            match (launch.max_registers, launch.min_blocks) {
                (Some(most), _) => {
                    let _ = writeln!(text, ".maxnreg {most}");
                }
                (None, Some(least)) if launch.max_threads.is_some() => {
                    let _ = writeln!(text, ".minnctapersm {least}");
                }
                _ => {}
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
        let first = text.bytes().filter(|&b| b == b'\n').count() as u32;
        let own = self.lines.iter().map(|&(line, loc)| (first + line, loc));
        code.places.extend(own);
        text.push_str(&self.text);
        text.push_str("}\n");
    }

    // ---------------------------------------------------------------------------------------------- lines

    /// Prints one instruction, under the guard of the operation.
    pub(super) fn line(&mut self, instruction: impl std::fmt::Display) {
        let guard = std::mem::take(&mut self.guard);
        self.raw(format_args!("\t{guard}{instruction};"));
        self.guard = guard;
    }
    /// Prints one instruction without the guard: for auxiliary instructions of an operation.
    pub(super) fn plain(&mut self, instruction: impl std::fmt::Display) {
        self.raw(format_args!("\t{instruction};"));
    }
    pub(super) fn label(&mut self, name: impl std::fmt::Display) {
        self.raw(format_args!("{name}:"));
    }
    pub(super) fn raw(&mut self, line: impl std::fmt::Display) {
        let start = self.text.len();
        let _ = writeln!(self.text, "{line}");
        debug_assert!(
            has_opcode(&self.text[start..]),
            "no opcode of PTX: {}",
            &self.text[start..]
        );
        if self.here != Loc::NONE {
            self.lines.push((self.printed, self.here));
        }
        self.printed += 1;
    }
    /// Sets the place from which the following lines come.
    pub(super) fn at(&mut self, loc: Loc) {
        if loc == self.here || loc == Loc::NONE {
            return;
        }
        let line = |place: Loc| self.target.place.and_then(|of| of(place));
        let (before, now) = (line(self.here), line(loc));
        self.here = loc;
        if let Some((file, line, column)) = now
            && before.is_none_or(|b| (b.0, b.1) != (file, line))
        {
            self.raw(format_args!("\t.loc {file} {line} {column}"));
        }
    }

    // ---------------------------------------------------------------------------------------------- registers

    pub(super) fn fresh(&mut self, class: Class) -> Register {
        let at = CLASSES.iter().position(|&c| c == class).unwrap_or(0);
        let number = self.counts[at];
        self.counts[at] += 1;
        Register { class, number }
    }
    /// The register of a value; a constant is put into one here, for this block.
    pub(super) fn register(&mut self, value: Value) -> Register {
        if let Some(&register) = self.registers.get(&value) {
            return register;
        }
        if let Some(bits) = self.constant_bits(value) {
            return self.constant_register(value, bits);
        }
        let register = self.fresh(Class::of(self.function.ty(value)));
        self.registers.insert(value, register);
        register
    }
    /// A register, or a constant as it is written in an instruction.
    pub(super) fn operand(&mut self, value: Value) -> SmolStr {
        let class = Class::of(self.ty(value));
        match self.constant_bits(value) {
            Some(bits) if !matches!(class, Class::Predicate | Class::Half) => {
                literal(class, bits).into()
            }
            _ => smol_str::format_smolstr!("{}", self.register(value)),
        }
    }
    fn constant_bits(&self, value: Value) -> Option<u64> {
        match self.function.defining(value)?.op {
            Op::Const(bits) => Some(bits),
            _ => None,
        }
    }
    fn constant_register(&mut self, value: Value, bits: u64) -> Register {
        if let Some(&register) = self.constants.get(&value) {
            return register;
        }
        let to = self.fresh(Class::of(self.ty(value)));
        match to.class {
            Class::Predicate => {
                let relation = if bits & 1 == 1 { "eq" } else { "ne" };
                self.plain(format_args!("setp.{relation}.s32 {to}, 0, 0"));
            }
            class => {
                let (ty, bits) = (class.type_name(), literal(class, bits));
                self.plain(format_args!("mov.{ty} {to}, {bits}"));
            }
        }
        self.constants.insert(value, to);
        to
    }
    /// Forgets the constants in registers where ways meet or part: they are put into registers anew.
    pub(super) fn forget_constants(&mut self) {
        self.constants.clear();
    }
    pub(super) fn ty(&self, value: Value) -> Type {
        self.function.ty(value)
    }

    // ---------------------------------------------------------------------------------------------- the body

    fn body(&mut self) -> Result<(), Refusal> {
        let function = self.function;
        for (number, &value) in self.params().iter().enumerate() {
            if self.needed.value(value) {
                let place = format!("{}_param_{number}", self.name);
                self.load_parameter(value, &place, self.is_entry());
            }
        }
        self.open_inputs();
        self.find_labels();
        for (at, &block) in function.layout.iter().enumerate() {
            self.next = function.layout.get(at + 1).copied();
            self.forget_constants();
            if self.labels.contains(&block) {
                self.label(format_args!("$B{}", block.0));
            }
            for &inst in &function.blocks[block].insts {
                let data = &function.insts[inst];
                if self.needed.instruction(data) {
                    self.inst(data)?;
                }
            }
            self.at(function.blocks[block].loc);
            self.terminator(block)?;
        }
        Ok(())
    }

    /// Blocks that something jumps to.
    fn find_labels(&mut self) {
        let function = self.function;
        for &block in &function.layout {
            for edge in function.blocks[block].terminator.edges() {
                self.labels.insert(edge.block);
            }
        }
    }

    pub(super) fn load_parameter(&mut self, value: Value, place: &str, of_entry: bool) {
        let register = self.register(value);
        match self.ty(value) {
            Type::Bool => {
                let word = self.fresh(Class::Word);
                let ty = if of_entry { "u8" } else { "b32" };
                self.plain(format_args!("ld.param.{ty} {word}, [{place}]"));
                self.plain(format_args!("setp.ne.s32 {register}, {word}, 0"));
            }
            Type::I8 | Type::I16 if !of_entry => {
                self.plain(format_args!("ld.param.b32 {register}, [{place}]"));
            }
            ty => {
                let ty = memory_type(ty);
                self.plain(format_args!("ld.param.{ty} {register}, [{place}]"));
            }
        }
    }
    pub(super) fn store_parameter(&mut self, value: Value, place: &str) {
        let ty = self.ty(value);
        if ty == Type::Bool {
            let register = self.register(value);
            let word = self.fresh(Class::Word);
            self.plain(format_args!("selp.b32 {word}, 1, 0, {register}"));
            self.plain(format_args!("st.param.b32 [{place}], {word}"));
            return;
        }
        let operand = self.operand(value);
        let ty = match ty {
            Type::I8 | Type::I16 => "b32",
            ty => memory_type(ty),
        };
        self.plain(format_args!("st.param.{ty} [{place}], {operand}"));
    }
    /// A further parameter of the entry, once.
    pub(super) fn parameter(&mut self, name: &str, ty: Type) -> String {
        let name = format!("{}_{}", self.name, identifier(name));
        if !self.extra.iter().any(|known| known.0 == name) {
            self.extra.push((name.clone(), ty));
        }
        name
    }

    fn inst(&mut self, data: &'f InstData) -> Result<(), Refusal> {
        if matches!(data.op, Op::Const(_)) {
            return Ok(());
        }
        self.at(data.loc);
        self.guard = match data.guard {
            None => String::new(),
            Some(guard) => {
                let p = self.register(guard.value);
                format!("@{}{p} ", if guard.negated { "!" } else { "" })
            }
        };
        match &data.op {
            Op::Undef => {
                // Read before it is written: undefined here as there.
                self.register(data.results[0]);
            }
            Op::SymbolAddress(symbol) => self.symbol(data.results[0], *symbol),
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
            Op::Call(callee) => self.call(data, *callee),
            Op::CallUnknown { name, .. } => {
                let name = identifier(name);
                self.call_external(&name, &data.args, &data.results);
            }
            Op::Fence => self.line("membar.gl"),
            Op::Warp(op) => self.warp(data, op)?,
            Op::Barrier(barrier) => self.barrier(data, *barrier)?,
            Op::Special(special) => self.special(data.results[0], *special)?,
            Op::Unknown(id) => {
                return Err(Refusal::Unknown {
                    reason: self.function.unknowns[*id].reason.clone(),
                });
            }
            Op::Parameter(name) if self.is_entry() => {
                let result = data.results[0];
                let place = self.parameter(name, self.ty(result));
                self.load_parameter(result, &place, true);
            }
            Op::Parameter(name) => {
                return Err(Refusal::SymbolicParameter { name: name.clone() });
            }
            Op::StageInput(index) => self.stage_input(data.results[0], *index)?,
            Op::ResourceElement { .. } => self.resource_element(data),
            Op::Texture(access) => self.texture(data, access)?,
            Op::Derivative(derivative) => self.derivative(data, *derivative)?,
            Op::Asm { template, .. } => self.assembly(data, template)?,
            _ => self.operation(data)?,
        }
        Ok(())
    }
}

/// A constant as a source operand.
fn literal(class: Class, bits: u64) -> String {
    match class {
        Class::Predicate => (bits & 1).to_string(),
        Class::Half => format!("0x{:04X}", bits & 0xffff),
        Class::Word => (bits as i32).to_string(),
        Class::Double => (bits as i64).to_string(),
        Class::Float => format!("0f{:08X}", bits as u32),
        Class::DoubleFloat => format!("0d{bits:016X}"),
    }
}

/// The name of a function of a module; later ones of the same name are numbered.
pub(super) fn function_name(module: &Module, number: usize) -> String {
    let mut name = identifier(&module.functions[number].name);
    let clash = module.functions[..number]
        .iter()
        .any(|other| identifier(&other.name) == name);
    if clash {
        let _ = write!(name, "_{number}");
    }
    name
}

/// The declaration of a function's results: several values are the members of one structure, as C has it.
pub(super) fn returned(types: &[Type], name: &str) -> String {
    match types {
        [only] => passed(*only, name),
        several => {
            let size = several.len() as u32 * SLOT;
            format!(".param .align {SLOT} .b8 {name}[{size}]")
        }
    }
}

/// The declaration of a parameter of a function: narrow integers take 32 bits, 16-bit floats their two bytes (PTX
/// Writer's Guide to Interoperability, parameters). All are untyped, as NVIDIA's compilers have them: the linker compares
/// the types, and a function of another module would not be found by `.f32` or `.u64`.
pub(super) fn passed(ty: Type, name: &str) -> String {
    match ty {
        Type::F16 | Type::BF16 => format!(".param .align 2 .b8 {name}[2]"),
        _ if ty.bits() == 64 => format!(".param .b64 {name}"),
        _ => format!(".param .b32 {name}"),
    }
}

/// Returns the place of a returned value.
pub(super) fn returned_place(count: usize, number: usize, name: &str) -> String {
    match (count, number as u32 * SLOT) {
        (1, _) | (_, 0) => name.to_owned(),
        (_, offset) => format!("{name}+{offset}"),
    }
}

/// Bytes between the members of a returned structure.
const SLOT: u32 = 8;

/// The type of a `.param` variable.
pub(super) fn parameter_type(ty: Type) -> &'static str {
    match ty {
        Type::Bool | Type::I8 => "u8",
        Type::I16 => "u16",
        Type::I32 => "u32",
        Type::F16 | Type::BF16 => "b16",
        Type::F32 => "f32",
        Type::F64 => "f64",
        Type::I40 | Type::I64 | Type::Ptr(_) | Type::Handle | Type::Opaque => "u64",
    }
}

#[cfg(test)]
mod tests {
    use super::has_opcode;

    #[test]
    fn opcodes_that_the_table_lacks_are_told_apart() {
        for line in [
            "\tadd.s32 %r1, %r2, 1;\n",
            "\t@!%p1 bra $L1;\n",
            "\tret;\n",
            "$L1:\n",
            "\t.loc 1 2 3\n",
            "\t.param .b32 arg0;\n",
            "\t{\n",
        ] {
            assert!(has_opcode(line), "{line}");
        }
        for line in [
            "\tadds.s32 %r1, %r2, 1;\n",
            "\t@%p1 brq $L1;\n",
            "\trett;\n",
        ] {
            assert!(!has_opcode(line), "{line}");
        }
    }
}
