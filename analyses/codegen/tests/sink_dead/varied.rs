//! The statements of random functions that hold more than integers in plain branches: floats, unsigned and narrow integers,
//! structures, vectors, pointers, references, several declarators, variables declared again in a block, `do` and `while` loops,
//! compound stores, macros, branches of which one side has no braces, several statements on a line.

use super::{Generator, OUTPUTS};
use ir::Language;

/// Macros and a structure that the functions use.
pub(super) const PRELUDE: &str = "#define TWICE(x) ((x) * 2)
#define WHEN(c) if (c)
#define LEAVE(c) if (c) return
#define STORE(at, x) dst[t * 16 + (at)] = (x)
struct Pair { int x; int y; };
";

impl Generator {
    fn fresh_name(&mut self, prefix: &str) -> String {
        let name = format!("{prefix}{}", self.fresh);
        self.fresh += 1;
        name
    }

    fn mutable_name(&mut self) -> String {
        let at = self.random.below(self.mutable as u32) as usize;
        self.visible[at].clone()
    }

    /// A value that does not name a variable.
    fn value_without(&mut self, name: &str) -> String {
        for _ in 0..4 {
            let value = self.value(0);
            let mut words = value.split(|c: char| !c.is_alphanumeric());
            if !words.any(|word| word == name) {
                return value;
            }
        }
        format!("src[t + {}] * 3", self.random.below(9))
    }

    /// A statement that is none of a plain function.
    pub(super) fn varied(&mut self, depth: u32) {
        match self.random.below(16) {
            0 => self.float(),
            1 => self.narrow(),
            2 => self.structure(),
            3 => self.vector(),
            4 => self.declarators(),
            5 if depth > 0 => self.again(),
            6 | 7 if self.loops < 2 && depth < 3 => self.head_last(depth),
            8 => self.compound(),
            9 => self.by_macro(depth),
            10 if depth < 3 => self.half_braced(depth),
            11 => self.pointer(),
            12 => self.outputs(),
            13 => self.on_a_line(),
            14 => {
                let condition = self.condition();
                let name = self.mutable_name();
                let (then, otherwise) = (self.value(1), self.value(1));
                self.line(&format!("{name} = {condition} ? {then} : {otherwise};"));
            }
            _ => {
                let name = self.mutable_name();
                let op = *self.random.pick(&["-=", "*=", "^=", "|=", "&="]);
                let value = self.value(1);
                self.line(&format!("{name} {op} {value};"));
            }
        }
    }

    fn float(&mut self) {
        let name = self.fresh_name("f");
        let value = self.value(1);
        let scaled = match self.language {
            Language::C => format!("(float)({value}) * 0.5f"),
            _ => format!("float({value}) * 0.5f"),
        };
        let whole = match self.floats.last() {
            Some(other) if self.random.percent(60) => format!("{scaled} - {other} / {scaled}"),
            _ => scaled,
        };
        let assigned = self.floats.last().cloned();
        match assigned.filter(|_| self.random.percent(30)) {
            Some(other) => self.line(&format!("{other} = {whole};")),
            None => {
                self.line(&format!("float {name} = {whole};"));
                self.readers.push(format!("({name} > 2.5f ? 3 : 4)"));
                self.floats.push(name);
            }
        }
    }

    fn narrow(&mut self) {
        let name = self.fresh_name("u");
        let types: &[&str] = match self.language {
            Language::Hlsl => &["uint"],
            _ => &["unsigned", "unsigned char", "short", "long long"],
        };
        let ty = *self.random.pick(types);
        let value = self.value(0);
        self.line(&format!("{ty} {name} = ({ty})({value}) + 250;"));
        self.readers.push(format!("(int)({name} / 3)"));
    }

    fn structure(&mut self) {
        let name = self.fresh_name("s");
        let word = match self.language {
            Language::C => "struct ",
            _ => "",
        };
        self.line(&format!("{word}Pair {name};"));
        for member in ["x", "y"] {
            let value = self.value(1);
            self.line(&format!("{name}.{member} = {value} * 5;"));
            self.readers.push(format!("{name}.{member}"));
        }
        self.members.push(format!("{name}.x"));
        self.members.push(format!("{name}.y"));
    }

    fn vector(&mut self) {
        let name = self.fresh_name("w");
        let (x, y) = (self.value(1), self.value(1));
        match self.language {
            Language::C => {
                self.line(&format!("int {name}[2];"));
                self.line(&format!("{name}[0] = {x}; {name}[1] = {y};"));
                self.readers.push(format!("{name}[t & 1]"));
                self.members.push(format!("{name}[1]"));
                return;
            }
            Language::Hlsl => {
                self.line(&format!("int2 {name} = int2({x}, {y}) * 3;"));
                self.readers.push(format!("{name}.yx.x"));
            }
            _ => self.line(&format!("int2 {name} = make_int2({x}, {y});")),
        }
        self.readers.push(format!("{name}.x"));
        self.members.push(format!("{name}.y"));
    }

