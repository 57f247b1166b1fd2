//! Divergence analysis of IR functions: which values, branches and loops are uniform over which lanes, and why.
//!
//! `analyze` gives the facts of one function, `analyze_module` those of all functions of an item; results of calls come
//! from summaries of the callees (`summaries`). The full method is `engine`; the paper's methods have the same gates and the
//! paper's own rules (`gated`; for gated µ-SIMD programs as printed see `paper`).

mod apart;
mod arrays;
mod causes;
mod engine;
mod form;
mod gated;
mod linear;
mod overtake;
#[cfg(test)]
mod scaling;
mod shape;
#[cfg(test)]
mod soundness;
mod summaries;
#[cfg(test)]
mod tests;
mod transfer;

pub(crate) use causes::exit_of;
pub(crate) use engine::{DISPATCH, Engine, Level, SUBGROUP, WORKGROUP, level_of, scope_of};
pub(crate) use form::{Form, Term};
pub(crate) use shape::Shape;

pub(crate) fn source_name(language: ir::Language, special: Special) -> String {
    shape::Shape::source_name(language, special)
}

use crate::model::*;
use ir::{Block, EntityVec, Module, Op, Special, Value};
use smol_str::SmolStr;

/// Facts of one function of a module. What is known of the parameters of a device function comes from the options.
pub fn analyze(function: usize, module: &Module, options: &Options) -> FunctionFacts {
    let summaries = summaries::solve(module, options);
    analyze_with(function, module, options, &summaries)
}

/// Facts of all functions of an item, in order.
pub fn analyze_module(module: &Module, options: &Options) -> Vec<FunctionFacts> {
    let summaries = summaries::solve(module, options);
    (0..module.functions.len())
        .map(|function| analyze_with(function, module, options, &summaries))
        .collect()
}

fn analyze_with(
    function: usize,
    module: &Module,
    options: &Options,
    summaries: &engine::Summaries,
) -> FunctionFacts {
    let function = &module.functions[function];
    let mut engine = Engine::new(function, module, options, summaries);
    engine.solve();
    let causes = causes::find(&engine);
    let mut values = EntityVec::new();
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
        options: options.clone(),
        values,
        temporal,
        branches: Vec::new(),
        loops: Vec::new(),
        accesses: Vec::new(),
        barriers: Vec::new(),
        named: Vec::new(),
    };
    facts.branches = crate::cost::branches(&engine, &facts);
    facts.loops = crate::control::loops(&engine, &facts);
    facts.accesses = crate::memory::accesses(&engine);
    facts.barriers = crate::control::barriers(&engine);
    facts
}

