#!/usr/bin/env python3
"""Measures latencies and rates of a GPU by small PTX kernels and prints them beside Lockstep's table of the machine; then
times kernels before and after versions on zero beside the share of zero warps from which Lockstep says that they pay.

    python3 device_latencies.py CASES OUT [--skip-versions] [--ptxas PTXAS --nvdisasm NVDISASM]

CASES has `machine.json` and `versions.json` of the Rust example beside this file; OUT gets `latencies.json` and
`versions.json`. With `--ptxas`
nothing is run: every kernel is assembled, and the machine instructions of one step are counted and shown.

*Latency*: a chain of dependent steps in one warp between two reads of `%clock64`, the least of several runs; chains of 64
and 192 steps, whose difference leaves out what stands around them. *Rate*: results a cycle and multiprocessor of 32 warps
with four independent chains each. Operands come from memory and differ between lanes, so that neither constant folding nor
the uniform datapath takes part; steps are such that neighbours do not merge into one instruction.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HEADER = ".version 7.8\n.target sm_90\n.address_size 64\n"
REGISTERS = (
    "\t.reg .pred %p<32>, %more, %never;\n\t.reg .b16 %h<32>;\n\t.reg .b32 %r<96>, %it, %low, %zero, %t<4>;\n"
    "\t.reg .b64 %rd<64>, %x, %y, %best, %out, %mem, %own;\n\t.reg .f32 %f<64>;\n\t.reg .f64 %fd<64>;\n"
)
# Operands of each lane: %r1..%r6 and %f1..%f6 from memory, and what is made of them.
PROLOGUE = """
\tld.param.u64 %out, [out];
\tld.param.u64 %mem, [mem];
\tmov.u32 %t0, %tid.x;
\tand.b32 %t1, %t0, 1023;
\tmul.wide.u32 %x, %t1, 64;
\tadd.s64 %x, %mem, %x;
\tld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%x];
\tld.global.v4.u32 {%r5, %r6, %r7, %zero}, [%x+16];
\tld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%x+32];
\tld.global.v4.f32 {%f5, %f6, %f7, %f8}, [%x+48];
\tcvt.u64.u32 %rd1, %r1;
\tcvt.u64.u32 %rd2, %r2;
\tcvt.u64.u32 %rd3, %r3;
\tcvt.u64.u32 %rd4, %r4;
\tmul.lo.s64 %rd2, %rd2, 0x100000001;
\tcvt.f64.f32 %fd1, %f1;
\tcvt.f64.f32 %fd2, %f2;
\tcvt.f64.f32 %fd3, %f3;
\tcvt.f64.f32 %fd4, %f4;
\tcvt.rn.f16.f32 %h1, %f1;
\tcvt.rn.f16.f32 %h2, %f2;
\tcvt.rn.f16.f32 %h3, %f3;
\tmov.b32 %r8, {%h1, %h1};
\tmov.b32 %r9, {%h2, %h2};
\tmov.b32 %r10, {%h3, %h3};
"""
# The chains: %r20.., %rd20.., %f20.., %fd20.. by number, and a second register of each from 30 on.
START = """
\tadd.u32 %r{a}, %r1, {c};
\tadd.u32 %r{b}, %r2, {c};
\tcvt.u64.u32 %rd{a}, %r{a};
\tcvt.u64.u32 %rd{b}, %r{b};
\tcvt.rn.f32.u32 %f{b}, %r{b};
\tadd.f32 %f{a}, %f1, %f{b};
\tcvt.f64.f32 %fd{a}, %f{a};
\tcvt.f64.f32 %fd{b}, %f{b};
\tsetp.gt.u32 %p{a}, %r{a}, %r6;
"""


class Bench:
    """A step of a chain, its text with {a} and {b} for the registers; `results` a step; the table's names."""

    def __init__(self, name, step, keep, results=1, latency=None, rate=None, expansion=None, setup="", top="", lanes=True, unit="results"):
        self.name, self.step, self.keep, self.results = name, step, keep, results
        self.latency, self.rate, self.expansion = latency, rate, expansion
        self.setup, self.top, self.lanes, self.unit = setup, top, lanes, unit


SHARED = ".shared .align 16 .b8 room[32768];\n"
# A word of each lane and chain that holds its own address, beside those of its neighbours; behind them a word for atomics.
SHARED_SETUP = (
    "\tmov.u64 %y, room;\n\tcvt.u32.u64 %t2, %y;\n\tmad.lo.u32 %t2, %t0, 4, %t2;\n\tadd.u32 %t3, %t2, 16384;\n\tst.shared.u32 [%t3], %zero;\n"
    + "".join(f"\tadd.u32 %r{20 + c}, %t2, {4096 * c};\n\tst.shared.u32 [%r{20 + c}], %r{20 + c};\n" for c in range(4))
    + "\tbar.sync 0;\n"
)
KEEP = {"r": "%r{a}", "rd": "%rd{a}", "f": "%f{a}", "fd": "%fd{a}"}

