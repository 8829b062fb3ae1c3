//! A run that has nothing to do is answered from stamps of what the last one looked at. Whatever
//! changes must show all the same.

use crate::harness::{TestEnv, tamper, wait_until};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

const PIPELINE: &str = r#"
[pipeline]
name = "s"

[[stage]]
name = "a"
kind = "command"
run = ["sh", "-c", "cat {inputs.file} {inputs.some}/*.txt {inputs.folder}/* > {out}/x"]
inputs.file = "file"
inputs.some = "some/*.txt"
inputs.folder = "folder"
outputs = ["x"]

[[stage]]
name = "b"
kind = "command"
run = ["sh", "-c", "tr a-z A-Z < {inputs.a}/x > {out}/x"]
inputs.a = "a"
outputs = ["x"]
"#;

fn project() -> TestEnv {
    let env = TestEnv::with_pipeline(PIPELINE);
    env.write("file", "one\n");
    env.write("some/0.txt", "zero\n");
    env.write("some/1.txt", "two\n");
    env.write("folder/f", "three\n");
    // A link to a link: none of what lies between is an input by name.
    env.write("real/one", "four\n");
    env.write("real/two", "five\n");
    symlink("one", env.path("real/mid")).expect("ln");
    symlink("../real/mid", env.path("some/link.txt")).expect("ln");
    env
}

fn memory(env: &TestEnv) -> Option<PathBuf> {
    let cache = fs::read_dir(env.store_path().join("cache")).ok()?;
    let mut found = cache
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("settled-")));
    found.next()
}

/// Runs until a run keeps what it saw, then until one is answered from that.
fn settle(env: &TestEnv) {
    wait_until("a run that is answered from memory", || {
        env.run_ok(&[]).assert_ran(&[]);
        let Some(path) = memory(env) else { return false };
        // What answers is not written again.
        let before = path.metadata().expect("stat").ino();
        let ran = env.run_ok(&[]);
        ran.assert_ran(&[]);
        path.metadata().expect("stat").ino() == before
    });
}

fn write(path: &Path, text: &str) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).expect("chmod");
    fs::write(path, text).expect("write");
}

#[test]
fn it_says_and_tells_the_same_as_any_run() {
    let env = project();
    env.run_ok(&[]).assert_ran(&["a", "b"]);
    settle(&env);
    let journals = env.journals();
    let ran = env.run_ok(&[]);
    assert!(ran.out.stderr.contains("s: nothing to do · 0 ran · 2 reused"), "{}", ran.out);
    let new = env.journals().difference(&journals).next().cloned().expect("a journal");
    let words: Vec<String> = env
        .journal(&new)
        .iter()
        .map(|e| serde_json::to_value(e).expect("JSON")["type"].as_str().expect("type").to_owned())
        .collect();
    assert_eq!(words, ["run_started", "action_reused", "action_reused", "run_finished"]);
    env.sim(["audit", "pipeline.toml"]).expect(0);
}

type Change = fn(&TestEnv);

#[test]
fn every_change_shows() {
    let changes: [(&str, Change, &[&str]); 13] = [
        ("a source's text", |e| e.write("file", "uno\n"), &["a", "b"]),
        (
            "its executable bit",
            |e| {
                let mode = fs::Permissions::from_mode(0o755);
                fs::set_permissions(e.path("file"), mode).expect("chmod");
            },
            &["a"],
        ),
        ("a file that the pattern matches", |e| e.write("some/2.txt", "more\n"), &["a", "b"]),
        ("a file less", |e| fs::remove_file(e.path("some/1.txt")).expect("rm"), &["a", "b"]),
        ("a file in the folder", |e| e.write("folder/g", "more\n"), &["a", "b"]),
        (
            "the folder is another one",
            |e| {
                e.write("other/f", "other\n");
                fs::remove_dir_all(e.path("folder")).expect("rm");
                symlink("other", e.path("folder")).expect("ln");
            },
            &["a", "b"],
        ),
        (
            "a link between",
            |e| {
                fs::remove_file(e.path("real/mid")).expect("rm");
                symlink("two", e.path("real/mid")).expect("ln");
            },
            &["a", "b"],
        ),
        ("the pipeline", |e| e.replace("pipeline.toml", "a-z A-Z", "a-y A-Y"), &["b"]),
        ("a stored result", |e| write(&e.output_dir("a").join("x"), "tampered\n"), &["a"]),
        (
            "a stored result is gone",
            |e| {
                sim_store::tree::remove_all(&e.output_dir("b")).expect("rm");
            },
            &["b"],
        ),
        (
            "a record",
            |e| {
                let key = e.record("b").key.to_string();
                tamper(&e.store_path().join("records").join(&key[..2]).join(&key), |b| b[100] ^= 1);
            },
            &["b"],
        ),
        (
            "a record is gone",
            |e| {
                let key = e.record("a").key.to_string();
                let path = e.store_path().join("records").join(&key[..2]).join(&key);
                fs::remove_file(path).expect("rm");
            },
            &["a"],
        ),
        (
            "the memory itself",
            |e| {
                let path = memory(e).expect("there");
                let mut bytes = fs::read(&path).expect("read");
                bytes[40] ^= 1;
                fs::write(path, bytes).expect("write");
            },
            &[],
        ),
    ];
    for (what, change, expected) in changes {
        let env = project();
        env.run_ok(&[]);
        settle(&env);
        change(&env);
        let ran = env.run_ok(&[]);
        assert_eq!(ran.ran(), expected, "{what}: {}", ran.out);
        env.assert_store_clean();
    }
}

