//! The pages of the diagnostics: `lockstep explain CODE`, and the editor's link.

use facts::Code;

const SILENCE: &str = include_str!("_silence.md");

/// The pages of front ends' and the configuration's messages, by code.
const NOTES: &[(&str, &str)] = &[
    ("assumption", include_str!("assumption.md")),
    ("config-error", include_str!("config-error.md")),
    ("group-dependency", include_str!("group-dependency.md")),
    ("hard-branch", include_str!("hard-branch.md")),
    ("include-not-found", include_str!("include-not-found.md")),
    ("invalid-encoding", include_str!("invalid-encoding.md")),
    ("limit", include_str!("limit.md")),
    ("loop-not-pipelined", include_str!("loop-not-pipelined.md")),
    ("loop-recurrence", include_str!("loop-recurrence.md")),
    ("needless-stop", include_str!("needless-stop.md")),
    ("no-machine-code", include_str!("no-machine-code.md")),
    ("nop-waste", include_str!("nop-waste.md")),
    ("operand-range", include_str!("operand-range.md")),
    (
        "register-without-alloc",
        include_str!("register-without-alloc.md"),
    ),
    ("stale-profile", include_str!("stale-profile.md")),
    ("syntax", include_str!("syntax.md")),
    (
        "unsupported-construct",
        include_str!("unsupported-construct.md"),
    ),
    ("unusable-file", include_str!("unusable-file.md")),
    ("unusable-profile", include_str!("unusable-profile.md")),
    ("vles-illegal", include_str!("vles-illegal.md")),
    ("vles-split", include_str!("vles-split.md")),
];

/// The page of a diagnostic, as Markdown.
pub fn page(code: &str) -> Option<String> {
    let text = match Code::from_name(code) {
        Some(code) => text(code),
        None => NOTES.iter().find(|(name, _)| *name == code)?.1,
    };
    if code == "config-error" {
        return Some(text.to_owned());
    }
    let silence = match Code::from_name(code) {
        Some(_) => SILENCE.to_owned(),
        // A baseline holds findings only.
        None => {
            SILENCE
                .split("\n- for what is there today")
                .next()
                .unwrap_or(SILENCE)
                .to_owned()
                + "\n"
        }
    };
    Some(format!(
        "{}\n\n{}",
        text.trim_end(),
        silence.replace("{code}", code)
    ))
}

/// The codes that are no finding of the analysis.
pub fn notes() -> impl Iterator<Item = &'static str> {
    NOTES.iter().map(|(name, _)| *name)
}

/// The code of a note by its name.
pub fn note(name: &str) -> Option<&'static str> {
    notes().find(|note| *note == name)
}

/// Returns the summary of a note, in one sentence.
pub fn note_summary(code: &str) -> &'static str {
    let page = NOTES.iter().find(|(name, _)| *name == code);
    page.and_then(|(_, text)| text.split("\n\n").nth(1))
        .unwrap_or("")
        .trim()
}

/// Returns the summary of a diagnostic, in one sentence: the first paragraph of its page.
pub fn summary(code: Code) -> &'static str {
    text(code).split("\n\n").nth(1).unwrap_or("").trim()
}

const fn text(code: Code) -> &'static str {
    match code {
        Code::AtomicSameAddress => include_str!("atomic-same-address.md"),
        Code::BankConflict => include_str!("bank-conflict.md"),
        Code::BarrierInDivergentLoop => include_str!("barrier-in-divergent-loop.md"),
        Code::CheapRemat => include_str!("cheap-remat.md"),
        Code::DerivativeNonuniform => include_str!("derivative-nonuniform.md"),
        Code::DivergentBarrier => include_str!("divergent-barrier.md"),
        Code::DivergentLoop => include_str!("divergent-loop.md"),
        Code::DivergentMeshCall => include_str!("divergent-mesh-call.md"),
        Code::Fp64ByAccident => include_str!("fp64-by-accident.md"),
        Code::IrrelevantLoad => include_str!("irrelevant-load.md"),
        Code::LaunchBoundsSpill => include_str!("launch-bounds-spill.md"),
        Code::LocalArrayDynamicIndex => include_str!("local-array-dynamic-index.md"),
        Code::NeedlessNonuniform => include_str!("needless-nonuniform.md"),
        Code::NonuniformResourceIndex => include_str!("nonuniform-resource-index.md"),
        Code::OccupancyCliff => include_str!("occupancy-cliff.md"),
        Code::PartiallyDead => include_str!("partially-dead.md"),
        Code::PressurePeak => include_str!("pressure-peak.md"),
        Code::RedundantPerThreadWork => include_str!("redundant-per-thread-work.md"),
        Code::SharedMemoryRace => include_str!("shared-memory-race.md"),
        Code::SharedOverLimit => include_str!("shared-over-limit.md"),
        Code::ShuffleInactiveSource => include_str!("shuffle-inactive-source.md"),
        Code::SpillInLoop => include_str!("spill-in-loop.md"),
        Code::UncoalescedAccess => include_str!("uncoalesced-access.md"),
        Code::WarpSyncMask => include_str!("warp-sync-mask.md"),
        Code::WaveSensitiveDerivative => include_str!("wave-sensitive-derivative.md"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_all_its_parts() {
        for &code in Code::ALL {
            let page = page(code.name()).unwrap_or_default();
            assert!(
                page.starts_with(&format!("# {}\n", code.name())),
                "{}",
                code.name()
            );
            for part in [
                "## Why",
                "## Wrong",
                "## Right",
                "## Source",
                "## How to silence",
            ] {
                assert!(page.contains(part), "{}: {part}", code.name());
            }
            assert!(!summary(code).is_empty());
        }
        assert_eq!(page("nonsense"), None);
    }

    #[test]
    fn notes_have_pages_too() {
        for code in notes() {
            let page = page(code).unwrap_or_default();
            assert!(page.starts_with(&format!("# {code}\n")), "{code}");
            assert!(
                page.contains("## Why") && !note_summary(code).is_empty(),
                "{code}"
            );
        }
        let silenced = page("assumption").unwrap_or_default();
        assert!(silenced.contains("allow(assumption)") && !silenced.contains("baseline"));
    }
}
