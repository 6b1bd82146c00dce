//! Roots: resolves patterns to nodes and builds sets on the way.

use super::membership::RowPresence;
use super::{OutputOrigin, Run, RunError, source_nodes};
use crate::build::redefinition::template_text as rule_text;
use crate::build::state::KnownSet;
use crate::graph::NodeId;
use crate::manifest::model::SetSpec;
use crate::planning::expand;
use crate::planning::rules::target_name;
use crate::planning::symbol::{Resolution, resolve};
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::Digest;
use crate::values::event::Event;
use crate::values::label::{Label, unescape};
use crate::values::pattern::{Pattern, PatternSet};
use crate::values::suggest::nearest;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A requested node with its outcome.
#[derive(Clone, Debug)]
pub struct Root {
    pub id: NodeId,
    pub label: Arc<str>,
    pub output: Option<Digest>,
    pub how: Option<OutputOrigin>,
}

#[derive(Default)]
pub(super) struct PatternResolution {
    pub(super) nodes: Vec<NodeId>,
    pub(super) errors: Vec<Diagnostic>,
    pub(super) near: Vec<String>,
    /// The wanted name, if names of items begin with it and a dot.
    pub(super) above: Option<String>,
    /// Whether a set of such nodes is only known as of an earlier build.
    pub(super) is_open: bool,
    /// Whether a rule has such nodes, but its set is empty.
    pub(super) has_empty_set: bool,
    /// Warnings about items of sets that are no valid labels.
    pub(super) warnings: Vec<Diagnostic>,
}

/// Resolution of all patterns.
#[derive(Default)]
pub struct Roots {
    /// The nodes, ordered by pattern, rule and item.
    pub nodes: Vec<NodeId>,
    /// An error for each pattern that matches nothing or too much.
    pub errors: Vec<Diagnostic>,
    /// Errors that depend on sets which a dry run only knows as of an earlier build.
    pub open: Vec<Diagnostic>,
    /// Warnings about the sets from which the nodes come.
    pub warnings: Vec<Diagnostic>,
}

/// Code of the error that a set has no output, so that its targets are unknown.
pub const UNSET: ErrorCode = ErrorCode::E_SET;

/// Maximum number of names suggested for a label that matches nothing.
pub(super) const SUGGESTIONS: usize = 5;

/// Returns the items nearest to a name. If the name has no disambiguating suffix (`N.Color@Core`), ignores those of items; items that no project
/// compiles come last.
fn near_items<'i>(value: &str, items: &'i [String]) -> Vec<&'i str> {
    let plain = |item: &'i str| match value.contains('@') {
        true => item,
        false => item.split_once('@').map_or(item, |(name, _)| name),
    };
    let mut near = nearest(value, items.iter().map(|item| plain(item)), SUGGESTIONS);
    near.dedup();
    let of_name = |name: &String| {
        items
            .iter()
            .map(String::as_str)
            .filter(|item| plain(item) == *name)
            .collect::<Vec<_>>()
    };
    let mut found: Vec<&str> = near.iter().flat_map(of_name).collect();
    found.sort_by_key(|item| item.ends_with("@loose"));
    found
}

