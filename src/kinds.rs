//! The registry of stage kinds. Adding a kind is adding a crate and one line here.

use sim_plan::Registry;
use sim_stage_sdk::Stage;

/// Kinds that are compiled in and run as `sim-pipe stage KIND`.
pub(crate) fn stages() -> Vec<Box<dyn Stage>> {
    vec![
        Box::new(sim_stage_fetch::Fetch),
        Box::new(sim_stage_build_engine::BuildEngine),
        Box::new(sim_stage_scene::Scene),
        Box::new(sim_stage_trial::Trial),
        Box::new(sim_stage_trial::SuiteFacts),
        Box::new(sim_stage_render::Render),
        Box::new(sim_stage_report::Report),
        Box::new(sim_stage_protocol::ProtocolKind),
        Box::new(sim_stage_batch_protocol::BatchProtocolKind),
        Box::new(sim_stage_calibrate::Calibrate),
        Box::new(sim_stage_calibrate::Calibration),
    ]
}

/// All kinds, for the planner: those above and `command`, which needs no program of ours.
pub(crate) fn registry() -> Registry {
    let mut kinds: Vec<Box<dyn sim_model::kind::Kind>> = vec![Box::new(sim_plan::Command)];
    kinds.extend(stages().into_iter().map(|s| s as Box<dyn sim_model::kind::Kind>));
    Registry::new(kinds)
}
