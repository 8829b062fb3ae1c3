//! Adapters in Python: the harness as a library, the package, and a program that starts it in its
//! environment.
//!
//! ```text
//! engines/NAME/engine.toml ─▶ environment (see `environment`) ─┐
//!                         └─▶ host library, built by cargo ────┼─▶ bin/ADAPTER lib/ python/
//! the package of the adapters ─────────────────────────────────┘   python.json engine.json describe.json
//!
//! adapter, environment, scene ─▶ kernels, compiled ahead of trials
//! ```

use crate::build::{Workshop, copy, describe, engine_json};
use crate::pin::EngineFile;
use crate::{TIMEOUT, environment, head_args, place_args};
use fs_err as fs;
use sim_model::action::Class;
use sim_model::kind::{Cell, Draft, DraftInput, ExpandCtx, Problem};
use sim_model::request::{Request, StatusFile};
use sim_model::value::Value;
use sim_stage_sdk::{IoContext, StageError, arg, engine_command, input, ok};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Steps of the kind.
pub(crate) const LIBRARY: &str = "library";
pub(crate) const ADAPTER: &str = "adapter";
pub(crate) const KERNELS: &str = "kernels";

/// The library's file; `sim_engine/main.py` loads it by this name.
const HOST: &str = "libsim_python_host.so";
/// The package's folder in an adapter.
const PACKAGE: &str = "python/sim_engine";
/// Compiling all kernels of a large scene takes minutes.
const KERNELS_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// The drafts of an adapter in Python.
pub(crate) fn expand(
    file: &EngineFile,
    folder: &str,
    (path, text): (&str, &str),
    cell: &Cell,
    ctx: &mut dyn ExpandCtx,
) -> Result<Vec<Draft>, Vec<Problem>> {
    let Some(python) = &file.python else { return Ok(Vec::new()) };
    let mut drafts = Vec::new();
    let Some((_, packages)) = environment::drafts(folder, ctx, &mut drafts)? else {
        return Ok(Vec::new());
    };
    let source = &file.source;
    drafts.push(sim_stage_fetch::crates_draft(&source.crate_dir, &source.crate_dir, &source.paths));
    let mut library = Draft::new("build-engine", Class::Pure);
    let vendor = DraftInput::Draft { index: drafts.len() - 1, subpath: Some("vendor".into()) };
    library.inputs.insert("vendor".into(), vendor);
    library.inputs.insert("crate".into(), DraftInput::Source(source.crate_dir.clone()));
    for (i, dir) in source.paths.iter().enumerate() {
        library.inputs.insert(format!("path{i}"), DraftInput::Source(dir.clone()));
    }
    library.args.insert("step".into(), Value::str(LIBRARY));
    library.args.insert("crate".into(), Value::str(source.crate_dir.as_str()));
    let paths = source.paths.iter().map(|p| Value::str(p.as_str())).collect();
    library.args.insert("paths".into(), Value::List(paths));
    place_args(&mut library, path, text, 0, ctx);
    library.tools = ["rustc", "cargo", "cc"].map(str::to_owned).to_vec();
    library.outputs = vec![HOST.to_owned()];
    library.timeout = Some(TIMEOUT);
    library.shared = Some(format!("library/{}", source.crate_dir));
    library.export = false;
    drafts.push(library);

    let mut adapter = Draft::new("build-engine", Class::Pure);
    let host = DraftInput::Draft { index: drafts.len() - 1, subpath: Some(HOST.into()) };
    adapter.inputs.insert("host".into(), host);
    let packages = DraftInput::Draft { index: packages, subpath: None };
    adapter.inputs.insert("environment".into(), packages);
    adapter.inputs.insert("package".into(), DraftInput::Source(python.package.clone()));
    adapter.args = head_args(file);
    adapter.args.insert("step".into(), Value::str(ADAPTER));
    adapter.inputs.insert("module".into(), DraftInput::Source(python.module.clone()));
    let module = Path::new(&python.module).file_stem().unwrap_or_default().to_string_lossy();
    adapter.args.insert("module".into(), Value::str(module));
    place_args(&mut adapter, path, text, 0, ctx);
    adapter.tools = vec!["python3".to_owned()];
    adapter.outputs = ["bin", "lib", "python", "python.json", "engine.json", "describe.json"]
        .map(str::to_owned)
        .to_vec();
    adapter.timeout = Some(cell.timeout.unwrap_or(TIMEOUT));
    drafts.push(adapter);
    Ok(drafts)
}

