//! The metrics of one run.
//!
//! *Observed* values are over every physics step, see [`crate::telemetry::Observed`]; others are of the
//! trajectory of 20 rows a second. The route is the line y = 0 towards +x. Truths are 1 or 0. Names are
//! those of the published receipts where they have the value; the others are ours.

use crate::controller::State;
use crate::scenario::Scenario;
use crate::spec::Spec;
use crate::telemetry::Ran;
use sim_protocol::stats::{mean, min};
use std::collections::BTreeMap;

/// One run, as metrics see it.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// What it left.
    pub ran: &'a Ran,
    /// What was asked for.
    pub scenario: &'a Scenario,
    /// The snake.
    pub spec: &'a Spec,
}

/// The wave of a joint is measured from here on, s: after the start.
const WAVE_FROM_S: f64 = 1.0;

/// A metric: its name, and how it is computed. `None` where the run has no such thing.
type Metric = (&'static str, fn(&Run<'_>) -> Option<f64>);

/// All metrics, by name. What is read off [`crate::telemetry::Observed`] is defined there, field by field; the others
/// have their definition at their function.
pub const METRICS: [Metric; 28] = [
    ("finite_state", finite_state),
    ("duration_simulated_s", |r| Some(r.ran.observed.duration_simulated_s)),
    ("warning_count", |r| Some(r.ran.observed.warnings as f64)),
    ("max_abs_joint_position_rad", |r| Some(r.ran.observed.max_abs_joint_position_rad)),
    ("max_abs_joint_velocity_rad_s", |r| Some(r.ran.observed.max_abs_joint_velocity_rad_s)),
    ("max_abs_joint_command_rad", |r| Some(r.ran.observed.max_abs_joint_command_rad)),
    ("max_abs_actuator_torque_nm", |r| Some(r.ran.observed.max_abs_actuator_torque_nm)),
    ("joint_tracking_rmse_rad", |r| Some(r.ran.observed.joint_tracking_rmse_rad)),
    ("safe_stop_steps", |r| Some(r.ran.observed.safe_stop_steps as f64)),
    ("forward_progress_m", |r| Some(displacement(r)[0])),
    ("net_displacement_m", |r| Some(f64::hypot(displacement(r)[0], displacement(r)[1]))),
    ("physical_joint_wave_rms_rad", physical_joint_wave_rms_rad),
    ("obstacle_contact_steps", |r| Some(r.ran.observed.obstacle_contact_steps as f64)),
    ("minimum_pivot_to_obstacle_surface_clearance_m", |r| {
        r.ran.observed.minimum_pivot_to_obstacle_surface_clearance_m
    }),
    ("sensor_triggered_avoidance", sensor_triggered_avoidance),
    ("sensor_estimated_obstacle_surface_x_m", |r| Some(r.ran.observed.surface_xy_m?[0])),
    ("sensor_estimated_obstacle_surface_y_m", |r| Some(r.ran.observed.surface_xy_m?[1])),
    ("body_beyond_obstacle_m", body_beyond_obstacle_m),
    ("returned_to_slither", returned_to_slither),
    ("avoid_left_at_s", |r| entered_at(r, State::AvoidLeft)),
    ("recover_at_s", |r| entered_at(r, State::Recover)),
    ("slither_again_at_s", |r| entered_at(r, State::Slither)),
    ("terminal_route_heading_rad", terminal_route_heading_rad),
    ("terminal_route_heading_error_rad", |r| Some(terminal_route_heading_rad(r)?.abs())),
    ("final_cross_track_error_m", |r| Some(r.ran.observed.final_head_xy_m[1].abs())),
    ("maximum_penetration_m", |r| Some(r.ran.observed.maximum_penetration_m)),
    ("max_surrogate_force_n", |r| Some(r.ran.observed.max_surrogate_force_n)),
    ("max_surrogate_moment_nm", |r| Some(r.ran.observed.max_surrogate_moment_nm)),
];

/// Names of all metrics.
pub const NAMES: [&str; METRICS.len()] = {
    let mut names = [""; METRICS.len()];
    let mut i = 0;
    while i < METRICS.len() {
        names[i] = METRICS[i].0;
        i += 1;
    }
    names
};

