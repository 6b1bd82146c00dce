//! Renders the live context as sections of Markdown, in a fixed order, within a budget of tokens.
//!
//! Three quarters of the budget are for the document: the changes since the reader's version, or else all of it, or else a window around the cursor
//! or the last change with an outline. The other sections share the rest; if they do not fit, they are cut in this order: recent differences but the
//! last, oldest first; the anchor's difference; plans but the last; the last difference; the last plan. The output names the cuts.
//!
//! Prompt caches match a text by its beginning: sections after the document, such as a failed try or a plan, leave that unchanged.

use super::document::Body;
use super::markdown_line::in_one_line;
use crate::budget::{Budget, tokens};
use crate::context::forms::fence_text;
use crate::edit::difference::Difference;
use crate::edit::editor::Editor;
use crate::edit::journal::{Plan, Version};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of recent differences that are shown.
pub const RECENT: usize = 5;
/// Tokens of the titles that are always there, without the path.
const FRAME: usize = 40;

/// A document with everything that a rendering can show.
#[derive(Clone, Debug)]
pub struct Live<'l> {
    pub path: &'l str,
    pub text: &'l str,
    /// Number of the document's version.
    pub version: u64,
    /// Number of the version that introduced the text; later versions are failed tries.
    pub made: u64,
    /// The version that the reader has, with the changes since; then the text itself is not shown.
    pub since: Option<(u64, Difference)>,
    /// The last change.
    pub changed: Option<&'l Difference>,
    /// Versions, newest first.
    pub recent: Vec<&'l Version>,
    /// The anchor's name, its number, and the changes since.
    pub anchor: Option<(String, u64, Difference)>,
    pub editor: &'l Editor,
    /// Plans, newest first.
    pub plans: Vec<&'l Plan>,
    pub moment: fn(u64) -> String,
}

/// A section.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Section {
    /// Its kind; always `text`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its Markdown.
    pub text: String,
}

/// The form in which the document is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RenderedDocument {
    /// All of it.
    Whole,
    /// Some lines of it, and an outline.
    Window,
    /// The changes since the reader's version.
    Delta,
    /// The reader's version is current.
    Unchanged,
}

/// The rendered sections.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// Sections, in their order.
    pub sections: Vec<Section>,
    /// The form of the document.
    pub shown: RenderedDocument,
    /// First and last shown line.
    pub lines: Option<(usize, usize)>,
    /// Descriptions of omitted parts.
    pub cut: Vec<String>,
    /// Estimated tokens of the sections.
    pub tokens: usize,
}

