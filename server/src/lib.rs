//! When and for whom: documents, the database, views, the protocol and the command line of `lockstep`.
//!
//! Knows files, editors and time; never what a program means. Recomputed on an edit: see `db::queries`.

pub mod baseline;
pub mod cli;
pub mod commands;
pub mod config;
pub mod db;
pub mod disk;
pub mod documents;
pub mod explain;
pub mod host;
pub mod lsp;
pub mod profile;
pub mod program;
pub mod ptxas;
pub mod views;
