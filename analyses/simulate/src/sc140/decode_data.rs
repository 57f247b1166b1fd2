//! Forms of the data units' instructions.

use super::decode::{Form, Given};
use super::op::{Data, DataKind, Half, Halves, Op, Source};
use super::register::Reg;
use syntax::sc140::Size;

/// Operands that an instruction takes, the target last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    /// `Dn`
    Own,
    /// `Da,Dn`
    Two,
    /// `Da,Dn` or `Dn`
    TwoOrOwn,
    /// `Da,Db,Dn`
    Three,
    /// `Da,Db,Dn`, `-Da,Db,Dn`, `#s16,Da,Dn`
    Product,
    /// `Da,Db,Dn` or `#u5,Dn`
    Sum,
    /// `Da,Dn` or `#u5,Dn`
    Shift,
    /// `Da,Dn` or `#mask,Da,Dn`
    Logic,
    /// `#u5,Dn` or `#s16,Dn`
    Compare,
    /// `#s16,Dn`
    Long,
    /// `#s16,Da,Dn`
    LongTwo,
    /// `#width,#offset,Da,Dn` or `Da,Db,Dn`
    Field,
    /// `Da,Dn`, a shift by a number that the mnemonic says.
    Fixed(i64),
}

pub(super) fn data(name: &str, given: &[Given]) -> Option<Form> {
    let (kind, shape) = row(name)?;
    Some(Form::of(
        shaped(kind, shape, given).map(|(data, words)| (Op::Data(data), words)),
    ))
}

const fn halves(a: Half, b: Half) -> Halves {
    Halves { a, b }
}

