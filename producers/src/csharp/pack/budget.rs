//! What of a pack fits its budget (seed 000 §10.2, step 3): summaries are given up first, then whole types, each in the order of the
//! selection's [`least`](super::select::Selection::least).
//!
//! A type goes only once no summary is left, so that which types stay depends on outlines alone: nobody need pay for a summary to learn it.

use std::collections::BTreeSet;

/// Tokens of a text of so many bytes, as far as a model is not known: 3.3 bytes each.
pub fn tokens(bytes: usize) -> u64 {
    (bytes as u64).saturating_mul(10).div_ceil(33)
}

/// A type and the bytes of what is shown of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight<'a> {
    /// Its key.
    pub of: &'a str,
    /// Bytes of its outline.
    pub outline: usize,
    /// Bytes of its summary, 0 without one.
    pub summary: usize,
}

/// What does not fit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut<'a> {
    /// Types that stay without their summary, in the order they gave it up.
    pub summaries: Vec<&'a str>,
    /// Types that go, in the order they went.
    pub types: Vec<&'a str>,
    /// Bytes of what stays.
    pub bytes: usize,
}

/// What is to be given up of types, which stand from the least on, to stay within a budget of tokens.
pub fn cut<'a>(weights: &[Weight<'a>], budget: Option<u64>) -> Cut<'a> {
    let mut bytes = weights.iter().map(|weight| weight.outline + weight.summary).sum();
    let over = |bytes: usize| budget.is_some_and(|budget| tokens(bytes) > budget);
    let (mut summaries, mut types) = (Vec::new(), Vec::new());
    for weight in weights.iter().filter(|weight| weight.summary > 0) {
        if over(bytes) {
            bytes -= weight.summary;
            summaries.push(weight.of);
        }
    }
    for weight in weights {
        if over(bytes) {
            bytes -= weight.outline;
            types.push(weight.of);
        }
    }
    let gone: BTreeSet<&str> = types.iter().copied().collect();
    summaries.retain(|of| !gone.contains(of));
    Cut { summaries, types, bytes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAMES: [&str; 4] = ["a", "b", "c", "d"];

    fn weights(sizes: &[(usize, usize)]) -> Vec<Weight<'static>> {
        let weight = |(of, (outline, summary)): (&&'static str, &(usize, usize))| Weight {
            of,
            outline: *outline,
            summary: *summary,
        };
        NAMES.iter().zip(sizes).map(weight).collect()
    }

    #[test]
    fn summaries_go_before_types() {
        let all = weights(&[(33, 33), (33, 0), (33, 66)]);
        let told = |budget| cut(&all, budget);
        assert_eq!(
            told(None),
            Cut {
                bytes: 198,
                ..Cut::default()
            }
        );
        assert_eq!(
            told(Some(60)),
            Cut {
                bytes: 198,
                ..Cut::default()
            }
        );
        assert_eq!((told(Some(59)).summaries, told(Some(59)).bytes), (vec!["a"], 165));
        assert_eq!((told(Some(49)).summaries, told(Some(49)).bytes), (vec!["a", "c"], 99));
        assert_eq!((told(Some(29)).summaries, told(Some(29)).types), (vec!["c"], vec!["a"]));
        assert_eq!((told(Some(0)).types, told(Some(0)).bytes), (vec!["a", "b", "c"], 0));
    }

    proptest! {
        #[test]
        fn it_fits_and_types_do_not_depend_on_summaries(sizes in prop::collection::vec((1_usize..50, 0_usize..50), 4), budget in 0_u64..80) {
            let (with, without) = (weights(&sizes), weights(&sizes.iter().map(|(outline, _)| (*outline, 0)).collect::<Vec<_>>()));
            let cut_with = cut(&with, Some(budget));
            prop_assert!(tokens(cut_with.bytes) <= budget);
            prop_assert_eq!(&cut_with.types, &cut(&without, Some(budget)).types);
            let kept = with.iter().filter(|weight| !cut_with.types.contains(&weight.of));
            let bytes: usize = kept.map(|weight| weight.outline + if cut_with.summaries.contains(&weight.of) || !cut_with.types.is_empty() { 0 } else { weight.summary }).sum();
            prop_assert_eq!(bytes, cut_with.bytes);
            prop_assert!(cut_with.types.iter().eq(NAMES.iter().take(cut_with.types.len())));
        }
    }
}
