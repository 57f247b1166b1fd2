//! The frame of a function of assembly: the stack pointer at each set, and the accesses relative to it.
//!
//! Bytes are counted from the stack pointer that the function has at its start: what lies behind is its own frame, what lies in
//! front the caller's and the return address. Stops: each set gets its pointer once.

use super::super::listing::{Listing, Member, Set};
use super::SlotRefusal;
use isa::sc140::{Access, Address, Condition, File, Flow, Instruction, Opcode, Operand, Part, Reg};
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use syntax::sc140::{Argument, Document, Expr, StatementKind};

/// A load from a slot of four bytes into a register, or a store of one there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SlotAccess {
    /// A set of the listing and a member of it.
    pub(super) at: (usize, usize),
    pub(super) stores: bool,
    pub(super) slot: i64,
    pub(super) register: Reg,
}

/// Any other access of the stack: one under a condition, of another width, of a stack instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct OtherAccess {
    pub(super) set: usize,
    pub(super) access: Access,
    pub(super) bytes: Range<i64>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Frame {
    /// The sets that control reaches, ascending.
    pub(super) sets: Vec<usize>,
    /// Those that may follow each of them.
    pub(super) next: BTreeMap<usize, Vec<usize>>,
    /// Accesses of slots of the own frame, in the order of the text.
    pub(super) accesses: Vec<SlotAccess>,
    pub(super) others: Vec<OtherAccess>,
}

/// The functions of a listing: from a set with a label into which nothing falls to the next one.
pub(super) fn functions(listing: &Listing) -> Vec<Range<usize>> {
    let count = listing.sets.len();
    let mut entered = vec![false; count];
    for at in 0..count {
        for to in followers(listing, at) {
            entered[to] = true;
        }
    }
    let starts = |at: &usize| !listing.sets[*at].labels.is_empty() && !entered[*at];
    let starts: Vec<usize> = (0..count).filter(starts).collect();
    let ends = starts.iter().skip(1).copied().chain([count]);
    starts
        .iter()
        .zip(ends)
        .map(|(&start, end)| start..end)
        .collect()
}

/// The sets that may execute behind one in the same function: behind a call those to which the callee returns.
fn followers(listing: &Listing, at: usize) -> Vec<usize> {
    let all = listing.successors(at).into_iter();
    // A set between is one that a call takes.
    let own = all.filter(|(_, between)| *between == 0);
    let mut out: Vec<usize> = own.map(|(to, _)| to).collect();
    let next = listing.sets.get(at + 1).filter(|set| !set.apart);
    if calls(listing, at) && next.is_some() && !out.contains(&(at + 1)) {
        out.push(at + 1);
    }
    out
}

/// Returns true if control is in another function in front of the next set.
pub(super) fn calls(listing: &Listing, at: usize) -> bool {
    let calls = |set: &Set| set.flow().is_some_and(|(_, flow)| flow == Flow::Call);
    let before = at.checked_sub(1).map(|before| &listing.sets[before]);
    calls(&listing.sets[at]) || before.is_some_and(|set| set.has_slot() && calls(set))
}

impl Frame {
    pub(super) fn of(
        document: &Document,
        listing: &Listing,
        function: Range<usize>,
    ) -> Result<Frame, SlotRefusal> {
        let mut pointer: BTreeMap<usize, i64> = BTreeMap::from([(function.start, 0)]);
        let mut next: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut open = vec![function.start];
        while let Some(at) = open.pop() {
            let set = &listing.sets[at];
            leaves(listing, at)?;
            let behind = pointer[&at] + moved(listing, at)?;
            let followers = followers(listing, at);
            for &to in &followers {
                if !function.contains(&to) {
                    return Err(SlotRefusal::Leaves(set.span));
                }
                match pointer.insert(to, behind) {
                    None => open.push(to),
                    Some(known) if known != behind => {
                        return Err(SlotRefusal::Disagrees(listing.sets[to].span));
                    }
                    Some(_) => {}
                }
            }
            next.insert(at, followers);
        }
        let mut frame = Frame {
            sets: next.keys().copied().collect(),
            next,
            accesses: Vec::new(),
            others: Vec::new(),
        };
        frame.is_entered(document, listing, &function)?;
        for &at in &frame.sets.clone() {
            frame.accessed(listing, at, pointer[&at])?;
        }
        // A delayed return is left behind its slot.
        for &at in &frame.sets {
            let set = &listing.sets[at];
            let returns = set.flow().is_some_and(|(_, flow)| flow == Flow::Return);
            let end = if set.has_slot() { at + 1 } else { at };
            if returns
                && pointer
                    .get(&end)
                    .is_none_or(|&end_pointer| end_pointer + moved(listing, end).unwrap_or(1) != 0)
            {
                return Err(SlotRefusal::Unbalanced(set.span));
            }
        }
        Ok(frame)
    }

