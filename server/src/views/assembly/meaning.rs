//! The meaning of IA-64 instructions, in a sentence: by the mnemonic's stem, then the additions of its
//! completers.
//!
//! ```text
//! ld8.s r14 = [r32], 8    loads 8 bytes · speculative: a fault is put off, the value is NaT until `chk.s`
//! ```
//!
//! Source: Intel, *Itanium Architecture Software Developer's Manual*, volume 3.

/// The meaning of a mnemonic with its completers.
pub(super) fn meaning(mnemonic: &str) -> Option<String> {
    let mut parts = mnemonic.split('.');
    let stem = parts.next()?;
    let completers: Vec<&str> = parts.collect();
    let mut out = vec![sentence(stem, &completers)?.to_owned()];
    out.extend(
        completers
            .iter()
            .filter_map(|&it| completer(stem, it, &completers))
            .map(str::to_owned),
    );
    Some(out.join(" · "))
}

fn sentence(stem: &str, completers: &[&str]) -> Option<&'static str> {
    let first = completers.first().copied().unwrap_or("");
    Some(match stem {
        "add" | "adds" | "addl" => "sum of 64-bit integers",
        "sub" => "difference of 64-bit integers",
        "addp4" => "sum of 32 bits as a pointer: bits 30 and 31 go to 61 and 62",
        "shladd" => "first source shifted left by 1 to 4, plus the second",
        "shladdp4" => "as `shladd`, the sum a pointer of 32 bits",
        "and" => "bitwise and",
        "andcm" => "bitwise and with the complement of the second source",
        "or" => "bitwise or",
        "xor" => "bitwise exclusive or",
        "cmp" => {
            "compares 64-bit integers; one predicate gets the result, the other its complement"
        }
        "cmp4" => {
            "compares the low 32 bits; one predicate gets the result, the other its complement"
        }
        "tbit" => "tests a bit of a general register",
        "tnat" => "tests whether a general register is NaT",
        "tf" => "tests a feature of the processor",
        "mov" => "copies a register, or a constant into one",
        "movl" => "a constant of 64 bits; takes two slots",
        "sxt1" | "sxt2" | "sxt4" => "extends a narrow integer by its sign",
        "zxt1" | "zxt2" | "zxt4" => "extends a narrow integer by zeros",
        "shl" => "shifts left",
        "shr" if completers.contains(&"u") => "shifts right, zeros come in",
        "shr" => "shifts right, copies of the sign come in",
        "shrp" => "shifts a pair of registers right and keeps the low half",
        "extr" if completers.contains(&"u") => "extracts a bit field, zeros above",
        "extr" => "extracts a bit field, its sign above",
        "dep" if first == "z" => "puts a bit field among zeros",
        "dep" => "puts a bit field into a register's value",
        "popcnt" => "counts the ones",
        "clz" => "counts the zeros in front",
        "czx1" | "czx2" => "finds the first zero byte or half-word",
        "mux1" | "mux2" => "permutes bytes or half-words",
        "mix1" | "mix2" | "mix4" => "interleaves every second element of two registers",
        "padd1" | "padd2" | "padd4" => "sums of elements side by side",
        "psub1" | "psub2" | "psub4" => "differences of elements side by side",
        "pcmp1" | "pcmp2" | "pcmp4" => "compares elements side by side; all ones where true",
        "pack2" | "pack4" => "narrows elements with saturation",
        "unpack1" | "unpack2" | "unpack4" => "interleaves the elements of two registers",
        "ld1" | "ld2" | "ld4" | "ld8" | "ld16" => "loads an integer, zeros above",
        "ldfs" | "ldfd" | "ldfe" => "loads a floating-point number into the register format",
        "ldf8" => "loads 64 bits as a significand",
        "ldf" => "loads a whole floating-point register that was spilled",
        "ldfps" | "ldfpd" | "ldfp8" => "loads two floating-point numbers that lie together",
        "st1" | "st2" | "st4" | "st8" | "st16" => "stores the low bytes of a general register",
        "stfs" | "stfd" | "stfe" => "stores a floating-point number, rounded to its format",
        "stf8" => "stores a significand as 64 bits",
        "stf" => "stores a whole floating-point register",
        "lfetch" => "brings a line into the caches",
        "xchg1" | "xchg2" | "xchg4" | "xchg8" => "exchanges a register with memory, at once",
        "cmpxchg1" | "cmpxchg2" | "cmpxchg4" | "cmpxchg8" => {
            "stores where memory equals ar.ccv, at once; yields what was there"
        }
        "fetchadd4" | "fetchadd8" => "adds a constant to memory, at once; yields what was there",
        "setf" if first == "sig" => {
            "a general register's bits as a significand: an integer for the floating-point unit"
        }
        "setf" => "a general register's bits as a floating-point number",
        "getf" if first == "sig" => "the significand as an integer",
        "getf" => "the bits of a floating-point number in its memory format",
        "alloc" => "makes the frame: inputs, locals, outputs, rotating registers; keeps ar.pfs",
        "chk" if first == "a" => "goes to recovery code unless the advanced load still holds",
        "chk" => "goes to recovery code if the speculative value is NaT",
        "br" | "brl" => match first {
            "call" => "calls: the return address goes to a branch register, the frame to ar.pfs",
            "ret" => "returns to the address in a branch register, with the caller's frame",
            "cloop" => "counts down ar.lc and jumps unless it was zero",
            "ctop" => {
                "end of a counted pipelined loop: rotates registers, counts ar.lc down, then ar.ec"
            }
            "cexit" => {
                "leaves a counted pipelined loop when ar.lc and ar.ec are used up; rotates registers"
            }
            "wtop" => {
                "end of a pipelined while-loop: rotates registers, goes on while its predicate holds, then counts ar.ec down"
            }
            "wexit" => {
                "leaves a pipelined while-loop when its predicate fails and ar.ec is used up; rotates registers"
            }
            _ => "jumps",
        },
        "brp" => "announces a branch",
        "fma" => "f2 * f3 + f4, rounded once",
        "fms" => "f2 * f3 - f4, rounded once",
        "fnma" => "f4 - f2 * f3, rounded once",
        "fmpy" => "product",
        "fadd" => "sum of floating-point numbers",
        "fsub" => "difference of floating-point numbers",
        "fnorm" => "normalised and rounded",
        "fpma" | "fpms" | "fpnma" | "fpmpy" => {
            "multiply-add of two single-precision numbers side by side"
        }
        "xma" => "integer f2 * f3 + f4 in significands",
        "xmpy" => "integer product in significands",
        "fcmp" => {
            "compares floating-point numbers; one predicate gets the result, the other its complement"
        }
        "fclass" => "tests the class of a floating-point number: NaN, infinity, zero...",
        "fcvt" => match first {
            "fx" | "fxu" => "floating-point number to an integer in the significand",
            _ => "integer in the significand to a floating-point number",
        },
        "fmin" | "famin" => "the lesser one",
        "fmax" | "famax" => "the greater one",
        "fmerge" => "sign, or sign and exponent, of one number with the rest of another",
        "fabs" => "magnitude",
        "fneg" => "other sign",
        "fselect" => "bits of one or the other by a mask",
        "frcpa" => "approximates 1 / f3; the predicate says whether division goes on",
        "frsqrta" => "approximates 1 / sqrt; the predicate says whether the square root goes on",
        "mf" => "memory fence: what stands in front is seen before what stands behind",
        "srlz" => "waits until changes of the processor's state hold",
        "invala" => "forgets advanced loads",
        "clrrrb" => "sets register rotation back",
        "flushrs" => "writes the stacked registers to memory",
        "fc" => "flushes a line of the caches",
        "nop" => "fills a slot",
        "hint" => "a hint to the processor",
        "break" => "a trap for debuggers and the system",
        _ => return None,
    })
}

