//! The memory that a warp touches at each access: the distance between neighbours, 32-byte sectors,
//! shared-memory banks.
//!
//! ```text
//! p[tid.x]         4 bytes apart: 4 sectors, coalesced          tile[33*tid.x]   one way
//! p[pitch*tid.x]   4*pitch bytes apart, strided                 tile[32*tid.x]   32 ways
//! ```
//!
//! The addresses of all lanes are computed from the address's form; its uniform part is taken to be aligned
//! to the sector (bank row), and rows of a workgroup of unknown shape to be whole warps. Estimates for the
//! lanes that the conditions on the way let through (`active`), of accesses that lie in one object.

use crate::active::{Active, Lanes};
use crate::divergence::{Engine, Form, SUBGROUP, Shape, Term};
use crate::model::*;
use crate::symbolic::Sum;
use ir::{
    Function, FunctionKind, Inst, Op, ShaderStage, Space, Special, SymbolKind, Type, Value,
    VariableKind,
};
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

const SECTOR: i64 = 32;
const BANKS: i64 = 32;

/// Loads, stores and atomics of memory that lanes share, in layout order.
pub(crate) fn accesses(engine: &Engine<'_>) -> Vec<AccessFact> {
    let function = engine.function;
    let mut found = Vec::new();
    let mut active = Active::new(engine);
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
        if access.space == Space::Local
            || matches!(data.op, Op::Atomic(..)) && completes_an_atomic(engine, block, inst)
        {
            continue;
        }
        let moved: u32 = match kind {
            AccessKind::Load => data.results.iter().map(|&r| function.bytes(r)).sum(),
            AccessKind::Store => data.args[1..].iter().map(|&a| function.bytes(a)).sum(),
            AccessKind::Atomic(_) => {
                let bytes = data.args.get(1).map_or(4, |&a| function.bytes(a));
                bytes * components_of_atomic(engine, block, inst)
            }
        };
        let pieces = match kind {
            AccessKind::Load => Pieces::of(function, &data.results),
            AccessKind::Store => Pieces::of(function, &data.args[1..]),
            AccessKind::Atomic(_) => Pieces {
                component: i64::from(moved).max(1),
                widest: i64::from(moved).max(1),
            },
        };
        let mut warps: Vec<Warp> = warps(&engine.shape)
            .into_iter()
            .map(|first| Warp {
                first,
                sets: active.sets(block, data.guard, first),
            })
            .collect();
        let lanes = most_lanes(&warps);
        if lanes == 1 {
            // Which lane it is makes no difference.
            warps.iter_mut().for_each(|warp| warp.sets = Rc::from([1]));
        }
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
            stride_sum: None,
            sectors: None,
            ideal_sectors: (engine.shape.warp * moved).div_ceil(SECTOR as u32).max(1),
            most_sectors: most_sectors(function, address, lanes, moved),
            bank_ways: None,
            wide_ways: None,
            granule: None,
            padded_ways: None,
            lanes,
            partial: lanes < engine.shape.warp,
            address,
        };
        if kind == AccessKind::Store && is_mesh_output(function, &fact.base) {
            continue;
        }
        classify(engine, block, pieces, &warps, &mut fact);
        found.push(fact);
    }
    found
}

/// `out indices uint3 triangles[N]` of a mesh shader: where the rasteriser takes it from is not known to be memory.
fn is_mesh_output(function: &Function, base: &str) -> bool {
    function.kind == FunctionKind::Stage(ShaderStage::Mesh)
        && function
            .variables
            .values()
            .any(|value| value.kind == VariableKind::Parameter && value.name == base)
}

/// The atomic operations of a vector (`half2`, `float4`), of which each component has one, are one access: the number of
/// components from this one on.
fn components_of_atomic(engine: &Engine<'_>, block: ir::Block, inst: Inst) -> u32 {
    let behind = near_atomic(engine, block, inst, Side::Behind);
    let same = behind.filter(|&&at| is_component_of(engine.function, inst, at));
    1 + same.count() as u32
}

/// Returns true if an earlier component stands for an atomic operation.
fn completes_an_atomic(engine: &Engine<'_>, block: ir::Block, inst: Inst) -> bool {
    let mut before = near_atomic(engine, block, inst, Side::Before);
    before.any(|&at| is_component_of(engine.function, at, inst))
}

#[derive(Clone, Copy)]
enum Side {
    Before,
    Behind,
}

