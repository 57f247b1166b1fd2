//! Assembly in execution sets: the command line runs it, its machine is shown, text that can't be read is
//! reported.

#[path = "support/command.rs"]
mod command;

use command::{Place, errors, json, lockstep, text};

/// A fixture of the folder.
fn fixture(name: &str) -> String {
    fixtures::root()
        .join("sc140")
        .join(name)
        .display()
        .to_string()
}

#[test]
fn a_function_runs_with_its_results_and_cycles() {
    let file = fixture("dot-product.sc140.asm");
    let arguments = [
        "sim",
        &file,
        "--item",
        "_dot",
        "--arg",
        "i16:1,2,3,4,5,6,7,8",
        "--arg",
        "i16:1,1,1,1,2,2,2,2",
        "--arg",
        "8:i16",
        "--format",
        "json",
    ];
    let ran = json(&lockstep(&arguments));
    assert_eq!(ran["d0"], 2 * (10 + 2 * 26));
    assert_eq!(
        (&ran["cycles"], &ran["machine"]),
        (&12.into(), &"sc140".into())
    );
    assert_eq!(ran["sets"], 10);
    assert_eq!(ran["lost"]["flow"], 2);
    assert_eq!(ran["buffers"], serde_json::json!([]));
    let shown = lockstep(&arguments[..arguments.len() - 2]);
    assert!(
        text(&shown).contains("d0 = 124 (0x000000007c)"),
        "{}",
        text(&shown)
    );
    assert!(
        text(&shown).contains("12 cycles on sc140 (estimate"),
        "{}",
        text(&shown)
    );
}

#[test]
fn two_pointers_may_lead_into_one_buffer() {
    let file = fixture("saturating-add.sc140.asm");
    let ran = lockstep(&[
        "sim",
        &file,
        "--item",
        "_vadd",
        "--arg",
        "i16:1,2,3,4,30000,30000,-30000,-30000,0,0,0,0",
        "--arg",
        "@0+8",
        "--arg",
        "@0+8",
        "--arg",
        "4:i16",
    ]);
    assert!(ran.status.success(), "{}", errors(&ran));
    let sums = "buffer 0 = 1, 2, 3, 4, 30001, 30002, -29997, -29996, 0, 0, 0, 0";
    assert!(text(&ran).contains(sums), "{}", text(&ran));
    for (place, why) in [
        ("@1", "no such argument"),
        ("@0+99", "not so long"),
        ("@x", "expected @ARGUMENT"),
    ] {
        let wrong = lockstep(&[
            "sim", &file, "--item", "_vadd", "--arg", "i16:1,2", "--arg", place,
        ]);
        assert_eq!(wrong.status.code(), Some(2), "{place}");
        assert!(errors(&wrong).contains(why), "{}", errors(&wrong));
    }
}

#[test]
fn files_run_together() {
    let place = Place::new("sets-together");
    let caller = place.file(
        "caller.sc140.asm",
        " GLOBAL _f\n_f\n jsr _g\n add #1,d0\n rts\n",
    );
    let callee = place.file("callee.sc140.asm", " GLOBAL _g\n_g\n add #4,d0\n rts\n");
    let ran = json(&lockstep(&[
        "sim", &caller, &callee, "--item", "_f", "--arg", "2", "--format", "json",
    ]));
    assert_eq!(ran["d0"], 7);
    let alone = lockstep(&["sim", &caller, "--item", "_f", "--arg", "2"]);
    assert_eq!(alone.status.code(), Some(1));
    assert!(
        errors(&alone).contains("line 3: `_g` is in no file"),
        "{}",
        errors(&alone)
    );
    let missing = lockstep(&["sim", &caller, "--item", "_h"]);
    assert!(
        errors(&missing).contains("there are: _f"),
        "{}",
        errors(&missing)
    );
}

