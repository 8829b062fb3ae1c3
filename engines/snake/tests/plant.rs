//! The plant on the real library: what its loader refuses, which way friction acts, what stops it, and which
//! checks fail when it is altered.

use sim_mujoco_c::{Data, Kind, Model};
use sim_plant_snake::check::check;
use sim_plant_snake::plant::Plant;
use sim_plant_snake::record::Record;
use sim_plant_snake::replay::scene;
use sim_protocol::{Plant as _, Protocol};
use sim_recording::Recording;
use sim_snake::Snake;
use sim_snake::controller::State;
use sim_snake::mjcf::{Scene, mjcf};
use sim_snake::scenario::{Fault, FaultKind, Scenario};
use sim_snake::spec::Spec;
use sim_snake::telemetry::{Diagnostics, Ran};

const SPEC: &str = include_str!("../../../scenes/snake/snake.toml");
const PROTOCOL: &str = include_str!("../../../scenes/snake/protocol.toml");

fn spec() -> Spec {
    Spec::parse(SPEC).expect("a specification")
}

fn protocol() -> Protocol<Scenario> {
    Protocol::parse::<Snake>(PROTOCOL).expect("a protocol")
}

fn scenario(scene: Scene, duration_s: f64) -> Scenario {
    let p = protocol();
    let found = p.scenarios.iter().find(|s| s.scene == scene).expect("a scenario");
    let heading_window_s = found.heading_window_s.map(|w| w.min(0.5 * duration_s));
    Scenario { duration_s, heading_window_s, ..found.clone() }
}

fn ran(spec: &Spec, scenario: &Scenario) -> Record {
    let model = Model::compile(&mjcf(spec, scenario.scene)).expect("compiles");
    let (record, error) = Plant::new(&model, spec, scenario).expect("a plant").run();
    assert_eq!(error, None);
    record
}

/// Why a scene is refused in which one thing is another.
fn refused(scene: Scene, from: &str, to: &str) -> String {
    let xml = mjcf(&spec(), scene);
    assert!(xml.contains(from), "{from} is not in the model");
    let model = Model::compile(&xml.replacen(from, to, 1)).expect("compiles");
    check(&model, &spec(), scene).err().unwrap_or_else(|| panic!("{from} to {to} is not refused"))
}

/// S01, S04, S08, S14, S20: what both scenes are made of, as the simulator has them.
#[test]
fn the_scenes_are_those_of_the_specification() {
    for scene in Scene::ALL {
        let model = Model::compile(&mjcf(&spec(), scene)).expect("compiles");
        assert_eq!(model.sizes(), [16, 15, 9, 10]);
        let layout = check(&model, &spec(), scene).expect("fits");
        assert_eq!((layout.links.len(), layout.rays.len()), (10, 5));
        assert_eq!(layout.obstacle.is_some(), scene == Scene::ObstacleCourse);
        assert!((model.subtree_mass(layout.links[0]) - 1.6).abs() < 1e-12);
        let o = model.options();
        assert_eq!((o.integrator, o.solver, o.cone, o.autoreset), (3, 2, 1, false));
    }
}

