//! What a tool is to the measurements: how it is given a graph, started, and asked what it did.

use super::emit::{self, Files};
use super::graph::Graph;
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A graph as one tool shall run it.
pub(super) struct Job<'a> {
    pub(super) graph: &'a Graph,
    /// The file in which actions say that they began and ended.
    pub(super) trace: Option<String>,
    /// Actions at once.
    pub(super) jobs: usize,
}

/// One tool, or one way to run it.
pub(super) trait Tool {
    fn name(&self) -> &str;
    fn version(&self) -> &str;
    /// By what it tells that nothing has to be done.
    fn notices(&self) -> &str;
    /// Its build files.
    fn files(&self, job: &Job<'_>) -> Files;
    /// What has to be done once in a new folder and is not measured.
    fn prepare(&self, _dir: &Path) -> Result<()> {
        Ok(())
    }
    /// The command that brings everything up to date.
    fn command(&self, dir: &Path) -> Command;
    /// What each action gave, as it lies there now; `said` is what the last run said.
    fn outputs(&self, dir: &Path, graph: &Graph, said: &str) -> Result<Vec<Option<Vec<u8>>>>;
    /// Where the output of one action is.
    fn place(&self, dir: &Path, graph: &Graph, action: usize, said: &str) -> Result<PathBuf>;
    /// Whether actions may write to a trace; else what the tool says is believed.
    fn traces(&self) -> bool {
        true
    }
    /// Names of the actions that a run began and ended, by what it said.
    fn told(&self, _said: &str) -> Told {
        Told::default()
    }
    /// How many actions a run executed, by what it said; absent where outputs have to tell.
    fn executed(&self, _said: &str) -> Option<usize> {
        None
    }
    /// Its own check of what it keeps, where it has one.
    fn verify(&self, _dir: &Path) -> Option<Command> {
        None
    }
}

/// Actions that began and that ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) began: Vec<String>,
    pub(super) ended: Vec<String>,
}

impl Told {
    /// From a trace.
    pub(super) fn by_trace(text: &str) -> Self {
        let of = |mark: &str| -> Vec<String> {
            text.lines().filter_map(|l| l.strip_prefix(mark)).map(str::to_owned).collect()
        };
        Self { began: of("S "), ended: of("E ") }
    }
}

/// A tool whose outputs lie in `o/`.
pub(super) struct InPlace {
    pub(super) name: &'static str,
    pub(super) version: String,
    pub(super) program: PathBuf,
    /// A folder that is its home, so that it leaves nothing in the user's.
    pub(super) home: PathBuf,
    pub(super) jobs: usize,
    pub(super) how: How,
}

