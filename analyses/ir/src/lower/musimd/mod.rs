//! µ-SIMD to IR.
//!
//! - Integers are I64 and stand for ℤ: arithmetic carries the no-signed-wrap flag.
//! - Variables that are read and never written are parameters of the function.
//! - The memory Σ is the shared symbol `memory` of unknown size; cell x is the 8 bytes at `memory + 8*x`.
//! - `bz` and `bnz` branch on the variable's comparison with 0, or on the comparison that the variable holds when it was
//!   computed in the same block.
//! - `sync` is `Barrier::MicroSimd`; each γ and η implies one. γ is a select; μ is resolved on the edges: the first
//!   row on edges from above, the further rows on edges from below in text order (the last row when there are more
//!   edges than rows).
//!
//! Linear; no recursion.

#[cfg(test)]
mod tests;

use crate::builder::{FunctionBuilder, Slot};
use crate::entity::{Block, Value, Variable};
use crate::function::*;
use crate::inst::*;
use crate::types::{Space, Type};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use syntax::musimd::*;
use syntax::{Problem, Span};

/// Lowers a program to a module of one kernel. Problems of the parse are in the program.
pub fn lower(program: &Program, name: &str) -> (Module, Vec<Problem>) {
    let mut lowering = Lowering {
        b: FunctionBuilder::new(name, FunctionKind::Kernel, Language::MicroSimd),
        program,
        variables: FxHashMap::default(),
        comparisons: FxHashMap::default(),
        blocks: Vec::new(),
        memory: None,
        problems: Vec::new(),
    };
    lowering.run();
    let module = Module {
        functions: vec![lowering.b.finish()],
    };
    (module, lowering.problems)
}

/// The name of the symbol that stands for Σ.
pub const MEMORY: &str = "memory";
/// Bytes of a cell of Σ.
pub const CELL: u32 = 8;

struct Lowering<'a> {
    b: FunctionBuilder,
    program: &'a Program,
    variables: FxHashMap<&'a SmolStr, (Slot, Variable)>,
    /// Values that are a comparison's result as 0 or 1, and the comparison.
    comparisons: FxHashMap<Value, Value>,
    /// The block that begins at an instruction.
    blocks: Vec<Option<Block>>,
    memory: Option<Value>,
    problems: Vec<Problem>,
}

impl<'a> Lowering<'a> {
    fn run(&mut self) {
        let program = self.program;
        let end = program.instructions.last().map_or(0, |i| i.span.end);
        self.b.function.span = Span::new(0, end);
        for parameter in program.parameters() {
            self.b.set_loc(Loc::here(parameter.span));
            let values = self
                .b
                .parameter(parameter.text.clone(), "integer", &[Type::I64]);
            let text = program
                .instructions
                .iter()
                .flat_map(|i| i.kind.operands())
                .filter_map(Operand::variable)
                .find(|name| name.text == parameter.text);
            let Some(name) = text else { continue };
            let (slot, variable) = self.declare(name, VariableKind::Parameter);
            self.b.write(slot, values[0]);
            self.b.bind(
                variable,
                BindingKind::Declaration,
                &values,
                "",
                Loc::here(parameter.span),
            );
        }
        self.make_blocks();
        let entry = self.b.function.entry();
        let start = self.b.create_block();
        self.b.switch_to(entry);
        self.b.jump(start);
        self.b.switch_to(start);
        let first = self.blocks.first().copied().flatten();
        if let Some(first) = first {
            self.edge(None, first, 0);
        }
        for number in 0..program.instructions.len() {
            if let Some(block) = self.blocks[number] {
                if !self.b.is_terminated() {
                    self.edge(number.checked_sub(1), block, number);
                }
                self.b.switch_to(block);
                self.comparisons.clear();
            }
            self.instruction(number);
        }
        if !self.b.is_terminated() {
            self.b.ret([]);
        }
    }

