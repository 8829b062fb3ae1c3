//! Booster's T1 rises from flexed legs to its home pose and stands.

use crate::build::{Builder, Recipe};
use crate::mjcf::Model;
use crate::rng::Rng;
use crate::scenario::SourceFiles;

/// Joints of each leg that start further flexed than at home, rad; the feet stay level.
const FLEXED: [(&str, f64); 3] = [("Hip_Pitch", -0.6), ("Knee_Pitch", 1.2), ("Ankle_Pitch", -0.6)];
/// N·m/rad and N·m·s/rad: Menagerie's 75 and 5 assume a policy that balances; with them the robot
/// tips over after some 1.5 s.
const SERVO: (f64, f64) = (300.0, 20.0);
/// Mass of all links, kg.
const MASS: f64 = 31.614;

const CHANGES: &[&str] = &[
    "left out: meshes, sites, camera, light, sensors",
    "default classes and inherited ranges resolved into every element: targets within the joint \
     ranges, torques within the joints' limits",
    "left out: the four spheres below each foot, which Playground added; the box feet stay",
    "no joint damping instead of Playground's 2 and 3 N·m·s/rad: Menagerie has none",
    "contacts with sliding friction (condim 3) instead of without any: Menagerie's",
    "integrator implicitfast instead of Euler without implicit damping: Menagerie's",
    "servos with kp 300 N·m/rad and kv 20 N·m·s/rad, instead of Menagerie's 75 and 5",
    "a floor: plane at z = 0, friction 0.8",
    "contact between floor and robot alone, none of the robot with itself",
    "at most 50 solver iterations; the timestep is the scene's",
];

pub(crate) fn generate(scene: &mut Builder<'_>, _size: u64, _rng: &mut Rng) {
    scene.robot(recipe);
}

fn recipe(files: &SourceFiles) -> Result<Recipe, String> {
    let mut model = Model::read(&files.model)?;
    model.read_keys(files.keys.as_deref().ok_or("its keyframes were not given")?)?;
    let home = model.angles("home")?;
    let standing_height = model.base_height("home")?;
    model.option.integrator = "implicitfast";
    for body in &mut model.bodies {
        body.geoms.retain(|g| g.class.as_deref() != Some("foot_sphere"));
        body.geoms.iter_mut().for_each(|geom| geom.condim = 3);
    }
    model.hinges_mut().for_each(|hinge| hinge.damping = 0.0);
    let joints: Vec<_> = model.hinges().cloned().collect();
    let mut targets = Vec::new();
    for servo in &mut model.servos {
        let place = joints.iter().position(|h| h.name == servo.joint);
        let place = place.ok_or_else(|| format!("servo {} drives no joint", servo.name))?;
        (servo.kp, servo.kv) = SERVO;
        servo.control = Some(joints[place].range);
        servo.force = joints[place].torque;
        if servo.force.is_none() {
            return Err(format!("joint {} has no torque limit", servo.joint));
        }
        targets.push(home[place]);
    }
    let mut angles = home;
    for (angle, joint) in angles.iter_mut().zip(&joints) {
        let flexed = FLEXED.iter().find(|(name, _)| joint.name.ends_with(name));
        if let Some((_, value)) = flexed {
            *angle = *value;
        }
    }
    model.expect(24, 23, MASS)?;
    Ok(Recipe { name: "t1", model, angles, targets, standing_height, changes: CHANGES })
}
