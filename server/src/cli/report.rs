//! `lockstep report`: a file as one page of HTML.

use super::{CliError, ReportArgs, input};
use crate::db::Database;
use crate::host;
use crate::profile::make::inputs_of;
use crate::views::page;
use std::io::Write;
use std::path::Path;

pub(super) fn report(args: &ReportArgs) -> Result<u8, CliError> {
    let mut db = Database::default();
    let file = input::open_with_processor(&mut db, &args.file, &args.analysis)?;
    if let Some(name) = &args.item
        && !crate::views::items_to_show(&db, file)
            .iter()
            .any(|(_, item)| {
                let full = item.name(&db).as_str();
                full == name || full.rsplit("::").next() == Some(name)
            })
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
    if args.output == Path::new("-") {
        std::io::stdout().lock().write_all(html.as_bytes())?;
        return Ok(0);
    }
    host::write(&args.output, html.as_bytes())?;
    eprintln!("wrote {}", args.output.display());
    Ok(0)
}
