//! Functions of C as they are written elsewhere, on random arrays and numbers: as the host's compiler has them, and as code for
//! SC140 and IA-64 in the simulators. Preprocessed files (`*.i`) of the directories `LOCKSTEP_PUBLIC_C`, separated by colons;
//! without it, a text of our own. `LOCKSTEP_CC` is the compiler (`cc`), which knows `-fsanitize=address,undefined`.
//!
//! Counts for each directory: functions; those with code for the SC140; those that were run and agree. A function is not run
//! that takes something else than integers and pointers, or leaves addresses in an array. A run is no judge that the simulator or the host ends: arguments at
//! random are not what most functions expect.
#![allow(clippy::disallowed_methods)]

#[path = "support/sc140.rs"]
mod sc140;

use ir::lower::c_family::{LowerOptions, lower_unit};
use ir::{Function, Language, Module, Type};
use lockstep_codegen::machine;
use lockstep_codegen::target::{ia64, sc140 as sets};
use oracle::random::Random;
use simulate::sc140::Arg;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use syntax::c_family::{Dialect, parse_text};

/// Bytes of each array.
const BYTES: usize = 4096;
const RUNS: u64 = 4;

/// A run's outcome: the result, if there is one, and the arrays.
type Left = (Option<u64>, Vec<Vec<u8>>);

/// The arguments of a run.
struct Given {
    arrays: Vec<Vec<u8>>,
    /// By parameter: `None` is the next array's address.
    numbers: Vec<Option<i64>>,
}

impl Given {
    fn new(function: &Function, seed: u64) -> Given {
        let mut random = Random::new(seed);
        let mut arrays = Vec::new();
        let numbers = function.parameters.iter().map(|parameter| {
            let ty = function.ty(parameter.values[0]);
            match ty {
                Type::Ptr(_) => {
                    // As few bits as samples that are quiet have, or all.
                    let shift = random.below(13);
                    let numbers = (0..BYTES / 2).flat_map(|_| {
                        let number = random.draw() as i16 >> shift;
                        number.to_le_bytes()
                    });
                    arrays.push(numbers.collect());
                    None
                }
                _ => Some(i64::from(random.below(24)) - 2 * i64::from(random.below(2))),
            }
        });
        let numbers = numbers.collect();
        Given { arrays, numbers }
    }
}

/// Returns true if an address is one of a variable of the function.
fn is_own(function: &Function, mut address: ir::Value) -> bool {
    while let Some(data) = function.defining(address) {
        match data.op {
            ir::Op::PtrAdd | ir::Op::Convert(_) => address = data.args[0],
            ir::Op::Alloca { .. } => return true,
            _ => return false,
        }
    }
    false
}

/// Returns true if a function can be called with arrays and numbers.
fn is_callable(function: &Function) -> bool {
    let taken = |ty: Type| ty.is_int() || matches!(ty, Type::Ptr(_));
    // What is left of addresses in memory is no number.
    let stores = function.insts.values().any(|data| {
        let stored = data.args.get(1).map(|&value| function.ty(value));
        matches!(data.op, ir::Op::Store(_))
            && matches!(stored, Some(Type::Ptr(_)))
            && !is_own(function, data.args[0])
    });
    // Random bits are NaNs.
    let floats = function.values.values().any(|value| value.ty.is_float());
    let parameters = function.parameters.iter();
    let mut types = parameters.map(|it| (it.values.len() == 1).then(|| function.ty(it.values[0])));
    function.returns.len() <= 1
        && function.returns.iter().all(|&ty| taken(ty))
        && !function.convention.structures
        && !function.variadic
        && !stores
        && !floats
        && types.all(|ty| ty.is_some_and(taken))
}

/// The host's compiler.
fn compiler() -> String {
    std::env::var("LOCKSTEP_CC").unwrap_or_else(|_| "cc".into())
}

