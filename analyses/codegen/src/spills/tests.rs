//! The paper's figures, in operations of the SC140: r1 of a figure is d1, s0 is home 0.

use super::code::{Block, Code, Home, Location, Step};
use super::steps::Steps;
use super::{Reducing, Reduction, Traffic, colour, first_phase, webs};
use crate::mir::{self, Object, Operand, Reference, Virtual};
use crate::target::sc140::code::{Function, Operation, operation};
use ir::Loc;
use ir::liveness::Liveness;
use isa::sc140::{File, Opcode, Reg, Sc140};

const D: fn(u8) -> Reg = Reg::data;

fn fixed(number: u8) -> mir::Operand<Sc140> {
    Operand::fixed(D(number))
}

fn number(text: &str) -> u8 {
    text[1..].parse().expect("the number of a register or home")
}

/// Memory that stands for the rest of the program: r0 of the address file points to it.
fn access(targets: Vec<mir::Operand<Sc140>>, sources: Vec<mir::Operand<Sc140>>) -> Operation {
    Operation {
        memory: Some(Reference {
            object: Object::Unknown,
            bytes: 4,
            volatile: false,
            accessed_as: None,
        }),
        ..operation(Opcode::MoveL, targets, sources)
    }
}

/// One step a line: `def r1`, `use r1`, `r3 = r1 + r2`, `r1 = 5`, `mac r5,r6,r4`, `store r1,s0`, `load s0,r1`, `branch r0 2`,
/// `jump 2`, `return`; a line `block 1` begins the next block, whose weight may follow.
fn blocks(text: &str, guard: Virtual) -> Vec<Block<Sc140>> {
    let address = || Operand::Address(mir::Name::Fixed(Reg::address(0)));
    let (loc, cycles) = (Loc::NONE, Vec::new());
    let mut out: Vec<Block<Sc140>> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split([' ', ',']).collect();
        let jump = |opcode, guarded: Option<Virtual>, to: &str| {
            let target = Operand::Block(to.parse().expect("a block"));
            operation(opcode, Vec::new(), vec![target]).under(guarded)
        };
        let steps = match words[..] {
            ["block", _] | ["block", _, _] => {
                let weight = words.get(2).map_or(1.0, |it| it.parse().expect("a weight"));
                out.push(Block {
                    steps: Steps::default(),
                    weight,
                    cycles: cycles.clone(),
                });
                continue;
            }
            ["def", to] => vec![access(vec![fixed(number(to))], vec![address()])],
            ["use", from] => vec![access(vec![address()], vec![fixed(number(from))])],
            ["mac", left, right, to] => {
                let factors = vec![fixed(number(left)), fixed(number(right))];
                vec![operation(Opcode::Mac, vec![fixed(number(to))], factors)]
            }
            [to, "=", "tfr", from] => {
                let (to, from) = (vec![fixed(number(to))], vec![fixed(number(from))]);
                vec![operation(Opcode::Tfr, to, from)]
            }
            [to, "=", found, "+", other] => {
                let other = match other.parse::<i64>() {
                    Ok(constant) => constant.into(),
                    Err(_) => fixed(number(other)),
                };
                let (opcode, sources) = match other {
                    Operand::Number(_) => (Opcode::AddncW, vec![other, fixed(number(found))]),
                    _ => (Opcode::Add, vec![fixed(number(found)), other]),
                };
                vec![operation(opcode, vec![fixed(number(to))], sources)]
            }
            [to, "=", constant] => {
                let constant: i64 = constant.parse().expect("a number");
                vec![operation(
                    Opcode::MoveW,
                    vec![fixed(number(to))],
                    vec![constant.into()],
                )]
            }
            ["branch", on, to] => {
                let truth = vec![Operand::fixed(Reg::TRUTH)];
                vec![
                    operation(Opcode::Tstgt, truth, vec![fixed(number(on))]),
                    jump(Opcode::Bt, Some(guard), to),
                ]
            }
            ["jump", to] => vec![jump(Opcode::Bra, None, to)],
            ["return"] => vec![operation(Opcode::Rts, Vec::new(), Vec::new())],
            ["store", from, to] => {
                let (from, to) = (D(number(from)), Home(u32::from(number(to))));
                let steps = &mut out.last_mut().expect("a block").steps;
                steps.insert(steps.len(), Step::Store { from, to, loc });
                continue;
            }
            ["load", from, to] => {
                let (from, to) = (Home(u32::from(number(from))), D(number(to)));
                let steps = &mut out.last_mut().expect("a block").steps;
                steps.insert(steps.len(), Step::Load { to, from, loc });
                continue;
            }
            _ => panic!("{line}"),
        };
        let block = out.last_mut().expect("a block");
        for step in steps {
            block.steps.insert(block.steps.len(), Step::Operation(step));
        }
    }
    out
}

