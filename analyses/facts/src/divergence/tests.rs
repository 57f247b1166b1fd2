//! The shapes of the literature (T6 to T15 of the notes on the paper) and ptxas's own answers, as expectations.

use crate::model::*;
use crate::{analyze, cause_chain};
use ir::builder::FunctionBuilder;
use ir::{
    BinaryOp, Block, BranchKind, Edge, Function, FunctionKind, IntCondition, Language, Module,
    Special, Terminator, Type, Value, Wrap,
};

fn kernel() -> FunctionBuilder {
    FunctionBuilder::new("k", FunctionKind::Kernel, Language::Cuda)
}
fn blocks<const N: usize>(b: &mut FunctionBuilder) -> [Block; N] {
    std::array::from_fn(|_| b.create_block())
}
fn facts_of(function: Function, options: &Options) -> FunctionFacts {
    ir::verify(&function).unwrap();
    analyze(
        0,
        &Module {
            functions: vec![function],
        },
        options,
    )
}
fn facts(function: Function) -> FunctionFacts {
    facts_of(function, &Options::default())
}
fn go(b: &mut FunctionBuilder, from: Block, to: Block, args: &[Value]) {
    b.switch_to(from);
    let edge = Edge {
        block: to,
        args: args.iter().copied().collect(),
    };
    b.terminate(Terminator::Jump(edge), BranchKind::Implied);
}
fn part(
    b: &mut FunctionBuilder,
    from: Block,
    condition: Value,
    then: (Block, &[Value]),
    otherwise: (Block, &[Value]),
) {
    b.switch_to(from);
    let edge = |to: (Block, &[Value])| Edge {
        block: to.0,
        args: to.1.iter().copied().collect(),
    };
    let terminator = Terminator::Branch {
        condition,
        then: edge(then),
        otherwise: edge(otherwise),
        uniform: false,
    };
    b.terminate(terminator, BranchKind::If);
}
/// A uniform condition, and one that is true in the first lane only.
fn conditions(b: &mut FunctionBuilder) -> (Value, Value) {
    let u = b.parameter("u", "bool", &[Type::Bool])[0];
    let tid = b.special(Special::ThreadId(0), Type::I32);
    let zero = b.int(Type::I32, 0);
    (u, b.int_compare(IntCondition::Equal, tid, zero))
}
fn uniform(f: &FunctionFacts, v: Value) -> bool {
    f.values[v].class == Class::Uniform
}

#[test]
fn loops_with_two_exits() {
    for same in [false, true] {
        let mut b = kernel();
        let entry = b.current();
        let (u, t) = conditions(&mut b);
        let (zero, one) = (b.int(Type::I32, 0), b.int(Type::I32, 1));
        let [head, body, exit] = blocks(&mut b);
        let acc = b.block_param(exit, Type::I32);
        go(&mut b, entry, head, &[]);
        part(&mut b, head, u, (exit, &[zero]), (body, &[]));
        part(
            &mut b,
            body,
            t,
            (exit, &[if same { zero } else { one }]),
            (head, &[]),
        );
        b.switch_to(exit);
        b.ret([]);
        let f = facts(b.finish());
        // A parameter that always receives one value is replaced by it.
        assert!(same || !uniform(&f, acc));
        assert_eq!(f.loops[0].trip, Class::Divergent);
    }
    // T7
    let mut b = kernel();
    let entry = b.current();
    let (u, t) = conditions(&mut b);
    let (zero, one) = (b.int(Type::I32, 0), b.int(Type::I32, 1));
    let [oh, ih, ib, ol, exit] = blocks(&mut b);
    let acc = b.block_param(exit, Type::I32);
    go(&mut b, entry, oh, &[]);
    part(&mut b, oh, u, (ih, &[]), (exit, &[zero]));
    part(&mut b, ih, u, (ib, &[]), (ol, &[]));
    part(&mut b, ib, t, (exit, &[one]), (ih, &[]));
    go(&mut b, ol, oh, &[]);
    b.switch_to(exit);
    b.ret([]);
    assert!(!uniform(&facts(b.finish()), acc));
    // T7b
    let mut b = kernel();
    let entry = b.current();
    let (u, t) = conditions(&mut b);
    let (zero, one) = (b.int(Type::I32, 0), b.int(Type::I32, 1));
    let [head, body, mid, xu, xd] = blocks(&mut b);
    let acc = b.block_param(xu, Type::I32);
    go(&mut b, entry, head, &[]);
    part(&mut b, head, u, (body, &[]), (xu, &[zero]));
    part(&mut b, body, t, (xd, &[]), (mid, &[]));
    part(&mut b, mid, u, (xu, &[one]), (head, &[]));
    for end in [xu, xd] {
        b.switch_to(end);
        b.ret([]);
    }
    assert!(uniform(&facts(b.finish()), acc));
}

