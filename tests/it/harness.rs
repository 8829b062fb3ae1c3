//! Runs the real program in a project of its own, with nothing of the caller's environment, within a
//! bound on time, and reads back what it left in its store.

pub(crate) use crate::tampering::{as_if_by_the_disk, tamper, tick};
pub(crate) use crate::texts::assert_text;
use crate::texts::normal;
use sim_model::event::{Event, Line};
use sim_model::{Record, Status};
use sim_store::Store;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// No command of a test takes this long. A test that reaches it fails; nothing waits for it.
const BOUND: Duration = Duration::from_secs(120);
/// Between two looks at a condition.
const LOOK: Duration = Duration::from_millis(5);
/// The search path of every command: the system's, never the caller's.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A folder with a project, a home and a folder for temporary files, removed at the end.
pub(crate) struct TestEnv {
    dir: PathBuf,
}

impl TestEnv {
    pub(crate) fn new() -> Self {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
        fs::create_dir_all(base).expect("create the folder for tests");
        static SWEPT: Once = Once::new();
        SWEPT.call_once(|| sweep(base));
        let prefix = format!("it-{}-", std::process::id());
        let dir =
            tempfile::Builder::new().prefix(&prefix).tempdir_in(base).expect("a folder").keep();
        for folder in ["project", "home", "tmp"] {
            fs::create_dir(dir.join(folder)).expect("create a folder");
        }
        Self { dir }
    }

    /// A project that holds `pipeline.toml`.
    pub(crate) fn with_pipeline(text: &str) -> Self {
        let env = Self::new();
        env.write("pipeline.toml", text);
        env
    }

