//! Chooses the parts of types that answer a query: their members that fit it best, as code, then neighbours in brief and in one line.
//!
//! Members get three fifths of a small room and more of a large one. Their order combines how well their own words fit the query (BM25, relative to
//! the best member) and the value of their type: 0.6 for its score, 0.2 for nearness to the others, 0.1 if it can be shown whole, 0.1 for how often
//! it was used (seed 003, budget).

use super::compose_within_budget::ComposedText;
use super::forms::Form;
use super::index::Index;
use super::members::MemberText;
use super::type_ranking::Chosen;
use super::words::for_each_word;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Weights of the qualities in the value of a type.
const BY_FIT: f32 = 0.6;
const BY_DEPENDENCY: f32 = 0.2;
const BY_WHOLENESS: f32 = 0.1;
const BY_ACCESS: f32 = 0.1;
/// Weight of the type's value compared with the fit of a member.
const OF_TYPE: f32 = 0.5;
/// Shares of the room for members: in a room of [`SMALL`] tokens or less, and of [`LARGE`] or more; between them the share grows.
const FOR_MEMBERS: (f32, f32) = (0.6, 0.85);
const SMALL: f32 = 4_000.0;
const LARGE: f32 = 8_000.0;
/// Share of the members' room for one member, and limit of members of one type.
const FOR_ONE_MEMBER: f32 = 0.5;
const OF_ONE_TYPE: usize = 8;
/// A type is shown whole if that takes at most this many times the tokens of its answering members.
const WHOLE: f32 = 1.25;
/// Limit of types without such members that are shown in brief; further ones get a line each.
const IN_BRIEF: usize = 8;

/// Number of first chosen types whose members are considered.
pub const LOOKED_AT: usize = 40;

/// Words of a member of usual length, with names weighted as in [`bm25`]. A shorter member fits no better: it is little more than its name.
const USUAL_LENGTH: f32 = 60.0;
/// Weight of a word in the name of a member.
const IN_NAME: f32 = 4.0;
/// Parameters of Okapi BM25; the low `B` allows for members that differ in length for good reasons.
const K1: f32 = 1.2;
const B: f32 = 0.4;

impl ComposedText<'_> {
    /// Shows the answering members, the best first, each with the head of its type.
    pub(super) fn show_answers(&mut self) {
        let free = self.free_tokens() as f32;
        let (least, full) = FOR_MEMBERS;
        let share = least + (full - least) * ((self.room as f32 - SMALL) / (LARGE - SMALL)).clamp(0.0, 1.0);
        let most = self.used + (free * share) as usize;
        let for_one = (free * share * FOR_ONE_MEMBER) as usize;
        for (at, member) in self.answers() {
            let mut members = self.sections[at].as_ref().map_or_else(Vec::new, |shown| shown.members.clone());
            if members.len() < OF_ONE_TYPE {
                members.push(member);
                members.sort_unstable();
                self.show(at, Form::Brief, &members, for_one.min(most.saturating_sub(self.used)));
            }
        }
        for at in 0..self.sections.len() {
            let Some(shown) = self.sections[at].as_ref().filter(|_| !self.is_named(at)) else {
                continue;
            };
            let (members, more) = (shown.members.clone(), shown.tokens as f32 * (WHOLE - 1.0));
            self.show(at, Form::Code, &members, more as usize);
        }
    }

    /// Returns the members of types that the query does not name, the best first.
    fn answers(&self) -> Vec<(usize, usize)> {
        let worth = worth(
            self.material.chosen,
            &self.material.texts.iter().map(|text| text.size).collect::<Vec<_>>(),
            self.room,
        );
        let mut found: Vec<(f32, usize, usize)> = Vec::new();
        for (at, text) in self.material.texts.iter().enumerate().filter(|(at, _)| !self.is_named(*at)) {
            let fitting = text.members.iter().enumerate().filter(|(_, member)| member.fit > 0.0);
            found.extend(fitting.map(|(member, member_text)| (member_text.fit + OF_TYPE * worth[at], at, member)));
        }
        found.sort_by(|one, other| other.0.total_cmp(&one.0).then((one.1, one.2).cmp(&(other.1, other.2))));
        found.into_iter().map(|(_, at, member)| (at, member)).collect()
    }

    /// Shows the types that are not shown yet: the first in brief, in half of the room, the others in a line each, as far as they fit.
    pub(super) fn show_neighbours(&mut self) {
        let open: Vec<usize> = (0..self.sections.len()).filter(|at| self.sections[*at].is_none()).collect();
        let in_brief = self.used + self.free_tokens() / 2;
        for (place, at) in open.into_iter().enumerate() {
            let shown = place < IN_BRIEF && self.show(at, Form::Brief, &[], in_brief.saturating_sub(self.used));
            if !shown {
                self.show(at, Form::Line, &[], self.free_tokens());
            }
        }
    }
}

