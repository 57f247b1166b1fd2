//! Right conversions pass; the same with one change each are caught.

use super::*;
use crate::mir::liveness::Liveness;
use crate::predicate::convert;
use crate::predicate::loops::innermost;
use crate::target::ia64::code::Operation;
use crate::target::ia64::code::op;
use crate::target::ia64::interpret::tests::compiled;
use isa::ia64::Class;
use isa::ia64::Opcode;

const BRANCHES: &str = "int f(int *a, int *b, int n, int k) {
    int s = 0, t = k;
    for (int i = 0; i < n; i++) {
        if (a[i] == k) break;
        if (a[i] > s) { s += a[i]; b[i] = s; } else { t ^= s; a[i] = t; }
        if (t > b[i] && s > k) b[i] = s - t;
    }
    return s * t;
}";

struct Converted {
    function: Function,
    region: Region,
    body: Body,
}

impl Converted {
    fn of(text: &str) -> Converted {
        let mut function = compiled(text);
        let region = innermost(&function).pop().expect("a loop");
        let liveness = Liveness::of(&function);
        let body = convert(&mut function, &region, &liveness).expect("a form");
        let made = Converted {
            function,
            region,
            body,
        };
        let compared = made.verdict().expect("no violation").expect("compared");
        assert!(compared.all && compared.paths > 4, "{compared:?}");
        made
    }
    fn verdict(&self) -> Result<Result<Compared, Unchecked>, Violation> {
        check(&self.function, &self.region, &self.body)
    }
    fn at(&self, is: impl Fn(&Operation) -> bool) -> usize {
        let found = self.body.operations.iter().position(is);
        found.expect("such an operation")
    }
    fn caught(mut self, name: &str, change: impl FnOnce(&mut Converted)) -> Violation {
        change(&mut self);
        self.verdict().expect_err(name)
    }
}

fn stores(operation: &Operation) -> bool {
    operation.class() == Class::Store && operation.predicate.is_some()
}

#[test]
fn converted_loops_pass() {
    let texts = [
        BRANCHES,
        "void f(int *a, int n) { for (int i = 0; i < n; i++) a[i] += i; }",
        "long f(long *p) { long s = 0; do { if (*p & 1) s += *p; p++; } while (*p != 0); return s; }",
        "int f(volatile int *a, int n) { int s = 0; while (n-- > 0) { if (*a > 3) *a = s; else s++; } return s; }",
        "double f(double *a, int n) { double m = a[0]; for (int i = 1; i < n; i++) if (a[i] > m) m = a[i]; return m; }",
    ];
    for text in texts {
        let mut function = compiled(text);
        let region = innermost(&function).pop().expect("a loop");
        let liveness = Liveness::of(&function);
        let body = convert(&mut function, &region, &liveness).expect("a form");
        let compared = check(&function, &region, &body);
        let compared = compared.expect("no violation").expect("compared");
        assert!(compared.paths > 0, "{text}");
    }
}

#[test]
fn a_dropped_predicate_is_caught() {
    let found = Converted::of(BRANCHES).caught("store", |made| {
        let at = made.at(stores);
        made.body.operations[at].predicate = None;
    });
    assert!(matches!(found, Violation::Memory { .. }), "{found}");
}

#[test]
fn a_predicate_of_the_other_side_is_caught() {
    let _ = Converted::of(BRANCHES).caught("side", |made| {
        let mut own = made.body.operations.iter().filter(|it| stores(it));
        let (left, right) = (own.next().cloned(), own.next().cloned());
        let other = right.expect("two stores").predicate;
        let at = made.at(|it| Some(it) == left.as_ref());
        made.body.operations[at].predicate = other;
    });
}

#[test]
fn exchanged_dependent_operations_are_caught() {
    let _ = Converted::of(BRANCHES).caught("order", |made| {
        let operations = &made.body.operations;
        let depends = |at: &usize| {
            let (earlier, next) = (&operations[*at], &operations[at + 1]);
            let data = |it: &Operation| !it.is_compare();
            data(earlier)
                && data(next)
                && earlier
                    .writes()
                    .any(|it| next.reads().any(|read| read == it))
        };
        let at = (0..operations.len() - 1).find(depends).expect("a pair");
        made.body.operations.swap(at, at + 1);
    });
}

#[test]
fn exchanged_stores_are_caught() {
    let found = Converted::of(BRANCHES).caught("stores", |made| {
        let all = made.body.operations.iter().enumerate();
        let own: Vec<usize> = all.filter(|it| stores(it.1)).map(|it| it.0).collect();
        let (head, last) = (own[0], own[own.len() - 1]);
        let sources = made.body.operations[head].sources.clone();
        made.body.operations[last].sources = sources;
    });
    assert!(matches!(found, Violation::Memory { .. }), "{found}");
}

