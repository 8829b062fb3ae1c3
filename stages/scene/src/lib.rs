//! The kind `scene`: one scenario at one size, as the engine-neutral JSON that every engine gets.

use fs_err as fs;
use sim_model::action::Class;
use sim_model::kind::{Cell, Draft, ExpandCtx, InputSpec, Kind, Param, ParamType, Place, Problem};
use sim_model::request::{Request, StageStatus, StatusFile};
use sim_model::value::Value;
use sim_stage_sdk::{IoContext, Stage, StageError, arg, ok, status};
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
        doc: "Number of dynamic bodies, exact.",
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
        let mut draft = draft(name, size.cast_unsigned(), timestep, cell.seed);
        draft.shared = None;
        draft.export = true;
        for (param, origin) in &cell.origins {
            draft.origins.insert(format!("args.{param}"), origin.clone());
        }
        Ok(vec![draft])
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
        let scene = match scenario.generate(size, request.seed, timestep) {
            Ok(scene) => scene,
            Err(e @ sim_scenes::SceneError::Size { .. }) => {
                return Ok(status(StageStatus::Refused, e.to_string()));
            }
            Err(e) => return Err(StageError::Failed(e.to_string())),
        };
        let path = dir.join("out/scene.json");
        fs::write(&path, sim_scenes::to_canonical_json(&scene)).at(&path)?;
        Ok(ok())
    }
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
