//! Executes a program's tree lane by lane, each with its own writes, and records the value at every probe.
//!
//! If lanes write one address without a barrier, each may read back its own value: the memory of globals
//! behaves so here.

use super::program::*;
use rustc_hash::FxHashMap;

pub(crate) const GROUP: u32 = 64;
pub(crate) const GROUPS: u32 = 2;
const STEPS: u32 = 20_000;

/// The calls on the way and the iterations around: lanes with equal ways are compared.
pub(crate) type Way = Vec<(u32, u32)>;

#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The values seen at each probe: the lane of the grid, its way, and the value.
    pub(crate) values: FxHashMap<String, Vec<(u32, Way, u32)>>,
}

/// Returns the contents of a buffer that is never written.
fn content(index: u32) -> u32 {
    (index & 63).wrapping_mul(0x9e37_79b9) >> 7
}

/// Returns the words of the object of this index in the buffer of structures of this number.
fn stored(number: usize, index: u32, size: u32) -> Vec<u32> {
    let first = number as u32 * 1009 + index * 271;
    (first..first + size).map(content_of).collect()
}

fn content_of(word: u32) -> u32 {
    word.wrapping_mul(0x85eb_ca6b) >> 9
}

/// `None`: it takes too long.
pub(crate) fn run(program: &Program, size: u32) -> Option<Seen> {
    let mut seen = Seen::default();
    for lane in 0..GROUP * GROUPS {
        let mut globals = FxHashMap::default();
        for global in &program.globals {
            let count = program.size(global.ty) as usize;
            let initial = match (global.ty, global.shared) {
                (Ty::Number, false) => global.initial,
                _ => 0,
            };
            globals.insert(global.name.clone(), vec![initial; count]);
        }
        let mut machine = Lane {
            program,
            lane,
            size,
            globals,
            way: Vec::new(),
            steps: 0,
            seen: &mut seen,
        };
        let given = program.given.iter().map(|(name, number)| {
            let size = program.size(Ty::Struct(*number));
            (name.clone(), stored(*number, STORED, size))
        });
        machine.call(program.functions.len() - 1, given.collect())?;
    }
    Some(seen)
}

type Frame = FxHashMap<String, Vec<u32>>;

struct Lane<'a> {
    program: &'a Program,
    lane: u32,
    size: u32,
    /// Globals, and static variables of functions.
    globals: Frame,
    way: Way,
    steps: u32,
    seen: &'a mut Seen,
}

