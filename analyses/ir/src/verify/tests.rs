use super::*;
use crate::builder::FunctionBuilder;
use crate::entity::{Symbol, UnknownId, Variable};
use crate::inst::*;
use crate::types::Space;
use smallvec::smallvec;

/// `n: i32`; entry branches to `then` and `otherwise`, both jump to `join(sum)`, which returns.
fn diamond() -> Function {
    let mut b = FunctionBuilder::new("f", FunctionKind::Kernel, Language::Text);
    let n = b.parameter("n", "int", &[Type::I32])[0];
    b.function.returns = vec![Type::I32];
    let zero = b.int(Type::I32, 0);
    let test = b.int_compare(IntCondition::LessSigned, n, zero);
    let (then, otherwise, join) = (b.create_block(), b.create_block(), b.create_block());
    let sum = b.block_param(join, Type::I32);
    b.branch(test, then, otherwise, BranchKind::If);
    b.switch_to(then);
    let added = b.binary(BinaryOp::Add, Wrap::MAY, n, zero);
    let edge = |value| {
        Terminator::Jump(Edge {
            block: join,
            args: smallvec![value],
        })
    };
    b.terminate(edge(added), BranchKind::Implied);
    b.switch_to(otherwise);
    let two = b.binary(BinaryOp::Mul, Wrap::MAY, n, n);
    b.terminate(edge(two), BranchKind::Implied);
    b.switch_to(join);
    b.ret([sum]);
    b.finish()
}

const ENTRY: Block = Block(0);
const THEN: Block = Block(1);
const JOIN: Block = Block(3);
const SHARED: Type = Type::Ptr(Space::Shared);

fn rules(function: &Function) -> Vec<Rule> {
    let mut rules: Vec<Rule> = match verify(function) {
        Ok(()) => Vec::new(),
        Err(errors) => errors.iter().map(|e| e.rule).collect(),
    };
    rules.dedup();
    rules
}

fn broken(change: impl FnOnce(&mut Function)) -> Vec<Rule> {
    let mut function = diamond();
    change(&mut function);
    rules(&function)
}

/// The rules that one instruction with these operand types breaks.
fn single(op: Op, args: &[Type], results: &[Type]) -> Vec<Rule> {
    let mut b = FunctionBuilder::new("f", FunctionKind::Device, Language::Text);
    let values: Vec<Value> = args
        .iter()
        .map(|&ty| b.parameter("p", "", &[ty])[0])
        .collect();
    b.inst(op, &values, results);
    b.ret([]);
    rules(&b.finish())
}

#[test]
fn a_well_formed_function_passes() {
    assert_eq!(rules(&diamond()), []);
}

#[test]
fn layout() {
    assert_eq!(broken(|f| f.layout.push(JOIN)), [Rule::Layout]);
    assert_eq!(broken(|f| f.layout.push(Block(99))), [Rule::Layout]);
    assert_eq!(broken(|f| f.layout.clear()), [Rule::Layout]);
    let twice = broken(|f| {
        let inst = f.blocks[THEN].insts[0];
        f.blocks[JOIN].insts.push(inst);
    });
    assert_eq!(twice, [Rule::Layout]);
    let missing = broken(|f| f.blocks[JOIN].insts.push(Inst(99)));
    assert_eq!(missing, [Rule::Layout]);
}

#[test]
fn terminator() {
    let open = broken(|f| f.blocks[JOIN].terminator = Terminator::None);
    assert_eq!(open, [Rule::Terminator]);
    let to_entry = broken(|f| f.blocks[JOIN].terminator = Terminator::Jump(Edge::to(ENTRY)));
    assert_eq!(to_entry, [Rule::Terminator]);
    let outside = broken(|f| f.blocks[JOIN].terminator = Terminator::Jump(Edge::to(Block(77))));
    assert_eq!(outside, [Rule::Terminator]);
}

#[test]
fn reachable() {
    let cut = broken(|f| {
        let Terminator::Branch { then, .. } = f.blocks[ENTRY].terminator.clone() else {
            return;
        };
        f.blocks[ENTRY].terminator = Terminator::Jump(then);
    });
    assert_eq!(cut, [Rule::Reachable]);
}

