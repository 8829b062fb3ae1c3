//! Forward kinematics in binary64, as MuJoCo does it: MuJoCo's adapter compares every link.

use super::{Joint, Model};
use sim_engine_protocol::Pose;

/// A pose.
pub(super) fn pose(position: [f64; 3], orientation: [f64; 4]) -> Pose {
    Pose { position, orientation }
}

impl Model {
    /// The pose of every body in the world, with the base at a pose and each hinge at an angle
    /// (rad, in the order of bodies).
    pub(crate) fn kinematics(&self, base: Pose, angles: &[f64]) -> Vec<Pose> {
        let mut angles = angles.iter();
        let mut poses: Vec<Pose> = Vec::with_capacity(self.bodies.len());
        for body in &self.bodies {
            let Some(parent) = body.parent else {
                poses.push(base);
                continue;
            };
            let rest = poses[parent].compose(&pose(body.position, body.orientation));
            poses.push(match &body.joint {
                Some(Joint::Hinge(hinge)) => {
                    let half = angles.next().copied().unwrap_or_default() / 2.0;
                    let (sin, cos) = (libm::sin(half), libm::cos(half));
                    let [x, y, z] = hinge.axis.map(|a| a * sin);
                    let turned = rest.compose(&pose([0.0; 3], [cos, x, y, z]));
                    // The hinge's point stays where it is at rest.
                    let (there, moved) =
                        (rest.transform(hinge.position), turned.transform(hinge.position));
                    let position =
                        std::array::from_fn(|i| turned.position[i] + there[i] - moved[i]);
                    pose(position, unit(turned.orientation))
                }
                _ => rest,
            });
        }
        poses
    }

    /// Height of the lowest point of all shapes, m.
    pub(crate) fn lowest(&self, poses: &[Pose]) -> f64 {
        let bodies = self.bodies.iter().zip(poses);
        let all = bodies.flat_map(|(body, at)| {
            body.geoms
                .iter()
                .map(|g| g.shape.lowest_point(&at.compose(&pose(g.position, g.orientation))))
        });
        all.fold(f64::INFINITY, f64::min)
    }

    /// The height of an upright base at which the lowest point is `clearance` above the floor, m.
    pub(crate) fn stand(&self, angles: &[f64], clearance: f64) -> f64 {
        let base = pose([0.0; 3], [1.0, 0.0, 0.0, 0.0]);
        clearance - self.lowest(&self.kinematics(base, angles))
    }
}

/// A quaternion of norm one.
pub(super) fn unit(q: [f64; 4]) -> [f64; 4] {
    let norm = q.iter().map(|x| x * x).sum::<f64>().sqrt();
    q.map(|x| x / norm)
}
