//! `lockstep instrument` and `lockstep profile import` of IA-64 assembly.

use super::{CliError, InstrumentArgs, ProfileImportArgs};
use crate::host;
use crate::profile::LARGEST_PROFILE;
use crate::profile::counts::map_beside;
use crate::profile::probes::{ProbeError, ProbeKind, ProbeMap, copy, read};
use crate::views::probes::{as_json, report};
use std::io::Write;
use std::path::Path;

/// Writes a copy of assembly with probes, to standard output where no file is named.
pub(super) fn instrument(args: &InstrumentArgs, text: &str) -> Result<u8, CliError> {
    let name = args.file.display();
    let usage = |error: &dyn std::fmt::Display| CliError::Usage(format!("{name}: {error}"));
    let probe = args.probe.unwrap_or(ProbeKind::Branch);
    let machine = args.analysis.machine.as_deref().unwrap_or("itanium2");
    let item = args.item.as_deref();
    let made = copy(text, probe, machine, item).map_err(|error| usage(&error))?;
    for (function, why) in &made.refused {
        eprintln!("{name}: `{function}` has no probes: {why}");
    }
    let file = args.file.file_name().unwrap_or_default().to_string_lossy();
    let map = ProbeMap::new(&file, text, probe, machine, item, &made);
    let output = args
        .output
        .as_deref()
        .filter(|output| *output != Path::new("-"));
    let place = args.map.clone().or_else(|| output.map(map_beside));
    if output == Some(args.file.as_path()) || place.as_ref() == Some(&args.file) {
        return Err(CliError::Usage(
            "the source itself is not overwritten; -o and --map name other files".into(),
        ));
    }
    match output {
        Some(output) => host::write(output, made.text.as_bytes())?,
        None => std::io::stdout().lock().write_all(made.text.as_bytes())?,
    }
    if let Some(place) = &place {
        let text = serde_json::to_string_pretty(&map)?;
        host::write(place, format!("{text}\n").as_bytes())?;
    }
    eprintln!(
        "{name}: {} functions with probes, {} without; `{}` holds {} counters of 8 bytes, all 0 at the start",
        made.functions.len(),
        made.refused.len(),
        map.symbol,
        map.counters
    );
    Ok(u8::from(made.functions.is_empty()))
}

/// The map of a copy of assembly; `None`: it is of something else.
pub(super) fn map(text: &str) -> Option<ProbeMap> {
    serde_json::from_str(text).ok()
}

/// Lists the readings of a copy's counters, or writes it as JSON.
pub(super) fn import(
    args: &ProfileImportArgs,
    map: &ProbeMap,
    place: &Path,
    dump: &Path,
) -> Result<u8, CliError> {
    let beside = || place.parent().unwrap_or(Path::new("")).join(&map.file);
    let source = args.source.clone().unwrap_or_else(beside);
    let text = host::read(&source)?.text;
    let usage = |of: &Path, error: &dyn std::fmt::Display| {
        CliError::Usage(format!("{}: {error}", of.display()))
    };
    let bytes = host::read_bytes(dump, LARGEST_PROFILE)?;
    let (made, all) = read(map, &text, &bytes).map_err(|error| match error {
        ProbeError::Size { .. } | ProbeError::Count { .. } => usage(dump, &error),
        _ => usage(&source, &error),
    })?;
    let broken = all.iter().any(|function| function.counts.is_err());
    match &args.output {
        None => {
            let mut out = std::io::stdout().lock();
            for function in &all {
                write!(
                    out,
                    "{}:{}: {}",
                    source.display(),
                    function.line,
                    report(function)
                )?;
            }
        }
        Some(output) => {
            let json = as_json(map, &all, &made.refused);
            let text = format!("{}\n", serde_json::to_string_pretty(&json)?);
            if output == Path::new("-") {
                std::io::stdout().lock().write_all(text.as_bytes())?;
            } else {
                host::write(output, text.as_bytes())?;
            }
        }
    }
    Ok(u8::from(broken))
}
