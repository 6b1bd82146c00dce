//! Large tables as trees of pages, so that a row can be read, and two versions compared, without the whole table.
//!
//! A table whose rows take more than [`LARGEST_PAGE`] bytes is stored as pages. A leaf page is a table by itself (see [`super::table`]). A branch
//! page is `b"cortbr1\0"`, its level (`u32`, 1 above the leaves), then the layout of a table: per child the child's last key, and as value the
//! child's digest, its rows and their bytes (`u64` each, little-endian). Keys ascend through the whole tree.
//!
//! Invariants
//! - The same rows give the same pages, whatever the table's history. Only the level and a row's key and size decide whether the row ends
//!   its page. The root is the first level that has one page (a prolly tree, as in Dolt).
//! - A page is named by its digest, so versions of a table share all pages but those on the paths to changed rows.
//! - A page that is missing or malformed is a separate error, never an absent row.

use super::digest::Digest;
use super::table::{Table, TableWriter};
use super::tree::Pieces;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

pub mod edit;
pub mod scan;

const MAGIC: &[u8; 8] = b"cortbr1\0";

/// Maximum bytes of a table's rows in one page.
pub const LARGEST_PAGE: usize = 64 << 10;

/// Average size in bytes of a page.
const PAGE: u64 = 16 << 10;

/// Approximate minimum number of children of a branch page, however long their keys are.
const LEAST_CHILDREN: u64 = 8;

/// The level that is never divided: it bounds the height of a tree, whatever its keys are.
const HIGHEST: u32 = 16;

/// Reason why a table or a long text cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    #[error("its piece {0} is missing")]
    Missing(Digest),
    /// A page does not have the form that its parent states.
    #[error("its piece {0} is malformed")]
    Malformed(Digest),
}

/// Whether a blob is a branch page, so that the table is stored in pages below it.
pub fn is_branch(blob: &[u8]) -> bool {
    blob.starts_with(MAGIC)
}

/// A branch page's entry for a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Child {
    digest: Digest,
    rows: u64,
    bytes: u64,
}

const CHILD_LEN: usize = 48;

impl Child {
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (digest, rest) = bytes.split_first_chunk::<32>()?;
        let (rows, rest) = rest.split_first_chunk::<8>()?;
        let (bytes, rest) = rest.split_first_chunk::<8>()?;
        rest.is_empty().then(|| Self {
            digest: Digest(*digest),
            rows: u64::from_le_bytes(*rows),
            bytes: u64::from_le_bytes(*bytes),
        })
    }

    fn to_bytes(self) -> [u8; CHILD_LEN] {
        let mut bytes = [0; CHILD_LEN];
        bytes[..32].copy_from_slice(&self.digest.0);
        bytes[32..40].copy_from_slice(&self.rows.to_le_bytes());
        bytes[40..].copy_from_slice(&self.bytes.to_le_bytes());
        bytes
    }
}

/// A branch page: its level, and its children by last key.
#[derive(Clone, Copy)]
struct Branch<'a> {
    level: u32,
    children: Table<'a>,
}

impl<'a> Branch<'a> {
    fn from_blob(blob: &'a [u8]) -> Option<Self> {
        let (level, rest) = blob.strip_prefix(MAGIC)?.split_first_chunk::<4>()?;
        let level = u32::from_le_bytes(*level);
        let children = Table::open_body(rest)?;
        ((1..=HIGHEST).contains(&level) && !children.is_empty()).then_some(Self { level, children })
    }

    fn child(&self, at: usize) -> Option<Child> {
        Child::from_bytes(self.children.row(at).1)
    }

    /// Returns the children in order; `None` for a malformed one.
    fn children(self) -> impl DoubleEndedIterator<Item = Option<Child>> + 'a {
        (0..self.children.len()).map(move |at| self.child(at))
    }
}

/// A page with its level, according to its parent or the root blob.
#[derive(Clone)]
struct Page {
    level: u32,
    blob: Arc<[u8]>,
}

impl Page {
    fn from_root_blob(blob: Arc<[u8]>) -> Result<Self, PageError> {
        let malformed = || PageError::Malformed(Digest::of(&blob));
        let level = match is_branch(&blob) {
            true => Branch::from_blob(&blob).ok_or_else(malformed)?.level,
            false => {
                Table::open(&blob).ok_or_else(malformed)?;
                0
            }
        };
        Ok(Self { level, blob })
    }

