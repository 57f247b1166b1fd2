//! The sources of cases: operations one by one, random IR, random PTX text, random CUDA and HLSL, their
//! versions on zero, the constructs of `analyses/ir/tests/languages`, and fixtures.

use crate::case::{Draft, executed};
use crate::flat::Flat;
use crate::generate::{INPUTS, Language, OUTPUTS, kernel};
use crate::operations;
use crate::ptxas;
use crate::read::{Read, number, read};
use crate::text;
use crate::{SM, Sink};
use ir::{FunctionKind, Module, SymbolKind};
use lockstep_codegen::specialize::frequency;
use lockstep_codegen::specialize::ptx::{Document, Settings as PtxSettings};
use lockstep_codegen::specialize::source::{Settings, candidates, functions_of, version};
use lockstep_codegen::target::ptx::{Target, generate};
use oracle::interp::{Argument, Buffer, Launch};
use oracle::random::{Flavour, Random, Shape, program};
use std::path::Path;
use syntax::ptx::{PtxItemKind, declarations, split_items};

/// The source of cases whose results the IR leaves open.
pub(crate) const UNSPECIFIED: &str = "unspecified results";

/// `programs` of each kind and seed.
pub(crate) fn all(sink: &mut Sink, programs: u64, seeds: &[u64]) {
    of_operations(sink);
    eprintln!("operations are done");
    for &seed in seeds {
        random_ir(sink, programs, seed);
        eprintln!("random IR is done");
        random_text(sink, programs, seed);
        eprintln!("random PTX text is done");
        for language in [Language::Cuda, Language::Hlsl] {
            random_source(sink, language, programs / 2, seed);
        }
        eprintln!("random sources are done");
    }
    constructs(sink);
    eprintln!("constructs are done");
    fixtures(sink);
}

/// PTX of a module for the device, or the refusal.
pub(crate) fn printed(module: &Module) -> Result<String, String> {
    printed_with(module, false)
}

/// The same, with the hardware's functions instead of the device library's on demand.
pub(crate) fn printed_with(module: &Module, fast_math: bool) -> Result<String, String> {
    let target = Target {
        sm: SM,
        fast_math,
        ..Target::default()
    };
    match generate(module, &target) {
        Ok(code) => Ok(code.text),
        Err(refusal) => Err(format!("refused: {refusal}")),
    }
}

fn add_printed(
    sink: &mut Sink,
    name: String,
    source: &'static str,
    module: &Module,
    launch: Launch,
) -> bool {
    match printed(module) {
        Ok(ptx) => sink.add(Draft {
            name,
            source,
            module,
            ptx,
            launch,
            tolerance: None,
        }),
        Err(refusal) => {
            sink.left_out(source, refusal);
            false
        }
    }
}

fn of_operations(sink: &mut Sink) {
    for operation in operations::unspecified() {
        add_printed(
            sink,
            operation.name,
            UNSPECIFIED,
            &operation.module,
            operation.launch,
        );
    }
    for operation in operations::all() {
        let source = match operation.name.split(' ').next() {
            Some("warp") => "operations across lanes",
            Some("atomic") => "atomics",
            _ => "operations",
        };
        match printed(&operation.module) {
            Ok(ptx) => {
                sink.add(Draft {
                    name: operation.name,
                    source,
                    module: &operation.module,
                    ptx,
                    launch: operation.launch,
                    tolerance: operation.tolerance,
                });
            }
            Err(refusal) => sink.left_out(source, refusal),
        }
    }
}

// -------------------------------------------------------------------------------------------------- random IR

fn shape(random: &mut Random) -> Shape {
    let flavour = if random.percent(60) {
        Flavour::Structured
    } else {
        Flavour::Arbitrary
    };
    let warp_ops = random.percent(35);
    let base = Shape {
        flavour,
        fuel: 4 + random.below(6),
        ..Shape::default()
    };
    let mut shape = Shape {
        blocks: 4 + random.below(12),
        block_insts: 2 + random.below(5),
        loop_depth: 1 + random.below(3),
        functions: random.below(3),
        math: false,
        symbolic_parameters: false,
        bit_ops: random.percent(40),
        halves: random.percent(25),
        doubles: random.percent(60),
        memory: random.percent(70),
        atomics: random.percent(20),
        exchange: random.percent(40),
        kills: random.percent(30),
        guards: random.percent(50),
        undefined: false,
        warp_ops,
        inactive_sources: false,
        warp_sizes: vec![32],
        max_threads: *random.pick(&[32, 64, 128, 256]),
        max_grid: 2,
        ..base
    };
    if flavour == Flavour::Structured && random.percent(40) {
        (shape.barriers, shape.exchange, shape.memory) = (true, true, true);
    }
    shape
}

