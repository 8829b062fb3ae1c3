//! The list of scenarios and what each says of itself.

use crate::{Builder, FOLDERS, Generate, Rng};
use serde::Deserialize;
use sim_engine_protocol::{FieldError, Gates, Scene};
use std::sync::OnceLock;

/// One scenario: a generator and what it says of itself.
#[derive(Debug)]
pub struct Scenario {
    /// Folder name, such as `box_pile`.
    pub name: &'static str,
    /// One line for tables.
    pub title: String,
    /// What it tests, in plain words.
    pub tests: String,
    /// Licence of the scenario, and where it came from.
    pub licence: String,
    /// Who has an interest in its outcome.
    pub interest: String,
    /// Default timestep as a fraction, such as `1/240`, s.
    pub timestep: String,
    /// Default number of steps.
    pub steps: u64,
    /// Smallest size that makes sense, dynamic bodies.
    pub min_size: u64,
    /// Largest size it is made for, dynamic bodies.
    pub max_size: u64,
    /// Its gates.
    pub gates: Gates,
    generate: Generate,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SceneFile {
    title: String,
    tests: String,
    licence: String,
    interest: String,
    timestep: String,
    steps: u64,
    min_size: u64,
    max_size: u64,
    #[serde(default)]
    gates: Gates,
}

/// Why there is no scene.
#[derive(Debug, thiserror::Error)]
pub enum SceneError {
    /// The size is outside what the scenario is made for.
    #[error("size = {size}: {scenario} takes from {min} to {max} dynamic bodies")]
    Size {
        /// Scenario name.
        scenario: &'static str,
        /// Size asked for.
        size: u64,
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// The arguments lead to a scene that breaks its own contract.
    #[error("{scenario}: {}", list(.problems))]
    Invalid {
        /// Scenario name.
        scenario: &'static str,
        /// What is wrong, field by field.
        problems: Vec<FieldError>,
    },
}

fn list(problems: &[FieldError]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// All scenarios, by name.
pub fn scenarios() -> &'static [Scenario] {
    static LIST: OnceLock<Vec<Scenario>> = OnceLock::new();
    LIST.get_or_init(|| {
        let read = |&(name, text, generate): &(&'static str, &str, Generate)| {
            // The tests parse every file, so this cannot fail in a build that passed them.
            let file: SceneFile = toml::from_str(text)
                .unwrap_or_else(|e| panic!("scenes/{name}/scene.toml is not a scene file: {e}"));
            Scenario {
                name,
                title: file.title,
                tests: file.tests.trim().to_owned(),
                licence: file.licence,
                interest: file.interest,
                timestep: file.timestep,
                steps: file.steps,
                min_size: file.min_size,
                max_size: file.max_size,
                gates: file.gates,
                generate,
            }
        };
        FOLDERS.iter().map(read).collect()
    })
}

/// The scenario of that name.
pub fn find(name: &str) -> Option<&'static Scenario> {
    scenarios().iter().find(|s| s.name == name)
}

impl Scenario {
    /// The scene with exactly `size` dynamic bodies and a timestep of `dt` seconds.
    pub fn generate(&self, size: u64, seed: u64, dt: f64) -> Result<Scene, SceneError> {
        let (scenario, min, max) = (self.name, self.min_size, self.max_size);
        if !(min..=max).contains(&size) {
            return Err(SceneError::Size { scenario, size, min, max });
        }
        let mut builder = Builder::new(scenario, dt);
        (self.generate)(&mut builder, size, &mut Rng::new(seed));
        let scene = builder.finish();
        scene.validate().map_err(|problems| SceneError::Invalid { scenario, problems })?;
        Ok(scene)
    }

    /// The default timestep in seconds.
    pub fn default_timestep(&self) -> f64 {
        parse_fraction(&self.timestep).expect("the tests parse every default timestep")
    }
}

/// `a/b` or `a` as a number.
fn parse_fraction(text: &str) -> Option<f64> {
    let (a, b) = text.split_once('/').unwrap_or((text, "1"));
    let (a, b): (f64, f64) = (a.trim().parse().ok()?, b.trim().parse().ok()?);
    Some(a / b).filter(|x| x.is_finite() && *x > 0.0)
}

/// The one text of a scene: JSON in field order without spaces, shortest digits that read back
/// to the same number, a final newline.
pub fn to_canonical_json(scene: &Scene) -> String {
    // Only a map with keys that are not strings could fail, and a scene has none.
    serde_json::to_string(scene).expect("a scene is plain data") + "\n"
}
