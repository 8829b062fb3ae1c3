//! The ladder of sandboxes: the strongest level that this system gives, recorded with each result.
//!
//! | level | files | network | processes |
//! | --- | --- | --- | --- |
//! | bubblewrap | only the allowed paths exist | none | own pid namespace |
//! | namespaces | reads and writes outside the allowed paths are refused (landlock); private /tmp | none | own pid namespace |
//! | landlock | as above, without a private /tmp | TCP refused (where the kernel can) | swept by a supervisor |
//! | none | whatever the user may do | open | swept by a supervisor |

use crate::spawn::{self, Confinement, INNER_DIR, INNER_TREES, Spec};
use std::ffi::OsString;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// One rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// No confinement.
    None,
    /// File system rules only.
    Landlock,
    /// User, mount, pid, network, IPC and host name namespaces, with landlock where there is one.
    Namespaces,
    /// The `bwrap` program.
    Bubblewrap,
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

/// The level for a policy, or what was tried.
pub fn probe(policy: Policy) -> Result<Level, String> {
    let wanted: &[Level] = match policy {
        Policy::Auto | Policy::Require => &[Level::Bubblewrap, Level::Namespaces, Level::Landlock],
        Policy::Exactly(Level::None) => return Ok(Level::None),
        Policy::Exactly(Level::Landlock) => &[Level::Landlock],
        Policy::Exactly(Level::Namespaces) => &[Level::Namespaces],
        Policy::Exactly(Level::Bubblewrap) => &[Level::Bubblewrap],
    };
    let mut tried = Vec::new();
    for level in wanted {
        match works(*level) {
            Ok(()) => return Ok(*level),
            Err(e) => tried.push(format!("{}: {e}", level.name())),
        }
    }
    if policy == Policy::Auto { Ok(Level::None) } else { Err(tried.join("; ")) }
}

/// Whether a level works here, found by running `true` in it.
fn works(level: Level) -> Result<(), String> {
    if level == Level::Bubblewrap && bubblewrap().is_none() {
        return Err("`bwrap` is not on PATH".to_owned());
    }
    if level == Level::Landlock {
        spawn::landlock_supported()?;
    }
    let dir = std::env::temp_dir().join(format!("sim-pipe-probe-{}", std::process::id()));
    let tmp = dir.join(spawn::PRIVATE_TMP);
    std::fs::create_dir_all(&tmp).map_err(|e| format!("{}: {e}", dir.display()))?;
    let view = View {
        level,
        network: false,
        action_dir: &dir,
        read: &["/usr", "/bin", "/lib", "/lib64", "/etc", "/nix"].map(PathBuf::from),
        devices: &[],
        stores: &[],
    };
    let result = view
        .spec(Path::new("/bin/true"), &[], &[])
        .and_then(spawn::spawn)
        .and_then(|mut child| child.wait_blocking());
    let _ = std::fs::remove_dir_all(&dir);
    match result {
        Ok(0) => Ok(()),
        Ok(status) => Err(format!("a probe ended with wait status {status}")),
        Err(e) => Err(e.to_string()),
    }
}

fn bubblewrap() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND
        .get_or_init(|| crate::tools::find("bwrap", &std::env::var("PATH").unwrap_or_default()))
        .as_deref()
}

/// What an action may see.
pub(crate) struct View<'a> {
    pub(crate) level: Level,
    pub(crate) network: bool,
    /// The action's own folder, writable.
    pub(crate) action_dir: &'a Path,
    /// Host paths it may read and execute.
    pub(crate) read: &'a [PathBuf],
    /// Devices it may read and write.
    pub(crate) devices: &'a [PathBuf],
    /// Stored trees it may read, with the names under which its `in/` links to them.
    pub(crate) stores: &'a [PathBuf],
}

