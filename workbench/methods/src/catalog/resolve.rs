//! `resolve`: resolves a name to types or members.

use super::access::is_outside;
use super::paging::default_number;
use super::symbols::{lines_of_notes, resolution};
use super::uncompiled::note_of_name;
use super::{Effect, Method, other_languages};
use crate::code::Code;
use crate::desk::Desk;
use crate::failed::Failed;
use crate::render::printable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::symbols::answer_state::{AnswerState, Empty};
use workbench::symbols::resolve::{How, Resolution};

/// Show which types or members a name means. Builds only the index of names.
///
/// A name is matched as a whole (Namespace.Type+Nested), then as the end of one (Core.NodeStore, NodeStore.Get), then as a pattern with * and ? (a
/// star crosses dots only if nothing matches within a name), ignoring case; a name after global:: must match as a whole. Types that a project
/// compiles are preferred, then types of a namespace over nested ones, then those without type parameters. If several projects have a type of the
/// same name, the name after @ is the project (Node@Core) or the file that declares it; @loose means a type that no project compiles. Identifiers
/// (T_…) and former names of renamed types are known, too. Similar spellings are suggested, never chosen: then the exit code is 2, as for an unknown
/// name.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Resolve {
    /// The name: a type, a member of one (Type.Member, Type#Member(int)), or a pattern.
    #[serde(alias = "path", alias = "id", alias = "typeId", alias = "memberId")]
    pub symbol: String,
    /// Limit of candidates; all are counted.
    #[arg(long, value_name = "N", default_value_t = USUAL)]
    #[serde(default = "default_number::<USUAL>")]
    pub limit: usize,
}

const USUAL: usize = 20;
const MOST: usize = 1000;

/// Answer of `resolve`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Meaning {
    #[serde(flatten)]
    found: Resolution,
    state: AnswerState,
}

impl Method for Resolve {
    const NAME: &'static str = "resolve";
    const ALSO: &'static [&'static str] = &["ResolveSymbol"];
    const EFFECT: Effect = Effect::Looks;
    // Agents use `search`, which reports whole names first.
    const WITHIN: bool = true;
    type Answer = Meaning;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Meaning, Failed> {
        if let Some(other) = other_languages::resolve_other(desk, &self.symbol)? {
            let symbols = other.file_symbols(desk)?;
            let found = Resolution {
                symbol: self.symbol.clone(),
                how: Some(How::Exact),
                resolved: Some(other.resolved()),
                candidates: vec![other.candidate()],
                total: 1,
                former: None,
                owner: None,
            };
            return Ok(Meaning {
                found,
                state: other.state_of_file(&symbols),
            });
        }
        let names = desk.workspace_names()?;
        let mut found = resolution(desk, &names, &self.symbol, self.limit.clamp(1, MOST))?;
        if is_outside(&self.symbol) && matches!(found.how, None | Some(How::Fuzzy)) {
            found.candidate()?;
        }
        found.candidates.truncate(self.limit);
        let mut state = match found.how {
            None | Some(How::Fuzzy) => {
                desk.worsen(Code::Usage);
                let mut state = AnswerState::default().of_workspace(&names.flaws).empty(Empty::Unknown);
                state.notes.extend(note_of_name(desk, &self.symbol)?);
                state.notes.extend(found.describe_outside());
                state
            }
            Some(_) => names.state_of_symbols(found.candidates.iter().flat_map(|one| &one.files)),
        };
        state = state.cut(found.candidates.len(), found.total, "raise `limit`, or write more of the name");
        if let (Some(former), Some(one)) = (&found.former, &found.resolved) {
            state = state.with_former_name(Some(former), &one.path);
        }
        Ok(Meaning { found, state })
    }

    fn text(answer: &Meaning) -> String {
        let found = &answer.found;
        let mut text = match found.how {
            // The notes say that the name is unknown.
            None => String::new(),
            Some(How::Fuzzy) => "similar names:\n".to_owned(),
            Some(_) if found.resolved.is_some() => String::new(),
            Some(_) => format!("{} have this name:\n", found.total),
        };
        for one in &found.candidates {
            let id = one.member_id.as_ref().unwrap_or(&one.type_id);
            let words = format!("{} {}", one.accessibility, one.kind);
            text.push_str(&format!("{}  {id}  {}  {}\n", one.path, words.trim(), list_files(&one.files)));
        }
        printable(&format!("{text}{}", lines_of_notes(&answer.state)))
    }
}

/// Most files that a line lists in full.
const MOST_NAMED: usize = 4;
/// Number of files listed when there are more.
const NAMED: usize = 3;

/// Lists the files that declare a symbol: all of a few, otherwise the first and the number of others.
fn list_files(files: &[String]) -> String {
    match files.len() {
        all if all > MOST_NAMED => format!("{} and {} more files", files[..NAMED].join(", "), all - NAMED),
        _ => files.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::list_files;

    #[test]
    fn a_line_names_few_files() {
        let files = |count: usize| -> Vec<String> { (1..=count).map(|at| format!("{at}.cs")).collect() };
        assert_eq!(list_files(&files(1)), "1.cs");
        assert_eq!(list_files(&files(4)), "1.cs, 2.cs, 3.cs, 4.cs");
        assert_eq!(list_files(&files(30)), "1.cs, 2.cs, 3.cs and 27 more files");
    }
}