impl Lane<'_> {
    fn call(&mut self, function: usize, mut frame: Frame) -> Option<(Vec<u32>, Frame)> {
        let program = self.program;
        let function = &program.functions[function];
        let early = self.statements(&function.body, &mut frame)?;
        let result = match (early, &function.returned) {
            (Some(value), _) => vec![value],
            (None, Returned::Number(e)) => vec![self.expr(e, &frame)],
            (None, Returned::Object(_, name)) => self.object(name, &frame),
        };
        Some((result, frame))
    }

    fn value(&self, object: &Object, frame: &Frame) -> Vec<u32> {
        match object {
            Object::Variable(name) => self.object(name, frame),
            Object::Part(part) => {
                let whole = self.object(&part.object, frame);
                whole[part.range()].to_vec()
            }
            Object::Stored(number, index, _) => {
                let index = self.expr(index, frame) & (STORED - 1);
                stored(*number, index, self.program.size(Ty::Struct(*number)))
            }
            Object::Conditional(c, a, b) => match self.expr(c, frame) & 1 {
                1 => self.value(a, frame),
                _ => self.value(b, frame),
            },
        }
    }

    fn object(&self, name: &str, frame: &Frame) -> Vec<u32> {
        let found = frame.get(name).or_else(|| self.globals.get(name));
        found.cloned().unwrap_or_else(|| panic!("`{name}`"))
    }

    fn place<'f>(&'f mut self, name: &str, frame: &'f mut Frame) -> &'f mut Vec<u32> {
        match frame.contains_key(name) {
            true => frame.get_mut(name),
            false => self.globals.get_mut(name),
        }
        .unwrap_or_else(|| panic!("`{name}`"))
    }

    fn note(&mut self, name: &str, value: u32) {
        let entry = self.seen.values.entry(name.to_owned()).or_default();
        entry.push((self.lane, self.way.clone(), value));
    }

    /// `None`: out of steps; `Some(Some(v))`: returned.
    fn statements(&mut self, list: &[Statement], frame: &mut Frame) -> Option<Option<u32>> {
        for statement in list {
            self.steps += 1;
            if self.steps > STEPS {
                return None;
            }
            if let Some(value) = self.statement(statement, frame)? {
                return Some(Some(value));
            }
        }
        Some(None)
    }

    fn statement(&mut self, statement: &Statement, frame: &mut Frame) -> Option<Option<u32>> {
        match statement {
            Statement::Probe(name, e) => {
                let value = self.expr(e, frame);
                self.note(name, value);
                frame.insert(name.clone(), vec![value]);
            }
            Statement::ProbeCall(name, call) => {
                let value = self.called(call, frame)?[0];
                self.note(name, value);
                frame.insert(name.clone(), vec![value]);
            }
            Statement::Declare(name, e) => {
                let value = self.expr(e, frame);
                frame.insert(name.clone(), vec![value]);
            }
            Statement::Assign(name, e) => {
                let value = self.expr(e, frame);
                self.place(name, frame)[0] = value;
            }
            Statement::AssignElement(to, e) => {
                let value = self.expr(e, frame);
                let at = self.offset(to, frame);
                self.place(&to.object, frame)[at] = value;
            }
            Statement::Object(name, ty, leaves, e) => {
                let base = self.expr(e, frame);
                let mut values = vec![0; self.program.size(*ty) as usize];
                for leaf in leaves {
                    for at in 0..leaf.array.unwrap_or(1) {
                        values[(leaf.offset + at) as usize] = base.wrapping_add(at);
                    }
                }
                frame.insert(name.clone(), values);
            }
            Statement::ObjectCall(name, _, call) => {
                let values = self.called(call, frame)?;
                frame.insert(name.clone(), values);
            }
            Statement::ObjectCopy(name, _, from) => {
                let values = self.value(from, frame);
                frame.insert(name.clone(), values);
            }
            Statement::Copy(to, from) => {
                let values = self.value(from, frame);
                *self.place(to, frame) = values;
            }
            Statement::CopyPart(to, from) => {
                let values = self.value(from, frame);
                self.place(&to.object, frame)[to.range()].copy_from_slice(&values);
            }
            Statement::If(condition, then, otherwise) => {
                let list = match self.expr(condition, frame) {
                    0 => otherwise,
                    _ => then,
                };
                return self.statements(list, frame);
            }
            Statement::For(name, number, bound, body) => {
                let mut at = 0;
                // The bound is evaluated before each iteration.
                while at < self.expr(bound, frame) & 3 {
                    frame.insert(name.clone(), vec![at]);
                    self.way.push((*number, at));
                    let result = self.statements(body, frame)?;
                    self.way.pop();
                    if result.is_some() {
                        return Some(result);
                    }
                    at += 1;
                }
            }
            Statement::ReturnIf(condition, e) => {
                if self.expr(condition, frame) != 0 {
                    return Some(Some(self.expr(e, frame)));
                }
            }
            Statement::Static(name, initial) => {
                self.globals.entry(name.clone()).or_insert(vec![*initial]);
            }
            Statement::DeclareCode(name, code) | Statement::Holder(name, code) => {
                let value = self.code(code, frame);
                frame.insert(name.clone(), vec![value]);
            }
            Statement::AssignCode(name, code) | Statement::AssignHolder(name, code) => {
                let value = self.code(code, frame);
                self.place(name, frame)[0] = value;
            }
            Statement::Table(name, list) => {
                let list = list.iter().map(|&leaf| leaf as u32).collect();
                frame.insert(name.clone(), list);
            }
        }
        Some(None)
    }

    fn offset(&self, element: &Element, frame: &Frame) -> usize {
        self.offset_of(&element.leaf, element.index.as_deref(), frame)
    }

    fn offset_of(&self, leaf: &Leaf, index: Option<&Expr>, frame: &Frame) -> usize {
        let at = match (index, leaf.array) {
            (Some(index), Some(count)) => self.expr(index, frame) % count,
            _ => 0,
        };
        (leaf.offset + at) as usize
    }

    fn expr(&self, e: &Expr, frame: &Frame) -> u32 {
        match e {
            Expr::Number(number) => *number,
            Expr::Variable(name) => self.object(name, frame)[0],
            Expr::Element(element) => {
                self.object(&element.object, frame)[self.offset(element, frame)]
            }
            Expr::Thread => self.lane % GROUP,
            Expr::Group => self.lane / GROUP,
            Expr::Size => self.size,
            Expr::Member(object, leaf, index) => {
                self.value(object, frame)[self.offset_of(leaf, index.as_deref(), frame)]
            }
            Expr::Load(index) => content(self.expr(index, frame)),
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.expr(a, frame), self.expr(b, frame));
                match *op {
                    "+" => a.wrapping_add(b),
                    "-" => a.wrapping_sub(b),
                    "*" => a.wrapping_mul(b),
                    "&" => a & b,
                    "|" => a | b,
                    "^" => a ^ b,
                    "<" => u32::from(a < b),
                    "==" => u32::from(a == b),
                    other => panic!("{other}"),
                }
            }
            Expr::Conditional(c, a, b) => match self.expr(c, frame) & 1 {
                1 => self.expr(a, frame),
                _ => self.expr(b, frame),
            },
        }
    }

    fn code(&self, code: &Code, frame: &Frame) -> u32 {
        match code {
            Code::Leaf(leaf) | Code::Address(leaf) => *leaf as u32,
            Code::Variable(name) | Code::Member(name) => self.object(name, frame)[0],
            Code::Table(name, count, index) => {
                let at = self.expr(index, frame) % count;
                self.object(name, frame)[at as usize]
            }
            Code::Conditional(c, a, b) => match self.expr(c, frame) & 1 {
                1 => self.code(a, frame),
                _ => self.code(b, frame),
            },
            Code::Picked(e) => 1 - (self.expr(e, frame) & 1),
        }
    }

    fn called(&mut self, call: &Call, frame: &mut Frame) -> Option<Vec<u32>> {
        self.way.push((call.site, u32::MAX));
        let result = match &call.target {
            Target::Function(number) => {
                let parameters = &self.program.functions[*number].parameters;
                let mut inner = Frame::default();
                let mut back = Vec::new();
                for (parameter, argument) in parameters.iter().zip(&call.arguments) {
                    let value = match argument {
                        Argument::Number(e) => vec![self.expr(e, frame)],
                        Argument::Object(object) => self.value(object, frame),
                        Argument::Place(name) => {
                            back.push((name, &parameter.name));
                            self.object(name, frame)
                        }
                        Argument::Code(code) => vec![self.code(code, frame)],
                    };
                    inner.insert(parameter.name.clone(), value);
                }
                let (result, after) = self.call(*number, inner)?;
                for (name, parameter) in back {
                    *self.place(name, frame) = after[parameter].clone();
                }
                result
            }
            Target::Code(_) | Target::Template => {
                let code = call.arguments.iter().find_map(|argument| match argument {
                    Argument::Code(code) => Some(code),
                    _ => None,
                });
                let code = match (&call.target, code) {
                    (_, Some(code)) | (Target::Code(code), None) => code,
                    _ => panic!("a call of nothing"),
                };
                let (factor, sum) = self.program.leaves[self.code(code, frame) as usize];
                let x = call.arguments.iter().find_map(|argument| match argument {
                    Argument::Number(e) => Some(self.expr(e, frame)),
                    _ => None,
                });
                vec![x.unwrap_or(0).wrapping_mul(factor).wrapping_add(sum)]
            }
        };
        self.way.pop();
        Some(result)
    }
}
