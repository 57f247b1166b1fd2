//! Judges a version of PTX text by its words alone; shares no code with the rewriting.
//!
//! The rules, each with its violation:
//! 1. without both insertions the text is what it was;
//! 2. the check asks whether the named registers are zero, in all lanes where it votes, and nothing else;
//! 3. every statement of the copy stands for one of the region, in order: the same one, a move of a literal or of one of
//!    its operands to its result, a sum of one of its operands and zero, or the statement without its guard;
//! 4. statements with effects that have no guard stand in the copy, up to the first branch of the region.
//!
//! The values of literals and the unread results are not checked here: execution judges those.

use super::{MARK, Removal};
use syntax::Span;

/// A rule that does not hold.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Violation {
    #[error("there is no version at the place of the edit")]
    NotThere,
    #[error("text outside of the version changed")]
    Outside,
    #[error("the check does not ask whether `{0}` is zero in all lanes: `{1}`")]
    Test(String, String),
    #[error("`{0}` of the copy stands for no statement of the region")]
    Stranger(String),
    #[error("an effect is lost or moved: `{0}`")]
    Effect(String),
}

/// `after` holds the version that `removal` would take back.
///
/// # Errors
/// The first rule that does not hold.
pub fn check(before: &str, after: &str, removal: &Removal) -> Result<(), Violation> {
    let [first, last] = removal.cuts.as_slice() else {
        return Err(Violation::NotThere);
    };
    let slice = |from: u32, to: u32| after.get(from as usize..to as usize);
    let text = |span: &Span| slice(span.start, span.end).ok_or(Violation::NotThere);
    let region = slice(first.end, last.start).ok_or(Violation::NotThere)?;
    let kept = [
        slice(0, first.start).ok_or(Violation::NotThere)?,
        region,
        slice(last.end, after.len() as u32).ok_or(Violation::NotThere)?,
    ];
    if kept.concat() != before {
        return Err(Violation::Outside);
    }
    let number = test(text(first)?)?;
    let copy = words(text(last)?);
    let (zero, join) = (
        format!("$lockstep_zero_{number}"),
        format!("$lockstep_join_{number}"),
    );
    let mut copy = copy.as_slice();
    let bra: Item = vec!["bra".into(), join.clone()];
    let falls = copy.first() == Some(&bra);
    if falls {
        copy = &copy[1..];
    }
    let label = |name: &str| -> Item { vec![name.to_owned(), ":".into()] };
    copy = match copy.split_first() {
        Some((head, rest)) if *head == label(&zero) => rest,
        _ => return Err(Violation::NotThere),
    };
    if falls {
        copy = match copy.split_last() {
            Some((end, rest)) if *end == label(&join) => rest,
            _ => return Err(Violation::NotThere),
        };
    }
    stands_for(copy, &words(region), &format!("_z{number}"))
}

/// Bytes of a statement that is guarded, with its comments, at most.
const LONGEST: usize = 4096;

