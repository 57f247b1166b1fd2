//! Text of which a front end or the preprocessor could not make sense, and limits that were met.

use super::*;
use crate::commands::CommandNote;
use rustc_hash::FxHashSet;

/// Problems of an item: of its tree and of its lowering, item-relative.
pub fn item_problems(db: &dyn Db, item: Item<'_>) -> Vec<Problem> {
    let mut problems: Vec<Problem> = tree_problems(db, item.main(db), item).to_vec();
    if item.holds(db).code {
        for lowered in db::lowered(db, item).iter() {
            problems.extend(lowered.problems.iter().cloned());
        }
    } else {
        // The host's code is not analysed: what is not understood there costs nothing.
        problems.retain(|problem| problem.kind != ProblemKind::Unsupported);
    }
    problems.sort_by(|a, b| (a.span, &a.message).cmp(&(b.span, &b.message)));
    problems.dedup();
    problems
}

/// Problems of an item's tree.
pub fn tree_problems<'db>(db: &'db dyn Db, file: File, item: Item<'db>) -> &'db [Problem] {
    match file.language(db) {
        Language::Cuda | Language::Hlsl | Language::C => &db::parsed(db, item).problems,
        Language::Ptx => &db::ptx_tree(db, item).problems,
        Language::MicroSimd | Language::Ir | Language::Ia64 | Language::Sc140 | Language::Other => {
            &[]
        }
    }
}

/// Kernels of the file that conditionals exclude, and that it has in no other form.
fn hidden_kernels(db: &dyn Db, file: File) -> Vec<Problem> {
    if !matches!(file.language(db), Language::Cuda | Language::Hlsl) {
        return Vec::new();
    }
    let unit = db::unit(db, file);
    let own = unit.inactive.iter().filter(|(id, _)| *id == FileId::MAIN);
    let regions: Vec<Span> = own.map(|(_, region)| *region).collect();
    let (false, Some(lexed)) = (regions.is_empty(), db::lexed(db, file)) else {
        return Vec::new();
    };
    let items = db::items(db, file);
    let known = |name: &str| items.iter().any(|item| item.name(db) == name);
    hidden::kernels(lexed, &regions, &known)
}

/// Says through which file a header is seen.
fn seen_through(db: &dyn Db, file: File) -> Option<Problem> {
    let unit = db::unit(db, file);
    let path = unit.path(unit.seen_through?)?;
    let includer = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let own = own_items(db, file);
    let message = match own.iter().any(|(_, item)| item.holds(db).code) {
        true => format!("this file is seen through `{includer}`, which includes it"),
        false => format!(
            "this file is seen through `{includer}`, where none of its text is a function of its own"
        ),
    };
    Some(Problem::note(Span::at(0), message))
}

/// Says which headers were found by their names alone.
fn found_by_name(db: &dyn Db, file: File) -> Option<Problem> {
    const NAMED: usize = 2;
    file.names(db).as_ref()?;
    let unit = db::unit(db, file);
    let includes = includes::Includes::of(db, file, settings(db, file));
    let mut found: Vec<(&str, &str)> = Vec::new();
    for include in &unit.includes {
        let from = unit.path(include.file);
        let to = include.resolved.and_then(|id| unit.path(id));
        if let (Some(from), Some(to)) = (from, to)
            && !found.iter().any(|(_, known)| *known == to)
            && includes.is_by_name(from, &include.spec, include.angled, to)
        {
            found.push((&include.spec, to));
        }
    }
    let (first, rest) = found.split_first()?;
    let project = crate::host::includers::project_of(file.path(db)).unwrap_or_default();
    let place = Path::new(first.1);
    let place = place.strip_prefix(project).unwrap_or(place).display();
    let others: Vec<String> = (rest.iter().take(NAMED))
        .map(|(spec, _)| format!("`{spec}`"))
        .collect();
    let more = match rest.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let also = match others.is_empty() {
        true => String::new(),
        false => format!(" (also {}{more})", others.join(", ")),
    };
    let message = format!(
        "no include directory leads to `{}`{also}: found by its name in the project, at `{place}`; name the directories in `include_dirs` of lockstep.toml, or give a compile_commands.json",
        first.0
    );
    Some(Problem::note(Span::at(0), message))
}

