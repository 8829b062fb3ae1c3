//! The vehicle's configuration, `vehicle.toml`.

use serde::Deserialize;

/// The whole file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Format of the file, 1.
    pub schema_version: u32,
    /// Dimensions and mass.
    pub vehicle: Vehicle,
    /// Limits of the actuators.
    pub actuator: Actuator,
    /// Steps of time.
    pub simulation: Simulation,
}

/// Dimensions and mass.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vehicle {
    /// Mass of the chassis and its wheels, kg.
    pub mass_kg: f64,
    /// Distance of the axles, m.
    pub wheelbase_m: f64,
    /// Distance of the centres of two wheels of an axle, m.
    pub track_width_m: f64,
    /// Width over all, m.
    pub vehicle_width_m: f64,
    /// Radius of each wheel, m.
    pub wheel_radius_m: f64,
    /// Speed that controllers must not exceed, m/s. The plant does not limit it.
    pub max_speed_mps: f64,
}

/// Limits of the actuators.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Actuator {
    /// Largest steering angle to either side, rad.
    pub max_steering_angle_rad: f64,
    /// Largest rate at which the steering target moves, rad/s.
    pub max_steering_rate_rad_s: f64,
    /// Largest acceleration that can be asked for, m/s².
    pub max_acceleration_mps2: f64,
    /// Largest deceleration that can be asked for, m/s², positive.
    pub max_deceleration_mps2: f64,
}

/// Steps of time.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Simulation {
    /// Physics step of the model, s; a protocol may set another.
    pub physics_dt_s: f64,
    /// Control step, s.
    pub control_dt_s: f64,
}

impl Config {
    /// Parses the file and checks it. The error names the place.
    pub fn parse(text: &str) -> Result<Self, String> {
        let config: Self = toml::from_str(text).map_err(|e| e.to_string().trim().to_owned())?;
        config.check()?;
        Ok(config)
    }

    /// Checks that every number is finite and positive. The error names the place.
    pub fn check(&self) -> Result<(), String> {
        if self.schema_version != 1 {
            return Err(format!("schema_version is {}, not 1", self.schema_version));
        }
        let (v, a, s) = (&self.vehicle, &self.actuator, &self.simulation);
        for (name, value) in [
            ("vehicle.mass_kg", v.mass_kg),
            ("vehicle.wheelbase_m", v.wheelbase_m),
            ("vehicle.track_width_m", v.track_width_m),
            ("vehicle.vehicle_width_m", v.vehicle_width_m),
            ("vehicle.wheel_radius_m", v.wheel_radius_m),
            ("vehicle.max_speed_mps", v.max_speed_mps),
            ("actuator.max_steering_angle_rad", a.max_steering_angle_rad),
            ("actuator.max_steering_rate_rad_s", a.max_steering_rate_rad_s),
            ("actuator.max_acceleration_mps2", a.max_acceleration_mps2),
            ("actuator.max_deceleration_mps2", a.max_deceleration_mps2),
            ("simulation.physics_dt_s", s.physics_dt_s),
            ("simulation.control_dt_s", s.control_dt_s),
        ] {
            if !(value.is_finite() && value > 0.0) {
                return Err(format!("{name} is {value}, not a positive number"));
            }
        }
        if v.mass_kg <= 4.0 * crate::mjcf::WHEEL_MASS_KG {
            return Err(format!("vehicle.mass_kg is {}, less than four wheels have", v.mass_kg));
        }
        Ok(())
    }

    /// Torque at each wheel, N·m, for an acceleration of this magnitude, m/s²: a quarter of the force at
    /// the circumference of each wheel.
    pub fn wheel_torque(&self, acceleration: f64) -> f64 {
        self.vehicle.mass_kg * acceleration * self.vehicle.wheel_radius_m / 4.0
    }
}