impl Run<'_> {
    /// Returns the sets from which the roots come.
    pub fn known_sets(&self) -> Vec<KnownSet> {
        let known = |id: NodeId| {
            Some(KnownSet {
                node: id.0,
                output: self.output(id)?.0.to_vec(),
            })
        };
        self.known_sets.root_sets().filter_map(known).collect()
    }

    /// Resolves `patterns`.
    pub fn roots(&mut self, patterns: &PatternSet) -> Result<Roots, RunError> {
        let mut roots = Roots::default();
        let mut seen: FxHashSet<NodeId> = FxHashSet::default();
        let mut meanings: Vec<Vec<NodeId>> = Vec::new();
        // A set may become empty: only a request that matches nothing at all is refused for that.
        let mut empty: Vec<Diagnostic> = Vec::new();
        for pattern in patterns.patterns() {
            // A negative pattern with wildcards may match nothing; a negative name must exist.
            if pattern.is_negative() && pattern.plain_package().is_none() {
                meanings.push(Vec::new());
                continue;
            }
            let mut resolution = self.resolve_pattern(pattern)?;
            if resolution.nodes.is_empty() && resolution.errors.is_empty() && !self.is_stopped() {
                let (near, above) = (std::mem::take(&mut resolution.near), resolution.above.take());
                let nothing = self.no_match_error(pattern, near, above)?;
                let is_empty = resolution.has_empty_set && !resolution.is_open;
                if is_empty { &mut empty } else { &mut resolution.errors }.push(nothing);
            }
            if pattern.literal().is_none() {
                merge_ambiguous_errors(pattern, &mut resolution.errors);
            }
            roots.warnings.extend(resolution.warnings);
            let open = resolution.is_open && resolution.nodes.is_empty();
            if open { &mut roots.open } else { &mut roots.errors }.extend(resolution.errors);
            meanings.push(resolution.nodes);
        }
        if meanings.iter().all(Vec::is_empty) {
            roots.errors.append(&mut empty);
        }
        let named: Vec<FxHashSet<NodeId>> = patterns
            .patterns()
            .iter()
            .zip(&meanings)
            .map(|(pattern, nodes)| nodes.iter().copied().filter(|_| pattern.is_negative()).collect())
            .collect();
        for (at, (pattern, matches)) in patterns.patterns().iter().zip(meanings).enumerate() {
            if pattern.is_negative() {
                continue;
            }
            let later = &patterns.patterns()[at + 1..];
            for id in matches {
                let is_removed = later.iter().any(Pattern::is_negative) && self.is_excluded_later(id, later, &named[at + 1..]);
                if !is_removed && seen.insert(id) {
                    roots.nodes.push(id);
                }
            }
        }
        for errors in [&mut roots.errors, &mut roots.open, &mut roots.warnings] {
            errors.sort();
            errors.dedup();
        }
        self.emit(&Event::Requested {
            targets: roots.nodes.len(),
        });
        Ok(roots)
    }

    /// Whether the last of the `later` patterns that matches a node excludes it. `named`: the nodes that each of them excludes by name.
    fn is_excluded_later(&self, id: NodeId, later: &[Pattern], named: &[FxHashSet<NodeId>]) -> bool {
        let Ok(label) = Label::parse(&self.graph.node(id).label) else {
            return false;
        };
        later
            .iter()
            .zip(named)
            .rev()
            .find(|(pattern, named)| named.contains(&id) || pattern.matches(label.package(), label.target()))
            .is_some_and(|(pattern, _)| pattern.is_negative())
    }

    fn resolve_pattern(&mut self, pattern: &Pattern) -> Result<PatternResolution, RunError> {
        let mut resolution = PatternResolution::default();
        if let Some(label) = pattern.literal().filter(|label| source_nodes::leaf(label.as_str()).is_some()) {
            resolution.nodes.push(self.graph.intern(label.as_str()));
            return Ok(resolution);
        }
        let rules = self.context.rules;
        for number in self.candidate_rules(pattern) {
            if self.is_stopped() {
                break;
            }
            let rule = rules.rule(number);
            let Some((_, set)) = &rule.each else {
                if let Some(text) = rule.target.literal() {
                    resolution.nodes.push(self.graph.intern(text));
                }
                continue;
            };
            if rule.inner.is_some() {
                self.add_joined_nodes(number, pattern, &mut resolution)?;
                continue;
            }
            if let Some(label) = self.label_of_row(number, set, pattern)? {
                resolution.nodes.push(self.graph.intern(&label));
                continue;
            }
            let Some(items) = self.set_items(set)? else {
                resolution.errors.push(self.set_error(set));
                continue;
            };
            resolution.is_open |= self.is_open(set);
            if let Some(package) = pattern.plain_package() {
                self.add_single_node(number, &package, &items, &mut resolution);
                continue;
            }
            resolution.has_empty_set |= items.is_empty();
            let mut unnamed = Vec::new();
            for item in items.iter() {
                if self.is_stopped() {
                    break;
                }
                match rules.label(number, item) {
                    Some(label) if pattern.matches(label.package(), label.target()) => {
                        resolution.nodes.push(self.graph.intern(label.as_str()));
                    }
                    Some(_) => {}
                    None => unnamed.push(item.as_str()),
                }
            }
            if !unnamed.is_empty() {
                resolution.warnings.push(nameless_warning(set, &rule_text(&rule.target), &unnamed));
            }
        }
        Ok(resolution)
    }

    /// Whether a rule's set is only known as of an earlier build.
    pub(super) fn is_open(&self, set: &SetSpec) -> bool {
        let node = expand::set_node(set, &Default::default()).ok().flatten();
        node.and_then(|label| self.graph.find(label.as_str()))
            .is_some_and(|id| self.nodes.is_unknown(id))
    }

    /// Returns the rules that may produce labels of a pattern.
    pub(super) fn candidate_rules(&self, pattern: &Pattern) -> Vec<u32> {
        if let Some(label) = pattern.literal() {
            return self
                .context
                .rules
                .find(label.as_str())
                .into_iter()
                .map(|found| found.rule)
                .collect();
        }
        let may = |rule: &crate::manifest::model::Rule| match rule.target.literal().map(Label::parse) {
            Some(Ok(label)) => pattern.matches(label.package(), label.target()),
            Some(Err(_)) => false,
            None => {
                let head = rule.target.pieces.first().and_then(|piece| match piece {
                    crate::manifest::template::Piece::Text(text) => text.strip_prefix("//"),
                    crate::manifest::template::Piece::Var(_) => None,
                });
                let family = head.and_then(|head| head.split_once('/')).map(|(family, _)| family);
                family.is_none_or(|family| pattern.may_match_family(family)) && pattern.may_match_target(target_name(rule))
            }
        };
        let rules = (0u32..).zip(&self.context.rules.manifest().rules).filter(|(_, rule)| may(rule));
        let mut numbers: Vec<u32> = rules.map(|(number, _)| number).collect();
        // The mark asks for such targets first: suggest theirs for a wrong name.
        if pattern.joined_package().is_some() {
            numbers.sort_by_key(|&number| self.context.rules.rule(number).inner.is_none());
        }
        numbers
    }

    /// Adds the node that a package without wildcards matches under a rule.
    fn add_single_node(&mut self, number: u32, package: &str, items: &[String], resolution: &mut PatternResolution) {
        let rule = self.context.rules.rule(number);
        let text = format!("//{package}:{}", target_name(rule));
        let Some(value) = rule.target.capture(&text).map(unescape) else {
            return;
        };
        let named = |item: &str| self.context.rules.label(number, item);
        match resolve(&value, items) {
            Resolution::One(item) => {
                if let Some(label) = named(item) {
                    resolution.nodes.push(self.graph.intern(label.as_str()));
                }
            }
            Resolution::Many(items) => {
                let labels: Vec<String> = items.iter().filter_map(|item| named(item)).map(|label| label.to_string()).collect();
                resolution.errors.push(ambiguity_error(&value, &text, labels));
            }
            Resolution::None if items.iter().any(|item| is_below(item, &value)) => resolution.above = Some(value),
            Resolution::None => {
                let near = near_items(&value, items).into_iter().filter_map(named);
                resolution.near.extend(near.map(|label| label.to_string()));
            }
        }
    }

    fn no_match_error(&mut self, pattern: &Pattern, mut near: Vec<String>, above: Option<String>) -> Result<Diagnostic, RunError> {
        let text = pattern.to_string().trim_start_matches('-').to_owned();
        if near.is_empty() && above.is_none() {
            near = match pattern.literal() {
                Some(label) => self.suggest_labels(&label)?,
                None => self.suggest_patterns(&text),
            };
        }
        if near.is_empty() && above.is_none() {
            // A template is a label only if it has no variable: `{type}` matches nothing on a command line.
            let templates: Vec<String> = self
                .context
                .rules
                .manifest()
                .rules
                .iter()
                .map(|rule| rule_text(&rule.target))
                .filter(|text| !text.contains('{'))
                .collect();
            near = nearest(&text, templates.iter().map(String::as_str), SUGGESTIONS);
        }
        near.dedup();
        near.truncate(SUGGESTIONS);
        let hint = match (near.first(), above, pattern.joined_package()) {
            (Some(first), ..) => format!("did you mean {first}?"),
            (None, Some(name), _) => format!("'{name}' is a namespace: see `cortex outline {name}`"),
            (None, None, Some((package, item))) if item != "*" => format!("`cortex query '//{package}#*'` lists them"),
            (None, None, _) => "`cortex ls` lists the kinds of targets".to_owned(),
        };
        let error = match quoted(&text) {
            Some(text) => Diagnostic::error(ErrorCode::E_NO_TARGET, format!("no target matches {text}")).label(text),
            None => Diagnostic::error(ErrorCode::E_NO_TARGET, "no target matches this").found(text),
        };
        Ok(error.hint(hint).candidates(near))
    }

    /// Returns other spellings of a package and a target, with another target or family that rules have.
    fn similar_names(&self, package: &str, target: &str) -> Vec<String> {
        let (family, rest) = package
            .split_once('/')
            .map_or((package, ""), |(family, _)| (family, &package[family.len()..]));
        let rules = &self.context.rules.manifest().rules;
        let known: Vec<(String, &str)> = rules.iter().map(|rule| (rule_text(&rule.target), target_name(rule))).collect();
        let family_of = |text: &str| {
            text.strip_prefix("//")
                .and_then(|text| text.split(['/', ':']).next())
                .map(str::to_owned)
        };
        let families: Vec<String> = known.iter().map(|(text, _)| family_of(text).unwrap_or_default()).collect();
        let is_open = family == "..." || family.contains(['*', '?']);
        let targets = known.iter().zip(&families).filter(|(_, of)| is_open || *of == family);
        let targets = nearest(target, targets.map(|((_, target), _)| *target), SUGGESTIONS).into_iter();
        let targets = targets.map(|target| format!("//{package}:{target}"));
        let families = nearest(family, families.iter().map(String::as_str), SUGGESTIONS).into_iter();
        let target = if target.is_empty() { String::new() } else { format!(":{target}") };
        targets.chain(families.map(|family| format!("//{family}{rest}{target}"))).collect()
    }

    /// Returns the patterns with another target or family that rules can produce labels of.
    fn suggest_patterns(&self, text: &str) -> Vec<String> {
        let package = text.strip_prefix("//").unwrap_or(text);
        let (package, target) = package.rsplit_once(':').unwrap_or((package, ""));
        let mut near = self.similar_names(package, target);
        near.retain(|other| other != text && Pattern::parse(other).is_ok_and(|pattern| !self.candidate_rules(&pattern).is_empty()));
        near
    }

    /// Returns the labels with another target or family that rules have, nearest first.
    fn suggest_labels(&mut self, label: &Label) -> Result<Vec<String>, RunError> {
        let rules = self.context.rules;
        let spelled = self.similar_names(label.package(), label.target());
        let mut near = Vec::new();
        for text in spelled {
            let Some(found) = rules.find(&text) else { continue };
            if rules.rule(found.rule).inner.is_some() {
                // Do not look up the items for a guess.
                near.extend(Some(text).filter(|text| *text != label.as_str()));
                continue;
            }
            let Some((_, set)) = &rules.rule(found.rule).each else {
                near.push(text);
                continue;
            };
            let (value, rule) = (unescape(found.value), found.rule);
            let Some(items) = self.set_items(set)? else { continue };
            let matches: Vec<String> = match resolve(&value, &items) {
                Resolution::One(item) => vec![item.to_owned()],
                Resolution::Many(items) => items.into_iter().map(str::to_owned).collect(),
                Resolution::None => nearest(&value, items.iter().map(String::as_str), SUGGESTIONS),
            };
            near.extend(
                matches
                    .iter()
                    .filter_map(|item| rules.label(rule, item))
                    .map(|label| label.to_string()),
            );
        }
        Ok(near)
    }

    /// Returns the sorted items of a rule's set, if this run has settled it.
    pub(in crate::build) fn known_items(&mut self, set: &SetSpec) -> Result<Option<Arc<Vec<String>>>, RunError> {
        let nothing = Default::default();
        let Ok(node) = expand::set_node(set, &nothing) else {
            return Ok(None);
        };
        let Some(label) = node else {
            return Ok(expand::items(set, &nothing, &BTreeMap::new()).ok().map(Arc::new));
        };
        match self.graph.find(label.as_str()) {
            Some(id) => self.read_set(id, set),
            None => Ok(None),
        }
    }

    /// Returns the label that a pattern without wildcards spells out, if the rule's set is a table, now built, with a row of exactly that key: then
    /// the pattern means nothing else, and the other items are not read.
    fn label_of_row(&mut self, number: u32, set: &SetSpec, pattern: &Pattern) -> Result<Option<String>, RunError> {
        let (
            rules,
            SetSpec::Node {
                row: None, field: None, ..
            },
        ) = (self.context.rules, set)
        else {
            return Ok(None);
        };
        let Some(label) = pattern.literal() else { return Ok(None) };
        let value = rules.rule(number).target.capture(label.as_str()).map(unescape);
        let (Some(value), Ok(Some(table))) = (value, expand::set_node(set, &Default::default())) else {
            return Ok(None);
        };
        if source_nodes::leaf(table.as_str()).is_some() {
            return Ok(None);
        }
        let table = self.settled_set(table.as_str())?;
        let is_row = matches!(self.has_row(table, &value)?, RowPresence::Present);
        let named = is_row.then(|| rules.label(number, &value)).flatten();
        Ok(named
            .filter(|named| named.as_str() == label.as_str())
            .map(|named| named.to_string()))
    }

    /// Builds the node that gives a set of roots.
    fn settled_set(&mut self, label: &str) -> Result<NodeId, RunError> {
        let id = self.graph.intern(label);
        self.known_sets.add_root_set(id);
        self.settle_all(&[id])?;
        Ok(id)
    }

    /// Returns the sorted items of a rule's set, after building it; `None` if it has no output. A dry run falls back on the last known set.
    pub(super) fn set_items(&mut self, set: &SetSpec) -> Result<Option<Arc<Vec<String>>>, RunError> {
        let nothing = Default::default();
        let Ok(node) = expand::set_node(set, &nothing) else {
            return Ok(None);
        };
        let Some(label) = node else {
            return Ok(expand::items(set, &nothing, &BTreeMap::new()).ok().map(Arc::new));
        };
        let id = self.settled_set(label.as_str())?;
        if !self.is_output_available(id)? {
            // Rebuilds the set's blob, which the store has lost.
            self.blob(id)?;
        }
        self.read_set(id, set)
    }

    /// Returns the error that the targets over a set are unknown.
    pub(super) fn set_error(&self, set: &SetSpec) -> Diagnostic {
        if let Some(why) = self.known_sets.why_malformed(set) {
            return Diagnostic::error(UNSET, format!("{why}; so the targets over this set are not known"))
                .hint("correct the producer of that output: one item per line, or a JSON list of texts");
        }
        let text = set_text(set);
        Diagnostic::error(UNSET, format!("the set {text} has no output, so its targets are not known"))
            .hint("see why it failed above, or build it by itself")
    }
}

