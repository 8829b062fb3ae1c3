//! What of a simulator's state is public, and what its motors do: the same for the plant and for every engine
//! that drives the vehicle in a batch.

/// Below this spin, rad/s, a brake takes its sign from the body.
const SPINS: f64 = 0.5;
/// Below this speed, m/s, a brake does nothing to a wheel that does not spin.
const MOVES: f64 = 0.1;

/// The public state: that of a reference point on the chassis, the rear axle's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// Of the reference point in the world, m.
    pub position: [f64; 3],
    /// Roll, pitch, yaw, rad: see [`crate::telemetry`].
    pub angles: [f64; 3],
    /// Of the reference point, in the body's axes, m/s.
    pub velocity: [f64; 3],
    /// Angular velocity in the body's axes, rad/s.
    pub turning: [f64; 3],
}

impl State {
    /// From a free joint's coordinates (position, m, and a unit quaternion, real part first) and velocities
    /// (linear in the world's axes, m/s, angular in the body's, rad/s). `reference` is the point in the
    /// chassis' frame, m.
    pub fn of(q: [f64; 7], v: [f64; 6], reference: [f64; 3]) -> Self {
        let r = matrix([q[3], q[4], q[5], q[6]]);
        let o = reference;
        let turning = [v[3], v[4], v[5]];
        let lever = cross(turning, o);
        Self {
            position: std::array::from_fn(|i| {
                q[i] + r[i][0] * o[0] + r[i][1] * o[1] + r[i][2] * o[2]
            }),
            angles: [
                r[2][1].atan2(r[2][2]),
                (-r[2][0]).atan2(r[0][0].hypot(r[1][0])),
                r[1][0].atan2(r[0][0]),
            ],
            velocity: std::array::from_fn(|i| {
                r[0][i] * v[0] + r[1][i] * v[1] + r[2][i] * v[2] + lever[i]
            }),
            turning,
        }
    }
}

/// Torque, N·m, at a wheel that spins with `spin`, rad/s, of a body that moves with `speed`, m/s, where
/// `magnitude` is that of the acceleration, m/s², that is asked for. A brake opposes the spin; it vanishes at
/// rest, so that it never drives backwards.
pub fn torque(acceleration: f64, magnitude: f64, spin: f64, speed: f64) -> f64 {
    if acceleration > 0.0 {
        magnitude
    } else if acceleration < 0.0 && spin.abs() >= SPINS {
        -magnitude.copysign(spin)
    } else if acceleration < 0.0 && speed.abs() >= MOVES {
        -magnitude.copysign(speed)
    } else {
        0.0
    }
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Rotation matrix of a unit quaternion, real part first, by rows.
fn matrix([w, x, y, z]: [f64; 4]) -> [[f64; 3]; 3] {
    [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]
}
