//! An action read back from the components that its record holds: what it was, and its key again.
//!
//! [`crate::Action::explain`] writes a key's components as text; this is the way back. It knows how
//! each component enters a key, not in which order: that is the order in which they stand. So a
//! component that was changed, moved, added or left out gives another key.

use crate::action::{Class, Component, InputDigest, KEY_DOMAIN, ManyEntry};
use crate::digest::{Canonical, Digest};
use crate::value::Value;
use std::collections::BTreeMap;

/// Why components describe no action.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("component `{path}` {problem}: {value:?}")]
pub struct DescribedError {
    /// Name of the component.
    pub path: String,
    /// What is wrong, as the end of a sentence.
    pub problem: &'static str,
    /// Its value.
    pub value: String,
}

/// What an action was, as far as its key tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// The key that the components give.
    pub key: Digest,
    /// Promise.
    pub class: Class,
    /// Stage kind.
    pub kind: String,
    /// Fingerprint of the kind's sources.
    pub fingerprint: String,
    /// Architecture and operating system.
    pub platform: String,
    /// Command line of a `command`, placeholders unexpanded.
    pub argv: Vec<String>,
    /// Arguments after defaults.
    pub args: BTreeMap<String, Value>,
    /// Seed.
    pub seed: u64,
    /// Inputs by content.
    pub inputs: BTreeMap<String, InputDigest>,
    /// Declared outputs.
    pub outputs: Vec<String>,
    /// Environment beyond the fixed one.
    pub env: BTreeMap<String, String>,
    /// Identities of outside tools.
    pub tools: BTreeMap<String, String>,
    /// Whether the network was reachable.
    pub network: bool,
    /// The machine's class or identity, for the two lower classes.
    pub machine: Option<Digest>,
    /// Repeat index.
    pub repeat: u32,
}

impl Described {
    /// Reads the components of a record, in their order.
    pub fn parse(components: &[Component]) -> Result<Self, DescribedError> {
        let mut reader = Reader { rest: components, key: Canonical::new(KEY_DOMAIN) };
        let mut out = Self {
            key: Digest::from_bytes([0; 32]),
            class: Class::Pure,
            kind: String::new(),
            fingerprint: String::new(),
            platform: String::new(),
            argv: Vec::new(),
            args: BTreeMap::new(),
            seed: 0,
            inputs: BTreeMap::new(),
            outputs: Vec::new(),
            env: BTreeMap::new(),
            tools: BTreeMap::new(),
            network: false,
            machine: None,
            repeat: 0,
        };
        while let Some(first) = reader.rest.first() {
            out.take(first, &mut reader)?;
        }
        out.key = reader.key.finish();
        Ok(out)
    }

    fn take(&mut self, c: &Component, reader: &mut Reader<'_>) -> Result<(), DescribedError> {
        match c.path.as_str() {
            "class" => {
                self.class = match reader.text(c) {
                    "pure" => Class::Pure,
                    "machine" => Class::Machine,
                    "measured" => Class::Measured,
                    _ => return Err(wrong(c, "is no class")),
                }
            }
            "kind" => reader.text(c).clone_into(&mut self.kind),
            "kind.fingerprint" => reader.text(c).clone_into(&mut self.fingerprint),
            "platform" => reader.text(c).clone_into(&mut self.platform),
            "seed" => self.seed = reader.number(c)?,
            "network" => self.network = reader.number(c)? != 0,
            "repeat" => {
                let n = reader.number(c)?;
                self.repeat = u32::try_from(n).map_err(|_| wrong(c, "is no repeat index"))?;
            }
            "machine.class" | "machine.identity" => self.machine = Some(reader.digest(c)?),
            path => {
                if let Some(name) = path.strip_prefix("inputs.") {
                    return self.input(name, c, reader);
                }
                if path.starts_with("args.") {
                    return self.arg(reader);
                }
                if let Some(name) = path.strip_prefix("env.") {
                    self.env.insert(name.to_owned(), reader.text(c).to_owned());
                } else if let Some(name) = path.strip_prefix("tools.") {
                    self.tools.insert(name.to_owned(), reader.text(c).to_owned());
                } else if path.starts_with("run[") {
                    self.argv.push(reader.text(c).to_owned());
                } else if path.starts_with("outputs[") {
                    self.outputs.push(reader.text(c).to_owned());
                } else {
                    return Err(wrong(c, "is part of no key"));
                }
            }
        }
        Ok(())
    }

