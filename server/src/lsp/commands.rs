//! The names of the commands that a client may ask for (`workspace/executeCommand`).

/// `lockstep.addToBaseline { path, entry }`: accepts a finding.
pub(super) const ADD_TO_BASELINE: &str = "lockstep.addToBaseline";
/// `lockstep.profile { textDocument, position, inputs }`: runs a kernel and keeps its profile.
pub(super) const PROFILE: &str = "lockstep.profile";
/// `lockstep.importProfile { textDocument, table }`, `{ textDocument, counters, map }`, `{ textDocument, gcov }` or
/// `{ textDocument, llvmCov }`: keeps the counts of a device or of a report.
pub(super) const IMPORT: &str = "lockstep.importProfile";
/// `lockstep.instrument { textDocument }`: writes a copy that counts.
pub(super) const INSTRUMENT: &str = "lockstep.instrument";
/// `lockstep.report { uri, item }`: opens the report of a function, or of the file.
pub(super) const REPORT: &str = "lockstep.report";
/// `lockstep.code { uri, position }`: opens the code of the function there.
pub(super) const CODE: &str = "lockstep.code";
/// `lockstep.machines { uri, position }`: opens the page of a C loop on three machines.
pub(super) const MACHINES: &str = "lockstep.machines";
/// `lockstep.spills { uri, position }`: opens what reducing the spills of a C function changes in its code.
pub(super) const SPILLS: &str = "lockstep.spills";
/// `lockstep.profiledCode { uri, position }`: opens what its profile changes in the code of a C function.
pub(super) const PROFILED_CODE: &str = "lockstep.profiledCode";
/// `lockstep.page { code }`: opens the page of a diagnostic.
pub(super) const PAGE: &str = "lockstep.page";

/// The commands that open a page.
pub(super) const PAGES: [&str; 6] = [REPORT, CODE, MACHINES, SPILLS, PROFILED_CODE, PAGE];
/// All of them.
pub(super) const ALL: [&str; 10] = [
    ADD_TO_BASELINE,
    PROFILE,
    IMPORT,
    INSTRUMENT,
    REPORT,
    CODE,
    MACHINES,
    SPILLS,
    PROFILED_CODE,
    PAGE,
];