#[test]
fn a_lost_operation_is_caught() {
    let _ = Converted::of(BRANCHES).caught("lost", |made| {
        let at = made.at(|it| it.opcode() == Opcode::Xor && it.predicate.is_some());
        made.body.operations[at] = Operation::plain(op!("nop"), vec![], vec![0.into()]);
    });
}

#[test]
fn a_stale_predicate_is_caught() {
    let nested = "int f(int *a, int n, int k) {
        int s = 0;
        for (int i = 0; i < n; i++) {
            if (a[i] > k) { s += a[i]; a[i] = s; if (s > n) { s ^= k; a[i + 1] = s; } }
        }
        return s;
    }";
    let _ = Converted::of(nested).caught("unc", |made| {
        let at = made.at(|it| {
            it.is_compare() && it.predicate.is_some() && it.mnemonic.to_string().contains("unc")
        });
        let name = made.body.operations[at].mnemonic.to_string();
        let plain = isa::ia64::Mnemonic::parse(&name.replace(".unc", ""));
        made.body.operations[at].mnemonic = plain.expect("a compare");
    });
}

#[test]
fn exits_to_elsewhere_and_at_another_place_are_caught() {
    let found = Converted::of(BRANCHES).caught("target", |made| {
        let last = made.body.exits.last().expect("exits").target;
        let mut others = made.body.exits.iter().map(|it| it.target);
        let other = others.find(|it| *it != last).unwrap_or(last + 1);
        made.body.exits.last_mut().expect("exits").target = other;
    });
    assert!(matches!(found, Violation::Exit { .. }), "{found}");
    let _ = Converted::of(BRANCHES).caught("place", |made| {
        let end = made.body.operations.len();
        made.body.exits[0].at = end;
    });
    let _ = Converted::of(BRANCHES).caught("lost exit", |made| {
        made.body.exits.remove(0);
    });
}

#[test]
fn an_entry_with_the_other_condition_is_caught() {
    let turned = "int f(int *a, int n) {
        int s = 0, i = 0;
        for (;;) { if (i >= n) break; s += a[i]; if (s == 9) s = i; if (s < n) a[i] = s; i++; }
        return s;
    }";
    let found = Converted::of(turned).caught("entry", |made| {
        let entry = made.body.entry.as_mut().expect("it is turned");
        entry.enters = !entry.enters;
    });
    let expected = matches!(found, Violation::Exit { .. } | Violation::Register { .. });
    assert!(expected, "{found}");
}

#[test]
fn an_access_that_the_loop_does_not_do_is_caught() {
    let text = "int f(int *a, int *b, int n) { int s = 0; for (int i = 0; i < n; i++) if (a[i] > 3) s += b[i]; return s; }";
    let found = Converted::of(text).caught("load", |made| {
        let at = made.at(|it| it.class() == Class::Load && it.predicate.is_some());
        made.body.operations[at].predicate = None;
        // The sum stays what it was: the load alone may fault.
        let into = made.body.operations[at].targets[0].virtual_register();
        assert_eq!(
            made.function.file(into.expect("a register")),
            isa::ia64::File::General
        );
    });
    assert!(
        matches!(found, Violation::Access { .. } | Violation::Register { .. }),
        "{found}"
    );
}

#[test]
fn most_single_changes_are_caught() {
    let (mut caught, mut passed) = (0, Vec::new());
    let made = Converted::of(BRANCHES);
    for at in 0..made.body.operations.len() {
        for kind in 0..3 {
            let mut body = made.body.clone();
            match kind {
                0 if body.operations[at].predicate.is_some() => {
                    body.operations[at].predicate = None
                }
                1 => {
                    body.operations[at] = Operation::plain(op!("nop"), vec![], vec![0.into()]);
                }
                2 if at + 1 < body.operations.len() => body.operations.swap(at, at + 1),
                _ => continue,
            }
            match check(&made.function, &made.region, &body) {
                Err(_) => caught += 1,
                Ok(_) => passed.push((kind, at, made.body.operations[at].mnemonic.to_string())),
            }
        }
    }
    let lost: Vec<_> = passed.iter().filter(|it| it.0 == 1).collect();
    println!("{caught} caught, passed: {passed:?}");
    // Each operation is needed; the rest may be done always, or in another order.
    assert!(lost.is_empty(), "{lost:?}");
    assert!(caught > passed.len(), "{caught} {passed:?}");
}
