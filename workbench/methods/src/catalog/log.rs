//! `log`: the builds of this checkout.

use super::{Effect, Method};
use crate::desk::Desk;
use crate::failed::Failed;
use crate::render::{Style, builds};
use engine::store::builds::BuildRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// List the builds of this checkout, with their work, time and cost.
///
/// Each line has the commit, and whether files differed from it. A build in which no target ran, failed or was cached has no line. The log keeps the
/// newest 1,000 builds.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Log {
    /// Number of builds to list, from the newest.
    #[arg(short = 'n', long, value_name = "N", default_value_t = default_count(), value_parser = clap::value_parser!(u64).range(1..))]
    #[serde(default = "default_count")]
    count: u64,
}

/// The builds.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Builds {
    /// The builds, oldest first: `number`, `at`, `took_us`, `command`, `counts` (`targets`, `ran`, `cached`, `verified`, `failed`, `skipped`), `spent`,
    /// `saved`, `saved_us`, `commit`, `dirty`, `outcome` (`ok`, `failed`, `cancelled`), `slowest`, `producers`, `answers` of models (`full`, `patches`,
    /// `unchanged` or carried over, `rejected`), `gone` (`count` of removed targets, `labels` of the first 256), `failures` (`label`, `code`, `message`
    /// of the first 64).
    #[schemars(with = "Vec<Value>")]
    builds: Vec<BuildRecord>,
}

fn default_count() -> u64 {
    20
}

impl Method for Log {
    const NAME: &'static str = "log";
    const EFFECT: Effect = Effect::Reads;
    type Answer = Builds;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Builds, Failed> {
        // Reads neither manifest nor sources.
        let workspace = desk.context.workspace(Self::NAME)?;
        let mut builds = workbench::build_log::read_build_log(&*workspace.engine.store, workspace.engine.view)?;
        let surplus = builds.len().saturating_sub(usize::try_from(self.count).unwrap_or(usize::MAX));
        builds.drain(..surplus);
        Ok(Builds { builds })
    }

    fn text(answer: &Builds) -> String {
        Self::styled(answer, Style::plain())
    }

    fn styled(answer: &Builds, style: Style) -> String {
        match answer.builds.is_empty() {
            true => "no build of this checkout has run anything yet\n".to_owned(),
            false => builds::log(&answer.builds, style),
        }
    }
}
