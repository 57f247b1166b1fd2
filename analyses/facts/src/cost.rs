//! Estimates of what divergence costs: cycles of issue that a warp spends on an arm while lanes of the other one wait.
//!
//! A machine is a table of cycles by kind of instruction (data, not code); figures are of the order of the fact sheets, for
//! ranking and not for prediction. Loops count as `TRIPS` iterations unless their number is known.

use crate::divergence::{DISPATCH, Engine, SUBGROUP, level_of, scope_of};
use crate::model::*;
use ir::{BinaryOp, Block, Op, Space, UnaryOp};

/// Iterations of a loop whose number is not known.
const TRIPS: f64 = 8.0;
/// By depth of the loop, up to three.
const INNER: [f64; 4] = [1.0, TRIPS, TRIPS * TRIPS, TRIPS * TRIPS * TRIPS];
/// Blocks looked at for one arm.
const ARM: usize = 256;

/// Blocks looked at for all arms of a function of so many blocks.
fn budget(blocks: usize) -> usize {
    const SMALL: usize = 1000;
    64 * blocks.min(SMALL) + 16 * blocks.saturating_sub(SMALL)
}

/// Issue cycles a warp by kind of instruction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Machine {
    pub name: &'static str,
    pub simple: f64,
    pub multiply: f64,
    pub divide: f64,
    pub special: f64,
    pub double: f64,
    pub shared: f64,
    pub global: f64,
    pub atomic: f64,
    pub texture: f64,
    pub cross_lane: f64,
    pub barrier: f64,
    /// Pushing and popping the point where lanes meet again.
    pub reconverge: f64,
}

/// The machines known by name; the first is taken for other names.
pub const MACHINES: &[Machine] = &[
    machine("sm_80", 2.0, 2.0, 40.0, 8.0, 4.0),
    machine("sm_70", 2.0, 2.0, 42.0, 8.0, 4.0),
    machine("sm_75", 2.0, 2.0, 40.0, 8.0, 64.0),
    machine("sm_86", 1.0, 2.0, 40.0, 8.0, 64.0),
    machine("sm_89", 1.0, 2.0, 40.0, 8.0, 64.0),
    machine("sm_90", 1.0, 2.0, 40.0, 8.0, 2.0),
    machine("sm_100", 1.0, 2.0, 40.0, 8.0, 2.0),
    machine("sm_120", 1.0, 2.0, 40.0, 8.0, 64.0),
    machine("rdna", 1.0, 4.0, 40.0, 4.0, 16.0),
];

const fn machine(
    name: &'static str,
    simple: f64,
    multiply: f64,
    divide: f64,
    special: f64,
    double: f64,
) -> Machine {
    Machine {
        name,
        simple,
        multiply,
        divide,
        special,
        double,
        shared: 8.0,
        global: 24.0,
        atomic: 32.0,
        texture: 16.0,
        cross_lane: 4.0,
        barrier: 24.0,
        reconverge: 4.0,
    }
}

impl Machine {
    pub fn named(name: &str) -> &'static Machine {
        MACHINES
            .iter()
            .find(|m| m.name == name)
            .unwrap_or(&MACHINES[0])
    }

    /// Issue cycles of a warp for one instruction; an estimate.
    pub fn cycles(&self, function: &ir::Function, inst: &ir::InstData) -> f64 {
        let double = inst
            .results
            .first()
            .is_some_and(|&r| function.ty(r) == ir::Type::F64);
        match &inst.op {
            Op::Const(_)
            | Op::Undef
            | Op::SymbolAddress(_)
            | Op::Special(_)
            | Op::Parameter(_)
            | Op::StageInput(_)
            | Op::Alloca { .. } => 0.0,
            Op::Binary(
                BinaryOp::DivSigned
                | BinaryOp::DivUnsigned
                | BinaryOp::RemSigned
                | BinaryOp::RemUnsigned,
                _,
            ) => self.divide,
            Op::Binary(
                BinaryOp::FloatDiv | BinaryOp::FloatRem | BinaryOp::Pow | BinaryOp::Atan2,
                _,
            ) => self.divide,
            Op::Binary(BinaryOp::Mul, _) => self.multiply,
            Op::Unary(
                UnaryOp::Sqrt
                | UnaryOp::Rsqrt
                | UnaryOp::Reciprocal
                | UnaryOp::Sin
                | UnaryOp::Cos
                | UnaryOp::Exp
                | UnaryOp::Exp2
                | UnaryOp::Log
                | UnaryOp::Log2,
            ) => self.special,
            Op::Unary(
                UnaryOp::Tan
                | UnaryOp::Asin
                | UnaryOp::Acos
                | UnaryOp::Atan
                | UnaryOp::Sinh
                | UnaryOp::Cosh
                | UnaryOp::Tanh
                | UnaryOp::Erf,
            ) => 3.0 * self.special,
            Op::Load(access) | Op::Store(access) => match access.space {
                Space::Shared => self.shared,
                Space::Constant => self.simple,
                _ => self.global,
            },
            Op::Atomic(..) => self.atomic,
            Op::Texture(_) => self.texture,
            Op::Warp(_) | Op::Derivative(_) => self.cross_lane,
            Op::Barrier(_) => self.barrier,
            Op::Call(_) | Op::CallUnknown { .. } => 2.0 * self.divide,
            _ if double => self.double,
            _ => self.simple,
        }
    }
}

