//! Fits a pack to its budget (seed 000 §10.2, step 3): drops summaries first, then whole types, each in the order of the selection's
//! [`least`](super::select::Selection::least).
//!
//! Drops a type only if all types without any summary exceed the budget. So the remaining types depend on outlines alone, and no summary is
//! requested to choose them.

/// Estimates the tokens of a text of `bytes` bytes for an unknown model: 3.3 bytes each.
pub fn tokens(bytes: usize) -> u64 {
    (bytes as u64).saturating_mul(10).div_ceil(33)
}

/// The parts that exceed the budget, counted from the least type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Number of dropped types, each with its summary.
    pub types: usize,
    /// Number of types without a summary, including dropped types.
    pub summaries: usize,
}

/// Returns what to drop of `count` types to stay within a budget in tokens. `size` returns the bytes of the text after a cut;
/// `has_summaries` tells whether the pack contains summaries. If even the head of the text is too long, drops all types.
pub fn choose_cut(count: usize, has_summaries: bool, budget: Option<u64>, size: impl Fn(Cut) -> usize) -> Cut {
    let fits = |cut: &Cut| budget.is_none_or(|budget| tokens(size(*cut)) <= budget);
    let bare = |types| Cut {
        types,
        summaries: if has_summaries { count } else { types },
    };
    let some = |summaries| Cut { types: 0, summaries };
    match fits(&bare(0)) {
        true if has_summaries => (0..count).map(some).find(fits).unwrap_or(bare(0)),
        true => bare(0),
        false => (1..count).map(bare).find(fits).unwrap_or(bare(count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the size after a cut: a head that names the dropped parts, then each remaining outline and summary, the least first.
    fn size(head: usize, sizes: &[(usize, usize)]) -> impl Fn(Cut) -> usize {
        move |cut| {
            let outlines: usize = sizes[cut.types..].iter().map(|(outline, _)| outline).sum();
            let summaries: usize = sizes[cut.summaries..].iter().map(|(_, summary)| summary).sum();
            head * (cut.types + cut.summaries).min(3) + outlines + summaries
        }
    }

    #[test]
    fn summaries_go_before_types() {
        let sizes = [(33, 33), (33, 33), (33, 66)];
        let left_out = |budget| {
            let Cut { types, summaries } = choose_cut(3, true, budget, size(0, &sizes));
            (types, summaries)
        };
        assert_eq!((left_out(None), left_out(Some(70)), left_out(Some(69))), ((0, 0), (0, 0), (0, 1)));
        assert_eq!(
            (left_out(Some(50)), left_out(Some(49)), left_out(Some(30))),
            ((0, 2), (0, 3), (0, 3))
        );
        assert_eq!(
            (left_out(Some(29)), left_out(Some(10)), left_out(Some(0))),
            ((1, 3), (2, 3), (3, 3))
        );
        let without = |budget| choose_cut(3, false, budget, size(0, &[(33, 0); 3]));
        assert_eq!(without(Some(29)), Cut { types: 1, summaries: 1 });
    }

    proptest! {
        #[test]
        fn it_fits_and_types_do_not_depend_on_summaries(
            sizes in prop::collection::vec((1_usize..50, 0_usize..50), 0..5), head in 0_usize..9, budget in 0_u64..120,
        ) {
            let bare: Vec<(usize, usize)> = sizes.iter().map(|(outline, _)| (*outline, 0)).collect();
            let (count, size) = (sizes.len(), size(head, &sizes));
            let chosen = choose_cut(count, true, Some(budget), &size);
            prop_assert_eq!(chosen.types, choose_cut(count, true, Some(budget), self::size(head, &bare)).types);
            prop_assert!(tokens(size(chosen)) <= budget || chosen.types == count);
            let one_less = match chosen {
                Cut { types: 0, summaries: 0 } => None,
                Cut { types: 0, summaries } => Some(Cut { types: 0, summaries: summaries - 1 }),
                Cut { types, summaries } => Some(Cut { types: types - 1, summaries }),
            };
            prop_assert!(one_less.is_none_or(|cut| tokens(size(cut)) > budget), "{:?}", chosen);
        }
    }
}
