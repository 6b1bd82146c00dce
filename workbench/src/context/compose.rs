//! The text of a context within a budget of tokens.
//!
//! Every chosen type has a share of the budget: 0.6 by how well it fits, 0.2 by its nearness to the others, 0.1 if it can be shown whole, 0.1 by how
//! often it was used. It is shown in the fullest form that its share holds: its code, its outline, or in brief the lines of its outline that say a
//! word of the query. A type that the query names takes what it needs, whatever its share. What is left over makes forms fuller, the most important
//! first; what fits in no form is left out and named.

use super::choose::Chosen;
use super::words::words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What of the budget is shared out by each quality of a type.
const BY_FIT: f32 = 0.6;
const BY_DEPENDENCY: f32 = 0.2;
const BY_WHOLENESS: f32 = 0.1;
const BY_ACCESS: f32 = 0.1;
/// An outline may take so many times the share of its type: half an outline is none.
const BORROWED: usize = 3;
/// So many times its share the source of a type may come to, by what others leave over.
const HOPED: f32 = 3.0;
/// Tokens that a brief form needs, about: no fuller form of another type takes those.
const FOR_ONE: usize = 40;
/// Tokens that are kept for the lines that say what is not shown.
const FOR_THE_REST: usize = 60;
/// Lines of members that a brief form shows.
const BRIEF_LINES: usize = 4;
/// Types that are named as not shown.
const NAMED: usize = 8;
/// Characters of the query that the heading repeats.
const HEADING: usize = 160;

/// How a type is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Its name, and the lines of its outline that say a word of the query.
    Brief,
    /// Its outline.
    Outline,
    /// Its source.
    Code,
}

/// What can be shown of a type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Texts {
    /// Its key.
    pub key: String,
    /// Where it stands: `FILE:START-END`, or files alone.
    pub places: Vec<String>,
    /// Its outline; empty when it could not be made.
    pub outline: String,
    /// Its source; `None` when it was not read, because it is larger than the whole budget.
    pub code: Option<String>,
    /// About how many tokens its source is.
    pub size: usize,
}

/// A type as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// Its place among the chosen.
    pub at: usize,
    /// How.
    pub form: Form,
    /// Tokens that it takes.
    pub tokens: usize,
}

/// The text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Composed {
    /// For a model to read.
    pub text: String,
    /// What it holds, in its order.
    pub placed: Vec<Placed>,
    /// Those of the chosen for which there was no room.
    pub left_out: Vec<usize>,
    /// Tokens of the text.
    pub tokens: usize,
}

/// Composes a text of at most `budget` tokens, as `count` counts them. `others` were looked at and not chosen.
pub fn compose(
    query: &str,
    chosen: &[Chosen],
    texts: &[Texts],
    others: &[String],
    budget: usize,
    count: &dyn Fn(&str) -> usize,
) -> Composed {
    let asked: BTreeSet<String> = super::words::list(query).into_iter().collect();
    let heading = heading(query);
    let room = budget.saturating_sub(count(&heading) + FOR_THE_REST);
    let sizes: Vec<usize> = texts.iter().map(|text| text.size).collect();
    let shares = shares(chosen, &sizes, budget);
    let mut sections: Vec<Option<(Form, String, usize)>> = Vec::with_capacity(chosen.len());
    let mut used = 0;
    let made = |text: &Texts, form: Form, most: usize| -> Option<(Form, String, usize)> {
        let section = section(text, form, &asked)?;
        // A token is hardly ever more than 16 bytes: what is longer need not be counted.
        let tokens = (section.len() / 16 <= most)
            .then(|| count(&section))
            .filter(|tokens| *tokens <= most)?;
        Some((form, section, tokens))
    };
    let mut owed: f32 = shares.iter().sum();
    for (at, ((one, text), share)) in chosen.iter().zip(texts).zip(&shares).enumerate() {
        // What those before left over or took too much is spread over the others.
        let own = ((room - used) as f32 * share / owed.max(f32::MIN_POSITIVE)) as usize;
        owed -= share;
        let free = (room - used).saturating_sub(FOR_ONE * (texts.len() - at - 1));
        let most = |form| match form {
            _ if one.mention.is_some() => free,
            Form::Outline => free.min(own * BORROWED),
            _ => free.min(own),
        };
        let forms = [Form::Code, Form::Outline, Form::Brief];
        let fits = forms.into_iter().find_map(|form| made(text, form, most(form)));
        let shown = fits.or_else(|| made(text, Form::Brief, room - used));
        used += shown.as_ref().map_or(0, |(.., tokens)| *tokens);
        sections.push(shown);
    }
    // What is named becomes code before anything else gains.
    for (form, named) in [(Form::Code, true), (Form::Outline, false), (Form::Code, false)] {
        for ((one, text), shown) in chosen.iter().zip(texts).zip(&mut sections) {
            if named && one.mention.is_none() {
                continue;
            }
            let Some((now, _, tokens)) = shown else { continue };
            if *now < form
                && let Some(fuller) = made(text, form, *tokens + (room - used))
            {
                used = used - *tokens + fuller.2;
                *shown = Some(fuller);
            }
        }
    }
    joined(&heading, sections, texts, others, budget, count)
}

