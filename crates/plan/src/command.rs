//! The kind `command`: a user's own program, run without a shell.

use sim_model::action::Class;
use sim_model::kind::{
    Cell, Draft, DraftInput, ExpandCtx, InputSpec, Kind, Param, ParamType, Place, Problem,
};
use sim_model::plan::Origin;

/// The kind `command`. The executor runs `run` itself, so there is no stage program whose source
/// could change: the fingerprint is a version of what the planner and the executor agree on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Command;

const PARAMS: &[Param] = &[
    Param {
        name: "run",
        ty: ParamType::StrList,
        required: true,
        doc: "The program and its arguments, run directly, without a shell. Placeholders: `{out}`, \
              `{inputs.NAME}`, `{threads}`, `{seed}` and the names of the matrix.",
    },
    Param {
        name: "outputs",
        ty: ParamType::StrList,
        required: false,
        doc: "Files and folders the program must leave below `{out}`, and nothing else. Default: \
              whatever it leaves there.",
    },
    Param {
        name: "class",
        ty: ParamType::Enum(&["pure", "machine", "measured"]),
        required: false,
        doc: "What a result promises: `pure`, the same bytes anywhere; `machine`, the same bytes on \
              machines of one class; `measured`, an observation of this machine. Default: `pure`.",
    },
    Param {
        name: "repeats",
        ty: ParamType::Int { min: 1, max: 10_000 },
        required: false,
        doc: "How often a `measured` command is run; each run is an action of its own. Default: 1.",
    },
    Param {
        name: "threads",
        ty: ParamType::Int { min: 1, max: 65_536 },
        required: false,
        doc: "How many threads the command uses: the value of `{threads}`. Default: 1.",
    },
    Param {
        name: "tools",
        ty: ParamType::StrList,
        required: false,
        doc: "Further programs that the program starts: what they are enters the key, as it does for \
              the program itself. Default: none.",
    },
    Param {
        name: "network",
        ty: ParamType::Bool,
        required: false,
        doc: "Whether the program may reach the network. Only `false`, the default, is accepted: \
              what is fetched must be pinned by its hash, which stages of kind `fetch` do.",
    },
];

const INPUTS: &[InputSpec] = &[InputSpec {
    name: "*",
    required: false,
    many: true,
    doc: "A file, a folder, a pattern, or what stages made; the program finds it at `{inputs.NAME}`.",
}];

fn problem(param: &str, message: &str, hint: &str) -> Problem {
    Problem {
        place: Place::Param(param.to_owned()),
        message: message.to_owned(),
        hint: Some(hint.to_owned()),
    }
}

impl Kind for Command {
    fn name(&self) -> &'static str {
        "command"
    }

    fn summary(&self) -> &'static str {
        "Runs a program of your own on declared inputs."
    }

    fn class(&self) -> Class {
        Class::Pure
    }

    fn fingerprint(&self) -> &'static str {
        "0000000000000000000000000000000000000000000000000000000000000001"
    }

    fn params(&self) -> &'static [Param] {
        PARAMS
    }

    fn inputs(&self) -> &'static [InputSpec] {
        INPUTS
    }

    fn expand(&self, cell: &Cell, _: &mut dyn ExpandCtx) -> Result<Vec<Draft>, Vec<Problem>> {
        let mut problems = Vec::new();
        let class = match cell.params.get("class").and_then(|v| v.as_str()) {
            Some("machine") => Class::Machine,
            Some("measured") => Class::Measured,
            _ => Class::Pure,
        };
        let repeats = cell.params.get("repeats").and_then(|v| v.as_int());
        if repeats.is_some() && class != Class::Measured {
            problems.push(problem(
                "repeats",
                "`repeats` needs `class = \"measured\"`",
                "the result of any other class is the same each time: leave `repeats` out",
            ));
        }
        if cell.params.get("network").and_then(|v| v.as_bool()) == Some(true) {
            problems.push(problem(
                "network",
                "a command can't have the network",
                "fetch in a stage of kind `fetch`, which checks a pinned hash, and take its output \
                 as an input",
            ));
        }
        problems.extend(program(&cell.run));
        if !problems.is_empty() {
            return Err(problems);
        }
        let repeats = u32::try_from(repeats.unwrap_or(1)).unwrap_or(1);
        Ok((0..repeats).map(|repeat| draft(cell, class, repeats, repeat)).collect())
    }
}

/// What is wrong with the program's name.
fn program(run: &[String]) -> Option<Problem> {
    let Some(first) = run.first() else {
        return Some(problem("run", "the command line is empty", "name a program first"));
    };
    if first.is_empty() {
        return Some(problem("run", "the program's name is empty", "name a program first"));
    }
    None
}

fn draft(cell: &Cell, class: Class, repeats: u32, repeat: u32) -> Draft {
    let mut draft = Draft::new("command", class);
    if repeats > 1 {
        draft.suffix = format!("r{repeat}");
    }
    draft.argv.clone_from(&cell.run);
    draft.outputs.clone_from(&cell.outputs);
    draft.seed = cell.seed;
    draft.repeat = repeat;
    draft.order = u64::from(repeat);
    draft.timeout = cell.timeout;
    // The identity of a program found on the search path is part of the question.
    let outside = |p: &&String| !p.contains('{') && (p.starts_with('/') || !p.contains('/'));
    draft.tools = cell.run.first().filter(outside).cloned().into_iter().collect();
    let further = cell.params.get("tools").and_then(|v| v.as_list()).unwrap_or_default();
    draft.tools.extend(further.iter().filter_map(|v| v.as_str()).map(str::to_owned));
    draft.tools.sort();
    draft.tools.dedup();
    if let Some(threads) = cell.params.get("threads") {
        draft.args.insert("threads".to_owned(), threads.clone());
    }
    for name in &cell.inputs {
        draft.inputs.insert(name.clone(), DraftInput::Declared(name.clone()));
    }
    for name in ["run", "outputs"] {
        let origin = cell.origins.get(name).cloned().unwrap_or(Origin::Default);
        if name == "run" || cell.origins.contains_key(name) {
            draft.origins.insert(name.to_owned(), origin);
        }
    }
    draft
}