/// What a run of an adapter needs beside the adapter, drafted by whoever drafts the run, and what its pin says
/// of it.
#[derive(Clone, Debug, Default)]
pub struct Runtime {
    /// Index of the environment's draft; none for an adapter that is a program of its own.
    environment: Option<usize>,
    by_worlds: bool,
    /// Whether the pin denies that the engine simulates material points.
    rigid_only: bool,
    /// Backends on which a program of its own has kernels compiled ahead, once for all scenes.
    backends: Vec<String>,
}

impl Runtime {
    /// The drafts of an engine's environment, added to `drafts`. `folder` is the one with its `engine.toml`.
    pub fn new(
        folder: &str,
        ctx: &mut dyn ExpandCtx,
        drafts: &mut Vec<Draft>,
    ) -> Result<Self, Vec<Problem>> {
        let made = environment::drafts(folder, ctx, drafts)?;
        let path = format!("{}/engine.toml", folder.trim_end_matches('/'));
        // Without a pin nothing is known before the adapter is asked; whether it is sound is for the stage
        // that builds it to say.
        let pin = ctx.exists(&path).then(|| ctx.read(&path).ok()).flatten();
        let pin = pin.and_then(|text| EngineFile::parse(&text).ok());
        let rigid_only = pin.as_ref().is_some_and(|file| !file.engine.mpm);
        Ok(match made {
            Some((python, index)) => {
                let by_worlds = python.compiles_by_worlds;
                Self { environment: Some(index), by_worlds, rigid_only, backends: Vec::new() }
            }
            None => {
                let backends = pin.map(|file| file.kernels.backends).unwrap_or_default();
                Self { rigid_only, backends, ..Self::default() }
            }
        })
    }

    /// Whether the engine may simulate material points: its pin does not say that it does not (P204, P207).
    pub fn may_simulate_points(&self) -> bool {
        !self.rigid_only
    }

    /// Whether kernels are compiled ahead for a backend.
    pub fn compiles(&self, backend: &str) -> bool {
        self.is_needed() || self.backends.iter().any(|b| b == backend)
    }

    /// Whether what was compiled for one scene serves all.
    pub fn compiles_once(&self) -> bool {
        !self.is_needed()
    }

    /// For which number of worlds kernels are compiled that serve `worlds` of them.
    pub fn compiled_worlds(&self, worlds: u32) -> u32 {
        if self.by_worlds { worlds } else { 1 }
    }

    /// Whether there is an environment, and kernels are compiled ahead.
    pub fn is_needed(&self) -> bool {
        self.environment.is_some()
    }

    /// Gives a draft that runs the adapter its environment.
    pub fn enter(&self, draft: &mut Draft) {
        if let Some(index) = self.environment {
            let environment = DraftInput::Draft { index, subpath: None };
            draft.inputs.insert("environment".into(), environment);
        }
    }

    /// The draft that compiles what a job needs that the draft `base` has not compiled, and keeps both. `job` is
    /// its document without the file that `given` names and holds: `scene.json`, or `model.xml` for a job that
    /// drives. Its output goes to [`take_kernels`].
    pub fn kernels(
        &self,
        job: Value,
        given: (&str, DraftInput),
        suffix: String,
        base: Option<usize>,
    ) -> Draft {
        let mut draft = Draft::new("build-engine", Class::Machine);
        draft.suffix = suffix;
        draft.args.insert("step".into(), Value::str(KERNELS));
        draft.args.insert("job".into(), job);
        draft.inputs.insert("engine".into(), DraftInput::Declared("engine".into()));
        draft.args.insert("file".into(), Value::str(given.0));
        draft.inputs.insert("given".into(), given.1);
        self.enter(&mut draft);
        if let Some(index) = base {
            take_kernels(&mut draft, index);
        }
        draft.outputs = vec!["kernels".to_owned()];
        draft.timeout = Some(KERNELS_TIMEOUT);
        draft.export = false;
        draft
    }
}

