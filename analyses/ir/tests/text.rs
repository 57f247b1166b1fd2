//! The text form of whole functions: printed text is parsed again, junk is an error, and files compute their
//! stated results.

use lockstep_ir::builder::FunctionBuilder;
use lockstep_ir::text::{normalise, parse, parse_module, print, print_module};
use lockstep_ir::*;
use oracle::interp::{Argument, Launch};
use oracle::random::{Flavour, Random, Shape, program};

/// Everything that a function can hold, numbered and spaced as `print` does.
const ALL: &str = r#"function "name with \"quotes\"" stage.pixel hlsl -> i32, f32 {
  span 0..100 name 5..9
  launch block 64 ? 1 grid ? ? 7 max_threads 256 min_blocks 2 max_registers 96 warp_size 32 with_helpers
  parameter "n" "int" (v0) @8..9
  parameter "p" "float2" (v1, v2) read_only no_alias
  symbol s0 "table" memory constant size 4 align 16 read_only initial "00ff1234"
  symbol s1 "textures" texture generic align 1 array unbounded
  symbol s2 "samplers" sampler generic align 1 array 4
  input "uv" "TEXCOORD0" 1 linear f32
  variable x0 "a" "int" local @14..15
  variable x1 "ü\n\u{1}" "" register
  unknown u0 "no idea" @1..2
  site1 "callee" item "ns::callee" 2 in site0 "x" (v0) "y" () @30..40
  site2 "inner" in site1 @3..4 site1
  loop b1 unroll 4 pipeline "best" independent @20..30
  loop b1
  vector v1, v2

b0(v0: i32, v1: f32, v2: f32):
  v3: i32 = const -5
  v4: bool = const true
  v5: f32 = const 0.1
  v6: f32 = const 0x7fc00000
  v7: f64 = const -0.0
  v8: f16 = const 1.5
  v9: bf16 = const -2.0
  v10: ptr.constant = symbol s0
  v11: handle = symbol s1
  v12: handle = symbol s2
  v13: i32 = special tid.y
  v14: i32 = special workgroup.3
  v15: f32 = input 0
  v16: i32 = parameter "N"
  v17: i32 = undef
  v18: i32 = unknown u0 v0, v1
  v19: ptr.local = alloca 64 16
  jump b1(v3)

b1(v20: i32):
  v21: i32 = add.nsw.nuw v20, v3 @22..25 site2
  v22: bool = icmp.lt_s v21, v0
  v23: bool = fcmp.ordered v1, v2
  v24: f32, v25: f32 = load.constant.volatile.read_only.checked v10 if !v22 @26..27
  v26: f32 = fma v1, v2, v24
  v27: i32 = select v23, v3, v20
  v28: i32 = lop3 v0, v3, v20, v27
  v29: i64 = sext v28
  v30: ptr.local = ptr_add v19, v29
  store.local v30, v26, v2 if v22
  v31: i32 = atomic.compare_exchange.shared v30, v0, v3
  atomic.add.global v30, v0
  v32: handle = resource_element.nonuniform v11, v20
  v33: f32 = texture.sample.sampler.offset.read_only 2 v32, v12, v1, v2
  texture.atomic_add 1 v32, v20, v20
  v34: i32 = warp.shuffle_ptx.butterfly.mask v20, v0, v3, v3
  v35: i32 = warp.reduce.add v34
  barrier.workgroup
  v36: f32 = derivative.x_fine v1
  fence
  v37: i32 = call 1 v3
  v38: i32 = call_unknown.pure "f" v3
  asm "bar %0; // \\" v3
  branch.uniform v22, b1(v21), b2 as short_circuit @1..2

b2:
  switch v27 [-1: b3, 2: b4(v1, v2), default: b3] as switch

b3:
  kill

b4(v39: f32, v40: f32):
  return v3, v39
  bind x0 declare b0 () @1..2
  bind x1 assign b4 (v39, v40) ".xy" @1..2 site1
}
"#;

#[test]
fn every_construct_survives() {
    let function = match parse(ALL) {
        Ok(function) => function,
        Err(error) => panic!("{error}"),
    };
    assert_eq!(print(&function), ALL);
    assert_eq!(normalise(&function), function);
}

