//! A variable that is declared with fewer bits: its declaration has another type, the same `const` and the same value; each use is
//! converted back to the type that it had, or stands where the fewer bits give the same.

use super::{Violation, is_word};

/// Operators that read more than the lower half, or give a result of the operands' type.
const OPERATORS: &[&str] = &[
    "+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "~", "/=", "%=", "<<=", ">>=", ".", "->",
];

/// Words of the types that a variable may get.
const NARROW: &[&str] = &["int", "unsigned", "uint"];

struct Checker<'t> {
    before: &'t [String],
    after: &'t [String],
    /// Variables by the block that declares them, with the type that was taken from them.
    scopes: Vec<Vec<(String, Option<Vec<String>>)>>,
}

pub(super) fn check(before: &[String], after: &[String], names: &[&str]) -> Result<(), Violation> {
    let mut checker = Checker {
        before,
        after,
        scopes: vec![Vec::new()],
    };
    checker.run(names)
}

/// The words of a type without `const` and redundant words: `long long int` is `long long`.
fn canonical(words: &[String]) -> Vec<String> {
    let long = words.iter().any(|word| word == "long");
    let says = |word: &&String| match word.as_str() {
        "const" | "signed" => false,
        "int" => !long,
        _ => true,
    };
    let mut out: Vec<String> = words.iter().filter(says).cloned().collect();
    out.sort();
    out
}

