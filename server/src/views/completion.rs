//! Completion: the variables of the function with their class, members, functions of the unit, builtins of
//! the language with their cost and the scope that must come to them, and semantics.
//!
//! The tables of names that the language provides are `completion/*.tsv`: name, signature, unit, a sentence.

use super::names::word_at;
use super::text;
use crate::db::{self, Db, File};
use crate::derive::rows::rows_of;
use crate::program::{self, Language, item_at};
use facts::cost::Work;
use ir::VariableKind;
use rustc_hash::FxHashSet;
use std::sync::LazyLock;
use syntax::c_family::ast::{DeclaratorName, ItemKind, Member, Struct, Type, TypeKind};

/// The most names of a unit's own that are offered.
const MOST: usize = 2_000;

/// In the order in which they are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum CompletionKind {
    Member,
    Semantic,
    Variable,
    Function,
    Type,
    Keyword,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completion {
    pub label: String,
    pub kind: CompletionKind,
    /// The type, signature or class.
    pub detail: String,
    pub about: String,
}

/// A function or value that the language provides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Provided {
    pub name: &'static str,
    pub signature: &'static str,
    pub work: Work,
    pub about: &'static str,
}

fn table(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| line.split('\t').collect())
}

fn provided_in(text: &'static str) -> Vec<Provided> {
    let row = |row: Vec<&'static str>| match row.as_slice() {
        &[name, signature, unit, about] => Some(Provided {
            name,
            signature,
            work: work_of(unit)?,
            about,
        }),
        _ => None,
    };
    table(text).filter_map(row).collect()
}

static CUDA: LazyLock<Vec<Provided>> =
    LazyLock::new(|| provided_in(include_str!("completion/cuda.tsv")));
static HLSL: LazyLock<Vec<Provided>> =
    LazyLock::new(|| provided_in(include_str!("completion/hlsl.tsv")));

/// Returns the builtins of a language.
pub fn provided(language: Language) -> &'static [Provided] {
    match language {
        Language::Cuda => &CUDA,
        Language::Hlsl => &HLSL,
        _ => &[],
    }
}

fn work_of(unit: &str) -> Option<Work> {
    Some(match unit {
        "free" => Work::Free,
        "float" => Work::Float,
        "double" => Work::Double,
        "multiply" => Work::Multiply,
        "logic" => Work::Logic,
        "shift64" => Work::Shift64,
        "compare" => Work::Compare,
        "bits" => Work::Bits,
        "convert" => Work::Convert,
        "special" => Work::Special,
        "sine" => Work::Sine,
        "exponential" => Work::Exponential,
        "power" => Work::Power,
        "quotient" => Work::Quotient,
        "root" => Work::RootFloat,
        "function" => Work::Function,
        "shuffle" => Work::Shuffle,
        "vote" => Work::Vote,
        "derivative" => Work::Derivative,
        "global" => Work::Global,
        "atomic" => Work::Atomic,
        "barrier" => Work::Barrier,
        "call" => Work::Call,
        _ => return None,
    })
}

/// Returns the completions at an offset.
pub fn completions(db: &dyn Db, file: File, offset: u32) -> Vec<Completion> {
    let source = program::text(file.source(db));
    let Some(before) = source.get(..offset as usize) else {
        return Vec::new();
    };
    let letter = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '%');
    let head = before.trim_end_matches(letter);
    let in_comment = db::lexed(db, file).as_ref().is_some_and(|lexed| {
        let mut comments = lexed.comments.iter();
        comments.any(|comment| comment.start < offset && offset <= comment.end)
    });
    if in_comment {
        return Vec::new();
    }
    if let Some(object) = head.strip_suffix('.').or_else(|| head.strip_suffix("->")) {
        return members(db, file, offset, object);
    }
    if file.language(db) == Language::Hlsl && awaits_semantic(head) {
        return semantics();
    }
    let mut all = variables(db, file, offset);
    all.extend(declared(db, file));
    all.extend(of_language(db, file));
    let mut seen = FxHashSet::default();
    all.retain(|it| seen.insert(it.label.clone()));
    all
}

/// A single colon behind a name, as in `uint3 id : `; not of a label, a scope or a conditional.
fn awaits_semantic(head: &str) -> bool {
    let Some(before) = head.trim_end().strip_suffix(':') else {
        return false;
    };
    let line = before.rsplit('\n').next().unwrap_or(before);
    !before.ends_with(':') && !line.contains(['?', '=']) && !line.trim_start().starts_with("case")
}

