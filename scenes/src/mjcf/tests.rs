use super::{Joint, Model};
use crate::mjcf::write::Start;
use sim_engine_protocol::{Pose, Robot, RobotSource, Shape};

/// A base with one leg of Go1's lengths; the foot is a body without mass.
const LEG: &str = r#"<mujoco model="leg">
  <compiler angle="radian" autolimits="true"/>
  <option cone="elliptic" impratio="100"/>
  <default>
    <default class="leg">
      <geom friction="0.6" margin="0.001" condim="1"/>
      <joint axis="0 2 0" damping="0.6" armature="0.01" frictionloss="0.2" range="-3 3"/>
      <position kp="100" forcerange="-23.7 23.7"/>
      <default class="visual"><geom type="mesh" contype="0" conaffinity="0"/></default>
      <default class="shin"><joint damping="2"/><geom type="capsule" size="0.01"/></default>
      <default class="foot"><geom size="0.023" priority="1" condim="6" solimp="0.015 1 0.031"/></default>
    </default>
  </default>
  <worldbody>
    <light pos="0 0 1"/>
    <body name="base" childclass="leg">
      <freejoint/>
      <inertial pos="0.02 0 0" quat="0 2 0 0" mass="5" diaginertia="0.07 0.06 0.02"/>
      <geom class="visual" mesh="trunk"/>
      <geom type="box" size="0.1 0.05 0.05"/>
      <site name="imu"/>
      <body name="thigh" pos="0 0.1 0">
        <inertial pos="0 0 -0.1" mass="1" diaginertia="0.005 0.005 0.001"/>
        <joint name="hip"/>
        <body name="calf" pos="0 0 -0.213">
          <inertial pos="0 0 -0.1" mass="0.2" diaginertia="0.001 0.001 0.0001"/>
          <joint name="knee" class="shin"/>
          <geom class="shin" fromto="0 0 0 0.02 0 -0.13"/>
          <body name="toe" pos="0 0 -0.213"><geom class="foot" pos="0 0 0" mass="0"/></body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="hip" class="leg" joint="hip"/>
    <position name="knee" class="leg" joint="knee" kp="50" ctrlrange="-2 2"/>
  </actuator>
  <keyframe><key name="home" qpos="0 0 0.27 1 0 0 0 0.9 -1.8"/></keyframe>
</mujoco>"#;

fn leg() -> Model {
    let mut model = Model::read(LEG).unwrap();
    model.fold_massless().unwrap();
    model
}

fn robot(model: &Model) -> Robot {
    let start = Start {
        name: "leg",
        angles: &[1.2, -2.4],
        targets: &[0.9, -1.8],
        clearance: 0.003,
        standing_height: model.base_height("home").unwrap(),
    };
    let source = RobotSource {
        package: "legs".into(),
        version: "1".into(),
        file: "legs-1.whl".into(),
        sha256: "0".repeat(64),
        model: "leg.xml".into(),
        licence: "MIT".into(),
        changes: vec![],
    };
    model.robot(&start, source, 1.0 / 240.0, [0.0, 0.0, -9.81]).unwrap()
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-12, "{a} is not {b}");
}

#[test]
fn classes_are_resolved_inwards_and_elements_win() {
    let model = Model::read(LEG).unwrap();
    assert_eq!(model.bodies.len(), 4);
    let hinges: Vec<_> = model.hinges().collect();
    assert_eq!((hinges[0].damping, hinges[1].damping), (0.6, 2.0));
    assert_eq!((hinges[0].axis, hinges[1].armature), ([0.0, 1.0, 0.0], 0.01));
    assert_eq!((model.servos[0].kp, model.servos[1].kp), (100.0, 50.0));
    assert_eq!(model.servos[1].force, Some([-23.7, 23.7]));
    let foot = &model.bodies[3].geoms[0];
    assert_eq!((foot.condim, foot.priority, foot.margin), (6, 1, 0.001));
    assert_eq!((foot.friction, foot.solimp), ([0.6, 0.005, 0.0001], [0.015, 1.0, 0.031, 0.5, 2.0]));
    assert_eq!((model.option.cone, model.option.impratio), ("elliptic", 100.0));
    // Meshes are not collided with, so they are not read.
    assert_eq!(model.bodies[0].geoms.len(), 1);
    assert_eq!(model.bodies[0].inertial.as_ref().unwrap().orientation, [0.0, 1.0, 0.0, 0.0]);
}

#[test]
fn a_body_without_joint_and_mass_becomes_part_of_its_parent() {
    let model = leg();
    assert_eq!(model.bodies.len(), 3);
    let foot = &model.bodies[2].geoms[1];
    assert_eq!((foot.shape, foot.position), (Shape::Sphere { radius: 0.023 }, [0.0, 0.0, -0.213]));
    let heavy = LEG.replace(
        r#"<body name="toe" pos="0 0 -0.213">"#,
        r#"<body name="toe"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>"#,
    );
    let problem = Model::read(&heavy).unwrap().fold_massless().unwrap_err();
    assert_eq!(problem, "body toe has no joint and cannot be folded");
}

