//! A kernel for each operation and type: `out[i] = op(a[i], b[i], c[i])` over numbers at the edges of the type and random
//! ones.

use crate::lanes;
use ir::builder::FunctionBuilder;
use ir::text::Named;
use ir::*;
use oracle::interp::{Argument, Buffer, Launch};
use oracle::random::Random;

/// A kernel with the launch that suits it.
pub(crate) struct Operation {
    pub(crate) name: String,
    pub(crate) module: Module,
    pub(crate) launch: Launch,
    /// Relative and absolute, where the instructions promise less than those of most operations.
    pub(crate) tolerance: Option<(f64, f64)>,
}

pub(crate) const BLOCK: u32 = 64;
const INTS: [Type; 4] = [Type::I8, Type::I16, Type::I32, Type::I64];
const FLOATS: [Type; 4] = [Type::F16, Type::BF16, Type::F32, Type::F64];

/// Every value of a type that the text form of the IR names.
pub(crate) fn every<T: Named>() -> impl Iterator<Item = T> {
    T::ALL.iter().map(|(it, _)| *it)
}

/// Numbers of a type as bits: the edges, then random ones.
pub(crate) fn numbers(ty: Type, count: usize) -> Vec<u64> {
    let mut random = Random::new(0x0be7 ^ u64::from(ty.bits()) << 8 ^ u64::from(ty.is_float()));
    let mut out: Vec<u64> = match ty {
        Type::Bool => vec![0, 1],
        Type::F16 | Type::BF16 | Type::F32 | Type::F64 => {
            let finite: [f64; 33] = [
                0.0,
                -0.0,
                1.0,
                -1.0,
                0.5,
                -0.5,
                1.5,
                2.5,
                -2.5,
                -1.5,
                3.25,
                0.001,
                -0.001,
                10.0,
                -7.25,
                127.5,
                128.0,
                -128.5,
                255.5,
                256.0,
                32767.0,
                -32769.0,
                65504.0,
                65535.7,
                2_147_483_648.0,
                -2_147_483_904.0,
                4_294_967_296.0,
                8_388_609.0,
                9.3e18,
                -9.3e18,
                1.9e19,
                1e-40,
                3.0e38,
            ];
            let (infinite, least, largest_subnormal, nan) = match ty {
                Type::F16 => (0x7c00u64, 1u64, 0x03ff, 0x7fff),
                Type::BF16 => (0x7f80, 1, 0x007f, 0x7fff),
                Type::F32 => (0x7f80_0000, 1, 0x007f_ffff, 0x7fff_ffff),
                _ => (0x7ff0 << 48, 1, 0x000f_ffff_ffff_ffff, 0x7ff8 << 48),
            };
            let sign = 1u64 << (ty.bits() - 1);
            let edges = [
                infinite,
                infinite | sign,
                least,
                least | sign,
                largest_subnormal,
                largest_subnormal + 1,
                infinite - 1,
                nan,
            ];
            let finite = finite.map(|number| ir::numbers::from_f64(ty, number));
            edges.into_iter().chain(finite).collect()
        }
        ty => {
            let top = 1u64 << (ty.bits() - 1);
            let small: Vec<u64> = [
                0i64, 1, -1, 2, -2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 127, -128, 255,
            ]
            .map(|number| number as u64)
            .to_vec();
            let edges = [
                top,
                top - 1,
                top + 1,
                0x5555_5555_5555_5555,
                0x0123_4567_89ab_cdef,
            ];
            small.into_iter().chain(edges).collect()
        }
    };
    while out.len() < count && ty != Type::Bool {
        let bits = random.draw();
        let number = match ty {
            _ if !ty.is_float() => bits >> random.below(ty.bits().max(1)),
            // Of moderate size, half of them: random bits are mostly huge or tiny.
            ty if random.percent(50) => {
                let whole = random.between(-1_000_000, 1_000_000) as f64;
                ir::numbers::from_f64(ty, whole / f64::from(1 << random.below(20)))
            }
            _ => bits,
        };
        out.push(number);
    }
    out.iter()
        .map(|&bits| ir::numbers::canonical(ty, bits))
        .collect()
}

