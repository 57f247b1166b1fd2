//! Text to function: one pass over the tokens with the text's own numbers, then one that renames them.

use super::lex::{Kind, Token, tokens};
use super::names::{self, Named};
use super::{ParseError, own_site, rename};
use crate::builder;
use crate::entity::{Block, Entity, EntityVec, Inst, Site, Value, Variable};
use crate::function::*;
use crate::inst::*;
use crate::types::Type;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use syntax::{ItemKey, Span};

pub(super) type Parsed<T> = Result<T, ParseError>;

pub(super) fn function(text: &str) -> Parsed<Function> {
    let tokens = tokens(text)?;
    let mut parser = Parser::new(&tokens);
    let function = parser.function()?;
    match parser.peek().kind {
        Kind::End => Ok(function),
        _ => parser.fail("the end of the text"),
    }
}

pub(super) fn module(text: &str) -> Parsed<Module> {
    let tokens = tokens(text)?;
    let mut parser = Parser::new(&tokens);
    let mut module = Module::default();
    while parser.peek().kind != Kind::End {
        module.functions.push(parser.function()?);
    }
    Ok(module)
}

pub(super) struct Parser<'s, 't> {
    tokens: &'s [Token<'t>],
    pub(super) at: usize,
    /// The text's numbers of this function's blocks and values.
    blocks: FxHashMap<u32, Block>,
    values: FxHashMap<u32, Value>,
    /// The position at which each number is first used.
    used_blocks: FxHashMap<u32, usize>,
    used_values: FxHashMap<u32, usize>,
}

