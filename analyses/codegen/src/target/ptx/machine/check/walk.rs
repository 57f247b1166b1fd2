//! The walk over the output, with the effect of each line on the contents of storage.

use super::align::Pairs;
use super::contents::{Condition, Contents, Held, Storage};
use super::live::Lives;
use super::polynomial::{Atom, Polynomial};
use super::slots::Area;
use super::text::{Line, Register, Role, Text};
use super::{Known, Violation, evaluate, slots};
use crate::target::ptx::machine::states::{Arrival, State};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

pub(super) struct Walk<'a, 't> {
    before: &'a Text<'t>,
    after: &'a Text<'t>,
    pairs: &'a Pairs,
    known: &'a Known,
    area: &'a Area,
    /// The states of original registers.
    states: Vec<State>,
    /// Polynomials that original registers have wherever they are read, as arithmetic on the definitions finds.
    forms: Vec<Vec<Polynomial>>,
}

impl<'a, 't> Walk<'a, 't> {
    pub(super) fn new(
        before: &'a Text<'t>,
        after: &'a Text<'t>,
        pairs: &'a Pairs,
        known: &'a Known,
        area: &'a Area,
    ) -> Self {
        let mut by_name: FxHashMap<&SmolStr, Vec<State>> = FxHashMap::default();
        for (name, state) in known.states.iter().rev() {
            by_name.entry(name).or_default().push(*state);
        }
        let mut state = |name| {
            by_name
                .get_mut(name)
                .and_then(Vec::pop)
                .unwrap_or(State::Divergent)
        };
        let states = before.names.iter().map(&mut state).collect();
        let forms = forms(before);
        Walk {
            before,
            after,
            pairs,
            known,
            area,
            states,
            forms,
        }
    }

    pub(super) fn check(&self, out: &mut Vec<Violation>) {
        let lives = Lives::new(self.before);
        let blocks = self.after.blocks();
        let mut block_of: FxHashMap<u32, usize> = FxHashMap::default();
        for (number, &(from, _)) in blocks.iter().enumerate() {
            block_of.insert(from, number);
        }
        let mut enter: Vec<Option<Contents>> = vec![None; blocks.len()];
        let mut work = std::collections::BTreeSet::new();
        if let Some(first) = enter.first_mut() {
            *first = Some(self.arrival());
            work.insert(0);
        }
        let mut unused = Vec::new();
        while let Some(number) = work.pop_first() {
            let Some(mut contents) = enter[number].clone() else {
                continue;
            };
            let (from, to) = blocks[number];
            for at in from..to {
                self.line(at, &mut contents, &mut unused);
            }
            unused.clear();
            for start in &self.after.successors[to as usize - 1] {
                let next = block_of[start];
                let mut contents = contents.clone();
                let count = self.after.lines.len() as u32;
                let own = (*start..count).find_map(|at| self.pairs[at as usize]);
                if let Some(needed) = own.and_then(|own| lives.before(own)) {
                    contents.keep(needed);
                }
                let grows = match &mut enter[next] {
                    Some(known) => known.meet(&contents),
                    empty @ None => {
                        *empty = Some(contents);
                        true
                    }
                };
                if grows {
                    work.insert(next);
                }
            }
        }
        for (number, &(from, to)) in blocks.iter().enumerate() {
            let Some(mut contents) = enter[number].clone() else {
                continue;
            };
            for at in from..to {
                self.line(at, &mut contents, out);
            }
        }
        self.stores(out);
    }

    /// The contents of storage when the function begins.
    fn arrival(&self) -> Contents {
        let mut contents = Contents::default();
        for (&own, &other) in self.before.parameters.iter().zip(&self.after.parameters) {
            let value = self.value(own);
            contents.write(&Storage::Register(other), vec![value], None);
        }
        contents
    }

    fn value(&self, original: Register) -> Polynomial {
        Polynomial::atom(self.before.bits(original), Atom::Value(original))
    }

