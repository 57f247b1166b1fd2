//! A PTX body as what its statements read and write: registers by the scope that declares them, the flow between
//! statements, and the registers that are read later.
//!
//! Reads are taken generously and writes sparingly: an opcode that is not known reads every register that it names and
//! overwrites none. Stops because liveness only grows.

use ir::lower::ptx::opcodes::{Effect, effect};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use syntax::ptx::{Instruction, Operand, PtxFunction, Statement, StatementKind, StorageSpace};

/// A register of a body.
pub(super) type Register = u32;

/// What a statement does, as far as registers go.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Line {
    pub(super) reads: Vec<Register>,
    /// Those that it may change.
    pub(super) writes: Vec<Register>,
    /// It changes all of `writes`, wholly, whenever it is executed.
    pub(super) kills: bool,
    /// It can be left out when nothing reads what it writes.
    pub(super) removable: bool,
    pub(super) next: Next,
    /// Registers by where their names stand.
    pub(super) places: Vec<(u32, Register)>,
    /// Open braces around it.
    pub(super) depth: u32,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub(super) enum Next {
    #[default]
    Falls,
    /// To statements, and to the next one when `falls`.
    Jumps {
        targets: Vec<u32>,
        falls: bool,
    },
    Ends,
}

pub(super) struct Body {
    pub(super) lines: Vec<Line>,
    /// By register: its type as declared.
    pub(super) types: Vec<SmolStr>,
    /// Statements of labels by name.
    pub(super) labels: FxHashMap<SmolStr, Vec<u32>>,
}

#[derive(Default)]
struct Scope {
    names: FxHashMap<SmolStr, SmolStr>,
    ranges: Vec<(SmolStr, u32, SmolStr)>,
    registers: FxHashMap<SmolStr, Register>,
}

/// Opcodes whose first operand is written although they are no function of their operands alone.
const RESULTS: &[&str] = &[
    "activemask",
    "atom",
    "elect",
    "ld",
    "ldu",
    "match",
    "redux",
    "shfl",
    "suld",
    "suq",
    "tex",
    "tld4",
    "txq",
    "vote",
];

impl Body {
    pub(super) fn new(function: &PtxFunction) -> Self {
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
        };
        let mut scopes = vec![Scope::default()];
        for declaration in function.parameters.iter().chain(&function.returns) {
            if declaration.space == StorageSpace::Register {
                declare(&mut scopes, declaration);
            }
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
            Operand::Pair(one, other, _) | Operand::Offset(one, other, _) => {
                self.registers(one, scopes, out);
                self.registers(other, scopes, out);
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
        let opcode = i.opcode.text.as_str();
        let pure = effect(opcode) == Some(Effect::Pure);
        let carries = i.has("cc") || matches!(opcode, "addc" | "subc" | "madc");
        let reduces = matches!(opcode, "bar" | "barrier") && i.has("red");
        let known = pure || RESULTS.contains(&opcode) || reduces;
        let Some((first, rest)) = i.operands.split_first() else {
            return;
        };
        let mut sources = Vec::new();
        for operand in rest {
            self.registers(operand, scopes, &mut sources);
        }
        line.reads
            .extend(sources.iter().map(|&(_, register)| register));
        let mut results = Vec::new();
        self.registers(first, scopes, &mut results);
        let places: Vec<Register> = results.iter().map(|&(_, register)| register).collect();
        line.places = sources;
        line.places.extend(results);
        let whole = whole(first);
        if !known || !whole {
            line.reads.extend(places.iter().copied());
        }
        line.writes = places;
        line.kills = known && whole && i.guard.is_none();
        let ordered = ["volatile", "relaxed", "acquire", "mmio"];
        let loads = matches!(opcode, "ld" | "ldu" | "tex" | "tld4" | "txq" | "suq")
            && !ordered.iter().any(|word| i.has(word));
        line.removable = (pure || loads) && whole && !carries && !i.inline_assembly;
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
        Operand::Pair(one, other, _) => whole(one) && whole(other),
        _ => false,
    }
}

fn declare(scopes: &mut [Scope], declaration: &syntax::ptx::VariableDeclaration) {
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

/// Sets of registers, one a statement.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Sets {
    words: usize,
    bits: Vec<u64>,
}

impl Sets {
    pub(super) fn new(count: usize, registers: usize) -> Self {
        let words = registers.div_ceil(64).max(1);
        Sets {
            words,
            bits: vec![0; words * count],
        }
    }
    pub(super) fn of(&self, at: usize) -> &[u64] {
        self.bits
            .get(at * self.words..(at + 1) * self.words)
            .unwrap_or(&[])
    }
    pub(super) fn has(&self, at: usize, register: usize) -> bool {
        self.of(at)
            .get(register / 64)
            .is_some_and(|word| word >> (register % 64) & 1 == 1)
    }
}

/// One statement of a list whose liveness is wanted; registers are numbered densely.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub(super) reads: Vec<usize>,
    pub(super) writes: Vec<usize>,
    pub(super) kills: bool,
    pub(super) removable: bool,
    /// Statements of the list that can be next.
    pub(super) inside: Vec<usize>,
    /// Sets of what lies outside of the list and can be next.
    pub(super) outside: Vec<usize>,
}

