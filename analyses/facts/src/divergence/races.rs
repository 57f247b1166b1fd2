//! Loads that a store of the same warp may race with: a store to the same object reaches the load without a
//! barrier in between. Each lane may then read back its own value, for compilers keep a value that a lane has
//! just stored in a register, and lanes need not execute together.
//!
//! ```text
//! s = tid.x;  u = s;             u is as divergent as what was stored
//! if (tid.x == 0) s = n;  u = s; so it is: lane 0 reads n, the others what was there before
//! s = tid.x;  __syncwarp();  u = s;       one value for the warp
//! ```
//!
//! An object is the base from which addresses are computed: two pointers are taken to lie in different ones
//! unless one is computed from the other, they merge, or they were loaded from one address. Stores through
//! addresses that differ between lanes count as well as those to the load's own address; stores to another
//! element do not where the distance is a known constant. Stores of a uniform value that all lanes execute
//! leave the load as uniform as that value.
//!
//! Up to `STORES` stores are told apart, more of them by their objects modulo that number. One pass over the
//! instructions, and a backward-free data flow of one word a block, which only grows.

use super::engine::{DISPATCH, DIVERGENT, Engine, Level, SUBGROUP, level_of, scope_of};
use crate::model::Scope;
use ir::{
    Barrier, BinaryOp, Block, Convert, Function, FunctionKind, Inst, Language, Op, Space,
    TextureOp, Type, Value,
};
use rustc_hash::{FxHashMap, FxHashSet};

const STORES: usize = 64;

#[derive(Default)]
pub(crate) struct Races {
    /// Keyed by store: its number, modulo `STORES` that of its object if there are too many.
    number: FxHashMap<Inst, u32>,
    stores: Vec<Vec<(Block, Inst)>>,
    /// Loads that a number reaches: node, block, instruction, first result.
    loads: Vec<Vec<(u32, Block, Inst, Value)>>,
    /// Bits of the stores that reach a load, and of those that stand before it in its block.
    reaching: FxHashMap<Inst, (u64, u64)>,
    /// The levels of the values that the stores under one number leave, if several share it.
    levels: Vec<Level>,
    /// Loads of a device function that are reached from its entry without a barrier: they read stores of
    /// callers.
    open: FxHashSet<Inst>,
}

/// Finds the stores that reach loads of their object.
pub(super) fn find(engine: &Engine<'_>) -> Races {
    let function = engine.function;
    let reads = |op: &Op| match op {
        Op::Load(access) => {
            matches!(access.space, Space::Global | Space::Shared) && !access.read_only
        }
        Op::Texture(access) => !access.read_only,
        _ => false,
    };
    let mut races = Races::default();
    // What reads, writes or closes, in the order of the flow.
    let mut touched: Vec<(Block, Inst)> = Vec::new();
    let (mut found_load, mut found_store) = (false, false);
    for &block in &engine.flow.order {
        for &inst in &function.blocks[block].insts {
            let data = &function.insts[inst];
            let (load, store) = (reads(&data.op), writes(&data.op));
            found_load |= load;
            found_store |= store;
            if load || store || closes(data.guard.is_some(), &data.op) {
                touched.push((block, inst));
            }
        }
    }
    if found_load && function.kind == FunctionKind::Device {
        races.open = open(engine, &touched, reads);
    }
    if !found_load || !found_store {
        return races;
    }
    let mut objects = Objects::new(engine);
    let mut loaded: FxHashSet<u32> = FxHashSet::default();
    for &(_, inst) in &touched {
        let data = &function.insts[inst];
        if let (true, Some(&address)) = (reads(&data.op), data.args.first()) {
            loaded.insert(objects.of(address));
        }
    }
    // Stores to objects that are read.
    let mut stores: Vec<(Block, Inst, u32)> = Vec::new();
    for &(block, inst) in &touched {
        let data = &function.insts[inst];
        if !writes(&data.op) {
            continue;
        }
        let reached = match data.op {
            Op::Store(_) | Op::Atomic(..) | Op::Texture(_) => data.args.get(..1),
            _ => Some(data.args.as_slice()),
        };
        for &address in reached.unwrap_or_default() {
            let object = objects.of(address);
            if loaded.contains(&object) {
                stores.push((block, inst, object));
            }
        }
    }
    let apart = stores.len() <= STORES;
    let mut bits_of_object: FxHashMap<u32, u64> = FxHashMap::default();
    let mut written: FxHashMap<Inst, u64> = FxHashMap::default();
    races.stores = vec![Vec::new(); STORES];
    races.loads = vec![Vec::new(); STORES];
    races.levels = vec![DISPATCH; STORES];
    for (number, &(block, inst, object)) in stores.iter().enumerate() {
        let number = if apart {
            number
        } else {
            object as usize % STORES
        };
        races.number.insert(inst, number as u32);
        if apart {
            races.stores[number].push((block, inst));
        }
        *bits_of_object.entry(object).or_default() |= 1 << number;
        *written.entry(inst).or_default() |= 1 << number;
    }
    let before = reaching(engine, &touched, &written);
    for stretch in touched.chunk_by(|(it, _), (other, _)| it == other) {
        let block = stretch[0].0;
        let mut now = before[block.0 as usize];
        let mut here = 0;
        for &(_, inst) in stretch {
            let data = &function.insts[inst];
            if reads(&data.op) && now != 0 {
                let own = data.args.first().map(|&address| objects.of(address));
                let own = own.and_then(|o| bits_of_object.get(&o)).copied();
                let bits = now & own.unwrap_or(0);
                if bits != 0
                    && let Some(&result) = data.results.first()
                {
                    races.reaching.insert(inst, (bits, bits & here));
                    for number in numbers(bits) {
                        let node = engine.node_of(result);
                        races.loads[number].push((node, block, inst, result));
                    }
                }
            }
            if closes(data.guard.is_some(), &data.op) {
                now = 0;
            }
            let own = written.get(&inst).copied().unwrap_or(0);
            now |= own;
            here |= own;
        }
    }
    races
}

