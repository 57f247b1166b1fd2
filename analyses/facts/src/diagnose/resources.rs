//! Rules about arrays of resources: an index that differs within a wave must be marked, one that does not need not be.

use super::{Context, finding};
use crate::model::*;
use ir::{Convert, Function, Inst, Loc, Op, Value};

const MARK: &str = "NonUniformResourceIndex";

pub(super) fn findings(cx: &Context<'_>, out: &mut Vec<Finding>) {
    for (block, inst) in cx.instructions() {
        let data = &cx.function.insts[inst];
        let Op::ResourceElement { non_uniform_marked } = data.op else {
            continue;
        };
        let Some(&index) = data.args.get(1) else {
            continue;
        };
        let fact = cx.facts.at(index, block);
        let uniform = fact.uniform_at >= Some(Scope::Subgroup);
        let array = resource_name(cx.function, inst);
        if !non_uniform_marked
            && !uniform
            && fact.class != Class::Unknown
            && !cx.left_to_callers(index)
        {
            let related = cx.chain(index, block);
            let message = format!(
                "the index of {} differs between the lanes of a wave{}; wrap it in `{MARK}`",
                Context::quoted(&array, "this array of resources"),
                Context::because(&related)
            );
            out.push(finding(
                Code::NonuniformResourceIndex,
                Tier::Warning,
                data.loc,
                message,
                related,
            ));
        } else if non_uniform_marked
            && uniform
            && let Some(mark) = written_mark(cx.function, index)
        {
            let message = format!(
                "the index of {} is the same in all lanes of a wave: the mark costs a loop on hardware with scalar descriptors",
                Context::quoted(&array, "this array of resources")
            );
            out.push(finding(
                Code::NeedlessNonuniform,
                Tier::Hint,
                mark,
                message,
                Vec::new(),
            ));
        }
    }
}

fn resource_name(function: &Function, inst: Inst) -> String {
    match function.insts[inst]
        .args
        .first()
        .and_then(|&base| function.defining(base))
        .map(|d| &d.op)
    {
        Some(Op::SymbolAddress(symbol)) => function.symbols[*symbol].name.to_string(),
        _ => String::new(),
    }
}

/// The place of the mark below an index; an array of node outputs has none, and takes any index.
fn written_mark(function: &Function, mut index: Value) -> Option<Loc> {
    for _ in 0..8 {
        let data = function.defining(index)?;
        let from = *data.args.first()?;
        match data.op {
            Op::Convert(Convert::Bitcast) if function.ty(from) == function.ty(index) => {
                return Some(data.loc);
            }
            Op::Convert(_) => index = from,
            _ => return None,
        }
    }
    None
}
