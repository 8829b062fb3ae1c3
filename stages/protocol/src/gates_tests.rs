//! Every check of the vehicle's protocol can fail: an ideal vehicle passes all of them, and for each
//! check there is a fault of the plant, in telemetry, that breaks it.

use crate::report::Report;
use crate::verdict::tests::{judged_as, ran};
use sim_protocol::{Op, Protocol};
use sim_vehicle::Vehicle;
use sim_vehicle::config::Config;
use sim_vehicle::metrics::GRAVITY;
use sim_vehicle::scenario::Scenario;
use sim_vehicle::telemetry::{self as t, COLUMNS, Telemetry};

const PROTOCOL: &str = include_str!("../../../scenes/vehicle/m1.toml");
const CONFIG: &str = include_str!("../../../scenes/vehicle/vehicle.toml");

/// A kinematic bicycle on wheels that never leave the ground, do not sink in and do not slip.
fn ideal(scenario: &Scenario, config: &Config) -> Telemetry {
    let dt = config.simulation.control_dt_s;
    let steps = (scenario.duration_s / dt).round() as usize;
    let (a, vehicle) = (&config.actuator, &config.vehicle);
    let (mut x, mut y, mut yaw, mut v, mut target) = (0.0_f64, 0.0_f64, 0.0_f64, 0.0_f64, 0.0_f64);
    let mut values = vec![0.0; (steps + 1) * COLUMNS];
    for (i, row) in values.chunks_exact_mut(COLUMNS).enumerate() {
        row[t::TIME] = i as f64 * dt;
        row[t::CONTACT..t::CONTACT + 4].fill(1.0);
        row[t::LOAD..t::LOAD + 4].fill(vehicle.mass_kg * GRAVITY / 4.0);
        if i == 0 {
            continue;
        }
        let [steering, acceleration] = scenario.action((i - 1) as f64 * dt, v);
        let applied = steering.clamp(-a.max_steering_angle_rad, a.max_steering_angle_rad);
        let drive = acceleration.clamp(-a.max_deceleration_mps2, a.max_acceleration_mps2);
        let most = a.max_steering_rate_rad_s * dt;
        target += (applied - target).clamp(-most, most);
        v = if drive < 0.0 { (v + drive * dt).max(0.0) } else { v + drive * dt };
        let rate = v * target.tan() / vehicle.wheelbase_m;
        yaw += rate * dt;
        x += v * yaw.cos() * dt;
        y += v * yaw.sin() * dt;
        row[t::POSITION] = x;
        row[t::POSITION + 1] = y;
        row[t::YAW] = yaw;
        row[t::VELOCITY] = v;
        row[t::ANGULAR_VELOCITY + 2] = rate;
        row[t::STEERING] = target;
        row[t::STEERING_TARGET] = target;
        row[t::APPLIED_STEERING] = applied;
        row[t::APPLIED_ACCELERATION] = drive;
        row[t::SATURATED] = f64::from(u8::from((steering - applied).abs() > 0.0))
            + f64::from(u8::from((acceleration - drive).abs() > 0.0));
    }
    Telemetry { values }
}

/// Changes a column of all rows.
fn all(run: &mut Telemetry, column: usize, change: impl Fn(f64) -> f64) {
    run.values.chunks_exact_mut(COLUMNS).for_each(|row| row[column] = change(row[column]));
}

/// Sets a value of the row at a share of the run.
fn at(run: &mut Telemetry, share: f64, column: usize, value: f64) {
    let row = ((run.rows() - 1) as f64 * share).round() as usize;
    run.values[row * COLUMNS + column] = value;
}

