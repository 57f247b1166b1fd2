//! Values that are zero for whole warps: by the profile of a file at each definition, and without one by the
//! structure of the code.
//!
//! The rows of an entry point tell of the callees that it inlines, too: their counts are summed over the entry points
//! of the file. Rows exist only where the values of the profile were found again in the code as it is now.

use crate::db::{self, Db, File, Item};
use crate::profile::{self, TextError};
use crate::program::{self, own_items};
use facts::values::record::{Misses, recordable};
use facts::values::stored::{ProfileError, StoredItem, StoredProfile, map};
use facts::zeros::{Originator, originator, useless};
use ir::{BindingKind, Function, Loc, Site, Value, ValueDef};
use std::path::PathBuf;
use std::sync::Arc;
use syntax::{FileId, ItemKey, Span};

/// The profile of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileProfile {
    /// There is none.
    Missing,
    /// There is something else, at this path.
    Unusable(PathBuf, UnusableProfile),
    /// Its path and its file.
    Read(PathBuf, File, Arc<StoredProfile>),
}

/// A text that may be a profile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProfileText {
    Missing,
    Unusable(UnusableProfile),
    Read(Arc<StoredProfile>),
}

/// The reason why a file is no profile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UnusableProfile {
    /// It can't be read, in the words of the system.
    Unread(Arc<str>),
    TooLarge {
        bytes: usize,
    },
    Text(TextError),
}

/// The profile of a definition. Counts are of warps.
#[derive(Clone, PartialEq, Debug)]
pub struct ZeroRow {
    /// The item that it stands in, where that is an inlined callee.
    pub of: Option<ItemKey>,
    /// The identifier, relative to its item.
    pub span: Span,
    pub name: String,
    pub executions: u64,
    /// All components were zero in all lanes.
    pub zeros: u64,
    /// Component and its zeros, where there are several.
    pub components: Vec<(String, u64, u64)>,
    /// Instructions that the zero makes useless, at most, and how many of them read memory or textures.
    pub useless: (usize, usize),
    /// What its load met in caches, and the table of the processor that has them.
    pub misses: Option<(Misses, String)>,
    /// The code is the one that was profiled.
    pub exact: bool,
}

/// An item whose profile is not of the code as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stale {
    pub found: usize,
    pub of: usize,
}

/// The zeros of an item's functions.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Zeros {
    /// In the order of positions.
    pub rows: Vec<ZeroRow>,
    pub stale: Option<Stale>,
    /// Its warps have another size than here: probabilities do not hold.
    pub warps: Option<ProfileError>,
}

/// The path of a file's profile, from where the configuration says or beside it. `None`: the file has no name.
pub fn profile_path(db: &dyn Db, file: File) -> Option<PathBuf> {
    let configured = &file.settings(db).view(db).profile;
    Some(match configured {
        Some(path)
            if path
                .extension()
                .is_some_and(|extension| extension == "json") =>
        {
            path.clone()
        }
        // Anything else is a directory that holds the profiles of files by their names.
        Some(directory) => directory.join(profile::beside(file.path(db)).file_name()?),
        None => profile::beside(file.path(db)),
    })
}

/// The profile of a file.
pub fn file_profile(db: &dyn Db, file: File) -> FileProfile {
    let configured = &file.settings(db).view(db).profile;
    let Some(path) = profile_path(db, file) else {
        return FileProfile::Missing;
    };
    let found = db.file(&path);
    match db::profile_text(db, found) {
        ProfileText::Missing => FileProfile::Missing,
        ProfileText::Unusable(reason) => FileProfile::Unusable(path, reason.clone()),
        ProfileText::Read(read) => {
            // One profile may be configured for a directory; it tells of its own source.
            let name = file.path(db).file_name().unwrap_or_default();
            match configured.is_some() && *read.source.file != *name.to_string_lossy() {
                true => FileProfile::Missing,
                false => FileProfile::Read(path, found, Arc::clone(read)),
            }
        }
    }
}

/// The profile of a file that can be read.
pub fn profile_of(db: &dyn Db, file: File) -> Option<File> {
    match file_profile(db, file) {
        FileProfile::Read(_, found, _) => Some(found),
        _ => None,
    }
}

