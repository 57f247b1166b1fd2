//! What issues in one cycle when units stand in for each other: an A instruction goes to an M or an I slot, and the slots
//! of a cycle are those of bundles that exist.
//!
//! ```text
//! Itanium: 2 M, 2 A, 1 B    MIB MIB holds them, in one cycle
//!          3 M              MMI M..: no, three M slots in one cycle are one too many
//! ```
//!
//! A cycle is one bundle or two whose slots, empty ones included, the machine's ports take; two bundles with branches in
//! both don't issue together. A set of operations fits if one such pair has room for all (Hall's conditions on M, on I,
//! and on both with A). The bound counts each kind by itself, and M, I and A together.
//! It does not know the order of slots: `bundle::place` decides that.

use crate::bundle::block::Type;
use crate::bundle::template::{Shape, Slot};
use crate::machine::epic::Epic;
use crate::machine::schema::Issue;

/// Units of a kind of slot that serve only some operations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Port {
    Any,
    Load,
    FloatLoad,
    Store,
    Transfer,
    Shift,
    FloatCompare,
}
const PORTS: usize = 7;

/// What an operation asks of its cycle.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Kind {
    pub ty: Type,
    pub port: Port,
}

/// Slots of the bundles of a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Pattern {
    m: u32,
    /// Those of long instructions are not among them.
    i: u32,
    f: u32,
    b: u32,
    l: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rows {
    patterns: Vec<Pattern>,
    /// Of operations that need I slots alone.
    integer: u32,
    /// By `Port`.
    ports: [u32; PORTS],
    slots: u32,
}

/// Operations of a cycle, counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Load {
    a: u32,
    m: u32,
    i: u32,
    f: u32,
    b: u32,
    l: u32,
    ports: [u32; PORTS],
}

impl Load {
    pub fn of(kinds: impl IntoIterator<Item = Kind>) -> Load {
        let mut out = Load::default();
        for kind in kinds {
            match kind.ty {
                Type::A => out.a += 1,
                Type::I => out.i += 1,
                Type::M => out.m += 1,
                Type::F => out.f += 1,
                Type::L => out.l += 1,
                Type::B => out.b += 1,
            }
            out.ports[kind.port as usize] += 1;
        }
        out
    }
}

/// How short one kind of unit is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shortage {
    /// As people call them: `M`, `I`, `loads`.
    pub unit: &'static str,
    /// Operations an iteration.
    pub wanted: u32,
    /// A cycle.
    pub units: u32,
}

impl Shortage {
    /// Cycles.
    #[must_use]
    pub const fn cycles(self) -> u32 {
        self.wanted.div_ceil(self.units)
    }
    /// Cycles an iteration, were iterations divisible.
    #[must_use]
    pub fn fraction(self) -> f64 {
        f64::from(self.wanted) / f64::from(self.units)
    }
}

impl Rows {
    #[must_use]
    pub fn new(machine: &Epic) -> Rows {
        let width = machine.width();
        let bundles = machine.of(Issue::Bundles);
        let mut patterns: Vec<Pattern> = Vec::new();
        let one = |shape: Shape| {
            let mut out = Pattern::default();
            for slot in shape.slots() {
                match slot {
                    Slot::M => out.m += 1,
                    Slot::I => out.i += 1,
                    Slot::F => out.f += 1,
                    Slot::B => out.b += 1,
                    Slot::L => out.l += 1,
                    Slot::X => {}
                }
            }
            out
        };
        let mut add = |pattern: Pattern| {
            // Where there are more M than I ports, those of I overflow into them.
            let overflow = (pattern.i + pattern.l).saturating_sub(width.i);
            let taken = pattern.m + overflow;
            if taken <= width.m && pattern.f <= width.f && pattern.b <= width.b {
                patterns.push(pattern);
            }
        };
        for first in Shape::ALL {
            add(one(first));
            if bundles < 2 {
                continue;
            }
            for second in Shape::ALL {
                // A bundle with more than one branch slot ends its cycle.
                if matches!(first, Shape::Mbb | Shape::Bbb) {
                    continue;
                }
                let plain = matches!(
                    first,
                    Shape::Mii | Shape::Mmi | Shape::Mfi | Shape::Mmf | Shape::Mlx
                );
                if second == Shape::Bbb && !plain {
                    continue;
                }
                let (one, two) = (one(first), one(second));
                add(Pattern {
                    m: one.m + two.m,
                    i: one.i + two.i,
                    f: one.f + two.f,
                    // Branches stand in the second alone.
                    b: two.b,
                    l: one.l + two.l,
                });
            }
        }
        let all = patterns.clone();
        let beaten = |one: &Pattern, other: &Pattern| {
            one != other
                && one.m <= other.m
                && one.i <= other.i
                && one.f <= other.f
                && one.b <= other.b
                && one.l <= other.l
        };
        patterns.retain(|one| !all.iter().any(|other| beaten(one, other)));
        patterns.sort_by_key(|one| (one.m, one.i, one.f, one.b, one.l));
        patterns.dedup();
        let mut ports = [u32::MAX; PORTS];
        for (port, key) in [
            (Port::Load, Issue::PortsLoad),
            (Port::FloatLoad, Issue::PortsFloatLoad),
            (Port::Store, Issue::PortsStore),
            (Port::Transfer, Issue::PortsTransfer),
            (Port::Shift, Issue::PortsShift),
            (Port::FloatCompare, Issue::PortsFloatCompare),
        ] {
            ports[port as usize] = machine.of(key);
        }
        Rows {
            patterns,
            integer: width.i,
            ports,
            slots: width.slots,
        }
    }

