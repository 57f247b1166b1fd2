use super::*;

const SUM_TRIANGLE: &str = include_str!("../../../../fixtures/musimd/sum_triangle.musimd");
const SUM_TRIANGLE_GATED: &str =
    include_str!("../../../../fixtures/musimd/sum_triangle_gated.musimd");
const AVG_SQUARE: &str = include_str!("../../../../fixtures/musimd/avg_square.musimd");
const AVG_SQUARE_GATED: &str = include_str!("../../../../fixtures/musimd/avg_square_gated.musimd");
const FIGURE_15: &str = include_str!("../../../../fixtures/musimd/figure_15_gated.musimd");

#[test]
fn the_papers_programs_parse_without_problems() {
    for (text, count, gated, parameters) in [
        (SUM_TRIANGLE, 19, false, vec!["c"]),
        (SUM_TRIANGLE_GATED, 20, true, vec!["c"]),
        (AVG_SQUARE, 17, false, vec!["c", "V"]),
        (AVG_SQUARE_GATED, 18, true, vec!["c", "V"]),
        (FIGURE_15, 10, true, vec!["n"]),
    ] {
        let program = parse(text);
        assert_eq!(program.problems, vec![]);
        assert_eq!(program.instructions.len(), count);
        assert_eq!(program.is_gated(), gated);
        let names: Vec<_> = program.parameters().into_iter().map(|p| p.text).collect();
        assert_eq!(names, parameters);
        for (number, instruction) in program.instructions.iter().enumerate() {
            assert_eq!(instruction.labels[0].text, format!("l{number}"));
        }
    }
}

#[test]
fn ascii_and_unicode_forms_are_the_same_tree() {
    let unicode = parse("l0 t = ↓x\nl1 ↑x = t\nl2 k ←a x + 2\nl3 a = b × 3\nl4 [y] = γ(p,a,b)");
    let ascii = parse("t = load x; store x = t; k = atomic x + 2; a = b * 3; y = gamma(p, a, b)");
    let shape = |program: &Program| -> Vec<_> {
        program
            .instructions
            .iter()
            .map(|i| {
                let results: Vec<_> = i.kind.results().iter().map(|n| n.text.clone()).collect();
                (std::mem::discriminant(&i.kind), results)
            })
            .collect()
    };
    assert_eq!(unicode.problems, vec![]);
    assert_eq!(ascii.problems, vec![]);
    assert_eq!(shape(&unicode), shape(&ascii));
}

#[test]
fn a_broken_line_keeps_its_number_and_its_result() {
    let program = parse("l0 d = 0\nl1 e = = 4\nl2 bz e, l9\nl3 stop");
    assert_eq!(program.instructions.len(), 4);
    assert!(matches!(
        &program.instructions[1].kind,
        InstructionKind::Invalid { results } if results[0].text == "e"
    ));
    assert_eq!(program.problems.len(), 2);
    assert_eq!(
        program.instructions[2].kind.target().unwrap().instruction,
        None
    );
}

#[test]
fn several_instructions_stand_on_a_line() {
    let program = parse("l0 d=0   l1 s=-1  loop: s = s − d  l3 stop");
    assert_eq!(program.problems, vec![]);
    assert_eq!(program.instructions.len(), 4);
    assert_eq!(program.instructions[2].labels[0].text, "loop");
}

#[test]
fn any_prefix_of_any_program_is_parsed() {
    for text in [SUM_TRIANGLE, SUM_TRIANGLE_GATED, FIGURE_15] {
        for (end, _) in text.char_indices() {
            let program = parse(&text[..end]);
            for instruction in &program.instructions {
                assert!(instruction.span.end as usize <= end);
            }
        }
    }
}
