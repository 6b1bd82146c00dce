//! A program to run, and its bounds.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// Folder of the program at [`Level::Strict`], whatever its path outside.
pub const WORK: &str = "/sandbox";

/// Strength of a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// No sandbox: the program has the rights of its caller, in its own folder. Its process group is killed after it.
    None,
    /// The program writes only to its folder, and reads only that, system programs and libraries, and named paths. It opens no socket, and signals
    /// only its own processes, which all end with it. It sees the machine's processes, users and name.
    Landlock,
    /// As `Landlock`, and with its own root, processes, users, network and host name: nothing else is visible.
    Strict,
}

impl Level {
    /// Returns the name of the level.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Landlock => "landlock",
            Self::Strict => "strict",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A program and its bounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    pub level: Level,
    /// Absolute path of the program. Empty to try the level: everything is set up and nothing is started.
    pub program: PathBuf,
    /// Name of the program as it sees it, and its arguments.
    pub argv: Vec<String>,
    pub env: Vec<(String, String)>,
    /// Working folder, and the only folder that the program may write to.
    pub folder: PathBuf,
    /// Absolute paths of files and folders that the program may read, besides those of the system.
    pub readable: Vec<PathBuf>,
    pub limits: Limits,
}

/// Resource limits of a program and each of its processes. `None` keeps the caller's limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Address space of one process, in bytes.
    pub memory: Option<u64>,
    /// Processor time of one process, in seconds.
    pub cpu: Option<u64>,
    /// Size of a written file, in bytes.
    pub file: Option<u64>,
    /// Processes and threads of this user at once. Does not bind the superuser.
    pub processes: Option<u64>,
}
