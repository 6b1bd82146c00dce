//! Redefinitions: the effect of a changed manifest, ruleset or producer on one target: the changed parameter, input, implementation or version.
//!
//! Compares two checked manifests by the rule that produces the target. Knows no key and no store: the caller knows whether the target is stale and
//! the former manifest still stored. Ignores everything that is in no key (the path of a laid-out output, whether it is stored, settings).

use crate::manifest::model::{InputFrom, InputSpec, ProducerDef, Rule, SetSpec};
use crate::manifest::template::{Piece, Template};
use crate::planning::rules::RuleIndex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;

/// Maximum length of a reported value, in characters.
const LONGEST: usize = 120;

/// One change of a target's definition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "redefined", rename_all = "snake_case")]
pub enum Redefinition {
    /// A parameter of its producer, defaults filled in.
    Parameter {
        /// The producer's name in the manifest.
        producer: String,
        name: String,
        /// Its former value, if it had one.
        from: Option<Value>,
        to: Option<Value>,
    },
    /// The implementation of its producer.
    Uses {
        /// The producer's name in the manifest.
        producer: String,
        /// The former implementation.
        from: String,
        to: String,
    },
    /// The version of that implementation; also the implementation, if only the record of the result contains it.
    Version {
        /// Former name and version.
        from: String,
        /// Present name and version.
        to: String,
    },
    /// The source of an input.
    Input {
        role: String,
        /// Before, if the input existed.
        from: Option<String>,
        /// Now, if the input exists.
        to: Option<String>,
    },
    /// No rule produced it before.
    Rule,
    /// A change of one of these kinds, in a manifest that an earlier build read and that is no longer stored.
    Forgotten,
    /// A change of these kinds before the last build that requested the target and failed.
    Failed,
}

impl fmt::Display for Redefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = |value: &Option<Value>| {
            value
                .as_ref()
                .map_or_else(|| "none".to_owned(), |value| truncated(&value.to_string()))
        };
        let text = |text: &Option<String>| text.as_deref().map_or_else(|| "none".to_owned(), truncated);
        match self {
            Self::Parameter { producer, name, from, to } => {
                write!(f, "parameter {name} of producer {producer}: {} → {}", value(from), value(to))
            }
            Self::Uses { producer, from, to } => write!(f, "producer {producer} uses {} → {}", truncated(from), truncated(to)),
            Self::Version { from, to } => write!(f, "producer {} → {}", truncated(from), truncated(to)),
            Self::Input { role, from, to } => write!(f, "input {role} of the rule: {} → {}", text(from), text(to)),
            Self::Rule => write!(f, "no rule declared it before"),
            Self::Forgotten => write!(
                f,
                "its parameters or its rule changed before the last build, which did not request it"
            ),
            Self::Failed => write!(
                f,
                "its parameters or its rule changed before the last build that requested it, which failed to build it"
            ),
        }
    }
}

/// Cuts a text to [`LONGEST`] characters.
fn truncated(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the changes of the rule and the producer of `label`. Empty if no rule produces it now.
pub fn redefinitions(before: &RuleIndex, now: &RuleIndex, label: &str) -> Vec<Redefinition> {
    let Some((rule, producer)) = producing_rule(now, label) else {
        return Vec::new();
    };
    let Some((old_rule, old)) = producing_rule(before, label) else {
        return vec![Redefinition::Rule];
    };
    let mut found = Vec::new();
    if old.uses != producer.uses {
        found.push(Redefinition::Uses {
            producer: producer.name.clone(),
            from: old.uses.clone(),
            to: producer.uses.clone(),
        });
    }
    let names: BTreeSet<&String> = old.params.keys().chain(producer.params.keys()).collect();
    for name in names {
        let (from, to) = (old.params.get(name), producer.params.get(name));
        if from != to {
            found.push(Redefinition::Parameter {
                producer: producer.name.clone(),
                name: name.clone(),
                from: from.cloned(),
                to: to.cloned(),
            });
        }
    }
    let roles: BTreeSet<&str> = old_rule.inputs.iter().chain(&rule.inputs).map(|input| &*input.role).collect();
    for role in roles {
        let of = |rule: &Rule| rule.inputs.iter().find(|input| *input.role == *role).map(input_text);
        let (from, to) = (of(old_rule), of(rule));
        if from != to {
            found.push(Redefinition::Input {
                role: role.to_owned(),
                from,
                to,
            });
        }
    }
    found
}

fn producing_rule<'a>(rules: &'a RuleIndex, label: &str) -> Option<(&'a Rule, &'a ProducerDef)> {
    let rule = rules.rule(rules.find(label)?.rule);
    Some((rule, &rules.manifest().producers[rule.producer as usize]))
}

/// Formats an input as in a manifest.
fn input_text(input: &InputSpec) -> String {
    let text = match &input.from {
        InputFrom::One(label) => template_text(label),
        InputFrom::Many { each, target } => format!("{} for each of {}", template_text(target), set_text(each)),
        InputFrom::Slice { node, keys } => format!("rows of {} for {}", template_text(node), set_text(keys)),
        InputFrom::Rows { each, table, keys } => {
            let (table, keys, each) = (template_text(table), set_text(keys), set_text(each));
            format!("rows of {table} for {keys}, for each of {each}")
        }
    };
    if input.digest_only { format!("{text} (digest)") } else { text }
}