    /// Refuses a function that control enters at another place than its start.
    fn is_entered(
        &self,
        document: &Document,
        listing: &Listing,
        function: &Range<usize>,
    ) -> Result<(), SlotRefusal> {
        let inner = |set: usize| set != function.start && self.next.contains_key(&set);
        let of_label = |name: &SmolStr| listing.labels.get(name).copied();
        let label = |set: usize| {
            let name = listing.sets[set].labels.first();
            name.cloned().unwrap_or_default()
        };
        for at in (0..listing.sets.len()).filter(|at| !self.next.contains_key(at)) {
            if let Some(to) = followers(listing, at).into_iter().find(|&to| inner(to)) {
                return Err(SlotRefusal::Entered(label(to)));
            }
        }
        // Calls, and names that directives hand on.
        let called = listing.targets().filter(|(at, number, _)| {
            listing.sets[*at].members[*number].effects.flow == Some(Flow::Call)
        });
        let mut named: BTreeSet<SmolStr> = called.map(|(.., name)| name.clone()).collect();
        for statement in &document.statements {
            if let StatementKind::Directive(directive) = &statement.kind {
                for argument in &directive.arguments {
                    match argument {
                        Argument::Expr(value) => names(value, &mut named),
                        Argument::Text(name) | Argument::Other(name) => {
                            named.insert(name.clone());
                        }
                    }
                }
            }
        }
        match named
            .into_iter()
            .find(|name| of_label(name).is_some_and(inner))
        {
            Some(name) => Err(SlotRefusal::Entered(name)),
            None => Ok(()),
        }
    }

    /// Collects the accesses of a set relative to the stack pointer.
    fn accessed(&mut self, listing: &Listing, at: usize, pointer: i64) -> Result<(), SlotRefusal> {
        for (number, member) in listing.sets[at].members.iter().enumerate() {
            let Some(memory) = member.effects.memory else {
                continue;
            };
            let place = match memory.address {
                // Of a stack instruction, or of a call: around the pointer.
                None => {
                    self.others.push(OtherAccess {
                        set: at,
                        access: memory.access,
                        bytes: pointer - 8..pointer + 8,
                    });
                    continue;
                }
                Some(Address::Displaced { base: Reg::SP, by }) => by.value,
                Some(_) => continue,
            };
            let slot = pointer + place.ok_or(SlotRefusal::Unknown(member.span))?;
            let end = slot + i64::from(memory.bytes);
            if end > pointer {
                return Err(SlotRefusal::Beyond(member.span));
            }
            match plain(member).filter(|_| slot >= 0) {
                Some((register, stores)) => self.accesses.push(SlotAccess {
                    at: (at, number),
                    stores,
                    slot,
                    register,
                }),
                None => self.others.push(OtherAccess {
                    set: at,
                    access: memory.access,
                    bytes: slot..end,
                }),
            }
        }
        Ok(())
    }
}

/// The register of an access of four bytes that no condition guards; `true`: it is stored.
fn plain(member: &Member) -> Option<(Reg, bool)> {
    let instruction = member.instruction.as_ref().ok()?;
    if instruction.mnemonic.opcode != Opcode::MoveL || member.executes() != Condition::Always {
        return None;
    }
    let whole = |operand: &Operand| match operand {
        Operand::Register(register, Part::Whole)
            if matches!(register.file, File::Data | File::Address) =>
        {
            Some(*register)
        }
        _ => None,
    };
    match &instruction.operands[..] {
        [Operand::Memory(_), to] => Some((whole(to)?, false)),
        [from, Operand::Memory(_)] => Some((whole(from)?, true)),
        _ => None,
    }
}

