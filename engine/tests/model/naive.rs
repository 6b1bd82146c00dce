//! The naive builder: evaluates labels recursively from the files, with no graph, no store and no memory between builds.
//!
//! It shares with the engine the manifest, templates, patterns and the toys' functions; sets, expansion and failure are its own.

use crate::toys::producers::{Kind, Seen, trail};
use engine::build::state::Set;
use engine::manifest::model::{InputFrom, Manifest, Rule, SetSpec};
use engine::manifest::template::Template;
use engine::values::digest::Digest;
use engine::values::label::{Label, escape, unescape};
use engine::values::pattern::{Pattern, PatternSet};
use engine::values::table::{Table, write_table};
use globset::{GlobBuilder, GlobMatcher};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// An output and a description of its origin; descriptions are equal exactly when keys should be.
#[derive(Debug)]
pub struct Made {
    /// The output.
    pub bytes: Vec<u8>,
    /// Producer, version, parameters, what it sees, inputs; empty for leaves.
    pub tuple: String,
}

/// Reason why a set or a list of inputs cannot be read.
#[derive(Debug)]
enum Unread {
    /// A deciding node has no output.
    Missing,
    /// It does not have the expected form.
    Bad,
}

/// Anomalies in the sets of rules whose targets a pattern may match.
#[derive(Default)]
struct OddSets {
    /// A set has no output.
    unset: bool,
    /// A set has no item, and the pattern has a wildcard.
    empty: bool,
}

type Vars = BTreeMap<String, String>;
type Inputs = Vec<(String, String, Option<String>, Vec<u8>, bool)>;

/// One evaluation for one state of the files.
pub struct Naive<'a> {
    manifest: &'a Manifest,
    sets: Vec<Set>,
    files: BTreeMap<String, Vec<u8>>,
    versions: &'a BTreeMap<&'static str, u32>,
    memo: BTreeMap<String, Option<Rc<Made>>>,
    doing: BTreeSet<String>,
    /// Labels that failed by themselves, not because of an input.
    pub failed: BTreeSet<String>,
    /// Whether a target depends on itself.
    pub cyclic: bool,
}

impl<'a> Naive<'a> {
    /// Returns an empty evaluation.
    pub fn new(manifest: &'a Manifest, files: BTreeMap<String, Vec<u8>>, versions: &'a BTreeMap<&'static str, u32>) -> Self {
        Self {
            manifest,
            sets: engine::build::engine::sets(manifest),
            files,
            versions,
            memo: BTreeMap::new(),
            doing: BTreeSet::new(),
            failed: BTreeSet::new(),
            cyclic: false,
        }
    }

    /// Evaluates a label; returns its output, if it has one.
    pub fn eval(&mut self, label: &str) -> Option<Rc<Made>> {
        if let Some(known) = self.memo.get(label) {
            return known.clone();
        }
        if !self.doing.insert(label.to_owned()) {
            self.cyclic = true;
            return None;
        }
        let made = self.leaf(label).unwrap_or_else(|| self.make(label)).map(Rc::new);
        self.doing.remove(label);
        self.memo.insert(label.to_owned(), made.clone());
        made
    }

    fn leaf(&mut self, label: &str) -> Option<Option<Made>> {
        let made = |bytes: Vec<u8>| {
            Some(Made {
                bytes,
                tuple: String::new(),
            })
        };
        if let Some(path) = label.strip_prefix("//files/").and_then(|rest| rest.strip_suffix(":bytes")) {
            let found = self.files.get(&unescape(path)).cloned();
            if found.is_none() {
                self.failed.insert(label.to_owned());
            }
            return Some(found.and_then(made));
        }
        let set = self.sets.iter().find(|set| set.label == label)?;
        Some(made((self.matching(&set.include).join("\n") + "\n").into_bytes()))
    }

    fn matching(&self, globs: &[String]) -> Vec<String> {
        let globs: Vec<_> = globs.iter().map(|glob| compiled(glob)).collect();
        self.files
            .keys()
            .filter(|path| globs.iter().any(|glob| glob.is_match(path)))
            .cloned()
            .collect()
    }

    /// Returns the rule of a label, and the value of its variable.
    fn rule(&self, label: &str) -> Option<(&'a Rule, Vars)> {
        self.manifest.rules.iter().find_map(|rule| {
            let value = rule.target.capture(label)?;
            let vars = rule.each.iter().map(|(name, _)| (name.to_string(), unescape(value))).collect();
            Some((rule, vars))
        })
    }