/// Returns the notes on the flags with which the build compiles a file.
fn told_of_command(db: &dyn Db, file: File) -> Vec<Problem> {
    let Some(command) = &settings(db, file).analysis(db).command else {
        return Vec::new();
    };
    let name = |path: &Path| path.file_name().unwrap_or_default().display().to_string();
    let message = |note: &CommandNote| match note {
        CommandNote::Borrowed { of } => format!(
            "compile_commands.json has no entry for this file: it is read with the flags of `{}`",
            name(of)
        ),
        CommandNote::Unusable { path, why } => {
            format!("what `{}` says is not used: {why}", name(path))
        }
    };
    let messages = command.notes.iter().map(message);
    messages
        .map(|message| Problem::note(Span::at(0), message))
        .collect()
}

/// All problems of a file, absolute, with the name of the item they belong to (empty: none).
pub fn problems(db: &dyn Db, file: File) -> Vec<(Problem, String)> {
    let mut problems: Vec<(Problem, String)> = Vec::new();
    if file.language(db).c_dialect().is_some() {
        let unit = db::unit(db, file);
        // A header whose functions are built in, or that has none for a device, hides nothing.
        let known: FxHashSet<(FileId, Span)> = unit
            .includes
            .iter()
            .filter(|include| ir::lower::c_family::builtins::is_known_header(&include.spec))
            .map(|include| (include.file, include.span))
            .collect();
        let known = |problem: &Problem| {
            problem.kind == ProblemKind::MissingInclude
                && known.contains(&(problem.file, problem.span))
        };
        let told = unit.problems.iter().filter(|problem| !known(problem));
        problems.extend(told.map(|problem| (problem.clone(), String::new())));
        problems.extend(seen_through(db, file).map(|problem| (problem, String::new())));
        problems.extend(found_by_name(db, file).map(|problem| (problem, String::new())));
        let told = told_of_command(db, file).into_iter();
        problems.extend(told.map(|problem| (problem, String::new())));
        problems.extend(
            hidden_kernels(db, file)
                .into_iter()
                .map(|problem| (problem, String::new())),
        );
    }
    if file.language(db) == Language::Ptx
        && let Some(rest) = db::items(db, file).get(syntax::ptx::MAX_ITEMS)
    {
        let message = format!(
            "a file has at most {} declarations; from here on they are not looked at",
            syntax::ptx::MAX_ITEMS
        );
        let place = Span::at(rest.place(db).start);
        let limit = Problem::new(ProblemKind::Limit, place, message);
        problems.push((limit, String::new()));
    }
    if file.language(db) == Language::Ia64 {
        let assembly = db::assembly(db, file);
        let told = assembly.document.problems.iter().chain(&assembly.malformed);
        problems.extend(told.map(|problem| (problem.clone(), String::new())));
        let opaque = assembly::opaque(db, file).into_iter();
        problems.extend(opaque.map(|(span, reason)| {
            (
                Problem::unsupported(span, reason.to_string()),
                String::new(),
            )
        }));
    }
    if file.language(db) == Language::Sc140 {
        let told = sets::problems(text(file.source(db))).into_iter();
        problems.extend(told.map(|problem| (problem, String::new())));
    }
    for (place, item) in own_items(db, file) {
        let name = item.name(db).to_string();
        problems.extend(
            db::item_problems(db, item)
                .iter()
                .cloned()
                .map(|mut problem| {
                    problem.span = problem.span.shifted(place.start);
                    problem.file = place.file;
                    (problem, name.clone())
                }),
        );
    }
    problems
}