    fn declarators(&mut self) {
        let (first, second) = (self.fresh_name("v"), self.fresh_name("v"));
        let (x, y) = (self.value(0), self.value(1));
        self.line(&format!("int {first} = {x}, {second} = {y};"));
        self.visible.extend([first, second]);
    }

    /// A variable of a block that has the name of another around it.
    fn again(&mut self) {
        let name = self.mutable_name();
        if self.declared.contains(&name) {
            return;
        }
        let value = self.value_without(&name);
        self.line(&format!("int {name} = {value};"));
        self.declared.push(name);
    }

    /// Loops with the counter in front of them.
    fn head_last(&mut self, depth: u32) {
        let counter = self.fresh_name("k");
        let times = 1 + self.random.below(4);
        self.line(&format!("int {counter} = 0;"));
        let ends = self.random.percent(60);
        match ends {
            true => self.line("do {"),
            false => self.line(&format!("while ({counter}++ < {times}) {{")),
        }
        self.visible.push(counter.clone());
        self.loops += 1;
        self.block(depth);
        self.loops -= 1;
        match ends {
            true => self.line(&format!("}} while (++{counter} < {times});")),
            false => self.line("}"),
        }
    }

    fn compound(&mut self) {
        let value = self.value(1);
        let at = self.random.below(OUTPUTS);
        let op = *self.random.pick(&["|=", "+=", "^=", "-="]);
        match self.members.is_empty() || self.random.percent(60) {
            true => self.line(&format!("dst[t * {OUTPUTS} + {at}] {op} {value};")),
            false => {
                let members = self.members.clone();
                let member = self.random.pick(&members).clone();
                self.line(&format!("{member} {op} {value};"));
            }
        }
    }

    fn by_macro(&mut self, depth: u32) {
        match self.random.below(4) {
            0 => {
                let name = self.mutable_name();
                let value = self.value(1);
                self.line(&format!("{name} = TWICE({value}) + 1;"));
            }
            1 if depth < 3 => {
                let condition = self.condition();
                self.line(&format!("WHEN({condition}) {{"));
                self.block(depth);
                self.line("}");
            }
            2 => {
                let condition = self.condition();
                self.line(&format!("LEAVE({condition});"));
            }
            _ => {
                let at = self.random.below(OUTPUTS);
                let value = self.value(1);
                self.line(&format!("STORE({at}, {value});"));
            }
        }
    }

    /// Branches of which one side has braces, or that have none and hold others.
    fn half_braced(&mut self, depth: u32) {
        let (first, second) = (self.condition(), self.condition());
        let (text, other) = (self.assignment(), self.assignment());
        match self.random.below(4) {
            0 => {
                self.line(&format!("if ({first}) {{"));
                self.block(depth);
                self.line(&format!("}} else {text}"));
            }
            1 => {
                self.line(&format!("if ({first}) {text}"));
                self.line("else {");
                self.block(depth);
                self.line("}");
            }
            2 => {
                self.line(&format!("if ({first}) {text}"));
                self.line(&format!("else if ({second}) {other}"));
            }
            _ => {
                self.line(&format!("if ({first})"));
                self.line(&format!("    if ({second})"));
                self.line(&format!("        {text}"));
                self.line("    else");
                self.line(&format!("        {other}"));
            }
        }
    }

    fn pointer(&mut self) {
        let value = self.value(1);
        match self.language {
            Language::Hlsl => {
                let name = self.mutable_name();
                self.line(&format!("[branch] if ({name} > 4) {name} = {value};"));
            }
            Language::Cuda if self.random.percent(50) => {
                let name = self.fresh_name("r");
                let of = self.mutable_name();
                self.line(&format!("int& {name} = {of};"));
                self.line(&format!("{name} += {value};"));
                self.readers.push(name.clone());
                self.members.push(name);
            }
            _ => {
                let name = self.fresh_name("q");
                self.line(&format!("const int *{name} = src + (({value}) & 63);"));
                self.readers.push(format!("{name}[1]"));
                self.readers.push(format!("*{name}"));
            }
        }
    }

    /// Variables that a call sets.
    fn outputs(&mut self) {
        let (low, high) = (self.mutable_name(), self.mutable_name());
        if low == high {
            return;
        }
        let value = self.value(1);
        match self.language {
            Language::C => {
                let name = self.fresh_name("z");
                self.line(&format!("int {name}; split({value}, &{name}, &{name});"));
                self.readers.push(name);
            }
            _ => self.line(&format!("split({value}, {low}, {high});")),
        }
    }

    fn on_a_line(&mut self) {
        let (text, other) = (self.assignment(), self.assignment());
        let (condition, last) = (self.condition(), self.assignment());
        self.line(&format!(
            "{text} /* and */ {other} if ({condition}) {{ {last} }}"
        ));
    }
}