/// The root of the last run is what keeps its results from being collected.
#[test]
fn a_root_that_is_gone_is_written_again() {
    let env = project();
    env.run_ok(&[]);
    settle(&env);
    let root = env.store_path().join("roots/s.json");
    fs::remove_file(&root).expect("rm");
    env.run_ok(&[]).assert_ran(&[]);
    assert!(root.exists());
    env.sim(["store", "gc"]).expect(0);
    env.run_ok(&[]).assert_ran(&[]);
}

/// Another search path may lead to other tools, another home to other toolchains.
#[test]
fn another_environment_is_another_question() {
    let env = project();
    env.run_ok(&[]);
    settle(&env);
    let bin = env.path("bin");
    fs::create_dir(&bin).expect("mkdir");
    let real = fs::canonicalize("/bin/sh").expect("sh");
    let mut bytes = fs::read(real).expect("read");
    bytes.push(0);
    fs::write(bin.join("sh"), bytes).expect("write");
    fs::set_permissions(bin.join("sh"), fs::Permissions::from_mode(0o755)).expect("chmod");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("PATH"));
    let out = env.cmd(["run", "pipeline.toml", "--json"]).env("PATH", path).run();
    out.expect(0);
    assert_eq!(crate::harness::ran(&out.events()), ["a", "b"]);
}

/// Where some of it changed, the rest is known without being opened; nothing that changed is.
#[test]
fn what_did_not_change_is_known_and_what_changed_is_not() {
    let mut pipeline = "[pipeline]\nname = \"many\"\n".to_owned();
    for i in 0..12 {
        pipeline += &format!(
            "[[stage]]\nname = \"s{i}\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"cat {{inputs.a}} > {{out}}/x\"]\n\
             inputs.a = \"f{i}\"\n"
        );
    }
    let env = TestEnv::with_pipeline(&pipeline);
    for i in 0..12 {
        env.write(&format!("f{i}"), format!("{i}\n"));
    }
    env.run_ok(&[]);
    type Change<'t> = (&'t str, &'t dyn Fn(), &'t [&'t str]);
    let changes: [Change<'_>; 7] = [
        ("a source", &|| env.write("f0", "other\n"), &["s0"]),
        (
            "a source and an output of another action",
            &|| {
                env.write("f1", "other\n");
                tamper(&env.output_dir("s2").join("x"), |b| b[0] = b'#');
            },
            &["s1", "s2"],
        ),
        (
            "a record that is gone",
            &|| {
                let key = env.record("s3").key.to_string();
                let path = env.store_path().join("records").join(&key[..2]).join(&key);
                fs::remove_file(path).expect("rm");
            },
            &["s3"],
        ),
        (
            "a record that is damaged",
            &|| {
                let key = env.record("s4").key.to_string();
                let path = env.store_path().join("records").join(&key[..2]).join(&key);
                tamper(&path, |b| b[200] ^= 1);
            },
            &["s4"],
        ),
        (
            "an output that is gone",
            &|| sim_store::tree::remove_all(&env.output_dir("s5")).expect("rm"),
            &["s5"],
        ),
        (
            "one more file in an output",
            &|| {
                let dir = env.output_dir("s6");
                fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).expect("chmod");
                fs::write(dir.join("more"), "").expect("write");
            },
            &["s6"],
        ),
        (
            "what is remembered itself",
            &|| {
                let cache = fs::read_dir(env.store_path().join("cache")).expect("cache");
                for path in cache.flatten().map(|e| e.path()) {
                    if path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("known-")) {
                        tamper(&path, |b| b[9] ^= 1);
                    }
                }
                env.write("f7", "other\n");
            },
            &["s7"],
        ),
    ];
    for (what, change, expected) in changes {
        settle(&env);
        change();
        env.run_ok(&[]).assert_ran(expected);
        for i in 0..12 {
            let made = fs::read(env.output_dir(&format!("s{i}")).join("x")).expect("read");
            assert_eq!(made, fs::read(env.path(format!("f{i}"))).expect("read"), "{what}: s{i}");
        }
    }
    env.assert_store_clean();
}