/// The host's program of a file: it calls the function of a number on what is in a file, and writes what that leaves.
fn host_program(text: &Path, functions: &[&Function], into: &Path) -> bool {
    let mut out = format!("#include \"{}\"\n", text.display());
    out.push_str(
        "extern long lockstep_in(void *, unsigned long), lockstep_out(const void *, unsigned long);\n\
         extern int lockstep_number(void);\nint main(int count, char **given) {\n    (void)count; (void)given;\n    switch (lockstep_number()) {\n",
    );
    for (number, function) in functions.iter().enumerate() {
        let _ = writeln!(out, "    case {number}: {{");
        let mut call = Vec::new();
        let mut arrays = 0;
        for (at, parameter) in function.parameters.iter().enumerate() {
            if let Type::Ptr(_) = function.ty(parameter.values[0]) {
                let _ = writeln!(
                    out,
                    "        static char a{at}[{BYTES}] __attribute__((aligned(64))); lockstep_in(a{at}, {BYTES});"
                );
                call.push(format!("(void *)a{at}"));
                arrays += 1;
            } else {
                let _ = writeln!(out, "        long long n{at}; lockstep_in(&n{at}, 8);");
                call.push(format!("n{at}"));
            }
        }
        let call = format!("{}({})", function.name, call.join(", "));
        let _ = match function.returns.first() {
            Some(ty) if ty.is_int() => {
                writeln!(out, "        long long r = {call}; lockstep_out(&r, 8);")
            }
            _ => writeln!(out, "        {call};"),
        };
        for (at, parameter) in function.parameters.iter().enumerate() {
            if let Type::Ptr(_) = function.ty(parameter.values[0]) {
                let _ = writeln!(out, "        lockstep_out(a{at}, {BYTES});");
            }
        }
        let _ = writeln!(out, "        return 0; /* {arrays} arrays */ }}");
    }
    out.push_str("    }\n    return 1;\n}\n");
    let (main, library) = (into.with_extension("c"), into.with_extension("io.c"));
    std::fs::write(&main, out).expect("written");
    std::fs::write(
        &library,
        "#include <unistd.h>\n#include <stdlib.h>\n\
         long lockstep_in(void *to, unsigned long n) { alarm(5); unsigned long at = 0;\n\
         while (at < n) { long got = read(0, (char *)to + at, n - at); if (got <= 0) _exit(3); at += got; } return n; }\n\
         long lockstep_out(const void *from, unsigned long n) { return write(1, from, n); }\n\
         int lockstep_number(void) { long long n; lockstep_in(&n, 8); return n; }\n",
    )
    .expect("written");
    let made = Command::new(compiler())
        .args(["-w", "-O1", "-fno-strict-aliasing", "-fno-builtin"])
        // What C leaves open ends the program.
        .args(["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"])
        .args(["-fsanitize=address", "-no-pie"])
        .args(["-Wl,--unresolved-symbols=ignore-all", "-o"])
        .args([into, main.as_path(), library.as_path()])
        .output();
    made.is_ok_and(|made| made.status.success())
}

/// The outcome on the host; `None`: it ended otherwise.
fn on_host(program: &Path, number: usize, function: &Function, given: &Given) -> Option<Left> {
    let mut input = (number as i64).to_le_bytes().to_vec();
    let mut arrays = given.arrays.iter();
    for number in &given.numbers {
        match number {
            Some(number) => input.extend(number.to_le_bytes()),
            None => input.extend(arrays.next()?),
        }
    }
    let file = program.with_extension("in");
    std::fs::write(&file, input).ok()?;
    let ran = Command::new(program)
        .env(
            "ASAN_OPTIONS",
            "detect_leaks=0:detect_stack_use_after_return=0",
        )
        .stdin(std::fs::File::open(&file).ok()?)
        .output()
        .ok()?;
    let returns = function.returns.first().filter(|ty| ty.is_int());
    let size = 8 * usize::from(returns.is_some()) + BYTES * given.arrays.len();
    if !ran.status.success() || ran.stdout.len() != size {
        return None;
    }
    let mut out = &ran.stdout[..];
    let result = returns.map(|_| {
        let (first, rest) = out.split_at(8);
        out = rest;
        u64::from_le_bytes(first.try_into().expect("eight bytes"))
    });
    Some((result, out.chunks(BYTES).map(<[u8]>::to_vec).collect()))
}

/// The low bits of a result.
fn masked(function: &Function, bits: u64) -> u64 {
    let width = function.returns.first().map_or(64, |ty| ty.bits());
    bits & (u64::MAX >> (64 - width))
}

/// The outcome of SC140 code; `Err`: it ended otherwise.
fn on_sc140(function: &Function, text: &str, given: &Given) -> Result<Left, String> {
    let parameters = function.parameters.iter().zip(&given.numbers);
    let arguments = parameters.map(|(parameter, number)| {
        number.map(|number| match function.ty(parameter.values[0]).bytes() {
            1 | 2 => Arg::Word(number as i16),
            4 => Arg::Long(number as i32),
            _ => Arg::Wide(number),
        })
    });
    let arguments: Vec<Option<Arg>> = arguments.collect();
    let name = format!("_{}", function.name);
    let (outcome, arrays) = sc140::simulated(text, &name, &given.arrays, &arguments)?;
    let [first, second] = outcome.data.map(|number| number as u64);
    let result = function.returns.first().filter(|ty| ty.is_int());
    let result = result.map(|ty| match ty.bytes() {
        8 => first << 32 | second & 0xffff_ffff,
        _ => first,
    });
    Ok((result, arrays))
}