/// What differs between tools that work in place.
#[derive(Clone, Copy)]
pub(super) struct How {
    pub(super) notices: &'static str,
    pub(super) files: fn(&Job<'_>) -> Files,
    /// Arguments; `{j}` is the number of jobs.
    pub(super) args: &'static str,
    /// Shell lines that prepare a folder; `$0` is the program.
    pub(super) prepare: &'static str,
}

impl InPlace {
    fn at_home(&self, command: &mut Command, dir: &Path) {
        command
            .current_dir(dir)
            .env("HOME", &self.home)
            .env("XDG_CACHE_HOME", self.home.join("cache"))
            .env("XDG_CONFIG_HOME", self.home.join("config"))
            .envs([("NO_COLOR", "1"), ("TERM", "dumb"), ("CI", "1")])
            .envs([("DVC_NO_ANALYTICS", "1"), ("DVC_STUDIO_OFFLINE", "1")])
            .envs([("MOON_TELEMETRY", "false"), ("PYTHONDONTWRITEBYTECODE", "1")]);
    }
}

impl Tool for InPlace {
    fn name(&self) -> &str {
        self.name
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn notices(&self) -> &str {
        self.how.notices
    }

    fn files(&self, job: &Job<'_>) -> Files {
        (self.how.files)(job)
    }

    fn prepare(&self, dir: &Path) -> Result<()> {
        if self.how.prepare.is_empty() {
            return Ok(());
        }
        let mut sh = Command::new("sh");
        sh.arg("-c").arg(format!("set -e\n{}", self.how.prepare)).arg(&self.program);
        self.at_home(&mut sh, dir);
        crate::shell::output(&mut sh).map(drop)
    }

    fn command(&self, dir: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(self.how.args.replace("{j}", &self.jobs.to_string()).split(' '));
        self.at_home(&mut command, dir);
        command
    }

    fn outputs(&self, dir: &Path, graph: &Graph, _said: &str) -> Result<Vec<Option<Vec<u8>>>> {
        Ok(graph.actions.iter().map(|a| std::fs::read(dir.join(emit::out(a))).ok()).collect())
    }

    fn place(&self, dir: &Path, graph: &Graph, action: usize, _said: &str) -> Result<PathBuf> {
        Ok(dir.join(emit::out(&graph.actions[action])))
    }
}

/// nix with a store of its own below the folder, no sandbox, no daemon.
pub(super) struct Nix {
    pub(super) program: PathBuf,
    pub(super) version: String,
    pub(super) jobs: usize,
    /// Derivations are named by what they gave.
    pub(super) by_content: bool,
}

impl Nix {
    fn own_store(&self, command: &mut Command, dir: &Path) {
        let root = dir.join(".nix");
        command
            .current_dir(dir)
            .env("NIX_STORE_DIR", root.join("store"))
            .env("NIX_STATE_DIR", root.join("var"))
            .env("NIX_LOG_DIR", root.join("log"))
            .env("NIX_CONF_DIR", root.join("etc"))
            .env("XDG_CACHE_HOME", root.join("cache"))
            .envs([("NIX_REMOTE", ""), ("NO_COLOR", "1")]);
    }
}

impl Tool for Nix {
    fn name(&self) -> &str {
        if self.by_content { "nix by content" } else { "nix" }
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn notices(&self) -> &str {
        "content of sources"
    }

    fn files(&self, job: &Job<'_>) -> Files {
        emit::nix(job, self.by_content)
    }

    fn prepare(&self, dir: &Path) -> Result<()> {
        let etc = dir.join(".nix/etc");
        std::fs::create_dir_all(&etc)?;
        let text = format!(
            "build-users-group =\nsandbox = false\nsubstituters =\nmax-jobs = {}\ncores = 1\n\
             experimental-features = nix-command ca-derivations\n",
            self.jobs
        );
        Ok(std::fs::write(etc.join("nix.conf"), text)?)
    }

    fn command(&self, dir: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--no-out-link");
        self.own_store(&mut command, dir);
        command
    }

    /// Of the leaves only: nothing names the others.
    fn outputs(&self, _dir: &Path, graph: &Graph, said: &str) -> Result<Vec<Option<Vec<u8>>>> {
        let mut out = vec![None; graph.len()];
        for line in said.lines().filter(|l| l.starts_with('/') && l.contains("/.nix/store/")) {
            let name = line.rsplit('/').next().and_then(|n| n.split_once('-')).map(|n| n.1);
            if let Some(i) = graph.actions.iter().position(|a| Some(a.id.as_str()) == name) {
                out[i] = std::fs::read(line).ok();
            }
        }
        Ok(out)
    }

    fn place(&self, dir: &Path, graph: &Graph, action: usize, _said: &str) -> Result<PathBuf> {
        let end = format!("-{}", graph.actions[action].id);
        let mut found: Vec<_> = std::fs::read_dir(dir.join(".nix/store"))?
            .filter_map(std::result::Result::ok)
            .filter(|e| e.file_name().to_string_lossy().ends_with(&end))
            .collect();
        found.sort_by_key(|e| e.metadata().and_then(|m| m.created()).ok());
        found.last().map(std::fs::DirEntry::path).context("nothing in the store has this name")
    }

    fn told(&self, said: &str) -> Told {
        let began = said
            .lines()
            .filter_map(|l| l.strip_prefix("building '")?.split(".drv").next())
            .filter_map(|path| Some(path.rsplit('/').next()?.split_once('-')?.1.to_owned()))
            .collect();
        Told { began, ended: Vec::new() }
    }

    fn executed(&self, said: &str) -> Option<usize> {
        Some(self.told(said).began.len())
    }
}

/// The program itself.
pub(super) struct SimPipe {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) program: PathBuf,
    pub(super) tmp: PathBuf,
    pub(super) jobs: usize,
    /// What `--sandbox` is given.
    pub(super) sandbox: String,
    /// Whether every output is hashed again.
    pub(super) verify: bool,
    /// Whether a run writes its events; else only its summary, as in daily use.
    pub(super) events: bool,
}

impl SimPipe {
    pub(super) fn base(&self, dir: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command
            .current_dir(dir)
            .env_remove("SIM_PIPE_STORE")
            .env("NO_COLOR", "1")
            .env("SIM_PIPE_LOCK_DIR", &self.tmp)
            .env("TMPDIR", &self.tmp);
        command
    }

