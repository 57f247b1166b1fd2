//! `lockstep instrument`: a copy of a file with counters, and the map that `lockstep profile import` reads them with.

use super::{CliError, InstrumentArgs, input};
use crate::db::Database;
use crate::profile::{instrument, write_whole};
use std::path::{Path, PathBuf};

pub(super) fn instrument(args: &InstrumentArgs) -> Result<u8, CliError> {
    let mut db = Database::default();
    let file = input::open(&mut db, &args.file, &args.analysis)?;
    let counted = instrument::instrument(&db, file, args.item.as_deref())
        .map_err(|error| CliError::Usage(format!("{}: {error}", args.file.display())))?;
    let output = args
        .output
        .clone()
        .unwrap_or_else(|| renamed(&args.file, None));
    let map = args
        .map
        .clone()
        .unwrap_or_else(|| renamed(&output, Some("map.json")));
    if output == args.file || map == args.file {
        return Err(CliError::Usage(
            "the source itself is not overwritten; -o and --map name other files".into(),
        ));
    }
    let written = |path: &Path, text: &str| {
        write_whole(path, text.as_bytes())
            .map_err(|error| CliError::Usage(format!("cannot write {}: {error}", path.display())))
    };
    written(&output, &counted.text)?;
    written(
        &map,
        &format!("{}\n", serde_json::to_string_pretty(&counted.map)?),
    )?;
    let places = counted.map.sites.len();
    eprintln!(
        "wrote {} with {places} places and {}; after a run: lockstep profile import --counters RAW --map {} --source {}",
        output.display(),
        map.display(),
        map.display(),
        args.file.display()
    );
    eprintln!(
        "`{}` holds {} counters of {} bytes; clear it before the run and read it after",
        counted.map.buffer,
        places * 2,
        counted.map.width
    );
    Ok(0)
}

/// `k.counted.cu` of `k.cu`, `k.map.json` of `k.cu`.
fn renamed(path: &Path, extension: Option<&str>) -> PathBuf {
    let own = path
        .extension()
        .map(|e| e.to_string_lossy().into_owned())
        .unwrap_or_default();
    match extension {
        Some(extension) => path.with_extension(extension),
        None => path.with_extension(format!("counted.{own}")),
    }
}