/// Hands the code of a text on, whose homes hold values of the data file.
fn with<R>(text: &str, homes: u32, then: impl FnOnce(&mut Code<'_, Sc140>) -> R) -> R {
    let mut function = Function::default();
    let guard = function.register(File::Truth);
    let values: Vec<Virtual> = (0..homes).map(|_| function.register(File::Data)).collect();
    let blocks = blocks(text, guard);
    for block in &blocks {
        let operations = block.steps.iter().filter_map(|step| match step {
            Step::Operation(operation) => Some(operation.clone()),
            _ => None,
        });
        function.blocks.push(mir::Block {
            operations: operations.collect(),
            weight: block.weight,
            cycles: Vec::new(),
            rounds: None,
        });
    }
    let places: Vec<crate::allocate::Place<Reg>> = std::iter::once(Reg::TRUTH)
        .map(crate::allocate::Place::Register)
        .chain(values.iter().map(|_| crate::allocate::Place::Memory))
        .collect();
    let mut code = Code::new(&function, &places);
    for (block, own) in blocks.into_iter().enumerate() {
        code.blocks[block + 1] = own;
    }
    then(&mut code)
}

/// The steps of a code as they were written, a block a line.
fn shown(code: &Code<'_, Sc140>) -> Vec<String> {
    let register = |register: Reg| register.to_string();
    let step = |step: &Step<Sc140>| match step {
        Step::Load { to, from, .. } => format!("load s{},{}", from.0, register(*to)),
        Step::Store { from, to, .. } => format!("store {},s{}", register(*from), to.0),
        Step::Copy { to, from, .. } => format!("copy {},{}", register(*from), register(*to)),
        Step::Operation(operation) => operation.mnemonic.to_string(),
    };
    let blocks = code.blocks[1..].iter();
    blocks
        .map(|block| block.steps.iter().map(step).collect::<Vec<_>>().join("; "))
        .collect()
}

fn counted(code: &Code<'_, Sc140>) -> (u32, u32) {
    let Traffic { loads, stores, .. } = code.traffic();
    (loads, stores)
}

const FIGURE_1: &str = "
    block 0
    r5 = 0
    def r1
    def r2
    def r6
    r3 = r1 + r2
    store r3,s0
    use r3
    load s0,r4
    mac r5,r6,r4
    store r4,s0
    use r4
    load s0,r7
    use r7
    return";

/// TV-1: what is accumulated is nothing, so that the second store stores what is there.
/// The code without what such an extent takes away.
fn reduced<'f>(code: &Code<'f, Sc140>, reduction: Reduction, colours: &[Reg]) -> Code<'f, Sc140> {
    Reducing::new(code.clone(), colours).reduced(reduction)
}