#[test]
fn kinematics_are_those_of_a_leg_of_two_equal_bones() {
    let model = leg();
    // The foot is straight below the hip whatever the angle, at twice the bone times its cosine.
    let height = model.stand(&[1.2, -2.4], 0.003);
    near(height, 2.0 * 0.213 * f64::cos(1.2) + 0.023 + 0.003);
    // The published height of Go1 in its crouch, m.
    assert!((height - 0.1804).abs() < 5e-5, "{height}");
    let base = Pose { position: [1.0, 2.0, 3.0], orientation: [1.0, 0.0, 0.0, 0.0] };
    let poses = model.kinematics(base, &[1.2, -2.4]);
    let knee = poses[2].position;
    near(knee[0], 1.0 - 0.213 * f64::sin(1.2));
    near(knee[1], 2.1);
    near(knee[2], 3.0 - 0.213 * f64::cos(1.2));
    near(poses[2].orientation[2], f64::sin(-0.6));
    near(model.lowest(&poses), 3.0 - 2.0 * 0.213 * f64::cos(1.2) - 0.023);
}

#[test]
fn a_capsule_from_end_to_end_has_them_as_ends() {
    let model = leg();
    let bone = &model.bodies[2].geoms[0];
    let Shape::Capsule { half_length, .. } = bone.shape else { panic!("a capsule") };
    let pose = Pose { position: bone.position, orientation: bone.orientation };
    let ends = [half_length, -half_length].map(|z| pose.transform([0.0, 0.0, z]));
    for (end, expected) in ends.iter().zip([[0.02, 0.0, -0.13], [0.0, 0.0, 0.0]]) {
        (0..3).for_each(|i| near(end[i], expected[i]));
    }
}

#[test]
fn the_portable_model_reads_back_to_the_same_motion() {
    let model = leg();
    let robot = robot(&model);
    let again = Model::read(&robot.model).unwrap();
    for needle in ["class=", "mesh", "site", "<motor", "<light", "fromto"] {
        assert!(!robot.model.contains(needle), "{needle} in {}", robot.model);
    }
    let base = Pose { position: [0.1, 0.2, 0.3], orientation: [0.8, 0.0, 0.6, 0.0] };
    let (a, b) = (model.kinematics(base, &[0.3, -0.4]), again.kinematics(base, &[0.3, -0.4]));
    assert_eq!(a, b);
    let masses = |m: &Model| -> Vec<f64> {
        m.bodies.iter().flat_map(|b| &b.inertial).map(|i| i.mass).collect()
    };
    assert_eq!(masses(&model), masses(&again));
    assert_eq!(again.keys[0].name, "start");
    assert_eq!(again.keys[0].qpos[2], robot.links[0].position[2]);
    assert_eq!(again.keys[0].qpos[7..], [1.2, -2.4]);
    assert!(matches!(again.bodies[0].joint, Some(Joint::Free)));
    assert_eq!((again.option.cone, again.option.integrator), ("elliptic", "Euler"));
    let (servo, hinge) = (&again.servos[1], again.hinges().nth(1).unwrap().clone());
    assert_eq!(
        (servo.kp, servo.control, servo.force),
        (50.0, Some([-2.0, 2.0]), Some([-23.7, 23.7]))
    );
    assert_eq!((hinge.damping, hinge.range, hinge.frictionloss), (2.0, [-3.0, 3.0], 0.2));
    // Every shape of a link is there, and the robot starts just above the floor.
    assert_eq!(robot.links.iter().map(|l| l.shapes.len()).collect::<Vec<_>>(), [1, 0, 2]);
    let low = robot.links.iter().filter_map(|l| l.lowest_point(&l.pose()));
    near(low.fold(f64::INFINITY, f64::min), 0.003);
    near(robot.mass(), 6.2);
}

#[test]
fn what_is_not_understood_is_an_error_that_names_it() {
    let with = |from: &str, to: &str| Model::read(&LEG.replace(from, to)).unwrap_err();
    assert_eq!(with("radian", "degree"), "the model's angles are not in radians");
    assert_eq!(
        with("<site name=\"imu\"/>", "<frame/>"),
        "body base has a <frame>, which is not understood"
    );
    assert_eq!(with(" class=\"shin\"/>", " class=\"shank\"/>"), "there is no class shank");
    assert_eq!(
        with("name=\"hip\"/>\n        <body", "name=\"hip\" ref=\"1\"/>\n        <body"),
        "joint hip has ref, which is not understood"
    );
    assert_eq!(
        with("quat=\"0 2 0 0\"", "euler=\"1 0 0\""),
        "base has euler, which is not understood: quat is"
    );
    assert_eq!(with("mass=\"5\"", "mass=\"five\""), "mass: \"five\" is no number");
    assert!(with("</mujoco>", "").starts_with("the model is no XML"));
    assert_eq!(with("<freejoint/>", ""), "body base: the base is free, and no other body");
    let model = leg();
    assert_eq!(model.expect(3, 2, 6.2), Ok(()));
    assert!(model.expect(13, 12, 6.2).is_err());
    assert!(model.expect(3, 2, 6.0).is_err());
    assert!(model.angles("down").is_err());
    let far = Start {
        name: "leg",
        angles: &[3.1, 0.0],
        targets: &[0.0, 0.0],
        clearance: 0.0,
        standing_height: 1.0,
    };
    let source = robot(&model).source;
    let problem = model.robot(&far, source, 0.01, [0.0; 3]).unwrap_err();
    assert_eq!(problem, "hip starts at 3.1 rad, beyond its range");
    let wild = Start { angles: &[0.0, 0.0], targets: &[0.0, -2.5], ..far };
    let source = robot(&model).source;
    let problem = model.robot(&wild, source, 0.01, [0.0; 3]).unwrap_err();
    assert_eq!(problem, "servo knee aims at -2.5 rad, beyond its range");
}
