use super::*;
use crate::verify::verify_module;

const PREDICATED: &str = include_str!("../../../../../fixtures/ptx/predicated.ptx");
const CALLS: &str = include_str!("../../../../../fixtures/ptx/call_sequence.ptx");
const REDUCTION: &str = include_str!("../../../../../fixtures/ptx/shared_reduction.ptx");

fn clean(text: &str) -> Function {
    let mut all = lower_text(text);
    for (_, tree, lowered) in &all {
        assert_eq!(tree.problems, vec![]);
        assert_eq!(lowered.problems, vec![]);
        assert_eq!(verify_module(&lowered.module), Ok(()));
        assert!(lowered.module.functions[0].unknowns.is_empty());
    }
    let (_, _, mut last) = all.pop().unwrap();
    last.module.functions.remove(0)
}

fn kernel(body: &str) -> Function {
    clean(&format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 a, .param .u32 n)\n{{\n\
         .reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .f64 %fd<9>;\n\
         .reg .f16 %h<9>; .reg .b128 %rq<3>; .reg .b32 %hh<9>;\n{body}\nret;\n}}\n"
    ))
}

fn ops(function: &Function) -> Vec<&Op> {
    function
        .layout
        .iter()
        .flat_map(|&block| &function.blocks[block].insts)
        .map(|&inst| &function.insts[inst].op)
        .collect()
}

/// Results in `.param` space may be taken into registers at once.
#[test]
fn results_into_registers() {
    let callee = ".func (.param .b32 r) next(.param .b32 a)\n{\n.reg .b32 %r<4>;\nld.param.u32 %r1, [a];\nadd.u32 %r2, %r1, 1;\nst.param.u32 [r], %r2;\nret;\n}\n";
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n{callee}.entry k(.param .u64 a, .param .u32 n)\n{{\n\
         .reg .b32 %r<9>; .reg .b64 %rd<3>;\nld.param.u64 %rd1, [a];\nld.param.u32 %r1, [n];\n\
         call.uni (%r5), next, (%r1);\nst.global.u32 [%rd1], %r5;\nret;\n}}\n"
    );
    let function = clean(&text);
    let ops = ops(&function);
    assert!(ops.iter().any(|op| matches!(op, Op::Binary(..))));
    assert!(!ops.iter().any(|op| matches!(op, Op::Undef)));
}

#[test]
fn fixtures_lower_without_problems() {
    let function = clean(PREDICATED);
    assert_eq!(function.launch.block, [Some(128), Some(1), Some(1)]);
    assert_eq!(function.parameters.len(), 2);
    assert!(ops(&function).contains(&&Op::Select));
    let function = clean(REDUCTION);
    assert_eq!(function.launch.block, [None; 3]);
    assert_eq!(function.launch.max_threads, Some(256));
    let barriers = ops(&function)
        .iter()
        .filter(|op| matches!(op, Op::Barrier(Barrier::Workgroup)))
        .count();
    assert_eq!(barriers, 2);
}

#[test]
fn bounds_of_a_launch_are_kept() {
    let launch = |directives: &str| {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u32 n)\n{directives}\n{{\nret;\n}}\n"
        );
        clean(&text).launch
    };
    let bounds =
        |launch: crate::LaunchShape| (launch.max_threads, launch.min_blocks, launch.max_registers);
    let both = launch(".maxntid 16, 16, 1\n.minnctapersm 3");
    assert_eq!(bounds(both), (Some(256), Some(3), None));
    let exact = launch(".reqntid 64\n.maxnreg 40");
    assert_eq!(exact.block, [Some(64), Some(1), Some(1)]);
    assert_eq!(bounds(exact), (Some(64), None, Some(40)));
    assert_eq!(bounds(launch("")), (None, None, None));
}

#[test]
fn a_visible_function_is_inlined_and_its_site_kept() {
    let function = clean(CALLS);
    assert!(
        !ops(&function)
            .iter()
            .any(|op| matches!(op, Op::CallUnknown { .. } | Op::Load(_) | Op::Asm { .. }))
    );
    let sites: Vec<&str> = function.sites.values().map(|s| s.callee.as_str()).collect();
    assert_eq!(sites, ["calls", "scaled", "scaled"]);
    assert_eq!(function.sites[Site(1)].arguments.len(), 1);
}

