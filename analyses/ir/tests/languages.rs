//! The languages, a function a construct: the result of each is that of a compiler of the language, which the
//! comment behind the function has for k = 0, 1, 2 and 5.

use lockstep_ir::lower::c_family::{LowerOptions, lower_unit};
use lockstep_ir::verify::verify_module;
use lockstep_ir::{FunctionKind, Language, Module};
use oracle::interp::{Argument, Buffer, Launch, run};
use syntax::c_family::{Dialect, parse_text};

const GIVEN: [i32; 4] = [0, 1, 2, 5];

/// Names of functions, and their results for each of [`GIVEN`].
fn expected<'a>(source: &'a str, head: &str) -> Vec<(&'a str, Vec<i32>)> {
    let lines = source.lines().filter_map(|line| {
        let (name, _) = line.strip_prefix(head)?.split_once('(')?;
        name.starts_with("t_").then_some((name, line))
    });
    let all = lines.map(|(name, line)| {
        let numbers = line.rsplit_once("// ").map_or("", |(_, numbers)| numbers);
        let numbers: Result<Vec<i32>, _> = numbers.split(' ').map(str::parse).collect();
        let numbers = numbers.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(numbers.len(), GIVEN.len(), "{name}");
        (name, numbers)
    });
    let all: Vec<_> = all.collect();
    assert!(!all.is_empty());
    all
}

/// The kernel of a text, which is understood.
fn kernel(source: &str, dialect: Dialect, language: Language) -> Module {
    let items = parse_text(source, dialect);
    for item in &items {
        assert!(item.problems.is_empty(), "{:?}", item.problems);
    }
    let lowered = lower_unit(&items, &LowerOptions::new(language));
    let mut kernels = lowered
        .into_iter()
        .map(|(_, lowered)| lowered)
        .filter(|lowered| lowered.module.functions[0].kind == FunctionKind::Kernel);
    let found = kernels.next().expect("a kernel");
    if let Err(errors) = verify_module(&found.module) {
        panic!("{}", errors[0]);
    }
    let unknowns: Vec<_> = found.module.functions[0].unknowns.values().collect();
    assert!(unknowns.is_empty(), "{unknowns:?}");
    found.module
}

/// All that differs is said at once.
fn judged(
    all: Vec<(&str, Vec<i32>)>,
    found: impl Fn(&str) -> Vec<i32> + std::panic::RefUnwindSafe,
) {
    let mut wrong = Vec::new();
    for (name, expected) in all {
        match std::panic::catch_unwind(|| found(name)) {
            Ok(found) if found == expected => {}
            Ok(found) => wrong.push(format!("{name}: {found:?}, expected {expected:?}")),
            Err(_) => wrong.push(format!("{name} is not understood")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn cuda_is_what_compilers_of_cpp_say() {
    cuda(include_str!("languages/cuda.cu"));
}

#[test]
fn classes_and_templates_are_what_compilers_of_cpp_say() {
    cuda(include_str!("languages/classes.cu"));
}

fn cuda(source: &str) {
    judged(expected(source, "__device__ int "), |name| {
        let text = format!(
            "{source}\n__global__ void all(int* o, const int* k) {{ o[threadIdx.x] = {name}(k[threadIdx.x]); }}"
        );
        let module = kernel(&text, Dialect::Cuda, Language::Cuda);
        let mut launch = Launch::new(GIVEN.len() as u32);
        launch.buffers = vec![
            Buffer::of_u32(vec![0; GIVEN.len()]),
            Buffer::of_u32(GIVEN.map(|k| k as u32)),
        ];
        launch.parameters = [0, 1]
            .map(|buffer| Argument::Pointer { buffer, offset: 0 })
            .to_vec();
        let outcome = run(&module, &launch);
        assert!(outcome.error.is_none(), "{name}: {:?}", outcome.error);
        let words = outcome.buffers[0].words();
        words.into_iter().map(|word| word as i32).collect()
    });
}

#[test]
fn hlsl_is_what_its_reference_says() {
    let source = include_str!("languages/shader.hlsl");
    judged(expected(source, "int "), |name| {
        let text = format!(
            "{source}\nRWStructuredBuffer<int> o; StructuredBuffer<int> given;
             [numthreads({}, 1, 1)] void main(uint i : SV_GroupIndex) {{ o[i] = {name}(given[i]); }}",
            GIVEN.len()
        );
        let module = kernel(&text, Dialect::Hlsl, Language::Hlsl);
        let mut launch = Launch::for_function(&module.functions[0], GIVEN.len() as u32, 0);
        launch.buffers = vec![
            Buffer::of_u32(vec![0; GIVEN.len()]),
            Buffer::of_u32(GIVEN.map(|k| k as u32)),
        ];
        launch.bindings = vec![("o".into(), 0), ("given".into(), 1)];
        let outcome = run(&module, &launch);
        assert!(outcome.error.is_none(), "{name}: {:?}", outcome.error);
        let words = outcome.buffers[0].words();
        words.into_iter().map(|word| word as i32).collect()
    });
}

#[test]
fn c_is_what_compilers_of_c_say() {
    let source = include_str!("languages/plain.c");
    let items = parse_text(source, Dialect::C);
    for item in &items {
        assert!(item.problems.is_empty(), "{:?}", item.problems);
    }
    let all = lower_unit(&items, &LowerOptions::new(Language::C));
    judged(expected(source, "int "), |name| {
        let mut found = all.iter().map(|(_, lowered)| lowered);
        let found = found.find(|lowered| lowered.module.functions[0].name == name);
        let module = &found.expect("a function").module;
        if let Err(errors) = verify_module(module) {
            panic!("{}", errors[0]);
        }
        let unknowns: Vec<_> = module.functions[0].unknowns.values().collect();
        assert!(unknowns.is_empty(), "{unknowns:?}");
        let of = |k: i32| {
            let mut launch = Launch::new(1);
            launch.parameters = vec![Argument::Bits(k as u64)];
            let outcome = run(module, &launch);
            assert!(outcome.error.is_none(), "{name}: {:?}", outcome.error);
            outcome.returned[0][0] as i32
        };
        GIVEN.map(of).to_vec()
    });
}
