//! The models that the tests compare on: published robots where they are at hand, the vehicle, and small
//! models of this project that together use every feature.
//!
//! `SIM_BATCH_MODELS` is a folder with `humanoid.xml` (wheel mujoco-warp 3.17.0), and `go1.xml`, `t1.xml` and
//! `vehicle.xml`, the models of this project's scenes; `cargo xtask test engines` makes it.

#![allow(dead_code, reason = "each test program uses a part")]

use sim_batch::Model;
use std::path::PathBuf;
use std::sync::Arc;

/// The folder with the published models; says so where there is none.
pub fn folder() -> Option<PathBuf> {
    let found = std::env::var_os("SIM_BATCH_MODELS").map(PathBuf::from);
    if found.is_none() {
        println!("SIM_BATCH_MODELS is not set: the published models are left out");
    }
    found
}

/// The humanoid of mujoco_warp.
pub fn humanoid() -> Option<Arc<Model>> {
    let path = folder()?.join("humanoid.xml");
    Some(Arc::new(Model::from_file(&path).expect("the humanoid")))
}

/// A model of this project's scenes.
fn scene(file: &str, pyramidal: bool) -> Option<Arc<Model>> {
    let mut xml = std::fs::read_to_string(folder()?.join(file)).expect("a model file");
    if pyramidal {
        xml = xml.replace("cone=\"elliptic\"", "cone=\"pyramidal\"");
    }
    Some(Arc::new(Model::from_text(&xml).expect("a model of a scene")))
}

/// Go1 with twelve position servos; its own cone is elliptic.
pub fn go1(pyramidal: bool) -> Option<Arc<Model>> {
    scene("go1.xml", pyramidal)
}

/// T1 with 23 joints, integrated implicitly.
pub fn t1() -> Option<Arc<Model>> {
    scene("t1.xml", false)
}

/// The four-wheel vehicle: implicitfast, cylinders on a plane; its own cone is elliptic.
pub fn vehicle(pyramidal: bool) -> Option<Arc<Model>> {
    scene("vehicle.xml", pyramidal)
}

/// Friction loss, limits, damping, springs, armature, slides, a ball joint, motors and servos with all
/// their bounds, condim 1, 3, 4 and 6, contact between branches, priorities, a listed pair, a moving base.
pub const FEATURES: &str = r#"
<mujoco><compiler angle="radian" autolimits="true"/>
<option timestep="0.004" iterations="50" ls_iterations="50" impratio="2"/>
<worldbody>
  <geom name="floor" type="plane" size="0 0 1" euler="0.02 0.03 0" condim="3" friction="0.8 0.02 0.001"/>
  <body name="base" pos="0 0 0.42"><freejoint/>
    <geom name="trunk" type="box" size=".2 .12 .06" mass="4"/>
    <body name="left" pos=".15 .15 0"><joint name="lh" axis="1 .2 0" range="-1 1.2" damping=".3" frictionloss=".4" armature=".02"/>
      <geom name="ll" type="capsule" fromto="0 0 0 .02 .05 -.25" size=".03" mass=".6"/>
      <body pos=".02 .05 -.25"><joint name="ls" type="slide" axis="0 0 1" range="-.05 .03" stiffness="300" springref=".01" damping="6"/>
        <geom name="lf" type="sphere" size=".05" mass=".2" condim="6" friction="1 .05 .01"/></body></body>
    <body name="right" pos=".15 -.15 0"><joint name="rh" axis="1 -.2 0" range="-1.2 1" damping=".3" frictionloss=".4" armature=".02"/>
      <geom name="rl" type="capsule" fromto="0 0 0 .02 -.05 -.25" size=".03" mass=".6"/>
      <body pos=".02 -.05 -.25"><joint name="rk" axis="0 1 .1" range="-2 2" stiffness="2" damping=".2" armature=".02"/>
        <geom name="rf" type="ellipsoid" size=".07 .04 .05" mass=".2" condim="4" priority="1"/></body></body>
    <body name="tail" pos="-.2 0 .02"><joint name="tb" type="ball" damping=".05"/>
      <geom name="tl" type="capsule" fromto="0 0 0 -.25 0 0" size=".025" mass=".3"/>
      <body pos="-.25 0 0"><joint name="th1" axis="0 1 0" range="-1.5 1.5" frictionloss=".05" armature=".01"/><joint name="th2" axis="0 0 1" pos="0 .01 0" armature=".01"/>
        <geom name="te" type="cylinder" size=".04 .06" mass=".3" condim="1"/></body></body>
  </body>
  <body name="ball" pos=".1 .05 .62"><freejoint/><geom name="ball" type="sphere" size=".08" mass=".5" solref=".02 .6" solimp=".8 .95 .01 .3 2"/></body>
  <body name="crate" pos="-.15 .3 .3"><freejoint/><geom name="crate" type="box" size=".1 .08 .07" mass="1" margin=".004" gap=".001"/></body>
