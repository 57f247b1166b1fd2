//! The items of a file that are shown, by position: its own, or those of its includes.

use crate::db::{self, Database, Db, File, Item, ItemPlace};
use std::sync::atomic::{AtomicUsize, Ordering};
use syntax::FileId;

/// The items of the file itself, not of its includes, by position.
pub fn own_items<'db>(db: &'db dyn Db, file: File) -> Vec<(ItemPlace, Item<'db>)> {
    let mut own: Vec<_> = db::items(db, file)
        .iter()
        .map(|&item| (item.place(db), item))
        .filter(|(place, _)| place.file == FileId::MAIN)
        .collect();
    own.sort_by_key(|(place, _)| (place.start, place.end));
    own
}

/// Runs `work` for the file's own items on several threads; queries that follow find the results.
pub fn for_each_item(db: &Database, file: File, work: impl Fn(&Database, Item<'_>) + Sync) {
    let next = AtomicUsize::new(0);
    db::on_cores(db, own_items(db, file).len(), |db| {
        let items = own_items(db, file);
        while let Some((_, item)) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(db, *item);
        }
    });
}

/// The file's own items; for a file without code of its own, such as one that sets macros and includes a
/// shader, those of its includes.
pub fn items_to_show<'db>(db: &'db dyn Db, file: File) -> Vec<(ItemPlace, Item<'db>)> {
    let own = own_items(db, file);
    if own.iter().any(|(_, item)| item.holds(db).code) {
        return own;
    }
    let mut all: Vec<_> = db::items(db, file)
        .iter()
        .map(|&item| (item.place(db), item))
        .filter(|(place, item)| place.file == FileId::MAIN || item.holds(db).kernels)
        .collect();
    all.sort_by_key(|(place, _)| (place.file, place.start, place.end));
    all
}

/// The innermost item around an offset.
pub fn item_at<'db>(db: &'db dyn Db, file: File, offset: u32) -> Option<(ItemPlace, Item<'db>)> {
    own_items(db, file)
        .into_iter()
        .filter(|(place, _)| place.start <= offset && offset <= place.end)
        .min_by_key(|(place, _)| place.end - place.start)
}

/// Returns true if an item is meant by a name: its full one, or the last part of it.
pub fn is_named(full: &str, name: &str) -> bool {
    full == name || full.rsplit("::").next() == Some(name)
}