    fn fetch<E: From<PageError>>(child: &Child, level: u32, fetch: &mut impl Fetch<E>) -> Result<Self, E> {
        let blob = fetch(&child.digest)?.ok_or(PageError::Missing(child.digest))?;
        let fits = match level {
            0 => Table::open(&blob).is_some(),
            _ => Branch::from_blob(&blob).is_some_and(|branch| branch.level == level),
        };
        match fits {
            true => Ok(Self { level, blob }),
            false => Err(PageError::Malformed(child.digest).into()),
        }
    }

    fn leaf(&self) -> Table<'_> {
        Table::open(&self.blob).expect("invariant: pages are opened when they are fetched")
    }

    fn branch(&self) -> Branch<'_> {
        Branch::from_blob(&self.blob).expect("invariant: pages are opened when they are fetched")
    }

    fn child<E: From<PageError>>(&self, at: usize, fetch: &mut impl Fetch<E>) -> Result<Self, E> {
        let child = self
            .branch()
            .child(at)
            .ok_or_else(|| PageError::Malformed(Digest::of(&self.blob)))?;
        Self::fetch(&child, self.level - 1, fetch)
    }
}

/// Fetches a page by its digest, and returns only bytes with that digest. `None` if it is missing.
pub trait Fetch<E>: FnMut(&Digest) -> Result<Option<Arc<[u8]>>, E> {}

impl<E, F: FnMut(&Digest) -> Result<Option<Arc<[u8]>>, E>> Fetch<E> for F {}

/// The value of a row, within its page.
#[derive(Clone, Debug)]
pub struct Value {
    page: Arc<[u8]>,
    range: Range<usize>,
}

impl std::ops::Deref for Value {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.page[self.range.clone()]
    }
}

/// Reads rows of one table. Ascending keys reuse the pages of the key before.
pub struct RowReader {
    /// Pages from the root down to a leaf, as far as needed so far.
    path: Vec<(Page, usize)>,
}

impl RowReader {
    /// Creates a reader of the table with this root page. Fails when it is no table.
    pub fn new(root: Arc<[u8]>) -> Result<Self, PageError> {
        Ok(Self {
            path: vec![(Page::from_root_blob(root)?, usize::MAX)],
        })
    }

    /// Returns the value of `key`.
    pub fn get<E: From<PageError>>(&mut self, key: &str, mut fetch: impl Fetch<E>) -> Result<Option<Value>, E> {
        let mut depth = 0;
        while self.path[depth].0.level > 0 {
            let at = {
                let branch = self.path[depth].0.branch();
                let at = branch.children.first_at_least(key);
                if at == branch.children.len() {
                    return Ok(None);
                }
                at
            };
            if self.path[depth].1 != at || self.path.len() == depth + 1 {
                self.path.truncate(depth + 1);
                let child = self.path[depth].0.child(at, &mut fetch)?;
                self.path[depth].1 = at;
                self.path.push((child, usize::MAX));
            }
            depth += 1;
        }
        let page = &self.path[depth].0;
        Ok(page.leaf().get(key).map(|value| Value {
            range: offset(&page.blob, value),
            page: page.blob.clone(),
        }))
    }
}

/// Returns the range of a part within a blob.
fn offset(blob: &[u8], part: &[u8]) -> Range<usize> {
    let start = part.as_ptr().addr() - blob.as_ptr().addr();
    start..start + part.len()
}

/// Calls `visit` with every page of a table below its root: digest and page, parents first.
pub fn each_page<E: From<PageError>>(
    root: &Arc<[u8]>,
    mut fetch: impl Fetch<E>,
    mut visit: impl FnMut(Digest, &Arc<[u8]>),
) -> Result<(), E> {
    let mut open = vec![Page::from_root_blob(root.clone())?];
    while let Some(page) = open.pop() {
        if page.level == 0 {
            continue;
        }
        for child in page.branch().children().rev() {
            let child = child.ok_or_else(|| PageError::Malformed(Digest::of(&page.blob)))?;
            let below = Page::fetch(&child, page.level - 1, &mut fetch)?;
            visit(child.digest, &below.blob);
            open.push(below);
        }
    }
    Ok(())
}

