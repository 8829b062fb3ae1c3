//! The verdict: differences to the plant, metrics of every scale, and the gates on both.

use crate::plots::plots;
use crate::report::{AgreementReport, Check, EngineHead, FORMAT, Head, Report, ScaleReport};
use crate::run::BatchRun;
use crate::{config, lengths, scale_input, text};
use fs_err as fs;
use sha2::{Digest as _, Sha256};
use sim_model::request::{Request, StageStatus, StatusFile};
use sim_protocol::Op;
use sim_stage_sdk::{IoContext, StageError, arg, input, ok, status};
use sim_vehicle::agreement::differences;
use sim_vehicle::batch::{BatchProtocol, Scale, metrics};
use sim_vehicle::telemetry::Telemetry;
use std::fmt::Write as _;
use std::path::Path;

pub(crate) fn run(
    request: &Request,
    dir: &Path,
    fingerprint: &str,
) -> Result<StatusFile, StageError> {
    let protocol_text = text(request, dir, "protocol")?;
    let protocol = BatchProtocol::parse(&protocol_text).map_err(StageError::Failed)?;
    let control_dt = config(request, dir)?.simulation.control_dt_s;
    let backend: String = arg(request, "backend")?;
    let whole: bool = arg(request, "whole")?;
    let (reference, agreement) =
        (input(request, dir, "reference")?, input(request, dir, "agreement")?);
    let driven = BatchRun::read(&agreement)?;
    let runs = protocol
        .scales
        .iter()
        .map(|scale| BatchRun::read(&input(request, dir, &scale_input(scale.worlds))?))
        .collect::<Result<Vec<_>, StageError>>()?;
    let scales = protocol.scales.iter().zip(&runs);
    let scales = scales.map(|(scale, run)| scale_report(&protocol, scale, run)).collect();
    let compared = telemetry(&reference)
        .and_then(|a| Ok((telemetry(&agreement)?, a)))
        .map_err(|e| e.to_string());
    let rows = compared.as_ref().ok().map(|(driven, plant)| (plant, driven));
    let plots = plots(&protocol, rows, &runs, control_dt);
    let agreed = agreement_report(&protocol, &driven, compared);
    let plant = plant_version(&reference)?;
    let report = Report {
        format: FORMAT,
        protocol: head(
            &protocol,
            control_dt,
            fingerprint,
            &protocol_text,
            &text(request, dir, "config")?,
            &text(request, dir, "model")?,
        )?,
        engine: EngineHead {
            name: driven.engine,
            version: driven.version,
            backend: driven.backend,
            precision: driven.precision,
            versions: driven.versions,
            plant_version: plant,
        },
        passed: false,
        failures: Vec::new(),
        agreement: agreed,
        scales,
        not_measured: not_measured(&protocol, &backend, whole),
    };
    let report = judged(report);
    for (name, bytes) in [
        ("report.json", json("report", &report)?),
        ("plots.json", json("plots", &plots)?),
        ("checks.csv", checks_csv(&report)),
        ("scales.csv", scales_csv(&report)),
    ] {
        let path = dir.join("out").join(name);
        fs::write(&path, bytes).at(&path)?;
    }
    if report.passed {
        return Ok(ok());
    }
    let list = report.failures.join(", ");
    Ok(status(StageStatus::GateFailed, format!("{} checks fail: {list}", report.failures.len())))
}

fn json<T: serde::Serialize>(what: &str, value: &T) -> Result<String, StageError> {
    let text = serde_json::to_string_pretty(value);
    let text =
        text.map_err(|e| StageError::Failed(format!("the {what} cannot be written as JSON: {e}")))?;
    Ok(text + "\n")
}

/// Which checks fail. A run that ended early fails by itself, whatever its checks say.
fn judged(mut report: Report) -> Report {
    let failed = |checks: &[Check]| {
        checks.iter().filter(|c| !c.passed).map(|c| c.id.clone()).collect::<Vec<_>>()
    };
    let mut failures = failed(&report.agreement.checks);
    if report.agreement.error.is_some() {
        failures.push("agreement.runtime_error".to_owned());
    }
    for scale in &report.scales {
        failures.extend(failed(&scale.checks));
        if scale.error.is_some() {
            failures.push(format!("scale.{}.runtime_error", scale.worlds));
        }
    }
    report.passed = failures.is_empty();
    report.failures = failures;
    report
}

fn telemetry(folder: &Path) -> Result<Telemetry, StageError> {
    let path = folder.join("telemetry.bin");
    let bytes = fs::read(&path).at(&path)?;
    Telemetry::from_bytes(&bytes)
        .map_err(|e| StageError::Failed(format!("{}: {e}", path.display())))
}

fn plant_version(folder: &Path) -> Result<String, StageError> {
    let path = folder.join("run.json");
    let text = fs::read_to_string(&path).at(&path)?;
    let run: serde_json::Value = serde_json::from_str(&text)
        .map_err(|e| StageError::Failed(format!("{}: {e}", path.display())))?;
    Ok(run.get("version").and_then(|v| v.as_str()).unwrap_or_default().to_owned())
}

