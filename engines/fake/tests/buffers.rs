//! Buffers of fixed size, through the harness: calibrations, capacities, what found no room.

use sim_engine_fake::{Crowd, PAIRS, PointMass};
use sim_engine_harness::run_job;
use sim_engine_protocol::{
    BufferUse, CAPACITY_SAMPLES_FILE, CapacitySamples, Job, JobResult, Mode, Status,
};
use std::collections::BTreeMap;
use tempfile::TempDir;

/// One ball 50 m up.
fn scene() -> serde_json::Value {
    serde_json::json!({
        "format": 1, "name": "drop", "gravity": [0.0, 0.0, -9.81], "timestep": 0.01,
        "contact_free": true, "bodies": [{
            "kind": "dynamic", "shape": {"sphere": {"radius": 0.5}}, "mass": 1.0,
            "inertia": [0.1, 0.1, 0.1], "position": [0.0, 0.0, 50.0],
            "orientation": [1.0, 0.0, 0.0, 0.0], "linear_velocity": [0.0, 0.0, 0.0],
            "angular_velocity": [0.0, 0.0, 0.0], "friction": 0.5
        }]
    })
}

fn run(
    crowd: Option<Crowd>,
    mode: Mode,
    worlds: u32,
    calibrated: Option<serde_json::Value>,
) -> (JobResult, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("scene.json"), scene().to_string()).unwrap();
    let mut job = serde_json::json!({
        "protocol": 1, "mode": mode, "scene": "scene.json", "worlds": worlds, "steps": 10,
        "warmup": 0, "threads": 1, "seed": 0, "backend": "cpu"
    });
    if let Some(calibrated) = calibrated {
        job["calibrated"] = calibrated;
    }
    let job: Job = serde_json::from_value(job).unwrap();
    let engine = PointMass { room: crowd, ..PointMass::default() };
    let result = run_job(&engine, &job, folder.path(), folder.path());
    assert_eq!(result.contradictions(), Ok(()));
    (result, folder)
}

fn sizes(size: u64, peaks: &[(u64, u64)]) -> Option<serde_json::Value> {
    let sizes: Vec<_> = peaks
        .iter()
        .map(|(size, peak)| serde_json::json!({"size": size, "peaks": {PAIRS: peak}}))
        .collect();
    Some(serde_json::json!({"size": size, "sizes": sizes}))
}

fn reason(result: &JobResult) -> (Status, &str) {
    (result.outcome.status, result.outcome.reason.as_deref().unwrap_or_default())
}

/// P035: in one world, whatever their number, and no sample of anything else.
#[test]
fn a_calibration_gives_the_peaks_of_one_world() {
    for worlds in [1, 3] {
        let (result, folder) = run(Some(Crowd::AtTheEnd), Mode::Calibrate, worlds, None);
        assert_eq!(reason(&result), (Status::Ok, ""));
        let found = result.calibration.unwrap();
        assert_eq!((found.peaks, found.steps), (BTreeMap::from([(PAIRS.to_owned(), 4)]), 10));
        assert!(result.gates.is_empty() && result.final_state_digest.is_none());
        assert!(!folder.path().join("final.json").exists());
    }
    let (result, _) = run(None, Mode::Calibrate, 1, None);
    assert_eq!(reason(&result), (Status::Unsupported, "mode calibrate"));
}

/// P041.
#[test]
fn a_trial_without_a_calibration_that_serves_it_is_refused() {
    let refused = |calibrated| {
        let (result, _) = run(Some(Crowd::Never), Mode::Timed, 1, calibrated);
        assert_eq!(result.phases.setup_ns, None, "nothing was built");
        let (status, why) = reason(&result);
        assert_eq!(status, Status::Refused);
        why.to_owned()
    };
    assert!(refused(None).contains("no calibration of this scene"));
    let above = refused(sizes(7, &[(1, 4), (6, 4)]));
    assert!(above.contains("size 7") && above.contains("ends at 6"), "{above}");
    let other = serde_json::json!({"size": 1, "sizes": [{"size": 1, "peaks": {"slots": 1}}]});
    assert_eq!(refused(Some(other)), "the calibration of size 1 has no pairs");
    // A probe is of two steps, and asks whether there is an engine at all.
    let (probe, _) = run(Some(Crowd::Never), Mode::Probe, 1, None);
    assert_ne!(probe.outcome.status, Status::Refused);
}

/// P038, P043.
#[test]
fn capacities_follow_from_the_smallest_size_that_serves_and_the_demand_is_read_at_the_end() {
    let (result, _) = run(Some(Crowd::Never), Mode::Timed, 3, sizes(5, &[(1, 2), (5, 4), (9, 50)]));
    assert_eq!(reason(&result), (Status::Ok, ""));
    // Twice the peak of 4, in each of three worlds; the tenth step asks for one pair a world.
    let expected = BufferUse { capacity: 24, demand: 3 };
    assert_eq!(result.counters.buffers[PAIRS], expected);
    assert_eq!(result.counters.overflow, Some(0));
}

/// P043.
#[test]
fn a_final_step_without_room_fails_the_trial() {
    let (result, _) = run(Some(Crowd::AtTheEnd), Mode::Timed, 2, sizes(1, &[(1, 4)]));
    let (status, why) = reason(&result);
    // 10 pairs a world of 8.
    assert_eq!((status, result.counters.overflow), (Status::Error, Some(4)));
    assert!(why.contains("4 contacts or constraints were dropped"), "{why}");
}

/// P044.
#[test]
fn a_capture_keeps_the_demand_of_every_step() {
    let samples = |folder: &TempDir| -> CapacitySamples {
        let text = std::fs::read(folder.path().join(CAPACITY_SAMPLES_FILE)).unwrap();
        serde_json::from_slice(&text).unwrap()
    };
    let (result, folder) = run(Some(Crowd::Never), Mode::Capture, 3, sizes(1, &[(1, 4)]));
    assert_eq!(reason(&result), (Status::Ok, ""));
    let report = result.capture.unwrap().capacities.unwrap();
    assert_eq!(report.peaks[PAIRS], BufferUse { capacity: 8, demand: 4 });
    assert_eq!(samples(&folder).demands[PAIRS], [1, 1, 1, 4, 1, 1, 1, 4, 1, 1]);
    // One step in the middle without room; the last has enough.
    let (result, folder) = run(Some(Crowd::Briefly), Mode::Capture, 1, sizes(1, &[(1, 4)]));
    let (status, why) = reason(&result);
    assert_eq!(status, Status::Error);
    assert!(why.contains("a step asked for 10 pairs of 8"), "{why}");
    assert_eq!(samples(&folder).demands[PAIRS][4], 10);
}
