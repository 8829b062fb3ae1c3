//! The kind `scene`: one scenario at one size, as the engine-neutral JSON that every engine gets.
//!
//! A robot's scene is made of a published model: the file that holds it is fetched by digest and is an
//! input, so it is in the key; beside `scene.json` stand the model as published (`source.xml`), the
//! model as every engine loads it (`model.xml`) and its licence (`LICENSE`).

use fs_err as fs;
use sim_model::action::Class;
use sim_model::kind::{
    Cell, Draft, DraftInput, ExpandCtx, InputSpec, Kind, Param, ParamType, Place, Problem,
};
use sim_model::plan::Origin;
use sim_model::request::{Request, StageStatus, StatusFile};
use sim_model::value::Value;
use sim_scenes::{SourceFiles, SourcePin};
use sim_stage_fetch::FilePin;
use sim_stage_sdk::{IoContext, Stage, StageError, arg, input, ok, status};
use std::io::Read as _;
use std::path::Path;

/// The kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scene;

const PARAMS: &[Param] = &[
    Param {
        name: "scenario",
        ty: ParamType::Str,
        required: true,
        doc: "Name of a folder below scenes/.",
    },
    Param {
        name: "size",
        ty: ParamType::Int { min: 1, max: 10_000_000 },
        required: true,
        doc: "Number of dynamic bodies, exact; of robots, for a robot; of points, for a material.",
    },
    Param {
        name: "timestep",
        ty: ParamType::Str,
        required: false,
        doc: "Physics step in seconds, as a number or a fraction such as `1/240`. Default: the scenario's.",
    },
];

/// The draft of a scene action, shared by everything that wants the same scene.
///
/// `timestep` is in seconds; it enters the key as the number, so `1/240` and its decimal are one.
pub fn draft(scenario: &str, size: u64, timestep: f64, seed: u64) -> Draft {
    let mut draft = Draft::new("scene", Class::Pure);
    draft.args.insert("scenario".into(), scenario.into());
    draft.args.insert("size".into(), Value::Int(size.cast_signed()));
    draft.args.insert("timestep".into(), Value::float(timestep).unwrap_or(Value::Float(0.0)));
    draft.outputs = vec!["scene.json".into()];
    draft.seed = seed;
    draft.shared = Some(format!("scene/{scenario}/{size}@{}#{seed}", step_name(timestep)));
    draft.export = false;
    draft
}

/// A timestep (s) as people write it: `1/240` where it is the fraction of a whole number, else the
/// number.
fn step_name(timestep: f64) -> String {
    let inverse = (1.0 / timestep).round();
    if inverse >= 2.0 && 1.0 / inverse == timestep {
        return format!("1/{inverse}");
    }
    timestep.to_string()
}

/// The fetch of the published model that a scenario is made of, where it is made of one, shared by
/// everything that wants the same file.
pub fn source_draft(scenario: &str) -> Option<Draft> {
    let pin = sim_scenes::find(scenario)?.source.as_ref()?;
    let mut draft = sim_stage_fetch::file_draft(&FilePin {
        from: "pypi".into(),
        package: pin.package.clone(),
        version: pin.version.clone(),
        file: pin.file.clone(),
        integrity: format!("sha256-{}", pin.sha256),
    });
    for name in draft.args.keys() {
        let origin = Origin::Derived(format!("scenes/{scenario}/scene.toml"));
        draft.origins.insert(format!("args.{name}"), origin);
    }
    Some(draft)
}

/// Gives a scene's draft the file that `source_draft` fetches; `fetch` is that draft's place among the
/// drafts of its stage.
pub fn take_source(draft: &mut Draft, scenario: &str, fetch: usize) {
    let Some(pin) = sim_scenes::find(scenario).and_then(|s| s.source.as_ref()) else { return };
    let file = DraftInput::Draft { index: fetch, subpath: Some(pin.file.clone()) };
    draft.inputs.insert("source".into(), file);
    draft.outputs.extend([SOURCE, MODEL, LICENCE].map(str::to_owned));
}

/// The published model, as it was published.
const SOURCE: &str = "source.xml";
/// The model that every engine loads.
const MODEL: &str = "model.xml";
/// The published model's licence.
const LICENCE: &str = "LICENSE";

/// Reads a timestep: a positive number or a fraction of two, in seconds.
pub fn parse_timestep(text: &str) -> Result<f64, String> {
    let (a, b) = text.split_once('/').unwrap_or((text, "1"));
    let number = |t: &str| t.trim().parse::<f64>().ok();
    number(a)
        .zip(number(b))
        .map(|(a, b)| a / b)
        .filter(|dt| dt.is_finite() && *dt > 0.0 && *dt <= 1.0)
        .ok_or_else(|| format!("`{text}` is no timestep: give seconds in (0, 1], such as `1/240`"))
}

/// The scenario of this name, or a problem that lists those there are.
pub fn find(name: &str, place: Place) -> Result<&'static sim_scenes::Scenario, Problem> {
    sim_scenes::find(name).ok_or_else(|| {
        let names: Vec<&str> = sim_scenes::scenarios().iter().map(|s| s.name).collect();
        Problem {
            place,
            message: format!("there is no scenario `{name}`"),
            hint: Some(format!("the scenarios are {}", names.join(", "))),
        }
    })
}

