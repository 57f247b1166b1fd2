//! One item's text to its tree: directives, variables, function headers. Bodies are in `body`.

use super::scan::{Cursor, starts_name};
use super::*;
use crate::error::ProblemKind;

/// Parses an item that `split_items` found. Never fails; errors are in `problems`.
pub fn parse_item(text: &str) -> PtxItem {
    if text.len() > MAX_ITEM_BYTES {
        let message = format!(
            "this has {} bytes; what has more than {MAX_ITEM_BYTES} is not looked at",
            text.len()
        );
        return PtxItem {
            kind: PtxItemKind::Invalid,
            span: Span::new(0, text.len() as u32),
            problems: vec![Problem::new(ProblemKind::Limit, Span::at(0), message)],
        };
    }
    let mut cursor = Cursor::new(text);
    let kind = item(&mut cursor, true).0;
    PtxItem {
        kind,
        span: Span::new(0, text.len() as u32),
        problems: cursor.problems,
    }
}

/// The item without the body of a function, and whether there is one.
pub fn declaration(text: &str) -> (PtxItemKind, bool) {
    if text.len() > MAX_ITEM_BYTES {
        return (PtxItemKind::Invalid, false);
    }
    item(&mut Cursor::new(text), false)
}

fn item(cursor: &mut Cursor<'_>, with_body: bool) -> (PtxItemKind, bool) {
    let mut has_body = false;
    let kind = item_kind(cursor, with_body, &mut has_body);
    if kind.is_none() && cursor.problems.is_empty() {
        cursor.problem_here("expected a directive");
    }
    (kind.unwrap_or(PtxItemKind::Invalid), has_body)
}

fn item_kind(cursor: &mut Cursor<'_>, with_body: bool, has_body: &mut bool) -> Option<PtxItemKind> {
    let mut linkage = Linkage::default();
    loop {
        let word = cursor.peek_dotted()?;
        match word.as_str() {
            "visible" => linkage.visible = true,
            "extern" => linkage.external = true,
            "weak" => linkage.weak = true,
            "common" => linkage.common = true,
            _ => break,
        }
        cursor.dotted();
    }
    let word = cursor.peek_dotted()?;
    match word.as_str() {
        "version" => {
            cursor.dotted();
            let major = cursor.unsigned_plain()?;
            let minor = if cursor.byte() == b'.' {
                cursor.at += 1;
                cursor.unsigned_plain()?
            } else {
                0
            };
            Some(PtxItemKind::Version { major, minor })
        }
        "target" => {
            cursor.dotted();
            let mut names = Vec::new();
            while let Some(name) = cursor.name() {
                names.push(name);
                if !cursor.eat(b',') {
                    break;
                }
            }
            Some(PtxItemKind::Target(names))
        }
        "address_size" => {
            cursor.dotted();
            Some(PtxItemKind::AddressSize(cursor.unsigned()?))
        }
        "file" => {
            cursor.dotted();
            let number = cursor.unsigned()?;
            let path = cursor.string()?;
            Some(PtxItemKind::File { number, path })
        }
        "entry" | "func" => {
            cursor.dotted();
            function(cursor, linkage, word == "entry", with_body, has_body)
                .map(|function| PtxItemKind::Function(Box::new(function)))
        }
        "alias" => {
            cursor.dotted();
            let name = cursor.name()?;
            cursor.expect(b',')?;
            let target = cursor.name()?;
            Some(PtxItemKind::Alias { name, target })
        }
        "section" | "pragma" | "loc" | "attribute" => Some(PtxItemKind::Other),
        _ => {
            let declaration = variable(cursor, linkage, false)?;
            cursor.expect(b';')?;
            Some(PtxItemKind::Variable(declaration))
        }
    }
}