/// What goes wrong with the plant, by the metric that must notice.
fn fault(run: &mut Telemetry, metric: &str, upper: bool) {
    match metric {
        "finite" => at(run, 0.5, t::VELOCITY, f64::NAN),
        "warning_count" => at(run, 1.0, t::WARNINGS, 1.0),
        "maximum_unexpected_contacts" => at(run, 0.5, t::UNEXPECTED, 1.0),
        // A wheel that hangs in the air.
        "minimum_steady_wheel_contact_coverage" => all(run, t::CONTACT + 2, |_| 0.7),
        "maximum_contact_gap_s" => at(run, 0.5, t::GAP, 0.105),
        // Soft contacts.
        "maximum_penetration_m" => at(run, 0.5, t::PENETRATION, 0.0101),
        "steady_penetration_p99_m" => all(run, t::PENETRATION, |_| 0.0021),
        // A body that rolls, bounces, or turns over.
        "maximum_abs_roll_pitch_rad" => at(run, 0.5, t::TILT, 0.16),
        "steady_abs_roll_pitch_p99_rad" => all(run, t::ROLL, |_| 0.011),
        "final_abs_roll_pitch_rad" => at(run, 1.0, t::PITCH, -0.011),
        "steady_chassis_z_peak_to_peak_m" => at(run, 0.8, t::POSITION + 2, 0.006),
        "steady_vertical_speed_p99_mps" => all(run, t::VERTICAL_SPEED, |_| 0.11),
        // Uneven load, and too much of it.
        "minimum_steady_mean_wheel_load_ratio" => all(run, t::LOAD, |f| f * 0.7),
        "steady_normal_force_relative_error" => {
            (0..4).for_each(|wheel| all(run, t::LOAD + wheel, |f| f * 1.2));
        }
        // A vehicle that creeps.
        "steady_xy_drift_m" => at(run, 1.0, t::POSITION + 1, 0.011),
        "steady_yaw_drift_rad" => at(run, 1.0, t::YAW, -0.006),
        "steady_speed_p99_mps" => all(run, t::VELOCITY + 1, |_| 0.021),
        "steady_yaw_rate_p99_rad_s" => all(run, t::ANGULAR_VELOCITY + 2, |_| -0.011),
        // Weak or runaway motors, brakes that do not hold, or reverse, or pump.
        "forward_displacement_m" => all(run, t::POSITION, |x| x * 0.2),
        "speed_at_acceleration_end_mps" if upper => all(run, t::VELOCITY, |v| v * 1.5),
        "speed_at_acceleration_end_mps" | "speed_before_braking_mps" => {
            all(run, t::VELOCITY, |v| v * 0.5);
        }
        "maximum_speed_mps" => at(run, 0.9, t::VELOCITY, 12.1),
        "mean_stress_speed_mps" => all(run, t::VELOCITY, |v| v * 0.8),
        "stress_path_length_m" => (0..2).for_each(|c| all(run, t::POSITION + c, |x| x * 0.8)),
        "final_abs_longitudinal_velocity_mps" => at(run, 1.0, t::VELOCITY, -0.51),
        "maximum_abs_post_braking_velocity_mps" => at(run, 0.95, t::VELOCITY, 0.51),
        "minimum_braking_velocity_mps" => at(run, 6.5 / 8.0, t::VELOCITY, -0.21),
        "braking_nonincrease_fraction" => {
            for i in 0..4 {
                at(run, (5.2 + 0.4 * f64::from(i)) / 8.0, t::VELOCITY, 9.0);
            }
        }
        // Steering that pulls to a side, does nothing, or misses.
        "final_abs_lateral_displacement_m" => at(run, 1.0, t::POSITION + 1, -0.021),
        "final_abs_yaw_rad" => at(run, 1.0, t::YAW, -0.011),
        "final_lateral_displacement_m" => all(run, t::POSITION + 1, |_| 0.0),
        "final_yaw_rad" => all(run, t::YAW, |_| 0.0),
        "mean_commanded_steering_angle_rad" => all(run, t::STEERING, |s| s * 0.5),
        "maximum_commanded_steering_error_rad" => all(run, t::STEERING, |s| s + 0.051),
        "stress_steering_rms_rad" => all(run, t::STEERING, |s| s * 0.5),
        // Limits that are not kept.
        "maximum_applied_steering_rad" => at(run, 0.1, t::APPLIED_STEERING, 0.600_000_1),
        "minimum_applied_steering_rad" => at(run, 0.4, t::APPLIED_STEERING, -0.600_000_1),
        "maximum_applied_acceleration_mps2" => at(run, 0.1, t::APPLIED_ACCELERATION, 4.000_1),
        "minimum_applied_acceleration_mps2" => at(run, 0.4, t::APPLIED_ACCELERATION, -8.000_1),
        "maximum_steering_target_step_rad" => at(run, 0.1, t::STEERING_TARGET, 0.5),
        "minimum_saturation_count" => at(run, 0.1, t::SATURATED, 1.0),
        other => panic!("no fault is known that breaks {other}"),
    }
}

