//! Where results come from, from outside: audits find what was tampered with, exports are read by other
//! programs, and what was exported gives the same site again.

use crate::cache::{MEASURED, TWO, two};
use crate::fake::{self, Fake};
use crate::harness::{Out, TestEnv, assert_text, skip, tamper};
use serde_json::Value;
use sim_model::Digest;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A report on the fake engine, with everything that its data tables hold.
fn report() -> TestEnv {
    let env = fake::project(&Fake {
        suite: fake::FALL_AND_PILE,
        replays: "[\"memory\"]",
        trial: "[[stage]]\nname = \"site\"\nkind = \"report\"\ninputs.trials = \"trial[*]\"\n",
        ..Fake::default()
    });
    let ran = env.run(&[]);
    assert!(matches!(ran.out.code(), Some(0 | 5)), "{}", ran.out);
    env
}

fn audit(env: &TestEnv, code: i32) -> Value {
    let out = env.sim(["audit", "pipeline.toml", "--format", "json"]);
    serde_json::from_str(&out.expect(code).stdout).unwrap_or_else(|e| panic!("{e}\n{out}"))
}

/// What, label, file and problem of every finding.
fn findings(audit: &Value) -> Vec<(String, String, String, String)> {
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let list = audit["findings"].as_array().expect("a list");
    list.iter()
        .map(|f| (text(&f["what"]), text(&f["label"]), text(&f["file"]), text(&f["problem"])))
        .collect()
}

fn record_path(env: &TestEnv, key: &Digest) -> PathBuf {
    let hex = key.to_string();
    env.store_path().join("records").join(&hex[..2]).join(hex)
}

/// Changes a record and its digest, as someone would who wants it believed.
fn forge(env: &TestEnv, key: &Digest, from: &str, to: &str) {
    tamper(&record_path(env, key), |bytes| {
        let text = String::from_utf8(bytes.clone()).expect("text");
        let body = text.split_once('\n').expect("a first line").1;
        assert!(body.contains(from), "{from} in {body}");
        let body = body.replacen(from, to, 1);
        let digest = Digest::of(body.as_bytes());
        *bytes = format!("sim-pipe record 1 {digest}\n{body}").into_bytes();
    });
}

#[test]
fn a_whole_round_holds_and_every_number_is_followed() {
    let env = report();
    let a = audit(&env, 0);
    assert_eq!((&a["holds"], &a["findings"]), (&true.into(), &Value::Array(vec![])));
    let n = |what: &str| a["checked"][what].as_u64().expect(what);
    assert_eq!(n("sites"), 1);
    assert_eq!(n("pages"), n("laid_out"), "every file, stored and laid out");
    assert!(n("pages") > 20 && n("numbers") > 40 && n("inputs") > 6 && n("sources") > 2, "{a}");
    assert_eq!(n("records"), env.records().len() as u64);
    let one_line = env.sim(["audit", "pipeline.toml", "--json"]);
    assert_eq!(one_line.expect(0).json()[0], a, "--json is the same on one line");
}

#[test]
fn a_page_that_was_edited_by_hand_is_named() {
    let env = report();
    let page = env.path("out/fake/index.html");
    let text = fs::read_to_string(&page).expect("read the page");
    fs::write(&page, text.replacen("</main>", "<p>12.5 times faster</p></main>", 1))
        .expect("write");
    fs::write(env.path("out/fake/extra.html"), "x").expect("write");
    fs::remove_file(env.path("out/fake/methods.html")).expect("remove");
    let found = findings(&audit(&env, 6));
    let files: Vec<(&str, &str)> = found.iter().map(|f| (f.0.as_str(), f.2.as_str())).collect();
    assert_eq!(
        files,
        [
            ("page", "out/fake/extra.html"),
            ("page", "out/fake/index.html"),
            ("page", "out/fake/methods.html")
        ]
    );
    assert!(found[1].3.contains("changed by hand"), "{found:?}");
}

#[test]
fn a_number_that_was_changed_in_the_stored_site_is_named_with_its_page() {
    let env = report();
    let data = env.output_dir("site").join("data/samples.json");
    tamper(&data, |bytes| {
        let text = String::from_utf8(bytes.clone()).expect("text");
        let at = text.find("\"ok\"").expect("a sample");
        let digit = at + text[at..].find(|c: char| c.is_ascii_digit()).expect("a digit");
        bytes[digit] = if bytes[digit] == b'9' { b'8' } else { b'9' };
    });
    let found = findings(&audit(&env, 6));
    assert!(found.iter().any(|f| f.0 == "tree" && f.1 == "site"), "{found:?}");
    assert!(found.iter().any(|f| f.0 == "page" && f.2 == "data/samples.json"), "{found:?}");
}

