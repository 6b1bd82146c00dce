//! Files and folders in place of names.

use crate::desk::Desk;
use crate::desk::names::unread_file;
use crate::failed::Failed;
use engine::values::diagnostic::Diagnostic;
use workbench::symbols::file_query::{NamedSources, find_sources, path_in_query};

/// Most paths that a note names.
const NAMED: usize = 5;

/// Returns the sources that a text names; `None` if the text may be a name.
pub(super) fn sources_of(desk: &mut Desk<'_>, text: &str) -> Result<Option<(String, NamedSources)>, Failed> {
    let Some(path) = path_in_query(text) else { return Ok(None) };
    let (_, session) = desk.open_to_build()?;
    let sources: Vec<String> = session.sources.files().into_iter().map(|(path, _)| path).collect();
    let found = find_sources(&path, &sources);
    // A file that no source set has is no name either.
    let found = found.or_else(|| unread_file(session, &path).map(|_| NamedSources::Nothing));
    Ok(found.map(|found| (path, found)))
}

/// Names the first paths, and the number of others.
fn list_paths(paths: &[String]) -> String {
    let shown = paths[..paths.len().min(NAMED)].join(", ");
    match paths.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Describes files or folders, with the next step.
pub(super) fn describe_sources(found: &NamedSources) -> Option<String> {
    Some(match found {
        NamedSources::Nothing => return None,
        NamedSources::Files(files) => match files.as_slice() {
            [file] => format!("{file} is a file: `outline {file}` lists its types and their members"),
            several => format!(
                "{} files have this name: {}; `outline PATH` lists the types of one and their members",
                several.len(),
                list_paths(several)
            ),
        },
        NamedSources::Folders(folders) => match folders.as_slice() {
            [folder] => format!("{folder} is a folder: `outline {folder}` lists its contents"),
            several => format!(
                "{} folders have this name: {}; `outline PATH` lists the contents of one",
                several.len(),
                list_paths(several)
            ),
        },
    })
}

/// Explains in the error for an unknown name that it is a file or folder.
pub(super) fn explain_file(desk: &mut Desk<'_>, text: &str, diagnostic: &mut Diagnostic) -> Result<(), Failed> {
    let described = sources_of(desk, text)?.and_then(|(_, found)| describe_sources(&found));
    if let Some(described) = described {
        diagnostic.message = "this names a file or folder, and no type or member".to_owned();
        diagnostic.hint = Some(described);
        diagnostic.candidates.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_about_files_names_the_next_step() {
        let files = |count: usize| NamedSources::Files((0..count).map(|at| format!("{at}/a.cs")).collect());
        assert_eq!(
            describe_sources(&files(1)).as_deref(),
            Some("0/a.cs is a file: `outline 0/a.cs` lists its types and their members")
        );
        assert_eq!(
            describe_sources(&files(7)).as_deref(),
            Some(
                "7 files have this name: 0/a.cs, 1/a.cs, 2/a.cs, 3/a.cs, 4/a.cs and 2 more; `outline PATH` lists the types of one and their members"
            )
        );
        let folder = NamedSources::Folders(vec!["src/Core/".to_owned()]);
        assert_eq!(
            describe_sources(&folder).as_deref(),
            Some("src/Core/ is a folder: `outline src/Core/` lists its contents")
        );
        assert_eq!(describe_sources(&NamedSources::Nothing), None);
    }
}
