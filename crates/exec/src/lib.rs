//! Runs a plan against a store.
//!
//! For each action whose inputs are known: compute its key, look for a record, and only where there
//! is none run a process in a sandbox, check what it left, take it into the store and write the
//! record. Knows no physics and prints nothing: everything that happens is an
//! [`sim_model::event::Event`] given to an [`Observer`].

mod action_dir;
mod ahead;
mod allocation;
mod cancel;
mod check;
mod conditions;
mod error;
mod host_paths;
mod landlock_rules;
mod lay_out;
mod limits;
mod look;
mod machine;
mod outputs;
mod preview;
mod process;
mod provenance;
mod remake;
mod resolve;
mod run;
mod sandbox;
mod save_plan;
mod schedule;
mod settled;
mod spawn;
mod starter;
mod supervise;
mod tools;
mod usage;
mod workplace;

pub use ahead::Ahead;
pub use cancel::Cancel;
pub use check::{Checked, Disagreement, check};
pub use error::{ExecError, Result};
pub use lay_out::{LaidOut, lay_out};
pub use machine::detect as detect_machine;
pub use preview::{Preview, State, preview};
pub use provenance::digest as provenance_digest;
pub use remake::remake;
pub use resolve::{NotRun, Outcome, Outcomes, Resolved, Resolver};
pub use run::{Observer, Options, Resume, Summary, run};
pub use sandbox::{Level, Policy as SandboxPolicy, probe as probe_sandbox};
pub use save_plan::{saved_plan, with_outcomes};
pub use settled::{Memory, Question, Remembered, Settled, run_settled};
pub use starter::serve as serve_starter;
pub use tools::{Tools, find as find_program};

/// Milliseconds since 1970 UTC.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the calendar")]
pub fn unix_ms() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |d| d.as_millis() as u64)
}

/// Nanoseconds since 1970 UTC.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the calendar")]
pub fn unix_ns() -> i128 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |d| d.as_nanos() as i128)
}
