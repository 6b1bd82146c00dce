//! What operations write down about themselves for whoever looks for a fault: a line of JSON in the log of its category, with the name of the
//! operation that its answer has, too.

use super::files::Files;
use super::response::Response;
use serde_json::{Value, json};
use std::fmt;

/// A log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// What was looked for and where it was found.
    MatchTrace,
    /// What was saved.
    Persistence,
    /// What somebody else wrote.
    External,
    /// Answers that have not their form.
    Schema,
}

impl Category {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::MatchTrace, Self::Persistence, Self::External, Self::Schema];

    /// Those that a list of names asks for, with commas between them: `TextEdit.External`, `TextEdit.*`, `all`.
    pub fn wanted(list: &str) -> Vec<Self> {
        let names: Vec<&str> = list.split([',', ';']).map(str::trim).collect();
        let is_wanted = |category: &Self| {
            let own = category.to_string();
            names
                .iter()
                .any(|name| name.eq_ignore_ascii_case(&own) || ["all", "*", "TextEdit", "TextEdit.*"].contains(name))
        };
        Self::ALL.into_iter().filter(is_wanted).collect()
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TextEdit.{self:?}")
    }
}

/// What an operation came to, for its lines in the logs.
pub struct Log<'o, F> {
    /// Where they are written.
    pub files: &'o F,
    /// The name of the operation.
    pub operation: &'static str,
    /// Its answer.
    pub response: &'o Response,
    /// When it was asked, in seconds since 1970.
    pub at: u64,
    /// What it took.
    pub micros: u128,
}

impl<F: Files> Log<'_, F> {
    /// Writes a line with more fields.
    pub fn write(&self, category: Category, more: &Value) {
        let Self { response, .. } = self;
        let found = response.candidates.iter().flatten();
        let found: Vec<Value> = found
            .map(|one| json!([one.id, one.line, one.context_start, one.context_end]))
            .collect();
        let mut line = json!({
            "at": self.at,
            "operation_id": response.operation_id,
            "operation": self.operation,
            "status": response.status,
            "state": response.workflow_state,
            "flags": response.flags.names,
            "path": response.path,
            "micros": self.micros,
            "summary": response.summary,
            "selection_count": response.metrics.selection_count,
            "candidates": found,
        });
        if let (Some(line), Some(more)) = (line.as_object_mut(), more.as_object()) {
            line.extend(more.clone());
        }
        self.files.tell(category, &format!("{line}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_asked_for_by_name() {
        assert_eq!(
            Category::wanted("TextEdit.External, textedit.schema;x"),
            [Category::External, Category::Schema]
        );
        assert_eq!(Category::wanted("all"), Category::ALL);
        assert_eq!(Category::wanted(""), []);
    }
}
