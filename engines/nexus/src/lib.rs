//! Nexus behind the adapter protocol.

mod adapter;
mod cache;
mod capacity;
mod device;
mod profile;
mod rigid;
mod robots;
mod worlds;

pub use adapter::Nexus;
pub use cache::Cache;
pub use capacity::{COLORS, PAIRS, SLOTS};
pub use rigid::by_hand;
pub use worlds::compile;
