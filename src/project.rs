//! A pipeline on disk: its project's root, its plan, its store.

use crate::error::{CliError, exit};
use crate::global::Global;
use crate::{env, kinds, text};
use sim_exec::{Options, SandboxPolicy};
use sim_model::digest::Canonical;
use sim_model::{Digest, Machine, Plan};
use sim_plan::{MachineFacts, OsFiles};
use sim_store::{Store, Watch};
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// A planned pipeline.
pub(crate) struct Project {
    pub(crate) root: PathBuf,
    /// Pipeline file relative to the root, with `/`.
    pub(crate) file: String,
    pub(crate) plan: Plan,
    pub(crate) machine: Machine,
}

/// Where a pipeline and its project are, before anything is planned.
pub(crate) struct Located {
    pub(crate) root: PathBuf,
    /// As in [`Project`].
    pub(crate) file: String,
    /// The pipeline's name as it is written, if it is.
    pub(crate) name: Option<String>,
    pub(crate) machine: Machine,
}

impl Located {
    /// Finds the pipeline file and its project's root.
    pub(crate) fn find(pipeline: &Path) -> Result<Self, CliError> {
        let pipeline = find_pipeline(pipeline)?;
        let bytes = std::fs::read(&pipeline)
            .map_err(|e| CliError::new(exit::PIPELINE, format!("{}: {e}", pipeline.display())))?;
        let folder = pipeline.parent().unwrap_or(Path::new("/")).to_path_buf();
        let head = sim_plan::head(&String::from_utf8_lossy(&bytes));
        let root = folder.join(head.root.as_deref().unwrap_or("."));
        let root = root.canonicalize().map_err(|e| {
            let message = format!("the project's root {} cannot be used: {e}", root.display());
            CliError::new(exit::PIPELINE, message)
                .hint("`pipeline.root` names it relative to the file")
        })?;
        let file = pipeline
            .strip_prefix(&root)
            .map_err(|_| {
                let message = format!(
                    "{} does not lie below its project's root {}",
                    pipeline.display(),
                    root.display()
                );
                CliError::new(exit::PIPELINE, message)
                    .hint("`pipeline.root` goes up from the pipeline file, such as \"..\"")
            })?
            .to_string_lossy()
            .into_owned();
        Ok(Self { root, file, name: head.name, machine: sim_exec::detect_machine() })
    }

    /// Where the store is: --store, SIM_PIPE_STORE, or `.sim-pipe` in the project's root.
    pub(crate) fn store_path(&self, global: &Global) -> PathBuf {
        global.store.clone().or_else(env::store).unwrap_or_else(|| self.root.join(".sim-pipe"))
    }

    /// A digest of everything that decides what a run does and is no file that it looks at.
    pub(crate) fn question(&self, set: &[(String, String)]) -> Result<Digest, CliError> {
        let exe = env::own_exe()?;
        let stamp = sim_store::Stamp::of(&exe.metadata()?);
        let mut c = Canonical::new("sim-pipe question v1");
        c.str(&exe.to_string_lossy()).str(&format!("{stamp:?}"));
        c.bytes(self.root.as_os_str().as_encoded_bytes()).str(&self.file);
        c.str(&format!("{:?}", self.machine)).str(&env::path_var());
        // Where toolchains lie decides what a tool is.
        for name in ["HOME", "RUSTUP_HOME"] {
            c.bytes(std::env::var_os(name).unwrap_or_default().as_encoded_bytes());
        }
        c.u64(set.len() as u64);
        for (key, value) in set {
            c.str(key).str(value);
        }
        Ok(c.finish())
    }
}

impl Project {
    /// Reads and plans; diagnostics go to standard error.
    pub(crate) fn load(
        global: &Global,
        pipeline: &Path,
        set: &[(String, String)],
    ) -> Result<Self, CliError> {
        Self::plan(global, Located::find(pipeline)?, set).map(|(project, _)| project)
    }

    /// The same, with what was looked at; nothing can be concluded from that when there was anything
    /// to say.
    pub(crate) fn plan(
        global: &Global,
        located: Located,
        set: &[(String, String)],
    ) -> Result<(Self, Watch), CliError> {
        let Located { root, file, machine, name: _ } = located;
        let facts = MachineFacts { cpus: machine.cpus, ram: machine.ram_bytes };
        let options = sim_plan::Options { overrides: set.to_vec(), ..sim_plan::Options::default() };
        let watch = RefCell::new(Watch::default());
        let watcher = |path: &Path| watch.borrow_mut().follow(path, sim_exec::unix_ns());
        let path_var = env::path_var();
        let has = |name: &str, path: Option<&str>| {
            sim_exec::find_program(name, path.unwrap_or(&path_var)).is_some()
        };
        let files = OsFiles::new(&root).watched(&watcher).with_programs(&has);
        let outcome = sim_plan::plan(&files, &file, &kinds::registry(), facts, &options);
        if !outcome.diagnostics.is_empty() {
            watch.borrow_mut().give_up();
        }
        if global.json {
            for d in &outcome.diagnostics {
                text::out(&serde_json::json!({"v": 1, "diagnostic": d}).to_string());
            }
        } else if !outcome.diagnostics.is_empty() {
            let from = shown_from(&root);
            let shown = |file: &str| match root.join(file).exists() {
                true => from.join(file).display().to_string(),
                false => file.to_owned(),
            };
            text::say(&sim_plan::render_from(
                &outcome,
                &shown,
                env::colour(global.color),
                env::width(),
            ));
        }
        let errors = outcome.errors() + outcome.dropped;
        match outcome.plan {
            Some(plan) => Ok((Self { root, file, plan, machine }, watch.into_inner())),
            None => Err(CliError::new(
                exit::PIPELINE,
                format!("{} in {}; nothing was run", text::count(errors, "error"), file),
            )
            .hint("`sim-pipe help CODE` explains a code")),
        }
    }