impl Checker<'_> {
    fn run(&mut self, names: &[&str]) -> Result<(), Violation> {
        let (mut a, mut b) = (0, 0);
        while a < self.before.len() || b < self.after.len() {
            if let Some((name, old, new)) = self.declaration(a, b) {
                let taken = self.taken(&name, a..a + old, b..b + new, names)?;
                if let Some(scope) = self.scopes.last_mut() {
                    scope.push((name, taken));
                }
                (a, b) = (a + old + 1, b + new + 1);
                continue;
            }
            if let Some(cast) = self.conversion(a, b) {
                b += cast;
                // `(long long)v++`
                while matches!(self.before[a].as_str(), "++" | "--") {
                    self.same(a, b)?;
                    (a, b) = (a + 1, b + 1);
                }
                self.same(a, b)?;
                (a, b) = (a + 1, b + 1);
                continue;
            }
            self.same(a, b)?;
            match self.before[a].as_str() {
                "{" => self.scopes.push(Vec::new()),
                "}" if self.scopes.len() > 1 => {
                    self.scopes.pop();
                }
                name if self.narrowed(name).is_some() && !self.is_member(b) => self.bare(b)?,
                _ => {}
            }
            (a, b) = (a + 1, b + 1);
        }
        Ok(())
    }

    fn same(&self, a: usize, b: usize) -> Result<(), Violation> {
        match (self.before.get(a), self.after.get(b)) {
            (Some(wanted), Some(found)) if wanted == found => Ok(()),
            (wanted, found) => Err(Violation::Changed {
                found: found.cloned().unwrap_or_default(),
                wanted: wanted.cloned().unwrap_or_default(),
            }),
        }
    }

    /// The variable that both texts declare here, and how many words of a type stand before it in each.
    fn declaration(&self, a: usize, b: usize) -> Option<(String, usize, usize)> {
        let begins = a == 0
            || self.before[a - 1].starts_with('#')
            || matches!(self.before[a - 1].as_str(), ";" | "{" | "}" | "(" | ":");
        if !begins {
            return None;
        }
        let run = |words: &[String], from: usize| {
            let rest = words.get(from..).unwrap_or_default();
            let is = |word: &&String| is_word(word) || *word == "::";
            let length = rest.iter().take_while(is).count();
            let ends = rest.get(length).map(String::as_str);
            (length >= 2 && matches!(ends, Some("=" | ";" | ","))).then(|| length - 1)
        };
        let old = run(self.before, a)?;
        let new = run(self.after, b)?;
        let name = &self.before[a + old];
        let keyword = matches!(self.before[a].as_str(), "return" | "goto" | "case" | "else");
        (!keyword && *name == self.after[b + new]).then(|| (name.clone(), old, new))
    }

    /// The type that is taken from a variable; `None`: its declaration is unchanged.
    fn taken(
        &self,
        name: &str,
        old: std::ops::Range<usize>,
        new: std::ops::Range<usize>,
        names: &[&str],
    ) -> Result<Option<Vec<String>>, Violation> {
        let (old, new) = (&self.before[old], &self.after[new]);
        if old == new {
            return Ok(None);
        }
        let constant = |words: &[String]| words.iter().any(|word| word == "const");
        let narrow = canonical(new);
        let fits = narrow.len() == 1 && NARROW.contains(&narrow[0].as_str());
        let kept = old.iter().any(|word| {
            matches!(
                word.as_str(),
                "static" | "extern" | "volatile" | "auto" | "double" | "float" | "groupshared"
            ) || word.starts_with("__")
        });
        match names.contains(&name) && fits && !kept && constant(old) == constant(new) {
            true => Ok(Some(canonical(old))),
            false => Err(Violation::Changed {
                found: new.join(" "),
                wanted: old.join(" "),
            }),
        }
    }

    /// The type that a visible variable of the name had before.
    fn narrowed(&self, name: &str) -> Option<&[String]> {
        let mut known = self
            .scopes
            .iter()
            .rev()
            .flat_map(|scope| scope.iter().rev());
        known
            .find(|(known, _)| known == name)
            .and_then(|(_, ty)| ty.as_deref())
    }

    fn is_member(&self, b: usize) -> bool {
        b > 0 && matches!(self.after[b - 1].as_str(), "." | "->" | "::")
    }

    /// The length of an inserted `(T)` before a variable that was of the type `T`.
    fn conversion(&self, a: usize, b: usize) -> Option<usize> {
        let rest = self.after.get(b..)?;
        if rest.first()? != "("
            || self.before.get(a)? == "(" && self.before.get(a + 1) == rest.get(1)
        {
            return None;
        }
        let end = rest.iter().position(|word| word == ")")?;
        let steps = self.before.get(a..)?.iter();
        let steps = steps.take_while(|word| matches!(word.as_str(), "++" | "--"));
        let name = self.before.get(a + steps.count())?;
        (self.narrowed(name)? == canonical(&rest[1..end])).then_some(end + 1)
    }

    /// A use without a conversion stands where the fewer bits give the same.
    fn bare(&self, b: usize) -> Result<(), Violation> {
        let word = |at: Option<usize>| {
            at.and_then(|at| self.after.get(at))
                .map_or("", String::as_str)
        };
        let (last, next) = (word(b.checked_sub(1)), word(Some(b + 1)));
        let refuse = || Violation::Value {
            name: self.after[b].clone(),
            value: format!("{last} {} {next}", self.after[b]),
        };
        // The author's own conversion: `(int)v * 4`, `(int)(v) * 4`.
        let ends_cast = |end: usize| {
            let open = self.after[..end].iter().rposition(|word| word == "(");
            self.after[end] == ")"
                && open.is_some_and(|open| {
                    let inside = &self.after[open + 1..end];
                    !inside.is_empty() && inside.iter().all(|word| is_word(word))
                })
        };
        let (mut first, mut end) = (b, b);
        // A parenthesis behind a word is that of a call.
        while word(first.checked_sub(1)) == "("
            && word(Some(end + 1)) == ")"
            && !is_word(word(first.checked_sub(2)))
        {
            (first, end) = (first - 1, end + 1);
        }
        let converted = first.checked_sub(1).is_some_and(ends_cast);
        if converted {
            return Ok(());
        }
        let statement = |word: &str| {
            matches!(word, ";" | "{" | "}" | ")" | "else" | "do" | ":" | ",")
                || word.starts_with('#')
        };
        let step = |word: &str| matches!(word, "++" | "--");
        if step(next) || step(last) {
            let (before, after) = match step(next) {
                true => (last, word(Some(b + 2))),
                false => (word(b.checked_sub(2)), next),
            };
            let discarded = statement(before) && matches!(after, ";" | ")" | ",");
            return discarded.then_some(()).ok_or_else(refuse);
        }
        let argument = matches!(last, "(" | ",") && matches!(next, ")" | ",");
        let called = word(b.checked_sub(2));
        let plain = argument && !matches!(called, ">" | "[") && !is_type(called);
        let chosen = matches!(last, "?" | ":" | "return" | "sizeof") && next != "=";
        match OPERATORS.contains(&last) || OPERATORS.contains(&next) || plain || chosen {
            true => Err(refuse()),
            false => Ok(()),
        }
    }
}

/// `int(v)`, `float(v)`: a conversion like a call.
fn is_type(word: &str) -> bool {
    matches!(
        word,
        "bool"
            | "int"
            | "uint"
            | "unsigned"
            | "float"
            | "double"
            | "half"
            | "long"
            | "char"
            | "short"
    )
}
