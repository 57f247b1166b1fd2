//! Programs of several functions, as trees: they are printed for the front end, and executed by `run` without
//! it.

use std::fmt::Write as _;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dialect {
    Cuda,
    Hlsl,
}

/// A type; numbers are `unsigned`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ty {
    Number,
    Struct(usize),
    Array(u32),
    /// A pointer to a function of one number.
    Code,
}

#[derive(Clone, Debug)]
pub(crate) enum Field {
    Scalar,
    Array(u32),
    /// A matrix of four rows and columns; HLSL's.
    Matrix,
    Nested(usize),
}

/// A run of numbers inside an object: how it is written behind the object's name, where it lies, and its length if it is
/// an array.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    pub(crate) path: String,
    pub(crate) offset: u32,
    pub(crate) array: Option<u32>,
    /// The array is a matrix's elements, row by row.
    pub(crate) matrix: bool,
}

impl Leaf {
    /// An element of the array.
    fn at(&self, index: &str) -> String {
        match self.matrix {
            true => format!("[({index}) / 4u][({index}) % 4u]"),
            false => format!("[{index}]"),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Expr {
    Number(u32),
    Variable(String),
    Element(Element),
    Thread,
    Group,
    /// The same in all threads, and not known.
    Size,
    /// The contents of a buffer that is never written.
    Load(Box<Expr>),
    /// A number inside an object of a buffer.
    Member(Box<Object>, Leaf, Option<Box<Expr>>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
}

#[derive(Clone, Debug)]
pub(crate) struct Element {
    pub(crate) object: String,
    pub(crate) leaf: Leaf,
    /// The index of an array, modulo its length.
    pub(crate) index: Option<Box<Expr>>,
}

/// An object as an operand: a value of its type.
#[derive(Clone, Debug)]
pub(crate) enum Object {
    Variable(String),
    /// A member that is a structure.
    Part(Part),
    /// An element of the buffer of structures of this number, modulo `STORED`; in HLSL by `Load` or by brackets.
    Stored(usize, Expr, bool),
    Conditional(Expr, Box<Object>, Box<Object>),
}

/// Elements of each buffer of structures.
pub(crate) const STORED: u32 = 4;

/// A member that is a structure: how it is written behind the object's name, where it lies, and its size.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) object: String,
    pub(crate) path: String,
    pub(crate) offset: u32,
    pub(crate) size: u32,
}

impl Part {
    pub(crate) fn range(&self) -> std::ops::Range<usize> {
        let first = self.offset as usize;
        first..first + self.size as usize
    }
}

/// A pointer to a function.
#[derive(Clone, Debug)]
pub(crate) enum Code {
    Leaf(usize),
    Address(usize),
    Variable(String),
    Table(String, u32, Box<Expr>),
    Member(String),
    Conditional(Box<Expr>, Box<Code>, Box<Code>),
    /// The result of `pick`.
    Picked(Box<Expr>),
}

#[derive(Clone, Debug)]
pub(crate) enum Argument {
    Number(Expr),
    Object(Object),
    /// A variable that the callee may write.
    Place(String),
    Code(Code),
}

/// A call, with a number of its own.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) site: u32,
    pub(crate) target: Target,
    pub(crate) arguments: Vec<Argument>,
}

#[derive(Clone, Debug)]
pub(crate) enum Target {
    Function(usize),
    Code(Code),
    /// A template whose argument's type is that of its argument.
    Template,
}

#[derive(Clone, Debug)]
pub(crate) enum Statement {
    /// A variable that is written once: the facts shown for it are compared with its values.
    Probe(String, Expr),
    ProbeCall(String, Call),
    Declare(String, Expr),
    Assign(String, Expr),
    AssignElement(Element, Expr),
    Object(String, Ty, Vec<Leaf>, Expr),
    ObjectCall(String, Ty, Call),
    ObjectCopy(String, Ty, Object),
    Copy(String, Object),
    CopyPart(Part, Object),
    If(Expr, Vec<Statement>, Vec<Statement>),
    /// `for (i = 0; i < (bound & 3); ++i)`, with a number of its own.
    For(String, u32, Expr, Vec<Statement>),
    ReturnIf(Expr, Expr),
    Static(String, u32),
    DeclareCode(String, Code),
    AssignCode(String, Code),
    Table(String, Vec<usize>),
    /// A structure that holds a pointer.
    Holder(String, Code),
    AssignHolder(String, Code),
}

#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) ty: Ty,
    pub(crate) written: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Returned {
    Number(Expr),
    Object(Ty, String),
}

#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Vec<Statement>,
    pub(crate) returned: Returned,
}

/// A global that lanes write, each for itself.
#[derive(Clone, Debug)]
pub(crate) struct Global {
    pub(crate) name: String,
    pub(crate) ty: Ty,
    pub(crate) initial: u32,
    /// `groupshared`
    pub(crate) shared: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) dialect: Dialect,
    pub(crate) structs: Vec<Vec<Field>>,
    pub(crate) globals: Vec<Global>,
    /// Structures that a kernel takes by value, by name.
    pub(crate) given: Vec<(String, usize)>,
    /// Bodies `x * a + b` of functions that pointers lead to.
    pub(crate) leaves: Vec<(u32, u32)>,
    /// The last is the entry; a function calls those before it.
    pub(crate) functions: Vec<Function>,
}

