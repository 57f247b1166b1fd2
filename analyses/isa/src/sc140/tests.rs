use super::*;

/// An instruction of registers and numbers alone: `name operand operand`.
fn of(text: &str) -> Instruction {
    let mut parts = text.split(' ');
    let name = parts.next().expect("a name");
    let operand = |part: &str| {
        if let Some(number) = part.strip_prefix('#') {
            return Operand::Number(Number::of(number.parse().expect("a number")));
        }
        if let Some(register) = part.strip_prefix('-') {
            return Operand::Negative(Reg::of(register).expect("a register").0);
        }
        if part.contains(':') {
            let registers = part.split(':');
            return Operand::Group(registers.map(|name| Reg::of(name).expect(name)).collect());
        }
        let (register, part) = Reg::of(part).expect("a register");
        Operand::Register(register, part)
    };
    let mnemonic = Mnemonic::of(name).expect(name);
    Instruction::new(mnemonic, parts.map(operand).collect())
}

fn at(base: u8, step: Step) -> Operand {
    Operand::Memory(Address::At {
        base: Reg::address(base),
        step,
    })
}

fn reads(instruction: &Instruction) -> String {
    let reads = instruction.effects().reads;
    let names = reads.iter().map(|read| read.register.to_string());
    names.collect::<Vec<_>>().join(" ")
}

