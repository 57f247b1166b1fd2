//! Pieces of SC140 code in fewer sets: the same results by the simulator, no rule broken by the checker, comments and
//! labels kept.

use super::{capacity, fixture, programs};
use lockstep_codegen::target::sc140::check::check;
use lockstep_codegen::target::sc140::listing::Listing;
use lockstep_codegen::target::sc140::repack::{KeptReason, Outcome, Repacked, repack};
use syntax::sc140::parse;

fn repacked(text: &str) -> (String, Vec<Repacked>) {
    let document = parse(text);
    let listing = Listing::of(&document);
    let pieces = repack(&document, text, &listing, &capacity());
    let mut changed = text.to_owned();
    for piece in pieces.iter().rev() {
        if let Outcome::Rewritten { text, .. } = &piece.outcome {
            let span = piece.span.start as usize..piece.span.end as usize;
            changed.replace_range(span, text);
        }
    }
    (changed, pieces)
}

/// Sets in all, and those that the pieces say.
fn sets(text: &str) -> usize {
    Listing::of(&parse(text)).sets.len()
}

#[test]
fn random_programs_do_the_same_in_fewer_sets() {
    let (mut before, mut after, mut proved, mut rewritten, mut withdrawn) = (0, 0, 0, 0, 0);
    let mut cycles = (0, 0);
    for seed in 0..300 {
        let text = programs::program(seed, 5 + (seed as usize * 7) % 45);
        let (changed, pieces) = repacked(&text);
        let found = check(&Listing::of(&parse(&changed)), &capacity());
        assert_eq!(found, [], "{text}\n{changed}");
        for data in 0..3 {
            let old = programs::outcome(&text, data);
            let new = programs::outcome(&changed, data);
            for (buffer, (left, right)) in old.0.iter().zip(&new.0).enumerate() {
                let differs = (0..left.len()).find(|&at| left[at] != right[at]);
                assert_eq!(differs, None, "in buffer {buffer}\n{text}\n{changed}");
            }
            assert!(
                new.1 <= old.1,
                "{} after {}\n{text}\n{changed}",
                new.1,
                old.1
            );
            cycles = (cycles.0 + old.1, cycles.1 + new.1);
        }
        before += sets(&text);
        after += sets(&changed);
        let mut saved = 0;
        for piece in &pieces {
            match &piece.outcome {
                Outcome::Rewritten {
                    after, proved: all, ..
                } => {
                    rewritten += 1;
                    proved += usize::from(*all);
                    assert!(*after < piece.before);
                    saved += (piece.before.sets - after.sets) as usize;
                }
                Outcome::Kept(KeptReason::WouldBreak { .. }) => withdrawn += 1,
                Outcome::Kept(_) => {}
            }
        }
        assert_eq!(sets(&text) - saved, sets(&changed));
    }
    println!(
        "{before} sets to {after}, {proved} of {rewritten} proved, {withdrawn} withdrawn, {} cycles to {}",
        cycles.0, cycles.1
    );
    assert!(after * 4 < before * 3, "{before} {after}");
    assert!(withdrawn * 50 < rewritten, "{withdrawn} of {rewritten}");
}

#[test]
fn what_is_packed_is_not_packed_further() {
    for seed in 0..40 {
        let text = programs::program(seed, 20);
        let (changed, _) = repacked(&text);
        let (again, _) = repacked(&changed);
        assert!(sets(&again) <= sets(&changed));
        let (third, _) = repacked(&again);
        assert_eq!(sets(&third), sets(&again), "{changed}");
    }
}

