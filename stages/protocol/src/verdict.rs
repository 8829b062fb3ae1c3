//! The verdict: metrics of all runs, checks, and the largest candidate that passes all of them.

use crate::report::{
    Candidate, Check, Different, FORMAT, Head, Published, Report, Runtime, ScenarioReport,
    Selection,
};
use crate::run::RunFile;
use crate::{input_name, plant, text};
use fs_err as fs;
use sha2::{Digest as _, Sha256};
use sim_model::request::{Request, StageStatus, StatusFile};
use sim_protocol::plots::{self, Plots, ScenarioPlots};
use sim_protocol::{Op, Outcome, Plant, Protocol, Scenario as _};
use sim_stage_sdk::{IoContext, StageError, input, ok, status};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// One run as it came in.
pub(crate) struct Ran<P: Plant> {
    pub(crate) file: RunFile,
    pub(crate) left: P::Ran,
    /// Of its telemetry.
    pub(crate) sha256: String,
}

/// By scenario and candidate: the repeats.
pub(crate) type Runs<P> = BTreeMap<(String, usize), Vec<Ran<P>>>;

pub(crate) fn run<P: Plant>(
    request: &Request,
    dir: &Path,
    fingerprint: &str,
) -> Result<StatusFile, StageError> {
    let protocol_text = text(request, dir, "protocol")?;
    let config_text = text(request, dir, "config")?;
    let protocol = Protocol::parse::<P>(&protocol_text).map_err(StageError::Failed)?;
    let plant: P = plant(request, dir)?;
    let models = input(request, dir, "models")?;
    let mut runs = Runs::<P>::new();
    for scenario in &protocol.scenarios {
        for i in 0..protocol.protocol.candidates_s.len() {
            let repeats = (0..protocol.protocol.repeats)
                .map(|r| read(&input(request, dir, &input_name(scenario.name(), i, r))?))
                .collect::<Result<Vec<_>, _>>()?;
            runs.insert((scenario.name().to_owned(), i), repeats);
        }
    }
    let mut model_texts = Vec::new();
    for name in P::MODELS {
        let path = models.join(name);
        model_texts.push(fs::read_to_string(&path).at(&path)?);
    }
    let head = head(&protocol, fingerprint, &protocol_text, &config_text, &model_texts)?;
    let mut report = judge(&protocol, &plant, &runs, head)?;
    if request.inputs.contains_key("published") {
        report.published = Some(published(&text(request, dir, "published")?, &report)?);
    }
    if P::RECEIPT {
        receipts(&protocol, &plant, &runs, &report, &dir.join("out/receipts"))?;
    }
    let out = dir.join("out");
    for (name, bytes) in [
        ("report.json", json(serde_json::to_string_pretty(&report))?),
        ("plots.json", json(serde_json::to_string(&plots(&protocol, &plant, &runs)))?),
        ("checks.csv", checks_csv(&report)),
        ("metrics.csv", metrics_csv(&report)),
    ] {
        let path = out.join(name);
        fs::write(&path, bytes).at(&path)?;
    }
    Ok(match report.selection.timestep_s {
        Some(_) => ok(),
        None => {
            let failed = report.candidates.iter().map(|c| c.failures.len()).sum::<usize>();
            status(
                StageStatus::GateFailed,
                format!("no candidate passes: {failed} checks fail; report.json names them"),
            )
        }
    })
}

fn json(text: serde_json::Result<String>) -> Result<String, StageError> {
    text.map(|t| t + "\n").map_err(|e| StageError::Failed(format!("the verdict as JSON: {e}")))
}

/// The curves of the first repeat of every candidate, as far as it came.
fn plots<P: Plant>(protocol: &Protocol<P::Scenario>, plant: &P, runs: &Runs<P>) -> Plots {
    let candidates = protocol.protocol.candidates_s.iter().enumerate();
    let of = |scenario: &P::Scenario| {
        let name = scenario.name().to_owned();
        let first = candidates
            .clone()
            .filter_map(|(i, dt)| Some((*dt, &runs.get(&(name.clone(), i))?.first()?.left)));
        let plots = plant.plots(protocol, scenario, &first.collect::<Vec<_>>());
        ScenarioPlots { scenario: name, plots }
    };
    Plots { format: plots::FORMAT, scenarios: protocol.scenarios.iter().map(of).collect() }
}

