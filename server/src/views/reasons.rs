//! Reasons in words: the clause of each cause and the sentence of each finding.

use facts::words::{warp, workgroup};
use facts::{
    ArrayPlace, BankRemedy, BarrierName, CauseReason, Dependency, DerivativeUse, Finding,
    FindingReason, InputName, SharedAccess, StridedAccess, ThreadPlace,
};
use ir::Language;

/// Returns the clause of a step of a chain, without a full stop.
#[must_use]
pub fn clause(reason: &CauseReason) -> String {
    let value = |name: &Option<_>| or_quoted(name.as_deref(), "the value");
    let parameter = |name: &Option<_>| match name {
        Some(name) => format!("`{name}`"),
        None => "`a value`".to_owned(),
    };
    match reason {
        CauseReason::WidthUnknown {
            name,
            lanes,
            language,
        } => {
            let name = or_quoted(name.as_deref(), "the warp's number");
            let declared = match language {
                Language::Ptx => "`.reqntid`, or `block` in the configuration",
                _ => "`block` in the configuration (`__launch_bounds__` gives a maximum only)",
            };
            format!(
                "{name} may differ because the block's width is not known: it is the same in all lanes of a warp where the width is a multiple of {lanes}; declare it: {declared}"
            )
        }
        CauseReason::DependsOn { name, on } => format!("`{name}` depends on {}", dependency(on)),
        CauseReason::LeftByCallers { name, variable } => {
            format!("{} is read from `{variable}`", value(name))
        }
        CauseReason::AddressDiffers { name } => format!(
            "{} is loaded from an address that differs between lanes",
            value(name)
        ),
        CauseReason::PrivateMemory { name } => format!(
            "{} is read from private memory, whose contents are not followed",
            value(name)
        ),
        CauseReason::WrittenByOthers { name } => format!(
            "{} is loaded from memory that other threads may write",
            value(name)
        ),
        CauseReason::Raced { name } => format!(
            "{} is read where lanes of the warp have written without a barrier since: each may see another value",
            value(name)
        ),
        CauseReason::RacingWrite => "lanes write that memory here".into(),
        CauseReason::DecidedByBranch { name } => {
            format!("{} depends on which way the branch goes", value(name))
        }
        CauseReason::KeptFromLoop { name } => format!(
            "lanes leave the loop in different iterations, so they keep different values of {}",
            value(name)
        ),
        CauseReason::LaneDependent { name, builtin } => match (name, builtin) {
            (Some(name), Some(builtin)) => format!("`{name}` (`{builtin}`) differs between lanes"),
            (Some(name), None) | (None, Some(name)) => format!("`{name}` differs between lanes"),
            (None, None) => "a builtin differs between lanes".into(),
        },
        CauseReason::StaticVariable { name } => format!(
            "{} is `static`: callers may leave a different value there in each lane",
            parameter(name)
        ),
        CauseReason::LargeArgument { name } => format!(
            "{} is passed by value and has too many members to be followed one by one: callers may pass different ones in each lane",
            parameter(name)
        ),
        CauseReason::DeviceParameter { name } => format!(
            "{} is a parameter of a device function: callers may pass a different value in each lane",
            parameter(name)
        ),
        CauseReason::MergedInCycle { name } => format!(
            "{} merges values in a loop with several entries",
            parameter(name)
        ),
        CauseReason::AtomicResult => "an atomic operation gives each lane another value".into(),
        CauseReason::NotUnderstood { construct } => match construct {
            Some(construct) => format!("not understood: {construct}"),
            None => "not understood".into(),
        },
        CauseReason::HandleNotFollowed { name } => format!("what `{name}` holds is not followed"),
        CauseReason::StageInput { input } => match input {
            InputName::Parameter(name) => {
                format!("the stage input `{name}` differs between lanes")
            }
            InputName::Intrinsic(name) => format!("`{name}()` differs between lanes"),
            InputName::Unknown => "a stage input differs between lanes".into(),
        },
        CauseReason::InvisibleCall { name } => {
            format!("`{name}` is not visible: it may return a different value in each lane")
        }
        CauseReason::Call => "the function called may return a different value in each lane".into(),
        CauseReason::Instruction { name } => format!(
            "`{}` may give a different value in each lane",
            name.as_deref().unwrap_or("the instruction")
        ),
        CauseReason::InlineAssembly => {
            "inline assembly may give a different value in each lane".into()
        }
        CauseReason::WarpOperation => {
            "the operation gives lanes of the warp different values".into()
        }
        CauseReason::Unwritten => "the variable may be read before it is written".into(),
        CauseReason::PrivateAddress => "private memory lies at another address in each call".into(),
        CauseReason::OpaqueObject { name } => format!(
            "what the call on {} gives is not followed: it may differ between lanes",
            or_quoted(name.as_deref(), "the object")
        ),
        CauseReason::TextureResult => {
            "the texture operation may give each lane another value".into()
        }
        CauseReason::LanesDiffer => "its lanes hold different values".into(),
        CauseReason::Diverge => "lanes diverge at this branch".into(),
        CauseReason::CalledHere { callee } => format!("`{callee}` is called here"),
        CauseReason::MaskTaken => "the mask is taken here".into(),
        CauseReason::WaveOperation => "the wave operation is here".into(),
        CauseReason::SharedAccess { thread, access } => {
            format!("{} {} it here", thread_name(*thread), verb(*access))
        }
        CauseReason::Example {
            threads,
            times,
            numbers,
            sized,
        } => {
            let mut launch: Vec<String> = numbers
                .iter()
                .map(|(name, number)| format!("`{name}` is {number}"))
                .collect();
            if *sized {
                let size = match threads[0].size {
                    [x, 1, 1] => format!("{x}"),
                    [x, y, 1] => format!("{x} × {y}"),
                    [x, y, z] => format!("{x} × {y} × {z}"),
                };
                launch.push(format!("the workgroup has {size} threads"));
            }
            let launch = match launch.as_slice() {
                [] => String::new(),
                some => format!(", where {}", some.join(" and ")),
            };
            let [here, away] = threads.map(thread_name);
            let who = match times {
                [1, 0] => format!("{here} comes here and {away} does not"),
                [most, 0] => format!("{here} comes here {most} times and {away} does not"),
                [most, least] => {
                    format!("{here} comes here {most} times and {away} {least} times")
                }
            };
            format!("for instance {who}{launch}")
        }
    }
}