/// What is read after each statement; those that are removable read nothing while nothing reads what they write.
pub(super) fn live_out(nodes: &[Node], outside: &Sets, registers: usize) -> Sets {
    let mut out = Sets::new(nodes.len(), registers);
    let mut live_in = Sets::new(nodes.len(), registers);
    let words = out.words;
    loop {
        let mut changed = false;
        for (at, node) in nodes.iter().enumerate().rev() {
            let mut set = vec![0u64; words];
            for &next in &node.inside {
                for (word, more) in set.iter_mut().zip(live_in.of(next)) {
                    *word |= more;
                }
            }
            for &next in &node.outside {
                for (word, more) in set.iter_mut().zip(outside.of(next)) {
                    *word |= more;
                }
            }
            out.bits[at * words..(at + 1) * words].copy_from_slice(&set);
            let wanted = node
                .writes
                .iter()
                .any(|&one| set[one / 64] >> (one % 64) & 1 == 1);
            if !node.removable || wanted {
                if node.kills {
                    for &one in &node.writes {
                        set[one / 64] &= !(1 << (one % 64));
                    }
                }
                for &one in &node.reads {
                    set[one / 64] |= 1 << (one % 64);
                }
            }
            let before = &mut live_in.bits[at * words..(at + 1) * words];
            changed |= before != set.as_slice();
            before.copy_from_slice(&set);
        }
        if !changed {
            return out;
        }
    }
}

/// What is read from each statement on, in a whole body where nothing is left out.
pub(super) fn live_in(body: &Body, dense: &FxHashMap<Register, usize>) -> Sets {
    let nodes: Vec<Node> = body
        .lines
        .iter()
        .enumerate()
        .map(|(at, line)| {
            let map = |registers: &[Register]| {
                registers
                    .iter()
                    .filter_map(|one| dense.get(one).copied())
                    .collect::<Vec<_>>()
            };
            let mut inside: Vec<usize> = match &line.next {
                Next::Falls => vec![at + 1],
                Next::Jumps { targets, falls } => {
                    let jumps = targets.iter().map(|&target| target as usize);
                    jumps.chain(falls.then_some(at + 1)).collect()
                }
                Next::Ends => Vec::new(),
            };
            inside.retain(|&next| next < body.lines.len());
            Node {
                reads: map(&line.reads),
                writes: map(&line.writes),
                kills: line.kills,
                removable: false,
                inside,
                outside: Vec::new(),
            }
        })
        .collect();
    let none = Sets::new(0, dense.len());
    let out = live_out(&nodes, &none, dense.len());
    // From a statement on: what it reads, and what is read after it and not overwritten by it.
    let mut sets = out.clone();
    let words = sets.words;
    for (at, node) in nodes.iter().enumerate() {
        let set = &mut sets.bits[at * words..(at + 1) * words];
        if node.kills {
            for &one in &node.writes {
                set[one / 64] &= !(1 << (one % 64));
            }
        }
        for &one in &node.reads {
            set[one / 64] |= 1 << (one % 64);
        }
    }
    sets
}
