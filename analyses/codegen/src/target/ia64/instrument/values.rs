//! Values of loads: the most frequent ones of each, in a table that a called routine keeps.
//!
//! ```text
//! ld8 r14 = [r32] ;;  mov r40 = ar.pfs  mov r41 = r14  movl r42 = table ;;  br.call b7 = __lockstep_values_0 ;;  mov ar.pfs = r40
//! ```
//!
//! A table holds how often the load executed, and `ENTRIES` values with their counts. A value in the table
//! counts, and changes places with the one above when it has become more frequent; a new one takes the last
//! place. Every `CLEARED` executions the lower half is forgotten, so that values that have become frequent
//! come in.
//!
//! The routine reads its arguments behind the outputs of the function that calls it, which stay as they are;
//! it changes no register but its own, and predicates come back as they were. It has another name for each
//! number of outputs. Its description leads an unwinder back over the branch register of the call; the value
//! of `ar.pfs`, in a function that saves it nowhere, meanwhile lies in a register that no directive names.
//!
//! Source: Calder, Feller and Eustace 1997, section 4.

use super::function::Function;
use super::insert::{Inserted, Inserter};
use super::place::{Order, Spot};
use super::refusal::Refusal;
use isa::ia64::{Class, File, Reg};

/// Values of one table.
pub const ENTRIES: usize = 4;
/// Counters of one table.
pub(super) const SIZE: u32 = 1 + 2 * ENTRIES as u32;
/// Executions after which the lower half is cleared; a power of two.
pub const CLEARED: u64 = 2048;

/// A load whose values are counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueSite {
    /// From 1.
    pub line: u32,
    pub register: u8,
    step: usize,
}

/// Loads of general registers that can't be NaT.
pub(super) fn sites(function: &Function) -> Vec<ValueSite> {
    let loads = function.codes().filter_map(|(step, code)| {
        let mnemonic = code
            .text
            .split_whitespace()
            .find(|word| word.starts_with("ld"))?;
        let is_plain = code.inst.class == Class::Load
            && matches!(
                mnemonic.split('.').next(),
                Some("ld1" | "ld2" | "ld4" | "ld8")
            )
            && !mnemonic
                .split('.')
                .any(|part| matches!(part, "s" | "sa" | "c" | "a" | "fill"));
        let target = code.inst.defs.iter().map(|def| def.register);
        let base = code.inst.memory.map(|memory| memory.base);
        let mut target =
            target.filter(|register| register.file == File::General && Some(*register) != base);
        let register = match target.next() {
            Some(register) => register,
            None => {
                base.filter(|_| code.inst.memory.is_some_and(|memory| memory.step.is_none()))?
            }
        };
        is_plain.then_some(ValueSite {
            line: code.line,
            register: register.number,
            step,
        })
    });
    loads.collect()
}

/// The branch register of the call.
fn link(function: &Function) -> Result<u8, Refusal> {
    let free = [7, 6]
        .into_iter()
        .find(|&number| function.named.binary_search(&Reg::branch(number)).is_err());
    free.ok_or(Refusal::NoBranchRegister)
}

/// Inserts the calls; returns the routine that they go to as the outputs in front of its arguments and its link.
///
/// # Errors
/// No branch register is free.
pub(super) fn insert(
    function: &Function,
    sites: &[ValueSite],
    into: &mut Inserter<'_>,
    first: u32,
) -> Result<(u32, u8), Refusal> {
    let link = link(function)?;
    // The last three outputs: what the call overwrites, the value and the table.
    let temps = &into.registers.temps;
    let [state, value, table] = temps[temps.len() - 3..] else {
        return Err(Refusal::NoValues);
    };
    let frame = function.frame.ok_or(Refusal::NoValues)?;
    let before = u32::from(value) - frame.first_output();
    for (number, site) in sites.iter().enumerate() {
        let spot = Spot {
            step: site.step + 1,
            order: Order::On,
        };
        let predicate = function
            .code(site.step)
            .map_or(0, |code| code.inst.predicate);
        let address = into.address(i64::from(first + SIZE * number as u32));
        let lines = vec![
            format!("mov r{state} = ar.pfs"),
            format!("mov r{value} = r{}", site.register),
            format!("movl r{table} = {address}"),
            format!("br.call.sptk.many b{link} = {}", name(before, link)),
            format!("mov ar.pfs = r{state}"),
        ];
        into.at(spot, predicate, lines);
    }
    debug_assert!(
        into.out
            .lines
            .iter()
            .all(|(_, line)| !matches!(line, Inserted::Code(line) if line.is_empty()))
    );
    Ok((before, link))
}

