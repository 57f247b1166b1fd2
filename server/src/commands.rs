//! `compile_commands.json`: the calls of the compiler in a project's own build, and the arguments of a call
//! that change the meaning of a file - directories of headers, macros, the standard, the architecture.
//! Nothing of it is executed.
//!
//! ```json
//! [{ "directory": "/p/build", "file": "../k.cu", "command": "nvcc -I../include -DTILE=16 -arch=sm_90 -c ../k.cu" }]
//! ```
//!
//! The spellings are those of nvcc, clang, gcc, cl and dxc. A file that no entry names takes the flags of the one that is most
//! like it, as clangd does: of its own language, of its own name, in the nearest folder, in this order; and it is said so.

use crate::host::normalize;
use crate::language::Language;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use smol_str::{SmolStr, format_smolstr};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// The name that is looked for.
pub const FILE_NAME: &str = "compile_commands.json";
/// Arguments of one call, those of its response files counted.
const MOST_ARGUMENTS: usize = 20_000;
/// The depth to which response files name others.
const MOST_NESTED: usize = 4;

/// The entries of a `compile_commands.json`.
#[derive(Debug, Default)]
pub struct CompileCommands {
    entries: Vec<Entry>,
    by_file: FxHashMap<PathBuf, u32>,
    by_stem: FxHashMap<String, Vec<u32>>,
    /// The first of each folder and kind: which one is near depends on nothing else.
    first_of_kind: FxHashMap<(PathBuf, bool, Language), u32>,
}

#[derive(Debug)]
struct Entry {
    directory: PathBuf,
    file: PathBuf,
    call: Call,
}

#[derive(Debug)]
enum Call {
    Arguments(Vec<String>),
    /// The command line as a shell takes it.
    Line(String),
}

/// The flags of a call of the compiler that bear on the file's meaning.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CompileFlags {
    pub defines: Vec<SmolStr>,
    pub undefines: Vec<SmolStr>,
    /// The directories for names in quotes alone.
    pub quote_dirs: Vec<PathBuf>,
    pub include_dirs: Vec<PathBuf>,
    pub system_dirs: Vec<PathBuf>,
    /// Included in front: in the directory of the call, and the name as it is written.
    pub forced: Vec<(PathBuf, SmolStr)>,
    /// The greatest of those that code is made for, as in `sm_90`, and whether for it alone, as in `sm_90a`.
    pub architecture: Option<(u32, bool)>,
    /// Registers of a thread, at most.
    pub max_registers: Option<u32>,
    /// Products and sums are not contracted.
    pub separate: bool,
    /// Functions are those of the hardware, approximate.
    pub approximate: bool,
    pub language: Option<Language>,
    pub notes: Vec<CommandNote>,
}

/// A note about a file's flags.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CommandNote {
    /// No entry names the file: these are the flags of another.
    Borrowed {
        of: PathBuf,
    },
    Unusable {
        path: PathBuf,
        why: String,
    },
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Entry(WrittenEntry),
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
struct WrittenEntry {
    #[serde(default)]
    directory: PathBuf,
    file: PathBuf,
    arguments: Option<Vec<String>>,
    command: Option<String>,
}

impl CompileCommands {
    /// Reads the text of a `compile_commands.json` that stands in a directory. Values that are no entries are
    /// passed over.
    pub fn parse(text: &[u8], directory: &Path) -> Result<CompileCommands, serde_json::Error> {
        let all: Vec<Written> = serde_json::from_slice(text)?;
        let mut found = CompileCommands::default();
        for written in all {
            let Written::Entry(written) = written else {
                continue;
            };
            let call = match (written.arguments, written.command) {
                (Some(arguments), _) => Call::Arguments(arguments),
                (None, Some(line)) => Call::Line(line),
                (None, None) => continue,
            };
            let directory = normalize(&directory.join(written.directory));
            let file = normalize(&directory.join(written.file));
            let number = found.entries.len() as u32;
            found
                .by_stem
                .entry(stem_of(&file))
                .or_default()
                .push(number);
            let folder = file.parent().unwrap_or(Path::new("")).to_path_buf();
            let kind = (folder, is_device(&file), Language::of_path(&file));
            found.first_of_kind.entry(kind).or_insert(number);
            // A file that is compiled more than once is looked at as it is compiled first.
            found.by_file.entry(file.clone()).or_insert(number);
            found.entries.push(Entry {
                directory,
                file,
                call,
            });
        }
        Ok(found)
    }

