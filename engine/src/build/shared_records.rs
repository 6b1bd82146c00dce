//! Two targets with equal inputs share one record; rewrite its input labels for the second. The record names the inputs of the target that was
//! built first.

use crate::manifest::model::InputFrom;
use crate::manifest::template::Vars;
use crate::planning::rules::RuleIndex;
use crate::store::records::ActionRecord;
use crate::values::label::escape;

/// Rewrites the record of a result for `label`: its rule's input labels replace those of another target of the rule. Inputs from lists keep their
/// labels.
pub fn record_for(rules: &RuleIndex, label: &str, mut record: ActionRecord) -> ActionRecord {
    if record.label == label {
        return record;
    }
    let (Some(first), Some(own)) = (rules.find(&record.label), rules.find(label)) else {
        return record;
    };
    if first.rule != own.rule {
        return record;
    }
    let (theirs, ours) = (rules.vars(first.rule, first.value), rules.vars(own.rule, own.value));
    for spec in &rules.rule(own.rule).inputs {
        let InputFrom::One(template) = &spec.from else { continue };
        let filled = |vars: &Vars| {
            let escaped: Vec<(&str, String)> = vars.iter().map(|(name, value)| (&**name, escape(value))).collect();
            let value = |name: &str| escaped.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str());
            template.fill(value).ok()
        };
        let (Some(from), Some(to)) = (filled(&theirs), filled(&ours)) else {
            continue;
        };
        for input in record
            .inputs
            .iter_mut()
            .filter(|input| input.role == spec.role && *input.label == *from)
        {
            input.label = to.as_str().into();
        }
    }
    record
}