/// S04: each mismatch of a compiled scene is refused, by name.
#[test]
fn what_does_not_fit_is_refused() {
    use Scene::{Locomotion as L, ObstacleCourse as O};
    for (scene, from, to, said) in [
        (L, "geom name=\"link_00_box\"", "geom name=\"x\"", "no geom `link_00_box`"),
        (L, "name=\"joint_02_position\"", "name=\"x\"", "no actuator `joint_02_position`"),
        (
            L,
            "rangefinder name=\"head_range_00\"",
            "rangefinder name=\"x\"",
            "no sensor `head_range_00`",
        ),
        (L, "geom name=\"link_03_pad\"", "geom name=\"x\"", ""),
        (
            L,
            "joint=\"joint_07\"",
            "joint=\"joint_08\"",
            "`joint_07_position` does not drive `joint_07`",
        ),
        (L, "mass=\"0.16\"", "mass=\"0.17\"", "the mass of `link_00` is"),
        (L, "diaginertia=\"5.6", "diaginertia=\"5.7", "the inertia of `link_00` is"),
        (L, "pos=\"-0.095 0.0 0.0\"", "pos=\"-0.096 0.0 0.0\"", "the position of `link_01` is"),
        (L, "axis=\"0 0 1\"", "axis=\"0 0 -1\"", "the axis of `joint_01` is"),
        (L, "range=\"-0.95 0.95\"", "range=\"-0.95 0.94\"", "the range of `joint_01` is"),
        (
            L,
            "ctrlrange=\"-0.95 0.95\"",
            "ctrlrange=\"-1 0.95\"",
            "the command range of `joint_01_position`",
        ),
        (
            L,
            "forcerange=\"-3.0 3.0\"",
            "forcerange=\"-3.0 4.0\"",
            "the torque range of `joint_01_position`",
        ),
        (L, "cutoff=\"0.8\"", "cutoff=\"1\"", "the range of `head_range_m60` is"),
        (L, "pos=\"0.008 0.0 0.0\"", "pos=\"0.08 0.0 0.0\"", "the origin of `head_range_m60` is"),
        (L, "zaxis=\"1.0 0.0 0\"", "zaxis=\"0.0 1.0 0\"", "the direction of `head_range_00` is"),
        (O, "size=\"0.08 0.06\"", "size=\"0.07 0.06\"", "the radius of the obstacle is"),
        (
            O,
            "geom name=\"obstacle\" type=\"cylinder\"",
            "geom name=\"obstacle\" type=\"capsule\"",
            "no cylinder",
        ),
        (O, "geom name=\"obstacle\"", "geom name=\"stone\"", "there is no obstacle"),
    ] {
        if said.is_empty() {
            // A pad that is named in a pair and is not there does not even compile.
            assert!(Model::compile(&mjcf(&spec(), scene).replacen(from, to, 1)).is_err());
            continue;
        }
        let why = refused(scene, from, to);
        assert!(why.contains(said), "{from}: {why}");
    }
    let course = Model::compile(&mjcf(&spec(), O)).expect("compiles");
    assert_eq!(check(&course, &spec(), L).expect_err("another scene"), "there is an obstacle");
    let mut model = Model::compile(&mjcf(&spec(), L)).expect("compiles");
    model.set_timestep(0.003);
    let why = Plant::new(&model, &spec(), &scenario(L, 1.0)).err().expect("refused");
    assert!(why.contains("is no whole number of physics steps of 0.003 s"), "{why}");
}

/// Acceleration, m/s², and final speed, m/s, of a straight snake, turned by an angle, under a force along +x
/// for 0.4 s.
fn slides(spec: &Spec, yaw: f64, force: f64) -> [f64; 2] {
    let model = Model::compile(&mjcf(spec, Scene::Locomotion)).expect("compiles");
    let layout = check(&model, spec, Scene::Locomotion).expect("fits");
    let mut data = Data::new(&model).expect("a state");
    let (s, c) = (0.5 * yaw).sin_cos();
    data.qpos_mut()[3..7].copy_from_slice(&[c, 0.0, 0.0, s]);
    let share = force / layout.links.len() as f64;
    let mut speeds = Vec::new();
    for step in 0..400 {
        // Pads settle first.
        let push = if step < 200 { 0.0 } else { share };
        layout.links.iter().for_each(|l| data.apply(*l, [push, 0.0, 0.0], [0.0; 3]));
        data.step();
        speeds.push(data.qvel()[0]);
    }
    [(speeds[399] - speeds[249]) / (150.0 * 0.002), speeds[399]]
}

/// S17: friction has one coefficient along a link and another across it, whichever way it points: Coulomb's
/// law, a = F/m − µ·g.
#[test]
fn friction_follows_the_links() {
    let mut spec = spec();
    spec.floor.friction_along = 0.1;
    spec.floor.friction_across = 0.3;
    spec.floor.viscosity_pa_s = 0.0;
    let (mass, g) = (1.6, 9.81);
    let force = mass * (0.3 * g + 0.5);
    let turned = std::f64::consts::FRAC_PI_2;
    let ([along, _], [across, _]) = (slides(&spec, 0.0, force), slides(&spec, turned, force));
    let law = |mu: f64| force / mass - mu * g;
    assert!((along - law(0.1)).abs() < 0.02 * law(0.1), "{along} m/s², {} by the law", law(0.1));
    // A push across rolls the links a little; the error is one of µ·g.
    let error = (across - law(0.3)).abs();
    assert!(error < 0.04 * 0.3 * g, "{across} m/s², {} by the law", law(0.3));
    // Below the limit it stays.
    let [_, held] = slides(&spec, turned, mass * 0.28 * g);
    assert!(held.abs() < 0.02, "{held} m/s");
    // Drag takes some of the rest, growing with speed.
    spec.floor.viscosity_pa_s = 1.0;
    assert!(slides(&spec, 0.0, force)[0] < 0.9 * along);
}

