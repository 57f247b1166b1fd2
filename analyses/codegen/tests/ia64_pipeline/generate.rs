//! Random functions with one loop: sums, loads, stores at distances, ifs within ifs, early exits, `continue`.

use isa::ia64::File;
use isa::ia64::register::Reg;
use lockstep_codegen::target::ia64::code::{
    Block, Function, Name, Object, Operand, Operation, Reference, Virtual,
};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

pub(crate) struct Builder {
    function: Function,
    random: StdRng,
    variables: Vec<Virtual>,
    index: Virtual,
    arrays: [Virtual; 2],
    limits: [Virtual; 2],
    /// A pointer that loads step.
    pointer: Virtual,
    /// Branches to labels: block, operation, label.
    jumps: Vec<(usize, usize, usize)>,
    /// The labels, by number.
    labels: Vec<Option<u32>>,
    exits: Vec<usize>,
    latch: usize,
    restrict: bool,
    float: Option<(Virtual, Virtual)>,
}

pub(crate) fn operation(
    mnemonic: &str,
    predicate: Option<Virtual>,
    targets: Vec<Operand>,
    sources: Vec<Operand>,
) -> Operation {
    Operation::plain(
        isa::ia64::Mnemonic::parse(mnemonic).expect("a mnemonic of the table"),
        targets,
        sources,
    )
    .under(predicate)
}

pub(crate) fn reg(item: Virtual) -> Operand {
    Operand::register(item)
}

impl Builder {
    fn put(&mut self, operation: Operation) {
        let block = self.function.blocks.last_mut().expect("a block");
        block.operations.push(operation);
    }
    fn plain(&mut self, mnemonic: &str, targets: Vec<Operand>, sources: Vec<Operand>) {
        self.put(operation(mnemonic, None, targets, sources));
    }
    fn label(&mut self) -> usize {
        self.labels.push(None);
        self.labels.len() - 1
    }
    fn block(&mut self) {
        self.function.blocks.push(Block::default());
    }
    fn here(&mut self, label: usize) {
        self.block();
        self.labels[label] = Some(self.function.blocks.len() as u32 - 1);
    }
    fn jump(&mut self, predicate: Option<Virtual>, label: usize) {
        let block = self.function.blocks.len() - 1;
        let at = self.function.blocks[block].operations.len();
        self.jumps.push((block, at, label));
        self.put(operation(
            "br.cond.sptk",
            predicate,
            Vec::new(),
            vec![Operand::Block(0)],
        ));
    }
    fn general(&mut self) -> Virtual {
        self.function.register(File::General)
    }
    fn variable(&mut self) -> Virtual {
        *self.variables.choose(&mut self.random).expect("some")
    }

    fn compare(&mut self) -> (Virtual, Virtual) {
        let (yes, no) = (
            self.function.register(File::Predicate),
            self.function.register(File::Predicate),
        );
        let relations = [
            "cmp.eq", "cmp.ne", "cmp.lt", "cmp.gt", "cmp4.eq", "cmp.ltu", "cmp.eq",
        ];
        let relation = *relations.choose(&mut self.random).expect("some");
        let right = self.variable();
        let sources = match self.random.random_range(0..3) {
            0 => vec![Operand::Number(self.random.random_range(0..12)), reg(right)],
            1 => vec![reg(self.limits[self.random.random_range(0..2)]), reg(right)],
            _ => vec![reg(self.variable()), reg(right)],
        };
        self.plain(relation, vec![reg(yes), reg(no)], sources);
        (yes, no)
    }

    /// The address of an element near the index.
    fn element(&mut self, array: usize) -> Virtual {
        let address = self.general();
        let base = self.arrays[array];
        self.plain(
            "shladd",
            vec![reg(address)],
            vec![reg(self.index), Operand::Number(3), reg(base)],
        );
        let offset = self.random.random_range(-4..=4i64) * 8;
        if offset == 0 {
            return address;
        }
        let moved = self.general();
        self.plain(
            "add",
            vec![reg(moved)],
            vec![Operand::Number(offset), reg(address)],
        );
        moved
    }

    fn reference(&self, array: usize) -> Option<Reference> {
        Some(Reference {
            object: match self.restrict {
                true => Object::Restrict(array as u32),
                false => Object::Unknown,
            },
            bytes: 8,
            volatile: false,
            accessed_as: None,
        })
    }

