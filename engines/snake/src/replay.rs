//! What of the snake a recording shows: its links as boxes, and the cylinder where it is.

use sim_engine_protocol::{Body, BodyKind, Scene, Shape};
use sim_snake::mjcf::Scene as Place;
use sim_snake::spec::Spec;

/// The links as boxes on a slab, with the cylinder where it is.
pub fn scene(spec: &Spec, place: Place) -> Scene {
    let still = |name: &str, shape: Shape, position: [f64; 3]| Body {
        name: Some(name.to_owned()),
        kind: BodyKind::Static,
        shape,
        mass: 0.0,
        inertia: [0.0; 3],
        position,
        orientation: [1.0, 0.0, 0.0, 0.0],
        linear_velocity: [0.0; 3],
        angular_velocity: [0.0; 3],
        friction: spec.floor.friction_across,
    };
    let slab = Shape::Box { half_extents: [100.0, 100.0, 0.5] };
    let mut bodies = vec![still("ground", slab, [0.0, 0.0, -0.5])];
    if place == Place::ObstacleCourse {
        let o = &spec.obstacle;
        let half_length = 0.5 * o.height_m;
        let [x, y] = o.centre_m;
        let shape = Shape::Cylinder { radius: o.radius_m, half_length };
        bodies.push(still("obstacle", shape, [x, y, half_length]));
    }
    let half_extents = spec.robot.link_box_m.map(|edge| 0.5 * edge);
    for (i, link) in spec.link_names().iter().enumerate() {
        let x = spec.link_centre()[0] - spec.robot.pivot_pitch_m * i as f64;
        bodies.push(Body {
            name: Some(link.clone()),
            kind: BodyKind::Dynamic,
            shape: Shape::Box { half_extents },
            mass: spec.robot.link_mass_kg,
            inertia: spec.link_inertia(),
            position: [x, 0.0, spec.height()],
            ..still("", slab, [0.0; 3])
        });
    }
    Scene {
        format: sim_engine_protocol::SCENE_FORMAT,
        name: format!("{}_{}", spec.robot.name, place.name()),
        gravity: [0.0, 0.0, -9.81],
        timestep: spec.simulation.timestep_s,
        contact_free: false,
        bodies,
        hinges: Vec::new(),
        reference: None,
        robot: None,
        mpm: None,
    }
}
