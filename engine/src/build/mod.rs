//! The build: the one loop that joins facts (sources, store, manifest) and planning (graph, keys).
//!
//! An [`engine::Engine`] joins the parts of a workspace and refreshes the sources. A [`session::Session`] is the view, loaded and marked; it
//! [builds](session::Session::build) through a [`run::Run`], which settles targets. Nothing here prints.

pub mod ad_hoc;
mod answers;
mod attempt;
pub mod blobs;
pub mod bringing;
mod cause_path;
pub mod chain;
pub mod checkout_turn;
mod commit;
mod confirm;
pub mod contending;
pub mod correct;
mod earlier_answer;
pub mod engine;
pub mod explain;
mod folded;
pub mod graph_memory;
mod invalidated;
mod job_groups;
mod jobs;
mod last_table;
pub mod layout;
mod lazy_exports;
mod left_out;
mod listing;
mod loading;
pub mod moves;
pub mod outlook;
mod overtaken;
mod parts;
mod pools;
mod prune;
pub mod query;
mod question_claim;
pub mod redefinition;
pub mod remarks;
pub mod remote_costs;
mod remote_queue;
mod renew;
pub mod request;
mod requested_rows;
pub mod ruled_nodes;
mod run;
pub mod session;
mod session_sharing;
pub mod shard;
mod shared_graph;
pub mod shared_records;
pub mod sharing;
pub mod state;
mod stopped;
mod together;
pub mod unfinished;
mod unwritable_store;
pub mod watched;
mod writer;

pub use cause_path::version_read;
pub use run::{How, Options, Priced, Root, Tally, file_label, file_path, located};
