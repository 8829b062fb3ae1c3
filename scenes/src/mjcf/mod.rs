//! Robots: a published MJCF model, read into numbers, changed by a recipe, written as portable
//! MJCF that says everything explicitly, with forward kinematics beside it.
//!
//! Only the part of MJCF that the recipes' sources use is read. What is not understood is an
//! error, never left out in silence.

mod kinematics;
mod read;
mod write;

use sim_engine_protocol::Shape;
pub(crate) use write::Start;

/// A robot's model: bodies as a tree, servos, named states.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    /// All bodies, a parent before its children; the first is the base.
    pub(crate) bodies: Vec<Body>,
    pub(crate) servos: Vec<Servo>,
    pub(crate) keys: Vec<Key>,
    pub(crate) option: Physics,
}

/// What of `<option>` a model asks for.
#[derive(Clone, Debug)]
pub(crate) struct Physics {
    /// `pyramidal` or `elliptic`.
    pub(crate) cone: &'static str,
    /// Ratio of frictional to normal impedance, dimensionless.
    pub(crate) impratio: f64,
    /// `Euler` or `implicitfast`.
    pub(crate) integrator: &'static str,
}

/// A rigid body and how it hangs on its parent.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) name: String,
    pub(crate) parent: Option<usize>,
    /// In the parent's frame, m.
    pub(crate) position: [f64; 3],
    /// In the parent's frame, unit quaternion w, x, y, z.
    pub(crate) orientation: [f64; 4],
    pub(crate) inertial: Option<Inertial>,
    pub(crate) joint: Option<Joint>,
    /// Collision primitives.
    pub(crate) geoms: Vec<Geom>,
}

/// Mass and moments about the centre of mass.
#[derive(Clone, Debug)]
pub(crate) struct Inertial {
    pub(crate) position: [f64; 3],
    /// Frame of the principal axes, unit quaternion.
    pub(crate) orientation: [f64; 4],
    /// kg.
    pub(crate) mass: f64,
    /// kg·m².
    pub(crate) moments: [f64; 3],
}

/// How a body moves against its parent.
#[derive(Clone, Debug)]
pub(crate) enum Joint {
    /// Freely.
    Free,
    /// About one axis.
    Hinge(Hinge),
}

/// A hinge, in the body's frame.
#[derive(Clone, Debug)]
pub(crate) struct Hinge {
    pub(crate) name: String,
    pub(crate) class: Option<String>,
    pub(crate) position: [f64; 3],
    /// Unit vector.
    pub(crate) axis: [f64; 3],
    /// rad.
    pub(crate) range: [f64; 2],
    /// N·m·s/rad.
    pub(crate) damping: f64,
    /// kg·m².
    pub(crate) armature: f64,
    /// N·m.
    pub(crate) frictionloss: f64,
    /// Torque that its actuators may sum to, N·m.
    pub(crate) torque: Option<[f64; 2]>,
}

/// A collision primitive, in the body's frame.
#[derive(Clone, Debug)]
pub(crate) struct Geom {
    pub(crate) class: Option<String>,
    pub(crate) shape: Shape,
    pub(crate) position: [f64; 3],
    pub(crate) orientation: [f64; 4],
    /// Sliding, torsional, rolling.
    pub(crate) friction: [f64; 3],
    pub(crate) condim: i64,
    pub(crate) priority: i64,
    pub(crate) solimp: [f64; 5],
    /// m.
    pub(crate) margin: f64,
}

/// A position servo: torque kp·(target − q) − kv·q̇ within the force range.
#[derive(Clone, Debug)]
pub(crate) struct Servo {
    pub(crate) name: String,
    pub(crate) joint: String,
    /// N·m/rad.
    pub(crate) kp: f64,
    /// N·m·s/rad.
    pub(crate) kv: f64,
    /// rad.
    pub(crate) control: Option<[f64; 2]>,
    /// N·m.
    pub(crate) force: Option<[f64; 2]>,
}

/// A named state.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) name: String,
    /// Base position and quaternion, then the hinges in the order of bodies.
    pub(crate) qpos: Vec<f64>,
}

impl Model {
    /// Reads a published model.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        read::model(text)
    }

    /// Reads the keyframes of another file of the same model, such as its scene.
    pub(crate) fn read_keys(&mut self, text: &str) -> Result<(), String> {
        self.keys.extend(read::keys(text)?);
        Ok(())
    }

    /// All hinges, in the order of bodies.
    pub(crate) fn hinges(&self) -> impl Iterator<Item = &Hinge> {
        self.bodies.iter().filter_map(|b| match &b.joint {
            Some(Joint::Hinge(hinge)) => Some(hinge),
            _ => None,
        })
    }

    /// All hinges, to be changed.
    pub(crate) fn hinges_mut(&mut self) -> impl Iterator<Item = &mut Hinge> {
        self.bodies.iter_mut().filter_map(|b| match &mut b.joint {
            Some(Joint::Hinge(hinge)) => Some(hinge),
            _ => None,
        })
    }

    /// The angles of all hinges in a named state, rad.
    pub(crate) fn angles(&self, key: &str) -> Result<Vec<f64>, String> {
        let count = self.hinges().count();
        let key = self.keys.iter().find(|k| k.name == key);
        let key = key.ok_or_else(|| "the model has no such keyframe".to_owned())?;
        match key.qpos.split_at_checked(7) {
            Some((_, angles)) if angles.len() == count => Ok(angles.to_vec()),
            _ => Err(format!("keyframe {} has {} numbers", key.name, key.qpos.len())),
        }
    }

    /// The height of the base in a named state, m.
    pub(crate) fn base_height(&self, key: &str) -> Result<f64, String> {
        let key = self.keys.iter().find(|k| k.name == key);
        let height = key.and_then(|k| k.qpos.get(2).copied());
        height.ok_or_else(|| "the model has no such keyframe".to_owned())
    }

    /// Puts the geoms of bodies that have neither joint nor mass into their parents: such a body
    /// is a part of the parent in all but name.
    pub(crate) fn fold_massless(&mut self) -> Result<(), String> {
        while let Some(index) = self.bodies.iter().position(|b| b.joint.is_none()) {
            let body = self.bodies.remove(index);
            let parent = match body.parent {
                Some(parent) if body.inertial.is_none() => parent,
                _ => return Err(format!("body {} has no joint and cannot be folded", body.name)),
            };
            let frame = kinematics::pose(body.position, body.orientation);
            for mut geom in body.geoms {
                let pose = frame.compose(&kinematics::pose(geom.position, geom.orientation));
                (geom.position, geom.orientation) = (pose.position, pose.orientation);
                self.bodies[parent].geoms.push(geom);
            }
            for later in &mut self.bodies {
                match later.parent {
                    Some(p) if p == index => {
                        return Err(format!("body {} hangs on one without a joint", later.name));
                    }
                    Some(p) if p > index => later.parent = Some(p - 1),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Whether the model has what a recipe counts on.
    pub(crate) fn expect(&self, bodies: usize, servos: usize, mass: f64) -> Result<(), String> {
        let found: f64 = self.bodies.iter().flat_map(|b| &b.inertial).map(|i| i.mass).sum();
        if self.bodies.len() != bodies || self.servos.len() != servos {
            let (b, s) = (self.bodies.len(), self.servos.len());
            return Err(format!("it has {b} bodies and {s} servos, not {bodies} and {servos}"));
        }
        if (found - mass).abs() > 1.0e-3 {
            return Err(format!("its mass is {found} kg, not {mass}"));
        }
        if self.bodies.iter().any(|b| b.inertial.is_none()) {
            return Err("a body has no inertia".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
