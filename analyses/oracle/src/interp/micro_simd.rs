//! The machine of the divergence-analysis paper (Sampaio et al., TOPLAS 2013, section 3, figures 4 to 7): processing
//! elements that share one program counter and one memory, and a synchronisation stack that the programmer's `sync`
//! instructions close. Arithmetic is on integers that must fit 64 bits.
//!
//! ```text
//! l0 bz Tid, l2      stack [(l0, done {}, l2, todo {0})], {1, 2, 3} go on
//! l1 x = Tid
//! l2 sync            first: {0} runs, from l2;  then: all meet, and go on at l3
//! l3 stop
//! ```
//!
//! Two rules are corrected: in a divergent branch the group that falls through goes on and the taken group waits; the
//! second rule named SP pops the node and unites the sets. Every conditional pushes a node, uniform ones an empty one.
//! Stops at `stop`, at the limit of cycles, or where no rule applies, which is reported. Programs in gated form (μ, γ,
//! η) have no rules here.

use super::launch::{hash, mix};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use syntax::Span;
use syntax::musimd::{InstructionKind, Operand, Operator, Program};

/// The setting of a program's run.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// Identifiers are 0 to this, exclusive.
    pub elements: u32,
    /// Variables that the program only reads; others, and those not given, start at 0.
    pub parameters: Vec<(SmolStr, i64)>,
    /// Contents of memory from address 0; the rest is 0.
    pub memory: Vec<i64>,
    pub max_cycles: u64,
    /// Elements execute one instruction in an order by this seed instead of ascending.
    pub shuffle: Option<u64>,
}

impl Setting {
    pub fn new(elements: u32) -> Self {
        Setting {
            elements,
            parameters: Vec::new(),
            memory: Vec::new(),
            max_cycles: 100_000,
            shuffle: None,
        }
    }
}

/// One cycle: which elements executed which instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cycle {
    /// From 1.
    pub number: u64,
    /// Index into `Program::instructions`.
    pub instruction: u32,
    /// Ascending.
    pub active: Vec<u32>,
}

/// The reason why no rule applies.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StuckReason {
    #[error("`stop` while {0} branches are open")]
    StopInBranch(usize),
    #[error("`sync` without an open branch")]
    SyncWithoutBranch,
    #[error("the program ends without `stop`")]
    EndOfProgram,
    #[error("the label is not defined")]
    NoTarget,
    #[error("division by zero in element {0}")]
    DivisionByZero(u32),
    #[error("a number of element {0} does not fit 64 bits")]
    Overflow(u32),
    #[error("address {1} of element {0} is negative")]
    NegativeAddress(u32, i64),
    #[error("the instruction is not understood")]
    Invalid,
    #[error("the gated form does not execute")]
    Gated,
    #[error("limit of cycles reached")]
    Cycles,
}

/// The machine cannot go on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("cycle {cycle}, instruction {instruction}: {reason}")]
pub struct Stuck {
    pub cycle: u64,
    pub instruction: u32,
    pub span: Span,
    pub reason: StuckReason,
}

/// The result of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    pub trace: Vec<Cycle>,
    /// Final values by variable, in order of appearance, each by element.
    pub variables: Vec<(SmolStr, Vec<i64>)>,
    /// Cells that were given or written, ascending.
    pub memory: Vec<(i64, i64)>,
    pub stuck: Option<Stuck>,
}

impl Run {
    pub fn cycles(&self) -> u64 {
        self.trace.len() as u64
    }
    pub fn cell(&self, address: i64) -> i64 {
        self.memory
            .binary_search_by_key(&address, |&(a, _)| a)
            .map_or(0, |at| self.memory[at].1)
    }
    pub fn variable(&self, name: &str) -> Option<&[i64]> {
        self.variables
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, values)| values.as_slice())
    }
    /// Cycles in which an instruction executes, with the active elements.
    pub fn visits(&self, instruction: u32) -> Vec<(u64, Vec<u32>)> {
        self.trace
            .iter()
            .filter(|cycle| cycle.instruction == instruction)
            .map(|cycle| (cycle.number, cycle.active.clone()))
            .collect()
    }
}

/// (l_id, Θ_done, l_next, Θ_todo)
#[derive(Clone, PartialEq, Eq, Debug)]
struct Node {
    branch: u32,
    done: Vec<u32>,
    next: u32,
    todo: Vec<u32>,
}

struct Machine<'p> {
    program: &'p Program,
    setting: &'p Setting,
    names: FxHashMap<SmolStr, usize>,
    order: Vec<SmolStr>,
    /// The values of each variable, by element.
    values: Vec<Vec<i64>>,
    memory: FxHashMap<i64, i64>,
    active: Vec<u32>,
    stack: Vec<Node>,
    cycle: u64,
}