/// All metrics that a run has.
pub fn metrics(run: &Run<'_>) -> BTreeMap<&'static str, f64> {
    METRICS.iter().filter_map(|(name, compute)| Some((*name, compute(run)?))).collect()
}

/// 1 where position, velocity and acceleration of every coordinate were finite after every physics step,
/// and the run went on to its declared duration. Source: observed.
fn finite_state(r: &Run<'_>) -> Option<f64> {
    let o = &r.ran.observed;
    // The simulator adds the step up; half a step is rounding enough.
    let slack = 0.5 * r.spec.simulation.timestep_s;
    let whole = (o.duration_simulated_s - o.duration_requested_s).abs() <= slack;
    Some(truth(o.finite && whole))
}

/// Final less initial position of the head's frame, m. Its first part is the forward progress, its length
/// the net displacement. Source: observed.
fn displacement(r: &Run<'_>) -> [f64; 2] {
    let (a, b) = (r.ran.observed.initial_head_xy_m, r.ran.observed.final_head_xy_m);
    [b[0] - a[0], b[1] - a[1]]
}

/// The least, over all joints, of √(mean((q − mean q)²)), rad, over the rows from 1 s on: how much wave each
/// joint really makes, whatever was commanded. Source: trajectory.
fn physical_joint_wave_rms_rad(r: &Run<'_>) -> Option<f64> {
    let rows: Vec<_> =
        r.ran.trajectory.rows.iter().filter(|row| row.time_s >= WAVE_FROM_S).collect();
    let joints = rows.first()?.q.len();
    let wave = |i: usize| {
        let middle = mean(rows.iter().map(|row| row.q[i]));
        mean(rows.iter().map(|row| (row.q[i] - middle).powi(2))).sqrt()
    };
    Some(min((0..joints).map(wave)))
}

/// 1 where a ray that met a surface led to a detour. Source: observed changes of state.
fn sensor_triggered_avoidance(r: &Run<'_>) -> Option<f64> {
    let o = &r.ran.observed;
    let went = o.transitions.iter().any(|t| t.to == State::AvoidLeft);
    Some(truth(went && o.surface_xy_m.is_some()))
}

/// How far the rearmost of all pivots and the tail's end is beyond the obstacle's far side at the end, along
/// +x, m. Negative where a link is not. Source: observed.
fn body_beyond_obstacle_m(r: &Run<'_>) -> Option<f64> {
    let o = &r.spec.obstacle;
    r.ran.observed.minimum_pivot_to_obstacle_surface_clearance_m?;
    let rear = min(r.ran.observed.final_body_xy_m.iter().map(|p| p[0]));
    Some(rear - (o.centre_m[0] + o.radius_m))
}

/// 1 where a detour ended on the route and the state at the end is `slither`. Source: observed.
fn returned_to_slither(r: &Run<'_>) -> Option<f64> {
    let o = &r.ran.observed;
    Some(truth(o.detours > 0 && o.final_state == State::Slither))
}

/// When a state was entered first, s. Source: observed changes of state.
fn entered_at(r: &Run<'_>, state: State) -> Option<f64> {
    r.ran.observed.transitions.iter().find(|t| t.to == state).map(|t| t.time_s)
}

/// atan2(dy/dt, dx/dt), rad, with the slopes of ordinary least squares of the head's y and x over time, over
/// the rows of the scenario's last `heading_window_s`. Not the head's yaw, which the wave swings to and fro.
/// Source: trajectory.
fn terminal_route_heading_rad(r: &Run<'_>) -> Option<f64> {
    let window = r.scenario.heading_window_s?;
    let from = r.ran.trajectory.rows.last()?.time_s - window - 1e-9;
    let rows: Vec<_> = r.ran.trajectory.rows.iter().filter(|row| row.time_s >= from).collect();
    let middle = mean(rows.iter().map(|row| row.time_s));
    // The common denominator of both slopes drops out of the angle.
    let slope = |value: fn(&crate::telemetry::Row) -> f64| {
        rows.iter().map(|row| (row.time_s - middle) * value(row)).sum::<f64>()
    };
    let (x, y) = (slope(|row| row.head.x), slope(|row| row.head.y));
    (x.is_finite() && y.is_finite() && (x != 0.0 || y != 0.0)).then(|| y.atan2(x))
}

fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

#[cfg(test)]
mod tests;
