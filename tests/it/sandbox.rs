//! What an action can see and do at each level of the sandbox. A level that the machine has not is
//! skipped with a message, unless SIM_PIPE_TEST_REQUIRE names it.

use crate::harness::{TestEnv, assert_text, skip};
use std::fs;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::Path;

/// From the weakest to the strongest.
pub(crate) const LEVELS: [&str; 4] = ["none", "landlock", "bubblewrap", "namespaces"];

/// Whether this machine has a level, by the program's own word.
pub(crate) fn have(level: &str) -> bool {
    if level == "none" {
        return true;
    }
    let out = TestEnv::new().sim(["doctor", "--json"]);
    let name = format!("sandbox {level}");
    let line = out.json().into_iter().find(|l| l["what"] == name.as_str()).expect("a line");
    let value = line["value"].as_str().unwrap_or_default().to_owned();
    if value != "works" {
        skip(level, &value);
    }
    value == "works"
}

/// Runs a Python program as an action and gives its standard output by name, at every level.
fn at_every_level(
    script: &str,
    levels: &[&str],
    prepare: impl Fn(&TestEnv),
    check: impl Fn(&str, &TestEnv, &str),
) {
    for level in levels.iter().filter(|l| have(l)) {
        let env = TestEnv::with_pipeline(
            r#"[pipeline]
name = "box"

[[stage]]
name = "made"
kind = "command"
run = ["sh", "-c", "echo made > {out}/made.txt"]

[[stage]]
name = "try"
kind = "command"
run = ["python3", "try.py", "{out}/found.txt"]
inputs.script = "try.py"
inputs.text = "text.txt"
inputs.made = "made"
"#,
        );
        env.write("text.txt", "declared\n");
        env.write("secret.txt", "undeclared\n");
        fs::write(env.dir().join("home/secret.txt"), "at home\n").expect("write");
        env.write("try.py", format!("{PRELUDE}\n{script}"));
        prepare(&env);
        let ran = env.run_ok(&["--sandbox", level]);
        assert_eq!(env.record("try").sandbox, *level, "{}", ran.out);
        assert_eq!(
            ran.out.stderr.contains("warning  without a sandbox"),
            *level == "none",
            "{}",
            ran.out
        );
        check(level, &env, &env.text("try", "found.txt"));
        env.assert_store_clean();
    }
}

const PRELUDE: &str = r#"
import os, socket, sys
found = open(sys.argv[1], "w")
def attempt(name, what):
    try:
        what()
        print(name, "worked", file=found)
    except OSError as e:
        print(name, "refused", file=found)
def read(path):
    return lambda: open(path).read()
def write(path):
    return lambda: open(path, "w").write("x")
"#;

/// What is confined: everything but `none`, which promises nothing.
const CONFINED: [&str; 3] = ["landlock", "namespaces", "bubblewrap"];

#[test]
fn reads_nothing_that_it_did_not_declare() {
    at_every_level(
        r#"
for name, path in [line.split("=", 1) for line in open("in/text").read().split()]:
    attempt(name, read(path))
attempt("declared", read("in/text"))
attempt("by its own name", read("text.txt"))
attempt("made", read("in/made/made.txt"))
attempt("the system", read("/etc/hostname" if os.path.exists("/etc/hostname") else "/etc/passwd"))
"#,
        &CONFINED,
        |env| {
            env.write(
                "text.txt",
                format!(
                    "project={}\nhome={}\npipeline={}\nstore={}\nother={}\n",
                    env.path("secret.txt").display(),
                    env.dir().join("home/secret.txt").display(),
                    env.path("pipeline.toml").display(),
                    env.store_path().join("format").display(),
                    env.dir().join("tmp/other.txt").display(),
                ),
            );
            fs::write(env.dir().join("tmp/other.txt"), "of another action").expect("write");
        },
        |level, _, found| {
            let expected = "
project refused
home refused
pipeline refused
store refused
other refused
declared worked
by its own name worked
made worked
the system worked
";
            assert_text(&format!("{level}\n{found}"), &format!("{level}{expected}"));
        },
    );
}