#[test]
fn definition() {
    let twice = broken(|f| {
        let n = f.blocks[ENTRY].params[0];
        f.blocks[JOIN].params.push(n);
    });
    assert_eq!(twice, [Rule::Definition]);
    let wrong_number = broken(|f| {
        let sum = f.blocks[JOIN].params[0];
        f.values[sum].def = ValueDef::Param(JOIN, 4);
    });
    assert_eq!(wrong_number, [Rule::Definition]);
}

#[test]
fn edge() {
    let few = broken(|f| f.blocks[THEN].terminator = Terminator::Jump(Edge::to(JOIN)));
    assert_eq!(few, [Rule::Edge]);
    let other_type = broken(|f| {
        let sum = f.blocks[JOIN].params[0];
        f.values[sum].ty = Type::I64;
        f.returns = vec![Type::I64];
    });
    assert_eq!(other_type, [Rule::Edge]);
}

#[test]
fn dominance() {
    let sideways = broken(|f| {
        let inst = f.blocks[THEN].insts[0];
        let value = f.insts[inst].results[0];
        f.blocks[JOIN].terminator = Terminator::Return(smallvec![value]);
    });
    assert_eq!(sideways, [Rule::Dominance]);
    let too_early = broken(|f| f.blocks[ENTRY].insts.reverse());
    assert_eq!(too_early, [Rule::Dominance]);
    let at_edge = broken(|f| {
        let sum = f.blocks[JOIN].params[0];
        for edge in f.blocks[THEN].terminator.edges_mut() {
            edge.args[0] = sum;
        }
    });
    assert_eq!(at_edge, [Rule::Dominance]);
    let binding = broken(|f| {
        let sum = f.blocks[JOIN].params[0];
        f.variables.push(VariableData {
            name: "x".into(),
            type_text: "int".into(),
            declared: Loc::NONE,
            kind: VariableKind::Local,
        });
        f.bindings.push(Binding {
            variable: Variable(0),
            kind: BindingKind::Read,
            values: smallvec![sum],
            part: "".into(),
            loc: Loc::NONE,
            block: THEN,
        });
    });
    assert_eq!(binding, [Rule::Dominance]);
    let own_result = broken(|f| {
        let inst = f.blocks[THEN].insts[0];
        let own = f.insts[inst].results[0];
        f.insts[inst].args[0] = own;
    });
    assert_eq!(own_result, [Rule::Dominance]);
}

