//! The engine-neutral scene: every engine receives the same bytes.

use crate::check::{FieldError, FieldErrors};
use crate::mpm::{MPM_FORMAT, Mpm};
use crate::robot::{Link, Robot};
use serde::{Deserialize, Serialize};

/// Version of the scene format.
pub const SCENE_FORMAT: u32 = 1;
/// Version of scenes with a robot. Others keep [`SCENE_FORMAT`], and with it their bytes.
pub const ROBOT_FORMAT: u32 = 2;

/// Coordinates and lengths larger than this (metres) are refused as nonsense.
const FAR: f64 = 1.0e6;
/// Speeds larger than this (m/s or rad/s) are refused as nonsense.
const FAST: f64 = 1.0e5;
/// How far a quaternion's or an axis' norm may be from one.
const UNIT: f64 = 1.0e-6;

/// Rigid bodies, the world they live in and how they hang together. SI units, Z up.
///
/// Restitution and damping are zero and sleeping is off by contract; they are no fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Scene {
    /// Format version: [`SCENE_FORMAT`], [`ROBOT_FORMAT`] where there is a robot, [`MPM_FORMAT`] where
    /// there are material points.
    pub format: u32,
    /// Name of the scenario it came from.
    pub name: String,
    /// Gravity, m/s².
    pub gravity: [f64; 3],
    /// Length of one physics step, s.
    pub timestep: f64,
    /// Declares that nothing touches within any horizon run with this scene, so the free-fall
    /// gate applies and the floor gate does not.
    #[serde(default)]
    pub contact_free: bool,
    /// All bodies; the order is the order of poses everywhere.
    pub bodies: Vec<Body>,
    /// Hinges that hold a dynamic body to the world or to another dynamic body.
    #[serde(default)]
    pub hinges: Vec<Hinge>,
    /// What is known of the motion without any engine; where it is said, every result tells how
    /// far the final state is from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
    /// A robot in place of dynamic bodies. Its model holds the floor; `bodies` then has static
    /// bodies alone, with the same top, for whoever draws the scene.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub robot: Option<Robot>,
    /// Makes the dynamic bodies material points of one continuum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mpm: Option<Mpm>,
}

/// A law of motion that every body of a scene obeys, with the closed form in the harness'
/// accuracy module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reference {
    /// Nothing touches: every centre of mass falls freely.
    FreeFall,
    /// Every dynamic body hangs on one hinge to the world and is released at rest.
    Pendulum,
    /// Every dynamic body is a box on a plane through z = 0 that gravity leans on; it slides along
    /// its start velocity or, from rest, along gravity's part in the plane.
    Slide,
    /// Every dynamic body is a sphere at rest on such a plane, with friction enough to roll.
    Roll,
    /// Dynamic bodies hinged to each other, far from everything and without gravity: momentum,
    /// angular momentum and kinetic energy stay.
    FreeChain,
}

/// One rigid body with one primitive collision shape centred on its centre of mass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// A name for people; need not be unique.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether it moves.
    pub kind: BodyKind,
    /// Collision shape, in the body frame.
    pub shape: Shape,
    /// Mass, kg. Positive for a dynamic body, 0 for a static one.
    pub mass: f64,
    /// Principal moments of inertia about the body axes, kg·m². Zero for a static body.
    pub inertia: [f64; 3],
    /// Centre of mass in the world, m.
    pub position: [f64; 3],
    /// Orientation in the world, unit quaternion w, x, y, z.
    pub orientation: [f64; 4],
    /// Velocity of the centre of mass, world frame, m/s.
    pub linear_velocity: [f64; 3],
    /// Angular velocity, world frame, rad/s.
    pub angular_velocity: [f64; 3],
    /// Coulomb friction coefficient, dimensionless.
    pub friction: f64,
}

/// Whether a body moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BodyKind {
    /// Never moves, infinite mass.
    Static,
    /// Moves freely or about its hinge.
    Dynamic,
}

/// A primitive collision shape centred on the body's origin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Shape {
    /// A box.
    Box {
        /// Half edge lengths along x, y, z, m.
        half_extents: [f64; 3],
    },
    /// A sphere.
    Sphere {
        /// Radius, m.
        radius: f64,
    },
    /// A cylinder along the body's Z axis with half-spheres on its ends.
    Capsule {
        /// Radius of cylinder and caps, m.
        radius: f64,
        /// Half length of the cylinder, caps not counted, m.
        half_length: f64,
    },
    /// A cylinder along the body's Z axis with flat ends.
    Cylinder {
        /// Radius, m.
        radius: f64,
        /// Half length, m.
        half_length: f64,
    },
}

