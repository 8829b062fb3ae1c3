//! The batched counterpart of a timestep protocol: agreement of a batched engine with the plant on a CPU,
//! and a table of scales. Declared in a TOML file beside the vehicle.

use crate::agreement::QUANTITIES;
use crate::scenario::{Action, Scenario};
use serde::{Deserialize, Serialize};
use sim_protocol::Op;
use std::collections::BTreeMap;

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchProtocol {
    /// What all runs have in common.
    pub protocol: BatchHead,
    /// One world beside the plant.
    pub agreement: Agreement,
    /// What many worlds are driven with.
    pub law: Law,
    /// Worlds that are put back to the start by turns.
    pub resets: Resets,
    /// Numbers of worlds.
    #[serde(rename = "scale")]
    pub scales: Vec<Scale>,
    /// What must hold of every scale.
    #[serde(rename = "gate")]
    pub gates: Vec<BatchGate>,
}

/// What all runs have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchHead {
    /// Name of the protocol.
    pub name: String,
    /// Physics step, s.
    pub physics_dt_s: f64,
    /// Contacts that a world is given room for.
    pub contacts_per_world: u32,
    /// Constraint rows that a world is given room for.
    pub constraints_per_world: u32,
    /// Control steps between two readings of the extremes.
    pub chunk_steps: u32,
    /// Chunks before the measured ones.
    pub warmup_chunks: u32,
}

/// One world, driven by a schedule, beside the plant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agreement {
    /// s.
    pub duration_s: f64,
    /// What is asked for, by time.
    pub actions: Vec<Action>,
    /// Largest differences, by quantity; see [`crate::agreement::differences`].
    pub limits: BTreeMap<String, f64>,
}

/// World w holds the speed `target_mps + target_step_mps · (w mod targets)` by an acceleration of
/// `gain · (target − v)`, clipped, and steers `steering_amplitude_rad · sin(2π·t/steering_period_s + 2π·w/worlds)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Law {
    /// m/s.
    pub target_mps: f64,
    /// m/s.
    pub target_step_mps: f64,
    /// Different targets.
    pub targets: u32,
    /// 1/s.
    pub gain: f64,
    /// Least acceleration, m/s².
    pub least: f64,
    /// Most acceleration, m/s².
    pub most: f64,
    /// First control step with an acceleration.
    pub speed_from_step: u32,
    /// rad.
    pub steering_amplitude_rad: f64,
    /// s.
    pub steering_period_s: f64,
    /// First control step with steering.
    pub steering_from_step: u32,
}

/// Before control steps that are a multiple of `every_steps`, worlds of one group are put back to the start:
/// the k-th time, k from 0, those whose number modulo `groups` is k modulo `groups`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resets {
    /// Control steps between two resets.
    pub every_steps: u32,
    /// Groups that take turns.
    pub groups: u32,
}

/// A number of worlds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// Worlds.
    pub worlds: u32,
    /// Control steps.
    pub steps: u64,
    /// What a CPU backend does instead, where the whole would take hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Reduced>,
}

/// A shorter run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reduced {
    /// Control steps.
    pub steps: u64,
    /// Chunks before the measured ones.
    pub warmup_chunks: u32,
}

/// A limit on a metric of a scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchGate {
    /// Name of the metric, see [`metrics`].
    pub metric: String,
    /// How value and limit compare.
    pub op: Op,
    /// The limit, in the metric's unit.
    pub limit: f64,
    /// Least number of worlds that it is for.
    #[serde(default = "one")]
    pub from_worlds: u32,
}

fn one() -> u32 {
    1
}

/// Metrics of [`metrics`].
pub const METRICS: [&str; 24] = [
    "finite",
    "time_monotonic",
    "contact_overflow",
    "constraint_overflow",
    "unexpected_contacts",
    "contact_headroom",
    "collision_headroom",
    "constraint_headroom",
    "chassis_z_least_m",
    "chassis_z_most_m",
    "planar_speed_mps",
    "penetration_m",
    "gap_s",
    "coverage_least",
    "quaternion_error",
    "tilt_rad",
    "vertical_speed_mps",
    "qvel_most",
    "unique_terminal_states",
    "resets",
    "invalid_actions",
    "memory_samples",
    "memory_growth_of_allowed",
    "chunks",
];

