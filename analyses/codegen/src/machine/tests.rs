//! The tables that come with us, files with mistakes, and occupancy against known figures.

use super::occupancy::{Change, Limit, Need, most_registers, next_step, occupancy};
use super::schema::Key;
use super::*;
use facts::cost::{Unit, Work};
use std::fmt::Write;

fn table(name: &str) -> Arc<Table> {
    named(name).unwrap_or_else(|| panic!("no table {name}"))
}

#[test]
fn all_tables_load_without_a_problem_and_name_their_sources() {
    let mut known: Vec<Arc<Table>> = Vec::new();
    for (name, text) in FILES {
        let parsed = load(text, &|base| known.iter().find(|t| t.name == base).cloned());
        assert_eq!(parsed.problems, [], "{name}");
        let table = Arc::new(parsed.table.expect(name));
        assert_eq!(table.name, *name);
        for (field, quantity) in table.quantities() {
            let source = table.sources.iter().any(|(s, _)| *s == quantity.source);
            assert!(source, "{name}: {} names {}", field.name, quantity.source);
        }
        known.push(table);
    }
    assert_eq!(tables().len(), FILES.len());
    for (alias, of) in ALIASES {
        assert_eq!(table(alias).name, *of);
    }
    assert_eq!(table("sm_90a").name, "sm_90");
    assert!(named("sm_5").is_none());
}

#[test]
fn a_pipe_with_half_the_lanes_takes_twice_the_cycles() {
    let cycles = |name: &str, work| charges(&table(name), 32).charge(work).cycles;
    // 64 results a clk over four schedulers: a warp of 32 takes 2 cycles.
    assert_eq!(cycles("sm_80", Work::Float), 2.0);
    assert_eq!(cycles("sm_86", Work::Float), 1.0);
    assert_eq!(cycles("sm_80", Work::Special), 8.0);
    assert_eq!(cycles("sm_80", Work::Double), 4.0);
    assert_eq!(cycles("sm_86", Work::Double), 64.0);
    assert_eq!(cycles("sm_90", Work::Double), 2.0);
    assert_eq!(cycles("sm_120", Work::Integer), 1.0);
    // 18 instructions of the integer pipe.
    assert_eq!(cycles("sm_80", Work::DivideUnsigned), 36.0);
    // Half rate of pairs does not issue faster than one a clk.
    assert_eq!(cycles("sm_80", Work::Half), 1.0);
    let wide = charges(&table("rdna2"), 64);
    assert_eq!(wide.charge(Work::Float).cycles, 2.0);
    assert_eq!(wide.charge(Work::Float).slots, 2.0);
    assert_eq!(
        charges(&table("rdna2"), 32).charge(Work::Special).cycles,
        4.0
    );
    assert_eq!(charges(&table("gcn5"), 64).charge(Work::Float).cycles, 4.0);
    assert_eq!(
        charges(&table("sm_80"), 32).charge(Work::Shared).unit,
        Unit::Shared
    );
}

fn need(threads: u32, registers: u32, shared: u32) -> Need {
    Need {
        threads,
        registers,
        scalar: 0,
        shared,
        lanes: 32,
    }
}

#[test]
fn registers_bound_the_warps_as_the_vendor_says() {
    // Warps of an SM by registers a thread, workgroups of one partition's share.
    let expected = [
        (32, 64),
        (64, 32),
        (65, 28),
        (72, 28),
        (80, 24),
        (96, 20),
        (128, 16),
        (168, 12),
        (255, 8),
    ];
    for (registers, warps) in expected {
        let found = occupancy(table("sm_80").gpu(), need(128, registers, 0));
        assert_eq!(found.warps, warps, "{registers} registers");
        assert_eq!(found.most_warps, 64);
    }
}

