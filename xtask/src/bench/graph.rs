//! The neutral form of a graph of tiny actions: what each takes, what it does, and what must come out.
//!
//! A graph knows no tool. [`super::emit`] writes it for each of them, and [`Graph::expected`]
//! computes every output without any.

use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What an action takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// A file below `src/`.
    Source(String),
    /// The output of an action, by its place.
    Action(usize),
}

/// What an action does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// The digest of its name and its inputs.
    Hash,
    /// The same, the output written in two halves 50 ms apart, so that a kill finds it half done.
    Slow,
    /// Its input without comment lines.
    Strip,
    /// The digest of its input.
    Sum,
    /// Reads its input, waits two seconds, then writes its output: time to edit the input.
    Wait,
    /// Ends well and writes nothing.
    Nothing,
    /// Starts a child in the background, and both sleep: `sleep 61.ID` and `sleep 62.ID`.
    Hang(u32),
}

/// One action: a command line for `sh`.
#[derive(Clone, Debug)]
pub(super) struct Action {
    pub(super) id: String,
    pub(super) inputs: Vec<Input>,
    pub(super) body: Body,
    /// Put before the command, to change its text and nothing else.
    pub(super) before: &'static str,
}

impl Action {
    fn new(id: impl Into<String>, inputs: Vec<Input>, body: Body) -> Self {
        Self { id: id.into(), inputs, body, before: "" }
    }

    /// The command line, with the paths that a tool gives inputs and output. With a trace, a file
    /// gets a line when the action begins and one when it has ended.
    pub(super) fn command(&self, inputs: &str, out: &str, trace: Option<&str>) -> String {
        let id = &self.id;
        let hash = format!("(echo {id}; cat {inputs}) | sha256sum");
        let body = match &self.body {
            Body::Hash => format!("{hash} > {out}"),
            Body::Slow => format!("printf A > {out}; sleep 0.05; {hash} >> {out}"),
            Body::Strip => format!("grep -v '^#' {inputs} > {out}"),
            Body::Sum => format!("sha256sum < {inputs} > {out}"),
            Body::Wait => {
                format!("cp {inputs} {out}.tmp && sleep 2 && cat {out}.tmp > {out} && rm {out}.tmp")
            }
            Body::Nothing => format!("true {inputs}"),
            Body::Hang(n) => format!("sleep 61.{n} & sleep 62.{n}; cp {inputs} {out}"),
        };
        let before = self.before;
        match trace {
            None => format!("{before}{body}"),
            Some(t) => format!("{before}echo S {id} >> {t}; {body} && echo E {id} >> {t}"),
        }
    }
}

/// The shape of a graph that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Each action takes the one before.
    Chain,
    /// Layers of a hundred actions (fewer in small graphs), each taking three of the layer before.
    Layers,
    /// No action takes another.
    Wide,
}

impl Shape {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::Layers => "layers",
            Self::Wide => "wide",
        }
    }
}

/// A graph; an action comes after all that it takes.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    pub(super) name: String,
    pub(super) actions: Vec<Action>,
    pub(super) sources: BTreeMap<String, String>,
    /// The source that is changed.
    pub(super) late: String,
    /// How many actions it reaches.
    pub(super) reached: usize,
}

impl Graph {
    /// One source late in the graph reaches one in a hundred actions.
    pub(super) fn new(shape: Shape, n: usize, body: &Body) -> Self {
        let source = |name: &str| Input::Source(name.to_owned());
        let few = (n / 100).max(1);
        let (mut actions, mut sources, mut reached) = (Vec::with_capacity(n), Vec::new(), few);
        let mut late = "late".to_owned();
        match shape {
            Shape::Chain => {
                sources = vec!["first".to_owned(), late.clone()];
                for i in 0..n {
                    let mut inputs =
                        vec![if i == 0 { source("first") } else { Input::Action(i - 1) }];
                    if i == n - few {
                        inputs.push(source("late"));
                    }
                    actions.push(inputs);
                }
            }
            Shape::Layers => {
                let width = [(10_000, 100), (1_000, 50), (0, 20)];
                let width = width.iter().find(|(least, _)| n >= *least).map_or(20, |w| w.1);
                let layers = n / width;
                // A triangle of this height reaches its square.
                let height = few.isqrt().max(1);
                reached = height * height;
                sources.extend((0..10).map(|i| format!("s{i}")));
                sources.push(late.clone());
                for layer in 0..layers {
                    for place in 0..width {
                        let mut inputs: Vec<Input> = (0..3)
                            .map(|d| match layer {
                                0 => Input::Source(format!("s{}", (place + d) % 10)),
                                _ => Input::Action(
                                    (layer - 1) * width + (place + d + width - 1) % width,
                                ),
                            })
                            .collect();
                        if layer == layers - height && place == width / 2 {
                            inputs.push(source("late"));
                        }
                        actions.push(inputs);
                    }
                }
            }
            Shape::Wide => {
                sources.extend((0..n.div_ceil(few)).map(|i| format!("g{i}")));
                late = sources[sources.len() / 2].clone();
                actions.extend((0..n).map(|i| vec![Input::Source(format!("g{}", i / few))]));
            }
        }
        let actions = actions
            .into_iter()
            .enumerate()
            .map(|(i, inputs)| Action::new(format!("a{i}"), inputs, body.clone()))
            .collect();
        let sources = sources.into_iter().map(|s| (s.clone(), format!("{s}\n"))).collect();
        Self { name: shape.name().to_owned(), actions, sources, late, reached }
    }

