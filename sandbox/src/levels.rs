//! The levels, and which of them this machine can do: found out by doing it.

use crate::spec::{Limits, Spec};
use crate::start::Confined;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// How much of a program's surroundings is taken from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nothing: it has the rights of whoever runs it, in a folder of its own. Its process group is ended after it.
    None,
    /// It writes only to its folder and reads only that, the system's programs and libraries, and what was named; it opens no socket, and signals
    /// only what it started. Everything that it started ends with it. It sees the machine's processes, users and name.
    Landlock,
    /// As `Landlock`, and in a root, with processes, users, network and name of its own: nothing else is to be seen.
    Strict,
}

impl Level {
    /// Its name.
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

/// What was found when the levels were tried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// The highest that works.
    pub best: Level,
    /// Those above it, from the highest, and why each does not.
    pub refused: Vec<(Level, String)>,
}

/// What works here: found out at the first call, in an empty folder.
pub fn levels(folder: &Path) -> &'static Levels {
    static TRIED: OnceLock<Levels> = OnceLock::new();
    TRIED.get_or_init(|| tried(folder))
}

fn tried(folder: &Path) -> Levels {
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
    /// Why a level cannot be had, if it cannot.
    pub fn why_not(&self, level: Level) -> Option<&str> {
        let found = self.refused.iter().find(|(refused, _)| *refused == level);
        found.map(|(_, why)| why.as_str())
    }
}
