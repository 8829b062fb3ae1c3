//! A whole run as a research crate: RO-Crate 1.1 metadata after the Provenance Run Crate profile 0.5,
//! which builds on the Workflow Run, Process Run and Workflow RO-Crate profiles.
//!
//! The pipeline file is the workflow, a stage one of its steps, an action a `CreateAction` with a
//! `ControlAction` that ties it to its step, and sim-pipe the engine of an `OrganizeAction`.

use crate::moment::rfc3339;
use serde_json::{Map, Value, json};
use sim_model::{Record, Status};
use std::collections::{BTreeMap, BTreeSet};

/// Name of the metadata file in a crate.
pub const METADATA: &str = "ro-crate-metadata.json";

/// A file or folder that lies in the crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Path in the crate; a folder's ends with `/`.
    pub path: String,
    /// Name for people.
    pub name: String,
    /// Description; empty for none.
    pub about: String,
    /// Media type; empty for folders and unknown ones.
    pub media: &'static str,
    /// Bytes; of a folder all its files'.
    pub bytes: u64,
    /// SHA-256 of a file, hexadecimal; empty for folders.
    pub sha256: String,
}

/// What an action used or made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thing {
    /// It lies in the crate, at this path.
    Part(String),
    /// It is named by its digest, and lies in the crate's archive.
    Tree {
        /// Digest of the tree.
        digest: String,
        /// Name for people.
        name: String,
    },
}

/// An action of the run.
#[derive(Clone, Debug)]
pub struct Action {
    /// Label in this run.
    pub label: String,
    /// Its record.
    pub record: Record,
    /// What it used.
    pub inputs: Vec<Thing>,
    /// What it made.
    pub outputs: Vec<Thing>,
    /// Its log, where it lies in the crate.
    pub log: Option<String>,
}

/// Everything that the metadata tells.
#[derive(Clone, Debug)]
pub struct Crate {
    /// Name for people.
    pub name: String,
    /// One paragraph.
    pub about: String,
    /// Licence of the data, as a URI or in words.
    pub licence: String,
    /// Id of the run.
    pub run: String,
    /// Version of sim-pipe that exports.
    pub version: String,
    /// Path of the pipeline file in the crate; one of `parts`.
    pub pipeline: String,
    /// Everything that lies in the crate.
    pub parts: Vec<Part>,
    /// Paths of what the run is for: its sites, or the outputs that nothing else uses.
    pub results: Vec<String>,
    /// The actions, in plan order.
    pub actions: Vec<Action>,
}

/// Terms of the Workflow Run namespace that are used here. They are written into the context instead
/// of naming a second remote one, so that a reader needs the RO-Crate context alone.
const TERMS: [&str; 3] = ["resourceUsage", "sha256", "environment"];

fn id(id: &str) -> Value {
    json!({ "@id": id })
}

fn ids<'i>(list: impl IntoIterator<Item = &'i str>) -> Value {
    one_or_many(list.into_iter().map(id).collect())
}

/// A list of one is written as its member: so the specification wants it.
fn one_or_many(mut list: Vec<Value>) -> Value {
    if list.len() == 1 { list.remove(0) } else { list.into() }
}

/// A path as a relative URI.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for b in path.bytes() {
        match b {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => out.push(b as char),
            b'-' | b'_' | b'.' | b'~' | b'/' | b'+' | b'@' | b'=' => out.push(b as char),
            _ => out.push_str(&format!("%{b:02X}")),
        }
    }
    out
}

/// The stage of a label.
fn stage(label: &str) -> &str {
    &label[..label.find(['[', '/']).unwrap_or(label.len())]
}

impl Crate {
    /// The metadata, as JSON-LD.
    pub fn metadata(&self) -> Value {
        let mut graph = vec![
            json!({
                "@id": METADATA, "@type": "CreativeWork", "about": id("./"),
                "conformsTo": [id("https://w3id.org/ro/crate/1.1"), id(PROFILES[3].0)],
            }),
            self.root(),
        ];
        for (profile, name, version) in PROFILES {
            graph.push(json!({
                "@id": profile, "@type": "CreativeWork", "name": name, "version": version,
            }));
        }
        graph.push(json!({
            "@id": "#language", "@type": "ComputerLanguage", "name": "sim-pipe pipeline (TOML)",
            "alternateName": "sim-pipe", "version": self.version,
            "url": id("https://toml.io/en/v1.0.0"), "identifier": id("https://toml.io/en/v1.0.0"),
        }));
        graph.push(json!({
            "@id": "#sim-pipe", "@type": "SoftwareApplication", "name": "sim-pipe",
            "softwareVersion": self.version,
        }));
        let stages = self.stages();
        graph.extend(self.parts.iter().map(|p| self.part(p, &stages)));
        graph.extend(stages.iter().flat_map(|s| [s.tool(), s.step()]));
        let mut trees = BTreeMap::new();
        for action in &self.actions {
            self.action(action, &mut graph, &mut trees);
        }
        graph.extend(trees.into_values());
        self.whole(&mut graph);
        let mut context = Map::new();
        for term in TERMS {
            let at = format!("https://w3id.org/ro/terms/workflow-run#{term}");
            context.insert(term.to_owned(), at.into());
        }
        json!({ "@context": ["https://w3id.org/ro/crate/1.1/context", context], "@graph": graph })
    }