/// Executes a program.
pub fn run(program: &Program, setting: &Setting) -> Run {
    let mut machine = Machine {
        program,
        setting,
        names: FxHashMap::default(),
        order: Vec::new(),
        values: Vec::new(),
        memory: (0..).zip(setting.memory.iter().copied()).collect(),
        active: (0..setting.elements).collect(),
        stack: Vec::new(),
        cycle: 0,
    };
    machine.collect_names();
    let mut trace = Vec::new();
    let mut at = 0u32;
    let reason = loop {
        let Some(instruction) = program.instructions.get(at as usize) else {
            break Some(StuckReason::EndOfProgram);
        };
        if machine.cycle == setting.max_cycles {
            break Some(StuckReason::Cycles);
        }
        machine.cycle += 1;
        trace.push(Cycle {
            number: machine.cycle,
            instruction: at,
            active: machine.active.clone(),
        });
        match machine.step(at, &instruction.kind) {
            Ok(Some(next)) => at = next,
            Ok(None) => break None,
            Err(reason) => break Some(reason),
        }
    };
    let span = |at: u32| {
        let instruction = program.instructions.get(at as usize);
        instruction.map_or(Span::default(), |i| i.span)
    };
    let mut memory: Vec<(i64, i64)> = machine.memory.into_iter().collect();
    memory.sort_unstable();
    Run {
        trace,
        variables: machine.order.into_iter().zip(machine.values).collect(),
        memory,
        stuck: reason.map(|reason| Stuck {
            cycle: machine.cycle,
            instruction: at,
            span: span(at),
            reason,
        }),
    }
}

impl Machine<'_> {
    fn collect_names(&mut self) {
        for instruction in &self.program.instructions {
            let read = instruction.kind.operands();
            let read = read.iter().filter_map(|operand| operand.variable());
            for name in instruction.kind.results().iter().chain(read) {
                if !self.names.contains_key(&name.text) {
                    self.names.insert(name.text.clone(), self.order.len());
                    self.order.push(name.text.clone());
                    let given = self
                        .setting
                        .parameters
                        .iter()
                        .find(|(n, _)| *n == name.text);
                    let start = given.map_or(0, |&(_, value)| value);
                    self.values
                        .push(vec![start; self.setting.elements as usize]);
                }
            }
        }
    }

    fn operand(&self, operand: &Operand, element: u32) -> i64 {
        match operand {
            Operand::Tid(_) => i64::from(element),
            Operand::Literal(value, _) => *value,
            Operand::Variable(name) => self
                .names
                .get(&name.text)
                .map_or(0, |&index| self.values[index][element as usize]),
        }
    }
    fn assign(&mut self, name: &SmolStr, element: u32, value: i64) {
        if let Some(&index) = self.names.get(name) {
            self.values[index][element as usize] = value;
        }
    }

    /// Executes one instruction; gives the next, or `None` after `stop`.
    fn step(&mut self, at: u32, kind: &InstructionKind) -> Result<Option<u32>, StuckReason> {
        let target = |kind: &InstructionKind| {
            kind.target()
                .and_then(|target| target.instruction)
                .ok_or(StuckReason::NoTarget)
        };
        match kind {
            InstructionKind::Stop if self.stack.is_empty() => Ok(None),
            InstructionKind::Stop => Err(StuckReason::StopInBranch(self.stack.len())),
            InstructionKind::Jump { .. } => target(kind).map(Some),
            InstructionKind::BranchZero { condition, .. }
            | InstructionKind::BranchNotZero { condition, .. } => {
                let when_zero = matches!(kind, InstructionKind::BranchZero { .. });
                let to = target(kind)?;
                let (taken, through): (Vec<u32>, Vec<u32>) = self
                    .active
                    .iter()
                    .partition(|&&e| (self.operand(condition, e) == 0) == when_zero);
                // Rules BT, BF and BD.
                if through.is_empty() {
                    self.push(Vec::new(), at, to);
                    return Ok(Some(to));
                }
                self.push(taken, at, to);
                self.active = through;
                Ok(Some(at + 1))
            }
            InstructionKind::Sync => {
                let Some(top) = self.stack.last_mut() else {
                    return Err(StuckReason::SyncWithoutBranch);
                };
                if !top.todo.is_empty() {
                    // Rule SS: the elements that waited run now, the others are done.
                    top.done = std::mem::replace(&mut self.active, std::mem::take(&mut top.todo));
                    return Ok(Some(top.next));
                }
                // Rule SP: all meet.
                if let Some(node) = self.stack.pop() {
                    self.active.extend(node.done);
                    self.active.sort_unstable();
                }
                Ok(Some(at + 1))
            }
            InstructionKind::Invalid { .. } => Err(StuckReason::Invalid),
            InstructionKind::Mu { .. }
            | InstructionKind::Gamma { .. }
            | InstructionKind::Eta { .. } => Err(StuckReason::Gated),
            _ => {
                let mut order = self.active.clone();
                if let Some(seed) = self.setting.shuffle {
                    let key = hash(&[seed, self.cycle]);
                    order.sort_by_key(|&element| mix(key, u64::from(element)));
                }
                for element in order {
                    self.execute(kind, element)?;
                }
                Ok(Some(at + 1))
            }
        }
    }

    fn push(&mut self, todo: Vec<u32>, branch: u32, next: u32) {
        match self.stack.last_mut() {
            // The same branch again: a loop.
            Some(top) if top.branch == branch => {
                top.todo.extend(todo);
                top.todo.sort_unstable();
            }
            _ => self.stack.push(Node {
                branch,
                done: Vec::new(),
                next,
                todo,
            }),
        }
    }

    /// The rules of figure 7 for one element.
    fn execute(&mut self, kind: &InstructionKind, element: u32) -> Result<(), StuckReason> {
        match kind {
            InstructionKind::Copy { result, value } => {
                let value = self.operand(value, element);
                self.assign(&result.text, element, value);
            }
            InstructionKind::Binary {
                result,
                operator,
                left,
                right,
            } => {
                let (x, y) = (self.operand(left, element), self.operand(right, element));
                let value = arithmetic(*operator, x, y, element)?;
                self.assign(&result.text, element, value);
            }
            InstructionKind::Load { result, address } => {
                let address = self.address(address, element)?;
                let value = self.memory.get(&address).copied().unwrap_or(0);
                self.assign(&result.text, element, value);
            }
            InstructionKind::Store { address, value } => {
                let address = self.address(address, element)?;
                let value = self.operand(value, element);
                self.memory.insert(address, value);
            }
            InstructionKind::Atomic {
                result,
                address,
                increment,
            } => {
                let address = self.address(address, element)?;
                let cell = self.memory.get(&address).copied().unwrap_or(0);
                let value = cell
                    .checked_add(self.operand(increment, element))
                    .ok_or(StuckReason::Overflow(element))?;
                self.memory.insert(address, value);
                self.assign(&result.text, element, value);
            }
            _ => {}
        }
        Ok(())
    }

    fn address(&self, operand: &Operand, element: u32) -> Result<i64, StuckReason> {
        let address = self.operand(operand, element);
        if address < 0 {
            return Err(StuckReason::NegativeAddress(element, address));
        }
        Ok(address)
    }
}

