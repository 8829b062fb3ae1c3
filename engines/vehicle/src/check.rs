//! Whether a model is that of a configuration. Every mismatch is refused, by name.

use sim_mujoco_c::{Data, Geom, Joint, Kind, Model};
use sim_vehicle::config::Config;
use sim_vehicle::mjcf::WHEELS;

/// Where everything is in the model.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Ground geom.
    pub ground: usize,
    /// Wheel geoms, in the order of [`WHEELS`].
    pub wheels: [usize; 4],
    /// Velocity of each wheel's spin.
    pub spin: [usize; 4],
    /// Its angle.
    pub spin_angle: [usize; 4],
    /// Position of each steering joint, left first.
    pub steer: [usize; 2],
    /// Steering actuators, left first.
    pub steering: [usize; 2],
    /// Motors.
    pub drive: [usize; 4],
    /// The rear axle's reference point in the chassis' frame, m.
    pub rear_axle: [f64; 3],
}

const AXIS: f64 = 1e-12;
const LENGTH: f64 = 1e-12;
const MASS: f64 = 1e-9;

/// Checks structure and numbers of a model. The error names what is wrong.
pub fn check(model: &Model, config: &Config) -> Result<Layout, String> {
    let named = |kind: Kind, name: &str| {
        let what = format!("{kind:?}").to_lowercase();
        model.id(kind, name).ok_or_else(|| format!("the model has no {what} `{name}`"))
    };
    let wheels = |suffix: &str, kind: Kind| -> Result<[usize; 4], String> {
        let ids: Result<Vec<usize>, String> =
            WHEELS.iter().map(|w| named(kind, &format!("{w}{suffix}"))).collect();
        ids?.try_into().map_err(|_| "there are four wheels".to_owned())
    };
    let near = |what: &str, value: f64, wanted: f64, tolerance: f64| {
        if (value - wanted).abs() <= tolerance {
            Ok(())
        } else {
            Err(format!("{what} is {value}, the configuration says {wanted}"))
        }
    };
    let (chassis, ground) = (named(Kind::Body, "chassis")?, named(Kind::Geom, "ground")?);
    named(Kind::Geom, "chassis")?;
    let site = named(Kind::Site, "rear_axle_reference")?;
    let bodies = wheels("_wheel_body", Kind::Body)?;
    let geoms = wheels("_wheel_geom", Kind::Geom)?;
    let spins = wheels("_wheel", Kind::Joint)?;
    let drive = wheels("_drive", Kind::Actuator)?;
    let steer = [named(Kind::Joint, "front_left_steer")?, named(Kind::Joint, "front_right_steer")?];
    let steering = [
        named(Kind::Actuator, "front_left_steer_position")?,
        named(Kind::Actuator, "front_right_steer_position")?,
    ];

    let [_, _, _, joints] = model.sizes();
    let all: Vec<Joint> = (0..joints).map(|i| model.joint(i)).collect();
    let free: Vec<&Joint> = all.iter().filter(|j| j.kind == 0).collect();
    match free.as_slice() {
        [one] if one.body == chassis && one.qpos == 0 && one.dof == 0 => {}
        [one] if one.body == chassis => {
            return Err("the chassis' free joint does not come first".to_owned());
        }
        [_] => return Err("the free joint is not the chassis'".to_owned()),
        list => return Err(format!("the model has {} free joints, not one", list.len())),
    }
    if joints != 7 {
        return Err(format!("the model has {joints} joints, not 7"));
    }
    let rear_axle = model.site(site);
    if rear_axle.body != chassis {
        return Err("the site `rear_axle_reference` is not on the chassis".to_owned());
    }
    let angle = config.actuator.max_steering_angle_rad;
    let axis = |name: &str, joint: &Joint, wanted: [f64; 3]| {
        if joint.kind != 3 {
            return Err(format!("joint `{name}` is no hinge"));
        }
        if joint.axis.iter().zip(wanted).any(|(a, b)| (a - b).abs() > AXIS) {
            return Err(format!("joint `{name}` turns about {:?}, not {wanted:?}", joint.axis));
        }
        Ok(())
    };
    for (side, i) in WHEELS[..2].iter().zip(steer) {
        let (name, joint) = (format!("{side}_steer"), &all[i]);
        axis(&name, joint, [0.0, 0.0, 1.0])?;
        if !joint.limited {
            return Err(format!("joint `{name}` has no limit"));
        }
        near(&format!("the least angle of joint `{name}`"), joint.range[0], -angle, AXIS)?;
        near(&format!("the largest angle of joint `{name}`"), joint.range[1], angle, AXIS)?;
    }
    for (wheel, i) in WHEELS.iter().zip(spins) {
        axis(&format!("{wheel}_wheel"), &all[i], [0.0, 1.0, 0.0])?;
    }
    for (k, (i, body)) in spins.iter().zip(bodies).enumerate() {
        if all[*i].body != body {
            return Err(format!("joint `{}_wheel` is not its wheel's", WHEELS[k]));
        }
    }
    for (k, i) in steer.iter().enumerate() {
        if all[*i].body != bodies[k] {
            return Err(format!("joint `{}_steer` is not its wheel's", WHEELS[k]));
        }
    }
    near("the mass of the vehicle", model.subtree_mass(chassis), config.vehicle.mass_kg, MASS)?;

    let mut start = Data::new(model)?;
    start.forward();
    let [fl, fr, rl, rr] = bodies.map(|b| start.xpos(b));
    let (v, half) = (&config.vehicle, 0.5);
    let middle = |a: [f64; 3], b: [f64; 3], i: usize| half * (a[i] + b[i]);
    near("the wheelbase", middle(fl, fr, 0) - middle(rl, rr, 0), v.wheelbase_m, LENGTH)?;
    near("the front track width", fl[1] - fr[1], v.track_width_m, LENGTH)?;
    near("the rear track width", rl[1] - rr[1], v.track_width_m, LENGTH)?;
    for (wheel, (g, body)) in WHEELS.iter().zip(geoms.iter().zip(bodies)) {
        let Geom { cylinder, body: of, size } = model.geom(*g);
        if !cylinder {
            return Err(format!("geom `{wheel}_wheel_geom` is no cylinder"));
        }
        if of != body {
            return Err(format!("geom `{wheel}_wheel_geom` is not on its wheel"));
        }
        near(&format!("the radius of `{wheel}_wheel_geom`"), size[0], v.wheel_radius_m, LENGTH)?;
    }
    let torque = config.wheel_torque(config.actuator.max_deceleration_mps2);
    for (wheel, i) in WHEELS.iter().zip(drive) {
        let range = model.control_range(i);
        near(&format!("the least torque of `{wheel}_drive`"), range[0], -torque, MASS)?;
        near(&format!("the largest torque of `{wheel}_drive`"), range[1], torque, MASS)?;
    }
    let dt = model.timestep();
    if !(dt.is_finite() && dt > 0.0) {
        return Err(format!("the physics step is {dt} s"));
    }
    substeps(config.simulation.control_dt_s, dt)?;
    Ok(Layout {
        ground,
        wheels: geoms,
        spin: spins.map(|i| all[i].dof),
        spin_angle: spins.map(|i| all[i].qpos),
        steer: steer.map(|i| all[i].qpos),
        steering,
        drive,
        rear_axle: rear_axle.position,
    })
}

/// Physics steps of a control step. The error says that they do not fit.
pub fn substeps(control_dt: f64, dt: f64) -> Result<u32, String> {
    let ratio = control_dt / dt;
    let whole = ratio.round();
    if (ratio - whole).abs() > 1e-9 || whole < 1.0 {
        return Err(format!("a control step of {control_dt} s is no whole number of {dt} s"));
    }
    Ok(whole as u32)
}
