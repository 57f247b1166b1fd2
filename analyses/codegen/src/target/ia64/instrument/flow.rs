//! The control flow of a function: its steps divided into blocks, and edges between them.
//!
//! ```text
//! .L1: ...  (p6) br.cond .L1 ;;      block; edges to itself, taken, and to the next
//! ```
//!
//! A block ends at a label and behind a branch or a check; calls stand inside. Each is looked at once.

use super::function::{Block, Code, FlowStep, Function, Goal, How, StepKind};
use super::refusal::Refusal;
use isa::ia64::Branch;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

/// Divides the steps into blocks and connects them.
pub(super) fn flow(function: &mut Function, labels: &[(SmolStr, usize)]) -> Result<(), Refusal> {
    let steps = &function.steps;
    let mut starts = vec![0];
    for (at, step) in steps.iter().enumerate() {
        match &step.kind {
            // Labels in a row are one.
            StepKind::Label if at > 0 && !matches!(steps[at - 1].kind, StepKind::Label) => {
                starts.push(at)
            }
            StepKind::Code(code) => {
                let branch = code.inst.branch;
                if branch.is_some() && branch != Some(Branch::Call) {
                    starts.push(at + 1);
                }
            }
            _ => {}
        }
    }
    starts.retain(|&at| at < steps.len());
    starts.sort_unstable();
    starts.dedup();
    let ends = starts.iter().skip(1).copied().chain([steps.len()]);
    let code = |at: usize| function.code(at);
    let mut blocks: Vec<Block> = Vec::new();
    for (&start, end) in starts.iter().zip(ends) {
        let codes: Vec<usize> = (start..end).filter(|&at| code(at).is_some()).collect();
        let labelled = (start..end).any(|at| matches!(steps[at].kind, StepKind::Label));
        if codes.is_empty() && !labelled && !blocks.is_empty() {
            // Directives between two blocks go with the one in front.
            let last = blocks.len() - 1;
            blocks[last].steps.end = end;
            continue;
        }
        let branch = codes.last().copied().filter(|&at| {
            let branch = code(at).and_then(|code| code.inst.branch);
            branch.is_some() && branch != Some(Branch::Call)
        });
        blocks.push(Block {
            steps: start..end,
            first: codes.first().copied(),
            branch,
        });
    }
    let mut by_label: FxHashMap<&SmolStr, usize> = FxHashMap::default();
    for (name, step) in labels {
        let block = blocks.partition_point(|block| block.steps.end <= *step);
        by_label.insert(name, block);
    }
    let find = |name: &SmolStr, from: usize| -> Option<usize> {
        let bytes = name.as_bytes();
        let (digits, last) = bytes.split_at(bytes.len() - 1);
        let is_local = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        match last {
            b"b" | b"f" if is_local => {
                let number = &name[..name.len() - 1];
                let mut same = labels.iter().filter(|(label, _)| label == number);
                let step = match last {
                    b"b" => same.rfind(|(_, step)| *step <= from),
                    _ => same.find(|(_, step)| *step > from),
                };
                step.map(|(_, step)| blocks.partition_point(|block| block.steps.end <= *step))
            }
            _ => by_label.get(name).copied(),
        }
    };
    let mut edges = Vec::new();
    let count = blocks.len();
    for (from, block) in blocks.iter().enumerate() {
        let mut add = |to: Goal, how: How| edges.push(FlowStep { from, to, how });
        let mut goes_on = true;
        if let Some(step) = block.branch {
            let Some(code) = code(step) else { continue };
            let unconditional = code.inst.predicate == 0
                && matches!(code.inst.branch, Some(Branch::Jump | Branch::Return));
            goes_on = !unconditional;
            match (code.inst.branch, &code.target) {
                (Some(Branch::Return), _) => add(Goal::Exit, How::Taken),
                (_, Some(label)) => match find(label, step) {
                    Some(to) => add(Goal::Block(to), How::Taken),
                    None => add(Goal::Exit, How::Taken),
                },
                (_, None) => {
                    let told = told_targets(code);
                    if told.is_empty() {
                        return Err(Refusal::Indirect { line: code.line });
                    }
                    for label in &told {
                        match find(label, step) {
                            Some(to) => add(Goal::Block(to), How::Taken),
                            None => return Err(Refusal::Indirect { line: code.line }),
                        }
                    }
                }
            }
        }
        if goes_on && from + 1 < count {
            add(Goal::Block(from + 1), How::On);
        }
    }
    let mut reached = vec![false; count];
    let mut work = vec![0];
    let mut leaves = false;
    reached[0] = true;
    while let Some(block) = work.pop() {
        let mut any = false;
        for edge in edges.iter().filter(|edge| edge.from == block) {
            any = true;
            match edge.to {
                Goal::Block(to) if !reached[to] => {
                    reached[to] = true;
                    work.push(to);
                }
                Goal::Block(_) => {}
                Goal::Exit => leaves = true,
            }
        }
        let last = blocks[block].branch.and_then(code);
        let ends = last.is_some_and(|code| {
            code.inst.predicate == 0
                && matches!(code.inst.branch, Some(Branch::Jump | Branch::Return))
        });
        if !any || block + 1 == count && !ends {
            return Err(Refusal::RunsOff);
        }
    }
    if !leaves {
        return Err(Refusal::NoReturn);
    }
    if let Some(frame) = function.frame {
        let line = function.code(frame.step).map_or(0, |code| code.line);
        if !blocks[0].steps.contains(&frame.step) {
            return Err(Refusal::AllocPlace { line });
        }
        if edges
            .iter()
            .any(|edge| reached[edge.from] && edge.to == Goal::Block(0))
        {
            return Err(Refusal::LoopAtEntry);
        }
    }
    edges.retain(|edge| reached[edge.from]);
    function.blocks = blocks;
    function.edges = edges;
    function.reached = reached;
    Ok(())
}

/// Labels in a comment `targets: .L1, .L2` beside a branch.
fn told_targets(code: &Code) -> Vec<SmolStr> {
    let Some((_, list)) = code
        .beside
        .as_deref()
        .and_then(|text| text.split_once("targets: "))
    else {
        return Vec::new();
    };
    let words = list.split([',', ' ', '*', '/']).map(str::trim);
    words
        .filter(|word| !word.is_empty())
        .map(SmolStr::from)
        .collect()
}
