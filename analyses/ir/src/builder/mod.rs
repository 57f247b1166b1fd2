//! Builds functions. A lowering writes blocks and instructions in any order and treats mutable variables as
//! `Slot`s that it reads and writes; `finish` turns slots into block parameters (see `ssa`) and drops unreachable blocks
//! and parameters that always receive the same value. No recursion.

mod float;
mod ssa;

pub use float::{f16_to_f32, f32_to_bf16, f32_to_f16};

use crate::entity::{Block, EntityVec, Inst, Site, UnknownId, Value};
use crate::function::*;
use crate::inst::*;
use crate::types::{Space, Type};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use smol_str::SmolStr;
use syntax::Span;

/// A mutable scalar while a function is built.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Slot(u32);

#[derive(Clone, Copy, Debug)]
enum Event {
    Read(Slot, Value),
    Write(Slot, Value),
}

#[derive(Clone, Debug)]
pub struct FunctionBuilder {
    pub function: Function,
    slots: Vec<Type>,
    events: EntityVec<Block, Vec<Event>>,
    current: Block,
    loc: Loc,
    constants: FxHashMap<(Type, u64), Value>,
    /// Constants and undefined values: the entry's first instructions, so that they dominate everything.
    leading: Vec<Inst>,
    /// Indexed by slot: the block in which it was read or written last, and its value there. Going back to a
    /// block forgets what it knew, which costs a pending value and changes nothing.
    content: Vec<Option<(Block, Value)>>,
}

impl FunctionBuilder {
    /// A function with an empty entry block, which is current.
    pub fn new(name: impl Into<SmolStr>, kind: FunctionKind, language: Language) -> Self {
        let mut builder = FunctionBuilder {
            function: Function {
                name: name.into(),
                kind,
                language,
                internal: false,
                variadic: false,
                convention: Convention::default(),
                narrow_addresses: false,
                parameters: Vec::new(),
                returns: Vec::new(),
                launch: LaunchShape::default(),
                blocks: EntityVec::new(),
                layout: Vec::new(),
                insts: EntityVec::new(),
                values: EntityVec::new(),
                symbols: EntityVec::new(),
                inputs: Vec::new(),
                variables: EntityVec::new(),
                bindings: Vec::new(),
                vectors: Vec::new(),
                loops: Vec::new(),
                promises: Vec::new(),
                sites: EntityVec::new(),
                statics: Vec::new(),
                reached: Vec::new(),
                unknowns: EntityVec::new(),
                name_span: Span::default(),
                span: Span::default(),
            },
            slots: Vec::new(),
            events: EntityVec::new(),
            current: Block(0),
            loc: Loc::NONE,
            constants: FxHashMap::default(),
            leading: Vec::new(),
            content: Vec::new(),
        };
        let name = builder.function.name.clone();
        builder.function.sites.push(SiteData {
            item: None,
            callee: name,
            call: Loc::NONE,
            parent: None,
            arguments: vec![],
        });
        builder.create_block();
        builder
    }

    // -------------------------------------------------------------------------------------------- positions

    /// The place that following instructions get.
    pub fn set_loc(&mut self, loc: Loc) {
        self.loc = loc;
    }
    pub fn loc(&self) -> Loc {
        self.loc
    }
    pub fn push_site(&mut self, site: SiteData) -> Site {
        self.function.sites.push(site)
    }

    // -------------------------------------------------------------------------------------------- blocks

    pub fn create_block(&mut self) -> Block {
        self.events.push(Vec::new());
        let block = self.function.blocks.push(BlockData {
            params: Vec::new(),
            insts: Vec::new(),
            terminator: Terminator::None,
            loc: Loc::NONE,
            branch: BranchKind::Implied,
        });
        self.function.layout.push(block);
        block
    }
    pub fn current(&self) -> Block {
        self.current
    }
    pub fn switch_to(&mut self, block: Block) {
        self.current = block;
    }
    /// Returns true if the current block has its terminator: following instructions are unreachable until
    /// `switch_to`.
    pub fn is_terminated(&self) -> bool {
        !matches!(
            self.function.blocks[self.current].terminator,
            Terminator::None
        )
    }
    /// Ends the current block; ignored when it has ended already.
    pub fn terminate(&mut self, terminator: Terminator, kind: BranchKind) {
        if !self.is_terminated() {
            let loc = self.loc;
            let data = &mut self.function.blocks[self.current];
            data.terminator = terminator;
            data.loc = loc;
            data.branch = kind;
        }
    }
    pub fn jump(&mut self, target: Block) {
        self.terminate(Terminator::Jump(Edge::to(target)), BranchKind::Implied);
    }
    pub fn branch(&mut self, condition: Value, then: Block, otherwise: Block, kind: BranchKind) {
        let terminator = Terminator::Branch {
            condition,
            then: Edge::to(then),
            otherwise: Edge::to(otherwise),
            uniform: false,
        };
        self.terminate(terminator, kind);
    }
    pub fn ret(&mut self, values: impl IntoIterator<Item = Value>) {
        self.terminate(
            Terminator::Return(values.into_iter().collect()),
            BranchKind::Implied,
        );
    }
    pub fn block_param(&mut self, block: Block, ty: Type) -> Value {
        let index = self.function.blocks[block].params.len() as u32;
        let value = self.function.values.push(ValueData {
            ty,
            def: ValueDef::Param(block, index),
        });
        self.function.blocks[block].params.push(value);
        value
    }
    /// A function parameter: scalars become entry-block parameters.
    pub fn parameter(
        &mut self,
        name: impl Into<SmolStr>,
        type_text: impl Into<SmolStr>,
        types: &[Type],
    ) -> SmallVec<[Value; 1]> {
        let entry = self.function.entry();
        let values: SmallVec<[Value; 1]> = types
            .iter()
            .map(|&ty| self.block_param(entry, ty))
            .collect();
        self.function.parameters.push(ParameterInfo {
            name: name.into(),
            type_text: type_text.into(),
            values: values.clone(),
            read_only: false,
            no_alias: false,
            loc: self.loc,
        });
        values
    }

