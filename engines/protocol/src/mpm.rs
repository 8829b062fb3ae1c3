//! Material points: a continuum that engines with the material point method simulate.
//!
//! The dynamic bodies of such a scene are its points: position, velocity and mass, and a sphere whose
//! radius is for drawing and for a point's volume alone. They never become rigid colliders. The static
//! bodies are the boxes of a tank, the same for every engine.

use crate::check::FieldErrors;
use crate::scene::{Scene, Shape};
use serde::{Deserialize, Serialize};

/// Version of scenes of material points.
pub const MPM_FORMAT: u32 = 3;
/// Largest Courant number of a substep, dimensionless (P223). Explicit engines become unstable near
/// one; the rest is for the waves that a compressed material is stiffer for.
pub const COURANT_LIMIT: f64 = 0.3;
/// Largest relative error of a point's mass (P228).
pub const MASS_TOLERANCE: f64 = 1.0e-5;

/// How far derived lengths and masses may be from what they derive from, relatively.
const DERIVED: f64 = 1.0e-9;

/// The material, its discretisation, and the tank it is in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Mpm {
    /// The constitutive law that is asked for. Engines have different ones; what each took is in its
    /// translation.
    pub material: Material,
    /// Density of the material at rest, kg/m³.
    pub density: f64,
    /// Distance of neighbouring points at the start, m; a point's volume is its cube.
    pub spacing: f64,
    /// Edge of a grid cell, m: two points an edge.
    pub cell: f64,
    /// Substeps that every engine takes in each step.
    pub substeps: u32,
    /// Friction of material on floor and walls, dimensionless.
    pub friction: f64,
    /// Lower corner of the inside of the tank, m; the floor is at its z.
    pub lower: [f64; 3],
    /// Upper corner of the inside of the tank, m; the tank is open there.
    pub upper: [f64; 3],
    /// How far the boundary of a bounded grid lies outside those corners at least, m, so that walls and
    /// floor are those of the tank.
    pub padding: f64,
}

/// A constitutive law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Material {
    /// Elastic without limit.
    Elastic {
        /// Young's modulus, Pa.
        young_modulus: f64,
        /// Poisson's ratio, dimensionless.
        poisson_ratio: f64,
    },
    /// Granular: elastic within a Drucker-Prager yield surface.
    Sand {
        /// Young's modulus, Pa.
        young_modulus: f64,
        /// Poisson's ratio, dimensionless.
        poisson_ratio: f64,
        /// Angle of internal friction, rad.
        friction_angle: f64,
        /// Cohesion, Pa.
        cohesion: f64,
        /// Hardening, dimensionless.
        hardening: f64,
    },
}

impl Material {
    /// Young's modulus, Pa, and Poisson's ratio.
    pub fn elasticity(&self) -> (f64, f64) {
        match *self {
            Material::Elastic { young_modulus, poisson_ratio }
            | Material::Sand { young_modulus, poisson_ratio, .. } => (young_modulus, poisson_ratio),
        }
    }
}

impl Mpm {
    /// Speed of pressure waves, m/s: √(E(1−ν) / ((1+ν)(1−2ν)ρ)).
    pub fn wave_speed(&self) -> f64 {
        let (e, nu) = self.material.elasticity();
        (e * (1.0 - nu) / ((1.0 + nu) * (1.0 - 2.0 * nu) * self.density)).sqrt()
    }

    /// The Courant number of a substep, dimensionless: how many cells pressure waves cross in it, carried
    /// by the fastest point. `speed` is that of the fastest point at the start (m/s), to which a fall
    /// through the whole tank is added; `gravity` is its magnitude (m/s²), `timestep` a step (s).
    pub fn courant(&self, timestep: f64, gravity: f64, speed: f64) -> f64 {
        let height = (self.upper[2] - self.lower[2]).max(0.0);
        let fastest = (speed * speed + 2.0 * gravity * height).sqrt();
        (self.wave_speed() + fastest) * timestep / f64::from(self.substeps) / self.cell
    }

    /// Whether an explicit engine may take such steps; the error says what to change.
    pub fn check_courant(&self, timestep: f64, gravity: f64, speed: f64) -> Result<(), String> {
        let number = self.courant(timestep, gravity, speed);
        if number <= COURANT_LIMIT {
            return Ok(());
        }
        let longest = timestep * COURANT_LIMIT / number;
        Err(format!(
            "a substep of 1/{} has a Courant number of {number:.3} on cells of {:.4} m, more than \
             {COURANT_LIMIT}: take a timestep of {longest:.3e} s or less, or fewer points",
            self.substeps, self.cell
        ))
    }

    /// Mass of one point, kg.
    pub fn point_mass(&self) -> f64 {
        self.density * self.spacing.powi(3)
    }

