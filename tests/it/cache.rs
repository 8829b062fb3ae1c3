//! What runs again and what does not: same question, same answer, computed once.

use crate::fake::{self, Fake};
use crate::harness::{TestEnv, assert_text};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Text to capitals, capitals to a count: two actions one after the other.
pub(crate) const TWO: &str = r#"[pipeline]
name = "two"

[[stage]]
name = "upper"
kind = "command"
run = ["sh", "-c", "tr a-z A-Z < {inputs.text} > {out}/upper.txt"]
inputs.text = "text.txt"
outputs = ["upper.txt"]

[[stage]]
name = "count"
kind = "command"
run = ["sh", "-c", "wc -c < {inputs.upper}/upper.txt > {out}/count.txt"]
inputs.upper = "upper"
outputs = ["count.txt"]
"#;

pub(crate) fn two() -> TestEnv {
    let env = TestEnv::with_pipeline(TWO);
    env.write("text.txt", "hello\n");
    env
}

/// One measured command with two repeats.
pub(crate) const MEASURED: &str = r#"[pipeline]
name = "timing"

[[stage]]
name = "time"
kind = "command"
class = "measured"
repeats = 2
run = ["sh", "-c", "date +%N > {out}/time.txt"]
outputs = ["time.txt"]

[[stage]]
name = "first"
kind = "command"
run = ["cp", "{inputs.time}", "{out}/first.txt"]
inputs.time = "time[]/r0:time.txt"
"#;

fn set_mtime(path: &Path, time: SystemTime) {
    let file = fs::File::options().write(true).open(path).expect("open");
    file.set_times(fs::FileTimes::new().set_modified(time)).expect("set the mtime");
}

#[test]
fn a_second_run_executes_nothing_and_says_so() {
    let env = two();
    let first = env.run_ok(&[]);
    first.assert_ran(&["upper", "count"]);
    assert_text(
        &first.out.err(),
        "
      ran  upper  [TIME]  [HASH]
      ran  count  [TIME]  [HASH]
two: done · 2 ran · 0 reused · [TIME]
hint: `sim-pipe store path 'count'` says where its output is
",
    );
    assert_eq!(first.out.stdout, "", "stdout is for data");
    let second = env.run_ok(&[]);
    second.assert_ran(&[]);
    assert_text(&second.out.err(), "two: nothing to do · 0 ran · 2 reused · [TIME]");
    assert_eq!(env.text("upper", "upper.txt"), "HELLO\n");
    env.assert_store_clean();
}

#[test]
fn an_input_rebuilt_to_the_same_bytes_reruns_nothing_behind_it() {
    let env = two();
    env.run_ok(&[]);
    env.write("text.txt", "HeLLo\n");
    env.run_ok(&[]).assert_ran(&["upper"]);
    env.write("text.txt", "hello!\n");
    env.run_ok(&[]).assert_ran(&["upper", "count"]);
}

#[test]
fn going_back_uses_the_older_result() {
    let env = two();
    env.run_ok(&[]);
    env.write("text.txt", "other\nlines\n");
    env.run_ok(&[]).assert_ran(&["upper", "count"]);
    env.write("text.txt", "hello\n");
    let back = env.run_ok(&[]);
    back.assert_ran(&[]);
    assert_text(&back.out.err(), "two: nothing to do · 0 ran · 2 reused · [TIME]");
    // What the file itself says may change in any way that means nothing.
    env.replace(
        "pipeline.toml",
        "name = \"two\"\n",
        "name = \"two\"   # a remark\ntitle = \"Two\"\n",
    );
    env.run_ok(&[]).assert_ran(&[]);
    env.replace("pipeline.toml", "wc -c", "wc  -c");
    env.run_ok(&[]).assert_ran(&["count"]);
}

