//! Pixel quads, textures, stage inputs, and stand-ins for unknown inputs.

use super::*;

fn input(b: &mut FunctionBuilder, semantic: &str, component: u8, ty: Type) -> Value {
    b.function.inputs.push(StageInput {
        name: semantic.to_lowercase().into(),
        semantic: semantic.into(),
        component,
        interpolation: Interpolation::Perspective,
        ty,
    });
    let index = b.function.inputs.len() as u32 - 1;
    b.value(Op::StageInput(index), &[], ty)
}

fn floats(column: &[u64]) -> Vec<f32> {
    column
        .iter()
        .map(|&bits| f32::from_bits(bits as u32))
        .collect()
}

#[test]
fn derivatives_are_differences_in_the_quad() {
    let columns = returned(8, |b| {
        let x = input(b, "SV_POSITION", 0, Type::F32);
        let y = input(b, "SV_POSITION", 1, Type::F32);
        let xy = b.binary(BinaryOp::FloatMul, Wrap::MAY, x, y);
        let d = |b: &mut FunctionBuilder, kind, v| b.value(Op::Derivative(kind), &[v], Type::F32);
        [
            d(b, Derivative::X, xy),
            d(b, Derivative::YFine, xy),
            d(b, Derivative::XCoarse, xy),
            d(b, Derivative::Width, xy),
            x,
            y,
        ]
    });
    assert_eq!(
        floats(&columns[4]),
        [0.5, 1.5, 0.5, 1.5, 2.5, 3.5, 2.5, 3.5]
    );
    assert_eq!(
        floats(&columns[5]),
        [0.5, 0.5, 1.5, 1.5, 0.5, 0.5, 1.5, 1.5]
    );
    assert_eq!(
        floats(&columns[0]),
        [0.5, 0.5, 1.5, 1.5, 0.5, 0.5, 1.5, 1.5]
    );
    assert_eq!(
        floats(&columns[1]),
        [0.5, 1.5, 0.5, 1.5, 2.5, 3.5, 2.5, 3.5]
    );
    assert_eq!(floats(&columns[2]), [0.5; 8]);
    assert_eq!(
        floats(&columns[3]),
        [1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0, 5.0]
    );
}

#[test]
fn a_discarded_pixel_keeps_its_last_value_for_its_quad() {
    let module = kernel(|b| {
        let lane = tid(b);
        let one = b.int(Type::I32, 1);
        let x = b.convert(Convert::SignedToFloat, lane, Type::F32);
        b.function.returns = vec![Type::F32];
        let (end, go) = (b.create_block(), b.create_block());
        let c = b.int_compare(IntCondition::Equal, lane, one);
        b.branch(c, end, go, BranchKind::If);
        b.switch_to(end);
        b.terminate(Terminator::Kill, BranchKind::Implied);
        b.switch_to(go);
        let d = b.value(Op::Derivative(Derivative::X), &[x], Type::F32);
        b.ret([d]);
    });
    let outcome = run(&module, &Launch::new(4));
    assert_eq!(outcome.error, None);
    assert_eq!(floats(&outcome.returned[0]), [1.0, 0.0, 1.0, 1.0]);
}

fn texture(b: &mut FunctionBuilder, name: &str) -> Value {
    let symbol = b.symbol(SymbolData {
        name: name.into(),
        space: Space::Global,
        kind: SymbolKind::Texture,
        size: None,
        align: 1,
        read_only: false,
        initial: None,
        resource_array: None,
        definition: Default::default(),
    });
    b.symbol_address(symbol)
}

fn texture_op(op: TextureOp, coordinates: u8) -> Op {
    Op::Texture(TextureAccess {
        op,
        coordinates,
        has_sampler: false,
        has_offset: false,
        read_only: false,
        geometry: Geometry::Unknown,
        component: 0,
    })
}