/// Puts it together. Pieces may take a token more together than apart, so the least important go until it fits.
fn joined(
    heading: &str,
    mut sections: Vec<Option<(Form, String, usize)>>,
    texts: &[Texts],
    others: &[String],
    budget: usize,
    count: &dyn Fn(&str) -> usize,
) -> Composed {
    loop {
        let mut made = Composed {
            text: heading.to_owned(),
            ..Composed::default()
        };
        for (at, section) in sections.iter().enumerate() {
            match section {
                None => made.left_out.push(at),
                Some((form, text, tokens)) => {
                    made.text.push_str(text);
                    made.placed.push(Placed {
                        at,
                        form: *form,
                        tokens: *tokens,
                    });
                }
            }
        }
        let unshown = made
            .left_out
            .iter()
            .map(|at| texts[*at].key.as_str())
            .chain(others.iter().map(String::as_str));
        let whole = format!("{}{}", made.text, rest(unshown));
        // Whether there is room to name the rest or not, what is shown is the same.
        made.tokens = count(&whole);
        if made.tokens <= budget {
            made.text = whole;
            return made;
        }
        made.tokens = count(&made.text);
        if made.tokens <= budget {
            return made;
        }
        match sections.iter().rposition(Option::is_some) {
            Some(last) => sections[last] = None,
            // Not even the heading fits.
            None => {
                return Composed {
                    text: String::new(),
                    tokens: 0,
                    ..made
                };
            }
        }
    }
}

/// The heading: the query in one line.
fn heading(query: &str) -> String {
    let mut line: String = query.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() > HEADING {
        line = line.chars().take(HEADING).chain(['…']).collect();
    }
    format!("# Context: {line}\n\n")
}

/// Up to which size, in tokens, the source of each of these types may come to be shown; what is larger need not be read.
pub fn limits(chosen: &[Chosen], sizes: &[usize], budget: usize) -> Vec<usize> {
    let shares = shares(chosen, sizes, budget);
    let limits = chosen.iter().zip(shares).map(|(one, share)| match one.mention {
        Some(_) => budget,
        None => (share * budget as f32 * HOPED) as usize,
    });
    limits.collect()
}

/// The share of each type, all together 1.
fn shares(chosen: &[Chosen], sizes: &[usize], budget: usize) -> Vec<f32> {
    let best = chosen.iter().map(|one| one.score).fold(f32::MIN_POSITIVE, f32::max);
    let of = |(one, size): (&Chosen, &usize)| {
        let fit = if one.mention.is_some() { 1.0 } else { one.score / best };
        let whole = if *size <= budget / 4 { 1.0 } else { 0.0 };
        BY_FIT * fit + BY_DEPENDENCY * one.factors.dependency + BY_WHOLENESS * whole + BY_ACCESS * one.factors.access
    };
    let shares: Vec<f32> = chosen.iter().zip(sizes).map(of).collect();
    let all: f32 = shares.iter().sum();
    shares.into_iter().map(|share| share / all.max(f32::MIN_POSITIVE)).collect()
}

