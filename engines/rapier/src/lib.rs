//! Rapier behind the adapter protocol.

mod adapter;
mod world;

pub use adapter::Rapier;
pub use world::{SUBSTEPS, World, build, pool};