impl Engine<'_> {
    fn fact(&self, value: Value, level: Level, at: Option<Block>, cause: Cause) -> ValueFact {
        let wanted = level_of(self.options.scope);
        let block = at.or(self.block_of[value]);
        if self.is_gated() {
            return self.gated_fact(value, level, block, cause);
        }
        let affine = block.is_some_and(|b| self.is_affine(&self.form[value], b, wanted));
        let class = if level >= wanted {
            Class::Uniform
        } else if affine {
            Class::Affine
        } else if self.not_understood(value) {
            Class::Unknown
        } else {
            Class::Divergent
        };
        let integral = self.function.ty(value).is_integral();
        let form = match (class, block) {
            // What a widening assumes is no fact.
            (Class::Uniform | Class::Affine, Some(b)) if integral && !self.form[value].assumed => {
                self.form_text(&self.form[value], b, wanted)
            }
            _ => SmolStr::default(),
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
        let op = self.function.defining(value).map(|data| &data.op);
        matches!(
            op,
            Some(Op::Unknown(_) | Op::CallUnknown { .. } | Op::Asm { .. })
        )
    }

    /// Coordinates times uniform coefficients, plus uniform terms.
    pub(crate) fn is_affine(&self, form: &Form, block: Block, wanted: Level) -> bool {
        form.terms
            .iter()
            .all(|t| self.is_affine_term(t, block, wanted))
    }
    fn is_affine_term(&self, term: &Term, block: Block, wanted: Level) -> bool {
        let mut coordinates = 0;
        for &atom in &term.factors {
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

    /// `4*tid.x + 256*ctaid.x + n`
    pub(crate) fn form_text(&self, form: &Form, block: Block, wanted: Level) -> SmolStr {
        let mut text = String::new();
        let mut unnamed = false;
        let mut constant = 0i64;
        let mut terms: Vec<&Term> = form.terms.iter().collect();
        // Lanes first, then the rest; the constant last.
        terms.sort_by_key(|t| {
            (
                self.term_level(&t.factors, block) >= wanted,
                std::cmp::Reverse(t.factors.len()),
            )
        });
        for term in terms {
            if term.factors.is_empty() {
                constant = term.coefficient;
                continue;
            }
            let mut names: Vec<String> = Vec::new();
            let mut factors: Vec<u32> = term.factors.to_vec();
            factors.sort_by_key(|&a| self.special_of(a).is_some());
            for atom in factors {
                match self.atom_name(atom) {
                    Some(name) => names.push(name),
                    None if names.last().is_some_and(|n| n == "?") => {}
                    None => names.push("?".into()),
                }
            }
            if names.iter().all(|n| n == "?") {
                unnamed = true;
                continue;
            }
            let product = names.join("*");
            let (sign, size) = (term.coefficient < 0, term.coefficient.unsigned_abs());
            let separator = match (text.is_empty(), sign) {
                (true, true) => "-",
                (true, false) => "",
                (false, true) => " - ",
                (false, false) => " + ",
            };
            text.push_str(separator);
            if size != 1 {
                text.push_str(&format!("{size}*"));
            }
            text.push_str(&product);
        }
        if unnamed {
            text.push_str(if text.is_empty() { "?" } else { " + ?" });
        } else if constant != 0 || text.is_empty() {
            let separator = match (text.is_empty(), constant < 0) {
                (true, true) => "-",
                (true, false) => "",
                (false, true) => " - ",
                (false, false) => " + ",
            };
            text.push_str(separator);
            text.push_str(&constant.unsigned_abs().to_string());
        }
        text.into()
    }

    pub(crate) fn atom_name(&self, atom: u32) -> Option<String> {
        if let Some(special) = self.special_of(atom) {
            let name = shape::Shape::name(special);
            return (name != "?").then_some(name);
        }
        let value = Value(atom);
        match self.function.defining(value).map(|d| &d.op) {
            Some(Op::Parameter(name)) => return Some(name.to_string()),
            Some(Op::SymbolAddress(symbol)) => {
                return self
                    .function
                    .symbols
                    .iter()
                    .find(|(s, _)| s == symbol)
                    .map(|(_, d)| d.name.to_string());
            }
            _ => {}
        }
        // The rest of a merged value is no variable of the source.
        if !self.form[value].is_atom(atom) {
            return None;
        }
        self.names
            .get(&value)
            .map(|&v| self.function.variables[v].name.to_string())
            .or_else(|| {
                self.function
                    .parameters
                    .iter()
                    .find(|p| p.values.len() == 1 && p.values[0] == value)
                    .map(|p| p.name.to_string())
            })
    }
}

/// Whether a value is affine where it is defined, and not at a use: lanes bring the uniform part of several iterations.
fn loses_form(engine: &Engine<'_>, value: Value, block: Block) -> bool {
    if engine.is_gated() {
        return engine.loses_state(value, block);
    }
    let wanted = level_of(engine.options.scope);
    let form = &engine.form[value];
    engine.block_of[value].is_some_and(|home| {
        engine.is_affine(form, home, wanted) && !engine.is_affine(form, block, wanted)
    })
}

fn temporal(engine: &Engine<'_>, causes: &EntityVec<Value, Cause>) -> Vec<TemporalFact> {
    let mut found = Vec::new();
    if engine.taint_free() {
        return found;
    }
    let function = engine.function;
    let mut uses: Vec<(Value, Block)> = Vec::new();
    for &block in &function.layout {
        let data = &function.blocks[block];
        for &inst in &data.insts {
            let inst = &function.insts[inst];
            uses.extend(inst.args.iter().map(|&a| (a, block)));
            uses.extend(inst.guard.iter().map(|g| (g.value, block)));
        }
        uses.extend(data.terminator.selector().map(|s| (s, block)));
        for edge in data.terminator.edges() {
            uses.extend(edge.args.iter().map(|&a| (a, edge.block)));
        }
        if let ir::Terminator::Return(values) = &data.terminator {
            uses.extend(values.iter().map(|&v| (v, block)));
        }
    }
    for binding in &function.bindings {
        uses.extend(binding.values.iter().map(|&v| (v, binding.block)));
    }
    uses.retain(|&(value, block)| {
        engine.taint_between(value, block) < engine.level[value] || loses_form(engine, value, block)
    });
    uses.sort_unstable();
    uses.dedup();
    for (value, block) in uses {
        let level = engine.level_at(value, block);
        if level >= engine.level[value] && !loses_form(engine, value, block) {
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
