//! A store that is damaged, foreign, too new, read-only or full: a clear error or a repair, never a
//! wrong result.

use crate::cache::two;
use crate::harness::{TestEnv, as_if_by_the_disk, assert_text, skip, tamper};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

/// The file of a label's record.
fn record_file(env: &TestEnv, label: &str) -> PathBuf {
    let key = env.record(label).key.to_string();
    env.store_path().join("records").join(&key[..2]).join(key)
}

fn verify(env: &TestEnv, more: &[&str], code: i32) -> String {
    let out = env.sim(["store", "verify"].iter().chain(more));
    out.expect(code);
    out.out() + &out.err()
}

/// Repairs, runs again, and the result is what it was.
fn recovers(env: &TestEnv, ran: &[&str]) {
    env.sim(["store", "verify", "--repair"]).expect(0);
    env.run_ok(&[]).assert_ran(ran);
    env.assert_store_clean();
    assert_eq!(env.text("upper", "upper.txt"), "HELLO\n");
    assert_eq!(env.text("count", "count.txt"), "6\n");
}

#[test]
fn a_flipped_byte_in_an_output() {
    let env = two();
    env.run_ok(&[]);
    tamper(&env.output_dir("upper").join("upper.txt"), |b| b[0] ^= 0x20);
    assert_text(
        &verify(&env, &[], 6),
        "
[PROJECT]/.sim-pipe/trees/[HASH] should hash to [HASH], it hashes to [HASH]
  used by upper
1 finding · 2 records, 3 trees and 0 logs checked ([SIZE])
",
    );
    // By hand, a run sees it and makes it again.
    env.run_ok(&[]).assert_ran(&["upper"]);
    recovers(&env, &[]);
    // By the disk, nothing shows: a run that hashes makes it again, and is the only one that does.
    tamper(&env.output_dir("upper").join("upper.txt"), |b| b[0] ^= 0x20);
    as_if_by_the_disk(&env.output_dir("upper"));
    env.run_ok(&[]).assert_ran(&[]);
    env.run_ok(&["--verify"]).assert_ran(&["upper"]);
    recovers(&env, &[]);

    let env = two();
    env.run_ok(&[]);
    tamper(&env.output_dir("upper").join("upper.txt"), |b| b[0] ^= 0x20);
    assert_text(
        &verify(&env, &["--repair"], 0),
        "
[PROJECT]/.sim-pipe/trees/[HASH] should hash to [HASH], it hashes to [HASH]
  used by upper
  moved to quarantine/ with its record; the next run makes it again
1 finding · 2 records, 3 trees and 0 logs checked ([SIZE])
",
    );
    recovers(&env, &["upper"]);
}

/// A run with `--verify` never serves what does not hash to its name, and heals the store.
#[test]
fn a_run_that_verifies_never_uses_a_damaged_output() {
    let env = two();
    env.run_ok(&[]);
    tamper(&env.output_dir("upper").join("upper.txt"), |b| b[0] ^= 0x20);
    as_if_by_the_disk(&env.output_dir("upper"));
    env.replace("pipeline.toml", "wc -c", "cat");
    let ran = env.run(&["--verify"]);
    ran.out.expect(0);
    ran.assert_ran(&["count", "upper"]);
    assert_eq!(env.text("count", "count.txt"), "HELLO\n");
    env.assert_store_clean();
}

/// The same for a source's snapshot.
#[test]
fn a_run_that_verifies_never_uses_a_damaged_snapshot() {
    let env = two();
    env.run_ok(&[]);
    let input = env.record("upper").inputs[0].tree.expect("a snapshot");
    tamper(&env.store().tree_path(&input), |b| b[0] = b'j');
    as_if_by_the_disk(&env.store().tree_path(&input));
    env.replace("pipeline.toml", "tr a-z A-Z", "tr  a-z A-Z");
    env.run_ok(&["--verify"]).assert_ran(&["upper"]);
    assert_eq!(env.text("upper", "upper.txt"), "HELLO\n");
    env.assert_store_clean();
}

