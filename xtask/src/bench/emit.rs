//! One graph, written for one tool: a function each.
//!
//! All but sim-pipe and nix work in place: sources below `src/`, the output of an action in `o/ID`.

use super::graph::{Action, Graph, Input};
use super::tool::Job;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// What an emitter gives: names of files and their text.
pub(super) type Files = Vec<(&'static str, String)>;

/// Where an action's output is, for tools that work in place.
pub(super) fn out(action: &Action) -> String {
    format!("o/{}", action.id)
}

/// Paths of what an action takes.
fn inputs(graph: &Graph, action: &Action) -> Vec<String> {
    let path = |input: &Input| match input {
        Input::Source(s) => format!("src/{s}"),
        Input::Action(k) => out(&graph.actions[*k]),
    };
    action.inputs.iter().map(path).collect()
}

/// Names of the actions that an action takes.
fn needs<'a>(graph: &'a Graph, action: &'a Action) -> impl Iterator<Item = &'a str> {
    action.inputs.iter().filter_map(|input| match input {
        Input::Action(k) => Some(graph.actions[*k].id.as_str()),
        Input::Source(_) => None,
    })
}

fn leaves(graph: &Graph) -> impl Iterator<Item = &Action> {
    graph.leaves().into_iter().map(|i| &graph.actions[i])
}

/// The command line with paths in place.
fn command(job: &Job<'_>, action: &Action) -> String {
    action.command(&inputs(job.graph, action).join(" "), &out(action), job.trace.as_deref())
}

pub(super) fn ninja(job: &Job<'_>) -> Files {
    let mut text = String::from("rule r\n  command = $cmd\n\n");
    for action in &job.graph.actions {
        let words = inputs(job.graph, action).join(" ");
        let _ =
            write!(text, "build {}: r {words}\n  cmd = {}\n", out(action), command(job, action));
    }
    vec![("build.ninja", text)]
}

pub(super) fn make(job: &Job<'_>) -> Files {
    let all = leaves(job.graph).map(out).collect::<Vec<_>>().join(" ");
    let mut text = format!(".PHONY: all\nall: {all}\n");
    for action in &job.graph.actions {
        let words = inputs(job.graph, action).join(" ");
        let _ = write!(text, "{}: {words}\n\t@{}\n", out(action), command(job, action));
    }
    vec![("Makefile", text)]
}

pub(super) fn tup(job: &Job<'_>) -> Files {
    let mut text = String::new();
    for action in &job.graph.actions {
        let words = inputs(job.graph, action).join(" ");
        let _ = writeln!(text, ": {words} |> {} |> {}", command(job, action), out(action));
    }
    vec![("Tupfile", text)]
}

/// The graph as JSON, for tools whose build file is a Python program.
fn spec(job: &Job<'_>) -> (&'static str, String) {
    let graph = job.graph;
    let actions: Vec<Value> = graph
        .actions
        .iter()
        .map(
            |a| json!({"id": a.id, "ins": inputs(graph, a), "out": out(a), "cmd": command(job, a)}),
        )
        .collect();
    let leaves: Vec<String> = leaves(graph).map(out).collect();
    let sources: Vec<String> = graph.sources.keys().map(|s| format!("src/{s}")).collect();
    let all = json!({"actions": actions, "leaves": leaves, "sources": sources});
    ("spec.json", all.to_string())
}

pub(super) fn doit(job: &Job<'_>) -> Files {
    let text = "\
import json
def task_a():
    for a in json.load(open('spec.json'))['actions']:
        yield {'name': a['id'], 'actions': [a['cmd']], 'file_dep': a['ins'], 'targets': [a['out']]}
";
    vec![spec(job), ("dodo.py", text.to_owned())]
}

pub(super) fn scons(job: &Job<'_>) -> Files {
    let text = "\
import json, os
env = Environment(ENV={'PATH': os.environ['PATH']})
for a in json.load(open('spec.json'))['actions']:
    env.Command(a['out'], a['ins'], a['cmd'])
";
    vec![spec(job), ("SConstruct", text.to_owned())]
}

pub(super) fn snakemake(job: &Job<'_>) -> Files {
    let text = "\
import json
SPEC = json.load(open('spec.json'))
BY_ID = {a['id']: a for a in SPEC['actions']}
rule all:
    input: SPEC['leaves']
rule action:
    output: 'o/{id}'
    input: lambda w: BY_ID[w.id]['ins']
    params: cmd=lambda w: BY_ID[w.id]['cmd']
    shell: '{params.cmd}'
";
    vec![spec(job), ("Snakefile", text.to_owned())]
}

pub(super) fn redun(job: &Job<'_>) -> Files {
    let text = "\
import json, subprocess
from redun import task, File
redun_namespace = 'bench'
@task()
def action(id: str, cmd: str, ins: list, out: str) -> File:
    subprocess.run(['sh', '-c', cmd], check=True)
    return File(out)
@task(cache=False)
def main():
    spec = json.load(open('spec.json'))
    at = {p: File(p) for p in spec['sources']}
    for a in spec['actions']:
        at[a['out']] = action(a['id'], a['cmd'], [at[i] for i in a['ins']], a['out'])
    return [at[o] for o in spec['leaves']]
";
    let ini = format!(
        "[backend]\ndb_uri = sqlite:///redun.db\n[executors.default]\ntype = local\n\
         max_workers = {}\nmode = thread\n",
        job.jobs
    );
    vec![spec(job), ("workflow.py", text.to_owned()), (".redun/redun.ini", ini)]
}

/// JSON is YAML.
pub(super) fn dvc(job: &Job<'_>) -> Files {
    let stage = |a: &Action| {
        let what = json!({"cmd": command(job, a), "deps": inputs(job.graph, a), "outs": [out(a)]});
        (a.id.clone(), what)
    };
    let stages: serde_json::Map<String, Value> = job.graph.actions.iter().map(stage).collect();
    vec![("dvc.yaml", json!({"stages": stages}).to_string())]
}

pub(super) fn go_task(job: &Job<'_>) -> Files {
    let mut tasks = serde_json::Map::new();
    let all: Vec<&str> = leaves(job.graph).map(|a| a.id.as_str()).collect();
    tasks.insert("all".to_owned(), json!({"deps": all}));
    for action in &job.graph.actions {
        let task = json!({
            "run": "once", "deps": needs(job.graph, action).collect::<Vec<_>>(),
            "cmds": [command(job, action)],
            "sources": inputs(job.graph, action), "generates": [out(action)],
        });
        tasks.insert(action.id.clone(), task);
    }
    vec![("Taskfile.yml", json!({"version": "3", "tasks": tasks}).to_string())]
}

pub(super) fn moon(job: &Job<'_>) -> Files {
    let deps = |ids: Vec<&str>| ids.iter().map(|id| format!("~:{id}")).collect::<Vec<_>>();
    let mut tasks = serde_json::Map::new();
    for action in &job.graph.actions {
        let line = Value::from(command(job, action)).to_string();
        let task = json!({
            "command": format!("sh -c {line}"), "inputs": inputs(job.graph, action),
            "outputs": [out(action)], "deps": deps(needs(job.graph, action).collect()),
        });
        tasks.insert(action.id.clone(), task);
    }
    let all = leaves(job.graph).map(|a| a.id.as_str()).collect();
    tasks.insert("all".to_owned(), json!({"command": "noop", "deps": deps(all)}));
    vec![
        (".moon/workspace.yml", "projects:\n  p: '.'\n".to_owned()),
        ("moon.yml", json!({"tasks": tasks}).to_string()),
    ]
}

/// With `by_content`, derivations are named by what they gave, which allows early cutoff.
pub(super) fn nix(job: &Job<'_>, by_content: bool) -> Files {
    let extra = if by_content {
        "__contentAddressed = true; outputHashMode = \"recursive\"; outputHashAlgo = \"sha256\";"
    } else {
        ""
    };
    let mut text = format!(
        "let\n  mk = name: cmd: derivation {{ inherit name; system = builtins.currentSystem;\n    \
         builder = \"/bin/sh\"; args = [ \"-c\" cmd ]; PATH = \"/usr/bin:/bin\"; {extra} }};\n"
    );
    for action in &job.graph.actions {
        let words = action.inputs.iter().map(|input| match input {
            Input::Source(s) => format!("${{./src/{s}}}"),
            Input::Action(k) => format!("${{{}}}", job.graph.actions[*k].id),
        });
        let words = words.collect::<Vec<_>>().join(" ");
        let line = action.command(&words, "$out", job.trace.as_deref()).replace('"', "\\\"");
        let _ = writeln!(text, "  {id} = mk \"{id}\" \"{line}\";", id = action.id);
    }
    let all = leaves(job.graph).map(|a| a.id.as_str()).collect::<Vec<_>>().join(" ");
    let _ = writeln!(text, "in [ {all} ]");
    vec![("default.nix", text)]
}

pub(super) fn sim_pipe(job: &Job<'_>) -> Files {
    let mut text = format!("[pipeline]\nname = \"{}\"\n", job.graph.name);
    for action in &job.graph.actions {
        let (mut words, mut lines) = (Vec::new(), String::new());
        for (letter, input) in ('a'..).zip(&action.inputs) {
            match input {
                Input::Source(s) => {
                    words.push(format!("in/{letter}"));
                    let _ = writeln!(lines, "inputs.{letter} = \"src/{s}\"");
                }
                Input::Action(k) => {
                    words.push(format!("in/{letter}/o"));
                    let _ = writeln!(lines, "inputs.{letter} = \"{}\"", job.graph.actions[*k].id);
                }
            }
        }
        let line = action.command(&words.join(" "), "out/o", job.trace.as_deref());
        let _ = write!(
            text,
            "\n[[stage]]\nname = \"{}\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", {}]\n\
             outputs = [\"o\"]\n{lines}",
            action.id,
            Value::from(line)
        );
    }
    vec![("pipeline.toml", text)]
}
