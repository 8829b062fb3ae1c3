//! Protocols over plants: what is compared, what must hold, and what a plant has to say for it.
//!
//! A protocol is a TOML file beside a plant's scene. Candidates × scenarios × repeats are run; absolute
//! limits, repeats, symmetry and the distance to a reference step are checked; the largest candidate of
//! which everything holds is selected. A plant is a [`Plant`]: what is driven, what a run leaves behind,
//! and the metrics of it.

mod check;
mod plant;
pub mod plots;
mod protocol;
pub mod stats;

pub use check::Check;
pub use plant::{Outcome, Plant, apart};
pub use protocol::{Convergence, Determinism, Gate, Head, Op, Protocol, Scenario, Symmetry};
