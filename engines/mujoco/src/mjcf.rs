//! A scene as MJCF text. Numbers are written with the digits that read back to the same double.

use crate::solver::Solver;
use sim_engine_protocol::{Body, Hinge, Pose, Scene, Shape};
use std::fmt::Write;

/// Dynamic bodies in MuJoCo's order, as indices into the scene's bodies: depth first, a parent before
/// what hangs on it. The k-th of them is MuJoCo's body k + 1; without hinges between bodies it is
/// the scene's order.
pub(crate) fn tree_order(scene: &Scene) -> Vec<usize> {
    let mut children = vec![Vec::new(); scene.bodies.len()];
    let mut hangs = vec![false; scene.bodies.len()];
    for hinge in &scene.hinges {
        if let Some(parent) = hinge.parent {
            children[parent].push(hinge.body);
            hangs[hinge.body] = true;
        }
    }
    children.iter_mut().for_each(|list| list.sort_unstable_by(|a, b| b.cmp(a)));
    let mut order = Vec::new();
    for (root, _) in scene.dynamic_bodies().filter(|(i, _)| !hangs[*i]) {
        let mut stack = vec![root];
        while let Some(body) = stack.pop() {
            order.push(body);
            stack.extend(&children[body]);
        }
    }
    order
}

/// The hinge of each body of the scene.
pub(crate) fn hinges(scene: &Scene) -> Vec<Option<&Hinge>> {
    let mut of = vec![None; scene.bodies.len()];
    for hinge in &scene.hinges {
        of[hinge.body] = Some(hinge);
    }
    of
}

/// The whole model, its bodies in [`tree_order`]. `arena` is the size of the arena in bytes; without
/// it MuJoCo chooses.
pub fn mjcf(scene: &Scene, solver: Solver, arena: Option<u64>) -> String {
    let mut xml = String::with_capacity(512 + 320 * scene.bodies.len());
    let size = arena.map_or_else(String::new, |bytes| format!(r#"<size memory="{bytes}"/>"#));
    // Angles in radians; inertia exactly as given; no sensor or visual extras.
    let _ = write!(
        xml,
        r#"<mujoco model="scene">{size}<compiler angle="radian" balanceinertia="false" boundmass="0" boundinertia="0"/><option timestep="{:?}" gravity="{}" integrator="{}" cone="{}" solver="Newton" iterations="{}"><flag autoreset="disable"/></option><default><geom condim="3" solref="0.02 1" margin="0" gap="0"/></default><worldbody>"#,
        scene.timestep,
        list(&scene.gravity),
        solver.integrator,
        solver.cone,
        solver.iterations,
    );
    for body in scene.bodies.iter().filter(|b| !b.is_dynamic()) {
        let _ = write!(xml, "<geom {} {}/>", place(&body.pose()), geom(body));
    }
    let hinges = hinges(scene);
    let mut open: Vec<usize> = Vec::new();
    for index in tree_order(scene) {
        let (body, hinge) = (&scene.bodies[index], hinges[index]);
        let parent = hinge.and_then(|h| h.parent);
        while open.last().copied() != parent && open.pop().is_some() {
            xml.push_str("</body>");
        }
        open.push(index);
        let pose = parent.map_or(body.pose(), |p| relative(&scene.bodies[p].pose(), &body.pose()));
        let joint = match hinge {
            None => "<freejoint/>".to_owned(),
            Some(h) => format!(
                r#"<joint type="hinge" pos="{}" axis="{}" damping="0" armature="0"/>"#,
                list(&h.anchor_local),
                list(&body.pose().to_local(h.axis)),
            ),
        };
        let _ = write!(
            xml,
            r#"<body {}>{joint}<inertial pos="0 0 0" mass="{:?}" diaginertia="{}"/><geom {}/>"#,
            place(&pose),
            body.mass,
            list(&body.inertia),
            geom(body),
        );
    }
    open.iter().for_each(|_| xml.push_str("</body>"));
    xml.push_str("</worldbody></mujoco>");
    xml
}

fn place(pose: &Pose) -> String {
    format!(r#"pos="{}" quat="{}""#, list(&pose.position), list(&pose.orientation))
}

/// A pose in the frame of another.
fn relative(frame: &Pose, pose: &Pose) -> Pose {
    let ([a, b, c, d], [w, x, y, z]) = (frame.orientation, pose.orientation);
    // The frame's inverse times the pose's.
    let orientation = [
        a * w + b * x + c * y + d * z,
        a * x - b * w - c * z + d * y,
        a * y + b * z - c * w - d * x,
        a * z - b * y + c * x - d * w,
    ];
    Pose { position: frame.inverse_transform(pose.position), orientation }
}

fn geom(body: &Body) -> String {
    let size = match body.shape {
        Shape::Box { half_extents } => format!(r#"type="box" size="{}""#, list(&half_extents)),
        Shape::Sphere { radius } => format!(r#"type="sphere" size="{radius:?}""#),
        Shape::Capsule { radius, half_length } => {
            format!(r#"type="capsule" size="{}""#, list(&[radius, half_length]))
        }
        Shape::Cylinder { radius, half_length } => {
            format!(r#"type="cylinder" size="{}""#, list(&[radius, half_length]))
        }
    };
    // MuJoCo's own torsional and rolling coefficients; contacts of dimension 3 ignore them.
    format!(r#"{size} friction="{:?} 0.005 0.0001""#, body.friction)
}

fn list(numbers: &[f64]) -> String {
    numbers.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pose_in_another_frame_is_that_pose_again_in_the_world() {
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let frame = Pose { position: [1.0, 2.0, 3.0], orientation: [half, 0.0, 0.0, half] };
        let pose = Pose { position: [1.5, 2.0, 4.0], orientation: [0.5, 0.5, -0.5, 0.5] };
        let r = relative(&frame, &pose);
        for local in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.3, -0.2, 0.7]] {
            let (there, again) = (pose.transform(local), frame.transform(r.transform(local)));
            assert!((0..3).all(|i| (there[i] - again[i]).abs() < 1e-12), "{there:?} {again:?}");
        }
    }
}