#[test]
fn join_before_the_post_dominator() {
    let mut b = kernel();
    let a = b.current();
    let (u, t) = conditions(&mut b);
    let (one, two) = (b.int(Type::I32, 1), b.int(Type::I32, 2));
    let [bb, c, d, e, end] = blocks(&mut b);
    let x = b.block_param(d, Type::I32);
    part(&mut b, a, t, (c, &[]), (bb, &[]));
    part(&mut b, bb, u, (d, &[one]), (e, &[]));
    go(&mut b, c, d, &[two]);
    go(&mut b, d, end, &[]);
    go(&mut b, e, end, &[]);
    b.switch_to(end);
    b.ret([]);
    let function = b.finish();
    let f = analyze(
        0,
        &Module {
            functions: vec![function.clone()],
        },
        &Options::default(),
    );
    assert!(!uniform(&f, x));
    let chain = cause_chain(&function, &f, x, d);
    assert!(
        matches!(
            chain.last().map(|step| &step.reason),
            Some(crate::CauseReason::LaneDependent { builtin: Some(builtin), .. }) if builtin == "threadIdx.x"
        ),
        "{chain:?}"
    );
}

#[test]
fn values_that_leave_a_loop() {
    // T9: i counts up to tid.
    let mut b = kernel();
    let entry = b.current();
    let tid = b.special(Special::ThreadId(0), Type::I32);
    let (zero, found, two) = (
        b.int(Type::I32, 0),
        b.int(Type::I32, 1),
        b.int(Type::I32, 2),
    );
    let [head, body, exit] = blocks(&mut b);
    let i = b.block_param(head, Type::I32);
    go(&mut b, entry, head, &[zero]);
    b.switch_to(head);
    let c = b.int_compare(IntCondition::LessSigned, i, tid);
    part(&mut b, head, c, (body, &[]), (exit, &[]));
    b.switch_to(body);
    let next = b.binary(BinaryOp::Add, Wrap::NO_SIGNED, i, found);
    go(&mut b, body, head, &[next]);
    b.switch_to(exit);
    let y = b.binary(BinaryOp::Mul, Wrap::NO_SIGNED, i, two);
    let distance = b.binary(BinaryOp::Sub, Wrap::MAY, y, i);
    let nothing = b.binary(BinaryOp::Sub, Wrap::MAY, distance, i);
    b.ret([]);
    let f = facts(b.finish());
    assert!(uniform(&f, i) && uniform(&f, next));
    assert!(!uniform(&f, y));
    assert_eq!(f.at(i, exit).class, Class::Divergent);
    assert!(matches!(f.at(i, exit).cause, Cause::LeavesLoop { .. }));
    assert_eq!(f.values[nothing].form.to_string(), "0");
    assert_eq!(f.loops[0].trip, Class::Divergent);
    // T15: a divergent header, left elsewhere.
    let mut b = kernel();
    let entry = b.current();
    let tid = b.special(Special::ThreadId(0), Type::I32);
    let (zero, found, three) = (
        b.int(Type::I32, 0),
        b.int(Type::I32, 1),
        b.int(Type::I32, 3),
    );
    let [head, a, bb, latch, exit] = blocks(&mut b);
    let i = b.block_param(head, Type::I32);
    go(&mut b, entry, head, &[zero]);
    b.switch_to(head);
    let i2 = b.binary(BinaryOp::Add, Wrap::MAY, i, found);
    let sum = b.binary(BinaryOp::Add, Wrap::MAY, i, tid);
    let odd = b.binary(BinaryOp::And, Wrap::MAY, sum, found);
    let c = b.int_compare(IntCondition::NotEqual, odd, zero);
    part(&mut b, head, c, (a, &[]), (bb, &[]));
    go(&mut b, a, latch, &[]);
    b.switch_to(bb);
    let done = b.int_compare(IntCondition::GreaterEqualSigned, i, three);
    part(&mut b, bb, done, (exit, &[]), (latch, &[]));
    go(&mut b, latch, head, &[i2]);
    b.switch_to(exit);
    let y = b.binary(BinaryOp::Add, Wrap::MAY, i2, zero);
    b.ret([]);
    let f = facts(b.finish());
    // Lanes of different iterations meet in `bb`, the header's post-dominator.
    assert!(!uniform(&f, i2) && !uniform(&f, y));
}

