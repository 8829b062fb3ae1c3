//! The rules of the method, each on trials made for it: intervals, controls, scores, and where no
//! word of ranking may stand.

#[expect(dead_code, reason = "shared with the tests of the whole site")]
mod fixture;
#[expect(dead_code, reason = "shared with the tests of the whole site")]
mod site;

use fixture::{Fixture, record};
use serde_json::{Value, json};
use sim_model::{Class, Conditions};

use sim_model::request::{Member, MemberAction, StageStatus};
use site::Site;
use std::collections::BTreeMap;
use std::fs;

/// One trial to be.
#[derive(Clone)]
struct Spec {
    stage: &'static str,
    engine: &'static str,
    backend: &'static str,
    scenario: &'static str,
    purpose: Option<&'static str>,
    side: Option<&'static str>,
    settings: Option<Value>,
    timestep: f64,
    steps: u64,
    outcome: &'static str,
    accuracy: Vec<(&'static str, f64)>,
    noisy: bool,
}

impl Default for Spec {
    fn default() -> Self {
        Spec {
            stage: "trial",
            engine: "mujoco",
            backend: "cpu",
            scenario: "box_pile",
            purpose: None,
            side: None,
            settings: None,
            timestep: 0.005,
            steps: 100,
            outcome: "ok",
            accuracy: vec![],
            noisy: false,
        }
    }
}

/// Adds one repeat a time.
fn add(fixture: &mut Fixture, spec: &Spec, times: &[f64]) {
    for (repeat, ms) in times.iter().enumerate() {
        let Spec { stage, engine, backend, scenario, timestep, steps, outcome, .. } = spec;
        let side = spec.side.unwrap_or("");
        let settings = spec.settings.clone().unwrap_or(json!({}));
        let label = format!(
            "{stage}[{engine}-{backend}]/{scenario}/{timestep}/{settings}/{side}/r{repeat}"
        );
        let ns = (ms * 1e6 * *steps as f64).round() as u64;
        let accuracy: Vec<Value> = spec
            .accuracy
            .iter()
            .map(|(id, error)| {
                json!({"id": id, "quantity": "distance from the closed form", "error": error,
                    "unit": "m", "time_s": timestep * *steps as f64})
            })
            .collect();
        let result = json!({
            "protocol": 1, "engine": {"name": engine, "version": "1.0.0"}, "backend": backend,
            "precision": "double", "mode": "timed", "outcome": {"status": "ok"},
            "worlds": 1, "steps": steps, "warmup_steps": steps, "threads": 1, "seed": 7,
            "phases": {"measured_ns": ns, "setup_ns": 1000, "warmup_ns": 1000},
            "ms_per_step": ns as f64 * 1e-6 / *steps as f64,
            "world_steps_per_second": *steps as f64 * 1e9 / ns as f64,
            "settings": {"iterations": if *engine == "mujoco" { 50 } else { 4 }, "sleeping": false,
                *engine: "only here"},
            "translation": {"exact": ["shapes"],
                "approximated": [{"what": "contact", "how": format!("as {engine} does")}],
                "dropped": []},
            "counters": {}, "gates": [], "accuracy": accuracy,
        });
        let path = (*outcome == "ok").then(|| {
            let path = format!("in/trials/{}", sim_model::Digest::of(label.as_bytes()).short());
            fs::create_dir_all(fixture.dir.join(&path)).expect("create");
            fs::write(fixture.dir.join(&path).join("result.json"), result.to_string())
                .expect("write");
            path
        });
        let mut r = record(&label, "trial", Class::Measured);
        if spec.noisy {
            let noisy = vec!["other processes used 23 % of the CPU time".to_owned()];
            r.conditions = Some(Conditions { noisy, ..Conditions::default() });
        }
        fixture.put_record(&r, None);
        let mut args: BTreeMap<String, Value> = BTreeMap::from([
            ("engine".to_owned(), json!(engine)),
            ("backend".to_owned(), json!(backend)),
            ("scenario".to_owned(), json!(scenario)),
            ("mode".to_owned(), json!("timed")),
            ("size".to_owned(), json!(16)),
            ("worlds".to_owned(), json!(1)),
            ("steps".to_owned(), json!(steps)),
            ("timestep".to_owned(), json!(timestep)),
            ("threads".to_owned(), json!(1)),
        ]);
        for (name, value) in [("purpose", spec.purpose), ("side", spec.side)] {
            args.extend(value.map(|v| (name.to_owned(), json!(v))));
        }
        args.extend(spec.settings.clone().map(|v| ("settings".to_owned(), v)));
        fixture.member(&label, path, outcome, "as planned", Some(r.key), repeat as u32, args);
    }
}

fn written(fill: impl FnOnce(&mut Fixture)) -> Site {
    let dir = tempfile::tempdir().expect("tempdir");
    let mut fixture = Fixture::new(dir.path());
    fill(&mut fixture);
    fixture.finish();
    let status = sim_stage_report::run(&fixture.request, &fixture.dir);
    assert_eq!(status.status, StageStatus::Ok, "{status:?}");
    let site = Site::read(&dir.path().join("out"));
    let problems = site.broken_links();
    assert!(problems.is_empty(), "{problems:#?}");
    site
}

fn rapier() -> Spec {
    Spec { engine: "rapier", ..Spec::default() }
}

fn scores(site: &Site) -> Vec<BTreeMap<String, String>> {
    let rows = site::csv(&site.files["data/scores.csv"]);
    rows.into_iter().map(|r| r.into_iter().collect()).collect()
}

const WORDS: [&str; 7] =
    ["faster", "fastest", "slower", "slowest", "less time", "more time", "val  best"];

/// The pages' text without what explains the rules themselves.
fn claims(site: &Site) -> String {
    let pages = site.pages.iter().filter(|(name, _)| *name != "methods.html");
    let text: String = pages.map(|(_, text)| text.as_str()).collect();
    let rule = text.find("A tinted cell took less time").map(|at| at..at + 130);
    match rule {
        Some(rule) => format!("{}{}", &text[..rule.start], &text[rule.end..]),
        None => text,
    }
}

#[test]
fn no_word_of_ranking_stands_where_the_interval_covers_one() {
    let site = written(|f| {
        add(f, &Spec::default(), &[1.0, 1.2, 1.1, 1.3, 1.05]);
        add(f, &rapier(), &[0.98, 1.21, 1.08, 1.25, 1.02]);
    });
    let text = claims(&site);
    for word in WORDS {
        assert!(!text.contains(word), "{word}");
    }
    assert!(text.contains("no difference is shown"));
    assert!(site.pages["index.html"].contains("the interval covers 1: no difference is shown"));
}

#[test]
fn where_it_lies_below_one_the_cell_is_tinted_and_the_score_says_so() {
    let site = written(|f| {
        add(f, &Spec::default(), &[2.0, 2.2, 2.1, 2.3, 2.05]);
        add(f, &rapier(), &[1.0, 1.1, 1.05, 1.15, 1.02]);
    });
    let index = &site.pages["index.html"];
    assert_eq!(index.matches("best\"").count(), 1);
    assert!(index.contains("less time than the baseline"));
    let rows = scores(&site);
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0]["engine"].as_str(), rows[0]["ratio"].as_str()), ("rapier-cpu-1", "0.5"));
    let high: f64 = rows[0]["ratio_high"].parse().expect("a number");
    assert!(high < 1.0);
}