/// Gives a draft that runs the adapter the kernels that the draft `index` compiles.
pub fn take_kernels(draft: &mut Draft, index: usize) {
    let kernels = DraftInput::Draft { index, subpath: Some("kernels".into()) };
    draft.inputs.insert("kernels".into(), kernels);
}

/// Builds the host library.
pub(crate) fn library(request: &Request, dir: &Path) -> Result<StatusFile, StageError> {
    let workshop = Workshop::prepare(request, dir)?;
    workshop.cargo(&["--lib"], "the host library")?;
    let built = workshop.built(HOST);
    fs::copy(&built, dir.join("out").join(HOST)).at(&built)?;
    Ok(ok())
}

/// Puts an adapter together and asks it once what it is.
pub(crate) fn adapter(request: &Request, dir: &Path) -> Result<StatusFile, StageError> {
    let (bin, module): (String, String) = (arg(request, "bin")?, arg(request, "module")?);
    let out = dir.join("out");
    for folder in ["bin", "lib"] {
        fs::create_dir_all(out.join(folder)).at(out.join(folder))?;
    }
    copy(&input(request, dir, "package")?, &out.join(PACKAGE))?;
    let file = input(request, dir, "module")?;
    fs::copy(&file, out.join(PACKAGE).join(format!("{module}.py"))).at(&file)?;
    let host = input(request, dir, "host")?;
    fs::copy(&host, out.join("lib").join(HOST)).at(&host)?;

    let identity = Command::new("python3")
        .args(["-I", "-B"])
        .arg(out.join(PACKAGE).join("main.py"))
        .args([&module, "identify"])
        .env("SIM_ENGINE_ENVIRONMENT", input(request, dir, "environment")?)
        .output()
        .map_err(|e| StageError::Failed(format!("`python3` could not be started: {e}")))?;
    if !identity.status.success() {
        return Err(StageError::Failed(format!(
            "the interpreter's identity: {}",
            String::from_utf8_lossy(&identity.stderr).trim()
        )));
    }
    let path = out.join("python.json");
    fs::write(&path, &identity.stdout).at(&path)?;

    // Nothing of this machine's folders: the interpreter is the one on PATH, and the adapter refuses one
    // that is not what python.json says.
    let program = out.join("bin").join(&bin);
    let text = format!(
        "#!/bin/sh\nexec python3 -I -B \"$(dirname -- \"$0\")/../{PACKAGE}/main.py\" {module} \"$@\"\n"
    );
    fs::write(&program, text).at(&program)?;
    let mut permissions = fs::metadata(&program).at(&program)?.permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    fs::set_permissions(&program, permissions).at(&program)?;
    engine_json(request, dir, &bin)?;
    describe(&mut engine_command(request, dir, &out)?, dir)?;
    Ok(ok())
}

/// Compiles the kernels of a job.
pub(crate) fn kernels(request: &Request, dir: &Path) -> Result<StatusFile, StageError> {
    let work = dir.join("tmp/job");
    let out = dir.join("out/kernels");
    for folder in [&work, &out] {
        fs::create_dir_all(folder).at(folder)?;
    }
    let (given, file) = (input(request, dir, "given")?, arg::<String>(request, "file")?);
    fs::copy(&given, work.join(&file)).at(&given)?;
    let mut job: serde_json::Map<String, serde_json::Value> = arg(request, "job")?;
    let field = file.split('.').next().unwrap_or_default();
    job.insert(field.to_owned(), file.as_str().into());
    let path = work.join("job.json");
    fs::write(&path, format!("{:#}\n", serde_json::Value::Object(job))).at(&path)?;
    let status = engine_command(request, dir, &input(request, dir, "engine")?)?
        .arg("compile")
        .arg(&path)
        .arg(&out)
        .current_dir(&work)
        .status()
        .map_err(|e| StageError::Failed(format!("the adapter could not be started: {e}")))?;
    if !status.success() {
        return Err(StageError::Failed(format!("compiling the kernels ended with {status}")));
    }
    Ok(ok())
}