/// Worlds of a scale.
const MOST_WORLDS: u32 = 1 << 20;
/// Control steps of a scale.
const MOST_STEPS: u64 = 100_000_000;

impl BatchProtocol {
    /// Parses and checks the file. The error names the place.
    pub fn parse(text: &str) -> Result<Self, String> {
        let p: Self = toml::from_str(text).map_err(|e| e.to_string().trim().to_owned())?;
        let h = &p.protocol;
        if !(h.physics_dt_s.is_finite() && h.physics_dt_s > 0.0) {
            return Err(format!("physics_dt_s is {}, not a positive number", h.physics_dt_s));
        }
        for (name, value) in [
            ("contacts_per_world", h.contacts_per_world),
            ("constraints_per_world", h.constraints_per_world),
            ("chunk_steps", h.chunk_steps),
            ("law.targets", p.law.targets),
            ("resets.every_steps", p.resets.every_steps),
            ("resets.groups", p.resets.groups),
        ] {
            if value == 0 {
                return Err(format!("{name} is 0"));
            }
        }
        let quantities = p.agreement.limits.keys().map(String::as_str);
        if let Some(other) = quantities.clone().find(|q| !QUANTITIES.contains(q)) {
            return Err(format!("there is no quantity `{other}` to agree in"));
        }
        if let Some(missing) = QUANTITIES.iter().find(|q| !p.agreement.limits.contains_key(**q)) {
            return Err(format!("agreement.limits has no `{missing}`"));
        }
        if p.gates.is_empty() {
            return Err("there is no [[gate]]: every scale would pass".to_owned());
        }
        let most = p.scales.iter().map(|s| s.worlds).max().unwrap_or_default();
        if let Some(gate) = p.gates.iter().find(|g| g.from_worlds > most) {
            return Err(format!(
                "gate {}: from_worlds is {}, the largest scale has {most} worlds",
                gate.metric, gate.from_worlds
            ));
        }
        if let Some(gate) = p.gates.iter().find(|g| !METRICS.contains(&g.metric.as_str())) {
            return Err(format!("there is no metric `{}`", gate.metric));
        }
        for (i, scale) in p.scales.iter().enumerate() {
            if scale.worlds == 0
                || scale.steps == 0
                || scale.cpu.as_ref().is_some_and(|c| c.steps == 0)
            {
                return Err(format!("scale {} has no world or no step", i + 1));
            }
            if let Some(less) = scale.cpu.as_ref().filter(|c| c.steps > scale.steps) {
                return Err(format!(
                    "the scale of {} worlds: cpu.steps is {}, more than its steps, {}",
                    scale.worlds, less.steps, scale.steps
                ));
            }
            if p.scales[..i].iter().any(|s| s.worlds == scale.worlds) {
                return Err(format!("{} worlds are there twice", scale.worlds));
            }
        }
        if p.scales.is_empty() {
            return Err("there is no [[scale]]".to_owned());
        }
        let limits = p.agreement.limits.iter().map(|(name, limit)| (name.as_str(), *limit));
        let gates = p.gates.iter().map(|g| (g.metric.as_str(), g.limit));
        if let Some((name, limit)) = limits.chain(gates).find(|(_, limit)| !limit.is_finite()) {
            return Err(format!("{name}: the limit is {limit}"));
        }
        let l = &p.law;
        let numbers = [l.target_mps, l.target_step_mps, l.gain, l.least, l.most];
        let sine = [l.steering_amplitude_rad, l.steering_period_s];
        let odd = numbers.iter().chain(&sine).any(|x| !x.is_finite());
        if odd || l.least > l.most || l.steering_period_s <= 0.0 {
            return Err("law: finite numbers, least at most most, a period above 0".to_owned());
        }
        if let Some(s) = p.scales.iter().find(|s| s.worlds > MOST_WORLDS || s.steps > MOST_STEPS) {
            return Err(format!(
                "a scale of {} worlds and {} steps: at most {MOST_WORLDS} and {MOST_STEPS}",
                s.worlds, s.steps
            ));
        }
        sim_protocol::Scenario::check(&p.scenario()).map_err(|e| format!("agreement: {e}"))?;
        Ok(p)
    }

