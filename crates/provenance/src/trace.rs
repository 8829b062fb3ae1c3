//! A run in the Trace Event Format, which Perfetto and Chrome's `about:tracing` show.
//!
//! One process is the run, one thread a worker lane. An action is a complete event (`X`) with its
//! phases below it: *held* or *prepare* until its process starts, *run*, and *keep* until its record is
//! written. The time from when an action could have started until a worker took it is an asynchronous
//! event (`b`, `e`) of category `waiting`. What was reused or skipped is an instant event.

use crate::timeline::{Span, Timeline};
use serde_json::{Value, json};
use sim_model::{Class, Status};

/// The run's process id in the trace.
const PID: u32 = 1;
/// The thread of instant events; worker lanes come after it.
const EVENTS: usize = 0;

/// The whole trace: a JSON object with `traceEvents`. Times are microseconds since the run's start.
pub fn trace(t: &Timeline) -> Value {
    let us = |ms: f64| ((ms - t.start) * 1e3).round().max(0.0);
    let mut events = vec![name("process_name", None, &format!("{} · run {}", t.pipeline, t.run))];
    events.push(name("thread_name", Some(EVENTS), "reused and skipped"));
    events.push(sort(EVENTS));
    for lane in 0..=t.spans.iter().map(|s| s.lane).max().unwrap_or(0) {
        events.push(name("thread_name", Some(lane + 1), &format!("worker {}", lane + 1)));
        events.push(sort(lane + 1));
    }
    for (label, at) in &t.reused {
        events.push(instant(label, "reused", us(*at), &json!({})));
    }
    for (label, because, at) in &t.skipped {
        events.push(instant(label, "skipped", us(*at), &json!({ "needs": because })));
    }
    for (i, span) in t.spans.iter().enumerate() {
        action(t, i, span, &us, &mut events);
    }
    json!({
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {
            "run": t.run,
            "pipeline": t.pipeline,
            "sandbox": t.sandbox,
            "version": format!("sim-pipe {}", t.tool_version),
            "started": crate::moment::rfc3339(t.start as u64),
            "complete": t.complete,
        },
    })
}

fn action(t: &Timeline, i: usize, span: &Span, us: &dyn Fn(f64) -> f64, events: &mut Vec<Value>) {
    let tid = span.lane + 1;
    let slice = |name: &str, cat: &str, colour: &str, from: f64, to: f64, args: Value| {
        json!({
            "name": name, "cat": cat, "ph": "X", "ts": us(from), "dur": us(to) - us(from),
            "pid": PID, "tid": tid, "cname": colour, "args": args,
        })
    };
    if us(span.taken) > us(span.ready) {
        for (ph, at) in [("b", span.ready), ("e", span.taken)] {
            events.push(json!({
                "name": span.label, "cat": "waiting", "ph": ph, "ts": us(at), "pid": PID,
                "tid": tid, "id": i.to_string(), "args": {},
            }));
        }
    }
    let class = span.class.map_or("unfinished", Class::name);
    let status = span.status.map_or("unfinished", Status::name);
    let needs: Vec<&str> = span.needs.iter().map(|n| t.spans[*n].label.as_str()).collect();
    let args = json!({
        "key": span.key, "generation": span.generation, "kind": span.kind, "class": class,
        "status": status, "reason": span.reason, "cpu_ms": span.cpu_ms,
        "peak_tree_bytes": span.peak_bytes, "uses": needs, "warnings": span.warnings,
    });
    events.push(slice(&span.label, class, colour(span), span.taken, span.kept, args));
    let mut phase = |name: &str, colour: &str, from: f64, to: f64, args: Value| {
        if us(to) > us(from) {
            events.push(slice(name, "phase", colour, from, to, args));
        }
    };
    match &span.held_by {
        _ if span.waited => {
            let by = json!({ "by": "another sim-pipe, which ran the same action" });
            phase("held", "bad", span.taken, span.kept, by);
            return;
        }
        Some(by) => phase("held", "bad", span.taken, span.began, json!({ "by": by })),
        None => phase("prepare", "startup", span.taken, span.began, json!({})),
    }
    phase("run", colour(span), span.began, span.ended, json!({}));
    phase("keep", "rail_idle", span.ended, span.kept, json!({}));
}

