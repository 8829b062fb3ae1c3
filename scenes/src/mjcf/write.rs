//! Portable MJCF: no classes, no meshes, no other file, every number explicit, with the digits that
//! read back to the same double.

use super::{Body, Geom, Joint, Model};
use sim_engine_protocol::{Link, LinkShape, Pose, Robot, RobotSource, Shape};
use std::fmt::Write;

/// Sliding, torsional and rolling friction of the floor: those of Go1's feet, so that a pair takes
/// them whichever way an engine mixes two coefficients.
const FLOOR: [f64; 3] = [0.8, 0.02, 0.01];

/// What a robot is made of beside its model.
pub(crate) struct Start<'a> {
    /// Name of the robot.
    pub(crate) name: &'a str,
    /// Angles of all hinges at the start, rad.
    pub(crate) angles: &'a [f64],
    /// Targets of all servos, rad.
    pub(crate) targets: &'a [f64],
    /// How far the lowest point starts above the floor, m.
    pub(crate) clearance: f64,
    /// Height of the base when it stands, m.
    pub(crate) standing_height: f64,
}

impl Model {
    /// The robot of a scene with this timestep and gravity.
    pub(crate) fn robot(
        &self,
        start: &Start<'_>,
        source: RobotSource,
        timestep: f64,
        gravity: [f64; 3],
    ) -> Result<Robot, String> {
        let (angles, targets) = (start.angles, start.targets);
        if angles.len() != self.hinges().count() || targets.len() != self.servos.len() {
            return Err(format!("{} angles, {} targets", angles.len(), targets.len()));
        }
        let outside = self.hinges().zip(angles).find(|(h, q)| **q < h.range[0] || **q > h.range[1]);
        if let Some((hinge, angle)) = outside {
            return Err(format!("{} starts at {angle} rad, beyond its range", hinge.name));
        }
        // Not every loader keeps targets within a servo's range, so none may lie outside.
        let outside = self.servos.iter().zip(targets).find(|(servo, target)| {
            servo.control.is_some_and(|[low, high]| !(low..=high).contains(target))
        });
        if let Some((servo, target)) = outside {
            return Err(format!("servo {} aims at {target} rad, beyond its range", servo.name));
        }
        let height = self.stand(angles, start.clearance);
        let base = Pose { position: [0.0, 0.0, height], orientation: [1.0, 0.0, 0.0, 0.0] };
        let poses = self.kinematics(base, angles);
        let links = self.bodies.iter().zip(&poses).map(|(body, pose)| Link {
            name: body.name.clone(),
            parent: body.parent,
            mass: body.inertial.as_ref().map_or(0.0, |i| i.mass),
            position: pose.position,
            orientation: pose.orientation,
            shapes: body.geoms.iter().map(link_shape).collect(),
        });
        Ok(Robot {
            name: start.name.to_owned(),
            model: self.text(start, base, timestep, gravity),
            source,
            standing_height: start.standing_height,
            links: links.collect(),
        })
    }