#[test]
fn random_modules_survive() {
    let wild = |flavour| Shape {
        flavour,
        blocks: 25,
        functions: 2,
        symbolic_parameters: true,
        undefined: true,
        inactive_sources: true,
        ..Shape::default()
    };
    for shape in [
        Shape::default(),
        Shape::arbitrary(),
        wild(Flavour::Structured),
        wild(Flavour::Arbitrary),
    ] {
        for seed in 0..100 {
            let module = program(seed, &shape).module;
            let text = print_module(&module);
            let parsed = match parse_module(&text) {
                Ok(parsed) => parsed,
                Err(error) => panic!("seed {seed}: {error}"),
            };
            assert_eq!(verify_module(&parsed), Ok(()));
            for (before, after) in module.functions.iter().zip(&parsed.functions) {
                assert_eq!(&normalise(before), after, "seed {seed}");
                let printed = print(after);
                assert_eq!(parse(&printed).as_ref(), Ok(after));
                assert_eq!(normalise(after), *after);
            }
        }
    }
}

#[test]
fn literals_keep_their_bits() {
    let mut random = Random::new(3);
    for ty in [
        Type::F16,
        Type::BF16,
        Type::F32,
        Type::F64,
        Type::I8,
        Type::I64,
        Type::Bool,
    ] {
        for round in 0..2000 {
            let mut bits = random.draw();
            bits = match ty {
                Type::F16 | Type::BF16 if round == 0 => 0x8000,
                Type::F16 | Type::BF16 => bits & 0xffff,
                Type::F32 => bits & 0xffff_ffff,
                Type::I8 => bits as i8 as u64,
                Type::Bool => bits & 1,
                _ => bits,
            };
            let mut b = FunctionBuilder::new("f", FunctionKind::Device, Language::Text);
            b.constant(ty, bits);
            b.ret([]);
            let function = b.finish();
            assert_eq!(parse(&print(&function)), Ok(function));
        }
    }
}

/// Pieces of good text in bad order must give errors, and nothing else.
#[test]
fn junk_is_an_error_and_never_a_panic() {
    let text = print_module(&program(5, &Shape::default()).module);
    let sources: Vec<Vec<char>> = [ALL, &text].iter().map(|s| s.chars().collect()).collect();
    let mut random = Random::new(11);
    for round in 0..4000 {
        let mut source = sources[round % 2].clone();
        for _ in 0..1 + random.below(6) {
            let at = random.below(source.len() as u32) as usize;
            match random.below(5) {
                0 if source.len() > 2 => {
                    source.remove(at);
                }
                1 => {
                    let from = random.below(source.len() as u32) as usize;
                    source[at] = source[from];
                }
                2 => {
                    let odd = [
                        '\u{0}', '"', '\\', '.', '-', '9', 'é', '\n', '{', '@', '(', '0',
                    ];
                    source.insert(at, *random.pick(&odd));
                }
                3 => source.truncate(at.max(2)),
                _ => {
                    let end = (at + random.below(60) as usize).min(source.len());
                    let piece = source[at..end].to_vec();
                    let to = random.below(source.len() as u32) as usize;
                    source.splice(to..to, piece);
                }
            }
        }
        let source: String = source.into_iter().collect();
        if let Ok(module) = parse_module(&source) {
            for function in &module.functions {
                let _ = verify(function);
                let printed = print(function);
                assert_eq!(parse(&printed).as_ref(), Ok(function), "{source}");
            }
        }
    }
}

/// Files of the text form: verified, printed as they are written, and executed as their `run` lines say.
#[test]
fn files_of_the_text_form_compute_what_they_say() {
    let files = fixtures::files("ir", &["lir"]);
    assert!(files.len() >= 3);
    for path in files {
        let fixture = fixtures::load(&path).unwrap();
        let text = &fixture.text;
        assert!(fixture.directive("ir").is_some() && !fixture.prose.is_empty());
        let function = match parse(text) {
            Ok(function) => function,
            Err(error) => panic!("{}:{error}", path.display()),
        };
        assert_eq!(verify(&function), Ok(()));
        assert!(text.ends_with(&print(&function)), "{}", path.display());
        for run in fixture.runs() {
            assert_eq!(run.function, function.name);
            let module = Module {
                functions: vec![function.clone()],
            };
            let lanes = fixture.triple("block").unwrap_or([1; 3]).iter().product();
            let mut launch = Launch::for_function(&function, lanes, 0);
            launch.parameters = run
                .arguments
                .iter()
                .map(|argument| Argument::Bits(argument.parse::<i64>().unwrap() as u64))
                .collect();
            let outcome = oracle::interp::run(&module, &launch);
            assert_eq!(outcome.error, None);
            let found: Vec<i64> = outcome.returned[0]
                .iter()
                .map(|&bits| bits as i64)
                .collect();
            assert_eq!(format!("{found:?}"), run.expected, "{}", path.display());
        }
    }
}