    /// Whether all issue in one cycle.
    #[must_use]
    pub fn fits(&self, load: &Load) -> bool {
        let ports = load.ports.iter().zip(&self.ports);
        if ports.into_iter().any(|(wanted, units)| wanted > units) {
            return false;
        }
        self.patterns.iter().any(|one| {
            // A long slot that holds nothing holds nothing else either.
            load.l <= one.l
                && load.m <= one.m
                && load.i <= one.i
                && load.i + load.l <= self.integer
                && load.a + load.m + load.i <= one.m + one.i
                && load.f <= one.f
                && load.b <= one.b
        })
    }

    /// What is wanted of each kind of unit by all operations of an iteration, the shortest first.
    #[must_use]
    pub fn shortages(&self, all: &Load) -> Vec<Shortage> {
        let most = |of: &dyn Fn(&Pattern) -> u32| self.patterns.iter().map(of).max().unwrap_or(1);
        let port = |port: Port| (all.ports[port as usize], self.ports[port as usize]);
        let mut out = vec![
            ("M", (all.m, most(&|one| one.m))),
            ("loads", port(Port::Load)),
            ("floating-point loads", port(Port::FloatLoad)),
            ("stores", port(Port::Store)),
            ("transfers", port(Port::Transfer)),
            ("I", (all.i + all.l, self.integer)),
            ("shifts", port(Port::Shift)),
            (
                "M and I",
                (
                    all.a + all.i + all.m + all.l,
                    most(&|one| one.m + one.i + one.l),
                ),
            ),
            ("F", (all.f, most(&|one| one.f))),
            ("floating-point compares", port(Port::FloatCompare)),
            ("B", (all.b, most(&|one| one.b))),
            (
                "slots",
                (
                    all.a + all.m + all.i + all.f + all.b + 2 * all.l,
                    self.slots,
                ),
            ),
        ];
        out.retain(|(_, (wanted, units))| *wanted > 0 && *units > 0);
        let mut out: Vec<Shortage> = out
            .into_iter()
            .map(|(unit, (wanted, units))| Shortage {
                unit,
                wanted,
                units,
            })
            .collect();
        // The finer unit keeps its place in front of the coarser one.
        out.sort_by(|one, other| {
            let (one, other) = (one.fraction(), other.fraction());
            other.total_cmp(&one)
        });
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine;

    fn fits(machine: &str, types: &str) -> bool {
        let table = machine::named(machine).expect("a table");
        let rows = Rows::new(table.epic().expect("explicit groups"));
        let kinds = types.chars().map(|letter| Kind {
            ty: match letter {
                'a' => Type::A,
                'i' => Type::I,
                'f' => Type::F,
                'l' => Type::L,
                'b' => Type::B,
                _ => Type::M,
            },
            port: match letter {
                'm' => Port::Load,
                's' => Port::Store,
                _ => Port::Any,
            },
        });
        rows.fits(&Load::of(kinds))
    }

    #[test]
    fn cycles_hold_what_bundles_hold() {
        for (types, itanium, itanium2) in [
            ("mmaab", true, true),
            ("mmaaab", false, true),
            // MFI and MFB.
            ("mmaffb", true, true),
            ("mmfaf", true, true),
            ("mmm", false, false),
            ("mmss", false, true),
            ("mmssii", false, true),
            ("iii", false, false),
            ("aaaaaa", false, true),
            ("aaaaab", false, true),
            ("mmssib", false, true),
            ("mlab", true, true),
            ("lii", false, false),
        ] {
            assert_eq!(fits("itanium", types), itanium, "{types}");
            assert_eq!(fits("itanium2", types), itanium2, "{types}");
        }
    }
}