#[test]
fn the_score_is_the_geometric_mean_over_the_cases() {
    let pile = |s: &Spec| Spec { scenario: "sphere_pile", ..s.clone() };
    let site = written(|f| {
        add(f, &Spec::default(), &[1.0; 3]);
        add(f, &rapier(), &[2.0; 3]);
        add(f, &pile(&Spec::default()), &[1.0; 3]);
        add(f, &pile(&rapier()), &[8.0; 3]);
        // Settings beside an adapter's own are rows, and no case that the baseline lacks.
        let tuned = Some(json!({"substeps": 1}));
        add(f, &Spec { settings: tuned, ..rapier() }, &[0.1; 3]);
        // Another stage is another suite, with a score of its own.
        add(f, &Spec { stage: "large", ..Spec::default() }, &[1.0; 3]);
        add(f, &Spec { stage: "large", ..rapier() }, &[0.25; 3]);
    });
    let rows = scores(&site);
    let ratio: Vec<(&str, f64)> =
        rows.iter().map(|r| (r["suite"].as_str(), r["ratio"].parse().expect("a number"))).collect();
    assert_eq!(ratio[0].0, "large");
    assert!((ratio[0].1 - 0.25).abs() < 1e-12 && (ratio[1].1 - 4.0).abs() < 1e-12, "{ratio:?}");
}

