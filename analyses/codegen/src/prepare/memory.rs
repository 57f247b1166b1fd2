//! Loads of values that a register holds already: a value that was loaded from the place or stored there,
//! with nothing between that may have written there.
//!
//! ```text
//! if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;      two loads, not four
//! ```
//!
//! Forward over the blocks, as far as all ways to a place agree. A place in memory is a linear form and a
//! type (`linear`); places of one form differ by their constants, others by the object that they lie in
//! (`origin`) and by the type that C accesses them by. On the way back to a loop's header everything is
//! forgotten that was computed in the loop: the next iteration computes it anew. Volatile accesses are left
//! alone; calls and other operations that may write forget all.

use super::linear::{Forms, Linear};
use super::origin::{Origin, Origins};
use super::{leaves_memory, rewrite};
use ir::cfg::ControlFlow;
use ir::entity::Entity;
use ir::loops::LoopForest;
use ir::{Block, EntityVec, Function, Inst, Language, Op, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Places that are remembered at a time.
const MOST: usize = 48;
/// Visits of blocks, for each of them; blocks that have not converged then are left as they are.
const ROUNDS: usize = 8;

#[derive(Clone, PartialEq, Eq, Hash)]
struct Place {
    form: Linear,
    ty: Type,
}

struct About {
    place: Place,
    origin: Origin,
    /// The type that the language accesses it by, where it may not be any.
    accessed_as: Option<Type>,
}

/// The contents of memory that registers hold: places, by number, with the value that stands there.
/// Ascending.
type State = Vec<(u32, Value)>;

struct Memory<'f> {
    function: &'f Function,
    forms: Forms<'f>,
    origins: Origins,
    numbers: FxHashMap<Place, u32>,
    places: Vec<About>,
    /// The state at the entry of each block; `None` until it is reached.
    entered: EntityVec<Block, Option<State>>,
    defined: EntityVec<Value, Option<Block>>,
}

/// Returns true if a load was replaced.
pub(super) fn forward(function: &mut Function, wraps: bool) -> bool {
    let flow = ControlFlow::new(function);
    let forest = LoopForest::new(&flow);
    let accesses = |data: &ir::InstData| matches!(data.op, Op::Load(_) | Op::Store(_));
    let all = function
        .layout
        .iter()
        .flat_map(|&block| &function.blocks[block].insts);
    if all.filter(|&&inst| accesses(&function.insts[inst])).count() < 2 {
        return false;
    }
    let mut memory = Memory {
        function,
        forms: Forms::new(function, wraps),
        origins: Origins::of(function),
        numbers: FxHashMap::default(),
        places: Vec::new(),
        entered: EntityVec::with_len(None, function.blocks.len()),
        defined: function.definition_blocks(),
    };
    memory.entered[function.entry()] = Some(State::new());
    let mut waiting: EntityVec<Block, bool> = EntityVec::with_len(false, function.blocks.len());
    waiting[function.entry()] = true;
    for round in 0.. {
        let mut quiet = true;
        for &block in &flow.order {
            if !std::mem::take(&mut waiting[block]) {
                continue;
            }
            quiet = false;
            let state = memory.entered[block].clone().unwrap_or_default();
            let state = memory.through(block, state, &mut |_, _, _| {});
            for &next in &flow.successors[block] {
                let mut state = state.clone();
                if flow.position[next] <= flow.position[block] {
                    memory.forget_iteration(&forest, next, &mut state);
                }
                waiting[next] |= memory.enter(next, state);
            }
        }
        if quiet {
            break;
        }
        if round >= ROUNDS {
            return false;
        }
    }
    let mut same: Vec<Value> = function.values.keys().collect();
    let mut gone: Vec<Inst> = Vec::new();
    for &block in &flow.order {
        let Some(state) = memory.entered[block].clone() else {
            continue;
        };
        memory.through(block, state, &mut |inst, result, held| {
            same[result.index()] = held;
            if gone.last() != Some(&inst) {
                gone.push(inst);
            }
        });
    }
    // Of a load of several elements all must be known.
    let known = |inst: &Inst| {
        let results = &function.insts[*inst].results;
        results.iter().all(|result| same[result.index()] != *result)
    };
    let gone: FxHashSet<Inst> = gone.into_iter().filter(known).collect();
    if gone.is_empty() {
        return false;
    }
    let mut replaced: Vec<Value> = function.values.keys().collect();
    for &inst in &gone {
        for &result in &function.insts[inst].results {
            replaced[result.index()] = same[result.index()];
        }
    }
    // What stands for a load may be a load that another stands for.
    let last = |mut value: Value| {
        while replaced[value.index()] != value {
            value = replaced[value.index()];
        }
        value
    };
    let to: Vec<Value> = function.values.keys().map(last).collect();
    for block in function.layout.clone() {
        function.blocks[block]
            .insts
            .retain(|inst| !gone.contains(inst));
    }
    rewrite(function, &|value| to[value.index()]);
    true
}