BENCHES = [
    # Three operands of which two alternate: neighbours have four, and do not merge.
    Bench("add.s32 (two an IADD3)", "add.s32 %r{a}, %r{a}, %r{b}; add.s32 %r{a}, %r{a}, %r3; add.s32 %r{b}, %r{b}, %r{a}; add.s32 %r{b}, %r{b}, %r4;", "r", 2, "latency.alu", "throughput.integer"),
    Bench("mul.lo.s32", "mul.lo.s32 %r{a}, %r{a}, %r{b}; mul.lo.s32 %r{b}, %r{b}, %r{a};", "r", 2, "latency.alu", "throughput.multiply"),
    Bench("mad.lo.s32", "mad.lo.s32 %r{a}, %r{a}, %r3, %r4;", "r", 1, "latency.alu", "throughput.multiply"),
    Bench("mul.hi.s32", "mul.hi.s32 %r{a}, %r{a}, %r3; mul.hi.s32 %r{a}, %r{a}, %r4;", "r", 2, None, "throughput.multiply"),
    Bench("lop3.b32", "lop3.b32 %r{a}, %r{a}, %r{b}, %r3, 0x96; lop3.b32 %r{b}, %r{b}, %r{a}, %r4, 0xe8;", "r", 2, "latency.alu", "throughput.logic"),
    Bench("shl.b32", "shl.b32 %r{a}, %r{a}, %r{b}; shr.u32 %r{b}, %r{b}, %r{a};", "r", 2, "latency.alu", "throughput.logic"),
    Bench("shf.l.wrap.b32", "shf.l.wrap.b32 %r{a}, %r{a}, %r{b}, %r3; shf.l.wrap.b32 %r{b}, %r{b}, %r{a}, %r4;", "r", 2, "latency.alu", "throughput.logic"),
    Bench("prmt.b32", "prmt.b32 %r{a}, %r{a}, %r{b}, %r3; prmt.b32 %r{b}, %r{b}, %r{a}, %r4;", "r", 2, "latency.alu", "throughput.logic"),
    Bench("setp.lt.s32 + selp", "setp.lt.s32 %p1, %r{a}, %r{b}; selp.b32 %r{a}, %r3, %r{a}, %p1; setp.gt.s32 %p2, %r{b}, %r{a}; selp.b32 %r{b}, %r4, %r{b}, %p2;", "r", 4, None, "throughput.compare"),
    Bench("min.s32, max.s32", "min.s32 %r{a}, %r{a}, %r{b}; max.s32 %r{b}, %r{b}, %r{a}; xor.b32 %r{a}, %r{a}, %r3;", "r", 3, None, "throughput.compare"),
    Bench("add.f32", "add.rn.f32 %f{a}, %f{a}, %f2;", "f", 1, "latency.alu", "throughput.float"),
    Bench("mul.f32", "mul.rn.f32 %f{a}, %f{a}, %f2;", "f", 1, "latency.alu", "throughput.float"),
    Bench("fma.rn.f32", "fma.rn.f32 %f{a}, %f{a}, %f2, %f3;", "f", 1, "latency.alu", "throughput.float"),
    Bench("min.f32, max.f32", "min.f32 %f{a}, %f{a}, %f{b}; max.f32 %f{b}, %f{b}, %f{a}; add.rn.f32 %f{a}, %f{a}, %f2;", "f", 3, None, "throughput.compare"),
    Bench("fma.rn.f16x2 (two results)", "fma.rn.f16x2 %r{a}, %r{a}, %r9, %r10;", "r", 1, "latency.alu", "throughput.half", None),
    Bench("add.f64", "add.rn.f64 %fd{a}, %fd{a}, %fd2;", "fd", 1, "latency.double", "throughput.double"),
    Bench("fma.rn.f64", "fma.rn.f64 %fd{a}, %fd{a}, %fd2, %fd3;", "fd", 1, "latency.double", "throughput.double"),
    # Without the addition two of them are none.
    Bench("rcp.approx.ftz.f32 + add", "rcp.approx.ftz.f32 %f{a}, %f{a}; add.rn.f32 %f{a}, %f{a}, %f2;", "f", 1, None, "throughput.special"),
    Bench("rsqrt.approx.ftz.f32", "rsqrt.approx.ftz.f32 %f{a}, %f{a};", "f", 1, "latency.special", "throughput.special"),
    Bench("sqrt.approx.ftz.f32", "sqrt.approx.ftz.f32 %f{a}, %f{a};", "f", 1, "latency.special", "throughput.special"),
    Bench("ex2.approx.ftz.f32", "ex2.approx.ftz.f32 %f{a}, %f{a};", "f", 1, "latency.special", "throughput.special"),
    Bench("lg2.approx.ftz.f32", "lg2.approx.ftz.f32 %f{a}, %f{a};", "f", 1, "latency.special", "throughput.special"),
    Bench("ex2.approx.f32", "ex2.approx.f32 %f{a}, %f{a};", "f", 1, None, None, "expansion.exponential"),
    Bench("lg2.approx.f32", "lg2.approx.f32 %f{a}, %f{a};", "f", 1, None, None, "expansion.exponential"),
    Bench("rcp.approx.f32 + add", "rcp.approx.f32 %f{a}, %f{a}; add.rn.f32 %f{a}, %f{a}, %f2;", "f"),
    Bench("rsqrt.approx.f32", "rsqrt.approx.f32 %f{a}, %f{a};", "f"),
    Bench("sin.approx.f32", "sin.approx.f32 %f{a}, %f{a};", "f", 1, None, None, "expansion.sine"),
    Bench("cos.approx.f32", "cos.approx.f32 %f{a}, %f{a};", "f", 1, None, None, "expansion.sine"),
    Bench("tanh.approx.f32", "tanh.approx.f32 %f{a}, %f{a};", "f", 1, "latency.special", "throughput.special"),
    Bench("div.approx.f32", "div.approx.f32 %f{a}, %f2, %f{a};", "f"),
    Bench("div.rn.f32", "div.rn.f32 %f{a}, %f2, %f{a};", "f", 1, None, None, "expansion.divide_float"),
    Bench("sqrt.rn.f32", "sqrt.rn.f32 %f{a}, %f{a};", "f", 1, None, None, "expansion.root_float"),
    Bench("div.rn.f64", "div.rn.f64 %fd{a}, %fd2, %fd{a};", "fd", 1, None, None, "expansion.divide_double"),
    Bench("sqrt.rn.f64", "sqrt.rn.f64 %fd{a}, %fd{a};", "fd", 1, None, None, "expansion.root_double"),
    Bench("div.u32", "div.u32 %r{a}, %r5, %r{a}; or.b32 %r{a}, %r{a}, %r3;", "r", 1, None, None, "expansion.divide_unsigned"),
    Bench("div.s32", "div.s32 %r{a}, %r5, %r{a}; or.b32 %r{a}, %r{a}, %r3;", "r", 1, None, None, "expansion.divide_signed"),
    Bench("div.u64", "div.u64 %rd{a}, %rd2, %rd{a}; or.b64 %rd{a}, %rd{a}, %rd3;", "rd", 1, None, None, "expansion.divide64"),
    Bench("add.s64", "add.s64 %rd{a}, %rd{a}, %rd{b}; xor.b64 %rd{b}, %rd{b}, %rd{a};", "rd", 2, None, None, "expansion.add64"),
    Bench("mul.lo.s64", "mul.lo.s64 %rd{a}, %rd{a}, %rd{b}; mul.lo.s64 %rd{b}, %rd{b}, %rd{a};", "rd", 2, None, None, "expansion.multiply64"),
    Bench("shl.b64", "shl.b64 %rd{a}, %rd{a}, %r{b}; cvt.u32.u64 %r{b}, %rd{a};", "rd", 1, None, None, "expansion.shift64"),
    Bench("bfe.u32", "bfe.u32 %r{a}, %r5, %r{a}, %r4; xor.b32 %r{a}, %r{a}, %r3;", "r", 1, None, None, "expansion.bit_field"),
    Bench("cvt.rn.f32.s32 + cvt.rzi.s32.f32", "cvt.rn.f32.s32 %f{a}, %r{a}; cvt.rzi.s32.f32 %r{a}, %f{a};", "r", 2, None, "throughput.convert"),
    Bench("cvt.rn.f32.s32", "cvt.rn.f32.s32 %f{a}, %r{a}; mov.b32 %r{a}, %f{a};", "r", 1, None, "throughput.convert"),
    Bench("cvt.rzi.s32.f32", "cvt.rzi.s32.f32 %r{a}, %f{a}; mov.b32 %f{a}, %r{a};", "r", 1, None, "throughput.convert"),
    Bench("cvt.rn.f32.f64 + cvt.f64.f32", "cvt.rn.f32.f64 %f{a}, %fd{a}; cvt.f64.f32 %fd{a}, %f{a};", "fd", 2, None, "throughput.convert_wide"),
    Bench("cvt.rn.f64.s32 + cvt.rzi.s32.f64", "cvt.rn.f64.s32 %fd{a}, %r{a}; cvt.rzi.s32.f64 %r{a}, %fd{a};", "r", 2, None, "throughput.convert_wide"),
    Bench("cvt.rn.f16.f32 + cvt.f32.f16", "cvt.rn.f16.f32 %h{c}, %f{a}; cvt.f32.f16 %f{a}, %h{c};", "f", 2, None, "throughput.convert"),
    Bench("cvt.rmi.f32.f32 + add", "cvt.rmi.f32.f32 %f{a}, %f{a}; add.rn.f32 %f{a}, %f{a}, %f2;", "f", 1, None, "throughput.convert"),
    Bench("popc.b32", "popc.b32 %r{a}, %r{a}; xor.b32 %r{a}, %r{a}, %r3;", "r", 1, None, "throughput.bits"),
    Bench("clz.b32", "clz.b32 %r{a}, %r{a}; xor.b32 %r{a}, %r{a}, %r3;", "r", 1, None, "throughput.bits"),
    Bench("brev.b32", "brev.b32 %r{a}, %r{a}; add.s32 %r{a}, %r{a}, %r3;", "r", 1, None, "throughput.bits"),
    Bench("shfl.sync.bfly", "shfl.sync.bfly.b32 %r{a}, %r{a}, 5, 31, -1;", "r", 1, "latency.shuffle", "throughput.shuffle"),
    Bench("shfl.sync.idx", "shfl.sync.idx.b32 %r{a}, %r{a}, %r{a}, 31, -1;", "r", 1, "latency.shuffle", "throughput.shuffle"),
    Bench("vote.sync.ballot + setp", "setp.gt.u32 %p1, %r{a}, %r6; vote.sync.ballot.b32 %r{a}, %p1, -1;", "r", 1, None, "throughput.vote"),
    Bench("vote.sync.all + selp + setp", "setp.gt.u32 %p1, %r{a}, %r6; vote.sync.all.pred %p2, %p1, -1; selp.b32 %r{a}, %r3, %r4, %p2;", "r", 1, None, "throughput.vote"),
    Bench("match.any.sync", "match.any.sync.b32 %r{a}, %r{a}, -1;", "r"),
    Bench("redux.sync.add", "redux.sync.add.u32 %r{a}, %r{a}, -1; add.s32 %r{a}, %r{a}, %t0;", "r"),
    Bench("ld.shared.u32", "ld.shared.u32 %r{a}, [%r{a}];", "r", 1, "latency.shared", "throughput.load_store", None, SHARED_SETUP, SHARED),
    Bench("atom.shared.add, own words", "atom.shared.add.u32 %r{a}, [%t3], %r{a};", "r", 1, None, None, None, SHARED_SETUP, SHARED),
    Bench("atom.shared.add, one word", "atom.shared.add.u32 %r{a}, [room], %r{a};", "r", 1, None, None, None, SHARED_SETUP, SHARED),
    Bench("atom.global.add, own words", "atom.global.add.u32 %r{a}, [%own], %r{a};", "r", 1, None, None, None, "\tmul.wide.u32 %own, %t0, 4;\n\tadd.s64 %own, %own, %mem;\n\tadd.s64 %own, %own, 131072;\n"),
    Bench("atom.global.add, one word", "atom.global.add.u32 %r{a}, [%mem+131072], %r{a};", "r"),
    Bench("call of a function by its address", "{ .param .b32 pa; .param .b32 pr; st.param.b32 [pa], %r{a}; call (pr), %rd50, (pa), proto; ld.param.b32 %r{a}, [pr]; }", "r", 1, "charge.call", None, None, "\tmov.u64 %rd50, other;\n\tcvt.u64.u32 %rd51, %zero;\n\tadd.s64 %rd50, %rd50, %rd51;\n\tproto: .callprototype (.param .b32 _) _ (.param .b32 _);\n", ".func (.param .b32 pr) other(.param .b32 pa)\n{\n\t.reg .b32 %a;\n\tld.param.b32 %a, [pa];\n\tmad.lo.s32 %a, %a, 5, 3;\n\tst.param.b32 [pr], %a;\n\tret;\n}\n"),
    Bench("membar.gl", "membar.gl; add.s32 %r{a}, %r{a}, %r3;", "r"),
    Bench("branch that divides the warp, 12 fma a side", None, "f", 1),
    Bench("branch that does not, 12 fma", None, "f", 1),
]


