//! Statements: assignments of all kinds, conditions, switches, calls, pointers that turn elsewhere, and ways out of loops.

use super::functions::Callee;
use super::types::{Cell, Expr, Ty, binary};
use super::{Array, Loop, Maker, Object};

impl Maker<'_> {
    /// Some statements, as the body of a loop, with ways out between them.
    pub(super) fn statements(&mut self) {
        let exits = [0, 0, 0, 1, 1, 2][self.random.below(6) as usize];
        let mut left = exits;
        for _ in 0..1 + self.random.below(3) {
            if left > 0 && self.random.percent(50) {
                left -= 1;
                self.exit();
            }
            self.statement(2);
        }
        for _ in 0..left {
            self.exit();
        }
        if exits == 0 || self.random.percent(50) {
            self.simple(2);
        }
    }

    pub(super) fn statement(&mut self, depth: u32) {
        if self.budget == 0 {
            return self.simple(2);
        }
        self.budget -= 1;
        match self.random.below(32) {
            0..=3 if depth > 0 => self.conditional(depth - 1),
            4 if depth > 0 => self.switch(depth - 1),
            5..=8 if self.loops.len() < 3 && self.weight * 4 <= self.most => self.loop_statement(),
            9 | 10 => self.turn(),
            11 => self.copy(),
            12..=14 => self.call_statement(),
            15..=17 => self.constant_variable(),
            18 | 19 => self.small(),
            20 => self.through_null(),
            _ => self.simple(3),
        }
    }

    /// A place that may be written.
    pub(super) fn writable(&mut self) -> Option<(String, Cell)> {
        for _ in 0..4 {
            let found = match self.random.below(8) {
                0..=2 => self.element(true),
                3 => self.field(true),
                _ => {
                    let all: Vec<(String, Cell)> = self
                        .scope
                        .places
                        .iter()
                        .filter(|p| p.fixed.is_none())
                        .map(|p| (p.text.clone(), p.cell))
                        .collect();
                    match all.is_empty() {
                        true => None,
                        false => Some(self.random.pick(&all).clone()),
                    }
                }
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// An assignment.
    pub(super) fn simple(&mut self, depth: u32) {
        let Some((text, cell)) = self.writable() else {
            return self.line(";");
        };
        self.assigned(&text, cell, depth);
    }

    pub(super) fn assigned(&mut self, text: &str, cell: Cell, depth: u32) {
        let kind = self.random.below(10);
        if kind < 2 && (cell.sum || cell.ty.bits() < 32 || cell.ty.is_unsigned()) {
            let text = match (text.starts_with('*'), self.random.below(3)) {
                (true, 0) => format!("({text})++;"),
                (false, 0) => format!("{text}++;"),
                (_, 1) => format!("++{text};"),
                _ => format!("--{text};"),
            };
            return self.line(&text);
        }
        if kind < 7 && cell.sum {
            let value = self.expression(depth);
            let value = self.fitted(value, cell.ty, cell.step());
            let op = *self.random.pick(&["+=", "-=", "+="]);
            return self.line(&format!("{text} {op} {};", value.text));
        }
        if kind < 7 && !cell.sum {
            let value = self.integer(depth);
            let old = Expr::new(text, cell.ty, cell.read());
            let op = *self
                .random
                .pick(&["+", "-", "*", "^", "|", "&", "<<", ">>", "/", "%", "+"]);
            let value = match op {
                "<<" | ">>" => binary("&", &value, &super::expressions::number(7)),
                "/" | "%" => binary("&", &value, &super::expressions::number(255))
                    .and_then(|e| binary("+", &e, &super::expressions::number(1))),
                _ => Some(value),
            };
            if let Some(value) = value
                && binary(op, &old, &value).is_some()
            {
                return self.line(&format!("{text} {op}= {};", value.text));
            }
        }
        let value = self.storable(cell, depth);
        self.line(&format!("{text} = {value};"));
    }

    /// Puts a value into some place.
    pub(super) fn store(&mut self, value: &Expr) {
        let Some((text, cell)) = self.writable() else {
            return self.line(";");
        };
        let value = self.fitted(value.clone(), cell.ty, cell.write());
        self.line(&format!("{text} = {};", value.text));
    }

    fn arm(&mut self, depth: u32) {
        let mark = self.scope.mark();
        self.indent += 1;
        for _ in 0..1 + self.random.below(2) {
            self.statement(depth);
        }
        if self.random.percent(12) {
            self.exit();
        }
        self.indent -= 1;
        self.scope.close(mark);
    }

    fn conditional(&mut self, depth: u32) {
        let condition = self.condition(2);
        self.line(&format!("if ({condition}) {{"));
        self.arm(depth);
        if self.random.percent(20) {
            let condition = self.condition(1);
            self.line(&format!("}} else if ({condition}) {{"));
            self.arm(depth);
        }
        if self.random.percent(40) {
            self.line("} else {");
            self.arm(depth);
        }
        self.line("}");
    }

    fn switch(&mut self, depth: u32) {
        let selector = self.integer(2);
        let (text, cases) = match binary("&", &selector, &super::expressions::number(7)) {
            Some(e) if self.random.percent(70) => (e.text, [0, 1, 2, 5]),
            _ => (selector.text, [-1, 0, 3, 1000]),
        };
        let around = self.loops.last().copied();
        self.loops.push(Loop {
            continues: around.is_some_and(|it| it.continues),
            breaks: false,
        });
        self.line(&format!("switch ({text}) {{"));
        for case in cases {
            if self.random.percent(75) {
                self.line(&format!("case {case}: {{"));
                self.arm(depth);
                self.line("}");
                if self.random.percent(70) {
                    self.line("break;");
                }
            }
        }
        self.line("default:;");
        if self.random.percent(60) {
            self.simple(2);
        }
        self.line("}");
        self.loops.pop();
    }

    /// A pointer turns to something else.
    fn turn(&mut self) {
        let pointers: Vec<Array> = self
            .scope
            .arrays
            .iter()
            .filter(|a| a.assigned)
            .cloned()
            .collect();
        let objects: Vec<Object> = self
            .scope
            .objects
            .iter()
            .filter(|o| o.assigned)
            .cloned()
            .collect();
        if !objects.is_empty() && (pointers.is_empty() || self.random.percent(30)) {
            let object = self.random.pick(&objects).clone();
            let Some(target) = self.object_target(object.structure) else {
                return self.line(";");
            };
            let condition = self.condition(1);
            let name = &object.text;
            return match self.random.below(3) {
                0 => self.line(&format!("{name} = {target};")),
                1 => self.line(&format!("if ({condition}) {name} = {target};")),
                _ => self.line(&format!("{name} = {condition} ? {name} : {target};")),
            };
        }
        if pointers.is_empty() {
            return self.simple(2);
        }
        let pointer = self.random.pick(&pointers).clone();
        let name = &pointer.text;
        let others: Vec<&Array> = pointers
            .iter()
            .filter(|other| {
                other.cell == pointer.cell
                    && (other.lo, other.hi, other.written, other.nullable)
                        == (pointer.lo, pointer.hi, pointer.written, pointer.nullable)
                    && other.text != pointer.text
            })
            .collect();
        if !others.is_empty() && self.random.percent(40) {
            let other = self.random.pick(&others).text.clone();
            let t = self.fresh("pt");
            let constant = if pointer.written { "" } else { "const " };
            let ty = pointer.cell.ty.text();
            return self.line(&format!(
                "{{ {constant}{ty} *{t} = {name}; {name} = {other}; {other} = {t}; }}"
            ));
        }
        let Some(target) = self.target(pointer.cell, pointer.lo, pointer.hi, pointer.written)
        else {
            return self.line(";");
        };
        let condition = self.condition(2);
        let other = match pointer.nullable {
            true => "0".to_owned(),
            false => name.clone(),
        };
        match self.random.below(4) {
            0 => self.line(&format!("{name} = {target};")),
            1 => self.line(&format!("if ({condition}) {name} = {target};")),
            2 => self.line(&format!("{name} = {condition} ? {other} : {target};")),
            _ => self.line(&format!(
                "if ({condition}) {name} = {other}; else {name} = {target};"
            )),
        }
    }

    /// A structure is assigned to another one.
    fn copy(&mut self) {
        let objects: Vec<Object> = self
            .scope
            .objects
            .iter()
            .filter(|o| o.written)
            .cloned()
            .collect();
        if objects.is_empty() {
            return self.simple(2);
        }
        let to = self.random.pick(&objects).clone();
        let from: Vec<&Object> = objects
            .iter()
            .filter(|o| o.structure == to.structure)
            .collect();
        let from = (*self.random.pick(&from)).clone();
        let (to, from) = (self.whole(&to), self.whole(&from));
        self.line(&format!("{to} = {from};"));
    }

    fn whole(&mut self, object: &Object) -> String {
        match object.extent {
            None => object.text.clone(),
            Some((0, 0)) => format!("*{}", object.text),
            Some((lo, hi)) => {
                let at = self.within(lo, hi);
                format!("{}[{at}]", object.text)
            }
        }
    }

    /// A call for its effects, or for its structure.
    fn call_statement(&mut self) {
        let all: Vec<Callee> = self
            .callees
            .iter()
            .filter(|c| {
                (!c.pure || c.structure.is_some())
                    && (self.writes || c.pure)
                    && c.weight * self.weight <= self.most
            })
            .cloned()
            .collect();
        if all.is_empty() {
            return self.simple(3);
        }
        let callee = self.random.pick(&all).clone();
        let Some(call) = self.call(&callee, 1) else {
            return self.simple(3);
        };
        if let Some(structure) = callee.structure {
            let targets: Vec<Object> = self
                .scope
                .objects
                .iter()
                .filter(|o| o.structure == structure && o.written)
                .cloned()
                .collect();
            if !targets.is_empty() && self.random.percent(50) {
                let object = self.random.pick(&targets).clone();
                let to = self.whole(&object);
                return self.line(&format!("{to} = {call};"));
            }
            let name = self.fresh("o");
            let tag = self.structures[structure].name.clone();
            self.line(&format!("struct {tag} {name} = {call};"));
            self.scope.objects.push(Object {
                text: name,
                structure,
                extent: None,
                written: true,
                assigned: false,
            });
            return;
        }
        match callee.returns {
            Some(cell) => {
                let name = self.fresh("r");
                self.line(&format!("{} {name} = {call};", cell.ty.text()));
                self.fix(name, &Expr::new("", cell.ty, cell.write()));
            }
            None => self.line(&format!("{call};")),
        }
    }

    fn constant_variable(&mut self) {
        let cell = self.cell();
        let value = self.expression(3);
        let value = self.fitted(value, cell.ty, cell.write());
        let name = self.fresh("v");
        let constant = *self.random.pick(&["", "const "]);
        self.line(&format!(
            "{constant}{} {name} = {};",
            cell.ty.text(),
            value.text
        ));
        self.fix(name, &Expr::new("", cell.ty, cell.write()));
    }

    fn through_null(&mut self) {
        let nullable: Vec<Array> = self
            .scope
            .arrays
            .iter()
            .filter(|a| a.nullable)
            .cloned()
            .collect();
        if nullable.is_empty() {
            return self.simple(3);
        }
        let pointer = self.random.pick(&nullable).clone();
        if pointer.written && self.random.percent(60) {
            self.line(&format!("if ({}) {{", pointer.text));
            self.indent += 1;
            self.assigned(&format!("*{}", pointer.text), pointer.cell, 2);
            self.close("}");
            return;
        }
        let name = &pointer.text;
        let value = Expr::new(
            format!("({name} ? *{name} : 0)"),
            pointer.cell.ty.promoted(),
            pointer.cell.read(),
        );
        self.store(&value);
    }

    /// A condition, and a way out.
    pub(super) fn exit(&mut self) {
        let around = self.loops.last().copied();
        let mut condition = self.condition(2);
        let mut computed = None;
        if self.random.percent(35) {
            // What is taken along was computed in the iteration.
            let value = self.expression(2);
            let cell = Cell::new(value.ty, true);
            let (name, ty) = (self.fresh("t"), value.ty);
            self.line(&format!("{} {name} = {};", ty.text(), value.text));
            let found = Expr::new(name.clone(), ty, (value.lo, value.hi));
            let other = self.expression(1);
            condition = format!("{name} > {}", other.text);
            computed = Some((found, cell));
        }
        let mut leave = None;
        for _ in 0..4 {
            leave = match self.random.below(10) {
                0..=3 if around.is_some_and(|it| it.breaks) => Some("break;".to_owned()),
                4 | 5 if around.is_some_and(|it| it.continues) => Some("continue;".to_owned()),
                6 if !self.loops.is_empty() => match &mut self.outer {
                    Some((label, used)) => {
                        *used = true;
                        Some(format!("goto {label};"))
                    }
                    None => None,
                },
                7 if self.done.is_some() => {
                    self.done = Some(true);
                    Some("goto done;".to_owned())
                }
                8 => match (self.returns, &computed) {
                    (Some(cell), Some((found, _))) => {
                        let value = self.fitted(found.clone(), cell.ty, cell.write());
                        Some(format!("return {};", value.text))
                    }
                    (Some(cell), None) => Some(format!("return {};", self.storable(cell, 1))),
                    (None, _) => Some("return;".to_owned()),
                },
                _ => None,
            };
            if leave.is_some() {
                break;
            }
        }
        let Some(leave) = leave else { return };
        let saved = match computed {
            Some((found, _)) if self.random.percent(60) => {
                let out = std::mem::take(&mut self.out);
                let indent = std::mem::take(&mut self.indent);
                self.store(&found);
                self.indent = indent;
                std::mem::replace(&mut self.out, out).trim().to_owned() + " "
            }
            _ => String::new(),
        };
        self.line(&format!("if ({condition}) {{ {saved}{leave} }}"));
    }

    /// Short statements that people write.
    fn small(&mut self) {
        let value = self.integer(2);
        let name = self.fresh("z");
        match self.random.below(6) {
            // Saturation.
            0 => {
                let value = self.fitted(value, Ty::I64, (-(1 << 40), 1 << 40));
                let (low, high) = *self
                    .random
                    .pick(&[(0, 255), (-128, 127), (-32_768, 32_767)]);
                self.line(&format!("long {name} = {};", value.text));
                self.line(&format!("if ({name} > {high}) {name} = {high};"));
                self.line(&format!("else if ({name} < {low}) {name} = {low};"));
                self.store(&Expr::new(name, Ty::I64, (low, high)));
            }
            1 => {
                let most = *self.random.pick(&[15i128, 255, 65_535]);
                self.line(&format!("unsigned {name} = {};", value.text));
                self.line(&format!("if ({name} > {most}u) {name} = {most};"));
                self.store(&Expr::new(name, Ty::U32, (0, most)));
            }
            // A number of 64 bits and its sign.
            2 => {
                self.line(&format!("unsigned long {name} = {};", value.text));
                self.line(&format!(
                    "{name} = (({name} >> 32) * ({name} & 0xffffffff)) ^ ({name} << 7);"
                ));
                self.store(&Expr::new(name, Ty::U64, Ty::U64.range()));
            }
            // A float and its bits.
            3 => {
                let tag = self.global("bits");
                self.head +=
                    &format!("union {tag} {{ double d; unsigned long u; unsigned w[2]; }};\n");
                let value = self.storable(Cell::new(Ty::F64, true), 2);
                self.line(&format!("union {tag} {name}; {name}.d = {value};"));
                let change = *self.random.pick(&[
                    "&= 0x7ffffffffffffffful",
                    "^= 0x8000000000000000ul",
                    "^= 5ul",
                ]);
                self.line(&format!("{name}.u {change};"));
                let all = [
                    Expr::new(format!("{name}.d"), Ty::F64, (-(1 << 20), 1 << 20)),
                    Expr::new(format!("{name}.w[1]"), Ty::U32, Ty::U32.range()),
                    Expr::new(format!("{name}.u"), Ty::U64, Ty::U64.range()),
                ];
                let value = self.random.pick(&all).clone();
                self.store(&value);
            }
            4 => {
                let tag = self.global("bits");
                self.head += &format!("union {tag} {{ float f; int i; unsigned char b[4]; }};\n");
                let value = self.storable(Cell::new(Ty::F32, true), 2);
                self.line(&format!("union {tag} {name}; {name}.f = {value};"));
                let index = self.within(0, 3);
                let all = [
                    Expr::new(format!("{name}.i"), Ty::I32, Ty::I32.range()),
                    Expr::new(format!("{name}.b[{index}]"), Ty::U8, Ty::U8.range()),
                ];
                let value = self.random.pick(&all).clone();
                self.store(&value);
            }
            // A variable's bytes.
            _ => {
                let places: Vec<(String, Cell)> = self
                    .scope
                    .places
                    .iter()
                    .filter(|p| p.addressable)
                    .map(|p| (p.text.clone(), p.cell))
                    .collect();
                if places.is_empty() {
                    return self.simple(2);
                }
                let (text, cell) = self.random.pick(&places).clone();
                let index = self.within(0, i64::from(cell.ty.bits() / 8) - 1);
                let constant = if self.writes { "" } else { "const " };
                self.line(&format!(
                    "{constant}unsigned char *{name} = ({constant}unsigned char *)&{text};"
                ));
                if self.writes && !cell.sum && self.random.percent(50) {
                    let value = self.storable(Cell::new(Ty::U8, false), 1);
                    return self.line(&format!("{name}[{index}] = {value};"));
                }
                self.store(&Expr::new(
                    format!("{name}[{index}]"),
                    Ty::U8,
                    Ty::U8.range(),
                ));
            }
        }
    }
}