#[test]
fn an_accumulation_of_nothing_makes_the_store_redundant() {
    with(FIGURE_1, 1, |code| {
        assert_eq!(counted(code), (2, 2));
        first_phase(code);
        assert_eq!(counted(code), (2, 1));
        let steps = shown(code).concat();
        assert!(!steps.contains("mac"), "{steps}");
        assert!(steps.contains("store d3,s0"), "{steps}");
        *code = reduced(code, Reduction::AnyClass, &[]);
        assert_eq!(counted(code), (0, 0), "{:?}", shown(code));
    });
    // It is not nothing where the factor is not known.
    with(&FIGURE_1.replace("r5 = 0", "def r5"), 1, |code| {
        first_phase(code);
        assert_eq!(counted(code), (2, 2));
    });
}

/// TV-2: the second load finds its register as it left it.
#[test]
fn a_load_of_what_is_there_goes() {
    let text = "
        block 0
        def r1
        store r1,s0
        load s0,r2
        use r2
        load s0,r2
        use r2
        return";
    with(text, 1, |code| {
        first_phase(code);
        assert_eq!(counted(code), (1, 1));
    });
    with(
        &text.replace(
            "use r2\n        load",
            "use r2\n        def r2\n        load",
        ),
        1,
        |code| {
            first_phase(code);
            assert_eq!(counted(code), (2, 1));
        },
    );
}

/// TV-3: the load behind the last store goes, and then the store.
#[test]
fn a_store_that_nothing_reads_any_more_goes() {
    let text = "
        block 0
        def r1
        store r1,s0
        load s0,r2
        use r2
        load s0,r3
        use r3
        r3 = r3 + 1
        store r3,s0
        load s0,r3
        use r3
        return";
    with(text, 1, |code| {
        assert_eq!(counted(code), (3, 2));
        first_phase(code);
        assert_eq!(counted(code), (2, 1), "{:?}", shown(code));
        assert!(shown(code).concat().contains("load s0,d3"));
    });
}

/// TV-4: what is stored anew has a home of its own.
#[test]
fn lives_of_a_home_are_told_apart() {
    let text = "
        block 0
        def r1
        store r1,s0
        def r1
        load s0,r1
        use r1
        def r2
        store r2,s0
        def r2
        load s0,r2
        use r2
        return";
    with(text, 1, |code| {
        webs::split(code);
        assert_eq!(code.homes.len(), 2);
        let steps = shown(code).concat();
        assert!(
            steps.contains("store d2,s1") && steps.contains("load s1,d2"),
            "{steps}"
        );
    });
}

const FIGURE_5: &str = "
    block 0
    def r1
    def r2
    r3 = r1 + r2
    store r3,s0
    use r3
    def r3
    use r3
    load s0,r3
    use r3
    return";

/// TV-5: the sum is still that of two registers, which are read by nothing else behind it.
#[test]
fn a_sum_is_computed_again_from_registers_that_would_be_dead() {
    with(FIGURE_5, 1, |code| {
        *code = reduced(code, Reduction::AnyClass, &[]);
        assert_eq!(counted(code), (0, 0), "{:?}", shown(code));
    });
    // Not where one of them is gone.
    with(
        &FIGURE_5.replace("def r3\n", "def r1\n    use r1\n    def r3\n"),
        1,
        |code| {
            *code = reduced(code, Reduction::AnyClass, &[]);
            assert_eq!(counted(code), (1, 1), "{:?}", shown(code));
        },
    );
}

/// TV-5: a register that another web was given holds an operand no more.
#[test]
fn an_operand_whose_register_is_given_away_is_gone() {
    // The web of s1 is in a loop, costs more, and takes r1.
    let text = "
        block 0
        def r1
        def r2
        r3 = r1 + r2
        store r3,s0
        use r3
        def r3
        use r3
        def r4
        store r4,s1
        jump 1
        block 1 100
        load s1,r4
        use r4
        def r4
        branch r4 1
        block 2
        load s0,r3
        use r3
        return";
    with(text, 2, |code| {
        webs::split(code);
        assert!(colour::round(code, Reduction::AnyClass, &[D(1)]));
        // The sum stays in memory, and what was given is a move.
        let steps = shown(code).concat();
        assert!(steps.contains("copy d1,d4"), "{steps}");
        assert_eq!(counted(code), (1, 1), "{steps}");
        // In no later round either.
        *code = reduced(code, Reduction::AnyClass, &[D(1)]);
        assert_eq!(counted(code), (1, 1), "{:?}", shown(code));
    });
}