/// Rows of operands: all pairs of two, else random ones beside the edges in turn.
fn rows(types: &[Type]) -> Vec<Vec<u64>> {
    let per = match types.len() {
        1 => 256,
        _ => 48,
    };
    let lists: Vec<Vec<u64>> = types.iter().map(|&ty| numbers(ty, per)).collect();
    let mut rows: Vec<Vec<u64>> = match lists.as_slice() {
        [found] => found.iter().map(|&bits| vec![bits]).collect(),
        [a, b] => a
            .iter()
            .flat_map(|&x| b.iter().map(move |&y| vec![x, y]))
            .collect(),
        lists => {
            let mut random = Random::new(0x7e57);
            (0..1536)
                .map(|_| lists.iter().map(|list| *random.pick(list)).collect())
                .collect()
        }
    };
    while !rows.len().is_multiple_of(BLOCK as usize) {
        let again = rows[rows.len() % rows.len().min(17)].clone();
        rows.push(again);
    }
    rows
}

pub(crate) struct Frame {
    pub(crate) b: FunctionBuilder,
    pub(crate) out: Value,
    /// Eight bytes a lane.
    pub(crate) offset: Value,
    pub(crate) operands: Vec<Value>,
}

/// Loads the operands of this lane.
pub(crate) fn open(language: Language, types: &[Type]) -> Frame {
    let mut b = FunctionBuilder::new("k", FunctionKind::Kernel, language);
    let pointer = Type::Ptr(Space::Global);
    let out = b.parameter("out", "long*", &[pointer])[0];
    let places: Vec<Value> = (0..types.len())
        .map(|n| b.parameter(format!("in{n}"), "const long*", &[pointer])[0])
        .collect();
    let tid = b.special(Special::ThreadId(0), Type::I32);
    let group = b.special(Special::BlockId(0), Type::I32);
    let size = b.int(Type::I32, i64::from(BLOCK));
    let start = b.binary(BinaryOp::Mul, Wrap::MAY, group, size);
    let index = b.binary(BinaryOp::Add, Wrap::MAY, start, tid);
    let index = b.convert(Convert::ZeroExtend, index, Type::I64);
    let eight = b.int(Type::I64, 8);
    let offset = b.binary(BinaryOp::Mul, Wrap::MAY, index, eight);
    let access = MemoryAccess::in_space(Space::Global);
    let operands = types
        .iter()
        .zip(places)
        .map(|(&ty, place)| {
            let address = b.ptr_add(place, offset);
            match ty {
                Type::Bool => {
                    let word = b.load(access, address, Type::I32);
                    b.convert(Convert::ToBool, word, Type::Bool)
                }
                ty => b.load(access, address, ty),
            }
        })
        .collect();
    Frame {
        b,
        out,
        offset,
        operands,
    }
}

impl Frame {
    /// Stores a result of this lane, the n-th.
    pub(crate) fn store(&mut self, value: Value, number: i64, lanes: i64) {
        let base = self.b.int(Type::I64, number * lanes * 8);
        let base = self.b.ptr_add(self.out, base);
        let address = self.b.ptr_add(base, self.offset);
        let value = match self.b.function.ty(value) {
            Type::Bool => {
                let (yes, no) = (self.b.int(Type::I32, 1), self.b.int(Type::I32, 0));
                self.b.select(value, yes, no)
            }
            _ => value,
        };
        let access = MemoryAccess::in_space(Space::Global);
        self.b.store(access, address, &[value]);
    }
    pub(crate) fn finish(mut self) -> Option<Module> {
        self.b.ret([]);
        let module = Module {
            functions: vec![self.b.finish()],
        };
        verify_module(&module).is_ok().then_some(module)
    }
}

