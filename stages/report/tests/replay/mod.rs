//! Replays on the site: pictures without scripts, tracks on demand, and what is not there.

use crate::fixture::{Fixture, Shape};
use crate::site::Site;
use serde_json::{Value, json};
use sim_model::Digest;
use sim_model::request::{Member, RequestInput, StageStatus};
use std::fs;
use tempfile::TempDir;

/// One capture in a `render-status.json`; `None` for what is not there.
fn shown(scene: &str, track: bool) -> Value {
    let mut shown = json!({
        "scene_digest": Digest::of(scene.as_bytes()).to_string(), "scene": scene, "bodies": 50,
        "rendered_bodies": 50, "frames": 41, "seconds": 2.0, "animation": "x/replay.webp",
        "poster": "x/poster.webp", "final_state": {"status": "same"},
    });
    if track {
        shown["track"] = json!({"file": "x/track.bin", "stride": 1, "position_error_m": 2.5e-5});
    } else {
        shown["no_track"] = json!("20000 bodies are too many for an interactive replay");
    }
    shown
}

fn capture(label: &str, status: &str, reason: &str, shown: Option<Value>) -> Value {
    let mut out = json!({"label": label, "status": status});
    if !reason.is_empty() {
        out["reason"] = json!(reason);
    }
    if let Some(shown) = shown {
        out["engine"] = json!("mujoco");
        out["shown"] = shown;
    }
    out
}

/// A site of a small round and a `render` stage with these captures.
fn write(captures: &[Value]) -> (TempDir, Site) {
    let dir = tempfile::tempdir().expect("tempdir");
    let shape = Shape { sizes: vec![50], worlds: vec![1], failures: false, ..Shape::default() };
    let mut fixture = Fixture::full(dir.path(), &shape);
    let folder = dir.path().join("in/renders/0");
    fs::create_dir_all(folder.join("x")).expect("create");
    for (name, bytes) in
        [("replay.webp", "film"), ("poster.webp", "still"), ("track.bin", "\u{1}track")]
    {
        fs::write(folder.join("x").join(name), bytes).expect("write");
    }
    let status = json!({"format": 1, "renderer": "sim-pipe ray caster", "renderer_version": "0.1.0+abc",
        "encoder": "libwebp", "width": 640, "height": 400, "captures": captures});
    fs::write(folder.join("render-status.json"), status.to_string()).expect("write");
    let member = |label: &str, path: Option<&str>, outcome: &str, reason: &str| Member {
        label: label.into(),
        path: path.map(str::to_owned),
        outcome: outcome.into(),
        reason: reason.into(),
        action: None,
    };
    let members = vec![
        member("render[box_pile]", Some("in/renders/0"), "ok", ""),
        member("render[gone]", None, "failed", "it ran out of memory"),
    ];
    fixture.request.inputs.insert("renders".into(), RequestInput::Many { members });
    let status = sim_stage_report::run(&fixture.request, &fixture.dir);
    assert_eq!(status.status, StageStatus::Ok, "{status:?}");
    let site = Site::read(&dir.path().join("out"));
    (dir, site)
}

const MUJOCO: &str = "trial[mujoco]/box_pile/50x1/r0/timed";
const RAPIER: &str = "trial[rapier]/box_pile/50x1/r0/timed";