/// Calls `visit` with every leaf page in key order; for a table in one page that is the root.
pub fn each_leaf<E: From<PageError>>(root: &Arc<[u8]>, fetch: impl Fetch<E>, mut visit: impl FnMut(Table<'_>)) -> Result<(), E> {
    each_leaf_page(root, fetch, |page| visit(page.leaf()))
}

fn each_leaf_page<E: From<PageError>>(root: &Arc<[u8]>, mut fetch: impl Fetch<E>, mut visit: impl FnMut(&Page)) -> Result<(), E> {
    let mut walk = PageWalk { stack: Vec::new() };
    let mut page = Page::from_root_blob(root.clone())?;
    loop {
        match page.level {
            0 => visit(&page),
            _ => walk.push_page(&page)?,
        }
        let Some(PageEntry::Page(level, child)) = walk.stack.pop() else {
            return Ok(());
        };
        page = Page::fetch(&child, level, &mut fetch)?;
    }
}

/// Returns the number of rows, without reading them.
pub fn count(root: &[u8]) -> Option<usize> {
    match Branch::from_blob(root) {
        Some(branch) => branch.children().map(|child| Some(child?.rows as usize)).sum(),
        None => Table::open(root).map(|table| table.len()),
    }
}

/// Returns the table in one page, whatever its size. Fails when a page is missing or malformed, or the table has 4 GiB or more.
pub fn flatten<E: From<PageError>>(root: &Arc<[u8]>, fetch: impl Fetch<E>) -> Result<Arc<[u8]>, E> {
    let mut leaves = Vec::new();
    each_leaf_page(root, fetch, |page| leaves.push(page.clone()))?;
    let tables: Vec<Table<'_>> = leaves.iter().map(Page::leaf).collect();
    Table::concatenate(&tables).ok_or_else(|| PageError::Malformed(Digest::of(root)).into())
}

/// Divides a table in one page into pages; `None` if it stays one, or its rows are not in order.
pub fn divide(flat: &[u8]) -> Option<Pieces> {
    let table = Table::open(flat).filter(|_| flat.len() > LARGEST_PAGE)?;
    let mut before: Option<&str> = None;
    for (key, _) in table.rows() {
        if before.is_some_and(|before| before >= key) {
            return None;
        }
        before = Some(key);
    }
    let mut parts = BTreeMap::new();
    let mut level = 0;
    let mut pages = chunk(
        level,
        table.rows().map(|(key, value)| (key, value, 1, key.len() + value.len())),
        &mut parts,
    );
    while pages.len() > 1 {
        level += 1;
        let children: Vec<(String, Child)> = std::mem::take(&mut pages);
        let written: Vec<[u8; CHILD_LEN]> = children.iter().map(|(_, child)| child.to_bytes()).collect();
        let rows = children
            .iter()
            .zip(&written)
            .map(|((key, child), value)| (key.as_str(), value.as_slice(), child.rows, child.bytes as usize));
        pages = chunk(level, rows, &mut parts);
    }
    let (_, root) = pages.pop().expect("invariant: a table over the size of a page has rows");
    let root = parts.remove(&root.digest).expect("invariant: it was just made");
    // A row larger than a page becomes a page of its own.
    Some(Pieces {
        root: root.to_vec(),
        parts,
    })
    .filter(|pieces| is_branch(&pieces.root))
}

/// Writes the entries of a level as pages; returns each page's last key and entry in its parent.
fn chunk<'a>(
    level: u32,
    entries: impl Iterator<Item = (&'a str, &'a [u8], u64, usize)>,
    parts: &mut BTreeMap<Digest, Arc<[u8]>>,
) -> Vec<(String, Child)> {
    let mut pages = Vec::new();
    let mut page = TableWriter::default();
    let (mut rows, mut bytes, mut last) = (0, 0, "");
    let mut end = |page: TableWriter, last: &str, rows: u64, bytes: u64| {
        let body = page.finish();
        let blob: Arc<[u8]> = match level {
            0 => body.into(),
            _ => branch(level, &body).into(),
        };
        let digest = Digest::of(&blob);
        parts.insert(digest, blob);
        pages.push((last.to_owned(), Child { digest, rows, bytes }));
    };
    for (key, value, count, size) in entries {
        page.append_row(key, value);
        rows += count;
        bytes += size as u64;
        last = key;
        if ends_page(level, key, (key.len() + value.len()) as u64) {
            end(std::mem::take(&mut page), last, rows, bytes);
            (rows, bytes) = (0, 0);
        }
    }
    if rows > 0 {
        end(page, last, rows, bytes);
    }
    pages
}

fn branch(level: u32, table: &[u8]) -> Vec<u8> {
    [MAGIC.as_slice(), &level.to_le_bytes(), Table::body_of_blob(table)].concat()
}

/// Whether a row is the last of its page. The probability grows with the row's size, so that pages have equal size on average and an edited row
/// rarely changes an end. FNV-1a over level and key, mixed as in MurmurHash3.
fn ends_page(level: u32, key: &str, size: u64) -> bool {
    if level >= HIGHEST {
        return false;
    }
    let size = match level {
        0 => size + 8,
        _ => (size + 8).min(PAGE / LEAST_CHILDREN),
    };
    if size >= PAGE {
        return true;
    }
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ u64::from(level).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for &byte in key.as_bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^= hash >> 33;
    (hash >> 32) * PAGE < size << 32
}

