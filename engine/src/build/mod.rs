//! The build: the one loop that joins facts (sources, store, manifest) and planning (graph, keys).
//!
//! An [`engine::Engine`] is what a workspace is made of; it looks at the sources. A [`session::Session`] is the view loaded and marked; it
//! [builds](session::Session::build) through a [`run::Run`], which settles targets. Nothing here prints.

mod afield;
mod answers;
mod asked;
pub mod blobs;
pub mod bringing;
pub mod chain;
mod confirm;
pub mod contending;
pub mod correct;
pub mod engine;
pub mod explain;
mod folded;
mod invalidated;
mod jobs;
pub mod layout;
mod left_out;
mod listing;
pub mod loose;
pub mod moves;
pub mod outlook;
mod parts;
mod past;
mod pools;
mod prune;
pub mod query;
pub mod redefinition;
pub mod remarks;
mod renew;
pub mod request;
mod run;
pub mod session;
pub mod shard;
pub mod sharing;
pub mod state;
mod stopped;
pub mod twins;
mod unfiled;
pub mod unfinished;
pub mod watched;
mod way;
mod writer;

pub use run::{How, Options, Priced, Root, Tally, file_label, file_path, located};
pub use way::version_read;
