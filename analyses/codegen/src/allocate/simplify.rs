//! Operations that nothing reads, sums that belong to a loop's end, loads and stores that step their address.

use crate::mir::Target;
use crate::mir::function::{Function, Name, Operand, Operation, Virtual};
use smallvec::smallvec;

/// Returns whether an operation does something beside writing virtual registers.
fn has_effect<T: Target>(operation: &Operation<T>) -> bool {
    T::acts(operation)
        || operation.memory.as_ref().is_some_and(|memory| memory.volatile)
        || operation.targets.is_empty()
        || operation.targets.iter().any(|target| {
            matches!(target, Operand::Register(Name::Fixed(register)) if !T::is_constant(*register))
        })
}

/// Keeps operations that an effect depends on: a sum that only feeds itself goes, too.
pub(crate) fn dead<T: Target>(function: &mut Function<T>) {
    let count = function.registers.len();
    let mut writers: Vec<Vec<(u32, u32)>> = vec![Vec::new(); count];
    let mut alive: Vec<Vec<bool>> = Vec::new();
    let mut used = vec![false; count];
    let mut work: Vec<(u32, u32)> = Vec::new();
    for (at, block) in function.blocks.iter().enumerate() {
        let decided = !block.cycles.is_empty();
        let mut own = Vec::with_capacity(block.operations.len());
        for (index, operation) in block.operations.iter().enumerate() {
            let place = (at as u32, index as u32);
            for write in operation.writes() {
                writers[write.0 as usize].push(place);
            }
            let kept = decided || has_effect(operation);
            if kept {
                work.push(place);
            }
            own.push(kept);
        }
        alive.push(own);
    }
    let mut use_of = |register: Virtual, work: &mut Vec<(u32, u32)>, alive: &mut Vec<Vec<bool>>| {
        if std::mem::replace(&mut used[register.0 as usize], true) {
            return;
        }
        for &(block, index) in &writers[register.0 as usize] {
            if !std::mem::replace(&mut alive[block as usize][index as usize], true) {
                work.push((block, index));
            }
        }
    };
    for &output in &function.outputs {
        use_of(output, &mut work, &mut alive);
    }
    while let Some((block, index)) = work.pop() {
        let operation = &function.blocks[block as usize].operations[index as usize];
        for read in operation.reads() {
            use_of(read, &mut work, &mut alive);
        }
    }
    for (block, alive) in function.blocks.iter_mut().zip(&alive) {
        if !block.cycles.is_empty() {
            continue;
        }
        let mut kept = alive.iter();
        block
            .operations
            .retain(|_| kept.next().is_none_or(|kept| *kept));
        for target in block
            .operations
            .iter_mut()
            .flat_map(|operation| &mut operation.targets)
        {
            if let Operand::Register(Name::Virtual(register)) = *target
                && !used[register.0 as usize]
                && let Some(unread) = T::unread(function.registers[register.0 as usize])
            {
                *target = Operand::fixed(unread);
            }
        }
    }
}

/// `t = i + 1` whose only use is the move `i = t` behind: one sum at the place of the move.
pub(super) fn sink<T: Target>(function: &mut Function<T>) {
    let mut uses = vec![0u32; function.registers.len()];
    let mut writes = vec![0u32; function.registers.len()];
    for operation in function.blocks.iter().flat_map(|block| &block.operations) {
        for read in operation.reads() {
            uses[read.0 as usize] += 1;
        }
        for write in operation.writes() {
            writes[write.0 as usize] += 1;
        }
    }
    for block in function
        .blocks
        .iter_mut()
        .filter(|block| block.cycles.is_empty())
    {
        let mut at = 0;
        while at < block.operations.len() {
            let copy = T::copied(&block.operations[at])
                .filter(|(_, from)| uses[from.0 as usize] == 1 && writes[from.0 as usize] == 1);
            let Some((to, from)) = copy else {
                at += 1;
                continue;
            };
            let made = block.operations[..at].iter().rposition(|operation| {
                operation.targets[..] == [Operand::register(from)]
                    && operation.predicate.is_none()
                    && T::is_sum(operation)
            });
            let free = made.filter(|&made| {
                let sources: Vec<Virtual> = block.operations[made].reads().collect();
                let mut between = block.operations[made + 1..at].iter();
                between.all(|between| between.writes().all(|write| !sources.contains(&write)))
            });
            if let Some(made) = free {
                let mut sum = block.operations.remove(made);
                sum.targets = smallvec![Operand::register(to)];
                block.operations[at - 1] = sum;
            } else {
                at += 1;
            }
        }
    }
}

