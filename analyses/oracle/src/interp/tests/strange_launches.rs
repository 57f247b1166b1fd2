//! Verified modules under launches that they were not made for: an error at most, never a panic, and always an end.

use super::*;

#[test]
fn any_launch_ends_in_an_outcome() {
    let mut random = random::Random::new(7);
    let (mut errors, mut accesses, mut barriers) = (0, 0, 0);
    for seed in 0..400 {
        let shape = Shape {
            functions: 2,
            undefined: true,
            inactive_sources: true,
            symbolic_parameters: true,
            ..if seed % 2 == 0 {
                Shape::default()
            } else {
                Shape::arbitrary()
            }
        };
        let program = random::program(seed, &shape);
        let mut launch = Launch::for_program(&program);
        launch.block = [1 + random.below(40), 1 + random.below(3), 1];
        launch.grid = [1 + random.below(2), 1, 1 + random.below(2)];
        launch.warp_size = 1 + random.below(64);
        launch.scramble_undefined = true;
        launch.limits.steps = 200_000;
        launch.limits.call_depth = random.below(6);
        launch.seed = random.draw();
        match random.below(6) {
            0 => launch.parameters.clear(),
            1 => launch.buffers.iter_mut().for_each(|b| b.bytes.truncate(20)),
            2 => launch
                .parameters
                .iter_mut()
                .for_each(|p| *p = Argument::Bits(u64::MAX)),
            3 => launch
                .parameters
                .iter_mut()
                .for_each(|p| *p = Argument::Bits(1 << 61 | 1)),
            4 => launch.parameters.iter_mut().for_each(|p| {
                *p = Argument::Pointer {
                    buffer: 9,
                    offset: 3,
                }
            }),
            _ => launch.mode = Mode::LanesApart,
        }
        let mut witness = Witness::new(&[Extent::Subgroup]);
        let outcome = run_with(&program.module, &launch, &mut witness, &());
        errors += u32::from(outcome.error.is_some());
        accesses += u32::from(matches!(outcome.error, Some(Error::Access { .. })));
        barriers += u32::from(matches!(outcome.error, Some(Error::Barrier { .. })));
        assert!(!outcome.to_string().is_empty());
        assert!(
            outcome
                .error
                .as_ref()
                .is_none_or(|e| !e.to_string().is_empty())
        );
    }
    assert!(
        errors > 100 && accesses > 100,
        "{errors} {accesses} {barriers}"
    );
}

#[test]
fn huge_objects_are_refused_before_they_are_made() {
    for space in [Space::Global, Space::Shared, Space::Local] {
        let module = kernel(|b| {
            let symbol = b.symbol(SymbolData {
                name: "huge".into(),
                space,
                kind: SymbolKind::Memory,
                size: Some(u32::MAX),
                align: 16,
                read_only: false,
                initial: None,
                resource_array: None,
                definition: Default::default(),
            });
            b.symbol_address(symbol);
            b.alloca(64, 8);
            b.ret([]);
        });
        let outcome = run(&module, &Launch::new(32));
        assert!(
            matches!(outcome.error, Some(Error::MemoryExhausted { .. })),
            "{space:?}"
        );
    }
}
