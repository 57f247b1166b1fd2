//! The assumptions that a kernel's facts rest on beyond its own text: properties on which all visible
//! launches of it agree (the shape of the block, template arguments), and a default where nothing is said. An
//! assumption is no fact, for the kernel may be launched from elsewhere; it is noted, so that it can be named
//! with the facts.
//!
//! An option (`-D N=8`) is the user's word and no assumption. Where launches disagree a number stays a uniform symbol,
//! and of the types the first is taken.

use super::context::{Const, Context, Frame, Local, Number};
use super::launches::{BlockText, Instantiation};
use super::resolve::word_type;
use super::templates::{argument_expr, same_local};
use super::types::CType;
use smol_str::{SmolStr, format_smolstr};
use syntax::Span;
use syntax::c_family::ast::{
    self, DeclaratorName, Expr, ExprKind, Initializer, ItemKind, SpecifierSet, TemplateArgument,
    TemplateParameterKind, TypeKind,
};

/// The assumptions made about a function.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Assumed {
    /// The size of a workgroup along the axes on which all visible launches agree.
    pub block: [Option<u32>; 3],
    /// Numbers that all visible launches pass, by the parameter's number.
    pub passed: Vec<(u32, i64)>,
    /// The parameters to which all visible launches pass a multiple of the block's width.
    pub whole: Vec<u32>,
    /// Template parameters and the arguments that all visible launches give to them.
    pub arguments: Vec<(SmolStr, SmolStr)>,
    /// Template parameters and their defaults, where there is no launch in sight.
    pub defaults: Vec<(SmolStr, SmolStr)>,
    /// Some of the arguments are numbers, on which control flow may depend.
    pub numbers: bool,
    /// Template parameters of which instantiations in sight disagree, and the first that one of them gives.
    pub first_of: Vec<(SmolStr, SmolStr)>,
    /// Template parameters that nothing determines, and the arguments assumed for them.
    pub guesses: Vec<(SmolStr, SmolStr)>,
}

impl Assumed {
    pub fn is_empty(&self) -> bool {
        *self == Assumed::default()
    }
    /// The facts rest on template arguments.
    pub fn has_arguments(&self) -> bool {
        self.numbers
            || !self.arguments.is_empty()
            || !self.defaults.is_empty()
            || !self.first_of.is_empty()
            || !self.guesses.is_empty()
    }
    /// Returns the text without the assumptions that have remarks of their own.
    pub(super) fn text_of_launches(&self, known: [Option<u32>; 3]) -> String {
        let told = Assumed {
            first_of: Vec::new(),
            guesses: Vec::new(),
            ..self.clone()
        };
        told.text(known)
    }
    /// `blocks of 256 × 1 × 1 threads, as in all launches in sight`, without the axes that are known anyway.
    pub fn text(&self, known: [Option<u32>; 3]) -> String {
        let mut launched = Vec::new();
        let news = |axis: usize| self.block[axis].is_some() && known[axis].is_none();
        if (0..3).any(news) {
            let size = |axis: usize| match known[axis].or(self.block[axis]) {
                Some(size) => size.to_string(),
                None => "?".to_owned(),
            };
            launched.push(format!(
                "blocks of {} × {} × {} threads",
                size(0),
                size(1),
                size(2)
            ));
        }
        let equals = |(name, value): &(SmolStr, SmolStr)| format!("`{name}` = `{value}`");
        launched.extend(self.arguments.iter().map(equals));
        let mut parts = Vec::new();
        if !launched.is_empty() {
            parts.push(format!(
                "{}, as in all launches in sight",
                launched.join(" and ")
            ));
        }
        if !self.defaults.is_empty() {
            let defaults: Vec<String> = self.defaults.iter().map(equals).collect();
            parts.push(format!("{} by default", defaults.join(" and ")));
        }
        if !self.first_of.is_empty() {
            let first: Vec<String> = self.first_of.iter().map(equals).collect();
            parts.push(format!("{}, one of those in sight", first.join(" and ")));
        }
        if !self.guesses.is_empty() {
            let guesses: Vec<String> = self.guesses.iter().map(equals).collect();
            parts.push(format!(
                "{}, which nothing in sight tells",
                guesses.join(" and ")
            ));
        }
        parts.join("; ")
    }
}

