//! The text of a context within a budget of tokens.
//!
//! Every chosen type has a share of the budget: 0.6 by how well it fits, 0.2 by its nearness to the others, 0.1 if it can be shown whole, 0.1 by how
//! often it was used. It is shown in the fullest form that its share holds: its code, its outline, or in brief the lines of its outline that say a
//! word of the query. What the query names comes before all shares: its members in full, then its types, each by its name alone, in brief if that
//! fits, as outlines if they do, as code if that does. Files that it names and that no type stands in have a quarter of the budget. What is left over makes forms fuller, the most
//! important first, and then files; what fits in no form is left out and named.

use super::attached::{Attached, Fitted};
use super::choose::Chosen;
use super::forms::{Form, Texts, section};
use super::members::Stretch;
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
/// Tokens that are kept for the lines that say what is not shown, and no more than one part in so many of the budget.
const FOR_THE_REST: (usize, usize) = (60, 8);
/// Files that the query names have one part in so many of the budget, beside types: as much as one type that is shown whole.
const FOR_FILES: usize = 4;
/// Types that are named as not shown.
const NAMED: usize = 8;
/// Characters of the query that the heading repeats.
const HEADING: usize = 160;

/// A type as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// Its place among the chosen.
    pub at: usize,
    /// How.
    pub form: Form,
    /// Which of the members that the query names stand there in full.
    pub members: Vec<usize>,
    /// Tokens that it takes.
    pub tokens: usize,
}

/// The text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Composed {
    /// For a model to read.
    pub text: String,
    /// The types that it holds, in its order.
    pub placed: Vec<Placed>,
    /// The files that it holds, by their places among those that are attached; they stand before the types.
    pub files: Vec<(usize, Fitted)>,
    /// Those of the chosen for which there was no room.
    pub left_out: Vec<usize>,
    /// Tokens of the text.
    pub tokens: usize,
}

/// What a text is made of.
#[derive(Clone, Copy, Debug)]
pub struct Material<'m> {
    /// The types.
    pub chosen: &'m [Chosen],
    /// What can be shown of each of them.
    pub texts: &'m [Texts],
    /// Files that the query names.
    pub files: &'m [Attached],
    /// Types that were looked at and not chosen, by key.
    pub others: &'m [String],
}

/// A type in the form that it has so far.
struct Section {
    form: Form,
    /// Which of the members that the query names stand in it.
    members: Vec<usize>,
    text: String,
    tokens: usize,
}

