//! Applies patches to an overlay: edits of a temporary session on the documents instead of the files. The session is not stored.

use super::OverlayError;
use super::put::{MadeOf, Putting, write_all_documents};
use super::record::unexpired_overlay;
use super::texts;
use crate::edit::edit_log::Category;
use crate::edit::files::{FileWithBytes, Files, Save, SaveError, Stamp};
use crate::edit::order::{EditRequest, Order};
use crate::edit::overlay_record::Overlay;
use crate::edit::patch::{self, PatchOperation};
use crate::edit::perform::perform;
use crate::edit::response::Response;
use crate::edit::saving::finish_merges;
use crate::edit::state::{Mode, Status};
use crate::edit::tree::Tree;
use crate::editable_paths::Refused;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Permissions of a document without known ones.
const USUAL: u32 = 0o644;

/// The files of a workspace as an overlay shows them. A save creates documents, all or none.
struct Within<'f, F: Files> {
    files: &'f F,
    name: &'f str,
    now: u64,
    /// Files whose base the patch does not show, unless the patch is based on the present files.
    unsaid: BTreeSet<String>,
    overlay: RefCell<Option<Overlay>>,
    notes: RefCell<BTreeMap<String, Vec<u8>>>,
    /// Reason why the save was refused.
    refused: RefCell<Option<OverlayError>>,
}

/// The files of a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Patched {
    /// The patch changed these files.
    Changed(Vec<String>),
    /// These files already had the patch's content, so no document was created.
    Same(Vec<String>),
}

/// Applies a patch, whole or not at all. Fails when there is no such overlay, or a part of the patch does not fit, with its position; or
/// when it deletes, without showing the contents, a file that was changed since the overlay was opened.
pub fn apply<F: Files>(files: &F, name: &str, patch: &str, now: u64) -> Result<Patched, OverlayError> {
    apply_over(files, name, patch, false, now)
}

/// As [`apply`]; with `onto_now` the patch is based on the present files. Fails as [`apply`] does.
pub fn apply_over<F: Files>(files: &F, name: &str, patch: &str, onto_now: bool, now: u64) -> Result<Patched, OverlayError> {
    unexpired_overlay(files, name, now)?;
    let unsaid = if onto_now { BTreeSet::new() } else { unsaid(files, patch) };
    let within = Within {
        files,
        name,
        now,
        unsaid,
        overlay: RefCell::default(),
        notes: RefCell::default(),
        refused: RefCell::default(),
    };
    let request = EditRequest {
        order: Order::Patch(patch.to_owned()),
        session: None,
        path: None,
        mode: Some(Mode::Immediate),
        fit: false,
    };
    let response = perform(&within, &request, now);
    if let Some(refused) = within.refused.take() {
        return Err(refused);
    }
    match response.status {
        Status::Success => Ok(Patched::Changed(touched_paths(response))),
        Status::NoOp => Ok(Patched::Same(touched_paths(response))),
        _ => Err(unfit(&response)),
    }
}

/// Returns the files that a patch removes by `*** Delete File`. Every other part shows its base by its lines, or moves a present file.
fn unsaid<F: Files>(files: &F, patch: &str) -> BTreeSet<String> {
    // Applying the patch reports its faults.
    let parts = patch::parse(patch).unwrap_or_default().into_iter();
    let unsaid = parts.filter(|part| matches!(&part.kind, PatchOperation::Delete(hunks) if hunks.is_empty()));
    unsaid.filter_map(|part| files.resolve(&part.path).ok()).collect()
}

fn touched_paths(response: Response) -> Vec<String> {
    match response.files.is_empty() {
        true => response.path.into_iter().collect(),
        false => response.files,
    }
}

/// Converts a session's refusal of a patch.
fn unfit(response: &Response) -> OverlayError {
    let hint = response.guidance.clone().unwrap_or_else(|| "correct the patch".to_owned());
    let mut why = Diagnostic::error(ErrorCode::E_PATCH, response.summary.clone()).hint(hint);
    why.found = response.detail.clone();
    OverlayError::Asked(Box::new(why))
}

/// Documents have no times: the stamp depends on the content only.
fn stamp(digest: &Digest, length: usize) -> Stamp {
    let (first, rest) = digest.0.split_first_chunk().expect("invariant: a digest has 32 bytes");
    let second = rest.first_chunk().copied().unwrap_or_default();
    Stamp {
        of: (0, 0, length as u64, i128::from_be_bytes(*first), i128::from_be_bytes(second)),
    }
}

