//! Packs of a workspace: those of `cortex.toml`, and those created at run time, which are stored in `.cortex/packs.toml`.
//!
//! That file contains rows for the manifest's data tables, and is part of a build's definition like the manifest itself. This module writes it; a
//! person may too, but the next change drops comments. The contents of a pack are outputs: `//packs/NAME:selection` and `//packs/NAME:pack`.

mod place;

use crate::checkout;
use crate::error::WorkbenchError;
use crate::location::MANIFEST;
use crate::packs_file::{FILE, MOST_BYTES, decode_packs, unusable};
use crate::workspace::Workspace;
use engine::manifest::model::Manifest;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
pub use place::locate_filter_error;
use producers::csharp::pack::filter;
pub use producers::csharp::pack::select::PackRow;
use producers::csharp::pack::select::names_exist;
use std::collections::BTreeMap;
use std::io;
use toml::{Table, Value};

/// The table of packs.
const TABLE: &str = "pack";
/// The table of the tags that filters name.
const TAGS: &str = "tags";
const HEAD: &str = "# Packs made at run time; cortex rewrites this file with every change. Packs to be shared belong in cortex.toml.\n\n";

/// A pack of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pack {
    /// Name of the pack, as in `//packs/NAME:pack`.
    pub name: String,
    pub row: PackRow,
    /// Whether the pack was created at run time, so that it may be replaced and removed here.
    pub made: bool,
}

/// The result of putting a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackOutcome {
    Added,
    /// A pack of that name was replaced.
    Replaced,
    AlreadyPresent,
}

/// The reason why a pack is not put or removed.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The request is invalid: a malformed filter (`InvalidFilter`), a bad name, or a pack of `cortex.toml`.
    #[error("{}", .0.message)]
    Refused(Box<Diagnostic>),
    /// The workspace cannot be read or the file cannot be written.
    #[error(transparent)]
    Workbench(#[from] WorkbenchError),
}

impl From<io::Error> for PackError {
    fn from(error: io::Error) -> Self {
        Self::Workbench(unusable(&error))
    }
}

/// Returns all packs, by name. Fails when the manifest or the file of packs is wrong.
pub fn list_packs(workspace: &Workspace) -> Result<Vec<Pack>, WorkbenchError> {
    let manifest = workspace.manifest()?;
    let own = workspace.manifest_with("")?;
    let packs = pack_rows(&manifest).map(|(name, row)| Pack {
        made: !is_declared(&own, &name),
        name,
        row,
    });
    Ok(packs.collect())
}

/// Returns the patterns of each tag that filters may name. Fails when the manifest is wrong.
pub fn tags(workspace: &Workspace) -> Result<BTreeMap<String, Vec<String>>, WorkbenchError> {
    let manifest = workspace.manifest()?;
    let rows = manifest.table(TAGS).into_iter().flatten();
    // The manifest has checked the rows against its table, which another ruleset may have declared differently.
    Ok(rows
        .filter_map(|(tag, patterns)| Some((tag.clone(), serde_json::from_value(patterns.clone()).ok()?)))
        .collect())
}

fn pack_rows(manifest: &Manifest) -> impl Iterator<Item = (String, PackRow)> {
    let rows = manifest.table(TABLE).into_iter().flatten();
    // The manifest has checked the rows against its table, which another ruleset may have declared differently.
    rows.filter_map(|(name, row)| Some((name.clone(), serde_json::from_value(row.clone()).ok()?)))
}

fn is_declared(manifest: &Manifest, name: &str) -> bool {
    manifest.table(TABLE).is_some_and(|rows| rows.contains_key(name))
}

