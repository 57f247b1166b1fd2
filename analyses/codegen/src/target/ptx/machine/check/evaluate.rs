//! Instructions on polynomials: moves, sums, products, shifts by a number, and widenings. Others compute the same from the same:
//! where nothing of the original is among their operands, their result is an indeterminate of its own.

use super::polynomial::{Atom, LANE, Polynomial};
use super::text::{Line, Role, Text};
use isa::ptx::Effect;
use smol_str::SmolStr;
use syntax::ptx::Operand;

/// Bits of an integer type, and whether it has a sign; bits of another type of a move.
fn width(word: &str) -> Option<(u32, bool)> {
    let kind = word.get(..1)?;
    let bits = word.get(1..)?.parse().ok()?;
    matches!((kind, bits), ("u" | "s" | "b", 16 | 32 | 64)).then_some((bits, kind == "s"))
}

fn special(name: &SmolStr, selector: &SmolStr) -> Option<Atom> {
    let stays = ["%tid", "%ntid", "%ctaid", "%nctaid"].contains(&name.as_str());
    stays.then(|| Atom::Special(format!("{name}.{selector}").into()))
}

/// The polynomials of a line's result, in as many bits as its register has: `of` has those of the register that is its nth place. `log_lanes` tells lanes of a
/// warp. Empty where nothing is known.
pub(super) fn result(
    line: &Line<'_>,
    text: &Text<'_>,
    log_lanes: Option<u32>,
    of: &dyn Fn(usize) -> Vec<Polynomial>,
) -> Vec<Polynomial> {
    let found = modelled(line, text, log_lanes, of);
    match found.iter().any(Polynomial::is_pure) {
        true => found,
        false => found.into_iter().chain(computed(line, text, of)).collect(),
    }
}

/// Returns true if a line loads memory that no store changes: a parameter of the function, or constant
/// memory. Variables of the body that calls are passed in are others each time.
pub(super) fn loads_constant(line: &Line<'_>, text: &Text<'_>) -> bool {
    let ordered = ["volatile", "relaxed", "acquire", "mmio"];
    let parameter = || {
        let apart = |c: char| !(c.is_ascii_alphanumeric() || "_$%".contains(c));
        let mut words = line.shape.split(apart);
        line.has("param") && !words.any(|word| text.variables.contains_key(word))
    };
    line.is_opcode("ld")
        && !ordered.iter().any(|word| line.has(word))
        && (line.has("const") || parameter())
}

/// Indeterminates in a polynomial of an instruction's result, at most.
const LARGEST: usize = 12;

/// The result of an instruction that reads nothing but numbers, parameters, constants and the place of the lane in its launch.
fn computed(
    line: &Line<'_>,
    text: &Text<'_>,
    of: &dyn Fn(usize) -> Vec<Polynomial>,
) -> Option<Polynomial> {
    let instruction = line.instruction.filter(|own| !own.inline_assembly)?;
    let opcode = line.opcode.filter(|_| line.guard.is_none())?;
    let target = line.plain.first().copied().flatten()?;
    let one_result = line.writes().count() == 1 && line.places[target].1 == Role::Write;
    let carries = opcode.carries(instruction.has("cc"));
    let reads_carry = ["addc", "subc", "madc"].contains(&opcode.name());
    let pure = opcode.effect() == Effect::Pure || loads_constant(line, text);
    if !one_result || carries || reads_carry || !pure {
        return None;
    }
    // Clocks, masks and the like are others each time.
    let mut words = line
        .shape
        .split(|c: char| !(c.is_ascii_alphanumeric() || "_$%".contains(c)));
    let stays = ["%tid", "%ntid", "%ctaid", "%nctaid", "%laneid"];
    if words.any(|word| word.starts_with('%') && !stays.contains(&word)) {
        return None;
    }
    let mut operands = Vec::new();
    for (place, (_, role)) in line.places.iter().enumerate() {
        if *role == Role::Read {
            operands.push(of(place).into_iter().filter(Polynomial::is_pure).min()?);
        }
    }
    let bits = text.bits(line.places[target].0);
    let atom = Atom::Computed(line.shape.as_str().into(), operands);
    let found = Polynomial::atom(bits, atom);
    (found.size() <= LARGEST).then_some(found)
}

