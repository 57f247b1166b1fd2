//! Allocation of PTX by the paper's linear scan and by ours: one kernel of so many instructions, in loops and straight, with more
//! values live than there are registers.
//!
//! `cargo bench -p lockstep-codegen --bench allocate`; 10,000 instructions are to take 50 ms at most, and three times as many
//! three times as long.

#[path = "../tests/support/fitting.rs"]
mod fitting;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fitting::functions;
use lockstep_codegen::target::ptx::machine::fit::{Allocator, Budget, Scheduling};
use std::fmt::Write;
use std::hint::black_box;

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A kernel of about so many instructions: parts of a hundred, of which each second one is a loop. Each part loads values, folds
/// them, reads some of the parts before it, and leaves one to those behind it.
fn kernel(instructions: u32) -> String {
    let mut out = String::from(
        ".version 8.0\n.target sm_80\n.address_size 64\n\
         .visible .entry k(.param .u64 from, .param .u64 to, .param .u32 n)\n{\n",
    );
    let parts = instructions.div_ceil(100);
    let _ = writeln!(out, ".reg .pred %p<{}>;", parts + 1);
    let _ = writeln!(out, ".reg .b32 %r<{}>;", 100 * parts + 100);
    out.push_str(
        ".reg .b64 %rd<9>;\nld.param.u64 %rd1, [from];\nld.param.u64 %rd2, [to];\n\
         ld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\nmul.wide.u32 %rd3, %r2, 4;\n\
         add.s64 %rd1, %rd1, %rd3;\nadd.s64 %rd2, %rd2, %rd3;\n",
    );
    for part in 0..parts {
        let first = 100 * part + 10;
        let own = |number: u32| first + number;
        let loops = part % 2 == 1;
        let (count, sum) = (own(80), own(81));
        let _ = writeln!(out, "mov.u32 %r{count}, 0;\nmov.u32 %r{sum}, {part};");
        if loops {
            let _ = writeln!(out, "$L{part}:");
        }
        for number in 0..20 {
            let _ = writeln!(
                out,
                "ld.global.u32 %r{}, [%rd1+{}];",
                own(number),
                4 * number + 160 * (part % 7)
            );
        }
        for number in 0..60 {
            let (a, b) = (own(number % 20), own((number * 7 + 3) % 20));
            let _ = writeln!(out, "mad.lo.s32 %r{sum}, %r{a}, %r{b}, %r{sum};");
        }
        for number in 0..8 {
            // A sum of an earlier part; the first ones read the number of the thread.
            let back = part
                .checked_sub(1 + 2 * number)
                .map_or(2, |back| 100 * back + 91);
            let _ = writeln!(out, "xor.b32 %r{sum}, %r{sum}, %r{back};");
        }
        if loops {
            let _ = writeln!(
                out,
                "add.s32 %r{count}, %r{count}, 1;\nsetp.lt.s32 %p{part}, %r{count}, %r1;\n@%p{part} bra $L{part};"
            );
        }
        if part % 5 == 4 {
            let _ = writeln!(out, "st.global.u32 [%rd2+{}], %r{sum};", 4 * part);
        }
    }
    out.push_str("ret;\n}\n");
    out
}

fn allocation(c: &mut Criterion) {
    let mut group = c.benchmark_group("allocate_ptx");
    group.sample_size(10);
    for instructions in [1_000, 10_000, 30_000] {
        let text = kernel(instructions);
        let all = functions(&text);
        let (place, function) = &all[0];
        let own = &text[place.clone()];
        group.throughput(Throughput::Elements(instructions.into()));
        for allocator in [Allocator::Linear, Allocator::Affine, Allocator::Lockstep] {
            for words in [16, 32] {
                let budget = Budget {
                    words,
                    predicates: 7,
                    lanes: 32,
                    warps: 8,
                    whole_warps: false,
                    shared_bytes: 4096,
                    scheduling: Scheduling::Waiting,
                };
                let name = format!("{allocator:?}, {words} words");
                group.bench_with_input(
                    BenchmarkId::new(name, instructions),
                    &budget,
                    |b, budget| {
                        b.iter(|| {
                            function
                                .fitted(black_box(own), allocator, budget)
                                .expect("it fits")
                        });
                    },
                );
            }
        }
    }
    group.finish();
}

criterion_group!(benches, allocation);
criterion_main!(benches);
