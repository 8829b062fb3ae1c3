//! How far a run is from the same run with the reference step.

use crate::metrics::{Run, metric};
use crate::telemetry::{ANGULAR_VELOCITY, POSITION, VELOCITY, YAW};
use sim_protocol::stats::{max, rms};
use std::f64::consts::{PI, TAU};

/// Names of all quantities. Those of trajectories compare rows of equal time: positions are planar
/// distances of the rear axle's reference point, m; velocities are longitudinal, m/s. The others are
/// absolute differences of a metric.
pub const NAMES: [&str; 17] = [
    "position_rmse_m",
    "position_max_m",
    "position_final_m",
    "velocity_rmse_mps",
    "velocity_max_mps",
    "yaw_rmse_rad",
    "yaw_final_rad",
    "yaw_rate_rmse_rad_s",
    "steady_z_difference_m",
    "penetration_p99_difference_m",
    "wheel_contact_coverage_difference",
    "maximum_contact_gap_difference_s",
    "steady_penetration_p99_difference_m",
    "vertical_speed_p99_difference_mps",
    "mean_speed_difference_mps",
    "path_length_difference_m",
    "steering_rms_difference_rad",
];

/// The difference that a quantity names. `None` where the runs do not have it, or have not as many rows.
pub fn difference(quantity: &str, run: &Run<'_>, reference: &Run<'_>) -> Option<f64> {
    let (a, b) = (run.telemetry, reference.telemetry);
    if a.rows() != b.rows() {
        return None;
    }
    let rows = || 0..a.rows();
    let d = |row: usize, c: usize| a.at(row, c) - b.at(row, c);
    let far = |row: usize| d(row, POSITION).hypot(d(row, POSITION + 1));
    let slip = |row: usize| d(row, VELOCITY).hypot(d(row, VELOCITY + 1));
    let yaw = |row: usize| wrapped(d(row, YAW));
    let last = a.rows().checked_sub(1)?;
    let of = |name: &str| Some((metric(run, name)? - metric(reference, name)?).abs());
    match quantity {
        "position_rmse_m" => Some(rms(rows().map(far))),
        "position_max_m" => Some(max(rows().map(far))),
        "position_final_m" => Some(far(last)),
        "velocity_rmse_mps" => Some(rms(rows().map(slip))),
        "velocity_max_mps" => Some(max(rows().map(slip))),
        "yaw_rmse_rad" => Some(rms(rows().map(yaw))),
        "yaw_final_rad" => Some(yaw(last).abs()),
        "yaw_rate_rmse_rad_s" => Some(rms(rows().map(|r| d(r, ANGULAR_VELOCITY + 2)))),
        "steady_z_difference_m" => of("mean_steady_z_m"),
        "penetration_p99_difference_m" => of("penetration_p99_m"),
        "wheel_contact_coverage_difference" => of("minimum_steady_wheel_contact_coverage"),
        "maximum_contact_gap_difference_s" => of("maximum_contact_gap_s"),
        "steady_penetration_p99_difference_m" => of("steady_penetration_p99_m"),
        "vertical_speed_p99_difference_mps" => of("steady_vertical_speed_p99_mps"),
        "mean_speed_difference_mps" => of("mean_stress_speed_mps"),
        "path_length_difference_m" => of("stress_path_length_m"),
        "steering_rms_difference_rad" => of("stress_steering_rms_rad"),
        _ => None,
    }
}

/// An angle between −π and π.
fn wrapped(angle: f64) -> f64 {
    (angle + PI).rem_euclid(TAU) - PI
}
