//! How a warp touches memory at each access: the distance between neighbours, 32-byte sectors, shared-memory banks.
//!
//! ```text
//! p[tid.x]         4 bytes apart: 4 sectors, coalesced          tile[33*tid.x]   one way
//! p[pitch*tid.x]   4*pitch bytes apart, strided                 tile[32*tid.x]   32 ways
//! ```
//!
//! The addresses of all lanes are computed from the address's form; what is uniform in it is taken to be aligned to the
//! sector (bank row), and rows of a workgroup of unknown shape to be whole warps. Estimates for a full warp, of accesses
//! that lie in one object.

use crate::divergence::{Engine, Form, SUBGROUP, Shape, Term};
use crate::model::*;
use ir::{Op, Space, Special, SymbolKind, Type, Value};
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

const SECTOR: i64 = 32;
const BANKS: i64 = 32;

/// Loads, stores and atomics of memory that lanes share, in layout order.
pub(crate) fn accesses(engine: &Engine<'_>) -> Vec<AccessFact> {
    let function = engine.function;
    let mut found = Vec::new();
    for &(block, inst) in &engine.tables.accesses {
        let data = &function.insts[inst];
        let (kind, access) = match &data.op {
            Op::Load(access) => (AccessKind::Load, access),
            Op::Store(access) => (AccessKind::Store, access),
            Op::Atomic(op, access) => (AccessKind::Atomic(*op), access),
            _ => continue,
        };
        let Some(&address) = data.args.first() else {
            continue;
        };
        if access.space == Space::Local {
            continue;
        }
        let moved: u32 = match kind {
            AccessKind::Load => data.results.iter().map(|&r| function.ty(r).bytes()).sum(),
            AccessKind::Store => data.args[1..].iter().map(|&a| function.ty(a).bytes()).sum(),
            AccessKind::Atomic(_) => data.args.get(1).map_or(4, |&a| function.ty(a).bytes()),
        };
        let mut fact = AccessFact {
            assumed: false,
            inst,
            loc: data.loc,
            kind,
            space: access.space,
            class: AccessClass::Gather,
            base: base(engine, address),
            bytes: moved,
            stride_bytes: None,
            stride_text: SmolStr::default(),
            sectors: None,
            ideal_sectors: (engine.shape.warp * moved).div_ceil(SECTOR as u32).max(1),
            bank_ways: None,
            address,
        };
        classify(engine, block, &mut fact);
        found.push(fact);
    }
    found
}

fn classify(engine: &Engine<'_>, block: ir::Block, fact: &mut AccessFact) {
    let shared = fact.space == Space::Shared;
    if engine.level_at(fact.address, block) >= SUBGROUP {
        fact.class = AccessClass::Uniform;
        fact.stride_bytes = Some(0);
        fact.sectors = (!shared).then(|| fact.bytes.div_ceil(SECTOR as u32).max(1));
        fact.ideal_sectors = fact.bytes.div_ceil(SECTOR as u32).max(1);
        fact.bank_ways = shared.then_some(1);
        return;
    }
    let form = &engine.cells[fact.address].form;
    if !engine.is_affine(form, block, SUBGROUP) {
        lane_by_lane(engine, block, fact);
        return;
    }
    let varying = form.filtered(|t| {
        engine.term_level(&t.factors, block) < SUBGROUP && moves_along_a_warp(engine, t, block)
    });
    if varying.terms.iter().any(|t| t.factors.len() != 1) {
        return rows_apart(engine, block, &varying, fact);
    }
    let addresses = |first_lane: u32| {
        let addresses: Vec<i64> = (first_lane..first_lane + engine.shape.warp)
            .map(|lane| {
                let offset = varying.terms.iter().fold(0i64, |sum, t| {
                    let at = coordinate(engine, t, lane);
                    sum.wrapping_add(t.coefficient.wrapping_mul(at))
                });
                offset.wrapping_add(form.constant_part())
            })
            .collect();
        // A sum that is taken not to wrap in 32 bits does when its lanes are this far apart.
        let far = |&at: &i64| at.abs_diff(addresses[0]) >= 1 << 31;
        (!form.assumed || !addresses.iter().any(far)).then_some(addresses)
    };
    let Some(pattern) = in_all_warps(&engine.shape, fact, addresses) else {
        return;
    };
    fact.class = if pattern.is_dense(fact) {
        AccessClass::Coalesced
    } else {
        AccessClass::Strided
    };
}

