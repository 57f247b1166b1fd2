//! Divergence analysis of IR functions: which values, branches and loops are uniform over which lanes, and why.
//!
//! `analyze` gives the facts of one function, `analyze_module` those of all functions of an item; results of calls come
//! from summaries of the callees (`summaries`). The full method is `engine`; the paper's methods have the same gates and the
//! paper's own rules (`gated`; for gated µ-SIMD programs as printed see `paper`).

mod anchored;
mod apart;
mod arrays;
mod assembly;
mod butterfly;
mod causes;
mod engine;
mod form;
mod gated;
mod linear;
mod overtake;
mod races;
#[cfg(test)]
mod scaling;
mod settled;
mod shape;
#[cfg(test)]
mod soundness;
mod summaries;
#[cfg(test)]
mod tests;
mod transfer;

pub(crate) use engine::{
    ControllingBranches, DISPATCH, Engine, Level, SUBGROUP, WORKGROUP, level_of, scope_of,
};
pub(crate) use form::{Form, Term};
pub(crate) use settled::settled;
pub(crate) use shape::Shape;

pub(crate) fn source_name(language: ir::Language, special: Special) -> String {
    shape::Shape::source_name(language, special)
}

use crate::model::*;
use crate::symbolic::{Factor, Product, Sum, ValueForm};
use ir::{Block, EntityVec, Module, Op, Special, Value};
use smallvec::SmallVec;
use smol_str::SmolStr;
use std::cmp::Reverse;

/// Facts of one function of a module. Facts about the parameters of a device function come from the options.
pub fn analyze(function: usize, module: &Module, options: &Options) -> FunctionFacts {
    let summaries;
    let none = Vec::new();
    let mut engine = Engine::new(&module.functions[function], module, options, &none);
    if engine.tables.has_calls {
        // As of any callers.
        summaries = summaries::solve(module, options);
        engine.summaries = &summaries;
    }
    facts_of(engine, module)
}

/// Facts of all functions of an item, in order.
pub fn analyze_module(module: &Module, options: &Options) -> Vec<FunctionFacts> {
    let summaries = summaries::solve(module, options);
    // What is known of callers is known of the module's own function.
    let others = Options {
        parameters: Vec::new(),
        reached: None,
        ..options.clone()
    };
    let functions = module.functions.iter().enumerate();
    functions
        .map(|(number, function)| {
            let options = if number == 0 { options } else { &others };
            facts_of(Engine::new(function, module, options, &summaries), module)
        })
        .collect()
}

fn facts_of(mut engine: Engine<'_>, module: &Module) -> FunctionFacts {
    let function = engine.function;
    engine.settled = settled::settled(function, &engine.flow);
    engine.solve();
    if !engine.settled.is_empty() && !settled::in_phases(&engine) {
        engine = Engine::new(function, module, engine.options, engine.summaries);
        engine.solve();
    }
    let causes = causes::find(&engine);
    let mut values = EntityVec::new();
    values.reserve(function.values.len());
    for value in function.values.keys() {
        values.push(engine.fact(
            value,
            engine.level[value].min(DISPATCH),
            None,
            causes[value],
        ));
    }
    let temporal = temporal(&engine, &causes);
    let mut facts = FunctionFacts {
        options: engine.options.clone(),
        values,
        temporal,
        branches: Vec::new(),
        loops: Vec::new(),
        accesses: Vec::new(),
        barriers: Vec::new(),
        private: arrays::contents(&engine),
        raced: races::raced(&engine),
        named: Vec::new(),
    };
    facts.branches = crate::cost::branches(&engine, &facts);
    facts.loops = crate::control::loops(&engine, &facts);
    facts.accesses = crate::memory::accesses(&engine);
    facts.barriers = crate::control::barriers(&engine);
    if crate::alone::runs_alone(function) {
        crate::alone::settle(&mut facts);
    }
    facts
}