#[test]
fn settings_and_tables_change_what_a_run_does() {
    let place = Place::new("sets-settings");
    let file = place.file(
        "f.sc140.asm",
        "_f\n move.l #$7fffffff,d0\n inc d0\n move.w (sp-10),d1\n rts\n",
    );
    let d0 = |more: &[&str]| {
        let mut arguments = vec!["sim", &*file, "--item", "_f", "--format", "json"];
        arguments.extend(more);
        let ran = json(&lockstep(&arguments));
        (ran["d0"].as_i64(), ran["cycles"].as_i64())
    };
    assert_eq!(d0(&[]), (Some(0x7fff_ffff), Some(6)));
    assert_eq!(d0(&["--set", "saturates=false"]).0, Some(0x8000_0000));
    let table = place.file(
        "slow.machine.toml",
        "kind = \"sets\"\nname = \"slow\"\nbase = \"sc140\"\n[latency]\nprecalculated = 2\n",
    );
    assert_eq!(d0(&["--machine", &table]).1, Some(7));
    let wrong = lockstep(&["sim", &file, "--item", "_f", "--set", "speed=1"]);
    assert!(
        errors(&wrong).contains("product_saturates"),
        "{}",
        errors(&wrong)
    );
    let wrong = lockstep(&["sim", &file, "--item", "_f", "--machine", "itanium2"]);
    assert!(errors(&wrong).contains("`sc140`"), "{}", errors(&wrong));
    // A table says which registers make a pair.
    let pairs = place.file("pairs.sc140.asm", "_f\n max d0,d5\n rts\n");
    assert_eq!(
        lockstep(&["sim", &pairs, "--item", "_f"]).status.code(),
        Some(1)
    );
    let any = place.file(
        "any.machine.toml",
        "kind = \"sets\"\nname = \"any\"\nbase = \"sc140\"\n[registers]\npair_distance = 0\n",
    );
    let taken = lockstep(&["sim", &pairs, "--item", "_f", "--machine", &any]);
    assert_eq!(taken.status.code(), Some(0), "{}", text(&taken));
    // A broken rule is told, and by the exit status.
    let broken = place.file("broken.sc140.asm", "_f\n [\n clr d1\n inc d1\n ]\n rts\n");
    let told = lockstep(&["sim", &broken, "--item", "_f"]);
    assert_eq!(told.status.code(), Some(1));
    assert!(
        text(&told).contains("d1 is written by two instructions"),
        "{}",
        text(&told)
    );
}

#[test]
fn its_machine_is_shown_with_the_certainty_of_each_figure() {
    let shown = json(&lockstep(&["machine", "show", "sc140", "--format", "json"]));
    assert_eq!(shown["kind"], "sets");
    let values = &shown["values"];
    assert_eq!(values["issue"]["words"]["value"], 8.0);
    assert_eq!(values["issue"]["words"]["is"], "fact");
    assert_eq!(values["latency"]["precalculated"]["is"], "estimate");
    assert!(text(&lockstep(&["machine", "list"])).contains("StarCore SC140"));
    // It is none whose costs kernels have.
    let place = Place::new("sets-machine");
    let kernel = place.file("k.cu", "__global__ void k(int *p) { *p = 1; }\n");
    for option in ["--machine", "--target"] {
        let wrong = lockstep(&["check", &kernel, option, "sc140"]);
        assert_eq!(wrong.status.code(), Some(2), "{option}");
    }
}

#[test]
fn what_can_not_be_read_is_told() {
    let place = Place::new("sets-problems");
    let file = place.file(
        "f.sc140.asm",
        "_f\n [\n mac d0,d1\n frob d0\n clr (d0\n rts\n",
    );
    let told = json(&lockstep(&["check", &file, "--notes", "--format", "json"]));
    let told = told.to_string();
    for (line, what) in [
        (2, "no `]`"),
        (3, "`mac` has no form"),
        (4, "`frob` is not simulated"),
        (5, "no operand"),
    ] {
        assert!(told.contains(what), "{what} in line {line}: {told}");
    }
    let silent = place.file("g.sc140.asm", "_g\n clr d0\n rts\n");
    let told = lockstep(&["check", &silent]);
    assert!(told.status.success(), "{}", errors(&told));
}

const BROKEN: &str = "\
_f
 [
    clr      d0
    clr      d0
 ]
    move.w   #536,r7
    suba     r7,sp
    rts
";

#[test]
fn broken_rules_are_told_with_their_number_and_what_they_rest_on() {
    let place = Place::new("sets-rules");
    let file = place.file("broken.sc140.asm", BROKEN);
    let told = lockstep(&["check", &file]);
    assert_eq!(
        told.status.code(),
        Some(1),
        "a rule of the manual is broken"
    );
    let shown = text(&told);
    assert!(
        shown.contains("broken.sc140.asm:4:5: error[vles-illegal]: d0 is written twice in a set"),
        "{shown}"
    );
    assert!(
        shown.contains("broken.sc140.asm:7:5: warning[vles-illegal]: r7 is used by the address units in the set behind a move to it"),
        "{shown}"
    );
    assert!(
        shown.contains("(G.G.4)") && shown.contains("(A.2)"),
        "{shown}"
    );
    let page = text(&lockstep(&["explain", "vles-illegal"]));
    assert!(page.contains("| G.G.5 |"), "{page}");
    for name in [
        "dot-product",
        "fir-four-outputs",
        "maximum",
        "saturating-add",
        "conditional-count",
    ] {
        let silent = lockstep(&["check", &fixture(&format!("{name}.sc140.asm")), "--notes"]);
        assert!(!text(&silent).contains("vles-"), "{}", text(&silent));
    }
}

