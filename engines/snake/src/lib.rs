//! The ten-link snake on MuJoCo's C interface.

pub mod check;
pub mod plant;
pub mod record;
pub mod replay;
