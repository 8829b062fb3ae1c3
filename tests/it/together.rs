//! Several sim-pipe processes on one store: each key is computed once, nobody waits for the dead, and
//! measured actions stay alone.

use crate::harness::{Running, TestEnv, assert_gone, marker, ran, wait_for, wait_until};
use crate::kills::waiting;
use crate::random_kills::{Random, marked, project};
use sim_model::event::Event;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Waits for runs that must do well, and counts what each of them ran.
fn count(runs: Vec<Running>) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for run in runs {
        let out = run.wait();
        out.expect(0);
        for label in ran(&out.events()) {
            *counts.entry(label).or_default() += 1;
        }
    }
    counts
}

/// SCons/scons#1725, treeverse/dvc#5795, #10465: two writers share a temporary name, or the second
/// fails; six tools end with wrong files.
#[test]
fn several_at_once() {
    let alone = project("alone");
    alone.run_ok(&[]);
    for n in [2, 5, 8] {
        let mark = marker("together");
        let env = project(&mark);
        let start = |_| env.cmd(["run", "pipeline.toml", "--json"]).spawn();
        let counts = count((0..n).map(start).collect());
        assert_eq!(counts.len(), 18, "{counts:?}");
        assert!(counts.values().all(|n| *n == 1), "with {n} at once: {counts:?}");
        assert_eq!(env.records().len(), 18);
        env.assert_store_clean();
        env.run_ok(&[]).assert_ran(&[]);
        assert_eq!(env.output("top", "x"), alone.output("top", "x"));
    }
}

