//! Functions to test with, and the interpreter's results for operations.

use super::*;
use crate::allocate::simplify;
use crate::prepare::prepare;
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Block, Function, Name, Operand, Operation};
use crate::target::ia64::emit::Options;
use crate::target::ia64::select::select;
use ir::Language;
use ir::lower::c_family::{LowerOptions, lower_unit};
use isa::ia64::Mnemonic;
use isa::ia64::{File, Reg};
use std::rc::Rc;
use syntax::c_family::{Dialect, parse_text};

/// The operations of the first function of a text.
pub(crate) fn compiled(text: &str) -> Function {
    let items = parse_text(text, Dialect::C);
    let all = lower_unit(&items, &LowerOptions::new(Language::C));
    let (_, lowered) = all.into_iter().next().expect("a function");
    let module = lowered.module;
    let names: Vec<_> = module.functions.iter().map(|it| it.name.clone()).collect();
    let (mut source, options) = (module.functions[0].clone(), Options::default());
    prepare(&mut source, false);
    let mut function = select(&module, &source, (0, &names), &options).expect("operations");
    simplify(&mut function);
    function
}

const R32: Reg = Reg::general(32);
const R33: Reg = Reg::general(33);

fn put(mnemonic: Mnemonic, targets: &[Reg], sources: &[Operand]) -> Operation {
    let targets = targets
        .iter()
        .map(|it| Operand::fixed(*it))
        .collect::<Vec<_>>();
    Operation::plain(mnemonic, targets, sources.to_vec())
}

/// Executes blocks whose operations are decided to be in these cycles.
fn executed(function: &mut Function, blocks: Vec<(Vec<Operation>, Vec<u32>)>) -> (State, End) {
    for (operations, cycles) in blocks {
        function.blocks.push(Block {
            operations,
            cycles,
            weight: 0.0,
            rounds: None,
        });
    }
    let spaces = Rc::new(Spaces::new(&[function], 1));
    let mut state = State::new(1, Style::Small(9), spaces);
    state.enter(function);
    let code = Code::new(function);
    let end = run(&code, &mut state, 0, &mut |_, _| false, &mut 1000);
    (state, end)
}

#[test]
fn a_counted_loop_rotates_and_finishes_its_rounds() {
    let mut function = Function::default();
    function.frame.rotating.general = 8;
    let sum = function.register(File::General);
    let stage = function.pin(Reg::predicate(17));
    let mut adds = Operation::plain(op!("add"), vec![sum.into()], vec![sum.into(), R33.into()]);
    adds.predicate = Some(stage);
    let set = vec![
        put(op!("mov"), &[Reg::LC], &[2.into()]),
        put(op!("mov"), &[Reg::EC], &[2.into()]),
        put(op!("mov"), &[Reg::PR_ROT], &[(1 << 16).into()]),
        Operation::plain(op!("mov"), vec![sum.into()], vec![0.into()]),
        put(op!("mov"), &[R33], &[1.into()]),
    ];
    let kernel = vec![
        adds,
        // 2, 3 and 4 in three rounds, and once more.
        put(op!("add"), &[R32], &[1.into(), R33.into()]),
        put(op!("br.ctop.sptk"), &[], &[Operand::Block(1)]),
    ];
    let blocks = vec![(set, vec![]), (kernel, vec![0, 0, 0])];
    let (state, end) = executed(&mut function, blocks);
    assert_eq!(end, End::Returned);
    let value = |name| state.get(&function, name).bits;
    assert_eq!(value(Name::Virtual(sum)), 2 + 3 + 4);
    assert_eq!(value(Name::Fixed(R33)), 5);
    assert_eq!(value(Name::Fixed(Reg::EC)), 0);
}

#[test]
fn compares_write_as_their_type_says() {
    let mut function = Function::default();
    let [left, right] = [(); 2].map(|()| function.register(File::Predicate));
    let compare = |mnemonic, number: i64| {
        let targets = vec![left.into(), right.into()];
        Operation::plain(mnemonic, targets, vec![number.into(), Reg::R0.into()])
    };
    let mut never = compare(op!("cmp.eq.unc"), 0);
    never.predicate = Some(right);
    let cases = [
        (vec![compare(op!("cmp.eq"), 0)], [1, 0]),
        (vec![compare(op!("cmp.eq"), 0), never], [0, 0]),
        (
            vec![compare(op!("cmp.eq"), 1), compare(op!("cmp.eq.or"), 0)],
            [1, 1],
        ),
        (
            vec![compare(op!("cmp.eq"), 1), compare(op!("cmp.eq.or"), 1)],
            [0, 1],
        ),
        (
            vec![compare(op!("cmp.eq"), 0), compare(op!("cmp.eq.and"), 1)],
            [0, 0],
        ),
        (
            vec![
                compare(op!("cmp.eq"), 1),
                compare(op!("cmp.eq.or.andcm"), 0),
            ],
            [1, 0],
        ),
    ];
    for (operations, expected) in cases {
        let mut function = function.clone();
        let (state, _) = executed(&mut function, vec![(operations.clone(), vec![])]);
        let value = |name| state.get(&function, Name::Virtual(name)).bits;
        assert_eq!([value(left), value(right)], expected, "{operations:?}");
    }
}

#[test]
fn a_store_to_its_address_takes_an_advanced_load_back() {
    let mut function = Function::default();
    let address = |register| Operand::Address(Name::Fixed(register));
    let store =
        |to: Reg| Operation::plain(op!("st8"), vec![address(to)], vec![Reg::general(20).into()]);
    let set = |to| {
        vec![
            put(op!("mov"), &[Reg::general(20)], &[77.into()]),
            put(op!("mov"), &[Reg::general(14)], &[800.into()]),
            put(op!("mov"), &[Reg::general(15)], &[808.into()]),
            put(
                op!("ld8.a"),
                &[Reg::general(16)],
                &[address(Reg::general(14))],
            ),
            store(to),
            put(
                op!("ld8.c.clr"),
                &[Reg::general(16)],
                &[address(Reg::general(14))],
            ),
        ]
    };
    for (to, is_new) in [(Reg::general(14), true), (Reg::general(15), false)] {
        function.blocks.clear();
        let (state, _) = executed(&mut function, vec![(set(to), vec![])]);
        let loaded = state.get(&function, Name::Fixed(Reg::general(16))).bits;
        assert_eq!(loaded == 77, is_new);
    }
}

#[test]
fn a_group_may_hold_what_never_executes_both() {
    let mut function = Function::default();
    let [yes, no] = [(); 2].map(|()| function.register(File::Predicate));
    let compare = Operation::plain(
        op!("cmp.eq"),
        vec![yes.into(), no.into()],
        vec![Reg::R0.into(), Reg::R0.into()],
    );
    let under = |predicate| Operation {
        predicate: Some(predicate),
        ..put(op!("mov"), &[Reg::general(14)], &[1.into()])
    };
    let mut end = |operations: Vec<Operation>, cycles| {
        function.blocks.clear();
        executed(&mut function, vec![(operations, cycles)]).1
    };
    let exclusive = vec![compare.clone(), under(yes), under(no)];
    assert_eq!(end(exclusive.clone(), vec![0, 1, 1]), End::Returned);
    let both = vec![compare.clone(), under(yes), under(yes)];
    let found = end(both, vec![0, 1, 1]);
    let twice = Fault::WriteAfterWrite(SomeRegister::Fixed(Reg::general(14)));
    assert!(matches!(found, End::Fault { fault, .. } if fault == twice));
    let found = end(exclusive, vec![0, 0, 1]);
    assert!(matches!(found, End::Fault { operation: 1, .. }));
}