/// Adds a pack, or replaces one that was created at run time, and updates the open workspace. Fails when it is refused, or the file cannot
/// be written; then nothing changes.
pub fn write_pack(workspace: &mut Workspace, name: &str, row: &PackRow) -> Result<PackOutcome, PackError> {
    let manifest = workspace.manifest()?;
    let tags: Vec<&str> = manifest.table(TAGS).into_iter().flatten().map(|(tag, _)| tag.as_str()).collect();
    filter::parse_filter(&row.filter)
        .and_then(|filter| names_exist(&filter, &tags))
        .map_err(|error| PackError::Refused(Box::new(error.diagnostic(&row.filter))))?;
    let value = Value::try_from(row).map_err(|error| {
        pack_refused(
            ErrorCode::E_VALUE,
            format!("the pack cannot be stored: {error}"),
            "choose a smaller budget",
        )
    })?;
    let mut put = PackOutcome::AlreadyPresent;
    change_packs(workspace, name, |packs| {
        put = match packs.insert(name.to_owned(), value.clone()) {
            None => PackOutcome::Added,
            Some(old) if old == value => PackOutcome::AlreadyPresent,
            Some(_) => PackOutcome::Replaced,
        };
        put != PackOutcome::AlreadyPresent
    })?;
    Ok(put)
}

/// Removes a pack that was created at run time. Returns whether there was one. The next build removes its outputs. Fails when the pack is
/// in `cortex.toml`, or the file cannot be written.
pub fn remove_pack(workspace: &mut Workspace, name: &str) -> Result<bool, PackError> {
    change_packs(workspace, name, |packs| packs.remove(name).is_some())
}

/// Changes the packs of the file under its lock, if `edit` returns that there is a change to write.
fn change_packs(workspace: &mut Workspace, name: &str, edit: impl FnOnce(&mut Table) -> bool) -> Result<bool, PackError> {
    if is_declared(&workspace.manifest_with("")?, name) {
        let message = format!("the pack '{name}' is in {MANIFEST}, and commands do not change that file");
        return Err(pack_refused(
            ErrorCode::E_PACK,
            message,
            "choose another name, or edit the pack there",
        ));
    }
    let mut now = None;
    let written = checkout::change(&workspace.root, FILE, MOST_BYTES, |bytes| {
        let before = decode_packs(bytes)?;
        // Reports faults of the present file with their positions.
        workspace.manifest_with(&before)?;
        let mut tables: Table = before
            .parse()
            .map_err(|error| pack_refused(ErrorCode::E_SYNTAX, format!("{error}"), "see https://toml.io"))?;
        let packs = tables.entry(TABLE).or_insert_with(|| Table::new().into());
        if !packs.as_table_mut().is_some_and(edit) {
            return Ok(None);
        }
        let body = toml::to_string(&tables).map_err(|error| {
            pack_refused(
                ErrorCode::E_VALUE,
                format!("the packs cannot be written: {error}"),
                "choose another value",
            )
        })?;
        let after = format!("{HEAD}{body}");
        workspace.manifest_with(&after).map_err(|error| match error {
            WorkbenchError::Manifest(mut wrong) if !wrong.is_empty() => PackError::Refused(Box::new(of_request(wrong.remove(0), name))),
            other => other.into(),
        })?;
        now = Some(after.clone());
        Ok::<_, PackError>(Some(after.into_bytes()))
    })?;
    if let Some(text) = now {
        workspace.hold_packs(text);
    }
    Ok(written)
}

/// Adapts a fault of a requested pack, which is in no file yet.
fn of_request(why: Diagnostic, name: &str) -> Diagnostic {
    let message = match ErrorCode::parse(&why.code) {
        Some(ErrorCode::E_NAME) => "this cannot be the name of a pack".to_owned(),
        _ => why.message,
    };
    Diagnostic {
        message,
        found: Some(name.chars().take(120).collect()),
        place: None,
        excerpt: None,
        ..why
    }
}

