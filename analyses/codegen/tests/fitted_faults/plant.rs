//! Faults by kind: texts that differ from a text in one place.

/// Texts with one fault each.
type Plant = fn(&str) -> Vec<String>;

pub(crate) const FAULTS: [(&str, Plant); 25] = [
    ("loads of two slots swapped", slots_swapped),
    ("store left out", |text| without(text, is_store)),
    ("load left out", |text| without(text, is_load)),
    ("load of another slot", |text| moved(text, is_load)),
    ("store to another slot", |text| moved(text, is_store)),
    ("slots overlap", slots_overlap),
    ("another factor", |text| last_number(text, is_factor, 1, 1)),
    ("another summand", |text| last_number(text, is_known, 0, 1)),
    ("another constant", |text| {
        last_number(text, is_constant, 0, 1)
    }),
    ("another register is stored", |text| {
        other_register(text, is_store)
    }),
    ("another register is read", |text| {
        other_register(text, is_own)
    }),
    ("the base is another register", other_base),
    ("warps lie closer", |text| last_number(text, is_base, 1, -8)),
    ("warps of other lanes", |text| {
        last_number(text, is_warp, 0, -1)
    }),
    ("thread along another axis", other_axis),
    ("memory of slots is smaller", smaller),
    ("slots in a variable of the kernel", own_variable),
    ("a lane's slot becomes a warp's", lanes_to_warp),
    ("a store twice", stored_again),
    ("a barrier left out", |text| without(text, is_barrier)),
    ("a guard on a store", guarded_store),
    ("an instruction left out", |text| without(text, is_own)),
    ("an effect too many", effect),
    ("another parameter is loaded", other_parameter),
    ("another place in the launch", other_place),
];

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

fn each(
    text: &str,
    wanted: fn(&str) -> bool,
    change: impl Fn(&str) -> Vec<Option<String>>,
) -> Vec<String> {
    let all = lines(text);
    let mut out = Vec::new();
    for (at, line) in all.iter().enumerate() {
        if wanted(line) {
            for new in change(line) {
                let mut mutant = all.clone();
                mutant.splice(at..=at, new);
                out.push(mutant.join("\n"));
            }
        }
    }
    // Sites from everywhere, not the first ones alone.
    let count = out.len();
    (0..count)
        .map(|at| out[(at * 7 + 3) % count].clone())
        .collect()
}

fn is_store(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("st.local.b") && line.contains("__lockstep")
        || line.starts_with("st.volatile.shared.b")
}
fn is_load(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("ld.local.b") && line.contains("__lockstep")
        || line.starts_with("ld.volatile.shared.b")
}
fn is_barrier(line: &str) -> bool {
    line.trim_start().starts_with("bar.warp.sync")
}
fn is_slot(line: &str) -> bool {
    is_store(line) || is_load(line)
}
fn is_factor(line: &str) -> bool {
    let sum = line.contains("mad.lo.s32 %r") && line.split(',').count() == 4;
    (sum || line.contains("mul.wide.s32 %d")) && line.contains(", %r0, ") && !line.contains("ntid")
}
fn is_known(line: &str) -> bool {
    let words: Vec<&str> = line.trim_end_matches(';').split(", ").collect();
    line.contains("mad.lo.s32 %r")
        && words[1..].len() == 3
        && words[1] == "%r0"
        && words[3].parse::<i64>().is_ok()
}
fn is_constant(line: &str) -> bool {
    line.trim_start().starts_with("mov.b32 %r")
}
fn is_base(line: &str) -> bool {
    line.trim_start().starts_with("mad.lo.s32 %r1, %r0, ") && line.ends_with(", %r1;")
}
fn is_warp(line: &str) -> bool {
    line.trim_start().starts_with("shr.u32 %r0, %r0, 5")
}
fn is_own(line: &str) -> bool {
    let words = [
        "add.s32",
        "xor.b32",
        "st.global.",
        "setp.",
        "sub.s32",
        "mul.lo.s32",
        "and.b32",
        "cvt.",
    ];
    words.iter().any(|word| line.trim_start().starts_with(word))
}

fn without(text: &str, wanted: fn(&str) -> bool) -> Vec<String> {
    each(text, wanted, |_| vec![None])
}

/// First byte of a slot's access.
fn place(line: &str) -> Option<i64> {
    let (_, rest) = line.split_once('+')?;
    rest.split_once(']')?.0.parse().ok()
}

