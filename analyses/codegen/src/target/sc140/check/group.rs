//! Rules within one set: G.G.1 to G.G.5, conditions, operands.

use super::super::capacity::Capacity;
use super::super::listing::{Listing, Member, Set};
use super::{Broken, Finding, Place};
use isa::sc140::{
    Access, Address, Condition, File, Instruction, Memory, Number, Reg, Unit, Write, prefix,
};

/// Instructions of a set that are compared with each other.
const COMPARED: usize = 64;

pub(super) fn check(
    listing: &Listing,
    at: usize,
    marked: bool,
    capacity: &Capacity,
    findings: &mut Vec<Finding>,
) {
    let set = &listing.sets[at];
    let mut told = |broken: Broken, member: Option<usize>, with: Option<usize>| {
        findings.push(Finding {
            broken,
            at: Place { set: at, member },
            with: with.map(|member| Place {
                set: at,
                member: Some(member),
            }),
        });
    };
    counts(set, marked, capacity, &mut told);
    conditions(set, &mut told);
    for (number, member) in set.members.iter().enumerate() {
        let misfit = member
            .instruction
            .as_ref()
            .ok()
            .and_then(|instruction| instruction.misfit(capacity.pair_distance));
        if let Some(misfit) = misfit {
            told(Broken::Operands(misfit), Some(number), None);
        }
    }
    // More can't be one set whatever they do: each is not compared with each.
    if set.members.len() <= COMPARED {
        writes(set, &mut told);
        stores(set, &mut told);
    }
    uses(set, capacity, &mut told);
}

type Told<'a> = dyn FnMut(Broken, Option<usize>, Option<usize>) + 'a;

fn counts(set: &Set, marked: bool, capacity: &Capacity, told: &mut Told<'_>) {
    let placed: Vec<(usize, Unit)> = set
        .members
        .iter()
        .enumerate()
        .filter_map(|(number, member)| Some((number, member.unit()?)))
        .collect();
    let count = placed.len() as u32;
    if count > capacity.instructions {
        let limit = capacity.instructions;
        told(Broken::Instructions { count, limit }, None, None);
    }
    let of = |serves: &dyn Fn(Unit) -> bool| -> Vec<usize> {
        let served = placed.iter().filter(|(_, unit)| serves(*unit));
        served.map(|(number, _)| *number).collect()
    };
    let limits: [(Unit, u32, Vec<usize>); 3] = [
        (Unit::Data, capacity.data, of(&|unit| unit == Unit::Data)),
        (
            Unit::Address,
            capacity.address,
            of(&|unit| unit != Unit::Data),
        ),
        (Unit::Mask, capacity.mask, of(&|unit| unit == Unit::Mask)),
    ];
    for (unit, limit, members) in limits {
        let count = members.len() as u32;
        if count > limit {
            let first_beyond = members.get(limit as usize).copied();
            told(Broken::Units { unit, count, limit }, first_beyond, None);
        }
    }
    let words = set.instructions().map(Instruction::words).fold(
        prefix(set.instructions(), set.is_conditional(), marked),
        isa::sc140::Words::plus,
    );
    if words.most > capacity.words {
        let broken = Broken::Words {
            least: words.least,
            most: words.most,
            limit: capacity.words,
        };
        told(broken, None, None);
    }
}

/// A prefix encodes at most two groups, and one that always executes is the last.
fn conditions(set: &Set, told: &mut Told<'_>) {
    let mut groups: Vec<(usize, Option<Condition>)> = Vec::new();
    for (number, member) in set.members.iter().enumerate() {
        if groups.last().map(|(_, condition)| *condition) != Some(member.condition) {
            groups.push((number, member.condition));
        }
    }
    use Condition::{Always, False, True};
    let written: Vec<Option<Condition>> = groups.iter().map(|(_, known)| *known).collect();
    let encoded = matches!(
        written[..],
        [] | [_] | [Some(True), Some(False)] | [Some(True | False), Some(Always)]
    );
    if !encoded {
        let known = groups.len() > 2 || written.first() == Some(&Some(Always));
        let at = groups.last().map(|(at, _)| *at);
        told(Broken::Conditions { known }, at, None);
    }
}

/// Returns true if never both execute.
fn exclude(first: &Member, second: &Member) -> bool {
    first.executes().excludes(second.executes())
}

