//! Killed, interrupted, doubled: the next run completes, what was recorded is not done twice, and
//! the store holds.

use crate::fake::{self, Fake};
use crate::harness::{TestEnv, assert_gone, kill, marker, processes, wait_for, wait_until};
use sim_model::Status;
use sim_model::event::Event;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

/// Reproducible numbers; SIM_PIPE_TEST_SEED sets another sequence.
struct Random(u64);

impl Random {
    fn new() -> Self {
        let seed = std::env::var("SIM_PIPE_TEST_SEED").ok().and_then(|s| s.parse().ok());
        Self(seed.unwrap_or(0x5eed))
    }

    fn below(&mut self, n: u64) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

/// Twelve commands in three layers that each write in two halves, and trials of the fake engine.
fn project() -> TestEnv {
    let env = fake::project(&Fake {
        suite: fake::FALL_AND_PILE,
        replays: "[\"memory\"]",
        ..Fake::default()
    });
    let text = fs::read_to_string(env.path("pipeline.toml")).expect("read");
    env.write(
        "pipeline.toml",
        format!(
            r#"{text}
[[stage]]
name = "low"
kind = "command"
run = ["sh", "-c", "echo first {{n}} > {{out}}/x; echo second >> {{out}}/x; echo a log"]
matrix.n = [1, 2, 3, 4, 5, 6]

[[stage]]
name = "mid"
kind = "command"
run = ["sh", "-c", "cat {{inputs.low}}/*/x > {{out}}/x; echo {{n}} >> {{out}}/x"]
inputs.low = "low[*]"
matrix.n = [1, 2, 3, 4]

[[stage]]
name = "top"
kind = "command"
run = ["sh", "-c", "cat {{inputs.mid}}/*/x > {{out}}/x"]
inputs.mid = "mid[*]"
"#
        ),
    );
    env
}

/// Keys with a usable record: what must never run again.
fn recorded(env: &TestEnv) -> BTreeSet<(String, sim_model::Digest)> {
    if !env.store_path().join("format").exists() {
        return BTreeSet::new();
    }
    let (records, damaged) = env.store().records().expect("list the records");
    assert!(damaged.is_empty(), "{damaged:?}");
    records.into_iter().filter(|r| r.status.reusable()).map(|r| (r.label, r.key)).collect()
}

/// kill -9 at any moment: the next run completes and nothing that was recorded runs again.
#[test]
fn killed_at_random_moments() {
    let env = project();
    // How many lines of journal a whole run has: the moments are spread over them.
    let whole = project();
    let first = whole.run_ok(&[]);
    let lines = first.events.len() as u64;
    let expected: BTreeSet<String> = first.ran().into_iter().collect();
    assert_eq!(expected.len(), 18);
    let top = whole.output("top", "x");

    let mut random = Random::new();
    let mut kills = 0;
    for round in 0..25 {
        if round % 5 == 4 {
            // Now and then from nothing, so that early moments are hit too.
            sim_store::tree::remove_all(&env.store_path()).expect("remove the store");
        }
        let before = recorded(&env);
        let journals = env.journals();
        let mut running = env.cmd(["run", "pipeline.toml"]).spawn();
        // Wait for the N-th line of the journal, then a random while of at most some milliseconds
        // of looking, so that the kill falls between and inside the steps of writing.
        let at = random.below(lines + 2);
        let mut looks = random.below(400);
        wait_until("the moment", || {
            let new = env.journals().difference(&journals).next().cloned();
            let seen = new
                .and_then(|p| fs::read(p).ok())
                .map_or(0, |b| b.iter().filter(|b| **b == b'\n').count());
            if seen as u64 >= at {
                while looks > 0 && running.alive() {
                    looks -= 1;
                }
                return true;
            }
            !running.alive()
        });
        if running.alive() {
            kills += 1;
        }
        running.signal(libc::SIGKILL);
        running.wait();
        let after = recorded(&env);
        assert!(before.is_subset(&after), "round {round}: a record is gone");
        // The killed run ran nothing that was recorded before it.
        for path in env.journals().difference(&journals) {
            for label in crate::harness::ran(&env.journal(path)) {
                assert!(
                    !before.iter().any(|(l, _)| *l == label),
                    "round {round}: {label} ran again"
                );
            }
        }
    }
    assert!(kills > 5, "only {kills} of 25 kills fell into a run");
    env.assert_store_clean();
    let before = recorded(&env);
    let last = env.run_ok(&[]);
    for label in last.ran() {
        assert!(!before.iter().any(|(l, _)| *l == label), "{label} ran again");
    }
    env.assert_store_clean();
    env.run_ok(&[]).assert_ran(&[]);
    // Every key once, and the bytes are those of a run that nobody killed.
    let keys: Vec<_> = env.records().iter().map(|r| r.key).collect();
    assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
    assert_eq!(env.output("top", "x"), top);
    let labels: BTreeSet<String> = env.records().into_iter().map(|r| r.label).collect();
    assert_eq!(labels, expected);
    // Unfinished work of the dead is swept: nothing in tmp/ outlives the next runs.
    env.sim(["store", "gc"]).expect(0);
    assert_eq!(fs::read_dir(env.store_path().join("tmp")).expect("read").count(), 0);
}

/// A pipeline of one action that says when it is up and waits to be told to go on.
fn waiting(mark: &str) -> TestEnv {
    let script = "import os, sys, time\nopen('tmp/up', 'w')\nwhile not os.path.exists('tmp/go'): time.sleep(0.01)\nopen('out/x', 'w')\n";
    let env = TestEnv::with_pipeline(&format!(
        "[pipeline]\nname = \"w\"\n[[stage]]\nname = \"quick\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"echo > {{out}}/x\"]\n\
         [[stage]]\nname = \"a\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"python3 wait.py {mark}\"]\n\
         inputs.wait = \"wait.py\"\ninputs.quick = \"quick\"\n\
         [[stage]]\nname = \"b\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"echo > {{out}}/x\"]\ninputs.a = \"a\"\n"
    ));
    env.write("wait.py", script);
    env
}

#[test]
fn the_action_alone_is_killed() {
    let mark = marker("action");
    let env = waiting(&mark);
    let running = env.cmd(["run", "pipeline.toml"]).spawn();
    env.wait_for_action_file("tmp/up");
    let python = wait_for("the program", || {
        processes(&mark).into_iter().find(|p| {
            fs::read_to_string(format!("/proc/{p}/comm")).is_ok_and(|c| c.starts_with("python3"))
        })
    });
    kill(python, libc::SIGKILL);
    let out = running.wait();
    out.expect(4);
    let record = env.record("a");
    assert_eq!(record.status, Status::Failed, "{out}");
    assert!(record.reason.contains("signal 9 (SIGKILL)"), "{out}");
    assert_gone(&mark);
    env.assert_store_clean();
}

/// A signal stops the run soon, keeps what is done, leaves no process and a clean store.
#[test]
fn interrupted() {
    for (signal, code) in [(libc::SIGINT, 130), (libc::SIGTERM, 143)] {
        let mark = marker("interrupt");
        let env = waiting(&mark);
        let running = env.cmd(["run", "pipeline.toml"]).bound(Duration::from_secs(30)).spawn();
        env.wait_for_action_file("tmp/up");
        running.signal(signal);
        let out = running.wait();
        out.expect(code);
        assert!(
            out.stderr.contains("w: interrupted; what is done is kept, run again to go on · 1 ran"),
            "{out}"
        );
        assert_gone(&mark);
        assert_eq!(env.records().len(), 1, "an interrupted action is no record");
        env.assert_store_clean();
        assert_eq!(fs::read_dir(env.store_path().join("tmp")).expect("read").count(), 0);
        let running = env.cmd(["run", "pipeline.toml"]).spawn();
        let action = env.wait_for_action_file("tmp/up");
        fs::write(action.join("tmp/go"), "").expect("let it go on");
        running.wait().expect(0);
        assert_eq!(env.records_of("quick").len(), 1, "what was done is kept");
    }
}

/// All thirteen tools leave something running when they are killed so.
#[test]
fn nothing_outlives_a_killed_run() {
    for level in ["none", "landlock", "namespaces", "bubblewrap"] {
        let mark = marker("orphan");
        let script = format!("setsid python3 wait.py {mark} & exec python3 wait.py {mark}");
        let env = TestEnv::with_pipeline(&format!(
            "[pipeline]\nname = \"o\"\n[[stage]]\nname = \"a\"\nkind = \"command\"\ninputs.wait = \"wait.py\"\nrun = {}\n",
            serde_json::to_string(&["sh", "-c", &script]).expect("JSON")
        ));
        env.write("wait.py", "import time\nopen('tmp/up', 'a').write('x')\ntime.sleep(98)\n");
        let mut running = env.cmd(["run", "pipeline.toml", "--sandbox", level]).spawn();
        let up = wait_for("the programs", || {
            if !running.alive() {
                return Some(false);
            }
            let tmp = env.store_path().join("tmp");
            let dir = fs::read_dir(&tmp)
                .ok()?
                .flatten()
                .map(|e| e.path())
                .find(|p| p.join("tmp/up").exists())?;
            (fs::read(dir.join("tmp/up")).ok()?.len() == 2).then_some(true)
        });
        if !up {
            assert_eq!(
                running.wait().code(),
                Some(9),
                "only a missing level is a reason not to run"
            );
            continue;
        }
        running.signal(libc::SIGKILL);
        running.wait();
        assert_gone(&mark);
        env.assert_store_clean();
    }
}

/// Several runs at once on one store: each key is computed once, all do well.
#[test]
fn several_at_once() {
    for count in [2, 5] {
        let env = project();
        let runs: Vec<_> =
            (0..count).map(|_| env.cmd(["run", "pipeline.toml", "--json"]).spawn()).collect();
        let mut ran: BTreeMap<String, u32> = BTreeMap::new();
        for run in runs {
            let out = run.wait();
            out.expect(0);
            for label in crate::harness::ran(&out.events()) {
                *ran.entry(label).or_default() += 1;
            }
        }
        assert_eq!(ran.len(), 18, "{ran:?}");
        assert!(ran.values().all(|n| *n == 1), "with {count} at once: {ran:?}");
        assert_eq!(env.records().len(), 18);
        env.assert_store_clean();
        env.run_ok(&[]).assert_ran(&[]);
    }
}

/// The one that computes dies while another waits for it: the other takes over.
#[test]
fn one_dies_while_another_waits() {
    let mark = marker("two");
    let env = waiting(&mark);
    let first = env.cmd(["run", "pipeline.toml"]).spawn();
    let old = env.wait_for_action_file("tmp/up");
    let second = env.cmd(["run", "pipeline.toml", "--json"]).spawn();
    wait_until("the second run to come to it", || {
        env.journals().len() == 2
            && env.journals().iter().all(|p| {
                env.journal(p)
                    .iter()
                    .any(|e| matches!(e, Event::ActionStarted { label, .. } if label == "a"))
            })
    });
    first.signal(libc::SIGKILL);
    first.wait();
    let new = wait_for("the second to begin", || {
        let tmp = env.store_path().join("tmp");
        let dirs = fs::read_dir(&tmp).ok()?;
        dirs.flatten().map(|e| e.path()).find(|p| *p != old && p.join("tmp/up").exists())
    });
    fs::write(new.join("tmp/go"), "").expect("let it go on");
    let out = second.wait();
    out.expect(0);
    assert_eq!(crate::harness::ran(&out.events()), ["a", "b"]);
    assert_gone(&mark);
    env.assert_store_clean();
}
