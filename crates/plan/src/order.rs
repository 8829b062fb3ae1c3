//! Topological order, as near to the order of the file as dependencies allow, and cycles.

use petgraph::algo::kosaraju_scc;
use petgraph::graph::DiGraph;
use sim_model::plan::{PlannedAction, PlannedInput};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// Everything an action waits for.
fn needs(action: &PlannedAction) -> impl Iterator<Item = usize> + '_ {
    action.dependencies().chain(action.after.iter().copied())
}

/// Actions with their cycles: lists in which each needs the next, and the last needs the first.
pub(crate) type Circular = (Vec<PlannedAction>, Vec<Vec<usize>>);

/// Puts actions in order, or gives them back with each cycle.
pub(crate) fn order(actions: Vec<PlannedAction>) -> Result<Vec<PlannedAction>, Circular> {
    if actions.iter().enumerate().all(|(i, a)| needs(a).all(|d| d < i)) {
        return Ok(actions);
    }
    let mut waiting = vec![0u32; actions.len()];
    let mut starts = vec![0usize; actions.len() + 1];
    for (i, a) in actions.iter().enumerate() {
        for d in needs(a) {
            waiting[i] += 1;
            starts[d + 1] += 1;
        }
    }
    for i in 0..actions.len() {
        starts[i + 1] += starts[i];
    }
    let mut fill = starts.clone();
    let mut users = vec![0u32; starts[actions.len()]];
    for (i, a) in actions.iter().enumerate() {
        for d in needs(a) {
            users[fill[d]] = i as u32;
            fill[d] += 1;
        }
    }
    let ready = waiting.iter().enumerate().filter(|(_, n)| **n == 0);
    let mut ready: BinaryHeap<_> = ready.map(|(i, _)| Reverse(i)).collect();
    let mut place = vec![usize::MAX; actions.len()];
    let mut next = 0;
    while let Some(Reverse(i)) = ready.pop() {
        place[i] = next;
        next += 1;
        for user in &users[starts[i]..starts[i + 1]] {
            let user = *user as usize;
            waiting[user] -= 1;
            if waiting[user] == 0 {
                ready.push(Reverse(user));
            }
        }
    }
    if next < actions.len() {
        let cycles = cycles(&actions, &place);
        return Err((actions, cycles));
    }
    let mut sorted: Vec<_> = place.iter().copied().zip(actions).collect();
    sorted.sort_unstable_by_key(|(at, _)| *at);
    Ok(sorted.into_iter().map(|(_, action)| renumber(action, &place)).collect())
}

fn renumber(mut action: PlannedAction, place: &[usize]) -> PlannedAction {
    for input in action.inputs.values_mut() {
        match input {
            PlannedInput::Action { index, .. } => *index = place[*index],
            PlannedInput::Many(indices) => {
                indices.iter_mut().for_each(|i| *i = place[*i]);
                indices.sort_unstable();
            }
            _ => {}
        }
    }
    action.after.iter_mut().for_each(|i| *i = place[*i]);
    action
}

/// One shortest cycle through the first action of each strongly connected part.
fn cycles(actions: &[PlannedAction], place: &[usize]) -> Vec<Vec<usize>> {
    let mut graph = DiGraph::<usize, ()>::new();
    let left = (0..actions.len()).filter(|i| place[*i] == usize::MAX);
    let nodes: HashMap<_, _> = left.map(|i| (i, graph.add_node(i))).collect();
    for (i, node) in &nodes {
        for d in needs(&actions[*i]) {
            if let Some(to) = nodes.get(&d) {
                graph.add_edge(*node, *to, ());
            }
        }
    }
    let mut out = Vec::new();
    for part in kosaraju_scc(&graph) {
        let mut members: Vec<_> = part.iter().map(|n| graph[*n]).collect();
        members.sort_unstable();
        let first = members[0];
        if members.len() > 1 || needs(&actions[first]).any(|d| d == first) {
            out.push(shortest(actions, first, &members));
        }
    }
    out.sort();
    out
}

fn shortest(actions: &[PlannedAction], first: usize, members: &[usize]) -> Vec<usize> {
    let mut from = HashMap::new();
    let mut queue = VecDeque::from([first]);
    while let Some(at) = queue.pop_front() {
        for d in needs(&actions[at]) {
            if d == first {
                let mut path = vec![at];
                let mut at = at;
                while let Some(before) = from.get(&at) {
                    at = *before;
                    path.push(at);
                }
                path.reverse();
                return path;
            }
            if members.binary_search(&d).is_ok() && d != first && !from.contains_key(&d) {
                from.insert(d, at);
                queue.push_back(d);
            }
        }
    }
    vec![first]
}