    /// The folder around project, home and tmp.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.dir.join("project")
    }

    /// A path in the project.
    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.project().join(relative)
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("create a folder");
        fs::write(path, text).expect("write a file");
    }

    /// Replaces a text that must be in a file of the project.
    pub(crate) fn replace(&self, path: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(path)).expect("read a file");
        assert!(text.contains(from), "{path} does not contain {from:?}");
        self.write(path, text.replace(from, to));
    }

    /// Where the store of the project is.
    pub(crate) fn store_path(&self) -> PathBuf {
        self.path(".sim-pipe")
    }

    pub(crate) fn store(&self) -> Store {
        Store::open_existing(&self.store_path()).expect("open the store")
    }

    /// A command in the project's folder.
    pub(crate) fn cmd<I, S>(&self, args: I) -> Cmd
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.cmd_of(Path::new(env!("CARGO_BIN_EXE_sim-pipe")), args)
    }

    /// As [`TestEnv::cmd`], with a copy of the program somewhere else.
    pub(crate) fn cmd_of<I, S>(&self, program: &Path, args: I) -> Cmd
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let mut command = Command::new(program);
        command
            .args(args)
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", self.dir.join("home"))
            .env("TMPDIR", self.dir.join("tmp"))
            .env("SIM_PIPE_LOCK_DIR", self.dir.join("tmp"))
            .env("LANG", "C.UTF-8")
            .env("COLUMNS", "100")
            .current_dir(self.project())
            .stdin(Stdio::null());
        Cmd { command, bound: BOUND, dir: self.dir.clone() }
    }

    /// Runs a command to its end.
    pub(crate) fn sim<I, S>(&self, args: I) -> Out
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.cmd(args).run()
    }

    /// `sim-pipe run pipeline.toml …`, and what its journal says.
    pub(crate) fn run(&self, more: &[&str]) -> Ran {
        self.run_file("pipeline.toml", more)
    }

    pub(crate) fn run_file(&self, file: &str, more: &[&str]) -> Ran {
        let before = self.journals();
        let out = self.cmd(["run", file].iter().chain(more)).run();
        let new: Vec<PathBuf> = self.journals().difference(&before).cloned().collect();
        let events = new.iter().flat_map(|p| self.journal(p)).collect();
        Ran { out, events }
    }

    /// A run that must do well.
    pub(crate) fn run_ok(&self, more: &[&str]) -> Ran {
        let ran = self.run(more);
        ran.out.expect(0);
        ran
    }

    pub(crate) fn journals(&self) -> BTreeSet<PathBuf> {
        let Ok(entries) = fs::read_dir(self.store_path().join("journal")) else {
            return BTreeSet::new();
        };
        entries.flatten().map(|e| e.path()).collect()
    }

    pub(crate) fn journal(&self, path: &Path) -> Vec<Event> {
        let lines = self.store().journal_lines(path).expect("read a journal");
        lines.into_iter().map(|l| l.event).collect()
    }

    /// Every record that can be read.
    pub(crate) fn records(&self) -> Vec<Record> {
        self.store().records().expect("list the records").0
    }

    /// All observations of a label, oldest first.
    pub(crate) fn records_of(&self, label: &str) -> Vec<Record> {
        let mut found: Vec<Record> =
            self.records().into_iter().filter(|r| r.label == label).collect();
        found.sort_by_key(|r| (r.started_unix_ms, r.generation));
        found
    }

    /// The only record of a label.
    pub(crate) fn record(&self, label: &str) -> Record {
        let mut all = self.records_of(label);
        assert_eq!(all.len(), 1, "records of {label}");
        all.remove(0)
    }

    /// The newest record of a label.
    pub(crate) fn record_newest(&self, label: &str) -> Record {
        self.records_of(label).pop().unwrap_or_else(|| panic!("no record of {label}"))
    }

    /// A file of the newest output of a label.
    pub(crate) fn output(&self, label: &str, file: impl AsRef<Path>) -> Vec<u8> {
        let path = self.output_dir(label).join(file);
        fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// The folder of the newest output of a label.
    pub(crate) fn output_dir(&self, label: &str) -> PathBuf {
        let record = self.records_of(label).pop().unwrap_or_else(|| panic!("no record of {label}"));
        self.store()
            .tree_path(&record.output.unwrap_or_else(|| panic!("{label} has no output")).digest)
    }

    /// The same, as text.
    pub(crate) fn text(&self, label: &str, file: &str) -> String {
        String::from_utf8(self.output(label, file)).expect("text")
    }

    pub(crate) fn log(&self, record: &Record) -> Vec<u8> {
        self.store().blob(&record.log.expect("a log")).expect("read the log")
    }

    /// The store must hold, to the byte, and hold no unfinished work.
    pub(crate) fn assert_store_clean(&self) {
        let out = self.sim(["store", "verify"]);
        out.expect(0);
        assert!(out.stderr.starts_with("clean · "), "{out}");
    }

    /// The folder of an action that has written `file` (relative to its folder) and is still there.
    pub(crate) fn wait_for_action_file(&self, file: &str) -> PathBuf {
        let tmp = self.store_path().join("tmp");
        wait_for(&format!("an action's {file}"), || {
            let entries = fs::read_dir(&tmp).ok()?;
            entries.flatten().map(|e| e.path()).find(|p| p.join(file).exists())
        })
    }
}

/// Removes what tests left whose process is gone: killed ones, and those that live as long as it.
fn sweep(base: &Path) {
    for entry in fs::read_dir(base).expect("read").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(rest) = name.strip_prefix("it-") else { continue };
        let pid = rest.split('-').next().unwrap_or_default();
        if !Path::new("/proc").join(pid).exists() {
            let _ = sim_store::tree::remove_all(&entry.path());
        }
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        if std::thread::panicking() && std::env::var_os("SIM_PIPE_TEST_KEEP").is_some() {
            eprintln!("kept: {}", self.dir.display());
            return;
        }
        let _ = sim_store::tree::remove_all(&self.dir);
    }
}

/// A command about to run.
pub(crate) struct Cmd {
    pub(crate) command: Command,
    bound: Duration,
    dir: PathBuf,
}

