//! The report: a static site that opens from a folder, asks the network for nothing, reads without
//! scripts, and links every number to the action that made it.
//!
//! One pass: [`load`] reads the members, their results, records and logs; [`cases`] groups the
//! trials into cases and engine columns with their statistics; the modules below [`view`] turn
//! those into the data of pages; [`site`] renders templates and writes files. The same inputs give
//! the same bytes: maps are sorted, numbers have one format, and no clock is read.

mod batch;
mod bootstrap;
mod cases;
mod csv;
mod device;
mod error;
mod kind;
mod load;
mod number;
mod protocol;
mod replay;
mod run;
mod site;
mod stats;
mod svg;
mod text;
mod trial;
mod view;

pub use error::ReportError;
pub use kind::Report;
pub use run::run;