fn other(error: &OverlayError) -> io::Error {
    io::Error::other(error.to_string())
}

impl<F: Files> Files for Within<'_, F> {
    type EditLock = F::EditLock;

    fn lock_for_editing(&self) -> io::Result<F::EditLock> {
        let alone = self.files.lock_for_editing()?;
        finish_merges(self.files, self.now)?;
        // From now on, use the record as it is under the lock.
        *self.overlay.borrow_mut() = Some(unexpired_overlay(self.files, self.name, self.now).map_err(|error| other(&error))?);
        Ok(alone)
    }

    fn resolve(&self, given: &str) -> Result<String, Refused> {
        self.files.resolve(given)
    }

    fn is_link(&self, given: &str) -> bool {
        self.files.is_link(given)
    }

    fn unique_number(&self) -> u64 {
        self.files.unique_number()
    }

    fn increasing_number(&self) -> u64 {
        self.files.increasing_number()
    }

    fn tree(&self) -> io::Result<Tree> {
        self.files.tree()
    }

    fn is_in_tree(&self, path: &str) -> io::Result<bool> {
        self.files.is_in_tree(path)
    }

    fn log_line(&self, _: Category, _: &str) {}

    fn is_logging(&self) -> bool {
        false
    }

    fn read(&self, path: &str) -> io::Result<Option<FileWithBytes>> {
        let overlay = self.overlay.borrow();
        let Some(document) = overlay.as_ref().and_then(|overlay| overlay.documents.get(path)) else {
            return self.files.read(path);
        };
        let bytes = texts::read_overlay_text(self.files, document.now.as_ref()).map_err(|error| other(&error))?;
        let own = || self.files.read(path).ok().flatten().map(|found| found.mode);
        Ok(bytes.zip(document.now).map(|(bytes, digest)| FileWithBytes {
            stamp: stamp(&digest, bytes.len()),
            mode: document.mode.or_else(own).unwrap_or(USUAL),
            bytes,
        }))
    }

    fn save(&self, saves: &[Save]) -> Result<(), SaveError> {
        for save in saves {
            let path = save.path.clone();
            let seen = self.read(&path).map_err(|error| SaveError::Io { path, saved: 0, error })?;
            if seen.map(|found| found.stamp) != save.seen {
                return Err(SaveError::Moved { path: save.path.clone() });
            }
        }
        let puts: Vec<Putting> = saves
            .iter()
            .map(|save| Putting {
                path: save.path.clone(),
                bytes: save.bytes.as_ref().map(|bytes| bytes.to_vec()),
                mode: save.mode,
                of: if self.unsaid.contains(&save.path) {
                    MadeOf::Opening
                } else {
                    MadeOf::Shown
                },
            })
            .collect();
        let Err(refused) = write_all_documents(self.files, self.name, &puts, self.now) else {
            return Ok(());
        };
        let error = other(&refused);
        *self.refused.borrow_mut() = Some(refused);
        let path = saves.first().map(|save| save.path.clone()).unwrap_or_default();
        Err(SaveError::Io { path, saved: 0, error })
    }

    fn is_staged(&self, _: &str) -> bool {
        false
    }

    fn unstage(&self, _: &str) {}

    fn is_in_place(&self, _: &str) -> bool {
        false
    }

    fn is_one(&self, path: &str, other: &str) -> bool {
        self.files.is_one(path, other)
    }

    fn read_note(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(self.notes.borrow().get(name).cloned())
    }

    fn write_note(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.notes.borrow_mut().insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn append_note(&self, _: &str, _: &str) -> io::Result<u64> {
        Ok(0)
    }

    fn drop_note(&self, name: &str) -> io::Result<()> {
        self.notes.borrow_mut().remove(name);
        Ok(())
    }

    fn notes(&self, folder: &str) -> io::Result<Vec<(String, u64)>> {
        let notes = self.notes.borrow();
        let below = notes
            .iter()
            .filter_map(|(name, bytes)| Some((name.strip_prefix(folder)?.strip_prefix('/')?.to_owned(), bytes.len() as u64)));
        Ok(below.collect())
    }
}
