//! The graph as a picture: Graphviz's DOT, or Mermaid. A graph of many actions is drawn by groups.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// An action in the picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Label.
    pub label: String,
    /// `pure`, `machine` or `measured`.
    pub class: &'static str,
    /// Whether it would run.
    pub runs: bool,
    /// What it comes after, as indices.
    pub needs: Vec<usize>,
}

/// What is drawn: an action, or all actions of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Shape {
    name: String,
    class: &'static str,
    actions: usize,
    runs: usize,
}

/// A picture to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    title: String,
    shapes: Vec<Shape>,
    /// From, to, and how many dependencies it stands for.
    edges: BTreeMap<(usize, usize), usize>,
    grouped: bool,
}

/// Edges that Mermaid draws unless its configuration says otherwise.
const MERMAID_EDGES: usize = 500;

/// The group of a label: everything before its first cell, case or `@`.
fn group(label: &str) -> &str {
    &label[..label.find(['[', '/', '@']).unwrap_or(label.len())]
}

impl Picture {
    /// A picture of a graph; by groups where it has more than `limit` actions.
    pub fn of(title: &str, nodes: &[Node], limit: usize) -> Self {
        let grouped = nodes.len() > limit;
        let mut shapes: Vec<Shape> = Vec::new();
        let mut known: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        let mut at = Vec::with_capacity(nodes.len());
        for node in nodes {
            let name = if grouped { group(&node.label) } else { node.label.as_str() };
            let index = *known.entry((name, node.class)).or_insert_with(|| {
                shapes.push(Shape { name: name.to_owned(), class: node.class, ..Shape::default() });
                shapes.len() - 1
            });
            shapes[index].actions += 1;
            shapes[index].runs += usize::from(node.runs);
            at.push(index);
        }
        let mut edges = BTreeMap::new();
        for (i, node) in nodes.iter().enumerate() {
            for need in &node.needs {
                // Within a group there is nothing to see.
                if at[*need] != at[i] {
                    *edges.entry((at[*need], at[i])).or_insert(0) += 1;
                }
            }
        }
        Self { title: title.to_owned(), shapes, edges, grouped }
    }

    /// What a picture by groups shows, for a message; `None` where every action is shown.
    pub fn grouped(&self) -> Option<usize> {
        self.grouped.then_some(self.shapes.len())
    }

    /// Whether Mermaid would refuse to draw it as it is.
    pub fn too_much_for_mermaid(&self) -> bool {
        self.edges.len() > MERMAID_EDGES
    }

    fn lines(&self, shape: &Shape) -> Vec<String> {
        let mut out = vec![shape.name.clone()];
        if self.grouped {
            let count = if shape.actions == 1 { "action" } else { "actions" };
            out.push(format!("{} {count} · {}", shape.actions, shape.class));
            if shape.runs > 0 {
                out.push(format!("{} to run", shape.runs));
            }
        }
        out
    }

    /// The `dot` language of Graphviz. What would run is drawn with a bold border.
    pub fn dot(&self) -> String {
        let quote = |text: &str| {
            let mut out = String::from("\"");
            for c in text.chars() {
                match c {
                    '"' => out.push_str("\\\""),
                    '\\' => out.push_str("\\\\"),
                    c if c.is_control() => out.push(' '),
                    c => out.push(c),
                }
            }
            out.push('"');
            out
        };
        let mut out = format!("digraph {} {{\n", quote(&self.title));
        out += "  rankdir=LR;\n  node [shape=box, style=\"filled,rounded\", fontname=\"sans-serif\"];\n";
        for (i, shape) in self.shapes.iter().enumerate() {
            let label: Vec<String> = self.lines(shape).iter().map(|l| quote(l)).collect();
            // Joined inside the quotes: `\n` there is a line break of the picture.
            let label = label.join("\\n").replace("\"\\n\"", "\\n");
            let colour = match shape.class {
                "measured" => "#ffe0b2",
                "machine" => "#d6e4ff",
                _ => "#e3f4e1",
            };
            let width = if shape.runs > 0 { 2.5 } else { 1.0 };
            let _ = writeln!(
                out,
                "  n{i} [label={label}, fillcolor=\"{colour}\", penwidth={width}, class=\"{}\"];",
                shape.class
            );
        }
        for ((from, to), count) in &self.edges {
            let label = if *count > 1 && self.grouped {
                format!(" [label=\"{count}\"]")
            } else {
                String::new()
            };
            let _ = writeln!(out, "  n{from} -> n{to}{label};");
        }
        out.push_str("}\n");
        out
    }

