//! Facts about a result in a few words.

use engine::build::input_changes::Moved;

/// Formats the sandbox level of the program that made a result: `ran under strict`; `None` if no program ran.
pub fn confined(sandbox: Option<&str>) -> Option<String> {
    match sandbox? {
        "none" => Some("ran without a sandbox".to_owned()),
        level => Some(format!("ran under {level}")),
    }
}

/// Formats how an input moved: `ab12 → cd34`.
pub fn describe_move(moved: &Moved) -> String {
    match moved {
        Moved::Changed { from, to } => format!("{} → {}", from.short(), to.short()),
        Moved::Open { from } => format!("{} → has to be built first", from.short()),
        Moved::Missing { from } => format!("{} → gone", from.short()),
        Moved::Added { to: Some(to) } => format!("new: {}", to.short()),
        Moved::Added { to: None } => "new: has to be built first".to_owned(),
        Moved::Dropped { from } => format!("{} → no longer an input", from.short()),
    }
}
