//! The folder of an action as a run lays it out, for whoever wants to look at it, run it by hand, or
//! write a report again. Nothing is run and nothing recorded.

use crate::action_dir;
use crate::error::{ExecError, Result};
use crate::resolve::{Outcomes, Resolved, Resolver};
use crate::run::Options;
use crate::sandbox::Level;
use sim_model::PlannedAction;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// How to run what was laid out: in its folder, with exactly this environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaidOut {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// The whole environment; variables of the host that only a network action gets are left out.
    pub env: Vec<(OsString, OsString)>,
}

/// Lays `action` out in the empty folder `path`: `request.json`, `in/` as links into the store, and
/// empty `out/`, `home/` and `tmp/`. A source that is not what `resolved` says is
/// [`ExecError::Unsettled`].
pub fn lay_out(
    resolver: &Resolver<'_>,
    options: &Options,
    action: &PlannedAction,
    resolved: &Resolved,
    outcomes: &Outcomes,
    path: &Path,
) -> Result<LaidOut> {
    for dir in ["in", "out", "home", "tmp"] {
        fs_err::create_dir(path.join(dir))?;
    }
    let prepared =
        action_dir::prepare(resolver, action, resolved, outcomes, Level::None, false, path)?;
    if prepared.is_err() {
        return Err(ExecError::Unsettled {
            label: action.label.clone(),
            path: action.inputs.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
        });
    }
    let (program, argv) = if action.argv.is_empty() {
        let argv = ["sim-pipe", "stage", action.kind.as_str()].map(str::to_owned).to_vec();
        (options.exe.clone(), argv)
    } else {
        let argv = action_dir::expand_argv(action);
        let path_var = action.env.get("PATH").map(String::as_str);
        let found = match argv[0].as_str() {
            program if program.contains('/') => Some(PathBuf::from(program)),
            tool => resolver.tools.find(tool, path_var),
        };
        let program = found.ok_or_else(|| ExecError::ToolMissing {
            label: action.label.clone(),
            tool: argv[0].clone(),
        })?;
        (program, argv)
    };
    let local = PlannedAction { network: false, ..action.clone() };
    let env = action_dir::environment(&local, &options.path_var, path);
    Ok(LaidOut { program, args: argv[1..].to_vec(), env })
}
