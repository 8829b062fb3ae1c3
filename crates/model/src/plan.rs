//! The expanded graph: what a pipeline file means, before anything is hashed or run.

use crate::action::Class;
use crate::units::MemoryLimit;
use crate::value::Value;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Where a value came from, for `explain` and diagnostics.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Written in a file.
    At {
        /// Path relative to the project's root, with `/`. Shared: there are many origins and few files.
        file: Arc<str>,
        /// 1-based line.
        line: u32,
        /// 1-based column, in characters.
        column: u32,
    },
    /// The kind's default.
    Default,
    /// Computed by the kind from other values (what, in words).
    Derived(String),
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::At { file, line, column } => write!(f, "{file}:{line}:{column}"),
            Self::Default => f.write_str("default"),
            Self::Derived(what) => f.write_str(what),
        }
    }
}

/// Limits on one action. They are not in the key: a result that was reached within a limit does not
/// depend on it, and one that was not is never reused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Wall-clock timeout.
    pub timeout: Duration,
    /// Cap on the memory of the whole tree of processes.
    pub memory: MemoryLimit,
}

impl Default for Limits {
    /// 120 s and 56.25 % of RAM (P153, P154, P280).
    fn default() -> Self {
        Self { timeout: Duration::from_secs(120), memory: MemoryLimit::Share(0.5625) }
    }
}

/// An input of a planned action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlannedInput {
    /// A file or folder of the project, by path relative to its root.
    Source(String),
    /// Files of the project that a glob matched when the plan was made, as (path below the glob's
    /// fixed part, path relative to the root), sorted.
    Glob(Box<GlobFiles>),
    /// What another action made.
    Action {
        /// Index into [`Plan::actions`].
        index: usize,
        /// A file or folder within its output; the whole output when absent.
        subpath: Option<String>,
    },
    /// What several actions made, by label; failed ones included with their outcome.
    Many(Vec<usize>),
    /// Records and logs of every action that this one depends on, directly or not.
    Provenance,
}

/// Files that a glob matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobFiles {
    /// The pattern.
    pub pattern: String,
    /// The fixed part of the pattern: the folder the relative names start from.
    pub base: String,
    /// GlobFiles files, relative to the root, sorted.
    pub files: Vec<String>,
}

/// Origins by dotted name, sorted: a plan holds them for every action, and few are ever asked for.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Origins(Box<[(Box<str>, Origin)]>);

impl From<BTreeMap<String, Origin>> for Origins {
    fn from(map: BTreeMap<String, Origin>) -> Self {
        Self(map.into_iter().map(|(name, origin)| (name.into_boxed_str(), origin)).collect())
    }
}

impl Origins {
    /// The origin of a name.
    pub fn get(&self, name: &str) -> Option<&Origin> {
        let at = self.0.binary_search_by(|(n, _)| (**n).cmp(name)).ok()?;
        self.0.get(at).map(|(_, origin)| origin)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Origin)> {
        self.0.iter().map(|(name, origin)| (&**name, origin))
    }
}

/// Measured actions of which one asks for no less than another: where one meets a limit, a larger one
/// would meet it too (P147 to P151). Components are those of the key, each with all below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// What a user calls the action and its repeats, such as `mujoco:box_pile:1000:1`.
    pub case: String,
    /// Components that all members have in common.
    pub same: &'static [&'static str],
    /// Components that decide how long a member takes, beside those.
    pub pace: &'static [&'static str],
    /// Components that are counts. One member asks for no less than another where none of its counts
    /// is smaller; the plan's order must be ascending in that sense.
    pub grows: &'static [&'static str],
    /// Whether a run leaves out what asks for no less, once a member met a limit in it.
    pub ends_at_limit: bool,
}

/// One action of the plan. Its key is known once its inputs are.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedAction {
    /// Unique name: `STAGE[CELL]/SUFFIX`.
    pub label: String,
    /// Stage that asked for it first.
    pub stage: String,
    /// Stage kind.
    pub kind: String,
    /// Fingerprint of the kind's source closure.
    pub fingerprint: String,
    /// Promise.
    pub class: Class,
    /// Arguments after defaults.
    pub args: BTreeMap<String, Value>,
    /// Origin of each argument and input: `args.steps`, `inputs.engine`, `run`, `seed`.
    pub origins: Origins,
    /// Command line of a `command` action, with `{out}`, `{inputs.NAME}` and `{threads}` unexpanded;
    /// empty for kinds that are compiled in.
    pub argv: Vec<String>,
    /// Seed.
    pub seed: u64,
    /// Repeat index of a measured action.
    pub repeat: u32,
    /// Inputs by name.
    pub inputs: BTreeMap<String, PlannedInput>,
    /// Declared outputs; empty means "whatever is in out/".
    pub outputs: Vec<String>,
    /// Environment beyond the fixed one.
    pub env: BTreeMap<String, String>,
    /// Outside tools whose identity enters the key.
    pub tools: Vec<String>,
    /// Whether it may reach the network.
    pub network: bool,
    /// Limits.
    pub limits: Limits,
    /// Actions that must have ended `ok` before this one starts, though their outputs are not used.
    pub after: Vec<usize>,
    /// Position among measured actions: they run in ascending order of this number.
    pub order: u64,
    /// Whether `STAGE[*]` selects it.
    pub export: bool,
    /// The series that it belongs to. Not in the key.
    pub series: Option<Box<Series>>,
    /// Why whoever runs the plan leaves it out (`--skip-case`). Not in the key: it has no result.
    pub skip: Option<Box<str>>,
}

/// A stage, for listings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageInfo {
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: String,
    /// Where it is declared.
    pub origin: Origin,
}

/// The whole plan. Actions are in an order in which every action comes after those it depends on.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Plan {
    /// `pipeline.name`: a slug; names the root in the store and the folder of a checked-out site.
    pub name: String,
    /// `pipeline.title`, for people.
    pub title: String,
    /// Stages in file order.
    pub stages: Vec<StageInfo>,
    /// Actions in topological order.
    pub actions: Vec<PlannedAction>,
}

impl PlannedAction {
    /// Indices of the actions whose outputs this one uses, [`PlannedInput::Provenance`] not counted.
    pub fn dependencies(&self) -> impl Iterator<Item = usize> + '_ {
        self.inputs.values().flat_map(|input| {
            let (one, many): (Option<usize>, &[usize]) = match input {
                PlannedInput::Action { index, .. } => (Some(*index), &[]),
                PlannedInput::Many(v) => (None, v),
                PlannedInput::Source(_) | PlannedInput::Glob(_) | PlannedInput::Provenance => {
                    (None, &[])
                }
            };
            one.into_iter().chain(many.iter().copied())
        })
    }
}