    /// What the plant drives for the agreement.
    pub fn scenario(&self) -> Scenario {
        let a = &self.agreement;
        Scenario::of_actions("agreement", a.duration_s, a.actions.clone())
    }
}

/// What a chunk of a run saw: extremes over its physics steps and all worlds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chunk {
    /// Whether all coordinates and velocities were finite.
    pub finite: bool,
    /// Whether time grew in every world at every step.
    pub time_monotonic: bool,
    /// What it took, ns.
    pub wall_ns: u64,
    /// Worlds that were put back to the start.
    pub resets: u64,
    /// Actions that were not finite.
    pub invalid_actions: u64,
    /// Resident memory after it, bytes; absent where it could not be read.
    pub memory_bytes: Option<u64>,
    /// By kind: `contacts`, `collisions`, `constraints`.
    pub room: BTreeMap<String, Room>,
    /// Height of the chassis' origin, m. Extremes are absent where they are not finite.
    pub z_least_m: Option<f64>,
    /// m.
    pub z_most_m: Option<f64>,
    /// Horizontal speed of the chassis, m/s.
    pub planar_speed_mps: Option<f64>,
    /// |norm − 1| of the chassis' quaternion.
    pub quaternion_error: Option<f64>,
    /// Largest generalised velocity, m/s or rad/s.
    pub qvel_most: Option<f64>,
    /// m.
    pub penetration_m: Option<f64>,
    /// Longest time that a wheel was without contact, s.
    pub gap_s: Option<f64>,
    /// |roll| or |pitch|, rad.
    pub tilt_rad: Option<f64>,
    /// |vertical velocity| at the rear axle, m/s.
    pub vertical_speed_mps: Option<f64>,
    /// Most contacts at once of a world between anything but a wheel and the ground.
    pub unexpected_contacts: Option<f64>,
    /// The least, over worlds, of the part of wheels and physics steps with contact.
    pub coverage_least: Option<f64>,
}

/// What was asked for at most in one step, and what there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Room {
    /// At most.
    pub asked: u64,
    /// Room.
    pub there: u64,
}

/// Least of what memory may grow by, bytes.
const GROWTH_BYTES: f64 = 64.0 * 1024.0 * 1024.0;
/// Part of the peak that it may grow by where that is more.
const GROWTH_PART: f64 = 0.02;