/// A file as a profile.
pub fn profile_text(db: &dyn Db, file: File) -> ProfileText {
    let text = match file.source(db) {
        db::Source::Text { text, .. } => text,
        db::Source::Unusable(reason) => {
            return ProfileText::Unusable(UnusableProfile::Unread(Arc::clone(reason)));
        }
        db::Source::Missing => return ProfileText::Missing,
    };
    if text.len() as u64 > profile::LARGEST_PROFILE {
        let bytes = text.len();
        return ProfileText::Unusable(UnusableProfile::TooLarge { bytes });
    }
    match profile::parse(text) {
        Ok(read) => ProfileText::Read(Arc::new(read)),
        Err(error) => ProfileText::Unusable(UnusableProfile::Text(error)),
    }
}

/// Returns the zeros of an item in the profile.
pub fn of_item(db: &dyn Db, item: Item<'_>) -> Zeros {
    let mut zeros = Zeros::default();
    let file = item.main(db);
    let profile = db::profile_of(db, file).map(|profile| db::profile_text(db, profile));
    let Some(ProfileText::Read(recorded)) = profile else {
        return zeros;
    };
    let wanted = program::settings(db, file).analysis(db).options.warp_size;
    for lowered in db::lowered(db, item).iter() {
        let Some(function) = lowered
            .module
            .functions
            .first()
            .filter(|f| !f.layout.is_empty())
        else {
            continue;
        };
        let stored = recorded
            .items
            .iter()
            .find(|stored| stored.name == function.name && stored.ordinal == item.ordinal(db));
        let Some(stored) = stored else { continue };
        let lanes = function.launch.warp_size;
        let lanes = lanes.unwrap_or_else(|| profile::lanes_of(function, wanted));
        if let Err(error) = recorded.check_warp_size(lanes) {
            zeros.warps = Some(error);
            continue;
        }
        add_rows(&mut zeros, function, stored);
    }
    zeros
        .rows
        .sort_by(|a, b| (&a.of, a.span, &a.name).cmp(&(&b.of, b.span, &b.name)));
    zeros
}

fn add_rows(zeros: &mut Zeros, function: &Function, stored: &StoredItem) {
    let mapped = map(stored, function);
    if !mapped.exact {
        zeros.stale = Some(Stale {
            found: mapped.values.len(),
            of: stored.values.len(),
        });
    }
    for binding in &function.bindings {
        if binding.kind == BindingKind::Read
            || binding.loc == Loc::NONE
            || binding.loc.span.is_empty()
        {
            continue;
        }
        let of = match binding.loc.site {
            Site(0) => None,
            site => match function.sites.get(site).and_then(|site| site.item.clone()) {
                Some(key) => Some(key),
                None => continue,
            },
        };
        let known: Option<Vec<(Value, u64, u64)>> = binding
            .values
            .iter()
            .map(|&value| {
                let counts = mapped.of(stored, value)?;
                (counts.executions > 0).then_some((value, counts.executions, counts.zeros))
            })
            .collect();
        let Some(known) = known.filter(|known| !known.is_empty()) else {
            continue;
        };
        let mut members: Vec<Value> = Vec::new();
        for &(value, ..) in &known {
            if !members.contains(&value) {
                members.push(value);
            }
        }
        let counts = match members.as_slice() {
            [_] => Some((known[0].1, known[0].2)),
            several => joint(&mapped, stored, several),
        };
        let Some((executions, zero)) = counts else {
            continue;
        };
        let variable = &function.variables[binding.variable];
        let names = ["x", "y", "z", "w"];
        let components = match members.len() {
            1 => Vec::new(),
            _ => known
                .iter()
                .zip(names)
                .map(|(&(_, executions, zeros), name)| (name.to_owned(), executions, zeros))
                .collect(),
        };
        let row = ZeroRow {
            of,
            span: binding.loc.span,
            name: format!("{}{}", variable.name, binding.part),
            executions,
            zeros: zero,
            components,
            useless: count_useless(function, &members, zero),
            misses: match members.as_slice() {
                [only] => mapped
                    .of(stored, *only)
                    .and_then(|value| value.misses)
                    .map(|misses| (misses, stored.caches.clone())),
                _ => None,
            },
            exact: mapped.exact,
        };
        // A callee that is inlined several times has a row for each; they are summed.
        let same = zeros
            .rows
            .iter_mut()
            .find(|known| known.of == row.of && known.span == row.span && known.name == row.name);
        match same {
            Some(known) => sum(known, &row),
            None => zeros.rows.push(row),
        }
    }
}

