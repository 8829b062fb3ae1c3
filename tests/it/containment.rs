//! Actions that misbehave, at every level of the sandbox: each is contained, named, and leaves nothing
//! running. What a level does not promise is not asked of it.

use crate::harness::{Ran, TestEnv, marker, tick, wait_until};
use crate::random_kills::marked;
use crate::sandbox::{LEVELS, have};
use sim_model::Status;
use std::net::TcpListener;
use std::path::Path;

/// Stages of shell scripts, all with `mark` in their environment; `made` gives them an input.
fn stages(mark: &str, list: &[(&str, &str, &str)]) -> TestEnv {
    let mut text = format!(
        "[pipeline]\nname = \"contained\"\n[defaults]\nenv.MARK = \"{mark}\"\n\
         [[stage]]\nname = \"made\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"echo made > {{out}}/made.txt\"]\n"
    );
    for (name, script, more) in list {
        let script = script.replace('{', "{{").replace('}', "}}");
        let run = serde_json::to_string(&["sh", "-c", &script]).expect("JSON");
        text.push_str(&format!(
            "[[stage]]\nname = \"{name}\"\nkind = \"command\"\ninputs.made = \"made\"\nrun = {run}\n{more}\n"
        ));
    }
    TestEnv::with_pipeline(&text)
}

/// Runs the same stages at every level that the machine has; afterwards nothing of them runs.
fn at_every_level(list: &[(&str, &str, &str)], check: impl Fn(&str, &TestEnv, &Ran)) {
    for level in LEVELS.iter().filter(|l| have(l)) {
        let mark = marker(&format!("contained-{level}"));
        let env = stages(&mark, list);
        let ran = env.run(&["--sandbox", level]);
        wait_until("the end of all that they started", || marked(&mark).is_empty());
        check(level, &env, &ran);
        env.assert_store_clean();
        let tmp = std::fs::read_dir(env.store_path().join("tmp")).expect("read").count();
        assert_eq!(tmp, 0, "{level}: unfinished work stays");
    }
}

/// A double fork with a session of its own, as daemons do.
const DAEMON: &str = r#"python3 -c '
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in (0, 1, 2): os.close(fd)
        open("tmp/up", "w")
        time.sleep(100)
    os._exit(0)
' & while [ ! -e tmp/up ]; do sleep 0.01; done; "#;

#[test]
fn what_forks_away_is_gone_when_the_action_ends() {
    let background = "sleep 100 & echo > out/x";
    let daemon = format!("{DAEMON} echo > out/x");
    // Holds the log open and writes on.
    let writer = "yes noise & echo > out/x";
    let list =
        [("background", background, ""), ("daemon", daemon.as_str(), ""), ("writer", writer, "")];
    at_every_level(&list, |level, _, ran| {
        ran.out.expect(0);
        for name in ["background", "daemon", "writer"] {
            assert_eq!(ran.ended(name).0, Status::Ok, "{level}: {}", ran.out);
            if level != "bubblewrap" {
                let left = ran.warnings(name);
                assert!(
                    left.len() == 1 && left[0].starts_with("it left "),
                    "{level} {name}: {left:?}"
                );
            }
        }
    });
}

/// A timeout reaches everybody: first a request, which a program may use to say a last word, then
/// an end that none can refuse.
#[test]
fn a_timeout_asks_and_then_ends_everything() {
    let deaf = "python3 -c 'import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(100)'";
    let daemon = format!("{DAEMON} exec sleep 100");
    let polite =
        "trap 'echo asked to end; exit 0' TERM; echo > out/x; while :; do sleep 0.05; done";
    let list = [
        ("deaf", deaf, "timeout = \"500ms\""),
        ("daemon", daemon.as_str(), "timeout = \"1s\""),
        ("polite", polite, "timeout = \"500ms\""),
    ];
    at_every_level(&list, |level, env, ran| {
        ran.out.expect(4);
        for (name, limit) in [("deaf", "0.5"), ("daemon", "1"), ("polite", "0.5")] {
            let expected =
                (Status::TimedOut, format!("it ran longer than its timeout of {limit} s"));
            assert_eq!(ran.ended(name), expected, "{level}: {}", ran.out);
        }
        let log = env.log(&env.record("polite"));
        assert!(log.ends_with(b"asked to end\n"), "{level}: it had its last word");
    });
}

#[test]
fn a_memory_cap_counts_grandchildren() {
    let script = "python3 -c 'import subprocess, sys; sys.exit(subprocess.call([sys.executable, \"-c\", \"import time; x = bytearray(300 << 20); time.sleep(100)\"]))'";
    at_every_level(&[("hungry", script, "memory = \"150MiB\"")], |level, env, ran| {
        ran.out.expect(4);
        let (status, reason) = ran.ended("hungry");
        assert_eq!(status, Status::OutOfMemory, "{level}: {reason}");
        assert!(reason.ends_with("GiB, more than their cap of 0.15 GiB"), "{level}: {reason}");
        assert!(env.record("hungry").usage.peak_tree_bytes > 150 << 20);
    });
}

/// Ten gigabytes of log take no room on the disk, and only as long as they may.
#[test]
fn ten_gigabytes_of_log_cost_nothing() {
    let script =
        "echo first; yes 'all work and no play' | head -c 10000000000; echo last; echo > out/x";
    at_every_level(&[("flood", script, "timeout = \"1s\"")], |level, env, ran| {
        ran.out.expect(4);
        assert_eq!(ran.ended("flood").0, Status::TimedOut, "{level}: {}", ran.out);
        let record = env.record("flood");
        let log = env.log(&record);
        assert!(log.starts_with(b"first\n") && log.len() < 3 << 20 && record.log_dropped > 0);
        assert!(sim_store::gc::size_of(&env.store_path()).expect("size") < 4 << 20, "{level}");
    });
}

