//! Versions of a target in History, and differences between two of them.

use crate::former_types::former_histories;
use crate::last_good::{label_of_type as label_of, parts};
use engine::build::engine::EngineError;
use engine::build::session::Session;
use engine::seams::annotate::Revision;
use engine::store::builds::{self, BuildRecord};
use engine::store::pins::Pin;
use engine::store::records::{ActionRecord, InputRecord};
use engine::store::{Part, StoreError, superseded};
use engine::values::digest::Digest;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A version of a target's output.
#[derive(Clone, Debug)]
pub struct Version {
    /// Number of the version: from 1, and for versions under former names from 0 down.
    pub number: i64,
    /// The label of the version, if the type had another name then.
    pub former: Option<Arc<str>>,
    /// Seconds since 1970 when the version became the output.
    pub at: u64,
    /// Number of the build that stored the version, if any.
    pub build: Option<u64>,
    /// Git's commit at that build, and whether files differed from it, if the log still has them.
    pub revision: Option<Revision>,
    pub output: Digest,
    /// Whether the version is the present output.
    pub present: bool,
    pub pin: Option<Pin>,
    /// Whether the output was evicted; only a new run could build it again.
    pub collected: bool,
    /// Record of the version's result; `None` if the store no longer has it.
    pub record: Option<ActionRecord>,
    /// Whether the result was already stored under its key when it became the output: nothing ran for it.
    pub found: bool,
    /// Whether a later build ran it again and got the same output, so that the record is of that build.
    pub made_again: bool,
}

impl Version {
    /// Whether the version replaces one that was lost to damage: even its time is unknown.
    pub fn is_lost(&self) -> bool {
        self.output == Digest([0; 32])
    }
}

/// Returns all versions of a target, oldest first.
pub fn versions(session: &Session, label: &str) -> Result<Vec<Version>, StoreError> {
    let store = &session.engine.store;
    let present = session
        .graph
        .find(label)
        .and_then(|id| session.graph.node(id).result)
        .map(|filed| filed.output);
    let build_of = |number: u64| -> Result<Option<BuildRecord>, StoreError> {
        let body = store.row(session.engine.view, Part::Builds, &builds::key_of_build(number))?;
        Ok(body.and_then(|body| BuildRecord::from_row(&(Vec::new(), body))))
    };
    let revision = |number: u64| -> Result<Option<Revision>, StoreError> {
        Ok(build_of(number)?.and_then(|build| {
            Some(Revision {
                commit: build.commit?,
                dirty: build.dirty,
            })
        }))
    };
    let mut versions: Vec<Version> = Vec::new();
    let mut pins = crate::store_maintenance::pins(&**store, session.engine.view)?;
    for version in store.history(session.engine.view, label)? {
        let pin = pins.iter().position(|pin| pin.label == label && pin.version == version.version);
        let record = superseded::record_of(&**store, &version.key, &version.output)?;
        let collected = record.is_none() && !store.has_blob(&version.output)?;
        let (mut found, mut made_again) = (false, false);
        if let Some(record) = &record {
            let same = versions.iter().filter(|earlier| earlier.record.as_ref() == Some(record));
            found = *record.label != *label || was_there(record.made_at, version.at, same.map(|earlier| earlier.at));
            if record.made_at > version.at
                && let Some(number) = version.build
            {
                made_again = build_of(number + 1)?.is_some_and(|next| next.at <= record.made_at);
            }
        }
        versions.push(Version {
            number: version.version.into(),
            former: None,
            at: version.at,
            build: version.build,
            revision: version.build.map(revision).transpose()?.flatten(),
            output: version.output,
            present: false,
            pin: pin.map(|at| pins.swap_remove(at)),
            collected,
            record,
            found,
            made_again,
        });
    }
    if let Some(last) = versions.iter_mut().rev().find(|version| Some(version.output) == present) {
        last.present = true;
    }
    Ok(versions)
}

/// Whether a result existed before a version was created from it. Times within the same second are decided by the versions `before` of the same key:
/// a version older than the result had another result, which was evicted.
fn was_there(made: u64, version: u64, mut before: impl Iterator<Item = u64>) -> bool {
    made < version || before.any(|earlier| earlier >= made)
}

/// Returns all versions of a target, oldest first, beginning with those under former names of its type. Their inputs get the present names, so that
/// they can be compared.
pub fn lineage(root: &Path, session: &Session, label: &str) -> Result<Vec<Version>, StoreError> {
    let present = versions(session, label)?;
    let mut all = Vec::new();
    for past in former_histories(root, session, label)? {
        let name: Arc<str> = past.label.as_str().into();
        for version in versions(session, &name)? {
            all.push(Version {
                former: Some(name.clone()),
                present: false,
                record: version.record.map(|record| with_inputs_of_type(record, &name, label)),
                ..version
            });
        }
    }
    for (version, number) in all.iter_mut().rev().zip((i64::MIN..=0).rev()) {
        version.number = number;
    }
    all.extend(present);
    Ok(all)
}

/// Renames the inputs of a record that belong to the type of `from` to those of the type of `to`.
fn with_inputs_of_type(mut record: ActionRecord, from: &str, to: &str) -> ActionRecord {
    if let (Some((from, _)), Some((to, _))) = (parts(from), parts(to)) {
        for input in &mut record.inputs {
            if let Some((key, rest)) = parts(&input.label)
                && key == from
            {
                input.label = label_of(&to, rest).into();
            }
        }
    }
    record
}

/// The change of one input between two versions.
#[derive(Clone, Debug)]
pub struct InputChange {
    /// Role of the input in the rule.
    pub role: Arc<str>,
    pub label: Arc<str>,
    /// Digest of the input in the first version; `None` if that version did not read it.
    pub from: Option<Digest>,
    /// Digest of the input in the second version; `None` if that version does not read it.
    pub to: Option<Digest>,
}

/// Returns the inputs that differ between two versions.
pub fn input_changes(from: &ActionRecord, to: &ActionRecord) -> Vec<InputChange> {
    let by_place = |record: &ActionRecord| -> BTreeMap<(Arc<str>, Arc<str>), Digest> {
        let place = |input: &InputRecord| ((input.role.clone(), input.label.clone()), input.digest);
        record.inputs.iter().map(place).collect()
    };
    let (from, mut to) = (by_place(from), by_place(to));
    let mut changes = Vec::new();
    for ((role, label), digest) in from {
        let now = to.remove(&(role.clone(), label.clone()));
        if now != Some(digest) {
            changes.push(InputChange {
                role,
                label,
                from: Some(digest),
                to: now,
            });
        }
    }
    changes.extend(to.into_iter().map(|((role, label), digest)| InputChange {
        role,
        label,
        from: None,
        to: Some(digest),
    }));
    changes
}

/// Returns the blob of a version, if the store still has it.
pub fn blob_of_version(session: &Session, digest: Option<&Digest>) -> Result<Option<Arc<[u8]>>, EngineError> {
    Ok(digest.map(|digest| session.engine.store.output(digest)).transpose()?.flatten())
}

#[cfg(test)]
mod tests {
    use super::was_there;

    #[test]
    fn a_collected_result_that_was_built_again_was_absent_before() {
        assert!(was_there(5, 9, [].into_iter()), "an older result");
        assert!(was_there(5, 5, [5].into_iter()), "made and found within one second");
        assert!(!was_there(5, 5, [].into_iter()), "made for it");
        assert!(
            !was_there(5, 5, [3].into_iter()),
            "made again: that of the version before was collected"
        );
    }
}
