//! A scene as MJCF text for MuJoCo's compiler.

use crate::choice::Choice;
use sim_engine_protocol::{Body, Hinge, Pose, Scene, Shape};
use std::fmt::Write;

/// Half width from which a static box stands as a plane along its top, m. In float32 a contact with a
/// box of 100 m would be no better than 10 µm.
const WIDE: f64 = 10.0;

/// Dynamic bodies depth first, a parent before what hangs on it: the k-th is MuJoCo's body k + 1.
pub(crate) fn tree_order(scene: &Scene) -> Vec<usize> {
    let parent = |i: usize| scene.hinges.iter().find(|h| h.body == i).and_then(|h| h.parent);
    let mut order = Vec::new();
    let mut stack: Vec<usize> =
        scene.dynamic_bodies().map(|(i, _)| i).filter(|i| parent(*i).is_none()).collect();
    stack.reverse();
    while let Some(body) = stack.pop() {
        order.push(body);
        let hanging = scene.hinges.iter().filter(|h| h.parent == Some(body)).map(|h| h.body);
        let mut below: Vec<usize> = hanging.collect();
        below.sort_unstable_by(|a, b| b.cmp(a));
        stack.extend(below);
    }
    order
}

/// The hinge that holds a body.
pub(crate) fn hinge_of(scene: &Scene, body: usize) -> Option<&Hinge> {
    scene.hinges.iter().find(|h| h.body == body)
}

/// The whole model.
pub fn mjcf(scene: &Scene) -> String {
    text(scene, &Choice::default())
}

pub(crate) fn text(scene: &Scene, choice: &Choice) -> String {
    let mut xml = String::with_capacity(512 + 320 * scene.bodies.len());
    let _ = write!(
        xml,
        r#"<mujoco model="scene"><compiler angle="radian" balanceinertia="false" boundmass="0" boundinertia="0"/><option timestep="{:?}" gravity="{}" integrator="{}" cone="pyramidal" solver="Newton" iterations="{}"/><default><geom condim="3" solref="0.02 1" margin="0" gap="0"/></default><worldbody>"#,
        scene.timestep,
        list(&scene.gravity),
        choice.integrator.unwrap_or("Euler"),
        choice.iterations.unwrap_or(50),
    );
    for body in scene.bodies.iter().filter(|b| !b.is_dynamic()) {
        let _ = write!(xml, "<geom {}/>", fixed(body));
    }
    let mut open: Vec<usize> = Vec::new();
    for index in tree_order(scene) {
        let (body, hinge) = (&scene.bodies[index], hinge_of(scene, index));
        let parent = hinge.and_then(|h| h.parent);
        while open.last().copied() != parent && open.pop().is_some() {
            xml.push_str("</body>");
        }
        open.push(index);
        let pose = parent.map_or(body.pose(), |p| relative(&scene.bodies[p].pose(), &body.pose()));
        let joint = hinge.map_or("<freejoint/>".to_owned(), |h| {
            let axis = list(&body.pose().to_local(h.axis));
            let pos = list(&h.anchor_local);
            format!(r#"<joint type="hinge" pos="{pos}" axis="{axis}"/>"#)
        });
        let _ = write!(
            xml,
            r#"<body {}>{joint}<inertial pos="0 0 0" mass="{:?}" diaginertia="{}"/><geom {} {}/>"#,
            place(&pose),
            body.mass,
            list(&body.inertia),
            shape(&body.shape),
            friction(body),
        );
    }
    open.iter().for_each(|_| xml.push_str("</body>"));
    xml.push_str("</worldbody></mujoco>");
    xml
}

/// Whether a static body stands as a plane.
pub(crate) fn is_plane(body: &Body) -> bool {
    matches!(body.shape, Shape::Box { half_extents: [x, y, _] } if x >= WIDE && y >= WIDE)
}

fn fixed(body: &Body) -> String {
    match body.shape {
        Shape::Box { half_extents: [_, _, z] } if is_plane(body) => {
            let position = body.pose().transform([0.0, 0.0, z]);
            let top = Pose { position, ..body.pose() };
            format!(r#"type="plane" size="0 0 1" {} {}"#, place(&top), friction(body))
        }
        _ => format!("{} {} {}", shape(&body.shape), place(&body.pose()), friction(body)),
    }
}

/// A pose in the frame of another.
fn relative(frame: &Pose, pose: &Pose) -> Pose {
    let [w, x, y, z] = frame.orientation;
    let back = Pose { position: [0.0; 3], orientation: [w, -x, -y, -z] };
    let turned = back.compose(&Pose { position: [0.0; 3], orientation: pose.orientation });
    Pose { position: frame.inverse_transform(pose.position), orientation: turned.orientation }
}

fn place(pose: &Pose) -> String {
    format!(r#"pos="{}" quat="{}""#, list(&pose.position), list(&pose.orientation))
}

fn friction(body: &Body) -> String {
    // Torsional and rolling coefficients are MuJoCo's own; contacts of dimension 3 have none.
    format!(r#"friction="{:?} 0.005 0.0001""#, body.friction)
}

fn shape(shape: &Shape) -> String {
    match *shape {
        Shape::Box { half_extents } => format!(r#"type="box" size="{}""#, list(&half_extents)),
        Shape::Sphere { radius } => format!(r#"type="sphere" size="{radius:?}""#),
        Shape::Capsule { radius, half_length } => {
            format!(r#"type="capsule" size="{radius:?} {half_length:?}""#)
        }
        Shape::Cylinder { radius, half_length } => {
            format!(r#"type="cylinder" size="{radius:?} {half_length:?}""#)
        }
    }
}

fn list(numbers: &[f64]) -> String {
    numbers.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>().join(" ")
}
