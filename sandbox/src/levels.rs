//! The levels, and which of them this machine supports, found out by trying them.

use crate::spec::{Limits, Spec};
use crate::start::Confined;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

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

/// Result of trying the levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Highest level that works.
    pub best: Level,
    /// Higher levels, from the highest, each with the reason why it does not work.
    pub refused: Vec<(Level, String)>,
}

/// Returns the levels that work here; tries them on the first call, in an empty folder.
pub fn supported_levels(folder: &Path) -> &'static Levels {
    static TRIED: OnceLock<Levels> = OnceLock::new();
    TRIED.get_or_init(|| try_levels(folder))
}

fn try_levels(folder: &Path) -> Levels {
    let mut refused = Vec::new();
    for level in [Level::Strict, Level::Landlock] {
        let spec = Spec {
            level,
            program: PathBuf::new(),
            argv: Vec::new(),
            env: Vec::new(),
            folder: folder.to_owned(),
            readable: Vec::new(),
            limits: Limits::default(),
        };
        match Confined::start(&spec).and_then(Confined::tried) {
            Ok(()) => return Levels { best: level, refused },
            Err(why) => refused.push((level, why.to_string())),
        }
    }
    let best = Level::None;
    Levels { best, refused }
}

impl Levels {
    /// Returns why a level is not available, if it is not.
    pub fn why_not(&self, level: Level) -> Option<&str> {
        let found = self.refused.iter().find(|(refused, _)| *refused == level);
        found.map(|(_, why)| why.as_str())
    }
}
