//! Rules about arrays of resources: an index that differs within a wave must be marked, one that does not need not be.

use super::Context;
use crate::model::*;
use crate::reason::FindingReason;
use ir::{Convert, Function, Inst, Loc, Op, Value};
use smol_str::SmolStr;

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
            let reason = FindingReason::ResourceIndexDiffers { array };
            let code = Code::NonuniformResourceIndex;
            out.push(cx.finding(code, Tier::Warning, data.loc, reason, related));
        } else if non_uniform_marked
            && uniform
            && let Some(mark) = written_mark(cx.function, index)
        {
            let reason = FindingReason::ResourceMarkNeedless { array };
            let code = Code::NeedlessNonuniform;
            out.push(cx.finding(code, Tier::Hint, mark, reason, Vec::new()));
        }
    }
}

fn resource_name(function: &Function, inst: Inst) -> SmolStr {
    match function.insts[inst]
        .args
        .first()
        .and_then(|&base| function.defining(base))
        .map(|d| &d.op)
    {
        Some(Op::SymbolAddress(symbol)) => function.symbols[*symbol].name.clone(),
        _ => SmolStr::default(),
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