/// The polynomials of a line's result by arithmetic. Empty where the line is not modelled.
fn modelled(
    line: &Line<'_>,
    text: &Text<'_>,
    log_lanes: Option<u32>,
    of: &dyn Fn(usize) -> Vec<Polynomial>,
) -> Vec<Polynomial> {
    let Some(instruction) = line.instruction else {
        return Vec::new();
    };
    let words = &instruction.modifiers;
    let opcode = instruction.opcode.text.as_str();
    let types: Vec<(u32, bool)> = words.iter().filter_map(|word| width(word)).collect();
    let others = words.iter().filter(|word| width(word).is_none());
    let others: Vec<&str> = others.map(SmolStr::as_str).collect();
    let is_float = matches!(others[..], ["f32" | "f64" | "f16"]);
    let float_bits = others.first().and_then(|word| word.get(1..)?.parse().ok());
    let (bits, is_signed) = match (types.first(), float_bits) {
        (Some(found), _) => *found,
        (None, Some(bits)) if opcode == "mov" && is_float => (bits, false),
        _ => return Vec::new(),
    };
    let Some(Some(target)) = line.plain.first() else {
        return Vec::new();
    };
    let mut sources: Vec<Vec<Polynomial>> = Vec::new();
    let is_wide = others == ["wide"];
    let last = instruction.operands.len() - 1;
    for (number, operand) in instruction.operands.iter().enumerate().skip(1) {
        let adds = opcode == "mad" && is_wide && number == last;
        let read = match (opcode, types.get(1)) {
            ("cvt", Some(read)) => read.0,
            _ => bits << u32::from(adds),
        };
        sources.push(match operand {
            Operand::Integer(value, _) => vec![Polynomial::number(read, *value)],
            Operand::Float32(value, _) => vec![Polynomial::number(read, i64::from(*value))],
            Operand::Float64(value, _) if read == 64 => {
                vec![Polynomial::number(64, *value as i64)]
            }
            Operand::Component(name, selector) => {
                let atom = special(&name.text, selector);
                Vec::from_iter(atom.map(|atom| Polynomial::atom(read, atom)))
            }
            Operand::Name(name) => match line.plain.get(number).copied().flatten() {
                Some(place) => of(place),
                None if opcode == "mov" && name.text == LANE => {
                    vec![Polynomial::atom(read, Atom::Special(name.text.clone()))]
                }
                None if opcode != "mov" || name.text.starts_with('%') => return Vec::new(),
                None => vec![Polynomial::atom(read, Atom::Address(name.text.clone()))],
            },
            _ => return Vec::new(),
        });
    }
    let both = |a: &[Polynomial],
                b: &[Polynomial],
                f: &dyn Fn(&Polynomial, &Polynomial) -> Option<Polynomial>| {
        let pairs = a.iter().flat_map(|a| b.iter().filter_map(move |b| f(a, b)));
        pairs.take(16).collect::<Vec<Polynomial>>()
    };
    let product = |a: &Polynomial, b: &Polynomial| {
        if is_wide {
            a.widened(2 * bits, is_signed)?
                .times(&b.widened(2 * bits, is_signed)?)
        } else {
            a.times(b)
        }
    };
    let minus = |a: &Polynomial, b: &Polynomial| a.plus(&b.negated());
    let produced = bits << u32::from(is_wide);
    let products = |a: &[Polynomial], b: &[Polynomial]| {
        let zero = |value: &Polynomial| value.as_number() == Some(0);
        match a.iter().chain(b).any(zero) {
            true => vec![Polynomial::number(produced, 0)],
            false => both(a, b, &product),
        }
    };
    let low = others == ["lo"] || is_wide;
    let plain = others.is_empty();
    let ones = |values: &[Polynomial], number| {
        values.first().and_then(Polynomial::as_number) == Some(number)
    };
    let mut out = match (opcode, &sources[..]) {
        ("selp", [yes, no, predicate]) if plain && ones(yes, 1) && ones(no, 0) => {
            let predicates = predicate.iter().filter_map(Polynomial::as_value);
            predicates
                .map(|found| Polynomial::atom(bits, Atom::Flag(found)))
                .collect()
        }
        ("setp", [values, zero]) if others == ["ne"] && ones(zero, 0) => {
            let flags = values.iter().filter_map(Polynomial::as_flag);
            return flags
                .map(|found| Polynomial::atom(1, Atom::Value(found)))
                .collect();
        }
        ("setp", [values, number]) if others == ["eq"] => {
            let is_lane = values.contains(&Polynomial::atom(bits, Atom::Special(LANE.into())));
            let lane = number.first().and_then(Polynomial::as_number);
            let lane = lane.filter(|_| is_lane && bits == 32);
            let lane = lane.and_then(|lane| u32::try_from(lane).ok());
            let found = lane.map(|lane| Polynomial::atom(1, Atom::InLane(lane)));
            return Vec::from_iter(found);
        }
        ("mov", [source]) if plain || is_float => source.clone(),
        ("add", [a, b]) if plain => both(a, b, &Polynomial::plus),
        ("sub", [a, b]) if plain => both(a, b, &minus),
        ("neg", [a]) if plain => a.iter().map(Polynomial::negated).collect(),
        // The complement of two, less one.
        ("not", [a]) if plain => {
            let less = |value: &Polynomial| minus(&value.negated(), &Polynomial::number(bits, 1));
            a.iter().filter_map(less).collect()
        }
        ("and" | "or" | "xor", [a, b]) if plain => {
            let number = |values: &[Polynomial]| values.iter().find_map(Polynomial::as_number);
            let numbers = number(a).zip(number(b)).map(|(a, b)| match opcode {
                "and" => a & b,
                "or" => a | b,
                _ => a ^ b,
            });
            Vec::from_iter(numbers.map(|it| Polynomial::number(bits, it)))
        }
        ("mul", [a, b]) if low => products(a, b),
        ("mad", [a, b, c]) if low => both(&products(a, b), c, &Polynomial::plus),
        ("shl", [a, b]) if plain => shifted_left(a, b, bits),
        ("shr", [a, b]) if plain => {
            let by = b.first().and_then(Polynomial::as_number);
            let warps = by.is_some_and(|by| log_lanes == u32::try_from(by).ok());
            let threads = a.contains(&Polynomial::thread_in_group());
            let is_warp = warps && threads && !is_signed;
            let mut all = Vec::from_iter(is_warp.then(|| Polynomial::atom(32, Atom::Warp)));
            let number = a.iter().find_map(Polynomial::as_number);
            let by = by.filter(|by| (0..i64::from(bits)).contains(by));
            all.extend(number.zip(by).map(|(number, by)| {
                let unsigned = (number as u64 & (u64::MAX >> (64 - bits))) >> by;
                Polynomial::number(
                    bits,
                    if is_signed {
                        number >> by
                    } else {
                        unsigned as i64
                    },
                )
            }));
            all
        }
        ("cvt", [a]) if plain => {
            let signed = types.get(1).is_some_and(|read| read.1);
            let cast = |value: &Polynomial| {
                if value.bits < bits {
                    value.widened(bits, signed)
                } else {
                    Some(value.narrowed(bits))
                }
            };
            a.iter().filter_map(cast).collect()
        }
        _ => Vec::new(),
    };
    // A conversion fills a register that is wider than its type.
    let target = text.bits(line.places[*target].0);
    if opcode == "cvt" && bits < target {
        let widened = out
            .iter()
            .filter_map(|value| value.widened(target, is_signed));
        out = widened.collect();
    }
    let produced = if opcode == "cvt" { target } else { produced };
    out.retain(|value| value.bits == produced);
    out.sort();
    out.dedup();
    out
}

fn shifted_left(values: &[Polynomial], by: &[Polynomial], bits: u32) -> Vec<Polynomial> {
    // The count has 32 bits, whatever the type.
    let by = by.first().and_then(Polynomial::as_number);
    let Some(by) = by.filter(|by| (0..i64::from(bits)).contains(by)) else {
        return Vec::new();
    };
    let factor = Polynomial::number(bits, 1 << by);
    values
        .iter()
        .filter_map(|value| value.times(&factor))
        .collect()
}
