//! Forms of changes of flow: jumps, returns, hardware loops, the system's instructions.

use super::decode::{Form, Given};
use super::decode_address::word;
use super::op::{Jump, LoopOp, Op, Target, Word};
use super::register::Reg;
use smol_str::SmolStr;
use syntax::sc140::Size;

pub(super) fn control(name: &str, given: &[Given]) -> Option<Form> {
    jump(name, given)
        .or_else(|| counted(name, given))
        .or_else(|| alone(name, given))
}

fn jump(name: &str, given: &[Given]) -> Option<Form> {
    let (plain, delayed) = match name {
        "bra" | "bsr" | "bt" | "bf" | "jmp" | "jsr" | "jt" | "jf" => (name, false),
        _ => (name.strip_suffix('d')?, true),
    };
    let (when, call, relative) = match plain {
        "bra" => (None, false, true),
        "bsr" => (None, true, true),
        "bt" => (Some(true), false, true),
        "bf" => (Some(false), false, true),
        "jmp" => (None, false, false),
        "jsr" => (None, true, false),
        "jt" => (Some(true), false, false),
        "jf" => (Some(false), false, false),
        _ => return None,
    };
    let (target, words) = match given {
        [Given::Reg(Reg::R(number))] if !relative => (Target::Reg(*number), 1),
        [Given::Target(address, size)] => {
            let words = match (relative, size) {
                (true, Some(Size::Short)) => 1,
                (true, _) => 2,
                (false, _) => 3,
            };
            (Target::Address(*address as u32), words)
        }
        _ => return Some(Form::Wrong),
    };
    let jump = Jump {
        target,
        when,
        call,
        delayed,
        relative,
    };
    Some(Form::Is(Op::Jump(jump), words))
}

fn counted(name: &str, given: &[Given]) -> Option<Form> {
    let target = match given {
        [Given::Target(address, _)] => Some(*address as u32),
        _ => None,
    };
    let on = |op: fn(u32) -> LoopOp| {
        let op = target.map(|address| (Op::Loop(op(address)), 2));
        Some(Form::of(op))
    };
    match name {
        "skipls" => return on(LoopOp::Skip),
        "break" => return on(LoopOp::Break),
        "cont" => {
            return on(|target| LoopOp::Continue {
                target,
                delayed: false,
            });
        }
        "contd" => {
            return on(|target| LoopOp::Continue {
                target,
                delayed: true,
            });
        }
        _ => {}
    }
    let number = name.bytes().last().filter(u8::is_ascii_digit)? - b'0';
    let stem = &name[..name.len() - 1];
    if number > 3 || !matches!(stem, "dosetup" | "doen" | "doensh") {
        return None;
    }
    let form = match (stem, given) {
        ("dosetup", _) => target.map(|address| (LoopOp::Setup(number, address), 2)),
        (_, [Given::Number(value, size)]) if (0..1 << 16).contains(value) => {
            let long = *value > 63 || *size == Some(Size::Long);
            let enable = LoopOp::Enable {
                number,
                short: stem == "doensh",
                count: Word::Number(*value),
            };
            Some((enable, 1 + u32::from(long)))
        }
        (_, [register]) => word(register).map(|count| {
            let enable = LoopOp::Enable {
                number,
                short: stem == "doensh",
                count,
            };
            (enable, 1)
        }),
        _ => None,
    };
    Some(Form::of(form.map(|(op, words)| (Op::Loop(op), words))))
}

/// Instructions without operands.
fn alone(name: &str, given: &[Given]) -> Option<Form> {
    let returns = |delayed, status| Op::Return { delayed, status };
    let op = match name {
        "rts" | "rtstk" => returns(false, false),
        "rtsd" | "rtstkd" => returns(true, false),
        "rte" => returns(false, true),
        "rted" => returns(true, true),
        "lpmarka" => Op::Mark(false),
        "lpmarkb" => Op::Mark(true),
        // Nothing that these do is seen by the program itself.
        "nop" | "mark" | "di" | "ei" => Op::Nop,
        "debug" | "debugev" | "illegal" | "stop" | "trap" | "wait" => Op::Stop(SmolStr::new(name)),
        _ => return None,
    };
    let form = given.is_empty().then_some((op, 1));
    Some(Form::of(form))
}
