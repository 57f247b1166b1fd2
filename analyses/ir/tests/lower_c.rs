//! C sources lowered and executed: the fixtures' `//@ run:` lines, and the differences between C and C++.
//!
//! `f(2, [1, 2]) == 3`: numbers by the parameters' types, arrays by the types that the pointers point to; `==
//! y [3, 4]` is the beginning of the array behind the parameter `y` afterwards.

use fixtures::Fixture;
use lockstep_ir::lower::c_family::{LowerOptions, Lowered, lower_unit};
use lockstep_ir::verify::verify_module;
use lockstep_ir::{Language, Op, Type};
use oracle::interp::{Argument, Buffer, Launch, run};
use syntax::c_family::{Dialect, parse_text};

fn lower(source: &str) -> Vec<Lowered> {
    let items = parse_text(source, Dialect::C);
    for item in &items {
        assert!(item.problems.is_empty(), "{:?}\n{source}", item.problems);
    }
    let all = lower_unit(&items, &LowerOptions::new(Language::C));
    all.into_iter().map(|(_, lowered)| lowered).collect()
}

fn function(source: &str, name: &str) -> Lowered {
    let all = lower(source);
    let found = all
        .into_iter()
        .find(|l| l.module.functions[0].name == name)
        .expect("a function of this name");
    if let Err(errors) = verify_module(&found.module) {
        panic!("{}", errors[0]);
    }
    let unknowns: Vec<_> = found.module.functions[0].unknowns.values().collect();
    assert!(unknowns.is_empty(), "{unknowns:?}");
    found
}

/// The type that a pointer's text points to, or of a number's text.
fn element(text: &str) -> Type {
    let has = |word: &str| text.contains(word);
    match text {
        _ if has("char") => Type::I8,
        _ if has("short") => Type::I16,
        _ if has("long") => Type::I64,
        _ if has("float") => Type::F32,
        _ if has("double") => Type::F64,
        _ => Type::I32,
    }
}

fn bits(ty: Type, text: &str) -> u64 {
    match ty {
        Type::F32 => u64::from(text.parse::<f32>().expect("a number").to_bits()),
        Type::F64 => text.parse::<f64>().expect("a number").to_bits(),
        _ => text.parse::<i64>().expect("a number") as u64,
    }
}

fn list(text: &str) -> Vec<&str> {
    let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
    let parts = inner.split(',').map(str::trim);
    parts.filter(|part| !part.is_empty()).collect()
}

/// Runs one line of a fixture: returns the expected and the actual result.
fn executed(lowered: &Lowered, arguments: &[String], expected: &str) -> (String, String) {
    let function = &lowered.module.functions[0];
    let mut launch = Launch::new(1);
    for (info, text) in function.parameters.iter().zip(arguments) {
        let ty = element(&info.type_text);
        if !text.starts_with('[') {
            launch.parameters.push(Argument::Bits(bits(ty, text)));
            continue;
        }
        let bytes = list(text)
            .into_iter()
            .flat_map(|it| bits(ty, it).to_le_bytes()[..ty.bytes() as usize].to_vec());
        launch.parameters.push(Argument::Pointer {
            buffer: launch.buffers.len(),
            offset: 0,
        });
        launch.buffers.push(Buffer::global(bytes.collect()));
    }
    let outcome = run(&lowered.module, &launch);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    let mask = |ty: Type| u64::MAX >> (64 - 8 * ty.bytes());
    if let Some((name, after)) = expected.split_once(' ') {
        let at = function.parameters.iter().position(|p| p.name == name);
        let at = at.expect("a parameter of this name");
        let ty = element(&function.parameters[at].type_text);
        let Argument::Pointer { buffer, .. } = launch.parameters[at] else {
            panic!("{name} is no pointer");
        };
        let wanted: Vec<u64> = list(after).iter().map(|t| bits(ty, t) & mask(ty)).collect();
        let chunks = outcome.buffers[buffer].bytes.chunks(ty.bytes() as usize);
        let found: Vec<u64> = chunks
            .take(wanted.len())
            .map(|c| c.iter().rev().fold(0u64, |sum, &b| sum << 8 | u64::from(b)))
            .collect();
        return (format!("{wanted:x?}"), format!("{found:x?}"));
    }
    let ty = function.returns[0];
    let found = outcome.returned[0][0] & mask(ty);
    let wanted = bits(ty, expected) & mask(ty);
    (format!("{wanted:x}"), format!("{found:x}"))
}

