//! Operations of `edit` about whole files: deleting, moving and renaming them.

use super::edit::Edit;
use super::edit_by_symbol::{SymbolEdit, rewriting, text_in_workspace, wrong_argument};
use super::edit_check::{find_losses_of_dry_run, names_lost, with_compiler, with_losses_of_dry_run, with_lost_names};
use super::{Method, window};
use crate::desk::Desk;
use crate::desk::clock::current_seconds;
use crate::failed::Failed;
use workbench::edit::disk::Disk;
use workbench::edit::files::Files;
use workbench::edit::order::Rewritten;
use workbench::edit::response::Response;
use workbench::editable_paths::Refused;

/// Returns the real path of a file that an edit may delete or create.
fn editable_path(disk: &Disk, given: &str) -> Result<String, Failed> {
    disk.resolve(given).map_err(|why| {
        let hint = match why {
            Refused::Manifest(_) => "`patch` can change it, with `--manifest` (JSON: manifest); nothing was changed",
            _ => why.hint(),
        };
        wrong_argument(&why.to_string(), hint)
    })
}

impl SymbolEdit<'_> {
    pub fn delete_file(&self, desk: &mut Desk<'_>, is_strict: bool) -> Result<Response, Failed> {
        let (path, before) = self.file_to_move(desk)?;
        let summary = format!("deleted {path}");
        let gone = Rewritten {
            path,
            before: Some(before),
            ..Rewritten::default()
        };
        self.change_files(desk, "delete", summary, vec![gone], is_strict)
    }

    /// Moves a file to another path or folder; with `is_name`, the new text is its name in the same folder.
    pub fn move_file(&self, desk: &mut Desk<'_>, is_name: bool, is_strict: bool) -> Result<Response, Failed> {
        let (path, before) = self.file_to_move(desk)?;
        let root = window::root_of_workspace(desk)?;
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let given = match is_name {
            true if self.new.contains(['/', '\\']) || matches!(self.new, "" | "." | "..") => {
                return Err(wrong_argument(
                    &format!("`{}` is not a file name; nothing was changed", self.new),
                    "name it without a folder; `move` moves it to another one",
                ));
            }
            true => format!("{folder}/{}", self.new),
            false if root.join(self.new).is_dir() => format!("{}/{name}", self.new.trim_end_matches('/')),
            false => self.new.to_owned(),
        };
        let to = editable_path(&Disk::new(&root), given.trim_start_matches('/').trim_start_matches("./"))?;
        if to == path {
            return Err(wrong_argument(
                &format!("{to} is where it is already; nothing was changed"),
                "name another path",
            ));
        }
        let operation = if is_name { "rename_file" } else { "move" };
        let summary = format!("moved {path} to {to}");
        let files = vec![
            Rewritten {
                path: path.clone(),
                before: Some(before.clone()),
                ..Rewritten::default()
            },
            Rewritten {
                path: to,
                before: None,
                after: Some(before),
                like: Some(path),
            },
        ];
        self.change_files(desk, operation, summary, files, is_strict)
    }

    /// Returns the requested file, and its text.
    fn file_to_move(&self, desk: &mut Desk<'_>) -> Result<(String, String), Failed> {
        let given = self.path.unwrap_or_default();
        let disk = Disk::new(&window::root_of_workspace(desk)?);
        let path = editable_path(&disk, given)?;
        if disk.is_link(given) {
            let why = format!("{given} is a link to {path}, and would lead nowhere without it");
            return Err(wrong_argument(&why, &format!("nothing was changed: name {path} itself")));
        }
        let found = self.to.plan_in(desk, Edit::NAME, |desk| text_in_workspace(desk, &path))?;
        found.map(|text| (path.clone(), text)).ok_or_else(|| {
            wrong_argument(
                &format!("{path} is not a text file of the workspace"),
                "check the path; nothing was changed",
            )
        })
    }

    fn change_files(
        &self,
        desk: &mut Desk<'_>,
        operation: &'static str,
        summary: String,
        files: Vec<Rewritten>,
        is_strict: bool,
    ) -> Result<Response, Failed> {
        let refusal = format!("{} stays as it is", self.path.unwrap_or_default());
        let rewriting = rewriting(
            operation,
            &refusal,
            "nothing was changed; first change the code that is named, or leave `strict` out",
        );
        // As a saved edit, a dry run does not wait until the whole workspace is read for the first time.
        let was_asked = desk.context.store_folder().is_some_and(|folder| folder.exists());
        let looks_dry = self.to.is_dry && was_asked && desk.context.overlay().is_none();
        let mut losses = Vec::new();
        let done = rewriting.perform(desk, &files, self.to, |inside| {
            if !is_strict {
                if looks_dry {
                    losses = find_losses_of_dry_run(inside, &files);
                }
                return Ok(Ok(()));
            }
            let names = inside.workspace_names()?;
            names_lost(inside, &names.symbols, &files)
        })?;
        if self.to.is_dry {
            let summary = format!("{summary}: a dry run, nothing was changed");
            return Ok(with_losses_of_dry_run(Response { summary, ..done }, losses));
        }
        let done = with_lost_names(desk, Response { summary, ..done }, is_strict, current_seconds());
        Ok(with_compiler(desk, done, false))
    }
}