    fn text(&self, start: &Start<'_>, base: Pose, timestep: f64, gravity: [f64; 3]) -> String {
        let mut xml = String::with_capacity(16 * 1024);
        let option = &self.option;
        let _ = writeln!(xml, r#"<mujoco model="{}">"#, start.name);
        let _ = writeln!(xml, r#"<compiler angle="radian" autolimits="true"/>"#);
        let _ = writeln!(
            xml,
            r#"<option timestep="{timestep:?}" gravity="{}" cone="{}" impratio="{:?}" integrator="{}" iterations="50"><flag autoreset="disable"/></option>"#,
            list(&gravity),
            option.cone,
            option.impratio,
            option.integrator,
        );
        let _ = writeln!(xml, "<worldbody>");
        let _ = writeln!(
            xml,
            r#"<geom name="floor" type="plane" size="0 0 1" contype="2" conaffinity="1" condim="3" friction="{}"/>"#,
            list(&FLOOR),
        );
        for (index, _) in self.bodies.iter().enumerate().filter(|(_, b)| b.parent.is_none()) {
            self.body(index, base, &mut xml);
        }
        let _ = writeln!(xml, "</worldbody>\n<actuator>");
        for servo in &self.servos {
            let range = |name: &str, range: Option<[f64; 2]>| {
                range.map_or(String::new(), |r| format!(r#" {name}="{}""#, list(&r)))
            };
            let _ = writeln!(
                xml,
                r#"<position name="{}" joint="{}" kp="{:?}" kv="{:?}"{}{}/>"#,
                servo.name,
                servo.joint,
                servo.kp,
                servo.kv,
                range("ctrlrange", servo.control),
                range("forcerange", servo.force),
            );
        }
        let qpos: Vec<f64> =
            base.position.iter().chain(&base.orientation).chain(start.angles).copied().collect();
        let _ = writeln!(
            xml,
            "</actuator>\n<keyframe>\n<key name=\"start\" qpos=\"{}\" ctrl=\"{}\"/>\n</keyframe>\n</mujoco>",
            list(&qpos),
            list(start.targets),
        );
        xml
    }

    fn body(&self, index: usize, base: Pose, xml: &mut String) {
        let body = &self.bodies[index];
        let (position, orientation) = match body.parent {
            Some(_) => (body.position, body.orientation),
            None => (base.position, base.orientation),
        };
        let _ = writeln!(
            xml,
            r#"<body name="{}" pos="{}" quat="{}">"#,
            body.name,
            list(&position),
            list(&orientation)
        );
        inside(body, xml);
        for child in (0..self.bodies.len()).filter(|c| self.bodies[*c].parent == Some(index)) {
            self.body(child, base, xml);
        }
        let _ = writeln!(xml, "</body>");
    }
}

fn inside(body: &Body, xml: &mut String) {
    if let Some(i) = &body.inertial {
        let _ = writeln!(
            xml,
            r#"<inertial pos="{}" quat="{}" mass="{:?}" diaginertia="{}"/>"#,
            list(&i.position),
            list(&i.orientation),
            i.mass,
            list(&i.moments),
        );
    }
    match &body.joint {
        None => {}
        Some(Joint::Free) => {
            let _ = writeln!(xml, "<freejoint/>");
        }
        Some(Joint::Hinge(h)) => {
            let _ = writeln!(
                xml,
                r#"<joint name="{}" type="hinge" pos="{}" axis="{}" range="{}" damping="{:?}" armature="{:?}" frictionloss="{:?}"/>"#,
                h.name,
                list(&h.position),
                list(&h.axis),
                list(&h.range),
                h.damping,
                h.armature,
                h.frictionloss,
            );
        }
    }
    for geom in &body.geoms {
        let (kind, size) = shape(&geom.shape);
        // The robot meets the floor (1 with 2) and never itself (1 with 1).
        let _ = writeln!(
            xml,
            r#"<geom type="{kind}" size="{}" pos="{}" quat="{}" contype="1" conaffinity="2" condim="{}" priority="{}" friction="{}" solref="0.02 1" solimp="{}" margin="{:?}"/>"#,
            list(&size),
            list(&geom.position),
            list(&geom.orientation),
            geom.condim,
            geom.priority,
            list(&geom.friction),
            list(&geom.solimp),
            geom.margin,
        );
    }
}

fn shape(shape: &Shape) -> (&'static str, Vec<f64>) {
    match *shape {
        Shape::Box { half_extents } => ("box", half_extents.to_vec()),
        Shape::Sphere { radius } => ("sphere", vec![radius]),
        Shape::Capsule { radius, half_length } => ("capsule", vec![radius, half_length]),
        Shape::Cylinder { radius, half_length } => ("cylinder", vec![radius, half_length]),
    }
}

fn link_shape(geom: &Geom) -> LinkShape {
    LinkShape { shape: geom.shape, position: geom.position, orientation: geom.orientation }
}

fn list(numbers: &[f64]) -> String {
    numbers.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>().join(" ")
}
