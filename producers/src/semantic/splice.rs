//! Splicing: replaces the sections that a patch answers, and no others.

use super::answer::Summaries;
use std::collections::{BTreeMap, BTreeSet};

/// The text of a section that has no claims.
pub(super) const NOTHING: &str = "- None.";

/// An earlier answer with a patch applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Spliced {
    pub(super) summaries: Summaries,
    /// Sections whose text changed.
    pub(super) changed: Vec<String>,
    /// Sections whose old text was kept although they were answered, each with the reason.
    pub(super) kept_sentences: Vec<(String, &'static str)>,
}

/// Whether a claim is `none`, in any formatting.
pub(super) fn is_nothing(claim: &str) -> bool {
    let words = claim.split(" [").next().unwrap_or_default();
    let words = words.trim_matches(|c: char| c.is_whitespace() || matches!(c, '-' | '.' | '*'));
    words.eq_ignore_ascii_case("none")
}

/// Claims that a patch does not show, by key of the type and section.
pub(super) type Unshown = BTreeMap<(String, String), BTreeSet<String>>;

/// Splits a section into its claims, each with the lines that continue it; a section with a fence is one.
pub(super) fn claims(section: &str) -> Vec<&str> {
    let is_start = |at: &usize| section[*at..].starts_with("- ") && (*at == 0 || section.as_bytes()[at - 1] == b'\n');
    let starts: Vec<usize> = match section.contains("```") || section.contains("~~~") {
        true => Vec::new(),
        false => (1..section.len())
            .filter(|at| section.is_char_boundary(*at))
            .filter(is_start)
            .collect(),
    };
    let ends = starts.iter().copied().chain([section.len()]);
    let starts = [0].into_iter().chain(starts.iter().copied());
    let all = starts.zip(ends).map(|(start, end)| section[start..end].trim_end());
    all.filter(|claim| !claim.is_empty()).collect()
}

/// Returns the claims of an answer that a patch shows.
pub(super) fn without_unshown(old: &Summaries, unshown: &Unshown) -> Summaries {
    let mut shown = old.clone();
    for ((key, name), hidden) in unshown {
        if let Some(text) = shown.get_mut(key).and_then(|sections| sections.get_mut(name)) {
            let left: Vec<&str> = claims(text).into_iter().filter(|claim| !hidden.contains(*claim)).collect();
            *text = left.join("\n");
        }
    }
    shown
}

/// Returns a written section with the whole text of each earlier claim that the answer cites by its first words and `…`.
///
/// # Errors
/// A sentence for the model about a claim that begins no claim of the earlier section, or several.
pub(super) fn expand_claims(written: &str, old: &str) -> Result<String, String> {
    let start_of = |claim: &str| -> Option<usize> {
        let (start, rest) = claim.rsplit_once('…').or_else(|| claim.rsplit_once("..."))?;
        // A full stop and evidence may follow.
        let rest = rest.trim_matches(['.', ' ']);
        let is_end = rest.is_empty() || rest.starts_with('[') && rest.ends_with(']');
        is_end.then(|| start.trim_end_matches(['.', '…', ' ']).len())
    };
    let all = claims(written);
    if all.iter().all(|claim| start_of(claim).is_none()) {
        return Ok(written.to_owned());
    }
    let before = claims(old);
    let expand = |claim: &str| {
        let Some(end) = start_of(claim) else { return Ok(claim.to_owned()) };
        let mut found = before.iter().filter(|whole| whole.starts_with(&claim[..end]));
        match (found.next(), found.next()) {
            (Some(whole), None) => Ok((*whole).to_owned()),
            _ => Err(format!("'{claim}' begins no claim that was shown, or several")),
        }
    };
    let whole: Result<Vec<String>, String> = all.into_iter().map(expand).collect();
    Ok(whole?.join("\n"))
}

/// Returns an answer in which sections also have the claims that the model was not shown. Claims keep their places; new ones follow.
pub(super) fn with_unshown(old: &Summaries, answered: &Summaries, unshown: &Unshown) -> Summaries {
    let mut all = answered.clone();
    for ((key, name), hidden) in unshown {
        let before = old.get(key).and_then(|sections| sections.get(name));
        let Some((before, text)) = before.zip(all.get_mut(key).and_then(|sections| sections.get_mut(name))) else {
            continue;
        };
        let (before, new) = (claims(before), claims(text));
        let stays = |claim: &&&str| hidden.contains(**claim) || new.contains(claim);
        let added = new.iter().filter(|claim| !before.contains(claim));
        let mut merged: Vec<&str> = before.iter().filter(stays).chain(added).copied().collect();
        merged.retain(|claim| !is_nothing(claim));
        if merged.is_empty() {
            merged.push(NOTHING);
        }
        *text = merged.join("\n");
    }
    all
}

