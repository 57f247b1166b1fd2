//! Words, errors and the example of the header. `tests/text.rs` prints and parses whole functions.

use super::names::Named;
use super::*;
use crate::inst::*;
use crate::types::{Space, Type};
use crate::verify;
use std::collections::HashSet;

const TYPES: [Type; 16] = [
    Type::Bool,
    Type::I8,
    Type::I16,
    Type::I32,
    Type::I64,
    Type::F16,
    Type::BF16,
    Type::F32,
    Type::F64,
    Type::Ptr(Space::Generic),
    Type::Ptr(Space::Global),
    Type::Ptr(Space::Shared),
    Type::Ptr(Space::Local),
    Type::Ptr(Space::Constant),
    Type::Handle,
    Type::Opaque,
];

#[test]
fn the_header_s_example_is_a_function() {
    let text = r#"function "f" kernel text -> i32 {
      parameter "n" "int" (v9)   // names need no order
      b7(v9: i32):
        v1: i32 = const 0x10
        jump b3(v1)
      b3(v3: i32):               ; either comment
        v4: i32 = add.nsw v3, v1 @22..25
        v5: bool = icmp.lt_s v4, v9
        branch v5, b3(v4), b2 as loop
      b2:
        return v4
    }"#;
    let function = parse(text).unwrap();
    assert_eq!(verify(&function), Ok(()));
    let again = print(&function);
    assert_eq!(print(&parse(&again).unwrap()), again);
    assert!(again.contains("b1(v2: i32):\n  v3: i32 = add.nsw v2, v1 @22..25\n"));
}

#[test]
fn words_are_distinct() {
    let mut words = HashSet::new();
    let mut insert = |word: &'static str| assert!(words.insert(word), "{word} twice");
    UnaryOp::ALL.iter().for_each(|(_, word)| insert(word));
    BinaryOp::ALL.iter().for_each(|(_, word)| insert(word));
    TernaryOp::ALL.iter().for_each(|(_, word)| insert(word));
    Convert::ALL.iter().for_each(|(_, word)| insert(word));
    for word in [
        "const",
        "undef",
        "unknown",
        "symbol",
        "special",
        "input",
        "parameter",
        "icmp",
        "fcmp",
        "select",
        "fma",
        "ptr_add",
        "alloca",
        "load",
        "store",
        "atomic",
        "resource_element",
        "texture",
        "warp",
        "barrier",
        "derivative",
        "fence",
        "call",
        "call_unknown",
        "asm",
        "open",
        "jump",
        "branch",
        "switch",
        "return",
        "kill",
        "unreachable",
        "bind",
        "loop",
        "vector",
    ] {
        insert(word);
    }
    for (op, _) in UnaryOp::ALL {
        assert_eq!(UnaryOp::from_name(op.name()), Some(*op));
    }
    for (kind, word) in names::WARP_KINDS {
        assert_eq!(names::warp_of(&[word]), Some((kind, &[][..])));
    }
    for ty in TYPES {
        assert_eq!(names::type_of(&ty.to_string()), Some(ty));
    }
}

fn error(text: &str) -> String {
    parse(text).err().map(|e| e.to_string()).unwrap_or_default()
}

#[test]
fn errors_name_their_place() {
    assert_eq!(error(""), "2:1: expected a word");
    assert_eq!(error("function 3"), "1:10: expected a quoted text");
    assert_eq!(
        error("function \"f\" kernel text {\nb0:\n  return v4\n}"),
        "3:10: v4 is not defined"
    );
    assert_eq!(
        error("function \"f\" kernel text {\nb0:\n  jump b1\n}"),
        "3:8: b1 is not defined"
    );
    assert_eq!(
        error("function \"f\" kernel text {\nb0:\n  v1: i32 = frobnicate\n}"),
        "3:13: `frobnicate` is no operation"
    );
    assert_eq!(
        error("function \"f\" kernel text {\nb0:\n  v1: i33 = undef\n}"),
        "3:7: `i33` is no type"
    );
    assert_eq!(
        error("function \"é\" kernel text {\nb0:\n  fence fence\n}"),
        "3:9: expected the end of the line"
    );
    assert_eq!(error("function \"f"), "1:10: the text does not end");
    assert_eq!(
        error("function \"f\" kernel text {\nb0:\n  v1: i32 = undef\n  v1: i32 = undef\n"),
        "4:3: v1 is defined a second time"
    );
}