impl Engine<'_> {
    fn fact(&self, value: Value, level: Level, at: Option<Block>, cause: Cause) -> ValueFact {
        let wanted = level_of(self.options.scope);
        let block = at.or(self.home(value));
        if self.is_gated() {
            return self.gated_fact(value, level, block, cause);
        }
        let affine = || block.is_some_and(|b| self.is_affine(&self.cells[value].form, b, wanted));
        let class = if level >= wanted {
            Class::Uniform
        } else if affine() {
            Class::Affine
        } else if self.tables.has_unknowns && self.not_understood(value) {
            Class::Unknown
        } else {
            Class::Divergent
        };
        let form = match (class, block) {
            // What a widening assumes is no fact.
            (Class::Uniform | Class::Affine, Some(b))
                if !self.cells[value].form.assumed && self.ty(value).is_integral() =>
            {
                let form = self.named_form(&self.cells[value].form, b, wanted);
                ValueForm::from(Some(form).filter(|form| !form.is_unknown()))
            }
            _ => ValueForm::NONE,
        };
        ValueFact {
            class,
            uniform_at: scope_of(level),
            form,
            state: SmolStr::default(),
            cause: if level == DISPATCH {
                Cause::None
            } else {
                cause
            },
            assumed: false,
        }
    }

    fn not_understood(&self, value: Value) -> bool {
        match self.function.defining(value).map(|data| &data.op) {
            Some(Op::Unknown(_) | Op::CallUnknown { .. }) => true,
            Some(Op::Asm { template, pure }) => !assembly::is_understood(template, *pure),
            _ => false,
        }
    }

    /// Coordinates times uniform coefficients, plus uniform terms.
    pub(crate) fn is_affine(&self, form: &Form, block: Block, wanted: Level) -> bool {
        form.terms
            .iter()
            .all(|t| self.is_affine_term(t, block, wanted))
    }
    fn is_affine_term(&self, term: &Term, block: Block, wanted: Level) -> bool {
        let mut coordinates = 0;
        for &atom in term.factors.iter() {
            if self.atom_level_at(atom, block) < wanted {
                match self.special_of(atom) {
                    Some(
                        Special::ThreadId(_)
                        | Special::LaneId
                        | Special::BlockId(_)
                        | Special::MicroSimdTid,
                    ) => coordinates += 1,
                    _ => return false,
                }
            }
        }
        let degree = match self.options.method {
            Method::Polynomial(degree) => u32::from(degree),
            _ => 1,
        };
        coordinates <= degree
    }
    pub(crate) fn special_of(&self, atom: u32) -> Option<Special> {
        let values = self.function.values.len() as u32;
        self.shape.special(atom.checked_sub(values)?)
    }

    /// A form by the author's names: `4*tid.x + 256*ctaid.x + n`.
    pub(crate) fn named_form(&self, form: &Form, block: Block, wanted: Level) -> Sum {
        let factor = |atom| self.atom_name(atom).map_or(Factor::Unnamed, Factor::Name);
        if let [only] = form.terms.as_slice()
            && only.factors.len() == 1
            && only.coefficient == 1
        {
            return Sum::factor(factor(only.factors[0]));
        }
        let products = form.terms.iter().filter(|term| !term.factors.is_empty());
        let mut sum = Sum {
            products: SmallVec::with_capacity(products.count()),
            ..Sum::default()
        };
        // Lanes first, then the rest.
        let mut terms: SmallVec<[(bool, Reverse<usize>, &Term); 8]> = form
            .terms
            .iter()
            .map(|t| {
                let uniform = self.term_level(&t.factors, block) >= wanted;
                (uniform, Reverse(t.factors.len()), t)
            })
            .collect();
        terms.sort_by_key(|&(uniform, length, _)| (uniform, length));
        for (_, _, term) in terms {
            if term.factors.is_empty() {
                sum.constant = term.coefficient;
                continue;
            }
            let mut atoms: SmallVec<[u32; 3]> = SmallVec::from_slice(&term.factors);
            atoms.sort_by_key(|&a| self.special_of(a).is_some());
            let mut factors: SmallVec<[Factor; 2]> = atoms.into_iter().map(factor).collect();
            factors.dedup_by(|a, b| *a == Factor::Unnamed && a == b);
            if factors.as_slice() == [Factor::Unnamed] {
                sum.unnamed = true;
                continue;
            }
            sum.products.push(Product {
                coefficient: term.coefficient,
                factors,
            });
        }
        if sum.unnamed {
            sum.constant = 0;
        }
        sum
    }

    /// The author's name for an atom; `None` if it has none.
    pub(crate) fn atom_name(&self, atom: u32) -> Option<SmolStr> {
        self.name_of_atom(atom).filter(|name| !name.is_empty())
    }
    /// The name by which a member of a structure is read, or the structure's.
    fn member_read(&self, value: Value, variable: ir::Variable) -> SmolStr {
        let name = &self.function.variables[variable].name;
        let mut reads = self.function.bindings.iter();
        let read = reads.find(|b| b.variable == variable && b.values.as_slice() == [value]);
        read.map_or_else(
            || name.clone(),
            |read| smol_str::format_smolstr!("{name}{}", read.part),
        )
    }
    fn name_of_atom(&self, atom: u32) -> Option<SmolStr> {
        if let Some(special) = self.special_of(atom) {
            let name = shape::Shape::name(special);
            return (name != "?").then(|| name.into());
        }
        let value = Value(atom);
        match self.function.defining(value).map(|d| &d.op) {
            Some(Op::Parameter(name)) => return Some(name.clone()),
            Some(Op::SymbolAddress(symbol)) => {
                return self
                    .function
                    .symbols
                    .iter()
                    .find(|(s, _)| s == symbol)
                    .map(|(_, d)| d.name.clone());
            }
            _ => {}
        }
        // The rest of a merged value is no variable of the source.
        if !self.cells[value].form.is_atom(atom) {
            return None;
        }
        self.tables
            .bound(value)
            .map(|(binding, place)| {
                let binding = &self.function.bindings[binding];
                let name = &self.function.variables[binding.variable].name;
                match component(self.function, binding, place) {
                    part if part.is_empty() => match binding.values.len() {
                        1 => name.clone(),
                        _ => self.member_read(value, binding.variable),
                    },
                    part => smol_str::format_smolstr!("{name}{part}"),
                }
            })
            .or_else(|| {
                self.function
                    .parameters
                    .iter()
                    .find(|p| p.values.len() == 1 && p.values[0] == value)
                    .map(|p| p.name.clone())
            })
    }
}

