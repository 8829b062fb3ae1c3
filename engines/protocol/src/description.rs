//! What `adapter describe` prints: what an engine can do, before it is asked to.

use crate::job::Mode;
use crate::result::Precision;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An engine and what its adapter can do with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Protocol version, [`crate::PROTOCOL`].
    pub protocol: u32,
    /// Engine name, such as `mujoco`.
    pub engine: String,
    /// Version the engine reports of itself, not the one asked for.
    pub version: String,
    /// Backends of this build, such as `cpu`.
    pub backends: Vec<String>,
    /// Floating-point precision of the state.
    pub precision: Precision,
    /// What it can do.
    pub capabilities: Capabilities,
    /// Sizes it refuses to exceed.
    pub limits: Limits,
}

/// What an adapter can do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Capabilities {
    /// Modes it runs.
    pub modes: Vec<Mode>,
    /// Shapes it simulates: `box`, `sphere`, `capsule`, `cylinder`.
    pub shapes: Vec<String>,
    /// Whether it simulates hinges.
    pub hinges: bool,
    /// Whether it simulates robots. An adapter that does not say so does not.
    #[serde(default)]
    pub robots: bool,
    /// Whether it simulates material points. An adapter that does not say so does not.
    #[serde(default)]
    pub mpm: bool,
    /// How several worlds are stepped: `serial`, `threads` or `batched`.
    pub worlds: String,
    /// Whether one world uses more than one thread.
    pub threads: bool,
    /// Settings a job may change.
    pub settings: Vec<String>,
    /// Whether device timestamps exist for some backend.
    pub device_timestamps: bool,
    /// Whether the same job ends in the same state again on the same machine.
    pub repeatability: Repeatability,
}

/// Whether two runs of one job on one machine end in the same bits, however many worlds are
/// stepped beside world 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "status", deny_unknown_fields)]
pub enum Repeatability {
    /// They do; a replay that ends in another state is a failure.
    Bitwise,
    /// They need not; a replay says how it ended.
    Varies {
        /// Why.
        reason: String,
    },
}

/// What an adapter refuses; sizes are absent where only memory limits them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Most bodies in one world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bodies: Option<u64>,
    /// Most worlds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worlds: Option<u64>,
    /// Buffers whose sizes a calibration decides; a job that is measured needs one that knows them all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calibrated: Vec<String>,
    /// Backends that the engine has and this build or machine lacks, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent_backends: BTreeMap<String, String>,
}