impl Live<'_> {
    /// Renders the sections within a budget.
    pub fn render(&self, budget: &Budget) -> Rendered {
        let frame = FRAME + tokens(self.path);
        let document = self.document(budget, budget.tokens().saturating_sub(frame) / 4 * 3);
        let mut shown = self.clone();
        let mut cut = Vec::new();
        loop {
            let sections = shown.sections(&document.text);
            let cost: usize = sections.iter().map(|section| budget.cost(&section.text)).sum();
            if cost <= budget.tokens() {
                return assemble(sections, document, cut);
            }
            if shown.recent.len() > 1 {
                let oldest = shown.recent.pop();
                cut.extend(oldest.map(|one| format!("the difference of version {}", one.number)));
            } else if let Some((name, ..)) = shown.anchor.take() {
                cut.push(format!("the difference to {name}"));
            } else if shown.plans.len() > 1 {
                shown.plans.pop();
                cut.push("an earlier plan".to_owned());
            } else if shown.recent.pop().is_some() {
                cut.push("the last difference".to_owned());
            } else if shown.plans.pop().is_some() {
                cut.push("the last plan".to_owned());
            } else {
                return assemble(sections, document, cut);
            }
        }
    }

    /// Renders the document alone, with all of the budget.
    pub fn render_only(&self, budget: &Budget) -> Rendered {
        let document = self.document(budget, budget.tokens());
        assemble(vec![section_of_text(document.text.clone())], document, Vec::new())
    }

    fn sections(&self, document: &str) -> Vec<Section> {
        let mut recent = String::from("## Recent Diffs (new→old)\n\n");
        for version in &self.recent {
            let when = (self.moment)(version.at);
            let what = version
                .report
                .what
                .as_ref()
                .map(|what| format!(", {}", in_one_line(what)))
                .unwrap_or_default();
            recent.push_str(&format!(
                "- Version {}: {} by {}{what}\n",
                version.number,
                when,
                in_one_line(&version.report.author)
            ));
            match &version.report.failed {
                Some(why) => recent.push_str(&format!("  FAILED, nothing was changed: {}\n", in_one_line(why))),
                None if version.same => recent.push_str("  saved, the text is as before\n"),
                None if version.change.patch.is_empty() => recent.push_str("  first seen\n"),
                // The document's section shows all changes since the reader's version.
                None if self.since.is_some() => recent.push_str("  part of the changes above\n"),
                None => recent.push_str(&fence_text("diff", &version.change.patch)),
            }
        }
        let anchor = match &self.anchor {
            None => String::new(),
            Some((name, number, change)) if change.patch.is_empty() => {
                format!(
                    "## Anchor Diff\n\nNothing differs from {} (version {number}).\n\n",
                    in_one_line(name)
                )
            }
            Some((name, number, change)) => format!(
                "## Anchor Diff\n\nSince {} (version {number}):\n{}\n",
                in_one_line(name),
                fence_text("diff", &change.patch)
            ),
        };
        let mut editor = format!("## Editor State\n\n- File: {}\n", in_one_line(self.path));
        if let Some(at) = self.editor.line {
            let column = self.editor.column.map(|column| format!(", column {column}")).unwrap_or_default();
            editor.push_str(&format!("- Cursor: line {at}{column}\n"));
        }
        if let Some(selection) = &self.editor.selection {
            editor.push_str(&format!("- Selection: {}\n", in_one_line(selection)));
        }
        let mut plans = String::new();
        for plan in &self.plans {
            let result = plan
                .result
                .as_ref()
                .map_or("not known yet".to_owned(), |result| in_one_line(result));
            plans.push_str(&format!(
                "- At version {}: {}\n  Result: {result}\n",
                plan.version,
                in_one_line(&plan.plan)
            ));
        }
        let plans = if plans.is_empty() {
            plans
        } else {
            format!("## Plan Hints\n\n{plans}\n")
        };
        let title = "# Live Context\n\n".to_owned();
        let all = [
            title,
            document.to_owned(),
            format!("{recent}\n"),
            anchor,
            format!("{editor}\n"),
            plans,
        ];
        all.into_iter().filter(|text| !text.is_empty()).map(section_of_text).collect()
    }
}

fn section_of_text(text: String) -> Section {
    Section {
        kind: "text".to_owned(),
        text,
    }
}