#[test]
fn what_is_stored_in_a_texture_is_loaded_again() {
    let module = kernel(|b| {
        let t = texture(b, "t");
        let lane = tid(b);
        let two = b.int(Type::I32, 2);
        let value = b.convert(Convert::SignedToFloat, lane, Type::F32);
        b.inst(texture_op(TextureOp::Store, 2), &[t, lane, two, value], &[]);
        returns(b, |b| {
            let same = b.value(texture_op(TextureOp::Load, 2), &[t, lane, two], Type::F32);
            let other = b.value(texture_op(TextureOp::Load, 2), &[t, lane, lane], Type::F32);
            let again = b.value(texture_op(TextureOp::Load, 2), &[t, lane, lane], Type::F32);
            let add = TextureOp::Atomic(AtomicOp::Add);
            let u = texture(b, "u");
            let first = b.value(texture_op(add, 1), &[u, two, lane], Type::I32);
            [same, other, again, first]
        });
    });
    let outcome = run(&module, &Launch::new(4));
    assert_eq!(outcome.error, None);
    assert_eq!(floats(&outcome.returned[0]), [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(outcome.returned[1], outcome.returned[2]);
    assert_eq!(outcome.texels.len(), 5);
    let sums = &outcome.returned[3];
    assert_eq!(
        (sums[1], sums[2], sums[3]),
        (sums[0], sums[0] + 1, sums[0] + 3)
    );
}

#[test]
fn textures_can_be_given() {
    let module = kernel(|b| {
        let t = texture(b, "t");
        let x = input(b, "TEXCOORD0", 0, Type::F32);
        returns(b, |b| {
            [b.value(texture_op(TextureOp::Sample, 1), &[t, x], Type::F32)]
        });
    });
    let mut launch = Launch::new(4);
    launch.textures = Textures::Function(std::rc::Rc::new(|query| query.coordinates[0] * 2.0));
    launch.inputs = Inputs::Table(vec![
        (0..4).map(|i| u64::from((i as f32).to_bits())).collect(),
    ]);
    assert_eq!(
        floats(&run(&module, &launch).returned[0]),
        [0.0, 2.0, 4.0, 6.0]
    );
}

#[test]
fn unknowns_are_repeatable_and_pure_ones_depend_on_operands_alone() {
    let module = kernel(|b| {
        let lane = tid(b);
        let zero = b.int(Type::I32, 0);
        returns(b, |b| {
            let call = |b: &mut FunctionBuilder, pure, arg| {
                b.value(
                    Op::CallUnknown {
                        name: "f".into(),
                        pure,
                        convention: Default::default(),
                    },
                    &[arg],
                    Type::I64,
                )
            };
            let unknown = b.unknown("a reason", &[], Type::I64);
            let same = call(b, true, zero);
            let by_lane = call(b, true, lane);
            let free = call(b, false, zero);
            let named = b.value(Op::Parameter("N".into()), &[], Type::I32);
            [unknown, same, by_lane, free, named]
        });
    });
    let mut launch = Launch::new(16);
    launch.constants.push(("N".into(), 12));
    let first = run(&module, &launch);
    assert_eq!(first, run(&module, &launch));
    let distinct = |column: &[u64]| {
        let mut column = column.to_vec();
        column.sort_unstable();
        column.dedup();
        column.len()
    };
    assert!(distinct(&first.returned[0]) > 8);
    assert_eq!(distinct(&first.returned[1]), 1);
    assert!(distinct(&first.returned[2]) > 8);
    assert!(distinct(&first.returned[3]) > 8);
    assert_eq!(first.returned[4], [12; 16]);
    assert_eq!(first.events.len(), 4);
    launch.seed = 1;
    assert_ne!(first.returned, run(&module, &launch).returned);
    launch.mode = Mode::LanesApart;
    let apart = run(&module, &launch);
    launch.mode = Mode::Lockstep;
    assert_eq!(apart.returned, run(&module, &launch).returned);
}