pub(crate) fn launch(rows: &[Vec<u64>], results: usize) -> Launch {
    let mut launch = Launch::new(BLOCK);
    launch.grid = [rows.len() as u32 / BLOCK, 1, 1];
    launch
        .buffers
        .push(Buffer::global(vec![0; rows.len() * 8 * results]));
    for operand in 0..rows[0].len() {
        let bytes = rows
            .iter()
            .flat_map(|row| row[operand].to_le_bytes())
            .collect();
        launch.buffers.push(Buffer::global(bytes));
    }
    launch.parameters = (0..launch.buffers.len())
        .map(|buffer| Argument::Pointer { buffer, offset: 0 })
        .collect();
    launch
}

/// One operation on operands of these types.
fn one(
    name: String,
    language: Language,
    op: Op,
    types: &[Type],
    result: Type,
) -> Option<Operation> {
    let divides = divides(&op);
    let mut rows = rows(types);
    let tolerance = approximation(&op, language, types);
    if let Some(approximation) = &tolerance {
        let good = rows
            .iter()
            .find(|row| (approximation.holds)(types, row))?
            .clone();
        for row in &mut rows {
            if !(approximation.holds)(types, row) {
                row.clone_from(&good);
            }
        }
    }
    let tolerance = tolerance.and_then(|approximation| approximation.tolerance);
    let module = applied(language, op, types, result)?;
    for row in rows.iter_mut().filter(|row| divides && row[1] == 0) {
        row[1] = 6;
    }
    let launch = launch(&rows, 1);
    Some(Operation {
        name,
        module,
        launch,
        tolerance,
    })
}

/// The promise of an approximation of the hardware (PTX ISA: div.approx, sin, cos, tanh, ex2, lg2), and the
/// operands for which it holds.
struct Approximation {
    holds: fn(&[Type], &[u64]) -> bool,
    tolerance: Option<(f64, f64)>,
}

fn approximation(op: &Op, language: Language, types: &[Type]) -> Option<Approximation> {
    if types[0] == Type::F64
        || (language != Language::Hlsl && *op != Op::Ternary(TernaryOp::SmoothStep))
    {
        return None;
    }
    // A result of 16 bits may be the next number.
    let tolerance = match types[0] {
        Type::F16 => Some((1.0 / 512.0, 1e-7)),
        Type::BF16 => Some((1.0 / 64.0, 1e-30)),
        _ => None,
    };
    let holds: fn(&[Type], &[u64]) -> bool = match op {
        Op::Unary(UnaryOp::Sin | UnaryOp::Cos) => {
            |types, row| number(types, row, 0).abs() <= std::f64::consts::PI
        }
        Op::Unary(UnaryOp::Tan) => |types, row| number(types, row, 0).abs() <= 1.25,
        Op::Unary(UnaryOp::Tanh) => {
            let coarse = tolerance.or(Some((1.0 / 1024.0, 1e-6)));
            return Some(Approximation {
                holds: |_, _| true,
                tolerance: coarse,
            });
        }
        Op::Binary(BinaryOp::FloatDiv, _) => {
            |types, row| number(types, row, 0).is_finite() && divisor(number(types, row, 1))
        }
        Op::Binary(BinaryOp::FloatRem, _) => {
            let coarse = tolerance.or(Some((1e-4, 1e-5)));
            let holds = |types: &[Type], row: &[u64]| {
                let (x, y) = (number(types, row, 0), number(types, row, 1));
                let ratio = x / y;
                // Beside a whole quotient a rest may be the divisor.
                (0.1..16.0).contains(&y.abs())
                    && ratio.abs() < 64.0
                    && (ratio - ratio.round()).abs() > 0.01
            };
            return Some(Approximation {
                holds,
                tolerance: coarse,
            });
        }
        Op::Binary(BinaryOp::Pow, _) => {
            let coarse = tolerance.or(Some((1e-4, 1e-20)));
            let holds = |types: &[Type], row: &[u64]| {
                let (x, y) = (number(types, row, 0), number(types, row, 1));
                x > 1e-30 && x.is_finite() && (x.log2() * y).abs() < 14.0 && y.abs() < 64.0
            };
            return Some(Approximation {
                holds,
                tolerance: coarse,
            });
        }
        Op::Binary(BinaryOp::Ldexp, _) => {
            |types, row| number(types, row, 0).is_finite() && number(types, row, 1).abs() < 100.0
        }
        Op::Ternary(TernaryOp::SmoothStep) => |types, row| {
            let [low, high, x] = [0, 1, 2].map(|n| number(types, row, n));
            [low, high, x].into_iter().all(|n| n.abs() < 1e30) && divisor(high - low)
        },
        _ if tolerance.is_some() => |_, _| true,
        _ => return None,
    };
    Some(Approximation { holds, tolerance })
}

