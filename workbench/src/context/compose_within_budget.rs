//! Composes the text of a context within a budget of tokens.
//!
//! Order: members that the query names, in full; then its types, first by name alone, in brief if that fits, as outlines if they fit, as code if that
//! fits. Files that it names and that contain no type get a quarter of the budget. Then members that answer the query, with the heads of their types,
//! and neighbours in brief and in one line ([`super::answering_members`]). The remaining tokens make forms fuller, the most important first, and then files;
//! types that fit in no form are left out and named.

use super::attached::{Attached, Fitted};
use super::forms::{Form, TypeTexts, section};
use super::members::MemberText;
use super::type_ranking::Chosen;
use std::collections::BTreeSet;

/// Tokens reserved for the lines that name what is not shown, at most this fraction of the budget.
const FOR_THE_REST: (usize, usize) = (60, 8);
/// Fraction of the budget for files that the query names, if there are types: as much as one whole type.
const FOR_FILES: usize = 4;
/// Heading of types that are shown in one line.
const LINES: &str = "## More that may belong to it\n";
/// Limit of types that are named as not shown.
const NAMED: usize = 8;
/// Limit of characters of the query in the heading.
const HEADING: usize = 160;

/// A type as shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// Index of the type among the chosen.
    pub at: usize,
    /// Form in which the type is shown.
    pub form: Form,
    /// The members named by the query that are shown in full.
    pub members: Vec<usize>,
    /// Length of the text in tokens.
    pub tokens: usize,
}

/// The composed text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Composed {
    /// The text for the model.
    pub text: String,
    /// Types in the text, in order.
    pub placed: Vec<Placed>,
    /// Attached files in the text, by their indices; they come before the types.
    pub files: Vec<(usize, Fitted)>,
    /// The chosen types that did not fit.
    pub left_out: Vec<usize>,
    /// Tokens of the text.
    pub tokens: usize,
}

/// The input of a composition.
#[derive(Clone, Copy, Debug)]
pub struct Material<'m> {
    pub chosen: &'m [Chosen],
    pub texts: &'m [TypeTexts],
    /// Files that the query names.
    pub files: &'m [Attached],
    /// Keys of types that were considered and not chosen.
    pub others: &'m [String],
}

/// A type in its present form.
pub(super) struct Section {
    pub(super) form: Form,
    /// The members shown, in the order of the file.
    pub(super) members: Vec<usize>,
    text: String,
    pub(super) tokens: usize,
}

/// A text in the making: the sections so far, and the tokens used.
pub(super) struct ComposedText<'m> {
    pub(super) material: Material<'m>,
    asked: BTreeSet<String>,
    count: &'m dyn Fn(&str) -> usize,
    /// Tokens for types and files.
    pub(super) room: usize,
    pub(super) used: usize,
    pub(super) sections: Vec<Option<Section>>,
}

/// Composes a text of at most `budget` tokens, as `count` counts them.
pub fn compose(query: &str, material: Material<'_>, budget: usize, count: &dyn Fn(&str) -> usize) -> Composed {
    let Material { chosen, files, .. } = material;
    let heading = heading(query);
    let mut text_so_far = ComposedText {
        material,
        asked: super::words::query_words(query).into_iter().collect(),
        count,
        room: budget.saturating_sub(count(&heading) + FOR_THE_REST.0.min(budget / FOR_THE_REST.1)),
        used: 0,
        sections: chosen.iter().map(|_| None).collect(),
    };
    text_so_far.show_named_members();
    let for_files = if chosen.is_empty() {
        text_so_far.room
    } else {
        text_so_far.room / FOR_FILES
    };
    let mut attached = vec![None; files.len()];
    give(files, &mut attached, for_files.min(text_so_far.free_tokens()), count);
    text_so_far.used += attached.iter().flatten().map(|one| one.tokens).sum::<usize>();
    // Reserve room for the names of named types and for the first lines of named files.
    text_so_far.show_names_of_named();
    for (file, shown) in files.iter().zip(&mut attached).filter(|(_, shown)| shown.is_none()) {
        *shown = file.least(text_so_far.free_tokens(), count);
        text_so_far.used += shown.as_ref().map_or(0, |shown| shown.tokens);
    }
    for form in [Form::Brief, Form::Outline, Form::Code] {
        text_so_far.raise(form, true);
    }
    text_so_far.show_answers();
    text_so_far.show_neighbours();
    for form in [Form::Brief, Form::Outline, Form::Code] {
        text_so_far.raise(form, false);
    }
    give(files, &mut attached, text_so_far.free_tokens(), count);
    join_within_budget(&heading, text_so_far.sections, attached, material, budget, count)
}

