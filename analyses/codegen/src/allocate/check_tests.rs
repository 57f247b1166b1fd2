//! Right allocations pass, of functions by hand and of C; the same with one change each are caught.

use super::align::is_slot_address;
use super::*;
use crate::allocate::{allocate, simplify};
use crate::machine;
use crate::mir::SpillCode;
use crate::mir::liveness::Liveness;
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Allocation, Block, Function, Name, Operand, Operation, Virtual};
use crate::target::ia64::emit::Options;
use crate::target::ia64::passes::Limits;
use crate::target::ia64::pipeline::{self, pipeline_each};
use crate::target::ia64::select::select;
use ir::Language;
use ir::lower::c_family::{LowerOptions, lower_unit};
use isa::ia64::{Branch, File, Ia64, Mnemonic, Reg};

type Violation = super::Violation<Reg>;
use syntax::c_family::{Dialect, parse_text};

/// A function before and after allocation.
struct Made {
    before: Function,
    after: Function,
    allocation: Allocation,
}

impl Made {
    fn of(before: Function, limits: &Limits) -> Made {
        let table = machine::named("itanium2").expect("a table");
        let epic = table.epic().expect("groups");
        let mut after = before.clone();
        let allocation = allocate(&mut after, epic, limits).expect("places");
        let made = Made {
            before,
            after,
            allocation,
        };
        assert_eq!(made.check(), Ok(()));
        made
    }
    fn check(&self) -> Result<(), Violation> {
        check(&self.before, &self.after, &self.allocation)
    }
    fn place(&mut self, register: Virtual) -> &mut Reg {
        &mut self.allocation.registers[register.0 as usize]
    }
    /// The verdict where these operations of a block, from one on, are others.
    fn with(
        &self,
        block: usize,
        at: std::ops::Range<usize>,
        others: &[Operation],
    ) -> Result<(), Violation> {
        let mut after = self.after.clone();
        let operations = &mut after.blocks[block].operations;
        operations.splice(at, others.iter().cloned());
        check(&self.before, &after, &self.allocation)
    }
    /// Block and number of every address of a spill slot, and of the access through it.
    fn accesses(&self, loads: bool) -> Vec<(usize, usize, usize)> {
        let mut out = Vec::new();
        for (number, block) in self.after.blocks.iter().enumerate() {
            let operations = &block.operations;
            for at in (0..operations.len()).filter(|&at| is_slot_address(&operations[at])) {
                let access = |it: &&Operation| {
                    Ia64::spill_code(it).is_some_and(|it| {
                        matches!(it, SpillCode::Load { .. } | SpillCode::Store { .. })
                    })
                };
                let access = operations[at..].iter().position(|it| access(&it));
                let access = at + access.expect("an access behind its address");
                let is_load = !matches!(operations[access].targets[0], Operand::Address(_));
                if is_load == loads {
                    out.push((number, at, access));
                }
            }
        }
        out
    }
}

fn of(
    mnemonic: Mnemonic,
    targets: impl Into<Vec<Operand>>,
    sources: impl Into<Vec<Operand>>,
) -> Operation {
    Operation::plain(mnemonic, targets.into(), sources.into())
}

fn under(predicate: Virtual, operation: Operation) -> Operation {
    Operation {
        predicate: Some(predicate),
        ..operation
    }
}

fn returns(value: Virtual) -> [Operation; 2] {
    [
        of(op!("mov"), [Reg::general(8).into()], [value.into()]),
        of(op!("br.ret.sptk.many"), [], [Reg::branch(0).into()]),
    ]
}

fn jump(block: u32) -> Operation {
    of(op!("br.cond.sptk"), [], [Operand::Block(block)])
}

/// Blocks of operations on registers of these files, the first of which are parameters.
fn function(files: &[File], parameters: u32, blocks: Vec<Vec<Operation>>) -> Function {
    let block = |operations| Block {
        operations,
        weight: 1.0,
        cycles: Vec::new(),
        rounds: None,
    };
    Function {
        registers: files.to_vec(),
        parameters: (0..parameters).map(Virtual).collect(),
        blocks: blocks.into_iter().map(block).collect(),
        ..Function::default()
    }
}

const NONE: Limits = Limits {
    general: 0,
    float: 0,
    predicate: 0,
};
const FEW: Limits = Limits {
    general: 3,
    float: 2,
    predicate: 2,
};

fn lost(operation: u32, register: u32, expected: Reg) -> Result<(), Violation> {
    Err(Violation::Lost {
        block: 0,
        operation,
        register: Virtual(register),
        expected: Location::Register(expected),
    })
}

