//! Numbers that the program leaves open: template parameters without an instantiation in sight, names that a build defines.
//!
//! ```text
//! warp = threadIdx.x / TILE_SIZE        where the build defines TILE_SIZE
//! ```

use ir::{Function, Op, Value};

/// Operations that are followed.
const PARTS: usize = 16;

/// A number that is computed from constants and from numbers that an instantiation, a build or code out of
/// sight chooses.
pub(crate) fn left_open(function: &Function, value: Value) -> bool {
    let mut work = vec![value];
    let mut open = false;
    for _ in 0..PARTS {
        let Some(value) = work.pop() else {
            return open;
        };
        let Some(data) = function.defining(value) else {
            return false;
        };
        match data.op {
            Op::Const(_) => {}
            Op::Parameter(_) | Op::Unknown(_) | Op::CallUnknown { .. } => open = true,
            Op::Unary(_) | Op::Binary(..) | Op::Convert(_) => {
                work.extend(data.args.iter().copied());
            }
            _ => return false,
        }
    }
    false
}
