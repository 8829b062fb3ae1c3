//! What a chunk of control steps saw: extremes over its physics steps and all worlds.

use super::asked::Job;
use super::driver::Interval;
use sim_vehicle::batch::{Chunk, Room};
use std::collections::BTreeMap;

/// Extremes so far. What is not a number stays.
#[derive(Clone, Debug)]
pub(crate) struct Extremes {
    pub(crate) finite: bool,
    pub(crate) monotonic: bool,
    z_least: f64,
    z_most: f64,
    planar_speed: f64,
    quaternion_error: f64,
    qvel: f64,
    penetration: f64,
    gap: u32,
    tilt: f64,
    vertical: f64,
    unexpected: u32,
    contacts: usize,
    near: usize,
    rows: usize,
    /// Of each world, wheels and physics steps with contact.
    touched: Vec<u64>,
    steps: u64,
}

/// The larger; what is not a number wins.
pub(crate) fn most(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

impl Extremes {
    pub(crate) fn new(worlds: usize) -> Self {
        Self {
            finite: true,
            monotonic: true,
            z_least: f64::INFINITY,
            z_most: f64::NEG_INFINITY,
            planar_speed: 0.0,
            quaternion_error: 0.0,
            qvel: 0.0,
            penetration: 0.0,
            gap: 0,
            tilt: 0.0,
            vertical: 0.0,
            unexpected: 0,
            contacts: 0,
            near: 0,
            rows: 0,
            touched: vec![0; worlds],
            steps: 0,
        }
    }

    /// Coordinates, velocities and report of a world after a physics step.
    pub(crate) fn see(&mut self, qpos: &[f32], qvel: &[f32], report: &sim_batch::Report) {
        self.finite &= qpos.iter().chain(qvel).all(|x| x.is_finite());
        let z = f64::from(qpos[2]);
        self.z_least = -most(-self.z_least, -z);
        self.z_most = most(self.z_most, z);
        let speed = f64::from(qvel[0]).hypot(f64::from(qvel[1]));
        self.planar_speed = most(self.planar_speed, speed);
        let norm = qpos[3..7].iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        self.quaternion_error = most(self.quaternion_error, (norm - 1.0).abs());
        for v in qvel {
            self.qvel = most(self.qvel, f64::from(v.abs()));
        }
        self.contacts = self.contacts.max(report.contacts);
        self.near = self.near.max(report.near);
        self.rows = self.rows.max(report.rows);
    }

    /// A world's control step of so many physics steps.
    pub(crate) fn add(&mut self, world: usize, interval: &Interval) {
        self.penetration = most(self.penetration, interval.penetration);
        self.gap = self.gap.max(interval.gap);
        self.tilt = most(self.tilt, interval.tilt);
        self.vertical = most(self.vertical, interval.vertical);
        self.unexpected = self.unexpected.max(interval.unexpected);
        self.touched[world] += interval.touched.iter().map(|t| u64::from(*t)).sum::<u64>();
    }

    pub(crate) fn count(&mut self, substeps: u32) {
        self.steps += u64::from(substeps);
    }

    /// As it stands in `run.json`; numbers that are not finite are absent.
    pub(crate) fn chunk(
        &self,
        wall_ns: u64,
        resets: u64,
        invalid_actions: u64,
        memory_bytes: Option<u64>,
        dt: f64,
        job: &Job,
    ) -> Chunk {
        let finite = |x: f64| Some(x).filter(|x| x.is_finite());
        let room = |asked: usize, there: u32| Room { asked: asked as u64, there: there.into() };
        let least = self.touched.iter().min().copied().unwrap_or(0);
        Chunk {
            finite: self.finite,
            time_monotonic: self.monotonic,
            wall_ns,
            resets,
            invalid_actions,
            memory_bytes,
            room: BTreeMap::from([
                ("contacts".to_owned(), room(self.contacts, job.contacts_per_world)),
                ("collisions".to_owned(), room(self.near, job.contacts_per_world)),
                ("constraints".to_owned(), room(self.rows, job.constraints_per_world)),
            ]),
            z_least_m: finite(self.z_least),
            z_most_m: finite(self.z_most),
            planar_speed_mps: finite(self.planar_speed),
            quaternion_error: finite(self.quaternion_error),
            qvel_most: finite(self.qvel),
            penetration_m: finite(self.penetration),
            gap_s: finite(f64::from(self.gap) * dt),
            tilt_rad: finite(self.tilt),
            vertical_speed_mps: finite(self.vertical),
            unexpected_contacts: Some(self.unexpected.into()),
            coverage_least: finite(least as f64 / (4.0 * self.steps as f64)),
        }
    }
}