fn arithmetic(operator: Operator, x: i64, y: i64, element: u32) -> Result<i64, StuckReason> {
    let divisor = || {
        if y == 0 {
            Err(StuckReason::DivisionByZero(element))
        } else {
            Ok(())
        }
    };
    // Shifts by 64 or more of integers without a width: nothing is left, or too much.
    let amount = u32::try_from(y).ok();
    let value = match operator {
        Operator::Add => x.checked_add(y),
        Operator::Sub => x.checked_sub(y),
        Operator::Mul => x.checked_mul(y),
        Operator::Div => {
            divisor()?;
            x.checked_div(y)
        }
        Operator::Rem => {
            divisor()?;
            Some(x.wrapping_rem(y))
        }
        Operator::Less => Some(i64::from(x < y)),
        Operator::LessEqual => Some(i64::from(x <= y)),
        Operator::Greater => Some(i64::from(x > y)),
        Operator::GreaterEqual => Some(i64::from(x >= y)),
        Operator::Equal => Some(i64::from(x == y)),
        Operator::NotEqual => Some(i64::from(x != y)),
        Operator::And => Some(x & y),
        Operator::Or => Some(x | y),
        Operator::Xor => Some(x ^ y),
        Operator::ShiftLeft => amount.and_then(|amount| {
            let wide = i128::from(x).checked_shl(amount.min(127))?;
            let fits = amount < 64 || x == 0;
            i64::try_from(wide).ok().filter(|_| fits)
        }),
        Operator::ShiftRight => amount.map(|amount| x >> amount.min(63)),
    };
    value.ok_or(StuckReason::Overflow(element))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUM_TRIANGLE: &str = "\
l0 d = 0
l1 s = 0
l2 i = Tid
l3 x = Tid + 1
l4 L = c * x
l5 p = i < L
l6 bz p, l15
l7 p = d % 2
l8 bz p, l11
l9 t = load i
l10 s = s + t
l11 sync
l12 d = d + 1
l13 i = i + c
l14 jump l5
l15 sync
l16 x = d - 1
l17 x = x + 16
l18 store x = s
l19 stop
";
    const AVG_SQUARE: &str = "\
l0 d = 0
l1 s = 0
l2 t = c * c
l3 N = Tid + t
l4 i = Tid
l5 p = i < N
l6 bz p, l12
l7 t = load i
l8 s = s + t
l9 d = d + 1
l10 i = i + c
l11 jump l5
l12 sync
l13 a = s / d
l14 x = Tid + V
l15 store x = a
l16 stop
";
    const M: [i64; 16] = [4, 11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 11, 7, 3, 10];

    fn execute(text: &str, shuffle: Option<u64>) -> Run {
        let program = syntax::musimd::parse(text);
        assert_eq!(program.problems, []);
        let mut setting = Setting::new(4);
        setting.memory = M.to_vec();
        setting.parameters = vec![("c".into(), 4), ("V".into(), 16)];
        setting.shuffle = shuffle;
        run(&program, &setting)
    }
    fn results(run: &Run) -> Vec<i64> {
        (16..20).map(|a| run.cell(a)).collect()
    }

    #[test]
    fn sum_triangle_has_the_papers_snapshot() {
        for shuffle in [None, Some(1), Some(2)] {
            let run = execute(SUM_TRIANGLE, shuffle);
            assert_eq!(run.stuck, None);
            assert_eq!(results(&run), [0, 6, 2, 19]);
            assert_eq!(run.variable("d"), Some(&[1, 2, 3, 4][..]));
            assert_eq!(run.cycles(), 49);
            assert_eq!(
                run.visits(6),
                [
                    (7, vec![0, 1, 2, 3]),
                    (15, vec![0, 1, 2, 3]),
                    (25, vec![1, 2, 3]),
                    (33, vec![2, 3]),
                    (43, vec![3])
                ]
            );
            assert_eq!(run.visits(15), [(44, vec![3]), (45, vec![0, 1, 2])]);
            assert_eq!(run.visits(16), [(46, vec![0, 1, 2, 3])]);
        }
    }

    #[test]
    fn sum_triangle_with_the_other_polarity() {
        let run = execute(&SUM_TRIANGLE.replace("l8 bz", "l8 bnz"), None);
        assert_eq!(run.stuck, None);
        assert_eq!(results(&run), [4, 11, 15, 7]);
        let cycles: Vec<u64> = run.visits(6).iter().map(|(cycle, _)| *cycle).collect();
        assert_eq!(cycles, [7, 17, 25, 35, 43]);
    }

    #[test]
    fn average_of_columns() {
        let run = execute(AVG_SQUARE, None);
        assert_eq!(run.stuck, None);
        assert_eq!(results(&run), [7, 6, 5, 6]);
        assert_eq!(run.variable("d"), Some(&[4, 4, 4, 4][..]));
        assert_eq!(run.cycles(), 40);
    }

    #[test]
    fn stuck_states_are_reported() {
        let stuck = |text: &str| execute(text, None).stuck.map(|s| s.reason);
        assert_eq!(
            stuck("bz Tid, l2\nstop\nl2 sync\nstop\n"),
            Some(StuckReason::StopInBranch(1))
        );
        assert_eq!(stuck("sync\nstop\n"), Some(StuckReason::SyncWithoutBranch));
        assert_eq!(
            stuck("x = 1 / Tid\nstop\n"),
            Some(StuckReason::DivisionByZero(0))
        );
        assert_eq!(stuck("x = 1\n"), Some(StuckReason::EndOfProgram));
        assert_eq!(stuck("l0 jump l0\n"), Some(StuckReason::Cycles));
        assert_eq!(
            stuck("x = 0 - 1\nstore x = 1\nstop\n"),
            Some(StuckReason::NegativeAddress(0, -1))
        );
    }

    #[test]
    fn two_exits_of_a_loop_leave_the_stack_open() {
        let text = "i = 0\nl1 p = i < 3\nbz p, l9\nq = i < Tid\nbz q, l9\ni = i + 1\njump l1\nl9 sync\nstop\n";
        assert_eq!(
            execute(text, None)
                .stuck
                .map(|s| matches!(s.reason, StuckReason::StopInBranch(_))),
            Some(true)
        );
    }

    #[test]
    fn atomics_go_by_the_order_of_elements() {
        let run = execute("k = atomic 30 + 2\nstop\n", None);
        assert_eq!(run.variable("k"), Some(&[2, 4, 6, 8][..]));
        assert_eq!(execute("k = atomic 30 + 2\nstop\n", Some(3)).cell(30), 8);
    }
}
