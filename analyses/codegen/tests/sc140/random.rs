//! Random instructions. Accesses stay in their buffers: each of r0 to r3 points to data of one width, and nothing but steps
//! changes them; n0 to n3 stay small.

use lockstep_codegen::isa::sc140::opcodes::ROWS;
use lockstep_codegen::isa::sc140::{Opcode, Row, Unit};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

pub(crate) struct Random {
    random: StdRng,
    /// Data registers are below this: few meet often.
    data: u8,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        let mut random = StdRng::seed_from_u64(seed);
        let data = *[4, 8, 16].choose(&mut random).expect("counts");
        Random { random, data }
    }
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.random.random_range(0..limit)
    }
    fn pick<'a>(&mut self, names: &[&'a str]) -> &'a str {
        names.choose(&mut self.random).expect("names")
    }
    fn number(&mut self, least: i64, most: i64) -> i64 {
        self.random.random_range(least..=most)
    }
    fn data(&mut self) -> String {
        format!("d{}", self.random.random_range(0..self.data))
    }

    /// An instruction without a condition, or with one.
    pub(crate) fn instruction(&mut self) -> String {
        let condition = match self.below(12) {
            0 => "ift ",
            1 => "iff ",
            _ => "",
        };
        format!("{condition}{}", self.plain())
    }

    fn plain(&mut self) -> String {
        let rows: Vec<&Row> = ROWS.iter().filter(|row| is_used(row)).collect();
        // Products and moves are most of a program.
        let row = match self.below(4) {
            0 => Opcode::Mac.row(),
            1 => *[
                "move.w", "move.f", "move.4f", "move.l", "moves.2f", "move.2w",
            ]
            .map(|name| Row::of(name).expect("a move").0)
            .choose(&mut self.random)
            .expect("moves"),
            _ => *rows.choose(&mut self.random).expect("rows"),
        };
        let forms: Vec<&str> = row.operands.split("; ").collect();
        let form = *forms.choose(&mut self.random).expect("forms");
        let mut operands: Vec<String> = Vec::new();
        if form == "source,target" {
            operands = self.moved(row.name);
        } else if let Some(registers) = form.strip_suffix(",memory") {
            let count = registers.split(':').count() as u8;
            operands.push(self.group(count));
            operands.push(self.place(row.name));
        } else if form.starts_with("Dc") || form.starts_with("Dg") {
            let (step, distance) = if form.starts_with("Dc") {
                (2, 1)
            } else {
                (1, 4)
            };
            let limit = if distance == 4 { 4 } else { self.data / 2 };
            let first = self.random.random_range(0..limit) * step;
            operands = vec![format!("d{first}"), format!("d{}", first + distance)];
        } else {
            for part in form.split(',') {
                let operand = self.part(part);
                operands.push(operand);
            }
        }
        format!("{:<8} {}", row.name, operands.join(","))
    }

    fn part(&mut self, part: &str) -> String {
        const UPPER: [&str; 6] = ["r4", "r5", "r6", "r7", "r8", "r12"];
        match part {
            "[-]Da" if self.random.random_bool(0.2) => format!("-{}", self.data()),
            "#u5" => format!("#{}", self.number(0, 31)),
            "#s16" => format!("#{}", self.number(-0x8000, 0x7fff)),
            "#u16" => format!("#{}", self.number(0, 0xffff)),
            "#mask" => format!("#{}", self.number(0, 0xffff)),
            "#width" => format!("#{}", self.number(1, 16)),
            "#offset" => format!("#{}", self.number(0, 15)),
            "rx" => self
                .pick(&["r0", "r1", "r4", "r5", "r6", "r7", "r8", "n1"])
                .into(),
            "Rx" | "Rn" => self.pick(&UPPER).into(),
            "X.l" => {
                let half = self.pick(&["l", "h"]);
                match self.random.random_bool(0.7) {
                    true => format!("{}.{half}", self.data()),
                    false => format!("{}.{half}", self.pick(&UPPER[..4])),
                }
            }
            _ => self.data(),
        }
    }

    /// The first of as many registers, whose number their count divides.
    fn group(&mut self, count: u8) -> String {
        let first = self.random.random_range(0..self.data / count.max(1)) * count;
        let names = (first..first + count).map(|number| format!("d{number}"));
        names.collect::<Vec<_>>().join(":")
    }

    /// A place of the width of a move.
    fn place(&mut self, name: &str) -> String {
        let (pointer, width) = match name {
            "move.b" | "moveu.b" => ("r3", 1),
            "move.w" | "moveu.w" | "move.f" | "moves.f" => ("r2", 2),
            "move.4w" | "move.4f" | "moves.4f" | "move.2l" => ("r0", 8),
            _ => ("r1", 4),
        };
        match self.below(7) {
            0 => format!("({pointer})+"),
            1 => format!("({pointer})-"),
            2 => format!("({pointer})+n{}", self.number(0, 3)),
            3 => format!("({pointer}+n0)"),
            4 => format!("({pointer}+{})", self.number(0, 7) * width),
            5 => format!("({pointer}-{})", self.number(1, 20) * width),
            _ => format!("({pointer})"),
        }
    }

    fn moved(&mut self, name: &str) -> Vec<String> {
        let count = match name {
            "move.2w" | "move.2f" | "move.2l" => 2,
            "move.4w" | "move.4f" => 4,
            _ => 1,
        };
        let (group, place) = (self.group(count), self.place(name));
        match (self.below(8), name) {
            (0, "move.w") => vec![
                format!("#{}", self.number(-2, 2)),
                format!("n{}", self.number(0, 3)),
            ],
            (1, "move.w") => vec![format!("#{}", self.number(-0x8000, 0x7fff)), group],
            (0, "move.l") => vec![group, self.pick(&["r4", "r5", "r8"]).into()],
            (1, "move.l") => vec![self.pick(&["r0", "r4", "r6", "r8"]).into(), group],
            (2, "move.l") => vec![format!("#{}", self.number(0, 1 << 30)), group],
            (2 | 3, "move.w") => vec![place, self.pick(&["r4", "r5", "r6"]).into()],
            (4..=5, _) => vec![group, place],
            _ => vec![place, group],
        }
    }
}

/// Opcodes that random programs have: those without effects on the flow of control or the processor's state.
fn is_used(row: &Row) -> bool {
    let stack = row.name.starts_with("push") || row.name.starts_with("pop");
    matches!(row.unit, Unit::Data | Unit::Address | Unit::Mask) && !stack
}
