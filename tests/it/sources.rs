//! Sources of any name and any time, changed at any moment: the right key or a refusal by name, never
//! a stale result.

use crate::harness::{TestEnv, assert_text};
use sim_model::Digest;
use sim_store::tree::Node;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

fn one_stage(input: &str, script: &str) -> String {
    let text = |s: &str| serde_json::to_string(s).expect("JSON");
    format!(
        "[pipeline]\nname = \"s\"\n[[stage]]\nname = \"s\"\nkind = \"command\"\ninputs.x = {}\nrun = [\"sh\", \"-c\", {}]\n",
        text(input),
        text(script),
    )
}

/// bazelbuild/bazel#374, snakemake/snakemake#2981, nextflow-io/nextflow#99: a file of any name can be
/// named as an input, and a command finds it under that name.
#[test]
fn a_source_of_any_name_can_be_an_input() {
    let long = "n".repeat(255);
    let names = [
        "with space",
        "quote'",
        "double\"quote",
        "$HOME",
        "`true`",
        "-rf",
        "--help",
        "#hash",
        "semi;colon&",
        "back\\slash",
        "é",
        "e\u{301}",
        "文字🪨",
        "percent%20",
        "~",
        "a=b",
        &long,
    ];
    for name in names {
        // The input by its place, and the file by its own name in the working folder.
        let env = TestEnv::with_pipeline(&one_stage(
            &format!("./{name}"),
            "cat \"{inputs.x}\" > \"{out}/by-place\"; ls -A | grep -v -e '^in$' -e '^out$' -e '^home$' -e '^tmp$' -e '^private-tmp$' -e '^private-shm$' -e '^request.json$' > {out}/names",
        ));
        fs::write(env.path(name), name).expect("write");
        let ran = env.run(&[]);
        assert_eq!(ran.out.code(), Some(0), "{name:?}: {}", ran.out);
        assert_eq!(env.text("s", "by-place"), name);
        assert_eq!(env.text("s", "names"), format!("{name}\n"), "{name:?}");
        env.run_ok(&[]).assert_ran(&[]);
    }
    // Names that would break a line of a message are refused at their place; in a folder they survive.
    for name in ["new\\nline", "tab\\there", "bell\\u0007"] {
        let env = TestEnv::with_pipeline(
            &one_stage("NAME", "cat {inputs.x} > {out}/x").replace("NAME", name),
        );
        let out = env.sim(["run", "pipeline.toml"]);
        assert!(out.expect(3).stderr.contains("pipeline.toml:6:12"), "{out}");
    }
}

/// A pattern cannot say a name that is no text: it is refused by name, and a folder keeps it.
#[test]
fn a_name_that_is_no_text_is_refused_where_it_must_be_said() {
    let env = TestEnv::with_pipeline(&one_stage("data/*", "ls {inputs.x} > {out}/x"));
    fs::create_dir(env.path("data")).expect("mkdir");
    fs::write(env.path("data/fine"), "").expect("write");
    fs::write(env.path("data").join(OsStr::from_bytes(b"\xff\xfe")), "").expect("write");
    let out = env.sim(["run", "pipeline.toml"]);
    assert!(out.expect(3).stderr.contains("the name \"\\xFF\\xFE\" is not UTF-8"), "{out}");
    env.write("pipeline.toml", one_stage("data", "ls {inputs.x} > {out}/x"));
    env.run_ok(&[]);
    assert_eq!(env.output("s", "x"), b"fine\n\xff\xfe\n");
}

/// Two names that look the same are two names; a file that only changed its form is another.
#[test]
fn unicode_forms_of_a_name_are_told_apart() {
    let env = TestEnv::with_pipeline(&one_stage("data", "cat {inputs.x}/* > {out}/x"));
    fs::create_dir(env.path("data")).expect("mkdir");
    env.write("data/é", "composed\n");
    env.run_ok(&[]);
    fs::rename(env.path("data/é"), env.path("data/e\u{301}")).expect("mv");
    if env.path("data/é").exists() {
        eprintln!("this file system takes both forms for one name");
        return;
    }
    env.run_ok(&[]).assert_ran(&["s"]);
    env.write("data/é", "composed\n");
    env.run_ok(&[]).assert_ran(&["s"]);
    assert_eq!(env.text("s", "x"), "composed\ncomposed\n");
}

