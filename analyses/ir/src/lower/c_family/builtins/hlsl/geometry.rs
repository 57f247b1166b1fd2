//! Functions of whole vectors and matrices.

use super::math::{extremum, fma, numeric};
use super::*;
use crate::entity::Value;
use crate::inst::BinaryOp as Ir;
use crate::lower::c_family::value::Parts;
use ast::BinaryOp as B;

pub(super) fn call(
    cx: &mut Context<'_>,
    name: &str,
    arguments: &[Argument],
    span: Span,
) -> Option<RValue> {
    Some(match (name, arguments) {
        ("all" | "any", [a]) => {
            let a = numeric(cx, a)?;
            let ty = a.ty.with_element(CType::Bool);
            let bits = cx.convert(a, &ty, span);
            let op = if name == "all" { Ir::And } else { Ir::Or };
            let mut parts = bits.parts.iter().copied();
            let first = parts.next()?;
            let v = parts.fold(first, |x, y| cx.builder.binary(op, Wrap::MAY, x, y));
            RValue::scalar(CType::Bool, v)
        }
        ("dot", [_, _]) => {
            let v = unified(cx, arguments, span)?;
            dot(cx, &v[0], &v[1])?
        }
        ("length", [a]) => {
            let a = numeric(cx, a)?;
            let a = as_float(cx, a, span);
            length(cx, &a)?
        }
        ("distance", [_, _]) => {
            let v = unified_floats(cx, arguments, span)?;
            let d = op2(cx, B::Sub, &v[0], &v[1], span);
            length(cx, &d)?
        }
        ("normalize", [a]) => {
            let a = numeric(cx, a)?;
            let a = as_float(cx, a, span);
            let square = dot(cx, &a, &a)?;
            let scale = cx.builder.unary(UnaryOp::Rsqrt, square.first()?);
            let scale = RValue::scalar(square.ty, scale);
            op2(cx, B::Mul, &a, &scale, span)
        }
        ("cross", [_, _]) => {
            let v = unified_floats(cx, arguments, span)?;
            let ty = CType::vector(v[0].ty.element().clone(), 3);
            let a = cx.convert(v[0].clone(), &ty, span);
            let b = cx.convert(v[1].clone(), &ty, span);
            let parts: Parts = [(1, 2), (2, 0), (0, 1)]
                .into_iter()
                .map(|(i, j)| {
                    let x = times(cx, a.parts[i], b.parts[j]);
                    let y = times(cx, a.parts[j], b.parts[i]);
                    cx.builder.binary(Ir::FloatSub, Wrap::MAY, x, y)
                })
                .collect();
            cx.builder.vector(&parts);
            RValue::new(ty, parts)
        }
        ("reflect", [_, _]) => {
            let v = unified_floats(cx, arguments, span)?;
            let d = dot(cx, &v[0], &v[1])?;
            let two = literal(cx, 2.0, &d.ty);
            let d = op2(cx, B::Mul, &d, &two, span);
            let along = op2(cx, B::Mul, &v[1], &d, span);
            op2(cx, B::Sub, &v[0], &along, span)
        }
        ("refract", [_, _, eta]) => {
            let v = unified_floats(cx, &arguments[..2], span)?;
            let eta = numeric(cx, eta)?;
            let eta = cx.convert(eta, &v[0].ty.element().clone(), span);
            refract(cx, &v[0], &v[1], &eta, span)?
        }
        ("faceforward", [_, _, _]) => {
            let v = unified_floats(cx, arguments, span)?;
            let d = dot(cx, &v[1], &v[2])?;
            let zero = literal(cx, 0.0, &d.ty);
            let front = cx
                .builder
                .float_compare(FloatCondition::Less, d.first()?, zero.first()?);
            let minus = cx.negate(v[0].clone(), span);
            let element = v[0].ty.element().clone();
            cx.map2(&v[0], &minus, &element, |cx, x, y| {
                cx.builder.select(front, x, y)
            })
        }
        ("dst", [_, _]) => {
            let v = unified_floats(cx, arguments, span)?;
            let ty = CType::vector(v[0].ty.element().clone(), 4);
            if v[0].ty != ty {
                return None;
            }
            let one = literal(cx, 1.0, &ty).first()?;
            let y = times(cx, v[0].parts[1], v[1].parts[1]);
            RValue::new(ty, [one, y, v[0].parts[2], v[1].parts[3]])
        }
        ("lit", [_, _, _]) => {
            let v = unified_floats(cx, arguments, span)?;
            let element = v[0].ty.element().clone();
            let zero = literal(cx, 0.0, &element);
            let one = literal(cx, 1.0, &element);
            let diffuse = extremum(cx, true, &v[0], &zero);
            let power = cx
                .builder
                .binary(Ir::Pow, Wrap::MAY, v[1].first()?, v[2].first()?);
            let lowest = extremum(cx, false, &v[0], &v[1]);
            let dark =
                cx.builder
                    .float_compare(FloatCondition::Less, lowest.first()?, zero.first()?);
            let specular = cx.builder.select(dark, zero.first()?, power);
            let one = one.first()?;
            let parts = [one, diffuse.first()?, specular, one];
            RValue::new(CType::vector(element, 4), parts)
        }
        ("transpose", [a]) => {
            let a = numeric(cx, a)?;
            let CType::Matrix {
                element,
                rows,
                columns,
            } = &a.ty
            else {
                return Some(a);
            };
            let (rows, columns) = (*rows as usize, *columns as usize);
            let ty = CType::matrix((**element).clone(), columns as u8, rows as u8);
            let parts: Parts = (0..columns)
                .flat_map(|c| (0..rows).map(move |r| (r, c)))
                .map(|(r, c)| a.parts[r * columns + c])
                .collect();
            cx.builder.vector(&parts);
            RValue::new(ty, parts)
        }
        ("determinant", [a]) => {
            let a = numeric(cx, a)?;
            let a = as_float(cx, a, span);
            let n = match &a.ty {
                CType::Matrix { rows, columns, .. } if rows == columns => *rows as usize,
                _ => return None,
            };
            let columns: Vec<usize> = (0..n).collect();
            let v = determinant(cx, &a.parts, n, 0, &columns);
            RValue::scalar(a.ty.element().clone(), v)
        }
        ("mul", [_, _]) => mul(cx, arguments, span)?,
        _ => return None,
    })
}

