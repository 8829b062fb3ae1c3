//! MuJoCo behind the adapter protocol.

mod adapter;
mod arena;
mod mjcf;
mod worlds;

pub use adapter::Mujoco;
pub use mjcf::mjcf;
pub use worlds::{Start, World, compile};
