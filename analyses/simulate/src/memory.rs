//! Memory of a run: regions that someone placed, with nothing between them. An access that is not whole within one region
//! is an error of the program, however near it is.

/// A mapped range.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Region {
    base: u64,
    bytes: Vec<u8>,
    writable: bool,
}

/// The memory that loads and stores see. Little endian.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// In order of their bases, apart from each other.
    regions: Vec<Region>,
    /// The region of the last access.
    last: usize,
}

/// The address of the first buffer that `place` lays out.
const BUFFERS: u64 = 0x2000_0000;
/// The least number of unmapped bytes behind every buffer.
const GAP: u64 = 4096;
/// Bytes of all regions together.
const MOST: u64 = 1 << 30;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    Unmapped,
    ReadOnly,
}

impl Memory {
    #[must_use]
    pub fn new() -> Memory {
        Memory::default()
    }

    /// Puts a buffer somewhere, aligned to 64 bytes, nothing mapped around it. `None`: there is no room.
    pub fn place(&mut self, bytes: &[u8]) -> Option<u64> {
        let base = match self
            .regions
            .iter()
            .rev()
            .find(|region| region.base >= BUFFERS && region.base < STACK)
        {
            Some(region) => (region.base + region.bytes.len() as u64 + GAP).next_multiple_of(GAP),
            None => BUFFERS,
        };
        self.map(base, bytes.to_vec(), true).then_some(base)
    }

    /// Maps bytes at an address; whether that could be done.
    pub fn map(&mut self, base: u64, bytes: Vec<u8>, writable: bool) -> bool {
        let length = bytes.len() as u64;
        let used: u64 = self
            .regions
            .iter()
            .map(|region| region.bytes.len() as u64)
            .sum();
        let at = self.regions.partition_point(|region| region.base <= base);
        let free = self
            .regions
            .get(at)
            .is_none_or(|next| base.saturating_add(length) <= next.base)
            && at.checked_sub(1).is_none_or(|before| {
                let before = &self.regions[before];
                before.base + before.bytes.len() as u64 <= base && before.base != base
            });
        if !free || base.checked_add(length).is_none() || used + length > MOST {
            return false;
        }
        self.regions.insert(
            at,
            Region {
                base,
                bytes,
                writable,
            },
        );
        true
    }
    /// Takes the region away that begins here.
    pub(crate) fn unmap(&mut self, base: u64) {
        self.regions.retain(|region| region.base != base);
        self.last = 0;
    }

    fn find(&mut self, address: u64, length: usize) -> Option<(usize, usize)> {
        let within = |region: &Region| {
            let at = address.checked_sub(region.base)?;
            let end = at.checked_add(length as u64)?;
            (end <= region.bytes.len() as u64).then_some(at as usize)
        };
        if let Some(at) = self.regions.get(self.last).and_then(within) {
            return Some((self.last, at));
        }
        let index = self
            .regions
            .partition_point(|region| region.base <= address)
            .checked_sub(1)?;
        let at = within(&self.regions[index])?;
        self.last = index;
        Some((index, at))
    }

    /// The bytes at an address, where they are mapped.
    pub fn bytes(&mut self, address: u64, length: usize) -> Option<&[u8]> {
        let (region, at) = self.find(address, length)?;
        Some(&self.regions[region].bytes[at..at + length])
    }
    /// Up to 8 bytes.
    pub(crate) fn read(&mut self, address: u64, length: usize) -> Result<u64, Refused> {
        let bytes = self.bytes(address, length).ok_or(Refused::Unmapped)?;
        let mut value = [0; 8];
        value[..length].copy_from_slice(bytes);
        Ok(u64::from_le_bytes(value))
    }
    pub(crate) fn write(&mut self, address: u64, length: usize, value: u64) -> Result<(), Refused> {
        let (region, at) = self.find(address, length).ok_or(Refused::Unmapped)?;
        let region = &mut self.regions[region];
        if !region.writable {
            return Err(Refused::ReadOnly);
        }
        region.bytes[at..at + length].copy_from_slice(&value.to_le_bytes()[..length]);
        Ok(())
    }
}

/// The base of a run's memory stack, its length, and the start of its pointer; the scratch area above it is
/// mapped.
pub(crate) const STACK: u64 = 0x6000_0000;
pub(crate) const STACK_BYTES: u64 = 1 << 20;
pub(crate) const STACK_START: u64 = STACK + STACK_BYTES - 4096;
