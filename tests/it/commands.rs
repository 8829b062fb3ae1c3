//! Every command, from outside: what it prints, where, and its exit code.

use crate::cache::{MEASURED, TWO, two};
use crate::fake;
use crate::harness::{TestEnv, assert_text, skip, tamper, wait_for};
use std::fs;
use std::io::{Read as _, Write as _};

fn shown(env: &TestEnv, args: &[&str], code: i32) -> String {
    let out = env.sim(args);
    out.expect(code);
    out.out() + &out.err()
}

#[test]
fn plan_says_what_would_run_and_writes_nothing_but_caches() {
    let env = two();
    assert_text(
        &shown(&env, &["plan", "pipeline.toml"], 0),
        "
    run  [HASH]  upper
    run                count  (if upper gives something new)
two: 0 reused · 1 to run · 1 behind those
",
    );
    assert!(!env.store_path().exists());
    env.run_ok(&[]);
    assert_text(
        &shown(&env, &["plan", "pipeline.toml"], 0),
        "
two: 2 reused · 0 to run
",
    );
    env.write("text.txt", "hello, all\n");
    let all = shown(&env, &["plan", "pipeline.toml", "--all"], 0);
    assert_text(
        &all.replace("about [TIME] of work", "about […] of work"),
        "
    run  [HASH]  upper
    run                count  (if upper gives something new)
two: 0 reused · 1 to run · 1 behind those · about […] of work as last time
",
    );
    let lines = env.sim(["plan", "pipeline.toml", "--json"]).json();
    assert_eq!(lines[0]["label"], "upper");
    assert_eq!(lines[0]["do"], "run");
    assert_eq!(lines[1]["detail"], "if upper gives something new");
}

#[test]
fn only_a_part_can_be_asked_for() {
    let env = TestEnv::with_pipeline(
        r#"[pipeline]
name = "parts"

[[stage]]
name = "make"
kind = "command"
run = ["sh", "-c", "echo {x} > {out}/x"]
matrix.x = ["a", "b"]

[[stage]]
name = "join"
kind = "command"
run = ["sh", "-c", "cat {inputs.parts}/*/x > {out}/all"]
inputs.parts = "make[*]"
"#,
    );
    env.run_ok(&["--only", "make[b]"]).assert_ran(&["make[b]"]);
    env.run_ok(&["--only", "join"]).assert_ran(&["make[a]", "join"]);
    assert_eq!(env.text("join", "all"), "a\nb\n");
    let ran = env.run(&["--only", "joint"]);
    ran.out.expect(7);
    assert_text(
        &ran.out.err(),
        "
error: nothing in pipeline.toml is called `joint`
hint: its stages are make, join; `sim-pipe plan` lists all labels
",
    );
}

#[test]
fn diff_of_two_actions_and_of_two_observations() {
    let env = two();
    env.run_ok(&[]);
    let old = env.record("upper").key.to_string();
    env.write("text.txt", "other\n");
    env.run_ok(&[]);
    let new = env.records_of("upper").pop().expect("a record").key.to_string();
    let text = shown(&env, &["diff", &old, &new], 0);
    let kept: Vec<&str> = text
        .lines()
        .skip_while(|l| *l != "inputs.text")
        .take(3)
        .chain(text.lines().filter(|l| l.starts_with("  ~")))
        .collect();
    assert_text(
        &kept.join("\n"),
        "
inputs.text
  a: [HASH]
  b: [HASH]
  ~ upper.txt
",
    );
    assert_text(&shown(&env, &["diff", &old, &old], 0), "no difference");

    let env = TestEnv::with_pipeline(MEASURED);
    env.run_ok(&[]);
    env.run_ok(&["--remeasure"]);
    let text = shown(&env, &["diff", "time/r0@0", "time/r0@1"], 0);
    assert!(text.contains("observation\n  a: 0\n  b: 1\n"), "{text}");
    assert!(!text.contains("key\n"), "{text}");
    assert_text(
        &shown(&env, &["diff", "time/r0@0", "time/r0@7"], 7),
        "
error: time/r0 has no observation 7
hint: it has observations 0 to 1
",
    );
}

