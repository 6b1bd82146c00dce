//! `grep`: searches text in sources, with the members around each hit.

use super::paging::default_number;
use super::symbols::{lines_of_notes, state_of_page};
use super::{AsTool, Effect, Method};
use crate::desk::Desk;
use crate::failed::Failed;
use crate::render::printable;
use engine::values::wildcard::Wildcard;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::symbols::answer_state::{AnswerState, Empty};
use workbench::symbols::grep::{Hit, Query, grep, locate};

/// Find lines of sources that match a regular expression, each with its type or member.
///
/// Sources are read in their present state, including unsaved documents of an overlay or a session. The expression is in the syntax of ripgrep,
/// within one line.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Grep {
    /// The regular expression.
    #[serde(alias = "query")]
    #[schemars(extend("x-tool" = false))]
    pub pattern: String,
    /// Search only below this folder, in this file, or in files that match a pattern with * and ?.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = "grep: folder, file or glob"))]
    pub path: Option<String>,
    /// Treat the expression as plain text.
    #[arg(short = 'F', long)]
    #[serde(default)]
    pub fixed: bool,
    /// Ignore case.
    #[arg(short, long)]
    #[serde(default)]
    pub ignore_case: bool,
    /// Match only whole words.
    #[arg(short, long)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    pub word: bool,
    /// Limit of lines; all are counted.
    #[arg(long, value_name = "N", default_value_t = USUAL)]
    #[serde(default = "default_number::<USUAL>")]
    #[schemars(extend("x-tool" = false))]
    pub limit: usize,
    /// Lines to skip: those on earlier pages.
    #[arg(long, value_name = "N", default_value_t)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    pub offset: usize,
}

/// Default number of lines.
const USUAL: usize = 100;

/// The lines.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct GrepAnswer {
    /// Lines by file and line.
    hits: Vec<Hit>,
    /// Number of matching lines.
    total: usize,
    state: AnswerState,
}

impl Method for Grep {
    const NAME: &'static str = "grep";
    const EFFECT: Effect = Effect::Looks;
    const TOOL: AsTool = AsTool::Under("search");
    const WITHIN: bool = true;
    const PAGES: &'static [&'static str] = &["hits"];
    type Answer = GrepAnswer;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<GrepAnswer, Failed> {
        let query = Query {
            pattern: &self.pattern,
            fixed: self.fixed,
            ignore_case: self.ignore_case,
            word: self.word,
        };
        let matcher = query.matcher()?;
        let (workspace, session) = desk.open_to_build()?;
        let world = workspace.engine.world.clone();
        let files = session.sources.files().into_iter().map(|(path, _)| path);
        let files: Vec<String> = files.filter(|path| self.is_within(path)).collect();
        let found = grep(&*world, &files, &matcher);
        let total = found.hits.len();
        let mut hits: Vec<Hit> = found.hits.into_iter().skip(self.offset).take(self.limit).collect();
        if !hits.is_empty() {
            let names = desk.workspace_names()?;
            locate(desk, &names.symbols, &mut hits)?;
        }
        let mut state = AnswerState::default();
        match &self.path {
            Some(path) if files.is_empty() => state.notes.push(match world.read_at_most(path, 1).is_ok() {
                true => format!("{path} is in no source set of the workspace, so it was not searched"),
                false => {
                    format!("no source is in {path}; paths begin at the workspace's root, and only files of source sets are searched")
                }
            }),
            _ if total == 0 => state = state.empty(Empty::None),
            _ => {}
        }
        if found.unread > 0 {
            state
                .notes
                .push(format!("{} sources are not text and were not searched", found.unread));
        }
        Ok(GrepAnswer {
            state: state_of_page(state, (self.offset, hits.len()), total),
            hits,
            total,
        })
    }

    fn text(answer: &GrepAnswer) -> String {
        let mut text = String::new();
        let mut last = None;
        for hit in &answer.hits {
            let head = (hit.file.as_str(), hit.within.as_deref());
            if last.replace(head) != Some(head) {
                text.push_str(hit.file.as_str());
                if let Some(within) = &hit.within {
                    text.push_str(&format!("  {within}"));
                }
                text.push('\n');
            }
            text.push_str(&format!("{}: {}\n", hit.line, hit.text));
        }
        printable(&format!("{text}{}", lines_of_notes(&answer.state)))
    }
}

impl Grep {
    fn is_within(&self, file: &str) -> bool {
        let Some(path) = &self.path else { return true };
        let path = path.trim_start_matches("./").trim_end_matches('/');
        let wanted = Wildcard::new(path);
        match wanted.is_plain() {
            true => file == path || path.is_empty() || path == "." || file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')),
            // A pattern without `/` matches the name of a file.
            false if !path.contains('/') => wanted.matches(file.rsplit('/').next().unwrap_or(file)),
            false => wanted.matches(file),
        }
    }
}