/// The metrics of a scale, by name; what the engine does not count or could not be read is left out.
///
/// Extremes are those of [`Chunk`], over all chunks. `finite` and `time_monotonic` are 1 or 0. An `overflow` is
/// how many more were asked for than there is room, a `headroom` the part of the room that was asked for.
/// `memory_growth_of_allowed` is the growth of memory over what is allowed, max(64 MiB, 2 % of the peak); the
/// growth is the median of the last quarter of the samples minus that of the first, after the first fifth
/// of them was dropped; `memory_samples` counts them all.
pub fn metrics(
    chunks: &[Chunk],
    terminal_states: u64,
    memory_at_start: Option<u64>,
) -> BTreeMap<&'static str, f64> {
    let mut found = BTreeMap::new();
    let flag = |all: bool| f64::from(u8::from(all));
    found.insert("finite", flag(!chunks.is_empty() && chunks.iter().all(|c| c.finite)));
    found.insert("time_monotonic", flag(chunks.iter().all(|c| c.time_monotonic)));
    let mut extreme = |name: &'static str, of: fn(&Chunk) -> Option<f64>, least: bool| {
        let values: Option<Vec<f64>> = chunks.iter().map(of).collect();
        let pick = if least { f64::min } else { f64::max };
        if let Some(value) = values.and_then(|v| v.into_iter().reduce(pick)) {
            found.insert(name, value);
        }
    };
    extreme("chassis_z_least_m", |c| c.z_least_m, true);
    extreme("chassis_z_most_m", |c| c.z_most_m, false);
    extreme("planar_speed_mps", |c| c.planar_speed_mps, false);
    extreme("penetration_m", |c| c.penetration_m, false);
    extreme("gap_s", |c| c.gap_s, false);
    extreme("coverage_least", |c| c.coverage_least, true);
    extreme("quaternion_error", |c| c.quaternion_error, false);
    extreme("tilt_rad", |c| c.tilt_rad, false);
    extreme("vertical_speed_mps", |c| c.vertical_speed_mps, false);
    extreme("qvel_most", |c| c.qvel_most, false);
    extreme("unexpected_contacts", |c| c.unexpected_contacts, false);
    let kinds = [
        ("contacts", "contact_headroom", Some("contact_overflow")),
        ("collisions", "collision_headroom", None),
        ("constraints", "constraint_headroom", Some("constraint_overflow")),
    ];
    for (kind, headroom, overflow) in kinds {
        let rooms: Option<Vec<Room>> = chunks.iter().map(|c| c.room.get(kind).copied()).collect();
        let Some(rooms) = rooms.filter(|r| !r.is_empty()) else { continue };
        let part = |r: &Room| r.asked as f64 / r.there.max(1) as f64;
        found.insert(headroom, rooms.iter().map(part).fold(0.0, f64::max));
        if let Some(name) = overflow {
            let lost = rooms.iter().map(|r| r.asked.saturating_sub(r.there)).max().unwrap_or(0);
            found.insert(name, lost as f64);
        }
    }
    found.insert("unique_terminal_states", terminal_states as f64);
    found.insert("resets", chunks.iter().map(|c| c.resets).sum::<u64>() as f64);
    found.insert("invalid_actions", chunks.iter().map(|c| c.invalid_actions).sum::<u64>() as f64);
    found.insert("chunks", chunks.len() as f64);
    let samples: Vec<f64> = memory_at_start
        .into_iter()
        .chain(chunks.iter().filter_map(|c| c.memory_bytes))
        .map(|bytes| bytes as f64)
        .collect();
    found.insert("memory_samples", samples.len() as f64);
    if let Some(growth) = growth(&samples) {
        let peak = samples.iter().copied().fold(0.0, f64::max);
        found.insert("memory_growth_of_allowed", growth / GROWTH_BYTES.max(GROWTH_PART * peak));
    }
    found
}

