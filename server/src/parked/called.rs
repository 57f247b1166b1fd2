//! Functions of a PTX file that one kernel alone can reach: what they compute can use the shared memory of its workgroups.
//!
//! ```text
//! .weak .func f(..) { .. }          rewritten, and of this file alone: another module may have its own
//! .visible .entry k(..) { call f; }
//! .visible .entry l(..) { call g; }
//! ```
//!
//! A function that another kernel calls, too, would need the shared memory of both. One that other modules name, or whose
//! address is taken, may be called by kernels that are not in sight; one that calls itself has several frames at once.

use crate::db::{self, Db, File};
use crate::derive::fitted::{Prepared, prepared};
use crate::program::{self, own_items};
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use syntax::Span;
use syntax::ptx::{Operand, PtxFunction, PtxItemKind, StatementKind};

/// A function that one kernel alone can reach.
#[derive(Clone, Debug)]
pub struct Called {
    pub function: Prepared,
    /// The places of `.weak` in the file, in front of its declarations and its definition. A rewriting that takes shared memory leaves
    /// the word out: where a linker finds several of a name, it takes one for all. The file is taken for a whole program, as it is
    /// assembled.
    pub weak: Vec<Span>,
}

/// The calls of a file.
#[derive(Default)]
struct Calls {
    /// The functions that each function calls by name.
    by: FxHashMap<SmolStr, FxHashSet<SmolStr>>,
    /// Kernels, and functions that may be called from where nobody sees.
    roots: FxHashSet<SmolStr>,
    /// Of each function, the places of its `.weak`.
    weak: FxHashMap<SmolStr, Vec<Span>>,
}

/// The functions that a kernel alone can reach, in the order of the file. None where the kernel does not declare the size of its
/// workgroups: nothing of another lane's may be overwritten.
pub fn called(db: &dyn Db, file: File, kernel: &Prepared) -> Vec<Called> {
    let workgroup = kernel.workgroup;
    if !kernel.tree.entry || workgroup.is_none_or(|workgroup| workgroup.assumed.is_some()) {
        return Vec::new();
    }
    let calls = calls(db, file);
    let own = calls.reached(&kernel.name);
    let others: FxHashSet<SmolStr> = calls
        .roots
        .iter()
        .filter(|&root| *root != kernel.name)
        .flat_map(|root| calls.reached(root).into_iter().chain([root.clone()]))
        .collect();
    let mut names: Vec<&SmolStr> = own.iter().collect();
    names.retain(|&name| !others.contains(name) && !calls.reached(name).contains(name));
    let each = names.into_iter().flat_map(|name| {
        let found = prepared(db, file, Some(name)).into_iter();
        let found = found.filter_map(|(.., prepared)| prepared.ok());
        found.map(|function| Called {
            function,
            weak: calls.weak.get(name).cloned().unwrap_or_default(),
        })
    });
    let mut out: Vec<Called> = each.collect();
    out.sort_by_key(|called| called.function.place.start);
    out
}

/// The text of a function, or of its rewriting, without the `.weak` in front of it.
pub(super) fn internal(own: &str, weak: &[Span], place: Span) -> String {
    let mut out = own.to_owned();
    if let Some(weak) = weak.iter().find(|weak| place.contains(weak.start)) {
        let (start, end) = (weak.start - place.start, weak.end - place.start);
        out.replace_range(start as usize..end as usize, "");
    }
    out
}

impl Calls {
    /// The functions that a call of one may lead to, itself only where it is called again.
    fn reached(&self, name: &SmolStr) -> FxHashSet<SmolStr> {
        let mut out = FxHashSet::default();
        let mut open = vec![name];
        while let Some(from) = open.pop() {
            for to in self.by.get(from).into_iter().flatten() {
                if out.insert(to.clone()) {
                    open.push(to);
                }
            }
        }
        out
    }