#[test]
fn audit_holds_and_finds_what_does_not() {
    let env = two();
    assert_text(
        &shown(&env, &["audit", "pipeline.toml"], 7),
        "
error: `two` has no finished run
hint: `sim-pipe run pipeline.toml` makes one
",
    );
    env.run_ok(&[]);
    assert_text(
        &shown(&env, &["audit", "pipeline.toml"], 0),
        "
two: everything holds · 2 keys recomputed · 2 records, 2 trees and 0 logs hashed again ([SIZE])
",
    );
    tamper(&env.output_dir("upper").join("upper.txt"), |bytes| bytes[0] ^= 1);
    assert_text(
        &shown(&env, &["audit", "pipeline.toml"], 6),
        "
upper: [PROJECT]/.sim-pipe/trees/[HASH] should hash to [HASH], it hashes to [HASH]
two: 1 finding · 2 keys recomputed · 2 records, 2 trees and 0 logs hashed again ([SIZE])
",
    );
    env.write("text.txt", "something else\n");
    assert_text(
        &shown(&env, &["audit", "pipeline.toml"], 6),
        "
upper: its key is [HASH] today, which is not recorded
count: it depends on upper, which would run
upper: [PROJECT]/.sim-pipe/trees/[HASH] should hash to [HASH], it hashes to [HASH]
two: 3 findings · 1 key recomputed · 2 records, 2 trees and 0 logs hashed again ([SIZE])
",
    );
}

#[test]
fn log_of_actions_that_failed_and_that_did_not() {
    let env = TestEnv::with_pipeline(
        r#"[pipeline]
name = "logs"

[[stage]]
name = "good"
kind = "command"
run = ["sh", "-c", "echo fine; echo aside >&2; touch {out}/x"]

[[stage]]
name = "bad"
kind = "command"
run = ["sh", "-c", "echo about to fail; exit 3"]
"#,
    );
    let ran = env.run(&[]);
    ran.out.expect(4);
    assert!(
        ran.out.stderr.contains("hint: `sim-pipe log pipeline.toml 'bad'` prints its log"),
        "{}",
        ran.out
    );
    let out = env.sim(["log", "pipeline.toml", "good"]);
    assert_eq!(out.expect(0).stdout, "fine\naside\n");
    let out = env.sim(["log", "pipeline.toml", "bad"]);
    assert_eq!(out.expect(0).stdout, "about to fail\n");
    assert_text(
        &out.err(),
        "
bad · failed · [DATE] · [HASH]
reason: exit code 3
",
    );
    assert_text(
        &shown(&env, &["log", "pipeline.toml", "ugly"], 7),
        "
error: the last run of `logs` reached no action `ugly`
hint: `sim-pipe plan --all PIPELINE` lists the labels
",
    );
    let key = env.record("bad").key.to_string();
    assert_eq!(env.sim(["log", &key[..10]]).expect(0).stdout, "about to fail\n");
    assert_text(
        &shown(&env, &["log", "0000000000"], 7),
        "
error: no record has the key or label `0000000000`
hint: `sim-pipe query 'from actions'` lists them; a key needs its first 4 digits
",
    );
}

#[test]
fn store_ls_du_and_path() {
    let env = two();
    env.run_ok(&[]);
    let text = shown(&env, &["store", "ls"], 0);
    let run = text.split("run ").nth(1).expect("a run").trim().to_owned();
    assert_text(
        &text.replace(&run, "[RUN]"),
        "
two  2 actions  pipeline.toml  run [RUN]
",
    );
    assert_text(
        &shown(&env, &["store", "ls", "upper"], 0),
        "
file  upper.txt  [SIZE]  [HASH]
",
    );
    let out = env.sim(["store", "path", "count"]);
    assert_eq!(out.expect(0).stdout.trim_end(), env.output_dir("count").display().to_string());
    let out = env.sim(["store", "du"]);
    // The folders come first; what they hold by kind and class is in `history.rs`.
    let words: Vec<&str> = out
        .expect(0)
        .stdout
        .lines()
        .take_while(|l| !l.is_empty())
        .filter_map(|l| l.split("  ").last())
        .map(str::trim)
        .collect();
    let store = env.store_path();
    let end = store.display().to_string();
    assert_eq!(words, ["trees", "blobs", "records", "journal", "cache", "quarantine", "tmp", &end]);
    assert_text(
        &shown(&env, &["store", "path", "nobody"], 7),
        "
error: no record has the key or label `nobody`
hint: `sim-pipe query 'from actions'` lists them; a key needs its first 4 digits
",
    );
    let nowhere = env.cmd(["store", "ls"]).cwd(&env.dir().join("home")).run();
    assert_text(
        &nowhere.expect(8).err(),
        "
error: there is no store at or above [DIR]/home
hint: `sim-pipe run PIPELINE` makes one beside the pipeline
hint: --store or SIM_PIPE_STORE name one elsewhere
",
    );
}

