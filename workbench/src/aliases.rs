//! `aliases.json`: the former identifiers of renamed and moved types (seed 000 §3, alias map).
//!
//! It is not an output of the graph: former names do not follow from the present sources, so a build from nothing cannot know them.
//! [`crate::former_types`] derives them from the History of this checkout. The file keeps aliases that History has dropped; deleting both loses the
//! aliases and nothing else.

use crate::type_versions::TypeVersion;
use engine::values::case_folding::strip_end;
use producers::csharp::types::{symbol_of, without_arities};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Path of the file, below the workspace's root.
pub const FILE: &str = ".cortex/out/aliases.json";

/// The content of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Aliases {
    pub schema_version: String,
    /// Former identifiers, each with its successor.
    pub aliases: BTreeMap<String, String>,
    /// The names of the former identifiers.
    pub names: BTreeMap<String, String>,
    /// Digest of the last `//index:types` that was evaluated.
    pub types: String,
}

impl Default for Aliases {
    fn default() -> Self {
        Self {
            schema_version: "1.0".to_owned(),
            aliases: BTreeMap::new(),
            names: BTreeMap::new(),
            types: String::new(),
        }
    }
}

impl Aliases {
    /// Returns the former names of the type with that identifier.
    pub fn former(&self, id: &str) -> impl Iterator<Item = &str> {
        let old = self.aliases.iter().filter(move |(_, new)| *new == id);
        old.filter_map(|(old, _)| self.names.get(old).map(String::as_str))
    }

    /// Returns the present identifiers of the types that had a name with this ending. Case does not matter, numbers of type parameters are optional,
    /// and `.` matches the `+` before a nested type.
    pub fn ids_of_name(&self, name: &str) -> Vec<&str> {
        let wanted = name.replace('+', ".");
        let ends = |whole: &str| {
            let before = strip_end(whole, &wanted);
            before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
        };
        let had = |whole: &&String| {
            let whole = symbol_of(whole).replace('+', ".");
            ends(&whole) || ends(&without_arities(&whole))
        };
        let mut ids: Vec<&str> = self
            .names
            .iter()
            .filter(|(_, name)| had(name))
            .filter_map(|(old, _)| self.aliases.get(old).map(String::as_str))
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    pub(crate) fn add_aliases(&mut self, found: BTreeMap<String, String>, names: &BTreeMap<String, String>) {
        for (old, new) in found {
            self.aliases
                .values_mut()
                .filter(|id| **id == old)
                .for_each(|id| id.clone_from(&new));
            if let Some(name) = names.get(&old) {
                self.names.insert(old.clone(), name.clone());
            }
            self.aliases.insert(old, new);
        }
    }

    /// Removes aliases of types that exist again.
    pub(crate) fn drop_present(&mut self, types: &TypeVersion<'_>) {
        for (old, name) in std::mem::take(&mut self.names) {
            if types.type_row(&name).is_some_and(|row| row.id == old) {
                self.aliases.remove(&old);
            } else if self.aliases.contains_key(&old) {
                self.names.insert(old, name);
            }
        }
    }
}

/// Reads the file of a workspace; empty if the file is missing or invalid.
pub fn read_aliases(root: &Path) -> Aliases {
    let bytes = std::fs::read(aliases_file(root)).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Returns the path of the file.
pub(crate) fn aliases_file(root: &Path) -> PathBuf {
    root.join(FILE)
}

/// Writes the file of a workspace.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn write_aliases(root: &Path, aliases: &Aliases) -> std::io::Result<()> {
    let mut bytes = serde_json::to_vec_pretty(aliases).map_err(std::io::Error::other)?;
    bytes.push(b'\n');
    crate::checkout::write_file(root, FILE, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::values::digest::Digest;
    use engine::values::table::write_table;
    use std::sync::Arc;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect()
    }

    #[test]
    fn aliases_lead_to_the_present_identifier() {
        let mut known = Aliases::default();
        known.add_aliases(map(&[("T_a", "T_b")]), &map(&[("T_a", "N.A")]));
        known.add_aliases(map(&[("T_b", "T_c")]), &map(&[("T_b", "N.B")]));
        assert_eq!(known.aliases, map(&[("T_a", "T_c"), ("T_b", "T_c")]));
        assert_eq!(known.former("T_c").collect::<Vec<_>>(), ["N.A", "N.B"]);
        assert_eq!(
            (known.ids_of_name("A"), known.ids_of_name("N.B"), known.ids_of_name("C")),
            (vec!["T_c"], vec!["T_c"], vec![])
        );
        assert_eq!((known.ids_of_name("n.b"), known.ids_of_name("xn.b")), (vec!["T_c"], vec![]));
        known.add_aliases(map(&[("T_x", "T_y")]), &map(&[("T_x", "N.Many`2")]));
        known.add_aliases(map(&[("T_z", "T_n")]), &map(&[("T_z", "N.Many`2+Row")]));
        assert_eq!((known.ids_of_name("Many"), known.ids_of_name("Many`2")), (vec!["T_y"], vec!["T_y"]));
        for nested in ["Row", "Many.Row", "Many+Row", "N.Many`2+Row"] {
            assert_eq!(known.ids_of_name(nested), ["T_n"], "{nested}");
        }
        known.add_aliases(map(&[("T_o", "T_p")]), &map(&[("T_o", "O.Many")]));
        assert_eq!(
            (known.ids_of_name("Many"), known.ids_of_name("O.Many")),
            (vec!["T_p", "T_y"], vec!["T_p"])
        );
        let mut known = Aliases::default();
        known.add_aliases(map(&[("T_a", "T_b")]), &map(&[("T_a", "N.A")]));
        known.add_aliases(map(&[("T_b", "T_c")]), &map(&[("T_b", "N.B")]));
        // Renamed back: the first name is a present one again.
        known.add_aliases(map(&[("T_c", "T_a")]), &map(&[("T_c", "N.C")]));
        let row = r#"{"accessibility":"public","arity":0,"assembly":"","files":[],"id":"T_a","kind":"class","namespace":"N"}"#;
        let table: Arc<[u8]> = write_table(&BTreeMap::from([("N.A", row)])).into();
        let read_page = |_: &Digest| Ok(Some(table.clone()));
        let types = TypeVersion::from_digest(&read_page, &Digest::of(&table))
            .expect("a store")
            .expect("a table");
        known.drop_present(&types);
        assert_eq!(known.aliases, map(&[("T_b", "T_a"), ("T_c", "T_a")]));
    }

    #[test]
    fn foreign_files_read_as_no_aliases() {
        let folder = tempfile::tempdir().expect("folder");
        std::fs::create_dir_all(folder.path().join(".cortex/out")).expect("folders");
        assert_eq!(read_aliases(folder.path()), Aliases::default());
        std::fs::write(aliases_file(folder.path()), "[1]").expect("file");
        assert_eq!(read_aliases(folder.path()), Aliases::default());
        let mut some = Aliases::default();
        some.add_aliases(map(&[("T_a", "T_b")]), &map(&[("T_a", "N.A")]));
        write_aliases(folder.path(), &some).expect("written");
        write_aliases(folder.path(), &some).expect("written again");
        assert_eq!(read_aliases(folder.path()), some);
    }
}