/// Returns the value of each chosen type, relative to 1. `sizes` and `room` are tokens.
pub(super) fn worth(chosen: &[Chosen], sizes: &[usize], room: usize) -> Vec<f32> {
    let best = chosen.iter().map(|one| one.score).fold(f32::MIN_POSITIVE, f32::max);
    let of = |(one, size): (&Chosen, &usize)| {
        let whole = if *size <= room / 4 { 1.0 } else { 0.0 };
        BY_FIT * one.score / best + BY_DEPENDENCY * one.factors.dependency + BY_WHOLENESS * whole + BY_ACCESS * one.factors.access
    };
    chosen.iter().zip(sizes).map(of).collect()
}

/// Sets the fit of each member to words: BM25 over its name, code and documentation; the best member has 1.
pub fn rate<'s>(index: &Index, asked: &[String], members: impl Iterator<Item = &'s mut MemberText>) {
    let rarity: FxHashMap<&str, f32> = asked.iter().map(|word| (word.as_str(), index.rarity(word))).collect();
    let mut members: Vec<&mut MemberText> = members.collect();
    let mut best = f32::MIN_POSITIVE;
    for member in &mut members {
        member.fit = bm25(&rarity, member);
        best = best.max(member.fit);
    }
    members.into_iter().for_each(|member| member.fit /= best);
}