/// A hinge: one free rotation of a dynamic body about the world or about another dynamic body.
/// Two bodies that a hinge joins do not collide with each other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Hinge {
    /// Index into `bodies`.
    pub body: usize,
    /// Index of the body it hangs on, which stands earlier in `bodies`; absent for the world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
    /// The hinge's point in the world at the start, m; it stays there where there is no parent.
    pub anchor: [f64; 3],
    /// The same point in the body frame, m.
    pub anchor_local: [f64; 3],
    /// Rotation axis in the world at the start, unit vector.
    pub axis: [f64; 3],
}

/// Where a body is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Pose {
    /// Centre of mass, m.
    pub position: [f64; 3],
    /// Unit quaternion w, x, y, z.
    pub orientation: [f64; 4],
}

/// How a body moves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Velocity {
    /// Of the centre of mass, world frame, m/s.
    pub linear: [f64; 3],
    /// World frame, rad/s.
    pub angular: [f64; 3],
}

impl Pose {
    /// A world vector in the body's frame.
    pub fn to_local(&self, world: [f64; 3]) -> [f64; 3] {
        let [w, x, y, z] = self.orientation;
        rotate([w, -x, -y, -z], world)
    }

    /// A vector of the body's frame in the world.
    pub fn to_world(&self, local: [f64; 3]) -> [f64; 3] {
        rotate(self.orientation, local)
    }

    /// The point of the body frame where a world point is.
    pub fn inverse_transform(&self, world: [f64; 3]) -> [f64; 3] {
        self.to_local(std::array::from_fn(|i| world[i] - self.position[i]))
    }

    /// A pose that is given in this one's frame, in the world.
    pub fn compose(&self, local: &Pose) -> Pose {
        let ([a, b, c, d], [w, x, y, z]) = (self.orientation, local.orientation);
        let orientation = [
            a * w - b * x - c * y - d * z,
            a * x + b * w + c * z - d * y,
            a * y - b * z + c * w + d * x,
            a * z + b * y - c * x + d * w,
        ];
        Pose { position: self.transform(local.position), orientation }
    }

    /// The world's z component of the frame's z axis: the cosine of its tilt, dimensionless.
    pub fn upright(&self) -> f64 {
        let [_, x, y, _] = self.orientation;
        1.0 - 2.0 * (x * x + y * y)
    }

    /// A point of the body frame in the world.
    pub fn transform(&self, local: [f64; 3]) -> [f64; 3] {
        let r = rotate(self.orientation, local);
        std::array::from_fn(|i| self.position[i] + r[i])
    }
}

/// `v` turned by the unit quaternion `q`: v + 2w(u×v) + 2u×(u×v).
fn rotate([w, x, y, z]: [f64; 4], v: [f64; 3]) -> [f64; 3] {
    let u = [x, y, z];
    let a = cross(u, v);
    let b = cross(u, a);
    std::array::from_fn(|i| v[i] + 2.0 * (w * a[i] + b[i]))
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

impl Body {
    /// Its start pose.
    pub fn pose(&self) -> Pose {
        Pose { position: self.position, orientation: self.orientation }
    }

    /// Whether it moves.
    pub fn is_dynamic(&self) -> bool {
        self.kind == BodyKind::Dynamic
    }
}

impl Shape {
    /// Height of the lowest point of this shape in the world, m: the exact support distance
    /// downwards.
    pub fn lowest_point(&self, pose: &Pose) -> f64 {
        let [w, x, y, z] = pose.orientation;
        // Third row of the rotation matrix: the world's z in the body's axes.
        let row = [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)];
        let reach = match *self {
            Shape::Box { half_extents: h } => (0..3).map(|i| h[i] * row[i].abs()).sum(),
            Shape::Sphere { radius } => radius,
            Shape::Capsule { radius, half_length } => radius + half_length * row[2].abs(),
            Shape::Cylinder { radius, half_length } => {
                // The rounding of a unit quaternion may leave row[2] a little above one.
                radius * (1.0 - row[2] * row[2]).max(0.0).sqrt() + half_length * row[2].abs()
            }
        };
        pose.position[2] - reach
    }
}

/// Something that moves and has a pose.
#[derive(Clone, Copy, Debug)]
pub enum Mover<'a> {
    /// A body of its own.
    Body(&'a Body),
    /// A link of the scene's robot.
    Link(&'a Link),
}

impl Mover<'_> {
    /// Height of its lowest point in the world, m; none for a link without a shape.
    pub fn lowest_point(&self, pose: &Pose) -> Option<f64> {
        match self {
            Mover::Body(body) => Some(body.shape.lowest_point(pose)),
            Mover::Link(link) => link.lowest_point(pose),
        }
    }
}

impl Scene {
    /// The bodies that move, with their index in `bodies`.
    pub fn dynamic_bodies(&self) -> impl Iterator<Item = (usize, &Body)> {
        self.bodies.iter().enumerate().filter(|(_, b)| b.is_dynamic())
    }

