//! `lockstep report`: a file as one page of HTML.

use super::{CliError, ReportArgs, input};
use crate::db::Database;
use crate::host;
use crate::profile::make::inputs_of;
use crate::program::{is_named, items_to_show};
use crate::views::page;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

pub(super) fn report(args: &ReportArgs) -> Result<u8, CliError> {
    let mut db = Database::default();
    let file = input::open_with_processor(&mut db, &args.file, &args.analysis)?;
    if let Some(name) = &args.item
        && !items_to_show(&db, file)
            .iter()
            .any(|(_, item)| is_named(item.name(&db), name))
    {
        return Err(input::no_such_item(&db, file, &args.file, name));
    }
    let given = inputs_of(&args.file, args.inputs.as_deref())
        .map_err(|error| CliError::Usage(error.to_string()))?;
    let data = page::data(&db, file, args.item.as_deref(), &given, &());
    if let Some(why) = &data.nothing {
        eprintln!("{}: {why}", args.file.display());
    }
    let html = page::html(&data);
    let stdout = std::io::stdout();
    let output = match &args.output {
        Some(path) if path == Path::new("-") => None,
        Some(path) => Some(path.clone()),
        // Nobody reads a page in a terminal.
        None if stdout.is_terminal() => {
            let name = args.file.file_name().unwrap_or_default();
            Some(PathBuf::from(format!("{}.html", name.to_string_lossy())))
        }
        None => None,
    };
    match output {
        Some(path) => {
            host::write(&path, html.as_bytes())?;
            eprintln!("wrote {}", path.display());
        }
        None => stdout.lock().write_all(html.as_bytes())?,
    }
    Ok(0)
}