/// Returns the sentence of a finding, without a full stop.
#[must_use]
pub fn sentence(finding: &Finding) -> String {
    let because = finding
        .because()
        .map_or_else(String::new, |reason| format!(": {}", clause(reason)));
    let told = told(&finding.reason, finding.language, &because);
    match finding.assumption.as_str() {
        "" => told,
        assumption => format!("{told} (assuming {assumption})"),
    }
}

fn told(reason: &FindingReason, language: Language, because: &str) -> String {
    let (warp, group) = (warp(language), workgroup(language));
    let group_of = |whole_grid: bool| if whole_grid { "grid" } else { group };
    match reason {
        FindingReason::MaskBeyondPredicate { mask } => format!(
            "the mask {mask:#010x} names all lanes, but only those whose predicate holds execute this{because}"
        ),
        FindingReason::MaskTakenBeforeBranch => format!(
            "the mask was taken before lanes diverge: it names lanes that go the other way and do not come here{because}; take it with `__ballot_sync` of the condition"
        ),
        FindingReason::TileTorn { group, lanes } => format!(
            "all {lanes} lanes of `{group}` must call this, but lanes that go the other way at the branch do not come here{because}"
        ),
        FindingReason::GroupTorn { group } => format!(
            "all lanes of `{group}` are waited for, but lanes that go the other way at the branch do not come here{because}"
        ),
        FindingReason::MaskNamesAbsent { mask } => format!(
            "the mask {mask:#010x} names all lanes, but lanes that go the other way at the branch do not come here{because}"
        ),
        FindingReason::MaskLeavesOut { missing, mask } => format!(
            "{} come here and have no bit in the mask {mask:#010x}: every lane that calls must be named in it, else the result is undefined",
            lane_list(*missing)
        ),
        FindingReason::AbsentLanesRead { absent, readers } => format!(
            "{} do not come here and are read by {}: what they hold is undefined{because}",
            lane_list(*absent),
            lane_list(*readers)
        ),
        FindingReason::LaneMayBeInactive { lane } => {
            let remedy = match language {
                Language::Hlsl => "; `WaveReadLaneFirst` reads a lane that is here",
                _ => "",
            };
            format!(
                "lane {lane} may be inactive here, then the value is undefined{remedy}{because}"
            )
        }
        FindingReason::DerivativeSplit { of } => {
            let (taken, remedy) = match of {
                DerivativeUse::Derivative => ("the derivative", "take it before the branch"),
                DerivativeUse::LevelOfDetail => ("the level of detail", SAMPLE_BEFORE),
                DerivativeUse::Sample => ("the sample's level of detail", SAMPLE_BEFORE),
            };
            format!("{taken} is undefined where the pixels of a quad diverge{because}; {remedy}")
        }
        FindingReason::DerivativeOfWave { of } => {
            let taken = match of {
                DerivativeUse::Derivative => "the derivative",
                DerivativeUse::LevelOfDetail | DerivativeUse::Sample => "the level of detail",
            };
            format!(
                "{taken} is taken of what a wave operation gives or decides: helper lanes take no part in it, so their value, and the difference to it, is undefined"
            )
        }
        FindingReason::MeshCallSplit { call } => format!(
            "`{call}` is reached by only a part of the group's threads: all of them must call it, once{because}"
        ),
        FindingReason::MeshOperandDiffers { call } => {
            format!("an operand of `{call}` may differ between the group's threads{because}")
        }
        FindingReason::BarrierInLoop {
            barrier,
            whole_grid,
        } => format!(
            "{} stands in a loop that the threads of the {} leave in different iterations{because}",
            barrier_name(*barrier),
            group_of(*whole_grid)
        ),
        FindingReason::BarrierSplit {
            barrier,
            whole_grid,
        } => format!(
            "{} is reached by only a part of the {}'s threads{because}",
            barrier_name(*barrier),
            group_of(*whole_grid)
        ),
        FindingReason::EndsBeforeBarrier { barrier } => format!(
            "some threads of the {group} end before {}, which waits for the others only{because}",
            barrier_name(*barrier)
        ),
        FindingReason::BarrierUnderPredicate { barrier } => format!(
            "{} is executed by the threads of the workgroup whose predicate holds only{because}",
            barrier_name(*barrier)
        ),
        FindingReason::LoopDiverges => {
            format!("the {warp} repeats this loop until its slowest lane is done{because}")
        }
        FindingReason::Narrow {
            access,
            bytes,
            stride,
            vector,
        } => format!(
            "{} {bytes} bytes at a time, with a stride of {stride} bytes between lanes; the iterations of the loop together use what moves: one vector access of {vector} bytes a lane does it at once, where the address is aligned",
            accessed(access)
        ),
        FindingReason::Strided {
            access,
            stride,
            sectors,
        } => format!(
            "{} with a stride of {stride} bytes between lanes{}: {sectors} sectors a {warp}, ideal {} ({} % of what moves is used)",
            accessed(access),
            rows(access.whole_rows),
            access.ideal_sectors,
            100 * access.ideal_sectors / sectors.max(&1)
        ),
        FindingReason::Scattered {
            access,
            stride,
            sectors,
        } => {
            let distance = match stride {
                None => "in pieces that lie apart".to_owned(),
                Some(stride) => format!("with a stride of `{stride}` bytes between lanes"),
            };
            format!(
                "{} {distance}{}: {sectors} sectors a {warp}, ideal {}",
                accessed(access),
                rows(access.whole_rows),
                access.ideal_sectors
            )
        }
        FindingReason::StrideUnknown { access, stride } => {
            let rows = rows(access.whole_rows);
            let stride = match stride {
                None => format!("a stride between lanes{rows} that"),
                Some(stride) => format!("a stride of `{stride}` bytes between lanes{rows}, which"),
            };
            format!(
                "{} with {stride} is not known here: one sector a lane where it is 32 bytes or more, ideal {} a {warp}",
                accessed(access),
                access.ideal_sectors
            )
        }
        FindingReason::AtomicContention {
            base,
            lanes,
            most,
            exchange,
        } => {
            let who = match lanes {
                Some(lanes) => format!("{lanes} lanes"),
                None => "all lanes".to_owned(),
            };
            let base = quoted(base, "memory");
            match exchange {
                true => format!(
                    "{who} of a {warp} contend for one address of {base}: up to {most} operations one after the other; where it is a lock, let one lane a {warp} take it"
                ),
                false => format!(
                    "{who} of a {warp} update one address of {base}: up to {most} operations one after the other; reduce within the {warp} first"
                ),
            }
        }
        FindingReason::BankConflict {
            base,
            ways,
            stride,
            whole_rows,
            at_most,
            in_pieces,
            remedy,
        } => {
            let stride =
                stride.map_or_else(String::new, |bytes| format!(" (stride {bytes} bytes)"));
            format!(
                "{ways}-way bank conflict{stride}{}: the access to {} {} {ways} {}{}",
                rows(*whole_rows),
                quoted(base, "shared memory"),
                if *at_most { "takes up to" } else { "takes" },
                match in_pieces {
                    true => "times the passes",
                    false => "passes",
                },
                bank_remedy(*remedy)
            )
        }
        FindingReason::BankConflictSymbolic {
            base,
            stride,
            factor,
            least,
            most,
        } => format!(
            "bank conflicts (stride `{stride}` bytes): the access to {} takes at least {least} passes when all lanes are there, and up to {most} as `{factor}` grows; let neighbouring lanes access neighbouring words",
            quoted(base, "shared memory")
        ),
        FindingReason::SharedRace {
            first,
            second,
            object,
            offset,
            later_round,
            at_least_along,
        } => {
            let object = quoted(object, "shared memory");
            let place = match offset {
                Some(at) if at % 4 == 0 => format!("word {} of {object}", at / 4),
                Some(at) => format!("byte {at} of {object}"),
                None => format!("the same word of {object}"),
            };
            let too = match (first.1, second.1) {
                (SharedAccess::Write, SharedAccess::Write) => ", too",
                _ => "",
            };
            let round = match later_round {
                true => " in the loop's next round",
                false => "",
            };
            let shape = at_least_along.map_or_else(String::new, |axis| {
                format!(
                    " (in workgroups of {} threads or more along {})",
                    first.0.size[axis],
                    ["x", "y", "z"][axis]
                )
            });
            format!(
                "{} {} {place}, {} {} it{too}{round}, and no barrier stands between{shape}",
                thread_name(first.0),
                verb(first.1),
                thread_name(second.0),
                verb(second.1)
            )
        }
        FindingReason::ResourceIndexDiffers { array } => format!(
            "the index of {} differs between the lanes of a wave{because}; wrap it in `NonUniformResourceIndex`",
            quoted(array, "this array of resources")
        ),
        FindingReason::ResourceMarkNeedless { array } => format!(
            "the index of {} is the same in all lanes of a wave: the mark costs a loop on hardware with scalar descriptors",
            quoted(array, "this array of resources")
        ),
        FindingReason::ArrayIndexed {
            array,
            bytes,
            place,
        } => {
            let live = bytes.map_or_else(
                || "it lives".to_owned(),
                |bytes| format!("its {bytes} bytes a thread live"),
            );
            let place = match place {
                ArrayPlace::ThreadMemory => format!(
                    "{live} in memory of the thread's own, or in registers that are accessed indirectly"
                ),
                ArrayPlace::LocalMemory => format!("{live} in local memory, not in registers"),
                ArrayPlace::Selects => format!(
                    "each such access is a chain of selects among registers, or {live} in local memory"
                ),
            };
            let array = quoted(array, "this private array");
            format!("{array} is indexed by a value that is not known after unrolling: {place}")
        }
        FindingReason::RedundantWork { instructions } => format!(
            "every lane computes the same value from the kernel's parameters (about {instructions} instructions, estimate); compute it once on the host and pass it"
        ),
        FindingReason::DoubleByAccident { operations } => {
            let operations = match operations {
                0 => "this comparison".to_owned(),
                1 => "1 operation".to_owned(),
                several => format!("{several} operations"),
            };
            format!(
                "a literal without the suffix `f` makes {operations} double precision between floats: 1/32 or 1/64 of the rate on many targets"
            )
        }
    }
}

