//! The ladder of sandboxes: the strongest level that this system gives, recorded with each result.
//!
//! | level | files | network | processes |
//! | --- | --- | --- | --- |
//! | namespaces | only the allowed paths exist | none | own pid namespace |
//! | bubblewrap | the same, by the `bwrap` program, for systems that let only it make namespaces | none | own pid namespace |
//! | landlock | reads and writes outside the allowed paths are refused | TCP refused (where the kernel can) | swept by a supervisor |
//! | none | whatever the user may do | open | swept by a supervisor |

use crate::landlock_rules;
use crate::spawn::{self, Child, Spec};
use crate::starter::{HostPath, KEPT, Mount, Place, RootView, Starter};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The action's folder as it sees it where the level can move it: constant, so that a program that
/// writes down its working folder gives the same bytes every time.
const INNER_DIR: &str = "/tmp/sim-pipe";
/// The store's trees as it sees them.
const INNER_TREES: &str = "/tmp/sim-pipe-trees";

/// The folder that is the action's own /tmp. Not its TMPDIR: mount points lie in it.
pub(crate) const PRIVATE_TMP: &str = "private-tmp";
/// The folder that is the action's own /dev/shm.
pub(crate) const PRIVATE_SHM: &str = "private-shm";
/// Folders in [`PRIVATE_TMP`] that become [`INNER_DIR`] and [`INNER_TREES`].
pub(crate) const POINTS: [&str; 2] = ["sim-pipe", "sim-pipe-trees"];

/// One rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// No confinement.
    None,
    /// File system rules only.
    Landlock,
    /// The `bwrap` program.
    Bubblewrap,
    /// User, mount, pid, network, IPC and host name namespaces, made by sim-pipe itself.
    Namespaces,
}

impl Level {
    /// The word in records and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Landlock => "landlock",
            Self::Namespaces => "namespaces",
            Self::Bubblewrap => "bubblewrap",
        }
    }
}

/// What the user asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The strongest level there is, `none` included.
    Auto,
    /// The strongest level there is; an error when that is `none`.
    Require,
    /// Exactly this level; an error when the system does not give it.
    Exactly(Level),
}

/// What every action of a run may use of the host, and where its folders lie.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    /// Paths it may read and execute.
    pub(crate) read: Vec<PathBuf>,
    /// Devices it may read and write.
    pub(crate) devices: Vec<PathBuf>,
    /// The folder in which action folders are made.
    pub(crate) scratch: PathBuf,
    /// The folder with stored trees, where there is one.
    pub(crate) trees: Option<PathBuf>,
    /// This program.
    pub(crate) exe: PathBuf,
}

/// A level in force, ready to start processes.
#[derive(Debug)]
pub(crate) struct Sandbox {
    pub(crate) level: Level,
    host: Host,
    starter: Starter,
}

/// What one action may see beyond what all may.
pub(crate) struct View<'a> {
    pub(crate) network: bool,
    /// The action's own folder, writable.
    pub(crate) action_dir: &'a Path,
    /// Stored trees it may read, with the names under which its `in/` links to them.
    pub(crate) stores: &'a [PathBuf],
}

/// The level for a policy, or what was tried.
pub fn probe(policy: Policy, exe: &Path) -> Result<Level, String> {
    strongest(policy, |level| works(level, exe).map(|()| level))
}

/// The strongest level of a policy that works with what a run shows of the host.
pub(crate) fn start(policy: Policy, host: &Host) -> Result<Sandbox, String> {
    strongest(policy, |level| {
        works(level, &host.exe)?;
        Sandbox::start(level, host.clone())
    })
}

fn strongest<T>(policy: Policy, attempt: impl Fn(Level) -> Result<T, String>) -> Result<T, String> {
    let wanted: &[Level] = match policy {
        Policy::Auto | Policy::Require => &[Level::Namespaces, Level::Bubblewrap, Level::Landlock],
        Policy::Exactly(Level::None) => &[Level::None],
        Policy::Exactly(Level::Landlock) => &[Level::Landlock],
        Policy::Exactly(Level::Namespaces) => &[Level::Namespaces],
        Policy::Exactly(Level::Bubblewrap) => &[Level::Bubblewrap],
    };
    let mut tried = Vec::new();
    for level in wanted {
        match attempt(*level) {
            Ok(done) => return Ok(done),
            Err(e) => tried.push(format!("{}: {e}", level.name())),
        }
    }
    if policy == Policy::Auto { attempt(Level::None) } else { Err(tried.join("; ")) }
}