fn at(line: &str, place: i64) -> Option<String> {
    let (before, rest) = line.split_once('+')?;
    let (_, after) = rest.split_once(']')?;
    Some(format!("{before}+{place}]{after}"))
}

fn is_wide(line: &str) -> bool {
    line.contains(".b64 ")
}

/// The same access of every other slot of its kind and width in the text.
fn moved(text: &str, wanted: fn(&str) -> bool) -> Vec<String> {
    let all = lines(text);
    let mut out = Vec::new();
    for kind in ["local", "shared"] {
        for wide in [false, true] {
            let slots = all
                .iter()
                .filter(|line| is_slot(line) && line.contains(kind) && is_wide(line) == wide);
            let mut places: Vec<i64> = slots.filter_map(|line| place(line)).collect();
            places.sort_unstable();
            places.dedup();
            for (number, line) in all.iter().enumerate() {
                if !wanted(line) || !line.contains(kind) || is_wide(line) != wide {
                    continue;
                }
                let Some(own) = place(line) else { continue };
                for other in places.iter().filter(|other| **other != own) {
                    let mut mutant = all.clone();
                    mutant[number] = at(line, *other).unwrap_or_default();
                    out.push(mutant.join("\n"));
                }
            }
        }
    }
    let count = out.len();
    (0..count)
        .map(|at| out[(at * 11 + 5) % count].clone())
        .collect()
}

fn slots_swapped(text: &str) -> Vec<String> {
    let all = lines(text);
    let mut loaded: Vec<(bool, bool, i64)> = all
        .iter()
        .filter(|line| is_load(line))
        .filter_map(|line| Some((line.contains("local"), is_wide(line), place(line)?)))
        .collect();
    loaded.sort_unstable();
    loaded.dedup();
    let mut out = Vec::new();
    for pair in loaded.windows(2) {
        let [(kind, wide, first), (other_kind, other_wide, second)] = pair else {
            continue;
        };
        if (kind, wide) != (other_kind, other_wide) {
            continue;
        }
        let swapped = all.iter().map(|line| {
            if !is_load(line) || line.contains("local") != *kind || is_wide(line) != *wide {
                return line.clone();
            }
            match place(line) {
                Some(own) if own == *first => at(line, *second).unwrap_or_default(),
                Some(own) if own == *second => at(line, *first).unwrap_or_default(),
                _ => line.clone(),
            }
        });
        out.push(swapped.collect::<Vec<String>>().join("\n"));
    }
    out
}

/// All accesses of a slot are moved onto a neighbour.
fn slots_overlap(text: &str) -> Vec<String> {
    let all = lines(text);
    let mut out = Vec::new();
    for kind in ["local", "shared"] {
        let of_kind = |line: &&String| is_slot(line) && line.contains(kind);
        let mut places: Vec<i64> = all
            .iter()
            .filter(of_kind)
            .filter_map(|line| place(line))
            .collect();
        places.sort_unstable();
        places.dedup();
        for pair in places.windows(2) {
            let changed = all.iter().map(|line| {
                let hit = of_kind(&line) && place(line) == Some(pair[1]);
                if hit {
                    at(line, pair[0]).unwrap_or_default()
                } else {
                    line.clone()
                }
            });
            out.push(changed.collect::<Vec<String>>().join("\n"));
        }
    }
    out
}

/// The nth number from the end is changed.
fn last_number(text: &str, wanted: fn(&str) -> bool, from_end: usize, by: i64) -> Vec<String> {
    each(text, wanted, |line| {
        let mut words: Vec<String> = line
            .trim_end_matches(';')
            .split(", ")
            .map(str::to_owned)
            .collect();
        let short = line.contains("mul.wide");
        let Some(at) = words
            .len()
            .checked_sub(1 + if short { 0 } else { from_end })
        else {
            return Vec::new();
        };
        let Ok(number) = words[at].parse::<i64>() else {
            return Vec::new();
        };
        words[at] = (number + by).to_string();
        vec![Some(format!("{};", words.join(", ")))]
    })
}

fn other_register(text: &str, wanted: fn(&str) -> bool) -> Vec<String> {
    each(text, wanted, |line| {
        let Some(start) = line.rfind("%r") else {
            return Vec::new();
        };
        let digits = line[start + 2..]
            .chars()
            .take_while(char::is_ascii_digit)
            .count();
        let end = start + 2 + digits;
        let Ok(number) = line[start + 2..end].parse::<i64>() else {
            return Vec::new();
        };
        let other = (number + 1) % 5;
        vec![Some(format!("{}%r{other}{}", &line[..start], &line[end..]))]
    })
}

