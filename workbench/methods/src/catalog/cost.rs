//! `cost`: the cost of model requests of this checkout.

use super::since::Since;
use super::{AsTool, Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::failed::Failed;
use crate::render::money::{amount, spent};
use crate::render::{Style, duration, format_count, moment, plural, printable};
use engine::store::ledger::Outcome as AnswerOutcome;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use workbench::baselines::{Baselines, Questions};
use workbench::spending::{Spending, Sum, spending};
use workbench::spending_groups::{By, Group, groups};

/// Most targets listed by cost; --json has all.
const DEAREST: usize = 10;

/// Sum up the costs of models in this checkout, and the savings by stored answers.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CostOf {
    /// Count only costs since a day (year-month-day) or within a span (12h, 7d, 4w).
    #[arg(long, value_name = "WHEN")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub since: Option<String>,
    /// Also group the costs: by the commit that was checked out, its author, the producer that asked, or the month.
    #[arg(long, value_name = "WHAT", value_parser = parse_grouping)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub by: Option<By>,
}

fn parse_grouping(text: &str) -> Result<By, String> {
    serde_json::from_value(text.into()).map_err(|_| "give commit, author, producer or month".to_owned())
}

/// Costs and savings of models.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// Time since which costs were counted, in seconds since 1970.
    pub since: u64,
    /// Kind of the groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
    /// The groups of `by`: `name`, `spent`, `saved`, and after edits `baselines`: calls and tokens that were `asked`, and estimates of those that
    /// caches of files would have asked (`files`, `types`, `readers`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Value>")]
    pub groups: Vec<Group>,
    /// `first`, `spent`, `by_outcome`, `by_model`, `targets`.
    #[serde(flatten)]
    #[schemars(with = "Value")]
    pub spending: Spending,
}

impl Method for CostOf {
    const NAME: &'static str = "cost";
    const EFFECT: Effect = Effect::Reads;
    const TOOL: AsTool = AsTool::Under("node");
    type Answer = Cost;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Cost, Failed> {
        let since = self.since.as_deref().map(Since::parse_since).transpose();
        let since = since.map_err(|hint| {
            let why = Diagnostic::error(ErrorCode::E_PARAM, "'since' is neither a day nor a span of time");
            Failed::new(Code::Usage, why.found(self.since.clone().unwrap_or_default()).hint(hint))
        })?;
        let (workspace, session) = desk.open_to_read()?;
        let since = since.map_or(0, |since| since.seconds_since_1970_at(session.engine.world.now_secs()));
        let groups = self.by.map(|by| groups(&workspace.root, session, since, by)).transpose()?;
        Ok(Cost {
            since,
            by: self.by,
            groups: groups.unwrap_or_default(),
            spending: spending(session, since)?,
        })
    }

    fn text(answer: &Cost) -> String {
        cost_text(answer, Style::plain())
    }

    fn styled(answer: &Cost, style: Style) -> String {
        cost_text(answer, style)
    }
}

/// Formats `0.0213 EUR and 1.50 USD and 3 without a price`; `nothing` without requests. Currencies are not added.
fn money(sum: &Sum) -> String {
    let known = sum.money.iter().map(|(currency, micros)| format!("{} {currency}", amount(*micros)));
    let unpriced = match sum.unpriced {
        0 => None,
        number if number == sum.times => Some("unknown (no price is set)".to_owned()),
        number => Some(format!("{} without a price", format_count(number))),
    };
    let agents = match sum.agents {
        0 => None,
        number if number == sum.times => Some("no money".to_owned()),
        number => Some(format!("{} by agents", format_count(number))),
    };
    let all: Vec<String> = known.chain(unpriced).chain(agents).collect();
    if all.is_empty() {
        return "nothing".to_owned();
    }
    all.join(" and ")
}

/// Formats `  NAME  12 calls (1.5×), about 300 tokens (4.0×)`, in comparison with what was asked.
fn baseline_line(name: &str, (calls, tokens): (u64, u64), asked: (u64, u64)) -> String {
    format!(
        "  {name:<23} {:>14}{}, about {} tokens{}",
        plural(calls, "call"),
        ratio(calls, asked.0),
        format_count(tokens),
        ratio(tokens, asked.1),
    )
}

/// Formats ` (2.5×)`; nothing without a divisor.
fn ratio(of: u64, by: u64) -> String {
    match by {
        0 => String::new(),
        by => format!(" ({:.1}×)", of as f64 / by as f64),
    }
}

