//! Completions of an unfinished reference: files of the source sets, types and members of the index.

use crate::symbols::index::{Symbols, simple_name};
use std::collections::BTreeMap;

/// Limit of completions.
pub const MOST: usize = 50;

/// Returns the paths that match a text, the nearest first: paths that begin with it, then those with a part that does, then those that contain it,
/// each the short ones first.
pub fn complete_files<'f>(paths: impl Iterator<Item = &'f str>, typed: &str) -> Vec<String> {
    let wanted = typed.to_lowercase();
    let rank = |path: &str| {
        let path = path.to_lowercase();
        match path.find(&wanted)? {
            0 => Some(0),
            _ if path.split('/').any(|part| part.starts_with(&wanted)) => Some(1),
            _ => Some(2),
        }
    };
    best_matches(paths.filter_map(|path| Some((rank(path)?, path.to_owned()))))
}

/// Returns the types, and after `TYPE#` the members, that begin with a text. A name that several types have is returned in full.
pub fn complete_symbols(symbols: &Symbols, typed: &str) -> Vec<String> {
    match typed.split_once('#') {
        Some((owner, member)) => complete_members(symbols, owner, member),
        None => complete_types(symbols, typed),
    }
}

fn complete_types(symbols: &Symbols, typed: &str) -> Vec<String> {
    let wanted = typed.to_lowercase();
    let mut by_name: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for key in symbols.keys() {
        by_name.entry(simple_name(key)).or_default().push(key);
    }
    let found = by_name.into_iter().flat_map(|(name, keys)| {
        let folded = name.to_lowercase();
        let alone = keys.len() == 1;
        let wanted = &wanted;
        keys.into_iter().filter_map(move |key| {
            let rank = match folded.find(wanted.as_str()) {
                Some(0) => 0,
                Some(_) => 2,
                None if key.to_lowercase().starts_with(wanted.as_str()) => 1,
                None => return None,
            };
            let full = !alone || rank == 1;
            Some((rank, if full { key } else { name }.to_owned()))
        })
    });
    best_matches(found)
}

fn complete_members(symbols: &Symbols, owner: &str, typed: &str) -> Vec<String> {
    let wanted = typed.to_lowercase();
    let owners: Vec<&str> = symbols.keys().filter(|key| *key == owner || simple_name(key) == owner).collect();
    let holding = match typed {
        "" => (0..symbols.name_count()).collect(),
        typed => symbols.names_holding(typed),
    };
    let names = holding.into_iter().map(|at| symbols.name(at).0);
    let found = names.filter_map(|name| {
        let declares = owners.iter().any(|owner| symbols.declares(owner, name));
        let rank = usize::from(!name.to_lowercase().starts_with(&wanted));
        declares.then(|| (rank, format!("{owner}#{name}")))
    });
    best_matches(found)
}

fn best_matches(found: impl Iterator<Item = (usize, String)>) -> Vec<String> {
    let mut found: Vec<(usize, String)> = found.collect();
    found.sort_by(|(rank, one), (other_rank, other)| (rank, one.len(), one).cmp(&(other_rank, other.len(), other)));
    found.dedup();
    found.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// Returns the common prefix of all candidates, with matching case.
pub fn common(candidates: &[String]) -> &str {
    let Some((first, rest)) = candidates.split_first() else { return "" };
    let mut end = first.len();
    for other in rest {
        let same = first.char_indices().zip(other.chars()).find(|((_, one), other)| one != other);
        end = end.min(same.map_or(first.len().min(other.len()), |((at, _), _)| at));
    }
    &first[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_begin_with_a_text_come_first() {
        let paths = [
            "src/Core/NodeStore.cs", "src/Core/Node.cs", "tests/NodeTests.cs", "no/x.cs", "docs/unode.md",
        ];
        assert_eq!(
            complete_files(paths.into_iter(), "No"),
            [
                "no/x.cs", "src/Core/Node.cs", "tests/NodeTests.cs", "src/Core/NodeStore.cs", "docs/unode.md"
            ]
        );
        assert_eq!(complete_files(paths.into_iter(), "src/core/nodes"), ["src/Core/NodeStore.cs"]);
    }

    #[test]
    fn the_common_beginning_is_whole_characters() {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(common(&owned(&["NodeStore", "NodeCodec", "Node"])), "Node");
        assert_eq!(common(&owned(&["中a", "中b"])), "中");
        assert_eq!(common(&owned(&["é", "ê"])), "");
        assert_eq!(common(&[]), "");
    }
}
