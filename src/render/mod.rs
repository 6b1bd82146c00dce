//! Output of commands while a build runs, and the records that they write of it.

mod critical_path;
pub mod events;
pub mod progress;
pub mod trace;
pub mod watch;
