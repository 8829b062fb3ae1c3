//! From captures to pictures: what a capture promises, what is drawn of it, and that what is not
//! there is seen.

use crate::fake::{self, Fake};
use crate::harness::{TestEnv, skip};
use serde_json::Value;
use sim_model::Status;
use std::process::Command;

const STAGES: &str = r#"
[[stage]]
name = "render"
kind = "render"
width = 64
height = 40
inputs.captures = "trial[*]/**/capture"

[[stage]]
name = "site"
kind = "report"
inputs.trials = "trial[*]"
inputs.renders = "render[*]"
"#;

const CAPTURE: &str = "trial[good]/free_fall/3x1/r0/capture";
const TIMED: &str = "trial[good]/free_fall/3x1/r0/timed";

fn project(scripts: &[(&str, &str)], suite: &str) -> TestEnv {
    fake::project(&Fake { scripts, suite, replays: "[\"capture\"]", trial: STAGES })
}

fn json(env: &TestEnv, label: &str, file: &str) -> Value {
    serde_json::from_str(&env.text(label, file)).expect(file)
}

#[test]
fn captures_become_pictures_on_the_site() {
    let env = project(&[("good", "{}")], fake::FALL);
    env.run_ok(&[]);
    let result = json(&env, CAPTURE, "result.json");
    assert_eq!(result["capture"]["frames"], 7, "24 steps, 4 a frame, and the start");
    assert_eq!(result["capture"]["final_state"]["status"], "same");
    let timed = json(&env, TIMED, "result.json");
    assert_eq!(result["final_state_digest"], timed["final_state_digest"]);
    assert_eq!(env.text(TIMED, "state.txt").trim(), timed["world0_state_digest"]);

    let status = json(&env, "render", "render-status.json");
    let capture = &status["captures"][0];
    assert_eq!((&capture["label"], &capture["status"]), (&CAPTURE.into(), &"rendered".into()));
    let shown = &capture["shown"];
    assert_eq!((&shown["bodies"], &shown["rendered_bodies"]), (&3.into(), &3.into()));
    for file in ["animation", "poster"] {
        let bytes = env.output("render", shown[file].as_str().expect("a name"));
        assert_eq!((&bytes[..4], &bytes[8..12]), (&b"RIFF"[..], &b"WEBP"[..]), "{file}");
    }
    let page = env.text("site", "scenes/free_fall.html");
    for words in
        ["poster.webp", "replay.webp", "the final state is that of the timed run, bit for bit"]
    {
        assert!(page.contains(words), "{words}");
    }
    let index = env.text("site", "index.html");
    assert!(index.contains("scenes/free_fall.html#replay"));

    // A trial that is timed again and ends in the same state leaves capture and pictures alone.
    let again = env.run(&["--only", TIMED, "--remeasure"]);
    again.out.expect(0);
    let ran = env.run_ok(&[]).ran();
    assert!(!ran.iter().any(|l| l == CAPTURE || l == "render"), "{ran:?}");
}

/// P171: world 0 of four ends where the capture of one ends.
#[test]
fn a_capture_is_of_world_0_whatever_the_number_of_worlds() {
    let suite = fake::FALL.replace("steps = 24", "worlds = [4]\nsteps = 24");
    let env = project(&[("good", "{}")], &suite);
    env.run_ok(&[]);
    let timed = json(&env, "trial[good]/free_fall/3x4/r0/timed", "result.json");
    let capture = json(&env, "trial[good]/free_fall/3x4/r0/capture", "result.json");
    assert_ne!(timed["final_state_digest"], timed["world0_state_digest"]);
    assert_eq!(capture["final_state_digest"], timed["world0_state_digest"]);
    assert_eq!((&capture["worlds"], &timed["worlds"]), (&1.into(), &4.into()));
    assert_eq!(capture["capture"]["final_state"]["status"], "same");
}

