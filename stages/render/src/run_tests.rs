use super::*;
use serde_json::json;
use sim_engine_protocol::capture::CaptureHeader;
use sim_model::request::{PROTOCOL, StageStatus};
use std::path::PathBuf;

/// A folder with captures being laid out.
struct Bench {
    dir: tempfile::TempDir,
    members: Vec<Member>,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("in/captures")).unwrap();
        Self { dir, members: Vec::new() }
    }

    fn member(&mut self, label: &str, outcome: &str, reason: &str, has_files: bool) -> PathBuf {
        let path = format!("in/captures/{}", self.members.len());
        let folder = self.dir.path().join(&path);
        if has_files {
            fs::create_dir_all(&folder).unwrap();
        }
        self.members.push(Member {
            label: label.into(),
            path: has_files.then_some(path),
            outcome: outcome.into(),
            reason: reason.into(),
            action: None,
        });
        folder
    }

    /// A capture of `bodies` balls in a row, 2 m apart, that fall from `height` m by `drop` m a frame,
    /// 31 frames at 60 a second.
    fn capture(&mut self, engine: &str, bodies: usize, drop: f32, outcome: &str) -> PathBuf {
        self.moving(engine, bodies, [0.0, -drop], outcome)
    }

    /// As [`Bench::capture`], of balls that move by this much along x and z in a frame, m.
    fn moving(&mut self, engine: &str, bodies: usize, by: [f32; 2], outcome: &str) -> PathBuf {
        let label = format!("trial[{engine}]/row/{bodies}x1/r0/capture");
        let folder =
            self.member(&label, outcome, if outcome == "ok" { "" } else { "too deep" }, true);
        let scene = scene(bodies);
        let text = serde_json::to_vec(&scene).unwrap();
        let result = json!({
            "protocol": 1, "engine": {"name": engine, "version": "1"}, "backend": "cpu",
            "precision": "double", "mode": "capture", "outcome": {"status": "ok"},
            "scene": {"name": "row", "digest": blake3::hash(&text).to_hex().to_string(),
                "dynamic_bodies": bodies, "static_bodies": 1, "hinges": 0, "timestep": 1.0 / 240.0},
            "worlds": 1, "steps": 120, "warmup_steps": 0, "threads": 1, "seed": 7, "phases": {},
            "settings": {}, "translation": {"exact": [], "approximated": [], "dropped": []},
            "counters": {}, "gates": [], "final_state_digest": "00",
            "capture": {"file": "capture.bin", "frames": 31, "bodies": bodies, "steps_per_frame": 4,
                "interval_s": 1.0 / 60.0, "final_state": {"status": "same"}},
        });
        let header = CaptureHeader {
            bodies: bodies as u64,
            frames: 31,
            steps_per_frame: 4,
            timestep: 1.0 / 240.0,
        };
        let mut file = header.to_bytes().to_vec();
        for frame in 0..31 {
            for body in 0..bodies {
                let [x, z] = by.map(|d| d * frame as f32);
                let pose = [2.0 * body as f32 + x, 0.0, 20.0 + z, 1.0, 0.0, 0.0, 0.0];
                pose.iter().for_each(|x: &f32| file.extend(x.to_le_bytes()));
            }
        }
        fs::write(folder.join("scene.json"), text).unwrap();
        fs::write(folder.join("result.json"), result.to_string()).unwrap();
        fs::write(folder.join("capture.bin"), file).unwrap();
        folder
    }

    fn render(&self, threads: usize) -> (StatusFile, RenderStatus) {
        let out = self.dir.path().join("out");
        let _ = fs::remove_dir_all(&out);
        fs::create_dir_all(&out).unwrap();
        let status = render(&self.request(), self.dir.path(), threads).unwrap();
        let text = fs::read_to_string(out.join(FILE)).unwrap();
        (status, serde_json::from_str(&text).unwrap())
    }

    fn request(&self) -> Request {
        let args = [("width", 96), ("height", 60), ("frames_per_second", 20)];
        Request {
            protocol: PROTOCOL,
            kind: "render".into(),
            label: "render".into(),
            args: args.into_iter().map(|(k, v)| (k.to_owned(), json!(v))).collect(),
            seed: 7,
            inputs: BTreeMap::from([(
                "captures".to_owned(),
                RequestInput::Many { members: self.members.clone() },
            )]),
            outputs: vec![],
            timeout_s: 120.0,
        }
    }

    fn bytes(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut todo = vec![self.dir.path().join("out")];
        while let Some(dir) = todo.pop() {
            for entry in fs::read_dir(&dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    todo.push(path);
                } else {
                    found.insert(path.clone(), fs::read(&path).unwrap());
                }
            }
        }
        found
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.dir.path().join("out").join(name)).unwrap()
    }
}

