//! `search`: names that match.

use super::symbols::{learns, notes};
use super::{Effect, Method};
use crate::context::Failed;
use crate::desk::Desk;
use crate::render::printable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::symbols::search::{Matched, Page, Query, USUAL, describe, search};
use workbench::symbols::state::{Empty, State};

/// Find types and members by a part of their names: whole, beginning, humps (NS for NodeStore), middle, pattern; what is spelled alike if nothing else.
///
/// Types that were renamed are found by their former names, too.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Search {
    /// The query: a part of a name, maybe with a part of what it stands in (Store.Get).
    #[arg(default_value = "")]
    #[serde(default)]
    pub query: String,
    /// Hits on the page, 200 at most; overloads count as one.
    #[arg(long, value_name = "N", default_value_t = USUAL)]
    #[serde(default = "usual")]
    pub limit: usize,
    /// The kind: type, class, struct, interface, enum, delegate, record, record struct, namespace, member, method, constructor,
    /// property, indexer, event, field, constant, enum member, value (what has one).
    #[arg(long, value_name = "KIND")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The namespace: what stands in it, or in one below it.
    #[arg(long, value_name = "NAMESPACE")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The next page: what the page before said.
    #[arg(long, value_name = "CURSOR")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

fn usual() -> usize {
    USUAL
}

/// A page of hits.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Hits {
    #[serde(flatten)]
    page: Page,
    state: State,
}

impl Method for Search {
    const NAME: &'static str = "search";
    const ALSO: &'static [&'static str] = &["SearchSymbols"];
    const EFFECT: Effect = Effect::Looks;
    const WITHIN: bool = true;
    const PAGES: &'static [&'static str] = &["hits"];
    type Answer = Hits;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Hits, Failed> {
        let names = desk.names()?;
        let mut page = loop {
            let aliases = workbench::aliases::read(&desk.context.root().unwrap_or_default());
            let query = Query {
                text: &self.query,
                kind: self.kind.as_deref(),
                namespace: self.namespace.as_deref(),
                limit: self.limit,
                cursor: self.cursor.as_deref(),
                aliases: Some(&aliases),
            };
            let page = search(&names.symbols, &query)?;
            let known = page.filtered > 0 || page.hits.iter().any(|hit| hit.matched != Matched::Fuzzy);
            if known || !learns(desk)? {
                break page;
            }
        };
        let shown = page.hits.len();
        page.hits = describe(desk, std::mem::take(&mut page.hits))?;
        let mut state = State::default().of_workspace(&names.flaws);
        if page.total == 0 {
            let why = if page.filtered > 0 {
                Empty::Filtered(page.filtered)
            } else {
                Empty::Unknown
            };
            state = state.empty(why);
        }
        for hit in &page.hits {
            state = state.renamed(hit.former.as_deref(), &hit.path);
        }
        let more = match page.next.is_some() {
            true => "ask on with the cursor 'next'",
            false => "raise the limit",
        };
        state = state.page(page.start, shown, page.total, more);
        Ok(Hits { page, state })
    }

    fn text(answer: &Hits) -> String {
        let mut text = String::new();
        for hit in &answer.page.hits {
            let words = format!("{} {}", hit.accessibility, hit.kind);
            text.push_str(&format!("{}  {}  {}\n", hit.path, words.trim(), hit.files.join(", ")));
        }
        if let Some(next) = &answer.page.next {
            text.push_str(&format!("next: --cursor {next}\n"));
        }
        printable(&format!("{text}{}", notes(&answer.state)))
    }
}