/// Returns true if the name of a type says that it is an integer: `IdxT`, `IndexType`, `i_t` and their like.
pub(super) fn names_whole(name: &str) -> bool {
    const WHOLE: [&str; 18] = [
        "idx", "index", "indices", "nnz", "vertex", "int", "integer", "size", "offset", "ordinal",
        "count", "counter", "length", "id", "off", "len", "pos", "position",
    ];
    let mut words: Vec<String> = vec![String::new()];
    let mut lower = false;
    let mut letters = name.chars().peekable();
    while let Some(c) = letters.next() {
        // `IndexType`, and `IDXType`, where the last capital begins the next word.
        let next = letters.peek().is_some_and(char::is_ascii_lowercase);
        let two = words.last().is_some_and(|word| word.len() > 1);
        if c == '_' || c.is_ascii_uppercase() && (lower || next && two) {
            words.push(String::new());
        }
        lower = c.is_ascii_lowercase();
        if let (Some(word), true) = (words.last_mut(), c != '_') {
            word.push(c.to_ascii_lowercase());
        }
    }
    let whole = |word: &String| {
        let found = word.strip_suffix('s').unwrap_or(word);
        WHOLE.contains(&word.as_str()) || WHOLE.contains(&found)
    };
    words.iter().any(whole) || matches!(words.as_slice(), [i, t] if i == "i" && t == "t")
}

/// Functions that hand a template argument on to each other.
const MOST_HANDED_ON: u32 = 4;

/// One launch's word on a template parameter.
enum Word {
    Says(Local),
    Unclear,
}