impl Program {
    pub(crate) fn size(&self, ty: Ty) -> u32 {
        match ty {
            Ty::Number | Ty::Code => 1,
            Ty::Array(count) => count,
            Ty::Struct(number) => (self.structs[number].iter())
                .map(|field| match field {
                    Field::Scalar => 1,
                    Field::Array(count) => *count,
                    Field::Matrix => 16,
                    Field::Nested(inner) => self.size(Ty::Struct(*inner)),
                })
                .sum(),
        }
    }

    pub(crate) fn leaves_of(&self, ty: Ty) -> Vec<Leaf> {
        let mut out = Vec::new();
        self.add_leaves(ty, "", 0, &mut out);
        out
    }

    /// Members that are structures of this number.
    pub(crate) fn parts_of(&self, object: &str, ty: Ty, wanted: usize) -> Vec<Part> {
        let mut out = Vec::new();
        let mut open = vec![(ty, String::new(), 0)];
        while let Some((ty, path, offset)) = open.pop() {
            let Ty::Struct(number) = ty else { continue };
            let mut at = offset;
            for (member, field) in self.structs[number].iter().enumerate() {
                let path = format!("{path}.m{member}");
                let inner = match field {
                    Field::Scalar => Ty::Number,
                    Field::Array(count) => Ty::Array(*count),
                    Field::Matrix => Ty::Array(16),
                    Field::Nested(inner) => Ty::Struct(*inner),
                };
                if inner == Ty::Struct(wanted) {
                    out.push(Part {
                        object: object.to_owned(),
                        path: path.clone(),
                        offset: at,
                        size: self.size(inner),
                    });
                }
                open.push((inner, path, at));
                at += self.size(inner);
            }
        }
        out
    }

    fn add_leaves(&self, ty: Ty, path: &str, offset: u32, out: &mut Vec<Leaf>) {
        match ty {
            Ty::Number | Ty::Code => {}
            Ty::Array(count) => out.push(Leaf {
                path: path.into(),
                offset,
                array: Some(count),
                matrix: false,
            }),
            Ty::Struct(number) => {
                let mut at = offset;
                for (member, field) in self.structs[number].iter().enumerate() {
                    let path = format!("{path}.m{member}");
                    match field {
                        Field::Scalar => out.push(Leaf {
                            path,
                            offset: at,
                            array: None,
                            matrix: false,
                        }),
                        Field::Matrix => out.push(Leaf {
                            path,
                            offset: at,
                            array: Some(16),
                            matrix: true,
                        }),
                        Field::Array(count) => self.add_leaves(Ty::Array(*count), &path, at, out),
                        Field::Nested(inner) => {
                            self.add_leaves(Ty::Struct(*inner), &path, at, out);
                        }
                    }
                    at += match field {
                        Field::Scalar => 1,
                        Field::Array(count) => *count,
                        Field::Matrix => 16,
                        Field::Nested(inner) => self.size(Ty::Struct(*inner)),
                    };
                }
            }
        }
    }

    pub(crate) fn text(&self) -> String {
        let mut printer = Printer {
            program: self,
            out: String::new(),
        };
        printer.program();
        printer.out
    }

