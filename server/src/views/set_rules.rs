//! Rules of execution sets that assembly breaks, and targets that two fetches hold, in words.

use crate::config::Level;
use crate::db::{self, Db, File};
use crate::program::SetCode;
use crate::views::model::Note;
use codegen::isa::sc140::Unit;
use codegen::target::sc140::check::{Broken, Certainty, Finding, Place, PointerUse};
use codegen::target::sc140::layout::{ReachedBy, Split};
use syntax::Span;

/// All of a file.
pub(super) fn notes(db: &dyn Db, file: File) -> Vec<Note> {
    let code = db::set_code(db, file);
    let broken = code.findings.iter().map(|finding| illegal(code, finding));
    let split = code.splits.iter().map(|found| split(code, found));
    broken.chain(split).collect()
}

/// The text of an instruction, or of the set.
fn place(code: &SetCode, at: Place) -> Span {
    let set = &code.listing.sets[at.set];
    let member = at.member.and_then(|number| set.members.get(number));
    member.map_or(set.span, |member| member.span)
}

fn illegal(code: &SetCode, finding: &Finding) -> Note {
    let broken = &finding.broken;
    let (level, rests) = match broken.certainty() {
        Certainty::Stated => (Level::Error, ""),
        Certainty::Observed => (
            Level::Warning,
            "; the vendor's compiler keeps to this, and no page of the manual was at hand",
        ),
        Certainty::Guessed => (
            Level::Information,
            "; the manual's words were not at hand: this is the safe reading",
        ),
    };
    let message = format!("{} ({}){rests}", sentence(broken), broken.rule());
    Note {
        item: String::new(),
        code: "vles-illegal",
        level,
        span: place(code, finding.at),
        message,
        other: finding
            .with
            .map(|with| (place(code, with), related(broken))),
    }
}

fn split(code: &SetCode, found: &Split) -> Note {
    let (level, bounds) = match found.certain {
        true => (Level::Information, ""),
        false => (
            Level::Hint,
            ", if the assembler takes the longest forms in front of it",
        ),
    };
    let how = match found.reached {
        ReachedBy::Jump => "each jump here takes",
        ReachedBy::Loop => "each round of the loop takes",
    };
    Note {
        item: String::new(),
        code: "vles-split",
        level,
        span: code.listing.sets[found.set].span,
        message: format!(
            "two fetches hold this set{bounds}: {how} a cycle more; `FALIGN` in front of it begins a fetch (estimate)"
        ),
        other: None,
    }
}

/// The role of the other place of a finding, in words.
const fn related(broken: &Broken) -> &'static str {
    match broken {
        Broken::Written { .. } => "written here, too",
        Broken::TwoFlows => "control leaves here, too",
        Broken::Stores => "stored here, too",
        Broken::ModifierTooSoon
        | Broken::PointerTooSoon { .. }
        | Broken::StatusTooSoon
        | Broken::TruthTooSoon => "written here",
        Broken::FlowInSlot { .. }
        | Broken::StatusWithCall { .. }
        | Broken::StackInSlot
        | Broken::SlotIsMarked => "the jump, or the set",
        Broken::LoopLength { .. }
        | Broken::LoopTooSoon { .. }
        | Broken::SetupTooSoon { .. }
        | Broken::LoopStart { .. } => "prepared here",
        Broken::LoopNesting { .. } => "the outer loop",
        Broken::LoopTarget { .. } | Broken::IntoLoop { .. } => "the target",
        _ => "the other",
    }
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Data => "data units",
        Unit::Mask => "bit-mask units",
        _ => "address units, which serve bit masks, jumps and loops, too",
    }
}

