//! `history`: the versions of a target.

use super::{AsTool, Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::request_context::RequestContext;
use crate::desk::{last_good, names};
use crate::failed::Failed;
use crate::render::money::{format_notes, spent};
use crate::render::result_facts::sandbox_note;
use crate::render::{Style, duration, moment, on_one_line, printable};
use engine::build::session::Session;
use engine::seams::annotate::Revision;
use engine::seams::paid::{Notes, Spent};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use workbench::versions::{Version, lineage};
use workbench::workspace::Workspace;

/// List the versions of a target with their times, inputs and costs.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HistoryOf {
    /// A label, or the name of a type or member.
    pub label: String,
}

/// The versions of a target.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct History {
    /// Its label.
    pub label: String,
    /// Versions, oldest first.
    pub versions: Vec<VersionFacts>,
}

/// A version.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct VersionFacts {
    /// Its number, from 1; versions under former names count down from 0.
    pub version: i64,
    /// When it became the output, in seconds since 1970; absent if its output was lost to damage.
    pub at: Option<u64>,
    /// Number of the build in which it became the output.
    pub build: Option<u64>,
    /// The commit at that build.
    pub commit: Option<String>,
    /// Whether files differed from it.
    pub dirty: Option<bool>,
    /// Digest of the output.
    #[schemars(with = "String")]
    pub output: Digest,
    /// Whether it is the present output.
    pub present: bool,
    /// Its label at that time, if its type had another name.
    pub former: Option<String>,
    /// Its pin, if it is pinned.
    pub pinned: Option<PinFacts>,
    /// Whether its output is no longer stored.
    pub collected: bool,
    /// Producer and its version; absent if the record is no longer stored.
    pub producer: Option<String>,
    /// Duration of its run, in microseconds.
    pub took_us: Option<u64>,
    /// Whether its result was already stored under its key: nothing ran, and nothing was paid.
    #[serde(default)]
    pub found: bool,
    /// When its result was produced, in seconds since 1970, if that differs from `at`: the result was found, or produced again with the same output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_at: Option<u64>,
    /// Cost of the model: `calls`, `input_tokens`, `output_tokens`, `micros` …
    #[schemars(with = "Value")]
    pub spent: Option<Spent>,
    /// Notes of the producer about it.
    #[schemars(with = "Value")]
    pub notes: Option<Notes>,
}

/// A pin.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct PinFacts {
    /// When it was set, in seconds since 1970.
    pub at: u64,
    /// Note of the person who pinned it.
    pub note: Option<String>,
}

impl From<Version> for VersionFacts {
    fn from(version: Version) -> Self {
        let (commit, dirty) = match &version.revision {
            Some(found) => (Some(found.commit.clone()), found.dirty),
            None => (None, None),
        };
        let at = (!version.is_lost()).then_some(version.at);
        let record = version.record;
        let is_own = !version.found;
        Self {
            found: version.found,
            made_at: record
                .as_ref()
                .filter(|_| version.found || version.made_again)
                .map(|record| record.made_at),
            version: version.number,
            at,
            build: version.build,
            commit,
            dirty,
            output: version.output,
            present: version.present,
            former: version.former.map(|former| former.to_string()),
            pinned: version.pin.map(|pin| PinFacts {
                at: pin.at,
                note: pin.note,
            }),
            collected: version.collected,
            producer: record.as_ref().map(|record| record.producer.clone()),
            took_us: record.as_ref().filter(|_| is_own).map(|record| record.took_us),
            spent: record.as_ref().filter(|_| is_own).and_then(|record| record.spent.clone()),
            notes: record.map(|record| record.notes),
        }
    }
}

impl VersionFacts {
    /// Returns the commit at the build of the version.
    pub fn revision(&self) -> Option<Revision> {
        Some(Revision {
            commit: self.commit.clone()?,
            dirty: self.dirty,
        })
    }
}

impl Method for HistoryOf {
    const NAME: &'static str = "history";
    const EFFECT: Effect = Effect::Reads;
    const TOOL: AsTool = AsTool::Under("node");
    type Answer = History;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<History, Failed> {
        let context = desk.context;
        let (workspace, session) = desk.open_to_read()?;
        let (label, versions) = find_versions(context, workspace, session, &self.label)?;
        Ok(History {
            label,
            versions: versions.into_iter().map(VersionFacts::from).collect(),
        })
    }