/// `v2 = v0 + v1; v3 = v2 + v0`
fn sums() -> Function {
    let [a, b, c, d] = [0, 1, 2, 3].map(Virtual);
    let mut operations = vec![
        of(op!("add"), [c.into()], [a.into(), b.into()]),
        of(op!("add"), [d.into()], [c.into(), a.into()]),
    ];
    operations.extend(returns(d));
    function(&[File::General; 4], 2, vec![operations])
}

#[test]
fn two_that_are_live_at_once_have_two_registers() {
    let mut made = Made::of(sums(), &Limits::default());
    let shared = *made.place(Virtual(0));
    *made.place(Virtual(2)) = shared;
    assert_eq!(made.check(), lost(1, 0, shared));
}

#[test]
fn registers_are_of_their_file_and_no_others_than_may_be_given() {
    for given in [
        Reg::general(4),
        Reg::general(12),
        Reg::general(1),
        Reg::float(9),
    ] {
        let mut made = Made::of(sums(), &Limits::default());
        *made.place(Virtual(2)) = given;
        let register = Virtual(2);
        assert_eq!(made.check(), Err(Violation::Given { register, given }));
    }
}

#[test]
fn a_call_destroys_scratch_registers_and_reads_its_arguments() {
    let [a, argument, b] = [0, 1, 2].map(Virtual);
    let link = Operand::from(Reg::branch(0));
    let mut operations = vec![
        of(op!("mov"), [argument.into()], [a.into()]),
        of(op!("mov"), [Reg::float(8).into()], [Reg::float(1).into()]),
        of(
            op!("br.call.sptk.many"),
            [link],
            [Operand::Symbol("f".into())],
        ),
        of(op!("add"), [b.into()], [a.into(), Reg::general(8).into()]),
    ];
    operations.extend(returns(b));
    let mut before = function(&[File::General; 3], 1, vec![operations]);
    (before.outputs, before.calls) = (vec![argument], true);
    let mut made = Made::of(before, &Limits::default());
    // Each of these writes stands just in front of the call.
    for (register, fault) in [
        (*made.place(argument), lost(2, 1, *made.place(argument))),
        (
            Reg::float(8),
            Err(Violation::Overwritten {
                block: 0,
                operation: 2,
                register: Reg::float(8),
            }),
        ),
    ] {
        let zero = match register.file {
            File::Float => Reg::float(0),
            _ => Reg::R0,
        };
        let operations = &made.after.blocks[0].operations;
        let is_call = |it: &Operation| it.branch() == Some(Branch::Call);
        let call = operations.iter().position(is_call).expect("the call");
        let write = of(op!("mov"), [register.into()], [zero.into()]);
        assert_eq!(made.with(0, call..call, &[write]), fault);
    }
    let scratch = Reg::general(14);
    let arrives = of(op!("mov"), [scratch.into()], [Reg::general(32).into()]);
    made.allocation.arrivals = vec![arrives];
    *made.place(a) = scratch;
    assert_eq!(made.check(), lost(3, 0, scratch));
}

#[test]
fn results_and_the_caller_s_registers_are_there_at_a_return() {
    let made = Made::of(sums(), &Limits::default());
    for register in [Reg::general(8), Reg::general(4), Reg::general(12)] {
        let write = of(op!("movl"), [register.into()], [7.into()]);
        let (block, operation) = (0, 3);
        let fault = Violation::Overwritten {
            block,
            operation,
            register,
        };
        assert_eq!(made.with(0, 3..3, &[write]), Err(fault));
    }
}

#[test]
fn a_value_is_lost_where_one_of_two_paths_overwrites_it() {
    let [a, b, p] = [0, 1, 2].map(Virtual);
    let compare = [Operand::from(p), Reg::P0.into()];
    let branch = under(p, jump(2));
    let zero = Operand::from(Reg::R0);
    let blocks = vec![
        vec![of(op!("cmp.eq"), compare, [zero, b.into()]), branch],
        Vec::new(),
        returns(a).to_vec(),
    ];
    let files = [File::General, File::General, File::Predicate];
    let mut made = Made::of(function(&files, 2, blocks), &Limits::default());
    let register = *made.place(a);
    let write = of(op!("mov"), [register.into()], [Reg::R0.into()]);
    let fault = Violation::Lost {
        block: 2,
        operation: 0,
        register: a,
        expected: Location::Register(register),
    };
    assert_eq!(made.with(1, 0..0, &[write]), Err(fault));
}