    fn input(
        &mut self,
        name: &str,
        c: &Component,
        reader: &mut Reader<'_>,
    ) -> Result<(), DescribedError> {
        if c.value.parse::<Digest>().is_ok() {
            let tree = reader.digest(c)?;
            let mut input = InputDigest::Tree(tree);
            if let Some(at) = reader.rest.first().filter(|n| n.path == format!("{}.path", c.path)) {
                input = InputDigest::Placed { tree, at: reader.text(at).to_owned() };
            }
            self.inputs.insert(name.to_owned(), input);
            return Ok(());
        }
        let Some(name) = name.strip_suffix(".len") else {
            return Err(wrong(c, "is no digest"));
        };
        let members = reader.number(c)?;
        let prefix = format!("inputs.{name}[");
        let mut entries = BTreeMap::new();
        for _ in 0..members {
            let Some(member) = reader.rest.first() else {
                return Err(wrong(c, "counts more members than there are"));
            };
            let label = member.path.strip_prefix(&prefix).and_then(|l| l.strip_suffix(']'));
            let label = label.ok_or_else(|| wrong(member, "is no member of the list before it"))?;
            let tree = match member.value.as_str() {
                "(none)" => {
                    reader.absent(member);
                    None
                }
                _ => Some(reader.digest(member)?),
            };
            let outcome = reader
                .rest
                .first()
                .filter(|o| o.path == format!("{}.outcome", member.path))
                .ok_or_else(|| wrong(member, "has no outcome after it"))?;
            let outcome = reader.text(outcome).to_owned();
            entries.insert(label.to_owned(), ManyEntry { tree, outcome });
        }
        self.inputs.insert(name.to_owned(), InputDigest::Many(entries));
        Ok(())
    }

    /// One argument: a leaf, or all leaves of a table.
    fn arg(&mut self, reader: &mut Reader<'_>) -> Result<(), DescribedError> {
        let first = &reader.rest[0];
        let path = split(&first.path).ok_or_else(|| wrong(first, "has no readable name"))?;
        let name = path[1].clone();
        let mut value: Option<Value> = None;
        while let Some(c) = reader.rest.first() {
            let path = split(&c.path).ok_or_else(|| wrong(c, "has no readable name"))?;
            if path.len() < 2 || path[0] != "args" || path[1] != name {
                break;
            }
            let leaf = Value::parse(&c.value).ok_or_else(|| wrong(c, "is no value"))?;
            place(&mut value, &path[2..], leaf).ok_or_else(|| wrong(c, "is there twice"))?;
            reader.rest = &reader.rest[1..];
        }
        let Some(value) = value else { return Err(wrong(first, "has no value")) };
        reader.key.str(&format!("args.{name}")).tag(b'V');
        value.encode(&mut reader.key);
        self.args.insert(name, value);
        Ok(())
    }
}

fn wrong(c: &Component, problem: &'static str) -> DescribedError {
    DescribedError { path: c.path.clone(), problem, value: c.value.clone() }
}

/// Puts `leaf` at `path` below `top`; `None` where something is there already.
fn place(top: &mut Option<Value>, path: &[String], leaf: Value) -> Option<()> {
    let Some((first, rest)) = path.split_first() else {
        return top.replace(leaf).is_none().then_some(());
    };
    let Value::Map(map) = top.get_or_insert_with(|| Value::Map(BTreeMap::new())) else {
        return None;
    };
    let mut inner = map.remove(first);
    place(&mut inner, rest, leaf)?;
    map.insert(first.clone(), inner?);
    Some(())
}

/// The parts of a dotted name; a part that is no bare word stands in quotes.
fn split(path: &str) -> Option<Vec<String>> {
    let mut out = Vec::new();
    let mut rest = path;
    loop {
        let (part, after) = if rest.starts_with('"') {
            crate::value::unquote(rest)?
        } else {
            let end = rest.find('.').unwrap_or(rest.len());
            (rest[..end].to_owned(), &rest[end..])
        };
        out.push(part);
        match after.strip_prefix('.') {
            Some(more) => rest = more,
            None if after.is_empty() => return Some(out),
            None => return None,
        }
    }
}

/// Feeds what it takes to the key.
struct Reader<'a> {
    rest: &'a [Component],
    key: Canonical,
}

impl<'a> Reader<'a> {
    fn leaf(&mut self, c: &Component) -> &mut Canonical {
        self.rest = &self.rest[1..];
        self.key.str(&c.path)
    }