fn random_ir(sink: &mut Sink, programs: u64, seed: u64) {
    let source = "random IR";
    let before = sink.kept(source);
    for number in seed.. {
        if sink.kept(source) - before >= programs || number > seed + 20 * programs {
            break;
        }
        let mut random = Random::new(number ^ 0x00de_71ce);
        let program = program(number, &shape(&mut random));
        let mut launch = Launch::for_program(&program);
        launch.limits.steps = launch.limits.steps.saturating_mul(4);
        add_printed(
            sink,
            format!("ir {number}"),
            source,
            &program.module,
            launch,
        );
    }
}

// -------------------------------------------------------------------------------------------------- PTX text

/// The kernel of a file in PTX.
fn ptx_kernel(text: &str) -> Option<Module> {
    let all = ir::lower::ptx::lower_text(text).into_iter();
    let mut kernels = all
        .map(|(_, _, lowered)| lowered.module)
        .filter(|module| module.functions[0].kind == FunctionKind::Kernel);
    kernels.next()
}

fn text_launch(source: &text::Source, seed: u64) -> Launch {
    let mut random = Random::new(seed ^ 0x7e87_0000);
    let threads: u32 = source.block.iter().product::<u32>() * source.grid;
    let mut launch = Launch::new(1);
    launch.seed = seed;
    launch.block = source.block;
    launch.grid = [source.grid, 1, 1];
    let sparse = random.below(3);
    let mut bytes = |count: usize, below: u32| {
        let byte = |_| {
            if random.below(3) < sparse {
                0
            } else {
                random.below(below) as u8
            }
        };
        (0..count).map(byte).collect()
    };
    launch.buffers = vec![
        Buffer::global(bytes(text::TABLE, 256)),
        Buffer::global(bytes(text::SLICE * threads as usize, 4)),
    ];
    let pointer = |buffer| Argument::Pointer { buffer, offset: 0 };
    launch.parameters = vec![pointer(0), pointer(1)];
    for _ in 0..2 {
        let number = random.between(-5, 20);
        launch.parameters.push(Argument::Bits(number as u64));
    }
    launch
}

/// Returns the text without the declaration of a function that nobody calls, which no driver could resolve;
/// `None` if it is called.
fn without_externals(text: &str) -> Option<String> {
    if text.matches("elsewhere").count() > 1 {
        return None;
    }
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.contains("elsewhere"))
        .collect();
    Some(lines.join("\n") + "\n")
}

fn random_text(sink: &mut Sink, programs: u64, seed: u64) {
    let (plain, versioned) = ("random PTX text", "versions of PTX text");
    let assembler = ptxas::find();
    let before = sink.kept(plain);
    for number in seed.. {
        if sink.kept(plain) - before >= programs || number > seed + 20 * programs {
            break;
        }
        let source = text::source(number);
        let Some(text) = without_externals(&source.text) else {
            sink.left_out(plain, "an external function");
            continue;
        };
        let Some(module) = ptx_kernel(&text) else {
            sink.left_out(plain, "no kernel");
            continue;
        };
        let launch = text_launch(&source, number);
        if let Err(reason) = executed(&module, &launch, false) {
            sink.left_out(plain, reason);
            continue;
        }
        // Of what is written at random, not all is PTX.
        if let Some(tool) = &assembler
            && ptxas::judge(tool, &format!("sm_{SM}"), &text).is_err()
        {
            sink.left_out(plain, "refused by the assembler");
            continue;
        }
        let kept = sink.add(Draft {
            name: format!("text {number}"),
            source: plain,
            module: &module,
            ptx: text.clone(),
            launch: launch.clone(),
            tolerance: None,
        });
        // The IR of the text, printed.
        if kept && number % 4 == 0 {
            add_printed(
                sink,
                format!("text {number} printed"),
                "PTX text, printed",
                &module,
                launch.clone(),
            );
        }
        if kept && number % 2 == 0 {
            for (at, after) in versions_of_text(&text).into_iter().enumerate().take(2) {
                let mut launch = launch.clone();
                launch.limits.steps = launch.limits.steps.saturating_mul(8);
                sink.add(Draft {
                    name: format!("text {number} version {at}"),
                    source: versioned,
                    // What the original computes is expected of its version.
                    module: &module,
                    ptx: after,
                    launch,
                    tolerance: None,
                });
            }
        }
    }
}