    fn function(&mut self, tree: &PtxFunction) {
        if tree.entry {
            self.roots.insert(tree.name.text.clone());
        }
        let mut callees = FxHashSet::default();
        for statement in tree.statements() {
            match &statement.kind {
                StatementKind::Instruction(i) => {
                    let called = |operand: &&Operand| matches!(operand, Operand::Name(_));
                    let is_call = i.opcode.text == "call";
                    let callee = i.operands.iter().find(called).filter(|_| is_call);
                    for operand in &i.operands {
                        match operand {
                            Operand::Name(name) if Some(operand) == callee => {
                                callees.insert(name.text.clone());
                            }
                            _ => self.mention(operand),
                        }
                    }
                }
                StatementKind::CallTargets(names) | StatementKind::Invalid(names) => {
                    self.roots
                        .extend(names.iter().map(|name| name.text.clone()));
                }
                StatementKind::Declaration(declaration) => {
                    for declarator in &declaration.declarators {
                        let initial = declarator.initial.iter().flatten();
                        initial.for_each(|operand| self.mention(operand));
                    }
                }
                _ => {}
            }
        }
        self.by.insert(tree.name.text.clone(), callees);
    }

    /// All names of a text that is not understood; comments are left out.
    fn mention_all(&mut self, text: &str) {
        let part =
            |byte: char| byte.is_ascii_alphanumeric() || matches!(byte, '_' | '$' | '.' | '%');
        for line in text.lines() {
            let code = line.split("//").next().unwrap_or_default();
            let names = code.split(|byte| !part(byte));
            let names =
                names.filter(|name| name.starts_with(|first: char| !first.is_ascii_digit()));
            self.roots.extend(names.map(SmolStr::new));
        }
    }

    /// The functions whose addresses an operand may take.
    fn mention(&mut self, operand: &Operand) {
        match operand {
            Operand::Name(name) if name.text.starts_with('%') => {}
            Operand::Name(name) | Operand::Component(name, _) => {
                self.roots.insert(name.text.clone());
            }
            Operand::Not(inner, _) | Operand::Negative(inner, _) => self.mention(inner),
            Operand::Vector(parts, _) | Operand::Address(parts, _) | Operand::List(parts, _) => {
                parts.iter().for_each(|part| self.mention(part));
            }
            Operand::Pair(left, right, _) | Operand::Offset(left, right, _) => {
                self.mention(left);
                self.mention(right);
            }
            Operand::Integer(..)
            | Operand::Float32(..)
            | Operand::Float64(..)
            | Operand::Sink(_) => {}
        }
    }
}

fn calls(db: &dyn Db, file: File) -> Calls {
    let text = program::text(file.source(db));
    let mut out = Calls::default();
    let mut end = 0;
    for (place, item) in own_items(db, file) {
        match &db::ptx_tree(db, item).kind {
            PtxItemKind::Function(tree) => {
                let linkage = tree.linkage;
                if linkage.visible || linkage.external || linkage.common {
                    out.roots.insert(tree.name.text.clone());
                }
                weak(&mut out, tree, text, place.start);
                if tree.body.is_some() {
                    out.function(tree);
                }
            }
            // Initial values may hide an address in an operator: `0xFF00(f)`.
            PtxItemKind::Variable(_) | PtxItemKind::Alias { .. } | PtxItemKind::Invalid => {
                let own = text.get(place.start as usize..place.end as usize);
                out.mention_all(own.unwrap_or_default());
            }
            _ => {}
        }
        end = place.end;
    }
    // There may be more items than are read.
    out.mention_all(text.get(end as usize..).unwrap_or_default());
    out
}

