//! Killed or interrupted at a moment of the test's choice. `random_kills.rs` has moments of no choice,
//! `together.rs` several processes.

use crate::harness::{TestEnv, assert_gone, kill, marker, processes, wait_for};
use sim_model::Status;
use std::fs;
use std::time::Duration;

/// A pipeline of one action that says when it is up and waits to be told to go on.
pub(crate) fn waiting(mark: &str) -> TestEnv {
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
