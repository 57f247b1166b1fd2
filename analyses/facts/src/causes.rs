//! Chains of causes: the way from a fact to its source, in the names of the author.

use crate::divergence::source_name;
use crate::model::*;
use crate::reason::{CauseReason, Dependency, InputName};
use ir::{BinaryOp, Block, Function, Loc, Op, Space, Type, Value, ValueDef};
use rustc_hash::FxHashSet;
use smol_str::{SmolStr, format_smolstr};

/// Steps shown at most.
const LONGEST: usize = 40;

/// Returns the reason why `value` is not uniform for a use in `block`: from the value to the source, one
/// clause a step. Empty for values that are uniform over the dispatch.
pub fn cause_chain(
    function: &Function,
    facts: &FunctionFacts,
    value: Value,
    block: Block,
) -> Vec<CauseStep> {
    let mut steps = Vec::new();
    let mut seen = FxHashSet::default();
    let mut at = Some((value, block));
    while let Some((value, block)) = at.take() {
        if !seen.insert(value) || steps.len() >= LONGEST {
            break;
        }
        let fact = facts.at(value, block);
        let here = describe(function, value);
        let loc = location(function, value);
        let home = home(function, value).unwrap_or(block);
        if divides_rows(function, facts, value) {
            steps.push(CauseStep {
                reason: CauseReason::WidthUnknown {
                    name: here,
                    lanes: facts.options.warp_size,
                    language: function.language,
                },
                loc,
            });
            break;
        }
        match fact.cause {
            Cause::None => break,
            Cause::Source => {
                let reason = source(function, value);
                steps.push(CauseStep { reason, loc });
            }
            Cause::Operand(next) => {
                // Values without a name or a place of their own are stepped over.
                if let Some(name) = here {
                    let on = describe(function, next)
                        .map_or_else(|| operand(function, next), Dependency::Named);
                    if !matches!(&on, Dependency::Named(on) if *on == name) {
                        let reason = CauseReason::DependsOn { name, on };
                        steps.push(CauseStep { reason, loc });
                    }
                }
                at = Some((next, home));
            }
            Cause::Memory(address) => {
                let differs = facts.at(address, home).uniform_at < Some(facts.options.scope);
                let name = here;
                let reason = if let Some(variable) = left_by_callers(function, address) {
                    CauseReason::LeftByCallers { name, variable }
                } else if differs {
                    CauseReason::AddressDiffers { name }
                } else if is_private(function, value) {
                    CauseReason::PrivateMemory { name }
                } else {
                    CauseReason::WrittenByOthers { name }
                };
                steps.push(CauseStep { reason, loc });
                if differs {
                    at = Some((address, home));
                }
            }
            Cause::Race(store) => {
                let reason = CauseReason::Raced { name: here };
                steps.push(CauseStep { reason, loc });
                steps.push(CauseStep {
                    reason: CauseReason::RacingWrite,
                    loc: function.insts[store].loc,
                });
            }
            Cause::Branch(branch) => {
                steps.push(CauseStep {
                    reason: CauseReason::DecidedByBranch { name: here },
                    loc: function.blocks[branch].loc,
                });
                at = function.blocks[branch]
                    .terminator
                    .selector()
                    .map(|s| (s, branch));
            }
            Cause::LeavesLoop {
                exit, value: inner, ..
            } => {
                let name = describe(function, inner);
                steps.push(CauseStep {
                    reason: CauseReason::KeptFromLoop { name },
                    loc: function.blocks[exit].loc,
                });
                at = function.blocks[exit]
                    .terminator
                    .selector()
                    .map(|s| (s, exit));
                if let Some((next, _)) = at
                    && seen.contains(&next)
                {
                    at = None;
                }
            }
        }
    }
    steps
}

/// `threadIdx.x / 32` where the width of the block is not known.
fn divides_rows(function: &Function, facts: &FunctionFacts, value: Value) -> bool {
    let known = function.launch.block[0]
        .or(facts.options.block[0])
        .or(facts.options.assumed_block[0]);
    let Some(data) = function.defining(value).filter(|_| known.is_none()) else {
        return false;
    };
    let Op::Binary(op, _) = data.op else {
        return false;
    };
    let Some(by) = function.int_constant(data.args[1]) else {
        return false;
    };
    let lanes = match op {
        BinaryOp::DivSigned | BinaryOp::DivUnsigned => by,
        BinaryOp::ShrSigned | BinaryOp::ShrUnsigned if (0..31).contains(&by) => 1 << by,
        _ => return false,
    };
    if lanes <= 0 || lanes % i64::from(facts.options.warp_size.max(1)) != 0 {
        return false;
    }
    let mut at = data.args[0];
    for _ in 0..8 {
        match function.defining(at).map(|d| (&d.op, &d.args)) {
            Some((Op::Convert(_), args)) => at = args[0],
            Some((Op::Special(ir::Special::ThreadId(0)), _)) => return true,
            _ => return false,
        }
    }
    false
}