/// The instructions among which the other components of an atomic operation stand: one call makes them.
fn near_atomic<'a>(
    engine: &'a Engine<'_>,
    block: ir::Block,
    inst: Inst,
    side: Side,
) -> impl Iterator<Item = &'a Inst> {
    /// An address and an operation a component.
    const NEAR: usize = 8;
    let insts = &engine.function.blocks[block].insts;
    // Instructions of a block are mostly numbered in order; a search finds the others.
    let at = match insts.binary_search(&inst) {
        Ok(at) => at,
        Err(_) => insts.iter().position(|&other| other == inst).unwrap_or(0),
    };
    let range = match side {
        Side::Before => at.saturating_sub(NEAR)..at,
        Side::Behind => at + 1..insts.len().min(at + 1 + NEAR),
    };
    insts.get(range).unwrap_or_default().iter()
}

/// Two atomic operations that one call in the source makes, on neighbouring words.
fn is_component_of(function: &Function, first: Inst, second: Inst) -> bool {
    let (a, b) = (&function.insts[first], &function.insts[second]);
    let (Op::Atomic(found, _), Op::Atomic(other, _)) = (&a.op, &b.op) else {
        return false;
    };
    let offset = |data: &ir::InstData| {
        let address = *data.args.first()?;
        let added = function.defining(address)?;
        let by = (added.op == Op::PtrAdd).then(|| added.args.get(1))??;
        match function.defining(*by)?.op {
            Op::Const(by) => Some((added.args[0], by as i64)),
            _ => None,
        }
    };
    let base = a.args.first().copied();
    found == other
        && a.loc == b.loc
        && first != second
        && offset(b).is_some_and(|(of, by)| {
            let bytes = i64::from(b.args.get(1).map_or(4, |&v| function.bytes(v)));
            let (start, zero) = match offset(a) {
                Some((start, at)) if start == of => (Some(start), at),
                _ => (base, 0),
            };
            start == Some(of) && by > zero && by - zero < 16 && (by - zero) % bytes == 0
        })
}

/// A warp, by its first lane, and the sets of its lanes that may take part together.
struct Warp {
    first: u32,
    sets: Rc<[Lanes]>,
}

fn most_lanes(warps: &[Warp]) -> u32 {
    let sets = warps.iter().flat_map(|warp| warp.sets.iter());
    sets.map(|set| set.count_ones()).max().unwrap_or(0).max(1)
}

/// The instructions that an access of several values may be.
#[derive(Clone, Copy)]
struct Pieces {
    /// Bytes of the largest value.
    component: i64,
    /// Bytes that one instruction can move: a vector has two or four components and at most 16 bytes; a
    /// structure, or a vector of three components, moves component by component.
    widest: i64,
}

impl Pieces {
    fn of(function: &Function, parts: &[Value]) -> Pieces {
        let sizes = parts.iter().map(|&part| i64::from(function.bytes(part)));
        let component = sizes.clone().max().unwrap_or(4).max(1);
        let same = sizes.clone().all(|size| size == component);
        let widest = match parts.len() as i64 {
            count @ (1 | 2 | 4) if same => (component * count).min(16),
            _ => component,
        };
        Pieces { component, widest }
    }
    /// A vector lies at a multiple of its size in every lane.
    fn at(self, addresses: &[i64]) -> i64 {
        let mut bytes = self.widest;
        while bytes > self.component && addresses.iter().any(|a| a.rem_euclid(bytes) != 0) {
            bytes /= 2;
        }
        bytes.max(self.component)
    }
}

fn classify(
    engine: &Engine<'_>,
    block: ir::Block,
    pieces: Pieces,
    warps: &[Warp],
    fact: &mut AccessFact,
) {
    let shared = fact.space == Space::Shared;
    if engine.level_at(fact.address, block) >= SUBGROUP {
        fact.class = AccessClass::Uniform;
        fact.stride_bytes = Some(0);
        fact.sectors = (!shared).then(|| fact.bytes.div_ceil(SECTOR as u32).max(1));
        fact.ideal_sectors = fact.bytes.div_ceil(SECTOR as u32).max(1);
        fact.bank_ways = shared.then_some(1);
        return;
    }
    by_form(engine, block, pieces, warps, fact);
    // Wherever one lane's address lies, it is one piece.
    if fact.lanes == 1 {
        fact.class = AccessClass::Coalesced;
        fact.ideal_sectors = fact.bytes.div_ceil(SECTOR as u32).max(1);
        fact.sectors = (!shared).then_some(fact.ideal_sectors);
        fact.bank_ways = shared.then_some(1);
    }
}