/// The outcome of IA-64 code; `Err`: it ended otherwise.
fn on_ia64(function: &Function, text: &str, given: &Given) -> Result<Left, String> {
    use simulate::ia64::{Arg, Limits, Memory, Program, run};
    let document = syntax::ia64::parse(text);
    let (code, problems) = Program::new(&document, text);
    if !problems.is_empty() {
        return Err(format!("{problems:?}"));
    }
    let mut memory = Memory::new();
    let arrays = given.arrays.iter();
    let places: Vec<u64> = arrays
        .map(|bytes| memory.place(bytes).expect("room"))
        .collect();
    let mut next = places.iter();
    let numbers = given.numbers.iter();
    let arguments = numbers.map(|number| match number {
        Some(number) => Arg::Integer(*number as u64),
        None => Arg::Integer(*next.next().expect("an array")),
    });
    let arguments: Vec<Arg> = arguments.collect();
    let ran = run(
        &code,
        &function.name,
        &arguments,
        &mut memory,
        &Limits::default(),
    );
    let outcome = ran.map_err(|fault| fault.to_string())?;
    if !outcome.violations.is_empty() || !outcome.changed.is_empty() {
        return Err(format!("{:?} {:?}", outcome.violations, outcome.changed));
    }
    let arrays = places
        .iter()
        .map(|&at| memory.bytes(at, BYTES).expect("its memory").to_vec());
    let result = function.returns.first().filter(|ty| ty.is_int());
    Ok((result.and(outcome.result), arrays.collect()))
}

#[derive(Default)]
struct Tally {
    functions: u32,
    emitted: u32,
    /// Functions that were run on the SC140, and on IA-64.
    agree: [u32; 2],
    differ: Vec<String>,
    /// Runs that the simulator ends, and the host does not.
    faults: Vec<String>,
    refused: BTreeMap<String, u32>,
    /// The reasons why functions with code were not run, or in vain.
    idle: BTreeMap<String, u32>,
    names: BTreeSet<String>,
}

impl Tally {
    fn file(&mut self, path: &Path, folder: &Path) {
        let bytes = std::fs::read(path).expect("a file");
        let text = String::from_utf8_lossy(&bytes);
        let items = parse_text(&text, Dialect::C);
        let all = lower_unit(&items, &LowerOptions::new(Language::C));
        let modules: Vec<Module> = all
            .into_iter()
            .map(|(_, lowered)| lowered.module)
            .filter(|module| !module.functions[0].layout.is_empty())
            .collect();
        // The host has the library's; `main` is the program's.
        let functions: Vec<&Function> = modules.iter().map(|module| &module.functions[0]).collect();
        let callable: Vec<&Function> = functions
            .iter()
            .filter(|it| it.name != "main" && is_callable(it))
            .copied()
            .collect();
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let program = folder.join(name);
        let runs = host_program(path, &callable, &program);
        for module in &modules {
            let number = callable
                .iter()
                .position(|it| std::ptr::eq(*it, &module.functions[0]));
            self.function(module, number.filter(|_| runs), &program);
        }
    }

    fn function(&mut self, module: &Module, number: Option<usize>, program: &Path) {
        let function = &module.functions[0];
        if !self.names.insert(function.name.to_string()) {
            return;
        }
        self.functions += 1;
        let table = machine::named("sc140").expect("a table");
        let options = sets::emit::Options {
            big_endian: false,
            ..sets::emit::Options::default()
        };
        let made = sets::emit::emit(module, table.sets().expect("execution sets"), &options);
        let made = match made {
            Ok(made) => made.text,
            Err(reasons) => {
                *self
                    .refused
                    .entry(reasons[0].reason.to_string())
                    .or_default() += 1;
                return;
            }
        };
        self.emitted += 1;
        let broken = sc140::broken(&made);
        if !broken.is_empty() {
            self.differ.push(format!("{}: {broken:?}", function.name));
        }
        let Some(number) = number else {
            *self.idle.entry("not callable".to_owned()).or_default() += 1;
            return;
        };
        let itanium = machine::named("itanium2").expect("a table");
        let itanium = itanium.epic().expect("explicit groups");
        let options = ia64::emit::Options {
            pipeline: Some(ia64::pipeline::Options::default()),
            convert: true,
            ..ia64::emit::Options::default()
        };
        let other = ia64::emit::emit(module, itanium, &options).ok();
        let mut judged = [false; 2];
        let mut why = String::new();
        for run in 0..RUNS {
            let given = Given::new(function, run * 7919 + function.name.len() as u64);
            let found = on_sc140(function, &made, &given);
            let second = other.as_ref().map(|it| on_ia64(function, &it.text, &given));
            let Some((result, arrays)) = on_host(program, number, function, &given) else {
                why = match found {
                    Err(why) => why,
                    Ok(_) => "the host ends".to_owned(),
                };
                continue;
            };
            for (at, found) in [Some(found), second].into_iter().flatten().enumerate() {
                let (own, left) = match found {
                    Ok(found) => found,
                    // No fault of the code.
                    Err(why) if why.contains("in no file") || why.contains("were executed") => {
                        continue;
                    }
                    Err(why) => {
                        let target = ["sc140", "ia64"][at];
                        let name = &function.name;
                        self.faults
                            .push(format!("{name} on {target}, run {run}: {why}"));
                        continue;
                    }
                };
                judged[at] = true;
                let same = own.map(|it| masked(function, it))
                    == result.map(|it| masked(function, it))
                    && left == arrays;
                if !same {
                    let target = ["sc140", "ia64"][at];
                    self.differ
                        .push(format!("{} on {target}, run {run}", function.name));
                }
            }
        }
        for (sum, judged) in self.agree.iter_mut().zip(judged) {
            *sum += u32::from(judged);
        }
        if judged == [false; 2] {
            let kind = match why.rsplit_once(", ") {
                Some((_, kind)) => kind.to_owned(),
                None if why.contains("in no file") => "a function of another file".to_owned(),
                None => why,
            };
            *self.idle.entry(kind).or_default() += 1;
        }
    }