#[test]
fn a_damaged_record() {
    type Damage = fn(&mut Vec<u8>);
    let damages: [(&str, Damage); 4] = [
        ("a flipped bit", |b| {
            let middle = b.len() / 2;
            b[middle] ^= 1;
        }),
        ("cut short", |b| b.truncate(b.len() / 2)),
        ("empty", Vec::clear),
        ("another file", |b| *b = b"hello\n".to_vec()),
    ];
    for (what, damage) in damages {
        let env = two();
        env.run_ok(&[]);
        tamper(&record_file(&env, "upper"), damage);
        let text = verify(&env, &[], 6);
        assert!(text.contains("is damaged: it") && text.contains("1 finding"), "{what}: {text}");
        // Without a repair: as if it were not there.
        env.run_ok(&[]).assert_ran(&["upper"]);
        recovers(&env, &[]);
    }
}

#[test]
fn a_record_from_the_future_or_of_something_else() {
    let env = two();
    env.run_ok(&[]);
    let (upper, count) = (record_file(&env, "upper"), record_file(&env, "count"));
    let bytes = fs::read(&count).expect("read");
    tamper(&upper, |b| *b = bytes);
    assert_text(&verify(&env, &[], 6), "
record [PROJECT]/.sim-pipe/records/[..]/[HASH] is damaged: it belongs at [PROJECT]/.sim-pipe/records/[..]/[HASH]
1 finding · 1 record, 3 trees and 0 logs checked ([SIZE])
");
    env.sim(["store", "verify", "--repair"]).expect(0);
    env.run_ok(&[]).assert_ran(&["upper"]);
    tamper(&upper, |b| {
        let text = String::from_utf8(b.clone()).expect("text");
        *b = text.replacen("sim-pipe record 1 ", "sim-pipe record 9 ", 1).into_bytes();
    });
    assert_text(&verify(&env, &[], 6), "
record [PROJECT]/.sim-pipe/records/[..]/[HASH] is damaged: it has version 9, this program knows up to 1
1 finding · 1 record, 3 trees and 0 logs checked ([SIZE])
");
}

#[test]
fn a_tree_that_is_gone() {
    let env = two();
    env.run_ok(&[]);
    let tree = env.output_dir("upper");
    sim_store::tree::remove_all(&tree).expect("remove");
    assert_text(
        &verify(&env, &[], 6),
        "
tree [HASH] is not in the store
  used by upper
1 finding · 2 records, 2 trees and 0 logs checked ([SIZE])
",
    );
    let plan = env.sim(["plan", "pipeline.toml"]);
    assert!(plan.stdout.contains("upper"), "{plan}");
    // No repair is needed: what is not there is made again.
    env.run_ok(&[]).assert_ran(&["upper"]);
    env.assert_store_clean();
    sim_store::tree::remove_all(&tree).expect("remove");
    recovers(&env, &["upper"]);
}

#[test]
fn a_damaged_log() {
    let env = TestEnv::with_pipeline(
        "[pipeline]\nname = \"l\"\n[[stage]]\nname = \"a\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"echo a log; echo > {out}/x\"]\n",
    );
    env.run_ok(&[]);
    let log = env.record("a").log.expect("a log").to_string();
    let path = env.store_path().join("blobs").join(&log[..2]).join(&log);
    tamper(&path, |b| b[0] ^= 1);
    assert_text(
        &verify(&env, &[], 6),
        "
[PROJECT]/.sim-pipe/blobs/[..]/[HASH] should hash to [HASH], it hashes to [HASH]
  used by a
1 finding · 1 record, 1 tree and 1 log checked ([SIZE])
",
    );
    let out = env.sim(["log", "pipeline.toml", "a"]);
    out.expect(8);
    assert!(!out.stdout.contains("log"), "a damaged log is not shown: {out}");
    assert_text(
        &verify(&env, &["--repair"], 0),
        "
[PROJECT]/.sim-pipe/blobs/[..]/[HASH] should hash to [HASH], it hashes to [HASH]
  used by a
  the log is lost, the result stays
1 finding · 1 record, 1 tree and 1 log checked ([SIZE])
",
    );
    env.run_ok(&[]).assert_ran(&[]);
}

/// The journal and every cache may be damaged or lost; nothing depends on them.
#[test]
fn what_is_disposable_may_be_junk() {
    let env = two();
    env.run_ok(&[]);
    for folder in ["cache", "journal", "tmp"] {
        for entry in fs::read_dir(env.store_path().join(folder)).expect("read") {
            fs::write(entry.expect("an entry").path(), "\u{0}junk\n").expect("write");
        }
    }
    fs::write(env.store_path().join("tmp/left-over"), "x").expect("write");
    env.run_ok(&[]).assert_ran(&[]);
    env.sim(["plan", "pipeline.toml"]).expect(0);
    env.assert_store_clean();
    sim_store::tree::remove_all(&env.store_path().join("cache")).expect("remove");
    sim_store::tree::remove_all(&env.store_path().join("journal")).expect("remove");
    env.run_ok(&[]).assert_ran(&[]);
}

#[test]
fn a_damaged_root_stops_no_run() {
    let env = two();
    env.run_ok(&[]);
    fs::write(env.store_path().join("roots/two.json"), "{").expect("write");
    env.run_ok(&[]).assert_ran(&[]);
    env.sim(["audit", "pipeline.toml"]).expect(0);
}

#[test]
fn a_store_of_a_newer_format_or_none_at_all() {
    let env = two();
    env.run_ok(&[]);
    fs::write(env.store_path().join("format"), "sim-pipe store 2\n").expect("write");
    let before = fs::read_dir(env.store_path().join("journal")).expect("read").count();
    let ran = env.sim(["run", "pipeline.toml"]);
    assert_text(
        &ran.expect(8).err(),
        "
error: the store in [PROJECT]/.sim-pipe has format 2; this program knows formats up to 1
hint: use the sim-pipe that wrote it, or another store
",
    );
    assert_eq!(fs::read_dir(env.store_path().join("journal")).expect("read").count(), before);
    fs::write(env.store_path().join("format"), "something\n").expect("write");
    assert_text(
        &env.sim(["run", "pipeline.toml"]).expect(8).err(),
        r#"
error: [PROJECT]/.sim-pipe/format does not name a store format: "something\n"
"#,
    );

    fs::create_dir(env.path("mine")).expect("mkdir");
    fs::write(env.path("mine/thesis.tex"), "x").expect("write");
    let ran = env.sim(["run", "pipeline.toml", "--store", "mine"]);
    assert_text(
        &ran.expect(8).err(),
        "
error: [PROJECT]/mine is not a store and not empty: it holds [PROJECT]/mine/thesis.tex
hint: choose an empty folder for --store
",
    );
    let left: Vec<_> = fs::read_dir(env.path("mine")).expect("read").collect();
    assert_eq!(left.len(), 1, "nothing is written into a foreign folder");
    env.write("file", "x");
    let out = env.sim(["run", "pipeline.toml", "--store", "file"]);
    assert_text(&out.expect(8).err(), "error: file is a file, not a store");
}

/// Runs a command as a user who owns nothing here, and who may not even reach the target folder: a
/// copy of the program lies where everybody may.
fn as_nobody(env: &TestEnv, args: &[&str]) -> crate::harness::Out {
    let program = env.dir().join("sim-pipe");
    if !program.exists() {
        fs::copy(env!("CARGO_BIN_EXE_sim-pipe"), &program).expect("copy");
    }
    let mut cmd = env.cmd_of(&program, args);
    cmd.command.uid(65534).gid(65534);
    cmd.run()
}

#[test]
fn a_read_only_store_answers_and_refuses_to_run() {
    let env = two();
    env.run_ok(&[]);
    // SAFETY: geteuid takes nothing and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        // An owner without write permission is as good.
        for folder in ["records", "trees", "journal", "roots", "cache", "tmp", "blobs", "locks"] {
            fs::set_permissions(env.store_path().join(folder), fs::Permissions::from_mode(0o555))
                .expect("chmod");
        }
    }
    fs::set_permissions(env.dir(), fs::Permissions::from_mode(0o755)).expect("chmod");
    for folder in ["home", "tmp"] {
        fs::set_permissions(env.dir().join(folder), fs::Permissions::from_mode(0o777))
            .expect("chmod");
    }
    let run = |args: &[&str]| {
        // SAFETY: as above.
        if unsafe { libc::geteuid() } == 0 { as_nobody(&env, args) } else { env.sim(args) }
    };
    let reachable = |dir: &Path| {
        dir.ancestors().all(|d| d.metadata().is_ok_and(|m| m.permissions().mode() & 0o001 != 0))
    };
    if !reachable(env.dir()) {
        skip("nobody", "another user cannot reach the folder of the tests");
        return;
    }
    assert_text(
        &run(&["run", "pipeline.toml"]).expect(0).err(),
        "
two: nothing to do · 0 ran · 2 reused · [TIME]
",
    );
    assert_text(
        &run(&["explain", "pipeline.toml"]).expect(0).err(),
        "
two: nothing would run
",
    );
    run(&["store", "ls"]).expect(0);
    run(&["store", "verify"]).expect(0);
    run(&["audit", "pipeline.toml"]).expect(0);
    env.write("text.txt", "other\n");
    let out = run(&["run", "pipeline.toml"]);
    assert_text(
        &out.expect(8).err(),
        "
error: the store in [PROJECT]/.sim-pipe is read-only
",
    );
    for folder in ["records", "trees", "journal", "roots", "cache", "tmp", "blobs", "locks"] {
        fs::set_permissions(env.store_path().join(folder), fs::Permissions::from_mode(0o755))
            .expect("chmod");
    }
}

/// NixOS/nix#8907: a full disk is a clear error, nothing half-written counts, and after space is
/// made the run completes.
#[test]
fn a_full_disk() {
    let env = TestEnv::with_pipeline(
        r#"[pipeline]
name = "full"

[[stage]]
name = "small"
kind = "command"
run = ["sh", "-c", "head -c 100000 /dev/zero > {out}/x"]

[[stage]]
name = "large"
kind = "command"
run = ["sh", "-c", "cat {inputs.small}/x > {out}/x; head -c {bytes} /dev/urandom > {out}/y || exit 5"]
inputs.small = "small"
matrix.bytes = [400000, 1500000]

[[stage]]
name = "source"
kind = "command"
run = ["sh", "-c", "cp {inputs.big} {out}/x"]
inputs.big = "big.bin"
"#,
    );
    env.write("big.bin", vec![7u8; 1_300_000]);
    fs::create_dir(env.path("disk")).expect("mkdir");
    // The mounts live in a namespace of this script; runs and checks all happen there. The disk is
    // full at another moment with each size: making the store, a snapshot, an output, a record.
    let exe = env!("CARGO_BIN_EXE_sim-pipe");
    env.write(
        "full.sh",
        format!(
            r#"run="{exe} run pipeline.toml --sandbox none -j 1 --store disk/s"
for size in 8k 32k 64k 128k 512k 1500k 2m; do
  mount -t tmpfs -o size=$size none disk || exit 99
  $run; first=$?
  {exe} store verify --store disk/s; verified=$?
  mount -o remount,size=64m disk || exit 98
  $run; again=$?
  {exe} store verify --store disk/s; clean=$?
  echo "$size: full $first, verify $verified; room $again, verify $clean, records $(find disk/s/records -type f | wc -l)"
  umount disk
done
"#
        ),
    );
    let mut shell = env.cmd(["--version"]).command;
    let mut wrapped = std::process::Command::new("unshare");
    wrapped.args(["-Urm", "sh", "full.sh"]).current_dir(env.project()).env_clear();
    for (name, value) in shell.get_envs() {
        if let Some(value) = value {
            wrapped.env(name, value);
        }
    }
    shell.stdin(std::process::Stdio::null());
    let out = wrapped.output().expect("start unshare");
    let text =
        String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    if !out.status.success() || matches!(out.status.code(), Some(98 | 99)) {
        skip("mount", &text);
        return;
    }
    let stdout = String::from_utf8_lossy(&out.stdout).into_owned();
    assert_text(
        &stdout,
        "
8k: full 8, verify 0; room 0, verify 0, records 4
32k: full 8, verify 0; room 0, verify 0, records 4
64k: full 8, verify 0; room 0, verify 0, records 4
128k: full 8, verify 0; room 0, verify 0, records 4
512k: full 8, verify 0; room 0, verify 0, records 4
1500k: full 8, verify 0; room 0, verify 0, records 4
2m: full 8, verify 0; room 0, verify 0, records 4
",
    );
    let stderr = String::from_utf8_lossy(&out.stderr).into_owned();
    let errors: Vec<&str> = stderr
        .lines()
        .filter(|l| l.starts_with("error") || l.starts_with("hint: the disk"))
        .collect();
    assert!(errors.iter().any(|e| e.contains("No space left on device")), "{stderr}");
    assert!(errors.iter().any(|e| e.contains("free some space and run again")), "{stderr}");
}
