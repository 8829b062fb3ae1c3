//! What a run says of everything that can become of an action, to the letter: each message names the
//! stage, the cause, and what to do next. NixOS/nix#13509, bazelbuild/bazel#3026, dagger/dagger#10504.

use crate::harness::{TestEnv, assert_text};

#[test]
fn every_way_to_fail() {
    let env = TestEnv::with_pipeline(
        r#"[pipeline]
name = "bad"

[[stage]]
name = "fails"
kind = "command"
run = ["sh", "-c", "echo the reason; exit 3"]

[[stage]]
name = "forgets"
kind = "command"
run = ["true"]
outputs = ["table.csv"]

[[stage]]
name = "grows"
kind = "command"
run = ["python3", "-c", "import time; x = bytearray(400 << 20); time.sleep(100)"]
memory = "100MiB"

[[stage]]
name = "hangs"
kind = "command"
run = ["sleep", "100"]
timeout = "300ms"

[[stage]]
name = "lacks"
kind = "command"
run = ["no-such-program"]

[[stage]]
name = "needs"
kind = "command"
run = ["cat", "{inputs.it}"]
inputs.it = "fails"
"#,
    );
    let out = env.sim(["run", "pipeline.toml", "-j", "1"]);
    let said = out.expect(4).err();
    // How much it had grown when it was looked at is not ours to say.
    let said: String = said.lines().map(|l| rounded(l) + "\n").collect();
    assert_text(
        &said,
        "
warning[SP0410]: the program `no-such-program` is not on PATH
  --> pipeline.toml:30:7
   |
30 | run = [\"no-such-program\"]
   |       ^^^^^^^^^^^^^^^^^^^
   |
help: install it, or put its folder on PATH; until then what needs it is skipped

1 warning; `sim-pipe help SP0410` explains the first

  skipped  lacks: it needs `no-such-program`, which is not on PATH
   failed  fails  [TIME]  failed: exit code 3
           | the reason
  skipped  needs: needs fails
   failed  forgets  [TIME]  failed: declared but not written: table.csv
   failed  grows  [TIME]  out_of_memory: its processes used […] more than their cap of [SIZE]
   failed  hangs  [TIME]  timed_out: it ran longer than its timeout of [TIME]
not ok:
  fails: failed: exit code 3
  forgets: failed: declared but not written: table.csv
  grows: out_of_memory: its processes used […] more than their cap of [SIZE]
  hangs: timed_out: it ran longer than its timeout of [TIME]
hint: `sim-pipe log pipeline.toml 'fails'` prints its log
bad: done · 4 ran · 0 reused · 4 not ok · 2 skipped · [TIME]
",
    );
    let log = env.sim(["log", "pipeline.toml", "fails"]);
    assert_eq!(log.expect(0).stdout, "the reason\n");
    assert!(log.stderr.contains("reason: exit code 3"), "{log}");
}

fn rounded(line: &str) -> String {
    match line.split_once("processes used ") {
        Some((before, rest)) => {
            let after = rest.split_once(' ').map_or("", |(_, after)| after);
            format!("{before}processes used […] {after}")
        }
        None => line.to_owned(),
    }
}

/// What was recorded and is not there any more is said where one asks.
#[test]
fn a_result_that_is_gone() {
    let env = crate::cache::two();
    env.run_ok(&[]);
    sim_store::tree::remove_all(&env.output_dir("upper")).expect("remove");
    assert_text(
        &env.sim(["explain", "pipeline.toml", "upper"]).expect(0).out(),
        "
upper: would run · key [HASH]
  it is recorded as ok, and its output is gone or was changed since
",
    );
    let plan = env.sim(["plan", "pipeline.toml"]);
    assert!(plan.expect(0).stdout.contains("run  "), "{plan}");
}
