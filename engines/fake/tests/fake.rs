//! The fake does what it is told, from outside.

use sim_engine_protocol::{JobResult, SettingValue, Status};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A folder with job, scene (one ball 50 m up, free) and script.
fn folder(script: serde_json::Value) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, v: serde_json::Value| {
        std::fs::write(folder.path().join(name), v.to_string()).unwrap();
    };
    write(
        "scene.json",
        serde_json::json!({
            "format": 1, "name": "drop", "gravity": [0.0, 0.0, -9.81], "timestep": 0.01,
            "contact_free": true, "bodies": [{
                "kind": "dynamic", "shape": {"sphere": {"radius": 0.5}}, "mass": 1.0,
                "inertia": [0.1, 0.1, 0.1], "position": [0.0, 0.0, 50.0],
                "orientation": [1.0, 0.0, 0.0, 0.0], "linear_velocity": [0.0, 0.0, 0.0],
                "angular_velocity": [0.0, 0.0, 0.0], "friction": 0.5
            }]
        }),
    );
    write(
        "job.json",
        serde_json::json!({
            "protocol": 1, "mode": "timed", "scene": "scene.json", "worlds": 2, "steps": 100,
            "warmup": 0, "threads": 1, "seed": 0, "backend": "cpu"
        }),
    );
    write("fake.json", script);
    std::fs::create_dir(folder.path().join("out")).unwrap();
    folder
}

fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sim-engine-fake"));
    command.arg("run").arg(folder.join("job.json")).arg(folder.join("out"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn run(script: serde_json::Value) -> (ExitStatus, TempDir) {
    let folder = folder(script);
    let status = command(folder.path()).status().unwrap();
    (status, folder)
}

fn behaviour(name: &str) -> serde_json::Value {
    serde_json::json!({ "behaviour": name })
}

fn result(folder: &TempDir) -> JobResult {
    let text = std::fs::read(folder.path().join("out/result.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

#[test]
fn it_falls_as_the_closed_form_says() {
    let (status, folder) = run(behaviour("succeed"));
    assert!(status.success());
    let result = result(&folder);
    assert_eq!((result.outcome.status, result.contradictions()), (Status::Ok, Ok(())));
    let text = std::fs::read_to_string(folder.path().join("out/final.json")).unwrap();
    let last: serde_json::Value = serde_json::from_str(&text).unwrap();
    // 50 - 9.81 · 0.01² · 100 · 101 / 2.
    let z = last["poses"][0]["position"][2].as_f64().unwrap();
    assert!((z - 45.045_95).abs() < 1e-9, "{z}");
}

#[test]
fn lies_contradict_themselves_or_the_honest_run() {
    let honest = result(&run(behaviour("succeed")).1);
    for (lie, path) in [("lie_elapsed", "ms_per_step"), ("lie_gate", "gates[4].passed")] {
        let problems = result(&run(behaviour(lie)).1).contradictions().unwrap_err();
        assert_eq!(problems[0].path, path);
    }
    let digest = result(&run(behaviour("lie_digest")).1).final_state_digest;
    assert_ne!(digest, honest.final_state_digest);
}

#[test]
fn failures_inside_the_engine_are_outcomes() {
    let expected = [
        ("wrong_physics", Status::GateFailed),
        ("panic", Status::Error),
        ("unsupported", Status::Unsupported),
        ("out_of_memory", Status::OutOfMemory),
    ];
    for (name, outcome) in expected {
        let (status, folder) = run(behaviour(name));
        assert!(status.success(), "{name}");
        assert_eq!(result(&folder).outcome.status, outcome);
    }
}

#[test]
fn bad_files_are_bad() {
    for name in ["nan", "truncated"] {
        let (status, folder) = run(behaviour(name));
        assert!(status.success());
        let text = std::fs::read(folder.path().join("out/result.json")).unwrap();
        assert!(serde_json::from_slice::<JobResult>(&text).is_err(), "{name}");
    }
    let (_, folder) = run(behaviour("undeclared"));
    assert!(folder.path().join("out/surprise/deep/file").exists());
    let (_, folder) = run(behaviour("links"));
    let link = std::fs::read_link(folder.path().join("out/absolute")).unwrap();
    assert_eq!(link, Path::new("/etc/passwd"));
}

#[test]
fn ends_without_an_answer() {
    use std::os::unix::process::ExitStatusExt;
    let (status, folder) = run(behaviour("silent"));
    assert!(status.success() && !folder.path().join("out/result.json").exists());
    assert_eq!(run(behaviour("exit_code")).0.code(), Some(3));
    assert_eq!(run(behaviour("crash")).0.signal(), Some(libc::SIGSEGV));
    assert_eq!(run(serde_json::json!({"behavior": "typo"})).0.code(), Some(1));
}

#[test]
fn a_hang_heeds_term_unless_told_not_to() {
    for (name, deaf) in [("hang", false), ("ignore_term", true)] {
        let folder = folder(serde_json::json!({"behaviour": name, "seconds": 3}));
        let mut child = command(folder.path()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(300));
        // SAFETY: the id is that of a child of this test that was not waited for yet.
        unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(child.try_wait().unwrap().is_none(), deaf, "{name}");
        let clock = Instant::now();
        child.wait().unwrap();
        assert!(clock.elapsed() < Duration::from_secs(5));
    }
}

#[test]
fn a_child_is_left_behind_and_a_grandchild_takes_memory() {
    let (status, folder) = run(serde_json::json!({"behaviour": "leave_child", "seconds": 1}));
    assert!(status.success());
    assert_eq!(result(&folder).outcome.status, Status::Ok);
    let clock = Instant::now();
    let script =
        serde_json::json!({"behaviour": "grandchild_memory", "seconds": 1, "megabytes": 8});
    assert_eq!(run(script).0.code(), Some(1));
    assert!(clock.elapsed() >= Duration::from_millis(900));
}

#[test]
fn the_log_is_flooded_and_the_network_is_tried() {
    let folder = folder(serde_json::json!({"behaviour": "flood", "megabytes": 3}));
    let output = command(folder.path()).stdout(Stdio::piped()).output().unwrap();
    assert!((2_900_000..=3_000_000).contains(&output.stdout.len()), "{}", output.stdout.len());
    // A listener of our own is reachable; nothing listens on port 1.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let here = listener.local_addr().unwrap().to_string();
    for (address, expected) in [(here.as_str(), "reached"), ("127.0.0.1:1", "blocked")] {
        let script = serde_json::json!({"behaviour": "network", "address": address});
        let settings = result(&run(script).1).settings;
        assert_eq!(settings["network"], SettingValue::Text(expected.into()));
    }
}

#[test]
fn a_robot_is_unsupported_and_said_to_be() {
    let folder = folder(behaviour("succeed"));
    let scene = serde_json::json!({
        "format": 2, "name": "robot", "gravity": [0.0, 0.0, -9.81], "timestep": 0.01,
        "bodies": [{
            "kind": "static", "shape": {"box": {"half_extents": [9.0, 9.0, 0.5]}}, "mass": 0.0,
            "inertia": [0.0, 0.0, 0.0], "position": [0.0, 0.0, -0.5],
            "orientation": [1.0, 0.0, 0.0, 0.0], "linear_velocity": [0.0, 0.0, 0.0],
            "angular_velocity": [0.0, 0.0, 0.0], "friction": 0.5
        }],
        "robot": {
            "name": "toy", "model": "<mujoco/>", "standing_height": 1.0,
            "source": {"package": "toys", "version": "1", "file": "toys-1.whl",
                "sha256": "0".repeat(64), "model": "toy.xml", "licence": "MIT", "changes": []},
            "links": [{"name": "base", "mass": 1.0, "position": [0.0, 0.0, 0.5],
                "orientation": [1.0, 0.0, 0.0, 0.0], "shapes": []}]
        }
    });
    std::fs::write(folder.path().join("scene.json"), scene.to_string()).unwrap();
    assert!(command(folder.path()).status().unwrap().success());
    let outcome = result(&folder).outcome;
    assert_eq!((outcome.status, outcome.reason.as_deref()), (Status::Unsupported, Some("robots")));
}
