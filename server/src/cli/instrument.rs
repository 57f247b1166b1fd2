//! `lockstep instrument`: a copy of a file with counters, and the map that `lockstep profile import` reads them with.

use super::{CliError, InstrumentArgs, input, probes};
use crate::db::{Database, File};
use crate::host;
use crate::language::Language;
use crate::profile::{counts, instrument, path_copies};
use std::path::PathBuf;

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
    if args.paths {
        return paths(args, &db, file);
    }
    let counted = instrument::instrument(&db, file, args.item.as_deref())
        .map_err(|error| CliError::Usage(format!("{}: {error}", args.file.display())))?;
    let (output, map) = targets(args)?;
    counts::write_copy(&counted.text, &counted.map, &output, &map).map_err(CliError::Usage)?;
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

/// The copy and its map.
fn targets(args: &InstrumentArgs) -> Result<(PathBuf, PathBuf), CliError> {
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
    Ok((output, map))
}

fn paths(args: &InstrumentArgs, db: &Database, file: File) -> Result<u8, CliError> {
    let counted = path_copies::instrument(db, file, args.item.as_deref())
        .map_err(|error| CliError::Usage(format!("{}: {error}", args.file.display())))?;
    let (output, map) = targets(args)?;
    counts::write_copy(&counted.text, &counted.map, &output, &map).map_err(CliError::Usage)?;
    for left in &counted.left {
        eprintln!("lockstep: {left}");
    }
    eprintln!(
        "wrote {} with the paths of {} functions and {}; after a run: lockstep profile import --counters RAW --map {} --source {}",
        output.display(),
        counted.map.functions.len(),
        map.display(),
        map.display(),
        args.file.display()
    );
    eprintln!(
        "`{}` holds {} counters of {} bytes; clear it before the run and read it after",
        counted.map.buffer, counted.map.counters, counted.map.width
    );
    Ok(0)
}
