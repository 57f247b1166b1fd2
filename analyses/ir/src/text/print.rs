//! Function to text. Total: prints functions that break the verifier's rules as well.

use super::names::{self, Named};
use crate::builder;
use crate::entity::Value;
use crate::function::*;
use crate::inst::*;
use crate::types::Type;
use std::fmt::Write;
use syntax::Span;

pub(super) fn function(f: &Function, out: &mut String) {
    let mut p = Printer { f, out };
    p.header();
    for &block in &f.layout {
        p.block(block);
    }
    for binding in &f.bindings {
        p.binding(binding);
    }
    p.out.push_str("}\n");
}

struct Printer<'f, 'o> {
    f: &'f Function,
    out: &'o mut String,
}

macro_rules! put {
    ($p:expr, $($format:tt)*) => {{ let _ = write!($p.out, $($format)*); }};
}

/// A string literal of the text form.
pub(super) fn quoted(text: &str) -> String {
    let mut result = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => result.push_str("\\\""),
            '\\' => result.push_str("\\\\"),
            '\n' => result.push_str("\\n"),
            '\t' => result.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(result, "\\u{{{:x}}}", c as u32);
            }
            c => result.push(c),
        }
    }
    result.push('"');
    result
}

impl Printer<'_, '_> {
    fn header(&mut self) {
        let f = self.f;
        put!(
            self,
            "function {} {} {}",
            quoted(&f.name),
            names::kind_name(f.kind),
            f.language.name()
        );
        self.flag(f.internal, "internal");
        self.flag(f.variadic, "variadic");
        self.flag(f.narrow_addresses, "narrow");
        self.flag(f.convention.into, "into");
        self.flag(f.convention.structures, "structures");
        for half in &f.convention.halves {
            put!(self, " half {half}");
        }
        for (number, ty) in f.returns.iter().enumerate() {
            put!(self, "{} {ty}", if number == 0 { " ->" } else { "," });
        }
        self.out.push_str(" {\n");
        if f.span != Span::default() || f.name_span != Span::default() {
            put!(self, "  span {:?} name {:?}\n", f.span, f.name_span);
        }
        self.launch(&f.launch);
        for parameter in &f.parameters {
            put!(
                self,
                "  parameter {} {}",
                quoted(&parameter.name),
                quoted(&parameter.type_text)
            );
            self.group(&parameter.values);
            self.flag(parameter.read_only, "read_only");
            self.flag(parameter.no_alias, "no_alias");
            self.loc(parameter.loc);
            self.out.push('\n');
        }
        for (id, symbol) in f.symbols.iter() {
            put!(
                self,
                "  symbol {id} {} {} {}",
                quoted(&symbol.name),
                symbol.kind.name(),
                symbol.space.name()
            );
            if let Some(size) = symbol.size {
                put!(self, " size {size}");
            }
            put!(self, " align {}", symbol.align);
            self.flag(symbol.read_only, "read_only");
            if let Some(bytes) = &symbol.initial {
                self.out.push_str(" initial \"");
                for byte in bytes {
                    put!(self, "{byte:02x}");
                }
                self.out.push('"');
            }
            match symbol.definition.linkage {
                Linkage::Global => {}
                Linkage::Local => self.out.push_str(" internal"),
                Linkage::Elsewhere => self.out.push_str(" elsewhere"),
            }
            if let Some(width) = symbol.definition.width {
                put!(self, " width {width}");
            }
            for run in &symbol.definition.numbers {
                put!(self, " numbers {} {} {}", run.offset, run.bytes, run.count);
            }
            self.flag(symbol.definition.opaque, "opaque");
            for address in &symbol.definition.addresses {
                put!(self, " at {} {}", address.offset, quoted(&address.symbol));
                put!(self, " {}", address.addend);
            }
            match symbol.resource_array {
                None => {}
                Some(None) => self.out.push_str(" array unbounded"),
                Some(Some(count)) => put!(self, " array {count}"),
            }
            self.out.push('\n');
        }
        for input in &f.inputs {
            put!(
                self,
                "  input {} {} {} {} {}\n",
                quoted(&input.name),
                quoted(&input.semantic),
                input.component,
                input.interpolation.name(),
                input.ty
            );
        }
        for (id, variable) in f.variables.iter() {
            put!(
                self,
                "  variable {id} {} {} {}",
                quoted(&variable.name),
                quoted(&variable.type_text),
                variable.kind.name()
            );
            self.loc(variable.declared);
            self.out.push('\n');
        }
        for (id, unknown) in f.unknowns.iter() {
            put!(self, "  unknown {id} {}", quoted(&unknown.reason));
            if unknown.assigns {
                self.out.push_str(" assigns");
            }
            self.loc(unknown.loc);
            self.out.push('\n');
        }
        for (id, site) in f.sites.iter() {
            if id.0 == 0 && *site == super::own_site(&f.name) {
                continue;
            }
            put!(self, "  {id} {}", quoted(&site.callee));
            if let Some(item) = &site.item {
                put!(self, " item {} {}", quoted(&item.name), item.ordinal);
            }
            if let Some(parent) = site.parent {
                put!(self, " in {parent}");
            }
            for (name, values) in &site.arguments {
                put!(self, " {}", quoted(name));
                self.group(values);
            }
            self.loc(site.call);
            self.out.push('\n');
        }
        for source_loop in &f.loops {
            put!(self, "  loop {}", source_loop.header);
            if let Some(unroll) = source_loop.unroll {
                put!(self, " unroll {unroll}");
            }
            if let Some(word) = &source_loop.pipeline {
                put!(self, " pipeline {}", quoted(word));
            }
            self.flag(source_loop.independent, "independent");
            self.loc(source_loop.loc);
            self.out.push('\n');
        }
        for promise in &f.promises {
            match promise.kind {
                PromiseKind::Aligned {
                    pointer,
                    bytes,
                    block,
                } => {
                    put!(self, "  promise aligned {pointer} {bytes} {block}");
                }
                PromiseKind::Readable {
                    pointer,
                    bytes,
                    block,
                } => {
                    put!(self, "  promise readable {pointer} {bytes} {block}");
                }
                PromiseKind::Rounds {
                    header,
                    least,
                    most,
                    multiple,
                } => put!(self, "  promise rounds {header} {least} {most} {multiple}"),
            }
            self.loc(promise.loc);
            self.out.push('\n');
        }
        for vector in &f.vectors {
            self.out.push_str("  vector");
            self.values(vector);
            self.out.push('\n');
        }
    }