/// P171, P172.
#[test]
fn a_capture_that_is_not_of_its_run_fails() {
    let scripts = [
        ("good", "{}"),
        ("lie", r#"{"behaviour": "lie_capture"}"#),
        ("drift", r#"{"behaviour": "drift"}"#),
    ];
    let env = project(&scripts, fake::FALL);
    env.run(&[]).out.expect(4);
    let ended = |name: &str| {
        let record = env.record(&format!("trial[{name}]/free_fall/3x1/r0/capture"));
        (record.status, record.reason)
    };
    let wrong =
        "the adapter's capture is wrong: its last frame is not the final state in final.json";
    assert_eq!(ended("lie"), (Status::Failed, wrong.to_owned()));
    let (status, reason) = ended("drift");
    assert_eq!(status, Status::Failed);
    assert!(reason.starts_with("the capture ends in state "), "{reason}");
    assert!(reason.contains("says that runs repeat bit for bit"), "{reason}");
    // The timed trials count, and the pictures of the good one are there beside the two reasons.
    let status = json(&env, "render", "render-status.json");
    let found: Vec<_> = status["captures"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|c| c["status"].as_str().expect("a word").to_owned())
        .collect();
    assert_eq!(found, ["absent", "rendered", "absent"]);
    let page = env.text("site", "scenes/free_fall.html");
    assert!(page.contains("no capture") && page.contains("is not the final state in final.json"));
}

#[test]
fn a_suite_says_what_is_captured() {
    let suite = fake::FALL.replace("sizes = [3]", "sizes = [3, 5]\ncapture.sizes = [5]");
    let env = project(&[("good", "{}")], &suite);
    env.run_ok(&[]);
    let captures: Vec<String> =
        env.records().into_iter().map(|r| r.label).filter(|l| l.ends_with("/capture")).collect();
    assert_eq!(captures, ["trial[good]/free_fall/5x1/r0/capture"]);
}

/// The script of the site reads a track as the stage wrote it.
#[test]
fn the_viewer_reads_what_the_stage_wrote() {
    if Command::new("node").arg("--version").output().is_err() {
        return skip("the viewer reads what the stage wrote", "there is no node");
    }
    let env = project(&[("good", "{}")], fake::FALL);
    env.run_ok(&[]);
    let status = json(&env, "render", "render-status.json");
    let track = &status["captures"][0]["shown"]["track"];
    let file = env.output_dir("render").join(track["file"].as_str().expect("a name"));
    let program = r#"
const fs = require("fs");
globalThis.window = globalThis;
eval(fs.readFileSync(process.argv[1], "utf8"));
const t = SimReplay.parse(fs.readFileSync(process.argv[2]).toString("base64"));
const i = (t.frames - 1) * t.bodies, part = (v, k) => t.low[k] + (t.high[k] - t.low[k]) * v / 65535;
const last = [...Array(t.bodies).keys()].map((b) => [0, 1, 2].map((k) => part(t.at[3 * (i + b) + k], k)));
console.log(JSON.stringify({ bodies: t.bodies, frames: t.frames, solids: t.solids.length, interval: t.interval, last }));
"#;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/templates/replay.js");
    let said = Command::new("node").args(["-e", program, script]).arg(file).output().expect("node");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let read: Value = serde_json::from_slice(&said.stdout).expect("JSON");
    assert_eq!(
        (&read["bodies"], &read["frames"], &read["solids"]),
        (&3.into(), &7.into(), &3.into())
    );
    assert!((read["interval"].as_f64().expect("a number") - 1.0 / 60.0).abs() < 1e-12);
    let last = json(&env, CAPTURE, "final.json");
    let bound = track["position_error_m"].as_f64().expect("a bound") + 1e-5;
    for (body, pose) in last["poses"].as_array().expect("poses").iter().enumerate() {
        for k in 0..3 {
            let (was, is) = (&pose["position"][k], &read["last"][body][k]);
            let error = was.as_f64().expect("m") - is.as_f64().expect("m");
            assert!(error.abs() <= bound, "body {body}: {was} {is}");
        }
    }
}
