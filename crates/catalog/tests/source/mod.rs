//! A store in memory.

use sim_catalog::{Source, SourceError, TreeFile};
use sim_model::event::{EVENT_VERSION, Event, Line};
use sim_model::record::{RECORD_VERSION, TreeRef, Usage};
use sim_model::{Class, Component, Conditions, Digest, Machine, Record, Status};
use std::collections::BTreeMap;

#[derive(Default)]
pub(crate) struct Fake {
    pub(crate) records: Vec<Record>,
    pub(crate) trees: BTreeMap<Digest, BTreeMap<String, Vec<u8>>>,
}

pub(crate) fn machine() -> Machine {
    Machine {
        cpu_model: "Test CPU".into(),
        cpu_signature: "6/143/8".into(),
        cpu_features: vec!["avx2".into()],
        cpus: 2,
        ram_bytes: 1 << 34,
        os: "Test OS 1".into(),
        kernel: "6.1".into(),
        platform: "x86_64-linux".into(),
        gpus: vec![],
        installation: Digest::of(b"here"),
    }
}

fn record(label: &str, args: &[(&str, &str)]) -> Record {
    let components = args
        .iter()
        .map(|(k, v)| Component { path: format!("args.{k}"), value: (*v).into() })
        .collect();
    Record {
        version: RECORD_VERSION,
        key: Digest::of(label.as_bytes()),
        generation: 0,
        label: label.into(),
        kind: "trial".into(),
        class: Class::Measured,
        status: Status::Ok,
        reason: String::new(),
        output: None,
        inputs: vec![],
        components,
        argv: vec![],
        log: None,
        log_dropped: 0,
        sandbox: "namespaces".into(),
        started_unix_ms: 1_700_000_000_123,
        usage: Usage { wall_ms: 1500.0, cpu_ms: 1400.0, peak_tree_bytes: 1 << 25 },
        machine: machine(),
        conditions: Some(Conditions { load_before: Some(0.1), ..Conditions::default() }),
        limits: BTreeMap::from([("timeout_s".into(), 120.0)]),
        warnings: vec![],
        tool_version: "0.1.0".into(),
    }
}

const ARGS: &[(&str, &str)] = &[
    ("engine", "\"rapier\""),
    ("scenario", "\"box_pile\""),
    ("size", "100"),
    ("worlds", "1"),
    ("steps", "480"),
    ("timestep", "\"1/240\""),
    ("mode", "\"timed\""),
    ("backend", "\"cpu\""),
    ("threads", "1"),
];

fn result(status: &str) -> String {
    format!(
        r#"{{"protocol":1,"engine":{{"name":"rapier","version":"0.36.1"}},"backend":"cpu",
        "precision":"single","mode":"timed","outcome":{{"status":"{status}"}},
        "scene":{{"name":"box_pile","digest":"aa","dynamic_bodies":100,"static_bodies":1,"hinges":0,
        "timestep":0.004166666666666667}},"worlds":1,"steps":480,"warmup_steps":480,"threads":1,
        "seed":7,"phases":{{"setup_ns":5000,"measured_ns":480000000}},"ms_per_step":1.0,
        "world_steps_per_second":1000.0,"settings":{{"solver_iterations":4}},
        "translation":{{"exact":["shapes"],"approximated":[],"dropped":[]}},
        "counters":{{"contacts":400}},
        "accuracy":[{{"id":"roll","quantity":"place","error":0.25,"unit":"m","time_s":2.0}}],"gates":[{{"id":"floor_penetration","metric":"depth",
        "operator":"<=","limit":0.15,"value":0.01,"unit":"m","passed":{}}}]}}"#,
        status == "ok"
    )
}

impl Fake {
    fn put(&mut self, mut record: Record, result: Option<String>) {
        if let Some(text) = result {
            let digest = Digest::of(record.label.as_bytes());
            let bytes = text.len() as u64;
            self.trees.insert(digest, BTreeMap::from([("result.json".into(), text.into_bytes())]));
            record.output = Some(TreeRef { digest, bytes, files: 1 });
        }
        self.records.push(record);
    }

    pub(crate) fn with_trials(n: usize) -> Self {
        let mut fake = Self::default();
        for i in 0..n {
            let label = format!("trial[rapier]/box_pile/100x1/r{i}");
            fake.put(record(&label, ARGS), Some(result("ok")));
        }
        fake
    }

    pub(crate) fn with_failures() -> Self {
        let mut fake = Self::default();
        let mut r = record("trial[rapier]/a", ARGS);
        r.status = Status::TimedOut;
        r.reason = "no answer within 120 s, killed".into();
        fake.put(r, None);
        let mut r = record("trial[rapier]/b", ARGS);
        r.status = Status::GateFailed;
        r.reason = "floor_penetration".into();
        fake.put(r, Some(result("gate_failed")));
        fake
    }

    pub(crate) fn observe_again(&mut self, i: usize) {
        let again = Record { generation: 1, ..self.records[i].clone() };
        self.records.push(again);
    }
}

impl Source for Fake {
    fn records(&self) -> Result<Vec<Record>, SourceError> {
        Ok(self.records.clone())
    }

    fn list(&self, tree: &Digest) -> Result<Option<Vec<TreeFile>>, SourceError> {
        Ok(self.trees.get(tree).map(|files| {
            files
                .iter()
                .map(|(path, bytes)| TreeFile {
                    path: path.clone(),
                    bytes: bytes.len() as u64,
                    digest: Some(Digest::of(bytes)),
                    executable: false,
                    link: None,
                })
                .collect()
        }))
    }

    fn file(&self, tree: &Digest, path: &str) -> Result<Option<Vec<u8>>, SourceError> {
        Ok(self.trees.get(tree).and_then(|files| files.get(path)).cloned())
    }

    fn log(&self, _: &Digest) -> Result<Option<Vec<u8>>, SourceError> {
        Ok(None)
    }

    fn journal(&self) -> Result<Vec<Line>, SourceError> {
        let event = Event::RunStarted {
            pipeline: "round".into(),
            file: "pipelines/round.toml".into(),
            actions: 3,
            machine: machine().identity(),
            tool_version: "0.1.0".into(),
        };
        Ok(vec![Line { v: EVENT_VERSION, at_unix_ms: 1_700_000_000_000, run: "r1".into(), event }])
    }
}
