//! The places in memory that a region's instructions access, as distances from the value of some register.
//!
//! ```text
//! ld8 r14 = [r32], 8      8 bytes at r32 + 0
//! st8 [r32] = r15         8 bytes at r32 + 8: apart from the load, whatever r32 was
//! ```

use isa::Branch;
use isa::ia64::{File, Inst, Reg};
use rustc_hash::FxHashMap;

/// The content of a register: a distance from a value of which nothing is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Point {
    root: u32,
    distance: i64,
}

/// A range of bytes that begins at a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Area {
    point: Point,
    bytes: u32,
}

impl Area {
    /// Returns whether two accesses certainly have no byte in common.
    pub(super) fn is_apart(self, other: Area) -> bool {
        let between = other.point.distance.wrapping_sub(self.point.distance) as u64;
        self.point.root == other.point.root
            && between >= u64::from(self.bytes)
            && between.wrapping_neg() >= u64::from(other.bytes)
    }
}

#[derive(Default)]
struct Points {
    now: FxHashMap<Reg, Point>,
    roots: u32,
}

impl Points {
    fn root(&mut self) -> Point {
        self.roots += 1;
        Point {
            root: self.roots,
            distance: 0,
        }
    }
    fn of(&mut self, register: Reg) -> Point {
        if let Some(&known) = self.now.get(&register) {
            return known;
        }
        let point = self.root();
        self.now.insert(register, point);
        point
    }
}

/// The accesses of a region's instructions; `None`: the instruction has none.
pub(super) fn areas(insts: &[&Inst]) -> Vec<Option<Area>> {
    let mut points = Points::default();
    insts
        .iter()
        .map(|inst| {
            let area = inst.memory.map(|memory| Area {
                point: points.of(memory.base),
                bytes: memory.bytes,
            });
            let mut written: Vec<(Reg, Point)> = Vec::new();
            for def in &inst.defs {
                if def.register.file == File::General {
                    let from = stepped(inst, def.register).filter(|_| inst.predicate == 0);
                    let point = match from {
                        Some((from, by)) => {
                            let mut point = points.of(from);
                            point.distance = point.distance.wrapping_add(by);
                            point
                        }
                        None => points.root(),
                    };
                    written.push((def.register, point));
                }
            }
            points.now.extend(written);
            let rotates = matches!(
                inst.branch,
                Some(Branch::Call | Branch::CountedRotating | Branch::WhileRotating)
            );
            if rotates || inst.barrier {
                points.now.clear();
            }
            area
        })
        .collect()
}

/// The register and the constant of which an instruction writes the sum.
fn stepped(inst: &Inst, to: Reg) -> Option<(Reg, i64)> {
    match inst.memory {
        Some(memory) if memory.base == to => {
            // A register that is loaded through itself holds what was loaded.
            let writes = inst.defs.iter().filter(|def| def.register == to).count();
            memory.step.filter(|_| writes == 1).map(|by| (to, by))
        }
        Some(_) => None,
        None => inst.offset,
    }
}