    fn statement(&mut self, depth: u32) {
        match self.random.random_range(0..17) {
            0..=4 => {
                let mnemonic = [
                    "add", "sub", "xor", "and", "or", "shladd", "zxt4", "mov", "mov",
                ];
                let mnemonic = *mnemonic.choose(&mut self.random).expect("some");
                let to = self.variable();
                let (left, right) = (self.variable(), self.variable());
                let sources = match mnemonic {
                    "shladd" => vec![reg(left), Operand::Number(1), reg(right)],
                    "zxt4" | "mov" => vec![reg(left)],
                    "add" if self.random.random_bool(0.4) => vec![Operand::Number(3), reg(left)],
                    _ => vec![reg(left), reg(right)],
                };
                self.plain(mnemonic, vec![reg(to)], sources);
            }
            5..=7 => {
                let array = self.random.random_range(0..2);
                let address = self.element(array);
                let to = self.variable();
                let mut load = operation(
                    "ld8",
                    None,
                    vec![reg(to)],
                    vec![Operand::Address(Name::Virtual(address))],
                );
                load.memory = self.reference(array);
                self.put(load);
            }
            8 => {
                let to = self.variable();
                let mut load = operation(
                    "ld8",
                    None,
                    vec![reg(to)],
                    vec![
                        Operand::Address(Name::Virtual(self.pointer)),
                        Operand::Number(8),
                    ],
                );
                load.memory = self.reference(0);
                if depth == 0 {
                    self.put(load);
                }
            }
            9..=10 => {
                let array = self.random.random_range(0..2);
                let address = self.element(array);
                let value = self.variable();
                let mut store = operation(
                    "st8",
                    None,
                    vec![Operand::Address(Name::Virtual(address))],
                    vec![reg(value)],
                );
                store.memory = self.reference(array);
                self.put(store);
            }
            11..=12 if depth < 2 => {
                let (_, no) = self.compare();
                let (otherwise, end) = (self.label(), self.label());
                self.jump(Some(no), otherwise);
                self.block();
                self.statements(depth + 1);
                if self.random.random_bool(0.5) {
                    self.jump(None, end);
                    self.here(otherwise);
                    self.statements(depth + 1);
                    self.here(end);
                } else {
                    self.here(otherwise);
                    self.labels[end] = self.labels[otherwise];
                }
            }
            13 if self.exits.len() < 3 => {
                let (yes, _) = self.compare();
                let exit = self.label();
                self.exits.push(exit);
                self.jump(Some(yes), exit);
                self.block();
            }
            14 if depth > 0 && self.random.random_bool(0.3) => {
                let (yes, _) = self.compare();
                let latch = self.latch;
                self.jump(Some(yes), latch);
                self.block();
            }
            // Values that move on by one variable.
            15 => {
                for at in 1..self.variables.len() {
                    let (to, from) = (self.variables[at - 1], self.variables[at]);
                    self.plain("mov", vec![reg(to)], vec![reg(from)]);
                }
            }
            _ => {
                if let Some((sum, scratch)) = self.float {
                    let value = self.variable();
                    self.plain("setf.sig", vec![reg(scratch)], vec![reg(value)]);
                    self.plain(
                        "xma.l",
                        vec![reg(sum)],
                        vec![reg(scratch), reg(scratch), reg(sum)],
                    );
                }
            }
        }
    }

    fn statements(&mut self, depth: u32) {
        let count = self.random.random_range(1..=5 - depth);
        for _ in 0..count {
            self.statement(depth);
        }
    }
}

