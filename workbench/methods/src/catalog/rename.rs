//! `rename`: renames a type or a member everywhere.

use super::edit_check::compile_last_edit;
use super::edit_counted::count_outcome;
use super::rewriting::{Destination, Rewriting};
use super::symbols::resolve_for_edit;
use super::{AsTool, Effect, Method};
use crate::desk::Desk;
use crate::desk::workspace_names::WorkspaceNames;
use crate::failed::Failed;
use crate::render::{plural, printable};
use engine::seams::world::World;
use engine::values::codes::ErrorCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;
use workbench::edit::edit_counts::EditOutcome;
use workbench::rename::{self, Plan, ReferenceTexts, RenameRequest, SourceFile};
use workbench::symbols::meaning::Candidate;

/// Rename a type or a member everywhere: declarations, overrides, implementations, uses, using directives and references in documentation.
///
/// All files are saved or none, and `edit undo` undoes the rename. It is refused, with a list of the obstacles: a possible use, a name that
/// clashes, a symbol or a base outside of the workspace, a file that could not be read, is generated or read-only. Before it is saved, the new
/// texts are checked: the same places must use the symbol, and no others.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rename {
    /// A type or member, by any unambiguous name; an overload with its parameters.
    #[serde(alias = "path", alias = "id")]
    #[schemars(extend("x-tool" = ""))]
    symbol: String,
    /// Its new name.
    #[schemars(extend("x-tool" = ""))]
    new: String,
    /// Show what would change, and change nothing.
    #[arg(long)]
    #[serde(default)]
    #[schemars(extend("x-tool" = "Show the diff only"))]
    dry_run: bool,
    /// The edit session whose buffers to change [default: the files].
    #[arg(long, value_name = "HANDLE")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    session: Option<String>,
    /// Leave possible uses as they are, also in code that #if excludes, and list them, instead of refusing.
    #[arg(long)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    leave_possible: bool,
    /// Also change the name in string literals, where it is a whole word.
    #[arg(long)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    strings: bool,
}

/// Result of a rename.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Renamed {
    /// Renamed symbols: paths before and after.
    renamed: Vec<(String, String)>,
    /// The files that change.
    files: Vec<String>,
    /// Number of changed places.
    places: usize,
    /// Possible uses that stay unchanged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left: Vec<String>,
    /// Messages of the compiler of `[edit] check`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lost: Vec<String>,
    /// Why `[edit] check` did not compile the rename.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_compiled: Option<String>,
    /// The changes of a dry run, as a unified diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    /// The session for `edit undo`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
}

/// Most files that the text of an answer names.
const MOST_FILES: usize = 10;

/// Hint of a refused rename.
const CHANGE: &str = "nothing was changed; change the code that is named, or choose another name";

impl Method for Rename {
    const NAME: &'static str = "rename";
    const EFFECT: Effect = Effect::Writes;
    const TOOL: AsTool = AsTool::Own;
    type Answer = Renamed;

    /// A rename writes files, and nothing else in the checkout.
    fn reads(&self) -> bool {
        true
    }

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Renamed, Failed> {
        let renamed = self.answer_rename(desk);
        let outcome = if renamed.is_ok() {
            EditOutcome::Applied
        } else {
            EditOutcome::Failed
        };
        count_outcome(desk, Some(outcome).filter(|_| !self.dry_run));
        renamed
    }

