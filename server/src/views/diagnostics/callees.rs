//! A device function is analysed in every kernel that inlines it, so one place can have several findings: the
//! gravest is reported once, and where kernels differ the message says in which of them it holds.

use super::Diagnostic;
use crate::db::{self, Db, File};
use crate::derive::rows::Rows;
use crate::program::own_items;
use facts::Code;
use ir::Loc;
use smol_str::SmolStr;
use syntax::ItemKey;

/// The function that a finding comes from, and the function whose text it is about if that is another one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Teller {
    name: SmolStr,
    item: ItemKey,
    callee: Option<ItemKey>,
}

impl Teller {
    pub(super) fn of(rows: &Rows, loc: Loc, item: ItemKey) -> Teller {
        Teller {
            name: rows.name.clone(),
            item,
            callee: rows.item_of(loc.site).cloned(),
        }
    }
}

/// The kernels and entry points that inline each item, sorted.
pub(super) fn inliners(db: &dyn Db, file: File) -> Vec<(ItemKey, SmolStr)> {
    let mut all = Vec::new();
    for (_, item) in own_items(db, file) {
        for rows in db::rows(db, item).iter() {
            let items = rows.inlined.iter().cloned();
            all.extend(items.map(|item| (item, rows.name.clone())));
        }
    }
    all.sort();
    all.dedup();
    all
}

/// Removes findings of a device function that kernels inline about its lanes: the kernels know which lanes
/// come, whether they end when it returns, and how uniform its parameters are, and say it themselves.
pub(super) fn left_to_callers(
    mut found: Vec<(Diagnostic, Teller)>,
    inliners: &[(ItemKey, SmolStr)],
) -> Vec<(Diagnostic, Teller)> {
    let is_inlined = |item: &ItemKey| {
        let at = inliners.partition_point(|(key, _)| key < item);
        inliners.get(at).is_some_and(|(key, _)| key == item)
    };
    found.retain(|(diagnostic, teller)| {
        let of_lanes = matches!(
            diagnostic.finding,
            Some(
                Code::DivergentBarrier
                    | Code::BarrierInDivergentLoop
                    | Code::DivergentMeshCall
                    | Code::WarpSyncMask
                    | Code::ShuffleInactiveSource
                    | Code::DivergentLoop
            )
        );
        teller.callee.is_some() || !of_lanes || !is_inlined(&teller.item)
    });
    found
}

/// One diagnostic for each place and code, by position.
pub(super) fn told_once(
    mut found: Vec<(Diagnostic, Teller)>,
    inliners: &[(ItemKey, SmolStr)],
) -> Vec<Diagnostic> {
    found.sort_by(|(a, _), (b, _)| {
        (a.span, a.code, std::cmp::Reverse(a.level)).cmp(&(
            b.span,
            b.code,
            std::cmp::Reverse(b.level),
        ))
    });
    let mut told: Vec<Diagnostic> = Vec::new();
    let mut rest = found.into_iter().peekable();
    while let Some((mut first, teller)) = rest.next() {
        let mut tellers = vec![teller];
        while let Some((_, teller)) =
            rest.next_if(|(other, _)| other.span == first.span && other.code == first.code)
        {
            tellers.push(teller);
        }
        first.message += &where_it_holds(&tellers, inliners);
        told.push(first);
    }
    told
}

/// ` (in `a` and `b`, not in `c`)` when the kernels that inline the place do not agree.
fn where_it_holds(tellers: &[Teller], inliners: &[(ItemKey, SmolStr)]) -> String {
    // The function itself says so, whoever calls it.
    let Some(item) = tellers.first().and_then(|teller| teller.callee.as_ref()) else {
        return String::new();
    };
    if tellers.iter().any(|teller| teller.callee.is_none()) {
        return String::new();
    }
    let from = inliners.partition_point(|(key, _)| key < item);
    let all = inliners[from..].iter().take_while(|(key, _)| key == item);
    let (yes, no): (Vec<&SmolStr>, Vec<&SmolStr>) = all
        .map(|(_, kernel)| kernel)
        .partition(|kernel| tellers.iter().any(|teller| teller.name == **kernel));
    if yes.is_empty() || no.is_empty() {
        return String::new();
    }
    format!(" (in {}, not in {})", listed(&yes), listed(&no))
}

fn listed(names: &[&SmolStr]) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(3)
        .map(|name| format!("`{name}`"))
        .collect();
    match names.len() {
        0..=3 => shown.join(" and "),
        count => format!("{} and {} others", shown.join(", "), count - 3),
    }
}
