//! Causes as sentences: the chain from a fact to its source, in the names and the spelling of the author.

use crate::divergence::source_name;
use crate::model::*;
use ir::{BinaryOp, Block, Function, Loc, Op, Space, Type, Value, ValueDef};
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
        if divides_rows(function, facts, value) {
            let here = here.map_or_else(|| "the warp's number".to_string(), |h| format!("`{h}`"));
            let declared = match function.language {
                ir::Language::Ptx => "`.reqntid`, or `block` in the configuration",
                _ => "`block` in the configuration (`__launch_bounds__` gives a maximum only)",
            };
            steps.push(CauseStep {
                text: format!(
                    "{here} may differ because the block's width is not known: it is the same in all lanes of a warp where the width is a multiple of {}; declare it: {declared}",
                    facts.options.warp_size
                ),
                loc,
            });
            break;
        }
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
                    let on = describe(function, next).map_or_else(
                        || operand(function, next).to_owned(),
                        |name| format!("`{name}`"),
                    );
                    if on.trim_matches('`') != here {
                        steps.push(CauseStep {
                            text: format!("`{here}` depends on {on}"),
                            loc,
                        });
                    }
                }
                at = Some((next, home));
            }
            Cause::Memory(address) => {
                let differs = facts.at(address, home).uniform_at < Some(facts.options.scope);
                let what = here.map_or_else(|| "the value".to_string(), |h| format!("`{h}`"));
                let text = if let Some(name) = left_by_callers(function, address) {
                    format!("{what} is read from `{name}`")
                } else if differs {
                    format!("{what} is loaded from an address that differs between lanes")
                } else if is_private(function, value) {
                    format!("{what} is read from private memory, whose contents are not followed")
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
        if divides_rows(function, facts, at.0) {
            return Some(format!(
                "a known width of the block that is a multiple of {}: `block` in the configuration",
                facts.options.warp_size
            ));
        }
        match fact.cause {
            Cause::None => return None,
            Cause::Operand(next) => at = (next, home),
            Cause::Memory(address) => {
                if facts.at(address, home).uniform_at < Some(facts.options.scope) {
                    at = (address, home);
                } else if is_private(function, at.0) {
                    return None;
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
fn left_by_callers(function: &Function, address: Value) -> Option<smol_str::SmolStr> {
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

fn operand(function: &Function, value: Value) -> &'static str {
    match function.defining(value).map(|d| &d.op) {
        Some(Op::Load(_)) => "a load",
        Some(Op::Atomic(..)) => "an atomic",
        Some(Op::IntCompare(_) | Op::FloatCompare(_)) => "a comparison",
        Some(Op::Call(_) | Op::CallUnknown { .. }) => "a call",
        Some(Op::Unknown(_) | Op::Asm { .. }) => "something not understood",
        Some(Op::StageInput(_)) => "a stage input",
        Some(_) => "what is computed here",
        None => "values that meet here",
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

fn source(function: &Function, value: Value) -> String {
    let Some(data) = function.defining(value) else {
        let name = describe(function, value).unwrap_or_else(|| "a value".into());
        let mut parameters = function.parameters.iter();
        let parameter = parameters.find(|p| p.values.contains(&value));
        return if parameter.is_some_and(|p| function.static_of(p).is_some()) {
            format!("`{name}` is `static`: callers may leave a different value there in each lane")
        } else if parameter.is_some() && function.ty(value) == Type::Ptr(Space::Local) {
            format!(
                "`{name}` is passed by value and has too many members to be followed one by one: callers may pass different ones in each lane"
            )
        } else if parameter.is_some() {
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
            Some(input) if input.ty == Type::Handle => {
                format!("what `{}` holds is not followed", input.name)
            }
            Some(input) => format!("{} differs between lanes", of_stage(function, input)),
            None => "a stage input differs between lanes".into(),
        },
        Op::CallUnknown { name, .. } => {
            format!("`{name}` is not visible: it may return a different value in each lane")
        }
        Op::Call(_) => "the function called may return a different value in each lane".into(),
        Op::Asm { template, .. } if function.language == ir::Language::Ptx => {
            let name = template
                .split_whitespace()
                .next()
                .unwrap_or("the instruction");
            format!("`{name}` may give a different value in each lane")
        }
        Op::Asm { .. } => "inline assembly may give a different value in each lane".into(),
        Op::Warp(_) => "the operation gives lanes of the warp different values".into(),
        Op::Undef => "the variable may be read before it is written".into(),
        Op::Alloca { .. } => "private memory lies at another address in each call".into(),
        Op::Texture(access) if access.op.is_opaque() => {
            match data
                .args
                .first()
                .and_then(|&object| object_name(function, object))
            {
                Some(name) => format!(
                    "what the call on `{name}` gives is not followed: it may differ between lanes"
                ),
                None => {
                    "what the call on the object gives is not followed: it may differ between lanes"
                        .into()
                }
            }
        }
        Op::Texture(_) => "the texture operation may give each lane another value".into(),
        _ => "its lanes hold different values".into(),
    }
}

/// The name of the resource behind a handle.
fn object_name(function: &Function, handle: Value) -> Option<String> {
    match function.defining(handle).map(|data| &data.op) {
        Some(Op::SymbolAddress(symbol)) => Some(function.symbols.get(*symbol)?.name.to_string()),
        _ => describe(function, handle),
    }
}

/// A stage's input as the author writes it: the parameter or its member; the intrinsic that reads it, which has no parameter.
fn of_stage(function: &Function, input: &ir::StageInput) -> String {
    let root = input.name.split(['.', '[']).next().unwrap_or("");
    let written = function
        .variables
        .iter()
        .any(|(_, variable)| variable.kind == ir::VariableKind::Parameter && variable.name == root);
    match written || !input.name.eq_ignore_ascii_case(&input.semantic) {
        true => format!("the stage input `{}`", input.name),
        false => format!("`{}()`", input.name),
    }
}