#[test]
fn fixtures_compute_what_they_say() {
    let mut count = 0;
    for path in fixtures::files("c", &["c"]) {
        let fixture: Fixture = fixtures::load(&path).expect("a fixture");
        for run in fixture.runs() {
            let lowered = function(&fixture.text, &run.function);
            let (wanted, found) = executed(&lowered, &run.arguments, &run.expected);
            assert_eq!(wanted, found, "{}:{}", path.display(), run.line);
            count += 1;
        }
    }
    assert!(count >= 15, "{count}");
}

/// The result of `int f(void)`.
fn result(source: &str) -> i64 {
    let lowered = function(source, "f");
    let outcome = run(&lowered.module, &Launch::new(1));
    assert!(outcome.error.is_none(), "{:?}\n{source}", outcome.error);
    i64::from(outcome.returned[0][0] as i32)
}

#[test]
fn words_of_other_dialects_are_names() {
    let source = "int f(void) { int class = 1, new = 2, template = 4, this = 8, threadIdx = 16, __global__ = 32, \
                  operator = 64, try = 128; return class + new + template + this + threadIdx + __global__ + operator + try; }";
    assert_eq!(result(source), 255);
}

#[test]
fn tags_have_a_name_space_of_their_own() {
    let source = "struct s { int s; struct inner { int v; } in; enum { ONE = 1, TWO } e; };\n\
                  typedef int inner;\n\
                  struct inner make(int v) { struct inner x = { v }; return x; }\n\
                  int s(struct s *s) { return s->s + s->in.v + s->e; }\n\
                  int f(void) { struct s x = { 1, { 20 }, TWO }; inner y = 300; struct s s2 = x; s2.in = make(70); \
                  return s(&x) + s(&s2) + y; }";
    assert_eq!(result(source), 23 + 73 + 300);
}

#[test]
fn lists_are_resolved_as_c_says() {
    let source = "struct p { int x, y; };\n\
                  struct q { struct p a[2]; union { int i; float g; }; int last; };\n\
                  static const struct q table[] = { [1] = { .a[1].y = 5, .i = 7 }, { { 1, 2, 3, 4 }, { 9 }, 8 } };\n\
                  static char text[] = \"ab\" \"c\";\n\
                  static int grid[2][3] = { { 1 }, { 4, 5 } };\n\
                  int f(void) {\n\
                    struct q local = { 1, 2, { 3, .y = 4 }, 5, 6 };\n\
                    int flat[2][2] = { 1, 2, 3 };\n\
                    int odd[8] = { [2 ... 4] = 1, 2 };\n\
                    char word[6] = \"xyz\";\n\
                    return table[1].a[1].y * 1 + table[1].i * 10 + table[2].a[1].x * 100 + table[2].last * 1000\n\
                      + (int)(sizeof table / sizeof table[0]) * 10000 + (int)sizeof text * 100000\n\
                      + (grid[1][1] == 5) * 1000000\n\
                      + (local.a[1].y == 4 && local.i == 5 && local.last == 6) * 2000000\n\
                      + (flat[1][0] == 3 && flat[1][1] == 0) * 4000000\n\
                      + (odd[1] == 0 && odd[4] == 1 && odd[5] == 2) * 8000000\n\
                      + (word[2] == 'z' && word[3] == 0 && text[2] == 'c') * 16000000; }";
    assert_eq!(
        result(source),
        5 + 70 + 300 + 8000 + 30000 + 400_000 + 31_000_000
    );
}

#[test]
fn arithmetic_is_converted_as_c_says() {
    for (expression, expected) in [
        ("(unsigned char)200 + (unsigned char)100", 300),
        ("-1 < 1u", 0),
        ("-1L < 1u", 1),
        ("(char)200 < 0", 1),
        (
            "sizeof(long) * 10 + sizeof(0x80000000) + sizeof(2147483648)",
            92,
        ),
        ("(1 ? -1 : 0u) > 0", 1),
        ("-7 / 2 * 10 + -7 % 2", -31),
        ("(int)(0.1f + 0.2f == 0.3f)", 1),
        ("(int)(0.1 + 0.2 == 0.3)", 0),
        ("!5 + !0 + (3 > 2)", 2),
        ("(_Bool)0.5 + (_Bool)256", 2),
        ("~0u >> 28", 15),
        ("(short)40000", -25536),
        ("sizeof \"four\"", 5),
        ("sizeof(int[3][4])", 48),
        ("1 + sizeof(struct { char c; double d; })", 17),
    ] {
        let source = format!("int f(void) {{ return {expression}; }}");
        assert_eq!(result(&source), expected, "{expression}");
    }
}