fn number(types: &[Type], row: &[u64], operand: usize) -> f64 {
    ir::numbers::to_f64(types[operand], row[operand])
}

/// Returns whether a number is a divisor for which the quotient does not become zero by its size.
fn divisor(number: f64) -> bool {
    (2f64.powi(-125)..2f64.powi(125)).contains(&number.abs())
}

fn divides(op: &Op) -> bool {
    matches!(
        op,
        Op::Binary(
            BinaryOp::DivSigned
                | BinaryOp::DivUnsigned
                | BinaryOp::RemSigned
                | BinaryOp::RemUnsigned,
            _
        )
    )
}

fn applied(language: Language, op: Op, types: &[Type], result: Type) -> Option<Module> {
    let mut frame = open(language, types);
    let operands = frame.operands.clone();
    let value = frame.b.value(op, &operands, result);
    frame.store(value, 0, 0);
    frame.finish()
}

/// Returns operations whose results the IR leaves open, and the interpreter decides in one way.
pub(crate) fn unspecified() -> Vec<Operation> {
    let ops = [
        BinaryOp::DivSigned,
        BinaryOp::DivUnsigned,
        BinaryOp::RemSigned,
        BinaryOp::RemUnsigned,
    ];
    let of = |op: BinaryOp, ty: Type| {
        let mut rows: Vec<Vec<u64>> = rows(&[ty]);
        for row in &mut rows {
            row.push(0);
        }
        Some(Operation {
            name: format!("cuda {op:?} {ty} by zero"),
            module: applied(Language::Cuda, Op::Binary(op, Wrap::MAY), &[ty, ty], ty)?,
            launch: launch(&rows, 1),
            tolerance: None,
        })
    };
    let pairs = ops
        .into_iter()
        .flat_map(|op| INTS.into_iter().map(move |ty| (op, ty)));
    pairs.filter_map(|(op, ty)| of(op, ty)).collect()
}

/// A kernel that stores its parameter, for each type and some values.
fn parameters(out: &mut Vec<Operation>) {
    for ty in INTS.into_iter().chain(FLOATS).chain([Type::Bool]) {
        for (number, bits) in numbers(ty, 4).into_iter().take(4).enumerate() {
            let mut frame = open(Language::Cuda, &[]);
            let value = frame.b.parameter("value", ty.to_string(), &[ty])[0];
            let again = frame.b.parameter("again", ty.to_string(), &[ty])[0];
            frame.store(value, 0, 0);
            frame.store(again, 1, i64::from(BLOCK));
            let Some(module) = frame.finish() else {
                continue;
            };
            let mut launch = Launch::new(BLOCK);
            launch
                .buffers
                .push(Buffer::global(vec![0; 16 * BLOCK as usize]));
            launch.parameters = vec![
                Argument::Pointer {
                    buffer: 0,
                    offset: 0,
                },
                Argument::Bits(bits),
                Argument::Bits(ir::numbers::canonical(ty, 1)),
            ];
            out.push(Operation {
                name: format!("cuda parameter {ty} {number}"),
                module,
                launch,
                tolerance: None,
            });
        }
    }
}

