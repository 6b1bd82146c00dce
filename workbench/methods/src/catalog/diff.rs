//! `diff`: the differences between two versions of a target.

use super::history::{VersionFacts, find_versions};
use super::{AsTool, Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::failed::Failed;
use crate::render::line_diff::{colour_diff, unified_diff};
use crate::render::{Style, moment, printable};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::versions::{Version, blob_of_version, input_changes};

/// Show the differences between two versions of a target, and between their inputs.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Diff {
    /// A label, or the name of a type or member.
    pub label: String,
    /// The older version, by its number in `cortex history` [default: the one before B].
    #[arg(value_name = "A", allow_negative_numbers = true)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub from: Option<i64>,
    /// The newer version [default: the last].
    #[arg(value_name = "B", allow_negative_numbers = true)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub to: Option<i64>,
}

/// The differences between two versions.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The target.
    pub label: String,
    /// The older version.
    pub from: VersionFacts,
    /// The newer version.
    pub to: VersionFacts,
    /// Diff of the outputs; absent if they cannot be compared.
    pub diff: Option<String>,
    /// Whether the store still has the outputs of the older and the newer version.
    pub kept: [bool; 2],
    /// The inputs that differ.
    pub inputs: Vec<InputDifference>,
    /// Whether the inputs of both are known.
    pub inputs_known: bool,
}

/// An input that differs between two versions.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct InputDifference {
    /// Its role in the rule.
    pub role: String,
    /// Its label.
    pub label: String,
    /// Its digest in the older version, if that read it.
    #[schemars(with = "Option<String>")]
    pub from: Option<Digest>,
    /// Its digest in the newer version, if that read it.
    #[schemars(with = "Option<String>")]
    pub to: Option<Digest>,
    /// Its changed lines, if both contents are text and still stored.
    pub diff: Option<String>,
}

impl Method for Diff {
    const NAME: &'static str = "diff";
    const EFFECT: Effect = Effect::Reads;
    const TOOL: AsTool = AsTool::Under("node");
    type Answer = Difference;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Difference, Failed> {
        let context = desk.context;
        let (workspace, session) = desk.open_to_read()?;
        let (label, found) = find_versions(context, workspace, session, &self.label)?;
        let (from, to) = self.positions_of_versions(&label, &found)?;
        let changes = match (&found[from].record, &found[to].record) {
            (Some(from), Some(to)) => Some(input_changes(from, to)),
            _ => None,
        };
        let lines = |from: Option<&Digest>, to: Option<&Digest>| -> Result<_, Failed> {
            let (before, after) = (blob_of_version(session, from)?, blob_of_version(session, to)?);
            let diff = unified_diff(before.as_deref(), after.as_deref(), "a", "b").ok();
            Ok((diff.map(|lines| lines.concat()), [before.is_some(), after.is_some()]))
        };
        let mut inputs = Vec::new();
        for change in changes.iter().flatten() {
            inputs.push(InputDifference {
                role: change.role.to_string(),
                label: change.label.to_string(),
                from: change.from,
                to: change.to,
                diff: lines(change.from.as_ref(), change.to.as_ref())?.0,
            });
        }
        let (diff, kept) = lines(Some(&found[from].output), Some(&found[to].output))?;
        let facts_of = |at: usize| VersionFacts::from(found[at].clone());
        Ok(Difference {
            from: facts_of(from),
            to: facts_of(to),
            label,
            diff,
            kept,
            inputs,
            inputs_known: changes.is_some(),
        })
    }

    fn text(answer: &Difference) -> String {
        Self::styled(answer, Style::plain())
    }

    fn styled(answer: &Difference, style: Style) -> String {
        format_difference(answer, style)
    }
}