fn growth(samples: &[f64]) -> Option<f64> {
    let kept = &samples[samples.len() / 5..];
    let edge = kept.len().div_ceil(4);
    let median = |part: &[f64]| {
        let mut part = part.to_vec();
        part.sort_unstable_by(f64::total_cmp);
        let n = part.len();
        if n % 2 == 1 { part[n / 2] } else { f64::midpoint(part[n / 2 - 1], part[n / 2]) }
    };
    (kept.len() >= 2).then(|| median(&kept[kept.len() - edge..]) - median(&kept[..edge]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = include_str!("../../m2.toml");

    /// FACTS 2.1.9: the schedule, the drive law, the list of scales.
    #[test]
    fn the_declared_protocol_is_the_published_one() {
        let p = BatchProtocol::parse(TEXT).expect("a protocol");
        let s = p.scenario();
        let at = |step: u32| s.action(f64::from(step) * 0.05, 0.0);
        assert_eq!((at(9), at(10), at(29)), ([0.0, 0.0], [0.0, 1.5], [0.0, 1.5]));
        assert_eq!((at(30), at(49), at(50)), ([0.15, 0.5], [0.15, 0.5], [0.0, 0.0]));
        assert_eq!(
            (at(59), at(60), at(79), at(80)),
            ([0.0, 0.0], [0.0, -3.0], [0.0, -3.0], [0.0, 0.0])
        );
        let scales: Vec<_> = p.scales.iter().map(|s| (s.worlds, s.steps)).collect();
        assert_eq!(scales, [(1, 1000), (64, 1000), (256, 1000), (1024, 10_000)]);
        assert_eq!((p.resets.every_steps, p.resets.groups), (257, 31));
        assert_eq!(p.agreement.limits.len(), QUANTITIES.len());
    }

    #[test]
    fn mistakes_are_named() {
        for (from, to, said) in [
            ("position_z_max_m", "position_z_m", "there is no quantity `position_z_m`"),
            ("metric = \"gap_s\"", "metric = \"gap\"", "there is no metric `gap`"),
            ("groups = 31", "groups = 0", "resets.groups is 0"),
            ("worlds = 64\n", "worlds = 1\n", "1 worlds are there twice"),
            ("worlds = 64\n", "world = 64\n", "unknown field `world`"),
            ("cpu = { steps = 400", "cpu = { steps = 1001", "cpu.steps is 1001, more than"),
            ("from_worlds = 4", "from_worlds = 4096", "the largest scale has 1024 worlds"),
        ] {
            assert!(TEXT.contains(from), "{from}");
            let error = BatchProtocol::parse(&TEXT.replacen(from, to, 1)).expect_err(from);
            assert!(error.contains(said), "{from}: {error}");
        }
        let without = TEXT.replacen("gap_max_s = 0.01\n", "", 1);
        let error = BatchProtocol::parse(&without).expect_err("a quantity without a limit");
        assert!(error.contains("agreement.limits has no `gap_max_s`"), "{error}");
    }

    #[test]
    fn memory_that_grows_is_seen_and_the_first_samples_are_not() {
        let mib = 1024.0 * 1024.0;
        let start: Vec<f64> = [0.0, 500.0, 500.0, 500.0, 500.0].map(|m| m * mib).to_vec();
        assert_eq!(growth(&start), Some(0.0), "the first fifth is dropped");
        let grows: Vec<f64> = (0..10).map(|i| f64::from(i) * 10.0 * mib).collect();
        // Kept are 20 to 90; the first two have the median 25, the last two 85.
        assert_eq!(growth(&grows), Some(60.0 * mib));
        assert_eq!(growth(&[1.0]), None);
    }

    #[test]
    fn what_was_not_read_is_no_metric() {
        let text = r#"{"finite": true, "time_monotonic": true, "wall_ns": 1, "resets": 2, "invalid_actions": 0,
            "memory_bytes": null, "room": {"contacts": {"asked": 20, "there": 16}}, "z_least_m": 0.5,
            "z_most_m": null, "planar_speed_mps": 1.0, "quaternion_error": 0.0, "qvel_most": 1.0,
            "penetration_m": 0.0, "gap_s": 0.0, "tilt_rad": 0.0, "vertical_speed_mps": 0.0,
            "unexpected_contacts": 0.0, "coverage_least": 1.0}"#;
        let chunk: Chunk = serde_json::from_str(text).expect("a chunk");
        let m = metrics(&[chunk.clone(), Chunk { finite: false, ..chunk }], 3, Some(5));
        assert_eq!((m["finite"], m["resets"], m["contact_overflow"]), (0.0, 4.0, 4.0));
        assert_eq!(m["contact_headroom"], 1.25);
        assert_eq!(m["memory_samples"], 1.0);
        for absent in ["chassis_z_most_m", "constraint_headroom", "memory_growth_of_allowed"] {
            assert!(!m.contains_key(absent), "{absent}");
        }
        assert_eq!(metrics(&[], 0, None)["finite"], 0.0);
    }
}