    /// The flags of a file; `read` gives the text of a response file.
    pub fn flags(
        &self,
        file: &Path,
        read: &dyn Fn(&Path) -> Result<String, String>,
    ) -> Option<CompileFlags> {
        let file = normalize(file);
        let own = self.by_file.get(&file).copied();
        let number = own.or_else(|| self.most_alike(&file))?;
        let entry = self.entries.get(number as usize)?;
        let mut flags = entry.flags(read);
        if own.is_none() {
            let of = entry.file.clone();
            flags.notes.push(CommandNote::Borrowed { of });
            // What another is written in says nothing of this one.
            flags.language = None;
        }
        Some(flags)
    }

    /// The entry whose file is most like one that no entry names.
    fn most_alike(&self, file: &Path) -> Option<u32> {
        let language = Language::of_path(file);
        language.c_dialect()?;
        let fits = |number: &u32| {
            let entry = self.entries.get(*number as usize)?;
            let other = Language::of_path(&entry.file);
            let alike = match language {
                Language::Hlsl => other == Language::Hlsl,
                _ => matches!(other, Language::Cuda | Language::C),
            };
            let rank = (
                Reverse(is_device(&entry.file) == is_device(file)),
                Reverse(stem_of(&entry.file) == stem_of(file)),
                Reverse(shared(&entry.file, file)),
                *number,
            );
            alike.then_some((rank, *number))
        };
        let same_name = self.by_stem.get(&stem_of(file)).into_iter().flatten();
        let same_kind = |number: &&u32| {
            let entry = self.entries.get(**number as usize);
            entry.is_some_and(|entry| is_device(&entry.file) == is_device(file))
        };
        let named = same_name.filter(same_kind).filter_map(fits).min();
        let found = named.or_else(|| {
            let all = self.first_of_kind.values();
            all.filter_map(fits).min()
        });
        found.map(|(_, number)| number)
    }
}

/// Returns true if a name says that a file is made for a device.
fn is_device(path: &Path) -> bool {
    let extension = path.extension().map(|it| it.to_ascii_lowercase());
    extension.is_some_and(|it| it == "cu" || it == "cuh")
}

fn stem_of(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy());
    stem.unwrap_or_default().to_lowercase()
}

/// Returns how many folders two paths have in common.
fn shared(a: &Path, b: &Path) -> usize {
    let both = a.components().zip(b.components());
    both.take_while(|(a, b)| a == b).count()
}

/// The meaning of an option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Says {
    Include,
    System,
    Quote,
    Forced,
    Define,
    Undefine,
    Standard,
    Architecture,
    Registers,
    Contraction,
    Language,
    Response,
    /// An option that says nothing here, but has a value.
    Nothing,
}

/// The form in which an option has its value: `-Ivalue` or the next argument; `--name=value` or the next argument.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    Glued,
    Apart,
}

