//! Memory with checked addresses. An address says which object it belongs to, so that leaving the object is noticed.
//!
//! ```text
//! Global, Constant   (buffer + 1) << 40 | offset               the same in Generic space
//! Shared             offset in the workgroup's window          1 << 61 | offset in Generic space
//! Local              offset in the lane's window               1 << 62 | offset in Generic space
//! ```
//! Windows start at 1024 and leave 256 unused bytes between objects; objects of a window start at multiples
//! of 256, so that banks follow from offsets. 0 is no object's address in any space. Window offsets survive a
//! detour through 32-bit integers. A tagged address is accepted by accesses to the space of its tag.

use super::error::Fault;
use ir::types::Space;

const BUFFER_SHIFT: u32 = 40;
pub(super) const SHARED_TAG: u64 = 1 << 61;
pub(super) const LOCAL_TAG: u64 = 1 << 62;
const TAGS: u64 = SHARED_TAG | LOCAL_TAG;
const WINDOW_START: u64 = 1024;
const GAP: u64 = 256;

/// The address of a byte of a buffer.
pub fn buffer_address(buffer: usize, offset: u64) -> u64 {
    ((buffer as u64 + 1) << BUFFER_SHIFT).wrapping_add(offset)
}

/// The buffer and offset of an address in Global or Constant space.
pub fn buffer_of(address: u64) -> Option<(usize, u64)> {
    let buffer = address >> BUFFER_SHIFT;
    (buffer != 0 && address & TAGS == 0)
        .then(|| (buffer as usize - 1, address & ((1 << BUFFER_SHIFT) - 1)))
}

/// The space that an address of Generic space points to, and the address there.
pub fn resolve_generic(address: u64) -> (Space, u64) {
    if address & TAGS == SHARED_TAG {
        (Space::Shared, address & !TAGS)
    } else if address & TAGS == LOCAL_TAG {
        (Space::Local, address & !TAGS)
    } else {
        (Space::Global, address)
    }
}

/// `Convert::SpaceCast`; null stays null.
pub(super) fn cast(from: Space, to: Space, address: u64) -> u64 {
    match (from, to) {
        _ if address == 0 => 0,
        (Space::Shared, Space::Generic) => address | SHARED_TAG,
        (Space::Local, Space::Generic) => address | LOCAL_TAG,
        (Space::Generic, Space::Shared | Space::Local) => address & !TAGS,
        _ => address,
    }
}

/// Addresses as the 32 bits that they have in memory by some data models: the number of what stands above their lowest bits,
/// and those. Null stays null.
#[derive(Clone, Debug, Default)]
pub(super) struct NarrowAddresses {
    /// Of each number from 1: the bits above.
    above: Vec<u64>,
}

impl NarrowAddresses {
    const LOW: u32 = 20;
    const MOST: usize = (1 << (32 - Self::LOW)) - 1;

    /// The 32 bits of an address, which `wide` gives back. More parts of memory than these bits can name share a number that
    /// names none.
    pub(super) fn narrow(&mut self, address: u64) -> u64 {
        let (above, low) = (address >> Self::LOW, address & ((1 << Self::LOW) - 1));
        if above == 0 {
            return low;
        }
        let known = self.above.iter().position(|known| *known == above);
        let number = known.unwrap_or_else(|| {
            if self.above.len() < Self::MOST - 1 {
                self.above.push(above);
                self.above.len() - 1
            } else {
                Self::MOST - 1
            }
        });
        (number as u64 + 1) << Self::LOW | low
    }
    /// The address whose 32 bits these are.
    pub(super) fn wide(&self, bits: u64) -> u64 {
        let (number, low) = ((bits >> Self::LOW) as usize, bits & ((1 << Self::LOW) - 1));
        match number.checked_sub(1) {
            None => low,
            // Of what was never an address nothing is known.
            Some(at) => match self.above.get(at) {
                Some(above) => above << Self::LOW | low,
                None => bits,
            },
        }
    }
}

/// Objects of a window, by ascending start.
#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    objects: Vec<(u64, u64)>,
    end: u64,
}

