//! A world-batched float32 rigid-body engine that computes what MuJoCo computes.
//!
//! A [`Model`] comes from MJCF through MuJoCo's own compiler; what the engine does not do is refused there,
//! by name. A [`BatchedEngine`] steps many worlds of it, 1, 8 or 16 side by side in vector registers and
//! blocks of them on threads.

mod engine;
mod fields;
mod found;
mod kernel;
mod lanes;
mod model;
pub mod mujoco;
mod pairs;
mod refuse;
#[cfg(all(feature = "roofline", target_arch = "x86_64"))]
pub mod roofline;
mod support;
mod tables;

pub use engine::{BatchedEngine, EngineError, INFO, Options, Report};
pub use found::{BodyMotion, ContactPoint, Forward, Touch};
pub use kernel::Lanes;
pub use model::{Model, ModelError};
