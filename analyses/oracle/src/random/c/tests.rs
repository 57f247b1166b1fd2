use super::*;

#[test]
fn a_seed_gives_one_kernel() {
    for seed in 0..50 {
        assert_eq!(kernel(seed), kernel(seed));
    }
}

#[test]
fn kernels_have_loops_exits_and_arrays_that_alias() {
    let kernels: Vec<Kernel> = (0..400).map(kernel).collect();
    let with = |word: &str| kernels.iter().filter(|k| k.text.contains(word)).count();
    for word in [
        "for (",
        "while (",
        "do {",
        "break;",
        "return ",
        "goto done;",
        "continue;",
        "restrict",
        "switch",
        "double *",
        "float *",
        "unsigned char *",
        " / ",
        " % ",
        "g(",
    ] {
        assert!(with(word) > 8, "{word}: {}", with(word));
    }
    let aliases = kernels.iter().filter(|kernel| {
        let pointers = kernel
            .parameters
            .iter()
            .filter(|p| matches!(p.argument, Argument::Pointer { .. }));
        pointers.count() > kernel.buffers.len()
    });
    assert!(aliases.count() > 40);
}

#[test]
fn subscripts_of_subscripts_end() {
    // Each element of its arrays has a subscript with further elements in it.
    assert!(kernel(200_161).text.len() < 50_000);
}
