//! Earlier states of targets, read from the History of a checkout or from a build in progress.

use crate::last_good::label_of_type;
use engine::build::session::Session;
use engine::seams::lineage::Present;
use engine::store::StoreError;
use engine::values::digest::Digest;
use producers::csharp::members::implementation_of;
use std::sync::Arc;

/// Versions of a target, oldest first: seconds since 1970 and output.
pub(crate) type Versions = Vec<(u64, Digest)>;

/// A query of a store, or of a build.
pub(crate) type Answers<'a, K, T> = Box<dyn Fn(&K) -> Result<T, StoreError> + 'a>;

/// The source of earlier states.
pub(crate) struct States<'a> {
    pub(crate) versions: Answers<'a, str, Versions>,
    pub(crate) bytes: Answers<'a, Digest, Option<Arc<[u8]>>>,
    /// Reads a page of a table.
    pub(crate) page: Answers<'a, Digest, Option<Arc<[u8]>>>,
}

impl<'a> States<'a> {
    /// Returns the versions of a type's code: of its implementation, or of its members where only these were summarised.
    pub(crate) fn code_versions(&self, key: &str) -> Result<Versions, StoreError> {
        let versions = (self.versions)(&label_of_type(key, ":impl"))?;
        if versions.is_empty() {
            return (self.versions)(&label_of_type(key, ":members"));
        }
        Ok(versions)
    }

    /// Returns the implementation in one of [`Self::code_versions`].
    pub(crate) fn implementation(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        let bytes = (self.bytes)(digest)?;
        Ok(bytes.map(|bytes| implementation_of(&bytes).map_or(bytes, Arc::from)))
    }

    pub(crate) fn from_session(session: &'a Session) -> Self {
        let (store, view) = (&session.engine.store, session.engine.view);
        Self {
            versions: Box::new(move |label| {
                let versions = store.history(view, label)?;
                Ok(versions.iter().map(|version| (version.at, version.output)).collect())
            }),
            bytes: Box::new(move |digest| store.output(digest)),
            page: Box::new(move |digest| store.blob(digest)),
        }
    }

    /// Reads from a build in progress: the last version of each target is not committed yet.
    pub(crate) fn during(present: &'a Present<'a>) -> Self {
        Self {
            versions: Box::new(|label| {
                let mut versions = (present.versions)(label);
                let now = (present.output)(label).map(|output| (present.now, output));
                let is_new = now.is_some_and(|(_, output)| versions.last().is_none_or(|last| last.1 != output));
                versions.extend(now.filter(|_| is_new));
                Ok(versions)
            }),
            bytes: Box::new(|digest| Ok((present.bytes)(digest))),
            // A whole table is a table of one page.
            page: Box::new(|digest| Ok((present.bytes)(digest))),
        }
    }
}