    /// Where the store is: --store, SIM_PIPE_STORE, or `.sim-pipe` in the project's root.
    pub(crate) fn store_path(&self, global: &Global) -> PathBuf {
        global.store.clone().or_else(env::store).unwrap_or_else(|| self.root.join(".sim-pipe"))
    }

    /// Opens the store, making it when absent.
    pub(crate) fn store(&self, global: &Global) -> Result<Store, CliError> {
        Ok(Store::open(&self.store_path(global))?)
    }

    /// Opens the store to look at it. Where there is none it is an empty one that lies elsewhere and
    /// goes with the guard, so that nothing is made here.
    pub(crate) fn store_to_look_at(
        &self,
        global: &Global,
    ) -> Result<(Store, Option<tempfile::TempDir>), CliError> {
        let path = self.store_path(global);
        if path.metadata().is_ok_and(|m| !m.is_dir()) {
            return Err(sim_store::StoreError::NotAFolder { root: path }.into());
        }
        match Store::open_existing(&path) {
            Err(sim_store::StoreError::Missing { root }) => {
                // What could become no store is said now.
                Store::may_begin(&root)?;
                let elsewhere = tempfile::Builder::new().prefix("sim-pipe-plan-").tempdir()?;
                Ok((Store::open(&elsewhere.path().join("store"))?, Some(elsewhere)))
            }
            store => Ok((store?, None)),
        }
    }

    /// Executor options with everything at its default.
    pub(crate) fn options(&self) -> Result<Options, CliError> {
        Ok(Options {
            jobs: self.machine.cpus as usize,
            sandbox: SandboxPolicy::Auto,
            remeasure: false,
            retry_failed: false,
            keep_going: true,
            verify: false,
            exe: env::own_exe()?,
            path_var: env::path_var(),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            pipeline_file: self.file.clone(),
            lock_folder: env::lock_folder(),
            only: None,
            retry_known: false,
            resume: None,
            ahead: None,
            question: None,
        })
    }

    /// Indices of the actions that a selector names: a full label, a stage, a stage's cell, or any
    /// beginning of labels that ends at a `/`.
    pub(crate) fn select(&self, selector: &str) -> Result<Vec<usize>, CliError> {
        let matches = |label: &str, stage: &str| {
            label == selector
                || stage == selector
                || label
                    .strip_prefix(selector)
                    .is_some_and(|rest| rest.starts_with('/') || rest.starts_with('['))
        };
        let found: Vec<usize> = (0..self.plan.actions.len())
            .filter(|i| matches(&self.plan.actions[*i].label, &self.plan.actions[*i].stage))
            .collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let stages: Vec<&str> = self.plan.stages.iter().map(|s| s.name.as_str()).collect();
        Err(CliError::new(
            exit::NOTHING,
            format!("nothing in {} is called `{selector}`", self.file),
        )
        .hint(format!("its stages are {}; `sim-pipe plan` lists all labels", stages.join(", "))))
    }
}

/// The root of a project as seen from the working folder, where it is that or lies below it; else
/// nothing, and paths stay relative to the root.
fn shown_from(root: &Path) -> PathBuf {
    let here = std::env::current_dir().and_then(|d| d.canonicalize());
    let below = here.ok().and_then(|here| root.strip_prefix(here).ok().map(Path::to_path_buf));
    below.unwrap_or_default()
}

/// The pipeline file itself, or the only one in a folder.
fn find_pipeline(path: &Path) -> Result<PathBuf, CliError> {
    if path.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        return Err(CliError::new(exit::PIPELINE, format!("{} is no file", path.display())));
    }
    let path = path.canonicalize().map_err(|e| {
        CliError::new(exit::PIPELINE, format!("{}: {e}", path.display()))
            .hint("give the path of a pipeline file, such as pipelines/hello.toml")
    })?;
    if path.is_dir() {
        let inside = path.join("pipeline.toml");
        if inside.is_file() {
            return Ok(inside);
        }
        return Err(CliError::new(
            exit::PIPELINE,
            format!("{} is a folder without a pipeline.toml", path.display()),
        ));
    }
    Ok(path)
}

/// As [`nearest_store`]; where there is none, one is made: where --store or SIM_PIPE_STORE say, else in
/// `fresh`.
pub(crate) fn store_or_new(global: &Global, fresh: &Path) -> Result<Store, CliError> {
    if let Some(path) = global.store.clone().or_else(env::store) {
        return Ok(Store::open(&path)?);
    }
    match find_store()? {
        Some(path) => Ok(Store::open(&path)?),
        None => Ok(Store::open(fresh)?),
    }
}

/// The nearest `.sim-pipe` at or above the working folder.
fn find_store() -> Result<Option<PathBuf>, CliError> {
    let here = std::env::current_dir()?;
    Ok(here.ancestors().map(|d| d.join(".sim-pipe")).find(|p| p.join("format").is_file()))
}

/// The store for commands that need no pipeline: --store, SIM_PIPE_STORE, or the nearest `.sim-pipe`
/// at or above the working folder.
pub(crate) fn nearest_store(global: &Global) -> Result<Store, CliError> {
    if let Some(path) = global.store.clone().or_else(env::store) {
        return Ok(Store::open_existing(&path)?);
    }
    match find_store()? {
        Some(path) => Ok(Store::open_existing(&path)?),
        None => Err(CliError::new(
            exit::STORE,
            format!("there is no store at or above {}", std::env::current_dir()?.display()),
        )
        .hint("`sim-pipe run PIPELINE` makes one beside the pipeline")
        .hint("--store or SIM_PIPE_STORE name one elsewhere")),
    }
}
