//! The adapter against closed forms, and against itself, on the processor.

mod common;

use common::{body, boxed, boxes, built, floor, go, job, poses, run, scene};
use sim_adapter_nexus::{COLORS, Nexus, PAIRS, SLOTS};
use sim_engine_harness::Engine;
use sim_engine_protocol::{
    CAPACITY_SAMPLES_FILE, CapacitySamples, Job, JobResult, Mode, ProfileReport, Status,
};

fn reason(result: &JobResult) -> (Status, &str) {
    (result.outcome.status, result.outcome.reason.as_deref().unwrap_or_default())
}

fn gate(result: &JobResult, id: &str) -> (bool, f64) {
    let gate = result.gates.iter().find(|g| g.id == id).unwrap();
    (gate.passed, gate.value)
}

/// One box 50 m up that flies along x, turned by a quarter about z.
fn flying(spin: [f64; 3]) -> serde_json::Value {
    let quarter = std::f64::consts::FRAC_1_SQRT_2;
    let mut flying = body(boxed(), 2.0, [0.0, 0.0, 50.0]);
    flying["orientation"] = serde_json::json!([quarter, 0.0, 0.0, quarter]);
    flying["linear_velocity"] = serde_json::json!([1.0, 0.0, 0.0]);
    flying["angular_velocity"] = serde_json::json!(spin);
    flying["inertia"] = serde_json::json!([0.05, 0.06, 0.07]);
    scene(vec![flying], true)
}

#[test]
fn it_says_what_it_is() {
    let said = Nexus.describe();
    assert_eq!(
        (said.version.as_str(), &said.backends[..]),
        ("0.7.0", &["cpu".into(), "webgpu".into()][..])
    );
    assert_eq!(said.limits.calibrated, [PAIRS, SLOTS, COLORS]);
    for absent in ["cuda", "metal"] {
        assert!(said.limits.absent_backends[absent].starts_with("not built in: "));
        let result = go(&boxes(1), &Job { backend: absent.into(), ..job(Mode::Probe, 1, 2) });
        let (status, why) = reason(&result);
        assert_eq!(status, Status::Unsupported);
        assert!(
            why.contains("not built in") && why.contains("this build has cpu, webgpu"),
            "{why}"
        );
    }
}

#[test]
fn a_free_body_falls_as_semi_implicit_euler_says() {
    let mut simulation = built(&flying([0.0; 3]));
    simulation.step(256).unwrap();
    let pose = poses(simulation.as_mut())[0];
    // Four substeps a step: n(n+1)/2 · g · dt² with n = 1024 and dt = 1/1024.
    assert!((pose.position[2] - (50.0 - 9.81 * 1025.0 / 2048.0)).abs() < 1e-3, "{pose:?}");
    assert!((pose.position[0] - 1.0).abs() < 1e-4);
    let result = go(&flying([0.0; 3]), &job(Mode::Timed, 3, 256));
    assert_eq!(reason(&result), (Status::Ok, ""));
    assert!(gate(&result, "free_fall").0);
}

#[test]
fn angular_velocity_of_the_scene_is_in_the_world_frame() {
    // About a principal axis, so the spin is steady: half a second at pi/2 rad/s is an eighth of a turn.
    let mut simulation = built(&flying([std::f64::consts::FRAC_PI_2, 0.0, 0.0]));
    simulation.step(128).unwrap();
    let q = poses(simulation.as_mut())[0].orientation;
    let (c, s) = ((std::f64::consts::PI / 8.0).cos(), (std::f64::consts::PI / 8.0).sin());
    let half = std::f64::consts::FRAC_1_SQRT_2;
    let expected = [c * half, s * half, -s * half, c * half];
    for i in 0..4 {
        assert!((q[i] - expected[i]).abs() < 1e-4, "{q:?} is not {expected:?}");
    }
}

#[test]
fn a_stack_of_boxes_stands() {
    let mut bodies: Vec<_> =
        (0..8).map(|i| body(boxed(), 1.0, [0.0, 0.0, 0.25 + 0.5 * f64::from(i)])).collect();
    bodies.push(floor());
    let mut simulation = built(&scene(bodies, false));
    simulation.step(512).unwrap();
    for (i, pose) in poses(simulation.as_mut()).iter().enumerate() {
        // Soft contacts give: each of up to eight by less than 3 mm.
        let height = 0.25 + 0.5 * i as f64;
        assert!((pose.position[2] - height).abs() < 0.024, "box {i}: {pose:?}");
        assert!(pose.upright() > 0.999, "box {i}: {pose:?}");
    }
}