/// Read from memory that no other thread has.
fn is_private(function: &Function, value: Value) -> bool {
    function
        .defining(value)
        .is_some_and(|data| matches!(&data.op, Op::Load(access) if access.space == Space::Local))
}

/// The variable of which callers filled the private memory that an address lies in.
fn left_by_callers(function: &Function, address: Value) -> Option<SmolStr> {
    let mut at = address;
    while let Some(data) = function.defining(at) {
        match data.op {
            Op::PtrAdd => at = *data.args.first()?,
            _ => return None,
        }
    }
    let mut parameters = function.parameters.iter();
    let parameter = parameters.find(|p| p.values.contains(&at))?;
    (function.ty(at) == Type::Ptr(Space::Local)).then(|| parameter.name.clone())
}

/// The block whose view of operands counts: that of the definition.
fn home(function: &Function, value: Value) -> Option<Block> {
    match function.values[value].def {
        ValueDef::Param(block, _) => Some(block),
        ValueDef::Result(inst, _) => function
            .layout
            .iter()
            .copied()
            .find(|&b| function.blocks[b].insts.contains(&inst)),
    }
}

/// The name of a value in the author's words.
fn describe(function: &Function, value: Value) -> Option<SmolStr> {
    if let Some(Op::Special(special)) = function.defining(value).map(|d| &d.op) {
        let parameter = parameter_of(function, value).map(|(name, _)| name);
        return parameter.or_else(|| Some(source_name(function.language, *special).into()));
    }
    name_of(function, value).cloned().or_else(|| {
        let mut parameters = function.parameters.iter();
        let parameter = parameters.find(|p| p.values.contains(&value));
        parameter.map(|p| p.name.clone())
    })
}

/// The shader's parameter that a builtin value is read for, as the author writes it, and whether it is that value itself:
/// not a dispatch index or a group's linear index, of which the builtin is a part.
fn parameter_of(function: &Function, value: Value) -> Option<(SmolStr, bool)> {
    if function.language != ir::Language::Hlsl {
        return None;
    }
    let data = function.defining(value)?;
    let Op::Special(ir::Special::ThreadId(axis) | ir::Special::BlockId(axis)) = data.op else {
        return None;
    };
    let binding = function.bindings.iter().find(|binding| {
        let variable = &function.variables[binding.variable];
        binding.kind == ir::BindingKind::Declaration
            && variable.kind == ir::VariableKind::Parameter
            && variable.declared == data.loc
            && variable.type_text.contains("int")
            && binding.values.len() <= 3
    })?;
    let name = &function.variables[binding.variable].name;
    let part = match binding.values.len() {
        1 => "",
        _ => ["", ".x", ".y", ".z"].get(usize::from(axis) + 1).copied()?,
    };
    // If workgroups have one thread along an axis, a dispatch index is the group's; the index along its other
    // axes decides.
    let kind = |value: Value| match function.defining(value).map(|d| &d.op) {
        Some(Op::Special(special)) => Some(std::mem::discriminant(special)),
        _ => None,
    };
    let itself = binding.values.contains(&value)
        && binding
            .values
            .iter()
            .all(|&it| kind(it) == kind(value) || function.int_constant(it).is_some())
        && (binding.values.len() > 1 || matches!(data.op, Op::Special(ir::Special::BlockId(_))));
    Some((format_smolstr!("{name}{part}"), itself))
}

/// A value without a name, by its operation.
fn operand(function: &Function, value: Value) -> Dependency {
    match function.defining(value).map(|d| &d.op) {
        Some(Op::Load(_)) => Dependency::Load,
        Some(Op::Atomic(..)) => Dependency::Atomic,
        Some(Op::IntCompare(_) | Op::FloatCompare(_)) => Dependency::Comparison,
        Some(Op::Call(_) | Op::CallUnknown { .. }) => Dependency::Call,
        Some(Op::Unknown(_) | Op::Asm { .. }) => Dependency::NotUnderstood,
        Some(Op::StageInput(_)) => Dependency::StageInput,
        Some(_) => Dependency::Computed,
        None => Dependency::Merged,
    }
}

