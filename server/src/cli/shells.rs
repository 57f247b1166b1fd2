//! Files that an installation brings along: completions of shells and man pages, made from the command line
//! itself.

use super::{Cli, CliError};
use crate::host;
use clap::CommandFactory;
use std::io::Write;
use std::path::Path;

/// Prints the completions of a shell.
pub(super) fn completions(shell: clap_complete::Shell) -> Result<(), CliError> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "lockstep", &mut text);
    std::io::stdout().lock().write_all(&text)?;
    Ok(())
}

/// Writes `lockstep.1`, `lockstep-COMMAND.1` and those of commands of commands, to which the pages refer.
pub(super) fn man(directory: &Path) -> Result<(), CliError> {
    std::fs::create_dir_all(directory)?;
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    pages(directory, &root, "lockstep")
}

fn pages(directory: &Path, command: &clap::Command, name: &str) -> Result<(), CliError> {
    page(directory, command.clone(), name)?;
    for inner in command.get_subcommands() {
        pages(directory, inner, &format!("{name}-{}", inner.get_name()))?;
    }
    Ok(())
}

fn page(directory: &Path, command: clap::Command, name: &str) -> Result<(), CliError> {
    let mut text = Vec::new();
    let named = command.display_name(name.to_owned());
    clap_mangen::Man::new(named)
        .title(name.to_owned())
        .render(&mut text)?;
    host::write(&directory.join(format!("{name}.1")), &text)?;
    Ok(())
}
