//! Functions of PTX files, the facts about them, and the results of `fit`.
// Every test takes a part of it.
#![allow(dead_code)]

use facts::{Method, Options, Scope};
use lockstep_codegen::mir::liveness::Liveness;
use lockstep_codegen::target::ptx::machine::check::Known;
use lockstep_codegen::target::ptx::machine::fit::{
    Allocator, Budget, Made, Scheduling, Source, fit,
};
use lockstep_codegen::target::ptx::machine::states::{State, arrivals_by_statement, states};
use lockstep_codegen::target::ptx::machine::{Body, read};
use std::ops::Range;
use syntax::ptx::{PtxFunction, PtxItemKind, StatementKind, declarations, parse_item, split_items};

pub(crate) const ALLOCATORS: [Allocator; 4] = [
    Allocator::Linear,
    Allocator::Divergence,
    Allocator::Affine,
    Allocator::Lockstep,
];

/// A function and the facts about it; without a body, the reason why it has no form.
pub(crate) struct Fittable {
    pub(crate) tree: PtxFunction,
    pub(crate) known: Known,
    pub(crate) body: Result<Body, String>,
    states: Vec<State>,
}

/// The functions of a file that have a body, and where each stands.
pub(crate) fn functions(file: &str) -> Vec<(Range<usize>, Fittable)> {
    let mut out = Vec::new();
    for (item, tree, lowered) in ir::lower::ptx::lower_text(file) {
        let PtxItemKind::Function(tree) = tree.kind else {
            continue;
        };
        if tree.body.is_none() {
            continue;
        }
        let mut fittable = Fittable {
            tree: *tree,
            known: Known::default(),
            body: Err("reads what nothing wrote".into()),
            states: Vec::new(),
        };
        match read(&fittable.tree) {
            Ok(body) if body.reads_undefined() => {}
            Ok(body) => {
                let options = Options {
                    method: Method::Polynomial(1),
                    scope: Scope::Subgroup,
                    ..Options::default()
                };
                let facts = facts::analyze(0, &lowered.module, &options);
                let function = &lowered.module.functions[0];
                let arrivals = arrivals_by_statement(&body, &fittable.tree, function, &facts);
                fittable.states = states(&body, function, &facts);
                let names = body.names.iter().cloned();
                fittable.known = Known {
                    states: names.zip(fittable.states.iter().copied()).collect(),
                    arrivals,
                };
                fittable.body = Ok(body);
            }
            Err(refusal) => fittable.body = Err(format!("{refusal}")),
        }
        out.push((item.start as usize..item.end as usize, fittable));
    }
    out
}

impl Fittable {
    /// Takes a fact about a register from elsewhere.
    pub(crate) fn assume(&mut self, name: &str, state: State) {
        for (own, known) in self.states.iter_mut().zip(&mut self.known.states) {
            if known.0 == name {
                *own = state;
                known.1 = state;
            }
        }
    }
    /// The function within a budget, or why not.
    pub(crate) fn fitted(
        &self,
        text: &str,
        allocator: Allocator,
        budget: &Budget,
    ) -> Result<Made, String> {
        let body = self.body.as_ref().map_err(String::clone)?;
        let source = Source {
            tree: &self.tree,
            body,
            text,
            rolled: &[],
        };
        fit(
            source,
            allocator,
            &self.states,
            &self.known.arrivals,
            budget,
        )
        .map_err(|refusal| format!("{refusal}"))
    }
}

/// The scheduling of lanes on the machine that a file names.
pub(crate) fn scheduling(file: &str) -> Scheduling {
    let named = declarations(file, &split_items(file)).target;
    let number = named.as_deref().and_then(|name| name.strip_prefix("sm_"));
    let digits = number.and_then(|number| number.split(|c: char| !c.is_ascii_digit()).next());
    let number: Option<u32> = digits.and_then(|digits| digits.parse().ok());
    match number {
        Some(0..70) => Scheduling::InStep,
        _ => Scheduling::Waiting,
    }
}

/// A function's tree.
pub(crate) fn parsed(text: &str) -> PtxFunction {
    match parse_item(text).kind {
        PtxItemKind::Function(function) => *function,
        other => panic!("no function: {other:?}"),
    }
}

/// The statements of a function by number.
pub(crate) fn listed(text: &str) -> String {
    let tree = parsed(text);
    let lines = tree.statements().iter().enumerate().map(|(at, statement)| {
        let (start, end) = (statement.span.start as usize, statement.span.end as usize);
        format!("{at:5} {}", &text[start..end])
    });
    lines.collect::<Vec<String>>().join("\n")
}

/// A file whose functions write every register first that they may read before they write it.
pub(crate) fn defined(file: &str) -> String {
    let mut out = String::new();
    let mut at = 0;
    for (item, function) in functions(file) {
        let Ok(body) = read(&function.tree) else {
            continue;
        };
        let own = &file[item.clone()];
        let live = Liveness::of(&body.function);
        let names = live.at_start(0).iter().map(|register| {
            let class = body.function.registers[register.0 as usize].type_name();
            let value = if class == "pred" { "0" } else { "7" };
            match class {
                "pred" => format!("setp.ne.s32 {}, 1, 1;\n", body.names[register.0 as usize]),
                _ => format!(
                    "mov.{class} {}, {value};\n",
                    body.names[register.0 as usize]
                ),
            }
        });
        let begins = function.tree.statements().iter().find(|statement| {
            matches!(
                statement.kind,
                StatementKind::Instruction(_) | StatementKind::Label(_) | StatementKind::Open
            )
        });
        let place = item.start + begins.map_or(own.len(), |first| first.span.start as usize);
        out.push_str(&file[at..place]);
        out.extend(names);
        at = place;
    }
    out.push_str(&file[at..]);
    out
}