impl Cmd {
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn cwd(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    pub(crate) fn bound(mut self, bound: Duration) -> Self {
        self.bound = bound;
        self
    }

    /// Memory that it may ask the system for: one byte more and it does not end well. Exact, where a
    /// sample or a peak, which a process has from the one that started it, is not.
    pub(crate) fn at_most(mut self, bytes: u64) -> Self {
        use std::os::unix::process::CommandExt as _;
        let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
        // SAFETY: setrlimit is async-signal-safe and reads a value on the stack.
        unsafe {
            self.command.pre_exec(move || {
                match libc::setrlimit(libc::RLIMIT_DATA, &raw const limit) {
                    0 => Ok(()),
                    _ => Err(std::io::Error::last_os_error()),
                }
            });
        }
        self
    }

    /// Starts it and goes on.
    pub(crate) fn spawn(mut self) -> Running {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = loop {
            match self.command.spawn() {
                Ok(child) => break child,
                // A copy of the program that was just written: another test's child may hold it open
                // for writing until it executes something.
                Err(e) if e.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(LOOK);
                }
                Err(e) => panic!("start sim-pipe: {e}"),
            }
        };
        let stdout = reader(child.stdout.take().expect("stdout"));
        let stderr = reader(child.stderr.take().expect("stderr"));
        let shown = format!("{:?}", self.command.get_args().collect::<Vec<_>>());
        Running {
            child,
            stdout,
            stderr,
            deadline: Instant::now() + self.bound,
            dir: self.dir,
            shown,
        }
    }

    pub(crate) fn run(self) -> Out {
        self.spawn().wait()
    }
}

type Reader = std::thread::JoinHandle<Vec<u8>>;

fn reader(mut from: impl std::io::Read + Send + 'static) -> Reader {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        bytes
    })
}

/// A command that runs.
pub(crate) struct Running {
    child: Child,
    stdout: Reader,
    stderr: Reader,
    deadline: Instant,
    dir: PathBuf,
    shown: String,
}

impl Running {
    pub(crate) fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    pub(crate) fn signal(&self, signal: i32) {
        kill(self.pid(), signal);
    }

    /// Whether it has not ended.
    pub(crate) fn alive(&mut self) -> bool {
        self.child.try_wait().expect("wait").is_none()
    }

    /// Waits for its end. Reaching the bound ends it and fails the test.
    pub(crate) fn wait(mut self) -> Out {
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("wait") {
                break status;
            }
            if Instant::now() > self.deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                let text =
                    |r: Reader| String::from_utf8_lossy(&r.join().expect("read")).into_owned();
                panic!(
                    "{} did not end in time\n{}\n{}",
                    self.shown,
                    text(self.stdout),
                    text(self.stderr)
                );
            }
            std::thread::sleep(LOOK);
        };
        let text = |r: Reader| String::from_utf8_lossy(&r.join().expect("read")).into_owned();
        Out {
            status,
            stdout: text(self.stdout),
            stderr: text(self.stderr),
            dir: self.dir,
            shown: self.shown,
        }
    }
}

/// How a command ended and what it wrote.
pub(crate) struct Out {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    dir: PathBuf,
    shown: String,
}

impl Out {
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    #[track_caller]
    pub(crate) fn expect(&self, code: i32) -> &Self {
        assert_eq!(self.code(), Some(code), "{self}");
        self
    }

    /// Standard output, normalised.
    pub(crate) fn out(&self) -> String {
        normal(&self.dir, &self.stdout)
    }

    /// Standard error, normalised.
    pub(crate) fn err(&self) -> String {
        normal(&self.dir, &self.stderr)
    }

    /// Lines of `--json`.
    pub(crate) fn json(&self) -> Vec<serde_json::Value> {
        let parse = |l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}\n{self}"));
        self.stdout.lines().map(parse).collect()
    }

    /// Events of `run --json`.
    pub(crate) fn events(&self) -> Vec<Event> {
        self.stdout
            .lines()
            .filter_map(|l| serde_json::from_str::<Line>(l).ok())
            .map(|l| l.event)
            .collect()
    }
}

