//! The search for a schedule at an interval, over the slots of the operations that compete for limited
//! resources inside of recurrences. All other operations have room: one on no cycle of dependences may start
//! as late as its slot comes.
//!
//! With the slots given, `t = slot + II * k` and every longest way between two operations rounds up to the next length
//! that their slots permit; there is a schedule if and only if no cycle of rounded ways is positive. The operation with
//! the fewest slots left is decided next; the first one's slot is 0, since slots may all be turned together. Ends after
//! `nodes` decisions, undecided.

use super::bounds::{Components, components};
use super::graph::{Graph, Packer, Schedule};
use super::iterative::length;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    Found(Schedule),
    /// Proved: there is none at this interval.
    None,
    Undecided,
}

/// No way.
const NEVER: i64 = i64::MIN / 4;
/// Operations of one recurrence; its ways are a square matrix.
const LARGEST: usize = 512;

pub fn exact<P: Packer>(graph: &Graph<P>, ii: u32, nodes: usize) -> Answer {
    // The slots of operations whose units stand in for each other are not searched.
    if graph.packing.is_some() {
        return Answer::Undecided;
    }
    let components = components(graph);
    let limited = |operation: u32| {
        graph.resources[graph.operations[operation as usize].resource as usize].units
    };
    let mut groups = Vec::new();
    for number in 0..components.len() {
        let members = components.members(number);
        if members.len() > LARGEST {
            return Answer::Undecided;
        }
        let wanted: Vec<u32> = members
            .iter()
            .copied()
            .filter(|&m| limited(m).is_some())
            .collect();
        let recurs = members.len() > 1
            || graph
                .edges
                .iter()
                .any(|edge| edge.from == members[0] && edge.to == members[0]);
        if !recurs {
            continue;
        }
        let Some(ways) = ways(graph, members, &wanted, ii) else {
            return Answer::None;
        };
        if !wanted.is_empty() {
            groups.push(Group {
                members: wanted,
                ways,
            });
        }
    }
    let mut used: Vec<Vec<u32>> = vec![vec![0; ii as usize]; graph.resources.len()];
    let count = groups.iter().map(|group| group.members.len()).sum();
    let slots = groups
        .iter()
        .map(|group| vec![None; group.members.len()])
        .collect();
    let mut search = Search {
        graph,
        ii: i64::from(ii),
        left: nodes,
        slots,
        best: None,
    };
    // Where what competes is all in one place the recurrences come first.
    let found = search.decide(&mut groups, &mut used, count, true);
    match found {
        Some(true) => {
            let slots = search.best.unwrap_or_default();
            build(graph, &components, &groups, &slots, ii).map_or(Answer::Undecided, Answer::Found)
        }
        Some(false) => Answer::None,
        None => Answer::Undecided,
    }
}

/// The limited operations of one recurrence, and the longest ways between them.
#[derive(Clone)]
struct Group {
    members: Vec<u32>,
    ways: Vec<Vec<i64>>,
}

struct Search<'g, P: Packer> {
    graph: &'g Graph<P>,
    ii: i64,
    /// Decisions.
    left: usize,
    slots: Vec<Vec<Option<i64>>>,
    best: Option<Vec<Vec<Option<i64>>>>,
}

