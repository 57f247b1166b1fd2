//! Contracted products: only permitted results change, each of them is the one rounding of product and sum
//! that the processor's own `fma` gives, and the printed code computes the same as the contracted function.

#[path = "support/read.rs"]
mod read;

use ir::{
    BinaryOp, Function, FunctionKind, Inst, InstData, Language, Module, Op, Type, Value, ValueData,
    ValueDef, Wrap,
};
use lockstep_codegen::contract::contracted;
use lockstep_codegen::target::ptx::{Target, generate};
use oracle::interp::{Instance, Launch, Observer, lanes, run, run_with};
use oracle::random::{Flavour, Random, Shape, program};
use read::read;
use std::collections::HashMap;

const PROGRAMS: u64 = 400;

fn shape(seed: u64) -> Shape {
    let mut random = Random::new(seed ^ 0xf0a);
    let flavour = match random.percent(50) {
        true => Flavour::Structured,
        false => Flavour::Arbitrary,
    };
    Shape {
        flavour,
        fuel: 6,
        blocks: 3 + random.below(6),
        block_insts: 6 + random.below(12),
        // A function of PTX that calls itself is not executed.
        functions: 0,
        floats: true,
        doubles: random.percent(50),
        math: false,
        symbolic_parameters: false,
        undefined: false,
        warp_ops: false,
        warp_sizes: vec![32],
        ..Shape::small(flavour)
    }
}

/// Puts products in front of operations on floating-point numbers, which random programs seldom have there.
fn with_products(function: &mut Function, random: &mut Random) {
    for block in function.layout.clone() {
        for inst in function.blocks[block].insts.clone() {
            let data = function.insts[inst].clone();
            let Op::Binary(op, _) = data.op else {
                continue;
            };
            let ty = function.ty(data.args[0]);
            let float = matches!(ty, Type::F32 | Type::F64);
            let sums = [
                BinaryOp::FloatMul,
                BinaryOp::FloatMax,
                BinaryOp::FloatMin,
                BinaryOp::FloatDiv,
            ];
            if !float || function.ty(data.args[1]) != ty || random.percent(20) {
                continue;
            }
            let op = match sums.contains(&op) {
                true => *random.pick(&[BinaryOp::FloatAdd, BinaryOp::FloatSub]),
                false => op,
            };
            let wrap = match random.percent(10) {
                true => Wrap::SEPARATE,
                false => Wrap::MAY,
            };
            let made = function.insts.push(InstData {
                op: Op::Binary(BinaryOp::FloatMul, wrap),
                args: data.args.clone(),
                ..data.clone()
            });
            let product = function.values.push(ValueData {
                ty,
                def: ValueDef::Result(made, 0),
            });
            function.insts[made].results = [product].into_iter().collect();
            function.insts[inst].op = Op::Binary(op, Wrap::MAY);
            let changed = random.below(2) as usize;
            function.insts[inst].args[changed] = product;
            let all = &mut function.blocks[block].insts;
            let at = all
                .iter()
                .position(|each| *each == inst)
                .expect("it is there");
            all.insert(at, made);
        }
    }
}

/// The operations that one `fma` stands for, by its value: factors, addend, and which of them is negated.
#[derive(Clone, Copy, Debug)]
struct Fused {
    factors: [Value; 2],
    addend: Value,
    minus_product: bool,
    minus_addend: bool,
}

