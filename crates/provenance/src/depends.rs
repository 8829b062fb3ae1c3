//! Paths of dependency: why one action depends on another, or on a file.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::VecDeque;

/// One thing that depends on others, or is depended on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Label of an action, or path of a source.
    pub name: String,
    /// Key; absent for sources.
    pub key: Option<String>,
    /// What it uses: the node's index and the name of the input.
    pub uses: Vec<(usize, String)>,
}

/// Actions and sources with what they use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// The nodes, in any order.
    pub nodes: Vec<Node>,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Step {
    /// Label of an action, or path of a source.
    pub name: String,
    /// Key; absent for sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Name of the input through which the step before uses this one; absent for the first step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
}

/// Why one thing depends on another: what `why-depends --format json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WhyDepends {
    /// Version of this document, 1.
    pub v: u32,
    /// The run whose records were read.
    pub run: String,
    /// What depends.
    pub from: String,
    /// On what.
    pub to: String,
    /// Number of paths there are; at most 2^64 - 1.
    pub count: u64,
    /// The paths that were asked for, shortest first; each from `from` to `to`.
    pub paths: Vec<Vec<Step>>,
}

impl Graph {
    /// A shortest path from one node to another, as indices; `None` where there is none. Ties go to
    /// the input that is named first.
    pub fn shortest(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut before: Vec<Option<usize>> = vec![None; self.nodes.len()];
        let mut todo = VecDeque::from([from]);
        while let Some(at) = todo.pop_front() {
            if at == to {
                let mut path = vec![to];
                while let Some(at) = path.last().filter(|at| **at != from) {
                    path.push(before[*at]?);
                }
                path.reverse();
                return Some(path);
            }
            for (next, _) in &self.nodes[at].uses {
                if *next != from && before[*next].is_none() {
                    before[*next] = Some(at);
                    todo.push_back(*next);
                }
            }
        }
        None
    }

    /// How many paths lead from each node to `to`, saturating. The graph has no cycles.
    fn counts(&self, to: usize) -> Vec<u64> {
        // Depth first without recursion: chains are as long as a pipeline likes. On the stack are nodes
        // with the next of their inputs to look at.
        let mut counts: Vec<Option<u64>> = vec![None; self.nodes.len()];
        counts[to] = Some(1);
        for start in 0..self.nodes.len() {
            let mut stack = vec![(start, 0)];
            while let Some((at, next)) = stack.last_mut() {
                let (at, uses) = (*at, &self.nodes[*at].uses);
                let waiting = match counts[at] {
                    Some(_) => None,
                    None => uses[*next..].iter().position(|(n, _)| counts[*n].is_none()),
                };
                if let Some(skip) = waiting {
                    let (n, _) = uses[*next + skip];
                    *next += skip + 1;
                    stack.push((n, 0));
                    continue;
                }
                if counts[at].is_none() {
                    let add = |sum: u64, (n, _): &(usize, String)| {
                        sum.saturating_add(counts[*n].unwrap_or(0))
                    };
                    counts[at] = Some(uses.iter().fold(0, add));
                }
                stack.pop();
            }
        }
        counts.into_iter().map(|c| c.unwrap_or(0)).collect()
    }

    /// The number of paths and the first `limit` of them, shortest of those first.
    pub fn paths(&self, from: usize, to: usize, limit: usize) -> (u64, Vec<Vec<usize>>) {
        let counts = self.counts(to);
        let mut out: Vec<Vec<usize>> = Vec::new();
        // The path so far, and at each of its nodes the next input to try.
        let mut path = vec![(from, 0)];
        while let Some((at, next)) = path.last_mut() {
            if *at == to {
                out.push(path.iter().map(|(n, _)| *n).collect());
                path.pop();
                if out.len() >= limit {
                    break;
                }
                continue;
            }
            let uses = &self.nodes[*at].uses;
            // Only ways that lead there: no time is lost in dead ends.
            match uses[*next..].iter().position(|(n, _)| counts[*n] > 0) {
                Some(skip) => {
                    let step = uses[*next + skip].0;
                    *next += skip + 1;
                    path.push((step, 0));
                }
                None => {
                    path.pop();
                }
            }
        }
        out.sort_by_key(Vec::len);
        (counts[from], out)
    }

    /// A path of indices as steps.
    pub fn steps(&self, path: &[usize]) -> Vec<Step> {
        path.iter()
            .enumerate()
            .map(|(i, at)| {
                let node = &self.nodes[*at];
                let input = i.checked_sub(1).and_then(|b| {
                    self.nodes[path[b]].uses.iter().find(|(n, _)| n == at).map(|(_, i)| i.clone())
                });
                Step { name: node.name.clone(), key: node.key.clone(), input }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(uses: &[&[usize]]) -> Graph {
        let node = |(i, list): (usize, &&[usize])| Node {
            name: format!("n{i}"),
            key: None,
            uses: list.iter().map(|n| (*n, format!("in{n}"))).collect(),
        };
        Graph { nodes: uses.iter().enumerate().map(node).collect() }
    }

    #[test]
    fn shortest_and_all_paths_of_a_diamond_with_a_detour() {
        // 0 uses 1 and 2, both use 3; 2 also uses 4, which uses 3; 5 uses nothing.
        let g = graph(&[&[1, 2], &[3], &[4, 3], &[], &[3], &[]]);
        assert_eq!(g.shortest(0, 3), Some(vec![0, 1, 3]));
        assert_eq!(g.shortest(0, 5), None);
        assert_eq!(g.shortest(0, 0), Some(vec![0]));
        let (n, paths) = g.paths(0, 3, 10);
        assert_eq!(n, 3);
        assert_eq!(paths, [vec![0, 1, 3], vec![0, 2, 3], vec![0, 2, 4, 3]]);
        let (n, paths) = g.paths(0, 3, 2);
        assert_eq!((n, paths.len()), (3, 2));
        assert_eq!(g.paths(0, 5, 10), (0, vec![]));
        let steps = g.steps(&[0, 2, 3]);
        assert_eq!(steps[1].input.as_deref(), Some("in2"));
        assert_eq!(steps[0].input, None);
    }

    #[test]
    fn a_ladder_with_2_to_the_40_paths_and_a_long_chain_are_no_trouble() {
        // Rungs of two nodes, each of which uses both of the next rung.
        let mut uses: Vec<Vec<usize>> = Vec::new();
        for rung in 0..40 {
            for _ in 0..2 {
                uses.push(vec![rung * 2 + 2, rung * 2 + 3]);
            }
        }
        uses.push(vec![82]);
        uses.push(vec![82]);
        uses.push(vec![]);
        let lists: Vec<&[usize]> = uses.iter().map(Vec::as_slice).collect();
        let g = graph(&lists);
        let (n, paths) = g.paths(0, 82, 5);
        assert_eq!((n, paths.len()), (1 << 40, 5));
        let chain: Vec<Vec<usize>> =
            (0..50_000).map(|i| if i < 49_999 { vec![i + 1] } else { vec![] }).collect();
        let lists: Vec<&[usize]> = chain.iter().map(Vec::as_slice).collect();
        let (n, paths) = graph(&lists).paths(0, 49_999, 5);
        assert_eq!((n, paths[0].len()), (1, 50_000));
    }
}