#[test]
fn recursion_and_unknown_functions_are_unknown_calls() {
    let text = ".version 7.0\n.target sm_75\n.address_size 64\n
        .extern .func (.param .b32 r) g (.param .b32 x);
        .func (.param .b32 r) f (.param .b32 x) {
          .reg .b32 %r<3>; .param .b32 a; .param .b32 b;
          ld.param.b32 %r1, [x]; st.param.b32 [a], %r1;
          call (b), f, (a); ld.param.b32 %r2, [b]; st.param.b32 [r], %r2; ret; }
        .entry k () {
          .reg .b32 %r<3>; .param .b32 a; .param .b32 b;
          st.param.b32 [a], 5;
          call (b), f, (a); call (b), g, (b); ld.param.b32 %r2, [b]; ret; }";
    let function = clean(text);
    let names: Vec<&str> = ops(&function)
        .into_iter()
        .filter_map(|op| match op {
            Op::CallUnknown { name, .. } => Some(name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(names, ["f", "g"]);
}

#[test]
fn instructions_of_every_kind_are_understood() {
    kernel(
        "add.cc.u32 %r1, %r2, %r3; addc.cc.u32 %r4, %r5, 0; subc.u32 %r1, %r2, %r3; madc.hi.u32 %r1,%r2,%r3,%r4;
         mad.wide.u32 %rd1, %r1, %r2, %rd2; mul.hi.s64 %rd1, %rd2, %rd3; mul24.lo.s32 %r1, %r2, %r3;
         sad.s32 %r1, %r2, %r3, %r4; div.u32 %r1, %r2, %r3; rem.s64 %rd1, %rd2, %rd3; abs.s32 %r1, %r2;
         min.u16 %rs1, %rs2, %rs3; popc.b64 %r1, %rd1; clz.b32 %r1, %r2; bfind.u32 %r1, %r2;
         bfind.shiftamt.u64 %r1, %rd2; brev.b32 %r1, %r2; fns.b32 %r1, %r2, %r3, %r4; bfe.u32 %r1, %r2, 4, 8;
         bfi.b32 %r1, %r2, %r3, 4, 8; szext.clamp.s32 %r1, %r2, %r3; bmsk.clamp.b32 %r1, %r2, %r3;
         dp4a.s32.s32 %r1, %r2, %r3, %r4; dp4a.u32.s32 %r1, %r2, %r3, %r4; dp2a.lo.u32.u32 %r1, %r2, %r3, %r4;
         lop3.b32 %r1, %r2, %r3, %r4, 0x96; shf.l.wrap.b32 %r1, %r2, %r3, %r4; shf.r.clamp.b32 %r1, %r2, %r3, 7;
         prmt.b32 %r1, %r2, %r3, 0x5410; shl.b64 %rd1, %rd2, %r1; shr.s16 %rs1, %rs2, %r1; cnot.b32 %r1, %r2;
         not.pred %p1, %p2; xor.pred %p1, %p2, %p3;",
    );
    kernel(
        "fma.rn.f32 %f1, %f2, %f3, 0f3F800000; mad.rn.f64 %fd1, %fd2, %fd3, %fd4; rcp.approx.ftz.f32 %f1, %f2;
         sqrt.rn.f64 %fd1, %fd2; ex2.approx.ftz.f32 %f1, %f2; tanh.approx.f32 %f1, %f2; min.NaN.f32 %f1, %f2, %f3;
         testp.finite.f32 %p1, %f1; testp.subnormal.f32 %p1, %f1; copysign.f32 %f1, %f2, %f3; add.sat.f32 %f1, %f2, %f3;
         fma.rn.relu.f16x2 %hh1, %hh2, %hh3, %hh4; neg.bf16x2 %hh1, %hh2; add.f16 %h1, %h2, %h3;
         max.xorsign.abs.f32 %f1, %f2, %f3; div.full.f32 %f1, %f2, %f3; max.f32 %f1, %f2, %f3, %f4;
         cvt.rni.f32.f32 %f1, %f2; cvt.rzi.s32.f32 %r1, %f1; cvt.rn.f16x2.f32 %r1, %f1, %f2; cvt.sat.u8.s32 %r1, %r2;
         cvt.rn.satfinite.e4m3x2.f32 %rs1, %f1, %f2; cvt.rna.tf32.f32 %r1, %f1; cvt.u16.u8 %rs1, %rs2;
         cvt.rn.f16.f32 %h1, %f1; cvt.f64.f32 %fd1, %f1; cvt.sat.f32.f32 %f1, %f2; cvt.rn.f32.u64 %f1, %rd1;",
    );
    kernel(
        "setp.lt.and.s32 %p1|%p2, %r1, %r2, %p3; setp.neu.f32 %p1, %f1, %f2; set.eq.u32.f32 %r1, %f1, %f2;
         selp.b64 %rd1, %rd2, 7, %p1; slct.f32.s32 %f1, %f2, %f3, %r1; mov.b32 {%rs1, %rs2}, %r1;
         mov.b64 %rd1, {%r1, %r2}; mov.b128 %rq1, {%rd1, %rd2}; mov.b128 {%rd1, %rd2}, %rq1; mov.pred %p1, 1;
         mov.u32 %r1, %clock; mov.u64 %rd1, %globaltimer; mov.u32 %r1, %lanemask_lt; mov.u32 %r1, WARP_SZ;
         isspacep.shared %p1, %rd1; cvta.shared.u64 %rd1, %rd2; mov.u32 %r1, %cluster_ctarank;",
    );
    kernel(
        "ld.global.nc.L2::128B.v4.f32 {%f1,%f2,%f3,_}, [%rd1+16]; ld.volatile.shared.u8 %rs1, [%r1];
         ld.acquire.gpu.global.b32 %r1, [%rd1]; st.global.v2.b64 [%rd1], {%rd2, %rd3}; ld.global.b128 %rq1, [%rd1];
         st.shared.b128 [%r1], %rq1; atom.global.add.f32 %f1, [%rd1], %f2; atom.shared.cas.b32 %r1, [%r2], 0, 1;
         red.global.max.s32 [%rd1], %r1; atom.global.v2.f32.add {%f1, %f2}, [%rd1], {%f3, %f4};
         atom.add.noftz.f16x2 %hh1, [%rd1], %hh2; @%p1 red.relaxed.gpu.global.add.u64 [%rd1], 1;
         ldu.global.u32 %r1, [%rd1]; prefetch.global.L1 [%rd1]; discard.global.L2 [%rd1], 128;
         cp.async.cg.shared.global [%r1], [%rd1], 16; cp.async.ca.shared.global [%r1], [%rd1], 4, %r2;
         cp.async.commit_group; cp.async.wait_group 0; mbarrier.init.shared.b64 [%r1], 1;
         mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2; fence.proxy.async.shared::cta;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [%r3];
         cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];",
    );
    kernel(
        "shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1; vote.sync.ballot.b32 %r1, %p1, -1; vote.sync.all.pred %p1, !%p2, %r1;
         match.any.sync.b64 %r1, %rd1, -1; match.all.sync.b32 %r1|%p1, %r2, %r3; redux.sync.add.s32 %r1, %r2, -1;
         activemask.b32 %r1; elect.sync _|%p1, -1; bar.sync 1, 64; bar.arrive 2, %r1; barrier.cta.sync.aligned 0;
         bar.red.popc.u32 %r1, 0, %p1; bar.red.and.pred %p1, 0, !%p2; bar.warp.sync -1; membar.gl; fence.sc.cta;
         barrier.cluster.arrive.release; barrier.cluster.wait; griddepcontrol.wait; setmaxnreg.inc.sync.aligned.u32 96;
         ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%r5];
         mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4},{%r1,%r2,%r3,%r4},{%r5,%r6},{%f1,%f2,%f3,%f4};
         wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, %p1, 1, 1, 0, 0;
         tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2}, [%r3]; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32;
         vadd.u32.u32.u32.sat %r1, %r2.b0, %r3.h1; getctarank.shared::cluster.u32 %r1, %r2; nanosleep.u32 %r1;
         createpolicy.fractional.L2::evict_last.b64 %rd1, 1.0; trap;",
    );
}

