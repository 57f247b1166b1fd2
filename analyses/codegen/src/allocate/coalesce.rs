//! Moves between registers that may be one.

use crate::mir::function::{Function, Name, Operand, Virtual};
use crate::mir::liveness::Liveness;
use crate::mir::{Target, Tuple};
use ir::EntitySet;
use rustc_hash::{FxHashMap, FxHashSet};

/// Tuples that are compared with each other.
const TUPLES: usize = 64;

/// The factor by which a copy at a loop's end counts more.
const LATCH: f64 = 1.5;

struct Graph {
    roots: Vec<u32>,
    meets: Vec<FxHashSet<u32>>,
}

impl Graph {
    fn root(&self, register: Virtual) -> u32 {
        let mut at = register.0;
        while self.roots[at as usize] != at {
            at = self.roots[at as usize];
        }
        at
    }
    fn meet(&mut self, left: Virtual, right: Virtual) {
        if left != right {
            self.meets[left.0 as usize].insert(right.0);
            self.meets[right.0 as usize].insert(left.0);
        }
    }
    /// Makes two roots one, the first of them.
    fn merge(&mut self, left: u32, right: u32) {
        self.roots[right as usize] = left;
        let more = std::mem::take(&mut self.meets[right as usize]);
        for &neighbour in &more {
            self.meets[neighbour as usize].remove(&right);
            self.meets[neighbour as usize].insert(left);
        }
        self.meets[left as usize].extend(more);
    }
    /// The roots of two tuples whose members may be one, each with that of its place: copies lead from one to the other.
    fn pairs(
        &self,
        (left, right): (&[Virtual], &[Virtual]),
        linked: &FxHashSet<(u32, u32)>,
        stays: &dyn Fn(u32) -> bool,
    ) -> Option<Vec<(u32, u32)>> {
        let roots = |tuple: &[Virtual]| -> Vec<u32> {
            tuple.iter().map(|&member| self.root(member)).collect()
        };
        let (ones, others) = (roots(left), roots(right));
        let pairs: Vec<(u32, u32)> = ones.iter().copied().zip(others.iter().copied()).collect();
        let fits = |&(a, b): &(u32, u32)| {
            a == b
                || !ones.contains(&b)
                    && !others.contains(&a)
                    && !stays(a)
                    && !stays(b)
                    && !self.meets[a as usize].contains(&b)
                    && (linked.contains(&(a, b)) || linked.contains(&(b, a)))
        };
        let distinct = |roots: &[u32]| {
            let mut seen = FxHashSet::default();
            roots.iter().all(|&root| seen.insert(root))
        };
        if !distinct(&ones) || !distinct(&others) {
            return None;
        }
        let differs = pairs.iter().any(|(a, b)| a != b);
        (left.len() == right.len() && differs && pairs.iter().all(fits)).then_some(pairs)
    }
}

/// Returns true if both are members of tuples of one distance.
fn meets_member(members: &FxHashMap<u32, Vec<u8>>, a: u32, b: u32) -> bool {
    let (Some(own), Some(others)) = (members.get(&a), members.get(&b)) else {
        return false;
    };
    own.iter().any(|distance| others.contains(distance))
}