fn other_base(text: &str) -> Vec<String> {
    let wanted = |line: &str| is_slot(line) && line.contains("shared");
    each(text, wanted, |line| {
        vec![Some(line.replacen("[%r1+", "[%r2+", 1))]
    })
}

fn other_axis(text: &str) -> Vec<String> {
    let wanted = |line: &str| line.trim_start() == "mov.u32 %r0, %tid.x;";
    each(text, wanted, |line| vec![Some(line.replace(".x", ".y"))])
}

/// A parameter of the same size that the kernel loads elsewhere.
fn other_parameter(text: &str) -> Vec<String> {
    let load = |line: &str| {
        let (head, rest) = line.split_once("ld.param.")?;
        let (ty, rest) = rest.split_once(' ')?;
        let (to, from) = rest.split_once('[')?;
        let bytes = ty.get(1..)?.trim().to_owned();
        Some((format!("{head}ld.param.{ty} {to}"), bytes, from.to_owned()))
    };
    let all: Vec<(String, String, String)> = text.lines().filter_map(load).collect();
    let mut out = Vec::new();
    for line in text.lines() {
        let Some((head, bytes, from)) = load(line) else {
            continue;
        };
        let other = all.iter().find(|own| own.1 == bytes && own.2 != from);
        if let Some(other) = other {
            out.push(text.replacen(line, &format!("{head}[{}", other.2), 1));
        }
    }
    out
}

fn other_place(text: &str) -> Vec<String> {
    let wanted = |line: &str| line.contains("mov.u32") && line.contains("%ctaid.x");
    each(text, wanted, |line| {
        vec![Some(line.replace("%ctaid.x", "%nctaid.x"))]
    })
}

fn smaller(text: &str) -> Vec<String> {
    let wanted = |line: &str| line.contains(".b8 __lockstep");
    each(text, wanted, |line| {
        let Some((before, rest)) = line.split_once('[') else {
            return Vec::new();
        };
        let size: u32 = rest.trim_end_matches("];").parse().unwrap_or(0);
        vec![Some(format!("{before}[{}];", size / 4))]
    })
}

/// The kernel's own shared memory is where the slots are.
fn own_variable(text: &str) -> Vec<String> {
    let wanted = |line: &str| line.trim_start() == "mov.u32 %r1, __lockstep_slots;";
    each(text, wanted, |line| {
        vec![Some(line.replace("__lockstep_slots", "own"))]
    })
}

fn lanes_to_warp(text: &str) -> Vec<String> {
    let all = lines(text);
    if !text.contains("__lockstep_slots") {
        return Vec::new();
    }
    let warp = |line: &&String| is_slot(line) && line.contains("shared");
    let mut places: Vec<i64> = all
        .iter()
        .filter(|line| is_slot(line) && line.contains("local"))
        .filter_map(|line| place(line))
        .collect();
    let Some(free) = all.iter().filter(warp).filter_map(|line| place(line)).max() else {
        return Vec::new();
    };
    places.sort_unstable();
    places.dedup();
    let mut out = Vec::new();
    for own in places {
        let changed = all.iter().map(|line| {
            if is_slot(line) && line.contains("local") && place(line) == Some(own) && !is_wide(line)
            {
                let line = line
                    .replace("local", "volatile.shared")
                    .replace("__lockstep_spill", "%r1");
                at(&line, free).unwrap_or_default()
            } else {
                line.clone()
            }
        });
        out.push(changed.collect::<Vec<String>>().join("\n"));
    }
    out.retain(|mutant| mutant != text);
    out
}

fn stored_again(text: &str) -> Vec<String> {
    let wanted = |line: &str| is_store(line) && line.contains("shared");
    each(text, wanted, |line| vec![Some(format!("{line}\n{line}"))])
}

fn guarded_store(text: &str) -> Vec<String> {
    each(text, is_store, |line| {
        vec![Some(format!("@%p0 {}", line.trim_start()))]
    })
}

fn effect(text: &str) -> Vec<String> {
    each(text, is_load, |line| {
        vec![
            Some(format!("{line}\nst.global.u32 [%d0], %r2;")),
            Some(format!("{line}\nbar.sync 0;")),
            Some(format!("{line}\nret;")),
        ]
    })
}
