//! The targets of all rules, and the rule that produces a label. Every lookup costs a few hash probes, however many rules there are.

use crate::manifest::template::{Piece, Template};
use crate::values::label::{JOIN, halves};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The labels that a template can produce.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form<'a> {
    Literal(&'a str),
    /// All with this beginning and ending, and a value between.
    Between(&'a str, &'a str),
    /// All with this beginning and ending, and two values joined by `#` between.
    Joined(&'a str, &'a str),
    /// More than one variable: perhaps those with this beginning and ending.
    Loose(&'a str, &'a str),
}

impl<'a> Form<'a> {
    pub(super) fn from_template(template: &'a Template) -> Self {
        match template.pieces.as_slice() {
            [] => Self::Literal(""),
            [Piece::Text(text)] => Self::Literal(text),
            [Piece::Text(head), Piece::Var(_)] => Self::Between(head, ""),
            [Piece::Text(head), Piece::Var(_), Piece::Text(tail)] => Self::Between(head, tail),
            [Piece::Var(_), Piece::Text(tail)] => Self::Between("", tail),
            [Piece::Var(_)] => Self::Between("", ""),
            [
                Piece::Text(head),
                Piece::Var(_),
                Piece::Text(join),
                Piece::Var(_),
                Piece::Text(tail),
            ] if **join == *JOIN => Self::Joined(head, tail),
            pieces => {
                let text = |piece: Option<&'a Piece>| match piece {
                    Some(Piece::Text(text)) => &**text,
                    _ => "",
                };
                Self::Loose(text(pieces.first()), text(pieces.last()))
            }
        }
    }

    /// Returns the target name, if no variable can change it.
    fn target(self) -> Option<&'a str> {
        let (Self::Literal(end) | Self::Between(_, end) | Self::Joined(_, end) | Self::Loose(_, end)) = self;
        end.rsplit_once(':').map(|(_, target)| target)
    }

    /// Returns the class of rules to compare with: rules of two joined variables form their own classes, since lookups find them first.
    fn bucket(self) -> (bool, Option<&'a str>) {
        (matches!(self, Self::Joined(..)), self.target())
    }

    /// Whether it names the bytes of files or the paths of a source set, which no rule produces.
    fn is_leaf(self) -> bool {
        let (Self::Literal(start) | Self::Between(start, _) | Self::Joined(start, _) | Self::Loose(start, _)) = self;
        [("//files/", "bytes"), ("//sources/", "files")]
            .into_iter()
            .any(|(head, target)| start.starts_with(head) && self.target() == Some(target))
    }
}

/// Rules by the labels they produce.
#[derive(Default)]
pub(super) struct Targets<'a> {
    /// By whether two variables are joined, and by target name; `None` for templates with a variable in it.
    by_name: HashMap<(bool, Option<&'a str>), Bucket<'a>>,
}

#[derive(Default)]
struct Bucket<'a> {
    literals: BTreeMap<&'a str, u32>,
    heads: BTreeMap<&'a str, Tails<'a>>,
    head_lens: BTreeSet<usize>,
}

#[derive(Default)]
struct Tails<'a> {
    rules: HashMap<&'a str, u32>,
    lens: BTreeSet<usize>,
    /// The tails, reversed, so that those with equal endings are adjacent.
    backwards: BTreeMap<Vec<u8>, u32>,
}

impl Tails<'_> {
    /// Finds the first rule, except `itself`, whose tail and this one are such that one ends with the other.
    fn meeting(&self, tail: &str, itself: u32) -> Option<u32> {
        let backwards = reversed(tail);
        let longer = self
            .backwards
            .range(backwards.clone()..)
            .take_while(|(other, _)| other.starts_with(&backwards));
        let shorter = self.lens.iter().filter_map(|len| self.backwards.get(backwards.get(..*len)?));
        // One head and tail have one rule: at most the first of each is `itself`.
        let others = longer.map(|(_, rule)| rule).take(2).chain(shorter.take(2));
        others.copied().filter(|rule| *rule != itself).min()
    }
}

fn reversed(tail: &str) -> Vec<u8> {
    tail.bytes().rev().collect()
}