fn row(name: &str) -> Option<(DataKind, Shape)> {
    use DataKind as K;
    use Half::{High, HighUnsigned, Low, LowUnsigned};
    let mac = |negative, rounded| K::Mac { negative, rounded };
    let multiply = |negative, rounded| K::Multiply { negative, rounded };
    let extend = |bits, sign| K::Extend { bits, sign };
    Some(match name {
        "abs" => (K::Abs, Shape::Own),
        "adc" => (K::Adc, Shape::Two),
        "add" => (K::Add, Shape::Sum),
        "add2" => (K::Add2, Shape::Two),
        "addnc.w" => (K::AddQuiet, Shape::LongTwo),
        "adr" => (K::AddRounded, Shape::Two),
        "and" => (K::And, Shape::Logic),
        "asl" => (K::Asl, Shape::Two),
        "asll" => (K::ShiftLeft, Shape::Shift),
        "aslw" => (K::ShiftLeft, Shape::Fixed(16)),
        "asr" => (K::Asr, Shape::Two),
        "asrr" => (K::ShiftRight, Shape::Shift),
        "asrw" => (K::ShiftRight, Shape::Fixed(16)),
        "clb" => (K::Clb, Shape::Two),
        "clr" => (K::Clear, Shape::Own),
        "cmpeq" => (K::CompareEqual, Shape::Two),
        "cmpeq.w" => (K::CompareEqual, Shape::Compare),
        "cmpgt" => (K::CompareGreater, Shape::Two),
        "cmpgt.w" => (K::CompareGreater, Shape::Compare),
        "cmphi" => (K::CompareHigher, Shape::Two),
        "deceq" => (K::CountEqual, Shape::Own),
        "decge" => (K::CountGreater, Shape::Own),
        "div" => (K::Divide, Shape::Two),
        "dmacss" => (K::DoubleMac, Shape::Three),
        "dmacsu" => (K::DoubleMacUnsigned, Shape::Three),
        "eor" => (K::Eor, Shape::Logic),
        "extract" => (K::Extract, Shape::Field),
        "extractu" => (K::ExtractUnsigned, Shape::Field),
        "iadd" => (K::IntegerAdd, Shape::Two),
        "iaddnc.w" => (K::IntegerAddQuiet, Shape::Long),
        "imac" => (K::IntegerMac(halves(Low, Low)), Shape::Three),
        "imacus" => (K::IntegerMac(halves(LowUnsigned, Low)), Shape::Three),
        "imaclhuu" => (
            K::IntegerMac(halves(LowUnsigned, HighUnsigned)),
            Shape::Three,
        ),
        "impy" => (K::IntegerMultiply(halves(Low, Low)), Shape::Three),
        "impy.w" => (K::IntegerMultiply(halves(Low, Low)), Shape::Long),
        "impysu" => (K::IntegerMultiply(halves(Low, LowUnsigned)), Shape::Three),
        "impyuu" => (
            K::IntegerMultiply(halves(LowUnsigned, LowUnsigned)),
            Shape::Three,
        ),
        "impyhluu" => (
            K::IntegerMultiply(halves(HighUnsigned, LowUnsigned)),
            Shape::Three,
        ),
        "inc" => (K::Inc, Shape::Own),
        "inc.f" => (K::IncHigh, Shape::Own),
        "insert" => (K::Insert, Shape::Field),
        "lsll" => (K::LogicalLeft, Shape::Two),
        "lsr" => (K::LogicalRight, Shape::Fixed(1)),
        "lsrr" => (K::LogicalRight, Shape::Shift),
        "lsrw" => (K::LogicalRight, Shape::Fixed(16)),
        "mac" => (mac(false, false), Shape::Product),
        "macr" => (mac(false, true), Shape::Product),
        "macsu" => (K::MixedMac(halves(High, LowUnsigned)), Shape::Three),
        "macus" => (K::MixedMac(halves(LowUnsigned, High)), Shape::Three),
        "macuu" => (K::MixedMac(halves(LowUnsigned, LowUnsigned)), Shape::Three),
        "max" => (K::Max, Shape::Two),
        "max2" => (K::Max2, Shape::Two),
        "maxm" => (K::MaxMagnitude, Shape::Two),
        "min" => (K::Min, Shape::Two),
        "mpy" => (multiply(false, false), Shape::Product),
        "mpyr" => (multiply(false, true), Shape::Product),
        "mpysu" => (K::MixedMultiply(halves(High, LowUnsigned)), Shape::Three),
        "mpyus" => (K::MixedMultiply(halves(LowUnsigned, High)), Shape::Three),
        "mpyuu" => (
            K::MixedMultiply(halves(LowUnsigned, LowUnsigned)),
            Shape::Three,
        ),
        "neg" => (K::Neg, Shape::Own),
        "not" => (K::Not, Shape::Two),
        "or" => (K::Or, Shape::Logic),
        "rnd" => (K::Round, Shape::Two),
        "rol" => (K::Rol, Shape::Own),
        "ror" => (K::Ror, Shape::Own),
        "sat.f" => (K::SaturateHigh, Shape::Two),
        "sat.l" => (K::SaturateLong, Shape::Own),
        "sbc" => (K::Sbc, Shape::Two),
        "sbr" => (K::SubRounded, Shape::Two),
        "sub" => (K::Sub, Shape::Sum),
        "sub2" => (K::Sub2, Shape::Two),
        "subl" => (K::SubDouble, Shape::Two),
        "subnc.w" => (K::SubQuiet, Shape::Long),
        "sxt.b" => (extend(8, true), Shape::TwoOrOwn),
        "sxt.w" => (extend(16, true), Shape::TwoOrOwn),
        "sxt.l" => (extend(32, true), Shape::TwoOrOwn),
        "tfr" => (K::Transfer, Shape::Two),
        "tfrt" => (K::TransferIf(true), Shape::Two),
        "tfrf" => (K::TransferIf(false), Shape::Two),
        "tsteq" => (K::TestEqual, Shape::Own),
        "tstge" => (K::TestGreaterEqual, Shape::Own),
        "tstgt" => (K::TestGreater, Shape::Own),
        "zxt.b" => (extend(8, false), Shape::TwoOrOwn),
        "zxt.w" => (extend(16, false), Shape::TwoOrOwn),
        "zxt.l" => (extend(32, false), Shape::TwoOrOwn),
        _ => return None,
    })
}

