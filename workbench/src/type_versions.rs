//! Versions of `//index:types`: rows of one, and the types that two of them do not share, without reading the pages that they share.

use engine::store::StoreError;
use engine::values::digest::Digest;
use engine::values::pages::{Change, PageError, RowReader, each_change};
use producers::csharp::types::TypeRow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

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

/// Reason why a table cannot be read.
enum Unread {
    Store(StoreError),
    Page,
}

impl From<PageError> for Unread {
    fn from(_: PageError) -> Self {
        Self::Page
    }
}

/// Returns `None` in place of what a missing or malformed page would have told.
fn known<T>(read: Result<T, Unread>) -> Result<Option<T>, StoreError> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(Unread::Page) => Ok(None),
        Err(Unread::Store(error)) => Err(error),
    }
}

impl<'a> TypeVersion<'a> {
    /// Opens a version by the digest of its root page; `None` if the page is missing or malformed.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn from_digest(read_page: ReadPage<'a>, digest: &Digest) -> Result<Option<Self>, StoreError> {
        let Some(root) = read_page(digest)? else { return Ok(None) };
        let rows = RowReader::new(root.clone()).ok();
        Ok(rows.map(|rows| Self {
            read_page,
            root,
            rows: RefCell::new(rows),
        }))
    }

    fn page(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, Unread> {
        (self.read_page)(digest).map_err(Unread::Store)
    }

    /// Returns the row of a type; `None` if there is none, or it cannot be read.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn type_row(&self, key: &str) -> Result<Option<TypeRow>, StoreError> {
        let row = known(self.rows.borrow_mut().get(key, |digest: &Digest| self.page(digest)))?.flatten();
        Ok(row.and_then(|row| serde_json::from_slice(&row).ok()))
    }

    /// Returns the types that a later version lacks, and those that only it has; `None` if pages are missing.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn difference(&self, later: &TypeVersion<'_>) -> Result<Option<(TypeRows, TypeRows)>, StoreError> {
        let (mut gone, mut come) = (Vec::new(), Vec::new());
        let compared = each_change(
            &self.root,
            &later.root,
            |digest: &Digest| self.page(digest),
            |key, change| match change {
                Change::Removed => gone.push(key.to_owned()),
                Change::Added => come.push(key.to_owned()),
                Change::Changed => {}
            },
        );
        if known(compared)?.is_none() {
            return Ok(None);
        }
        Ok(Some((self.rows_of(gone)?, later.rows_of(come)?)))
    }

    fn rows_of(&self, keys: Vec<String>) -> Result<TypeRows, StoreError> {
        let mut rows = TypeRows::new();
        for key in keys {
            if let Some(row) = self.type_row(&key)? {
                rows.insert(key, row);
            }
        }
        Ok(rows)
    }
}
