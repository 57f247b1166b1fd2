//! The text of the copies, of the flag, and of the remainder at the statement's place.

use super::super::emit::full_span;
use super::super::flow::Edit;
use super::super::graph::place::{Place, inner_block, merged, placed};
use super::super::permutations;
use super::super::pressure::scene::{Scene, holds, index};
use super::{Candidate, Copy, Refusal, Subject};
use ir::Language;
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::*;
use syntax::c_family::lexer::lex_fragment;
use syntax::c_family::token::TokenKind;

/// The edits for some copies.
pub(super) fn write(
    scene: &Scene<'_>,
    candidate: &Candidate,
    subject: &Subject<'_>,
    copies: &[Copy],
) -> Result<Vec<Edit>, Refusal> {
    let mut writer = Writer {
        scene,
        candidate,
        subject,
        flag: None,
        edits: Vec::new(),
    };
    writer.may_stand(copies)?;
    let flagged = copies.iter().any(|copy| copy.guarded);
    let moves = subject.declaration.is_some() && !flagged && writer.is_declared_by(copies);
    if flagged {
        let wanted = format!("{}_pending", candidate.name);
        writer.flag = Some(scene.fresh(&wanted, &mut Vec::new()));
    }
    writer.original(copies, moves)?;
    let mut first = true;
    for copy in copies {
        writer.copy(copy, moves, first)?;
        first &= copy.hollow;
    }
    merged(writer.edits).ok_or_else(|| Refusal::NoPlace(candidate.name.clone()))
}

struct Writer<'a> {
    scene: &'a Scene<'a>,
    candidate: &'a Candidate,
    subject: &'a Subject<'a>,
    flag: Option<SmolStr>,
    edits: Vec<Edit>,
}

