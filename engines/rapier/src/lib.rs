//! Rapier behind the adapter protocol.

mod adapter;
#[cfg(feature = "parallel")]
mod rigid;
#[cfg(not(feature = "parallel"))]
mod robots;
#[cfg(feature = "parallel")]
mod world;

pub use adapter::{Rapier, SERIAL};
#[cfg(feature = "parallel")]
pub use world::{SUBSTEPS, World, build, pool};
