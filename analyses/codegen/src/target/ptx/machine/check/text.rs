//! A body as the checker reads it: lines with the registers that they name, the rest of them as text, and the flow.
//!
//! ```text
//! @%p1 ld.global.v2.f32 {%f1, %f2}, [%rd3+8];     shape "@ ld.global.v2.f32 {?,?},[?+8]", registers p1 f1 f2 rd3
//! ```
//!
//! Two lines of one shape differ in their registers alone. One pass over the statements.

use isa::ptx::{Class, Opcode, Results};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::fmt::Write;
use syntax::ptx::{
    Instruction, Operand, PtxFunction, Statement, StatementKind, StorageSpace, VariableDeclaration,
};

/// A register of a body, by its first appearance.
pub(super) type Register = u32;

/// The use that a line makes of a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Read,
    Write,
    /// A part of it is written; the rest stays.
    Change,
}

/// The lines that may follow a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Following {
    Next,
    /// Labels by name; all labels where `None`. The next line, too, where `falls`.
    Jump {
        labels: Option<Vec<SmolStr>>,
        falls: bool,
    },
    End,
}

/// A statement that executes, that is jumped to, or that declares memory.
#[derive(Clone, Debug)]
pub(super) struct Line<'t> {
    pub(super) statement: u32,
    pub(super) shape: String,
    pub(super) label: Option<SmolStr>,
    pub(super) memory: Option<&'t VariableDeclaration>,
    pub(super) instruction: Option<&'t Instruction>,
    pub(super) opcode: Option<Opcode>,
    /// Executes where the predicate has this value.
    pub(super) guard: Option<(Register, bool)>,
    pub(super) places: Vec<(Register, Role)>,
    /// The places of operands that are just a register, by operand.
    pub(super) plain: Vec<Option<usize>>,
    pub(super) following: Following,
}

/// A body.
#[derive(Clone, Debug, Default)]
pub(super) struct Text<'t> {
    pub(super) lines: Vec<Line<'t>>,
    pub(super) names: Vec<SmolStr>,
    pub(super) classes: Vec<Option<Class>>,
    /// Registers that are parameters, and those that results are returned in.
    pub(super) parameters: Vec<Register>,
    pub(super) returns: Vec<Register>,
    /// The lines that may follow each line.
    pub(super) successors: Vec<Vec<u32>>,
    /// The number of variables in memory that the body declares, by name.
    pub(super) variables: FxHashMap<SmolStr, u32>,
}

/// A name, the numbers behind it that are declared, and the class of them.
type DeclaredNames = (SmolStr, Option<u32>, Option<Class>);

#[derive(Default)]
struct Names {
    scopes: Vec<Vec<DeclaredNames>>,
    known: Vec<FxHashMap<SmolStr, Register>>,
    names: Vec<SmolStr>,
    classes: Vec<Option<Class>>,
}

impl Names {
    fn open(&mut self) {
        self.scopes.push(Vec::new());
        self.known.push(FxHashMap::default());
    }
    fn close(&mut self) {
        if self.scopes.len() > 1 {
            self.scopes.pop();
            self.known.pop();
        }
    }
    fn declare(&mut self, declaration: &VariableDeclaration) {
        let class = match declaration.vector {
            1 => Class::of(&declaration.type_name),
            _ => None,
        };
        let Some(scope) = self.scopes.last_mut() else {
            return;
        };
        for declarator in &declaration.declarators {
            scope.push((declarator.name.text.clone(), declarator.range, class));
        }
    }
    fn find(&mut self, name: &SmolStr) -> Option<Register> {
        for depth in (0..self.scopes.len()).rev() {
            if let Some(&known) = self.known[depth].get(name) {
                return Some(known);
            }
            let declared = self.scopes[depth].iter().find(|(text, range, _)| {
                range.map_or(text == name, |count| {
                    let number = name.strip_prefix(text.as_str()).unwrap_or("");
                    let value = number.parse::<u32>().ok().filter(|value| *value < count);
                    value.is_some_and(|value| value.to_string() == number)
                })
            });
            if let Some(&(.., class)) = declared {
                let register = self.names.len() as Register;
                self.names.push(name.clone());
                self.classes.push(class);
                self.known[depth].insert(name.clone(), register);
                return Some(register);
            }
        }
        None
    }
}

