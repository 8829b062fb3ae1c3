//! Interrupted runs that are resumed: only where all is as it was, with what ended in them, and told
//! afterwards.

use crate::fake::{self, Fake};
use crate::harness::{TestEnv, wait_until};
use sim_model::Status;
use sim_model::event::Event;

const SUITE: &str = r#"[suite]
name = "growing"

[[case]]
scenario = "free_fall"
sizes = [3, 4, 6, 12]
steps = 24
"#;

/// More than five bodies take this long and end badly.
const SLOW: &str = "{\"behaviour\": \"hang\", \"seconds\": 4, \"above\": 5}";

fn trial(size: u32) -> String {
    format!("trial[good]/free_fall/{size}x1/r0/timed")
}

/// A run that is interrupted while the trial of six bodies runs. It leaves out that of four.
fn interrupted() -> TestEnv {
    let env = fake::project(&Fake { scripts: &[("good", SLOW)], suite: SUITE, ..Fake::default() });
    let wish = ["run", "pipeline.toml", "--skip-case", "fake:free_fall:4:1=not now"];
    let running = env.cmd(wish).spawn();
    wait_until("the slow trial", || {
        let started =
            |e: &Event| matches!(e, Event::ActionStarted { label, .. } if *label == trial(6));
        env.journals().iter().any(|j| env.journal(j).iter().any(started))
    });
    running.signal(libc::SIGINT);
    running.wait().expect(130);
    env
}

fn runs(env: &TestEnv, which: &[&str]) -> Vec<serde_json::Value> {
    let out = env.sim(["runs", "--format", "json"].iter().chain(which));
    let all: serde_json::Value = serde_json::from_str(&out.expect(0).stdout).expect("JSON");
    all["runs"].as_array().expect("runs").clone()
}

/// P143, P144, P279: what ended is kept, also what ended badly; what was left out is left out again; the
/// history tells which run went on with which.
#[test]
fn what_ended_is_kept_and_the_history_tells() {
    let env = interrupted();
    let ran = env.run(&["--resume", "last"]);
    ran.out.expect(4);
    ran.assert_ran(&[&trial(12), &trial(6)]);
    assert_eq!(ran.ended(&trial(6)).0, Status::Failed);
    assert_eq!(ran.skipped(), [(trial(4), "left out on request: not now".to_owned())]);
    // A failure of the resumed run is kept; a new run would try again.
    let ran = env.run(&["--resume", "last"]);
    ran.out.expect(4);
    ran.assert_ran(&[]);
    let failures = ran
        .events
        .iter()
        .filter(|e| matches!(e, Event::ActionReused { status: Status::Failed, .. }));
    assert_eq!(failures.count(), 2);

    let all = runs(&env, &[]);
    let id = |i: usize| all[i]["run"].clone();
    assert_eq!(all.len(), 3);
    assert_eq!(all[0]["ended"], "interrupted");
    assert_eq!(all[0]["history"], serde_json::json!([]));
    assert_eq!(all[1]["history"], serde_json::json!([id(0)]));
    assert_eq!(all[2]["history"], serde_json::json!([id(1), id(0)]));
    assert_eq!((all[1]["ended"].clone(), all[1]["ran"].clone()), ("done".into(), 2.into()));
    assert_eq!(runs(&env, &["last"]), all, "the last run and those it goes on with");
    assert!(
        env.sim(["runs"])
            .expect(0)
            .stdout
            .contains(&format!("goes on with {}", all[0]["run"].as_str().expect("an id")))
    );

    // The plans of runs survive a collection.
    env.sim(["store", "gc"]).expect(0);
    env.assert_store_clean();
    let ran = env.run(&["--resume", "last", "--retry-failed"]);
    ran.out.expect(4);
    ran.assert_ran(&[&trial(12), &trial(6)]);
}

