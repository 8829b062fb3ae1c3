//! Starts one process in its confinement, under a supervisor.
//!
//! ```text
//! sim-pipe ── supervisor (own session, child subreaper)
//!                └── the action's program, and whatever it starts
//! sim-pipe ── stand-in (own session) ── supervisor (pid 1 of its pid namespace)
//!                                          └── the action's program, and whatever it starts
//! ```
//! The supervisor is a fork of this process that never executes anything. It reaps, and when the
//! program ends it kills everything the program left behind, so nothing outlives its action. The
//! kernel kills the supervisor when sim-pipe dies, and with a pid namespace everything below it.
//!
//! This is the one module with `unsafe` system calls that matter: between `fork` and `exec` only
//! async-signal-safe calls are made, on memory prepared before.

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, Scope, path_beneath_rules,
};
use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The action's folder as it sees it where the level can move it: constant, so that a program that
/// writes down its working folder gives the same bytes every time.
pub(crate) const INNER_DIR: &str = "/tmp/sim-pipe";
/// The store's trees as it sees them.
pub(crate) const INNER_TREES: &str = "/tmp/sim-pipe-trees";

/// The folder that is the action's own /tmp. Not its TMPDIR: mount points lie in it.
pub(crate) const PRIVATE_TMP: &str = "private-tmp";

/// What to start.
pub(crate) struct Spec {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Working folder as the process sees it.
    pub(crate) cwd: PathBuf,
    pub(crate) confinement: Confinement,
    /// How many processes stand between the supervisor and the action's own program, and end
    /// everything when they are told to end: they are no part of what is asked to end by itself.
    pub(crate) wrappers: usize,
    /// Descriptors that the program inherits under their numbers.
    pub(crate) keep: Vec<OwnedFd>,
}

pub(crate) enum Confinement {
    None,
    Landlock(Rules),
    Namespaces(Box<Namespaces>),
}

/// Prepared landlock rules.
pub(crate) struct Rules(RulesetCreated);

pub(crate) struct Namespaces {
    pub(crate) network: bool,
    pub(crate) action_dir: PathBuf,
    pub(crate) trees: Option<PathBuf>,
    pub(crate) below_tmp: Vec<PathBuf>,
    pub(crate) rules: Option<Rules>,
}

/// A started process. Dropping it neither kills nor waits.
pub(crate) struct Child {
    pub(crate) pid: u32,
    /// Readable once the supervisor ended.
    pub(crate) pidfd: OwnedFd,
    /// Standard output and error of everything in the tree.
    pub(crate) output: OwnedFd,
    report: OwnedFd,
    /// How many processes at the top of the tree are our own.
    own: usize,
    /// How many after those wrap the program.
    wrappers: usize,
}

/// How it ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    /// Wait status of the program itself, as `waitpid` gives it.
    pub(crate) status: i32,
    /// Processes that it left behind and that were killed.
    pub(crate) left_behind: u32,
    /// CPU time of the whole tree in milliseconds.
    pub(crate) cpu_ms: f64,
}

const ABI_WANTED: ABI = ABI::V6;

/// Whether the kernel has landlock.
pub(crate) fn landlock_supported() -> Result<(), String> {
    // SAFETY: this call with a null attribute and size 0 only asks for the version.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0usize, 1u32)
    };
    if version >= 1 { Ok(()) } else { Err("the kernel has no landlock".to_owned()) }
}

/// Rules that let a process read `read` and `stores`, use `devices` and write below `action_dir`.
pub(crate) fn rules(
    read: &[PathBuf],
    stores: &[PathBuf],
    devices: &[PathBuf],
    action_dir: &Path,
    network: bool,
) -> io::Result<Rules> {
    let other = |e: landlock::RulesetError| io::Error::other(e.to_string());
    let mut set = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI_WANTED))
        .map_err(other)?;
    if !network {
        set = set
            .handle_access(AccessNet::from_all(ABI_WANTED))
            .and_then(|s| s.scope(Scope::from_all(ABI_WANTED)))
            .map_err(other)?;
    }
    let set = set
        .create()
        .and_then(|s| s.add_rules(path_beneath_rules(read, AccessFs::from_read(ABI_WANTED))))
        .and_then(|s| s.add_rules(path_beneath_rules(stores, AccessFs::from_read(ABI_WANTED))))
        .and_then(|s| s.add_rules(path_beneath_rules(devices, AccessFs::from_all(ABI_WANTED))))
        .and_then(|s| s.add_rules(path_beneath_rules([action_dir], AccessFs::from_all(ABI_WANTED))))
        .map_err(other)?;
    Ok(Rules(set))
}

