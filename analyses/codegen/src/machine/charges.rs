//! From a table to the cycles that estimates count with.
//!
//! `float = 64` results a clk over 4 schedulers keep a scheduler's pipe busy for 2 cycles with a warp of 32.
//! An operation that becomes several instructions is charged for all of them on the pipe that does most of
//! the work. Where issue does not determine the cost, the table's `charge` does, and is never less than the
//! time of the unit itself.

use super::Table;
use super::schema::Key;
use facts::cost::{Charge, Machine, Unit, Work};

/// The costs of a warp of `lanes` lanes on a machine.
#[must_use]
pub fn charges(table: &Table, lanes: u32) -> Machine {
    let gpu = table.gpu();
    let lanes = f64::from(gpu.lanes(lanes));
    let schedulers = gpu.of(Key::Schedulers);
    // A warp is issued once for each of its passes: a wide one twice.
    let passes = lanes / gpu.of(Key::Lanes);
    let least = 1.0 / gpu.of(Key::Issue);
    let busy = |rate: Key| lanes * schedulers / gpu.of(rate);
    let simple = |rate: Key, unit: Unit| several(1.0, busy(rate), passes, unit, least);
    let many =
        |count: Key, rate: Key, unit: Unit| several(gpu.of(count), busy(rate), passes, unit, least);
    let charged = |charge: Key, busy: f64, unit: Unit| Charge {
        cycles: gpu.of(charge).max(busy),
        slots: passes,
        busy,
        unit,
    };
    let line = schedulers;
    let access = busy(Key::LoadStore).max(line);
    let shared = busy(Key::LoadStore).max(lanes * 4.0 * schedulers / gpu.of(Key::SharedRate));
    let texture = lanes * schedulers / gpu.of(Key::Texel);
    let cross = busy(Key::Shuffle);
    let mut machine = Machine::new(table.name.clone(), |work| match work {
        Work::Free => Charge::FREE,
        Work::Float => simple(Key::Float, Unit::Float),
        Work::Half => simple(Key::Half, Unit::Half),
        Work::Double => simple(Key::Double, Unit::Double),
        Work::Integer => simple(Key::Integer, Unit::Integer),
        Work::Integer64 => many(Key::Add64, Key::Integer, Unit::Integer),
        Work::Multiply | Work::Scale => simple(Key::Multiply, Unit::Integer),
        Work::Multiply64 => many(Key::Multiply64, Key::Multiply, Unit::Integer),
        Work::Logic => simple(Key::Logic, Unit::Integer),
        Work::Shift64 => many(Key::Shift64, Key::Logic, Unit::Integer),
        Work::Compare => simple(Key::Compare, Unit::Integer),
        Work::BitField => many(Key::BitField, Key::Logic, Unit::Integer),
        Work::Bits => simple(Key::Bits, Unit::Special),
        Work::Convert => simple(Key::Convert, Unit::Special),
        Work::ConvertWide => simple(Key::ConvertWide, Unit::Double),
        Work::Special => simple(Key::Special, Unit::Special),
        Work::Sine => special(
            gpu.of(Key::Sine),
            busy(Key::Float),
            busy(Key::Special),
            passes,
        ),
        Work::Exponential => special(
            gpu.of(Key::Exponential),
            busy(Key::Float),
            busy(Key::Special),
            passes,
        ),
        Work::Power => special(2.0, busy(Key::Special), busy(Key::Special), passes),
        Work::Quotient => special(2.0, busy(Key::Float), busy(Key::Special), passes),
        Work::DivideFloat => special(
            gpu.of(Key::DivideFloat),
            busy(Key::Float),
            busy(Key::Special),
            passes,
        ),
        Work::RootFloat => special(
            gpu.of(Key::RootFloat),
            busy(Key::Float),
            busy(Key::Special),
            passes,
        ),
        Work::DivideUnsigned => many(Key::DivideUnsigned, Key::Integer, Unit::Integer),
        Work::DivideSigned => many(Key::DivideSigned, Key::Integer, Unit::Integer),
        Work::Divide64 => many(Key::Divide64, Key::Integer, Unit::Integer),
        Work::DivideDouble => many(Key::DivideDouble, Key::Double, Unit::Double),
        Work::RootDouble => many(Key::RootDouble, Key::Double, Unit::Double),
        Work::Function => many(Key::Function, Key::Float, Unit::Float),
        Work::FunctionDouble => many(Key::Function, Key::Double, Unit::Double),
        Work::Shuffle => charged(Key::ChargeCross, cross, Unit::Memory),
        Work::Vote => charged(Key::ChargeCross, busy(Key::Vote), Unit::Integer),
        Work::Derivative => charged(Key::ChargeCross, cross, Unit::Memory),
        Work::Shared => charged(Key::ChargeShared, shared, Unit::Shared),
        Work::Constant => simple(Key::Integer, Unit::Integer),
        Work::Global => charged(Key::ChargeGlobal, access, Unit::Memory),
        Work::Atomic => charged(Key::ChargeAtomic, access, Unit::Memory),
        Work::Texture => charged(Key::ChargeTexture, texture, Unit::Texture),
        Work::Barrier => charged(Key::ChargeBarrier, 1.0, Unit::Wait),
        Work::Branch => Charge {
            cycles: least * passes,
            slots: passes,
            busy: 0.0,
            unit: Unit::Issue,
        },
        Work::Call => Charge {
            cycles: gpu.of(Key::ChargeCall),
            slots: gpu.of(Key::ChargeCall) / busy(Key::Float).max(least),
            busy: gpu.of(Key::ChargeCall),
            unit: Unit::Integer,
        },
    });
    machine.reconverge = gpu.of(Key::ChargeReconverge);
    machine.overlap = gpu.of(Key::ChargeOverlap);
    machine.line_cycles = line;
    machine.line_bytes = gpu.of(Key::Line);
    machine.issue_cycles = least;
    machine
}

fn several(count: f64, busy: f64, passes: f64, unit: Unit, least: f64) -> Charge {
    let busy = count * busy;
    Charge {
        cycles: busy.max(count * passes * least),
        slots: count * passes,
        busy,
        unit,
    }
}

/// One instruction of the special unit, the others on the float pipe.
fn special(count: f64, float: f64, special: f64, passes: f64) -> Charge {
    Charge {
        cycles: special + (count - 1.0) * float,
        slots: count * passes,
        busy: special + (count - 1.0) * float,
        unit: Unit::Special,
    }
}