impl<P: Packer> Search<'_, P> {
    /// `None`: the decisions are used up.
    fn decide(
        &mut self,
        groups: &mut [Group],
        used: &mut [Vec<u32>],
        open: usize,
        first: bool,
    ) -> Option<bool> {
        if open == 0 {
            self.best = Some(self.slots.clone());
            return Some(true);
        }
        let Some((g, m, candidates)) = self.narrowest(groups, used, first) else {
            return Some(false);
        };
        for slot in candidates {
            self.left = self.left.checked_sub(1)?;
            let before = groups[g].ways.clone();
            self.slots[g][m] = Some(slot);
            if tighten(&mut groups[g].ways, &self.slots[g], m, self.ii) {
                let resource = self.graph.operations[groups[g].members[m] as usize].resource;
                used[resource as usize][slot as usize] += 1;
                let deeper = self.decide(groups, used, open - 1, false);
                used[resource as usize][slot as usize] -= 1;
                if deeper != Some(false) {
                    return deeper;
                }
            }
            self.slots[g][m] = None;
            groups[g].ways = before;
        }
        Some(false)
    }

    /// The operation with the fewest slots, and these in order of time. `None`: one has none.
    fn narrowest(
        &self,
        groups: &[Group],
        used: &[Vec<u32>],
        first: bool,
    ) -> Option<(usize, usize, Vec<i64>)> {
        let mut best: Option<(usize, usize, Vec<i64>)> = None;
        for (g, group) in groups.iter().enumerate() {
            let known: Vec<usize> = (0..group.members.len())
                .filter(|&m| self.slots[g][m].is_some())
                .collect();
            for m in 0..group.members.len() {
                if self.slots[g][m].is_some() {
                    continue;
                }
                let resource = self.graph.operations[group.members[m] as usize].resource as usize;
                let units = self.graph.resources[resource].units.unwrap_or(u32::MAX);
                let window = known
                    .iter()
                    .map(|&u| {
                        let slot = self.slots[g][u].unwrap_or(0);
                        (slot + group.ways[u][m], slot - group.ways[m][u])
                    })
                    .min_by_key(|(from, to)| to - from);
                let (from, to) = match window {
                    Some((from, to)) => (from, to.min(from + self.ii - 1)),
                    None if first => (0, 0),
                    None => (0, self.ii - 1),
                };
                let candidates: Vec<i64> = (from..=to)
                    .map(|at| at.rem_euclid(self.ii))
                    .filter(|&slot| used[resource][slot as usize] < units)
                    .collect();
                if candidates.is_empty() {
                    return None;
                }
                let fewer = best.as_ref().is_none_or(|(bg, _, b)| {
                    // A recurrence that is begun is finished first.
                    (self.begun(g), b.len()) > (self.begun(*bg), candidates.len())
                        && (self.begun(g) >= self.begun(*bg))
                        || (self.begun(g) && !self.begun(*bg))
                });
                if fewer {
                    best = Some((g, m, candidates));
                }
            }
        }
        best
    }
    fn begun(&self, group: usize) -> bool {
        self.slots[group].iter().any(Option::is_some)
    }
}

/// The least way of at least this length between two slots.
fn rounded(way: i64, from: i64, to: i64, ii: i64) -> i64 {
    if way <= NEVER {
        return way;
    }
    way + (to - from - way).rem_euclid(ii)
}

/// Ways through the operation whose slot is now known; `false`: a cycle is positive.
fn tighten(ways: &mut [Vec<i64>], slots: &[Option<i64>], new: usize, ii: i64) -> bool {
    let count = ways.len();
    let Some(slot) = slots[new] else { return true };
    let known: Vec<(usize, i64)> = (0..count)
        .filter_map(|u| Some((u, slots[u]?)))
        .filter(|&(u, _)| u != new)
        .collect();
    for &(u, there) in &known {
        ways[u][new] = rounded(ways[u][new], there, slot, ii);
        ways[new][u] = rounded(ways[new][u], slot, there, ii);
        if ways[u][new] + ways[new][u] > 0 {
            return false;
        }
    }
    for &(u, _) in &known {
        for x in 0..count {
            ways[new][x] = ways[new][x].max(ways[new][u] + ways[u][x]);
            ways[x][new] = ways[x][new].max(ways[x][u] + ways[u][new]);
        }
    }
    for &(u, there) in &known {
        ways[u][new] = rounded(ways[u][new], there, slot, ii);
        ways[new][u] = rounded(ways[new][u], slot, there, ii);
    }
    for a in 0..count {
        let to = ways[a][new];
        if to <= NEVER {
            continue;
        }
        let through = ways[new].clone();
        for (way, rest) in ways[a].iter_mut().zip(through) {
            *way = (*way).max(to + rest);
        }
        if ways[a][a] > 0 {
            return false;
        }
    }
    true
}