#[test]
fn writes_nothing_outside_its_folder_and_not_into_its_inputs() {
    at_every_level(
        r#"
for name, path in [line.split("=", 1) for line in open("in/text").read().split()]:
    attempt(name, write(path))
attempt("source", write("in/text"))
attempt("output of another", write("in/made/made.txt"))
attempt("beside it", write("in/made/more.txt"))
attempt("chmod", lambda: os.chmod("in/made/made.txt", 0o600))
attempt("unlink", lambda: os.unlink("in/made/made.txt"))
attempt("rename", lambda: os.rename("in/made/made.txt", "out/mine.txt"))
attempt("system", write("/etc/sim-pipe-was-here"))
attempt("home", write(os.path.join(os.environ["HOME"], "x")))
attempt("tmp", write(os.path.join(os.environ["TMPDIR"], "x")))
"#,
        &CONFINED,
        |env| {
            env.write(
                "text.txt",
                format!(
                    "project={}\nuser={}\nstore={}\n",
                    env.path("new.txt").display(),
                    env.dir().join("home/new.txt").display(),
                    env.store_path().join("trees/x").display()
                ),
            );
        },
        |level, env, found| {
            // Landlock alone knows no right to change a mode: the store's digest has the executable
            // bit, so `store verify` finds what an action does with it.
            let found = match level {
                "landlock" => found.replace("chmod worked", "chmod refused"),
                _ => found.to_owned(),
            };
            let expected = "
project refused
user refused
store refused
source refused
output of another refused
beside it refused
chmod refused
unlink refused
rename refused
system refused
home worked
tmp worked
";
            assert_text(&format!("{level}\n{found}"), &format!("{level}{expected}"));
            assert!(!env.path("new.txt").exists());
            assert_eq!(env.text("made", "made.txt"), "made\n");
        },
    );
}

/// P001 and DESIGN 6: no network. The listener is real and the same machine's own.
#[test]
fn reaches_no_network() {
    let tcp = TcpListener::bind("127.0.0.1:0").expect("listen");
    let port = tcp.local_addr().expect("an address").port();
    let script = format!(
        r#"
def tcp():
    socket.create_connection(("127.0.0.1", {port}), timeout=5)
def abstract():
    s = socket.socket(socket.AF_UNIX); s.connect("\0sim-pipe-it-{port}")
attempt("tcp", tcp)
attempt("abstract socket", abstract)
attempt("name", lambda: socket.getaddrinfo("example.org", 80))
"#
    );
    use std::os::linux::net::SocketAddrExt as _;
    let name = std::os::unix::net::SocketAddr::from_abstract_name(format!("sim-pipe-it-{port}"));
    let _unix = UnixListener::bind_addr(&name.expect("a name")).expect("listen");
    at_every_level(
        &script,
        &CONFINED,
        |_| {},
        |level, _, found| {
            assert!(found.contains("tcp refused\n"), "{level}: {found}");
            assert!(found.contains("abstract socket refused\n"), "{level}: {found}");
            assert!(found.contains("name refused\n"), "{level}: {found}");
        },
    );
    // The listener does listen: without a sandbox it is reached.
    at_every_level(
        &script,
        &["none"],
        |_| {},
        |_, _, found| {
            assert!(found.contains("tcp worked\n"), "{found}");
        },
    );
}

