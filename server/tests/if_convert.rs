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

const CLAMP: &str = "\
.version 7.8
.target sm_80
.address_size 64
.visible .entry clamp(.param .u64 out, .param .u32 least)
{
	.reg .pred %p<2>;
	.reg .b32 %r<6>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd0, [out];
	ld.param.u32 %r0, [least];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd1, %r1, 4;
	add.s64 %rd2, %rd0, %rd1;
	ld.global.u32 %r2, [%rd2];
	setp.lt.s32 %p0, %r2, %r0;
	@%p0 bra $LOW;
	add.s32 %r3, %r2, 1;
	bra $DONE;
$LOW:
	mov.u32 %r3, %r0;
$DONE:
	st.global.u32 [%rd2], %r3;
	setp.lt.s32 %p1, %r0, 0;
	@%p1 bra $END;
	sin.approx.f32 %r4, %r3;
	sin.approx.f32 %r4, %r4;
	sin.approx.f32 %r4, %r4;
	st.global.u32 [%rd2], %r4;
$END:
	ret;
}
";

#[test]
fn a_branch_of_ptx_becomes_predicates_where_that_is_cheap() {
    let place = Place::new("if-convert-ptx");
    let file = place.file("clamp.ptx", CLAMP);
    let at = |command: &[&str], at: &str| {
        let mut all = command.to_vec();
        all.extend([file.as_str(), "--at", at, "--no-config"]);
        lockstep(&all)
    };
    let listed = text(&at(&["actions"], "16:4"));
    assert!(
        listed.contains("where its lanes part (estimate for sm_80)")
            && listed.contains("2 statements under `%p0`"),
        "{listed}"
    );
    let after = text(&at(&["apply", "if-convert-region"], "16:4"));
    let expected = "\tsetp.lt.s32 %p0, %r2, %r0;
\t@!%p0 add.s32 %r3, %r2, 1;
\t@%p0 mov.u32 %r3, %r0;
$DONE:
";
    assert!(after.contains(expected), "{after}");
    // All lanes take it together: nothing is gained where the side is executed.
    let refused = errors(&at(&["apply", "if-convert-region"], "24:4"));
    assert!(refused.contains("take it together"), "{refused}");
}