/// A colour of the format's fixed set: by class, another for what did not end well.
fn colour(span: &Span) -> &'static str {
    match (span.status, span.class) {
        (Some(Status::Failed | Status::TimedOut | Status::OutOfMemory), _) => "terrible",
        (None, _) if !span.waited => "black",
        (_, Some(Class::Pure)) => "good",
        (_, Some(Class::Machine)) => "rail_load",
        (_, Some(Class::Measured)) => "rail_animation",
        (_, None) => "grey",
    }
}

fn name(what: &str, tid: Option<usize>, text: &str) -> Value {
    let tid = tid.unwrap_or(EVENTS);
    json!({ "name": what, "ph": "M", "pid": PID, "tid": tid, "args": { "name": text } })
}

fn sort(tid: usize) -> Value {
    json!({ "name": "thread_sort_index", "ph": "M", "pid": PID, "tid": tid,
            "args": { "sort_index": tid } })
}

fn instant(label: &str, cat: &str, ts: f64, args: &Value) -> Value {
    json!({ "name": format!("{cat}: {label}"), "cat": cat, "ph": "i", "s": "t", "ts": ts,
            "pid": PID, "tid": EVENTS, "args": args })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::tests::sample;
    use std::collections::BTreeMap;

    /// The rules of the format, as its document states them.
    #[test]
    fn events_follow_the_format() {
        let trace = trace(&sample());
        let events = trace["traceEvents"].as_array().expect("an array");
        let mut slices: BTreeMap<u64, Vec<(f64, f64)>> = BTreeMap::new();
        let mut open: BTreeMap<String, f64> = BTreeMap::new();
        for e in events {
            let text = |k: &str| e[k].as_str().unwrap_or_else(|| panic!("{k} in {e}"));
            assert!(e["pid"].is_u64() && e["tid"].is_u64() && e["args"].is_object(), "{e}");
            assert!(!text("name").is_empty());
            let ts = || e["ts"].as_f64().filter(|t| *t >= 0.0).expect("a time");
            match text("ph") {
                "M" => assert!(
                    e["args"]["name"].is_string() || e["args"]["sort_index"].is_u64(),
                    "{e}"
                ),
                "X" => {
                    let end = ts() + e["dur"].as_f64().filter(|d| *d >= 0.0).expect("a duration");
                    slices.entry(e["tid"].as_u64().expect("a lane")).or_default().push((ts(), end));
                    assert!(!text("cname").is_empty());
                }
                "i" => assert_eq!(text("s"), "t"),
                "b" => assert!(open.insert(text("id").to_owned(), ts()).is_none()),
                "e" => assert!(open.remove(text("id")).is_some_and(|b| b <= ts()), "{e}"),
                other => panic!("phase {other}"),
            }
        }
        assert!(open.is_empty(), "every `b` has its `e`");
        // Slices of one thread lie in each other or apart.
        for list in slices.values() {
            for (a, b) in list.iter().flat_map(|a| list.iter().map(move |b| (a, b))) {
                let apart = a.1 <= b.0 || b.1 <= a.0;
                let inside = (a.0 >= b.0 && a.1 <= b.1) || (b.0 >= a.0 && b.1 <= a.1);
                assert!(apart || inside, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn what_held_an_action_up_is_seen() {
        let trace = trace(&sample());
        let events = trace["traceEvents"].as_array().expect("an array");
        let held = events.iter().find(|e| e["name"] == "held").expect("held");
        assert_eq!(held["args"]["by"], "another sim-pipe measures");
        assert_eq!((held["ts"].as_f64(), held["dur"].as_f64()), (Some(931e3), Some(3_069e3)));
        let waiting: Vec<_> = events.iter().filter(|e| e["cat"] == "waiting").collect();
        assert!(waiting.iter().any(|e| e["name"] == "d" && e["ph"] == "b" && e["ts"] == 5_010e3));
        let measured = events.iter().find(|e| e["name"] == "d" && e["ph"] == "X").expect("d");
        assert_eq!(
            (&measured["cat"], &measured["cname"]),
            (&json!("measured"), &json!("rail_animation"))
        );
        assert!(events.iter().any(|e| e["name"] == "reused: old" && e["ph"] == "i"));
    }
}
