//! What every adapter shares: the command line, the phases, the clock, the memory sampler, the
//! gates, the accuracy and the files. An adapter implements [`Engine`] and [`Simulation`] and calls
//! [`main_with`]; so all adapters are timed and judged by the same code.

mod accuracy;
mod capture;
mod cli;
mod elliptic;
mod engine;
mod files;
mod gates;
mod gpu_memory;
mod memory;
mod profile;
mod robot;
mod run;

pub use accuracy::{Motion, accuracy, needs_velocities};
pub use cli::{asks_for_robot, main_with, serve};
pub use engine::{Engine, EngineError, Profiled, Simulation};
pub use files::write_atomically;
pub use gates::{FinalState, digest, judge};
pub use memory::{Reading, read as read_memory};
pub use run::run_job;
