//! Small claims about small kernels, each checked against the rules of the language: forms of values, lanes
//! of conditions, rounds of loops, who waits at a barrier. Executions judge elsewhere what may be claimed;
//! here it must be claimed.

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
