//! A disk that is full at any moment: a clear error and exit code 8, nothing half-written counts, and
//! with room again the run completes. NixOS/nix#8907, SCons/scons#2625.

use crate::harness::{TestEnv, skip};
use std::process::{Command, Stdio};

const PIPELINE: &str = r#"[pipeline]
name = "full"

[[stage]]
name = "small"
kind = "command"
run = ["sh", "-c", "echo a log; head -c 10000 /dev/zero > {out}/x"]

[[stage]]
name = "large"
kind = "command"
run = ["sh", "-c", "cat {inputs.small}/x > {out}/x; head -c {bytes} /dev/urandom > {out}/y || exit 5"]
inputs.small = "small"
matrix.bytes = [4000, 60000]

[[stage]]
name = "source"
kind = "command"
run = ["sh", "-c", "cp {inputs.big} {out}/x"]
inputs.big = "big.bin"
"#;

/// Runs a script in a namespace in which it may mount; its output, or none where the system forbids
/// it.
fn with_mounts(env: &TestEnv, script: &str) -> Option<(String, String)> {
    env.write("full.sh", script);
    let shell = env.cmd(["--version"]).command;
    let mut wrapped = Command::new("unshare");
    wrapped.args(["-Urm", "sh", "full.sh"]).current_dir(env.project()).env_clear();
    wrapped.stdin(Stdio::null());
    for (name, value) in shell.get_envs() {
        if let Some(value) = value {
            wrapped.env(name, value);
        }
    }
    let out = wrapped.output().expect("start unshare");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&out.stdout), text(&out.stderr));
    if !out.status.success() {
        skip("mount", &format!("{stdout}{stderr}"));
        return None;
    }
    Some((stdout, stderr))
}

fn project() -> TestEnv {
    let env = TestEnv::with_pipeline(PIPELINE);
    env.write("big.bin", vec![7u8; 50_000]);
    std::fs::create_dir(env.path("disk")).expect("mkdir");
    env
}

/// The disk runs out of bytes, or of inodes, at one step after the other: with each size a run comes a
/// little farther.
#[test]
fn the_disk_is_full_at_any_step() {
    let exe = env!("CARGO_BIN_EXE_sim-pipe");
    let env = project();
    let script = format!(
        r#"run="{exe} run pipeline.toml --sandbox none -j 1 --store disk/s"
try() {{
  mount -t tmpfs -o "$1" none disk || exit 99
  $run >out 2>err; first=$?
  {exe} store verify --store disk/s >/dev/null 2>verify.err; verified=$?
  mount -o "remount,size=64m,nr_inodes=100000" disk || exit 98
  $run >/dev/null 2>again.err; again=$?
  {exe} store verify --store disk/s >/dev/null 2>clean.err; clean=$?
  records=$(find disk/s/records -type f | wc -l)
  echo "$1: $first $verified $again $clean $records | $(grep '^error' err | head -1) | $(grep -c '^hint: the disk is full' err) $(cat verify.err | head -1)"
  umount disk
}}
i=4; while [ $i -le 420 ]; do try "size=${{i}}k"; i=$((i + 4)); done
i=4; while [ $i -le 120 ]; do try "size=64m,nr_inodes=$i"; i=$((i + 2)); done
"#
    );
    let Some((stdout, stderr)) = with_mounts(&env, &script) else { return };
    eprintln!("{stdout}");
    let mut errors = std::collections::BTreeMap::<String, u32>::new();
    for line in stdout.lines() {
        let (numbers, rest) = line.split_once(" | ").unwrap_or_else(|| panic!("{line}\n{stderr}"));
        let (what, numbers) = numbers.split_once(": ").expect("what was tried");
        let n: Vec<&str> = numbers.split(' ').collect();
        let [first, verified, again, clean, records] = n[..] else { panic!("{line}") };
        // An action that cannot write its output fails, if there is room to say so.
        assert!(matches!(first, "0" | "4" | "8"), "{what}: {line}");
        // There may be no store yet.
        assert!(verified == "0" || rest.contains("no store"), "{what}: {line}");
        assert_eq!((again, clean), ("0", "0"), "{what}: {line}");
        assert_eq!(records, "4", "{what}: {line}");
        if first == "8" {
            assert!(rest.contains("No space left on device"), "{what}: {line}");
            assert!(rest.contains("| 1 "), "{what}: it says what to do: {line}");
            let place = rest.split("disk/s/").nth(1).and_then(|p| p.split(['/', ':']).next());
            *errors.entry(place.unwrap_or("store").to_owned()).or_default() += 1;
        }
    }
    // Everything that a run writes was in the way at some size.
    for place in ["blobs", "journal", "records", "roots", "tmp"] {
        let hit = errors.keys().any(|k| k.trim_end_matches('`') == place);
        assert!(hit, "{place} was never full: {errors:?}");
    }
}

/// `query` makes its index where there is no room for it: it answers all the same, or says that the
/// disk is full; the store is none the worse.
#[test]
fn the_disk_is_full_when_the_index_is_made() {
    let exe = env!("CARGO_BIN_EXE_sim-pipe");
    let env = project();
    let lib = std::env::var_os("DUCKDB_LIB_DIR").filter(|d| !d.is_empty());
    let mut probe = env.cmd(["query", "select 1", "--store", "probe"]);
    if let Some(dir) = &lib {
        probe = probe.env("DUCKDB_LIB_DIR", dir);
    }
    let probe = probe.run();
    if probe.code() == Some(9) {
        skip("duckdb", probe.stderr.lines().next().unwrap_or_default());
        return;
    }
    let named =
        lib.map(|dir| format!("export DUCKDB_LIB_DIR='{}'", std::path::Path::new(&dir).display()));
    let script = format!(
        r#"{}
mount -t tmpfs -o size=64m none disk || exit 99
{exe} run pipeline.toml --sandbox none --store disk/s 2>/dev/null || exit 97
used=$(df --output=used disk | tail -1)
for more in 0 8 40 200 400; do
  rm -rf disk/s/cache/catalog*
  mount -o "remount,size=$((used + more))k" disk || exit 98
  {exe} query --store disk/s --format csv 'select count(*) as n from actions' >out 2>err; code=$?
  {exe} store verify --store disk/s >/dev/null 2>verify.err; verified=$?
  mount -o remount,size=64m disk || exit 98
  {exe} query --store disk/s --format csv 'select count(*) as n from actions' >room 2>room.err; room=$?
  echo "$more: $code $(tr '\n' ' ' <out)| $verified $room $(tr '\n' ' ' <room)| $(tr '\n' ' ' <err)"
done
ls disk/s/cache >&2
"#,
        named.unwrap_or_default()
    );
    let Some((stdout, stderr)) = with_mounts(&env, &script) else { return };
    eprintln!("{stdout}{stderr}");
    for line in stdout.lines() {
        let parts: Vec<&str> = line.split("| ").collect();
        let [first, after, said] = parts[..] else { panic!("{line}\n{stderr}") };
        assert!(after.starts_with("0 0 n 4"), "{line}");
        let answered = first.contains(": 0 n 4");
        let told = first.contains(": 8 ") && said.contains("the disk is full");
        assert!(answered || told, "{line}");
    }
}
