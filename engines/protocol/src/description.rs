//! What `adapter describe` prints: what an engine can do, before it is asked to.

use crate::job::Mode;
use crate::result::Precision;
use serde::{Deserialize, Serialize};

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
    /// How several worlds are stepped: `serial`, `threads` or `batched`.
    pub worlds: String,
    /// Whether one world uses more than one thread.
    pub threads: bool,
    /// Settings a job may change.
    pub settings: Vec<String>,
    /// Whether device timestamps exist for some backend.
    pub device_timestamps: bool,
}

/// Sizes an adapter refuses to exceed; absent where only memory limits it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Most bodies in one world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bodies: Option<u64>,
    /// Most worlds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worlds: Option<u64>,
}
