//! Both scenes as MJCF, made from the specification.
//!
//! Each link is a box for mass and for contact with the obstacle and with links that are not its
//! neighbours. It stands on a pad, a capsule across it, below its centre: MuJoCo aligns the tangents of a
//! capsule's contact with its axis, so the two coefficients of an explicit pair are friction across and
//! along a link. A pad along the link would let a straight body roll. The medium's viscosity gives the drag. Position actuators stand for the servos' inner
//! loops. Rays are MuJoCo's own range finders; one that meets nothing reads −1, cut off at −range.

use crate::spec::Spec;
use std::fmt::Write as _;

/// A scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scene {
    /// The floor alone.
    Locomotion,
    /// The floor and one rigid cylinder.
    ObstacleCourse,
}

impl Scene {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Locomotion, Self::ObstacleCourse];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Locomotion => "locomotion",
            Self::ObstacleCourse => "obstacle_course",
        }
    }

    /// Its file.
    pub const fn file(self) -> &'static str {
        match self {
            Self::Locomotion => "locomotion.xml",
            Self::ObstacleCourse => "obstacle_course.xml",
        }
    }
}

/// A scene as XML. Numbers read back to the same double.
pub fn mjcf(spec: &Spec, scene: Scene) -> String {
    let (r, f) = (&spec.robot, &spec.floor);
    let [sx, sy, sz] = r.link_box_m.map(|edge| 0.5 * edge);
    let mut xml = String::new();
    let _ = write!(
        xml,
        r#"<mujoco model="{name}_{scene}">
  <compiler angle="radian" autolimits="true"/>
  <option timestep="{dt:?}" gravity="0 0 -9.81" integrator="implicitfast" solver="Newton" iterations="50" cone="elliptic" viscosity="{viscosity:?}">
    <flag autoreset="disable"/>
  </option>
  <default>
    <default class="link">
      <geom type="box" size="{sx:?} {sy:?} {sz:?}" contype="2" conaffinity="6" condim="3" friction="0.4 0.005 0.0001"/>
      <joint type="hinge" axis="0 0 1" range="{low:?} {limit:?}" damping="{damping:?}" armature="{armature:?}"/>
      <position kp="{kp:?}" kv="{kv:?}" ctrlrange="{low:?} {limit:?}" forcerange="{weak:?} {effort:?}"/>
    </default>
    <default class="pad">
      <geom type="capsule" size="{pad:?} {half:?}" contype="0" conaffinity="0"/>
    </default>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="20 20 1" contype="0" conaffinity="0"/>
"#,
        name = r.name,
        scene = scene.name(),
        dt = spec.simulation.timestep_s,
        viscosity = f.viscosity_pa_s,
        low = -spec.joint.limit_rad,
        limit = spec.joint.limit_rad,
        weak = -spec.joint.effort_nm,
        effort = spec.joint.effort_nm,
        damping = spec.servo.joint_damping_nm_s_rad,
        armature = spec.servo.armature_kg_m2,
        kp = spec.servo.stiffness_nm_rad,
        kv = spec.servo.damping_nm_s_rad,
        pad = f.pad_radius_m,
        half = 0.5 * f.pad_width_m,
    );
    if scene == Scene::ObstacleCourse {
        let o = &spec.obstacle;
        let half = 0.5 * o.height_m;
        let [x, y] = o.centre_m;
        let _ = writeln!(
            xml,
            "    <geom name=\"obstacle\" type=\"cylinder\" size=\"{:?} {half:?}\" pos=\"{x:?} {y:?} {half:?}\" \
             contype=\"4\" conaffinity=\"2\" condim=\"3\" friction=\"0.4 0.005 0.0001\"/>",
            o.radius_m
        );
    }
    body(&mut xml, spec);
    xml.push_str("  </worldbody>\n  <contact>\n");
    let links = spec.link_names();
    for link in &links {
        let _ = writeln!(
            xml,
            "    <pair geom1=\"floor\" geom2=\"{link}_pad\" condim=\"3\" friction=\"{:?} {:?} 0.005 0.0001 0.0001\"/>",
            f.friction_across, f.friction_along
        );
    }
    for pair in links.windows(2) {
        let _ = writeln!(xml, "    <exclude body1=\"{}\" body2=\"{}\"/>", pair[0], pair[1]);
    }
    xml.push_str("  </contact>\n  <actuator>\n");
    for joint in spec.joint_names() {
        let _ = writeln!(
            xml,
            "    <position name=\"{joint}_position\" class=\"link\" joint=\"{joint}\"/>"
        );
    }
    xml.push_str("  </actuator>\n  <sensor>\n");
    for ray in spec.ray_names() {
        let _ = writeln!(
            xml,
            "    <rangefinder name=\"{ray}\" site=\"{ray}_site\" cutoff=\"{:?}\"/>",
            spec.perception.range_m
        );
    }
    xml.push_str("  </sensor>\n</mujoco>\n");
    xml
}

/// The chain of bodies.
fn body(xml: &mut String, spec: &Spec) {
    let r = &spec.robot;
    let [cx, cy, cz] = spec.link_centre();
    let [ixx, iyy, izz] = spec.link_inertia();
    let links = spec.link_names();
    let joints = spec.joint_names();
    let pad_z = spec.floor.pad_radius_m - spec.height();
    for (i, link) in links.iter().enumerate() {
        let pad = "  ".repeat(i + 2);
        let at = if i == 0 { [0.0, 0.0, spec.height()] } else { [-r.pivot_pitch_m, 0.0, 0.0] };
        let _ = writeln!(
            xml,
            "{pad}<body name=\"{link}\" pos=\"{:?} {:?} {:?}\" childclass=\"link\">",
            at[0], at[1], at[2]
        );
        if i == 0 {
            let _ = writeln!(xml, "{pad}  <freejoint name=\"world_joint\"/>");
        } else {
            let _ = writeln!(xml, "{pad}  <joint name=\"{}\"/>", joints[i - 1]);
        }
        let _ = writeln!(
            xml,
            "{pad}  <inertial pos=\"{cx:?} {cy:?} {cz:?}\" mass=\"{:?}\" diaginertia=\"{ixx:?} {iyy:?} {izz:?}\"/>",
            r.link_mass_kg
        );
        let _ = writeln!(xml, "{pad}  <geom name=\"{link}_box\" pos=\"{cx:?} {cy:?} {cz:?}\"/>");
        let _ = writeln!(
            xml,
            "{pad}  <geom name=\"{link}_pad\" class=\"pad\" pos=\"{cx:?} {cy:?} {pad_z:?}\" zaxis=\"0 1 0\"/>"
        );
        if i == 0 {
            let [ox, oy, oz] = spec.perception.origin_m;
            for ray in &spec.rays {
                let (s, c) = ray.angle_deg.to_radians().sin_cos();
                let _ = writeln!(
                    xml,
                    "{pad}  <site name=\"{}_site\" pos=\"{ox:?} {oy:?} {oz:?}\" zaxis=\"{c:?} {s:?} 0\"/>",
                    ray.name
                );
            }
        }
    }
    for i in (0..links.len()).rev() {
        let _ = writeln!(xml, "{}</body>", "  ".repeat(i + 2));
    }
}