    fn launch(&mut self, launch: &LaunchShape) {
        if *launch == LaunchShape::default() {
            return;
        }
        self.out.push_str("  launch");
        for (word, axes) in [("block", launch.block), ("grid", launch.grid)] {
            if axes != [None; 3] {
                put!(self, " {word}");
                for axis in axes {
                    match axis {
                        Some(size) => put!(self, " {size}"),
                        None => self.out.push_str(" ?"),
                    }
                }
            }
        }
        if let Some(most) = launch.max_threads {
            put!(self, " max_threads {most}");
        }
        if let Some(least) = launch.min_blocks {
            put!(self, " min_blocks {least}");
        }
        if let Some(most) = launch.max_registers {
            put!(self, " max_registers {most}");
        }
        if let Some(size) = launch.warp_size {
            put!(self, " warp_size {size}");
        }
        if launch.with_helpers {
            self.out.push_str(" with_helpers");
        }
        self.out.push('\n');
    }

    fn block(&mut self, block: crate::entity::Block) {
        let Some(data) = self.f.blocks.get(block) else {
            return;
        };
        put!(self, "\n{block}");
        for (number, &param) in data.params.iter().enumerate() {
            self.out.push_str(if number == 0 { "(" } else { ", " });
            self.typed(param);
        }
        self.out.push_str(if data.params.is_empty() {
            ":\n"
        } else {
            "):\n"
        });
        for &inst in &data.insts {
            if let Some(data) = self.f.insts.get(inst) {
                self.instruction(data);
            }
        }
        self.terminator(data);
    }

    fn instruction(&mut self, data: &InstData) {
        self.out.push_str("  ");
        for (number, &result) in data.results.iter().enumerate() {
            if number > 0 {
                self.out.push_str(", ");
            }
            self.typed(result);
        }
        if !data.results.is_empty() {
            self.out.push_str(" = ");
        }
        self.op(&data.op, data.results.first().copied());
        self.values(&data.args);
        if let Some(guard) = data.guard {
            let not = if guard.negated { "!" } else { "" };
            put!(self, " if {not}{}", guard.value);
        }
        self.loc(data.loc);
        self.out.push('\n');
    }

