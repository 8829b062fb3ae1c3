//! What is noticed in a chain of three stages, and what is not: one test a row of the table in which
//! build and workflow tools are compared. `x.txt` goes through `a` (takes comments out), `b` and `c`
//! (hashes).

use crate::harness::{Ran, TestEnv, assert_text, tamper, tick};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

const CHAIN: &str = r#"[pipeline]
name = "chain"

[[stage]]
name = "a"
kind = "command"
run = ["sh", "-c", "grep -v '^#' {inputs.x} > {out}/a.txt"]
inputs.x = "src/x.txt"
outputs = ["a.txt"]

[[stage]]
name = "b"
kind = "command"
run = ["sh", "-c", "sha256sum < {inputs.a}/a.txt > {out}/b.txt"]
inputs.a = "a"
outputs = ["b.txt"]

[[stage]]
name = "c"
kind = "command"
run = ["sh", "-c", "sha256sum < {inputs.b}/b.txt > {out}/c.txt"]
inputs.b = "b"
outputs = ["c.txt"]
"#;

const SOURCE: &str = "# a remark\nbody\n";

/// A chain that has run, with its final result.
fn chain() -> (TestEnv, String) {
    let env = TestEnv::with_pipeline(CHAIN);
    env.write("src/x.txt", SOURCE);
    age(&env.path("src/x.txt"));
    env.run_ok(&[]).assert_ran(&["a", "b", "c"]);
    env.run_ok(&[]).assert_ran(&[]);
    let result = env.text("c", "c.txt");
    (env, result)
}

/// Old enough that what `stat` says of it is trusted.
fn age(path: &Path) {
    let now = SystemTime::UNIX_EPOCH + Duration::from_millis(sim_exec::unix_ms());
    set_mtime(path, now - Duration::from_secs(3600));
}

fn set_mtime(path: &Path, time: SystemTime) {
    let file = fs::File::options().write(true).open(path).expect("open");
    file.set_times(fs::FileTimes::new().set_modified(time)).expect("set the time");
}

/// Runs, and the final result is what it must be; afterwards there is nothing to do.
fn rerun(env: &TestEnv, expected: &[&str], result: &str) -> Ran {
    let ran = env.run_ok(&[]);
    ran.assert_ran(expected);
    assert_eq!(env.text("c", "c.txt"), result);
    env.run_ok(&[]).assert_ran(&[]);
    env.assert_store_clean();
    ran
}

#[test]
fn a_touched_input_runs_nothing() {
    let (env, result) = chain();
    let now = SystemTime::UNIX_EPOCH + Duration::from_millis(sim_exec::unix_ms());
    set_mtime(&env.path("src/x.txt"), now);
    rerun(&env, &[], &result);
    // Written anew with the same bytes, as an editor does.
    fs::remove_file(env.path("src/x.txt")).expect("rm");
    env.write("src/x.txt", SOURCE);
    rerun(&env, &[], &result);
}

#[test]
fn nothing_changed_runs_nothing() {
    let (env, result) = chain();
    rerun(&env, &[], &result);
}

/// bazelbuild/bazel#3400, #20148: the bit is content; who may write is not.
#[test]
fn an_input_made_executable_runs_its_stage_alone() {
    let (env, result) = chain();
    let chmod = |mode| {
        fs::set_permissions(env.path("src/x.txt"), fs::Permissions::from_mode(mode))
            .expect("chmod");
    };
    chmod(0o664);
    rerun(&env, &[], &result);
    chmod(0o755);
    rerun(&env, &["a"], &result);
    chmod(0o600);
    rerun(&env, &[], &result);
}

#[test]
fn a_changed_comment_runs_its_stage_alone() {
    let (env, result) = chain();
    env.write("src/x.txt", "# another remark\nbody\n");
    rerun(&env, &["a"], &result);
}

#[test]
fn a_changed_body_runs_all_and_back_again_none() {
    let (env, result) = chain();
    env.write("src/x.txt", "# a remark\nanother body\n");
    env.run_ok(&[]).assert_ran(&["a", "b", "c"]);
    assert_ne!(env.text("c", "c.txt"), result);
    env.write("src/x.txt", SOURCE);
    env.run_ok(&[]).assert_ran(&[]);
    let shown = env.sim(["store", "path", "c"]);
    shown.expect(0);
}

/// A stat-only check misses it; eight of thirteen tools do.
#[test]
fn other_bytes_with_the_same_size_and_mtime_run_all() {
    let (env, result) = chain();
    let path = env.path("src/x.txt");
    let before = fs::metadata(&path).expect("stat");
    let bytes = fs::read_to_string(&path).expect("read").replace("body", "BODY");
    fs::write(&path, bytes).expect("write in place");
    set_mtime(&path, before.modified().expect("a time"));
    let after = fs::metadata(&path).expect("stat");
    assert_eq!(
        (before.len(), before.mtime(), before.mtime_nsec(), before.ino()),
        (after.len(), after.mtime(), after.mtime_nsec(), after.ino())
    );
    env.run_ok(&[]).assert_ran(&["a", "b", "c"]);
    assert_ne!(env.text("c", "c.txt"), result);
}

