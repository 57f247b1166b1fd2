//! CUDA's builtin functions, by tables: math, integers, conversions, half types, warp and barrier operations, atomics,
//! cached loads, textures, cooperative groups, and the little of the C and C++ libraries that device code uses.
//!
//! A name arrives with its namespaces; `std::`, `cuda::std::`, `cuda::` and `cooperative_groups::` are looked through. A method
//! of an opaque object (`tile.shfl_down(v, 1)`) arrives at `method` with the object as its first argument.

mod atomics;
mod conversion;
mod groups;
mod half;
mod integer;
mod math;
mod memory;
mod names;
pub(super) mod synchronization;
mod texture;
mod warp;

pub use groups::method;
pub use names::named_value;

use super::BuiltinTemplateArgument;
use crate::entity::Value;
use crate::inst::Op;
use crate::lower::c_family::context::Context;
use crate::lower::c_family::types::CType;
use crate::lower::c_family::value::{Argument, RValue};
use crate::types::Type;
use syntax::Span;

/// `None`: not a builtin, or its arguments do not fit.
pub fn call(
    cx: &mut Context<'_>,
    name: &str,
    template_arguments: &[BuiltinTemplateArgument],
    arguments: &[Argument],
    span: Span,
) -> Option<RValue> {
    cx.here(span);
    let call = Call {
        name: plain(name),
        types: template_arguments,
        arguments,
        span,
    };
    library(cx, name, &call)
        .or_else(|| math::call(cx, &call))
        .or_else(|| warp::call(cx, &call))
        .or_else(|| memory::call(cx, &call))
        .or_else(|| atomics::call(cx, &call))
        .or_else(|| integer::call(cx, &call))
        .or_else(|| conversion::call(cx, &call))
        .or_else(|| half::call(cx, &call))
        .or_else(|| texture::call(cx, &call))
        .or_else(|| groups::call(cx, &call))
        .or_else(|| synchronization::call(cx, &call))
}

/// A mathematical function of so many numbers, in whichever of the namespaces that are looked through.
pub fn is_math(name: &str, arguments: usize) -> bool {
    math::is_function(plain(name), arguments)
}

/// A call of a builtin.
struct Call<'a> {
    /// The name without the namespaces that are looked through.
    name: &'a str,
    types: &'a [BuiltinTemplateArgument],
    arguments: &'a [Argument],
    span: Span,
}

fn plain(name: &str) -> &str {
    let mut name = name.trim_start_matches("::");
    for prefix in [
        "cuda::std::",
        "std::",
        "cuda::",
        "cooperative_groups::",
        "cg::",
        "__nv_",
    ] {
        name = name.strip_prefix(prefix).unwrap_or(name);
    }
    name
}

impl Call<'_> {
    fn count(&self) -> usize {
        self.arguments.len()
    }
    fn argument(&self, number: usize) -> Option<&Argument> {
        self.arguments.get(number)
    }
    fn ty(&self, number: usize) -> Option<&CType> {
        self.arguments.get(number).map(|a| a.ty().value_type())
    }
    /// The argument's scalar, converted.
    fn scalar(&self, cx: &mut Context<'_>, number: usize, ty: &CType) -> Option<Value> {
        let value = self.argument(number)?.value.clone();
        let converted = cx.convert(value, ty, self.span);
        cx.here(self.span);
        converted.first()
    }
    /// Writes a value to the place behind a pointer argument, or to the argument's own place if it is a reference.
    fn write(&self, cx: &mut Context<'_>, number: usize, value: RValue) -> Option<()> {
        let argument = self.argument(number)?;
        let place = if argument.ty().value_type().is_pointer() {
            cx.dereference(&argument.value, self.span)
        } else {
            argument.place.clone()?
        };
        cx.store(&place, value, self.span);
        Some(())
    }
    /// A call whose result and effects are not modelled: the operands that are scalars take part, and so do the addresses
    /// of variables, which the call may write.
    fn opaque(&self, cx: &mut Context<'_>, result: &CType, pure: bool) -> RValue {
        let mut operands: Vec<Value> = Vec::new();
        let mut copies = Vec::new();
        for argument in self.arguments {
            let value = match pure {
                true => argument.value.clone(),
                false => cx.given_address(argument.value.clone(), &mut copies, self.span),
            };
            operands.extend(value.parts);
        }
        cx.here(self.span);
        let types = cx.structs.parts(result).unwrap_or_default();
        let op = Op::CallUnknown {
            name: self.name.into(),
            pure,
            convention: Default::default(),
        };
        let inst = cx.builder.inst(op, &operands, &types);
        let parts: Vec<Value> = cx.builder.results(inst).to_vec();
        cx.bring_back(copies, self.span);
        RValue::new(result.clone(), parts)
    }
}