#[test]
fn a_missing_or_failed_case_withholds_the_score_with_its_reason() {
    let reason = |spoil: &dyn Fn(&mut Fixture)| {
        let site = written(|f| {
            add(f, &Spec::default(), &[1.0; 3]);
            add(f, &rapier(), &[2.0; 3]);
            spoil(f);
        });
        let rows = scores(&site);
        assert_eq!(rows[0]["ratio"], "", "{rows:?}");
        assert!(site.pages["index.html"].contains("withheld"));
        rows[0]["words"].clone()
    };
    let pile = |s: Spec| Spec { scenario: "sphere_pile", ..s };
    let absent = reason(&|f| add(f, &pile(Spec::default()), &[1.0; 3]));
    assert!(absent.contains("Rapier did not complete sphere_pile, 16"), "{absent}");
    let failed = reason(&|f| {
        add(f, &pile(rapier()), &[1.0; 3]);
        add(f, &pile(Spec { outcome: "gate_failed", ..Spec::default() }), &[1.0; 3]);
    });
    assert!(failed.contains("MuJoCo did not complete sphere_pile"), "{failed}");
    let skipped = reason(&|f| {
        add(f, &pile(Spec::default()), &[1.0; 3]);
        add(f, &pile(Spec { outcome: "not_run", ..rapier() }), &[1.0; 3]);
    });
    assert!(skipped.contains("Rapier did not complete sphere_pile"), "{skipped}");
    // P146, P148: what was left out withholds the score and says why.
    let skipped = reason(&|f| {
        add(f, &pile(Spec::default()), &[1.0; 3]);
        add(f, &pile(Spec { outcome: "skipped", ..rapier() }), &[1.0; 3]);
    });
    assert!(skipped.contains("(skipped: as planned)"), "{skipped}");
}

/// Adds what a suite says of itself.
fn suite(fixture: &mut Fixture, label: &str, baseline: &str) {
    let r = record(label, "suite", Class::Pure);
    fixture.put_record(&r, None);
    let args = BTreeMap::from([("baseline".to_owned(), json!(baseline))]);
    let action = MemberAction { kind: "suite".into(), key: Some(r.key), repeat: 0, args };
    fixture.push(Member {
        label: label.to_owned(),
        path: None,
        outcome: "ok".to_owned(),
        reason: String::new(),
        action: Some(action),
    });
}

/// P206: a suite's own baseline is before the report's; two in one suite are none.
#[test]
fn a_suite_has_a_baseline_of_its_own() {
    let genesis = |stage| Spec { stage, engine: "genesis", ..Spec::default() };
    let both = |f: &mut Fixture, stage: &'static str| {
        add(f, &genesis(stage), &[1.0; 3]);
        add(f, &Spec { stage, ..Spec::default() }, &[4.0; 3]);
        add(f, &Spec { stage, ..rapier() }, &[2.0; 3]);
    };
    let site = written(|f| {
        both(f, "sand");
        both(f, "rigid");
        suite(f, "sand[a]/suite", "genesis");
        suite(f, "sand[b]/suite", "genesis");
    });
    let rows = scores(&site);
    let of = |suite: &str, engine: &str| {
        let row = rows.iter().find(|r| r["suite"] == suite && r["engine"].starts_with(engine));
        row.unwrap_or_else(|| panic!("{suite} {engine}: {rows:?}")).clone()
    };
    assert_eq!(of("sand", "rapier")["ratio"], "2.0");
    assert_eq!(of("sand", "mujoco")["ratio"], "4.0");
    assert_eq!(of("rigid", "rapier")["ratio"], "0.5");
    assert_eq!(of("rigid", "genesis")["ratio"], "0.25");
    let site = written(|f| {
        both(f, "sand");
        suite(f, "sand[a]/suite", "genesis");
        suite(f, "sand[b]/suite", "mujoco");
    });
    let words = &scores(&site)[0]["words"];
    assert_eq!(words, "withheld: the suite names several baselines: genesis, mujoco");
}

