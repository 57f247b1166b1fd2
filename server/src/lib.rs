//! The language server: documents, the database, views, the protocol and the command line of `lockstep`.
//!
//! This crate knows files, editors and time; it never knows the meaning of a program. The head of the queries
//! in [`db`] lists the work that is repeated after an edit.
//!
//! # The map
//!
//! A crate may name those in front of it in this list, and none behind it. `server/tests/architecture.rs` holds the
//! crates to this order, and the passes of `codegen` to naming no target.
//!
//! - `isa`, in `analyses/isa`: instruction sets as data, which are opcodes, operands, units and effects. It
//!   never knows the text of a file or the purpose of a compiler. Nothing in it is recomputed; everything is
//!   a function of its arguments.
//! - `syntax`, in `analyses/syntax`: text to trees, and assembly to instructions. It knows characters, tokens
//!   and grammar, and never the meaning of a program. On an edit the edited file is lexed again, and those
//!   items are parsed again whose tokens changed.
//! - `ir`, in `analyses/ir`: trees to one typed SSA form, and scalar arithmetic. It knows the meaning of a
//!   program, and never the machine that runs it. On an edit those items are lowered again whose own text,
//!   callees or declarations changed.
//! - `oracle`, in `analyses/oracle`: the SIMT interpreter, launches and random programs, which judge everything else. Tests
//!   name it, and this crate for runs that a person asks for; `facts` and `codegen` themselves do not.
//! - `simulate`, in `analyses/simulate`: the processors' simulators, which judge machine code. They know
//!   instruction sets and the text of assembly, and nothing of its author. Tests name it, and this crate for
//!   runs and for the clock by which assembly is re-bundled; `codegen` itself does not.
//! - `facts`, in `analyses/facts`: truths about a program. It never changes one, and knows a machine only by
//!   a table of costs. Facts are computed again with the form that they are about, and where callers pass
//!   something else.
//! - `codegen`, in `analyses/codegen`: the form and its facts to machine code or to a changed source. It knows targets, and
//!   never how the program was written beyond what it rewrites. It runs where somebody looks: costs, schedules of
//!   loops, code.
//! - `server`, this crate: derived data, views, the protocol and the command line. After an edit above an item only positions
//!   are computed again.
//!
//! `fixtures` stands beside them: it parses real source files with expectations beside the code, depends on none of the
//! crates, and is used by the tests of all.
//!
//! Inside this crate [`lsp`] alone names protocol types, and [`db`] alone names salsa. The queries call
//! [`program`], which leads from a text to facts, and [`derive`](mod@derive), which turns facts into the
//! plain data that several views show. A view in [`views`] is a function from the database to the displayed
//! data, one file a feature: it puts derived data into words.
//!
//! The [`guide`] follows a keystroke and a loop through the house, and says what to do to add something.

pub mod baseline;
pub mod cli;
pub mod commands;
pub mod config;
pub mod db;
pub mod derive;
pub mod disk;
pub mod documents;
pub mod explain;
pub mod guide;
pub mod host;
pub mod language;
pub mod lsp;
pub mod parked;
pub mod profile;
pub mod program;
pub mod ptxas;
pub mod sass;
pub mod views;