impl Window {
    /// Places an object and gives its address.
    pub(super) fn place(&mut self, size: u64, align: u32) -> u64 {
        let align = u64::from(align.max(1)).next_power_of_two().max(GAP);
        let start = (self.end.max(WINDOW_START - GAP) + GAP).next_multiple_of(align);
        self.objects.push((start, size));
        self.end = start + size;
        start
    }
    /// Bytes that hold everything placed so far.
    pub(super) fn bytes(&self) -> u64 {
        self.end
    }
    pub(super) fn mark(&self) -> (usize, u64) {
        (self.objects.len(), self.end)
    }
    pub(super) fn release(&mut self, mark: (usize, u64)) {
        self.objects.truncate(mark.0);
        self.end = mark.1;
    }
    fn check(&self, address: u64, size: u32) -> Result<usize, Fault> {
        let after = self.objects.partition_point(|&(start, _)| start <= address);
        let Some(&(start, length)) = after.checked_sub(1).and_then(|i| self.objects.get(i)) else {
            return Err(if address == 0 {
                Fault::Null
            } else {
                match self.objects.first() {
                    Some(&(start, size)) if start - address < WINDOW_START => Fault::OutOfBounds {
                        offset: address as i64 - start as i64,
                        size,
                    },
                    _ => Fault::NoObject,
                }
            });
        };
        let offset = address - start;
        if offset + u64::from(size) <= length {
            Ok(address as usize)
        } else {
            Err(Fault::OutOfBounds {
                offset: offset as i64,
                size: length,
            })
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct BufferState {
    pub(super) bytes: Vec<u8>,
    pub(super) writable: bool,
}

/// Buffers and the windows that the executing lane sees.
pub(super) struct View<'a> {
    pub(super) buffers: &'a mut Vec<BufferState>,
    pub(super) shared: &'a mut [u8],
    pub(super) shared_window: &'a Window,
    /// The windows of all lanes of the warp, one after the other, `local_stride` bytes each.
    pub(super) local: &'a mut [u8],
    pub(super) local_stride: usize,
    pub(super) local_window: &'a Window,
}

/// The properties of an access besides its address.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub(super) space: Space,
    pub(super) lane: usize,
    /// All elements together.
    pub(super) size: u32,
    /// The alignment of each element.
    pub(super) align: u32,
    pub(super) write: bool,
}

impl View<'_> {
    /// The bytes of an access.
    pub(super) fn bytes(&mut self, address: u64, request: Request) -> Result<&mut [u8], Fault> {
        let size = request.size as usize;
        if address & u64::from(request.align.max(1) - 1) != 0 {
            return Err(Fault::Misaligned { to: request.align });
        }
        let (space, plain) = match request.space {
            Space::Generic => resolve_generic(address),
            space => {
                let (found, plain) = resolve_generic(address);
                let tagged = address & TAGS != 0;
                let far = address >> BUFFER_SHIFT != 0;
                match space {
                    Space::Shared | Space::Local if tagged && found != space => {
                        return Err(Fault::WrongSpace { found });
                    }
                    Space::Shared | Space::Local if !tagged && far => {
                        return Err(Fault::WrongSpace {
                            found: Space::Global,
                        });
                    }
                    Space::Global | Space::Constant if tagged => {
                        return Err(Fault::WrongSpace { found });
                    }
                    _ => (space, plain),
                }
            }
        };
        match space {
            Space::Shared => {
                let at = self.shared_window.check(plain, request.size)?;
                self.shared.get_mut(at..at + size).ok_or(Fault::NoObject)
            }
            Space::Local => {
                let at = self.local_window.check(plain, request.size)?
                    + request.lane * self.local_stride;
                self.local.get_mut(at..at + size).ok_or(Fault::NoObject)
            }
            Space::Global | Space::Constant | Space::Generic => {
                if request.write && space == Space::Constant {
                    return Err(Fault::ReadOnly);
                }
                let (number, offset) = (
                    (plain >> BUFFER_SHIFT) as usize,
                    plain & ((1 << BUFFER_SHIFT) - 1),
                );
                // An offset below the start borrows from the buffer's number.
                let high = offset >> (BUFFER_SHIFT - 1) != 0;
                if number == 0 && offset < 1 << 16 {
                    return Err(Fault::Null);
                }
                let owner = match (high, number.checked_sub(1)) {
                    (true, _) => number,
                    (false, Some(owner)) => owner,
                    (false, None) => return Err(Fault::NoObject),
                };
                if owner >= self.buffers.len() {
                    return Err(Fault::NoObject);
                }
                let state = &mut self.buffers[owner];
                let length = state.bytes.len() as u64;
                if high || offset + u64::from(request.size) > length {
                    let offset = offset as i64 - if high { 1i64 << BUFFER_SHIFT } else { 0 };
                    return Err(Fault::OutOfBounds {
                        offset,
                        size: length,
                    });
                }
                if request.write && !state.writable {
                    return Err(Fault::ReadOnly);
                }
                let at = offset as usize;
                state.bytes.get_mut(at..at + size).ok_or(Fault::NoObject)
            }
        }
    }
}

/// Little-endian bytes, 1 to 8 of them.
#[inline]
pub(super) fn load(bytes: &[u8]) -> u64 {
    let mut word = [0u8; 8];
    let count = bytes.len().min(8);
    word[..count].copy_from_slice(&bytes[..count]);
    u64::from_le_bytes(word)
}
#[inline]
pub(super) fn store(bytes: &mut [u8], value: u64) {
    let count = bytes.len().min(8);
    bytes[..count].copy_from_slice(&value.to_le_bytes()[..count]);
}
