//! Reads and checks a table. A value that can't be used is a problem at its place and leaves the base's
//! value; a table comes out of every text, so that a mistake in a user's file costs that value alone.

use super::epic::Epic;
use super::schema::{Field, OPTIONAL};
use super::sets::Sets;
use super::{Gpu, Kind, Label, Quantity, SCHEMAS, Schema, Table};
use smol_str::SmolStr;
use std::sync::Arc;
use syntax::Span;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The most problems that are reported for one file.
const MOST: usize = 50;
/// Longest name and text.
const LONGEST: usize = 500;

/// A problem in a table, in bytes of its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    pub span: Span,
    pub message: String,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Parsed {
    /// `None`: a root table that lacks values.
    pub table: Option<Table>,
    /// In the order of places.
    pub problems: Vec<Problem>,
}

/// `base` finds the tables that one can start from.
#[must_use]
pub fn load(text: &str, base: &dyn Fn(&str) -> Option<Arc<Table>>) -> Parsed {
    let (root, errors) = DeTable::parse_recoverable(text);
    let mut loader = Loader {
        problems: Vec::new(),
    };
    for error in errors.iter().take(MOST) {
        let span = error.span().map_or(Span::default(), |range| span(&range));
        loader.problem(span, format!("not TOML: {}", error.message()));
    }
    let table = loader.table(root.get_ref(), base);
    loader.problems.sort_by_key(|problem| problem.span);
    loader.problems.truncate(MOST);
    Parsed {
        table,
        problems: loader.problems,
    }
}

struct Loader {
    problems: Vec<Problem>,
}

impl Loader {
    fn problem(&mut self, span: Span, message: String) {
        self.problems.push(Problem { span, message });
    }

    fn table(
        &mut self,
        root: &DeTable<'_>,
        base: &dyn Fn(&str) -> Option<Arc<Table>>,
    ) -> Option<Table> {
        let mut out = Table {
            name: SmolStr::new_static("custom"),
            title: String::new(),
            base: None,
            sources: Vec::new(),
            kind: Kind::Gpu(Gpu {
                quantities: Vec::new(),
            }),
        };
        let mut found: Option<Arc<Table>> = None;
        let kind = root
            .iter()
            .find(|(key, _)| key.get_ref().as_ref() == "kind");
        let kind = kind.and_then(|(_, value)| text(value));
        let schema = SCHEMAS
            .iter()
            .find(|schema| Some(schema.kind) == kind)
            .unwrap_or(&SCHEMAS[0]);
        let mut has_kind = false;
        for (key, value) in root {
            let place = span(&(key.span().start..value.span().end.max(key.span().end)));
            match key.get_ref().as_ref() {
                "kind" => {
                    has_kind = true;
                    if text(value) != Some(schema.kind) {
                        self.problem(place, "`kind` is \"gpu\", \"epic\" or \"sets\"".into());
                    }
                }
                "name" => match text(value) {
                    Some(name) if is_name(name) => out.name = name.into(),
                    _ => self.problem(place, "`name` is a word of letters, digits, `_`, `-` and `.`".into()),
                },
                "title" => match text(value) {
                    Some(title) => title.clone_into(&mut out.title),
                    None => self.problem(place, "`title` is a text".into()),
                },
                "base" => match text(value).map(|name| (name, base(name))) {
                    Some((name, Some(table))) if table.schema().kind != schema.kind => {
                        let message = format!("`{name}` is a table of kind \"{}\"", table.schema().kind);
                        self.problem(place, message);
                    }
                    Some((name, Some(table))) => {
                        out.base = Some(name.into());
                        found = Some(table);
                    }
                    Some((name, None)) => self.problem(
                        place,
                        format!("there is no table `{name}`; `lockstep machine list` names those that there are"),
                    ),
                    None => self.problem(place, "`base` is the name of a table".into()),
                },
                "sources" => self.sources(value, place, &mut out),
                section if schema.sections.iter().any(|(name, _)| *name == section) => {
                    if !matches!(value.get_ref(), DeValue::Table(_)) {
                        self.problem(place, format!("`{section}` is a table of values"));
                    }
                }
                other => self.problem(place, format!("unknown key `{}`", shown(other))),
            }
        }
        if !has_kind {
            self.problem(
                Span::at(0),
                "`kind = \"gpu\"`, `\"epic\"` or `\"sets\"` is missing".into(),
            );
        }
        if let Some(base) = &found {
            let known = |name: &SmolStr| out.sources.iter().any(|(own, _)| own == name);
            let more: Vec<_> = base
                .sources
                .iter()
                .filter(|(name, _)| !known(name))
                .cloned()
                .collect();
            out.sources.extend(more);
            out.sources.sort();
        }
        let (quantities, absent) = self.quantities(schema, root, &out.name, found.as_deref())?;
        out.kind = match schema.kind {
            "epic" => {
                let epic = Epic::new(quantities, absent);
                self.levels(&epic, root);
                Kind::Epic(epic)
            }
            "sets" => Kind::Sets(Sets::new(quantities)),
            _ => {
                self.relations(&quantities, root);
                Kind::Gpu(Gpu { quantities })
            }
        };
        Some(out)
    }