/// Makes registers one that copies lead to; returns true if there are some.
pub(crate) fn coalesce<T: Target>(function: &mut Function<T>) -> bool {
    let live = Liveness::of(function);
    let count = function.registers.len();
    let mut graph = Graph {
        roots: (0..count as u32).collect(),
        meets: vec![FxHashSet::default(); count],
    };
    // Only registers named by a move are ever merged, so interference is computed for those alone.
    let mut related = EntitySet::with_len(count);
    let undecided = function
        .blocks
        .iter()
        .filter(|block| block.cycles.is_empty());
    for (to, from) in undecided
        .flat_map(|block| &block.operations)
        .filter_map(T::copied)
    {
        related.insert(to);
        related.insert(from);
    }
    let mut moves: Vec<(f64, u32, Virtual, Virtual)> = Vec::new();
    for (at, block) in function.blocks.iter().enumerate() {
        let mut walk = live.walk(function, at as u32);
        // Copies of values that one iteration leaves to the next come first: a copy there lengthens every
        // recurrence that it is part of.
        let latch = function
            .successors(at as u32)
            .iter()
            .any(|&to| to as usize <= at);
        let weight = block.weight * if latch { LATCH } else { 1.0 };
        for (index, operation) in block.operations.iter().enumerate().rev() {
            walk.branch(operation);
            // What is counted by register in a decided cycle was counted with one each.
            let copy = T::copied(operation).filter(|_| block.cycles.is_empty());
            for to in operation.writes().filter(|&to| related.contains(&to)) {
                let class = function.class(to);
                for other in walk.live.common(&related) {
                    if function.class(other) == class && copy.is_none_or(|(_, from)| from != other)
                    {
                        graph.meet(to, other);
                    }
                }
                for other in operation.writes() {
                    if function.class(other) == class {
                        graph.meet(to, other);
                    }
                }
            }
            // No two operations of a cycle write one register.
            if let Some(&cycle) = block.cycles.get(index) {
                let first = block.cycles.partition_point(|&it| it < cycle);
                for before in &block.operations[first..index] {
                    for to in operation.writes().filter(|&to| related.contains(&to)) {
                        for other in before.writes().filter(|&other| related.contains(&other)) {
                            graph.meet(to, other);
                        }
                    }
                }
            }
            if let Some((to, from)) = copy {
                moves.push((weight, index as u32, to, from));
            }
            walk.write(operation);
            walk.read(operation);
        }
        if at == 0 {
            let entering: Vec<Virtual> = walk.live.common(&related).collect();
            let parameters = function.parameters.iter();
            for &param in parameters.filter(|parameter| related.contains(parameter)) {
                for &other in entering.iter().chain(&function.parameters) {
                    if function.class(other) == function.class(param) {
                        graph.meet(param, other);
                    }
                }
            }
        }
    }
    // What passes arguments on has its own place.
    let operations = function.blocks.iter().flat_map(|block| &block.operations);
    let mut tuples: Vec<Tuple> = operations.filter_map(T::tuple).collect();
    tuples.sort_unstable();
    tuples.dedup();
    // Those of which others are neighbours have one such place, and not that of an argument.
    // Those of two distances may be one: the places of all of them follow from that of one.
    let mut members: FxHashMap<u32, Vec<u8>> = FxHashMap::default();
    for tuple in &tuples {
        for member in &tuple.members {
            members.entry(member.0).or_default().push(tuple.distance);
        }
    }
    let mut arguments: FxHashSet<u32> = function
        .parameters
        .iter()
        .map(|parameter| parameter.0)
        .collect();
    let decided = function.pinned.iter().map(|(it, _)| it);
    let pinned: FxHashSet<u32> = function
        .outputs
        .iter()
        .chain(decided)
        .map(|output| output.0)
        .collect();
    // What holds more than a slot stays apart from what may be in one.
    let kept: FxHashSet<u32> = function.kept.iter().map(|it| it.0).collect();
    if moves.is_empty() {
        return false;
    }
    moves.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
    for &(_, _, to, from) in &moves {
        let (a, b) = (graph.root(to), graph.root(from));
        let apart = a == b
            || pinned.contains(&a)
            || pinned.contains(&b)
            || kept.contains(&to.0) != kept.contains(&from.0)
            || (members.contains_key(&a) && arguments.contains(&b))
            || (members.contains_key(&b) && arguments.contains(&a))
            || meets_member(&members, a, b)
            || function.class(Virtual(a)) != function.class(Virtual(b))
            || graph.meets[a as usize].contains(&b);
        if apart {
            continue;
        }
        if let Some(more) = members.remove(&b) {
            members.entry(a).or_default().extend(more);
        }
        if arguments.contains(&b) {
            arguments.insert(a);
        }
        graph.merge(a, b);
    }
    // What is loaded as neighbours may be stored as the same ones.
    tuples.truncate(TUPLES);
    let linked: FxHashSet<(u32, u32)> = moves
        .iter()
        .map(|&(_, _, to, from)| (graph.root(to), graph.root(from)))
        .collect();
    let stays = |root: u32| pinned.contains(&root) || arguments.contains(&root);
    for (at, each) in tuples.iter().enumerate() {
        for other in &tuples[at + 1..] {
            let same = |(left, right): (&Virtual, &Virtual)| {
                function.class(*left) == function.class(*right)
            };
            if each.distance == other.distance
                && each.members.iter().zip(&other.members).all(same)
                && let Some(pairs) = graph.pairs((&each.members, &other.members), &linked, &stays)
            {
                for (a, b) in pairs.into_iter().filter(|(a, b)| a != b) {
                    graph.merge(a, b);
                }
            }
        }
    }
    let rename = |operand: &mut Operand<T>| {
        if let Operand::Register(Name::Virtual(register))
        | Operand::Address(Name::Virtual(register)) = operand
        {
            *register = Virtual(graph.root(*register));
        }
    };
    for block in &mut function.blocks {
        for operation in &mut block.operations {
            operation
                .targets
                .iter_mut()
                .chain(&mut operation.sources)
                .for_each(rename);
            if let Some(predicate) = &mut operation.predicate {
                *predicate = Virtual(graph.root(*predicate));
            }
        }
        if block.cycles.is_empty() {
            block
                .operations
                .retain(|operation| T::copied(operation).is_none_or(|(to, from)| to != from));
        }
    }
    for param in &mut function.parameters {
        *param = Virtual(graph.root(*param));
    }
    let mut numbers = (0..).zip(&graph.roots);
    numbers.any(|(number, root)| number != *root)
}