</worldbody>
<contact><pair geom1="lf" geom2="rf" condim="3" friction=".6 .5 .01 .001 .001"/><exclude body1="base" body2="tail"/></contact>
<actuator>
  <motor joint="lh" gear="12" ctrlrange="-1 1"/>
  <position joint="rh" kp="40" kv="1.5" forcerange="-8 8" ctrlrange="-1 1"/>
  <general joint="rk" gaintype="affine" gainprm="5 1 -.1" biastype="affine" biasprm=".2 -3 -.3"/>
  <velocity joint="ls" kv="20"/>
  <motor joint="th1" gear="2"/>
</actuator>
</mujoco>"#;

/// [`FEATURES`] with the default integrator, or with implicitfast.
pub fn features(implicit: bool) -> Arc<Model> {
    Arc::new(Model::from_text(&features_xml(implicit)).expect("the features"))
}

/// [`FEATURES`] with elliptic cones and a listed pair that damps sliding in its own way.
pub fn features_elliptic() -> Arc<Model> {
    let xml = features_xml(true).replace("<option ", "<option cone=\"elliptic\" ");
    let own = "friction=\".6 .5 .01 .001 .001\"";
    assert!(xml.contains(own));
    let xml = xml.replace(own, &format!("{own} solreffriction=\"-40 -25\""));
    Arc::new(Model::from_text(&xml).expect("the features"))
}

fn features_xml(implicit: bool) -> String {
    let integrator = if implicit { "implicitfast" } else { "Euler" };
    let xml = FEATURES
        .replace("<option ", &format!("<option integrator=\"{integrator}\" "))
        // MuJoCo has no ellipsoid against capsules and boxes but through its general routine.
        .replace(
            "condim=\"4\" priority=\"1\"",
            "condim=\"4\" priority=\"1\" contype=\"0\" conaffinity=\"2\"",
        )
        .replace("euler=\"0.02 0.03 0\"", "euler=\"0.02 0.03 0\" contype=\"3\"")
        .replace("condim=\"1\"/>", "condim=\"1\" contype=\"0\" conaffinity=\"2\"/>");
    xml.replace("<pair geom1=\"lf\" geom2=\"rf\"", "<pair geom1=\"lf\" geom2=\"rl\"")
}

/// Boxes, spheres and capsules that fall on each other.
pub fn pile() -> Arc<Model> {
    pile_of("pyramidal", "")
}

/// The pile with elliptic cones of a dimension.
pub fn pile_elliptic(condim: usize) -> Arc<Model> {
    pile_of("elliptic", &format!("condim=\"{condim}\" friction=\".9 .02 .01\""))
}

fn pile_of(cone: &str, contact: &str) -> Arc<Model> {
    let mut bodies = String::new();
    for i in 0..12 {
        let geom = [
            "type=\"box\" size=\".1 .08 .06\"",
            "type=\"sphere\" size=\".09\"",
            "type=\"capsule\" size=\".06 .1\"",
        ][i % 3];
        let (x, y, z) = (0.12 * (i % 2) as f64, 0.1 * (i % 4) as f64, 0.15 + 0.16 * (i / 2) as f64);
        bodies += &format!(
            "<body pos=\"{x} {y} {z}\" euler=\"{} {} 20\"><freejoint/><geom {geom} mass=\"1\"/></body>",
            10 * i,
            7 * i
        );
    }
    let xml = format!(
        "<mujoco><option timestep=\"0.004\" iterations=\"50\" cone=\"{cone}\"/><default><geom {contact}/></default><worldbody>\
         <geom type=\"plane\" size=\"0 0 1\"/>{bodies}</worldbody></mujoco>"
    );
    Arc::new(Model::from_text(&xml).expect("the pile"))
}

/// Pendulums on the world.
pub fn hinge_field() -> Arc<Model> {
    let mut bodies = String::new();
    for i in 0..9 {
        bodies += &format!(
            "<body pos=\"{} 0 2\"><joint axis=\"0 1 .{i}\"/><geom type=\"box\" size=\".05 .1 .3\" pos=\".{i} 0 -.3\" mass=\"2\"/></body>",
            i
        );
    }
    let xml =
        format!("<mujoco><option timestep=\"0.004\"/><worldbody>{bodies}</worldbody></mujoco>");
    Arc::new(Model::from_text(&xml).expect("the hinge field"))
}

/// All of them that are at hand.
pub fn all() -> Vec<(&'static str, Arc<Model>)> {
    let mut found = vec![
        ("features", features(false)),
        ("features, implicitfast", features(true)),
        ("pile", pile()),
        ("hinge field", hinge_field()),
        ("features, elliptic", features_elliptic()),
        ("pile, elliptic", pile_elliptic(3)),
        ("pile, elliptic, condim 6", pile_elliptic(6)),
    ];
    let published = [
        ("humanoid", humanoid()),
        ("Go1", go1(false)),
        ("Go1, pyramidal", go1(true)),
        ("T1", t1()),
        ("vehicle", vehicle(false)),
        ("vehicle, pyramidal", vehicle(true)),
    ];
    found.extend(published.into_iter().filter_map(|(name, m)| Some((name, m?))));
    found
}
