//! Versions: what History keeps of a target, and what two versions differ in.

use crate::aliases::former;
use crate::last_good::{label as label_of, parts};
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

/// One version of a target's output.
#[derive(Clone, Debug)]
pub struct Version {
    /// Its number: from 1, and for versions under former names from 0 down.
    pub number: i64,
    /// The label it was made under, when the type had another name then.
    pub former: Option<Arc<str>>,
    /// Seconds since 1970 when it became the output.
    pub at: u64,
    /// The number of the build that brought it, if one did.
    pub build: Option<u64>,
    /// Git's commit at that build, and whether files differed from it, as far as the log still tells.
    pub revision: Option<Revision>,
    /// Its digest.
    pub output: Digest,
    /// Whether it is what stands now.
    pub present: bool,
    /// Its pin, if it is kept whatever comes.
    pub pin: Option<Pin>,
    /// Whether its output is no longer stored, and could only be made again.
    pub collected: bool,
    /// How it came about; `None` when the store no longer has the record.
    pub record: Option<ActionRecord>,
}

impl Version {
    /// Whether it stands for one that was lost to damage: not even when it was made is known.
    pub fn is_lost(&self) -> bool {
        self.output == Digest([0; 32])
    }
}

/// All versions of a target, oldest first, with how it stands.
///
/// # Errors
/// When the store cannot be read.
pub fn versions(session: &Session, label: &str) -> Result<Vec<Version>, StoreError> {
    let store = &session.engine.store;
    let present = session
        .graph
        .find(label)
        .and_then(|id| session.graph.node(id).result)
        .map(|filed| filed.output);
    let revision = |number: u64| -> Result<Option<Revision>, StoreError> {
        let body = store.row(session.engine.view, Part::Builds, &builds::key(number))?;
        let build = body.and_then(|body| BuildRecord::from_row(&(Vec::new(), body)));
        Ok(build.and_then(|build| {
            Some(Revision {
                commit: build.commit?,
                dirty: build.dirty,
            })
        }))
    };
    let mut versions = Vec::new();
    let mut pins = crate::care::pins(&**store, session.engine.view)?;
    for version in store.history(session.engine.view, label)? {
        let pin = pins.iter().position(|pin| pin.label == label && pin.version == version.version);
        let record = superseded::record_of(&**store, &version.key, &version.output)?;
        let collected = record.is_none() && !store.has_blob(&version.output)?;
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
        });
    }
    if let Some(last) = versions.iter_mut().rev().find(|version| Some(version.output) == present) {
        last.present = true;
    }
    Ok(versions)
}

/// All versions of a target, oldest first, those from when its type had other names before the others. What those were made of bears the
/// present name, so that it can be compared.
///
/// # Errors
/// When the store cannot be read.
pub fn lineage(root: &Path, session: &Session, label: &str) -> Result<Vec<Version>, StoreError> {
    let present = versions(session, label)?;
    let mut all = Vec::new();
    for past in former(root, session, label)? {
        let name: Arc<str> = past.label.as_str().into();
        for version in versions(session, &name)? {
            all.push(Version {
                former: Some(name.clone()),
                present: false,
                record: version.record.map(|record| under(record, &name, label)),
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

/// A record with the inputs that belong to the type of `from` named as those of the type of `to`.
fn under(mut record: ActionRecord, from: &str, to: &str) -> ActionRecord {
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

/// What became of one input between two versions.
#[derive(Clone, Debug)]
pub struct InputChange {
    /// Role in the rule.
    pub role: Arc<str>,
    /// The node.
    pub label: Arc<str>,
    /// What it gave to the first version; `None` when that did not read it.
    pub from: Option<Digest>,
    /// What it gave to the second.
    pub to: Option<Digest>,
}

/// The inputs that two versions do not share.
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

/// The blob of a version, if the store still has it.
///
/// # Errors
/// When the store cannot be read.
pub fn blob(session: &Session, digest: Option<&Digest>) -> Result<Option<Arc<[u8]>>, EngineError> {
    Ok(digest.map(|digest| session.engine.store.output(digest)).transpose()?.flatten())
}
