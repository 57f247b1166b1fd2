//! A file's profile made by the interpreter: from the description to the stored file.

use super::inputs::{self, Description};
use super::run::{self, Progress, Ran, Request, RunError};
use super::{beside, load, save};
use crate::db::{Database, File};
use crate::host;
use facts::values::convergent::Schedule;
use facts::values::stored::{StoredItem, StoredProfile};
use ir::checkpoint::Checkpoint;
use std::path::{Path, PathBuf};

/// The order for a profile: the function and its inputs.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// The description; else the one beside the file, else values of the seed's choice.
    pub inputs: Option<PathBuf>,
    /// The function; else the description's, else the only entry point.
    pub item: Option<String>,
    /// Every value of every lane, however long the run.
    pub every: bool,
    /// The schedule by which a value of a long run rests, and for how long.
    pub schedule: Schedule,
    /// Paths over so many iterations of loops are recorded, too.
    pub iterations: Option<u32>,
    /// Counts are added to those of the same code that are there.
    pub add: bool,
    /// The file to which the profile goes, alone unless counts are added; otherwise it goes into the one beside the source.
    pub output: Option<PathBuf>,
}

/// The values that a source is run with.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Inputs {
    /// None where the seed chooses the values.
    pub description: Option<Description>,
    /// The description's name, for people.
    pub name: String,
    /// The directory of the files that it names.
    pub directory: PathBuf,
}

/// A profile that was made, not yet written.
#[derive(Debug)]
pub struct Made {
    pub profile: StoredProfile,
    pub target: PathBuf,
    pub ran: Ran,
}

#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// The description.
    #[error("{0}")]
    Description(String),
    /// The run: of which file, and why.
    #[error("{}: {error}", path.display())]
    Run { path: PathBuf, error: RunError },
    /// The profile to which counts were to be added.
    #[error("{0}; nothing was added to it")]
    Sum(String),
    #[error(transparent)]
    Write(#[from] crate::host::WriteError),
}

/// The description beside a source: `NAME.inputs.toml`, then `NAME.toml`.
pub fn description_beside(source: &Path) -> Option<PathBuf> {
    ["inputs.toml", "toml"]
        .into_iter()
        .map(|extension| source.with_extension(extension))
        .find(|path| path.is_file() && path.file_name() != Some(crate::config::FILE_NAME.as_ref()))
}

/// Returns the inputs of a run of a source, without running it: the description that is given, else the one
/// beside the source.
pub fn inputs_of(source: &Path, given: Option<&Path>) -> Result<Inputs, MakeError> {
    let Some(path) = given
        .map(Path::to_owned)
        .or_else(|| description_beside(source))
    else {
        return Ok(Inputs::default());
    };
    let text = host::read(&path)
        .map_err(|error| MakeError::Description(error.to_string()))?
        .text;
    let description =
        inputs::parse(&text, &path).map_err(|error| MakeError::Description(error.to_string()))?;
    let name = path.file_name().unwrap_or_default();
    Ok(Inputs {
        description: Some(description),
        name: name.to_string_lossy().into_owned(),
        directory: path.parent().unwrap_or(Path::new("")).to_owned(),
    })
}

/// Runs a function of a file and puts its counts into the file's profile.
pub fn make(
    db: &Database,
    file: File,
    path: &Path,
    order: &Order,
    progress: &mut impl Progress,
    checkpoint: &dyn Checkpoint,
) -> Result<Made, MakeError> {
    let inputs = order.inputs.clone().or_else(|| description_beside(path));
    let (description, directory, name) = match &inputs {
        Some(inputs) => {
            let text = host::read(inputs)
                .map_err(|error| MakeError::Description(error.to_string()))?
                .text;
            let description = inputs::parse(&text, inputs)
                .map_err(|error| MakeError::Description(error.to_string()))?;
            let directory = inputs.parent().unwrap_or(Path::new("")).to_owned();
            let name = inputs.file_name().unwrap_or_default();
            (description, directory, name.to_string_lossy().into_owned())
        }
        None => (Description::default(), PathBuf::new(), String::new()),
    };
    let request = Request {
        description: &description,
        directory: &directory,
        inputs: name,
        warp_size: crate::program::settings(db, file)
            .analysis(db)
            .options
            .warp_size,
        item: order.item.as_deref(),
        every: order.every,
        schedule: order.schedule,
        iterations: order.iterations,
    };
    let (new, mut ran) = run::run(db, file, &request, progress, checkpoint).map_err(|error| {
        let path = match (&error, &inputs) {
            (RunError::Input(_), Some(inputs)) => inputs.clone(),
            _ => path.to_owned(),
        };
        MakeError::Run { path, error }
    })?;
    let target = order.output.clone().unwrap_or_else(|| beside(path));
    // Items profiled before, on other inputs, stay: a file may have several entry points.
    let old = match (order.output.is_none() || order.add) && target.exists() {
        true => match (load(&target), &order.output) {
            (Ok(old), Some(_)) if old.warp_size != new.warp_size => {
                return Err(MakeError::Sum(format!(
                    "{} counts warps of {} lanes, and this run has {}",
                    target.display(),
                    old.warp_size,
                    new.warp_size
                )));
            }
            (Ok(old), _) => Some(old).filter(|old| old.warp_size == new.warp_size),
            (Err(error), Some(_)) => return Err(MakeError::Sum(error.to_string())),
            (Err(_), None) => None,
        },
        false => None,
    };
    let mut profile = old.unwrap_or_else(|| StoredProfile {
        items: Vec::new(),
        ..new.clone()
    });
    if order.add {
        ran.notes.extend(other_caches(&profile, &new));
    }
    run::merge(&mut profile, new, order.add);
    Ok(Made {
        profile,
        target,
        ran,
    })
}

/// Of which items the sum has no misses, since they were counted in the caches of several processors.
fn other_caches(old: &StoredProfile, new: &StoredProfile) -> Option<String> {
    new.items.iter().find_map(|item| {
        let same = |known: &&StoredItem| {
            (&known.name, known.ordinal, &known.code) == (&item.name, item.ordinal, &item.code)
        };
        let known = old.items.iter().find(same)?;
        let both = !known.caches.is_empty() && !item.caches.is_empty();
        (both && known.caches != item.caches).then(|| {
            format!(
                "no misses are kept: those that were counted are of the caches of {}, not of {}",
                known.caches, item.caches
            )
        })
    })
}

impl Made {
    /// Writes the profile in whole or not at all.
    pub fn save(&self) -> Result<(), MakeError> {
        Ok(save(&self.target, &self.profile)?)
    }
}

impl Ran {
    /// Returns a line about the run.
    pub fn line(&self) -> String {
        let workgroups = match self.runs < self.of {
            true => format!(
                "{} of {} workgroups (a sample, evenly spread)",
                self.runs, self.of
            ),
            false => format!("{} workgroups", self.runs),
        };
        format!(
            "`{}`, {workgroups}, {} threads, {} warp instructions",
            self.item, self.threads, self.steps
        )
    }
}
