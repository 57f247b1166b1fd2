//! Causes as sentences: the chain from a fact to its source, in the names and the spelling of the author.

use crate::divergence::source_name;
use crate::model::*;
use ir::{Block, Function, Loc, Op, Value, ValueDef};
use rustc_hash::FxHashSet;

/// Steps shown at most.
const LONGEST: usize = 40;

/// Why `value` is not uniform for a use in `block`: from the value to the source, one clause a step. Empty for values
/// that are uniform over the dispatch.
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
        match fact.cause {
            Cause::None => break,
            Cause::Source => {
                steps.push(CauseStep {
                    text: source(function, value),
                    loc,
                });
            }
            Cause::Operand(next) => {
                // Values without a name or a place of their own are stepped over.
                if let Some(here) = here {
                    let on = describe(function, next).unwrap_or_else(|| operand(function, next));
                    if on != here {
                        steps.push(CauseStep {
                            text: format!("`{here}` depends on `{on}`"),
                            loc,
                        });
                    }
                }
                at = Some((next, home));
            }
            Cause::Memory(address) => {
                let differs = facts.at(address, home).uniform_at < Some(facts.options.scope);
                let what = here.map_or_else(|| "the value".to_string(), |h| format!("`{h}`"));
                let text = if differs {
                    format!("{what} is loaded from an address that differs between lanes")
                } else {
                    format!("{what} is loaded from memory that other threads may write")
                };
                steps.push(CauseStep { text, loc });
                if differs {
                    at = Some((address, home));
                }
            }
            Cause::Race(store) => {
                let what = here.map_or_else(|| "the value".to_string(), |h| format!("`{h}`"));
                let text = format!(
                    "{what} is read where lanes of the warp have written without a barrier since: each may see another value"
                );
                steps.push(CauseStep { text, loc });
                steps.push(CauseStep {
                    text: "lanes write that memory here".into(),
                    loc: function.insts[store].loc,
                });
            }
            Cause::Branch(branch) => {
                let what = here.map_or_else(|| "the value".to_string(), |h| format!("`{h}`"));
                steps.push(CauseStep {
                    text: format!("{what} depends on which way the branch goes"),
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
                let what = describe(function, inner)
                    .map_or_else(|| "the value".to_string(), |h| format!("`{h}`"));
                steps.push(CauseStep {
                    text: format!("lanes leave the loop in different iterations, so they keep different values of {what}"),
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

/// What would have to hold for the value to be uniform, if something simple would do. One sentence without a full stop.
pub fn what_would_make_it_uniform(
    function: &Function,
    facts: &FunctionFacts,
    value: Value,
    block: Block,
) -> Option<String> {
    let mut seen = FxHashSet::default();
    let mut at = (value, block);
    loop {
        if !seen.insert(at.0) {
            return None;
        }
        let fact = facts.at(at.0, at.1);
        let home = home(function, at.0).unwrap_or(at.1);
        match fact.cause {
            Cause::None => return None,
            Cause::Operand(next) => at = (next, home),
            Cause::Memory(address) => {
                if facts.at(address, home).uniform_at < Some(facts.options.scope) {
                    at = (address, home);
                } else {
                    return Some("a read-only declaration of the memory (`const T* __restrict__`, a read-only resource)".into());
                }
            }
            Cause::Race(_) => {
                let barrier = match function.language {
                    ir::Language::Hlsl => "GroupMemoryBarrierWithGroupSync()",
                    ir::Language::Ptx => "bar.warp.sync",
                    _ => "__syncwarp()",
                };
                return Some(format!(
                    "a barrier between the write and this read (`{barrier}`)"
                ));
            }
            Cause::Branch(branch) => {
                let selector = function.blocks[branch].terminator.selector()?;
                at = (selector, branch);
            }
            Cause::LeavesLoop { exit, .. } => {
                let selector = function.blocks[exit].terminator.selector()?;
                at = (selector, exit);
            }
            Cause::Source => {
                let data = function.defining(at.0);
                return match data.map(|d| &d.op) {
                    Some(Op::Special(ir::Special::ThreadId(1 | 2))) => Some(format!(
                        "a workgroup whose rows are whole warps: a first size that is a known multiple of {}",
                        facts.options.warp_size
                    )),
                    Some(Op::Special(_)) => Some(
                        "a value read from one lane for all: a broadcast such as `__shfl_sync(mask, v, 0)` or `WaveReadLaneFirst(v)`".into(),
                    ),
                    Some(Op::Unknown(_)) => Some("support for the construct that was not understood".into()),
                    None => Some("callers that all pass a uniform argument".into()),
                    _ => None,
                };
            }
        }
    }
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

fn describe(function: &Function, value: Value) -> Option<String> {
    if let Some(Op::Special(special)) = function.defining(value).map(|d| &d.op) {
        let name = source_name(function.language, *special);
        return Some(parameter_of(function, value).map_or(name, |(name, _)| name));
    }
    name_of(function, value)
        .map(ToString::to_string)
        .or_else(|| {
            function
                .parameters
                .iter()
                .find(|p| p.values.contains(&value))
                .map(|p| p.name.to_string())
        })
}

/// The shader's parameter that a builtin value is read for, as the author writes it, and whether it is that value itself:
/// not a dispatch index or a group's linear index, of which the builtin is a part.
fn parameter_of(function: &Function, value: Value) -> Option<(String, bool)> {
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
    // A dispatch index of workgroups of one thread along an axis is the group's; its other axes tell.
    let kind = |one: Value| match function.defining(one).map(|d| &d.op) {
        Some(Op::Special(special)) => Some(std::mem::discriminant(special)),
        _ => None,
    };
    let itself = binding.values.contains(&value)
        && binding
            .values
            .iter()
            .all(|&one| kind(one) == kind(value) || function.int_constant(one).is_some())
        && (binding.values.len() > 1 || matches!(data.op, Op::Special(ir::Special::BlockId(_))));
    Some((format!("{name}{part}"), itself))
}

fn operand(function: &Function, value: Value) -> String {
    let name = match function.defining(value).map(|d| &d.op) {
        Some(Op::Load(_)) => "a load",
        Some(Op::Atomic(..)) => "an atomic",
        Some(Op::IntCompare(_) | Op::FloatCompare(_)) => "a comparison",
        Some(Op::Call(_) | Op::CallUnknown { .. }) => "a call",
        Some(Op::Unknown(_) | Op::Asm { .. }) => "something not understood",
        Some(Op::StageInput(_)) => "a stage input",
        _ => "an expression",
    };
    name.into()
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

fn source(function: &Function, value: Value) -> String {
    let Some(data) = function.defining(value) else {
        let name = describe(function, value).unwrap_or_else(|| "a value".into());
        return if function
            .parameters
            .iter()
            .any(|p| p.values.contains(&value))
        {
            format!(
                "`{name}` is a parameter of a device function: callers may pass a different value in each lane"
            )
        } else {
            format!("`{name}` merges values in a loop with several entries")
        };
    };
    match &data.op {
        Op::Special(special) => {
            let builtin = source_name(function.language, *special);
            match parameter_of(function, value) {
                Some((name, true)) => format!("`{name}` (`{builtin}`) differs between lanes"),
                Some((name, false)) => format!("`{name}` differs between lanes"),
                None => format!("`{builtin}` differs between lanes"),
            }
        }
        Op::Atomic(..) => "an atomic operation gives each lane another value".into(),
        Op::Unknown(id) => match function.unknowns.iter().find(|(u, _)| u == id) {
            Some((_, unknown)) => format!("not understood: {}", unknown.reason),
            None => "not understood".into(),
        },
        Op::StageInput(index) => match function.inputs.get(*index as usize) {
            Some(input) => format!(
                "the stage input `{}` differs between lanes",
                if input.semantic.is_empty() {
                    &input.name
                } else {
                    &input.semantic
                }
            ),
            None => "a stage input differs between lanes".into(),
        },
        Op::CallUnknown { name, .. } => {
            format!("`{name}` is not visible: it may return a different value in each lane")
        }
        Op::Call(_) => "the function called may return a different value in each lane".into(),
        Op::Asm { .. } => "inline assembly may give a different value in each lane".into(),
        Op::Warp(_) => "the operation gives lanes of the warp different values".into(),
        Op::Undef => "the variable may be read before it is written".into(),
        Op::Alloca { .. } => "private memory lies at another address in each call".into(),
        Op::Texture(access) if access.op == ir::TextureOp::Other => {
            "the object's method may give each lane another value".into()
        }
        Op::Texture(_) => "the texture operation may give each lane another value".into(),
        _ => "its lanes hold different values".into(),
    }
}