fn name(before: u32, link: u8) -> String {
    format!("__lockstep_values_{before}_b{link}")
}

/// The text of a routine.
pub(super) fn routine(before: u32, link: u8) -> String {
    let name = name(before, link);
    let first = 32 + before;
    let (value, entry) = (first, first + 1);
    let own = |number: u32| first + 2 + number;
    let (pfs, predicates, total, last, found, count, at, above) = (
        own(0),
        own(1),
        own(2),
        own(3),
        own(4),
        own(5),
        own(6),
        own(7),
    );
    let (other, more) = (own(8), own(9));
    let inputs = before + 2;
    let behind = 16 * (ENTRIES - 1);
    let half = 16 * (ENTRIES / 2) + 8;
    let bits = CLEARED.trailing_zeros();
    let mut clear = String::new();
    for entry in ENTRIES / 2..ENTRIES {
        let step = if entry + 1 < ENTRIES { ", 16" } else { "" };
        clear.push_str(&format!("(p9)\tst8 [r{at}] = r0{step} ;;\n"));
    }
    format!(
        "// The most frequent values of a load: the value in r{value}, its table in r{entry}, back over b{link}. Behind the executions
// stand {ENTRIES} values with their counts.
\t.text
\t.align 32
\t.proc {name}
{name}:
\t.prologue
\t.save ar.pfs, r{pfs}
\talloc r{pfs} = ar.pfs, {inputs}, 10, 0, 0
\t.altrp b{link}
\t.save pr, r{predicates}
\tmov r{predicates} = pr ;;
\t.body
\tld8 r{total} = [r{entry}] ;;
\tadds r{total} = 1, r{total} ;;
\tst8 [r{entry}] = r{total}, 8
\textr.u r{more} = r{total}, 0, {bits} ;;
\tcmp.eq p9, p0 = r0, r{more}
\tadds r{last} = {behind}, r{entry}
\tadds r{at} = {half}, r{entry}
\tmov r{other} = r{entry} ;;
{clear}.L{name}_next:
\tld8 r{found} = [r{entry}], 8 ;;
\tld8 r{count} = [r{entry}]
\tadds r{at} = -8, r{entry}
\tcmp.eq p6, p0 = r{found}, r{value} ;;
\tcmp.eq p7, p0 = r0, r{count}
\tcmp.eq p8, p0 = r{at}, r{last}
(p6)\tbr.cond.dptk.few .L{name}_there ;;
(p7)\tbr.cond.dpnt.few .L{name}_take
(p8)\tbr.cond.dpnt.few .L{name}_take ;;
\tadds r{entry} = 8, r{entry}
\tbr.cond.sptk.few .L{name}_next ;;
.L{name}_take:
\tst8 [r{at}] = r{value}
\tmov r{count} = 0 ;;
.L{name}_there:
\tadds r{count} = 1, r{count}
\tcmp.eq p6, p0 = r{at}, r{other}
\tadds r{above} = -8, r{at} ;;
\tst8 [r{entry}] = r{count}
(p6)\tbr.cond.dptk.few .L{name}_back ;;
\tld8 r{more} = [r{above}] ;;
\tcmp.geu p6, p0 = r{more}, r{count}
(p6)\tbr.cond.dptk.few .L{name}_back ;;
\tst8 [r{above}] = r{count}, -8
\tst8 [r{entry}] = r{more} ;;
\tld8 r{found} = [r{above}] ;;
\tst8 [r{at}] = r{found} ;;
\tst8 [r{above}] = r{value} ;;
.L{name}_back:
\tmov pr = r{predicates}, -1 ;;
\tbr.ret.sptk.many b{link} ;;
\t.endp {name}
"
    )
}