    fn text(answer: &Renamed) -> String {
        let mut text = answer.diff.clone().unwrap_or_default();
        for (old, new) in &answer.renamed {
            text.push_str(&format!("{old} → {new}\n"));
        }
        let (done, count) = (if answer.diff.is_some() { "would change" } else { "changed" }, answer.files.len());
        let shown = answer.files[..count.min(MOST_FILES)].join(", ");
        let more = match count.saturating_sub(MOST_FILES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let (places, files) = (plural(answer.places as u64, "place"), plural(count as u64, "file"));
        text.push_str(&format!("{places} {done} in {files}: {shown}{more}\n"));
        if let Some(why) = &answer.not_compiled {
            text.push_str(&format!("not compiled: {why}\n"));
        }
        for lost in &answer.lost {
            text.push_str(&format!("the compiler says: {lost}\n"));
        }
        for left in &answer.left {
            text.push_str(&format!("left as it is: {left}\n"));
        }
        printable(&text)
    }
}

impl Rename {
    fn answer_rename(&self, desk: &mut Desk<'_>) -> Result<Renamed, Failed> {
        let to = Destination {
            session: self.session.as_deref(),
            is_dry: self.dry_run,
        };
        let plan = to.plan_in(desk, Self::NAME, |desk| self.plan_rename(desk))?;
        let looked = |inside: &mut Desk<'_>| {
            let names: WorkspaceNames = inside.workspace_names()?;
            let gaps = inside.health()?.gaps();
            rename::verify(inside, &names.symbols, &plan, &gaps)
        };
        let refusal = self.refusal();
        let done = self.rewriting(&refusal, CHANGE).perform(desk, &plan.files, to, looked)?;
        let compiled = (!self.dry_run).then(|| compile_last_edit(desk, &done, false)).flatten();
        let (lost, not_compiled) = compiled.map(|found| (found.errors, found.note)).unwrap_or_default();
        Ok(Renamed {
            diff: self.dry_run.then(|| rename::diff(&plan.files)),
            files: plan.files.iter().map(|file| file.path.clone()).collect(),
            renamed: plan.renamed.into_iter().collect(),
            places: plan.places,
            left: plan.left,
            lost,
            not_compiled,
            session: done.session,
        })
    }
}

/// A symbol with the facts about the workspace that a rename or a deletion needs.
pub(super) struct RenameSubject {
    pub names: WorkspaceNames,
    pub candidate: Candidate,
    pub world: Arc<dyn World>,
    gaps: BTreeSet<String>,
    flawed: BTreeSet<String>,
    sources: Vec<SourceFile>,
    references: ReferenceTexts,
}

impl RenameSubject {
    pub fn from_symbol(desk: &mut Desk<'_>, symbol: &str) -> Result<Self, Failed> {
        let names = desk.workspace_names()?;
        let (candidate, _) = resolve_for_edit(desk, &names, symbol)?;
        let gaps = desk.health()?.gaps();
        let flawed = names.flaws.keys().cloned().collect();
        let references = desk.references();
        let (workspace, session) = desk.open_to_build()?;
        Ok(Self {
            names,
            candidate,
            world: workspace.engine.world.clone(),
            gaps,
            flawed,
            sources: session.sources.files(),
            references,
        })
    }

    pub fn request<'s>(&'s self, new: &'s str) -> RenameRequest<'s> {
        RenameRequest {
            candidate: &self.candidate,
            new,
            leave_possible: false,
            in_strings: false,
            gaps: &self.gaps,
            flawed: &self.flawed,
            sources: &self.sources,
            references: &self.references,
        }
    }
}

impl Rename {
    fn plan_rename(&self, desk: &mut Desk<'_>) -> Result<Plan, Failed> {
        let subject = RenameSubject::from_symbol(desk, &self.symbol)?;
        let request = RenameRequest {
            leave_possible: self.leave_possible,
            in_strings: self.strings,
            ..subject.request(&self.new)
        };
        let planned = rename::plan(desk, &subject.names.symbols, &*subject.world, request)?;
        planned.map_err(|way| {
            let hint = match way.0.iter().any(|what| what.contains("possible use")) {
                true => "nothing was changed; change the named code, or keep possible uses with --leave-possible (leavePossible)",
                false => CHANGE,
            };
            self.rewriting(&self.refusal(), hint).refused(&way)
        })
    }

    fn refusal(&self) -> String {
        format!("{} is not renamed to {}", self.symbol, self.new)
    }

    fn rewriting<'r>(&self, refusal: &'r str, hint: &'r str) -> Rewriting<'r> {
        Rewriting {
            method: Self::NAME,
            operation: "rename",
            code: ErrorCode::E_RENAME,
            refusal,
            hint,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_ten_files_and_says_why_nothing_was_compiled() {
        let renamed = Renamed {
            renamed: vec![("N.A#B".to_owned(), "N.A#C".to_owned())],
            files: (0..12).map(|at| format!("{at}.cs")).collect(),
            places: 14,
            left: Vec::new(),
            lost: Vec::new(),
            not_compiled: Some("`[edit] check` waits for `cortex trust`".to_owned()),
            diff: None,
            session: None,
        };
        assert_eq!(
            Rename::text(&renamed),
            "N.A#B → N.A#C\n14 places changed in 12 files: 0.cs, 1.cs, 2.cs, 3.cs, 4.cs, 5.cs, 6.cs, 7.cs, 8.cs, 9.cs and 2 more\nnot compiled: `[edit] check` waits for `cortex trust`\n"
        );
    }
}
