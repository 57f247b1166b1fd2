//! Methods of textures: which operation each is, on which operands. The forms are those of the reference of HLSL.

use lockstep_ir::lower::c_family::{LowerOptions, lower_unit};
use lockstep_ir::verify::verify_module;
use lockstep_ir::*;
use std::fmt::Write as _;
use syntax::c_family::{Dialect, parse_text};

/// The operation on a texture in `statement`, as one line.
fn operation(texture: &str, statement: &str) -> String {
    let text = format!(
        "{texture} t; SamplerState s; SamplerComparisonState c; RWStructuredBuffer<float4> o; float2 uv; float3 uvw; float4 uvwq; int2 d; uint status;\n\
         float4 main(float4 at : SV_Position) : SV_Target {{ uint w = 0, h = 0, e = 0, l = 0; float4 r = 0; {statement} return r + w + h + e + l; }}"
    );
    let items = parse_text(&text, Dialect::Hlsl);
    for item in &items {
        assert!(item.problems.is_empty(), "{text}: {:?}", item.problems);
    }
    let lowered = lower_unit(&items, &LowerOptions::new(Language::Hlsl));
    let mut modules = lowered.into_iter().map(|(_, lowered)| lowered.module);
    let module = modules
        .find(|module| module.functions[0].name == "main")
        .expect("an entry point");
    assert_eq!(verify_module(&module), Ok(()), "{text}");
    let function = &module.functions[0];
    let unknowns: Vec<_> = function.unknowns.values().collect();
    assert!(unknowns.is_empty(), "{statement}: {unknowns:?}");
    let mut line = String::new();
    for &block in &function.layout {
        for &inst in &function.blocks[block].insts {
            let data = &function.insts[inst];
            if let Op::Texture(access) = &data.op {
                let _ = write!(
                    line,
                    "{:?} {:?} at {}{}{}{}{}, {} operands, {} results;",
                    access.op,
                    access.geometry,
                    access.coordinates,
                    if access.has_sampler { ", sampler" } else { "" },
                    if access.has_offset { ", offset" } else { "" },
                    if access.read_only { "" } else { ", written" },
                    match access.component {
                        0 => String::new(),
                        component => format!(", component {component}"),
                    },
                    data.args.len(),
                    data.results.len(),
                );
            }
        }
    }
    line
}

#[test]
fn methods_are_operations_on_the_operands_that_they_name() {
    let mut wrong = String::new();
    for line in include_str!("texture_methods.txt").lines() {
        if line.starts_with('#') {
            continue;
        }
        let (left, expected) = line.split_once(" => ").expect("what it is");
        let (texture, statement) = left.split_once(": ").expect("a texture and a statement");
        let found = operation(texture.trim(), statement.trim());
        if found != expected.trim() {
            let _ = writeln!(wrong, "{left} => {found}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
