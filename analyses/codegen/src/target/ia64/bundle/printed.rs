//! Template selection in constant time as Haga and Barua printed it (FIND-TEMPLATES), for comparison: without branches
//! it takes three slots too many where `2 * extra > F` sends all F into MMF though M and I are not that far apart, and it
//! never considers templates with branches.
//!
//! The instructions that its decisions leave over, which the printed text drops, are packed as well as
//! possible here, so that only they are judged. Source: Haga and Barua, *EPIC Instruction Scheduling Based on
//! Optimal Approaches*, 2001, section 4, table 2.

use super::cost::{Counts, Edge, slots};

/// Slots by the printed decisions; `corrected` takes `extra >= 2 * F` instead.
pub fn slots_printed(counts: Counts, start: Edge, corrected: bool) -> Option<u32> {
    let mut left = counts;
    let mut used = 0;
    let mut take = |left: &mut Counts, ty: Type, number: u32| {
        used += number;
        let own = match ty {
            Type::I => &mut left.i,
            Type::M => &mut left.m,
        };
        let missing = number.saturating_sub(*own);
        *own = own.saturating_sub(number);
        left.a = left.a.saturating_sub(missing);
    };
    match start {
        Edge::Whole => {}
        Edge::AfterM => {
            take(&mut left, Type::M, 1);
            take(&mut left, Type::I, 1);
        }
        Edge::AfterMi => take(&mut left, Type::I, 1),
    }
    let long = left.l;
    take(&mut left, Type::M, long);
    let f = left.f;
    if left.i > left.m {
        take(&mut left, Type::I, f);
        take(&mut left, Type::M, f);
    } else {
        let extra = left.m - left.i;
        let all = match corrected {
            true => extra >= 2 * f,
            false => 2 * extra > f,
        };
        if all {
            take(&mut left, Type::M, 2 * f);
        } else {
            let mmf = extra / 2;
            take(&mut left, Type::M, 2 * mmf);
            take(&mut left, Type::M, f.saturating_sub(mmf));
            take(&mut left, Type::I, f.saturating_sub(mmf));
        }
    }
    let filled = used + 2 * long + f;
    let rest = Counts { f: 0, l: 0, ..left };
    Some(filled + slots(rest, Edge::Whole, Edge::Whole)?)
}

#[derive(Clone, Copy)]
enum Type {
    I,
    M,
}
