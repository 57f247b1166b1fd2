use super::*;

#[test]
fn a_mnemonic_is_an_opcode_with_completers_that_go_with_it() {
    const COMPARE: Mnemonic = Mnemonic::literal("cmp.lt.or.andcm");
    assert_eq!(COMPARE.opcode(), Opcode::Cmp);
    let completers: Vec<_> = COMPARE.completers().collect();
    assert_eq!(completers, [Completer::Lt, Completer::Or, Completer::Andcm]);
    for text in [
        "ld8.c.clr.acq.nt1",
        "br",
        "br.few",
        "br.ret.sptk.many.clr",
        "fma.s.s1",
        "chk.a.nc",
        "probe.rw.fault",
        "mov.ret.sptk.imp",
        "lfetch.fault.excl.nt2",
        "fmix.lr",
    ] {
        assert_eq!(
            Mnemonic::parse(text).map(|it| it.to_string()),
            Ok(text.into())
        );
    }
}

#[test]
fn what_is_no_mnemonic_is_an_error() {
    for text in [
        "",
        "ld3",
        "ld8.q",
        "cmp",
        "cmp.unc.lt",
        "cmp.lt.unc.or",
        "add.",
        "add.s",
        ".lt",
        "chk",
        "br.call",
        "cmp.ltu.or",
        "br.cloop.call",
        "ld8.s.",
        "fma.s1.s",
    ] {
        assert!(Mnemonic::parse(text).is_err(), "{text}");
    }
}

#[test]
fn the_compiler_and_the_program_find_the_same_mnemonics() {
    for &opcode in Opcode::ALL {
        assert_eq!(Opcode::of(opcode.name()), Some(opcode));
        let found = Opcode::find(opcode.name().as_bytes());
        assert_eq!(found, Some((opcode, opcode.row().completers)));
    }
}

#[test]
fn alternatives_stand_before_those_that_they_begin_with() {
    for &opcode in Opcode::ALL {
        for slot in opcode
            .row()
            .completers
            .split(' ')
            .filter(|slot| !slot.is_empty())
        {
            let all: Vec<&str> = slot.trim_start_matches('?').split('|').collect();
            for (at, each) in all.iter().enumerate() {
                let hidden = all[..at].iter().any(|before| {
                    let more = each.strip_prefix(before);
                    more.is_some_and(|more| more.is_empty() || more.starts_with('.'))
                });
                assert!(!hidden, "{}: {each} in {slot}", opcode.name());
            }
        }
    }
}

/// Operations hold one each, and are copied often.
#[test]
fn a_mnemonic_is_small() {
    assert_eq!(size_of::<Mnemonic>(), 6);
}

/// The second register behind the address of a pair, and the count of many fetches, are added to no base.
#[test]
fn what_stands_behind_an_address_is_not_always_added_to_it() {
    let [base, value] = [15, 16].map(Reg::general);
    let of = |mnemonic: &str, targets: &[Meaning], sources: &[Meaning]| {
        let mnemonic = Mnemonic::parse(mnemonic).expect("a mnemonic");
        effects(mnemonic, None, Operands { targets, sources }).expect("effects")
    };
    let [value, pair] = [value, Reg::CSD].map(Meaning::Register);
    let inst = of("st16", &[Meaning::Memory(base)], &[value, pair]);
    assert_eq!(inst.defs, []);
    assert!(inst.uses.contains(&Reg::CSD));
    let numbers = [3, 64].map(Meaning::Number);
    let inst = of(
        "lfetch.count",
        &[],
        &[Meaning::Memory(base), numbers[0], numbers[1]],
    );
    assert_eq!(inst.defs, []);
    let stepped = of("lfetch", &[], &[Meaning::Memory(base), numbers[1]]);
    assert_eq!(stepped.memory.and_then(|it| it.step), Some(64));
}
