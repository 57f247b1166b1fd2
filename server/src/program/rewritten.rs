//! An item as it would be if the file had another text: for judging and estimating an edit before it is made.
//! Nothing of it is kept. The declarations of the unit are taken to stay as they are, but for those that the
//! edit adds.

use super::{Includes, ItemBodies, key, path_text};
use crate::db::{self, Db, File, Item};
use codegen::specialize::source::Source;
use ir::lower::c_family::recognize::Recognized;
use ir::lower::c_family::{Bodies, Environment, ItemDeclaration, LowerOptions, Lowered};
use std::path::Path;
use std::sync::Arc;
use syntax::ItemKey;
use syntax::c_family::Dialect;
use syntax::c_family::ast::ParsedItem;
use syntax::c_family::lexer::lex_shared;
use syntax::preprocess::{IncludeResolver, IncludedFile, ItemTokens, preprocess_again};

#[derive(Clone, PartialEq, Debug)]
pub struct Rewritten {
    /// The offset at which the item begins in the other text.
    pub start: u32,
    pub parsed: Arc<ParsedItem>,
    pub lowered: Vec<Lowered>,
}

/// The bodies of a file's items.
pub fn bodies(db: &dyn Db, file: File) -> impl Bodies + '_ {
    ItemBodies { db, file }
}

/// The file's own bodies but for one.
struct With<'db> {
    others: ItemBodies<'db>,
    changed: (ItemKey, Arc<ParsedItem>),
}

impl Bodies for With<'_> {
    fn body(&self, key: &ItemKey) -> Option<Arc<ParsedItem>> {
        if *key == self.changed.0 {
            return Some(Arc::clone(&self.changed.1));
        }
        self.others.body(key)
    }
    fn recognized(
        &self,
        env: &Environment,
        key: &ItemKey,
        options: &LowerOptions,
    ) -> Option<Recognized> {
        // What the changed item calls is as it was; what calls it may see another.
        ir::lower::c_family::recognize::recognize(env, self, key, options)
    }
}

/// The search for included files, of which one has another text.
struct Replaced<'a> {
    includes: Includes<'a>,
    main: IncludedFile,
}

impl Replaced<'_> {
    fn instead(&self, found: IncludedFile) -> IncludedFile {
        match found.path == self.main.path {
            true => self.main.clone(),
            false => found,
        }
    }
}

impl IncludeResolver for Replaced<'_> {
    fn resolve(&mut self, from: &str, spec: &str, angled: bool) -> Option<IncludedFile> {
        let found = self.includes.resolve(from, spec, angled)?;
        Some(self.instead(found))
    }
    fn exists(&mut self, from: &str, spec: &str, angled: bool) -> bool {
        self.includes.exists(from, spec, angled)
    }
    fn resolve_next(&mut self, from: &str, spec: &str, angled: bool) -> Option<IncludedFile> {
        let found = self.includes.resolve_next(from, spec, angled)?;
        Some(self.instead(found))
    }
}

/// The item in another text, which edits of the source's text have made. `None`: it is no longer there, or the language is not of
/// the C family. What an item that stands alone becomes is read without the rest of the file.
pub fn rewritten(
    db: &dyn Db,
    item: Item<'_>,
    source: &Source<'_>,
    text: &str,
) -> Option<Rewritten> {
    let read = db::alone(db, item).as_ref().and_then(|own| {
        let part = match source.alone {
            true => Some(text),
            false => own.part(source.text, source.start, text),
        }?;
        let macros = db::macros_by_name(db, item.main(db));
        let known = own.adds_no_name_of(macros, part);
        known.then(|| own.read(db, item, part)).flatten()
    });
    match read {
        Some(read) => Some(lowered(db, item, &read, source.start, None)),
        None if source.alone => None,
        None => in_file(db, item, text),
    }
}

fn in_file(db: &dyn Db, item: Item<'_>, text: &str) -> Option<Rewritten> {
    let file = item.main(db);
    let dialect = file.language(db).c_dialect()?;
    let settings = super::settings(db, file);
    let mut options = super::preprocess_options(db, settings.analysis(db), dialect);
    let main = IncludedFile {
        path: path_text(file.path(db)),
        tokens: Arc::new(lex_shared(Arc::from(text))),
    };
    let mut includes = Includes::of(db, file, settings);
    let earlier = db::unit(db, file);
    let through = earlier.seen_through.and_then(|id| earlier.path(id));
    let unit = match through {
        None => preprocess_again(&main, &options, &mut includes, earlier),
        Some(path) => {
            let first = includes.open(Path::new(path))?;
            options.seen_from = Some(Arc::clone(&main.path));
            let mut replaced = Replaced { includes, main };
            preprocess_again(&first, &options, &mut replaced, earlier)
        }
    };
    let key = key(db, item);
    let at = syntax::c_family::item_names(&unit.items)
        .iter()
        .position(|name| *name == key)?;
    let tokens = &unit.items[at];
    let known = db::items_by_key(db, file);
    let added = unit
        .items
        .iter()
        .zip(syntax::c_family::item_names(&unit.items))
        .filter(|(_, name)| known.binary_search_by(|(it, _)| it.cmp(name)).is_err());
    let added: Vec<ItemDeclaration> = added
        .map(|(tokens, name)| {
            let mut parsed =
                syntax::c_family::parse_item(tokens, db::type_names(db, file), dialect);
            parsed.key = name;
            ItemDeclaration::of(&parsed)
        })
        .collect();
    let with_added = (!added.is_empty()).then(|| {
        let own = db::items(db, file).iter();
        let own = own.map(|&item| db::declaration(db, item));
        Environment::of_declarations(own.chain(&added))
    });
    Some(lowered(db, item, tokens, tokens.start, with_added.as_ref()))
}

