//! Applies hunks to a text. A hunk matches where its lines occur exactly; line numbers only choose among such places. A hunk that matches nowhere or
//! in several places fails with the places, and nothing is applied. Line ends are those of the file, unless the patch has several kinds and its old
//! lines end as the file's do.

use super::match_failure;
use super::patch::Hunk;
use super::run::Trouble;
use super::search_miss::SearchedText;
use super::state::Status;
use crate::code_text::lines::{Ends, body, line_end, split};

/// Applies the hunks of a patch to the text of a file.
pub(super) fn fit_hunks(text: &str, hunks: &[Hunk], path: &str, held: SearchedText) -> Result<String, Trouble> {
    apply(text, hunks, held).map_err(|unfit| Trouble {
        status: Status::NoMatch,
        summary: format!("{}: {}; nothing was changed", held.describe_with_path(path), unfit.why),
        guidance: Some("read the place again and make the hunk of its lines exactly".to_owned()),
        detail: (!unfit.near.is_empty()).then(|| unfit.near.join("\n")),
        path: Some(path.to_owned()),
    })
}

fn apply(text: &str, hunks: &[Hunk], held: SearchedText) -> Result<String, match_failure::Miss> {
    let lines: Vec<&str> = split(text).collect();
    let ends = Ends::from_text(text);
    let mut made = String::with_capacity(text.len());
    // Lines before this one are done.
    let mut done = 0;
    for hunk in hunks {
        let old: Vec<&str> = hunk
            .lines
            .iter()
            .filter(|(sign, _)| *sign != '+')
            .map(|(_, line)| line.as_str())
            .collect();
        let start = line_of_hunk(&lines, hunk, &old, done, held.name())?;
        let fits = |((_, written_end), line): ((&str, &str), &&str)| {
            written_end.is_empty() || line_end(line).is_empty() || written_end == line_end(line)
        };
        let tells = hunk.tells_ends() && hunk.old().zip(&lines[start..]).all(fits);
        if !tells && hunk.turns_ends() {
            return Err(match_failure::Miss {
                why: format!(
                    "the hunk at line {} of the patch changes line ends, but its old lines have other line ends than the file",
                    hunk.at
                ),
                near: Vec::new(),
            });
        }
        let usual = match hunk.end {
            Some(end) if ends == Ends::default() => end,
            _ => ends.most_frequent(),
        };
        lines[done..start].iter().for_each(|line| made.push_str(line));
        let mut at = start;
        for ((sign, line), written_end) in hunk.lines.iter().zip(&hunk.ends) {
            match sign {
                ' ' => {
                    made.push_str(lines[at]);
                    at += 1;
                }
                '-' => at += 1,
                _ => {
                    // Text continues after a line without an end only if that was the last line.
                    if !made.is_empty() && !made.ends_with(['\n', '\r']) {
                        made.push_str(usual);
                    }
                    made.push_str(line);
                    let neighbour = lines
                        .get(at.saturating_sub(1))
                        .or(lines.get(at))
                        .map_or(usual, |line| line_end(line));
                    let own = if neighbour.is_empty() { usual } else { neighbour };
                    made.push_str(if tells && !written_end.is_empty() { written_end } else { own });
                }
            }
        }
        // Only a diff says whether a new last line has an end; the other form keeps the old state.
        let is_last = at == lines.len()
            && hunk
                .lines
                .iter()
                .rfind(|(sign, _)| *sign != '-')
                .is_some_and(|(sign, _)| *sign == '+');
        let open = match hunk.line {
            Some(_) => hunk.open,
            None => lines.last().is_some_and(|line| line_end(line).is_empty()),
        };
        if is_last && open {
            made.truncate(body(&made).len());
        }
        done = at;
    }
    lines[done..].iter().for_each(|line| made.push_str(line));
    Ok(made)
}

