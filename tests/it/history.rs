//! Runs that are over: compared, listed, traced, and kept in a store that is looked after.

use crate::cache::{MEASURED, two};
use crate::harness::{TestEnv, assert_text, wait_for};
use serde_json::Value;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;

fn shown(env: &TestEnv, args: &[&str], code: i32) -> String {
    let out = env.sim(args);
    out.expect(code);
    out.out() + &out.err()
}

fn json(env: &TestEnv, args: &[&str]) -> Value {
    let out = env.sim(args.iter().copied().chain(["--format", "json"]));
    serde_json::from_str(&out.expect(0).stdout).unwrap_or_else(|e| panic!("{e}\n{out}"))
}

/// Ids of all runs, oldest first.
fn runs(env: &TestEnv) -> Vec<String> {
    let name =
        |p: &std::path::PathBuf| p.file_stem().expect("a name").to_string_lossy().into_owned();
    env.journals().iter().map(name).collect()
}

#[test]
fn two_runs_side_by_side() {
    let env = two();
    env.run_ok(&[]);
    env.write("text.txt", "other\n");
    env.run_ok(&[]);
    let runs = runs(&env);
    let text = shown(&env, &["diff", &runs[0], &runs[1]], 0);
    for run in &runs {
        assert!(text.contains(&format!("run {run} of two · 2 actions")), "{text}");
    }
    let from = text.find("\nactions").expect("actions") + 1;
    assert_text(
        &text[from..],
        "
actions
  upper: another key, another output
    inputs.text
      a: [HASH]
      b: [HASH]
    ~ upper.txt
  count: another key, the same output
    inputs.upper
      a: [HASH]
      b: [HASH]
0 actions the same in both · 2 not
",
    );
    let d = json(&env, &["diff", &runs[0], "two"]);
    assert_eq!((&d["v"], &d["same"]), (&1.into(), &0.into()));
    assert_eq!(d["actions"][0]["label"], "upper");
    assert_eq!(d["actions"][0]["files"][0]["path"], "upper.txt");
    assert_eq!(d["actions"][1]["components"][0]["what"], "inputs.upper");
    let same = shown(&env, &["diff", "two", "last"], 0);
    assert!(same.ends_with("2 actions the same in both · 0 not\n"), "{same}");
    assert_text(
        &shown(&env, &["diff", "two", "nothing"], 7),
        "
error: `two` is a run, `nothing` is none
hint: `sim-pipe query 'from runs'` lists runs, `sim-pipe store ls` pipelines and pins
",
    );
    // The names of actions are still compared as such.
    assert!(shown(&env, &["diff", "upper", "count"], 0).contains("\nrun[2]\n"));
}

#[test]
fn measurements_of_two_runs_have_intervals() {
    let env = TestEnv::with_pipeline(MEASURED);
    env.run_ok(&[]);
    env.run_ok(&["--remeasure"]);
    let runs = runs(&env);
    let d = json(&env, &["diff", &runs[0], &runs[1]]);
    let metric = &d["metrics"][0];
    assert_eq!((&metric["case"], &metric["unit"]), (&"time".into(), &"ms".into()));
    let number = |v: &Value| v.as_f64().unwrap_or_else(|| panic!("{v} in {d}"));
    for side in ["a", "b"] {
        let s = &metric[side];
        assert_eq!(s["n"], 2, "{d}");
        assert!(
            number(&s["low"]) <= number(&s["mean"]) && number(&s["mean"]) <= number(&s["high"])
        );
    }
    let ratio = &metric["ratio"];
    assert!(number(&ratio["low"]) <= number(&ratio["ratio"]), "{d}");
    assert!(d["method"].as_str().expect("a method").contains("Welch"), "{d}");
    let text = shown(&env, &["diff", &runs[0], &runs[1]], 0);
    assert!(text.contains("  time/r0: observed again\n") && text.contains("    b/a "), "{text}");
    // The same records are no measurement of anything new.
    let same = json(&env, &["diff", "timing", &runs[1]]);
    assert_eq!(same["metrics"][0]["verdict"], "same_records");
}

const CHAIN: &str = r#"[pipeline]
name = "chain"

[[stage]]
name = "a"
kind = "command"
run = ["cp", "src/a.txt", "{out}/x"]
inputs.source = "src"

[[stage]]
name = "left"
kind = "command"
run = ["sh", "-c", "echo left; cat {inputs.a}/x > {out}/x"]
inputs.a = "a"

[[stage]]
name = "right"
kind = "command"
run = ["sh", "-c", "echo right >&2; cat {inputs.a}/x {inputs.a}/x > {out}/x"]
inputs.a = "a"

[[stage]]
name = "end"
kind = "command"
run = ["sh", "-c", "cat {inputs.left}/x {inputs.right}/x > {out}/x"]
inputs.left = "left"
inputs.right = "right"
"#;

