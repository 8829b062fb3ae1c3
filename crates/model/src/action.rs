//! A fully described action, its key, and the explanation of the key.

use crate::digest::{Canonical, Digest};
use crate::machine::Machine;
use crate::value::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The domain of action keys. A change of the encoding takes a new version here.
pub const KEY_DOMAIN: &str = "sim-pipe action key v1";

/// What a record of an action promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Same key, same bytes, anywhere.
    Pure,
    /// Same key, same bytes on machines of one class.
    Machine,
    /// An observation, bound to one machine.
    Measured,
}

impl Class {
    /// The word used in pipeline files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pure => "pure",
            Self::Machine => "machine",
            Self::Measured => "measured",
        }
    }
}

/// What an input holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputDigest {
    /// One tree.
    Tree(Digest),
    /// Files of the project that the action also finds under their own path, which it can see.
    Placed {
        /// The content.
        tree: Digest,
        /// The path, or the fixed part of a glob.
        at: String,
    },
    /// Many trees, each under a label, in label order. A missing one (its action failed) is `None`
    /// with the reason in the label's place.
    Many(BTreeMap<String, ManyEntry>),
}

/// One member of a fan-in input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManyEntry {
    /// The tree, or `None` where the action gave none.
    pub tree: Option<Digest>,
    /// The outcome (`ok`, `gate_failed` …) with its reason.
    pub outcome: String,
}

/// Everything that can change the result of one process run.
#[derive(Clone, Debug)]
pub struct Action<'a> {
    /// The promise.
    pub class: Class,
    /// Name of the stage kind.
    pub kind: &'a str,
    /// Fingerprint of the kind's source closure.
    pub fingerprint: &'a str,
    /// Arguments after defaults.
    pub args: &'a BTreeMap<String, Value>,
    /// The command line, for `command` actions; empty otherwise.
    pub argv: &'a [String],
    /// Seed for everything random.
    pub seed: u64,
    /// Inputs by content.
    pub inputs: &'a BTreeMap<String, InputDigest>,
    /// Declared outputs; empty means "whatever is in out/".
    pub outputs: &'a [String],
    /// Environment given to the action beyond the fixed one.
    pub env: &'a BTreeMap<String, String>,
    /// Identity of each outside tool (`rustc`, `cc`, `python3` …).
    pub tools: &'a BTreeMap<String, String>,
    /// Architecture and operating system.
    pub platform: &'a str,
    /// Whether the network is reachable.
    pub network: bool,
    /// The machine, for the two lower classes.
    pub machine: &'a Machine,
    /// Which repeat of an otherwise equal measured action this is.
    pub repeat: u32,
}

/// One component of a key, as shown to people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// Dotted name: `args.steps`, `inputs.engine`, `kind.fingerprint`.
    pub path: String,
    /// The value as text.
    pub value: String,
}