    fn op(&mut self, op: &Op, result: Option<Value>) {
        match op {
            Op::Const(bits) => {
                let ty = result.and_then(|v| self.f.values.get(v)).map(|d| d.ty);
                put!(self, "const {}", literal(ty, *bits));
            }
            Op::Undef => self.out.push_str("undef"),
            Op::Unknown(id) => put!(self, "unknown {id}"),
            Op::SymbolAddress(symbol) => put!(self, "symbol {symbol}"),
            Op::Special(special) => put!(self, "special {}", names::special_name(*special)),
            Op::StageInput(index) => put!(self, "input {index}"),
            Op::Parameter(name) => put!(self, "parameter {}", quoted(name)),
            Op::Unary(op) => self.out.push_str(op.name()),
            Op::Binary(op, wrap) => {
                self.out.push_str(op.name());
                self.modifier(wrap.no_signed, "nsw");
                self.modifier(wrap.no_unsigned, "nuw");
                self.modifier(wrap.separate, "separate");
            }
            Op::IntCompare(condition) => put!(self, "icmp.{}", condition.name()),
            Op::FloatCompare(condition) => put!(self, "fcmp.{}", condition.name()),
            Op::Select => self.out.push_str("select"),
            Op::Fma => self.out.push_str("fma"),
            Op::Ternary(op) => self.out.push_str(op.name()),
            Op::Convert(kind) => self.out.push_str(kind.name()),
            Op::PtrAdd => self.out.push_str("ptr_add"),
            Op::Alloca { size, align } => put!(self, "alloca {size} {align}"),
            Op::Load(access) => {
                self.out.push_str("load");
                self.access(access);
            }
            Op::Store(access) => {
                self.out.push_str("store");
                self.access(access);
            }
            Op::Atomic(op, access) => {
                put!(self, "atomic.{}", op.name());
                self.access(access);
            }
            Op::ResourceElement { non_uniform_marked } => {
                self.out.push_str("resource_element");
                self.modifier(*non_uniform_marked, "nonuniform");
            }
            Op::Texture(access) => {
                put!(self, "texture.{}", names::texture_name(access.op));
                self.modifier(access.has_sampler, "sampler");
                self.modifier(access.has_offset, "offset");
                self.modifier(access.read_only, "read_only");
                let geometry = access.geometry.name();
                self.modifier(!geometry.is_empty(), geometry);
                let component =
                    ["red", "green", "blue", "alpha"].get(usize::from(access.component));
                if let (Some(component), 1..) = (component, access.component) {
                    self.modifier(true, component);
                }
                put!(self, " {}", access.coordinates);
            }
            Op::Warp(op) => {
                put!(self, "warp.{}", names::warp_name(op.kind));
                self.modifier(op.mask, "mask");
            }
            Op::Barrier(barrier) => put!(self, "barrier.{}", names::barrier_name(*barrier)),
            Op::Derivative(derivative) => put!(self, "derivative.{}", derivative.name()),
            Op::Fence => self.out.push_str("fence"),
            Op::Call(index) => put!(self, "call {index}"),
            Op::CallUnknown {
                name,
                pure,
                convention,
            } => {
                self.out.push_str("call_unknown");
                self.modifier(*pure, "pure");
                self.modifier(convention.into, "into");
                self.modifier(convention.structures, "structures");
                for half in &convention.halves {
                    put!(self, ".half{half}");
                }
                if convention.by_reference > 0 {
                    put!(self, ".references{}", convention.by_reference);
                }
                put!(self, " {}", quoted(name));
            }
            Op::Asm { template, pure } => {
                self.out.push_str("asm");
                self.modifier(*pure, "pure");
                put!(self, " {}", quoted(template));
            }
        }
    }

    fn access(&mut self, access: &MemoryAccess) {
        put!(self, ".{}", access.space.name());
        self.modifier(access.volatile, "volatile");
        self.modifier(access.read_only, "read_only");
        self.modifier(access.checked, "checked");
        self.modifier(access.untyped, "untyped");
        self.modifier(access.speculation == Some(Speculation::Ahead), "ahead");
        self.modifier(access.speculation == Some(Speculation::Check), "check");
    }

