//! The contribution of a piece of assembly text to the divergence of its operands: the special registers that
//! it reads and the instructions that exchange values between lanes or read memory.
//!
//! ```text
//! mov.u32 %0, %%laneid;          divergent, without any operand        shr.u32 %0, %1, 3;    as uniform as %1
//! vote.sync.ballot.b32 %0, ..;   uniform over the warp                 frob.b32 %0, %1;      not known
//! ```
//!
//! One pass over the statements; control flow inside the text depends on nothing but operands and the
//! contributions counted here. A special register is as uniform as the builtin value that it reads
//! (`ir::lower::ptx::registers`), and every text is read anew: of registers that change, such as `%smid`, two
//! texts have two values. Opcodes as in the PTX ISA 9.0, section 9.

use ir::lower::ptx::opcodes::{Effect, effect};
use ir::lower::ptx::registers::read_of;

use super::engine::{DISPATCH, DIVERGENT, Level, SUBGROUP, WORKGROUP};
use super::shape::Shape;

/// The level that the text alone allows, to be joined with that of its operands; `None`: an instruction is not known.
pub(super) fn level(template: &str, pure: bool, shape: &Shape) -> Option<Level> {
    let text = code(template);
    Some(of_statements(&text, pure)?.min(registers(&text, shape)))
}

/// Returns true if each instruction of the text is known.
pub(super) fn is_understood(template: &str, pure: bool) -> bool {
    of_statements(&code(template), pure).is_some()
}

fn code(template: &str) -> String {
    without_comments(&template.replace("\\n", "\n").replace("\\t", " "))
}

fn of_statements(text: &str, pure: bool) -> Option<Level> {
    text.split([';', '{', '}', '\n'])
        .try_fold(DISPATCH, |level, statement| {
            Some(level.min(of_statement(statement, pure)?))
        })
}

/// Returns true if the text has no instruction: its result without operands is the accidental contents of a
/// register.
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
    // A directive, or a line that begins with an operand because a comma ended the one before it.
    if !opcode.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Some(DISPATCH);
    }
    match word {
        // The address belongs to one of the cluster's workgroups: the shared memory of each is another one.
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
fn registers(text: &str, shape: &Shape) -> Level {
    let mut level = DISPATCH;
    for piece in text.split('%').skip(1) {
        let word = |text: &str| -> String {
            let letters = text.chars();
            letters
                .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                .collect()
        };
        let name = word(piece);
        let selector = piece[name.len()..].strip_prefix('.').map(word);
        level = level.min(match read_of(&format!("%{name}"), selector.as_deref()) {
            // Registers that the text declares itself, and operands.
            _ if name.starts_with(|c: char| c.is_ascii_digit()) => DISPATCH,
            _ if name.is_empty() || declared(text, &name) => DISPATCH,
            Some(read) => read
                .special
                .map_or(DISPATCH, |special| shape.level_of(special)),
            None => DIVERGENT,
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
    use crate::model::{Class, Method, Options};
    use ir::builder::FunctionBuilder;
    use ir::{FunctionKind, Language};

    fn shape(block: [Option<u32>; 3]) -> Shape {
        let mut b = FunctionBuilder::new("k", FunctionKind::Kernel, Language::Cuda);
        b.ret([]);
        let mut function = b.finish();
        function.launch.block = block;
        Shape::new(&function, &Options::default(), Vec::new())
    }

    /// Each register that the PTX ISA lists, where nothing is known of the launch.
    #[test]
    fn registers_are_as_uniform_as_what_they_read() {
        let of = |register: &str, shape: &Shape| {
            level(&format!("mov.u32 %0, %%{register};"), false, shape)
        };
        let unknown = shape([None; 3]);
        for (expected, registers) in [
            (
                DISPATCH,
                "ntid.x nctaid.y nsmid gridid nwarpid nclusterid.x cluster_nctaid.z cluster_nctarank is_explicit_cluster total_smem_size aggr_smem_size dynamic_smem_size current_graph_exec reserved_smem_offset_cap envreg3 tid.w",
            ),
            (
                WORKGROUP,
                "ctaid.x clusterid.y cluster_ctaid.z cluster_ctarank",
            ),
            // Read once: each may be another at the next read, and in the next warp.
            (SUBGROUP, "warpid smid"),
            (
                DIVERGENT,
                "tid.x tid.z laneid lanemask_eq lanemask_lt lanemask_le lanemask_gt lanemask_ge clock clock_hi clock64 globaltimer globaltimer_lo pm0 pm3_64 envreg32 unheardof",
            ),
        ] {
            for register in registers.split(' ') {
                assert_eq!(of(register, &unknown), Some(expected), "{register}");
            }
        }
        let rows = shape([Some(64), Some(4), Some(1)]);
        assert_eq!(of("tid.y", &rows), Some(SUBGROUP));
        assert_eq!(of("tid.z", &rows), Some(DISPATCH));
        assert_eq!(of("tid.x", &rows), Some(DIVERGENT));
    }

    /// A text without operands that a compiler may move: each method asks for its inputs.
    #[test]
    fn pure_texts_are_no_more_uniform_than_what_they_read() {
        for (register, expected) in [
            ("laneid", Class::Divergent),
            ("clock", Class::Divergent),
            ("smid", Class::Uniform),
            ("nwarpid", Class::Uniform),
        ] {
            let mut b = FunctionBuilder::new("k", FunctionKind::Kernel, Language::Cuda);
            let template = format!("{{ mov.u32 %0, %%{register}; add.u32 %0, %0, 1; }}").into();
            let read = ir::Op::Asm {
                template,
                pure: true,
            };
            let inst = b.inst(read, &[], &[ir::Type::I32]);
            let value = b.results(inst)[0];
            b.ret([]);
            let module = ir::Module {
                functions: vec![b.finish()],
            };
            for method in [Method::Full, Method::Simple, Method::Polynomial(1)] {
                let options = Options {
                    method,
                    ..Options::default()
                };
                let facts = crate::analyze(0, &module, &options);
                assert_eq!(
                    facts.values[value].class, expected,
                    "{register}, {method:?}"
                );
            }
        }
    }

    #[test]
    fn registers_and_instructions_count() {
        let of = |text: &str| level(text, false, &shape([None; 3]));
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