#[test]
fn groups_are_not_mixed_and_a_baseline_must_be_there() {
    let gpu = Spec { engine: "newton", backend: "cuda", ..Spec::default() };
    let site = written(|f| {
        add(f, &Spec::default(), &[1.0; 3]);
        add(f, &rapier(), &[2.0; 3]);
        add(f, &gpu, &[0.1; 3]);
    });
    let rows = scores(&site);
    let of = |engine: &str| rows.iter().find(|r| r["engine"].starts_with(engine)).expect("a row");
    assert_eq!(of("newton")["ratio"], "");
    let words = &of("newton")["words"];
    assert_eq!(words, "withheld: a GPU backend is not scored against a CPU backend");
    assert_eq!(of("rapier")["ratio"], "2.0");

    let other = Spec { engine: "genesis", ..Spec::default() };
    let site = written(|f| {
        add(f, &other, &[1.0; 3]);
        add(f, &rapier(), &[2.0; 3]);
    });
    assert!(scores(&site)[0]["words"].contains("the baseline mujoco is not in this suite"));
    let site = written(|f| {
        f.request.args.insert("baseline".into(), json!("genesis"));
        add(f, &other, &[1.0; 3]);
        add(f, &rapier(), &[2.0; 3]);
    });
    assert_eq!(scores(&site)[0]["ratio"], "2.0");
}

/// Adds the profile replays of a spec's trials: what each gave.
fn add_profiles(fixture: &mut Fixture, spec: &Spec, found: &[Value]) {
    for (repeat, profile) in found.iter().enumerate() {
        let Spec { stage, engine, backend, scenario, timestep, steps, .. } = spec;
        let label = format!("{stage}[{engine}-{backend}]/{scenario}/r{repeat}/profile");
        let result = json!({
            "protocol": 1, "engine": {"name": engine, "version": "1.0.0"}, "backend": backend,
            "precision": "single", "mode": "profile", "outcome": {"status": "ok"},
            "worlds": 1, "steps": steps, "warmup_steps": steps, "threads": 1, "seed": 7,
            "phases": {}, "settings": {}, "counters": {}, "gates": [], "profile": profile,
            "translation": {"exact": [], "approximated": [], "dropped": []},
        });
        let path = format!("in/trials/{}", sim_model::Digest::of(label.as_bytes()).short());
        fs::create_dir_all(fixture.dir.join(&path)).expect("create");
        fs::write(fixture.dir.join(&path).join("result.json"), result.to_string()).expect("write");
        let r = record(&label, "trial", Class::Measured);
        fixture.put_record(&r, None);
        let args: BTreeMap<String, Value> = BTreeMap::from([
            ("engine".to_owned(), json!(engine)),
            ("backend".to_owned(), json!(backend)),
            ("scenario".to_owned(), json!(scenario)),
            ("mode".to_owned(), json!("profile")),
            ("size".to_owned(), json!(16)),
            ("worlds".to_owned(), json!(1)),
            ("steps".to_owned(), json!(steps)),
            ("timestep".to_owned(), json!(timestep)),
            ("threads".to_owned(), json!(1)),
        ]);
        fixture.member(&label, Some(path), "ok", "", Some(r.key), repeat as u32, args);
    }
}

