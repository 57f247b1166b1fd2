//! Derived data: what is computed of facts for several views, as plain data. Queries call it; views put it into words.

pub mod accesses;
pub mod branches;
pub mod budget;
pub mod bundles;
pub mod code;
pub mod costs;
pub mod figures;
pub mod fitted;
pub mod hot;
pub mod irrelevant_loads;
pub mod loops;
pub mod partly_dead;
pub mod parts;
pub mod paths;
pub mod pressure;
pub mod pressure_edits;
pub mod register_findings;
pub mod register_rows;
pub mod registers;
pub mod rows;
pub mod silences;
pub mod speculation;
pub mod timing;
pub mod versions;
pub mod ways;
pub mod zeros;
