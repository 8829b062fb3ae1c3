//! The kind `render`: pictures of captures, the same way for every engine.
//!
//! It reads captures only and calls no engine (P169). All captures of one scene, whichever engine
//! made them, share camera, ground, light and clock (P170, P174): [`camera`] looks at what all of them
//! show, [`picture`] draws every body of every frame exactly ([`solid`]), [`encode`] plays frames at
//! their simulated time, [`track`] makes what the interactive replay of a report shows. What came of
//! each capture is in `render-status.json` ([`status`]); a capture that is not there, or cannot be
//! read, stands in it with its reason and stops no other (P172).

mod camera;
mod encode;
mod kind;
mod load;
mod palette;
mod picture;
mod run;
mod solid;
pub mod status;
mod track;
mod vector;

pub use kind::Render;