    fn hlsl(&self) -> bool {
        self.dialect == Dialect::Hlsl
    }
}

struct Printer<'p> {
    program: &'p Program,
    out: String,
}

impl Printer<'_> {
    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.out, "{:1$}{text}", "", 2 * depth);
    }

    fn number(&self) -> &'static str {
        match self.program.dialect {
            Dialect::Cuda => "unsigned",
            Dialect::Hlsl => "uint",
        }
    }

    /// A declaration of a name.
    fn declared(&self, ty: Ty, name: &str) -> String {
        match ty {
            Ty::Number => format!("{} {name}", self.number()),
            Ty::Struct(number) => format!("S{number} {name}"),
            Ty::Array(count) => format!("{} {name}[{count}]", self.number()),
            Ty::Code => format!("FP {name}"),
        }
    }

    fn program(&mut self) {
        let program = self.program;
        let hlsl = program.hlsl();
        let device = if hlsl { "" } else { "__device__ " };
        if hlsl {
            self.line(0, "cbuffer C { uint n; };");
            self.line(0, "Buffer<uint> from;");
            self.line(0, "RWStructuredBuffer<uint> to;");
        } else {
            self.line(0, "typedef unsigned (*FP)(unsigned);");
            self.line(0, "struct Holder { FP f; unsigned n; };");
        }
        for (number, fields) in program.structs.iter().enumerate() {
            self.line(0, &format!("struct S{number} {{"));
            for (member, field) in fields.iter().enumerate() {
                let ty = match field {
                    Field::Scalar => Ty::Number,
                    Field::Array(count) => Ty::Array(*count),
                    Field::Matrix => {
                        self.line(1, &format!("uint4x4 m{member};"));
                        continue;
                    }
                    Field::Nested(inner) => Ty::Struct(*inner),
                };
                let text = self.declared(ty, &format!("m{member};"));
                // The count of an array stands in front of the semicolon.
                let text = match ty {
                    Ty::Array(count) => format!("{} m{member}[{count}];", self.number()),
                    _ => text,
                };
                self.line(1, &text);
            }
            self.line(0, "};");
            let text = match hlsl {
                true => format!("StructuredBuffer<S{number}> stored{number};"),
                false => format!("__constant__ S{number} stored{number}[{STORED}];"),
            };
            self.line(0, &text);
        }
        for global in &program.globals {
            let declared = self.declared(global.ty, &global.name);
            let initial = match (global.ty, global.shared) {
                (Ty::Number, false) => format!(" = {}u", global.initial),
                _ => String::new(),
            };
            let words = match (hlsl, global.shared) {
                (true, true) => "groupshared",
                (true, false) => "static",
                (false, _) => "__device__",
            };
            self.line(0, &format!("{words} {declared}{initial};"));
        }
        if !hlsl {
            for (number, (factor, sum)) in program.leaves.iter().enumerate() {
                let text = format!(
                    "__device__ unsigned leaf{number}(unsigned x) {{ return x * {factor}u + {sum}u; }}"
                );
                self.line(0, &text);
            }
            self.line(
                0,
                "__device__ FP pick(unsigned c) { return c ? leaf0 : leaf1; }",
            );
            self.line(
                0,
                "__device__ unsigned apply(FP f, unsigned x) { unsigned r = f(x); return r; }",
            );
            self.line(
                0,
                "template <class F> __device__ unsigned generic(F f, unsigned x) { unsigned r = f(x); return r; }",
            );
        }
        let last = program.functions.len() - 1;
        for (number, function) in program.functions.iter().enumerate() {
            let parameters: Vec<String> = if number == last && hlsl {
                vec![
                    "uint tid : SV_GroupIndex".into(),
                    "uint3 gid : SV_GroupID".into(),
                ]
            } else if number == last {
                let known = ["unsigned* to", "const unsigned* from", "unsigned n"];
                let given = program.given.iter();
                let given = given.map(|(name, number)| format!("S{number} {name}"));
                known.map(String::from).into_iter().chain(given).collect()
            } else {
                let list = function.parameters.iter().map(|p| match (p.written, hlsl) {
                    (false, _) => self.declared(p.ty, &p.name),
                    (true, true) => format!("inout {}", self.declared(p.ty, &p.name)),
                    (true, false) => self.declared(p.ty, &format!("&{}", p.name)),
                });
                list.collect()
            };
            let returns = match &function.returned {
                _ if number == last => "void".into(),
                Returned::Number(_) => self.number().to_owned(),
                Returned::Object(ty, _) => self.declared(*ty, "").trim().to_owned(),
            };
            let head = match (number == last, hlsl) {
                (true, true) => "[numthreads(64, 1, 1)]\n",
                (true, false) => "__global__ ",
                (false, _) => device,
            };
            let name = &function.name;
            self.line(
                0,
                &format!("{head}{returns} {name}({}) {{", parameters.join(", ")),
            );
            self.statements(1, &function.body);
            match &function.returned {
                Returned::Number(e) if number == last => {
                    let at = if hlsl { "tid" } else { "threadIdx.x" };
                    let e = self.expr(e);
                    self.line(1, &format!("to[{at}] = {e};"));
                }
                Returned::Number(e) => {
                    let e = self.expr(e);
                    self.line(1, &format!("return {e};"));
                }
                Returned::Object(_, name) => self.line(1, &format!("return {name};")),
            }
            self.line(0, "}");
        }
    }

    fn statements(&mut self, depth: usize, list: &[Statement]) {
        for statement in list {
            self.statement(depth, statement);
        }
    }

    fn statement(&mut self, depth: usize, statement: &Statement) {
        let number = self.number();
        let text = match statement {
            Statement::Probe(name, e) | Statement::Declare(name, e) => {
                format!("{number} {name} = {};", self.expr(e))
            }
            Statement::ProbeCall(name, call) => format!("{number} {name} = {};", self.call(call)),
            Statement::Assign(name, e) => format!("{name} = {};", self.expr(e)),
            Statement::AssignElement(to, e) => format!("{} = {};", self.element(to), self.expr(e)),
            Statement::Object(name, ty, leaves, e) => {
                let declared = self.declared(*ty, name);
                self.line(depth, &format!("{declared};"));
                let e = self.expr(e);
                for leaf in leaves {
                    let path = &leaf.path;
                    let text = match leaf.array {
                        None => format!("{name}{path} = {e};"),
                        Some(count) => format!(
                            "for ({number} q = 0; q < {count}u; ++q) {name}{path}{} = ({e}) + q;",
                            leaf.at("q")
                        ),
                    };
                    self.line(depth, &text);
                }
                return;
            }
            Statement::ObjectCall(name, ty, call) => {
                format!("{} = {};", self.declared(*ty, name), self.call(call))
            }
            Statement::ObjectCopy(name, ty, from) => {
                format!("{} = {};", self.declared(*ty, name), self.object(from))
            }
            Statement::Copy(to, from) => format!("{to} = {};", self.object(from)),
            Statement::CopyPart(to, from) => {
                format!("{}{} = {};", to.object, to.path, self.object(from))
            }
            Statement::If(condition, then, otherwise) => {
                let condition = self.expr(condition);
                self.line(depth, &format!("if ({condition}) {{"));
                self.statements(depth + 1, then);
                if !otherwise.is_empty() {
                    self.line(depth, "} else {");
                    self.statements(depth + 1, otherwise);
                }
                "}".into()
            }
            Statement::For(name, _, bound, body) => {
                let bound = self.expr(bound);
                let text =
                    format!("for ({number} {name} = 0; {name} < ({bound} & 3u); ++{name}) {{");
                self.line(depth, &text);
                self.statements(depth + 1, body);
                "}".into()
            }
            Statement::ReturnIf(condition, e) => {
                format!("if ({}) return {};", self.expr(condition), self.expr(e))
            }
            Statement::Static(name, initial) => format!("static {number} {name} = {initial}u;"),
            Statement::DeclareCode(name, code) => format!("FP {name} = {};", self.code(code)),
            Statement::AssignCode(name, code) => format!("{name} = {};", self.code(code)),
            Statement::Table(name, list) => {
                let list: Vec<String> = list.iter().map(|leaf| format!("leaf{leaf}")).collect();
                format!("const FP {name}[{}] = {{{}}};", list.len(), list.join(", "))
            }
            Statement::Holder(name, code) => {
                let code = self.code(code);
                format!("Holder {name}; {name}.f = {code}; {name}.n = 1u;")
            }
            Statement::AssignHolder(name, code) => format!("{name}.f = {};", self.code(code)),
        };
        self.line(depth, &text);
    }

    fn element(&self, element: &Element) -> String {
        let Element {
            object,
            leaf,
            index,
        } = element;
        match (index, leaf.array) {
            (Some(index), Some(count)) => match &**index {
                Expr::Number(known) => {
                    let index = leaf.at(&(known % count).to_string());
                    format!("{object}{}{index}", leaf.path)
                }
                other => {
                    let index = leaf.at(&format!("{} % {count}u", self.expr(other)));
                    format!("{object}{}{index}", leaf.path)
                }
            },
            _ => format!("{object}{}", leaf.path),
        }
    }

    fn object(&self, object: &Object) -> String {
        match object {
            Object::Variable(name) => name.clone(),
            Object::Part(part) => format!("{}{}", part.object, part.path),
            Object::Stored(number, index, method) => {
                let index = format!("{} & {}u", self.expr(index), STORED - 1);
                match method {
                    true => format!("stored{number}.Load({index})"),
                    false => format!("stored{number}[{index}]"),
                }
            }
            Object::Conditional(c, a, b) => {
                let (c, a, b) = (self.expr(c), self.object(a), self.object(b));
                format!("(({c} & 1u) ? {a} : {b})")
            }
        }
    }

    fn expr(&self, e: &Expr) -> String {
        let hlsl = self.program.hlsl();
        match e {
            Expr::Number(number) => format!("{number}u"),
            Expr::Variable(name) => name.clone(),
            Expr::Element(element) => self.element(element),
            Expr::Thread => if hlsl { "tid" } else { "threadIdx.x" }.into(),
            Expr::Group => if hlsl { "gid.x" } else { "blockIdx.x" }.into(),
            Expr::Size => "n".into(),
            Expr::Load(index) => format!("from[{} & 63u]", self.expr(index)),
            Expr::Member(object, leaf, index) => {
                let object = self.object(object);
                let (leaf, index) = (leaf.clone(), index.clone());
                self.element(&Element {
                    object,
                    leaf,
                    index,
                })
            }
            Expr::Binary(op, a, b) => format!("({} {op} {})", self.expr(a), self.expr(b)),
            Expr::Conditional(c, a, b) => {
                let condition = format!("({} & 1u)", self.expr(c));
                let condition = if hlsl {
                    format!("({condition} != 0u)")
                } else {
                    condition
                };
                format!("({condition} ? {} : {})", self.expr(a), self.expr(b))
            }
        }
    }

    fn code(&self, code: &Code) -> String {
        match code {
            Code::Leaf(leaf) => format!("leaf{leaf}"),
            Code::Address(leaf) => format!("&leaf{leaf}"),
            Code::Variable(name) => name.clone(),
            Code::Table(name, count, index) => format!("{name}[{} % {count}u]", self.expr(index)),
            Code::Member(name) => format!("{name}.f"),
            Code::Conditional(c, a, b) => {
                format!(
                    "(({} & 1u) ? {} : {})",
                    self.expr(c),
                    self.code(a),
                    self.code(b)
                )
            }
            Code::Picked(e) => format!("pick({} & 1u)", self.expr(e)),
        }
    }

    fn call(&self, call: &Call) -> String {
        let arguments = call.arguments.iter().map(|argument| match argument {
            Argument::Number(e) => self.expr(e),
            Argument::Object(object) => self.object(object),
            Argument::Place(name) => name.clone(),
            Argument::Code(code) => self.code(code),
        });
        let arguments: Vec<String> = arguments.collect();
        let target = match &call.target {
            Target::Function(number) => self.program.functions[*number].name.clone(),
            Target::Code(code) => match (code, &call.arguments[..]) {
                // `apply` is the function that is given the pointer.
                (Code::Address(_), [Argument::Number(_)]) => format!("({})", self.code(code)),
                (code, [Argument::Number(_)]) => self.code(code),
                _ => "apply".into(),
            },
            Target::Template => "generic".into(),
        };
        format!("{target}({})", arguments.join(", "))
    }
}
