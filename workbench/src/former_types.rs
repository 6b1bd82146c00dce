//! Former names of types: where `//index:types` lost some types and gained others, their contents without names are compared. Also the History of
//! targets under former names and, for a build, former names of members and the types from which new ones were split off.

use crate::aliases::{Aliases, aliases_file, read_aliases, write_aliases};
use crate::earlier_states::{States, Versions};
use crate::error::WorkbenchError;
use crate::last_good::{label_of_type, parts};
use crate::renamed_members;
use crate::split_types;
use crate::type_versions::{TYPES, TypeRows, TypeVersion};
use engine::build::session::Session;
use engine::seams::lineage::{Lineage, Present};
use engine::seams::paid::{FormerName, FormerNames};
use engine::store::StoreError;
use engine::values::digest::Digest;
use engine::values::table::Table;
use producers::csharp::aliases::{Identity, aliases, fingerprint, identity, types_with_own_file};
use producers::csharp::types::TypeRow;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const NAME: &str = "aliases.json";

/// Returns the state of `//index:types` that the file has not evaluated yet; `None` if there is no such state, or if the file is not written because
/// no outputs are laid out, or a rule lays out a file of this name.
fn behind(root: &Path, session: &Session, before: &Aliases) -> Option<Digest> {
    let now = session.graph.find(TYPES).and_then(|id| session.graph.node(id).result)?.output;
    let taken = |rule: &engine::manifest::model::Rule| rule.out.as_ref().is_some_and(|out| out.path.literal() == Some(NAME));
    let folder = root.join(".cortex/out");
    let stays = match folder.canonicalize() {
        Ok(real) => real == folder,
        // The write creates the folder, unless another entry has its name.
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    let kept = stays && !session.rules.manifest().rules.iter().any(taken);
    (kept && before.types != now.to_string()).then_some(now)
}

/// Updates the file from this checkout's History of types. Returns whether it was written.
///
/// # Errors
/// When the store cannot be read or the file not written.
pub fn update(root: &Path, session: &Session) -> Result<bool, WorkbenchError> {
    let before = read_aliases(root);
    if behind(root, session, &before).is_none() {
        return Ok(false);
    }
    let after = updated_aliases(&States::from_session(session), &before)?;
    if after == before {
        return Ok(false);
    }
    write_aliases(root, &after).map_err(|error| WorkbenchError::Path {
        path: aliases_file(root),
        reason: error.to_string(),
    })?;
    Ok(true)
}

/// Returns the targets that [`update`] needs to decide whether added types are removed ones: none if no type was removed since the file's state.
///
/// # Errors
/// When the store cannot be read.
pub fn required_targets(root: &Path, session: &Session) -> Result<Vec<String>, StoreError> {
    let before = read_aliases(root);
    if behind(root, session, &before).is_none() {
        return Ok(Vec::new());
    }
    let states = States::from_session(session);
    let moves = find_moves(&states, &before)?;
    let came: BTreeSet<&String> = moves.steps.iter().flat_map(|step| step.come.keys()).collect();
    let mut required = Vec::new();
    for key in came {
        if let Some(types) = &moves.types
            && types.type_row(key).is_some()
        {
            required.extend([label_of_type(key, ":structure"), label_of_type(key, ":impl")]);
        }
    }
    Ok(required)
}

/// The former names of types, for a build that is about to ask models.
pub struct FormerTypes {
    /// The workspace's folder.
    pub root: PathBuf,
}

impl Lineage for FormerTypes {
    fn source(&self) -> &str {
        TYPES
    }

    fn former(&self, present: &Present<'_>) -> FormerNames {
        let states = States::during(present);
        let types = (present.output)(TYPES).and_then(|digest| (present.bytes)(&digest));
        let types = types.map(|blob| types_in(&blob)).unwrap_or_default();
        let keys: BTreeMap<String, String> = types.into_iter().map(|(key, row)| (row.id, key)).collect();
        let before = read_aliases(&self.root);
        let known = updated_aliases(&states, &before).unwrap_or(before);
        let mut former = FormerNames::new();
        for (old, id) in &known.aliases {
            if let (Some(key), Some(name)) = (keys.get(id), known.names.get(old)) {
                let (item, id, is_origin) = (name.clone(), old.clone(), false);
                former.entry(key.clone()).or_default().push(FormerName { item, id, is_origin });
            }
        }
        // A hint: nothing depends on finding them.
        let structures = |key: &str| (states.versions)(&label_of_type(key, ":structure"));
        let changed = renamed_members::changed_types(&|key| states.code_versions(key), keys.values(), &former).unwrap_or_default();
        let declared = renamed_members::changed_types(&structures, keys.values(), &former).unwrap_or_default();
        let members = renamed_members::former(&states, &changed, &declared).unwrap_or_default();
        let origins = split_types::origins(&states, keys.values(), &changed, &former).unwrap_or_default();
        former.extend(members.into_iter().chain(origins));
        former
    }
}

/// The types removed and added between two states of `//index:types`.
struct TypesChange {
    gone: TypeRows,
    come: TypeRows,
    /// Time of the later state, in seconds since 1970.
    at: u64,
}

/// The History of `//index:types` since the state of the file.
struct Moves<'a> {
    steps: Vec<TypesChange>,
    /// The last state, if it is stored, and its digest.
    types: Option<TypeVersion<'a>>,
    digest: String,
}