fn scene(bodies: usize) -> serde_json::Value {
    let still = json!([0, 0, 0]);
    let body = |kind: &str, shape, mass: f64, position| {
        json!({"kind": kind, "shape": shape, "mass": mass, "inertia": [mass, mass, mass],
            "position": position, "orientation": [1, 0, 0, 0], "linear_velocity": still,
            "angular_velocity": still, "friction": 0.5})
    };
    let floor =
        body("static", json!({"box": {"half_extents": [500, 500, 0.5]}}), 0.0, json!([0, 0, -0.5]));
    let ball =
        |i: usize| body("dynamic", json!({"sphere": {"radius": 0.9}}), 1.0, json!([2 * i, 0, 20]));
    let all: Vec<_> = std::iter::once(floor).chain((0..bodies).map(ball)).collect();
    json!({"format": 1, "name": "row", "gravity": [0, 0, -9.81], "timestep": 1.0 / 240.0, "bodies": all})
}

/// P173: the same captures give the same bytes, whatever the number of threads.
#[test]
fn two_renders_give_the_same_bytes_with_any_number_of_threads() {
    let mut bench = Bench::new();
    for (engine, drop) in [("mujoco", 0.1), ("rapier", 0.12)] {
        bench.capture(engine, 5, drop, "ok");
    }
    bench.render(1);
    let first = bench.bytes();
    assert_eq!(first.len(), 7, "status, and animation, poster and track of each");
    for threads in [1, 3] {
        bench.render(threads);
        assert!(bench.bytes() == first, "{threads} threads");
    }
}

/// P170, P174: one camera and one clock, colours of the engines.
#[test]
fn engines_share_camera_and_clock_and_differ_in_colour() {
    let mut bench = Bench::new();
    for (engine, drop) in [("mujoco", 0.1), ("rapier", 0.6)] {
        bench.capture(engine, 5, drop, "ok");
    }
    let (_, status) = bench.render(2);
    let shown: Vec<&Shown> = status.captures.iter().filter_map(|c| c.shown.as_ref()).collect();
    assert_eq!(shown.len(), 2);
    for s in &shown {
        // Every third frame of sixty a second is twenty a second; the last is frame 30.
        assert_eq!((s.frames, s.bodies, s.rendered_bodies), (11, 5, 5));
        assert!((s.seconds - 0.5).abs() < 1e-12);
        let frames: Vec<_> = webp_animation::Decoder::new(&bench.read(&s.animation))
            .unwrap()
            .into_iter()
            .map(|f| f.timestamp())
            .collect();
        assert_eq!(frames, [50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 1500]);
    }
    let tracks: Vec<_> =
        shown.iter().map(|s| bench.read(&s.track.as_ref().unwrap().file)).collect();
    assert_eq!(tracks[0][56..80], tracks[1][56..80], "eye and target");
    assert_ne!(bench.read(&shown[0].poster), bench.read(&shown[1].poster));
    // Alone, the one that falls less far is looked at from nearer.
    let mut alone = Bench::new();
    alone.capture("mujoco", 5, 0.1, "ok");
    let (_, status) = alone.render(1);
    let track = status.captures[0].shown.as_ref().unwrap().track.as_ref().unwrap();
    assert_ne!(alone.read(&track.file)[56..80], tracks[0][56..80]);
}

