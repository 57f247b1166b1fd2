//! What an address points into, as far as its definitions tell.

use ir::{Block, Convert, EntityVec, Function, Inst, Op, Value, ValueDef};
use rustc_hash::FxHashSet;
use smol_str::SmolStr;

/// Definitions that are looked at.
const MOST: usize = 64;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(in super::super) enum Origin {
    Unknown,
    /// What only this parameter's pointer reaches while the function runs: the entry's parameter.
    Restrict(u32),
    /// A variable of the frame: its `Alloca`.
    Slot(Inst),
    /// A variable of the file or of another one.
    Symbol(SmolStr),
}

impl Origin {
    /// Whether no access through one meets one through the other.
    pub(super) fn is_apart(&self, other: &Origin) -> bool {
        match (self, other) {
            (one, other) if one == other => false,
            (Origin::Restrict(_), _) | (_, Origin::Restrict(_)) => true,
            (Origin::Unknown, _) | (_, Origin::Unknown) => false,
            _ => true,
        }
    }
}

/// From which blocks each block is entered: once for each edge.
pub(in super::super) struct Entries(EntityVec<Block, Vec<Block>>);

impl Entries {
    pub(in super::super) fn of(source: &Function) -> Entries {
        let mut out = EntityVec::with_len(Vec::new(), source.blocks.len());
        for &from in &source.layout {
            for edge in source.blocks[from].terminator.edges() {
                out[edge.block].push(from);
            }
        }
        Entries(out)
    }
}

pub(in super::super) fn origin(source: &Function, entries: &Entries, address: Value) -> Origin {
    let mut found: Option<Origin> = None;
    let mut seen: FxHashSet<Value> = FxHashSet::default();
    let mut work = vec![address];
    while let Some(value) = work.pop() {
        if !seen.insert(value) {
            continue;
        }
        if seen.len() > MOST {
            return Origin::Unknown;
        }
        let one = match source.values[value].def {
            ValueDef::Param(block, index) if block == source.entry() => {
                let mut infos = source.parameters.iter();
                match infos.find(|info| info.values.contains(&value)) {
                    Some(info) if info.no_alias => Origin::Restrict(index),
                    _ => return Origin::Unknown,
                }
            }
            ValueDef::Param(block, index) => {
                for &from in &entries.0[block] {
                    for edge in source.blocks[from].terminator.edges() {
                        if edge.block == block {
                            work.extend(edge.args.get(index as usize));
                        }
                    }
                }
                continue;
            }
            ValueDef::Result(inst, _) => {
                let data = &source.insts[inst];
                match &data.op {
                    Op::PtrAdd | Op::Convert(Convert::SpaceCast) => {
                        work.push(data.args[0]);
                        continue;
                    }
                    Op::Select => {
                        work.extend(&data.args[1..]);
                        continue;
                    }
                    Op::Alloca { .. } => Origin::Slot(inst),
                    Op::SymbolAddress(symbol) => {
                        Origin::Symbol(source.symbols[*symbol].name.clone())
                    }
                    _ => return Origin::Unknown,
                }
            }
        };
        match &found {
            Some(known) if *known != one => return Origin::Unknown,
            _ => found = Some(one),
        }
    }
    found.unwrap_or(Origin::Unknown)
}