impl View<'_> {
    /// The action's folder as its process will see it.
    pub(crate) fn inner_dir(&self) -> PathBuf {
        match self.level {
            Level::Bubblewrap | Level::Namespaces => PathBuf::from(INNER_DIR),
            Level::Landlock | Level::None => self.action_dir.to_path_buf(),
        }
    }

    /// Where a stored tree will be for the action.
    pub(crate) fn inner_tree(level: Level, path: &Path) -> PathBuf {
        match (level, path.file_name()) {
            (Level::Bubblewrap | Level::Namespaces, Some(name)) => {
                Path::new(INNER_TREES).join(name)
            }
            _ => path.to_path_buf(),
        }
    }

    /// The process to start: `program` with `args` in this view, with exactly this environment.
    pub(crate) fn spec(
        &self,
        program: &Path,
        args: &[OsString],
        env: &[(OsString, OsString)],
    ) -> std::io::Result<Spec> {
        let mut spec = Spec {
            program: program.to_path_buf(),
            args: args.to_vec(),
            env: env.to_vec(),
            cwd: self.inner_dir(),
            confinement: Confinement::None,
            wrappers: 0,
            keep: Vec::new(),
        };
        match self.level {
            Level::None => {}
            Level::Landlock => spec.confinement = Confinement::Landlock(self.rules()?),
            Level::Namespaces => {
                spec.confinement = Confinement::Namespaces(Box::new(spawn::Namespaces {
                    network: self.network,
                    action_dir: self.action_dir.to_path_buf(),
                    trees: self.stores.first().and_then(|s| s.parent()).map(Path::to_path_buf),
                    // Everything below /tmp would vanish under the private one.
                    below_tmp: self
                        .read
                        .iter()
                        .filter(|p| p.starts_with("/tmp"))
                        .cloned()
                        .collect(),
                    rules: spawn::landlock_supported().is_ok().then(|| self.rules()).transpose()?,
                }));
            }
            Level::Bubblewrap => self.bubblewrap(&mut spec)?,
        }
        Ok(spec)
    }

    fn rules(&self) -> std::io::Result<spawn::Rules> {
        spawn::rules(self.read, self.stores, self.devices, self.action_dir, self.network)
    }

    fn bubblewrap(&self, spec: &mut Spec) -> std::io::Result<()> {
        let bwrap = bubblewrap().ok_or_else(|| std::io::Error::other("`bwrap` is not on PATH"))?;
        let mut a: Vec<OsString> = Vec::new();
        let mut add = |words: &[&std::ffi::OsStr]| a.extend(words.iter().map(|w| (*w).to_owned()));
        macro_rules! words { ($($w:expr),* $(,)?) => { add(&[$(std::ffi::OsStr::new($w)),*]) } }
        words!("--unshare-all", "--die-with-parent", "--new-session", "--hostname", "sim-pipe");
        if self.network {
            words!("--share-net");
        }
        words!("--dev", "/dev", "--proc", "/proc");
        for device in self.devices.iter().filter(|d| d.exists()) {
            words!("--dev-bind-try", device, device);
        }
        words!("--bind", &self.action_dir.join(spawn::PRIVATE_TMP), "/tmp");
        for path in self.read.iter().filter(|p| *p != Path::new("/proc")) {
            words!("--ro-bind-try", path, path);
        }
        words!("--bind", self.action_dir, INNER_DIR);
        for tree in self.stores {
            words!("--ro-bind", tree, &Self::inner_tree(Level::Bubblewrap, tree));
        }
        words!("--chdir", INNER_DIR);
        // Through a descriptor: thousands of inputs do not fit on a command line.
        let mut text = Vec::new();
        for word in &a {
            text.extend_from_slice(std::os::unix::ffi::OsStrExt::as_bytes(word.as_os_str()));
            text.push(0);
        }
        let file = spawn::memory_file(&text)?;
        let mut args: Vec<OsString> =
            vec!["--args".into(), file.as_raw_fd().to_string().into(), "--".into()];
        args.push(spec.program.clone().into());
        args.append(&mut spec.args);
        spec.keep.push(file);
        // `bwrap` itself, and the first process of its pid namespace.
        spec.wrappers = 2;
        spec.args = args;
        spec.program = bwrap.to_path_buf();
        spec.cwd = PathBuf::from("/");
        Ok(())
    }
}
