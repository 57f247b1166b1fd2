//! An item as it would be if the file had another text: for judging and estimating an edit before it is made.
//! Nothing of it is kept. The declarations of the unit are taken to stay as they are, but for those that the
//! edit adds.

use super::{Includes, ItemBodies, key, path_text};
use crate::db::{self, Db, File, Item};
use ir::lower::c_family::recognize::Recognized;
use ir::lower::c_family::{Bodies, Environment, ItemDeclaration, LowerOptions, Lowered};
use std::path::Path;
use std::sync::Arc;
use syntax::ItemKey;
use syntax::c_family::ast::ParsedItem;
use syntax::c_family::lexer::lex_shared;
use syntax::preprocess::{IncludeResolver, IncludedFile, preprocess_again};

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

/// `None`: the item is no longer there, or the language is not of the C family.
pub fn rewritten(db: &dyn Db, item: Item<'_>, text: &str) -> Option<Rewritten> {
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
    let mut parsed = syntax::c_family::parse_item(tokens, db::type_names(db, file), dialect);
    parsed.key = key.clone();
    let parsed = Arc::new(parsed);
    let language = match dialect {
        syntax::c_family::Dialect::Hlsl => ir::Language::Hlsl,
        syntax::c_family::Dialect::C => ir::Language::C,
        _ => ir::Language::Cuda,
    };
    let bodies = With {
        others: ItemBodies { db, file },
        changed: (key.clone(), Arc::clone(&parsed)),
    };
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
    let environment = with_added.as_ref().unwrap_or(db::environment(db, file));
    let lowered = ir::lower::c_family::lower_item(
        environment,
        &bodies,
        &key,
        &super::lower_options(settings.analysis(db), language, &key.name),
    );
    Some(Rewritten {
        start: tokens.start,
        parsed,
        lowered,
    })
}