/// Terms with coefficients that are not known: lanes that agree in the coordinates of these form rows, whose distance
/// is not known and taken to be at least a sector.
fn rows_apart(engine: &Engine<'_>, block: ir::Block, varying: &Form, fact: &mut AccessFact) {
    let (known, symbolic): (Vec<&Term>, Vec<&Term>) =
        varying.terms.iter().partition(|t| t.factors.len() == 1);
    let fastest = (0..3u8).find(|&axis| engine.shape.block[usize::from(axis)] != Some(1));
    let first_axis = |term: &&Term| match along(engine, term, block) {
        Some(Special::ThreadId(axis)) => Some(axis) == fastest,
        _ => true,
    };
    fact.class = AccessClass::Strided;
    if symbolic.iter().any(first_axis) {
        let neighbours = varying.filtered(|t| first_axis(&t));
        fact.stride_text = stride_text(engine, &neighbours, block);
    }
    let mut most = 0;
    for first_lane in warps(&engine.shape) {
        let mut rows: BTreeMap<Vec<i64>, Vec<i64>> = BTreeMap::new();
        for lane in first_lane..first_lane + engine.shape.warp {
            let row = symbolic
                .iter()
                .map(|t| position(engine, along(engine, t, block), lane))
                .collect();
            let offset = known.iter().fold(0i64, |sum, t| {
                let at = position(engine, along(engine, t, block), lane);
                sum.wrapping_add(t.coefficient.wrapping_mul(at))
            });
            rows.entry(row).or_default().push(offset);
        }
        if rows.len() as u32 == engine.shape.warp {
            return;
        }
        let touched = rows.values().map(|row| sectors(row, i64::from(fact.bytes)));
        most = most.max(touched.sum());
    }
    if fact.space == Space::Shared {
        return;
    }
    fact.sectors = Some(most);
    if most <= fact.ideal_sectors + 1 {
        fact.class = AccessClass::Coalesced;
    }
}

/// The coordinate that a term follows.
fn along(engine: &Engine<'_>, term: &Term, block: ir::Block) -> Option<Special> {
    let mut factors = term.factors.iter();
    let atom = factors.find(|&&atom| engine.atom_level_at(atom, block) < SUBGROUP)?;
    engine.special_of(*atom)
}

/// Addresses that are no linear form of the lanes, and still known: remainders, quotients and masks of thread indices.
fn lane_by_lane(engine: &Engine<'_>, block: ir::Block, fact: &mut AccessFact) {
    let address = fact.address;
    let addresses = |first_lane: u32| crate::lanes::values(engine, address, block, first_lane);
    let Some(pattern) = in_all_warps(&engine.shape, fact, addresses) else {
        return;
    };
    if pattern.is_dense(fact) {
        fact.class = AccessClass::Coalesced;
    } else if pattern.stride.is_some() {
        fact.class = AccessClass::Strided;
    }
}

/// What the lanes' addresses, given by a warp's first lane, have in common in all warps; `None` where one is not known.
fn in_all_warps(
    shape: &Shape,
    fact: &mut AccessFact,
    addresses: impl Fn(u32) -> Option<Vec<i64>>,
) -> Option<Pattern> {
    let shared = fact.space == Space::Shared;
    let mut pattern: Option<Pattern> = None;
    for first_lane in warps(shape) {
        let here = Pattern::of(&addresses(first_lane)?, i64::from(fact.bytes), shared);
        pattern = Some(match pattern {
            None => here,
            Some(before) => before.and(here),
        });
    }
    let pattern = pattern?;
    fact.stride_bytes = pattern.stride;
    if shared {
        fact.bank_ways = pattern.ways;
    } else {
        fact.sectors = pattern.sectors;
    }
    Some(pattern)
}