/// treeverse/dvc#4303: a file removed and written anew may get its number back.
#[test]
fn a_file_made_anew_with_the_same_number_size_and_mtime_runs_all() {
    let (env, result) = chain();
    let path = env.path("src/x.txt");
    let before = fs::metadata(&path).expect("stat");
    // The file system hands numbers out again, mostly the last one first.
    for _ in 0..200 {
        fs::remove_file(&path).expect("rm");
        fs::write(&path, SOURCE.replace("body", "BODY")).expect("write");
        if fs::metadata(&path).expect("stat").ino() == before.ino() {
            break;
        }
    }
    set_mtime(&path, before.modified().expect("a time"));
    if fs::metadata(&path).expect("stat").ino() != before.ino() {
        eprintln!("this file system gives every file a new number; the rest holds all the same");
    }
    env.run_ok(&[]).assert_ran(&["a", "b", "c"]);
    assert_ne!(env.text("c", "c.txt"), result);
}

/// treeverse/dvc#3918; make, doit and go-task do not look at it.
#[test]
fn a_changed_command_runs_its_stage_alone() {
    let (env, result) = chain();
    env.replace("pipeline.toml", "sha256sum < {inputs.a}/a.txt", "sha256sum  < {inputs.a}/a.txt");
    rerun(&env, &["b"], &result);
    // A remark in the file, another order, another title: nothing.
    env.replace("pipeline.toml", "[pipeline]", "# a remark\n[pipeline]\ntitle = \"Chain\"");
    rerun(&env, &[], &result);
}

#[test]
fn a_deleted_output_is_made_again() {
    let (env, result) = chain();
    for label in ["a", "b", "c"] {
        sim_store::tree::remove_all(&env.output_dir(label)).expect("remove");
        let explained = env.sim(["explain", "pipeline.toml", label]);
        assert!(
            explained
                .stdout
                .contains("it is recorded as ok, and its output is gone or was changed"),
            "{explained}"
        );
        rerun(&env, &[label], &result);
    }
    // All of them at once.
    for label in ["a", "b", "c"] {
        sim_store::tree::remove_all(&env.output_dir(label)).expect("remove");
    }
    rerun(&env, &["a", "b", "c"], &result);
}

/// moonrepo/moon#1959, #2484: six tools build on the file that was changed, and say all is well.
#[test]
fn a_hand_edited_output_is_made_again_and_feeds_nobody() {
    let (env, result) = chain();
    let edit = |label: &str, file: &str| {
        tamper(&env.output_dir(label).join(file), |b| {
            b[0] = if b[0] == b'f' { b'e' } else { b'f' }
        });
    };
    edit("b", "b.txt");
    // What needs it would run anyway: it must get the real one.
    env.replace("pipeline.toml", "sha256sum < {inputs.b}", "sha256sum  < {inputs.b}");
    rerun(&env, &["b", "c"], &result);
    // The last one, that feeds nothing.
    edit("c", "c.txt");
    rerun(&env, &["c"], &result);
    // The first, while what comes after it is up to date.
    edit("a", "a.txt");
    rerun(&env, &["a"], &result);
    // A file too many, in a folder made writable.
    let b = env.output_dir("b");
    tick(&b);
    fs::set_permissions(&b, fs::Permissions::from_mode(0o755)).expect("chmod");
    fs::write(b.join("more.txt"), "x").expect("write");
    rerun(&env, &["b"], &result);
    // The snapshot of a source, when the stage that reads it runs again.
    let snapshot = env.store().tree_path(&env.record_newest("a").inputs[0].tree.expect("a tree"));
    tamper(&snapshot, |b| b.extend_from_slice(b"tampered\n"));
    env.replace("pipeline.toml", "grep -v '^#'", "grep  -v '^#'");
    rerun(&env, &["a"], &result);
    // What was damaged is set aside, not lost.
    assert!(fs::read_dir(env.store_path().join("quarantine")).expect("read").count() >= 5);
}

/// bazelbuild/bazel#14543: it was cached as a success.
#[test]
fn success_without_the_output_is_an_error_every_time() {
    let (env, _) = chain();
    env.replace("pipeline.toml", "sha256sum < {inputs.a}/a.txt > {out}/b.txt", "true");
    for _ in 0..3 {
        let ran = env.run(&[]);
        ran.out.expect(4);
        ran.assert_ran(&["b"]);
        assert_eq!(ran.ended("b").1, "declared but not written: b.txt");
        assert_eq!(ran.skipped(), [("c".to_owned(), "b".to_owned())]);
        env.assert_store_clean();
    }
    assert_text(
        &env.sim(["explain", "pipeline.toml", "b"]).expect(0).out(),
        "
b: would run · key [HASH]
  its record says failed, which a run tries again: declared but not written: b.txt
",
    );
}

/// treeverse/dvc#1599, #9641: what is laid out is a copy. Edited, it leaves the store as it is, and the
/// next run puts it right.
#[test]
fn a_hand_edited_site_leaves_the_store_alone() {
    let env = TestEnv::with_pipeline(&format!(
        "{CHAIN}\n[[stage]]\nname = \"site\"\nkind = \"report\"\ninputs.files = \"c[*]\"\n"
    ));
    env.write("src/x.txt", SOURCE);
    env.run_ok(&[]);
    let page = env.path("out/chain/index.html");
    let (laid, stored) = (fs::read(&page).expect("read"), env.output("site", "index.html"));
    assert_eq!(laid, stored);
    // In place, through the same inode.
    tamper(&page, |b| b.extend_from_slice(b"edited"));
    assert_eq!(env.output("site", "index.html"), stored);
    env.assert_store_clean();
    env.run_ok(&[]).assert_ran(&[]);
    assert_eq!(fs::read(&page).expect("read"), laid);
    fs::remove_file(&page).expect("rm");
    env.run_ok(&[]).assert_ran(&[]);
    assert_eq!(fs::read(&page).expect("read"), laid);
}