/// A physical pendulum, to the world with and without a static body that can hold it.
#[test]
fn a_hinged_rod_swings_about_its_anchor() {
    let quarter = std::f64::consts::FRAC_1_SQRT_2;
    let mut rod = body(boxed(), 2.0, [0.0, 0.0, 2.0]);
    // Its x is the world's y.
    rod["orientation"] = serde_json::json!([quarter, 0.0, 0.0, quarter]);
    rod["inertia"] = serde_json::json!([0.05, 0.06, 0.07]);
    for held in [vec![rod.clone(), floor()], vec![rod]] {
        let mut swing = scene(held, false);
        swing["hinges"] = serde_json::json!([{
            "body": 0, "anchor": [0.0, 0.5, 2.0], "anchor_local": [0.5, 0.0, 0.0],
            "axis": [1.0, 0.0, 0.0]
        }]);
        let mut simulation = built(&swing);
        simulation.step(16).unwrap();
        let after = poses(simulation.as_mut())[0];
        let anchor = after.transform([0.5, 0.0, 0.0]);
        assert!((anchor[1] - 0.5).abs() < 1e-4 && (anchor[2] - 2.0).abs() < 1e-4, "{anchor:?}");
        // Released level, z falls by r·α·t²/2 at first with α = m g r / (I + m r²): between the substeps'
        // n(n+1)/2 and n²/2 within 2 %.
        let alpha = 2.0 * 9.81 * 0.5 / (0.06 + 2.0 * 0.25);
        let fall = 0.5 * alpha * 64.0 * 65.0 / 2.0 / 1024.0 / 1024.0;
        let got = 2.0 - after.position[2];
        assert!((got / fall - 1.0).abs() < 2e-2, "{got} is not {fall}");
    }
}

#[test]
fn two_runs_and_a_reset_end_in_the_same_bits_on_the_processor() {
    let scene = boxes(12);
    let first = go(&scene, &job(Mode::Timed, 2, 200));
    let second = go(&scene, &job(Mode::Memory, 2, 200));
    assert_eq!(reason(&first), (Status::Ok, ""));
    assert!(first.final_state_digest.is_some());
    assert_eq!(first.final_state_digest, second.final_state_digest);
    let mut warm = built(&scene);
    warm.step(200).unwrap();
    let cold = poses(warm.as_mut());
    warm.reset().unwrap();
    warm.step(200).unwrap();
    assert_eq!(poses(warm.as_mut()), cold);
}

/// P030, P039, P040, P043, P052.
#[test]
fn settings_and_buffers_are_those_of_the_contract() {
    let result = go(&boxes(12), &job(Mode::Timed, 2, 100));
    assert_eq!(reason(&result), (Status::Ok, ""));
    let has = |name: &str| result.settings[name].clone();
    assert_eq!((has("substeps"), has("capacity_policy")), (4.into(), "fixed".into()));
    assert_eq!((has("broad_phase"), has("colliders")), ("brute force".into(), 13.into()));
    assert_eq!((has("sleeping"), has("timestep")), (false.into(), (1.0 / 256.0).into()));
    // 1.5 · 1.25 · 400 in each of two worlds; colours are common to all.
    assert_eq!((has("capacity_pairs"), has("capacity_colors")), (1500.into(), 16.into()));
    assert_eq!(result.counters.simulated_bodies, Some(24));
    // Each box rests on the floor with four points, and meets nothing else.
    assert_eq!(result.counters.contacts, Some(96));
    let pairs = result.counters.buffers[PAIRS];
    assert_eq!((pairs.capacity, pairs.demand), (1500, 24));
    assert_eq!(result.counters.overflow, Some(0));
    assert!(result.counters.buffers[COLORS].demand >= 1);
}

/// P041: nothing is measured without a calibration.
#[test]
fn a_trial_without_a_calibration_is_refused() {
    let result = go(&boxes(1), &Job { calibrated: None, ..job(Mode::Timed, 1, 10) });
    let (status, why) = reason(&result);
    assert_eq!(status, Status::Refused);
    assert!(why.contains("no calibration of this scene"), "{why}");
    assert_eq!(
        reason(&go(&boxes(1), &Job { calibrated: None, ..job(Mode::Probe, 1, 2) })).0,
        Status::Ok
    );
}

