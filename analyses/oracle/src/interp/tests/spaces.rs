//! The space that a generic address leads to, as PTX asks for it.

use super::*;

/// The answers for one address to whether it leads to local memory, to shared memory, and to global memory, each by lane.
fn asked(lanes: u32, address: impl FnOnce(&mut FunctionBuilder) -> Value) -> Vec<Vec<u64>> {
    returned(lanes, |b| {
        let address = address(b);
        let generic = b.convert(Convert::SpaceCast, address, Type::Ptr(Space::Generic));
        ["isspacep.local", "isspacep.shared", "isspacep.global"].map(|template| {
            let op = Op::Asm {
                template: template.into(),
                pure: true,
            };
            let inst = b.guarded(op, &[generic], &[Type::Bool], None);
            b.results(inst)[0]
        })
    })
}

#[test]
fn variables_lead_to_their_own_space() {
    let variable = |space| {
        move |b: &mut FunctionBuilder| {
            let symbol = b.symbol(SymbolData {
                name: "first".into(),
                space,
                kind: SymbolKind::Memory,
                size: Some(16),
                align: 4,
                read_only: false,
                initial: None,
                resource_array: None,
                definition: Default::default(),
            });
            b.symbol_address(symbol)
        }
    };
    // The first variable in the memory of its space.
    assert_eq!(asked(2, variable(Space::Local)), [[1, 1], [0, 0], [0, 0]]);
    assert_eq!(asked(2, variable(Space::Shared)), [[0, 0], [1, 1], [0, 0]]);
    assert_eq!(asked(2, variable(Space::Global)), [[0, 0], [0, 0], [1, 1]]);
}
