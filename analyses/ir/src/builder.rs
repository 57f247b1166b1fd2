//! Builds functions. A lowering writes blocks and instructions in any order and treats mutable variables as
//! `Slot`s that it reads and writes; `finish` turns slots into block parameters: pruned SSA by iterated dominance
//! frontiers (Cytron et al. 1991; liveness by a walk back from the upward-exposed reads), then drops unreachable blocks and parameters
//! that always receive the same value.
//!
//! Linear in the size of the function but for the block parameters themselves; no recursion.

use crate::cfg::ControlFlow;
use crate::dominators::DominatorTree;
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
    /// What a slot holds at the end of a block as far as it is written.
    content: FxHashMap<(Block, Slot), Value>,
}

impl FunctionBuilder {
    /// A function with an empty entry block, which is current.
    pub fn new(name: impl Into<SmolStr>, kind: FunctionKind, language: Language) -> Self {
        let mut builder = FunctionBuilder {
            function: Function {
                name: name.into(),
                kind,
                language,
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
                sites: EntityVec::new(),
                unknowns: EntityVec::new(),
                name_span: Span::default(),
                span: Span::default(),
            },
            slots: Vec::new(),
            events: EntityVec::new(),
            current: Block(0),
            loc: Loc::NONE,
            constants: FxHashMap::default(),
            content: FxHashMap::default(),
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
    /// Whether the current block has its terminator: what follows is unreachable until `switch_to`.
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
        Slot(self.slots.len() as u32 - 1)
    }
    pub fn slot_type(&self, slot: Slot) -> Type {
        self.slots[slot.0 as usize]
    }
    pub fn write(&mut self, slot: Slot, value: Value) {
        self.content.insert((self.current, slot), value);
        self.events[self.current].push(Event::Write(slot, value));
    }
    /// The slot's content here. The value returned may be replaced by the one that it turns out to be; it can be used
    /// everywhere (operands, edges, bindings) until `finish`.
    pub fn read(&mut self, slot: Slot) -> Value {
        if let Some(&value) = self.content.get(&(self.current, slot)) {
            return value;
        }
        let ty = self.slot_type(slot);
        let value = self.function.values.push(ValueData {
            ty,
            def: ValueDef::Param(self.current, u32::MAX),
        });
        self.content.insert((self.current, slot), value);
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
        let inst = self.function.insts.push(InstData {
            op: Op::Const(bits),
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
        // Constants of the entry block come first, so that they dominate everything.
        let entry = self.function.entry();
        let at = self.constants.len();
        self.function.blocks[entry].insts.insert(at, inst);
        self.constants.insert((ty, bits), value);
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
            loc,
        })
    }
    pub fn symbol(&mut self, symbol: SymbolData) -> crate::entity::Symbol {
        self.function.symbols.push(symbol)
    }
    pub fn symbol_address(&mut self, symbol: crate::entity::Symbol) -> Value {
        let data = &self.function.symbols[symbol];
        let ty = match data.kind {
            SymbolKind::Memory | SymbolKind::Buffer => Type::Ptr(data.space),
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

    // -------------------------------------------------------------------------------------------- the end

    /// The finished function: slots are gone, unreachable blocks too. Blocks without a terminator end in
    /// `Unreachable`; use `ret` where the language returns at the end of a body.
    pub fn finish(mut self) -> Function {
        for block in self.function.blocks.keys() {
            if matches!(self.function.blocks[block].terminator, Terminator::None) {
                self.function.blocks[block].terminator = Terminator::Unreachable;
            }
        }
        let flow = ControlFlow::new(&self.function);
        self.function.layout = flow.order.clone();
        let dominators = DominatorTree::dominators(&flow);
        let frontiers = dominance_frontiers(&flow, &dominators);
        let merges = self.place_parameters(&flow, &frontiers);
        let replaced = self.rename(&flow, &dominators, &merges);
        self.resolve(&flow, replaced);
        for block in self.function.blocks.keys() {
            if !flow.is_reachable(block) {
                let data = &mut self.function.blocks[block];
                data.insts.clear();
                data.params.clear();
                data.terminator = Terminator::Unreachable;
            }
        }
        self.function
            .bindings
            .retain(|binding| flow.is_reachable(binding.block));
        self.function.loops.retain(|l| flow.is_reachable(l.header));
        // Values that went with unreachable blocks are no part of anything.
        let blocks = self.function.definition_blocks();
        let defined = |values: &[Value]| values.iter().all(|&v| blocks[v].is_some());
        self.function.vectors.retain(|values| defined(values));
        for site in self.function.sites.keys() {
            self.function.sites[site]
                .arguments
                .retain(|(_, values)| defined(values));
        }
        self.function
    }

    /// The slots that need a parameter in each block.
    fn place_parameters(
        &mut self,
        flow: &ControlFlow,
        frontiers: &EntityVec<Block, SmallVec<[Block; 2]>>,
    ) -> EntityVec<Block, Vec<(Slot, Value)>> {
        let mut exposed: Vec<Vec<Block>> = vec![Vec::new(); self.slots.len()];
        let mut writers: Vec<Vec<Block>> = vec![Vec::new(); self.slots.len()];
        let mut touched: FxHashMap<Slot, bool> = FxHashMap::default();
        for &block in &flow.order {
            touched.clear();
            for event in &self.events[block] {
                match *event {
                    Event::Read(slot, _) => {
                        if touched.insert(slot, false).is_none() {
                            exposed[slot.0 as usize].push(block);
                        } else if let Some(wrote) = touched.get(&slot) {
                            let wrote = *wrote;
                            touched.insert(slot, wrote);
                        }
                    }
                    Event::Write(slot, _) => {
                        if touched.insert(slot, true) != Some(true) {
                            writers[slot.0 as usize].push(block);
                        }
                    }
                }
            }
        }
        let count = self.function.blocks.len();
        let mut merges = EntityVec::with_len(Vec::new(), count);
        let mut live: EntityVec<Block, u32> = EntityVec::with_len(u32::MAX, count);
        let mut placed: EntityVec<Block, u32> = EntityVec::with_len(u32::MAX, count);
        let mut writes: EntityVec<Block, u32> = EntityVec::with_len(u32::MAX, count);
        for slot in 0..self.slots.len() as u32 {
            let mut work = exposed[slot as usize].clone();
            if work.is_empty() {
                continue;
            }
            for &block in &writers[slot as usize] {
                writes[block] = slot;
            }
            for &block in &work {
                live[block] = slot;
            }
            while let Some(block) = work.pop() {
                for &before in &flow.predecessors[block] {
                    if live[before] != slot && writes[before] != slot {
                        live[before] = slot;
                        work.push(before);
                    }
                }
            }
            let mut work = writers[slot as usize].clone();
            while let Some(block) = work.pop() {
                for &join in &frontiers[block] {
                    if placed[join] != slot && live[join] == slot {
                        placed[join] = slot;
                        let value = self.block_param(join, self.slots[slot as usize]);
                        merges[join].push((Slot(slot), value));
                        work.push(join);
                    }
                }
            }
        }
        merges
    }

    /// Walks the dominator tree; says for every pending value what it is, and fills in the edges' arguments.
    fn rename(
        &mut self,
        flow: &ControlFlow,
        dominators: &DominatorTree,
        merges: &EntityVec<Block, Vec<(Slot, Value)>>,
    ) -> FxHashMap<Value, Value> {
        let mut replaced: FxHashMap<Value, Value> = FxHashMap::default();
        let mut content: Vec<Option<Value>> = vec![None; self.slots.len()];
        let mut undone: Vec<(Slot, Option<Value>)> = Vec::new();
        let mut marks: Vec<(u32, usize)> = Vec::new();
        let mut undefined: FxHashMap<Slot, Value> = FxHashMap::default();
        for &block in dominators.preorder() {
            let depth = dominators.depth(block);
            while marks.last().is_some_and(|&(d, _)| d >= depth) {
                if let Some((_, mark)) = marks.pop() {
                    for (slot, old) in undone.drain(mark..).rev() {
                        content[slot.0 as usize] = old;
                    }
                }
            }
            marks.push((depth, undone.len()));
            let mut set = |content: &mut Vec<Option<Value>>, slot: Slot, value: Value| {
                undone.push((slot, content[slot.0 as usize]));
                content[slot.0 as usize] = Some(value);
            };
            for &(slot, value) in &merges[block] {
                set(&mut content, slot, value);
            }
            for event in std::mem::take(&mut self.events[block]) {
                match event {
                    Event::Write(slot, value) => set(&mut content, slot, value),
                    Event::Read(slot, value) => {
                        let now = match content[slot.0 as usize] {
                            Some(now) => now,
                            None => self.undefined(slot, &mut undefined),
                        };
                        replaced.insert(value, now);
                    }
                }
            }
            let mut terminator = std::mem::replace(
                &mut self.function.blocks[block].terminator,
                Terminator::None,
            );
            for edge in terminator.edges_mut() {
                for &(slot, _) in &merges[edge.block] {
                    let now = match content[slot.0 as usize] {
                        Some(now) => now,
                        None => self.undefined(slot, &mut undefined),
                    };
                    edge.args.push(now);
                }
            }
            self.function.blocks[block].terminator = terminator;
        }
        debug_assert!(flow.order.len() == dominators.preorder().len());
        replaced
    }

    fn undefined(&mut self, slot: Slot, undefined: &mut FxHashMap<Slot, Value>) -> Value {
        if let Some(&value) = undefined.get(&slot) {
            return value;
        }
        let ty = self.slots[slot.0 as usize];
        let inst = self.function.insts.push(InstData {
            op: Op::Undef,
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
        let entry = self.function.entry();
        let at = self.constants.len();
        self.function.blocks[entry].insts.insert(at, inst);
        undefined.insert(slot, value);
        value
    }

    /// Replaces pending values everywhere and removes parameters that always receive one value.
    fn resolve(&mut self, flow: &ControlFlow, mut replaced: FxHashMap<Value, Value>) {
        let follow = |replaced: &FxHashMap<Value, Value>, mut value: Value| {
            while let Some(&next) = replaced.get(&value) {
                value = next;
            }
            value
        };
        // A parameter whose arguments are itself and one other value is that value; removing one can make another such.
        let entry = self.function.entry();
        loop {
            let mut incoming: FxHashMap<Value, Option<Value>> = FxHashMap::default();
            for &block in &flow.order {
                for edge in self.function.blocks[block].terminator.edges() {
                    for (&param, &arg) in self.function.blocks[edge.block]
                        .params
                        .iter()
                        .zip(&edge.args)
                    {
                        let arg = follow(&replaced, arg);
                        if arg == param || replaced.contains_key(&param) {
                            continue;
                        }
                        incoming
                            .entry(param)
                            .and_modify(|seen| {
                                if *seen != Some(arg) {
                                    *seen = None
                                }
                            })
                            .or_insert(Some(arg));
                    }
                }
            }
            let mut changed = false;
            for &block in flow.order.iter().filter(|&&b| b != entry) {
                for &param in &self.function.blocks[block].params {
                    if let Some(&Some(only)) = incoming.get(&param)
                        && !replaced.contains_key(&param)
                        && follow(&replaced, only) != param
                    {
                        replaced.insert(param, only);
                        changed = true;
                    }
                }
            }
            if !changed {
                break;
            }
        }
        for &block in &flow.order {
            let keep: Vec<bool> = self.function.blocks[block]
                .params
                .iter()
                .map(|p| block == entry || !replaced.contains_key(p))
                .collect();
            if keep.iter().all(|&k| k) {
                continue;
            }
            let mut flags = keep.iter();
            self.function.blocks[block]
                .params
                .retain(|_| *flags.next().unwrap_or(&true));
            for before in flow.predecessors[block].clone() {
                for edge in self.function.blocks[before].terminator.edges_mut() {
                    if edge.block == block {
                        let mut flags = keep.iter();
                        edge.args.retain(|_| *flags.next().unwrap_or(&true));
                    }
                }
            }
            for (number, param) in self.function.blocks[block]
                .params
                .clone()
                .into_iter()
                .enumerate()
            {
                self.function.values[param].def = ValueDef::Param(block, number as u32);
            }
        }
        let resolve = |value: &mut Value| *value = follow(&replaced, *value);
        for inst in self.function.insts.keys() {
            let data = &mut self.function.insts[inst];
            data.args.iter_mut().for_each(resolve);
            if let Some(guard) = &mut data.guard {
                resolve(&mut guard.value);
            }
        }
        for &block in &flow.order {
            let terminator = &mut self.function.blocks[block].terminator;
            match terminator {
                Terminator::Branch { condition, .. } => resolve(condition),
                Terminator::Switch { value, .. } => resolve(value),
                Terminator::Return(values) => values.iter_mut().for_each(resolve),
                _ => {}
            }
            for edge in terminator.edges_mut() {
                edge.args.iter_mut().for_each(resolve);
            }
        }
        for binding in &mut self.function.bindings {
            binding.values.iter_mut().for_each(resolve);
        }
        for vector in &mut self.function.vectors {
            vector.iter_mut().for_each(resolve);
        }
        for site in self.function.sites.keys() {
            for (_, values) in &mut self.function.sites[site].arguments {
                values.iter_mut().for_each(resolve);
            }
        }
    }
}

/// Dominance frontiers (Cooper, Harvey and Kennedy 2001, figure 5).
fn dominance_frontiers(
    flow: &ControlFlow,
    dominators: &DominatorTree,
) -> EntityVec<Block, SmallVec<[Block; 2]>> {
    let mut frontiers: EntityVec<Block, SmallVec<[Block; 2]>> =
        EntityVec::with_len(SmallVec::new(), flow.successors.len());
    for &join in &flow.order {
        let before = &flow.predecessors[join];
        // A header reached by one edge from outside and its own back edge has two predecessors; the entry has none.
        if before.len() < 2 && (join != flow.order[0] || before.is_empty()) {
            continue;
        }
        let stop = dominators.immediate(join);
        for &from in before {
            let mut runner = Some(from);
            while runner != stop {
                let Some(block) = runner else { break };
                if frontiers[block].last() != Some(&join) {
                    frontiers[block].push(join);
                }
                runner = dominators.immediate(block);
            }
        }
    }
    frontiers
}

/// IEEE binary16, rounded to nearest even.
pub fn f32_to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = ((bits >> 16) & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude >= 0x7f80_0000 {
        return sign | 0x7c00 | if magnitude > 0x7f80_0000 { 0x200 } else { 0 };
    }
    if magnitude >= 0x4780_0000 {
        return sign | 0x7c00;
    }
    if magnitude < 0x3880_0000 {
        // Subnormal: the value is a multiple of 2^-24; scaling is exact in f64.
        let scaled = f64::from(f32::from_bits(magnitude)) * 16_777_216.0;
        return sign | round_half_even(scaled) as u16;
    }
    let rebased = magnitude - 0x3800_0000;
    let rounded = rebased + 0x0fff + ((rebased >> 13) & 1);
    sign | (rounded >> 13) as u16
}

/// The exact value of an IEEE binary16.
pub fn f16_to_f32(bits: u16) -> f32 {
    let sign = if bits & 0x8000 != 0 { -1.0f32 } else { 1.0 };
    let exponent = (bits >> 10) & 0x1f;
    let fraction = f32::from(bits & 0x3ff);
    match exponent {
        0 => sign * fraction * (-24f32).exp2(),
        31 => {
            if fraction == 0.0 {
                sign * f32::INFINITY
            } else {
                f32::NAN
            }
        }
        _ => sign * (1.0 + fraction / 1024.0) * (f32::from(exponent) - 15.0).exp2(),
    }
}

/// bfloat16, rounded to nearest even.
pub fn f32_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) as u16
}

fn round_half_even(value: f64) -> u64 {
    let floor = value.floor();
    let up = value - floor > 0.5 || (value - floor == 0.5 && floor % 2.0 == 1.0);
    floor as u64 + u64::from(up)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::Entity;

    #[test]
    fn a_loop_variable_becomes_a_header_parameter_and_an_invariant_does_not() {
        let mut b = FunctionBuilder::new("f", FunctionKind::Kernel, Language::Text);
        let n = b.parameter("n", "int", &[Type::I32])[0];
        let (i, k) = (b.slot(Type::I32), b.slot(Type::I32));
        let zero = b.int(Type::I32, 0);
        b.write(i, zero);
        b.write(k, n);
        let (header, body, exit) = (b.create_block(), b.create_block(), b.create_block());
        b.jump(header);
        b.switch_to(header);
        let (iv, kv) = (b.read(i), b.read(k));
        let go = b.int_compare(IntCondition::LessSigned, iv, kv);
        b.branch(go, body, exit, BranchKind::Loop);
        b.switch_to(body);
        let one = b.int(Type::I32, 1);
        let iv = b.read(i);
        let next = b.binary(BinaryOp::Add, Wrap::MAY, iv, one);
        b.write(i, next);
        b.jump(header);
        b.switch_to(exit);
        let last = b.read(i);
        b.ret([last]);
        let f = b.finish();
        assert_eq!(f.blocks[header].params.len(), 1);
        let param = f.blocks[header].params[0];
        assert_eq!(
            f.blocks[exit].terminator,
            Terminator::Return(smallvec![param])
        );
        assert_eq!(
            f.defining(go).map(|d| d.args.to_vec()),
            Some(vec![param, n])
        );
        assert_eq!(
            f.blocks[Entity::new(0)].terminator,
            Terminator::Jump(Edge {
                block: header,
                args: smallvec![zero]
            })
        );
    }

    #[test]
    fn half_conversion_is_exact_on_all_halves() {
        for bits in 0..=u16::MAX {
            let value = f16_to_f32(bits);
            if !value.is_nan() {
                assert_eq!(f32_to_f16(value), bits);
            }
        }
        assert_eq!(f32_to_f16(65520.0), 0x7c00);
        assert_eq!(f32_to_f16(2f32.powi(-25) * 1.5), 1);
    }
}
