//! A scene as MJCF text. Numbers are written with the digits that read back to the same double.

use sim_engine_protocol::{Body, Scene, Shape};
use std::fmt::Write;

/// Most solver iterations of a step.
pub(crate) const ITERATIONS: i64 = 50;

/// The whole model. Bodies keep the scene's order; the k-th dynamic body is body k + 1. `arena`
/// is the size of the arena in bytes; without it MuJoCo chooses.
pub fn mjcf(scene: &Scene, iterations: i64, arena: Option<u64>) -> String {
    let mut xml = String::with_capacity(512 + 320 * scene.bodies.len());
    let size = arena.map_or_else(String::new, |bytes| format!(r#"<size memory="{bytes}"/>"#));
    // Angles in radians; inertia exactly as given; no sensor or visual extras.
    let _ = write!(
        xml,
        r#"<mujoco model="scene">{size}<compiler angle="radian" balanceinertia="false" boundmass="0" boundinertia="0"/><option timestep="{:?}" gravity="{}" integrator="Euler" solver="Newton" iterations="{iterations}"><flag autoreset="disable"/></option><default><geom condim="3" solref="0.02 1" margin="0" gap="0"/></default><worldbody>"#,
        scene.timestep,
        list(&scene.gravity),
    );
    let mut hinge_of = vec![None; scene.bodies.len()];
    for hinge in &scene.hinges {
        hinge_of[hinge.body] = Some(hinge);
    }
    for (body, hinge) in scene.bodies.iter().zip(hinge_of) {
        let place = format!(r#"pos="{}" quat="{}""#, list(&body.position), list(&body.orientation));
        let shape = geom(body);
        if !body.is_dynamic() {
            let _ = write!(xml, "<geom {place} {shape}/>");
            continue;
        }
        let joint = match hinge {
            None => "<freejoint/>".to_owned(),
            Some(h) => format!(
                r#"<joint type="hinge" pos="{}" axis="{}" damping="0" armature="0"/>"#,
                list(&h.anchor_local),
                list(&to_body(body.orientation, h.axis)),
            ),
        };
        let _ = write!(
            xml,
            r#"<body {place}>{joint}<inertial pos="0 0 0" mass="{:?}" diaginertia="{}"/><geom {shape}/></body>"#,
            body.mass,
            list(&body.inertia),
        );
    }
    xml.push_str("</worldbody></mujoco>");
    xml
}

fn geom(body: &Body) -> String {
    let size = match body.shape {
        Shape::Box { half_extents } => format!(r#"type="box" size="{}""#, list(&half_extents)),
        Shape::Sphere { radius } => format!(r#"type="sphere" size="{radius:?}""#),
        Shape::Capsule { radius, half_length } => {
            format!(r#"type="capsule" size="{}""#, list(&[radius, half_length]))
        }
    };
    // MuJoCo's own torsional and rolling coefficients; contacts of dimension 3 ignore them.
    format!(r#"{size} friction="{:?} 0.005 0.0001""#, body.friction)
}

fn list(numbers: &[f64]) -> String {
    numbers.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>().join(" ")
}

/// A world vector in the body's frame: turned by the inverse of the unit quaternion.
pub(crate) fn to_body([w, x, y, z]: [f64; 4], v: [f64; 3]) -> [f64; 3] {
    let cross = |a: [f64; 3], b: [f64; 3]| {
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    };
    let u = [-x, -y, -z];
    let a = cross(u, v);
    let b = cross(u, a);
    std::array::from_fn(|i| v[i] + 2.0 * (w * a[i] + b[i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_vector_turns_into_the_body_frame() {
        let half = std::f64::consts::FRAC_1_SQRT_2;
        // The body is a quarter turn about z ahead: the world's y is the body's x.
        let v = to_body([half, 0.0, 0.0, half], [0.0, 2.0, 3.0]);
        assert!((v[0] - 2.0).abs() < 1e-12 && v[1].abs() < 1e-12 && v[2] == 3.0, "{v:?}");
    }
}
