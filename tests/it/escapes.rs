//! What a sceptic tried on the sandbox, on action folders and on the supervisor, and what came of it.

use crate::harness::TestEnv;
use crate::sandbox::{LEVELS, have};
use sim_model::Status;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

fn one(script: &str) -> TestEnv {
    let run = serde_json::to_string(&["sh", "-c", script]).expect("JSON");
    TestEnv::with_pipeline(&format!(
        "[pipeline]\nname = \"e\"\n[[stage]]\nname = \"a\"\nkind = \"command\"\nrun = {run}\n"
    ))
}

/// An action that puts a link in place of its inputs: what lies there stays.
#[test]
fn a_folder_that_became_a_link_is_not_cleared() {
    for level in LEVELS.iter().filter(|l| have(l)) {
        let env = TestEnv::new();
        let victim = env.dir().join("victim");
        fs::create_dir(&victim).expect("mkdir");
        symlink("/etc/hostname", victim.join("l")).expect("ln");
        let script = format!("rm -rf in; ln -s '{}' in; echo hi > out/x", victim.display());
        let run = serde_json::to_string(&["sh", "-c", &script]).expect("JSON");
        env.write("pipeline.toml", format!(
            "[pipeline]\nname = \"e\"\n[[stage]]\nname = \"a\"\nkind = \"command\"\nrun = {run}\n"
        ));
        env.run(&["--sandbox", level]);
        assert!(fs::symlink_metadata(victim.join("l")).is_ok(), "{level}");
    }
}

/// A signal to the whole group reaches the supervisor, too, which must not take it for the end.
#[test]
fn a_signal_of_the_program_never_makes_half_a_result() {
    let dying = "echo partial > out/x; kill -USR1 0; sleep 0.2; echo full > out/x";
    let living = "trap : USR1 USR2 ALRM; echo partial > out/x; \
                  kill -USR1 0; kill -USR2 0; kill -ALRM 0; kill -USR1 1 2>/dev/null; sleep 0.2; echo full > out/x";
    for level in LEVELS.iter().filter(|l| have(l)) {
        let env = one(dying);
        env.run(&["--sandbox", level]).out.expect(4);
        assert_eq!(env.record("a").status, Status::Failed, "{level}");
        let env = one(living);
        let ran = env.run(&["--sandbox", level]);
        if ran.out.code() == Some(0) {
            assert_eq!(env.text("a", "x"), "full\n", "{level}: {}", ran.out);
        } else {
            // `bwrap` itself is in the group, and dies of it.
            assert_eq!(*level, "bubblewrap", "{}", ran.out);
        }
    }
}

/// To root, switches of the kernel are files of its own. Nothing is changed here: the same value is
/// written that is there.
#[test]
fn no_switch_of_the_machine_can_be_written() {
    let script = "for f in vm/swappiness kernel/core_pattern; do \
                  if (: >> /proc/sys/$f) 2>/dev/null; then echo open $f; fi; done > out/x; echo done >> out/x";
    for level in ["namespaces", "landlock"].iter().filter(|l| have(l)) {
        let env = one(script);
        env.run_ok(&["--sandbox", level]);
        assert_eq!(env.text("a", "x"), "done\n", "{level}");
    }
}

/// What cannot be started, or locks itself out of its folder, fails alone.
#[test]
fn what_cannot_be_started_fails_alone() {
    let env = TestEnv::with_pipeline(
        r#"
[pipeline]
name = "e"

[[stage]]
name = "interpreter"
kind = "command"
run = ["./script"]
inputs.script = "script"

[[stage]]
name = "right"
kind = "command"
run = ["./plain"]
inputs.plain = "plain"

[[stage]]
name = "locked"
kind = "command"
run = ["sh", "-c", "echo > out/x; chmod 000 . out"]

[[stage]]
name = "good"
kind = "command"
run = ["sh", "-c", "echo > out/x"]
"#,
    );
    env.write("script", "#!/nonexistent\n");
    env.write("plain", "x\n");
    fs::set_permissions(env.path("script"), fs::Permissions::from_mode(0o755)).expect("chmod");
    let ran = env.run(&[]);
    ran.out.expect(4);
    for name in ["interpreter", "right"] {
        let (status, reason) = ran.ended(name);
        assert_eq!(status, Status::Failed, "{name}");
        assert!(reason.contains("could not be started"), "{name}: {reason}");
    }
    assert_eq!(ran.ended("good").0, Status::Ok);
    env.assert_store_clean();
}

/// A folder on the search path may be a link, with an absolute target, or no folder to show at all.
#[test]
fn odd_folders_on_the_search_path_stop_no_run() {
    let env = one("echo hi > out/x");
    let real = env.dir().join("real");
    fs::create_dir(&real).expect("mkdir");
    fs::create_dir(env.dir().join("d")).expect("mkdir");
    symlink(&real, env.dir().join("d/link")).expect("ln");
    symlink(env.dir().join("d"), env.dir().join("through")).expect("ln");
    let odd = format!(
        "{0}/d/link:{0}/through/link:/:/dev:relative:{1}",
        env.dir().display(),
        std::env::var("PATH").expect("PATH")
    );
    for level in LEVELS.iter().filter(|l| have(l)) {
        let args = ["run", "pipeline.toml", "--sandbox", level, "--store", level];
        env.cmd(args).env("PATH", &odd).run().expect(0);
    }
}

/// What one action leaves with its folder, its keyring or the kernel, the next one does not find.
#[test]
fn an_action_leaves_nothing_for_the_next() {
    // keyctl(SEARCH, the user's keyring, …): the key's number, or -1.
    let look = "stat -c %a . home tmp > out/x; \
        python3 -c 'import ctypes; print(ctypes.CDLL(None).syscall(250, 10, -4, b\"user\", b\"sp-test\", 0) > 0)' >> out/x";
    // add_key(…, the user's keyring).
    let leave = "chmod 711 .; touch -d @0 home; \
        python3 -c 'import ctypes; ctypes.CDLL(None).syscall(248, b\"user\", b\"sp-test\", b\"x\", 1, -4)'; echo > out/x";
    let pipeline = |first: &str| {
        let json = |s: &str| serde_json::to_string(&["sh", "-c", s]).expect("JSON");
        format!(
            "[pipeline]\nname = \"e\"\n[[stage]]\nname = \"first\"\nkind = \"command\"\nrun = {}\n\
             [[stage]]\nname = \"second\"\nkind = \"command\"\nrun = {}\ninputs.first = \"first\"\n",
            json(first),
            json(look)
        )
    };
    if !have("namespaces") {
        return;
    }
    let mut seen = Vec::new();
    for first in ["echo > out/x", leave] {
        let env = TestEnv::with_pipeline(&pipeline(first));
        env.run_ok(&["-j1", "--sandbox", "namespaces"]);
        seen.push(env.text("second", "x"));
    }
    assert_eq!(seen[0], seen[1]);
}