/// Composes a text of at most `budget` tokens, as `count` counts them.
pub fn compose(query: &str, material: Material<'_>, budget: usize, count: &dyn Fn(&str) -> usize) -> Composed {
    let Material { chosen, texts, files, .. } = material;
    let asked: BTreeSet<String> = super::words::list(query).into_iter().collect();
    let heading = heading(query);
    let room = budget.saturating_sub(count(&heading) + FOR_THE_REST.0.min(budget / FOR_THE_REST.1));
    let sizes: Vec<usize> = texts.iter().map(|text| text.size).collect();
    let shares = shares(chosen, &sizes, budget);
    let saying = |asked: Option<&BTreeSet<String>>, text: &Texts, form: Form, members: &[usize], most: usize| -> Option<Section> {
        let named: Vec<&Stretch> = members.iter().map(|at| &text.named[*at]).collect();
        let section = section(text, form, &named, asked)?;
        // A token is hardly ever more than 16 bytes: what is longer need not be counted.
        let tokens = (section.len() / 16 <= most)
            .then(|| count(&section))
            .filter(|tokens| *tokens <= most)?;
        Some(Section {
            form,
            members: members.to_vec(),
            text: section,
            tokens,
        })
    };
    let made = |text: &Texts, form: Form, members: &[usize], most: usize| saying(Some(&asked), text, form, members, most);
    // Members that are named come before all else, also before what else is known of their types.
    let mut used = 0;
    let mut sections: Vec<Option<Section>> = Vec::with_capacity(chosen.len());
    for text in texts {
        let mut kept: Option<Section> = None;
        for at in 0..text.named.len() {
            let (mut members, own) = kept.as_ref().map_or((Vec::new(), 0), |kept| (kept.members.clone(), kept.tokens));
            members.push(at);
            if let Some(with) = saying(None, text, Form::Brief, &members, room - used + own) {
                used = used - own + with.tokens;
                kept = Some(with);
            }
        }
        sections.push(kept);
    }
    let for_files = if chosen.is_empty() { room } else { room / FOR_FILES };
    let mut attached = vec![None; files.len()];
    give(files, &mut attached, for_files.min(room - used), count);
    used += attached.iter().flatten().map(|one| one.tokens).sum::<usize>();
    let is_named = |one: &Chosen, text: &Texts| one.mention.is_some() || !text.named.is_empty();
    let raise = |sections: &mut [Option<Section>], used: &mut usize, form: Form, named: bool| {
        for ((one, text), shown) in chosen.iter().zip(texts).zip(sections) {
            let (before, members, own) = match &*shown {
                Some(now) => (Some(now.form), now.members.as_slice(), now.tokens),
                None => (None, &[][..], 0),
            };
            // In brief what is asked for comes beside members that stand there.
            let is_fuller = before < Some(form) || form == Form::Brief;
            if is_named(one, text) == named
                && is_fuller
                && let Some(fuller) = made(text, form, members, own + (room - *used))
            {
                *used = *used - own + fuller.tokens;
                *shown = Some(fuller);
            }
        }
    };
    // Nothing else takes the room for the name of a named type, nor that for the first line of a named file.
    for ((one, text), shown) in chosen.iter().zip(texts).zip(&mut sections) {
        if shown.is_none() && is_named(one, text) {
            *shown = saying(None, text, Form::Brief, &[], room - used);
            used += shown.as_ref().map_or(0, |shown| shown.tokens);
        }
    }
    for (file, shown) in files.iter().zip(&mut attached).filter(|(_, shown)| shown.is_none()) {
        *shown = file.least(room - used, count);
        used += shown.as_ref().map_or(0, |shown| shown.tokens);
    }
    for form in [Form::Brief, Form::Outline, Form::Code] {
        raise(&mut sections, &mut used, form, true);
    }
    let others = || {
        chosen
            .iter()
            .zip(texts)
            .zip(&shares)
            .filter(|((one, text), _)| !is_named(one, text))
    };
    let (mut owed, mut waiting) = (others().map(|(_, share)| share).sum::<f32>(), others().count());
    for (((one, text), share), shown) in chosen.iter().zip(texts).zip(&shares).zip(&mut sections) {
        if is_named(one, text) {
            continue;
        }
        waiting -= 1;
        // What those before left over or took too much is spread over the others.
        let own = ((room - used) as f32 * share / owed.max(f32::MIN_POSITIVE)) as usize;
        owed -= share;
        let free = (room - used).saturating_sub(FOR_ONE * waiting);
        let most = |form| match form {
            Form::Outline => free.min(own * BORROWED),
            _ => free.min(own),
        };
        let forms = [Form::Code, Form::Outline, Form::Brief];
        let fits = forms.into_iter().find_map(|form| made(text, form, &[], most(form)));
        *shown = fits.or_else(|| made(text, Form::Brief, &[], room - used));
        used += shown.as_ref().map_or(0, |shown| shown.tokens);
    }
    for form in [Form::Outline, Form::Code] {
        raise(&mut sections, &mut used, form, false);
    }
    give(files, &mut attached, room - used, count);
    joined(&heading, sections, attached, material, budget, count)
}

/// Gives files so many more tokens: each an equal share of them, and what short ones leave over goes to longer ones.
fn give(files: &[Attached], shown: &mut [Option<Fitted>], mut free: usize, count: &dyn Fn(&str) -> usize) {
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|at| files[*at].size());
    for (before, at) in order.into_iter().enumerate() {
        let own = shown[at].as_ref().map_or(0, |shown| shown.tokens);
        if let Some(more) = files[at].fitted(own + free / (files.len() - before), count) {
            free = free + own - more.tokens;
            shown[at] = Some(more);
        }
    }
}