#[test]
fn limits_of_each_kind() {
    let of = |name: &str, need| {
        let found = occupancy(table(name).gpu(), need);
        (found.blocks, found.warps, found.limits)
    };
    use Limit::*;
    // One warp a workgroup: as many as there are slots for workgroups.
    assert_eq!(of("sm_80", need(32, 16, 0)), (32, 32, vec![Blocks]));
    assert_eq!(of("sm_86", need(32, 16, 0)), (16, 16, vec![Blocks]));
    assert_eq!(of("sm_75", need(1024, 32, 0)), (1, 32, vec![Warps]));
    // 1024 threads: two on 2048, one on 1536.
    assert_eq!(
        of("sm_80", need(1024, 32, 0)),
        (2, 64, vec![Warps, Registers])
    );
    assert_eq!(of("sm_86", need(1024, 32, 0)), (1, 32, vec![Warps]));
    // 48 KiB and the reserved KiB: three fit in 164, two in 100, two in the 96 of sm_70, which reserves
    // nothing.
    assert_eq!(of("sm_80", need(256, 32, 49152)), (3, 24, vec![Shared]));
    assert_eq!(of("sm_86", need(256, 32, 49152)), (2, 16, vec![Shared]));
    assert_eq!(of("sm_70", need(256, 32, 49152)), (2, 16, vec![Shared]));
    assert_eq!(of("sm_90", need(256, 32, 49152)), (4, 32, vec![Shared]));
    // 1024 threads with 65 registers do not start.
    assert_eq!(of("sm_80", need(1024, 65, 0)), (0, 0, vec![Registers]));
    assert_eq!(of("sm_80", need(256, 256, 0)), (0, 0, vec![Registers]));
    assert_eq!(of("sm_80", need(256, 32, 166_913)), (0, 0, vec![Shared]));
    // A launch rounds three warps up to four, what is resident is not rounded.
    assert_eq!(of("sm_80", need(96, 128, 0)), (5, 15, vec![Registers]));
    assert_eq!(of("sm_80", need(2048, 32, 0)).0, 0);
}

#[test]
fn waves_of_amd() {
    let waves = |name: &str, registers, lanes| {
        let need = Need {
            threads: lanes,
            registers,
            scalar: 0,
            shared: 0,
            lanes,
        };
        occupancy(table(name).gpu(), need).warps / 4
    };
    // Vector registers a lane and SIMD over the granule: 1024 by 16, 1536 by 24.
    assert_eq!(waves("rdna2", 64, 32), 16);
    assert_eq!(waves("rdna2", 65, 32), 12);
    assert_eq!(waves("rdna2", 128, 32), 8);
    assert_eq!(waves("rdna2", 64, 64), 8);
    assert_eq!(waves("rdna3", 96, 32), 16);
    assert_eq!(waves("rdna3", 97, 32), 12);
    assert_eq!(waves("rdna1", 48, 32), 20);
    assert_eq!(waves("gcn5", 24, 64), 10);
    assert_eq!(waves("gcn5", 128, 64), 2);
    assert_eq!(waves("cdna3", 128, 64), 4);
}

/// GCN has 800 scalar registers a SIMD, given out by 16; RDNA has all for each wave.
#[test]
fn scalar_registers_limit_the_waves_of_old_machines() {
    let of = |name: &str, scalar| {
        let lanes = 64;
        let need = Need {
            threads: lanes,
            registers: 16,
            scalar,
            shared: 0,
            lanes,
        };
        let found = occupancy(table(name).gpu(), need);
        (found.warps / 4, found.limits)
    };
    use Limit::*;
    assert_eq!(of("gcn5", 80), (10, vec![Warps, ScalarRegisters, Blocks]));
    assert_eq!(of("gcn5", 81), (8, vec![ScalarRegisters]));
    assert_eq!(of("gcn5", 102), (7, vec![ScalarRegisters]));
    assert_eq!(of("rdna2", 102).0, 16);
}

#[test]
fn the_next_step_is_the_smallest_that_helps() {
    let sm_80 = table("sm_80");
    let step = |need| next_step(sm_80.gpu(), need).map(|step| (step.change, step.then.warps));
    assert_eq!(step(need(256, 72, 0)), Some((Change::Registers(64), 32)));
    assert_eq!(step(need(128, 72, 0)), Some((Change::Registers(64), 32)));
    assert_eq!(step(need(256, 32, 0)), None);
    // Four blocks have 41 KiB each, a KiB of which is the system's.
    assert_eq!(
        step(need(256, 32, 49152)),
        Some((Change::Shared(40960), 32))
    );
    assert_eq!(step(need(32, 16, 0)), Some((Change::Threads(64), 64)));
    assert_eq!(step(need(1024, 65, 0)), Some((Change::Registers(64), 32)));
}

#[test]
fn a_users_table_starts_from_ours() {
    let text = "kind = \"gpu\"\nname = \"mine\"\nbase = \"sm_86\"\n[throughput]\ndouble = 4\n\
        float = { value = 64, is = \"fact\", source = \"a guide\" }\n";
    let parsed = load(text, &named);
    assert_eq!(parsed.problems, []);
    let mine = parsed.table.expect("a table");
    let double = mine.gpu().quantity(Key::Double);
    assert_eq!((double.value, double.label), (4.0, Label::Estimate));
    assert_eq!(mine.gpu().quantity(Key::Float).source, "a guide");
    assert_eq!(mine.gpu().count(Key::Warps), 48);
    assert_eq!(mine.gpu().quantity(Key::Warps).of, "sm_86");
    assert_eq!(charges(&mine, 32).name, "mine");
}

