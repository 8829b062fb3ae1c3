//! What a job asks for, and what is driven in which world.

use serde::Deserialize;
use sim_vehicle::batch::{Law, Resets};
use sim_vehicle::config::Config;
use sim_vehicle::scenario::{Action, Scenario};
use std::f64::consts::TAU;

/// Worlds of a job.
const MOST_WORLDS: u32 = 1 << 20;
/// Contacts of a world.
const MOST_ROOM: u32 = 1 << 16;

/// `JOB.json`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Job {
    format: u32,
    /// The MJCF's file, relative to the job's folder.
    pub(crate) model: String,
    pub(crate) config: Config,
    backend: String,
    pub(crate) worlds: u32,
    /// Control steps.
    pub(crate) steps: u64,
    /// How long they take, s: what `steps` was made from, where it was.
    #[serde(default, rename = "duration_s")]
    _duration_s: Option<f64>,
    /// Physics step, s.
    pub(crate) timestep: f64,
    pub(crate) contacts_per_world: u32,
    pub(crate) constraints_per_world: u32,
    pub(crate) chunk_steps: u32,
    pub(crate) warmup_chunks: u32,
    actions: Option<Vec<Action>>,
    law: Option<Law>,
    resets: Option<Resets>,
    #[serde(default)]
    pub(crate) telemetry: bool,
}

impl Job {
    /// From JSON. The error says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let job: Self = serde_json::from_str(text).map_err(|e| e.to_string())?;
        if job.format != super::FORMAT {
            return Err(format!("the job has format {}, this knows {}", job.format, super::FORMAT));
        }
        if job.backend != "cpu" {
            return Err(format!("backend {}: this adapter has cpu", job.backend));
        }
        for (name, value, most) in [
            ("worlds", job.worlds, MOST_WORLDS),
            ("chunk_steps", job.chunk_steps, u32::MAX),
            ("contacts_per_world", job.contacts_per_world, MOST_ROOM),
            ("constraints_per_world", job.constraints_per_world, MOST_ROOM),
        ] {
            if value == 0 || value > most {
                return Err(format!("{name} is {value}: from 1 to {most}"));
            }
        }
        if job.resets.as_ref().is_some_and(|r| r.every_steps == 0 || r.groups == 0) {
            return Err("resets: every_steps and groups are at least 1".to_owned());
        }
        job.config.check().map_err(|e| format!("config: {e}"))?;
        let odd = |l: &Law| l.targets == 0 || l.steering_period_s <= 0.0 || l.least > l.most;
        if job.law.as_ref().is_some_and(odd) {
            return Err("law: targets at least 1, a period above 0, least at most most".to_owned());
        }
        let mut actions = job.actions.iter().flatten();
        if actions.any(|a| a.hold_speed.as_ref().is_some_and(|h| h.least > h.most)) {
            return Err("actions: hold_speed's least is above its most".to_owned());
        }
        if job.actions.is_some() == job.law.is_some() {
            return Err("a job has either `actions` or a `law`".to_owned());
        }
        Ok(job)
    }

    /// Which worlds go back to the start before a control step; none where no world does.
    pub(crate) fn reset_at(&self, step: u64) -> Option<Vec<bool>> {
        let r = self.resets.as_ref()?;
        let every = u64::from(r.every_steps);
        if step == 0 || !step.is_multiple_of(every) {
            return None;
        }
        let group = (step / every - 1) % u64::from(r.groups);
        let mask: Vec<bool> = (0..self.worlds).map(|w| u64::from(w % r.groups) == group).collect();
        mask.contains(&true).then_some(mask)
    }
}

/// What is driven: steering angle, rad, and acceleration, m/s², of each world.
pub(crate) enum Drive<'a> {
    /// The same in all worlds, by time.
    Schedule(Scenario, usize),
    /// A speed that each world holds and a sine that it steers, out of phase with the others.
    Law(&'a Law, usize),
}

impl<'a> Drive<'a> {
    pub(crate) fn new(job: &'a Job) -> Self {
        let worlds = job.worlds as usize;
        if let Some(law) = &job.law {
            return Self::Law(law, worlds);
        }
        let actions = job.actions.clone().unwrap_or_default();
        let scenario = Scenario::of_actions("driven", 0.0, actions);
        Self::Schedule(scenario, worlds)
    }

    /// At the control step that begins at `seconds`; `speed` is each world's at its rear axle, m/s.
    pub(crate) fn actions(&self, step: u64, seconds: f64, speed: &[f64]) -> Vec<[f64; 2]> {
        match self {
            Self::Schedule(s, worlds) => {
                (0..*worlds).map(|w| s.action(seconds, speed[w])).collect()
            }
            Self::Law(law, worlds) => (0..*worlds)
                .map(|w| {
                    let mut action = [0.0; 2];
                    if step >= u64::from(law.speed_from_step) {
                        let own = (w % law.targets as usize) as f64;
                        let target = law.target_mps + law.target_step_mps * own;
                        action[1] = (law.gain * (target - speed[w])).clamp(law.least, law.most);
                    }
                    if step >= u64::from(law.steering_from_step) {
                        let phase = TAU * w as f64 / *worlds as f64;
                        let turn = TAU * seconds / law.steering_period_s + phase;
                        action[0] = law.steering_amplitude_rad * turn.sin();
                    }
                    action
                })
                .collect(),
        }
    }
}
