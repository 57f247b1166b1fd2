//! A PTX body as the reads and writes of its statements: registers by the scope that declares them, and the
//! flow between statements.
//!
//! ```text
//! @%p1 ld.global.v2.f32 {%f1, %f2}, [%rd3+8];     reads %p1 and %rd3, may change %f1 and %f2
//! ```
//!
//! Reads are taken generously and writes sparingly: an opcode that is not known reads every register that it names and
//! overwrites none. One pass over the statements.

use isa::ptx::{Effect, Opcode, Results};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use syntax::ptx::{
    Instruction, Operand, PtxFunction, Statement, StatementKind, StorageSpace, VariableDeclaration,
};

/// A register of a body.
pub(crate) type Register = u32;

/// The effects of a statement on registers.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Line {
    pub(crate) reads: Vec<Register>,
    /// The registers that it may change.
    pub(crate) writes: Vec<Register>,
    /// True if it changes all of `writes`, wholly, whenever it is executed.
    pub(crate) kills: bool,
    /// True if it can be left out if nothing reads its result.
    pub(crate) removable: bool,
    pub(crate) next: Next,
    /// Registers by where their names stand.
    pub(crate) places: Vec<(u32, Register)>,
    /// Open braces around it.
    pub(crate) depth: u32,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) enum Next {
    #[default]
    Falls,
    /// Jumps to statements, and to the next one if `falls`.
    Jumps {
        targets: Vec<u32>,
        falls: bool,
    },
    Ends,
}

pub(crate) struct Body {
    pub(crate) lines: Vec<Line>,
    /// The type of each register as declared.
    pub(crate) types: Vec<SmolStr>,
    /// Statements of labels by name.
    pub(crate) labels: FxHashMap<SmolStr, Vec<u32>>,
    /// Registers that are declared as results of the function, as the first versions of PTX had them.
    results: Vec<SmolStr>,
    /// Registers that are parameters.
    pub(crate) parameters: Vec<Register>,
    /// The name of each register.
    pub(crate) names: Vec<SmolStr>,
}

#[derive(Default)]
struct Scope {
    names: FxHashMap<SmolStr, SmolStr>,
    ranges: Vec<(SmolStr, u32, SmolStr)>,
    registers: FxHashMap<SmolStr, Register>,
}

impl Body {
    pub(crate) fn new(function: &PtxFunction) -> Self {
        let statements = function.statements();
        let mut labels: FxHashMap<SmolStr, Vec<u32>> = FxHashMap::default();
        for (at, statement) in statements.iter().enumerate() {
            if let StatementKind::Label(name) = &statement.kind {
                labels.entry(name.text.clone()).or_default().push(at as u32);
            }
        }
        let mut body = Body {
            lines: Vec::with_capacity(statements.len()),
            types: Vec::new(),
            labels,
            results: Vec::new(),
            parameters: Vec::new(),
            names: Vec::new(),
        };
        let mut scopes = vec![Scope::default()];
        for declaration in function.parameters.iter().chain(&function.returns) {
            if declaration.space == StorageSpace::Register {
                declare(&mut scopes, declaration);
            }
        }
        let registers = |declarations: &[VariableDeclaration]| -> Vec<SmolStr> {
            declarations
                .iter()
                .filter(|declaration| declaration.space == StorageSpace::Register)
                .flat_map(|declaration| &declaration.declarators)
                .map(|it| it.name.text.clone())
                .collect()
        };
        body.results = registers(&function.returns);
        for name in registers(&function.parameters) {
            let register = body.register(&name, &mut scopes);
            body.parameters.extend(register);
        }
        for statement in statements {
            let mut line = Line {
                depth: scopes.len() as u32 - 1,
                ..Line::default()
            };
            match &statement.kind {
                StatementKind::Open => scopes.push(Scope::default()),
                StatementKind::Close if scopes.len() > 1 => {
                    scopes.pop();
                    line.depth -= 1;
                }
                StatementKind::Declaration(declaration)
                    if declaration.space == StorageSpace::Register =>
                {
                    declare(&mut scopes, declaration);
                }
                StatementKind::Instruction(instruction) => {
                    body.instruction(instruction, &mut scopes, &mut line);
                    line.next = body.flow(instruction, statements);
                }
                StatementKind::Invalid(names) => {
                    for name in names {
                        line.reads.extend(body.register(&name.text, &mut scopes));
                    }
                    line.writes.clone_from(&line.reads);
                }
                _ => {}
            }
            body.lines.push(line);
        }
        body
    }

    fn register(&mut self, name: &SmolStr, scopes: &mut [Scope]) -> Option<Register> {
        for scope in scopes.iter_mut().rev() {
            if let Some(&known) = scope.registers.get(name) {
                return Some(known);
            }
            let ty = scope.names.get(name).cloned().or_else(|| {
                let (_, _, ty) = scope.ranges.iter().find(|(prefix, count, _)| {
                    name.strip_prefix(prefix.as_str()).is_some_and(|number| {
                        (number.len() == 1 || !number.starts_with('0'))
                            && number.bytes().all(|byte| byte.is_ascii_digit())
                            && number.parse::<u32>().is_ok_and(|n| n < *count)
                    })
                })?;
                Some(ty.clone())
            });
            if let Some(ty) = ty {
                let register = self.types.len() as Register;
                self.types.push(ty);
                self.names.push(name.clone());
                scope.registers.insert(name.clone(), register);
                return Some(register);
            }
        }
        None
    }

