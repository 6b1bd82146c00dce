//! What is to be run, and within what bounds.

use crate::levels::Level;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where a program finds its folder under [`Level::Strict`], whatever the folder is called outside.
pub const WORK: &str = "/sandbox";

/// A program and its bounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// How it is confined.
    pub level: Level,
    /// The program's file, an absolute path. Empty to try the level out: everything is set up and nothing is started.
    pub program: PathBuf,
    /// What it is told its name is, and its arguments.
    pub argv: Vec<String>,
    /// Its whole environment.
    pub env: Vec<(String, String)>,
    /// The folder that it runs in, and the only one that it may write to.
    pub folder: PathBuf,
    /// Files and folders that it may read beside those of the system; absolute paths.
    pub readable: Vec<PathBuf>,
    /// What it may use up.
    pub limits: Limits,
}

/// What a program, with each process that it starts, may use up. `None` leaves the limit of whoever runs it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of address space of one process.
    pub memory: Option<u64>,
    /// Seconds of processor time of one process.
    pub cpu: Option<u64>,
    /// Bytes of one file that it writes.
    pub file: Option<u64>,
    /// Processes and threads of this user at once. The superuser is not bound by it.
    pub processes: Option<u64>,
}