#[test]
fn mistakes_have_places_and_leave_the_base() {
    let text = "kind = \"cpu\"\nname = \"my card\"\nbase = \"sm_80\"\nsomething = 1\n[throughput]\n\
        float = -1\nmultiply = \"many\"\nspeed = 3\n[shape]\nlanes = 1.5\nwarps = { is = \"sure\", value = 40 }\n\
        [latency]\nalu = { source = \"x\" }\n[registers]\nunit = 65536\n";
    let parsed = load(text, &named);
    let places: Vec<(&str, &str)> = parsed
        .problems
        .iter()
        .map(|p| {
            let there = &text[p.span.start as usize..p.span.end as usize];
            (there, p.message.as_str())
        })
        .collect();
    let at = |there: &str, says: &str| {
        assert!(
            places.iter().any(|(t, m)| *t == there && m.contains(says)),
            "{there}: {says} is not in {places:#?}"
        );
    };
    at("kind = \"cpu\"", "or \"sets\"");
    at("name = \"my card\"", "a word");
    at("something = 1", "unknown key");
    at("-1", "from 0.1 to");
    at("\"many\"", "a number");
    at("speed", "unknown value `throughput.speed`");
    at("1.5", "whole");
    at("\"sure\"", "fact, bound or estimate");
    at("{ source = \"x\" }", "`value` is missing");
    assert!(places.iter().any(|(_, m)| m.contains("scheduler's part")));
    let table = parsed.table.expect("the base's values");
    assert_eq!(table.gpu().of(Key::Float), 64.0);
    assert_eq!(table.gpu().count(Key::Warps), 40);
    assert_eq!(table.gpu().of(Key::LatencyAlu), 4.0);
}

#[test]
fn no_text_panics() {
    for text in [
        "",
        "= [[[",
        "kind = 1\nbase = 2\nname = 3\ntitle = 4\nsources = 5\nshape = 6",
        "base = \"nothing\"",
        "[shape]\nlanes = { value = { value = 1 } }\n[sources]\nx = 1",
        "\u{feff}kind = \"gpu\"\u{0}",
        "[throughput]\nfloat = nan\ndouble = inf\ninteger = 1e400",
    ] {
        let parsed = load(text, &named);
        assert!(!parsed.problems.is_empty(), "{text}");
    }
    let deep = "a = ".to_owned() + &"[".repeat(100_000);
    assert!(!load(&deep, &named).problems.is_empty());
}

/// No estimate reads latencies, as the section's text says to people who change a table.
#[test]
fn no_estimate_reads_latencies() {
    for table in tables() {
        let name = &table.name;
        if table.schema().kind != "gpu" {
            continue;
        }
        let mut text = format!("kind = \"gpu\"\nname = \"slow\"\nbase = \"{name}\"\n[latency]\n");
        for field in schema::GPU.iter().filter(|f| f.section == "latency") {
            let _ = writeln!(text, "{} = {}", field.name, field.most);
        }
        let parsed = load(&text, &named);
        assert!(parsed.problems.is_empty(), "{:?}", parsed.problems);
        let mut slow = parsed.table.expect("a table");
        slow.name = table.name.clone();
        assert_eq!(charges(&slow, 32), charges(table, 32), "{name}");
    }
    let says = |name: &str| {
        schema::SECTIONS
            .iter()
            .find(|(section, _)| *section == name)
    };
    assert!(says("latency").is_some_and(|(_, says)| says.contains("no estimate reads it")));
}

/// The numbers of registers to which `ptxas` 13.5 holds a kernel of 300 live values with `.maxntid` and
/// `.minnctapersm` for sm_80; a figure of 255 is bounded by nothing else.
#[test]
fn bounds_of_a_launch_give_the_registers_that_ptxas_gives() {
    let gpu = table("sm_80");
    let most = |threads, blocks| most_registers(gpu.gpu(), threads, 32, blocks);
    let bounded = [
        (1024, 1, 64),
        (1024, 2, 32),
        (1000, 1, 64),
        (800, 1, 72),
        (768, 1, 80),
        (320, 2, 96),
        (256, 2, 128),
        (256, 3, 80),
        (256, 4, 64),
        (256, 5, 48),
        (160, 3, 128),
        (160, 5, 72),
        (128, 9, 56),
        (100, 4, 128),
        (96, 5, 128),
        (96, 7, 80),
        (64, 16, 64),
        (64, 32, 32),
        (33, 1, 255),
        (32, 21, 80),
        (32, 1, 255),
    ];
    for (threads, blocks, registers) in bounded {
        assert_eq!(most(threads, blocks), registers, "{threads} x {blocks}");
    }
    // More warps than there are: the second number counts for nothing.
    assert_eq!(most(256, 9), 255);
    assert_eq!(most(1024, 3), 64);
}

