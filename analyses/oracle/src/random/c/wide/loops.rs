//! Loops in all forms: the counter, its type, direction and step, and the condition that ends them.

use super::types::{Expr, Ty};
use super::{Array, Index, Loop, Maker};

impl Maker<'_> {
    /// A loop around random statements.
    pub(super) fn loop_statement(&mut self) {
        let mark = self.scope.mark();
        let (weight, outer) = (self.weight, self.outer.clone());
        // A label behind the outermost loop.
        let labelled = self.loops.is_empty() && self.random.percent(35);
        if labelled {
            let label = self.fresh("past");
            self.outer = Some((label, false));
        }
        self.open("{");
        match self.random.below(20) {
            0..=4 => self.upward(),
            5 | 6 => self.downward(),
            7 => self.counted_down(),
            8 => self.endless(),
            9 => self.wrapping(),
            10 => self.unequal(),
            11 => self.two_counters(),
            12 | 13 => self.over_pointer(),
            14 => self.conditional_loop(),
            15 => self.backwards(),
            16 => self.do_while(),
            _ => self.idiom(),
        }
        self.scope.close(mark);
        self.weight = weight;
        if labelled {
            if let Some((label, true)) = self.outer.take() {
                self.line(&format!("{label}:;"));
            }
            self.outer = outer;
        }
        self.close("}");
    }

    /// Returns the trip count of a loop: its text, its type, its maximum.
    pub(super) fn trips(&mut self) -> (String, i128) {
        let room = i128::from(self.most / self.weight.max(1));
        let fits: Vec<Index> = self
            .scope
            .indices
            .iter()
            .filter(|i| i.lo >= 0 && i.hi >= 1 && i.hi <= room && i.hi <= 64)
            .cloned()
            .collect();
        if !fits.is_empty() && self.random.percent(75) {
            let at = self.random.below(fits.len() as u32) as usize;
            // The parameters, rather than counters of loops around.
            let at = at.min(self.random.below(2) as usize);
            let index = &fits[at];
            return (index.text.clone(), index.hi);
        }
        let most = self.random.between(1, 24).min(room.max(1) as i64);
        (most.to_string(), i128::from(most))
    }

    /// Runs `f` as the body of a loop that runs at most so often.
    pub(super) fn body(&mut self, most: i128, continues: bool, f: impl FnOnce(&mut Self)) {
        let (weight, mark) = (self.weight, self.scope.mark());
        self.weight = (self.weight * (most.max(1) as u32)).min(1 << 20);
        self.peak = self.peak.max(self.weight);
        self.loops.push(Loop {
            continues,
            breaks: true,
        });
        self.indent += 1;
        f(self);
        self.indent -= 1;
        self.loops.pop();
        self.scope.close(mark);
        self.weight = weight;
    }

    pub(super) fn counter(&mut self, text: &str, ty: Ty, lo: i128, hi: i128) {
        self.scope.indices.push(Index {
            text: text.to_owned(),
            ty,
            lo,
            hi,
        });
    }

    fn counter_type(&mut self) -> Ty {
        let all = [
            Ty::I64,
            Ty::I32,
            Ty::I32,
            Ty::I64,
            Ty::U32,
            Ty::U64,
            Ty::I16,
            Ty::U8,
            Ty::U16,
            Ty::I8,
        ];
        *self.random.pick(&all)
    }

    fn upward(&mut self) {
        let (limit, most) = self.trips();
        let (i, ty) = (self.fresh("i"), self.counter_type());
        let step = [1, 1, 1, 1, 2, 3, 4][self.random.below(7) as usize];
        let by = match step {
            1 => self.random.pick(&["++", " += 1"]).to_string(),
            _ if self.random.percent(30) => {
                let name = self.fresh("st");
                let bit = self.integer(1).text;
                self.line(&format!("int {name} = 1 + (({bit}) & {});", step - 1));
                // The mask makes it 1 to `step`; three has no mask that is as large.
                format!(" += {name}")
            }
            _ => format!(" += {step}"),
        };
        let from = self.random.below(2).min(most.max(0) as u32);
        // `i++` of a narrow counter stays below the largest value, since the limit is at most 64.
        let (name, comparison) = match self.random.percent(15) {
            true => (format!("{limit} - 1"), "<="),
            false => (limit, "<"),
        };
        let name = match comparison {
            "<=" => format!("(long){name}"),
            _ if ty.is_unsigned() && self.random.percent(50) => format!("({}){name}", ty.text()),
            _ => name,
        };
        let comparison = match comparison {
            "<=" => format!("(long){i} <= {name}"),
            _ => format!("{i} < {name}"),
        };
        self.line(&format!(
            "for ({} {i} = {from}; {comparison}; {i}{by}) {{",
            ty.text()
        ));
        self.body(most, true, |maker| {
            maker.counter(&i, ty, i128::from(from), most - 1);
            maker.statements();
        });
        self.line("}");
    }

    fn downward(&mut self) {
        let (limit, most) = self.trips();
        let (i, ty) = (
            self.fresh("i"),
            *self.random.pick(&[Ty::I64, Ty::I32, Ty::I16]),
        );
        let step = *self.random.pick(&["--", " -= 2", " -= 3", "--"]);
        let (first, end) = match self.random.below(3) {
            0 => (limit, "> 0"),
            1 => (format!("(int){limit} - 1"), ">= 0"),
            _ => (format!("(long){limit} - 1"), "> -1"),
        };
        let above = end == "> 0";
        self.line(&format!(
            "for ({} {i} = {first}; {i} {end}; {i}{step}) {{",
            ty.text()
        ));
        self.body(most, true, |maker| {
            let low = i128::from(above);
            maker.counter(&i, ty, low, if above { most } else { most - 1 });
            maker.statements();
        });
        self.line("}");
    }

    /// `while (k--)`, `while (k-- > 0)`, `do { } while (--k)`.
    fn counted_down(&mut self) {
        let (limit, most) = self.trips();
        let (k, ty) = (self.fresh("k"), self.counter_type());
        let name = ty.text();
        match self.random.below(4) {
            0 => {
                self.line(&format!("{name} {k} = {limit};"));
                self.line(&format!("while ({k}--) {{"));
            }
            1 => {
                self.line(&format!("{name} {k} = {limit};"));
                self.line(&format!("while ({k}-- > 0) {{"));
            }
            2 => {
                self.line(&format!("{name} {k} = {limit};"));
                self.line(&format!("for (; {k} != 0; ) {{ {k}--;"));
            }
            _ => {
                self.line(&format!("{name} {k} = {limit} + 1;"));
                self.line("do {");
                self.body(most + 1, true, |maker| {
                    maker.counter(&k, ty, 1, most + 1);
                    maker.statements();
                });
                return self.line(&format!("}} while (--{k});"));
            }
        }
        self.body(most, true, |maker| {
            maker.counter(&k, ty, 0, most - 1);
            maker.statements();
        });
        self.line("}");
    }

    fn endless(&mut self) {
        let (limit, most) = self.trips();
        let i = self.fresh("i");
        self.line(&format!("long {i} = 0;"));
        let head = *self.random.pick(&["for (;;) {", "while (1) {"]);
        self.line(head);
        self.body(most + 1, false, |maker| {
            maker.scope.indices.push(Index {
                text: i.clone(),
                ty: Ty::I64,
                lo: 0,
                hi: most,
            });
            let early = maker.random.percent(50);
            if !early {
                maker.simple(2);
            }
            maker.line(&format!("if ({i} >= (long){limit}) break;"));
            maker.statements();
            maker.line(&format!("{i}++;"));
        });
        self.line("}");
    }

    /// A counter that passes the end of its type.
    fn wrapping(&mut self) {
        let ty = *self.random.pick(&[Ty::U8, Ty::U16, Ty::U32, Ty::U64]);
        let room = (self.most / self.weight.max(1)).clamp(2, 24);
        let trips = 1 + self.random.below(room);
        let before = self.random.below(trips + 1);
        let all = ty.range().1;
        let down = self.random.percent(40);
        let (first, last) = match down {
            false => ((all + 1 - i128::from(before)) % (all + 1), trips - before),
            true => (i128::from(before), 0),
        };
        let (c, name) = (self.fresh("c"), ty.text());
        if down {
            let last = (all + 1 - i128::from(trips - before)) % (all + 1);
            self.line(&format!(
                "for ({name} {c} = {first}u; {c} != {last}ul; {c}--) {{"
            ));
        } else {
            self.line(&format!(
                "for ({name} {c} = {first}ul; {c} != {last}u; {c}++) {{"
            ));
        }
        self.body(i128::from(trips), true, |maker| {
            maker.counter(&c, ty, 0, all);
            let text = match down {
                false => format!("({name})({c} - {first}ul)"),
                true => format!("({name})({first}u - {c})"),
            };
            maker.counter(&text, ty, 0, i128::from(trips) - 1);
            maker.statements();
        });
        self.line("}");
    }

    /// `i != 3 * k`
    fn unequal(&mut self) {
        let (limit, most) = self.trips();
        let (i, ty) = (
            self.fresh("i"),
            *self.random.pick(&[Ty::I64, Ty::I32, Ty::U32, Ty::U64]),
        );
        let step = 1 + self.random.below(3);
        let bound = match step {
            1 => limit,
            _ => format!("{limit} * {step}"),
        };
        self.line(&format!(
            "for ({} {i} = 0; {i} != {bound}; {i} += {step}) {{",
            ty.text()
        ));
        self.body(most, true, |maker| {
            maker.counter(&i, ty, 0, (most - 1) * i128::from(step));
            maker.statements();
        });
        self.line("}");
    }

    fn two_counters(&mut self) {
        let (limit, most) = self.trips();
        let (i, j) = (self.fresh("i"), self.fresh("j"));
        let ty = *self.random.pick(&[Ty::I64, Ty::I32]);
        let name = ty.text();
        match self.random.below(3) {
            0 => self.line(&format!(
                "for ({name} {i} = 0, {j} = ({name}){limit} - 1; {i} < {j}; {i}++, {j}--) {{"
            )),
            1 => self.line(&format!(
                "for ({name} {i} = 0, {j} = ({name}){limit}; {i} < {j}--; {i}++) {{"
            )),
            _ => {
                self.line(&format!("{name} {i} = 0, {j} = ({name}){limit} - 1;"));
                self.line(&format!("while ({i} <= {j}) {{"));
                let up = self.condition(2);
                self.body(most, false, |maker| {
                    maker.counter(&i, ty, 0, most - 1);
                    maker.counter(&j, ty, 0, most - 1);
                    maker.statements();
                    maker.line(&format!("if ({up}) {i}++; else {j}--;"));
                });
                return self.line("}");
            }
        }
        self.body(most, true, |maker| {
            maker.counter(&i, ty, 0, most - 1);
            maker.counter(&j, ty, 0, most - 1);
            maker.statements();
        });
        self.line("}");
    }

    /// From pointer to pointer.
    fn over_pointer(&mut self) {
        let (mut limit, mut most) = self.trips();
        let arrays: Vec<Array> = self
            .scope
            .arrays
            .iter()
            .filter(|a| !a.nullable && a.lo <= 0 && a.hi >= 2 && !a.text.starts_with('u'))
            .cloned()
            .collect();
        if arrays.is_empty() {
            return self.upward();
        }
        let array = self.random.pick(&arrays).clone();
        if most > i128::from(array.hi) {
            most = i128::from(array.hi);
            limit = most.to_string();
        }
        let (p, e) = (self.fresh("p"), self.fresh("e"));
        let constant = if array.written { "" } else { "const " };
        let (ty, name) = (array.cell.ty.text(), &array.text);
        let start = format!("{constant}{ty} *{p} = {name}, *{e} = {name} + {limit};");
        self.line(&start);
        let kind = self.random.below(6);
        let (head, tail) = match kind {
            0 => (format!("for (; {p} < {e}; {p}++) {{"), String::new()),
            1 => (format!("for (; {p} != {e}; ++{p}) {{"), String::new()),
            2 => (format!("while ({p} < {e}) {{"), format!("{p}++;")),
            3 => (format!("for (; {p} < {e}; {p} += 2) {{"), String::new()),
            4 => (format!("while ({e} - {p} > 0) {{"), format!("{p}++;")),
            _ => (format!("while ({e}-- > {p}) {{"), String::new()),
        };
        // Two steps end one element behind the last; the array has that one.
        let back = kind == 5;
        if back && array.lo >= 0 {
            self.line(&format!("if ({e} > {p}) do {{ {e}--;"));
        } else {
            self.line(&head);
        }
        let at = if back { e.clone() } else { p.clone() };
        self.body(most, tail.is_empty(), |maker| {
            maker.scope.arrays.push(Array {
                text: at.clone(),
                cell: array.cell,
                lo: if array.lo < -4 { -4 } else { 0 },
                hi: if array.hi > 76 { 4 } else { 0 },
                written: array.written,
                nullable: false,
                assigned: false,
            });
            let index = Expr::new(
                format!("({at} - {})", array.text),
                Ty::I64,
                (0, most.max(1) - 1),
            );
            if !array.assigned {
                maker.counter(&index.text, index.ty, index.lo, index.hi);
            }
            maker.statements();
            if !tail.is_empty() {
                maker.line(&tail);
            }
        });
        match back && array.lo >= 0 {
            true => self.line(&format!("}} while ({e} > {p});")),
            false => self.line("}"),
        }
    }

    /// A counter, and a condition on a value that the loop computes.
    fn conditional_loop(&mut self) {
        let (limit, most) = self.trips();
        let i = self.fresh("i");
        self.line(&format!("int {i} = 0;"));
        let mark = self.scope.mark();
        self.counter(&i, Ty::I32, 0, most - 1);
        let more = self.condition(2);
        self.scope.close(mark);
        self.line(&format!("while ({i} < (int){limit} && {more}) {{"));
        self.body(most, false, |maker| {
            maker.counter(&i, Ty::I32, 0, most - 1);
            maker.statements();
            maker.line(&format!("{i}++;"));
        });
        self.line("}");
    }

    /// A jump backwards.
    fn backwards(&mut self) {
        let (limit, most) = self.trips();
        let (i, label) = (self.fresh("i"), self.fresh("again"));
        self.line(&format!("int {i} = 0;"));
        self.line(&format!("{label}: {{"));
        let (weight, loops) = (self.weight, std::mem::take(&mut self.loops));
        self.body(most + 1, false, |maker| {
            maker.loops.clear();
            maker.counter(&i, Ty::I32, 0, most);
            maker.statements();
            maker.loops.push(Loop {
                continues: false,
                breaks: false,
            });
        });
        self.line("}");
        self.loops = loops;
        self.weight = weight;
        self.line(&format!("if (++{i} < (int){limit}) goto {label};"));
    }

    fn do_while(&mut self) {
        let (limit, most) = self.trips();
        let (i, ty) = (
            self.fresh("i"),
            *self.random.pick(&[Ty::I64, Ty::I32, Ty::U32, Ty::U8]),
        );
        self.line(&format!("{} {i} = 0;", ty.text()));
        self.line("do {");
        let early = self.random.percent(50);
        self.body(most + 1, !early, |maker| {
            if early {
                maker.counter(&i, ty, 0, most);
                maker.statements();
                maker.line(&format!("{i}++;"));
            } else {
                maker.line(&format!("{i}++;"));
                maker.counter(&i, ty, 1, most + 1);
                maker.statements();
            }
        });
        self.line(&format!("}} while ({i} < {limit});"));
    }
}