const OPTIONS: &[(&str, Says, Value)] = &[
    ("-isystem", Says::System, Value::Glued),
    ("-idirafter", Says::System, Value::Glued),
    ("-external:I", Says::System, Value::Glued),
    ("-imsvc", Says::System, Value::Glued),
    ("--system-include", Says::System, Value::Apart),
    ("-iquote", Says::Quote, Value::Glued),
    ("-include", Says::Forced, Value::Apart),
    ("--include", Says::Forced, Value::Apart),
    ("--pre-include", Says::Forced, Value::Apart),
    ("-imacros", Says::Forced, Value::Apart),
    ("-FI", Says::Forced, Value::Glued),
    ("--include-path", Says::Include, Value::Apart),
    ("--include-directory", Says::Include, Value::Apart),
    ("-I", Says::Include, Value::Glued),
    ("--define-macro", Says::Define, Value::Apart),
    ("-D", Says::Define, Value::Glued),
    ("--undefine-macro", Says::Undefine, Value::Apart),
    ("-U", Says::Undefine, Value::Glued),
    ("-std", Says::Standard, Value::Apart),
    ("--std", Says::Standard, Value::Apart),
    ("-arch", Says::Architecture, Value::Apart),
    ("--gpu-architecture", Says::Architecture, Value::Apart),
    ("--cuda-gpu-arch", Says::Architecture, Value::Apart),
    ("--offload-arch", Says::Architecture, Value::Apart),
    ("-gencode", Says::Architecture, Value::Apart),
    ("--generate-code", Says::Architecture, Value::Apart),
    ("-maxrregcount", Says::Registers, Value::Apart),
    ("--maxrregcount", Says::Registers, Value::Apart),
    ("-fmad", Says::Contraction, Value::Apart),
    ("--fmad", Says::Contraction, Value::Apart),
    ("-ffp-contract", Says::Contraction, Value::Apart),
    ("--options-file", Says::Response, Value::Apart),
    ("-optf", Says::Response, Value::Apart),
    ("--x", Says::Language, Value::Apart),
    ("-Xcompiler", Says::Nothing, Value::Apart),
    ("--compiler-options", Says::Nothing, Value::Apart),
    ("-Xclang", Says::Nothing, Value::Apart),
    ("-Xptxas", Says::Nothing, Value::Apart),
    ("-Xlinker", Says::Nothing, Value::Apart),
    ("-Xnvlink", Says::Nothing, Value::Apart),
    ("-Xfatbin", Says::Nothing, Value::Apart),
    ("-Xcudafe", Says::Nothing, Value::Apart),
    ("-Xarchive", Says::Nothing, Value::Apart),
    ("-Xassembler", Says::Nothing, Value::Apart),
    ("-Xpreprocessor", Says::Nothing, Value::Apart),
    ("-Xcuda-ptxas", Says::Nothing, Value::Apart),
    ("-Xcuda-fatbinary", Says::Nothing, Value::Apart),
    ("-ccbin", Says::Nothing, Value::Apart),
    ("--compiler-bindir", Says::Nothing, Value::Apart),
    ("-o", Says::Nothing, Value::Apart),
    ("-MF", Says::Nothing, Value::Apart),
    ("-MT", Says::Nothing, Value::Apart),
    ("-MQ", Says::Nothing, Value::Apart),
    ("-x", Says::Language, Value::Glued),
];

/// The option that an argument is, and its value where it stands in the same argument.
fn option(argument: &str) -> Option<(Says, Option<&str>)> {
    OPTIONS.iter().find_map(|(name, says, value)| {
        let rest = argument.strip_prefix(name)?;
        match (rest, value) {
            ("", _) => Some((*says, None)),
            (rest, Value::Glued) => Some((*says, Some(rest.strip_prefix('=').unwrap_or(rest)))),
            (rest, Value::Apart) => {
                let value = rest.strip_prefix(['=', ':'])?;
                Some((*says, Some(value)))
            }
        }
    })
}

impl Entry {
    fn flags(&self, read: &dyn Fn(&Path) -> Result<String, String>) -> CompileFlags {
        let windows = self.directory.to_string_lossy().chars().nth(1) == Some(':');
        let arguments = match &self.call {
            Call::Arguments(arguments) => arguments.clone(),
            Call::Line(line) => words(line, windows),
        };
        let driver = arguments.first().map(|name| {
            let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
            name.trim_end_matches(".exe").to_ascii_lowercase()
        });
        let driver = driver.unwrap_or_default();
        let mut reader = Reader {
            directory: &self.directory,
            windows,
            slashes: ["cl", "clang-cl", "dxc", "fxc"].contains(&driver.as_str()),
            lists: driver.contains("nvcc"),
            read,
            taken: 0,
            flags: CompileFlags::default(),
        };
        reader.take(arguments.into_iter().skip(1), 0);
        reader.flags
    }
}

/// One pass over the arguments of a call.
struct Reader<'a> {
    directory: &'a Path,
    /// A backslash separates folders.
    windows: bool,
    /// Options begin with `/`, too.
    slashes: bool,
    /// A value may be several, with commas between them.
    lists: bool,
    read: &'a dyn Fn(&Path) -> Result<String, String>,
    taken: usize,
    flags: CompileFlags,
}

