//! `if-convert-region`: a branch of C that becomes predicates of the processor, by a line above it.

#[path = "support/command.rs"]
mod command;

use command::{Place, errors, json, lockstep, text};

const BOTH: &str = "\
long both(long c1, long c2, long r1, long r2) {
    if (c1 > 0)
        r1++;
    else
        r1--;
    if (c2 > 0) r2++; else r2--;
    return r1 * 1000 + r2;
}
int helper(int x);
int called(int x) {
    if (x > 3) {
        x = helper(x);
    }
    return x;
}
";

#[test]
fn a_line_above_a_branch_makes_predicates_of_it() {
    let place = Place::new("if-convert");
    let file = place.file("both.c", BOTH);
    let target = ["--no-config", "--target", "ia64:itanium2"];
    let on = |command: &[&str], at: &str| {
        let mut all = command.to_vec();
        all.extend([file.as_str(), "--at", at]);
        all.extend(target);
        lockstep(&all)
    };
    let listed = text(&on(&["actions"], "2:5"));
    assert!(
        listed.contains("If-convert the branch: ") && listed.contains("estimate for itanium2"),
        "{listed}"
    );
    let after = text(&on(&["apply", "if-convert-region"], "2:5"));
    let expected = "\n    #pragma lockstep if_convert\n    if (c1 > 0)\n";
    assert!(after.contains(expected), "{after}");
    let changed = place.file("asked.c", &after);
    let emit = |more: &[&str]| {
        let mut all = vec![
            "emit",
            changed.as_str(),
            "--item",
            "both",
            "--format",
            "json",
        ];
        all.extend(target);
        all.extend(more);
        let output = lockstep(&all);
        assert!(output.status.success(), "{}", errors(&output));
        json(&output)
    };
    let branches = |report: &serde_json::Value| {
        let code = report["text"].as_str().expect("text");
        code.matches("br.cond").count()
    };
    let lines = |report: &serde_json::Value| {
        let converted = report["functions"][0]["converted"].as_array();
        let rows = converted.expect("rows").iter();
        rows.map(|row| row["line"].as_u64().expect("a line"))
            .collect::<Vec<u64>>()
    };
    let asked = emit(&[]);
    assert_eq!((branches(&asked), lines(&asked)), (2, vec![3]), "{asked}");
    let all = emit(&["--if-convert"]);
    assert_eq!(branches(&all), 0, "{all}");
    // Taken out again.
    let back = lockstep(&[
        "apply",
        "remove-if-convert",
        &changed,
        "--at",
        "3:5",
        "--no-config",
        "--target",
        "ia64:itanium2",
    ]);
    assert_eq!(text(&back), BOTH, "{}", errors(&back));
    let refused = errors(&on(&["apply", "if-convert-region"], "11:5"));
    assert!(
        refused.contains("it stays a branch: a side calls, returns, or holds another branch"),
        "{refused}"
    );
}
