//! The four-wheel vehicle on MuJoCo's C interface.

pub mod check;
pub mod plant;
pub mod replay;