impl Reader<'_> {
    fn take(&mut self, arguments: impl Iterator<Item = String>, nested: usize) {
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            self.taken += 1;
            if self.taken > MOST_ARGUMENTS {
                return;
            }
            if let Some(path) = argument.strip_prefix('@') {
                self.response(path, nested);
                continue;
            }
            let slashed;
            let argument = match argument.strip_prefix('/').filter(|_| self.slashes) {
                Some(rest) => {
                    slashed = format!("-{rest}");
                    &slashed
                }
                None => &argument,
            };
            // `nvcc`'s, and clang's own.
            if matches!(
                argument.trim_start_matches('-'),
                "use_fast_math" | "ffast-math"
            ) {
                self.flags.approximate = true;
                continue;
            }
            let Some((says, value)) = option(argument) else {
                continue;
            };
            let next;
            let value = match value {
                Some(value) => value,
                None => {
                    next = arguments.next().unwrap_or_default();
                    &next
                }
            };
            match says {
                Says::Response => self.response(value, nested),
                _ => self.say(says, value),
            }
        }
    }

    /// Reads the arguments that stand in a file.
    fn response(&mut self, path: &str, nested: usize) {
        let path = normalize(&self.directory.join(path));
        let why = match nested < MOST_NESTED {
            true => match (self.read)(&path) {
                Ok(text) => return self.take(words(&text, self.windows).into_iter(), nested + 1),
                Err(why) => why,
            },
            false => "response files name others too deeply".to_owned(),
        };
        self.flags.notes.push(CommandNote::Unusable { path, why });
    }

    fn say(&mut self, says: Says, value: &str) {
        let flags = &mut self.flags;
        let several = |value: &str| -> Vec<PathBuf> {
            let each = value.split(|c| c == ',' && self.lists);
            let each = each.filter(|path| !path.is_empty());
            each.map(|path| normalize(&self.directory.join(path)))
                .collect()
        };
        match says {
            Says::Include => flags.include_dirs.extend(several(value)),
            Says::System => flags.system_dirs.extend(several(value)),
            Says::Quote => flags.quote_dirs.extend(several(value)),
            Says::Forced => {
                let path = normalize(&self.directory.join(value));
                flags.forced.push((path, value.into()));
            }
            Says::Define => {
                flags.forget(value.split('=').next().unwrap_or(value));
                flags.defines.push(value.into());
            }
            Says::Undefine => {
                flags.forget(value);
                flags.undefines.push(value.into());
            }
            Says::Standard => flags.standard(value),
            Says::Architecture => {
                let named = numbers_of(value).max();
                flags.architecture = flags.architecture.max(named);
            }
            // 0: as many as there are.
            Says::Registers => flags.max_registers = value.parse().ok().filter(|&n| n > 0),
            Says::Contraction => flags.separate = matches!(value, "false" | "off"),
            Says::Language => {
                flags.language = match value {
                    "cu" | "cuda" | "c++" | "c++-header" => Some(Language::Cuda),
                    "c" | "c-header" => Some(Language::C),
                    "hlsl" => Some(Language::Hlsl),
                    _ => None,
                }
            }
            Says::Response | Says::Nothing => {}
        }
    }
}

impl CompileFlags {
    /// Defines the compiler's macros for the architecture.
    pub fn define_architecture(&mut self) {
        let Some((number, alone)) = self.architecture else {
            return;
        };
        for name in ["__CUDA_ARCH__", "__CUDA_ARCH_LIST__"] {
            self.defines.insert(0, format_smolstr!("{name}={number}0"));
        }
        if alone {
            let name = format_smolstr!("__CUDA_ARCH_FEAT_SM{number}_ALL=1");
            self.defines.insert(0, name);
        }
    }

    /// The last word on a name is the one that counts.
    fn forget(&mut self, name: &str) {
        let is = |define: &SmolStr| define.split(['=', '(']).next() == Some(name);
        self.defines.retain(|define| !is(define));
        self.undefines.retain(|undefined| undefined != name);
    }

    fn standard(&mut self, value: &str) {
        let value = value.trim_start_matches("gnu").trim_start_matches('c');
        let (name, version) = match value {
            "++11" | "++0x" => ("__cplusplus", "201103L"),
            "++14" | "++1y" => ("__cplusplus", "201402L"),
            "++17" | "++1z" => ("__cplusplus", "201703L"),
            "++20" | "++2a" => ("__cplusplus", "202002L"),
            "++23" | "++2b" | "++latest" => ("__cplusplus", "202302L"),
            "99" => ("__STDC_VERSION__", "199901L"),
            "11" => ("__STDC_VERSION__", "201112L"),
            "17" | "18" => ("__STDC_VERSION__", "201710L"),
            "23" | "2x" => ("__STDC_VERSION__", "202311L"),
            _ => return,
        };
        self.forget(name);
        self.defines.push(format_smolstr!("{name}={version}"));
    }
}

