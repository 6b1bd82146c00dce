//! Expansion: lists the inputs of a node, from its rule and the blobs that decide them.
//!
//! The deciding nodes (sets, tables, keys) are the *discovery* of a node: the build settles them first. If a set names tables whose rows
//! the rule reads, the build settles those tables next. Expansion is a pure function of the rule and these blobs, so a build reuses its
//! result while neither changes.

use crate::graph::lookups::Lookup;
use crate::manifest::model::{InputFrom, Rule, SetSpec};
use crate::manifest::template::{Piece, Template, Vars};
use crate::values::digest::Digest;
use crate::values::label::{Label, escape, unescape};
use crate::values::long_text;
use crate::values::pages::{self, PageError, RowReader};
use crate::values::table::{Table, TableWriter};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// An input found by expansion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlannedInput {
    /// A node; `item` is empty unless the role is a list.
    Node {
        /// Index into the rule's inputs.
        spec: u16,
        /// Value of `{item}`.
        item: Arc<str>,
        label: Label,
    },
    /// Rows of a table.
    Slice {
        /// Index into the rule's inputs.
        spec: u16,
        /// Digest of the sub-table.
        digest: Digest,
        /// Label of the table, if the role is a list of them.
        of: Option<Label>,
    },
}

impl PlannedInput {
    /// Returns the index into the rule's inputs.
    pub fn spec(&self) -> u16 {
        match self {
            Self::Node { spec, .. } | Self::Slice { spec, .. } => *spec,
        }
    }
}

/// Reason why a node cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    /// A template's text is not a label.
    #[error("'{text}' is not a label: {reason}")]
    BadLabel { text: String, reason: String },
    /// A blob does not have the form that the rule expects.
    #[error("{label} cannot be read as {expected}")]
    BadBlob {
        label: String,
        /// The form that the rule expects.
        expected: String,
    },
    /// A page of a table is missing: the node must be rebuilt first.
    #[error("a page of the table {label} is missing")]
    Lost { label: String },
}

/// Returns the label of a source set's list of paths.
pub fn sources_label(name: &str) -> String {
    format!("//sources/{}:files", escape(name))
}

/// Returns the label of a glob's list of paths.
pub fn glob_label(pattern: &str) -> String {
    format!("//globs/{}:files", escape(&pattern.replace('/', "|")))
}

/// Returns the nodes that decide the inputs of a rule for given variables, without repeats, in the order of the rule. Fails when a
/// template's text is not a label.
pub fn discovery(rule: &Rule, vars: &Vars) -> Result<Vec<Label>, ExpandError> {
    let mut labels: Vec<Label> = Vec::new();
    let mut push = |label: Option<Label>| {
        if let Some(label) = label.filter(|label| !labels.contains(label)) {
            labels.push(label);
        }
    };
    let asks = rule.asks();
    for input in &rule.inputs {
        match &input.from {
            InputFrom::One(target) if asks => push(Some(fill_label(target, vars, None)?)),
            InputFrom::One(_) => {}
            InputFrom::Many { each, .. } => push(set_node(each, vars)?),
            InputFrom::Slice { node, keys } => {
                push(Some(fill_label(node, vars, None)?));
                push(set_node(keys, vars)?);
            }
            InputFrom::Rows { each, keys, .. } => {
                push(set_node(each, vars)?);
                push(set_node(keys, vars)?);
            }
        }
    }
    // The set of the rule does not decide which nodes of two variables exist: the inner set does.
    if let Some((_, set)) = &rule.inner {
        push(set_node(set, vars)?);
    }
    Ok(labels)
}