/// The operations that were contracted; an error where something else has changed.
fn compared(before: &Function, after: &Function) -> Result<HashMap<Value, Fused>, String> {
    let mut found = HashMap::new();
    let placed = |function: &Function| -> HashMap<Inst, u32> {
        let blocks = function.blocks.iter();
        blocks
            .flat_map(|(block, data)| data.insts.iter().map(move |inst| (*inst, block.0)))
            .collect()
    };
    let (old, new) = (placed(before), placed(after));
    for (inst, data) in before.insts.iter() {
        let Some(block) = old.get(&inst) else {
            continue;
        };
        let now = &after.insts[inst];
        if new.get(&inst) == Some(block) && now.op == data.op {
            if now != data {
                return Err(format!("{inst:?} reads something else"));
            }
            continue;
        }
        match (&data.op, &now.op) {
            // Its readers are looked at below.
            (Op::Binary(BinaryOp::FloatMul, wrap), _) if !wrap.separate => {}
            (Op::Binary(op @ (BinaryOp::FloatAdd | BinaryOp::FloatSub), wrap), Op::Fma)
                if !wrap.separate =>
            {
                let (x, y) = (data.args[0], data.args[1]);
                let gone = |value: Value| match before.values[value].def {
                    ValueDef::Result(inst, _) => {
                        let data = &before.insts[inst];
                        let changed = !new.contains_key(&inst) || after.insts[inst].op != data.op;
                        (changed && matches!(data.op, Op::Binary(BinaryOp::FloatMul, _)))
                            .then(|| [data.args[0], data.args[1]])
                    }
                    ValueDef::Param(..) => None,
                };
                let minus = *op == BinaryOp::FloatSub;
                let (factors, addend, first) = match (gone(x), gone(y)) {
                    (Some(factors), None) => (factors, y, true),
                    (None, Some(factors)) => (factors, x, false),
                    both => return Err(format!("{inst:?} has {both:?}")),
                };
                let fused = Fused {
                    factors,
                    addend,
                    minus_product: minus && !first,
                    minus_addend: minus && first,
                };
                found.insert(data.results[0], fused);
            }
            _ => return Err(format!("{:?} has become {:?}", data.op, now.op)),
        }
    }
    Ok(found)
}

/// The last values of a warp, by lane.
struct Judge<'f> {
    fused: &'f [HashMap<Value, Fused>],
    module: &'f Module,
    held: HashMap<(u32, u64, u32, u32, Value), [u64; 64]>,
    judged: u64,
    wrong: Vec<String>,
}

impl Observer for Judge<'_> {
    fn values(&mut self, at: &Instance<'_>, value: Value, now: &[u64], mask: u64) {
        let key = |value| (at.function, at.workgroup_index, at.warp, at.depth, value);
        if let Some(fused) = self.fused[at.function as usize].get(&value) {
            let ty = self.module.functions[at.function as usize].ty(value);
            let of = |value: Value, lane: u32| {
                self.held
                    .get(&key(value))
                    .map_or(0, |held| held[lane as usize])
            };
            for lane in lanes(mask) {
                let [a, b] = fused.factors.map(|value| of(value, lane));
                let c = of(fused.addend, lane);
                let same = match ty {
                    Type::F32 => {
                        let [a, b, c] = [a, b, c].map(|bits| f32::from_bits(bits as u32));
                        let a = if fused.minus_product { -a } else { a };
                        let c = if fused.minus_addend { -c } else { c };
                        let (wanted, found) =
                            (a.mul_add(b, c), f32::from_bits(now[lane as usize] as u32));
                        wanted.to_bits() == found.to_bits() || wanted.is_nan() && found.is_nan()
                    }
                    _ => {
                        let [a, b, c] = [a, b, c].map(f64::from_bits);
                        let a = if fused.minus_product { -a } else { a };
                        let c = if fused.minus_addend { -c } else { c };
                        let (wanted, found) = (a.mul_add(b, c), f64::from_bits(now[lane as usize]));
                        wanted.to_bits() == found.to_bits() || wanted.is_nan() && found.is_nan()
                    }
                };
                self.judged += 1;
                if !same {
                    self.wrong.push(format!("{value}: {fused:?}"));
                }
            }
        }
        let held = self.held.entry(key(value)).or_insert([0; 64]);
        for lane in lanes(mask) {
            held[lane as usize] = now[lane as usize];
        }
    }
}