    /// `x` without its comments is a, its digest is b, and that one's is c: a changed comment leaves
    /// what a gives as it was.
    pub(super) fn cutoff(text: &str) -> Self {
        let actions = vec![
            Action::new("a", vec![Input::Source("x".to_owned())], Body::Strip),
            Action::new("b", vec![Input::Action(0)], Body::Sum),
            Action::new("c", vec![Input::Action(1)], Body::Sum),
        ];
        Self::small("cutoff", actions, text)
    }

    /// An action that does something of its own, and one that takes its output.
    pub(super) fn pair(name: &str, body: Body) -> Self {
        let actions = vec![
            Action::new("a", vec![Input::Source("x".to_owned())], body),
            Action::new("b", vec![Input::Action(0)], Body::Sum),
        ];
        Self::small(name, actions, "one\n")
    }

    fn small(name: &str, actions: Vec<Action>, text: &str) -> Self {
        let sources = BTreeMap::from([("x".to_owned(), text.to_owned())]);
        let reached = actions.len();
        Self { name: name.to_owned(), actions, sources, late: "x".to_owned(), reached }
    }

    /// Number of actions.
    pub(super) fn len(&self) -> usize {
        self.actions.len()
    }

    /// Places of the actions whose output no other takes.
    pub(super) fn leaves(&self) -> Vec<usize> {
        let mut taken = vec![false; self.len()];
        for input in self.actions.iter().flat_map(|a| &a.inputs) {
            if let Input::Action(k) = input {
                taken[*k] = true;
            }
        }
        (0..self.len()).filter(|i| !taken[*i]).collect()
    }

    /// The same graph with another text in its late source.
    pub(super) fn changed(&self, text: &str) -> Self {
        let mut out = self.clone();
        out.sources.insert(self.late.clone(), text.to_owned());
        out
    }

    /// What each action must give, in order.
    pub(super) fn expected(&self) -> Vec<Vec<u8>> {
        let mut out: Vec<Vec<u8>> = Vec::with_capacity(self.len());
        for action in &self.actions {
            let mut input = Vec::new();
            for one in &action.inputs {
                match one {
                    Input::Source(s) => input.extend_from_slice(self.sources[s].as_bytes()),
                    Input::Action(k) => input.extend_from_slice(&out[*k]),
                }
            }
            let named = || [format!("{}\n", action.id).as_bytes(), &input].concat();
            out.push(match &action.body {
                Body::Hash => sum(&named()),
                Body::Slow => [b"A".as_slice(), &sum(&named())].concat(),
                Body::Strip => input
                    .split_inclusive(|b| *b == b'\n')
                    .filter(|line| !line.starts_with(b"#"))
                    .collect::<Vec<_>>()
                    .concat(),
                Body::Sum => sum(&input),
                Body::Wait | Body::Hang(_) => input,
                Body::Nothing => Vec::new(),
            });
        }
        out
    }
}

/// What `sha256sum` prints of its standard input.
fn sum(bytes: &[u8]) -> Vec<u8> {
    let mut out = String::with_capacity(68);
    for b in Sha256::digest(bytes) {
        let _ = write!(out, "{b:02x}");
    }
    out.push_str("  -\n");
    out.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn one_in_a_hundred_is_reached() {
        for shape in [Shape::Chain, Shape::Layers, Shape::Wide] {
            for n in [1_000, 10_000] {
                let graph = Graph::new(shape, n, &Body::Hash);
                let (before, after) = (graph.expected(), graph.changed("other\n").expected());
                let differ = before.iter().zip(&after).filter(|(a, b)| a != b).count();
                assert_eq!(graph.len(), n);
                assert_eq!(differ, graph.reached, "{shape:?} {n}");
                assert!(graph.reached.abs_diff(n / 100) <= n / 500, "{shape:?} {n}");
            }
        }
    }

    #[test]
    fn what_is_expected_is_what_the_commands_give() {
        let dir = crate::fetch::Scratch::new(&std::env::temp_dir().join("xtask-graph"))
            .expect("a folder");
        for graph in [
            Graph::cutoff("# no\nbody\n"),
            Graph::new(Shape::Layers, 40, &Body::Hash),
            Graph::new(Shape::Chain, 2, &Body::Slow),
        ] {
            for (name, text) in &graph.sources {
                std::fs::write(dir.0.join(name), text).expect("written");
            }
            for (action, expected) in graph.actions.iter().zip(graph.expected()) {
                let names = action.inputs.iter().map(|input| match input {
                    Input::Source(s) => s.clone(),
                    Input::Action(k) => format!("{}.out", graph.actions[*k].id),
                });
                let names = names.collect::<Vec<_>>().join(" ");
                let out = format!("{}.out", action.id);
                let line = action.command(&names, &out, None);
                let status = Command::new("sh").args(["-c", &line]).current_dir(&dir.0).status();
                assert!(status.expect("sh").success(), "{line}");
                assert_eq!(std::fs::read(dir.0.join(out)).expect("an output"), expected, "{line}");
            }
        }
    }
}
