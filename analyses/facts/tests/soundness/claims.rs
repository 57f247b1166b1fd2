//! The claims of a module's facts, spelled out as statements that lanes can contradict, and the places where
//! each is to be looked at.

use super::form::{self, Multiple, Setting};
use super::nest::{self, Cycle, EdgeEffect};
use facts::{AccessFact, Cause, Class, FunctionFacts, LoopFact, Scope, ValueFact};
use ir::{Block, Function, Inst, Module, Terminator, Value, ValueDef};
use oracle::interp::Launch;
use rustc_hash::FxHashMap;
use std::fmt;

/// The place of a claim.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Place {
    Definition(Value),
    /// An operand, a guard, a selector or a returned value in the block.
    Use(Value, Block),
    /// An argument of an edge to the block.
    Edge(Value, Block),
    /// The source reads the variable that holds the value in the block.
    Binding(Value, Block),
    Branch(Block),
    /// The loop with this header.
    Trip(Block),
    Count(Block),
    Access(Inst),
    Barrier(Inst),
    /// Facts that contradict each other.
    Facts(Value),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Kind {
    /// Equal bits.
    Uniform,
    /// Equal bits without the multiples of coordinates.
    Affine(Vec<Multiple>),
    /// This number in every lane, with the multiples of coordinates.
    Exact(Vec<Multiple>, i64),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Claim {
    pub(crate) function: u32,
    pub(crate) place: Place,
    pub(crate) kind: Kind,
    pub(crate) scope: Scope,
    /// The bits of the type.
    pub(crate) bits: u64,
    pub(crate) form: String,
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Uniform => "uniform",
            Kind::Affine(_) => "affine",
            Kind::Exact(..) => "exact",
        };
        let Claim {
            function,
            place,
            scope,
            form,
            ..
        } = self;
        write!(
            f,
            "function {function}: {place:?} {kind} over {scope:?} as `{form}`"
        )
    }
}

/// Claims of one function, by the places where a run meets them. Numbers index `Claims::list`.
#[derive(Debug, Default)]
pub(crate) struct FunctionClaims {
    pub(crate) definition: Vec<Vec<u32>>,
    pub(crate) used: FxHashMap<(u32, u32), Vec<u32>>,
    pub(crate) edge: FxHashMap<(u32, u32), Vec<u32>>,
    /// The variables that are read in each block, with the values of earlier blocks that they hold.
    pub(crate) bindings: Vec<Vec<(Value, Vec<u32>)>>,
    pub(crate) branch: Vec<Option<u32>>,
    /// The claim on the trip count of each cycle.
    pub(crate) trip: Vec<Option<u32>>,
    pub(crate) loops: Vec<Option<LoopFact>>,
    pub(crate) access: Vec<Option<AccessFact>>,
    pub(crate) cycles: Vec<Cycle>,
    pub(crate) effects: Vec<Vec<EdgeEffect>>,
    /// The ways of each block's edges (equal target and arguments), and the arguments.
    pub(crate) edges: Vec<Vec<(u64, Vec<Value>)>>,
    pub(crate) targets: Vec<Vec<Block>>,
    /// The parameter's number, of values that are parameters of a block other than the entry.
    pub(crate) parameter: Vec<Option<u32>>,
    /// Blocks that lanes end in.
    pub(crate) ends: Vec<bool>,
    pub(crate) values: usize,
    /// Barriers that are not called safe.
    pub(crate) flagged: Vec<Inst>,
}

#[derive(Debug, Default)]
pub(crate) struct Claims {
    pub(crate) list: Vec<Claim>,
    pub(crate) functions: Vec<FunctionClaims>,
    /// Facts that contradict each other by themselves.
    pub(crate) contradictions: Vec<(Claim, String)>,
    /// Affine forms that have a coordinate with a factor that has no number.
    pub(crate) symbolic: u64,
    /// Forms that were not understood.
    pub(crate) unread: Vec<String>,
}