fn pack_refused(code: ErrorCode, message: String, hint: &str) -> PackError {
    PackError::Refused(Box::new(Diagnostic::error(code, message).hint(hint)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::location::StoreChoice;
    use crate::locks::Access;
    use crate::packs_file::read_packs;
    use crate::workspace::Opening;
    use std::path::Path;
    use std::sync::Arc;

    const MANIFEST_TEXT: &str = "[workspace]\nrulesets = [\"csharp\"]\n[pack.fixed]\nfilter = \"type:A\"\n";

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("folder");
        std::fs::write(folder.path().join(MANIFEST), MANIFEST_TEXT).expect("manifest");
        folder
    }

    fn open(root: &Path) -> Workspace {
        let opening = Opening {
            from: root,
            store: StoreChoice::None,
            options: Default::default(),
            limits: Default::default(),
            trust: Default::default(),
            on_wait: Arc::new(|_| ()),
            hear: None,
            access: Access::Look,
            interrupts: false,
            connect: None,
            overlay: None,
            graphs: None,
            turn: None,
        };
        Workspace::open(opening).expect("a workspace")
    }

    fn row(filter: &str) -> PackRow {
        PackRow {
            filter: filter.to_owned(),
            ..PackRow::default()
        }
    }

    fn names(workspace: &Workspace) -> Vec<(String, bool)> {
        let packs = list_packs(workspace).expect("packs");
        packs.into_iter().map(|pack| (pack.name, pack.made)).collect()
    }

    fn made_packs_text(root: &Path) -> String {
        read_packs(root).expect("readable")
    }

    #[test]
    fn packs_come_change_and_go() {
        let folder = folder();
        let mut workspace = open(folder.path());
        let before = workspace.digest;
        assert_eq!(
            write_pack(&mut workspace, "mine", &row("type:B")).expect("added"),
            PackOutcome::Added
        );
        assert_ne!(workspace.digest, before);
        assert_eq!(names(&workspace), [("fixed".to_owned(), false), ("mine".to_owned(), true)]);
        assert_eq!(
            write_pack(&mut workspace, "mine", &row("type:B")).expect("same"),
            PackOutcome::AlreadyPresent
        );
        let larger = PackRow {
            budget: Some(300),
            semantic: Some(false),
            ..row("type:B\n or type:\"C")
        };
        assert!(matches!(write_pack(&mut workspace, "mine", &larger), Err(PackError::Refused(found)) if found.code == "InvalidFilter"));
        let larger = PackRow {
            filter: "type:B\n or type:C".to_owned(),
            ..larger
        };
        assert_eq!(
            write_pack(&mut workspace, "mine", &larger).expect("replaced"),
            PackOutcome::Replaced
        );
        assert_eq!(list_packs(&open(folder.path())).expect("packs")[1].row, larger);
        assert_eq!(open(folder.path()).digest, workspace.digest);
        assert!(remove_pack(&mut workspace, "mine").expect("removed"));
        assert!(!remove_pack(&mut workspace, "mine").expect("nothing to remove"));
        assert_eq!(names(&workspace), [("fixed".to_owned(), false)]);
    }

    #[test]
    fn a_refused_pack_changes_nothing() {
        let folder = folder();
        let mut workspace = open(folder.path());
        write_pack(&mut workspace, "mine", &row("type:B")).expect("added");
        let (before, digest) = (made_packs_text(folder.path()), workspace.digest);
        for (name, filter, code) in [
            ("fixed", "type:B", "E_PACK"),
            ("a b", "type:B", "E_NAME"),
            ("../x", "type:B", "E_NAME"),
            ("", "type:B", "E_NAME"),
            ("more", "", "InvalidFilter"),
            ("more", "type:A or tag:none", "InvalidFilter"),
        ] {
            match write_pack(&mut workspace, name, &row(filter)) {
                Err(PackError::Refused(found)) => {
                    assert_eq!(found.code, code, "{name}: {found:?}");
                    // The requested row is in no file yet.
                    assert!(found.place.is_none_or(|place| place.file == filter::PLACE), "{name}");
                }
                other => panic!("{name}: {other:?}"),
            }
        }
        assert!(matches!(remove_pack(&mut workspace, "fixed"), Err(PackError::Refused(found)) if found.code == "E_PACK"));
        assert_eq!((made_packs_text(folder.path()), workspace.digest), (before, digest));
        std::fs::write(folder.path().join(".cortex/packs.toml"), "[pack.mine]\nfilter = 1\n").expect("file");
        let found = write_pack(&mut workspace, "more", &row("type:C"));
        assert!(matches!(found, Err(PackError::Workbench(WorkbenchError::Manifest(_)))), "{found:?}");
        assert_eq!(made_packs_text(folder.path()), "[pack.mine]\nfilter = 1\n");
    }

    #[test]
    fn parallel_additions_lose_nothing() {
        let folder = folder();
        std::thread::scope(|scope| {
            for number in 0..8 {
                let root = folder.path();
                scope.spawn(move || write_pack(&mut open(root), &format!("p{number}"), &row("type:B")).expect("added"));
            }
        });
        assert_eq!(names(&open(folder.path())).len(), 9);
    }
}