impl Diff {
    /// Returns the positions of the two versions.
    fn positions_of_versions(&self, label: &str, found: &[Version]) -> Result<(usize, usize), Failed> {
        let at = |number: i64| {
            let place = found.iter().position(|version| version.number == number);
            place.ok_or_else(|| {
                let numbers: Vec<String> = found.iter().map(|version| version.number.to_string()).collect();
                let why = Diagnostic::error(ErrorCode::E_NO_VERSION, format!("there is no version {number} of it")).label(label);
                Failed::new(Code::Usage, why.hint(format!("there are {}", numbers.join(", "))))
            })
        };
        let to = self.to.map_or(Ok(found.len() - 1), at)?;
        let from = match self.from {
            Some(number) => at(number)?,
            None => to.checked_sub(1).ok_or_else(|| {
                let why = Diagnostic::error(ErrorCode::E_NO_VERSION, "there is no earlier version to compare with").label(label);
                Failed::new(Code::Usage, why.hint(format!("`cortex history '{label}'` lists what there is")))
            })?,
        };
        Ok((from, to))
    }
}

/// Limit of lines shown of an input's diff.
const INPUT_LINES: usize = 40;

/// Formats the diff of the outputs, then of each changed input.
fn format_difference(difference: &Difference, style: Style) -> String {
    let name = |version: &VersionFacts| {
        let label = version.former.as_deref().unwrap_or(&difference.label);
        format!("{label} version {} ({})", version.version, date(version))
    };
    let mut text = match &difference.diff {
        Some(diff) if diff.is_empty() => format!("{}\n", style.dim("the outputs are the same")),
        Some(diff) => {
            // The first two lines name the sides.
            let lines = diff.split_inclusive('\n').skip(2).collect::<String>();
            let head = format!("--- {}\n+++ {}\n", name(&difference.from), name(&difference.to));
            colour_diff(&(head + &lines), usize::MAX, style)
        }
        None => {
            let which = name_versions(difference, difference.kept.map(|kept| !kept));
            let why = which.map_or_else(
                || "they are not text".to_owned(),
                |which| format!("the output of {which} is no longer in the store, so the two cannot be compared"),
            );
            format!("{}\n", style.dim(&why))
        }
    };
    if !difference.inputs_known {
        let unknown = [&difference.from, &difference.to].map(|version| version.producer.is_none());
        let which = name_versions(difference, unknown).unwrap_or_default();
        text.push_str(&style.dim(&format!("\nwhat {which} had as inputs is no longer recorded\n")));
        return text;
    }
    if difference.inputs.is_empty() {
        text.push_str(&style.dim("\nboth have the same inputs\n"));
    }
    for input in &difference.inputs {
        let what = match (&input.from, &input.to) {
            (Some(from), Some(to)) => format!("{} → {}", from.short(), to.short()),
            (None, _) => "new".to_owned(),
            (_, None) => "gone".to_owned(),
        };
        text.push_str(&format!(
            "\n{} {} {}\n",
            style.bold(&format!("input {}", printable(&input.role))),
            style.cyan(&printable(&input.label)),
            style.dim(&what)
        ));
        if let Some(diff) = input.diff.as_deref().filter(|diff| !diff.is_empty()) {
            let lines = diff.split_inclusive('\n').skip(2).collect::<String>();
            text.push_str(&colour_diff(&format!("--- before\n+++ after\n{lines}"), INPUT_LINES, style));
        }
    }
    text
}

fn date(version: &VersionFacts) -> String {
    moment(version.at.unwrap_or_default())
}

/// Names those of the two versions that `said` marks, each with the reason if it was collected or lost.
fn name_versions(difference: &Difference, flags: [bool; 2]) -> Option<String> {
    let name = |version: &VersionFacts| {
        let why = match (version.at, version.collected) {
            (None, _) => ", lost to damage",
            (_, true) => ", collected",
            _ => "",
        };
        format!("version {} ({}{why})", version.version, date(version))
    };
    let named: Vec<String> = [&difference.from, &difference.to]
        .into_iter()
        .zip(flags)
        .filter(|(_, flags)| *flags)
        .map(|(version, _)| name(version))
        .collect();
    (!named.is_empty()).then(|| named.join(" and of "))
}
