//! The report over synthetic rounds: what must be on it, and what must never be.

mod fixture;
mod replay;
mod site;

use fixture::{Fixture, Shape, record};
use serde_json::{Value, json};
use sim_model::request::{RequestInput, StageStatus};
use sim_model::{Class, Digest, Status};
use site::Site;
use std::collections::BTreeMap;
use std::fs;
use tempfile::TempDir;

fn small() -> Shape {
    Shape { sizes: vec![50, 800], worlds: vec![1, 4], ..Shape::default() }
}

fn write(shape: &Shape) -> (TempDir, Site) {
    let dir = tempfile::tempdir().expect("tempdir");
    let fixture = Fixture::full(dir.path(), shape);
    let status = sim_stage_report::run(&fixture.request, &fixture.dir);
    assert_eq!(status.status, StageStatus::Ok, "{status:?}");
    assert!(status.warnings.is_empty(), "{status:?}");
    let site = Site::read(&dir.path().join("out"));
    (dir, site)
}

#[test]
fn nothing_leads_out_and_every_link_has_a_target() {
    let (_dir, site) = write(&small());
    assert!(site.pages.len() > 50);
    let problems = site.broken_links();
    assert!(problems.is_empty(), "{problems:#?}");
    for (name, text) in &site.pages {
        for attribute in site::attributes(text) {
            assert!(!attribute.contains("//"), "{name}: {attribute}");
        }
    }
    for name in ["assets/style.css", "assets/site.js"] {
        let text = &site.files[name];
        assert!(
            !text.contains("http") && !text.contains("@import") && !text.contains("url("),
            "{name}"
        );
        assert!(!text.contains("fetch(") && !text.contains("import("), "{name}");
    }
}

#[test]
fn the_same_inputs_give_the_same_bytes() {
    let dir = tempfile::tempdir().expect("tempdir");
    let fixture = Fixture::full(dir.path(), &small());
    let mut digests = Vec::new();
    for _ in 0..2 {
        fs::remove_dir_all(dir.path().join("out")).expect("remove");
        fs::create_dir(dir.path().join("out")).expect("create");
        assert_eq!(sim_stage_report::run(&fixture.request, &fixture.dir).status, StageStatus::Ok);
        digests.push(site::digests(&dir.path().join("out")));
    }
    assert_eq!(digests[0], digests[1]);
}

#[test]
fn every_page_reads_without_scripts_and_fits_its_budget() {
    let (_dir, site) = write(&Shape::default());
    for (name, text) in &site.pages {
        assert!(text.len() <= 300_000, "{name} has {} bytes", text.len());
        assert_eq!(text.matches("<script").count(), 1, "{name}");
        assert_eq!(text.matches("<table").count(), text.matches("<caption").count(), "{name}");
        for th in text.split("<th").skip(1).filter(|t| !t.starts_with("ead")) {
            assert!(th.split('>').next().is_some_and(|t| t.contains("scope=")), "{name}: {th:.80}");
        }
        assert!(!text.contains(" onclick") && !text.contains("type=\"module\""), "{name}");
    }
    let index = &site.pages["index.html"];
    let order = [
        "id=\"limits\"",
        "id=\"verdicts\"",
        "id=\"performance\"",
        "id=\"curves\"",
        "id=\"memory\"",
        "id=\"setup\"",
        "id=\"coverage\"",
    ];
    let places: Vec<usize> = order.iter().map(|s| index.find(s).expect(s)).collect();
    assert!(places.is_sorted(), "limits stand before results");
    assert!(index.matches("class=\"chart\"").count() >= 6);
}