    fn terminator(&mut self, data: &BlockData) {
        self.out.push_str("  ");
        match &data.terminator {
            Terminator::None => self.out.push_str("open"),
            Terminator::Jump(edge) => {
                self.out.push_str("jump ");
                self.edge(edge);
            }
            Terminator::Branch {
                condition,
                then,
                otherwise,
                uniform,
            } => {
                self.out.push_str("branch");
                self.modifier(*uniform, "uniform");
                put!(self, " {condition}, ");
                self.edge(then);
                self.out.push_str(", ");
                self.edge(otherwise);
            }
            Terminator::Switch {
                value,
                cases,
                default,
            } => {
                put!(self, "switch {value} [");
                for (case, edge) in cases {
                    put!(self, "{case}: ");
                    self.edge(edge);
                    self.out.push_str(", ");
                }
                self.out.push_str("default: ");
                self.edge(default);
                self.out.push(']');
            }
            Terminator::Return(values) => {
                self.out.push_str("return");
                self.values(values);
            }
            Terminator::Kill => self.out.push_str("kill"),
            Terminator::Trap => self.out.push_str("trap"),
            Terminator::Unreachable => self.out.push_str("unreachable"),
        }
        if data.branch != BranchKind::Implied {
            put!(self, " as {}", data.branch.name());
        }
        self.loc(data.loc);
        self.out.push('\n');
    }

    fn edge(&mut self, edge: &Edge) {
        put!(self, "{}", edge.block);
        if !edge.args.is_empty() {
            self.out.push('(');
            self.list(&edge.args);
            self.out.push(')');
        }
    }

    fn binding(&mut self, binding: &Binding) {
        put!(
            self,
            "  bind {} {} {}",
            binding.variable,
            binding.kind.name(),
            binding.block
        );
        self.group(&binding.values);
        if !binding.part.is_empty() {
            put!(self, " {}", quoted(&binding.part));
        }
        self.loc(binding.loc);
        self.out.push('\n');
    }

    // ------------------------------------------------------------------------------------------ parts

    fn typed(&mut self, value: Value) {
        put!(self, "{value}");
        if let Some(data) = self.f.values.get(value) {
            put!(self, ": {}", data.ty);
        }
    }
    /// ` v1, v2`
    fn values(&mut self, values: &[Value]) {
        if !values.is_empty() {
            self.out.push(' ');
            self.list(values);
        }
    }
    fn list(&mut self, values: &[Value]) {
        for (number, value) in values.iter().enumerate() {
            put!(self, "{}{value}", if number == 0 { "" } else { ", " });
        }
    }
    /// ` (v1, v2)`
    fn group(&mut self, values: &[Value]) {
        self.out.push_str(" (");
        self.list(values);
        self.out.push(')');
    }
    fn flag(&mut self, set: bool, word: &str) {
        if set {
            put!(self, " {word}");
        }
    }
    fn modifier(&mut self, set: bool, word: &str) {
        if set {
            put!(self, ".{word}");
        }
    }
    fn loc(&mut self, loc: Loc) {
        if loc != Loc::NONE {
            put!(self, " @{:?}", loc.span);
            if loc.site.0 != 0 {
                put!(self, " {}", loc.site);
            }
        }
    }
}

/// A number that reads back as the same bits, or the bits themselves.
fn literal(ty: Option<Type>, bits: u64) -> String {
    let as_bits = || format!("{bits:#x}");
    let decimal = |value: f64, same: bool| {
        if same && value.is_finite() {
            format!("{value:?}")
        } else {
            as_bits()
        }
    };
    match ty {
        Some(Type::Bool) if bits <= 1 => if bits == 1 { "true" } else { "false" }.into(),
        Some(ty) if ty.is_int() => (bits as i64).to_string(),
        Some(Type::F32) => match u32::try_from(bits).map(f32::from_bits) {
            Ok(value) if value.is_finite() => format!("{value:?}"),
            _ => as_bits(),
        },
        Some(Type::F64) => decimal(f64::from_bits(bits), true),
        Some(Type::F16) => {
            let value = builder::f16_to_f32(bits as u16);
            decimal(value.into(), u64::from(builder::f32_to_f16(value)) == bits)
        }
        Some(Type::BF16) => {
            let value = f32::from_bits((bits as u32 & 0xffff) << 16);
            decimal(value.into(), u64::from(builder::f32_to_bf16(value)) == bits)
        }
        _ => as_bits(),
    }
}
