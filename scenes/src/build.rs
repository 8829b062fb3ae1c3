//! What generators build scenes with.

use crate::mjcf::{Model, Start};
use crate::mpm::Continuum;
use crate::scenario::{SourceFiles, SourcePin};
use sim_engine_protocol::{
    Body, BodyKind, Hinge, MPM_FORMAT, Mpm, ROBOT_FORMAT, Reference, RobotSource, SCENE_FORMAT,
    Scene, Shape,
};
use std::f64::consts::PI;

/// Friction of every surface unless a scenario says otherwise.
const FRICTION: f64 = 0.5;

/// A scene under construction.
pub(crate) struct Builder<'a> {
    scene: Scene,
    source: Option<(&'a SourcePin, &'a SourceFiles)>,
    material: Option<&'a Continuum>,
    problem: Option<String>,
}

/// What a robot's recipe makes of its source.
pub(crate) struct Recipe {
    /// Name of the robot.
    pub(crate) name: &'static str,
    /// The model as it is to be written.
    pub(crate) model: Model,
    /// Angles of all hinges at the start, rad, in the order of bodies.
    pub(crate) angles: Vec<f64>,
    /// Targets of all servos, rad, in their order.
    pub(crate) targets: Vec<f64>,
    /// Height of the base when it stands, m.
    pub(crate) standing_height: f64,
    /// What differs from the source, in words.
    pub(crate) changes: &'static [&'static str],
}

/// How far a robot's lowest point starts above the floor, m (P243).
const CLEARANCE: f64 = 0.003;

impl<'a> Builder<'a> {
    pub(crate) fn new(
        name: &str,
        timestep: f64,
        source: Option<(&'a SourcePin, &'a SourceFiles)>,
        material: Option<&'a Continuum>,
    ) -> Self {
        let scene = Scene {
            format: SCENE_FORMAT,
            name: name.to_owned(),
            gravity: [0.0, 0.0, -9.81],
            timestep,
            contact_free: false,
            bodies: Vec::new(),
            hinges: Vec::new(),
            reference: None,
            robot: None,
            mpm: None,
        };
        Builder { scene, source, material, problem: None }
    }

    /// The scene, or why a recipe could not make it.
    pub(crate) fn finish(self) -> Result<Scene, String> {
        self.problem.map_or(Ok(self.scene), Err)
    }

    /// The scenario's material, where it has one.
    pub(crate) fn material(&self) -> Option<&'a Continuum> {
        self.material
    }

    /// Makes the dynamic bodies material points.
    pub(crate) fn resolve(&mut self, mpm: Mpm) {
        (self.scene.format, self.scene.mpm) = (MPM_FORMAT, Some(mpm));
    }

    /// A body as it is.
    pub(crate) fn push(&mut self, body: Body) {
        self.scene.bodies.push(body);
    }

    /// Says why there will be no scene.
    pub(crate) fn fail(&mut self, problem: String) {
        self.problem = Some(problem);
    }

    /// Puts in a robot on the ground, which a recipe makes of the scenario's source.
    pub(crate) fn robot(&mut self, recipe: fn(&SourceFiles) -> Result<Recipe, String>) {
        self.ground(0.0);
        let (timestep, gravity) = (self.scene.timestep, self.scene.gravity);
        let made = self.source.ok_or_else(|| "its source model was not given".to_owned());
        let made = made.and_then(|(pin, files)| {
            let recipe = recipe(files)?;
            let source = RobotSource {
                package: pin.package.clone(),
                version: pin.version.clone(),
                file: pin.file.clone(),
                sha256: pin.sha256.clone(),
                model: pin.model.clone(),
                licence: pin.licence.clone(),
                changes: recipe.changes.iter().map(|c| (*c).to_owned()).collect(),
            };
            let start = Start {
                name: recipe.name,
                angles: &recipe.angles,
                targets: &recipe.targets,
                clearance: CLEARANCE,
                standing_height: recipe.standing_height,
            };
            recipe.model.robot(&start, source, timestep, gravity)
        });
        match made {
            Ok(robot) => (self.scene.format, self.scene.robot) = (ROBOT_FORMAT, Some(robot)),
            Err(problem) => self.fail(problem),
        }
    }

    /// Declares that nothing will ever touch.
    pub(crate) fn contact_free(&mut self) {
        self.scene.contact_free = true;
    }

    /// Names the law that every body obeys.
    pub(crate) fn reference(&mut self, reference: Reference) {
        self.scene.reference = Some(reference);
    }

    /// Gravity other than 9.81 m/s² downwards.
    pub(crate) fn gravity(&mut self, gravity: [f64; 3]) {
        self.scene.gravity = gravity;
    }

    /// A static slab, 1 m thick, top at z = 0, side max(4 × extent, 200) m.
    pub(crate) fn ground(&mut self, extent: f64) {
        let half = (4.0 * extent).max(200.0) / 2.0;
        self.slab([half, half, 0.5], [0.0, 0.0, -0.5], FRICTION);
    }

    /// A static box.
    pub(crate) fn slab(&mut self, half_extents: [f64; 3], position: [f64; 3], friction: f64) {
        self.scene.bodies.push(Body {
            name: Some("ground".into()),
            kind: BodyKind::Static,
            shape: Shape::Box { half_extents },
            mass: 0.0,
            inertia: [0.0; 3],
            position,
            orientation: [1.0, 0.0, 0.0, 0.0],
            linear_velocity: [0.0; 3],
            angular_velocity: [0.0; 3],
            friction,
        });
    }

    /// A dynamic body at rest with the inertia of a solid of even density; change what differs
    /// through the reference.
    pub(crate) fn body(&mut self, shape: Shape, mass: f64, position: [f64; 3]) -> &mut Body {
        self.scene.bodies.push(Body {
            name: None,
            kind: BodyKind::Dynamic,
            shape,
            mass,
            inertia: inertia(&shape, mass),
            position,
            orientation: [1.0, 0.0, 0.0, 0.0],
            linear_velocity: [0.0; 3],
            angular_velocity: [0.0; 3],
            friction: FRICTION,
        });
        self.scene.bodies.last_mut().expect("just pushed")
    }

    /// Hangs the last body on the world at a point of its own frame, free about `axis`.
    pub(crate) fn hinge_last(&mut self, anchor: [f64; 3], anchor_local: [f64; 3], axis: [f64; 3]) {
        let body = self.scene.bodies.len() - 1;
        self.scene.hinges.push(Hinge { body, parent: None, anchor, anchor_local, axis });
    }

    /// Hangs the last body on the one before it.
    pub(crate) fn joint_last(&mut self, anchor: [f64; 3], anchor_local: [f64; 3], axis: [f64; 3]) {
        self.hinge_last(anchor, anchor_local, axis);
        if let Some(hinge) = self.scene.hinges.last_mut() {
            hinge.parent = hinge.body.checked_sub(1);
        }
    }
}