#[test]
fn functions_that_run_keep_their_results_and_break_no_rule() {
    for (name, saved) in [
        ("conditional-count", 2),
        ("dot-product", 1),
        ("fir-four-outputs", 1),
        ("maximum", 1),
        ("saturating-add", 0),
    ] {
        let text = fixture(&format!("{name}.sc140.asm"));
        let (changed, _) = repacked(&text);
        let found = check(&Listing::of(&parse(&changed)), &capacity());
        assert_eq!(found, [], "{changed}");
        assert_eq!(sets(&text) - sets(&changed), saved, "{changed}");
        let comments = |text: &str| -> Vec<String> {
            let document = parse(text);
            let comments = document.comments();
            comments.map(|comment| comment.text.to_string()).collect()
        };
        assert_eq!(comments(&text), comments(&changed));
    }
}

#[test]
fn comments_labels_and_slots_stay() {
    let text = "_f ; the function\n    clr      d0   ; first\n; on its own\n    clr      d1   ; second\n    tsteq    d2\n    nop           ; waits\n    ift move.w (r0),d3\n    bfd      <_f\n    clr      d4   ; in the slot\nL1  clr      d5\n    clr      d6 ; last\n    rts ; returns\n";
    let (changed, pieces) = repacked(text);
    assert_eq!(
        changed,
        "_f ; the function\n [\n    clr      d0   ; first\n    ; on its own\n    clr      d1   ; second\n    tsteq    d2\n ]\n    nop           ; waits\n    IFT move.w (r0),d3\n    bfd      <_f\n    clr      d4   ; in the slot\nL1  \n [\n    clr      d5\n    clr      d6 ; last\n    rts ; returns\n ]\n"
    );
    assert_eq!(pieces.len(), 2);
    let windows = text.replace('\n', "\r\n");
    assert_eq!(repacked(&windows).0, changed.replace('\n', "\r\n"));
}

#[test]
fn an_exchange_stays_in_one_set_and_pushes_do() {
    let text = "_f\n [\n    tfr      d0,d1\n    tfr      d1,d0\n ]\n    clr      d2\n [\n    push     d6\n    push     d7\n ]\n    nop\n [\n    push     r6\n    push     r7\n ]\n    rts\n";
    let (changed, _) = repacked(text);
    assert_eq!(
        changed,
        "_f\n [\n    tfr      d0,d1\n    tfr      d1,d0\n    clr      d2\n    push     d6\n    push     d7\n ]\n [\n    push     r6\n    push     r7\n ]\n    rts\n"
    );
}

#[test]
fn what_breaks_a_rule_or_is_unknown_is_left() {
    let broken = "_f\n [\n    clr      d0\n    clr      d0\n ]\n    clr      d1\n    rts\n";
    let (changed, pieces) = repacked(broken);
    assert_eq!(changed, broken);
    assert_eq!(pieces[0].outcome, Outcome::Kept(KeptReason::Broken));
    let unknown = "_f\n    clr      d0\n    frob     d1\n    clr      d2\n    rts\n";
    assert_eq!(
        repacked(unknown).0,
        "_f\n    clr      d0\n    frob     d1\n [\n    clr      d2\n    rts\n ]\n"
    );
}

/// A store and a load of places that may be one stay in their order; of places that are not they go together.
#[test]
fn memory_keeps_its_order_where_accesses_may_meet() {
    let pair = |second: &str| {
        let text = format!("_f\n    move.w   d0,(r0)\n    move.w   {second},d1\n    rts\n");
        sets(&text) - sets(&repacked(&text).0)
    };
    assert_eq!(pair("(r0+2)"), 1);
    assert_eq!(pair("(r0)"), 1, "only the return moves up");
    assert_eq!(pair("(r1)"), 1);
    let apart = "_f\n    move.w   d0,(r0)\n    move.w   (r0+2),d1\n    clr      d2\n";
    assert_eq!(sets(&repacked(apart).0), 1);
    let meeting = "_f\n    move.w   d0,(r0)\n    move.w   (r1),d1\n    clr      d2\n";
    assert_eq!(sets(&repacked(meeting).0), 2);
    let stepped = "_f\n    move.w   d0,(r0)+\n    move.w   (r0+2),d1\n    clr      d2\n";
    assert_eq!(sets(&repacked(stepped).0), 2);
}
