//! CamelHumps: `NS` for NodeStore, `GeNoBy` for GetNodeById.
//!
//! Humps begin at the first character of a name, at each capital letter, at each digit after another character, and after `_` or another sign. The
//! first character of a pattern and its capitals match beginnings of humps; its other characters match the characters that follow. In a pattern
//! without capitals, each character may match either way (`ns`, `gnbi`). A match may skip humps.

use engine::values::case_folding::fold;

/// Most characters of a name that are compared.
const LONGEST: usize = 128;

/// A pattern of humps.
#[derive(Clone, Debug)]
pub struct Humps {
    /// Each character without its case, and whether it must begin a hump.
    chars: Vec<(char, bool)>,
    /// Whether other characters may begin a hump, too.
    loose: bool,
}

impl Humps {
    pub fn new(pattern: &str) -> Self {
        Self {
            loose: !pattern.chars().any(char::is_uppercase),
            chars: pattern.chars().map(|c| (fold(c), c.is_uppercase())).collect(),
        }
    }

    pub fn matches(&self, name: &str) -> bool {
        self.lies_on(name, |starts, reach| {
            starts & u128::MAX.checked_shl(reach.trailing_zeros() + 1).unwrap_or(0)
        })
    }

    /// Whether the pattern matches consecutive humps of a name.
    pub fn matches_without_gaps(&self, name: &str) -> bool {
        self.lies_on(name, |starts, reach| {
            let next_of = |at: u32| starts & u128::MAX.checked_shl(at + 1).unwrap_or(0);
            let of_reach = (0..u128::BITS).filter(|at| reach >> at & 1 == 1);
            of_reach.map(next_of).fold(0, |set, later| set | later & later.wrapping_neg())
        })
    }

    /// Matches the pattern; `next_humps` returns the starts of humps that may follow any of the given positions. One pass over the name, then a few
    /// steps per character of the pattern.
    fn lies_on(&self, name: &str, next_humps: impl Fn(u128, u128) -> u128) -> bool {
        if self.chars.is_empty() || self.chars.len() > LONGEST {
            return false;
        }
        let (mut text, mut length, mut starts, mut before) = (['\0'; LONGEST], 0, 0_u128, None);
        for c in name.chars().take(LONGEST) {
            if begins(before, c) {
                starts |= 1 << length;
            }
            text[length] = fold(c);
            before = Some(c);
            length += 1;
        }
        // Possible positions of the last matched character, as a set of bits.
        let mut reach: Option<u128> = None;
        for &(wanted, capital) in &self.chars {
            let here = (0..length).filter(|&at| text[at] == wanted).fold(0_u128, |set, at| set | 1 << at);
            let next = match reach {
                None => here & starts,
                Some(reach) => {
                    let further = here & next_humps(starts, reach);
                    let follows = here & (reach << 1);
                    match (capital, self.loose) {
                        (true, _) => further,
                        (false, true) => further | follows,
                        (false, false) => follows,
                    }
                }
            };
            if next == 0 {
                return false;
            }
            reach = Some(next);
        }
        true
    }
}

fn begins(before: Option<char>, c: char) -> bool {
    let Some(before) = before else { return true };
    c.is_uppercase() || c.is_alphanumeric() && !before.is_alphanumeric() || c.is_numeric() && !before.is_numeric()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn humps_of_names() {
        for (pattern, name, expected) in [
            ("NS", "NodeStore", true),
            ("ns", "NodeStore", true),
            ("GeNoBy", "GetNodeById", true),
            ("gnbi", "GetNodeById", true),
            ("GId", "GetNodeById", true),
            ("NoSt", "NodeStore", true),
            ("NSt", "INodeStore", true),
            ("XR", "XMLReader", true),
            ("v2", "Vector2", true),
            ("gi", "_gate_inner", true),
            ("NSx", "NodeStore", false),
            ("od", "NodeStore", false),
            ("SN", "NodeStore", false),
            ("NoTo", "NodeStore", false),
            ("", "NodeStore", false),
        ] {
            assert_eq!(Humps::new(pattern).matches(name), expected, "{pattern} {name}");
        }
        assert!(!Humps::new(&"A".repeat(100_000)).matches(&"A".repeat(100_000)));
        assert!(Humps::new(&"A".repeat(128)).matches(&"A".repeat(128)));
    }

    #[test]
    fn humps_that_follow_one_another() {
        for (pattern, name, expected) in [
            ("RPB", "ResiliencePipelineBuilder", true),
            ("rpb", "IResiliencePipelineBuilderBase", true),
            ("RePB", "ResiliencePipelineBuilder", true),
            ("RPB", "RateLimitPolicySpecsBase", false),
            ("rpb", "RateLimitPolicySpecsBase", false),
            ("AB", "AAB", true),
            ("x", "NodeStore", false),
        ] {
            assert_eq!(Humps::new(pattern).matches_without_gaps(name), expected, "{pattern} {name}");
        }
        assert!(Humps::new(&"A".repeat(128)).matches_without_gaps(&"A".repeat(128)));
    }

    /// Reference definition: tries every way to lay the pattern over the name.
    fn naive(pattern: &[(char, bool)], loose: bool, name: &[char], last: Option<usize>) -> bool {
        let Some(((wanted, capital), more)) = pattern.split_first() else {
            return true;
        };
        (last.map_or(0, |last| last + 1)..name.len()).any(|at| {
            let start = begins(at.checked_sub(1).map(|before| name[before]), name[at]);
            let follows = last.is_some_and(|last| last + 1 == at);
            let may = match (last, capital) {
                (None, _) | (_, true) => start,
                (Some(_), false) => follows || loose && start,
            };
            may && fold(name[at]) == *wanted && naive(more, loose, name, Some(at))
        })
    }

    proptest! {
        #[test]
        fn every_way_is_found(pattern in "[abAB1_]{1,5}", name in "[abAB1_]{0,9}") {
            let humps = Humps::new(&pattern);
            let chars: Vec<char> = name.chars().collect();
            prop_assert_eq!(humps.matches(&name), naive(&humps.chars, humps.loose, &chars, None));
        }
    }
}