    fn line(&self, at: u32, contents: &mut Contents, out: &mut Vec<Violation>) {
        let line = &self.after.lines[at as usize];
        match self.pairs[at as usize] {
            Some(original) => {
                self.paired(&self.before.lines[original as usize], line, contents, out)
            }
            None if self.keeps_in_lane(line, at, contents, out) => return,
            None => self.inserted(line, at, contents, out),
        }
        if self.area.shares_registers {
            line.writes().for_each(|own| contents.forget_lanes(own));
        }
    }

    /// An inserted line by which one lane takes a word of the warp into its part of a register; all other lanes
    /// keep theirs.
    fn keeps_in_lane(
        &self,
        line: &Line<'_>,
        at: u32,
        contents: &mut Contents,
        out: &mut Vec<Violation>,
    ) -> bool {
        let Some((guard, true)) = line.guard else {
            return false;
        };
        let held = contents.under(&Storage::Register(guard), None);
        let lane = held.iter().find_map(Polynomial::as_lane);
        let (Some(lane), Some((pool, word))) = (lane, copy(line, self.after)) else {
            return false;
        };
        let statement = line.statement;
        let mut all = contents.of(&Storage::Register(word)).to_vec();
        all.retain(|held| held.under.is_none() && self.is_uniform(&held.value));
        if all.is_empty() {
            out.push(Violation::NotUniform { statement });
        }
        if !self.area.shares_registers || !self.lanes_come(at).every {
            out.push(Violation::Parted { statement });
        }
        contents.write(&Storage::Register(pool), Vec::new(), None);
        contents.put(&Storage::RegisterLane(pool, lane), all);
        true
    }

