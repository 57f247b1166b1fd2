//! Sets of SC140 that the packer lets through break no rule of a set by the checker, and the other way round.

use super::{capacity, random};
use lockstep_codegen::mir::packer::Packer;
use lockstep_codegen::target::sc140::check::{Broken, check};
use lockstep_codegen::target::sc140::listing::Listing;
use lockstep_codegen::target::sc140::packer::{Asked, Load, Packing, Resource};
use syntax::sc140::parse;

/// The text of a function of these sets.
fn text(sets: &[Vec<String>]) -> String {
    let mut text = String::from("_f\n");
    for set in sets {
        match &set[..] {
            [only] => text += &format!("    {only}\n"),
            several => {
                text += " [\n";
                for instruction in several {
                    text += &format!("    {instruction}\n");
                }
                text += " ]\n";
            }
        }
    }
    text + "    rts\n"
}

/// The demands of the instructions of a set; a condition is that of its own line alone.
fn asked(lines: &[String]) -> Vec<Asked> {
    let alone: Vec<Vec<String>> = lines.iter().map(|line| vec![line.clone()]).collect();
    let listing = Listing::of(&parse(&text(&alone)));
    let known = listing.sets.iter().take(lines.len());
    let asked: Vec<Asked> = known
        .flat_map(|set| set.instructions().map(Asked::of))
        .collect();
    assert_eq!(asked.len(), lines.len(), "{lines:?}");
    asked
}

fn packing(lines: &[String]) -> Packing {
    Packing::new(capacity(), asked(lines))
}

fn of(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|&line| line.to_owned()).collect()
}

fn fits(lines: &[&str]) -> bool {
    Load::of(&asked(&of(lines))).fits(&capacity())
}

#[test]
fn limits_of_a_set_are_kept() {
    assert!(fits(&[
        "mac d0,d1,d4",
        "mac d0,d2,d5",
        "mac d0,d3,d6",
        "add d4,d5,d7"
    ]));
    assert!(!fits(&["inc d0", "inc d1", "inc d2", "inc d3", "inc d4"]));
    assert!(!fits(&["move.w (r0)+,d0", "move.w (r1)+,d1", "adda #4,r2"]));
    assert!(!fits(&["bmset #1,d0.l", "bmclr #2,d1.l"]));
    assert!(!fits(&["clr d3", "move.w (r0),d3"]));
    assert!(fits(&["ift clr d3", "iff move.w (r0),d3"]));
    assert!(!fits(&["ift clr d3", "move.w (r0),d3"]));
    assert!(!fits(&["ift clr d3", "iff clr d4", "clr d5"]));
    assert!(!fits(&["move.w (r0)+,d0", "move.w d1,(r0)+"]));
    assert!(!fits(&[
        "mac d0,d1,d4",
        "mac d0,d2,d5",
        "mac d0,d3,d6",
        "mac d0,d0,d7"
    ]));
    assert!(!fits(&["tsteq d0", "cmpeq d1,d2"]));
    assert!(fits(&["add d0,d1,d2", "sub d3,d4,d5"]), "two carries");
    assert!(fits(&["push d6", "push d7"]) && !fits(&["push d6", "push r6"]));
    assert!(!fits(&["push d6", "pop d7"]) && !fits(&["push d6", "adda r0,sp"]));
    assert!(!fits(&["bmset #4,sr.l", "add d0,d1,d2"]));
    assert!(!fits(&["rts", "bra _f"]) && !fits(&["rts", "pop d6"]));
    // Three words, three words, and four of one, with two of the prefix.
    assert!(!fits(&[
        "move.l #100000,d0",
        "move.l #100000,d1",
        "mac d0,d1,d8"
    ]));
}

#[test]
fn a_demand_is_what_was_put_in_less_what_was_taken_out() {
    let mut random = random::Random::new(3);
    for _ in 0..200 {
        let lines: Vec<String> = (0..6).map(|_| random.instruction()).collect();
        let packing = packing(&lines);
        let mut demand = Load::default();
        for operation in 0..6 {
            packing.add(&mut demand, operation);
        }
        let whole = packing.fits(&demand);
        for operation in [3, 0, 5] {
            packing.remove(&mut demand, operation);
        }
        let rest = Load::of([1, 2, 4].map(|operation| packing.asked(operation)));
        assert_eq!(packing.fits(&demand), packing.fits(&rest), "{lines:?}");
        assert_eq!(demand.words(), rest.words());
        for operation in [5, 3, 0] {
            packing.add(&mut demand, operation);
        }
        assert_eq!(packing.fits(&demand), whole, "{lines:?}");
    }
}

#[test]
fn what_fits_breaks_no_rule_and_what_breaks_none_fits() {
    let (mut fitting, mut too_much) = (0, 0);
    for seed in 0..3000 {
        let mut random = random::Random::new(seed);
        let count = 1 + random.below(6);
        let lines: Vec<String> = (0..count).map(|_| random.instruction()).collect();
        let packing = packing(&lines);
        let all: Vec<u32> = (0..count as u32).collect();
        let written = packing.written(&all);
        // A condition holds until the next one of the set is written.
        let conditional = lines.iter().any(|line| line.starts_with("if"));
        let text = written.iter().map(|&at| {
            let line = &lines[at as usize];
            match conditional && !line.starts_with("if") {
                true => format!("ifa {line}"),
                false => line.clone(),
            }
        });
        let text = self::text(&[text.collect()]);
        let listing = Listing::of(&parse(&text));
        let mut broken = check(&listing, &capacity());
        // That two stores do not meet their dependence sees to.
        broken.retain(|finding| finding.at.set == 0 && finding.broken != Broken::Stores);
        let demand = Load::of(all.iter().map(|&at| packing.asked(at)));
        assert_eq!(packing.fits(&demand), broken.is_empty(), "{text}{broken:?}");
        match broken.is_empty() {
            true => fitting += 1,
            false => too_much += 1,
        }
    }
    assert!(fitting > 500 && too_much > 500, "{fitting} {too_much}");
}

#[test]
fn bounds_are_by_resource() {
    let lines = of(&[
        "mac d0,d1,d4",
        "mac d0,d2,d5",
        "mac d0,d3,d6",
        "mac d1,d2,d7",
        "inc d0",
        "move.f (r0)+,d0",
        "move.f (r1)+,d1",
        "adda #4,r2",
        "tsteq d3",
    ]);
    let packing = packing(&lines);
    let of = |wanted| {
        let bounds = packing.bounds();
        let found = bounds.iter().find(|(resource, _)| *resource == wanted);
        found.expect("a bound").1
    };
    assert_eq!(of(Resource::DataUnits), 2);
    assert_eq!(of(Resource::AddressUnits), 2);
    assert_eq!(of(Resource::Instructions), 2);
    assert_eq!((of(Resource::Truth), of(Resource::MaskUnit)), (1, 0));
    assert_eq!(packing.res_mii(), 2);
    assert_eq!(packing.scarcity()[0], 250);
    assert_eq!(packing.scarcity()[5], 500);
    assert_eq!(packing.kind(0), 0);
    assert!(packing.kind(6) < packing.kinds());
}
