//! The rules that every function of the IR keeps, checked in linear time. Analyses may rely on them without a test.
//!
//! 1. `Layout`: the layout names existing blocks, each once, at least the entry; every instruction stands in one
//!    block at most.
//! 2. `Terminator`: every block of the layout ends in a terminator other than `None`; edges lead to blocks of the
//!    layout, never to the entry.
//! 3. `Reachable`: every block of the layout is reachable from the entry.
//! 4. `Definition`: a value is defined once, and its `ValueDef` says where.
//! 5. `Edge`: an edge has an argument for each parameter of its target, of the same type.
//! 6. `Dominance`: a definition dominates its uses: operands and guards at the instruction, edge arguments and
//!    selectors at the end of their block, a binding's values at the end of the binding's block.
//! 7. `Operands`: each operation has the number and the types of operands and results that `operands` lists.
//! 8. `Guard`: guards are `Bool` and stand on operations that have effects or read memory.
//! 9. `Constant`: integer literals are sign-extended, a `Bool` is 0 or 1, bits above a float's width are zero.
//! 10. `Switch`: the selector is an integer, case values are distinct literals of its type.
//! 11. `Return`: `Return` carries values of the types `Function::returns`.
//! 12. `Parameters`: the values of `Function::parameters` are the entry block's parameters, in order.
//! 13. `Index`: symbols, inputs, unknowns, sites, variables, called functions, values and instructions exist; sites
//!     come after their parents; loops' headers and bindings' blocks are in the layout; vectors and site arguments
//!     hold defined values.
//!
//! Stops at the first group of rules that later groups need (1, 2, 4 and 13 before the others); otherwise
//! reports every violation, in layout order. It does not check the behaviour of a program (races,
//! termination, bounds).

mod operands;
#[cfg(test)]
mod tests;

use crate::cfg::ControlFlow;
use crate::dominators::DominatorTree;
use crate::entity::{Block, Entity, EntityVec, Inst, Site, Value};
use crate::function::*;
use crate::inst::Op;
use crate::types::Type;
use rustc_hash::FxHashSet;
use smol_str::SmolStr;

/// A rule of the list above.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Rule {
    Layout,
    Terminator,
    Reachable,
    Definition,
    Edge,
    Dominance,
    Operands,
    Guard,
    Constant,
    Switch,
    Return,
    Parameters,
    Index,
}

/// One violation.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{function}: {place}: {detail} ({rule:?})")]
pub struct VerifyError {
    pub function: SmolStr,
    pub rule: Rule,
    pub place: Place,
    pub detail: String,
}

/// The place where a rule is broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    Function,
    /// The block as a whole, its parameters or its terminator.
    Block(Block),
    Inst(Block, Inst),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Function => f.write_str("function"),
            Place::Block(block) => write!(f, "{block}"),
            Place::Inst(block, inst) => write!(f, "{block} {inst}"),
        }
    }
}

/// Checks one function. Calls of other functions of its module are not looked into; see [`verify_module`].
pub fn verify(function: &Function) -> Result<(), Vec<VerifyError>> {
    Verifier::run(function, None)
}