const SAMPLE_BEFORE: &str = "sample before the branch, or use SampleLevel or SampleGrad";

fn quoted(name: &str, otherwise: &str) -> String {
    or_quoted((!name.is_empty()).then_some(name), otherwise)
}

fn or_quoted(name: Option<&str>, otherwise: &str) -> String {
    name.map_or_else(|| otherwise.to_owned(), |name| format!("`{name}`"))
}

/// `a` is read, `a` is written.
fn accessed(access: &StridedAccess) -> String {
    let verb = if access.written { "written" } else { "read" };
    format!("{} is {verb}", quoted(&access.base, "this access"))
}

const fn rows(whole: bool) -> &'static str {
    match whole {
        true => " where the rows of the block are whole warps",
        false => "",
    }
}

fn dependency(on: &Dependency) -> String {
    let operand = match on {
        Dependency::Named(name) => return format!("`{name}`"),
        Dependency::Load => "a load",
        Dependency::Atomic => "an atomic",
        Dependency::Comparison => "a comparison",
        Dependency::Call => "a call",
        Dependency::NotUnderstood => "something not understood",
        Dependency::StageInput => "a stage input",
        Dependency::Computed => "what is computed here",
        Dependency::Merged => "values that meet here",
    };
    operand.to_owned()
}

/// `thread 3`, `thread (3, 1)`.
fn thread_name(place: ThreadPlace) -> String {
    let [x, y, z] = place.thread;
    match place.size {
        [_, 1, 1] => format!("thread {x}"),
        [_, _, 1] => format!("thread ({x}, {y})"),
        _ => format!("thread ({x}, {y}, {z})"),
    }
}

