//! What a piece of assembly text adds to the divergence of its operands: the special registers that it reads and the
//! instructions that exchange values between lanes or read memory.
//!
//! ```text
//! mov.u32 %0, %%laneid;          divergent, without any operand        shr.u32 %0, %1, 3;    as uniform as %1
//! vote.sync.ballot.b32 %0, ..;   uniform over the warp                 frob.b32 %0, %1;      not known
//! ```
//!
//! One pass over the statements; control flow inside the text depends on nothing but operands and what is counted here.
//! Opcodes and registers as in the PTX ISA 9.0, sections 9 and 10.

use ir::lower::ptx::opcodes::{Effect, effect};

use super::engine::{DISPATCH, DIVERGENT, Level, SUBGROUP, WORKGROUP};

/// The level that the text alone allows, to be joined with that of its operands; `None`: an instruction is not known.
pub(super) fn level(template: &str, pure: bool) -> Option<Level> {
    let mut level = DISPATCH;
    let text = template.replace("\\n", "\n").replace("\\t", " ");
    let text = without_comments(&text);
    for statement in text.split([';', '{', '}', '\n']) {
        level = level.min(of_statement(statement, pure)?);
    }
    Some(level.min(registers(&text)))
}

/// Whether the text has no instruction: what it yields without operands is what a register happens to hold.
pub(super) fn is_empty(template: &str) -> bool {
    without_comments(template).trim().is_empty()
}

fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("/*") {
        kept.push_str(before);
        kept.push(' ');
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept.lines()
        .map(|line| line.split("//").next().unwrap_or(""))
        .collect::<Vec<_>>()
        .join("\n")
}

fn of_statement(statement: &str, pure: bool) -> Option<Level> {
    let mut words = statement.split_whitespace();
    let opcode = loop {
        let Some(word) = words.next() else {
            return Some(DISPATCH);
        };
        if word.starts_with('@') {
            // A guard may stand apart from its predicate.
            if word.len() == 1 {
                words.next();
            }
            continue;
        }
        if !word.ends_with(':') {
            break word;
        }
    };
    let word = opcode.split(['.', ',']).next().unwrap_or("");
    let has = |part: &str| opcode.split('.').any(|p| p == part);
    // A directive, or a line that begins with an operand because a comma ended the one before.
    if !opcode.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Some(DISPATCH);
    }
    match word {
        // Which of the cluster's workgroups an address belongs to: its own shared memory's is another in each.
        "getctarank" => Some(WORKGROUP),
        "ld" | "ldu" => Some(if has("param") || has("const") {
            DISPATCH
        } else if (has("global") || has("shared") || has("shared::cta"))
            && !["volatile", "relaxed", "acquire", "mmio"]
                .iter()
                .any(|w| has(w))
        {
            SUBGROUP
        } else {
            DIVERGENT
        }),
        "vote" | "redux" | "activemask" => Some(SUBGROUP),
        // A function that is not in sight.
        "call" => None,
        _ => match effect(word) {
            Some(Effect::Pure | Effect::Silent) => Some(DISPATCH),
            Some(Effect::Apart | Effect::Depends) => Some(DIVERGENT),
            // The opcode alone, from a front end that knows what it does.
            None if pure && statement.trim() == opcode => Some(DISPATCH),
            None => None,
        },
    }
}

/// The least uniform special register that the text names: `%%laneid` or, as compilers accept it, `%laneid` in C, where
/// `%0` is an operand.
fn registers(text: &str) -> Level {
    let mut level = DISPATCH;
    for piece in text.split('%').skip(1) {
        let name: String = piece
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
            .collect();
        level = level.min(match name.as_str() {
            "ntid"
            | "nctaid"
            | "nsmid"
            | "gridid"
            | "nwarpid"
            | "cluster_nctaid"
            | "cluster_nctarank"
            | "nclusterid"
            | "is_explicit_cluster"
            | "total_smem_size"
            | "dynamic_smem_size"
            | "aggr_smem_size"
            | "current_graph_exec" => DISPATCH,
            "ctaid" | "clusterid" | "cluster_ctaid" | "cluster_ctarank" => WORKGROUP,
            "warpid" | "smid" => SUBGROUP,
            // Registers that the text declares itself.
            _ if name.starts_with(|c: char| c.is_ascii_digit()) => DISPATCH,
            _ if name.is_empty() || declared(text, &name) => DISPATCH,
            _ => DIVERGENT,
        });
    }
    level
}

fn declared(text: &str, name: &str) -> bool {
    text.split(".reg").skip(1).any(|piece| {
        let list = piece.split(';').next().unwrap_or("");
        list.split([' ', ',', '\t']).any(|word| {
            let word = word.trim_start_matches('%');
            let stem = word.split('<').next().unwrap_or("");
            word == name || (word.contains('<') && !stem.is_empty() && name.starts_with(stem))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_and_instructions_count() {
        let of = |text: &str| level(text, false);
        assert_eq!(of("mov.u32 %0, %%laneid;"), Some(DIVERGENT));
        assert_eq!(of("mov.u32 %0, %%smid;"), Some(SUBGROUP));
        assert_eq!(of("mov.u32 %0, %%ctaid.x;"), Some(WORKGROUP));
        assert_eq!(
            of("{.reg .pred p;\n setp.ne.b32 p, %1, 0;\n @p add.s32 %0, %0, 1;\n}"),
            Some(DISPATCH)
        );
        assert_eq!(
            of("{ .reg .b32 %%r<3>; mov.b32 %%r1, %1; mov.b32 %0, %%r1; }"),
            Some(DISPATCH)
        );
        assert_eq!(of("vote.sync.ballot.b32 %0, %1, %2;"), Some(SUBGROUP));
        assert_eq!(
            of("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1}, {%2}, {%3}, {%0,%1};"),
            Some(DIVERGENT)
        );
        assert_eq!(of("ld.global.nc.f32 %0, [%1];"), Some(SUBGROUP));
        assert_eq!(of("ld.volatile.global.f32 %0, [%1];"), Some(DIVERGENT));
        for register in [
            "laneid",
            "clock",
            "clock64",
            "globaltimer",
            "lanemask_lt",
            "tid.x",
        ] {
            assert_eq!(of(&format!("mov.u32 %0, %{register};")), Some(DIVERGENT));
            assert_eq!(of(&format!("mov.u32 %0,%%{register};")), Some(DIVERGENT));
        }
        assert_eq!(of("mov.u32 %0, %smid;"), Some(SUBGROUP));
        assert_eq!(
            of("{ .reg .b32 %r<3>; mov.b32 %r1, %1; mov.b32 %0, %r1; }"),
            Some(DISPATCH)
        );
        assert_eq!(of("frobnicate.b32 %0, %1;"), None);
        assert_eq!(of("/* two\n lines */ frobnicate.b32 %0, %1;"), None);
        assert_eq!(of("/* laneid */ mov.b32 %0, %1;"), Some(DISPATCH));
        assert_eq!(of("call (%0), read, (%1);"), None);
        assert!(is_empty(" // nothing\n") && !is_empty("mov.b32 %0, %1;"));
        assert_eq!(of("add.s32 %0, // the sum\n %1, %2;"), Some(DISPATCH));
    }
}