fn semantics() -> Vec<Completion> {
    let rows = table(include_str!("completion/semantics.tsv"));
    let row = |row: Vec<&'static str>| match row.as_slice() {
        &[name, ty, about] => Some(Completion {
            label: name.to_owned(),
            kind: CompletionKind::Semantic,
            detail: ty.to_owned(),
            about: about.to_owned(),
        }),
        _ => None,
    };
    rows.filter_map(row).collect()
}

/// The variables of the function around an offset, with their facts.
fn variables(db: &dyn Db, file: File, offset: u32) -> Vec<Completion> {
    let Some((place, item)) = item_at(db, file, offset) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut seen = FxHashSet::default();
    for each in rows_of(db, item).iter().flat_map(|rows| &rows.occurrences) {
        let declared = place.start + each.declared.start;
        let is_local = each.variable_kind != VariableKind::Global;
        if (is_local && declared >= offset) || !seen.insert(each.variable) {
            continue;
        }
        found.push(Completion {
            label: each.name.to_string(),
            kind: CompletionKind::Variable,
            detail: each.type_text.to_string(),
            about: text::class_and_form(each.class, &each.form),
        });
    }
    found
}

/// Functions, types and globals of the unit.
fn declared(db: &dyn Db, file: File) -> Vec<Completion> {
    let mut found = Vec::new();
    for &item in db::items(db, file).iter().take(MOST) {
        let name = item.name(db).rsplit("::").next().unwrap_or("");
        if name.is_empty() || file.language(db).c_dialect().is_none() {
            continue;
        }
        let kind = match &db::declaration(db, item).item.kind {
            ItemKind::Function(_) => CompletionKind::Function,
            ItemKind::Struct(_) | ItemKind::Enum(_) | ItemKind::Alias(_) => CompletionKind::Type,
            ItemKind::Variables(_) | ItemKind::CBuffer(_) => CompletionKind::Variable,
            _ => continue,
        };
        found.push(Completion {
            label: name.to_owned(),
            kind,
            detail: String::new(),
            about: String::new(),
        });
    }
    found
}

/// Returns the builtins of the language, with their costs.
fn of_language(db: &dyn Db, file: File) -> Vec<Completion> {
    let language = file.language(db);
    let machine = db::charges(db, program::settings(db, file));
    let mut found: Vec<Completion> = provided(language)
        .iter()
        .map(|it| {
            let cycles = machine.charge(it.work).cycles;
            let cost = match cycles > 0.0 {
                true => format!(
                    " About {cycles:.0} cycles a warp (estimate, {}).",
                    machine.name
                ),
                false => String::new(),
            };
            Completion {
                label: it.name.to_owned(),
                kind: CompletionKind::Function,
                detail: it.signature.to_owned(),
                about: format!("{}{cost}", it.about),
            }
        })
        .collect();
    let name = match language {
        Language::Cuda => "cuda",
        Language::Hlsl => "hlsl",
        _ => return found,
    };
    let rows = table(include_str!("completion/keywords.tsv"));
    found.extend(rows.filter_map(|row| match row.as_slice() {
        &[of, keyword, about] if of == name => Some(Completion {
            label: keyword.to_owned(),
            kind: CompletionKind::Keyword,
            detail: String::new(),
            about: about.to_owned(),
        }),
        _ => None,
    }));
    found
}

/// The members of the object in front of a dot or an arrow.
fn members(db: &dyn Db, file: File, offset: u32, object: &str) -> Vec<Completion> {
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    let object = object.trim_end();
    // Brackets of an index are stepped over: `a[i].`
    let name_end = match object.strip_suffix(']') {
        Some(inner) => matching_bracket(inner).unwrap_or(object.len()),
        None => object.len(),
    };
    let object = &object[..name_end];
    let Some(name) = word_at(object, object.len() as u32) else {
        return Vec::new();
    };
    let head = object[..object.len() - name.len()].trim_end();
    let ty = match head.strip_suffix('.').or_else(|| head.strip_suffix("->")) {
        Some(outer) => {
            let outer = outer.trim_end();
            let of = outer.trim_end_matches(letter);
            type_of(db, file, offset, &outer[of.len()..])
                .and_then(|ty| field_type(db, file, &ty, name))
        }
        None => type_of(db, file, offset, name),
    };
    ty.map_or_else(Vec::new, |ty| members_of(db, file, &ty))
}

