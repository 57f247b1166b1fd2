//! The worked cases of the notes on AZP, sections 11.3 to 11.6.

use super::*;
use ir::text::parse;

/// Every instruction costs 10 cycles, a texture or a load 100.
struct Flat;

impl Costs for Flat {
    fn inst(&self, function: &Function, inst: Inst) -> f64 {
        match function.insts[inst].op {
            Op::Const(_) | Op::SymbolAddress(_) | Op::Special(_) => 0.0,
            Op::Load(_) | Op::Texture(_) => 100.0,
            _ => 10.0,
        }
    }
    fn literal(&self) -> f64 {
        2.0
    }
    fn check(&self, members: usize) -> f64 {
        6.0 + 2.0 * members as f64
    }
}

struct Case {
    function: Function,
    weights: EntityVec<Block, f64>,
}

impl Case {
    fn new(body: &str) -> Self {
        let function = parse(&format!("function \"f\" kernel text {{\n{body}\n}}\n"))
            .unwrap_or_else(|error| panic!("{error}\n{body}"));
        ir::verify(&function).unwrap_or_else(|errors| panic!("{errors:?}"));
        let weights = EntityVec::with_len(1.0, function.blocks.len());
        Case { function, weights }
    }

    fn evaluate(&self, members: &[u32], zeros: Zeros) -> Result<Estimate, Illegal> {
        let cx = Context::new(&self.function, &Flat, &self.weights, zeros);
        let members: Vec<Value> = members.iter().map(|&member| Value(member)).collect();
        cx.evaluate(&members, 0.5)
    }

    /// Checks that, where zeros absorb, a version on `members` does without the instructions that compute
    /// `dead`, among them `memory` memory operations.
    fn saves(&self, members: &[u32], dead: &[u32], memory: usize) -> Estimate {
        let estimate = self.evaluate(members, Zeros::Absorb).unwrap();
        assert_eq!(self.results(&estimate.dead), dead, "{members:?}");
        assert_eq!(estimate.model.memory_killed, memory, "{members:?}");
        estimate
    }

    /// First results of instructions.
    fn results(&self, insts: &[Inst]) -> Vec<u32> {
        let mut values: Vec<u32> = insts
            .iter()
            .filter_map(|&inst| self.function.insts[inst].results.first())
            .map(|value| value.0)
            .collect();
        values.sort_unstable();
        values
    }
}

/// `a = tex u; b = a*k; r0 = sat x; r1 = b + k2; r2 = r0*r1; r5 = tex w; r3 = r2*r5; r7 = reciprocal y; r6 = r3*r7`, with loads
/// in place of textures: v1, v2, v3, v4, v5, v6, v7, v8, v9.
const FIGURE_3: &str = r#"
  parameter "p" "float*" (v0)
  parameter "x" "float" (v1)
b0(v0: ptr.global, v1: f32):
  v2: f32 = load.global.read_only v0
  v3: f32 = fmul v2, v1
  v4: f32 = saturate v1
  v5: f32 = fadd v3, v1
  v6: f32 = fmul v4, v5
  v7: f32 = load.global.read_only v0
  v8: f32 = fmul v6, v7
  v9: f32 = reciprocal v1
  v10: f32 = fmul v8, v9
  store.global v0, v10
  return
"#;

#[test]
fn figure_3() {
    let case = Case::new(FIGURE_3);
    let estimate = case.saves(&[4], &[2, 3, 5, 6, 7, 8, 9, 10], 2);
    // The check stands right after `r0`, moved to the top; r6 becomes a literal.
    assert_eq!(case.results(&estimate.refined.before), [4]);
    assert!((estimate.model.region - 260.0).abs() < 1e-9);
    assert!((estimate.model.special - 2.0).abs() < 1e-9);
    assert_eq!(estimate.refined.join, Join::Inside(8));
}

#[test]
fn without_permission_zero_times_x_is_not_zero() {
    let case = Case::new(FIGURE_3);
    assert_eq!(case.evaluate(&[4], Zeros::Ieee), Err(Illegal::Useless));
}

