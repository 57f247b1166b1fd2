//! Two executions of a function of Quad: in order on virtual registers, and in packets on the machine's own.
//!
//! ```text
//! { d1 = Mov d0; d0 = Mov d1 }     in packets an exchange; in order, d0 twice
//! { d2 = Ld [d0] } { d3 = Add d2, 1 }      the second packet stalls for 2
//! ```
//!
//! Registers and bytes of the frame hold patterns of their own before they are written, so that a value that was never
//! computed is not taken for one.

pub use super::operate::{Access, Cause, Control, Effect};
use super::operate::{Decoded, Machine, decode, perform};
use super::set::{
    ACCESSES, Block, Class, Function, Name, Operation, PACKET, PRODUCTS, Register, WORDS,
    is_access, is_product, words,
};
use super::state::{Registers, Storage, exists, storage};
use std::cell::Cell;

/// The cycle of a block's last packet, at most.
const CYCLES: u32 = 1 << 20;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    pub result: u32,
    pub memory: Vec<u8>,
    /// Packets, empty ones included; in order, operations.
    pub packets: u64,
    /// Cycles in which a packet waited for its operands.
    pub stalls: u64,
    /// Reads of virtual registers that nothing had written. Not counted in packets.
    pub undefined: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// `None`: before the entry.
    pub block: Option<u32>,
    /// In the block, the first of the packet where it is the packet's fault.
    pub operation: usize,
    pub cause: Cause,
}

/// An access to memory of an execution in order, by its operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Traced {
    pub block: u32,
    pub operation: usize,
    pub access: Access,
}

struct InOrder<'f> {
    function: &'f Function,
    values: Vec<Option<u64>>,
    fixed: Registers,
    storage: Storage,
    undefined: Cell<u64>,
}

impl Machine for InOrder<'_> {
    fn class(&self, name: Name) -> Result<Class, Cause> {
        match name {
            Name::Virtual(register) => {
                let class = self.function.registers.get(register.0 as usize);
                class.copied().ok_or(Cause::NoPlace(register))
            }
            Name::Fixed(register) if exists(register) => Ok(register.class),
            Name::Fixed(_) => Err(Cause::Operands),
        }
    }
    fn read(&self, name: Name) -> Result<u64, Cause> {
        let class = self.class(name)?;
        Ok(match name {
            Name::Fixed(register) => self.fixed.get(register),
            Name::Virtual(register) => self.values[register.0 as usize].unwrap_or_else(|| {
                self.undefined.set(self.undefined.get() + 1);
                match class {
                    Class::Data => 0x5a5a_0000 + u64::from(register.0),
                    Class::Pair => (0x5a5a_0000 + u64::from(register.0)) << 20,
                    Class::Flag => u64::from(register.0) & 1,
                    Class::Count => 0x5a5a,
                }
            }),
        })
    }
    fn load(&self, access: Access) -> Result<u64, Cause> {
        self.storage.load(access)
    }
}

impl InOrder<'_> {
    fn write(&mut self, name: Name, value: u64) {
        match name {
            Name::Fixed(register) => self.fixed.set(register, value),
            Name::Virtual(register) => self.values[register.0 as usize] = Some(value),
        }
    }
    fn step(&mut self, operation: &Operation) -> Result<Option<Effect>, Cause> {
        let decoded = decode(operation, &|name| self.class(name))?;
        for (at, &(name, _)) in decoded.writes.iter().enumerate() {
            if decoded.writes[..at].iter().any(|before| before.0 == name) {
                return Err(Cause::WrittenTwice(name));
            }
        }
        let Some(effect) = perform(operation, self)? else {
            return Ok(None);
        };
        if let Some((access, value)) = effect.store {
            self.storage.store(access, value)?;
        }
        for &(name, value) in &effect.writes {
            self.write(name, value);
        }
        Ok(Some(effect))
    }
}

/// Executes one operation after the other on virtual registers, at most `limit` of them.
pub fn run_in_order(
    function: &Function,
    memory: &[u8],
    arguments: &[u32],
    limit: u64,
) -> Result<Outcome, Fault> {
    run_traced(function, memory, arguments, limit, &mut |_| {})
}

