//! Every check of the vehicle's protocol on vehicles that are simulated with a fault: softer tyres, a
//! wheel that touches nothing, dead motors, a driver who misreads the speed. For each gate there is a
//! fault that breaks it, and without one it holds.

use super::*;
use sim_protocol::{Op, Plant as _, Protocol};
use sim_vehicle::Vehicle;
use sim_vehicle::convergence;
use sim_vehicle::metrics::{self, Run};
use sim_vehicle::mjcf::mjcf;
use sim_vehicle::scenario::Scenario;
use sim_vehicle::telemetry::Telemetry;
use std::collections::BTreeMap;

const CONFIG: &str = include_str!("../../../../scenes/vehicle/vehicle.toml");
const PROTOCOL: &str = include_str!("../../../../scenes/vehicle/m1.toml");
/// Weight, N.
const WEIGHT: f64 = 1200.0 * metrics::GRAVITY;

/// What is wrong with a vehicle.
#[derive(Clone, Copy)]
struct Fault {
    name: &'static str,
    /// Parts of the model's text, each with what stands in its place.
    model: &'static [(&'static str, &'static str)],
    /// Limits that its controller takes for its own.
    limits: fn(&mut Config),
    /// Force, N, on the chassis in the world's axes, and moment about z, N·m, by time, s.
    push: fn(f64) -> ([f64; 3], f64),
    /// The speed that the driver reads, as a multiple of the true one.
    reads: f64,
}

const SOUND: Fault =
    Fault { name: "sound", model: &[], limits: |_| {}, push: |_| ([0.0; 3], 0.0), reads: 1.0 };

const SOFT: Fault = Fault {
    name: "soft",
    model: &[("solref=\"0.03 1\" solimp=\"0.9 0.95", "solref=\"0.2 1\" solimp=\"0.3 0.4")],
    ..SOUND
};
const TYRELESS: Fault = Fault {
    name: "tyreless",
    model: &[(
        "<geom name=\"rear_left_wheel_geom\" class=\"wheel\"",
        "<geom name=\"rear_left_wheel_geom\" class=\"wheel\" contype=\"0\" conaffinity=\"0\"",
    )],
    ..SOUND
};
const DEEP: Fault =
    Fault { name: "deep", model: &[("size=\"2.1 0.72 0.2\"", "size=\"2.1 0.72 0.6\"")], ..SOUND };
/// Front axle half a metre below the rear one.
const STILTED: Fault = Fault {
    name: "stilted",
    model: &[
        ("pos=\"0 0 0.56\"", "pos=\"0 0 1.06\""),
        ("pos=\"1.35 0.8 -0.22\"", "pos=\"1.35 0.8 -0.72\""),
        ("pos=\"1.35 -0.8 -0.22\"", "pos=\"1.35 -0.8 -0.72\""),
    ],
    ..SOUND
};
const SHAKEN: Fault = Fault {
    name: "shaken",
    push: |t| ([0.0, 0.0, 2.0 * WEIGHT * (std::f64::consts::TAU * 2.0 * t).sin()], 0.0),
    ..SOUND
};
const TAIL_HEAVY: Fault = Fault {
    name: "tail heavy",
    model: &[(
        "<geom name=\"chassis\" type=\"box\"",
        "<geom name=\"chassis\" pos=\"-1 0 0\" type=\"box\"",
    )],
    ..SOUND
};
const LOADED: Fault =
    Fault { name: "loaded", push: |_| ([0.0, 0.0, -0.25 * WEIGHT], 0.0), ..SOUND };
/// On ice, in a wind from the side.
const ON_ICE: Fault = Fault {
    name: "on ice",
    model: &[("1.2 0.005 0.0001", "0.01 0.005 0.0001")],
    push: |_| ([0.0, 2000.0, 0.0], 500.0),
    ..SOUND
};
const WEAK: Fault =
    Fault { name: "weak", model: &[("_drive\" joint", "_drive\" gear=\"0.05\" joint")], ..SOUND };
const STRONG: Fault =
    Fault { name: "strong", model: &[("_drive\" joint", "_drive\" gear=\"2\" joint")], ..SOUND };
