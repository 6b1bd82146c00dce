//! Facts about a result in a few words.

use engine::build::input_changes::InputChangeKind;

/// Formats the sandbox level of the program that made a result: `ran under strict`; `None` if no program ran.
pub fn sandbox_note(sandbox: Option<&str>) -> Option<String> {
    match sandbox? {
        "none" => Some("ran without a sandbox".to_owned()),
        level => Some(format!("ran under {level}")),
    }
}

/// Formats how an input moved: `ab12 → cd34`.
pub fn describe_move(moved: &InputChangeKind) -> String {
    match moved {
        InputChangeKind::Changed { from, to } => format!("{} → {}", from.short(), to.short()),
        InputChangeKind::Open { from } => format!("{} → has to be built first", from.short()),
        InputChangeKind::Missing { from } => format!("{} → gone", from.short()),
        InputChangeKind::Added { to: Some(to) } => format!("new: {}", to.short()),
        InputChangeKind::Added { to: None } => "new: has to be built first".to_owned(),
        InputChangeKind::Dropped { from } => format!("{} → no longer an input", from.short()),
    }
}
