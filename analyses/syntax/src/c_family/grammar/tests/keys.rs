//! Keys, spans and independence of items.

use crate::c_family::ast::{BinaryOp, ExprKind, FunctionBody, ItemKind, StmtKind};
use crate::c_family::{
    Dialect, declared_type_names, item_names, parse_item, parse_text, parse_unit,
};
use crate::preprocess::preprocess_text;

#[test]
fn keys_are_qualified_and_numbered() {
    let text = "namespace a { void f(int); void f(float); struct S; namespace { int x; } }\n\
                template <class T> bool a::S<T>::operator==(S o) { } a::S::operator int() { } a::S::~S() { }\n\
                typedef int (*fn)(int); enum class E { A }; API(1) __global__ void __launch_bounds__(4) k() { }\n\
                T x = f(1), y; float m[2]; struct { int q; } v; using U = int; using namespace a;";
    let unit = preprocess_text("m.cu", text, Dialect::Cuda);
    let names: Vec<String> = item_names(&unit.items)
        .into_iter()
        .map(|key| format!("{}#{}", key.name, key.ordinal))
        .collect();
    assert_eq!(
        names,
        [
            "a::f#0",
            "a::f#1",
            "a::S#0",
            "a::x#0",
            "a::S::operator==#0",
            "a::S::operator int#0",
            "a::S::~S#0",
            "fn#0",
            "E#0",
            "k#0",
            "x#0",
            "m#0",
            "v#0",
            "U#0",
            "#0"
        ]
    );
}

#[test]
fn spans_cover_the_text_of_their_node() {
    let text = "int before;\n__global__ void k(int* a) { a[0] = (b + c) * d; }";
    let unit = preprocess_text("m.cu", text, Dialect::Cuda);
    let parsed = parse_unit(&unit, Dialect::Cuda);
    let (start, end, item) = &parsed[1];
    assert_eq!((*start, *end), (12, text.len() as u32));
    let own = &text[*start as usize..*end as usize];
    let ItemKind::Function(function) = &item.kind else {
        unreachable!("a function was written")
    };
    assert_eq!(
        &own[..function.signature_span.end as usize],
        "__global__ void k(int* a)"
    );
    assert_eq!(
        &own[function.parameters[0].span.start as usize..function.parameters[0].span.end as usize],
        "int* a"
    );
    let FunctionBody::Block(body) = &function.body else {
        unreachable!("a body was written")
    };
    let StmtKind::Expr(assignment) = &body.statements[0].kind else {
        unreachable!("an expression was written")
    };
    let ExprKind::Assign { right, op_span, .. } = &assignment.kind else {
        unreachable!("an assignment was written")
    };
    let text_of = |span: crate::Span| &own[span.start as usize..span.end as usize];
    assert_eq!(text_of(assignment.span), "a[0] = (b + c) * d");
    assert_eq!(text_of(*op_span), "=");
    let ExprKind::Binary {
        op: BinaryOp::Mul,
        left,
        right,
        ..
    } = &right.kind
    else {
        unreachable!("a product was written")
    };
    assert_eq!((text_of(left.span), text_of(right.span)), ("(b + c)", "d"));
    assert_eq!(text_of(body.statements[0].span), "a[0] = (b + c) * d;");
}

#[test]
fn nodes_of_a_macro_stand_at_its_use() {
    let text = "#define MIN(a, b) ((a) < (b) ? (a) : (b))\nint f(int x) { return MIN(x, 4); }";
    let unit = preprocess_text("m.cu", text, Dialect::Cuda);
    let item = parse_item(
        &unit.items[0],
        &declared_type_names(&unit.items),
        Dialect::Cuda,
    );
    let ItemKind::Function(function) = &item.kind else {
        unreachable!("a function was written")
    };
    let FunctionBody::Block(body) = &function.body else {
        unreachable!("a body was written")
    };
    let StmtKind::Return(Some(value)) = &body.statements[0].kind else {
        unreachable!("a value was written")
    };
    let start = unit.items[0].start;
    let span = value.span.shifted(start);
    assert_eq!(&text[span.start as usize..span.end as usize], "MIN(x, 4)");
}

#[test]
fn an_item_depends_on_itself_and_the_hints() {
    let before = preprocess_text("m.cu", "int a;\nvoid f() { g(1); }", Dialect::Cuda);
    let after = preprocess_text("m.cu", "int a, b, c;\n\nvoid f() { g(1); }", Dialect::Cuda);
    let parse = |unit: &crate::preprocess::Unit| {
        parse_item(
            &unit.items[1],
            &declared_type_names(&unit.items),
            Dialect::Cuda,
        )
    };
    assert_eq!(parse(&before), parse(&after));
}

#[test]
fn declared_types_decide_what_is_ambiguous() {
    let shown = |text: &str| {
        let items = parse_text(text, Dialect::Cuda);
        items
            .last()
            .map(|item| crate::c_family::dump::item(item))
            .unwrap_or_default()
    };
    assert_eq!(
        shown("struct A {}; int x = (A)(y);"),
        "(variables (let x int = (cast A (paren y))))"
    );
    assert_eq!(
        shown("int x = (A)(y);"),
        "(variables (let x int = (call (paren A) y)))"
    );
    assert_eq!(
        shown("int x = (delta_t) * y + (size_t) * p;"),
        "(variables (let x int = (+ (* (paren delta_t) y) (cast size_t (* p)))))"
    );
    assert_eq!(
        shown("template <class T> T g(T); int x = g<3>(y);"),
        "(variables (let x int = (call g<=3> y)))"
    );
    assert_eq!(
        shown("typedef int A; void f() { A (*p)(A); h(A(1)); }"),
        "(function void f() {(let p (fn A A)) (call h (construct A 1))})"
    );
}