fn chain() -> TestEnv {
    let env = TestEnv::with_pipeline(CHAIN);
    env.write("src/a.txt", "a\n");
    env.run_ok(&[]);
    env
}

#[test]
fn why_one_thing_depends_on_another() {
    let env = chain();
    assert_text(
        &shown(&env, &["why-depends", "end", "a"], 0),
        "
end  [HASH]
└─ left: left  [HASH]
   └─ a: a  [HASH]
a shortest of 2 paths; --all prints them
",
    );
    assert_text(
        &shown(&env, &["why-depends", "end", "./src/a.txt", "--all"], 0),
        "
end  [HASH]
└─ left: left  [HASH]
   └─ a: a  [HASH]
      └─ source: src
end  [HASH]
└─ right: right  [HASH]
   └─ a: a  [HASH]
      └─ source: src
all 2 paths
",
    );
    let why = json(&env, &["why-depends", "end", "a", "--all", "--limit", "1"]);
    assert_eq!((&why["count"], why["paths"].as_array().map(Vec::len)), (&2.into(), Some(1)));
    assert_text(&shown(&env, &["why-depends", "a", "end"], 7), "a does not depend on end");
    assert_text(
        &shown(&env, &["why-depends", "end", "lef", "--run", "chain"], 7)
            .replace(&runs(&env)[0], "[RUN]"),
        "
error: run [RUN] reached nothing called `lef`
hint: there are left
",
    );
    let nobody = shown(&env, &["why-depends", "nobody", "a"], 7);
    assert!(nobody.starts_with("error: no record has the key or label `nobody`"), "{nobody}");
}

#[test]
fn what_ran_and_how_to_repeat_it() {
    let env = chain();
    env.replace("pipeline.toml", "echo left;", "echo left again;");
    env.run_ok(&[]);
    let key = |label: &str| env.records_of(label).pop().expect("a record").key.short();
    let left = key("left");
    let text = shown(&env, &["what-ran"], 0);
    let text = text.replace(&runs(&env)[1], "[RUN]").replace(&left, "[HASH]");
    assert_text(
        &text,
        "
left  ran · ok · [TIME] · [HASH]
  $ sh -c 'echo left again; cat in/a/x > out/x'
  sim-pipe repeat [HASH] repeat-[HASH] && sh repeat-[HASH]/run.sh
chain · run [RUN]: 1 action · 3 reused (--all lists them)
",
    );
    let listed = json(&env, &["what-ran", "chain", "--all"]);
    let actions = listed["actions"].as_array().expect("a list");
    let how: Vec<(&str, &str)> = actions
        .iter()
        .map(|a| (a["label"].as_str().unwrap(), a["how"].as_str().unwrap()))
        .collect();
    let expected = [("a", "reused"), ("left", "ran"), ("right", "reused"), ("end", "reused")];
    assert_eq!(how, expected);
    // The printed command does what it says.
    env.sim(["repeat", &left, "again"]).expect(0);
    let ran = std::process::Command::new("sh")
        .arg(env.path("again/run.sh"))
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .output()
        .expect("start sh");
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "left again\n");
    assert_eq!(fs::read(env.path("again/out/x")).expect("read"), env.output("left", "x"));
}

#[test]
fn a_trace_and_the_critical_path() {
    let env = chain();
    let path = json(&env, &["trace", "chain", "--output", "trace.json"]);
    let labels: Vec<&str> = path["chain"]
        .as_array()
        .expect("a chain")
        .iter()
        .map(|l| l["label"].as_str().unwrap())
        .collect();
    assert_eq!((labels.len(), labels[0], labels[2]), (3, "a", "end"), "{path}");
    let trace: Value =
        serde_json::from_slice(&fs::read(env.path("trace.json")).expect("read")).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    for label in ["a", "left", "right", "end"] {
        let slice = events.iter().find(|e| e["name"] == label && e["ph"] == "X").expect(label);
        assert_eq!((&slice["cat"], &slice["args"]["status"]), (&"pure".into(), &"ok".into()));
    }
    let text = shown(&env, &["trace"], 0);
    assert!(text.contains("4 ran, 0 reused") && text.contains("  end  (pure"), "{text}");
    env.run_ok(&[]);
    let idle = shown(&env, &["trace", "last"], 0);
    assert!(idle.ends_with("nothing ran: there is no critical path\n"), "{idle}");
    // The pipeline's own name still leads to the run that did something.
    assert!(shown(&env, &["trace", "chain"], 0).contains("4 ran"));
    fs::remove_file(env.store_path().join("journal").join(format!("{}.jsonl", runs(&env)[0])))
        .expect("remove");
    let gone = shown(&env, &["trace", "chain"], 7);
    assert!(gone.contains("is not in this store\nhint: `sim-pipe query 'from runs'`"), "{gone}");
    assert_text(
        &shown(&env, &["trace", "nobody"], 7),
        "
error: there is no run `nobody`
hint: `sim-pipe query 'from runs'` lists runs, `sim-pipe store ls` pipelines and pins
",
    );
}

