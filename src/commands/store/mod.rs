//! `sim-pipe store …`.

mod crates;
mod du;
mod verify;
mod why;

use crate::error::{CliError, CliResult, exit};
use crate::find;
use crate::format::Format;
use crate::global::Global;
use crate::project::{nearest_store, store_or_new};
use crate::text;
use clap::Subcommand;
use sim_store::Store;
use sim_store::gc::{GcOptions, LogRetention};
use sim_store::tree::Node;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// List roots; with a label or key, the files of its output
    Ls {
        /// A label, or the beginning of a key
        what: Option<String>,
    },
    /// Say what takes how much space: by folder, by stage kind, by class
    Du {
        #[command(flatten)]
        format: Format,
    },
    /// Hash everything again and check every record
    Verify {
        /// Set damaged things aside; what pure actions gave is made again, here or by the next run
        #[arg(long)]
        repair: bool,
    },
    /// Remove what no root reaches; observations stay
    Gc {
        /// Only say what would go
        #[arg(long)]
        dry_run: bool,
        /// Also remove observations that no root reaches: they cannot be made again
        #[arg(long)]
        observations: bool,
        /// Also remove logs of actions that ended well and were started this long ago or longer, such as
        /// 30d, 12h or 0s; what they gave stays
        #[arg(long, value_name = "AGE", value_parser = age)]
        logs_older_than: Option<Duration>,
        /// With --logs-older-than, remove logs of actions that failed, too
        #[arg(long, requires = "logs_older_than")]
        failed_logs: bool,
    },
    /// Say what keeps a thing: the way from each root to it
    Why {
        /// A label, or the beginning of a key, or of the digest of a tree or log
        what: String,
    },
    /// Keep what a pipeline's last run reached, under another name
    Pin {
        /// The root, usually a pipeline's name
        root: String,
        /// The new name
        name: String,
    },
    /// Let go of a root
    Unpin {
        /// The root
        name: String,
    },
    /// Write what roots reach to one file
    Export {
        /// The file, such as round.simpipe
        file: PathBuf,
        /// Roots [default: all]
        #[arg(long = "root", value_name = "NAME")]
        roots: Vec<String>,
        /// Take the sources along that were used as inputs
        #[arg(long)]
        inputs: bool,
    },
    /// Take in an exported file or a research crate; every byte is checked
    ///
    /// Where there is no store, one is made: --store, SIM_PIPE_STORE, or `.sim-pipe` in the working folder.
    Import {
        /// The file, or a crate's folder or ZIP file
        file: PathBuf,
    },
    /// Print the path of an output in the store
    Path {
        /// A label, or the beginning of a key
        what: String,
    },
}

/// An age such as `30d`.
fn age(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "s" => 1,
        "min" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        _ => return Err("expected a number with s, min, h, d or w, such as 30d".to_owned()),
    };
    let seconds = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit));
    seconds.map(Duration::from_secs).ok_or_else(|| format!("`{digits}` is no number of that size"))
}

pub(crate) fn run(global: &Global, command: &StoreCommand) -> CliResult {
    let store = match command {
        StoreCommand::Import { file } => return import(global, file),
        _ => nearest_store(global)?,
    };
    match command {
        StoreCommand::Ls { what: None } => roots(global, &store),
        StoreCommand::Ls { what: Some(what) } => files(global, &store, what),
        StoreCommand::Du { format } => du::run(global, &store, *format),
        StoreCommand::Verify { repair } => verify::verify(global, &store, *repair),
        StoreCommand::Gc { dry_run, observations, logs_older_than, failed_logs } => {
            let logs = logs_older_than.map(|age| LogRetention {
                before_unix_ms: (sim_exec::unix_ms() + 1).saturating_sub(age.as_millis() as u64),
                failed_too: *failed_logs,
            });
            gc(global, &store, GcOptions { dry_run: *dry_run, observations: *observations, logs })
        }
        StoreCommand::Pin { root, name } => {
            let found = store.root_named(root)?.ok_or_else(|| {
                CliError::new(exit::NOTHING, format!("there is no root `{root}`"))
                    .hint("`sim-pipe store ls` lists them")
            })?;
            let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            if name.is_empty() || !name.chars().all(fine) {
                return Err(CliError::new(exit::USAGE, format!("`{name}` is no name for a pin"))
                    .hint("use letters, digits, `-` and `_`"));
            }
            // No pipeline's name has a dot: a run never takes a pin's place.
            let name = format!("pin.{name}");
            if store.root_named(&name)?.is_some() {
                return Err(CliError::new(
                    exit::USAGE,
                    format!("there is a root `{name}` already"),
                )
                .hint(format!("`sim-pipe store unpin {name}` lets go of it")));
            }
            store.put_root(&name, &found)?;
            text::say(&format!("{name} keeps {}", text::count(found.entries.len(), "action")));
            Ok(exit::OK)
        }
        StoreCommand::Unpin { name } => {
            if !store.remove_root(name)? && !store.remove_root(&format!("pin.{name}"))? {
                return Err(CliError::new(exit::NOTHING, format!("there is no root `{name}`")));
            }
            text::say(&format!(
                "{name} is no root any more; `store gc` removes what it alone kept"
            ));
            Ok(exit::OK)
        }
        StoreCommand::Export { file, roots, inputs } => {
            let all: Vec<String> = store.roots()?.into_iter().map(|(name, _)| name).collect();
            let chosen = if roots.is_empty() { &all } else { roots };
            let moved = store.export(chosen, *inputs, file)?;
            said(&moved, "written to", file);
            Ok(exit::OK)
        }
        StoreCommand::Import { file } => import(global, file),
        StoreCommand::Why { what } => why::why(global, &store, what),
        StoreCommand::Path { what } => {
            let record = find::record(&store, what)?.record;
            let tree = record.output.as_ref().ok_or_else(|| {
                CliError::new(exit::NOTHING, format!("{} gave no output", record.label))
            })?;
            text::out(&store.tree_path(&tree.digest).display().to_string());
            Ok(exit::OK)
        }
    }
}