fn times(cx: &mut Context<'_>, a: Value, b: Value) -> Value {
    cx.builder.binary(Ir::FloatMul, Wrap::MAY, a, b)
}

/// Sum of products in order, a fused step each for floats.
fn sum_of_products(
    cx: &mut Context<'_>,
    pairs: &[(Value, Value)],
    element: &CType,
) -> Option<Value> {
    let (&(a, b), rest) = pairs.split_first()?;
    let mut sum = cx.scalar_op(B::Mul, a, b, element);
    for &(a, b) in rest {
        sum = if element.is_float() {
            let ty = cx.builder.function.ty(sum);
            cx.builder.value(Op::Fma, &[a, b, sum], ty)
        } else {
            let product = cx.scalar_op(B::Mul, a, b, element);
            cx.scalar_op(B::Add, sum, product, element)
        };
    }
    Some(sum)
}

pub(super) fn dot(cx: &mut Context<'_>, a: &RValue, b: &RValue) -> Option<RValue> {
    let element = a.ty.element().clone();
    let pairs: Vec<(Value, Value)> = a
        .parts
        .iter()
        .copied()
        .zip(b.parts.iter().copied())
        .collect();
    let v = sum_of_products(cx, &pairs, &element)?;
    Some(RValue::scalar(element, v))
}

fn length(cx: &mut Context<'_>, a: &RValue) -> Option<RValue> {
    let square = dot(cx, a, a)?;
    let v = cx.builder.unary(UnaryOp::Sqrt, square.first()?);
    Some(RValue::scalar(square.ty, v))
}

