//! A file of C, read and lowered as a whole; the last item is the one that is asked for.

use ir::Language;
use ir::lower::c_family::{Environment, LowerOptions, Lowered, UnitBodies, lower_item};
use lockstep_codegen::loops::check::Side;
use lockstep_codegen::specialize::source::Source;
use std::sync::Arc;
use syntax::c_family::Dialect;
use syntax::c_family::ast::{Function, ItemKind, ParsedItem};
use syntax::c_family::lexer::lex_shared;
use syntax::preprocess::{IncludedFile, NoIncludes, PreprocessOptions, Unit, preprocess};

pub(crate) struct CFile {
    pub(crate) text: String,
    unit: Unit,
    pub(crate) item: Arc<ParsedItem>,
    pub(crate) start: u32,
    environment: Environment,
    bodies: UnitBodies,
    pub(crate) lowered: Vec<Lowered>,
}

#[allow(dead_code, reason = "not every test asks for all of it")]
impl CFile {
    pub(crate) fn new(text: &str) -> Self {
        let main = IncludedFile {
            path: "k.c".into(),
            tokens: Arc::new(lex_shared(Arc::from(text))),
        };
        let unit = preprocess(&main, &PreprocessOptions::new(Dialect::C), &mut NoIncludes);
        let names = syntax::c_family::type_names(&unit.items, Dialect::C);
        let items: Vec<Arc<ParsedItem>> = unit
            .items
            .iter()
            .map(|tokens| syntax::c_family::parse_item(tokens, &names, Dialect::C))
            .map(Arc::new)
            .collect();
        let item = Arc::clone(items.last().expect("an item"));
        let start = unit.items.last().expect("an item").start;
        let environment = Environment::new(&items);
        let bodies = UnitBodies(
            items
                .into_iter()
                .map(|item| (item.key.clone(), item))
                .collect(),
        );
        let options = LowerOptions::new(Language::C);
        let lowered = lower_item(&environment, &bodies, &item.key, &options);
        CFile {
            text: text.to_owned(),
            unit,
            item,
            start,
            environment,
            bodies,
            lowered,
        }
    }

    pub(crate) fn side(&self) -> Side<'_> {
        Side {
            text: &self.text,
            item: &self.item,
            start: self.start,
            lowered: &self.lowered,
        }
    }

    pub(crate) fn function(&self) -> &Function {
        match &self.item.kind {
            ItemKind::Function(function) => function,
            other => panic!("no function: {other:?}"),
        }
    }

    pub(crate) fn source(&self) -> Source<'_> {
        Source::new(
            &self.item,
            &self.unit.items.last().expect("an item").tokens,
            &self.text,
            self.start,
            &self.environment,
            &self.bodies,
            Language::C,
        )
    }

    /// Returns the offset of a part of the text in the item.
    pub(crate) fn at(&self, part: &str) -> u32 {
        self.text.rfind(part).expect(part) as u32 - self.start
    }
}
