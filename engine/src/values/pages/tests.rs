//! Tables in pages compared with the same tables in one page.

use super::super::table::write_table;
use super::*;
use proptest::prelude::*;
use std::cell::Cell;

type Rows = BTreeMap<String, Vec<u8>>;

/// A stored table: its root and all pages below.
struct Stored {
    root: Arc<[u8]>,
    parts: BTreeMap<Digest, Arc<[u8]>>,
    fetched: Cell<usize>,
}

impl Stored {
    fn of(rows: &Rows) -> Self {
        let flat = write_table(rows);
        let pieces = divide(&flat).unwrap_or_else(|| Pieces {
            root: flat,
            parts: BTreeMap::new(),
        });
        Self {
            root: pieces.root.into(),
            parts: pieces.parts,
            fetched: Cell::new(0),
        }
    }

    fn fetch(&self) -> impl Fetch<PageError> + '_ {
        |digest| {
            self.fetched.set(self.fetched.get() + 1);
            Ok(self.parts.get(digest).cloned())
        }
    }

    fn digest(&self) -> Digest {
        Digest::of(&self.root)
    }
}

fn rows(count: u32, size: usize) -> Rows {
    let row = |at: u32| (format!("Some.Name.Space.Type{at:06}"), vec![at as u8; size + (at % 7) as usize]);
    (0..count).map(row).collect()
}

/// Rows of all sizes, so that tables have one page, many, and several levels.
fn any_rows() -> impl Strategy<Value = Rows> {
    let row = (
        "[a-zé]{0,5}|[a-c]{1,60}",
        prop_oneof![
            8 => prop::collection::vec(any::<u8>(), 0..40),
            2 => (0usize..9_000, any::<u8>()).prop_map(|(len, byte)| vec![byte; len]),
            1 => (15_000usize..70_000, any::<u8>()).prop_map(|(len, byte)| vec![byte; len]),
        ],
    );
    prop::collection::vec(row, 0..400).prop_map(|rows| rows.into_iter().collect())
}

fn changes(before: &Rows, after: &Rows) -> Vec<(String, Change)> {
    let keys: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let change = |key: &String| match (before.get(key), after.get(key)) {
        (Some(one), Some(other)) => (one != other).then_some(Change::Changed),
        (Some(_), None) => Some(Change::Removed),
        (None, _) => Some(Change::Added),
    };
    keys.into_iter()
        .filter_map(|key| change(key).map(|change| (key.clone(), change)))
        .collect()
}

fn changes_between(before: &Stored, after: &Stored) -> Vec<(String, Change)> {
    let mut changes = Vec::new();
    let mut fetch = |digest: &Digest| {
        after.fetched.set(after.fetched.get() + 1);
        Ok(after.parts.get(digest).or_else(|| before.parts.get(digest)).cloned())
    };
    each_change::<PageError>(&before.root, &after.root, &mut fetch, |key, change| {
        changes.push((key.to_owned(), change))
    })
    .expect("whole");
    changes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn division_keeps_all_rows(rows in any_rows(), others in any_rows(), missing: String) {
        let stored = Stored::of(&rows);
        prop_assert_eq!(flatten::<PageError>(&stored.root, stored.fetch()), Ok(write_table(&rows).into()));
        prop_assert_eq!(count(&stored.root), Some(rows.len()));
        let mut reader = RowReader::new(stored.root.clone()).expect("a table");
        for key in rows.keys().chain(others.keys()).chain([&missing]) {
            let value = reader.get::<PageError>(key, stored.fetch()).expect("whole");
            prop_assert_eq!(value.as_deref(), rows.get(key).map(Vec::as_slice));
        }
        prop_assert_eq!(changes_between(&stored, &Stored::of(&others)), changes(&rows, &others));
    }

    #[test]
    fn missing_and_foreign_pages_are_errors(rows in any_rows(), at: prop::sample::Index, swap: prop::sample::Index) {
        let mut stored = Stored::of(&rows);
        prop_assume!(!stored.parts.is_empty());
        let digests: Vec<Digest> = stored.parts.keys().copied().collect();
        let (lost, other) = (at.get(&digests), stored.parts[swap.get(&digests)].clone());
        let is_same = stored.parts[lost] == other;
        stored.parts.remove(lost);
        prop_assert_eq!(flatten::<PageError>(&stored.root, stored.fetch()), Err(PageError::Missing(*lost)));
        let mut reader = RowReader::new(stored.root.clone()).expect("a table");
        for (key, value) in &rows {
            match reader.get::<PageError>(key, stored.fetch()) {
                Ok(found) => prop_assert_eq!(found.as_deref(), Some(value.as_slice())),
                Err(error) => prop_assert_eq!(error, PageError::Missing(*lost)),
            }
        }
        // A page of a wrong level under the right digest: only a broken producer can create one.
        stored.parts.insert(*lost, other);
        let read = flatten::<PageError>(&stored.root, stored.fetch());
        prop_assert!(is_same || read.is_err() || read != Ok(write_table(&rows).into()));
    }

    #[test]
    fn any_bytes_are_pages_or_refused(mut blob in prop::collection::vec(any::<u8>(), 0..200), level in 0u32..20) {
        let mut branch = [MAGIC.as_slice(), &level.to_le_bytes()].concat();
        branch.append(&mut blob);
        let root: Arc<[u8]> = branch.into();
        let _ = flatten::<PageError>(&root, |_| Ok(Some(root.clone())));
        let _ = count(&root);
        if let Ok(mut reader) = RowReader::new(root.clone()) {
            let _ = reader.get::<PageError>("a", |_| Ok(Some(root.clone())));
        }
    }
}

#[test]
fn one_edited_row_is_found_by_reading_its_path() {
    let mut rows = rows(60_000, 120);
    let before = Stored::of(&rows);
    let pages = before.parts.len();
    assert!(pages > 400, "{pages}");
    rows.insert("Some.Name.Space.Type031415".into(), b"other".to_vec());
    rows.insert("Some.Name.Space.Type031416b".into(), b"new".to_vec());
    rows.remove("Some.Name.Space.Type000007");
    let after = Stored::of(&rows);
    let new = after.parts.keys().filter(|digest| !before.parts.contains_key(*digest)).count();
    assert!(new <= 8, "{new} of {pages} pages are new");
    let changes = changes_between(&before, &after);
    assert_eq!(changes.len(), 3);
    assert!(after.fetched.get() <= 40, "{} pages were read", after.fetched.get());
}

#[test]
fn lookups_read_only_the_path_to_a_row() {
    let rows = rows(60_000, 120);
    let stored = Stored::of(&rows);
    let mut reader = RowReader::new(stored.root.clone()).expect("a table");
    assert!(
        reader
            .get::<PageError>("Some.Name.Space.Type031415", stored.fetch())
            .expect("whole")
            .is_some()
    );
    assert!(stored.fetched.get() <= 3, "{}", stored.fetched.get());
    assert!(
        reader
            .get::<PageError>("Some.Name.Space.Type031415", stored.fetch())
            .expect("whole")
            .is_some()
    );
    assert!(stored.fetched.get() <= 3, "a row at hand is not fetched again");
}

#[test]
fn keys_longer_than_a_page_divide() {
    let rows: Rows = (0..300u32).map(|at| (format!("{}{at}", "k".repeat(20_000)), vec![1])).collect();
    let stored = Stored::of(&rows);
    assert_eq!(flatten::<PageError>(&stored.root, stored.fetch()), Ok(write_table(&rows).into()));
    assert_ne!(stored.digest(), Stored::of(&super::tests::rows(1, 1)).digest());
}
