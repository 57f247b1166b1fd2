//! Every impossible access ends the run with a place and a reason; checked ones go on.

use super::*;
use syntax::Span;

/// Stores the lane number at `p + scale * lane + start` as `ty`.
fn stores(space: Space, access: MemoryAccess, scale: i64, start: i64) -> Module {
    kernel(|b| {
        let p = b.parameter("p", "int*", &[Type::Ptr(space)])[0];
        let lane = tid(b);
        let at = element(b, p, lane, scale);
        let start = b.int(Type::I64, start);
        let at = b.ptr_add(at, start);
        b.set_loc(Loc::here(Span::new(10, 20)));
        b.store(access, at, &[lane]);
        b.ret([]);
    })
}

fn launch(bytes: usize) -> Launch {
    let mut launch = Launch::new(8);
    launch.buffers.push(Buffer::global(vec![0; bytes]));
    launch.parameters.push(Argument::Pointer {
        buffer: 0,
        offset: 0,
    });
    launch
}

fn fault(module: &Module, launch: &Launch) -> (u32, Fault) {
    match run(module, launch).error {
        Some(Error::Access { place, fault, .. }) => {
            assert_eq!(place.loc.span, Span::new(10, 20));
            assert_eq!(place.thread, [place.lane, 0, 0]);
            (place.lane, fault)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_fits_is_stored() {
    let outcome = run(&stores(Space::Global, GLOBAL, 4, 0), &launch(32));
    assert_eq!(outcome.error, None);
    assert_eq!(outcome.buffers[0].words(), [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn bounds_are_checked_in_both_directions() {
    let module = stores(Space::Global, GLOBAL, 4, 0);
    assert_eq!(
        fault(&module, &launch(20)),
        (
            5,
            Fault::OutOfBounds {
                offset: 20,
                size: 20
            }
        )
    );
    assert_eq!(
        fault(&module, &launch(22)),
        (
            5,
            Fault::OutOfBounds {
                offset: 20,
                size: 22
            }
        )
    );
    let module = stores(Space::Global, GLOBAL, -4, 0);
    assert_eq!(
        fault(&module, &launch(20)),
        (
            1,
            Fault::OutOfBounds {
                offset: -4,
                size: 20
            }
        )
    );
    let module = stores(Space::Global, GLOBAL, 1 << 39, 0);
    assert!(matches!(
        fault(&module, &launch(20)),
        (1, Fault::NoObject | Fault::OutOfBounds { .. })
    ));
}

#[test]
fn null_misaligned_foreign_and_constant_memory() {
    let module = stores(Space::Global, GLOBAL, 4, 0);
    let mut null = launch(64);
    null.parameters = vec![Argument::Bits(0)];
    assert_eq!(fault(&module, &null), (0, Fault::Null));
    let module = stores(Space::Global, GLOBAL, 2, 0);
    assert_eq!(
        fault(&module, &launch(64)),
        (1, Fault::Misaligned { to: 4 })
    );
    let module = stores(Space::Global, GLOBAL, 4, 0);
    let mut fixed = launch(64);
    fixed.buffers[0].writable = false;
    assert_eq!(fault(&module, &fixed), (0, Fault::ReadOnly));
    let module = stores(Space::Generic, SHARED, 4, 0);
    assert_eq!(
        fault(&module, &launch(64)),
        (
            0,
            Fault::WrongSpace {
                found: Space::Global
            }
        )
    );
}

#[test]
fn a_neighbour_in_shared_memory_is_not_reached() {
    let module = kernel(|b| {
        let a = shared(b, "a", 16);
        shared(b, "z", 64);
        let lane = tid(b);
        let at = element(b, a, lane, 4);
        b.set_loc(Loc::here(Span::new(10, 20)));
        b.store(SHARED, at, &[lane]);
        b.ret([]);
    });
    assert_eq!(
        fault(&module, &Launch::new(8)),
        (
            4,
            Fault::OutOfBounds {
                offset: 16,
                size: 16
            }
        )
    );
}

#[test]
fn generic_addresses_lead_to_their_space() {
    let columns = returned(4, |b| {
        let a = shared(b, "a", 64);
        let private = b.alloca(8, 8);
        let lane = tid(b);
        let own = element(b, a, lane, 4);
        let generic = Type::Ptr(Space::Generic);
        let own = b.convert(Convert::SpaceCast, own, generic);
        let private = b.convert(Convert::SpaceCast, private, generic);
        let access = MemoryAccess::in_space(Space::Generic);
        b.store(access, own, &[lane]);
        b.store(access, private, &[lane]);
        let x = b.load(access, own, Type::I32);
        let y = b.load(access, private, Type::I32);
        let back = b.convert(Convert::SpaceCast, own, Type::Ptr(Space::Shared));
        let z = b.load(SHARED, back, Type::I32);
        [x, y, z]
    });
    assert_eq!(columns, [[0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3]]);
}

#[test]
fn a_shared_address_survives_32_bits() {
    let columns = returned(2, |b| {
        let a = shared(b, "a", 64);
        let lane = tid(b);
        let own = element(b, a, lane, 4);
        let wide = b.convert(Convert::Bitcast, own, Type::I64);
        let short = b.convert(Convert::Truncate, wide, Type::I32);
        let wide = b.convert(Convert::ZeroExtend, short, Type::I64);
        let own = b.convert(Convert::Bitcast, wide, Type::Ptr(Space::Shared));
        b.store(SHARED, own, &[lane]);
        [b.load(SHARED, own, Type::I32)]
    });
    assert_eq!(columns, [[0, 1]]);
}

#[test]
fn checked_accesses_give_zero_and_drop() {
    let access = MemoryAccess {
        checked: true,
        ..GLOBAL
    };
    let outcome = run(&stores(Space::Global, access, 4, 0), &launch(8));
    assert_eq!(outcome.error, None);
    assert_eq!(outcome.buffers[0].words(), [0, 1]);
    assert_eq!(outcome.events.len(), 1);
    assert_eq!(outcome.events[0].count, 6);
    let module = kernel(|b| {
        let p = b.parameter("p", "int*", &[Type::Ptr(Space::Global)])[0];
        returns(b, |b| {
            let lane = tid(b);
            let at = element(b, p, lane, 4);
            [b.load(access, at, Type::I32)]
        });
    });
    let mut launch = launch(8);
    launch.buffers[0].bytes.fill(1);
    let word = 0x0101_0101;
    assert_eq!(
        run(&module, &launch).returned,
        [vec![word, word, 0, 0, 0, 0, 0, 0]]
    );
}

#[test]
fn private_memory_is_a_lanes_own_and_starts_as_zeros() {
    let columns = returned(4, |b| {
        let p = b.alloca(16, 4);
        let q = b.alloca(16, 4);
        let lane = tid(b);
        let before = b.load(LOCAL, p, Type::I32);
        b.store(LOCAL, p, &[lane]);
        let after = b.load(LOCAL, p, Type::I32);
        let other = b.load(LOCAL, q, Type::I32);
        [before, after, other]
    });
    assert_eq!(columns, [[0, 0, 0, 0], [0, 1, 2, 3], [0, 0, 0, 0]]);
}

#[test]
fn vectors_of_mixed_types_are_consecutive() {
    let module = kernel(|b| {
        let p = b.parameter("p", "void*", &[Type::Ptr(Space::Global)])[0];
        let small = b.int(Type::I8, -2);
        let yes = b.bool(true);
        let half = b.float(Type::F16, 1.5);
        let single = b.float(Type::F32, 2.5);
        b.store(GLOBAL, p, &[small, yes, half, single]);
        let types = [Type::I8, Type::Bool, Type::F16, Type::F32];
        let inst = b.inst(Op::Load(GLOBAL), &[p], &types);
        let values = b.results(inst).to_vec();
        b.function.returns = types.to_vec();
        b.ret(values);
    });
    let mut launch = launch(8);
    launch.block = [1, 1, 1];
    let outcome = run(&module, &launch);
    assert_eq!(outcome.error, None);
    assert_eq!(
        outcome.buffers[0].bytes,
        [0xfe, 1, 0x00, 0x3e, 0, 0, 0x20, 0x40]
    );
    let bits: Vec<u64> = outcome.returned.iter().map(|c| c[0]).collect();
    assert_eq!(bits, [-2i64 as u64, 1, 0x3e00, 0x4020_0000]);
}

#[test]
fn atomics_go_by_ascending_lane_and_keep_their_sums() {
    let module = kernel(|b| {
        let p = b.parameter("p", "int*", &[Type::Ptr(Space::Global)])[0];
        returns(b, |b| {
            let lane = tid(b);
            let four = b.int(Type::I64, 4);
            let eight = b.int(Type::I64, 8);
            let (q, r) = (b.ptr_add(p, four), b.ptr_add(p, eight));
            let two = b.int(Type::I32, 2);
            let old = b.value(Op::Atomic(AtomicOp::Add, GLOBAL), &[p, lane], Type::I32);
            b.inst(Op::Atomic(AtomicOp::IncrementWrap, GLOBAL), &[q, two], &[]);
            b.inst(
                Op::Atomic(AtomicOp::CompareExchange, GLOBAL),
                &[r, lane, two],
                &[],
            );
            [old]
        });
    });
    let mut launch = launch(16);
    launch.block = [4, 1, 1];
    let plain = run(&module, &launch);
    assert_eq!(plain.returned, [vec![0, 0, 1, 3]]);
    assert_eq!(plain.buffers[0].words(), [6, 1, 2, 0]);
    launch.shuffle_atomics = true;
    launch.seed = 5;
    assert_eq!(run(&module, &launch).buffers[0].words()[..2], [6, 1]);
}

#[test]
fn additions_in_global_memory_flush_subnormal_numbers() {
    const LEAST: u64 = 0x0080_0000;
    const BELOW: u64 = 0x007f_ffff;
    let word = |language, shared| {
        let mut b = FunctionBuilder::new("k", FunctionKind::Kernel, language);
        let p = b.parameter("p", "float*", &[Type::Ptr(Space::Global)])[0];
        let access = MemoryAccess::in_space(if shared { Space::Shared } else { Space::Global });
        let place = if shared {
            let symbol = b.symbol(SymbolData {
                name: "sum".into(),
                space: Space::Shared,
                kind: SymbolKind::Memory,
                size: Some(4),
                align: 4,
                read_only: false,
                initial: None,
                resource_array: None,
                definition: Default::default(),
            });
            b.symbol_address(symbol)
        } else {
            p
        };
        let (least, below) = (b.constant(Type::F32, LEAST), b.constant(Type::F32, BELOW));
        b.store(access, place, &[least]);
        b.inst(Op::Atomic(AtomicOp::FloatAdd, access), &[place, below], &[]);
        let sum = b.load(access, place, Type::F32);
        b.store(GLOBAL, p, &[sum]);
        b.ret([]);
        let mut launch = launch(4);
        launch.block = [1, 1, 1];
        let outcome = run(&module([b.finish()]), &launch);
        assert_eq!(outcome.error, None);
        u64::from(outcome.buffers[0].words()[0])
    };
    assert_eq!(word(Language::Cuda, false), LEAST);
    assert_eq!(word(Language::Ptx, false), LEAST);
    assert_eq!(word(Language::Cuda, true), LEAST + BELOW);
    assert_eq!(word(Language::Hlsl, false), LEAST + BELOW);
}

#[test]
fn symbols_have_their_contents_and_names() {
    let module = kernel(|b| {
        let symbol = b.symbol(SymbolData {
            name: "table".into(),
            space: Space::Constant,
            kind: SymbolKind::Memory,
            size: Some(16),
            align: 4,
            read_only: true,
            initial: Some(vec![5, 0, 0, 0, 6, 0, 0, 0]),
            resource_array: None,
            definition: Default::default(),
        });
        let table = b.symbol_address(symbol);
        returns(b, |b| {
            let lane = tid(b);
            let at = element(b, table, lane, 4);
            [b.load(MemoryAccess::in_space(Space::Constant), at, Type::I32)]
        });
    });
    let mut launch = Launch::new(4);
    assert_eq!(run(&module, &launch).returned, [vec![5, 6, 0, 0]]);
    launch.buffers.push(Buffer::of_u32([9, 8, 7, 6]));
    launch.bindings.push(("table".into(), 0));
    assert_eq!(run(&module, &launch).returned, [vec![9, 8, 7, 6]]);
}
