//! Routines for what processors lack, in C: products of more than 16 bits, quotients, floating point, moves of bytes. The texts are compiled
//! by the front end as any C is, together, in this order.

/// Products and quotients of integers, bytes moved and set.
pub const INTEGERS: &str = include_str!("../runtime/integers.c");

/// IEEE 754 in integers; it calls products of `INTEGERS`.
pub const SOFT_FLOAT: &str = include_str!("../runtime/soft_float.c");