#[test]
fn a_record_that_was_forged_with_its_digest_is_named() {
    // What it describes: the key is computed again.
    let env = report();
    let trial = env.record("trial[good]/free_fall/3x1/r0/timed");
    forge(&env, &trial.key, "\"args.steps\",\"value\":\"24\"", "\"args.steps\",\"value\":\"48\"");
    let found = findings(&audit(&env, 6));
    let named = found.iter().find(|f| f.0 == "record").expect("a finding");
    assert_eq!(named.1, trial.label);
    assert!(named.3.contains("what it describes has key"), "{named:?}");

    // What it measured: the site tells another number.
    let env = report();
    let trial = env.record("trial[good]/free_fall/3x1/r0/timed");
    let wall =
        format!("\"wall_ms\":{}", serde_json::to_string(&trial.usage.wall_ms).expect("JSON"));
    forge(&env, &trial.key, &wall, "\"wall_ms\":0.001");
    let found = findings(&audit(&env, 6));
    let page = format!("provenance/{}.html", trial.key);
    assert!(found.iter().any(|f| f.0 == "page" && f.2 == page), "{found:?}");
    let number = found.iter().find(|f| f.0 == "number").expect("a number");
    assert!(number.3.contains(&trial.label) && number.3.contains("0.001"), "{number:?}");

    // Where it ran.
    let env = TestEnv::with_pipeline(MEASURED);
    env.run_ok(&[]);
    let timed = env.record("time/r0");
    forge(&env, &timed.key, "\"kernel\":\"", "\"kernel\":\"other-");
    let found = findings(&audit(&env, 6));
    assert!(
        found
            .iter()
            .any(|f| f.0 == "record" && f.1 == "time/r0" && f.3.contains("another machine")),
        "{found:?}"
    );
}

#[test]
fn a_damaged_record_tree_log_or_source_is_named() {
    let tampered = |pick: &dyn Fn(&TestEnv) -> PathBuf| {
        let env = TestEnv::with_pipeline(&TWO.replace("tr a-z", "echo said; tr a-z"));
        env.write("text.txt", "hello\n");
        env.run_ok(&[]);
        assert_eq!(audit(&env, 0)["checked"]["logs"], 1);
        tamper(&pick(&env), |bytes| {
            let last = bytes.len() - 2;
            bytes[last] ^= 1;
        });
        let found = findings(&audit(&env, 6));
        let named = found.iter().find(|f| f.0 != "plan").expect("a finding").clone();
        (named.0, named.1)
    };
    let named = |what: &str| (what.to_owned(), "upper".to_owned());
    assert_eq!(tampered(&|env| record_path(env, &env.record("upper").key)), named("record"));
    assert_eq!(tampered(&|env| env.output_dir("upper").join("upper.txt")), named("tree"));
    let log = |env: &TestEnv| env.store().log_path(&env.record("upper").log.expect("a log"));
    assert_eq!(tampered(&log), named("log"));
    let source = |env: &TestEnv| {
        let input = env.record("upper").inputs.remove(0);
        env.store().tree_path(&input.tree.expect("a tree"))
    };
    assert_eq!(tampered(&source), named("source"));
}

#[test]
fn an_input_that_no_action_gave_is_named() {
    let env = two();
    env.run_ok(&[]);
    let upper = env.record("upper");
    // The record of what made the input is exchanged for one with another output.
    let other = env.record("count").output.expect("an output").digest.to_string();
    let own = upper.output.expect("an output").digest.to_string();
    forge(&env, &upper.key, &own, &other);
    let found = findings(&audit(&env, 6));
    assert!(
        found.iter().any(|f| f.0 == "input" && f.1 == "count" && f.3.contains("did not give")),
        "{found:?}"
    );
}

/// Was: "its key is … today, which is not recorded".
#[test]
fn a_recorded_failure_is_recorded() {
    let env = TestEnv::with_pipeline(
        "[pipeline]\nname = \"f\"\n\n[[stage]]\nname = \"bad\"\nkind = \"command\"\n\
         run = [\"sh\", \"-c\", \"exit 3\"]\n\n[[stage]]\nname = \"next\"\nkind = \"command\"\n\
         run = [\"touch\", \"{out}/x\"]\ninputs.bad = \"bad\"\n\n[[stage]]\nname = \"all\"\n\
         kind = \"command\"\nrun = [\"touch\", \"{out}/x\"]\ninputs.bad = \"bad[*]\"\n",
    );
    env.run(&[]).out.expect(4);
    let a = audit(&env, 0);
    assert_eq!(a["checked"]["records"], 2, "the skipped one has none: {a}");
    assert_eq!(a["checked"]["failed"], 1, "{a}");
    let text = env.sim(["audit", "pipeline.toml"]).err();
    assert!(text.contains(" · 1 recorded as failed, which a run tries again"), "{text}");
}

