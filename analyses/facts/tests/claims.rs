//! Small claims about small kernels, each told by what the language says of it: forms of values, lanes of conditions, rounds of
//! loops, who waits at a barrier. What may be said is judged elsewhere by executions; here it must be said.

extern crate lockstep_facts as facts;

#[path = "claims/findings.rs"]
mod findings;
#[path = "claims/forms.rs"]
mod forms;
#[path = "claims/lanes.rs"]
mod lanes;
#[path = "claims/neighbours.rs"]
mod neighbours;
#[path = "claims/rounds.rs"]
mod rounds;
#[path = "claims/sharing.rs"]
mod sharing;
#[path = "source/mod.rs"]
#[allow(dead_code)]
mod source;
#[path = "claims/waiting.rs"]
mod waiting;