    /// A Mermaid flowchart, as Markdown pages of many hosts draw it.
    pub fn mermaid(&self) -> String {
        let escape = |text: &str| {
            let mut out = String::new();
            for c in text.chars() {
                match c {
                    // Mermaid reads `#NAME;` as a character, and Markdown within quotes as such.
                    '"' | '#' | '<' | '>' | '&' | '`' | '*' | '_' | '\\' => {
                        let _ = write!(out, "#{};", u32::from(c));
                    }
                    c if c.is_control() => out.push(' '),
                    c => out.push(c),
                }
            }
            out
        };
        let mut out = String::from("flowchart LR\n");
        for (i, shape) in self.shapes.iter().enumerate() {
            let label: Vec<String> = self.lines(shape).iter().map(|l| escape(l)).collect();
            let class = if shape.runs > 0 {
                format!("{}_runs", shape.class)
            } else {
                shape.class.to_owned()
            };
            let _ = writeln!(out, "  n{i}[\"{}\"]:::{class}", label.join("<br/>"));
        }
        for ((from, to), count) in &self.edges {
            if *count > 1 && self.grouped {
                let _ = writeln!(out, "  n{from} -->|{count}| n{to}");
            } else {
                let _ = writeln!(out, "  n{from} --> n{to}");
            }
        }
        for (class, fill) in [("pure", "#e3f4e1"), ("machine", "#d6e4ff"), ("measured", "#ffe0b2")]
        {
            let _ = writeln!(out, "  classDef {class} fill:{fill},stroke:#555,color:#111");
            let _ = writeln!(
                out,
                "  classDef {class}_runs fill:{fill},stroke:#111,stroke-width:3px,color:#111"
            );
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(label: &str, class: &'static str, runs: bool, needs: &[usize]) -> Node {
        Node { label: label.to_owned(), class, runs, needs: needs.to_vec() }
    }

    #[test]
    fn a_small_graph_shows_every_action() {
        let nodes =
            [node("fetch/a\"b\\", "pure", false, &[]), node("trial[x]/r0", "measured", true, &[0])];
        let p = Picture::of("p", &nodes, 200);
        assert_eq!(p.grouped(), None);
        let dot = p.dot();
        assert!(dot.starts_with("digraph \"p\" {\n"), "{dot}");
        assert!(dot.contains("n0 [label=\"fetch/a\\\"b\\\\\", fillcolor"), "{dot}");
        assert!(dot.contains("n0 -> n1;\n") && dot.contains("penwidth=2.5"), "{dot}");
        let mermaid = p.mermaid();
        assert!(mermaid.contains("n0[\"fetch/a#34;b#92;\"]:::pure\n"), "{mermaid}");
        assert!(mermaid.contains("n0 --> n1\n") && mermaid.contains(":::measured_runs"));
    }

    #[test]
    fn a_large_graph_is_drawn_by_groups() {
        let mut nodes = vec![node("engine", "pure", false, &[])];
        for i in 0..300 {
            nodes.push(node(&format!("trial/case/r{i}"), "measured", i < 2, &[0]));
        }
        nodes.push(node("site", "pure", true, &(1..=300).collect::<Vec<_>>()));
        let p = Picture::of("p", &nodes, 200);
        assert_eq!(p.grouped(), Some(3));
        let dot = p.dot();
        assert!(dot.contains("\"trial\\n300 actions · measured\\n2 to run\""), "{dot}");
        assert!(dot.contains("n0 -> n1 [label=\"300\"];\n"), "{dot}");
        assert!(p.mermaid().contains("n1 -->|300| n2\n"), "{}", p.mermaid());
        assert!(!p.too_much_for_mermaid());
    }
}
