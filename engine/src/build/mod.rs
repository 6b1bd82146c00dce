//! The build: the one loop that joins facts (sources, store, manifest) and planning (graph, keys).
//!
//! An [`engine::Engine`] joins the parts of a workspace and refreshes the sources. A [`session::Session`] is the view, loaded and marked; it
//! [builds](session::Session::build) through a [`run::Run`], which settles targets. Nothing here prints.

pub mod ad_hoc;
mod answer_parts;
mod answers;
mod attempt;
pub mod blobs;
mod build_log;
pub mod bundle_import;
mod cause_path;
pub mod checkout_turn;
mod commit;
mod confirm;
pub mod contention;
pub mod correct;
mod earlier_answer;
mod early_outputs;
pub mod engine;
mod excluded_paths;
pub mod explain;
pub mod explanation_chain;
mod finished_job;
pub mod graph_memory;
pub mod input_changes;
mod invalidated;
mod job;
mod job_groups;
mod job_inputs;
mod jobs;
mod last_table;
pub mod layout;
mod lazy_exports;
pub mod outlook;
mod overtaken;
mod parallel_reads;
mod pools;
mod prune;
pub mod query;
mod question_lock;
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
mod stopped_build;
mod table_updates;
pub mod unfinished;
mod unwritable_store;
pub mod watch_state;
mod writer;

pub use cause_path::version_read;
pub use run::{BuildMode, Options, OutputOrigin, Priced, Root, Tally, file_label, file_path, located};