#[test]
fn the_graph_as_a_picture() {
    let env = chain();
    let dot = env.sim(["plan", "pipeline.toml", "--dot"]);
    let dot = &dot.expect(0).stdout;
    assert!(dot.starts_with("digraph \"chain\" {\n") && dot.contains("n0 -> n1;\n"), "{dot}");
    assert_eq!(dot.matches(" -> ").count(), 4);
    let mermaid = env.sim(["plan", "pipeline.toml", "--mermaid"]).stdout;
    assert!(mermaid.starts_with("flowchart LR\n") && mermaid.contains("n1 --> n3"), "{mermaid}");
    let grouped = env.sim(["plan", "pipeline.toml", "--dot", "--group-above", "3"]);
    assert!(
        grouped.expect(0).stderr.contains("4 actions drawn as 4 by stage and class"),
        "{grouped}"
    );
    env.sim(["plan", "pipeline.toml", "--dot", "--mermaid"]).expect(2);
    // Where Graphviz is, it must read what is written.
    let mut command = std::process::Command::new("dot");
    command.arg("-Tsvg").stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    match command.spawn() {
        Err(e) => crate::harness::skip("graphviz", &e.to_string()),
        Ok(mut child) => {
            child.stdin.take().expect("stdin").write_all(dot.as_bytes()).expect("write");
            let out = child.wait_with_output().expect("wait");
            assert!(out.status.success() && String::from_utf8_lossy(&out.stdout).contains("<svg"));
        }
    }
}

#[test]
fn logs_go_by_age_and_nobody_takes_that_for_damage() {
    let env = TestEnv::with_pipeline(&format!(
        "{CHAIN}\n[[stage]]\nname = \"bad\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"echo why; exit 3\"]\n"
    ));
    env.write("src/a.txt", "a\n");
    env.run(&[]).out.expect(4);
    let log = |label: &str| env.sim(["log", &env.record(label).key.to_string()]);
    assert_eq!(log("left").expect(0).stdout, "left\n", "the log of a success");
    assert_eq!(log("right").expect(0).stdout, "right\n");
    let kept = env.sim(["store", "gc", "--logs-older-than", "1h"]);
    assert!(kept.expect(0).stderr.contains("kept"), "{kept}");
    log("left").expect(0);
    let dry = env.sim(["store", "gc", "--dry-run", "--logs-older-than", "0s"]);
    let listed: Vec<&str> =
        dry.expect(0).stdout.lines().filter_map(|l| l.split("  log of ").nth(1)).collect();
    assert_eq!(
        {
            let mut l = listed.clone();
            l.sort_unstable();
            l
        },
        ["left", "right"],
        "{dry}"
    );
    log("left").expect(0);
    env.sim(["store", "gc", "--logs-older-than", "0s"]).expect(0);
    let gone = log("left");
    assert!(gone.expect(7).stderr.contains("its log is gone: `store gc` or a repair"), "{gone}");
    assert_eq!(log("bad").expect(0).stdout, "why\n", "a failure keeps its log");
    env.assert_store_clean();
    let audit = env.sim(["audit", "pipeline.toml", "--json"]);
    let audit = &audit.expect(0).json()[0];
    assert_eq!((&audit["checked"]["logs_gone"], &audit["checked"]["logs"]), (&2.into(), &1.into()));
    env.sim(["store", "export", "all.simpipe"]).expect(0);
    env.sim(["store", "gc", "--logs-older-than", "0s", "--failed-logs"]).expect(0);
    log("bad").expect(7);
    env.sim(["store", "gc", "--failed-logs"]).expect(2);
    env.sim(["store", "gc", "--logs-older-than", "soon"]).expect(2);
    // The same log again is kept again.
    env.sim(["store", "unpin", "chain"]).expect(0);
    env.sim(["store", "gc"]).expect(0);
    env.run(&[]).out.expect(4);
    assert_eq!(log("left").expect(0).stdout, "left\n");
}

