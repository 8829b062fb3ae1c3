//! An engine for tests: right about free fall, and misbehaving in every way a real one might.
//!
//! A `fake.json` beside the job says how, see [`Script`]; without one it behaves. Whatever it
//! does ends by itself after [`LONGEST`] seconds at the latest, children included.

mod misbehave;
mod point_mass;
mod room;
mod script;

pub use misbehave::run;
pub use point_mass::{DEVICE, PointMass, Profiler};
pub use room::{Crowd, PAIRS};
pub use script::{Behaviour, LONGEST, Script};