/// `after` holds the guards that `removal` would take back. The rules:
/// 1. without the insertions the text is what it was, and does not name the predicate;
/// 2. the predicate is set where one of the named registers is not zero, and nowhere else;
/// 3. what is guarded is a load, a statement that reads its own result, or one whose result is moved to it where it is
///    skipped: a literal, one of its operands, or a sum of that and zero.
///
/// # Errors
/// The first rule that does not hold.
pub fn guards(before: &str, after: &str, removal: &Removal) -> Result<(), Violation> {
    let Some((first, others)) = removal.cuts.split_first() else {
        return Err(Violation::NotThere);
    };
    let slice = |from: u32, to: u32| after.get(from as usize..to as usize);
    let mut kept = String::with_capacity(before.len());
    let mut from = 0;
    for cut in &removal.cuts {
        kept.push_str(slice(from, cut.start).ok_or(Violation::NotThere)?);
        from = cut.end;
    }
    kept.push_str(slice(from, after.len() as u32).ok_or(Violation::NotThere)?);
    if kept != before {
        return Err(Violation::Outside);
    }
    let head = slice(first.start, first.end).ok_or(Violation::NotThere)?;
    let predicate = nonzero(head, &removal.name)?;
    for cut in others {
        let inserted = slice(cut.start, cut.end).ok_or(Violation::NotThere)?;
        let rest = slice(cut.end, after.len() as u32).ok_or(Violation::NotThere)?;
        let mut near = rest.len().min(LONGEST);
        while !rest.is_char_boundary(near) {
            near -= 1;
        }
        let statement = words(&rest[..near]);
        let original = statement.first().ok_or(Violation::NotThere)?;
        let stranger = || Violation::Stranger(original.join(" "));
        let mut inserted = words(inserted);
        let guard: Item = vec!["@".into(), predicate.clone()];
        if inserted.pop() != Some(guard) || original.contains(&predicate) {
            return Err(stranger());
        }
        let opcode = original.first().map_or("", String::as_str);
        if inserted.is_empty() {
            let own = results(original).first().copied();
            let sums = own.is_some_and(|own| original.iter().skip(2).any(|word| word == own));
            let loads = opcode.starts_with("ld.") || opcode.starts_with("ldu.");
            if !(loads || sums && !has_effect(original)) {
                return Err(stranger());
            }
        }
        for item in &inserted {
            let moved = match item.as_slice() {
                [at, not, name, rest @ ..] if at == "@" && not == "!" && *name == predicate => {
                    literal_for(rest, original) || moved(rest, original)
                }
                _ => false,
            };
            if !moved || has_effect(original) {
                return Err(stranger());
            }
        }
    }
    Ok(())
}

/// The text in front of guards; returns their predicate.
fn nonzero(text: &str, names: &str) -> Result<String, Violation> {
    let items = words(text);
    let mut registers = names.split(", ");
    let mut predicate = None;
    let mut tested = false;
    for item in &items {
        let wrong = || Violation::Test(names.to_owned(), item.join(" "));
        let parts: Vec<&str> = item
            .iter()
            .map(String::as_str)
            .filter(|it| *it != ",")
            .collect();
        let of = |to: &str| predicate.as_deref() == Some(to);
        let register = match parts.as_slice() {
            [".reg", ".pred", name] if predicate.is_none() => {
                predicate = Some((*name).to_owned());
                continue;
            }
            ["mov.pred", to, register] if of(to) && !tested => register,
            ["or.pred", to, so_far, register] if of(to) && of(so_far) && tested => register,
            [
                setp,
                to,
                register,
                "0" | "0f00000000" | "0d0000000000000000",
                rest @ ..,
            ] if of(to) => {
                let kinds = ["ne.b16", "ne.b32", "ne.b64", "neu.f32", "neu.f64"];
                let alone = |kind: &&str| *setp == format!("setp.{kind}");
                let or = |kind: &&str| *setp == format!("setp.{}", kind.replacen('.', ".or.", 1));
                let fits = match rest {
                    [] => !tested && kinds.iter().any(alone),
                    [so_far] => tested && of(so_far) && kinds.iter().any(or),
                    _ => false,
                };
                if !fits {
                    return Err(wrong());
                }
                register
            }
            _ => return Err(wrong()),
        };
        if registers.next() != Some(*register) {
            return Err(wrong());
        }
        tested = true;
    }
    match (predicate, registers.next()) {
        (Some(predicate), None) if tested => Ok(predicate),
        _ => Err(Violation::Test(names.to_owned(), text.trim().to_owned())),
    }
}

/// The words of a statement.
type Item = Vec<String>;

/// Statements, labels and braces of a text, without comments.
fn words(text: &str) -> Vec<Item> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (skip, until) = match () {
            () if rest.starts_with("//") => (true, rest.find('\n').unwrap_or(rest.len())),
            () if rest.starts_with("/*") => {
                (true, rest.find("*/").map_or(rest.len(), |end| end + 2))
            }
            () => (false, rest.chars().next().map_or(1, char::len_utf8)),
        };
        plain.push_str(if skip { " " } else { &rest[..until] });
        rest = &rest[until..];
    }
    let mut items = Vec::new();
    let mut item: Item = Vec::new();
    let mut word = String::new();
    let mut depth = 0u32;
    for line in plain.split('\n') {
        // Directives of lines end with them.
        if item.is_empty() && line.trim_start().starts_with(".loc") {
            continue;
        }
        for c in line.chars().chain([' ']) {
            let part = c.is_alphanumeric() || matches!(c, '_' | '$' | '%' | '.') || !c.is_ascii();
            if part {
                word.push(c);
                continue;
            }
            if !word.is_empty() {
                item.push(std::mem::take(&mut word));
            }
            match c {
                ';' => items.push(std::mem::take(&mut item)),
                ':' if item.len() == 1 => {
                    item.push(":".into());
                    items.push(std::mem::take(&mut item));
                }
                '{' | '}' if item.is_empty() => items.push(vec![c.to_string()]),
                '{' => {
                    depth += 1;
                    item.push("{".into());
                }
                '}' if depth > 0 => {
                    depth -= 1;
                    item.push("}".into());
                }
                c if c.is_whitespace() => {}
                other => item.push(other.to_string()),
            }
        }
    }
    if !item.is_empty() {
        items.push(item);
    }
    items.retain(|item| !item.is_empty());
    items
}