fn writes(set: &Set, told: &mut Told<'_>) {
    let members = || set.members.iter().enumerate();
    for (number, member) in members() {
        let own = &member.effects.writes;
        let twice = own.iter().enumerate().find(|(at, write)| {
            let mut before = own[..*at].iter();
            before.any(|other| other.register.overlaps(write.register))
        });
        if let Some((_, write)) = twice {
            let register = write.register;
            told(Broken::Written { register }, Some(number), None);
        }
        for (other, before) in members().take(number) {
            if before.effects.flow.is_some() && member.effects.flow.is_some() {
                told(Broken::TwoFlows, Some(number), Some(other));
                continue;
            }
            if exclude(before, member) {
                continue;
            }
            if let Some(register) = both_write(before, member) {
                told(Broken::Written { register }, Some(number), Some(other));
                break;
            }
        }
    }
}

/// The register that both write, and may not.
fn both_write(first: &Member, second: &Member) -> Option<Reg> {
    let pairs = first.effects.writes.iter().flat_map(|write| {
        let others = second.effects.writes.iter();
        others.map(move |other| (write, other))
    });
    let collides = |(write, other): &(&Write, &Write)| {
        let shared = may_share(write.register, other.register)
            || write.when.excludes(other.when)
            || write.register.is_stack() && is_stack_pair(first, second);
        write.register.overlaps(other.register) && !shared
    };
    let (write, other) = pairs.into_iter().find(collides)?;
    // The wider name says more.
    Some(match write.register.file {
        File::Control => write.register,
        _ => other.register,
    })
}

/// The carry is that of the last in the order of the text; overflows are gathered.
fn may_share(first: Reg, second: Reg) -> bool {
    first == second && matches!(first, Reg::CARRY | Reg::OVERFLOW)
}

/// One push, or pop, of each half of the stack's eight bytes.
fn is_stack_pair(first: &Member, second: &Member) -> bool {
    match (first.effects.stack, second.effects.stack) {
        (Some(first), Some(second)) => {
            // Where a half is not known, nothing is said.
            first.pushes == second.pushes
                && (first.half.is_none() || second.half.is_none() || first.half != second.half)
        }
        _ => false,
    }
}

fn stores(set: &Set, told: &mut Told<'_>) {
    let store = |member: &Member| {
        let memory = member.effects.memory?;
        (memory.access != Access::Load).then_some(memory)
    };
    for (number, member) in set.members.iter().enumerate() {
        let Some(memory) = store(member) else {
            continue;
        };
        for (other, before) in set.members[..number].iter().enumerate() {
            let meet = store(before).is_some_and(|earlier| meet(earlier, memory));
            if meet && !exclude(before, member) {
                told(Broken::Stores, Some(number), Some(other));
            }
        }
    }
}

/// Returns true if two accesses are to one place for certain: both addresses begin with one register.
fn meet(first: Memory, second: Memory) -> bool {
    let place = |memory: Memory| match memory.address? {
        Address::At { base, .. } => Some((Some(base), 0)),
        Address::Displaced {
            base,
            by: Number {
                value: Some(value), ..
            },
        } => Some((Some(base), value)),
        Address::Absolute(Number {
            value: Some(value), ..
        }) => Some((None, value)),
        _ => None,
    };
    match (place(first), place(second)) {
        (Some((base, from)), Some((other, to))) => {
            base == other
                && from < to + i64::from(second.bytes)
                && to < from + i64::from(first.bytes)
        }
        _ => match (first.address, second.address) {
            (Some(first @ Address::Indexed { .. }), Some(second)) => first == second,
            _ => false,
        },
    }
}

fn uses(set: &Set, capacity: &Capacity, told: &mut Told<'_>) {
    for number in 0..16 {
        let register = Reg::data(number);
        let reads = || {
            let members = set.members.iter();
            members
                .flat_map(|member| &member.effects.reads)
                .filter(|read| read.register == register)
        };
        let count = reads().count() as u32;
        let sources = reads().filter(|read| read.is_source).count() as u32;
        let limit = capacity.uses;
        if count > limit {
            let member = set
                .members
                .iter()
                .rposition(|member| member.effects.reads_from(register));
            let broken = Broken::Uses {
                register,
                count,
                limit,
                sources,
            };
            told(broken, member, None);
        }
    }
}