/// `(vx, vy, vz) = tex u; L = tex w; tx = vx*L; ty = fma vy, L, tx; tz = fma vz, L, ty`.
#[test]
fn a_vector_pays_jointly() {
    let case = Case::new(
        r#"
  parameter "p" "float*" (v0)
b0(v0: ptr.global):
  v1: f32, v2: f32, v3: f32 = load.global.read_only v0
  v4: f32 = load.global.read_only v0
  v5: f32 = fmul v1, v4
  v6: f32 = fma v2, v4, v5
  v7: f32 = fma v3, v4, v6
  store.global v0, v7
  return
"#,
    );
    case.saves(&[1], &[5], 0);
    case.saves(&[2], &[], 0);
    case.saves(&[3], &[], 0);
    case.saves(&[1, 2, 3], &[4, 5, 6, 7], 1);
}

/// `r0 = sat x; b = tex u; d = fma r0, b, c; e = d*q`.
#[test]
fn multiply_add_is_split() {
    let body = |c: &str| {
        format!(
            r#"
  parameter "p" "float*" (v0)
  parameter "x" "float" (v1)
b0(v0: ptr.global, v1: f32):
  v2: f32 = saturate v1
  v3: f32 = load.global.read_only v0
  v4: f32 = const 0.0
  v5: f32 = fma v2, v3, {c}
  v6: f32 = fmul v5, v1
  store.global v0, v6
  return
"#
        )
    };
    Case::new(&body("v1")).saves(&[2], &[3], 1);
    Case::new(&body("v4")).saves(&[2], &[3, 5, 6], 1);
}

/// A gray block: the zero of one texture makes the other useless, and the merge takes a literal.
#[test]
fn figure_4() {
    let case = Case::new(
        r#"
  parameter "p" "float*" (v0)
  parameter "c" "bool" (v1)
b0(v0: ptr.global, v1: bool):
  v2: f32 = const 0.0
  branch v1, b1, b2(v2)

b1:
  v3: f32 = load.global.read_only v0
  v4: f32 = load.global.read_only v0
  v5: f32 = fmul v4, v4
  v6: f32 = fmul v3, v5
  jump b2(v6)

b2(v7: f32):
  store.global v0, v7
  return
"#,
    );
    let estimate = case.saves(&[3], &[4, 5, 6], 1);
    assert_eq!(estimate.refined.blocks, [Block(1)]);
    assert_eq!(case.results(&estimate.refined.before), [3]);
}

#[test]
fn what_cannot_be_versioned() {
    let case = Case::new(
        r#"
  parameter "p" "int*" (v0)
b0(v0: ptr.global):
  v1: i32 = load.global v0
  v2: i32 = load.global v0
  v3: i32 = mul v1, v2
  barrier.workgroup
  v4: i32 = mul v3, v2
  store.global v0, v4
  return
"#,
    );
    assert_eq!(case.evaluate(&[1], Zeros::Ieee), Err(Illegal::Barrier));
    assert_eq!(case.evaluate(&[0], Zeros::Ieee), Err(Illegal::NoDefinition));
    // Behind the barrier nothing forbids it, and nothing is gained.
    assert_eq!(case.evaluate(&[4], Zeros::Ieee), Err(Illegal::Useless));
}

/// Two zeros that have nothing to do with each other, one after the other; then the limit.
#[test]
fn the_pass_versions_again() {
    let case = Case::new(
        r#"
  parameter "p" "float*" (v0)
  parameter "x" "float" (v1)
b0(v0: ptr.global, v1: f32):
  v2: f32 = saturate v1
  v3: f32 = load.global.read_only v0
  v4: f32 = fmul v2, v3
  store.global v0, v4
  v5: f32 = load.global v0
  v6: f32 = saturate v5
  v7: f32 = load.global.read_only v0
  v8: f32 = fmul v6, v7
  store.global v0, v8
  return
"#,
    );
    let mut scalar = EntityVec::with_len(None, case.function.values.len());
    scalar[Value(2)] = Some(0.7);
    scalar[Value(6)] = Some(0.9);
    let probabilities = facts::zeros::Probabilities {
        scalar,
        ..Default::default()
    };
    let pass = |limit: usize| {
        let settings = greedy::Settings {
            zeros: Zeros::Absorb,
            limit,
            ..greedy::Settings::default()
        };
        let out = greedy::specialize(
            &case.function,
            &probabilities,
            &case.weights,
            &Flat,
            settings,
        );
        ir::verify(&out.function).unwrap_or_else(|errors| panic!("{errors:?}"));
        out.made
    };
    let made = pass(4);
    assert_eq!(made.len(), 2, "{made:?}");
    assert_eq!(made[0].members[0], Value(6));
    assert_eq!(made[1].members[0], Value(2));
    assert_eq!(pass(1).len(), 1);
}
