//! Values that feed themselves through parameters of loops: the strongly connected components of definitions and uses with
//! more than one value, or with a value that uses itself. Nothing is computed where no edge goes backwards.
//!
//! Source: Tarjan, *Depth-First Search and Linear Graph Algorithms*, 1972; iterative.

use ir::cfg::ControlFlow;
use ir::{EntityVec, Function, Value, ValueDef};
use smallvec::SmallVec;

pub(super) struct Cycles {
    of: EntityVec<Value, Option<u32>>,
    members: Vec<Vec<Value>>,
}

impl Cycles {
    pub(super) fn new(function: &Function, flow: &ControlFlow) -> Self {
        let mut out = Cycles {
            of: EntityVec::default(),
            members: Vec::new(),
        };
        let backwards = flow.order.iter().any(|&block| {
            flow.successors[block]
                .iter()
                .any(|&next| flow.position[next] <= flow.position[block])
        });
        if backwards {
            out.of = EntityVec::with_len(None, function.values.len());
            out.find(function, &incoming(function, flow));
        }
        out
    }

    pub(super) fn of(&self, value: Value) -> Option<usize> {
        self.of.get(value).copied().flatten().map(|it| it as usize)
    }
    pub(super) fn members(&self, cycle: usize) -> &[Value] {
        &self.members[cycle]
    }
    pub(super) fn count(&self) -> usize {
        self.members.len()
    }

    fn find(&mut self, function: &Function, incoming: &EntityVec<Value, SmallVec<[Value; 2]>>) {
        let count = function.values.len();
        let sources = |value: Value| -> SmallVec<[Value; 4]> {
            match function.values[value].def {
                ValueDef::Result(inst, _) => super::operands(function, inst).collect(),
                ValueDef::Param(..) => incoming[value].iter().copied().collect(),
            }
        };
        let mut number = vec![0u32; count];
        let mut low = vec![0u32; count];
        let mut open = vec![false; count];
        let mut stack: Vec<Value> = Vec::new();
        let mut next = 1;
        for root in function.values.keys() {
            if number[root.0 as usize] != 0 {
                continue;
            }
            let mut path: Vec<(Value, SmallVec<[Value; 4]>)> = Vec::new();
            let mut enter = Some(root);
            loop {
                if let Some(value) = enter.take() {
                    number[value.0 as usize] = next;
                    low[value.0 as usize] = next;
                    open[value.0 as usize] = true;
                    next += 1;
                    stack.push(value);
                    path.push((value, sources(value)));
                }
                let Some((value, left)) = path.last_mut() else {
                    break;
                };
                let at = value.0 as usize;
                if let Some(source) = left.pop() {
                    let from = source.0 as usize;
                    if number[from] == 0 {
                        enter = Some(source);
                    } else if open[from] {
                        low[at] = low[at].min(number[from]);
                    }
                    continue;
                }
                let value = *value;
                path.pop();
                if let Some((above, _)) = path.last() {
                    let above = above.0 as usize;
                    low[above] = low[above].min(low[at]);
                }
                if low[at] == number[at] {
                    let start = stack.iter().rposition(|&it| it == value).unwrap_or(0);
                    let part: Vec<Value> = stack.drain(start..).collect();
                    for each in &part {
                        open[each.0 as usize] = false;
                    }
                    if part.len() > 1 || sources(value).contains(&value) {
                        for &each in &part {
                            self.of[each] = Some(self.members.len() as u32);
                        }
                        self.members.push(part);
                    }
                }
            }
        }
    }
}

/// Returns the values that edges bring to a parameter.
fn incoming(function: &Function, flow: &ControlFlow) -> EntityVec<Value, SmallVec<[Value; 2]>> {
    let mut incoming: EntityVec<Value, SmallVec<[Value; 2]>> =
        EntityVec::with_len(SmallVec::new(), function.values.len());
    for &block in &flow.order {
        for edge in function.blocks[block].terminator.edges() {
            for (&param, &arg) in function.blocks[edge.block].params.iter().zip(&edge.args) {
                incoming[param].push(arg);
            }
        }
    }
    incoming
}