/// What makes a step differ from the reference step.
fn drift(run: &mut Telemetry, quantity: &str) {
    match quantity {
        "position_rmse_m" | "position_max_m" | "position_final_m" => {
            all(run, t::POSITION + 1, |y| y + 0.3);
        }
        "velocity_rmse_mps" | "velocity_max_mps" | "mean_speed_difference_mps" => {
            all(run, t::VELOCITY, |v| v + 0.31);
        }
        "yaw_rmse_rad" | "yaw_final_rad" => all(run, t::YAW, |yaw| yaw + 0.06),
        "yaw_rate_rmse_rad_s" => all(run, t::ANGULAR_VELOCITY + 2, |w| w + 0.06),
        "steady_z_difference_m" => all(run, t::POSITION + 2, |z| z + 0.002_1),
        "penetration_p99_difference_m" => all(run, t::PENETRATION, |p| p + 0.002_1),
        "steady_penetration_p99_difference_m" => all(run, t::PENETRATION, |p| p + 0.001_1),
        "wheel_contact_coverage_difference" => all(run, t::CONTACT + 3, |c| c - 0.06),
        "maximum_contact_gap_difference_s" => at(run, 0.5, t::GAP, 0.021),
        "vertical_speed_p99_difference_mps" => all(run, t::VERTICAL_SPEED, |v| v + 0.051),
        "path_length_difference_m" => (0..2).for_each(|c| all(run, t::POSITION + c, |x| x * 1.01)),
        "steering_rms_difference_rad" => all(run, t::STEERING, |s| s * 1.1),
        other => panic!("nothing is known that changes {other}"),
    }
}

/// The verdict where all repeats of the largest step in `scenario` went wrong.
fn with(protocol: &Protocol<Scenario>, scenario: &str, change: impl Fn(&mut Telemetry)) -> Report {
    let config = Config::parse(CONFIG).expect("a configuration");
    judged_as(protocol, |of, candidate, _| {
        let mut run = ideal(of, &config);
        if candidate == 0 && of.name == scenario {
            change(&mut run);
        }
        ran(run, None)
    })
}

fn protocol() -> Protocol<Scenario> {
    Protocol::parse::<Vehicle>(PROTOCOL).expect("a protocol")
}

/// The protocol of one scenario, for speed.
fn only(name: &str) -> Protocol<Scenario> {
    let mut p = protocol();
    p.scenarios.retain(|s| s.name == name);
    p.convergence.retain(|c| c.scenario == name);
    p.symmetry.clear();
    p
}

#[test]
fn an_ideal_vehicle_passes_every_check() {
    let report = with(&protocol(), "", |_| {});
    for c in &report.candidates {
        assert_eq!(c.failures, Vec::<String>::new(), "{}", c.timestep_s);
    }
    assert_eq!(report.selection.timestep_s, Some(0.01));
    assert_eq!(report.selection.checks_per_candidate, 172);
}

/// V28 to V36: for each absolute gate of each scenario a fault that breaks it.
#[test]
fn every_absolute_gate_fails_on_a_plant_that_violates_it() {
    let mut broken = 0;
    for scenario in &protocol().scenarios {
        let p = only(&scenario.name);
        for gate in p.gates_of(scenario) {
            let upper = gate.op == Op::AtMost;
            let report = with(&p, &scenario.name, |run| fault(run, &gate.metric, upper));
            let prefix = format!("absolute.{}.{}.", scenario.name, gate.metric);
            let failures = &report.candidates[0].failures;
            let hit = failures.iter().any(|f| {
                let word = if upper { "at_most" } else { "" };
                f.starts_with(&prefix) && f.ends_with(word)
            });
            assert!(hit, "{prefix}: {failures:?}");
            assert_ne!(report.selection.timestep_s, Some(0.01), "{prefix}");
            broken += 1;
        }
    }
    assert_eq!(broken, 130);
}

/// Two that turn to one side are no mirror images, however equal.
#[test]
fn a_mirror_image_has_the_other_sign() {
    let report = with(&protocol(), "steer_right", |run| {
        all(run, t::YAW, |yaw| -yaw);
        all(run, t::POSITION + 1, |y| -y);
    });
    let failures = &report.candidates[0].failures;
    assert_eq!(failures.iter().filter(|f| f.starts_with("symmetry.")).count(), 2, "{failures:?}");
}

/// V26, V27, V37: so has each difference to the reference, and each mirror image.
#[test]
fn every_relative_gate_fails_on_a_plant_that_violates_it() {
    let mut broken = 0;
    for convergence in &protocol().convergence {
        let p = only(&convergence.scenario);
        for quantity in convergence.limits.keys() {
            let report = with(&p, &convergence.scenario, |run| drift(run, quantity));
            let id = format!("convergence.{}.{quantity}", convergence.scenario);
            assert!(report.candidates[0].failures.contains(&id), "{id}");
            broken += 1;
        }
    }
    assert_eq!(broken, 32);
    for (column, id) in [
        (t::POSITION + 1, "symmetry.steer_left.steer_right.final_lateral_displacement_m"),
        (t::YAW, "symmetry.steer_left.steer_right.final_yaw_rad"),
    ] {
        let report = with(&protocol(), "steer_left", |run| all(run, column, |x| x * 1.2));
        assert!(report.candidates[0].failures.contains(&id.to_owned()), "{id}");
    }
}