/// Refuses a set whose instructions are not known, or which control leaves for where is not known.
fn leaves(listing: &Listing, at: usize) -> Result<(), SlotRefusal> {
    let set = &listing.sets[at];
    if let Some(member) = set
        .members
        .iter()
        .find(|member| member.instruction.is_err())
    {
        return Err(SlotRefusal::Unknown(member.span));
    }
    let Some((member, flow)) = set.flow() else {
        return Ok(());
    };
    let member = &set.members[member];
    let returns = member
        .instruction
        .as_ref()
        .is_ok_and(|known| matches!(known.mnemonic.opcode, Opcode::Rts | Opcode::Rtstk));
    let known = member
        .target
        .as_ref()
        .is_some_and(|name| listing.labels.contains_key(name));
    match flow {
        Flow::Call | Flow::Continue => Ok(()),
        Flow::Return if returns => Ok(()),
        Flow::Jump | Flow::Branch if known => Ok(()),
        _ => Err(SlotRefusal::Leaves(member.span)),
    }
}

/// The bytes by which the stack pointer moves in a set.
fn moved(listing: &Listing, at: usize) -> Result<i64, SlotRefusal> {
    let set = &listing.sets[at];
    let (mut by, mut pushed, mut popped) = (0, false, false);
    for member in &set.members {
        let Ok(instruction) = &member.instruction else {
            return Err(SlotRefusal::Unknown(member.span));
        };
        let touches = |register: Reg| register.overlaps(Reg::SP);
        let effects = &member.effects;
        let writes = effects.writes.iter().any(|write| touches(write.register));
        let certain = member.executes() == Condition::Always;
        match instruction.mnemonic.opcode {
            Opcode::Push if certain => pushed = true,
            Opcode::Pop if certain => popped = true,
            Opcode::Adda | Opcode::Suba if writes => {
                let sign = if instruction.mnemonic.opcode == Opcode::Adda {
                    1
                } else {
                    -1
                };
                let number = step(listing, at, instruction).filter(|_| certain);
                by += sign * number.ok_or(SlotRefusal::Pointer(member.span))?;
            }
            _ if matches!(effects.flow, Some(Flow::Call | Flow::Return)) => {}
            _ if writes => return Err(SlotRefusal::Pointer(member.span)),
            _ => {
                // The pointer as data, or in an address that is not known.
                let mut based = false;
                let taken = instruction.operands.iter().any(|operand| match operand {
                    Operand::Memory(Address::Displaced { base, .. }) => {
                        based |= touches(*base);
                        touches(*base) && *base != Reg::SP
                    }
                    other => other
                        .registers()
                        .iter()
                        .any(|(register, _)| touches(*register)),
                });
                let implied = effects.reads_from(Reg::SP) && !based;
                if taken || implied {
                    return Err(SlotRefusal::AddressTaken(member.span));
                }
            }
        }
    }
    if by != 0 && (pushed || popped) || pushed && popped {
        return Err(SlotRefusal::Pointer(set.span));
    }
    Ok(by + 8 * (i64::from(pushed) - i64::from(popped)))
}

/// The number that is added to the stack pointer: one that is written there, or that sets just in front put into the register.
fn step(listing: &Listing, at: usize, instruction: &Instruction) -> Option<i64> {
    let [by, Operand::Register(Reg::SP, Part::Whole)] = &instruction.operands[..] else {
        return None;
    };
    let register = match by {
        Operand::Number(number) => return number.value,
        Operand::Register(register, Part::Whole) => *register,
        _ => return None,
    };
    let mut at = at;
    // As many as a large frame's prologue has.
    for _ in 0..3 {
        if !listing.sets[at].labels.is_empty() || listing.sets[at].apart {
            return None;
        }
        at = at.checked_sub(1)?;
        let set = &listing.sets[at];
        if set.flow().is_some() || !set.closes.is_empty() {
            return None;
        }
        let mut writers = set
            .members
            .iter()
            .filter(|member| member.effects.writes_to(register));
        let Some(writer) = writers.next() else {
            continue;
        };
        let known = writer.instruction.as_ref().ok()?;
        let moves = matches!(known.mnemonic.opcode, Opcode::MoveW | Opcode::MoveL);
        return match &known.operands[..] {
            [Operand::Number(number), Operand::Register(_, Part::Whole)]
                if moves && writer.executes() == Condition::Always && writers.next().is_none() =>
            {
                number.value
            }
            _ => None,
        };
    }
    None
}

fn names(value: &Expr, out: &mut BTreeSet<SmolStr>) {
    match value {
        Expr::Name(name) => {
            out.insert(name.clone());
        }
        Expr::Unary { of, .. } => names(of, out),
        Expr::Binary { left, right, .. } => {
            names(left, out);
            names(right, out);
        }
        _ => {}
    }
}