def divided(label, wide, a):
    """A branch with a side for the even lanes and one for the odd, or with the same side for all."""
    predicate = "%p30" if wide else "%p31"
    lines = [f"@{predicate} bra $E{label}"]
    lines += [f"fma.rn.f32 %f{a}, %f{a}, %f2, %f3"] * 12 + [f"bra.uni $J{label}", f"$E{label}:"]
    lines += [f"fma.rn.f32 %f{a}, %f{a}, %f4, %f5"] * 12 + [f"$J{label}:"]
    return lines


LABEL = 0


def step(bench, c):
    global LABEL
    a, b = 20 + c, 30 + c
    if bench.step is None:
        LABEL += 1
        lines = divided(LABEL, "divides" in bench.name, a)
        return "".join(f"{line}\n" if line.endswith(":") else f"\t{line};\n" for line in lines)
    # Braces of vectors and scopes stay as they are.
    text = bench.step.replace("{a}", str(a)).replace("{b}", str(b)).replace("{c}", str(16 + c))
    return "\t" + text + "\n"


def starts(chains):
    text = "\tand.b32 %t1, %t0, 1;\n\tsetp.eq.u32 %p30, %t1, 0;\n\tsetp.eq.u32 %p31, %zero, 0;\n"
    return text + "".join(START.replace("{a}", str(20 + c)).replace("{b}", str(30 + c)).replace("{c}", str(c)) for c in range(chains))