pub(crate) fn read<P: Plant>(folder: &Path) -> Result<Ran<P>, StageError> {
    let path = folder.join("run.json");
    let text = fs::read_to_string(&path).at(&path)?;
    let file: RunFile = serde_json::from_str(&text)
        .map_err(|e| StageError::Failed(format!("{}: {e}", path.display())))?;
    let mut files = Vec::new();
    for name in P::FILES {
        let path = folder.join(name);
        files.push(fs::read(&path).at(&path)?);
    }
    let sha256 = sha256(files.first().map_or(&[], Vec::as_slice));
    let left =
        P::read(&files).map_err(|e| StageError::Failed(format!("{}: {e}", folder.display())))?;
    Ok(Ran { file, left, sha256 })
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

pub(crate) fn head<S: serde::Serialize>(
    protocol: &Protocol<S>,
    fingerprint: &str,
    protocol_text: &str,
    config_text: &str,
    models: &[String],
) -> Result<Head, StageError> {
    // Without comments and layout, so that only what it says counts.
    let canonical = serde_json::to_string(protocol)
        .map_err(|e| StageError::Failed(format!("the protocol cannot be written as JSON: {e}")))?;
    let identity = [&canonical, config_text, fingerprint].map(|t| sha256(t.as_bytes())).join("\n");
    let p = &protocol.protocol;
    Ok(Head {
        name: p.name.clone(),
        identity: sha256(identity.as_bytes()),
        source_fingerprint: fingerprint.to_owned(),
        protocol_sha256: sha256(protocol_text.as_bytes()),
        config_sha256: sha256(config_text.as_bytes()),
        // Of one model its own digest, of several that of their digests.
        model_sha256: match models {
            [one] => sha256(one.as_bytes()),
            all => {
                let digests: Vec<String> = all.iter().map(|t| sha256(t.as_bytes())).collect();
                sha256(digests.join("\n").as_bytes())
            }
        },
        candidates_s: p.candidates_s.clone(),
        reference_s: p.reference_s,
        repeats: p.repeats,
    })
}

pub(crate) fn judge<P: Plant>(
    protocol: &Protocol<P::Scenario>,
    plant: &P,
    runs: &Runs<P>,
    head: Head,
) -> Result<Report, StageError> {
    let p = &protocol.protocol;
    let reference = p.candidates_s.iter().position(|dt| *dt == p.reference_s).unwrap_or(0);
    let first = runs.values().flatten().next();
    let first = first.ok_or_else(|| StageError::Failed("there is no run".to_owned()))?;
    let mut versions: Vec<String> =
        runs.values().flatten().map(|r| r.file.version.clone()).collect();
    versions.sort();
    versions.dedup();
    let mut candidates = Vec::new();
    for (i, timestep) in p.candidates_s.iter().enumerate() {
        candidates.push(candidate(protocol, plant, runs, i, reference, *timestep));
    }
    // Who is compared with a reference that fails is compared with nothing.
    let reference_failed = !candidates[reference].passed;
    if reference_failed {
        for c in &mut candidates {
            if c.passed || c.timestep_s != p.reference_s {
                c.passed = false;
                c.failures.push("reference.failed".to_owned());
            }
        }
    }
    let passing = candidates.iter().filter(|c| c.passed).map(|c| c.timestep_s);
    let timestep_s = passing.reduce(f64::max);
    let checks = |c: &Candidate| {
        c.scenarios.iter().map(|s| s.checks.len()).sum::<usize>()
            + c.symmetry.len()
            + c.convergence.len()
    };
    let checks_per_candidate = candidates.iter().map(checks).max().unwrap_or(0);
    Ok(Report {
        format: FORMAT,
        protocol: head,
        runtime: Runtime { versions, model: first.file.model.clone() },
        candidates,
        selection: Selection {
            rule: "the largest candidate of which every check holds".to_owned(),
            timestep_s,
            checks_per_candidate,
        },
        published: None,
        assumptions: plant.assumptions(),
    })
}

fn candidate<P: Plant>(
    protocol: &Protocol<P::Scenario>,
    plant: &P,
    runs: &Runs<P>,
    i: usize,
    reference: usize,
    timestep_s: f64,
) -> Candidate {
    let of = |scenario: &str, i: usize| {
        runs.get(&(scenario.to_owned(), i)).map_or(&[] as &[Ran<P>], Vec::as_slice)
    };
    let by_name = |name: &str| protocol.scenarios.iter().find(|s| s.name() == name);
    let mut scenarios = Vec::new();
    for scenario in &protocol.scenarios {
        scenarios.push(scenario_report(protocol, scenario, plant, of(scenario.name(), i)));
    }
    let value = |scenario: &str, metric: &str| {
        scenarios.iter().find(|s| s.scenario == scenario)?.metrics.get(metric).copied()
    };
    let symmetry = protocol.symmetry.iter().map(|s| {
        let pair = value(&s.left, &s.metric).zip(value(&s.right, &s.metric));
        // The image of a value is its negative; two zeros mirror each other.
        let relative = pair.map(|(l, r)| match l.abs().max(r.abs()) {
            0.0 => 0.0,
            size => (l + r).abs() / size,
        });
        let id = format!("symmetry.{}.{}.{}", s.left, s.right, s.metric);
        Check::of(id, &format!("relative_error_of_{}", s.metric), Op::AtMost, s.limit, relative)
    });
    let symmetry: Vec<Check> = symmetry.collect();
    let mut convergence = Vec::new();
    for c in protocol.convergence.iter().filter(|_| i != reference) {
        let Some(scenario) = by_name(&c.scenario) else { continue };
        let run = |i: usize| {
            let ran = of(&c.scenario, i).first().filter(|r| r.file.error.is_none())?;
            Some(&ran.left)
        };
        for (quantity, limit) in &c.limits {
            let pair = run(i).zip(run(reference));
            let value = pair.and_then(|(a, b)| plant.difference(quantity, scenario, a, b));
            let id = format!("convergence.{}.{quantity}", c.scenario);
            convergence.push(Check::of(id, quantity, Op::AtMost, *limit, value));
        }
    }
    let mut failures: Vec<String> = Vec::new();
    if scenarios.iter().any(|s| !s.errors.is_empty()) {
        failures.push("candidate.runtime_error".to_owned());
    }
    let all = scenarios.iter().flat_map(|s| &s.checks).chain(&symmetry).chain(&convergence);
    failures.extend(all.filter(|c| !c.passed).map(|c| c.id.clone()));
    Candidate {
        timestep_s,
        passed: failures.is_empty(),
        failures,
        scenarios,
        symmetry,
        convergence,
    }
}

fn scenario_report<P: Plant>(
    protocol: &Protocol<P::Scenario>,
    scenario: &P::Scenario,
    plant: &P,
    runs: &[Ran<P>],
) -> ScenarioReport {
    let errors: Vec<String> = runs.iter().filter_map(|r| r.file.error.clone()).collect();
    let whole = runs.first().filter(|_| errors.is_empty());
    let found: BTreeMap<String, f64> = whole
        .map(|ran| plant.metrics(scenario, &ran.left))
        .into_iter()
        .flatten()
        .filter(|(_, value)| value.is_finite())
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let mut checks: Vec<Check> = protocol
        .gates_of(scenario)
        .map(|g| {
            let value = found.get(&g.metric).copied();
            Check::of(g.id(scenario.name()), &g.metric, g.op, g.limit, value)
        })
        .collect();
    let delta = whole.map(|first| {
        let far = |ran: &Ran<P>| P::apart(&first.left, &ran.left);
        runs[1..].iter().map(far).fold(0.0, |m, d| if d > m || d.is_nan() { d } else { m })
    });
    checks.push(Check::of(
        format!("determinism.{}", scenario.name()),
        "largest_difference_of_repeats",
        Op::AtMost,
        protocol.determinism.limit,
        delta,
    ));
    ScenarioReport {
        scenario: scenario.name().to_owned(),
        metrics: found,
        telemetry_sha256: runs.iter().map(|r| r.sha256.clone()).collect(),
        checks,
        errors,
    }
}

/// Writes the receipt of each scenario with the selected candidate, or the reference where none is.
pub(crate) fn receipts<P: Plant>(
    protocol: &Protocol<P::Scenario>,
    plant: &P,
    runs: &Runs<P>,
    report: &Report,
    folder: &Path,
) -> Result<(), StageError> {
    fs::create_dir_all(folder).at(folder)?;
    let timestep_s = report.selection.timestep_s.unwrap_or(protocol.protocol.reference_s);
    let chosen = report.candidates.iter().position(|c| c.timestep_s == timestep_s).unwrap_or(0);
    for scenario in &protocol.scenarios {
        let name = scenario.name();
        let ran = runs.get(&(name.to_owned(), chosen)).and_then(|repeats| repeats.first());
        let judged = report.candidates[chosen].scenarios.iter().find(|s| s.scenario == name);
        let (Some(ran), Some(judged)) = (ran, judged) else { continue };
        let holds = |id: &str| judged.checks.iter().any(|c| c.id == id && c.passed);
        let checks: Vec<(String, bool)> = protocol
            .gates_of(scenario)
            .map(|g| (g.check.clone().unwrap_or_else(|| g.metric.clone()), holds(&g.id(name))))
            .collect();
        let (left, version) = (&ran.left, ran.file.version.as_str());
        let outcome = Outcome { scenario, ran: left, version, timestep_s, checks: &checks };
        if let Some(receipt) = plant.receipt(&outcome) {
            let path = folder.join(format!("{name}.json"));
            fs::write(&path, format!("{receipt:#}\n")).at(&path)?;
        }
    }
    Ok(())
}

fn checks_csv(report: &Report) -> String {
    let mut out = "timestep_s,id,metric,operator,limit,value,passed\n".to_owned();
    for c in &report.candidates {
        let scenarios = c.scenarios.iter().flat_map(|s| &s.checks);
        for check in scenarios.chain(&c.symmetry).chain(&c.convergence) {
            let value = check.value.map_or(String::new(), |v| format!("{v:?}"));
            let _ = writeln!(
                out,
                "{},{},{},{},{:?},{value},{}",
                c.timestep_s, check.id, check.metric, check.operator, check.limit, check.passed
            );
        }
    }
    out
}

fn metrics_csv(report: &Report) -> String {
    let mut out = "timestep_s,scenario,metric,value\n".to_owned();
    for c in &report.candidates {
        for s in &c.scenarios {
            for (metric, value) in &s.metrics {
                let _ = writeln!(out, "{},{},{metric},{value:?}", c.timestep_s, s.scenario);
            }
        }
    }
    out
}

/// Compares with published values: lines of scenario, metric or quantity of convergence, timestep and the
/// value with the digits that were published.
fn published(csv: &str, report: &Report) -> Result<Published, StageError> {
    let mut out = Published { values: 0, equal: 0, missing: Vec::new(), different: Vec::new() };
    if !csv.starts_with("scenario,metric,") {
        let first = csv.lines().next().unwrap_or_default();
        return Err(StageError::Failed(format!(
            "published values begin with `scenario,metric,…`, a line of names, not with `{first}`"
        )));
    }
    let mut seen = BTreeSet::new();
    for (n, line) in csv.lines().enumerate().skip(1).filter(|(_, l)| !l.starts_with('#')) {
        let bad = || StageError::Failed(format!("published values, line {}: `{line}`", n + 1));
        let fields: Vec<&str> = line.split(',').collect();
        let [scenario, metric, timestep, digits] = fields.as_slice() else { return Err(bad()) };
        let timestep: f64 = timestep.parse().map_err(|_| bad())?;
        let value: f64 = digits.parse().map_err(|_| bad())?;
        let id = format!("{scenario}.{metric}@{timestep}");
        if !value.is_finite() || !seen.insert(id.clone()) {
            return Err(bad());
        }
        out.values += 1;
        match found(report, scenario, metric, timestep) {
            None => out.missing.push(id),
            Some(own) if as_printed(own, value, digits) => out.equal += 1,
            Some(own) => out.different.push(Different { id, published: value, value: own }),
        }
    }
    Ok(out)
}

fn found(report: &Report, scenario: &str, metric: &str, timestep: f64) -> Option<f64> {
    let c = report.candidates.iter().find(|c| c.timestep_s == timestep)?;
    let s = c.scenarios.iter().find(|s| s.scenario == scenario)?;
    let converged = || {
        let id = format!("convergence.{scenario}.{metric}");
        c.convergence.iter().find(|check| check.id == id)?.value
    };
    s.metrics.get(metric).copied().or_else(converged)
}

/// Below this, a difference is rounding of sums of some hundred numbers of order one.
const ROUNDING: f64 = 1e-11;

/// Whether a value is a published one up to the last digit of that.
fn as_printed(own: f64, published: f64, digits: &str) -> bool {
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let places = mantissa.split_once('.').map_or(0, |(_, f)| f.len()) as i32;
    let exponent: i32 = exponent.parse().unwrap_or(0);
    // Half a unit of the last digit, and as much for what rounded it the other way.
    let unit = 10f64.powi(exponent.saturating_sub(places));
    (own - published).abs() <= 0.51 * unit + ROUNDING
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    use sim_vehicle::Vehicle;
    use sim_vehicle::config::Config;
    use sim_vehicle::scenario::Scenario;
    use sim_vehicle::telemetry::Telemetry;

    const PROTOCOL: &str = include_str!("../../../scenes/vehicle/m1.toml");
    const CONFIG: &str = include_str!("../../../scenes/vehicle/vehicle.toml");

    /// A vehicle that stands still and carries its weight, as telemetry of as many seconds.
    fn standing(seconds: f64) -> Telemetry {
        use sim_vehicle::telemetry as t;
        let rows = (seconds / 0.05).round() as usize + 1;
        let mut values = vec![0.0; rows * t::COLUMNS];
        for (i, row) in values.chunks_exact_mut(t::COLUMNS).enumerate() {
            row[t::TIME] = i as f64 * 0.05;
            for wheel in 0..4 {
                row[t::CONTACT + wheel] = 1.0;
                row[t::LOAD + wheel] = 1200.0 * 9.81 / 4.0;
            }
        }
        Telemetry { values }
    }

    pub(crate) fn ran(telemetry: Telemetry, error: Option<&str>) -> Ran<Vehicle> {
        let file = RunFile {
            format: 1,
            version: "1".into(),
            scenario: String::new(),
            timestep: 0.005,
            substeps: 10,
            control_steps: 0,
            model: serde_json::Value::Null,
            error: error.map(str::to_owned),
        };
        let sha256 = sha256(&telemetry.to_bytes());
        Ran { file, left: telemetry, sha256 }
    }

    /// A protocol of the scenario `rest` alone.
    fn rest() -> Protocol<Scenario> {
        let mut p = Protocol::parse::<Vehicle>(PROTOCOL).expect("a protocol");
        p.scenarios.retain(|s| s.name == "rest");
        p.convergence.retain(|c| c.scenario == "rest");
        p.symmetry.clear();
        p
    }

    /// The verdict over runs that `make` gives by scenario, candidate and repeat.
    pub(crate) fn judged_as(
        p: &Protocol<Scenario>,
        make: impl Fn(&Scenario, usize, u32) -> Ran<Vehicle>,
    ) -> Report {
        let vehicle = Vehicle(Config::parse(CONFIG).expect("a configuration"));
        let head = head(p, "f", "", "", &[]).expect("a head");
        let mut runs = Runs::<Vehicle>::new();
        for s in &p.scenarios {
            for i in 0..p.protocol.candidates_s.len() {
                let repeats = (0..p.protocol.repeats).map(|r| make(s, i, r)).collect();
                runs.insert((s.name.clone(), i), repeats);
            }
        }
        judge(p, &vehicle, &runs, head).expect("a report")
    }

    fn judged(p: &Protocol<Scenario>, make: impl Fn(usize, u32) -> Ran<Vehicle>) -> Report {
        judged_as(p, |_, i, r| make(i, r))
    }

    #[test]
    fn the_largest_step_that_passes_is_selected() {
        let report = judged(&rest(), |_, _| ran(standing(10.0), None));
        assert_eq!(report.selection.timestep_s, Some(0.01), "{:?}", report.candidates[0].failures);
        // Too deep in the ground with the largest step.
        let report = judged(&rest(), |i, _| {
            let mut t = standing(10.0);
            if i == 0 {
                t.values[100 * 36 + 18] = 0.0051;
            }
            ran(t, None)
        });
        assert_eq!(report.selection.timestep_s, Some(0.005));
        assert_eq!(
            report.candidates[0].failures,
            ["absolute.rest.maximum_penetration_m.at_most"],
            "V28"
        );
    }

    /// V26: one bit of one repeat is a difference, and so is another number of rows.
    #[test]
    fn repeats_must_not_differ() {
        let report = judged(&rest(), |i, r| {
            let mut t = standing(10.0);
            if (i, r) == (1, 2) {
                t.values[7 * 36 + 4] = 1e-9;
            }
            ran(t, None)
        });
        assert_eq!(report.candidates[1].failures, ["determinism.rest"]);
        assert!(report.candidates[0].passed && report.candidates[2].passed);
    }

    #[test]
    fn a_run_that_ended_early_fails_its_candidate_and_a_reference_fails_all() {
        let report = judged(&rest(), |i, r| {
            ran(standing(10.0), (i == 0 && r == 1).then_some("MuJoCo warned at 1 s"))
        });
        let failures = &report.candidates[0].failures;
        assert_eq!(failures[0], "candidate.runtime_error");
        assert!(failures.len() > 10, "nothing is known of it: {failures:?}");
        assert_eq!(report.selection.timestep_s, Some(0.005));
        let report = judged(&rest(), |i, _| ran(standing(10.0), (i == 2).then_some("went wrong")));
        assert_eq!(report.selection.timestep_s, None);
        assert!(report.candidates.iter().all(|c| !c.passed));
    }

    /// V38: what is driven, measured or allowed is in the identity; comments are not.
    #[test]
    fn the_identity_is_of_what_counts() {
        let identity = |protocol: &str, config: &str, fingerprint: &str| {
            let p = Protocol::parse::<Vehicle>(protocol).expect("a protocol");
            head(&p, fingerprint, protocol, config, &[]).expect("a head").identity
        };
        let first = identity(PROTOCOL, CONFIG, "f");
        assert_eq!(identity(&format!("# a remark\n{PROTOCOL}"), CONFIG, "f"), first);
        for (from, to) in [
            ("acceleration = 2.0", "acceleration = 2.1"),
            ("limit = 0.98", "limit = 0.97"),
            ("steady_from_s = 1.2", "steady_from_s = 1.25"),
            ("position_rmse_m = 0.05", "position_rmse_m = 0.06"),
        ] {
            assert!(PROTOCOL.contains(from));
            assert_ne!(identity(&PROTOCOL.replacen(from, to, 1), CONFIG, "f"), first, "{from}");
        }
        assert_ne!(identity(PROTOCOL, &CONFIG.replace("1200.0", "1201.0"), "f"), first);
        assert_ne!(identity(PROTOCOL, CONFIG, "another metric"), first);
    }

    #[test]
    fn published_digits_are_what_counts() {
        assert!(as_printed(0.005_728_712, 0.005_728_71, "0.00572871"));
        assert!(!as_printed(0.005_728_72, 0.005_728_71, "0.00572871"));
        assert!(
            as_printed(20.0251, 20.0251, "20.0251") && !as_printed(20.0252, 20.0251, "20.0251")
        );
        assert!(as_printed(8.78949e-5, 8.78949e-5, "8.78949e-05"));
        assert!(!as_printed(2.19e-9, 4.5e-15, "4.5e-15"), "more than rounding");
    }
}