const FIGURE_6: &str = "
    block 0
    def r0
    store r0,s0
    r1 = r0 + 1
    branch r0 1
    jump 4
    block 1
    load s0,r1
    r0 = r1 + 2
    r1 = r1 + r0
    branch r0 2
    jump 3
    block 2
    r1 = r1 + r0
    r0 = r1 + r0
    jump 3
    block 3
    r0 = r1 + r0
    store r0,s0
    jump 4
    block 4
    load s0,r0
    r0 = r0 + r1
    use r0
    return";

/// TV-6 and TV-7: two loads and two stores become one of each, then a move. Its registers pass arguments, and stay.
#[test]
fn two_registers_hold_what_three_values_need() {
    with(FIGURE_6, 1, |code| {
        assert_eq!(counted(code), (2, 2));
        first_phase(code);
        assert_eq!(counted(code), (1, 1));
        let steps = shown(code);
        assert!(steps[1].starts_with("load s0,d1"), "{steps:?}");
        *code = reduced(code, Reduction::AnyClass, &[]);
        assert_eq!(counted(code), (0, 0));
        let copies: usize = shown(code)
            .iter()
            .map(|it| it.matches("copy").count())
            .sum();
        assert_eq!(copies, 1, "{:?}", shown(code));
        assert!(shown(code)[1].starts_with("copy d0,d1"));
    });
}

/// Past TV-7, in registers that pass no arguments: no move is left where what meets is read in either order.
#[test]
fn registers_change_their_parts_for_a_move() {
    let text = FIGURE_6.replace("r0", "r5").replace("r1", "r4");
    let left = |text: &str| {
        with(text, 1, |code| {
            *code = reduced(code, Reduction::AnyClass, &[]);
            assert_eq!(counted(code), (0, 0));
            shown(code).concat().matches("copy").count()
        })
    };
    assert_eq!(left(&text), 0);
    // Uses one by one tell them apart.
    let apart = text.replace("r5 = r5 + r4\n    use r5", "use r4\n    use r5");
    assert_ne!(apart, text);
    assert_eq!(left(&apart), 1);
}

/// A web takes a register that is free, and passes by those that are not.
#[test]
fn a_web_takes_a_free_register() {
    let text = "
        block 0
        def r1
        store r1,s0
        def r1
        def r2
        use r1
        use r2
        load s0,r1
        use r1
        return";
    with(text, 1, |code| {
        *code = reduced(code, Reduction::AnyClass, &[D(2), D(3)]);
        assert_eq!(counted(code), (0, 0));
        assert_eq!(
            shown(code)[0].matches("copy d1,d3").count(),
            1,
            "{:?}",
            shown(code)
        );
    });
    with(text, 1, |code| {
        *code = reduced(code, Reduction::AnyClass, &[D(2)]);
        assert_eq!(counted(code), (1, 1));
    });
    with(text, 1, |code| {
        *code = reduced(code, Reduction::OwnClass, &[Reg::address(3)]);
        assert_eq!(counted(code), (1, 1));
    });
    // Of the other file, too, by moves that stay.
    with(text, 1, |code| {
        *code = reduced(code, Reduction::AnyClass, &[Reg::address(3)]);
        assert_eq!(counted(code), (0, 0));
        assert!(shown(code)[0].contains("copy d1,r3"), "{:?}", shown(code));
    });
}

