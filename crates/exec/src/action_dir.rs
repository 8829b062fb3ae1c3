//! The folder in which an action runs, and the command line and environment it is given.
//!
//! ```text
//! request.json  in/NAME  out/  home/  tmp/       status.json (written by the action)
//! ```

use crate::error::Result;
use crate::host_paths;
use crate::provenance;
use crate::resolve::{Outcome, Outcomes, Resolved, Resolver, below};
use crate::sandbox::Level;
use crate::workplace::{FOLDERS, REQUEST};
use fs_err as fs;
use sim_model::action::InputDigest;
use sim_model::plan::PlannedInput;
use sim_model::request::{Member, MemberAction, PROTOCOL, Request, RequestInput};
use sim_model::{Digest, PlannedAction};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Above this many members a fan-in input is copied instead of linked: each link costs a mount.
const LINKED_MEMBERS: usize = 100;

/// A folder ready to run in.
pub(crate) struct ActionDir {
    pub(crate) path: PathBuf,
    /// Stored trees that the action must be able to read.
    pub(crate) stores: Vec<PathBuf>,
    /// Names of links to sources beside `in/`.
    pub(crate) names: Vec<OsString>,
}

/// A source that no longer is what its key says.
pub(crate) struct SourceChanged;

pub(crate) fn prepare(
    resolver: &Resolver<'_>,
    action: &PlannedAction,
    resolved: &Resolved,
    outcomes: &Outcomes,
    level: Level,
    verify: bool,
    path: &Path,
) -> Result<std::result::Result<ActionDir, SourceChanged>> {
    let mut dir = ActionDir { path: path.to_path_buf(), stores: Vec::new(), names: Vec::new() };
    let mut inputs = BTreeMap::new();
    let tells_more = action.inputs.values().any(|i| *i == PlannedInput::Provenance);
    for (name, input) in &action.inputs {
        let place = format!("in/{name}");
        let request = match input {
            PlannedInput::Source(source) => {
                let files = [(String::new(), resolver.source_path(source))];
                if !dir.snapshot(resolver, resolved, name, &files, level, verify)? {
                    return Ok(Err(SourceChanged));
                }
                dir.source_link(action, name, source)?;
                RequestInput::Tree { path: place }
            }
            PlannedInput::Glob(found) => {
                let base = &found.base;
                let files: Vec<(String, PathBuf)> = found
                    .files
                    .iter()
                    .map(|f| (below(base, f).to_owned(), resolver.source_path(f)))
                    .collect();
                if !dir.snapshot(resolver, resolved, name, &files, level, verify)? {
                    return Ok(Err(SourceChanged));
                }
                dir.source_link(action, name, base)?;
                RequestInput::Tree { path: place }
            }
            PlannedInput::Action { index, subpath } => {
                if let Some(tree) = outcomes.get(index).and_then(|o| o.output.as_ref()) {
                    let tree = resolver.store.tree_path(&tree.digest);
                    dir.link(&place, &tree, subpath.as_deref(), level)?;
                }
                RequestInput::Tree { path: place }
            }
            PlannedInput::Many(members) => {
                fs::create_dir(dir.path.join(&place))?;
                let copy = members.len() > LINKED_MEMBERS;
                let mut used = BTreeSet::new();
                let mut list = Vec::with_capacity(members.len());
                // By label: the order in a plan is not in the key, and two labels can want one name.
                let mut members: Vec<&usize> = members.iter().collect();
                members.sort_by_key(|i| &resolver.plan.actions[**i].label);
                for index in members {
                    let of = &resolver.plan.actions[*index];
                    let outcome = outcomes
                        .get(index)
                        .cloned()
                        .unwrap_or_else(|| Arc::new(Outcome::not_run(&of.label)));
                    let member_path = match &outcome.output {
                        Some(tree) => {
                            let place = format!("{place}/{}", file_name(&of.label, &mut used));
                            let tree = resolver.store.tree_path(&tree.digest);
                            if copy {
                                sim_store::tree::copy_all(&tree, &dir.path.join(&place))?;
                            } else {
                                dir.link(&place, &tree, None, level)?;
                            }
                            Some(place)
                        }
                        None => None,
                    };
                    list.push(Member {
                        label: of.label.clone(),
                        path: member_path,
                        outcome: outcome.word().to_owned(),
                        reason: outcome.reason.clone(),
                        action: tells_more.then(|| MemberAction {
                            kind: of.kind.clone(),
                            key: outcome.key,
                            repeat: of.repeat,
                            args: json_args(&of.args),
                        }),
                    });
                }
                RequestInput::Many { members: list }
            }
            PlannedInput::Provenance => {
                provenance::lay_out(resolver, action, outcomes, &dir.path.join(&place))?;
                RequestInput::Tree { path: place }
            }
        };
        inputs.insert(name.clone(), request);
    }
    let request = Request {
        protocol: PROTOCOL,
        kind: action.kind.clone(),
        label: action.label.clone(),
        args: json_args(&action.args),
        seed: action.seed,
        inputs,
        outputs: action.outputs.clone(),
        timeout_s: action.limits.timeout.as_secs_f64(),
    };
    let mut text = serde_json::to_vec_pretty(&request).map_err(std::io::Error::other)?;
    text.push(b'\n');
    fs::write(dir.path.join(REQUEST), text)?;
    // Declared outputs may lie in folders: those are there when the action starts.
    for output in &action.outputs {
        if let Some(parent) = Path::new(output).parent() {
            fs::create_dir_all(dir.path.join("out").join(parent))?;
        }
    }
    Ok(Ok(dir))
}