/// The same, and reports each access to memory.
pub fn run_traced(
    function: &Function,
    memory: &[u8],
    arguments: &[u32],
    limit: u64,
    trace: &mut dyn FnMut(Traced),
) -> Result<Outcome, Fault> {
    let mut machine = InOrder {
        function,
        values: vec![None; function.registers.len()],
        fixed: Registers::new(),
        storage: Storage::new(memory),
        undefined: Cell::new(0),
    };
    let (mut block, mut operation, mut count) = (0_u32, 0_usize, 0_u64);
    let fault = |block: u32, operation: usize| {
        move |cause: Cause| Fault {
            block: Some(block),
            operation,
            cause,
        }
    };
    if arguments.len() != function.parameters.len() {
        return Err(fault(0, 0)(Cause::Arguments));
    }
    for (&parameter, &argument) in function.parameters.iter().zip(arguments) {
        if machine.class(Name::Virtual(parameter)) != Ok(Class::Data) {
            return Err(fault(0, 0)(Cause::Arguments));
        }
        machine.write(Name::Virtual(parameter), u64::from(argument));
    }
    loop {
        let Some(Block { operations, .. }) = function.blocks.get(block as usize) else {
            return Err(fault(block, 0)(Cause::NoBlock));
        };
        let Some(here) = operations.get(operation) else {
            (block, operation) = (block + 1, 0);
            continue;
        };
        let failed = fault(block, operation);
        if count == limit {
            return Err(failed(Cause::Limit));
        }
        count += 1;
        let effect = machine.step(here).map_err(failed)?.unwrap_or_default();
        for access in effect
            .load
            .into_iter()
            .chain(effect.store.map(|stored| stored.0))
        {
            trace(Traced {
                block,
                operation,
                access,
            });
        }
        operation += 1;
        match effect.control {
            None => {}
            Some(Control::Block(target)) => (block, operation) = (target, 0),
            Some(Control::Return(result)) => {
                return Ok(Outcome {
                    result,
                    memory: machine.storage.memory,
                    packets: count,
                    stalls: 0,
                    undefined: machine.undefined.get(),
                });
            }
        }
    }
}

struct InPackets<'f> {
    function: &'f Function,
    places: &'f [Register],
    registers: Registers,
    storage: Storage,
    /// The cycle at which the value of each piece of storage is available.
    ready: [u64; 34],
    packets: u64,
    stalls: u64,
}

impl Machine for InPackets<'_> {
    fn class(&self, name: Name) -> Result<Class, Cause> {
        Ok(self.place(name)?.class)
    }
    fn read(&self, name: Name) -> Result<u64, Cause> {
        Ok(self.registers.get(self.place(name)?))
    }
    fn load(&self, access: Access) -> Result<u64, Cause> {
        self.storage.load(access)
    }
}

impl InPackets<'_> {
    fn place(&self, name: Name) -> Result<Register, Cause> {
        match name {
            Name::Fixed(register) if exists(register) => Ok(register),
            Name::Fixed(_) => Err(Cause::Operands),
            Name::Virtual(register) => {
                let class = self.function.registers.get(register.0 as usize);
                let place = self.places.get(register.0 as usize).copied();
                let place = place.filter(|place| exists(*place) && Some(&place.class) == class);
                place.ok_or(Cause::NoPlace(register))
            }
        }
    }

    /// Executes a packet; a fault names its operation, or the first.
    fn issue(&mut self, packet: &[Operation]) -> Result<Option<Control>, (usize, Cause)> {
        self.check_limits(packet)?;
        let decoded = packet.iter().enumerate().map(|(at, operation)| {
            decode(operation, &|name| self.class(name)).map_err(|cause| (at, cause))
        });
        let decoded: Vec<Decoded> = decoded.collect::<Result<_, _>>()?;
        self.check_writes(packet, &decoded)?;

        let mut effects: Vec<Option<Effect>> = Vec::new();
        for (at, operation) in packet.iter().enumerate() {
            effects.push(perform(operation, self).map_err(|cause| (at, cause))?);
        }
        let now = self.wait(&decoded, &effects).map_err(|cause| (0, cause))?;
        let mut stored: Vec<Access> = Vec::new();
        let mut control = None;
        for (at, effect) in effects.iter().enumerate() {
            let Some(effect) = effect else { continue };
            if let Some((access, value)) = effect.store {
                if stored.iter().any(|other| meets(*other, access)) {
                    return Err((at, Cause::StoresOverlap));
                }
                stored.push(access);
                self.storage
                    .store(access, value)
                    .map_err(|cause| (at, cause))?;
            }
            for &(name, value) in &effect.writes {
                let register = self.place(name).map_err(|cause| (at, cause))?;
                self.registers.set(register, value);
                let later = decoded[at].writes.iter().find(|write| write.0 == name);
                for unit in storage(register) {
                    self.ready[unit] = now + later.map_or(1, |write| u64::from(write.1));
                }
            }
            control = control.or(effect.control);
        }
        self.packets += 1;
        Ok(control)
    }

    fn check_limits(&self, packet: &[Operation]) -> Result<(), (usize, Cause)> {
        let opcodes = || packet.iter().map(|operation| operation.mnemonic.opcode);
        let accesses = opcodes().filter(|&opcode| is_access(opcode)).count() as u32;
        let products = opcodes().filter(|&opcode| is_product(opcode)).count() as u32;
        let wide: u32 = packet.iter().map(words).sum();
        let early = packet
            .iter()
            .rev()
            .skip(1)
            .any(|operation| operation.branch().is_some());
        let cause = if packet.len() > PACKET {
            Cause::TooMany(packet.len())
        } else if wide > WORDS {
            Cause::TooWide(wide)
        } else if accesses > ACCESSES {
            Cause::TooManyAccesses(accesses)
        } else if products > PRODUCTS {
            Cause::TooManyProducts(products)
        } else if early {
            Cause::BranchNotLast
        } else {
            return Ok(());
        };
        Err((0, cause))
    }

    /// No register is written by two operations of which both may execute, nor twice by one.
    fn check_writes(
        &self,
        packet: &[Operation],
        decoded: &[Decoded],
    ) -> Result<(), (usize, Cause)> {
        let mut before: Vec<(usize, Register)> = Vec::new();
        for (at, operation) in decoded.iter().enumerate() {
            for &(name, _) in &operation.writes {
                let register = self.place(name).map_err(|cause| (at, cause))?;
                for &(other, written) in &before {
                    // There is one flag: guards of different senses exclude each other.
                    let apart = other != at
                        && operation.guard.is_some()
                        && decoded[other].guard.is_some()
                        && packet[other].mnemonic.sense != packet[at].mnemonic.sense;
                    let (here, there) = (storage(register), storage(written));
                    if !apart && here.start < there.end && there.start < here.end {
                        return Err((at, Cause::WrittenTwice(name)));
                    }
                }
                before.push((at, register));
            }
        }
        Ok(())
    }

    /// Waits for the operands of executing operations and guards. Returns the time at which the packet is
    /// issued.
    fn wait(&mut self, decoded: &[Decoded], effects: &[Option<Effect>]) -> Result<u64, Cause> {
        let now = self.packets + self.stalls;
        let mut start = now;
        for (operation, effect) in decoded.iter().zip(effects) {
            let reads = operation.reads.iter().filter(|_| effect.is_some());
            for &name in reads.chain(&operation.guard) {
                for unit in storage(self.place(name)?) {
                    start = start.max(self.ready[unit]);
                }
            }
        }
        self.stalls += start - now;
        Ok(start)
    }
}