#[test]
fn enumerations_without_negative_numbers_are_unsigned() {
    let source = "enum e { A, B = 3 }; enum g { M = -1, Z };\n\
                  int f(void) { enum e e = A; enum g g = Z; return (e - 1 > 0) * 2 + (g - 1 > 0) + (A - 1 < 0) * 4; }";
    assert_eq!(result(source), 6);
}

#[test]
fn a_name_is_in_scope_in_its_own_initialiser() {
    let source = "int f(void) { long x = sizeof x; short *p = (short *)sizeof *p; return (int)x * 10 + (int)(long)p; }";
    assert_eq!(result(source), 82);
}

#[test]
fn what_is_volatile_is_accessed_as_written() {
    let lowered = function(
        "int f(volatile int *p) { *p; *p = 1; *p = 1; return *p + *p; }",
        "f",
    );
    let function = &lowered.module.functions[0];
    let count = |wanted: fn(&Op) -> bool| {
        let blocks = function.layout.iter().map(|&b| &function.blocks[b]);
        let insts = blocks.flat_map(|b| b.insts.iter());
        insts.filter(|&&i| wanted(&function.insts[i].op)).count()
    };
    assert_eq!(count(|op| matches!(op, Op::Load(a) if a.volatile)), 3);
    assert_eq!(count(|op| matches!(op, Op::Store(a) if a.volatile)), 2);
}

#[test]
fn statics_keep_their_values_and_functions_their_own() {
    let source = "static int twice(int n) { static int calls = 5; calls += n; return calls; }\n\
                  static int other(void) { static int calls; return ++calls; }\n\
                  int count = 2;\n\
                  int f(void) { int a = twice(1); int b = twice(10); int c = other(); count += c; return a * 10000 + b * 100 + c * 10 + count; }";
    assert_eq!(result(source), 6 * 10000 + 16 * 100 + 10 + 3);
}

#[test]
fn control_flow_goes_where_c_says() {
    let source = "int f(void) {\n\
                    int sum = 0, n = 11;\n\
                    switch (n & 3) { case 0: do { sum += 1; case 3: sum += 10; case 2: sum += 100; case 1: sum += 1000; } while ((n -= 4) > 0); }\n\
                    for (int i = 0; ; i++) { for (int j = 0; j < 5; j++) { if (j == 3) goto next; if (i == 2) goto out; sum += 1 << 20; } next: ; }\n\
                  out: return sum + (sum ? 0, 5 : 7); }";
    // Rounds of the device: 10 + 100 + 1000, then twice all four.
    assert_eq!(result(source), 3 * 1110 + 2 + 6 * (1 << 20) + 5);
}

/// The promises of a function, as its text form has them, without their places.
fn promises(source: &str) -> Vec<String> {
    let lowered = function(source, "f");
    let text = lockstep_ir::text::print_module(&lowered.module);
    let back = lockstep_ir::text::parse_module(&text).expect("the module again");
    assert_eq!(
        back.functions[0].promises,
        lowered.module.functions[0].promises
    );
    let lines = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("promise "));
    let plain = lines.map(|line| line.split(" @").next().unwrap_or(line).to_owned());
    plain.collect()
}

#[test]
fn promises_of_pragmas_stand_with_values_and_loops() {
    let starcore = "int f(const short *x, int n) {
  int s = 0, i;
#pragma align *x 8
  for (i = 0; i < n; i++) {
#pragma loop_count (4, 512, 4)
    s += x[i];
  }
  return s;
}";
    assert_eq!(promises(starcore), ["aligned v0 8 b0", "rounds b1 4 512 4"]);
    let own = "int f(const short *x, int n) {
  int s = 0;
#pragma lockstep aligned(x, 4)
#pragma lockstep readable(x, 2 * sizeof(short))
#pragma lockstep rounds(1, 100)
  while (n-- > 0) s += *x++;
  return s;
}";
    let found = promises(own);
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found[..2], ["aligned v0 4 b0", "readable v0 4 b0"]);
    assert!(found[2].starts_with("rounds ") && found[2].ends_with(" 1 100 1"));
    let builtin = "short f(short *x) { short *y = __builtin_assume_aligned(x, 16); return y[1]; }";
    assert_eq!(promises(builtin), ["aligned v0 16 b0"]);
}

#[test]
fn promises_that_say_nothing_are_none() {
    // No power of two; a number that is not known; less at most than at least; a count that is no range.
    let source = "int f(const short *x, int n) {
  int s = 0, i;
#pragma align *x 12
#pragma lockstep aligned(x, n)
#pragma loop_count (8, 4)
#pragma loop_count (16)
  for (i = 0; i < n; i++) s += x[i];
  return s;
}";
    assert_eq!(promises(source), Vec::<String>::new());
}
