//! The planning side of a stage kind: what parameters and inputs it takes, and into which actions
//! one stage expands. Pure: a kind sees files only through [`ExpandCtx`].

use crate::action::Class;
use crate::plan::{Origin, Series};
use crate::value::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;

/// The type of a parameter, for checking and for the JSON schema.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamType {
    /// A boolean.
    Bool,
    /// An integer within bounds.
    Int {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: i64,
    },
    /// A finite number.
    Float,
    /// A text.
    Str,
    /// One of these words.
    Enum(&'static [&'static str]),
    /// A path relative to the project's root; must exist.
    Path,
    /// A list of texts.
    StrList,
    /// A list of these words.
    EnumList(&'static [&'static str]),
    /// A table of anything.
    Table,
}

/// One parameter of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Name in the stage's table.
    pub name: &'static str,
    /// Type.
    pub ty: ParamType,
    /// Whether it must be given.
    pub required: bool,
    /// What it means, one sentence, with its unit and default.
    pub doc: &'static str,
}

/// One named input of a kind.
#[derive(Clone, Copy, Debug)]
pub struct InputSpec {
    /// Name below `inputs.`; `*` stands for any name.
    pub name: &'static str,
    /// Whether it must be given.
    pub required: bool,
    /// Whether it takes a list of actions (`STAGE[*]`).
    pub many: bool,
    /// What it means.
    pub doc: &'static str,
}

/// One matrix cell of a stage, checked against the kind's parameters.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Stage name.
    pub stage: String,
    /// `STAGE` or `STAGE[CELL]`.
    pub label: String,
    /// The pipeline's title. It may enter an action's arguments only where people read it.
    pub pipeline_title: String,
    /// The pipeline's file, relative to the project's root. As with the title.
    pub pipeline_file: String,
    /// Parameters as given, matrix placeholders filled in. Defaults are the kind's business.
    pub params: BTreeMap<String, Value>,
    /// Origins of `params`, by parameter name.
    pub origins: BTreeMap<String, Origin>,
    /// Matrix bindings, as text.
    pub bindings: BTreeMap<String, Value>,
    /// Names declared below `inputs.`.
    pub inputs: BTreeSet<String>,
    /// `run`, for the `command` kind.
    pub run: Vec<String>,
    /// `outputs`, as declared.
    pub outputs: Vec<String>,
    /// Seed in force.
    pub seed: u64,
    /// Timeout in force, if any file sets one.
    pub timeout: Option<Duration>,
}

/// What a kind may see while it expands a stage.
pub trait ExpandCtx {
    /// The text of a file, by path relative to the project's root. The error is a sentence.
    fn read(&mut self, path: &str) -> Result<String, String>;
    /// Whether a file or folder is there.
    fn exists(&self, path: &str) -> bool;
    /// Logical processors of this machine.
    fn cpus(&self) -> u32;
    /// The origin of a byte offset in a file that was read through [`ExpandCtx::read`].
    fn origin(&self, path: &str, offset: usize) -> Origin;
}

/// Where a problem is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A parameter of the stage, by name.
    Param(String),
    /// An input of the stage, by name.
    Input(String),
    /// The stage as a whole.
    Stage,
    /// A range of bytes in a file that was read through [`ExpandCtx::read`].
    File {
        /// Path relative to the project's root.
        path: String,
        /// Byte range.
        span: Range<usize>,
    },
}

/// Something wrong with a stage, found by its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// What, as a sentence fragment that names the value.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// An input of a drafted action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DraftInput {
    /// The stage's own input of this name, as declared in the pipeline.
    Declared(String),
    /// A file or folder of the project.
    Source(String),
    /// The output of another draft of the same expansion.
    Draft {
        /// Index into the list being returned.
        index: usize,
        /// Part of its output; the whole when absent.
        subpath: Option<String>,
    },
    /// Records and logs of everything this action depends on.
    Provenance,
}

/// An action as its kind drafts it; the planner numbers it, resolves its inputs and checks it.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Name within the cell (`box_pile/100x1/r0/timed`); empty for the cell's only action.
    pub suffix: String,
    /// Kind that runs it, often another than the one that drafts it.
    pub kind: &'static str,
    /// Promise.
    pub class: Class,
    /// Arguments after defaults.
    pub args: BTreeMap<String, Value>,
    /// Origins, keyed `args.NAME` (or deeper: `args.gates.floor_penetration_m`).
    pub origins: BTreeMap<String, Origin>,
    /// Command line, for `command`.
    pub argv: Vec<String>,
    /// Inputs.
    pub inputs: BTreeMap<String, DraftInput>,
    /// Declared outputs; empty means "whatever is in out/".
    pub outputs: Vec<String>,
    /// Seed.
    pub seed: u64,
    /// Repeat index, for measured actions.
    pub repeat: u32,
    /// Drafts that must have ended `ok` first.
    pub after: Vec<usize>,
    /// Position among measured actions.
    pub order: u64,
    /// Whether `STAGE[*]` selects it.
    pub export: bool,
    /// A full label under which equal drafts of other cells and stages are one action.
    pub shared: Option<String>,
    /// Outside tools whose identity enters the key.
    pub tools: Vec<String>,
    /// Environment beyond the fixed one.
    pub env: BTreeMap<String, String>,
    /// Whether it may reach the network.
    pub network: bool,
    /// Timeout; the stage's or the default where absent.
    pub timeout: Option<Duration>,
    /// Series of growing measured actions that it belongs to.
    pub series: Option<Box<Series>>,
}

impl Draft {
    /// A draft with nothing but a kind and a class.
    pub fn new(kind: &'static str, class: Class) -> Self {
        Self {
            suffix: String::new(),
            kind,
            class,
            args: BTreeMap::new(),
            origins: BTreeMap::new(),
            argv: Vec::new(),
            inputs: BTreeMap::new(),
            outputs: Vec::new(),
            seed: 0,
            repeat: 0,
            after: Vec::new(),
            order: 0,
            export: true,
            shared: None,
            tools: Vec::new(),
            env: BTreeMap::new(),
            network: false,
            timeout: None,
            series: None,
        }
    }
}

/// The planning side of a stage kind.
pub trait Kind: Send + Sync {
    /// Name in pipeline files.
    fn name(&self) -> &'static str;
    /// What it does, one sentence.
    fn summary(&self) -> &'static str;
    /// Class unless the stage says otherwise.
    fn class(&self) -> Class;
    /// Fingerprint of the source closure of the crate that runs it, 64 hexadecimal digits.
    fn fingerprint(&self) -> &'static str;
    /// Parameters.
    fn params(&self) -> &'static [Param];
    /// Inputs.
    fn inputs(&self) -> &'static [InputSpec];
    /// Whether a pipeline may name it; false for kinds that only other kinds draft.
    fn public(&self) -> bool {
        true
    }
    /// The actions of one matrix cell.
    fn expand(&self, cell: &Cell, ctx: &mut dyn ExpandCtx) -> Result<Vec<Draft>, Vec<Problem>>;
}