/// Returns where the bracket that closes behind a text opens.
fn matching_bracket(inner: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, letter) in inner.char_indices().rev() {
        match letter {
            ']' => depth += 1,
            '[' if depth == 0 => return Some(at),
            '[' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The type of a variable, without qualifiers, pointers and references.
fn type_of(db: &dyn Db, file: File, offset: u32, name: &str) -> Option<String> {
    if matches!(name, "threadIdx" | "blockIdx" | "blockDim" | "gridDim") {
        return Some("uint3".to_owned());
    }
    if let Some((_, item)) = item_at(db, file, offset) {
        let mut all = rows_of(db, item).iter().flat_map(|rows| &rows.occurrences);
        if let Some(found) = all.find(|it| it.name == name) {
            return Some(plain_type(&found.type_text));
        }
    }
    // A parameter that nothing has read yet, or a global.
    let parsed_type = |ty: &Type| type_name(ty);
    if let Some((_, item)) = item_at(db, file, offset)
        && file.language(db).c_dialect().is_some()
        && let ItemKind::Function(function) = &db::parsed(db, item).kind
    {
        let parameter = function.parameters.iter().find(|parameter| {
            parameter
                .name
                .as_ref()
                .is_some_and(|ident| ident.name == name)
        });
        if let Some(found) = parameter.and_then(|it| parsed_type(&it.ty)) {
            return Some(found);
        }
    }
    None
}

fn plain_type(text: &str) -> String {
    let mut words = text
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':')))
        .filter(|word| !matches!(*word, "" | "const" | "volatile" | "struct" | "static"));
    words.next_back().unwrap_or("").to_owned()
}

fn type_name(ty: &Type) -> Option<String> {
    match &ty.kind {
        TypeKind::Named(name) => Some(name.segments.last()?.ident.name.to_string()),
        TypeKind::Builtin(name) => Some(name.to_string()),
        TypeKind::Pointer(inner) => type_name(inner),
        TypeKind::Reference { target, .. } => type_name(target),
        _ => None,
    }
}

fn with_struct<T>(
    db: &dyn Db,
    file: File,
    name: &str,
    then: impl FnOnce(&Struct) -> T,
) -> Option<T> {
    let last = name.rsplit("::").next()?;
    for &item in db::items(db, file) {
        if item.name(db).rsplit("::").next() != Some(last) {
            continue;
        }
        if let ItemKind::Struct(found) = &db::declaration(db, item).item.kind
            && found.has_body
        {
            return Some(then(found));
        }
    }
    None
}

fn field_type(db: &dyn Db, file: File, of: &str, field: &str) -> Option<String> {
    with_struct(db, file, of, |found| {
        let fields = found.members.iter().filter_map(|member| match member {
            Member::Fields(declaration) => Some(&declaration.declarators),
            _ => None,
        });
        let mut fields = fields.flatten();
        let named = fields
            .find(|it| matches!(&it.name, DeclaratorName::Plain(ident) if ident.name == field));
        named.and_then(|it| type_name(&it.ty))
    })?
}

