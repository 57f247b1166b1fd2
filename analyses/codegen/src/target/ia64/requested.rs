//! The requests of the source for its loops, and the loops that operations belong to.
//!
//! ```text
//! #pragma lockstep pipeline(predicate_registers)
//! while (s[i] && s[i] != c) i++;                     by this method, whatever is predicted of the others
//! ```
//!
//! The words are those of `Method::word` and `Disambiguation::word`, `best` (also without a word), `prefetch` (the best method, with
//! streams of accesses fetched ahead), `load_pairs` (with neighbouring loads in pairs), `explicit_epilogue` (the best method, with code behind
//! the kernel that finishes its iterations) and `none`. A word that is none of them asks for
//! nothing. Operations that were moved or merged keep the place where they were written: a loop is that in front of most.

use crate::origin::around;
use crate::target::ia64::pipeline::{Disambiguation, Epilogue, Method, Options, Request};
use ir::{Loc, SourceLoop};

/// The content of a request in the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    Best,
    ExplicitEpilogue,
    None,
    By(Method),
    /// The best method, with this done about accesses that may meet.
    With(Disambiguation),
    /// The best method, with neighbouring loads in pairs.
    Pairs,
    /// The best method, with streams of accesses fetched ahead.
    Prefetch,
}

impl Asked {
    #[must_use]
    pub fn of(word: &str) -> Option<Asked> {
        match word {
            "best" => Some(Asked::Best),
            "explicit_epilogue" => Some(Asked::ExplicitEpilogue),
            "none" => Some(Asked::None),
            "prefetch" => Some(Asked::Prefetch),
            "load_pairs" => Some(Asked::Pairs),
            _ => {
                let mut all = Method::ALL.into_iter();
                let by = all.find(|method| method.word() == word).map(Asked::By);
                let mut ways = Disambiguation::ALL.into_iter();
                by.or_else(|| ways.find(|way| way.word() == word).map(Asked::With))
            }
        }
    }
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Asked::Best => "best",
            Asked::ExplicitEpilogue => "explicit_epilogue",
            Asked::None => "none",
            Asked::By(method) => method.word(),
            Asked::With(way) => way.word(),
            Asked::Prefetch => "prefetch",
            Asked::Pairs => "load_pairs",
        }
    }
}

/// Returns the request for a loop with operations at these places; `common`: the one for loops without
/// requests.
pub(super) fn request(
    loops: &[SourceLoop],
    places: &[Loc],
    common: Option<Options>,
) -> Option<Request> {
    let own = around(loops, places);
    let asked = own.and_then(|it| Asked::of(it.pipeline.as_ref()?));
    let given = || common.unwrap_or_default();
    let options = match asked {
        None => common?,
        Some(Asked::Best) => Options {
            method: None,
            ..given()
        },
        Some(Asked::ExplicitEpilogue) => Options {
            method: None,
            epilogue: Epilogue::Explicit,
            ..given()
        },
        Some(Asked::With(way)) => Options {
            method: None,
            disambiguation: Some(way),
            ..given()
        },
        Some(Asked::Prefetch) => Options {
            method: None,
            prefetch: true,
            ..given()
        },
        Some(Asked::Pairs) => Options {
            method: None,
            pairs: true,
            ..given()
        },
        Some(Asked::None) => Options {
            leave: true,
            ..common?
        },
        // The author's word, also where nothing is gained.
        Some(Asked::By(method)) => Options {
            method: Some(method),
            always: true,
            ..given()
        },
    };
    let word = own.and_then(|it| it.pipeline.clone());
    Some(Request {
        options: Options {
            independent: own.is_some_and(|it| it.independent),
            ..options
        },
        head: own.map_or(Loc::NONE, |it| it.loc),
        unknown: word.filter(|word| Asked::of(word).is_none()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir::Block;
    use syntax::Span;

    fn at(start: u32) -> Loc {
        Loc::here(Span::new(start, start + 4))
    }

    fn of(start: u32, word: Option<&str>) -> SourceLoop {
        SourceLoop {
            header: Block(start),
            loc: at(start),
            unroll: None,
            pipeline: word.map(Into::into),
            independent: false,
        }
    }

    #[test]
    fn what_the_source_asks_goes_before_what_the_caller_wants() {
        let common = Options {
            method: Some(Method::Tirumalai),
            ..Options::default()
        };
        let asked = |word, common| request(&[of(0, word)], &[at(4)], common);
        assert_eq!(asked(None, None), None);
        assert_eq!(asked(Some("none"), None), None);
        assert_eq!(asked(Some("quickly"), None), None);
        let by = asked(Some("parallel_compare"), None).expect("a request");
        assert_eq!(by.options.method, Some(Method::ParallelCompare));
        assert_eq!(by.head, at(0));
        let best = asked(Some("best"), Some(common)).expect("a request");
        assert_eq!(best.options.method, None);
        assert!(asked(Some("none"), Some(common)).is_some_and(|it| it.options.leave));
        let explicit = asked(Some("explicit_epilogue"), None).expect("a request");
        assert_eq!(explicit.options.epilogue, Epilogue::Explicit);
        for method in Method::ALL {
            assert_eq!(Asked::of(method.word()), Some(Asked::By(method)));
        }
        for way in Disambiguation::ALL {
            assert_eq!(Asked::of(way.word()), Some(Asked::With(way)));
        }
    }
}
