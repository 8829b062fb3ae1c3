//! The library as an adapter meets it: through its C interface alone.

use sim_engine_protocol::{JobResult, Status};
use sim_python_host::{sim_host_memory, sim_host_reply, sim_host_serve};
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::os::fd::AsRawFd;
use std::path::Path;

const DT: f64 = 1.0 / 240.0;
const DESCRIPTION: &str = r#"{"protocol": 1, "engine": "points", "version": "1", "backends": ["cpu"],
    "precision": "double", "capabilities": {"modes": ["timed", "memory"], "shapes": ["sphere"],
    "hinges": false, "worlds": "serial", "threads": false, "settings": [], "device_timestamps": false,
    "repeatability": {"status": "bitwise"}}, "limits": {}}"#;

/// One point that falls, and what goes wrong with it.
#[derive(Default)]
struct Point {
    z: f64,
    speed: f64,
    steps: Vec<u64>,
    fails: Option<(c_int, c_int, &'static str)>,
    writes_no_pose: bool,
}

thread_local! {
    static POINT: RefCell<Point> = RefCell::default();
}

fn reply(text: &str) {
    // SAFETY: the text lives until the call returns.
    unsafe { sim_host_reply(text.as_ptr(), text.len()) };
}

extern "C" fn call(
    ask: c_int,
    number: u64,
    _: *const u8,
    _: usize,
    out: *mut f64,
    count: usize,
) -> c_int {
    POINT.with_borrow_mut(|p| {
        if let Some((_, code, reason)) = p.fails.filter(|(at, ..)| *at == ask) {
            reply(reason);
            return code;
        }
        match ask {
            0 => reply(DESCRIPTION),
            1 => reply(
                r#"{"settings": {"gravity": 9.81}, "translation": {"exact": ["all"],
                "approximated": [], "dropped": []}}"#,
            ),
            2 => (p.z, p.speed) = (10.0, 0.0),
            3 => {
                p.steps.push(number);
                for _ in 0..number {
                    p.speed -= 9.81 * DT;
                    p.z += p.speed * DT;
                }
            }
            5 if !p.writes_no_pose => {
                assert_eq!(count, 7);
                // SAFETY: there is room for `count` numbers.
                let out = unsafe { std::slice::from_raw_parts_mut(out, count) };
                out.copy_from_slice(&[0.0, 0.0, p.z, 1.0, 0.0, 0.0, 0.0]);
            }
            7 => reply(r#"{"simulated_bodies": 1}"#),
            _ => {}
        }
        0
    })
}

fn serve(words: &[&str], stdout: c_int) -> c_int {
    let words: Vec<CString> = words.iter().map(|w| CString::new(*w).unwrap()).collect();
    let pointers: Vec<*const c_char> = words.iter().map(|w| w.as_ptr()).collect();
    // SAFETY: the words live until the call returns.
    unsafe { sim_host_serve(pointers.as_ptr(), pointers.len(), call, stdout) }
}

fn run(mode: &str, point: Point) -> JobResult {
    let dir = tempfile::tempdir().unwrap();
    let scene = serde_json::json!({
        "format": 1, "name": "fall", "gravity": [0.0, 0.0, -9.81], "timestep": DT,
        "contact_free": true, "reference": "free_fall", "hinges": [],
        "bodies": [{"kind": "dynamic", "shape": {"sphere": {"radius": 0.1}}, "mass": 1.0,
            "inertia": [0.004, 0.004, 0.004], "position": [0.0, 0.0, 10.0],
            "orientation": [1.0, 0.0, 0.0, 0.0], "linear_velocity": [0.0, 0.0, 0.0],
            "angular_velocity": [0.0, 0.0, 0.0], "friction": 0.5}]
    });
    let job = serde_json::json!({"protocol": 1, "mode": mode, "scene": "scene.json", "worlds": 1,
        "steps": 60, "warmup": 90, "threads": 1, "seed": 0, "backend": "cpu"});
    let write = |name: &str, value: &serde_json::Value| {
        std::fs::write(dir.path().join(name), value.to_string()).unwrap();
    };
    write("scene.json", &scene);
    write("job.json", &job);
    POINT.set(point);
    let path = |p: &Path| p.display().to_string();
    let code = serve(&["run", &path(&dir.path().join("job.json")), &path(dir.path())], 1);
    assert_eq!(code, 0);
    let text = std::fs::read_to_string(dir.path().join("result.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The phases are the harness's, the closed form its own: first-order Euler is g·dt·t/2 away after t.
#[test]
fn an_adapter_behind_a_function_is_run_as_any_other() {
    let r = run("timed", Point::default());
    assert_eq!(r.outcome.status, Status::Ok, "{:?}", r.outcome);
    assert!(r.phases.measured_ns.is_some() && r.ms_per_step.is_some());
    assert_eq!(POINT.with_borrow(|p| p.steps.clone()), [90, 60], "warm-up, then the interval");
    let error = r.accuracy[0].error;
    assert!((error - 9.81 * DT * 0.25 / 2.0).abs() < 1e-12, "{error}");
    assert_eq!(r.settings["gravity"], 9.81.into());
    assert_eq!(r.translation.exact, ["all"]);
    let memory = run("memory", Point::default()).memory.expect("a report");
    assert!(memory.metrics[0].peak_bytes.is_some() && memory.snapshots.len() == 5);
}

#[test]
fn what_a_call_says_becomes_the_outcome() {
    for (ask, code, status) in [
        (1, 1, Status::Unsupported),
        (1, 2, Status::Refused),
        (1, 3, Status::OutOfMemory),
        (3, 4, Status::Error),
        (5, 9, Status::Error),
        (7, 4, Status::Error),
    ] {
        let fails = Some((ask, code, "the reason"));
        let r = run("timed", Point { fails, ..Point::default() });
        assert_eq!(r.outcome.status, status);
        assert_eq!(r.outcome.reason.as_deref(), Some("the reason"));
    }
    let r = run("timed", Point { fails: Some((1, 4, "")), ..Point::default() });
    assert_eq!(r.outcome.reason.as_deref(), Some("the adapter gave no reason"));
}

#[test]
fn a_pose_that_is_not_written_is_no_pose() {
    let r = run("timed", Point { writes_no_pose: true, ..Point::default() });
    assert_eq!(r.outcome.status, Status::GateFailed);
    assert!(r.gates.iter().any(|g| g.id == "non_finite" && !g.passed && g.value == 1.0));
}

#[test]
fn descriptions_go_where_they_are_told() {
    let file = tempfile::NamedTempFile::new().unwrap();
    POINT.set(Point::default());
    assert_eq!(serve(&["describe"], file.as_raw_fd()), 0);
    let text = std::fs::read_to_string(file.path()).unwrap();
    assert!(text.contains("\"engine\": \"points\""), "{text}");
    assert_eq!(serve(&["fly"], 1), 2);
    POINT.set(Point { fails: Some((0, 4, "no engine")), ..Point::default() });
    assert_eq!(serve(&["describe"], 1), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn memory_is_that_of_the_process() {
    let (mut current, mut peak) = (0, 0);
    // SAFETY: both may be written.
    assert_eq!(unsafe { sim_host_memory(&mut current, &mut peak) }, 0);
    assert!(current > 100_000 && peak >= current, "{current} {peak}");
}