    fn print(&self, name: &str) {
        println!(
            "{name}: {} functions, {} with code for the SC140; run and equal to the host's on SC140 {}, on IA-64 {}; not: {:?}\n  faults: {:?}\n  refused: {:?}\n  not run: {:?}",
            self.functions,
            self.emitted,
            self.agree[0],
            self.agree[1],
            self.differ,
            self.faults,
            self.refused,
            self.idle
        );
    }
}

const OWN: &str = "typedef short Word16;
typedef int Word32;
static Word32 L_add(Word32 a, Word32 b) {
    Word32 c = (Word32)((unsigned)a + (unsigned)b);
    if (((a ^ b) & 0x80000000) == 0 && ((c ^ a) & 0x80000000)) c = a < 0 ? (Word32)0x80000000 : 0x7fffffff;
    return c;
}
static Word32 L_mult(Word16 a, Word16 b) {
    Word32 c = (Word32)a * (Word32)b;
    if (c != 0x40000000) c *= 2; else c = 0x7fffffff;
    return c;
}
static Word32 L_mac(Word32 c, Word16 a, Word16 b) { return L_add(c, L_mult(a, b)); }
Word32 dot(const Word16 *x, const Word16 *y, Word16 n) {
    Word32 s = 1; int i;
    for (i = 0; i < n; i++) s = L_mac(s, x[i], y[i]);
    return s;
}
struct lag { Word16 at; Word16 *from; };
static const Word16 table[4] = { 3, -1, 4, -15 };
void lags(const Word16 *x, Word32 *r, int n) {
    struct lag l[3]; int i, k;
    for (k = 0; k < 3; k++) { l[k].at = table[k]; l[k].from = (Word16 *)x + k; }
    for (k = 0; k < 3; k++) for (i = 0; i < n; i++) r[k] += l[k].from[i] * l[k].at;
}
Word16 largest(const Word16 *x, int n) {
    Word16 m = -32768; int i;
    for (i = 0; i < n; i++) if (x[i] > m) m = x[i];
    return m;
}
";

#[test]
fn functions_compute_what_they_do_on_the_host() {
    if Command::new(compiler()).arg("--version").output().is_err() {
        println!("not judged: there is no C compiler `{}` here", compiler());
        return;
    }
    let folder = tempfile::tempdir().expect("a directory");
    let Ok(list) = std::env::var("LOCKSTEP_PUBLIC_C") else {
        let path = folder.path().join("own.i");
        std::fs::write(&path, OWN).expect("written");
        let mut tally = Tally::default();
        tally.file(&path, folder.path());
        tally.print("a text of our own");
        assert_eq!((tally.functions, tally.emitted), (6, 6));
        assert_eq!(tally.agree, [6, 6]);
        assert_eq!((tally.differ, tally.faults), (vec![], vec![]));
        return;
    };
    let mut differ = Vec::new();
    for name in list.split(':') {
        let mut tally = Tally::default();
        let entries = std::fs::read_dir(name).expect("the directory");
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|end| end == "i"));
        paths.sort();
        for path in paths {
            tally.file(&path, folder.path());
        }
        tally.print(name);
        differ.extend(tally.differ);
    }
    assert_eq!(differ, [""; 0]);
}
