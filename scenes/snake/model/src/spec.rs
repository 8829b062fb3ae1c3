//! The specification, `snake.toml`.

use serde::Deserialize;

/// The whole file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Format of the file, 1.
    pub schema_version: u32,
    /// Links and their names.
    pub robot: Robot,
    /// Limits of every joint.
    pub joint: Joint,
    /// Range rays of the head, from right to left.
    #[serde(rename = "ray")]
    pub rays: Vec<Ray>,
    /// What all rays share.
    pub perception: Perception,
    /// Steps of time.
    pub simulation: Simulation,
    /// The travelling wave.
    pub gait: Gait,
    /// What turns a heading error into a bias of the joints.
    pub steering: Steering,
    /// When and where it leaves its route.
    pub detour: Detour,
    /// The cylinder.
    pub obstacle: Obstacle,
    /// Stand-in for the servos' inner loops.
    pub servo: Servo,
    /// The floor and what rests on it.
    pub floor: Floor,
    /// The propulsion surrogate.
    pub surrogate: Surrogate,
}

/// Links and their names.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Robot {
    /// Name of the robot.
    pub name: String,
    /// Number of links.
    pub links: usize,
    /// Edges of each link, m.
    pub link_box_m: [f64; 3],
    /// Distance of two yaw pivots, m.
    pub pivot_pitch_m: f64,
    /// Mass of each link, kg.
    pub link_mass_kg: f64,
    /// Name of the group of all joints.
    pub group: String,
}

/// Limits of every joint.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Joint {
    /// Largest angle to either side, rad.
    pub limit_rad: f64,
    /// Largest torque, N·m.
    pub effort_nm: f64,
    /// Largest speed, rad/s.
    pub velocity_rad_s: f64,
}

/// A range ray.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ray {
    /// Name of its sensor.
    pub name: String,
    /// Direction from the head's x axis, counter-clockwise, degrees.
    pub angle_deg: f64,
}

/// What all rays share.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Perception {
    /// Useful range, m.
    pub range_m: f64,
    /// Origin of all rays in the head's frame, m.
    pub origin_m: [f64; 3],
    /// A reading that is older is stale, s.
    pub stale_after_s: f64,
}

/// Steps of time.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Simulation {
    /// Physics step, s.
    pub timestep_s: f64,
    /// Rate of the controller, Hz.
    pub control_hz: u32,
    /// Rate of the trajectory, Hz.
    pub log_hz: u32,
    /// Seed. Nothing draws a number.
    pub seed: u64,
}

/// The travelling wave.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gait {
    /// rad.
    pub amplitude_rad: f64,
    /// Hz.
    pub frequency_hz: f64,
    /// How far each joint's phase is ahead of that of the joint before it, rad.
    pub lag_rad: f64,
    /// Part of the velocity limit at which commands may move.
    pub slew_fraction: f64,
}

/// What turns a heading error into a bias of the joints.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steering {
    /// Bias of the first joint per radian of heading error, rad.
    pub gain_rad: f64,
    /// Distance of the point ahead on the route that it heads for, m.
    pub lookahead_m: f64,
    /// The same on the detour's line, m.
    pub lookahead_avoid_m: f64,
    /// Largest heading error that counts, rad.
    pub error_limit_rad: f64,
    /// Part of the bias that is gone at the last joint.
    pub taper: f64,
}

/// When and where it leaves its route.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Detour {
    /// A ray that is shorter starts the detour, m.
    pub trigger_m: f64,
    /// How far the detour's line lies left of the route, m.
    pub line_m: f64,
    /// How far every pivot must be beyond the surface that was seen, m.
    pub passed_m: f64,
    /// Distance from the route at which slithering begins again, m.
    pub rejoin_m: f64,
}

/// The cylinder.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Obstacle {
    /// Centre on the floor, m.
    pub centre_m: [f64; 2],
    /// m.
    pub radius_m: f64,
    /// m.
    pub height_m: f64,
}

/// Stand-in for the servos' inner loops.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Servo {
    /// N·m/rad.
    pub stiffness_nm_rad: f64,
    /// N·m·s/rad.
    pub damping_nm_s_rad: f64,
    /// Inertia that a servo's rotor adds to its joint, kg·m².
    pub armature_kg_m2: f64,
    /// Of the joint itself, N·m·s/rad.
    pub joint_damping_nm_s_rad: f64,
}