/// A store, or a possible one, was computed anew: the loads that it reaches, where it matters to them.
pub(super) fn store(engine: &mut Engine<'_>, block: Block, inst: Inst) {
    let Some(&number) = engine.races.number.get(&inst) else {
        return;
    };
    let number = number as usize;
    if engine.races.stores[number].is_empty() {
        let level = left_by(engine, block, inst, block, false);
        let known = &mut engine.races.levels[number];
        if level >= *known {
            return;
        }
        *known = level;
    }
    let loads = std::mem::take(&mut engine.races.loads[number]);
    // Only the loads whose level this lowers: a level falls a few times, so stores that read what they write
    // come to an end.
    let lowered: Vec<u32> = loads
        .iter()
        .filter(|&&(_, at, load, result)| bound(engine, at, load).0 < engine.level[result])
        .map(|&(node, ..)| node)
        .collect();
    engine.mark_nodes(&lowered);
    engine.races.loads[number] = loads;
}

/// Returns how uniform a load can be for the stores that reach it, and the first of those that say so.
pub(super) fn bound(engine: &Engine<'_>, block: Block, load: Inst) -> (Level, Option<Inst>) {
    let mut least = match engine.races.open.contains(&load) {
        true => (engine.options.reached.map_or(DIVERGENT, level_of), None),
        false => (DISPATCH, None),
    };
    let Some(&(bits, here)) = engine.races.reaching.get(&load) else {
        return least;
    };
    for number in numbers(bits) {
        let stores = &engine.races.stores[number];
        let mut level = engine.races.levels[number];
        let mut first = None;
        for &(from, store) in stores {
            if !elsewhere(engine, from, store, block, load) {
                let before = here & 1 << number != 0;
                level = left_by(engine, from, store, block, before);
                first = Some(store);
            }
        }
        if level < least.0 {
            least = (level, first);
        }
    }
    least
}

/// The loads that stores reach, as far as those matter.
pub(super) fn raced(engine: &Engine<'_>) -> Vec<(Inst, Option<Scope>)> {
    let races = &engine.races;
    let mut found = Vec::new();
    if races.reaching.is_empty() && races.open.is_empty() {
        return found;
    }
    for &block in &engine.flow.order {
        for &inst in &engine.function.blocks[block].insts {
            if races.reaching.contains_key(&inst) || races.open.contains(&inst) {
                let level = bound(engine, block, inst).0;
                if level < DISPATCH {
                    found.push((inst, scope_of(level)));
                }
            }
        }
    }
    found
}

