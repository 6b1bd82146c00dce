//! The forms of a pack: `csharp/pack`, Markdown for readers; `csharp/pack-contents`, the included and omitted parts of that text as data;
//! `csharp/pack-facts`, the pack's entry in `index.json` (seed 000 §3.1). One producer builds all of them from the same inputs.
//!
//! Facts depend on outlines alone, so reading the index never requests a summary. For a pack with summaries, facts count the text without
//! them. Summaries do not affect which types fit a budget.

use super::document::Document;
use engine::seams::producer::{Failure, Inputs, Output, Params, Producer, ProducerId, Sees};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::json;
use serde::{Deserialize, Serialize};

/// An entry of `packs` in `index.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PackFacts {
    pub name: String,
    /// Approximate tokens of its text.
    pub token_estimate: u64,
    /// Identifiers of its types, in the order of the pack.
    pub type_ids: Vec<String>,
}

/// Contents of a pack's text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Contents {
    /// Files of other languages, by path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Omitted parts: types, then files, then summaries, each in the order in which they were dropped.
    pub left_out: Vec<LeftOut>,
    /// The fewest tokens with which the pack contains a type, if the budget is too small for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed: Option<u64>,
    /// Approximate tokens of the text.
    pub token_estimate: u64,
    /// Types in order.
    pub types: Vec<String>,
}

/// A part omitted from the text of a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// `type`, `file`, or `summary` of a type that is in the pack.
    pub part: String,
    /// The type or the file.
    pub path: String,
    /// Reason, as a sentence.
    pub why: String,
}

/// A producer of packs.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    name: &'static str,
    version: u32,
    write: fn(&Document<'_>) -> Vec<u8>,
    /// Whether this form warns if nothing fits.
    warns: bool,
}

/// The producer `csharp/pack`.
pub const PACK: Form = Form {
    name: "csharp/pack",
    version: 7,
    write: |document| document.markdown().into_bytes(),
    warns: true,
};

/// The producer `csharp/pack-contents`.
pub const CONTENTS: Form = Form {
    name: "csharp/pack-contents",
    version: 6,
    write: |document| json::encode(&contents(document)),
    warns: false,
};

/// The producer `csharp/pack-facts`.
pub const FACTS: Form = Form {
    name: "csharp/pack-facts",
    version: 6,
    write: |document| json::encode(&facts(document)),
    warns: false,
};

impl Producer for Form {
    fn id(&self) -> ProducerId {
        ProducerId::new(self.name, self.version)
    }

    fn sees(&self, _: &Params) -> Sees {
        Sees { vars: true, label: false }
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let document = Document::from_inputs(inputs)?;
        let mut diagnostics = Vec::new();
        if let Some(fewest) = document.needed().filter(|_| self.warns) {
            let budget = document.selection.budget.unwrap_or_default();
            let head = match document.tokens() {
                head if head > budget => format!(", and its head alone takes {head}"),
                _ => String::new(),
            };
            let what = if document.selection.types.is_empty() { "file" } else { "type" };
            let message = format!("the budget of {budget} tokens is too small for any {what} of the pack{head}");
            let diagnostic = Diagnostic::warning(ErrorCode::CS_PACK_BUDGET, message);
            diagnostics.push(diagnostic.hint(format!("give it at least {fewest} tokens")));
        }
        Ok(Output {
            bytes: (self.write)(&document),
            diagnostics,
            ..Output::default()
        })
    }
}

fn contents(document: &Document<'_>) -> Contents {
    let left_out = |part: &str, path: &str, why: String| LeftOut {
        part: part.to_owned(),
        path: path.to_owned(),
        why,
    };
    let budget = document.selection.budget.unwrap_or_default();
    let crowded = || format!("it does not fit the budget of {budget} tokens");
    let types = document.types_cut().into_iter().map(|path| left_out("type", path, crowded()));
    let files = document.files_cut().into_iter().map(|path| left_out("file", path, crowded()));
    let summaries = document
        .summaries_cut()
        .into_iter()
        .map(|path| left_out("summary", path, crowded()));
    let excluded = document.selection.excluded.iter();
    let excluded = excluded.map(|(path, by)| left_out("type", path, format!("declarations name it, and the filter says {by}")));
    Contents {
        files: document.remaining_files().into_iter().map(str::to_owned).collect(),
        left_out: types.chain(excluded).chain(files).chain(summaries).collect(),
        needed: document.needed(),
        token_estimate: document.tokens(),
        types: document.remaining_types().cloned().collect(),
    }
}

fn facts(document: &Document<'_>) -> PackFacts {
    PackFacts {
        name: document.name.to_owned(),
        token_estimate: document.tokens(),
        type_ids: document.remaining_types().map(|key| document.id(key).to_owned()).collect(),
    }
}