impl Context<'_> {
    /// Declares the template parameters of the function that is lowered: options first, then the launches in sight, then
    /// defaults.
    pub(super) fn bind_root_template(&mut self, template: &ast::TemplateParameters, name: &str) {
        let env = self.env;
        let evidence: Vec<&Instantiation> = env
            .instantiations
            .iter()
            .filter(|instantiation| instantiation.name == name)
            .collect();
        for (number, parameter) in template.parameters.iter().enumerate() {
            let name = parameter
                .name
                .as_ref()
                .map_or_else(SmolStr::default, |n| n.name.clone());
            if parameter.pack {
                let packs: Vec<Option<Vec<Local>>> = evidence
                    .iter()
                    .map(|it| {
                        let rest = it.arguments.get(number..)?.iter();
                        rest.map(|a| self.argument_in(it, a.as_ref()?, &parameter.kind))
                            .collect()
                    })
                    .collect();
                let agreed = match packs.split_first() {
                    Some((Some(first), rest)) => rest.iter().all(|other| {
                        other.as_ref().is_some_and(|other| {
                            other.len() == first.len()
                                && other.iter().zip(first).all(|(a, b)| same_local(a, b))
                        })
                    }),
                    _ => false,
                };
                let elements = packs.into_iter().next().flatten().filter(|_| agreed);
                self.declare(name, Local::Pack(elements.unwrap_or_default()));
                break;
            }
            let bound = match self.given_argument(&name, &parameter.kind) {
                Some(given) => self.fit_argument(&parameter.kind, given),
                None => self.launched_argument(&evidence, number, &name, &parameter.kind),
            };
            self.declare(name, bound);
        }
    }

    /// Returns the value that an option gives to a template parameter.
    pub(super) fn given_argument(
        &mut self,
        name: &str,
        kind: &TemplateParameterKind,
    ) -> Option<Local> {
        let options = self.options;
        let (_, text) = options
            .template_arguments
            .iter()
            .rev()
            .find(|(n, _)| n == name)?;
        match kind {
            TemplateParameterKind::Value { .. } => match text.as_str() {
                "true" | "false" => Some(Local::Constant(Const::bool(text == "true"))),
                digits => integer(digits).map(|n| Local::Constant(Const::int(n, CType::INT))),
            },
            TemplateParameterKind::Type { .. } => {
                let found = word_type(text).or_else(|| {
                    let ident = ast::Ident {
                        name: text.clone(),
                        span: Span::default(),
                    };
                    self.named_type(&ast::Name {
                        global: false,
                        segments: vec![ast::NameSegment {
                            ident,
                            template_arguments: None,
                        }],
                        span: Span::default(),
                    })
                });
                match found {
                    Some(ty) if !matches!(ty, CType::Unknown | CType::Opaque(_)) => {
                        Some(Local::Type(ty))
                    }
                    _ => {
                        let span = self.builder.function.name_span;
                        self.remark(span, format!("`{text}`, which is given for the template parameter `{name}`, is not a type that is known here"));
                        None
                    }
                }
            }
            TemplateParameterKind::Template { .. } => None,
        }
    }

    fn launched_argument(
        &mut self,
        evidence: &[&Instantiation],
        number: usize,
        name: &SmolStr,
        kind: &TemplateParameterKind,
    ) -> Local {
        let wants_type = matches!(kind, TemplateParameterKind::Type { .. });
        let mut words = Vec::new();
        for each in evidence {
            let word = match each.arguments.get(number) {
                Some(Some(argument)) => self.argument_in(each, argument, kind),
                Some(None) => {
                    let told = self.handed_on(each, number, kind, 0);
                    match told.is_empty() {
                        true => words.push(Word::Unclear),
                        false => words.extend(told),
                    }
                    continue;
                }
                None => self.default_of(kind),
            };
            words.push(word.map_or(Word::Unclear, Word::Says));
        }
        let first = words.iter().find_map(|word| match word {
            Word::Says(local) => Some(local.clone()),
            Word::Unclear => None,
        });
        let Some(first) = first else {
            let bound = match kind {
                // Launches that say something unclear leave the number open; none at all leave the default.
                TemplateParameterKind::Value { ty, .. } if !evidence.is_empty() => {
                    let kind = TemplateParameterKind::Value {
                        ty: ty.clone(),
                        default: None,
                    };
                    return self.default_argument(name, &kind);
                }
                kind => self.default_argument(name, kind),
            };
            if let Some(text) = self.spelled(&bound)
                && matches!(
                    kind,
                    TemplateParameterKind::Value {
                        default: Some(_),
                        ..
                    } | TemplateParameterKind::Type { default: Some(_) }
                )
            {
                self.assumed.defaults.push((name.clone(), text));
                self.assumed.numbers |= !wants_type;
            }
            return bound;
        };
        let agree = words
            .iter()
            .all(|word| matches!(word, Word::Says(local) if same_local(local, &first)));
        if agree {
            let bound = self.fit_argument(kind, first);
            if let Some(text) = self.spelled(&bound) {
                self.assumed.arguments.push((name.clone(), text));
                self.assumed.numbers |= !wants_type;
            }
            return bound;
        }
        match kind {
            TemplateParameterKind::Value { ty, .. } => {
                let kind = TemplateParameterKind::Value {
                    ty: ty.clone(),
                    default: None,
                };
                match first {
                    // A function or the like has no symbol; it is only a guess among those in sight.
                    Local::Constant(Const {
                        ty: CType::Function(..),
                        ..
                    }) => first,
                    _ => self.default_argument(name, &kind),
                }
            }
            _ => {
                if let Some(text) = self.spelled(&first) {
                    self.assumed.first_of.push((name.clone(), text.clone()));
                    let span = self.builder.function.name_span;
                    self.remark(span, format!("launches in sight disagree on the template parameter `{name}`, which is taken to be `{text}`"));
                }
                first
            }
        }
    }

    /// Returns the value that instantiations of the function around a launch give to an argument that is one
    /// of its template parameters.
    fn handed_on(
        &mut self,
        launch: &Instantiation,
        argument: usize,
        kind: &TemplateParameterKind,
        depth: u32,
    ) -> Vec<Word> {
        let mut on = launch.handed_on.iter();
        let Some(on) = on.find(|on| on.argument as usize == argument) else {
            return Vec::new();
        };
        let parameter = on.parameter as usize;
        let env = self.env;
        let mut words = Vec::new();
        for instantiation in env.instantiations.iter() {
            if instantiation.name != on.owner || depth >= MOST_HANDED_ON {
                continue;
            }
            match instantiation.arguments.get(parameter) {
                Some(Some(written)) => {
                    let word = self.argument_in(instantiation, written, kind);
                    words.push(word.map_or(Word::Unclear, Word::Says));
                }
                Some(None) => {
                    words.extend(self.handed_on(instantiation, parameter, kind, depth + 1))
                }
                None => {}
            }
        }
        words
    }

    fn default_of(&mut self, kind: &TemplateParameterKind) -> Option<Local> {
        match kind {
            TemplateParameterKind::Value {
                ty,
                default: Some(e),
            } => {
                let number = self.constant(e)?;
                let kind = TemplateParameterKind::Value {
                    ty: ty.clone(),
                    default: None,
                };
                Some(self.fit_argument(&kind, Local::Constant(number)))
            }
            TemplateParameterKind::Type { default: Some(ty) } => {
                let ty = self.resolve_type(ty);
                Some(Local::Type(ty))
            }
            _ => None,
        }
    }

    fn spelled(&self, local: &Local) -> Option<SmolStr> {
        match local {
            Local::Constant(Const {
                value: Number::Int(n),
                ty,
            }) => match ty {
                CType::Function(..) => None,
                CType::Bool => Some(SmolStr::new_static(if *n == 0 { "false" } else { "true" })),
                _ => Some(format_smolstr!("{n}")),
            },
            Local::Type(ty) => Some(self.structs.display(ty)),
            _ => None,
        }
    }

    /// An argument that means something where it was written, outside of functions.
    fn argument_in(
        &mut self,
        instantiation: &Instantiation,
        argument: &TemplateArgument,
        kind: &TemplateParameterKind,
    ) -> Option<Local> {
        self.outside(instantiation, |cx| {
            let wants_type = matches!(kind, TemplateParameterKind::Type { .. });
            let found = match argument {
                TemplateArgument::Type(ty) | TemplateArgument::Ambiguous(ty, _) if wants_type => {
                    let found = match &ty.kind {
                        TypeKind::Named(name) => cx.named_type(name)?,
                        _ => cx.resolve_type(ty),
                    };
                    if matches!(found, CType::Unknown | CType::Opaque(_)) {
                        return None;
                    }
                    Local::Type(found)
                }
                other if !wants_type => {
                    let e = argument_expr(other)?;
                    Local::Constant(match cx.constant(e) {
                        Some(number) => number,
                        None => cx.constant_function(e)?,
                    })
                }
                _ => return None,
            };
            Some(found)
        })
        .map(|local| self.fit_argument(kind, local))
    }

    /// Runs `f` in the namespace of a launch.
    fn outside<T>(&mut self, instantiation: &Instantiation, f: impl FnOnce(&mut Self) -> T) -> T {
        let mut frame = Frame::outside(self.frame().item.clone());
        frame.namespace.clone_from(&instantiation.scope);
        frame.site = self.site();
        self.frames.push(frame);
        let result = f(self);
        self.frames.pop();
        result
    }

    /// Takes over the shape of the blocks in which the kernel is launched, and the numbers that it is given.
    pub(super) fn assume_launches(&mut self, name: &str) {
        let env = self.env;
        let mut agreed: Option<[Option<u32>; 3]> = None;
        let mut passed: Option<Vec<Option<i64>>> = None;
        let mut whole: Option<Vec<u32>> = None;
        for instantiation in env
            .instantiations
            .iter()
            .filter(|instantiation| instantiation.name == name)
        {
            let Some(block) = &instantiation.block else {
                continue;
            };
            let (sizes, numbers) = self.outside(instantiation, |cx| {
                let numbers = instantiation
                    .passes
                    .iter()
                    .map(|e| cx.number_passed(e.as_ref()?));
                let numbers: Vec<Option<i64>> = numbers.collect();
                (cx.block_sizes(block), numbers)
            });
            whole = Some(match whole {
                None => instantiation.whole.clone(),
                Some(before) => before
                    .into_iter()
                    .filter(|own| instantiation.whole.contains(own))
                    .collect(),
            });
            agreed = Some(match agreed {
                None => sizes,
                Some(before) => {
                    [0, 1, 2].map(|axis| before[axis].filter(|_| before[axis] == sizes[axis]))
                }
            });
            passed = Some(match passed {
                None => numbers,
                Some(before) => {
                    let both = before.into_iter().zip(numbers);
                    both.map(|(left, right)| left.filter(|_| left == right))
                        .collect()
                }
            });
        }
        self.assumed.block = agreed.unwrap_or_default();
        self.assumed.whole = whole.unwrap_or_default();
        let passed = (0..).zip(passed.unwrap_or_default());
        let known = passed.filter_map(|(parameter, number)| Some((parameter, number?)));
        self.assumed.passed = known.collect();
    }

    fn number_passed(&mut self, e: &Expr) -> Option<i64> {
        match self.constant(e)?.value {
            Number::Int(number) => Some(number),
            _ => None,
        }
    }

    fn block_sizes(&mut self, block: &BlockText) -> [Option<u32>; 3] {
        match block {
            BlockText::Sizes(sizes) => [0, 1, 2].map(|axis| {
                let e = sizes[axis].as_ref()?;
                self.block_size(e, axis)
            }),
            BlockText::Named(name) => {
                let e = Expr {
                    kind: ExprKind::Name(name.clone()),
                    span: Span::default(),
                };
                if self.constant(&e).is_some() {
                    return [self.block_size(&e, 0), Some(1), Some(1)];
                }
                self.named_block(name).unwrap_or_default()
            }
        }
    }

    fn block_size(&mut self, e: &Expr, axis: usize) -> Option<u32> {
        let limit = if axis == 2 { 64 } else { 1024 };
        match self.constant(e)? {
            Const {
                value: Number::Int(n),
                ..
            } if (1..=limit).contains(&n) => u32::try_from(n).ok(),
            _ => None,
        }
    }

    /// A `const dim3 block(16, 16)` of the unit, or a variable that is an integer.
    fn named_block(&mut self, name: &ast::Name) -> Option<[Option<u32>; 3]> {
        let path: Vec<SmolStr> = name.segments.iter().map(|s| s.ident.name.clone()).collect();
        let namespace = self.frame().namespace.clone();
        let env = self.env;
        let entry = *env.lookup(&namespace, &path).first()?;
        let ItemKind::Variables(declared) = &env.item(entry).kind else {
            return None;
        };
        let declarator = declared.declarators.iter().find(
            |d| matches!(&d.name, DeclaratorName::Plain(ident) if Some(&ident.name) == path.last()),
        )?;
        let ty = self.resolve_type(&declarator.ty);
        if ty.is_integer() {
            return Some([None, Some(1), Some(1)]);
        }
        let words = declared.specifiers.words;
        let constant = words.has(SpecifierSet::CONST)
            || words.has(SpecifierSet::CONSTEXPR)
            || declarator.ty.is_const;
        let is_dim3 = matches!(&declarator.ty.kind, TypeKind::Named(name)
            if name.segments.last().is_some_and(|s| s.ident.name == "dim3"));
        if !constant || !is_dim3 {
            return None;
        }
        let list: &[Expr] = match &declarator.initializer {
            Initializer::Paren(list) | Initializer::Brace(list) => list,
            Initializer::Copy(e) => match &e.kind {
                ExprKind::Construct { arguments, .. } | ExprKind::Call { arguments, .. } => {
                    arguments
                }
                _ => return None,
            },
            Initializer::None => return None,
        };
        if list.is_empty() || list.len() > 3 {
            return None;
        }
        Some([0, 1, 2].map(|axis| match list.get(axis) {
            Some(e) => self.block_size(e, axis),
            None => Some(1),
        }))
    }
}

/// `128`, `0x80`, `128u`.
fn integer(text: &str) -> Option<i64> {
    let text = text.trim().trim_end_matches(['u', 'U', 'l', 'L']);
    let (text, negative) = match text.strip_prefix('-') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let value = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => i64::from_str_radix(digits, 16).ok()?,
        None => text.parse().ok()?,
    };
    Some(if negative { -value } else { value })
}