def as_word(bench, c, to):
    """The chain's value as a word."""
    register = KEEP[bench.keep].replace("{a}", str(20 + c))
    return {
        "r": f"\tmov.b32 {to}, {register};\n",
        "rd": f"\tmov.b64 {{%r90, %r91}}, {register};\n\txor.b32 {to}, %r90, %r91;\n",
        "f": f"\tmov.b32 {to}, {register};\n",
        "fd": f"\tmov.b64 %x, {register};\n\tcvt.u32.u64 {to}, %x;\n",
    }[bench.keep]


ENTRY = ".visible .entry k(.param .u64 out, .param .u64 mem)\n"


def latency_kernel(bench, steps):
    chain = "".join(step(bench, 0) for _ in range(steps))
    return (
        HEADER + bench.top + ENTRY + "{\n" + REGISTERS + PROLOGUE + starts(1) + bench.setup
        + "\tmov.u32 %it, 0;\n\tmov.u64 %best, 0x7fffffff;\n$Again:\n\t.pragma \"nounroll\";\n\tbar.warp.sync -1;\n"
        # The chain depends on the first clock, and a branch on its end stands before the second.
        + "\tmov.u64 %x, %clock64;\n\tcvt.u32.u64 %low, %x;\n\tand.b32 %low, %low, %zero;\n\tadd.u32 %r20, %r20, %low;\n"
        + "\tcvt.u64.u32 %rd60, %low;\n\tadd.s64 %rd20, %rd20, %rd60;\n\tcvt.rn.f32.u32 %f60, %low;\n\tadd.f32 %f20, %f20, %f60;\n"
        + "\tcvt.f64.f32 %fd60, %f60;\n\tadd.f64 %fd20, %fd20, %fd60;\n\tmov.u64 %rd61, %clock64;\n"
        + chain
        + as_word(bench, 0, "%low").replace("%x", "%rd62")
        + "\tsetp.eq.u32 %never, %low, 0x7ead1234;\n\t@%never bra $Out;\n\tmov.u64 %y, %clock64;\n"
        + "\tsub.s64 %y, %y, %rd61;\n\tmin.s64 %best, %best, %y;\n"
        + "\tadd.u32 %it, %it, 1;\n\tsetp.lt.u32 %more, %it, 5;\n\t@%more bra $Again;\n$Out:\n"
        + "\tmul.wide.u32 %x, %t0, 16;\n\tadd.s64 %x, %out, %x;\n\tst.global.u64 [%x], %best;\n\tst.global.u32 [%x+8], %low;\n\tret;\n}\n"
    )


