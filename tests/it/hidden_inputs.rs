//! Whatever an action can see is in its key: things that once were not.

use crate::harness::TestEnv;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

fn pipeline(stages: &str) -> String {
    format!("[pipeline]\nname = \"p\"\n{stages}")
}

/// A command finds its sources under their own paths, so the path is in the key.
#[test]
fn the_path_of_a_source() {
    let stage = |file: &str| {
        pipeline(&format!(
            "[[stage]]\nname = \"s\"\nkind = \"command\"\ninputs.a = \"{file}\"\n\
             run = [\"sh\", \"-c\", \"ls *.txt > out/x\"]\n"
        ))
    };
    let env = TestEnv::with_pipeline(&stage("foo.txt"));
    env.write("foo.txt", "same\n");
    env.run_ok(&[]);
    assert_eq!(env.text("s", "x"), "foo.txt\n");
    env.write("bar.txt", "same\n");
    env.write("pipeline.toml", stage("bar.txt"));
    env.run_ok(&[]).assert_ran(&["s"]);
    assert_eq!(env.text("s", "x"), "bar.txt\n");
}

/// The reason of a member that is not `ok` is told to the reader, so it is in the reader's key.
#[test]
fn the_reason_of_a_member() {
    let env = TestEnv::with_pipeline(&pipeline(
        r#"
[[stage]]
name = "g"
kind = "command"
inputs.v = "v.txt"
run = ["sh", "-c", "echo same > out/x; printf '{{\"protocol\":1,\"status\":\"gate_failed\",\"reason\":\"drift %s\"}}' $(cat in/v) > status.json"]
[[stage]]
name = "d"
kind = "command"
inputs.g = "g[*]"
run = ["sh", "-c", "grep -o 'drift [a-z]*' request.json > out/x"]
"#,
    ));
    env.write("v.txt", "aaa");
    env.run(&[]).out.expect(5);
    assert_eq!(env.text("d", "x"), "drift aaa\n");
    env.write("v.txt", "bbb");
    env.run(&[]).out.expect(5);
    assert_eq!(env.text("d", "x"), "drift bbb\n");
}

/// The caller's umask decides nothing.
#[test]
fn the_umask() {
    let env = TestEnv::with_pipeline(&pipeline(
        "[[stage]]\nname = \"c\"\nkind = \"command\"\nrun = [\"cp\", \"/bin/true\", \"{out}/prog\"]\n",
    ));
    let mut cmd = env.cmd(["run", "pipeline.toml"]);
    // SAFETY: umask only sets a number, in the child.
    unsafe {
        std::os::unix::process::CommandExt::pre_exec(&mut cmd.command, || {
            libc::umask(0o177);
            Ok(())
        });
    }
    cmd.run().expect(0);
    let mode = fs::metadata(env.output_dir("c").join("prog")).expect("stat").permissions().mode();
    assert_eq!(mode & 0o777, 0o555);
}

/// A program is identified where the action finds it: on the action's own PATH.
#[test]
fn a_program_on_the_actions_own_path() {
    let env = TestEnv::new();
    let bin = env.path("bin");
    let tool = |text: &str| {
        env.write("bin/tool", format!("#!/bin/sh\necho {text}\n"));
        fs::set_permissions(bin.join("tool"), fs::Permissions::from_mode(0o755)).expect("chmod");
    };
    tool("one");
    env.write(
        "pipeline.toml",
        pipeline(&format!(
            "[[stage]]\nname = \"s\"\nkind = \"command\"\nenv.PATH = \"{}:/usr/bin:/bin\"\n\
             tools = [\"tool\"]\nrun = [\"sh\", \"-c\", \"echo x > out/x\"]\n",
            bin.display()
        )),
    );
    env.run_ok(&[]);
    env.run_ok(&[]).assert_ran(&[]);
    tool("two");
    env.run_ok(&[]).assert_ran(&["s"]);
}

/// A store below an input is no part of it, whatever its name.
#[test]
fn a_store_inside_an_input() {
    let env = TestEnv::with_pipeline(&pipeline(
        "[[stage]]\nname = \"s\"\nkind = \"command\"\ninputs.d = \"data\"\n\
         run = [\"sh\", \"-c\", \"ls in/d > out/x\"]\n",
    ));
    env.write("data/blob", "x");
    let run = || env.sim(["run", "pipeline.toml", "--store", "data/st"]);
    run().expect(0);
    let again = run();
    assert!(again.expect(0).stderr.contains("nothing to do"), "{again}");
}

/// A pin keeps its name against everybody.
#[test]
fn a_pin_is_not_replaced() {
    let env = crate::cache::two();
    env.run_ok(&[]);
    env.sim(["store", "pin", "two", "two"]).expect(0);
    env.sim(["store", "pin", "two", "two"]).expect(2);
    env.write("text.txt", "other\n");
    env.run_ok(&[]);
    env.sim(["store", "gc"]).expect(0);
    env.write("text.txt", "hello\n");
    env.run_ok(&[]).assert_ran(&[]);
}
