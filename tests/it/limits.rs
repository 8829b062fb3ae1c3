//! Limits that trials meet and what follows from them: what asks for no less is left out, what is known
//! of earlier runs, what a user leaves out, and engines that fail their probe.

use crate::fake::{self, Fake};
use crate::harness::{Ran, TestEnv};
use sim_model::Status;
use sim_model::event::Event;
use std::collections::BTreeMap;

/// A growing suite: `sizes` and `worlds`, two repeats.
fn growing(head: &str, sizes: &str, worlds: &str) -> String {
    format!(
        "[suite]\nname = \"growing\"\nrepeats = 2\n{head}\n\
         [[case]]\nscenario = \"free_fall\"\nsizes = {sizes}\nworlds = {worlds}\nsteps = 24\n"
    )
}

const SITE: &str =
    "\n[[stage]]\nname = \"site\"\nkind = \"report\"\ninputs.trials = \"trial[*]\"\n";

/// `SIZExWORLDS` of the timed trials that a run started, in order, with how each ended.
fn order(ran: &Ran) -> Vec<(String, Status)> {
    ran.events
        .iter()
        .filter_map(|e| match e {
            Event::ActionFinished { label, status, .. } if label.starts_with("trial[") => {
                Some((label.split('/').nth(2).expect("a case").to_owned(), *status))
            }
            _ => None,
        })
        .collect()
}

/// What a run left out, `SIZExWORLDS/rN`, with the reason.
fn left_out(ran: &Ran) -> BTreeMap<String, String> {
    ran.events
        .iter()
        .filter_map(|e| match e {
            Event::ActionSkipped { label, reason, .. } if !reason.is_empty() => {
                let parts: Vec<&str> = label.split('/').collect();
                Some((format!("{}/{}", parts[2], parts[3]), reason.clone()))
            }
            _ => None,
        })
        .collect()
}

fn samples(env: &TestEnv) -> String {
    std::fs::read_to_string(env.path("out/fake/data/samples.csv")).expect("the site's samples")
}

/// P141, P147 to P149, P156: the engine cannot allocate more than five bodies. The limit is met in the
/// smallest such case, everything with at least as many worlds and bodies is left out, everything else
/// runs, and all of it is in the report.
#[test]
fn what_asks_for_no_less_than_what_met_a_limit_is_left_out() {
    let suite = growing("skip_after_resource_limit = true", "[3, 6, 12]", "[1, 2]");
    for script in ["out_of_memory", "aborts_for_memory"] {
        let script = format!("{{\"behaviour\": \"{script}\", \"above\": 5}}");
        let env = fake::project(&Fake {
            scripts: &[("good", &script)],
            suite: &suite,
            trial: SITE,
            ..Fake::default()
        });
        let ran = env.run(&[]);
        ran.out.expect(4);
        let case = |name: &str, status| (name.to_owned(), status);
        let expected = [
            case("3x1", Status::Ok),
            case("3x1", Status::Ok),
            case("6x1", Status::OutOfMemory),
            case("3x2", Status::OutOfMemory),
        ];
        assert_eq!(order(&ran), expected, "{}", ran.out);
        let left_out = left_out(&ran);
        let mut cases: Vec<&str> = left_out.keys().map(|k| &k[..k.len() - 3]).collect();
        cases.sort_unstable();
        assert_eq!(cases, ["12x1", "12x1", "12x2", "12x2", "3x2", "6x1", "6x2", "6x2"]);
        for (case, why) in &left_out {
            let by = if case.starts_with("3x2") { "3x2" } else { "6x1" };
            let start = format!("likely out of memory: trial[good]/free_fall/{by}/r");
            assert!(why.starts_with(&start), "{case}: {why}");
        }
        let samples = samples(&env);
        assert_eq!(samples.matches(",skipped,").count(), 8, "{samples}");
        assert!(samples.contains("likely out of memory"), "{samples}");
        env.assert_store_clean();
        // The root tells it to an audit, which finds nothing wrong with it.
        env.sim(["audit", "pipeline.toml"]).expect(0);
    }
}