fn set_text(set: &SetSpec) -> String {
    match set {
        SetSpec::Sources(name) => format!("sources:{name}"),
        SetSpec::Glob(glob) => format!("glob:{glob}"),
        SetSpec::Node { label, row, field } => {
            let row = row.iter().map(|row| format!(" row {}", template_text(row)));
            let field = field.iter().map(|field| format!(" field {field}"));
            row.chain(field).fold(template_text(label), |text, more| text + &more)
        }
        SetSpec::Asked => "what its producer asks for".to_owned(),
        SetSpec::List(items) => format!("[{}]", items.iter().map(template_text).collect::<Vec<_>>().join(", ")),
    }
}

/// Formats a template as in a manifest.
pub fn template_text(template: &Template) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.to_string(),
        Piece::Var(name) => format!("{{{name}}}"),
    };
    template.pieces.iter().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::model::Manifest;
    use crate::values::digest::Digest;
    use std::sync::Arc;

    fn producer(uses: &str, params: &[(&str, Value)]) -> ProducerDef {
        ProducerDef {
            name: "p".to_owned(),
            uses: uses.to_owned(),
            params: params.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            settings: Default::default(),
            keep: true,
        }
    }

    fn input(role: &str, label: &str, digest_only: bool) -> InputSpec {
        InputSpec {
            role: role.into(),
            from: InputFrom::One(Template::parse(label).expect("a template")),
            digest_only,
        }
    }

    fn rules(producer: ProducerDef, target: &str, inputs: Vec<InputSpec>) -> RuleIndex {
        let rule = Rule {
            target: Template::parse(target).expect("a template"),
            each: Some(("x".into(), SetSpec::List(Vec::new()))),
            inner: None,
            producer: 0,
            inputs,
            out: None,
            digest: Digest([0; 32]),
        };
        RuleIndex::new(Arc::new(Manifest {
            producers: vec![producer],
            rules: vec![rule],
            ..Manifest::default()
        }))
    }

    fn changed_rules(before: &RuleIndex, now: &RuleIndex) -> Vec<String> {
        redefinitions(before, now, "//a/b:t").iter().map(ToString::to_string).collect()
    }

    #[test]
    fn redefinitions_report_former_and_present_values() {
        let own = || vec![input("own", "//f/{x}:bytes", false)];
        let one = rules(producer("u", &[("a", 1.into()), ("b", "x".into())]), "//a/{x}:t", own());
        assert_eq!(changed_rules(&one, &one), Vec::<String>::new());
        let params = rules(producer("u", &[("b", "y".into()), ("c", true.into())]), "//a/{x}:t", own());
        assert_eq!(
            changed_rules(&one, &params),
            [
                "parameter a of producer p: 1 → none",
                "parameter b of producer p: \"x\" → \"y\"",
                "parameter c of producer p: none → true",
            ]
        );
        let uses = rules(producer("w", &[("a", 1.into()), ("b", "x".into())]), "//a/{x}:t", own());
        assert_eq!(changed_rules(&one, &uses), ["producer p uses u → w"]);
        let inputs = vec![input("more", "//f/{x}:doc", false), input("own", "//f/{x}:bytes", true)];
        let inputs = rules(producer("u", &[("a", 1.into()), ("b", "x".into())]), "//a/{x}:t", inputs);
        assert_eq!(
            changed_rules(&one, &inputs),
            [
                "input more of the rule: none → //f/{x}:doc",
                "input own of the rule: //f/{x}:bytes → //f/{x}:bytes (digest)",
            ]
        );
    }

    #[test]
    fn a_changed_rule_is_reported_as_new() {
        let one = rules(producer("u", &[]), "//a/{x}:t", Vec::new());
        let other = rules(producer("u", &[]), "//a/{x}:s", Vec::new());
        assert_eq!(changed_rules(&other, &one), ["no rule declared it before"]);
        assert_eq!(changed_rules(&one, &other), Vec::<String>::new());
    }

    #[test]
    fn a_long_value_is_cut() {
        let long = |text: &str| rules(producer("u", &[("a", text.repeat(500).into())]), "//a/{x}:t", Vec::new());
        let changes = changed_rules(&long("é"), &long("ü"));
        assert!(changes[0].chars().count() < 300, "{changes:?}");
    }

    #[test]
    fn inputs_are_formatted_as_in_a_manifest() {
        let node = SetSpec::Node {
            label: Template::parse("//index:f").expect("a template"),
            row: Some(Template::parse("{x}").expect("a template")),
            field: Some("project".to_owned()),
        };
        assert_eq!(set_text(&node), "//index:f row {x} field project");
        let many = InputSpec {
            role: "r".into(),
            from: InputFrom::Many {
                each: SetSpec::Sources("csharp".to_owned()),
                target: Template::parse("//f/{item}:t").expect("a template"),
            },
            digest_only: false,
        };
        assert_eq!(input_text(&many), "//f/{item}:t for each of sources:csharp");
    }
}
