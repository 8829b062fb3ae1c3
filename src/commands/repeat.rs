//! `sim-pipe repeat`: an action's folder as it was when it ran, and a script that runs it there by hand.
//!
//! Everything comes out of the record and the store: the pipeline may have changed since, or be gone.

use crate::error::{CliError, CliResult, exit};
use crate::find;
use crate::global::Global;
use crate::project::nearest_store;
use crate::{recorded, text};
use clap::Args;
use sim_exec::LaidOut;
use sim_model::{Class, Digest, Record, Status};
use sim_provenance::shell;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(crate) struct RepeatArgs {
    /// The action: its label, or the beginning of its key; `@N` after it names an observation
    action: String,
    /// The folder to lay it out in; made, and must not be there yet
    folder: PathBuf,
}

pub(crate) fn run(global: &Global, args: &RepeatArgs) -> CliResult {
    let store = nearest_store(global)?;
    let _lease = store.lease()?;
    let found = find::observation(&store, &args.action)?;
    if args.folder.symlink_metadata().is_ok() {
        return Err(CliError::new(
            exit::USAGE,
            format!("{} is there already", args.folder.display()),
        )
        .hint("choose a folder that does not exist yet"));
    }
    let parts = recorded::parts(&store, &found.record)?;
    fs_err::create_dir_all(&args.folder)?;
    let folder = fs_err::canonicalize(&args.folder)?;
    let laid = parts.lay_out(&store, &found.record, &folder);
    let laid = match laid {
        Ok(laid) => laid,
        Err(e) => {
            // Half a folder would look like a whole one.
            let _ = sim_store::tree::remove_all(&folder);
            return Err(e);
        }
    };
    let script = script(&found.title(), &found.record, parts.action().network, &laid, &folder);
    fs_err::write(folder.join("run.sh"), script)?;
    text::out(&shell::line(["sh", &args.folder.join("run.sh").display().to_string()]));
    if let Some(output) = &found.record.output {
        let same = match found.record.class {
            Class::Pure => "what it gives in out/ must be the same bytes",
            Class::Machine => "on this class of machine it must give the same bytes",
            Class::Measured => "it measures: what it gives will differ",
        };
        text::say(&format!("its output is {}; {same}", store.tree_path(&output.digest).display()));
    }
    Ok(exit::OK)
}

/// The command that lays an action out and runs it.
pub(crate) fn command(key: &Digest, generation: u32, store: &Path, named: bool) -> String {
    let key = key.short();
    let observation = if generation == 0 { key.clone() } else { format!("{key}@{generation}") };
    let folder = format!("repeat-{key}");
    let store = store.display().to_string();
    let place = if named { vec!["--store", store.as_str()] } else { vec![] };
    let line = shell::line(
        ["sim-pipe", "repeat", observation.as_str(), folder.as_str()].into_iter().chain(place),
    );
    format!("{line} && sh {folder}/run.sh")
}

fn script(title: &str, r: &Record, network: bool, laid: &LaidOut, folder: &Path) -> String {
    let at = folder.display().to_string();
    // The folder may be moved: what lies in it is named from where the script is.
    let place = |text: &str| {
        let quoted = shell::word(text);
        match text.strip_prefix(&at) {
            Some("") => "\"$here\"".to_owned(),
            Some(rest) if rest.starts_with('/') => format!("\"$here\"{}", shell::word(rest)),
            _ => quoted,
        }
    };
    let status =
        if r.status == Status::Ok { String::new() } else { format!(", {}", r.status.name()) };
    let mut out = format!(
        "#!/bin/sh\n# {} · key {}{status}\n# Without sandbox and limits: what it reads beyond in/ is not \
         kept from it.\nset -e\nhere=$(cd \"$(dirname \"$0\")\" && pwd)\ncd \"$here\"\n",
        title.replace(char::is_control, " "),
        r.key
    );
    out.push_str("exec env -i");
    if network {
        out.push_str(
            " ${https_proxy:+\"https_proxy=$https_proxy\"} ${http_proxy:+\"http_proxy=$http_proxy\"}",
        );
    }
    for (name, value) in &laid.env {
        let value = place(&value.to_string_lossy());
        let _ = write!(out, " \\\n  {}={value}", name.to_string_lossy());
    }
    let _ = write!(out, " \\\n  {}", shell::word(&laid.program.display().to_string()));
    for arg in &laid.args {
        let _ = write!(out, " {}", shell::word(arg));
    }
    out.push('\n');
    out
}