impl std::fmt::Display for Out {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let how = match (self.status.code(), self.status.signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (None, signal) => format!("signal {signal:?}"),
        };
        write!(
            f,
            "sim-pipe {}: {how}\n--- stdout\n{}\n--- stderr\n{}",
            self.shown, self.stdout, self.stderr
        )
    }
}

/// A run with its journal.
pub(crate) struct Ran {
    pub(crate) out: Out,
    pub(crate) events: Vec<Event>,
}

impl Ran {
    /// Labels of actions whose process ran to a record, sorted.
    pub(crate) fn ran(&self) -> Vec<String> {
        ran(&self.events)
    }

    /// Labels of actions that were skipped, sorted, with what they needed.
    pub(crate) fn skipped(&self) -> Vec<(String, String)> {
        let mut out: Vec<(String, String)> = self
            .events
            .iter()
            .filter_map(|e| match e {
                Event::ActionSkipped { label, because, .. } => {
                    Some((label.clone(), because.clone()))
                }
                _ => None,
            })
            .collect();
        out.sort();
        out
    }

    /// How an action ended in this run.
    pub(crate) fn ended(&self, label: &str) -> (Status, String) {
        let found = self.events.iter().find_map(|e| match e {
            Event::ActionFinished { label: l, status, reason, .. } if l == label => {
                Some((*status, reason.clone()))
            }
            _ => None,
        });
        found.unwrap_or_else(|| panic!("{label} did not run\n{}", self.out))
    }

    /// Warnings of an action in this run.
    pub(crate) fn warnings(&self, label: &str) -> Vec<String> {
        let found = self.events.iter().find_map(|e| match e {
            Event::ActionFinished { label: l, warnings, .. } if l == label => {
                Some(warnings.clone())
            }
            _ => None,
        });
        found.unwrap_or_else(|| panic!("{label} did not run\n{}", self.out))
    }

    /// Exactly these ran.
    #[track_caller]
    pub(crate) fn assert_ran(&self, labels: &[&str]) {
        let mut labels = labels.to_vec();
        labels.sort_unstable();
        assert_eq!(self.ran(), labels, "{}", self.out);
    }
}

/// Labels of actions that finished, sorted.
pub(crate) fn ran(events: &[Event]) -> Vec<String> {
    let mut out: Vec<String> = events
        .iter()
        .filter_map(|e| match e {
            Event::ActionFinished { label, .. } => Some(label.clone()),
            _ => None,
        })
        .collect();
    out.sort();
    out
}

/// Looks until something is there; the bound fails the test.
#[track_caller]
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(LOOK);
    }
}

/// Looks until a condition holds.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    wait_for(what, || holds().then_some(()));
}

pub(crate) fn kill(pid: i32, signal: i32) {
    // SAFETY: plain system call; the pid is of a process this test started.
    unsafe { libc::kill(pid, signal) };
}

/// A word that no other process has on its command line.
pub(crate) fn marker(name: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("it-{name}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Processes with this word on their command line.
pub(crate) fn processes(marker: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").expect("read /proc");
    entries
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| {
            let mut bytes = Vec::new();
            let file = fs::File::open(format!("/proc/{pid}/cmdline"));
            let read = file.and_then(|mut f| f.read_to_end(&mut bytes));
            read.is_ok() && bytes.windows(marker.len()).any(|w| w == marker.as_bytes())
        })
        .collect()
}

/// Nothing with this word runs any more, or soon does not: the kernel takes a moment to end what it
/// was told to kill.
#[track_caller]
pub(crate) fn assert_gone(marker: &str) {
    wait_until(&format!("the end of everything called {marker}"), || processes(marker).is_empty());
}

/// Skips part of a test because the machine lacks something, unless SIM_PIPE_TEST_REQUIRE, a list
/// with spaces or commas, says that it must be there.
pub(crate) fn skip(what: &str, why: &str) {
    let required = std::env::var("SIM_PIPE_TEST_REQUIRE").unwrap_or_default();
    assert!(!required.split([',', ' ']).any(|w| w == what), "{what} is required: {why}");
    eprintln!("skipped, {what} is not here: {why}");
}
