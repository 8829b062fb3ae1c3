//! `sim-pipe new`: a project of one's own, with a pipeline that runs.

use crate::error::{CliError, CliResult, exit};
use crate::text;
use clap::Args;
use fs_err as fs;
use sim_provenance::shell;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// The folder to make
    folder: PathBuf,
}

const FILES: [(&str, &str); 4] = [
    ("pipeline.toml", include_str!("../../templates/new/pipeline.toml")),
    ("fall.py", include_str!("../../templates/new/fall.py")),
    ("compare.py", include_str!("../../templates/new/compare.py")),
    (".gitignore", "/.sim-pipe/\n/out/\n"),
];

pub(crate) fn run(args: &NewArgs) -> CliResult {
    let name = args.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let slug: String = name
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect::<String>()
        .trim_matches('-')
        .to_owned();
    if slug.is_empty() {
        return Err(CliError::new(
            exit::USAGE,
            format!("`{}` names no folder", args.folder.display()),
        ));
    }
    if args.folder.exists() && fs::read_dir(&args.folder)?.next().is_some() {
        return Err(CliError::new(
            exit::USAGE,
            format!("{} is there and not empty", args.folder.display()),
        )
        .hint("choose a folder that does not exist yet"));
    }
    fs::create_dir_all(&args.folder)?;
    for (file, content) in FILES {
        fs::write(args.folder.join(file), content.replace("@NAME@", &slug))?;
    }
    text::say(&format!("made {}: a pipeline of two stages and a report", args.folder.display()));
    let pipeline = args.folder.join("pipeline.toml").display().to_string();
    text::say(&format!("next: {}", shell::line(["sim-pipe", "run", &pipeline])));
    Ok(exit::OK)
}