    /// How many bodies move, the links of a robot included: the number of poses.
    pub fn dynamic_count(&self) -> usize {
        self.dynamic_bodies().count() + self.robot.as_ref().map_or(0, |r| r.links.len())
    }

    /// Whatever moves, in the order of poses.
    pub fn movers(&self) -> impl Iterator<Item = Mover<'_>> {
        let links = self.robot.iter().flat_map(|r| &r.links).map(Mover::Link);
        self.dynamic_bodies().map(|(_, b)| Mover::Body(b)).chain(links)
    }

    /// Everything wrong with the scene, each problem with its field.
    pub fn validate(&self) -> Result<(), Vec<FieldError>> {
        let mut e = FieldErrors::default();
        let format = match (&self.mpm, &self.robot) {
            (Some(_), _) => MPM_FORMAT,
            (None, Some(_)) => ROBOT_FORMAT,
            (None, None) => SCENE_FORMAT,
        };
        if self.format != format {
            let problem = format!(
                "this reads format {SCENE_FORMAT}, {ROBOT_FORMAT} with a robot, and {MPM_FORMAT} with \
                 material points"
            );
            e.add("format", self.format, problem);
        }
        if self.name.is_empty() || self.name.len() > 200 {
            e.add("name", &self.name, "must have 1 to 200 bytes");
        }
        e.vector("gravity", &self.gravity, 1.0e4);
        e.within("timestep", self.timestep, 1.0e-7, 1.0);
        if self.bodies.is_empty() {
            e.add("bodies", 0, "a scene needs at least one body");
        }
        for (i, body) in self.bodies.iter().enumerate() {
            check_body(body, &format!("bodies[{i}]"), &mut e);
        }
        if self.contact_free && !self.hinges.is_empty() {
            e.add("contact_free", true, "a scene with hinges does not fall freely");
        }
        let mut hinged = vec![false; self.bodies.len()];
        for (i, hinge) in self.hinges.iter().enumerate() {
            self.check_hinge(hinge, &format!("hinges[{i}]"), &mut hinged, &mut e);
        }
        if let Some(robot) = &self.robot {
            robot.check(&mut e);
            let alone = self.dynamic_bodies().next().is_none() && self.hinges.is_empty();
            if !alone || self.contact_free || self.reference.is_some() {
                let problem = "a scene with a robot has no dynamic bodies, no hinges, contacts \
                               and no reference";
                e.add("robot", &robot.name, problem);
            }
        }
        if let Some(mpm) = &self.mpm {
            mpm.check(self, &mut e);
        }
        if let Some(reference) = self.reference
            && let Err(problem) = self.obeys(reference)
        {
            e.add("reference", format!("{reference:?}"), problem);
        }
        e.finish()
    }

    /// Whether the closed form of a reference may be asked of this scene; the error says what it
    /// lacks.
    fn obeys(&self, reference: Reference) -> Result<(), &'static str> {
        let resting = |b: &Body| b.linear_velocity == [0.0; 3] && b.angular_velocity == [0.0; 3];
        let mut dynamic = self.dynamic_bodies().map(|(_, b)| b);
        let holds = match reference {
            Reference::FreeFall => self.contact_free,
            Reference::Pendulum => {
                self.hinges.len() == self.dynamic_count()
                    && self.hinges.iter().all(|h| h.parent.is_none())
                    && dynamic.all(resting)
            }
            Reference::Slide => {
                self.hinges.is_empty()
                    && dynamic.all(|b| {
                        matches!(b.shape, Shape::Box { .. }) && b.angular_velocity == [0.0; 3]
                    })
            }
            Reference::Roll => {
                self.hinges.is_empty()
                    && dynamic.all(|b| matches!(b.shape, Shape::Sphere { .. }) && resting(b))
            }
            Reference::FreeChain => {
                self.gravity == [0.0; 3]
                    && self.bodies.iter().all(Body::is_dynamic)
                    && self.hinges.iter().all(|h| h.parent.is_some())
            }
        };
        match (holds, reference) {
            (true, _) => Ok(()),
            (_, Reference::FreeFall) => Err("needs contact_free"),
            (_, Reference::Pendulum) => Err("needs one hinge to the world a body, all at rest"),
            (_, Reference::Slide) => Err("needs boxes that do not spin and no hinge"),
            (_, Reference::Roll) => Err("needs spheres at rest and no hinge"),
            (_, Reference::FreeChain) => {
                Err("needs dynamic bodies alone, no gravity and no hinge to the world")
            }
        }
    }

    fn check_hinge(&self, hinge: &Hinge, at: &str, hinged: &mut [bool], e: &mut FieldErrors) {
        let Some(body) = self.bodies.get(hinge.body) else {
            let last = self.bodies.len();
            return e.add(format!("{at}.body"), hinge.body, format!("there are {last} bodies"));
        };
        if !body.is_dynamic() {
            e.add(format!("{at}.body"), hinge.body, "a static body cannot turn about a hinge");
        }
        if std::mem::replace(&mut hinged[hinge.body], true) {
            e.add(format!("{at}.body"), hinge.body, "this body already has a hinge");
        }
        let unit = (norm(&hinge.axis) - 1.0).abs() <= UNIT;
        if e.vector(&format!("{at}.axis"), &hinge.axis, FAST) && !unit {
            e.add(format!("{at}.axis"), text(&hinge.axis), "must be a unit vector");
        }
        if let Some(parent) = hinge.parent {
            let stands = self.bodies.get(parent).is_some_and(Body::is_dynamic);
            if !stands || parent >= hinge.body {
                let problem = "must be a dynamic body that stands before the hinged one";
                e.add(format!("{at}.parent"), parent, problem);
            }
        }
        let known = e.vector(&format!("{at}.anchor"), &hinge.anchor, FAR)
            && e.vector(&format!("{at}.anchor_local"), &hinge.anchor_local, FAR);
        let there = body.pose().transform(hinge.anchor_local);
        let gap = norm(&std::array::from_fn::<f64, 3, _>(|i| there[i] - hinge.anchor[i]));
        if known && gap.is_finite() && gap > 1.0e-6 {
            let problem = format!("anchor_local is {gap} m away from anchor at the start");
            e.add(format!("{at}.anchor"), text(&hinge.anchor), problem);
        }
    }
}

