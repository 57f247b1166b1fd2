//! The trip counts of loops, by counting: random heads `for (i = start; i ? limit; i = step(i))` and their
//! like with the test behind the body, over the numbers that a kernel may be given.

use super::source::functions;
use oracle::random::Random;
use syntax::c_family::Dialect;

const HEADS: u64 = 800;
/// The numbers that `n` stands for.
const NUMBERS: i64 = 80;
/// More rounds than are counted.
const MANY: u64 = 70_000;

#[derive(Clone, Copy)]
enum Step {
    Add(i64),
    Times(i64),
    Over(i64),
    Left(u32),
    Right(u32),
}

/// A number that is written in the source, and its value for an `n`.
#[derive(Clone, Copy)]
enum Number {
    Known(i64),
    /// `(n & mask) - less`
    Masked(i64, i64),
}

struct Head {
    unsigned: bool,
    start: Number,
    limit: Number,
    test: usize,
    step: Step,
    behind: bool,
}

type Test = (&'static str, fn(i64, i64) -> bool);

const TESTS: [Test; 5] = [
    ("<", |a, b| a < b),
    ("<=", |a, b| a <= b),
    (">", |a, b| a > b),
    (">=", |a, b| a >= b),
    ("!=", |a, b| a != b),
];

impl Number {
    fn random(random: &mut Random) -> Number {
        let small = |random: &mut Random| random.below(48) as i64 - 16;
        match random.below(10) {
            0..5 => Number::Known(small(random)),
            5 => Number::Known(*random.pick(&[64, 100, 1024, 65_535, 65_536, 65_537, 1 << 30])),
            6 => Number::Masked(*random.pick(&[1, 7, 16, 31, 63]), 0),
            7 => Number::Masked(*random.pick(&[7, 15, 64]), *random.pick(&[1, 4, 20])),
            _ => Number::Known(*random.pick(&[0, 1, 2, 16, 32])),
        }
    }
    fn of(self, n: i64) -> i64 {
        match self {
            Number::Known(value) => value,
            Number::Masked(mask, less) => (n & mask) - less,
        }
    }
    fn text(self) -> String {
        match self {
            Number::Known(value) => value.to_string(),
            Number::Masked(mask, less) => format!("(n & {mask}) - {less}"),
        }
    }
}

impl Head {
    fn random(random: &mut Random) -> Head {
        let step = match random.below(10) {
            0..2 => Step::Add(random.below(9) as i64 + 1),
            2..4 => Step::Add(-(random.below(9) as i64 + 1)),
            4 => Step::Times(random.below(4) as i64 + 1),
            5 => Step::Over(random.below(4) as i64 + 1),
            6 => Step::Left(random.below(3) + 1),
            7 => Step::Right(random.below(3)),
            8 => Step::Right(1),
            _ => Step::Times(2),
        };
        Head {
            unsigned: random.percent(40),
            start: Number::random(random),
            limit: Number::random(random),
            test: random.below(5) as usize,
            step,
            behind: random.percent(30),
        }
    }

    fn text(&self) -> String {
        let ty = if self.unsigned { "unsigned" } else { "int" };
        let step = match self.step {
            Step::Add(by) if by < 0 => format!("i -= {}", -by),
            Step::Add(by) => format!("i += {by}"),
            Step::Times(by) => format!("i *= {by}"),
            Step::Over(by) => format!("i /= {by}"),
            Step::Left(by) => format!("i <<= {by}"),
            Step::Right(by) => format!("i >>= {by}"),
        };
        let (start, limit, test) = (self.start.text(), self.limit.text(), TESTS[self.test].0);
        match self.behind {
            false => format!("for ({ty} i = {start}; i {test} ({ty})({limit}); {step}) o[i] = n;"),
            true => format!(
                "{ty} i = {start}; do {{ o[i] = n; {step}; }} while (i {test} ({ty})({limit}));"
            ),
        }
    }

    fn is_fixed(&self) -> bool {
        matches!(
            (self.start, self.limit),
            (Number::Known(_), Number::Known(_))
        )
    }

    /// All that the counter is on the way to a known limit is a number of both types, and it moves.
    fn is_plain(&self) -> bool {
        let mut at = self.start.of(0);
        let moves = self.next(at) != at;
        for _ in 0..self.rounds(0).unwrap_or_default() {
            if !(0..1 << 31).contains(&at) {
                return false;
            }
            at = self.next(at);
        }
        self.is_fixed() && moves && self.limit.of(0) >= 0 && (0..1 << 31).contains(&at)
    }

    fn next(&self, at: i64) -> i64 {
        match self.step {
            Step::Add(by) => at + by,
            Step::Times(by) => at * by,
            Step::Over(by) => at / by,
            Step::Left(by) => at << by,
            Step::Right(by) => at >> by,
        }
    }

    fn wrapped(&self, at: i64) -> i64 {
        match self.unsigned {
            true => at & 0xffff_ffff,
            false => at,
        }
    }

    /// The rounds for an `n`; `None`: a signed number leaves its type, or they are too many to tell.
    fn rounds(&self, n: i64) -> Option<u64> {
        let (mut at, limit) = (
            self.wrapped(self.start.of(n)),
            self.wrapped(self.limit.of(n)),
        );
        let mut rounds = 0;
        let mut first = self.behind;
        while first || TESTS[self.test].1(at, limit) {
            first = false;
            rounds += 1;
            at = self.next(at);
            if rounds > MANY || !self.unsigned && i32::try_from(at).is_err() {
                return None;
            }
            at = self.wrapped(at);
        }
        Some(rounds)
    }
}

#[test]
fn rounds_are_those_that_are_counted() {
    let (mut counted, mut countable, mut bounded) = (0, 0, 0);
    let mut wrong = Vec::new();
    for seed in 0..HEADS {
        let head = Head::random(&mut Random::new(seed));
        let numbers = if head.is_fixed() { 1 } else { NUMBERS };
        let all: Vec<Option<u64>> = (0..numbers).map(|n| head.rounds(n)).collect();
        let text = head.text();
        let kernel = format!("__global__ void k(int* o, int n) {{ {text} }}");
        let found = functions(&kernel, Dialect::Cuda);
        let Some(told) = found.iter().flat_map(|(_, facts)| &facts.loops).next() else {
            continue;
        };
        if head.is_plain() && all[0].is_some_and(|rounds| rounds <= 1 << 16) {
            countable += 1;
            counted += u64::from(told.count.is_some());
            if told.count.is_none() {
                println!("not counted: {text}: {:?}", all[0]);
            }
        }
        bounded += u64::from(told.at_most.is_some());
        for (n, rounds) in all.iter().enumerate() {
            let count = told.count.is_some_and(|count| *rounds != Some(count));
            let bound = told
                .at_most
                .is_some_and(|most| rounds.is_none_or(|r| r > most));
            // What leaves a signed type has no meaning.
            let judged = rounds.is_some()
                || head.unsigned
                || matches!(head.step, Step::Over(_) | Step::Right(_));
            if judged && (count || bound) {
                wrong.push(format!(
                    "{text} for {n}: {rounds:?}, told {:?}, at most {:?}",
                    told.count, told.at_most
                ));
                break;
            }
        }
    }
    println!("{counted} of {countable} constant counts, {bounded} bounds");
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(30)].join("\n")
    );
}

#[test]
fn rounds_up_to_the_bound() {
    let count = |limit: u32| {
        let text =
            format!("__global__ void k(int* o) {{ for (int i = 0; i < {limit}; i++) o[i] = 1; }}");
        functions(&text, Dialect::Cuda)[0].1.loops[0].count
    };
    assert_eq!(count(65_535), Some(65_535));
    assert_eq!(count(65_536), Some(65_536));
    assert_eq!(count(65_537), None);
}
