//! Which programs of a workspace may be run: those that someone has looked at and let run.
//!
//! What is trusted is a program's whole definition (argv, environment, bounds) in one repository, as with direnv; a definition that changes is
//! asked about anew. Scripts that a program reads are not part of it, as little as its own file is. Trust is kept for each user, outside of
//! checkouts: a cloned repository cannot bring its own.

use crate::checkout;
use crate::location::repository;
use engine::manifest::model::Manifest;
use engine::seams::producer::Params;
use engine::values::digest::Digest;
use producers::command::{Trust, definition, definition_of};
use std::collections::BTreeSet;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The list of one repository has no more bytes than this.
const MOST: usize = 4 << 20;

/// Whose programs are run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trusting {
    /// Everyone's: for machines that build whatever is checked out.
    Everything,
    /// Those that lists in this folder name.
    Listed(PathBuf),
    /// Nobody's.
    #[default]
    Nothing,
}

/// What is trusted of one repository.
pub struct Trusted {
    trusting: Trusting,
    list: String,
}

impl Trusted {
    /// That of the repository that a root belongs to.
    pub fn of(trusting: Trusting, root: &Path) -> Self {
        let id = Digest::of(repository(root).as_os_str().as_bytes());
        Self {
            trusting,
            list: format!("trusted/{id}"),
        }
    }

    fn listed(&self) -> BTreeSet<String> {
        let Trusting::Listed(folder) = &self.trusting else {
            return BTreeSet::new();
        };
        // A list that cannot be read trusts nothing.
        let text = checkout::read(folder, &self.list, MOST).ok().flatten().unwrap_or_default();
        lines(&text)
    }

    /// Lets definitions run, or no more.
    ///
    /// # Errors
    /// When the list cannot be written.
    pub fn set(&self, definitions: &[Digest], trusted: bool) -> io::Result<()> {
        let Trusting::Listed(folder) = &self.trusting else {
            return Err(io::Error::other("there is no place to note it"));
        };
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        checkout::change(folder, &self.list, MOST, |before| {
            let mut lines = lines(&before.unwrap_or_default());
            for definition in definitions {
                match trusted {
                    true => lines.insert(definition.to_string()),
                    false => lines.remove(&definition.to_string()),
                };
            }
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            Ok::<_, io::Error>(Some(text.into_bytes()))
        })?;
        Ok(())
    }
}

fn lines(text: &[u8]) -> BTreeSet<String> {
    String::from_utf8_lossy(text).lines().map(str::to_owned).collect()
}

impl Trust for Trusted {
    fn trusts(&self, definition: &Digest) -> bool {
        // Read each time: it may have been granted or taken back since.
        self.trusting == Trusting::Everything || self.listed().contains(&definition.to_string())
    }
}

/// A program that a manifest has run.
pub struct Program {
    /// What runs it: `producer.NAME` or `model.NAME`.
    pub of: String,
    /// What it is run with; `argv`, `shell`, `command` or `api_key_command` is its line.
    pub params: Params,
    /// How it is bounded.
    pub bounds: Params,
    /// What is trusted, or not.
    pub definition: Digest,
}

/// The programs of a manifest: its producers' in their order, then its models'.
pub fn programs(manifest: &Manifest) -> Vec<Program> {
    let commands = manifest.producers.iter().filter(|producer| producer.uses == "command");
    let commands = commands.map(|producer| Program {
        of: format!("producer.{}", producer.name),
        params: producer.params.clone(),
        bounds: producer.settings.clone(),
        definition: definition(&producer.params, &producer.settings),
    });
    let models = manifest.models.iter().flat_map(|(name, model)| {
        ["command", "api_key_command"].into_iter().filter_map(move |key| {
            let argv: Vec<&str> = model.get(key)?.as_array()?.iter().filter_map(|word| word.as_str()).collect();
            Some(Program {
                of: format!("model.{name}"),
                params: Params::from_iter([(key.to_owned(), argv.clone().into())]),
                bounds: Params::new(),
                definition: definition_of(key, &argv),
            })
        })
    });
    commands.chain(models).collect()
}

/// The user that a workspace's folder or manifest belongs to, when that is neither the present one nor the superuser.
pub fn foreign_owner(root: &Path) -> Option<u32> {
    let own = rustix::process::geteuid().as_raw();
    let owners = [root.to_owned(), root.join(crate::location::MANIFEST)];
    let mut owners = owners.iter().filter_map(|path| Some(path.symlink_metadata().ok()?.uid()));
    owners.find(|owner| *owner != own && *owner != 0)
}
