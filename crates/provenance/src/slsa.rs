//! One action as an attestation: an in-toto Statement v1 with a SLSA Provenance v1 predicate.
//!
//! The statement is not signed. It says what a record says, in words that verifiers of supply chains
//! read: the files of the output are its subjects, the inputs its resolved dependencies.

use crate::moment::rfc3339;
use serde::Serialize;
use serde_json::{Map, Value, json};
use sim_model::{Class, Component, Described, Record};
use std::collections::BTreeMap;

/// `_type` of a statement.
pub const STATEMENT: &str = "https://in-toto.io/Statement/v1";
/// `predicateType` of its predicate.
pub const PREDICATE: &str = "https://slsa.dev/provenance/v1";
/// What gives `buildType` and `builder.id` their meaning: docs/provenance.md of the project.
const NAMESPACE: &str = "urn:sim-pipe";

/// A thing by name, place and digest; in-toto's ResourceDescriptor.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// Name, such as a path within an output.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// URI.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uri: String,
    /// Digests by algorithm, in hexadecimal digits.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub digest: BTreeMap<String, String>,
    /// Further facts.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub annotations: Map<String, Value>,
}

/// A file of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Path within the output.
    pub path: String,
    /// SHA-256 of its bytes, hexadecimal.
    pub sha256: String,
    /// BLAKE3 of its bytes, hexadecimal.
    pub blake3: String,
}

/// The name of a tree of the store as a URI.
pub fn tree_uri(digest: &impl std::fmt::Display) -> String {
    format!("{NAMESPACE}:tree:{digest}")
}

/// The name of an action as a URI.
pub fn action_uri(key: &impl std::fmt::Display, generation: u32) -> String {
    format!("{NAMESPACE}:action:{key}:{generation}")
}

/// The statement about one record. `subjects` are the files of its output, of which there must be one:
/// a statement about nothing is none.
pub fn statement(record: &Record, label: &str, subjects: &[Subject]) -> Option<Value> {
    if subjects.is_empty() {
        return None;
    }
    let subjects: Vec<Resource> = subjects
        .iter()
        .map(|s| Resource {
            name: s.path.clone(),
            digest: BTreeMap::from([
                ("blake3".to_owned(), s.blake3.clone()),
                ("sha256".to_owned(), s.sha256.clone()),
            ]),
            ..Resource::default()
        })
        .collect();
    Some(json!({
        "_type": STATEMENT,
        "subject": subjects,
        "predicateType": PREDICATE,
        "predicate": {
            "buildDefinition": {
                "buildType": format!("{NAMESPACE}:build:{}:v1", record.kind),
                "externalParameters": external(record, label),
                "internalParameters": internal(record),
                "resolvedDependencies": dependencies(record),
            },
            "runDetails": {
                "builder": {
                    "id": format!("{NAMESPACE}:builder:{}", record.sandbox),
                    "version": { "sim-pipe": record.tool_version },
                },
                "metadata": {
                    "invocationId": action_uri(&record.key, record.generation),
                    "startedOn": rfc3339(record.started_unix_ms),
                    "finishedOn": rfc3339(record.started_unix_ms + record.usage.wall_ms.ceil() as u64),
                },
                "byproducts": byproducts(record),
            },
        },
    }))
}

/// What whoever asked for the action could choose.
fn external(record: &Record, label: &str) -> Value {
    let mut out = Map::new();
    out.insert("label".to_owned(), label.into());
    match Described::parse(&record.components) {
        Ok(d) => {
            let args: Map<String, Value> =
                d.args.iter().map(|(k, v)| (k.clone(), v.to_json())).collect();
            out.insert("arguments".to_owned(), args.into());
            out.insert("command".to_owned(), d.argv.into());
            // As text: JSON's readers lose digits of large numbers.
            out.insert("seed".to_owned(), d.seed.to_string().into());
            out.insert("outputs".to_owned(), d.outputs.into());
            out.insert("environment".to_owned(), json!(d.env));
            out.insert("network".to_owned(), d.network.into());
        }
        // A record of a later format: its components as they stand are better than none.
        Err(_) => {
            let pair = |c: &Component| (c.path.clone(), Value::from(c.value.clone()));
            let all: Map<String, Value> = record.components.iter().map(pair).collect();
            out.insert("components".to_owned(), all.into());
        }
    }
    out.into()
}