impl<'a> Targets<'a> {
    /// Adds a rule. Errors: the earlier rule with a target of the same form.
    pub(super) fn add_form(&mut self, form: Form<'a>, rule: u32) -> Result<(), u32> {
        let bucket = self.by_name.entry(form.bucket()).or_default();
        match form {
            Form::Literal(text) => match bucket.literals.entry(text) {
                Entry::Occupied(earlier) => return Err(*earlier.get()),
                Entry::Vacant(free) => drop(free.insert(rule)),
            },
            Form::Between(head, tail) | Form::Joined(head, tail) | Form::Loose(head, tail) => {
                bucket.head_lens.insert(head.len());
                let tails = bucket.heads.entry(head).or_default();
                tails.lens.insert(tail.len());
                tails.backwards.entry(reversed(tail)).or_insert(rule);
                match tails.rules.entry(tail) {
                    std::collections::hash_map::Entry::Occupied(earlier) => return Err(*earlier.get()),
                    std::collections::hash_map::Entry::Vacant(free) => drop(free.insert(rule)),
                }
            }
        }
        Ok(())
    }

    /// Returns the rule of exactly this label.
    pub(super) fn literal(&self, label: &str) -> Option<u32> {
        let target = label.rsplit_once(':').map(|(_, target)| target);
        self.by_name.get(&(false, target))?.literals.get(label).copied()
    }

    /// Returns a rule over a set whose template can be this label.
    pub(super) fn find_over_set(&self, label: &str) -> Option<u32> {
        let target = label.rsplit_once(':').map(|(_, target)| target);
        [(true, target), (false, target), (false, None)]
            .into_iter()
            .filter_map(|kind| Some((kind.0, self.by_name.get(&kind)?)))
            .find_map(|(joined, bucket)| {
                let heads = bucket
                    .head_lens
                    .iter()
                    .filter_map(|len| label.get(..*len).and_then(|head| bucket.heads.get(head).map(|tails| (*len, tails))));
                heads.into_iter().find_map(|(head_len, tails)| {
                    let fitting = tails.lens.iter().filter(|len| head_len + **len < label.len());
                    let between = |len: usize| label.get(head_len..label.len() - len);
                    fitting
                        .filter(|len| !joined || between(**len).is_some_and(|value| halves(value).is_some()))
                        .filter_map(|len| label.get(label.len() - len..))
                        .find_map(|tail| tails.rules.get(tail).copied())
                })
            })
    }

    /// Finds a rule over a set that can produce a label which the template of `rule`, added as `form`, can produce, too. Of two such rules, the one
    /// with the longer beginning finds the other.
    pub(super) fn overlapping(&self, form: Form<'_>, rule: u32) -> Option<u32> {
        let (Form::Between(head, tail) | Form::Joined(head, tail)) = form else {
            return None;
        };
        let bucket = self.by_name.get(&form.bucket())?;
        let shorter = bucket.head_lens.iter().filter_map(|len| bucket.heads.get(head.get(..*len)?));
        shorter.filter_map(|tails| tails.meeting(tail, rule)).min()
    }

    /// Returns the rule that certainly produces what the form names: by its literal label, or by a template of the same form.
    pub(super) fn producing_rule(&self, form: Form<'_>) -> Option<u32> {
        match form {
            Form::Literal(label) => self.literal(label).or_else(|| self.find_over_set(label)),
            Form::Between(head, tail) | Form::Joined(head, tail) => {
                self.by_name.get(&form.bucket())?.heads.get(head)?.rules.get(tail).copied()
            }
            Form::Loose(..) => None,
        }
    }