fn printed_again(module: &Module) -> Option<Module> {
    let target = Target {
        contract: true,
        ..Target::default()
    };
    let text = generate(module, &target).ok()?.text;
    let all = ir::lower::ptx::lower_text(&text).into_iter();
    all.map(|(_, _, lowered)| lowered.module)
        .find(|module| module.functions[0].kind == FunctionKind::Kernel)
}

#[test]
fn random_programs_are_contracted_as_the_processor_rounds() {
    let (mut judged, mut operations, mut printed) = (0, 0, 0);
    for seed in 0..PROGRAMS {
        let mut program = program(seed, &shape(seed));
        let mut random = Random::new(seed);
        for function in &mut program.module.functions {
            with_products(function, &mut random);
        }
        ir::verify_module(&program.module).unwrap_or_else(|errors| panic!("{seed}: {errors:?}"));
        let before = &program.module;
        let functions = before.functions.iter();
        let after = Module {
            functions: functions
                .map(|each| contracted(each).into_owned())
                .collect(),
        };
        ir::verify_module(&after).unwrap_or_else(|errors| panic!("{seed}: {errors:?}"));
        let pairs = before.functions.iter().zip(&after.functions);
        let fused: Vec<HashMap<Value, Fused>> = pairs
            .map(|(a, b)| compared(a, b).unwrap_or_else(|why| panic!("{seed}: {why}")))
            .collect();
        operations += fused.iter().map(HashMap::len).sum::<usize>();
        let mut launch = Launch::for_program(&program);
        launch.seed = seed;
        launch.limits.steps = launch.limits.steps.saturating_mul(40);
        let mut judge = Judge {
            fused: &fused,
            module: &after,
            held: HashMap::new(),
            judged: 0,
            wrong: Vec::new(),
        };
        let outcome = run_with(&after, &launch, &mut judge, &());
        assert!(judge.wrong.is_empty(), "{seed}: {:?}", judge.wrong);
        judged += judge.judged;
        let atomics = after.functions.iter().flat_map(|each| each.insts.values());
        let mut atomics = atomics.filter(|data| matches!(data.op, Op::Atomic(..)));
        if outcome.error.is_none()
            && atomics.next().is_none()
            && let Some(again) = printed_again(before)
        {
            let second = run(&again, &launch);
            assert!(second.error.is_none(), "{seed}: {:?}", second.error);
            for (a, b) in outcome.buffers.iter().zip(&second.buffers) {
                assert_eq!(a.words(), b.words(), "{seed}");
            }
            printed += 1;
        }
    }
    println!("{operations} operations contracted, judged in {judged} lanes, {printed} printed");
    assert!(operations > 200 && judged > 5_000 && printed > 100);
}

fn code(text: &str, language: Language, contract: bool) -> String {
    let (modules, problems) = read(text, language).lowered();
    assert_eq!(problems, 0, "{text}");
    let target = Target {
        contract,
        ..Target::default()
    };
    let found = modules.iter().map(|module| generate(module, &target));
    let found: Vec<String> = found.map(|code| code.expect("code").text).collect();
    found.concat()
}

/// The operations on floating-point numbers, without their operands.
fn operations(text: &str) -> Vec<&str> {
    let names = text
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    let float = |name: &&str| {
        (name.ends_with(".f32") || name.ends_with(".f64"))
            && !["ld", "st", "mov"].contains(&name.split('.').next().unwrap_or(""))
    };
    names.filter(float).collect()
}

fn cuda(expression: &str, contract: bool) -> Vec<String> {
    let text = format!(
        "__global__ void k(float* o, float a, float b, float c, float d) {{ o[0] = {expression}; }}"
    );
    let code = code(&text, Language::Cuda, contract);
    assert!(!code.contains("call"), "{code}");
    operations(&code).into_iter().map(str::to_owned).collect()
}

