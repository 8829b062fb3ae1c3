//! One action, from key to record.

use crate::action_dir::{self, SourceChanged};
use crate::ahead::Ahead;
use crate::allocation;
use crate::cancel::Cancel;
use crate::conditions::{Before, Quiet};
use crate::error::{ExecError, Result};
use crate::host_paths;
use crate::outputs;
use crate::process::{self, Finished, Stop};
use crate::resolve::{Outcomes, Resolved, Resolver};
use crate::sandbox::{self, Host, Level, Policy, Sandbox, View};
use crate::settled::Question;
use crate::spawn::Ended;
use crate::workplace::{MODE, Workplace};
use fs_err as fs;
use sim_model::event::Event;
use sim_model::record::{RECORD_VERSION, Usage};
use sim_model::request::{StageStatus, StatusFile};
use sim_model::{Class, Digest, PlannedAction, Record, Status};
use sim_store::tree::LinkRule;
use sim_store::{Brief, Store, Stored};
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

pub use crate::schedule::{Summary, run};

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Actions at once; measured ones run alone whatever this says.
    pub jobs: usize,
    /// The sandbox wanted.
    pub sandbox: Policy,
    /// Observe again: measured actions run even where a record is there; the new one is added.
    pub remeasure: bool,
    /// Run again what ended in a verdict other than `ok` (a failed gate, an unsupported case).
    pub retry_failed: bool,
    /// Go on after a failure with everything that does not need it.
    pub keep_going: bool,
    /// Re-hash what a reused record names before using it.
    pub verify: bool,
    /// The sim-pipe program, started again for stage kinds that are compiled in.
    pub exe: PathBuf,
    /// PATH for actions and for finding tools.
    pub path_var: String,
    /// sim-pipe's version, for records.
    pub tool_version: String,
    /// Pipeline file relative to the project's root, for the journal and the root.
    pub pipeline_file: String,
    /// The folder with the lock that gives a measured action the machine; the same for all sim-pipe
    /// processes that should know of each other.
    pub lock_folder: PathBuf,
    /// Only these actions and what they need; all when absent.
    pub only: Option<Vec<usize>>,
    /// Run again what is known to run out of memory on this machine.
    pub retry_known: bool,
    /// The run that this one goes on with.
    pub resume: Option<Resume>,
    /// What is looked at ahead, where something is.
    pub ahead: Option<Ahead>,
    /// What the next run must ask to be told that there is nothing to do; see [`Question`].
    pub question: Option<Question>,
}

/// An interrupted run, gone on with.
#[derive(Clone, Debug, Default)]
pub struct Resume {
    /// Its id.
    pub run: String,
    /// Records, by key and generation, that it and those before it ended with: also those that a new run
    /// would not use are kept (P143).
    pub ended: BTreeMap<Digest, u32>,
}

impl Options {
    /// Whether this record is how the action ended in the run that this one goes on with.
    pub(crate) fn keeps(&self, r: &Brief) -> bool {
        let ended = self.resume.as_ref().and_then(|resume| resume.ended.get(&r.key));
        !self.retry_failed && !self.retry_known && ended == Some(&r.generation)
    }
}

/// Sees events as they happen. Called from one thread.
pub trait Observer {
    /// Something happened in the run of this id. `index` is the action's place in the plan, where it is
    /// about one.
    fn event(&mut self, run: &str, index: Option<usize>, event: &Event);
}

/// What a worker needs.
pub(crate) struct Context<'a> {
    pub(crate) resolver: &'a Resolver<'a>,
    pub(crate) options: &'a Options,
    /// Prepared with the first action that runs.
    pub(crate) sandbox: OnceLock<Sandbox>,
    pub(crate) cancel: &'a Cancel,
    pub(crate) machine: MachineUse,
    /// Since when nothing but measured actions ran.
    pub(crate) quiet: Quiet,
}