/// Checks all functions of a module and the calls between them.
pub fn verify_module(module: &Module) -> Result<(), Vec<VerifyError>> {
    let mut errors = Vec::new();
    for function in &module.functions {
        if let Err(found) = Verifier::run(function, Some(module)) {
            errors.extend(found);
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

struct Verifier<'f> {
    function: &'f Function,
    module: Option<&'f Module>,
    /// The block of each value's definition, by layout.
    block_of: EntityVec<Value, Option<Block>>,
    /// Position of a value's definition in its block: 0 for parameters, 1 and up for instructions.
    position: EntityVec<Value, u32>,
    errors: Vec<VerifyError>,
}

impl<'f> Verifier<'f> {
    fn run(function: &'f Function, module: Option<&'f Module>) -> Result<(), Vec<VerifyError>> {
        let count = function.values.len();
        let mut verifier = Verifier {
            function,
            module,
            block_of: EntityVec::with_len(None, count),
            position: EntityVec::with_len(0, count),
            errors: Vec::new(),
        };
        verifier.layout();
        if verifier.errors.is_empty() {
            verifier.indices();
        }
        if verifier.errors.is_empty() {
            verifier.definitions();
            verifier.source_names();
        }
        if verifier.errors.is_empty() {
            let flow = ControlFlow::new(function);
            for &block in &function.layout {
                if !flow.is_reachable(block) {
                    verifier.block_error(Rule::Reachable, block, "is not reachable".into());
                }
            }
            verifier.blocks();
            verifier.dominance(&flow);
        }
        if verifier.errors.is_empty() {
            Ok(())
        } else {
            Err(verifier.errors)
        }
    }

    fn error(&mut self, rule: Rule, place: Place, detail: String) {
        let function = self.function.name.clone();
        self.errors.push(VerifyError {
            function,
            rule,
            place,
            detail,
        });
    }
    fn block_error(&mut self, rule: Rule, block: Block, detail: String) {
        self.error(rule, Place::Block(block), detail);
    }

    // ------------------------------------------------------------------------------------------ structure

    fn layout(&mut self) {
        let function = self.function;
        let mut seen = EntityVec::<Block, bool>::with_len(false, function.blocks.len());
        if function.layout.is_empty() {
            self.error(Rule::Layout, Place::Function, "no entry block".into());
        }
        for &block in &function.layout {
            if function.blocks.get(block).is_none() {
                self.block_error(Rule::Layout, block, "does not exist".into());
            } else if std::mem::replace(&mut seen[block], true) {
                self.block_error(Rule::Layout, block, "stands twice in the layout".into());
            }
        }
        if !self.errors.is_empty() {
            return;
        }
        let mut placed = EntityVec::<Inst, bool>::with_len(false, function.insts.len());
        for &block in &function.layout {
            let data = &function.blocks[block];
            for &inst in &data.insts {
                if function.insts.get(inst).is_none() {
                    self.block_error(Rule::Layout, block, format!("{inst} does not exist"));
                } else if std::mem::replace(&mut placed[inst], true) {
                    self.block_error(Rule::Layout, block, format!("{inst} stands twice"));
                }
            }
            if matches!(data.terminator, Terminator::None) {
                self.block_error(Rule::Terminator, block, "has no terminator".into());
            }
            for edge in data.terminator.edges() {
                if seen.get(edge.block) != Some(&true) {
                    let detail = format!("leads to {}, which is not in the layout", edge.block);
                    self.block_error(Rule::Terminator, block, detail);
                } else if edge.block == function.layout[0] {
                    self.block_error(Rule::Terminator, block, "leads to the entry".into());
                }
            }
        }
        // `ControlFlow` walks blocks outside of the layout too.
        for (block, data) in function.blocks.iter() {
            if seen[block] {
                continue;
            }
            for edge in data.terminator.edges() {
                if function.blocks.get(edge.block).is_none() {
                    self.block_error(
                        Rule::Terminator,
                        block,
                        format!("leads to {}, which does not exist", edge.block),
                    );
                }
            }
        }
    }

    /// Everything that a later pass indexes with.
    fn indices(&mut self) {
        let function = self.function;
        let site_exists = |loc: Loc| function.sites.get(loc.site).is_some() || loc == Loc::NONE;
        let value_exists = |value: &Value| function.values.get(*value).is_some();
        for &block in &function.layout {
            let data = &function.blocks[block];
            if let Some(value) = data.params.iter().find(|v| !value_exists(v)) {
                self.block_error(Rule::Index, block, format!("{value} does not exist"));
            }
            if !site_exists(data.loc) {
                self.block_error(Rule::Index, block, format!("no {}", data.loc.site));
            }
            let selector = data.terminator.selector();
            let returned = match &data.terminator {
                Terminator::Return(values) => values.as_slice(),
                _ => &[],
            };
            let edges = data.terminator.edges();
            let mut used = edges
                .iter()
                .flat_map(|edge| &edge.args)
                .chain(&selector)
                .chain(returned);
            if let Some(value) = used.find(|v| !value_exists(v)) {
                self.block_error(Rule::Index, block, format!("{value} does not exist"));
            }
            for &inst in &data.insts {
                let inst_data = &function.insts[inst];
                let place = Place::Inst(block, inst);
                let guard = inst_data.guard.map(|g| g.value);
                let mut used = inst_data
                    .args
                    .iter()
                    .chain(&inst_data.results)
                    .chain(&guard);
                if let Some(value) = used.find(|v| !value_exists(v)) {
                    self.error(Rule::Index, place, format!("{value} does not exist"));
                }
                if !site_exists(inst_data.loc) {
                    let detail = format!("no {}", inst_data.loc.site);
                    self.error(Rule::Index, place, detail);
                }
                let missing = match &inst_data.op {
                    Op::SymbolAddress(symbol) if function.symbols.get(*symbol).is_none() => {
                        Some(symbol.to_string())
                    }
                    Op::Unknown(id) if function.unknowns.get(*id).is_none() => Some(id.to_string()),
                    Op::StageInput(index) if function.inputs.len() <= *index as usize => {
                        Some(format!("input {index}"))
                    }
                    Op::Call(index)
                        if self
                            .module
                            .is_some_and(|m| m.functions.len() <= *index as usize) =>
                    {
                        Some(format!("function {index}"))
                    }
                    _ => None,
                };
                if let Some(missing) = missing {
                    self.error(Rule::Index, place, format!("{missing} does not exist"));
                }
            }
        }
        let outside = function
            .parameters
            .iter()
            .flat_map(|p| &p.values)
            .chain(function.bindings.iter().flat_map(|b| &b.values))
            .chain(function.vectors.iter().flatten())
            .chain(
                function
                    .sites
                    .values()
                    .flat_map(|site| site.arguments.iter().flat_map(|(_, values)| values)),
            )
            .find(|v| !value_exists(v));
        if let Some(value) = outside {
            self.error(
                Rule::Index,
                Place::Function,
                format!("{value} does not exist"),
            );
        }
        let locations = function
            .parameters
            .iter()
            .map(|p| p.loc)
            .chain(function.variables.values().map(|v| v.declared))
            .chain(function.bindings.iter().map(|b| b.loc))
            .chain(function.loops.iter().map(|l| l.loc))
            .chain(function.sites.values().map(|s| s.call))
            .chain(function.unknowns.values().map(|u| u.loc));
        for loc in locations {
            if !site_exists(loc) {
                self.error(Rule::Index, Place::Function, format!("no {}", loc.site));
            }
        }
    }

    fn definitions(&mut self) {
        let function = self.function;
        for &block in &function.layout {
            let data = &function.blocks[block];
            for (number, &param) in data.params.iter().enumerate() {
                self.define(
                    param,
                    ValueDef::Param(block, number as u32),
                    Place::Block(block),
                    0,
                );
            }
            for (at, &inst) in data.insts.iter().enumerate() {
                for (number, &result) in function.insts[inst].results.iter().enumerate() {
                    self.define(
                        result,
                        ValueDef::Result(inst, number as u16),
                        Place::Inst(block, inst),
                        at as u32 + 1,
                    );
                }
            }
        }
    }

    fn define(&mut self, value: Value, def: ValueDef, place: Place, position: u32) {
        let (Place::Block(block) | Place::Inst(block, _)) = place else {
            return;
        };
        if self.block_of[value].is_some() {
            self.error(
                Rule::Definition,
                place,
                format!("{value} is defined a second time"),
            );
        } else if self.function.values[value].def != def {
            let detail = format!(
                "{value} says that it is {:?}",
                self.function.values[value].def
            );
            self.error(Rule::Definition, place, detail);
        }
        self.block_of[value] = Some(block);
        self.position[value] = position;
    }

    /// Parameters, bindings, loops, sites, vectors.
    fn source_names(&mut self) {
        let function = self.function;
        let declared = function.parameters.iter().flat_map(|p| &p.values);
        let entry = &function.blocks[function.layout[0]].params;
        if !declared.eq(entry) {
            self.error(
                Rule::Parameters,
                Place::Function,
                "parameters and the entry block's parameters differ".into(),
            );
        }
        let mut in_layout = EntityVec::<Block, bool>::with_len(false, function.blocks.len());
        for &block in &function.layout {
            in_layout[block] = true;
        }
        for binding in &function.bindings {
            if function.variables.get(binding.variable).is_none() {
                let detail = format!("{} does not exist", binding.variable);
                self.error(Rule::Index, Place::Function, detail);
            }
            if in_layout.get(binding.block) != Some(&true) {
                let detail = format!("a binding in {}, outside of the layout", binding.block);
                self.error(Rule::Index, Place::Function, detail);
            }
        }
        for source_loop in &function.loops {
            if in_layout.get(source_loop.header) != Some(&true) {
                let detail = format!("loop header {} is outside", source_loop.header);
                self.error(Rule::Index, Place::Function, detail);
            }
        }
        for (site, data) in function.sites.iter() {
            let parent_before = data.parent.is_none_or(|p| p < site);
            let root = site == Site::new(0);
            if !parent_before || root && data.parent.is_some() {
                let detail = format!("{site} stands before its parent");
                self.error(Rule::Index, Place::Function, detail);
            }
        }
        let grouped = function.vectors.iter().flatten().chain(
            function
                .sites
                .values()
                .flat_map(|site| site.arguments.iter().flat_map(|(_, values)| values)),
        );
        let undefined: Vec<Value> = grouped
            .copied()
            .filter(|&v| self.block_of[v].is_none())
            .collect();
        for value in undefined {
            let detail = format!("{value} of a vector or a site is never defined");
            self.error(Rule::Index, Place::Function, detail);
        }
    }

    // ------------------------------------------------------------------------------------------ types

    fn blocks(&mut self) {
        let function = self.function;
        for &block in &function.layout {
            let data = &function.blocks[block];
            for &inst in &data.insts {
                self.instruction(block, inst);
            }
            for edge in data.terminator.edges() {
                let params = &function.blocks[edge.block].params;
                if params.len() != edge.args.len() {
                    let detail = format!(
                        "passes {} values to {}, which takes {}",
                        edge.args.len(),
                        edge.block,
                        params.len()
                    );
                    self.block_error(Rule::Edge, block, detail);
                }
                for (&param, &arg) in params.iter().zip(&edge.args) {
                    let (want, got) = (function.ty(param), function.ty(arg));
                    if want != got {
                        let detail = format!("passes {arg}: {got} as {param}: {want}");
                        self.block_error(Rule::Edge, block, detail);
                    }
                }
            }
            self.terminator(block, &data.terminator);
        }
    }

    fn terminator(&mut self, block: Block, terminator: &Terminator) {
        let function = self.function;
        match terminator {
            Terminator::Branch { condition, .. } => {
                if function.ty(*condition) != Type::Bool {
                    let detail = format!("condition {condition} is not Bool");
                    self.block_error(Rule::Operands, block, detail);
                }
            }
            Terminator::Switch { value, cases, .. } => {
                let ty = function.ty(*value);
                if !ty.is_int() && ty != Type::Bool {
                    let detail = format!("selector {value} is a {ty}");
                    self.block_error(Rule::Switch, block, detail);
                }
                let mut seen = FxHashSet::default();
                for (case, _) in cases {
                    if !seen.insert(*case) {
                        self.block_error(Rule::Switch, block, format!("case {case} twice"));
                    }
                    if !is_canonical(ty, *case as u64) {
                        self.block_error(Rule::Switch, block, format!("case {case} is no {ty}"));
                    }
                }
            }
            Terminator::Return(values) => {
                let got = values.iter().map(|&v| function.ty(v));
                if !got.eq(function.returns.iter().copied()) {
                    let detail = "returns other types than the function".to_string();
                    self.block_error(Rule::Return, block, detail);
                }
            }
            Terminator::None
            | Terminator::Jump(_)
            | Terminator::Kill
            | Terminator::Trap
            | Terminator::Unreachable => {}
        }
    }

    fn instruction(&mut self, block: Block, inst: Inst) {
        let data = &self.function.insts[inst];
        let place = Place::Inst(block, inst);
        if let Op::Const(bits) = data.op
            && let Some(&result) = data.results.first()
            && !is_canonical(self.function.ty(result), bits)
        {
            let detail = format!("{bits:#x} is no canonical {}", self.function.ty(result));
            self.error(Rule::Constant, place, detail);
        }
        if let Some(guard) = data.guard {
            if self.function.ty(guard.value) != Type::Bool {
                self.error(Rule::Guard, place, format!("{} is not Bool", guard.value));
            }
            let effects = data.op.has_effect()
                || data.op.reads_memory()
                || matches!(data.op, Op::CallUnknown { .. } | Op::Asm { .. });
            if !effects {
                self.error(Rule::Guard, place, "a pure operation has a guard".into());
            }
        }
        if let Err(detail) = operands::check(self.function, self.module, data) {
            self.error(Rule::Operands, place, detail);
        }
    }

    // ------------------------------------------------------------------------------------------ dominance

    fn dominance(&mut self, flow: &ControlFlow) {
        let function = self.function;
        let dominators = DominatorTree::dominators(flow);
        for &block in function.layout.iter().filter(|&&b| flow.is_reachable(b)) {
            let data = &function.blocks[block];
            for (at, &inst) in data.insts.iter().enumerate() {
                let inst_data = &function.insts[inst];
                let guard = inst_data.guard.map(|g| g.value);
                for &value in inst_data.args.iter().chain(&guard) {
                    let place = Place::Inst(block, inst);
                    self.available(&dominators, value, block, at as u32 + 1, place);
                }
            }
            let edges = data.terminator.edges();
            let selector = data.terminator.selector();
            let returned = match &data.terminator {
                Terminator::Return(values) => values.as_slice(),
                _ => &[],
            };
            let used = edges
                .iter()
                .flat_map(|edge| &edge.args)
                .chain(&selector)
                .chain(returned);
            for &value in used {
                self.available(&dominators, value, block, u32::MAX, Place::Block(block));
            }
        }
        for binding in &function.bindings {
            if flow.is_reachable(binding.block) {
                for &value in &binding.values {
                    let place = Place::Block(binding.block);
                    self.available(&dominators, value, binding.block, u32::MAX, place);
                }
            }
        }
    }

    /// Checks that `value` is defined before position `at` of `block` on every path.
    fn available(
        &mut self,
        dominators: &DominatorTree,
        value: Value,
        block: Block,
        at: u32,
        place: Place,
    ) {
        let dominated = match self.block_of[value] {
            Some(def) if def == block => self.position[value] < at,
            Some(def) => dominators.strictly_dominates(def, block),
            None => false,
        };
        if !dominated {
            let detail = format!("{value} is used where its definition does not dominate");
            self.error(Rule::Dominance, place, detail);
        }
    }
}

/// Returns true if `bits` is the one representation of its literal.
pub(crate) fn is_canonical(ty: Type, bits: u64) -> bool {
    match ty {
        Type::Bool => bits <= 1,
        Type::I8 => bits as i8 as i64 as u64 == bits,
        Type::I16 => bits as i16 as i64 as u64 == bits,
        Type::I32 => bits as i32 as i64 as u64 == bits,
        Type::I40 => crate::numbers::canonical(ty, bits) == bits,
        Type::F16 | Type::BF16 => bits <= u64::from(u16::MAX),
        Type::F32 => bits <= u64::from(u32::MAX),
        Type::I64 | Type::F64 | Type::Ptr(_) | Type::Handle | Type::Opaque => true,
    }
}