/// The first lanes of warps that can differ in their pattern: one where rows are whole warps, or nothing else is known.
fn warps(shape: &Shape) -> Vec<u32> {
    let threads: u64 = match shape.block {
        [Some(x), _, _] if x.is_multiple_of(shape.warp) => return vec![0],
        [Some(x), Some(y), Some(z)] => [x, y, z].map(u64::from).iter().product(),
        _ => return vec![0],
    };
    let last = threads.min(1024) / u64::from(shape.warp);
    (0..(last as u32).max(1)).map(|w| w * shape.warp).collect()
}

/// What is the same in all warps.
#[derive(Clone, Copy)]
struct Pattern {
    stride: Option<i64>,
    sectors: Option<u32>,
    most_sectors: u32,
    ways: Option<u32>,
}

impl Pattern {
    fn of(addresses: &[i64], bytes: i64, shared: bool) -> Pattern {
        let mut steps = addresses.windows(2).map(|w| w[1].wrapping_sub(w[0]));
        let first = steps.next().unwrap_or(bytes);
        let touched = sectors(addresses, bytes);
        Pattern {
            stride: steps.all(|s| s == first).then_some(first),
            sectors: Some(touched),
            most_sectors: touched,
            ways: shared.then(|| bank_ways(addresses, bytes)),
        }
    }
    /// As few sectors as the bytes need; one more is what a shift by less than a sector costs. An equal address in all lanes that
    /// holds for the expected shapes only is no uniform one.
    fn is_dense(&self, fact: &AccessFact) -> bool {
        let apart = self
            .stride
            .is_some_and(|s| s.unsigned_abs() > u64::from(fact.bytes));
        self.most_sectors <= fact.ideal_sectors + u32::from(!apart)
    }
    fn and(self, other: Pattern) -> Pattern {
        Pattern {
            stride: self.stride.filter(|_| self.stride == other.stride),
            sectors: self.sectors.filter(|_| self.sectors == other.sectors),
            most_sectors: self.most_sectors.max(other.most_sectors),
            ways: self.ways.filter(|_| self.ways == other.ways),
        }
    }
}

/// Rows of unknown width are taken to be whole warps: `tid.y` and `tid.z` stand still then.
pub(crate) fn moves_along_a_warp(engine: &Engine<'_>, term: &Term, block: ir::Block) -> bool {
    let varies = |&&atom: &&u32| engine.atom_level_at(atom, block) < SUBGROUP;
    match term
        .factors
        .iter()
        .find(varies)
        .and_then(|&atom| engine.special_of(atom))
    {
        Some(Special::ThreadId(1)) => engine.shape.block[0].is_some(),
        Some(Special::ThreadId(2)) => {
            engine.shape.block[0].is_some() && engine.shape.block[1].is_some()
        }
        _ => true,
    }
}

/// The coordinate that a term follows, of a lane.
pub(crate) fn coordinate(engine: &Engine<'_>, term: &Term, lane: u32) -> i64 {
    position(engine, engine.special_of(term.factors[0]), lane)
}

/// A coordinate of a lane, counted from the workgroup's first.
fn position(engine: &Engine<'_>, coordinate: Option<Special>, lane: u32) -> i64 {
    let shape = &engine.shape;
    let lane = i64::from(lane);
    let x = shape.block[0].map_or(i64::from(u32::MAX), i64::from).max(1);
    let y = shape.block[1].map_or(i64::from(u32::MAX), i64::from).max(1);
    match coordinate {
        Some(Special::ThreadId(0)) => lane % x,
        Some(Special::ThreadId(1)) => lane / x % y,
        Some(Special::ThreadId(_)) => lane / x / y,
        Some(Special::LaneId) => lane % i64::from(shape.warp),
        Some(Special::MicroSimdTid) => lane,
        _ => 0,
    }
}