    fn root(&self) -> Value {
        let parts: Vec<String> = self.parts.iter().map(|p| uri(&p.path)).collect();
        let mut mentions = vec!["#run".to_owned(), "#organize".to_owned()];
        mentions.extend(self.actions.iter().map(Action::id));
        json!({
            "@id": "./", "@type": "Dataset", "name": self.name, "description": self.about,
            "datePublished": rfc3339(self.span().1), "license": self.licence,
            "conformsTo": ids(PROFILES.iter().map(|p| p.0)),
            "hasPart": ids(parts.iter().map(String::as_str)),
            "mainEntity": id(&uri(&self.pipeline)),
            "mentions": ids(mentions.iter().map(String::as_str)),
        })
    }

    /// Start of the first action and end of the last, milliseconds since 1970.
    fn span(&self) -> (u64, u64) {
        let start = self.actions.iter().map(|a| a.record.started_unix_ms).min().unwrap_or(0);
        let end = self.actions.iter().map(Action::ended).max().unwrap_or(0);
        (start, end)
    }

    fn stages(&self) -> Vec<Stage> {
        let mut out: Vec<Stage> = Vec::new();
        let mut known = BTreeSet::new();
        for action in &self.actions {
            let (name, kind) = (stage(&action.label), action.record.kind.as_str());
            if known.insert((name, kind)) {
                let fact = |path: &str| {
                    let found = action.record.components.iter().find(|c| c.path == path);
                    found.map(|c| c.value.clone()).unwrap_or_default()
                };
                out.push(Stage {
                    name: name.to_owned(),
                    kind: kind.to_owned(),
                    version: fact("kind.fingerprint"),
                    command: match kind {
                        "command" => {
                            crate::shell::line(action.record.argv.iter().map(String::as_str))
                        }
                        _ => String::new(),
                    },
                    position: out.len() + 1,
                });
            }
        }
        out
    }

    fn part(&self, part: &Part, stages: &[Stage]) -> Value {
        let mut out = Map::new();
        out.insert("@id".to_owned(), uri(&part.path).into());
        let folder = part.path.ends_with('/');
        out.insert("@type".to_owned(), if folder { "Dataset" } else { "File" }.into());
        out.insert("name".to_owned(), part.name.clone().into());
        for (key, value) in [
            ("description", part.about.as_str()),
            ("encodingFormat", part.media),
            ("sha256", part.sha256.as_str()),
        ] {
            if !value.is_empty() {
                out.insert(key.to_owned(), value.into());
            }
        }
        out.insert("contentSize".to_owned(), part.bytes.to_string().into());
        if part.path == self.pipeline {
            let types = ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"];
            out.insert("@type".to_owned(), json!(types));
            out.insert("programmingLanguage".to_owned(), id("#language"));
            let tools: Vec<String> = stages.iter().map(Stage::tool_id).collect();
            out.insert("hasPart".to_owned(), ids(tools.iter().map(String::as_str)));
            let steps: Vec<String> = stages.iter().map(Stage::step_id).collect();
            out.insert("step".to_owned(), ids(steps.iter().map(String::as_str)));
        }
        out.into()
    }