/// Puts it together. Pieces may take a token more together than apart, so the least important go until it fits: types, and then files.
fn joined(
    heading: &str,
    mut sections: Vec<Option<Section>>,
    mut files: Vec<Option<Fitted>>,
    material: Material<'_>,
    budget: usize,
    count: &dyn Fn(&str) -> usize,
) -> Composed {
    let Material { texts, others, .. } = material;
    loop {
        let mut made = Composed {
            text: heading.to_owned(),
            ..Composed::default()
        };
        for (at, file) in files.iter().enumerate() {
            if let Some(file) = file {
                made.text.push_str(&file.text);
                made.files.push((at, file.clone()));
            }
        }
        for (at, section) in sections.iter().enumerate() {
            match section {
                None => made.left_out.push(at),
                Some(shown) => {
                    made.text.push_str(&shown.text);
                    // The whole source has all members.
                    let members = match shown.form {
                        Form::Code => (0..texts[at].named.len()).collect(),
                        _ => shown.members.clone(),
                    };
                    made.placed.push(Placed {
                        at,
                        form: shown.form,
                        members,
                        tokens: shown.tokens,
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
        let last = sections.iter_mut().rev().find(|section| section.is_some());
        if let Some(last) = last {
            *last = None;
        } else if let Some(last) = files.iter_mut().rev().find(|file| file.is_some()) {
            *last = None;
        } else {
            // Not even the heading fits.
            return Composed {
                text: String::new(),
                tokens: 0,
                ..made
            };
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
            language: None,
            places: vec![format!("src/{key}.cs:1-{lines}")],
            outline,
            size: code.len() / 3,
            code: Some(code),
            named: Vec::new(),
        }
    }

    fn tokens(text: &str) -> usize {
        text.split_whitespace().count()
    }

    fn composed(query: &str, chosen: &[Chosen], texts: &[Texts], others: &[String], budget: usize) -> Composed {
        let material = Material {
            chosen,
            texts,
            files: &[],
            others,
        };
        compose(query, material, budget, &tokens)
    }

    fn forms(made: &Composed) -> Vec<Form> {
        made.placed.iter().map(|one| one.form).collect()
    }

    #[test]
    fn the_fullest_forms_that_fit() {
        let types = [texts("A", 50), texts("B", 50), texts("C", 50)];
        let order = [chosen(0, 0.9), chosen(1, 0.8), chosen(2, 0.1)];
        let made = |budget| composed("fill it", &order, &types, &["Other".to_owned()], budget);
        assert_eq!(forms(&made(100_000)), [Form::Code, Form::Code, Form::Code]);
        assert!(made(100_000).text.ends_with("Not shown: Other\n"));
        let some = made(340);
        assert_eq!(forms(&some), [Form::Code, Form::Code, Form::Outline], "{}", some.text);
        let few = made(40);
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
        let plain = composed("fill it", &order, &types, &[], 274);
        assert_ne!(plain.placed[0].form, Form::Code);
        order[0].mention = Some("A".to_owned());
        let sizes: Vec<usize> = types.iter().map(|text| text.size).collect();
        assert_eq!(limits(&order, &sizes, 274)[0], 274);
        let made = composed("fill it", &order, &types, &[], 274);
        assert_eq!((made.placed[0].form, made.placed.len()), (Form::Code, 4), "{}", made.text);
    }

    #[test]
    fn what_is_named_comes_before_the_shares_of_others() {
        let types: Vec<Texts> = ["A", "B", "C", "D", "E"].map(|key| texts(key, 30)).into();
        let mut order: Vec<Chosen> = (0..5).map(|at| chosen(at, 0.9)).collect();
        (order[0].mention, order[1].mention) = (Some("A".to_owned()), Some("B".to_owned()));
        let forms_in = |budget| forms(&composed("fill it", &order, &types, &[], budget));
        // Code takes 65 tokens, an outline 16, and one in brief 9.
        assert_eq!(forms_in(40)[..2], [Form::Outline, Form::Brief]);
        assert_eq!(forms_in(50)[..2], [Form::Outline, Form::Outline]);
        assert_eq!(forms_in(110)[..2], [Form::Code, Form::Outline]);
        assert_eq!(forms_in(160), [Form::Code, Form::Code]);
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
    fn what_is_named_comes_by_name_alone_where_no_more_has_room() {
        let mut types: Vec<Texts> = ["A", "B", "C"].map(|key| texts(key, 30)).into();
        let lines = (0..4).map(|at| format!("  + void Pour{at}() pours much of it and says so in many words\n"));
        types[1].outline.extend(lines);
        let mut order: Vec<Chosen> = (0..3).map(|at| chosen(at, 0.9)).collect();
        (order[0].mention, order[1].mention) = (Some("A".to_owned()), Some("B".to_owned()));
        let made = composed("pour much of it", &order, &types, &[], 60);
        let shown: Vec<usize> = made.placed.iter().map(|one| one.at).collect();
        assert!(shown.starts_with(&[0, 1]), "{}", made.text);
        assert!(made.text.contains("## B\nsrc/B.cs:1-30\n\n"), "{}", made.text);
        let made = composed("pour much of it", &order, &types, &[], 90);
        assert!(made.text.contains("Pour3"), "{}", made.text);
    }

    fn member(key: &str, words: usize) -> Stretch {
        Stretch {
            path: format!("{key}#Fill()"),
            places: vec![format!("src/{key}.cs:7-9")],
            text: "word ".repeat(words),
        }
    }

    #[test]
    fn a_named_member_stands_there_in_full_whatever_else_does() {
        let mut types = [texts("A", 20), texts("B", 400)];
        types[1].named = vec![member("B", 150), member("B", 500)];
        let mut order = [chosen(0, 0.9), chosen(1, 0.1)];
        order.iter_mut().for_each(|one| one.mention = Some("named".to_owned()));
        let made = composed("it", &order, &types, &[], 217);
        assert_eq!(made.placed[1].members, [0], "{}", made.text);
        assert!(forms(&made).iter().all(|form| *form < Form::Code));
        assert!(
            made.text
                .contains(&format!("Fill() at src/B.cs:7-9\n```csharp\n{}\n```\n", types[1].named[0].text))
        );
        // Where its type stands whole it is not told twice.
        let made = composed("it", &order, &types, &[], 10_000);
        let members = made.placed[1].members.len();
        assert_eq!((forms(&made), members), (vec![Form::Code, Form::Code], 2));
        assert!(!made.text.contains("Fill() at"));
    }

    #[test]
    fn a_named_member_comes_before_others_that_say_a_word() {
        let mut types = [texts("A", 400), texts("B", 4)];
        types[0].named = vec![member("A", 40)];
        let pours = (0..20).map(|at| format!("  + void Pour{at}() pours much of it and says so in many words\n"));
        types[0].outline.extend(pours);
        let mut order = [chosen(0, 0.9), chosen(1, 0.9)];
        order[0].mention = Some("named".to_owned());
        for budget in [90, 100, 120] {
            let made = composed("pour much of it", &order, &types, &[], budget);
            assert_eq!(made.placed[0].members, [0], "{budget}: {}", made.text);
        }
    }

    #[test]
    fn files_have_a_quarter_and_what_is_left_over() {
        let long = Attached::of("long.md", &"line of text\n".repeat(500));
        let files = [long, Attached::of("short.md", "one\n")];
        let types: Vec<Texts> = (0..8).map(|at| texts(&format!("T{at}"), 40)).collect();
        let order: Vec<Chosen> = (0..8).map(|at| chosen(at, 0.9)).collect();
        let made = |chosen: &[Chosen], texts: &[Texts], budget| {
            let material = Material {
                chosen,
                texts,
                files: &files,
                others: &[],
            };
            compose("it", material, budget, &tokens)
        };
        let of_files = |made: &Composed| made.files.iter().map(|(_, file)| file.tokens).sum::<usize>();
        let full = made(&order, &types, 600);
        assert_eq!(full.files.len(), 2);
        assert!(
            (60..250).contains(&of_files(&full)) && forms(&full).contains(&Form::Code),
            "{}",
            full.text
        );
        let left_over = made(&order[..1], &types[..1], 600);
        assert!(of_files(&left_over) > 300, "{}", left_over.text);
        assert!(of_files(&made(&[], &[], 600)) > 500);
        assert_eq!(made(&order, &types, 4_000).files[0].1.left_out, None);
        // A quarter of this budget is for no line of the two.
        assert_eq!(made(&order, &types, 60).files.len(), 2);
    }

    proptest! {
        #[test]
        fn budgets_hold_and_nothing_is_lost(
            sizes in proptest::collection::vec((0_usize..60, 1_u8..100, proptest::collection::vec(1_usize..200, 0..3)), 0..12),
            lines in proptest::collection::vec(1_usize..100, 0..3),
            budget in 0_usize..1500,
        ) {
            let mut types: Vec<Texts> = sizes.iter().enumerate().map(|(at, (lines, ..))| texts(&format!("T{at}"), *lines)).collect();
            for (one, (.., members)) in types.iter_mut().zip(&sizes) {
                one.named = members.iter().map(|words| member(&one.key, *words)).collect();
            }
            let of = |(at, (_, score, members)): (usize, &(usize, u8, Vec<usize>))| Chosen {
                mention: (!members.is_empty()).then(|| "named".to_owned()),
                ..chosen(at, f32::from(*score) / 100.0)
            };
            let order: Vec<Chosen> = sizes.iter().enumerate().map(of).collect();
            let files: Vec<Attached> = lines.iter().map(|lines| Attached::of("a.md", &"a line\n".repeat(*lines))).collect();
            let material = Material { chosen: &order, texts: &types, files: &files, others: &[] };
            let made = compose("pour", material, budget, &tokens);
            prop_assert!(made.tokens <= budget && made.tokens == tokens(&made.text));
            let mut all: Vec<usize> = made.placed.iter().map(|one| one.at).chain(made.left_out.iter().copied()).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..sizes.len()).collect::<Vec<_>>());
            for one in &made.placed {
                let head = format!("## T{}\n", one.at);
                prop_assert!(made.text.contains(&head));
                for member in one.members.iter().filter(|_| one.form != Form::Code) {
                    prop_assert!(made.text.contains(&types[one.at].named[*member].text));
                }
            }
            // The first member that fits at all is there before anything else is.
            let first = types.iter().position(|text| !text.named.is_empty());
            if let Some(first) = first
                && types[first].named[0].text.len() / 5 + 60 + FOR_THE_REST.0 < budget
            {
                prop_assert!(made.placed.iter().any(|one| one.at == first && one.members.contains(&0)), "{}", made.text);
            }
        }
    }
}
