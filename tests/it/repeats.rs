//! `run --check`: pure actions run again elsewhere, and what is not the same is told to the byte.

use crate::harness::{Cmd, TestEnv, assert_text, skip};
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;

/// One honest stage, and others that let something in.
const LEAKS: &str = r#"[pipeline]
name = "leaks"

[[stage]]
name = "honest"
kind = "command"
run = ["sh", "-c", "echo the same > {out}/x; mkdir {out}/d; echo too > {out}/d/y"]

[[stage]]
name = "time"
kind = "command"
run = ["sh", "-c", "printf 'built at ' > {out}/log; date +%s.%N >> {out}/log"]

[[stage]]
name = "chance"
kind = "command"
run = ["sh", "-c", "mkdir {out}/d; head -c 4096 /dev/zero > {out}/d/noise; head -c 64 /dev/urandom >> {out}/d/noise; cp {inputs.honest}/x {out}/kept"]
inputs.honest = "honest"

[[stage]]
name = "after"
kind = "command"
run = ["sh", "-c", "sha256sum < {inputs.chance}/d/noise > {out}/x"]
inputs.chance = "chance"

[[stage]]
name = "measure"
kind = "command"
class = "measured"
run = ["sh", "-c", "date +%N > {out}/ns"]
"#;

#[test]
fn what_depends_on_time_or_chance_is_told_to_the_byte() {
    let env = TestEnv::with_pipeline(LEAKS);
    env.run_ok(&[]);
    let before = env.records().len();
    let ran = env.run(&["--check"]);
    let out = ran.out.expect(6);
    let stdout = out.out();
    let offset = |name: &str| -> u64 {
        let line = stdout.lines().find(|l| l.contains(name)).unwrap_or_else(|| panic!("{out}"));
        let at = line.split("byte ").nth(1).and_then(|r| r.split([' ', ';']).next());
        at.and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{line}"))
    };
    assert!((9..40).contains(&offset("log: first")), "{out}");
    assert!((4096..4160).contains(&offset("d/noise: first")), "{out}");
    // The honest one is not named, nor the one that merely used what chance had made.
    assert!(!stdout.contains("honest") && !stdout.contains("after:"), "{out}");
    assert!(stdout.contains("time: not the same when run again · key "), "{out}");
    assert!(!stdout.contains("kept"), "only files that differ: {out}");
    assert!(
        out.stderr.contains(
            "leaks: check: 4 pure actions ran again elsewhere · 2 differ · 1 not pure, left out"
        ),
        "{out}"
    );
    // Nothing of the repeat is kept, and the recorded results are what they were.
    assert_eq!(env.records().len(), before);
    env.assert_store_clean();
    assert_eq!(fs::read_dir(env.store_path().join("tmp")).expect("read").count(), 0);
    env.run_ok(&[]).assert_ran(&[]);

    let lines = env.run(&["--check", "--json"]).out.expect(6).json();
    let noise = lines.iter().find(|l| l["label"] == "chance" && l["files"].is_array());
    let noise = &noise.expect("a line")["files"][0];
    assert_eq!((noise["path"].as_str(), noise["how"].as_str()), (Some("d/noise"), Some("bytes")));
    assert!(noise["offset"].as_u64().is_some_and(|o| (4096..4160).contains(&o)), "{noise}");
    assert_eq!(lines.last().expect("a line")["differ"], 2);
}

#[test]
fn what_holds_is_said_to_hold() {
    let env = crate::cache::two();
    let out = env.sim(["run", "pipeline.toml", "--check"]);
    assert_text(
        &out.expect(0).err(),
        "
      ran  upper  [TIME]  [HASH]
      ran  count  [TIME]  [HASH]
two: done · 2 ran · 0 reused · [TIME]
hint: `sim-pipe store path 'count'` says where its output is
two: check: 2 pure actions ran again elsewhere · the same bytes
",
    );
    let out = env.sim(["run", "pipeline.toml", "--check=3", "--only", "upper"]);
    assert!(
        out.expect(0).stderr.contains("1 pure action ran 3 times again elsewhere · the same bytes"),
        "{out}"
    );
    env.sim(["run", "pipeline.toml", "--check=0"]).expect(2);
}

/// Every kind of difference, and an action that ends otherwise.
#[test]
fn files_that_come_and_go_and_another_end() {
    let script = "if [ -e /SEEN ]; then ln -s x {out}/link; echo b > {out}/new; cp /bin/true {out}/prog; else ln -s y {out}/link; echo a > {out}/old; cp /bin/true {out}/prog; chmod 644 {out}/prog; fi; echo > {out}/x";
    let env = TestEnv::new();
    let seen = env.dir().join("seen").display().to_string();
    env.write(
        "pipeline.toml",
        format!(
            "[pipeline]\nname = \"p\"\n[[stage]]\nname = \"moody\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"{}\"]\n\
             [[stage]]\nname = \"tired\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"[ -e {seen} ] && exit 3; echo > {{out}}/x\"]\n",
            script.replace("/SEEN", &seen)
        ),
    );
    env.run_ok(&["--sandbox", "none"]);
    fs::write(&seen, "").expect("write");
    let out = env.run(&["--sandbox", "none", "--check"]).out;
    assert_text(
        &out.expect(6).out(),
        "
moody: not the same when run again · key [HASH]
  ~ link: a link to somewhere else
  + new: only in the repeat
  - old: only recorded
  ~ prog: executable in one, not in the other
tired: not the same when run again · key [HASH]
  recorded: ok
     again: failed: exit code 3
",
    );
    env.assert_store_clean();
}

