//! The small programs T6 to T15 of the regression list for divergence analyses (multi-exit loops, nested
//! exits, joins before the post-dominator, temporal divergence, switches, early returns, two latches,
//! wrap-around), with the values that must and those that must not be called uniform over a warp.

use super::Case;
use facts::{Method, Options, Scope};
use ir::{Block, Value};
use oracle::interp::{Argument, Launch};

/// `(value, block of the use)`, the definition's own block for the definition.
pub(crate) type Wanted = (Value, Block, bool);

#[derive(Debug)]
pub(crate) struct Fixed {
    pub(crate) name: &'static str,
    /// The values of the parameters.
    arguments: &'static [u64],
    pub(crate) wanted: &'static [Wanted],
    blocks: &'static str,
}

const fn program(
    name: &'static str,
    arguments: &'static [u64],
    wanted: &'static [Wanted],
    blocks: &'static str,
) -> Fixed {
    Fixed {
        name,
        arguments,
        wanted,
        blocks,
    }
}

const fn v(value: u32, block: u32, uniform: bool) -> Wanted {
    (Value(value), Block(block), uniform)
}

pub(crate) const ALL: &[Fixed] = &[
    program(
        "T6 two exits of one loop, constants merged",
        &[3],
        &[v(4, 1, true), v(8, 3, false)],
        "\
b0(v0: i32):
  v1: i32 = const 0
  v2: i32 = const 1
  v3: i32 = special tid.x
  jump b1(v1)
b1(v4: i32):
  v5: bool = icmp.ge_s v4, v0
  branch v5, b3(v1), b2
b2:
  v6: i32 = add v4, v2
  v7: bool = icmp.eq v3, v1
  branch v7, b3(v2), b1(v6)
b3(v8: i32):
  return v8",
    ),
    program(
        "T6 with equal constants",
        &[3],
        &[v(9, 3, true)],
        "\
b0(v0: i32):
  v1: i32 = const 0
  v2: i32 = const 1
  v3: i32 = const 7
  v4: i32 = special tid.x
  jump b1(v1)
b1(v5: i32):
  v6: bool = icmp.ge_s v5, v0
  branch v6, b3(v3), b2
b2:
  v7: i32 = add v5, v2
  v8: bool = icmp.eq v4, v1
  branch v8, b3(v3), b1(v7)
b3(v9: i32):
  return v9",
    ),
    program(
        "T7 exit of two loops at once",
        &[2, 2],
        &[v(5, 1, true), v(7, 2, true), v(12, 5, false)],
        "\
b0(v0: i32, v1: i32):
  v2: i32 = const 0
  v3: i32 = const 1
  v4: i32 = special tid.x
  jump b1(v2)
b1(v5: i32):
  v6: bool = icmp.lt_s v5, v0
  branch v6, b2(v2), b5(v2)
b2(v7: i32):
  v8: bool = icmp.lt_s v7, v1
  branch v8, b3, b4
b3:
  v9: i32 = add v7, v3
  v10: bool = icmp.eq v4, v2
  branch v10, b5(v3), b2(v9)
b4:
  v11: i32 = add v5, v3
  jump b1(v11)
b5(v12: i32):
  return v12",
    ),
    program(
        "T7b a divergent exit that goes elsewhere",
        &[4, 2],
        &[v(10, 5, true)],
        "\
b0(v0: i32, v1: i32):
  v2: i32 = const 0
  v3: i32 = const 1
  v4: i32 = special tid.x
  jump b1(v2)
b1(v5: i32):
  v6: bool = icmp.lt_s v5, v0
  branch v6, b2, b5(v2)
b2:
  v7: bool = icmp.eq v4, v2
  branch v7, b4, b3
b3:
  v8: i32 = add v5, v3
  v9: bool = icmp.eq v8, v1
  branch v9, b5(v3), b1(v8)
b4:
  return v2
b5(v10: i32):
  return v10",
    ),
    program(
        "T8 a join before the post-dominator",
        &[1],
        &[v(7, 3, false), v(9, 5, false)],
        "\
b0(v0: i32):
  v1: i32 = const 1
  v2: i32 = const 2
  v3: i32 = special tid.x
  v4: i32 = and v3, v1
  v5: bool = icmp.eq v4, v1
  branch v5, b2, b1
b1:
  v6: bool = icmp.lt_s v0, v2
  branch v6, b3(v1), b4
b2:
  jump b3(v2)
b3(v7: i32):
  v8: i32 = add v7, v7
  jump b5(v8)
b4:
  jump b5(v1)
b5(v9: i32):
  return v9",
    ),
    program(
        "T9 a plain use after a divergent exit",
        &[],
        &[v(4, 1, true), v(4, 3, false), v(7, 3, false)],
        "\
b0:
  v0: i32 = const 0
  v1: i32 = const 1
  v2: i32 = const 2
  v3: i32 = special tid.x
  jump b1(v0)
b1(v4: i32):
  v5: bool = icmp.lt_s v4, v3
  branch v5, b2, b3
b2:
  v6: i32 = add v4, v1
  jump b1(v6)
b3:
  v7: i32 = mul v4, v2
  return v7",
    ),
    program(
        "T9 two exits bring the same operand",
        &[3],
        &[v(4, 1, true), v(8, 3, false)],
        "\
b0(v0: i32):
  v1: i32 = const 0
  v2: i32 = const 1
  v3: i32 = special tid.x
  jump b1(v1)
b1(v4: i32):
  v5: bool = icmp.lt_s v4, v3
  branch v5, b2, b3(v4)
b2:
  v6: i32 = add v4, v2
  v7: bool = icmp.lt_s v6, v0
  branch v7, b1(v6), b3(v4)
b3(v8: i32):
  return v8",
    ),
    program(
        "T10 a switch that falls through",
        &[],
        &[v(4, 2, false), v(6, 3, false), v(7, 4, true)],
        "\
b0:
  v0: i32 = const 3
  v1: i32 = special tid.x
  v2: i32 = rem_u v1, v0
  switch v2 [0: b1, 1: b2(v0), default: b3(v0)] as switch
b1:
  v3: i32 = const 4
  jump b2(v3)
b2(v4: i32):
  v5: i32 = const 5
  jump b3(v5)
b3(v6: i32):
  jump b4(v0)
b4(v7: i32):
  return v7",
    ),
    program(
        "T11 an early return with a common end",
        &[],
        &[v(4, 3, false)],
        "\
b0:
  v0: i32 = const 1
  v1: i32 = const 2
  v2: i32 = special tid.x
  v3: bool = icmp.lt_s v2, v1
  branch v3, b1, b2
b1:
  jump b3(v0)
b2:
  jump b3(v1)
b3(v4: i32):
  return v4",
    ),
    program(
        "T11 an early return without one",
        &[9],
        &[v(5, 3, true)],
        "\
b0(v0: i32):
  v1: i32 = const 2
  v2: i32 = special tid.x
  v3: bool = icmp.lt_s v2, v1
  branch v3, b1, b2
b1:
  return v1
b2:
  v4: bool = icmp.lt_s v0, v1
  branch v4, b3(v1), b3(v0)
b3(v5: i32):
  return v5",
    ),
    program(
        "T12 two latches",
        &[3],
        &[v(8, 1, false), v(8, 5, false)],
        "\
b0(v0: i32):
  v1: i32 = const 0
  v2: i32 = const 1
  v3: i32 = const 2
  v4: i32 = special tid.x
  v5: i32 = and v4, v2
  v6: bool = icmp.eq v5, v1
  jump b1(v1, v1)
b1(v7: i32, v8: i32):
  v9: bool = icmp.lt_s v7, v0
  branch v9, b2, b5
b2:
  v10: i32 = add v7, v2
  branch v6, b3, b4
b3:
  jump b1(v10, v2)
b4:
  jump b1(v10, v3)
b5:
  return v8",
    ),
    program(
        "T13 long arms",
        &[],
        &[v(4, 7, false)],
        "\
b0:
  v0: i32 = const 1
  v1: i32 = const 2
  v2: i32 = special tid.x
  v3: bool = icmp.lt_s v2, v1
  branch v3, b1, b4
b1:
  jump b2
b2:
  jump b3
b3:
  jump b7(v0)
b4:
  jump b5
b5:
  jump b6
b6:
  jump b7(v1)
b7(v4: i32):
  return v4",
    ),
    program(
        "T14 wrap-around of eight bits",
        &[],
        &[v(8, 0, false)],
        "\
b0:
  v0: i8 = const 126
  v1: i8 = const 127
  v2: i32 = const 1
  v3: i32 = const 0
  v4: i32 = special tid.x
  v5: i8 = trunc v4
  v6: i8 = add v5, v0
  v7: i8 = add v5, v1
  v8: bool = icmp.lt_s v6, v7
  v9: i32 = select v8, v2, v3
  return v9",
    ),
    program(
        "T15 a divergent branch in the header, the exit elsewhere",
        &[],
        &[v(5, 5, false)],
        "\
b0:
  v0: i32 = const 0
  v1: i32 = const 1
  v2: i32 = const 3
  v3: i32 = special tid.x
  jump b1(v0)
b1(v4: i32):
  v5: i32 = add v4, v1
  v6: i32 = add v4, v3
  v7: i32 = and v6, v1
  v8: bool = icmp.eq v7, v1
  branch v8, b2, b3
b2:
  jump b4
b3:
  v9: bool = icmp.ge_s v4, v2
  branch v9, b5, b4
b4:
  jump b1(v5)
b5:
  return v5",
    ),
];