CHAINS, UNROLLED, ROUNDS = 4, 8, 24


def rate_kernel(bench):
    body = "".join(step(bench, c) for _ in range(UNROLLED) for c in range(CHAINS))
    sums = "".join(as_word(bench, c, "%t1") + "\txor.b32 %low, %low, %t1;\n" for c in range(CHAINS))
    return (
        HEADER + bench.top + ENTRY + ".maxntid 1024, 1, 1\n{\n" + REGISTERS + PROLOGUE + starts(CHAINS) + bench.setup
        + "\tmov.u32 %low, 0;\n\tmov.u32 %it, 0;\n\tbar.sync 0;\n\tmov.u64 %rd61, %clock64;\n$Again:\n\t.pragma \"nounroll\";\n"
        + body
        + f"\tadd.u32 %it, %it, 1;\n\tsetp.lt.u32 %more, %it, {ROUNDS};\n\t@%more bra $Again;\n"
        + sums
        + "\tsetp.eq.u32 %never, %low, 0x7ead1234;\n\t@%never bra $Out;\n\tmov.u64 %y, %clock64;\n$Out:\n"
        + "\tmul.wide.u32 %x, %t0, 16;\n\tadd.s64 %x, %out, %x;\n\tst.global.u64 [%x], %rd61;\n\tst.global.u64 [%x+8], %y;\n\tret;\n}\n"
    )


def chase_kernel(load, steps, top="", first="ld.param.u64 %rd20, [mem];"):
    chain = f"\t{load} %rd20, [%rd20];\n" * steps
    return (
        HEADER + top + ENTRY + "{\n" + REGISTERS
        + f"\tld.param.u64 %out, [out];\n\t{first}\n\tmov.u32 %it, 0;\n\tmov.u64 %best, 0x7fffffff;\n$Again:\n\t.pragma \"nounroll\";\n\tmov.u64 %rd61, %clock64;\n"
        + chain
        + "\tsetp.eq.u64 %never, %rd20, 0x7ead1234;\n\t@%never bra $Out;\n\tmov.u64 %y, %clock64;\n\tsub.s64 %y, %y, %rd61;\n\tmin.s64 %best, %best, %y;\n"
        + "\tadd.u32 %it, %it, 1;\n\tsetp.lt.u32 %more, %it, 4;\n\t@%more bra $Again;\n$Out:\n"
        + "\tst.global.u64 [%out], %best;\n\tst.global.u64 [%out+8], %rd20;\n\tret;\n}\n"
    )


CONSTANT_TOP = ".const .align 8 .b8 table[4096];\n"
LOCAL_FIRST = (
    ".local .align 16 .b8 mine[1024];\n\tmov.u32 %t0, %tid.x;\n\tmov.u64 %rd20, mine;\n\tmul.wide.u32 %x, %t0, 8;\n\tadd.s64 %rd20, %rd20, %x;\n"
    "\tst.local.u64 [%rd20], %rd20;\n\tbar.warp.sync -1;"
)


def constant_address():
    return (
        HEADER + CONSTANT_TOP + ENTRY
        + "{\n\t.reg .b64 %x, %out;\n\tld.param.u64 %out, [out];\n\tmov.u64 %x, table;\n\tst.global.u64 [%out], %x;\n\tret;\n}\n"
    )


def barrier_kernel(steps):
    return (
        HEADER + ENTRY + "{\n" + REGISTERS + "\tld.param.u64 %out, [out];\n\tmov.u32 %t0, %tid.x;\n\tmov.u32 %it, 0;\n\tmov.u64 %best, 0x7fffffff;\n$Again:\n\t.pragma \"nounroll\";\n\tbar.sync 0;\n\tmov.u64 %rd61, %clock64;\n"
        + "\tbar.sync 0;\n" * steps
        + "\tmov.u64 %y, %clock64;\n\tsub.s64 %y, %y, %rd61;\n\tmin.s64 %best, %best, %y;\n"
        + "\tadd.u32 %it, %it, 1;\n\tsetp.lt.u32 %more, %it, 5;\n\t@%more bra $Again;\n"
        + "\tmul.wide.u32 %x, %t0, 16;\n\tadd.s64 %x, %out, %x;\n\tst.global.u64 [%x], %best;\n\tret;\n}\n"
    )


