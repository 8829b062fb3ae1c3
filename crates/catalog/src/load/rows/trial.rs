//! Rows of one trial, from its record and its `result.json`.

use super::{Tables, noisy, reason, row, timestamp};
use crate::duck::Cell;
use crate::error::CatalogError;
use crate::source::Source;
use sim_engine_protocol::{
    Accuracy, Combine, JobResult, Mode, Precision, ProfileReport, SnapshotPhase,
    Status as JobStatus,
};
use sim_model::{Record, Status};

impl Tables {
    /// All rows of a trial. Where it left no result, its key's components say what was asked.
    pub(super) fn trial(&mut self, r: &Record, source: &dyn Source) -> Result<(), CatalogError> {
        let bytes = match &r.output {
            Some(output) => {
                source.file(&output.digest, "result.json").map_err(CatalogError::Source)?
            }
            None => None,
        };
        // A result that is not one leaves the row of the record.
        let result: Option<JobResult> = bytes.and_then(|b| serde_json::from_slice(&b).ok());
        self.trial_row(r, result.as_ref());
        let Some(result) = &result else { return Ok(()) };
        let (key, generation) = (r.key.to_string(), r.generation);
        let p = &result.phases;
        for (phase, ns) in [
            ("load", p.load_ns),
            ("setup", p.setup_ns),
            ("warmup", p.warmup_ns),
            ("reset", p.reset_ns),
            ("measured", p.measured_ns),
            ("readback", p.readback_ns),
        ] {
            if let Some(ns) = ns {
                self.add("phases", row![&key, generation, phase, ns]);
            }
        }
        for g in &result.gates {
            let operator = serde_json::to_value(g.operator).ok();
            let operator = operator.as_ref().and_then(|o| o.as_str());
            self.add(
                "gates",
                row![
                    &key, generation, &g.id, &g.metric, operator, g.limit, g.value, &g.unit,
                    g.passed
                ],
            );
        }
        for a in &result.accuracy {
            let Accuracy { id, quantity, error, unit, time_s } = a;
            self.add("accuracy", row![&key, generation, id, quantity, *error, unit, *time_s]);
        }
        self.memory(&key, generation, result);
        if let Some(profile) = &result.profile {
            self.add("device_time", device_time(&key, generation, profile));
        }
        Ok(())
    }

    fn memory(&mut self, key: &str, generation: u32, result: &JobResult) {
        let Some(memory) = &result.memory else { return };
        for m in &memory.metrics {
            self.add(
                "memory",
                row![
                    key,
                    generation,
                    &m.name,
                    m.peak_bytes,
                    m.sampled_peak_bytes,
                    m.samples,
                    &m.peak_counter,
                    &m.current_counter,
                    &m.method,
                    &m.scope,
                    m.unavailable.as_ref(),
                ],
            );
        }
        for s in &memory.snapshots {
            let phase = match s.phase {
                SnapshotPhase::BeforeSetup => "before_setup",
                SnapshotPhase::AfterSetup => "after_setup",
                SnapshotPhase::AfterWarmup => "after_warmup",
                SnapshotPhase::AfterReset => "after_reset",
                SnapshotPhase::AfterRollout => "after_rollout",
            };
            self.add(
                "memory_snapshots",
                row![key, generation, phase, s.ram_bytes, s.ram_peak_bytes],
            );
        }
    }