impl Kind for Scene {
    fn name(&self) -> &'static str {
        "scene"
    }

    fn summary(&self) -> &'static str {
        "Generates one scene as engine-neutral JSON."
    }

    fn class(&self) -> Class {
        Class::Pure
    }

    fn fingerprint(&self) -> &'static str {
        env!("SIM_FINGERPRINT")
    }

    fn params(&self) -> &'static [Param] {
        PARAMS
    }

    fn inputs(&self) -> &'static [InputSpec] {
        &[]
    }

    fn expand(&self, cell: &Cell, _: &mut dyn ExpandCtx) -> Result<Vec<Draft>, Vec<Problem>> {
        let name = cell.params.get("scenario").and_then(Value::as_str).unwrap_or_default();
        let size = cell.params.get("size").and_then(Value::as_int).unwrap_or_default();
        let scenario = find(name, Place::Param("scenario".into())).map_err(|p| vec![p])?;
        let timestep = match cell.params.get("timestep").and_then(Value::as_str) {
            None => scenario.default_timestep(),
            Some(text) => parse_timestep(text).map_err(|message| {
                vec![Problem { place: Place::Param("timestep".into()), message, hint: None }]
            })?,
        };
        let checked = scenario.check(size.cast_unsigned(), timestep);
        checked.map_err(|message| {
            vec![Problem { place: Place::Param("size".into()), message, hint: None }]
        })?;
        let mut draft = draft(name, size.cast_unsigned(), timestep, cell.seed);
        draft.shared = None;
        draft.export = true;
        for (param, origin) in &cell.origins {
            draft.origins.insert(format!("args.{param}"), origin.clone());
        }
        let Some(fetch) = source_draft(name) else { return Ok(vec![draft]) };
        take_source(&mut draft, name, 0);
        Ok(vec![fetch, draft])
    }
}

impl Stage for Scene {
    fn run(&self, request: &Request, dir: &Path) -> Result<StatusFile, StageError> {
        let name: String = arg(request, "scenario")?;
        let (size, timestep): (u64, f64) = (arg(request, "size")?, arg(request, "timestep")?);
        let scenario = sim_scenes::find(&name).ok_or_else(|| StageError::Argument {
            name: "scenario".into(),
            problem: format!("is `{name}`, which is no scenario"),
        })?;
        let source = scenario.source.as_ref().map(|pin| unpack(pin, request, dir)).transpose()?;
        let files = source.as_ref().map(|s| &s.files);
        let scene = match scenario.generate_from(size, request.seed, timestep, files) {
            Ok(scene) => scene,
            Err(e @ sim_scenes::SceneError::Size { .. }) => {
                return Ok(status(StageStatus::Refused, e.to_string()));
            }
            Err(e) => return Err(StageError::Failed(e.to_string())),
        };
        let write = |name: &str, text: &str| {
            let path = dir.join("out").join(name);
            fs::write(&path, text).at(&path)
        };
        if let Some(Source { files, licence }) = &source {
            let model = scene.robot.as_ref().map(|r| r.model.as_str());
            write(SOURCE, &files.model)?;
            write(MODEL, model.unwrap_or_default())?;
            write(LICENCE, licence)?;
        }
        let path = dir.join("out/scene.json");
        fs::write(&path, sim_scenes::to_canonical_json(&scene)).at(&path)?;
        Ok(ok())
    }
}

/// What is taken out of a fetched file.
struct Source {
    files: SourceFiles,
    licence: String,
}

fn unpack(pin: &SourcePin, request: &Request, dir: &Path) -> Result<Source, StageError> {
    let path = input(request, dir, "source")?;
    let bad = |member: &str, e: &dyn std::fmt::Display| {
        StageError::Failed(format!("{member} out of {}: {e}", pin.file))
    };
    let file = fs::File::open(&path).at(&path)?;
    let mut zip = zip::ZipArchive::new(file).map_err(|e| bad("a member", &e))?;
    let mut text = |member: &str| {
        let mut text = String::new();
        let mut entry = zip.by_name(member).map_err(|e| bad(member, &e))?;
        entry.read_to_string(&mut text).map_err(|e| bad(member, &e))?;
        Ok::<String, StageError>(text)
    };
    let keys = pin.keys.as_deref().map(&mut text).transpose()?;
    let files = SourceFiles { model: text(&pin.model)?, keys };
    Ok(Source { files, licence: text(&pin.licence_file)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_name_a_timestep_as_people_write_it() {
        let label = |dt: f64| draft("roll", 4, dt, 7).shared.expect("a scene is shared");
        assert_eq!(label(1.0 / 240.0), "scene/roll/4@1/240#7");
        assert_eq!(label(0.002), "scene/roll/4@1/500#7");
        assert_eq!(label(0.0023), "scene/roll/4@0.0023#7");
        assert_eq!(label(1.0), "scene/roll/4@1#7");
    }
}