/// The IR's type of a scalar; any other type becomes opaque.
fn ir_type(ty: &CType) -> Type {
    ty.scalar_ir().unwrap_or(Type::Opaque)
}

/// An integer result of type `int` from a truth value.
fn int_of(cx: &mut Context<'_>, truth: Value) -> RValue {
    let value = cx.convert_scalar(truth, &CType::Bool, &CType::INT);
    RValue::scalar(CType::INT, value)
}

/// Functions that do nothing to the computation, and the C++ library's small change.
fn library(cx: &mut Context<'_>, full: &str, call: &Call<'_>) -> Option<RValue> {
    match call.name {
        "printf" | "vprintf" | "puts" | "__prof_trigger" => {
            Some(RValue::scalar(CType::INT, cx.builder.int(Type::I32, 0)))
        }
        "assert"
        | "__assert_fail"
        | "__assertfail"
        | "__builtin_assume"
        | "__builtin_unreachable"
        | "__nanosleep"
        | "__builtin_assume_aligned_void"
        | "static_assert"
        | "__pragma"
        | "__device_builtin__" => Some(RValue::void()),
        // What runs is not evaluated by the compiler.
        "__builtin_is_constant_evaluated" | "is_constant_evaluated" => {
            let no = cx.builder.int(Type::Bool, 0);
            Some(RValue::scalar(CType::Bool, no))
        }
        "__builtin_expect"
        | "__builtin_assume_aligned"
        | "assume_aligned"
        | "move"
        | "forward"
        | "launder"
        | "as_const"
        | "__ldcv_value" => Some(call.argument(0)?.value.clone()),
        "addressof" | "__builtin_addressof" => {
            let place = call.argument(0)?.place.clone()?;
            Some(RValue::pointer_to(
                CType::pointer(place.ty.clone(), crate::types::Space::Generic),
                place,
            ))
        }
        "swap" | "exchange" if call.count() == 2 => {
            let (first, second) = (call.argument(0)?, call.argument(1)?);
            let place = first.place.clone()?;
            let old = first.value.clone();
            cx.store(&place, second.value.clone(), call.span);
            if call.name == "swap" {
                let other = second.place.clone()?;
                cx.store(&other, old, call.span);
                return Some(RValue::void());
            }
            Some(old)
        }
        "__trap" | "abort" | "exit" | "__brkpt" => {
            cx.fails();
            Some(RValue::void())
        }
        "clock" | "clock64" | "__clock" | "__globaltimer" | "__nvvm_read_ptx_sreg_clock" => {
            let ty = if call.name == "clock" || call.name == "__clock" {
                CType::INT
            } else {
                CType::LONG
            };
            let value = cx
                .builder
                .special(crate::inst::Special::Clock, ir_type(&ty));
            Some(RValue::scalar(ty, value))
        }
        "malloc" | "calloc" | "__builtin_malloc" => Some(call.opaque(
            cx,
            &CType::pointer(CType::Void, crate::types::Space::Global),
            false,
        )),
        "free"
        | "memcpy"
        | "memset"
        | "memmove"
        | "__builtin_memcpy"
        | "__builtin_memmove"
        | "__builtin_memset"
        | "cudaDeviceSynchronize"
        | "cudaGetLastError"
        | "cudaStreamCreateWithFlags"
        | "cudaStreamDestroy" => Some(call.opaque(cx, &CType::INT, false)),
        _ if full.contains("numeric_limits") => names::numeric_limit(cx, full, call),
        _ => None,
    }
}