/// The architectures that `sm_90a`, `compute_80` or `arch=compute_80,code=[sm_80,sm_86]` name.
fn numbers_of(value: &str) -> impl Iterator<Item = (u32, bool)> + '_ {
    let names = value.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    names.filter_map(|name| {
        let digits = ["sm_", "compute_", "lto_"]
            .iter()
            .find_map(|prefix| name.strip_prefix(prefix))
            .unwrap_or(name);
        let plain = digits.trim_end_matches(['a', 'f']);
        let number = plain.parse().ok()?;
        (30..1000)
            .contains(&number)
            .then_some((number, digits.ends_with('a')))
    })
}

/// The words of a line as a shell takes them, or as Windows does: there a backslash stands for itself, but in front of a
/// quote.
fn words(line: &str, windows: bool) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\\', None | Some('"')) => {
                let next = letters.peek().copied();
                let escapes = match (windows, quote) {
                    (true, _) => next == Some('"'),
                    (false, None) => next.is_some(),
                    (false, Some(_)) => matches!(next, Some('"' | '\\' | '$' | '`' | '\n')),
                };
                let taken = match escapes {
                    true => letters.next().unwrap_or(letter),
                    false => letter,
                };
                if !(escapes && taken == '\n') {
                    word.get_or_insert_default().push(taken);
                }
            }
            (_, Some(open)) if letter == open => quote = None,
            (_, Some(_)) => word.get_or_insert_default().push(letter),
            ('"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            ('\'', None) if !windows => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (_, None) if letter.is_whitespace() => words.extend(word.take()),
            (_, None) => word.get_or_insert_default().push(letter),
        }
        if words.len() > MOST_ARGUMENTS {
            break;
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(json: serde_json::Value) -> CompileCommands {
        CompileCommands::parse(json.to_string().as_bytes(), Path::new("/p/build"))
            .expect("a list of entries")
    }

    fn flags(arguments: &[&str]) -> CompileFlags {
        let all = parsed(serde_json::json!([
            { "directory": "/p/build", "file": "../k.cu", "arguments": arguments }
        ]));
        let read = |path: &Path| match path.to_str() {
            Some("/p/build/a.rsp") => {
                Ok("-I\"../with space\" -DFROM_A --options-file=b.rsp".into())
            }
            Some("/p/build/b.rsp") => Ok("-DFROM_B\n-isystem /s".into()),
            Some("/p/build/round.rsp") => Ok("@round.rsp".into()),
            _ => Err("there is no such file".into()),
        };
        all.flags(Path::new("/p/k.cu"), &read).expect("an entry")
    }

    fn paths(of: &[&str]) -> Vec<PathBuf> {
        of.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn the_spellings_of_compilers() {
        let nvcc = flags(&[
            "/usr/bin/nvcc",
            "-I../a,../b",
            "-I",
            "c",
            "--include-path=/d",
            "-isystem=/e",
            "-DX=1",
            "-D",
            "Y",
            "--define-macro=Z=\"a b\"",
            "-UX",
            "-DNDEBUG",
            "-UNDEBUG",
            "-DNDEBUG=2",
            "-Xcompiler",
            "-DHOST",
            "--generate-code=arch=compute_80,code=[compute_80,sm_86]",
            "-gencode",
            "arch=compute_70,code=sm_70",
            "-std=c++20",
            "-x",
            "cu",
            "-include",
            "force.h",
            "-o",
            "-Dout",
            "-c",
            "../k.cu",
        ]);
        assert_eq!(
            nvcc.include_dirs,
            paths(&["/p/a", "/p/b", "/p/build/c", "/d"])
        );
        assert_eq!(nvcc.system_dirs, paths(&["/e"]));
        assert_eq!(
            nvcc.defines,
            ["Y", "Z=\"a b\"", "NDEBUG=2", "__cplusplus=202002L"]
        );
        assert_eq!(nvcc.undefines, ["X"]);
        assert_eq!(nvcc.architecture, Some((86, false)));
        assert_eq!(nvcc.language, Some(Language::Cuda));
        let forced = (PathBuf::from("/p/build/force.h"), "force.h".into());
        assert_eq!(nvcc.forced, [forced]);
        let clang = flags(&[
            "clang++",
            "--cuda-gpu-arch=sm_90a",
            "-iquote",
            "q",
            "-Ione,two",
            "-idirafterlast",
        ]);
        assert_eq!(clang.architecture, Some((90, true)));
        assert_eq!(clang.quote_dirs, paths(&["/p/build/q"]));
        assert_eq!(clang.include_dirs, paths(&["/p/build/one,two"]));
        assert_eq!(clang.system_dirs, paths(&["/p/build/last"]));
        let cl = flags(&["clang-cl.exe", "/I", "a", "/DX", "/FIf.h", "/std:c++17"]);
        assert_eq!(cl.include_dirs, paths(&["/p/build/a"]));
        assert_eq!(cl.defines, ["X", "__cplusplus=201703L"]);
        assert_eq!(cl.forced.len(), 1);
        assert_eq!(flags(&["nvcc", "-arch", "native"]).architecture, None);
        let most = |arguments: &[&str]| flags(arguments).max_registers;
        assert_eq!(most(&["nvcc", "-maxrregcount=48"]), Some(48));
        assert_eq!(
            most(&["nvcc", "--maxrregcount", "64", "-maxrregcount=0"]),
            None
        );
        let separate = |arguments: &[&str]| flags(arguments).separate;
        assert!(separate(&["nvcc", "-fmad=false"]));
        assert!(separate(&["nvcc", "--fmad", "false"]));
        assert!(separate(&["clang++", "-ffp-contract=off"]));
        assert!(!separate(&["nvcc", "-fmad=false", "-fmad=true"]));
        let fast = flags(&["nvcc", "-use_fast_math", "-Ia"]);
        assert!(fast.approximate && fast.include_dirs == paths(&["/p/build/a"]));
    }

    #[test]
    fn response_files_are_read_and_their_circles_end() {
        let found = flags(&["nvcc", "@a.rsp", "--options-file", "gone.rsp"]);
        assert_eq!(found.include_dirs, paths(&["/p/with space"]));
        assert_eq!(found.defines, ["FROM_A", "FROM_B"]);
        assert_eq!(found.system_dirs, paths(&["/s"]));
        let path = PathBuf::from("/p/build/gone.rsp");
        let why = "there is no such file".to_owned();
        assert_eq!(found.notes, [CommandNote::Unusable { path, why }]);
        assert_eq!(flags(&["nvcc", "@round.rsp"]).notes.len(), 1);
    }

    #[test]
    fn words_of_shells() {
        let line = r#"nvcc -DA=\"x\" '-DB=a b' "-DC=\"d\"" -I\ e ''"#;
        let expected = ["nvcc", "-DA=\"x\"", "-DB=a b", "-DC=\"d\"", "-I e", ""];
        assert_eq!(words(line, false), expected);
        let line = r#"C:\bin\nvcc.exe -IC:\a\b "-DX=\"y z\"" D:\k.cu"#;
        let expected = ["C:\\bin\\nvcc.exe", "-IC:\\a\\b", "-DX=\"y z\"", "D:\\k.cu"];
        assert_eq!(words(line, true), expected);
        assert_eq!(words("'never closed", false), ["never closed"]);
    }

    #[test]
    fn a_file_without_an_entry_takes_that_of_the_likest() {
        let all = parsed(serde_json::json!([
            { "file": "../src/part.cpp", "command": "g++ -DCPP" },
            { "file": "../src/main.cu", "command": "nvcc -DMAIN -x cu" },
            { "file": "../src/deep/part.cu", "command": "nvcc -DPART" },
            { "file": "../other/far.cu", "arguments": ["nvcc", "-DFAR"] },
            { "nonsense": 1 }, 7,
            { "file": "../src/main.cu", "command": "nvcc -DAGAIN" },
        ]));
        let defines = |path: &str| {
            let found = all.flags(Path::new(path), &|_| Err(String::new()));
            found.map(|found| (found.defines, found.notes))
        };
        let borrowed = |of: &str| vec![CommandNote::Borrowed { of: of.into() }];
        let known = defines("/p/src/main.cu");
        assert_eq!(known, Some((vec!["MAIN".into()], vec![])));
        let near = defines("/p/src/new.cu");
        assert_eq!(
            near,
            Some((vec!["MAIN".into()], borrowed("/p/src/main.cu")))
        );
        let named = defines("/p/include/part.cuh");
        assert_eq!(
            named,
            Some((vec!["PART".into()], borrowed("/p/src/deep/part.cu")))
        );
        let host = defines("/p/src/host.h");
        assert_eq!(
            host,
            Some((vec!["CPP".into()], borrowed("/p/src/part.cpp")))
        );
        assert_eq!(defines("/p/src/shade.hlsl"), None);
        assert!(CompileCommands::parse(b"{}", Path::new("/")).is_err());
    }
}