/// The check's text; returns the version's number.
fn test(text: &str) -> Result<String, Violation> {
    let head = text.lines().find(|line| !line.trim().is_empty());
    let named = head
        .and_then(|line| line.trim().strip_prefix("{ // "))
        .and_then(|line| line.strip_prefix(MARK))
        .and_then(|line| line.trim_end().strip_suffix(')'))
        .and_then(|line| line.rsplit_once(" ("));
    let (names, number) = named.ok_or(Violation::NotThere)?;
    let wrong = |item: &Item| Violation::Test(names.to_owned(), item.join(" "));
    let mut registers = names.split(", ");
    let mut next = None;
    let mut tested = false;
    let mut mask = "0xffffffff".to_owned();
    let mut stage = 0;
    let items = words(text);
    for item in &items {
        let parts: Vec<&str> = item
            .iter()
            .map(String::as_str)
            .filter(|it| *it != ",")
            .collect();
        match parts.as_slice() {
            ["{" | "}"] | [".reg", ..] => {}
            [
                setp,
                "%lsz",
                register,
                "0" | "0f00000000" | "0d0000000000000000",
                rest @ ..,
            ] if stage == 0 => {
                let kind = setp.rsplit('.').next().unwrap_or("");
                let and = setp.starts_with("setp.eq.and.") && rest == ["%lsz"] && tested;
                let alone = *setp == format!("setp.eq.{kind}") && rest.is_empty() && !tested;
                let exact = matches!(kind, "b16" | "b32" | "b64" | "f32" | "f64");
                if !(and || alone) || !exact || registers.next() != Some(*register) {
                    return Err(wrong(item));
                }
                tested = true;
            }
            ["not.pred", "%lsa", register] if stage == 0 => next = Some(*register),
            ["mov.pred", "%lsz", "%lsa"] if stage == 0 && !tested && next.is_some() => {
                if registers.next() != next.take() {
                    return Err(wrong(item));
                }
                tested = true;
            }
            ["and.pred", "%lsz", "%lsz", "%lsa"] if stage == 0 && tested && next.is_some() => {
                if registers.next() != next.take() {
                    return Err(wrong(item));
                }
            }
            ["activemask.b32", "%lsm"] if stage == 0 => "%lsm".clone_into(&mut mask),
            ["vote.sync.all.pred", "%lsa", "%lsz", by] if stage == 0 && *by == mask => stage = 1,
            // A uniform value needs no vote; a plain branch is right for any other, too.
            ["@", "%lsz", "bra", label]
                if stage == 0 && tested && *label == format!("$lockstep_zero_{number}") =>
            {
                stage = 2;
            }
            ["@", "%lsa", "bra.uni", label]
                if stage == 1 && *label == format!("$lockstep_zero_{number}") =>
            {
                stage = 2;
            }
            _ => return Err(wrong(item)),
        }
    }
    if registers.next().is_some() || stage != 2 || next.is_some() {
        return Err(Violation::Test(
            names.to_owned(),
            "it is not finished".into(),
        ));
    }
    Ok(number.to_owned())
}