impl Writer<'_> {
    fn name(&self) -> SmolStr {
        self.candidate.name.clone()
    }

    /// The names of the statement mean the same at the copies, and no directive stands in between.
    fn may_stand(&self, copies: &[Copy]) -> Result<(), Refusal> {
        let scene = self.scene;
        let stmt = self.candidate.stmt;
        let last = copies.iter().map(|copy| copy.place.offset()).max();
        let passed = Span::new(stmt.start, last.unwrap_or(stmt.end).max(stmt.end));
        let elsewhere = permutations::mentioned(scene.source, &scene.names, scene.body.span);
        let id = self.subject.id;
        if scene.has_directive(passed) || elsewhere.iter().any(|(_, of)| *of == id) {
            return Err(Refusal::Directive(self.name()));
        }
        let places: Vec<Span> = copies
            .iter()
            .map(|copy| Span::at(copy.place.offset()))
            .collect();
        let shadowed = |operand: &SmolStr| Refusal::Shadowed {
            name: self.name(),
            operand: operand.clone(),
        };
        for of in self.subject.moved.operands.iter().chain([&id]) {
            let operand = &scene.names.variable(*of).name;
            if scene.declares(operand, Some(*of), passed, &places) {
                return Err(shadowed(operand));
            }
        }
        let mut others = Vec::new();
        ir::lower::c_family::visit::block(scene.body, &mut |e| {
            if let ExprKind::Name(name) = &e.kind
                && holds(self.candidate.value, e.span)
                && scene.names.meant(name).is_none()
                && let Some(first) = name.segments.first()
            {
                others.push(first.ident.name.clone());
            }
        });
        match others
            .iter()
            .find(|other| scene.declares(other, None, passed, &places))
        {
            Some(other) => Err(shadowed(other)),
            None => Ok(()),
        }
    }

    /// Each read lies in the scope of one copy, so that the declaration itself can stand there.
    fn is_declared_by(&self, copies: &[Copy]) -> bool {
        let id = self.subject.id;
        let places = self.scene.names.places.iter();
        let places = places.filter(|(_, of)| *of == id).map(|(place, _)| *place);
        let places = places.chain(self.spelled());
        let mut uses = places.filter(|place| !holds(self.candidate.stmt, *place));
        let kept: Vec<Span> = copies
            .iter()
            .filter(|copy| !copy.hollow)
            .map(|copy| copy.place.scope(copy.block))
            .collect();
        uses.all(|place| kept.iter().filter(|scope| holds(**scope, place)).count() == 1)
    }

    /// Places where the name is spelled outside of expressions: `decltype(w)` of an alias, `static_assert(sizeof(w) == 4)`.
    fn spelled(&self) -> Vec<Span> {
        let body = self.scene.body.span;
        let text = self.text(body);
        let mut member = false;
        let mut found = Vec::new();
        for token in lex_fragment(text) {
            let word = text.get(token.start as usize..token.end as usize);
            if !member && token.kind == TokenKind::Ident && word == Some(&self.candidate.name) {
                found.push(Span::new(token.start, token.end).shifted(body.start));
            }
            member = matches!(token.kind, TokenKind::Dot | TokenKind::Arrow);
        }
        let known = &self.scene.names.places;
        found.retain(|place| !known.iter().any(|(other, _)| other == place));
        found
    }

    fn text(&self, span: Span) -> &str {
        self.scene.source.slice(span)
    }

    /// The statement without its declaration: `x = e;`.
    fn assignment(&self) -> String {
        format!(
            "{} = {};",
            self.candidate.name,
            self.text(self.candidate.value)
        )
    }

    fn set(&self, value: bool) -> Option<String> {
        let flag = self.flag.as_ref()?;
        Some(format!("{flag} = {};", self.truth(value)))
    }

    const fn truth(&self, value: bool) -> &'static str {
        match (self.scene.source.language, value) {
            (Language::C, true) => "1",
            (Language::C, false) => "0",
            (_, true) => "true",
            (_, false) => "false",
        }
    }

    fn declared_flag(&self, value: bool) -> Option<String> {
        let flag = self.flag.as_ref()?;
        let ty = match self.scene.source.language {
            Language::C => "int",
            _ => "bool",
        };
        Some(format!("{ty} {flag} = {};", self.truth(value)))
    }

    /// Writes the part of the statement that is left where it stood.
    fn original(&mut self, copies: &[Copy], moves: bool) -> Result<(), Refusal> {
        let stmt = full_span(self.subject.stmt);
        let mut left: Vec<String> = Vec::new();
        if let Some(declaration) = self.subject.declaration.filter(|_| !moves) {
            left.push(self.bare(declaration)?);
        }
        let around = self.block_around(stmt).map(|block| block.span);
        let common = self.flag.is_some().then(|| self.common(copies)).flatten();
        let mut declared = None;
        if self.flag.is_some() {
            let common = common.ok_or_else(|| Refusal::NoPlace(self.name()))?;
            let own = around == Some(common.span);
            match own {
                true => left.extend(self.declared_flag(true)),
                false => {
                    left.extend(self.set(true));
                    let at = index(common, stmt).ok_or_else(|| Refusal::NoPlace(self.name()))?;
                    let anchor = full_span(&common.statements[at]);
                    let lines: Vec<String> = self.declared_flag(false).into_iter().collect();
                    declared = Some(self.scene.before(anchor, &lines));
                }
            }
        }
        let edit = match left.as_slice() {
            [] => match around {
                Some(_) => self.removal(stmt),
                None => (stmt, "{}".to_owned()),
            },
            [line] => (stmt, line.clone()),
            lines if around.is_some() && self.scene.source.begins_line(stmt.start) => {
                let source = self.scene.source;
                let between = format!("{}{}", source.end_of_line(), source.indentation(stmt.start));
                (stmt, lines.join(&between))
            }
            lines if around.is_some() => (stmt, lines.join(" ")),
            _ => return Err(Refusal::NoPlace(self.name())),
        };
        self.edits.extend(declared);
        self.edits.push(edit);
        Ok(())
    }

    /// The statement's lines with the comments above it, which go with the first copy.
    fn removal(&self, stmt: Span) -> Edit {
        let source = self.scene.source;
        let floor = self.floor(stmt);
        let mut cut = source.removal(stmt, floor);
        if cut == stmt {
            // Others stand on its line: the space between them goes with it.
            let line = source.line(stmt.start);
            let blank = |c: char| matches!(c, ' ' | '\t');
            let behind = source.slice(Span::new(stmt.end, source.line(stmt.end).end));
            let before = source.slice(Span::new(line.start, stmt.start));
            match behind.trim_start_matches(blank) {
                "" => cut.start -= (before.len() - before.trim_end_matches(blank).len()) as u32,
                rest => cut.end += (behind.len() - rest.len()) as u32,
            }
        } else if self.heads_others(stmt) {
            cut.start = source.line(stmt.start).start;
        }
        let whole = cut.start == source.line(cut.start).start && cut.start > 0;
        let is_blank = |line: Span| source.slice(line).trim().is_empty();
        if whole && cut != stmt {
            // Of the empty lines above and below one is left.
            let above = source.line(cut.start - 1);
            let below = source.line(cut.end);
            let opens = source.slice(above).trim_end().ends_with('{');
            if below.start == cut.end && is_blank(below) && (opens || is_blank(above)) {
                let behind = source.slice(Span::new(below.end, below.end + 2));
                cut.end = below.end + if behind.starts_with('\r') { 2 } else { 1 };
            }
        }
        (cut, String::new())
    }

    /// The comment above the statement is the heading of a group: the two statements directly below it set something, too.
    fn heads_others(&self, stmt: Span) -> bool {
        let source = self.scene.source;
        let Some(block) = self.block_around(stmt) else {
            return false;
        };
        let sets = |next: &Stmt| {
            matches!(
                &next.kind,
                StmtKind::Declaration(_)
                    | StmtKind::Expr(Expr {
                        kind: ExprKind::Assign { .. },
                        ..
                    })
            )
        };
        let below = |above: Span, next: Span| {
            let between = source.slice(Span::new(above.end, next.start));
            between.matches('\n').count() == 1
        };
        let group = index(block, stmt).and_then(|at| block.statements.get(at + 1..at + 3));
        let Some([first, second]) = group else {
            return false;
        };
        let stand = below(stmt, first.span) && below(full_span(first), second.span);
        stand && sets(first) && sets(second)
    }

    /// The end of the text in front of a statement in its block.
    fn floor(&self, stmt: Span) -> u32 {
        let Some(block) = self.block_around(stmt) else {
            return stmt.start;
        };
        let before = block
            .statements
            .iter()
            .filter(|each| each.span.end <= stmt.start);
        before
            .map(|each| each.span.end)
            .max()
            .unwrap_or(block.span.start + 1)
    }

    /// The comment lines above the statement and the comment behind it, where it goes away as a whole.
    fn comments(&self, moves: bool) -> (Vec<String>, String) {
        let source = self.scene.source;
        let stmt = full_span(self.subject.stmt);
        let stays = self.flag.is_some() || (self.subject.declaration.is_some() && !moves);
        let alone = source.begins_line(stmt.start);
        let (true, Some(end)) = (!stays && alone, source.ends_line(stmt.end)) else {
            return (Vec::new(), String::new());
        };
        let own = source.line(stmt.start).start;
        let start = match self.heads_others(stmt) {
            true => own,
            false => source.comment_above(own, self.floor(stmt)),
        };
        let above = source.slice(Span::new(start, own));
        // Lines of a block comment keep their place below its beginning.
        let indent = source.indentation(stmt.start);
        let line = |line: &str| {
            let inner = line.strip_prefix(indent).unwrap_or(line.trim_start());
            inner.trim_end().to_owned()
        };
        let above = above.lines().map(line).collect();
        let behind = source.slice(Span::new(stmt.end, end)).trim().to_owned();
        (above, behind)
    }

    /// `T x;` of `T x = e;`.
    fn bare(&self, declaration: &Declaration) -> Result<String, Refusal> {
        let source = self.scene.source;
        let refusal = || Refusal::MustHaveValue(self.name());
        let declarator = declaration.declarators.first().ok_or_else(refusal)?;
        if source.type_is_const(declaration, declarator) || !source.plain(&declarator.ty) {
            return Err(refusal());
        }
        if declaration.specifiers.words.has(SpecifierSet::STATIC) {
            return Err(refusal());
        }
        let stmt = self.candidate.stmt;
        let before = self.text(Span::new(stmt.start, self.candidate.value.start));
        let head = before
            .trim_end()
            .strip_suffix('=')
            .ok_or_else(refusal)?
            .trim_end();
        let ty = self
            .text(Span::new(stmt.start, self.candidate.place.start))
            .trim_end();
        if ty.split_whitespace().any(|word| word.starts_with("auto")) {
            return Err(refusal());
        }
        // Compilers of HLSL refuse a variable that is read under a flag and has no value before it.
        match source.language == Language::Hlsl && self.flag.is_some() {
            true if ty.contains(' ') => Err(refusal()),
            true => Ok(format!("{head} = ({ty})0;")),
            false => Ok(format!("{head};")),
        }
    }

    /// The innermost block that lists a statement. `None`: it is a branch without braces.
    fn block_around(&self, stmt: Span) -> Option<&Block> {
        let mut block = self.scene.body;
        loop {
            let at = index(block, stmt)?;
            let found = &block.statements[at];
            if full_span(found) == stmt {
                return Some(block);
            }
            block = inner_block(found, stmt)?;
        }
    }

    /// The innermost block that holds the statement and all copies.
    fn common(&self, copies: &[Copy]) -> Option<&Block> {
        let stmt = self.candidate.stmt;
        let mut best = None;
        let mut block = Some(self.scene.body);
        while let Some(around) = block {
            let inside = |copy: &Copy| {
                let at = copy.place.offset();
                around.span.start < at && at < around.span.end
            };
            if !copies.iter().all(inside) {
                break;
            }
            best = Some(around);
            block = index(around, stmt).and_then(|at| inner_block(&around.statements[at], stmt));
        }
        best
    }

    fn copy(&mut self, copy: &Copy, moves: bool, first: bool) -> Result<(), Refusal> {
        let source = self.scene.source;
        let stmt = self.subject.stmt.span;
        let set = match moves {
            true => self.text(stmt).to_owned(),
            false => self.assignment(),
        };
        let reset = copy.resets.then(|| self.set(false)).flatten();
        let own = source.indentation(stmt.start).to_owned();
        let mut lines: Vec<String> = Vec::new();
        let unit = source.unit(self.scene.body);
        match (copy.hollow, copy.guarded) {
            (true, _) => lines.extend(reset),
            (false, true) => {
                let flag = self.flag.clone().unwrap_or_default();
                lines.push(format!("if ({flag}) {{"));
                lines.push(format!(
                    "{unit}{}",
                    set.replace(&format!("\n{own}"), &format!("\n{unit}"))
                ));
                lines.extend(reset.map(|reset| format!("{unit}{reset}")));
                lines.push("}".to_owned());
            }
            (false, false) => {
                let (above, behind) = match first {
                    true => self.comments(moves),
                    false => (Vec::new(), String::new()),
                };
                lines.extend(above);
                let set = set.replace(&format!("\n{own}"), "\n");
                lines.push(match behind.is_empty() {
                    true => set,
                    false => format!("{set} {behind}"),
                });
                lines.extend(reset);
            }
        }
        let lines: Vec<String> = lines
            .iter()
            .flat_map(|line| line.split('\n'))
            .map(|line| line.trim_end().to_owned())
            .collect();
        let edits = placed(self.scene, copy.place, &lines, &unit);
        let mut edits = edits.ok_or_else(|| Refusal::NoPlace(self.name()))?;
        // Above the comments about what it stands in front of.
        if let (Place::Before(anchor), [(at, _)]) = (copy.place, &mut edits[..])
            && source.begins_line(anchor.start)
        {
            *at = Span::at(source.comment_above(at.start, self.floor(anchor)));
        }
        self.edits.extend(edits);
        Ok(())
    }
}