/// Returns the other deciding nodes: tables whose rows the rule reads, and that only the blobs of its [`discovery`] name. Fails when a blob
/// or a label does not have the expected form.
pub fn tables(rule: &Rule, vars: &Vars, blobs: &dyn Blobs) -> Result<Vec<Label>, ExpandError> {
    let mut labels: Vec<Label> = Vec::new();
    for input in &rule.inputs {
        let InputFrom::Rows { each, table, .. } = &input.from else {
            continue;
        };
        for item in items(each, vars, blobs)? {
            let label = fill_label(table, vars, Some(&item))?;
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
    }
    Ok(labels)
}

/// Fills in the variables of a set. Fails when a template's text is not a label.
pub fn bind_set(set: &SetSpec, vars: &Vars) -> Result<SetSpec, ExpandError> {
    let SetSpec::Node { label, row, field } = set else {
        return Ok(set.clone());
    };
    let literal = |text: String| Template {
        pieces: vec![Piece::Text(text.into())],
    };
    Ok(SetSpec::Node {
        label: literal(fill_label(label, vars, None)?.to_string()),
        row: row.as_ref().map(|row| fill(row, vars, None).map(literal)).transpose()?,
        field: field.clone(),
    })
}

/// Returns the node whose output contains a set; `None` for literal lists. Fails when a template's text is not a label.
pub fn set_node(set: &SetSpec, vars: &Vars) -> Result<Option<Label>, ExpandError> {
    Ok(match set {
        SetSpec::Sources(name) => Some(parse_label(&sources_label(name))?),
        SetSpec::Glob(pattern) => Some(parse_label(&glob_label(pattern))?),
        SetSpec::Node { label, .. } => Some(fill_label(label, vars, None)?),
        SetSpec::List(_) | SetSpec::Asked => None,
    })
}

/// The blobs of the discovery nodes, by label.
pub trait Blobs {
    /// Returns the blob of a settled discovery node; for a table in pages its root.
    fn get(&self, label: &str) -> Option<Arc<[u8]>>;

    fn page(&self, digest: &Digest) -> Option<Arc<[u8]>>;

    /// Records a lookup in the output of a node.
    fn looked_up(&self, _label: &str, _lookup: Lookup<'_>) {}

    /// Receives the rows of an input, which its producer needs next.
    fn planned_rows(&self, _digest: Digest, _rows: Vec<u8>) {}
}

/// Blobs without pages.
impl Blobs for BTreeMap<String, Arc<[u8]>> {
    fn get(&self, label: &str) -> Option<Arc<[u8]>> {
        BTreeMap::get(self, label).cloned()
    }

    fn page(&self, _: &Digest) -> Option<Arc<[u8]>> {
        None
    }
}

/// Rows of one node's table.
pub struct TableRows<'a> {
    label: &'a Label,
    reader: RowReader,
    blobs: &'a dyn Blobs,
}

impl<'a> TableRows<'a> {
    /// Opens the table with this root. Fails when it is no table.
    pub fn open(label: &'a Label, root: Option<Arc<[u8]>>, blobs: &'a dyn Blobs) -> Result<Self, ExpandError> {
        let reader = root
            .and_then(|root| RowReader::new(root).ok())
            .ok_or_else(|| malformed(label, "a table"))?;
        Ok(Self { label, reader, blobs })
    }

    pub fn get(&mut self, key: &str) -> Result<Option<pages::Value>, ExpandError> {
        self.blobs.looked_up(self.label.as_str(), Lookup::Row(key));
        let found = self.reader.get::<PageError>(key, |digest| Ok(self.blobs.page(digest)));
        found.map_err(|_| missing_page(self.label))
    }
}

fn missing_page(label: &Label) -> ExpandError {
    ExpandError::Lost { label: label.to_string() }
}

/// Returns the inputs of a rule for given variables, in the order of its roles, lists sorted by item. Fails when a blob or a label does not
/// have the expected form.
pub fn expand(rule: &Rule, vars: &Vars, blobs: &dyn Blobs) -> Result<Vec<PlannedInput>, ExpandError> {
    let mut planned = Vec::with_capacity(rule.inputs.len());
    for (spec, input) in (0u16..).zip(&rule.inputs) {
        match &input.from {
            InputFrom::One(target) => planned.push(PlannedInput::Node {
                spec,
                item: "".into(),
                label: fill_label(target, vars, None)?,
            }),
            InputFrom::Many { each, target } => {
                for item in items(each, vars, blobs)? {
                    let label = fill_label(target, vars, Some(&item))?;
                    planned.push(PlannedInput::Node {
                        spec,
                        item: item.into(),
                        label,
                    });
                }
            }
            // `build::requested_rows` adds these rows: it has the producer.
            InputFrom::Slice { keys: SetSpec::Asked, .. } => {}
            InputFrom::Slice { node, keys } => {
                let rows = slice(node, None, keys, vars, blobs)?;
                let digest = Digest::of(&rows);
                blobs.planned_rows(digest, rows);
                planned.push(PlannedInput::Slice { spec, digest, of: None });
            }
            InputFrom::Rows { each, table, keys } => {
                for item in items(each, vars, blobs)? {
                    let rows = slice(table, Some(&item), keys, vars, blobs)?;
                    let digest = Digest::of(&rows);
                    blobs.planned_rows(digest, rows);
                    let of = Some(fill_label(table, vars, Some(&item))?);
                    planned.push(PlannedInput::Slice { spec, digest, of });
                }
            }
        }
    }
    Ok(planned)
}

/// Returns the sub-table of rows with the given keys, without keys that the table lacks; `item` selects one of several tables. Fails when
/// the node's blob is not a table or the keys cannot be read.
pub fn slice(node: &Template, item: Option<&str>, keys: &SetSpec, vars: &Vars, blobs: &dyn Blobs) -> Result<Vec<u8>, ExpandError> {
    let label = fill_label(node, vars, item)?;
    let mut table = TableRows::open(&label, blobs.get(label.as_str()), blobs)?;
    let keys = items(keys, vars, blobs)?;
    let mut rows = TableWriter::default();
    for key in &keys {
        if let Some(value) = table.get(key)? {
            rows.append_row(key, &value);
        }
    }
    Ok(rows.finish())
}

/// Returns the items of a set, sorted, without repeats. Fails when the deciding blob does not have the form that the set expects.
pub fn items(set: &SetSpec, vars: &Vars, blobs: &dyn Blobs) -> Result<Vec<String>, ExpandError> {
    let mut items = match set {
        SetSpec::List(templates) => templates
            .iter()
            .map(|template| fill(template, vars, None))
            .collect::<Result<Vec<_>, _>>()?,
        SetSpec::Asked => Vec::new(),
        SetSpec::Sources(_) | SetSpec::Glob(_) => {
            let label = set_node(set, vars)?.expect("invariant: source sets have a node");
            read_items(&label, blobs, None, None)?
        }
        SetSpec::Node { label, row, field } => {
            let label = fill_label(label, vars, None)?;
            let row = row.as_ref().map(|row| fill(row, vars, None)).transpose()?;
            read_items(&label, blobs, row.as_deref(), field.as_deref())?
        }
    };
    items.sort_unstable();
    items.dedup();
    Ok(items)
}

fn read_items(label: &Label, blobs: &dyn Blobs, row: Option<&str>, field: Option<&str>) -> Result<Vec<String>, ExpandError> {
    let blob = blobs
        .get(label.as_str())
        .ok_or_else(|| malformed(label, "a set (it has no output)"))?;
    match (row, field) {
        (Some(_), _) => {}
        (None, None) => blobs.looked_up(label.as_str(), Lookup::Keys),
        (None, Some(_)) => blobs.looked_up(label.as_str(), Lookup::Whole),
    }
    let (value, text);
    let part: &[u8] = match row {
        None if pages::is_branch(&blob) && field.is_none() => {
            let mut keys = Vec::new();
            let read = pages::each_leaf::<PageError>(
                &blob,
                |digest| Ok(blobs.page(digest)),
                |leaf| keys.extend(leaf.keys().map(str::to_owned)),
            );
            return read.map(|()| keys).map_err(|_| missing_page(label));
        }
        None if long_text::is_long_text(&blob) => {
            text = long_text::join_pieces::<PageError>(&blob, |digest| Ok(blobs.page(digest)), |_| {}).map_err(|_| missing_page(label))?;
            &text
        }
        None => &blob,
        Some(row) => match TableRows::open(label, Some(blob), blobs)?.get(row)? {
            Some(found) => {
                value = found;
                &value
            }
            None => return Ok(Vec::new()),
        },
    };
    if let Some(field) = field {
        return pick(part, field).ok_or_else(|| malformed(label, &format!("JSON with a list of texts under '{field}'")));
    }
    if Table::is_table(part) {
        return Ok(Table::open(part)
            .ok_or_else(|| malformed(label, "a table"))?
            .keys()
            .map(str::to_owned)
            .collect());
    }
    let text = std::str::from_utf8(part).map_err(|_| malformed(label, "a list of lines (it is not UTF-8)"))?;
    if text.starts_with('[') {
        return list_of_texts(text).map_err(|why| malformed(label, &format!("a JSON list of texts: {why}")));
    }
    Ok(text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

/// Parses a JSON list of texts; the error names the item that is none, counted from 1.
fn list_of_texts(json: &str) -> Result<Vec<String>, String> {
    let items: Vec<serde_json::Value> = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let text = |(at, item): (usize, serde_json::Value)| match item {
        serde_json::Value::String(text) => Ok(text),
        other => Err(format!("item {} is {other}", at + 1)),
    };
    items.into_iter().enumerate().map(text).collect()
}

fn malformed(label: &Label, expected: &str) -> ExpandError {
    ExpandError::BadBlob {
        label: label.to_string(),
        expected: expected.to_owned(),
    }
}

fn fill(template: &Template, vars: &Vars, item: Option<&str>) -> Result<String, ExpandError> {
    template
        .fill(|name| {
            if name == "item" {
                item
            } else {
                vars.get(name).map(|value| &**value)
            }
        })
        .map_err(|name| ExpandError::BadLabel {
            text: format!("{{{name}}}"),
            reason: "the variable has no value".into(),
        })
}

/// Fills a template to a label. Fails when its text is not a label.
pub fn fill_label(template: &Template, vars: &Vars, item: Option<&str>) -> Result<Label, ExpandError> {
    let item = item.map(escape);
    let escaped: Vec<(&str, String)> = vars.iter().map(|(name, value)| (&**name, escape(value))).collect();
    let text = template
        .fill(|name| {
            if name == "item" {
                item.as_deref()
            } else {
                escaped.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
            }
        })
        .map_err(|name| ExpandError::BadLabel {
            text: format!("{{{name}}}"),
            reason: "the variable has no value".into(),
        })?;
    parse_label(&text)
}

/// The text before and after `{item}` in the labels of a list input, to extract items from labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemFrame {
    head: String,
    tail: String,
}

impl ItemFrame {
    /// Returns the frame of a target template; `None` without `{item}`.
    pub fn from_template(target: &Template, vars: &Vars) -> Option<Self> {
        let at = target
            .pieces
            .iter()
            .position(|piece| matches!(piece, Piece::Var(name) if &**name == "item"))?;
        let escaped: Vec<(&str, String)> = vars.iter().map(|(name, value)| (&**name, escape(value))).collect();
        let value = |name: &str| escaped.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str());
        let part = |pieces: &[Piece]| Template { pieces: pieces.to_vec() }.fill(value).ok();
        Some(Self {
            head: part(&target.pieces[..at])?,
            tail: part(&target.pieces[at + 1..])?,
        })
    }

    /// Extracts the item of `label`.
    pub fn item(&self, label: &str) -> Option<String> {
        label
            .strip_prefix(self.head.as_str())?
            .strip_suffix(self.tail.as_str())
            .map(unescape)
    }
}

fn parse_label(text: &str) -> Result<Label, ExpandError> {
    Label::parse(text).map_err(|error| ExpandError::BadLabel {
        text: text.to_owned(),
        reason: error.message,
    })
}

/// Reads the list of texts (or the single text) in a dotted field of a JSON object, skipping everything else without building it.
fn pick(json: &[u8], field: &str) -> Option<Vec<String>> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    Pick { path: field }.deserialize(&mut deserializer).ok().flatten()
}

