//! The language of a file, by its name, an editor's word or its text.

use std::path::Path;
use syntax::c_family::Dialect;

/// The language of a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Language {
    Cuda,
    Hlsl,
    C,
    Ptx,
    MicroSimd,
    /// The text form of the IR.
    Ir,
    /// Assembly for IA-64. Has no items: it is read as a whole.
    Ia64,
    /// Assembly for StarCore SC140. Has no items either.
    Sc140,
    Other,
}

impl Language {
    pub fn of_path(path: &Path) -> Language {
        // Other machines' assembly has the same extension.
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().to_ascii_lowercase());
        let assembly = ASSEMBLY.iter().find(|(_, endings)| {
            let name = name.as_deref().unwrap_or("");
            endings.iter().any(|ending| name.ends_with(ending))
        });
        if let Some((language, _)) = assembly {
            return *language;
        }
        let extension = path
            .extension()
            .map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        match extension.as_deref().unwrap_or("") {
            "cu" | "cuh" | "h" | "hpp" | "hh" | "hxx" | "inl" | "inc" | "cpp" | "cc" | "cxx" => {
                Language::Cuda
            }
            "c" => Language::C,
            "hlsl" | "hlsli" | "fx" | "fxh" | "usf" | "ush" | "compute" => Language::Hlsl,
            "ptx" => Language::Ptx,
            "musimd" => Language::MicroSimd,
            "lir" => Language::Ir,
            _ => Language::Other,
        }
    }

    /// The same for a file with a text, which determines the processor of assembly, and the language of a
    /// shader's stage.
    pub fn of_file(path: &Path, text: &str) -> Language {
        let extension = path
            .extension()
            .map(|it| it.to_string_lossy().to_ascii_lowercase());
        match (Language::of_path(path), extension.as_deref()) {
            (Language::Other, Some("s" | "asm")) if is_ia64(text) => Language::Ia64,
            (Language::Other, Some(stage)) if STAGES.contains(&stage) && is_hlsl(text) => {
                Language::Hlsl
            }
            (known, _) => known,
        }
    }

    /// Returns true if `of_file` has to see the text.
    pub fn is_told_by_text(path: &Path) -> bool {
        let extension = path
            .extension()
            .map(|it| it.to_string_lossy().to_ascii_lowercase());
        extension.is_some_and(|it| matches!(it.as_str(), "s" | "asm") || STAGES.contains(&&*it))
    }

    /// An editor's language identifier.
    pub fn of_editor(identifier: &str) -> Option<Language> {
        Some(match identifier {
            "cuda" | "cuda-cpp" | "cuda-c++" | "CUDA C++" => Language::Cuda,
            "hlsl" => Language::Hlsl,
            "c" => Language::C,
            "ptx" => Language::Ptx,
            "musimd" => Language::MicroSimd,
            "lir" | "lockstep-ir" => Language::Ir,
            "ia64" | "ia64-asm" => Language::Ia64,
            "sc140" => Language::Sc140,
            _ => return None,
        })
    }

    /// Returns true if the file is a processor's assembly, which is read as a whole.
    pub const fn is_assembly(self) -> bool {
        matches!(self, Language::Ia64 | Language::Sc140)
    }

    pub const fn c_dialect(self) -> Option<Dialect> {
        match self {
            Language::Cuda => Some(Dialect::Cuda),
            Language::Hlsl => Some(Dialect::Hlsl),
            Language::C => Some(Dialect::C),
            _ => None,
        }
    }
}

/// Endings of the names of assembly files.
const ASSEMBLY: [(Language, [&str; 2]); 2] = [
    (Language::Ia64, [".ia64.s", ".ia64"]),
    (Language::Sc140, [".sc140.asm", ".sc140"]),
];

/// Extensions that name a stage, of HLSL as of GLSL.
const STAGES: [&str; 14] = [
    "comp", "vert", "frag", "geom", "tesc", "tese", "mesh", "task", "rgen", "rchit", "rahit",
    "rmiss", "rint", "rcall",
];

/// Returns true if a shader is HLSL: it names no version of GLSL, and something that GLSL does not have.
fn is_hlsl(text: &str) -> bool {
    let has_version = text
        .lines()
        .any(|line| line.trim_start().starts_with("#version"));
    let words = [
        "SV_",
        "[numthreads",
        "[shader(",
        "cbuffer",
        "StructuredBuffer",
        "Texture2D",
        "register(",
    ];
    !has_version && words.iter().any(|word| text.contains(word))
}

/// Returns true if assembly is for IA-64: a stop, and a word that no other assembly has.
fn is_ia64(text: &str) -> bool {
    const LOOKED_AT: usize = 1 << 16;
    let mut end = text.len().min(LOOKED_AT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = &text[..end];
    let word = |word: &&str| {
        [".sptk", ".dptk", ".spnt", ".dpnt", "ar.pfs", "ar.lc"].contains(word)
            || word.starts_with("br.ret")
            || word.starts_with("br.call")
            || word.starts_with("br.cond")
            || word.starts_with("br.cloop")
            || word.starts_with("br.ctop")
    };
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '.' || letter == '_';
    text.contains(";;") && text.split(|letter| !is_part(letter)).any(|it| word(&it))
}