/// Longest ways between the wanted members of a component; `None`: a cycle is positive.
fn ways<P: Packer>(
    graph: &Graph<P>,
    members: &[u32],
    wanted: &[u32],
    ii: u32,
) -> Option<Vec<Vec<i64>>> {
    let count = members.len();
    let mut place = vec![usize::MAX; graph.operations.len()];
    for (at, &member) in members.iter().enumerate() {
        place[member as usize] = at;
    }
    let mut ways = vec![vec![NEVER; count]; count];
    for (at, row) in ways.iter_mut().enumerate() {
        row[at] = 0;
    }
    for edge in &graph.edges {
        let (from, to) = (place[edge.from as usize], place[edge.to as usize]);
        if from != usize::MAX && to != usize::MAX {
            ways[from][to] = ways[from][to].max(length(edge, ii));
        }
    }
    for middle in 0..count {
        let through = ways[middle].clone();
        for row in &mut ways {
            let to = row[middle];
            if to <= NEVER {
                continue;
            }
            for (way, &rest) in row.iter_mut().zip(&through) {
                *way = (*way).max(to + rest);
            }
        }
    }
    if (0..count).any(|at| ways[at][at] > 0) {
        return None;
    }
    let at = |member: &u32| place[*member as usize];
    let row = |from: &u32| wanted.iter().map(|to| ways[at(from)][at(to)]).collect();
    Some(wanted.iter().map(row).collect())
}

/// Start times with the slots that were decided: components in the order of the dependences, each as early as its slots
/// permit.
fn build<P: Packer>(
    graph: &Graph<P>,
    components: &Components,
    groups: &[Group],
    slots: &[Vec<Option<i64>>],
    ii: u32,
) -> Option<Schedule> {
    let mut fixed: Vec<Option<i64>> = vec![None; graph.operations.len()];
    let mut used: Vec<Vec<u32>> = vec![vec![0; ii as usize]; graph.resources.len()];
    for (group, slots) in groups.iter().zip(slots) {
        for (&member, &slot) in group.members.iter().zip(slots) {
            let slot = slot?;
            fixed[member as usize] = Some(slot);
            used[graph.operations[member as usize].resource as usize][slot as usize] += 1;
        }
    }
    let mut start = vec![0i64; graph.operations.len()];
    for number in (0..components.len()).rev() {
        let members = components.members(number);
        let edges: Vec<_> = graph
            .edges
            .iter()
            .filter(|edge| components.of[edge.to as usize] == number as u32)
            .collect();
        // As often as a way may be long, and once for each turn of the slots.
        let most = members.len() * 4 + 8;
        let mut settled = false;
        for _ in 0..most {
            let mut changed = false;
            for edge in &edges {
                let least = start[edge.from as usize] + length(edge, ii);
                if least > start[edge.to as usize] {
                    start[edge.to as usize] = least;
                    changed = true;
                }
            }
            for &member in members {
                if let Some(slot) = fixed[member as usize] {
                    let at = &mut start[member as usize];
                    let later = (slot - *at).rem_euclid(i64::from(ii));
                    *at += later;
                    changed |= later > 0;
                }
            }
            if !changed {
                settled = true;
                break;
            }
        }
        if !settled {
            return None;
        }
        for &member in members {
            let resource = graph.operations[member as usize].resource as usize;
            let Some(units) = graph.resources[resource].units else {
                continue;
            };
            if fixed[member as usize].is_some() {
                continue;
            }
            // On no cycle: as late as the first free slot.
            let from = start[member as usize];
            let free = (from..from + i64::from(ii))
                .find(|at| used[resource][at.rem_euclid(i64::from(ii)) as usize] < units)?;
            used[resource][free.rem_euclid(i64::from(ii)) as usize] += 1;
            start[member as usize] = free;
        }
    }
    let schedule = Schedule::at(ii, &start);
    schedule.check(graph).is_ok().then_some(schedule)
}