/// Receives the walk over an action. One implementor hashes, the other explains.
trait Walk {
    fn leaf(&mut self, path: &str, value: Leaf<'_>);
}

enum Leaf<'a> {
    Text(&'a str),
    Number(u64),
    Value(&'a Value),
    Digest(&'a Digest),
    Absent,
}

struct Hashing(Canonical);

impl Walk for Hashing {
    fn leaf(&mut self, path: &str, value: Leaf<'_>) {
        self.0.str(path);
        match value {
            Leaf::Text(t) => self.0.tag(b'T').str(t),
            Leaf::Number(n) => self.0.tag(b'N').u64(n),
            Leaf::Value(v) => {
                self.0.tag(b'V');
                v.encode(&mut self.0);
                &mut self.0
            }
            Leaf::Digest(d) => self.0.tag(b'D').bytes(d.as_bytes()),
            Leaf::Absent => self.0.tag(b'0'),
        };
    }
}

#[derive(Default)]
struct Explaining(Vec<Component>);

impl Walk for Explaining {
    fn leaf(&mut self, path: &str, value: Leaf<'_>) {
        // A table argument is shown leaf by leaf, so that a difference names the leaf.
        if let Leaf::Value(Value::Map(map)) = value {
            if map.is_empty() {
                self.0.push(Component { path: path.to_owned(), value: "{}".to_owned() });
            }
            for (k, v) in map {
                self.leaf(&format!("{path}.{}", crate::value::name(k)), Leaf::Value(v));
            }
            return;
        }
        let value = match value {
            Leaf::Text(t) => t.to_owned(),
            Leaf::Number(n) => n.to_string(),
            Leaf::Value(v) => v.to_string(),
            Leaf::Digest(d) => d.to_string(),
            Leaf::Absent => "(none)".to_owned(),
        };
        self.0.push(Component { path: path.to_owned(), value });
    }
}

impl Action<'_> {
    /// The one walk. Order and names are part of the key's definition.
    fn walk(&self, w: &mut dyn Walk) {
        w.leaf("class", Leaf::Text(self.class.name()));
        w.leaf("kind", Leaf::Text(self.kind));
        w.leaf("kind.fingerprint", Leaf::Text(self.fingerprint));
        w.leaf("platform", Leaf::Text(self.platform));
        for (i, word) in self.argv.iter().enumerate() {
            w.leaf(&format!("run[{i}]"), Leaf::Text(word));
        }
        for (name, value) in self.args {
            w.leaf(&format!("args.{name}"), Leaf::Value(value));
        }
        w.leaf("seed", Leaf::Number(self.seed));
        for (name, input) in self.inputs {
            match input {
                InputDigest::Tree(d) => w.leaf(&format!("inputs.{name}"), Leaf::Digest(d)),
                InputDigest::Placed { tree, at } => {
                    w.leaf(&format!("inputs.{name}"), Leaf::Digest(tree));
                    w.leaf(&format!("inputs.{name}.path"), Leaf::Text(at));
                }
                InputDigest::Many(entries) => {
                    w.leaf(&format!("inputs.{name}.len"), Leaf::Number(entries.len() as u64));
                    for (label, entry) in entries {
                        let path = format!("inputs.{name}[{label}]");
                        match &entry.tree {
                            Some(d) => w.leaf(&path, Leaf::Digest(d)),
                            None => w.leaf(&path, Leaf::Absent),
                        }
                        w.leaf(&format!("{path}.outcome"), Leaf::Text(&entry.outcome));
                    }
                }
            }
        }
        for (i, name) in self.outputs.iter().enumerate() {
            w.leaf(&format!("outputs[{i}]"), Leaf::Text(name));
        }
        for (name, value) in self.env {
            w.leaf(&format!("env.{name}"), Leaf::Text(value));
        }
        for (name, value) in self.tools {
            w.leaf(&format!("tools.{name}"), Leaf::Text(value));
        }
        w.leaf("network", Leaf::Number(u64::from(self.network)));
        match self.class {
            Class::Pure => {}
            Class::Machine => w.leaf("machine.class", Leaf::Digest(&self.machine.class())),
            Class::Measured => {
                w.leaf("machine.identity", Leaf::Digest(&self.machine.identity()));
                w.leaf("repeat", Leaf::Number(u64::from(self.repeat)));
            }
        }
    }

    /// The key: BLAKE3 over the canonical encoding of the walk.
    pub fn key(&self) -> Digest {
        let mut h = Hashing(Canonical::new(KEY_DOMAIN));
        self.walk(&mut h);
        h.0.finish()
    }

    /// The components of the key as text, in the order in which they enter it.
    pub fn explain(&self) -> Vec<Component> {
        let mut e = Explaining::default();
        self.walk(&mut e);
        e.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine {
            cpu_model: "Test CPU".into(),
            cpu_signature: "6/143/8".into(),
            cpu_features: vec!["avx2".into(), "fma".into()],
            cpus: 2,
            ram_bytes: 1 << 34,
            os: "Debian 12".into(),
            kernel: "6.18".into(),
            platform: "x86_64-linux".into(),
            gpus: vec![],
            installation: Digest::of(b"here"),
        }
    }

    struct Parts {
        args: BTreeMap<String, Value>,
        argv: Vec<String>,
        inputs: BTreeMap<String, InputDigest>,
        outputs: Vec<String>,
        env: BTreeMap<String, String>,
        tools: BTreeMap<String, String>,
        machine: Machine,
    }

    impl Parts {
        fn new() -> Self {
            Self {
                args: BTreeMap::from([
                    ("steps".into(), Value::Int(480)),
                    (
                        "gates".into(),
                        Value::Map(BTreeMap::from([("floor".into(), Value::Float(0.15))])),
                    ),
                ]),
                argv: vec![],
                inputs: BTreeMap::from([("scene".into(), InputDigest::Tree(Digest::of(b"scene")))]),
                outputs: vec!["result.json".into()],
                env: BTreeMap::new(),
                tools: BTreeMap::new(),
                machine: machine(),
            }
        }

        fn action(&self, class: Class) -> Action<'_> {
            Action {
                class,
                kind: "trial",
                fingerprint: "f00d",
                args: &self.args,
                argv: &self.argv,
                seed: 7,
                inputs: &self.inputs,
                outputs: &self.outputs,
                env: &self.env,
                tools: &self.tools,
                platform: "x86_64-linux",
                network: false,
                machine: &self.machine,
                repeat: 0,
            }
        }
    }

    /// Golden vectors: if one changes, every stored result is lost to every user. Change them only
    /// together with [`KEY_DOMAIN`], and say so in the changelog.
    #[test]
    fn golden_keys() {
        let p = Parts::new();
        let keys: Vec<String> = [Class::Pure, Class::Machine, Class::Measured]
            .map(|c| p.action(c).key().to_string())
            .to_vec();
        assert_eq!(keys, GOLDEN);
    }

    const GOLDEN: [&str; 3] = [
        "cacf43187742993ad9475e6eebd04b6bf3bc70be9cb592f48d6b7e12842da7e1",
        "7748c70f93acd594c2ce3030ea023749563f143924466f7a5e91325f7a5b5520",
        "0b4e5c33803101b89b2d9dec84a80d6ec78686cf414dec003408808eaddfedbc",
    ];

    #[test]
    fn a_pure_key_does_not_know_the_machine_and_a_measured_one_does() {
        let p = Parts::new();
        let mut q = Parts::new();
        q.machine.kernel = "6.19".into();
        assert_eq!(p.action(Class::Pure).key(), q.action(Class::Pure).key());
        assert_eq!(p.action(Class::Machine).key(), q.action(Class::Machine).key());
        assert_ne!(p.action(Class::Measured).key(), q.action(Class::Measured).key());
        q.machine.cpu_features.push("avx512f".into());
        assert_ne!(p.action(Class::Machine).key(), q.action(Class::Machine).key());
    }

    #[test]
    fn the_explanation_names_the_leaf_that_differs() {
        let p = Parts::new();
        let mut q = Parts::new();
        q.args.insert(
            "gates".into(),
            Value::Map(BTreeMap::from([("floor".into(), Value::Float(0.2))])),
        );
        let (a, b) = (p.action(Class::Pure).explain(), q.action(Class::Pure).explain());
        let differing: Vec<_> = a.iter().zip(&b).filter(|(x, y)| x != y).collect();
        assert_eq!(differing.len(), 1);
        assert_eq!(differing[0].0.path, "args.gates.floor");
        assert_eq!((differing[0].0.value.as_str(), differing[0].1.value.as_str()), ("0.15", "0.2"));
        assert_ne!(p.action(Class::Pure).key(), q.action(Class::Pure).key());
    }

    #[test]
    fn every_component_reaches_the_key() {
        let base = Parts::new();
        let other_inputs =
            BTreeMap::from([("scene".into(), InputDigest::Tree(Digest::of(b"other")))]);
        let many = |outcome: &str| {
            BTreeMap::from([(
                "scene".to_owned(),
                InputDigest::Many(BTreeMap::from([(
                    "a".to_owned(),
                    ManyEntry { tree: None, outcome: outcome.to_owned() },
                )])),
            )])
        };
        let (m1, m2) = (many("ok"), many("failed"));
        let placed = |at: &str| {
            let tree = Digest::of(b"scene");
            BTreeMap::from([("scene".to_owned(), InputDigest::Placed { tree, at: at.to_owned() })])
        };
        let (p1, p2) = (placed("a.txt"), placed("b.txt"));
        let env = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
        let argv = vec!["true".to_owned()];
        let a = || base.action(Class::Measured);
        let variants = [
            a(),
            Action { kind: "scene", ..a() },
            Action { fingerprint: "beef", ..a() },
            Action { seed: 8, ..a() },
            Action { inputs: &other_inputs, ..a() },
            Action { inputs: &p1, ..a() },
            Action { inputs: &p2, ..a() },
            Action { inputs: &m1, ..a() },
            Action { inputs: &m2, ..a() },
            Action { env: &env, ..a() },
            Action { tools: &env, ..a() },
            Action { argv: &argv, ..a() },
            Action { outputs: &[], ..a() },
            Action { platform: "aarch64-linux", ..a() },
            Action { network: true, ..a() },
            Action { repeat: 1, ..a() },
            Action { class: Class::Machine, ..a() },
        ];
        let distinct: std::collections::BTreeSet<_> = variants.iter().map(Action::key).collect();
        assert_eq!(distinct.len(), variants.len());
    }
}