/// The caller's environment, working folder and open files do not leak in.
#[test]
fn sees_the_same_surroundings_every_time() {
    let script = r#"
for name in sorted(os.environ):
    print(name, file=found)
print("umask %o" % os.umask(0), file=found)
print("cwd", os.getcwd(), file=found)
print("fds", sorted(int(f) for f in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + f)), file=found)
print("stdin", repr(sys.stdin.read()), file=found)
print(sorted(os.listdir(".")), file=found)
"#;
    at_every_level(
        script,
        &LEVELS,
        |_| {},
        |level, _, found| {
            let cwd = found.lines().find_map(|l| l.strip_prefix("cwd ")).expect("cwd").to_owned();
            if matches!(level, "namespaces" | "bubblewrap") {
                assert_eq!(cwd, "/tmp/sim-pipe", "{level}");
            }
            let found = found.replace(&cwd, "[CWD]").replace("PWD\n", "").replace("LC_CTYPE\n", "");
            assert_text(
                &format!("[{level}]\n{found}").replace(level, "LEVEL"),
                "
[LEVEL]
HOME
LANG
LC_ALL
MKL_NUM_THREADS
OMP_NUM_THREADS
OPENBLAS_NUM_THREADS
PATH
PYTHONDONTWRITEBYTECODE
PYTHONHASHSEED
RAYON_NUM_THREADS
SOURCE_DATE_EPOCH
TMPDIR
TZ
umask 22
cwd [CWD]
fds [0, 1, 2, 3]
stdin ''
['home', 'in', 'out', 'private-shm', 'private-tmp', 'request.json', 'text.txt', 'tmp', 'try.py']
",
            );
        },
    );
    // What the caller has open stays out.
    let env = TestEnv::with_pipeline(
        "[pipeline]\nname = \"fd\"\n[[stage]]\nname = \"a\"\nkind = \"command\"\nrun = [\"python3\", \"-c\", \"import os, sys\\ntry: text = os.read(77, 9).decode()\\nexcept OSError: text = 'none'\\nopen(sys.argv[1], 'w').write(text)\", \"{out}/x\"]\n",
    );
    let secret = fs::File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).expect("open");
    let fd = std::os::fd::AsRawFd::as_raw_fd(&secret);
    for level in LEVELS.iter().filter(|l| have(l)) {
        let mut cmd = env.cmd(["run", "pipeline.toml", "--sandbox", level, "--store", level]);
        // SAFETY: dup2 is async-signal-safe; the descriptor is open while the child starts.
        unsafe {
            use std::os::unix::process::CommandExt as _;
            cmd.command.pre_exec(move || {
                if libc::dup2(fd, 77) < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
            });
        }
        cmd.run().expect(0);
        let path = env.cmd(["store", "path", "a", "--store", level]).run();
        let text = fs::read_to_string(format!("{}/x", path.expect(0).stdout.trim())).expect("read");
        assert_eq!(text, "none", "{level}");
    }
    // Whatever the caller has set and wherever it stands: same key, and the same bytes.
    let env = TestEnv::with_pipeline(
        "[pipeline]\nname = \"e\"\n[[stage]]\nname = \"a\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"env | sort > {out}/env\"]\n",
    );
    env.run_ok(&[]);
    let first = env.output("a", "env");
    sim_store::tree::remove_all(&env.store_path()).expect("remove the store");
    let file = env.path("pipeline.toml").display().to_string();
    let out = env
        .cmd(["run", &file])
        .cwd(&env.dir().join("home"))
        .env("SECRET", "1")
        .env("LC_ALL", "tr_TR.UTF-8")
        .env("TZ", "Asia/Tokyo")
        .env("PYTHONPATH", "/nowhere")
        .run();
    out.expect(0);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    // At the lower levels the folder's own name shows; nothing else may.
    let same = |t: String| -> Vec<String> {
        t.lines()
            .filter(|l| !["HOME", "TMPDIR", "PWD"].iter().any(|n| l.starts_with(n)))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(same(text(&first)), same(text(&env.output("a", "env"))));
}

#[test]
fn the_strongest_level_is_taken_and_a_missing_one_is_an_error() {
    let env = TestEnv::with_pipeline(
        "[pipeline]\nname = \"l\"\n[[stage]]\nname = \"a\"\nkind = \"command\"\nrun = [\"/bin/sh\", \"-c\", \"echo > {out}/x\"]\n",
    );
    env.run_ok(&[]);
    let strongest = LEVELS.iter().rev().find(|l| have(l)).expect("none at least");
    assert_eq!(env.record("a").sandbox, *strongest);
    // Without `bwrap` on the search path there is no such level, whatever the machine has.
    let empty = env.dir().join("home");
    let args = ["run", "pipeline.toml", "--sandbox=bubblewrap", "--store", "another"];
    let ran = env.cmd(args).env("PATH", &empty).run();
    assert_text(
        &ran.expect(9).err(),
        "
error: a sandbox is required, and this system gives none: bubblewrap: `bwrap` is not on PATH
hint: --sandbox=auto takes the strongest level there is and records it
",
    );
    let wrong = env.sim(["run", "pipeline.toml", "--sandbox=strong"]);
    wrong.expect(2);
}

/// The program may lie anywhere, in /tmp itself too, which every action has as its own.
#[test]
fn the_program_lies_in_tmp() {
    let env = TestEnv::with_pipeline(
        "[pipeline]\nname = \"p\"\n[[stage]]\nname = \"s\"\nkind = \"scene\"\n\
         scenario = \"free_fall\"\nsize = 3\n",
    );
    let program = Path::new("/tmp").join(format!("sim-pipe-test-{}", std::process::id()));
    fs::copy(env!("CARGO_BIN_EXE_sim-pipe"), &program).expect("copy");
    let mut results = Vec::new();
    for level in ["none", "landlock", "namespaces", "bubblewrap"] {
        let store = format!("store-{level}");
        let args = ["run", "pipeline.toml", "--sandbox", level, "--store", &store];
        results.push((level, env.cmd_of(&program, args).run()));
    }
    fs::remove_file(&program).expect("remove");
    for (level, out) in results {
        // 9: the machine does not have this level.
        assert!(matches!(out.code(), Some(0 | 9)), "{level}: {out}");
    }
}