/// Whether the name of an item begins with another one and a dot.
fn is_below(item: &str, name: &str) -> bool {
    item.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')) && !item.contains('/')
}

/// Maximum length in characters of a text quoted in a sentence or place of an error; a longer one becomes a found value, which is cut on display.
const QUOTED: usize = 120;

fn quoted(text: &str) -> Option<&str> {
    text.chars().nth(QUOTED).is_none().then_some(text)
}

pub(super) fn ambiguity_error(value: &str, text: &str, labels: Vec<String>) -> Diagnostic {
    let count = labels.len();
    let error = match quoted(text) {
        Some(text) => Diagnostic::error(ErrorCode::E_AMBIGUOUS, format!("'{value}' matches {count} targets")).label(text),
        None => Diagnostic::error(ErrorCode::E_AMBIGUOUS, format!("this matches {count} targets")).found(text),
    };
    error.hint(full_name_hint(&labels)).candidates(labels)
}

/// Returns the hint that decides between labels: `write the full name, such as Polly.Retry`.
fn full_name_hint(labels: &[String]) -> String {
    let first = labels.first().and_then(|label| label.strip_prefix("//"));
    let package = first.map(|label| label.rsplit_once(':').map_or(label, |(package, _)| package));
    match package.and_then(|package| package.split_once('/')) {
        Some((_, name)) => format!("write the full name, such as {}", unescape(name)),
        None => "write the full name".to_owned(),
    }
}

