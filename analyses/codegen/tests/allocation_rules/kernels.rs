//! Kernels with a value `%v` that waits while many others are needed.

/// Words in which the kernels' other values just fit.
pub(crate) const WORDS: u16 = 16;

const HEAD: &str = ".version 7.8
.target sm_80
.address_size 64
.extern .shared .align 4 .b8 dynamic[];
.visible .entry waits(.param .u64 out, .param .u64 table, .param .u32 n)
{
	.reg .pred %p<9>;
	.reg .b32 %r<9>;
	.reg .b32 %a<40>;
	.reg .b32 %n, %t, %v, %w, %i, %s;
	.reg .b64 %rd<9>;
	.reg .b64 %wide;
	ld.param.u64 %rd1, [out];
	ld.param.u64 %rd2, [table];
	ld.param.u32 %n, [n];
	mov.u32 %t, %tid.x;
	mul.wide.u32 %rd3, %t, 4;
	add.s64 %rd4, %rd2, %rd3;
	add.s64 %rd5, %rd1, %rd3;
	mov.u32 %s, 0;
";

/// Sixteen words are needed at once, none of `%v`.
pub(crate) fn crowd() -> String {
    let loads = (0..16).map(|at| format!("\tld.global.u32 %a{at}, [%rd4+{}];\n", 4 * at));
    let sums = (0..16)
        .rev()
        .map(|at| format!("\tmad.lo.s32 %s, %s, 3, %a{at};\n"));
    loads.chain(sums).collect()
}

/// A kernel with these lines, which stores `%s` and ends.
pub(crate) fn kernel_of(lines: &str) -> String {
    format!("{HEAD}{lines}\tst.global.u32 [%rd5], %s;\n\tret;\n}}\n")
}

/// `%v` is defined by some lines, waits, and is added.
pub(crate) fn waiting(definition: &str) -> String {
    let crowd = crowd();
    kernel_of(&format!("{definition}\n{crowd}\tadd.s32 %s, %s, %v;\n"))
}