/// This process's use of the machine, as other sim-pipe processes see it.
#[derive(Debug)]
pub(crate) struct MachineUse {
    path: PathBuf,
    /// How many pure and machine actions of this process run, and the one lock they share.
    shared: Mutex<(usize, Option<File>)>,
}

impl MachineUse {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, shared: Mutex::default() }
    }

    fn shared(&self) -> std::sync::MutexGuard<'_, (usize, Option<File>)> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Held while an action runs.
enum InUse<'a> {
    Alone { _file: File },
    Shared(&'a MachineUse),
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        if let Self::Shared(machine) = self {
            let mut shared = machine.shared();
            shared.0 -= 1;
            if shared.0 == 0 {
                shared.1 = None;
            }
        }
    }
}

/// Why a worker waits; told once it takes long enough to be asked about.
const BY_KEY: &str = "another sim-pipe runs the same action; its result will be used";
const BY_MACHINE: &str = "another sim-pipe measures on this machine, or this one would";
const TELL_AFTER: Duration = Duration::from_secs(2);

/// What a worker gives back.
pub(crate) enum Done {
    /// It ran and its record is written.
    Ran(Box<Stored>),
    /// Another process ran it meanwhile.
    Waited(Box<Brief>),
    /// It was interrupted; nothing is recorded.
    Interrupted,
}

/// Whether how an action ended is an answer to what is asked.
pub(crate) fn good_enough(options: &Options, r: &Brief) -> bool {
    r.status.reusable() && !(options.retry_failed && r.status != Status::Ok)
}

/// Whether a record may be used instead of running.
pub(crate) fn usable(store: &Store, options: &Options, r: &Brief) -> Result<bool> {
    if !good_enough(options, r) {
        return Ok(false);
    }
    match &r.output {
        None => Ok(true),
        Some(tree) if options.verify => match store.verified_tree(&tree.digest) {
            Ok(_) => Ok(true),
            Err(sim_store::StoreError::Damaged { path, .. }) => {
                // An equal tree made again would be taken for this one.
                store.quarantine(&path)?;
                Ok(false)
            }
            Err(sim_store::StoreError::MissingTree { .. }) => Ok(false),
            Err(e) => Err(e.into()),
        },
        Some(tree) => Ok(store.intact(&tree.digest)?),
    }
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        resolver: &'a Resolver<'a>,
        options: &'a Options,
        cancel: &'a Cancel,
    ) -> Self {
        // SAFETY: geteuid cannot fail.
        let uid = unsafe { libc::geteuid() };
        let lock = options.lock_folder.join(format!("sim-pipe-{uid}.lock"));
        let (sandbox, machine) = (OnceLock::new(), MachineUse::new(lock));
        Self { resolver, options, sandbox, cancel, machine, quiet: Quiet::default() }
    }
}

