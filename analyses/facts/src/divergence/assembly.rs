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

use super::engine::{DISPATCH, DIVERGENT, Level, SUBGROUP, WORKGROUP};

/// Functions of the lane's own operands.
const PURE: &[&str] = &[
    "abs",
    "add",
    "addc",
    "and",
    "bfe",
    "bfi",
    "bfind",
    "bmsk",
    "brev",
    "clz",
    "cnot",
    "copysign",
    "cos",
    "createpolicy",
    "cvt",
    "cvta",
    "div",
    "dp2a",
    "dp4a",
    "ex2",
    "fma",
    "fns",
    "getctarank",
    "isspacep",
    "istypep",
    "lg2",
    "lop3",
    "mad",
    "mad24",
    "madc",
    "mapa",
    "max",
    "min",
    "mov",
    "mul",
    "mul24",
    "neg",
    "not",
    "or",
    "popc",
    "prmt",
    "rcp",
    "rem",
    "rsqrt",
    "sad",
    "selp",
    "set",
    "setp",
    "shf",
    "shl",
    "shr",
    "sin",
    "slct",
    "sqrt",
    "sub",
    "subc",
    "szext",
    "tanh",
    "testp",
    "vabsdiff",
    "vabsdiff2",
    "vabsdiff4",
    "vadd",
    "vadd2",
    "vadd4",
    "vavrg2",
    "vavrg4",
    "vmad",
    "vmax",
    "vmax2",
    "vmax4",
    "vmin",
    "vmin2",
    "vmin4",
    "vset",
    "vset2",
    "vset4",
    "vshl",
    "vshr",
    "vsub",
    "vsub2",
    "vsub4",
    "xor",
];

/// Without a result, or with one that no lane reads.
const SILENT: &[&str] = &[
    "applypriority",
    "bar",
    "barrier",
    "bra",
    "brkpt",
    "call",
    "clusterlaunchcontrol",
    "cp",
    "discard",
    "exit",
    "fence",
    "griddepcontrol",
    "membar",
    "nanosleep",
    "pmevent",
    "prefetch",
    "prefetchu",
    "red",
    "ret",
    "setmaxnreg",
    "st",
    "stmatrix",
    "tensormap",
    "trap",
];

/// Other lanes' values, or memory that may change between two lanes.
const APART: &[&str] = &[
    "alloca",
    "atom",
    "elect",
    "ldmatrix",
    "match",
    "mbarrier",
    "mma",
    "movmatrix",
    "multimem",
    "shfl",
    "stackrestore",
    "stacksave",
    "suld",
    "tcgen05",
    "tex",
    "tld4",
    "wgmma",
    "wmma",
];

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

fn without_comments(text: &str) -> String {
    text.lines()
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
        _ if PURE.binary_search(&word).is_ok() || SILENT.binary_search(&word).is_ok() => {
            Some(DISPATCH)
        }
        _ if APART.binary_search(&word).is_ok() => Some(DIVERGENT),
        // The opcode alone, from a front end that knows what it does.
        _ if pure && !opcode.is_empty() && statement.trim() == opcode => Some(DISPATCH),
        _ => None,
    }
}

/// The least uniform special register that the text names: `%%laneid` in C, where `%0` is an operand.
fn registers(text: &str) -> Level {
    let mut level = DISPATCH;
    for piece in text.split("%%").skip(1) {
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
    fn tables_are_sorted() {
        for table in [PURE, SILENT, APART] {
            assert!(table.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }

    #[test]
    fn registers_and_instructions_count() {
        let of = |text| level(text, false);
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
        assert_eq!(of("frobnicate.b32 %0, %1;"), None);
        assert_eq!(of("add.s32 %0, // the sum\n %1, %2;"), Some(DISPATCH));
    }
}
