//! Derivatives and textures. Lanes 0 to 3 of a quad are the corners of 2x2 pixels, x first. Derivatives of `X` and `Y`
//! are the fine ones; lanes that do not execute, helper lanes among them, contribute the last value that they had.

use super::access::atomic_result;
use super::machine::{Group, Machine};
use super::observe::{Observer, lanes};
use super::texture::TextureQuery;
use super::warp::Warp;
use super::warp_ops::Row;
use ir::entity::Inst;
use ir::function::Function;
use ir::inst::*;
use ir::numbers::{self, canonical};
use ir::types::Type;
use smallvec::SmallVec;

impl<'m, 'r, O: Observer> Machine<'m, 'r, O> {
    pub(super) fn derivative(
        &mut self,
        warp: &mut Warp,
        function: &Function,
        inst: Inst,
        kind: Derivative,
        mask: u64,
    ) {
        let data = &function.insts[inst];
        let row = self.argument_row(warp, data, 0);
        let ty = data.args.first().map_or(Type::F32, |&v| function.ty(v));
        let width = self.width;
        self.put(warp, data, 0, mask, |lane| {
            let x = quad_difference(&row, ty, width, lane, 1, kind == Derivative::XCoarse);
            let y = quad_difference(&row, ty, width, lane, 2, kind == Derivative::YCoarse);
            match kind {
                Derivative::X | Derivative::XCoarse | Derivative::XFine => x,
                Derivative::Y | Derivative::YCoarse | Derivative::YFine => y,
                Derivative::Width => {
                    let size = |v: u64| numbers::unary(UnaryOp::FloatAbs, ty, ty, v);
                    numbers::binary(BinaryOp::FloatAdd, ty, ty, ty, size(x), size(y))
                }
            }
        });
    }

    pub(super) fn texture(
        &mut self,
        group: &Group<'_>,
        warp: &mut Warp,
        function: &Function,
        inst: Inst,
        access: TextureAccess,
        mask: u64,
    ) {
        let data = &function.insts[inst];
        if access.op.is_opaque() {
            return self.unknown(group, warp, function, inst, mask);
        }
        let rows: SmallVec<[Row; 8]> = data.args.iter().map(|&v| self.row(warp, v)).collect();
        let types: SmallVec<[Type; 8]> = data.args.iter().map(|&v| function.ty(v)).collect();
        let first = 1 + usize::from(access.has_sampler);
        let after = (first + usize::from(access.coordinates)).min(rows.len());
        let first = first.min(after);
        for lane in lanes(mask) {
            let at = lane as usize;
            let handle = rows.first().map_or(0, |row| row[at]);
            let number = |index: usize| numbers::to_f64(types[index], rows[index][at]);
            let coordinates: SmallVec<[f64; 4]> = (first..after).map(number).collect();
            let mut texel = [0i64; 4];
            for (cell, &coordinate) in texel.iter_mut().zip(&coordinates) {
                *cell = coordinate.floor() as i64;
            }
            let key = (handle, texel);
            let extra = (after < rows.len()).then(|| number(after));
            let stored = self.texels.get(&key).copied();
            let read = |component: usize, ty: Type, coordinates: &[f64]| {
                let value = self.launch.textures.value(&TextureQuery {
                    handle,
                    op: access.op,
                    coordinates,
                    extra,
                    component: component as u32,
                    ty,
                });
                numbers::from_f64(ty, value)
            };
            let mut results: SmallVec<[u64; 4]> = SmallVec::new();
            match access.op {
                TextureOp::Store => {
                    let mut cells = [0; 4];
                    for (cell, row) in cells.iter_mut().zip(rows.get(after..).unwrap_or(&[])) {
                        *cell = row[at];
                    }
                    self.texels.insert(key, cells);
                }
                TextureOp::Atomic(op) => {
                    let ty = types.get(after).copied().unwrap_or(Type::I32);
                    let operand = |n: usize| rows.get(after + n).map_or(0, |row| row[at]);
                    let mut cells = stored.unwrap_or([read(0, ty, &coordinates); 4]);
                    results.push(cells[0]);
                    cells[0] = atomic_result(op, ty, cells[0], operand(0), operand(1));
                    self.texels.insert(key, cells);
                }
                TextureOp::CalculateLevel | TextureOp::CalculateLevelUnclamped => {
                    let mut slope = 0f64;
                    for index in first..after {
                        for step in [1, 2] {
                            let ty = types[index];
                            let bits =
                                quad_difference(&rows[index], ty, self.width, at, step, false);
                            slope = slope.max(numbers::to_f64(ty, bits).abs());
                        }
                    }
                    for &result in &data.results {
                        let least = match access.op {
                            TextureOp::CalculateLevel => 1.0,
                            _ => f64::from(f32::MIN_POSITIVE),
                        };
                        let level = (slope * 256.0).max(least).log2();
                        results.push(numbers::from_f64(function.ty(result), level));
                    }
                }
                _ => {
                    let gather = matches!(access.op, TextureOp::Gather | TextureOp::GatherCompare);
                    for (number, &result) in data.results.iter().enumerate() {
                        let ty = function.ty(result);
                        let mut moved = coordinates.clone();
                        if gather {
                            let corner = [(0.0, 1.0), (1.0, 1.0), (1.0, 0.0), (0.0, 0.0)];
                            let (dx, dy) = corner[number % 4];
                            for (cell, by) in moved.iter_mut().zip([dx, dy]) {
                                *cell += by / 256.0;
                            }
                        }
                        let component = if gather { 0 } else { number };
                        results.push(match stored {
                            Some(cells) if access.op == TextureOp::Load => {
                                canonical(ty, cells[number % 4])
                            }
                            _ => read(component, ty, &moved),
                        });
                    }
                }
            }
            for (number, value) in results.into_iter().enumerate() {
                self.put(warp, data, number, 1 << lane, |_| value);
            }
        }
    }
}

/// The difference along the axis with lane stride `step` (1 or 2) of the lane's quad.
fn quad_difference(
    row: &Row,
    ty: Type,
    width: usize,
    lane: usize,
    step: usize,
    coarse: bool,
) -> u64 {
    let low = if coarse { lane & !3 } else { lane & !step };
    let high = low | step;
    if high >= width {
        return 0;
    }
    numbers::binary(BinaryOp::FloatSub, ty, ty, ty, row[high], row[low])
}
