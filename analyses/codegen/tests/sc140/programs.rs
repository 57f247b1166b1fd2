//! Random straight-line programs of SC140 that break no rule, in sets of one instruction or of several, with what puts
//! values into the registers in front and stores all of them behind.

use super::capacity;
use super::random::Random;
use lockstep_codegen::target::sc140::check::check;
use lockstep_codegen::target::sc140::listing::Listing;
use simulate::sc140::{Arg, Limits, Program, Settings, Source, Timing, run};
use syntax::sc140::parse;

/// A function of pointers to two buffers and one to the results. r0 and r2 meet in memory, so do r1 and r3.
const FRONT: &str = "\
_f
    move.l   (sp-12),r13
 [
    tfra     r0,r4
    tfra     r1,r5
 ]
    move.4w  (r4)+,d0:d1:d2:d3
    move.4w  (r4)+,d4:d5:d6:d7
    move.2l  (r4)+,d8:d9
    move.2l  (r4)+,d10:d11
    move.4f  (r4)+,d12:d13:d14:d15
    adda     #2048,r0,r0
    adda     #2048,r1,r1
    adda     #2,r0,r2
    adda     #3,r1,r3
    move.w   #1,n0
    move.w   #-1,n1
    move.w   #2,n2
    move.w   #-2,n3
    adda     #100,r0,r6
    adda     #200,r1,r7
    adda     #300,r0,r8
    tfra     r1,r12
";

/// The body of a program that is a loop begins with as many sets as a loop has.
const LOOP: &str = "    dosetup2 _body
    doen2    #3
    nop
    nop
    LOOPSTART2
_body
    clr      d0
    tsteq    d1
    inc      d2
";

/// Registers, T and the carry go to the results.
fn back() -> String {
    let mut out = String::from("_end\n");
    for number in 0..16 {
        out += &format!("    move.l   d{number},(r13)+\n");
    }
    for number in 0..8 {
        let pair = 2 * number;
        out += &format!("    move.l   d{pair}.e:d{}.e,(r13)+\n", pair + 1);
    }
    for register in [
        "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r12", "n0", "n1", "n2", "n3",
    ] {
        out += &format!("    move.l   {register},d0\n    move.l   d0,(r13)+\n");
    }
    out += "    clr d0\n    ift inc  d0\n    move.l   d0,(r13)+\n";
    out += "    clr d0\n    clr d1\n    adc      d0,d1\n    move.l   d1,(r13)+\n    rts\n";
    out
}

/// The lines of a set.
fn lines(set: &[String]) -> String {
    match set {
        [only] => format!("    {only}\n"),
        several => format!(" [\n    {}\n ]\n", several.join("\n    ")),
    }
}

fn stores(set: &[String]) -> usize {
    use lockstep_codegen::isa::sc140::Access;
    let listing = Listing::of(&parse(&lines(set)));
    let members = listing.sets.iter().flat_map(|set| &set.members);
    let memories = members.filter_map(|member| member.effects.memory);
    memories
        .filter(|memory| memory.access != Access::Load)
        .count()
}

/// The text of a program of about so many instructions that breaks no rule, guesses included. One in three is a loop.
pub(crate) fn program(seed: u64, count: usize) -> String {
    let mut random = Random::new(seed);
    let grouped = seed.is_multiple_of(2);
    let (begin, end) = match seed.is_multiple_of(3) {
        true => (LOOP, "    LOOPEND2\n"),
        false => ("_body\n", ""),
    };
    let mut text = format!("{FRONT}{begin}");
    // The last set, which may grow.
    let mut set: Vec<String> = vec!["clr      d3".to_owned()];
    let whole = |text: &str, set: &[String]| format!("{text}{}{end}{}", lines(set), back());
    let silent = |text: &str| check(&Listing::of(&parse(text)), &capacity()).is_empty();
    for _ in 0..count {
        let next = random.instruction();
        if grouped && random.below(3) > 0 {
            let mut with = set.clone();
            with.push(next.clone());
            // In a set of several a condition holds on; two stores may meet.
            let mixed = with.iter().any(|line| line.starts_with("if"));
            if !mixed && stores(&with) < 2 && silent(&whole(&text, &with)) {
                set = with;
                continue;
            }
        }
        let next = vec![next];
        let behind =
            (0..4).map(|nops| format!("{text}{}{}", lines(&set), "    nop\n".repeat(nops)));
        // What the first set of a loop may not follow is left out.
        let found = behind.into_iter().find(|text| silent(&whole(text, &next)));
        if let Some(found) = found {
            text = found;
            set = next;
        }
    }
    whole(&text, &set)
}

fn limits() -> Limits {
    Limits {
        sets: 10_000,
        settings: Settings::default(),
        timing: Timing {
            name: "sc140".into(),
            fetch_words: 8,
            precalculated: 1,
            mask_register: 2,
            mask_memory: 2,
            jump: 3,
            branch: 4,
            taken: 4,
            not_taken: 1,
            returns: 3,
            return_missed: 2,
            loop_jump: 4,
            straddle: 1,
            stack_shadow: 1,
            call_push: 1,
            late_mark: 3,
        },
    }
}

/// Memory behind a run of these lines between what sets registers and what stores them.
pub(crate) fn alone(lines: &str, seed: u64) -> Vec<Vec<u8>> {
    outcome(&format!("{FRONT}{lines}{}", back()), seed).0
}

/// Memory behind a run, the results included, and its cycles.
pub(crate) fn outcome(text: &str, seed: u64) -> (Vec<Vec<u8>>, u64) {
    let document = parse(text);
    assert_eq!(document.problems, [], "{text}");
    let source = Source {
        document: &document,
        text,
    };
    let (program, opaque) = Program::new(&[source]);
    assert!(opaque.is_empty(), "{text}");
    let mut memory = simulate::Memory::new();
    let mut places = Vec::new();
    for buffer in 0..3u64 {
        let byte = |at: u64| {
            let mixed = (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ seed << 8 ^ buffer);
            (mixed >> 33) as u8
        };
        let bytes: Vec<u8> = (0..8192).map(byte).collect();
        places.push(memory.place(&bytes).expect("room"));
    }
    let arguments: Vec<Arg> = places.iter().map(|&at| Arg::Pointer(at as u32)).collect();
    let ran = run(&program, "_f", &arguments, &mut memory, &limits());
    let ran = ran.unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    assert!(ran.violations.is_empty(), "{}\n{text}", ran.violations[0]);
    let bytes = places.iter().map(|&at| {
        let bytes = memory.bytes(at, 8192).expect("the buffer");
        bytes.to_vec()
    });
    (bytes.collect(), ran.cycles.total())
}