    fn make(&mut self, label: &str) -> Option<Made> {
        let Some((rule, vars)) = self.rule(label) else {
            self.failed.insert(label.to_owned());
            return None;
        };
        match self.try_make(label, rule, &vars) {
            Ok(made) => Some(made),
            Err(Unread::Missing) => None,
            Err(Unread::Bad) => {
                self.failed.insert(label.to_owned());
                None
            }
        }
    }

    fn try_make(&mut self, label: &str, rule: &Rule, vars: &Vars) -> Result<Made, Unread> {
        self.deciders(rule, vars)?;
        if let Some((name, set)) = &rule.each
            && !self.items(set, vars)?.contains(&vars[&**name])
        {
            return Err(Unread::Bad);
        }
        let inputs = self.inputs(rule, vars)?;
        let mut missing = false;
        let mut seen = Seen::default();
        for (role, item, label, rows, digest_only) in inputs {
            let bytes = match label {
                None => rows,
                Some(label) => match self.eval(&label) {
                    Some(made) => made.bytes.clone(),
                    None => {
                        missing = true;
                        continue;
                    }
                },
            };
            let digest = Digest::of(&bytes).to_string();
            seen.inputs.push((role, item, digest, if digest_only { Vec::new() } else { bytes }));
        }
        if missing {
            return Err(Unread::Missing);
        }
        seen.inputs.sort_by(|a, b| a.0.cmp(&b.0));
        let producer = &self.manifest.producers[rule.producer as usize];
        let kind = Kind::named(&producer.uses);
        let version = self.versions.get(producer.uses.as_str()).copied().unwrap_or(1);
        seen.prefix = producer
            .params
            .get("prefix")
            .and_then(|prefix| prefix.as_str())
            .unwrap_or_default()
            .to_owned();
        if kind.sees().vars {
            seen.vars = vars.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
            seen.label = Some(label.to_owned());
        }
        let roles: Vec<_> = seen.inputs.iter().map(|(role, item, digest, _)| (role, item, digest)).collect();
        let tuple = format!(
            "{kind:?} {version} {:?} {:?} {:?} {roles:?}",
            producer.params, seen.vars, seen.label
        );
        let made = std::panic::catch_unwind(|| kind.apply(version, &seen));
        let bytes = made.map_err(|_| Unread::Bad)?.map_err(|_| Unread::Bad)?;
        Ok(Made { bytes, tuple })
    }

    /// Evaluates everything that decides inputs and existence before any input.
    fn deciders(&mut self, rule: &Rule, vars: &Vars) -> Result<(), Unread> {
        let mut sets: Vec<&SetSpec> = rule.each.iter().map(|(_, set)| set).collect();
        let mut labels: Vec<String> = Vec::new();
        for input in &rule.inputs {
            match &input.from {
                InputFrom::One(target) if rule.asks() => labels.push(fill(target, vars, None)?),
                InputFrom::One(_) => {}
                InputFrom::Many { each, .. } => sets.push(each),
                InputFrom::Slice { node, keys } => {
                    labels.push(fill(node, vars, None)?);
                    sets.push(keys);
                }
                InputFrom::Rows { each, keys, .. } => sets.extend([each, keys]),
            }
        }
        for set in sets {
            labels.extend(set_label(set, vars)?);
        }
        let outputs: Vec<bool> = labels.iter().map(|label| self.eval(label).is_some()).collect();
        if !outputs.into_iter().all(|there| there) {
            return Err(Unread::Missing);
        }
        // The labels that these name are evaluated next.
        let mut tables: Vec<String> = Vec::new();
        for input in &rule.inputs {
            if let InputFrom::Rows { each, table, .. } = &input.from {
                for item in self.items(each, vars)? {
                    tables.push(fill(table, vars, Some(&item))?);
                }
            }
        }
        let outputs: Vec<bool> = tables.iter().map(|label| self.eval(label).is_some()).collect();
        match outputs.into_iter().all(|there| there) {
            true => Ok(()),
            false => Err(Unread::Missing),
        }
    }