/// Wheels in front that are mounted askew.
const ASKEW: Fault = Fault {
    name: "askew",
    model: &[
        ("pos=\"1.35 0.8 -0.22\"", "pos=\"1.35 0.8 -0.22\" euler=\"0 0 0.05\""),
        ("pos=\"1.35 -0.8 -0.22\"", "pos=\"1.35 -0.8 -0.22\" euler=\"0 0 0.05\""),
    ],
    ..SOUND
};
const UNSTEERED: Fault =
    Fault { name: "unsteered", model: &[("kp=\"8000\"", "kp=\"0.001\"")], ..SOUND };
const NO_BRAKES: Fault =
    Fault { name: "no brakes", limits: |c| c.actuator.max_deceleration_mps2 = 0.001, ..SOUND };
/// Something that pulls it backwards once it stands.
const PULLED_BACK: Fault = Fault {
    name: "pulled back",
    push: |t| ([if t > 6.0 { -1.5 * WEIGHT } else { 0.0 }, 0.0, 0.0], 0.0),
    ..SOUND
};
/// A brake that lets go every other control step, downhill.
const PUMPED: Fault = Fault {
    name: "pumped",
    push: |t| {
        let odd = ((t / 0.05).round() as i64) % 2 == 1;
        ([if odd && t > 5.0 { 9000.0 } else { 0.0 }, 0.0, 0.0], 0.0)
    },
    ..SOUND
};
const UNLIMITED: Fault = Fault {
    name: "unlimited",
    limits: |c| {
        c.actuator.max_steering_angle_rad = 0.7;
        c.actuator.max_steering_rate_rad_s = 5.0;
        c.actuator.max_acceleration_mps2 = 5.0;
        c.actuator.max_deceleration_mps2 = 9.0;
    },
    ..SOUND
};
const UNCLIPPED: Fault =
    Fault { name: "unclipped", limits: |c| c.actuator.max_steering_angle_rad = 3.0, ..SOUND };
const HALF_SPEEDOMETER: Fault = Fault { name: "half speedometer", reads: 0.5, ..SOUND };

/// The fault that breaks a gate on this metric. `None` for what a run does not live to see: the plant
/// rejects it in the step in which it happens.
fn breaks(metric: &str, upper: bool) -> Option<Fault> {
    Some(match metric {
        "finite" | "warning_count" => return None,
        "maximum_unexpected_contacts" => DEEP,
        "minimum_steady_wheel_contact_coverage" | "maximum_contact_gap_s" => TYRELESS,
        "maximum_penetration_m" | "steady_penetration_p99_m" => SOFT,
        "maximum_abs_roll_pitch_rad"
        | "steady_abs_roll_pitch_p99_rad"
        | "final_abs_roll_pitch_rad" => STILTED,
        "steady_chassis_z_peak_to_peak_m" | "steady_vertical_speed_p99_mps" => SHAKEN,
        "minimum_steady_mean_wheel_load_ratio" => TAIL_HEAVY,
        "steady_normal_force_relative_error" => LOADED,
        "steady_xy_drift_m"
        | "steady_yaw_drift_rad"
        | "steady_speed_p99_mps"
        | "steady_yaw_rate_p99_rad_s" => ON_ICE,
        "speed_at_acceleration_end_mps" if upper => STRONG,
        "forward_displacement_m"
        | "speed_at_acceleration_end_mps"
        | "speed_before_braking_mps"
        | "mean_stress_speed_mps"
        | "stress_path_length_m" => WEAK,
        "maximum_speed_mps" => HALF_SPEEDOMETER,
        "final_abs_lateral_displacement_m" | "final_abs_yaw_rad" => ASKEW,
        "final_lateral_displacement_m"
        | "final_yaw_rad"
        | "mean_commanded_steering_angle_rad"
        | "maximum_commanded_steering_error_rad"
        | "stress_steering_rms_rad" => UNSTEERED,
        "final_abs_longitudinal_velocity_mps" | "maximum_abs_post_braking_velocity_mps" => {
            NO_BRAKES
        }
        "minimum_braking_velocity_mps" => PULLED_BACK,
        "braking_nonincrease_fraction" => PUMPED,
        "minimum_saturation_count" => UNCLIPPED,
        "maximum_applied_steering_rad"
        | "minimum_applied_steering_rad"
        | "maximum_applied_acceleration_mps2"
        | "minimum_applied_acceleration_mps2"
        | "maximum_steering_target_step_rad" => UNLIMITED,
        other => panic!("no fault is known that breaks {other}"),
    })
}