impl Fixed {
    /// Returns the case on two warps of eight lanes.
    pub(crate) fn case(&self) -> Case {
        let mut text = String::from("function \"f\" kernel text -> i32 {\n");
        for number in 0..self.arguments.len() {
            text.push_str(&format!("  parameter \"p{number}\" \"int\" (v{number})\n"));
        }
        text.push_str(self.blocks);
        text.push_str("\n}\n");
        let module =
            ir::text::parse_module(&text).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        if let Err(errors) = ir::verify_module(&module) {
            panic!("{}: {}", self.name, errors[0]);
        }
        let mut launch = Launch::new(16);
        launch.warp_size = 8;
        for &argument in self.arguments {
            launch.parameters.push(Argument::Bits(argument));
        }
        Case {
            module,
            options: Options {
                warp_size: 8,
                ..Options::default()
            },
            launches: vec![launch],
        }
    }
}

/// Methods, scopes, and lanes of the workgroup.
pub(crate) fn settings() -> Vec<(Method, Scope, u32)> {
    let methods = [
        Method::Full,
        Method::Simple,
        Method::Polynomial(1),
        Method::Polynomial(2),
    ];
    let scopes = [
        Scope::Quad,
        Scope::Subgroup,
        Scope::Workgroup,
        Scope::Dispatch,
    ];
    let pairs = methods
        .iter()
        .flat_map(|&m| scopes.iter().map(move |&s| (m, s)));
    pairs.flat_map(|(m, s)| [(m, s, 16), (m, s, 7)]).collect()
}
