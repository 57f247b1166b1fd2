//! The rules of issue within one cycle where units stand in for each other: an A instruction goes to an M or
//! an I slot, and the slots of a cycle are those of bundles that exist.
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

use crate::machine::epic::Epic;
use crate::machine::schema::Issue;
use crate::pipeline::graph::Packer;
use crate::target::ia64::bundle::block::{Type, Width, count};
use crate::target::ia64::bundle::cost::{Edge, slots};
use crate::target::ia64::bundle::place::{Part, place_so};
use crate::target::ia64::bundle::template::{Shape, Slot};
use isa::ia64::{Class, File, Inst};

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
    /// In an M slot, one of a store.
    Check,
}
const PORTS: usize = 8;
const TYPES: usize = 6;

impl Kind {
    #[must_use]
    pub fn of(inst: &Inst) -> Kind {
        let port = match inst.class {
            Class::Load | Class::Prefetch | Class::CheckAdvanced => Port::Load,
            // Pairs go where integers are loaded.
            Class::FloatLoad if pair(inst) => Port::Load,
            Class::FloatLoad => Port::FloatLoad,
            Class::Store | Class::FloatStore | Class::ToFloat | Class::Semaphore => Port::Store,
            Class::FromFloat => Port::Transfer,
            Class::Shift
            | Class::FromBranch
            | Class::ToBranch
            | Class::FromPredicates
            | Class::ToPredicates => Port::Shift,
            Class::Compare if inst.unit == Some(Type::I) => Port::Shift,
            Class::FloatCompare | Class::FloatMisc => Port::FloatCompare,
            Class::Check => Port::Check,
            Class::ParallelMultiply => Port::Shift,
            _ => Port::Any,
        };
        Kind {
            ty: inst.unit.unwrap_or(Type::I),
            port,
        }
    }
}

/// Returns true if it loads two registers.
fn pair(inst: &Inst) -> bool {
    let loaded = inst
        .defs
        .iter()
        .filter(|def| def.register.file == File::Float);
    loaded.count() > 1
}

/// The demand of an operation on its cycle.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Kind {
    pub ty: Type,
    pub port: Port,
}

/// Slots of the bundles of a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Pattern {
    m: u32,
    /// The number of I slots, those of long instructions not included.
    i: u32,
    f: u32,
    b: u32,
    l: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rows {
    patterns: Vec<Pattern>,
    /// Their bounds, each in a word.
    bounds: Vec<Bounds>,
    /// The slots for operations that need I slots alone.
    integer: u32,
    /// Indexed by `Port`.
    ports: [u32; PORTS],
    slots: u32,
    width: Width,
    bundles: u32,
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
            out.add(kind);
        }
        out
    }
    pub fn add(&mut self, kind: Kind) {
        *self.of_type(kind.ty) += 1;
        self.ports[kind.port as usize] += 1;
    }
    /// Takes out an operation that was added.
    pub fn remove(&mut self, kind: Kind) {
        *self.of_type(kind.ty) -= 1;
        self.ports[kind.port as usize] -= 1;
    }
    const fn of_type(&mut self, ty: Type) -> &mut u32 {
        match ty {
            Type::A => &mut self.a,
            Type::I => &mut self.i,
            Type::M => &mut self.m,
            Type::F => &mut self.f,
            Type::L => &mut self.l,
            Type::B => &mut self.b,
        }
    }
}

/// Small numbers, one a byte: those of a cycle against those of its bundles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Bounds(u64);

impl Bounds {
    /// The top bit of each byte: no number reaches it.
    const TOP: u64 = 0x8080_8080_8080_8080;

    /// No cycle has as many slots as are counted here.
    fn of(numbers: [u32; 7]) -> Bounds {
        let bytes = numbers.map(|number| u64::from(number.min(0x7f)));
        Bounds(bytes.iter().rev().fold(0, |word, byte| word << 8 | byte))
    }
    /// Returns true if each number of `wanted` is at most the one in its place: no byte borrows from its top bit.
    const fn hold(self, wanted: Bounds) -> bool {
        ((self.0 | Bounds::TOP) - wanted.0) & Bounds::TOP == Bounds::TOP
    }
}

/// The demand of each operation of a loop on the rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packing {
    pub rows: Rows,
    /// Indexed by operation.
    pub kinds: Vec<Kind>,
}

impl Packer for Packing {
    type Demand = Load;

    fn add(&self, demand: &mut Load, operation: u32) {
        demand.add(self.kinds[operation as usize]);
    }
    fn remove(&self, demand: &mut Load, operation: u32) {
        demand.remove(self.kinds[operation as usize]);
    }
    fn kind(&self, operation: u32) -> usize {
        let Kind { ty, port } = self.kinds[operation as usize];
        ty as usize * PORTS + port as usize
    }
    fn kinds(&self) -> usize {
        TYPES * PORTS
    }
    fn fits(&self, demand: &Load) -> bool {
        self.rows.fits(demand)
    }
    fn res_mii(&self) -> u32 {
        self.least_cycles(&mut (0..self.kinds.len() as u32))
    }
    fn least_cycles(&self, operations: &mut dyn Iterator<Item = u32>) -> u32 {
        let all = Load::of(operations.map(|it| self.kinds[it as usize]));
        let short = self.rows.shortages(&all);
        short.first().map_or(0, |first| first.cycles())
    }
    fn scarcity(&self) -> Vec<u32> {
        self.rows.scarcity(&self.kinds)
    }
}

