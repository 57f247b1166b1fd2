//! The description of a run, as a TOML file.
//!
//! ```toml
//! item = "shade"                       # where the file has several entry points
//! [launch]
//! grid = [64, 1, 1]                    # workgroups; or threads = [4096], or pixels = [640, 360] of a pixel shader
//! block = [256, 1, 1]                  # where the source does not fix it
//! workgroups = 512                     # at most so many run, evenly spread over the grid
//! seed = 1
//! max_steps = 200000000                # instructions of all warps together
//! [values]                             # scalars, vectors, members of constant buffers
//! n = 4096
//! lightDir = [0.0, 0.7, 0.7]
//! [buffers.x]                          # pointers, buffers, global variables
//! type = "f32"                         # i8 to i64, u8 to u64, f16, f32, f64
//! count = 4096
//! fill = "sparse"                      # constant, uniform, normal, sparse, sequence
//! zeros = 0.9
//! [textures.albedo]
//! fill = "checker"                     # constant, checker, gradient, noise; or png = "albedo.png"
//! [inputs.NORMAL]
//! fill = "sphere"                      # constant, uv, pixel, sphere, noise, uniform, normal, sparse, sequence
//! ```
//!
//! A key that is unknown is an error at its place: a misspelt one would change the result in silence.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Elements of one buffer.
pub const MOST_ELEMENTS: u64 = 1 << 27;
/// Bytes of all buffers together.
pub const MOST_BYTES: u64 = 1 << 30;

#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    #[serde(default)]
    pub item: Option<String>,
    #[serde(default)]
    pub launch: Grid,
    #[serde(default)]
    pub values: BTreeMap<String, Number>,
    #[serde(default)]
    pub buffers: BTreeMap<String, Contents>,
    #[serde(default)]
    pub textures: BTreeMap<String, Texture>,
    #[serde(default)]
    pub inputs: BTreeMap<String, Input>,
}

#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    #[serde(default)]
    pub grid: Option<Vec<u32>>,
    #[serde(default)]
    pub threads: Option<Vec<u32>>,
    #[serde(default)]
    pub pixels: Option<[u32; 2]>,
    #[serde(default)]
    pub block: Option<Vec<u32>>,
    #[serde(default)]
    pub warp_size: Option<u32>,
    #[serde(default)]
    pub workgroups: Option<u64>,
    #[serde(default)]
    pub seed: u64,
    #[serde(default)]
    pub max_steps: Option<u64>,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(untagged)]
pub enum Number {
    Bool(bool),
    Int(i64),
    Float(f64),
    List(Vec<f64>),
}

impl Number {
    pub fn list(&self) -> Vec<f64> {
        match self {
            Number::Bool(flag) => vec![f64::from(u8::from(*flag))],
            Number::Int(value) => vec![*value as f64],
            Number::Float(value) => vec![*value],
            Number::List(values) => values.clone(),
        }
    }
}

/// A distribution of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fill {
    /// `value`.
    Constant,
    /// From `low` to below `high`; integers including both.
    Uniform,
    /// `mean`, `deviation`.
    Normal,
    /// Zero with probability `zeros`, else uniform.
    Sparse,
    /// `start`, `start + step`, ...
    Sequence,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contents {
    #[serde(default = "float", rename = "type")]
    pub ty: String,
    #[serde(default)]
    pub count: Option<u64>,
    #[serde(default)]
    pub fill: Option<Fill>,
    #[serde(default)]
    pub values: Option<Vec<f64>>,
    /// A column of a table; `column` says which, by number from 1 or name.
    #[serde(default)]
    pub csv: Option<String>,
    #[serde(default)]
    pub column: Option<toml::Value>,
    /// Numbers between blanks and commas.
    #[serde(default)]
    pub text: Option<String>,
    /// Elements in the machine's representation, little-endian.
    #[serde(default)]
    pub binary: Option<String>,
    #[serde(default)]
    pub value: f64,
    #[serde(default)]
    pub low: Option<f64>,
    #[serde(default)]
    pub high: Option<f64>,
    #[serde(default)]
    pub mean: f64,
    #[serde(default = "one")]
    pub deviation: f64,
    #[serde(default = "half")]
    pub zeros: f64,
    #[serde(default)]
    pub start: f64,
    #[serde(default = "one")]
    pub step: f64,
}

