//! Random programs: statics and globals that lanes write and callees read, objects of all sizes by value, parameters that
//! callees write, pointers to functions that are chosen, stored and passed on.

use super::program::*;
use oracle::random::Random;

const SIZES: [u32; 10] = [1, 2, 3, 5, 17, 64, 127, 129, 200, 333];

pub(crate) fn program(seed: u64, dialect: Dialect) -> Program {
    let mut random = Random::new(seed ^ 0x5707_0000_0000);
    let mut program = Program {
        dialect,
        structs: Vec::new(),
        globals: Vec::new(),
        given: Vec::new(),
        leaves: vec![(1, 1), (7, 0), (3, 5)],
        functions: Vec::new(),
    };
    for number in 0..2 + random.below(2) as usize {
        let count = 1 + random.below(3);
        let fields = (0..count).map(|_| match random.below(4) {
            0 => Field::Scalar,
            1 if number > 0 => Field::Nested(random.below(number as u32) as usize),
            2 if dialect == Dialect::Hlsl && random.percent(50) => Field::Matrix,
            _ => Field::Array(*random.pick(&SIZES)),
        });
        program.structs.push(fields.collect());
    }
    for number in 0..1 + random.below(3) {
        let ty = match random.below(4) {
            0 => Ty::Struct(random.below(program.structs.len() as u32) as usize),
            1 => Ty::Array(*random.pick(&SIZES)),
            _ => Ty::Number,
        };
        program.globals.push(Global {
            name: format!("g{number}"),
            ty,
            initial: random.below(9),
            shared: dialect == Dialect::Hlsl && random.percent(15),
        });
    }
    if dialect == Dialect::Cuda {
        for number in 0..random.below(3) {
            let ty = random.below(program.structs.len() as u32) as usize;
            program.given.push((format!("k{number}"), ty));
        }
    }
    let count = 2 + random.below(3) as usize;
    let mut numbers = 0;
    for number in 0..count {
        let mut writer = Writer {
            random: &mut random,
            program: &program,
            numbers,
            entry: number + 1 == count,
            scalars: Vec::new(),
            written: Vec::new(),
            objects: Vec::new(),
            codes: Vec::new(),
            tables: Vec::new(),
            holders: Vec::new(),
            loops: 0,
        };
        let function = writer.function(number);
        numbers = writer.numbers;
        program.functions.push(function);
    }
    program
}

struct Writer<'a> {
    random: &'a mut Random,
    program: &'a Program,
    numbers: u32,
    entry: bool,
    scalars: Vec<String>,
    written: Vec<String>,
    objects: Vec<(String, Ty)>,
    codes: Vec<String>,
    tables: Vec<(String, u32)>,
    holders: Vec<String>,
    loops: u32,
}

