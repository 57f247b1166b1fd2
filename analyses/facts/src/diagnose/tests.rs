//! Each rule on PTX: a finding, and a neighbour about which it is silent. The CUDA fixtures test the same
//! from source.

use crate::{Code, FindingReason, Options, Tier, analyze_module, diagnose};

fn found(text: &str) -> Vec<(Code, Tier)> {
    let mut all = Vec::new();
    for (_, _, lowered) in ir::lower::ptx::lower_text(text) {
        let facts = analyze_module(&lowered.module, &Options::default());
        all.extend(
            diagnose(&lowered.module, &facts)
                .into_iter()
                .map(|f| (f.code, f.tier)),
        );
    }
    all
}

/// A kernel with a pointer and a number, both in registers, and the thread's index.
fn kernel(directives: &str, body: &str) -> String {
    format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n{directives}\n{{\n\
         .reg .pred %p<9>; .reg .b32 %r<30>; .reg .f32 %f<9>; .reg .b64 %rd<20>; .shared .align 4 .b8 tile[8192];\n\
         ld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd1, %rd1;\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\n{body}\nret;\n}}\n"
    )
}

#[test]
fn a_barrier_in_a_branch_on_the_thread() {
    let body = "setp.ge.u32 %p1, %r2, %r1;\n@%p1 bra DONE;\nbar.sync 0;\nst.global.u32 [%rd1], %r1;\nDONE:";
    assert_eq!(
        found(&kernel("", body)),
        [(Code::DivergentBarrier, Tier::Warning)]
    );
    let uniform = "setp.ge.u32 %p1, %r1, 5;\n@%p1 bra DONE;\nbar.sync 0;\nDONE:";
    assert_eq!(found(&kernel("", uniform)), []);
}

#[test]
fn a_barrier_under_a_predicate_of_the_thread() {
    let body = "setp.lt.u32 %p1, %r2, %r1;\n@%p1 bar.sync 0;\nst.global.u32 [%rd1], %r1;";
    assert_eq!(
        found(&kernel("", body)),
        [(Code::DivergentBarrier, Tier::Warning)]
    );
    let uniform = "setp.lt.u32 %p1, %r1, 9;\n@%p1 bar.sync 0;\nst.global.u32 [%rd1], %r1;";
    assert_eq!(found(&kernel("", uniform)), []);
}

#[test]
fn a_numbered_barrier_in_a_branch_on_the_thread() {
    let body = |barrier: &str| {
        format!(
            "setp.ge.u32 %p1, %r2, %r1;\n@%p1 bra DONE;\n{barrier};\nst.global.u32 [%rd1], %r1;\nDONE:"
        )
    };
    assert_eq!(
        found(&kernel("", &body("bar.sync 1"))),
        [(Code::DivergentBarrier, Tier::Warning)]
    );
    // A part of the workgroup's threads is what these are for.
    assert_eq!(found(&kernel("", &body("bar.sync 1, 64"))), []);
    assert_eq!(found(&kernel("", &body("bar.arrive 1, 64"))), []);
}

#[test]
fn a_barrier_that_certainly_splits_the_block_is_an_error() {
    let body =
        "setp.ge.u32 %p1, %r2, 16;\n@%p1 bra DONE;\nbar.sync 0;\nst.global.u32 [%rd1], %r1;\nDONE:";
    assert_eq!(
        found(&kernel(".reqntid 64, 1, 1", body)),
        [(Code::DivergentBarrier, Tier::Error)]
    );
}

#[test]
fn a_barrier_in_a_loop_of_differing_length() {
    let body = "mov.u32 %r3, %r2;\nLOOP:\nbar.sync 0;\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, %r1;\n@%p1 bra LOOP;";
    let codes: Vec<Code> = found(&kernel("", body))
        .into_iter()
        .map(|(c, _)| c)
        .collect();
    assert!(codes.contains(&Code::BarrierInDivergentLoop), "{codes:?}");
}