fn find_moves<'a>(states: &'a States<'_>, before: &Aliases) -> Result<Moves<'a>, StoreError> {
    let versions = (states.versions)(TYPES)?;
    let last_known = versions.iter().rposition(|(_, output)| output.to_string() == before.types);
    let mut moves = Moves {
        steps: Vec::new(),
        types: None,
        digest: versions.last().map(|(_, output)| output.to_string()).unwrap_or_default(),
    };
    for (at, output) in &versions[last_known.unwrap_or(0)..] {
        let now = TypeVersion::from_digest(&*states.page, output)?;
        if let (Some(last), Some(now)) = (&moves.types, &now)
            && let Some((gone, come)) = last.difference(now)
            && !gone.is_empty()
            && !come.is_empty()
        {
            moves.steps.push(TypesChange { gone, come, at: *at });
        }
        moves.types = now;
    }
    Ok(moves)
}

/// Returns the aliases of the file, with the renames that History shows.
fn updated_aliases(states: &States<'_>, before: &Aliases) -> Result<Aliases, StoreError> {
    let moves = find_moves(states, before)?;
    let mut after = before.clone();
    let mut whole = true;
    for TypesChange { gone, come, at } in &moves.steps {
        let names = gone.iter().map(|(key, row)| (row.id.clone(), key.clone())).collect();
        let gone = identities(states, gone, *at, false)?;
        let come = identities(states, come, *at, true)?;
        // Targets that were not built yet can be compared once they are.
        whole &= come.values().all(Option::is_some);
        let known =
            |states: BTreeMap<String, Option<Identity>>| states.into_iter().filter_map(|(key, state)| Some((key, state?))).collect();
        after.add_aliases(aliases(&known(gone), &known(come)), &names);
    }
    if let (Some(last), true) = (moves.types, whole) {
        after.drop_present(&last);
        after.types = moves.digest;
    }
    Ok(after)
}

/// Returns the types of a `//index:types`, by key.
fn types_in(table: &[u8]) -> BTreeMap<String, TypeRow> {
    let rows = Table::open(table).into_iter().flat_map(|table| table.rows());
    rows.filter_map(|(key, row)| Some((key.to_owned(), serde_json::from_slice(row).ok()?)))
        .collect()
}

/// Returns the contents of types around the time of an index: the first version since then (`new`), else the last one before.
fn identities(states: &States<'_>, types: &TypeRows, at: u64, new: bool) -> Result<BTreeMap<String, Option<Identity>>, StoreError> {
    let digest = |versions: Versions| {
        let first = versions.iter().find(|(made, _)| *made >= at).filter(|_| new);
        let found = first.or_else(|| versions.iter().rfind(|(made, _)| *made <= at));
        found.map(|(_, digest)| *digest)
    };
    let alone = types_with_own_file(&types.iter().map(|(key, row)| (key.as_str(), row)).collect());
    let mut found = BTreeMap::new();
    for (key, row) in types {
        let structure = digest((states.versions)(&label_of_type(key, ":structure"))?);
        let code = digest(states.code_versions(key)?);
        let structure = structure.map_or(Ok(None), |digest| (states.bytes)(&digest))?;
        let implementation = code.map_or(Ok(None), |digest| states.implementation(&digest))?;
        let state = match (structure, implementation) {
            (Some(structure), Some(implementation)) => Some(Identity {
                place: alone
                    .contains(key.as_str())
                    .then(|| fingerprint(key, row, &structure, &implementation))
                    .flatten(),
                ..identity(key, row, &structure, &implementation)
            }),
            _ => None,
        };
        found.insert(key.clone(), state);
    }
    Ok(found)
}

/// A target of a type under a former name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Former {
    /// Label of the target.
    pub label: String,
    /// Number of versions of the target in History.
    pub versions: usize,
    /// The versions, oldest first.
    pub history: Vec<Past>,
}

/// A version of a target under a former name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// When it became the output, in seconds since 1970.
    pub at: u64,
    /// Digest of the output.
    pub output: Digest,
    /// Key that the output was stored under.
    pub key: String,
}

/// Returns the History of a type's target under the type's former names.
///
/// # Errors
/// When the store cannot be read.
pub fn former_histories(root: &Path, session: &Session, of: &str) -> Result<Vec<Former>, StoreError> {
    let Some((key, rest)) = parts(of) else { return Ok(Vec::new()) };
    let known = read_aliases(root);
    if known.aliases.is_empty() {
        return Ok(Vec::new());
    }
    let Some(id) = present_identifiers(session)?.remove(&key) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for name in known.former(&id) {
        let label = label_of_type(name, rest);
        let versions = session.engine.store.history(session.engine.view, &label)?;
        let history: Vec<Past> = versions
            .chunk_by(|one, next| one.key == next.key)
            .filter_map(|same| same.last())
            .map(|version| Past {
                at: version.at,
                output: version.output,
                key: version.key.to_string(),
            })
            .collect();
        if !history.is_empty() {
            let versions = history.len();
            found.push(Former { label, versions, history });
        }
    }
    // Sort the last name to the end, as its versions are the newest.
    found.sort_by_key(|former| former.history.last().map(|last| last.at));
    Ok(found)
}

/// Returns the present name of a renamed type.
///
/// # Errors
/// When the store cannot be read.
pub fn present_name(root: &Path, session: &Session, name: &str) -> Result<Option<String>, StoreError> {
    let known = read_aliases(root);
    let [id] = known.ids_of_name(name)[..] else { return Ok(None) };
    Ok(present_identifiers(session)?
        .into_iter()
        .find(|(_, present)| present == id)
        .map(|(key, _)| key))
}

/// Returns the identifiers of the present types, by key.
fn present_identifiers(session: &Session) -> Result<BTreeMap<String, String>, StoreError> {
    let now = session.graph.find(TYPES).and_then(|id| session.graph.node(id).result);
    let blob = now.map_or(Ok(None), |filed| session.engine.store.output(&filed.output))?;
    let types = blob.map(|blob| types_in(&blob)).unwrap_or_default();
    Ok(types.into_iter().map(|(key, row)| (key, row.id)).collect())
}