/// Without the option every case runs and fails by itself.
#[test]
fn without_the_option_every_case_runs() {
    let suite = growing("", "[3, 6, 12]", "[1]");
    let env = fake::project(&Fake {
        scripts: &[("good", "{\"behaviour\": \"hang\", \"above\": 5}")],
        suite: &suite.replace("repeats = 2", "repeats = 1"),
        trial: "timeout = \"3s\"",
        ..Fake::default()
    });
    let ran = env.run(&[]);
    ran.out.expect(4);
    let statuses: Vec<Status> = order(&ran).into_iter().map(|o| o.1).collect();
    assert_eq!(statuses, [Status::Ok, Status::TimedOut, Status::TimedOut]);
    assert!(left_out(&ran).is_empty());
    // The stage may say so, too; a timeout is not known to the next run, which meets it again.
    env.replace(
        "pipeline.toml",
        "timeout = \"3s\"",
        "timeout = \"3s\"\nskip_after_resource_limit = true",
    );
    let ran = env.run(&[]);
    ran.out.expect(4);
    assert_eq!(order(&ran), [("6x1".to_owned(), Status::TimedOut)]);
    let why = &left_out(&ran)["12x1/r0"];
    let expected = "likely a timeout: trial[good]/free_fall/6x1/r0/timed ended so: it ran longer than \
                    its timeout of 3 s";
    assert_eq!(why, expected);
}

/// P150 to P152, P282: what ran out of memory is known to later runs on this machine, with the engine
/// and the cap it was under.
#[test]
fn what_ran_out_of_memory_is_known_until_pin_or_cap_change() {
    let script = "{\"behaviour\": \"grandchild_memory\", \"megabytes\": 400, \"above\": 5}";
    let suite = growing("", "[3, 6, 12]", "[1]").replace("repeats = 2", "repeats = 1");
    let trial = format!("memory = \"200MiB\"{SITE}");
    let env = fake::project(&Fake {
        scripts: &[("good", script)],
        suite: &suite,
        trial: &trial,
        ..Fake::default()
    });
    let failed = |case: &str| (case.to_owned(), Status::OutOfMemory);
    let ran = env.run(&[]);
    ran.out.expect(4);
    let both = [failed("6x1"), failed("12x1")];
    assert_eq!(order(&ran)[1..], both, "{}", ran.out);

    let ran = env.run(&[]);
    ran.out.expect(4);
    assert!(order(&ran).is_empty(), "{}", ran.out);
    let known = left_out(&ran);
    assert_eq!(known.keys().collect::<Vec<_>>(), ["12x1/r0", "6x1/r0"]);
    let why = &known["6x1/r0"];
    let start = "known to run out of memory here: trial[good]/free_fall/6x1/r0/timed did on 20";
    assert!(why.starts_with(start) && why.contains("more than their cap of 0.20 GiB"), "{why}");
    assert!(samples(&env).contains("known to run out of memory here"));
    // `plan` says the same.
    let plan = env.sim(["plan", "pipeline.toml", "--json"]);
    assert_eq!(plan.expect(0).stdout.matches("known to run out of memory here").count(), 2);

    // What is larger than any seen is known, too.
    env.replace("suite.toml", "[3, 6, 12]", "[3, 24]");
    let ran = env.run(&[]);
    assert!(order(&ran).is_empty() && left_out(&ran).contains_key("24x1/r0"), "{}", ran.out);
    env.replace("suite.toml", "[3, 24]", "[3, 6, 12]");

    let ran = env.run(&["--retry-known-failures"]);
    assert_eq!(order(&ran), both, "{}", ran.out);
    // A higher cap is worth a try, a lower one is not.
    env.replace("pipeline.toml", "200MiB", "300MiB");
    let ran = env.run(&[]);
    assert_eq!(order(&ran), both, "{}", ran.out);
    env.replace("pipeline.toml", "300MiB", "250MiB");
    let ran = env.run(&[]);
    assert!(order(&ran).is_empty(), "{}", ran.out);
    // So is another engine; and its success says nothing of the first.
    env.write("scripts/good.json", "{}");
    let ran = env.run(&[]);
    ran.out.expect(0);
    assert_eq!(order(&ran).len(), 3);
    env.write("scripts/good.json", script);
    let ran = env.run(&[]);
    assert_eq!(left_out(&ran).len(), 2, "{}", ran.out);
    env.assert_store_clean();
}