fn sectors(addresses: &[i64], bytes: i64) -> u32 {
    let mut touched = BTreeSet::new();
    for &address in addresses {
        let last = address.wrapping_add((bytes - 1).max(0));
        let mut sector = address.div_euclid(SECTOR);
        while sector <= last.div_euclid(SECTOR) && touched.len() < 4096 {
            touched.insert(sector);
            sector += 1;
        }
    }
    touched.len() as u32
}

/// Passes that the banks need: 8-byte accesses go by half-warps, 16-byte accesses by quarters.
fn bank_ways(addresses: &[i64], bytes: i64) -> u32 {
    let groups = (bytes / 4).clamp(1, 4) as usize;
    let size = addresses.len().div_ceil(groups).max(1);
    addresses
        .chunks(size)
        .map(|chunk| {
            let mut words: [BTreeSet<i64>; BANKS as usize] =
                std::array::from_fn(|_| BTreeSet::new());
            for &address in chunk {
                let last = address.wrapping_add((bytes - 1).max(0)).div_euclid(4);
                let mut word = address.div_euclid(4);
                while word <= last {
                    words[word.rem_euclid(BANKS) as usize].insert(word);
                    word += 1;
                }
            }
            words.iter().map(BTreeSet::len).max().unwrap_or(1) as u32
        })
        .max()
        .unwrap_or(1)
        .max(1)
}

/// The coefficient of the lanes' own coordinate.
fn stride_text(engine: &Engine<'_>, varying: &Form, block: ir::Block) -> SmolStr {
    let mut coefficient = Form::constant(0);
    for term in &varying.terms {
        let factors = term
            .factors
            .filtered(|a| engine.atom_level_at(a, block) >= SUBGROUP);
        let part = Form {
            terms: smallvec::smallvec![Term {
                factors,
                coefficient: term.coefficient
            }],
            exact: false,
            assumed: false,
        };
        match coefficient.plus(1, &part, 64) {
            Some(sum) => coefficient = sum,
            None => return SmolStr::default(),
        }
    }
    engine.form_text(&coefficient, block, SUBGROUP)
}

/// The array or pointer that an address is computed from.
fn base(engine: &Engine<'_>, address: Value) -> SmolStr {
    let function = engine.function;
    let mut at = address;
    for _ in 0..64 {
        match function.defining(at) {
            Some(data) => match &data.op {
                Op::PtrAdd | Op::Convert(_) => match data.args.first() {
                    Some(&next) => at = next,
                    None => break,
                },
                Op::SymbolAddress(symbol) => {
                    let symbol = &function.symbols[*symbol];
                    if matches!(symbol.kind, SymbolKind::Memory | SymbolKind::Buffer) {
                        return symbol.name.clone();
                    }
                    break;
                }
                _ => break,
            },
            None => break,
        }
        if !matches!(function.ty(at), Type::Ptr(_)) {
            break;
        }
    }
    if let Some(name) = engine.atom_name(at.0) {
        return name;
    }
    // Integer arithmetic on addresses, as PTX has it: the one object in the sum.
    let mut objects = engine.cells[address].form.terms.iter().filter_map(|t| {
        let &[atom] = t.factors.as_slice() else {
            return None;
        };
        if t.coefficient != 1 || engine.special_of(atom).is_some() {
            return None;
        }
        let Some(data) = function.defining(Value(atom)) else {
            let parameter = function
                .parameters
                .iter()
                .find(|p| p.values.as_slice() == [Value(atom)]);
            return parameter.map(|p| p.name.clone());
        };
        match &data.op {
            Op::SymbolAddress(symbol) => Some(function.symbols[*symbol].name.clone()),
            Op::Parameter(name) => Some(name.clone()),
            _ => None,
        }
    });
    match (objects.next(), objects.next()) {
        (Some(name), None) => name,
        _ => SmolStr::default(),
    }
}