/// Whether a level works here, found by running `true` in it.
fn works(level: Level, exe: &Path) -> Result<(), String> {
    if level == Level::None {
        return Ok(());
    }
    if level == Level::Bubblewrap && bubblewrap().is_none() {
        return Err("`bwrap` is not on PATH".to_owned());
    }
    if level == Level::Landlock {
        landlock_rules::supported()?;
    }
    let scratch = std::env::temp_dir().join(format!("sim-pipe-probe-{}", std::process::id()));
    let dir = scratch.join("action");
    let private = dir.join(PRIVATE_TMP);
    for folder in POINTS.map(|p| private.join(p)).into_iter().chain([dir.join(PRIVATE_SHM)]) {
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let result = run_true(level, exe, &scratch, &dir);
    let _ = std::fs::remove_dir_all(&scratch);
    match result? {
        0 => Ok(()),
        status => Err(format!("a probe ended with wait status {status}")),
    }
}

fn run_true(level: Level, exe: &Path, scratch: &Path, dir: &Path) -> Result<i32, String> {
    let system = ["/usr", "/bin", "/lib", "/lib64", "/etc", "/nix"].map(PathBuf::from);
    let host = Host {
        read: system.into_iter().filter(|p| p.exists()).collect(),
        devices: Vec::new(),
        scratch: scratch.to_path_buf(),
        trees: None,
        exe: exe.to_path_buf(),
    };
    let sandbox = Sandbox::start(level, host)?;
    let view = View { network: false, action_dir: dir, stores: &[] };
    let child = sandbox.spawn(&view, Path::new("/bin/true"), Vec::new(), Vec::new());
    child.and_then(|mut c| c.wait_blocking()).map_err(|e| e.to_string())
}

fn bubblewrap() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND
        .get_or_init(|| crate::tools::find("bwrap", &std::env::var("PATH").unwrap_or_default()))
        .as_deref()
}

/// Indices in [`Host::sources`].
const SCRATCH: usize = 0;
const TREES: usize = 1;

impl Host {
    /// Paths below /tmp, which a private /tmp would hide.
    fn below_tmp(&self) -> impl Iterator<Item = &PathBuf> {
        self.read.iter().filter(|p| p.starts_with("/tmp"))
    }

    /// Links are led to their ends here: in another root, their targets lie elsewhere.
    fn root_view(&self) -> RootView {
        let (mut read, mut links) = (BTreeSet::new(), Vec::new());
        for path in self.read.iter().filter(|p| !hidden(p)) {
            // What cannot even be named is not shown.
            let Ok(end) = path.canonicalize() else { continue };
            if end != *path {
                links.push((HostPath(path.clone()), HostPath(end.clone())));
            }
            if !hidden(&end) && end != Path::new("/") {
                read.insert(end);
            }
        }
        let covered = |p: &Path| read.iter().any(|other| other != p && p.starts_with(other));
        let shown = read.iter().filter(|p| !covered(p)).cloned().map(HostPath).collect();
        RootView {
            read: shown,
            links,
            devices: self.devices.iter().cloned().map(HostPath).collect(),
            sources: self.sources(),
        }
    }

    /// What processes are given parts of, in the order of [`SCRATCH`], [`TREES`] and then the paths
    /// below /tmp.
    fn sources(&self) -> Vec<(HostPath, bool)> {
        let trees = self.trees.clone().unwrap_or_else(|| self.scratch.clone());
        let mut all = vec![(HostPath(self.scratch.clone()), false), (HostPath(trees), true)];
        all.extend(
            self.below_tmp()
                .map(|p| (HostPath(p.canonicalize().unwrap_or_else(|_| p.clone())), true)),
        );
        all
    }
}

impl Level {
    /// Where a stored tree will be for an action.
    pub(crate) fn inner_tree(self, path: &Path) -> PathBuf {
        match (self, path.file_name()) {
            (Level::Bubblewrap | Level::Namespaces, Some(name)) => {
                Path::new(INNER_TREES).join(name)
            }
            _ => path.to_path_buf(),
        }
    }

    /// An action's folder as its process will see it.
    pub(crate) fn inner_dir(self, action_dir: &Path) -> PathBuf {
        match self {
            Level::Bubblewrap | Level::Namespaces => PathBuf::from(INNER_DIR),
            Level::Landlock | Level::None => action_dir.to_path_buf(),
        }
    }
}

impl Sandbox {
    /// Prepares a level. Must be called on a thread that outlives every process started here: the
    /// kernel ends them with it.
    pub(crate) fn start(level: Level, host: Host) -> Result<Self, String> {
        let root = (level == Level::Namespaces).then(|| host.root_view());
        let starter = Starter::new(&host.exe, root)?;
        Ok(Self { level, host, starter })
    }

