//! `scip/documents`: the documents of an index, by the paths of their files in the workspace, each as an index of its own. `scip/merge`: those of
//! several indexes; if two have the same file, the first one counts.
//!
//! An index is untrusted input. Only files of the source set `scip` are taken; documents with any other path are counted and left out. Symbols that
//! are local to a document, and texts of documents, are left out too.

use super::messages::{Document, Index, Metadata};
use super::wire::Parts;
use engine::seams::producer::{Failure, Inputs, Output, Producer, ProducerId};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::table::{Table, write_table};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// Limit of bytes of an index.
const LARGEST: usize = 512 << 20;
/// Limit of occurrences of one document.
const MOST_OCCURRENCES: usize = 500_000;
/// Limit of bytes of a symbol.
const LONGEST_SYMBOL: usize = 2_000;
/// Limit of paths in a message.
const NAMED: usize = 3;

/// The producer `scip/documents`.
#[derive(Debug)]
pub struct Documents;

/// A row of `[scip.NAME]`.
#[derive(Deserialize)]
struct ScipRow {
    index: String,
    root: Option<String>,
}

impl Producer for Documents {
    fn id(&self) -> ProducerId {
        ProducerId::new("scip/documents", 1)
    }

    fn reads_at_most(&self) -> usize {
        LARGEST
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let row = &inputs.single("row")?.bytes;
        let row = Table::open(row).and_then(|table| table.rows().next());
        let row: Option<ScipRow> = row.and_then(|(_, row)| serde_json::from_slice(row).ok());
        let row = row.ok_or_else(|| Failure::permanent("the row of [scip.NAME] cannot be read"))?;
        let bytes = &inputs.single("bytes")?.bytes;
        if bytes.len() > LARGEST {
            let why = Diagnostic::error(ErrorCode::E_SCIP, format!("the index is larger than {} MiB", LARGEST >> 20));
            return Err(Failure::Permanent(Box::new(
                why.hint("have one written for each part of the project"),
            )));
        }
        let sources =
            std::str::from_utf8(&inputs.single("sources")?.bytes).map_err(|_| Failure::permanent("the list of sources is not text"))?;
        let sources: BTreeSet<&str> = sources.lines().collect();
        let folder = row.index.rsplit_once('/').map_or("", |(folder, _)| folder);
        let root = row.root.as_deref().unwrap_or(folder);
        let parts = Parts::from_bytes(bytes)?;
        let mut rows: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let (mut outside, mut cut) = (BTreeSet::new(), BTreeSet::new());
        for document in parts.documents() {
            let document = document?;
            let path = path_in_workspace(root, &document.relative_path).filter(|path| sources.contains(path.as_str()));
            let Some(path) = path else {
                outside.insert(document.relative_path);
                continue;
            };
            if document.occurrences.len() > MOST_OCCURRENCES {
                cut.insert(path.clone());
            }
            rows.entry(path).or_insert_with(|| index_of_document(&parts.metadata, document));
        }
        let warn = |paths: &BTreeSet<String>, what: String, hint: &str| {
            let shown: Vec<String> = paths
                .iter()
                .take(NAMED)
                .map(|path| path.chars().filter(|c| !c.is_control()).take(120).collect())
                .collect();
            let why = Diagnostic::warning(ErrorCode::W_SCIP_LEFT_OUT, what).at(&row.index, 0, 0);
            (!paths.is_empty()).then(|| why.found(shown.join(", ")).hint(hint))
        };
        let lost = format!("{} documents of the index are no files of [sources.scip]", outside.len());
        let many = format!(
            "{} documents of the index have more than {MOST_OCCURRENCES} places; the others were left out",
            cut.len()
        );
        let diagnostics = [
            warn(
                &outside,
                lost,
                "where its paths count from another folder, write it as `root`; widen [sources.scip] include",
            ),
            warn(&cut, many, "nothing, or split the files"),
        ];
        Ok(Output {
            diagnostics: diagnostics.into_iter().flatten().collect(),
            ..Output::new(write_table(&rows))
        })
    }
}

/// Returns a path below the index's folder in the form of the workspace; `None` for one that leads elsewhere.
fn path_in_workspace(root: &str, path: &str) -> Option<String> {
    if path.is_empty() || path.starts_with('/') || path.contains(['\\', '\0', '\n']) {
        return None;
    }
    let mut names: Vec<&str> = Vec::new();
    for name in root.split('/').chain(path.split('/')) {
        match name {
            "" | "." => {}
            ".." => _ = names.pop()?,
            name => names.push(name),
        }
    }
    (!names.is_empty()).then(|| names.join("/"))
}