    // -------------------------------------------------------------------------------------------- slots

    pub fn slot(&mut self, ty: Type) -> Slot {
        self.slots.push(ty);
        self.content.push(None);
        Slot(self.slots.len() as u32 - 1)
    }
    pub fn slot_type(&self, slot: Slot) -> Type {
        self.slots[slot.0 as usize]
    }
    pub fn write(&mut self, slot: Slot, value: Value) {
        self.content[slot.0 as usize] = Some((self.current, value));
        self.events[self.current].push(Event::Write(slot, value));
    }
    /// The slot's content here. The value returned may be replaced by the one that it turns out to be; it can be used
    /// everywhere (operands, edges, bindings) until `finish`.
    pub fn read(&mut self, slot: Slot) -> Value {
        if let Some((block, value)) = self.content[slot.0 as usize]
            && block == self.current
        {
            return value;
        }
        let ty = self.slot_type(slot);
        let value = self.function.values.push(ValueData {
            ty,
            def: ValueDef::Param(self.current, u32::MAX),
        });
        self.content[slot.0 as usize] = Some((self.current, value));
        self.events[self.current].push(Event::Read(slot, value));
        value
    }

    // -------------------------------------------------------------------------------------------- instructions

    pub fn inst(&mut self, op: Op, args: &[Value], results: &[Type]) -> Inst {
        self.guarded(op, args, results, None)
    }
    pub fn guarded(
        &mut self,
        op: Op,
        args: &[Value],
        results: &[Type],
        guard: Option<Guard>,
    ) -> Inst {
        let inst = self.function.insts.push(InstData {
            op,
            args: SmallVec::from_slice(args),
            results: SmallVec::new(),
            guard,
            loc: self.loc,
        });
        for (number, &ty) in results.iter().enumerate() {
            let value = self.function.values.push(ValueData {
                ty,
                def: ValueDef::Result(inst, number as u16),
            });
            self.function.insts[inst].results.push(value);
        }
        self.function.blocks[self.current].insts.push(inst);
        inst
    }
    /// An instruction with one result.
    pub fn value(&mut self, op: Op, args: &[Value], ty: Type) -> Value {
        let inst = self.inst(op, args, &[ty]);
        self.function.insts[inst].results[0]
    }
    pub fn results(&self, inst: Inst) -> &[Value] {
        &self.function.insts[inst].results
    }
    /// An integer constant; one instruction of the entry block a distinct constant.
    pub fn int(&mut self, ty: Type, value: i64) -> Value {
        let bits = match ty {
            Type::Bool => (value & 1) as u64,
            Type::I8 => value as i8 as i64 as u64,
            Type::I16 => value as i16 as i64 as u64,
            Type::I32 => value as i32 as i64 as u64,
            _ => value as u64,
        };
        self.constant(ty, bits)
    }
    pub fn bool(&mut self, value: bool) -> Value {
        self.constant(Type::Bool, value as u64)
    }
    /// A constant from its bit pattern as `Op::Const` defines it.
    pub fn constant(&mut self, ty: Type, bits: u64) -> Value {
        if let Some(&value) = self.constants.get(&(ty, bits)) {
            return value;
        }
        let value = self.leading_value(Op::Const(bits), ty);
        self.constants.insert((ty, bits), value);
        value
    }
    fn leading_value(&mut self, op: Op, ty: Type) -> Value {
        let inst = self.function.insts.push(InstData {
            op,
            args: SmallVec::new(),
            results: SmallVec::new(),
            guard: None,
            loc: Loc::NONE,
        });
        let value = self.function.values.push(ValueData {
            ty,
            def: ValueDef::Result(inst, 0),
        });
        self.function.insts[inst].results.push(value);
        self.leading.push(inst);
        value
    }
    pub fn float(&mut self, ty: Type, value: f64) -> Value {
        let bits = match ty {
            Type::F32 => (value as f32).to_bits() as u64,
            Type::F64 => value.to_bits(),
            Type::F16 => f32_to_f16(value as f32) as u64,
            Type::BF16 => f32_to_bf16(value as f32) as u64,
            _ => value as i64 as u64,
        };
        self.constant(ty, bits)
    }
    pub fn undef(&mut self, ty: Type) -> Value {
        self.value(Op::Undef, &[], ty)
    }
    pub fn unary(&mut self, op: UnaryOp, a: Value) -> Value {
        let ty = self.function.ty(a);
        self.value(Op::Unary(op), &[a], ty)
    }
    pub fn binary(&mut self, op: BinaryOp, wrap: Wrap, a: Value, b: Value) -> Value {
        let ty = self.function.ty(a);
        self.value(Op::Binary(op, wrap), &[a, b], ty)
    }
    pub fn int_compare(&mut self, condition: IntCondition, a: Value, b: Value) -> Value {
        self.value(Op::IntCompare(condition), &[a, b], Type::Bool)
    }
    pub fn float_compare(&mut self, condition: FloatCondition, a: Value, b: Value) -> Value {
        self.value(Op::FloatCompare(condition), &[a, b], Type::Bool)
    }
    pub fn select(&mut self, condition: Value, a: Value, b: Value) -> Value {
        let ty = self.function.ty(a);
        self.value(Op::Select, &[condition, a, b], ty)
    }
    pub fn convert(&mut self, kind: Convert, a: Value, ty: Type) -> Value {
        self.value(Op::Convert(kind), &[a], ty)
    }
    pub fn special(&mut self, special: Special, ty: Type) -> Value {
        self.value(Op::Special(special), &[], ty)
    }
    pub fn ptr_add(&mut self, base: Value, offset: Value) -> Value {
        let ty = self.function.ty(base);
        self.value(Op::PtrAdd, &[base, offset], ty)
    }
    pub fn load(&mut self, access: MemoryAccess, address: Value, ty: Type) -> Value {
        self.value(Op::Load(access), &[address], ty)
    }
    pub fn store(&mut self, access: MemoryAccess, address: Value, values: &[Value]) -> Inst {
        let mut args: SmallVec<[Value; 4]> = smallvec![address];
        args.extend_from_slice(values);
        self.inst(Op::Store(access), &args, &[])
    }
    /// A value that stands for something not understood, with the operands that could be lowered.
    pub fn unknown(&mut self, reason: impl Into<String>, args: &[Value], ty: Type) -> Value {
        let id = self.note_unknown(reason);
        self.value(Op::Unknown(id), args, ty)
    }
    pub fn note_unknown(&mut self, reason: impl Into<String>) -> UnknownId {
        let loc = self.loc;
        self.function.unknowns.push(Unknown {
            reason: reason.into(),
            assigns: false,
            loc,
        })
    }
    pub fn symbol(&mut self, symbol: SymbolData) -> crate::entity::Symbol {
        self.function.symbols.push(symbol)
    }
    pub fn symbol_address(&mut self, symbol: crate::entity::Symbol) -> Value {
        let data = &self.function.symbols[symbol];
        let ty = match data.kind {
            SymbolKind::Memory | SymbolKind::Buffer | SymbolKind::Function => Type::Ptr(data.space),
            _ => Type::Handle,
        };
        self.value(Op::SymbolAddress(symbol), &[], ty)
    }
    pub fn alloca(&mut self, size: u32, align: u32) -> Value {
        self.value(Op::Alloca { size, align }, &[], Type::Ptr(Space::Local))
    }

    // -------------------------------------------------------------------------------------------- source names

    pub fn variable(
        &mut self,
        name: impl Into<SmolStr>,
        type_text: impl Into<SmolStr>,
        kind: VariableKind,
        declared: Loc,
    ) -> crate::entity::Variable {
        self.function.variables.push(VariableData {
            name: name.into(),
            type_text: type_text.into(),
            declared,
            kind,
        })
    }
    pub fn bind(
        &mut self,
        variable: crate::entity::Variable,
        kind: BindingKind,
        values: &[Value],
        part: impl Into<SmolStr>,
        loc: Loc,
    ) {
        let block = self.current;
        self.function.bindings.push(Binding {
            variable,
            kind,
            values: SmallVec::from_slice(values),
            part: part.into(),
            loc,
            block,
        });
    }
    /// Remembers that these values were one vector of the source.
    pub fn vector(&mut self, values: &[Value]) {
        if values.len() > 1 {
            self.function.vectors.push(SmallVec::from_slice(values));
        }
    }
}

#[cfg(test)]
mod tests;
