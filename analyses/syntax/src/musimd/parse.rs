//! Text of µ-SIMD to its tree. One pass over the characters, then one over the tokens; a statement that is not
//! understood ends at the next line end or `;`.

use super::*;
use crate::error::ProblemKind;
use rustc_hash::FxHashMap;

/// Parses a whole file. Never fails; errors are in `problems`.
pub fn parse(text: &str) -> Program {
    let read = text.get(..within(text)).unwrap_or("");
    let mut parser = Parser {
        text: read,
        tokens: lex(read),
        at: 0,
        program: Program::default(),
    };
    parser.program();
    parser.resolve();
    if read.len() < text.len() {
        let message =
            format!("a program has at most {MAX_BYTES} bytes; from here on it is not looked at");
        let place = Span::at(read.len() as u32);
        let limit = Problem::new(ProblemKind::Limit, place, message);
        parser.program.problems.push(limit);
    }
    parser.program
}

/// Returns the part of a program that is read: up to a line end where there is one.
fn within(text: &str) -> usize {
    if text.len() <= MAX_BYTES {
        return text.len();
    }
    let line = text.as_bytes()[..MAX_BYTES]
        .iter()
        .rposition(|&byte| byte == b'\n');
    let mut end = line.map_or(MAX_BYTES, |at| at + 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Word,
    Number,
    Operator(Operator),
    Assign,
    /// `←`
    Arrow,
    /// `↓`
    Down,
    /// `↑`
    Up,
    Open,
    Close,
    OpenBracket,
    CloseBracket,
    Comma,
    Colon,
    /// A line end or `;`.
    End,
    Other,
}

#[derive(Clone, Copy, Debug)]
struct Token {
    kind: Kind,
    span: Span,
}

fn lex(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let next = chars.peek().map(|&(_, c)| c);
        let mut two = |kind| {
            chars.next();
            kind
        };
        let kind = match c {
            '\n' | '\r' | ';' => Kind::End,
            c if c.is_whitespace() || c == '\u{feff}' => continue,
            '/' if next == Some('/') => {
                while chars.next_if(|&(_, c)| c != '\n' && c != '\r').is_some() {}
                continue;
            }
            '+' => Kind::Operator(Operator::Add),
            '-' | '−' => Kind::Operator(Operator::Sub),
            '*' | '×' => Kind::Operator(Operator::Mul),
            '/' | '÷' => Kind::Operator(Operator::Div),
            '%' => Kind::Operator(Operator::Rem),
            '<' if next == Some('<') => two(Kind::Operator(Operator::ShiftLeft)),
            '<' if next == Some('=') => two(Kind::Operator(Operator::LessEqual)),
            '<' => Kind::Operator(Operator::Less),
            '≤' => Kind::Operator(Operator::LessEqual),
            '>' if next == Some('>') => two(Kind::Operator(Operator::ShiftRight)),
            '>' if next == Some('=') => two(Kind::Operator(Operator::GreaterEqual)),
            '>' => Kind::Operator(Operator::Greater),
            '≥' => Kind::Operator(Operator::GreaterEqual),
            '=' if next == Some('=') => two(Kind::Operator(Operator::Equal)),
            '!' if next == Some('=') => two(Kind::Operator(Operator::NotEqual)),
            '≠' => Kind::Operator(Operator::NotEqual),
            '&' => Kind::Operator(Operator::And),
            '|' => Kind::Operator(Operator::Or),
            '^' => Kind::Operator(Operator::Xor),
            '=' => Kind::Assign,
            '←' => Kind::Arrow,
            '↓' => Kind::Down,
            '↑' => Kind::Up,
            '(' => Kind::Open,
            ')' => Kind::Close,
            '[' => Kind::OpenBracket,
            ']' => Kind::CloseBracket,
            ',' => Kind::Comma,
            ':' => Kind::Colon,
            c if c.is_ascii_digit() => {
                while chars.next_if(|&(_, c)| c.is_ascii_digit()).is_some() {}
                Kind::Number
            }
            c if c.is_alphabetic() || c == '_' => {
                while chars
                    .next_if(|&(_, c)| c.is_alphanumeric() || c == '_' || c == '\'')
                    .is_some()
                {}
                Kind::Word
            }
            _ => Kind::Other,
        };
        let end = chars.peek().map_or(text.len(), |&(at, _)| at);
        tokens.push(Token {
            kind,
            span: Span::new(start as u32, end as u32),
        });
    }
    tokens
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    program: Program,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<Kind> {
        self.tokens.get(self.at).map(|token| token.kind)
    }
    fn peek_second(&self) -> Option<Kind> {
        self.tokens.get(self.at + 1).map(|token| token.kind)
    }
    fn here(&self) -> Span {
        match self.tokens.get(self.at) {
            Some(token) => token.span,
            None => Span::at(self.text.len() as u32),
        }
    }
    fn word(&self) -> &'a str {
        match self.tokens.get(self.at) {
            Some(token) if token.kind == Kind::Word => {
                &self.text[token.span.start as usize..token.span.end as usize]
            }
            _ => "",
        }
    }
    fn eat(&mut self, kind: Kind) -> bool {
        let found = self.peek() == Some(kind);
        self.at += found as usize;
        found
    }
    fn expect(&mut self, kind: Kind, what: &str) -> Option<()> {
        if self.eat(kind) {
            return Some(());
        }
        let span = self.here();
        self.problem(span, format!("expected {what}"));
        None
    }
    fn problem(&mut self, span: Span, message: impl Into<String>) {
        self.program.problems.push(Problem::syntax(span, message));
    }

    fn program(&mut self) {
        let mut labels = Vec::new();
        while self.at < self.tokens.len() {
            if self.eat(Kind::End) {
                continue;
            }
            if self.at_label() {
                labels.push(self.take_name());
                self.eat(Kind::Colon);
                continue;
            }
            let before = self.at;
            let start = self.here();
            let kind = match self.statement() {
                Some(kind) => kind,
                None => {
                    let results = self.guess_results(before);
                    self.skip_line();
                    InstructionKind::Invalid { results }
                }
            };
            let end = self.tokens[self.at.max(before + 1) - 1].span;
            self.program.instructions.push(Instruction {
                labels: std::mem::take(&mut labels),
                kind,
                span: start.to(end),
            });
            if !matches!(self.peek(), None | Some(Kind::End)) && !self.at_label() {
                let span = self.here();
                self.problem(span, "expected the end of the instruction");
                self.skip_line();
            }
        }
        if let Some(label) = labels.first() {
            let span = label.span;
            self.problem(span, "a label without an instruction");
        }
    }

    /// `name:`, or `l` and digits that are not assigned to.
    fn at_label(&self) -> bool {
        let word = self.word();
        if word.is_empty() {
            return false;
        }
        if self.peek_second() == Some(Kind::Colon) {
            return true;
        }
        is_numbered_label(word)
            && !matches!(
                self.peek_second(),
                Some(Kind::Assign | Kind::Arrow | Kind::Operator(_))
            )
    }
    fn take_name(&mut self) -> Name {
        let name = Name {
            text: SmolStr::new(self.word()),
            span: self.here(),
        };
        self.at += 1;
        name
    }
    fn skip_line(&mut self) {
        while !matches!(self.peek(), None | Some(Kind::End)) {
            self.at += 1;
        }
    }
    /// Returns the names before the `=` of a statement that was not understood.
    fn guess_results(&self, from: usize) -> Vec<Name> {
        let line = self.tokens[from..]
            .iter()
            .take_while(|token| token.kind != Kind::End);
        let mut names = Vec::new();
        for token in line {
            match token.kind {
                Kind::Word => names.push(Name {
                    text: SmolStr::new(
                        &self.text[token.span.start as usize..token.span.end as usize],
                    ),
                    span: token.span,
                }),
                Kind::OpenBracket | Kind::CloseBracket | Kind::Comma => {}
                Kind::Assign | Kind::Arrow => return names,
                _ => return Vec::new(),
            }
        }
        Vec::new()
    }

    fn statement(&mut self) -> Option<InstructionKind> {
        match (self.peek()?, self.word()) {
            (Kind::Up, _) => {
                self.at += 1;
                self.store()
            }
            (Kind::OpenBracket, _) => self.gate(),
            (Kind::Word, "store") if self.peek_second() != Some(Kind::Assign) => {
                self.at += 1;
                self.store()
            }
            (Kind::Word, word @ ("bz" | "bnz")) => {
                self.at += 1;
                let condition = self.operand()?;
                self.expect(Kind::Comma, "`,`")?;
                let target = self.target()?;
                Some(if word == "bz" {
                    InstructionKind::BranchZero { condition, target }
                } else {
                    InstructionKind::BranchNotZero { condition, target }
                })
            }
            (Kind::Word, "jump") => {
                self.at += 1;
                let target = self.target()?;
                Some(InstructionKind::Jump { target })
            }
            (Kind::Word, "sync") => {
                self.at += 1;
                Some(InstructionKind::Sync)
            }
            (Kind::Word, "stop") => {
                self.at += 1;
                Some(InstructionKind::Stop)
            }
            (Kind::Word, _) => self.assignment(),
            _ => {
                let span = self.here();
                self.problem(span, "expected an instruction");
                None
            }
        }
    }

    fn store(&mut self) -> Option<InstructionKind> {
        let address = self.operand()?;
        self.expect(Kind::Assign, "`=`")?;
        let value = self.operand()?;
        Some(InstructionKind::Store { address, value })
    }

    fn target(&mut self) -> Option<Target> {
        if self.peek() != Some(Kind::Word) {
            let span = self.here();
            self.problem(span, "expected a label");
            return None;
        }
        Some(Target {
            label: self.take_name(),
            instruction: None,
        })
    }

    fn assignment(&mut self) -> Option<InstructionKind> {
        if matches!(self.word(), "Tid" | "T_id") {
            let span = self.here();
            self.problem(span, "`Tid` can't be assigned to");
            return None;
        }
        let result = self.take_name();
        if self.eat(Kind::Arrow) {
            if self.word() != "a" {
                let span = self.here();
                self.problem(span, "expected `a` after `←`");
                return None;
            }
            self.at += 1;
            return self.atomic(result);
        }
        self.expect(Kind::Assign, "`=`")?;
        match (self.peek(), self.word()) {
            (Some(Kind::Down), _) => {
                self.at += 1;
                let address = self.operand()?;
                return Some(InstructionKind::Load { result, address });
            }
            (_, "load") => {
                self.at += 1;
                let address = self.operand()?;
                return Some(InstructionKind::Load { result, address });
            }
            (_, "atomic") => {
                self.at += 1;
                return self.atomic(result);
            }
            _ if self.at_gate() => return self.gate_call(vec![result]),
            _ => {}
        }
        let left = self.operand()?;
        let Some(Kind::Operator(operator)) = self.peek() else {
            return Some(InstructionKind::Copy {
                result,
                value: left,
            });
        };
        self.at += 1;
        let right = self.operand()?;
        Some(InstructionKind::Binary {
            result,
            operator,
            left,
            right,
        })
    }

    fn atomic(&mut self, result: Name) -> Option<InstructionKind> {
        let address = self.operand()?;
        self.expect(Kind::Operator(Operator::Add), "`+`")?;
        let increment = self.operand()?;
        Some(InstructionKind::Atomic {
            result,
            address,
            increment,
        })
    }

    fn operand(&mut self) -> Option<Operand> {
        let span = self.here();
        match self.peek() {
            Some(Kind::Word) if matches!(self.word(), "Tid" | "T_id") => {
                self.at += 1;
                Some(Operand::Tid(span))
            }
            Some(Kind::Word) => Some(Operand::Variable(self.take_name())),
            Some(Kind::Number) => self.number(span, false),
            Some(Kind::Operator(Operator::Sub)) if self.peek_second() == Some(Kind::Number) => {
                self.at += 1;
                self.number(span, true)
            }
            _ => {
                self.problem(span, "expected a variable, `Tid` or a number");
                None
            }
        }
    }
    fn number(&mut self, first: Span, negative: bool) -> Option<Operand> {
        let span = self.here();
        let digits = &self.text[span.start as usize..span.end as usize];
        self.at += 1;
        match digits.parse::<i64>() {
            Ok(value) => {
                let value = if negative { -value } else { value };
                Some(Operand::Literal(value, first.to(span)))
            }
            Err(_) => {
                self.problem(span, "the number does not fit in 64 bits");
                None
            }
        }
    }

    fn at_gate(&self) -> bool {
        matches!(self.word(), "μ" | "µ" | "mu" | "γ" | "gamma" | "η" | "eta")
            && matches!(self.peek_second(), Some(Kind::Open | Kind::OpenBracket))
    }
    /// `[a, b] = μ…`
    fn gate(&mut self) -> Option<InstructionKind> {
        self.expect(Kind::OpenBracket, "`[`")?;
        let mut results = Vec::new();
        while !self.eat(Kind::CloseBracket) {
            match self.operand()? {
                Operand::Variable(name) => results.push(name),
                other => {
                    self.problem(other.span(), "expected a variable");
                    return None;
                }
            }
            if self.peek() != Some(Kind::CloseBracket) {
                self.expect(Kind::Comma, "`,` or `]`")?;
            }
        }
        self.expect(Kind::Assign, "`=`")?;
        if !self.at_gate() {
            let span = self.here();
            self.problem(span, "expected μ, γ or η");
            return None;
        }
        self.gate_call(results)
    }
    fn gate_call(&mut self, results: Vec<Name>) -> Option<InstructionKind> {
        let name = self.take_name();
        let close = if self.eat(Kind::OpenBracket) {
            Kind::CloseBracket
        } else {
            self.expect(Kind::Open, "`(` or `[`")?;
            Kind::Close
        };
        let mut rows: Vec<Vec<Operand>> = Vec::new();
        loop {
            rows.push(self.row()?);
            if self.eat(close) {
                break;
            }
            self.expect(Kind::Comma, "`,` or the end of the operands")?;
        }
        let width = results.len();
        let fits = |rows: &[Vec<Operand>]| rows.iter().all(|row| row.len() == width);
        let wrong = match name.text.as_str() {
            "γ" | "gamma" if rows.len() == 3 && rows[0].len() == 1 && fits(&rows[1..]) => {
                let if_false = rows.pop()?;
                let if_true = rows.pop()?;
                let predicate = rows.pop()?.pop()?;
                return Some(InstructionKind::Gamma {
                    results,
                    predicate,
                    if_true,
                    if_false,
                });
            }
            "γ" | "gamma" => "γ takes a predicate and two rows as long as its results",
            "η" | "eta" if rows.len() == 2 && rows[0].len() == 1 && fits(&rows[1..]) => {
                let values = rows.pop()?;
                let predicate = rows.pop()?.pop()?;
                return Some(InstructionKind::Eta {
                    results,
                    predicate,
                    values,
                });
            }
            "η" | "eta" => "η takes a predicate and one row as long as its results",
            _ if fits(&rows) => return Some(InstructionKind::Mu { results, rows }),
            _ => "every row of μ is as long as its results",
        };
        self.problem(name.span, wrong);
        None
    }
    /// One operand, or several in parentheses.
    fn row(&mut self) -> Option<Vec<Operand>> {
        if !self.eat(Kind::Open) {
            return Some(vec![self.operand()?]);
        }
        let mut row = Vec::new();
        while !self.eat(Kind::Close) {
            row.push(self.operand()?);
            if self.peek() != Some(Kind::Close) {
                self.expect(Kind::Comma, "`,` or `)`")?;
            }
        }
        Some(row)
    }

    fn resolve(&mut self) {
        let mut numbers: FxHashMap<SmolStr, u32> = FxHashMap::default();
        let mut problems = Vec::new();
        for (number, instruction) in self.program.instructions.iter().enumerate() {
            for label in &instruction.labels {
                if numbers.contains_key(&label.text) {
                    problems.push(Problem::syntax(
                        label.span,
                        format!("the label `{}` is defined twice", label.text),
                    ));
                } else {
                    numbers.insert(label.text.clone(), number as u32);
                }
            }
        }
        for instruction in &mut self.program.instructions {
            if let InstructionKind::BranchZero { target, .. }
            | InstructionKind::BranchNotZero { target, .. }
            | InstructionKind::Jump { target } = &mut instruction.kind
            {
                target.instruction = numbers.get(&target.label.text).copied();
                if target.instruction.is_none() {
                    problems.push(Problem::syntax(
                        target.label.span,
                        format!("no instruction has the label `{}`", target.label.text),
                    ));
                }
            }
        }
        self.program.problems.append(&mut problems);
        self.program.problems.sort_by_key(|problem| problem.span);
    }
}

fn is_numbered_label(word: &str) -> bool {
    word.strip_prefix('l')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}
