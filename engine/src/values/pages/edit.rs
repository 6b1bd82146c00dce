//! Editing a table in pages: reads and writes only the pages on the paths to changed rows. The result equals writing all rows, page for page.
//!
//! Works level by level from the leaves up. On each level, rewrites the pages with a changed entry. If the last of them ends elsewhere than before,
//! rewrites the following ones until an end is unchanged. The resulting changes of their parents' entries are the changes of the next level.

use super::{Child, Fetch, LARGEST_PAGE, Page, PageError, TableWriter, branch, chunk, divide, ends_page, flatten};
use crate::values::digest::Digest;
use crate::values::table::Table;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// An edited table.
pub struct Edited {
    /// Its root, or the table in one page.
    pub root: Arc<[u8]>,
    /// The written pages below the root.
    pub made: BTreeMap<Digest, Arc<[u8]>>,
    /// Digests of all other pages below the root.
    pub kept: BTreeSet<Digest>,
}

/// Changed entries of a level (rows or children) by key; `None` removes one.
type Changes = BTreeMap<String, Option<Vec<u8>>>;

pub fn edit<E: From<PageError>>(root: &Arc<[u8]>, rows: Changes, mut fetch: impl Fetch<E>) -> Result<Edited, E> {
    let top = Page::from_root_blob(root.clone())?;
    if top.level == 0 {
        return Ok(divided(&merged(top.leaf(), &rows)));
    }
    if rows.is_empty() {
        return Ok(Edited {
            root: root.clone(),
            made: BTreeMap::new(),
            kept: digests(&top, &mut fetch)?,
        });
    }
    let mut made = BTreeMap::new();
    let mut changes = rows;
    for level in 0..=top.level {
        let mut editor = Editor {
            top: &top,
            level,
            made: &mut made,
            up: Changes::new(),
        };
        editor.edit_pages(changes, &mut fetch)?;
        changes = editor.up;
    }
    // Levels above the old root: pages created by splitting it.
    let mut level = top.level;
    let mut entries: Vec<(String, Vec<u8>)> = changes.into_iter().filter_map(|(key, child)| Some((key, child?))).collect();
    while entries.len() > 1 {
        level += 1;
        let read = |(key, child): &(String, Vec<u8>)| Child::from_bytes(child).map(|read| (key.clone(), child.clone(), read));
        let children: Vec<_> = entries.iter().filter_map(read).collect();
        let of = children
            .iter()
            .map(|(key, child, read)| (key.as_str(), child.as_slice(), read.rows, read.bytes as usize));
        let pages = chunk(level, of, &mut made);
        entries = pages.into_iter().map(|(key, child)| (key, child.to_bytes().to_vec())).collect();
    }
    let Some(root) = entries.first().and_then(|(_, child)| Child::from_bytes(child)) else {
        return Ok(divided(&TableWriter::default().finish()));
    };
    let mut fetch = |digest: &Digest| match made.get(digest) {
        Some(page) => Ok(Some(page.clone())),
        None => fetch(digest),
    };
    let mut page = Page::fetch(&root, level, &mut fetch)?;
    // The root is the first level with one page.
    while page.level > 0 && page.branch().children.len() == 1 {
        page = page.child(0, &mut fetch)?;
    }
    let flat = 12 + 8 * root.rows + root.bytes;
    if page.level > 0 && flat <= LARGEST_PAGE as u64 {
        return Ok(divided(&flatten(&page.blob, &mut fetch)?));
    }
    let all = digests(&page, &mut fetch)?;
    made.retain(|digest, _| all.contains(digest));
    Ok(Edited {
        root: page.blob,
        kept: all.into_iter().filter(|digest| !made.contains_key(digest)).collect(),
        made,
    })
}

/// Merges changes into a table in one page, as one page.
fn merged(table: Table<'_>, changes: &Changes) -> Vec<u8> {
    let mut writer = TableWriter::default();
    let old = table.rows().map(|(key, value)| (key, Some(value)));
    let rows: BTreeMap<&str, Option<&[u8]>> = old
        .chain(changes.iter().map(|(key, value)| (key.as_str(), value.as_deref())))
        .collect();
    for (key, value) in rows {
        if let Some(value) = value {
            writer.append_row(key, value);
        }
    }
    writer.finish()
}

/// Converts to the stored form.
fn divided(flat: &[u8]) -> Edited {
    let kept = BTreeSet::new();
    match divide(flat) {
        Some(pieces) => Edited {
            root: pieces.root.into(),
            made: pieces.parts,
            kept,
        },
        None => Edited {
            root: flat.into(),
            made: BTreeMap::new(),
            kept,
        },
    }
}