/// Notes the place of the `.weak` in front of a function.
fn weak(calls: &mut Calls, tree: &PtxFunction, text: &str, start: u32) {
    const WORD: &str = ".weak";
    if !tree.linkage.weak {
        return;
    }
    let name = start + tree.name.span.start;
    let head = text.get(start as usize..name as usize).unwrap_or_default();
    if let Some(at) = head.find(WORD) {
        let at = start + at as u32;
        let places = calls.weak.entry(tree.name.text.clone()).or_default();
        places.push(Span::new(at, at + WORD.len() as u32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{AnalysisConfig, ViewConfig};
    use crate::db::{Database, Source};

    const KERNEL: &str =
        ".visible .entry k()\n.maxntid 128, 1, 1\n{\n\tcall f;\n\tcall g;\n\tret;\n}\n";
    const F: &str = ".func f()\n{\n\tcall h;\n\tret;\n}\n";
    const G: &str = ".func g()\n{\n\tret;\n}\n";
    const H: &str = ".func h()\n{\n\tret;\n}\n";

    /// The names of the functions that `k` alone reaches, each with the number of its `.weak`s.
    fn alone(text: &str) -> Vec<(String, usize)> {
        let mut db = Database::default();
        let text = format!(".version 8.0\n.target sm_80\n.address_size 64\n{text}");
        let source = Source::Text {
            text: text.as_str().into(),
            lossy: false,
        };
        let file = db.file_with_text(std::path::Path::new("/project/k.ptx"), source);
        let settings =
            db.new_settings(AnalysisConfig::default(), ViewConfig::default(), Vec::new());
        db.set_file_settings(file, settings);
        let (.., kernel) = prepared(&db, file, Some("k")).pop().expect("a kernel");
        let found = called(&db, file, &kernel.expect("it is read"));
        let each = found.iter();
        each.map(|own| (own.function.name.to_string(), own.weak.len()))
            .collect()
    }

    fn names(text: &str) -> String {
        let all: Vec<String> = alone(text).into_iter().map(|(name, _)| name).collect();
        all.join(" ")
    }

    #[test]
    fn what_other_kernels_do_not_reach_is_alone() {
        let whole = [F, G, H, KERNEL].concat();
        assert_eq!(names(&whole), "f g h");
        // Who else calls one calls those that it calls, too.
        let second = ".visible .entry l()\n{\n\tcall f;\n\tret;\n}\n";
        assert_eq!(names(&[&whole, second].concat()), "g");
        let exported = F.replace(".func", ".visible .func");
        assert_eq!(names(&[&exported, G, H, KERNEL].concat()), "g");
        let declared = ".visible .func g();\n";
        assert_eq!(names(&[declared, &whole].concat()), "f h");
        // Lanes beyond the last column have no words.
        assert_eq!(names(&whole.replace(".maxntid 128, 1, 1\n", "")), "");
        assert_eq!(
            names(&whole.replace("maxntid 128, 1, 1", "reqntid 8, 8, 2")),
            "f g h"
        );
    }

    #[test]
    fn what_calls_itself_has_several_frames() {
        let round = H.replace("\tret;", "\tcall f;\n\tret;");
        assert_eq!(names(&[F, G, &round, KERNEL].concat()), "g");
        let own = G.replace("\tret;", "\tcall g;\n\tret;");
        assert_eq!(names(&[F, &own, H, KERNEL].concat()), "f h");
    }

    #[test]
    fn what_may_be_called_by_its_address_is_open() {
        let whole = [F, G, H, KERNEL].concat();
        let open = [
            ".global .u64 table[1] = {g};\n",
            ".global .align 1 .u8 bytes[2] = {0xFF(g), 0xFF00(g)};\n",
            ".global .u64 table[1] = {generic(g)};\n",
            ".visible .func other();\n.alias other, g;\n",
            ".visible .entry l()\n{\n\t.reg .b64 %rd<2>;\n\tmov.u64 %rd1, g;\n\tret;\n}\n",
            ".visible .entry l()\n{\n\t.reg .b64 %rd<2>;\n\tt: .calltargets g;\n\tcall %rd1, t;\n\tret;\n}\n",
            // Who knows.
            "!! g\n",
        ];
        for text in open {
            assert_eq!(names(&[&whole, text].concat()), "f h", "{text}");
        }
        assert_eq!(
            names(&[&whole, "// g stands in a comment\n"].concat()),
            "f g h"
        );
    }

    #[test]
    fn each_declaration_tells_that_it_is_weak() {
        let weak = G.replace(".func", ".weak .func");
        let text = [".weak .func g();\n", F, &weak, H, KERNEL].concat();
        let found = alone(&text);
        assert_eq!(found[1], ("g".to_owned(), 2), "{found:?}");
        let place = Span::new(10, 10 + weak.len() as u32);
        assert_eq!(
            internal(&weak, &[Span::new(10, 15)], place),
            weak.replacen(".weak", "", 1)
        );
    }
}