/// S20: a ray reads the exact distance of the cylinder at the start, and −0.8 m where it meets nothing.
#[test]
fn rays_read_exact_distances() {
    let record = ran(&spec(), &scenario(Scene::ObstacleCourse, 0.1));
    let row = &record.trajectory.rows[0];
    // 0.72 − 0.08 − 0.008 m, as in the published trajectory.
    assert!((row.ranges[2] - 0.632).abs() < 1e-12, "{}", row.ranges[2]);
    assert_eq!([row.ranges[0], row.ranges[1], row.ranges[3], row.ranges[4]], [-0.8; 4]);
    assert_eq!(row.time_s, 0.002, "a row after the first step");
    assert!((record.trajectory.rows[1].time_s - 0.05).abs() < 1e-12);
    let record = ran(&spec(), &scenario(Scene::Locomotion, 0.1));
    assert_eq!(record.trajectory.rows[0].ranges, [-0.8; 5]);
    // Poses of ten links at the start, at 0.05 and at 0.1 s.
    assert_eq!(record.poses.len(), 3 * 10 * 7);
    // Centres: half a link behind the pivot, one pitch behind the head.
    assert_eq!(record.poses[7..10], [-0.14, 0.0, 0.0175]);
}

/// S13: on the plant, each fault of perception stops it within the declared time, bounded, without a push, and
/// latched; the check for it fails; an explicit reset goes on.
#[test]
fn faults_of_perception_stop_the_plant() {
    let spec = spec();
    for kind in
        [FaultKind::NanRay, FaultKind::MissingRay, FaultKind::OutOfRange, FaultKind::FrozenClock]
    {
        let fault = Some(Fault { from_s: 1.0, to_s: Some(1.5), kind, ray: 3 });
        let faulty = Scenario { fault: fault.clone(), ..scenario(Scene::ObstacleCourse, 3.0) };
        let record = ran(&spec, &faulty);
        let o = &record.observed;
        assert_eq!(o.final_state, State::SafeStop, "{kind:?}: readings are good again, it stays");
        let stopped = o.transitions.last().expect("a change").time_s;
        assert!((1.0 - 1e-9..=1.0 + 0.1 + 0.02 + 1e-9).contains(&stopped), "{kind:?} {stopped}");
        assert!(o.safe_stop_reason.is_some() && o.safe_stop_steps > 900);
        assert!(o.max_abs_joint_velocity_rad_s < 4.0 && o.max_abs_joint_command_rad <= 0.95);
        let last = record.trajectory.rows.last().expect("a row");
        assert!(last.dq.iter().all(|v| v.abs() < 0.01), "{kind:?}: at rest {:?}", last.dq);
        let frozen = record.trajectory.rows.iter().filter(|r| r.state == State::SafeStop);
        let mut commands: Vec<&Vec<f64>> = frozen.map(|r| &r.command).collect();
        assert!(commands.len() > 30);
        commands.dedup();
        assert_eq!(commands.len(), 1, "{kind:?}: repeated stops make no motion");
        let diagnostics = record.diagnostics().lines().last().expect("a line").to_owned();
        assert!(
            diagnostics.contains("safe_stop,0.0,0.0,0.0,0.0,")
                || diagnostics.contains("safe_stop,0.0,0.0,0.0,-0.0,"),
            "{diagnostics}"
        );
        let left = Ran {
            trajectory: record.trajectory,
            observed: record.observed,
            diagnostics: Diagnostics::default(),
        };
        assert!(Snake(spec.clone()).metrics(&faulty, &left)["safe_stop_steps"] > 0.0);

        let reset = Scenario { reset_at_s: Some(2.0), ..faulty };
        let o = ran(&spec, &reset).observed;
        assert_eq!(o.final_state, State::Slither, "{kind:?}");
        assert_eq!(o.safe_stop_reason, None);
        assert!(o.safe_stop_steps > 0, "{kind:?}: that it stopped stays known");
    }
}

