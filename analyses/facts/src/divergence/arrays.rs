//! Private arrays (`Alloca`) whose address does not escape: their contents are as uniform as the least
//! uniform value, offset and execution of the stores into them. Memory that the callers of a device function
//! filled (a `static` variable, a large structure by value) is an array whose address is a parameter: the
//! contents that they left in it count as a store.
//!
//! An array whose every address is a constant distance from its first is held apart by its *parts*: members
//! of a structure, components of a vector, elements that are always named by constants. A store to one part
//! says nothing of the others, and a value that a block loads after it stored it is the stored value.
//!
//! An address that is one of several, and that is only loaded from, is a *view* of all their arrays: `min(a, b)` by reference
//! reads `a` or `b`, and leaves them apart.

use super::engine::{DISPATCH, DIVERGENT, Engine, Level, level_of, scope_of};
use crate::model::Scope;
use ir::{Block, Convert, Function, FunctionKind, Inst, Op, Space, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Finds the arrays and the addresses in them. Arrays that one address may lie in are one.
pub(crate) fn find(engine: &mut Engine<'_>) {
    let function = engine.function;
    let mut classes = Classes::new(function);
    let views = views(engine);
    let mut loads = Vec::new();
    for &block in &engine.flow.order {
        for &inst in &function.blocks[block].insts {
            let data = &function.insts[inst];
            if let (Op::Load(_), Some(&address)) = (&data.op, data.args.first())
                && (is_private(function, address) || views.contains_key(&address))
            {
                loads.push((address, inst));
            }
            // What a view is made of is not touched by that.
            if data
                .results
                .first()
                .is_some_and(|result| views.contains_key(result))
            {
                continue;
            }
            let merged: &[Value] = match data.op {
                Op::PtrAdd => data.args.get(..1).unwrap_or_default(),
                Op::Select => data.args.get(1..).unwrap_or_default(),
                _ => &[],
            };
            for (index, &arg) in data.args.iter().enumerate() {
                let fine = merged.contains(&arg)
                    || matches!(data.op, Op::IntCompare(_))
                    || index == 0 && matches!(data.op, Op::Load(_) | Op::Store(_));
                if !fine {
                    classes.escapes(arg);
                }
            }
            for &result in &data.results {
                match data.op {
                    Op::Alloca { .. } | Op::Undef => {}
                    Op::PtrAdd | Op::Select => {
                        for &arg in merged {
                            classes.join(result, arg);
                        }
                    }
                    _ => classes.escapes(result),
                }
            }
        }
        for edge in function.blocks[block].terminator.edges() {
            for (&param, &arg) in function.blocks[edge.block].params.iter().zip(&edge.args) {
                if !views.contains_key(&param) {
                    classes.join(param, arg);
                }
            }
        }
        if let ir::Terminator::Return(values) = &function.blocks[block].terminator {
            for &value in values {
                classes.escapes(value);
            }
        }
    }
    for &param in &function.blocks[function.entry()].params {
        if given(engine, param) == DIVERGENT {
            classes.escapes(param);
        }
    }
    engine.array_of = vec![None; function.values.len()];
    let mut numbers = vec![None; function.values.len()];
    for value in function.values.keys() {
        if !is_private(function, value) || views.contains_key(&value) {
            continue;
        }
        let class = classes.of(value) as usize;
        if !classes.escaped[class] {
            let number = *numbers[class].get_or_insert_with(|| engine.add_array());
            engine.array_of[value.0 as usize] = Some(number);
        }
    }
    for (address, sources) in views {
        let arrays: Option<Vec<u32>> = sources
            .iter()
            .map(|&source| engine.array_of(source))
            .collect();
        if let Some(mut arrays) = arrays {
            arrays.sort_unstable();
            arrays.dedup();
            engine.views.insert(address, arrays);
        }
    }
    divide(engine);
    for (address, inst) in loads {
        let own = match engine.parts_of.get(&inst) {
            Some(parts) => parts.clone(),
            None => engine.array_of(address).into_iter().collect(),
        };
        for array in own {
            engine.reads_array(array, inst);
        }
        for array in engine.views.get(&address).cloned().unwrap_or_default() {
            for each in engine.all_of_array(&array).to_vec() {
                engine.reads_array(each, inst);
            }
        }
    }
    for &param in &function.blocks[function.entry()].params {
        if let Some(array) = engine.array_of(param) {
            let level = given(engine, param);
            for each in engine.all_of_array(&array).to_vec() {
                engine.lower_array(each, level);
            }
        }
    }
}

/// Gives the parts of arrays that only constants lead into numbers of their own.
fn divide(engine: &mut Engine<'_>) {
    let function = engine.function;
    // The base of each array, unless some address is at no constant distance from one place.
    let mut whole: FxHashMap<u32, Option<Value>> = FxHashMap::default();
    let mut at: FxHashMap<Value, (u32, i64)> = FxHashMap::default();
    for address in function.values.keys() {
        let Some(array) = engine.array_of(address) else {
            continue;
        };
        let place = constant_distance(function, address);
        let known = whole.entry(array).or_insert(place.map(|(base, _)| base));
        match place {
            Some((base, distance)) if *known == Some(base) => {
                at.insert(address, (array, distance));
            }
            _ => *known = None,
        }
    }
    // What each access covers.
    let mut covered: FxHashMap<u32, Vec<(i64, i64)>> = FxHashMap::default();
    let mut accesses: Vec<(Block, Inst, u32, Vec<i64>)> = Vec::new();
    for &block in &engine.flow.order {
        for &inst in &function.blocks[block].insts {
            let data = &function.insts[inst];
            let values = match data.op {
                Op::Load(_) => data.results.as_slice(),
                Op::Store(_) => data.args.get(1..).unwrap_or_default(),
                _ => continue,
            };
            let Some(&address) = data.args.first() else {
                continue;
            };
            let Some(&(array, mut from)) = at.get(&address) else {
                continue;
            };
            let mut begins = Vec::with_capacity(values.len());
            for &value in values {
                let ty = function.ty(value);
                if matches!(ty, Type::Opaque | Type::Handle) {
                    whole.insert(array, None);
                }
                let to = from + i64::from(function.bytes_of(ty));
                covered.entry(array).or_default().push((from, to));
                begins.push(from);
                from = to;
            }
            accesses.push((block, inst, array, begins));
        }
    }
    // What overlaps is one part.
    let mut parts: FxHashMap<u32, Vec<(i64, u32)>> = FxHashMap::default();
    let mut arrays: Vec<u32> = covered.keys().copied().collect();
    arrays.sort_unstable();
    for array in arrays {
        if whole.get(&array).copied().flatten().is_none() {
            continue;
        }
        let mut ranges = covered.remove(&array).unwrap_or_default();
        ranges.sort_unstable();
        let mut found: Vec<(i64, u32)> = Vec::new();
        let mut end = i64::MIN;
        for (from, to) in ranges {
            if from >= end {
                found.push((from, engine.add_array()));
            }
            end = end.max(to);
        }
        let numbers = found.iter().map(|&(_, number)| number).collect();
        engine.divided.insert(array, numbers);
        parts.insert(array, found);
    }
    // By part: what the block has stored last.
    let mut last: FxHashMap<u32, (Block, Type, Inst, usize)> = FxHashMap::default();
    for (block, inst, array, begins) in accesses {
        let Some(parts) = parts.get(&array) else {
            continue;
        };
        let part = |begin: &i64| {
            let behind = parts.partition_point(|(from, _)| from <= begin);
            behind.checked_sub(1).map(|number| parts[number])
        };
        let Some(own) = begins.iter().map(part).collect::<Option<Vec<_>>>() else {
            continue;
        };
        let data = &function.insts[inst];
        let mut numbers = Vec::with_capacity(own.len());
        for (index, (&begin, (from, number))) in begins.iter().zip(own).enumerate() {
            match data.op {
                Op::Store(_) => {
                    let whole = begin == from && data.guard.is_none();
                    let ty = function.ty(data.args[index + 1]);
                    match whole {
                        true => last.insert(number, (block, ty, inst, index)),
                        false => last.remove(&number),
                    };
                    numbers.push(number);
                }
                _ => {
                    let is_it = |it: &&(Block, Type, Inst, usize)| {
                        it.0 == block && begin == from && it.1 == function.ty(data.results[index])
                    };
                    numbers.push(match last.get(&number).filter(is_it) {
                        Some(&(_, _, store, index)) => engine.forwarded_from(store, index),
                        None => number,
                    });
                }
            }
        }
        engine.parts_of.insert(inst, numbers);
    }
}

/// An address as a constant distance from where an array begins.
fn constant_distance(function: &Function, mut address: Value) -> Option<(Value, i64)> {
    let mut distance = 0i64;
    loop {
        let Some(data) = function.defining(address) else {
            let entry = function.blocks[function.entry()].params.contains(&address);
            return entry.then_some((address, distance));
        };
        match data.op {
            Op::Alloca { .. } => return Some((address, distance)),
            Op::PtrAdd => {
                distance = distance.checked_add(function.int_constant(*data.args.get(1)?)?)?;
                address = data.args[0];
            }
            _ => return None,
        }
    }
}

/// Addresses that are one of several, and that are only loaded from and compared, with all that they may be.
fn views(engine: &Engine<'_>) -> FxHashMap<Value, Vec<Value>> {
    let function = engine.function;
    let is_address = |value: Value| matches!(function.ty(value), Type::Ptr(_));
    let mut from: FxHashMap<Value, Vec<Value>> = FxHashMap::default();
    // Values that something else happens to.
    let mut touched: FxHashSet<Value> = FxHashSet::default();
    for &block in &engine.flow.order {
        let data = &function.blocks[block];
        for &inst in &data.insts {
            let data = &function.insts[inst];
            let merged: &[Value] = match data.op {
                Op::Select => data.args.get(1..).unwrap_or_default(),
                Op::Convert(Convert::SpaceCast) => &data.args,
                _ => &[],
            };
            if let (Some(&result), false) = (data.results.first(), merged.is_empty())
                && is_address(result)
            {
                from.entry(result).or_default().extend(merged);
                continue;
            }
            let loads = matches!(data.op, Op::Load(_));
            let compares = matches!(data.op, Op::IntCompare(_));
            let used = data.args.iter().enumerate();
            touched.extend(
                used.filter(|(at, _)| !(compares || loads && *at == 0))
                    .map(|(_, &arg)| arg),
            );
        }
        for edge in data.terminator.edges() {
            for (&param, &arg) in function.blocks[edge.block].params.iter().zip(&edge.args) {
                match is_address(param) {
                    true => from.entry(param).or_default().push(arg),
                    false => drop(touched.insert(arg)),
                }
            }
        }
        if let ir::Terminator::Return(values) = &data.terminator {
            touched.extend(values);
        }
    }
    for &param in &function.blocks[function.entry()].params {
        from.remove(&param);
    }
    // Start with all values that could be views and keep those that are: a view is made of private addresses
    // and views, and goes into views only.
    let mut views: FxHashSet<Value> = from.keys().copied().collect();
    views.retain(|view| !touched.contains(view));
    loop {
        let sound = |view: &Value| {
            from[view].iter().all(|source| {
                views.contains(source)
                    || is_private(function, *source) && !from.contains_key(source)
            })
        };
        let mut gone: Vec<Value> = views.iter().copied().filter(|view| !sound(view)).collect();
        // What another one is made of that is no view itself is touched by that.
        for (to, sources) in &from {
            if !views.contains(to) {
                gone.extend(sources.iter().filter(|source| views.contains(*source)));
            }
        }
        if gone.is_empty() {
            break;
        }
        for each in gone {
            views.remove(&each);
        }
    }
    let mut out: FxHashMap<Value, Vec<Value>> = FxHashMap::default();
    for &view in &views {
        let mut open = vec![view];
        let mut seen: FxHashSet<Value> = FxHashSet::default();
        let mut sources = Vec::new();
        while let Some(found) = open.pop() {
            if !seen.insert(found) {
                continue;
            }
            match views.contains(&found) {
                true => open.extend(&from[&found]),
                false => sources.push(found),
            }
        }
        out.insert(view, sources);
    }
    out
}

/// Returns how uniform the callers leave the private memory that a parameter of a device function is the address of.
fn given(engine: &Engine<'_>, param: Value) -> Level {
    let function = engine.function;
    if function.kind != FunctionKind::Device {
        return DIVERGENT;
    }
    let mut parameters = function.parameters.iter();
    let number = parameters.position(|parameter| parameter.values.contains(&param));
    let scope = number.and_then(|at| engine.options.parameters.get(at).copied().flatten());
    scope.map_or(DIVERGENT, level_of)
}

/// Returns how uniform all is that lies in private memory which functions of the unit share.
pub(crate) fn contents(engine: &Engine<'_>) -> Vec<(Value, Option<Scope>)> {
    let function = engine.function;
    let sites = function.sites.values();
    let passed = sites.flat_map(|site| site.arguments.iter().flat_map(|(_, values)| values));
    let statics = function.statics.iter().map(|known| &known.address);
    let mut found: Vec<(Value, Option<Scope>)> = passed
        .chain(statics)
        .filter(|&&value| is_private(function, value))
        .map(|&value| {
            let array = engine.array_of(value).filter(|_| !engine.given_up);
            let level = array.map_or(DIVERGENT, |array| engine.level_of_array(array));
            (value, scope_of(level))
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn is_private(function: &Function, value: Value) -> bool {
    function.ty(value) == Type::Ptr(Space::Local)
}

/// Addresses in private memory by the arrays that they may lie in; union-find.
struct Classes<'f> {
    function: &'f Function,
    parent: Vec<u32>,
    /// True for a class's first member if more may happen to the class than is seen.
    escaped: Vec<bool>,
}

impl Classes<'_> {
    fn new(function: &Function) -> Classes<'_> {
        Classes {
            function,
            parent: (0..function.values.len() as u32).collect(),
            escaped: vec![false; function.values.len()],
        }
    }
    fn of(&mut self, value: Value) -> u32 {
        let mut at = value.0;
        while self.parent[at as usize] != at {
            let up = self.parent[self.parent[at as usize] as usize];
            self.parent[at as usize] = up;
            at = up;
        }
        at
    }
    fn escapes(&mut self, value: Value) {
        if is_private(self.function, value) {
            let class = self.of(value);
            self.escaped[class as usize] = true;
        }
    }
    fn join(&mut self, a: Value, b: Value) {
        match (is_private(self.function, a), is_private(self.function, b)) {
            (true, true) => {
                let (a, b) = (self.of(a) as usize, self.of(b) as usize);
                self.parent[b] = a as u32;
                self.escaped[a] |= self.escaped[b];
            }
            (true, false) => self.escapes(a),
            (false, true) => self.escapes(b),
            (false, false) => {}
        }
    }
}

/// The uniformity of an address's offset in its array.
pub(crate) fn offset_level(engine: &Engine<'_>, address: Value, block: Block) -> Level {
    engine
        .level_at(address, block)
        .max(if engine.cells[address].form.assumed {
            0
        } else {
            let values = engine.function.values.len() as u32;
            engine.cells[address]
                .form
                .terms
                .iter()
                .filter(|t| {
                    // The base itself is the same place in every lane's memory.
                    !(t.coefficient == 1
                        && t.factors.len() == 1
                        && t.factors[0] < values
                        && matches!(
                            engine.function.defining(Value(t.factors[0])).map(|d| &d.op),
                            Some(Op::Alloca { .. })
                        ))
                })
                .map(|t| engine.term_level(&t.factors, block))
                .min()
                .unwrap_or(DISPATCH)
        })
}

/// A store into an array.
pub(crate) fn store(engine: &mut Engine<'_>, block: Block, inst: Inst) {
    let data = &engine.function.insts[inst];
    let Some((&address, values)) = data.args.split_first() else {
        return;
    };
    let Some(array) = engine.array_of(address) else {
        return;
    };
    let mut level = offset_level(engine, address, block).min(engine.executed[block]);
    if let Some(guard) = &data.guard {
        level = level.min(engine.level_at(guard.value, block));
    }
    if let Some(parts) = engine.parts_of.get(&inst).cloned() {
        for (&value, part) in values.iter().zip(parts) {
            engine.lower_array(part, level.min(engine.level_at(value, block)));
        }
        for (index, array) in engine.forwarded.get(&inst).cloned().unwrap_or_default() {
            engine.lower_array(array, engine.level_at(values[index], block));
        }
        return;
    }
    for &value in values {
        level = level.min(engine.level_at(value, block));
    }
    engine.lower_array(array, level);
}