#[test]
fn medians_and_quartiles_are_those_of_the_samples() {
    let dir = tempfile::tempdir().expect("tempdir");
    let mut fixture = Fixture::new(dir.path());
    for (i, ms) in [4.0, 1.0, 3.0, 2.0].into_iter().enumerate() {
        hand_made(&mut fixture, "mujoco", i as u32, ms);
        hand_made(&mut fixture, "rapier", i as u32, ms / 2.0);
    }
    fixture.finish();
    assert_eq!(sim_stage_report::run(&fixture.request, &fixture.dir).status, StageStatus::Ok);
    let site = Site::read(&dir.path().join("out"));
    let rows = site::csv(&site.files["data/performance.csv"]);
    let row = rows.iter().find(|r| r["engine"] == "mujoco").expect("row");
    for (name, value) in [
        ("ms_per_step_median", "2.5"),
        ("ms_per_step_q1", "1.75"),
        ("ms_per_step_q3", "3.25"),
        ("ms_per_step_min", "1.0"),
        ("ms_per_step_max", "4.0"),
        ("world_steps_per_second_median", "833.3333333333333"),
        ("planned", "4"),
        ("passed", "4"),
        ("fastest_of_group", "false"),
    ] {
        assert_eq!(row[name], value, "{name}");
    }
    let index = &site.pages["index.html"];
    // 1.25 / 2.5; the interval is that of all 256 × 256 pairs of resamples, enumerated by hand.
    assert!(index.contains("Rapier took 0.50 [0.19, 1.33] of MuJoCo"), "the sentence");
    assert!(!index.contains("faster"));
    assert!(index.contains("median 2.5 ms\nquartiles 1.7500 to 3.2500"));
}

/// One trial of two worlds with a given time per step.
fn hand_made(fixture: &mut Fixture, engine: &str, repeat: u32, ms: f64) {
    let label = format!("trial[{engine}]/box_pile/100x2/r{repeat}");
    let ns = (ms * 1e6 * 100.0) as u64;
    let result = json!({
        "protocol": 1, "engine": {"name": engine, "version": "1.0.0"}, "backend": "cpu",
        "precision": "double", "mode": "timed", "outcome": {"status": "ok"},
        "worlds": 2, "steps": 100, "warmup_steps": 100, "threads": 1, "seed": 7,
        "phases": {"measured_ns": ns, "setup_ns": 1000, "warmup_ns": 1000},
        "ms_per_step": ms, "world_steps_per_second": 2000.0 / ms, "settings": {},
        "translation": {"exact": [], "approximated": [], "dropped": []}, "counters": {}, "gates": [],
    });
    let path = format!("in/trials/{engine}{repeat}");
    fs::create_dir_all(fixture.dir.join(&path)).expect("create");
    fs::write(fixture.dir.join(&path).join("result.json"), result.to_string()).expect("write");
    let r = record(&label, "trial", Class::Measured);
    fixture.put_record(&r, None);
    let args = args(engine, "box_pile");
    fixture.member(&label, Some(path), "ok", "", Some(r.key), repeat, args);
}

fn args(engine: &str, scenario: &str) -> BTreeMap<String, Value> {
    [
        ("engine", json!(engine)),
        ("scenario", json!(scenario)),
        ("mode", json!("timed")),
        ("size", json!(100)),
        ("worlds", json!(2)),
        ("steps", json!(100)),
        ("timestep", json!(0.004)),
    ]
    .into_iter()
    .map(|(k, v)| (k.to_owned(), v))
    .collect()
}