/// P034 to P036.
#[test]
fn a_calibration_gives_the_peaks_of_one_world() {
    for worlds in [1, 3] {
        let job = Job { calibrated: None, ..job(Mode::Calibrate, worlds, 40) };
        let result = go(&boxes(30), &job);
        assert_eq!(reason(&result), (Status::Ok, ""));
        let found = result.calibration.unwrap();
        assert_eq!((found.peaks[PAIRS], found.peaks[SLOTS], found.steps), (30, 0, 40));
        // The budget starts at eight, and so few constraints never need more.
        assert_eq!(found.peaks[COLORS], 8);
        assert_eq!(result.settings["capacity_policy"], "grow".into());
    }
}

/// P043: forty balls in one place are 780 pairs, and a floor beside.
#[test]
fn a_buffer_that_is_too_small_fails_the_run() {
    let ball = serde_json::json!({"sphere": {"radius": 0.3}});
    let place = |i: i32| [0.001 * f64::from(i), 0.0, 2.0];
    let mut bodies: Vec<_> = (0..40).map(|i| body(ball.clone(), 1.0, place(i))).collect();
    bodies.push(floor());
    let mut job = job(Mode::Timed, 1, 1);
    let peaks = &mut job.calibrated.as_mut().unwrap().sizes[0].peaks;
    peaks.extend([(PAIRS.into(), 10), (COLORS.into(), 60)]);
    let result = go(&scene(bodies, false), &job);
    let pairs = result.counters.buffers[PAIRS];
    assert_eq!((pairs.capacity, pairs.demand), (64, 780));
    assert_eq!(result.counters.overflow, Some(716));
    let (status, why) = reason(&result);
    assert_eq!(status, Status::Error, "{why}");
    assert!(why.contains("716 contacts or constraints were dropped"), "{why}");
}

/// P044.
#[test]
fn a_capture_reads_the_demand_of_every_step() {
    let (result, folder) = run(&boxes(12), &job(Mode::Capture, 1, 33));
    assert_eq!(reason(&result), (Status::Ok, ""));
    let text = std::fs::read(folder.path().join(CAPACITY_SAMPLES_FILE)).unwrap();
    let samples: CapacitySamples = serde_json::from_slice(&text).unwrap();
    assert_eq!(samples.demands[PAIRS].len(), 33);
    assert_eq!(samples.demands[PAIRS].last(), Some(&12));
    let report = result.capture.unwrap().capacities.unwrap();
    assert_eq!((report.peaks[PAIRS].demand, report.peaks[SLOTS].demand), (12, 0));
}

/// P074: a processor has no clock of its own.
#[test]
fn the_processor_has_no_device_time() {
    let result = go(&boxes(2), &job(Mode::Profile, 1, 10));
    assert!(matches!(result.profile, Some(ProfileReport::None { .. })), "{:?}", result.profile);
}

/// Nexus 0.7.0 on the processor: above 64 colliders an environment its broad phase is a tree that misses
/// pairs, and bodies sink. The gate has to say so; see docs/nexus.md.
#[test]
fn boxes_that_sink_are_caught_by_the_gate() {
    let sound = go(&boxes(60), &job(Mode::Timed, 1, 400));
    assert_eq!(reason(&sound), (Status::Ok, ""));
    assert_eq!(sound.counters.buffers[PAIRS].demand, 60);
    let broken = go(&boxes(100), &job(Mode::Timed, 1, 400));
    assert_eq!(broken.settings["broad_phase"], "LBVH".into());
    let (status, why) = reason(&broken);
    assert_eq!(status, Status::GateFailed, "{why}");
    let (passed, depth) = gate(&broken, "floor_penetration");
    assert!(!passed && depth > 0.15, "{depth}");
    assert!(broken.counters.buffers[PAIRS].demand < 100);
}

#[test]
fn hinged_bodies_that_overlap_are_unsupported() {
    let mut pair = scene(
        vec![body(boxed(), 1.0, [0.0, 0.0, 5.0]), body(boxed(), 1.0, [0.3, 0.0, 5.0])],
        false,
    );
    pair["hinges"] = serde_json::json!([{
        "body": 1, "parent": 0, "anchor": [0.15, 0.0, 5.0], "anchor_local": [-0.15, 0.0, 0.0],
        "axis": [1.0, 0.0, 0.0]
    }]);
    let result = go(&pair, &job(Mode::Timed, 1, 10));
    let (status, why) = reason(&result);
    assert_eq!(status, Status::Unsupported);
    assert!(why.contains("hinge 0 joins bodies 0 and 1"), "{why}");
}