/// An anonymous file with this content, read from its start.
pub(crate) fn memory_file(bytes: &[u8]) -> io::Result<OwnedFd> {
    use std::io::{Seek, Write};
    // SAFETY: the name is a C string; the result is checked before it is owned.
    let fd = unsafe { libc::memfd_create(c"sim-pipe".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` is fresh and owned by nothing else.
    let mut file = unsafe { std::fs::File::from_raw_fd(fd) };
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: `fds` has room for two descriptors.
    check(unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) })?;
    // SAFETY: both are fresh and owned by nothing else.
    Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

/// A bind mount prepared before the fork. The source is opened only in the new mount namespace: a
/// descriptor from outside it cannot be mounted.
struct Mount {
    from: CString,
    to: CString,
    read_only: bool,
    fd: RawFd,
}

/// Everything the child needs, allocated before the fork.
struct Plan {
    parent: libc::pid_t,
    report: RawFd,
    keep: Vec<RawFd>,
    rules: Option<Rules>,
    namespaces: Option<NamespacePlan>,
}

struct NamespacePlan {
    flags: libc::c_int,
    uid_map: CString,
    gid_map: CString,
    tmp: CString,
    mounts: Vec<Mount>,
    cwd: CString,
    loopback: bool,
}

impl NamespacePlan {
    fn new(n: &Namespaces, cwd: &Path) -> io::Result<Self> {
        let tmp = n.action_dir.join(PRIVATE_TMP);
        let mut mounts = Vec::new();
        let mut bind = |from: &Path, to: &Path, read_only: bool| -> io::Result<()> {
            // The mount point lies in what will be /tmp.
            let point = tmp.join(to.strip_prefix("/tmp").unwrap_or(to));
            if from.is_dir() {
                std::fs::create_dir_all(&point)?;
            } else {
                std::fs::create_dir_all(point.parent().unwrap_or(&tmp))?;
                std::fs::write(&point, "")?;
            }
            mounts.push(Mount { from: c_path(from)?, to: c_path(to)?, read_only, fd: -1 });
            Ok(())
        };
        bind(&n.action_dir, Path::new(INNER_DIR), false)?;
        if let Some(trees) = &n.trees {
            bind(trees, Path::new(INNER_TREES), true)?;
        }
        for path in &n.below_tmp {
            bind(path, path, true)?;
        }
        // Shared memory of its own: the host's is a channel between actions.
        let shm = Path::new("/dev/shm");
        if shm.is_dir() {
            let own = tmp.join("shm");
            std::fs::create_dir_all(&own)?;
            let (from, to) = (c_path(&own)?, c_path(shm)?);
            mounts.push(Mount { from, to, read_only: false, fd: -1 });
        }
        let mut flags = libc::CLONE_NEWUSER
            | libc::CLONE_NEWNS
            | libc::CLONE_NEWPID
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWUTS;
        if !n.network {
            flags |= libc::CLONE_NEWNET;
        }
        // SAFETY: these take nothing and cannot fail.
        let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
        Ok(Self {
            flags,
            uid_map: CString::new(format!("{uid} {uid} 1"))?,
            gid_map: CString::new(format!("{gid} {gid} 1"))?,
            tmp: c_path(&tmp)?,
            mounts,
            cwd: c_path(cwd)?,
            loopback: !n.network,
        })
    }

    /// # Safety
    /// Only between fork and exec in a single-threaded child.
    unsafe fn enter(&mut self) -> io::Result<()> {
        // SAFETY: plain system calls on C strings that live in `self`.
        unsafe {
            check(libc::unshare(self.flags))?;
            write_file(c"/proc/self/setgroups", b"deny")?;
            write_file(c"/proc/self/uid_map", self.uid_map.as_bytes())?;
            write_file(c"/proc/self/gid_map", self.gid_map.as_bytes())?;
            let none = std::ptr::null();
            let private = libc::MS_REC | libc::MS_PRIVATE;
            check(libc::mount(none, c"/".as_ptr(), none, private, none.cast()))?;
            // All sources before anything is mounted over them.
            for m in &mut self.mounts {
                m.fd = libc::open(m.from.as_ptr(), libc::O_PATH | libc::O_CLOEXEC);
                check(m.fd)?;
            }
            let bind = libc::MS_BIND;
            let tmp = self.tmp.as_ptr();
            check(libc::mount(tmp, c"/tmp".as_ptr(), none, bind, none.cast()))?;
            for m in &self.mounts {
                let mut from = [0u8; 40];
                fd_path(m.fd, &mut from);
                let (from, to) = (from.as_ptr().cast(), m.to.as_ptr());
                check(libc::mount(from, to, none, bind | libc::MS_REC, none.cast()))?;
                if m.read_only {
                    // Refused where the underlying mount has locked flags; the landlock rules make
                    // it read-only all the same.
                    let ro = libc::MS_BIND | libc::MS_REMOUNT | libc::MS_RDONLY;
                    libc::mount(none, to, none, ro, none.cast());
                }
            }
            if self.loopback {
                loopback_up();
            }
            libc::sethostname(c"sim-pipe".as_ptr(), 8);
        }
        Ok(())
    }
}

/// `/proc/self/fd/N` as a C string, without allocating.
fn fd_path(fd: RawFd, out: &mut [u8; 40]) {
    let prefix = b"/proc/self/fd/";
    out[..prefix.len()].copy_from_slice(prefix);
    let mut digits = [0u8; 10];
    let (mut n, mut len) = (fd.unsigned_abs(), 0);
    while n > 0 || len == 0 {
        digits[len] = b'0' + (n % 10) as u8;
        n /= 10;
        len += 1;
    }
    for i in 0..len {
        out[prefix.len() + i] = digits[len - 1 - i];
    }
}

/// # Safety
/// Async-signal-safe; the path is a C string.
unsafe fn write_file(path: &std::ffi::CStr, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: open, write and close on live buffers.
    unsafe {
        let fd = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        check(fd)?;
        let n = libc::write(fd, bytes.as_ptr().cast(), bytes.len());
        libc::close(fd);
        if n == bytes.len() as isize { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Brings `lo` up; without it a program cannot even talk to itself. Failing is harmless.
///
/// # Safety
/// Async-signal-safe.
unsafe fn loopback_up() {
    // SAFETY: `ifreq` is plain old data; the ioctls get a pointer to it.
    unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if fd < 0 {
            return;
        }
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        libc::ioctl(fd, libc::SIOCSIFFLAGS as _, &raw const request);
        libc::close(fd);
    }
}

/// Starts the process. Must be called on a thread that lives as long as the process should: the
/// kernel kills the supervisor when this thread ends.
pub(crate) fn spawn(mut spec: Spec) -> io::Result<Child> {
    let rules = match &mut spec.confinement {
        Confinement::None => None,
        Confinement::Landlock(_) => {
            match std::mem::replace(&mut spec.confinement, Confinement::None) {
                Confinement::Landlock(r) => Some(r),
                _ => None,
            }
        }
        Confinement::Namespaces(n) => n.rules.take(),
    };
    spawn_owned(&spec, rules)
}

fn spawn_owned(spec: &Spec, rules: Option<Rules>) -> io::Result<Child> {
    let (output, output_write) = pipe()?;
    let (report, report_write) = pipe()?;
    let namespaces = match &spec.confinement {
        Confinement::Namespaces(n) => Some(NamespacePlan::new(n, &spec.cwd)?),
        _ => None,
    };
    let mut plan = Plan {
        // SAFETY: getpid cannot fail.
        parent: unsafe { libc::getpid() },
        report: report_write.as_raw_fd(),
        keep: spec.keep.iter().map(AsRawFd::as_raw_fd).collect(),
        rules,
        namespaces,
    };
    let own = if plan.namespaces.is_some() { 2 } else { 1 };
    let mut command = Command::new(&spec.program);
    command
        .args(&spec.args)
        .env_clear()
        .envs(spec.env.iter().map(|(k, v)| (k, v)))
        .stdin(Stdio::null())
        .stdout(output_write.try_clone()?)
        .stderr(output_write);
    if plan.namespaces.is_none() {
        command.current_dir(&spec.cwd);
    }
    // SAFETY: `confine` makes only async-signal-safe calls on memory that `plan` owns.
    unsafe { command.pre_exec(move || confine(&mut plan)) };
    let child = command.spawn()?;
    drop(command);
    drop(report_write);
    let pid = child.id();
    // SAFETY: pidfd_open takes a pid and flags; the child is not reaped yet, so the pid is its own.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } as RawFd;
    check(fd)?;
    // SAFETY: `fd` is fresh and owned by nothing else.
    let pidfd = unsafe { OwnedFd::from_raw_fd(fd) };
    Ok(Child { pid, pidfd, output, report, own, wrappers: spec.wrappers })
}

/// Runs in the child between fork and exec. Returns in the process that will execute the program.
fn confine(plan: &mut Plan) -> io::Result<()> {
    // SAFETY: see the module's head: only async-signal-safe calls, on memory prepared before.
    unsafe {
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
        if libc::getppid() != plan.parent {
            libc::_exit(125);
        }
        libc::setsid();
        // The caller's mask must not decide which bits a file of an output has.
        libc::umask(0o022);
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
        match &mut plan.namespaces {
            Some(n) => {
                n.enter()?;
                // The first process of a pid namespace is deaf to signals that it does not handle,
                // and adopts every orphan: no role for a program, the right one for a supervisor.
                let first = libc::fork();
                check(first)?;
                if first > 0 {
                    stand_in(first);
                }
                check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
            }
            None => check(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1))?,
        }
        let pid = libc::fork();
        check(pid)?;
        if pid > 0 {
            // In a pid namespace of its own, its parent is outside and has no number.
            let parent = if plan.namespaces.is_some() { 0 } else { plan.parent };
            supervise(pid, plan.report, parent);
        }
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
        if let Some(n) = &plan.namespaces {
            check(libc::chdir(n.cwd.as_ptr()))?;
        }
        // Whatever sim-pipe's caller had open is no business of the program.
        libc::close_range(3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC as libc::c_int);
        for fd in &plan.keep {
            check(libc::fcntl(*fd, libc::F_SETFD, 0))?;
        }
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
    }
    if let Some(Rules(rules)) = plan.rules.take() {
        rules.restrict_self().map_err(|_| io::Error::from_raw_os_error(libc::EPERM))?;
    }
    Ok(())
}

/// The supervisor's parent outside its pid namespace: ends when the supervisor does.
///
/// # Safety
/// Only in a forked child that will never return.
unsafe fn stand_in(supervisor: libc::pid_t) -> ! {
    // SAFETY: plain system calls; nothing is allocated.
    unsafe {
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
            libc::signal(signal, libc::SIG_IGN);
        }
        libc::close_range(0, libc::c_uint::MAX, 0);
        let mut status = 0;
        while libc::waitpid(supervisor, &raw mut status, 0) < 0
            && *libc::__errno_location() == libc::EINTR
        {}
        // When the supervisor could not report, this stands for the program's end.
        libc::_exit(if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 128 + 9 });
    }
}

/// The supervisor: waits for the program, kills what it left, reports, ends. When its own parent dies
/// it does not wait for the program.
///
/// # Safety
/// Only in a forked child that will never return.
unsafe fn supervise(main: libc::pid_t, report: RawFd, parent: libc::pid_t) -> ! {
    // SAFETY: plain system calls; nothing is allocated.
    unsafe {
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
            libc::signal(signal, libc::SIG_IGN);
        }
        // Both events are waited for in one place, so neither can slip by between a look and a wait.
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        libc::sigaddset(&raw mut set, libc::SIGUSR1);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        // In a pid namespace the kernel's own SIGKILL does all that is needed, and more surely.
        if parent != 0 {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGUSR1);
        }
        let mut orphaned = parent != 0 && libc::getppid() != parent;
        // Holding any other descriptor would keep pipes open that others wait on.
        libc::dup2(report, 0);
        libc::close_range(1, libc::c_uint::MAX, 0);
        let mut main_status = 0;
        'wait: while !orphaned {
            loop {
                let mut status = 0;
                let pid = libc::waitpid(-1, &raw mut status, libc::WNOHANG);
                if pid == main {
                    main_status = status;
                    break 'wait;
                }
                if pid < 0 && *libc::__errno_location() != libc::EINTR {
                    break 'wait;
                }
                if pid == 0 {
                    break;
                }
            }
            orphaned = libc::sigwaitinfo(&raw const set, std::ptr::null_mut()) == libc::SIGUSR1;
        }
        let mut left = 0u32;
        loop {
            if libc::getpid() == 1 {
                libc::kill(-1, libc::SIGKILL);
            } else {
                kill_children();
            }
            let pid = libc::waitpid(-1, std::ptr::null_mut(), 0);
            if pid > 0 {
                left += 1;
            } else if *libc::__errno_location() != libc::EINTR {
                break;
            }
        }
        let message = [main_status.cast_unsigned(), left];
        libc::write(0, message.as_ptr().cast(), size_of_val(&message));
        libc::_exit(0);
    }
}

/// Kills every direct child of this thread. Their children become ours as they die.
///
/// # Safety
/// Async-signal-safe.
unsafe fn kill_children() {
    // SAFETY: reads into a buffer on the stack.
    unsafe {
        let fd = libc::open(c"/proc/thread-self/children".as_ptr(), libc::O_RDONLY);
        if fd < 0 {
            return;
        }
        let mut buffer = [0u8; 4096];
        let n = libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len());
        libc::close(fd);
        let mut pid: libc::pid_t = 0;
        for byte in &buffer[..n.max(0) as usize] {
            if byte.is_ascii_digit() {
                pid = pid * 10 + libc::pid_t::from(byte - b'0');
            } else if pid > 0 {
                libc::kill(pid, libc::SIGKILL);
                pid = 0;
            }
        }
    }
}

impl Child {
    /// Sends a signal to the whole session of the program, or, where it is wrapped, to everything in
    /// the wrapping: a wrapper that ends would take the program with it before it can end by itself.
    pub(crate) fn signal(&self, signal: libc::c_int) {
        if self.wrappers > 0 {
            for pid in self.program_tree().into_iter().skip(self.wrappers) {
                // SAFETY: at worst the process is gone.
                unsafe { libc::kill(pid.cast_signed(), signal) };
            }
            return;
        }
        // SAFETY: a pid that is not reaped yet, hence still ours.
        unsafe { libc::kill(-(self.pid.cast_signed()), signal) };
    }

    /// The program and everything it started.
    pub(crate) fn program_tree(&self) -> Vec<u32> {
        crate::usage::tree(self.pid).into_iter().skip(self.own).collect()
    }

    /// Kills everything in the tree but the supervisor, which then ends by itself.
    pub(crate) fn kill_tree(&self) {
        for pid in self.program_tree() {
            // SAFETY: at worst the process is gone.
            unsafe { libc::kill(pid.cast_signed(), libc::SIGKILL) };
        }
    }

    /// Kills the supervisor itself, for the case that it does not end.
    pub(crate) fn kill_supervisor(&self) {
        // SAFETY: a pid that is not reaped yet.
        unsafe { libc::kill(self.pid.cast_signed(), libc::SIGKILL) };
    }

    /// Reaps the supervisor, which must have ended (its pidfd is readable), and tells how it went.
    pub(crate) fn reap(&mut self) -> io::Result<Ended> {
        use std::io::Read;
        // SAFETY: siginfo is plain old data, and the pid is not reaped yet.
        unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let ended = libc::WEXITED | libc::WNOWAIT;
            while libc::waitid(libc::P_PID, self.pid, &raw mut info, ended) < 0
                && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
            {}
        }
        // A supervisor that was killed could not sweep, and `bwrap`'s own child, should it be just
        // starting, would wait for ever for its dead parent. Both are in the supervisor's group.
        // SAFETY: the supervisor is not reaped yet, so the group is still ours.
        unsafe { libc::kill(-(self.pid.cast_signed()), libc::SIGKILL) };
        let mut status = 0;
        // SAFETY: rusage is plain old data.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        loop {
            // SAFETY: pointers to live values.
            let pid =
                unsafe { libc::wait4(self.pid.cast_signed(), &raw mut status, 0, &raw mut usage) };
            if pid >= 0 {
                break;
            }
            let e = io::Error::last_os_error();
            if e.kind() != io::ErrorKind::Interrupted {
                return Err(e);
            }
        }
        let ms = |t: libc::timeval| t.tv_sec as f64 * 1e3 + t.tv_usec as f64 / 1e3;
        let cpu_ms = ms(usage.ru_utime) + ms(usage.ru_stime);
        let mut message = [0u8; 8];
        let mut report = std::fs::File::from(self.report.try_clone()?);
        let [a, b, c, d, e, f, g, h] = match report.read_exact(&mut message) {
            Ok(()) => message,
            // The supervisor was killed: its own status stands for the program's.
            Err(_) => return Ok(Ended { status, left_behind: 0, cpu_ms }),
        };
        Ok(Ended {
            status: i32::from_ne_bytes([a, b, c, d]),
            left_behind: u32::from_ne_bytes([e, f, g, h]),
            cpu_ms,
        })
    }

    /// Waits for the end and leaves the output unread: a probe writes a line at most. Waiting for the
    /// end of the output instead would be for ever, should something that holds it be left behind.
    pub(crate) fn wait_blocking(&mut self) -> io::Result<i32> {
        self.reap().map(|e| e.status)
    }
}