/// A register that is saved for the caller is worth it where more transfers go than its saving adds.
#[test]
fn a_saved_register_must_pay() {
    let text = "
        block 0
        def r1
        store r1,s0
        def r1
        use r1
        load s0,r1
        use r1
        return";
    with(text, 1, |code| {
        *code = reduced(code, Reduction::AnyClass, &[D(6)]);
        assert_eq!(counted(code), (1, 1));
    });
}

/// Homes that never hold values at once have one slot.
#[test]
fn slots_are_shared() {
    let text = "
        block 0
        def r1
        store r1,s0
        def r1
        use r1
        load s0,r1
        use r1
        def r2
        store r2,s1
        def r2
        use r2
        load s1,r2
        use r2
        return";
    with(text, 2, |code| {
        *code = reduced(code, Reduction::AnyClass, &[]);
        assert_eq!(counted(code), (2, 2));
        let (offsets, bytes) = super::slots(code, true);
        assert_eq!((&offsets[..], bytes), (&[0, 0][..], 4));
    });
}

/// The facts of registers that meet from two sides.
#[test]
fn an_expression_of_what_meets_is_kept() {
    let text = "
        block 0
        def r1
        def r9
        branch r9 2
        block 1
        r2 = r1 + 3
        store r2,s0
        use r2
        jump 3
        block 2
        def r1
        r2 = r1 + 3
        store r2,s0
        use r2
        block 3
        def r2
        use r2
        use r1
        load s0,r2
        use r2
        return";
    with(text, 1, |code| {
        let live = Liveness::of(&*code);
        assert!(live.starts[4].contains(&Location::home::<Sc140>(Home(0))));
        *code = reduced(code, Reduction::AnyClass, &[]);
        assert_eq!(counted(code), (0, 0), "{:?}", shown(code));
    });
    // Not where another register was added to on one side.
    let other = text.replacen(
        "def r1\n        r2 = r1 + 3",
        "def r1\n        def r3\n        r2 = r3 + 3",
        1,
    );
    with(&other, 1, |code| {
        assert_ne!(other, text);
        *code = reduced(code, Reduction::AnyClass, &[]);
        assert_eq!(counted(code), (1, 2), "{:?}", shown(code));
    });
}

/// A result is moved to where the caller reads it, although the same is there on this path: nothing else says that it is read.
#[test]
fn a_result_waits_in_its_register_for_the_return() {
    let text = "
        block 0
        def r1
        def r9
        r0 = tfr r1
        branch r9 2
        block 1
        def r5
        store r5,s0
        def r5
        use r5
        load s0,r5
        use r5
        r0 = tfr r1
        return
        block 2
        use r0
        return";
    with(text, 1, |code| {
        *code = reduced(code, Reduction::AnyClass, &[D(0)]);
        let steps = shown(code);
        assert!(steps[1].contains("tfr"), "{steps:?}");
    });
    // Nor is it one that a load puts there in the same block.
    let loaded = "
        block 0
        def r1
        r3 = tfr r1
        store r3,s0
        def r3
        use r3
        load s0,r0
        use r0
        r0 = tfr r1
        return";
    with(loaded, 1, |code| {
        *code = reduced(code, Reduction::AnyClass, &[]);
        let steps = shown(code);
        assert!(steps[0].ends_with("tfr; rts"), "{steps:?}");
    });
}

/// A branch between the life of a register and the move that ends it leads to what reads the old value.
#[test]
fn a_move_behind_a_branch_stays() {
    let text = "
        block 0
        def r1
        store r1,s0
        r13 = r1 + 1
        branch r1 2
        store r13,s0
        def r1
        use r1
        block 1
        load s0,r1
        use r1
        return
        block 2
        load s0,r1
        use r1
        return";
    with(text, 1, |code| {
        *code = reduced(code, Reduction::AnyClass, &[D(5)]);
        let steps = shown(code);
        assert!(steps[0].contains("copy d13,d5"), "{steps:?}");
    });
}