    fn sources(&mut self, value: &Spanned<DeValue<'_>>, place: Span, out: &mut Table) {
        let DeValue::Table(entries) = value.get_ref() else {
            self.problem(place, "`sources` is a table of texts".into());
            return;
        };
        for (name, says) in entries {
            match text(says) {
                Some(says) => out
                    .sources
                    .push((name.get_ref().as_ref().into(), says.to_owned())),
                None => self.problem(span(&says.span()), "a text is expected".into()),
            }
        }
        out.sources.sort();
    }

    fn quantities(
        &mut self,
        schema: &Schema,
        root: &DeTable<'_>,
        own: &SmolStr,
        base: Option<&Table>,
    ) -> Option<(Vec<Quantity>, Vec<&'static str>)> {
        let mut missing: Vec<String> = Vec::new();
        let mut quantities = Vec::new();
        let mut absent = self.absent(schema, root, base);
        for (at, field) in schema.fields.iter().enumerate() {
            let written = section(root, field.section).and_then(|table| {
                let found = table
                    .iter()
                    .find(|(name, _)| name.get_ref().as_ref() == field.name);
                found.map(|(_, value)| value)
            });
            let read = written.and_then(|value| self.quantity(field, value, own));
            let optional = OPTIONAL.contains(&field.section);
            let inherited = base.filter(|base| !optional || base.has(field.section));
            match (read, inherited) {
                (Some(quantity), _) => quantities.push(quantity),
                (None, Some(base)) => quantities.push(base.values()[at].clone()),
                (None, None) if optional => {
                    if field.default.is_none() && !absent.contains(&field.section) {
                        self.incomplete(field, root);
                        absent.push(field.section);
                    }
                    quantities.push(Quantity {
                        value: field.default.unwrap_or(0.0),
                        label: Label::Estimate,
                        source: SmolStr::new_static("not said"),
                        of: own.clone(),
                    });
                }
                (None, None) => missing.push(format!("{}.{}", field.section, field.name)),
            }
        }
        for (name, value) in root {
            let DeValue::Table(entries) = value.get_ref() else {
                continue;
            };
            let name = name.get_ref().as_ref();
            if !schema.sections.iter().any(|(section, _)| *section == name) {
                continue;
            }
            for (entry, _) in entries {
                let known =
                    |field: &Field| field.section == name && *field.name == *entry.get_ref();
                if !schema.fields.iter().any(known) {
                    let message = format!("unknown value `{name}.{}`", shown(entry.get_ref()));
                    self.problem(span(&entry.span()), message);
                }
            }
        }
        if missing.is_empty() {
            return Some((quantities, absent));
        }
        let count = missing.len();
        missing.truncate(6);
        let more = if count > 6 { ", …" } else { "" };
        self.problem(
            Span::at(0),
            format!(
                "without a `base` every value is needed; {count} are missing: {}{more}",
                missing.join(", ")
            ),
        );
        None
    }

