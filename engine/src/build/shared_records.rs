//! Records of results that were first made for another target. Equal bytes have equal results, filed once; their record names the inputs of
//! whoever was first. Here it names those of the target that it stands for.

use crate::manifest::model::InputFrom;
use crate::manifest::template::Vars;
use crate::planning::rules::RuleIndex;
use crate::store::records::ActionRecord;
use crate::values::label::escape;

/// The record of a result of `label`, whose inputs are those that its rule names for it instead of those of another target of that rule.
/// Inputs from lists keep the names they had.
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