/// Formats what was asked after edits, and estimates of what caches of files would have asked.
fn baseline_lines(found: &Baselines) -> String {
    let pair = |questions: &Questions| (questions.calls, questions.tokens);
    let asked = pair(&found.asked);
    let mut text = format!(
        "  summaries after edits   {:>14}, {} tokens; caches of files would have asked, by estimate:\n",
        plural(asked.0, "call"),
        format_count(asked.1)
    );
    for (name, questions) in [
        ("  one question a file", &found.files),
        ("  types of these files", &found.types),
        ("  types and readers", &found.readers),
    ] {
        text.push_str(&baseline_line(name, pair(questions), asked));
        text.push('\n');
    }
    text
}

/// Returns the cost of the same changes if a model had answered each anew.
fn against_new_answers(found: &Spending) -> Option<String> {
    let mut patched = Sum::default();
    for outcome in [AnswerOutcome::Patch, AnswerOutcome::Unchanged] {
        let sum = found.by_outcome.get(&outcome).cloned().unwrap_or_default();
        patched.times += sum.times;
        patched.spent.add(&sum.spent);
    }
    let tokens = patched.spent.input_tokens + patched.spent.output_tokens;
    let whole = (patched.times, patched.spent.whole_tokens);
    (whole.1 > 0).then(|| baseline_line("as new answers", whole, (u64::from(patched.spent.calls), tokens)))
}

/// Returns the name of a group as people read it: of a commit, its first digits.
fn short(name: &str, by: Option<By>) -> &str {
    match by {
        Some(By::Commit) => name.get(..12).unwrap_or(name),
        _ => name,
    }
}

fn cost_text(answer: &Cost, style: Style) -> String {
    let found = &answer.spending;
    let Some(first) = found.first else {
        return "No model was asked, and no stored answer used.\n".to_owned();
    };
    let mut text = format!("{} {}\n", style.bold("spent"), money(&found.spent));
    let mut line = |name: &str, sum: &Sum| {
        let mut cost = sum.spent.clone();
        cost.micros = None;
        text.push_str(&format!(
            "  {name:<28} {:>5} × {}, {} {}\n",
            format_count(sum.times),
            spent(&cost),
            money(sum),
            style.dim(&format!("({})", duration(sum.took_us)))
        ));
    };
    for (outcome, name) in [
        (AnswerOutcome::Full, "new answers"),
        (AnswerOutcome::Patch, "patches"),
        (AnswerOutcome::Unchanged, "confirmed answers"),
        (AnswerOutcome::Rejected, "unusable answers"),
    ] {
        if let Some(sum) = found.by_outcome.get(&outcome) {
            line(name, sum);
        }
    }
    if found.by_model.len() > 1 {
        for (model, sum) in &found.by_model {
            line(&printable(model), sum);
        }
    }
    if let Some(saved) = found.by_outcome.get(&AnswerOutcome::Saved) {
        text.push_str(&format!("{} {}\n", style.bold("saved"), money(saved)));
        text.push_str(&format!(
            "  stored answers               {:>5} × {}\n",
            format_count(saved.times),
            spent(&engine::seams::paid::Spent {
                micros: None,
                ..saved.spent.clone()
            })
        ));
    }
    text.extend(against_new_answers(found).map(|line| format!("{line}\n")));
    for group in &answer.groups {
        let saved = match group.saved.times {
            0 => String::new(),
            times => format!("; {} stored answers saved {}", format_count(times), money(&group.saved)),
        };
        let name = printable(short(&group.name, answer.by));
        text.push_str(&format!(
            "{}  {} × {}{saved}\n",
            style.cyan(&name),
            format_count(group.spent.times),
            money(&group.spent)
        ));
        let compared = group.baselines.iter().filter(|found| found.files.calls > 0);
        text.extend(compared.map(baseline_lines));
    }
    if answer.groups.is_empty() && !found.targets.is_empty() {
        text.push_str(&format!("{}\n", style.bold("dearest")));
    }
    for (label, sum) in found.targets.iter().take(DEAREST).filter(|_| answer.groups.is_empty()) {
        text.push_str(&format!("  {} {}\n", style.cyan(&printable(label)), style.dim(&money(sum))));
    }
    text.push_str(&style.dim(&format!("since {}\n", moment(first))));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_spent_is_said() {
        let mut found = Spending {
            first: Some(0),
            ..Spending::default()
        };
        found.by_outcome.insert(AnswerOutcome::Saved, Sum::default());
        let answer = Cost {
            since: 0,
            by: None,
            groups: Vec::new(),
            spending: found,
        };
        let output = cost_text(&answer, Style::plain());
        assert!(output.starts_with("spent nothing\nsaved nothing\n"), "{output}");
    }
}