#[test]
fn operands() {
    use Type::*;
    let global = MemoryAccess::in_space(Space::Global);
    let add = Op::Binary(BinaryOp::Add, Wrap::MAY);
    let equal = Op::IntCompare(IntCondition::Equal);
    let less = Op::IntCompare(IntCondition::LessSigned);
    let exchange = Op::Atomic(AtomicOp::CompareExchange, global);
    let shuffle = |mask| {
        Op::Warp(WarpOp {
            kind: WarpKind::ShuffleUp,
            mask,
        })
    };
    let good: Vec<(Op, &[Type], &[Type])> = vec![
        (add.clone(), &[I32, I32], &[I32]),
        (equal.clone(), &[Handle, Handle], &[Bool]),
        (less.clone(), &[SHARED, SHARED], &[Bool]),
        (Op::Select, &[Bool, F64, F64], &[F64]),
        (Op::PtrAdd, &[SHARED, I64], &[SHARED]),
        (Op::Convert(Convert::Truncate), &[I64], &[I8]),
        (Op::Convert(Convert::ZeroExtend), &[Bool], &[I32]),
        (Op::Convert(Convert::Bitcast), &[SHARED], &[I64]),
        (Op::Load(global), &[Ptr(Space::Generic)], &[F32, F32]),
        (exchange.clone(), &[Ptr(Space::Global), I32, I32], &[I32]),
        (shuffle(true), &[F32, I32, I32, I32], &[F32]),
        (Op::Binary(BinaryOp::Shl, Wrap::MAY), &[I64, I32], &[I64]),
        (Op::Barrier(Barrier::WorkgroupCount), &[Bool], &[I32]),
        (Op::Special(Special::ThreadId(2)), &[], &[I32]),
    ];
    for (op, args, results) in good {
        assert_eq!(single(op.clone(), args, results), [], "{op:?}");
    }
    let bad: Vec<(Op, &[Type], &[Type])> = vec![
        (add.clone(), &[I32], &[I32]),
        (add.clone(), &[I32, I64], &[I32]),
        (add, &[F32, F32], &[F32]),
        (equal, &[I32, I32], &[I32]),
        (less, &[Handle, Handle], &[Bool]),
        (Op::FloatCompare(FloatCondition::Less), &[I32, I32], &[Bool]),
        (Op::Select, &[I32, F64, F64], &[F64]),
        (Op::Select, &[Bool, F64, F32], &[F64]),
        (Op::PtrAdd, &[SHARED, I32], &[SHARED]),
        (Op::PtrAdd, &[I64, I64], &[I64]),
        (Op::Convert(Convert::Truncate), &[I32], &[I32]),
        (Op::Convert(Convert::SignExtend), &[I64], &[I32]),
        (Op::Convert(Convert::Bitcast), &[I64], &[F32]),
        (Op::Convert(Convert::SignedToFloat), &[F32], &[F32]),
        (Op::Load(global), &[I64], &[F32]),
        (Op::Load(global), &[SHARED], &[F32]),
        (Op::Load(global), &[Ptr(Space::Global)], &[]),
        (Op::Store(global), &[Ptr(Space::Global)], &[]),
        (exchange, &[Ptr(Space::Global), I32], &[I32]),
        (shuffle(true), &[F32, I32, I32], &[F32]),
        (shuffle(false), &[F32, I32, I32], &[I32]),
        (Op::Barrier(Barrier::Workgroup), &[I32], &[]),
        (Op::Special(Special::ThreadId(3)), &[], &[I32]),
        (Op::Special(Special::LaneId), &[], &[F32]),
        (Op::Fma, &[I32, I32, I32], &[I32]),
        (Op::Ternary(TernaryOp::BitInsert), &[I32, I32, I32], &[I32]),
        (Op::Derivative(Derivative::X), &[I32], &[I32]),
        (Op::Fence, &[I32], &[]),
        (Op::Alloca { size: 4, align: 4 }, &[], &[SHARED]),
        (
            Op::ResourceElement {
                non_uniform_marked: false,
            },
            &[Handle, F32],
            &[Handle],
        ),
    ];
    for (op, args, results) in bad {
        assert_eq!(
            single(op.clone(), args, results),
            [Rule::Operands],
            "{op:?}"
        );
    }
}

#[test]
fn calls_match_their_callee() {
    let call = |results: &[Type]| {
        let mut b = FunctionBuilder::new("g", FunctionKind::Kernel, Language::Text);
        let n = b.int(Type::I32, 3);
        b.inst(Op::Call(1), &[n], results);
        b.ret([]);
        let module = Module {
            functions: vec![b.finish(), diamond()],
        };
        verify_module(&module).map_err(|e| e[0].rule)
    };
    assert_eq!(call(&[Type::I32]), Ok(()));
    assert_eq!(call(&[Type::I64]), Err(Rule::Operands));
    let alone = Module {
        functions: vec![{
            let mut b = FunctionBuilder::new("g", FunctionKind::Kernel, Language::Text);
            b.inst(Op::Call(1), &[], &[]);
            b.ret([]);
            b.finish()
        }],
    };
    assert_eq!(
        verify_module(&alone).map_err(|e| e[0].rule),
        Err(Rule::Index)
    );
}

#[test]
fn guard() {
    let guarded = |op: Op, ty: Type, args: &[Type], results: &[Type]| {
        let mut b = FunctionBuilder::new("f", FunctionKind::Device, Language::Text);
        let p = b.parameter("p", "", &[ty])[0];
        let args: Vec<Value> = args
            .iter()
            .map(|&ty| b.parameter("q", "", &[ty])[0])
            .collect();
        let guard = Guard {
            value: p,
            negated: true,
        };
        b.guarded(op, &args, results, Some(guard));
        b.ret([]);
        rules(&b.finish())
    };
    let load = Op::Load(MemoryAccess::in_space(Space::Global));
    let address = [Type::Ptr(Space::Global)];
    assert_eq!(
        guarded(load.clone(), Type::Bool, &address, &[Type::F32]),
        []
    );
    assert_eq!(
        guarded(load, Type::I32, &address, &[Type::F32]),
        [Rule::Guard]
    );
    assert_eq!(
        guarded(
            Op::Unary(UnaryOp::Neg),
            Type::Bool,
            &[Type::I32],
            &[Type::I32]
        ),
        [Rule::Guard]
    );
}