/// Position in a walk over two versions: pages not yet opened, or open at some entry.
struct PageWalk {
    /// Remaining entries, the next one last.
    stack: Vec<PageEntry>,
}

#[derive(Clone)]
enum PageEntry {
    Page(u32, Child),
    Row(Arc<[u8]>, usize),
}

impl PageWalk {
    fn new(root: Arc<[u8]>) -> Result<Self, PageError> {
        let page = Page::from_root_blob(root)?;
        let mut walk = Self { stack: Vec::new() };
        walk.push_page(&page)?;
        Ok(walk)
    }

    fn push_page(&mut self, page: &Page) -> Result<(), PageError> {
        if page.level == 0 {
            self.stack
                .extend((0..page.leaf().len()).rev().map(|at| PageEntry::Row(page.blob.clone(), at)));
            return Ok(());
        }
        for child in page.branch().children().rev() {
            let child = child.ok_or_else(|| PageError::Malformed(Digest::of(&page.blob)))?;
            self.stack.push(PageEntry::Page(page.level - 1, child));
        }
        Ok(())
    }

    fn open_branch<E: From<PageError>>(&mut self, fetch: &mut impl Fetch<E>) -> Result<(), E> {
        if let Some(PageEntry::Page(level, child)) = self.stack.pop() {
            let page = Page::fetch(&child, level, fetch)?;
            self.push_page(&page)?;
        }
        Ok(())
    }

    /// Returns the level of the next entry; rows are below all pages.
    fn level(&self) -> Option<Option<u32>> {
        self.stack.last().map(|entry| match entry {
            PageEntry::Page(level, _) => Some(*level),
            PageEntry::Row(..) => None,
        })
    }
}

/// Calls `visit` with the key of each row in which two versions of a table differ, in order. Does not read pages that they share.
pub fn each_change<E: From<PageError>>(
    before: &Arc<[u8]>,
    after: &Arc<[u8]>,
    mut fetch: impl Fetch<E>,
    mut visit: impl FnMut(&str, Change),
) -> Result<(), E> {
    let (mut old, mut new) = (PageWalk::new(before.clone())?, PageWalk::new(after.clone())?);
    loop {
        match (old.level(), new.level()) {
            (None, None) => return Ok(()),
            (Some(Some(_)), None) => old.open_branch(&mut fetch)?,
            (None, Some(Some(_))) => new.open_branch(&mut fetch)?,
            (Some(None), None) => old.visit_row(|key, _| visit(key, Change::Removed)),
            (None, Some(None)) => new.visit_row(|key, _| visit(key, Change::Added)),
            (Some(left), Some(right)) => match (old.stack.last(), new.stack.last()) {
                (Some(PageEntry::Page(_, one)), Some(PageEntry::Page(_, other))) if one.digest == other.digest => {
                    old.stack.pop();
                    new.stack.pop();
                }
                (Some(PageEntry::Row(one, at)), Some(PageEntry::Row(other, to))) => {
                    let (one, other) = (row_at(one, *at), row_at(other, *to));
                    let order = one.0.cmp(other.0);
                    match order {
                        std::cmp::Ordering::Less => visit(one.0, Change::Removed),
                        std::cmp::Ordering::Greater => visit(other.0, Change::Added),
                        std::cmp::Ordering::Equal if one.1 != other.1 => visit(one.0, Change::Changed),
                        std::cmp::Ordering::Equal => {}
                    }
                    if order.is_le() {
                        old.stack.pop();
                    }
                    if order.is_ge() {
                        new.stack.pop();
                    }
                }
                _ => {
                    // Open the higher of both, so that the walk compares equal pages.
                    if left >= right {
                        old.open_branch(&mut fetch)?;
                    }
                    if right >= left {
                        new.open_branch(&mut fetch)?;
                    }
                }
            },
        }
    }
}

/// Difference of a row between two versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Only the later version has it.
    Added,
    /// Both have it, with other values.
    Changed,
    /// Only the earlier version has it.
    Removed,
}

fn row_at(page: &[u8], at: usize) -> (&str, &[u8]) {
    Table::open(page)
        .expect("invariant: pages are opened when they are fetched")
        .row(at)
}

impl PageWalk {
    fn visit_row(&mut self, visit: impl FnOnce(&str, &[u8])) {
        if let Some(PageEntry::Row(page, at)) = self.stack.pop() {
            let (key, value) = row_at(&page, at);
            visit(key, value);
        }
    }
}

#[cfg(test)]
mod tests;