/// Merges the errors that report the same ambiguous name for each of its targets.
fn merge_ambiguous_errors(pattern: &Pattern, errors: &mut Vec<Diagnostic>) {
    let package = |label: &String| label.rsplit_once(':').map_or(label.as_str(), |(package, _)| package).to_owned();
    let names = |error: &Diagnostic| match error.code == ErrorCode::E_AMBIGUOUS {
        true => error.candidates.iter().map(package).collect(),
        false => Vec::new(),
    };
    let mut met: FxHashSet<Vec<String>> = FxHashSet::default();
    errors.retain_mut(|error| {
        let names: Vec<String> = names(error);
        if names.is_empty() {
            return true;
        }
        let is_new = met.insert(names.clone());
        let text = pattern.to_string();
        let count = names.len();
        let what = Diagnostic::error(ErrorCode::E_AMBIGUOUS, format!("this matches {count} names"));
        let what = match quoted(text.trim_start_matches('-')) {
            Some(text) => what.label(text),
            None => what.found(text),
        };
        *error = what.hint(full_name_hint(&names)).candidates(names);
        is_new
    });
}

fn set_text(set: &SetSpec) -> String {
    match set {
        SetSpec::Node { label, .. } => rule_text(label),
        SetSpec::Sources(name) => format!("sources:{name}"),
        SetSpec::Glob(pattern) => format!("glob:{pattern}"),
        SetSpec::List(_) | SetSpec::Asked => "a list".to_owned(),
    }
}