#[test]
fn what_takes_the_space_by_kind_and_class() {
    let env = TestEnv::with_pipeline(MEASURED);
    env.run_ok(&[]);
    let size = json(&env, &["store", "du"]);
    let folder = |name: &str| {
        let list = size["folders"].as_array().expect("folders");
        list.iter().find(|f| f["name"] == name).unwrap_or_else(|| panic!("{name}"))["count"].clone()
    };
    assert_eq!((folder("records"), folder("journal")), (3.into(), 1.into()));
    let classes = size["classes"].as_array().expect("classes");
    let records: Vec<(&str, u64)> = classes
        .iter()
        .map(|c| (c["name"].as_str().unwrap(), c["records"].as_u64().unwrap()))
        .collect();
    assert!(records.contains(&("measured", 2)) && records.contains(&("pure", 1)), "{size}");
    assert_eq!(size["kinds"][0]["name"], "command");
    let sum = |list: &Value, what: &str| {
        list.as_array().expect("a list").iter().map(|s| s[what].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(sum(&size["kinds"], "outputs"), sum(&size["classes"], "outputs"));
    assert_eq!(sum(&size["kinds"], "output_bytes"), sum(&size["classes"], "output_bytes"));
    let text = shown(&env, &["store", "du"], 0);
    assert!(text.contains("by kind\n") && text.contains("by class\n"), "{text}");
}

/// Two labels, one question: it is answered once, and both names lead to the answer.
#[test]
fn a_label_that_shares_a_key_is_found_and_named() {
    let env = TestEnv::with_pipeline(
        "[pipeline]\nname = \"twins\"\n\n[[stage]]\nname = \"one\"\nkind = \"command\"\n\
         run = [\"sh\", \"-c\", \"echo hi; touch {out}/x\"]\n",
    );
    env.run_ok(&[]);
    env.replace("pipeline.toml", "\"one\"", "\"two\"");
    env.run_ok(&[]).assert_ran(&[]);
    assert_text(
        &env.sim(["log", "pipeline.toml", "two"]).expect(0).err(),
        "two (ran as one) · ok · [DATE] · [HASH]",
    );
    assert_text(
        &env.sim(["log", "pipeline.toml", "two"]).expect(0).err(),
        &env.sim(["log", "two"]).expect(0).err(),
    );
    let path = |label: &str| env.sim(["store", "path", label]).expect(0).stdout.clone();
    assert_eq!(path("one"), path("two"));
    assert_text(&shown(&env, &["store", "ls", "two"], 0), "file  x  [SIZE]  [HASH]");
    assert_text(&shown(&env, &["diff", "one", "two"], 0), "no difference");
    // Known from the journal alone, once the root has moved on.
    env.replace("pipeline.toml", "\"two\"", "\"three\"");
    env.run_ok(&[]).assert_ran(&[]);
    assert_eq!(path("one"), path("two"));
}

#[test]
fn help_names_the_whole_command() {
    let env = TestEnv::new();
    let out = env.sim(["help", "store"]);
    assert!(out.expect(0).stdout.contains("Usage: sim-pipe store [OPTIONS] <COMMAND>"), "{out}");
}

#[test]
fn no_sandbox_as_asked_is_told_apart_from_no_sandbox_at_all() {
    let env = two();
    let ran = env.run_ok(&["--sandbox", "none"]);
    assert!(ran.out.stderr.contains("warning  without a sandbox, as asked for"), "{}", ran.out);
    assert!(!ran.out.stderr.contains("no sandbox on this system"), "{}", ran.out);
}

#[test]
fn explain_tells_a_change_of_mode_from_one_of_content() {
    let env = two();
    env.run_ok(&[]);
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(env.path("text.txt"), mode).expect("chmod");
    let text = shown(&env, &["explain", "pipeline.toml", "upper"], 0);
    let changed = "~ the file: mode not executable → executable, same content";
    assert!(text.contains(changed), "{text}");
}

/// A stranger's page whose name leads to this machine must not read the site.
#[test]
fn a_served_site_answers_to_this_machine_alone() {
    let env = TestEnv::with_pipeline(
        "[pipeline]\nname = \"s\"\n[[stage]]\nname = \"x\"\nkind = \"command\"\n\
         run = [\"sh\", \"-c\", \"echo 1 > {out}/x.txt\"]\n[[stage]]\nname = \"site\"\n\
         kind = \"report\"\ninputs.files = \"x[*]\"\n",
    );
    env.run_ok(&[]);
    let mut server = env.cmd(["report", "pipeline.toml", "--serve"]).command;
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
    let port = address.rsplit(':').next().expect("a port").to_owned();
    let status = |host: &str| {
        let mut stream = std::net::TcpStream::connect(&address).expect("connect");
        write!(stream, "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("ask");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("read");
        String::from_utf8_lossy(&answer).split(' ').nth(1).unwrap_or_default().to_owned()
    };
    let hosts = [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("evil.example:{port}"),
        "evil.example".to_owned(),
        "127.0.0.1.evil.example".to_owned(),
    ];
    let answers = hosts.map(|h| status(&h));
    child.kill().expect("end the server");
    child.wait().expect("wait");
    assert_eq!(answers, ["200", "200", "403", "403", "403"]);
}