/// The program that has the readers of exported documents, or nothing where there is none.
fn python(what: &str) -> Option<Command> {
    let python = std::env::var("SIM_PIPE_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let script = match what {
        "rocrate" => "import rocrate, rocrate_validator",
        "jsonschema" => "import jsonschema",
        _ => "import in_toto_attestation",
    };
    let here = Command::new(&python).args(["-c", script]).output();
    match here {
        Ok(out) if out.status.success() => Some(Command::new(python)),
        Ok(out) => {
            let why = String::from_utf8_lossy(&out.stderr);
            skip(what, why.lines().last().unwrap_or("its package is missing"));
            None
        }
        Err(e) => {
            skip(what, &format!("{python}: {e}"));
            None
        }
    }
}

fn check(mut python: Command, script: &str, args: &[&Path], more: &[&str]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(script);
    let out = python.arg(script).args(args).args(more).output().expect("start python");
    assert!(
        out.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr)
    );
}

#[test]
fn statements_are_read_by_in_toto() {
    let env = report();
    env.sim(["export", "slsa", "--run", "fake", "--output", "slsa"]).expect(0);
    let trial = env.record("trial[good]/free_fall/3x1/r0/timed");
    let path = env.path(format!("slsa/{}.json", trial.key));
    let statement: Value =
        serde_json::from_slice(&fs::read(path).expect("read")).expect("a statement");
    let subjects = statement["subject"].as_array().expect("subjects");
    let result = subjects.iter().find(|s| s["name"] == "result.json").expect("the result");
    let bytes = env.output(&trial.label, "result.json");
    assert_eq!(result["digest"]["blake3"], Digest::of(&bytes).to_string());
    let definition = &statement["predicate"]["buildDefinition"];
    assert_eq!(definition["externalParameters"]["arguments"]["steps"], 24);
    let engine = definition["resolvedDependencies"].as_array().expect("inputs");
    assert!(engine.iter().any(|d| d["name"] == "engine"), "{engine:?}");

    let one = env.sim(["export", "slsa", &trial.key.to_string()[..12], "--output", "one"]);
    assert!(one.expect(0).stderr.contains("1 statement written to one, not signed"), "{one}");
    env.sim(["export", "slsa", "nobody", "--output", "none"]).expect(7);
    env.sim(["export", "slsa", "--output", "none"]).expect(2);
    if let Some(python) = python("in-toto") {
        check(python, "check_statements.py", &[&env.path("slsa")], &[]);
    }
}

#[test]
fn documents_are_as_their_schemas_say() {
    let env = report();
    env.run(&["--remeasure"]);
    let run = env.journals().iter().next().expect("a run").file_stem().expect("a name").to_owned();
    let run = run.to_string_lossy().into_owned();
    fs::write(env.path("out/fake/extra.html"), "x").expect("write");
    let Some(_) = python("jsonschema") else { return };
    for (schema, command) in [
        ("audit", &["audit", "pipeline.toml"][..]),
        ("run-diff", &["diff", &run, "fake"]),
        ("action-diff", &["diff", "site", "engine[good]"]),
        ("critical-path", &["trace", &run]),
        ("why-depends", &["why-depends", "site", "mk.sh", "--all"]),
        ("what-ran", &["what-ran", &run]),
        ("store-size", &["store", "du"]),
    ] {
        let document = env.sim(command.iter().copied().chain(["--format", "json"]));
        assert!(matches!(document.code(), Some(0 | 6)), "{document}");
        env.write("document.json", &document.stdout);
        env.write("schema.json", &env.sim(["schema", schema]).expect(0).stdout);
        let python = python("jsonschema").expect("as before");
        check(
            python,
            "check_document.py",
            &[&env.path("schema.json"), &env.path("document.json")],
            &[],
        );
    }
}

#[test]
fn what_gave_no_files_has_no_statement() {
    let env = TestEnv::with_pipeline(
        "[pipeline]\nname = \"f\"\n[[stage]]\nname = \"bad\"\nkind = \"command\"\n\
         run = [\"sh\", \"-c\", \"exit 3\"]\n",
    );
    env.run(&[]).out.expect(4);
    let out = env.sim(["export", "slsa", "--all", "--output", "slsa"]);
    assert_text(
        &out.expect(7).err(),
        "
1 action gave no files, so there is nothing to state: bad
0 statements written to slsa, not signed
",
    );
}