/// Executions and zeros of a vector that was counted as one.
fn joint(
    mapped: &facts::values::stored::Mapped,
    stored: &StoredItem,
    members: &[Value],
) -> Option<(u64, u64)> {
    let ids: Option<Vec<u32>> = members
        .iter()
        .map(|&member| mapped.of(stored, member).map(|value| value.id))
        .collect();
    let ids = ids?;
    let found = stored.joint.iter().find(|joint| joint.members == ids)?;
    (found.executions > 0).then_some((found.executions, found.zeros))
}

fn count_useless(function: &Function, members: &[Value], zeros: u64) -> (usize, usize) {
    if zeros == 0 {
        return (0, 0);
    }
    let dead = useless(function, members);
    let memory = dead
        .iter()
        .filter(|&&inst| {
            let op = &function.insts[inst].op;
            op.reads_memory() || matches!(op, ir::Op::Texture(_))
        })
        .count();
    (dead.len(), memory)
}

fn sum(into: &mut ZeroRow, other: &ZeroRow) {
    into.executions = into.executions.saturating_add(other.executions);
    into.misses = match (into.misses.take(), &other.misses) {
        (Some((mut known, caches)), Some((more, others))) if caches == *others => {
            known.add(more);
            Some((known, caches))
        }
        _ => None,
    };
    into.zeros = into.zeros.saturating_add(other.zeros);
    into.exact &= other.exact;
    into.useless = into.useless.max(other.useless);
    for (known, each) in into.components.iter_mut().zip(&other.components) {
        known.1 = known.1.saturating_add(each.1);
        known.2 = known.2.saturating_add(each.2);
    }
}

impl ZeroRow {
    /// From 0 to 1.
    pub fn share(&self) -> f64 {
        match self.executions {
            0 => 0.0,
            all => self.zeros as f64 / all as f64,
        }
    }
}

/// The rows of a file in bytes of it: its items' own, and those of callees that its entry points inline.
pub fn rows(db: &dyn Db, file: File) -> Vec<ZeroRow> {
    if db::profile_of(db, file).is_none() {
        return Vec::new();
    }
    let places = db::places(db, file);
    let mut all: Vec<ZeroRow> = Vec::new();
    for (place, item) in own_items(db, file) {
        if !item.holds(db).code {
            continue;
        }
        for row in &db::zeros(db, item).rows {
            let start = match &row.of {
                None => Some(place.start),
                Some(key) => places
                    .binary_search_by(|(known, _, _)| known.cmp(key))
                    .ok()
                    .map(|at| &places[at])
                    .filter(|(_, id, _)| *id == FileId::MAIN)
                    .map(|&(_, _, start)| start),
            };
            let Some(start) = start else { continue };
            let row = ZeroRow {
                of: None,
                span: row.span.shifted(start),
                ..row.clone()
            };
            all.push(row);
        }
    }
    all.sort_by(|a, b| (a.span, &a.name).cmp(&(b.span, &b.name)));
    all.dedup_by(|later, first| {
        let same = later.span == first.span && later.name == first.name;
        if same {
            sum(first, later);
        }
        same
    });
    all
}

/// The profile of a file for its users: versioning asks it for probabilities.
pub fn stored(db: &dyn Db, file: File) -> Option<Arc<StoredProfile>> {
    match file_profile(db, file) {
        FileProfile::Read(_, _, profile) => Some(profile),
        _ => None,
    }
}

/// Returns the reason why a definition could be zero although its operands are not.
pub fn structural(function: &Function, span: Span) -> Option<Originator> {
    let binding = function.bindings.iter().find(|binding| {
        binding.kind != BindingKind::Read && binding.loc.site == Site(0) && binding.loc.span == span
    })?;
    let reason = binding.values.iter().find_map(|&value| {
        let ValueDef::Result(inst, _) = function.values[value].def else {
            return None;
        };
        recordable(function, value)
            .then(|| originator(function, inst))
            .flatten()
    })?;
    // What a callee returns is its caller's to use.
    let returned = function.kind == ir::FunctionKind::Device;
    if !returned && useless(function, &binding.values).is_empty() {
        return None;
    }
    Some(reason)
}