    fn action(&self, action: &Action, graph: &mut Vec<Value>, trees: &mut BTreeMap<String, Value>) {
        let r = &action.record;
        let mut things = |list: &[Thing]| -> Vec<Value> {
            list.iter()
                .map(|t| match t {
                    Thing::Part(path) => id(&uri(path)),
                    Thing::Tree { digest, name } => {
                        let tree = format!("#tree/{digest}");
                        trees.entry(tree.clone()).or_insert_with(|| {
                            json!({
                                "@id": tree, "@type": "PropertyValue", "name": name,
                                "propertyID": "urn:sim-pipe:tree", "value": digest,
                                "description": "A tree of the store, in the crate's archive",
                            })
                        });
                        id(&tree)
                    }
                })
                .collect()
        };
        let stage = Stage {
            name: stage(&action.label).to_owned(),
            kind: r.kind.clone(),
            version: String::new(),
            command: String::new(),
            position: 0,
        };
        let mut out = Map::new();
        let mut put = |key: &str, value: Value| {
            out.insert(key.to_owned(), value);
        };
        put("@id", action.id().into());
        put("@type", "CreateAction".into());
        put("name", action.label.clone().into());
        put(
            "description",
            format!("{} action, class {}, key {}", r.kind, r.class.name(), r.key).into(),
        );
        put("instrument", id(&stage.tool_id()));
        put("object", one_or_many(things(&action.inputs)));
        let mut made = things(&action.outputs);
        made.extend(action.log.iter().map(|log| id(&uri(log))));
        put("result", one_or_many(made));
        put("startTime", rfc3339(r.started_unix_ms).into());
        put("endTime", rfc3339(action.ended()).into());
        let well = matches!(r.status, Status::Ok);
        let status = if well { "CompletedActionStatus" } else { "FailedActionStatus" };
        put("actionStatus", id(&format!("http://schema.org/{status}")));
        if !well {
            put("error", format!("{}: {}", r.status.name(), r.reason).into());
        }
        let usage: Vec<(String, Value)> = [
            ("wall", "wall-clock time of the action", r.usage.wall_ms, ("ms", "C26")),
            ("cpu", "CPU time of its processes", r.usage.cpu_ms, ("ms", "C26")),
            (
                "memory",
                "peak resident memory of its processes",
                r.usage.peak_tree_bytes as f64,
                ("B", "AD"),
            ),
        ]
        .into_iter()
        .map(|(what, name, value, (unit, code))| {
            let at = format!("{}/{what}", action.id());
            let entity = json!({
                "@id": at, "@type": "PropertyValue", "name": name, "value": value.to_string(),
                "unitText": unit, "unitCode": code, "propertyID": format!("urn:sim-pipe:usage:{what}"),
            });
            (at, entity)
        })
        .collect();
        put("resourceUsage", ids(usage.iter().map(|(at, _)| at.as_str())));
        graph.push(out.into());
        graph.extend(usage.into_iter().map(|(_, entity)| entity));
        graph.push(json!({
            "@id": action.control_id(), "@type": "ControlAction",
            "name": format!("run {}", action.label), "instrument": id(&stage.step_id()),
            "object": id(&action.id()),
        }));
    }

    /// The run as one action, and the engine that organised it.
    fn whole(&self, graph: &mut Vec<Value>) {
        let (start, end) = self.span();
        let failed = self.actions.iter().filter(|a| a.record.status != Status::Ok).count();
        let mut sources = BTreeSet::new();
        for action in &self.actions {
            for (thing, input) in action.inputs.iter().zip(&action.record.inputs) {
                if let (Thing::Part(path), true) = (thing, input.key.is_none()) {
                    sources.insert(uri(path));
                }
            }
        }
        let results: Vec<String> = self.results.iter().map(|r| uri(r)).collect();
        let mut run = json!({
            "@id": "#run", "@type": "CreateAction", "name": format!("run {}", self.run),
            "instrument": id(&uri(&self.pipeline)),
            "object": ids(sources.iter().map(String::as_str)),
            "result": ids(results.iter().map(String::as_str)),
            "startTime": rfc3339(start), "endTime": rfc3339(end),
        });
        let status = if failed == 0 { "CompletedActionStatus" } else { "FailedActionStatus" };
        run["actionStatus"] = id(&format!("http://schema.org/{status}"));
        if failed > 0 {
            run["error"] = format!("{failed} actions did not end ok").into();
        }
        graph.push(run);
        let controls: Vec<String> = self.actions.iter().map(Action::control_id).collect();
        graph.push(json!({
            "@id": "#organize", "@type": "OrganizeAction", "name": format!("sim-pipe run {}", self.run),
            "instrument": id("#sim-pipe"), "object": ids(controls.iter().map(String::as_str)),
            "result": id("#run"), "startTime": rfc3339(start), "endTime": rfc3339(end),
        }));
    }
}

impl Action {
    fn id(&self) -> String {
        // Two labels can share a record: each is an action of the run.
        let label = uri(&self.label);
        format!("#action/{}/{}/{label}", self.record.key, self.record.generation)
    }

    fn control_id(&self) -> String {
        self.id().replacen("#action/", "#control/", 1)
    }

    fn ended(&self) -> u64 {
        self.record.started_unix_ms + self.record.usage.wall_ms.ceil() as u64
    }
}