impl<'t> Text<'t> {
    /// Reads a body; statements that are not understood are lines of an own shape without registers.
    pub(super) fn new(function: &'t PtxFunction) -> Text<'t> {
        let mut names = Names::default();
        names.open();
        let is_register =
            |declaration: &&VariableDeclaration| declaration.space == StorageSpace::Register;
        let mut text = Text::default();
        let outer = [&function.parameters, &function.returns];
        for (declarations, returned) in outer.into_iter().zip([false, true]) {
            for declaration in declarations.iter().filter(is_register) {
                names.declare(declaration);
                for declarator in &declaration.declarators {
                    let found = names.find(&declarator.name.text);
                    let list = if returned {
                        &mut text.returns
                    } else {
                        &mut text.parameters
                    };
                    list.extend(found);
                }
            }
        }
        let statements = function.statements();
        for (at, statement) in statements.iter().enumerate() {
            text.statement(at as u32, statement, statements, &mut names);
        }
        text.names = names.names;
        text.classes = names.classes;
        let memory = text.lines.iter().filter_map(|line| line.memory);
        for declared in memory.flat_map(|memory| &memory.declarators) {
            *text
                .variables
                .entry(declared.name.text.clone())
                .or_default() += 1;
        }
        text.link();
        text
    }

    fn statement(
        &mut self,
        at: u32,
        statement: &'t Statement,
        all: &'t [Statement],
        names: &mut Names,
    ) {
        let mut line = Line {
            statement: at,
            shape: String::new(),
            label: None,
            memory: None,
            instruction: None,
            opcode: None,
            guard: None,
            places: Vec::new(),
            plain: Vec::new(),
            following: Following::Next,
        };
        match &statement.kind {
            StatementKind::Open => return names.open(),
            StatementKind::Close => return names.close(),
            StatementKind::Location(_) => return,
            StatementKind::Declaration(declaration) => {
                if declaration.space == StorageSpace::Register {
                    return names.declare(declaration);
                }
                line.shape = declared(declaration);
                line.memory = Some(declaration);
            }
            StatementKind::Label(name) => {
                line.shape = format!("{}:", name.text);
                line.label = Some(name.text.clone());
            }
            StatementKind::Instruction(instruction) => {
                line.instruction(instruction, names);
                line.following = following(instruction, all);
            }
            StatementKind::BranchTargets(list) | StatementKind::CallTargets(list) => {
                let list: Vec<&str> = list.iter().map(|name| name.text.as_str()).collect();
                line.shape = format!("targets {list:?}");
            }
            StatementKind::CallPrototype {
                returns,
                parameters,
            } => {
                let both = returns.iter().chain(parameters);
                let list: Vec<String> = both.map(declared).collect();
                line.shape = format!("prototype {} {list:?}", returns.len());
            }
            StatementKind::Directive(directive) => {
                line.shape = format!(".{} {:?}", directive.name.text, directive.numbers);
            }
            StatementKind::Invalid(_) => line.shape = "not understood".into(),
        }
        self.lines.push(line);
    }

    fn link(&mut self) {
        let mut labels: FxHashMap<&SmolStr, Vec<u32>> = FxHashMap::default();
        for (at, line) in self.lines.iter().enumerate() {
            if let Some(label) = &line.label {
                labels.entry(label).or_default().push(at as u32);
            }
        }
        let mut every: Vec<u32> = labels.values().flatten().copied().collect();
        every.sort_unstable();
        let count = self.lines.len() as u32;
        self.successors = (0..count)
            .map(|at| {
                let next = Some(at + 1).filter(|next| *next < count);
                match &self.lines[at as usize].following {
                    Following::End => Vec::new(),
                    Following::Next => next.into_iter().collect(),
                    Following::Jump { labels: to, falls } => {
                        let mut out: Vec<u32> = match to {
                            Some(to) => to
                                .iter()
                                .filter_map(|name| labels.get(name))
                                .flatten()
                                .copied()
                                .collect(),
                            None => every.clone(),
                        };
                        out.extend(next.filter(|_| *falls));
                        out
                    }
                }
            })
            .collect();
    }
}

impl<'t> Line<'t> {
    fn instruction(&mut self, instruction: &'t Instruction, names: &mut Names) {
        self.instruction = Some(instruction);
        self.opcode = Opcode::find(&instruction.opcode.text);
        if let Some(guard) = &instruction.guard {
            self.shape
                .push_str(if guard.negated { "@! " } else { "@ " });
            let register = names.find(&guard.predicate.text);
            self.guard = register.map(|register| (register, !guard.negated));
        }
        self.shape.push_str(&instruction.full_name());
        let first = instruction.operands.first();
        let is_address = matches!(first, Some(Operand::Address(..)));
        let is_list = matches!(first, Some(Operand::List(..)));
        let results = self
            .opcode
            .map(|opcode| opcode.results(|word| instruction.has(word), is_address));
        let written = match results {
            Some(Results::First) => true,
            Some(Results::Returned) => is_list,
            Some(Results::Nothing) => false,
            Some(Results::Accumulated) | None => true,
        };
        for (number, operand) in instruction.operands.iter().enumerate() {
            self.shape.push(if number == 0 { ' ' } else { ',' });
            let role = match (number == 0 && written, results) {
                (true, Some(Results::First | Results::Returned)) => Role::Write,
                (true, _) => Role::Change,
                _ => Role::Read,
            };
            let place = self.places.len();
            self.operand(operand, role, names);
            let is_plain = matches!(operand, Operand::Name(_)) && self.places.len() > place;
            self.plain.push(is_plain.then_some(place));
        }
    }

