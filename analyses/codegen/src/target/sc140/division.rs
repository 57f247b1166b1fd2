//! Routines that code calls and the processor has no instruction for.
//!
//! ```text
//! L_divu, L_divs      d0 / d1: the quotient in d0, the remainder in d1; changes d0 to d5, d8 to d10, T, the innermost loop
//! ```
//!
//! A quotient by zero is all ones, its remainder the dividend. One bit a step: 32 times four sets.

use super::code::{Operand, Operation};

/// The names of the routines, as symbols of the text.
pub(super) const UNSIGNED: &str = "L_divu";
pub(super) const SIGNED: &str = "L_divs";

const TEXT_UNSIGNED: &str = "    ALIGN 16
L_divu
 [
    zxt.l    d0,d0
    zxt.l    d1,d1
    clr      d2
    dosetup3 L_divu_loop
 ]
 [
    not      d1,d4
    doen3    #32
 ]
    iaddnc.w #1,d4
    nop
    FALIGN
    LOOPSTART3
L_divu_loop
 [
    extractu #1,#31,d0,d3
    asll     #1,d2
 ]
 [
    or       d3,d2
    asll     #1,d0
 ]
    cmphi    d2,d1
 [
    iff iadd     d4,d2
    iaddnc.w #1,d0
 ]
    LOOPEND3
 [
    sxt.l    d0,d0
    sxt.l    d2,d1
 ]
    rts
";

const TEXT_SIGNED: &str = "    ALIGN 16
L_divs
 [
    tfr      d0,d5
    tfr      d1,d8
    tstge    d0
 ]
 [
    iff not      d0,d0
    ifa tfr      d5,d9
 ]
 [
    iff iaddnc.w #1,d0
    ifa eor      d8,d9
    tstge    d8
 ]
    iff not      d1,d1
    iff iaddnc.w #1,d1
    jsr      L_divu
    tstge    d9
 [
    iff not      d0,d0
    ifa clr      d10
 ]
 [
    iff iaddnc.w #1,d0
    ifa tstge    d5
    iaddnc.w #-1,d10
 ]
    iff not      d1,d1
 [
    iff iaddnc.w #1,d1
    ifa tsteq    d8
 ]
 [
    ift tfr      d10,d0
 ]
 [
    sxt.l    d0,d0
    sxt.l    d1,d1
 ]
    rts
";

/// The text of the routines that some operations call.
pub(super) fn called<'o>(operations: impl Iterator<Item = &'o Operation>) -> String {
    let (mut unsigned, mut signed) = (false, false);
    for operand in operations.flat_map(|operation| &operation.sources) {
        if let Operand::Symbol(name) = operand {
            unsigned |= name == UNSIGNED;
            signed |= name == SIGNED;
        }
    }
    let mut out = String::new();
    if signed {
        out.push_str(TEXT_SIGNED);
    }
    if unsigned || signed {
        out.push_str(TEXT_UNSIGNED);
    }
    out
}
