//! kill -9 at random moments, of sim-pipe, of a process of an action, of both: the store holds after
//! each, nothing runs on, the next run completes, and nothing that was recorded runs again.
//!
//! SIM_PIPE_TEST_KILLS sets how many moments, SIM_PIPE_TEST_SEED another sequence of them.

use crate::fake::{self, Fake};
use crate::harness::{TestEnv, kill, marker, wait_until};
use sim_model::event::Event;
use std::collections::BTreeSet;
use std::fs;

/// How many moments by default: enough to hit every phase, few enough for every change.
const MOMENTS: u64 = 30;

/// Reproducible numbers.
pub(crate) struct Random(u64);

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|s| s.parse().ok())
}

impl Random {
    pub(crate) fn new() -> Self {
        Self(number("SIM_PIPE_TEST_SEED").unwrap_or(0x5eed))
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

/// Eleven commands in three layers that each write in two halves, and trials of the fake engine. All
/// processes have `mark` in their environment.
pub(crate) fn project(mark: &str) -> TestEnv {
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

[defaults]
env.MARK = "{mark}"
"#
        ),
    );
    env
}

/// Processes with this word in their environment.
pub(crate) fn marked(mark: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").expect("read /proc");
    entries
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| {
            let bytes = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            bytes.windows(mark.len()).any(|w| w == mark.as_bytes())
        })
        .collect()
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

/// What ran to a record. By key: what took the failure of a killed action as an input is another
/// question than what takes its result.
fn finished(events: &[Event]) -> Vec<(String, sim_model::Digest)> {
    let done = events.iter().filter_map(|e| match e {
        Event::ActionFinished { label, key, .. } => Some((label.clone(), *key)),
        _ => None,
    });
    done.collect()
}

/// Everything in the store is whole: nothing torn is visible.
#[track_caller]
fn assert_whole(env: &TestEnv, when: &str) {
    if env.store_path().join("format").exists() {
        let report = env.store().verify(false, &[]).expect("verify");
        assert!(report.findings.is_empty(), "{when}: {:?}", report.findings);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    SimPipe,
    Action,
    Both,
}

#[test]
fn killed_at_random_moments() {
    let mark = marker("kill");
    let env = project(&mark);
    // How many lines of journal a whole run has: the moments are spread over them.
    let whole = project(&mark);
    let first = whole.run_ok(&[]);
    let lines = first.events.len() as u64;
    let expected: BTreeSet<String> = first.ran().into_iter().collect();
    assert_eq!(expected.len(), 18);
    let top = whole.output("top", "x");

    let moments = number("SIM_PIPE_TEST_KILLS").unwrap_or(MOMENTS);
    let mut random = Random::new();
    let mut hits = [0; 3];
    for round in 0..moments {
        let victim = [Victim::SimPipe, Victim::Action, Victim::Both][(round % 3) as usize];
        // From nothing where nothing is left to do, and now and then, so that early moments are hit.
        if round % 4 == 3 || recorded(&env).len() == expected.len() {
            sim_store::tree::remove_all(&env.store_path()).expect("remove the store");
        }
        let before = recorded(&env);
        let journals = env.journals();
        let mut running = env.cmd(["run", "pipeline.toml"]).env("MARK", &mark).spawn();
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
        let main = running.pid();
        if victim != Victim::SimPipe {
            wait_until("an action", || !running.alive() || marked(&mark).len() > 1);
        }
        let mut hit = running.alive();
        if victim != Victim::Action {
            running.signal(libc::SIGKILL);
        }
        if victim != Victim::SimPipe {
            // Wrappers are among them, and supervisors, forks of sim-pipe that execute nothing: whoever
            // is hit, the same must hold. Not so for sim-pipe and a supervisor at one moment: should
            // `bwrap` be just starting, nobody is left who knows of its first process.
            let ours = |pid: &i32| {
                let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                victim == Victim::Both && line.windows(4).any(|w| w == b"run\0")
            };
            let others: Vec<i32> =
                marked(&mark).into_iter().filter(|p| *p != main && !ours(p)).collect();
            hit &= !others.is_empty() || victim == Victim::Both;
            if !others.is_empty() {
                kill(others[random.below(others.len() as u64) as usize], libc::SIGKILL);
            }
        }
        hits[victim as usize] += u32::from(hit);
        let out = running.wait();
        if victim == Victim::Action {
            // The run itself lives on, and says how it went.
            assert!(matches!(out.code(), Some(0 | 4)), "round {round}: {out}");
        }
        let when = format!("round {round}, {victim:?}");
        wait_until(&format!("the end of all processes, {when}"), || marked(&mark).is_empty());
        let after = recorded(&env);
        assert!(before.is_subset(&after), "{when}: a record is gone");
        assert_whole(&env, &when);
        // The killed run ran nothing that was recorded before it.
        for path in env.journals().difference(&journals) {
            for done in finished(&env.journal(path)) {
                assert!(!before.contains(&done), "{when}: {} ran again", done.0);
            }
        }
    }
    eprintln!("of {moments} kills {hits:?} fell into a run: of sim-pipe, an action, both");
    assert!(hits.iter().all(|n| u64::from(*n) * 20 > moments / 3), "too few hits: {hits:?}");

    env.assert_store_clean();
    let before = recorded(&env);
    let last = env.run_ok(&[]);
    for done in finished(&last.events) {
        assert!(!before.contains(&done), "{} ran again", done.0);
    }
    env.assert_store_clean();
    env.run_ok(&[]).assert_ran(&[]);
    // Every result once, and the bytes are those of a run that nobody killed.
    let good: Vec<_> = env.records().into_iter().filter(|r| r.status.reusable()).collect();
    let keys: BTreeSet<_> = good.iter().map(|r| r.key).collect();
    assert_eq!(keys.len(), good.len());
    assert_eq!(env.output("top", "x"), top);
    let labels: BTreeSet<String> = good.into_iter().map(|r| r.label).collect();
    assert_eq!(labels, expected);
    // Unfinished work of the dead is swept: nothing in tmp/ outlives the next runs.
    env.sim(["store", "gc"]).expect(0);
    assert_eq!(fs::read_dir(env.store_path().join("tmp")).expect("read").count(), 0);
}