/// Maximum number of items that a warning quotes; the others are counted.
const QUOTED_ITEMS: usize = 5;

/// Returns the warning that items of a set name no target of a rule.
fn nameless_warning(set: &SetSpec, target: &str, items: &[&str]) -> Diagnostic {
    let (count, set) = (items.len(), set_text(set));
    let (plural, verb) = if count == 1 { ("", "gives") } else { ("s", "give") };
    let mut shown: Vec<String> = items.iter().take(QUOTED_ITEMS).map(|item| format!("'{item}'")).collect();
    if count > QUOTED_ITEMS {
        shown.push(format!("and {} more", count - QUOTED_ITEMS));
    }
    Diagnostic::warning(
        ErrorCode::W_ITEM,
        format!("{count} item{plural} of the set {set} {verb} no label {target}, and no target"),
    )
    .found(shown.join(", "))
    .hint("an item is a path in a label: it is not empty, and no part of it is empty, '.', '..' or '...'")
}

#[cfg(test)]
mod tests {
    use super::near_items;

    #[test]
    fn suggestions_ignore_project_marks_and_list_uncompiled_items_last() {
        let items = ["A.Color@loose", "N.Color@Some.Project", "N.Other"].map(str::to_owned);
        assert_eq!(near_items("Colr", &items), ["N.Color@Some.Project", "A.Color@loose"]);
        assert_eq!(near_items("A.Color@lose", &items)[0], "A.Color@loose");
    }
}