#[test]
fn accesses_to_spill_slots_are_all_there_and_to_the_right_ones() {
    let made = Made::of(sums(), &NONE);
    let (loads, stores) = (made.accesses(true), made.accesses(false));
    assert!(loads.len() >= 4 && stores.len() >= 2, "{:?}", made.after);
    let is_lost = |verdict| matches!(verdict, Err(Violation::Lost { .. }));
    for &(block, address, access) in loads.iter().chain(&stores) {
        let right = &made.after.blocks[block].operations[address];
        for wrong in [0, 8, 16, 24].map(FrameOffset::Spill) {
            let mut other = right.clone();
            other.sources[0] = Operand::Frame(wrong);
            if other != *right {
                let verdict = made.with(block, address..address + 1, &[other]);
                assert!(verdict.is_err(), "{address}: {wrong}");
            }
        }
        // Without its access, and without its address.
        let verdict = made.with(block, access..access + 1, &[]);
        let load = loads.contains(&(block, address, access));
        let again = made.after.blocks[block].operations[..address].last();
        let stored = again.is_some_and(|it| {
            Ia64::spill_code(it)
                .is_some_and(|it| matches!(it, SpillCode::Load { .. } | SpillCode::Store { .. }))
                && !it.targets.is_empty()
        });
        assert!(is_lost(verdict) || (load && stored), "{access}");
        let verdict = made.with(block, address..access + 1, &[]);
        assert!(verdict.is_err() || (load && stored), "{access}");
    }
    let mut short = made.allocation.clone();
    short.spilled -= 16;
    let verdict = check(&made.before, &made.after, &short);
    assert!(
        matches!(verdict, Err(Violation::Slot { .. })),
        "{verdict:?}"
    );
}

#[test]
fn a_write_under_a_predicate_needs_the_old_value_unless_that_is_read_under_it_alone() {
    let [a, b, c, p] = [0, 1, 2, 3].map(Virtual);
    let files = [File::General, File::General, File::General, File::Predicate];
    let compare = [Operand::from(p), Reg::P0.into()];
    let made_with = |read: Operation| {
        let mut operations = vec![
            of(op!("cmp.eq"), compare.clone(), [Reg::R0.into(), a.into()]),
            of(op!("mov"), [c.into()], [b.into()]),
            under(p, of(op!("add"), [a.into()], [b.into(), b.into()])),
            read,
        ];
        operations.extend(returns(c));
        Made::of(function(&files, 2, vec![operations]), &Limits::default())
    };
    let add = of(op!("add"), [c.into()], [a.into(), b.into()]);
    for (read, fault) in [(add.clone(), true), (under(p, add), false)] {
        let mut made = made_with(read);
        // The old value is read by the compare, and then it is gone.
        let register = *made.place(a);
        let write = of(op!("adds"), [register.into()], [1.into(), Reg::R0.into()]);
        let verdict = made.with(0, 1..1, &[write]);
        assert_eq!(verdict == lost(3, 0, register), fault, "{verdict:?}");
        assert_eq!(verdict == Ok(()), !fault, "{verdict:?}");
    }
}

#[test]
fn the_same_operations_are_there_in_their_order() {
    let made = Made::of(sums(), &Limits::default());
    let operations = made.after.blocks[0].operations.clone();
    let unaligned = |operation| {
        let block = 0;
        Err(Violation::Unaligned { block, operation })
    };
    assert_eq!(made.with(0, 1..2, &[]), unaligned(1));
    let swapped = [operations[1].clone(), operations[0].clone()];
    assert_eq!(made.with(0, 0..2, &swapped), unaligned(1));
    assert_eq!(made.with(0, 1..1, &[jump(0)]), unaligned(4));
    let address = Operand::Address(Name::Fixed(Reg::general(2)));
    let store = of(op!("st8"), [address], [Reg::R0.into()]);
    let (block, operation) = (0, 1);
    let fault = Err(Violation::Store { block, operation });
    assert_eq!(made.with(0, 1..1, &[store]), fault);
}

/// The first function of a text of C on virtual registers.
fn compiled(text: &str, pipelined: bool) -> Function {
    let items = parse_text(text, Dialect::C);
    let all = lower_unit(&items, &LowerOptions::new(Language::C));
    let (_, lowered) = all.into_iter().next().expect("a function");
    let module = lowered.module;
    let source = &module.functions[0];
    let names: Vec<_> = module.functions.iter().map(|it| it.name.clone()).collect();
    let mut function =
        select(&module, source, (0, &names), &Options::default()).expect("operations");
    simplify(&mut function);
    if pipelined {
        let table = machine::named("itanium2").expect("a table");
        let epic = table.epic().expect("groups");
        let wanted = |_: &[ir::Loc]| {
            Some(pipeline::Request {
                options: pipeline::Options::default(),
                head: ir::Loc::NONE,
                unknown: None,
            })
        };
        let loops = pipeline_each(&mut function, epic, &wanted);
        assert!(loops.iter().any(|it| it.pipelined), "{loops:?}");
    }
    function
}

