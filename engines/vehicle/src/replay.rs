//! What of the vehicle a recording shows: its parts as bodies, and where they are.

use sim_engine_protocol::{Body, BodyKind, SCENE_FORMAT, Scene, Shape};
use sim_vehicle::config::Config;
use sim_vehicle::mjcf::{
    CHASSIS, WHEEL_DROP_M, WHEEL_HALF_WIDTH_M, WHEEL_MASS_KG, WHEELS, wheel_place,
};

/// A cylinder's axis is z, a wheel's is y: a quarter turn about x.
const ONTO_ITS_SIDE: [f64; 4] =
    [std::f64::consts::FRAC_1_SQRT_2, -std::f64::consts::FRAC_1_SQRT_2, 0.0, 0.0];

/// Chassis and wheels on a slab. The scene is that of all steps, so that their recordings can be shown
/// together; its own step is the configuration's.
pub fn scene(config: &Config, scenario: &str) -> Scene {
    let body = |name: String, kind, shape, mass: f64, position| Body {
        name: Some(name),
        kind,
        shape,
        mass,
        inertia: if mass > 0.0 { inertia(shape, mass) } else { [0.0; 3] },
        position,
        orientation: [1.0, 0.0, 0.0, 0.0],
        linear_velocity: [0.0; 3],
        angular_velocity: [0.0; 3],
        friction: 1.2,
    };
    let slab = Shape::Box { half_extents: [500.0, 500.0, 0.5] };
    let height = config.vehicle.wheel_radius_m + WHEEL_DROP_M;
    let chassis = Shape::Box { half_extents: CHASSIS };
    let mass = config.vehicle.mass_kg - 4.0 * WHEEL_MASS_KG;
    let mut bodies = vec![
        body("ground".into(), BodyKind::Static, slab, 0.0, [0.0, 0.0, -0.5]),
        body("chassis".into(), BodyKind::Dynamic, chassis, mass, [0.0, 0.0, height]),
    ];
    let shape =
        Shape::Cylinder { radius: config.vehicle.wheel_radius_m, half_length: WHEEL_HALF_WIDTH_M };
    for (i, wheel) in WHEELS.iter().enumerate() {
        let [x, y, z] = wheel_place(config, i);
        let mut wheel =
            body((*wheel).into(), BodyKind::Dynamic, shape, WHEEL_MASS_KG, [x, y, height + z]);
        wheel.orientation = ONTO_ITS_SIDE;
        bodies.push(wheel);
    }
    Scene {
        format: SCENE_FORMAT,
        name: format!("vehicle, {scenario}"),
        gravity: [0.0, 0.0, -9.81],
        timestep: config.simulation.physics_dt_s,
        contact_free: false,
        bodies,
        hinges: Vec::new(),
        reference: None,
        robot: None,
        mpm: None,
    }
}

/// Moments of inertia of a solid body about its own axes, kg·m².
fn inertia(shape: Shape, mass: f64) -> [f64; 3] {
    match shape {
        Shape::Box { half_extents: [a, b, c] } => {
            [b * b + c * c, a * a + c * c, a * a + b * b].map(|s| mass / 3.0 * s)
        }
        Shape::Cylinder { radius, half_length } => {
            let across = mass * (radius * radius / 4.0 + half_length * half_length / 3.0);
            [across, across, mass * radius * radius / 2.0]
        }
        Shape::Sphere { .. } | Shape::Capsule { .. } => [0.0; 3],
    }
}

/// Poses of chassis and wheels: from the free joint's position and quaternion, the two steering angles and the
/// four spin angles, rad. Joint coordinates are what a step leaves up to date.
pub fn poses(config: &Config, free: [f64; 7], steer: [f64; 2], spin: [f64; 4]) -> [f32; 35] {
    let (place, turned) = ([free[0], free[1], free[2]], [free[3], free[4], free[5], free[6]]);
    let mut out = [0.0_f32; 35];
    let mut put = |body: usize, place: [f64; 3], turned: [f64; 4]| {
        for (to, from) in out[7 * body..7 * body + 7].iter_mut().zip(place.iter().chain(&turned)) {
            *to = *from as f32;
        }
    };
    put(0, place, turned);
    for wheel in 0..4 {
        let offset = rotated(turned, wheel_place(config, wheel));
        let about_z = if wheel < 2 { 0.5 * steer[wheel] } else { 0.0 };
        let about_y = 0.5 * spin[wheel];
        let steered = product(turned, [about_z.cos(), 0.0, 0.0, about_z.sin()]);
        let spun = product(steered, [about_y.cos(), 0.0, about_y.sin(), 0.0]);
        put(1 + wheel, std::array::from_fn(|i| place[i] + offset[i]), product(spun, ONTO_ITS_SIDE));
    }
    out
}

/// Product of quaternions, real part first.
pub(crate) fn product(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
    [
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    ]
}

fn rotated(q: [f64; 4], v: [f64; 3]) -> [f64; 3] {
    let back = [q[0], -q[1], -q[2], -q[3]];
    let [_, x, y, z] = product(product(q, [0.0, v[0], v[1], v[2]]), back);
    [x, y, z]
}