/// The fault that makes a run differ from the reference step's by a quantity.
fn differs(quantity: &str, scenario: &str) -> Fault {
    match quantity {
        "position_rmse_m" | "position_max_m" | "position_final_m"
            if scenario.starts_with("steer") =>
        {
            UNSTEERED
        }
        "position_rmse_m"
        | "position_max_m"
        | "position_final_m"
        | "velocity_rmse_mps"
        | "velocity_max_mps"
        | "mean_speed_difference_mps"
        | "path_length_difference_m" => WEAK,
        "yaw_final_rad" if scenario == "straight" => ASKEW,
        "yaw_rmse_rad"
        | "yaw_final_rad"
        | "yaw_rate_rmse_rad_s"
        | "steering_rms_difference_rad" => UNSTEERED,
        "steady_z_difference_m"
        | "penetration_p99_difference_m"
        | "steady_penetration_p99_difference_m" => SOFT,
        "wheel_contact_coverage_difference" | "maximum_contact_gap_difference_s" => TYRELESS,
        "vertical_speed_p99_difference_mps" => SHAKEN,
        other => panic!("nothing is known that changes {other}"),
    }
}

fn config() -> Config {
    Config::parse(CONFIG).expect("a configuration")
}

fn protocol() -> Protocol<Scenario> {
    Protocol::parse::<Vehicle>(PROTOCOL).expect("a protocol")
}

/// Drives a scenario with a physics step, s, in a vehicle with a fault.
fn drive_with(fault: &Fault, scenario: &Scenario, dt: f64) -> Telemetry {
    let sound = config();
    let text = mjcf(&sound);
    let layout = check(&Model::compile(&text).expect("compiles"), &sound).expect("fits");
    let mut altered = text;
    for (from, to) in fault.model {
        assert!(altered.contains(from), "{from} is not in the model");
        altered = altered.replace(from, to);
    }
    let mut model = Model::compile(&altered).expect("compiles");
    model.set_timestep(dt);
    let mut config = sound;
    (fault.limits)(&mut config);
    let roll = scenario.roll_deg.to_radians();
    let mut plant =
        Plant::laid_out(&model, &config, layout, scenario.lift_m, roll).expect("can be laid out");
    let chassis = model.id(sim_mujoco_c::Kind::Body, "chassis").expect("a chassis");
    let control = config.simulation.control_dt_s;
    let mut telemetry = Telemetry { values: plant.first_row().to_vec() };
    for i in 0..(scenario.duration_s / control).round() as u64 {
        let time = i as f64 * control;
        let (force, turn) = (fault.push)(time);
        plant.data.apply(chassis, force, [0.0, 0.0, turn]);
        let action = scenario.action(time, fault.reads * plant.speed());
        telemetry.values.extend(plant.control_step(action).expect("goes on"));
    }
    telemetry
}

