//! Versions of a target as text.

use super::diff::Difference;
use super::history::{History, VersionFacts};
use crate::render::line_diff::coloured;
use crate::render::money::{format_notes, spent};
use crate::render::result_facts::confined;
use crate::render::{Style, duration, moment, on_one_line, printable};

/// Formats the versions of a target, the newest first.
pub fn list_versions(history: &History, style: Style) -> String {
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
            let made = version.made_at.map_or(String::new(), |at| format!(", made {}", moment(at)));
            how.push(format!("found filed under its key{made}"));
            text.push_str(&format!("       {}\n", style.dim(&on_one_line(&how.join(", ")))));
            continue;
        }
        if let Some(at) = version.made_at {
            how.push(format!("rebuilt {} with the same output", moment(at)));
        }
        if let Some(noted) = &version.notes {
            how.extend(format_notes(noted));
            how.extend(confined(noted.get("sandbox").map(String::as_str)));
        }
        if let Some(cost) = &version.spent {
            how.push(spent(cost));
        }
        how.push(duration(version.took_us.unwrap_or_default()));
        text.push_str(&format!("       {}\n", style.dim(&on_one_line(&how.join(", ")))));
    }
    text
}

/// Limit of lines shown of an input's diff.
const INPUT_LINES: usize = 40;

/// Formats the diff of the outputs, then of each changed input.
pub fn difference(difference: &Difference, style: Style) -> String {
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
            coloured(&(head + &lines), usize::MAX, style)
        }
        None => {
            let which = which(difference, difference.kept.map(|kept| !kept));
            let why = which.map_or_else(
                || "they are no text".to_owned(),
                |which| format!("the output of {which} is not in the store any more, so the two cannot be compared"),
            );
            format!("{}\n", style.dim(&why))
        }
    };
    if !difference.inputs_known {
        let unknown = [&difference.from, &difference.to].map(|version| version.producer.is_none());
        let which = which(difference, unknown).unwrap_or_default();
        text.push_str(&style.dim(&format!("\nwhat {which} was made of is no longer recorded\n")));
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
            text.push_str(&coloured(&format!("--- before\n+++ after\n{lines}"), INPUT_LINES, style));
        }
    }
    text
}

fn date(version: &VersionFacts) -> String {
    moment(version.at.unwrap_or_default())
}

/// Names those of the two versions that `said` marks, each with the reason if it was collected or lost.
fn which(difference: &Difference, flags: [bool; 2]) -> Option<String> {
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