fn meets(first: Access, second: Access) -> bool {
    let end = |access: Access| access.address + u64::from(access.bytes);
    first.space == second.space && first.address < end(second) && second.address < end(first)
}

/// The packets of a block: where they begin and end in its operations.
fn packets(block: &Block) -> Result<Vec<std::ops::Range<usize>>, Cause> {
    let count = block.operations.len();
    if block.cycles.is_empty() {
        return Ok((0..count).map(|at| at..at + 1).collect());
    }
    let last = block.cycles[block.cycles.len() - 1];
    if block.cycles.len() != count || !block.cycles.is_sorted() || last > CYCLES {
        return Err(Cause::Cycles);
    }
    let begin = |cycle: u32| block.cycles.partition_point(|&other| other < cycle);
    Ok((0..=last).map(|at| begin(at)..begin(at + 1)).collect())
}

/// Executes the packets of a function whose virtual registers have these places, at most `limit` of them. `arrivals` come in
/// front of the entry, each a packet of its own.
pub fn run_packets(
    function: &Function,
    registers: &[Register],
    arrivals: &[Operation],
    memory: &[u8],
    arguments: &[u32],
    limit: u64,
) -> Result<Outcome, Fault> {
    let mut machine = InPackets {
        function,
        places: registers,
        registers: Registers::new(),
        storage: Storage::new(memory),
        ready: [0; 34],
        packets: 0,
        stalls: 0,
    };
    let before = |operation: usize| {
        move |cause: Cause| Fault {
            block: None,
            operation,
            cause,
        }
    };
    if arguments.len() != function.parameters.len() || arguments.len() > 4 {
        return Err(before(0)(Cause::Arguments));
    }
    for (at, &argument) in arguments.iter().enumerate() {
        let plain = Some(Register::data(at as u8));
        match function.arrivals.get(at).copied().unwrap_or(plain) {
            Some(register) if exists(register) && register.class == Class::Data => {
                machine.registers.set(register, u64::from(argument));
            }
            _ => return Err(before(0)(Cause::Arguments)),
        }
    }
    for (at, operation) in arrivals.iter().enumerate() {
        if machine.packets == limit {
            return Err(before(at)(Cause::Limit));
        }
        let issued = machine.issue(std::slice::from_ref(operation));
        if issued.map_err(|(_, cause)| before(at)(cause))?.is_some() {
            return Err(before(at)(Cause::Operands));
        }
    }
    let mut block = 0_u32;
    loop {
        let fault = |operation: usize, cause: Cause| Fault {
            block: Some(block),
            operation,
            cause,
        };
        let here = function.blocks.get(block as usize);
        let here = here.ok_or_else(|| fault(0, Cause::NoBlock))?;
        let mut next = Control::Block(block + 1);
        for packet in packets(here).map_err(|cause| fault(0, cause))? {
            if machine.packets == limit {
                return Err(fault(packet.start, Cause::Limit));
            }
            let issued = machine.issue(&here.operations[packet.clone()]);
            let issued = issued.map_err(|(at, cause)| fault(packet.start + at, cause))?;
            if let Some(control) = issued {
                next = control;
                break;
            }
        }
        match next {
            Control::Block(target) => block = target,
            Control::Return(result) => {
                return Ok(Outcome {
                    result,
                    memory: machine.storage.memory,
                    packets: machine.packets,
                    stalls: machine.stalls,
                    undefined: 0,
                });
            }
        }
    }
}
