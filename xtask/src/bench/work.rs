//! One graph laid out for one tool, and runs of it.

use super::graph::Graph;
use super::measure::{self, Cost, End};
use super::tool::{Job, Told, Tool};
use anyhow::{Context as _, Result};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

/// A folder in which one tool works on one graph.
pub(super) struct Work<'a> {
    pub(super) tool: &'a dyn Tool,
    pub(super) graph: Graph,
    pub(super) dir: PathBuf,
    /// Beside the folder: inside, it would be a file that the tool did not expect.
    trace: Option<PathBuf>,
    scratch: PathBuf,
    jobs: usize,
}

/// A run and its end.
pub(super) struct Run {
    pub(super) cost: Cost,
    pub(super) end: End,
    /// What began and ended in it, where that can be told.
    pub(super) told: Told,
}

/// Outputs as compared.
pub(super) struct Check {
    /// How many are there and are not what they must be.
    pub(super) wrong: usize,
    pub(super) there: usize,
    /// Whether all leaves are there.
    whole: bool,
}

impl Check {
    pub(super) fn right(&self) -> bool {
        self.wrong == 0 && self.whole
    }
}

impl Run {
    pub(super) fn well(&self) -> bool {
        self.end == End::Code(0)
    }

    /// Names of what ended, in order, or `-`.
    pub(super) fn letters(&self) -> String {
        let mut all = if self.told.ended.is_empty() {
            self.told.began.clone()
        } else {
            self.told.ended.clone()
        };
        all.sort();
        if all.is_empty() { "-".to_owned() } else { all.concat() }
    }
}

impl<'a> Work<'a> {
    /// Lays a graph out in a new folder. Traced, actions say when they begin and end.
    pub(super) fn new(
        tool: &'a dyn Tool,
        graph: Graph,
        dir: PathBuf,
        jobs: usize,
        traced: bool,
    ) -> Result<Self> {
        remove(&dir)?;
        std::fs::create_dir_all(dir.join("src")).with_context(|| dir.display().to_string())?;
        std::fs::create_dir_all(dir.join("o"))?;
        let scratch = dir.with_extension("logs");
        std::fs::create_dir_all(&scratch)?;
        let trace = (traced && tool.traces()).then(|| dir.with_extension("trace"));
        let work = Self { tool, graph, dir, trace, scratch, jobs };
        work.clear_trace()?;
        for name in work.graph.sources.keys() {
            work.write_source(name)?;
        }
        work.write_files()?;
        tool.prepare(&work.dir)?;
        Ok(work)
    }

    fn write_source(&self, name: &str) -> Result<()> {
        Ok(std::fs::write(self.dir.join("src").join(name), &self.graph.sources[name])?)
    }

    /// Writes the build files again, after the graph was changed.
    pub(super) fn write_files(&self) -> Result<()> {
        let trace = self.trace.as_ref().map(|t| t.display().to_string());
        let job = Job { graph: &self.graph, trace, jobs: self.jobs };
        for (name, text) in self.tool.files(&job) {
            let path = self.dir.join(name);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(&path, text).with_context(|| path.display().to_string())?;
        }
        Ok(())
    }

    /// Gives the late source another text.
    pub(super) fn change(&mut self, text: &str) -> Result<()> {
        self.graph = self.graph.changed(text);
        self.write_source(&self.graph.late)
    }

    /// The late source.
    pub(super) fn late(&self) -> PathBuf {
        self.dir.join("src").join(&self.graph.late)
    }

    fn clear_trace(&self) -> Result<()> {
        match &self.trace {
            Some(trace) => Ok(std::fs::write(trace, "")?),
            None => Ok(()),
        }
    }

    /// Brings everything up to date, or as far as it gets within a time.
    pub(super) fn run(&self, limit: Duration) -> Result<Run> {
        self.clear_trace()?;
        let mut command = self.tool.command(&self.dir);
        let (cost, end) = measure::run(&mut command, &self.scratch, limit)?;
        let told = self.told(&cost.said);
        Ok(Run { cost, end, told })
    }

    /// What began and ended since the trace was cleared, or by what was said.
    pub(super) fn told(&self, said: &str) -> Told {
        match &self.trace {
            Some(trace) => Told::by_trace(&std::fs::read_to_string(trace).unwrap_or_default()),
            None => self.tool.told(said),
        }
    }

    /// Starts a run and does not wait for it; what it says is in the file.
    pub(super) fn start(&self, log: &str) -> Result<(Child, PathBuf)> {
        let log = self.scratch.join(log);
        let file = std::fs::File::create(&log)?;
        let mut command = self.tool.command(&self.dir);
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let child = command.spawn().with_context(|| crate::shell::shown(&command))?;
        Ok((child, log))
    }

    /// Outputs as they lie there.
    pub(super) fn outputs(&self, said: &str) -> Result<Vec<Option<Vec<u8>>>> {
        self.tool.outputs(&self.dir, &self.graph, said)
    }

    /// Compares outputs with what they must be.
    pub(super) fn check(&self, said: &str) -> Result<Check> {
        let found = self.outputs(said)?;
        let expected = self.graph.expected();
        let wrong =
            found.iter().zip(&expected).filter(|(f, e)| f.as_ref().is_some_and(|f| f != *e));
        Ok(Check {
            wrong: wrong.count(),
            there: found.iter().flatten().count(),
            whole: self.graph.leaves().iter().all(|i| found[*i].is_some()),
        })
    }

    /// When each output was last written, for tools that do not say what they ran.
    pub(super) fn written(&self) -> Vec<Option<SystemTime>> {
        let time = |action: &super::graph::Action| {
            std::fs::metadata(self.dir.join(super::emit::out(action))).ok()?.modified().ok()
        };
        self.graph.actions.iter().map(time).collect()
    }

    /// Removes all of it.
    pub(super) fn remove(self) -> Result<()> {
        remove(&self.dir)?;
        let _ = std::fs::remove_file(self.dir.with_extension("trace"));
        remove(&self.scratch)
    }
}

/// Removes a folder in which some are read-only, or are mounts that a killed tool left.
pub(super) fn remove(dir: &Path) -> Result<()> {
    if dir.symlink_metadata().is_err() {
        return Ok(());
    }
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    for place in mounts.lines().filter_map(|l| l.split(' ').nth(1)) {
        if Path::new(place).starts_with(dir) {
            let mut sh = Command::new("sh");
            sh.args(["-c", "fusermount3 -u -z -- \"$0\" || umount -l -- \"$0\""]).arg(place);
            crate::shell::output(&mut sh)?;
        }
    }
    let mut sh = Command::new("sh");
    sh.args(["-c", "chmod -R u+w -- \"$0\" && rm -rf -- \"$0\""]).arg(dir);
    crate::shell::output(&mut sh).map(drop)
}