#[test]
fn switch_continue_and_return() {
    // T12: two latches behind a divergent branch.
    let mut b = kernel();
    let entry = b.current();
    let (u, t) = conditions(&mut b);
    let (one, two) = (b.int(Type::I32, 1), b.int(Type::I32, 2));
    let [head, p, q, r, exit] = blocks(&mut b);
    let x = b.block_param(head, Type::I32);
    go(&mut b, entry, head, &[one]);
    part(&mut b, head, u, (p, &[]), (exit, &[]));
    part(&mut b, p, t, (q, &[]), (r, &[]));
    go(&mut b, q, head, &[one]);
    go(&mut b, r, head, &[two]);
    b.switch_to(exit);
    b.ret([]);
    assert!(!uniform(&facts(b.finish()), x));
    // T11: an early return parts nothing that comes later.
    let mut b = kernel();
    let entry = b.current();
    let (u, t) = conditions(&mut b);
    let (one, two) = (b.int(Type::I32, 1), b.int(Type::I32, 2));
    let [out, rest, l, r, end] = blocks(&mut b);
    let x = b.block_param(end, Type::I32);
    part(&mut b, entry, t, (out, &[]), (rest, &[]));
    b.switch_to(out);
    b.ret([]);
    part(&mut b, rest, u, (l, &[]), (r, &[]));
    go(&mut b, l, end, &[one]);
    go(&mut b, r, end, &[two]);
    b.switch_to(end);
    let barrier = b.inst(ir::Op::Barrier(ir::Barrier::Workgroup), &[], &[]);
    b.ret([]);
    let f = facts(b.finish());
    assert!(uniform(&f, x));
    assert_eq!(f.barriers[0].inst, barrier);
    assert_eq!(f.barriers[0].divergent, Some((entry, false)));
    // T10
    let mut b = kernel();
    let _entry = b.current();
    let tid = b.special(Special::ThreadId(0), Type::I32);
    let three = b.int(Type::I32, 3);
    let s = b.binary(BinaryOp::RemSigned, Wrap::MAY, tid, three);
    let [c0, c1, d] = blocks(&mut b);
    let (x, y) = (b.block_param(c1, Type::I32), b.block_param(d, Type::I32));
    b.terminate(
        Terminator::Switch {
            value: s,
            cases: vec![
                (0, Edge::to(c0)),
                (
                    1,
                    Edge {
                        block: c1,
                        args: [s].into_iter().collect(),
                    },
                ),
            ],
            default: Edge {
                block: d,
                args: [three].into_iter().collect(),
            },
        },
        BranchKind::Switch,
    );
    go(&mut b, c0, c1, &[three]);
    go(&mut b, c1, d, &[x]);
    b.switch_to(d);
    b.ret([]);
    let f = facts(b.finish());
    assert!(!uniform(&f, x) && !uniform(&f, y));
}

/// The condition of a branch, from `tid` and a shape.
fn condition(block: [Option<u32>; 3], make: impl Fn(&mut FunctionBuilder) -> Value) -> bool {
    let mut b = kernel();
    let v = make(&mut b);
    b.ret([]);
    let mut function = b.finish();
    function.launch.block = block;
    function.launch.max_threads = Some(1024);
    uniform(&facts(function), v)
}

#[test]
fn wrap_around() {
    // T14: eight bits, i = tid + 126 < tid + 127.
    let less = |ty: Type, wrap: Wrap| {
        condition([Some(256), Some(1), Some(1)], move |b| {
            let tid = b.special(Special::ThreadId(0), Type::I32);
            let t = if ty == Type::I32 {
                tid
            } else {
                b.convert(ir::Convert::Truncate, tid, ty)
            };
            let (p, q) = (b.int(ty, 126), b.int(ty, 127));
            let i = b.binary(BinaryOp::Add, wrap, t, p);
            let n = b.binary(BinaryOp::Add, wrap, t, q);
            b.int_compare(IntCondition::LessSigned, i, n)
        })
    };
    assert!(!less(Type::I8, Wrap::MAY));
    assert!(less(Type::I32, Wrap::MAY), "the range proves it");
}

