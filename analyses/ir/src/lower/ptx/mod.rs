//! PTX to IR: one `.entry` or `.func` with the functions that it calls inlined.
//!
//! - Registers are slots of their declared width (`.b`, `.u` and `.s` are integers, `.f32` and `.f64` floats); an
//!   instruction of another type of the same width reads them through a bitcast. `finish` makes SSA of them.
//! - A pure instruction under a guard selects between the new and the old value; one with effects carries the guard;
//!   a guarded branch, return, exit or call becomes control flow.
//! - Integers wrap. Products of `mul.wide` can't.
//! - Addresses are integers as in PTX: a base register is bitcast to a pointer of the access's space where it is used.
//!   A 32-bit address is zero-extended first. The shared, local and parameter windows lie below 2^32, so that
//!   a consumer may follow the address of such an access modulo 2^32.
//! - Scalar parameters of an entry are function parameters. Structures, and parameters whose address is taken, are
//!   symbols in `Constant` space. `.param` variables of calls are cells by offset, never memory: the values that a call
//!   passes stay visible.
//! - Matrix, bulk copy and barrier-object operations are known and opaque: `Op::Asm` with the instruction as
//!   template, their results differ between lanes. An unknown operation is `Op::Unknown` with a problem.
//!
//! Linear in the instructions after inlining, which is limited (`MAX_INLINED` statements, `MAX_DEPTH` calls deep).
//! Rounding modes, `.ftz`, cache operators and memory scopes are not represented; `.relaxed`, `.acquire`
//! and `.release` accesses are volatile.

mod call;
mod convert;
mod data;
mod float;
mod integer;
mod memory;
mod opaque;
pub mod opcodes;
pub(crate) mod operand;
pub mod registers;
mod scope;
#[cfg(test)]
mod tests;
mod texture;
mod types;
mod warp;

use crate::builder::{FunctionBuilder, Slot};
use crate::entity::{Block, Site, Symbol, Value};
use crate::function::*;
use crate::inst::*;
use crate::types::{Space, Type};
use rustc_hash::{FxHashMap, FxHashSet};
use scope::{Frame, Label, Named, Parameter};
use smallvec::SmallVec;
use smol_str::SmolStr;
use syntax::ptx::*;
use syntax::{ItemKey, Problem, Span};

/// Statements that inlining may add to one function.
const MAX_INLINED: usize = 10_000;
/// Calls inside calls that are inlined.
const MAX_DEPTH: usize = 16;
/// Bytes of an initialiser that are kept.
const MAX_INITIAL: u64 = 1 << 16;

/// A lowered item. Problems are relative to the item; the parser's own problems are in the tree.
#[derive(Clone, PartialEq, Debug)]
pub struct Lowered {
    pub module: Module,
    pub problems: Vec<Problem>,
}

/// The parts of its file that a function sees.
pub struct Unit<'a> {
    pub declarations: &'a PtxDeclarations,
    /// The tree of a function with a body, for inlining.
    pub definition: &'a dyn Fn(&ItemKey) -> Option<&'a PtxFunction>,
}

impl std::fmt::Debug for Unit<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unit").finish_non_exhaustive()
    }
}

/// Lowers one `.entry` or `.func`.
pub fn lower<'a>(item: &'a PtxFunction, span: Span, unit: &'a Unit<'a>) -> Lowered {
    let kind = if item.entry {
        FunctionKind::Kernel
    } else {
        FunctionKind::Device
    };
    let mut builder = FunctionBuilder::new(item.name.text.clone(), kind, Language::Ptx);
    builder.function.name_span = item.name.span;
    builder.function.span = span;
    builder.function.launch = launch_shape(item);
    let mut lowering = Lowering {
        b: builder,
        unit,
        functions: &unit.declarations.functions_by_name,
        variables: &unit.declarations.variables_by_name,
        symbols: FxHashMap::default(),
        problems: Vec::new(),
        reported: FxHashSet::default(),
        carry: None,
        parameters: Vec::new(),
        frames: Vec::new(),
        inlined: 0,
        guard: None,
        returns: Vec::new(),
    };
    lowering.item(item);
    let problems = lowering.problems;
    Lowered {
        module: Module {
            functions: vec![lowering.b.finish()],
        },
        problems,
    }
}