impl Claims {
    pub(crate) fn of(module: &Module, facts: &[FunctionFacts], launch: &Launch) -> Self {
        let setting = Setting {
            block: launch.block,
            grid: launch.grid,
            warp_size: launch.warp_size,
        };
        let mut claims = Claims::default();
        for (number, (function, facts)) in module.functions.iter().zip(facts).enumerate() {
            let of = claims.function(number as u32, function, facts, &setting);
            claims.functions.push(of);
        }
        claims
    }

    fn function(
        &mut self,
        number: u32,
        function: &Function,
        facts: &FunctionFacts,
        setting: &Setting,
    ) -> FunctionClaims {
        let blocks = function.blocks.len();
        let cycles = nest::cycles(function);
        let mut of = FunctionClaims {
            definition: vec![Vec::new(); function.values.len()],
            bindings: vec![Vec::new(); blocks],
            branch: vec![None; blocks],
            access: vec![None; function.insts.len()],
            effects: nest::edge_effects(function, &cycles),
            edges: function
                .blocks
                .values()
                .map(|b| ways(&b.terminator))
                .collect(),
            targets: function
                .blocks
                .values()
                .map(|b| b.terminator.edges().iter().map(|e| e.block).collect())
                .collect(),
            parameter: vec![None; function.values.len()],
            ends: vec![false; blocks],
            values: function.values.len(),
            ..FunctionClaims::default()
        };
        let defined = function.definition_blocks();
        let context = (number, function, facts, setting);
        for (value, home) in defined.iter() {
            if home.is_some() {
                let fact = &facts.values[value];
                self.explained(number, value, fact, "its definition");
                of.definition[value.0 as usize] =
                    self.value(context, Place::Definition(value), value, fact);
            }
            if let ValueDef::Param(block, at) = function.values[value].def
                && block != function.entry()
            {
                of.parameter[value.0 as usize] = Some(at);
            }
        }
        for &block in &function.layout {
            let data = &function.blocks[block];
            of.ends[block.0 as usize] = data.terminator.edges().is_empty();
            let mut operands: Vec<Value> = data
                .insts
                .iter()
                .flat_map(|&inst| {
                    let inst = &function.insts[inst];
                    inst.args.iter().copied().chain(inst.guard.map(|g| g.value))
                })
                .chain(data.terminator.selector())
                .collect();
            if let Terminator::Return(values) = &data.terminator {
                operands.extend(values);
            }
            operands.sort_unstable();
            operands.dedup();
            for value in operands {
                let fact = facts.at(value, block);
                let list = self.value(context, Place::Use(value, block), value, fact);
                of.used.insert((block.0, value.0), list);
            }
            for edge in data.terminator.edges() {
                for &value in &edge.args {
                    of.edge.entry((edge.block.0, value.0)).or_insert_with(|| {
                        let fact = facts.at(value, edge.block);
                        let place = Place::Edge(value, edge.block);
                        self.value(context, place, value, fact)
                    });
                }
            }
            if let Some(fact) = facts.branch(block) {
                let scope = fact.uniform_at;
                of.branch[block.0 as usize] = scope.map(|scope| {
                    self.add(number, Place::Branch(block), Kind::Uniform, scope, !0, "")
                });
                self.consistent(number, facts, fact.class, scope, fact.class, Value(block.0));
            }
        }
        for binding in &function.bindings {
            for &value in &binding.values {
                if defined[value].is_some_and(|home| home != binding.block) {
                    let fact = facts.at(value, binding.block);
                    let place = Place::Binding(value, binding.block);
                    let list = self.value(context, place, value, fact);
                    of.bindings[binding.block.0 as usize].push((value, list));
                }
            }
        }
        for cycle in &cycles {
            let fact = facts.loops.iter().find(|l| l.header == cycle.header);
            of.trip.push(fact.and_then(|f| f.uniform_at).map(|scope| {
                let place = Place::Trip(cycle.header);
                self.add(number, place, Kind::Uniform, scope, !0, "")
            }));
            of.loops.push(fact.cloned());
        }
        for fact in &facts.temporal {
            self.explained(number, fact.value, &fact.fact, "a use");
        }
        let sorted = facts.temporal.is_sorted_by_key(|t| (t.value, t.block));
        if !sorted {
            let claim = contradiction(number, facts.options.scope, Value(0));
            self.contradictions
                .push((claim, "temporal facts are not sorted".into()));
        }
        for fact in &facts.accesses {
            of.access[fact.inst.0 as usize] = Some(fact.clone());
        }
        of.flagged = facts
            .barriers
            .iter()
            .filter(|b| b.divergent.is_some() || b.guard.is_some())
            .map(|b| b.inst)
            .collect();
        of.cycles = cycles;
        of
    }