fn agreement_report(
    protocol: &BatchProtocol,
    run: &BatchRun,
    compared: Result<(Telemetry, Telemetry), String>,
) -> AgreementReport {
    let rows = compared.as_ref().map_or(0, |(driven, _)| driven.rows());
    let found = compared.and_then(|(driven, plant)| differences(&plant, &driven));
    let value = |name: &str| found.as_ref().ok().and_then(|d| d.get(name).copied());
    let limits = protocol.agreement.limits.iter();
    let checks = limits
        .map(|(name, limit)| {
            Check::of(format!("agreement.{name}"), name, Op::AtMost, *limit, value(name))
        })
        .collect();
    let error = run.error.clone().or(found.err());
    AgreementReport { rows, checks, error }
}

fn scale_report(protocol: &BatchProtocol, scale: &Scale, run: &BatchRun) -> ScaleReport {
    let found = metrics(&run.chunks, run.unique_terminal_states, run.memory_at_start_bytes);
    let gates = protocol.gates.iter().filter(|g| scale.worlds >= g.from_worlds);
    let checks = gates
        .map(|g| {
            let side = g.op.word();
            let id = format!("scale.{}.{}.{side}", scale.worlds, g.metric);
            Check::of(id, &g.metric, g.op, g.limit, found.get(g.metric.as_str()).copied())
        })
        .collect();
    let seconds = |ns: u64| ns as f64 * 1e-9;
    let measured = seconds(run.measured_ns);
    let whole = run.error.is_none() && measured > 0.0;
    let rate = whole.then(|| f64::from(run.worlds) * run.steps as f64 / measured);
    ScaleReport {
        worlds: scale.worlds,
        steps: run.steps,
        declared_steps: scale.steps,
        setup_s: seconds(run.setup_ns),
        warmup_s: seconds(run.warmup_ns),
        measured_s: measured,
        transitions_per_s: rate,
        world_physics_steps_per_s: rate.map(|r| r * f64::from(run.substeps)),
        peak_memory_bytes: run.chunks.iter().filter_map(|c| c.memory_bytes).max(),
        checks,
        error: run.error.clone(),
    }
}

/// What the published protocol asks for beyond this run.
fn not_measured(protocol: &BatchProtocol, backend: &str, whole: bool) -> Vec<String> {
    let mut list = Vec::new();
    if backend == "cpu" {
        list.push(
            "GPU: throughput, compile time and memory of the device; this is backend cpu".into(),
        );
    }
    list.push("peak memory of a device, at most 95 % of a GPU's: memory here is the host's".into());
    for scale in &protocol.scales {
        let (steps, warmup) = lengths(protocol, scale, backend, whole);
        if steps != scale.steps {
            let (worlds, whole) = (scale.worlds, scale.steps);
            list.push(format!("{worlds} worlds for {whole} steps: backend {backend} ran {steps}"));
        }
        let whole = protocol.protocol.warmup_chunks;
        if warmup != whole {
            let worlds = scale.worlds;
            list.push(format!("{worlds} worlds: {warmup} of {whole} chunks of warm-up"));
        }
    }
    list.push(
        "native warnings of the engine: counted by the plant alone; overflows are counted by every \
         engine"
            .into(),
    );
    list
}

fn head(
    protocol: &BatchProtocol,
    control_dt_s: f64,
    fingerprint: &str,
    protocol_text: &str,
    config_text: &str,
    model_text: &str,
) -> Result<Head, StageError> {
    // Without comments and layout, so that only what it says counts.
    let canonical = serde_json::to_string(protocol)
        .map_err(|e| StageError::Failed(format!("the protocol cannot be written as JSON: {e}")))?;
    let identity = [&canonical, config_text, fingerprint].map(|t| sha256(t.as_bytes())).join("\n");
    Ok(Head {
        name: protocol.protocol.name.clone(),
        physics_dt_s: protocol.protocol.physics_dt_s,
        control_dt_s,
        identity: sha256(identity.as_bytes()),
        source_fingerprint: fingerprint.to_owned(),
        protocol_sha256: sha256(protocol_text.as_bytes()),
        config_sha256: sha256(config_text.as_bytes()),
        model_sha256: sha256(model_text.as_bytes()),
    })
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

fn checks_csv(report: &Report) -> String {
    let mut out = String::from("id,metric,operator,limit,value,passed\n");
    let scales = report.scales.iter().flat_map(|s| &s.checks);
    for c in report.agreement.checks.iter().chain(scales) {
        let value = c.value.map(|v| v.to_string()).unwrap_or_default();
        let _ =
            writeln!(out, "{},{},{},{},{value},{}", c.id, c.metric, c.operator, c.limit, c.passed);
    }
    out
}

fn scales_csv(report: &Report) -> String {
    let mut out = String::from(
        "worlds,steps,declared_steps,setup_s,warmup_s,measured_s,transitions_per_s,\
         world_physics_steps_per_s,peak_memory_bytes\n",
    );
    for s in &report.scales {
        let text = |x: Option<f64>| x.map(|x| x.to_string()).unwrap_or_default();
        let memory = s.peak_memory_bytes.map(|b| b.to_string()).unwrap_or_default();
        let _ = writeln!(
            out,
            "{},{},{},{},{},{},{},{},{memory}",
            s.worlds,
            s.steps,
            s.declared_steps,
            s.setup_s,
            s.warmup_s,
            s.measured_s,
            text(s.transitions_per_s),
            text(s.world_physics_steps_per_s)
        );
    }
    out
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