#[test]
fn gc_keeps_what_roots_reach_and_every_observation() {
    let env = two();
    env.run_ok(&[]);
    assert_text(
        &shown(&env, &["store", "pin", "two", "first"], 0),
        "
pin.first keeps 2 actions
",
    );
    env.write("text.txt", "other\n");
    env.run_ok(&[]);
    // Everything is reached by a root.
    let dry = env.sim(["store", "gc", "--dry-run"]);
    assert!(!dry.expect(0).stdout.contains("record"), "{dry}");
    assert_text(
        &shown(&env, &["store", "unpin", "first"], 0),
        "
first is no root any more; `store gc` removes what it alone kept
",
    );
    let dry = env.sim(["store", "gc", "--dry-run"]);
    let gone: Vec<&str> =
        dry.expect(0).stdout.lines().filter_map(|l| l.split("  ").last()).collect();
    assert!(gone.contains(&"record of upper") && gone.contains(&"tree"), "{dry}");
    assert_eq!(env.records().len(), 4, "a dry run removes nothing");
    env.sim(["store", "gc"]).expect(0);
    assert_eq!(env.records().len(), 2);
    env.run_ok(&[]).assert_ran(&[]);
    env.assert_store_clean();
    assert_text(
        &shown(&env, &["store", "unpin", "first"], 7),
        "
error: there is no root `first`
",
    );
    assert_text(
        &shown(&env, &["store", "pin", "nobody", "x"], 7),
        "
error: there is no root `nobody`
hint: `sim-pipe store ls` lists them
",
    );
    assert_text(
        &shown(&env, &["store", "pin", "two", "../x"], 2),
        "
error: `../x` is no name for a pin
hint: use letters, digits, `-` and `_`
",
    );

    let env = TestEnv::with_pipeline(MEASURED);
    env.run_ok(&[]);
    env.sim(["store", "unpin", "timing"]).expect(0);
    env.sim(["store", "gc"]).expect(0);
    assert_eq!(env.records_of("time/r0").len(), 1, "an observation cannot be made again");
    assert_eq!(env.records_of("first").len(), 0);
    env.sim(["store", "gc", "--observations"]).expect(0);
    assert_eq!(env.records().len(), 0);
}

#[test]
fn gc_waits_for_nobody_and_takes_nothing_in_use() {
    let env = TestEnv::with_pipeline(
        "[pipeline]\nname = \"w\"\n[[stage]]\nname = \"a\"\nkind = \"command\"\n\
         run = [\"sh\", \"-c\", \"touch tmp/here; while [ ! -e tmp/go ]; do sleep 0.01; done; touch {out}/x\"]\n",
    );
    let running = env.cmd(["run", "pipeline.toml"]).spawn();
    let action = env.wait_for_action_file("tmp/here");
    assert_text(
        &shown(&env, &["store", "gc"], 8),
        "
error: the store in [PROJECT]/.sim-pipe is in use by another process
hint: wait for the run to end, then try again
",
    );
    fs::write(action.join("tmp/go"), "").expect("let it go on");
    running.wait().expect(0);
    env.sim(["store", "gc"]).expect(0);
    env.run_ok(&[]).assert_ran(&[]);
}

#[test]
fn a_store_travels_in_a_file() {
    let env = two();
    env.run_ok(&[]);
    assert_text(
        &shown(&env, &["store", "export", "two.simpipe"], 0),
        "
2 records, 2 trees and 0 logs written to two.simpipe
",
    );
    let other = two();
    let file = env.path("two.simpipe").display().to_string();
    let store = other.store_path().display().to_string();
    assert_text(
        &shown(&other, &["store", "import", &file, "--store", &store], 0)
            .replace(&env.dir().display().to_string(), "[OTHER]"),
        "
2 records, 2 trees and 0 logs taken from [OTHER]/project/two.simpipe
",
    );
    other.run_ok(&[]).assert_ran(&[]);
    other.assert_store_clean();
    assert_text(
        &shown(&other, &["store", "import", &file], 0)
            .replace(&env.dir().display().to_string(), "[OTHER]"),
        "
0 records, 2 trees and 0 logs taken from [OTHER]/project/two.simpipe
",
    );

    // A damaged archive is refused, wherever the damage is, and leaves the store as it was.
    let bytes = fs::read(env.path("two.simpipe")).expect("read");
    for at in (0..bytes.len()).step_by(bytes.len() / 23 + 1) {
        let third = two();
        third.write("text.txt", "hello\n");
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        third.write("bad.simpipe", damaged);
        let out = third.sim(["store", "import", "bad.simpipe", "--store", ".sim-pipe"]);
        if out.code() == Some(0) {
            // The flipped bit meant nothing; then everything must hold.
            third.assert_store_clean();
        } else {
            out.expect(8);
        }
        third.run_ok(&[]);
        third.assert_store_clean();
    }
    env.write("cut.simpipe", &bytes[..bytes.len() / 2]);
    env.sim(["store", "import", "cut.simpipe"]).expect(8);
    env.write("no.simpipe", "not an archive");
    env.sim(["store", "import", "no.simpipe"]).expect(8);
}

