//! `lockstep machines`: a loop of C on three machines.

use super::{CliError, MachinesArgs, input};
use crate::db::{self, Database};
use crate::program;
use crate::views::machines;
use std::io::Write;

pub(super) fn machines(args: &MachinesArgs) -> Result<u8, CliError> {
    let mut db = Database::default();
    let file = input::open_with_processor(&mut db, &args.file, &args.analysis)?;
    let text = program::text(file.source(&db));
    let index = db::line_index(&db, file);
    let place = (0..=text.len() as u32).find(|&at| {
        let written = text.as_bytes().get(at as usize);
        index.line_column(at).0 + 1 == args.line
            && written.is_some_and(|byte| !byte.is_ascii_whitespace())
    });
    let page = place.and_then(|offset| machines::page(&db, file, offset));
    let Some(page) = page else {
        return Err(CliError::Usage(format!(
            "{}:{}: there is no loop of C",
            args.file.display(),
            args.line
        )));
    };
    std::io::stdout().lock().write_all(page.as_bytes())?;
    Ok(0)
}
