//! The world-batched engine behind the adapter protocol.

mod adapter;
mod choice;
mod drive;
mod mjcf;
mod worlds;

pub use adapter::BatchAdapter;
pub use drive::drive;
pub use mjcf::mjcf;
pub use worlds::start_velocities;