/// A type in a form; `None` when there is nothing to show it by.
fn section(text: &Texts, form: Form, asked: &BTreeSet<String>) -> Option<String> {
    let places = text.places.join(", ");
    let head = format!("## {}\n{places}\n", text.key);
    match form {
        Form::Code => {
            let code = text.code.as_deref()?;
            let fence = fence(code);
            let end = if code.ends_with('\n') { "" } else { "\n" };
            Some(format!("{head}{fence}csharp\n{code}{end}{fence}\n\n"))
        }
        Form::Outline => {
            let body = outline_body(&text.outline)?;
            Some(format!("{head}{}\n\n", body.trim_end()))
        }
        Form::Brief => Some(format!("{head}{}\n", brief(&text.key, &text.outline, asked))),
    }
}

/// A fence that no line of a text ends: longer than any run of backquotes in it.
pub fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    "`".repeat(3.max(longest + 1))
}

/// An outline without its title and the line of hashes, which say nothing to a reader here.
fn outline_body(outline: &str) -> Option<String> {
    let lines: Vec<&str> = outline
        .lines()
        .filter(|line| !(line.starts_with("# ") || line.starts_with("XmlDocHash:")))
        .map(|line| {
            if line.starts_with("Kind: ") {
                line.split(" | ").next().unwrap_or(line)
            } else {
                line
            }
        })
        .collect();
    let body = lines.join("\n");
    (!body.trim().is_empty()).then_some(body)
}

/// What a type is for and its members that say most words of the query, beside those that its own name says.
fn brief(key: &str, outline: &str, asked: &BTreeSet<String>) -> String {
    let own: BTreeSet<String> = super::words::list(key).into_iter().collect();
    let said = |line: &str| {
        let mut said = BTreeSet::new();
        words(line, |word| {
            if asked.contains(word) && !own.contains(word) {
                said.insert(word.to_owned());
            }
        });
        said.len()
    };
    let members = outline.lines().enumerate().filter(|(_, line)| line.starts_with("  + "));
    let mut members: Vec<(usize, usize, &str)> = members
        .map(|(at, line)| (said(line), at, line))
        .filter(|(said, ..)| *said > 0)
        .collect();
    members.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
    members.truncate(BRIEF_LINES);
    members.sort_by_key(|(_, at, _)| *at);
    let purpose = outline
        .lines()
        .filter(|line| line.starts_with("XMLDOC:") && *line != "XMLDOC: none")
        .take(1);
    purpose
        .chain(members.into_iter().map(|(.., line)| line))
        .map(|line| format!("{line}\n"))
        .collect()
}