/// Returns the digests of all pages below one. Does not read leaves.
fn digests<E: From<PageError>>(root: &Page, fetch: &mut impl Fetch<E>) -> Result<BTreeSet<Digest>, E> {
    let mut found = BTreeSet::new();
    let mut open = vec![root.clone()];
    while let Some(page) = open.pop() {
        if page.level == 0 {
            continue;
        }
        for (at, child) in page.branch().children().enumerate() {
            found.insert(child.ok_or_else(|| PageError::Malformed(Digest::of(&page.blob)))?.digest);
            if page.level > 1 {
                open.push(page.child(at, fetch)?);
            }
        }
    }
    Ok(found)
}

/// Pages of one level during the rewriting.
struct Editor<'a> {
    top: &'a Page,
    level: u32,
    made: &'a mut BTreeMap<Digest, Arc<[u8]>>,
    /// Changes of the entries of the level above.
    up: Changes,
}

impl Editor<'_> {
    fn edit_pages<E: From<PageError>>(&mut self, changes: Changes, fetch: &mut impl Fetch<E>) -> Result<(), E> {
        let mut changes = changes.into_iter().peekable();
        while let Some((first, _)) = changes.peek() {
            let mut place = PageLocation::seek(self.top, self.level, first, fetch)?;
            let mut run = PageDraft::default();
            let (mut gone, mut new) = (Vec::new(), Vec::new());
            loop {
                let last = place.last_key();
                // Entries behind all others belong to the last page.
                let is_last = place.is_last();
                for (key, value) in place.entries_of_page() {
                    while let Some((before, _)) = changes.peek().filter(|(changed, _)| *changed < key) {
                        let before = before.clone();
                        let (_, value) = changes.next().expect("invariant: it was just looked at");
                        run.push_row(self, &before, value, &mut new);
                    }
                    let changed = changes.next_if(|(changed, _)| *changed == key);
                    run.push_row(self, &key, changed.map_or(Some(value), |(_, value)| value), &mut new);
                }
                if is_last {
                    for (key, value) in changes.by_ref() {
                        run.push_row(self, &key, value, &mut new);
                    }
                }
                gone.push(last);
                if run.is_empty() || is_last {
                    break;
                }
                place.next(fetch)?;
            }
            run.close_run(self, &mut new);
            self.up.extend(gone.into_iter().map(|key| (key, None)));
            self.up.extend(new);
        }
        Ok(())
    }
}

/// A page under construction.
#[derive(Default)]
struct PageDraft {
    page: TableWriter,
    last: String,
    entries: usize,
    rows: u64,
    bytes: u64,
}

impl PageDraft {
    fn is_empty(&self) -> bool {
        self.entries == 0
    }

    fn push_row(&mut self, editor: &mut Editor<'_>, key: &str, value: Option<Vec<u8>>, new: &mut Vec<(String, Option<Vec<u8>>)>) {
        let Some(value) = value else { return };
        let size = (key.len() + value.len()) as u64;
        let (rows, bytes) = match Child::from_bytes(&value).filter(|_| editor.level > 0) {
            Some(child) => (child.rows, child.bytes),
            None => (1, size),
        };
        self.page.append_row(key, &value);
        key.clone_into(&mut self.last);
        self.entries += 1;
        self.rows += rows;
        self.bytes += bytes;
        if ends_page(editor.level, key, size) {
            self.close_run(editor, new);
        }
    }

    fn close_run(&mut self, editor: &mut Editor<'_>, new: &mut Vec<(String, Option<Vec<u8>>)>) {
        let run = std::mem::take(self);
        if run.is_empty() {
            return;
        }
        let body = run.page.finish();
        let blob: Arc<[u8]> = match editor.level {
            0 => body.into(),
            level => branch(level, &body).into(),
        };
        let digest = Digest::of(&blob);
        editor.made.insert(digest, blob);
        let child = Child {
            digest,
            rows: run.rows,
            bytes: run.bytes,
        };
        new.push((run.last, Some(child.to_bytes().to_vec())));
    }
}

/// A page of a level, with the path to it.
struct PageLocation {
    /// From the root down: pages, with the index of the next child.
    path: Vec<(Page, usize)>,
    page: Page,
}