#[test]
fn a_full_mask_where_lanes_are_missing() {
    let body = "setp.ge.u32 %p1, %r2, %r1;\n@%p1 bra DONE;\nshfl.sync.down.b32 %r4, %r2, 16, 31, 0xffffffff;\nst.global.u32 [%rd1], %r4;\nDONE:\nst.global.u32 [%rd1+4], %r1;";
    let codes: Vec<Code> = found(&kernel("", body))
        .into_iter()
        .map(|(c, _)| c)
        .collect();
    assert!(codes.contains(&Code::WarpSyncMask), "{codes:?}");
    // Lanes that have left the kernel are not waited for.
    let left = "setp.ge.u32 %p1, %r2, %r1;\n@%p1 bra DONE;\nshfl.sync.down.b32 %r4, %r2, 16, 31, 0xffffffff;\nst.global.u32 [%rd1], %r4;\nDONE:";
    assert!(
        !found(&kernel("", left))
            .iter()
            .any(|(c, _)| *c == Code::WarpSyncMask)
    );
}

#[test]
fn strides_and_banks() {
    let strided = "mul.wide.u32 %rd2, %r2, 32;\nadd.s64 %rd3, %rd1, %rd2;\nld.global.f32 %f1, [%rd3];\nst.global.f32 [%rd1], %f1;";
    let all = found(&kernel("", strided));
    assert!(
        all.contains(&(Code::UncoalescedAccess, Tier::Warning)),
        "{all:?}"
    );
    let dense = "mul.wide.u32 %rd2, %r2, 4;\nadd.s64 %rd3, %rd1, %rd2;\nld.global.f32 %f1, [%rd3];\nst.global.f32 [%rd3], %f1;";
    assert_eq!(found(&kernel("", dense)), []);
    let column = "shl.b32 %r3, %r2, 7;\nmov.u32 %r4, tile;\nadd.u32 %r4, %r4, %r3;\nst.shared.u32 [%r4], %r1;";
    let all = found(&kernel(".reqntid 64, 1, 1", column));
    assert!(all.contains(&(Code::BankConflict, Tier::Hint)), "{all:?}");
    let padded = "mul.lo.u32 %r3, %r2, 132;\nmov.u32 %r4, tile;\nadd.u32 %r4, %r4, %r3;\nst.shared.u32 [%r4], %r1;";
    assert_eq!(found(&kernel(".reqntid 32, 1, 1", padded)), []);
}

#[test]
fn an_atomic_by_all_lanes_and_by_one() {
    let all = "atom.global.add.u32 %r3, [%rd1], %r2;\nst.global.u32 [%rd1+4], %r3;";
    assert!(found(&kernel("", all)).contains(&(Code::AtomicSameAddress, Tier::Hint)));
    let body = "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra DONE;\natom.global.add.u32 %r3, [%rd1], %r2;\nst.global.u32 [%rd1+4], %r3;\nDONE:";
    assert!(
        !found(&kernel("", body))
            .iter()
            .any(|(c, _)| *c == Code::AtomicSameAddress)
    );
}

#[test]
fn a_loop_of_one_row_a_lane_and_one_that_strides_by_the_block() {
    let rows = "mov.u32 %r3, 0;\nLOOP:\nld.global.u32 %r4, [%rd1];\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, %r2;\n@%p1 bra LOOP;\nst.global.u32 [%rd1], %r4;";
    assert!(found(&kernel("", rows)).contains(&(Code::DivergentLoop, Tier::Hint)));
    let strided = "mov.u32 %r3, %r2;\nmov.u32 %r5, %ntid.x;\nLOOP:\nld.global.u32 %r4, [%rd1];\nadd.u32 %r3, %r3, %r5;\nsetp.lt.u32 %p1, %r3, %r1;\n@%p1 bra LOOP;\nst.global.u32 [%rd1], %r4;";
    assert!(
        !found(&kernel("", strided))
            .iter()
            .any(|(c, _)| *c == Code::DivergentLoop)
    );
}

#[test]
fn a_loop_whose_last_round_is_cut_by_a_condition_of_two_parts() {
    let tile = |step: u32| {
        format!(
            "mov.u32 %r3, 0;\nLOOP:\nadd.u32 %r4, %r3, %r2;\nsetp.ge.u32 %p1, %r4, %r1;\nsetp.gt.u32 %p2, %r1, 7;\nand.pred %p3, %p1, %p2;\n@%p3 bra DONE;\nld.global.u32 %r4, [%rd1];\nadd.u32 %r3, %r3, {step};\nsetp.lt.u32 %p1, %r3, %r1;\n@%p1 bra LOOP;\nDONE:\nst.global.u32 [%rd1], %r1;"
        )
    };
    let told = |step: u32| {
        found(&kernel("", &tile(step)))
            .iter()
            .any(|(c, _)| *c == Code::DivergentLoop)
    };
    assert!(!told(32));
    // The lanes begin one after another and leave one after another.
    assert!(told(1));
}

