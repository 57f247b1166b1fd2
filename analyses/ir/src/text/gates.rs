//! The gates of a function as text: for each block, the roles of its parameters in gated SSA, and the
//! branches that decide them.
//!
//! ```text
//! b1  μ  v4 = (v1 from b0, v7 from b3)
//! b5  γ  v9 = (v6 from b2, v5 from b4)   decided by v8 in b1
//! b6  η  v4   leaves the loop of b1   decided by v5 in b1
//! ```
//!
//! A value that leaves a loop has no parameter in the block behind it: it is the value itself, as the last
//! iteration of each lane left it.

use crate::cfg::ControlFlow;
use crate::dominators::DominatorTree;
use crate::entity::{Block, Value};
use crate::function::{Function, Module, Terminator};
use crate::gates::{GateBuilder, Role, role};
use crate::loops::{LoopForest, LoopId};
use std::fmt::Write;

/// The functions of a module, one after the other.
pub fn print_gates(module: &Module) -> String {
    let mut out = String::new();
    for function in &module.functions {
        let _ = writeln!(out, "function {}", function.name);
        print(function, &mut out);
    }
    out
}

/// Returns the value that decides the successor of a block; `None`: it goes to one place.
fn condition(function: &Function, block: Block) -> Option<Value> {
    match &function.blocks[block].terminator {
        Terminator::Branch { condition, .. } => Some(*condition),
        Terminator::Switch { value, .. } => Some(*value),
        _ => None,
    }
}

fn print(function: &Function, out: &mut String) {
    let flow = ControlFlow::new(function);
    let dominators = DominatorTree::dominators(&flow);
    let forest = LoopForest::new(&flow);
    let mut builder = GateBuilder::new(&flow, &dominators, &forest);
    // By block: the branches whose lanes meet there after they parted, or that leave a loop to there.
    let mut decided: Vec<(Block, Block)> = Vec::new();
    // By exit and loop: the branches by which lanes leave in different iterations.
    let mut left: Vec<(Block, LoopId, Block)> = Vec::new();
    let mut unknown: Vec<Block> = Vec::new();
    for &branch in &flow.order {
        if condition(function, branch).is_none() || flow.successors[branch].len() < 2 {
            continue;
        }
        let gates = builder.gates(&flow, &forest, branch);
        decided.extend(gates.joins.iter().map(|&join| (join, branch)));
        let exits = gates.exits.iter();
        left.extend(exits.map(|&(exit, of)| (exit, of, branch)));
        if gates.coarse || !gates.tainted.is_empty() {
            unknown.push(branch);
        }
    }
    for &block in &flow.order {
        let params = &function.blocks[block].params;
        if params.is_empty() || block == function.entry() {
            continue;
        }
        let (sign, loops) = match role(&flow, &forest, block) {
            Role::Mu => ('μ', String::new()),
            Role::Gamma => ('γ', String::new()),
            Role::Eta(left) => {
                let header = forest.loops[left].header;
                ('η', format!("   leaves the loop of {header}"))
            }
        };
        let mut own = decided.iter().filter(|(join, _)| *join == block);
        let conditions: Vec<String> = own
            .by_ref()
            .filter_map(|&(_, branch)| {
                Some(format!("{} in {branch}", condition(function, branch)?))
            })
            .collect();
        let by = match conditions.is_empty() {
            true => String::new(),
            false => format!("   decided by {}", conditions.join(", ")),
        };
        for (at, param) in params.iter().enumerate() {
            let mut values = Vec::new();
            let mut predecessors = flow.predecessors[block].clone();
            predecessors.sort_unstable();
            for &before in &predecessors {
                for edge in function.blocks[before].terminator.edges() {
                    if let Some(value) = edge.args.get(at).filter(|_| edge.block == block) {
                        values.push(format!("{value} from {before}"));
                    }
                }
            }
            let values = values.join(", ");
            let _ = writeln!(out, "  {block}  {sign}  {param} = ({values}){loops}{by}");
        }
    }
    left.sort_unstable();
    for group in left.chunk_by(|left, right| (left.0, left.1) == (right.0, right.1)) {
        let (exit, of, _) = group[0];
        let values: Vec<String> = leaving(function, &forest, of)
            .iter()
            .map(ToString::to_string)
            .collect();
        if values.is_empty() {
            continue;
        }
        let by: Vec<String> = group
            .iter()
            .filter_map(|&(_, _, branch)| {
                Some(format!("{} in {branch}", condition(function, branch)?))
            })
            .collect();
        let _ = writeln!(
            out,
            "  {exit}  η  {}   {} the loop of {}   decided by {}",
            values.join(", "),
            if values.len() == 1 { "leaves" } else { "leave" },
            forest.loops[of].header,
            by.join(", ")
        );
    }
    for branch in unknown {
        let _ = writeln!(
            out,
            "  {branch}  lies in a loop of several entries, or too much is around it: it may decide all of them"
        );
    }
}

/// Values of a loop that are used behind it.
fn leaving(function: &Function, forest: &LoopForest, of: LoopId) -> Vec<Value> {
    let defined = function.definition_blocks();
    let mut out: Vec<Value> = Vec::new();
    for &block in &function.layout {
        if forest.contains(of, block) {
            continue;
        }
        let data = &function.blocks[block];
        let insts = data.insts.iter();
        let mut used: Vec<Value> = insts
            .flat_map(|&inst| function.insts[inst].args.iter().copied())
            .collect();
        used.extend(condition(function, block));
        if let Terminator::Return(values) = &data.terminator {
            used.extend(values.iter().copied());
        }
        for edge in data.terminator.edges() {
            used.extend(edge.args.iter().copied());
        }
        out.extend(
            used.into_iter()
                .filter(|&value| defined[value].is_some_and(|block| forest.contains(of, block))),
        );
    }
    out.sort_unstable();
    out.dedup();
    out
}

#[cfg(test)]
mod tests {
    use super::print_gates;
    use crate::function::Module;

    #[test]
    fn merges_and_exits_name_what_decides_them() {
        let text = "\
function \"f\" kernel text {
  span 0..0 name 0..0

b0(v0: i32, v1: bool):
  v2: i32 = const 1
  branch v1, b1, b2

b1:
  jump b3(v0)

b2:
  jump b3(v2)

b3(v3: i32):
  jump b4(v3)

b4(v4: i32):
  v5: i32 = add v4, v0
  branch v1, b4(v5), b5

b5:
  v6: i32 = add v5, v4
  return
}
";
        let function = crate::text::parse(text).unwrap_or_else(|why| panic!("{why}"));
        let module = Module {
            functions: vec![function],
        };
        let printed = print_gates(&module);
        let expected = "\
function f
  b3  γ  v3 = (v0 from b1, v2 from b2)   decided by v1 in b0
  b4  μ  v4 = (v3 from b3, v5 from b4)
  b5  η  v4, v5   leave the loop of b4   decided by v1 in b4
";
        assert_eq!(printed, expected);
    }
}