/// S11: both runs of a scenario leave the same, to the bit.
#[test]
fn repeats_leave_the_same() {
    let spec = spec();
    let once = || {
        let record = ran(&spec, &scenario(Scene::ObstacleCourse, 12.0));
        let diagnostics = record.diagnostics().to_owned();
        (record.trajectory.to_csv(&spec), record.observed, diagnostics, record.poses)
    };
    assert_eq!(once(), once());
}

/// Checks of an altered snake that do not hold.
fn failing(alter: impl FnOnce(&mut Spec), scene: Scene, duration_s: f64) -> Vec<String> {
    let mut spec = spec();
    alter(&mut spec);
    let scenario = scenario(scene, duration_s);
    let record = ran(&spec, &scenario);
    let left = Ran {
        trajectory: record.trajectory,
        observed: record.observed,
        diagnostics: Diagnostics::default(),
    };
    let found = Snake(spec).metrics(&scenario, &left);
    let p = protocol();
    p.gates_of(&scenario)
        .filter(|g| !found.get(g.metric.as_str()).is_some_and(|v| g.op.holds(*v, g.limit)))
        .filter_map(|g| g.check.clone())
        .collect()
}

/// S22 to S34: altered plants fail the checks that they violate, on the real simulator.
#[test]
fn altered_plants_fail_their_checks() {
    use Scene::{Locomotion as L, ObstacleCourse as O};
    type Alter = fn(&mut Spec);
    let cases: [(Alter, Scene, f64, &[&str]); 14] = [
        // Stopped before it is near enough to see anything.
        (|_| {}, O, 5.0, &["range_triggered_avoidance", "returned_to_slither"]),
        (|_| {}, L, 12.0, &[]),
        // Nothing pushes: it goes half as far.
        (|s| s.surrogate.force_n = 0.0, L, 12.0, &["forward_progress_at_least_0_12_m"]),
        // Servos too weak for the wave.
        (
            |s| {
                s.servo.stiffness_nm_rad = 0.02;
                s.servo.damping_nm_s_rad = 0.01;
            },
            L,
            12.0,
            &[
                "controller_tracking_rmse_below_0_35_rad",
                "physical_joint_wave_rms_at_least_0_12_rad",
            ],
        ),
        // The whole velocity limit for commands, and a wave that asks for it.
        (
            |s| {
                s.gait.slew_fraction = 1.0;
                s.gait.frequency_hz = 1.2;
            },
            L,
            12.0,
            &["joint_velocity_limits_respected"],
        ),
        // A wave that is hardly one.
        (|s| s.gait.amplitude_rad = 0.12, L, 12.0, &["physical_joint_wave_rms_at_least_0_12_rad"]),
        // Blind until it is there, and pushed hard: it runs into the cylinder.
        (
            |s| {
                s.detour.trigger_m = 0.001;
                s.surrogate.force_n = 1.0;
            },
            O,
            60.0,
            &["no_obstacle_contact", "returned_to_slither"],
        ),
        // Time for the detour only.
        (
            |_| {},
            O,
            30.0,
            &[
                "forward_progress_at_least_1_30_m",
                "entire_body_cleared_obstacle_x",
                "returned_to_slither",
            ],
        ),
        // A detour that never ends, far from the route.
        (
            |s| {
                s.detour.passed_m = 50.0;
                s.detour.line_m = 0.8;
                s.surrogate.moment_nm *= 3.0;
            },
            O,
            100.0,
            &["final_cross_track_error_below_0_30_m", "returned_to_slither"],
        ),
        // Joints and commands that may go farther, and a wave that does.
        (
            |s| {
                s.joint.limit_rad = 1.4;
                s.gait.amplitude_rad = 1.2;
            },
            L,
            12.0,
            &["joint_limits_respected", "command_limits_respected"],
        ),
        // A wave that takes most of a minute, and no push: it stays where it is.
        (
            |s| {
                s.surrogate.force_n = 0.0;
                s.gait.frequency_hz = 0.02;
            },
            L,
            12.0,
            &["net_displacement_at_least_0_12_m", "forward_progress_at_least_0_12_m"],
        ),
        // Just turned away from the route.
        (|_| {}, O, 24.0, &["terminal_route_heading_error_below_0_20_rad"]),
        (|_| {}, O, 190.0, &[]),
        // All of the time, and no way forward: nothing drives it, and its wave takes most of a minute.
        (
            |s| {
                s.surrogate.force_n = 0.0;
                s.gait.frequency_hz = 0.02;
            },
            O,
            190.0,
            &[
                "range_triggered_avoidance",
                "forward_progress_at_least_1_30_m",
                "entire_body_cleared_obstacle_x",
                "returned_to_slither",
                "terminal_route_heading_error_below_0_20_rad",
            ],
        ),
    ];
    for (i, (alter, scene, duration_s, expected)) in cases.into_iter().enumerate() {
        let found = failing(alter, scene, duration_s);
        if expected.is_empty() {
            assert_eq!(found, Vec::<String>::new(), "case {i}");
        }
        for check in expected {
            assert!(found.iter().any(|c| c == check), "case {i}: {check} is not among {found:?}");
        }
    }
}

