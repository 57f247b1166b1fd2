//! Cycles as data: those of an execution set beyond its first.

/// The processor whose cycles are counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timing {
    pub name: String,
    /// Words that are fetched at once, aligned; a set that two of these hold straddles them.
    pub fetch_words: u32,
    /// A set with an address that is calculated before it is used: indexed, displaced, relative to the stack pointer.
    pub precalculated: u32,
    /// A bit mask on a register, and on memory.
    pub mask_register: u32,
    pub mask_memory: u32,
    /// Jumps to an address or a register.
    pub jump: u32,
    /// Jumps relative to the program counter.
    pub branch: u32,
    /// Conditional jumps that are taken, and those that are not.
    pub taken: u32,
    pub not_taken: u32,
    /// Returns whose address is in the shadow of the last call, and beyond that where another call came between.
    pub returns: u32,
    pub return_missed: u32,
    /// A jump of `break`, `cont` or `skipls`.
    pub loop_jump: u32,
    /// Beyond that, where the target straddles; loops of three sets and more that go back to such a set, too.
    pub straddle: u32,
    /// The first `pop` or `rte` behind arithmetic on the stack pointer.
    pub stack_shadow: u32,
    /// A call that leaves no free cycle for the return address.
    pub call_push: u32,
    /// A loop of three sets and more that is marked at its last set goes back.
    pub late_mark: u32,
}

impl Default for Timing {
    /// The figures of the reference manual's excerpts; where these differ, the ones of the worked examples.
    fn default() -> Timing {
        Timing {
            name: "sc140".to_owned(),
            fetch_words: 8,
            precalculated: 1,
            mask_register: 2,
            mask_memory: 2,
            jump: 3,
            branch: 4,
            taken: 4,
            not_taken: 1,
            returns: 3,
            return_missed: 2,
            loop_jump: 4,
            straddle: 1,
            stack_shadow: 1,
            call_push: 1,
            late_mark: 3,
        }
    }
}

/// Cycles by cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cycles {
    /// One for each execution set.
    pub sets: u64,
    /// Instructions that take longer than one cycle: addresses, bit masks.
    pub long_instructions: u64,
    /// Jumps, calls and returns beyond the cycle of their set.
    pub flow: u64,
    /// Targets and loop starts that straddle two fetches.
    pub straddles: u64,
    /// Waits for the stack pointer and for return addresses.
    pub stalls: u64,
}

impl Cycles {
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.sets + self.long_instructions + self.flow + self.straddles + self.stalls
    }
}