    /// Starts `program` with `args` in this view, with exactly this environment.
    pub(crate) fn spawn(
        &self,
        view: &View<'_>,
        program: &Path,
        args: Vec<OsString>,
        env: Vec<(OsString, OsString)>,
    ) -> io::Result<Child> {
        let mut spec = Spec {
            program: program.to_path_buf(),
            args,
            env,
            cwd: self.level.inner_dir(view.action_dir),
            place: None,
            rules: None,
            wrappers: 0,
            keep: None,
        };
        match self.level {
            Level::None => {}
            Level::Landlock => {
                let rules = landlock_rules::rules(
                    &self.host.read,
                    view.stores,
                    &self.host.devices,
                    view.action_dir,
                    view.network,
                )?;
                spec.rules = Some(rules);
            }
            Level::Namespaces => spec.place = Some(self.place(view)?),
            Level::Bubblewrap => self.bubblewrap(view, &mut spec)?,
        }
        spawn::spawn(&self.starter, spec)
    }

    fn place(&self, view: &View<'_>) -> io::Result<Place> {
        let outside =
            |path: &Path| io::Error::other(format!("{} lies outside of the store", path.display()));
        let scratch = &self.host.scratch;
        let dir = view.action_dir;
        let dir = dir.strip_prefix(scratch).map_err(|_| outside(dir))?;
        let mut mounts = Vec::new();
        let mut put = |source: usize, part: &Path, to: &Path| {
            mounts.push(Mount { source, part: part.to_path_buf(), to: to.to_path_buf() });
        };
        put(SCRATCH, &dir.join(PRIVATE_TMP), Path::new("/tmp"));
        // Shared memory of its own: the host's is a channel between actions.
        put(SCRATCH, &dir.join(PRIVATE_SHM), Path::new("/dev/shm"));
        put(SCRATCH, dir, Path::new(INNER_DIR));
        for tree in view.stores {
            let trees = self.host.trees.as_deref().unwrap_or(scratch);
            let part = tree.strip_prefix(trees).map_err(|_| outside(tree))?;
            let to = Level::Namespaces.inner_tree(tree);
            put(TREES, part, &to);
        }
        for (i, path) in self.host.below_tmp().enumerate() {
            put(TREES + 1 + i, Path::new(""), path);
        }
        Ok(Place { network: view.network, points: PathBuf::from(INNER_TREES), mounts })
    }

    fn bubblewrap(&self, view: &View<'_>, spec: &mut Spec) -> io::Result<()> {
        let bwrap = bubblewrap().ok_or_else(|| io::Error::other("`bwrap` is not on PATH"))?;
        let mut a: Vec<OsString> = Vec::new();
        let mut add = |words: &[&OsStr]| a.extend(words.iter().map(|w| (*w).to_owned()));
        macro_rules! words { ($($w:expr),* $(,)?) => { add(&[$(OsStr::new($w)),*]) } }
        words!("--unshare-all", "--die-with-parent", "--new-session", "--hostname", "sim-pipe");
        if view.network {
            words!("--share-net");
        }
        words!("--dev", "/dev", "--proc", "/proc");
        for device in self.host.devices.iter().filter(|d| d.exists()) {
            words!("--dev-bind-try", device, device);
        }
        words!("--bind", &view.action_dir.join(PRIVATE_TMP), "/tmp");
        for path in self.host.read.iter().filter(|p| *p != Path::new("/proc")) {
            words!("--ro-bind-try", path, path);
        }
        words!("--bind", view.action_dir, INNER_DIR);
        for tree in view.stores {
            words!("--ro-bind", tree, &Level::Bubblewrap.inner_tree(tree));
        }
        words!("--chdir", INNER_DIR);
        // Through a descriptor: thousands of inputs do not fit on a command line.
        let mut text = Vec::new();
        for word in &a {
            text.extend_from_slice(word.as_bytes());
            text.push(0);
        }
        let mut args: Vec<OsString> = vec!["--args".into(), KEPT.to_string().into(), "--".into()];
        args.push(spec.program.clone().into());
        args.append(&mut spec.args);
        spec.keep = Some(spawn::memory_file(&text)?);
        // `bwrap` itself, and the first process of its pid namespace.
        spec.wrappers = 2;
        spec.args = args;
        spec.program = bwrap.to_path_buf();
        spec.cwd = PathBuf::from("/");
        Ok(())
    }
}

/// What a root of its own replaces: /proc, and everything below /tmp, which is mounted for each action.
fn hidden(path: &Path) -> bool {
    path == Path::new("/proc") || path.starts_with("/tmp")
}