/// S11: a repeat that is pushed by a billionth more is another run.
#[test]
fn a_perturbed_repeat_is_seen() {
    let left = |push: f64| {
        let mut spec = spec();
        spec.surrogate.force_n *= push;
        let record = ran(&spec, &scenario(Scene::Locomotion, 2.0));
        Ran {
            trajectory: record.trajectory,
            observed: record.observed,
            diagnostics: Diagnostics::default(),
        }
    };
    assert_eq!(Snake::apart(&left(1.0), &left(1.0)), 0.0);
    assert!(Snake::apart(&left(1.0), &left(1.0 + 1e-9)) > protocol().determinism.limit);
}

/// S12, S22: a state that is not finite ends the run, and says so.
#[test]
fn a_state_that_is_not_finite_ends_the_run() {
    let mut spec = spec();
    spec.surrogate.force_n = 1e308;
    let model = Model::compile(&mjcf(&spec, Scene::Locomotion)).expect("compiles");
    let one = scenario(Scene::Locomotion, 1.0);
    let (record, error) = Plant::new(&model, &spec, &one).expect("a plant").run();
    let why = error.expect("ended");
    assert!(why.contains("is NaN") || why.contains("is inf") || why.contains("is -inf"), "{why}");
    assert!(!record.observed.finite && record.observed.duration_simulated_s < 1.0);
    assert_eq!(model.id(Kind::Geom, "obstacle"), None);
}

/// A run is a capture that the kind `render` reads: a valid scene of ten moving bodies, and a result of it.
#[test]
fn a_run_is_a_capture() {
    for place in Scene::ALL {
        let spec = spec();
        let record = ran(&spec, &scenario(place, 0.5));
        let scene = scene(&spec, place);
        let recording = Recording {
            scene: &scene,
            name: "0.002 s",
            poses: &record.poses,
            steps_per_frame: 25,
            timestep: 0.002,
            steps: record.observed.physics_steps,
            version: "3.17.0",
            seed: spec.simulation.seed,
        };
        let [(_, text), (_, bytes), (_, result)] = recording.files().expect("a recording");
        scene.validate().expect("valid");
        let still = if place == Scene::ObstacleCourse { 2 } else { 1 };
        assert_eq!((scene.dynamic_count(), scene.bodies.len()), (10, 10 + still));
        let capture = sim_engine_protocol::capture::Capture::read(&bytes).expect("a capture");
        assert_eq!((capture.header.bodies, capture.header.frames), (10, 11));
        let result: sim_engine_protocol::JobResult =
            serde_json::from_slice(&result).expect("a result");
        assert_eq!(result.scene.expect("a scene").digest, blake3::hash(&text).to_hex().to_string());
        // Links stay at their height, and neighbours a pitch apart.
        for frame in 0..11 {
            let poses: Vec<[f32; 7]> = capture.frame(frame).collect();
            for pose in &poses {
                assert!((pose[2] - 0.0175).abs() < 1e-3, "{pose:?}");
                let norm: f32 = pose[3..].iter().map(|v| v * v).sum();
                assert!((norm - 1.0).abs() < 1e-5);
            }
        }
    }
}