    /// Whether some rule or file may produce what the form names.
    pub(super) fn may_exist(&self, form: Form<'_>) -> bool {
        if form.is_leaf() || self.producing_rule(form).is_some() {
            return true;
        }
        let (Form::Between(head, _) | Form::Joined(head, _) | Form::Loose(head, _)) = form else {
            return false;
        };
        let Some(name) = form.target() else {
            return true;
        };
        // It suffices that one head starts with the other: the text between is not known before a build.
        let kinds = [(true, Some(name)), (false, Some(name)), (false, None)];
        kinds.iter().filter_map(|kind| self.by_name.get(kind)).any(|bucket| {
            bucket.literals.range(head..).next().is_some_and(|(text, _)| text.starts_with(head))
                || bucket
                    .heads
                    .range(head..)
                    .next()
                    .is_some_and(|(longer, _)| longer.starts_with(head))
                || bucket
                    .head_lens
                    .iter()
                    .filter_map(|len| head.get(..*len))
                    .any(|shorter| bucket.heads.contains_key(shorter))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn template(text: &str) -> Template {
        Template::parse(text).expect(text)
    }

    #[test]
    fn lookups() {
        let texts = ["//index:types", "//types/{type}:outline", "//docs/{doc}.md:words", "//odd/x:{t}"];
        let templates: Vec<Template> = texts.iter().map(|text| template(text)).collect();
        let mut targets = Targets::default();
        for (rule, template) in (0..).zip(&templates) {
            assert_eq!(targets.add_form(Form::from_template(template), rule), Ok(()));
        }
        assert_eq!(targets.add_form(Form::Between("//types/", ":outline"), 9), Err(1));
        for (label, rule) in [
            ("//index:types", Some(0)),
            ("//types/A:outline", Some(1)),
            ("//docs/a.md:words", Some(2)),
            ("//docs/.md:words", None),
            ("//odd/x:y", Some(3)),
            ("//types/A:role", None),
        ] {
            assert_eq!(targets.producing_rule(Form::Literal(label)), rule, "{label}");
        }
        for (text, exists) in [
            ("//types/{x}:outline", true),
            ("//types/A.{x}:outline", true),
            ("//typ{x}:outline", true),
            ("//docs/{x}:words", true),
            ("//docs/{x}:word", false),
            ("//groups/{x}:outline", false),
            ("//files/{x}:bytes", true),
            ("//files/a/b.cs:bytes", true),
            ("//sources/csharp:files", true),
            ("//sources/{x}:files", true),
            ("//sources/csharp:bytes", false),
            ("//types/{x}/{y}:outline", true),
            ("//index:{x}", true),
        ] {
            assert_eq!(targets.may_exist(Form::from_template(&template(text))), exists, "{text}");
        }
    }

    proptest! {
        /// Two templates overlap exactly if a label long enough for both has both their beginnings and endings.
        #[test]
        fn overlaps_are_found(rules in prop::collection::btree_set("//[ab]{0,3}\\{v\\}[ab]{0,2}:t", 2..5)) {
            let templates: Vec<Template> = rules.iter().map(|text| template(text)).collect();
            let mut targets = Targets::default();
            for (rule, template) in (0..).zip(&templates) {
                prop_assert_eq!(targets.add_form(Form::from_template(template), rule), Ok(()));
            }
            let ends = |template: &Template| match Form::from_template(template) {
                Form::Between(head, tail) => (head.to_owned(), tail.to_owned()),
                _ => unreachable!("one variable"),
            };
            let longest = |a: String, b: String| if a.len() > b.len() { a } else { b };
            let meet = |a: &Template, b: &Template| {
                let ((head, tail), (other_head, other_tail)) = (ends(a), ends(b));
                let label = format!("{}b{}", longest(head, other_head), longest(tail, other_tail));
                a.capture(&label).is_some() && b.capture(&label).is_some()
            };
            let expected = templates.iter().enumerate().any(|(at, one)| templates[at + 1..].iter().any(|other| meet(one, other)));
            let found = (0..).zip(&templates).any(|(rule, template)| targets.overlapping(Form::from_template(template), rule).is_some());
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn covering_agrees_with_capture(rules in prop::collection::vec("//[ab]{0,3}\\{v\\}[ab]{0,3}:t", 1..6), label in "//[ab]{1,8}:t") {
            let templates: Vec<Template> = rules.iter().map(|text| template(text)).collect();
            let mut targets = Targets::default();
            for template in &templates {
                let _ = targets.add_form(Form::from_template(template), 0);
            }
            let expected = templates.iter().any(|template| template.capture(&label).is_some());
            prop_assert_eq!(targets.find_over_set(&label).is_some(), expected);
        }
    }
}
