//! Branches, switches, edges.

use super::emit::{Emitter, returned_place};
use super::registers::{Class, Register};
use crate::refusal::Refusal;
use ir::*;
use smol_str::SmolStr;

impl Emitter<'_> {
    pub(super) fn terminator(&mut self, block: Block) -> Result<(), Refusal> {
        self.guard.clear();
        match &self.function.blocks[block].terminator {
            Terminator::Jump(edge) => self.edge(edge, true),
            Terminator::Branch {
                condition,
                then,
                otherwise,
                uniform,
            } => {
                let p = self.register(*condition);
                let uni = if *uniform { ".uni" } else { "" };
                let copies = [then, otherwise].map(|edge| !self.moves(edge).is_empty());
                if !copies[1] && (copies[0] || self.next == Some(then.block)) {
                    self.plain(format_args!("@!{p} bra{uni} $B{}", otherwise.block.0));
                    self.edge(then, true);
                } else if copies[0] {
                    // The edge's copies need a place of their own.
                    self.plain(format_args!("@{p} bra{uni} $B{}_then", block.0));
                    self.edge(otherwise, false);
                    self.label(format_args!("$B{}_then", block.0));
                    self.edge(then, true);
                } else {
                    self.plain(format_args!("@{p} bra{uni} $B{}", then.block.0));
                    self.edge(otherwise, true);
                }
            }
            Terminator::Switch {
                value,
                cases,
                default,
            } => {
                let selector = self.register(*value);
                let ty = if selector.class == Class::Double {
                    "s64"
                } else {
                    "s32"
                };
                for (number, (case, _)) in cases.iter().enumerate() {
                    let p = self.fresh(Class::Predicate);
                    self.plain(format_args!("setp.eq.{ty} {p}, {selector}, {case}"));
                    self.plain(format_args!("@{p} bra $B{}_case{number}", block.0));
                }
                self.edge(default, cases.is_empty());
                for (number, (_, edge)) in cases.iter().enumerate() {
                    self.label(format_args!("$B{}_case{number}", block.0));
                    self.edge(edge, number + 1 == cases.len());
                }
            }
            Terminator::Return(values) => {
                if self.is_entry() {
                    self.outputs(values);
                } else {
                    for (number, &value) in values.iter().enumerate() {
                        let name = format!("{}_ret", self.name);
                        let place = returned_place(values.len(), number, &name);
                        self.store_parameter(value, &place);
                    }
                }
                self.plain("ret");
            }
            Terminator::Kill => self.plain("exit"),
            Terminator::Trap | Terminator::Unreachable | Terminator::None => self.plain("trap"),
        }
        Ok(())
    }

    /// The copies of an edge that somebody reads.
    fn moves(&self, edge: &Edge) -> Vec<(Value, Value)> {
        let params = &self.function.blocks[edge.block].params;
        let pairs = params.iter().copied().zip(edge.args.iter().copied());
        let read = pairs.filter(|&(param, arg)| param != arg && self.needed.value(param));
        read.collect()
    }

    /// The copies of an edge, all at once, and the jump, where the block does not come next anyway.
    fn edge(&mut self, edge: &Edge, last: bool) {
        // What was put into registers on another way is not there on this one.
        self.forget_constants();
        let mut written: Vec<Register> = Vec::new();
        let mut moves: Vec<(Register, SmolStr)> = Vec::new();
        for (param, arg) in self.moves(edge) {
            let to = self.register(param);
            let source = self.operand(arg);
            let clobbered = written
                .iter()
                .any(|register| source == smol_str::format_smolstr!("{register}"));
            written.push(to);
            let source = if clobbered {
                // A register that is read after it was written goes through a copy.
                let copy = self.fresh(to.class);
                let ty = to.class.type_name();
                self.plain(format_args!("mov.{ty} {copy}, {source}"));
                smol_str::format_smolstr!("{copy}")
            } else {
                source
            };
            moves.push((to, source));
        }
        for (to, source) in moves {
            let ty = to.class.type_name();
            self.plain(format_args!("mov.{ty} {to}, {source}"));
        }
        if !last || self.next != Some(edge.block) {
            self.plain(format_args!("bra $B{}", edge.block.0));
        }
    }
}