impl ComposedText<'_> {
    pub(super) fn free_tokens(&self) -> usize {
        self.room - self.used
    }

    /// Whether the query names a chosen type or a member of it.
    pub(super) fn is_named(&self, at: usize) -> bool {
        self.material.chosen[at].mention.is_some() || self.material.texts[at].named > 0
    }

    /// Renders a chosen type in a form with these members, if that takes at most `most` tokens.
    fn section(&self, at: usize, form: Form, members: &[usize], most: usize) -> Option<Section> {
        self.section_about(at, form, members, most, Some(&self.asked))
    }

    fn section_about(&self, at: usize, form: Form, members: &[usize], most: usize, asked: Option<&BTreeSet<String>>) -> Option<Section> {
        let text = &self.material.texts[at];
        let member_texts: Vec<&MemberText> = members.iter().map(|member| &text.members[*member]).collect();
        let section = section(text, form, &member_texts, asked)?;
        // A token rarely has more than 16 bytes: do not count longer texts.
        let tokens = (section.len() / 16 <= most)
            .then(|| (self.count)(&section))
            .filter(|tokens| *tokens <= most)?;
        Some(Section {
            form,
            members: members.to_vec(),
            text: section,
            tokens,
        })
    }

    /// Shows a chosen type in another form, with other members, if it then takes at most `more` tokens more than now.
    pub(super) fn show(&mut self, at: usize, form: Form, members: &[usize], more: usize) -> bool {
        let own = self.sections[at].as_ref().map_or(0, |shown| shown.tokens);
        let made = self.section(at, form, members, own + more.min(self.free_tokens()));
        self.replace(at, made)
    }

    fn replace(&mut self, at: usize, made: Option<Section>) -> bool {
        let Some(made) = made else { return false };
        let own = self.sections[at].as_ref().map_or(0, |shown| shown.tokens);
        self.used = self.used - own + made.tokens;
        self.sections[at] = Some(made);
        true
    }

    /// Shows members that the query names before anything else, also before other parts of their types.
    fn show_named_members(&mut self) {
        for at in 0..self.sections.len() {
            for member in 0..self.material.texts[at].named {
                let (mut members, own) = match &self.sections[at] {
                    Some(shown) => (shown.members.clone(), shown.tokens),
                    None => (Vec::new(), 0),
                };
                members.push(member);
                let made = self.section_about(at, Form::Brief, &members, own + self.free_tokens(), None);
                self.replace(at, made);
            }
        }
    }

    fn show_names_of_named(&mut self) {
        for at in 0..self.sections.len() {
            if self.sections[at].is_none() && self.is_named(at) {
                let made = self.section_about(at, Form::Brief, &[], self.free_tokens(), None);
                self.replace(at, made);
            }
        }
    }

    /// Shows types in a fuller form where it fits, the most important first: the named types, or the others.
    fn raise(&mut self, form: Form, named: bool) {
        for at in (0..self.sections.len())
            .filter(|at| self.is_named(*at) == named)
            .collect::<Vec<_>>()
        {
            let (before, members) = match &self.sections[at] {
                Some(now) => (Some(now.form), now.members.clone()),
                None => (None, Vec::new()),
            };
            // The brief form is shown in addition to members of a named type that are shown already.
            if before < Some(form) || named && form == Form::Brief {
                self.show(at, form, &members, self.free_tokens());
            }
        }
    }
}

/// Distributes `free` tokens among files: equal shares, where short files leave the rest of theirs to longer ones.
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