/// The profiles that a crate conforms to.
const PROFILES: [(&str, &str, &str); 4] = [
    ("https://w3id.org/ro/wfrun/process/0.5", "Process Run Crate", "0.5"),
    ("https://w3id.org/ro/wfrun/workflow/0.5", "Workflow Run Crate", "0.5"),
    ("https://w3id.org/ro/wfrun/provenance/0.5", "Provenance Run Crate", "0.5"),
    ("https://w3id.org/workflowhub/workflow-ro-crate/1.0", "Workflow RO-Crate", "1.0"),
];

struct Stage {
    name: String,
    kind: String,
    version: String,
    command: String,
    position: usize,
}

impl Stage {
    fn tool_id(&self) -> String {
        format!("#tool/{}/{}", uri(&self.kind), uri(&self.name))
    }

    fn step_id(&self) -> String {
        format!("#step/{}/{}", uri(&self.kind), uri(&self.name))
    }

    fn tool(&self) -> Value {
        let about = match self.command.as_str() {
            "" => format!("Stage kind `{}`, compiled into sim-pipe", self.kind),
            command => format!("A command: {command}"),
        };
        json!({
            "@id": self.tool_id(), "@type": "SoftwareApplication",
            "name": format!("{} ({})", self.name, self.kind), "description": about,
            "softwareVersion": self.version,
        })
    }

    fn step(&self) -> Value {
        json!({
            "@id": self.step_id(), "@type": "HowToStep", "name": self.name,
            "position": self.position.to_string(), "workExample": id(&self.tool_id()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::tests::record;
    use sim_model::Class;
    use sim_model::record::RecordInput;

    fn sample() -> Crate {
        let mut made = record("make[a b]", Class::Pure, 1_000, 10.0);
        made.inputs =
            vec![RecordInput { name: "s".into(), tree: None, key: None, source: Some("s".into()) }];
        let mut failed = record("site", Class::Pure, 2_000, 10.0);
        (failed.status, failed.reason) = (Status::Failed, "exit code 3".into());
        let part = |path: &str| Part {
            path: path.into(),
            name: path.into(),
            about: String::new(),
            media: "",
            bytes: 3,
            sha256: String::new(),
        };
        Crate {
            name: "x".into(),
            about: "y".into(),
            licence: "not stated".into(),
            run: "r1".into(),
            version: "0.1.0".into(),
            pipeline: "pipeline.toml".into(),
            parts: vec![part("pipeline.toml"), part("sources/s/"), part("outputs/make a/")],
            results: vec!["outputs/make a/".into()],
            actions: vec![
                Action {
                    label: "make[a b]".into(),
                    record: made,
                    inputs: vec![Thing::Part("sources/s/".into())],
                    outputs: vec![Thing::Part("outputs/make a/".into())],
                    log: None,
                },
                Action {
                    label: "site".into(),
                    record: failed,
                    inputs: vec![Thing::Tree { digest: "abc".into(), name: "big".into() }],
                    outputs: vec![],
                    log: None,
                },
            ],
        }
    }

    #[test]
    fn every_reference_leads_to_an_entity_and_every_id_is_unique() {
        let metadata = sample().metadata();
        let graph = metadata["@graph"].as_array().expect("a graph");
        let known: BTreeSet<&str> = graph.iter().filter_map(|e| e["@id"].as_str()).collect();
        assert_eq!(known.len(), graph.len());
        fn references<'v>(value: &'v Value, out: &mut Vec<&'v str>) {
            match value {
                Value::Array(list) => list.iter().for_each(|v| references(v, out)),
                Value::Object(map) if map.len() == 1 => out.extend(map["@id"].as_str()),
                _ => {}
            }
        }
        for entity in graph {
            let mut out = Vec::new();
            entity.as_object().expect("an object").values().for_each(|v| references(v, &mut out));
            for to in out.into_iter().filter(|to| !to.starts_with("http")) {
                assert!(known.contains(to), "{to} in {entity}");
            }
        }
    }

    #[test]
    fn what_failed_is_said_to_have_failed() {
        let metadata = sample().metadata();
        let graph = metadata["@graph"].as_array().expect("a graph");
        let find = |name: &str| {
            let mut actions = graph.iter().filter(|e| e["@type"] == "CreateAction");
            actions.find(|e| e["name"] == name).expect("an action")
        };
        assert_eq!(find("site")["error"], "failed: exit code 3");
        assert_eq!(find("run r1")["error"], "1 actions did not end ok");
        assert_eq!(find("run r1")["object"]["@id"], "sources/s/");
        assert_eq!(find("run r1")["result"]["@id"], "outputs/make%20a/");
    }
}
