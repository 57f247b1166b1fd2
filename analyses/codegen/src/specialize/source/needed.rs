//! The statements of the fast path that are still needed, from the last to the first.
//!
//! Loops: what is live around one only grows, so that it stops.

use super::effects::Effects;
use super::flow::{Jump, Loop, Node, NodeKind, Simple};
use super::names::VarId;
use rustc_hash::FxHashSet;

pub(super) type Live = FxHashSet<VarId>;

/// The needed variables, from the last statement to the first.
#[derive(Debug, Default)]
pub(super) struct Backward {
    /// The variables named by the remaining statements.
    mentioned: Live,
    breaks: Vec<Live>,
    continues: Vec<Live>,
    /// Needed where the region is left by `break` and `continue` of a loop around it.
    outside: Live,
}

impl Backward {
    pub(super) fn new(outside: Live) -> Self {
        Backward {
            outside,
            ..Backward::default()
        }
    }

    /// Marks dead statements before `live`, which becomes the set needed before the node.
    pub(super) fn node(&mut self, node: &mut Node<'_>, live: &mut Live) {
        match &mut node.kind {
            NodeKind::Simple(simple) => node.dead = self.simple(simple, live),
            NodeKind::Block(nodes) => {
                for node in nodes.iter_mut().rev() {
                    self.node(node, live);
                }
                node.dead = nodes.iter().all(|node| node.dead);
            }
            NodeKind::If {
                condition,
                known,
                then,
                otherwise,
            } => match known {
                Some(true) => {
                    self.node(then, live);
                    node.dead = then.dead;
                }
                Some(false) => {
                    node.dead = true;
                    if let Some(found) = otherwise {
                        self.node(found, live);
                        node.dead = found.dead;
                    }
                }
                None => {
                    let mut yes = live.clone();
                    self.node(then, &mut yes);
                    let mut no = live.clone();
                    if let Some(found) = otherwise {
                        self.node(found, &mut no);
                    }
                    let both = then.dead && otherwise.as_ref().is_none_or(|it| it.dead);
                    node.dead = both && self.droppable(&condition.effects);
                    if !node.dead {
                        live.extend(yes);
                        live.extend(no);
                        live.extend(condition.uses.iter().copied());
                        self.mentioned.extend(condition.uses.iter().copied());
                    }
                }
            },
            NodeKind::Loop(looped) => {
                node.dead = self.loop_of(looped, live);
            }
            NodeKind::Jump { jump, uses } => {
                *live = match jump {
                    Jump::Return | Jump::Discard => Live::default(),
                    Jump::Break => self.breaks.last().unwrap_or(&self.outside).clone(),
                    Jump::Continue => self.continues.last().unwrap_or(&self.outside).clone(),
                };
                live.extend(uses.iter().copied());
                self.mentioned.extend(uses.iter().copied());
            }
            NodeKind::Opaque { uses } => {
                // Jumps inside may lead anywhere around.
                for set in self.breaks.iter().chain(&self.continues) {
                    live.extend(set.iter().copied());
                }
                live.extend(self.outside.iter().copied());
                live.extend(uses.iter().copied());
                self.mentioned.extend(uses.iter().copied());
            }
        }
    }

    /// The language does not matter: a condition with an effect was kept by the forward pass.
    fn droppable(&self, effects: &Effects) -> bool {
        effects.removable(ir::Language::Cuda)
    }

    fn simple(&mut self, simple: &mut Simple, live: &mut Live) -> bool {
        simple.drop_initializer = false;
        if simple.noop && !simple.keep {
            return true;
        }
        let needed = simple.defs.iter().any(|(id, _)| live.contains(id))
            || simple.declares.iter().any(|id| live.contains(id));
        if !simple.keep {
            let mentioned = simple.declares.iter().any(|id| self.mentioned.contains(id));
            if !needed && !mentioned {
                return true;
            }
            if !needed && simple.initializer.is_some() {
                simple.drop_initializer = true;
                return false;
            }
        }
        for (id, all) in &simple.defs {
            if *all {
                live.remove(id);
            }
        }
        live.extend(simple.uses.iter().copied());
        self.mentioned.extend(simple.uses.iter().copied());
        self.mentioned.extend(simple.defs.iter().map(|(id, _)| *id));
        false
    }

    fn loop_of(&mut self, item: &mut Loop<'_>, live: &mut Live) -> bool {
        let after = live.clone();
        if item.skipped {
            // Only what the head declares or sets remains.
            let outer = item
                .initializer
                .as_ref()
                .is_some_and(|first| match &first.kind {
                    NodeKind::Simple(simple) => {
                        simple.keep
                            || simple.declares.is_empty()
                                && simple.defs.iter().any(|(id, _)| live.contains(id))
                    }
                    _ => true,
                });
            if !outer {
                return true;
            }
        }
        let earlier = self.mentioned.clone();
        let mut header: Live = after.clone();
        header.extend(item.head.uses.iter().copied());
        loop {
            let mut body = header.clone();
            self.breaks.push(after.clone());
            self.continues.push(header.clone());
            self.node(&mut item.body, &mut body);
            self.breaks.pop();
            self.continues.pop();
            let before = header.len();
            header.extend(body);
            if header.len() == before {
                break;
            }
        }
        let mut defs: Vec<VarId> = item.head.defs.iter().map(|(id, _)| *id).collect();
        let mut quiet = !item.head.keep && quiet(&item.body, &mut defs);
        if let Some(first) = &item.initializer {
            quiet &= match &first.kind {
                NodeKind::Simple(simple) => {
                    defs.extend(simple.defs.iter().map(|(id, _)| *id));
                    !simple.keep
                }
                _ => false,
            };
        }
        if quiet && defs.iter().all(|id| !after.contains(id)) {
            self.mentioned = earlier;
            return true;
        }
        self.mentioned.extend(item.head.uses.iter().copied());
        self.mentioned
            .extend(item.head.defs.iter().map(|(id, _)| *id));
        *live = header;
        if let Some(first) = &mut item.initializer {
            self.node(first, live);
            // The head keeps its place.
            first.dead = false;
            if let NodeKind::Simple(simple) = &mut first.kind {
                simple.drop_initializer = false;
                live.extend(simple.uses.iter().copied());
                self.mentioned.extend(simple.uses.iter().copied());
            }
        }
        false
    }
}

/// Returns whether the remainder of a statement does nothing but assign variables, which are collected.
fn quiet(node: &Node<'_>, defs: &mut Vec<VarId>) -> bool {
    if node.dead {
        return true;
    }
    match &node.kind {
        NodeKind::Simple(simple) => {
            defs.extend(simple.defs.iter().map(|(id, _)| *id));
            !simple.keep
        }
        NodeKind::Block(nodes) => nodes.iter().all(|node| quiet(node, defs)),
        NodeKind::If {
            condition,
            then,
            otherwise,
            ..
        } => {
            condition.effects.removable(ir::Language::Cuda)
                && quiet(then, defs)
                && otherwise.as_ref().is_none_or(|it| quiet(it, defs))
        }
        NodeKind::Loop(node) => {
            defs.extend(node.head.defs.iter().map(|(id, _)| *id));
            !node.head.keep
                && quiet(&node.body, defs)
                && node
                    .initializer
                    .as_ref()
                    .is_none_or(|first| quiet(first, defs))
        }
        NodeKind::Jump { jump, .. } => matches!(jump, Jump::Break | Jump::Continue),
        NodeKind::Opaque { .. } => false,
    }
}