/// Returns one document as an index of its own.
fn index_of_document(metadata: &Metadata, mut document: Document) -> Vec<u8> {
    let is_kept = |symbol: &str| !symbol.is_empty() && symbol.len() <= LONGEST_SYMBOL && !symbol.starts_with("local ");
    document.occurrences.truncate(MOST_OCCURRENCES);
    document.occurrences.retain(|one| is_kept(&one.symbol));
    document.symbols.retain(|one| is_kept(&one.symbol));
    document.text = String::new();
    let mut tool = metadata.tool_info.clone().unwrap_or_default();
    // The arguments name folders of another machine.
    tool.arguments.clear();
    let index = Index {
        metadata: Some(Metadata {
            tool_info: Some(tool),
            ..Metadata::default()
        }),
        documents: vec![document],
        external_symbols: Vec::new(),
    };
    index.to_bytes()
}

/// The producer `scip/merge`.
#[derive(Debug)]
pub struct Merge;

impl Producer for Merge {
    fn id(&self) -> ProducerId {
        ProducerId::new("scip/merge", 1)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let mut rows: BTreeMap<&str, &[u8]> = BTreeMap::new();
        for input in inputs.all("documents") {
            let table = Table::open(&input.bytes).ok_or_else(|| Failure::permanent("the input is no output of scip/documents"))?;
            for (path, row) in table.rows() {
                rows.entry(path).or_insert(row);
            }
        }
        Ok(Output::new(write_table(&rows)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::messages::{Occurrence, ToolInfo};
    use super::*;
    use crate::fixture::{blob, run};

    fn index(paths: &[&str]) -> Vec<u8> {
        let document = |path: &&str| Document {
            relative_path: (*path).to_owned(),
            text: "secret".to_owned(),
            occurrences: ["local 1", "a b c d e#"]
                .map(|symbol| Occurrence {
                    symbol: symbol.to_owned(),
                    ..Occurrence::default()
                })
                .to_vec(),
            ..Document::default()
        };
        let index = Index {
            metadata: Some(Metadata {
                tool_info: Some(ToolInfo {
                    name: "tool".to_owned(),
                    version: "1".to_owned(),
                    arguments: vec!["--from=elsewhere".to_owned()],
                }),
                ..Metadata::default()
            }),
            documents: paths.iter().map(document).collect(),
            external_symbols: Vec::new(),
        };
        index.to_bytes()
    }

    fn build_table(row: &str, paths: &[&str]) -> Output {
        let row = write_table(&BTreeMap::from([("web", row)]));
        let roles = vec![
            ("row", vec![blob("", row)]),
            ("bytes", vec![blob("", index(paths))]),
            ("sources", vec![blob("", "lib/c.ts\nweb/a.ts\nweb/src/b.ts\n")]),
        ];
        run(&Documents, "", "{}", roles).expect("documents")
    }

    fn paths(output: &Output) -> Vec<String> {
        Table::open(&output.bytes).expect("a table").keys().map(str::to_owned).collect()
    }

    #[test]
    fn only_files_of_the_source_set_are_taken_by_whatever_way_they_are_named() {
        let all = [
            "a.ts", "./src/../src/b.ts", "../lib/c.ts", "../../etc/passwd", "/web/a.ts", "src\\b.ts", "gone.ts", "",
        ];
        let output = build_table(r#"{"index":"web/index.scip"}"#, &all);
        assert_eq!(paths(&output), ["lib/c.ts", "web/a.ts", "web/src/b.ts"]);
        assert_eq!(output.diagnostics.len(), 1);
        assert!(output.diagnostics[0].message.starts_with("5 documents"), "{:?}", output.diagnostics);
        let elsewhere = build_table(r#"{"index":"out/web.scip","root":"web"}"#, &["a.ts"]);
        assert_eq!((paths(&elsewhere), elsewhere.diagnostics.len()), (vec!["web/a.ts".to_owned()], 0));
    }

    #[test]
    fn a_document_keeps_what_others_can_know_of_it() {
        let output = build_table(r#"{"index":"web/index.scip"}"#, &["a.ts", "a.ts"]);
        let table = Table::open(&output.bytes).expect("a table");
        let parts = Parts::from_bytes(table.get("web/a.ts").expect("a row")).expect("an index");
        let document = parts.documents().next().expect("one").expect("a document");
        assert_eq!((document.occurrences.len(), document.text.as_str()), (1, ""));
        assert_eq!(parts.metadata.tool_info.expect("a tool").arguments, Vec::<String>::new());
    }
}
