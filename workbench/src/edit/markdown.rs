//! The Markdown form of an answer (seed 004 §6), byte for byte, and its parser, which checks every part. Headings are in the language of the form;
//! each part is on one line.

use super::candidate::Candidate;
use super::flags::{Flag, Flags, flags_allowed};
use super::response::{Metrics, Response};
use super::state::{Status, WorkflowState};
use serde::de::DeserializeOwned;
use std::borrow::Cow;

const OVERVIEW: &str = "概览";
const NOTHING: &str = "(留空)";
const METRICS: &str = "### [Metrics] 指标\n| 指标 | 值 |\n| --- | --- |\n";
const CANDIDATES: &str = "### [Target] 候选选区\n| Id | MarkerStart | MarkerEnd | Preview | Occurrence | ContextStart | ContextEnd |\n\
                          | --- | --- | --- | --- | --- | --- | --- |\n";
const DETAIL: &str = "### [Detail] 详情\n";

/// The parsed Markdown form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedMarkdown {
    pub status: Status,
    pub state: WorkflowState,
    pub flags: Flags,
    pub summary: String,
    pub guidance: Option<String>,
    pub metrics: Metrics,
    /// The table of candidates; it does not have their lines.
    pub candidates: Option<Vec<Candidate>>,
    /// The detail after the tables.
    pub detail: Option<String>,
}

/// The place where a text violates the form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer has not its form: {0}")]
pub struct SchemaError(pub String);

fn icon(status: Status) -> &'static str {
    match status {
        Status::Success | Status::NoOp => "OK",
        Status::MultiMatch | Status::NoMatch | Status::ExternalConflict => "Warning",
        Status::PersistFailure | Status::Exception => "Fail",
    }
}

/// Formats an answer, without a line end at its end.
pub fn format(response: &Response) -> String {
    let flags: Vec<String> = response.flags.names.iter().map(|flag| format!("`{flag:?}`")).collect();
    let flags = if flags.is_empty() { "-".to_owned() } else { flags.join(", ") };
    let mut text = format!(
        "status: `{}`\nstate: `{}`\nflags: {flags}\n\n### [{}] {OVERVIEW}\n- summary: {}\n- guidance: {}\n\n",
        response.status,
        response.workflow_state,
        icon(response.status),
        line(&response.summary),
        response.guidance.as_deref().map_or(Cow::Borrowed(NOTHING), line),
    );
    let Metrics {
        delta,
        new_length,
        selection_count,
    } = response.metrics;
    let delta = if delta > 0 { format!("+{delta}") } else { delta.to_string() };
    let count = selection_count.map_or("-".to_owned(), |count| count.to_string());
    text.push_str(&format!(
        "{METRICS}| delta | {delta} |\n| new_length | {new_length} |\n| selection_count | {count} |\n"
    ));
    if let Some(candidates) = &response.candidates {
        text.push('\n');
        text.push_str(CANDIDATES);
        for one in candidates {
            text.push_str(&format!(
                "| {} | {} | {} | {} | {} | {} | {} |\n",
                one.id,
                code(&one.marker_start),
                code(&one.marker_end),
                code(&one.preview),
                one.occurrence,
                one.context_start,
                one.context_end
            ));
        }
    }
    if let Some(detail) = &response.detail {
        let fence = "`".repeat(3.max(longest_run(detail) + 1));
        let end = if detail.ends_with('\n') { "" } else { "\n" };
        text.push_str(&format!("\n{DETAIL}{fence}\n{detail}{end}{fence}\n"));
    }
    text.truncate(text.trim_end_matches('\n').len());
    text
}

/// Joins the lines of a text into one.
fn line(text: &str) -> Cow<'_, str> {
    if text.contains(['\n', '\r']) {
        return Cow::Owned(
            text.split(['\n', '\r'])
                .map(str::trim)
                .collect::<Vec<_>>()
                .join(" ")
                .trim()
                .to_owned(),
        );
    }
    Cow::Borrowed(text)
}