    fn text(answer: &History) -> String {
        Self::styled(answer, Style::plain())
    }

    fn styled(answer: &History, style: Style) -> String {
        list_versions(answer, style)
    }
}

/// Explains why a source file has no versions, with a hint.
pub fn why_no_versions(label: &str) -> Option<(&'static str, String)> {
    let path = engine::build::file_path(label)?;
    let hint = format!("`git log -p -- {path}` shows its history; `cortex explain '{label}'` shows its present state and readers");
    Some(("it is a source file: only outputs have versions", hint))
}

/// Resolves a text to a label; returns it with its versions, oldest first, at least one.
pub fn find_versions(
    context: &RequestContext,
    workspace: &Workspace,
    session: &mut Session,
    text: &str,
) -> Result<(String, Vec<Version>), Failed> {
    let label = match names::one_label(session, text, "looked back on") {
        Ok(label) => label,
        Err(failed) => {
            last_good::remark_missing(context, workspace, session, None, text)?;
            return Err(failed);
        }
    };
    if session.graph.find(&label).is_none() {
        last_good::remark_renamed(context, workspace, session, &label)?;
    }
    let found = lineage(&workspace.root, session, &label)?;
    if found.is_empty() {
        let (what, hint) = match why_no_versions(&label) {
            Some(why) => why,
            None if last_good::remark_missing(context, workspace, session, None, &label)? => {
                ("no version of it is stored", "evicted versions are not listed".to_owned())
            }
            None => ("it was never built in this checkout", format!("cortex build '{label}'")),
        };
        let why = Diagnostic::error(ErrorCode::E_NO_VERSION, what).label(&label);
        return Err(Failed::new(Code::Usage, why.hint(hint)));
    }
    Ok((label, found))
}

/// Formats the versions of a target, the newest first.
fn list_versions(history: &History, style: Style) -> String {
    let mut text = format!("{}\n", style.bold(&printable(&history.label)));
    for version in history.versions.iter().rev() {
        let mark = match &version.former {
            _ if version.present => style.green(" present"),
            Some(former) => format!("  as {}", style.cyan(&printable(former))),
            None => String::new(),
        };
        let pin = version.pinned.as_ref().map_or(String::new(), |pin| {
            let note = pin.note.as_ref().map_or(String::new(), |note| format!(": {}", on_one_line(note)));
            style.yellow(&format!("  pinned{note}"))
        });
        text.push_str(&format!(
            "  {:>3}  {}  {}{mark}{pin}\n",
            version.version,
            version.at.map_or_else(|| format!("{:<20}", "no date"), moment),
            version.output.short()
        ));
        let mut how = Vec::new();
        if let Some(build) = version.build {
            let at = version
                .revision()
                .map(|found| format!(" at {}", crate::render::builds::revision(&found)));
            how.push(format!("build {build}{}", at.unwrap_or_default()));
        }
        let Some(producer) = &version.producer else {
            if version.at.is_none() {
                how.push("lost to damage: only that it was is known".to_owned());
            } else if version.collected {
                how.push("collected: only that it was is known".to_owned());
            }
            if !how.is_empty() {
                text.push_str(&format!("       {}\n", style.dim(&how.join(", "))));
            }
            continue;
        };
        how.push(producer.clone());
        if version.found {
            let made = version.made_at.map_or(String::new(), |at| format!(", built {}", moment(at)));
            how.push(format!("found in the cache{made}"));
            text.push_str(&format!("       {}\n", style.dim(&on_one_line(&how.join(", ")))));
            continue;
        }
        if let Some(at) = version.made_at {
            how.push(format!("rebuilt {} with the same output", moment(at)));
        }
        if let Some(noted) = &version.notes {
            how.extend(format_notes(noted));
            how.extend(sandbox_note(noted.get("sandbox").map(String::as_str)));
        }
        if let Some(cost) = &version.spent {
            how.push(spent(cost));
        }
        how.push(duration(version.took_us.unwrap_or_default()));
        text.push_str(&format!("       {}\n", style.dim(&on_one_line(&how.join(", ")))));
    }
    text
}