/// k = 1 - eta^2 (1 - (n.i)^2); zero when k < 0, else eta i - (eta n.i + sqrt k) n.
fn refract(
    cx: &mut Context<'_>,
    i: &RValue,
    n: &RValue,
    eta: &RValue,
    span: Span,
) -> Option<RValue> {
    let d = dot(cx, n, i)?;
    let one = literal(cx, 1.0, &d.ty);
    let zero = literal(cx, 0.0, &d.ty);
    let square = op2(cx, B::Mul, &d, &d, span);
    let rest = op2(cx, B::Sub, &one, &square, span);
    let eta2 = op2(cx, B::Mul, eta, eta, span);
    let scaled = op2(cx, B::Mul, &eta2, &rest, span);
    let k = op2(cx, B::Sub, &one, &scaled, span);
    let total = cx
        .builder
        .float_compare(FloatCondition::Less, k.first()?, zero.first()?);
    let root = cx.builder.unary(UnaryOp::Sqrt, k.first()?);
    let root = RValue::scalar(k.ty.clone(), root);
    let along = fma(cx, eta, &d, &root);
    let incoming = op2(cx, B::Mul, i, eta, span);
    let normal = op2(cx, B::Mul, n, &along, span);
    let direction = op2(cx, B::Sub, &incoming, &normal, span);
    let zero = zero.first()?;
    let element = direction.ty.element().clone();
    Some(cx.map(&direction, &element, |cx, v| {
        cx.builder.select(total, zero, v)
    }))
}

/// Laplace expansion along the first remaining row; matrices have at most four.
fn determinant(
    cx: &mut Context<'_>,
    parts: &[Value],
    n: usize,
    row: usize,
    columns: &[usize],
) -> Value {
    let at = |c: usize| parts[row * n + c];
    let Some((&first, rest)) = columns.split_first() else {
        let ty = cx.builder.function.ty(parts[0]);
        return cx.builder.float(ty, 1.0);
    };
    if rest.is_empty() {
        return at(first);
    }
    let mut sum = None;
    for (number, &column) in columns.iter().enumerate() {
        let others: Vec<usize> = columns.iter().copied().filter(|&c| c != column).collect();
        let minor = determinant(cx, parts, n, row + 1, &others);
        let term = times(cx, at(column), minor);
        sum = Some(match sum {
            None => term,
            Some(sum) => {
                let op = if number % 2 == 0 {
                    Ir::FloatAdd
                } else {
                    Ir::FloatSub
                };
                cx.builder.binary(op, Wrap::MAY, sum, term)
            }
        });
    }
    sum.unwrap_or(parts[0])
}

/// A value seen as a matrix: rows, columns.
fn shape(ty: &CType, left: bool) -> Option<(usize, usize)> {
    Some(match ty {
        CType::Matrix { rows, columns, .. } => (*rows as usize, *columns as usize),
        CType::Vector { n, .. } if left => (1, *n as usize),
        CType::Vector { n, .. } => (*n as usize, 1),
        ty if ty.is_arithmetic() => (1, 1),
        _ => return None,
    })
}

/// `mul`: a scalar scales, two vectors give their dot product, a vector is a row on the left and a column on the
/// right. Dimensions that disagree are cut to the smaller.
fn mul(cx: &mut Context<'_>, arguments: &[Argument], span: Span) -> Option<RValue> {
    let a = numeric(cx, &arguments[0])?;
    let b = numeric(cx, &arguments[1])?;
    if a.ty.is_arithmetic() || b.ty.is_arithmetic() {
        return Some(cx.arithmetic(B::Mul, a, b, span));
    }
    let element = cx.common_scalar(a.ty.element(), b.ty.element());
    let (at, bt) = (
        a.ty.with_element(element.clone()),
        b.ty.with_element(element.clone()),
    );
    let (a, b) = (cx.convert(a, &at, span), cx.convert(b, &bt, span));
    let (rows, inner_a) = shape(&a.ty, true)?;
    let (inner_b, columns) = shape(&b.ty, false)?;
    let inner = inner_a.min(inner_b);
    let mut parts = Parts::new();
    for r in 0..rows {
        for c in 0..columns {
            let pairs: Vec<(Value, Value)> = (0..inner)
                .map(|k| (a.parts[r * inner_a + k], b.parts[k * columns + c]))
                .collect();
            parts.push(sum_of_products(cx, &pairs, &element)?);
        }
    }
    cx.builder.vector(&parts);
    let left_vector = matches!(a.ty, CType::Vector { .. });
    let right_vector = matches!(b.ty, CType::Vector { .. });
    let ty = match (left_vector, right_vector) {
        (true, true) => element,
        (true, false) => CType::vector(element, columns as u8),
        (false, true) => CType::vector(element, rows as u8),
        (false, false) => CType::matrix(element, rows as u8, columns as u8),
    };
    Some(RValue::new(ty, parts))
}