#[test]
fn only_the_executable_bit_of_a_mode_counts() {
    let env = two();
    env.run_ok(&[]);
    let path = env.path("text.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("chmod");
    env.run_ok(&[]).assert_ran(&[]);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("chmod");
    env.run_ok(&[]).assert_ran(&["upper"]);
}

/// Eight of thirteen tools miss this.
#[test]
fn other_content_of_the_same_size_and_mtime_is_seen() {
    let env = two();
    let path = env.path("text.txt");
    // Old enough that the stat cache would trust it.
    let old = SystemTime::UNIX_EPOCH + Duration::from_millis(sim_exec::unix_ms())
        - Duration::from_secs(3600);
    set_mtime(&path, old);
    env.run_ok(&[]);
    env.run_ok(&[]).assert_ran(&[]);
    let before = fs::metadata(&path).expect("stat");
    fs::write(&path, "hullo\n").expect("write in place");
    set_mtime(&path, old);
    let after = fs::metadata(&path).expect("stat");
    assert_eq!(
        (before.len(), before.mtime(), before.mtime_nsec(), before.ino()),
        (after.len(), after.mtime(), after.mtime_nsec(), after.ino())
    );
    env.run_ok(&[]).assert_ran(&["upper", "count"]);
    assert_eq!(env.text("upper", "upper.txt"), "HULLO\n");
}

#[test]
fn a_file_from_the_future_is_read_every_time() {
    let env = two();
    let path = env.path("text.txt");
    let future = SystemTime::UNIX_EPOCH
        + Duration::from_millis(sim_exec::unix_ms())
        + Duration::from_secs(24 * 3600);
    set_mtime(&path, future);
    env.run_ok(&[]);
    env.run_ok(&[]).assert_ran(&[]);
    fs::write(&path, "jello\n").expect("write");
    set_mtime(&path, future);
    env.run_ok(&[]).assert_ran(&["upper", "count"]);
    assert_eq!(env.text("upper", "upper.txt"), "JELLO\n");
}

/// Six of thirteen tools tie the old result to the new content for good.
#[test]
fn a_file_edited_while_it_is_used_is_not_recorded_against_the_new_key() {
    let env = TestEnv::with_pipeline(
        r#"[pipeline]
name = "race"

[[stage]]
name = "slow"
kind = "command"
run = ["sh", "-c", "cat {inputs.text} > {out}/a; touch tmp/read; while [ ! -e tmp/go ]; do sleep 0.01; done; cat {inputs.text} > {out}/b"]
inputs.text = "text.txt"
"#,
    );
    env.write("text.txt", "old\n");
    let running = env.cmd(["run", "pipeline.toml"]).spawn();
    let action = env.wait_for_action_file("tmp/read");
    env.write("text.txt", "new\n");
    fs::write(action.join("tmp/go"), "").expect("let it go on");
    running.wait().expect(0);
    // It saw one content from beginning to end: the one in its key.
    assert_eq!((env.text("slow", "a"), env.text("slow", "b")), ("old\n".into(), "old\n".into()));
    let running = env.cmd(["run", "pipeline.toml"]).spawn();
    let action = env.wait_for_action_file("tmp/read");
    fs::write(action.join("tmp/go"), "").expect("let it go on");
    running.wait().expect(0);
    assert_eq!(env.text("slow", "a"), "new\n");
    assert_eq!(env.records_of("slow").len(), 2);
    env.write("text.txt", "old\n");
    env.run_ok(&[]).assert_ran(&[]);
}

/// P001: an observation is one process on one machine; another is added, none replaced.
#[test]
fn measuring_again_adds_an_observation() {
    let env = TestEnv::with_pipeline(MEASURED);
    env.run_ok(&[]).assert_ran(&["time/r0", "time/r1", "first"]);
    env.run_ok(&[]).assert_ran(&[]);
    let first = env.text("time/r0", "time.txt");
    let again = env.run_ok(&["--remeasure"]);
    again.assert_ran(&["time/r0", "time/r1", "first"]);
    let observations = env.records_of("time/r0");
    assert_eq!(observations.iter().map(|r| r.generation).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(observations[0].key, observations[1].key);
    assert!(observations.iter().all(|r| r.conditions.is_some()), "conditions of the machine");
    let tree = observations[0].output.as_ref().expect("an output").digest;
    let kept = fs::read_to_string(env.store().tree_path(&tree).join("time.txt")).expect("read");
    assert_eq!(kept, first, "the older observation stays as it is");
    assert_eq!(env.text("first", "first.txt"), env.text("time/r0", "time.txt"));
    // The newest is what everything uses from now on.
    env.run_ok(&[]).assert_ran(&[]);
    env.assert_store_clean();
}

#[test]
fn a_class_is_part_of_the_key_and_measured_actions_know_their_machine() {
    let stage = |class: &str| {
        format!(
            "[pipeline]\nname = \"c\"\n[[stage]]\nname = \"a\"\nkind = \"command\"\nclass = \"{class}\"\n\
             run = [\"sh\", \"-c\", \"echo 1 > {{out}}/x\"]\n"
        )
    };
    let env = TestEnv::new();
    let mut keys = Vec::new();
    for class in ["pure", "machine", "measured"] {
        env.write("pipeline.toml", stage(class));
        let ran = env.run_ok(&[]).ran();
        let record = env.records_of(&ran[0]).pop().expect("a record");
        let machine = record.components.iter().filter(|c| c.path.starts_with("machine"));
        let machine: Vec<String> = machine.map(|c| c.path.clone()).collect();
        keys.push((record.key, machine));
    }
    let machines: Vec<_> = keys.iter().map(|k| k.1.clone()).collect();
    assert_eq!(machines[0], [] as [&str; 0], "a pure result holds anywhere");
    assert_eq!(machines[1], ["machine.class"]);
    assert!(machines[2].iter().any(|m| m == "machine.identity"), "{machines:?}");
    let distinct: std::collections::BTreeSet<_> = keys.iter().map(|k| k.0).collect();
    assert_eq!(distinct.len(), 3);
}

/// Seed, environment and limits: what can change a result is in the key, what cannot is not.
#[test]
fn what_can_change_a_result_is_in_the_key() {
    let env = two();
    env.run_ok(&[]);
    env.run_ok(&["--set", "defaults.timeout=50s", "-j", "1"]).assert_ran(&[]);
    env.run_ok(&["--set", "pipeline.seed=3"]).assert_ran(&["count", "upper"]);
    env.run_ok(&["--set", "stage.count.env.X=\"1\""]).assert_ran(&["count"]);
    // The caller's own environment reaches neither key nor action (bazel#2574).
    let out = env.cmd(["run", "pipeline.toml"]).env("FOO", "1").env("LC_ALL", "de_DE").run();
    out.expect(0);
    assert_text(&out.err(), "two: nothing to do · 0 ran · 2 reused · [TIME]");
}

#[test]
fn only_reports_run_when_a_template_changes() {
    let env = TestEnv::with_pipeline(&format!(
        "{TWO}\n[[stage]]\nname = \"site\"\nkind = \"report\"\ninputs.files = \"count[*]\"\ntemplates = \"templates\"\n"
    ));
    env.write("text.txt", "hello\n");
    fake::copy_templates(&env);
    env.run_ok(&[]).assert_ran(&["upper", "count", "site"]);
    let before = env.record("site");
    let page = env.path("templates/index.html");
    let text = fs::read_to_string(&page).expect("read");
    env.write("templates/index.html", format!("{text}{{# a remark nobody sees #}}"));
    env.run_ok(&[]).assert_ran(&["site"]);
    let after = env.records_of("site").pop().expect("a record");
    assert_ne!(before.key, after.key);
    // The same inputs give the same bytes: a comment changes no page.
    assert_eq!(before.output, after.output);
}

/// P063, P064: a changed threshold reruns what uses it and nothing else.
#[test]
fn a_changed_gate_reruns_the_trials_of_its_scenario_only() {
    let env = fake::project(&Fake {
        suite: fake::FALL_AND_PILE,
        replays: "[\"memory\"]",
        ..Fake::default()
    });
    env.run_ok(&[]).assert_ran(&[
        "engine[good]",
        "scene/box_pile/4@1/240#7",
        "scene/free_fall/3@1/240#7",
        "trial[good]/box_pile/4x1/r0/memory",
        "trial[good]/box_pile/4x1/r0/timed",
        "trial[good]/free_fall/3x1/r0/memory",
        "trial[good]/free_fall/3x1/r0/timed",
    ]);
    env.run_ok(&[]).assert_ran(&[]);
    let gate = "floor_penetration_m";
    env.replace("suite.toml", &format!("{gate} = 0.15"), &format!("{gate} = 0.2"));
    let pile = ["trial[good]/box_pile/4x1/r0/memory", "trial[good]/box_pile/4x1/r0/timed"];
    env.run_ok(&[]).assert_ran(&pile);
    // A remark in the suite, or its title, concerns nobody.
    env.replace("suite.toml", "[suite]", "# a remark\n[suite]\ntitle = \"Both\"");
    env.run_ok(&[]).assert_ran(&[]);
    env.assert_store_clean();
}

/// An adapter that is built again to the same bytes reruns no trial; other bytes rerun all of them.
#[test]
fn an_engine_rebuilt_to_the_same_bytes_reruns_no_trial() {
    let env = fake::project(&Fake::default());
    env.run_ok(&[]);
    env.replace("mk.sh", "set -e", "set -e # built another way");
    env.run_ok(&[]).assert_ran(&["engine[good]"]);
    env.replace("mk.sh", "bin/adapter\"}", "bin/adapter\", \"x\": 1}");
    env.run_ok(&[]).assert_ran(&["engine[good]", "trial[good]/free_fall/3x1/r0/timed"]);
}