/// What sim-pipe added.
fn internal(record: &Record) -> Value {
    let fact = |path: &str| {
        let found = record.components.iter().find(|c| c.path == path);
        found.map_or(Value::Null, |c| c.value.clone().into())
    };
    let mut out = Map::new();
    out.insert("key".to_owned(), record.key.to_string().into());
    out.insert("generation".to_owned(), record.generation.into());
    out.insert("class".to_owned(), record.class.name().into());
    out.insert("kindFingerprint".to_owned(), fact("kind.fingerprint"));
    out.insert("platform".to_owned(), fact("platform"));
    out.insert("commandLine".to_owned(), record.argv.clone().into());
    out.insert("limits".to_owned(), json!(record.limits));
    if record.class != Class::Pure {
        out.insert("machine".to_owned(), json!(record.machine.parts()));
        out.insert("machineIdentity".to_owned(), record.machine.identity().to_string().into());
    }
    if let Some(conditions) = &record.conditions {
        out.insert("conditions".to_owned(), json!(conditions));
    }
    out.into()
}

fn dependencies(record: &Record) -> Vec<Resource> {
    let mut out: Vec<Resource> = record
        .inputs
        .iter()
        .filter_map(|i| {
            let tree = i.tree?;
            let mut annotations = Map::new();
            if let Some(key) = i.key {
                annotations.insert("action".to_owned(), key.to_string().into());
            }
            if let Some(source) = &i.source {
                annotations.insert("source".to_owned(), source.clone().into());
            }
            Some(Resource {
                name: i.name.clone(),
                uri: tree_uri(&tree),
                digest: BTreeMap::from([("simPipeTreeV1".to_owned(), tree.to_string())]),
                annotations,
            })
        })
        .collect();
    for c in &record.components {
        if let Some(tool) = c.path.strip_prefix("tools.") {
            out.push(Resource {
                name: format!("tool {tool}"),
                annotations: Map::from_iter([("identity".to_owned(), c.value.clone().into())]),
                ..Resource::default()
            });
        }
    }
    out
}

fn byproducts(record: &Record) -> Vec<Resource> {
    let mut out = Vec::new();
    if let Some(log) = record.log {
        out.push(Resource {
            name: "log".to_owned(),
            digest: BTreeMap::from([("blake3".to_owned(), log.to_string())]),
            ..Resource::default()
        });
    }
    if let Some(tree) = &record.output {
        out.push(Resource {
            name: "output".to_owned(),
            uri: tree_uri(&tree.digest),
            digest: BTreeMap::from([("simPipeTreeV1".to_owned(), tree.digest.to_string())]),
            annotations: Map::from_iter([
                ("status".to_owned(), record.status.name().into()),
                ("reason".to_owned(), record.reason.clone().into()),
            ]),
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::tests::record;
    use sim_model::Digest;
    use sim_model::record::RecordInput;

    #[test]
    fn a_statement_names_subjects_inputs_and_the_run() {
        let mut r = record("trial/x/r0", Class::Measured, 1_000, 20.5);
        r.inputs = vec![
            RecordInput {
                name: "scene".into(),
                tree: Some(Digest::of(b"scene")),
                key: Some(Digest::of(b"maker")),
                source: None,
            },
            RecordInput { name: "missing".into(), tree: None, key: None, source: None },
        ];
        let put = |path: &str, value: &str| Component { path: path.into(), value: value.into() };
        r.components = vec![
            put("class", "measured"),
            put("args.steps", "240"),
            put("seed", "18446744073709551615"),
            put("tools.cc", "cc 12"),
        ];
        let subject =
            Subject { path: "result.json".into(), sha256: "ab".into(), blake3: "cd".into() };
        let s = statement(&r, "as/asked", &[subject]).expect("a statement");
        assert_eq!(s["_type"], STATEMENT);
        assert_eq!(s["subject"][0]["digest"]["sha256"], "ab");
        let definition = &s["predicate"]["buildDefinition"];
        assert_eq!(definition["externalParameters"]["label"], "as/asked");
        assert_eq!(definition["externalParameters"]["arguments"]["steps"], 240);
        assert_eq!(definition["externalParameters"]["seed"], "18446744073709551615");
        let inputs = definition["resolvedDependencies"].as_array().expect("a list");
        assert_eq!(inputs.len(), 2, "an input that gave nothing is no dependency: {inputs:?}");
        assert_eq!(inputs[0]["annotations"]["action"], Digest::of(b"maker").to_string());
        assert_eq!(inputs[1]["name"], "tool cc");
        assert!(definition["internalParameters"]["machine"]["cpu_model"].is_string());
        let metadata = &s["predicate"]["runDetails"]["metadata"];
        assert_eq!(metadata["startedOn"], "1970-01-01T00:00:01.000Z");
        assert_eq!(metadata["finishedOn"], "1970-01-01T00:00:01.021Z");
        assert_eq!(statement(&r, "x", &[]), None);
    }
}