/// Returns the line at which a hunk begins.
fn line_of_hunk(lines: &[&str], hunk: &Hunk, old: &[&str], done: usize, held: &str) -> Result<usize, match_failure::Miss> {
    let wrong = |why: String| match_failure::Miss { why, near: Vec::new() };
    let mut from = done;
    for below in &hunk.below {
        let at = (from..lines.len()).find(|at| body(lines[*at]).trim() == below.trim());
        let at = at.or_else(|| (from..lines.len()).find(|at| body(lines[*at]).contains(below.as_str())));
        from = 1 + at.ok_or_else(|| {
            wrong(format!(
                "the hunk at line {} of the patch: `{}` does not occur below",
                hunk.at,
                match_failure::visible(below)
            ))
        })?;
    }
    if old.is_empty() {
        return match hunk.line {
            Some(line) if line > done && line <= lines.len() + 1 => Ok(line - 1),
            Some(line) => Err(wrong(format!("the hunk at line {} of the patch: there is no line {line}", hunk.at))),
            // Without any old line, only the end of the file or a line above gives the place.
            None if !hunk.below.is_empty() => Ok(from),
            None if hunk.last || lines.is_empty() => Ok(lines.len()),
            None => Err(wrong(format!(
                "the hunk at line {} of the patch has only new lines and does not say where",
                hunk.at
            ))),
        };
    }
    let stands = |at: &usize| old.iter().zip(&lines[*at..]).all(|(old, line)| *old == body(line));
    let until = (lines.len() + 1).saturating_sub(old.len());
    let is_last = |at: usize| at + old.len() == lines.len();
    // Only a diff says whether the last line of the file has an end.
    let is_open = |at: usize| is_last(at) && lines.last().is_some_and(|line| line_end(line).is_empty());
    let fits = |at: &usize| (is_last(*at) || !hunk.last) && (hunk.line.is_none() || is_open(*at) == hunk.was_open);
    let places: Vec<usize> = (from..until).filter(stands).filter(fits).collect();
    match (places.as_slice(), hunk.line) {
        ([one], _) => Ok(*one),
        ([], _) => {
            let found = (from..until).rev().find(stands);
            let above = (0..from.min(until)).rev().find(stands);
            let miss = match (found, above) {
                (Some(at), _) if !is_last(at) => wrong(format!(
                    "according to the patch its last line ends the file, but those lines are at line {}, followed by others",
                    at + 1
                )),
                (Some(_), _) => wrong(format!(
                    "the file's last line, {}, has {} line end, but according to the patch it has {}",
                    lines.len(),
                    if hunk.was_open { "a" } else { "no" },
                    if hunk.was_open {
                        "none"
                    } else {
                        "one (`\\ No newline at end of file` says that there is none)"
                    }
                )),
                (None, Some(at)) => wrong(format!(
                    "its lines are at line {}, above line {}, where the search begins: hunks follow each other as in the file",
                    at + 1,
                    from + 1
                )),
                (None, None) if from > 0 && from >= lines.len() => wrong(format!("{held} has no line below line {}", lines.len())),
                (None, None) => {
                    let miss = match_failure::explain(held, &lines[from..].concat(), &old.join("\n"));
                    let place = if from > 0 {
                        format!(" (lines are counted from line {})", from + 1)
                    } else {
                        String::new()
                    };
                    match_failure::Miss {
                        why: format!("{}{place}", miss.why),
                        near: miss.near,
                    }
                }
            };
            Err(match_failure::Miss {
                why: format!("the hunk at line {} of the patch fits nowhere: {}", hunk.at, miss.why),
                near: miss.near,
            })
        }
        (several, Some(line)) if several.contains(&line.wrapping_sub(1)) => Ok(line - 1),
        ([first, ..], _) if !hunk.below.is_empty() => Ok(*first),
        (several, _) => {
            let lines: Vec<String> = several.iter().take(5).map(|at| (at + 1).to_string()).collect();
            Err(wrong(format!(
                "the hunk at line {} of the patch fits in {} places, at lines {}",
                hunk.at,
                several.len(),
                lines.join(", ")
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::patch::{PatchOperation, parse};
    use super::*;
    use proptest::prelude::*;
    use similar::TextDiff;

    fn patched(text: &str, patch: &str) -> Result<String, String> {
        let files = parse(patch)?;
        match &files[0].kind {
            PatchOperation::Update(hunks) => apply(text, hunks, SearchedText::File).map_err(|miss| miss.why),
            other => Err(format!("{other:?}")),
        }
    }

    const TEXT: &str = "class A\r\n{\r\n    int X;\r\n    int Y;\r\n}\r\nclass B\r\n{\r\n    int X;\r\n}";

    #[test]
    fn sections_are_applied_with_the_line_ends_of_the_file() {
        let patch = "*** Begin Patch\n*** Update File: a.cs\n@@ class B\n {\n-    int X;\n+    int Z;\n+    int W;\n }\n*** End Patch\n";
        assert_eq!(
            patched(TEXT, patch).as_deref(),
            Ok("class A\r\n{\r\n    int X;\r\n    int Y;\r\n}\r\nclass B\r\n{\r\n    int Z;\r\n    int W;\r\n}")
        );
        let end = "*** Begin Patch\n*** Update File: a.cs\n@@\n     int X;\n }\n+// end\n*** End of File\n*** End Patch";
        assert!(
            patched(TEXT, end).is_ok_and(|text| text.ends_with("    int X;\r\n}\r\n// end")),
            "{:?}",
            patched(TEXT, end)
        );
    }

    #[test]
    fn a_patch_that_does_not_fit_says_where() {
        let of = |lines: &str| patched(TEXT, &format!("*** Begin Patch\n*** Update File: a.cs\n{lines}*** End Patch"));
        insta::assert_snapshot!(of("-    int X;\n+    int Z;\n").unwrap_err(), @"the hunk at line 3 of the patch fits in 2 places, at lines 3, 8");
        insta::assert_snapshot!(
            of(" {\n-    int Q;\n+    int Z;\n").unwrap_err(),
            @"the hunk at line 3 of the patch fits nowhere: line 3 differs: the file has `    int X;`, oldText has `    int Q;`; the line before it fits"
        );
        insta::assert_snapshot!(of("@@ class C\n-x\n+y\n").unwrap_err(), @"the hunk at line 3 of the patch: `class C` does not occur below");
        insta::assert_snapshot!(of("+y\n").unwrap_err(), @"the hunk at line 3 of the patch has only new lines and does not say where");
        insta::assert_snapshot!(of("").unwrap_err(), @"the patch has no lines for a.cs");
        insta::assert_snapshot!(of("?x\n").unwrap_err(), @"line 3 of the patch begins with none of space, - and +");
    }

    #[test]
    fn the_end_of_the_last_line_is_as_a_diff_says() {
        let none = "\\ No newline at end of file\n";
        let diff = |lines: &str| format!("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n{lines}");
        let (open, ended) = (format!("-b\n{none}+c\n{none}"), "-b\n+c\n");
        assert_eq!(patched("a\nb", &diff(&open)).as_deref(), Ok("a\nc"));
        assert_eq!(patched("a\nb", &diff(&format!("-b\n{none}+c\n"))).as_deref(), Ok("a\nc\n"));
        assert_eq!(patched("a\nb\n", &diff(&format!("-b\n+c\n{none}"))).as_deref(), Ok("a\nc"));
        insta::assert_snapshot!(
            patched("a\nb\n", &diff(&open)).unwrap_err(),
            @"the hunk at line 3 of the patch fits nowhere: the file's last line, 2, has a line end, but according to the patch it has none"
        );
        insta::assert_snapshot!(
            patched("a\nb", &diff(ended)).unwrap_err(),
            @r"the hunk at line 3 of the patch fits nowhere: the file's last line, 2, has no line end, but according to the patch it has one (`\ No newline at end of file` says that there is none)"
        );
        insta::assert_snapshot!(
            patched("a\nb\nc\n", &diff(&open)).unwrap_err(),
            @"the hunk at line 3 of the patch fits nowhere: according to the patch its last line ends the file, but those lines are at line 1, followed by others"
        );
        for (lines, number) in [(format!("{none}-b\n+c\n"), 5), (format!("+c\n{none}-b\n+d\n"), 6)] {
            let message = patched("a\nb", &diff(&lines).replace("+1,2", if number == 6 { "+1,3" } else { "+1,2" }))
                .expect_err("a line without an end in the midst");
            assert!(
                message.starts_with(&format!("line {number} of the patch says that a line has no end")),
                "{message}"
            );
        }
        // The other form does not say; the file's own state stays.
        let section = format!("*** Begin Patch\n*** Update File: x\n{ended}*** End Patch\n");
        assert_eq!(patched("a\nb", &section).as_deref(), Ok("a\nc"));
        assert_eq!(patched("a\nb\n", &section).as_deref(), Ok("a\nc\n"));
    }

    #[test]
    fn lines_above_a_hunk_narrow_its_place_one_by_one() {
        let of = |lines: &str| patched(TEXT, &format!("*** Begin Patch\n*** Update File: a.cs\n{lines}*** End Patch"));
        let made = TEXT.replace(
            "int Y;\r\n}\r\nclass B\r\n{\r\n    int X",
            "int Y;\r\n}\r\nclass B\r\n{\r\n    int Z",
        );
        assert_eq!(of("@@ class B\n@@ {\n-    int X;\n+    int Z;\n"), Ok(made));
        insta::assert_snapshot!(
            of("@@ class B\n@@ class A\n-    int X;\n+    int Z;\n").unwrap_err(),
            @"the hunk at line 3 of the patch: `class A` does not occur below"
        );
        insta::assert_snapshot!(of("@@ class B\n@@ {\n").unwrap_err(), @"the patch has no lines for a.cs");
    }

    #[test]
    fn hunks_out_of_order_say_so() {
        let patch = "--- a/x\n+++ b/x\n@@ -5 +5 @@\n-e\n+E\n@@ -1 +1 @@\n-a\n+A\n";
        insta::assert_snapshot!(
            patched("a\nb\nc\nd\ne\n", patch).unwrap_err(),
            @"the hunk at line 6 of the patch fits nowhere: its lines are at line 1, above line 6, where the search begins: hunks follow each other as in the file"
        );
        insta::assert_snapshot!(
            patched("z\nb\nc\nd\ne\n", patch).unwrap_err(),
            @"the hunk at line 6 of the patch fits nowhere: the file has no line below line 5"
        );
    }

    #[test]
    fn ends_that_a_patch_tells_are_those_of_its_lines() {
        let patch = |old: &str, new: &str| format!("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-x{old}+x{new} y{old}");
        let ends = ["\n", "\r\n"];
        for (old, new) in [(ends[0], ends[1]), (ends[1], ends[0])] {
            let text = |first: &str, second: &str| format!("x{first}y{second}");
            assert_eq!(patched(&text(old, old), &patch(old, new)), Ok(text(new, old)));
            let section = format!("*** Begin Patch\n*** Update File: x\n-x{old}+x{new}*** End Patch\n");
            assert_eq!(patched(&text(old, new), &section), Ok(text(new, new)));
            for patch in [patch(old, new), section] {
                let unfit = patched(&text(new, new), &patch).expect_err("the file is so already");
                assert!(unfit.contains("changes line ends"), "{unfit}");
            }
            // Line ends of the patch that differ from the file's are ignored.
            let other = patch(old, new).replace(&format!("+x{new}"), &format!("+z{new}"));
            assert_eq!(patched(&text(new, new), &other), Ok(text(new, new).replace('x', "z")));
        }
    }

    proptest! {
        #[test]
        fn a_diff_of_two_texts_makes_the_one_of_the_other(old in "([ab]{0,2}\n){0,12}[ab]{0,2}", new in "([ab]{0,2}\n){0,12}[ab]{0,2}", crlf: bool) {
            let diff = TextDiff::from_lines(old.as_str(), new.as_str());
            let patch = diff.unified_diff().context_radius(3).header("a/x", "b/x").to_string();
            // A file without any line end does not define the ends of its lines.
            if old != new && !old.is_empty() && (!crlf || old.contains('\n')) {
                let ends = |text: &str| if crlf { text.replace('\n', "\r\n") } else { text.to_owned() };
                prop_assert_eq!(patched(&ends(&old), &patch), Ok(ends(&new)), "{}", patch);
            }
        }
    }
}
