//! The four-wheel vehicle: its configuration, the model made from it, what is driven, and what is measured.
//!
//! SI units. +x is forward, +y left, positive yaw counter-clockwise; positive steering turns left. The public
//! state is that of the rear axle's reference point.

pub mod batch;
pub mod config;
pub mod convergence;
pub mod metrics;
pub mod mjcf;
pub mod protocol;
pub mod stats;
pub mod telemetry;