/// Each fault is driven once a scenario.
#[derive(Default)]
struct Runs(BTreeMap<(&'static str, String, u64), Telemetry>);

impl Runs {
    fn get(&mut self, fault: &Fault, scenario: &Scenario, dt: f64) -> &Telemetry {
        let of = (fault.name, scenario.name.clone(), dt.to_bits());
        self.0.entry(of).or_insert_with(|| drive_with(fault, scenario, dt))
    }
}

/// V28 to V36: a sound vehicle passes every absolute gate at 0.005 s, and for each gate a fault of the
/// simulated vehicle breaks it. What is not finite and what MuJoCo warns of ends a run before a gate
/// could see it.
#[test]
fn every_absolute_gate_fails_on_a_simulated_vehicle_that_violates_it() {
    let (p, config, mut runs) = (protocol(), config(), Runs::default());
    let (mut broken, mut rejected, mut kept) = (0, 0, Vec::new());
    for scenario in &p.scenarios {
        for gate in p.gates_of(scenario) {
            let holds = |telemetry: &Telemetry| {
                let run = Run { telemetry, scenario, config: &config };
                let value = metrics::metric(&run, &gate.metric).expect("is measured");
                (gate.op.holds(value, gate.limit), value)
            };
            let id = gate.id(&scenario.name);
            let (sound, value) = holds(runs.get(&SOUND, scenario, 0.005));
            assert!(sound, "{id}: {value} without a fault");
            let Some(fault) = breaks(&gate.metric, gate.op == Op::AtMost) else {
                rejected += 1;
                continue;
            };
            let (still, value) = holds(runs.get(&fault, scenario, 0.005));
            if still {
                kept.push(format!("{id}: {value} holds {}", gate.limit));
            }
            broken += 1;
        }
    }
    assert!(kept.is_empty(), "{kept:#?}");
    assert_eq!((broken, rejected), (114, 16));
}

/// V37: so does each difference to the reference step.
#[test]
fn every_difference_fails_on_a_simulated_vehicle_that_violates_it() {
    let (p, config, mut runs) = (protocol(), config(), Runs::default());
    let (mut broken, mut kept) = (0, Vec::new());
    for of in &p.convergence {
        let scenario = p.scenarios.iter().find(|s| s.name == of.scenario).expect("a scenario");
        let reference = runs.get(&SOUND, scenario, p.protocol.reference_s).clone();
        for (quantity, limit) in &of.limits {
            let mut far = |fault: &Fault| {
                let run = |telemetry| Run { telemetry, scenario, config: &config };
                let faulty = runs.get(fault, scenario, 0.005);
                convergence::difference(quantity, &run(faulty), &run(&reference)).expect("compares")
            };
            let sound = far(&SOUND);
            assert!(sound <= *limit, "{}.{quantity}: {sound} without a fault", of.scenario);
            let value = far(&differs(quantity, &of.scenario));
            if value <= *limit {
                kept.push(format!("{}.{quantity}: {value} holds {limit}", of.scenario));
            }
            broken += 1;
        }
    }
    assert!(kept.is_empty(), "{kept:#?}");
    assert_eq!(broken, 32);
}

/// V26, V27: wheels that are mounted askew turn better to one side, and a push of a millionth of a newton
/// makes a repeat another run.
#[test]
fn mirror_images_and_repeats_fail_on_simulated_vehicles_that_violate_them() {
    let (p, config) = (protocol(), config());
    let named = |name: &str| p.scenarios.iter().find(|s| s.name == name).expect("a scenario");
    for mirror in &p.symmetry {
        let apart = |fault: &Fault| {
            let [left, right] = [&mirror.left, &mirror.right].map(|name| {
                let scenario = named(name);
                let telemetry = &drive_with(fault, scenario, 0.005);
                let run = Run { telemetry, scenario, config: &config };
                metrics::metric(&run, &mirror.metric).expect("is measured")
            });
            (left + right).abs() / left.abs().max(right.abs())
        };
        let (sound, askew) = (apart(&SOUND), apart(&ASKEW));
        assert!(sound <= mirror.limit, "{}: {sound} without a fault", mirror.metric);
        assert!(askew > mirror.limit, "{}: {askew}", mirror.metric);
    }
    let straight = named("straight");
    let once = drive_with(&SOUND, straight, 0.005);
    let again = drive_with(&SOUND, straight, 0.005);
    assert_eq!(Vehicle::apart(&once, &again), 0.0);
    let pushed = Fault { name: "pushed", push: |_| ([0.0, 1e-6, 0.0], 0.0), ..SOUND };
    let pushed = drive_with(&pushed, straight, 0.005);
    assert!(Vehicle::apart(&once, &pushed) > p.determinism.limit);
}

/// V18: what the gate on finite numbers guards against ends a run in its step.
#[test]
fn what_is_not_finite_does_not_reach_the_gates() {
    let sound = config();
    let model = Model::compile(&mjcf(&sound)).expect("compiles");
    let mut plant = Plant::new(&model, &sound, 0.0, 0.0).expect("fits");
    let chassis = model.id(sim_mujoco_c::Kind::Body, "chassis").expect("a chassis");
    plant.control_step([0.0; 2]).expect("stands");
    plant.data.apply(chassis, [f64::NAN, 0.0, 0.0], [0.0; 3]);
    let reason = plant.control_step([0.0; 2]).expect_err("is rejected");
    assert_eq!(reason, "qpos[0] is NaN at 0.05499999999999999 s");
}
