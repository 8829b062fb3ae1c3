//! The robot description, URDF, and its planning semantics, SRDF, made from the specification.

use crate::spec::Spec;
use std::fmt::Write as _;

/// The URDF: ten boxes, nine revolute joints about +z. Each link's frame is at its leading yaw pivot, its
/// geometry extends towards −x. The head is the root.
pub fn urdf(spec: &Spec) -> String {
    let r = &spec.robot;
    let mut xml = format!("<?xml version=\"1.0\"?>\n<robot name=\"{}\">\n", r.name);
    let [x, y, z] = spec.link_centre();
    let [ixx, iyy, izz] = spec.link_inertia();
    let [sx, sy, sz] = r.link_box_m;
    let origin = format!("<origin xyz=\"{x:?} {y:?} {z:?}\" rpy=\"0 0 0\"/>");
    let shape = format!("<geometry><box size=\"{sx:?} {sy:?} {sz:?}\"/></geometry>");
    for link in spec.link_names() {
        let _ = write!(
            xml,
            r#"  <link name="{link}">
    <inertial>
      {origin}
      <mass value="{:?}"/>
      <inertia ixx="{ixx:?}" ixy="0" ixz="0" iyy="{iyy:?}" iyz="0" izz="{izz:?}"/>
    </inertial>
    <visual name="{link}_visual">{origin}{shape}</visual>
    <collision name="{link}_collision">{origin}{shape}</collision>
  </link>
"#,
            r.link_mass_kg
        );
    }
    let (j, links) = (&spec.joint, spec.link_names());
    for (i, joint) in spec.joint_names().iter().enumerate() {
        let _ = write!(
            xml,
            r#"  <joint name="{joint}" type="revolute">
    <parent link="{}"/>
    <child link="{}"/>
    <origin xyz="{:?} 0 0" rpy="0 0 0"/>
    <axis xyz="0 0 1"/>
    <limit lower="{:?}" upper="{:?}" effort="{:?}" velocity="{:?}"/>
  </joint>
"#,
            links[i],
            links[i + 1],
            -r.pivot_pitch_m,
            -j.limit_rad,
            j.limit_rad,
            j.effort_nm,
            j.velocity_rad_s
        );
    }
    xml.push_str("</robot>\n");
    xml
}

/// The SRDF: one group of all joints, the state `straight`, collisions of neighbours left out, and a
/// floating joint between world and head.
pub fn srdf(spec: &Spec) -> String {
    let (r, links, joints) = (&spec.robot, spec.link_names(), spec.joint_names());
    let mut xml = format!("<?xml version=\"1.0\"?>\n<robot name=\"{}\">\n", r.name);
    let _ = writeln!(
        xml,
        "  <virtual_joint name=\"world_joint\" type=\"floating\" parent_frame=\"world\" \
         child_link=\"{}\"/>",
        links[0]
    );
    let _ = writeln!(xml, "  <group name=\"{}\">", r.group);
    for joint in &joints {
        let _ = writeln!(xml, "    <joint name=\"{joint}\"/>");
    }
    let _ = writeln!(xml, "  </group>\n  <group_state name=\"straight\" group=\"{}\">", r.group);
    for joint in &joints {
        let _ = writeln!(xml, "    <joint name=\"{joint}\" value=\"0.0\"/>");
    }
    xml.push_str("  </group_state>\n");
    for pair in links.windows(2) {
        let _ = writeln!(
            xml,
            "  <disable_collisions link1=\"{}\" link2=\"{}\" reason=\"Adjacent\"/>",
            pair[0], pair[1]
        );
    }
    xml.push_str("</robot>\n");
    xml
}