    fn paired(
        &self,
        own: &Line<'_>,
        line: &Line<'_>,
        contents: &mut Contents,
        out: &mut Vec<Violation>,
    ) {
        if own.memory.is_some() || own.is_opcode("call") {
            contents.forget_arguments();
        }
        if own.instruction.is_none() {
            return;
        }
        let statement = line.statement;
        let mut read = |register: Register, original: Register, at: Option<Condition>| {
            if self.before.bits(original) != self.after.bits(register) {
                out.push(Violation::WrongWidth {
                    statement,
                    register: self.after.names[register as usize].clone(),
                });
            } else if !self.holds(contents, register, original, at) {
                out.push(Violation::WrongValue {
                    statement,
                    register: self.after.names[register as usize].clone(),
                    original: self.before.names[original as usize].clone(),
                });
            }
        };
        if let (Some(guard), Some(original)) = (line.guard, own.guard) {
            read(guard.0, original.0, None);
        }
        for (place, original) in line.places.iter().zip(&own.places) {
            if place.1 != Role::Write {
                read(place.0, original.0, own.guard);
            }
        }
        if own.is_opcode("ret") {
            for (&original, &register) in self.before.returns.iter().zip(&self.after.returns) {
                read(register, original, own.guard);
            }
        }
        // What the result equals beside itself.
        let of = |place: usize| {
            let mut all = self.forms[own.places[place].0 as usize].clone();
            all.extend(contents.pure(&Storage::Register(line.places[place].0), own.guard));
            all
        };
        let or_number = |place: usize| {
            let mut all = of(place);
            all.extend(self.number(own.places[place].0));
            all
        };
        let mut also = evaluate::result(own, self.before, None, &of);
        if own.reads().any(|register| self.number(register).is_some()) {
            also.extend(evaluate::result(own, self.before, None, &or_number));
            also.sort();
            also.dedup();
        }
        let width = |place: usize| self.before.bits(own.places[place].0);
        match slots::argument(own, self.before) {
            Some((argument, bits, place)) if width(place) == bits => {
                let original = own.places[place].0;
                if own.is_opcode("ld") {
                    let held = contents.under(&argument, own.guard).into_iter();
                    also.extend(held.filter(|value| !value.mentions(original)));
                } else {
                    let mut all = of(place);
                    all.push(self.value(original));
                    contents.overwrite(&argument, own.guard);
                    contents.write(&argument, all, own.guard);
                }
            }
            // `st.param::func` and the like; other variables are not in reach of other stores.
            _ if own.is_opcode("st") && line_names(own, "param") => contents.forget_arguments(),
            _ => {}
        }
        let mut copied: Vec<Held> = Vec::new();
        if let Some((target, source)) = copy(own, self.before) {
            if target == source {
                let from = Storage::Register(line.places[1].0);
                let all = contents.of(&from).to_vec();
                if line.guard.is_none() {
                    contents.put(&Storage::Register(line.places[0].0), all);
                }
                return;
            }
            also.push(self.value(source));
            let from = Storage::Register(line.places[1].0);
            let stays = |held: &&Held| {
                !held.value.mentions(target) && held.under.is_none_or(|under| under.0 != target)
            };
            copied = contents.of(&from).iter().filter(stays).cloned().collect();
        }
        // A guard that the instruction itself writes says nothing afterwards: a place that held the old value
        // where the instruction does not execute holds the new value everywhere, and no other place does.
        let writes_guard = own
            .guard
            .is_some_and(|guard| own.writes().any(|written| written == guard.0));
        let own_writes: Vec<Register> = own.writes().collect();
        let kept: Vec<bool> = line
            .places
            .iter()
            .zip(&own.places)
            .map(|(place, original)| {
                let opposite = own.guard.map(|guard| (guard.0, !guard.1));
                let held = contents.under(&Storage::Register(place.0), opposite);
                held.contains(&self.value(original.0))
            })
            .collect();
        // A place that held the old value under some condition holds the new one under it: both change together.
        let conditions = |place: &(Register, Role), original: &(Register, Role)| {
            let value = self.value(original.0);
            let own = contents.of(&Storage::Register(place.0)).iter();
            let same = own.filter(|held| held.value == value);
            let under = same.filter_map(|held| held.under);
            let stays = |under: &Condition| own_writes.iter().all(|&it| it != under.0);
            under.filter(stays).collect::<Vec<_>>()
        };
        let places = line.places.iter().zip(&own.places);
        let conditions: Vec<Vec<Condition>> = places
            .map(|(place, original)| conditions(place, original))
            .collect();
        for original in own.writes() {
            let bits = self.before.bits(original);
            let known = Storage::Original(original);
            if writes_guard {
                contents.define(original, &[], None, bits);
                contents.write(&known, Vec::new(), None);
                continue;
            }
            contents.define(original, &also, own.guard, bits);
            if self.forms[original as usize].is_empty() {
                let pure = also.iter().filter(|value| value.is_pure());
                contents.write(&known, pure.cloned().collect(), own.guard);
            }
        }
        let places = line.places.iter().zip(&own.places).zip(kept);
        for (((place, original), kept), conditions) in places.zip(conditions) {
            if place.1 == Role::Read {
                continue;
            }
            let (register, original) = (place.0, original.0);
            if self.before.bits(original) != self.after.bits(register) {
                out.push(Violation::WrongWidth {
                    statement,
                    register: self.after.names[register as usize].clone(),
                });
            }
            let storage = Storage::Register(register);
            if writes_guard {
                let new = Vec::from_iter(kept.then(|| self.value(original)));
                contents.write(&storage, new, None);
                continue;
            }
            let mut new = also.clone();
            new.push(self.value(original));
            contents.write(&storage, new, own.guard);
            let mut all = contents.of(&storage).to_vec();
            match own.guard {
                None => all.append(&mut copied),
                Some(_) => all.extend(conditions.into_iter().map(|under| Held {
                    value: self.value(original),
                    under: Some(under),
                })),
            }
            contents.put(&storage, all);
        }
    }

    /// The number that an original register always is. Only constants are taken on trust; values that depend on the thread are
    /// proved by arithmetic on the definitions.
    fn number(&self, original: Register) -> Option<Polynomial> {
        match self.states[original as usize] {
            State::Constant(value) => Some(Polynomial::number(self.before.bits(original), value)),
            _ => None,
        }
    }

    fn holds(
        &self,
        contents: &Contents,
        register: Register,
        original: Register,
        at: Option<Condition>,
    ) -> bool {
        let held = contents.under(&Storage::Register(register), at);
        let fact = self.number(original);
        let own = self.value(original);
        let form = &self.forms[original as usize];
        let now = contents.under(&Storage::Original(original), at);
        held.iter().any(|value| {
            *value == own
                || form.contains(value)
                || now.contains(value)
                || fact.as_ref() == Some(value)
        })
    }