    /// The optional sections that neither the file nor its base has.
    fn absent(
        &self,
        schema: &Schema,
        root: &DeTable<'_>,
        base: Option<&Table>,
    ) -> Vec<&'static str> {
        let sections = schema.sections.iter().map(|(name, _)| *name);
        let optional = sections.filter(|name| OPTIONAL.contains(name));
        optional
            .filter(|name| {
                section(root, name).is_none() && !base.is_some_and(|base| base.has(name))
            })
            .collect()
    }

    /// A section lacks a value that nothing else gives.
    fn incomplete(&mut self, field: &Field, root: &DeTable<'_>) {
        let mut entries = root.iter();
        let found = entries.find(|(key, _)| key.get_ref().as_ref() == field.section);
        let place = found.map_or(Span::at(0), |(key, _)| span(&key.span()));
        let message = format!(
            "`{0}.{1}` is missing ({2}: {3}): without it there is no `{0}`",
            field.section, field.name, field.unit, field.says
        );
        self.problem(place, message);
    }

    fn quantity(
        &mut self,
        field: &Field,
        value: &Spanned<DeValue<'_>>,
        own: &SmolStr,
    ) -> Option<Quantity> {
        let mut quantity = Quantity {
            value: 0.0,
            label: Label::Estimate,
            source: SmolStr::new_static("the user's own"),
            of: own.clone(),
        };
        let place = span(&value.span());
        let read = |value: &DeValue<'_>| match value {
            DeValue::String(word) => {
                let index = field.words.iter().position(|known| *known == word.as_ref());
                index.map(|index| index as f64)
            }
            _ if !field.words.is_empty() => None,
            other => number(other),
        };
        let number = match value.get_ref() {
            DeValue::Table(parts) => {
                let mut number = None;
                for (name, part) in parts {
                    let at = span(&part.span());
                    match (name.get_ref().as_ref(), text(part)) {
                        ("value", _) => number = Some((read(part.get_ref()), at)),
                        ("is", Some(word)) if Label::from_name(word).is_some() => {
                            quantity.label = Label::from_name(word).unwrap_or(Label::Estimate);
                        }
                        ("is", _) => self.problem(at, "`is` is fact, bound or estimate".into()),
                        ("source", Some(word)) => quantity.source = word.into(),
                        ("source", None) => self.problem(at, "`source` is a text".into()),
                        (other, _) => {
                            let message =
                                format!("unknown key `{}`: value, is, source", shown(other));
                            self.problem(span(&name.span()), message);
                        }
                    }
                }
                number
            }
            plain => Some((read(plain), place)),
        };
        let Some((number, at)) = number else {
            self.problem(place, "`value` is missing".into());
            return None;
        };
        let in_range = |value: &f64| {
            (field.least..=field.most).contains(value)
                && (!field.whole || value.fract() == 0.0)
                && (!field.is_power() || *value == 0.0 || (*value as u64).is_power_of_two())
        };
        match number.filter(in_range) {
            Some(number) => {
                quantity.value = number;
                Some(quantity)
            }
            None => {
                let whole = match (field.is_power(), field.whole) {
                    (true, _) => "a power of two",
                    (false, true) => "a whole number",
                    (false, false) => "a number",
                };
                let message = match field.words {
                    [] => format!(
                        "`{}` is {whole} from {} to {} ({}: {})",
                        field.name, field.least, field.most, field.unit, field.says
                    ),
                    words => format!(
                        "`{}` is \"{}\" ({})",
                        field.name,
                        words.join("\", \""),
                        field.says
                    ),
                };
                self.problem(at, message);
                None
            }
        }
    }

    /// The relations between the levels of caches.
    fn levels(&mut self, epic: &Epic, root: &DeTable<'_>) {
        use super::schema::Issue;
        let mut entries = root.iter();
        let Some((key, _)) = entries.find(|(key, _)| key.get_ref().as_ref() == "cache") else {
            return;
        };
        let Some(caches) = epic.caches() else {
            return;
        };
        let place = span(&key.span());
        if epic.of(Issue::L3Sets) > 0 && epic.of(Issue::L2Sets) == 0 {
            let message = "`cache.l3_sets` is there without `cache.l2_sets`";
            self.problem(place, message.into());
        }
        if epic.of(Issue::FloatLevel) as usize > caches.levels.len() {
            let message = format!(
                "`cache.float_level` is {}, of {} levels",
                epic.of(Issue::FloatLevel),
                caches.levels.len()
            );
            self.problem(place, message);
        }
        let mut latencies: Vec<u32> = caches.levels.iter().map(|level| level.latency).collect();
        latencies.push(caches.memory);
        if !latencies.is_sorted() {
            let message =
                "a later level of `cache`, or `memory.latency`, answers sooner than one before it";
            self.problem(place, message.into());
        }
    }

    /// Checks relations between values: registers are shared out evenly.
    fn relations(&mut self, quantities: &[Quantity], root: &DeTable<'_>) {
        use super::schema::Key;
        let of = |key: Key| quantities[key as usize].value;
        let place = |name: &str| {
            let mut entries = root.iter();
            let found = entries.find(|(key, _)| key.get_ref().as_ref() == name);
            found.map_or(Span::at(0), |(key, _)| span(&key.span()))
        };
        if of(Key::Registers) / of(Key::Schedulers) < of(Key::RegisterUnit) {
            self.problem(
                place("registers"),
                "a scheduler's part of `registers.file` is smaller than `registers.unit`".into(),
            );
        }
        if of(Key::SharedBlock) > of(Key::Shared) {
            self.problem(
                place("shared"),
                "`shared.block` is more than `shared.bytes`".into(),
            );
        }
    }
}

fn section<'t, 'i>(root: &'t DeTable<'i>, name: &str) -> Option<&'t DeTable<'i>> {
    let mut entries = root.iter();
    let (_, value) = entries.find(|(key, _)| key.get_ref().as_ref() == name)?;
    match value.get_ref() {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .map(|number| number as f64),
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => None,
    }
}

fn text<'t>(value: &'t Spanned<DeValue<'_>>) -> Option<&'t str> {
    match value.get_ref() {
        DeValue::String(text) if text.len() <= LONGEST => Some(text.as_ref()),
        _ => None,
    }
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !name.is_empty() && name.len() <= 64 && name.chars().all(plain)
}

fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

fn span(range: &std::ops::Range<usize>) -> Span {
    Span::new(range.start as u32, range.end as u32)
}