fn function(
    cursor: &mut Cursor<'_>,
    linkage: Linkage,
    entry: bool,
    with_body: bool,
    has_body: &mut bool,
) -> Option<PtxFunction> {
    cursor.attribute();
    let returns = parameters(cursor);
    let Some(name) = cursor.name() else {
        cursor.problem_here("expected the function's name");
        return None;
    };
    let parameters = parameters(cursor);
    let mut function = PtxFunction {
        linkage,
        entry,
        name,
        returns,
        parameters,
        directives: Vec::new(),
        body: None,
    };
    loop {
        cursor.trivia();
        match cursor.byte() {
            b'.' => match directive(cursor) {
                Some(directive) => function.directives.push(directive),
                None => {
                    cursor.problem_here("expected a directive");
                    cursor.at += 1;
                }
            },
            b';' => {
                cursor.at += 1;
                return Some(function);
            }
            b'{' => {
                *has_body = true;
                if with_body {
                    function.body = Some(body::body(cursor));
                }
                return Some(function);
            }
            _ if cursor.at_end() => {
                cursor.problem_here("expected a body or `;`");
                return Some(function);
            }
            _ => {
                cursor.problem_here("expected a body, a directive or `;`");
                let rest = &cursor.text.as_bytes()[cursor.at..];
                cursor.at += memchr::memchr3(b'{', b';', b'.', &rest[1..])
                    .map_or(rest.len(), |length| length + 1);
            }
        }
    }
}

/// `.maxntid 256, 1, 1` or `.pragma "text";`
pub(super) fn directive(cursor: &mut Cursor<'_>) -> Option<Directive> {
    cursor.trivia();
    let name = cursor.dotted()?;
    let mut numbers = Vec::new();
    cursor.trivia();
    if name.text == "pragma" {
        while cursor.string().is_some() && cursor.eat(b',') {}
        cursor.eat(b';');
    } else if cursor.byte() == b'(' {
        cursor.parentheses();
    } else {
        while cursor.byte().is_ascii_digit() {
            numbers.push(cursor.unsigned()?);
            if !cursor.eat(b',') {
                break;
            }
            cursor.trivia();
        }
    }
    Some(Directive { name, numbers })
}

/// `( .param .u64 a, .param .b32 b )`; nothing when there is no parenthesis.
pub(super) fn parameters(cursor: &mut Cursor<'_>) -> Vec<VariableDeclaration> {
    let mut all = Vec::new();
    if !cursor.eat(b'(') {
        return all;
    }
    loop {
        if cursor.eat(b')') {
            return all;
        }
        match variable(cursor, Linkage::default(), true) {
            Some(declaration) => all.push(declaration),
            None => {
                let rest = &cursor.text.as_bytes()[cursor.at..];
                cursor.at += memchr::memchr3(b')', b',', b'{', rest).unwrap_or(rest.len());
            }
        }
        if cursor.eat(b',') {
            continue;
        }
        if !cursor.eat(b')') {
            cursor.problem_here("expected `,` or `)`");
        }
        return all;
    }
}

/// A declaration up to its `;` (left) or, of a parameter, its `,` or `)`.
pub(super) fn variable(
    cursor: &mut Cursor<'_>,
    linkage: Linkage,
    single: bool,
) -> Option<VariableDeclaration> {
    cursor.trivia();
    let start = cursor.at;
    let mut space = None;
    let mut align = None;
    let mut vector = 1;
    let mut type_name = None;
    let mut pointer: Option<PointerAttribute> = None;
    loop {
        cursor.trivia();
        if cursor.byte() != b'.' {
            break;
        }
        let Some(word) = cursor.dotted() else { break };
        if let Some(found) = storage_space(&word.text) {
            match &mut pointer {
                Some(pointer) => pointer.space = Some(found),
                None => space = Some(found),
            }
            continue;
        }
        match word.text.as_str() {
            "align" => {
                let bytes = cursor.unsigned();
                match &mut pointer {
                    Some(pointer) => pointer.align = bytes,
                    None => align = bytes,
                }
            }
            "v2" => vector = 2,
            "v4" => vector = 4,
            "v8" => vector = 8,
            "ptr" => {
                pointer = Some(PointerAttribute {
                    space: None,
                    align: None,
                });
            }
            "attribute" => cursor.parentheses(),
            // `.const[3]`
            _ => type_name = Some(word),
        }
        if cursor.byte() == b'[' && type_name.is_none() {
            while !matches!(cursor.byte(), b']' | 0 | b'\n') {
                cursor.at += 1;
            }
            cursor.eat(b']');
        }
    }
    let (Some(space), Some(type_name)) = (space, type_name) else {
        let span = Span::new(start as u32, cursor.at as u32);
        cursor.problem(span, "expected a state space and a type");
        return None;
    };
    let mut declaration = VariableDeclaration {
        linkage,
        space,
        align,
        vector,
        type_name: type_name.text,
        pointer,
        declarators: Vec::new(),
        span: Span::default(),
    };
    loop {
        let Some(declarator) = declarator(cursor, single) else {
            cursor.problem_here("expected a name");
            break;
        };
        declaration.declarators.push(declarator);
        if single || !cursor.eat(b',') {
            break;
        }
    }
    declaration.span = cursor.span_from(start);
    Some(declaration)
}