pub(crate) fn generate(seed: u64) -> Function {
    let mut random = StdRng::seed_from_u64(seed);
    let mut function = Function {
        name: "f".into(),
        ..Function::default()
    };
    let parameters: Vec<Virtual> = (0..6).map(|_| function.register(File::General)).collect();
    function.parameters = parameters.clone();
    let index = function.register(File::General);
    let pointer = function.register(File::General);
    let variables: Vec<Virtual> = (0..random.random_range(2..6))
        .map(|_| function.register(File::General))
        .collect();
    let float = random.random_bool(0.4).then(|| {
        (
            function.register(File::Float),
            function.register(File::Float),
        )
    });
    let restrict = random.random_bool(0.5);
    let (top, cmp4, decreasing) = (
        random.random_bool(0.5),
        random.random_bool(0.3),
        random.random_bool(0.3),
    );
    let counter = function.register(File::General);
    let mut builder = Builder {
        function,
        random,
        variables,
        index,
        arrays: [parameters[0], parameters[1]],
        limits: [parameters[4], parameters[5]],
        pointer,
        jumps: Vec::new(),
        labels: vec![None, None],
        exits: Vec::new(),
        latch: 1,
        restrict,
        float,
    };
    builder.block();
    builder.plain("mov", vec![reg(index)], vec![Operand::Number(0)]);
    builder.plain("mov", vec![reg(pointer)], vec![reg(parameters[0])]);
    builder.plain("mov", vec![reg(counter)], vec![reg(parameters[3])]);
    for (at, each) in builder.variables.clone().into_iter().enumerate() {
        builder.plain(
            "mov",
            vec![reg(each)],
            vec![Operand::Number(at as i64 * 3 + 1)],
        );
    }
    if let Some((sum, _)) = float {
        builder.plain("mov", vec![reg(sum)], vec![Operand::fixed(Reg::float(0))]);
    }
    let done = builder.label();
    builder.here(0);
    let relation = |decreasing: bool| match (decreasing, cmp4) {
        (true, _) => "cmp.ne",
        (false, true) => "cmp4.lt",
        (false, false) => "cmp.lt",
    };
    let test = |builder: &mut Builder| {
        let (yes, no) = (
            builder.function.register(File::Predicate),
            builder.function.register(File::Predicate),
        );
        let sources = match decreasing && top {
            true => vec![reg(counter), Operand::fixed(Reg::R0)],
            false => vec![reg(index), reg(parameters[3])],
        };
        builder.plain(
            relation(decreasing && top),
            vec![reg(yes), reg(no)],
            sources,
        );
        (yes, no)
    };
    if top {
        let (_, no) = test(&mut builder);
        builder.jump(Some(no), done);
        builder.block();
    }
    builder.statements(0);
    if builder.random.random_bool(0.7) {
        builder.statements(0);
    }
    builder.here(1);
    builder.plain(
        "add",
        vec![reg(index)],
        vec![Operand::Number(1), reg(index)],
    );
    builder.plain(
        "add",
        vec![reg(counter)],
        vec![Operand::Number(-1), reg(counter)],
    );
    if top {
        builder.jump(None, 0);
    } else {
        let (yes, _) = test(&mut builder);
        builder.jump(Some(yes), 0);
    }
    // Behind the loop: which exit, and some of the variables.
    let end = builder.label();
    let which = builder.general();
    let mut exits = vec![done];
    exits.extend(builder.exits.clone());
    for (number, exit) in exits.into_iter().enumerate() {
        builder.here(exit);
        builder.plain(
            "mov",
            vec![reg(which)],
            vec![Operand::Number(number as i64)],
        );
        let out = builder.general();
        builder.plain("mov", vec![reg(out)], vec![reg(parameters[2])]);
        let mut kept = builder.variables.clone();
        kept.push(index);
        kept.push(pointer);
        for each in kept {
            if builder.random.random_bool(0.6) {
                builder.plain(
                    "st8",
                    vec![Operand::Address(Name::Virtual(out))],
                    vec![reg(each), Operand::Number(8)],
                );
            }
        }
        if let Some((sum, _)) = float {
            builder.plain(
                "stf8",
                vec![Operand::Address(Name::Virtual(out))],
                vec![reg(sum), Operand::Number(8)],
            );
        }
        builder.jump(None, end);
    }
    builder.here(end);
    builder.plain(
        "mov",
        vec![Operand::fixed(Reg::general(8))],
        vec![reg(which)],
    );
    builder.plain(
        "br.ret.sptk.many",
        Vec::new(),
        vec![Operand::fixed(Reg::branch(0))],
    );
    for (block, at, label) in std::mem::take(&mut builder.jumps) {
        let target = builder.labels[label].expect("a place");
        builder.function.blocks[block].operations[at].sources[0] = Operand::Block(target);
    }
    builder.function
}