/// The shortage of one kind of unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shortage {
    /// The name that people use: `M`, `I`, `loads`.
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
        let pattern = |shape: Shape| {
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
            add(pattern(first));
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
                let (front, back) = (pattern(first), pattern(second));
                add(Pattern {
                    m: front.m + back.m,
                    i: front.i + back.i,
                    f: front.f + back.f,
                    // Branches stand in the second alone.
                    b: back.b,
                    l: front.l + back.l,
                });
            }
        }
        patterns.sort_by_key(|pattern| (pattern.m, pattern.i, pattern.f, pattern.b, pattern.l));
        patterns.dedup();
        let all = patterns.clone();
        let beaten = |pattern: &Pattern, other: &Pattern| {
            pattern != other
                && pattern.m <= other.m
                && pattern.i <= other.i
                && pattern.f <= other.f
                && pattern.b <= other.b
                && pattern.l <= other.l
        };
        patterns.retain(|pattern| !all.iter().any(|other| beaten(pattern, other)));
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
        let bounds = patterns.iter().map(|pattern| {
            Bounds::of([
                pattern.m,
                pattern.i,
                pattern.f,
                pattern.b,
                // A long slot that holds nothing holds nothing else either.
                pattern.l,
                width.i,
                pattern.m + pattern.i,
            ])
        });
        Rows {
            bounds: bounds.collect(),
            patterns,
            integer: width.i,
            ports,
            slots: width.slots,
            width,
            bundles,
        }
    }

    /// Slots for the operations of a cycle of a pipelined loop, each behind those that `before` lists for it: in as few
    /// bundles as issue together. `None`: there are none.
    #[must_use]
    pub fn placed(&self, kinds: &[Kind], before: &[(u32, u32)]) -> Option<Vec<Part>> {
        self.placed_between(kinds, before, Edge::Whole, Edge::Whole)
    }

    /// The same where the group begins or ends in the middle of a bundle that it shares with other cycles.
    #[must_use]
    pub fn placed_between(
        &self,
        kinds: &[Kind],
        before: &[(u32, u32)],
        start: Edge,
        end: Edge,
    ) -> Option<Vec<Part>> {
        let types: Vec<Type> = kinds.iter().map(|kind| kind.ty).collect();
        let alike: Vec<u8> = kinds.iter().map(|kind| kind.port as u8).collect();
        let least = slots(count(types.iter().copied()), start, end)?;
        // Loop branches are legal in the last slot of a bundle alone.
        let early = |part: &Part| {
            let mut filled = part.slots.iter().take(2).flatten();
            filled.any(|&it| kinds[it as usize].ty == Type::B)
        };
        let accept = |parts: &[Part]| !parts.iter().any(early) && self.issues(parts, kinds);
        (0..self.bundles)
            .map(|more| least + 3 * more)
            .take_while(|total| start.slots() + total <= 3 * self.bundles)
            .find_map(|total| place_so(&types, &alike, before, start, end, total, &accept))
    }

    /// Returns true if bundles issue in one cycle. Empty slots take ports like others: the ports are given out slot by
    /// slot.
    #[must_use]
    pub fn issues(&self, parts: &[Part], kinds: &[Kind]) -> bool {
        if parts.len() as u32 > self.bundles {
            return false;
        }
        let kind = |filler: Option<u32>| filler.map(|it| kinds[it as usize]);
        // If there are more M than I ports, an A instruction moves from I to M.
        let over = self.width.m > self.width.i;
        if let [first, second] = parts {
            let branches = (first.slots.iter())
                .any(|&filler| kind(filler).is_some_and(|kind| kind.ty == Type::B));
            let plain = matches!(
                first.shape,
                Shape::Mii | Shape::Mmi | Shape::Mfi | Shape::Mmf | Shape::Mlx
            );
            if branches
                || matches!(first.shape, Shape::Mbb | Shape::Bbb)
                || (second.shape == Shape::Bbb && !plain)
                || (second.shape == Shape::Mlx && first.shape == Shape::Mii)
                || (!over && (first.shape == Shape::Mmf || second.shape == Shape::Mmf))
            {
                return false;
            }
        }
        let (mut m, mut i, mut a, mut f) = (0, 0, 0, 0);
        let (mut loads, mut stores, mut transfers) = (0, 0, 0);
        let (mut first_i, mut last_i) = (false, false);
        for (number, part) in parts.iter().enumerate() {
            let slots = &part.shape.slots()[part.from as usize..];
            for (at, (&filler, slot)) in part.slots.iter().zip(slots).enumerate() {
                let at = at + part.from as usize;
                let kind = kind(filler);
                let port = kind.map(|kind| kind.port);
                match slot {
                    Slot::M => {
                        if port == Some(Port::Transfer) && !over && m > 0 {
                            return false;
                        }
                        m += 1;
                        loads += u32::from(port == Some(Port::Load));
                        stores += u32::from(matches!(port, Some(Port::Store | Port::Check)));
                        transfers += u32::from(port == Some(Port::Transfer));
                    }
                    Slot::I | Slot::L => {
                        let last = first_i || (number == 1 && at == 2);
                        let shift = port == Some(Port::Shift);
                        match over {
                            true if shift && first_i && i > 0 => return false,
                            false if last && (last_i || shift) => return false,
                            _ => {}
                        }
                        // A check has forms for both slots, and each goes to ports of its own.
                        match kind {
                            Some(kind) if kind.ty == Type::A && kind.port != Port::Check => a += 1,
                            _ => i += 1,
                        }
                        last_i |= last;
                        first_i |= !last;
                    }
                    Slot::F => {
                        let found = self.ports[Port::FloatCompare as usize] < self.width.f;
                        if number == 1 && found && port == Some(Port::FloatCompare) {
                            return false;
                        }
                        f += 1;
                    }
                    Slot::B | Slot::X => {}
                }
            }
        }
        let integers = match over {
            true => i <= self.width.i && m + (i + a).saturating_sub(self.width.i) <= self.width.m,
            false => i + a <= self.width.i && m <= self.width.m,
        };
        let memory = loads <= self.ports[Port::Load as usize]
            && stores + transfers <= self.ports[Port::Store as usize]
            && transfers <= self.ports[Port::Transfer as usize];
        integers && memory && f <= self.width.f
    }

    /// Returns true if all issue in one cycle.
    #[must_use]
    pub fn fits(&self, load: &Load) -> bool {
        let ports = load.ports.iter().zip(&self.ports);
        // Transfers take ports of stores.
        let port = |port: Port| load.ports[port as usize];
        let shared = port(Port::Store) + port(Port::Transfer) > self.ports[Port::Store as usize];
        if shared || ports.into_iter().any(|(wanted, units)| wanted > units) {
            return false;
        }
        let wanted = Bounds::of([
            load.m,
            load.i,
            load.f,
            load.b,
            load.l,
            load.i + load.l,
            load.a + load.m + load.i,
        ]);
        self.bounds.iter().any(|bounds| bounds.hold(wanted))
    }

    /// Returns for each operation of an iteration the load that all operations together put on the units that
    /// may serve it, in thousandths of a cycle.
    #[must_use]
    pub fn scarcity(&self, kinds: &[Kind]) -> Vec<u32> {
        let all = Load::of(kinds.iter().copied());
        let most = |of: &dyn Fn(&Pattern) -> u32| self.patterns.iter().map(of).max().unwrap_or(1);
        let share = |wanted: u32, units: u32| wanted.saturating_mul(1000) / units.max(1);
        let integers = share(
            all.a + all.i + all.m + all.l,
            most(&|it| it.m + it.i + it.l),
        );
        let by_type = |ty: Type| match ty {
            Type::A => integers,
            Type::M => share(all.m, most(&|it| it.m)),
            Type::I | Type::L => share(all.i + all.l, self.integer),
            Type::F => share(all.f, most(&|it| it.f)),
            Type::B => share(all.b, most(&|it| it.b)),
        };
        let by_port = |port: Port| share(all.ports[port as usize], self.ports[port as usize]);
        kinds
            .iter()
            .map(|kind| by_type(kind.ty).max(by_port(kind.port)))
            .collect()
    }

    /// Returns the demand of all operations of an iteration on each kind of unit, the shortest first.
    #[must_use]
    pub fn shortages(&self, all: &Load) -> Vec<Shortage> {
        let most = |of: &dyn Fn(&Pattern) -> u32| self.patterns.iter().map(of).max().unwrap_or(1);
        let port = |port: Port| (all.ports[port as usize], self.ports[port as usize]);
        let mut out = vec![
            ("M", (all.m, most(&|it| it.m))),
            ("loads", port(Port::Load)),
            ("floating-point loads", port(Port::FloatLoad)),
            ("stores", port(Port::Store)),
            (
                "stores and transfers",
                (
                    all.ports[Port::Store as usize] + all.ports[Port::Transfer as usize],
                    self.ports[Port::Store as usize],
                ),
            ),
            ("transfers", port(Port::Transfer)),
            ("I", (all.i + all.l, self.integer)),
            ("shifts", port(Port::Shift)),
            (
                "M and I",
                (
                    all.a + all.i + all.m + all.l,
                    most(&|it| it.m + it.i + it.l),
                ),
            ),
            ("F", (all.f, most(&|it| it.f))),
            ("floating-point compares", port(Port::FloatCompare)),
            ("B", (all.b, most(&|it| it.b))),
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
        out.sort_by(|left, right| {
            let (first, other) = (left.fraction(), right.fraction());
            other.total_cmp(&first)
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
