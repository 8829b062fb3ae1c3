//! What is told about runs that are over: how two of them differ, what depends on what, where the
//! time went, and documents that other programs read.
//!
//! Everything here is data made from records, journals and plans that somebody else has read. Nothing
//! opens a file, reads a clock or prints; equal inputs give equal documents.

pub mod audit;
pub mod critical;
pub mod depends;
pub mod diff;
pub mod interval;
pub mod listing;
pub mod picture;
pub mod ro_crate;
pub mod schema;
pub mod shell;
pub mod slsa;
pub mod timeline;
pub mod trace;

pub use sim_model::moment;