impl Writer<'_> {
    fn cuda(&self) -> bool {
        self.program.dialect == Dialect::Cuda
    }

    fn name(&mut self, prefix: &str) -> String {
        self.numbers += 1;
        format!("{prefix}{}", self.numbers)
    }

    fn object_type(&mut self) -> Ty {
        if !self.cuda() && self.random.percent(40) {
            return Ty::Array(*self.random.pick(&SIZES));
        }
        Ty::Struct(self.random.below(self.program.structs.len() as u32) as usize)
    }

    fn function(&mut self, number: usize) -> Function {
        let mut parameters = Vec::new();
        if !self.entry {
            for _ in 0..1 + self.random.below(3) {
                let (ty, written) = match self.random.below(6) {
                    0 | 1 => (self.object_type(), false),
                    2 => (Ty::Number, true),
                    3 if self.cuda() => (Ty::Code, false),
                    _ => (Ty::Number, false),
                };
                let name = self.name("p");
                match ty {
                    Ty::Number => {
                        self.scalars.push(name.clone());
                        if written || self.random.percent(20) {
                            self.written.push(name.clone());
                        }
                    }
                    Ty::Code => self.codes.push(name.clone()),
                    _ => self.objects.push((name.clone(), ty)),
                }
                parameters.push(Parameter { name, ty, written });
            }
        }
        for global in &self.program.globals {
            match global.ty {
                Ty::Number => {
                    self.scalars.push(global.name.clone());
                    self.written.push(global.name.clone());
                }
                ty => self.objects.push((global.name.clone(), ty)),
            }
        }
        if self.entry {
            let given = self.program.given.iter();
            let given = given.map(|(name, ty)| (name.clone(), Ty::Struct(*ty)));
            self.objects.extend(given);
        }
        let mut body = Vec::new();
        if !self.entry && self.random.percent(25) {
            let name = self.name("st");
            let initial = if self.cuda() { 0 } else { self.random.below(5) };
            body.push(Statement::Static(name.clone(), initial));
            self.scalars.push(name.clone());
            self.written.push(name);
        }
        let count = 4 + self.random.below(if self.entry { 8 } else { 4 });
        for _ in 0..count {
            self.statement(&mut body, 2);
        }
        let objects: Vec<(String, Ty)> = self.objects.clone();
        let structs: Vec<&(String, Ty)> = objects
            .iter()
            .filter(|(_, ty)| matches!(ty, Ty::Struct(_)))
            .collect();
        let early = body
            .iter()
            .any(|statement| matches!(statement, Statement::ReturnIf(..)));
        let returned = if !self.entry && !early && !structs.is_empty() && self.random.percent(20) {
            let (name, ty) = *self.random.pick(&structs);
            Returned::Object(*ty, name.clone())
        } else {
            Returned::Number(self.expr(2))
        };
        Function {
            name: if self.entry {
                "entry".into()
            } else {
                format!("f{number}")
            },
            parameters,
            body,
            returned,
        }
    }

    fn block(&mut self, depth: u32) -> Vec<Statement> {
        let before = (
            self.scalars.len(),
            self.written.len(),
            self.objects.len(),
            self.codes.len(),
            self.tables.len(),
            self.holders.len(),
        );
        let mut list = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            self.statement(&mut list, depth);
        }
        self.scalars.truncate(before.0);
        self.written.truncate(before.1);
        self.objects.truncate(before.2);
        self.codes.truncate(before.3);
        self.tables.truncate(before.4);
        self.holders.truncate(before.5);
        list
    }

    fn probe(&mut self, out: &mut Vec<Statement>) {
        let e = self.expr(2);
        let name = self.name("v");
        out.push(Statement::Probe(name.clone(), e));
        self.scalars.push(name);
    }

    fn statement(&mut self, out: &mut Vec<Statement>, depth: u32) {
        match self.random.below(22) {
            0 => {
                let e = self.expr(2);
                let name = self.name("m");
                out.push(Statement::Declare(name.clone(), e));
                self.scalars.push(name.clone());
                self.written.push(name);
            }
            1..=3 if !self.written.is_empty() => {
                let name = self.random.pick(&self.written).clone();
                let e = self.expr(2);
                out.push(Statement::Assign(name, e));
            }
            4 | 5 if !self.objects.is_empty() => {
                if let Some(to) = self.element() {
                    let e = self.expr(2);
                    out.push(Statement::AssignElement(to, e));
                }
            }
            6 => {
                let ty = self.object_type();
                let e = self.expr(1);
                let name = self.name("s");
                let leaves = self.program.leaves_of(ty);
                out.push(Statement::Object(name.clone(), ty, leaves, e));
                self.objects.push((name, ty));
            }
            7 => {
                let ty = self.object_type();
                let Some(from) = self.object(ty, 1) else {
                    return self.probe(out);
                };
                let name = self.name("s");
                out.push(Statement::ObjectCopy(name.clone(), ty, from));
                self.objects.push((name, ty));
            }
            8 => {
                let Some((to, ty)) = self.any_object() else {
                    return self.probe(out);
                };
                if let Some(from) = self.object(ty, 1)
                    && !matches!(&from, Object::Variable(name) if *name == to)
                {
                    out.push(Statement::Copy(to, from));
                }
            }
            9 => {
                let Some((to, ty)) = self.any_object() else {
                    return self.probe(out);
                };
                let wanted = self.random.below(self.program.structs.len() as u32) as usize;
                let parts = self.program.parts_of(&to, ty, wanted);
                if parts.is_empty() {
                    return self.probe(out);
                }
                let to = self.random.pick(&parts).clone();
                if let Some(from) = self.object(Ty::Struct(wanted), 1) {
                    out.push(Statement::CopyPart(to, from));
                }
            }
            10 | 11 if depth > 0 => {
                let condition = self.expr(1);
                let then = self.block(depth - 1);
                let otherwise = match self.random.percent(50) {
                    true => self.block(depth - 1),
                    false => Vec::new(),
                };
                out.push(Statement::If(condition, then, otherwise));
            }
            12 if depth > 0 && self.loops < 2 => {
                self.loops += 1;
                let bound = self.bound();
                let name = self.name("i");
                self.numbers += 1;
                let number = self.numbers;
                self.scalars.push(name.clone());
                let body = self.block(depth - 1);
                self.scalars.retain(|other| *other != name);
                self.loops -= 1;
                out.push(Statement::For(name, number, bound, body));
            }
            13 if depth == 2 && !self.entry && self.random.percent(30) => {
                let (condition, e) = (self.expr(1), self.expr(1));
                out.push(Statement::ReturnIf(condition, e));
            }
            14..=17 => self.call(out),
            18..=20 if self.cuda() => self.codes(out),
            _ => self.probe(out),
        }
    }

    /// Returns an expression that the body of a loop does not change.
    fn bound(&mut self) -> Expr {
        match self.random.below(4) {
            0 if self.cuda() || self.entry => Expr::Thread,
            1 if self.entry || !self.cuda() => Expr::Size,
            _ => Expr::Number(self.random.below(4)),
        }
    }

    fn call(&mut self, out: &mut Vec<Statement>) {
        let count = self.program.functions.len() as u32;
        if count == 0 {
            return self.probe(out);
        }
        let number = self.random.below(count) as usize;
        let program = self.program;
        let function = &program.functions[number];
        let mut arguments = Vec::new();
        let mut places: Vec<String> = Vec::new();
        for parameter in &function.parameters {
            let argument = match parameter.ty {
                Ty::Number if parameter.written => {
                    // Each variable once, and no global, which the callee may know by its own name.
                    let own = |name: &&String| !name.starts_with('g') && !name.starts_with("st");
                    let free = self.written.iter().filter(own);
                    let free = free.filter(|name| !places.contains(name)).cloned();
                    let free: Vec<String> = free.collect();
                    let name = match free.is_empty() {
                        false => self.random.pick(&free).clone(),
                        true => {
                            let e = self.expr(1);
                            let name = self.name("m");
                            out.push(Statement::Declare(name.clone(), e));
                            self.scalars.push(name.clone());
                            self.written.push(name.clone());
                            name
                        }
                    };
                    places.push(name.clone());
                    Argument::Place(name)
                }
                Ty::Number => Argument::Number(self.expr(1)),
                Ty::Code => Argument::Code(self.code(2)),
                ty => {
                    let known = match self.random.percent(30) {
                        true => None,
                        false => self.object(ty, 1),
                    };
                    Argument::Object(known.unwrap_or_else(|| {
                        let e = self.expr(1);
                        let name = self.name("s");
                        let leaves = program.leaves_of(ty);
                        out.push(Statement::Object(name.clone(), ty, leaves, e));
                        self.objects.push((name.clone(), ty));
                        Object::Variable(name)
                    }))
                }
            };
            arguments.push(argument);
        }
        self.numbers += 1;
        let call = Call {
            site: self.numbers,
            target: Target::Function(number),
            arguments,
        };
        match function.returned {
            Returned::Number(_) => {
                let name = self.name("v");
                out.push(Statement::ProbeCall(name.clone(), call));
                self.scalars.push(name);
            }
            Returned::Object(ty, _) => {
                let name = self.name("s");
                out.push(Statement::ObjectCall(name.clone(), ty, call));
                self.objects.push((name, ty));
            }
        }
    }

    fn codes(&mut self, out: &mut Vec<Statement>) {
        let code = self.code(2);
        match self.random.below(8) {
            0 => {
                let name = self.name("c");
                out.push(Statement::DeclareCode(name.clone(), code));
                self.codes.push(name);
            }
            1 if !self.codes.is_empty() => {
                let name = self.random.pick(&self.codes).clone();
                out.push(Statement::AssignCode(name, code));
            }
            2 => {
                let name = self.name("t");
                let count = 1 + self.random.below(3);
                let list = (0..count).map(|_| self.random.below(3) as usize).collect();
                out.push(Statement::Table(name.clone(), list));
                self.tables.push((name, count));
            }
            3 => {
                let name = self.name("h");
                out.push(Statement::Holder(name.clone(), code));
                self.holders.push(name);
            }
            4 if !self.holders.is_empty() => {
                let name = self.random.pick(&self.holders).clone();
                out.push(Statement::AssignHolder(name, code));
            }
            kind => {
                let x = Argument::Number(self.expr(1));
                self.numbers += 1;
                let site = self.numbers;
                let call = match kind {
                    5 => Call {
                        site,
                        target: Target::Template,
                        arguments: vec![Argument::Code(code), x],
                    },
                    6 => Call {
                        site,
                        target: Target::Code(Code::Leaf(0)),
                        arguments: vec![Argument::Code(code), x],
                    },
                    _ => Call {
                        site,
                        target: Target::Code(code),
                        arguments: vec![x],
                    },
                };
                let name = self.name("v");
                out.push(Statement::ProbeCall(name.clone(), call));
                self.scalars.push(name);
            }
        }
    }

    fn code(&mut self, depth: u32) -> Code {
        let leaf = self.random.below(3) as usize;
        match self.random.below(9) {
            0..=2 if depth > 0 => Code::Conditional(
                Box::new(self.expr(1)),
                Box::new(self.code(depth - 1)),
                Box::new(self.code(depth - 1)),
            ),
            3 if !self.codes.is_empty() => Code::Variable(self.random.pick(&self.codes).clone()),
            4 if !self.tables.is_empty() => {
                let (name, count) = self.random.pick(&self.tables).clone();
                Code::Table(name, count, Box::new(self.expr(1)))
            }
            5 if !self.holders.is_empty() => Code::Member(self.random.pick(&self.holders).clone()),
            6 => Code::Picked(Box::new(self.expr(1))),
            7 => Code::Address(leaf),
            _ => Code::Leaf(leaf),
        }
    }

    /// A value of a type: a variable, a member of one, an element of a buffer, or one of two.
    fn object(&mut self, ty: Ty, depth: u32) -> Option<Object> {
        let Ty::Struct(number) = ty else {
            return self.variable(ty);
        };
        Some(match self.random.below(8) {
            0..=2 => self.stored(number),
            3 => {
                let parts = self.objects.iter();
                let parts: Vec<Part> = parts
                    .flat_map(|(name, whole)| self.program.parts_of(name, *whole, number))
                    .collect();
                match parts.is_empty() {
                    true => return self.variable(ty),
                    false => Object::Part(self.random.pick(&parts).clone()),
                }
            }
            // HLSL chooses between numbers and vectors.
            4 if depth > 0 && self.cuda() => Object::Conditional(
                self.expr(1),
                Box::new(self.object(ty, 0)?),
                Box::new(self.object(ty, 0)?),
            ),
            _ => return self.variable(ty),
        })
    }

    fn stored(&mut self, number: usize) -> Object {
        let method = !self.cuda() && self.random.percent(40);
        Object::Stored(number, self.expr(1), method)
    }

    fn variable(&mut self, ty: Ty) -> Option<Object> {
        let same = self.objects.iter().filter(|(_, other)| *other == ty);
        let same: Vec<String> = same.map(|(name, _)| name.clone()).collect();
        match same.is_empty() {
            true => None,
            false => Some(Object::Variable(self.random.pick(&same).clone())),
        }
    }

    fn any_object(&mut self) -> Option<(String, Ty)> {
        match self.objects.is_empty() {
            true => None,
            false => Some(self.random.pick(&self.objects).clone()),
        }
    }

    fn element(&mut self) -> Option<Element> {
        let (object, ty) = self.any_object()?;
        let leaves = self.program.leaves_of(ty);
        let leaf = self.random.pick(&leaves).clone();
        let index = self.index(&leaf);
        Some(Element {
            object,
            leaf,
            index,
        })
    }

    fn index(&mut self, leaf: &Leaf) -> Option<Box<Expr>> {
        leaf.array.map(|count| {
            Box::new(match self.random.percent(60) {
                true => Expr::Number(self.random.below(count)),
                false => self.expr(0),
            })
        })
    }

    fn member(&mut self) -> Expr {
        let number = self.random.below(self.program.structs.len() as u32) as usize;
        let leaves = self.program.leaves_of(Ty::Struct(number));
        let leaf = self.random.pick(&leaves).clone();
        let object = self.stored(number);
        let index = self.index(&leaf);
        Expr::Member(Box::new(object), leaf, index)
    }

    fn expr(&mut self, depth: u32) -> Expr {
        let anywhere = self.entry || self.cuda();
        match self.random.below(if depth == 0 { 8 } else { 15 }) {
            1 if anywhere => Expr::Thread,
            2 if anywhere => Expr::Group,
            3 if self.entry || !self.cuda() => Expr::Size,
            4 | 5 => match self.element() {
                Some(element) => Expr::Element(element),
                None => Expr::Number(self.random.below(9)),
            },
            0 => Expr::Number(self.random.below(40)),
            1..=7 => match self.scalars.is_empty() {
                true => Expr::Number(self.random.below(9)),
                false => Expr::Variable(self.random.pick(&self.scalars).clone()),
            },
            8 => Expr::Conditional(
                Box::new(self.expr(depth - 1)),
                Box::new(self.expr(depth - 1)),
                Box::new(self.expr(depth - 1)),
            ),
            10 => self.member(),
            9 if self.entry || !self.cuda() => Expr::Load(Box::new(self.expr(depth - 1))),
            _ => {
                let ops = ["+", "+", "*", "-", "&", "^", "|", "<", "=="];
                let op = *self.random.pick(&ops);
                Expr::Binary(
                    op,
                    Box::new(self.expr(depth - 1)),
                    Box::new(self.expr(depth - 1)),
                )
            }
        }
    }
}
