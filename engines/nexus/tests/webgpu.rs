//! The adapter on WebGPU. Where there is no driver it has to say so; where there is one, compiling the shaders
//! takes minutes on a processor, so what runs is asked for: `SIM_NEXUS_WEBGPU=1`.

mod common;

use common::{boxes, go, job};
use sim_engine_protocol::{Job, Mode, ProfileReport, Status};

fn on_webgpu(job: Job) -> Job {
    Job { backend: "webgpu".into(), ..job }
}

fn asked() -> bool {
    let asked = std::env::var_os("SIM_NEXUS_WEBGPU").is_some();
    if !asked {
        eprintln!("left out: SIM_NEXUS_WEBGPU is not set");
    }
    asked
}

/// With no driver that Vulkan can find, nothing else may answer. Alone in its process for the variables.
#[test]
fn without_a_driver_nothing_answers_in_its_place() {
    let program = env!("CARGO_BIN_EXE_sim-adapter-nexus");
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    write("scene.json", boxes(1).to_string());
    write("job.json", serde_json::to_string(&on_webgpu(job(Mode::Probe, 1, 2))).unwrap());
    let status = std::process::Command::new(program)
        .arg("run")
        .arg(folder.path().join("job.json"))
        .arg(folder.path())
        .env("VK_DRIVER_FILES", "/nonexistent/driver.json")
        .env("VK_ICD_FILENAMES", "/nonexistent/driver.json")
        .status()
        .unwrap();
    assert!(status.success());
    let text = std::fs::read_to_string(folder.path().join("result.json")).unwrap();
    let result: sim_engine_protocol::JobResult = serde_json::from_str(&text).unwrap();
    assert_eq!(result.outcome.status, Status::Unsupported, "{:?}", result.outcome);
    assert!(result.outcome.reason.unwrap().starts_with("no device for WebGPU: "));
}

/// The boxes that sink on the processor rest on the floor, and P083: every step has its passes.
#[test]
fn boxes_rest_and_every_step_has_device_time() {
    if !asked() {
        return;
    }
    let rest = go(&boxes(100), &on_webgpu(job(Mode::Timed, 1, 60)));
    assert_eq!(rest.outcome.status, Status::Ok, "{:?}", rest.outcome);
    assert_eq!(rest.counters.contacts, Some(400));
    let result = go(&boxes(4), &on_webgpu(job(Mode::Profile, 1, 20)));
    assert_eq!(result.outcome.status, Status::Ok, "{:?}", result.outcome);
    match result.profile {
        Some(ProfileReport::Timestamps(time)) => {
            assert!(time.steps == 20 && time.events >= 20 * 20 && time.ms_per_step > 0.0);
            assert!(time.buffer.unwrap().used_pairs < 1024);
        }
        Some(ProfileReport::Unavailable { reason }) => assert!(reason.contains("timestamp")),
        other => panic!("{other:?}"),
    }
}
