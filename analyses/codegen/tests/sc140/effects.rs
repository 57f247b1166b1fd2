//! The effects of SC140's instructions by the table against their execution by the simulator, which has a decoder of its
//! own: what changes is written, and what makes a difference is read.

use super::{programs, random};
use lockstep_codegen::isa::sc140::{Access, Condition, Effects, Reg};
use lockstep_codegen::target::sc140::listing::Listing;
use std::collections::BTreeMap;
use syntax::sc140::parse;

fn effects(instruction: &str) -> Effects {
    let listing = Listing::of(&parse(&format!("_f\n    {instruction}\n")));
    let member = &listing.sets[0].members[0];
    assert!(member.instruction.is_ok(), "{instruction}");
    member.effects.clone()
}

/// Registers whose values a run tells, and where in its results; an extension is stored with that of the other register.
fn told() -> Vec<(Reg, Vec<usize>)> {
    let word = |at: usize| (4 * at..4 * at + 4).collect::<Vec<usize>>();
    let mut out = Vec::new();
    for number in 0..16u8 {
        let at = usize::from(number);
        let mut bytes = word(at);
        // Two bytes of each: of the even one behind those of the odd one.
        let pair = 64 + 4 * (at / 2);
        let half = if at % 2 == 0 { pair + 2 } else { pair };
        bytes.extend([half, half + 1]);
        out.push((Reg::data(number), bytes));
    }
    let names = [
        "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r12", "n0", "n1", "n2", "n3",
    ];
    for (at, name) in names.into_iter().enumerate() {
        out.push((Reg::of(name).expect(name).0, word(24 + at)));
    }
    out.push((Reg::TRUTH, word(38)));
    out.push((Reg::CARRY, word(39)));
    out
}

/// Lines that change a register and nothing else, in front of the instruction.
fn perturbations() -> Vec<(Reg, String)> {
    let mut out: Vec<(Reg, String)> = (0..16)
        .map(|number| {
            let change = format!("    move.l   #$5a5a1234,d{number}\n");
            (Reg::data(number), change)
        })
        .collect();
    for name in ["r4", "r5", "r6", "r7", "r8", "r12"] {
        let register = Reg::of(name).expect(name).0;
        out.push((register, format!("    move.l   #$12345678,{name}\n")));
    }
    out.push((Reg::TRUTH, "    bmchg    #2,sr.l\n".to_owned()));
    out.push((Reg::CARRY, "    bmchg    #1,sr.l\n".to_owned()));
    out
}

/// The registers in which two runs differ, and whether their buffers do.
fn differing(first: &[Vec<u8>], second: &[Vec<u8>]) -> (Vec<Reg>, bool) {
    let registers = told().into_iter().filter(|(_, bytes)| {
        let mut bytes = bytes.iter();
        bytes.any(|&at| first[2][at] != second[2][at])
    });
    let registers = registers.map(|(register, _)| register).collect();
    (registers, first[..2] != second[..2])
}

#[test]
fn what_changes_is_written_and_what_makes_a_difference_is_read() {
    let changes = perturbations();
    // By name: reads of registers that may be seen, and those that were.
    let mut reads: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    let mut tried: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 0..3000 {
        let mut random = random::Random::new(seed);
        let instruction = random.instruction();
        let name = instruction
            .trim_start_matches("ift ")
            .trim_start_matches("iff ");
        let name = name.split_whitespace().next().unwrap_or_default();
        let times = tried.entry(name.to_owned()).or_default();
        *times += 1;
        if *times > 6 {
            continue;
        }
        let effects = effects(&instruction);
        let of = |before: &str, instruction: &str| {
            programs::alone(
                &format!("{before}    nop\n    nop\n    nop\n    {instruction}\n"),
                seed,
            )
        };
        let (none, done) = (of("", "nop"), of("", &instruction));
        let conditional = instruction.starts_with("if");
        let stores = effects
            .memory
            .is_some_and(|memory| memory.access != Access::Load);
        let (changed, memory) = differing(&none, &done);
        for register in changed {
            assert!(
                effects.writes_to(register),
                "`{instruction}` writes {register}"
            );
        }
        assert!(!memory || stores, "`{instruction}` stores");
        for (register, change) in &changes {
            let (before, after) = (of(change, "nop"), of(change, &instruction));
            let (now, then) = (differing(&done, &after), differing(&none, &before));
            let reads_it = effects.reads_from(*register) || conditional && *register == Reg::TRUTH;
            // A register that is not read makes no difference to what is written, and none to memory.
            let seen: Vec<Reg> = now
                .0
                .iter()
                .copied()
                .filter(|reg| reg != register)
                .collect();
            let made = !seen.is_empty() || now.1 || effects.writes_to(*register) && now.0 != then.0;
            let keeps = effects.writes.iter().any(|write| {
                write.register == *register
                    && (write.keeps || write.when != Condition::Always || conditional)
            });
            let only_itself = seen.is_empty() && !now.1;
            assert!(
                !made || reads_it || only_itself,
                "`{instruction}` reads {register}, which changes {seen:?}"
            );
            if only_itself && now.0 == [*register] && effects.writes_to(*register) {
                assert!(
                    reads_it || keeps,
                    "`{instruction}` leaves something of {register}"
                );
            }
            if reads_it && !conditional {
                let counts = reads.entry(name.to_owned()).or_default();
                counts.0 += 1;
                counts.1 += u32::from(!seen.is_empty() || now.1 || now.0 == [*register]);
            }
        }
    }
    let names = reads.len();
    reads.retain(|_, (_, seen)| *seen == 0);
    assert!(names > 100, "{names}");
    // What no difference shows: a copy of the flag of overflows would.
    assert!(reads.is_empty(), "never seen to read: {reads:?}");
}