/// Formats inline code for a table cell: with a fence longer than any run of backticks in it, and escaped pipes.
fn code(text: &str) -> String {
    let fence = "`".repeat(longest_run(text) + 1);
    let text = line(text).replace('|', "\\|");
    // CommonMark removes one space from both ends, so add one there.
    let room = if text.starts_with('`') || text.ends_with('`') || text.starts_with(' ') && text.ends_with(' ') {
        " "
    } else {
        ""
    };
    format!("{fence}{room}{text}{room}{fence}")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Parses the form. Fails when a part is missing, misspelled or inconsistent; names it.
pub fn parse(text: &str) -> Result<ParsedMarkdown, SchemaError> {
    let wrong = |what: &str| SchemaError(what.to_owned());
    let (head, rest) = text
        .split_once("\n\n")
        .ok_or_else(|| wrong("its head is not followed by an empty line"))?;
    let mut head = head.split('\n');
    let mut field = |name: &str| {
        let line = head.next().unwrap_or_default();
        line.strip_prefix(name)
            .and_then(|line| line.strip_prefix(": "))
            .ok_or_else(|| SchemaError(format!("'{name}' is not where it belongs")))
    };
    let status: Status = parse_word(unquote(field("status")?)?)?;
    let state: WorkflowState = parse_word(unquote(field("state")?)?)?;
    let names = match field("flags")? {
        "-" => Vec::new(),
        names => names
            .split(", ")
            .map(|name| parse_word::<Flag>(unquote(name)?))
            .collect::<Result<_, _>>()?,
    };
    if head.next().is_some() {
        return Err(wrong("its head has more than three lines"));
    }
    let flags = Flags::from_list(names.iter().copied());
    if flags.names != names {
        return Err(wrong("its flags are not in their order"));
    }
    if !flags_allowed(state, &flags) {
        return Err(SchemaError(format!("state {state} and these flags do not go together")));
    }
    let overview = rest
        .strip_prefix(&format!("### [{}] {OVERVIEW}\n- summary: ", icon(status)))
        .ok_or_else(|| wrong("its overview does not begin as that of its status"))?;
    let (summary, rest) = overview.split_once("\n- guidance: ").ok_or_else(|| wrong("it has no guidance"))?;
    let (guidance, rest) = rest
        .split_once("\n\n")
        .ok_or_else(|| wrong("its overview is not followed by an empty line"))?;
    if summary.is_empty() || guidance.is_empty() || summary.contains('\n') || guidance.contains('\n') {
        return Err(wrong("summary and guidance have one line each"));
    }
    let rest = rest
        .strip_prefix(METRICS)
        .ok_or_else(|| wrong("its table of figures has another head"))?;
    let mut lines = rest.split('\n');
    let mut figure = |name: &str| {
        let line = lines.next().unwrap_or_default();
        line.strip_prefix(&format!("| {name} | "))
            .and_then(|line| line.strip_suffix(" |"))
            .ok_or_else(|| SchemaError(format!("'{name}' is not among its figures")))
    };
    let number = |text: &str| text.parse::<usize>().map_err(|_| SchemaError(format!("'{text}' is not a number")));
    let delta = figure("delta")?;
    let metrics = Metrics {
        delta: delta.parse().map_err(|_| SchemaError(format!("'{delta}' is not a number")))?,
        new_length: number(figure("new_length")?)?,
        selection_count: match figure("selection_count")? {
            "-" => None,
            count => Some(number(count)?),
        },
    };
    let rest = lines.collect::<Vec<_>>().join("\n");
    let mut rest = rest.strip_prefix('\n').unwrap_or(&rest);
    let mut candidates = None;
    if let Some(rows) = rest.strip_prefix("### [Target]") {
        let rows = format!("### [Target]{rows}");
        let rows = rows
            .strip_prefix(CANDIDATES)
            .ok_or_else(|| wrong("its table of candidates has another head"))?;
        let (rows, _) = rows.split_once("\n\n").unwrap_or((rows, ""));
        candidates = Some(
            rows.trim_end_matches('\n')
                .split('\n')
                .map(candidate)
                .collect::<Result<Vec<_>, _>>()?,
        );
        rest = rest.find(&format!("\n\n{DETAIL}")).map_or("", |at| &rest[at + 2..]);
    }
    let detail = match rest {
        "" => None,
        rest => Some(unfence(
            rest.strip_prefix(DETAIL)
                .ok_or_else(|| wrong("something stands behind its tables"))?,
        )?),
    };
    if candidates.is_some() && metrics.selection_count.is_none() {
        return Err(wrong("it has candidates and does not count them"));
    }
    Ok(ParsedMarkdown {
        status,
        state,
        flags,
        summary: summary.to_owned(),
        guidance: (guidance != NOTHING).then(|| guidance.to_owned()),
        metrics,
        candidates,
        detail,
    })
}

fn parse_word<T: DeserializeOwned>(word: &str) -> Result<T, SchemaError> {
    serde_json::from_value(word.into()).map_err(|_| SchemaError(format!("'{word}' is none of its words")))
}

fn unquote(text: &str) -> Result<&str, SchemaError> {
    let inner = text.strip_prefix('`').and_then(|text| text.strip_suffix('`'));
    inner.ok_or_else(|| SchemaError(format!("{text} does not stand between backticks")))
}

fn candidate(row: &str) -> Result<Candidate, SchemaError> {
    let wrong = || SchemaError(format!("'{row}' is not a row of candidates"));
    let row_text = row.strip_prefix("| ").and_then(|row| row.strip_suffix(" |")).ok_or_else(wrong)?;
    let cells = cells(row_text);
    let [id, start, end, preview, occurrence, from, to] = cells.as_slice() else {
        return Err(wrong());
    };
    let number = |cell: &String| cell.parse::<usize>().map_err(|_| wrong());
    let code = |cell: &String| uncode(cell).ok_or_else(wrong);
    Ok(Candidate {
        id: number(id)?,
        marker_start: code(start)?,
        marker_end: code(end)?,
        preview: code(preview)?,
        occurrence: number(occurrence)?,
        context_start: number(from)?,
        context_end: number(to)?,
        line: 0,
    })
}

/// Splits a row into its cells, with unescaped pipes.
fn cells(row: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut chars = row.chars().peekable();
    while let Some(c) = chars.next() {
        let last = cells.last_mut().expect("invariant: there is always a cell");
        match c {
            '\\' if chars.next_if_eq(&'|').is_some() => last.push('|'),
            '|' => cells.push(String::new()),
            c => last.push(c),
        }
    }
    let count = cells.len();
    // The table itself adds one space at each inner end of a cell.
    let trimmed = cells.into_iter().enumerate().map(|(at, cell)| {
        let cell = if at > 0 {
            cell.strip_prefix(' ').unwrap_or(&cell).to_owned()
        } else {
            cell
        };
        if at + 1 < count {
            cell.strip_suffix(' ').unwrap_or(&cell).to_owned()
        } else {
            cell
        }
    });
    trimmed.collect()
}

fn uncode(cell: &str) -> Option<String> {
    let fence = cell.len() - cell.trim_start_matches('`').len();
    let fence = "`".repeat(fence.min(cell.len() / 2));
    if fence.is_empty() {
        return None;
    }
    let inner = cell.strip_prefix(fence.as_str())?.strip_suffix(fence.as_str())?;
    let roomy = inner.strip_prefix(' ').and_then(|inner| inner.strip_suffix(' '));
    Some(roomy.unwrap_or(inner).to_owned())
}

fn unfence(text: &str) -> Result<String, SchemaError> {
    let wrong = || SchemaError("its details do not stand in a fence".to_owned());
    let (fence, rest) = text.split_once('\n').ok_or_else(wrong)?;
    if fence.len() < 3 || fence.chars().any(|c| c != '`') {
        return Err(wrong());
    }
    Ok(rest.strip_suffix(fence).ok_or_else(wrong)?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::state::{DocumentState, FileRelation, Mode};
    use super::super::{candidate, flags, matching};
    use super::*;
    use proptest::prelude::*;

    fn response(status: Status, state: DocumentState, summary: &str, guidance: Option<&str>) -> Response {
        Response {
            status,
            workflow_state: state.workflow_state(),
            summary: summary.to_owned(),
            guidance: guidance.map(str::to_owned),
            metrics: Metrics {
                delta: 0,
                new_length: 1824,
                selection_count: None,
            },
            candidates: None,
            flags: flags::flags(state, Mode::Manual, status, false),
            session: Some("s".to_owned()),
            path: Some("a.cs".to_owned()),
            operation_id: "s-1".to_owned(),
            allowed: Vec::new(),
            detail: None,
            files: Vec::new(),
            changed: Vec::new(),
            lost: Vec::new(),
            full: false,
        }
    }

    fn candidate_at(id: usize, from: usize, to: usize) -> Candidate {
        Candidate {
            id,
            marker_start: format!("[[SEL#{id}]]"),
            marker_end: format!("[[/SEL#{id}]]"),
            preview: "...Foo() {".to_owned(),
            occurrence: id - 1,
            context_start: from,
            context_end: to,
            line: 0,
        }
    }

    #[test]
    fn the_example_of_the_form_byte_for_byte() {
        let mut response = response(
            Status::MultiMatch,
            DocumentState::SelectionPending(FileRelation::Idle),
            "在目标文本中检测到 3 处候选",
            Some("请选择候选编号后调用 `_replace_selection`,或提供更具体的 `old_text`"),
        );
        response.metrics.selection_count = Some(3);
        response.candidates = Some(vec![
            candidate_at(1, 118, 150),
            candidate_at(2, 312, 344),
            candidate_at(3, 521, 553),
        ]);
        let form = "status: `MultiMatch`
state: `SelectionPending`
flags: `SelectionPending`

### [Warning] 概览
- summary: 在目标文本中检测到 3 处候选
- guidance: 请选择候选编号后调用 `_replace_selection`,或提供更具体的 `old_text`

### [Metrics] 指标
| 指标 | 值 |
| --- | --- |
| delta | 0 |
| new_length | 1824 |
| selection_count | 3 |

### [Target] 候选选区
| Id | MarkerStart | MarkerEnd | Preview | Occurrence | ContextStart | ContextEnd |
| --- | --- | --- | --- | --- | --- | --- |
| 1 | `[[SEL#1]]` | `[[/SEL#1]]` | `...Foo() {` | 0 | 118 | 150 |
| 2 | `[[SEL#2]]` | `[[/SEL#2]]` | `...Foo() {` | 1 | 312 | 344 |
| 3 | `[[SEL#3]]` | `[[/SEL#3]]` | `...Foo() {` | 2 | 521 | 553 |";
        assert_eq!(format(&response), form);
        checked(&response);
    }

    /// Checks that the parsed Markdown equals the response.
    fn checked(response: &Response) {
        let text = format(response);
        let read = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let plain = |candidates: &Option<Vec<Candidate>>| {
            candidates
                .clone()
                .map(|all| all.into_iter().map(|one| Candidate { line: 0, ..one }).collect::<Vec<_>>())
        };
        let detail = response
            .detail
            .clone()
            .map(|detail| if detail.ends_with('\n') { detail } else { format!("{detail}\n") });
        assert_eq!(
            read,
            ParsedMarkdown {
                status: response.status,
                state: response.workflow_state,
                flags: response.flags.clone(),
                summary: line(&response.summary).into_owned(),
                guidance: response.guidance.as_deref().map(|guidance| line(guidance).into_owned()),
                metrics: response.metrics,
                candidates: plain(&response.candidates),
                detail,
            }
        );
    }

    /// Returns the Markdown above the metrics, and checks that it can be parsed.
    fn head(response: &Response) -> String {
        checked(response);
        let text = format(response);
        text.split("\n\n### [Metrics]").next().unwrap_or_default().to_owned()
    }

    #[test]
    fn every_kind_of_answer() {
        let mut pending = response(
            Status::Success,
            DocumentState::On(FileRelation::PersistPending),
            "replaced\nin two lines",
            Some("call `commit`"),
        );
        pending.metrics.delta = 12;
        insta::assert_snapshot!(format(&pending), @"
        status: `Success`
        state: `PersistPending`
        flags: `PersistPending`

        ### [OK] 概览
        - summary: replaced in two lines
        - guidance: call `commit`

        ### [Metrics] 指标
        | 指标 | 值 |
        | --- | --- |
        | delta | +12 |
        | new_length | 1824 |
        | selection_count | - |
        ");
        checked(&pending);
        let mut conflict = response(
            Status::ExternalConflict,
            DocumentState::On(FileRelation::OutOfSync { conflict: true }),
            "both changed it",
            None,
        );
        conflict.metrics.delta = -3;
        conflict.detail = Some("```diff\n-a\n+b\n```".to_owned());
        insta::assert_snapshot!(format(&conflict), @"
        status: `ExternalConflict`
        state: `OutOfSync`
        flags: `OutOfSync`, `ExternalConflict`

        ### [Warning] 概览
        - summary: both changed it
        - guidance: (留空)

        ### [Metrics] 指标
        | 指标 | 值 |
        | --- | --- |
        | delta | -3 |
        | new_length | 1824 |
        | selection_count | - |

        ### [Detail] 详情
        ````
        ```diff
        -a
        +b
        ```
        ````
        ");
        checked(&conflict);
        let unsaved = response(
            Status::PersistFailure,
            DocumentState::On(FileRelation::PersistPending),
            "no room",
            Some("make some"),
        );
        insta::assert_snapshot!(head(&unsaved), @"
        status: `PersistFailure`
        state: `PersistPending`
        flags: `PersistPending`

        ### [Fail] 概览
        - summary: no room
        - guidance: make some
        ");
        let reading = response(
            Status::NoOp,
            DocumentState::Refreshing(FileRelation::Idle),
            "it is being read",
            None,
        );
        insta::assert_snapshot!(head(&reading), @"
        status: `NoOp`
        state: `Refreshing`
        flags: `DiagnosticHint`

        ### [OK] 概览
        - summary: it is being read
        - guidance: (留空)
        ");
        checked(&pending.clone().as_malformed());
        assert!(format(&pending.as_malformed()).contains("- summary: [Fail] 响应格式不符合规范\n"));
    }

    #[test]
    fn malformed_responses_are_rejected() {
        let mut good = response(
            Status::MultiMatch,
            DocumentState::SelectionPending(FileRelation::Idle),
            "a",
            Some("b"),
        );
        good.metrics.selection_count = Some(1);
        good.candidates = Some(vec![candidate_at(1, 0, 1)]);
        let good = format(&good);
        assert!(parse(&good).is_ok());
        for (from, to) in [
            ("status: ", "Status: "),
            ("`MultiMatch`", "`Many`"),
            ("`MultiMatch`", "MultiMatch"),
            ("`SelectionPending`\nflags", "`Idle`\nflags"),
            ("flags: `SelectionPending`", "flags: -"),
            ("flags: `SelectionPending`", "flags: `SelectionPending`\nmore: x"),
            ("[Warning]", "[OK]"),
            ("概览", "概要"),
            ("- guidance: b", "- guidance: "),
            ("| 指标 | 值 |", "| 值 | 指标 |"),
            ("| delta | 0 |", "| delta | x |"),
            ("| new_length", "| length"),
            ("| selection_count | 1 |", "| selection_count | - |"),
            ("MarkerStart | MarkerEnd", "MarkerEnd | MarkerStart"),
            ("| 1 | `[[SEL#1]]`", "| 1 | [[SEL#1]]"),
            ("| 0 | 0 | 1 |", "| 0 | 0 |"),
        ] {
            assert!(good.contains(from), "{from}");
            assert!(parse(&good.replacen(from, to, 1)).is_err(), "{from} → {to}");
        }
        assert!(parse("").is_err());
    }

    proptest! {
        #[test]
        fn written_responses_are_read_back(text in "[a|`\\\\ \n\t\\[SEL#1]{1,20}", needle in "[a|`\\\\ ]{1,2}", detail in "[a`\n]{0,12}") {
            let found = matching::find_occurrences(&text, &needle, 0, candidate::SHOWN);
            let mut response = response(Status::MultiMatch, DocumentState::SelectionPending(FileRelation::Idle), "several", None);
            response.metrics.selection_count = Some(found.count);
            response.candidates = (found.count > 0).then(|| candidate::candidates(&text, needle.len(), &found.at, 0));
            response.detail = Some(detail);
            checked(&response);
        }
    }
}