    fn inputs(&mut self, rule: &Rule, vars: &Vars) -> Result<Inputs, Unread> {
        let mut inputs = Inputs::new();
        for input in &rule.inputs {
            let mut push = |item: &str, label: Option<String>, rows| {
                inputs.push((input.role.to_string(), item.to_owned(), label, rows, input.digest_only))
            };
            match &input.from {
                InputFrom::One(target) => push("", Some(fill(target, vars, None)?), Vec::new()),
                InputFrom::Many { each, target } => {
                    for item in self.items(each, vars)? {
                        push(&item, Some(fill(target, vars, Some(&item))?), Vec::new());
                    }
                }
                InputFrom::Slice { node, keys } => {
                    let label = fill(node, vars, None)?;
                    let table = self.eval(&label).ok_or(Unread::Missing)?;
                    let table = Table::open(&table.bytes).ok_or(Unread::Bad)?;
                    if *keys == SetSpec::Asked {
                        let own = rule.inputs.iter().find_map(|input| match &input.from {
                            InputFrom::One(target) => Some(target),
                            _ => None,
                        });
                        let own = fill(own.expect("the text"), vars, None)?;
                        let own = self.eval(&own).ok_or(Unread::Missing)?.bytes.clone();
                        let rows = trail(&own, |key| table.get(key).map(<[u8]>::to_vec));
                        push("", None, write_table(&rows));
                        continue;
                    }
                    let keys = self.items(keys, vars)?;
                    let rows: BTreeMap<&str, &[u8]> = keys.iter().filter_map(|key| Some((key.as_str(), table.get(key)?))).collect();
                    push("", None, write_table(&rows));
                }
                InputFrom::Rows { each, table, keys } => {
                    let keys = self.items(keys, vars)?;
                    for item in self.items(each, vars)? {
                        let label = fill(table, vars, Some(&item))?;
                        let made = self.eval(&label).ok_or(Unread::Missing)?;
                        let table = Table::open(&made.bytes).ok_or(Unread::Bad)?;
                        let rows: BTreeMap<&str, &[u8]> = keys.iter().filter_map(|key| Some((key.as_str(), table.get(key)?))).collect();
                        push(&item, None, write_table(&rows));
                    }
                }
            }
        }
        Ok(inputs)
    }

    fn items(&mut self, set: &SetSpec, vars: &Vars) -> Result<Vec<String>, Unread> {
        let mut items = match set {
            SetSpec::Asked => Vec::new(),
            SetSpec::List(templates) => templates
                .iter()
                .map(|template| plain(template, vars))
                .collect::<Result<Vec<_>, _>>()?,
            SetSpec::Sources(name) => self.matching(&self.manifest.sources[name].include),
            SetSpec::Glob(glob) => self.matching(std::slice::from_ref(glob)),
            SetSpec::Node { label, row, field } => {
                let made = self.eval(&fill(label, vars, None)?).ok_or(Unread::Missing)?;
                let row = row.as_ref().map(|row| plain(row, vars)).transpose()?;
                node_items(&made.bytes, row.as_deref(), field.as_deref())?
            }
        };
        items.sort();
        items.dedup();
        Ok(items)
    }

    /// Returns the targets that patterns match, or `None` when the request is refused.
    pub fn roots(&mut self, patterns: &PatternSet) -> Option<Vec<String>> {
        let mut roots: Vec<String> = Vec::new();
        let (mut refused, mut any_label, mut any_over_nothing) = (false, false, false);
        for (at, pattern) in patterns.patterns().iter().enumerate().filter(|(_, pattern)| !pattern.is_negative()) {
            let (meaning, sets) = self.meaning(pattern);
            any_label |= !meaning.is_empty();
            if meaning.is_empty() && !sets.unset {
                match sets.empty {
                    true => any_over_nothing = true,
                    false => refused = true,
                }
            }
            let later = &patterns.patterns()[at + 1..];
            let taken = |text: &String| {
                let label = Label::parse(text).expect("a label");
                later
                    .iter()
                    .rev()
                    .find(|pattern| pattern.matches(label.package(), label.target()))
                    .is_some_and(Pattern::is_negative)
            };
            roots.extend(meaning.into_iter().filter(|label| !taken(label)));
        }
        let mut seen = BTreeSet::new();
        roots.retain(|label| seen.insert(label.clone()));
        // An empty set is not an error if there are other targets.
        refused |= any_over_nothing && !any_label;
        (!refused).then_some(roots)
    }