const fn verb(access: SharedAccess) -> &'static str {
    match access {
        SharedAccess::Read => "reads",
        SharedAccess::Write => "writes",
        SharedAccess::Atomic => "atomically updates",
    }
}

const fn barrier_name(barrier: BarrierName) -> &'static str {
    match barrier {
        BarrierName::Threads => "`__syncthreads()`",
        BarrierName::ThreadsAnd => "`__syncthreads_and()`",
        BarrierName::ThreadsOr => "`__syncthreads_or()`",
        BarrierName::ThreadsCount => "`__syncthreads_count()`",
        BarrierName::Cluster => "the cluster's barrier",
        BarrierName::Grid => "the grid's `sync()`",
        BarrierName::Instruction => "the barrier",
        BarrierName::Group => "the group barrier",
    }
}

fn bank_remedy(remedy: BankRemedy) -> String {
    match remedy {
        BankRemedy::None => String::new(),
        BankRemedy::SplitComponents => "; keep its components in arrays of their own".into(),
        BankRemedy::PadOrPermute => {
            "; pad the row by more than one element, or permute its elements".into()
        }
        BankRemedy::PadBytes(bytes) => format!("; pad the row by {bytes} bytes"),
        BankRemedy::PadElement => "; pad the row by one element".into(),
    }
}

/// `lane 3`, `lanes 8 to 15`, `lanes 0, 2, 4, ..`.
fn lane_list(set: u128) -> String {
    let lanes: Vec<u32> = (0..u128::BITS)
        .filter(|lane| set >> lane & 1 == 1)
        .collect();
    match lanes.as_slice() {
        [lane] => format!("lane {lane}"),
        [first, .., last] if last - first + 1 == lanes.len() as u32 => {
            format!("lanes {first} to {last}")
        }
        several => {
            let shown: Vec<String> = several.iter().take(3).map(u32::to_string).collect();
            let more = if several.len() > 3 { ", .." } else { "" };
            format!("lanes {}{more}", shown.join(", "))
        }
    }
}
