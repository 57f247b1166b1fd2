//! Arguments of the function itself: where the conventions have them, and those behind `...` one behind the other in memory.

use super::{Selector, put};
use crate::select::Select;
use crate::target::ia64::code::op;
use crate::target::ia64::code::{FrameOffset, Object, Operand, Reference, Virtual};
use ir::{Type, Value};
use isa::ia64::{File, Reg};

impl Selector<'_> {
    pub(super) fn take_arguments(&mut self) {
        let source = self.source;
        let convention = &source.convention;
        let params = source.blocks[source.entry()].params.clone();
        let slots = convention.slots(params.len());
        let (mut floats, mut behind) = (0u8, 0);
        for (at, (&param, slot)) in params.iter().zip(slots).enumerate() {
            let ty = self.ty(param);
            if matches!(ty, Type::F16 | Type::BF16 | Type::Handle | Type::Opaque) {
                self.no_form("parameter", ty);
            }
            let float = ty.is_float();
            let file = match float {
                true => File::Float,
                false => File::General,
            };
            let arrives = self.out.register(file);
            self.out.parameters.push(arrives);
            let Some(slot) = slot else {
                self.out.arrivals.push(Some(Reg::general(8)));
                self.arrived(param, arrives);
                continue;
            };
            behind = slot + 1;
            if slot >= 8 {
                self.out.arrivals.push(None);
                let half = 4 * i64::from(convention.is_half(at));
                self.load_parameter(param, 8 * (slot as i64 - 8) + half);
                continue;
            }
            let from = match float {
                true if floats == 8 => {
                    self.no_form("so many floating-point parameters", ty);
                    None
                }
                true => Some(Reg::float(8 + floats)),
                false => Some(Reg::general(32 + slot as u8)),
            };
            floats += u8::from(float);
            self.out.arrivals.push(from);
            self.arrived(param, arrives);
        }
        self.out.frame.inputs = Some(behind.min(8) as u32);
        if source.variadic {
            self.out.frame.variadic = true;
            self.out.frame.inputs = Some(8);
            self.unnamed = behind;
            self.gather(behind);
        }
    }

    /// Stores arguments without names that arrive in registers in front of those that arrive in memory.
    fn gather(&mut self, first: usize) {
        for slot in first..8 {
            let arrives = self.out.register(File::General);
            self.out.parameters.push(arrives);
            self.out.arrivals.push(Some(Reg::general(32 + slot as u8)));
            let address = self.own(8 * (slot as i64 - 8));
            put!(
                self,
                "st8",
                [Operand::Address(address.into_name())] = [arrives]
            );
            self.touches(Reference {
                object: Object::Unknown,
                bytes: 8,
                volatile: false,
                accessed_as: None,
            });
        }
    }

    /// The address where the arguments without names begin.
    pub(super) fn unnamed(&mut self, result: Value) {
        let address = self.own(8 * (self.unnamed as i64 - 8));
        let to = self.home(result);
        put!(self, "mov", [to] = [address]);
    }

    /// An address so many bytes behind the arguments that arrive in memory.
    fn own(&mut self, bytes: i64) -> Virtual {
        let address = self.general();
        put!(
            self,
            "adds",
            [address] = [
                Operand::Frame(FrameOffset::Argument(bytes)),
                Operand::from(Reg::general(12))
            ]
        );
        address
    }

    fn load_parameter(&mut self, param: Value, bytes: i64) {
        let address = self.own(bytes);
        match self.ty(param) {
            ty @ (Type::F32 | Type::F64) => {
                let mnemonic = if ty == Type::F32 {
                    op!("ldfs")
                } else {
                    op!("ldfd")
                };
                let own = self.home(param);
                put!(
                    self,
                    mnemonic,
                    [own] = [Operand::Address(address.into_name())]
                );
            }
            _ => {
                let value = self.general();
                put!(
                    self,
                    "ld8",
                    [value] = [Operand::Address(address.into_name())]
                );
                self.arrived(param, value);
            }
        }
    }

    fn arrived(&mut self, param: Value, from: Virtual) {
        if !self.widths.needed.contains(&param) {
            return;
        }
        match self.ty(param) {
            Type::Bool => {
                let to = self.home(param);
                put!(self, "tbit.nz", [to, Reg::P0] = [from, 0]);
            }
            _ if self.widths.extends(self.source, param) => self.settle(param, from),
            _ => {
                let to = self.home(param);
                put!(self, "mov", [to] = [from]);
            }
        }
    }
}
