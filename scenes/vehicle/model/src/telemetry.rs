//! Telemetry: one row before the first control step and one after each, of [`COLUMNS`] doubles.

/// Columns of a row.
pub const COLUMNS: usize = 36;

/// Simulated time, s.
pub const TIME: usize = 0;
/// Position of the rear axle's reference point in the world, m: three columns.
pub const POSITION: usize = 1;
/// Roll, rad: atan2(R₂₁, R₂₂).
pub const ROLL: usize = 4;
/// Pitch, rad: atan2(−R₂₀, hypot(R₀₀, R₁₀)).
pub const PITCH: usize = 5;
/// Yaw, rad: atan2(R₁₀, R₀₀).
pub const YAW: usize = 6;
/// Velocity of the reference point in the body's axes, m/s: Rᵀ·v + ω × offset; three columns.
pub const VELOCITY: usize = 7;
/// Angular velocity in the body's axes, rad/s: three columns.
pub const ANGULAR_VELOCITY: usize = 10;
/// Mean of both steering joints, rad.
pub const STEERING: usize = 13;
/// Spin of each wheel, rad/s: four columns.
pub const WHEEL_SPEED: usize = 14;
/// Deepest penetration of any contact in the interval, m.
pub const PENETRATION: usize = 18;
/// Part of the substeps in which each wheel touched the ground: four columns.
pub const CONTACT: usize = 19;
/// Mean normal force of each wheel over the substeps, N: four columns.
pub const LOAD: usize = 23;
/// Most contacts at once between anything but a wheel and the ground.
pub const UNEXPECTED: usize = 27;
/// Warnings of the simulator since the start.
pub const WARNINGS: usize = 28;
/// Largest |roll| or |pitch| in the interval, rad.
pub const TILT: usize = 29;
/// Largest |vertical speed| of the chassis in the interval, m/s.
pub const VERTICAL_SPEED: usize = 30;
/// Longest time without contact of any wheel up to a substep of the interval, s.
pub const GAP: usize = 31;
/// Steering that was asked for, within limits, rad.
pub const APPLIED_STEERING: usize = 32;
/// Acceleration that was asked for, within limits, m/s².
pub const APPLIED_ACCELERATION: usize = 33;
/// Target of both steering actuators, rad.
pub const STEERING_TARGET: usize = 34;
/// How many of the two actions were clipped.
pub const SATURATED: usize = 35;

/// A run's telemetry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Telemetry {
    /// Rows, one after the other.
    pub values: Vec<f64>,
}

impl Telemetry {
    /// From little-endian doubles. The error says what is wrong with their number.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let (rows, rest) = bytes.as_chunks::<8>();
        if !rest.is_empty() || rows.len() % COLUMNS != 0 || rows.is_empty() {
            return Err(format!("{} bytes are not rows of {COLUMNS} doubles", bytes.len()));
        }
        Ok(Self { values: rows.iter().map(|b| f64::from_le_bytes(*b)).collect() })
    }

    /// As little-endian doubles.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.values.iter().flat_map(|x| x.to_le_bytes()).collect()
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.values.len() / COLUMNS
    }

    /// A value.
    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.values[row * COLUMNS + column]
    }

    /// A column from a row on.
    pub fn column(&self, from: usize, column: usize) -> impl Iterator<Item = f64> + '_ {
        (from..self.rows()).map(move |row| self.at(row, column))
    }

    /// The row whose time is nearest to `time`; the earlier of two.
    pub fn nearest(&self, time: f64) -> usize {
        let far = |row: &usize| (self.at(*row, TIME) - time).abs();
        (0..self.rows()).min_by(|a, b| far(a).total_cmp(&far(b))).unwrap_or(0)
    }
}