fn assemble(sections: Vec<Section>, document: Body, mut cut: Vec<String>) -> Rendered {
    cut.extend(document.cut);
    Rendered {
        tokens: sections.iter().map(|section| tokens(&section.text)).sum(),
        sections,
        shown: document.shown,
        lines: document.lines,
        cut,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Room;
    use crate::edit::journal::ChangeReport;
    use proptest::prelude::*;

    fn version(number: u64, author: &str, failed: Option<&str>, patch: &str) -> Version {
        Version {
            number,
            at: number,
            report: ChangeReport {
                author: author.to_owned(),
                what: Some("tidy\nup".to_owned()),
                failed: failed.map(str::to_owned),
            },
            same: false,
            digest: String::new(),
            change: Difference {
                patch: patch.to_owned(),
                lines: Some((2, 2)),
                column: None,
            },
        }
    }

    fn live<'l>(text: &'l str, recent: Vec<&'l Version>, editor: &'l Editor) -> Live<'l> {
        Live {
            path: "src/A.cs",
            text,
            version: 3,
            made: 3,
            since: None,
            changed: recent.iter().map(|one| &one.change).find(|change| change.lines.is_some()),
            recent,
            anchor: None,
            editor,
            plans: Vec::new(),
            moment: |at| format!("moment {at}"),
        }
    }

    fn joined(rendered: &Rendered) -> String {
        rendered.sections.iter().map(|section| section.text.as_str()).collect()
    }

    #[test]
    fn sections_in_their_order() {
        let (agent, person) = (
            version(3, "agent", Some("no such line"), ""),
            version(2, "person", None, "@@ -1 +1 @@\n-a\n+```\n"),
        );
        let editor = Editor {
            line: Some(2),
            column: Some(5),
            selection: Some("2:1-2:5".to_owned()),
        };
        let plan = Plan {
            plan: "rename".to_owned(),
            session: None,
            result: None,
            version: 2,
        };
        let mut live = live("a\n```\nb", vec![&agent, &person], &editor);
        live.plans = vec![&plan];
        live.anchor = Some(("anchor 'green'".to_owned(), 1, Difference::between("a\n", "a\nb\n")));
        let made = live.render(&Budget::of_tokens(10_000, None));
        assert_eq!((made.shown, made.lines, made.cut.len()), (RenderedDocument::Whole, Some((1, 3)), 0));
        insta::assert_snapshot!(joined(&made), @r"
        # Live Context

        ## Current Document

        src/A.cs, version 3, 3 lines:
        ````
        a
        ```
        b
        ````

        ## Recent Diffs (new→old)

        - Version 3: moment 3 by agent, tidy up
          FAILED, nothing was changed: no such line
        - Version 2: moment 2 by person, tidy up
        ````diff
        @@ -1 +1 @@
        -a
        +```
        ````

        ## Anchor Diff

        Since anchor 'green' (version 1):
        ```diff
        @@ -1 +1,2 @@
         a
        +b
        ```

        ## Editor State

        - File: src/A.cs
        - Cursor: line 2, column 5
        - Selection: 2:1-2:5

        ## Plan Hints

        - At version 2: rename
          Result: not known yet
        ");
        // No text of the input opens a block or a section.
        (live.path, live.anchor) = ("```x.txt", Some(("x\n\n## Plan Hints".to_owned(), 1, Difference::default())));
        let message = joined(&live.render(&Budget::of_tokens(10_000, None)));
        assert!(
            message.contains("\n\\```x.txt, version") && message.contains("from x ## Plan Hints (version 1)"),
            "{message}"
        );
        live.since = Some((3, Difference::default()));
        assert_eq!(live.render(&Budget::of_tokens(10_000, None)).shown, RenderedDocument::Unchanged);
        live.since = Some((1, Difference::between("x\n", "y\n")));
        let delta = live.render(&Budget::of_tokens(10_000, None));
        assert!(delta.shown == RenderedDocument::Delta && joined(&delta).contains("Since version 1:\n```diff\n@@ -1 +1 @@\n-x\n+y\n```\n"));
    }

    #[test]
    fn parts_that_exceed_the_budget_are_cut_in_order() {
        let text: String = (1..=400).map(|number| format!("line {number}\n")).collect();
        let versions: Vec<Version> = (1..=3).map(|number| version(number, "tool", None, &"+x\n".repeat(30))).collect();
        let editor = Editor {
            line: Some(200),
            ..Editor::default()
        };
        let plans = [1, 2].map(|version| Plan {
            plan: "rename it, and all that call it, and what they say of it".repeat(3),
            result: None,
            version,
            session: None,
        });
        let mut live = live(&text, versions.iter().rev().collect(), &editor);
        live.anchor = Some(("the version of before".to_owned(), 1, Difference::between("", &"y\n".repeat(30))));
        live.plans = plans.iter().collect();
        let mut steps: Vec<String> = Vec::new();
        for budget in (120..4000).rev() {
            let made = live.render(&Budget::of_tokens(budget, None));
            assert!(made.tokens <= budget, "{budget}");
            for what in made.cut {
                if !steps.contains(&what) {
                    steps.push(what);
                }
            }
            if let (RenderedDocument::Window, Some((first, last))) = (made.shown, made.lines) {
                assert!(first <= 200 && 200 <= last, "{first} {last}");
            }
        }
        let document = "lines of the document outside of the window";
        // At last a part of a line is shown.
        steps.retain(|what| what != document && !what.starts_with("the rest of line"));
        assert_eq!(
            steps,
            [
                "the difference of version 1",
                "the difference of version 2",
                "the difference to the version of before",
                "an earlier plan",
                "the last difference",
                "the last plan"
            ]
        );
        assert_eq!(
            live.render(&Budget::of_tokens(300, None)).cut.last().map(String::as_str),
            Some(document)
        );
    }

    #[test]
    fn a_line_longer_than_the_budget_is_cut_inside() {
        let text = format!("a\n{}END\r\nb\n", "é".repeat(5000));
        for column in [1, 2500, 5003] {
            let editor = Editor {
                line: Some(2),
                column: Some(column),
                ..Editor::default()
            };
            let made = live(&text, Vec::new(), &editor).render(&Budget::of_tokens(800, None));
            let message = joined(&made);
            assert!(made.tokens <= 800 && made.tokens > 500, "{}", made.tokens);
            assert!(made.cut.contains(&"the rest of line 2".to_owned()), "{made:?}");
            // Lines before and after it fill the room.
            let neighbours = match column {
                1 => "Lines 1 to 2, line 2 to character ",
                2500 => "Line 2, characters ",
                _ => "Lines 2 to 3, line 2 from character ",
            };
            assert!(message.contains(neighbours), "{neighbours}: {message}");
            assert_eq!(message.contains("END\r\nb\n```"), column == 5003, "{message}");
            assert!(message.matches('é').count() > 400, "{message}");
        }
        let editor = Editor::default();
        let made = live(&text, Vec::new(), &editor).render(&Budget::of_tokens(1, None));
        assert!(joined(&made).contains("No line of it fits the budget."), "{made:?}");
    }

    #[test]
    fn a_change_inside_of_a_long_line_is_shown() {
        let (before, after) = (
            "word ".repeat(40_000),
            format!("{}NEW{}", "word ".repeat(20_000), "word ".repeat(20_000)),
        );
        let editor = Editor::default();
        let mut live = live(&after, Vec::new(), &editor);
        let change = Difference::between(&before, &after);
        live.since = Some((1, change.clone()));
        let found = live.render(&Budget::of_tokens(8000, None));
        assert!(joined(&found).contains("word NEWword"), "{:?} {:?}", found.lines, found.cut);
        assert_eq!(
            found.cut,
            [
                "the difference to version 1, which is longer than the document",
                "the rest of line 1"
            ]
        );
        (live.since, live.changed) = (None, Some(&change));
        assert!(joined(&live.render(&Budget::of_tokens(500, None))).contains("word NEWword"));
    }

    #[test]
    fn a_difference_that_does_not_fit_is_told() {
        let (editor, old) = (Editor::default(), "old line\n".repeat(200));
        let new = "new line\n".repeat(300);
        let mut live = live("new\n", Vec::new(), &editor);
        live.since = Some((1, Difference::between(&old, "new\n")));
        assert_eq!(live.render(&Budget::of_tokens(10_000, None)).shown, RenderedDocument::Delta);
        let made = live.render(&Budget::of_tokens(200, None));
        assert!(
            made.shown == RenderedDocument::Whole && joined(&made).contains("```\nnew\n```"),
            "{made:?}"
        );
        assert_eq!(made.cut, ["the difference to version 1, which is longer than the document"]);
        let kept = format!("{new}{}", "kept\n".repeat(1000));
        live.text = &kept;
        live.since = Some((1, Difference::between(&kept.replace("new", "old"), &kept)));
        let made = live.render(&Budget::of_tokens(400, None));
        assert_eq!(made.shown, RenderedDocument::Window);
        assert_eq!(
            made.cut,
            ["the difference to version 1", "lines of the document outside of the window"]
        );
    }

    #[test]
    fn the_room_of_an_answer_limits_the_document() {
        let room = Room {
            most: 2000,
            taken: |text| 2 * text.len() + text.matches('\t').count(),
            sends_data: false,
        };
        let editor = Editor::default();
        let text = "\tint M() => \"x\\n\";\n".repeat(3000);
        let version = version(3, "agent", None, "+x\n");
        for asked in [500, 1000, 100_000] {
            let made = live(&text, vec![&version], &editor).render(&Budget::of_tokens(asked, Some(room)));
            let taken = (room.taken)(&joined(&made));
            assert!((1000..=2000).contains(&taken), "{asked}: {taken}");
            assert!(joined(&made).contains("## Recent Diffs") && joined(&made).contains("- File: src/A.cs"));
        }
    }

    proptest! {
        #[test]
        fn later_sections_do_not_change_the_document(
            text in "([ab]{0,30}\n|é{0,900}\r){0,60}",
            line in 1_usize..60,
            budget in 0_usize..900,
            behind in 0_usize..400,
        ) {
            let editor = Editor { line: Some(line), ..Editor::default() };
            let (made, failed) = (version(3, "agent", None, "+x\n"), version(4, "agent", Some(&"no ".repeat(behind)), ""));
            let plan = Plan { plan: "plan ".repeat(behind), result: None, version: 3, session: None };
            let before = live(&text, vec![&made], &editor);
            let later = Live { version: 4, plans: vec![&plan], ..live(&text, vec![&failed, &made], &editor) };
            let budget = Budget::of_tokens(budget, None);
            let (before, later) = (before.render(&budget), later.render(&budget));
            prop_assert_eq!(&before.sections[..2], &later.sections[..2]);
            if budget.tokens() > 100 {
                prop_assert!(later.tokens <= budget.tokens(), "{} {}", later.tokens, budget.tokens());
            }
        }

        #[test]
        fn any_document_can_be_shown(text in "[a`#{\n ]{0,80}", line in 0_usize..200, budget in 0_usize..400) {
            let editor = Editor { line: Some(line), ..Editor::default() };
            let made = live(&text, Vec::new(), &editor).render(&Budget::of_tokens(budget, None));
            if made.shown == RenderedDocument::Whole {
                let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
                let fence = "`".repeat(3.max(longest + 1));
                let block = format!("{fence}\n{text}");
                prop_assert!(joined(&made).contains(&block));
            }
        }
    }
}