/// P146: each wish is a row with its reason; one that means nothing is an error and nothing runs.
#[test]
fn a_user_leaves_out_a_case() {
    let suite = growing("", "[3, 6]", "[1]");
    let replays = "[\"memory\"]";
    let env = fake::project(&Fake { suite: &suite, replays, trial: SITE, ..Fake::default() });
    for (wish, code, hint) in [
        ("fake:free_fall:7:1=x", 7, "there are fake:free_fall:3:1, fake:free_fall:6:1"),
        ("other:free_fall:6:1=x", 7, "its engines are fake"),
        ("fake:free_fall:6=x", 2, "`fake:free_fall:6` has 3 parts"),
        ("fake:free_fall:6:1=", 2, "the reason must be one line of text"),
    ] {
        let out = env.sim(["run", "pipeline.toml", "--skip-case", wish]);
        assert!(out.expect(code).stderr.contains(hint), "{out}");
        assert!(!env.store_path().exists(), "nothing was run");
    }
    let wish = "fake:free_fall:6:1=known to be slow here";
    let ran = env.run(&["--skip-case", wish]);
    ran.out.expect(4);
    assert_eq!(order(&ran).len(), 4, "two repeats and their replays: {}", ran.out);
    let reason = "left out on request: known to be slow here";
    assert_eq!(left_out(&ran).values().collect::<Vec<_>>(), [reason, reason]);
    let samples = samples(&env);
    assert_eq!(samples.matches(reason).count(), 4, "trials and replays are rows: {samples}");
    // Once it is not left out it runs, and then it can be left out again though it is recorded.
    env.run_ok(&[]);
    let ran = env.run(&["--skip-case", wish]);
    ran.out.expect(4);
    assert_eq!(left_out(&ran).len(), 2);
}

/// P277, P278: an engine that cannot take two steps gives rows with that reason at once; the others run.
#[test]
fn an_engine_that_fails_its_probe_runs_no_trial() {
    let suite = growing("", "[3]", "[1]");
    let fails = "{\"behaviour\": \"unsupported\", \"only\": \"probe\"}";
    let trial = format!("probe = true{SITE}");
    let env = fake::project(&Fake {
        scripts: &[("bad", fails), ("good", "{}")],
        suite: &suite,
        trial: &trial,
        ..Fake::default()
    });
    let ran = env.run(&[]);
    ran.out.expect(4);
    let trials: Vec<String> = ran.ran().into_iter().filter(|l| l.starts_with("trial[")).collect();
    assert_eq!(
        trials,
        [
            "trial[bad]/probe",
            "trial[good]/free_fall/3x1/r0/timed",
            "trial[good]/free_fall/3x1/r1/timed",
            "trial[good]/probe",
        ]
    );
    assert_eq!(env.record("trial[bad]/probe").status, Status::Unsupported);
    let result = env.text("trial[good]/probe", "result.json");
    assert!(result.contains("\"steps\": 2"), "two steps: {result}");
    let samples = samples(&env);
    let reason = "trial[bad]/probe did not end well, unsupported: told to say so";
    assert_eq!(samples.matches(reason).count(), 2, "{samples}");
    assert!(!samples.contains("trial[good]/probe"), "a probe is no row of a table");
    env.sim(["audit", "pipeline.toml"]).expect(0);
}