/// Joins the pieces. Joined pieces may take a token more, so the least important are dropped until the text fits: types, then files.
fn join_within_budget(
    heading: &str,
    mut sections: Vec<Option<Section>>,
    mut files: Vec<Option<Fitted>>,
    material: Material<'_>,
    budget: usize,
    count: &dyn Fn(&str) -> usize,
) -> Composed {
    let Material { texts, others, .. } = material;
    loop {
        let (mut made, mut lines) = (Composed::default(), String::new());
        made.text.push_str(heading);
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
                    if shown.form == Form::Line {
                        lines.push_str(&shown.text);
                    } else {
                        made.text.push_str(&shown.text);
                    }
                    // The whole source has all members.
                    let members = match shown.form {
                        Form::Code => (0..texts[at].members.len()).collect(),
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
        if !lines.is_empty() {
            made.text.push_str(&format!("{LINES}{lines}\n"));
        }
        let unshown = made
            .left_out
            .iter()
            .map(|at| texts[*at].key.as_str())
            .chain(others.iter().map(String::as_str));
        let whole = format!("{}{}", made.text, rest(unshown));
        // Whether the rest is named or not does not change what is shown.
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

/// Returns the heading: the query in one line.
fn heading(query: &str) -> String {
    let mut line: String = query.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() > HEADING {
        line = line.chars().take(HEADING).chain(['…']).collect();
    }
    format!("# Context: {line}\n\n")
}

/// Names what is not shown, up to a limit.
fn rest<'r>(mut keys: impl Iterator<Item = &'r str>) -> String {
    let named: Vec<&str> = keys.by_ref().take(NAMED).collect();
    match (named.is_empty(), keys.next().is_some()) {
        (true, _) => String::new(),
        (false, more) => format!("Not shown: {}{}\n", named.join(", "), if more { " and more" } else { "" }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::type_ranking::samples::chosen;
    use super::*;
    use proptest::prelude::*;

    fn texts(key: &str, lines: usize) -> TypeTexts {
        let code = (0..lines).map(|line| format!("    line {line};\n")).collect::<String>();
        let outline = format!(
            "# {key} T_1\nKind: class | File: a.cs | ImplHash: X\nXmlDocHash: Y\nXMLDOC: Says {key}.\n\nPublic API:\n  + void Fill()\n  + void Pour()\n"
        );
        TypeTexts {
            key: key.to_owned(),
            language: None,
            places: vec![format!("src/{key}.cs:1-{lines}")],
            outline,
            size: code.len() / 3,
            code: Some(code),
            ..TypeTexts::default()
        }
    }

    fn tokens(text: &str) -> usize {
        text.split_whitespace().count()
    }

    fn composed(query: &str, chosen: &[Chosen], texts: &[TypeTexts], others: &[String], budget: usize) -> Composed {
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
    fn a_named_type_is_shown_as_code() {
        let types = [texts("B", 20), texts("C", 20), texts("D", 20), texts("A", 50)];
        let mut order = [chosen(0, 0.9), chosen(1, 0.8), chosen(2, 0.7), chosen(3, 0.1)];
        let plain = composed("fill it", &order, &types, &[], 274);
        assert_ne!(plain.placed[3].form, Form::Code);
        order[3].mention = Some("A".to_owned());
        let made = composed("fill it", &order, &types, &[], 274);
        assert_eq!((made.placed[3].form, made.placed.len()), (Form::Code, 4), "{}", made.text);
    }

    #[test]
    fn named_types_take_the_budget_before_all_others() {
        let types: Vec<TypeTexts> = ["A", "B", "C", "D", "E"].map(|key| texts(key, 30)).into();
        let mut order: Vec<Chosen> = (0..5).map(|at| chosen(at, 0.9)).collect();
        (order[0].mention, order[1].mention) = (Some("A".to_owned()), Some("B".to_owned()));
        let forms_in = |budget| forms(&composed("fill it", &order, &types, &[], budget));
        // Code takes 65 tokens, an outline 16, and a brief form 9.
        assert_eq!(forms_in(40)[..2], [Form::Outline, Form::Brief]);
        assert_eq!(forms_in(50)[..2], [Form::Outline, Form::Outline]);
        assert_eq!(forms_in(110)[..2], [Form::Code, Form::Outline]);
        assert_eq!(forms_in(160)[..2], [Form::Code, Form::Code]);
    }

    #[test]
    fn a_named_type_without_room_is_shown_by_its_name() {
        let mut types: Vec<TypeTexts> = ["A", "B", "C"].map(|key| texts(key, 30)).into();
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

    fn member(key: &str, words: usize) -> MemberText {
        MemberText {
            path: format!("{key}#Fill()"),
            places: vec![format!("src/{key}.cs:7-9")],
            text: "word ".repeat(words),
            fit: 0.0,
        }
    }

    #[test]
    fn a_named_member_stands_there_in_full_whatever_else_does() {
        let mut types = [texts("A", 20), texts("B", 400)];
        (types[1].members, types[1].named) = (vec![member("B", 150), member("B", 500)], 2);
        let mut order = [chosen(0, 0.9), chosen(1, 0.1)];
        order.iter_mut().for_each(|one| one.mention = Some("named".to_owned()));
        let made = composed("it", &order, &types, &[], 217);
        assert_eq!(made.placed[1].members, [0], "{}", made.text);
        assert!(forms(&made).iter().all(|form| *form < Form::Code));
        assert!(
            made.text
                .contains(&format!("Fill() at src/B.cs:7-9\n```csharp\n{}\n```\n", types[1].members[0].text))
        );
        // It is not repeated where its type is shown whole.
        let made = composed("it", &order, &types, &[], 10_000);
        let members = made.placed[1].members.len();
        assert_eq!((forms(&made), members), (vec![Form::Code, Form::Code], 2));
        assert!(!made.text.contains("Fill() at"));
    }

    #[test]
    fn a_named_member_comes_before_others_that_say_a_word() {
        let mut types = [texts("A", 400), texts("B", 4)];
        (types[0].members, types[0].named) = (vec![member("A", 40)], 1);
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
        let long = Attached::from_text("long.md", &"line of text\n".repeat(500));
        let files = [long, Attached::from_text("short.md", "one\n")];
        let types: Vec<TypeTexts> = (0..8).map(|at| texts(&format!("T{at}"), 40)).collect();
        let order: Vec<Chosen> = (0..8).map(|at| chosen(at, 0.9)).collect();
        let made = |chosen: &[Chosen], texts: &[TypeTexts], budget| {
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
        // A quarter of this budget is too small for a line of either.
        assert_eq!(made(&order, &types, 60).files.len(), 2);
    }

    proptest! {
        #[test]
        fn budgets_hold_and_nothing_is_lost(
            sizes in proptest::collection::vec((0_usize..60, 1_u8..100, proptest::collection::vec(1_usize..200, 0..3)), 0..12),
            lines in proptest::collection::vec(1_usize..100, 0..3),
            budget in 0_usize..1500,
        ) {
            let mut types: Vec<TypeTexts> = sizes.iter().enumerate().map(|(at, (lines, ..))| texts(&format!("T{at}"), *lines)).collect();
            for (one, (.., members)) in types.iter_mut().zip(&sizes) {
                one.members = members.iter().map(|words| member(&one.key, *words)).collect();
                // In one type of three the members may answer, and are not named.
                let answers = one.size % 3 == 0;
                one.named = if answers { 0 } else { members.len() };
                one.members.iter_mut().for_each(|member| member.fit = if answers { 0.5 } else { 0.0 });
            }
            let of = |(at, (_, score, _)): (usize, &(usize, u8, Vec<usize>))| Chosen {
                mention: (types[at].named > 0).then(|| "named".to_owned()),
                ..chosen(at, f32::from(*score) / 100.0)
            };
            let order: Vec<Chosen> = sizes.iter().enumerate().map(of).collect();
            let files: Vec<Attached> = lines.iter().map(|lines| Attached::from_text("a.md", &"a line\n".repeat(*lines))).collect();
            let material = Material { chosen: &order, texts: &types, files: &files, others: &[] };
            let made = compose("pour", material, budget, &tokens);
            prop_assert!(made.tokens <= budget && made.tokens == tokens(&made.text));
            let mut all: Vec<usize> = made.placed.iter().map(|one| one.at).chain(made.left_out.iter().copied()).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..sizes.len()).collect::<Vec<_>>());
            for one in &made.placed {
                let head = if one.form == Form::Line { format!("- T{} ", one.at) } else { format!("## T{}\n", one.at) };
                prop_assert!(made.text.contains(&head), "{head}: {}", made.text);
                for member in one.members.iter().filter(|_| one.form != Form::Code) {
                    prop_assert!(made.text.contains(&types[one.at].members[*member].text));
                }
            }
            // The first named member that fits is shown before anything else.
            let first = types.iter().position(|text| text.named > 0);
            if let Some(first) = first
                && types[first].members[0].text.len() / 5 + 60 + FOR_THE_REST.0 < budget
            {
                prop_assert!(made.placed.iter().any(|one| one.at == first && one.members.contains(&0)), "{}", made.text);
            }
        }
    }
}