    fn declare(&mut self, name: &'a Name, kind: VariableKind) -> (Slot, Variable) {
        if let Some(&known) = self.variables.get(&name.text) {
            return known;
        }
        let slot = self.b.slot(Type::I64);
        let variable = self
            .b
            .variable(name.text.clone(), "integer", kind, Loc::here(name.span));
        self.variables.insert(&name.text, (slot, variable));
        (slot, variable)
    }

    /// A block begins at instruction 0, at every target, after every branch, and at every μ.
    fn make_blocks(&mut self) {
        let instructions = &self.program.instructions;
        let mut begins = vec![false; instructions.len()];
        if let Some(first) = begins.first_mut() {
            *first = true;
        }
        for (number, instruction) in instructions.iter().enumerate() {
            if let Some(at) = instruction.kind.target().and_then(|t| t.instruction) {
                begins[at as usize] = true;
            }
            let ends = instruction.kind.target().is_some()
                || matches!(instruction.kind, InstructionKind::Stop);
            if ends && let Some(next) = begins.get_mut(number + 1) {
                *next = true;
            }
            if matches!(instruction.kind, InstructionKind::Mu { .. }) {
                begins[number] = true;
            }
        }
        self.blocks = begins
            .into_iter()
            .map(|begins| begins.then(|| self.b.create_block()))
            .collect();
        // Backward targets head loops.
        let mut headers: Vec<usize> = instructions
            .iter()
            .enumerate()
            .filter_map(|(number, i)| Some((number, i.kind.target()?.instruction? as usize)))
            .filter(|&(number, at)| at <= number)
            .map(|(_, at)| at)
            .collect();
        headers.sort_unstable();
        headers.dedup();
        for at in headers {
            if let Some(header) = self.blocks[at] {
                self.b.function.loops.push(SourceLoop {
                    header,
                    loc: Loc::here(instructions[at].span),
                    unroll: None,
                    pipeline: None,
                    independent: false,
                });
            }
        }
    }
    /// Jumps from instruction `from` (`None`: the start) to the block at instruction `to`, choosing μ's row.
    fn edge(&mut self, from: Option<usize>, block: Block, to: usize) {
        let loc = self.b.loc();
        if let Some(InstructionKind::Mu { results, rows }) =
            self.program.instructions.get(to).map(|i| &i.kind)
        {
            let row = match from {
                Some(from) if from >= to => {
                    // Its number among the edges from below.
                    let earlier = self.program.instructions[to..from]
                        .iter()
                        .filter(|i| i.kind.target().and_then(|t| t.instruction) == Some(to as u32))
                        .count();
                    1 + earlier
                }
                _ => 0,
            };
            if let Some(row) = rows.get(row).or(rows.last()) {
                let values: Vec<Value> = row.iter().map(|operand| self.read(operand)).collect();
                for (result, value) in results.iter().zip(values) {
                    let (slot, _) = self.declare(result, VariableKind::Register);
                    self.b.write(slot, value);
                }
            }
        }
        self.b.set_loc(loc);
        self.b.jump(block);
    }

