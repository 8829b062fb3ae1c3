//! Unitree's Go1 rises from a crouch to its home pose and stands.

use crate::build::{Builder, Recipe};
use crate::mjcf::Model;
use crate::rng::Rng;
use crate::scenario::SourceFiles;

/// Abduction, hip and knee of every leg at the start, rad.
const CROUCH: [f64; 3] = [0.0, 1.2, -2.4];
/// N·m/rad.
const KP: f64 = 100.0;
/// Torque limits of abduction and hip, and of the knee, N·m.
const TORQUE: (f64, f64) = (23.7, 35.55);
/// N·m·s/rad.
const DAMPING: f64 = 2.0;
/// Mass of all links, kg.
const MASS: f64 = 12.743;

const CHANGES: &[&str] = &[
    "left out: meshes, sites, camera, light, sensors",
    "default classes resolved into every element",
    "the foot spheres are geoms of the calves, as in Menagerie: 13 links instead of 17",
    "joint damping 2 N·m·s/rad at hip and knee instead of 0.6: Menagerie's",
    "position servos with kp 100 N·m/rad within 23.7 N·m (knee 35.55) instead of motors, targets \
     within the joint ranges: Menagerie's",
    "contacts with sliding friction alone (condim 3): the feet's torsional and rolling friction is \
     not in every engine",
    "a floor: plane at z = 0, friction 0.8",
    "contact between floor and robot alone, none of the robot with itself",
    "at most 50 solver iterations; the timestep is the scene's",
];

pub(crate) fn generate(scene: &mut Builder<'_>, _size: u64, _rng: &mut Rng) {
    scene.robot(recipe);
}

fn recipe(files: &SourceFiles) -> Result<Recipe, String> {
    let mut model = Model::read(&files.model)?;
    let home = model.angles("home")?;
    let standing_height = model.base_height("home")?;
    model.fold_massless()?;
    for geom in model.bodies.iter_mut().flat_map(|b| &mut b.geoms) {
        geom.condim = 3;
    }
    for hinge in model.hinges_mut() {
        if hinge.class.as_deref() != Some("abduction") {
            hinge.damping = DAMPING;
        }
    }
    let joints: Vec<_> =
        model.hinges().map(|h| (h.name.clone(), h.class.clone(), h.range)).collect();
    let mut targets = Vec::new();
    for servo in &mut model.servos {
        let place = joints.iter().position(|(name, ..)| *name == servo.joint);
        let place = place.ok_or_else(|| format!("servo {} drives no joint", servo.name))?;
        let (_, class, range) = &joints[place];
        let torque = if class.as_deref() == Some("knee") { TORQUE.1 } else { TORQUE.0 };
        (servo.kp, servo.kv, servo.control) = (KP, 0.0, Some(*range));
        servo.force = Some([-torque, torque]);
        targets.push(home[place]);
    }
    model.expect(13, 12, MASS)?;
    let angles = CROUCH.repeat(4);
    Ok(Recipe { name: "go1", model, angles, targets, standing_height, changes: CHANGES })
}
