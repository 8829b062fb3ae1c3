//! Large graphs and many inputs: bounded memory, no recursion, nothing that grows with the number of
//! paths, and no command line that is too long.

use crate::harness::{Cmd, TestEnv};
use std::fmt::Write as _;

/// What a plan of a hundred thousand stages may take.
const MEMORY: u64 = 600 << 20;

fn bounded(cmd: Cmd) -> crate::harness::Out {
    cmd.at_most(MEMORY).run()
}

/// A chain of that many stages whose first one fails: planned, run to its end, explained.
#[test]
fn a_chain_of_a_hundred_thousand_stages() {
    let mut text = String::from(
        "[pipeline]\nname = \"chain\"\n[[stage]]\nname = \"s0\"\nkind = \"command\"\nrun = [\"false\"]\n",
    );
    for i in 1..100_000 {
        let before = i - 1;
        write!(
            text,
            "[[stage]]\nname = \"s{i}\"\nkind = \"command\"\nrun = [\"true\"]\ninputs.a = \"s{before}\"\n"
        )
        .expect("a text");
    }
    let env = TestEnv::with_pipeline(&text);
    let plan = bounded(env.cmd(["plan", "pipeline.toml", "--json"]));
    assert_eq!(plan.expect(0).json().len(), 100_000);
    let out = bounded(env.cmd(["run", "pipeline.toml"]));
    assert!(out.expect(4).stderr.contains("1 not ok · 99999 skipped"), "{}", out.stderr.len());
    let explained = bounded(env.cmd(["explain", "pipeline.toml", "s99999"]));
    assert!(explained.expect(0).stdout.contains("s0"), "{explained}");
}

/// Forty layers of two stages that each take both of the layer before: 2^40 paths, 80 actions.
#[test]
fn a_ladder_of_forty_diamonds() {
    let mut text = String::from("[pipeline]\nname = \"ladder\"\n");
    for layer in 0..40 {
        for side in ["a", "b"] {
            let inputs = match layer {
                0 => String::new(),
                n => format!("inputs.x = \"a{0}\"\ninputs.y = \"b{0}\"\n", n - 1),
            };
            let read = if layer == 0 { ":" } else { "cat {inputs.x}/t {inputs.y}/t | sha256sum" };
            write!(
                text,
                "[[stage]]\nname = \"{side}{layer}\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"echo {side} > {{out}}/t; {read} >> {{out}}/t\"]\n{inputs}"
            )
            .expect("a text");
        }
    }
    text.push_str("[[stage]]\nname = \"site\"\nkind = \"report\"\ninputs.files = \"a39[*]\"\n");
    let env = TestEnv::with_pipeline(&text);
    let run = bounded(env.cmd(["run", "pipeline.toml"]));
    assert!(run.expect(0).stderr.contains("81 ran"), "{run}");
    for command in [
        &["run", "pipeline.toml"][..],
        &["audit", "pipeline.toml"],
        &["explain", "pipeline.toml", "a39"],
        &["store", "gc"],
        &["store", "verify"],
        &["store", "export", "ladder.simpipe"],
    ] {
        bounded(env.cmd(command)).expect(0);
    }
    // A change at the bottom that changes nothing above it but the site, which tells of every record.
    env.replace("pipeline.toml", "echo a > {out}/t; :", "echo a > {out}/t;  :");
    let again = bounded(env.cmd(["run", "pipeline.toml"]));
    assert!(again.expect(0).stderr.contains("2 ran · 79 reused"), "{again}");
}

/// snakemake/snakemake#854, #918: more inputs of one stage than a command line can name. SIM_PIPE_TEST_INPUTS sets how many.
#[test]
fn tens_of_thousands_of_inputs_of_one_stage() {
    let env = TestEnv::with_pipeline(
        r#"[pipeline]
name = "many"

[[stage]]
name = "count"
kind = "command"
run = ["sh", "-c", "find {inputs.files}/ -type f | wc -l > {out}/n"]
inputs.files = "data/**"
timeout = "10min"
"#,
    );
    // All of them are a minute's work for the disk.
    let n =
        std::env::var("SIM_PIPE_TEST_INPUTS").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000);
    for i in 0..n {
        if i % 1000 == 0 {
            std::fs::create_dir_all(env.path(format!("data/{}", i / 1000))).expect("mkdir");
        }
        std::fs::File::create(env.path(format!("data/{}/{i}", i / 1000))).expect("create");
    }
    let out = bounded(env.cmd(["run", "pipeline.toml"]).bound(std::time::Duration::from_secs(600)));
    out.expect(0);
    assert_eq!(env.text("count", "n"), format!("{n}\n"));
    assert!(bounded(env.cmd(["run", "pipeline.toml"])).expect(0).stderr.contains("nothing to do"));
}

#[test]
fn a_list_of_several_hundred_actions() {
    let numbers = (0..300).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
    let env = TestEnv::with_pipeline(&format!(
        "[pipeline]\nname = \"list\"\n[[stage]]\nname = \"a\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"echo {{n}} > {{out}}/n\"]\nmatrix.n = [{numbers}]\n\
         [[stage]]\nname = \"sum\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"cat {{inputs.all}}/*/n | wc -l > {{out}}/n\"]\ninputs.all = \"a[*]\"\n"
    ));
    env.run_ok(&["--sandbox", "none", "--only", "a"]);
    for level in crate::sandbox::LEVELS.iter().filter(|l| crate::sandbox::have(l)) {
        env.run_ok(&["--sandbox", level]);
        assert_eq!(env.text("sum", "n"), "300\n", "{level}");
        // Another command for the next level, so that it runs.
        let text = std::fs::read_to_string(env.path("pipeline.toml")).expect("read");
        env.write("pipeline.toml", text.replacen("| ", "|  ", 1));
    }
}