/// Some versions on zero of the entries of a file.
fn versions_of_text(text: &str) -> Vec<String> {
    let items = split_items(text);
    let version = declarations(text, &items).version;
    let mut out = Vec::new();
    for (item, tree, lowered) in ir::lower::ptx::lower_text(text) {
        let PtxItemKind::Function(tree) = &tree.kind else {
            continue;
        };
        let own = &text[item.start as usize..item.end as usize];
        let function = &lowered.module.functions[0];
        let document = Document::new(own, tree, function, version);
        let weights = frequency::frequency(function);
        for candidate in document.candidates() {
            let made = document.version(&candidate, PtxSettings::default(), &Flat, &weights);
            let Ok(version) = made else { continue };
            let mut after = text.to_owned();
            for (offset, new) in version.insertions.iter().rev() {
                after.insert_str((item.start + offset) as usize, new);
            }
            out.push(after);
        }
    }
    let len = out.len().max(1);
    // Those in the middle of a text are no less interesting than the first.
    out.rotate_left(text.len() % len);
    out
}

// -------------------------------------------------------------------------------------------------- CUDA and HLSL

fn source_launch(module: &Module, seed: u64) -> Launch {
    let function = &module.functions[0];
    let mut launch = Launch::for_function(function, 64, seed);
    launch.limits.steps = 2_000_000;
    let inputs = u64::from(INPUTS);
    let floats = |slot: u64, count: u64| {
        Buffer::of_f32((0..count).map(|at| number(seed, slot ^ (at % inputs), at / inputs)))
    };
    let words = 64 * u64::from(INPUTS.max(OUTPUTS));
    for buffer in &mut launch.buffers {
        *buffer = floats(1, words);
    }
    for (at, symbol) in function.symbols.values().enumerate() {
        if symbol.kind == SymbolKind::Buffer {
            launch
                .bindings
                .push((symbol.name.clone(), launch.buffers.len()));
            launch.buffers.push(floats(at as u64, words));
        }
    }
    launch
}

fn random_source(sink: &mut Sink, generator: Language, programs: u64, seed: u64) {
    let (plain, versioned, language) = match generator {
        Language::Cuda => ("random CUDA", "versions of CUDA", ir::Language::Cuda),
        Language::Hlsl => ("random HLSL", "versions of HLSL", ir::Language::Hlsl),
    };
    for number in seed..seed + programs {
        let text = kernel(number, generator);
        let whole = read(&text, language);
        let modules = whole.kernels();
        let Some(module) = modules.first() else {
            sink.left_out(plain, "no kernel");
            continue;
        };
        let launch = source_launch(module, number);
        if !add_printed(
            sink,
            format!("{plain} {number}"),
            plain,
            module,
            launch.clone(),
        ) {
            continue;
        }
        for (at, after) in versions_of_source(&text, &whole, 2).into_iter().enumerate() {
            let rewritten = read(&after, language).kernels();
            let Some(rewritten) = rewritten.first() else {
                sink.left_out(versioned, "no kernel");
                continue;
            };
            let name = format!("{plain} {number} version {at}");
            // The interpreter runs the version; its tests compare it with the original.
            add_printed(sink, name, versioned, rewritten, launch.clone());
        }
    }
}

