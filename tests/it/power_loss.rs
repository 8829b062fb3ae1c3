//! What a machine leaves that went down: empty or cut files anywhere in the store, with or without the
//! marker that says so. The store opens, a run completes, and a repair makes it clean.

use crate::cache::two;
use crate::harness::{TestEnv, assert_text, tamper};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("read") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { files(&path, out) } else { out.push(path) }
    }
}

/// Every file of a store that has results, relative to it; not `format`, without which there is none.
fn of_store(env: &TestEnv) -> Vec<PathBuf> {
    let mut out = Vec::new();
    files(&env.store_path(), &mut out);
    out.retain(|p| !p.ends_with("format") && !p.ends_with("lock"));
    let mut out: Vec<PathBuf> = out
        .into_iter()
        .map(|p| p.strip_prefix(env.store_path()).expect("below").to_path_buf())
        .collect();
    out.sort();
    out
}

/// A marker of a boot that is over, as a run leaves it whose machine goes down.
fn machine_went_down(env: &TestEnv) {
    fs::write(env.store_path().join("unsynced/an-earlier-boot.1"), "").expect("write");
}

fn recovers(env: &TestEnv, what: &str) {
    let ran = env.run(&[]);
    assert_eq!(ran.out.code(), Some(0), "{what}: {}", ran.out);
    assert_eq!(env.text("upper", "upper.txt"), "HELLO\n", "{what}");
    assert_eq!(env.text("count", "count.txt"), "6\n", "{what}");
    let out = env.sim(["store", "verify", "--repair"]);
    assert_eq!(out.code(), Some(0), "{what}: {out}");
    env.run_ok(&[]);
    env.assert_store_clean();
}

/// NixOS/nix#3498, #7064: one empty file made a store unusable.
#[test]
fn any_file_may_be_empty_or_cut_after_the_machine_went_down() {
    let env = two();
    env.run_ok(&[]);
    for file in of_store(&env) {
        for cut in [0, 7] {
            let env = two();
            env.run_ok(&[]);
            // Names differ from store to store only where they hold a time or a process.
            let path = env.store_path().join(&file);
            if !path.exists() {
                continue;
            }
            tamper(&path, |b| b.truncate(cut));
            machine_went_down(&env);
            recovers(&env, &format!("{} cut to {cut} bytes", file.display()));
        }
    }
}

/// The same where nothing says that the machine went down.
#[test]
fn any_file_may_be_empty_without_a_marker() {
    let env = two();
    env.run_ok(&[]);
    for file in of_store(&env) {
        let env = two();
        env.run_ok(&[]);
        let path = env.store_path().join(&file);
        if path.exists() {
            tamper(&path, Vec::clear);
            recovers(&env, &format!("{} empty", file.display()));
        }
    }
}

/// The file that names the format: an empty one is named, and nothing is written over it.
#[test]
fn an_empty_format_file_is_named() {
    let env = two();
    env.run_ok(&[]);
    fs::write(env.store_path().join("format"), "").expect("write");
    assert_text(
        &env.sim(["run", "pipeline.toml"]).expect(8).err(),
        r#"
error: [PROJECT]/.sim-pipe/format does not name a store format: ""
hint: where the store is known to be one of this program, write `sim-pipe store 1` into it
"#,
    );
    fs::write(env.store_path().join("format"), "sim-pipe store 1\n").expect("write");
    env.run_ok(&[]).assert_ran(&[]);
}

/// A run that was writing when the machine went down says that it checks, and what it set aside.
#[test]
fn what_was_lost_is_set_aside_and_said() {
    let env = two();
    env.run_ok(&[]);
    let tree = env.output_dir("upper").join("upper.txt");
    fs::set_permissions(&tree, fs::Permissions::from_mode(0o644)).expect("chmod");
    fs::write(&tree, "").expect("write");
    machine_went_down(&env);
    let ran = env.run_ok(&[]);
    ran.assert_ran(&["upper"]);
    assert!(ran.out.stderr.contains("set aside"), "{}", ran.out);
    env.assert_store_clean();
    assert_eq!(fs::read_dir(env.store_path().join("unsynced")).expect("read").count(), 0);
}
