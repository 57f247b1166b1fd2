//! `lockstep run`: a function on the reference interpreter. What failed is shown with the line and the lane.

use super::{CliError, RunArgs, input};
use crate::db::Database;
use crate::program;
use crate::views::report::line_column;
use ir::interp::simple::DescribedArgument;
use ir::interp::{LaunchDescription, run_simple};
use std::io::Write;
use syntax::FileId;

pub(super) fn run(args: &RunArgs) -> Result<u8, CliError> {
    let mut db = Database::default();
    let file = input::open(&mut db, &args.file, &args.analysis)?;
    let arguments: Result<Vec<DescribedArgument>, String> =
        args.arguments.iter().map(|text| text.parse()).collect();
    let description = LaunchDescription {
        lanes: args.lanes,
        warp_size: args.analysis.warp_size,
        arguments: arguments.map_err(CliError::Usage)?,
        ..LaunchDescription::default()
    };
    let mut names = Vec::new();
    for (_, item) in crate::views::own_items(&db, file) {
        for lowered in crate::db::lowered(&db, item).iter() {
            let Some(function) = lowered.module.functions.first() else {
                continue;
            };
            let short = function.name.rsplit("::").next().unwrap_or(&function.name);
            if function.name != args.item && short != args.item {
                names.push(short.to_owned());
                continue;
            }
            let outcome = run_simple(&lowered.module, &description);
            let mut out = std::io::stdout().lock();
            writeln!(out, "{outcome}")?;
            if let Some(place) = outcome.error.as_ref().and_then(ir::interp::Error::place)
                && let Some((id, span)) = program::absolute(&db, file, item, function, place.loc)
                && let Some(of) = program::unit_file(&db, file, id)
            {
                let source = program::text(of.source(&db));
                let (line, column) =
                    line_column(source, crate::db::line_index(&db, of), span.start);
                let name = if id == FileId::MAIN {
                    args.file.clone()
                } else {
                    of.path(&db).clone()
                };
                writeln!(
                    out,
                    "at {}:{line}:{column}, lane {} of warp {}",
                    name.display(),
                    place.lane,
                    place.warp
                )?;
            }
            return Ok(u8::from(outcome.error.is_some()));
        }
    }
    Err(CliError::Usage(format!(
        "{}: there is no function `{}`; there are: {}",
        args.file.display(),
        args.item,
        names.join(", ")
    )))
}