/// Some versions on zero of the functions of a text.
fn versions_of_source(text: &str, whole: &Read, most: usize) -> Vec<String> {
    let settings = Settings {
        absorb: true,
        whole_warps: false,
        uniform: false,
        each_lane: false,
    };
    let mut out = Vec::new();
    for (number, (_, _, item)) in whole.parsed.iter().enumerate() {
        let source = whole.source(text, number);
        for function in functions_of(item) {
            for candidate in candidates(&source, function) {
                let Ok(version) = version(&source, function, &candidate, settings) else {
                    continue;
                };
                let (span, new) = &version.edit;
                let mut after = text.to_owned();
                after.replace_range(span.start as usize..span.end as usize, new);
                out.push(after);
            }
        }
    }
    let len = out.len().max(1);
    out.rotate_left(text.len() % len);
    out.truncate(most);
    out
}

/// A construct of C++ each, with arguments that the files name.
fn constructs(sink: &mut Sink) {
    let source = "constructs of C++";
    for text in [
        include_str!("../../../ir/tests/languages/cuda.cu"),
        include_str!("../../../ir/tests/languages/classes.cu"),
    ] {
        let head = "__device__ int ";
        let names = text.lines().filter_map(|line| {
            let (name, _) = line.strip_prefix(head)?.split_once('(')?;
            name.starts_with("t_").then_some(name)
        });
        for name in names {
            let whole = format!(
                "{text}\n__global__ void all(int* o, const int* k) {{ o[threadIdx.x] = {name}(k[threadIdx.x]); }}"
            );
            let modules = read(&whole, ir::Language::Cuda).kernels();
            let Some(module) = modules.last() else {
                sink.left_out(source, "no kernel");
                continue;
            };
            let mut launch = Launch::new(8);
            launch.buffers = vec![
                Buffer::of_u32(vec![0; 8]),
                Buffer::of_u32([0, 1, 2, 5, 3, 4, 7, 9]),
            ];
            launch.parameters = [0, 1]
                .map(|buffer| Argument::Pointer { buffer, offset: 0 })
                .to_vec();
            add_printed(sink, format!("construct {name}"), source, module, launch);
        }
    }
}

// -------------------------------------------------------------------------------------------------- fixtures

const BLOCKS: [[u32; 3]; 7] = [
    [32, 1, 1],
    [64, 1, 1],
    [256, 1, 1],
    [128, 1, 1],
    [16, 16, 1],
    [32, 8, 1],
    [8, 8, 2],
];

fn fixtures(sink: &mut Sink) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    for (folder, source) in [
        ("cuda", "fixtures in CUDA"),
        ("hlsl", "fixtures in HLSL"),
        ("ptx", "fixtures in PTX"),
    ] {
        let entries = std::fs::read_dir(root.join(folder)).expect("the fixtures are there");
        let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        files.sort();
        for file in files {
            let Ok(text) = std::fs::read_to_string(&file) else {
                continue;
            };
            let name = file
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default();
            match folder {
                "ptx" => {
                    if let Some(module) = ptx_kernel(&text) {
                        launches(sink, source, &name, &module, Some(&text));
                    }
                }
                _ => {
                    let language = if folder == "hlsl" {
                        ir::Language::Hlsl
                    } else {
                        ir::Language::Cuda
                    };
                    for module in read(&text, language).kernels() {
                        launches(sink, source, &name, &module, None);
                    }
                }
            }
        }
    }
}

/// A kernel with blocks of several shapes, until three of them say something.
fn launches(
    sink: &mut Sink,
    source: &'static str,
    file: &str,
    module: &Module,
    text: Option<&str>,
) {
    let function = &module.functions[0];
    let mut kept = 0;
    for (number, block) in BLOCKS.into_iter().enumerate() {
        let mut launch = Launch::for_function(function, 64, number as u64);
        launch.default_bytes = 64 << 10;
        launch.limits.steps = 60_000;
        let fixed = function.launch.block.iter().any(Option::is_some);
        if !fixed {
            launch.block = block;
        }
        launch.grid = [1 + number as u32 % 2, 1, 1];
        let ptx = match text {
            Some(text) => Ok(text.to_owned()),
            None => printed(module),
        };
        let ptx = match ptx {
            Ok(ptx) => ptx,
            Err(refusal) => return sink.left_out(source, refusal),
        };
        let [x, y, z] = launch.block;
        kept += u32::from(sink.add(Draft {
            name: format!("{file} {} {x}x{y}x{z} {number}", function.name),
            source,
            module,
            ptx,
            launch,
            tolerance: None,
        }));
        if kept == 3 || (fixed && number > 2) {
            return;
        }
    }
}
