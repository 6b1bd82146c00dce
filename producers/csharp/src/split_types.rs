//! Types that were split off from others: how many members of a new type an earlier type had. Pure: the caller provides the states of both.

use super::aliases::masked;
use super::implementation;
use super::renamed_members::words_of;
use super::types::symbol_of;
use std::collections::BTreeMap;

/// Minimum number of words in the code of a member that shows where a type comes from.
const FEWEST_WORDS: usize = 6;

/// The members with content of a type, without its constructors: code by key, with `_` for the name of the type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeMembers(BTreeMap<String, String>);

impl TypeMembers {
    /// Reads the output of `csharp/impl` about the type `key`; empty if it cannot be read.
    pub fn from_implementation(key: &str, implementation: &[u8]) -> Self {
        let symbol = symbol_of(key);
        let simple = symbol.rsplit(['.', '+']).next().unwrap_or(symbol);
        let simple = simple.split('`').next().unwrap_or(simple);
        let nameless = |text: &str| masked(text, |word| word == simple);
        let (_, members) = implementation::parse_implementation(implementation).unwrap_or_default();
        let members = members.into_iter().filter(|member| member.kind != "constructor");
        Self(members.map(|member| (nameless(&member.key), nameless(&member.body))).collect())
    }

    /// Returns the number of members that an `earlier` type had, if these are most members and one has much code. A member counts if its code is equal,
    /// or if the type lost it: `now` are its present members.
    pub fn count_members_of(&self, earlier: &Self, now: &Self) -> Option<usize> {
        let is_equal = |(key, code): &(&String, &String)| earlier.0.get(*key) == Some(*code);
        let is_lost = |key: &String| earlier.0.contains_key(key) && !now.0.contains_key(key);
        let count = self.0.iter().filter(|member| is_equal(member) || is_lost(member.0)).count();
        let has_long = self
            .0
            .iter()
            .any(|member| is_equal(&member) && words_of(member.1).count() >= FEWEST_WORDS);
        (has_long && count * 2 > self.0.len()).then_some(count)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::World;
    use super::*;
    use std::collections::BTreeSet;

    fn members_in(key: &str, code: &str) -> TypeMembers {
        let text = format!("class {key} {{ {code} }}");
        let (syntax, _) = super::super::parse::read(&text, &BTreeSet::new(), "a.cs");
        TypeMembers::from_implementation(key, &World::new(&[("a.cs", syntax)], &[]).output("impl", key).bytes)
    }

    #[test]
    fn most_members_show_where_a_type_comes_from() {
        let trim = "int Trim(int n) { while (n > most) { n -= step; } return n; }";
        let get = "int Get(int n) { return n + total; }";
        let earlier = members_in("Store", &format!("int most; Store(int n) {{ most = n; }} {trim} {get}"));
        let now = members_in("Store", get);
        let count = |code: &str| members_in("Part", code).count_members_of(&earlier, &now);
        assert_eq!(count(&format!("int most; Part(int n) {{ }} {trim}")), Some(2));
        assert_eq!(count(&format!("int Other() => 1; {trim} {get}")), Some(2), "both have Get");
        assert_eq!(count(&format!("int Other() => 1; {trim}")), None, "half of the members");
        assert_eq!(count("int most;"), None, "too little code");
        assert_eq!(count(&trim.replace("-= step", "-= 1")), None, "other code");
        let used = |name: &str| format!("{name} Copy({name} other) {{ return new {name}(other.a, other.b, 1); }}");
        let copied = members_in("Part", &used("Part")).count_members_of(&members_in("Store", &used("Store")), &now);
        assert_eq!(copied, Some(1), "its own name in place of the earlier one");
        assert_eq!(TypeMembers::from_implementation("T", b"x"), TypeMembers::default());
    }
}