fn declarator(cursor: &mut Cursor<'_>, single: bool) -> Option<Declarator> {
    let name = cursor.name()?;
    let mut declarator = Declarator {
        name,
        range: None,
        dimensions: Vec::new(),
        initial: None,
    };
    cursor.trivia();
    if cursor.byte() == b'<' {
        cursor.at += 1;
        declarator.range = cursor.unsigned();
        cursor.expect(b'>')?;
    }
    while cursor.eat(b'[') {
        if cursor.eat(b']') {
            declarator.dimensions.push(None);
            continue;
        }
        cursor.trivia();
        let bound = if cursor.byte().is_ascii_digit() {
            cursor.number(false)
        } else {
            None
        };
        match bound {
            Some(Operand::Integer(bound, _)) if bound >= 0 => {
                declarator.dimensions.push(Some(bound as u64));
            }
            _ => {
                cursor.problem_here("expected an array bound");
                declarator.dimensions.push(None);
            }
        }
        cursor.expect(b']')?;
    }
    if !single && cursor.eat(b'=') {
        declarator.initial = Some(initializer(cursor));
    }
    Some(declarator)
}

/// The scalars of an initialiser in order; nesting is flattened, names and masks are kept as operands.
fn initializer(cursor: &mut Cursor<'_>) -> Vec<Operand> {
    let mut values = Vec::new();
    let mut depth = 0;
    loop {
        cursor.trivia();
        match cursor.byte() {
            b'{' => {
                depth += 1;
                cursor.at += 1;
            }
            b'}' => {
                depth -= 1;
                cursor.at += 1;
            }
            b',' if depth > 0 => cursor.at += 1,
            b';' | b',' | 0 => break,
            _ => match body::operand(cursor, 0) {
                // `generic(symbol)`, `0xff(symbol)`
                Some(value) if cursor.byte() == b'(' => {
                    cursor.parentheses();
                    cursor.offset_of_symbol();
                    values.push(value);
                }
                Some(value) => values.push(value),
                None => {
                    // `texref` initialisers: `{ width = 4 }`.
                    if cursor.at_end() || matches!(cursor.byte(), b';' | b'}' | b',') {
                        continue;
                    }
                    cursor.at += 1;
                    while !cursor.text.is_char_boundary(cursor.at) {
                        cursor.at += 1;
                    }
                }
            },
        }
        if depth <= 0 && matches!(cursor.byte(), b';' | b',' | 0) {
            break;
        }
    }
    values
}

pub(super) fn storage_space(word: &str) -> Option<StorageSpace> {
    Some(match word {
        "reg" => StorageSpace::Register,
        "sreg" => StorageSpace::SpecialRegister,
        "const" => StorageSpace::Constant,
        "global" => StorageSpace::Global,
        "local" => StorageSpace::Local,
        "param" => StorageSpace::Parameter,
        "shared" => StorageSpace::Shared,
        "tex" => StorageSpace::Texture,
        _ => return None,
    })
}

impl Cursor<'_> {
    /// Digits only, so that `7.8` is two numbers.
    fn unsigned_plain(&mut self) -> Option<u32> {
        self.trivia();
        let start = self.at;
        while self.byte().is_ascii_digit() {
            self.at += 1;
        }
        self.slice(start, self.at).parse().ok()
    }
    fn attribute(&mut self) {
        while self.peek_dotted().as_deref() == Some("attribute") {
            self.dotted();
            self.parentheses();
        }
    }
    /// Skips `( ... )`.
    pub(super) fn parentheses(&mut self) {
        if !self.eat(b'(') {
            return;
        }
        let mut depth = 1;
        while depth > 0 && !self.at_end() && !matches!(self.byte(), b'{' | b'}') {
            match self.byte() {
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
        while !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
    }
    fn offset_of_symbol(&mut self) {
        if self.eat(b'+') {
            self.unsigned();
        }
        self.trivia();
    }
    pub(super) fn at_name(&mut self) -> bool {
        self.trivia();
        starts_name(self.byte())
    }
}
