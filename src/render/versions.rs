//! Versions of a target as text and as JSON.

use super::money::{notes, spent};
use super::{Style, duration, moment, on_one_line, printable};
use engine::seams::paid::Notes;
use engine::values::table::{Table, to_json};
use serde_json::{Value, json};
use similar::TextDiff;
use std::sync::Arc;
use workbench::versions::{InputChange, Version};

/// The versions of a target, the newest first.
pub fn list(label: &str, versions: &[Version], style: Style) -> String {
    let mut text = format!("{}\n", style.bold(&printable(label)));
    for version in versions.iter().rev() {
        let mark = match &version.former {
            _ if version.present => style.green(" present"),
            Some(former) => format!("  as {}", style.cyan(&printable(former))),
            None => String::new(),
        };
        let pin = version.pin.as_ref().map_or(String::new(), |pin| {
            let note = pin.note.as_ref().map_or(String::new(), |note| format!(": {}", on_one_line(note)));
            style.yellow(&format!("  pinned{note}"))
        });
        text.push_str(&format!(
            "  {:>3}  {}  {}{mark}{pin}\n",
            version.number,
            if version.is_lost() {
                format!("{:<20}", "no date")
            } else {
                moment(version.at)
            },
            version.output.short()
        ));
        let mut how = Vec::new();
        if let Some(build) = version.build {
            let at = version
                .revision
                .as_ref()
                .map(|found| format!(" at {}", super::builds::revision(found)));
            how.push(format!("build {build}{}", at.unwrap_or_default()));
        }
        let Some(record) = &version.record else {
            if version.is_lost() {
                how.push("lost to damage: only that it was is known".to_owned());
            } else if version.collected {
                how.push("collected: only that it was is known".to_owned());
            }
            if !how.is_empty() {
                text.push_str(&format!("       {}\n", style.dim(&how.join(", "))));
            }
            continue;
        };
        how.push(record.producer.clone());
        how.extend(notes(&record.notes));
        how.extend(confined(&record.notes));
        if let Some(cost) = &record.spent {
            how.push(spent(cost));
        }
        how.push(duration(record.took_us));
        text.push_str(&format!("       {}\n", style.dim(&on_one_line(&how.join(", ")))));
    }
    text
}

/// How far the program that made a result was confined: `ran under strict`; `None` of what no program made.
pub fn confined(notes: &Notes) -> Option<String> {
    match notes.get("sandbox")?.as_str() {
        "none" => Some("ran without a sandbox".to_owned()),
        level => Some(format!("ran under {level}")),
    }
}

/// The same as one document, the oldest first.
pub fn json(label: &str, versions: &[Version]) -> Value {
    let versions: Vec<Value> = versions.iter().map(version_json).collect();
    json!({"label": label, "versions": versions})
}

fn version_json(version: &Version) -> Value {
    let record = version.record.as_ref();
    json!({
        "version": version.number,
        "at": (!version.is_lost()).then_some(version.at),
        "build": version.build,
        "commit": version.revision.as_ref().map(|found| &found.commit),
        "dirty": version.revision.as_ref().and_then(|found| found.dirty),
        "output": version.output.to_string(),
        "present": version.present,
        "former": version.former,
        "pinned": version.pin.as_ref().map(|pin| json!({"at": pin.at, "note": pin.note})),
        "collected": version.collected,
        "producer": record.map(|record| &record.producer),
        "took_us": record.map(|record| record.took_us),
        "spent": record.and_then(|record| record.spent.as_ref()),
        "notes": record.map(|record| &record.notes),
    })
}

/// A blob, if the store still has it.
pub type Kept = Option<Arc<[u8]>>;

/// An input that changed, with what it gave to either version.
pub type ChangedInput = (InputChange, Kept, Kept);

/// Two versions and what is known of them.
pub struct Difference<'d> {
    /// The target.
    pub label: &'d str,
    /// The older version.
    pub from: &'d Version,
    /// The newer one.
    pub to: &'d Version,
    /// Their outputs.
    pub outputs: (Kept, Kept),
    /// The inputs that they do not share.
    pub inputs: Vec<ChangedInput>,
    /// Whether it is known what both were made of.
    pub known: bool,
}

/// So many lines of the difference of one input are shown.
const INPUT_LINES: usize = 40;