/// The item with other tokens, in this environment or that of its file.
fn lowered(
    db: &dyn Db,
    item: Item<'_>,
    tokens: &ItemTokens,
    start: u32,
    environment: Option<&Environment>,
) -> Rewritten {
    let file = item.main(db);
    let dialect = file.language(db).c_dialect().unwrap_or(Dialect::Cuda);
    let key = key(db, item);
    let mut parsed = syntax::c_family::parse_item(tokens, db::type_names(db, file), dialect);
    parsed.key = key.clone();
    let parsed = Arc::new(parsed);
    let language = match dialect {
        Dialect::Hlsl => ir::Language::Hlsl,
        Dialect::C => ir::Language::C,
        _ => ir::Language::Cuda,
    };
    let bodies = With {
        others: ItemBodies { db, file },
        changed: (key.clone(), Arc::clone(&parsed)),
    };
    let analysis = super::settings(db, file).analysis(db);
    let lowered = ir::lower::c_family::lower_item(
        environment.unwrap_or(db::environment(db, file)),
        &bodies,
        &key,
        &super::lower_options(analysis, language, &key.name),
    );
    Rewritten {
        start,
        parsed,
        lowered,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::{Database, Source as Text};
    use std::path::PathBuf;

    /// The files of a directory of fixtures.
    fn files(directory: &str) -> Vec<PathBuf> {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
        let all = std::fs::read_dir(fixtures.join(directory)).unwrap();
        let mut all: Vec<PathBuf> = all.map(|entry| entry.unwrap().path()).collect();
        all.retain(|path| path.is_file());
        all.sort();
        all
    }

    #[test]
    fn an_item_by_itself_becomes_what_it_becomes_in_its_file() {
        let mut seen = 0;
        for directory in ["cuda", "hlsl", "c"] {
            for path in files(directory) {
                let mut db = Database::default();
                let text = std::fs::read_to_string(&path).unwrap();
                let source = Text::Text {
                    text: Arc::from(text.as_str()),
                    lossy: false,
                };
                let file = db.file_with_text(&path, source);
                seen += compared(&db, file, &text);
            }
        }
        assert!(seen > 200, "{seen}");
    }

    fn opened(text: &str) -> (Database, File) {
        let mut db = Database::default();
        let source = Text::Text {
            text: Arc::from(text),
            lossy: false,
        };
        let file = db.file_with_text(Path::new("/project/k.cu"), source);
        (db, file)
    }

    #[test]
    fn macros_and_namespaces_go_with_it() {
        let (db, file) = opened(
            "#define N 4\r\n#define LAST (N - 1)\r\n#define UNUSED 7\r\nnamespace a { namespace {\r\n\
             __global__ void k(int *p) {\r\n  p[LAST] = N;\r\n}\r\n} }\r\n",
        );
        let item = db::items(&db, file)[0];
        let own = db::alone(&db, item).as_ref().unwrap();
        let macros = db::macros_by_name(&db, file);
        assert!(own.adds_no_name_of(macros, &own.text.replace("p[LAST]", "p[N]")));
        assert!(!own.adds_no_name_of(macros, &own.text.replace("p[LAST]", "p[UNUSED]")));
        // Two items where there was one are none.
        let two = format!("{} int x;", own.text);
        assert!(own.read(&db, item, &two).is_none());
    }

    #[test]
    fn what_depends_on_its_place_is_read_in_its_file() {
        for body in [
            "p[0] = __LINE__;",
            "\n#ifdef N\np[0] = 1;\n#endif\n",
            "\n#define M 1\np[0] = M;\n",
        ] {
            let (db, file) = opened(&format!(
                "#define N 4\n\n\n__global__ void k(int *p) {{ {body} }}\n"
            ));
            let item = db::items(&db, file)[0];
            assert!(db::alone(&db, item).is_none(), "{body}");
        }
    }

    /// The items of a file that stand alone, with a statement more; returns how many.
    fn compared(db: &Database, file: File, text: &str) -> usize {
        let mut seen = 0;
        for (place, item) in super::super::own_items(db, file) {
            let Some(own) = db::alone(db, item).as_ref().filter(|_| item.holds(db).code) else {
                continue;
            };
            let Some(open) = own.text.find('{') else {
                continue;
            };
            let edited = [&own.text[..=open], " ;", &own.text[open + 1..]].concat();
            let whole = [
                &text[..place.start as usize],
                &edited,
                &text[place.end as usize..],
            ];
            let whole = whole.concat();
            let apart = own.part(text, place.start, &whole);
            assert_eq!(apart, Some(edited.as_str()));
            let read = own.read(db, item, &edited).unwrap();
            let alone = lowered(db, item, &read, place.start, None);
            let beside = in_file(db, item, &whole).unwrap();
            assert!(alone == beside, "{}: {}", file.path(db).display(), own.text);
            seen += 1;
        }
        seen
    }
}
