//! Statements that are inserted and read in place of a variable.
//!
//! 1. An inserted statement declares a constant, a copy, shared memory or the number of a warp, hides a copy from the compiler,
//!    stores to new shared memory, or waits for the warp; it stores to nothing that was there.
//! 2. A new name stands for the variable that it replaces, is declared before it is used, and in a block around each use.
//! 3. The value of a new constant is a slot of that variable, or the tokens of the variable's own initial
//!    value, with copies in place of the copied names.

use super::{Violation, is_word};
use rustc_hash::FxHashMap;

/// The meaning of a new name.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Meaning {
    /// A constant with its value.
    Constant(Vec<String>),
    /// A copy of something, of which a compiler knows nothing.
    Copy(Vec<String>),
    /// A slot, and the variable that is stored to it.
    Slot(Option<String>),
    /// The number of a warp.
    Warp,
}

/// The parenthesis that closes another.
fn closing(words: &[String], open: usize) -> Option<usize> {
    let mut depth = 0u32;
    for (at, word) in words.iter().enumerate().skip(open) {
        match word.as_str() {
            "(" => depth += 1,
            ")" => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

struct Checker {
    before: Vec<String>,
    after: Vec<String>,
    known: FxHashMap<String, Meaning>,
    /// New names by the block in which they are declared.
    scopes: Vec<Vec<String>>,
    /// Variables and the tokens of their initial values, by the block that declares them.
    values: Vec<(usize, String, Vec<String>)>,
}

pub(super) fn check(
    before: Vec<String>,
    after: Vec<String>,
    names: &[&str],
) -> Result<(), Violation> {
    let mut checker = Checker {
        before,
        after,
        known: FxHashMap::default(),
        scopes: vec![Vec::new()],
        values: Vec::new(),
    };
    checker.run(names)
}

impl Checker {
    fn run(&mut self, names: &[&str]) -> Result<(), Violation> {
        let old: rustc_hash::FxHashSet<String> = self.before.iter().cloned().collect();
        let (mut a, mut b) = (0, 0);
        while b < self.after.len() {
            let begins = b == 0
                || self.after[b - 1].starts_with('#')
                || matches!(
                    self.after[b - 1].as_str(),
                    ";" | "{" | "}" | ":" | ")" | "else"
                );
            let end = self.statement_end(b);
            let fresh = |word: &String| is_word(word) && !old.contains(word);
            // The same statement is not an inserted one, unless it speaks of what is new.
            let differs =
                self.before.get(a) != self.after.get(b) || self.after[b..end].iter().any(&fresh);
            if begins
                && differs
                && let Some(next) = self.inserted(b, end, &old)?
            {
                b = next;
                continue;
            }
            let found = self.after[b].clone();
            let Some(wanted) = self.before.get(a).cloned() else {
                return Err(Violation::Changed {
                    found,
                    wanted: String::new(),
                });
            };
            if found == wanted {
                self.pass(a);
            } else {
                if !self.scopes.iter().flatten().any(|name| *name == found) {
                    return Err(match fresh(&found) {
                        true => Violation::Undeclared(found),
                        false => Violation::Changed { found, wanted },
                    });
                }
                let own = names.contains(&wanted.as_str());
                if !own || !self.stands_for(&found, &wanted)? {
                    return Err(Violation::Name {
                        name: found,
                        variable: wanted,
                    });
                }
            }
            a += 1;
            b += 1;
        }
        match self.before.get(a) {
            None => Ok(()),
            Some(wanted) => Err(Violation::Changed {
                found: String::new(),
                wanted: wanted.clone(),
            }),
        }
    }

    /// A token that both texts have: blocks, and the values of variables.
    fn pass(&mut self, a: usize) {
        match self.before[a].as_str() {
            "{" => self.scopes.push(Vec::new()),
            "}" if self.scopes.len() > 1 => {
                self.scopes.pop();
                let depth = self.scopes.len();
                self.values.retain(|(at, ..)| *at <= depth);
            }
            "=" if a > 0 && is_word(&self.before[a - 1]) => {
                let declared = a > 1
                    && (is_word(&self.before[a - 2])
                        || matches!(
                            self.before[a - 2].as_str(),
                            "*" | ">" | "," | ";" | "{" | "}"
                        ));
                if declared {
                    let mut depth = 0i32;
                    let value = self.before[a + 1..].iter().take_while(|word| {
                        depth += match word.as_str() {
                            "(" | "[" | "{" => 1,
                            ")" | "]" | "}" => -1,
                            _ => 0,
                        };
                        depth >= 0 && !(depth == 0 && matches!(word.as_str(), ";" | ","))
                    });
                    let value = value.cloned().collect();
                    let name = self.before[a - 1].clone();
                    self.values.push((self.scopes.len(), name, value));
                }
            }
            _ => {}
        }
    }

    /// Returns the position behind the next semicolon outside of brackets.
    fn statement_end(&self, from: usize) -> usize {
        let mut depth = 0i32;
        for (at, word) in self.after.iter().enumerate().skip(from) {
            match word.as_str() {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                ";" if depth <= 0 => return at + 1,
                _ => {}
            }
            if depth < 0 {
                return at;
            }
        }
        self.after.len()
    }

    /// The end of a statement that was inserted; `None`: it is none.
    fn inserted(
        &mut self,
        from: usize,
        end: usize,
        old: &rustc_hash::FxHashSet<String>,
    ) -> Result<Option<usize>, Violation> {
        let statement: Vec<&str> = self.after[from..end].iter().map(String::as_str).collect();
        let [words @ .., ";"] = statement.as_slice() else {
            return Ok(None);
        };
        let fresh =
            |word: &str| is_word(word) && !old.contains(word) && !self.known.contains_key(word);
        let owned = |words: &[&str]| {
            words
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>()
        };
        let (name, meaning) = match words {
            ["__syncwarp", "(", ")"] | ["GroupMemoryBarrier", "(", ")"] => return Ok(Some(end)),
            [
                "asm",
                "volatile",
                "(",
                "\"\"",
                ":",
                text,
                "(",
                name,
                ")",
                ")",
            ] if text.starts_with("\"+")
                && matches!(self.known.get(*name), Some(Meaning::Copy(_))) =>
            {
                return Ok(Some(end));
            }
            ["__shared__", "volatile", .., name, "[", _, "]"]
            | ["__shared__", "volatile", .., name]
            | ["groupshared", .., name]
                if fresh(name) =>
            {
                ((*name).to_owned(), Meaning::Slot(None))
            }
            ["const", "unsigned", name, "=", value @ ..]
                if fresh(name) && value.ends_with(&["/", "32"]) && value.contains(&"threadIdx") =>
            {
                ((*name).to_owned(), Meaning::Warp)
            }
            rest if rest.iter().position(|word| *word == "=").is_some_and(|at| {
                let plain = |word: &&str| !matches!(*word, "{" | "}" | "(" | ")" | "else");
                at > 1
                    && fresh(rest[at - 1])
                    && rest[..at].contains(&"const")
                    && rest[..at].iter().all(plain)
            }) =>
            {
                let at = rest.iter().position(|word| *word == "=").unwrap_or(0);
                (
                    rest[at - 1].to_owned(),
                    Meaning::Constant(owned(&rest[at + 1..])),
                )
            }
            [
                "int" | "unsigned" | "float" | "double" | "auto",
                name,
                "=",
                value @ ..,
            ] if fresh(name) => ((*name).to_owned(), Meaning::Copy(owned(value))),
            [slot, rest @ ..] if matches!(self.known.get(*slot), Some(Meaning::Slot(_))) => {
                let stored = match rest {
                    ["=", stored] => Some(stored),
                    ["[", warp, "]", "=", stored]
                        if self.known.get(*warp) == Some(&Meaning::Warp) =>
                    {
                        Some(stored)
                    }
                    _ => None,
                };
                let stored = stored.ok_or_else(|| Violation::Inserted(words.join(" ")))?;
                (
                    (*slot).to_owned(),
                    Meaning::Slot(Some((*stored).to_owned())),
                )
            }
            _ => return Ok(None),
        };
        if let Meaning::Slot(Some(_)) = &meaning
            && matches!(self.known.get(&name), Some(Meaning::Slot(Some(_))))
        {
            return Err(Violation::Inserted(words.join(" ")));
        }
        let replaced = self.known.insert(name.clone(), meaning);
        if replaced.is_none()
            && let Some(scope) = self.scopes.last_mut()
        {
            scope.push(name);
        }
        Ok(Some(end))
    }

    /// Returns whether a new name has the value of a variable.
    fn stands_for(&self, name: &str, variable: &str) -> Result<bool, Violation> {
        let Some(Meaning::Constant(value)) = self.known.get(name) else {
            return Ok(false);
        };
        let slot = value.first().and_then(|first| self.known.get(first));
        if let Some(Meaning::Slot(stored)) = slot {
            let index = match &value[1..] {
                [] => true,
                [open, warp, close] if open == "[" && close == "]" => {
                    self.known.get(warp) == Some(&Meaning::Warp)
                }
                _ => false,
            };
            return Ok(index && stored.as_deref() == Some(variable));
        }
        // A copy stands for the copied value; a hidden zero that is added to an index counts as nothing.
        let mut plain: Vec<&str> = Vec::new();
        let mut left_out: Vec<usize> = Vec::new();
        let mut at = 0;
        while at < value.len() {
            let word = value[at].as_str();
            match self.known.get(word) {
                Some(Meaning::Copy(of)) if of == &["0"] => {
                    // `zero + ( index )`
                    let rest = value.get(at + 1..at + 3).unwrap_or_default();
                    let closing = closing(value, at + 2);
                    let (["+", "("], Some(closing)) = (
                        rest.iter()
                            .map(String::as_str)
                            .collect::<Vec<_>>()
                            .as_slice(),
                        closing,
                    ) else {
                        return Ok(false);
                    };
                    left_out.push(closing);
                    at += 2;
                }
                Some(Meaning::Copy(of)) => plain.extend(of.iter().map(String::as_str)),
                Some(_) => return Ok(false),
                None if left_out.contains(&at) => {}
                None => plain.push(word),
            }
            at += 1;
        }
        let known = self.values.iter().rev();
        let mut known = known.filter(|(_, name, _)| name == variable);
        match known.next().map(|(.., value)| value) {
            Some(known) if known.iter().map(String::as_str).eq(plain.iter().copied()) => Ok(true),
            _ => Err(Violation::Value {
                name: name.to_owned(),
                value: value.join(" "),
            }),
        }
    }
}