/// The difference of the outputs, then of each input that moved.
pub fn difference(difference: &Difference<'_>, style: Style) -> String {
    let name = |version: &Version| {
        let label = version.former.as_deref().unwrap_or(difference.label);
        format!("{label} version {} ({})", version.number, moment(version.at))
    };
    let (from, to) = (name(difference.from), name(difference.to));
    let (before, after) = &difference.outputs;
    let mut text = match unified(before.as_deref(), after.as_deref(), &from, &to) {
        Ok(lines) if lines.is_empty() => format!("{}\n", style.dim("the outputs are the same")),
        Ok(lines) => coloured(&lines, usize::MAX, style),
        Err(why) => match which(difference, [before.is_none(), after.is_none()]) {
            Some(which) => format!(
                "{}\n",
                style.dim(&format!(
                    "the output of {which} is not in the store any more, so the two cannot be compared"
                ))
            ),
            None => format!("{}\n", style.dim(why)),
        },
    };
    if !difference.known {
        let [from, to] = [difference.from, difference.to].map(|version| version.record.is_none());
        let which = which(difference, [from, to]).unwrap_or_default();
        text.push_str(&style.dim(&format!("\nwhat {which} was made of is no longer recorded\n")));
        return text;
    }
    if difference.inputs.is_empty() {
        text.push_str(&style.dim("\nboth were made of the same inputs\n"));
    }
    for (change, before, after) in &difference.inputs {
        let what = match (&change.from, &change.to) {
            (Some(from), Some(to)) => format!("{} → {}", from.short(), to.short()),
            (None, _) => "new".to_owned(),
            (_, None) => "gone".to_owned(),
        };
        text.push_str(&format!(
            "\n{} {} {}\n",
            style.bold(&format!("input {}", printable(&change.role))),
            style.cyan(&printable(&change.label)),
            style.dim(&what)
        ));
        let lines = unified(before.as_deref(), after.as_deref(), "before", "after").unwrap_or_default();
        text.push_str(&coloured(&lines, INPUT_LINES, style));
    }
    text
}

/// Those of the two versions that something is said of, and whether that is so because they were collected.
fn which(difference: &Difference<'_>, said: [bool; 2]) -> Option<String> {
    let name = |version: &Version| {
        let why = match (version.is_lost(), version.collected) {
            (true, _) => ", lost to damage",
            (false, true) => ", collected",
            _ => "",
        };
        format!("version {} ({}{why})", version.number, moment(version.at))
    };
    let named: Vec<String> = [difference.from, difference.to]
        .into_iter()
        .zip(said)
        .filter(|(_, said)| *said)
        .map(|(version, _)| name(version))
        .collect();
    (!named.is_empty()).then(|| named.join(" and of "))
}

/// The same as one document.
pub fn difference_json(difference: &Difference<'_>) -> Value {
    let lines = |before: &Kept, after: &Kept| {
        unified(before.as_deref(), after.as_deref(), "a", "b")
            .ok()
            .map(|lines| lines.concat())
    };
    let inputs: Vec<Value> = difference
        .inputs
        .iter()
        .map(|(change, before, after)| {
            json!({
                "role": &*change.role,
                "label": &*change.label,
                "from": change.from.map(|digest| digest.to_string()),
                "to": change.to.map(|digest| digest.to_string()),
                "diff": lines(before, after),
            })
        })
        .collect();
    json!({
        "label": difference.label,
        "from": version_json(difference.from),
        "to": version_json(difference.to),
        "diff": lines(&difference.outputs.0, &difference.outputs.1),
        "inputs": inputs,
        "inputs_known": difference.known,
    })
}

/// A blob as lines of text; tables as JSON.
fn text_of(blob: &[u8]) -> Option<String> {
    if Table::is_table(blob) {
        let rows = to_json(blob);
        return serde_json::to_string_pretty(&rows).ok();
    }
    let text = std::str::from_utf8(blob).ok()?;
    // JSON on one line would be one changed line.
    let pretty = |value: Value| serde_json::to_string_pretty(&value).ok();
    let one_line = text.starts_with('{') && !text.trim_end().contains('\n');
    let document = one_line.then(|| serde_json::from_str(text).ok().and_then(pretty)).flatten();
    Some(document.unwrap_or_else(|| text.to_owned()))
}

/// Lines of a unified difference, each with its line break.
pub(super) fn unified(before: Option<&[u8]>, after: Option<&[u8]>, from: &str, to: &str) -> Result<Vec<String>, &'static str> {
    let (Some(before), Some(after)) = (before, after) else {
        return Err("the store no longer has one of them");
    };
    let (Some(before), Some(after)) = (text_of(before), text_of(after)) else {
        return Err("they are no text");
    };
    if before == after {
        return Ok(Vec::new());
    }
    let diff = TextDiff::from_lines(&before, &after);
    let text = diff.unified_diff().context_radius(3).header(from, to).to_string();
    Ok(text.lines().map(|line| format!("{line}\n")).collect())
}

pub(super) fn coloured(lines: &[String], most: usize, style: Style) -> String {
    let mut text = String::new();
    for line in lines.iter().take(most) {
        let line = printable(line.trim_end_matches('\n'));
        let shown = match line.as_bytes().first() {
            Some(b'+') => style.green(&line),
            Some(b'-') => style.red(&line),
            Some(b'@') => style.cyan(&line),
            _ => line,
        };
        text.push_str(&shown);
        text.push('\n');
    }
    if lines.len() > most {
        text.push_str(&style.dim(&format!("… {} more lines, --json has them all\n", lines.len() - most)));
    }
    text
}
