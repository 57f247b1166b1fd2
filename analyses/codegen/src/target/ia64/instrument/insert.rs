//! Insertions into a function: instructions at spots, and branches that go another way.

use super::function::Function;
use super::place::{EdgePlace, Order, Places, Spot};
use super::refusal::Refusal;
use super::registers::{Registers, Saved, victim};
use crate::machine::epic::Epic;
use crate::target::ia64::listing::listing;
use std::collections::BTreeMap;

/// The name of the counters.
pub const COUNTERS: &str = "__lockstep_counters";

/// A line that is inserted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Inserted {
    Label(String),
    /// An instruction, a group of its own until it is packed.
    Code(String),
}

/// The changes to a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Insertions {
    /// In order.
    pub lines: Vec<(Spot, Inserted)>,
    /// The label that the branch of a step goes to.
    pub retargeted: BTreeMap<usize, String>,
    /// Steps that are left out.
    pub removed: Vec<usize>,
    /// The new text of a step.
    pub rewritten: BTreeMap<usize, String>,
}

/// Collects insertions.
pub(super) struct Inserter<'a> {
    pub places: &'a Places<'a>,
    pub registers: &'a Registers,
    /// True if one instruction adds to memory at less cost than three.
    pub fetches: bool,
    pub out: Insertions,
    /// The lines of the way around each block.
    around: BTreeMap<usize, Vec<Inserted>>,
    next: usize,
    labels: u32,
}

impl<'a> Inserter<'a> {
    pub(super) fn new(places: &'a Places<'a>, registers: &'a Registers, fetches: bool) -> Self {
        Inserter {
            places,
            registers,
            fetches,
            out: Insertions::default(),
            around: BTreeMap::new(),
            next: 0,
            labels: 0,
        }
    }