fn completer(stem: &str, word: &str, all: &[&str]) -> Option<&'static str> {
    let load = stem.starts_with("ld");
    let compare = matches!(stem, "cmp" | "cmp4" | "tbit" | "tnat" | "fcmp" | "fclass");
    Some(match word {
        "s" if load => "speculative: a fault is put off, the value is NaT until `chk.s`",
        "a" if load => "advanced: may stand in front of stores, `chk.a` or `ld.c` asks later",
        "sa" if load => "speculative and advanced",
        "c" if load => "check load: loads again unless the advanced load still holds",
        "acq" => "acquire: what stands behind is seen later",
        "rel" => "release: what stands in front is seen first",
        "bias" => "with the line for itself",
        "fill" if load => "with its NaT bit from ar.unat",
        "spill" => "with its NaT bit to ar.unat",
        "nt1" | "nt2" | "nta" => "not expected to be used again soon",
        "unc" if compare => "clears both predicates where it does not execute",
        "and" if compare => "parallel: only clears, where the result is false",
        "or" if compare && all.contains(&"andcm") => {
            "parallel, De Morgan: sets the first and clears the second, where the result is true"
        }
        "or" if compare => "parallel: only sets, where the result is true",
        "and" => return None,
        "s" if stem.starts_with('f') => "rounded to single precision",
        "d" if stem.starts_with('f') => "rounded to double precision",
        "trunc" => "towards zero",
        "h" | "hu" if stem == "xma" || stem == "xmpy" => "the high half",
        "sptk" => "expected to be taken, always",
        "spnt" => "expected not to be taken, always",
        "dptk" => "predicted as it went, at first as taken",
        "dpnt" => "predicted as it went, at first as not taken",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completers_add_to_the_sentence() {
        let of = |mnemonic| meaning(mnemonic).unwrap_or_default();
        assert!(of("ld8.s").ends_with("NaT until `chk.s`"));
        assert!(of("cmp.eq.or.andcm").contains("De Morgan"));
        assert!(of("br.ctop.sptk.many").contains("rotates registers"));
        assert!(of("fma.d.s0").ends_with("rounded to double precision"));
        assert_eq!(of("shr.u"), "shifts right, zeros come in");
        assert_eq!(meaning("frobnicate"), None);
    }
}
