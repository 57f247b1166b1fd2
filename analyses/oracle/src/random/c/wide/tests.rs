use super::*;

#[test]
fn a_seed_gives_one_kernel() {
    for seed in 0..50 {
        assert_eq!(wide(seed), wide(seed));
    }
}

#[test]
fn wide_kernels_have_what_their_module_promises() {
    let kernels: Vec<Wide> = (0..400).map(wide).collect();
    let with = |word: &str| {
        let has = kernels.iter().filter(|w| w.kernel.text.contains(word));
        has.count()
    };
    for word in [
        "? &",
        "->",
        "struct s",
        "union ",
        "static const",
        "return rec",
        "].next = ",
        "goto done;",
        "goto past",
        "goto again",
        "switch (",
        "do {",
        "for (;;)",
        "while (k",
        "for (unsigned char",
        "for (short",
        "-- > p",
        "(unsigned char *)&",
        "/= ",
        "%= ",
        "<<= ",
        "restrict",
        "static unsigned next",
        "(*const ",
    ] {
        assert!(with(word) > 3, "{word}: {}", with(word));
    }
    let through = kernels.iter().filter(|w| w.through_pointers);
    assert!(through.count() > 10);
}