# What a chase has: load instruction, bytes between elements, elements, launches before that count, whether the cache is
# emptied first, the table's name.
CHASES = [
    ("ld.global.ca hits L1", "ld.global.ca.u64", 128, 64, 1, False, "latency.l1"),
    ("ld.global.cg hits L2", "ld.global.cg.u64", 4096, 1024, 2, False, "latency.l2"),
    ("ld.global.cg from DRAM, 64 KiB apart", "ld.global.cg.u64", 65536, 4096, 0, True, "latency.dram"),
    ("ld.global.cg from DRAM, 4 KiB apart", "ld.global.cg.u64", 4096 + 128, 4096, 0, True, "latency.dram"),
]


# --------------------------------------------------------------------------------------------------- on the device


class Device:
    def __init__(self):
        import numpy as np
        from device_cases import Driver

        self.np = np
        self.driver = Driver()
        self.out = self.driver.allocate(1 << 20)
        self.mem = self.driver.allocate(1 << 20)
        lanes = np.zeros((1024, 16), np.uint32)
        rng = np.random.default_rng(1)
        lanes[:, 0] = rng.integers(3, 1 << 16, 1024) | 1
        lanes[:, 1] = rng.integers(3, 1 << 16, 1024) | 1
        lanes[:, 2] = rng.integers(3, 1 << 10, 1024) | 1
        lanes[:, 3] = rng.integers(1, 17, 1024)
        lanes[:, 4] = rng.integers(1 << 24, 1 << 31, 1024)
        lanes[:, 5] = 1000
        lanes[:, 7] = 0
        lanes[:, 8:] = rng.uniform(0.9, 1.1, (1024, 8)).astype(np.float32).view(np.uint32)
        self.driver.write(self.mem, lanes.tobytes())

    def run(self, text, threads, grid=1, mem=None, entry="k", module=None):
        module = module or self.driver.load(text)
        function = self.driver.function(module, entry)
        parameters = [self.out.to_bytes(8, "little"), (mem or self.mem).to_bytes(8, "little")]
        self.driver.launch(function, [grid, 1, 1], [threads, 1, 1], 0, parameters)
        self.driver.synchronize()
        return self.driver.read(self.out, 16 * threads).view(self.np.int64).reshape(-1, 2)

    def latency(self, bench):
        times = []
        for steps in (64, 192):
            module = self.driver.load(latency_kernel(bench, steps))
            times.append(min(int(self.run(None, 32, module=module)[:, 0].min()) for _ in range(4)))
            self.driver.unload(module)
        return (times[1] - times[0]) / 128 / (bench.results if bench.step else 1)

    def rate(self, bench):
        module = self.driver.load(rate_kernel(bench))
        best = None
        for _ in range(3):
            rows = self.run(None, 1024, module=module)
            cycles = int(rows[:, 1].max() - rows[:, 0].min())
            best = min(best or cycles, cycles)
        self.driver.unload(module)
        return 1024 * CHAINS * UNROLLED * ROUNDS * bench.results * (2 if "x2" in bench.name else 1) / best

    def ring(self, stride, count):
        """A closed walk over places that far apart, in random order; its memory and first address."""
        np = self.np
        size = stride * count
        base = self.driver.allocate(size)
        order = np.random.default_rng(2).permutation(count)
        words = np.zeros(size // 8, np.uint64)
        words[order * (stride // 8)] = base + np.roll(order, -1).astype(np.uint64) * stride
        self.driver.write(base, words.tobytes())
        return base, base + int(order[0]) * stride

    def chase(self, load, stride, count, warm, emptied):
        base, first = self.ring(stride, count)
        junk = self.driver.allocate(256 << 20) if emptied else None
        times = []
        for steps in (64, 192):
            module = self.driver.load(chase_kernel(load, steps))
            best = None
            for _ in range(max(warm, 1) + 2):
                if emptied:
                    self.driver.check("cuMemsetD8_v2", c_u64(junk), c_u8(7), c_size(256 << 20))
                    self.driver.synchronize()
                cycles = int(self.run(None, 1, mem=first, module=module)[0, 0])
                best = min(best or cycles, cycles)
            times.append(best)
            self.driver.unload(module)
        self.driver.check("cuMemFree_v2", c_u64(base))
        if junk is not None:
            self.driver.check("cuMemFree_v2", c_u64(junk))
        return (times[1] - times[0]) / 128

    def constant(self):
        address = int(self.run(constant_address(), 1)[0, 0])
        times = []
        for steps in (64, 192):
            first = "mov.u64 %rd20, table;"
            module = self.driver.load(chase_kernel("ld.const.u64", steps, CONSTANT_TOP, first))
            place, _ = self.driver.symbol(module, "table")
            self.driver.write(place, address.to_bytes(8, "little") * 512)
            times.append(min(int(self.run(None, 1, module=module)[0, 0]) for _ in range(3)))
        return (times[1] - times[0]) / 128

    def local(self):
        times = []
        for steps in (64, 192):
            module = self.driver.load(chase_kernel("ld.local.u64", steps, "", LOCAL_FIRST))
            times.append(min(int(self.run(None, 32, module=module)[0, 0]) for _ in range(3)))
        return (times[1] - times[0]) / 128

    def barrier(self, warps):
        times = []
        for steps in (64, 192):
            module = self.driver.load(barrier_kernel(steps))
            times.append(min(int(self.run(None, 32 * warps, module=module)[:, 0].max()) for _ in range(3)))
        return (times[1] - times[0]) / 128


def c_u64(value):
    import ctypes

    return ctypes.c_uint64(value)


def c_u8(value):
    import ctypes

    return ctypes.c_uint8(value)


def c_size(value):
    import ctypes

    return ctypes.c_size_t(value)


def shown(value, digits=1):
    return "-" if value is None else f"{value:.{digits}f}"


def measure(table):
    device = Device()
    print(f"{device.driver.name()}, {device.driver.attribute(16)} multiprocessors; the table is of {table['name']}")
    quantities = table["quantities"]
    value = lambda name: quantities[name]["value"] if name in quantities else None
    rows = []
    header = f"{'':<46}{'latency':>9}{'table':>8}{'results/clk':>13}{'table':>8}{'1/table':>9}"
    print(header)

    def line(name, latency, table_latency, rate, table_rate, expansion=None):
        expected = 128 / expansion if expansion else None
        off = ""
        for found, said in ((latency, table_latency), (rate, table_rate if table_rate is not None else expected)):
            if found is not None and said is not None and not 0.8 <= found / said <= 1.25:
                off = "  <<<"
        print(f"{name:<46}{shown(latency):>9}{shown(table_latency):>8}{shown(rate):>13}{shown(table_rate):>8}{shown(expected):>9}{off}")
        rows.append(
            {
                "name": name,
                "latency": latency,
                "table_latency": table_latency,
                "rate": rate,
                "table_rate": table_rate,
                "expansion": expansion,
            }
        )

    for bench in BENCHES:
        try:
            latency = device.latency(bench)
            rate = device.rate(bench)
        except Exception as failure:
            print(f"{bench.name:<46} {failure} {getattr(failure, 'log', '')[:200]}")
            rows.append({"name": bench.name, "error": str(failure)})
            if "ILLEGAL" in str(failure) or "LAUNCH" in str(failure):
                print("the context is lost: what follows fails, too")
            continue
        line(bench.name, latency, value(bench.latency), rate, value(bench.rate), value(bench.expansion))
    for name, load, stride, count, warm, emptied, key in CHASES:
        try:
            line(name, device.chase(load, stride, count, warm, emptied), value(key), None, None)
        except Exception as failure:
            print(f"{name:<46} {failure}")
    for warps in (1, 2, 4, 8, 16, 32):
        line(f"bar.sync of {warps} warps", device.barrier(warps), value("latency.barrier"), None, None)
    # Last, since a wrong address would end everything.
    for name, work, key in [("ld.local, chased", device.local, "latency.l1"), ("ld.const, chased", device.constant, "latency.constant")]:
        try:
            line(name, work(), value(key), None, None)
        except Exception as failure:
            print(f"{name:<46} {failure} {getattr(failure, 'log', '')[:200]}")
    print("latency: cycles a result of the chain; results/clk: of a multiprocessor; 1/table: 128 over the table's instructions")
    return rows


# --------------------------------------------------------------------------------------------------- versions on zero

SHARES = [0, 10, 25, 50, 75, 90, 100]
THREADS = 1 << 21


def time_versions(versions):
    device = Device()
    np, driver = device.np, device.driver
    import ctypes

    out, zero, a, b = [driver.allocate(4 * (THREADS + 65536)) for _ in range(4)]
    rng = np.random.default_rng(3)
    for place in (a, b):
        driver.write(place, rng.uniform(0.5, 1.5, THREADS + 65536).astype(np.float32).tobytes())
    start, end = ctypes.c_void_p(), ctypes.c_void_p()
    for event in (start, end):
        driver.check("cuEventCreate", ctypes.byref(event), ctypes.c_uint(0))
    addresses = [place.to_bytes(8, "little") for place in (out, zero, a, b)]

    def entry_of(text):
        return re.search(r"\.entry\s+(\w+)", text).group(1)

    def microseconds(function):
        best = None
        for _ in range(5):
            driver.check("cuEventRecord", start, None)
            for _ in range(20):
                driver.launch(function, [THREADS // 256, 1, 1], [256, 1, 1], 0, addresses)
            driver.check("cuEventRecord", end, None)
            driver.check("cuEventSynchronize", end)
            elapsed = ctypes.c_float()
            # Its second version from CUDA 12.8 on.
            name = "cuEventElapsedTime_v2" if hasattr(driver.lib, "cuEventElapsedTime_v2") else "cuEventElapsedTime"
            driver.check(name, ctypes.byref(elapsed), start, end)
            taken = elapsed.value * 1000 / 20
            best = min(best or taken, taken)
        return best

    rows = []
    print(f"\nVersions on zero, {THREADS} threads: microseconds before and after, by the share of zero warps in percent")
    for version in versions:
        if "after" not in version:
            print(f"{version['name']}: {version.get('refused')}")
            continue
        functions = []
        for text in (version["before"], version["after"]):
            functions.append(driver.function(driver.load(text), entry_of(text)))
        times, wrong = [], 0
        for share in SHARES:
            warps = rng.random(THREADS // 32) * 100 < share
            values = rng.uniform(0.5, 1.5, THREADS).astype(np.float32)
            values[np.repeat(warps, 32)] = 0
            driver.write(zero, values.tobytes())
            results = []
            pair = []
            for function in functions:
                pair.append(microseconds(function))
                results.append(driver.read(out, 4 * THREADS).view(np.float32))
            times.append(pair)
            wrong += int((results[0] != results[1]).sum())
        paid = None
        gains = [before - after for before, after in times]
        for n in range(1, len(SHARES)):
            if gains[n - 1] <= 0 < gains[n]:
                low, high = SHARES[n - 1], SHARES[n]
                paid = low + (high - low) * -gains[n - 1] / (gains[n] - gains[n - 1])
                break
        if gains[0] > 0:
            paid = 0
        percent = lambda share: None if share is None else 100 * share
        print(
            f"{version['name']:<12}"
            + "".join(f"  {share}: {before:.1f} {after:.1f}" for share, (before, after) in zip(SHARES, times))
        )
        print(
            f"{'':<12}  measured: pays from {shown(paid)} %; predicted {shown(percent(version['pays']))} %,"
            f" offered from {shown(percent(version['break_even']))} %"
            f" (region {version['region']}, special {version['special']}, check {version['check']}); {wrong} results differ"
        )
        rows.append({"name": version["name"], "shares": SHARES, "microseconds": times, "pays": paid, "wrong": wrong,
                     "predicted": version["pays"], "offered": version["break_even"]})
    return rows


# --------------------------------------------------------------------------------------------------- without a device


def assembled(arguments, versions):
    """Every kernel through the assembler; machine instructions of one step, from the difference of two lengths."""
    kernels = []
    for bench in BENCHES:
        kernels.append((bench, [latency_kernel(bench, 8), latency_kernel(bench, 24), rate_kernel(bench)]))
    others = [chase_kernel(load, 64) for _, load, *_ in CHASES] + [constant_address(), barrier_kernel(64)]
    others += [chase_kernel("ld.const.u64", 64, CONSTANT_TOP, "mov.u64 %rd20, table;"), chase_kernel("ld.local.u64", 64, "", LOCAL_FIRST)]
    others += [version[key] for version in versions for key in ("before", "after") if key in version]
    with tempfile.TemporaryDirectory() as folder:
        def sass(text):
            source, cubin = os.path.join(folder, "a.ptx"), os.path.join(folder, "a.cubin")
            with open(source, "w") as file:
                file.write(text)
            done = subprocess.run([arguments.ptxas, "-arch=sm_90", "-o", cubin, source], capture_output=True, text=True)
            if done.returncode:
                print(done.stderr[:500])
                return None
            if not arguments.nvdisasm:
                return []
            listing = subprocess.run([arguments.nvdisasm, "-c", cubin], capture_output=True, text=True).stdout
            lines = re.findall(r"/\*[0-9a-f]{4}\*/\s+(.*?);", listing)
            return [re.sub(r"^@!?U?P\w+ ", "", line).split()[0] for line in lines]

        for bench, texts in kernels:
            listings = [sass(text) for text in texts]
            if None in listings:
                print(f"{bench.name}: refused")
                continue
            if not arguments.nvdisasm:
                continue
            counts = [{name: l.count(name) for name in set(l)} for l in listings[:2]]
            names = sorted(set(counts[0]) | set(counts[1]))
            added = {n: (counts[1].get(n, 0) - counts[0].get(n, 0)) / 16 for n in names}
            text = " ".join(f"{n}*{added[n]:g}" for n in names if abs(added[n]) >= 0.5 and n != "NOP")
            steps = CHAINS * UNROLLED
            rate = " ".join(f"{n}*{listings[2].count(n) / steps:g}" for n in names if added[n] >= 0.9)
            print(f"{bench.name:<42} {bench.results} results a step: {text}; for the rate {rate}")
        print(sum(sass(text) is not None for text in others), "of", len(others), "other kernels")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases")
    parser.add_argument("out")
    parser.add_argument("--skip-versions", action="store_true")
    parser.add_argument("--part", choices=["latencies", "versions"], help="one part, in this process")
    parser.add_argument("--ptxas")
    parser.add_argument("--nvdisasm")
    arguments = parser.parse_args()
    with open(os.path.join(arguments.cases, "machine.json")) as file:
        table = json.load(file)
    with open(os.path.join(arguments.cases, "versions.json")) as file:
        versions = json.load(file)
    if arguments.ptxas:
        assembled(arguments, versions)
        return
    os.makedirs(arguments.out, exist_ok=True)
    if arguments.part is None:
        # Each part in a process of its own: a fault in one takes nothing from the other.
        parts = ["latencies"] + ([] if arguments.skip_versions else ["versions"])
        for part in parts:
            subprocess.run([sys.executable, os.path.abspath(__file__), arguments.cases, arguments.out, "--part", part], check=False)
        return
    rows = measure(table) if arguments.part == "latencies" else time_versions(versions)
    with open(os.path.join(arguments.out, f"{arguments.part}.json"), "w") as file:
        json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
