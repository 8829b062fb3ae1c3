use super::*;
use crate::engine::Profiled;
use sim_engine_protocol::GpuMemory;
use sim_engine_protocol::{
    ActivityKind, Body, BodyKind, Capabilities, Combine, DEVICE_SAMPLES_FILE,
    DEVICE_SAMPLES_FORMAT, DeviceEvent, DeviceLabel, DeviceSamples, Limits, Pose, Precision,
    Repeatability, SCENE_FORMAT, StateComparison, Velocity,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Calls in order, so the tests can see the phases.
type Log = Rc<RefCell<Vec<String>>>;

/// One falling ball, and a script of what goes wrong.
#[derive(Clone, Default)]
struct Toy {
    log: Log,
    panics: bool,
    refuses: Option<EngineError>,
    sleeps: bool,
    /// Ends elsewhere every time, and says so.
    varies: bool,
    /// Says that it simulates material points.
    points: bool,
    /// What its device's clock gives.
    clock: Option<Result<(), &'static str>>,
}

struct Ball {
    toy: Toy,
    worlds: u32,
    scene: Scene,
    z: f64,
    v: f64,
}

impl Engine for Toy {
    fn describe(&self) -> Description {
        let modes = [Mode::Timed, Mode::Memory, Mode::Capture, Mode::Probe, Mode::Profile];
        Description {
            protocol: PROTOCOL,
            engine: "toy".into(),
            version: "1.2.3".into(),
            backends: vec!["cpu".into(), "device".into()],
            precision: Precision::Double,
            capabilities: Capabilities {
                modes: modes.to_vec(),
                shapes: vec![if self.points { "box" } else { "sphere" }.into()],
                hinges: false,
                robots: false,
                mpm: self.points,
                worlds: "serial".into(),
                threads: false,
                settings: vec![],
                device_timestamps: self.clock.is_some(),
                repeatability: if self.varies {
                    Repeatability::Varies { reason: "it is a toy".into() }
                } else {
                    Repeatability::Bitwise
                },
            },
            limits: Limits { worlds: Some(8), ..Limits::default() },
        }
    }

    fn build(&self, scene: &Scene, job: &Job) -> Result<Box<dyn Simulation>, EngineError> {
        self.log.borrow_mut().push("build".into());
        if let Some(refusal) = &self.refuses {
            return Err(refusal.clone());
        }
        let (toy, scene) = (self.clone(), scene.clone());
        Ok(Box::new(Ball { toy, worlds: job.worlds, scene, z: 0.0, v: 0.0 }))
    }
}

impl Simulation for Ball {
    fn reset(&mut self) -> Result<(), EngineError> {
        self.toy.log.borrow_mut().push("reset".into());
        (self.z, self.v) = (self.scene.bodies[0].position[2], 0.0);
        Ok(())
    }

    fn step(&mut self, steps: u64) -> Result<(), EngineError> {
        self.toy.log.borrow_mut().push(format!("step {steps}"));
        assert!(!self.toy.panics, "the toy broke");
        for _ in 0..steps {
            self.v += self.scene.gravity[2] * self.scene.timestep;
            self.z += self.v * self.scene.timestep;
        }
        Ok(())
    }

    fn profile(&mut self, steps: u64) -> Result<Profiled, EngineError> {
        self.step(steps)?;
        if let Some(Err(why)) = self.toy.clock {
            return Ok(Profiled::Unavailable(why.to_owned()));
        }
        let event = |stream: u32, start: u64| DeviceEvent {
            label: 0,
            stream,
            start_ns: Some(start),
            duration_ns: 2_000,
        };
        Ok(Profiled::Samples(Box::new(DeviceSamples {
            format: DEVICE_SAMPLES_FORMAT,
            device: "toy".into(),
            method: "counting".into(),
            scope: "all of it".into(),
            combine: Combine::Union,
            labels: vec![DeviceLabel { name: "fall".into(), kind: ActivityKind::Kernel }],
            steps: (0..steps)
                .map(|i| vec![event(0, i * 10_000), event(1, i * 10_000 + 1_000)])
                .collect(),
            buffer: None,
        })))
    }

    fn poses(&mut self, _world: u32, out: &mut Vec<Pose>) -> Result<(), EngineError> {
        self.toy.log.borrow_mut().push("poses".into());
        out.push(Pose { position: [0.0, 0.0, self.z], orientation: [1.0, 0.0, 0.0, 0.0] });
        Ok(())
    }

    fn velocities(&mut self, _: u32, out: &mut Vec<Velocity>) -> Result<(), EngineError> {
        out.push(Velocity { linear: [0.0, 0.0, self.v], angular: [0.0; 3] });
        Ok(())
    }

    fn counters(&self) -> Counters {
        let awake = if self.toy.sleeps { 0 } else { u64::from(self.worlds) };
        Counters { awake_bodies: Some(awake), ..Counters::default() }
    }

    fn settings(&self) -> BTreeMap<String, sim_engine_protocol::SettingValue> {
        BTreeMap::from([("integrator".into(), "semi-implicit Euler".into())])
    }

    fn translation(&self) -> Translation {
        Translation::default()
    }
}

fn scene() -> Scene {
    Scene {
        format: SCENE_FORMAT,
        name: "drop".into(),
        gravity: [0.0, 0.0, -10.0],
        timestep: 0.25,
        contact_free: true,
        bodies: vec![Body {
            name: None,
            kind: BodyKind::Dynamic,
            shape: Shape::Sphere { radius: 0.5 },
            mass: 1.0,
            inertia: [0.1; 3],
            position: [0.0, 0.0, 64.0],
            orientation: [1.0, 0.0, 0.0, 0.0],
            linear_velocity: [0.0; 3],
            angular_velocity: [0.0; 3],
            friction: 0.5,
        }],
        hinges: vec![],
        reference: Some(sim_engine_protocol::Reference::FreeFall),
        robot: None,
        mpm: None,
    }
}

fn job(mode: Mode) -> Job {
    serde_json::from_value(serde_json::json!({
        "protocol": 1, "mode": mode, "scene": "scene.json", "worlds": 3, "steps": 8,
        "warmup": 5, "threads": 1, "seed": 7, "backend": "cpu", "capture_interval_s": 0.5
    }))
    .unwrap()
}

/// The result, and the folder it was made in.
fn go(toy: &Toy, job: &Job) -> (JobResult, tempfile::TempDir) {
    go_with(toy, job, memory::read)
}

fn go_with(toy: &Toy, job: &Job, counters: Reader) -> (JobResult, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let text = serde_json::to_vec(&scene()).unwrap();
    std::fs::write(folder.path().join("scene.json"), text).unwrap();
    let result = run_with(toy, job, folder.path(), folder.path(), counters);
    assert_eq!(result.contradictions(), Ok(()), "{result:?}");
    (result, folder)
}

/// P204, P205: an adapter that does not say that it simulates material points is not asked to.
#[test]
fn material_points_are_for_engines_that_have_them_and_for_one_world() {
    let folder = tempfile::tempdir().unwrap();
    let text = serde_json::to_vec(&crate::mpm::tests::scene()).unwrap();
    std::fs::write(folder.path().join("scene.json"), text).unwrap();
    let toy = Toy::default();
    let go = |toy: &Toy, worlds| {
        let job = Job { worlds, ..job(Mode::Timed) };
        run_with(toy, &job, folder.path(), folder.path(), memory::read).outcome
    };
    let said = go(&toy, 1);
    let reason = said.reason.unwrap();
    assert_eq!((said.status, reason.as_str()), (Status::Unsupported, "material points (MPM)"));
    let reason = go(&Toy { points: true, ..toy }, 3).reason.unwrap();
    assert_eq!(reason, "job: worlds = 3: material points are run in one world");
}

#[test]
fn a_timed_run_goes_through_the_phases_in_order() {
    let toy = Toy::default();
    let (result, folder) = go(&toy, &job(Mode::Timed));
    assert_eq!(result.outcome, Outcome { status: Status::Ok, reason: None });
    let order = ["build", "reset", "step 8", "reset", "step 8", "poses", "poses", "poses"];
    assert_eq!(*toy.log.borrow(), order);
    let p = result.phases;
    assert!(p.load_ns.and(p.setup_ns).and(p.warmup_ns).and(p.reset_ns).is_some());
    let measured = p.measured_ns.unwrap() as f64;
    assert_eq!(result.ms_per_step, Some(measured * 1e-9 * 1000.0 / 8.0));
    // Eight steps of a quarter second: 64 - 10/16 · 36 m.
    let text = std::fs::read_to_string(folder.path().join("final.json")).unwrap();
    let last: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(last["poses"][0]["position"][2], 41.5);
    assert_eq!(result.steps, 8);
    assert_eq!(result.gates.iter().find(|g| g.id == "free_fall").unwrap().value, 2.5);
    let bytes = std::fs::read(folder.path().join("scene.json")).unwrap();
    assert_eq!(result.scene.unwrap().digest, blake3::hash(&bytes).to_hex().to_string());
}

#[test]
fn the_warm_up_is_longer_where_asked() {
    let toy = Toy::default();
    let (result, _folder) = go(&toy, &Job { warmup: 20, ..job(Mode::Timed) });
    assert_eq!(result.warmup_steps, 20);
    assert_eq!(toy.log.borrow()[2..5], ["step 20", "reset", "step 8"]);
}

#[test]
fn a_memory_run_has_five_snapshots_and_no_sample() {
    let (result, _folder) = go(&Toy::default(), &job(Mode::Memory));
    assert_eq!(result.phases.measured_ns, None);
    assert_eq!((result.ms_per_step, result.world_steps_per_second), (None, None));
    let memory = result.memory.unwrap();
    let phases: Vec<_> = memory.snapshots.iter().map(|s| s.phase).collect();
    use SnapshotPhase::*;
    assert_eq!(phases, [BeforeSetup, AfterSetup, AfterWarmup, AfterReset, AfterRollout]);
    assert_eq!(memory.completed_steps, 8);
    assert_eq!(result.gpu_memory, Some(GpuMemory::NotApplicable));
    let (timed, _folder) = go(&Toy::default(), &job(Mode::Timed));
    assert_eq!(result.final_state_digest, timed.final_state_digest);
}

/// P116: the result stands without the one metric whose counter broke, whether it broke at once or
/// in the middle.
#[test]
fn a_counter_that_breaks_costs_its_own_metric_only() {
    let broken: Reader = || Err("/proc/self/status has no VmRSS".into());
    let once: Reader = || {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        match CALLS.fetch_add(1, Ordering::SeqCst) {
            2 => Err("VmHWM is \"12 pages\"".into()),
            _ => memory::read(),
        }
    };
    let whole = go(&Toy::default(), &job(Mode::Memory)).0;
    for (reader, reason) in [(broken, "has no VmRSS"), (once, "12 pages")] {
        let result = go_with(&Toy::default(), &job(Mode::Memory), reader).0;
        assert_eq!(result.outcome, whole.outcome);
        assert_eq!((result.steps, &result.gates), (whole.steps, &whole.gates));
        assert_eq!(result.final_state_digest, whole.final_state_digest);
        assert_eq!(result.gpu_memory, whole.gpu_memory);
        assert!(result.phases.setup_ns.is_some() && result.phases.readback_ns.is_some());
        let memory = result.memory.unwrap();
        assert_eq!(memory.snapshots.len(), 5);
        let ram = &memory.metrics[0];
        assert!(ram.unavailable.as_ref().unwrap().contains(reason), "{ram:?}");
        assert_eq!((ram.peak_bytes, ram.sampled_peak_bytes), (None, None));
    }
}

#[test]
fn a_capture_holds_world_0_at_its_cadence() {
    let toy = Toy::default();
    let (result, folder) = go(&toy, &Job { steps: 7, ..job(Mode::Capture) });
    assert_eq!(toy.log.borrow().iter().filter(|l| l.starts_with("step")).count(), 4);
    assert_eq!((result.worlds, result.steps, result.capture.unwrap().frames), (1, 7, 4));
    let bytes = std::fs::read(folder.path().join("capture.bin")).unwrap();
    let capture = sim_engine_protocol::capture::Capture::read(&bytes).unwrap();
    assert_eq!(capture.header.steps_per_frame, 2);
    let heights: Vec<_> = (0..4).map(|f| capture.frame(f).next().unwrap()[2]).collect();
    // 64 - 10/16 · n(n+1)/2 after n = 0, 2, 4, 6 steps.
    assert_eq!(heights, [64.0, 62.125, 57.75, 50.875]);
    assert!(!folder.path().join("capture.bin.part").exists());
}

/// P171, P067: the capture shows the run that was timed, or says that it does not.
#[test]
fn a_capture_ends_where_the_timed_run_ended_or_says_so() {
    let toy = Toy::default();
    let timed = go(&toy, &job(Mode::Timed)).0;
    let state = timed.world0_state_digest.clone();
    assert_ne!(state, timed.final_state_digest, "three worlds have another digest than one");
    let replay = |toy: &Toy, state: Option<String>| {
        let (result, _folder) = go(toy, &Job { timed_state: state, ..job(Mode::Capture) });
        assert_eq!(result.world0_state_digest, result.final_state_digest);
        let gates = result.gates.iter().map(|g| g.id.clone()).collect::<Vec<_>>();
        assert_eq!(gates, timed.gates.iter().map(|g| g.id.clone()).collect::<Vec<_>>());
        (result.outcome.status, result.outcome.reason, result.capture.unwrap().final_state)
    };
    assert_eq!(replay(&toy, state), (Status::Ok, None, StateComparison::Same));
    let other = Some("0".repeat(64));
    let (status, reason, _) = replay(&toy, other.clone());
    assert_eq!(status, Status::Error);
    assert!(reason.unwrap().contains("says that runs repeat bit for bit"));
    let varies = Toy { varies: true, ..Toy::default() };
    let differs = StateComparison::Differs { reason: "it is a toy".into() };
    assert_eq!(replay(&varies, other), (Status::Ok, None, differs));
    assert!(matches!(replay(&toy, None).2, StateComparison::NotCompared { .. }));
}

#[test]
fn a_probe_takes_two_steps_and_a_profile_none() {
    let toy = Toy::default();
    let (result, _folder) = go(&toy, &job(Mode::Probe));
    assert_eq!((result.steps, result.worlds), (2, 1));
    assert_eq!(*toy.log.borrow(), ["build", "reset", "step 2", "poses"]);
    let toy = Toy::default();
    let (result, _folder) = go(&toy, &job(Mode::Profile));
    assert_eq!(result.profile.unwrap().capability(), "none");
    assert!(toy.log.borrow().is_empty());
    assert_eq!(result.phases, Phases::default());
    assert_eq!((result.steps, result.ms_per_step, result.final_state_digest), (0, None, None));
    // Nor does a device whose clock the adapter does not read.
    let device = Job { backend: "device".into(), ..job(Mode::Profile) };
    let (result, _folder) = go(&toy, &device);
    assert_eq!(result.profile.unwrap().capability(), "none");
    assert!(toy.log.borrow().is_empty());
}

/// P070, P072: a profile replay warms up and resets on its own and passes the gates; P091: what cannot
/// be had is said, and no time stands in for it.
#[test]
fn a_profile_of_a_device_is_a_whole_rollout() {
    let device = Job { backend: "device".into(), ..job(Mode::Profile) };
    let toy = Toy { clock: Some(Ok(())), ..Toy::default() };
    let (result, folder) = go(&toy, &device);
    assert_eq!(result.outcome.status, Status::Ok, "{:?}", result.outcome);
    assert_eq!(
        *toy.log.borrow(),
        ["build", "reset", "step 8", "reset", "step 8", "poses", "poses", "poses"]
    );
    assert_eq!(result.contradictions(), Ok(()));
    assert_eq!((result.steps, result.warmup_steps), (8, 8));
    assert_eq!((result.phases.measured_ns, result.ms_per_step), (None, None), "no sample");
    assert!(!result.gates.is_empty() && result.final_state_digest.is_some());
    let Some(ProfileReport::Timestamps(time)) = &result.profile else { panic!("{result:?}") };
    // Eight steps of 2 µs on each of two streams, half of it at once.
    assert_eq!((time.sum_ns, time.union_ns, time.overlap_ns), (32_000, Some(24_000), Some(8_000)));
    let file = std::fs::read(folder.path().join(DEVICE_SAMPLES_FILE)).unwrap();
    let samples: DeviceSamples = serde_json::from_slice(&file).unwrap();
    assert_eq!(samples.time(8).as_ref(), Ok(time));

    let toy = Toy { clock: Some(Err("no right to profile")), ..Toy::default() };
    let (result, folder) = go(&toy, &device);
    assert_eq!(result.outcome.status, Status::Ok);
    let reason = "no right to profile".to_owned();
    assert_eq!(result.profile, Some(ProfileReport::Unavailable { reason }));
    assert!(!folder.path().join(DEVICE_SAMPLES_FILE).exists());
}

#[test]
fn what_goes_wrong_becomes_an_outcome() {
    let outcome = |toy: Toy, job: Job| {
        let (result, _folder) = go(&toy, &job);
        (result.outcome.status, result.outcome.reason.unwrap_or_default())
    };
    let (status, reason) = outcome(Toy { panics: true, ..Toy::default() }, job(Mode::Timed));
    assert_eq!((status, reason.as_str()), (Status::Error, "panic in the adapter: the toy broke"));
    let refuses = Some(EngineError::out_of_memory("no room for 1e9 rows"));
    let (status, reason) = outcome(Toy { refuses, ..Toy::default() }, job(Mode::Timed));
    assert_eq!((status, reason.as_str()), (Status::OutOfMemory, "no room for 1e9 rows"));
    let (status, reason) = outcome(Toy { sleeps: true, ..Toy::default() }, job(Mode::Timed));
    assert_eq!(status, Status::GateFailed);
    assert!(reason.starts_with("asleep is 3 bodies"), "{reason}");
    let toy = Toy::default;
    assert_eq!(outcome(toy(), job(Mode::Calibrate)).0, Status::Unsupported);
    let cuda = Job { backend: "cuda".into(), ..job(Mode::Timed) };
    assert_eq!(outcome(toy(), cuda).0, Status::Unsupported);
    assert_eq!(outcome(toy(), Job { worlds: 9, ..job(Mode::Timed) }).0, Status::Refused);
    let (status, reason) = outcome(toy(), Job { scene: "none.json".into(), ..job(Mode::Timed) });
    assert!(status == Status::Error && reason.contains("none.json"), "{reason}");
    let (status, reason) = outcome(toy(), Job { scene: "../x".into(), ..job(Mode::Timed) });
    assert!(status == Status::Error && reason.contains("below the job's folder"), "{reason}");
}
