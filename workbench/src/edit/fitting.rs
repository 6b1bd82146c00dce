//! Hunks applied to a text. A hunk fits where its lines stand exactly; line numbers only choose among such places. What fits nowhere, or in several
//! places, fails with where, and nothing is applied. Line ends are those of the file, unless the patch tells them: where its lines end in several ways, and
//! the old ones as those of the file do.

use super::lines::{Ends, body, end, split};
use super::miss;
use super::patch::Hunk;
use super::run::Trouble;
use super::state::Status;

/// A text after hunks of a patch.
pub(super) fn fitted(text: &str, hunks: &[Hunk], path: &str) -> Result<String, Trouble> {
    apply(text, hunks).map_err(|unfit| Trouble {
        status: Status::NoMatch,
        summary: format!("{path}: {}; nothing was changed", unfit.why),
        guidance: Some("read the place again and make the hunk of its lines exactly".to_owned()),
        detail: (!unfit.near.is_empty()).then(|| unfit.near.join("\n")),
        path: Some(path.to_owned()),
    })
}

/// Applies hunks to a text.
fn apply(text: &str, hunks: &[Hunk]) -> Result<String, miss::Miss> {
    let lines: Vec<&str> = split(text).collect();
    let ends = Ends::of(text);
    let mut made = String::with_capacity(text.len());
    // Lines up to here are done.
    let mut done = 0;
    for hunk in hunks {
        let old: Vec<&str> = hunk
            .lines
            .iter()
            .filter(|(sign, _)| *sign != '+')
            .map(|(_, line)| line.as_str())
            .collect();
        let start = place(&lines, hunk, &old, done)?;
        let fits = |((_, told), line): ((&str, &str), &&str)| told.is_empty() || end(line).is_empty() || told == end(line);
        let tells = hunk.tells_ends() && hunk.old().zip(&lines[start..]).all(fits);
        if !tells && hunk.turns_ends() {
            return Err(miss::Miss {
                why: format!(
                    "the hunk at line {} of the patch changes ends of lines, and its old lines end otherwise than those of the file",
                    hunk.at
                ),
                near: Vec::new(),
            });
        }
        let usual = match hunk.end {
            Some(end) if ends == Ends::default() => end,
            _ => ends.usual(),
        };
        lines[done..start].iter().for_each(|line| made.push_str(line));
        let mut at = start;
        for ((sign, line), told) in hunk.lines.iter().zip(&hunk.ends) {
            match sign {
                ' ' => {
                    made.push_str(lines[at]);
                    at += 1;
                }
                '-' => at += 1,
                _ => {
                    // A line comes behind one that has no end only when that was the last.
                    if !made.is_empty() && !made.ends_with(['\n', '\r']) {
                        made.push_str(usual);
                    }
                    made.push_str(line);
                    let neighbour = lines.get(at.saturating_sub(1)).or(lines.get(at)).map_or(usual, |line| end(line));
                    let own = if neighbour.is_empty() { usual } else { neighbour };
                    made.push_str(if tells && !told.is_empty() { told } else { own });
                }
            }
        }
        // Whether a new last line has an end is told by a diff; the other form leaves it as it was.
        let is_last = at == lines.len()
            && hunk
                .lines
                .iter()
                .rfind(|(sign, _)| *sign != '-')
                .is_some_and(|(sign, _)| *sign == '+');
        let open = match hunk.line {
            Some(_) => hunk.open,
            None => lines.last().is_some_and(|line| end(line).is_empty()),
        };
        if is_last && open {
            made.truncate(body(&made).len());
        }
        done = at;
    }
    lines[done..].iter().for_each(|line| made.push_str(line));
    Ok(made)
}

