//! Decides which questions of a build are asked as one, and computes what that saves. Builds and dry runs share this rule.

use super::paid::{Plan, Spent};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Size of a question that may be asked with others as one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionSize {
    /// Model, settings and rules of the question: only questions in which these are equal are asked as one.
    pub rules: String,
    /// Tokens of the question, without its rules.
    pub tokens: u64,
    /// Token limit of its answer.
    pub answer_tokens: u64,
    /// Maximum token limit of an answer by the model.
    pub most_answer_tokens: u64,
    /// The model's token limit for question and answer together.
    pub most_context_tokens: u64,
    /// Maximum tokens of the questions in one group.
    pub most_tokens: u64,
    /// Maximum number of questions in one group.
    pub most: usize,
}

/// Puts questions into groups that are asked as one, in their order; returns the indexes of each group.
pub fn groups(sizes: &[&QuestionSize]) -> Vec<Vec<usize>> {
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, size) in sizes.iter().enumerate() {
        let fits = |group: &Vec<usize>| {
            let others = || group.iter().map(|&other| sizes[other]);
            let prompt_tokens = others().map(|other| other.tokens).sum::<u64>() + size.tokens;
            let answered = others().map(|other| other.answer_tokens).sum::<u64>() + size.answer_tokens;
            group.len() < size.most
                && prompt_tokens <= size.most_tokens
                && answered <= size.most_answer_tokens
                && prompt_tokens + answered <= size.most_context_tokens
        };
        match open.get(size.rules.as_str()) {
            Some(group) if fits(&groups[*group]) => groups[*group].push(at),
            _ => {
                open.insert(&size.rules, groups.len());
                groups.push(vec![at]);
            }
        }
    }
    groups
}

/// How a planned question can be asked with others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JointPlan {
    pub size: QuestionSize,
    /// Cost of its rules, which are sent once for a group.
    pub rules: Spent,
    /// Whether it replaces a paid answer.
    pub is_edit: bool,
    /// Whether it is grouped only in builds that also replace a paid answer.
    pub needs_edit: bool,
}

/// Returns the expected cost of all plans, where those that can be are asked as one.
pub fn cost<'p>(plans: impl Iterator<Item = &'p Plan>) -> Spent {
    let mut all = Spent::default();
    let mut joint: Vec<&JointPlan> = Vec::new();
    let mut is_edited = false;
    for plan in plans {
        all.add(&plan.cost);
        is_edited |= plan.joint.as_ref().is_some_and(|joint| joint.is_edit);
        joint.extend(plan.joint.as_ref().filter(|_| plan.cost.calls > 0));
    }
    joint.retain(|plan| is_edited || !plan.needs_edit);
    let sizes: Vec<&QuestionSize> = joint.iter().map(|plan| &plan.size).collect();
    for group in groups(&sizes) {
        for &at in &group[1..] {
            let rules = &joint[at].rules;
            all.calls = all.calls.saturating_sub(1);
            all.input_tokens = all.input_tokens.saturating_sub(rules.input_tokens);
            all.micros = all.micros.map(|micros| micros.saturating_sub(rules.micros.unwrap_or(0)));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plan(mode: &str, tokens: u64, needs_edit: bool) -> Plan {
        let cost = |tokens| Spent {
            calls: 1,
            input_tokens: tokens,
            micros: Some(tokens),
            ..Spent::default()
        };
        Plan {
            mode: mode.to_owned(),
            cost: cost(tokens + 100),
            joint: Some(JointPlan {
                size: QuestionSize {
                    tokens,
                    answer_tokens: 10,
                    most_answer_tokens: 1_000,
                    most_context_tokens: 2_000,
                    most_tokens: 1_000,
                    most: 3,
                    rules: String::new(),
                },
                rules: cost(100),
                is_edit: mode == "patch",
                needs_edit,
            }),
            ..Plan::default()
        }
    }

    #[test]
    fn a_group_sends_its_rules_once() {
        let joined = |plans: &[Plan]| {
            let cost = cost(plans.iter());
            (cost.calls, cost.input_tokens, cost.micros)
        };
        let first = || plan("full", 50, true);
        assert_eq!(joined(&[first(), first()]), (2, 300, Some(300)), "first answers are asked alone");
        assert_eq!(joined(&[first(), plan("patch", 50, true)]), (1, 200, Some(200)));
        assert_eq!(joined(&[plan("full", 50, false), plan("full", 50, false)]), (1, 200, Some(200)));
        let four: Vec<Plan> = (0..4).map(|_| plan("patch", 50, true)).collect();
        assert_eq!(joined(&four), (2, 400, Some(400)), "three are the most");
    }

    proptest! {
        #[test]
        fn groups_keep_order_and_limits(sizes in proptest::collection::vec((0_u8..2, 0_u64..700, 1_u64..500), 0..20)) {
            let sizes: Vec<QuestionSize> = sizes
                .into_iter()
                .map(|(rules, tokens, answer_tokens)| QuestionSize {
                    rules: rules.to_string(),
                    tokens,
                    answer_tokens,
                    most_answer_tokens: 900,
                    most_context_tokens: 1_500,
                    most_tokens: 1_000,
                    most: 4,
                })
                .collect();
            let groups = groups(&sizes.iter().collect::<Vec<_>>());
            let mut all: Vec<usize> = groups.concat();
            all.sort_unstable();
            prop_assert!(all.into_iter().eq(0..sizes.len()));
            for group in groups {
                prop_assert!(group.is_sorted());
                let sum = |of: fn(&QuestionSize) -> u64| group.iter().map(|&at| of(&sizes[at])).sum::<u64>();
                let (asked, answered) = (sum(|size| size.tokens), sum(|size| size.answer_tokens));
                prop_assert!(group.iter().all(|&at| sizes[at].rules == sizes[group[0]].rules));
                prop_assert!(group.len() == 1 || group.len() <= 4 && asked <= 1_000 && answered <= 900 && asked + answered <= 1_500);
            }
        }
    }
}
