//! Look-ahead over tokens without building anything: it finds the end of a possible name, template argument
//! list or type, and decides from that how to read the text. Each scan is bounded and never recurses deeper
//! than brackets are nested in it.

use super::Parser;
use crate::c_family::dialect::{Dialect, SpecifierWord};
use crate::c_family::token::TokenKind as T;

/// Tokens that a scan looks at.
const REACH: usize = 512;

/// A place in the tokens: `half` when the first half of the `>>` there has been taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ahead {
    pub(super) at: usize,
    pub(super) half: bool,
}

impl Ahead {
    fn new(at: usize) -> Ahead {
        Ahead { at, half: false }
    }
}

/// The certainty of a scan that it saw a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(super) enum Surety {
    /// A plain unknown name.
    Name,
    /// Type operators or arguments, or a name that the unit declares as a type.
    Type,
}

impl Parser<'_> {
    /// Returns the same as `closing` within reach; the end of the item otherwise.
    pub(super) fn near(&self, open: usize) -> usize {
        let mut depth = 0usize;
        for at in open..self.tokens.len().min(open + REACH) {
            match self.kind_at(at) {
                T::LParen | T::LBracket | T::LBrace => depth += 1,
                T::RParen | T::RBracket | T::RBrace => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return at + 1;
            }
        }
        self.tokens.len()
    }

    pub(super) fn ahead_kind(&self, ahead: Ahead) -> T {
        if ahead.half {
            T::Greater
        } else {
            self.kind_at(ahead.at)
        }
    }

    /// Returns the position behind the `>` that closes the `<` at `open`, if the tokens between can be
    /// template arguments.
    pub(super) fn scan_angles(&self, open: usize, known: bool) -> Option<Ahead> {
        if !self.dialect.has_templates() {
            return None;
        }
        let mut depth = 0i32;
        let mut at = open;
        let end = self.tokens.len().min(open + REACH);
        while at < end {
            match self.kind_at(at) {
                T::Less => {
                    if depth == 0 || matches!(self.kind_at(at - 1), T::Ident) {
                        depth += 1;
                    } else if !known {
                        return None;
                    }
                }
                T::Greater => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(Ahead::new(at + 1));
                    }
                }
                T::Shr => match depth {
                    1 if self.angle => return Some(Ahead { at, half: true }),
                    1 => return None,
                    2 => return Some(Ahead::new(at + 1)),
                    _ => depth -= 2,
                },
                T::LParen | T::LBracket | T::LBrace => {
                    at = self.near(at);
                    continue;
                }
                T::RParen | T::RBracket | T::RBrace | T::Semicolon | T::Eof => return None,
                T::AndAnd | T::OrOr | T::Question if !known && depth <= 1 => {
                    // `T&&` is a type; an operand behind it makes it an expression.
                    let next = self.kind_at(at + 1);
                    if !matches!(next, T::Comma | T::Greater | T::Shr | T::Ellipsis) {
                        return None;
                    }
                }
                T::Equal | T::PlusEqual | T::MinusEqual | T::StarEqual | T::SlashEqual | T::Str
                    if !known =>
                {
                    return None;
                }
                kind if !known && statement_word(kind) => return None,
                _ => {}
            }
            at += 1;
        }
        None
    }

    /// Returns the end of the template arguments that the `<` behind a name in an expression opens; `None` if
    /// it opens none.
    pub(super) fn template_arguments_in_expression(
        &self,
        name: &str,
        open: usize,
    ) -> Option<Ahead> {
        // `k<<<` launches.
        if self.kind_at(open) != T::Less {
            return None;
        }
        // `is_same_v<A, B>`: variable templates by the convention of the standard library.
        let known = self.is_template_name(name) || name.ends_with("_v");
        let end = self.scan_angles(open, known)?;
        if known {
            return Some(end);
        }
        match self.ahead_kind(end) {
            T::LParen
            | T::ColonColon
            | T::LBrace
            | T::RParen
            | T::RBracket
            | T::Comma
            | T::Semicolon
            | T::Dot
            | T::Question
            | T::EqualEqual
            | T::NotEqual
            | T::AndAnd
            | T::OrOr
            | T::Slash
            | T::Percent
            | T::LessEqual
            | T::GreaterEqual
            | T::Or
            | T::Xor
            | T::Colon
            | T::Ellipsis
            | T::Eof
            | T::RBrace => Some(end),
            T::Greater | T::Shr if self.angle => Some(end),
            // `f<T><<<grid, block>>>()`
            T::Shl if self.kind_at(end.at + 1) == T::Less => Some(end),
            _ => None,
        }
    }

    /// Returns the position behind a possibly qualified name with template arguments.
    pub(super) fn scan_name(&self, start: usize) -> Option<Ahead> {
        let mut at = start;
        if self.kind_at(at) == T::ColonColon {
            at += 1;
        }
        for _ in 0..64 {
            if self.kind_at(at) == T::Template {
                at += 1;
            }
            if self.kind_at(at) != T::Ident {
                return None;
            }
            let name = self.text_at(at);
            at += 1;
            let mut ahead = Ahead::new(at);
            if self.kind_at(at) == T::Less
                && let Some(end) = self.scan_angles(at, self.is_template_name(name))
            {
                ahead = end;
            }
            if ahead.half || self.kind_at(ahead.at) != T::ColonColon {
                return Some(ahead);
            }
            match self.kind_at(ahead.at + 1) {
                T::Ident | T::Template => at = ahead.at + 1,
                _ => return Some(ahead),
            }
        }
        None
    }

    /// A word that can only begin a type: a builtin word, `const`, `struct`, `typename`, `auto`, ...
    pub(super) fn type_word(&self, at: usize) -> bool {
        match self.kind_at(at) {
            T::Const
            | T::Volatile
            | T::Struct
            | T::Class
            | T::Union
            | T::Enum
            | T::Typename
            | T::Auto
            | T::Decltype => true,
            kind => builtin_word(kind),
        }
    }

    /// Returns the position behind the type that would begin at `start`, pointers, references and `[]`
    /// included, and the certainty of that.
    pub(super) fn scan_type(&self, start: usize) -> Option<(Ahead, Surety)> {
        let mut at = start;
        let mut surety = Surety::Name;
        let mut seen = false;
        let mut ahead = Ahead::new(at);
        for _ in 0..32 {
            match self.kind_at(at) {
                // A tag of C is no name of its own, and may be defined in passing.
                T::Struct | T::Union | T::Enum if !seen && !self.dialect.has_templates() => {
                    (surety, seen) = (Surety::Type, true);
                    at += 1;
                    if self.kind_at(at) == T::Ident {
                        at += 1;
                    }
                    if self.kind_at(at) == T::LBrace {
                        at = self.near(at);
                    }
                }
                T::Const
                | T::Volatile
                | T::Typename
                | T::Struct
                | T::Class
                | T::Union
                | T::Enum => {
                    surety = Surety::Type;
                    at += 1;
                }
                T::Auto => {
                    surety = Surety::Type;
                    seen = true;
                    at += 1;
                }
                T::Decltype => {
                    surety = Surety::Type;
                    seen = true;
                    at = self.near(at + 1);
                    if self.kind_at(at) == T::ColonColon {
                        let end = self.scan_name(at)?;
                        if end.half {
                            return Some((end, surety));
                        }
                        at = end.at;
                    }
                }
                kind if builtin_word(kind) => {
                    surety = Surety::Type;
                    seen = true;
                    at += 1;
                }
                T::Ident | T::ColonColon if !seen => {
                    let name = self.text_at(at);
                    if let Some(word) = self.dialect.specifier_word(name)
                        && self.kind_at(at) == T::Ident
                    {
                        let contextual = matches!(
                            word,
                            SpecifierWord::Contextual(_) | SpecifierWord::IgnoredContextual
                        );
                        if !contextual || self.word_follows(at) {
                            at += 1;
                            continue;
                        }
                    }
                    let end = self.scan_name(at)?;
                    let plain = end.at == at + 1;
                    let arguments = !plain && self.kind_at(end.at.saturating_sub(1)) == T::Greater;
                    let last = if plain {
                        name
                    } else {
                        self.text_at(end.at.saturating_sub(1))
                    };
                    if arguments || end.half || self.is_type_name(last) {
                        surety = Surety::Type;
                    }
                    seen = true;
                    ahead = end;
                    at = end.at;
                    if end.half {
                        return Some((ahead, surety));
                    }
                }
                // `unsigned int2`
                T::Ident
                    if self.dialect == Dialect::Hlsl
                        && self.kind_at(at - 1) == T::Unsigned
                        && self.text_at(at).starts_with("int")
                        && self.is_type_name(self.text_at(at)) =>
                {
                    at += 1;
                }
                _ => break,
            }
            ahead = Ahead::new(at);
        }
        if !seen {
            return None;
        }
        loop {
            match self.kind_at(at) {
                T::Star => {
                    // `a * b` is a product unless nothing follows that could be an operand.
                    at += 1;
                    if !self.operand_follows(at) {
                        surety = Surety::Type;
                    }
                }
                T::And | T::AndAnd => {
                    at += 1;
                    if !self.operand_follows(at) {
                        surety = Surety::Type;
                    }
                }
                T::Const | T::Volatile => {
                    surety = Surety::Type;
                    at += 1;
                }
                T::Ident
                    if matches!(self.text_at(at), "__restrict__" | "__restrict" | "restrict") =>
                {
                    surety = Surety::Type;
                    at += 1;
                }
                T::LParen
                    if self.kind_at(at + 1) == T::Star
                        && matches!(self.kind_at(at + 2), T::RParen) =>
                {
                    at = self.near(at);
                    if self.kind_at(at) == T::LParen {
                        at = self.near(at);
                    }
                    surety = Surety::Type;
                }
                T::LBracket if surety == Surety::Type => {
                    at = self.near(at);
                }
                _ => break,
            }
            ahead = Ahead::new(at);
        }
        Some((ahead, surety))
    }

    /// An operand can begin here.
    pub(super) fn operand_follows(&self, at: usize) -> bool {
        match self.kind_at(at) {
            T::Ident
            | T::Number
            | T::Char
            | T::Str
            | T::LParen
            | T::Bang
            | T::Tilde
            | T::Minus
            | T::Plus
            | T::Star
            | T::And
            | T::PlusPlus
            | T::MinusMinus
            | T::ColonColon
            | T::LBrace
            | T::LBracket => true,
            T::This
            | T::True
            | T::False
            | T::Nullptr
            | T::Sizeof
            | T::Alignof
            | T::New
            | T::StaticCast
            | T::ReinterpretCast
            | T::ConstCast
            | T::DynamicCast
            | T::Throw
            | T::Delete
            | T::Typename
            | T::Typeid
            | T::Noexcept
            | T::Operator => true,
            kind => builtin_word(kind),
        }
    }

    /// A type or another specifier stands behind the word at `at`.
    pub(super) fn word_follows(&self, at: usize) -> bool {
        self.kind_at(at + 1) == T::Ident
            || self.type_word(at + 1)
            || matches!(self.kind_at(at + 1), T::Static | T::Inline | T::Extern)
    }

    /// Returns true if the parenthesis at `open` is a cast: a type, closed, and an operand behind it.
    pub(super) fn is_cast(&self, open: usize) -> bool {
        self.is_cast_within(open, 4)
    }

    fn is_cast_within(&self, open: usize, casts: u32) -> bool {
        let Some((end, surety)) = self.scan_type(open + 1) else {
            return false;
        };
        if end.half || self.kind_at(end.at) != T::RParen {
            return false;
        }
        let next = end.at + 1;
        if !self.operand_follows(next) {
            return false;
        }
        // `(delta_t) * x`: a name that only looks like a type may be a variable.
        let name = self.text_at(open + 1);
        let looks_only = end.at == open + 2
            && self.kind_at(open + 1) == T::Ident
            && !self.names.is_type(name)
            && !self.dialect.is_certain_type(name);
        let operator = matches!(self.kind_at(next), T::Star | T::And | T::Minus | T::Plus);
        if looks_only && operator {
            return false;
        }
        if surety == Surety::Type {
            return match self.kind_at(next) {
                // `(T) [` would be a lambda behind a cast.
                T::LBracket => self.dialect.bracket_attributes(),
                _ => true,
            };
        }
        if self.kind_at(next) == T::LParen {
            // `(unknown)(T)x`: what stands in front of a cast is a cast.
            return casts > 0 && self.is_cast_within(next, casts - 1);
        }
        matches!(
            self.kind_at(next),
            T::Ident
                | T::Number
                | T::Char
                | T::Str
                | T::Bang
                | T::Tilde
                | T::This
                | T::True
                | T::False
                | T::Nullptr
                | T::Sizeof
                | T::StaticCast
                | T::ReinterpretCast
        ) || builtin_word(self.kind_at(next))
    }

    /// Returns true if the statement that begins here declares something.
    pub(super) fn is_declaration(&self) -> bool {
        let at = self.at;
        match self.peek() {
            T::Static
            | T::Extern
            | T::Inline
            | T::Constexpr
            | T::Consteval
            | T::Constinit
            | T::Typedef
            | T::Register
            | T::ThreadLocal
            | T::Mutable
            | T::Struct
            | T::Class
            | T::Union
            | T::Enum
            | T::Alignas
            | T::Typename
            | T::Const
            | T::Volatile
            | T::Auto
            | T::Template
            | T::Friend
            | T::Virtual
            | T::Interface => true,
            T::Decltype => {
                let end = self.near(at + 1);
                matches!(self.kind_at(end), T::Ident | T::Star | T::And | T::AndAnd)
            }
            T::Ident | T::ColonColon => self.name_declares(at),
            kind if builtin_word(kind) => match self.kind_at(at + 1) {
                T::LParen => {
                    matches!(self.kind_at(at + 2), T::Star | T::And)
                        && matches!(self.kind_at(at + 3), T::Ident | T::Const)
                }
                T::LBrace => false,
                _ => true,
            },
            _ => false,
        }
    }

    fn name_declares(&self, at: usize) -> bool {
        let name = self.text_at(at);
        if self.kind_at(at) == T::Ident
            && let Some(word) = self.dialect.specifier_word(name)
        {
            return match word {
                SpecifierWord::Contextual(_)
                | SpecifierWord::IgnoredContextual
                | SpecifierWord::In
                | SpecifierWord::Out => self.word_follows(at),
                _ => true,
            };
        }
        let Some(end) = self.scan_name(at) else {
            return false;
        };
        if end.half {
            return false;
        }
        if self.kind_at(end.at) == T::Less
            && let Some(close) = self.scan_angles(end.at, true)
            && !close.half
            && self.kind_at(close.at) == T::Ident
        {
            // `B<x || y> c;` computes nothing as an expression.
            let next = self.kind_at(close.at + 1);
            return matches!(next, T::Semicolon | T::Equal | T::LParen | T::LBrace);
        }
        let known = if end.at == at + 1 {
            self.is_type_name(name)
        } else {
            self.is_type_name(self.text_at(end.at - 1))
        };
        let mut at = end.at;
        let mut operators = 0usize;
        let mut both = false;
        loop {
            match self.kind_at(at) {
                T::Star | T::And => operators += 1,
                T::AndAnd => {
                    operators += 1;
                    both = true;
                }
                T::Const | T::Volatile => return true,
                T::Ident
                    if matches!(self.text_at(at), "__restrict__" | "__restrict" | "restrict") => {}
                // `Foo __shared__ x`
                T::Ident
                    if operators == 0
                        && matches!(
                            self.dialect.specifier_word(self.text_at(at)),
                            Some(SpecifierWord::Set(_))
                        ) =>
                {
                    return true;
                }
                // `T [[attribute]] x`
                T::LBracket if self.kind_at(at + 1) == T::LBracket => {
                    at = self.near(at);
                    continue;
                }
                _ => break,
            }
            at += 1;
        }
        match self.kind_at(at) {
            T::Ident => {
                let next = self.kind_at(at + 1);
                if operators == 0 {
                    return matches!(
                        next,
                        T::Semicolon
                            | T::Equal
                            | T::Comma
                            | T::LBracket
                            | T::LParen
                            | T::LBrace
                            | T::Colon
                            | T::RParen
                            | T::Ident
                            | T::Less
                            | T::ColonColon
                            | T::Eof
                            | T::Star
                            | T::And
                    );
                }
                if both && !known {
                    return next == T::Equal && !self.launch && self.kind_at(end.at) == T::AndAnd;
                }
                matches!(
                    next,
                    T::Semicolon | T::Equal | T::Comma | T::LBracket | T::Colon | T::LBrace
                ) || next == T::LParen
                    && (known || operators > 0 && self.kind_at(self.near(at + 1)) == T::Semicolon)
                    || next == T::RParen && known
            }
            // `MACRO float x`
            kind if operators == 0
                && (builtin_word(kind)
                    || matches!(kind, T::Static | T::Struct | T::Auto | T::Constexpr)) =>
            {
                true
            }
            T::LParen if known && operators == 0 => {
                matches!(self.kind_at(at + 1), T::Star | T::And)
                    && matches!(self.kind_at(at + 2), T::Ident)
                    && self.kind_at(at + 3) == T::RParen
                    && matches!(self.kind_at(at + 4), T::LParen | T::LBracket)
            }
            T::LBracket if operators > 0 => false,
            T::Operator => true,
            _ => false,
        }
    }

    /// Returns true if the parentheses at `open` are parameters and not arguments, in the place of a declarator.
    pub(super) fn parameters_follow(&self, open: usize, block: bool) -> bool {
        let first = open + 1;
        match self.kind_at(first) {
            T::RParen | T::Ellipsis => return true,
            // The parameters were never closed and the body follows.
            T::LBrace => {
                return !block && !matches!(self.kind_at(self.near(first)), T::RParen | T::Comma);
            }
            T::LBracket => {
                return self.dialect.bracket_attributes() || self.kind_at(first + 1) == T::LBracket;
            }
            T::Number
            | T::Str
            | T::Char
            | T::LParen
            | T::Minus
            | T::Bang
            | T::Star
            | T::And
            | T::True
            | T::False
            | T::StaticCast
            | T::ReinterpretCast
            | T::Sizeof
            | T::This
            | T::Nullptr
            | T::New => return false,
            _ => {}
        }
        if matches!(self.kind_at(first), T::Register | T::Constexpr | T::Static) {
            return true;
        }
        let Some((end, surety)) = self.scan_type(first) else {
            return false;
        };
        if end.half {
            return false;
        }
        let after = self.kind_at(end.at + 1);
        if self.kind_at(first) != T::Ident && surety == Surety::Type {
            // `float(x)` and `int{}` compute.
            return match self.kind_at(end.at) {
                T::LBrace => false,
                T::LParen => {
                    matches!(after, T::Star | T::And | T::AndAnd)
                        || after == T::Ident && self.kind_at(end.at + 2) == T::ColonColon
                }
                _ => true,
            };
        }
        match self.kind_at(end.at) {
            T::Ident => {
                // `M * N, 1` computes where `T* x, int n` declares.
                let product = matches!(self.kind_at(end.at - 1), T::Star | T::And | T::AndAnd);
                let ends = matches!(
                    after,
                    T::Comma
                        | T::RParen
                        | T::Equal
                        | T::LBracket
                        | T::Colon
                        | T::Ellipsis
                        | T::Ident
                        | T::LParen
                );
                if product {
                    ends && !(block && surety == Surety::Name)
                } else {
                    true
                }
            }
            T::Comma | T::RParen | T::Ellipsis => surety == Surety::Type || !block,
            T::Equal => !block,
            T::LParen => surety == Surety::Type && matches!(after, T::Star | T::And | T::AndAnd),
            T::Colon => !block,
            T::LBracket => surety == Surety::Type && self.dialect.bracket_attributes(),
            _ => false,
        }
    }
}

/// A builtin type's word.
pub(super) const fn builtin_word(kind: T) -> bool {
    matches!(
        kind,
        T::Void
            | T::Bool
            | T::CharKw
            | T::Short
            | T::Int
            | T::Long
            | T::Signed
            | T::Unsigned
            | T::Float
            | T::Double
            | T::Wchar
            | T::Char8
            | T::Char16
            | T::Char32
    )
}

const fn statement_word(kind: T) -> bool {
    matches!(
        kind,
        T::If
            | T::For
            | T::While
            | T::Do
            | T::Return
            | T::Switch
            | T::Case
            | T::Break
            | T::Continue
            | T::Goto
            | T::Else
            | T::Default
    )
}
