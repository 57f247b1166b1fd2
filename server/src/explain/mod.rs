//! The pages of the diagnostics: `lockstep explain CODE`, and the editor's link.

use facts::Code;

const SILENCE: &str = include_str!("_silence.md");

/// The page of a diagnostic, as Markdown.
pub fn page(code: &str) -> Option<String> {
    let code = Code::from_name(code)?;
    let silence = SILENCE.replace("{code}", code.name());
    Some(format!("{}\n\n{}", text(code).trim_end(), silence))
}

/// What a diagnostic says, in one sentence: the first paragraph of its page.
pub fn summary(code: Code) -> &'static str {
    text(code).split("\n\n").nth(1).unwrap_or("").trim()
}

const fn text(code: Code) -> &'static str {
    match code {
        Code::AtomicSameAddress => include_str!("atomic-same-address.md"),
        Code::BankConflict => include_str!("bank-conflict.md"),
        Code::BarrierInDivergentLoop => include_str!("barrier-in-divergent-loop.md"),
        Code::DerivativeNonuniform => include_str!("derivative-nonuniform.md"),
        Code::DivergentBarrier => include_str!("divergent-barrier.md"),
        Code::DivergentLoop => include_str!("divergent-loop.md"),
        Code::Fp64ByAccident => include_str!("fp64-by-accident.md"),
        Code::LocalArrayDynamicIndex => include_str!("local-array-dynamic-index.md"),
        Code::NeedlessNonuniform => include_str!("needless-nonuniform.md"),
        Code::NonuniformResourceIndex => include_str!("nonuniform-resource-index.md"),
        Code::RedundantPerThreadWork => include_str!("redundant-per-thread-work.md"),
        Code::ShuffleInactiveSource => include_str!("shuffle-inactive-source.md"),
        Code::UncoalescedAccess => include_str!("uncoalesced-access.md"),
        Code::WarpSyncMask => include_str!("warp-sync-mask.md"),
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
}
