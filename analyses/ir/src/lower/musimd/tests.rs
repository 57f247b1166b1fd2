use super::*;
use crate::verify::verify_module;

const PROGRAMS: [(&str, &str); 5] = [
    (
        "sum_triangle",
        include_str!("../../../../../fixtures/musimd/sum_triangle.musimd"),
    ),
    (
        "sum_triangle_gated",
        include_str!("../../../../../fixtures/musimd/sum_triangle_gated.musimd"),
    ),
    (
        "avg_square",
        include_str!("../../../../../fixtures/musimd/avg_square.musimd"),
    ),
    (
        "avg_square_gated",
        include_str!("../../../../../fixtures/musimd/avg_square_gated.musimd"),
    ),
    (
        "figure_15",
        include_str!("../../../../../fixtures/musimd/figure_15_gated.musimd"),
    ),
];

#[test]
fn the_papers_programs_lower_to_verified_ir() {
    for (name, text) in PROGRAMS {
        let (module, problems) = lower(&parse(text), name);
        assert_eq!(problems, vec![]);
        assert_eq!(verify_module(&module), Ok(()), "{name}");
        let function = &module.functions[0];
        assert!(function.unknowns.is_empty());
        assert_eq!(function.loops.len(), 1);
        assert!(function.variables.values().any(|v| v.name.starts_with('i')));
    }
}

#[test]
fn any_prefix_lowers_to_verified_ir() {
    for (name, text) in PROGRAMS {
        for (end, _) in text.char_indices() {
            let (module, _) = lower(&parse(&text[..end]), name);
            assert_eq!(verify_module(&module), Ok(()), "{}", &text[..end]);
        }
    }
}
