//! Arguments of a function that is simulated: numbers, buffers, pointers into them.

use super::super::CliError;
use ir::Type;
use oracle::interp::simple::{DescribedArgument, DescribedValue, show};
use simulate::Memory;
use simulate::ia64::Arg;

/// A buffer that was given.
pub(in crate::cli) struct Buffer {
    pub(super) address: u64,
    element: Type,
    /// The bytes as memory had them.
    before: Vec<u8>,
    /// The most significant byte of an element is the first one.
    big_endian: bool,
}

impl Buffer {
    /// Returns the contents that a run left in it, if they have changed.
    pub(super) fn changed(&self, memory: &mut Memory) -> Option<Vec<u8>> {
        let now = memory.bytes(self.address, self.before.len())?.to_vec();
        (now != self.before).then_some(now)
    }

    /// The elements that bytes of memory are.
    pub(super) fn elements(&self, bytes: &[u8]) -> Vec<String> {
        let element = self.element;
        let size = (element.bits() as usize / 8).max(1);
        bytes
            .chunks(size)
            .map(|chunk| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                if self.big_endian {
                    word[..chunk.len()].reverse();
                }
                let unused = 64 - element.bits().clamp(8, 64);
                let value = u64::from_le_bytes(word);
                show(
                    element,
                    match element.is_float() {
                        true => value,
                        false => (((value << unused) as i64) >> unused) as u64,
                    },
                )
            })
            .collect()
    }
}

/// An argument with its place in memory, if it has one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Argument {
    /// A number, of this type if it was said.
    Number(i64, Option<Type>),
    Float(f64),
    Pointer(u64),
}

/// Puts buffers into memory, elements in the order of its bytes.
pub(super) fn arguments(
    texts: &[String],
    big_endian: bool,
    memory: &mut Memory,
) -> Result<(Vec<Argument>, Vec<Buffer>), CliError> {
    let mut all = Vec::new();
    let mut buffers: Vec<Buffer> = Vec::new();
    for text in texts {
        if let Some(place) = text.strip_prefix('@') {
            all.push(within(text, place, &all, &buffers)?);
            continue;
        }
        if let Some((number, kind)) = typed(text) {
            all.push(Argument::Number(number, Some(kind)));
            continue;
        }
        let described: DescribedArgument = text.parse().map_err(CliError::Usage)?;
        let (element, mut bytes) = match described.value {
            DescribedValue::Int(value) => {
                all.push(Argument::Number(value, None));
                continue;
            }
            DescribedValue::Float(value) => {
                all.push(Argument::Float(value));
                continue;
            }
            DescribedValue::Buffer(bytes) => (Type::I32, bytes),
            DescribedValue::Elements(element, bytes) => (element, bytes),
        };
        if big_endian {
            let size = (element.bits() as usize / 8).max(1);
            bytes.chunks_mut(size).for_each(<[u8]>::reverse);
        }
        let Some(address) = memory.place(&bytes) else {
            return Err(CliError::Usage("the buffers are too large".into()));
        };
        all.push(Argument::Pointer(address));
        buffers.push(Buffer {
            address,
            element,
            before: bytes,
            big_endian,
        });
    }
    Ok((all, buffers))
}

/// `@0+8`: a place in the buffer of an earlier argument.
fn within(
    text: &str,
    place: &str,
    before: &[Argument],
    buffers: &[Buffer],
) -> Result<Argument, CliError> {
    let wrong = |why: &str| CliError::Usage(format!("`{text}`: {why}"));
    let (number, offset) = place.split_once('+').unwrap_or((place, "0"));
    let (Ok(number), Ok(offset)) = (number.parse::<usize>(), offset.parse::<u64>()) else {
        return Err(wrong(
            "expected @ARGUMENT+BYTES, the number of an earlier argument from 0",
        ));
    };
    let base = match before.get(number) {
        Some(Argument::Pointer(address)) => *address,
        Some(_) => return Err(wrong("that argument is no buffer")),
        None => return Err(wrong("there is no such argument before this one")),
    };
    let inside = |buffer: &&Buffer| {
        (buffer.address..=buffer.address + buffer.before.len() as u64).contains(&(base + offset))
    };
    match buffers.iter().find(inside) {
        Some(_) => Ok(Argument::Pointer(base + offset)),
        None => Err(wrong("the buffer is not so long")),
    }
}

/// `7:i16`
fn typed(text: &str) -> Option<(i64, Type)> {
    let (number, kind) = text.split_once(':')?;
    let kind = match kind {
        "i16" => Type::I16,
        "i32" => Type::I32,
        "i64" => Type::I64,
        _ => return None,
    };
    let number: i64 = number.trim().parse().ok()?;
    Some((number, kind))
}

/// Arguments in their places, of a processor whose words are 64 bits wide.
pub(in crate::cli) struct Placed {
    pub(in crate::cli) memory: Memory,
    pub(super) buffers: Vec<Buffer>,
    pub(in crate::cli) given: Vec<Arg>,
}

/// Puts buffers into memory.
pub(in crate::cli) fn placed(texts: &[String]) -> Result<Placed, CliError> {
    let mut memory = Memory::new();
    let (all, buffers) = arguments(texts, false, &mut memory)?;
    let given = all.iter().map(|argument| match *argument {
        Argument::Number(value, _) => Arg::Integer(value as u64),
        Argument::Float(value) => Arg::Double(value),
        Argument::Pointer(address) => Arg::Integer(address),
    });
    let given = given.collect();
    Ok(Placed {
        memory,
        buffers,
        given,
    })
}