#[test]
fn schemas_are_json_and_name_what_there_is() {
    let env = TestEnv::new();
    let printed = [
        "audit",
        "run-diff",
        "action-diff",
        "critical-path",
        "why-depends",
        "what-ran",
        "runs",
        "store-size",
    ];
    for what in ["pipeline", "scene", "job", "result", "description", "device-samples"]
        .into_iter()
        .chain(printed)
    {
        let out = env.sim(["schema", what]);
        let schema: serde_json::Value = serde_json::from_str(&out.expect(0).stdout).expect("JSON");
        assert!(schema.is_object(), "{what}");
    }
    let pipeline = env.sim(["schema"]).stdout;
    for kind in ["build-engine", "command", "report", "trial"] {
        assert!(pipeline.contains(kind), "{kind}");
    }
    assert_text(
        &shown(&env, &["schema", "sence"], 2),
        "
error: there is no schema `sence`
hint: there are pipeline, scene, job, result, description, capacity-samples, device-samples, audit, run-diff, action-diff, critical-path, why-depends, what-ran, runs, store-size
",
    );
}

/// A new user's own project: runs as generated and gives a site.
#[test]
fn new_makes_a_project_that_runs() {
    let env = TestEnv::new();
    assert_text(
        &shown(&env, &["new", "My fall"], 0),
        "
made My fall: a pipeline of two stages and a report
next: sim-pipe run 'My fall/pipeline.toml'
",
    );
    let project = env.path("My fall");
    let out = env.cmd(["run", "pipeline.toml"]).cwd(&project).run();
    out.expect(0);
    let site = project.join("out/my-fall/index.html");
    let page = fs::read_to_string(&site).unwrap_or_else(|e| panic!("{e}\n{out}"));
    assert!(page.contains("Falling, in steps of different length"), "{page}");
    let again = env.cmd(["run", "pipeline.toml"]).cwd(&project).run();
    assert!(again.expect(0).stderr.starts_with("my-fall: nothing to do"), "{again}");
    assert_text(
        &shown(&env, &["new", "My fall"], 2),
        "
error: My fall is there and not empty
hint: choose a folder that does not exist yet
",
    );
}

#[test]
fn help_explains_codes_commands_and_exit_codes() {
    let env = TestEnv::new();
    let codes = env.sim(["help", "codes"]);
    let list: Vec<&str> =
        codes.expect(0).stdout.lines().filter_map(|l| l.split(' ').next()).collect();
    assert!(list.len() > 20 && list.iter().all(|c| c.starts_with("SP")), "{codes}");
    for code in &list {
        let text = env.sim(["help", code]);
        assert!(text.expect(0).stdout.len() > 40, "{text}");
        assert_eq!(text.stdout, env.sim(["help", &code.to_lowercase()]).stdout);
    }
    assert_text(
        &shown(&env, &["help", "exit-codes"], 0),
        "
  0  all went well
  2  the command line is wrong
  3  the pipeline, a suite or a pin is wrong
  4  an action failed, was skipped, or could not do what was asked
  5  everything ran, and a gate does not hold
  6  an audit or a verification found something that does not hold
  7  nothing matches what was asked for
  8  the store is missing, damaged, locked, read-only or of a newer format
  9  a tool, engine, library or sandbox is missing
 70  a fault of sim-pipe or of the system
130  interrupted; what was done is kept
",
    );
    assert!(env.sim(["help", "run"]).expect(0).stdout.contains("--remeasure"));
    assert!(env.sim(["help"]).expect(0).stdout.contains("explain"));
    assert_text(
        &shown(&env, &["help", "SP9999"], 7),
        "
error: `SP9999` is neither a code nor a command
hint: `sim-pipe help codes` lists the codes, `sim-pipe help` the commands
",
    );
    env.sim(["--version"]).expect(0);
    let wrong = env.sim(["rnu"]);
    wrong.expect(2);
    assert_eq!(wrong.stdout, "");
}

