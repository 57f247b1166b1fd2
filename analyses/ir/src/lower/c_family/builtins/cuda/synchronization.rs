//! Barriers in two steps, pipelines, and copies that complete later.
//!
//! Between `arrive` and `wait` a thread goes on while others may still be before their `arrive`, or already
//! behind their `wait`: neither separates the phases of a workgroup as a whole barrier does. So `arrive` is a
//! fence, and `wait` a barrier with a count of threads, at which threads wait and which proves nothing about
//! shared memory. The number of threads that a `cuda::barrier` expects is given at run time; the whole
//! workgroup is assumed to wait. A copy reads and writes when it is issued, as one of the possible orders,
//! beside a call that says that its effects may come later.

use super::Call;
use super::groups::block_size;
use crate::entity::Value;
use crate::inst::{Barrier, Op};
use crate::lower::c_family::builtins::cuda::plain;
use crate::lower::c_family::context::Context;
use crate::lower::c_family::types::CType;
use crate::lower::c_family::value::{Argument, RValue};
use crate::types::Type;
use syntax::Span;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Object {
    Barrier,
    Pipeline,
}

fn object_of(ty: &CType) -> Option<Object> {
    let CType::Opaque(name) = ty.value_type() else {
        return None;
    };
    match plain(name).split('<').next()? {
        "barrier" => Some(Object::Barrier),
        "pipeline" => Some(Object::Pipeline),
        _ => None,
    }
}

/// `group.barrier_arrive()`, `group.barrier_wait(token)`.
pub(super) fn split(
    cx: &mut Context<'_>,
    name: &str,
    of_block: bool,
    of_blocks: bool,
) -> Option<RValue> {
    match (name, of_blocks) {
        ("barrier_arrive", false) => {
            cx.builder.inst(Op::Fence, &[], &[]);
        }
        ("barrier_arrive", true) => unseen(cx, "barrier_arrive", &[]),
        (_, true) => {
            cx.builder.inst(Op::Barrier(Barrier::Grid), &[], &[]);
        }
        (_, false) if of_block => wait(cx, false),
        (_, false) => {
            cx.builder.inst(Op::Fence, &[], &[]);
        }
    }
    Some(token(cx, name))
}

fn token(cx: &mut Context<'_>, name: &str) -> RValue {
    if name.contains("wait") {
        RValue::void()
    } else {
        cx.zero(&CType::opaque("arrival_token"))
    }
}

/// Threads wait, as many as are counted.
fn wait(cx: &mut Context<'_>, counted: bool) {
    let name = cx.builder.int(Type::I32, 1);
    let mut args = vec![name];
    if counted {
        args.push(block_size(cx));
    }
    cx.builder
        .inst(Op::Barrier(Barrier::Named { arrive: false }), &args, &[]);
}

/// Emits a call whose effect only memory shows later.
fn unseen(cx: &mut Context<'_>, name: &str, operands: &[Value]) {
    let op = Op::CallUnknown {
        name: name.into(),
        pure: false,
        convention: Default::default(),
    };
    cx.builder.inst(op, operands, &[]);
}

/// A method of a `cuda::barrier` or a `cuda::pipeline`; the object is the first argument.
pub(super) fn method(cx: &mut Context<'_>, name: &str, arguments: &[Argument]) -> Option<RValue> {
    match (object_of(arguments.first()?.ty())?, name) {
        (Object::Barrier, "arrive" | "arrive_and_drop" | "arrive_tx" | "expect_tx") => {
            cx.builder.inst(Op::Fence, &[], &[]);
        }
        (Object::Barrier, "wait" | "arrive_and_wait" | "wait_parity") => wait(cx, true),
        (Object::Barrier, "try_wait" | "try_wait_for" | "try_wait_until" | "try_wait_parity") => {
            let op = Op::CallUnknown {
                name: name.into(),
                pure: false,
                convention: Default::default(),
            };
            let done = cx.builder.value(op, &[], Type::Bool);
            return Some(RValue::scalar(CType::Bool, done));
        }
        (
            Object::Pipeline,
            "producer_acquire" | "producer_commit" | "consumer_wait" | "consumer_release" | "quit"
            | "wait_prior",
        ) => {
            cx.builder.inst(Op::Fence, &[], &[]);
        }
        _ => return None,
    }
    Some(match name {
        "arrive" | "arrive_tx" => token(cx, name),
        _ => RValue::void(),
    })
}

pub(super) fn call(cx: &mut Context<'_>, call: &Call<'_>) -> Option<RValue> {
    match call.name {
        "init" if call.count() >= 2 => {
            let CType::Pointer { to, .. } = call.ty(0)? else {
                return None;
            };
            (object_of(to) == Some(Object::Barrier)).then(RValue::void)
        }
        "device::barrier_arrive_tx" => {
            cx.builder.inst(Op::Fence, &[], &[]);
            Some(token(cx, "arrive_tx"))
        }
        "device::barrier_expect_tx" => {
            cx.builder.inst(Op::Fence, &[], &[]);
            Some(RValue::void())
        }
        "device::memcpy_async_tx" => {
            copy(cx, call.arguments, call.span);
            unseen(cx, "memcpy_async", &[]);
            Some(RValue::void())
        }
        _ => None,
    }
}

/// The copy that one thread issues: `(to, from, bytes, ..)`. Of a group's copy the threads do parts that are not known.
pub(in crate::lower::c_family::builtins) fn copy(
    cx: &mut Context<'_>,
    arguments: &[Argument],
    span: Span,
) -> Option<()> {
    let [to, from, bytes, ..] = arguments else {
        return None;
    };
    let element = |argument: &Argument| match argument.ty().value_type() {
        CType::Pointer { to, .. } => Some(to.value_type().clone()),
        _ => None,
    };
    let (written, read) = (element(to)?, element(from)?);
    let size = cx.structs.size_of(&read)?;
    let bytes = bytes.value.first()?;
    let bytes = cx.builder.function.int_constant(bytes)?;
    if written != read || u64::try_from(bytes).ok()? != size {
        return None;
    }
    let from = cx.dereference(&from.value, span);
    let value = cx.load(&from, span);
    let to = cx.dereference(&to.value, span);
    cx.store(&to, value, span);
    Some(())
}