#[test]
fn constant() {
    let of = |ty, bits| single(Op::Const(bits), &[], &[ty]);
    assert_eq!(of(Type::I32, 0xffff_ffff_ffff_ffff), []);
    assert_eq!(of(Type::I32, 0xffff_ffff), [Rule::Constant]);
    assert_eq!(of(Type::Bool, 2), [Rule::Constant]);
    assert_eq!(of(Type::I8, 0x80), [Rule::Constant]);
    assert_eq!(of(Type::F32, 1 << 40), [Rule::Constant]);
    assert_eq!(of(Type::F16, 1 << 16), [Rule::Constant]);
}

#[test]
fn switch() {
    let with = |ty: Type, cases: &[i64]| {
        let mut b = FunctionBuilder::new("f", FunctionKind::Device, Language::Text);
        let value = b.parameter("p", "", &[ty])[0];
        let end = b.create_block();
        let terminator = Terminator::Switch {
            value,
            cases: cases.iter().map(|&c| (c, Edge::to(end))).collect(),
            default: Edge::to(end),
        };
        b.terminate(terminator, BranchKind::Switch);
        b.switch_to(end);
        b.ret([]);
        rules(&b.finish())
    };
    assert_eq!(with(Type::I32, &[1, -2, 3]), []);
    assert_eq!(with(Type::I32, &[1, 2, 1]), [Rule::Switch]);
    assert_eq!(with(Type::I8, &[200]), [Rule::Switch]);
    assert_eq!(with(Type::F32, &[]), [Rule::Switch]);
}

#[test]
fn returns() {
    assert_eq!(broken(|f| f.returns.clear()), [Rule::Return]);
    assert_eq!(broken(|f| f.returns[0] = Type::F32), [Rule::Return]);
}

#[test]
fn parameters() {
    assert_eq!(broken(|f| f.parameters.clear()), [Rule::Parameters]);
    let other = broken(|f| {
        let sum = f.blocks[JOIN].params[0];
        f.parameters[0].values = smallvec![sum];
    });
    assert_eq!(other, [Rule::Parameters]);
}

#[test]
fn index() {
    let place = |f: &mut Function, op: Op| {
        let inst = f.blocks[THEN].insts[0];
        f.insts[inst].op = op;
    };
    for op in [
        Op::SymbolAddress(Symbol(0)),
        Op::Unknown(UnknownId(3)),
        Op::StageInput(0),
    ] {
        assert_eq!(broken(|f| place(f, op)), [Rule::Index]);
    }
    let value = broken(|f| f.blocks[JOIN].terminator = Terminator::Return(smallvec![Value(900)]));
    assert_eq!(value, [Rule::Index]);
    let site = broken(|f| f.blocks[JOIN].loc.site = Site(9));
    assert_eq!(site, [Rule::Index]);
    let parent = broken(|f| f.sites[Site(0)].parent = Some(Site(0)));
    assert_eq!(parent, [Rule::Index]);
    let vector = broken(|f| f.vectors.push(smallvec![Value(900)]));
    assert_eq!(vector, [Rule::Index]);
    let header = broken(|f| {
        f.loops.push(SourceLoop {
            header: Block(40),
            loc: Loc::NONE,
            unroll: None,
            pipeline: None,
            independent: false,
        })
    });
    assert_eq!(header, [Rule::Index]);
    let variable = broken(|f| {
        f.bindings.push(Binding {
            variable: Variable(7),
            kind: BindingKind::Read,
            values: smallvec![],
            part: "".into(),
            loc: Loc::NONE,
            block: JOIN,
        })
    });
    assert_eq!(variable, [Rule::Index]);
}

#[test]
fn an_error_reads_as_a_sentence() {
    let mut function = diamond();
    function.returns.clear();
    let text: Vec<String> = verify(&function)
        .err()
        .into_iter()
        .flatten()
        .map(|e| e.to_string())
        .collect();
    assert_eq!(
        text,
        ["f: b3: returns other types than the function (Return)"]
    );
}
