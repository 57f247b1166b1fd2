//! `lockstep report`: a file as one page of HTML.

use super::{CliError, ReportArgs, input};
use crate::db::Database;
use crate::host;
use crate::profile::inputs;
use crate::profile::make::description_beside;
use crate::views::page::{self, Inputs};
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
    let described = args
        .inputs
        .clone()
        .or_else(|| description_beside(&args.file));
    let given = match &described {
        Some(path) => read_inputs(path)?,
        None => Inputs::default(),
    };
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

fn read_inputs(path: &Path) -> Result<Inputs, CliError> {
    let text = host::read(path)?.text;
    let description =
        inputs::parse(&text, path).map_err(|error| CliError::Usage(error.to_string()))?;
    Ok(Inputs {
        description: Some(description),
        name: path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        directory: path.parent().unwrap_or(Path::new("")).to_owned(),
    })
}