fn bm25(rarity: &FxHashMap<&str, f32>, member: &MemberText) -> f32 {
    let mut counted: BTreeMap<&str, f32> = BTreeMap::new();
    let mut length = 0.0;
    for (text, counts) in [(member.name(), IN_NAME), (member.text.as_str(), 1.0)] {
        for_each_word(text, |word| {
            length += counts;
            if let Some((word, _)) = rarity.get_key_value(word) {
                *counted.entry(word).or_default() += counts;
            }
        });
    }
    let norm = K1 * (1.0 - B + B * (length / USUAL_LENGTH).max(1.0));
    counted
        .into_iter()
        .map(|(word, counts)| rarity[word] * counts * (K1 + 1.0) / (counts + norm))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::super::compose_within_budget::{Composed, Material, compose};
    use super::super::forms::TypeTexts;
    use super::super::index::samples::{document, index_of};
    use super::super::relevance_factors::Factors;
    use super::super::type_ranking::samples::chosen;
    use super::super::words::distinct;
    use super::*;

    fn member(path: &str, text: &str) -> MemberText {
        MemberText {
            path: path.to_owned(),
            places: vec![format!("{}.cs:7-9", path.split('#').next().unwrap_or_default())],
            text: text.to_owned(),
            fit: 0.0,
        }
    }

    fn composed(order: &[Chosen], texts: &[TypeTexts], budget: usize) -> Composed {
        let material = Material {
            chosen: order,
            texts,
            files: &[],
            others: &[],
        };
        compose("verify checksum", material, budget, &|text| text.split_whitespace().count())
    }

    /// Returns ten types of two members each; one member of the third matches the query.
    fn ten() -> (Vec<Chosen>, Vec<TypeTexts>) {
        let index = index_of((0..10).map(|at| document(&format!("N.T{at}"), "verify stream", &[])).collect());
        let mut texts: Vec<TypeTexts> = (0..10)
            .map(|at| {
                let body = if at == 2 { "verify checksum" } else { "read stream" };
                TypeTexts {
                    key: format!("N.T{at}"),
                    places: vec![format!("src/T{at}.cs")],
                    outline: format!("XMLDOC: Type {at}.\nPublic API:\n  + void Verify()\n"),
                    members: vec![
                        member(&format!("N.T{at}#Verify()"), &format!("{body}\n").repeat(9)),
                        member(&format!("N.T{at}#Other()"), &"nothing of it\n".repeat(9)),
                    ],
                    size: 1_000,
                    ..TypeTexts::default()
                }
            })
            .collect();
        rate(
            &index,
            &distinct("verify the stream"),
            texts.iter_mut().flat_map(|text| &mut text.members),
        );
        ((0..10).map(|at| chosen(at, 1.0 - at as f32 / 20.0)).collect(), texts)
    }

    #[test]
    fn members_that_say_what_is_asked_are_shown_and_no_others() {
        let (order, texts) = ten();
        let made = composed(&order, &texts, 400);
        let shown: Vec<_> = made
            .placed
            .iter()
            .flat_map(|one| one.members.iter().map(|member| (one.at, *member)))
            .collect();
        assert!(!shown.is_empty() && shown.iter().all(|(_, member)| *member == 0), "{}", made.text);
        assert!(made.text.contains("Verify() at N.T0.cs:7-9\n```csharp\n"), "{}", made.text);
    }

    #[test]
    fn types_without_room_become_a_line_with_their_file() {
        let (order, mut texts) = ten();
        let long = |text: &mut TypeTexts| text.outline = format!("XMLDOC: {}\n", "word ".repeat(30));
        texts.iter_mut().for_each(long);
        let made = composed(&order, &texts, 160);
        let lines = made.placed.iter().filter(|one| one.form == Form::Line).count();
        assert!(lines > 0 && made.left_out.is_empty(), "{}", made.text);
        assert!(made.text.contains("- T9 src/T9.cs\n"), "{}", made.text);
        assert!(made.tokens <= 160);
    }

    #[test]
    fn a_member_fits_by_its_name_before_its_body() {
        let index = index_of(vec![document("N.A", "verify checksum stream", &[]), document("N.B", "other", &[])]);
        let mut members = [
            member("N.A#Verify()", "checksum of it"),
            member("N.A#Read()", "verify checksum of it"),
            member("N.A#Close()", "nothing"),
        ];
        rate(&index, &distinct("verify"), members.iter_mut());
        let [by_name, by_body, none] = members.map(|member| member.fit);
        assert!(
            by_name == 1.0 && by_body > 0.0 && by_body < 1.0 && none == 0.0,
            "{by_name} {by_body} {none}"
        );
    }

    #[test]
    fn a_type_is_worth_four_qualities() {
        let with = |at, score, dependency, access| Chosen {
            factors: Factors {
                dependency,
                access,
                ..Factors::default()
            },
            ..chosen(at, score)
        };
        // One type per quality; the last one has all of them and is as long as a quarter of the room.
        let order = [
            with(0, 1.0, 0.0, 0.0),
            with(1, 0.0, 1.0, 0.0),
            with(2, 0.0, 0.0, 1.0),
            with(3, 1.0, 1.0, 1.0),
        ];
        let worth = worth(&order, &[26, 26, 26, 25], 100);
        let expected = [0.6, 0.2, 0.1, 1.0];
        assert!(
            worth.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-6),
            "{worth:?}"
        );
    }
}