    /// Returns the known targets that a pattern matches, and the anomalies in the sets of rules that may add more.
    fn meaning(&mut self, pattern: &Pattern) -> (Vec<String>, OddSets) {
        let (mut labels, mut sets) = (Vec::new(), OddSets::default());
        let matches = |label: &str| Label::parse(label).is_ok_and(|label| pattern.matches(label.package(), label.target()));
        for rule in &self.manifest.rules {
            let Some((name, set)) = &rule.each else {
                labels.extend(rule.target.literal().filter(|label| matches(label)).map(str::to_owned));
                continue;
            };
            let wildcard = Vars::from([(name.to_string(), "\u{1}".to_owned())]);
            let shape = fill(&rule.target, &wildcard, None).expect("one variable");
            let family = shape[2..].split('/').next().expect("a package");
            let target = shape.rsplit(':').next().expect("a target");
            let is_match = match pattern.literal() {
                Some(label) => rule.target.capture(label.as_str()).is_some(),
                None => pattern.may_match_family(family) && pattern.may_match_target(target),
            };
            if !is_match {
                continue;
            }
            let Ok(items) = self.items(set, &Vars::new()) else {
                sets.unset = true;
                continue;
            };
            sets.empty |= items.is_empty() && pattern.literal().is_none();
            let made = items
                .iter()
                .filter_map(|item| fill(&rule.target, &Vars::from([(name.to_string(), item.clone())]), None).ok());
            labels.extend(made.filter(|label| matches(label)));
        }
        (labels, sets)
    }

    /// Returns the output path of a label, if its rule has one and the path is known.
    pub fn out(&mut self, label: &str) -> Option<String> {
        let (rule, mut vars) = self.rule(label)?;
        let out = rule.out.as_ref()?;
        for (name, set) in &out.vars {
            let [value] = <[String; 1]>::try_from(self.items(set, &vars).ok()?).ok()?;
            vars.insert(name.to_string(), value);
        }
        plain(&out.path, &vars).ok()
    }
}

fn set_label(set: &SetSpec, vars: &Vars) -> Result<Option<String>, Unread> {
    Ok(match set {
        SetSpec::Node { label, .. } => Some(fill(label, vars, None)?),
        _ => None,
    })
}

fn plain(template: &Template, vars: &Vars) -> Result<String, Unread> {
    template.fill(|name| vars.get(name).map(String::as_str)).map_err(|_| Unread::Bad)
}

fn fill(template: &Template, vars: &Vars, item: Option<&str>) -> Result<String, Unread> {
    let mut escaped: Vars = vars.iter().map(|(name, value)| (name.clone(), escape(value))).collect();
    escaped.extend(item.map(|item| ("item".to_owned(), escape(item))));
    let text = plain(template, &escaped)?;
    Label::parse(&text).map(|_| text).map_err(|_| Unread::Bad)
}

fn node_items(blob: &[u8], row: Option<&str>, field: Option<&str>) -> Result<Vec<String>, Unread> {
    let part = match row {
        None => blob,
        Some(row) => match Table::open(blob).ok_or(Unread::Bad)?.get(row) {
            Some(value) => value,
            None => return Ok(Vec::new()),
        },
    };
    let strings = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => Some(vec![text.clone()]),
        serde_json::Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    if let Some(field) = field {
        let object: serde_json::Value = serde_json::from_slice(part).map_err(|_| Unread::Bad)?;
        return object.get(field).and_then(strings).ok_or(Unread::Bad);
    }
    if let Some(table) = Table::open(part) {
        return Ok(table.keys().map(str::to_owned).collect());
    }
    let text = std::str::from_utf8(part).map_err(|_| Unread::Bad)?;
    if text.starts_with('[') {
        return serde_json::from_str(text).map_err(|_| Unread::Bad);
    }
    Ok(text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

/// Returns the matcher of a glob. A matcher takes longer to compile than the rest of an evaluation, so each is compiled once.
fn compiled(glob: &str) -> Rc<GlobMatcher> {
    thread_local!(static MATCHERS: RefCell<BTreeMap<String, Rc<GlobMatcher>>> = RefCell::default());
    MATCHERS.with_borrow_mut(|matchers| {
        let compile = || {
            Rc::new(
                GlobBuilder::new(glob)
                    .literal_separator(true)
                    .build()
                    .expect("a glob")
                    .compile_matcher(),
            )
        };
        matchers.entry(glob.to_owned()).or_insert_with(compile).clone()
    })
}
