//! Liveness under predicates, merging of moves, spills.

use super::*;
use crate::machine;
use crate::target::ia64::code::{Block, Function, Operand, Operation, Virtual, op};
use crate::target::ia64::passes::Limits;
use isa::ia64::{File, Mnemonic, Reg};

fn operation(
    mnemonic: Mnemonic,
    predicate: Option<Virtual>,
    targets: &[Operand],
    sources: &[Operand],
) -> Operation {
    Operation::plain(mnemonic, targets.to_vec(), sources.to_vec()).under(predicate)
}

fn function(operations: Vec<Operation>, files: &[File]) -> Function {
    Function {
        registers: files.to_vec(),
        blocks: vec![Block {
            operations,
            weight: 1.0,
            cycles: Vec::new(),
            rounds: None,
        }],
        ..Function::default()
    }
}

#[test]
fn parallel_compares_keep_and_branches_inside_a_block_need_what_their_targets_read() {
    let (p, a, b) = (Virtual(0), Virtual(1), Virtual(2));
    let files = [File::Predicate, File::General, File::General];
    let compare = |mnemonic| {
        let zero = Operand::from(Reg::R0);
        operation(
            mnemonic,
            None,
            &[p.into(), Reg::P0.into()],
            &[zero, a.into()],
        )
    };
    let use_of_p = operation(op!("mov"), Some(p), &[b.into()], &[1.into()]);
    let sets = function(vec![compare(op!("cmp.eq.or")), use_of_p.clone()], &files);
    assert!(Liveness::of(&sets).at_start(0).contains(&p));
    let writes = function(vec![compare(op!("cmp.eq")), use_of_p], &files);
    assert!(!Liveness::of(&writes).at_start(0).contains(&p));

    let clear = operation(op!("mov"), None, &[a.into()], &[0.into()]);
    let add = operation(op!("add"), None, &[b.into()], &[a.into(), a.into()]);
    let jump = operation(op!("br"), Some(p), &[], &[Operand::Block(1)]);
    let mut out = function(vec![jump, clear.clone()], &files);
    out.blocks.push(Block {
        operations: vec![add],
        weight: 1.0,
        cycles: Vec::new(),
        rounds: None,
    });
    assert!(Liveness::of(&out).at_start(0).contains(&a));
    out.blocks[0].operations.swap(0, 1);
    assert!(!Liveness::of(&out).at_start(0).contains(&a));
}

#[test]
fn what_is_written_and_read_under_one_predicate_begins_there() {
    let (p, a, b, q) = (Virtual(0), Virtual(1), Virtual(2), Virtual(3));
    let files = [
        File::Predicate,
        File::General,
        File::General,
        File::Predicate,
    ];
    let read = |predicate| operation(op!("add"), predicate, &[b.into()], &[a.into(), a.into()]);
    let write = operation(op!("mov"), Some(p), &[a.into()], &[1.into()]);
    let other = |predicate: Virtual| {
        operation(
            op!("cmp.eq"),
            None,
            &[predicate.into()],
            &[Reg::R0.into(), Reg::R0.into()],
        )
    };
    let same = function(vec![write.clone(), read(Some(p))], &files);
    assert!(!Liveness::of(&same).at_start(0).contains(&a));
    let different = function(vec![write.clone(), read(Some(q))], &files);
    assert!(Liveness::of(&different).at_start(0).contains(&a));
    // The predicate is another one when it is read.
    let changed = function(vec![write, other(p), read(Some(p))], &files);
    assert!(Liveness::of(&changed).at_start(0).contains(&a));
}

#[test]
fn moves_go_and_what_has_no_register_is_in_memory() {
    let table = machine::named("itanium2").expect("a table");
    let epic = table.epic().expect("groups");
    let mut made = function(Vec::new(), &[]);
    let many: Vec<Virtual> = (0..200).map(|_| made.register(File::General)).collect();
    let mut operations = Vec::new();
    for (at, &each) in many.iter().enumerate() {
        operations.push(operation(
            op!("mov"),
            None,
            &[each.into()],
            &[(at as i64).into()],
        ));
    }
    let mut sum = made.register(File::General);
    operations.push(operation(
        op!("mov"),
        None,
        &[sum.into()],
        &[Reg::R0.into()],
    ));
    for &each in &many {
        let next = made.register(File::General);
        operations.push(operation(
            op!("add"),
            None,
            &[next.into()],
            &[sum.into(), each.into()],
        ));
        let moved = made.register(File::General);
        operations.push(operation(op!("mov"), None, &[moved.into()], &[next.into()]));
        sum = moved;
    }
    operations.push(operation(
        op!("mov"),
        None,
        &[Reg::general(8).into()],
        &[sum.into()],
    ));
    operations.push(operation(
        op!("br.ret.sptk.many"),
        None,
        &[],
        &[Reg::branch(0).into()],
    ));
    made.blocks[0].operations = operations;
    simplify(&mut made);
    let moves = made.blocks[0].operations.iter().filter(|operation| {
        operation.mnemonic == op!("mov")
            && operation.sources[0].virtual_register().is_some()
            && operation.targets[0].virtual_register().is_some()
    });
    assert_eq!(moves.count(), 0);
    let allocation = allocate(&mut made, epic, &Limits::default()).expect("places");
    assert!(allocation.in_memory > 80 && allocation.spilled >= 8 * 80);
}