/// Bodies that drive away together are in every picture.
#[test]
fn the_camera_goes_with_what_drives_away() {
    // Pixels that are neither sky nor ground, which have next to no colour.
    let coloured = |bench: &Bench, shown: &Shown| {
        let bytes = bench.read(&shown.poster);
        let picture = webp_animation::Decoder::new(&bytes).unwrap().into_iter().next().unwrap();
        let far = |p: &[u8]| p[..3].iter().max().unwrap() - p[..3].iter().min().unwrap() > 60;
        picture.data().chunks_exact(4).filter(|p| far(p)).count()
    };
    let mut bench = Bench::new();
    bench.moving("mujoco", 3, [10.0, 0.0], "ok");
    bench.moving("rapier", 3, [9.0, 0.0], "ok");
    let (_, status) = bench.render(2);
    let shown: Vec<&Shown> = status.captures.iter().filter_map(|c| c.shown.as_ref()).collect();
    for s in &shown {
        assert!(s.camera_follows);
        assert!(coloured(&bench, s) > 500, "{}", coloured(&bench, s));
        assert_eq!(bench.read(&s.track.as_ref().unwrap().file)[80..84], [1, 0, 0, 0]);
    }
    assert_ne!(bench.read(&shown[0].poster), bench.read(&shown[1].poster));
    // What stays is looked at from a place.
    let mut still = Bench::new();
    still.capture("mujoco", 3, 0.1, "ok");
    let (_, status) = still.render(1);
    let s = status.captures[0].shown.as_ref().unwrap();
    assert!(!s.camera_follows);
    assert_eq!(still.read(&s.track.as_ref().unwrap().file)[80..84], [0; 4]);
}

/// P172: what cannot be shown stands in the status with its reason, and stops nothing else.
#[test]
fn failures_are_in_the_status_and_stop_no_other() {
    let mut bench = Bench::new();
    bench.capture("mujoco", 3, 0.1, "ok");
    bench.capture("rapier", 3, 0.1, "gate_failed");
    bench.member("trial[mujoco]/row/9x1/r0/timed", "failed", "crashed", false);
    bench.member(
        "trial[mujoco]/row/9x1/r0/capture",
        "not_run",
        "the timed trial did not pass",
        false,
    );
    let broken = bench.capture("fake", 3, 0.1, "ok");
    let mut file = fs::read(broken.join("capture.bin")).unwrap();
    file.pop();
    fs::write(broken.join("capture.bin"), file).unwrap();
    let (ended, status) = bench.render(2);
    assert_eq!(ended.status, StageStatus::Ok);
    let found: Vec<_> =
        status.captures.iter().map(|c| (c.status, c.reason.as_str(), c.shown.is_some())).collect();
    assert_eq!(
        found,
        [
            (Status::Rendered, "", true),
            (Status::GateFailed, "too deep", true),
            (Status::Absent, "not run: the timed trial did not pass", false),
            (Status::Failed, "capture.bin 31 frames of 3 bodies do not fill 2603 bytes", false),
        ]
    );
    assert_eq!(ended.warnings.len(), 2, "{:?}", ended.warnings);
    // A scene that is not the one that ran.
    let mut bench = Bench::new();
    let folder = bench.capture("mujoco", 3, 0.1, "ok");
    fs::write(folder.join("scene.json"), scene(4).to_string()).unwrap();
    let (_, status) = bench.render(1);
    assert_eq!(status.captures[0].status, Status::Failed);
    assert!(status.captures[0].reason.starts_with("scene.json is "), "{status:?}");
}

#[test]
fn a_stage_without_any_capture_is_an_error() {
    let mut bench = Bench::new();
    bench.member("trial[mujoco]/row/9x1/r0/timed", "ok", "", false);
    fs::create_dir_all(bench.dir.path().join("out")).unwrap();
    let problem = render(&bench.request(), bench.dir.path(), 1).unwrap_err().to_string();
    assert!(problem.contains("no capture is among the 1 inputs"), "{problem}");
}

/// P173, P175: above 2,000 bodies every one is still drawn, and the number is recorded.
#[test]
fn every_body_of_a_large_capture_is_drawn() {
    let mut bench = Bench::new();
    let folder = bench.capture("mujoco", 2500, 0.01, "ok");
    let (_, status) = bench.render(2);
    let shown = status.captures[0].shown.as_ref().unwrap();
    assert_eq!((shown.bodies, shown.rendered_bodies), (2500, 2500));
    assert!(status.renderer_version.starts_with(env!("CARGO_PKG_VERSION")));
    // One that is lost is told of.
    let mut file = fs::read(folder.join("capture.bin")).unwrap();
    let last = file.len() - 28;
    file[last..last + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(folder.join("capture.bin"), file).unwrap();
    let (_, status) = bench.render(2);
    assert_eq!(status.captures[0].shown.as_ref().unwrap().rendered_bodies, 2499);
}
