//! Trust: the programs of a workspace that may run and the services that it may send data to, as the user allowed them.
//!
//! Trust is given to a whole definition (argv, environment, bounds; address, variables) in one repository, as with direnv; a changed definition
//! needs new approval. It covers neither scripts that a program reads nor the program's own file. Each user's list is stored outside of checkouts,
//! so that a cloned repository cannot include its own.

use crate::checkout;
use crate::edit::answer_settings::check_of_manifest;
use crate::location::repository;
use engine::manifest::model::Manifest;
use engine::manifest::remote::{Credential, RemoteDef, SigningKey};
use engine::seams::producer::Params;
use engine::values::digest::Digest;
use os::info::FileInfo;
use producers::command::{Trust, digest_of_program, program_params, settings_to_approve};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// Limit of bytes of a repository's list.
const MOST: usize = 4 << 20;

/// The definitions that are trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trusting {
    /// Trust all definitions: for machines that build any checkout.
    Everything,
    /// Trust the definitions that the lists in this folder name.
    Listed(PathBuf),
    /// Trust no definition.
    #[default]
    Nothing,
}

/// The trusted definitions of one repository.
pub struct Trusted {
    trusting: Trusting,
    list: String,
}

impl Trusted {
    /// Returns the trusted definitions of the repository that a root belongs to.
    pub fn in_repository(trusting: Trusting, root: &Path) -> Self {
        let id = Digest::of(os::names::name_bytes(&repository(root)));
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
        let text = checkout::read_file(folder, &self.list, MOST).ok().flatten().unwrap_or_default();
        trusted_lines(&text)
    }

    /// Adds definitions to the list, or removes them.
    pub fn set_trusted(&self, definitions: &[Digest], trusted: bool) -> io::Result<()> {
        let Trusting::Listed(folder) = &self.trusting else {
            return Err(io::Error::other("there is no place to record it"));
        };
        os::modes::create_folders(folder, 0o700)?;
        checkout::change(folder, &self.list, MOST, |before| {
            let mut lines = trusted_lines(&before.unwrap_or_default());
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

fn trusted_lines(text: &[u8]) -> BTreeSet<String> {
    String::from_utf8_lossy(text).lines().map(str::to_owned).collect()
}

impl Trust for Trusted {
    fn trusts(&self, definition: &Digest) -> bool {
        // Read the list each time: the user may have granted or revoked trust since.
        self.trusting == Trusting::Everything || self.listed().contains(&definition.to_string())
    }
}

/// A definition of a manifest that waits for the user's approval: it runs a program or sends data.
pub struct Waiting {
    /// Owner of the definition: `producer.NAME`, `model.NAME` or `remote`.
    pub of: String,
    /// Action of the definition; `argv`, `shell`, `command`, `api_key_command` or `credential_helper` is the command line of a program.
    pub params: Params,
    /// Bounds of the program.
    pub bounds: Params,
    /// Digest that trust is given to.
    pub definition: Digest,
}

impl Waiting {
    fn from_params(of: &str, params: Params) -> Self {
        Self {
            of: of.to_owned(),
            definition: digest_of_program(&params, &Params::new()),
            params,
            bounds: Params::new(),
        }
    }
}

/// Returns the definitions of a manifest that need approval: programs of its producers, then of its models, then its remote cache and workers.
pub fn waiting(manifest: &Manifest) -> Vec<Waiting> {
    let commands = manifest.producers.iter().filter(|producer| producer.uses == "command");
    let commands = commands.map(|producer| Waiting {
        of: format!("producer.{}", producer.name),
        params: producer.params.clone(),
        bounds: producer.settings.clone(),
        definition: digest_of_program(&producer.params, &producer.settings),
    });
    let models = manifest.models.iter().flat_map(|(name, model)| {
        let argv = model.get("command").and_then(|argv| argv.as_array());
        let runs = argv.map(|argv| program_params(&argv.iter().filter_map(|word| word.as_str()).collect::<Vec<_>>()));
        let of = format!("model.{name}");
        runs.into_iter()
            .chain(settings_to_approve(model))
            .map(move |params| Waiting::from_params(&of, params))
    });
    let remote = manifest
        .remote
        .iter()
        .flat_map(|def| std::iter::once(remote(def)).chain(execution(def)));
    commands.chain(models).chain(remote).collect()
}

/// Returns the check that a manifest has run on edits.
pub fn check_of_edits(manifest: &[u8]) -> Option<Waiting> {
    let setting = check_of_manifest(manifest)?;
    let params = Params::from_iter([("shell".to_owned(), setting.command.into())]);
    Some(Waiting::from_params("edit.check", params))
}

/// Returns what the remote cache of a manifest runs and sends: a program that prints a token, a token, a key, signatures of a key, headers, and the
/// address that receives them, the requests and the results.
pub fn remote(def: &RemoteDef) -> Waiting {
    let text = |name: &str, value: &str| (name.to_owned(), value.into());
    let mut params = Params::new();
    params.extend([text("endpoint", &def.endpoint), text("instance", &def.instance)]);
    params.extend(match &def.credential {
        None => None,
        Some(Credential::Env(name)) => Some(text("token_env", name)),
        Some(Credential::File(path)) => Some(text("token_file", path)),
        Some(Credential::Helper(argv)) => Some(("credential_helper".to_owned(), argv.clone().into())),
    });
    params.extend(def.tls.key.as_ref().map(|path| text("tls.key", path)));
    params.extend(match &def.signing_key {
        None => None,
        Some(SigningKey::Env(name)) => Some(text("signing_key_env", name)),
        Some(SigningKey::File(path)) => Some(text("signing_key_file", path)),
    });
    if !def.headers.is_empty() {
        params.insert("headers".to_owned(), serde_json::json!(def.headers));
    }
    Waiting::from_params("remote", params)
}

/// Returns what a server's workers are sent: source code, and the worker program.
pub fn execution(def: &RemoteDef) -> Option<Waiting> {
    let text = |name: &str, value: &str| (name.to_owned(), value.into());
    let mut params = Params::new();
    params.extend([text("endpoint", &def.endpoint), text("instance", &def.instance)]);
    params.insert("upload_inputs".to_owned(), true.into());
    params.extend(def.worker.as_ref().map(|path| text("worker", path)));
    def.execute.then(|| Waiting::from_params("remote.execute", params))
}

/// Returns the owner of a workspace's folder or manifest, unless it is the present user or the superuser.
pub fn foreign_owner(root: &Path) -> Option<u32> {
    let own = os::processes::own_user();
    let owners = [root.to_owned(), root.join(crate::location::MANIFEST)];
    let mut owners = owners.iter().filter_map(|path| Some(FileInfo::of_path(path).ok()?.owner));
    owners.find(|owner| *owner != own && *owner != 0)
}