    fn trial_row(&mut self, r: &Record, result: Option<&JobResult>) {
        let asked = Asked(r);
        let scene = result.and_then(|x| x.scene.as_ref());
        let n = |asked: Option<u64>, found: Option<u64>| asked.or(found);
        let text = |name: &str, found: Option<String>| asked.text(name).or(found);
        let engine = text("engine", result.map(|x| x.engine.name.clone()));
        let backend = text("backend", result.map(|x| x.backend.clone()));
        let scenario = text("scenario", scene.map(|s| s.name.clone()));
        let mode = text("mode", result.map(|x| x.mode.as_str().to_owned()));
        let size = n(asked.count("size"), scene.map(|s| s.dynamic_bodies));
        let worlds = n(asked.count("worlds"), result.map(|x| x.worlds.into()));
        let steps = n(asked.count("steps"), result.map(|x| x.steps));
        let threads = n(asked.count("threads"), result.map(|x| x.threads.into()));
        let timestep = scene.map(|s| s.timestep).or_else(|| asked.number("timestep"));
        let repeat = asked.component("repeat").and_then(|v| v.parse::<u32>().ok());
        let counters = result.map(|x| x.counters.clone()).unwrap_or_default();
        let key = r.key.to_string();
        let machine = r.machine.identity();
        let settings = result.and_then(|x| serde_json::to_string(&x.settings).ok());
        self.add(
            "trials",
            row![
                &key,
                r.generation,
                true,
                &r.label,
                r.status.name(),
                reason(r),
                mode,
                engine.clone(),
                result.map(|x| x.engine.version.clone()),
                backend.clone(),
                result.map(|x| match x.precision {
                    Precision::Single => "single",
                    Precision::Double => "double",
                }),
                scenario.clone(),
                size,
                worlds,
                steps,
                result.map(|x| x.warmup_steps),
                timestep,
                threads,
                repeat,
                asked.component("seed").map(str::to_owned),
                result.and_then(|x| x.ms_per_step),
                result.and_then(|x| x.world_steps_per_second),
                counters.contacts,
                counters.constraints,
                counters.solver_iterations,
                counters.overflow,
                counters.resets,
                counters.awake_bodies,
                counters.simulated_bodies,
                settings,
                result.and_then(|x| x.final_state_digest.clone()),
                scene.map(|s| s.digest.clone()),
                &machine,
                noisy(r),
                timestamp(r.started_unix_ms),
            ],
        );
        let Some(x) = result else { return };
        let counts = r.status == Status::Ok && x.outcome.status == JobStatus::Ok;
        if counts && x.mode == Mode::Timed && x.phases.measured_ns.is_some() {
            let row: Vec<Cell> = row![
                &key,
                r.generation,
                engine,
                backend,
                threads,
                scenario,
                size,
                worlds,
                steps,
                timestep,
                repeat,
                x.phases.measured_ns,
                x.ms_per_step,
                x.world_steps_per_second,
                &machine,
                noisy(r),
            ];
            self.add("samples", row);
        }
    }
}

/// What was asked of an action, from its key's components.
struct Asked<'a>(&'a Record);

impl Asked<'_> {
    fn component(&self, path: &str) -> Option<&str> {
        self.0.components.iter().find(|c| c.path == path).map(|c| c.value.as_str())
    }

    /// An argument without the quotes that texts have in components.
    fn text(&self, name: &str) -> Option<String> {
        let value = self.component(&format!("args.{name}"))?;
        Some(serde_json::from_str(value).unwrap_or_else(|_| value.to_owned()))
    }

    fn count(&self, name: &str) -> Option<u64> {
        self.text_or_number(name)?.parse().ok()
    }

    fn number(&self, name: &str) -> Option<f64> {
        let text = self.text_or_number(name)?;
        match text.split_once('/') {
            Some((a, b)) => Some(a.trim().parse::<f64>().ok()? / b.trim().parse::<f64>().ok()?),
            None => text.parse().ok(),
        }
    }

    fn text_or_number(&self, name: &str) -> Option<String> {
        let value = self.component(&format!("args.{name}"))?;
        Some(value.trim_matches('"').to_owned())
    }
}

/// What a profile replay found. Without timestamps every number is absent.
fn device_time(key: &str, generation: u32, profile: &ProfileReport) -> Vec<Cell> {
    let (time, why) = match profile {
        ProfileReport::Timestamps(time) => (Some(time), None),
        ProfileReport::None { reason } | ProfileReport::Unavailable { reason } => {
            (None, Some(format!("{}: {reason}", profile.capability())))
        }
    };
    let combined = |t: &sim_engine_protocol::DeviceTime| match t.combine {
        Combine::Sum => Some(t.sum_ns),
        Combine::Union => t.union_ns,
    };
    let combine = time.map(|t| match t.combine {
        Combine::Sum => "sum",
        Combine::Union => "union",
    });
    row![
        key,
        generation,
        time.and_then(combined),
        time.map(|t| t.ms_per_step),
        time.map(|t| t.method.as_str()),
        time.map(|t| t.scope.as_str()),
        combine,
        time.and_then(|t| t.overlap_ns),
        why
    ]
}
