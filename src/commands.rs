//! One module a command: its arguments and what it does.

pub(crate) mod audit;
pub(crate) mod check;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod help;
pub(crate) mod log;
pub(crate) mod new;
pub(crate) mod pin;
mod pin_python;
pub(crate) mod plan;
pub(crate) mod query;
pub(crate) mod repeat;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod schema;
pub(crate) mod stage;
pub(crate) mod store;
pub(crate) mod trace;
pub(crate) mod what_ran;
pub(crate) mod why_depends;