/// The floor and what rests on it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Floor {
    /// Distance of a link's two points of contact, across it, m.
    pub pad_width_m: f64,
    /// Radius of a pad, m.
    pub pad_radius_m: f64,
    /// Coefficient of friction along a link's x axis.
    pub friction_along: f64,
    /// The same across it.
    pub friction_across: f64,
    /// Viscosity of the medium, Pa·s.
    pub viscosity_pa_s: f64,
}

/// The propulsion surrogate, see [`crate::surrogate`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Surrogate {
    /// Mean joint speed at which activity is 1, rad/s.
    pub activity_rad_s: f64,
    /// Largest net force, N.
    pub force_n: f64,
    /// Largest steering moment, N·m.
    pub moment_nm: f64,
}

impl Spec {
    /// Parses the file and checks every number. The error names the place.
    pub fn parse(text: &str) -> Result<Self, String> {
        let spec: Self = toml::from_str(text).map_err(|e| e.to_string().trim().to_owned())?;
        spec.check()?;
        Ok(spec)
    }

    fn check(&self) -> Result<(), String> {
        if self.schema_version != 1 {
            return Err(format!("schema_version is {}, not 1", self.schema_version));
        }
        if !(2..=100).contains(&self.robot.links) {
            return Err(format!("robot.links is {}, not between 2 and 100", self.robot.links));
        }
        for name in [&self.robot.name, &self.robot.group].into_iter().chain(self.ray_names()) {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(plain) {
                return Err(format!("`{name}` is no name: use letters, digits and _"));
            }
        }
        for (i, ray) in self.rays.iter().enumerate() {
            if !(ray.angle_deg.is_finite() && ray.angle_deg.abs() <= 90.0) {
                return Err(format!("ray `{}` points {} degrees", ray.name, ray.angle_deg));
            }
            if self.rays[..i].iter().any(|other| other.name == ray.name) {
                return Err(format!("two rays are called `{}`", ray.name));
            }
        }
        if self.rays.is_empty() {
            return Err("there is no ray".to_owned());
        }
        for (name, value) in self.numbers() {
            if !(value.is_finite() && value > 0.0) {
                return Err(format!("{name} is {value}, not a positive number"));
            }
        }
        let (f, s) = (&self.floor, &self.surrogate);
        for (name, value) in [
            ("floor.viscosity_pa_s", f.viscosity_pa_s),
            ("servo.armature_kg_m2", self.servo.armature_kg_m2),
            ("servo.joint_damping_nm_s_rad", self.servo.joint_damping_nm_s_rad),
            ("surrogate.force_n", s.force_n),
            ("surrogate.moment_nm", s.moment_nm),
            ("perception.origin_m[0]", self.perception.origin_m[0]),
        ] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(format!("{name} is {value}, not a number from 0 on"));
            }
        }
        if self.perception.origin_m[1] != 0.0 || self.perception.origin_m[2] != 0.0 {
            return Err("perception.origin_m is not on the head's x axis".to_owned());
        }
        if !self.obstacle.centre_m.iter().all(|x| x.is_finite()) {
            return Err(format!("obstacle.centre_m is {:?}", self.obstacle.centre_m));
        }
        for (name, value) in [
            ("gait.slew_fraction", self.gait.slew_fraction),
            ("steering.taper", self.steering.taper),
        ] {
            if value > 1.0 {
                return Err(format!("{name} is {value}, more than 1"));
            }
        }
        if self.gait.amplitude_rad + self.bias_limit() > self.joint.limit_rad {
            return Err(
                "gait.amplitude_rad and the largest bias are beyond the joints' limit".into()
            );
        }
        for (name, hz) in [("control", self.simulation.control_hz), ("log", self.simulation.log_hz)]
        {
            self.steps_of(hz).map_err(|e| format!("simulation.{name}_hz: {e}"))?;
        }
        Ok(())
    }

    /// Everything that must be positive, by its place in the file.
    fn numbers(&self) -> Vec<(&'static str, f64)> {
        let (r, j, p, g) = (&self.robot, &self.joint, &self.perception, &self.gait);
        let (s, d, o) = (&self.steering, &self.detour, &self.obstacle);
        vec![
            ("robot.link_box_m[0]", r.link_box_m[0]),
            ("robot.link_box_m[1]", r.link_box_m[1]),
            ("robot.link_box_m[2]", r.link_box_m[2]),
            ("robot.pivot_pitch_m", r.pivot_pitch_m),
            ("robot.link_mass_kg", r.link_mass_kg),
            ("joint.limit_rad", j.limit_rad),
            ("joint.effort_nm", j.effort_nm),
            ("joint.velocity_rad_s", j.velocity_rad_s),
            ("perception.range_m", p.range_m),
            ("perception.stale_after_s", p.stale_after_s),
            ("simulation.timestep_s", self.simulation.timestep_s),
            ("gait.amplitude_rad", g.amplitude_rad),
            ("gait.frequency_hz", g.frequency_hz),
            ("gait.lag_rad", g.lag_rad),
            ("gait.slew_fraction", g.slew_fraction),
            ("steering.gain_rad", s.gain_rad),
            ("steering.lookahead_m", s.lookahead_m),
            ("steering.lookahead_avoid_m", s.lookahead_avoid_m),
            ("steering.error_limit_rad", s.error_limit_rad),
            ("steering.taper", s.taper),
            ("detour.trigger_m", d.trigger_m),
            ("detour.line_m", d.line_m),
            ("detour.passed_m", d.passed_m),
            ("detour.rejoin_m", d.rejoin_m),
            ("obstacle.radius_m", o.radius_m),
            ("obstacle.height_m", o.height_m),
            ("servo.stiffness_nm_rad", self.servo.stiffness_nm_rad),
            ("servo.damping_nm_s_rad", self.servo.damping_nm_s_rad),
            ("floor.pad_width_m", self.floor.pad_width_m),
            ("floor.pad_radius_m", self.floor.pad_radius_m),
            ("floor.friction_along", self.floor.friction_along),
            ("floor.friction_across", self.floor.friction_across),
            ("surrogate.activity_rad_s", self.surrogate.activity_rad_s),
        ]
    }

    /// Number of joints.
    pub fn joints(&self) -> usize {
        self.robot.links - 1
    }

    /// Names of all links, the head first.
    pub fn link_names(&self) -> Vec<String> {
        (0..self.robot.links).map(|i| format!("link_{i:02}")).collect()
    }

    /// Names of all joints, the head's first. Joint n turns link n against the link before it.
    pub fn joint_names(&self) -> Vec<String> {
        (1..self.robot.links).map(|i| format!("joint_{i:02}")).collect()
    }

    /// Names of all rays' sensors, from right to left.
    pub fn ray_names(&self) -> impl Iterator<Item = &String> {
        self.rays.iter().map(|r| &r.name)
    }

    /// A link's centre in its frame, m.
    pub fn link_centre(&self) -> [f64; 3] {
        [-0.5 * self.robot.link_box_m[0], 0.0, 0.0]
    }

    /// A link's principal moments of inertia about its centre, kg·m²: those of a box of equal density.
    pub fn link_inertia(&self) -> [f64; 3] {
        let [x, y, z] = self.robot.link_box_m.map(|edge| edge * edge);
        let m = self.robot.link_mass_kg / 12.0;
        [m * (y + z), m * (x + z), m * (x + y)]
    }

    /// Height of all link frames above the floor when pads touch it, m.
    pub fn height(&self) -> f64 {
        0.5 * self.robot.link_box_m[2]
    }

    /// Largest bias of the first joint, rad.
    pub fn bias_limit(&self) -> f64 {
        self.steering.gain_rad * self.steering.error_limit_rad
    }

    /// Bias of each joint as a part of the first one's.
    pub fn taper(&self, joint: usize) -> f64 {
        let last = (self.joints() - 1).max(1) as f64;
        1.0 - self.steering.taper * joint as f64 / last
    }

    /// Most that a command moves in a control step, rad.
    pub fn slew(&self) -> f64 {
        self.gait.slew_fraction * self.joint.velocity_rad_s / f64::from(self.simulation.control_hz)
    }

    /// Physics steps between two events of a rate. The error says that they do not fit.
    pub fn steps_of(&self, hz: u32) -> Result<u32, String> {
        self.steps(1.0 / f64::from(hz), self.simulation.timestep_s)
    }

    /// Physics steps of `timestep` in a time. The error says that they do not fit.
    pub fn steps(&self, time: f64, timestep: f64) -> Result<u32, String> {
        let ratio = time / timestep;
        let whole = ratio.round();
        if !((ratio - whole).abs() <= 1e-6 && whole >= 1.0 && whole <= f64::from(u32::MAX)) {
            return Err(format!("{time} s is no whole number of physics steps of {timestep} s"));
        }
        Ok(whole as u32)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const TEXT: &str = include_str!("../../snake.toml");

    pub(crate) fn spec() -> Spec {
        Spec::parse(TEXT).expect("a specification")
    }

    /// S08, S10, S11, S14 to S16 and the published description: names, masses, inertia, limits, rays.
    #[test]
    fn the_specification_has_the_published_facts() {
        let s = spec();
        assert_eq!((s.robot.links, s.joints()), (10, 9));
        assert_eq!(s.link_names()[0], "link_00");
        assert_eq!(s.link_names()[9], "link_09");
        assert_eq!(
            (s.joint_names()[0].as_str(), s.joint_names()[8].as_str()),
            ("joint_01", "joint_09")
        );
        assert_eq!(s.link_centre(), [-0.045, 0.0, 0.0]);
        assert!((s.robot.link_mass_kg * 10.0 - 1.6).abs() < 1e-12);
        // To the twelve digits of the published URDF.
        let published = [5.66666666667e-05, 0.000124333333333, 0.000148333333333];
        for (own, other) in s.link_inertia().iter().zip(published) {
            assert!((own - other).abs() < 1e-15, "{own} {other}");
        }
        assert_eq!(
            (s.joint.limit_rad, s.joint.effort_nm, s.joint.velocity_rad_s),
            (0.95, 3.0, 4.0)
        );
        assert!((s.slew() - 0.068).abs() < 1e-15, "85 % of 4 rad/s at 50 Hz");
        // 9 pitches and the last link's body.
        let length = 9.0 * s.robot.pivot_pitch_m + s.robot.link_box_m[0];
        assert!((length - 0.945).abs() < 1e-12);
        let rays: Vec<(&str, f64)> =
            s.rays.iter().map(|r| (r.name.as_str(), r.angle_deg)).collect();
        assert_eq!(
            rays,
            [
                ("head_range_m60", -60.0),
                ("head_range_m30", -30.0),
                ("head_range_00", 0.0),
                ("head_range_p30", 30.0),
                ("head_range_p60", 60.0),
            ]
        );
        assert_eq!((s.perception.range_m, s.perception.origin_m), (0.8, [0.008, 0.0, 0.0]));
        assert_eq!((s.simulation.timestep_s, s.simulation.control_hz), (0.002, 50));
        assert_eq!((s.simulation.seed, s.simulation.log_hz), (42, 20));
        assert_eq!((s.gait.amplitude_rad, s.gait.frequency_hz, s.gait.lag_rad), (0.55, 0.7, 0.75));
        assert!((s.bias_limit() - 0.042).abs() < 1e-15);
        assert_eq!((s.taper(0), s.taper(8)), (1.0, 1.0 - 0.45));
        assert_eq!((s.obstacle.centre_m, s.obstacle.radius_m), ([0.72, 0.0], 0.08));
    }

    #[test]
    fn mistakes_are_named() {
        for (from, to, said) in [
            ("schema_version = 1", "schema_version = 2", "schema_version is 2, not 1"),
            ("links = 10", "links = 1", "robot.links is 1"),
            ("link_mass_kg = 0.16", "link_mass_kg = -0.16", "robot.link_mass_kg is -0.16"),
            ("limit_rad = 0.95", "limit_rad = nan", "joint.limit_rad is NaN"),
            ("amplitude_rad = 0.55", "amplitude_rad = 0.92", "beyond the joints' limit"),
            ("\"head_range_p60\"", "\"head_range_m60\"", "two rays are called `head_range_m60`"),
            ("\"head_range_p60\"", "\"head range\"", "`head range` is no name"),
            ("angle_deg = 60.0", "angle_deg = 160.0", "ray `head_range_p60` points 160 degrees"),
            ("control_hz = 50", "control_hz = 60", "simulation.control_hz"),
            ("log_hz = 20", "log_hz = 21", "simulation.log_hz"),
            ("origin_m = [0.008, 0.0", "origin_m = [0.008, 0.1", "not on the head's x axis"),
            ("[servo]", "[servos]", "unknown field `servos`"),
        ] {
            assert!(TEXT.contains(from), "{from}");
            let error = Spec::parse(&TEXT.replacen(from, to, 1)).expect_err(from);
            assert!(error.contains(said), "{from}: {error}");
        }
    }
}