/// P090, P094, P095: device time counts where every repeat has one by the same method and scope; what
/// was not asked for is not collected, and no score knows of it (P209).
#[test]
fn device_times_of_two_methods_have_no_median() {
    let time = |method: &str, ms: f64| {
        json!({"capability": "timestamps", "file": "device-samples.json", "device": "a device",
            "method": method, "scope": "all kernels", "combine": "sum", "steps": 100, "events": 100,
            "sum_ns": (ms * 1e8).round() as u64, "ms_per_step": ms, "labels": {}})
    };
    let gpu = |scenario| Spec { engine: "newton", backend: "cuda", scenario, ..Spec::default() };
    let pile = |scenario| Spec { scenario, ..Spec::default() };
    let site = written(|f| {
        for scenario in ["box_pile", "sphere_pile", "box_stack"] {
            add(f, &pile(scenario), &[1.0; 3]);
            add(f, &gpu(scenario), &[2.0; 3]);
        }
        let sound = [time("events", 1.5), time("events", 1.7), time("events", 1.6)];
        add_profiles(f, &gpu("box_pile"), &sound);
        let mixed = [time("events", 1.5), time("traces", 1.7), time("events", 1.6)];
        add_profiles(f, &gpu("sphere_pile"), &mixed);
        let why = json!({"capability": "unavailable", "reason": "no right to profile"});
        add_profiles(f, &gpu("box_stack"), &[time("events", 1.5), why, time("events", 1.6)]);
        let none = json!({"capability": "none", "reason": "a processor"});
        add_profiles(f, &pile("box_pile"), &[none.clone(), none.clone(), none]);
    });
    let rows = site::csv(&site.files["data/device.csv"]);
    let row = |scenario: &str, engine: &str| {
        let found = rows.iter().find(|r| r["scenario"] == scenario && r["engine"] == engine);
        found.unwrap_or_else(|| panic!("{scenario} {engine}: {rows:?}"))
    };
    assert_eq!(row("box_pile", "newton")["device_ms_per_step_median"], "1.6");
    assert_eq!(row("box_pile", "newton")["method"], "events (all kernels)");
    let mixed = row("sphere_pile", "newton");
    assert_eq!(mixed["device_ms_per_step_median"], "");
    assert!(mixed["why_not"].starts_with("several methods: "), "{mixed:?}");
    let partly = row("box_stack", "newton");
    assert_eq!(partly["device_ms_per_step_median"], "");
    assert_eq!(
        partly["why_not"],
        "2 of 3 replays gave a device time; unavailable: no right to profile"
    );
    assert_eq!(row("box_pile", "mujoco")["why_not"], "none: a processor");
    assert_eq!(rows.len(), 4, "no row where none was asked for");
    let index = &site.pages["index.html"];
    let table = &index[index.find("<b>Device time.</b>").expect("the table")..];
    assert!(table.contains("not collected"), "P095: mujoco on sphere_pile");
    let scores = scores(&site);
    assert_eq!(scores[0]["words"], "withheld: a GPU backend is not scored against a CPU backend");
}

#[test]
fn a_smoke_run_ranks_nothing_and_says_so() {
    let site = written(|f| {
        add(f, &Spec::default(), &[4.0]);
        add(f, &rapier(), &[1.0]);
    });
    let index = &site.pages["index.html"];
    assert!(index.contains("A smoke run is no ranking."));
    assert!(scores(&site)[0]["words"].starts_with("withheld: a smoke run"));
    let text = claims(&site);
    for word in WORDS {
        assert!(!text.contains(word), "{word}");
    }
}

fn control(side: &'static str) -> Spec {
    let (purpose, side) = (Some("control"), Some(side));
    Spec { stage: "control", purpose, side, ..Spec::default() }
}

#[test]
fn a_control_says_whether_its_interval_covers_one() {
    let site = written(|f| {
        add(f, &control("a"), &[1.0, 1.1, 1.2, 1.05, 1.15]);
        add(f, &control("b"), &[1.02, 1.12, 1.18, 1.04, 1.11]);
    });
    let index = &site.pages["index.html"];
    assert!(index.contains("covers 1, as it must"));
    // Controls are no cases of the other tables.
    assert!(!index.contains("id=\"performance\"") && !index.contains("id=\"score\""));

    let site = written(|f| {
        add(f, &control("a"), &[1.0, 1.1, 1.2, 1.05, 1.15]);
        add(f, &control("b"), &[2.0, 2.1, 2.2, 2.05, 2.15]);
        add(f, &Spec::default(), &[1.0; 3]);
        add(f, &rapier(), &[2.0; 3]);
    });
    let index = &site.pages["index.html"];
    assert!(index.contains("does not cover 1: differences of this size mean nothing here"));
    assert!(index.contains("MuJoCo against itself does not cover 1"), "in the verdict");
    assert!(scores(&site)[0]["words"].contains("a control of these engines does not cover 1"));

    let site = written(|f| {
        add(f, &control("a"), &[1.0]);
        add(f, &control("b"), &[1.0]);
    });
    assert!(site.pages["index.html"].contains("single repeats have no interval"));
}

