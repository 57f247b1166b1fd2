//! Search loops: their loads are valid only as long as no exit was taken. Their array ends with the element
//! that ends the search, and nothing is mapped behind it.
//!
//! ```text
//! while (z[i] != 0) { s += i; i++; }
//! for (;;) { if (i >= 17) break; if (z[i] == k) break; i++; }
//! while (j >= 0) { s += j; j = z[j]; }
//! ```

use super::expressions::element_bound;
use super::{Argument, Buffer, Kernel, LONGEST, Maker, Parameter, Role, Scalar, Variable};
use crate::random::Random;

/// An array that is searched and nothing else.
#[derive(Clone, Debug)]
pub(super) struct Searched {
    element: Scalar,
    count: usize,
    /// Its elements are places in it, or -1.
    chain: bool,
}

/// The element with which a search ends that nothing else ends.
const LAST: u64 = 0;

impl Maker<'_> {
    /// One kernel in three has such an array.
    pub(super) fn searched(&mut self, seed: u64, kernel: &mut Kernel) {
        use Scalar::{Double, Int, Long, Short, Unsigned, UnsignedChar};
        let mut random = Random::new(seed ^ 0x5ea7_c4ed);
        if !random.percent(33) {
            return;
        }
        let chain = random.percent(25);
        let all = [
            UnsignedChar,
            UnsignedChar,
            Int,
            Short,
            Unsigned,
            Long,
            Double,
        ];
        let element = match chain {
            true => *random.pick(&[Int, Long, Short]),
            false => *random.pick(&all),
        };
        let count = 1 + random.below(LONGEST as u32) as usize;
        let mut bytes = Vec::new();
        for at in 0..count {
            let number = match chain {
                true if at + 1 == count || random.percent(4) => -1,
                true => random.between(at as i64 + 1, (at as i64 + 4).min(count as i64 - 1)),
                false if at + 1 == count => LAST as i64,
                false => 1 + i64::from(random.below(120)),
            };
            let bits = match element {
                Double => (number as f64).to_bits(),
                _ => number as u64,
            };
            bytes.extend_from_slice(&bits.to_le_bytes()[..element.bytes()]);
        }
        let buffer = kernel.buffers.len();
        kernel.buffers.push(Buffer { element, bytes });
        kernel.parameters.push(Parameter {
            name: "z".into(),
            type_text: match random.percent(60) {
                true => format!("const {} *restrict", element.text()),
                false => format!("const {} *", element.text()),
            },
            argument: Argument::Pointer { buffer, offset: 0 },
        });
        self.searched = Some(Searched {
            element,
            count,
            chain,
        });
    }

    /// A loop over it, if there is one.
    pub(super) fn search(&mut self) {
        let Some(Searched {
            element,
            count,
            chain,
        }) = self.searched.clone()
        else {
            return;
        };
        let (variables, indices) = (self.variables.len(), self.indices.len());
        let (i, x) = (self.fresh("i"), self.fresh("x"));
        let ty = element.text();
        let value = Variable {
            name: x.clone(),
            ty: element,
            role: Role::Fixed {
                bound: element_bound(element),
            },
        };
        let key = 1 + self.random.below(120);
        if chain {
            self.line(&format!("long {i} = 0;"));
            self.line(&format!("while ({i} >= 0) {{"));
            self.indices.push(i.clone());
            self.inside(None);
            self.indices.truncate(indices);
            self.line(&format!("  {i} = z[{i}];"));
            self.line("}");
            return self.keep(&i);
        }
        match self.random.below(6) {
            0 => {
                self.line(&format!("long {i} = 0;"));
                let more = match self.random.percent(40) {
                    true => format!(" && z[{i}] != {key}"),
                    false => String::new(),
                };
                let head = format!("while (z[{i}] != {LAST}{more}) {{");
                self.counted(&head, i.clone(), "}");
            }
            1 => {
                self.line(&format!("long {i} = 0;"));
                self.line(&format!("while (z[{i}] != {LAST}) {i}++;"));
            }
            2 => {
                // The bound is tested in front of the load.
                self.line(&format!("long {i} = 0;"));
                self.line("for (;;) {");
                self.line(&format!("  if ({i} >= {count}) break;"));
                self.line(&format!("  {ty} {x} = z[{i}];"));
                self.line(&format!("  if ({x} == {key}) break;"));
                self.indices.push(i.clone());
                self.inside(Some(value));
                self.indices.truncate(indices);
                self.line(&format!("  {i}++;"));
                self.line("}");
            }
            3 => {
                let p = self.fresh("p");
                self.line(&format!("const {ty} *{p};"));
                self.line(&format!("for ({p} = z; *{p} != {LAST}; {p}++) {{"));
                self.line(&format!("  {ty} {x} = *{p};"));
                self.inside(Some(value));
                self.line("}");
                self.line(&format!("long {i} = {p} - z;"));
            }
            4 => {
                let p = self.fresh("p");
                self.line(&format!("const {ty} *{p} = z;"));
                self.line(&format!("{ty} {x};"));
                self.line("do {");
                self.line(&format!("  {x} = *{p}++;"));
                self.inside(Some(value));
                self.line(&format!("}} while ({x} != {LAST});"));
                self.line(&format!("long {i} = {p} - z;"));
            }
            _ => {
                // What is found names an element of another array.
                let others: Vec<String> = self
                    .arrays
                    .iter()
                    .filter(|array| array.mask.is_none())
                    .map(|array| array.name.clone())
                    .collect();
                let test = match others.is_empty() {
                    true => format!("z[{i}] == {key}"),
                    false => {
                        let other = self.random.pick(&others).clone();
                        format!("{other}[(int)z[{i}] & 31] == {key}")
                    }
                };
                self.line(&format!("long {i} = 0;"));
                self.line(&format!("while (z[{i}] != {LAST}) {{"));
                self.line(&format!("  if ({test}) break;"));
                self.indices.push(i.clone());
                self.inside(None);
                self.indices.truncate(indices);
                self.line(&format!("  {i}++;"));
                self.line("}");
            }
        }
        self.variables.truncate(variables);
        self.keep(&i);
    }

    /// Some statements of the body.
    fn inside(&mut self, value: Option<Variable>) {
        let variables = self.variables.len();
        self.variables.extend(value);
        self.indent += 1;
        self.loops += 1;
        for _ in 0..self.random.below(3) {
            self.simple(2);
        }
        if self.random.percent(25) {
            self.conditional(1);
        }
        self.loops -= 1;
        self.indent -= 1;
        self.variables.truncate(variables);
    }

    /// Writes a variable for the position where the search ends; 0 as long as nothing was found.
    pub(super) fn found(&mut self) {
        if self.searched.is_none() {
            return;
        }
        self.line("long at = 0;");
        self.variables.push(Variable {
            name: "at".to_owned(),
            ty: Scalar::Long,
            role: Role::Plain,
        });
    }

    fn keep(&mut self, i: &str) {
        self.line(&format!("at = {i};"));
    }
}