/// Pipelines that share some stages and not others, of one project and of another, on one store.
#[test]
fn different_pipelines_share_what_is_the_same() {
    let env = TestEnv::new();
    let shared = "[[stage]]\nname = \"shared\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"echo {n} > {out}/x\"]\nmatrix.n = [1, 2, 3, 4]\n";
    let own = |name: &str| {
        format!(
            "[pipeline]\nname = \"{name}\"\n{shared}[[stage]]\nname = \"own\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"cat {{inputs.s}}/*/x > {{out}}/{name}\"]\ninputs.s = \"shared[*]\"\n"
        )
    };
    for i in 0..5 {
        env.write(&format!("p{i}/pipeline.toml"), own(&format!("p{i}")));
    }
    let store = env.dir().join("store").display().to_string();
    let runs = (0..5).map(|i| {
        let file = format!("p{i}/pipeline.toml");
        env.cmd(["run", &file, "--json", "--store", &store]).spawn()
    });
    let counts = count(runs.collect());
    assert_eq!(counts["own"], 5);
    for n in 1..=4 {
        assert_eq!(counts[&format!("shared[{n}]")], 1, "{counts:?}");
    }
    env.sim(["store", "verify", "--store", &store]).expect(0);
    let listed = env.sim(["store", "ls", "--store", &store]);
    for i in 0..5 {
        assert!(listed.stdout.contains(&format!("p{i}  5 actions")), "{listed}");
    }
}

/// Two projects may call their pipelines by one name: what the one's last run reached is kept, though
/// the other runs later.
#[test]
fn two_projects_with_one_name_keep_what_each_reached() {
    let env = TestEnv::new();
    let store = env.dir().join("store").display().to_string();
    for (folder, word) in [("one", "first"), ("two", "second")] {
        env.write(
            &format!("{folder}/pipeline.toml"),
            format!("[pipeline]\nname = \"same\"\n[[stage]]\nname = \"a\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"echo {word} > {{out}}/x\"]\n"),
        );
    }
    let run = |folder: &str| {
        let file = format!("{folder}/pipeline.toml");
        let out = env.sim(["run", &file, "--store", &store]);
        out.expect(0);
        out.stderr.contains("nothing to do")
    };
    assert!(!run("one") && !run("two"));
    env.sim(["store", "gc", "--store", &store]).expect(0);
    assert!(run("one") && run("two"), "both are still there");
    for folder in ["one", "two"] {
        let file = format!("{folder}/pipeline.toml");
        let out = env.sim(["audit", &file, "--store", &store]);
        assert!(out.expect(0).stderr.contains("same: everything holds"), "{out}");
    }
    // Nothing of a path is in the store's roots.
    for entry in fs::read_dir(env.dir().join("store/roots")).expect("read") {
        let text = fs::read_to_string(entry.expect("an entry").path()).expect("read");
        assert!(!text.contains(&env.dir().display().to_string()), "{text}");
    }
    // A store inside its project moves with it.
    let one = env.path("one");
    let run = |dir: &std::path::Path| {
        let out = env.cmd(["run", "pipeline.toml"]).cwd(dir).run();
        out.expect(0);
        out.stderr.contains("nothing to do")
    };
    assert!(!run(&one));
    let moved = env.path("moved");
    fs::rename(&one, &moved).expect("mv");
    assert!(run(&moved));
    assert_eq!(fs::read_dir(moved.join(".sim-pipe/roots")).expect("read").count(), 1);
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
    assert_eq!(ran(&out.events()), ["a", "b"]);
    assert_gone(&mark);
    env.assert_store_clean();
}

/// Runs start and are killed while others go on; snakemake/snakemake#748: nothing of the user's is
/// touched by it.
#[test]
fn runs_that_start_and_die_beside_others() {
    let mark = marker("crowd");
    let env = project(&mark);
    let files = || -> Vec<(std::path::PathBuf, Vec<u8>, std::time::SystemTime)> {
        let mut all: Vec<_> = ["pipeline.toml", "suite.toml", "mk.sh", "scripts/good.json"]
            .map(|f| env.path(f))
            .into_iter()
            .map(|p| {
                let time = fs::metadata(&p).expect("stat").modified().expect("a time");
                (p.clone(), fs::read(&p).expect("read"), time)
            })
            .collect();
        all.sort();
        all
    };
    let before = files();
    let mut random = Random::new();
    let mut crowd: Vec<Running> = Vec::new();
    let start = || env.cmd(["run", "pipeline.toml", "--json"]).env("MARK", &mark).spawn();
    for _ in 0..5 {
        crowd.push(start());
    }
    // At each new line of any journal one dies or one comes, until there is nothing left to do.
    let seen =
        || -> u64 { env.journals().iter().map(|p| fs::metadata(p).map_or(0, |m| m.len())).sum() };
    for _ in 0..12 {
        let size = seen();
        wait_until("something to happen", || seen() > size || crowd.iter_mut().all(|r| !r.alive()));
        let at = random.below(crowd.len() as u64) as usize;
        let victim = crowd.swap_remove(at);
        victim.signal(libc::SIGKILL);
        victim.wait();
        crowd.push(start());
    }
    for run in crowd {
        run.wait().expect(0);
    }
    wait_until("the end of all processes", || marked(&mark).is_empty());
    env.assert_store_clean();
    env.run_ok(&[]).assert_ran(&[]);
    // Each key has one record, whoever wrote it.
    let keys: Vec<_> = env.records().iter().map(|r| r.key).collect();
    assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
    assert_eq!(keys.len(), 18);
    assert_eq!(files(), before, "no file of the user is opened for writing");
}

/// bazelbuild/bazel#2525, #3791: repeats of what must run alone never overlap, in one process or in
/// several, and the second run uses all of them.
#[test]
fn twenty_repeats_of_a_measurement_never_overlap() {
    let env = TestEnv::new();
    for name in ["one", "two"] {
        env.write(
            &format!("{name}.toml"),
            format!(
                "[pipeline]\nname = \"{name}\"\n[[stage]]\nname = \"{name}\"\nkind = \"command\"\nclass = \"measured\"\nrepeats = 20\n\
                 run = [\"sh\", \"-c\", \"date +%s%N > {{out}}/begin; sleep 0.01; date +%s%N > {{out}}/end; : {name}\"]\n\
                 [[stage]]\nname = \"busy\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"date +%s%N > {{out}}/begin; sleep 0.01; date +%s%N > {{out}}/end; echo {{n}} > {{out}}/n\"]\n\
                 matrix.n = [1, 2, 3, 4, 5, 6]\n"
            ),
        );
    }
    let run = |name: &str| env.cmd(["run", &format!("{name}.toml"), "--json", "-j", "4"]).spawn();
    let counts = count(vec![run("one"), run("two")]);
    assert_eq!(counts.len(), 20 + 20 + 6);
    // Begin and end as the actions themselves saw them, measured ones marked.
    let mut spans: Vec<(u64, u64, bool, String)> = Vec::new();
    for record in env.records() {
        let dir = env.store().tree_path(&record.output.as_ref().expect("an output").digest);
        let read = |file: &str| -> u64 {
            fs::read_to_string(dir.join(file)).expect("read").trim().parse().expect("a number")
        };
        let alone = record.class == sim_model::Class::Measured;
        spans.push((read("begin"), read("end"), alone, record.label));
    }
    spans.sort();
    for (i, a) in spans.iter().enumerate() {
        for b in &spans[i + 1..] {
            let overlap = b.0 < a.1 && (a.2 || b.2);
            assert!(!overlap, "{} and {} overlap", a.3, b.3);
        }
    }
    let counts = count(vec![run("one"), run("two")]);
    assert_eq!(counts, BTreeMap::new(), "an observation is used again");
    env.assert_store_clean();
}