#[test]
fn a_scene_shows_its_replays_and_loads_nothing_until_asked() {
    let both = [
        capture(MUJOCO, "rendered", "", Some(shown("box_pile", true))),
        capture(RAPIER, "rendered", "", Some(shown("box_pile", true))),
    ];
    let (_dir, site) = write(&both);
    let page = &site.pages["scenes/box_pile.html"];
    // Both engines in one figure, MuJoCo's column first; still pictures at once, the rest folded away.
    assert_eq!(page.matches("class=\"replay\"").count(), 1);
    let at = |words: &str| page.find(words).expect(words);
    assert!(at("data-name=\"MuJoCo\"") < at("data-name=\"Rapier\""));
    assert_eq!(page.matches("poster.webp\" width=\"640\" height=\"400\"").count(), 2);
    assert!(at("<details class=\"film\">") < at("replay.webp"));
    assert!(page.contains("50 moving bodies, 2.00 s of simulated time"));
    assert!(page.contains("sim-pipe ray caster 0.1.0+abc, libwebp"));
    assert!(
        page.contains("MuJoCo, Rapier: the final state is that of the timed run, bit for bit.")
    );
    assert!(page.contains("at most 0.025 mm"));
    // One script, as on every page, and it is none of the replay's.
    assert_eq!(page.matches("<script").count(), 1);
    assert!(!page.contains("three.js\"") && !page.contains("<script src=\"../assets/replay.js"));
    assert!(page.len() <= 300_000);
    assert!(site.broken_links().is_empty(), "{:#?}", site.broken_links());
    // What is loaded on demand is there: the scripts, and each track as a script that holds its bytes.
    assert!(site.files["assets/vendor/three.js"].starts_with("var THREE="));
    assert!(site.files["assets/vendor/three.LICENSE"].contains("MIT License"));
    assert!(site.files["assets/replay.js"].contains("window.SimReplay"));
    let tracks: Vec<&str> =
        page.split("data-src=\"../").skip(1).filter_map(|t| t.split('"').next()).collect();
    assert_eq!(tracks.len(), 2);
    for track in tracks {
        let text = &site.files[track];
        assert!(text.contains(&format!("[\"{track}\"]=\"AXRyYWNr\";")), "{text}");
    }
    // The first page leads there with a picture; the case's page too.
    let index = &site.pages["index.html"];
    assert!(index.contains("<a href=\"scenes/box_pile.html#replay\"><img src=\"media/"));
    let case =
        site.pages.iter().find(|(n, _)| n.starts_with("cases/box_pile-50x1")).expect("a case");
    assert!(case.1.contains("../scenes/box_pile.html#replay-box_pile-50x1-"));
    assert!(site.pages["methods.html"].contains("id=\"replays\""));
}

/// P172: what failed, and what is missing, is seen; nothing is blank.
#[test]
fn what_is_not_there_is_seen() {
    let list = [
        capture(
            MUJOCO,
            "gate_failed",
            "floor_penetration is 0.4 m",
            Some(shown("box_pile", false)),
        ),
        capture(RAPIER, "absent", "not run: the timed trial did not pass", None),
        capture(
            "trial[rapier]/free_fall/50x1/r0/timed",
            "failed",
            "capture.bin is cut short",
            None,
        ),
    ];
    let (_dir, site) = write(&list);
    let page = &site.pages["scenes/box_pile.html"];
    for words in [
        "gate failed",
        "floor_penetration is 0.4 m",
        "no capture",
        "not run: the timed trial did not pass",
        "MuJoCo is not in 3D: 20000 bodies are too many",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("class=\"open3d\""), "there is no track to explore");
    let page = &site.pages["scenes/free_fall.html"];
    assert!(page.contains("not rendered") && page.contains("capture.bin is cut short"));
    let index = &site.pages["index.html"];
    assert!(index.contains("render[gone]") && index.contains("it ran out of memory"));
    assert!(!site.files.contains_key("assets/vendor/three.js"), "nothing needs it");
    assert!(site.broken_links().is_empty(), "{:#?}", site.broken_links());
}

#[test]
fn a_status_that_cannot_be_believed_is_a_warning_and_its_files_are_files() {
    let dir = tempfile::tempdir().expect("tempdir");
    let mut fixture = Fixture::new(dir.path());
    fixture.finish();
    let folder = dir.path().join("in/renders/0");
    fs::create_dir_all(&folder).expect("create");
    fs::write(folder.join("render-status.json"), "{\"format\": 99}").expect("write");
    let path = "in/renders/0".to_owned();
    fixture.request.inputs.insert("renders".into(), RequestInput::Tree { path });
    let status = sim_stage_report::run(&fixture.request, &fixture.dir);
    assert_eq!(status.status, StageStatus::Ok, "{status:?}");
    assert!(status.warnings.iter().any(|w| w.contains("render-status.json")), "{status:?}");
    let site = Site::read(&dir.path().join("out"));
    assert!(site.pages["index.html"].contains("render-status.json"));
}