/// Returns true if a value is affine where it is defined, and not at a use: lanes bring the uniform part of several
/// iterations.
fn loses_form(engine: &Engine<'_>, value: Value, block: Block) -> bool {
    if engine.is_gated() {
        return engine.loses_state(value, block);
    }
    let wanted = level_of(engine.options.scope);
    let form = &engine.cells[value].form;
    engine.home(value).is_some_and(|home| {
        engine.is_affine(form, home, wanted) && !engine.is_affine(form, block, wanted)
    })
}

fn temporal(engine: &Engine<'_>, causes: &EntityVec<Value, Cause>) -> Vec<TemporalFact> {
    let mut found = Vec::new();
    if engine.taint_free() && engine.exchanges.is_empty() {
        return found;
    }
    let function = engine.function;
    let bound = function.bindings.iter();
    let bound = bound.flat_map(|b| b.values.iter().map(|&v| (v, b.block)));
    let used = engine.tables.crossing.iter().copied();
    let mut uses: Vec<(Value, Block)> = used
        .chain(bound)
        .filter(|&(value, block)| {
            engine.around(value) != engine.forest.of(block)
                && (engine.taint_between(value, block) < engine.level[value]
                    || engine.level_at(value, block) > engine.level[value]
                    || loses_form(engine, value, block))
        })
        .collect();
    uses.sort_unstable();
    uses.dedup();
    for (value, block) in uses {
        let level = engine.level_at(value, block);
        if level == engine.level[value] && !loses_form(engine, value, block) {
            continue;
        }
        let cause = causes::leaves(engine, value, block).unwrap_or(causes[value]);
        found.push(TemporalFact {
            value,
            block,
            fact: engine.fact(value, level, Some(block), cause),
        });
    }
    found
}

/// `.x`, `.pos.y`; empty when the binding has one value of the whole variable, or more than a vector has.
fn component(function: &ir::Function, binding: &ir::Binding, number: usize) -> SmolStr {
    let part = &binding.part;
    let count = binding.values.len();
    let written = function.variables[binding.variable].type_text.as_str();
    let vector = written.ends_with(|c: char| c.to_digit(10) == Some(count as u32));
    match count {
        2..=4 if part.is_empty() && !vector => SmolStr::default(),
        1 => part.clone(),
        2..=4 => {
            let swizzle = part
                .strip_prefix('.')
                .filter(|s| s.len() == count && s.bytes().all(|b| b"xyzwrgba".contains(&b)));
            let letters = swizzle.unwrap_or("xyzw");
            let letter = letters.get(number..number + 1).unwrap_or_default();
            match swizzle {
                Some(_) => smol_str::format_smolstr!(".{letter}"),
                None => smol_str::format_smolstr!("{part}.{letter}"),
            }
        }
        _ => SmolStr::default(),
    }
}
