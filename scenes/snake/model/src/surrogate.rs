//! The propulsion surrogate: a bounded, activity-scaled net force and steering moment.
//!
//! Lateral motion of a real body against a real floor gives a propulsion that this model does not resolve.
//! Two quantities stand in for it, visible here, in every result and in the report:
//!
//! - a net force along the head's mean direction of the last gait cycle, `force_n · activity`;
//! - a steering moment about +z against that mean bias,
//!   `−moment_nm · activity · bias/bias_limit`. The bias itself swings with the head at the gait's frequency;
//!   a moment that did so too would pump the wave.
//!
//! Activity is the mean speed of all joints over `activity_rad_s`, at most 1. Both are therefore bounded by
//! the two numbers of the specification, vanish in a body that does not move its joints, and vanish in a
//! stop. They are shared out equally over all links.

use crate::spec::Spec;

/// What must not be concluded.
pub const NO_TRANSFER: &str = "No speed, turning radius, power or obstacle performance that the propulsion surrogate leads to \
     transfers to hardware.";

/// What the model assumes.
pub const ASSUMPTIONS: [&str; 6] = [
    "Friction of pads with one coefficient along a link and one across it, and viscous drag of the medium, stand for the \
     traction of a smooth floor.",
    "A propulsion surrogate, a bounded net force and steering moment scaled by the joints' activity, stands for the \
     propulsion that lateral motion of the body against the floor would give.",
    "Position actuators stand for servos whose inner loops are not identified.",
    "Range rays are exact and free of noise.",
    "Links, joints, floor and obstacle are rigid.",
    NO_TRANSFER,
];

/// A net force and moment on the body.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wrench {
    /// In the world, N.
    pub force: [f64; 2],
    /// About +z, N·m.
    pub moment: f64,
}

/// Mean joint speed over `activity_rad_s`, between 0 and 1.
pub fn activity(spec: &Spec, speeds: &[f64]) -> f64 {
    let mean = speeds.iter().map(|v| v.abs()).sum::<f64>() / speeds.len().max(1) as f64;
    // What is not a number has no activity.
    if mean.is_finite() { (mean / spec.surrogate.activity_rad_s).min(1.0) } else { 0.0 }
}

/// The wrench at an activity, along a direction, a unit vector or none, for the mean bias of a cycle, rad.
pub fn wrench(spec: &Spec, activity: f64, direction: Option<[f64; 2]>, bias: f64) -> Wrench {
    let s = &spec.surrogate;
    let activity = activity.clamp(0.0, 1.0);
    let turn = (bias / spec.bias_limit()).clamp(-1.0, 1.0);
    let force = direction.unwrap_or_default().map(|v| s.force_n * activity * v);
    Wrench { force, moment: -s.moment_nm * activity * turn }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::tests::spec;

    /// S18, S19: bounded, scaled by activity, against the bias, nothing without motion.
    #[test]
    fn it_is_bounded_and_vanishes_without_motion() {
        let s = spec();
        assert_eq!(activity(&s, &[0.0; 9]), 0.0);
        assert_eq!(activity(&s, &[100.0; 9]), 1.0);
        assert_eq!(activity(&s, &[f64::NAN; 9]), 0.0);
        let half = activity(&s, &[-0.5 * s.surrogate.activity_rad_s; 9]);
        assert!((half - 0.5).abs() < 1e-12);
        let (sin, cos) = 0.3f64.sin_cos();
        let at = |a, bias| wrench(&s, a, Some([cos, sin]), bias);
        assert_eq!(at(0.0, 1.0), Wrench { force: [0.0; 2], moment: -0.0 });
        assert_eq!(wrench(&s, 1.0, None, 0.0).force, [0.0; 2]);
        for a in [0.2, 1.0, 5.0] {
            for bias in [-9.0, -0.01, 0.0, 0.042, 9.0] {
                let w = at(a, bias);
                assert!(f64::hypot(w.force[0], w.force[1]) <= s.surrogate.force_n * (1.0 + 1e-12));
                assert!(w.moment.abs() <= s.surrogate.moment_nm);
                assert!(w.moment * bias <= 0.0, "a positive bias turns right");
            }
        }
        let w = at(1.0, 0.0);
        assert!((w.force[1] / w.force[0] - 0.3f64.tan()).abs() < 1e-12, "along the head");
    }

    /// S21: the statement is there, in words.
    #[test]
    fn what_does_not_transfer_is_said() {
        for word in
            ["speed", "turning radius", "power", "obstacle performance", "transfers to hardware"]
        {
            assert!(NO_TRANSFER.contains(word), "{word}");
        }
        assert_eq!(ASSUMPTIONS[5], NO_TRANSFER);
        assert!(ASSUMPTIONS[1].contains("surrogate"));
    }
}
