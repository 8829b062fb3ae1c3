//! A plan as it is kept with a run and written by `plan --save`: everything that must still be so
//! when an interrupted run is resumed (P145, P279), and what is not.

use crate::digest::Digest;
use crate::machine::Machine;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Version of the document; a reader refuses a newer one.
pub const SAVED_PLAN_VERSION: u32 = 1;

/// The document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedPlan {
    /// [`SAVED_PLAN_VERSION`].
    pub v: u32,
    /// Pipeline name.
    pub pipeline: String,
    /// Pipeline file, relative to the project's root.
    pub file: String,
    /// sim-pipe's version.
    pub tool_version: String,
    /// Identity of the machine.
    pub identity: Digest,
    /// The machine.
    pub machine: Machine,
    /// Sources of the project that are inputs, with their digests: suites, locks and adapters among
    /// them. One that could not be read says why.
    pub sources: BTreeMap<String, String>,
    /// Outside programs, with what identifies them.
    pub tools: BTreeMap<String, String>,
    /// All actions, in plan order.
    pub actions: Vec<SavedAction>,
}

/// One action of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedAction {
    /// Label.
    pub label: String,
    /// Stage kind.
    pub kind: String,
    /// What it is made of and can be said before its inputs are known, by name: arguments, seed,
    /// fingerprint of its kind, command line.
    pub parts: BTreeMap<String, String>,
    /// Why it is left out, for what a user or a known failure leaves out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<String>,
    /// Status of its record, where the plan was made with one at hand; probes among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

/// One thing in which two plans differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanDifference {
    /// What: `machine cpu_model`, `tool rustc`, `source engines/mujoco/Cargo.lock`, `trial[mujoco]/…
    /// args.threads`.
    pub what: String,
    /// What it was; absent for what is new.
    pub was: Option<String>,
    /// What it is; absent for what is gone.
    pub is: Option<String>,
}

impl std::fmt::Display for PlanDifference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.was, &self.is) {
            (Some(was), Some(is)) => write!(f, "{}: it was {was}, it is {is}", self.what),
            (Some(_), None) => write!(f, "{}: it is not there any more", self.what),
            (None, _) => write!(f, "{}: it is new", self.what),
        }
    }
}

impl SavedPlan {
    /// Reads a document. The error is a sentence about it, "it …".
    pub fn from_json(bytes: &[u8]) -> Result<Self, String> {
        let plan: Self =
            serde_json::from_slice(bytes).map_err(|e| format!("it is no plan: {e}"))?;
        if plan.v > SAVED_PLAN_VERSION {
            let (v, known) = (plan.v, SAVED_PLAN_VERSION);
            return Err(format!("it has version {v}, this program knows up to {known}"));
        }
        Ok(plan)
    }

    /// In what `now` differs: the machine, outside programs, sources, then actions in plan order. What
    /// is left out and how something ended are no difference: they are what a resumed run goes on with.
    pub fn differences(&self, now: &Self) -> Vec<PlanDifference> {
        let mut out = Vec::new();
        let mut add = |what: String, was: Option<&String>, is: Option<&String>| {
            if was != is {
                out.push(PlanDifference { what, was: was.cloned(), is: is.cloned() });
            }
        };
        add("pipeline".into(), Some(&self.file), Some(&now.file));
        if self.identity != now.identity {
            let (was, is) = (self.machine.parts(), now.machine.parts());
            for name in was.keys() {
                add(format!("machine {name}"), was.get(name), is.get(name));
            }
            if was == is {
                // Equal in all that can be named, and yet another installation.
                let (was, is) = (self.identity.short(), now.identity.short());
                add("machine".into(), Some(&was), Some(&is));
            }
        }
        compare("tool", &self.tools, &now.tools, &mut add);
        compare("source", &self.sources, &now.sources, &mut add);
        let theirs: BTreeMap<&str, &SavedAction> =
            now.actions.iter().map(|a| (a.label.as_str(), a)).collect();
        let mut ours = BTreeSet::new();
        for a in &self.actions {
            ours.insert(a.label.as_str());
            match theirs.get(a.label.as_str()) {
                None => add(format!("action {}", a.label), Some(&a.kind), None),
                Some(b) => compare(&a.label, &a.parts, &b.parts, &mut add),
            }
        }
        for b in now.actions.iter().filter(|b| !ours.contains(b.label.as_str())) {
            add(format!("action {}", b.label), None, Some(&b.kind));
        }
        out
    }
}

