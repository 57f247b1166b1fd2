//! Statements: loops with early exits, conditions, assignments and stores.

use super::expressions::{PLAIN_INT, element_bound};
use super::{Array, Maker, Role, Scalar, Variable};

/// Nesting of loops.
const DEEPEST: u32 = 2;

impl Maker<'_> {
    pub(super) fn body(&mut self) {
        self.found();
        for _ in 0..1 + self.random.below(3) {
            self.local();
        }
        if self.random.percent(10) {
            self.local_array();
        }
        let loops = 1 + self.random.below(2);
        for _ in 0..loops {
            if self.random.percent(30) {
                self.simple(2);
            }
            self.loop_statement();
        }
        if self.random.percent(25) {
            self.conditional(1);
        }
        self.search();
        if self.label {
            self.indent -= 1;
            self.line("done:;");
            self.indent += 1;
        }
        self.result();
    }

    /// `return e;` of the last values.
    fn result(&mut self) {
        let Some(ty) = self.returns else {
            return;
        };
        let names: Vec<String> = self
            .variables
            .iter()
            .filter(|v| !matches!(v.role, Role::Fixed { .. }))
            .map(|v| match v.ty.is_float() && !ty.is_float() {
                true => format!(
                    "({0} > -1e3 && {0} < 1e3 ? (unsigned long)(long)({0} * 64) : 3)",
                    v.name
                ),
                false => format!("({}){}", returned(ty), v.name),
            })
            .collect();
        match names.is_empty() {
            true => self.line("return 0;"),
            false => {
                let text = format!("return ({})({});", ty.text(), names.join(" + "));
                self.line(&text);
            }
        }
    }

    /// A declaration with an initial value.
    fn local(&mut self) {
        use Scalar::{Double, Float, Int, Long, Unsigned, UnsignedLong};
        let all = [
            Int,
            Long,
            Double,
            Unsigned,
            Float,
            UnsignedLong,
            Long,
            Double,
        ];
        let ty = *self.random.pick(&all);
        let role = match self.random.below(3) {
            0 if ty == Int => Role::Counter,
            1 if ty != Int => Role::Sum,
            0 => Role::Sum,
            _ => Role::Plain,
        };
        let role = if role == Role::Sum && ty == Int {
            Role::Counter
        } else {
            role
        };
        let name = self.fresh(match role {
            Role::Sum => "s",
            Role::Counter => "q",
            _ => "v",
        });
        let value = match self.random.percent(60) {
            true => "0".to_owned(),
            false if role == Role::Counter => "3".to_owned(),
            false => self.of_type(ty, 1).text,
        };
        let text = format!("{} {name} = {value};", ty.text());
        self.line(&text);
        self.variables.push(Variable { name, ty, role });
    }

    fn local_array(&mut self) {
        let element = *self
            .random
            .pick(&[Scalar::Int, Scalar::Unsigned, Scalar::Double]);
        let name = self.fresh("t");
        let text = format!("{} {name}[8] = {{1, 2, 3}};", element.text());
        self.line(&text);
        self.arrays.push(Array {
            name,
            element,
            written: true,
            mask: Some(7),
            string: false,
        });
    }

    /// A loop in one of its forms.
    fn loop_statement(&mut self) {
        let (variables, indices) = (self.variables.len(), self.indices.len());
        let limit = match self.random.below(5) {
            0 => "m".to_owned(),
            1 => (1 + self.random.below(12)).to_string(),
            _ => "n".to_owned(),
        };
        let ty = *self.random.pick(&["long", "int", "long", "unsigned"]);
        let i = self.fresh("i");
        let index = if ty == "unsigned" {
            format!("(long){i}")
        } else {
            i.clone()
        };
        match self.random.below(10) {
            0..=3 => {
                let step = match self.random.below(5) {
                    0 => format!("{i} += 2"),
                    1 => format!("++{i}"),
                    _ => format!("{i}++"),
                };
                let bound = if ty == "unsigned" {
                    format!("(unsigned){limit}")
                } else {
                    limit
                };
                let head = format!("for ({ty} {i} = 0; {i} < {bound}; {step}) {{");
                self.block(&head, Some(index), "}");
            }
            4 => {
                let ty = if ty == "unsigned" { "long" } else { ty };
                let head = format!("for ({ty} {i} = {limit} - 1; {i} >= 0; {i}--) {{");
                self.block(&head, Some(i), "}");
            }
            5 => {
                // The condition looks at memory, too.
                self.line(&format!("long {i} = 0;"));
                self.indices.push(i.clone());
                let more = self.condition(1);
                self.indices.pop();
                let head = format!("while ({i} < {limit} && {more}) {{");
                self.counted(&head, i, "}");
            }
            6 => {
                self.line(&format!("long {i} = 0;"));
                self.counted("do {", i.clone(), &format!("}} while ({i} < {limit});"));
            }
            7 => self.over_pointer(&limit),
            8 if self.arrays.iter().any(|a| a.string) => self.over_string(),
            _ => {
                self.line(&format!("int {i} = 0;"));
                let head = "for (;;) {";
                self.line(head);
                self.indent += 1;
                self.line(&format!("if ({i} >= {limit}) break;"));
                self.indent -= 1;
                self.counted("{", i, "}");
                self.line("}");
            }
        }
        self.variables.truncate(variables);
        self.indices.truncate(indices);
    }

    /// A body without `continue` that ends with the step of its index.
    pub(super) fn counted(&mut self, head: &str, index: String, tail: &str) {
        self.line(head);
        self.indent += 1;
        self.indices.push(index.clone());
        self.loops += 1;
        self.statements(false);
        self.loops -= 1;
        self.line(&format!("{index}++;"));
        self.indent -= 1;
        self.indices.pop();
        self.line(tail);
    }

    fn block(&mut self, head: &str, index: Option<String>, tail: &str) {
        self.line(head);
        self.indent += 1;
        self.indices.extend(index.clone());
        self.loops += 1;
        self.statements(true);
        self.loops -= 1;
        if index.is_some() {
            self.indices.pop();
        }
        self.indent -= 1;
        self.line(tail);
    }

    /// `for (p = a; p != a + n; p++)`
    fn over_pointer(&mut self, limit: &str) {
        let candidates: Vec<Array> = self
            .arrays
            .iter()
            .filter(|a| a.mask.is_none())
            .cloned()
            .collect();
        if candidates.is_empty() {
            return self.line(";");
        }
        let array = self.random.pick(&candidates).clone();
        let (p, x) = (self.fresh("p"), self.fresh("x"));
        let (element, name) = (array.element.text(), &array.name);
        let head =
            format!("for (const {element} *{p} = {name}; {p} != {name} + {limit}; {p}++) {{");
        self.line(&head);
        self.indent += 1;
        self.line(&format!("{element} {x} = *{p};"));
        let bound = element_bound(array.element);
        self.variables.push(Variable {
            name: x,
            ty: array.element,
            role: Role::Fixed { bound },
        });
        self.loops += 1;
        self.statements(true);
        self.loops -= 1;
        self.variables.pop();
        self.indent -= 1;
        self.line("}");
    }

    /// `while (*p)`: the string ends within the counted elements.
    fn over_string(&mut self) {
        let strings: Vec<Array> = self.arrays.iter().filter(|a| a.string).cloned().collect();
        let array = self.random.pick(&strings).clone();
        let (p, x) = (self.fresh("p"), self.fresh("x"));
        self.line(&format!("const unsigned char *{p} = {};", array.name));
        self.line(&format!("while (*{p}) {{"));
        self.indent += 1;
        self.line(&format!("int {x} = *{p}++;"));
        self.variables.push(Variable {
            name: x,
            ty: Scalar::Int,
            role: Role::Fixed { bound: 255 },
        });
        self.loops += 1;
        self.statements(true);
        self.loops -= 1;
        self.variables.pop();
        self.indent -= 1;
        self.line("}");
    }

    /// A loop's body, with up to three ways out.
    fn statements(&mut self, skips: bool) {
        let (variables, arrays) = (self.variables.len(), self.arrays.len());
        let exits = match self.random.below(10) {
            0..=2 => 0,
            3..=6 => 1,
            7 | 8 => 2,
            _ => 3,
        };
        let mut left = exits;
        for _ in 0..1 + self.random.below(3) {
            if left > 0 && self.random.percent(60) {
                left -= 1;
                self.exit();
            }
            match self.random.below(12) {
                0 if skips => {
                    let condition = self.condition(2);
                    self.line(&format!("if ({condition}) continue;"));
                }
                1..=2 => self.conditional(2),
                3 if self.loops < DEEPEST => self.loop_statement(),
                4 if self.random.percent(50) => self.switch(),
                5 => {
                    let ty = *self.random.pick(&[
                        Scalar::Int,
                        Scalar::Double,
                        Scalar::Float,
                        Scalar::Unsigned,
                        Scalar::Long,
                    ]);
                    let value = self.of_type(ty, 2);
                    let name = self.fresh("w");
                    self.line(&format!("const {} {name} = {};", ty.text(), value.text));
                    let bound = value.bound.max(PLAIN_INT);
                    self.variables.push(Variable {
                        name,
                        ty,
                        role: Role::Fixed { bound },
                    });
                }
                _ => self.simple(3),
            }
        }
        for _ in 0..left {
            self.exit();
        }
        if exits == 0 || self.random.percent(50) {
            self.simple(3);
        }
        self.variables.truncate(variables);
        self.arrays.truncate(arrays);
    }

    /// A way out of the loops around.
    fn exit(&mut self) {
        let condition = self.condition(2);
        match self.random.below(8) {
            0..=3 => self.line(&format!("if ({condition}) break;")),
            4 => {
                self.label = true;
                self.line(&format!("if ({condition}) goto done;"));
            }
            _ => match self.returns {
                Some(ty) => {
                    let value = self.of_type(ty, 1);
                    self.line(&format!("if ({condition}) return {};", value.text));
                }
                None => self.line(&format!("if ({condition}) return;")),
            },
        }
    }

    /// `if`, with or without `else`, nested.
    pub(super) fn conditional(&mut self, depth: u32) {
        let condition = self.condition(2);
        self.line(&format!("if ({condition}) {{"));
        self.indent += 1;
        self.arm(depth);
        self.indent -= 1;
        if self.random.percent(40) {
            self.line("} else {");
            self.indent += 1;
            self.arm(depth);
            self.indent -= 1;
        }
        self.line("}");
    }

    fn arm(&mut self, depth: u32) {
        for _ in 0..1 + self.random.below(2) {
            if depth > 0 && self.random.percent(25) {
                self.conditional(depth - 1);
            } else {
                self.simple(2);
            }
        }
    }

    fn switch(&mut self) {
        let selector = self.integer(2);
        self.line(&format!("switch ({} & 3) {{", selector.text));
        for case in 0..3 {
            if self.random.percent(80) {
                self.line(&format!("case {case}:"));
                self.indent += 1;
                self.simple(2);
                if self.random.percent(70) {
                    self.line("break;");
                }
                self.indent -= 1;
            }
        }
        self.line("default:");
        self.indent += 1;
        self.simple(2);
        self.indent -= 1;
        self.line("}");
    }

    /// An assignment or a store.
    pub(super) fn simple(&mut self, depth: u32) {
        let written: Vec<Array> = self.arrays.iter().filter(|a| a.written).cloned().collect();
        let assigned: Vec<Variable> = self
            .variables
            .iter()
            .filter(|v| !matches!(v.role, Role::Fixed { .. }))
            .cloned()
            .collect();
        if !written.is_empty() && (assigned.is_empty() || self.random.percent(35)) {
            let array = self.random.pick(&written).clone();
            let place = self.place(&array);
            let op = match array.element {
                Scalar::Double | Scalar::Float => *self.random.pick(&["=", "+=", "*=", "="]),
                Scalar::Unsigned | Scalar::UnsignedLong => *self.random.pick(&["=", "+=", "^="]),
                _ => "=",
            };
            let value = match (op, array.element) {
                ("=", _) | (_, Scalar::Float | Scalar::Double) => {
                    self.storable(array.element, depth)
                }
                (_, element) => self.of_type(element, depth).text,
            };
            return self.line(&format!("{place} {op} {value};"));
        }
        if assigned.is_empty() {
            return self.line(";");
        }
        let variable = self.random.pick(&assigned).clone();
        let Variable { name, ty, role } = &variable;
        let text = match role {
            Role::Counter => match self.random.below(3) {
                0 => format!("{name}++;"),
                1 => format!("{name} += {};", 1 + self.random.below(8)),
                _ => {
                    let condition = self.condition(1);
                    format!("{name} += ({condition} ? 1 : 2);")
                }
            },
            Role::Sum if ty.is_float() || ty.is_unsigned() => {
                let op = *self.random.pick(&["+=", "-=", "+="]);
                let value = match ty.is_float() {
                    true => self.expression(depth),
                    false => self.of_type(*ty, depth),
                };
                format!("{name} {op} {};", value.text)
            }
            Role::Sum => {
                let value = self.of_type(Scalar::Int, depth);
                format!("{name} += {};", value.text)
            }
            _ => {
                let value = self.of_type(*ty, depth);
                format!("{name} = {};", value.text)
            }
        };
        self.line(&text);
    }
}

/// The type in which results are added up: signed sums stay in range.
fn returned(ty: Scalar) -> &'static str {
    match ty {
        Scalar::Float => "float",
        Scalar::Double => "double",
        _ => "unsigned long",
    }
}