/// The parameters of a distribution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shape {
    pub value: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub mean: f64,
    pub deviation: f64,
    pub zeros: f64,
    pub start: f64,
    pub step: f64,
}

impl Contents {
    pub const fn shape(&self) -> Shape {
        Shape {
            value: self.value,
            low: self.low,
            high: self.high,
            mean: self.mean,
            deviation: self.deviation,
            zeros: self.zeros,
            start: self.start,
            step: self.step,
        }
    }
}

impl Input {
    pub fn shape(&self) -> Shape {
        Shape {
            value: self.values.first().copied().unwrap_or(0.0),
            low: self.low,
            high: self.high,
            mean: self.mean,
            deviation: self.deviation,
            zeros: self.zeros,
            start: 0.0,
            step: 1.0,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    Constant,
    /// `cells` by `cells`, of `color` and `other`.
    Checker,
    /// From `color` at the left to `other` at the right.
    Gradient,
    /// Smooth, of `cells` features a side; values below `cut` are zero.
    Noise,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Texture {
    #[serde(default)]
    pub fill: Option<Pattern>,
    #[serde(default)]
    pub png: Option<String>,
    #[serde(default)]
    pub size: Option<[u32; 2]>,
    #[serde(default = "ones")]
    pub color: Vec<f64>,
    #[serde(default = "black")]
    pub other: Vec<f64>,
    #[serde(default = "eight")]
    pub cells: f64,
    #[serde(default)]
    pub cut: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Varying {
    Constant,
    /// The position in the frame, 0 to 1, times `scale`.
    Uv,
    /// The position in the frame in pixels.
    Pixel,
    /// The normal of a ball that fills the frame; towards the viewer beside it.
    Sphere,
    Noise,
    Uniform,
    Normal,
    Sparse,
    Sequence,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    pub fill: Varying,
    /// The values of `constant`, by component.
    #[serde(default)]
    pub values: Vec<f64>,
    #[serde(default = "one")]
    pub scale: f64,
    #[serde(default = "eight")]
    pub cells: f64,
    #[serde(default)]
    pub low: Option<f64>,
    #[serde(default)]
    pub high: Option<f64>,
    #[serde(default)]
    pub mean: f64,
    #[serde(default = "one")]
    pub deviation: f64,
    #[serde(default = "half")]
    pub zeros: f64,
}

fn float() -> String {
    "f32".into()
}
const fn one() -> f64 {
    1.0
}
const fn half() -> f64 {
    0.5
}
const fn eight() -> f64 {
    8.0
}
fn ones() -> Vec<f64> {
    vec![1.0; 4]
}
fn black() -> Vec<f64> {
    vec![0.0, 0.0, 0.0, 1.0]
}

/// The reason why a description can't be used, and the place.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{place}: {message}")]
pub struct InputError {
    pub place: String,
    pub message: String,
}

impl InputError {
    pub fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        InputError {
            place: place.into(),
            message: message.into(),
        }
    }
}

/// Reads a description; `path` names it in errors.
pub fn parse(text: &str, path: &Path) -> Result<Description, InputError> {
    toml::from_str(text).map_err(|error| {
        let place = error.span().map_or_else(
            || path.display().to_string(),
            |span| {
                let lines = syntax::LineIndex::new(text);
                let (line, column) = crate::documents::line_column(text, &lines, span.start as u32);
                format!("{}:{line}:{column}", path.display())
            },
        );
        InputError::new(place, error.message().trim().to_owned())
    })
}
