//! Investigations: choose the outlines and summaries that fit a question and a budget; record an operation that a caller can watch (seed 000 §3, §7).

use crate::checkout;
use crate::context::withheld_files::WithheldFiles;
use crate::error::WorkbenchError;
use engine::build::session::Session;
use engine::seams::producer::Input;
use engine::values::digest::Digest;
use engine::values::label::{Label, escape, unescape};
use engine::values::table::Table;
use producers::investigate::relevance;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An outline in the scope.
pub struct Candidate {
    /// Label of the outline, `//types/KEY:outline`.
    pub label: Arc<str>,
    /// Bytes of the outline.
    pub bytes: Arc<[u8]>,
}

/// A type with its texts.
struct Ranked {
    /// Words shared with the question, then references.
    fit: (u32, u32),
    key: String,
    texts: Vec<(&'static str, Input)>,
}

/// The material that a model is shown.
#[derive(Debug, Default)]
pub struct Material {
    /// Blobs by role, `outline` and `summary`, sorted by symbol path.
    pub roles: BTreeMap<Arc<str>, Vec<Input>>,
    pub shown: usize,
    /// Types of the scope that did not fit, those that fit best first.
    pub left_out: Vec<String>,
    /// Types of the scope that no model may see, because one of their files is never sent.
    pub withheld: Vec<String>,
    /// Estimated tokens.
    pub tokens: u64,
}

/// Estimated bytes of a token of code and English text.
const BYTES: u64 = 4;

/// Chooses the types that fit best into `budget` tokens: by the words shared with the question, then by the number of references. Uses existing
/// summaries and requests none. Excludes types with files that are never sent (the globs of `never_send`, and files known by name to contain keys).
pub fn gather(
    session: &Session,
    question: &str,
    candidates: Vec<Candidate>,
    budget: u64,
    kept_back: &WithheldFiles,
) -> Result<Material, WorkbenchError> {
    let words = relevance::question_words(question);
    let secret = secret(session, kept_back)?;
    let mut withheld = Vec::new();
    let references = reference_counts(session)?;
    let mut ranked: Vec<Ranked> = Vec::new();
    for candidate in candidates {
        let Ok(label) = Label::parse(&candidate.label) else { continue };
        let Some(key) = label.package().strip_prefix("types/").map(unescape) else {
            continue;
        };
        if secret.contains(&key) {
            withheld.push(key);
            continue;
        }
        let mut texts = vec![("outline", input(&key, &candidate.label, candidate.bytes))];
        if let Some(summary) = summary_input(session, &key)? {
            texts.push(("summary", summary));
        }
        let all: String = texts.iter().map(|(_, input)| String::from_utf8_lossy(&input.bytes)).collect();
        let score = relevance::score(&words, &key, &all);
        ranked.push(Ranked {
            fit: (score, references.get(&key).copied().unwrap_or_default()),
            key,
            texts,
        });
    }
    ranked.sort_by(|a, b| b.fit.cmp(&a.fit).then_with(|| a.key.cmp(&b.key)));
    let mut material = Material {
        withheld,
        ..Material::default()
    };
    for Ranked { key, texts, .. } in ranked {
        let size: u64 = texts.iter().map(|(_, input)| input.bytes.len() as u64).sum();
        let tokens = size.div_ceil(BYTES);
        if material.tokens + tokens > budget {
            material.left_out.push(key);
            continue;
        }
        material.tokens += tokens;
        material.shown += 1;
        for (role, input) in texts {
            material.roles.entry(role.into()).or_default().push(input);
        }
    }
    material
        .roles
        .values_mut()
        .for_each(|inputs| inputs.sort_by(|a, b| a.item.cmp(&b.item)));
    Ok(material)
}

fn input(key: &str, label: &Arc<str>, bytes: Arc<[u8]>) -> Input {
    Input {
        label: label.clone(),
        ..Input::of(key, bytes)
    }
}

fn summary_input(session: &Session, key: &str) -> Result<Option<Input>, WorkbenchError> {
    let label = format!("//types/{}:semantic", escape(key));
    let Some(last) = session.last(&label)? else { return Ok(None) };
    let blob = session.engine.store.output(&last.result.output)?;
    Ok(blob.map(|bytes| input(key, &label.into(), bytes)))
}

/// Returns the types with a file that is never sent.
fn secret(session: &Session, kept_back: &WithheldFiles) -> Result<BTreeSet<String>, WorkbenchError> {
    let last = session.last("//index:types")?;
    let blob = last
        .map(|last| session.engine.store.output(&last.result.output))
        .transpose()?
        .flatten();
    let Some(table) = blob.as_deref().and_then(Table::open) else {
        return Ok(BTreeSet::new());
    };
    let is_secret = |value: &[u8]| {
        let row: Option<serde_json::Value> = serde_json::from_slice(value).ok();
        let files = row.as_ref().and_then(|row| row.get("files")?.as_array());
        let mut files = files.into_iter().flatten().filter_map(serde_json::Value::as_str);
        files.any(|file| kept_back.by(file).is_some())
    };
    let found = table.rows().filter(|(_, value)| is_secret(value));
    Ok(found.map(|(key, _)| key.to_owned()).collect())
}

/// Returns the number of references to each type, if `//index:graph` was ever built.
fn reference_counts(session: &Session) -> Result<BTreeMap<String, u32>, WorkbenchError> {
    let Some(last) = session.last("//index:graph")? else {
        return Ok(BTreeMap::new());
    };
    let blob = session.engine.store.output(&last.result.output)?;
    let Some(table) = blob.as_deref().and_then(Table::open) else {
        return Ok(BTreeMap::new());
    };
    let row = |(key, value): (&str, &[u8])| {
        let row: serde_json::Value = serde_json::from_slice(value).ok()?;
        Some((key.to_owned(), u32::try_from(row.get("references")?.as_u64()?).ok()?))
    };
    Ok(table.rows().filter_map(row).collect())
}

/// State of an operation, in order of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Outlines are being built.
    Gathering,
    /// A model is being asked.
    Asking,
    /// The answer is stored.
    Done,
    /// There is no answer.
    Failed,
}