#[test]
fn a_target_in_two_fetches_is_told() {
    let place = Place::new("sets-fetches");
    let code = "    ALIGN 16\n_f\n    move.l   #100000,r0\n    addnc.w  #1,d0,d1\nL1\n [\n    addnc.w  #1,d0,d1\n    addnc.w  #1,d2,d3\n ]\n    bf       <L1\n    rts\n";
    let file = place.file("split.sc140.asm", code);
    let shown = text(&lockstep(&["check", &file, "--notes"]));
    assert!(
        shown.contains("split.sc140.asm:6:2: information[vles-split]: two fetches hold this set: each jump here takes a cycle more"),
        "{shown}"
    );
    let aligned = place.file(
        "aligned.sc140.asm",
        code.replace("L1\n [", " FALIGN\nL1\n ["),
    );
    let silent = text(&lockstep(&["check", &aligned, "--notes"]));
    assert!(!silent.contains("vles-split"), "{silent}");
}

#[test]
fn pieces_are_re_packed_from_the_command_line() {
    let place = Place::new("sets-repack");
    let code = "_f\n    clr      d2      ; a sum\n    move.w   (r0)+,d0\n    clr      d3\n    mac      d0,d1,d2\n    rts\n";
    let file = place.file("pack.sc140.asm", code);
    let actions = text(&lockstep(&["actions", &file, "--at", "3:5"]));
    assert!(
        actions.contains("Re-pack this piece: 5 to 2 sets"),
        "{actions}"
    );
    let written = lockstep(&["apply", "re-pack", &file, "--at", "3:5"]);
    assert_eq!(
        text(&written),
        "_f\n [\n    clr      d2      ; a sum\n    move.w   (r0)+,d0\n    clr      d3\n ]\n [\n    mac      d0,d1,d2\n    rts\n ]\n",
        "{}",
        errors(&written)
    );
    let two = place.file(
        "two.sc140.asm",
        format!("{code}_g\n    clr d0\n    clr d1\n    rts\n"),
    );
    let all = lockstep(&["apply", "re-pack-file", &two, "--at", "1:1"]);
    assert!(
        text(&all).contains("_g\n [\n    clr d0\n    clr d1\n    rts\n ]"),
        "{}",
        errors(&all)
    );
    let kept = place.file("kept.sc140.asm", BROKEN);
    let refused = lockstep(&["apply", "re-pack", &kept, "--at", "3:5"]);
    assert!(
        errors(&refused).contains("breaks a rule as it is"),
        "{}",
        errors(&refused)
    );
}

#[test]
fn accesses_of_the_stack_are_spared_from_the_command_line() {
    let place = Place::new("sets-spills");
    let code = "    GLOBAL _f\n_f\n    adda     #8,sp\n    move.l   (r0),d0\n    move.l   d0,(sp-8)  ; kept\n    move.l   (sp-8),d1\n    add      d0,d1,d0\n    suba     #8,sp\n    rts      ; back\n_g\n    rts\n";
    let file = place.file("spill.sc140.asm", code);
    for at in ["2:1", "6:5"] {
        let actions = text(&lockstep(&["actions", &file, "--at", at]));
        assert!(
            actions.contains("Reduce spills of `_f`: 1 to 0 loads, 1 to 0 stores, 7 to "),
            "{actions}"
        );
    }
    let written = text(&lockstep(&["apply", "reduce-spills", &file, "--at", "6:5"]));
    assert!(
        !written.contains("(sp-8)") && written.contains("tfr      d0,d1"),
        "{written}"
    );
    assert!(
        written.contains("; back\n") && written.ends_with("_g\n    rts\n"),
        "{written}"
    );
    let taken = code.replace("suba     #8,sp", "tfra     sp,r1\n    suba     #8,sp");
    let taken = place.file("taken.sc140.asm", taken);
    let refused = lockstep(&["apply", "reduce-spills", &taken, "--at", "6:5"]);
    assert!(
        errors(&refused).contains("the address of the stack is taken")
            && errors(&refused).contains("(line 8)"),
        "{}",
        errors(&refused)
    );
    // Nothing of it is on the stack.
    let none = lockstep(&["apply", "reduce-spills", &file, "--at", "11:5"]);
    assert!(!errors(&none).is_empty() && !none.status.success());
}
