//! The receipt of a scenario, `metrics.json`, with the keys of the published ones.

use crate::{Snake, surrogate};
use serde_json::{Map, Value, json};
use sim_protocol::{Outcome, Plant as _};

/// The receipt of what came out.
pub(crate) fn receipt(snake: &Snake, outcome: &Outcome<'_, Snake>) -> Value {
    let (spec, o) = (&snake.0, &outcome.ran.observed);
    let metrics = snake.metrics(outcome.scenario, outcome.ran);
    let value = |name: &str| metrics.get(name).map_or(Value::Null, |v| json!(v));
    let (a, b) = (o.initial_head_xy_m, o.final_head_xy_m);
    let checks: Map<String, Value> =
        outcome.checks.iter().map(|(name, holds)| (name.clone(), json!(holds))).collect();
    json!({
        "scenario": outcome.scenario.name,
        "model": outcome.scenario.scene.file(),
        "seed": spec.simulation.seed,
        "duration_requested_s": o.duration_requested_s,
        "duration_simulated_s": o.duration_simulated_s,
        "physics_timestep_s": outcome.timestep_s,
        "controller_rate_hz": f64::from(spec.simulation.control_hz),
        "dependencies": { "mujoco": outcome.version },
        "initial_head_xy_m": a,
        "final_head_xy_m": b,
        "displacement_xy_m": [b[0] - a[0], b[1] - a[1]],
        "forward_progress_m": value("forward_progress_m"),
        "net_displacement_m": value("net_displacement_m"),
        "max_abs_joint_position_rad": o.max_abs_joint_position_rad,
        "max_abs_joint_velocity_rad_s": o.max_abs_joint_velocity_rad_s,
        "max_abs_joint_command_rad": o.max_abs_joint_command_rad,
        "joint_tracking_rmse_rad": o.joint_tracking_rmse_rad,
        "obstacle_contact_steps": o.obstacle_contact_steps,
        "minimum_pivot_to_obstacle_surface_clearance_m": o.minimum_pivot_to_obstacle_surface_clearance_m,
        "sensor_triggered_avoidance": metrics.get("sensor_triggered_avoidance") == Some(&1.0),
        "terminal_route_heading_rad": value("terminal_route_heading_rad"),
        "sensor_estimated_obstacle_surface_xy_m": o.surface_xy_m,
        "detour_completed": o.detours > 0,
        "state_transitions": o.transitions,
        "checks": checks,
        "passed": outcome.checks.iter().all(|(_, holds)| *holds),
        "modeled_assumptions": surrogate::ASSUMPTIONS,
        "propulsion_surrogate": {
            "largest_force_n": o.max_surrogate_force_n,
            "force_bound_n": spec.surrogate.force_n,
            "largest_moment_nm": o.max_surrogate_moment_nm,
            "moment_bound_nm": spec.surrogate.moment_nm,
        },
        "safe_stop_reason": o.safe_stop_reason,
    })
}