    /// Labels and keys of what a run used or made.
    fn keys(&self, dir: &Path, said: &str) -> Result<Vec<(String, String)>> {
        let own;
        let events = if self.events {
            said
        } else {
            let mut run = self.base(dir);
            run.args(["--json", "run", "pipeline.toml", "--sandbox", &self.sandbox]);
            own = crate::shell::output(&mut run)?;
            own.as_str()
        };
        let text = |v: &serde_json::Value| v.as_str().unwrap_or_default().to_owned();
        Ok(lines(events)
            .filter(|e| {
                let kind = e["type"].as_str().unwrap_or_default();
                matches!(kind, "action_reused" | "action_finished" | "action_waited")
            })
            .map(|e| (text(&e["label"]), text(&e["key"])))
            .collect())
    }
}

/// Events among the lines that a run wrote.
fn lines(said: &str) -> impl Iterator<Item = serde_json::Value> {
    said.lines()
        .filter_map(|l| serde_json::from_str::<serde_json::Value>(l).ok())
        .map(|mut v| v["event"].take())
}

impl Tool for SimPipe {
    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn notices(&self) -> &str {
        if self.verify { "content; every output hashed again" } else { "content, known by stat" }
    }

    fn files(&self, job: &Job<'_>) -> Files {
        emit::sim_pipe(job)
    }

    fn command(&self, dir: &Path) -> Command {
        let mut command = self.base(dir);
        command.arg(if self.events { "--json" } else { "--quiet" });
        command.args(["run", "pipeline.toml", "--sandbox", &self.sandbox]);
        command.args(["--jobs", &self.jobs.to_string()]);
        if self.verify {
            command.arg("--verify");
        }
        command
    }

    fn outputs(&self, dir: &Path, graph: &Graph, said: &str) -> Result<Vec<Option<Vec<u8>>>> {
        let keys = self.keys(dir, said)?;
        let mut query = self.base(dir);
        query.args(["query", "--format", "csv", "select key, output from actions where latest"]);
        let text = crate::shell::output(&mut query)?;
        let trees: std::collections::HashMap<&str, &str> =
            text.lines().filter_map(|l| l.split_once(',')).collect();
        let places: std::collections::HashMap<&str, usize> =
            graph.actions.iter().enumerate().map(|(i, a)| (a.id.as_str(), i)).collect();
        let mut out = vec![None; graph.len()];
        for (label, key) in &keys {
            let tree = trees.get(key.as_str()).filter(|t| !t.is_empty());
            if let (Some(i), Some(tree)) = (places.get(label.as_str()), tree) {
                out[*i] = std::fs::read(dir.join(".sim-pipe/trees").join(tree).join("o")).ok();
            }
        }
        Ok(out)
    }

    fn place(&self, dir: &Path, graph: &Graph, action: usize, said: &str) -> Result<PathBuf> {
        let id = &graph.actions[action].id;
        let keys = self.keys(dir, said)?;
        let Some((_, key)) = keys.iter().rev().find(|(label, _)| label == id) else {
            bail!("no run used {id}");
        };
        let mut path = self.base(dir);
        let path = crate::shell::output(path.args(["store", "path", key]))?;
        Ok(PathBuf::from(path.trim()).join("o"))
    }

    fn traces(&self) -> bool {
        self.sandbox == "none"
    }

    fn told(&self, said: &str) -> Told {
        let of = |kind: &str| -> Vec<String> {
            lines(said)
                .filter(|e| e["type"] == kind)
                .filter_map(|e| e["label"].as_str().map(str::to_owned))
                .collect()
        };
        // An action that found another process at it has begun and run nothing.
        let (mut began, waited) = (of("action_started"), of("action_waited"));
        for label in &waited {
            if let Some(at) = began.iter().position(|b| b == label) {
                began.swap_remove(at);
            }
        }
        Told { began, ended: of("action_finished") }
    }

    fn executed(&self, said: &str) -> Option<usize> {
        if self.events {
            return Some(self.told(said).ended.len());
        }
        said.split(" · ").find_map(|part| part.trim().strip_suffix(" ran")?.parse().ok())
    }

    fn verify(&self, dir: &Path) -> Option<Command> {
        let mut command = self.base(dir);
        command.args(["store", "verify"]);
        Some(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_and_the_words_of_nix_tell_what_ran() {
        let told = Told::by_trace("S a\nE a\nS b\n");
        assert_eq!((told.began.len(), told.ended), (2, vec!["a".to_owned()]));
        let nix = Nix { program: "nix".into(), version: String::new(), jobs: 1, by_content: false };
        let said = "building '/x/.nix/store/abc-a12.drv'...\n/x/.nix/store/abc-a12\n";
        assert_eq!(nix.told(said).began, ["a12"]);
    }
}