#[test]
fn sums_of_products_are_printed_as_one_operation() {
    for (expression, wanted) in [
        ("a * b + c", &["fma.rn.f32"][..]),
        ("c - a * b", &["neg.f32", "fma.rn.f32"]),
        ("a * b - c", &["neg.f32", "fma.rn.f32"]),
        ("a * b + c * d", &["mul.rn.f32", "fma.rn.f32"]),
        ("a * b + c + d", &["fma.rn.f32", "add.rn.f32"]),
        ("__fmul_rn(a, b) + c", &["mul.rn.f32", "add.rn.f32"]),
        ("__fadd_rn(a * b, c)", &["mul.rn.f32", "add.rn.f32"]),
    ] {
        let mut found = cuda(expression, true);
        let mut wanted: Vec<&str> = wanted.to_vec();
        found.sort();
        wanted.sort_unstable();
        assert_eq!(found, wanted, "{expression}");
    }
    assert_eq!(cuda("a * b + c", false), ["mul.rn.f32", "add.rn.f32"]);
}

#[test]
fn a_product_with_another_use_stays() {
    let text = "__global__ void k(float* o, float a, float b, float c) { float p = a * b; o[0] = p + c; o[1] = p; }";
    assert_eq!(
        operations(&code(text, Language::Cuda, true)),
        ["mul.rn.f32", "add.rn.f32"]
    );
    let text = "__global__ void k(float* o, float a, float b, float c) { float p = a * b; o[0] = p + c; o[1] = p + b; }";
    assert_eq!(
        operations(&code(text, Language::Cuda, true)),
        ["fma.rn.f32", "fma.rn.f32"]
    );
}

#[test]
fn precise_shaders_round_each_operation() {
    let shader = |word: &str| {
        format!(
            "RWStructuredBuffer<float> o : register(u0); cbuffer b : register(b0) {{ float x; float y; float z; }};\n\
             [numthreads(64, 1, 1)] void k(uint3 i : SV_DispatchThreadID) {{ {word} float s = x * y + z; o[i.x] = s; }}"
        )
    };
    let of = |word: &str| {
        let code = code(&shader(word), Language::Hlsl, true);
        operations(&code).join(" ")
    };
    assert_eq!(of(""), "fma.rn.f32");
    assert_eq!(of("precise"), "mul.rn.f32 add.rn.f32");
}

#[test]
fn functions_that_ask_for_it_are_approximate_instructions() {
    for (expression, wanted) in [
        ("__expf(a)", &["mul.rn.f32", "ex2.approx.f32"][..]),
        ("__exp10f(a)", &["mul.rn.f32", "ex2.approx.f32"]),
        ("__logf(a)", &["lg2.approx.f32", "mul.rn.f32"]),
        ("__log2f(a)", &["lg2.approx.f32"]),
        ("__log10f(a)", &["lg2.approx.f32", "mul.rn.f32"]),
        ("__sinf(a)", &["sin.approx.f32"]),
        ("__cosf(a)", &["cos.approx.f32"]),
        (
            "__tanf(a)",
            &["sin.approx.f32", "cos.approx.f32", "div.approx.f32"],
        ),
        (
            "__powf(a, b)",
            &["lg2.approx.f32", "mul.rn.f32", "ex2.approx.f32"],
        ),
        ("__fdividef(a, b)", &["div.approx.f32"]),
        ("__frcp_rn(a)", &["rcp.rn.f32"]),
        ("__fsqrt_rn(a)", &["sqrt.rn.f32"]),
        ("__frsqrt_rn(a)", &["rsqrt.approx.f32"]),
        ("__saturatef(a)", &["cvt.sat.f32.f32"]),
        ("__fdiv_rn(a, b)", &["div.rn.f32"]),
    ] {
        assert_eq!(cuda(expression, true), wanted, "{expression}");
    }
    // What is not asked for approximately is a call of the library.
    let text = "__global__ void k(float* o, float a) { o[0] = sinf(a); }";
    assert!(code(text, Language::Cuda, true).contains("__nv_sinf"));
}