#[test]
fn an_unknown_opcode_is_a_problem_and_an_unknown_value() {
    let text = ".entry k() { .reg .b32 %r<4>; frobnicate.b32 %r1, %r2; add.s32 %r3, %r1, 1; ret; }";
    let (_, _, lowered) = lower_text(text).remove(0);
    assert_eq!(lowered.problems.len(), 1);
    let function = &lowered.module.functions[0];
    assert_eq!(function.unknowns.len(), 1);
    assert_eq!(verify_module(&lowered.module), Ok(()));
}

#[test]
fn a_broken_statement_makes_what_it_names_unknown() {
    let text = ".entry k() { .reg .b32 %r<4>; mov.u32 %r1, 5; add.s32 %r1, , 1; st.shared.b32 [%r2], %r1; ret; }";
    let (_, tree, lowered) = lower_text(text).remove(0);
    assert_eq!(tree.problems.len(), 1);
    let function = &lowered.module.functions[0];
    let stored = function
        .insts
        .values()
        .find(|i| matches!(i.op, Op::Store(_)));
    let value = stored.unwrap().args[1];
    assert!(matches!(
        function.defining(value).unwrap().op,
        Op::Unknown(_)
    ));
}

#[test]
fn param_cells_are_split_and_joined_by_offset() {
    let function = kernel(
        "{ .param .align 8 .b8 s[16]; st.param.b32 [s], %r1; st.param.b32 [s+4], %r2; ld.param.b64 %rd1, [s];
         st.param.b64 [s+8], %rd1; ld.param.b16 %rs1, [s+10]; st.param.b16 [s+2], %rs1; ld.param.v2.b32 {%r3, %r4}, [s]; }
         st.global.b32 [%rd2], %r3;",
    );
    assert!(!ops(&function).iter().any(|op| matches!(op, Op::Load(_))));
}

