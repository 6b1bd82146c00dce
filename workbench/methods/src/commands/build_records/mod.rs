//! Records that a build writes besides its results: the log of its events, and its profile.

mod critical_path;
pub mod events;
pub mod trace;