/// The line at which a hunk begins.
fn place(lines: &[&str], hunk: &Hunk, old: &[&str], done: usize) -> Result<usize, miss::Miss> {
    let wrong = |why: String| miss::Miss { why, near: Vec::new() };
    let mut from = done;
    if let Some(below) = &hunk.below {
        let at = (done..lines.len()).find(|at| body(lines[*at]).trim() == below.trim());
        let at = at.or_else(|| (done..lines.len()).find(|at| body(lines[*at]).contains(below.as_str())));
        from = 1 + at.ok_or_else(|| {
            wrong(format!(
                "the hunk at line {} of the patch: `{}` stands nowhere below",
                hunk.at,
                miss::visible(below)
            ))
        })?;
    }
    if old.is_empty() {
        return match hunk.line {
            Some(line) if line > done && line <= lines.len() + 1 => Ok(line - 1),
            Some(line) => Err(wrong(format!("the hunk at line {} of the patch: there is no line {line}", hunk.at))),
            // Without any line of the old text only an end, or a line above, says where.
            None if hunk.below.is_some() => Ok(from),
            None if hunk.last || lines.is_empty() => Ok(lines.len()),
            None => Err(wrong(format!(
                "the hunk at line {} of the patch has only new lines and does not say where",
                hunk.at
            ))),
        };
    }
    let fits = |at: usize| old.iter().zip(&lines[at..]).all(|(old, line)| *old == body(line));
    let until = (lines.len() + 1).saturating_sub(old.len());
    let places: Vec<usize> = match hunk.last {
        true => (from.max(until.saturating_sub(1))..until).filter(|at| fits(*at)).collect(),
        false => (from..until).filter(|at| fits(*at)).collect(),
    };
    match (places.as_slice(), hunk.line) {
        ([one], _) => Ok(*one),
        ([], _) => {
            let miss = miss::explain(&lines[from.min(lines.len())..].concat(), &old.join("\n"));
            let shift = from.min(lines.len());
            let place = if shift > 0 {
                format!(" (lines are counted from line {})", shift + 1)
            } else {
                String::new()
            };
            Err(miss::Miss {
                why: format!("the hunk at line {} of the patch fits nowhere: {}{place}", hunk.at, miss.why),
                near: miss.near,
            })
        }
        (several, Some(line)) if several.contains(&line.wrapping_sub(1)) => Ok(line - 1),
        ([first, ..], _) if hunk.below.is_some() => Ok(*first),
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
    use super::super::patch::{Kind, parse};
    use super::*;
    use proptest::prelude::*;
    use similar::TextDiff;

    fn patched(text: &str, patch: &str) -> Result<String, String> {
        let files = parse(patch)?;
        match &files[0].kind {
            Kind::Update(hunks) => apply(text, hunks).map_err(|miss| miss.why),
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
            @"the hunk at line 3 of the patch fits nowhere: line 3 differs: the file has `    int X;`, old_text has `    int Q;`; the line before it fits"
        );
        insta::assert_snapshot!(of("@@ class C\n-x\n+y\n").unwrap_err(), @"the hunk at line 3 of the patch: `class C` stands nowhere below");
        insta::assert_snapshot!(of("+y\n").unwrap_err(), @"the hunk at line 3 of the patch has only new lines and does not say where");
        insta::assert_snapshot!(of("").unwrap_err(), @"the patch has no lines for a.cs");
        insta::assert_snapshot!(of("?x\n").unwrap_err(), @"line 3 of the patch begins with none of space, - and +");
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
                assert!(unfit.contains("changes ends of lines"), "{unfit}");
            }
            // What a patch tells of other ends than those of the file counts for nothing.
            let other = patch(old, new).replace(&format!("+x{new}"), &format!("+z{new}"));
            assert_eq!(patched(&text(new, new), &other), Ok(text(new, new).replace('x', "z")));
        }
    }

    proptest! {
        #[test]
        fn a_diff_of_two_texts_makes_the_one_of_the_other(old in "([ab]{0,2}\n){0,12}[ab]{0,2}", new in "([ab]{0,2}\n){0,12}[ab]{0,2}", crlf: bool) {
            let diff = TextDiff::from_lines(old.as_str(), new.as_str());
            let patch = diff.unified_diff().context_radius(3).header("a/x", "b/x").to_string();
            // A file without any line end does not say which its lines would have.
            if old != new && !old.is_empty() && (!crlf || old.contains('\n')) {
                let ends = |text: &str| if crlf { text.replace('\n', "\r\n") } else { text.to_owned() };
                prop_assert_eq!(patched(&ends(&old), &patch), Ok(ends(&new)), "{}", patch);
            }
        }
    }
}