/// An operation that a caller can watch: `.cortex/out/ops/ID.json`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    /// Identifier of the operation: the same for the same question and scope.
    pub op_id: String,
    pub kind: &'static str,
    pub question: String,
    pub scope: Vec<String>,
    pub state: Stage,
    pub label: String,
    /// Events so far, one sentence each.
    pub events: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<serde_json::Value>,
    /// Reason why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<serde_json::Value>,
    /// An answer that was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected: Option<String>,
}

/// Limit of bytes of an operation's file.
const MOST_BYTES: usize = 64 << 20;

/// Returns the path of an operation's file, below the workspace's root.
fn file_of(id: &str) -> String {
    format!(".cortex/out/ops/{id}.json")
}

/// Reads an operation's file; `None` if no operation has the identifier.
pub fn read_operation(root: &Path, id: &str) -> Option<serde_json::Value> {
    if id.is_empty() || id.len() > 64 || !id.chars().all(|c| c.is_ascii_alphanumeric()) {
        return None;
    }
    let bytes = checkout::read_file(root, &file_of(id), MOST_BYTES).ok()??;
    serde_json::from_slice(&bytes).ok()
}

/// Returns the rejected answer of the last try of an investigation, from the operation's file.
pub fn rejected_answer(root: &Path, label: &str) -> Option<String> {
    let id = label.strip_prefix("//investigations/")?.strip_suffix(":answer")?;
    read_operation(root, id)?.get("rejected")?.as_str().map(str::to_owned)
}

impl Operation {
    /// Creates an operation that begins.
    pub fn start_operation(question: &str, scope: &[String]) -> Self {
        let id = Digest::of(format!("{question}\0{}", scope.join("\0")).as_bytes()).short();
        Self {
            label: format!("//investigations/{id}:answer"),
            op_id: id,
            kind: "investigate",
            question: question.to_owned(),
            scope: scope.to_vec(),
            state: Stage::Gathering,
            events: Vec::new(),
            result: None,
            error: None,
            rejected: None,
        }
    }

    /// Writes the operation's file atomically.
    pub fn write_operation(&self, root: &Path) -> Result<PathBuf, std::io::Error> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        let below = file_of(&self.op_id);
        checkout::write_file(root, &below, &bytes)?;
        Ok(root.join(below))
    }
}