#[test]
fn failed_trials_are_rows_with_their_reason_and_log() {
    let (_dir, site) = write(&Shape::default());
    let index = &site.pages["index.html"];
    for words in [
        "timed out",
        "gate failed",
        "out of memory",
        "unsupported",
        "not run",
        "1/3 \u{b7} 1 gate failed, 1 failed",
        "sizes below 64 bodies",
        "killed by signal 11",
        "no answer within 120 s",
    ] {
        assert!(index.contains(words), "{words}");
    }
    let samples = site::csv(&site.files["data/samples.csv"]);
    assert_eq!(samples.len(), 432, "every member is a row");
    let timed_out = samples.iter().filter(|r| r["outcome"] == "timed_out").count();
    assert_eq!(timed_out, 3);
    let crashed = samples.iter().find(|r| r["reason"].contains("SIGSEGV")).expect("row");
    let page = &site.pages[&format!("provenance/{}.html", crashed["key"])];
    assert!(page.contains("rapier 0.36.1: killed by signal 11") && page.contains("class=\"log\""));
    // A cell with failures is no winner.
    let rows = site::csv(&site.files["data/performance.csv"]);
    let part = rows
        .iter()
        .find(|r| r["scenario"] == "box_stack" && r["size"] == "800" && r["engine"] == "rapier")
        .expect("row");
    assert_eq!((part["passed"].as_str(), part["fastest_of_group"].as_str()), ("1", "false"));
    assert_eq!(part["failures"], "1 gate failed, 1 failed");
    // A memory median needs every replay.
    let rows = site::csv(&site.files["data/memory.csv"]);
    let part = rows
        .iter()
        .find(|r| r["scenario"] == "hinge_field" && r["size"] == "800" && r["engine"] == "rapier")
        .expect("row");
    assert_eq!((part["values"].as_str(), part["peak_bytes_median"].as_str()), ("2", ""));
}

#[test]
fn a_single_repeat_ranks_nothing() {
    let shape = Shape { repeats: 1, failures: false, ..small() };
    let (_dir, site) = write(&shape);
    let index = &site.pages["index.html"];
    assert!(index.contains("ranks nothing") && !index.contains(" best\""));
    assert!(site.pages["methods.html"].contains("A single repeat is a check"));
}

#[test]
fn an_ok_that_its_result_contradicts_does_not_count() {
    let dir = tempfile::tempdir().expect("tempdir");
    let mut fixture = Fixture::new(dir.path());
    hand_made(&mut fixture, "mujoco", 0, 2.0);
    hand_made(&mut fixture, "mujoco", 1, 2.0);
    hand_made(&mut fixture, "mujoco", 2, 2.0);
    fixture.finish();
    let lie = |i: u32, from: &str, to: &str| {
        let path = dir.path().join(format!("in/trials/mujoco{i}/result.json"));
        let text = fs::read_to_string(&path).expect("read");
        assert!(text.contains(from), "{text}");
        fs::write(&path, text.replace(from, to)).expect("write");
    };
    lie(0, "\"ms_per_step\":2.0", "\"ms_per_step\":0.002");
    fs::write(dir.path().join("in/trials/mujoco1/result.json"), "{ not json").expect("write");
    assert_eq!(sim_stage_report::run(&fixture.request, &fixture.dir).status, StageStatus::Ok);
    let site = Site::read(&dir.path().join("out"));
    let rows = site::csv(&site.files["data/performance.csv"]);
    assert_eq!(rows[0]["passed"], "1");
    assert!(site.pages["index.html"].contains("is not measured time over steps"));
    assert!(site.pages["index.html"].contains("result.json: "));
}

