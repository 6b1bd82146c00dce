//! Change of each file by an edit: the lines of its new text, and the numbers of added and removed lines.

use crate::code_text::lines::{line_and_column, split};
use crate::code_text::merge::changes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Change of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Changed {
    /// The file.
    pub path: String,
    /// First and last new line, or the line after removed ones; absent if the file was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<(usize, usize)>,
    /// Number of added lines.
    pub added: usize,
    /// Number of removed lines.
    pub removed: usize,
}

impl Changed {
    /// Compares two texts of a file; `None` if there is no file.
    pub fn from_texts(path: &str, old: Option<&str>, new: Option<&str>) -> Self {
        let before = old.unwrap_or_default();
        let after = new.unwrap_or_default();
        let all = changes(before, after);
        let count = |text: &str| split(text).count();
        let lines = new.and_then(|_| {
            let (first, last) = (all.first()?, all.last()?);
            let from = line_and_column(after, first.new.start).0;
            // The end of a range is the start of the line after it.
            let to = from + count(&after[first.new.start..last.new.end]);
            Some((from, (to - 1).max(from)))
        });
        Self {
            path: path.to_owned(),
            lines,
            added: all.iter().map(|change| count(&after[change.new.clone()])).sum(),
            removed: all.iter().map(|change| count(&before[change.old.clone()])).sum(),
        }
    }

    /// Whether the file was deleted.
    pub fn is_gone(&self) -> bool {
        self.lines.is_none()
    }
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lines {
            Some((from, to)) if from == to => write!(f, "{}:{from}", self.path),
            Some((from, to)) => write!(f, "{}:{from}-{to}", self.path),
            None => write!(f, "{} (gone)", self.path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn described(old: Option<&str>, new: Option<&str>) -> String {
        let changed = Changed::from_texts("a", old, new);
        format!("{changed} +{} -{}", changed.added, changed.removed)
    }

    #[test]
    fn new_lines_are_named_and_counted() {
        assert_eq!(described(Some("a\nb\nc\n"), Some("a\nx\ny\nc\n")), "a:2-3 +2 -1");
        assert_eq!(described(Some("a\r\nb\r\nc"), Some("a\r\nc")), "a:2 +0 -1");
        assert_eq!(described(None, Some("a\nb\n")), "a:1-2 +2 -0");
        assert_eq!(described(Some("a\n"), None), "a (gone) +0 -1");
        assert_eq!(described(Some("a\nb\nc\nd\n"), Some("x\nb\nc\ny\n")), "a:1-4 +2 -2");
    }

    proptest! {
        #[test]
        fn outside_of_the_new_lines_nothing_changed(old in "([abc]{0,2}\n){0,8}", new in "([abc]{0,2}\n){0,8}") {
            let changed = Changed::from_texts("a", Some(&old), Some(&new));
            let (before, after): (Vec<&str>, Vec<&str>) = (split(&old).collect(), split(&new).collect());
            prop_assert_eq!(before.len() + changed.added, after.len() + changed.removed);
            if let Some((from, to)) = changed.lines {
                prop_assert_eq!(&before[..from - 1], &after[..from - 1]);
                let behind = after.len().saturating_sub(to);
                prop_assert_eq!(&before[before.len() - behind..], &after[after.len() - behind..]);
            } else {
                prop_assert_eq!(old, new);
            }
        }
    }
}
