//! Where the time of a run went: the longest chain of actions that needed each other.

use crate::timeline::Timeline;
use schemars::JsonSchema;
use serde::Serialize;
use sim_model::{Class, Status};

/// One action of the chain.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Link {
    /// Label.
    pub label: String,
    /// Key.
    pub key: String,
    /// `pure`, `machine` or `measured`; `unknown` where there is no record.
    pub class: String,
    /// How it ended; `unfinished` where the run ended first.
    pub status: String,
    /// How long it occupied a worker, in milliseconds, without the time it was held up.
    pub busy_ms: f64,
    /// How long it waited for a worker, or for the machine, after all it needs was there, in
    /// milliseconds.
    pub waited_ms: f64,
    /// How long it was held up by another sim-pipe, in milliseconds.
    pub held_ms: f64,
}

/// The critical path of a run: what `trace --format json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CriticalPath {
    /// Version of this document, 1.
    pub v: u32,
    /// The run.
    pub run: String,
    /// The pipeline.
    pub pipeline: String,
    /// Whether the run came to its end.
    pub complete: bool,
    /// From first to last event of the journal, in milliseconds.
    pub wall_ms: f64,
    /// Actions that were started.
    pub ran: u64,
    /// Actions whose record was used.
    pub reused: u64,
    /// Sum over all actions that were started of how long they occupied a worker, in milliseconds.
    pub work_ms: f64,
    /// Sum of the same over measured actions, which run alone, in milliseconds.
    pub measured_ms: f64,
    /// Sum over the chain, in milliseconds.
    pub chain_ms: f64,
    /// Workers that were busy at once, at most.
    pub lanes: u64,
    /// The chain, first action first.
    pub chain: Vec<Link>,
}

impl CriticalPath {
    /// The chain of a run whose actions together took longest. Actions that only had to come after
    /// another without using its result are not in records, so not in the chain.
    pub fn of(t: &Timeline) -> Self {
        // Spans stand in the order of starting, so what one needs stands before it.
        let mut best: Vec<(f64, Option<usize>)> = Vec::with_capacity(t.spans.len());
        for span in &t.spans {
            let before = span
                .needs
                .iter()
                .copied()
                .max_by(|a, b| best[*a].0.total_cmp(&best[*b].0).then(b.cmp(a)));
            let sum = span.busy_ms() + before.map_or(0.0, |b| best[b].0);
            best.push((sum, before));
        }
        // Of equals the later one: what takes less than a millisecond belongs to the chain all the same.
        let last = (0..best.len()).max_by(|a, b| best[*a].0.total_cmp(&best[*b].0).then(a.cmp(b)));
        let mut chain = Vec::new();
        let mut at = last;
        while let Some(i) = at {
            let span = &t.spans[i];
            let held = span.held_by.is_some() || span.waited;
            chain.push(Link {
                label: span.label.clone(),
                key: span.key.to_string(),
                class: span.class.map_or("unknown", Class::name).to_owned(),
                status: span.status.map_or("unfinished", Status::name).to_owned(),
                busy_ms: span.busy_ms(),
                waited_ms: span.taken - span.ready,
                held_ms: if held { span.began - span.taken } else { 0.0 },
            });
            at = best[i].1;
        }
        chain.reverse();
        let measured = t.spans.iter().filter(|s| s.class == Some(Class::Measured));
        Self {
            v: 1,
            run: t.run.clone(),
            pipeline: t.pipeline.clone(),
            complete: t.complete,
            wall_ms: t.wall_ms(),
            ran: t.spans.len() as u64,
            reused: t.reused.len() as u64,
            work_ms: t.spans.iter().map(|s| s.busy_ms()).sum(),
            measured_ms: measured.map(|s| s.busy_ms()).sum(),
            chain_ms: last.map_or(0.0, |l| best[l].0),
            lanes: t.spans.iter().map(|s| s.lane as u64 + 1).max().unwrap_or(0),
            chain,
        }
    }

    /// No number of processors makes a run of the same work shorter than this, in milliseconds.
    pub fn bound_ms(&self) -> f64 {
        self.chain_ms.max(self.measured_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::tests::sample;

    #[test]
    fn the_chain_is_the_longest_and_waiting_is_told_apart() {
        let path = CriticalPath::of(&sample());
        let chain: Vec<&str> = path.chain.iter().map(|l| l.label.as_str()).collect();
        assert_eq!(chain, ["b", "c", "d"]);
        assert_eq!(path.chain_ms, 927.0 + 1_010.0 + 760.0);
        let c = &path.chain[1];
        assert_eq!((c.busy_ms, c.waited_ms, c.held_ms), (1_010.0, 1.0, 3_069.0));
        assert_eq!(path.chain[2].waited_ms, 140.0);
        assert_eq!((path.ran, path.reused, path.lanes), (5, 1, 2));
        assert_eq!(path.measured_ms, 760.0);
        assert_eq!(path.bound_ms(), path.chain_ms);
    }

    #[test]
    fn a_run_of_nothing_has_no_chain() {
        let path = CriticalPath::of(&Timeline::default());
        assert_eq!((path.chain.len(), path.chain_ms, path.lanes), (0, 0.0, 0));
    }
}