impl ActionDir {
    /// Takes a snapshot of sources into the store and links it; false when it is not what the key says.
    fn snapshot(
        &mut self,
        resolver: &Resolver<'_>,
        resolved: &Resolved,
        name: &str,
        files: &[(String, PathBuf)],
        level: Level,
        verify: bool,
    ) -> Result<bool> {
        let expected: Option<Digest> = match resolved.inputs.get(name) {
            Some(InputDigest::Tree(d) | InputDigest::Placed { tree: d, .. }) => Some(*d),
            _ => None,
        };
        // A snapshot that somebody changed is as good as none: it is taken anew.
        let mut known = match expected {
            Some(digest) if resolver.store.intact(&digest)? => Some(digest),
            _ => None,
        };
        if let (true, Some(digest)) = (verify, known) {
            match resolver.store.verified_tree(&digest) {
                Ok(_) => {}
                Err(sim_store::StoreError::Damaged { path, .. }) => {
                    resolver.store.quarantine(&path)?;
                    known = None;
                }
                Err(e) => return Err(e.into()),
            }
        }
        let digest = match known {
            Some(digest) => digest,
            None => resolver.store.snapshot(files)?.0.digest,
        };
        if Some(digest) != expected {
            return Ok(false);
        }
        let tree = resolver.store.tree_path(&digest);
        self.link(&format!("in/{name}"), &tree, None, level)?;
        Ok(true)
    }

    fn link(&mut self, place: &str, tree: &Path, sub: Option<&str>, level: Level) -> Result<()> {
        let mut target = level.inner_tree(tree);
        if let Some(sub) = sub {
            target = target.join(sub);
        }
        let link = self.path.join(place);
        std::os::unix::fs::symlink(&target, &link)
            .map_err(|e| std::io::Error::new(e.kind(), format!("{}: {e}", link.display())))?;
        if !self.stores.iter().any(|s| s == tree) {
            self.stores.push(tree.to_path_buf());
        }
        Ok(())
    }

    /// A source of a `command` is also found under its own name, so that
    /// `run = ["python3", "analyse.py"]` works as it does in the project's root.
    fn source_link(&mut self, action: &PlannedAction, name: &str, source: &str) -> Result<()> {
        let source = source.trim_matches('/');
        let reserved = [REQUEST, "status.json", "", "."];
        let first = source.split('/').next().unwrap_or_default();
        if action.argv.is_empty()
            || reserved.contains(&first)
            || FOLDERS.contains(&first)
            || source.contains("..")
        {
            return Ok(());
        }
        let link = self.path.join(source);
        if link.symlink_metadata().is_ok() {
            return Ok(());
        }
        let up = "../".repeat(source.matches('/').count());
        if let Some(parent) = link.parent() {
            // Two sources, one inside the other: the outer link is there already.
            if fs::create_dir_all(parent).is_err() {
                return Ok(());
            }
        }
        // Where it cannot be made, it is as above: reachable through the outer one.
        if std::os::unix::fs::symlink(format!("{up}in/{name}"), &link).is_ok() && up.is_empty() {
            self.names.push(source.into());
        }
        Ok(())
    }
}

