//! The object that an address points into, as far as its definitions tell.
//!
//! ```text
//! int t[8]; t[a[i] & 7]++;      nothing but `t` itself leads into it: `a` does not, wherever it points
//! ```
//!
//! An address is followed through sums, choices and block parameters; all that it may be must agree. A variable of the frame is
//! private where its address is only ever followed by loads and stores, and never mixed with another. A parameter's promise
//! (`restrict`) is about all pointers that are based on it: it tells something only where each of them is known, so not where
//! one is kept in memory, given away, or may be another object's address.

use crate::mir::Object;
use ir::{Block, Convert, EntityVec, Function, Inst, Op, Terminator, Type, Value, ValueDef};
use rustc_hash::FxHashSet;

/// Definitions that are looked at.
const MOST: usize = 64;

/// The memory that an address of the IR points into: parameters are the entry's, variables of the frame their `Alloca`.
pub(crate) type Origin = Object<Inst>;

/// The objects that the addresses of a function point into.
pub(crate) struct Origins {
    entries: Entries,
    alone: FxHashSet<Root>,
}

/// The origin of pointers that can be followed: a variable of the frame, or a parameter by its subscript.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Root {
    Slot(Inst),
    Restrict(u32),
}

/// From which blocks each block is entered: once for each edge.
type Entries = EntityVec<Block, Vec<Block>>;

fn entries(source: &Function) -> Entries {
    let mut out = EntityVec::with_len(Vec::new(), source.blocks.len());
    for &from in &source.layout {
        for edge in source.blocks[from].terminator.edges() {
            out[edge.block].push(from);
        }
    }
    out
}

impl Origins {
    pub(crate) fn of(function: &Function) -> Origins {
        let mut alone: FxHashSet<Root> = FxHashSet::default();
        for &block in &function.layout {
            for &inst in &function.blocks[block].insts {
                if matches!(function.insts[inst].op, Op::Alloca { .. }) {
                    alone.insert(Root::Slot(inst));
                }
            }
        }
        for (index, &value) in function.blocks[function.entry()].params.iter().enumerate() {
            if promised(function, value) {
                alone.insert(Root::Restrict(index as u32));
            }
        }
        let entries = entries(function);
        if !alone.is_empty() {
            escapes(function, &entries, &mut alone);
        }
        Origins { entries, alone }
    }

    pub(crate) fn origin(&self, source: &Function, address: Value) -> Origin {
        match origin(source, &self.entries, address) {
            Origin::Slot(inst) if self.alone.contains(&Root::Slot(inst)) => Origin::Private(inst),
            Origin::Restrict(index) if !self.alone.contains(&Root::Restrict(index)) => {
                Origin::Parameter(index)
            }
            other => other,
        }
    }
}

/// Returns true if the entry's parameter is a pointer with `restrict`.
fn promised(function: &Function, value: Value) -> bool {
    let mut infos = function.parameters.iter();
    let info = infos.find(|info| info.values.contains(&value));
    info.is_some_and(|info| info.no_alias)
}

/// Takes out of `alone` those whose address may leave the function's own loads and stores.
fn escapes(function: &Function, entries: &Entries, alone: &mut FxHashSet<Root>) {
    // By value: what it is derived from.
    let mut from: EntityVec<Value, Option<Root>> = EntityVec::with_len(None, function.values.len());
    for (index, &value) in function.blocks[function.entry()].params.iter().enumerate() {
        let root = Root::Restrict(index as u32);
        from[value] = alone.contains(&root).then_some(root);
    }
    let mut changed = true;
    // What may be one variable's address or another's is told of neither.
    let mut derive =
        |from: &mut EntityVec<Value, Option<Root>>, value: Value, root: Root| match from[value] {
            Some(known) => {
                if known != root {
                    alone.remove(&known);
                    alone.remove(&root);
                }
                false
            }
            None => {
                from[value] = Some(root);
                true
            }
        };
    while std::mem::take(&mut changed) {
        for &block in &function.layout {
            for &inst in &function.blocks[block].insts {
                let data = &function.insts[inst];
                let of = match data.op {
                    Op::Alloca { .. } => [Some(Root::Slot(inst)), None],
                    Op::PtrAdd | Op::Convert(Convert::SpaceCast) => [from[data.args[0]], None],
                    Op::Select => [from[data.args[1]], from[data.args[2]]],
                    _ => [None, None],
                };
                for of in of.into_iter().flatten() {
                    changed |= derive(&mut from, data.results[0], of);
                }
            }
            for edge in function.blocks[block].terminator.edges() {
                for (&arg, &param) in edge.args.iter().zip(&function.blocks[edge.block].params) {
                    if let Some(of) = from[arg] {
                        changed |= derive(&mut from, param, of);
                    }
                }
            }
        }
    }
    let is_pointer = |value: Value| matches!(function.ty(value), Type::Ptr(_));
    // Numbers are no pointers again, unless the function makes some of them.
    let returns = function.layout.iter().any(|&block| {
        let mut insts = function.blocks[block].insts.iter();
        insts.any(|&inst| {
            let data = &function.insts[inst];
            matches!(data.op, Op::Convert(Convert::Bitcast)) && is_pointer(data.results[0])
        })
    });
    let mut leave = |value: Value, slots_only: bool| match from[value] {
        Some(Root::Restrict(_)) if slots_only => {}
        Some(root) => {
            alone.remove(&root);
        }
        None => {}
    };
    for &block in &function.layout {
        for &inst in &function.blocks[block].insts {
            let data = &function.insts[inst];
            let followed = match data.op {
                Op::Load(_) | Op::Store(_) | Op::PtrAdd => 1,
                Op::Convert(Convert::SpaceCast) | Op::IntCompare(_) | Op::Select => usize::MAX,
                _ => 0,
            };
            let number = matches!(data.op, Op::Convert(_)) && !returns;
            let given = data.args.iter().skip(followed);
            given.for_each(|&arg| leave(arg, number));
        }
        // What the caller does with it comes after the promise.
        if let Terminator::Return(values) = &function.blocks[block].terminator {
            values.iter().for_each(|&value| leave(value, true));
        }
    }
    // Values that may be the address of this variable or of another one: an access through such a value
    // determines neither.
    for (value, known) in from.iter() {
        let Some(root) = *known else { continue };
        let itself = match root {
            Root::Slot(inst) => Origin::Slot(inst),
            Root::Restrict(index) => Origin::Restrict(index),
        };
        if alone.contains(&root) && origin(function, entries, value) != itself {
            alone.remove(&root);
        }
    }
}

fn origin(source: &Function, entries: &Entries, address: Value) -> Origin {
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
        let it = match source.values[value].def {
            ValueDef::Param(block, index) if block == source.entry() => {
                match promised(source, value) {
                    true => Origin::Restrict(index),
                    false => Origin::Parameter(index),
                }
            }
            ValueDef::Param(block, index) => {
                for &from in &entries[block] {
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
                        let symbol = &source.symbols[*symbol];
                        match symbol.read_only {
                            true => Origin::Constant(symbol.name.clone()),
                            false => Origin::Symbol(symbol.name.clone()),
                        }
                    }
                    _ => return Origin::Unknown,
                }
            }
        };
        match &found {
            Some(known) if *known != it => return Origin::Unknown,
            _ => found = Some(it),
        }
    }
    found.unwrap_or(Origin::Unknown)
}