/// Importing begins a store where there is none.
fn import(global: &Global, file: &std::path::Path) -> CliResult {
    let archive = crates::archive(file)?;
    let store = store_or_new(global, std::path::Path::new(".sim-pipe"))?;
    let moved = store.import(&archive.path)?;
    said(&moved, "taken from", file);
    Ok(exit::OK)
}

fn said(moved: &sim_store::transfer::Transferred, verb: &str, file: &std::path::Path) {
    text::say(&format!(
        "{}, {} and {} {verb} {}",
        text::count(moved.records, "record"),
        text::count(moved.trees, "tree"),
        text::count(moved.blobs, "log"),
        file.display()
    ));
}

fn roots(global: &Global, store: &Store) -> CliResult {
    for (name, root) in store.roots()? {
        let failed = root.entries.iter().filter(|e| e.status != sim_model::Status::Ok).count();
        if global.json {
            let line = serde_json::json!({
                "v": 1, "root": name, "pipeline": root.pipeline, "file": root.file,
                "run": root.run, "actions": root.entries.len(), "not_ok": failed,
            });
            text::out(&line.to_string());
        } else {
            let actions = text::count(root.entries.len(), "action");
            let failed = if failed > 0 { format!(", {failed} not ok") } else { String::new() };
            text::out(&format!("{name}  {actions}{failed}  {}  run {}", root.file, root.run));
        }
    }
    Ok(exit::OK)
}

fn files(global: &Global, store: &Store, what: &str) -> CliResult {
    let record = find::record(store, what)?.record;
    let Some(tree) = &record.output else {
        return Err(CliError::new(exit::NOTHING, format!("{} gave no output", record.label)));
    };
    let node = store.verified_tree(&tree.digest)?;
    node.visit(&mut Vec::new(), &mut |path, node| {
        let path = String::from_utf8_lossy(path);
        let (kind, detail) = match node {
            Node::Dir(_) if path.is_empty() => return,
            Node::Dir(_) => ("dir", String::new()),
            Node::Link { target } => ("link", String::from_utf8_lossy(target).into_owned()),
            Node::File { bytes, executable, digest } => {
                let kind = if *executable { "exe" } else { "file" };
                (kind, format!("{}  {}", text::bytes(*bytes), digest.short()))
            }
        };
        if global.json {
            let line = serde_json::json!({"v": 1, "path": path, "kind": kind, "detail": detail});
            text::out(&line.to_string());
        } else {
            text::out(format!("{kind:4}  {path}  {detail}").trim_end());
        }
    });
    Ok(exit::OK)
}

fn gc(global: &Global, store: &Store, options: GcOptions) -> CliResult {
    let report = store.gc(options)?;
    for item in &report.removed {
        let path = item.path.strip_prefix(store.root()).unwrap_or(&item.path);
        if global.json {
            let line = serde_json::json!({
                "v": 1, "path": path, "bytes": item.bytes, "what": item.what,
            });
            text::out(&line.to_string());
        } else if options.dry_run {
            text::out(&format!(
                "{:>10}  {}  {}",
                text::bytes(item.bytes),
                path.display(),
                item.what
            ));
        }
    }
    let verb = if options.dry_run { "would be freed" } else { "freed" };
    text::say(&format!(
        "{} {verb} · {} kept",
        text::bytes(report.bytes()),
        text::count(report.kept.len(), "key")
    ));
    Ok(exit::OK)
}