    pub(crate) fn check(&self, scene: &Scene, e: &mut FieldErrors) {
        let before = e.count();
        self.check_material(e);
        e.within("mpm.density", self.density, 1.0e-3, 1.0e6);
        e.within("mpm.spacing", self.spacing, 1.0e-6, 1.0e3);
        e.within("mpm.friction", self.friction, 0.0, 100.0);
        e.vector("mpm.lower", &self.lower, 1.0e6);
        e.vector("mpm.upper", &self.upper, 1.0e6);
        e.within("mpm.padding", self.padding, self.cell, 1.0e6);
        if !(1..=10_000).contains(&self.substeps) {
            e.add("mpm.substeps", self.substeps, "must be from 1 to 10000");
        }
        if !near(self.cell, 2.0 * self.spacing) {
            e.add("mpm.cell", self.cell, "must be twice the spacing: two points an edge");
        }
        if (0..3).any(|i| self.lower[i] >= self.upper[i]) {
            e.add("mpm.upper", format!("{:?}", self.upper), "must lie beyond mpm.lower");
        }
        if self.lower[2] != 0.0 {
            e.add("mpm.lower[2]", self.lower[2], "the floor's top is z = 0");
        }
        let alone = scene.hinges.is_empty() && scene.robot.is_none() && !scene.contact_free;
        if !alone || scene.reference.is_some() {
            let problem =
                "a scene of material points has no hinges, robot or reference, and contacts";
            e.add("mpm", "present", problem);
        }
        // What follows divides by what was checked so far.
        if e.count() > before {
            return;
        }
        self.check_bodies(scene, e);
        let gravity = length(&scene.gravity);
        let speed =
            scene.dynamic_bodies().map(|(_, b)| length(&b.linear_velocity)).fold(0.0, f64::max);
        if let Err(problem) = self.check_courant(scene.timestep, gravity, speed) {
            e.add("timestep", scene.timestep, problem);
        }
    }

    fn check_material(&self, e: &mut FieldErrors) {
        let (young, poisson) = self.material.elasticity();
        e.within("mpm.material.young_modulus", young, 1.0, 1.0e12);
        e.within("mpm.material.poisson_ratio", poisson, 0.0, 0.49);
        if let Material::Sand { friction_angle, cohesion, hardening, .. } = self.material {
            e.within("mpm.material.friction_angle", friction_angle, 0.0, 1.5);
            e.within("mpm.material.cohesion", cohesion, 0.0, 1.0e12);
            e.within("mpm.material.hardening", hardening, 0.0, 1.0e6);
        }
    }

    fn check_bodies(&self, scene: &Scene, e: &mut FieldErrors) {
        let (radius, mass) = (self.spacing / 2.0, self.point_mass());
        let upright = [1.0, 0.0, 0.0, 0.0];
        let mut points = 0_u64;
        for (i, body) in scene.bodies.iter().enumerate() {
            let at = |field: &str| format!("bodies[{i}].{field}");
            if body.orientation != upright {
                let problem = "must be 1, 0, 0, 0: a point has none, and a tank stands upright";
                e.add(at("orientation"), format!("{:?}", body.orientation), problem);
            }
            if body.friction != self.friction {
                e.add(at("friction"), body.friction, "must be mpm.friction");
            }
            if !body.is_dynamic() {
                if !matches!(body.shape, Shape::Box { .. }) {
                    e.add(at("shape"), "no box", "a tank is made of boxes");
                }
                continue;
            }
            points += 1;
            match body.shape {
                Shape::Sphere { radius: r } if near(r, radius) => {}
                _ => e.add(
                    at("shape"),
                    format!("{:?}", body.shape),
                    "must be a sphere of half the spacing",
                ),
            }
            if !near(body.mass, mass) {
                e.add(at("mass"), body.mass, format!("must be density × spacing³ = {mass} kg"));
            }
            if body.angular_velocity != [0.0; 3] {
                e.add(at("angular_velocity"), "not zero", "a point does not spin");
            }
            if (0..3).any(|k| !(self.lower[k]..=self.upper[k]).contains(&body.position[k])) {
                let problem = "must lie within mpm.lower and mpm.upper";
                e.add(at("position"), format!("{:?}", body.position), problem);
            }
        }
        if points == 0 {
            e.add("bodies", 0, "a scene of material points has at least one");
        }
    }
}

/// The edge of the even cube of that many points: 8 for 512. None where the number is no cube of an
/// even number (P216).
pub fn even_cube(points: u64) -> Option<u64> {
    (2..=u64::from(u16::MAX))
        .step_by(2)
        .take_while(|n| n.pow(3) <= points)
        .find(|n| n.pow(3) == points)
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= DERIVED * b.abs()
}

fn length(v: &[f64; 3]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[cfg(test)]
#[path = "mpm_tests.rs"]
mod tests;
