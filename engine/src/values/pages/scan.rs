//! Reading rows of a table in order, from a key on, without the pages before it.

use super::{Fetch, Page, PageError};
use std::sync::Arc;

/// Calls `visit` with the rows from `key` on until it returns `false`.
pub fn rows_from<E: From<PageError>>(
    root: &Arc<[u8]>,
    key: &str,
    mut fetch: impl Fetch<E>,
    mut visit: impl FnMut(&str, &[u8]) -> bool,
) -> Result<(), E> {
    // Branch pages on the path, each with the index of its next child.
    let mut path: Vec<(Page, usize)> = Vec::new();
    let mut page = Page::from_root_blob(root.clone())?;
    loop {
        if page.level == 0 {
            let leaf = page.leaf();
            for at in leaf.first_at_least(key)..leaf.len() {
                let (key, value) = leaf.row(at);
                if !visit(key, value) {
                    return Ok(());
                }
            }
        } else {
            let first = page.branch().children.first_at_least(key);
            path.push((page, first));
        }
        page = loop {
            let Some((above, next)) = path.last_mut() else { return Ok(()) };
            if *next < above.branch().children.len() {
                *next += 1;
                break above.child(*next - 1, &mut fetch)?;
            }
            path.pop();
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::pages::divide;
    use crate::values::table::write_table;
    use std::collections::BTreeMap;

    #[test]
    fn scans_start_at_any_key_without_earlier_pages() {
        let rows: BTreeMap<String, Vec<u8>> = (0..20_000).map(|n| (format!("k{:05}", n * 2), vec![b'x'; 100])).collect();
        let pieces = divide(&write_table(&rows)).expect("it takes many pages");
        let root: Arc<[u8]> = pieces.root.into();
        for from in ["", "k", "k00001", "k12344", "k12345", "k39998", "k39999", "z"] {
            let mut fetched = 0;
            let mut found = Vec::new();
            let fetch = |digest: &_| {
                fetched += 1;
                Ok::<_, PageError>(pieces.parts.get(digest).cloned())
            };
            rows_from(&root, from, fetch, |key, _| {
                found.push(key.to_owned());
                found.len() < 3
            })
            .expect("all pages are there");
            let expected: Vec<String> = rows.range(from.to_owned()..).take(3).map(|(key, _)| key.clone()).collect();
            assert_eq!(found, expected, "from {from:?}");
            assert!(fetched < 12, "{fetched} pages from {from:?}");
        }
        let mut all = 0;
        let fetch = |digest: &_| Ok::<_, PageError>(pieces.parts.get(digest).cloned());
        rows_from(&root, "", fetch, |_, _| {
            all += 1;
            true
        })
        .expect("all pages are there");
        assert_eq!(all, rows.len());
    }
}