/// A whole file: every function with a body, in text order. The convenience of tests and batch tools; an editor
/// parses and lowers by item.
pub fn lower_text(text: &str) -> Vec<(PtxItemText, PtxItem, Lowered)> {
    let items = split_items(text);
    let declarations = declarations(text, &items);
    let trees: Vec<PtxItem> = items
        .iter()
        .map(|item| {
            parse_item(
                text.get(item.start as usize..item.end as usize)
                    .unwrap_or(""),
            )
        })
        .collect();
    let by_key: FxHashMap<&ItemKey, &PtxFunction> = items
        .iter()
        .zip(&trees)
        .filter_map(|(item, tree)| match &tree.kind {
            PtxItemKind::Function(function) => Some((&item.key, &**function)),
            _ => None,
        })
        .collect();
    let definition = |key: &ItemKey| by_key.get(key).copied();
    let unit = Unit {
        declarations: &declarations,
        definition: &definition,
    };
    let lowered: Vec<Option<Lowered>> = trees
        .iter()
        .map(|tree| match &tree.kind {
            PtxItemKind::Function(function) if function.body.is_some() => {
                Some(lower(function, tree.span, &unit))
            }
            _ => None,
        })
        .collect();
    items
        .into_iter()
        .zip(trees)
        .zip(lowered)
        .filter_map(|((item, tree), lowered)| Some((item, tree, lowered?)))
        .collect()
}

struct Lowering<'a> {
    b: FunctionBuilder,
    unit: &'a Unit<'a>,
    /// Functions by name: an index into the unit's declarations.
    functions: &'a FxHashMap<SmolStr, usize>,
    /// Module variables by name: declaration and declarator.
    variables: &'a FxHashMap<SmolStr, (usize, usize)>,
    symbols: FxHashMap<SmolStr, Symbol>,
    problems: Vec<Problem>,
    /// Names already reported as undeclared.
    reported: FxHashSet<SmolStr>,
    /// The condition-code register's carry flag.
    carry: Option<Slot>,
    /// `.param` variables of functions and calls.
    parameters: Vec<Parameter>,
    /// The function and the calls being inlined, innermost last.
    frames: Vec<Frame<'a>>,
    inlined: usize,
    /// The guard of the instruction being lowered.
    guard: Option<crate::inst::Guard>,
    /// The item's own return variables.
    returns: Vec<usize>,
}

/// `None`: the operands do not have the shape that the opcode wants.
type Done = Option<()>;

impl<'a> Lowering<'a> {
    fn item(&mut self, item: &'a PtxFunction) {
        self.frames.push(Frame::new(item, Site(0), None));
        let taken = addresses_taken(item);
        for parameter in &item.parameters {
            self.own_parameter(item, parameter, &taken);
        }
        for declaration in &item.returns {
            self.declare(declaration);
            if let Some(declarator) = declaration.declarators.first()
                && let Some(Named::Parameter(number)) = self.lookup(&declarator.name.text)
            {
                self.returns.push(number);
            }
        }
        let start = self.b.create_block();
        self.b.jump(start);
        self.b.switch_to(start);
        self.body();
        self.b.set_loc(Loc::NONE);
        self.function_return();
        self.frames.pop();
    }

    /// Parameters of the item itself, as opposed to those of an inlined call.
    fn own_parameter(
        &mut self,
        item: &'a PtxFunction,
        declaration: &'a VariableDeclaration,
        taken: &FxHashSet<SmolStr>,
    ) {
        let Some(declarator) = declaration.declarators.first() else {
            return;
        };
        let name = declarator.name.text.clone();
        let loc = Loc::here(declarator.name.span);
        self.b.set_loc(loc);
        let text = format!(".{}", declaration.type_name);
        let element = declaration.element_bytes().unwrap_or(8);
        let scalar = declarator.dimensions.is_empty() && declaration.vector == 1;
        let kind = types::scalar(&declaration.type_name);
        let variable = self
            .b
            .variable(name.clone(), text.as_str(), VariableKind::Parameter, loc);
        if matches!(
            declaration.type_name.as_str(),
            "texref" | "samplerref" | "surfref"
        ) {
            let symbol = self.module_symbol(declaration, declarator);
            self.frames[0].declare(name, Named::Symbol(symbol));
            return;
        }
        let size = declarator.bytes(element);
        if item.entry && (!scalar || taken.contains(&name)) {
            let symbol = self.b.symbol(SymbolData {
                name: name.clone(),
                space: Space::Constant,
                kind: SymbolKind::Memory,
                size: size.and_then(|size| u32::try_from(size).ok()),
                align: declaration.align.unwrap_or(element),
                read_only: true,
                initial: None,
                resource_array: None,
                definition: Default::default(),
            });
            self.frames[0].declare(name, Named::Symbol(symbol));
            return;
        }
        let mut ty = kind.map_or(Type::I64, types::Scalar::container);
        if item.entry
            && let Some(pointer) = declaration.pointer
            && ty == Type::I64
        {
            ty = Type::Ptr(match pointer.space {
                Some(StorageSpace::Global) => Space::Global,
                Some(StorageSpace::Shared) => Space::Shared,
                Some(StorageSpace::Constant) => Space::Constant,
                _ => Space::Generic,
            });
        }
        let (ty, count) = if scalar {
            (ty, 1)
        } else if element < 4 && size.is_some_and(|size| size % 4 == 0) {
            (Type::I32, size.unwrap_or(0) / 4)
        } else {
            (ty, size.unwrap_or(0) / u64::from(ty.bytes()))
        };
        let types = vec![ty; count.min(1024) as usize];
        let values = self.b.parameter(name.clone(), text.as_str(), &types);
        self.b
            .bind(variable, BindingKind::Declaration, &values, "", loc);
        if declaration.space == StorageSpace::Register {
            let slot = self.b.slot(ty);
            if let Some(&value) = values.first() {
                self.b.write(slot, value);
            }
            let register = scope::Register {
                slots: SmallVec::from_slice(&[slot]),
                variable,
            };
            self.frames[0].declare(name, Named::Register(register));
            return;
        }
        let number = self.new_parameter(size.unwrap_or(0) as u32, ty);
        for (index, &value) in values.iter().enumerate() {
            let integer = self.as_integer(value);
            self.write_cell(number, index as u32 * ty.bytes(), integer);
        }
        self.frames[0].declare(name, Named::Parameter(number));
    }