#[test]
fn completions_and_manual_pages() {
    let env = TestEnv::new();
    for shell in ["bash", "zsh", "fish"] {
        let out = env.sim(["completions", shell]);
        assert!(out.expect(0).stdout.contains("explain"), "{shell}");
    }
    env.sim(["man", "pages"]).expect(0);
    for page in ["sim-pipe.1", "sim-pipe-run.1", "sim-pipe-store.1"] {
        assert!(env.path("pages").join(page).is_file(), "{page}");
    }
}

#[test]
fn doctor_names_what_the_machine_can_do() {
    let env = TestEnv::new();
    let out = env.sim(["doctor", "--json"]);
    assert!(matches!(out.code(), Some(0 | 9)), "{out}");
    let lines = out.json();
    for what in ["processors", "memory", "sandbox in force", "cargo", "python3"] {
        assert!(lines.iter().any(|l| l["what"] == what), "{what}\n{out}");
    }
    // The search path of the tests has no cargo: doctor must have looked there, not elsewhere.
    let missing = lines.iter().any(|l| l["value"] == "missing");
    assert_eq!(out.code(), Some(if missing { 9 } else { 0 }));
}

/// Skips when there is no DuckDB; where it must be there, SIM_PIPE_TEST_REQUIRE says so.
fn query(env: &TestEnv, sql: &str, more: &[&str]) -> Option<crate::harness::Out> {
    let mut cmd = env.cmd(["query", sql].iter().chain(more));
    if let Some(dir) = std::env::var_os("DUCKDB_LIB_DIR") {
        cmd = cmd.env("DUCKDB_LIB_DIR", dir);
    }
    let out = cmd.run();
    if out.code() == Some(9) && out.stderr.contains("libduckdb cannot be opened") {
        skip("duckdb", out.stderr.lines().next().unwrap_or_default());
        return None;
    }
    Some(out)
}

#[test]
fn query_answers_in_sql_and_the_index_can_be_thrown_away() {
    let env = TestEnv::with_pipeline(MEASURED);
    env.run_ok(&[]);
    let sql = "select label, class, status from actions order by label";
    let Some(out) = query(&env, sql, &["--format", "csv"]) else { return };
    let expected = "label,class,status\nfirst,pure,ok\ntime/r0,measured,ok\ntime/r1,measured,ok\n";
    assert_eq!(out.expect(0).stdout, expected);
    for entry in fs::read_dir(env.store_path().join("cache")).expect("read") {
        fs::remove_file(entry.expect("an entry").path()).expect("remove the cache");
    }
    let again = query(&env, sql, &["--format", "csv"]).expect("as before");
    assert_eq!(again.expect(0).stdout, expected, "the index is never the truth");
    env.run_ok(&["--remeasure"]);
    let more = query(&env, "select count(*) as n from actions", &["--format", "json"]);
    let n: serde_json::Value = serde_json::from_str(&more.expect("there").stdout).expect("JSON");
    assert_eq!(n.pointer("/0/n"), Some(&serde_json::json!(6)), "{n}");
    query(&env, "drop table actions", &[]).expect("there").expect(2);
    query(&env, "select nothing from nowhere", &[]).expect("there").expect(2);
    let written = query(&env, "copy (select 1) to 'x.csv'", &[]).expect("there");
    written.expect(2);
    assert!(!env.path("x.csv").exists());
}

