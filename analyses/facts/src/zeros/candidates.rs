//! The values that a version could test: results of instructions whose zero makes something useless, alone or
//! as the vectors that the author wrote.
//!
//! Left out: literals, renamings, addresses, merges (a check has no place right after them), and values that no
//! operation absorbs, and those whose range excludes zero. Linear in the function.
//!
//! Source: Stephenson and Rangan, *AZP*, section 3.2; notes, section 4.

use super::operations::{Propagation, originator, propagation};
use super::{Originator, packs};
use ir::{Convert, EntityVec, Function, Language, Op, Type, Value, ValueDef};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// Members of a vector candidate, at most.
pub const WIDTH: usize = 4;

/// A value that could be tested, or up to four of one vector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    pub members: SmallVec<[Value; 4]>,
    /// The reason why a scalar could be zero although its operands are not.
    pub originator: Option<Originator>,
}

/// Scalars in program order, then vectors in the order of their first members.
#[must_use]
pub fn candidates(function: &Function) -> Vec<Candidate> {
    let useful = useful(function);
    let mut found = Vec::new();
    let mut ranges = super::never::Ranges::new(function);
    let mut scalar: EntityVec<Value, bool> = EntityVec::with_len(false, function.values.len());
    for &block in &function.layout {
        for &inst in &function.blocks[block].insts {
            let data = &function.insts[inst];
            if renames(&data.op) {
                continue;
            }
            for &result in &data.results {
                let plain = !matches!(
                    function.ty(result),
                    Type::Ptr(_) | Type::Handle | Type::Opaque
                );
                if plain && useful[result] && !ranges.excludes_zero(result) {
                    scalar[result] = true;
                    found.push(Candidate {
                        members: SmallVec::from_slice(&[result]),
                        originator: originator(function, inst),
                    });
                }
            }
        }
    }
    let mut vectors: Vec<SmallVec<[Value; 4]>> = Vec::new();
    let mut seen: FxHashSet<SmallVec<[Value; 4]>> = FxHashSet::default();
    let mut add = |members: &[Value]| {
        let mut distinct: SmallVec<[Value; 4]> = SmallVec::new();
        for &member in members {
            if scalar[member] && !distinct.contains(&member) {
                distinct.push(member);
            }
        }
        if distinct.len() > 1 && seen.insert(distinct.clone()) {
            vectors.push(distinct);
        }
    };
    let lost;
    let groups: Vec<&[Value]> = if function.language == Language::Ptx {
        lost = packs::packs(function);
        lost.iter().map(Vec::as_slice).collect()
    } else {
        function.vectors.iter().map(SmallVec::as_slice).collect()
    };
    for group in groups {
        for four in group.chunks(WIDTH) {
            add(four);
            // Red, green and blue without alpha are often zero together.
            if four.len() == WIDTH {
                add(&four[..WIDTH - 1]);
            }
        }
    }
    vectors.sort_by_key(|members| members.first().copied());
    found.extend(vectors.into_iter().map(|members| Candidate {
        members,
        originator: None,
    }));
    found
}

/// Literals and other names of one value.
const fn renames(op: &Op) -> bool {
    matches!(
        op,
        Op::Const(_)
            | Op::Undef
            | Op::Parameter(_)
            | Op::SymbolAddress(_)
            | Op::Unknown(_)
            | Op::Convert(Convert::Bitcast | Convert::SpaceCast)
    )
}

/// Values whose zero reaches an operation that absorbs it, through operations that pass it on.
fn useful(function: &Function) -> EntityVec<Value, bool> {
    let mut useful = EntityVec::with_len(false, function.values.len());
    let mut work: Vec<Value> = Vec::new();
    for &block in &function.layout {
        for &inst in &function.blocks[block].insts {
            let data = &function.insts[inst];
            let how = propagation(&data.op);
            for (operand, &arg) in data.args.iter().enumerate() {
                let others = match how {
                    Propagation::Any { from, to } => to - from > 1 || data.args.len() > 1,
                    _ => true,
                };
                if how.absorbs(operand) && others && !useful[arg] {
                    useful[arg] = true;
                    work.push(arg);
                }
            }
        }
    }
    while let Some(value) = work.pop() {
        let ValueDef::Result(inst, _) = function.values[value].def else {
            continue;
        };
        let data = &function.insts[inst];
        let how = propagation(&data.op);
        for (operand, &arg) in data.args.iter().enumerate() {
            if how.passes(operand) && !useful[arg] {
                useful[arg] = true;
                work.push(arg);
            }
        }
    }
    useful
}