/// A sum of an address and a number that takes two operations, `t = x; t = t + 2`, moves down behind the last read of `x` as
/// long as nothing there names `t`: both may be one register then, and what reads `x` last may step it.
///
/// ```text
/// t = p; t = t + 2; load [p]; u = t; u = u + 2; load [t]; p = u        load [p]; t = p; t = t + 2; load [t]; ..
/// ```
pub(super) fn delay<T: Target>(function: &mut Function<T>) {
    let mut named = vec![0u32; function.registers.len()];
    let blocks = function.blocks.iter();
    for operation in blocks.flat_map(|block| &block.operations) {
        for register in operation.virtual_registers() {
            named[register.0 as usize] += 1;
        }
    }
    for block in function
        .blocks
        .iter_mut()
        .filter(|block| block.cycles.is_empty())
    {
        let operations = &mut block.operations;
        let mut at = 0;
        while at + 1 < operations.len() {
            let sum = T::copied(&operations[at])
                .filter(|(sum, _)| T::increment(&operations[at + 1]).is_some_and(|it| it.0 == *sum))
                .filter(|_| operations[at + 1].predicate.is_none());
            let Some((mut sum, from)) = sum else {
                at += 1;
                continue;
            };
            // `u = t` behind it, where nothing else names `t`.
            if let Some((to, _)) = operations
                .get(at + 2)
                .and_then(T::copied)
                .filter(|&(to, of)| of == sum && to != from)
                && named[sum.0 as usize]
                    == operations[at..at + 3]
                        .iter()
                        .map(|operation| names(operation, sum))
                        .sum::<u32>()
            {
                operations.remove(at + 2);
                for operation in &mut operations[at..at + 2] {
                    for operand in operation.targets.iter_mut().chain(&mut operation.sources) {
                        if *operand == Operand::register(sum) {
                            *operand = Operand::register(to);
                        }
                    }
                }
                // Both were named by the copy, which is gone.
                named[to.0 as usize] += std::mem::take(&mut named[sum.0 as usize]) - 2;
                sum = to;
            }
            let stays = |operation: &Operation<T>| {
                operation.branch().is_some()
                    || operation.virtual_registers().any(|named| named == sum)
                    || operation.writes().any(|written| written == from)
            };
            let behind = operations[at + 2..].iter().position(stays);
            let end = at + 2 + behind.unwrap_or(operations.len() - at - 2);
            // A copy that reads it may belong to another such sum.
            let reads = |operation: &Operation<T>| {
                T::copied(operation).is_none() && operation.reads().any(|read| read == from)
            };
            let last = operations[at + 2..end].iter().rposition(reads);
            match last {
                Some(last) => operations[at..at + 3 + last].rotate_left(2),
                None => at += 2,
            }
        }
    }
}

/// The number of times that an operation names a register.
fn names<T: Target>(operation: &Operation<T>, register: Virtual) -> u32 {
    let named = operation.virtual_registers();
    named.filter(|named| *named == register).count() as u32
}

/// `ld8 v = [a]` with `a = a + 8` behind it and nothing between that reads or writes `a`: `ld8 v = [a], 8`.
pub(super) fn post_increment<T: Target>(function: &mut Function<T>) {
    for block in function
        .blocks
        .iter_mut()
        .filter(|block| block.cycles.is_empty())
    {
        let mut at = 0;
        while at < block.operations.len() {
            if let Some((access, by)) = stepping(&block.operations, at) {
                block.operations[access].sources.push(by.into());
                block.operations.remove(at);
            } else {
                at += 1;
            }
        }
    }
}

/// The access that may take the step at `at` over, and the step.
fn stepping<T: Target>(operations: &[Operation<T>], at: usize) -> Option<(usize, i64)> {
    let step = &operations[at];
    if step.predicate.is_some() {
        return None;
    }
    let (base, by) = T::increment(step)?;
    for before in (0..at).rev() {
        let operation = &operations[before];
        let writes = operation.writes().any(|write| write == base);
        let reads = operation.reads().filter(|&read| read == base).count();
        if !writes && reads == 0 {
            continue;
        }
        let address = operation.targets.iter().chain(&operation.sources);
        let once = reads == 1
            && address
                .filter(|it| **it == Operand::Address(Name::Virtual(base)))
                .count()
                == 1
            && !writes;
        let fits = once && operation.predicate.is_none() && T::takes_step(operation, by);
        return fits.then_some((before, by));
    }
    None
}
