//! Renamed members: finds members of a type by their code if only their names changed. Pure: the caller provides both states of the type.

use super::aliases::masked;
use super::implementation::{self, ImplMember};
use super::structure::{self, ApiMember};
use std::collections::BTreeMap;

/// Minimum number of words in a body by which a renamed member is recognised even if no other member uses it.
const FEWEST_WORDS: usize = 6;

/// Maximum number of pairs of removed and added members to compare.
const MOST_PAIRS: usize = 2_500;

/// A removed and an added member that differ only in their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenamedMember {
    /// Former and present key.
    pub keys: [String; 2],
    /// Former and present name.
    pub names: [String; 2],
    /// Whether its code shows that it is one member: it is long, or other members of the type use both names in the same places.
    pub is_certain: bool,
}

/// Returns the renamed members, from two outputs of `csharp/impl`. A certain one has no other certain counterpart, another one no counterpart at all.
/// Empty if an output cannot be read.
pub fn renamed_members(then: &[u8], now: &[u8]) -> Vec<RenamedMember> {
    let (Ok((_, then)), Ok((_, now))) = (
        implementation::parse_implementation(then),
        implementation::parse_implementation(now),
    ) else {
        return Vec::new();
    };
    let [code_then, code_now] = [&then, &now].map(|members| code_by_key(members));
    let is_certain =
        |old: &ImplMember, new: &ImplMember| has_long_body(old) || uses_follow([&code_then, &code_now], [&old.name, &new.name]);
    only_pairs(missing(&then, &now), missing(&now, &then), is_certain)
}

/// As [`renamed_members`], of members that the accessible API declares, from two outputs of `csharp/structure`. None is certain: code is not compared.
pub fn renamed_declarations(then: &[u8], now: &[u8]) -> Vec<RenamedMember> {
    let (Ok(then), Ok(now)) = (structure::parse_structure(then), structure::parse_structure(now)) else {
        return Vec::new();
    };
    // A nested type has an identifier of its own.
    let declared = |members: Vec<ApiMember>| -> Vec<ImplMember> {
        let members = members.into_iter().filter(|member| !member.id.is_empty());
        members.map(declaration_without_code).collect()
    };
    let (then, now) = (declared(then.members), declared(now.members));
    only_pairs(missing(&then, &now), missing(&now, &then), |_, _| false)
}

fn declaration_without_code(member: ApiMember) -> ImplMember {
    ImplMember {
        kind: member.kind,
        name: member.name,
        key: member.key,
        accessible: true,
        modifiers: member.modifiers,
        signature: if member.attributed.is_empty() {
            member.signature
        } else {
            member.attributed
        },
        attributes: member.attributes,
        body: String::new(),
        follows: None,
    }
}

/// Returns the code of the members in an output of `csharp/impl`, with their keys; empty if it cannot be read.
pub fn code_of_members(implementation: &[u8]) -> Vec<(String, String)> {
    let members = implementation::parse_implementation(implementation).map(|(_, members)| members);
    code_by_key(&members.unwrap_or_default())
}

fn code_by_key(members: &[ImplMember]) -> Vec<(String, String)> {
    members.iter().map(|member| (member.key.clone(), member.body.clone())).collect()
}

fn only_pairs(
    removed: Vec<&ImplMember>,
    added: Vec<&ImplMember>,
    is_certain: impl Fn(&ImplMember, &ImplMember) -> bool,
) -> Vec<RenamedMember> {
    if !(1..=MOST_PAIRS).contains(&(removed.len() * added.len())) {
        return Vec::new();
    }
    let pairs = removed.iter().flat_map(|old| added.iter().map(move |new| (*old, *new)));
    let pairs = pairs.filter(|(old, new)| is_renamed(old, new)).map(|(old, new)| RenamedMember {
        keys: [old.key.clone(), new.key.clone()],
        names: [old.name.clone(), new.name.clone()],
        is_certain: is_certain(old, new),
    });
    let pairs: Vec<RenamedMember> = pairs.collect();
    let is_only = |pair: &&RenamedMember| {
        let counts = |other: &&RenamedMember| other.is_certain || !pair.is_certain;
        let shares = |other: &&RenamedMember| other.keys[0] == pair.keys[0] || other.keys[1] == pair.keys[1];
        pairs.iter().filter(counts).filter(shares).count() == 1
    };
    pairs.iter().filter(is_only).cloned().collect()
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
        let certain = renamed_members(&then, &now).into_iter().filter(|member| member.is_certain);
        certain.map(|member| member.keys.into()).collect()
    }

    #[test]
    fn a_short_member_and_a_declaration_may_be_renamed() {
        let outputs = |members: &str| {
            let (syntax, _) = super::super::parse::read(&format!("public interface T {{ {members} }}"), &BTreeSet::new(), "a.cs");
            let world = World::new(&[("a.cs", syntax)], &[]);
            ["structure", "impl"].map(|name| world.output(name, "T").bytes)
        };
        let keys = |found: Vec<RenamedMember>| -> Vec<(String, String)> {
            assert!(found.iter().all(|member| !member.is_certain));
            found.into_iter().map(|member| member.keys.into()).collect()
        };
        let declared = |then: &str, now: &str| keys(renamed_declarations(&outputs(then)[0], &outputs(now)[0]));
        let pair = |old: &str, new: &str| vec![(old.to_owned(), new.to_owned())];
        assert_eq!(declared("int A { get; }", "int B { get; }"), pair("A", "B"));
        assert_eq!(
            declared("void A(int n);", "void B(int n); int C { get; }"),
            pair("A(int)", "B(int)")
        );
        assert_eq!(declared("int A { get; }", "int B { get; set; }"), []);
        assert_eq!(declared("int A { get; }", "int B { get; } int C { get; }"), [], "two counterparts");
        let short = |name: &str| outputs(&format!("int {name}() => 1;"))[1].clone();
        assert_eq!(keys(renamed_members(&short("A"), &short("B"))), pair("A()", "B()"));
        assert_eq!(code_of_members(&short("A"))[0].0, "A()");
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