/// The loads that come behind the function's entry without a barrier in between.
fn open(
    engine: &Engine<'_>,
    touched: &[(Block, Inst)],
    reads: impl Fn(&Op) -> bool,
) -> FxHashSet<Inst> {
    let function = engine.function;
    let mut by_block: FxHashMap<Block, Vec<Inst>> = FxHashMap::default();
    for &(block, inst) in touched {
        by_block.entry(block).or_default().push(inst);
    }
    let mut found = FxHashSet::default();
    let mut entered = FxHashSet::from_iter([function.entry()]);
    let mut work = vec![function.entry()];
    while let Some(block) = work.pop() {
        let mut closed = false;
        for &inst in by_block.get(&block).into_iter().flatten() {
            let data = &function.insts[inst];
            if closes(data.guard.is_some(), &data.op) {
                closed = true;
                break;
            }
            if reads(&data.op) {
                found.insert(inst);
            }
        }
        for &next in engine.flow.successors[block].iter().filter(|_| !closed) {
            if entered.insert(next) {
                work.push(next);
            }
        }
    }
    found
}

fn numbers(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let number = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (number < STORES).then_some(number)
    })
}

/// Returns the uniformity of a store's value for the lanes in `to`; `before`: it stands before the load in
/// one block.
fn left_by(engine: &Engine<'_>, from: Block, store: Inst, to: Block, before: bool) -> Level {
    let data = &engine.function.insts[store];
    match data.op {
        Op::Store(_) | Op::Texture(_) => {}
        _ => return DIVERGENT,
    }
    let mut level = match &data.guard {
        Some(guard) => engine.level_at(guard.value, from),
        None => DISPATCH,
    };
    for &arg in &data.args {
        level = level.min(engine.level_at(arg, from));
        level = level.min(engine.level_at(arg, to));
    }
    // Whoever reads has come past the store.
    if !before && (from == to || !engine.dominators.dominates(from, to)) {
        level = level.min(engine.executed[from]);
    }
    level
}

/// The store and the load are at different addresses, each the same for the warp.
fn elsewhere(engine: &Engine<'_>, from: Block, store: Inst, to: Block, load: Inst) -> bool {
    let (store, load) = (&engine.function.insts[store], &engine.function.insts[load]);
    if !matches!(
        (&store.op, &load.op),
        (Op::Store(_) | Op::Atomic(..), Op::Load(_))
    ) {
        return false;
    }
    let (Some(&a), Some(&b)) = (store.args.first(), load.args.first()) else {
        return false;
    };
    if engine.level_at(a, from) < SUBGROUP || engine.level_at(a, to) < SUBGROUP {
        return false;
    }
    let (fa, fb) = (&engine.cells[a].form, &engine.cells[b].form);
    if fa.assumed || fb.assumed {
        return false;
    }
    let bytes = |values: &[Value]| -> i64 {
        let sizes = values.iter().map(|&v| engine.function.bytes(v));
        i64::from(sizes.sum::<u32>())
    };
    let distance = fb.plus(-1, fa, 64).and_then(|d| d.as_constant());
    distance.is_some_and(|d| d >= bytes(&store.args[1..]) || -d >= bytes(&load.results))
}

fn writes(op: &Op) -> bool {
    match op {
        Op::Store(access) | Op::Atomic(_, access) => access.space != Space::Local,
        Op::Texture(access) => {
            access.op.is_opaque() || matches!(access.op, TextureOp::Store | TextureOp::Atomic(_))
        }
        Op::Call(_) => true,
        Op::CallUnknown { pure, .. } | Op::Asm { pure, .. } => !pure,
        _ => false,
    }
}

/// The lanes of a warp wait for each other here, and see each other's writes.
fn closes(guarded: bool, op: &Op) -> bool {
    match op {
        Op::Barrier(Barrier::Named { arrive }) => !arrive && !guarded,
        Op::Barrier(Barrier::MicroSimd) => false,
        Op::Barrier(_) => !guarded,
        _ => false,
    }
}