    /// The statements of the innermost frame's function.
    fn body(&mut self) {
        let Some(function) = self.frames.last().map(|frame| frame.function) else {
            return;
        };
        self.collect_labels(function);
        for statement in function.statements() {
            let site = self.site();
            self.b.set_loc(Loc {
                span: statement.span,
                site,
            });
            match &statement.kind {
                StatementKind::Label(name) => self.enter_label(name),
                StatementKind::Declaration(declaration) => self.declare(declaration),
                StatementKind::Open => self.open_scope(),
                StatementKind::Close => self.close_scope(),
                StatementKind::Instruction(instruction) => {
                    if self.b.is_terminated() {
                        // Code after a jump without a label is unreachable.
                        let block = self.b.create_block();
                        self.b.switch_to(block);
                    }
                    self.instruction(instruction);
                }
                StatementKind::Invalid(names) => self.invalid(names),
                StatementKind::Location(_)
                | StatementKind::BranchTargets(_)
                | StatementKind::CallTargets(_)
                | StatementKind::CallPrototype { .. }
                | StatementKind::Directive(_) => {}
            }
        }
    }

    /// The parser has reported the problem. Every register that the statement names may have changed.
    fn invalid(&mut self, names: &[Name]) {
        let id = self.b.note_unknown("a statement that is not PTX");
        if self.b.is_terminated() {
            let block = self.b.create_block();
            self.b.switch_to(block);
        }
        for name in names {
            if let Some(Named::Register(register)) = self.lookup(&name.text) {
                for &slot in &register.slots {
                    let ty = self.b.slot_type(slot);
                    let value = self.b.value(Op::Unknown(id), &[], ty);
                    self.b.write(slot, value);
                }
            }
        }
    }

    fn site(&self) -> Site {
        self.frames.last().map_or(Site(0), |frame| frame.site)
    }

    fn enter_label(&mut self, name: &Name) {
        if let Some(Label::Block(block)) = self.label(&name.text) {
            self.b.jump(block);
            self.b.switch_to(block);
        }
    }

    fn instruction(&mut self, i: &'a Instruction) {
        self.guard = None;
        if let Some(guard) = &i.guard {
            let value = self.read_name(&guard.predicate, Type::Bool, false);
            self.guard = Some(crate::inst::Guard {
                value,
                negated: guard.negated,
            });
        }
        let mut types: SmallVec<[types::Scalar; 4]> = SmallVec::new();
        for modifier in &i.modifiers {
            if let Some(scalar) = types::scalar(modifier) {
                types.push(scalar);
            }
        }
        if self.dispatch(i, &types).is_none() {
            self.not_understood(i, "operands that this instruction does not take");
        }
        self.guard = None;
    }