#[test]
fn what_ptxas_proves() {
    let known = |x, y, z| [Some(x), Some(y), Some(z)];
    let tid =
        |axis: u8| move |b: &mut FunctionBuilder| b.special(Special::ThreadId(axis), Type::I32);
    assert!(!condition([None; 3], tid(1)));
    assert!(condition(known(32, 8, 1), tid(1)));
    assert!(condition(known(64, 4, 1), tid(1)));
    assert!(!condition(known(16, 16, 1), tid(1)));
    assert!(condition(known(16, 16, 2), tid(2)));
    assert!(condition(known(64, 2, 2), tid(2)));
    let shift = |by: i64| {
        move |b: &mut FunctionBuilder| {
            let t = b.special(Special::ThreadId(0), Type::I32);
            let k = b.int(Type::I32, by);
            b.binary(BinaryOp::ShrUnsigned, Wrap::MAY, t, k)
        }
    };
    assert!(!condition([None; 3], shift(5)));
    assert!(condition(known(256, 1, 1), shift(5)));
    assert!(condition(known(256, 1, 1), shift(6)));
    assert!(!condition(known(256, 1, 1), shift(4)));
    let masked = |b: &mut FunctionBuilder| {
        let t = b.special(Special::ThreadId(0), Type::I32);
        let m = b.int(Type::I32, !31);
        b.binary(BinaryOp::And, Wrap::MAY, t, m)
    };
    assert!(condition(known(256, 1, 1), masked));
    let below = |limit: i64| {
        move |b: &mut FunctionBuilder| {
            let t = b.special(Special::ThreadId(0), Type::I32);
            let k = b.int(Type::I32, limit);
            b.int_compare(IntCondition::LessUnsigned, t, k)
        }
    };
    assert!(condition(known(256, 1, 1), below(32)));
    assert!(!condition(known(256, 1, 1), below(48)));
    assert!(condition(known(256, 1, 1), below(256)));
}

#[test]
fn symbolic_strides_and_forms() {
    // Figure 15: k - i1 = n - j, so the loop is uniform with symbolic coefficients.
    let mut b = kernel();
    let entry = b.current();
    let n = b.parameter("n", "int", &[Type::I32])[0];
    let tid = b.special(Special::ThreadId(0), Type::I32);
    let one = b.int(Type::I32, 1);
    let i0 = b.binary(BinaryOp::Mul, Wrap::NO_SIGNED, n, tid);
    let t1 = b.binary(BinaryOp::Add, Wrap::NO_SIGNED, tid, one);
    let k = b.binary(BinaryOp::Mul, Wrap::NO_SIGNED, t1, n);
    let [head, body, exit] = blocks(&mut b);
    let i1 = b.block_param(head, Type::I32);
    go(&mut b, entry, head, &[i0]);
    b.switch_to(head);
    let c = b.int_compare(IntCondition::LessSigned, i1, k);
    part(&mut b, head, c, (body, &[]), (exit, &[]));
    b.switch_to(body);
    let i2 = b.binary(BinaryOp::Add, Wrap::NO_SIGNED, i1, one);
    go(&mut b, body, head, &[i2]);
    b.switch_to(exit);
    b.ret([]);
    let f = facts(b.finish());
    assert_eq!(f.values[i0].class, Class::Affine);
    assert_eq!(f.values[i0].form.to_string(), "n*tid.x");
    assert_eq!(f.values[k].form.to_string(), "n*tid.x + n");
    assert_eq!(f.values[i1].form.to_string(), "n*tid.x + ?");
    assert!(uniform(&f, c), "{:?}", f.values[c]);
    assert_eq!(f.loops[0].trip, Class::Uniform);
}

/// A load of four bytes at `index` bytes into a shared or global array.
fn access(
    space: ir::Space,
    block: [Option<u32>; 3],
    index: impl Fn(&mut FunctionBuilder) -> Value,
) -> AccessFact {
    let mut b = kernel();
    let p = b.parameter("p", "float*", &[Type::Ptr(space)])[0];
    let offset = index(&mut b);
    let wide = b.convert(ir::Convert::SignExtend, offset, Type::I64);
    let address = b.ptr_add(p, wide);
    b.load(ir::MemoryAccess::in_space(space), address, Type::F32);
    b.ret([]);
    let mut function = b.finish();
    function.launch.block = block;
    facts(function).accesses[0].clone()
}