impl Memory<'_> {
    /// Takes a way into a block; whether it knows less now than before.
    fn enter(&mut self, block: Block, state: State) -> bool {
        match &mut self.entered[block] {
            Some(known) => {
                let before = known.len();
                known.retain(|it| state.binary_search(it).is_ok());
                known.len() != before
            }
            unknown => {
                *unknown = Some(state);
                true
            }
        }
    }

    fn forget_iteration(&self, forest: &LoopForest, header: Block, state: &mut State) {
        let own = forest
            .of(header)
            .filter(|&own| forest.is_header(header) && forest.loops[own].reducible);
        let Some(own) = own else {
            return state.clear();
        };
        let stays =
            |value: Value| self.defined[value].is_some_and(|block| !forest.contains(own, block));
        state.retain(|&(place, held)| {
            let terms = &self.places[place as usize].place.form.terms;
            stays(held) && terms.iter().all(|((value, _), _)| stays(*value))
        });
    }

    /// Returns the state behind a block; `found` receives the load, its result and the value that stands for
    /// it.
    fn through(
        &mut self,
        block: Block,
        mut state: State,
        found: &mut dyn FnMut(Inst, Value, Value),
    ) -> State {
        let function = self.function;
        for &inst in &function.blocks[block].insts {
            let data = &function.insts[inst];
            match data.op {
                Op::Load(access)
                    if !(access.volatile || access.checked || access.speculation.is_some()) =>
                {
                    let mut offset = 0;
                    for &result in &data.results {
                        let ty = function.ty(result);
                        let place = self.place(data.args[0], offset, ty, access.untyped);
                        offset += i64::from(function.bytes_of(ty));
                        if data.guard.is_some() {
                            continue;
                        }
                        match state.binary_search_by_key(&place, |it| it.0) {
                            Ok(at) => found(inst, result, state[at].1),
                            Err(at) if state.len() < MOST => state.insert(at, (place, result)),
                            Err(_) => {}
                        }
                    }
                }
                Op::Load(_) => {}
                Op::Store(access) => {
                    let mut offset = 0;
                    for &value in &data.args[1..] {
                        let ty = function.ty(value);
                        let place = self.place(data.args[0], offset, ty, access.untyped);
                        offset += i64::from(function.bytes_of(ty));
                        state.retain(|it| !self.meet(place, it.0));
                        let kept = data.guard.is_none() && !(access.volatile || access.checked);
                        if !kept || state.len() >= MOST {
                            continue;
                        }
                        let at = state.partition_point(|it| it.0 < place);
                        state.insert(at, (place, value));
                    }
                }
                _ if leaves_memory(data) => {}
                _ => state.clear(),
            }
        }
        state
    }

    fn place(&mut self, address: Value, offset: i64, ty: Type, untyped: bool) -> u32 {
        let mut form = self.forms.form(address);
        form.constant = form.constant.wrapping_add(offset);
        let place = Place { form, ty };
        if let Some(&known) = self.numbers.get(&place) {
            if untyped {
                self.places[known as usize].accessed_as = None;
            }
            return known;
        }
        let number = self.places.len() as u32;
        let origin = self.origins.origin(self.function, address);
        self.numbers.insert(place.clone(), number);
        self.places.push(About {
            place,
            accessed_as: accessed_as(self.function, &origin, ty, untyped),
            origin,
        });
        number
    }

    /// Returns true if a store to one place may change the other.
    fn meet(&self, left: u32, right: u32) -> bool {
        let (first, other) = (&self.places[left as usize], &self.places[right as usize]);
        if first.place.form.terms == other.place.form.terms {
            let apart = other
                .place
                .form
                .constant
                .wrapping_sub(first.place.form.constant);
            return apart < i64::from(self.function.bytes_of(first.place.ty))
                && apart > -i64::from(self.function.bytes_of(other.place.ty));
        }
        let types = matches!(
            (first.accessed_as, other.accessed_as),
            (Some(first), Some(other)) if first != other
        );
        !(types || first.origin.is_apart(&other.origin))
    }
}

/// The type that the language accesses a place by; `None` where that may be any, as in a variable or by the type of characters
/// (C11, 6.5 §7).
pub(crate) fn accessed_as(
    function: &Function,
    origin: &Origin,
    ty: Type,
    untyped: bool,
) -> Option<Type> {
    let typed = function.language == Language::C
        && !untyped
        && !matches!(origin, Origin::Slot(_) | Origin::Private(_))
        && !matches!(ty, Type::I8 | Type::Bool);
    typed.then_some(ty)
}
