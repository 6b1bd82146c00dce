//! `[[rule]]`: targets, sets, inputs and outputs of one rule. `check` compares rules with each other.

use super::fields::{Fields, Item, Text};
use super::inputs::{InputReader, is_role};
use super::labels::{check_label, check_path, is_variable, parse_label_template, template};
use super::producers::Producers;
use super::report::Report;
use super::sets::{Dependency, Reference, SetReader};
use super::source::{Span, cut_value};
use crate::manifest::model::{InputFrom, InputSpec, OutSpec, SetSpec, SourceSet};
use crate::manifest::template::{Piece, Template};
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::label::{JOIN, Label, escape};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A rule, as far as it could be read.
pub(super) struct RuleDraft {
    pub(super) target: Option<(Template, Span)>,
    /// The target as written, if it is wrong: references to it are not reported.
    pub(super) wrong_target: Option<String>,
    pub(super) each: Option<(Arc<str>, SetSpec)>,
    pub(super) inner: Option<(Arc<str>, SetSpec)>,
    pub(super) producer: Option<u32>,
    pub(super) inputs: Vec<InputSpec>,
    pub(super) out: Option<(OutSpec, Span)>,
    /// Every label that it refers to.
    pub(super) references: Vec<Reference>,
    /// Whether its `if` switches it off: it is checked, but produces nothing.
    pub(super) off: bool,
}

/// A variable and its set; each is missing if wrong.
#[derive(Default)]
struct Binding {
    variable: Option<String>,
    set: Option<SetSpec>,
}

impl Binding {
    fn into_set(self) -> Option<(Arc<str>, SetSpec)> {
        Some((self.variable?.into(), self.set?))
    }
}

/// The variables of a rule with their sets.
#[derive(Default)]
struct RuleVariables {
    outer: Binding,
    inner: Option<Binding>,
}

/// Reads rules, given the other tables.
pub(super) struct RuleReader<'s> {
    pub(super) sources: &'s BTreeMap<String, SourceSet>,
    pub(super) producers: &'s Producers,
}