#[test]
fn names_are_scoped_by_blocks() {
    let function = kernel(
        "mov.u32 %r1, 1; { .reg .f32 %r1; mov.f32 %r1, 0f00000000; bra L; mov.f32 %r1, 0f3F800000; L: } bra L2; L2:
         st.global.u32 [%rd1], %r1;",
    );
    assert!(ops(&function).iter().any(|op| matches!(op, Op::Store(_))));
}

#[test]
fn a_branch_table_is_a_switch() {
    let function = kernel(
        "t: .branchtargets A, B, C; mov.u32 %r1, %tid.x; brx.idx %r1, t; A: mov.u32 %r2, 1; bra D;
         B: mov.u32 %r2, 2; bra D; C: mov.u32 %r2, 3; D: st.global.u32 [%rd1], %r2;",
    );
    let switches = function
        .layout
        .iter()
        .filter(|&&b| matches!(function.blocks[b].terminator, Terminator::Switch { .. }))
        .count();
    assert_eq!(switches, 1);
}

/// Bytes removed, doubled and replaced at random: every result passes the verifier.
#[test]
fn mutated_files_lower_to_verified_ir() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize % bound.max(1)
    };
    let junk = b"%{}[]();,.@!|$_-+0x9az \n\"/*";
    for round in 0..3000 {
        let source = [PREDICATED, CALLS, REDUCTION][round % 3];
        let mut bytes = source.as_bytes().to_vec();
        for _ in 0..1 + next(4) {
            let at = next(bytes.len());
            match next(4) {
                0 => {
                    bytes.remove(at);
                }
                1 => bytes[at] = junk[next(junk.len())],
                2 => {
                    let end = (at + next(40)).min(bytes.len());
                    let piece = bytes[at..end].to_vec();
                    let to = next(bytes.len());
                    bytes.splice(to..to, piece);
                }
                _ => bytes.truncate(at.max(1)),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        for (_, _, lowered) in lower_text(&text) {
            assert_eq!(verify_module(&lowered.module), Ok(()), "{text}");
        }
    }
}
