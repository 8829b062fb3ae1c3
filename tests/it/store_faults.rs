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
  made again by running its action
running upper again
1 finding · 2 records, 3 trees and 0 logs checked ([SIZE])
",
    );
    recovers(&env, &[]);
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
    recovers(&env, &[]);
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
hint: where the store is known to be one of this program, write `sim-pipe store 1` into it
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
        let built = Path::new(env!("CARGO_BIN_EXE_sim-pipe"));
        fs::copy(built, &program).expect("copy");
        // Where the build has libduckdb beside the program, so has the copy.
        if let Ok(library) = fs::canonicalize(built.with_file_name("libduckdb.so")) {
            std::os::unix::fs::symlink(library, env.dir().join("libduckdb.so")).expect("link");
        }
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
    // nextflow-io/nextflow#309: reading history needs no right to write it.
    let asked = run(&["query", "select count(*) as n from actions", "--format", "csv"]);
    match asked.code() {
        Some(9) => skip("duckdb", "libduckdb is not where another user finds it"),
        _ => assert_eq!(asked.expect(0).stdout, "n\n2\n"),
    }
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

/// The store may lie on another file system than everything else; its own `tmp/` may not, and that is
/// said.
#[test]
fn another_file_system() {
    use std::os::unix::fs::MetadataExt as _;
    let env = two();
    let shm = Path::new("/dev/shm");
    let other =
        |p: &Path| p.metadata().is_ok_and(|m| m.dev() != env.dir().metadata().expect("stat").dev());
    if !other(shm) {
        skip("shm", "there is no /dev/shm on another file system");
        return;
    }
    let there = tempfile::Builder::new().prefix("sim-pipe-it-").tempdir_in(shm).expect("a folder");
    let store = there.path().join("store").display().to_string();
    let run = || env.sim(["run", "pipeline.toml", "--store", &store]);
    run().expect(0);
    let again = run();
    assert!(again.expect(0).stderr.contains("nothing to do"), "{again}");
    env.sim(["store", "verify", "--store", &store]).expect(0);
    sim_store::tree::remove_all(Path::new(&store)).expect("remove");

    env.run_ok(&[]);
    let tmp = env.store_path().join("tmp");
    fs::remove_dir_all(&tmp).expect("rm");
    std::os::unix::fs::symlink(there.path(), &tmp).expect("ln");
    env.write("text.txt", "other\n");
    let out = env.sim(["run", "pipeline.toml"]);
    assert_text(
        &out.expect(8).err(),
        "
error: [PROJECT]/.sim-pipe/tmp lies on another file system than the store
hint: results are moved from there into the store: make it a folder of the store again
",
    );
    fs::remove_file(&tmp).expect("rm");
    env.run_ok(&[]).assert_ran(&["count", "upper"]);
    env.assert_store_clean();
}

/// A record that is gone is a result that is not there: it is made again, and nothing else is.
#[test]
fn a_deleted_record() {
    let env = two();
    env.run_ok(&[]);
    fs::remove_file(record_file(&env, "upper")).expect("rm");
    env.assert_store_clean();
    env.run_ok(&[]).assert_ran(&["upper"]);
    fs::remove_file(record_file(&env, "upper")).expect("rm");
    fs::remove_file(record_file(&env, "count")).expect("rm");
    env.run_ok(&[]).assert_ran(&["count", "upper"]);
    env.assert_store_clean();
    // All of them, with the folders around them.
    sim_store::tree::remove_all(&env.store_path().join("records")).expect("rm");
    env.run_ok(&[]).assert_ran(&["count", "upper"]);
    env.assert_store_clean();
}

