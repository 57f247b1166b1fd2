//! A file of assembly in execution sets, read as a whole.

use simulate::sc140::{Program, Source};
use syntax::Problem;

/// Returns the text that can't be read, and the instructions of which nothing is known.
pub(super) fn problems(text: &str) -> Vec<Problem> {
    let document = syntax::sc140::parse(text);
    let source = Source {
        document: &document,
        text,
    };
    let (_, opaque) = Program::new(&[source]);
    let mut problems = document.problems;
    // An operand that can't be read is told already.
    let told: Vec<_> = problems.iter().map(|problem| problem.span).collect();
    let opaque = opaque.into_iter().filter(|opaque| {
        let span = opaque.span;
        !told
            .iter()
            .any(|told| told.start <= span.end && span.start <= told.end)
    });
    problems.extend(opaque.map(|opaque| Problem::unsupported(opaque.span, opaque.why.to_string())));
    problems
}
