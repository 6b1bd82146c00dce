//! Renamed members: finds members of a type by their code if only their names changed. Pure: the caller provides both states of the type.

use super::aliases::masked;
use super::implementation::{self, ImplMember};
use std::collections::BTreeMap;

/// Minimum number of words in a body by which a renamed member is recognised even if no other member uses it.
const FEWEST_WORDS: usize = 6;

/// Maximum number of pairs of removed and added members to compare.
const MOST_PAIRS: usize = 2_500;

/// Returns former and present keys of renamed members, from two outputs of `csharp/impl`. Pairs a removed and an added member if everything
/// but their names is equal. Empty if an output cannot be read.
pub fn renamed_members(then: &[u8], now: &[u8]) -> Vec<(String, String)> {
    let (Ok((_, then)), Ok((_, now))) = (
        implementation::parse_implementation(then),
        implementation::parse_implementation(now),
    ) else {
        return Vec::new();
    };
    let (removed, added) = (missing(&then, &now), missing(&now, &then));
    if !(1..=MOST_PAIRS).contains(&(removed.len() * added.len())) {
        return Vec::new();
    }
    let [code_then, code_now] = [&then, &now].map(|members| {
        members
            .iter()
            .map(|member| (member.key.clone(), member.body.clone()))
            .collect::<Vec<_>>()
    });
    let pairs: Vec<(&ImplMember, &ImplMember)> = removed
        .iter()
        .flat_map(|old| added.iter().map(|new| (*old, *new)))
        .filter(|(old, new)| is_renamed(old, new) && (has_long_body(old) || uses_follow([&code_then, &code_now], [&old.name, &new.name])))
        .collect();
    let is_only = |(old, new): &&(&ImplMember, &ImplMember)| {
        let others = pairs.iter().filter(|pair| pair.0.key == old.key || pair.1.key == new.key);
        others.count() == 1
    };
    pairs
        .iter()
        .filter(is_only)
        .map(|(old, new)| (old.key.clone(), new.key.clone()))
        .collect()
}

/// Returns the members of `these` whose keys are not in `others`. Leaves out members that share a key.
fn missing<'m>(these: &'m [ImplMember], others: &[ImplMember]) -> Vec<&'m ImplMember> {
    let mut by_key: BTreeMap<&str, Vec<&ImplMember>> = BTreeMap::new();
    for member in these {
        by_key.entry(&member.key).or_default().push(member);
    }
    let is_there = |key: &str| others.iter().any(|other| other.key == key);
    by_key
        .into_iter()
        .filter(|(key, members)| members.len() == 1 && !is_there(key))
        .flat_map(|(_, members)| members)
        .collect()
}

fn is_renamed(old: &ImplMember, new: &ImplMember) -> bool {
    let nameless = |member: &ImplMember| {
        let text = |text: &str| masked(text, |word| word == member.name);
        ImplMember {
            key: text(&member.key),
            signature: text(&member.signature),
            body: text(&member.body),
            name: String::new(),
            ..member.clone()
        }
    };
    old.name != new.name && nameless(old) == nameless(new)
}

fn has_long_body(member: &ImplMember) -> bool {
    words_of(&member.body).count() >= FEWEST_WORDS
}

/// Whether code of members (key and code, before and after) names `new` wherever it named `old`, at least once, and nowhere else. Members without a
/// counterpart of the same key do not count.
pub fn uses_follow([before, after]: [&[(String, String)]; 2], [old, new]: [&str; 2]) -> bool {
    let places = |code: &str, name: &str| -> Vec<usize> {
        let words = words_of(code).enumerate();
        words.filter(|(_, word)| *word == name).map(|(at, _)| at).collect()
    };
    let after: BTreeMap<&str, &str> = after.iter().map(|(key, code)| (key.as_str(), code.as_str())).collect();
    let mut is_used = false;
    for (key, then) in before {
        let counterpart = after.get(key.as_str()).filter(|now| then.contains(old) || now.contains(new));
        let Some(now) = counterpart else { continue };
        let [then, now] = [places(then, old), places(now, new)];
        if then != now {
            return false;
        }
        is_used |= !then.is_empty();
    }
    is_used
}

pub(super) fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::fixture::World;
    use super::*;
    use std::collections::BTreeSet;

    fn renamed(then: &str, now: &str) -> Vec<(String, String)> {
        let [then, now] = [then, now].map(|members| {
            let (syntax, _) = super::super::parse::read(&format!("class T {{ {members} }}"), &BTreeSet::new(), "a.cs");
            World::new(&[("a.cs", syntax)], &[]).output("impl", "T").bytes
        });
        renamed_members(&then, &now)
    }

    #[test]
    fn a_member_is_recognised_by_all_but_its_name() {
        let sum = "int Sum(int n) { if (n == 0) { return total; } return n + Sum(n - 1); }";
        let pair = |old: &str, new: &str| vec![(old.to_owned(), new.to_owned())];
        assert_eq!(renamed(sum, &sum.replace("Sum", "Total")), pair("Sum(int)", "Total(int)"));
        assert_eq!(renamed(sum, &sum.replace("Sum(int", "Total(int")), [], "it calls another member");
        assert_eq!(renamed(sum, &sum.replace("Sum", "Total").replace("== 0", "== 1")), []);
        assert_eq!(renamed(sum, &sum.replace("Sum", "Total").replace("int n", "long n")), []);
        assert_eq!(renamed("int A() => 1;", "int B() => 1;"), [], "too little code");
        let used = |name: &str, user: &str| format!("int {name}() => 1; int Use() => 2 + {user}();");
        assert_eq!(
            renamed(&used("A", "A"), &used("B", "B")),
            pair("A()", "B()"),
            "another member uses it"
        );
        assert_eq!(renamed(&used("A", "A"), &used("B", "C")), []);
        let twice = format!("{sum} {}", sum.replace("Sum", "Other"));
        assert_eq!(renamed(&twice, &sum.replace("Sum", "Total")), [], "two members have this code");
        assert_eq!(renamed_members(b"x", b"{}"), []);
    }
}