/// A repair says what can be made again as it was, and what is lost for good.
#[test]
fn a_repair_says_what_it_can_and_what_it_cannot() {
    let env = TestEnv::with_pipeline(&format!(
        "{}\n[[stage]]\nname = \"time\"\nkind = \"command\"\nclass = \"measured\"\nrun = [\"sh\", \"-c\", \"date +%N > {{out}}/ns\"]\n",
        crate::cache::TWO
    ));
    env.write("text.txt", "hello\n");
    env.run_ok(&[]);
    let snapshot = env.record("upper").inputs[0].tree.expect("a snapshot");
    tamper(&env.output_dir("upper").join("upper.txt"), |b| b[0] ^= 0x20);
    tamper(&env.output_dir("time").join("ns"), |b| b[0] ^= 1);
    tamper(&env.store().tree_path(&snapshot), |b| b[0] ^= 1);
    let shown = verify(&env, &["--repair"], 0);
    for line in [
        "  moved to quarantine/ with its record; the next run makes it again (not now: the source \
         text.txt, which upper used, is not in the store any more)\n",
        "  moved to quarantine/ with its record; an observation is lost, the next run observes anew\n",
        "  moved to quarantine/; where it is a source, the next run that needs it takes it again\n",
    ] {
        assert!(shown.contains(line), "{line}{shown}");
    }
    assert!(
        shown.ends_with("3 findings · 3 records, 4 trees and 0 logs checked ([SIZE])\n"),
        "{shown}"
    );
    let before = env.text("count", "count.txt");
    env.run_ok(&[]).assert_ran(&["time", "upper"]);
    assert_eq!(env.text("count", "count.txt"), before);
    env.assert_store_clean();
}

/// Outputs are made again in the order in which they need each other, from what records say alone: the
/// pipeline and the sources may be gone. What does not come out the same is not taken for it.
#[test]
fn a_repair_makes_again_what_pure_actions_gave() {
    let env = TestEnv::with_pipeline(
        r#"[pipeline]
name = "chain"
[[stage]]
name = "a"
kind = "command"
run = ["sh", "-c", "mkdir {out}/d; cat {inputs.it} > {out}/d/x; ln -s d/x {out}/l; chmod +x {out}/d/x"]
inputs.it = "source"
[[stage]]
name = "b"
kind = "command"
run = ["sh", "-c", "cat {inputs.a} {inputs.a} > {out}/x"]
inputs.a = "a:d/x"
[[stage]]
name = "c"
kind = "command"
class = "machine"
run = ["cp", "{inputs.b}/x", "{out}/x"]
inputs.b = "b"
[[stage]]
name = "chance"
kind = "command"
run = ["sh", "-c", "date +%N > {out}/ns"]
"#,
    );
    env.write("source", "one\n");
    env.run_ok(&[]).assert_ran(&["a", "b", "c", "chance"]);
    let labels = ["a", "b", "c", "chance"];
    let records = labels.map(|l| env.record(l));
    for label in labels {
        sim_store::tree::remove_all(&env.output_dir(label)).expect("remove");
    }
    fs::remove_file(env.path("source")).expect("rm");
    fs::rename(env.path("pipeline.toml"), env.path("elsewhere")).expect("mv");
    let shown = verify(&env, &["--repair"], 0);
    assert_eq!(shown.matches("  made again by running its action\n").count(), 2, "{shown}");
    let ran = shown.lines().filter(|l| l.starts_with("running ")).count();
    assert_eq!(ran, 3, "b and c gave the same tree: {shown}");
    assert!(shown.contains("(not now: run again, it gave other bytes: tree "), "{shown}");
    assert!(verify(&env, &[], 0).starts_with("clean"), "{shown}");
    fs::rename(env.path("elsewhere"), env.path("pipeline.toml")).expect("mv");
    env.write("source", "one\n");
    env.run_ok(&[]).assert_ran(&["chance"]);
    for (label, before) in labels.iter().zip(records).take(3) {
        assert_eq!(env.record(label), before, "the record stays");
    }
    assert_eq!(fs::read_to_string(env.output_dir("c").join("x")).expect("read"), "one\none\n");
}