    fn text<'c>(&mut self, c: &'c Component) -> &'c str {
        self.leaf(c).tag(b'T').str(&c.value);
        &c.value
    }

    fn number(&mut self, c: &Component) -> Result<u64, DescribedError> {
        let n: u64 = c.value.parse().map_err(|_| wrong(c, "is no number"))?;
        // `007` is a number, and not what is written for it.
        if n.to_string() != c.value {
            return Err(wrong(c, "is no number as it is written"));
        }
        self.leaf(c).tag(b'N').u64(n);
        Ok(n)
    }

    fn digest(&mut self, c: &Component) -> Result<Digest, DescribedError> {
        let digest: Digest = c.value.parse().map_err(|_| wrong(c, "is no digest"))?;
        self.leaf(c).tag(b'D').bytes(digest.as_bytes());
        Ok(digest)
    }

    fn absent(&mut self, c: &Component) {
        self.leaf(c).tag(b'0');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Action;
    use crate::machine::Machine;

    fn machine() -> Machine {
        Machine {
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
        }
    }

    fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
        Value::Map(entries.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
    }

    fn texts(name: &str, value: &str) -> BTreeMap<String, String> {
        BTreeMap::from([(name.to_owned(), value.to_owned())])
    }

    /// Everything that a key can hold, odd names included.
    fn check(class: Class, change: impl FnOnce(&mut Vec<Component>)) -> (Digest, Digest) {
        let machine = machine();
        let args = BTreeMap::from([
            ("a".to_owned(), Value::Int(-3)),
            ("b".to_owned(), Value::Float(1e-7)),
            ("c".to_owned(), map([])),
            (
                "gates".to_owned(),
                map([
                    ("floor", Value::Float(1.0)),
                    ("odd.name =", map([("é\"\n", Value::str("x\ty\\\u{7f}\u{301}"))])),
                    ("list", Value::List(vec![map([("k v", Value::Bool(true))]), map([])])),
                ]),
            ),
            ("z".to_owned(), Value::List(vec![Value::List(vec![]), Value::str("],")])),
        ]);
        let many = |tree| ManyEntry { tree, outcome: "failed: exit code 3".to_owned() };
        let inputs = BTreeMap::from([
            ("one".to_owned(), InputDigest::Tree(Digest::of(b"1"))),
            (
                "placed".to_owned(),
                InputDigest::Placed { tree: Digest::of(b"2"), at: "src/x.py".to_owned() },
            ),
            (
                "many".to_owned(),
                InputDigest::Many(BTreeMap::from([
                    ("t[a].outcome".to_owned(), many(None)),
                    ("t[b]/x".to_owned(), many(Some(Digest::of(b"3")))),
                ])),
            ),
            ("none".to_owned(), InputDigest::Many(BTreeMap::new())),
        ]);
        let (env, tools) = (texts("A.B", "1"), texts("cc", "cc 12\nhash"));
        let action = Action {
            class,
            kind: "trial",
            fingerprint: "f00d",
            args: &args,
            argv: &["sh".to_owned(), "-c".to_owned(), "echo {out}".to_owned()],
            seed: u64::MAX,
            inputs: &inputs,
            outputs: &["x.json".to_owned()],
            env: &env,
            tools: &tools,
            platform: "x86_64-linux",
            network: true,
            machine: &machine,
            repeat: 4,
        };
        let mut components = action.explain();
        let read = Described::parse(&components).expect("what explain writes");
        assert_eq!((&read.args, &read.inputs), (&args, &inputs));
        assert_eq!((&read.env, &read.tools), (&env, &tools));
        assert_eq!((read.seed, read.network), (u64::MAX, true));
        assert_eq!(read.key, action.key());
        change(&mut components);
        let changed = Described::parse(&components);
        (action.key(), changed.map_or(Digest::of(b"unreadable"), |d| d.key))
    }

    #[test]
    fn components_give_their_key_again() {
        for class in [Class::Pure, Class::Machine, Class::Measured] {
            let (before, after) = check(class, |_| {});
            assert_eq!(before, after);
        }
    }

    #[test]
    fn every_change_of_a_component_gives_another_key() {
        let n = {
            let mut n = 0;
            check(Class::Measured, |c| n = c.len());
            n
        };
        for i in 0..n {
            let changed = check(Class::Measured, |c| c[i].value.push('0'));
            assert_ne!(changed.0, changed.1, "component {i}");
            let gone = check(Class::Measured, |c| drop(c.remove(i)));
            assert_ne!(gone.0, gone.1, "component {i}");
        }
        let moved = check(Class::Measured, |c| c.swap(0, 1));
        assert_ne!(moved.0, moved.1);
    }

    #[test]
    fn what_describes_no_action_is_named() {
        let one = |path: &str, value: &str| {
            let c = [Component { path: path.to_owned(), value: value.to_owned() }];
            Described::parse(&c).expect_err(path).to_string()
        };
        assert_eq!(one("class", "x"), "component `class` is no class: \"x\"");
        assert_eq!(one("seed", "x"), "component `seed` is no number: \"x\"");
        assert_eq!(one("args.a", "x"), "component `args.a` is no value: \"x\"");
        assert_eq!(one("inputs.a", "x"), "component `inputs.a` is no digest: \"x\"");
        assert_eq!(one("colour", "x"), "component `colour` is part of no key: \"x\"");
    }
}