/// Inserts `answered` into `old`. A section keeps its old text if `keep` returns a reason.
pub(super) fn splice(old: &Summaries, answered: &Summaries, keep: impl Fn(&str, &str, &str, &str) -> Option<&'static str>) -> Spliced {
    let mut spliced = Spliced {
        summaries: old.clone(),
        ..Spliced::default()
    };
    for (key, sections) in answered {
        for (name, new) in sections {
            let Some(place) = spliced.summaries.get_mut(key).and_then(|sections| sections.get_mut(name)) else {
                continue;
            };
            let shown = if old.len() > 1 { format!("{key}/{name}") } else { name.clone() };
            match keep(key, name, place, new) {
                Some(why) => spliced.kept_sentences.push((shown, why)),
                None => {
                    new.clone_into(place);
                    spliced.changed.push(shown);
                }
            }
        }
    }
    spliced
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn summaries() -> impl Strategy<Value = Summaries> {
        let sections = proptest::collection::btree_map("[A-E]", "[a-z ]{1,6}", 0..5);
        proptest::collection::btree_map("[TU]", sections, 1..3)
    }

    #[test]
    fn claims_that_are_not_shown_stay_in_their_places() {
        assert_eq!(claims("- a\n  more\n\n- b"), ["- a\n  more", "- b"]);
        assert_eq!(claims("- a\n```\n- b\n```"), ["- a\n```\n- b\n```"]);
        assert_eq!(claims("words\n- a"), ["words", "- a"]);
        let of = |text: &str| Summaries::from([("T".to_owned(), BTreeMap::from([("A".to_owned(), text.to_owned())]))]);
        let merged = |old: &str, answered: &str, hidden: &[&str]| {
            let hidden = hidden.iter().map(|claim| (*claim).to_owned()).collect();
            let unshown = Unshown::from([(("T".to_owned(), "A".to_owned()), hidden)]);
            with_unshown(&of(old), &of(answered), &unshown)["T"]["A"].clone()
        };
        assert_eq!(merged("- a\n- b\n- c", "- d\n- c", &["- a"]), "- a\n- c\n- d");
        assert_eq!(merged("- None.", "- d", &["- None."]), "- d");
        assert_eq!(merged("- None.", "- None.", &["- None."]), "- None.");
        for none in ["- None.", "None.", "- none", "- None [Get]."] {
            assert_eq!(merged("- a\n- b", none, &["- a"]), "- a", "{none}");
        }
    }

    #[test]
    fn abbreviated_claims_are_whole_again() {
        let old = "- Keeps all nodes [Get].\n- Keeps a lock\n  for long [Put].";
        for (written, expected) in [
            ("- Keeps all …\n- New [Get].", Some("- Keeps all nodes [Get].\n- New [Get].")),
            ("- Keeps a lock...", Some("- Keeps a lock\n  for long [Put].")),
            ("- New [Get].\n\n- More.", Some("- New [Get].\n\n- More.")),
            ("- Keeps all … [Get].", Some("- Keeps all nodes [Get].")),
            ("- Keeps all ….", Some("- Keeps all nodes [Get].")),
            ("- Keeps …", None),
            ("- Else …", None),
        ] {
            assert_eq!(expand_claims(written, old).ok().as_deref(), expected, "{written}");
        }
    }

    proptest! {
        /// Only sections in both change, and they get the answered text.
        #[test]
        fn nothing_else_moves(old in summaries(), answered in summaries(), corrected in "[A-E]") {
            let keep = |_: &str, name: &str, _: &str, _: &str| (name == corrected).then_some("a person wrote it");
            let spliced = splice(&old, &answered, keep);
            for (key, sections) in &old {
                for (name, text) in sections {
                    let new = answered.get(key).and_then(|sections| sections.get(name)).filter(|_| *name != corrected);
                    prop_assert_eq!(&spliced.summaries[key][name], new.unwrap_or(text));
                }
            }
            prop_assert_eq!(spliced.summaries.len(), old.len());
            prop_assert_eq!(splice(&old, &Summaries::new(), keep).summaries, old);
        }
    }
}
