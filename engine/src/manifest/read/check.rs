//! Checks across rules: duplicate targets, labels that no rule produces, outputs laid out in the same file.

use super::labels::template_as_written;
use super::report::Report;
use super::rules::RuleDraft;
use super::sets::{Dependency, Reference};
use super::source::{Span, cut_value};
use super::targets::{Form, Targets};
use crate::manifest::model::SetSpec;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Indexes all targets; reports duplicate ones.
pub(super) fn targets<'a>(report: &mut Report<'_>, rules: &'a [RuleDraft]) -> Targets<'a> {
    let mut targets = Targets::default();
    let mut reported = HashSet::new();
    for (rule, (target, span)) in with_targets(rules) {
        if let Err(earlier) = targets.add_form(Form::from_template(target), rule) {
            reported.insert(rule);
            report_duplicate(report, *span, &rules[earlier as usize], "another rule declares this target too");
        }
    }
    let mut overlaps = HashSet::new();
    for (rule, (target, span)) in with_targets(rules).filter(|(rule, _)| !reported.contains(rule)) {
        if let Some(label) = target.literal()
            && let Some(earlier) = targets.find_over_set(label)
        {
            report_duplicate(
                report,
                *span,
                &rules[earlier as usize],
                "a rule over a set declares this target too",
            );
        } else if let Some(other) = targets.overlapping(Form::from_template(target), rule) {
            // The order of rules must not decide which of the two produces a label.
            let (earlier, later) = (rule.min(other), rule.max(other));
            if let Some((_, span)) = rules[later as usize].target.as_ref().filter(|_| overlaps.insert((earlier, later))) {
                report_duplicate(
                    report,
                    *span,
                    &rules[earlier as usize],
                    "another rule may declare some of these targets too",
                );
            }
        }
    }
    targets
}

fn with_targets(rules: &[RuleDraft]) -> impl Iterator<Item = (u32, &(crate::manifest::template::Template, Span))> {
    (0..)
        .zip(rules)
        .filter_map(|(index, rule)| rule.target.as_ref().map(|target| (index, target)))
}

fn report_duplicate(report: &mut Report<'_>, span: Span, earlier: &RuleDraft, message: &str) {
    let place = earlier.target.as_ref().map(|(_, span)| report.place_of(*span)).unwrap_or_default();
    let hint = format!("the other is at {place}; give one of them another target, or change the producer of the other");
    report.error(span, Diagnostic::error(ErrorCode::E_DUPLICATE, message).hint(hint));
}

/// Reports labels that no rule produces and that are no file.
pub(super) fn report_unproduced_labels(report: &mut Report<'_>, rules: &[RuleDraft], targets: &Targets<'_>) {
    if report.has_syntax_errors() {
        return;
    }
    let wrong: HashSet<&str> = rules.iter().filter_map(|rule| rule.wrong_target.as_deref()).collect();
    let mut known: Option<Vec<String>> = None;
    let all = rules.iter().flat_map(|rule| &rule.references);
    for reference in all.filter(|reference| reference.need != Dependency::Optional) {
        if targets.may_exist(Form::from_template(&reference.template)) {
            let maker = targets.producing_rule(Form::from_template(&reference.template));
            if let Some(maker) = maker.filter(|maker| rules[*maker as usize].off && reference.need != Dependency::Named) {
                report_switched_off(report, reference, &rules[maker as usize]);
            }
            continue;
        }
        let wanted = template_as_written(&reference.template);
        if wrong.contains(wanted.as_str()) {
            continue;
        }
        let known = known.get_or_insert_with(|| with_targets(rules).map(|(_, (target, _))| template_as_written(target)).collect());
        let diagnostic =
            Diagnostic::error(ErrorCode::E_UNKNOWN_LABEL, "no rule declares this, and it is not a file").found(cut_value(&wanted));
        let otherwise = "write a rule with this target; a file's bytes are //files/PATH:bytes";
        report.report_unknown_name(reference.span, diagnostic, &wanted, known.iter().map(String::as_str), otherwise);
    }
}

/// Reports a label whose rule is switched off.
fn report_switched_off(report: &mut Report<'_>, reference: &Reference, rule: &RuleDraft) {
    let place = rule.target.as_ref().map(|(_, span)| report.place_of(*span)).unwrap_or_default();
    let hint = format!("turn this input off by the same 'if', or change the parameter that the rule at {place} reads");
    let diagnostic = Diagnostic::error(ErrorCode::E_UNKNOWN_LABEL, "the rule that declares this is turned off");
    report.error(
        reference.span,
        diagnostic.found(cut_value(&template_as_written(&reference.template))).hint(hint),
    );
}

/// Reports outputs that are laid out in the same file.
pub(super) fn report_shared_outputs(report: &mut Report<'_>, rules: &[RuleDraft]) {
    type Vars<'r> = &'r [(Arc<str>, SetSpec)];
    let mut seen: HashMap<(String, Vars<'_>), Span> = HashMap::new();
    for (out, span) in rules.iter().filter_map(|rule| rule.out.as_ref()) {
        // File systems that ignore case would merge these files, too.
        match seen.entry((template_as_written(&out.path).to_lowercase(), &out.vars)) {
            std::collections::hash_map::Entry::Occupied(earlier) => {
                let hint = format!("the other is at {}; choose another path", report.place_of(*earlier.get()));
                report.error(
                    *span,
                    Diagnostic::error(ErrorCode::E_DUPLICATE, "another rule writes this file too").hint(hint),
                );
            }
            std::collections::hash_map::Entry::Vacant(free) => drop(free.insert(*span)),
        }
    }
}