impl RuleReader<'_> {
    pub(super) fn read_rule(&self, report: &mut Report<'_>, rule: Fields<'_, '_>) -> RuleDraft {
        rule.report_unknown_keys(report, &["target", "each", "producer", "inputs", "out", "if"]);
        let mut references = Vec::new();
        let RuleVariables { outer, inner } = self.each(report, rule, &mut references);
        let Binding { variable, set } = outer;
        let variable = variable.as_deref();
        let second = inner.as_ref().and_then(|inner| inner.variable.as_deref());
        let text = rule.required(report, "target", "write target = \"//docs/{doc}:words\"");
        let unreadable = rule.get("each").is_some() && (variable.is_none() || inner.is_some() && second.is_none());
        let target = text.and_then(|text| target_template(report, text, variable, second, unreadable).map(|target| (target, text.span)));
        let producer = self.producer(report, rule);
        let bound: Vec<&str> = variable.into_iter().chain(second).collect();
        let reader = InputReader {
            sources: self.sources,
            bound: &bound,
            each: set.as_ref(),
            params: producer
                .filter(|index| self.producers.is_whole(*index))
                .map(|index| &self.producers.list[index as usize].params),
        };
        let off = reader.switched_on(report, rule) == Some(false);
        let inputs = inputs(report, rule, &reader, &mut references);
        if inputs.iter().any(|input| input.from.is_asked())
            && let Some(list) = inputs
                .iter()
                .find(|input| matches!(input.from, InputFrom::Many { .. } | InputFrom::Rows { .. }))
        {
            let hint = "a producer that requests rows reads only single nodes and rows of single tables";
            let message = format!("the input '{}' is a list, beside requested rows", list.role);
            report.error(rule.span, Diagnostic::error(ErrorCode::E_TYPE, message).hint(hint));
        }
        if let (Some(index), Some((_, place))) = (producer, &target) {
            self.check_arguments(report, rule, index, *place);
        }
        if let (Some((target, _)), Some(SetSpec::List(items))) = (&target, &set) {
            check_items(report, rule, target, items);
        }
        let out = rule.get("out").and_then(|item| self.out(report, item, &bound, &mut references));
        if off {
            references.iter_mut().for_each(|reference| reference.need = Dependency::Named);
        }
        RuleDraft {
            off,
            wrong_target: text.filter(|_| target.is_none()).map(|text| text.text.to_owned()),
            target,
            inner: inner.and_then(Binding::into_set),
            each: variable.zip(set).map(|(variable, set)| (variable.into(), set)),
            producer,
            inputs,
            out,
            references,
        }
    }

    fn each(&self, report: &mut Report<'_>, rule: Fields<'_, '_>, references: &mut Vec<Reference>) -> RuleVariables {
        let Some(fields) = rule.get("each").and_then(|item| Fields::from_item(report, item, "'each'")) else {
            return RuleVariables::default();
        };
        let mut entries: Vec<_> = fields.entries().collect();
        entries.sort_by_key(|(name, _)| name.span);
        for (name, _) in entries.iter().skip(2) {
            let hint = "use one set of pairs, or write two rules";
            report.error(
                name.span,
                Diagnostic::error(ErrorCode::E_VARIABLE, "a rule runs over one variable, or two joined by '#'").hint(hint),
            );
        }
        let Some((name, item)) = entries.first().copied() else {
            report.error(
                fields.span,
                Diagnostic::error(ErrorCode::E_VARIABLE, "'each' binds no variable").hint("write each = { doc = \"glob:docs/**/*.md\" }"),
            );
            return RuleVariables::default();
        };
        let mut binding = |bound: &[&str], name: Text<'_>, item| Binding {
            set: SetReader {
                sources: self.sources,
                bound,
                need: Dependency::Own,
            }
            .any(report, item, references),
            variable: variable_name(report, name).then(|| name.text.to_owned()),
        };
        let outer = binding(&[], name, item);
        let Some((second, item)) = entries.get(1).copied() else {
            return RuleVariables { outer, inner: None };
        };
        let inner = binding(&[name.text], second, item);
        if inner.set.as_ref().is_some_and(|set| !matches!(set, SetSpec::Node { .. })) {
            let hint = "write the label of a node, such as each = { type = \"//index:types\", member = \"//types/{type}:members\" }";
            report.error(
                item.span,
                Diagnostic::error(ErrorCode::E_SET, "the second set of a rule is the output of a node").hint(hint),
            );
        }
        RuleVariables { outer, inner: Some(inner) }
    }

    fn producer(&self, report: &mut Report<'_>, rule: Fields<'_, '_>) -> Option<u32> {
        let name = rule.required(
            report,
            "producer",
            "name one: producer = \"wordcount\", with a table [producer.wordcount]",
        )?;
        let index = self.producers.index.get(name.text).copied();
        if index.is_none() {
            let diagnostic = Diagnostic::error(ErrorCode::E_UNKNOWN_PRODUCER, "there is no producer of this name");
            let known = self.producers.list.iter().map(|producer| producer.name.as_str());
            report.report_unknown_name(
                name.span,
                diagnostic,
                name.text,
                known,
                &format!("define it: [producer.{}]", cut_value(name.text)),
            );
        }
        index
    }

    /// Checks that the rule has the inputs that the arguments of its command name.
    fn check_arguments(&self, report: &mut Report<'_>, rule: Fields<'_, '_>, producer: u32, target: Span) {
        let roles: Vec<&str> = match rule.get("inputs").map(|item| item.value.as_table()) {
            Some(Some(table)) => table.iter().map(|(role, _)| &**role.get_ref()).collect(),
            // The value is no table; the reader has reported that.
            Some(None) => return,
            None => Vec::new(),
        };
        for (role, span) in self.producers.named_inputs(producer) {
            if !roles.contains(&role) {
                let message = format!("the rule at {} has no input '{}'", report.place_of(target), cut_value(role));
                let otherwise = match roles.as_slice() {
                    [] => "give the rule this input; it has none".to_owned(),
                    roles => format!("give the rule this input; it has {}", roles.join(", ")),
                };
                report.report_unknown_name(
                    span,
                    Diagnostic::error(ErrorCode::E_PARAM, message),
                    role,
                    roles.iter().copied(),
                    &otherwise,
                );
            }
        }
    }

    fn out(
        &self,
        report: &mut Report<'_>,
        item: Item<'_, '_>,
        variables: &[&str],
        references: &mut Vec<Reference>,
    ) -> Option<(OutSpec, Span)> {
        let mut bound = variables.to_vec();
        let mut vars = Vec::new();
        let mut with_readers = false;
        let text = if item.value.is_str() {
            item.text(report, "'out'")?
        } else {
            let fields = Fields::from_item(report, item, "'out'")?;
            let reader = SetReader {
                sources: self.sources,
                bound: &bound.clone(),
                need: Dependency::Named,
            };
            with_readers = fields.boolean(report, "with_readers").unwrap_or(false);
            for (name, item) in fields.entries().filter(|(name, _)| !["path", "with_readers"].contains(&name.text)) {
                if bound.contains(&name.text) {
                    let diagnostic = Diagnostic::error(ErrorCode::E_VARIABLE, "this variable is bound already").hint("choose another name");
                    report.error(name.span, diagnostic);
                } else if variable_name(report, name) {
                    bound.push(name.text);
                    if let Some(set) = reader.any(report, item, references) {
                        vars.push((Arc::from(name.text), set));
                    }
                }
            }
            fields.required(report, "path", "write path = \"notes/{doc}.md\"")?
        };
        let path = template(report, text, &bound)?;
        if !check_path(report, text, &path) {
            return None;
        }
        if let Some(variable) = variables.first().filter(|_| path.variables().next().is_none()) {
            let message = format!("every {{{variable}}} would be laid out in the same file");
            report.error(
                text.span,
                Diagnostic::error(ErrorCode::E_PATH, message).hint(format!("use {{{variable}}} in the path")),
            );
            return None;
        }
        Some((OutSpec { path, vars, with_readers }, text.span))
    }
}

