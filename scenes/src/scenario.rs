//! The list of scenarios and what each says of itself.

use crate::{Builder, Continuum, FOLDERS, Generate, Rng};
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
    /// The published model it is made of, where it is made of one.
    pub source: Option<SourcePin>,
    /// The material whose points its dynamic bodies are, where they are such.
    pub continuum: Option<Continuum>,
    generate: Generate,
}

/// A published model within a file of the Python Package Index, by digest.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourcePin {
    /// Package.
    pub package: String,
    /// Exact version.
    pub version: String,
    /// File name: a wheel.
    pub file: String,
    /// SHA-256 of the file, hexadecimal.
    pub sha256: String,
    /// Path of the model within the file.
    pub model: String,
    /// Path of a file with its keyframes, where they are not in the model.
    #[serde(default)]
    pub keys: Option<String>,
    /// SPDX identifier of the model's licence.
    pub licence: String,
    /// Path of the licence's text within the file.
    pub licence_file: String,
}

/// The texts that a pin names.
#[derive(Clone, Debug, Default)]
pub struct SourceFiles {
    /// The model.
    pub model: String,
    /// The file with its keyframes, where that is another one.
    pub keys: Option<String>,
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
    #[serde(default)]
    source: Option<SourcePin>,
    #[serde(default, rename = "mpm")]
    continuum: Option<Continuum>,
}

/// Why there is no scene.
#[derive(Debug, thiserror::Error)]
pub enum SceneError {
    /// The size is outside what the scenario is made for.
    #[error("size = {size}: {scenario} takes from {min} to {max} bodies, robots or points")]
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
    /// The source is not what the recipe takes.
    #[error("{scenario}: {problem}")]
    Source {
        /// Scenario name.
        scenario: &'static str,
        /// What is wrong with it.
        problem: String,
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
                source: file.source,
                continuum: file.continuum,
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
    /// The scene of size `size` with a timestep of `dt` seconds: exactly so many dynamic bodies,
    /// or robots.
    pub fn generate(&self, size: u64, seed: u64, dt: f64) -> Result<Scene, SceneError> {
        self.generate_from(size, seed, dt, None)
    }

    /// The same, of a scenario that is made of a published model: `files` are what
    /// [`Scenario::source`] names.
    pub fn generate_from(
        &self,
        size: u64,
        seed: u64,
        dt: f64,
        files: Option<&SourceFiles>,
    ) -> Result<Scene, SceneError> {
        let (scenario, min, max) = (self.name, self.min_size, self.max_size);
        if !(min..=max).contains(&size) {
            return Err(SceneError::Size { scenario, size, min, max });
        }
        let source = self.source.as_ref().zip(files);
        let mut builder = Builder::new(scenario, dt, source, self.continuum.as_ref());
        (self.generate)(&mut builder, size, &mut Rng::new(seed));
        let scene = builder.finish().map_err(|problem| SceneError::Source { scenario, problem })?;
        scene.validate().map_err(|problems| SceneError::Invalid { scenario, problems })?;
        Ok(scene)
    }

    /// Whether there is a scene of that size and timestep (s), as far as can be said without making
    /// it and beside the range of sizes: material points form a cube, and their substeps are short
    /// enough for their cells. The error says what to change.
    pub fn check(&self, size: u64, dt: f64) -> Result<(), String> {
        self.continuum.as_ref().map_or(Ok(()), |c| c.check(size, dt))
    }

    /// What a size counts: `robots`, `points` of a material, or `dynamic bodies`.
    pub fn counts(&self) -> &'static str {
        match (&self.source, &self.continuum) {
            (Some(_), _) => "robots",
            (_, Some(_)) => "points",
            _ => "dynamic bodies",
        }
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
