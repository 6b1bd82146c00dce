//! `tree/entry`: the entry of a name in a tree: a file's bytes, or the tree of a folder.

use engine::manifest::read::ENTRY;
use engine::seams::producer::{Failure, Inputs, Output, ParamError, ParamErrors, Params, Producer, ProducerId};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use std::collections::BTreeMap;

/// Extracts an entry of the tree in the role `tree`.
pub struct TreeEntryProducer;

impl Producer for TreeEntryProducer {
    fn id(&self) -> ProducerId {
        ProducerId::new(ENTRY, 1)
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        let mut errors = ParamErrors::default();
        errors.add_unknown(params, &["entry"]);
        if params.get("entry").is_none_or(|entry| entry.as_str().is_none_or(str::is_empty)) {
            let message = "'entry' must be the path of a file or folder in the tree";
            errors.add("entry", message, "write params.entry = \"site/index.html\"");
        }
        errors.into_result()
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let entry = inputs.params.get("entry").and_then(|entry| entry.as_str()).unwrap_or_default();
        let entry = entry.trim_end_matches('/');
        let Some(tree) = &inputs.single("tree")?.tree else {
            let why = Diagnostic::error(ErrorCode::E_PRODUCER, "its input is not a tree");
            return Err(Failure::Permanent(Box::new(
                why.hint("give it a target whose program has `outputs`"),
            )));
        };
        if let Some(file) = tree.get(entry) {
            return Ok(Output::new(file.bytes.to_vec()));
        }
        let below = format!("{entry}/");
        let files: BTreeMap<_, _> = tree
            .range(below.clone()..)
            .map_while(|(path, file)| Some((path.strip_prefix(&below)?.to_owned(), file.clone())))
            .collect();
        if files.is_empty() {
            let why = Diagnostic::error(
                ErrorCode::E_PRODUCER,
                format!("there is no '{entry}' in the tree, or nothing in it"),
            );
            let shown: Vec<&str> = tree.keys().take(5).map(String::as_str).collect();
            return Err(Failure::Permanent(Box::new(
                why.found(shown.join(", ")).hint("`cortex show` of the tree lists what there is"),
            )));
        }
        Output::from_files(&files).map_err(|error| Failure::permanent(error.to_string()))
    }
}