#[test]
fn accesses_by_stride() {
    let scaled = |by: i64| {
        move |b: &mut FunctionBuilder| {
            let t = b.special(Special::ThreadId(0), Type::I32);
            let k = b.int(Type::I32, by);
            b.binary(BinaryOp::Mul, Wrap::NO_SIGNED, t, k)
        }
    };
    let line = [Some(256), Some(1), Some(1)];
    let f = access(ir::Space::Global, line, scaled(4));
    assert_eq!(
        (f.class, f.stride_bytes, f.sectors, f.ideal_sectors),
        (AccessClass::Coalesced, Some(4), Some(4), 4)
    );
    assert_eq!(f.base, "p");
    let f = access(ir::Space::Global, line, scaled(128));
    assert_eq!(
        (f.class, f.stride_bytes, f.sectors),
        (AccessClass::Strided, Some(128), Some(32))
    );
    let f = access(ir::Space::Shared, line, scaled(132));
    assert_eq!(f.bank_ways, Some(1));
    let f = access(ir::Space::Shared, line, scaled(128));
    assert_eq!(f.bank_ways, Some(32));
    // Rows of sixteen: two rows of 64 bytes in one warp.
    let tile = |b: &mut FunctionBuilder| {
        let x = b.special(Special::ThreadId(0), Type::I32);
        let y = b.special(Special::ThreadId(1), Type::I32);
        let row = b.int(Type::I32, 1024);
        let down = b.binary(BinaryOp::Mul, Wrap::NO_SIGNED, y, row);
        let four = b.int(Type::I32, 4);
        let across = b.binary(BinaryOp::Mul, Wrap::NO_SIGNED, x, four);
        b.binary(BinaryOp::Add, Wrap::NO_SIGNED, down, across)
    };
    let f = access(ir::Space::Global, [Some(16), Some(16), Some(1)], tile);
    assert_eq!((f.stride_bytes, f.sectors), (None, Some(4)));
    let pitch = |b: &mut FunctionBuilder| {
        let t = b.special(Special::ThreadId(0), Type::I32);
        let pitch = b.parameter("pitch", "int", &[Type::I32])[0];
        let four = b.int(Type::I32, 4);
        let bytes = b.binary(BinaryOp::Mul, Wrap::NO_SIGNED, pitch, four);
        b.binary(BinaryOp::Mul, Wrap::NO_SIGNED, t, bytes)
    };
    let f = access(ir::Space::Global, line, pitch);
    assert_eq!(
        (f.class, f.stride_sum.as_ref().unwrap().to_string().as_str()),
        (AccessClass::Strided, "4*pitch")
    );
}

#[test]
fn counted_loops() {
    for (bottom, expected) in [(false, 10), (true, 10)] {
        let mut b = kernel();
        let entry = b.current();
        let (zero, found, ten) = (
            b.int(Type::I32, 0),
            b.int(Type::I32, 1),
            b.int(Type::I32, 10),
        );
        let [head, body, exit] = blocks(&mut b);
        let i = b.block_param(head, Type::I32);
        go(&mut b, entry, head, &[zero]);
        b.switch_to(head);
        if bottom {
            go(&mut b, head, body, &[]);
            b.switch_to(body);
            let next = b.binary(BinaryOp::Add, Wrap::NO_SIGNED, i, found);
            let c = b.int_compare(IntCondition::LessSigned, next, ten);
            part(&mut b, body, c, (head, &[next]), (exit, &[]));
        } else {
            let c = b.int_compare(IntCondition::LessSigned, i, ten);
            part(&mut b, head, c, (body, &[]), (exit, &[]));
            b.switch_to(body);
            let next = b.binary(BinaryOp::Add, Wrap::NO_SIGNED, i, found);
            go(&mut b, body, head, &[next]);
        }
        b.switch_to(exit);
        b.ret([]);
        let f = facts(b.finish());
        assert_eq!(
            (f.loops[0].trip, f.loops[0].count),
            (Class::Uniform, Some(expected)),
            "bottom: {bottom}"
        );
    }
}
