//! Two-bit counters.

/// A counter from 0 to 3, taken from 2 on.
pub(super) fn count(counter: &mut u8, up: bool) {
    *counter = match up {
        true => (*counter + 1).min(3),
        false => counter.saturating_sub(1),
    };
}

/// The initial state of counters: weakly not taken.
pub(super) const WEAK: u8 = 1;

/// A number that tells contents apart.
pub(super) fn digest(bytes: &[u8]) -> u64 {
    use std::hash::Hasher;
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(bytes);
    hasher.finish()
}