#[test]
fn work_that_the_host_could_do() {
    let with = |sine: &str| {
        format!(
            "cvt.rn.f32.u32 %f1, %r1;\nsqrt.rn.f32 %f2, %f1;\nex2.approx.f32 %f3, %f2;\n{sine} %f3, %f3;\nmul.wide.u32 %rd2, %r2, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.global.f32 [%rd3], %f3;"
        )
    };
    assert_eq!(
        found(&kernel("", &with("sqrt.rn.f32"))),
        [(Code::RedundantPerThreadWork, Tier::Hint)]
    );
    // The hardware's sine is too cheap for a remark.
    assert_eq!(found(&kernel("", &with("sin.approx.f32"))), []);
}

#[test]
fn a_full_mask_under_a_predicate_of_the_thread() {
    let shuffle = |guard: &str, mask: &str| {
        kernel(
            "",
            &format!(
                "setp.lt.u32 %p1, %r2, %r1;\nsetp.lt.u32 %p2, %r1, 9;\n{guard} shfl.sync.idx.b32 %r5, %r2, 3, 31, {mask};\nst.global.u32 [%rd1], %r5;"
            ),
        )
    };
    let told = |text: &str| found(text).iter().any(|(c, _)| *c == Code::WarpSyncMask);
    assert!(told(&shuffle("@%p1", "-1")));
    assert!(told(&shuffle("@!%p1", "0xffffffff")));
    assert!(!told(&shuffle("@%p2", "-1")));
    assert!(!told(&shuffle("@%p1", "0x55555555")));
}

#[test]
fn packed_halves_are_one_instruction() {
    let body = "add.rn.bf16x2 %r3, %r1, %r1;\nmul.wide.u32 %rd2, %r2, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.global.b32 [%rd3], %r3;";
    assert_eq!(found(&kernel("", body)), []);
}

#[test]
fn an_exchange_by_all_lanes_is_contention() {
    let body = "atom.global.exch.b32 %r3, [%rd1], 1;\nst.global.u32 [%rd1+4], %r3;";
    let text = kernel("", body);
    let (_, _, lowered) = ir::lower::ptx::lower_text(&text).swap_remove(0);
    let facts = analyze_module(&lowered.module, &Options::default());
    let told = diagnose(&lowered.module, &facts);
    let contention = told.iter().find(|f| f.code == Code::AtomicSameAddress);
    assert!(contention.is_some_and(|f| matches!(
        f.reason,
        FindingReason::AtomicContention { exchange: true, .. }
    )));
}

/// A remainder or a mask of the thread's index names as many lanes as have it.
#[test]
fn a_full_mask_where_every_second_lane_comes() {
    let code = |lines: &str, guard: &str| {
        let text = kernel(
            "",
            &format!(
                "{lines}\nsetp.eq.s32 %p1, %r3, 0;\n{guard}\nst.global.u32 [%rd1], %r5;\nOUT:\nst.global.u32 [%rd1+4], %r1;"
            ),
        );
        found(&text).iter().any(|(c, _)| *c == Code::WarpSyncMask)
    };
    let predicated = "@%p1 shfl.sync.idx.b32 %r5, %r2, 3, 31, -1;";
    let branched = "@!%p1 bra OUT;\nshfl.sync.idx.b32 %r5, %r2, 3, 31, -1;";
    for guard in [predicated, branched] {
        for lines in [
            "and.b32 %r3, %r2, 1;",
            "rem.u32 %r3, %r2, 2;",
            "rem.s32 %r3, %r2, 2;",
            "rem.u32 %r3, %r2, %r1;",
            "sub.u32 %r4, %r1, 1;\nand.b32 %r3, %r2, %r4;",
        ] {
            assert!(code(lines, guard), "{lines} {guard}");
        }
        assert!(!code("and.b32 %r3, %r2, 31;", guard), "{guard}");
        assert!(!code("mov.u32 %r3, %r2;", guard), "{guard}");
    }
}
