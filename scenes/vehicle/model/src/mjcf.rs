//! The MJCF of the vehicle, made from its configuration.
//!
//! One free rigid chassis, four cylinder wheels with a spin joint each, two steering joints in front,
//! two position actuators that steer and four motors. There is no suspension, differential, gearbox,
//! tyre model or drag.

use crate::config::Config;
use std::fmt::Write as _;

/// Mass of a wheel, kg.
pub const WHEEL_MASS_KG: f64 = 20.0;
/// Half the width of a wheel, m.
pub const WHEEL_HALF_WIDTH_M: f64 = 0.1;
/// How far the wheels' centres lie below the chassis' origin, m.
pub const WHEEL_DROP_M: f64 = 0.22;
/// Half sizes of the chassis, m.
pub const CHASSIS: [f64; 3] = [2.1, 0.72, 0.2];

/// Wheels in the order in which everything lists them.
pub const WHEELS: [&str; 4] = ["front_left", "front_right", "rear_left", "rear_right"];

/// Centre of a wheel in the chassis' frame, m.
pub fn wheel_place(config: &Config, wheel: usize) -> [f64; 3] {
    let (half_base, half_track) =
        (config.vehicle.wheelbase_m / 2.0, config.vehicle.track_width_m / 2.0);
    let x = if wheel < 2 { half_base } else { -half_base };
    let y = if wheel.is_multiple_of(2) { half_track } else { -half_track };
    [x, y, -WHEEL_DROP_M]
}

/// The model as XML. Numbers read back to the same double.
pub fn mjcf(config: &Config) -> String {
    let (v, a) = (&config.vehicle, &config.actuator);
    let (half_base, radius) = (v.wheelbase_m / 2.0, v.wheel_radius_m);
    let torque = config.wheel_torque(a.max_deceleration_mps2);
    let angle = a.max_steering_angle_rad;
    let mut xml = String::new();
    let _ = write!(
        xml,
        r#"<mujoco model="vehicle">
  <compiler angle="radian" autolimits="true" inertiafromgeom="true"/>
  <option timestep="{dt:?}" gravity="0 0 -9.81" integrator="implicitfast" solver="Newton" iterations="20" ls_iterations="5" cone="elliptic" jacobian="dense">
    <flag autoreset="disable"/>
  </option>
  <default>
    <geom solref="0.03 1" solimp="0.9 0.95 0.001 0.5 2"/>
    <default class="wheel">
      <geom type="cylinder" size="{radius:?} {WHEEL_HALF_WIDTH_M:?}" zaxis="0 1 0" mass="{WHEEL_MASS_KG:?}" contype="2" conaffinity="1" condim="3" friction="1.2 0.005 0.0001" priority="1"/>
    </default>
    <default class="spin">
      <joint type="hinge" axis="0 1 0" damping="0.2" armature="0.2"/>
    </default>
    <default class="steer">
      <joint type="hinge" axis="0 0 1" range="{neg_angle:?} {angle:?}" damping="20" armature="0.5"/>
    </default>
  </default>
  <worldbody>
    <geom name="ground" type="plane" size="500 500 1" contype="1" conaffinity="6" condim="3" friction="1.2 0.005 0.0001"/>
    <body name="chassis" pos="0 0 {height:?}">
      <freejoint name="chassis"/>
      <geom name="chassis" type="box" size="{sx:?} {sy:?} {sz:?}" mass="{mass:?}" contype="4" conaffinity="1" friction="0.8 0.005 0.0001"/>
      <site name="rear_axle_reference" pos="{rear:?} 0 {drop:?}"/>
"#,
        dt = config.simulation.physics_dt_s,
        neg_angle = -angle,
        height = radius + WHEEL_DROP_M,
        sx = CHASSIS[0],
        sy = CHASSIS[1],
        sz = CHASSIS[2],
        mass = v.mass_kg - 4.0 * WHEEL_MASS_KG,
        rear = -half_base,
        drop = -WHEEL_DROP_M,
    );
    for (i, wheel) in WHEELS.iter().enumerate() {
        let [x, y, z] = wheel_place(config, i);
        let steer = if i < 2 {
            format!("        <joint name=\"{wheel}_steer\" class=\"steer\"/>\n")
        } else {
            String::new()
        };
        let _ = write!(
            xml,
            "      <body name=\"{wheel}_wheel_body\" pos=\"{x:?} {y:?} {z:?}\">\n{steer}        <joint \
             name=\"{wheel}_wheel\" class=\"spin\"/>\n        <geom name=\"{wheel}_wheel_geom\" \
             class=\"wheel\"/>\n      </body>\n"
        );
    }
    xml.push_str("    </body>\n  </worldbody>\n  <actuator>\n");
    for wheel in &WHEELS[..2] {
        let _ = writeln!(
            xml,
            "    <position name=\"{wheel}_steer_position\" joint=\"{wheel}_steer\" kp=\"8000\" \
             kv=\"400\" ctrlrange=\"{:?} {angle:?}\" forcerange=\"-5000 5000\"/>",
            -angle
        );
    }
    for wheel in WHEELS {
        let _ = writeln!(
            xml,
            "    <motor name=\"{wheel}_drive\" joint=\"{wheel}_wheel\" ctrlrange=\"{:?} {torque:?}\" \
             forcerange=\"{:?} {torque:?}\"/>",
            -torque, -torque
        );
    }
    xml.push_str("  </actuator>\n</mujoco>\n");
    xml
}