/// Checks that every literal item gives a label.
fn check_items(report: &mut Report<'_>, rule: Fields<'_, '_>, target: &Template, items: &[Template]) {
    let each = rule.get("each").and_then(|each| each.value.as_table()?.iter().next());
    let written = each.and_then(|(_, set)| {
        let set = set.get_ref();
        set.as_array().or_else(|| set.as_table()?.get("each")?.get_ref().as_array())
    });
    for (written, item) in written.into_iter().flat_map(|array| array.iter()).zip(items) {
        let (Some(text), item) = (item.literal(), Item::new(rule.span.file, written)) else {
            continue;
        };
        let escaped = escape(text);
        let problem = match target.fill(|_| Some(&escaped)).map(|label| Label::parse(&label)) {
            _ if text.is_empty() => "it is empty".to_owned(),
            Ok(Err(error)) => error.message,
            _ => continue,
        };
        let diagnostic = Diagnostic::error(ErrorCode::E_SET, format!("this item gives no label: {problem}"));
        report.error(item.span, diagnostic.hint("write a name, or a relative path such as 'a/b'"));
    }
}

/// Checks the target against the variables of the rule. `unreadable`: there is an `each` with a reported error.
fn target_template(
    report: &mut Report<'_>,
    text: Text<'_>,
    variable: Option<&str>,
    second: Option<&str>,
    unreadable: bool,
) -> Option<Template> {
    let target = parse_label_template(report, text)?;
    let used: Vec<&str> = target.variables().collect();
    if let (Some(first), Some(second)) = (variable, second) {
        let joined = matches!(target.pieces.as_slice(),
            [Piece::Text(_), Piece::Var(one), Piece::Text(join), Piece::Var(two), Piece::Text(_)]
                if **one == *first && **join == *JOIN && **two == *second);
        if !joined {
            let hint = format!("write {{{first}}}#{{{second}}} in it, such as //types/{{{first}}}#{{{second}}}:code");
            report.error(
                text.span,
                Diagnostic::error(ErrorCode::E_VARIABLE, "the target does not join the two variables of 'each'").hint(hint),
            );
            return None;
        }
        return check_target_label(report, text, target);
    }
    if let Some(second) = used.get(1) {
        let written = format!("{{{second}}}");
        let span = report.span_in_value(text.span, text.text, text.text.rfind(&written).unwrap_or(0), written.len());
        let hint = "write one variable once; a set may contain whole paths such as 'a/b'";
        report.error(
            span,
            Diagnostic::error(ErrorCode::E_VARIABLE, "a target has at most one variable, or two joined by '#'").hint(hint),
        );
        return None;
    }
    match (used.first(), variable) {
        (Some(name), Some(variable)) if *name != variable => {
            super::labels::report_unbound(report, text, name, &[variable]);
            return None;
        }
        (Some(name), None) if !unreadable => {
            let span = report.span_in_value(text.span, text.text, text.text.find('{').unwrap_or(0), name.len() + 2);
            let hint = format!("add each = {{ {name} = \"glob:**/*.md\" }} or another set");
            report.error(
                span,
                Diagnostic::error(ErrorCode::E_VARIABLE, format!("no 'each' binds {{{name}}}")).hint(hint),
            );
            return None;
        }
        (None, Some(variable)) => {
            let message = format!("the target is the same for every {{{variable}}}");
            let hint = format!("use {{{variable}}} in the target, or remove 'each'");
            report.error(text.span, Diagnostic::error(ErrorCode::E_VARIABLE, message).hint(hint));
            return None;
        }
        _ => {}
    }
    check_target_label(report, text, target)
}

