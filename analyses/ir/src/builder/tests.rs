use super::*;
use crate::entity::Entity;

#[test]
fn a_loop_variable_becomes_a_header_parameter_and_an_invariant_does_not() {
    let mut b = FunctionBuilder::new("f", FunctionKind::Kernel, Language::Text);
    let n = b.parameter("n", "int", &[Type::I32])[0];
    let (i, k) = (b.slot(Type::I32), b.slot(Type::I32));
    let zero = b.int(Type::I32, 0);
    b.write(i, zero);
    b.write(k, n);
    let (header, body, exit) = (b.create_block(), b.create_block(), b.create_block());
    b.jump(header);
    b.switch_to(header);
    let (iv, kv) = (b.read(i), b.read(k));
    let go = b.int_compare(IntCondition::LessSigned, iv, kv);
    b.branch(go, body, exit, BranchKind::Loop);
    b.switch_to(body);
    let one = b.int(Type::I32, 1);
    let iv = b.read(i);
    let next = b.binary(BinaryOp::Add, Wrap::MAY, iv, one);
    b.write(i, next);
    b.jump(header);
    b.switch_to(exit);
    let last = b.read(i);
    b.ret([last]);
    let f = b.finish();
    assert_eq!(f.blocks[header].params.len(), 1);
    let param = f.blocks[header].params[0];
    assert_eq!(
        f.blocks[exit].terminator,
        Terminator::Return(smallvec![param])
    );
    assert_eq!(
        f.defining(go).map(|d| d.args.to_vec()),
        Some(vec![param, n])
    );
    assert_eq!(
        f.blocks[Entity::new(0)].terminator,
        Terminator::Jump(Edge {
            block: header,
            args: smallvec![zero]
        })
    );
}

#[test]
fn half_conversion_is_exact_on_all_halves() {
    for bits in 0..=u16::MAX {
        let value = f16_to_f32(bits);
        if !value.is_nan() {
            assert_eq!(f32_to_f16(value), bits);
        }
    }
    assert_eq!(f32_to_f16(65520.0), 0x7c00);
    assert_eq!(f32_to_f16(2f32.powi(-25) * 1.5), 1);
}

#[test]
fn an_entry_that_is_jumped_to_gets_a_block_before_it() {
    let mut b = FunctionBuilder::new("f", FunctionKind::Kernel, Language::Text);
    let n = b.parameter("n", "int", &[Type::I32])[0];
    let entry = b.current();
    let zero = b.int(Type::I32, 0);
    let less = b.int_compare(IntCondition::LessSigned, n, zero);
    let end = b.create_block();
    b.branch(less, entry, end, BranchKind::Loop);
    b.switch_to(end);
    b.ret([]);
    let f = b.finish();
    assert_eq!(crate::verify(&f), Ok(()));
    assert_ne!(f.entry(), entry);
    assert_eq!(f.blocks[f.entry()].params, [n]);
}