    fn read(&mut self, operand: &'a Operand) -> Value {
        match operand {
            Operand::Tid(_) => self.b.special(Special::MicroSimdTid, Type::I64),
            Operand::Literal(value, _) => self.b.int(Type::I64, *value),
            Operand::Variable(name) => {
                let (slot, variable) = self.declare(name, VariableKind::Register);
                let value = self.b.read(slot);
                self.b.bind(
                    variable,
                    BindingKind::Read,
                    &[value],
                    "",
                    Loc::here(name.span),
                );
                value
            }
        }
    }
    fn write(&mut self, name: &'a Name, value: Value) {
        let (slot, variable) = self.declare(name, VariableKind::Register);
        self.b.write(slot, value);
        self.b.bind(
            variable,
            BindingKind::Assignment,
            &[value],
            "",
            Loc::here(name.span),
        );
    }
    fn address(&mut self, operand: &'a Operand) -> Value {
        let cell = self.read(operand);
        let memory = match self.memory {
            Some(memory) => memory,
            None => {
                let symbol = self.b.symbol(SymbolData {
                    name: MEMORY.into(),
                    space: Space::Shared,
                    kind: SymbolKind::Memory,
                    size: None,
                    align: CELL,
                    read_only: false,
                    initial: None,
                    resource_array: None,
                    definition: Default::default(),
                });
                let current = self.b.current();
                let entry = self.b.function.entry();
                self.b.switch_to(entry);
                let address = self.b.symbol_address(symbol);
                self.b.switch_to(current);
                self.memory = Some(address);
                address
            }
        };
        let width = self.b.int(Type::I64, i64::from(CELL));
        let offset = self.b.binary(BinaryOp::Mul, UNBOUNDED, cell, width);
        self.b.ptr_add(memory, offset)
    }

    fn instruction(&mut self, number: usize) {
        let instruction = &self.program.instructions[number];
        self.b.set_loc(Loc::here(instruction.span));
        let access = MemoryAccess::in_space(Space::Shared);
        match &instruction.kind {
            InstructionKind::BranchZero { condition, target } => {
                self.branch(number, condition, target, true);
            }
            InstructionKind::BranchNotZero { condition, target } => {
                self.branch(number, condition, target, false);
            }
            InstructionKind::Jump { target } => match target.instruction {
                Some(to) => {
                    if let Some(block) = self.blocks[to as usize] {
                        self.edge(Some(number), block, to as usize);
                    }
                }
                None => self.nowhere(target),
            },
            InstructionKind::Load { result, address } => {
                let address = self.address(address);
                let value = self.b.load(access, address, Type::I64);
                self.write(result, value);
            }
            InstructionKind::Store { address, value } => {
                let address = self.address(address);
                let value = self.read(value);
                self.b.store(access, address, &[value]);
            }
            InstructionKind::Atomic {
                result,
                address,
                increment,
            } => {
                let address = self.address(address);
                let increment = self.read(increment);
                let old = self.b.value(
                    Op::Atomic(AtomicOp::Add, access),
                    &[address, increment],
                    Type::I64,
                );
                let new = self.b.binary(BinaryOp::Add, UNBOUNDED, old, increment);
                self.write(result, new);
            }
            InstructionKind::Binary {
                result,
                operator,
                left,
                right,
            } => {
                let left = self.read(left);
                let right = self.read(right);
                let value = match operation(*operator) {
                    Operation::Arithmetic(op) => self.b.binary(op, UNBOUNDED, left, right),
                    Operation::Comparison(condition) => {
                        let holds = self.b.int_compare(condition, left, right);
                        let value = self.b.convert(Convert::ZeroExtend, holds, Type::I64);
                        self.comparisons.insert(value, holds);
                        value
                    }
                };
                self.write(result, value);
            }
            InstructionKind::Copy { result, value } => {
                let value = self.read(value);
                self.write(result, value);
            }
            InstructionKind::Sync => self.sync(),
            InstructionKind::Stop => {
                if !self.b.is_terminated() {
                    self.b.ret([]);
                }
            }
            InstructionKind::Mu { results, .. } => {
                // The edges have written the rows; this names the merged values.
                for result in results {
                    let (slot, _) = self.declare(result, VariableKind::Register);
                    let value = self.b.read(slot);
                    self.write(result, value);
                }
            }
            InstructionKind::Gamma {
                results,
                predicate,
                if_true,
                if_false,
            } => {
                self.sync();
                let holds = self.condition(predicate);
                let values: Vec<Value> = if_true
                    .iter()
                    .zip(if_false)
                    .map(|(yes, no)| {
                        let yes = self.read(yes);
                        let no = self.read(no);
                        self.b.select(holds, yes, no)
                    })
                    .collect();
                for (result, value) in results.iter().zip(values) {
                    self.write(result, value);
                }
            }
            InstructionKind::Eta {
                results,
                predicate,
                values,
            } => {
                self.sync();
                self.read(predicate);
                let values: Vec<Value> = values.iter().map(|value| self.read(value)).collect();
                for (result, value) in results.iter().zip(values) {
                    self.write(result, value);
                }
            }
            InstructionKind::Invalid { results } => {
                let id = self.b.note_unknown("an instruction that is not µ-SIMD");
                let types = vec![Type::I64; results.len()];
                let inst = self.b.inst(Op::Unknown(id), &[], &types);
                let values: Vec<Value> = self.b.results(inst).to_vec();
                for (result, value) in results.iter().zip(values) {
                    self.write(result, value);
                }
            }
        }
    }