/// Walks both texts.
fn stands_for(copy: &[Item], region: &[Item], suffix: &str) -> Result<(), Violation> {
    let mut at = 0;
    let mut branched = false;
    // Results of one statement may be several moves.
    let mut last: Option<&Item> = None;
    for item in copy {
        if let Some(before) = last
            && literal_for(item, before)
        {
            continue;
        }
        let mut from = at;
        loop {
            let Some(original) = region.get(from) else {
                return Err(Violation::Stranger(item.join(" ")));
            };
            let same = item == original || renamed(item, original, suffix);
            let bare = without_guard(original);
            let unguarded = bare.len() < original.len()
                && (item.as_slice() == bare || renamed(item, bare, suffix));
            if same || unguarded || literal_for(item, original) || moved(item, original) {
                branched |= is_jump(original);
                last = (!same && !unguarded).then_some(original);
                at = from + 1;
                break;
            }
            branched |= is_jump(original);
            if !branched && has_effect(original) {
                return Err(Violation::Effect(original.join(" ")));
            }
            from += 1;
        }
    }
    for original in &region[at.min(region.len())..] {
        branched |= is_jump(original);
        if !branched && has_effect(original) {
            return Err(Violation::Effect(original.join(" ")));
        }
    }
    Ok(())
}

fn without_guard(item: &[String]) -> &[String] {
    match item {
        [at, not, _, rest @ ..] if at == "@" && not == "!" => rest,
        [at, _, rest @ ..] if at == "@" => rest,
        _ => item,
    }
}

/// A label or a jump with the copy's labels.
fn renamed(item: &[String], original: &[String], suffix: &str) -> bool {
    item.len() == original.len()
        && item.iter().zip(original).all(|(now, before)| {
            now == before || now.strip_suffix(suffix).is_some_and(|name| name == before)
        })
}

/// A move of a literal to a result of the original.
fn literal_for(item: &[String], original: &[String]) -> bool {
    let [opcode, to, comma, value @ ..] = item else {
        return false;
    };
    let literal = match value {
        [number] => number.starts_with(|c: char| c.is_ascii_digit()),
        [minus, number] => minus == "-" && number.starts_with(|c: char| c.is_ascii_digit()),
        _ => false,
    };
    opcode.starts_with("mov.") && comma == "," && literal && results(original).contains(&to)
}

/// A move, or a sum with zero, of an operand of the original to its result.
fn moved(item: &[String], original: &[String]) -> bool {
    let (to, from) = match item {
        [mov, to, c, from] if mov.starts_with("mov.") && c == "," => (to, from),
        [add, to, c, from, d, zero]
            if add.starts_with("add.") && c == "," && d == "," && is_zero(zero) =>
        {
            (to, from)
        }
        _ => return false,
    };
    let bare = without_guard(original);
    results(original).first() == Some(&to) && bare.iter().skip(2).any(|word| word == from)
}

fn is_zero(word: &str) -> bool {
    matches!(word, "0f00000000" | "0d0000000000000000")
}

/// The words of the first operand.
fn results(original: &[String]) -> Vec<&String> {
    let bare = without_guard(original);
    let Some((_, operands)) = bare.split_first() else {
        return Vec::new();
    };
    if operands.first().is_some_and(|word| word == "{") {
        let until = operands.iter().position(|word| word == "}");
        return operands[1..until.unwrap_or(1)].iter().collect();
    }
    operands
        .iter()
        .take_while(|word| *word != ",")
        .filter(|word| *word != "|")
        .collect()
}

fn is_jump(item: &[String]) -> bool {
    without_guard(item)
        .first()
        .is_some_and(|word| word == "bra" || word.starts_with("bra."))
}

/// Returns whether it must be executed, whatever reads its result.
fn has_effect(item: &[String]) -> bool {
    if item.first().is_some_and(|word| word == "@") {
        return false;
    }
    let Some(opcode) = item.first() else {
        return false;
    };
    let name = opcode.split('.').next().unwrap_or("");
    let ordered = ["volatile", "relaxed", "acquire", "mmio"];
    matches!(
        name,
        "st" | "red"
            | "atom"
            | "call"
            | "bar"
            | "barrier"
            | "membar"
            | "fence"
            | "sust"
            | "sured"
            | "cp"
            | "ret"
            | "exit"
            | "trap"
            | "vote"
            | "shfl"
            | "match"
            | "redux"
            | "activemask"
            | "elect"
    ) || (name == "ld" && opcode.split('.').any(|word| ordered.contains(&word)))
}