    fn registers(
        &mut self,
        operand: &Operand,
        scopes: &mut [Scope],
        out: &mut Vec<(u32, Register)>,
    ) {
        match operand {
            Operand::Name(name) | Operand::Component(name, _) => {
                let register = self.register(&name.text, scopes);
                out.extend(register.map(|register| (name.span.start, register)));
            }
            Operand::Not(inner, _) | Operand::Negative(inner, _) => {
                self.registers(inner, scopes, out);
            }
            Operand::Vector(parts, _) | Operand::Address(parts, _) | Operand::List(parts, _) => {
                for part in parts {
                    self.registers(part, scopes, out);
                }
            }
            Operand::Pair(left, right, _) | Operand::Offset(left, right, _) => {
                self.registers(left, scopes, out);
                self.registers(right, scopes, out);
            }
            Operand::Integer(..)
            | Operand::Float32(..)
            | Operand::Float64(..)
            | Operand::Sink(_) => {}
        }
    }

    fn instruction(&mut self, i: &Instruction, scopes: &mut [Scope], line: &mut Line) {
        if let Some(guard) = &i.guard {
            line.reads
                .extend(self.register(&guard.predicate.text, scopes));
        }
        let opcode = Opcode::find(&i.opcode.text);
        let Some((first, rest)) = i.operands.split_first() else {
            line.reads.extend(self.returned(opcode, scopes));
            return;
        };
        let mut sources = Vec::new();
        for operand in rest {
            self.registers(operand, scopes, &mut sources);
        }
        line.reads
            .extend(sources.iter().map(|&(_, register)| register));
        let mut own = Vec::new();
        self.registers(first, scopes, &mut own);
        let named: Vec<Register> = own.iter().map(|&(_, register)| register).collect();
        line.places = sources;
        line.places.extend(own);
        let is_address = matches!(first, Operand::Address(..));
        let results = opcode.map(|opcode| opcode.results(|word| i.has(word), is_address));
        let is_list = matches!(first, Operand::List(..));
        let (writes, whole) = match results {
            Some(Results::Nothing) => (false, false),
            Some(Results::First) => (true, whole(first)),
            Some(Results::Returned) => (is_list, is_list),
            Some(Results::Accumulated) | None => (true, false),
        };
        if !whole {
            line.reads.extend(named.iter().copied());
        }
        if writes {
            line.writes = named;
        }
        line.kills = whole && i.guard.is_none();
        let Some(opcode) = opcode else { return };
        let pure = opcode.effect() == Effect::Pure;
        let ordered = ["volatile", "relaxed", "acquire", "mmio"];
        let loads = opcode.loads() && !ordered.iter().any(|word| i.has(word));
        let carries = opcode.carries(i.has("cc"));
        line.removable = (pure || loads) && whole && !carries && !i.inline_assembly;
    }

    /// The registers in which the function returns its results, where it leaves.
    fn returned(&mut self, opcode: Option<Opcode>, scopes: &mut [Scope]) -> Vec<Register> {
        match opcode.map(Opcode::name) {
            Some("ret") => self
                .results
                .clone()
                .iter()
                .filter_map(|name| self.register(name, scopes))
                .collect(),
            _ => Vec::new(),
        }
    }

    fn flow(&self, i: &Instruction, statements: &[Statement]) -> Next {
        let falls = i.guard.is_some();
        let of = |name: &SmolStr| self.labels.get(name).cloned().unwrap_or_default();
        match i.opcode.text.as_str() {
            "bra" => match i.operands.first() {
                Some(Operand::Name(name)) => Next::Jumps {
                    targets: of(&name.text),
                    falls,
                },
                _ => self.anywhere(),
            },
            "brx" => {
                let table = match i.operands.get(1) {
                    Some(Operand::Name(name)) => of(&name.text),
                    _ => Vec::new(),
                };
                let mut targets = Vec::new();
                for label in table {
                    if let Some(StatementKind::BranchTargets(names)) =
                        statements.get(label as usize + 1).map(|next| &next.kind)
                    {
                        targets.extend(names.iter().flat_map(|name| of(&name.text)));
                    }
                }
                if targets.is_empty() {
                    return self.anywhere();
                }
                Next::Jumps { targets, falls }
            }
            "ret" | "exit" | "trap" if !falls => Next::Ends,
            _ => Next::Falls,
        }
    }

    fn anywhere(&self) -> Next {
        let mut targets: Vec<u32> = self.labels.values().flatten().copied().collect();
        targets.sort_unstable();
        Next::Jumps {
            targets,
            falls: true,
        }
    }
}

/// Every register of the operand is overwritten as a whole.
fn whole(operand: &Operand) -> bool {
    match operand {
        Operand::Name(_) | Operand::Sink(_) => true,
        Operand::Vector(parts, _) => parts.iter().all(whole),
        Operand::Pair(left, right, _) => whole(left) && whole(right),
        _ => false,
    }
}

fn declare(scopes: &mut [Scope], declaration: &VariableDeclaration) {
    let ty = if declaration.vector == 1 {
        declaration.type_name.clone()
    } else {
        SmolStr::new("vector")
    };
    let Some(scope) = scopes.last_mut() else {
        return;
    };
    for declarator in &declaration.declarators {
        let name = declarator.name.text.clone();
        match declarator.range {
            Some(count) => scope.ranges.push((name, count, ty.clone())),
            None => {
                scope.names.insert(name, ty.clone());
            }
        }
    }
}