struct Pick<'a> {
    path: &'a str,
}

impl<'de> DeserializeSeed<'de> for Pick<'_> {
    type Value = Option<Vec<String>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Pick<'_> {
    type Value = Option<Vec<String>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object, a list of texts or a text")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (head, rest) = self.path.split_once('.').unwrap_or((self.path, ""));
        let mut found = None;
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            if !self.path.is_empty() && key == head {
                found = map.next_value_seed(Pick { path: rest })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element::<String>()? {
            items.push(item);
        }
        Ok(self.path.is_empty().then_some(items))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(self.path.is_empty().then(|| vec![text.to_owned()]))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Some(Vec::new()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::table::write_table;

    fn blobs(entries: &[(&str, &[u8])]) -> BTreeMap<String, Arc<[u8]>> {
        entries
            .iter()
            .map(|(label, blob)| ((*label).to_owned(), Arc::from(*blob)))
            .collect()
    }

    fn node(label: &str, row: Option<&str>, field: Option<&str>) -> SetSpec {
        let parse = |text: &str| Template::parse(text).expect("template");
        SetSpec::Node {
            label: parse(label),
            row: row.map(parse),
            field: field.map(str::to_owned),
        }
    }

    #[test]
    fn sets_are_read_from_tables_rows_lists_and_lines() {
        let table = write_table(&BTreeMap::from([
            ("A", br#"{"x":1,"files":["b.cs","a.cs"],"deep":{"in":"one"}}"#.to_vec()),
            ("B", b"{}".to_vec()),
        ]));
        let blobs = blobs(&[
            ("//i:t", &table),
            ("//i:lines", b"b\n\na\nb\n"),
            ("//i:list", br#"["z","y"]"#),
            ("//i:bad", b"\xff"),
        ]);
        let vars = Vars::from([("type".into(), "A".into())]);
        let read = |set: SetSpec| items(&set, &vars, &blobs);
        assert_eq!(read(node("//i:t", None, None)), Ok(vec!["A".into(), "B".into()]));
        assert_eq!(
            read(node("//i:t", Some("{type}"), Some("files"))),
            Ok(vec!["a.cs".into(), "b.cs".into()])
        );
        assert_eq!(read(node("//i:t", Some("{type}"), Some("deep.in"))), Ok(vec!["one".into()]));
        assert_eq!(read(node("//i:t", Some("C"), Some("files"))), Ok(vec![]));
        assert_eq!(read(node("//i:lines", None, None)), Ok(vec!["a".into(), "b".into()]));
        assert_eq!(read(node("//i:list", None, None)), Ok(vec!["y".into(), "z".into()]));
        assert!(read(node("//i:bad", None, None)).is_err());
        assert!(read(node("//i:t", Some("B"), Some("files"))).is_err());
    }

    #[test]
    fn a_slice_sees_only_its_rows() {
        let rows = |more: &str| write_table(&BTreeMap::from([("A", "1"), ("B", "2"), (more, "3")]));
        let keys = SetSpec::List(vec![
            Template::parse("{type}").expect("template"),
            Template::parse("C").expect("template"),
        ]);
        let vars = Vars::from([("type".into(), "A".into())]);
        let table = Template::parse("//i:t").expect("template");
        let digest = |more: &str| slice(&table, None, &keys, &vars, &blobs(&[("//i:t", &rows(more))])).map(|rows| Digest::of(&rows));
        assert_eq!(digest("D"), digest("E"));
        assert_ne!(digest("D"), digest("C"));
    }
}