/// Volume of a shape, m³.
pub(crate) fn volume(shape: &Shape) -> f64 {
    match *shape {
        Shape::Box { half_extents: [x, y, z] } => 8.0 * x * y * z,
        Shape::Sphere { radius: r } => 4.0 / 3.0 * PI * r * r * r,
        Shape::Capsule { radius: r, half_length: l } => {
            PI * r * r * 2.0 * l + 4.0 / 3.0 * PI * r * r * r
        }
        Shape::Cylinder { radius: r, half_length: l } => PI * r * r * 2.0 * l,
    }
}

/// Principal moments of a solid of even density about its centre, kg·m².
pub(crate) fn inertia(shape: &Shape, mass: f64) -> [f64; 3] {
    match *shape {
        Shape::Box { half_extents: [x, y, z] } => {
            [y * y + z * z, x * x + z * z, x * x + y * y].map(|s| mass / 3.0 * s)
        }
        Shape::Sphere { radius: r } => [0.4 * mass * r * r; 3],
        Shape::Capsule { radius: r, half_length: l } => {
            // A cylinder, and two half-spheres whose centres of mass lie 3r/8 beyond its ends.
            let cylinder = mass * (PI * r * r * 2.0 * l) / volume(shape);
            let caps = mass - cylinder;
            let along = cylinder * 0.5 * r * r + caps * 0.4 * r * r;
            let across = cylinder * (0.25 * r * r + l * l / 3.0)
                + caps * (0.4 * r * r + l * l + 0.75 * l * r);
            [across, across, along]
        }
        Shape::Cylinder { radius: r, half_length: l } => {
            let across = mass * (0.25 * r * r + l * l / 3.0);
            [across, across, 0.5 * mass * r * r]
        }
    }
}

/// Places for `size` bodies in layers from the floor up, about twice as wide as high:
/// `spacing` m apart, the lowest centre `spacing`/2 above the floor.
pub(crate) fn lattice(size: u64, spacing: f64) -> impl Iterator<Item = [f64; 3]> {
    let side = (1..).find(|s: &u64| s.saturating_pow(3) >= size.saturating_mul(4)).unwrap_or(1);
    let middle = (side - 1) as f64 / 2.0;
    (0..size).map(move |k| {
        let (x, y, z) = (k % side, k / side % side, k / (side * side));
        [(x as f64 - middle) * spacing, (y as f64 - middle) * spacing, (z as f64 + 0.5) * spacing]
    })
}

/// Farthest from the origin that a coordinate of the lattice gets, m.
pub(crate) fn lattice_extent(size: u64, spacing: f64) -> f64 {
    lattice(size, spacing).next().map_or(0.0, |p| p[0].abs()) + spacing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_books() {
        let cube = inertia(&Shape::Box { half_extents: [0.5; 3] }, 6.0);
        assert_eq!(cube, [1.0; 3]); // m a²/6
        // A capsule without a cylinder is a sphere; one of vanishing radius is a rod m L²/12.
        let ball = inertia(&Shape::Capsule { radius: 2.0, half_length: 0.0 }, 1.0);
        assert!(ball.iter().all(|i| (i - 1.6).abs() < 1e-12), "{ball:?}");
        let rod = inertia(&Shape::Capsule { radius: 1e-6, half_length: 0.5 }, 12.0);
        assert!((rod[0] - 1.0).abs() < 1e-5 && rod[2] < 1e-10, "{rod:?}");
    }

    #[test]
    fn a_lattice_has_the_asked_size_and_distinct_places() {
        let places: Vec<_> = lattice(1000, 0.6).collect();
        assert_eq!(places.len(), 1000);
        assert_eq!(places[0][2], 0.3);
        let mut keys: Vec<_> = places.iter().map(|p| p.map(f64::to_bits)).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 1000);
    }
}