fn sentence(broken: &Broken) -> String {
    match broken {
        Broken::Instructions { count, limit } => {
            format!("{count} instructions in a set, which holds {limit}")
        }
        Broken::Words { least, most, limit } if least > limit => {
            let words = match least == most {
                true => least.to_string(),
                false => format!("{least} to {most}"),
            };
            format!("{words} words with the prefix in a set, which holds {limit}")
        }
        Broken::Words { most, limit, .. } => format!(
            "{most} words with the prefix, if the assembler takes the longest forms, in a set, which holds {limit}"
        ),
        Broken::Units {
            unit: wanted,
            count,
            limit,
        } => format!("{count} instructions of a set need the {limit} {}", unit(*wanted)),
        Broken::TwoFlows => "two changes of flow in a set, whatever their conditions".into(),
        Broken::Written { register } => {
            format!("{register} is written twice in a set, or with a bit of it")
        }
        Broken::Stores => "two stores of a set to the same place: what is stored is undefined".into(),
        Broken::Uses {
            register,
            count,
            limit,
            sources,
        } => match sources > limit {
            true => format!("{register} is a source {sources} times in a set, and may be {limit} times"),
            false => format!(
                "{register} is read {count} times in a set, old values of targets included, and may be a source {limit} times"
            ),
        },
        Broken::Conditions { known: true } => {
            "a set has at most two groups of conditions, and `IFA` is the last".into()
        }
        Broken::Conditions { known: false } => {
            "groups of conditions are `IFT` or `IFF` in front of `IFA`, or `IFT` in front of `IFF`".into()
        }
        Broken::Operands(misfit) => format!("the instruction does not take this: {misfit}"),
        Broken::ModifierTooSoon => {
            "`mctl` is used for an address in the set behind its write: a set must stand between".into()
        }
        Broken::PointerTooSoon { register, used } => {
            let used = match used {
                PointerUse::Read => "used by the address units",
                PointerUse::Modulus => "the base or the length of a buffer that may be accessed",
                PointerUse::Written => "written by the address units, which do so earlier than a move,",
            };
            format!("{register} is {used} in the set behind a move to it: a set must stand between")
        }
        Broken::TruthTooSoon => {
            "T decides on an instruction of the address units in the set behind the test: a set must stand between".into()
        }
        Broken::StatusTooSoon => {
            "a bit of the status is used within two sets of a move to the register".into()
        }
        Broken::FlowInSlot { returns: true } => {
            "nothing that reads the program counter stands in the delay slot of a return".into()
        }
        Broken::FlowInSlot { returns: false } => "control leaves from a delay slot".into(),
        Broken::StatusWithCall { slot: false } => {
            "the status is written in the set of a call, which stores it".into()
        }
        Broken::StatusWithCall { slot: true } => {
            "the status is written in the delay slot of a call, which stores it".into()
        }
        Broken::StackInSlot => {
            "the stack pointer is used in the delay slot of a return, which takes the address from there".into()
        }
        Broken::LoopLength { sets, short: true } => {
            format!("a short loop (`doensh`) of {sets} sets, which has one or two")
        }
        Broken::LoopLength { sets, .. } => {
            format!("a long loop (`doen`) of {sets} sets, which has three or more")
        }
        Broken::LoopNesting { inner, outer } => format!(
            "loop {inner} stands in loop {outer}: indices grow inwards, and a short loop holds no other"
        ),
        Broken::LoopNotEnabled { index } => {
            format!("nothing above loop {index} in this code prepares it: `dosetup{index}` and `doen{index}`, or `doensh{index}`")
        }
        Broken::LoopTooSoon { index, short: true } => {
            format!("loop {index} begins in the set behind `doensh{index}`: a set must stand between")
        }
        Broken::LoopTooSoon { index, .. } => {
            format!("`doen{index}` stands right in front of the last sets of loop {index}, where its count is read")
        }
        Broken::SetupTooSoon { index } => {
            format!("`dosetup{index}` stands within two sets of the last sets of loop {index}")
        }
        Broken::LoopStart { index, label } => {
            format!("`dosetup{index}` names `{label}`, which is not the first set of loop {index}")
        }
        Broken::LoopTarget { label } => {
            format!("`{label}` is one of the last two sets of a long loop: no jump may lead there")
        }
        Broken::IntoLoop { label } => format!("a jump from outside to `{label}`, within a loop"),
        Broken::FlowAtEnd => "control leaves in one of the last three sets of a loop".into(),
        Broken::SlotIsMarked => {
            "the delay slot of this jump is the set that bears the mark of a loop".into()
        }
        Broken::StatusBeforeMark => {
            "the status is read by a move in front of the set that bears the mark of a loop".into()
        }
        Broken::LoopRegister { register } => {
            format!("{register} is written in one of the last sets of its loop")
        }
    }
}
