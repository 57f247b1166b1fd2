//! Tests of the views of observers: iteration vectors that are a lane's own, whatever the other lanes do.

use super::*;
use rustc_hash::FxHashMap;

/// Values by (lane of the grid, function, value, history), in the order of execution.
#[derive(Default)]
struct Recorder {
    values: FxHashMap<(u64, u32, u32, u64), Vec<u64>>,
    blocks: FxHashMap<(u64, u32, u32, u64), u32>,
    accesses: u64,
    branches: u64,
}

impl Observer for Recorder {
    fn block(&mut self, instance: &Instance<'_>) {
        for lane in lanes(instance.mask) {
            let thread = instance.first_thread + u64::from(lane);
            let key = (
                thread,
                instance.function,
                instance.block.0,
                instance.history(lane),
            );
            *self.blocks.entry(key).or_default() += 1;
        }
    }
    fn values(&mut self, instance: &Instance<'_>, value: Value, row: &[u64], mask: u64) {
        assert_eq!(mask & !instance.mask, 0);
        for lane in lanes(mask) {
            let thread = instance.first_thread + u64::from(lane);
            let key = (thread, instance.function, value.0, instance.history(lane));
            self.values.entry(key).or_default().push(row[lane as usize]);
        }
    }
    fn branch(&mut self, instance: &Instance<'_>, taken: &[u64]) {
        assert_eq!(taken.iter().fold(0, |all, t| all | t), instance.mask);
        self.branches += 1;
    }
    fn memory(&mut self, _: &Instance<'_>, _: Inst, _: AccessKind, _: &[u64], mask: u64) {
        self.accesses += u64::from(mask.count_ones());
    }
}

#[test]
fn a_lane_has_the_same_history_in_lockstep_and_alone() {
    let shape = |flavour, blocks| Shape {
        flavour,
        blocks,
        warp_ops: false,
        atomics: false,
        max_threads: 12,
        max_grid: 1,
        ..Shape::default()
    };
    for shape in [shape(Flavour::Structured, 12), shape(Flavour::Arbitrary, 9)] {
        for seed in 0..150 {
            let program = random::program(seed, &shape);
            let mut launch = Launch::for_program(&program);
            let (mut together, mut apart) = (Recorder::default(), Recorder::default());
            let outcome = run_with(&program.module, &launch, &mut together, &());
            assert_eq!(outcome.error, None);
            launch.mode = Mode::LanesApart;
            run_with(&program.module, &launch, &mut apart, &());
            assert_eq!(together.values, apart.values, "seed {seed}");
            assert_eq!(together.blocks, apart.blocks, "seed {seed}");
            assert_eq!(together.accesses, apart.accesses);
            assert!(together.branches <= apart.branches);
            // A lane is in a block once with one history.
            assert!(
                together.blocks.values().all(|&count| count == 1),
                "seed {seed}"
            );
        }
    }
}

#[test]
fn counters_restart_when_a_lane_enters_the_inner_loop_again() {
    struct Seen(Block, Vec<(u32, u32)>);
    impl Observer for Seen {
        fn block(&mut self, instance: &Instance<'_>) {
            if instance.block == self.0 {
                for lane in lanes(instance.mask & 1) {
                    let vector: Vec<u32> = instance.iteration(lane).collect();
                    self.1.push((vector[0], vector[1]));
                }
            }
        }
    }
    let mut inner = Block(0);
    let module = kernel(|b| {
        let (i, j) = (b.slot(Type::I32), b.slot(Type::I32));
        let zero = b.int(Type::I32, 0);
        let one = b.int(Type::I32, 1);
        let two = b.int(Type::I32, 2);
        b.write(i, zero);
        let blocks: Vec<Block> = (0..5).map(|_| b.create_block()).collect();
        let [outer, enter, head, latch, end] = blocks[..] else {
            unreachable!()
        };
        inner = head;
        b.jump(outer);
        b.switch_to(outer);
        let now = b.read(i);
        let go = less(b, now, two);
        b.branch(go, enter, end, BranchKind::Loop);
        b.switch_to(enter);
        b.write(j, zero);
        b.jump(head);
        b.switch_to(head);
        let now = b.read(j);
        let next = add(b, now, one);
        b.write(j, next);
        let go = less(b, now, two);
        b.branch(go, head, latch, BranchKind::Loop);
        b.switch_to(latch);
        let now = b.read(i);
        let next = add(b, now, one);
        b.write(i, next);
        b.jump(outer);
        b.switch_to(end);
        b.ret([]);
    });
    let mut seen = Seen(inner, Vec::new());
    run_with(&module, &Launch::new(3), &mut seen, &());
    assert_eq!(seen.1, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
}

#[test]
fn lanes_of_one_execution_are_grouped_by_history() {
    // After the loop all lanes are in no loop: one group, although they left it in different iterations.
    struct Groups(usize, usize);
    impl Observer for Groups {
        fn block(&mut self, instance: &Instance<'_>) {
            self.0 += 1;
            self.1 += instance.converged(instance.mask).len();
        }
    }
    for seed in 0..100 {
        let program = random::program(seed, &Shape::small(Flavour::Structured));
        let mut groups = Groups(0, 0);
        run_with(
            &program.module,
            &Launch::for_program(&program),
            &mut groups,
            &(),
        );
        assert!(groups.1 >= groups.0);
    }
}