impl PageLocation {
    /// Finds the first page whose last key is not below `key`, or the last page.
    fn seek<E: From<PageError>>(top: &Page, level: u32, key: &str, fetch: &mut impl Fetch<E>) -> Result<Self, E> {
        let mut path = Vec::new();
        let mut page = top.clone();
        while page.level > level {
            let children = page.branch().children;
            let at = children.first_at_least(key).min(children.len() - 1);
            let child = page.child(at, fetch)?;
            path.push((page, at));
            page = child;
        }
        Ok(Self { path, page })
    }

    fn is_last(&self) -> bool {
        self.path.iter().all(|(page, at)| at + 1 == page.branch().children.len())
    }

    /// Moves to the next page of the level, which must exist.
    fn next<E: From<PageError>>(&mut self, fetch: &mut impl Fetch<E>) -> Result<(), E> {
        let level = self.page.level;
        while let Some((page, at)) = self.path.pop() {
            if at + 1 < page.branch().children.len() {
                let mut next = page.child(at + 1, fetch)?;
                self.path.push((page, at + 1));
                while next.level > level {
                    let child = next.child(0, fetch)?;
                    self.path.push((next, 0));
                    next = child;
                }
                self.page = next;
                return Ok(());
            }
        }
        Ok(())
    }

    fn table(&self) -> Table<'_> {
        match self.page.level {
            0 => self.page.leaf(),
            _ => self.page.branch().children,
        }
    }

    /// Returns the key under which its parent lists it.
    fn last_key(&self) -> String {
        let table = self.table();
        table.len().checked_sub(1).map_or_else(String::new, |at| table.row(at).0.to_owned())
    }

    fn entries_of_page(&self) -> Vec<(String, Vec<u8>)> {
        self.table().rows().map(|(key, value)| (key.to_owned(), value.to_vec())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::pages::is_branch;
    use crate::values::table::write_table;
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;

    type Pages = BTreeMap<Digest, Arc<[u8]>>;

    fn stored(rows: &BTreeMap<String, Vec<u8>>) -> (Arc<[u8]>, Pages) {
        let Edited { root, made, .. } = divided(&write_table(rows));
        (root, made)
    }

    fn row() -> impl Strategy<Value = Vec<u8>> {
        // Small rows share a page; a large row fills one.
        prop_oneof![4 => 0usize..200, 3 => 1_000usize..9_000, 1 => 17_000usize..20_000].prop_map(|len| vec![b'x'; len])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn editing_equals_writing_all_rows(
            rows in btree_map("[a-h]{1,4}", row(), 0..300),
            edits in vec(btree_map("[a-h]{1,4}", proptest::option::of(row()), 0..12), 1..4),
            gone in any::<u8>(),
        ) {
            let mut rows = rows;
            let (mut root, mut pages) = stored(&rows);
            for mut changes in edits {
                // Remove whole ranges, too.
                let first = char::from(b'a' + gone % 11);
                changes.extend(rows.keys().filter(|key| key.starts_with(first)).map(|key| (key.clone(), None)).collect::<Vec<_>>());
                for (key, value) in &changes {
                    match value {
                        Some(value) => drop(rows.insert(key.clone(), value.clone())),
                        None => drop(rows.remove(key)),
                    }
                }
                let edited = edit::<PageError>(&root, changes, |digest| Ok(pages.get(digest).cloned())).expect("all pages are there");
                let (whole, parts) = stored(&rows);
                prop_assert_eq!(&edited.root, &whole);
                let all: BTreeSet<Digest> = edited.made.keys().chain(&edited.kept).copied().collect();
                prop_assert_eq!(all, parts.keys().copied().collect::<BTreeSet<_>>());
                prop_assert!(edited.made.iter().all(|(digest, page)| parts.get(digest) == Some(page)));
                prop_assert!(edited.kept.iter().all(|digest| pages.contains_key(digest)));
                (root, pages) = (whole, parts);
            }
        }
    }

    #[test]
    fn one_edited_row_rewrites_only_its_path() {
        let rows: BTreeMap<String, Vec<u8>> = (0..100_000).map(|n| (format!("k{n:06}"), vec![b'x'; 100])).collect();
        let (root, pages) = stored(&rows);
        assert!(is_branch(&root) && pages.len() > 500);
        let read = std::cell::Cell::new(0);
        let changes = Changes::from([("k050000".to_owned(), Some(b"new".to_vec()))]);
        let fetch = |digest: &Digest| {
            read.set(read.get() + 1);
            Ok(pages.get(digest).cloned())
        };
        let edited = edit::<PageError>(&root, changes, fetch).expect("all pages are there");
        assert!(edited.made.len() <= 6, "{} pages written", edited.made.len());
        assert!(read.get() < 60, "{} pages read of {}", read.get(), pages.len());
    }
}
