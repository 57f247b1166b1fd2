//! The worked example of divergence-aware register allocation (Sampaio et al., TOPLAS 2013, section 4):
//! Figures 16, 17 and 19 with the paper's own numbers, on the machine that the paper defines, and the result
//! of ours for the same program.

#[path = "support/fitting.rs"]
mod fitting;
#[path = "allocation_paper/listing.rs"]
mod listing;

use facts::paper::polynomial;
use fitting::{functions, parsed};
use listing::{Listing, figure_17, figure_19};
use lockstep_codegen::target::ptx::machine::check::check;
use lockstep_codegen::target::ptx::machine::fit::{Allocator, Budget, Home, Scheduling};
use oracle::interp::micro_simd::{self, Setting};
use std::collections::BTreeMap;
use syntax::musimd::parse;

/// The sums are wholes: the paper's table is 1 2 3 5 and its averages are 2.0 and 3.5.
const SCALE: i64 = 20;

fn table(count: usize) -> Vec<i64> {
    let first = [1, 2, 3, 5];
    let rest = (0..).map(|at| (at * 29 + 7) % 23);
    let numbers = first.into_iter().chain(rest);
    numbers.take(count).map(|number| number * SCALE).collect()
}

fn as_it_is(text: String) -> String {
    text
}

/// The source without spills: column averages, truncated.
fn averages(table: &[i64], c: i64) -> [i64; 2] {
    [0, 1].map(|column| {
        let cells = (0..c).map(|row| table.get((column + row * c) as usize).copied().unwrap_or(0));
        cells.sum::<i64>() / c
    })
}

#[test]
fn figures_17_and_19_compute_the_averages() {
    for rows in [figure_17, figure_19] {
        let listing = Listing::new(rows(), &as_it_is);
        assert_eq!(listing.averages(&table(4), 2), [2 * SCALE, 7 * SCALE / 2]);
        for c in [2, 3, 8] {
            let table = table((c * c) as usize);
            assert_eq!(listing.averages(&table, c), averages(&table, c), "{c}");
        }
    }
}

/// The loop goes on while `i < N`: with the sense as printed nothing is summed, with the printed target alone N divides.
#[test]
fn figure_17_as_printed_is_wrong() {
    let target = |text: String| -> String {
        let text = text.replace("bz p, l23", "bz p, l24");
        text.replace("l23 sync\n", "l23 ")
            .replace("l24 ", "l24 sync\n")
    };
    let sense = Listing::new(figure_17(), &target);
    assert_eq!(sense.averages(&table(4), 2), [SCALE, 7 * SCALE / 5]);
    let both = Listing::new(figure_17(), &|text| {
        target(text).replace("bz p, l24", "bnz p, l24")
    });
    assert_eq!(both.averages(&table(4), 2), [0, 0]);
}

#[test]
fn registers_and_slots_hold_what_the_tables_say() {
    for (rows, least) in [(figure_17(), 300), (figure_19(), 300)] {
        let listing = Listing::new(rows, &as_it_is);
        let compared = listing.compare_contents(&table(4), 2);
        println!("{compared} contents agree");
        assert!(compared >= least, "{compared}");
    }
}