/// A limit that the resumed run met is a limit of this one: what asks for no less is left out, and what
/// met it does not run again.
#[test]
fn a_limit_that_was_met_before_still_rules_out() {
    let suite = SUITE.replace("name =", "skip_after_resource_limit = true\nname =");
    let hangs = "{\"behaviour\": \"hang\", \"above\": 5}";
    let env = fake::project(&Fake {
        scripts: &[("good", hangs)],
        suite: &suite,
        trial: "timeout = \"3s\"",
        ..Fake::default()
    });
    let six = trial(6);
    let ran = env.run(&["--only", &six]);
    ran.out.expect(4);
    assert_eq!(ran.ended(&six).0, Status::TimedOut);
    let ran = env.run(&["--resume", "last"]);
    ran.out.expect(4);
    let trials: Vec<String> = ran.ran().into_iter().filter(|l| l.starts_with("trial[")).collect();
    assert_eq!(trials, [trial(3), trial(4)]);
    let why = format!("likely a timeout: {six} ended so: it ran longer than its timeout of 3 s");
    assert_eq!(ran.skipped(), [(trial(12), why)]);
}

/// P145: refused, with the name of what is not as it was, and nothing is run.
#[test]
fn refused_where_something_is_not_as_it_was() {
    let env = interrupted();
    let refused = |expected: &str| {
        let journals = env.journals();
        let out = env.sim(["run", "pipeline.toml", "--resume", "last"]);
        out.expect(3);
        assert!(out.stderr.contains("cannot be resumed"), "{out}");
        assert!(out.stderr.contains(expected), "{expected}\n{out}");
        assert_eq!(env.journals(), journals, "nothing was run");
    };
    let changed = |file: &str, from: &str, to: &str, expected: &str| {
        env.replace(file, from, to);
        refused(expected);
        env.replace(file, to, from);
    };
    let stage = "engine = \"fake\"\n";
    let threads = "engine = \"fake\"\nthreads = 3\n";
    changed("pipeline.toml", stage, threads, "args.threads: it was ");
    let backend = "engine = \"fake\"\nbackend = \"fake-device\"\n";
    changed("pipeline.toml", stage, backend, "args.backend: it was \"cpu\", it is \"fake-device\"");
    let seed = "args.timestep";
    changed("suite.toml", "steps = 24", "steps = 24\ntimestep = \"1/100\"", seed);
    changed(
        "suite.toml",
        "12]",
        "24]",
        "action trial[good]/free_fall/12x1/r0/timed: it is not there any more",
    );
    // The pin: the adapter's own files are sources of this pipeline.
    changed("mk.sh", "set -e", "set -eu", "source mk.sh: it was ");
    // Another program to make it with.
    changed("pipeline.toml", "\"sh\", \"mk.sh\"", "\"bash\", \"mk.sh\"", "tool bash: it is new");
    // As it was, it goes on.
    env.run(&["--resume", "last"]).assert_ran(&[&trial(12), &trial(6)]);
    let out = env.sim(["run", "pipeline.toml", "--resume", "nothing"]);
    assert!(out.expect(7).stderr.contains("there is no run `nothing`"), "{out}");
}

/// P279: the plan as a file, with what is known of each action.
#[test]
fn a_plan_is_saved_with_what_is_known() {
    let env = fake::project(&Fake { suite: SUITE, trial: "probe = true", ..Fake::default() });
    let skip = ["--skip-case", "fake:free_fall:4:1=not now"];
    env.run(&skip).out.expect(4);
    let args = ["plan", "pipeline.toml", "--save", "plan.json"];
    env.sim(args.iter().chain(&skip)).expect(0);
    let text = std::fs::read(env.path("plan.json")).expect("the plan");
    let plan = sim_model::saved_plan::SavedPlan::from_json(&text).expect("a plan");
    let action = |label: &str| {
        plan.actions.iter().find(|a| a.label == label).unwrap_or_else(|| panic!("{label}"))
    };
    assert_eq!(action("trial[good]/probe").status.as_deref(), Some("ok"));
    assert_eq!(action(&trial(3)).parts["args.backend"], "\"cpu\"");
    assert_eq!(action(&trial(4)).skip.as_deref(), Some("left out on request: not now"));
    assert!(plan.sources.contains_key("mk.sh") && plan.tools.contains_key("sh"));
    // A run keeps the same.
    let kept = env.journals().iter().flat_map(|j| env.journal(j)).find_map(|e| match e {
        Event::RunPlanned { plan, .. } => Some(plan),
        _ => None,
    });
    let kept = env.store().blob(&kept.expect("a plan")).expect("its blob");
    let kept = sim_model::saved_plan::SavedPlan::from_json(&kept).expect("a plan");
    assert!(kept.differences(&plan).is_empty());
}
