//! Actions that lie, hang, flood, fork, escape or crash: each fails alone, with its reason, and
//! leaves nothing behind.

use crate::fake::{self, Fake};
use crate::harness::{TestEnv, assert_gone, marker, processes};
use sim_model::Status;
use std::time::Duration;

/// A pipeline of `command` stages, one a case, beside one that does well.
fn cases(list: &[(&str, &str, &str)]) -> TestEnv {
    let mut text = String::from("[pipeline]\nname = \"bad\"\n");
    for (name, script, more) in list {
        let script = script.replace('{', "{{").replace('}', "}}");
        let run = serde_json::to_string(&["sh", "-c", &script]).expect("JSON");
        text.push_str(&format!(
            "[[stage]]\nname = \"{name}\"\nkind = \"command\"\nrun = {run}\n{more}\n"
        ));
    }
    text.push_str("[[stage]]\nname = \"good\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"echo > {out}/x\"]\n");
    text.push_str("[[stage]]\nname = \"after\"\nkind = \"command\"\nrun = [\"cp\", \"{inputs.it}/x\", \"{out}/y\"]\n");
    text.push_str(&format!("inputs.it = \"{}\"\n", list[0].0));
    TestEnv::with_pipeline(&text)
}

/// Each case ends as told, the others end well, and what needs the first is skipped.
fn check(list: &[(&str, &str, &str)], expected: &[(&str, Status, &str)]) -> TestEnv {
    let env = cases(list);
    let ran = env.run(&[]);
    ran.out.expect(4);
    for (name, status, reason) in expected {
        let (ended, why) = ran.ended(name);
        // `bwrap` tells of a signal by an exit code, the other levels by the signal.
        let by_code = why.split_once(", as a shell or a sandbox tells of ");
        let why = by_code.map_or(why.clone(), |(_, s)| format!("it was ended by {s}"));
        assert_eq!((ended, why), (*status, (*reason).to_owned()), "{name}\n{}", ran.out);
    }
    assert_eq!(ran.ended("good").0, Status::Ok);
    assert_eq!(ran.skipped(), [("after".to_owned(), list[0].0.to_owned())]);
    env.assert_store_clean();
    // A failure is no result: the next run tries again.
    let names: Vec<&str> = expected.iter().map(|e| e.0).collect();
    let again = env.run(&[]);
    again.out.expect(4);
    again.assert_ran(&names);
    env
}

use Status::{Failed, OutOfMemory, TimedOut};

#[test]
fn wrong_outputs() {
    check(
        &[
            ("nothing", "true", ""),
            ("missing", "echo > out/a", "outputs = [\"a\", \"b\", \"c/d\"]"),
            (
                "undeclared",
                "mkdir out/d; echo > out/a; echo > out/b; echo > out/d/e",
                "outputs = [\"a\"]",
            ),
            ("fifo", "mkdir out/d; mkfifo out/d/pipe", ""),
            ("absolute", "ln -s /etc/passwd out/l", ""),
            ("upwards", "ln -s ../.. out/l", ""),
            ("sideways", "mkdir out/d; ln -s ../../in out/d/l", ""),
            (
                "socket",
                "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"out/s\")'",
                "",
            ),
            ("replaced", "rmdir out; ln -s /etc out", ""),
            ("gone", "rmdir out", ""),
            ("file", "rmdir out; echo > out", ""),
        ],
        &[
            ("nothing", Failed, "it ended well but left out/ empty"),
            ("missing", Failed, "declared but not written: b, c/d"),
            ("undeclared", Failed, "written but not declared: b, d"),
            (
                "fifo",
                Failed,
                "bad output: d/pipe is a named pipe; only files, folders and links can be kept",
            ),
            ("absolute", Failed, "bad output: l is a link that leads outside: /etc/passwd"),
            ("upwards", Failed, "bad output: l is a link that leads outside: ../.."),
            ("sideways", Failed, "bad output: d/l is a link that leads outside: ../../in"),
            (
                "socket",
                Failed,
                "bad output: s is a socket; only files, folders and links can be kept",
            ),
            ("replaced", Failed, "it removed or replaced out/"),
            ("gone", Failed, "it removed or replaced out/"),
            ("file", Failed, "it removed or replaced out/"),
        ],
    );
}

#[test]
fn wrong_ends() {
    check(
        &[
            ("code", "echo > out/x; exit 7", ""),
            ("segv", "kill -SEGV $$", ""),
            ("killed", "kill -KILL $$", ""),
            ("term", "kill -TERM $$", ""),
            (
                "status-lie",
                "echo '{\"protocol\": 1, \"status\": \"ok\"}' > status.json; exit 2",
                "",
            ),
            (
                "status-junk",
                "echo '{\"protocol\": 1, \"status\": NaN}' > status.json; echo > out/x",
                "",
            ),
            ("status-link", "ln -s /dev/zero status.json; echo > out/x", ""),
            (
                "status-fail",
                "echo '{\"protocol\": 1, \"status\": \"failed\", \"reason\": \"my own\"}' > status.json; echo > out/x",
                "",
            ),
        ],
        &[
            ("code", Failed, "exit code 7"),
            ("segv", Failed, "it was ended by signal 11 (SIGSEGV)"),
            ("killed", Failed, "it was ended by signal 9 (SIGKILL)"),
            ("term", Failed, "it was ended by signal 15 (SIGTERM)"),
            ("status-lie", Failed, "it says ok and ends with exit code 2"),
            (
                "status-junk",
                Failed,
                "exit code 0; status.json is not valid: expected value at line 1 column 27",
            ),
            ("status-link", Failed, "exit code 0; status.json is not a small file"),
            ("status-fail", Failed, "my own"),
        ],
    );
}

