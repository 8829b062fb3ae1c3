//! MuJoCo behind the adapter protocol.

mod adapter;
mod arena;
mod mjcf;
mod readings;
mod robots;
mod solver;
mod worlds;

pub use adapter::Mujoco;
pub use mjcf::mjcf;
pub use solver::Solver;
pub use worlds::{Start, World, compile};