#[test]
fn caches_and_predictors_are_optional() {
    let of = |name: &str| {
        let table = table(name);
        let epic = table.epic().expect("groups").clone();
        (epic.caches(), epic.predictor())
    };
    assert_eq!(of("itanium2"), (None, None));
    let sections = |name: &str| {
        let table = table(name);
        let fields = table.quantities().map(|(field, _)| field.section);
        fields
            .filter(|section| schema::OPTIONAL.contains(section))
            .count()
    };
    assert_eq!(sections("itanium2"), 0);
    assert_eq!(sections("bratt2001"), 23);
    let (caches, predictor) = of("itanium2_caches");
    let caches = caches.expect("caches");
    assert_eq!(caches.levels.len(), 3);
    assert_eq!(caches.float, 1);
    assert_eq!(
        (0..4).map(|level| caches.later(level)).collect::<Vec<_>>(),
        [0, 4, 11, 199]
    );
    assert_eq!(predictor.expect("a predictor").penalty, 6);
    assert_eq!(of("bratt2001").1.expect("a predictor").kind, "gshare");
    // A base's section is inherited, and changed value by value.
    let text = "kind = \"epic\"\nname = \"mine\"\nbase = \"bratt2001\"\n[cache]\nl1_ways = 2\n[predictor]\nkind = \"tage\"\n";
    let parsed = load(text, &named);
    assert_eq!(parsed.problems, []);
    let mine = parsed.table.expect("a table");
    let epic = mine.epic().expect("groups");
    assert_eq!(epic.caches().expect("caches").levels[0].ways, 2);
    assert_eq!(epic.caches().expect("caches").levels[1].latency, 14);
    assert_eq!(epic.predictor().expect("a predictor").kind, "tage");
}

#[test]
fn mistakes_in_caches_and_predictors_have_places() {
    let head = "kind = \"epic\"\nname = \"mine\"\nbase = \"itanium2\"\n";
    let problems = |text: &str| {
        let text = format!("{head}{text}");
        let parsed = load(&text, &named);
        let there = |problem: &Problem| {
            let span = problem.span;
            (
                text[span.start as usize..span.end as usize].to_owned(),
                problem.message.clone(),
            )
        };
        let table = parsed.table.expect("the base's values");
        let epic = table.epic().expect("groups").clone();
        (parsed.problems.iter().map(there).collect::<Vec<_>>(), epic)
    };
    let said = |text: &str, at: &str, says: &str| {
        let (found, epic) = problems(text);
        assert!(
            found
                .iter()
                .any(|(there, message)| there == at && message.contains(says)),
            "{at}: {says} is not in {found:#?}"
        );
        epic
    };
    let first = "[cache]\nl1_sets = 64\nl1_ways = 4\nl1_line = 64\n";
    // What has no value by itself is missing, and the section with it.
    let epic = said(
        "[cache]\nl1_sets = 64\nl1_line = 32\n",
        "cache",
        "`cache.l1_ways` is missing",
    );
    assert_eq!(epic.caches(), None);
    assert_eq!(
        said(
            "[predictor]\nkind = \"tage\"\n",
            "predictor",
            "`predictor.penalty`"
        )
        .predictor(),
        None
    );
    said(
        "[cache]\nl1_sets = 63\nl1_ways = 4\nl1_line = 64\n",
        "63",
        "power of two",
    );
    said(
        &format!("{first}l3_sets = 64\nl3_latency = 9\n"),
        "cache",
        "without `cache.l2_sets`",
    );
    said(
        &format!("{first}float_level = 2\n"),
        "cache",
        "`cache.float_level` is 2, of 1 levels",
    );
    said(
        &format!("{first}l2_sets = 64\nl2_latency = 5000\n"),
        "cache",
        "answers sooner",
    );
    let epic = said(
        "[predictor]\npenalty = 6\nkind = \"perceptron\"\n",
        "\"perceptron\"",
        "\"meta\", \"gshare\", \"tage\"",
    );
    assert_eq!(epic.predictor().expect("by default").kind, "meta");
    said("[predictor]\npenalty = 6\nkind = 1\n", "1", "\"meta\"");
    said(
        "[predictor]\npenalty = 6\nlocal = { value = \"pap\" }\n",
        "\"pap\"",
        "\"resolved-pep\"",
    );
    let (found, epic) = problems(&format!("{first}[predictor]\npenalty = 6\n"));
    assert_eq!(found, []);
    assert_eq!(epic.caches().expect("caches").levels.len(), 1);
}
