//! The paper's machine against the IR interpreter on lowered µ-SIMD programs: the same memory afterwards.

use super::*;
use crate::interp::micro_simd;
use ir::lower::musimd;

const CELLS: usize = 64;

/// Memory after the run by both.
fn both(
    text: &str,
    parameters: &[(&str, i64)],
    memory: &[i64],
    lanes: u32,
) -> (Vec<i64>, Vec<i64>) {
    let program = syntax::musimd::parse(text);
    assert_eq!(program.problems, [], "{text}");
    let mut setting = micro_simd::Setting::new(lanes);
    setting.parameters = parameters.iter().map(|&(n, v)| (n.into(), v)).collect();
    setting.memory = memory.to_vec();
    let machine = micro_simd::run(&program, &setting);
    assert_eq!(machine.stuck, None, "{text}");
    let cells = (0..CELLS as i64).map(|a| machine.cell(a)).collect();

    let (module, problems) = musimd::lower(&program, "program");
    assert_eq!(problems, []);
    let kernel = &module.functions[0];
    let mut launch = Launch::new(lanes);
    launch.parameters = kernel
        .parameters
        .iter()
        .map(|p| parameters.iter().find(|(n, _)| p.name == *n))
        .map(|p| Argument::Bits(p.map_or(0, |&(_, v)| v as u64)))
        .collect();
    let bytes = memory.iter().flat_map(|v| v.to_le_bytes()).collect();
    launch.shared = vec![(musimd::MEMORY.into(), bytes)];
    let outcome = run(&module, &launch);
    assert_eq!(outcome.error, None, "{text}");
    let after = outcome
        .shared
        .first()
        .map(|s| s.bytes.clone())
        .unwrap_or_default();
    let mut found: Vec<i64> = after
        .chunks_exact(8)
        .take(CELLS)
        .map(|c| c.iter().rev().fold(0, |w, &b| w << 8 | i64::from(b)))
        .collect();
    // A program that never touches memory has no symbol for it.
    if found.is_empty() {
        found = memory.to_vec();
    }
    found.resize(CELLS, 0);
    (cells, found)
}

const M: [i64; 16] = [4, 11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 11, 7, 3, 10];

#[test]
fn the_papers_two_kernels() {
    let triangle = "d = 0\ns = 0\ni = Tid\nx = Tid + 1\nL = c * x\nl5 p = i < L\nbz p, l15\np = d % 2\nbz p, l11\nt = load i\ns = s + t\nl11 sync\nd = d + 1\ni = i + c\njump l5\nl15 sync\nx = d - 1\nx = x + 16\nstore x = s\nstop\n";
    let (machine, interpreter) = both(triangle, &[("c", 4)], &M, 4);
    assert_eq!(machine[16..20], [0, 6, 2, 19]);
    assert_eq!(machine, interpreter);
    let average = "d = 0\ns = 0\nt = c * c\nN = Tid + t\ni = Tid\nl5 p = i < N\nbz p, l12\nt = load i\ns = s + t\nd = d + 1\ni = i + c\njump l5\nl12 sync\na = s / d\nx = Tid + V\nstore x = a\nstop\n";
    let (machine, interpreter) = both(average, &[("c", 4), ("V", 16)], &M, 4);
    assert_eq!(machine[16..20], [7, 6, 5, 6]);
    assert_eq!(machine, interpreter);
}

/// Structured programs, so that every branch has its `sync`.
struct Writer {
    random: random::Random,
    text: String,
    labels: u32,
    counters: u32,
}

impl Writer {
    fn operand(&mut self) -> String {
        match self.random.below(6) {
            0 => "Tid".into(),
            1 => self.random.between(0, 5).to_string(),
            2 => "c".into(),
            n => format!("v{}", n - 3),
        }
    }
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }
    fn statements(&mut self, depth: u32) {
        for _ in 0..1 + self.random.below(4) {
            self.statement(depth);
        }
    }
    fn statement(&mut self, depth: u32) {
        let v = self.random.below(3);
        let (x, y) = (self.operand(), self.operand());
        match self.random.below(if depth == 0 { 4 } else { 7 }) {
            0 | 1 => {
                let operator = *self.random.pick(&["+", "-", "<", "==", "&", "^", "<="]);
                self.line(&format!("v{v} = {x} {operator} {y}"));
            }
            // Each element has cells of its own from 16 on, and reads the first 16.
            2 => {
                let k = self.random.below(4);
                self.line(&format!("a = Tid * 4\na = a + {}\nstore a = {x}", 16 + k));
            }
            3 => {
                self.line(&format!("a = {x} & 15\nv{v} = load a"));
            }
            4 | 5 => {
                let meet = self.labels;
                self.labels += 1;
                let branch = *self.random.pick(&["bz", "bnz"]);
                self.line(&format!("{branch} {x}, l{meet}"));
                self.statements(depth - 1);
                self.line(&format!("l{meet} sync"));
            }
            _ => {
                let (head, meet) = (self.labels, self.labels + 1);
                self.labels += 2;
                let i = format!("i{}", self.counters);
                self.counters += 1;
                self.line(&format!(
                    "{i} = {x} & 3\nl{head} p = 0 < {i}\nbz p, l{meet}"
                ));
                self.statements(depth - 1);
                self.line(&format!("{i} = {i} - 1\njump l{head}\nl{meet} sync"));
            }
        }
    }
}

#[test]
fn random_structured_programs() {
    for seed in 0..400 {
        let mut writer = Writer {
            random: random::Random::new(seed),
            text: String::new(),
            labels: 0,
            counters: 0,
        };
        writer.line("v0 = Tid\nv1 = c\nv2 = 1");
        writer.statements(3);
        writer.line("a = Tid * 4\na = a + 19\nstore a = v0\nstop");
        let (machine, interpreter) = both(&writer.text, &[("c", 3)], &M, 8);
        assert_eq!(machine, interpreter, "seed {seed}\n{}", writer.text);
    }
}