/// Takes what something is called, was and is, and keeps it where it differs.
type Add<'a> = dyn FnMut(String, Option<&String>, Option<&String>) + 'a;

fn compare(
    of: &str,
    was: &BTreeMap<String, String>,
    is: &BTreeMap<String, String>,
    add: &mut Add<'_>,
) {
    let names: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    for name in names {
        add(format!("{of} {name}"), was.get(name), is.get(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> SavedPlan {
        let machine = Machine {
            cpu_model: "Test CPU".into(),
            cpu_signature: "6/143/8".into(),
            cpu_features: vec![],
            cpus: 2,
            ram_bytes: 1 << 34,
            os: "Debian 12".into(),
            kernel: "6.18".into(),
            platform: "x86_64-linux".into(),
            gpus: vec![],
            installation: Digest::of(b"here"),
        };
        let action = |label: &str, threads: &str| SavedAction {
            label: label.into(),
            kind: "trial".into(),
            parts: BTreeMap::from([("args.threads".into(), threads.into())]),
            skip: None,
            status: None,
        };
        SavedPlan {
            v: SAVED_PLAN_VERSION,
            pipeline: "round".into(),
            file: "pipelines/round.toml".into(),
            tool_version: "1.0.0".into(),
            identity: machine.identity(),
            machine,
            sources: BTreeMap::from([("engines/a/Cargo.lock".into(), "aa".into())]),
            tools: BTreeMap::from([("rustc".into(), "1.95.0".into())]),
            actions: vec![action("trial[a]/r0", "2"), action("trial[a]/r1", "2")],
        }
    }

    fn said(change: impl FnOnce(&mut SavedPlan)) -> Vec<String> {
        let mut now = plan();
        change(&mut now);
        plan().differences(&now).iter().map(ToString::to_string).collect()
    }

    /// P145: each of the things that a resumed run must find again is named where it is not there.
    #[test]
    fn what_differs_is_named() {
        assert!(said(|_| {}).is_empty());
        assert_eq!(
            said(|p| {
                p.machine.kernel = "6.19".into();
                p.identity = p.machine.identity();
            }),
            ["machine kernel: it was 6.18, it is 6.19"]
        );
        let elsewhere = said(|p| {
            p.machine.installation = Digest::of(b"there");
            p.identity = p.machine.identity();
        });
        assert_eq!(elsewhere.len(), 1);
        assert!(elsewhere[0].starts_with("machine: it was "), "{elsewhere:?}");
        assert_eq!(
            said(|p| drop(p.tools.insert("rustc".into(), "1.96.0".into()))),
            ["tool rustc: it was 1.95.0, it is 1.96.0"]
        );
        assert_eq!(
            said(|p| drop(p.sources.insert("engines/a/Cargo.lock".into(), "bb".into()))),
            ["source engines/a/Cargo.lock: it was aa, it is bb"]
        );
        assert_eq!(
            said(|p| drop(p.actions[1].parts.insert("args.threads".into(), "4".into()))),
            ["trial[a]/r1 args.threads: it was 2, it is 4"]
        );
        assert_eq!(
            said(|p| p.actions[1].label = "trial[a]/r2".into()),
            ["action trial[a]/r1: it is not there any more", "action trial[a]/r2: it is new"]
        );
        // What was left out and how something ended is gone on with.
        assert!(said(|p| p.actions[0].status = Some("ok".into())).is_empty());
    }

    #[test]
    fn a_document_comes_back_and_a_newer_one_is_refused() {
        let text = serde_json::to_vec(&plan()).expect("JSON");
        assert_eq!(SavedPlan::from_json(&text), Ok(plan()));
        let newer = String::from_utf8(text).expect("text").replacen("\"v\":1", "\"v\":2", 1);
        let refused = SavedPlan::from_json(newer.as_bytes()).expect_err("newer");
        assert_eq!(refused, "it has version 2, this program knows up to 1");
    }
}
