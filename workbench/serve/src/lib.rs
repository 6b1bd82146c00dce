//! The host of cortex: it answers methods to several clients at once, and keeps the state that outlives a request. The program connects its clients
//! by its protocols; nothing here reads flags, prints, or knows a protocol.

mod answer_cache;
pub mod build_ahead;
pub mod call_figures;
pub mod host;
pub mod metrics;
mod process_memory;
mod running_work;
pub mod session_watch;
pub mod source_watch;
pub mod tools;
mod watch_lines;
pub mod watching;

pub use host::Host;