#[test]
fn outputs_that_cannot_be_kept() {
    let list = [
        ("nothing", "true", ""),
        ("missing", "echo > out/a", "outputs = [\"b\"]"),
        ("passwd", "ln -s /etc/passwd out/l", ""),
        ("up", "ln -s .. out/l", ""),
        ("fifo", "mkfifo out/p", ""),
        ("socket", "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"out/s\")'", ""),
        ("input", "ln -s ../in/made out/l", ""),
    ];
    at_every_level(&list, |level, env, ran| {
        ran.out.expect(4);
        for (name, reason) in [
            ("nothing", "it ended well but left out/ empty"),
            ("missing", "declared but not written: b"),
            ("passwd", "bad output: l is a link that leads outside: /etc/passwd"),
            ("up", "bad output: l is a link that leads outside: .."),
            ("fifo", "bad output: p is a named pipe; only files, folders and links can be kept"),
            ("socket", "bad output: s is a socket; only files, folders and links can be kept"),
            ("input", "bad output: l is a link that leads outside: ../in/made"),
        ] {
            assert_eq!(ran.ended(name), (Status::Failed, reason.to_owned()), "{level}");
            assert!(env.record(name).output.is_none());
        }
        assert_eq!(ran.ended("made").0, Status::Ok);
    });
}

/// A number above 128 is a number; what a program says of itself counts.
#[test]
fn exit_codes_above_128_are_exit_codes() {
    let says = r#"echo '{"protocol": 1, "status": "failed", "reason": "my own word"}' > status.json; exit 150"#;
    let list = [
        ("e129", "exit 129", ""),
        ("e137", "exit 137", ""),
        ("e192", "exit 192", ""),
        ("e193", "exit 193", ""),
        ("says", says, ""),
    ];
    at_every_level(&list, |level, _, ran| {
        for (name, reason) in [
            ("e129", "exit code 129, as a shell or a sandbox tells of signal 1 (SIGHUP)"),
            ("e137", "exit code 137, as a shell or a sandbox tells of signal 9 (SIGKILL)"),
            ("e192", "exit code 192, as a shell or a sandbox tells of signal 64 (another signal)"),
            ("e193", "exit code 193"),
            ("says", "my own word"),
        ] {
            assert_eq!(ran.ended(name), (Status::Failed, reason.to_owned()), "{level}");
        }
    });
}

/// An action that changes its inputs: refused where the level can; at the others found, so that
/// nobody else is given what it made of them.
#[test]
fn changed_inputs_are_refused_or_found() {
    // Not in the same tick of the clock as they were made: nobody is that fast by accident.
    let script = "sleep 0.1; chmod u+w in/made in/made/made.txt; echo tampered > in/made/made.txt; ls in > out/x";
    at_every_level(&[("vandal", script, "")], |level, env, ran| {
        ran.out.expect(0);
        let path = env.output_dir("made").join("made.txt");
        if level != "none" {
            assert_eq!(std::fs::read_to_string(&path).expect("read"), "made\n", "{level}");
            // Landlock knows no right to change modes; nothing but the mode can have changed.
            env.run_ok(&[]).assert_ran(&[]);
            return;
        }
        assert_eq!(
            std::fs::read_to_string(&path).expect("read"),
            "tampered\n",
            "none promises nothing"
        );
        tick(&path);
        let verified = env.sim(["store", "verify"]);
        verified.expect(6);
        env.run_ok(&[]).assert_ran(&["made"]);
        assert_eq!(env.text("made", "made.txt"), "made\n");
    });
}

#[test]
fn the_network_is_out_of_reach() {
    let tcp = TcpListener::bind("127.0.0.1:0").expect("listen");
    let port = tcp.local_addr().expect("an address").port();
    let script = format!(
        "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), timeout=5)' && echo reached > out/x"
    );
    at_every_level(&[("caller", &script, "")], |level, _, ran| {
        let expected = if level == "none" { Status::Ok } else { Status::Failed };
        assert_eq!(ran.ended("caller").0, expected, "{level}: {}", ran.out);
    });
}

/// A run that is told to end, or killed, takes with it whatever its actions started, at every level.
#[test]
fn nothing_is_alive_after_a_signal() {
    let script = format!("{DAEMON} trap '' TERM INT HUP; sleep 100 & while :; do sleep 1; done");
    for level in LEVELS.iter().filter(|l| have(l)) {
        for (signal, code) in [
            (libc::SIGINT, Some(130)),
            (libc::SIGTERM, Some(143)),
            (libc::SIGHUP, Some(129)),
            (libc::SIGKILL, None),
        ] {
            let mark = marker("signal");
            let env = stages(&mark, &[("stubborn", &script, "")]);
            let mut running = env.cmd(["run", "pipeline.toml", "--sandbox", level]).spawn();
            wait_until("the daemon", || {
                assert!(running.alive());
                up(&env.store_path().join("tmp"))
            });
            running.signal(signal);
            let out = running.wait();
            assert_eq!(out.code(), code, "{level}: {out}");
            wait_until("the end of everything", || marked(&mark).is_empty());
            assert_eq!(env.records().len(), 1, "an interrupted action is no record");
            env.sim(["store", "verify"]).expect(0);
            // The next run begins where this one was stopped, with nothing to be done by hand.
            let plan = env.sim(["plan", "pipeline.toml", "--json"]);
            let line = plan.json().into_iter().find(|l| l["label"] == "stubborn").expect("a line");
            assert_eq!(line["do"], "run", "{level}: {plan}");
        }
    }
}

fn up(tmp: &Path) -> bool {
    let entries = std::fs::read_dir(tmp).into_iter().flatten().flatten();
    entries.map(|e| e.path()).any(|p| p.join("tmp/up").exists())
}
