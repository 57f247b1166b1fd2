//! Bytes moved and set by the run-time library, where C calls the functions of `<string.h>` and nothing in sight defines them.

use super::routines::Routines;
use super::writer::Writer;
use ir::{Convert, Function, InstData, Op, Space, Type, Value};

/// Replaces the calls.
pub(super) fn lower(function: &mut Function, routines: &mut Routines) {
    if !function.insts.values().any(|data| routine(data).is_some()) {
        return;
    }
    let mut writer = Writer::new(function);
    for block in writer.function.layout.clone() {
        for inst in std::mem::take(&mut writer.function.blocks[block].insts) {
            let data = writer.function.insts[inst].clone();
            writer.loc = data.loc;
            match (routine(&data), data.args.as_slice()) {
                (Some(name), &[to, what, count]) if is_known(&writer, &data) => {
                    let number = routines.number(name);
                    let plain = |writer: &mut Writer<'_>, value: Value| match writer.ty(value) {
                        Type::Ptr(_) => {
                            writer.convert(Convert::SpaceCast, value, Type::Ptr(Space::Generic))
                        }
                        _ => writer.convert(Convert::Truncate, value, Type::I32),
                    };
                    let args = [to, what, count].map(|value| plain(&mut writer, value));
                    writer.effect(Op::Call(number), &args);
                    if let &[result] = data.results.as_slice() {
                        let ty = writer.ty(result);
                        let address = match ty {
                            Type::Ptr(_) => writer.convert(Convert::SpaceCast, to, ty),
                            // Without a declaration it is an `int`.
                            _ => {
                                let bits = writer.convert(Convert::Bitcast, to, Type::I64);
                                writer.convert(Convert::Truncate, bits, ty)
                            }
                        };
                        writer.stands_for(address, result);
                    }
                }
                _ => writer.made.push(inst),
            }
        }
        let made = std::mem::take(&mut writer.made);
        writer.function.blocks[block].insts = made;
    }
    writer.finish();
}

fn routine(data: &InstData) -> Option<&'static str> {
    let Op::CallUnknown { name, .. } = &data.op else {
        return None;
    };
    Some(match name.as_str() {
        "memcpy" => "bytes_copy",
        "memmove" => "bytes_move",
        "memset" => "bytes_set",
        _ => return None,
    })
}

/// Returns true if operands and results have types that the C library's function may be called with.
fn is_known(writer: &Writer<'_>, data: &InstData) -> bool {
    let pointer = |value: Value| matches!(writer.ty(value), Type::Ptr(_));
    let whole = |value: Value| matches!(writer.ty(value), Type::I32 | Type::I64);
    let second = match routine(data) {
        Some("bytes_set") => whole(data.args[1]),
        _ => pointer(data.args[1]),
    };
    pointer(data.args[0])
        && second
        && whole(data.args[2])
        && data.guard.is_none()
        && data.results.len() <= 1
        && data
            .results
            .iter()
            .all(|&result| pointer(result) || whole(result))
}