    fn add(
        &mut self,
        function: u32,
        place: Place,
        kind: Kind,
        scope: Scope,
        bits: u64,
        form: &str,
    ) -> u32 {
        self.list.push(Claim {
            function,
            place,
            kind,
            scope,
            bits,
            form: form.into(),
        });
        self.list.len() as u32 - 1
    }

    /// The claims of one fact of a value.
    fn value(
        &mut self,
        (number, function, facts, setting): (u32, &Function, &FunctionFacts, &Setting),
        place: Place,
        value: Value,
        fact: &ValueFact,
    ) -> Vec<u32> {
        let mut list = Vec::new();
        let ty = function.ty(value);
        let bits = match ty.bits() {
            64 => !0,
            bits => (1 << bits) - 1,
        };
        if let Some(scope) = fact.uniform_at {
            list.push(self.add(
                number,
                place,
                Kind::Uniform,
                scope,
                !0,
                &fact.form.to_string(),
            ));
        }
        self.consistent(
            number,
            facts,
            fact.class,
            fact.uniform_at,
            fact.class,
            value,
        );
        if !ty.is_integral() || !matches!(fact.class, Class::Affine | Class::Uniform) {
            return list;
        }
        let scope = facts.options.scope;
        match form::read(&fact.form.to_string(), setting) {
            None if fact.form.is_empty() => {}
            None => self.unread.push(fact.form.to_string()),
            Some(reading) if reading.symbolic => self.symbolic += 1,
            Some(reading) => {
                if !reading.open {
                    let kind = Kind::Exact(reading.multiples.clone(), reading.constant);
                    list.push(self.add(number, place, kind, scope, bits, &fact.form.to_string()));
                }
                if fact.class == Class::Affine {
                    let kind = Kind::Affine(reading.multiples);
                    list.push(self.add(number, place, kind, scope, bits, &fact.form.to_string()));
                }
            }
        }
        list
    }

    /// Checks that a value that is not uniform has a cause, and one that is has none.
    fn explained(&mut self, function: u32, value: Value, fact: &ValueFact, place: &str) {
        let uniform = fact.uniform_at == Some(Scope::Dispatch);
        if uniform != (fact.cause == Cause::None) {
            let claim = contradiction(function, Scope::Dispatch, value);
            let text = format!("{place}: {fact:?}");
            self.contradictions.push((claim, text));
        }
    }

    /// Checks that `class` agrees with `uniform_at` at the scope asked for.
    fn consistent(
        &mut self,
        function: u32,
        facts: &FunctionFacts,
        class: Class,
        at: Option<Scope>,
        shown: Class,
        value: Value,
    ) {
        let uniform = at.is_some_and(|at| at >= facts.options.scope);
        if uniform != (class == Class::Uniform) {
            let claim = contradiction(function, facts.options.scope, value);
            let text = format!("class {shown:?} with uniform_at {at:?}");
            self.contradictions.push((claim, text));
        }
    }
}

/// A claim that other facts contradict.
fn contradiction(function: u32, scope: Scope, value: Value) -> Claim {
    Claim {
        function,
        place: Place::Facts(value),
        kind: Kind::Uniform,
        scope,
        bits: !0,
        form: String::new(),
    }
}

/// Edges with equal targets and arguments are one way.
fn ways(terminator: &Terminator) -> Vec<(u64, Vec<Value>)> {
    let edges = terminator.edges();
    edges
        .iter()
        .map(|edge| {
            let way = edges.iter().position(|other| other == edge).unwrap_or(0);
            (way as u64, edge.args.to_vec())
        })
        .collect()
}