    fn operand(&mut self, operand: &Operand, role: Role, names: &mut Names) {
        let mut list = |line: &mut Line<'t>, parts: &[Operand], role, open: char, close: char| {
            line.shape.push(open);
            for part in parts {
                line.operand(part, role, names);
                line.shape.push(',');
            }
            line.shape.push(close);
        };
        match operand {
            Operand::Name(name) => match names.find(&name.text) {
                Some(register) => {
                    self.places.push((register, role));
                    self.shape.push('?');
                }
                None => self.shape.push_str(&name.text),
            },
            Operand::Component(name, selector) => {
                match names.find(&name.text) {
                    Some(register) => {
                        let role = if role == Role::Write {
                            Role::Change
                        } else {
                            role
                        };
                        self.places.push((register, role));
                        self.shape.push('?');
                    }
                    None => self.shape.push_str(&name.text),
                }
                let _ = write!(self.shape, ".{selector}");
            }
            Operand::Integer(value, _) => {
                let _ = write!(self.shape, "{value}");
            }
            Operand::Float32(bits, _) => {
                let _ = write!(self.shape, "0f{bits:08x}");
            }
            Operand::Float64(bits, _) => {
                let _ = write!(self.shape, "0d{bits:016x}");
            }
            Operand::Sink(_) => self.shape.push('_'),
            Operand::Not(inner, _) => {
                self.shape.push('!');
                self.operand(inner, role, names);
            }
            Operand::Negative(inner, _) => {
                self.shape.push('-');
                self.operand(inner, role, names);
            }
            Operand::Vector(parts, _) => list(self, parts, role, '{', '}'),
            Operand::Address(parts, _) => list(self, parts, Role::Read, '[', ']'),
            Operand::List(parts, _) => list(self, parts, role, '(', ')'),
            Operand::Pair(first, second, _) | Operand::Offset(first, second, _) => {
                self.operand(first, role, names);
                let is_pair = matches!(operand, Operand::Pair(..));
                self.shape.push(if is_pair { '|' } else { '+' });
                self.operand(second, role, names);
            }
        }
    }

    /// Registers that the line reads, its guard left out.
    pub(super) fn reads(&self) -> impl Iterator<Item = Register> + '_ {
        let read = |place: &&(Register, Role)| place.1 != Role::Write;
        self.places.iter().filter(read).map(|place| place.0)
    }
    pub(super) fn writes(&self) -> impl Iterator<Item = Register> + '_ {
        let written = |place: &&(Register, Role)| place.1 != Role::Read;
        self.places.iter().filter(written).map(|place| place.0)
    }
    pub(super) fn is_opcode(&self, name: &str) -> bool {
        self.opcode.is_some_and(|opcode| opcode.name() == name)
    }
    pub(super) fn has(&self, word: &str) -> bool {
        self.instruction
            .is_some_and(|instruction| instruction.has(word))
    }
}

fn declared(declaration: &VariableDeclaration) -> String {
    let mut out = format!(
        "declares {:?} {:?} {} {}",
        declaration.space, declaration.align, declaration.vector, declaration.type_name
    );
    for declarator in &declaration.declarators {
        let name = &declarator.name.text;
        let _ = write!(
            out,
            " {name} {:?} {:?}",
            declarator.range, declarator.dimensions
        );
    }
    out
}

fn following(instruction: &Instruction, all: &[Statement]) -> Following {
    let falls = instruction.guard.is_some();
    let name = |at: usize| match instruction.operands.get(at) {
        Some(Operand::Name(name)) => Some(name.text.clone()),
        _ => None,
    };
    match instruction.opcode.text.as_str() {
        "bra" => Following::Jump {
            labels: name(0).map(|label| vec![label]),
            falls,
        },
        "brx" => {
            let table = name(1);
            let lists = all.windows(2).filter_map(|pair| match pair {
                [
                    Statement {
                        kind: StatementKind::Label(label),
                        ..
                    },
                    Statement {
                        kind: StatementKind::BranchTargets(list),
                        ..
                    },
                ] if Some(&label.text) == table.as_ref() => Some(list),
                _ => None,
            });
            let labels: Vec<SmolStr> = lists.flatten().map(|name| name.text.clone()).collect();
            let labels = Some(labels).filter(|labels| !labels.is_empty());
            Following::Jump { labels, falls }
        }
        "ret" | "exit" | "trap" if !falls => Following::End,
        _ => Following::Next,
    }
}

impl Text<'_> {
    /// Lines that execute one after the other: by block, the first line and the one behind the last.
    pub(super) fn blocks(&self) -> Vec<(u32, u32)> {
        let count = self.lines.len();
        let mut starts = vec![false; count + 1];
        starts[0] = true;
        for (at, line) in self.lines.iter().enumerate() {
            starts[at] |= line.label.is_some();
            starts[at + 1] |= line.following != Following::Next;
        }
        starts[count] = true;
        let places: Vec<u32> = (0..=count as u32)
            .filter(|at| starts[*at as usize])
            .collect();
        places.windows(2).map(|pair| (pair[0], pair[1])).collect()
    }
    /// Bits of a value of a register, as its polynomials have them.
    pub(super) fn bits(&self, register: Register) -> u32 {
        match self.classes[register as usize] {
            Some(Class::Predicate) => 1,
            Some(Class::Half) => 16,
            Some(Class::Word) => 32,
            Some(Class::Double) => 64,
            Some(Class::Quad) | None => 128,
        }
    }
}
