//! `lockstep instrument`: a copy of a file with counters, and the map that `lockstep profile import` reads them with.

use super::{CliError, InstrumentArgs, input, probes};
use crate::db::Database;
use crate::host;
use crate::language::Language;
use crate::profile::{counts, instrument};

pub(super) fn instrument(args: &InstrumentArgs) -> Result<u8, CliError> {
    if let Ok(read) = host::read(&args.file)
        && Language::of_file(&args.file, &read.text) == Language::Ia64
    {
        return probes::instrument(args, &read.text);
    }
    if args.probe.is_some() {
        return Err(CliError::Usage(format!(
            "{}: --probe is for IA-64 assembly",
            args.file.display()
        )));
    }
    let mut db = Database::default();
    let file = input::open(&mut db, &args.file, &args.analysis)?;
    let counted = instrument::instrument(&db, file, args.item.as_deref())
        .map_err(|error| CliError::Usage(format!("{}: {error}", args.file.display())))?;
    let output = args
        .output
        .clone()
        .unwrap_or_else(|| counts::copy_beside(&args.file));
    let map = args
        .map
        .clone()
        .unwrap_or_else(|| counts::map_beside(&output));
    if output == args.file || map == args.file {
        return Err(CliError::Usage(
            "the source itself is not overwritten; -o and --map name other files".into(),
        ));
    }
    counts::write_copy(&counted, &output, &map).map_err(CliError::Usage)?;
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
