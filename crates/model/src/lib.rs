//! The words of sim-pipe as types: digests, values, actions, keys, records, plans.
//!
//! Invariants: nothing here reads a file, a clock or the environment; nothing prints. A key and the
//! text that explains it come from one walk ([`action::Action::walk`]), so they cannot drift apart.

pub mod action;
pub mod described;
pub mod digest;
pub mod event;
pub mod kind;
pub mod machine;
pub mod moment;
pub mod plan;
pub mod record;
pub mod request;
pub mod saved_plan;
pub mod template;
pub mod units;
pub mod value;

pub use action::{Action, Class, Component, InputDigest};
pub use described::{Described, DescribedError};
pub use digest::{Digest, DigestError};
pub use machine::{Conditions, Machine};
pub use plan::{Plan, PlannedAction};
pub use record::{Record, Status, TreeRef};
pub use request::{Request, StatusFile};
pub use value::Value;