/// What is not shown, by name as far as that is of use.
fn rest<'r>(mut keys: impl Iterator<Item = &'r str>) -> String {
    let named: Vec<&str> = keys.by_ref().take(NAMED).collect();
    match (named.is_empty(), keys.next().is_some()) {
        (true, _) => String::new(),
        (false, more) => format!("Not shown: {}{}\n", named.join(", "), if more { " and more" } else { "" }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::relevance::Factors;
    use super::*;
    use proptest::prelude::*;

    fn chosen(at: usize, score: f32) -> Chosen {
        Chosen {
            at,
            factors: Factors::default(),
            score,
            mention: None,
            inherited: None,
            package: None,
            beside: Vec::new(),
        }
    }

    fn texts(key: &str, lines: usize) -> Texts {
        let code = (0..lines).map(|line| format!("    line {line};\n")).collect::<String>();
        let outline = format!(
            "# {key} T_1\nKind: class | File: a.cs | ImplHash: X\nXmlDocHash: Y\nXMLDOC: Says {key}.\n\nPublic API:\n  + void Fill()\n  + void Pour()\n"
        );
        Texts {
            key: key.to_owned(),
            places: vec![format!("src/{key}.cs:1-{lines}")],
            outline,
            size: code.len() / 3,
            code: Some(code),
        }
    }

    fn tokens(text: &str) -> usize {
        text.split_whitespace().count()
    }

    fn forms(made: &Composed) -> Vec<Form> {
        made.placed.iter().map(|one| one.form).collect()
    }

    #[test]
    fn the_fullest_forms_that_fit() {
        let types = [texts("A", 50), texts("B", 50), texts("C", 50)];
        let order = [chosen(0, 0.9), chosen(1, 0.8), chosen(2, 0.1)];
        let made = |budget| compose("fill it", &order, &types, &["Other".to_owned()], budget, &tokens);
        assert_eq!(forms(&made(100_000)), [Form::Code, Form::Code, Form::Code]);
        assert!(made(100_000).text.ends_with("Not shown: Other\n"));
        let some = made(340);
        assert_eq!(forms(&some), [Form::Code, Form::Code, Form::Outline], "{}", some.text);
        let few = made(FOR_THE_REST + 5 + 30);
        assert_eq!(forms(&few), [Form::Brief, Form::Brief, Form::Brief]);
        insta::assert_snapshot!(few.text, @r"
        # Context: fill it

        ## A
        src/A.cs:1-50
        XMLDOC: Says A.
          + void Fill()

        ## B
        src/B.cs:1-50
        XMLDOC: Says B.
          + void Fill()

        ## C
        src/C.cs:1-50
        XMLDOC: Says C.
          + void Fill()

        Not shown: Other
        ");
        assert_eq!(
            made(1),
            Composed {
                left_out: vec![0, 1, 2],
                ..Composed::default()
            }
        );
    }

    #[test]
    fn what_is_named_takes_what_it_needs() {
        let types = [texts("A", 50), texts("B", 20), texts("C", 20), texts("D", 20)];
        let mut order = [chosen(0, 0.1), chosen(1, 0.9), chosen(2, 0.8), chosen(3, 0.7)];
        let plain = compose("fill it", &order, &types, &[], 300, &tokens);
        assert_ne!(plain.placed[0].form, Form::Code);
        order[0].mention = Some("A".to_owned());
        let sizes: Vec<usize> = types.iter().map(|text| text.size).collect();
        assert_eq!(limits(&order, &sizes, 300)[0], 300);
        let made = compose("fill it", &order, &types, &[], 300, &tokens);
        assert_eq!((made.placed[0].form, made.placed.len()), (Form::Code, 4), "{}", made.text);
    }

    #[test]
    fn the_budget_is_shared_by_four_qualities() {
        let with = |at, score, dependency, access| Chosen {
            factors: Factors {
                dependency,
                access,
                ..Factors::default()
            },
            ..chosen(at, score)
        };
        // All of one quality each; the last one has all of them and is as long as a quarter of the budget.
        let order = [
            with(0, 1.0, 0.0, 0.0),
            with(1, 0.0, 1.0, 0.0),
            with(2, 0.0, 0.0, 1.0),
            with(3, 1.0, 1.0, 1.0),
        ];
        let shares = shares(&order, &[26, 26, 26, 25], 100);
        let expected = [0.6, 0.2, 0.1, 1.0].map(|share| share / 1.9);
        assert!(
            shares.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-6),
            "{shares:?}"
        );
    }

    #[test]
    fn no_code_ends_its_fence() {
        for (text, expected) in [("plain", "```"), ("a ``` b", "````"), ("`````\n``", "``````"), ("", "```")] {
            assert_eq!(fence(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn budgets_hold_and_nothing_is_lost(sizes in proptest::collection::vec((0_usize..60, 1_u8..100), 0..12), budget in 0_usize..1500) {
            let types: Vec<Texts> = sizes.iter().enumerate().map(|(at, (lines, _))| texts(&format!("T{at}"), *lines)).collect();
            let order: Vec<Chosen> = sizes.iter().enumerate().map(|(at, (_, score))| chosen(at, f32::from(*score) / 100.0)).collect();
            let made = compose("pour", &order, &types, &[], budget, &tokens);
            prop_assert!(made.tokens <= budget && made.tokens == tokens(&made.text));
            let mut all: Vec<usize> = made.placed.iter().map(|one| one.at).chain(made.left_out.iter().copied()).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..sizes.len()).collect::<Vec<_>>());
            for one in &made.placed {
                let head = format!("## T{}\n", one.at);
                prop_assert!(made.text.contains(&head));
            }
        }
    }
}
