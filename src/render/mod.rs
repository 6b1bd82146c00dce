//! Output of commands while a build runs, and the records that they write of it.

pub mod progress;