#[test]
fn error_against_cost_is_the_first_figure_with_its_numbers() {
    let precise = |engine, dt: f64, error, settings| Spec {
        stage: "precision",
        purpose: Some("precision"),
        scenario: "pendulum",
        engine,
        timestep: dt,
        steps: (2.0 / dt).round() as u64,
        settings,
        accuracy: vec![("pendulum_angle", error)],
        ..Spec::default()
    };
    let site = written(|f| {
        for dt in [0.02, 0.01, 0.005] {
            add(f, &precise("mujoco", dt, 3.0 * dt, None), &[0.01, 0.012, 0.011]);
            add(f, &precise("rapier", dt, dt * dt, None), &[0.02, 0.022, 0.021]);
            let fine = Some(json!({"substeps": 16}));
            add(f, &precise("rapier", dt, 0.0, fine), &[0.04, 0.042, 0.041]);
        }
        add(f, &Spec::default(), &[1.0; 3]);
        add(f, &rapier(), &[2.0; 3]);
    });
    let index = &site.pages["index.html"];
    let first = index.find("<svg class=\"chart\"").expect("a figure");
    let section = index.find("id=\"precision\"").expect("the section");
    let next = index.find("id=\"verdicts\"").expect("verdicts");
    assert!(section < first && first < next);
    assert_eq!(index.matches("class=\"dt\"").count(), 6, "own settings are labelled");
    assert!(index.contains("3 points of exactly zero have no place on the axis"));
    assert!(index.contains("substeps 16") && index.contains("own settings"));
    // First order and second order; none where every error is zero.
    assert!(index.contains("<td class=\"num dim\">1.00</td><td class=\"num dim\">2.00</td>"));
    let rows = site::csv(&site.files["data/precision.csv"]);
    assert_eq!(rows.len(), 9);
    let row =
        rows.iter().find(|r| r["engine"] == "mujoco" && r["timestep_s"] == "0.01").expect("a row");
    assert_eq!(row["error_median"], "0.03");
    // 0.011 ms a step, a hundred steps a second.
    let cost: f64 = row["ms_per_simulated_second_median"].parse().expect("a number");
    assert!((cost - 1.1).abs() < 1e-9, "{cost}");
    // Not among the workloads that are ranked and scored.
    assert_eq!(scores(&site).len(), 1);
}

#[test]
fn noise_that_was_recorded_is_said_wherever_it_counts() {
    let site = written(|f| {
        add(f, &Spec::default(), &[1.0; 3]);
        add(f, &Spec { noisy: true, ..rapier() }, &[2.0; 3]);
        add(f, &Spec { noisy: true, ..control("a") }, &[1.0; 3]);
        add(f, &control("b"), &[1.0; 3]);
    });
    let index = &site.pages["index.html"];
    assert!(index.contains("The machine was not quiet: 6 of 12 timings are marked noisy"));
    assert!(index.contains("3 observations marked noisy"), "in the verdict");
    assert!(index.contains("<span class=\"word warn\">3 noisy</span>"), "beside the control");
    assert!(scores(&site)[0]["words"].contains("3 observations marked noisy"));
}

#[test]
fn what_differs_between_engines_is_listed_from_the_results() {
    let site = written(|f| {
        add(f, &Spec::default(), &[1.0; 3]);
        add(f, &rapier(), &[2.0; 3]);
    });
    let index = &site.pages["index.html"];
    let section = &index[index.find("id=\"differences\"").expect("the section")..];
    let order = ["Same name, different value", "iterations", "Only some engines have it"];
    let places: Vec<usize> = order.iter().map(|s| section.find(s).expect(s)).collect();
    assert!(places.is_sorted());
    assert!(section.contains("1 further setting is the same everywhere"));
    assert!(section.contains("contact: as rapier does (1 scene)"));
}

/// docs/method.md says for each line of the method where it is shown: every line once, and no file or
/// test that is not there.
#[test]
fn the_table_of_the_method_is_whole_and_names_what_exists() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("docs/method.md")).expect("docs/method.md");
    let mut lines = Vec::new();
    for row in text.lines().filter(|l| l.starts_with("| P")) {
        let (ids, shown) = row[2..].split_once(" | ").expect("two columns");
        for id in ids.split(", ") {
            let number = |s: &str| s.trim_start_matches('P').parse::<u32>().expect("a number");
            match id.split_once('-') {
                Some((first, last)) => lines.extend(number(first)..=number(last)),
                None => lines.push(number(id)),
            }
        }
        let mut file = String::new();
        for name in shown.split('`').skip(1).step_by(2) {
            if name.contains('/') {
                file =
                    fs::read_to_string(root.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
            } else if name.contains('_') {
                let there =
                    ["fn", "def"].iter().any(|word| file.contains(&format!("{word} {name}(")));
                assert!(there, "{ids}: no test {name}");
            }
        }
    }
    lines.sort_unstable();
    assert_eq!(lines, (1..=283).collect::<Vec<u32>>());
}
