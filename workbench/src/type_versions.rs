//! Versions of `//index:types`: rows of one, and the types that two of them do not share, without reading the pages that they share.

use engine::store::StoreError;
use engine::values::digest::Digest;
use engine::values::pages::{Change, PageError, RowReader, each_change};
use producers::csharp::types::TypeRow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Label of the table of types.
pub(crate) const TYPES: &str = "//index:types";

/// Reads a blob of the store, such as a page of a table.
pub(crate) type ReadPage<'a> = &'a dyn Fn(&Digest) -> Result<Option<Arc<[u8]>>, StoreError>;

/// Types by key.
pub(crate) type TypeRows = BTreeMap<String, TypeRow>;

/// A version of the table of types.
pub(crate) struct TypeVersion<'a> {
    read_page: ReadPage<'a>,
    root: Arc<[u8]>,
    rows: RefCell<RowReader>,
}

impl<'a> TypeVersion<'a> {
    /// Opens a version by the digest of its root page; `None` if the page is missing or malformed.
    pub(crate) fn from_digest(read_page: ReadPage<'a>, digest: &Digest) -> Result<Option<Self>, StoreError> {
        let Some(root) = read_page(digest)? else { return Ok(None) };
        let rows = RowReader::new(root.clone()).ok();
        Ok(rows.map(|rows| Self {
            read_page,
            root,
            rows: RefCell::new(rows),
        }))
    }

    fn page(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, PageError> {
        (self.read_page)(digest).map_err(|_| PageError::Missing(*digest))
    }

    /// Returns the row of a type; `None` if it is missing or cannot be read.
    pub(crate) fn type_row(&self, key: &str) -> Option<TypeRow> {
        let row = self.rows.borrow_mut().get::<PageError>(key, |digest| self.page(digest)).ok()??;
        serde_json::from_slice(&row).ok()
    }

    /// Returns the types that a later version lacks, and those that only it has; `None` if pages cannot be read.
    pub(crate) fn difference(&self, later: &TypeVersion<'_>) -> Option<(TypeRows, TypeRows)> {
        let (mut gone, mut come) = (TypeRows::new(), TypeRows::new());
        let visit = |key: &str, change| {
            let (rows, version) = match change {
                Change::Removed => (&mut gone, self),
                Change::Added => (&mut come, later),
                Change::Changed => return,
            };
            rows.extend(version.type_row(key).map(|row| (key.to_owned(), row)));
        };
        each_change::<PageError>(&self.root, &later.root, |digest| self.page(digest), visit).ok()?;
        Some((gone, come))
    }
}