const POLYNOMIAL: &str = "int f(int *a, int n, int x, int y) {
    int s = x, t = y, u = x * y, v = x - y, w = x + y;
    for (int i = 0; i < n; i++) {
        if (a[i] > s) { s += a[i] * t; u ^= s; } else { t -= u; v += w; }
        a[i] = s + t + u + v + w + x * i;
    }
    return s + t * u - v + w;
}";
const CALLS: &str = "int g(int, int); double h(double);
int f(int a, int b, double c) {
    int s = g(a, b) + g(b, a);
    double d = h(c) * c;
    return s + a * b + (int)(d + c);
}";
const COPY: &str = "void f(int *restrict a, int *restrict b, int n) {
    for (int i = 0; i < n; i++) a[i] = b[i] * 3 + n;
}";

#[test]
fn registers_of_c_that_are_live_at_once_may_not_be_one() {
    let mut changed = 0;
    for (text, pipelined) in [(POLYNOMIAL, false), (CALLS, false), (COPY, true)] {
        let mut made = Made::of(compiled(text, pipelined), &Limits::default());
        let live = Liveness::of(&made.before);
        for block in 0..made.before.blocks.len() as u32 {
            let there: Vec<Virtual> = live.at_start(block).iter().collect();
            for (at, &each) in there.iter().enumerate() {
                for &other in &there[at + 1..] {
                    if made.before.file(each) != made.before.file(other) {
                        continue;
                    }
                    let (kept, given) = (*made.place(each), *made.place(other));
                    *made.place(each) = given;
                    assert!(made.check().is_err(), "{each:?} in {given}, with {other:?}");
                    *made.place(each) = kept;
                    changed += 1;
                }
            }
        }
    }
    assert!(changed > 50, "{changed}");
}

#[test]
fn slots_of_c_may_not_be_mistaken() {
    for text in [POLYNOMIAL, CALLS] {
        let mut faults = 0usize;
        let made = Made::of(compiled(text, false), &FEW);
        let stores = made.accesses(false);
        for &(block, address, access) in &stores {
            let verdict = made.with(block, address..access + 1, &[]);
            // A compare has two targets, one of which nobody may read.
            let is_predicate = access > address + 1;
            assert!(
                verdict.is_err() || is_predicate,
                "{block}, {access} is gone"
            );
        }
        let loads = made.accesses(true);
        for &(block, address, access) in &loads {
            let operations = &made.after.blocks[block].operations;
            for other in made.accesses(true) {
                let wrong = made.after.blocks[other.0].operations[other.1].sources[0].clone();
                let mut changed = operations[address].clone();
                if changed.sources[0] != wrong {
                    changed.sources[0] = wrong;
                    let verdict = made.with(block, address..address + 1, &[changed]);
                    assert!(
                        verdict.is_err(),
                        "a load at {block}, {access} of another slot"
                    );
                }
            }
            faults += usize::from(made.with(block, access..access + 1, &[]).is_err());
        }
        // The others load what their register holds already.
        assert!(2 * faults > loads.len(), "{faults} of {}", loads.len());
        assert!(!stores.is_empty());
    }
}

#[test]
fn a_block_of_thousands_of_operations_is_checked() {
    let count = 4000;
    let mut before = function(&[], 0, vec![Vec::new()]);
    let many: Vec<Virtual> = (0..count).map(|_| before.register(File::General)).collect();
    let mut operations: Vec<Operation> = Vec::new();
    for (at, &register) in many.iter().enumerate() {
        let number = Operand::Number(at as i64);
        operations.push(of(op!("mov"), [register.into()], [number]));
    }
    let sum = before.register(File::General);
    operations.push(of(op!("mov"), [sum.into()], [Reg::R0.into()]));
    for &register in &many {
        let sources = [sum.into(), register.into()];
        operations.push(of(op!("add"), [sum.into()], sources));
    }
    operations.extend(returns(sum));
    before.blocks[0].operations = operations;
    let made = Made::of(before, &Limits::default());
    assert!(made.allocation.in_memory > 3000);
    // The last of those that are loaded from memory.
    let (block, address, access) = *made.accesses(true).last().expect("a load");
    let verdict = made.with(block, address..access + 1, &[]);
    assert!(
        matches!(verdict, Err(Violation::Lost { .. })),
        "{verdict:?}"
    );
}