    fn inserted(
        &self,
        line: &Line<'_>,
        at: u32,
        contents: &mut Contents,
        out: &mut Vec<Violation>,
    ) {
        let statement = line.statement;
        if line.memory.is_some() && self.area.declares(line) {
            return;
        }
        let mut guard = None;
        if let Some((register, value)) = line.guard {
            let held = contents.under(&Storage::Register(register), None);
            let Some(original) = held.iter().find_map(Polynomial::as_value) else {
                out.push(Violation::WrongGuard { statement });
                return;
            };
            guard = Some((original, value));
        }
        let known = contents.clone();
        let of = |place: usize| known.under(&Storage::Register(line.places[place].0), guard);
        // What parameters and constants hold no store of the kernel changes.
        let constant = evaluate::loads_constant(line, self.after);
        if (line.is_opcode("ld") && !constant) || line.is_opcode("st") {
            let problems = out.len();
            let Some(access) = self.area.access(line, &of, out) else {
                if out.len() == problems {
                    out.push(Violation::Foreign { statement });
                }
                for register in line.writes() {
                    contents.write(&Storage::Register(register), Vec::new(), guard);
                }
                return;
            };
            let register = Storage::Register(line.places[access.place].0);
            if access.loads {
                let all = contents.of(&access.storage).to_vec();
                match guard {
                    None => contents.put(&register, all),
                    Some(_) => {
                        contents.write(&register, contents.under(&access.storage, guard), guard)
                    }
                }
                return;
            }
            let mut all = contents.of(&register).to_vec();
            if let Storage::Warp(..) = access.storage {
                all.retain(|held| held.under.is_none() && self.is_uniform(&held.value));
                if all.is_empty() {
                    out.push(Violation::NotUniform { statement });
                }
                let together = self.lanes_come(at).once || self.is_synchronised(at);
                if guard.is_some() || !together {
                    out.push(Violation::Parted { statement });
                }
            }
            contents.overwrite(&access.storage, guard);
            match guard {
                None => contents.put(&access.storage, all),
                Some(_) => {
                    let there = all
                        .into_iter()
                        .filter(|held| held.under.is_none() || held.under == guard);
                    contents.write(
                        &access.storage,
                        there.map(|held| held.value).collect(),
                        guard,
                    );
                }
            }
            return;
        }
        if !super::align::may_be_inserted(line) || line.memory.is_some() {
            out.push(Violation::Foreign { statement });
            return;
        }
        if let Some(lane) = super::align::lane_read(line) {
            if !self.area.shares_registers || !self.lanes_come(at).every {
                out.push(Violation::Parted { statement });
            }
            let [(target, _), (pool, _)] = line.places[..] else {
                return;
            };
            let all = contents.of(&Storage::RegisterLane(pool, lane)).to_vec();
            contents.put(&Storage::Register(target), all);
            return;
        }
        if super::align::is_warp_barrier(line) {
            if !self.lanes_come(at).all {
                out.push(Violation::Parted { statement });
            }
            return;
        }
        let copied = match copy(line, self.after) {
            Some(_) => contents.of(&Storage::Register(line.places[1].0)).to_vec(),
            None => Vec::new(),
        };
        let values = evaluate::result(line, self.after, self.area.log_lanes, &of);
        for register in line.writes() {
            let storage = Storage::Register(register);
            contents.write(&storage, values.clone(), guard);
            if guard.is_none() && !copied.is_empty() {
                contents.put(&storage, copied.clone());
            }
        }
    }

    fn is_uniform(&self, value: &Polynomial) -> bool {
        value.is_uniform(&|original| match self.states[original as usize] {
            State::Constant(_) | State::Uniform => Some(0),
            State::Known(factor, _) | State::Affine(factor) => Some(factor),
            State::Divergent => None,
        })
    }

    /// The manner in which lanes come to a line of the output: that is known of the original's line in front of
    /// it, or behind it, in the same block.
    fn lanes_come(&self, at: u32) -> Arrival {
        let of = |at: &u32| self.pairs[*at as usize];
        let ends = |at: &u32| self.after.lines[*at as usize].label.is_some();
        let front: Vec<u32> = (0..at).rev().take_while(|at| !ends(at)).collect();
        let pair = front.iter().find_map(of).or_else(|| {
            let count = self.after.lines.len() as u32;
            (at..count).find_map(|at| of(&at))
        });
        let known = pair.and_then(|pair| {
            let statement = self.before.lines[pair as usize].statement;
            self.known.arrivals.get(statement as usize)
        });
        known.copied().unwrap_or_default()
    }

