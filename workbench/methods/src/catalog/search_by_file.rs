//! Files in place of names: `search CsvReader.cs` lists the types that the file declares.

use super::named_sources::{describe_sources, sources_of};
use super::search::{Hits, Search};
use crate::desk::Desk;
use crate::desk::names::no_file;
use crate::desk::workspace_names::WorkspaceNames;
use crate::failed::Failed;
use engine::values::case_folding::same;
use workbench::symbols::answer_state::AnswerState;
use workbench::symbols::describe::locate_hits;
use workbench::symbols::file_query::{NamedSources, types_of_files};
use workbench::symbols::search::{MOST, Page, parse_kind};

impl Search {
    /// Answers a query that names files or folders; `None` for a query that may be a name.
    pub(super) fn by_file(&self, desk: &mut Desk<'_>, names: &WorkspaceNames) -> Result<Option<Hits>, Failed> {
        let Some((path, found)) = sources_of(desk, &self.query)? else {
            return Ok(None);
        };
        let kind = self.kind.as_deref().map(parse_kind).transpose()?;
        let mut state = AnswerState::default().of_workspace(&names.flaws);
        let mut page = Page::default();
        if let NamedSources::Files(files) = &found {
            page.hits = types_of_files(&names.symbols, files)?;
            page.hits
                .retain(|hit| kind.is_none_or(|kind| kind == "type" || same(&hit.kind, kind)));
            page.total = page.hits.len();
            page.hits.truncate(self.limit.min(MOST));
            locate_hits(desk, &mut page)?;
        }
        match describe_sources(&found) {
            Some(described) => state.notes.push(described),
            None => {
                let why = no_file(desk.open_to_build()?.1, &path).diagnostics.into_iter().next();
                let words = why.map(|why| [Some(why.message), why.hint].into_iter().flatten().collect::<Vec<_>>().join("; "));
                state.notes.extend(words);
            }
        }
        let state = state.page(0, page.hits.len(), page.total, "`outline` of one file lists all");
        Ok(Some(Hits { page, state }))
    }
}