#[test]
fn a_crate_is_valid_and_gives_the_same_site_in_an_empty_store() {
    let env = report();
    env.sim(["export", "ro-crate", "fake", "--output", "crate"]).expect(0);
    env.sim(["export", "ro-crate", "fake", "--output", "crate.zip", "--license", "CC0-1.0"])
        .expect(0);
    let bytes = fs::read(env.path("crate/ro-crate-metadata.json")).expect("read");
    let metadata: Value = serde_json::from_slice(&bytes).expect("JSON");
    let graph = metadata["@graph"].as_array().expect("a graph");
    for part in graph.iter().filter(|e| e["@type"] == "File" || e["@type"] == "Dataset") {
        let at = part["@id"].as_str().expect("an id");
        assert!(env.path("crate").join(at).exists(), "{at} is in the crate");
    }
    assert!(env.path("crate/pipeline/pipeline.toml").is_file());
    let site = env.path("out/fake");
    assert_eq!(files(&env.path("crate/sites/site")), files(&site));
    let again = env.sim(["export", "ro-crate", "fake", "--output", "crate"]);
    assert_text(
        &again.expect(2).err(),
        "
error: crate is there already
hint: choose a name that does not exist yet
",
    );
    let nobody = env.sim(["export", "ro-crate", "nobody", "--output", "none"]);
    assert!(nobody.expect(7).stderr.contains("there is no run `nobody`"), "{nobody}");

    for form in ["crate", "crate.zip"] {
        let other = TestEnv::new();
        for file in ["pipeline.toml", "suite.toml", "mk.sh", "sim-engine-fake", "scripts"] {
            sim_store::tree::copy_all(&env.path(file), &other.path(file)).expect("copy");
        }
        let from = env.path(form).display().to_string();
        let out = other.sim(["store", "import", &from, "--store", ".sim-pipe"]);
        out.expect(0);
        let ran = other.run(&[]);
        ran.assert_ran(&[]);
        assert_eq!(files(&other.path("out/fake")), files(&site), "{form}");
        assert_eq!(audit(&other, 0)["holds"], true);
        // The journal travels, too: where the time went can be asked of an imported run.
        other.sim(["trace", "fake"]).expect(0);
    }
    if let Some(python) = python("rocrate") {
        check(python, "check_crate.py", &[&env.path("crate")], &["REQUIRED"]);
    }
}

#[test]
fn what_is_no_crate_is_refused() {
    let env = two();
    env.run_ok(&[]);
    fs::create_dir(env.path("folder")).expect("mkdir");
    let out = env.sim(["store", "import", "folder"]);
    assert_text(
        &out.expect(7).err(),
        "
error: folder holds no store.simpipe
hint: `sim-pipe export ro-crate` writes crates that hold one
",
    );
    env.write("broken.zip", b"PK\x03\x04 and nothing more");
    let out: Out = env.sim(["store", "import", "broken.zip"]);
    assert!(out.expect(8).stderr.contains("the crate broken.zip: "), "{out}");
    env.assert_store_clean();
}

/// Every file below a folder with its bytes.
fn files(top: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut out = Vec::new();
    let mut todo = vec![top.to_path_buf()];
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())) {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                todo.push(path);
            } else {
                let name = path.strip_prefix(top).expect("below").to_path_buf();
                out.push((name, fs::read(&path).expect("read")));
            }
        }
    }
    out.sort();
    out
}

/// `repeat` lays out what the record says, and the script gives what was recorded.
#[test]
fn an_action_is_repeated_by_hand() {
    let env = report();
    let repeat = |what: &str, folder: &str| {
        let out = env.sim(["repeat", what, folder]);
        assert_eq!(out.expect(0).stdout, format!("sh {folder}/run.sh\n"));
        // With nothing of the caller's environment but the search path.
        let mut sh = Command::new("sh");
        sh.arg(env.path(folder).join("run.sh")).env_clear().env("PATH", "/usr/bin:/bin");
        let out = sh.output().expect("start sh");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        files(&env.path(folder).join("out"))
    };
    let scene = env.records().into_iter().find(|r| r.kind == "scene").expect("a scene").label;
    for (label, folder) in [("engine[good]", "r1"), (scene.as_str(), "r2"), ("site", "r3")] {
        assert_eq!(repeat(label, folder), files(&env.output_dir(label)), "{label}");
    }
    let timed = env.records().into_iter().find(|r| r.label.ends_with("/timed")).expect("a trial");
    let again = repeat(&timed.key.to_string(), "r4");
    assert!(again.iter().any(|(name, _)| name == Path::new("result.json")), "it measures again");
    let out = env.sim(["repeat", "site", "r3"]);
    assert_text(
        &out.expect(2).err(),
        "
error: r3 is there already
hint: choose a folder that does not exist yet
",
    );
    // What a collection took is named, and no half folder is left.
    let source = env.record("engine[good]").inputs.remove(0).tree.expect("a tree");
    sim_store::tree::remove_all(&env.store().tree_path(&source)).expect("remove");
    let out = env.sim(["repeat", "engine[good]", "r5"]);
    assert!(out.expect(8).stderr.contains("is not in the store any more"), "{out}");
    assert!(!env.path("r5").exists());
}
