//! The paper's running example under each method: RecMII by the number of early exits.

use super::generate::{operation, reg};
use isa::ia64::File;
use isa::ia64::register::Reg;
use lockstep_codegen::machine;
use lockstep_codegen::target::ia64::code::{Block, Function, Operand};
use lockstep_codegen::target::ia64::pipeline::{Method, Options, pipeline_loops};

/// A loop with so many early exits, each a compare with a key that nothing in the loop changes but a counter.
fn example(early: u32) -> Function {
    let mut function = Function {
        name: "f".into(),
        ..Function::default()
    };
    let parameters: Vec<_> = (0..6).map(|_| function.register(File::General)).collect();
    function.parameters = parameters.clone();
    let index = function.register(File::General);
    let mut blocks = vec![Block::default()];
    blocks[0].operations.push(operation(
        "mov",
        None,
        vec![reg(index)],
        vec![Operand::Number(0)],
    ));
    let exit = early + 2;
    for number in 0..=early {
        let mut block = Block::default();
        let value = function.register(File::General);
        block.operations.push(operation(
            "add",
            None,
            vec![reg(value)],
            vec![Operand::Number(i64::from(number)), reg(index)],
        ));
        let (yes, no) = (
            function.register(File::Predicate),
            function.register(File::Predicate),
        );
        if number == early {
            block.operations.push(operation(
                "add",
                None,
                vec![reg(index)],
                vec![Operand::Number(1), reg(index)],
            ));
        }
        let sources = vec![reg(value), reg(parameters[4])];
        let relation = if number == early { "cmp.ne" } else { "cmp.eq" };
        block
            .operations
            .push(operation(relation, None, vec![reg(yes), reg(no)], sources));
        let target = if number == early {
            1
        } else {
            exit + 1 + number
        };
        block.operations.push(operation(
            "br.cond.sptk",
            Some(yes),
            Vec::new(),
            vec![Operand::Block(target)],
        ));
        blocks.push(block);
    }
    for _ in 0..=early {
        let mut block = Block::default();
        block.operations.push(operation(
            "mov",
            None,
            vec![Operand::fixed(Reg::general(8))],
            vec![reg(index)],
        ));
        block.operations.push(operation(
            "br.ret.sptk.many",
            None,
            Vec::new(),
            vec![Operand::fixed(Reg::branch(0))],
        ));
        blocks.push(block);
    }
    function.blocks = blocks;
    function
}

#[test]
fn the_running_example_has_the_intervals_of_the_paper() {
    for machine in ["itanium", "itanium2"] {
        let table = machine::named(machine).expect("a table");
        let machine = table.epic().expect("explicit groups");
        for early in 1..=5u32 {
            for method in Method::EXITS {
                let options = Options {
                    method: Some(method),
                    always: true,
                    ..Options::default()
                };
                let reports = pipeline_loops(&mut example(early), machine, &options);
                let expected = match method {
                    Method::Tirumalai => early + 3,
                    Method::Improved | Method::ParallelCompare => early + 2,
                    Method::PredicateRegisters => early + 1,
                    _ => 2,
                };
                assert_eq!(
                    reports[0].rec_mii, expected,
                    "{early} early exits, {method}: {reports:#?}"
                );
            }
        }
    }
}