impl Context<'_> {
    /// Prepares the sandbox for actions that run in `place`, and gives its level. Called on a thread
    /// that outlives them.
    pub(crate) fn start_sandbox(&self, place: &Store) -> Result<&'static str> {
        let no = |problem| ExecError::NoSandbox { problem };
        let options = self.options;
        let devices = host_paths::DEVICES.iter().chain(&host_paths::GPU_DEVICES);
        let host = Host {
            read: host_paths::readable(&options.path_var, &options.exe),
            devices: devices.map(PathBuf::from).filter(|p| p.exists()).collect(),
            scratch: place.scratch_folder(),
            trees: Some(self.resolver.store.trees()),
            exe: options.exe.clone(),
        };
        let started = sandbox::start(options.sandbox, &host).map_err(no)?;
        Ok(self.sandbox.get_or_init(|| started).level.name())
    }

    fn sandbox(&self) -> Result<&Sandbox> {
        let no = || ExecError::NoSandbox { problem: "it was not started".to_owned() };
        self.sandbox.get().ok_or_else(no)
    }

    /// Runs the action, unless another process does so first. `forced`: run even where a record is.
    /// `place` is the worker's folder, if it has one from the action before.
    pub(crate) fn execute(
        &self,
        action: &PlannedAction,
        mut resolved: Resolved,
        outcomes: &Outcomes,
        forced: bool,
        place: &mut Option<Workplace>,
        tell: &dyn Fn(&'static str),
    ) -> Result<Done> {
        let store = self.resolver.store;
        for _ in 0..5 {
            let lock = || Ok(store.try_lock_key(&resolved.key)?);
            let Some(_key_lock) = self.wait_for(lock, BY_KEY, tell)? else {
                return Ok(Done::Interrupted);
            };
            let stored = match store.brief(&resolved.key) {
                // Out of the way of the record to come.
                Err(sim_store::StoreError::DamagedRecord { path, .. }) => {
                    store.quarantine(&path)?;
                    None
                }
                other => other?,
            };
            if !forced
                && let Some(stored) = stored
                && usable(store, self.options, &stored)?
            {
                return Ok(Done::Waited(Box::new(stored)));
            }
            let Some(_in_use) = self.use_machine(action.class, tell)? else {
                return Ok(Done::Interrupted);
            };
            let work = match place.take() {
                Some(work) => work,
                None => Workplace::new(store)?,
            };
            let prepared = action_dir::prepare(
                self.resolver,
                action,
                &resolved,
                outcomes,
                self.sandbox()?.level,
                self.options.verify,
                work.path(),
            )?;
            match prepared {
                Ok(dir) => {
                    let done = self.run_in(action, &resolved, &dir, store)?;
                    *place = work.again(&dir.names);
                    return Ok(done);
                }
                Err(SourceChanged) => {
                    self.resolver.forget_sources();
                    resolved = self.resolver.resolve(action, outcomes)?;
                }
            }
        }
        Err(ExecError::Unsettled {
            label: action.label.clone(),
            path: action.inputs.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
        })
    }

    /// Runs an action whose result is known once more, into another store, and gives what it did
    /// there; `None` when it was interrupted. Its sources must be what they were.
    pub(crate) fn again(
        &self,
        action: &PlannedAction,
        resolved: &Resolved,
        outcomes: &Outcomes,
        elsewhere: &Store,
    ) -> Result<Option<Brief>> {
        let Some(_in_use) = self.use_machine(action.class, &|_| {})? else { return Ok(None) };
        let work = Workplace::new(elsewhere)?;
        let (level, verify) = (self.sandbox()?.level, self.options.verify);
        let prepared = action_dir::prepare(
            self.resolver,
            action,
            resolved,
            outcomes,
            level,
            verify,
            work.path(),
        )?;
        let Ok(dir) = prepared else {
            let path = action.inputs.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            return Err(ExecError::Unsettled { label: action.label.clone(), path });
        };
        match self.run_in(action, resolved, &dir, elsewhere)? {
            Done::Ran(stored) => Ok(Some(Brief::from(&*stored))),
            Done::Waited(brief) => Ok(Some(*brief)),
            Done::Interrupted => Ok(None),
        }
    }

    /// Tries until something is given or the run is cancelled.
    fn wait_for<T>(
        &self,
        mut attempt: impl FnMut() -> Result<Option<T>>,
        what_for: &'static str,
        tell: &dyn Fn(&'static str),
    ) -> Result<Option<T>> {
        let start = Instant::now();
        let mut told = false;
        let mut pause = Duration::from_micros(500);
        loop {
            if self.cancel.is_set() {
                return Ok(None);
            }
            if let Some(found) = attempt()? {
                return Ok(Some(found));
            }
            if !told && start.elapsed() > TELL_AFTER {
                told = true;
                tell(what_for);
            }
            // A lock held by another process has no event to wait for together with our own.
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(100));
        }
    }

    fn use_machine(&self, class: Class, tell: &dyn Fn(&'static str)) -> Result<Option<InUse<'_>>> {
        let mut turn = None;
        if class == Class::Measured {
            let alone =
                self.wait_for(|| self.try_lock_machine(class, &mut turn), BY_MACHINE, tell)?;
            return Ok(alone.map(|file| InUse::Alone { _file: file }));
        }
        let mut shared = self.machine.shared();
        if shared.1.is_none() {
            let file =
                self.wait_for(|| self.try_lock_machine(class, &mut turn), BY_MACHINE, tell)?;
            let Some(file) = file else { return Ok(None) };
            shared.1 = Some(file);
        }
        shared.0 += 1;
        Ok(Some(InUse::Shared(&self.machine)))
    }

    /// Measured actions have the machine for themselves, across all sim-pipe processes of this user.
    /// Whoever waits holds `turn` meanwhile, and nobody is let in without it: so a process that
    /// measures one action after the other cannot keep another out for ever.
    fn try_lock_machine(&self, class: Class, turn: &mut Option<File>) -> Result<Option<File>> {
        let open = |path: &Path| {
            let file =
                File::options().create(true).truncate(false).read(true).write(true).open(path);
            file.map_err(|e| std::io::Error::new(e.kind(), format!("{}: {e}", path.display())))
        };
        let held = |tried: std::result::Result<(), TryLockError>| match tried {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(e)) => Err(e),
        };
        if turn.is_none() {
            let file = open(&self.machine.path.with_extension("turn"))?;
            if !held(file.try_lock())? {
                return Ok(None);
            }
            *turn = Some(file);
        }
        let file = open(&self.machine.path)?;
        let tried = if class == Class::Measured { file.try_lock() } else { file.try_lock_shared() };
        if !held(tried)? {
            return Ok(None);
        }
        *turn = None;
        Ok(Some(file))
    }

    fn run_in(
        &self,
        action: &PlannedAction,
        resolved: &Resolved,
        dir: &action_dir::ActionDir,
        store: &Store,
    ) -> Result<Done> {
        let measured = action.class == Class::Measured;
        let view = View { network: action.network, action_dir: &dir.path, stores: &dir.stores };
        if action.network {
            action_dir::copy_host_settings(&dir.path.join("home"))?;
        }
        let (program, argv) = self.command_line(action)?;
        let sandbox = self.sandbox()?;
        let inner = sandbox.level.inner_dir(&dir.path);
        let env = action_dir::environment(action, &self.options.path_var, &inner);
        let args: Vec<_> = argv[1..].iter().map(Into::into).collect();
        let memory_cap = action.limits.memory.resolve(self.resolver.machine.ram_bytes);

        let before = measured.then(Before::read);
        let started_unix_ms = crate::unix_ms();
        let start = Instant::now();
        let timeout = action.limits.timeout;
        let (finished, not_started) = match sandbox.spawn(&view, &program, args, env) {
            Ok(child) => {
                let finished = process::run(child, start, timeout, memory_cap, self.cancel)
                    .map_err(|source| ExecError::Spawn { program, source })?;
                (finished, None)
            }
            // A missing interpreter, no right to execute, a list of arguments beyond what the system
            // takes: the action's own affair.
            Err(e) => {
                (Finished::nothing(), Some(format!("`{}` could not be started: {e}", argv[0])))
            }
        };
        // An action may take away even the right to look into its own folder.
        let _ = fs::set_permissions(&dir.path, std::fs::Permissions::from_mode(MODE));
        if finished.stopped == Some(Stop::Cancelled) {
            return Ok(Done::Interrupted);
        }
        let conditions = match before {
            Some(before) => Some(before.after(finished.ended.cpu_ms, &self.quiet)),
            None => {
                self.quiet.disturbed();
                None
            }
        };

        let mut warnings = Vec::new();
        let (mut status, mut reason) =
            judge(action, dir, &finished, memory_cap, &mut warnings, sandbox.level);
        if let Some(problem) = not_started {
            (status, reason) = (Status::Failed, problem);
        }
        let log_dropped = finished.log.dropped;
        let log = finished.log.into_bytes();
        // An engine that dies for want of memory cannot say so itself.
        if let (Status::Failed, true, Some(line)) =
            (status, action.series.is_some(), allocation::failed(&log))
        {
            (status, reason) = (Status::OutOfMemory, format!("{line} ({reason})"));
        }
        let out = dir.path.join("out");
        let keeps = matches!(status, Status::Ok | Status::GateFailed);
        // An action may do anything to its own folder, so to this one too.
        if !out.symlink_metadata().is_ok_and(|m| m.is_dir()) {
            if keeps {
                (status, reason) = (Status::Failed, "it removed or replaced out/".to_owned());
            }
            sim_store::tree::remove_all(&out)?;
            fs::create_dir(&out)?;
        } else if keeps {
            // A folder that cannot even be read is the action's own doing, and its failure alone.
            let checked =
                outputs::check(&out, &action.outputs).unwrap_or_else(|e| Err(unreadable(&e, &out)));
            if let Err(problem) = checked {
                (status, reason) = (Status::Failed, problem);
            }
        }
        let kept = !matches!(status, Status::Failed | Status::TimedOut | Status::OutOfMemory)
            && fs::read_dir(&out).is_ok_and(|mut d| d.next().is_some());
        let mut output = None;
        if kept {
            match store.take(&out, LinkRule::Inside) {
                Ok((tree, _)) => output = Some(tree),
                Err(e @ sim_store::StoreError::BadEntry { .. }) => {
                    (status, reason) = (Status::Failed, format!("bad output: {e}"));
                }
                Err(sim_store::StoreError::Io(e))
                    if matches!(
                        e.kind(),
                        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::InvalidFilename
                    ) =>
                {
                    (status, reason) = (Status::Failed, unreadable(&e, &out));
                }
                Err(e) => return Err(e.into()),
            }
        }
        if let Some(noisy) = conditions.as_ref().map(|c| &c.noisy).filter(|n| !n.is_empty()) {
            warnings.push(format!("noisy observation: {}", noisy.join("; ")));
        }
        let record = Record {
            version: RECORD_VERSION,
            key: resolved.key,
            generation: 0,
            label: action.label.clone(),
            kind: action.kind.clone(),
            class: action.class,
            status,
            reason,
            output,
            inputs: resolved.record_inputs.clone(),
            components: self.resolver.explain(action, resolved),
            argv,
            log: if log.is_empty() { None } else { Some(store.put_blob(&log)?) },
            log_dropped,
            sandbox: sandbox.level.name().to_owned(),
            started_unix_ms,
            usage: Usage {
                wall_ms: finished.wall.as_secs_f64() * 1e3,
                cpu_ms: finished.ended.cpu_ms,
                peak_tree_bytes: finished.peak_bytes,
            },
            machine: self.resolver.machine.clone(),
            conditions,
            limits: BTreeMap::from([
                ("timeout_s".to_owned(), action.limits.timeout.as_secs_f64()),
                ("memory_bytes".to_owned(), memory_cap as f64),
            ]),
            warnings,
            tool_version: self.options.tool_version.clone(),
        };
        Ok(Done::Ran(Box::new(store.put_record(&record)?)))
    }

    /// The program to execute and the command line as recorded.
    fn command_line(&self, action: &PlannedAction) -> Result<(PathBuf, Vec<String>)> {
        if action.argv.is_empty() {
            let argv = vec!["sim-pipe".to_owned(), "stage".to_owned(), action.kind.clone()];
            return Ok((self.options.exe.clone(), argv));
        }
        let argv = action_dir::expand_argv(action);
        let first = argv[0].clone();
        let program = if first.contains('/') {
            PathBuf::from(&first)
        } else {
            let path_var = action.env.get("PATH").map(String::as_str);
            self.resolver.tools.find(&first, path_var).ok_or_else(|| ExecError::ToolMissing {
                label: action.label.clone(),
                tool: first.clone(),
            })?
        };
        Ok((program, argv))
    }
}

/// Why outputs cannot be kept, without a path of this machine.
fn unreadable(e: &std::io::Error, out: &Path) -> String {
    let text = e.to_string().replace(&out.display().to_string(), "out");
    format!("bad output: {text}")
}

/// From what happened to a status and a reason.
fn judge(
    action: &PlannedAction,
    dir: &action_dir::ActionDir,
    finished: &Finished,
    memory_cap: u64,
    warnings: &mut Vec<String>,
    level: Level,
) -> (Status, String) {
    let Ended { status, left_behind, .. } = finished.ended;
    // What outlives `bwrap` is a process of its own, on its way out; and who is stopped has no chance
    // to wait for its children.
    if left_behind > 0 && finished.stopped.is_none() && level != Level::Bubblewrap {
        warnings.push(match left_behind {
            1 => "it left a process behind, which was killed".to_owned(),
            n => format!("it left {n} processes behind, which were killed"),
        });
    }
    match finished.stopped {
        Some(Stop::Timeout) => {
            let s = action.limits.timeout.as_secs_f64();
            return (Status::TimedOut, format!("it ran longer than its timeout of {s} s"));
        }
        Some(Stop::Memory) => {
            let (used, cap) = (gib(finished.peak_bytes), gib(memory_cap));
            let reason = format!("its processes used {used} GiB, more than their cap of {cap} GiB");
            return (Status::OutOfMemory, reason);
        }
        Some(Stop::Cancelled) | None => {}
    }
    if libc::WIFSIGNALED(status) {
        let signal = libc::WTERMSIG(status);
        return (
            Status::Failed,
            format!("it was ended by signal {signal} ({})", signal_name(signal)),
        );
    }
    let code = libc::WEXITSTATUS(status);
    let path = dir.path.join("status.json");
    let is_stage = action.argv.is_empty();
    let file = match read_status(&path) {
        Ok(file) => file,
        Err(problem) if is_stage || path.exists() => {
            return (Status::Failed, format!("exit code {code}; {problem}"));
        }
        Err(_) => None,
    };
    match file {
        Some(file) => {
            warnings.extend(file.warnings);
            let status = match file.status {
                StageStatus::Ok if code != 0 => {
                    return (Status::Failed, format!("it says ok and ends with exit code {code}"));
                }
                StageStatus::Ok => Status::Ok,
                StageStatus::GateFailed => Status::GateFailed,
                StageStatus::Unsupported => Status::Unsupported,
                StageStatus::Refused => Status::Refused,
                StageStatus::Failed => Status::Failed,
                StageStatus::OutOfMemory => Status::OutOfMemory,
            };
            (status, if status == Status::Ok { String::new() } else { file.reason })
        }
        None if is_stage => (Status::Failed, format!("{} without a status.json", exit_code(code))),
        None if code == 0 => (Status::Ok, String::new()),
        None => (Status::Failed, exit_code(code)),
    }
}

/// An exit code in words. Shells tell of a signal that ended a program so, and so does `bwrap`: which
/// of the two it was cannot be told from the code.
fn exit_code(code: i32) -> String {
    match code - 128 {
        signal @ 1..=64 => format!(
            "exit code {code}, as a shell or a sandbox tells of signal {signal} ({})",
            signal_name(signal)
        ),
        _ => format!("exit code {code}"),
    }
}

fn gib(bytes: u64) -> String {
    format!("{:.2}", bytes as f64 / f64::from(1u32 << 30))
}

fn read_status(path: &Path) -> std::result::Result<Option<StatusFile>, String> {
    // A link could point anywhere, a huge file would fill our memory.
    let meta = match path.symlink_metadata() {
        Ok(meta) => meta,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(format!("status.json: {e}")),
    };
    if !meta.is_file() || meta.len() > 1 << 20 {
        return Err("status.json is not a small file".to_owned());
    }
    let bytes = std::fs::read(path).map_err(|e| format!("status.json: {e}"))?;
    serde_json::from_slice(&bytes).map(Some).map_err(|e| format!("status.json is not valid: {e}"))
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGALRM => "SIGALRM",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGTERM => "SIGTERM",
        libc::SIGSYS => "SIGSYS",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        _ => "another signal",
    }
}
