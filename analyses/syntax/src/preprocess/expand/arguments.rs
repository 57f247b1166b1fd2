//! The arguments of an invocation: read up to their closing parenthesis, also over the lines of the file, and fitted to the
//! parameters.

use super::*;

impl Preprocessor<'_> {
    /// Returns as many arguments as parameters: if variadic, the last one takes the rest; missing ones are
    /// empty.
    pub(super) fn fit(
        &mut self,
        mut arguments: Vec<Vec<PpToken>>,
        wanted: usize,
        variadic: bool,
        place: Place,
    ) -> Vec<Vec<PpToken>> {
        if wanted == 0 && arguments.len() == 1 && arguments[0].is_empty() {
            return Vec::new();
        }
        if variadic && arguments.len() > wanted && wanted > 0 {
            let rest = arguments.split_off(wanted);
            if let Some(last) = arguments.last_mut() {
                for mut more in rest {
                    let place = more.first().map_or(place, |first| first.place);
                    last.push(PpToken {
                        text: SmolStr::default(),
                        place,
                        kind: TokenKind::Comma,
                        flags: 0,
                    });
                    last.append(&mut more);
                }
            }
        }
        let least = if variadic {
            wanted.saturating_sub(1)
        } else {
            wanted
        };
        if arguments.len() > wanted || arguments.len() < least {
            let file = self.file_of(place.instance);
            let message = format!(
                "this macro takes {wanted} arguments and is given {}",
                arguments.len()
            );
            self.problems
                .push(problem(ProblemKind::Syntax, file, place.span(), message));
        }
        arguments.resize_with(wanted, Vec::new);
        arguments
    }

    /// The next token when it is `(`; it is left where it is otherwise.
    pub(super) fn opening_parenthesis(&mut self, floor: usize, from_file: bool) -> Option<PpToken> {
        if let Some(token) = self.next_from_contexts(floor) {
            if token.kind == TokenKind::LParen {
                return Some(token);
            }
            self.contexts.push(Context {
                tokens: vec![token].into_iter(),
                source: None,
            });
            return None;
        }
        let cursor = self.cursors.last_mut().filter(|_| from_file)?;
        let raw = *cursor
            .lexed
            .tokens
            .get(cursor.position)
            .filter(|raw| raw.kind == TokenKind::LParen)?;
        cursor.position += 1;
        Some(token_of(&cursor.lexed, raw, cursor.instance))
    }

    /// The arguments up to the closing parenthesis. Directives between them are obeyed.
    pub(super) fn collect(&mut self, open: PpToken, floor: usize, from_file: bool) -> Arguments {
        let mut arguments = vec![Vec::new()];
        let mut commas: Vec<PpToken> = Vec::new();
        let (mut parentheses, mut braces) = (0u32, 0u32);
        let mut taken = 0usize;
        loop {
            let token = match self.next_from_contexts(floor) {
                Some(token) => Some(token),
                None if from_file => self.next_from_file(),
                None => None,
            };
            taken += 1;
            let Some(mut token) = token else {
                return Err(self.unclosed_invocation(open, arguments, commas, None));
            };
            let impatient = self.unclosed > UNCLOSED_PATIENCE || self.unclosed_work > UNCLOSED_WORK;
            let lookahead_ended = impatient && taken > SHORT_LOOKAHEAD;
            if token.kind == TokenKind::RBrace && braces == 0 || lookahead_ended {
                return Err(self.unclosed_invocation(open, arguments, commas, Some(token)));
            }
            match token.kind {
                TokenKind::LParen => parentheses += 1,
                TokenKind::RParen if parentheses == 0 => {
                    // Each level of nesting keeps its own copy of what it encloses.
                    if self.depth > 1 && !self.charge(4 * taken) {
                        return Err(self.unclosed_invocation(open, arguments, commas, Some(token)));
                    }
                    return Ok((arguments, token.place));
                }
                TokenKind::RParen => parentheses -= 1,
                TokenKind::LBrace => braces += 1,
                TokenKind::RBrace => braces -= 1,
                TokenKind::Comma if parentheses == 0 => {
                    commas.push(token);
                    arguments.push(Vec::new());
                    continue;
                }
                _ => {}
            }
            token.flags &= !(LINE_START | COLUMN_ZERO);
            if let Some(last) = arguments.last_mut() {
                last.push(token);
            }
        }
    }

    /// Returns the tokens of an invocation that does not close, in order, its `(` included.
    pub(super) fn unclosed_invocation(
        &mut self,
        open: PpToken,
        arguments: Vec<Vec<PpToken>>,
        commas: Vec<PpToken>,
        last: Option<PpToken>,
    ) -> Vec<PpToken> {
        self.unclosed += 1;
        let mut read = vec![open];
        let mut commas = commas.into_iter();
        for argument in arguments {
            read.extend(argument);
            read.extend(commas.next());
        }
        read.extend(last);
        self.unclosed_work += read.len();
        read
    }

    pub(super) fn next_from_file(&mut self) -> Option<PpToken> {
        loop {
            let cursor = self.cursors.last_mut()?;
            let lexed = Arc::clone(&cursor.lexed);
            let raw = *lexed.tokens.get(cursor.position)?;
            let instance = cursor.instance;
            if raw.kind == TokenKind::Hash && raw.has(LINE_START) {
                // An include inside an invocation would end it in another file; it is left to be read afterwards.
                let word = lexed
                    .tokens
                    .get(cursor.position + 1)
                    .map(|&next| lexed.text_of(next));
                if matches!(word, Some("include" | "include_next" | "pragma")) {
                    return None;
                }
                cursor.position += 1;
                self.directive(&lexed, raw);
                continue;
            }
            cursor.position += 1;
            return Some(token_of(&lexed, raw, instance));
        }
    }
}