fn shaped(kind: DataKind, shape: Shape, given: &[Given]) -> Option<(Data, u32)> {
    use Given::{Negative, Number, Reg as R};
    use Reg::D;
    let short = |a, b, n| Some((Data { kind, a, b, n }, 1));
    let long = |a, b, n| Some((Data { kind, a, b, n }, 2));
    let fits = |value: i64, least: i64, most: i64| (least..=most).contains(&value);
    let of = Source::D;
    match (shape, given) {
        (Shape::Own | Shape::TwoOrOwn, [R(D(n))]) => short(of(*n), of(*n), *n),
        (Shape::Fixed(count), [R(D(a)), R(D(n))]) => short(Source::Number(count), of(*a), *n),
        (Shape::Two | Shape::TwoOrOwn | Shape::Logic | Shape::Shift, [R(D(a)), R(D(n))]) => {
            short(of(*a), of(*n), *n)
        }
        (
            Shape::Three | Shape::Sum | Shape::Product | Shape::Field,
            [R(D(a)), R(D(b)), R(D(n))],
        ) => short(of(*a), of(*b), *n),
        (Shape::Product, [Negative(a), R(D(b)), R(D(n))]) => {
            let kind = match kind {
                DataKind::Mac { rounded, .. } => DataKind::Mac {
                    negative: true,
                    rounded,
                },
                DataKind::Multiply { rounded, .. } => DataKind::Multiply {
                    negative: true,
                    rounded,
                },
                other => other,
            };
            Some((
                Data {
                    kind,
                    a: of(*a),
                    b: of(*b),
                    n: *n,
                },
                1,
            ))
        }
        (Shape::Product, [Number(value, _), R(D(b)), R(D(n))]) if fits(*value, -32768, 65535) => {
            // A factor is a high part.
            long(Source::Number(value << 16), of(*b), *n)
        }
        (Shape::Sum, [Number(value, _), R(D(n))]) if fits(*value, 0, 31) => {
            short(Source::Number(*value), of(*n), *n)
        }
        (Shape::Shift, [Number(value, _), R(D(n))]) if fits(*value, 0, 31) => {
            short(Source::Number(*value), of(*n), *n)
        }
        (Shape::Logic, [Number(value, _), R(D(b)), R(D(n))]) => {
            long(Source::Number(mask(kind, *value)?), of(*b), *n)
        }
        (Shape::Compare, [Number(value, size), R(D(n))]) if fits(*value, -32768, 65535) => {
            let short = fits(*value, 0, 31) && *size != Some(Size::Long);
            let value = match short {
                true => *value,
                false => i64::from(*value as i16),
            };
            let data = Data {
                kind,
                a: Source::Number(value),
                b: of(*n),
                n: *n,
            };
            Some((data, 2 - u32::from(short)))
        }
        (Shape::Long, [Number(value, _), R(D(n))]) if fits(*value, -32768, 65535) => {
            long(Source::Number(i64::from(*value as i16)), of(*n), *n)
        }
        (Shape::LongTwo, [Number(value, _), R(D(b)), R(D(n))]) if fits(*value, -32768, 65535) => {
            long(Source::Number(i64::from(*value as i16)), of(*b), *n)
        }
        (Shape::Field, [Number(width, _), Number(offset, _), R(D(b)), R(D(n))])
            if fits(*width, 0, 63) && fits(*offset, 0, 63) =>
        {
            long(Source::Number(width << 8 | offset), of(*b), *n)
        }
        _ => None,
    }
}

/// A mask of 16 bits in the high or the low half. Where the others are to stay, they are ones: above the high half as its
/// sign says, and nowhere else.
fn mask(kind: DataKind, value: i64) -> Option<i64> {
    let low = value & 0xffff;
    let high = value >> 16;
    match low {
        _ if (0..1 << 16).contains(&value) => Some(value),
        0 if (-(1 << 15)..1 << 16).contains(&high) => match kind {
            DataKind::And => Some(i64::from(high as i16) << 16),
            _ => Some((high & 0xffff) << 16),
        },
        _ => None,
    }
}
