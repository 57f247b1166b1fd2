//! The state of Quad: its registers, memory and the frame.

use super::operate::{Access, Cause, Space};
use super::set::{Class, Register};
use std::ops::Range;

/// Bytes of a frame, at most.
const FRAME: usize = 1 << 16;

/// The values of the machine's registers.
pub struct Registers {
    data: [u32; 32],
    flag: bool,
    count: u32,
}

pub fn exists(register: Register) -> bool {
    let count = match register.class {
        Class::Data => 32,
        Class::Pair => 16,
        Class::Flag | Class::Count => 1,
    };
    register.number < count
}

/// Numbers of the storage that a register takes: data registers, then the flag and the counter.
pub fn storage(register: Register) -> Range<usize> {
    let number = usize::from(register.number);
    match register.class {
        Class::Data => number..number + 1,
        Class::Pair => 2 * number..2 * number + 2,
        Class::Flag => 32..33,
        Class::Count => 33..34,
    }
}

impl Registers {
    pub fn new() -> Registers {
        Registers {
            data: std::array::from_fn(|at| 0xa5a5_0000 + at as u32),
            flag: true,
            count: 0xa5a5,
        }
    }
    pub fn get(&self, register: Register) -> u64 {
        let at = storage(register).start;
        match register.class {
            Class::Data => u64::from(self.data[at]),
            Class::Pair => u64::from(self.data[at]) | u64::from(self.data[at + 1]) << 32,
            Class::Flag => u64::from(self.flag),
            Class::Count => u64::from(self.count),
        }
    }
    pub fn set(&mut self, register: Register, value: u64) {
        let at = storage(register).start;
        match register.class {
            Class::Data => self.data[at] = value as u32,
            Class::Pair => {
                self.data[at] = value as u32;
                self.data[at + 1] = (value >> 32) as u32;
            }
            Class::Flag => self.flag = value != 0,
            Class::Count => self.count = value as u32,
        }
    }
}

pub struct Storage {
    pub memory: Vec<u8>,
    frame: Vec<u8>,
}

impl Storage {
    pub fn new(memory: &[u8]) -> Storage {
        Storage {
            memory: memory.to_vec(),
            frame: vec![0xa5; FRAME],
        }
    }
    fn bytes(&mut self, access: Access) -> Result<&mut [u8], Cause> {
        let Access {
            space,
            address,
            bytes,
        } = access;
        let all = match space {
            Space::Memory => &mut self.memory,
            Space::Frame => &mut self.frame,
        };
        let range = address as usize..address as usize + bytes as usize;
        all.get_mut(range).ok_or(Cause::Outside { address, bytes })
    }
    pub fn load(&self, access: Access) -> Result<u64, Cause> {
        let Access {
            space,
            address,
            bytes,
        } = access;
        let all = match space {
            Space::Memory => &self.memory,
            Space::Frame => &self.frame,
        };
        let range = address as usize..address as usize + bytes as usize;
        let found = all.get(range).ok_or(Cause::Outside { address, bytes })?;
        let value = |at: usize| u64::from(found[at]) << (8 * at);
        Ok((0..found.len()).map(value).sum())
    }
    pub fn store(&mut self, access: Access, value: u64) -> Result<(), Cause> {
        let bytes = self.bytes(access)?;
        let length = bytes.len();
        bytes.copy_from_slice(&value.to_le_bytes()[..length]);
        Ok(())
    }
}