#[test]
fn a_program_that_is_not_there_skips_its_stage_alone() {
    let env = TestEnv::with_pipeline(
        "[pipeline]\nname = \"m\"\n[[stage]]\nname = \"a\"\nkind = \"command\"\nrun = [\"no-such-program\"]\n\
         [[stage]]\nname = \"b\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"echo > {out}/x\"]\n",
    );
    let ran = env.run(&[]);
    ran.out.expect(9);
    ran.assert_ran(&["b"]);
    assert!(
        ran.out.stderr.contains("a: it needs `no-such-program`, which is not on PATH"),
        "{}",
        ran.out
    );
}

/// P153, P156, P280: a timeout and a memory cap hold for everything an action starts.
#[test]
fn limits_hold_for_the_whole_tree_of_processes() {
    let mark = marker("limits");
    let python = |code: &str| format!("python3 -c \"{code}\" {mark}");
    let deaf = python(
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(100)",
    );
    let grandchild = python(
        "import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', 'import time; x = bytearray(400 << 20); time.sleep(100)', sys.argv[1]]))",
    );
    let fork =
        format!("setsid {} & echo > out/x; exec sleep 100", python("import time; time.sleep(100)"));
    let list = [
        ("plain", "exec sleep 99.5".to_owned(), "timeout = \"500ms\""),
        ("deaf", deaf, "timeout = \"500ms\""),
        ("forked", fork, "timeout = \"500ms\""),
        ("memory", grandchild, "memory = \"200MiB\""),
    ];
    let list: Vec<(&str, &str, &str)> = list.iter().map(|(n, s, m)| (*n, s.as_str(), *m)).collect();
    let env = cases(&list);
    let ran = env.run(&[]);
    ran.out.expect(4);
    for name in ["plain", "deaf", "forked"] {
        let expected = (TimedOut, "it ran longer than its timeout of 0.5 s".to_owned());
        assert_eq!(ran.ended(name), expected, "{}", ran.out);
    }
    let (status, reason) = ran.ended("memory");
    assert_eq!(status, OutOfMemory, "{reason}");
    assert!(
        reason.starts_with("its processes used 0.")
            && reason.ends_with(" GiB, more than their cap of 0.20 GiB"),
        "{reason}"
    );
    assert_gone(&mark);
    assert!(env.record("memory").usage.peak_tree_bytes > 200 << 20);
    env.assert_store_clean();
}

/// A double fork with a session of its own: gone when the action ends, and said so.
#[test]
fn what_is_left_behind_is_killed() {
    let mark = marker("left");
    let script = format!(
        "setsid sh -c 'sleep 97 & exec python3 -c \"import time; open(\\\"tmp/up\\\", \\\"w\\\"); time.sleep(97)\" {mark}' & \
         while [ ! -e tmp/up ]; do sleep 0.01; done; echo > out/x"
    );
    let run = serde_json::to_string(&["sh", "-c", &script]).expect("JSON");
    let env = TestEnv::with_pipeline(&format!(
        "[pipeline]\nname = \"left\"\n[[stage]]\nname = \"a\"\nkind = \"command\"\nrun = {run}\n"
    ));
    for level in ["none", "landlock", "namespaces"] {
        sim_store::tree::remove_all(&env.store_path()).expect("remove the store");
        let ran = env.run(&["--sandbox", level]);
        if ran.out.code() == Some(9) {
            continue;
        }
        ran.out.expect(0);
        assert!(processes(&mark).is_empty(), "{level}: it is gone before the run ends");
        assert_eq!(ran.warnings("a"), ["it left 2 processes behind, which were killed"], "{level}");
    }
    let ran = env.run(&["--sandbox", "bubblewrap"]);
    assert!(matches!(ran.out.code(), Some(0 | 9)), "{}", ran.out);
    assert_gone(&mark);
}

