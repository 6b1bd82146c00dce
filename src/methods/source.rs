//! `source`: the text of types and members.

use super::symbols::{meant, notes};
use super::{Effect, Method, arguments};
use crate::context::Failed;
use crate::desk::Desk;
use crate::render::printable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::symbols::resolve::{Candidate, Resolved};
use workbench::symbols::source::{Source, USUAL_LINES, sources};
use workbench::symbols::state::State;

/// Print the source of types and members, exactly, with line numbers.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SourceOf {
    /// Types or members by any unambiguous name.
    #[arg(required = true, value_name = "SYMBOL")]
    #[serde(alias = "symbol", alias = "path", alias = "id", deserialize_with = "arguments::symbols")]
    pub symbols: Vec<String>,
    /// Lines of each at most.
    #[arg(long, value_name = "N", default_value_t = USUAL_LINES)]
    #[serde(default = "usual")]
    pub lines: usize,
}

fn usual() -> usize {
    USUAL_LINES
}

/// The texts.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Texts {
    /// What the first symbol means.
    resolved: Option<Resolved>,
    /// Of each symbol its parts: a stretch of a file. `text` is whole lines as they stand there; `start`, `startColumn`, `end` and `endColumn` tell
    /// where in them the symbol with its documentation stands, in lines and characters (Unicode code points) from 1; `endColumn` is behind the
    /// last. `encoding` is given where the file is not UTF-8, `leftOut` are lines over the limit.
    sources: Vec<Source>,
    state: State,
}

impl Method for SourceOf {
    const NAME: &'static str = "source";
    const EFFECT: Effect = Effect::Looks;
    type Answer = Texts;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Texts, Failed> {
        let names = desk.names()?;
        let mut symbols: Vec<Candidate> = Vec::new();
        let mut renamed = Vec::new();
        for symbol in &self.symbols {
            let (found, former) = meant(desk, &names, symbol)?;
            renamed.extend(former.map(|former| (former, found.path.clone())));
            symbols.push(found);
        }
        let all: Vec<&Candidate> = symbols.iter().collect();
        let sources = sources(desk, &all, self.lines)?;
        let mut state = names.state(symbols.iter().flat_map(|symbol| &symbol.files));
        for (former, path) in &renamed {
            state = state.renamed(Some(former), path);
        }
        for source in &sources {
            state = state.lacking(&source.notes);
        }
        let resolved = symbols.first().map(|one| Resolved {
            path: one.path.clone(),
            type_id: one.type_id.clone(),
            member_id: one.member_id.clone(),
        });
        Ok(Texts { resolved, sources, state })
    }

    fn text(answer: &Texts) -> String {
        let mut text = String::new();
        for source in &answer.sources {
            for part in &source.parts {
                text.push_str(&format!(
                    "// {}  {}:{}-{}\n{}",
                    source.path,
                    part.file,
                    part.start,
                    part.end,
                    part.numbered()
                ));
                if !text.ends_with('\n') {
                    text.push('\n');
                }
            }
        }
        printable(&format!("{text}{}", notes(&answer.state)))
    }
}