/// A program that writes down where and who it is. At the levels that hide that it is pure; at the
/// others it is caught, by the same user in the same place too.
#[test]
fn a_path_in_an_output_is_found_where_it_is_not_hidden() {
    for level in ["none", "landlock", "namespaces", "bubblewrap"] {
        let env = TestEnv::with_pipeline(
            "[pipeline]\nname = \"w\"\n[[stage]]\nname = \"where\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"pwd > {out}/x\"]\n",
        );
        let out = env.run(&["--sandbox", level, "--check"]).out;
        let hidden = matches!(level, "namespaces" | "bubblewrap");
        match out.code() {
            Some(9) => skip(level, "the machine has no such level"),
            code => assert_eq!(code, Some(if hidden { 0 } else { 6 }), "{level}: {out}"),
        }
    }
}

/// Gives a folder to another user, with all that it holds.
fn give(path: &Path, user: u32) {
    std::os::unix::fs::lchown(path, Some(user), Some(user)).expect("chown");
    if path.symlink_metadata().expect("stat").is_dir() {
        for entry in fs::read_dir(path).expect("read") {
            give(&entry.expect("an entry").path(), user);
        }
    }
}

/// A result travels to another user with another checkout: the keys are the same, so it is used
/// there, and a check there finds what the first user's machine let in.
#[test]
fn another_user_in_another_checkout_finds_what_leaked() {
    const NOBODY: u32 = 65534;
    // SAFETY: geteuid takes nothing and cannot fail.
    let root = unsafe { libc::geteuid() } == 0;
    let text = "[pipeline]\nname = \"who\"\n[[stage]]\nname = \"pure\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"cat {inputs.text} > {out}/x\"]\ninputs.text = \"text.txt\"\n\
                [[stage]]\nname = \"user\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"id -u > {out}/x\"]\n\
                [[stage]]\nname = \"place\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"echo $HOME > {out}/x\"]\n";
    let env = TestEnv::with_pipeline(text);
    env.write("text.txt", "text\n");
    env.run_ok(&["--sandbox", "none"]);
    let archive = env.dir().join("who.simpipe");
    env.sim(["store", "export", &archive.display().to_string()]).expect(0);

    // The other user's checkout.
    let (home, project) = (env.dir().join("other"), env.dir().join("other/some/where"));
    fs::create_dir_all(&project).expect("mkdir");
    let program = env.dir().join("other/sim-pipe");
    fs::copy(env!("CARGO_BIN_EXE_sim-pipe"), &program).expect("copy");
    for file in ["pipeline.toml", "text.txt"] {
        fs::copy(env.path(file), project.join(file)).expect("copy");
    }
    let reachable = |dir: &Path| {
        use std::os::unix::fs::PermissionsExt as _;
        dir.ancestors()
            .skip(1)
            .all(|d| d.metadata().is_ok_and(|m| m.permissions().mode() & 0o001 != 0))
    };
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(env.dir(), fs::Permissions::from_mode(0o755)).expect("chmod");
    let other_user = root && reachable(env.dir());
    if other_user {
        give(&home, NOBODY);
    } else {
        skip("nobody", "only root can be another user: the check runs in another checkout alone");
    }
    let cmd = |args: &[&str]| -> Cmd {
        let mut cmd = env
            .cmd_of(&program, args)
            .cwd(&project)
            .env("HOME", &home)
            .env("TMPDIR", &home)
            .env("SIM_PIPE_LOCK_DIR", &home);
        if other_user {
            cmd.command.uid(NOBODY).gid(NOBODY);
        }
        cmd
    };
    let archive = archive.display().to_string();
    cmd(&["store", "import", &archive, "--store", ".sim-pipe"]).run().expect(0);
    let again = cmd(&["run", "pipeline.toml", "--sandbox", "none"]).run();
    assert!(again.expect(0).stderr.contains("nothing to do · 0 ran · 3 reused"), "{again}");
    let checked = cmd(&["run", "pipeline.toml", "--sandbox", "none", "--check"]).run();
    let out = &checked.expect(6).stdout;
    assert!(out.contains("place: not the same"), "{checked}");
    assert_eq!(out.contains("user: not the same"), other_user, "{checked}");
    assert!(!out.contains("pure"), "{checked}");
    cmd(&["store", "verify"]).run().expect(0);
}
