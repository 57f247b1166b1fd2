//! Figures 17 and 19 of the paper as listings on three registers, and how they run on the paper's machine.

use oracle::interp::micro_simd::{self, Run, Setting};
use std::collections::BTreeMap;
use syntax::musimd::{Program, parse};

/// A line: its operation and variable, the code on registers, and the contents of registers and slots in
/// front of it (`=`: as in front of the line above).
pub(crate) struct Row {
    pub(crate) kind: Kind,
    code: &'static str,
    registers: [&'static str; 3],
    local: &'static str,
    shared: &'static str,
}

/// The kinds of lines that Figure 19's counts tell apart; a variable and the number of its slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Defines a variable in a register.
    Define(&'static str, usize),
    StoreLocal(&'static str, usize),
    LoadLocal(&'static str, usize),
    StoreShared(&'static str, usize),
    LoadShared(&'static str, usize),
    /// Defines a variable from global memory.
    LoadGlobal(&'static str, usize),
    Other,
}

use Kind::{Define, LoadGlobal, LoadLocal, LoadShared, Other, StoreLocal, StoreShared};

const fn row(
    kind: Kind,
    code: &'static str,
    registers: [&'static str; 3],
    local: &'static str,
    shared: &'static str,
) -> Row {
    Row {
        kind,
        code,
        registers,
        local,
        shared,
    }
}

/// Figure 17 with the branch of L10 mended.
pub(crate) fn figure_17() -> Vec<Row> {
    vec![
        row(Define("d", 0), "r0 = 0", ["", "", ""], "", ""),
        row(StoreLocal("d", 1), "↑own1 = r0", ["d", "", ""], "", ""),
        row(Define("s", 1), "r1 = 0", ["d", "", ""], "1:d", ""),
        row(StoreLocal("s", 0), "↑own0 = r1", ["d", "s", ""], "1:d", ""),
        row(LoadGlobal("c", 2), "r2 = ↓0", ["d", "s", ""], "0:s 1:d", ""),
        row(
            Define("t0", 0),
            "r0 = r2 * r2",
            ["d", "s", "c"],
            "0:s 1:d",
            "",
        ),
        row(
            Define("N", 2),
            "r2 = Tid + r0",
            ["t0", "s", "c"],
            "0:s 1:d",
            "",
        ),
        row(
            StoreLocal("N", 2),
            "↑own2 = r2",
            ["t0", "s", "N"],
            "0:s 1:d",
            "",
        ),
        row(
            Define("i", 0),
            "r0 = Tid",
            ["t0", "s", "N"],
            "0:s 1:d 2:N",
            "",
        ),
        row(
            LoadLocal("N", 2),
            "r2 = ↓own2",
            ["i", "s", "c|N"],
            "0:s 1:d 2:N",
            "",
        ),
        row(Other, "p = r0 < r2; bz p, l23", ["i", "s", "N"], "=", ""),
        row(Define("t1", 2), "r2 = r0 * 4", ["i", "s", "N"], "=", ""),
        row(LoadGlobal("m", 1), "r1 = ↓1", ["i", "s", "t1"], "=", ""),
        row(
            LoadGlobal("t2", 2),
            "a = r1 + r2; r2 = ↓a",
            ["i", "m", "t1"],
            "=",
            "",
        ),
        row(LoadLocal("s", 1), "r1 = ↓own0", ["i", "m", "t2"], "=", ""),
        row(Define("s", 1), "r1 = r2 + r1", ["i", "s", "t2"], "=", ""),
        row(StoreLocal("s", 0), "↑own0 = r1", ["i", "s", "t2"], "=", ""),
        row(LoadLocal("d", 2), "r2 = ↓own1", ["i", "s", "t2"], "=", ""),
        row(Define("d", 2), "r2 = r2 + 1", ["i", "s", "d"], "=", ""),
        row(StoreLocal("d", 1), "↑own1 = r2", ["i", "s", "d"], "=", ""),
        row(LoadGlobal("c", 2), "r2 = ↓0", ["i", "s", "d"], "=", ""),
        row(Define("i", 0), "r0 = r0 + r2", ["i", "s", "c"], "=", ""),
        row(Other, "jump l9", ["i", "s", "c"], "=", ""),
        row(LoadLocal("d", 2), "r2 = ↓own1", ["i", "s", "c|N"], "=", ""),
        row(Define("t3", 0), "r0 = r1 / r2", ["i", "s", "d"], "=", ""),
        row(Define("t4", 1), "r1 = Tid * 4", ["t3", "s", "d"], "=", ""),
        row(LoadGlobal("v", 2), "r2 = ↓2", ["t3", "t4", "d"], "=", ""),
        row(Other, "a = r2 + r1; ↑a = r0", ["t3", "t4", "v"], "=", ""),
    ]
}

/// Figure 19 with the branch of L11 mended.
pub(crate) fn figure_19() -> Vec<Row> {
    vec![
        row(Define("d", 0), "r0 = 0", ["", "", ""], "", ""),
        row(StoreShared("d", 0), "↑8 = r0", ["d", "", ""], "", ""),
        row(Define("s", 1), "r1 = 0", ["d", "", ""], "", "0:d"),
        row(StoreLocal("s", 0), "↑own0 = r1", ["d", "s", ""], "", "0:d"),
        row(LoadGlobal("c", 2), "r2 = ↓0", ["d", "s", ""], "0:s", "0:d"),
        row(
            Define("t0", 0),
            "r0 = r2 * r2",
            ["d", "s", "c"],
            "0:s",
            "0:d",
        ),
        row(
            Define("N", 2),
            "r2 = Tid + r0",
            ["t0", "s", "c"],
            "0:s",
            "0:d",
        ),
        row(
            StoreShared("t0", 1),
            "↑9 = r0",
            ["t0", "s", "N"],
            "0:s",
            "0:d",
        ),
        row(
            Define("i", 0),
            "r0 = Tid",
            ["t0", "s", "N"],
            "0:s",
            "0:d 1:t0",
        ),
        row(
            LoadShared("t0", 2),
            "r2 = ↓9",
            ["i", "s", "c|N"],
            "0:s",
            "0:d 1:t0",
        ),
        row(
            Define("N", 2),
            "r2 = Tid + r2",
            ["i", "s", "t0"],
            "0:s",
            "0:d 1:t0",
        ),
        row(
            Other,
            "p = r0 < r2; bz p, l24",
            ["i", "s", "N"],
            "0:s",
            "0:d 1:t0",
        ),
        row(Define("t1", 2), "r2 = r0 * 4", ["i", "s", "N"], "=", "="),
        row(LoadGlobal("m", 1), "r1 = ↓1", ["i", "s", "t1"], "=", "="),
        row(
            LoadGlobal("t2", 2),
            "a = r1 + r2; r2 = ↓a",
            ["i", "m", "t1"],
            "=",
            "=",
        ),
        row(LoadLocal("s", 1), "r1 = ↓own0", ["i", "m", "t2"], "=", "="),
        row(Define("s", 1), "r1 = r2 + r1", ["i", "s", "t2"], "=", "="),
        row(StoreLocal("s", 0), "↑own0 = r1", ["i", "s", "t2"], "=", "="),
        row(LoadShared("d", 2), "r2 = ↓8", ["i", "s", "t2"], "=", "="),
        row(Define("d", 2), "r2 = r2 + 1", ["i", "s", "d"], "=", "="),
        row(StoreShared("d", 0), "↑8 = r2", ["i", "s", "d"], "=", "="),
        row(LoadGlobal("c", 2), "r2 = ↓0", ["i", "s", "d"], "=", "="),
        row(Define("i", 0), "r0 = r0 + r2", ["i", "s", "c"], "=", "="),
        row(Other, "jump l9", ["i", "s", "c"], "=", "="),
        row(LoadShared("d", 2), "r2 = ↓8", ["i", "s", "c|N"], "=", "="),
        row(Define("t3", 0), "r0 = r1 / r2", ["i", "s", "d"], "=", "="),
        row(Define("t4", 1), "r1 = Tid * 4", ["t3", "s", "d"], "=", "="),
        row(LoadGlobal("v", 2), "r2 = ↓2", ["t3", "t4", "d"], "=", "="),
        row(Other, "a = r2 + r1; ↑a = r0", ["t3", "t4", "v"], "=", "="),
    ]
}

const TABLE: i64 = 100;
const AVERAGES: i64 = 40;
/// Slots 0 to 2 of an element begin here, three behind those of the element before it.
const LOCAL: i64 = 20;
/// Slots 0 and 1 of the warp.
const SHARED: i64 = 8;

/// A listing as a program, and the line of each of its instructions that is one by itself.
pub(crate) struct Listing {
    rows: Vec<Row>,
    program: Program,
    /// The row that each instruction of the program ends.
    row_of: Vec<Option<usize>>,
    /// The first instruction of each row.
    first: Vec<u32>,
}

impl Listing {
    /// `change` rewrites the program's text, as printed errors do.
    pub(crate) fn new(rows: Vec<Row>, change: &dyn Fn(String) -> String) -> Listing {
        // Addresses of the element's slots are no part of the listing, as those of a stack frame are not.
        let mut text = vec![
            "base = Tid * 3".to_owned(),
            format!("own0 = base + {LOCAL}"),
            "own1 = own0 + 1".to_owned(),
            "own2 = own0 + 2".to_owned(),
        ];
        let exit = rows
            .iter()
            .position(|row| row.code.contains("jump"))
            .map_or(0, |at| at + 1);
        let mut row_of = vec![None; text.len()];
        let mut first = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let mut label = format!("l{at} ");
            if at == exit {
                text.push(format!("l{at} sync"));
                row_of.push(None);
                label = String::new();
            }
            first.push(text.len() as u32);
            for part in row.code.split("; ") {
                text.push(format!("{label}{part}"));
                row_of.push(None);
                label.clear();
            }
            if let Some(last) = row_of.last_mut() {
                *last = Some(at);
            }
        }
        text.push("stop".to_owned());
        row_of.push(None);
        let program = parse(&change(text.join("\n")));
        assert_eq!(program.problems, []);
        Listing {
            rows,
            program,
            row_of,
            first,
        }
    }

    /// A run with two elements over a table, by `c`, up to a cycle.
    pub(crate) fn run(&self, table: &[i64], c: i64, cycles: u64) -> Run {
        let mut setting = Setting::new(2);
        setting.memory = vec![0; 4400];
        setting.memory[..3].copy_from_slice(&[c, TABLE, AVERAGES]);
        for (at, value) in table.iter().enumerate() {
            setting.memory[TABLE as usize + 4 * at] = *value;
        }
        setting.max_cycles = cycles;
        micro_simd::run(&self.program, &setting)
    }

    pub(crate) fn averages(&self, table: &[i64], c: i64) -> [i64; 2] {
        let run = self.run(table, c, 100_000);
        assert_eq!(run.stuck, None);
        [run.cell(AVERAGES), run.cell(AVERAGES + 4)]
    }

    /// Lines that a warp executes, by their kind, and all of them.
    pub(crate) fn counts(&self, table: &[i64], c: i64) -> BTreeMap<&'static str, i64> {
        let mut counts = BTreeMap::new();
        for cycle in self.run(table, c, 100_000).trace {
            let Some(row) = self.row_of[cycle.instruction as usize] else {
                continue;
            };
            let kind = match self.rows[row].kind {
                StoreLocal(..) => "st.local",
                LoadLocal(..) => "ld.local",
                StoreShared(..) => "st.shared",
                LoadShared(..) => "ld.shared",
                LoadGlobal(..) => "ld.global",
                Define(..) | Other => "others",
            };
            *counts.entry(kind).or_default() += 1;
            *counts.entry("all").or_default() += 1;
        }
        counts
    }

    /// Compares registers and slots in front of every line that runs with the columns, in both elements.
    pub(crate) fn compare_contents(&self, table: &[i64], c: i64) -> u32 {
        let trace = self.run(table, c, 100_000).trace;
        // The values that variables were given last, and the variable that each register was given last.
        let mut values: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
        let mut named = [""; 3];
        let mut slots: BTreeMap<(&str, usize), (&str, Vec<i64>)> = BTreeMap::new();
        let mut compared = 0;
        let mut columns: Vec<(&str, &str)> = Vec::new();
        for row in &self.rows {
            let same = |text, last| if text == "=" { last } else { text };
            let (local, shared) = columns.last().copied().unwrap_or_default();
            columns.push((same(row.local, local), same(row.shared, shared)));
        }
        for cycle in &trace {
            if let Some(at) = self
                .first
                .iter()
                .position(|first| *first == cycle.instruction)
            {
                let before = self.run(table, c, cycle.number - 1);
                for (number, wanted) in self.rows[at].registers.iter().enumerate() {
                    assert!(
                        wanted.split('|').any(|name| name == named[number]),
                        "L{at}: r{number} {named:?}"
                    );
                    if !wanted.is_empty() {
                        let register = before.variable(&format!("r{number}"));
                        assert_eq!(
                            register,
                            values.get(named[number]).map(Vec::as_slice),
                            "L{at} r{number}"
                        );
                        compared += 1;
                    }
                }
                let text = |kind: &str| {
                    let own = slots.iter().filter(|slot| slot.0.0 == kind);
                    let words: Vec<String> = own
                        .map(|((_, at), (name, _))| format!("{at}:{name}"))
                        .collect();
                    words.join(" ")
                };
                assert_eq!(
                    (text("local").as_str(), text("shared").as_str()),
                    columns[at],
                    "L{at}"
                );
                for ((kind, slot), (_, stored)) in &slots {
                    for (element, value) in stored.iter().enumerate() {
                        let place = match *kind {
                            "local" => LOCAL + 3 * element as i64 + *slot as i64,
                            _ => SHARED + *slot as i64,
                        };
                        assert_eq!(
                            before.cell(place),
                            *value,
                            "L{at}: {kind} {slot} of {element}"
                        );
                        compared += 1;
                    }
                }
            }
            let Some(row) = self.row_of[cycle.instruction as usize] else {
                continue;
            };
            match self.rows[row].kind {
                Define(name, register) | LoadGlobal(name, register) => {
                    let after = self.run(table, c, cycle.number);
                    let value = after.variable(&format!("r{register}")).unwrap_or_default();
                    values.insert(name, value.to_vec());
                    named[register] = name;
                }
                LoadLocal(name, register) | LoadShared(name, register) => named[register] = name,
                StoreLocal(name, slot) => {
                    slots.insert(("local", slot), (name, values[name].clone()));
                }
                StoreShared(name, slot) => {
                    slots.insert(("shared", slot), (name, values[name].clone()));
                }
                Other => {}
            }
        }
        compared
    }
}