#[test]
fn dynamic_counts_are_those_of_section_4_3() {
    for c in [2, 8, 32] {
        let table = table((c * c) as usize);
        let counts = |rows| Listing::new(rows, &as_it_is).counts(&table, c);
        let wanted = |numbers: &[(&'static str, i64)]| -> BTreeMap<&'static str, i64> {
            let sum: i64 = numbers.iter().map(|(_, count)| count).sum();
            let all = numbers.last().map_or(0, |(_, all)| *all);
            let rest = [("others", 2 * all - sum)];
            numbers.iter().copied().chain(rest).collect()
        };
        let seventeen = [
            ("st.local", 2 * c + 3),
            ("ld.local", 3 * c + 2),
            ("ld.global", 3 * c + 2),
            ("all", 14 * c + 16),
        ];
        assert_eq!(counts(figure_17()), wanted(&seventeen), "{c}");
        let nineteen = [
            ("st.local", c + 1),
            ("ld.local", c),
            ("st.shared", c + 2),
            ("ld.shared", 2 * c + 2),
            ("ld.global", 3 * c + 2),
            ("all", 15 * c + 17),
        ];
        assert_eq!(counts(figure_19()), wanted(&nineteen), "{c}");
    }
}

/// Figure 16: the program with its temporaries in gated form, and the states of its variables.
#[test]
fn figure_16_states() {
    let program = parse(
        "d0 = 0\ns0 = 0\nt0 = c × c\nN = Tid + t0\ni0 = Tid\n\
         l5 [i1, s1, d1] = μ[(i0, s0, d0), (i2, s2, d2)]\np0 = i1 < N\nbz p0, l12\nt1 = i1 × 4\nx = m + t1\nt2 = ↓x\n\
         s2 = t2 + s1\nd2 = d1 + 1\ni2 = i1 + c\njump l5\nl12 [s3, d3] = η[p0, (s1, d1)]\nt3 = s3 / d3\nt4 = Tid × 4\n\
         y = v + t4\n↑y = t3\nstop\n",
    );
    assert_eq!(program.problems, []);
    let states = polynomial::analyze(&program, 1).expect("every variable is written once");
    let states: BTreeMap<&str, String> = states
        .iter()
        .map(|(name, state)| (name.as_str(), state.to_string()))
        .collect();
    for (names, state) in [
        ("d1 d2 d3 t0 p0", "(0,⊥)"),
        ("s1 s2 s3 t2 t3", "(⊥,⊥)"),
        ("N i1 i2", "(1,⊥)"),
        ("t1", "(4,⊥)"),
        ("t4", "(4,0)"),
    ] {
        for name in names.split(' ') {
            assert_eq!(states[name], state, "{name}");
        }
    }
}

/// Figure 16: intervals over the program without spills, as `(defined, read)` by line.
#[test]
fn figure_16_intervals() {
    let lines: [(&str, &str); 15] = [
        ("d", ""),
        ("s", ""),
        ("t0", ""),
        ("N", "t0"),
        ("i", ""),
        ("", "i N"),
        ("t1", "i"),
        ("t2", "t1"),
        ("s", "t2 s"),
        ("d", "d"),
        ("i", "i"),
        ("", ""),
        ("t3", "s d"),
        ("t4", ""),
        ("", "t4 t3"),
    ];
    let next = |at: usize| match at {
        5 => vec![6, 12],
        11 => vec![5],
        14 => vec![],
        _ => vec![at + 1],
    };
    let mut live: Vec<Vec<&str>> = vec![Vec::new(); lines.len()];
    for _ in 0..lines.len() {
        for at in (0..lines.len()).rev() {
            let (defined, read) = lines[at];
            let mut here: Vec<&str> = next(at)
                .iter()
                .flat_map(|next| live[*next].clone())
                .collect();
            here.retain(|name| *name != defined);
            here.extend(read.split_whitespace());
            here.sort_unstable();
            here.dedup();
            live[at] = here;
        }
    }
    for (name, first, last) in [
        ("d", 0, 12),
        ("s", 1, 12),
        ("t0", 2, 3),
        ("N", 3, 11),
        ("i", 4, 11),
        ("t1", 6, 7),
        ("t2", 7, 8),
        ("t3", 12, 14),
        ("t4", 13, 14),
    ] {
        assert_eq!(
            lines.iter().position(|line| line.0 == name),
            Some(first),
            "{name}"
        );
        assert_eq!(
            live.iter().rposition(|live| live.contains(&name)),
            Some(last),
            "{name}"
        );
    }
}

/// S1: d is uniform in the loop of sumTriangle, and threads leave it apart. A slot of the warp then has the value of the last
/// iteration; copied within the loop in front of the exit it has that of each thread's own.
#[test]
fn the_slot_of_sum_triangle_needs_a_copy_within_the_loop() {
    let memory = [4, 11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 11, 7, 3, 10];
    let run = |head: &str, tail: &str| {
        let text = format!(
            "d = 0\n↑60 = d\ns = 0\ni = Tid\nx = Tid + 1\nL = c * x\nl5 {head}p = i < L\nbz p, l15\nd = ↓60\np = d % 2\nbz p, l11\n\
             t = ↓i\ns = s + t\nl11 sync\nd = ↓60\nd = d + 1\n↑60 = d\ni = i + c\njump l5\nl15 sync\n{tail}\nx = d - 1\n\
             x = x + 16\n↑x = s\nstop\n"
        );
        let program = parse(&text);
        assert_eq!(program.problems, []);
        let mut setting = Setting::new(4);
        setting.parameters = vec![("c".into(), 4)];
        setting.memory = memory.to_vec();
        let run = micro_simd::run(&program, &setting);
        assert_eq!(run.stuck, None);
        let d = run.variable("d").unwrap_or_default().to_vec();
        (d, [16, 17, 18, 19].map(|at| run.cell(at)))
    };
    assert_eq!(run("", "d = ↓60"), (vec![4, 4, 4, 4], [0, 0, 0, 19]));
    assert_eq!(
        run("own = ↓60\n", "d = own"),
        (vec![1, 2, 3, 4], [0, 6, 2, 19])
    );
}

/// The same program in PTX. It wraps around at 32 bits, so that its loop's branch is not uniform, and a slot of a warp is
/// written at one place: d and i stay in slots of the lane, of N only the uniform part is stored.
#[test]
fn avg_square_in_ptx() {
    let file = include_str!("allocation_paper/avg_square.ptx");
    let (item, function) = functions(file).remove(0);
    let homes = |words, allocator| {
        let budget = Budget {
            words,
            predicates: 7,
            lanes: 32,
            warps: 1,
            whole_warps: false,
            shared_bytes: 16_384,
            scheduling: Scheduling::Waiting,
        };
        let made = function.fitted(&file[item.clone()], allocator, &budget)?;
        let after = parsed(&made.text);
        assert_eq!(check(&function.tree, &after, &function.known, &budget), []);
        let homes = made.spilled.iter();
        Ok(homes
            .map(|spilled| (spilled.name.to_string(), spilled.home))
            .collect::<Vec<_>>())
    };
    let own = |name: &str, home| (name.to_owned(), home);
    let lanes = [("d", 0), ("N", 4), ("i", 8)].map(|(name, at)| own(name, Home::Lane(at)));
    assert_eq!(homes(3, Allocator::Linear), Ok(lanes.to_vec()));
    assert_eq!(homes(3, Allocator::Divergence), Ok(lanes.to_vec()));
    // The base of the slots and the thread's number take two of them.
    let affine: Result<Vec<_>, String> = homes(5, Allocator::Affine);
    let affine = affine.expect("it fits");
    assert!(
        affine.contains(&own("N", Home::WarpBase(0, 1))),
        "{affine:?}"
    );
}