fn json_args(args: &BTreeMap<String, sim_model::Value>) -> BTreeMap<String, serde_json::Value> {
    args.iter().map(|(k, v)| (k.clone(), v.to_json())).collect()
}

/// A label as a file name: `trial[mujoco]/box/r0` becomes `trial[mujoco].box.r0`.
fn file_name(label: &str, used: &mut BTreeSet<String>) -> String {
    let mut base: String =
        label.chars().map(|c| if c == '/' || c.is_control() { '.' } else { c }).collect();
    if base.len() > 200 {
        base = Digest::of(label.as_bytes()).short();
    }
    let mut name = base.clone();
    let mut n = 1;
    while !used.insert(name.clone()) {
        n += 1;
        name = format!("{base}~{n}");
    }
    name
}

/// The command line of a `command`, with placeholders filled in; paths are relative to the folder.
pub(crate) fn expand_argv(action: &PlannedAction) -> Vec<String> {
    let threads = action.args.get("threads").and_then(sim_model::Value::as_int).unwrap_or(1);
    let lookup = |name: &str| match name {
        "out" => Some("out".to_owned()),
        "threads" => Some(threads.to_string()),
        "seed" => Some(action.seed.to_string()),
        _ => {
            let input = name.strip_prefix("inputs.")?;
            action.inputs.contains_key(input).then(|| format!("in/{input}"))
        }
    };
    action.argv.iter().map(|word| sim_model::template::fill_in(word, lookup)).collect()
}

/// Variables that a network action needs to reach registries through this host's settings. They do
/// not enter the key: what such an action fetches is checked against a pinned digest.
fn host_network_env() -> Vec<(OsString, OsString)> {
    let wanted = |name: &str| {
        let lower = name.to_ascii_lowercase();
        lower.ends_with("_proxy")
            || ["SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"]
                .contains(&name)
            || ["pip_", "cargo_http_", "cargo_net_", "cargo_registries_", "cargo_source_"]
                .iter()
                .any(|p| lower.starts_with(p))
            || lower.starts_with("npm_config_")
    };
    std::env::vars_os().filter(|(k, _)| k.to_str().is_some_and(wanted)).collect()
}

/// Settings of registries that a network action may use, copied into its home.
pub(crate) fn copy_host_settings(home: &Path) -> Result<()> {
    let Some(host) = std::env::var_os("HOME").map(PathBuf::from) else { return Ok(()) };
    for file in [".cargo/config.toml", ".config/pip/pip.conf", ".pip/pip.conf", ".npmrc", ".netrc"]
    {
        let from = host.join(file);
        if from.is_file() {
            let to = home.join(file);
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::copy(from, to)?;
        }
    }
    Ok(())
}

/// The whole environment of an action. `inner` is its folder as it sees it.
pub(crate) fn environment(
    action: &PlannedAction,
    path_var: &str,
    inner: &Path,
) -> Vec<(OsString, OsString)> {
    let threads = action.args.get("threads").and_then(sim_model::Value::as_int).unwrap_or(1);
    let mut env: BTreeMap<OsString, OsString> = BTreeMap::new();
    if action.network {
        env.extend(host_network_env());
    }
    let mut set = |k: &str, v: OsString| {
        env.insert(k.into(), v);
    };
    set("PATH", path_var.into());
    set("HOME", inner.join("home").into());
    set("TMPDIR", inner.join("tmp").into());
    set("LANG", "C.UTF-8".into());
    set("LC_ALL", "C.UTF-8".into());
    set("TZ", "UTC".into());
    // 1980-01-01: the earliest time that every archive format can say.
    set("SOURCE_DATE_EPOCH", "315532800".into());
    set("PYTHONHASHSEED", "0".into());
    set("PYTHONDONTWRITEBYTECODE", "1".into());
    for var in ["RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"] {
        set(var, threads.to_string().into());
    }
    if let Some(rustup) = host_paths::rustup_home() {
        set("RUSTUP_HOME", rustup.into());
    }
    env.extend(action.env.iter().map(|(k, v)| (k.into(), v.into())));
    env.into_iter().collect()
}