fn check_body(body: &Body, at: &str, e: &mut FieldErrors) {
    e.vector(&format!("{at}.position"), &body.position, FAR);
    e.vector(&format!("{at}.linear_velocity"), &body.linear_velocity, FAST);
    e.vector(&format!("{at}.angular_velocity"), &body.angular_velocity, FAST);
    e.within(&format!("{at}.friction"), body.friction, 0.0, 100.0);
    check_orientation(&body.orientation, &format!("{at}.orientation"), e);
    check_shape(&body.shape, at, e);
    match body.kind {
        BodyKind::Dynamic => check_mass(body, at, e),
        BodyKind::Static => {
            let still = body.linear_velocity == [0.0; 3] && body.angular_velocity == [0.0; 3];
            if !still {
                e.add(format!("{at}.linear_velocity"), "not zero", "a static body does not move");
            }
            if body.mass != 0.0 || body.inertia != [0.0; 3] {
                e.add(format!("{at}.mass"), body.mass, "a static body has mass and inertia 0");
            }
        }
    }
}

pub(crate) fn check_orientation(orientation: &[f64; 4], at: &str, e: &mut FieldErrors) {
    let unit = (norm(orientation) - 1.0).abs() <= UNIT;
    if e.vector(at, orientation, FAR) && !unit {
        e.add(at, text(orientation), "must be a unit quaternion w, x, y, z");
    }
}

pub(crate) fn check_shape(shape: &Shape, at: &str, e: &mut FieldErrors) {
    let mut size = |field: &str, value: f64| {
        e.within(&format!("{at}.shape.{field}"), value, 1.0e-6, FAR);
    };
    match *shape {
        Shape::Box { half_extents } => {
            for (i, h) in half_extents.into_iter().enumerate() {
                size(&format!("box.half_extents[{i}]"), h);
            }
        }
        Shape::Sphere { radius } => size("sphere.radius", radius),
        Shape::Capsule { radius, half_length } => {
            size("capsule.radius", radius);
            size("capsule.half_length", half_length);
        }
        Shape::Cylinder { radius, half_length } => {
            size("cylinder.radius", radius);
            size("cylinder.half_length", half_length);
        }
    }
}

fn check_mass(body: &Body, at: &str, e: &mut FieldErrors) {
    e.within(&format!("{at}.mass"), body.mass, 1.0e-12, 1.0e12);
    let mut fine = true;
    for (i, moment) in body.inertia.into_iter().enumerate() {
        let path = format!("{at}.inertia[{i}]");
        e.within(&path, moment, 1.0e-18, 1.0e18);
        fine &= moment > 0.0 && moment.is_finite();
    }
    let [a, b, c] = body.inertia;
    let slack = 1.0 + 1.0e-9;
    if fine && (a > (b + c) * slack || b > (a + c) * slack || c > (a + b) * slack) {
        let problem = "no body has a moment of inertia larger than the sum of the other two";
        e.add(format!("{at}.inertia"), text(&body.inertia), problem);
    }
}

fn text(v: &[f64]) -> String {
    format!("{v:?}")
}

#[cfg(test)]
#[path = "scene_tests.rs"]
mod tests;
