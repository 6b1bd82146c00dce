//! Diagnostic logs of edit operations: a JSON line in the log of its category, with the operation's identifier from the answer.

use super::files::Files;
use super::response::Response;
use serde_json::{Value, json};
use std::fmt;

/// A log category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// Searched text and the matches.
    MatchTrace,
    Persistence,
    /// Writes by other programs.
    External,
    /// Answers that violate their schema.
    Schema,
}

impl Category {
    pub const ALL: [Self; 4] = [Self::MatchTrace, Self::Persistence, Self::External, Self::Schema];

    /// Parses a comma-separated list of names: `TextEdit.External`, `TextEdit.*`, `all`.
    pub fn parse_list(list: &str) -> Vec<Self> {
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

/// Events of an operation, for the logs.
#[derive(Default)]
pub struct OperationEvents {
    /// Writes by other programs, one line each.
    pub outside: Vec<Value>,
    /// Saved files and failed saves, one line each.
    pub saves: Vec<Value>,
    /// Places of the searched text.
    pub matches: Option<Value>,
}

/// Most places in a log line.
pub const TRACED: usize = 1000;

/// Result of an operation, for its lines in the logs.
pub struct Log<'o, F> {
    pub files: &'o F,
    /// The name of the operation.
    pub operation: &'static str,
    /// Answer of the operation.
    pub response: &'o Response,
    /// Time of the request, in seconds since 1970.
    pub at: u64,
    /// Duration in microseconds.
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
        self.files.log_line(category, &format!("{line}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::contents::content;
    use super::super::flags::Flag;
    use super::super::order::Order;
    use super::super::perform::check_form;
    use super::super::session_tests::{Coder, leads_on};
    use super::super::state::Mode;
    use super::*;

    /// Returns the lines of a log; checks the common fields of each.
    fn lines(coder: &Coder, category: Category) -> Vec<Value> {
        let lines = coder.files.logged(category);
        for line in &lines {
            for name in ["operation_id", "operation", "status", "state", "flags", "micros", "summary", "at"] {
                assert!(!line[name].is_null(), "{name} is missing: {line}");
            }
        }
        lines
    }

    #[test]
    fn operations_tell_what_they_met() {
        let mut coder = Coder::opened("one two\ntwo\n", Mode::Manual);
        let several = coder.replace("two", "2");
        let line = lines(&coder, Category::MatchTrace).pop().expect("a line");
        assert_eq!(line["operation_id"], several.operation_id);
        assert_eq!(line["matches"]["at"], json!([4, 8]), "{line}");
        assert_eq!(line["matches"]["snapshot"], Value::from(content(Some(b"one two\ntwo\n"))), "{line}");
        coder.select(1);
        coder.files.fill(Some("a.cs"));
        coder.ask(Order::Commit);
        coder.files.fill(None);
        coder.ask(Order::Commit);
        let saves = lines(&coder, Category::Persistence);
        let saves: Vec<&Value> = saves.iter().filter(|line| !line["saves"].is_null()).collect();
        assert_eq!(saves.len(), 2, "{saves:?}");
        assert!(saves[0]["error"].is_string() && saves[1]["error"].is_null(), "{saves:?}");
        assert_eq!(saves[1]["saves"][0]["path"], "a.cs");
        // An edit that is saved at once is logged, too.
        coder.session = None;
        coder.ask_with(Order::Write("three\n".to_owned()), Some("a.cs"), None);
        assert!(lines(&coder, Category::Persistence).iter().any(|line| line["operation"] == "write"));
        coder.files.write("a.cs", "four\n");
        coder.ask(Order::Undo);
        let met = lines(&coder, Category::External).pop().expect("a line");
        assert_eq!((&met["path"], &met["source"]), (&json!("a.cs"), &json!("look")), "{met}");
    }

    #[test]
    fn an_answer_without_its_form_says_so_and_is_written_down() {
        let mut coder = Coder::opened("one\n", Mode::Manual);
        let good = coder.replace("one", "1");
        assert_eq!(check_form(good.clone()).1, None);
        let (bad, form) = check_form(Response {
            summary: String::new(),
            ..good.clone()
        });
        assert!(bad.flags.has(Flag::SchemaViolation) && bad.workflow_state == good.workflow_state);
        assert_eq!(bad.summary, "[Fail] 响应格式不符合规范");
        assert!(bad.guidance.as_deref().is_some_and(|words| words.contains("TextEdit.Schema")));
        leads_on(&bad);
        let form = form.expect("the form");
        assert!(form["form"].as_str().is_some_and(|form| form.contains("- summary: \n")), "{form}");
        assert_eq!(check_form(bad).1, None, "what says so has its form");
    }

    #[test]
    fn logs_are_asked_for_by_name() {
        assert_eq!(
            Category::parse_list("TextEdit.External, textedit.schema;x"),
            [Category::External, Category::Schema]
        );
        assert_eq!(Category::parse_list("all"), Category::ALL);
        assert_eq!(Category::parse_list(""), []);
    }
}
