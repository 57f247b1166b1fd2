//! Tokens of the C family. One flat enum names every punctuator and keyword, so that the parser compares bytes and
//! never text; identifiers and literals carry their spelling.

use crate::Span;
use smol_str::SmolStr;

macro_rules! token_kinds {
    (special { $($special:ident),* $(,)? } punctuation { $($punct:ident = $ptext:literal),* $(,)? } keywords { $($kw:ident = $ktext:literal),* $(,)? }) => {
        /// The kind of a token. Keywords are told from identifiers when a token leaves the preprocessor.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum TokenKind { $($special,)* $($punct,)* $($kw,)* }

        impl TokenKind {
            /// The fixed spelling of a punctuator or keyword; a description in angle brackets for the others.
            pub const fn text(self) -> &'static str {
                match self {
                    $(TokenKind::$special => concat!("<", stringify!($special), ">"),)*
                    $(TokenKind::$punct => $ptext,)*
                    $(TokenKind::$kw => $ktext,)*
                }
            }
            /// The keyword of a spelling, whatever the dialect.
            pub fn keyword(text: &str) -> Option<TokenKind> {
                match text { $($ktext => Some(TokenKind::$kw),)* _ => None }
            }
            pub const fn is_keyword(self) -> bool {
                self as u8 >= TokenKind::FIRST_KEYWORD as u8
            }
        }
    };
}

token_kinds! {
    special { Eof, Error, Ident, Number, Char, Str, PragmaUnroll, PragmaEnd }
    punctuation {
        LParen = "(", RParen = ")", LBracket = "[", RBracket = "]", LBrace = "{", RBrace = "}",
        Less = "<", Greater = ">", LessEqual = "<=", GreaterEqual = ">=", EqualEqual = "==", NotEqual = "!=",
        Spaceship = "<=>", Plus = "+", Minus = "-", Star = "*", Slash = "/", Percent = "%", PlusPlus = "++",
        MinusMinus = "--", Equal = "=", PlusEqual = "+=", MinusEqual = "-=", StarEqual = "*=", SlashEqual = "/=",
        PercentEqual = "%=", ShlEqual = "<<=", ShrEqual = ">>=", AndEqual = "&=", OrEqual = "|=", XorEqual = "^=",
        And = "&", Or = "|", Xor = "^", Tilde = "~", Bang = "!", AndAnd = "&&", OrOr = "||", Question = "?",
        Colon = ":", ColonColon = "::", Semicolon = ";", Comma = ",", Dot = ".", Arrow = "->", DotStar = ".*",
        ArrowStar = "->*", Ellipsis = "...", Shl = "<<", Shr = ">>", Hash = "#", HashHash = "##",
    }
    keywords {
        Alignas = "alignas", Alignof = "alignof", Asm = "asm", Auto = "auto", Bool = "bool", Break = "break",
        Case = "case", Catch = "catch", CharKw = "char", Class = "class", Concept = "concept", Const = "const",
        ConstCast = "const_cast", Consteval = "consteval", Constexpr = "constexpr", Constinit = "constinit",
        Continue = "continue", Decltype = "decltype", Default = "default", Delete = "delete", Discard = "discard",
        Do = "do", Double = "double", DynamicCast = "dynamic_cast", Else = "else", Enum = "enum",
        Explicit = "explicit", Extern = "extern", False = "false", Float = "float", For = "for", Friend = "friend",
        Goto = "goto", If = "if", Inline = "inline", Int = "int", Interface = "interface", Long = "long",
        Mutable = "mutable", Namespace = "namespace", New = "new", Noexcept = "noexcept", Nullptr = "nullptr",
        Operator = "operator", Private = "private", Protected = "protected", Public = "public",
        Register = "register", ReinterpretCast = "reinterpret_cast", Requires = "requires", Return = "return",
        Short = "short", Signed = "signed", Sizeof = "sizeof", Static = "static", StaticAssert = "static_assert",
        StaticCast = "static_cast", Struct = "struct", Switch = "switch", Template = "template", This = "this",
        ThreadLocal = "thread_local", Throw = "throw", True = "true", Try = "try", Typedef = "typedef",
        Typeid = "typeid", Typename = "typename", Union = "union", Unsigned = "unsigned", Using = "using",
        Virtual = "virtual", Void = "void", Volatile = "volatile", Wchar = "wchar_t", While = "while",
        Char8 = "char8_t", Char16 = "char16_t", Char32 = "char32_t",
    }
}

impl TokenKind {
    const FIRST_KEYWORD: TokenKind = TokenKind::Alignas;
}

/// First on its logical line.
pub const LINE_START: u8 = 1;
/// White space or a comment stands before it.
pub const SPACE_BEFORE: u8 = 2;
/// First on its line, in column 0.
pub const COLUMN_ZERO: u8 = 4;
/// A backslash-newline lies inside the spelling.
pub const SPLICED: u8 = 8;
/// Came out of a macro's body; its span is the span of the use.
pub const FROM_MACRO: u8 = 16;
/// The flag of an item's first token: `#pragma pack_matrix(row_major)` stands before it.
pub const ROW_MAJOR: u8 = 64;

/// A token as written: its text is `&file.text[start..end]`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RawToken {
    pub start: u32,
    pub end: u32,
    /// Every word is an `Ident` here; keywords are told apart later.
    pub kind: TokenKind,
    pub flags: u8,
}

impl RawToken {
    pub const fn span(self) -> Span {
        Span::new(self.start, self.end)
    }
    pub const fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// A token after preprocessing, positioned relative to its item.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Token {
    /// The spelling of identifiers, keywords and literals; empty for punctuation.
    pub text: SmolStr,
    pub span: Span,
    pub kind: TokenKind,
    pub flags: u8,
}

impl Token {
    pub const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
    /// The spelling, whatever the kind.
    pub fn spelling(&self) -> &str {
        if self.text.is_empty() {
            self.kind.text()
        } else {
            &self.text
        }
    }
}