fn check_target_label(report: &mut Report<'_>, text: Text<'_>, target: Template) -> Option<Template> {
    if !check_label(report, text, &target) {
        return None;
    }
    if text.text.starts_with("//files/") && text.text.ends_with(":bytes") {
        let hint = "choose another target; //files/PATH:bytes is the file itself";
        report.error(
            text.span,
            Diagnostic::error(ErrorCode::E_LABEL, "no rule declares the bytes of a file").hint(hint),
        );
        return None;
    }
    Some(target)
}

fn inputs(report: &mut Report<'_>, rule: Fields<'_, '_>, reader: &InputReader<'_>, references: &mut Vec<Reference>) -> Vec<InputSpec> {
    let Some(fields) = rule.get("inputs").and_then(|item| Fields::from_item(report, item, "'inputs'")) else {
        return Vec::new();
    };
    let mut inputs = Vec::new();
    for (role, item) in fields.entries() {
        if !is_role(role.text) {
            let hint = "use letters, digits, '_' and '-', beginning with a letter";
            report.error(
                role.span,
                Diagnostic::error(ErrorCode::E_NAME, "this cannot be the name of a role").hint(hint),
            );
        }
        if let Some((from, digest_only)) = reader.read_input(report, item, references) {
            inputs.push(InputSpec {
                role: role.text.into(),
                from,
                digest_only,
            });
        }
    }
    inputs.sort_by(|one, other| one.role.cmp(&other.role));
    inputs
}

fn variable_name(report: &mut Report<'_>, name: Text<'_>) -> bool {
    let (good, hint) = match name.text {
        "item" => (false, "'item' is reserved for the items of an input; choose another name"),
        text => (is_variable(text) && text.len() <= 100, "use lower-case letters, digits and '_'"),
    };
    if !good {
        report.error(
            name.span,
            Diagnostic::error(ErrorCode::E_VARIABLE, "this cannot be the name of a variable").hint(hint),
        );
    }
    good
}