    fn dispatch(&mut self, i: &'a Instruction, types: &[types::Scalar]) -> Done {
        let ty = types.last().copied();
        match i.opcode.text.as_str() {
            "bra" | "brx" | "ret" | "exit" | "trap" | "call" => self.control(i),
            "brkpt" | "pmevent" | "nanosleep" | "griddepcontrol" | "setmaxnreg" => Some(()),
            "prefetch" | "prefetchu" | "discard" | "applypriority" => Some(()),
            "membar" | "fence" => {
                self.b.guarded(Op::Fence, &[], &[], self.guard);
                Some(())
            }
            "mov" | "setp" | "set" | "selp" | "slct" | "prmt" | "cvta" => self.data(i, types),
            "cvt" => self.cvt(i, types),
            "ld" | "ldu" | "st" | "atom" | "red" | "alloca" | "stacksave" | "stackrestore" => {
                self.memory(i, types)
            }
            "cp" => self.async_copy(i),
            "tex" | "tld4" | "txq" | "suq" | "suld" | "sust" | "sured" => self.texture(i, types),
            "bar" | "barrier" | "shfl" | "vote" | "match" | "redux" | "activemask" | "elect" => {
                self.warp(i, types)
            }
            "add" | "sub" | "mul" | "mad" | "addc" | "subc" | "madc" | "div" | "rem" | "abs"
            | "neg" | "min" | "max" | "fma"
                if ty.is_some_and(|ty| ty.ty.is_float()) =>
            {
                self.float(i, ty?, types)
            }
            "fma" | "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" | "testp"
            | "copysign" => self.float(i, ty?, types),
            "add" | "sub" | "mul" | "mad" | "mul24" | "mad24" | "sad" | "div" | "rem" | "abs"
            | "neg" | "min" | "max" | "popc" | "clz" | "bfind" | "brev" | "bfe" | "bfi"
            | "dp4a" | "addc" | "subc" | "madc" | "and" | "or" | "xor" | "not" | "cnot"
            | "lop3" | "shf" | "shl" | "shr" => self.integer(i, ty?),
            _ => self.opaque(i),
        }
    }

    /// A problem, and unknown values in the apparent results.
    fn not_understood(&mut self, i: &Instruction, why: &str) {
        let reason = format!("`{}`: {why}", i.full_name());
        let span = self.b.loc().span;
        self.report(span, reason.clone());
        let id = self.b.note_unknown(reason);
        let Some((first, rest)) = i.operands.split_first() else {
            self.b.guarded(Op::Unknown(id), &[], &[], None);
            return;
        };
        let mut args = Vec::new();
        for operand in rest {
            self.registers_in(operand, &mut args);
        }
        let places = self.result_places(first);
        let types: Vec<Type> = places.iter().map(|&(_, ty)| ty).collect();
        let inst = self.b.inst(Op::Unknown(id), &args, &types);
        let values: SmallVec<[Value; 4]> = SmallVec::from_slice(self.b.results(inst));
        for ((place, _), value) in places.into_iter().zip(values) {
            self.write(place, value, false);
        }
    }

    /// A problem where the item itself is: inside an inlined call, at the call.
    fn report(&mut self, span: Span, message: String) {
        let span = match self.frames.get(1) {
            Some(frame) => self.b.function.sites[frame.site].call.span,
            None => span,
        };
        self.problems.push(Problem::unsupported(span, message));
    }
}

/// The parameters that occur other than as the base of a direct access.
fn addresses_taken(item: &PtxFunction) -> FxHashSet<SmolStr> {
    let names: FxHashSet<&SmolStr> = item
        .parameters
        .iter()
        .flat_map(|parameter| parameter.declarators.first())
        .map(|declarator| &declarator.name.text)
        .collect();
    let mut taken = FxHashSet::default();
    let mut note = |name: &Name| {
        if names.contains(&name.text) {
            taken.insert(name.text.clone());
        }
    };
    for statement in item.statements() {
        let StatementKind::Instruction(instruction) = &statement.kind else {
            continue;
        };
        for operand in &instruction.operands {
            match operand {
                Operand::Name(name) => note(name),
                Operand::Offset(base, ..) => {
                    if let Operand::Name(name) = &**base {
                        note(name);
                    }
                }
                Operand::Address(parts, _) => {
                    for part in parts {
                        if let Operand::Offset(base, offset, _) = part
                            && !matches!(**offset, Operand::Integer(..))
                            && let Operand::Name(name) = &**base
                        {
                            note(name);
                        }
                    }
                }
                _ => {}
            }
        }
    }
    taken
}

fn launch_shape(item: &PtxFunction) -> LaunchShape {
    let mut shape = LaunchShape::default();
    for directive in &item.directives {
        let axis = |number: usize| directive.numbers.get(number).copied().unwrap_or(1);
        let threads = directive
            .numbers
            .iter()
            .try_fold(1u32, |product, &axis| product.checked_mul(axis));
        match directive.name.text.as_str() {
            "reqntid" => {
                shape.block = [Some(axis(0)), Some(axis(1)), Some(axis(2))];
                shape.max_threads = threads;
            }
            "maxntid" if shape.max_threads.is_none() => shape.max_threads = threads,
            "minnctapersm" | "maxnctapersm" => {
                shape.min_blocks = directive.numbers.first().copied()
            }
            "maxnreg" => shape.max_registers = directive.numbers.first().copied(),
            _ => {}
        }
    }
    shape
}