pub(crate) fn all() -> Vec<Operation> {
    let mut out = Vec::new();
    for (language, tag) in [(Language::Cuda, "cuda"), (Language::Hlsl, "hlsl")] {
        let shader = language == Language::Hlsl;
        let types = || INTS.into_iter().chain(FLOATS).chain([Type::Bool]);
        for ty in types().filter(|ty| !shader || ty.is_float()) {
            for op in every::<UnaryOp>() {
                let results = match op {
                    UnaryOp::PopCount
                    | UnaryOp::CountLeadingZeros
                    | UnaryOp::CountTrailingZeros
                    | UnaryOp::FindHighBitUnsigned
                    | UnaryOp::FindHighBitSigned
                    | UnaryOp::FindFirstSet => vec![Type::I32, Type::I64],
                    UnaryOp::IsNan | UnaryOp::IsInf | UnaryOp::IsFinite | UnaryOp::SignBit => {
                        vec![Type::Bool]
                    }
                    UnaryOp::OtherMath => vec![],
                    _ => vec![ty],
                };
                for result in results {
                    let name = format!("{tag} {op:?} {ty} {result}");
                    out.extend(one(name, language, Op::Unary(op), &[ty], result));
                }
            }
            for op in every::<BinaryOp>() {
                let second = if op == BinaryOp::Ldexp { Type::I32 } else { ty };
                let name = format!("{tag} {op:?} {ty}");
                let op = Op::Binary(op, Wrap::MAY);
                out.extend(one(name, language, op, &[ty, second], ty));
            }
            let name = format!("{tag} Fma {ty}");
            out.extend(one(name, language, Op::Fma, &[ty; 3], ty));
            if shader {
                let name = format!("{tag} SmoothStep {ty}");
                let op = Op::Ternary(TernaryOp::SmoothStep);
                out.extend(one(name, language, op, &[ty; 3], ty));
                continue;
            }
            for op in every::<TernaryOp>() {
                let name = format!("{tag} {op:?} {ty}");
                if op == TernaryOp::Lop3 {
                    continue;
                }
                let count = if op == TernaryOp::BitInsert { 4 } else { 3 };
                out.extend(one(name, language, Op::Ternary(op), &vec![ty; count], ty));
            }
            for condition in every::<IntCondition>() {
                let name = format!("{tag} {condition:?} {ty}");
                out.extend(one(
                    name,
                    language,
                    Op::IntCompare(condition),
                    &[ty; 2],
                    Type::Bool,
                ));
            }
            for condition in every::<FloatCondition>() {
                let name = format!("{tag} {condition:?} {ty}");
                out.extend(one(
                    name,
                    language,
                    Op::FloatCompare(condition),
                    &[ty; 2],
                    Type::Bool,
                ));
            }
            let name = format!("{tag} Select {ty}");
            out.extend(one(name, language, Op::Select, &[Type::Bool, ty, ty], ty));
            for kind in every::<Convert>() {
                for to in types() {
                    let name = format!("{tag} {kind:?} {ty} to {to}");
                    out.extend(one(name, language, Op::Convert(kind), &[ty], to));
                }
            }
        }
    }
    for table in [0x96, 0xe8, 0x1b, 0x40] {
        out.extend(lop3(table));
    }
    parameters(&mut out);
    lanes::across(&mut out);
    lanes::atomics(&mut out);
    out
}

fn lop3(table: i64) -> Option<Operation> {
    let types = [Type::I32; 3];
    let mut frame = open(Language::Cuda, &types);
    let mut operands = frame.operands.clone();
    operands.push(frame.b.int(Type::I32, table));
    let value = frame
        .b
        .value(Op::Ternary(TernaryOp::Lop3), &operands, Type::I32);
    frame.store(value, 0, 0);
    Some(Operation {
        name: format!("cuda Lop3 {table:#x}"),
        module: frame.finish()?,
        launch: launch(&rows(&types), 1),
        tolerance: None,
    })
}
