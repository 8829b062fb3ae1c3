//! Scenario generators. One folder a scenario: `scene.toml` says what it tests, `generate.rs`
//! builds it. A folder that is added here is a scenario that exists; nothing else to edit.
//!
//! Same scenario, size, seed and timestep: same bytes on every machine. Random numbers come from
//! [`Rng`], trigonometry from the `libm` crate, everything else is IEEE arithmetic.

mod build;
mod mjcf;
mod mpm;
mod rng;
mod scenario;

pub(crate) use build::Builder;
pub use mpm::Continuum;
pub(crate) use rng::Rng;
pub use scenario::{
    Scenario, SceneError, SourceFiles, SourcePin, find, scenarios, to_canonical_json,
};

/// Fills a builder with exactly the given number of dynamic bodies, or robots.
pub(crate) type Generate = fn(&mut Builder<'_>, u64, &mut Rng);

include!(concat!(env!("OUT_DIR"), "/folders.rs"));

#[cfg(test)]
mod tests;
