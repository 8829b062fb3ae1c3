//! The same graph of tiny actions, written for sim-pipe and for ninja.
//!
//! One action is `(echo ID; cat INPUTS) | sha256sum > OUT`, run by `sh`. One source late in each
//! graph reaches one in a hundred actions.

use anyhow::{Context as _, Result};
use std::fmt::Write as _;
use std::path::Path;

/// The shape of a graph.
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

/// A graph: what each action takes, and the source to change.
pub(super) struct Graph {
    pub(super) shape: Shape,
    actions: Vec<Vec<Input>>,
    sources: Vec<String>,
    /// The source that reaches few actions.
    pub(super) late: String,
    /// How many.
    pub(super) reached: usize,
}

#[derive(Clone, Debug)]
enum Input {
    Source(String),
    Action(usize),
}

impl Graph {
    pub(super) fn new(shape: Shape, n: usize) -> Self {
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
                let width = if n >= 10_000 { 100 } else { 50.min(n.max(3)) };
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
        Self { shape, actions, sources, late, reached }
    }

    /// Number of actions.
    pub(super) fn len(&self) -> usize {
        self.actions.len()
    }

    /// Lays out a project for sim-pipe and, in the same folder, a build file for ninja.
    pub(super) fn lay_out(&self, dir: &Path) -> Result<()> {
        let _ = std::fs::remove_dir_all(dir);
        std::fs::create_dir_all(dir.join("src")).with_context(|| dir.display().to_string())?;
        std::fs::create_dir_all(dir.join("o"))?;
        for name in &self.sources {
            std::fs::write(dir.join("src").join(name), format!("{name}\n"))?;
        }
        std::fs::write(dir.join("pipeline.toml"), self.pipeline())?;
        std::fs::write(dir.join("build.ninja"), self.ninja())?;
        Ok(())
    }

    /// Changes the late source.
    pub(super) fn touch(&self, dir: &Path, text: &str) -> Result<()> {
        Ok(std::fs::write(dir.join("src").join(&self.late), text)?)
    }

    fn pipeline(&self) -> String {
        let mut out = format!("[pipeline]\nname = \"{}\"\n", self.shape.name());
        for (i, inputs) in self.actions.iter().enumerate() {
            let (mut words, mut lines) = (String::new(), String::new());
            for (letter, input) in ('a'..).zip(inputs) {
                let _ = match input {
                    Input::Source(s) => {
                        let _ = write!(words, " in/{letter}");
                        writeln!(lines, "inputs.{letter} = \"src/{s}\"")
                    }
                    Input::Action(k) => {
                        let _ = write!(words, " in/{letter}/o");
                        writeln!(lines, "inputs.{letter} = \"a{k}\"")
                    }
                };
            }
            let _ = write!(
                out,
                "\n[[stage]]\nname = \"a{i}\"\nkind = \"command\"\n\
                 run = [\"sh\", \"-c\", \"(echo a{i}; cat{words}) | sha256sum > out/o\"]\n\
                 outputs = [\"o\"]\n{lines}"
            );
        }
        out
    }

    fn ninja(&self) -> String {
        let mut out = String::from("rule r\n  command = $cmd\n\n");
        for (i, inputs) in self.actions.iter().enumerate() {
            let mut words = String::new();
            for input in inputs {
                let _ = match input {
                    Input::Source(s) => write!(words, " src/{s}"),
                    Input::Action(k) => write!(words, " o/a{k}"),
                };
            }
            let _ = write!(
                out,
                "build o/a{i}: r{words}\n  cmd = (echo a{i}; cat{words}) | sha256sum > o/a{i}\n"
            );
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Actions that a change of the late source reaches, found by walking the graph.
    fn reached(graph: &Graph) -> usize {
        let mut dirty = vec![false; graph.len()];
        for (i, inputs) in graph.actions.iter().enumerate() {
            dirty[i] = inputs.iter().any(|input| match input {
                Input::Source(s) => *s == graph.late,
                Input::Action(k) => dirty[*k],
            });
        }
        dirty.iter().filter(|d| **d).count()
    }

    #[test]
    fn one_in_a_hundred_is_reached() {
        for shape in [Shape::Chain, Shape::Layers, Shape::Wide] {
            for n in [1_000, 10_000] {
                let graph = Graph::new(shape, n);
                assert_eq!(graph.len(), n);
                assert_eq!(reached(&graph), graph.reached, "{shape:?} {n}");
                assert!(graph.reached.abs_diff(n / 100) <= n / 500, "{shape:?} {n}");
            }
        }
    }
}