fn by_form(
    engine: &Engine<'_>,
    block: ir::Block,
    pieces: Pieces,
    warps: &[Warp],
    fact: &mut AccessFact,
) {
    let form = &engine.cells[fact.address].form;
    if !engine.is_affine(form, block, SUBGROUP) {
        return lane_by_lane(engine, block, pieces, warps, fact);
    }
    let varying = form.filtered(|t| {
        engine.term_level(&t.factors, block) < SUBGROUP && moves_along_a_warp(engine, t, block)
    });
    if varying.terms.iter().any(|t| t.factors.len() != 1) {
        return rows_apart(engine, block, &varying, warps, fact);
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
        // A sum that is assumed not to wrap in 32 bits does wrap if its lanes are this far apart.
        let far = |&at: &i64| at.abs_diff(addresses[0]) >= 1 << 31;
        (!form.assumed || !addresses.iter().any(far)).then_some(addresses)
    };
    let Some(pattern) = in_all_warps(warps, pieces, fact, addresses) else {
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
fn rows_apart(
    engine: &Engine<'_>,
    block: ir::Block,
    varying: &Form,
    warps: &[Warp],
    fact: &mut AccessFact,
) {
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
        fact.stride_sum = symbolic_stride(engine, &neighbours, block, SUBGROUP);
    }
    let mut worst = (0, fact.ideal_sectors);
    for (warp, set) in sets(warps) {
        let mut rows: BTreeMap<Vec<i64>, Vec<i64>> = BTreeMap::new();
        for lane in lanes_of(set) {
            let lane = warp.first + lane;
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
        worst = worse(worst, (touched.sum(), ideal(set, fact.bytes)));
    }
    if fact.space == Space::Shared {
        return;
    }
    let (most, least) = worst;
    fact.sectors = Some(most);
    fact.ideal_sectors = least;
    if most <= least + 1 {
        fact.class = AccessClass::Coalesced;
    }
}

/// Each set of lanes that may take part together, with its warp.
fn sets(warps: &[Warp]) -> impl Iterator<Item = (&Warp, Lanes)> {
    let each = |warp| Warp::each(warp);
    warps.iter().flat_map(each)
}

impl Warp {
    fn each(&self) -> impl Iterator<Item = (&Warp, Lanes)> {
        self.sets.iter().map(move |&set| (self, set))
    }
}

fn lanes_of(set: Lanes) -> impl Iterator<Item = u32> {
    (0..Lanes::BITS).filter(move |lane| set >> lane & 1 == 1)
}

/// The sectors that the lanes' bytes need.
fn ideal(set: Lanes, bytes: u32) -> u32 {
    (set.count_ones() * bytes).div_ceil(SECTOR as u32).max(1)
}

/// Returns the more wasteful of two numbers of sectors, each with the number that it could be.
fn worse(a: (u32, u32), b: (u32, u32)) -> (u32, u32) {
    let waste = |(touched, least): (u32, u32)| (i64::from(touched) - i64::from(least), touched);
    if waste(b) > waste(a) || a.0 == 0 {
        b
    } else {
        a
    }
}

/// The coordinate that a term follows.
fn along(engine: &Engine<'_>, term: &Term, block: ir::Block) -> Option<Special> {
    let mut factors = term.factors.iter();
    let atom = factors.find(|&&atom| engine.atom_level_at(atom, block) < SUBGROUP)?;
    engine.special_of(*atom)
}

/// Addresses that are no linear form of the lanes, and still known: remainders, quotients and masks of thread indices.
fn lane_by_lane(
    engine: &Engine<'_>,
    block: ir::Block,
    pieces: Pieces,
    warps: &[Warp],
    fact: &mut AccessFact,
) {
    let address = fact.address;
    let addresses = |first_lane: u32| crate::lanes::values(engine, address, block, first_lane);
    let Some(pattern) = in_all_warps(warps, pieces, fact, addresses) else {
        return;
    };
    if pattern.is_dense(fact) {
        fact.class = AccessClass::Coalesced;
    } else if pattern.stride.is_some() {
        fact.class = AccessClass::Strided;
    }
}

/// Returns the pattern that the lanes' addresses, given by a warp's first lane, have in common in all warps;
/// `None` where one is not known.
fn in_all_warps(
    warps: &[Warp],
    pieces: Pieces,
    fact: &mut AccessFact,
    addresses: impl Fn(u32) -> Option<Vec<i64>>,
) -> Option<Pattern> {
    let shared = fact.space == Space::Shared;
    let mut pattern: Option<Pattern> = None;
    let mut worst = (0, fact.ideal_sectors);
    for warp in warps {
        let addresses = addresses(warp.first)?;
        for &set in warp.sets.iter() {
            let here = Pattern::of(&addresses, set, i64::from(fact.bytes), pieces, shared);
            worst = worse(worst, (here.most_sectors, ideal(set, fact.bytes)));
            pattern = Some(match pattern {
                None => here,
                Some(before) => before.and(here),
            });
        }
    }
    let pattern = pattern?;
    fact.stride_bytes = pattern.stride;
    fact.ideal_sectors = worst.1;
    if shared {
        fact.bank_ways = pattern.ways;
        fact.wide_ways = pattern.wide;
        fact.granule = pattern.granule;
        fact.padded_ways = pattern.padded;
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

/// The pattern that is the same in all warps.
#[derive(Clone, Copy)]
struct Pattern {
    stride: Option<i64>,
    sectors: Option<u32>,
    most_sectors: u32,
    ways: Option<u32>,
    wide: Option<u32>,
    granule: Option<u32>,
    padded: Option<u32>,
}

impl Pattern {
    /// Returns the pattern of the lanes in `set`; the distance between neighbours is that of all lanes.
    fn of(addresses: &[i64], set: Lanes, bytes: i64, pieces: Pieces, shared: bool) -> Pattern {
        let mut steps = addresses.windows(2).map(|w| w[1].wrapping_sub(w[0]));
        let first = steps.next().unwrap_or(bytes);
        let active: Vec<i64> = lanes_of(set)
            .filter_map(|lane| addresses.get(lane as usize).copied())
            .collect();
        let touched = sectors(&active, bytes);
        let granule = shared.then(|| granule(&active)).flatten();
        let wide = granule
            .filter(|&granule| granule >= 16 && bytes < 16)
            .map(|_| {
                let within = addresses.first().map_or(0, |first| first.rem_euclid(16));
                let aligned: Vec<i64> =
                    addresses.iter().map(|at| at.wrapping_sub(within)).collect();
                bank_ways(&aligned, set, 16, 16)
            });
        let ways = shared.then(|| bank_ways(addresses, set, bytes, pieces.at(addresses)));
        let padded = ways.filter(|&ways| ways > 1).and_then(|_| {
            let padded = padded(addresses, set, bytes);
            let ways = padded
                .iter()
                .map(|addresses| bank_ways(addresses, set, bytes, pieces.at(addresses)));
            ways.max()
        });
        Pattern {
            stride: steps.all(|s| s == first).then_some(first),
            sectors: Some(touched),
            most_sectors: touched,
            ways,
            wide,
            granule,
            padded,
        }
    }
    /// Returns whether the access touches as few sectors as its bytes need; one more is the cost of a shift
    /// by less than a sector. An address that is equal in all lanes for the expected shapes only is not a
    /// uniform one.
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
            wide: self
                .wide
                .max(other.wide)
                .filter(|_| self.wide.is_some() && other.wide.is_some()),
            granule: self.granule.filter(|_| self.granule == other.granule),
            padded: self.padded.max(other.padded),
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

/// Returns the divisor of the distances between all addresses: a power of two up to all banks' width.
fn granule(addresses: &[i64]) -> Option<u32> {
    let first = *addresses.first()?;
    let differing = addresses
        .iter()
        .fold(0, |bits, &address| bits | address.wrapping_sub(first));
    (differing != 0).then(|| 1 << differing.trailing_zeros().min(7))
}

/// The addresses where each row is longer by one access. Rows that share banks may be several of the array's own, of which
/// each is longer then: a lane that steps two rows of 16 words steps 34 words where they have 17.
fn padded(addresses: &[i64], set: Lanes, bytes: i64) -> Vec<Vec<i64>> {
    let active = || lanes_of(set).filter_map(|lane| addresses.get(lane as usize).copied());
    let Some(first) = active().min() else {
        return Vec::new();
    };
    let mut row = 0u64;
    for each in active() {
        for other in active() {
            let apart = each.abs_diff(other);
            if apart.is_multiple_of(BANKS as u64 * 4) {
                row = gcd(row, apart);
            }
        }
    }
    let Some(row) = i64::try_from(row).ok().filter(|&row| row > 0) else {
        return Vec::new();
    };
    let own = [row, row / 2, row / 4];
    // A row has at least as many elements as a quarter of the banks; anything shorter is a structure.
    let rows = own.into_iter().filter(|&own| own >= BANKS);
    rows.map(|row| {
        let longer =
            |&at: &i64| at.wrapping_add(at.wrapping_sub(first).div_euclid(row).wrapping_mul(bytes));
        addresses.iter().map(longer).collect()
    })
    .collect()
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Passes that the banks need for the worst of an access's pieces: pieces of 8 bytes go by half-warps, of 16 bytes by
/// quarters, and an access of more bytes is several instructions (12 bytes: three of 4 bytes).
fn bank_ways(addresses: &[i64], set: Lanes, bytes: i64, piece: i64) -> u32 {
    let groups = (piece / 4).clamp(1, 4) as usize;
    let size = addresses.len().div_ceil(groups).max(1);
    let pieces = (bytes / piece.max(1)).clamp(1, 64);
    let mut most = 1;
    for number in 0..pieces {
        for (group, chunk) in addresses.chunks(size).enumerate() {
            let mut words: [BTreeSet<i64>; BANKS as usize] =
                std::array::from_fn(|_| BTreeSet::new());
            for (lane, &address) in chunk.iter().enumerate() {
                if set >> (group * size + lane) & 1 == 0 {
                    continue;
                }
                let from = address.wrapping_add(number * piece);
                let last = from.wrapping_add((piece - 1).max(0)).div_euclid(4);
                let mut word = from.div_euclid(4);
                while word <= last {
                    words[word.rem_euclid(BANKS) as usize].insert(word);
                    word += 1;
                }
            }
            most = words.iter().map(BTreeSet::len).max().unwrap_or(1).max(most);
        }
    }
    most as u32
}

/// The coefficient of the lanes' own coordinate.
pub(crate) fn symbolic_stride(
    engine: &Engine<'_>,
    varying: &Form,
    block: ir::Block,
    wanted: crate::divergence::Level,
) -> Option<Sum> {
    let mut coefficient = Form::constant(0);
    for term in &varying.terms {
        let factors = term
            .factors
            .filtered(|a| engine.atom_level_at(a, block) >= wanted);
        let part = Form {
            terms: smallvec::smallvec![Term {
                factors,
                coefficient: term.coefficient
            }],
            exact: false,
            assumed: false,
        };
        coefficient = coefficient.plus(1, &part, 64)?;
    }
    Some(engine.named_form(&coefficient, block, wanted))
}

/// Returns the pointer that an address is an offset from.
fn pointer(function: &Function, address: Value) -> Value {
    let mut at = address;
    for _ in 0..64 {
        let data = function
            .defining(at)
            .filter(|data| matches!(data.op, Op::PtrAdd | Op::Convert(_)));
        match data.and_then(|data| data.args.first()) {
            Some(&next) => at = next,
            None => break,
        }
        if !matches!(function.ty(at), Type::Ptr(_)) {
            break;
        }
    }
    at
}

/// Returns the object that a pointer is the address of.
fn object(function: &Function, pointer: Value) -> Option<&ir::SymbolData> {
    match function.defining(pointer)?.op {
        Op::SymbolAddress(symbol) => Some(&function.symbols[symbol]),
        _ => None,
    }
}

/// Each lane touches sectors of its own at most, one more where its bytes need not be aligned to their size, and none outside
/// of the object, wherever in a sector that begins.
fn most_sectors(function: &Function, address: Value, lanes: u32, bytes: u32) -> u32 {
    let sector = SECTOR as u32;
    let each = bytes.div_ceil(sector).max(1) + u32::from(!bytes.is_power_of_two());
    let all = lanes.saturating_mul(each);
    let object = object(function, pointer(function, address));
    // An array of no size is declared without one.
    let size = object.and_then(|object| object.size.filter(|&size| size > 0));
    size.map_or(all, |size| all.min((size - 1).div_ceil(sector) + 1))
}

/// The array or pointer that an address is computed from.
fn base(engine: &Engine<'_>, address: Value) -> SmolStr {
    let function = engine.function;
    let at = pointer(function, address);
    let named = object(function, at)
        .filter(|object| matches!(object.kind, SymbolKind::Memory | SymbolKind::Buffer));
    if let Some(object) = named {
        return object.name.clone();
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
