//! Loops that are written again and again: recurrences, searches, lists, sorts, states, strings, rows that take turns.

use super::expressions::number;
use super::types::{Cell, Expr, Ty, binary};
use super::{Array, Maker, Place};

impl Maker<'_> {
    pub(super) fn idiom(&mut self) {
        match self.random.below(16) {
            0 => self.rotation(),
            1 | 2 => self.carried(),
            3 => self.extreme(),
            4 => self.list(),
            5 => self.sorted(),
            6 => self.states(),
            7 => self.text_walk(),
            8 => self.rows(),
            9 => self.bits_loop(),
            10 => self.chase(),
            11 => self.copied(),
            12 => self.ring(),
            13 => self.either(),
            14 => self.reduction(),
            _ => self.grid(),
        }
    }

    fn variable(&mut self, text: &str, cell: Cell) {
        self.scope.places.push(Place {
            text: text.to_owned(),
            cell,
            fixed: Some(cell.write()),
            addressable: false,
        });
    }

    /// `a = b; b = c; c = x[i];`
    fn rotation(&mut self) {
        let (limit, most) = self.trips();
        let cell = self.cell();
        let names: Vec<String> = (0..2 + self.random.below(3))
            .map(|_| self.fresh("ro"))
            .collect();
        for name in &names {
            let value = self.storable(cell, 1);
            self.line(&format!("{} {name} = {value};", cell.ty.text()));
        }
        for name in &names {
            self.variable(name, cell);
        }
        let i = self.fresh("i");
        self.line(&format!("for (int {i} = 0; {i} < (int){limit}; {i}++) {{"));
        self.body(most, false, |maker| {
            maker.counter(&i, Ty::I32, 0, most - 1);
            maker.statement(1);
            let last = maker.storable(cell, 2);
            for pair in names.windows(2) {
                maker.line(&format!("{} = {};", pair[0], pair[1]));
            }
            maker.line(&format!("{} = {last};", names[names.len() - 1]));
            if maker.random.percent(40) {
                maker.exit();
            }
        });
        self.line("}");
        self.simple(1);
    }

    fn written_array(&mut self, least: i64) -> Option<Array> {
        let all: Vec<Array> = self
            .scope
            .arrays
            .iter()
            .filter(|a| a.written && !a.nullable && a.lo <= 0 && a.hi >= least)
            .cloned()
            .collect();
        match all.is_empty() {
            true => None,
            false => Some(self.random.pick(&all).clone()),
        }
    }

    /// `a[i] = a[i - d] + ...`
    fn carried(&mut self) {
        let Some(array) = self.written_array(5) else {
            return self.rotation();
        };
        let (mut limit, mut most) = self.trips();
        if most > i128::from(array.hi) {
            (limit, most) = (array.hi.to_string(), i128::from(array.hi));
        }
        let (i, d) = (self.fresh("i"), 1 + i128::from(self.random.below(4)));
        let (name, cell) = (&array.text, array.cell);
        let down = self.random.percent(30);
        match down {
            false => self.line(&format!(
                "for (long {i} = {d}; {i} < (long){limit}; {i}++) {{"
            )),
            true => self.line(&format!(
                "for (long {i} = (long){limit} - {d} - 1; {i} >= 0; {i}--) {{"
            )),
        }
        self.body(most, true, |maker| {
            let (lo, hi) = if down {
                (0, most - d - 1)
            } else {
                (d, most - 1)
            };
            maker.counter(&i, Ty::I64, lo.min(hi.max(0)), hi.max(0));
            let other = if down {
                format!("{name}[{i} + {d}]")
            } else {
                format!("{name}[{i} - {d}]")
            };
            let other = Expr::new(other, cell.ty, cell.read());
            let value = maker.expression(2);
            let op = *maker.random.pick(&["+", "-", "*", "^"]);
            let value = match binary(op, &other, &value) {
                Some(value) => value,
                None => {
                    let other = maker.fitted(other, cell.ty, cell.step());
                    binary("+", &other, &number(3)).unwrap_or(other)
                }
            };
            let value = maker.fitted(value, cell.ty, cell.write());
            maker.line(&format!("{name}[{i}] = {};", value.text));
            if maker.random.percent(50) {
                maker.statements();
            }
        });
        self.line("}");
    }

    /// The largest or smallest, and where it is.
    fn extreme(&mut self) {
        let (limit, most) = self.trips();
        let cell = self.cell();
        let (best, at, i, x) = (
            self.fresh("best"),
            self.fresh("at"),
            self.fresh("i"),
            self.fresh("x"),
        );
        let ty = cell.ty.text();
        let first = self.storable(cell, 1);
        self.line(&format!("{ty} {best} = {first};"));
        self.line(&format!("long {at} = 0;"));
        self.line(&format!(
            "for (long {i} = 0; {i} < (long){limit}; {i}++) {{"
        ));
        let op = *self.random.pick(&["<", ">", "<=", ">="]);
        let form = self.random.below(3);
        self.body(most, true, |maker| {
            maker.counter(&i, Ty::I64, 0, most - 1);
            let value = maker.storable(cell, 2);
            maker.line(&format!("{ty} {x} = {value};"));
            match form {
                0 => maker.line(&format!(
                    "if ({x} {op} {best}) {{ {best} = {x}; {at} = {i}; }}"
                )),
                1 => maker.line(&format!(
                    "{at} = {x} {op} {best} ? {i} : {at}; {best} = {x} {op} {best} ? {x} : {best};"
                )),
                _ => {
                    maker.line(&format!("if ({best} {op} {x}) continue;"));
                    maker.line(&format!("{best} = {x}; {at} = {i};"));
                }
            }
        });
        self.line("}");
        self.store(&Expr::new(best, cell.ty, cell.write()));
        self.store(&Expr::new(at, Ty::I64, (0, most)));
    }

    /// Nodes that are linked, walked and turned round.
    fn list(&mut self) {
        let tag = self.global("node");
        let cell = self.cell();
        let (ty, nodes, p) = (cell.ty.text(), self.fresh("nodes"), self.fresh("p"));
        self.head += &format!("struct {tag} {{ {ty} v; struct {tag} *next; }};\n");
        let i = self.fresh("i");
        self.line(&format!("struct {tag} {nodes}[8], *{p};"));
        let mark = self.scope.mark();
        self.counter(&i, Ty::I32, 0, 7);
        let value = self.storable(cell, 2);
        self.scope.close(mark);
        let by = *self.random.pick(&[1, 3, 5]);
        self.line(&format!(
            "for (int {i} = 0; {i} < 8; {i}++) {{ {nodes}[{i}].v = {value}; {nodes}[{i}].next = {i} < 7 ? &{nodes}[{i} + 1] : 0; }}"
        ));
        if by > 1 {
            // In another order.
            self.line(&format!(
                "for (int {i} = 0; {i} < 7; {i}++) {nodes}[{i} * {by} & 7].next = &{nodes}[({i} + 1) * {by} & 7];"
            ));
            self.line(&format!("{nodes}[7 * {by} & 7].next = 0;"));
        }
        let head = self.fresh("head");
        self.line(&format!("struct {tag} *{head} = {nodes};"));
        if self.random.percent(50) {
            let (before, next) = (self.fresh("before"), self.fresh("next"));
            self.line(&format!("struct {tag} *{before} = 0;"));
            self.line(&format!("while ({head}) {{"));
            self.line(&format!(
                "  struct {tag} *{next} = {head}->next; {head}->next = {before}; {before} = {head}; {head} = {next};"
            ));
            self.line("}");
            self.line(&format!("{head} = {before};"));
        }
        self.line(&format!("for ({p} = {head}; {p}; {p} = {p}->next) {{"));
        self.body(8, true, |maker| {
            maker.scope.places.push(Place {
                text: format!("{p}->v"),
                cell,
                fixed: None,
                addressable: false,
            });
            maker.statements();
        });
        self.line("}");
        self.line(&format!(
            "for ({p} = {head}; {p} && {p}->next; {p} = {p}->next->next)"
        ));
        self.indent += 1;
        self.store(&Expr::new(format!("{p}->v"), cell.ty, cell.read()));
        self.indent -= 1;
    }

    /// An array put into order.
    fn sorted(&mut self) {
        let cell = self.cell();
        let (t, i, j, x) = (
            self.fresh("t"),
            self.fresh("i"),
            self.fresh("j"),
            self.fresh("x"),
        );
        let ty = cell.ty.text();
        let mark = self.scope.mark();
        self.counter(&i, Ty::I32, 0, 7);
        let value = self.storable(cell, 2);
        self.scope.close(mark);
        self.line(&format!("{ty} {t}[8];"));
        self.line(&format!(
            "for (int {i} = 0; {i} < 8; {i}++) {t}[{i}] = {value};"
        ));
        match self.random.below(3) {
            0 => {
                self.line(&format!("for (int {i} = 1; {i} < 8; {i}++) {{"));
                self.line(&format!("  {ty} {x} = {t}[{i}]; int {j} = {i} - 1;"));
                self.line(&format!(
                    "  while ({j} >= 0 && {t}[{j}] > {x}) {{ {t}[{j} + 1] = {t}[{j}]; {j}--; }}"
                ));
                self.line(&format!("  {t}[{j} + 1] = {x};"));
                self.line("}");
            }
            1 => {
                self.line(&format!("for (int {i} = 7; {i} > 0; {i}--)"));
                self.line(&format!("  for (int {j} = 0; {j} < {i}; {j}++)"));
                self.line(&format!(
                    "    if ({t}[{j}] > {t}[{j} + 1]) {{ {ty} {x} = {t}[{j}]; {t}[{j}] = {t}[{j} + 1]; {t}[{j} + 1] = {x}; }}"
                ));
            }
            _ => {
                self.line(&format!(
                    "for ({ty} *{i} = {t}, *{j} = {t} + 7; {i} < {j}; {i}++, {j}--) {{"
                ));
                self.line(&format!("  {ty} {x} = *{i}; *{i} = *{j}; *{j} = {x};"));
                self.line("}");
            }
        }
        let at = self.within(0, 7);
        self.store(&Expr::new(format!("{t}[{at}]"), cell.ty, cell.write()));
        self.store(&Expr::new(format!("{t}[7]"), cell.ty, cell.write()));
    }

    /// A machine of four states.
    fn states(&mut self) {
        let (limit, most) = self.trips();
        let (state, i) = (self.fresh("state"), self.fresh("i"));
        self.line(&format!("int {state} = 0;"));
        self.line(&format!(
            "for (long {i} = 0; {i} < (long){limit}; {i}++) {{"
        ));
        self.body(most, true, |maker| {
            maker.counter(&i, Ty::I64, 0, most - 1);
            maker.line(&format!("switch ({state}) {{"));
            for number in 0..4 {
                maker.line(&format!("case {number}:"));
                let next = maker.random.below(4);
                let condition = maker.condition(2);
                maker.line(&format!("  if ({condition}) {state} = {next};"));
                if maker.random.percent(50) {
                    maker.simple(2);
                }
                let end = *maker.random.pick(&["break;", "break;", "continue;", ""]);
                maker.line(end);
            }
            maker.line("}");
            maker.counter(&state, Ty::I32, 0, 3);
            maker.simple(2);
        });
        self.line("}");
    }

    fn text_walk(&mut self) {
        let (word, p) = (self.fresh("word"), self.fresh("p"));
        let text = *self
            .random
            .pick(&["loops", "a", "", "software pipelines", "x=1;y=22;"]);
        let kind = *self
            .random
            .pick(&["static const char", "const char", "const unsigned char"]);
        match self.random.below(2) {
            0 => self.line(&format!("{kind} {word}[] = \"{text}\";")),
            _ => self.line(&format!(
                "{kind} *{word} = ({} *)\"{text}\";",
                kind.trim_start_matches("static ")
            )),
        }
        let read = kind.trim_start_matches("static ");
        self.line(&format!("for ({read} *{p} = {word}; *{p}; {p}++) {{"));
        self.body(20, true, |maker| {
            let value = Expr::new(format!("*{p}"), Ty::U8, (0, 127));
            maker.fix(value.text.clone(), &value);
            maker.counter(
                &format!("({p} - {word})"),
                Ty::I64,
                0,
                text.len().max(1) as i128 - 1,
            );
            maker.statements();
        });
        self.line("}");
    }

    /// Two rows that take turns: each is computed from the one before.
    fn rows(&mut self) {
        let (limit, most) = self.trips();
        let cell = self.cell();
        let ty = cell.ty.text();
        let (a, b, old, new, t) = (
            self.fresh("ra"),
            self.fresh("rb"),
            self.fresh("old"),
            self.fresh("new"),
            self.fresh("t"),
        );
        let (i, j) = (self.fresh("i"), self.fresh("j"));
        let first = self.constants(cell, 9);
        self.line(&format!("{ty} {a}[9] = {first}, {b}[9] = {{0}};"));
        self.line(&format!("{ty} *{old} = {a}, *{new} = {b};"));
        let (limit, most) = match most * 8 > i128::from(self.most / self.weight.max(1)) {
            true => ("3".to_owned(), 3),
            false => (limit, most),
        };
        self.line(&format!(
            "for (long {i} = 0; {i} < (long){limit}; {i}++) {{"
        ));
        self.body(most, true, |maker| {
            maker.counter(&i, Ty::I64, 0, most - 1);
            maker.line(&format!("for (int {j} = 1; {j} < 9; {j}++) {{"));
            maker.body(8, true, |maker| {
                maker.counter(&j, Ty::I32, 1, 8);
                let x = Expr::new(format!("{old}[{j}]"), cell.ty, cell.write());
                let y = Expr::new(format!("{old}[{j} - 1]"), cell.ty, cell.write());
                let z = Expr::new(format!("{new}[{j} - 1]"), cell.ty, cell.write());
                let (p, q) = match maker.random.below(3) {
                    0 => (x, y),
                    1 => (y, z),
                    _ => (x, z),
                };
                let op = *maker.random.pick(&["+", "-"]);
                let value = binary(op, &p, &q).unwrap_or(p);
                let value = maker.fitted(value, cell.ty, cell.write());
                maker.line(&format!("{new}[{j}] = {};", value.text));
            });
            maker.line("}");
            let edge = maker.storable(cell, 1);
            maker.line(&format!("{new}[0] = {edge};"));
            if maker.random.percent(40) {
                maker.exit();
            }
            maker.line(&format!("{ty} *{t} = {old}; {old} = {new}; {new} = {t};"));
        });
        self.line("}");
        self.store(&Expr::new(format!("{old}[8]"), cell.ty, cell.write()));
        self.store(&Expr::new(format!("{a}[4]"), cell.ty, cell.write()));
    }

    /// Loops over the bits of a number.
    fn bits_loop(&mut self) {
        let (x, c) = (self.fresh("x"), self.fresh("c"));
        let value = self.integer(2).text;
        let ty = *self.random.pick(&[
            "unsigned",
            "unsigned long",
            "unsigned char",
            "unsigned short",
        ]);
        self.line(&format!("{ty} {x} = {value};"));
        self.line(&format!("int {c} = 0;"));
        let text = match self.random.below(6) {
            0 => format!("while ({x}) {{ {c} += {x} & 1; {x} >>= 1; }}"),
            1 => format!("for (; {x}; {c}++) {x} &= {x} - 1;"),
            2 => format!("while ({x} > 9) {{ {c} += {x} % 10; {x} /= 10; }}"),
            3 => format!("do {{ {c}++; }} while ((({x} >>= 2) & 3) != 0);"),
            4 => format!(
                "for (unsigned long k = {x}, w = 1071; k; ) {{ unsigned long r = w % k; w = k; k = r; {c}++; }}"
            ),
            _ => format!(
                "unsigned bit = 1u << 15; while (bit > {x}) bit >>= 2; while (bit) {{ if ({x} >= bit) {{ {x} -= bit; {c} = ({c} >> 1) + (int)(bit & 255); }} else {c} >>= 1; bit >>= 2; }}"
            ),
        };
        self.line(&text);
        self.store(&Expr::new(c, Ty::I32, (0, 1 << 12)));
    }

    /// A list by subscripts.
    fn chase(&mut self) {
        let (next, at, k) = (self.fresh("next"), self.fresh("at"), self.fresh("k"));
        let kind = *self.random.pick(&[Ty::U8, Ty::I32, Ty::I16, Ty::U32]);
        let ty = kind.text();
        let all: Vec<String> = (0..8).map(|_| self.random.below(8).to_string()).collect();
        self.line(&format!("{ty} {next}[8] = {{{}}};", all.join(", ")));
        let first = self.within(0, 7);
        self.line(&format!("{ty} {at} = {first}; int {k} = 20;"));
        let head = match self.random.below(3) {
            0 => format!("while (--{k} && ({at} = {next}[{at}]) != 0) {{"),
            1 => format!("for (; {at} != 3 && {k} > 0; {at} = {next}[{at}], {k}--) {{"),
            _ => format!("do {{ {at} = {next}[{at}];"),
        };
        let tail = if head.starts_with("do") {
            format!("}} while ({at} && --{k});")
        } else {
            "}".to_owned()
        };
        self.line(&head);
        self.body(20, true, |maker| {
            maker.counter(&at, kind, 0, 7);
            if maker.random.percent(50) {
                let value = maker.within(0, 7);
                maker.line(&format!("{next}[{at}] = {value};"));
            }
            maker.statements();
        });
        self.line(&tail);
    }

    /// `*p++ = *q++`
    fn copied(&mut self) {
        let Some(to) = self.written_array(3) else {
            return self.rotation();
        };
        let all: Vec<Array> = self
            .scope
            .arrays
            .iter()
            .filter(|a| !a.nullable && a.lo <= 0 && a.hi >= 3)
            .cloned()
            .collect();
        let from = self.random.pick(&all).clone();
        let most = to.hi.min(from.hi).min(40);
        let (p, q, k) = (self.fresh("p"), self.fresh("q"), self.fresh("k"));
        let count = self.within(0, most);
        self.line(&format!("{} *{p} = {};", to.cell.ty.text(), to.text));
        self.line(&format!(
            "const {} *{q} = {};",
            from.cell.ty.text(),
            from.text
        ));
        self.line(&format!("int {k} = {count};"));
        let weight = self.weight;
        self.weight *= most as u32;
        let value = Expr::new(format!("*{q}++"), from.cell.ty, from.cell.read());
        // One evaluation: the value is not taken twice.
        let v = self.fresh("v");
        let fitted = self.fitted(
            Expr {
                text: v.clone(),
                ..value
            },
            to.cell.ty,
            to.cell.write(),
        );
        let ty = from.cell.ty.text();
        let head = *self.random.pick(&["while", "for"]);
        let head = match head {
            "while" => format!("while ({k}-- > 0) {{"),
            _ => format!("for (; {k}; --{k}) {{"),
        };
        self.line(&head);
        self.line(&format!("  {ty} {v} = *{q}++;"));
        if self.random.percent(40) {
            self.line(&format!("  if ({v} == {}) break;", self.next % 7));
        }
        self.line(&format!("  *{p}++ = {};", fitted.text));
        self.line("}");
        self.weight = weight;
    }

    /// A ring of the last values.
    fn ring(&mut self) {
        let (limit, most) = self.trips();
        let cell = self.cell();
        let (ring, at, i) = (self.fresh("ring"), self.fresh("w"), self.fresh("i"));
        let ty = *self
            .random
            .pick(&["unsigned", "unsigned char", "int", "unsigned long"]);
        let values = self.constants(cell, 8);
        self.line(&format!("{} {ring}[8] = {values};", cell.ty.text()));
        self.line(&format!("{ty} {at} = 0;"));
        self.line(&format!("for (int {i} = 0; {i} < (int){limit}; {i}++) {{"));
        self.body(most, false, |maker| {
            maker.counter(&i, Ty::I32, 0, most - 1);
            let value = maker.storable(cell, 2);
            maker.line(&format!("{ring}[{at}++ & 7] = {value};"));
            let old = 1 + maker.random.below(7);
            let text = format!("{ring}[({at} - {old}) & 7]");
            maker.store(&Expr::new(text, cell.ty, cell.write()));
            maker.statement(1);
        });
        self.line("}");
    }

    /// A pointer to one variable or another, of this block or of the function.
    fn either(&mut self) {
        let (limit, most) = self.trips();
        let cell = match self.scope.places.iter().rfind(|p| p.addressable) {
            Some(place) => place.cell,
            None => self.cell(),
        };
        let ty = cell.ty.text();
        let (x, y, p, q, i) = (
            self.fresh("x"),
            self.fresh("y"),
            self.fresh("p"),
            self.fresh("q"),
            self.fresh("i"),
        );
        let (first, second) = (self.storable(cell, 1), self.storable(cell, 1));
        let third = self
            .target(cell, 0, 0, true)
            .unwrap_or_else(|| format!("&{x}"));
        self.line(&format!("{ty} {x} = {first}, {y} = {second};"));
        let condition = self.condition(1);
        self.line(&format!(
            "{ty} *{p} = {condition} ? &{x} : {third}, *{q} = &{y};"
        ));
        self.line(&format!("for (int {i} = 0; {i} < (int){limit}; {i}++) {{"));
        self.body(most, true, |maker| {
            maker.counter(&i, Ty::I32, 0, most - 1);
            for text in [&x, &y, &format!("*{p}"), &format!("*{q}")] {
                maker.scope.places.push(Place {
                    text: text.clone(),
                    cell,
                    fixed: None,
                    addressable: false,
                });
            }
            maker.statement(1);
            let condition = maker.condition(2);
            let turn = match maker.random.below(4) {
                0 => format!("if ({condition}) {{ {ty} *t = {p}; {p} = {q}; {q} = t; }}"),
                1 => format!("{q} = {condition} ? &{x} : &{y};"),
                2 => format!("{p} = {p} == &{x} ? &{y} : &{x};"),
                _ => format!("if ({p} != {q}) {q} = {p}; else {p} = {condition} ? &{x} : {third};"),
            };
            maker.line(&turn);
            maker.simple(2);
        });
        self.line("}");
        self.store(&Expr::new(format!("*{p}"), cell.ty, cell.read()));
        self.store(&Expr::new(x, cell.ty, cell.read()));
    }

    /// A sum, a product or bits of all, in a type of its own.
    fn reduction(&mut self) {
        let (limit, most) = self.trips();
        let (s, i) = (self.fresh("s"), self.fresh("i"));
        let ty = *self.random.pick(&Ty::ALL);
        let first = if ty.is_float() { "0" } else { "1" };
        self.line(&format!("{} {s} = {first};", ty.text()));
        self.line(&format!("for (int {i} = 0; {i} < (int){limit}; {i}++) {{"));
        let cell = Cell::new(ty, true);
        self.body(most, false, |maker| {
            maker.counter(&i, Ty::I32, 0, most - 1);
            maker.scope.places.push(Place {
                text: s.clone(),
                cell,
                fixed: Some(cell.read()),
                addressable: false,
            });
            if maker.random.percent(40) {
                let condition = maker.condition(2);
                maker.line(&format!("if ({condition})"));
            }
            maker.assigned(&s, cell, 3);
            if maker.random.percent(50) {
                maker.exit();
            }
        });
        self.line("}");
        self.store(&Expr::new(s, ty, cell.read()));
    }

    /// `a[i * m + j]`, rows and columns.
    fn grid(&mut self) {
        let (i, j, r, c) = (
            self.fresh("i"),
            self.fresh("j"),
            self.fresh("r"),
            self.fresh("c"),
        );
        let room = i128::from(self.most / self.weight.max(1));
        let most = if room >= 64 { 7 } else { 3 };
        let (rows, columns) = (self.within(0, most), self.within(0, most));
        self.line(&format!("int {r} = {rows}, {c} = {columns};"));
        let most = i128::from(most);
        self.counter(&c, Ty::I32, 0, most);
        self.line(&format!("for (int {i} = 0; {i} < {r}; {i}++) {{"));
        self.body(most, true, |maker| {
            maker.counter(&i, Ty::I32, 0, most - 1);
            if maker.random.percent(40) {
                maker.simple(2);
            }
            maker.line(&format!("for (int {j} = 0; {j} < {c}; {j}++) {{"));
            maker.body(most, true, |maker| {
                maker.counter(&j, Ty::I32, 0, most - 1);
                let at = format!("({i} * {c} + {j})");
                maker.counter(&at, Ty::I32, 0, most * most);
                maker.counter(&format!("({j} * {c} + {i})"), Ty::I32, 0, most * most);
                maker.statements();
            });
            maker.line("}");
        });
        self.line("}");
    }
}