/// Empty folders count, links to folders are kept inside a folder and followed at its top.
#[test]
fn empty_folders_and_links_to_folders() {
    let env = TestEnv::with_pipeline(&one_stage(
        "data",
        "find {inputs.x}/ -mindepth 1 -printf '%P %y\\n' | sort > {out}/x",
    ));
    fs::create_dir_all(env.path("data/real/empty")).expect("mkdir");
    symlink("real", env.path("data/link")).expect("ln");
    env.run_ok(&[]);
    assert_eq!(env.text("s", "x"), "link l\nreal d\nreal/empty d\n");
    fs::remove_dir(env.path("data/real/empty")).expect("rmdir");
    env.run_ok(&[]).assert_ran(&["s"]);
    // A link to the same place by another way is another link.
    fs::remove_file(env.path("data/link")).expect("rm");
    symlink("./real", env.path("data/link")).expect("ln");
    env.run_ok(&[]).assert_ran(&["s"]);
    // The input itself as a link: what is there counts, wherever it lies.
    let elsewhere = env.dir().join("elsewhere");
    fs::rename(env.path("data"), &elsewhere).expect("mv");
    symlink(&elsewhere, env.path("data")).expect("ln");
    env.run_ok(&[]).assert_ran(&[]);
    fs::write(elsewhere.join("real/new"), "x").expect("write");
    env.run_ok(&[]).assert_ran(&["s"]);
    assert_eq!(env.text("s", "x"), "link l\nreal d\nreal/new f\n");
}

/// The clock was set back: what is written now seems older than what was hashed before.
#[test]
fn a_file_that_became_older_is_read() {
    let env = TestEnv::with_pipeline(&one_stage("x.txt", "cat {inputs.x} > {out}/x"));
    let now = SystemTime::UNIX_EPOCH + Duration::from_millis(sim_exec::unix_ms());
    let write = |text: &str, ago: u64| {
        env.write("x.txt", text);
        let file = fs::File::options().write(true).open(env.path("x.txt")).expect("open");
        let time = now - Duration::from_secs(ago);
        file.set_times(fs::FileTimes::new().set_modified(time)).expect("set the time");
    };
    for (text, ago) in [("one\n", 3600), ("two\n", 7200), ("thr\n", 7200), ("fou\n", 1_000_000)] {
        write(text, ago);
        env.run_ok(&[]).assert_ran(&["s"]);
        assert_eq!(env.text("s", "x"), text);
        env.run_ok(&[]).assert_ran(&[]);
    }
}

/// bazelbuild/bazel#3360, treeverse/dvc#11058: a file that changes while it is hashed and copied. What
/// an action saw is what its key says, or the run says that the file does not hold still.
#[test]
fn a_file_that_changes_while_it_is_read() {
    // Below and above the size from which files are hashed in place.
    for size in [1000, 3_000_000] {
        let env = TestEnv::with_pipeline(&one_stage("x.bin", "cp {inputs.x} {out}/x"));
        let path = env.path("x.bin");
        fs::write(&path, vec![b'a'; size]).expect("write");
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut byte = b'a';
                while !stop.load(Ordering::Relaxed) {
                    byte = if byte == b'z' { b'a' } else { byte + 1 };
                    // In place, as a program that writes on does.
                    fs::write(&path, vec![byte; size]).expect("write");
                }
            });
            let outs: Vec<_> = (0..12).map(|_| env.sim(["run", "pipeline.toml"])).collect();
            stop.store(true, Ordering::Relaxed);
            for out in outs {
                let refused = out.stderr.contains("changed while it was being read")
                    || out.stderr.contains("keeps changing while it is read");
                assert!(out.code() == Some(0) || (refused && out.code() != Some(70)), "{out}");
            }
        });
        for record in env.records() {
            let Some(output) = record.output else { continue };
            let bytes = fs::read(env.store().tree_path(&output.digest).join("x")).expect("read");
            let digest = Digest::of(&bytes);
            let node = Node::File { digest, executable: false, bytes: bytes.len() as u64 };
            assert_eq!(Some(node.digest()), record.inputs[0].tree, "it saw what its key says");
        }
        fs::write(&path, vec![b'!'; size]).expect("write");
        env.run_ok(&[]);
        assert!(env.output("s", "x") == vec![b'!'; size], "a stale result");
        env.assert_store_clean();
    }
}

/// What a program leaves beside its sources is no source, named as a folder or by a pattern.
#[test]
fn folders_that_are_no_source_are_passed_by_in_both_ways() {
    for input in ["data", "data/**"] {
        let env = TestEnv::with_pipeline(&one_stage(
            input,
            "(cd {inputs.x}/ && find . -type f | sort) > {out}/x",
        ));
        env.write("data/a.py", "");
        env.write("data/sub/b.py", "");
        env.write("data/rust/Cargo.toml", "");
        env.run_ok(&[]);
        let clean = env.text("s", "x");
        assert_text(&clean, "./a.py\n./rust/Cargo.toml\n./sub/b.py");
        env.write("data/__pycache__/a.pyc", "");
        env.write("data/sub/__pycache__/b.pyc", "");
        env.write("data/rust/target/x.o", "");
        env.write("data/store/format", "sim-pipe store 1\n");
        env.write("data/store/trees/x", "");
        env.run_ok(&[]).assert_ran(&[]);
        // A folder called so that is something else is a source.
        env.write("data/target/y", "");
        env.run_ok(&[]).assert_ran(&["s"]);
        assert!(env.text("s", "x").contains("./target/y"));
    }
}