/// The log keeps its beginning and its end, and costs no memory in between.
#[test]
fn a_flood_of_log_is_bounded() {
    let script = "echo the first line; yes 'all work and no play' | head -c 10000000000; echo the last line; echo > out/x";
    let list = [
        ("flood", script, "timeout = \"3s\""),
        (
            "long",
            "echo the first line; yes 0123456789 | head -c 30000000; echo the last line; echo > out/x",
            "",
        ),
    ];
    let env = cases(&list);
    let ran = env.run(&[]);
    ran.out.expect(4);
    assert_eq!(ran.ended("flood").0, TimedOut, "{}", ran.out);
    assert_eq!(ran.ended("long").0, Status::Ok);
    for name in ["flood", "long"] {
        let record = env.record(name);
        let log = env.log(&record);
        assert!(log.len() < 3 << 20, "{} bytes of log", log.len());
        assert!(log.starts_with(b"the first line\n"));
        assert!(record.log_dropped > 0);
        let note = format!("[sim-pipe: {} bytes of log left out here]", record.log_dropped);
        assert!(String::from_utf8_lossy(&log).contains(&note));
    }
    assert!(env.log(&env.record("long")).ends_with(b"the last line\n"));
    env.assert_store_clean();
}

/// The fake engine does all that an engine might: each trial fails alone and says why.
#[test]
fn engines_that_lie_crash_or_stray() {
    let scripts: Vec<(&str, String)> = [
        "succeed",
        "lie_digest",
        "lie_elapsed",
        "lie_gate",
        "wrong_physics",
        "unsupported",
        "out_of_memory",
        "panic",
        "leave_child",
        "flood",
        "nan",
        "truncated",
        "undeclared",
        "links",
        "silent",
        "exit_code",
        "crash",
        "network",
        "ignore_term",
        "hang",
    ]
    .iter()
    .map(|b| (*b, format!("{{\"behaviour\": \"{b}\", \"seconds\": 90, \"megabytes\": 8}}")))
    .collect();
    let scripts: Vec<(&str, &str)> = scripts.iter().map(|(n, s)| (*n, s.as_str())).collect();
    let env =
        fake::project(&Fake { scripts: &scripts, trial: "timeout = \"5s\"", ..Fake::default() });
    let ran = env.cmd(["run", "pipeline.toml"]).bound(Duration::from_secs(200)).run();
    ran.expect(4);
    let mut text = String::new();
    for (name, _) in &scripts {
        let record = env.record(&format!("trial[{name}]/free_fall/3x1/r0/timed"));
        // A time differs from run to run.
        let reason = record
            .reason
            .split("Some(")
            .map(|p| p.trim_start_matches(|c: char| c.is_ascii_digit() || ".e-".contains(c)));
        let reason = reason.collect::<Vec<_>>().join("Some(…");
        let reason = reason.split("EOF while").next().unwrap_or_default();
        text.push_str(&format!("{name}: {} · {reason}\n", record.status.name()));
        for warning in record.warnings.iter().filter(|w| !w.starts_with("noisy")) {
            text.push_str(&format!("  warning: {warning}\n"));
        }
    }
    crate::harness::assert_text(&text, "
succeed: ok · 
lie_digest: failed · the adapter's result contradicts itself: final_state_digest is not the digest of the poses in final.json
lie_elapsed: failed · the adapter's result contradicts itself: ms_per_step = Some(…): is not measured_ns / 1e6 / steps
lie_gate: failed · the adapter's result contradicts itself: gates[4].passed = true: contradicts value and limit
wrong_physics: gate_failed · free_fall is 0.053137500000012494 m (limit 0.004087500000268099)
unsupported: unsupported · told to say so
out_of_memory: out_of_memory · told to say so
panic: failed · panic in the adapter: told to panic
leave_child: ok · 
  warning: it left a process behind, which was killed
flood: ok · 
nan: failed · the adapter's result is not valid: expected value at line 34 column 18
truncated: failed · the adapter's result is not valid: 
undeclared: ok · 
links: ok · 
silent: failed · the adapter ended with exit status: 0 and left no result
exit_code: failed · the adapter ended with exit status: 3 and left no result
crash: failed · the adapter ended with signal: 11 (SIGSEGV) and left no result
network: ok · 
ignore_term: timed_out · it ran longer than its timeout of 5 s
hang: timed_out · it ran longer than its timeout of 5 s
");
    // What nobody declared is not in the results.
    for name in ["undeclared", "links", "succeed"] {
        let dir = env.output_dir(&format!("trial[{name}]/free_fall/3x1/r0/timed"));
        let mut files: Vec<String> = std::fs::read_dir(dir)
            .expect("read")
            .map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        files.sort();
        assert_eq!(files, ["final.json", "job.json", "result.json", "state.txt"], "{name}");
    }
    let network = env.text("trial[network]/free_fall/3x1/r0/timed", "result.json");
    assert!(
        network.contains("\"network\": \"blocked\"") || env.records()[0].sandbox == "none",
        "{network}"
    );
    env.assert_store_clean();
}

#[test]
fn fail_fast_starts_nothing_more() {
    let mut list = vec![("first", "exit 1", "")];
    list.push(("second", "echo > out/x", ""));
    let env = cases(&list);
    let ran = env.run(&["--fail-fast", "-j", "1"]);
    ran.out.expect(4);
    ran.assert_ran(&["first"]);
    env.run(&[]).assert_ran(&["first", "good", "second"]);
}