fn members_of(db: &dyn Db, file: File, ty: &str) -> Vec<Completion> {
    let member = |label: String, detail: String| Completion {
        label,
        kind: CompletionKind::Member,
        detail,
        about: String::new(),
    };
    let count = ty.chars().last().and_then(|last| last.to_digit(10));
    let scalar = ty.trim_end_matches(|c: char| c.is_ascii_digit());
    let vector = matches!(
        scalar,
        "float"
            | "int"
            | "uint"
            | "half"
            | "double"
            | "bool"
            | "char"
            | "uchar"
            | "short"
            | "ushort"
            | "long"
            | "ulong"
            | "longlong"
            | "ulonglong"
            | "min16float"
            | "min16int"
            | "min16uint"
            | "dim"
            | "float16_t"
            | "int16_t"
            | "uint16_t"
            | "uint64_t"
            | "int64_t"
    );
    if let Some(count @ 1..=4) = count.filter(|_| vector) {
        let letters = |set: &'static str| set.chars().take(count as usize).map(String::from);
        let mut found: Vec<Completion> = letters("xyzw")
            .map(|label| member(label, scalar.to_owned()))
            .collect();
        if file.language(db) == Language::Hlsl {
            found.extend(letters("rgba").map(|label| member(label, scalar.to_owned())));
            let whole: String = letters("xyzw").collect();
            if count > 1 {
                found.push(member(whole, ty.to_owned()));
            }
        }
        return found;
    }
    let of_struct = with_struct(db, file, ty, |found| {
        let mut all = Vec::new();
        for each in &found.members {
            match each {
                Member::Fields(declaration) => {
                    for field in &declaration.declarators {
                        if let DeclaratorName::Plain(ident) = &field.name {
                            let detail = type_name(&field.ty).unwrap_or_default();
                            all.push(member(ident.name.to_string(), detail));
                        }
                    }
                }
                Member::Method(method) => {
                    if let syntax::c_family::ast::FunctionName::Plain(name) = &method.name
                        && let Some(last) = name.segments.last()
                    {
                        all.push(Completion {
                            kind: CompletionKind::Function,
                            ..member(last.ident.name.to_string(), String::new())
                        });
                    }
                }
                _ => {}
            }
        }
        all
    });
    of_struct.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_tables_is_read() {
        for (text, rows) in [
            (
                include_str!("completion/cuda.tsv"),
                provided(Language::Cuda),
            ),
            (
                include_str!("completion/hlsl.tsv"),
                provided(Language::Hlsl),
            ),
        ] {
            assert_eq!(table(text).count(), rows.len());
            for row in rows {
                assert!(row.signature.contains(row.name), "{}", row.name);
                assert!(row.about.ends_with('.'), "{}", row.name);
            }
        }
        assert_eq!(
            table(include_str!("completion/semantics.tsv")).count(),
            semantics().len()
        );
    }

    #[test]
    fn the_language_knows_what_its_table_provides() {
        for each in provided(Language::Hlsl) {
            let known = ir::lower::c_family::builtins::is_builtin(ir::Language::Hlsl, each.name);
            assert!(known || each.name == "discard", "{}", each.name);
        }
    }

    /// A call of each function by its signature is understood.
    #[test]
    fn calls_of_what_cuda_provides_are_understood() {
        use crate::config::{AnalysisConfig, ViewConfig};
        use crate::db::{Database, Source};
        let argument = |parameter: &str| {
            let parameter = parameter.split('=').next().unwrap_or(parameter).trim();
            let name = parameter.rfind([' ', '*']).unwrap_or(parameter.len() - 1);
            let ty = parameter[..=name].replace("T", "unsigned");
            match ty.contains('*') {
                true => format!("({ty})p"),
                false => format!("({ty})0"),
            }
        };
        for each in provided(Language::Cuda) {
            let use_of = match each.signature.split_once('(') {
                Some((_, rest)) => {
                    let parameters = rest.trim_end_matches(')').split(',');
                    let arguments: Vec<String> = parameters
                        .filter(|parameter| !matches!(parameter.trim(), "" | "..."))
                        .map(argument)
                        .collect();
                    format!("{}({})", each.name, arguments.join(", "))
                }
                None => format!("(void){}", each.name),
            };
            let text = format!("__global__ void k(void* p) {{ {use_of}; }}\n");
            let mut db = Database::default();
            let source = Source::Text {
                text: text.as_str().into(),
                lossy: false,
            };
            let file = db.file_with_text(std::path::Path::new("/project/k.cu"), source);
            let settings =
                db.new_settings(AnalysisConfig::default(), ViewConfig::default(), Vec::new());
            db.set_file_settings(file, settings);
            let said = crate::views::diagnostics::diagnostics(&db, file);
            let unknown = said
                .iter()
                .find(|it| matches!(it.code, "unsupported-construct" | "syntax" | "assumption"));
            assert!(unknown.is_none(), "{text}{unknown:?}");
        }
    }

    #[test]
    fn semantics_stand_behind_a_colon() {
        assert!(awaits_semantic("void main(uint3 id : "));
        assert!(!awaits_semantic("x = a ? b : "));
        assert!(!awaits_semantic("case 1: "));
        assert!(!awaits_semantic("a::"));
    }
}