impl<'s, 't> Parser<'s, 't> {
    fn new(tokens: &'s [Token<'t>]) -> Self {
        Parser {
            tokens,
            at: 0,
            blocks: FxHashMap::default(),
            values: FxHashMap::default(),
            used_blocks: FxHashMap::default(),
            used_values: FxHashMap::default(),
        }
    }

    // ------------------------------------------------------------------------------------------ tokens

    pub(super) fn peek(&self) -> &'s Token<'t> {
        // The last token is `End`, and nothing goes past it.
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }
    pub(super) fn bump(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }
    pub(super) fn fail<T>(&self, wanted: &str) -> Parsed<T> {
        self.fail_at(self.at, format!("expected {wanted}"))
    }
    pub(super) fn fail_at<T>(&self, at: usize, message: String) -> Parsed<T> {
        let token = &self.tokens[at.min(self.tokens.len() - 1)];
        Err(ParseError {
            line: token.line,
            column: token.column,
            message,
        })
    }
    fn mark(&mut self, mark: char) -> bool {
        let found = self.peek().kind == Kind::Mark(mark);
        if found {
            self.bump();
        }
        found
    }
    fn expect(&mut self, mark: char) -> Parsed<()> {
        if self.mark(mark) {
            Ok(())
        } else {
            match mark {
                '.' => self.fail("`..`"),
                other => self.fail(&format!("`{other}`")),
            }
        }
    }
    pub(super) fn word(&mut self) -> Parsed<&'t str> {
        match self.peek().kind {
            Kind::Word(word) => {
                self.bump();
                Ok(word)
            }
            _ => self.fail("a word"),
        }
    }
    /// The word if it stands next on the same line.
    fn keyword(&mut self, word: &str) -> bool {
        let found = !self.peek().first && self.peek().kind == Kind::Word(word);
        if found {
            self.bump();
        }
        found
    }
    pub(super) fn text(&mut self) -> Parsed<String> {
        match &self.peek().kind {
            Kind::Text(text) => {
                self.bump();
                Ok(text.clone())
            }
            _ => self.fail("a quoted text"),
        }
    }
    fn integer(&mut self) -> Parsed<i64> {
        if let Kind::Number(number) = self.peek().kind
            && let Some(value) = read_integer(number)
        {
            self.bump();
            return Ok(value);
        }
        self.fail("an integer")
    }
    pub(super) fn count<T: TryFrom<i64>>(&mut self) -> Parsed<T> {
        let at = self.at;
        let value = self.integer()?;
        match T::try_from(value) {
            Ok(value) => Ok(value),
            Err(_) => self.fail_at(at, format!("{value} is out of range")),
        }
    }
    fn named<T: Named>(&mut self, what: &str) -> Parsed<T> {
        let at = self.at;
        let word = self.word()?;
        match T::from_name(word) {
            Some(value) => Ok(value),
            None => self.fail_at(at, format!("`{word}` is no {what}")),
        }
    }
    fn ty(&mut self) -> Parsed<Type> {
        let at = self.at;
        let word = self.word()?;
        match names::type_of(word) {
            Some(ty) => Ok(ty),
            None => self.fail_at(at, format!("`{word}` is no type")),
        }
    }
    /// The number of an id with this prefix, if one stands next.
    fn id_ahead(&self, prefix: &str) -> Option<u32> {
        match self.peek().kind {
            Kind::Word(word) => {
                let digits = word.strip_prefix(prefix)?;
                let canonical = digits == "0" || !digits.starts_with(['0', '+']);
                digits.parse().ok().filter(|_| canonical)
            }
            _ => None,
        }
    }
    pub(super) fn id(&mut self, prefix: &str) -> Parsed<u32> {
        match self.id_ahead(prefix) {
            Some(number) => {
                self.bump();
                Ok(number)
            }
            None => self.fail(&format!("`{prefix}` and a number")),
        }
    }
    /// An id that must be the next of its kind.
    fn next_id(&mut self, prefix: &str, next: usize) -> Parsed<()> {
        let at = self.at;
        let number = self.id(prefix)?;
        if number as usize == next {
            Ok(())
        } else {
            self.fail_at(at, format!("expected `{prefix}{next}`"))
        }
    }

    // ------------------------------------------------------------------------------------------ values

    fn value(&mut self) -> Parsed<Value> {
        let at = self.at;
        let number = self.id("v")?;
        self.used_values.entry(number).or_insert(at);
        Ok(Value(number))
    }
    fn block_use(&mut self) -> Parsed<Block> {
        let at = self.at;
        let number = self.id("b")?;
        self.used_blocks.entry(number).or_insert(at);
        Ok(Block(number))
    }
    /// `v1, v2` on this line, possibly nothing.
    fn values<A: smallvec::Array<Item = Value>>(&mut self) -> Parsed<SmallVec<A>> {
        let mut values = SmallVec::new();
        if self.peek().first || self.id_ahead("v").is_none() {
            return Ok(values);
        }
        values.push(self.value()?);
        while self.mark(',') {
            values.push(self.value()?);
        }
        Ok(values)
    }
    /// `(v1, v2)`
    fn group<A: smallvec::Array<Item = Value>>(&mut self) -> Parsed<SmallVec<A>> {
        self.expect('(')?;
        let values = self.values()?;
        self.expect(')')?;
        Ok(values)
    }
    /// `v1: i32`, a definition.
    fn definition(&mut self, function: &mut Function, def: ValueDef) -> Parsed<Value> {
        let at = self.at;
        let number = self.id("v")?;
        self.expect(':')?;
        let ty = self.ty()?;
        let value = function.values.push(ValueData { ty, def });
        if self.values.insert(number, value).is_some() {
            return self.fail_at(at, format!("v{number} is defined a second time"));
        }
        Ok(Value(number))
    }
    fn span(&mut self) -> Parsed<Span> {
        let start = self.count()?;
        self.expect('.')?;
        let end = self.count()?;
        Ok(Span::new(start, end))
    }
    fn loc(&mut self) -> Parsed<Loc> {
        if self.peek().first || !self.mark('@') {
            return Ok(Loc::NONE);
        }
        let span = self.span()?;
        let mut site = Site(0);
        if !self.peek().first && self.id_ahead("site").is_some() {
            site = Site(self.id("site")?);
        }
        Ok(Loc { span, site })
    }

    // ------------------------------------------------------------------------------------------ function

    fn function(&mut self) -> Parsed<Function> {
        self.blocks.clear();
        self.values.clear();
        self.used_blocks.clear();
        self.used_values.clear();
        let at = self.at;
        if self.word()? != "function" {
            return self.fail_at(at, "expected `function`".into());
        }
        let name = self.text()?;
        let at = self.at;
        let word = self.word()?;
        let Some(kind) = names::kind_of(word) else {
            return self.fail_at(at, format!("`{word}` is no kind of function"));
        };
        let language = self.named("language")?;
        let mut function = builder::FunctionBuilder::new(name, kind, language).function;
        function.blocks = EntityVec::new();
        function.layout.clear();
        function.internal = self.keyword("internal");
        function.variadic = self.keyword("variadic");
        function.narrow_addresses = self.keyword("narrow");
        function.convention.into = self.keyword("into");
        function.convention.structures = self.keyword("structures");
        while self.keyword("half") {
            let number: u32 = self.count()?;
            let number = u16::try_from(number).unwrap_or(u16::MAX);
            function.convention.halves.push(number);
        }
        if self.mark('>') {
            function.returns.push(self.ty()?);
            while self.mark(',') {
                function.returns.push(self.ty()?);
            }
        }
        self.expect('{')?;
        while !self.mark('}') {
            if !self.peek().first {
                return self.fail("the end of the line");
            }
            if self.id_ahead("b").is_some() {
                self.block(&mut function)?;
            } else {
                self.item(&mut function)?;
            }
        }
        self.resolve(&mut function)?;
        Ok(function)
    }

    fn resolve(&self, function: &mut Function) -> Parsed<()> {
        let undefined = |used: &FxHashMap<u32, usize>, defined: &dyn Fn(&u32) -> bool| {
            used.iter()
                .filter(|(number, _)| !defined(number))
                .map(|(&number, &at)| (at, number))
                .min()
        };
        if let Some((at, number)) = undefined(&self.used_values, &|n| self.values.contains_key(n)) {
            return self.fail_at(at, format!("v{number} is not defined"));
        }
        if let Some((at, number)) = undefined(&self.used_blocks, &|n| self.blocks.contains_key(n)) {
            return self.fail_at(at, format!("b{number} is not defined"));
        }
        rename(
            function,
            |v| self.values.get(&v.0).copied().unwrap_or(v),
            |b| self.blocks.get(&b.0).copied().unwrap_or(b),
        );
        Ok(())
    }

    /// A line before or after the blocks.
    fn item(&mut self, function: &mut Function) -> Parsed<()> {
        if self.id_ahead("site").is_some() {
            return self.site(function);
        }
        let at = self.at;
        match self.word()? {
            "span" => {
                function.span = self.span()?;
                if self.keyword("name") {
                    function.name_span = self.span()?;
                }
            }
            "launch" => self.launch(&mut function.launch)?,
            "parameter" => {
                let (name, type_text) = (self.text()?.into(), self.text()?.into());
                let parameter = ParameterInfo {
                    name,
                    type_text,
                    values: self.group()?,
                    read_only: self.keyword("read_only"),
                    no_alias: self.keyword("no_alias"),
                    loc: self.loc()?,
                };
                function.parameters.push(parameter);
            }
            "symbol" => self.symbol(function)?,
            "input" => {
                let input = StageInput {
                    name: self.text()?.into(),
                    semantic: self.text()?.into(),
                    component: self.count()?,
                    interpolation: self.named("interpolation")?,
                    ty: self.ty()?,
                };
                function.inputs.push(input);
            }
            "variable" => {
                self.next_id("x", function.variables.len())?;
                let (name, type_text) = (self.text()?.into(), self.text()?.into());
                let kind = self.named("kind of variable")?;
                function.variables.push(VariableData {
                    name,
                    type_text,
                    declared: self.loc()?,
                    kind,
                });
            }
            "unknown" => {
                self.next_id("u", function.unknowns.len())?;
                let reason = self.text()?;
                function.unknowns.push(Unknown {
                    reason,
                    assigns: self.keyword("assigns"),
                    loc: self.loc()?,
                });
            }
            "loop" => {
                let header = self.block_use()?;
                let unroll = match self.keyword("unroll") {
                    true => Some(self.count()?),
                    false => None,
                };
                let pipeline = match self.keyword("pipeline") {
                    true => Some(self.text()?.into()),
                    false => None,
                };
                let independent = self.keyword("independent");
                function.loops.push(SourceLoop {
                    header,
                    loc: self.loc()?,
                    unroll,
                    pipeline,
                    independent,
                });
            }
            "promise" => {
                let kind = if self.keyword("rounds") {
                    PromiseKind::Rounds {
                        header: self.block_use()?,
                        least: self.count()?,
                        most: self.count()?,
                        multiple: self.count()?,
                    }
                } else {
                    let aligned = self.keyword("aligned");
                    if !aligned && !self.keyword("readable") {
                        return self.fail("`aligned`, `readable` or `rounds`");
                    }
                    let pointer = self.id("v").map(Value)?;
                    let bytes = self.count()?;
                    let block = self.block_use()?;
                    match aligned {
                        true => PromiseKind::Aligned {
                            pointer,
                            bytes,
                            block,
                        },
                        false => PromiseKind::Readable {
                            pointer,
                            bytes,
                            block,
                        },
                    }
                };
                let loc = self.loc()?;
                function.promises.push(Promise { kind, loc });
            }
            "vector" => function.vectors.push(self.values()?),
            "bind" => {
                let variable = Variable(self.id("x")?);
                let kind = self.named("kind of binding")?;
                let block = self.block_use()?;
                let values = self.group()?;
                let has_part = !self.peek().first && matches!(self.peek().kind, Kind::Text(_));
                let part = if has_part {
                    self.text()?
                } else {
                    String::new()
                };
                function.bindings.push(Binding {
                    variable,
                    kind,
                    values,
                    part: part.into(),
                    loc: self.loc()?,
                    block,
                });
            }
            other => return self.fail_at(at, format!("`{other}` starts no line of a function")),
        }
        Ok(())
    }

    fn launch(&mut self, launch: &mut LaunchShape) -> Parsed<()> {
        while !self.peek().first {
            let at = self.at;
            match self.word()? {
                "block" => launch.block = self.axes()?,
                "grid" => launch.grid = self.axes()?,
                "max_threads" => launch.max_threads = Some(self.count()?),
                "min_blocks" => launch.min_blocks = Some(self.count()?),
                "max_registers" => launch.max_registers = Some(self.count()?),
                "warp_size" => launch.warp_size = Some(self.count()?),
                "with_helpers" => launch.with_helpers = true,
                other => return self.fail_at(at, format!("`{other}` is no part of a launch")),
            }
        }
        Ok(())
    }
    fn axes(&mut self) -> Parsed<[Option<u32>; 3]> {
        let mut axes = [None; 3];
        for axis in &mut axes {
            if !self.mark('?') {
                *axis = Some(self.count()?);
            }
        }
        Ok(axes)
    }

    fn symbol(&mut self, function: &mut Function) -> Parsed<()> {
        self.next_id("s", function.symbols.len())?;
        let mut symbol = SymbolData {
            name: self.text()?.into(),
            kind: self.named("kind of symbol")?,
            space: self.named("space")?,
            size: None,
            align: 1,
            read_only: false,
            initial: None,
            resource_array: None,
            definition: Default::default(),
        };
        if self.keyword("size") {
            symbol.size = Some(self.count()?);
        }
        if self.keyword("align") {
            symbol.align = self.count()?;
        }
        symbol.read_only = self.keyword("read_only");
        if self.keyword("initial") {
            let at = self.at;
            match read_hex(&self.text()?) {
                Some(bytes) => symbol.initial = Some(bytes),
                None => return self.fail_at(at, "expected pairs of hexadecimal digits".into()),
            }
        }
        if self.keyword("internal") {
            symbol.definition.linkage = Linkage::Local;
        } else if self.keyword("elsewhere") {
            symbol.definition.linkage = Linkage::Elsewhere;
        }
        if self.keyword("width") {
            symbol.definition.width = Some(self.count()?);
        }
        while self.keyword("numbers") {
            symbol.definition.numbers.push(NumberRun {
                offset: self.count()?,
                bytes: self.count()?,
                count: self.count()?,
            });
        }
        symbol.definition.opaque = self.keyword("opaque");
        while self.keyword("at") {
            symbol.definition.addresses.push(Address {
                offset: self.count()?,
                symbol: self.text()?.into(),
                addend: self.integer()?,
            });
        }
        if self.keyword("array") {
            let unbounded = self.keyword("unbounded");
            symbol.resource_array = Some(if unbounded { None } else { Some(self.count()?) });
        }
        function.symbols.push(symbol);
        Ok(())
    }

    fn site(&mut self, function: &mut Function) -> Parsed<()> {
        let own = Site(0);
        let replaces = self.id_ahead("site") == Some(0)
            && function.sites.len() == 1
            && function.sites[own] == own_site(&function.name);
        if replaces {
            self.bump();
        } else {
            self.next_id("site", function.sites.len())?;
        }
        let callee = self.text()?.into();
        let item = match self.keyword("item") {
            true => Some(ItemKey {
                name: self.text()?.into(),
                ordinal: self.count()?,
            }),
            false => None,
        };
        let parent = match self.keyword("in") {
            true => Some(Site(self.id("site")?)),
            false => None,
        };
        let mut arguments = Vec::new();
        while !self.peek().first && matches!(self.peek().kind, Kind::Text(_)) {
            arguments.push((self.text()?.into(), self.group()?));
        }
        let data = SiteData {
            item,
            callee,
            call: self.loc()?,
            parent,
            arguments,
        };
        if replaces {
            function.sites[own] = data;
        } else {
            function.sites.push(data);
        }
        Ok(())
    }

    // ------------------------------------------------------------------------------------------ blocks

    fn block(&mut self, function: &mut Function) -> Parsed<()> {
        let at = self.at;
        let number = self.id("b")?;
        let block = function.blocks.push(BlockData {
            params: Vec::new(),
            insts: Vec::new(),
            terminator: Terminator::None,
            loc: Loc::NONE,
            branch: BranchKind::Implied,
        });
        function.layout.push(block);
        if self.blocks.insert(number, block).is_some() {
            return self.fail_at(at, format!("b{number} is defined a second time"));
        }
        if self.mark('(') {
            let mut params = Vec::new();
            while !self.mark(')') {
                if !params.is_empty() {
                    self.expect(',')?;
                }
                let def = ValueDef::Param(block, params.len() as u32);
                params.push(self.definition(function, def)?);
            }
            function.blocks[block].params = params;
        }
        self.expect(':')?;
        loop {
            if !self.peek().first {
                return self.fail("the end of the line");
            }
            if let Some(terminator) = self.terminator()? {
                let branch = match self.keyword("as") {
                    true => self.named("kind of branch")?,
                    false => BranchKind::Implied,
                };
                let loc = self.loc()?;
                let data = &mut function.blocks[block];
                data.terminator = terminator;
                data.branch = branch;
                data.loc = loc;
                return Ok(());
            }
            let inst = self.instruction(function)?;
            function.blocks[block].insts.push(inst);
        }
    }

    fn edge(&mut self) -> Parsed<Edge> {
        let block = self.block_use()?;
        let grouped = !self.peek().first && self.peek().kind == Kind::Mark('(');
        let args = if grouped {
            self.group()?
        } else {
            SmallVec::new()
        };
        Ok(Edge { block, args })
    }

    fn terminator(&mut self) -> Parsed<Option<Terminator>> {
        let Kind::Word(word) = self.peek().kind else {
            return Ok(None);
        };
        let terminator = match word {
            "open" => {
                self.bump();
                Terminator::None
            }
            "kill" => {
                self.bump();
                Terminator::Kill
            }
            "trap" => {
                self.bump();
                Terminator::Trap
            }
            "unreachable" => {
                self.bump();
                Terminator::Unreachable
            }
            "return" => {
                self.bump();
                Terminator::Return(self.values()?)
            }
            "jump" => {
                self.bump();
                Terminator::Jump(self.edge()?)
            }
            "branch" | "branch.uniform" => {
                self.bump();
                let condition = self.value()?;
                self.expect(',')?;
                let then = self.edge()?;
                self.expect(',')?;
                Terminator::Branch {
                    condition,
                    then,
                    otherwise: self.edge()?,
                    uniform: word == "branch.uniform",
                }
            }
            "switch" => {
                self.bump();
                let value = self.value()?;
                self.expect('[')?;
                let mut cases = Vec::new();
                while self.peek().kind != Kind::Word("default") {
                    let case = self.integer()?;
                    self.expect(':')?;
                    cases.push((case, self.edge()?));
                    self.expect(',')?;
                }
                self.bump();
                self.expect(':')?;
                let default = self.edge()?;
                self.expect(']')?;
                Terminator::Switch {
                    value,
                    cases,
                    default,
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(terminator))
    }

    fn instruction(&mut self, function: &mut Function) -> Parsed<Inst> {
        let inst = Inst::new(function.insts.len());
        let mut results = SmallVec::new();
        let mut ty = None;
        if self.id_ahead("v").is_some() {
            loop {
                let def = ValueDef::Result(inst, results.len() as u16);
                results.push(self.definition(function, def)?);
                if !self.mark(',') {
                    break;
                }
            }
            ty = function
                .values
                .values()
                .rev()
                .nth(results.len() - 1)
                .map(|d| d.ty);
            self.expect('=')?;
        }
        let at = self.at;
        let word = self.word()?;
        let words: Vec<&str> = word.split('.').collect();
        let op = match self.operation(&words, ty)? {
            Some(op) => op,
            None => return self.fail_at(at, format!("`{word}` is no operation")),
        };
        let args = self.values()?;
        let guard = match self.keyword("if") {
            true => {
                let negated = self.mark('!');
                Some(Guard {
                    value: self.value()?,
                    negated,
                })
            }
            false => None,
        };
        let loc = self.loc()?;
        Ok(function.insts.push(InstData {
            op,
            args,
            results,
            guard,
            loc,
        }))
    }
}

pub(super) fn read_integer(number: &str) -> Option<i64> {
    match number.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|bits| bits as i64),
        None => number.parse().ok(),
    }
}

fn read_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    digits
        .chunks(2)
        .map(|pair| {
            let (high, low) = (char::from(pair[0]), char::from(pair[1]));
            Some((high.to_digit(16)? * 16 + low.to_digit(16)?) as u8)
        })
        .collect()
}