    fn function(&self) -> &'a Function {
        self.places.function
    }

    /// A label that the function does not have yet.
    fn label(&mut self) -> String {
        self.labels += 1;
        format!(".Lockstep_{}_{}", self.function().name, self.labels)
    }

    /// A register that a probe may use, another each time.
    pub(super) fn temp(&mut self) -> u8 {
        let temps = &self.registers.temps;
        debug_assert!(!temps.is_empty(), "a plan without free registers saves one");
        let found = temps[self.next % temps.len()];
        self.next += 1;
        found
    }

    pub(super) fn at(&mut self, spot: Spot, predicate: u8, lines: Vec<String>) {
        for line in lines {
            let line = match predicate {
                0 => line,
                predicate => format!("(p{predicate}) {line}"),
            };
            self.out.lines.push((spot, Inserted::Code(line)));
        }
    }

    /// Inserts lines on an edge.
    pub(super) fn on(&mut self, place: EdgePlace, lines: Vec<String>) {
        match place {
            EdgePlace::Spot(spot, predicate) => self.at(spot, predicate, lines),
            EdgePlace::Around(block) => {
                let way = self.around.entry(block).or_default();
                way.extend(lines.into_iter().map(Inserted::Code));
            }
        }
    }

    /// An address among the counters.
    pub(super) fn address(&self, counter: i64) -> String {
        match counter {
            0 => COUNTERS.to_owned(),
            1.. => format!("{COUNTERS}+{}", counter.wrapping_mul(8)),
            _ => format!("{COUNTERS}-{}", counter.wrapping_mul(8).unsigned_abs()),
        }
    }

    /// One more in the counter at the address in a register.
    pub(super) fn count_at(&mut self, address: u8, lines: &mut Vec<String>) {
        if self.fetches || self.registers.temps.len() < 2 {
            lines.push(format!("fetchadd8.rel r{address} = [r{address}], 1"));
            return;
        }
        let mut value = self.temp();
        if value == address {
            value = self.temp();
        }
        lines.push(format!("ld8 r{value} = [r{address}]"));
        lines.push(format!("adds r{value} = 1, r{value}"));
        lines.push(format!("st8 [r{address}] = r{value}"));
    }

    /// One more in a counter in memory, at a place of this block.
    pub(super) fn count(&mut self, counter: u32, block: usize) -> Vec<String> {
        let name = self.address(i64::from(counter));
        let Some(Saved { float, spilled }) = self.registers.saved else {
            let address = self.temp();
            let mut lines = vec![format!("movl r{address} = {name}")];
            self.count_at(address, &mut lines);
            return lines;
        };
        let own = victim(self.function(), block);
        let mut lines = vec![
            format!("setf.sig f{float} = r{own}"),
            format!("movl r{own} = {name}"),
            format!("fetchadd8.rel r{own} = [r{own}], 1"),
            format!("getf.sig r{own} = f{float}"),
        ];
        if spilled {
            lines.insert(0, format!("stf.spill [r12] = f{float}"));
            lines.push(format!("ldf.fill f{float} = [r12]"));
        }
        lines
    }

    /// The insertions in order, with the ways around of branches.
    pub(super) fn finish(mut self) -> Insertions {
        for (block, lines) in std::mem::take(&mut self.around) {
            let Some(step) = self.function().blocks[block].branch else {
                continue;
            };
            let Some(target) = self
                .function()
                .code(step)
                .and_then(|code| code.target.clone())
            else {
                continue;
            };
            let (way, on) = (self.label(), self.label());
            let spot = Spot {
                step: step + 1,
                order: Order::Around,
            };
            let mut all = vec![
                Inserted::Code(format!("br.cond.sptk.few {on}")),
                Inserted::Label(way.clone()),
            ];
            all.extend(lines);
            all.push(Inserted::Code(format!("br.cond.sptk.few {target}")));
            all.push(Inserted::Label(on));
            self.out
                .lines
                .extend(all.into_iter().map(|line| (spot, line)));
            self.out.retargeted.insert(step, way);
        }
        self.out.lines.sort_by_key(|(spot, _)| *spot);
        self.out
    }

    /// Calls in front of other instructions of their bundle, which a return from the call would skip: the
    /// call goes behind them.
    ///
    /// # Errors
    /// One of them is a branch.
    pub(super) fn shadows(&mut self) -> Result<(), Refusal> {
        use isa::ia64::{Branch, Class};
        let codes: Vec<usize> = self.function().codes().map(|(step, _)| step).collect();
        let mut at = 0;
        while at < codes.len() {
            let step = codes[at];
            at += 1;
            let Some(call) = self.function().code(step) else {
                continue;
            };
            if call.inst.branch != Some(Branch::Call) || call.bundle.is_none() {
                continue;
            }
            let shadow: Vec<usize> = codes[at..]
                .iter()
                .copied()
                .take_while(|&next| {
                    self.function()
                        .code(next)
                        .is_some_and(|code| code.bundle == call.bundle)
                })
                .collect();
            let filled = shadow.iter().filter_map(|&step| self.function().code(step));
            if filled.clone().all(|code| code.inst.class == Class::Nop) {
                continue;
            }
            for code in filled {
                if code.inst.branch.is_some() {
                    return Err(Refusal::BranchInShadow { line: code.line });
                }
            }
            if call.inst.predicate == 0 {
                // Nothing ever executes them.
                self.out.removed.extend(shadow);
                continue;
            }
            let (way, on) = (self.label(), self.label());
            let whole = call.text.trim_start();
            let plain = whole
                .split_once(')')
                .map_or(whole, |(_, rest)| rest.trim_start());
            let jump = format!("(p{}) br.cond.dptk.few {way}", call.inst.predicate);
            self.out.rewritten.insert(step, jump);
            let last = shadow.last().copied().unwrap_or(step);
            let spot = Spot {
                step: last + 1,
                order: Order::Shadow,
            };
            let all = [
                Inserted::Code(format!("br.cond.sptk.few {on}")),
                Inserted::Label(way),
                Inserted::Code(plain.to_owned()),
                Inserted::Label(on),
            ];
            self.out.lines.extend(all.map(|line| (spot, line)));
        }
        Ok(())
    }

    /// Moves of the instruction pointer become constants: the address of a label in front of their bundle.
    pub(super) fn pointers(&mut self) {
        use isa::ia64::Reg;
        let found: Vec<(usize, Option<u32>)> = self
            .function()
            .codes()
            .filter(|(_, code)| code.inst.branch.is_none() && code.inst.uses.contains(&Reg::IP))
            .map(|(step, code)| (step, code.bundle))
            .collect();
        for (step, bundle) in found {
            let first = self
                .function()
                .codes()
                .find(|(_, code)| bundle.is_some() && code.bundle == bundle);
            let first = first.map_or(step, |(first, _)| first);
            let label = self.label();
            let Some(code) = self.function().code(step) else {
                continue;
            };
            let Some((target, _)) = code.text.split_once('=') else {
                continue;
            };
            let target = target.replacen("mov", "movl", 1);
            self.out
                .rewritten
                .insert(step, format!("{target}= {label}"));
            let spot = Spot {
                step: first,
                order: Order::On,
            };
            self.out.lines.push((spot, Inserted::Label(label)));
        }
    }
}

/// Returns true if the machine's table has an addition in memory take less time than a load, a sum and a store, or as
/// long in fewer instructions.
pub(super) fn fetches(machine: &Epic) -> bool {
    let cost = |text: &str| {
        let document = syntax::ia64::parse(text);
        let listed = listing(&document, text);
        let groups = listed.timing(machine);
        let last = groups.last().and_then(|block| block.last());
        (last.map_or(0, |group| group.cycle), listed.items.len())
    };
    let head = "\tmovl r14 = 1 ;;\n";
    let fetch = cost(&format!("{head}\tfetchadd8.rel r14 = [r14], 1 ;;\n"));
    let apart = cost(&format!(
        "{head}\tld8 r15 = [r14] ;;\n\tadds r15 = 1, r15 ;;\n\tst8 [r14] = r15 ;;\n"
    ));
    fetch <= apart
}