fn writes(instruction: &Instruction) -> String {
    let writes = instruction.effects().writes;
    let names = writes.iter().map(|write| write.register.to_string());
    names.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_rows_have_a_target_a_form_and_find_their_opcodes() {
    for row in opcodes::ROWS {
        let forms = row.operands.split("; ").filter(|form| !form.is_empty());
        assert_eq!(forms.count(), row.targets.len(), "{}", row.name);
        assert_eq!(row.opcode.row(), row);
        if row.unit == Unit::Loop && row.name.starts_with("do") {
            let numbered = Mnemonic::of(&format!("{}2", row.name)).expect("a loop's");
            assert_eq!((numbered.opcode, numbered.index), (row.opcode, Some(2)));
            continue;
        }
        let found = Mnemonic::of(row.name).map(|found| (found.opcode, found.delayed));
        assert_eq!(found, Some((row.opcode, false)), "{}", row.name);
        assert_eq!(Mnemonic::plain(row.opcode).to_string(), row.name);
    }
    let delayed = Mnemonic::of("jsrd").expect("a delayed call");
    assert_eq!((delayed.opcode, delayed.delayed), (Opcode::Jsr, true));
    assert_eq!(delayed.to_string(), "jsrd");
    assert_eq!(
        Mnemonic::of("bmset.w").expect("a mask").to_string(),
        "bmset.w"
    );
    assert_eq!(Mnemonic::of("frob"), None);
}

#[test]
fn control_leaves_where_the_effects_say_so() {
    for row in opcodes::ROWS {
        let mnemonic = Mnemonic::of(row.name).expect(row.name);
        let marks = matches!(mnemonic.opcode, Opcode::Lpmarka | Opcode::Lpmarkb);
        let effects = Instruction::new(mnemonic, Vec::new()).effects();
        assert!(marks || mnemonic.flow() == effects.flow, "{}", row.name);
    }
}

#[test]
fn registers_share_storage() {
    let named = |name| Reg::of(name).expect(name).0;
    assert_eq!(named("B1"), named("r9"));
    assert_eq!(Reg::of("d12.h"), Some((Reg::data(12), Part::High)));
    assert!(Reg::SR.overlaps(Reg::CARRY) && Reg::TRUTH.overlaps(Reg::SR));
    assert!(Reg::EMR.overlaps(Reg::OVERFLOW) && !Reg::SR.overlaps(Reg::OVERFLOW));
    assert!(!Reg::CARRY.overlaps(Reg::TRUTH));
    for wrong in ["d16", "d01", "r16", "b8", "n4", "r0.e", "d0.x", "x1", "d"] {
        assert_eq!(Reg::of(wrong), None, "{wrong}");
    }
    for number in 0..16 {
        let register = Reg::data(number);
        assert_eq!(
            Reg::of(&register.to_string()),
            Some((register, Part::Whole))
        );
        assert_eq!(register.is_high(), number >= 8);
    }
}

#[test]
fn arithmetic_reads_its_target_where_the_form_says_so() {
    assert_eq!(reads(&of("add d0 d1 d2")), "d0 d1");
    assert_eq!(reads(&of("add #1 d2")), "d2");
    assert_eq!(reads(&of("mac -d0 d1 d2")), "d0 d1 d2");
    assert_eq!(writes(&of("mac -d0 d1 d2")), "dovf d2");
    assert_eq!(writes(&of("cmpgt d0 d1")), "t");
    assert_eq!(reads(&of("cmpgt d0 d1")), "d0 d1");
    assert_eq!(reads(&of("adc d0 d1")), "c d0 d1");
    assert_eq!(reads(&of("and #3 d0 d1")), "d0");
    assert_eq!(of("and #3 d0.l").unit(), Unit::Mask);
    assert_eq!(reads(&of("adda r0 sp")), "r0 sp");
    assert_eq!(reads(&of("adda r0 r9")), "r0 r9 mctl");
    assert_eq!(writes(&of("adda #5 r3")), "r3");
    assert_eq!(of("adda #5 r3").effects().modified, [Reg::address(3)]);
    assert_eq!(of("adda #5 r9").effects().modified, []);
}

#[test]
fn moves_read_addresses_early_and_write_by_the_bus() {
    let step = Step::By(Reg::new(File::Offset, 1));
    let load = Instruction::new(
        Mnemonic::of("move.w").expect("it"),
        vec![at(0, step), Operand::register(Reg::data(3))],
    );
    assert_eq!(reads(&load), "r0 n1 mctl");
    assert_eq!(writes(&load), "d3 r0");
    let effects = load.effects();
    assert_eq!(effects.writes[1].way, WriteWay::Address);
    assert_eq!(effects.writes[0].way, WriteWay::Bus);
    assert_eq!(effects.memory.expect("an access").access, Access::Load);
    let store = Instruction::new(
        Mnemonic::of("moves.4f").expect("it"),
        vec![
            of("move.4f d4:d5:d6:d7").operands.remove(0),
            at(0, Step::None),
        ],
    );
    assert_eq!(store.misfit(4), None);
    assert_eq!(reads(&store), "d4 d5 d6 d7 r0");
    let memory = store.effects().memory.expect("an access");
    assert_eq!((memory.access, memory.bytes), (Access::Store, 8));
}

#[test]
fn operands_that_do_not_fit_are_told() {
    for right in [
        "max d0 d4",
        "max d11 d15",
        "adc d2 d3",
        "add #31 d0",
        "mac #-5 d1 d2",
        "doen3 d4",
        "tfra r0 osp",
        "move.w #4 m0",
        "push d6",
        "bmset #3 sr.h",
        "clr d15",
        "cmpgt.w #500 d0",
        "suba r1 r1",
    ] {
        assert_eq!(of(right).misfit(4), None, "{right}");
    }
    let four = |first, target| Misfit::Apart {
        first,
        target,
        distance: 4,
    };
    assert_eq!(of("max d4 d8").misfit(0), None);
    assert_eq!(
        of("max d4 d8").misfit(4),
        Some(four(Reg::data(4), Reg::data(8)))
    );
    assert_eq!(
        of("adc d1 d2").misfit(4),
        Some(Misfit::Pair {
            first: Reg::data(1),
            second: Reg::data(2)
        })
    );
    assert_eq!(
        of("add #32 d0").misfit(4),
        Some(Misfit::Range {
            value: 32,
            least: 0,
            most: 31
        })
    );
    assert_eq!(of("add d0 d1").misfit(4), Some(Misfit::Form));
    assert_eq!(
        of("add d0 r1 d2").misfit(4),
        Some(Misfit::Register {
            register: Reg::address(1)
        })
    );
    let pair = |text: &str| {
        let mut load = of("move.2f d0:d1");
        load.operands = of(text).operands;
        load.operands.insert(0, at(0, Step::Up));
        Instruction::new(load.mnemonic, load.operands).misfit(4)
    };
    assert_eq!(pair("move.2f d2:d3"), None);
    assert_eq!(pair("move.2f d1:d2"), Some(Misfit::Aligned { count: 2 }));
    let indexed = |index| {
        let place = Operand::Memory(Address::Indexed {
            base: Reg::address(9),
            index,
        });
        let target = Operand::register(Reg::data(0));
        Instruction::new(Mnemonic::of("move.w").expect("it"), vec![place, target]).misfit(4)
    };
    assert_eq!(indexed(Reg::address(7)), None);
    let wrong = Reg::new(File::Offset, 1);
    assert_eq!(indexed(wrong), Some(Misfit::Index { index: wrong }));
}

#[test]
fn words_are_those_of_the_form() {
    for (text, least, most) in [
        ("add d0 d1 d2", 1, 1),
        ("addnc.w #4 d0 d1", 2, 2),
        ("and #-65536 d8 d8", 2, 2),
        ("cmpeq.w #500 d0", 2, 2),
        ("cmpeq.w #1 d0", 1, 2),
        ("adda #5 r0", 1, 1),
        ("adda #-196 sp r2", 2, 2),
        ("move.l #100000 d0", 3, 3),
        ("move.l d0 r0", 1, 1),
        ("move.w #536 r7", 2, 2),
        ("bmset #8 mctl.l", 2, 2),
        ("nop", 0, 1),
        ("rts", 1, 1),
        ("doensh3 d1", 1, 1),
        ("doensh3 #200", 2, 2),
    ] {
        assert_eq!(of(text).words(), Words::between(least, most), "{text}");
    }
}

#[test]
fn a_prefix_is_as_long_as_registers_and_conditions_ask_for() {
    let words = |texts: &[&str], conditional| {
        let set: Vec<Instruction> = texts.iter().map(|text| of(text)).collect();
        prefix(set.iter(), conditional, false)
    };
    assert_eq!(words(&["add d0 d1 d2"], false), Words::exactly(0));
    assert_eq!(words(&["add d0 d1 d8", "clr d0"], false), Words::exactly(2));
    assert_eq!(
        words(&["move.l d9 r0", "clr d0"], false),
        Words::between(0, 2)
    );
    assert_eq!(words(&["clr d1", "clr d0"], true), Words::exactly(1));
    assert_eq!(words(&["clr d1", "clr d0"], false), Words::between(0, 1));
    assert_eq!(
        words(&["addnc.w #4 d0 d1", "adda #4 r0"], false),
        Words::exactly(1)
    );
}

#[test]
fn passes_are_told_of_guards_and_accumulators() {
    use crate::InstructionSet;
    let mac = of("mac d0 d1 d2").mnemonic;
    assert!(Sc140::accumulates(mac) && !Sc140::overwrites(mac, false));
    let add = of("add d0 d1 d2").mnemonic;
    assert!(Sc140::overwrites(add, false) && !Sc140::overwrites(add, true));
    assert!(Sc140::accumulates(of("add #1 d2").mnemonic));
    assert!(Sc140::executes_where_held(add.under(Condition::True)));
    assert!(!Sc140::executes_where_held(add.under(Condition::False)));
    assert_eq!(
        Sc140::branch(of("rts").mnemonic),
        Some(crate::Branch::Return)
    );
    assert_eq!(Sc140::branch(mac), None);
    assert!(Sc140::is_guard(Reg::TRUTH.file) && !Sc140::is_guard(Reg::CARRY.file));
}