    /// Returns true for a store to which all lanes come that have not ended, and which no lane executes before
    /// the others have read what they stored before.
    fn is_synchronised(&self, at: u32) -> bool {
        let front = at.checked_sub(1).map(|at| &self.after.lines[at as usize]);
        let waits = front.is_some_and(super::align::is_warp_barrier);
        self.lanes_come(at).all && (waits || self.area.in_step)
    }

    /// Stores to slots of warps: none in a loop, none at two places, unless each is synchronised.
    fn stores(&self, out: &mut Vec<Violation>) {
        let mut seen: Vec<(u32, i64, u32, bool)> = Vec::new();
        for (at, line) in self.after.lines.iter().enumerate() {
            let slot = self.pairs[at].is_none() && line.is_opcode("st") && line.has("shared");
            if !slot {
                continue;
            }
            let at = at as u32;
            let synchronised = self.is_synchronised(at);
            if !synchronised && self.is_in_loop(at) {
                out.push(Violation::InLoop {
                    statement: line.statement,
                });
            }
            let Some((first, size)) = super::slots::constant_place(line) else {
                continue;
            };
            for &(other, other_first, other_size, waits) in &seen {
                if first < other_first + i64::from(other_size)
                    && other_first < first + i64::from(size)
                    && !(synchronised && waits)
                {
                    out.push(Violation::Rewritten {
                        statement: line.statement,
                        other,
                    });
                }
            }
            seen.push((line.statement, first, size, synchronised));
        }
    }

    fn is_in_loop(&self, at: u32) -> bool {
        let mut seen = vec![false; self.after.lines.len()];
        let mut work = self.after.successors[at as usize].clone();
        while let Some(next) = work.pop() {
            if next == at {
                return true;
            }
            if !std::mem::replace(&mut seen[next as usize], true) {
                work.extend(&self.after.successors[next as usize]);
            }
        }
        false
    }
}

/// A modifier is this word, or this word with what follows it behind `::`.
fn line_names(line: &Line<'_>, word: &str) -> bool {
    let same = |modifier: &SmolStr| modifier.split("::").next() == Some(word);
    line.instruction
        .is_some_and(|it| it.modifiers.iter().any(same))
}

/// The target and the source of a move between registers.
fn copy(line: &Line<'_>, text: &Text<'_>) -> Option<(Register, Register)> {
    let [(target, Role::Write), (source, Role::Read)] = line.places[..] else {
        return None;
    };
    let plain = line.plain[..] == [Some(0), Some(1)];
    let same = text.classes[target as usize] == text.classes[source as usize];
    (line.is_opcode("mov") && plain && same).then_some((target, source))
}

/// Polynomials without registers that all definitions of each register agree on.
fn forms(text: &Text<'_>) -> Vec<Vec<Polynomial>> {
    let mut forms: Vec<Option<Vec<Polynomial>>> = vec![None; text.names.len()];
    for &parameter in &text.parameters {
        forms[parameter as usize] = Some(Vec::new());
    }
    loop {
        let mut changed = false;
        for line in &text.lines {
            let unknown = line
                .reads()
                .any(|register| forms[register as usize].is_none());
            let of = |place: usize| {
                forms[line.places[place].0 as usize]
                    .clone()
                    .unwrap_or_default()
            };
            let values = match unknown {
                true => continue,
                false => evaluate::result(line, text, None, &of),
            };
            for register in line.writes().collect::<Vec<Register>>() {
                let known = &mut forms[register as usize];
                match known {
                    None => {
                        *known = Some(values.clone());
                        changed = true;
                    }
                    Some(known) => {
                        let count = known.len();
                        known.retain(|value| values.contains(value));
                        changed |= known.len() != count;
                    }
                }
            }
        }
        if !changed {
            return forms.into_iter().map(Option::unwrap_or_default).collect();
        }
    }
}