/// Returns for each block the stores that reach its begin without a barrier.
fn reaching(
    engine: &Engine<'_>,
    touched: &[(Block, Inst)],
    written: &FxHashMap<Inst, u64>,
) -> Vec<u64> {
    let function = engine.function;
    let blocks = function.blocks.len();
    let mut before = vec![0u64; blocks];
    // What a block lets through, and what it adds.
    let mut through = vec![u64::MAX; blocks];
    let mut added = vec![0u64; blocks];
    for (block, inst) in touched {
        let at = block.0 as usize;
        let data = &function.insts[*inst];
        if closes(data.guard.is_some(), &data.op) {
            through[at] = 0;
            added[at] = 0;
        }
        added[at] |= written.get(inst).copied().unwrap_or(0);
    }
    let mut work: Vec<Block> = engine.flow.order.iter().rev().copied().collect();
    while let Some(block) = work.pop() {
        let at = block.0 as usize;
        let after = before[at] & through[at] | added[at];
        for &next in &engine.flow.successors[block] {
            let known = &mut before[next.0 as usize];
            if *known | after != *known {
                *known |= after;
                work.push(next);
            }
        }
    }
    before
}

/// Addresses by the object that they are computed from; union-find.
struct Objects<'f> {
    function: &'f Function,
    parent: Vec<u32>,
    /// The value holds an address, or a number that one is computed from.
    is_address: Vec<bool>,
}

impl<'f> Objects<'f> {
    fn new(engine: &Engine<'f>) -> Objects<'f> {
        let function = engine.function;
        let count = function.values.len();
        let mut objects = Objects {
            function,
            parent: (0..count as u32).collect(),
            is_address: function
                .values
                .keys()
                .map(|v| matches!(function.ty(v), Type::Ptr(_) | Type::Handle))
                .collect(),
        };
        for &param in &function.blocks[function.entry()].params {
            objects.is_address[param.0 as usize] |=
                function.language == Language::Ptx && function.ty(param) == Type::I64;
        }
        let mut symbols: FxHashMap<u32, Value> = FxHashMap::default();
        let mut pointers: FxHashMap<Value, Value> = FxHashMap::default();
        for &block in &engine.flow.order {
            for &inst in &function.blocks[block].insts {
                let data = &function.insts[inst];
                let Some(&result) = data.results.first() else {
                    continue;
                };
                match &data.op {
                    Op::PtrAdd | Op::ResourceElement { .. } => objects.join_first(data, result),
                    Op::Convert(Convert::Bitcast | Convert::SpaceCast | Convert::Truncate)
                    | Op::Convert(Convert::ZeroExtend) => objects.join_first(data, result),
                    Op::Binary(BinaryOp::Add | BinaryOp::Sub, _) => {
                        objects.join_first(data, result);
                    }
                    Op::Select => {
                        for &arm in data.args.get(1..).unwrap_or_default() {
                            objects.join(result, arm);
                        }
                    }
                    Op::SymbolAddress(symbol) => {
                        let first = *symbols.entry(symbol.0).or_insert(result);
                        objects.is_address[result.0 as usize] = true;
                        objects.join(result, first);
                    }
                    // Pointers that lie in memory, loaded twice.
                    Op::Load(_) => {
                        if let Some(&from) = data.args.first()
                            && objects.is_address[result.0 as usize]
                            && data.results.len() == 1
                        {
                            let from = engine.tables.leader[from];
                            let first = *pointers.entry(from).or_insert(result);
                            objects.join(result, first);
                        }
                    }
                    _ => {}
                }
                let leader = engine.tables.leader[result];
                if leader != result {
                    objects.join(result, leader);
                }
            }
            for edge in function.blocks[block].terminator.edges() {
                let params = &function.blocks[edge.block].params;
                for (&param, &arg) in params.iter().zip(&edge.args) {
                    objects.join(param, arg);
                }
            }
        }
        objects
    }

    fn join_first(&mut self, data: &ir::InstData, result: Value) {
        let address = data
            .args
            .iter()
            .find(|arg| self.is_address[arg.0 as usize])
            .copied();
        if let Some(address) = address {
            self.join(result, address);
        }
    }

    fn join(&mut self, a: Value, b: Value) {
        let is = self.is_address[a.0 as usize] || self.is_address[b.0 as usize];
        let null = |v: Value| self.function.int_constant(v).is_some();
        if !is || null(a) || null(b) {
            return;
        }
        self.is_address[a.0 as usize] = true;
        let (a, b) = (self.of(a), self.of(b));
        self.parent[a.max(b) as usize] = a.min(b);
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
}