/// One fact for each block that ends in a branch with several targets, in layout order.
pub(crate) fn branches(engine: &Engine<'_>, facts: &FunctionFacts) -> Vec<BranchFact> {
    let function = engine.function;
    let machine = Machine::named(&facts.options.target);
    let wanted = level_of(facts.options.scope);
    let mut found = Vec::new();
    let mut arms = Arms {
        engine,
        machine,
        budget: budget(function.layout.len()),
        blocks: Vec::new(),
        walk: 0,
        work: Vec::new(),
    };
    for &block in &function.layout {
        let data = &function.blocks[block];
        let Some(selector) = data.terminator.selector() else {
            continue;
        };
        if engine.flow.successors[block].len() < 2 {
            continue;
        }
        let level = engine.branch_level[block].min(DISPATCH);
        let class = if level >= wanted {
            Class::Uniform
        } else {
            Class::Divergent
        };
        let divergence_cost = (level < SUBGROUP).then(|| arms.lost(block));
        let fact = facts.at(selector, block);
        found.push(BranchFact {
            assumed: false,
            block,
            kind: data.branch,
            loc: data.loc,
            class: if class == Class::Divergent && fact.class == Class::Unknown {
                Class::Unknown
            } else {
                class
            },
            uniform_at: scope_of(level),
            cause: if level < DISPATCH {
                Cause::Operand(selector)
            } else {
                Cause::None
            },
            divergence_cost,
        });
    }
    found
}

/// What a walk needs of a block.
#[derive(Clone, Copy)]
struct ArmBlock {
    /// Cycles of its instructions.
    own: f64,
    /// Of its loop.
    depth: u32,
    /// The last walk that came here.
    walk: u32,
}

/// Walks over the arms of branches.
struct Arms<'e, 'f> {
    engine: &'e Engine<'f>,
    machine: &'static Machine,
    /// Blocks that may still be looked at, for all branches together.
    budget: usize,
    /// By block, once a branch has asked.
    blocks: Vec<ArmBlock>,
    /// The number of the walk.
    walk: u32,
    work: Vec<Block>,
}

impl Arms<'_, '_> {
    /// What the arms of a branch cost together beyond the dearest one.
    fn lost(&mut self, branch: Block) -> f64 {
        let engine = self.engine;
        let end = engine.post.immediate(branch);
        self.measure();
        let outside = self.blocks[branch.0 as usize].depth;
        let (mut sum, mut most) = (0.0, 0.0f64);
        let mut leaves_loop = false;
        for &next in &engine.flow.successors[branch] {
            leaves_loop |= engine
                .forest
                .of(branch)
                .is_some_and(|l| !engine.forest.contains(l, next));
            let total = self.total(branch, next, end, outside);
            sum += total;
            most = most.max(total);
        }
        // Lanes that have left a loop wait for the whole rest of an iteration of the others.
        let lost = if leaves_loop { most } else { sum - most };
        lost + self.machine.reconverge
    }

    /// One arm up to where it meets the others, inner loops as often as they are taken to run.
    fn total(&mut self, branch: Block, next: Block, end: Option<Block>, outside: u32) -> f64 {
        let engine = self.engine;
        let mut total = 0.0;
        let mut left = ARM;
        self.walk += 1;
        self.work.clear();
        self.work.push(next);
        while left > 0
            && self.budget > 0
            && let Some(at) = self.work.pop()
        {
            let block = &mut self.blocks[at.0 as usize];
            if Some(at) == end || at == branch || block.walk == self.walk {
                continue;
            }
            block.walk = self.walk;
            self.budget -= 1;
            left -= 1;
            total += block.own * INNER[block.depth.saturating_sub(outside).min(3) as usize];
            for &next in &engine.flow.successors[at] {
                self.work.push(next);
            }
        }
        total
    }

    fn measure(&mut self) {
        if !self.blocks.is_empty() {
            return;
        }
        let function = self.engine.function;
        let forest = &self.engine.forest;
        let nothing = ArmBlock {
            own: 0.0,
            depth: 0,
            walk: 0,
        };
        self.blocks = vec![nothing; function.blocks.len()];
        for &block in &self.engine.flow.order {
            let insts = function.blocks[block].insts.iter();
            let own = insts
                .map(|&i| self.machine.cycles(function, &function.insts[i]))
                .sum();
            let depth = forest.of(block).map_or(0, |l| forest.loops[l].depth);
            self.blocks[block.0 as usize] = ArmBlock {
                own,
                depth,
                walk: 0,
            };
        }
    }
}