fn location(function: &Function, value: Value) -> Loc {
    match function.values[value].def {
        ValueDef::Result(inst, _) if function.insts[inst].loc != Loc::NONE => {
            function.insts[inst].loc
        }
        _ => function
            .bindings
            .iter()
            .find(|b| b.values.contains(&value))
            .map(|b| b.loc)
            .or_else(|| {
                function
                    .parameters
                    .iter()
                    .find(|p| p.values.contains(&value))
                    .map(|p| p.loc)
            })
            .unwrap_or(Loc::NONE),
    }
}

/// The reason of a value whose own operation is the source.
fn source(function: &Function, value: Value) -> CauseReason {
    let Some(data) = function.defining(value) else {
        let name = describe(function, value);
        let mut parameters = function.parameters.iter();
        let parameter = parameters.find(|p| p.values.contains(&value));
        return if parameter.is_some_and(|p| function.static_of(p).is_some()) {
            CauseReason::StaticVariable { name }
        } else if parameter.is_some() && function.ty(value) == Type::Ptr(Space::Local) {
            CauseReason::LargeArgument { name }
        } else if parameter.is_some() {
            CauseReason::DeviceParameter { name }
        } else {
            CauseReason::MergedInCycle { name }
        };
    };
    match &data.op {
        Op::Special(special) => {
            let builtin = SmolStr::from(source_name(function.language, *special));
            match parameter_of(function, value) {
                Some((name, itself)) => CauseReason::LaneDependent {
                    name: Some(name),
                    builtin: itself.then_some(builtin),
                },
                None => CauseReason::LaneDependent {
                    name: None,
                    builtin: Some(builtin),
                },
            }
        }
        Op::Atomic(..) => CauseReason::AtomicResult,
        Op::Unknown(id) => {
            let found = function.unknowns.iter().find(|(u, _)| u == id);
            let construct = found.map(|(_, unknown)| unknown.reason.as_str().into());
            CauseReason::NotUnderstood { construct }
        }
        Op::StageInput(index) => match function.inputs.get(*index as usize) {
            Some(input) if input.ty == Type::Handle => CauseReason::HandleNotFollowed {
                name: input.name.clone(),
            },
            Some(input) => CauseReason::StageInput {
                input: of_stage(function, input),
            },
            None => CauseReason::StageInput {
                input: InputName::Unknown,
            },
        },
        Op::CallUnknown { name, .. } => CauseReason::InvisibleCall { name: name.clone() },
        Op::Call(_) => CauseReason::Call,
        Op::Asm { template, .. } if function.language == ir::Language::Ptx => {
            let name = template.split_whitespace().next().map(SmolStr::from);
            CauseReason::Instruction { name }
        }
        Op::Asm { .. } => CauseReason::InlineAssembly,
        Op::Warp(_) => CauseReason::WarpOperation,
        Op::Undef => CauseReason::Unwritten,
        Op::Alloca { .. } => CauseReason::PrivateAddress,
        Op::Texture(access) if access.op.is_opaque() => {
            let object = data.args.first();
            let name = object.and_then(|&object| object_name(function, object));
            CauseReason::OpaqueObject { name }
        }
        Op::Texture(_) => CauseReason::TextureResult,
        _ => CauseReason::LanesDiffer,
    }
}

/// The name of the resource behind a handle.
fn object_name(function: &Function, handle: Value) -> Option<SmolStr> {
    match function.defining(handle).map(|data| &data.op) {
        Some(Op::SymbolAddress(symbol)) => Some(function.symbols.get(*symbol)?.name.clone()),
        _ => describe(function, handle),
    }
}

/// A stage's input as the author writes it: the parameter or its member; the intrinsic that reads it, which has no parameter.
fn of_stage(function: &Function, input: &ir::StageInput) -> InputName {
    let root = input.name.split(['.', '[']).next().unwrap_or("");
    let written = function
        .variables
        .iter()
        .any(|(_, variable)| variable.kind == ir::VariableKind::Parameter && variable.name == root);
    match written || !input.name.eq_ignore_ascii_case(&input.semantic) {
        true => InputName::Parameter(input.name.clone()),
        false => InputName::Intrinsic(input.name.clone()),
    }
}