/// P121: a report is laid out from what is recorded; nothing runs for it.
#[test]
fn report_runs_nothing_but_itself() {
    let env = TestEnv::with_pipeline(&format!(
        "{TWO}\n[[stage]]\nname = \"site\"\nkind = \"report\"\ninputs.files = \"count[*]\"\ntemplates = \"templates\"\n"
    ));
    env.write("text.txt", "hello\n");
    fake::copy_templates(&env);
    assert_text(
        &shown(&env, &["report", "pipeline.toml"], 4),
        "
error: 2 actions of two must run first
hint: `sim-pipe run pipeline.toml`
",
    );
    env.run_ok(&[]);
    let site = env.path("out/two");
    let first = fs::read(site.join("index.html")).expect("the site");
    // Someone's own folder is not overwritten, an edited site of ours is laid out again elsewhere.
    fs::create_dir(env.path("mine")).expect("mkdir");
    fs::write(env.path("mine/x"), "x").expect("write");
    assert_text(
        &shown(&env, &["report", "pipeline.toml", "--output", "mine"], 2),
        "
error: mine is there and was not written by sim-pipe
hint: move it away, or choose another place with --output
",
    );
    shown(&env, &["report", "pipeline.toml", "--output", "elsewhere"], 0);
    assert_eq!(fs::read(env.path("elsewhere/index.html")).expect("read"), first);
    // Editing a laid-out file leaves the store alone.
    fs::write(site.join("index.html"), "scribble").expect("a site is ordinary files");
    env.assert_store_clean();

    let mut server = env.cmd(["report", "pipeline.toml", "--serve", "--output", "served"]).command;
    let mut child = server
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("start");
    let mut stdout = child.stdout.take().expect("stdout");
    let mut text = String::new();
    let address = wait_for("the address", || {
        let mut byte = [0u8; 64];
        let n = stdout.read(&mut byte).ok()?;
        text.push_str(&String::from_utf8_lossy(&byte[..n]));
        text.trim().strip_prefix("http://")?.strip_suffix('/').map(str::to_owned)
    });
    let get = |path: &str| {
        let mut stream = std::net::TcpStream::connect(&address).expect("connect");
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").expect("ask");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("read");
        String::from_utf8_lossy(&answer).into_owned()
    };
    let (page, outside, hidden) =
        (get("/"), get("/../pipeline.toml"), get("/%2e%2e/pipeline.toml"));
    child.kill().expect("end the server");
    child.wait().expect("wait");
    assert!(
        page.starts_with("HTTP/1") && page.contains(" 200 ") && page.contains("<html"),
        "{page}"
    );
    assert!(outside.contains(" 404 ") && hidden.contains(" 404 "), "{outside}\n{hidden}");
}

#[test]
fn errors_are_json_too() {
    let env = two();
    let out = env.sim(["store", "ls", "nobody", "--json"]);
    let lines = out.expect(8).json();
    assert_eq!(lines[0]["error"]["exit_code"], 8);
    env.write("pipeline.toml", "[pipeline]\nnam = \"x\"\n");
    let out = env.sim(["run", "pipeline.toml", "--json"]);
    let lines = out.expect(3).json();
    assert!(lines[0]["diagnostic"]["code"].is_string(), "{out}");
    assert_eq!(lines.last().expect("a line")["error"]["exit_code"], 3);
}

#[test]
fn events_as_json() {
    let env = two();
    let out = env.sim(["run", "pipeline.toml", "--json"]);
    out.expect(0);
    assert_eq!(out.stderr, "", "with --json everything is data");
    let events = out.events();
    assert_eq!(crate::harness::ran(&events), ["count", "upper"]);
    assert!(matches!(events.first(), Some(sim_model::event::Event::RunStarted { .. })));
    assert!(matches!(events.last(), Some(sim_model::event::Event::RunFinished { ran: 2, .. })));
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let env = two();
    env.run_ok(&[]);
    let mut command = env.cmd(["help", "codes"]).command;
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let out = command.stdout(writer).stderr(std::process::Stdio::piped()).output().expect("run");
    assert_eq!(String::from_utf8_lossy(&out.stderr), "");
}

/// A collector that keeps a thing can say for whom.
#[test]
fn the_store_says_what_keeps_a_thing() {
    let env = TestEnv::with_pipeline(
        "[pipeline]\nname = \"chain\"\n\
         [[stage]]\nname = \"a\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"cat text > {out}/x\"]\ninputs.text = \"text\"\n\
         [[stage]]\nname = \"b\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"cat {inputs.a}/x > {out}/x\"]\ninputs.a = \"a\"\n",
    );
    env.write("text", "one\n");
    env.run_ok(&[]);
    let old = env.record("a");
    let tree = old.output.as_ref().expect("an output").digest.to_string();
    let why = |what: &str| env.sim(["store", "why", what]).expect(0).out();
    assert_eq!(why("b"), "root chain: b\n");
    assert_eq!(why(&tree[..12]), "root chain: a\n");
    // Only through `b`, where the root names `b` alone.
    env.sim(["store", "pin", "chain", "kept"]).expect(0);
    env.write("text", "two\n");
    env.run_ok(&[]);
    assert_eq!(why(&tree), "root pin.kept: a\n");
    env.sim(["store", "unpin", "kept"]).expect(0);
    assert_eq!(why(&old.key.to_string()), "no root reaches it: `store gc` removes it\n");
    env.sim(["store", "why", "nothing"]).expect(7);
}