    fn sync(&mut self) {
        self.b.inst(Op::Barrier(Barrier::MicroSimd), &[], &[]);
    }

    /// Returns the condition that the operand is not zero.
    fn condition(&mut self, operand: &'a Operand) -> Value {
        let value = self.read(operand);
        if let Some(&holds) = self.comparisons.get(&value) {
            return holds;
        }
        let zero = self.b.int(Type::I64, 0);
        self.b.int_compare(IntCondition::NotEqual, value, zero)
    }

    fn branch(&mut self, number: usize, condition: &'a Operand, target: &'a Target, zero: bool) {
        let holds = self.condition(condition);
        let Some(to) = target.instruction.map(|to| to as usize) else {
            self.nowhere(target);
            return;
        };
        // Edges of their own, so that a μ at one end sees its row on that edge only.
        let taken = self.b.create_block();
        let falls = self.b.create_block();
        let (then, otherwise) = if zero { (falls, taken) } else { (taken, falls) };
        self.b.branch(holds, then, otherwise, BranchKind::Jump);
        self.b.switch_to(taken);
        if let Some(block) = self.blocks[to] {
            self.edge(Some(number), block, to);
        }
        // Stays current: the next instruction's block, or the end.
        self.b.switch_to(falls);
    }

    fn nowhere(&mut self, target: &Target) {
        let reason = format!("a branch to `{}`, which does not exist", target.label.text);
        self.problems
            .push(Problem::unsupported(target.label.span, reason.clone()));
        self.b.note_unknown(reason);
    }
}

/// ℤ does not wrap around; negative numbers do as unsigned ones.
const UNBOUNDED: Wrap = Wrap::NO_SIGNED;

enum Operation {
    Arithmetic(BinaryOp),
    Comparison(IntCondition),
}

fn operation(operator: Operator) -> Operation {
    use Operation::{Arithmetic, Comparison};
    match operator {
        Operator::Add => Arithmetic(BinaryOp::Add),
        Operator::Sub => Arithmetic(BinaryOp::Sub),
        Operator::Mul => Arithmetic(BinaryOp::Mul),
        Operator::Div => Arithmetic(BinaryOp::DivSigned),
        Operator::Rem => Arithmetic(BinaryOp::RemSigned),
        Operator::And => Arithmetic(BinaryOp::And),
        Operator::Or => Arithmetic(BinaryOp::Or),
        Operator::Xor => Arithmetic(BinaryOp::Xor),
        Operator::ShiftLeft => Arithmetic(BinaryOp::Shl),
        Operator::ShiftRight => Arithmetic(BinaryOp::ShrSigned),
        Operator::Less => Comparison(IntCondition::LessSigned),
        Operator::LessEqual => Comparison(IntCondition::LessEqualSigned),
        Operator::Greater => Comparison(IntCondition::GreaterSigned),
        Operator::GreaterEqual => Comparison(IntCondition::GreaterEqualSigned),
        Operator::Equal => Comparison(IntCondition::Equal),
        Operator::NotEqual => Comparison(IntCondition::NotEqual),
    }
}
