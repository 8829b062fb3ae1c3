//! Whether a compiled model is that of a specification. Every mismatch is refused, by name.

use sim_mujoco_c::{Data, Joint, Kind, Model};
use sim_snake::mjcf::Scene;
use sim_snake::spec::Spec;

/// Where everything is in the model.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Bodies of the links, the head first.
    pub links: Vec<usize>,
    /// Position of each joint.
    pub qpos: Vec<usize>,
    /// Velocity of each joint.
    pub dof: Vec<usize>,
    /// Actuator of each joint.
    pub actuators: Vec<usize>,
    /// Value of each ray.
    pub rays: Vec<usize>,
    /// Pads of the links.
    pub pads: Vec<usize>,
    /// The floor.
    pub floor: usize,
    /// The obstacle, where there is one.
    pub obstacle: Option<usize>,
}

const LENGTH: f64 = 1e-12;
const INERTIA: f64 = 1e-15;

/// Checks structure and numbers of a model. The error names what is wrong.
pub fn check(model: &Model, spec: &Spec, scene: Scene) -> Result<Layout, String> {
    let named = |kind: Kind, name: &str| {
        let what = format!("{kind:?}").to_lowercase();
        model.id(kind, name).ok_or_else(|| format!("the model has no {what} `{name}`"))
    };
    let all = |kind: Kind, names: &[String], suffix: &str| -> Result<Vec<usize>, String> {
        names.iter().map(|n| named(kind, &format!("{n}{suffix}"))).collect()
    };
    let (link_names, joint_names) = (spec.link_names(), spec.joint_names());
    let ray_names: Vec<String> = spec.ray_names().cloned().collect();
    let links = all(Kind::Body, &link_names, "")?;
    let pads = all(Kind::Geom, &link_names, "_pad")?;
    all(Kind::Geom, &link_names, "_box")?;
    let floor = named(Kind::Geom, "floor")?;
    let joints = all(Kind::Joint, &joint_names, "")?;
    let actuators = all(Kind::Actuator, &joint_names, "_position")?;
    let sensors = all(Kind::Sensor, &ray_names, "")?;

    let [_, _, controls, count] = model.sizes();
    if count != joints.len() + 1 || controls != actuators.len() {
        return Err(format!("the model has {count} joints and {controls} actuators"));
    }
    for (what, ids) in [("joints", &joints), ("links", &links), ("actuators", &actuators)] {
        if ids.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(format!("the {what} are not in their order"));
        }
    }
    let head: Joint = model.joint(0);
    if head.kind != 0 || head.body != links[0] {
        return Err(format!("the first joint is not the free joint of `{}`", link_names[0]));
    }
    for (i, name) in link_names.iter().enumerate() {
        let body = model.body(links[i]);
        if i > 0 && body.parent != links[i - 1] {
            return Err(format!("`{name}` does not hang on `{}`", link_names[i - 1]));
        }
        let at = if i == 0 { spec.height() } else { 0.0 };
        let x = if i == 0 { 0.0 } else { -spec.robot.pivot_pitch_m };
        near(&format!("the position of `{name}`"), &body.position, &[x, 0.0, at], LENGTH)?;
        near(&format!("the mass of `{name}`"), &[body.mass], &[spec.robot.link_mass_kg], LENGTH)?;
        near(&format!("the inertia of `{name}`"), &body.inertia, &spec.link_inertia(), INERTIA)?;
        near(
            &format!("the centre of mass of `{name}`"),
            &body.centre,
            &spec.link_centre(),
            LENGTH,
        )?;
    }
    let total = spec.robot.link_mass_kg * spec.robot.links as f64;
    near("the mass of the snake", &[model.subtree_mass(links[0])], &[total], 1e-9)?;
    let (limit, effort) = (spec.joint.limit_rad, spec.joint.effort_nm);
    for (i, name) in joint_names.iter().enumerate() {
        let (joint, actuator) = (model.joint(joints[i]), model.actuator(actuators[i]));
        if joint.kind != 3 || joint.body != links[i + 1] {
            return Err(format!("`{name}` is no hinge of `{}`", link_names[i + 1]));
        }
        near(&format!("the axis of `{name}`"), &joint.axis, &[0.0, 0.0, 1.0], LENGTH)?;
        if !joint.limited {
            return Err(format!("`{name}` has no limit"));
        }
        near(&format!("the range of `{name}`"), &joint.range, &[-limit, limit], LENGTH)?;
        if actuator.joint != Some(joints[i]) {
            return Err(format!("`{name}_position` does not drive `{name}`"));
        }
        let what = format!("the command range of `{name}_position`");
        near(&what, &actuator.control, &[-limit, limit], LENGTH)?;
        let what = format!("the torque range of `{name}_position`");
        near(&what, &actuator.force, &[-effort, effort], LENGTH)?;
    }
    let mut rays = Vec::new();
    for (ray, id) in spec.rays.iter().zip(&sensors) {
        let sensor = model.sensor(*id);
        if !sensor.rangefinder {
            return Err(format!("`{}` is no rangefinder", ray.name));
        }
        let (cutoff, range) = (sensor.cutoff, spec.perception.range_m);
        near(&format!("the range of `{}`", ray.name), &[cutoff], &[range], LENGTH)?;
        let site = model.site(sensor.object);
        if site.body != links[0] {
            return Err(format!("`{}` is not on the head", ray.name));
        }
        let origin = spec.perception.origin_m;
        near(&format!("the origin of `{}`", ray.name), &site.position, &origin, LENGTH)?;
        let [w, x, y, z] = site.quaternion;
        // A ray goes along its site's z axis.
        let along = [2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)];
        let (s, c) = ray.angle_deg.to_radians().sin_cos();
        near(&format!("the direction of `{}`", ray.name), &along, &[c, s, 0.0], LENGTH)?;
        rays.push(sensor.address);
    }
    let obstacle = model.id(Kind::Geom, "obstacle");
    match (scene, obstacle) {
        (Scene::Locomotion, Some(_)) => return Err("there is an obstacle".to_owned()),
        (Scene::ObstacleCourse, None) => return Err("there is no obstacle".to_owned()),
        (_, Some(id)) => {
            let geom = model.geom(id);
            if !geom.cylinder || geom.body != 0 {
                return Err("the obstacle is no cylinder of the world".to_owned());
            }
            let radius = spec.obstacle.radius_m;
            near("the radius of the obstacle", &geom.size[..1], &[radius], LENGTH)?;
        }
        (Scene::Locomotion, None) => {}
    }
    let mut start = Data::new(model)?;
    start.forward();
    near("where the head begins", &start.xpos(links[0])[..2], &[0.0, 0.0], LENGTH)?;
    Ok(Layout {
        qpos: joints.iter().map(|i| model.joint(*i).qpos).collect(),
        dof: joints.iter().map(|i| model.joint(*i).dof).collect(),
        links,
        actuators,
        rays,
        pads,
        floor,
        obstacle,
    })
}

fn near(what: &str, values: &[f64], wanted: &[f64], tolerance: f64) -> Result<(), String> {
    if values.len() == wanted.len()
        && values.iter().zip(wanted).all(|(a, b)| (a - b).abs() <= tolerance)
    {
        return Ok(());
    }
    Err(format!("{what} is {values:?}, the specification says {wanted:?}"))
}