#[test]
fn hostile_texts_stay_texts() {
    let dir = tempfile::tempdir().expect("tempdir");
    let mut fixture = Fixture::new(dir.path());
    let evil = "<script>alert(1)</script>\"' onload=x \u{202e}\u{1b}[31m\u{7}{{ 7*7 }}{% raw %}";
    fixture.request.args.insert("title".into(), json!(evil));
    fixture.request.args.insert("not_measured".into(), json!([evil]));
    let mut r = record(evil, "trial", Class::Measured);
    r.status = Status::Failed;
    r.reason = evil.into();
    r.components.push(sim_model::Component { path: evil.into(), value: evil.into() });
    r.warnings.push(evil.into());
    r.log = Some(Digest::of(b"log"));
    r.inputs.push(sim_model::record::RecordInput {
        name: evil.into(),
        tree: None,
        key: None,
        source: Some(evil.into()),
    });
    fixture.put_record(&r, None);
    let log = dir.path().join(format!("in/provenance/logs/{}.txt", r.key));
    let mut bytes =
        b"\xff\xfe\x00<img src=x onerror=alert(1)>\x1b]0;x\x07</pre><script>\r\n".to_vec();
    bytes.extend(b"&<>\"'".repeat(12_000));
    fs::write(&log, bytes).expect("write");
    fixture.member(evil, None, "failed", evil, Some(r.key), 0, args(evil, evil));
    fixture.member("unkeyed", None, "<b>", evil, None, 0, args(evil, "../../x"));
    fixture.file(evil, "<b>.svg", b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>");
    fixture.file(
        evil,
        "table.csv",
        format!("a,b\n\"{}\",2\n", evil.replace('"', "\"\"")).as_bytes(),
    );
    fixture.finish();
    let status = sim_stage_report::run(&fixture.request, &fixture.dir);
    assert_eq!(status.status, StageStatus::Ok, "{status:?}");
    let site = Site::read(&dir.path().join("out"));
    for (name, text) in &site.pages {
        assert!(!name.contains("..") && !name.contains('<'), "{name}");
        assert_eq!(text.matches("<script").count(), 1, "{name}");
        assert!(!text.contains("<img src=x") && !text.contains("<svg xmlns"), "{name}");
        assert!(!text.contains("49{%") && !text.contains('\u{202e}'), "{name}");
        assert!(!text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{name}");
        assert!(text.len() <= 300_000, "{name} has {} bytes", text.len());
    }
    assert!(site.broken_links().is_empty(), "{:#?}", site.broken_links());
    let page = &site.pages[&format!("provenance/{}.html", r.key)];
    assert!(page.contains("&lt;script&gt;"));
}

#[test]
fn a_report_of_files_alone_is_a_report() {
    let dir = tempfile::tempdir().expect("tempdir");
    let mut fixture = Fixture::new(dir.path());
    fixture.file("words", "counts.csv", b"word,n\nthe,10\n");
    fixture.file("words", "plot.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>");
    fixture.file("words", "deep/raw.bin", &[0, 1, 2]);
    fixture.finish();
    fixture.request.inputs.remove("trials");
    let status = sim_stage_report::run(&fixture.request, &fixture.dir);
    assert_eq!(status.status, StageStatus::Ok, "{status:?}");
    let site = Site::read(&dir.path().join("out"));
    let index = &site.pages["index.html"];
    assert!(index.contains("<td>the</td>") && index.contains("plot.svg\" alt="));
    assert!(!index.contains("id=\"performance\""));
    assert!(site.broken_links().is_empty(), "{:#?}", site.broken_links());
}

#[test]
fn templates_can_be_replaced_and_a_wrong_one_is_named() {
    let dir = tempfile::tempdir().expect("tempdir");
    let mut fixture =
        Fixture::full(dir.path(), &Shape { sizes: vec![50], worlds: vec![], ..small() });
    let folder = dir.path().join("in/templates");
    fs::create_dir_all(&folder).expect("create");
    fs::write(folder.join("style.css"), "body { color: teal }").expect("write");
    let path = "in/templates".to_owned();
    fixture.request.inputs.insert("templates".into(), RequestInput::Tree { path });
    assert_eq!(sim_stage_report::run(&fixture.request, &fixture.dir).status, StageStatus::Ok);
    let css = fs::read_to_string(dir.path().join("out/assets/style.css")).expect("read");
    assert_eq!(css, "body { color: teal }");

    fs::write(folder.join("machine.html"), "{{ page.no_such_thing }}").expect("write");
    let status = sim_stage_report::run(&fixture.request, &fixture.dir);
    assert_eq!(status.status, StageStatus::Failed);
    assert!(status.reason.contains("machine.html"), "{}", status.reason);
}

#[test]
fn paths_out_of_the_folder_are_refused() {
    let dir = tempfile::tempdir().expect("tempdir");
    let mut fixture = Fixture::new(dir.path());
    fixture.finish();
    let path = "../../etc".to_owned();
    fixture.request.inputs.insert("files".into(), RequestInput::Tree { path });
    let status = sim_stage_report::run(&fixture.request, &fixture.dir);
    assert_eq!(status.status, StageStatus::Failed);
    assert!(status.reason.contains("leaves the action's folder"), "{}", status.reason);
}
