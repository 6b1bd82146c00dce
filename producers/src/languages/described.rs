//! `tags/described`: a file of another language in the inputs of summaries, so that the producer `semantic` summarises it like a C# type: its
//! structure, code, documentation, dependencies (none are known) and row. The parameter `form` selects one.

use super::model::{Definition, FileSymbols};
use csharp::deps::Dependencies;
use csharp::ids::short_hash;
use csharp::implementation::{ImplHeader, ImplMember};
use csharp::structure::{self, ApiMember, Header, TypeStructure};
use csharp::types::TypeRow;
use csharp::xmldoc::{self, Docs};
use engine::seams::producer::{Failure, Inputs, Output, ParamError, ParamErrors, Params, Producer, ProducerId, Sees};
use engine::values::digest::Digest;
use engine::values::json;
use engine::values::table::write_table;
use std::collections::BTreeMap;

const FORMS: [&str; 5] = ["structure", "impl", "xmldoc", "deps", "type"];

/// Prefix of identifiers of files.
pub const FILE_ID: &str = "F_";

/// Limit of definitions in the first sentence.
const NAMED: usize = 8;

/// The producer `tags/described`.
#[derive(Debug)]
pub struct Described;

impl Producer for Described {
    fn id(&self) -> ProducerId {
        ProducerId::new("tags/described", 2)
    }

    fn sees(&self, _: &Params) -> Sees {
        Sees { vars: true, label: false }
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        let mut errors = ParamErrors::default();
        errors.add_unknown(params, &["form"]);
        if form(params).is_none() {
            let hint = format!("there are {}", FORMS.join(", "));
            errors.add("form", "'form' must name what a summary is made from", &hint);
        }
        errors.into_result()
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let file = inputs.var("file").unwrap_or_default();
        let symbols =
            FileSymbols::from_json(&inputs.single("tags")?.bytes).ok_or_else(|| Failure::permanent("the input is no output of tags"))?;
        Ok(Output::new(match form(inputs.params) {
            Some("structure") => structure::encode_structure(&structure_of(file, &symbols)),
            Some("impl") => {
                let text = text::decode(&inputs.single("bytes")?.bytes, file).0.into_owned();
                code_of(&symbols, &text)
            }
            Some("xmldoc") => xmldoc::encode_docs(&docs_of(&symbols)),
            Some("deps") => json::encode(&Dependencies {
                own: file.to_owned(),
                ..Dependencies::default()
            }),
            _ => write_table(&BTreeMap::from([(file, json::encode(&row_of(file, &symbols)))])),
        }))
    }
}

fn form(params: &Params) -> Option<&str> {
    params.get("form")?.as_str().filter(|form| FORMS.contains(form))
}

fn structure_of(file: &str, symbols: &FileSymbols) -> TypeStructure {
    let member = |one: &Definition| ApiMember {
        kind: one.kind.clone(),
        name: one.name.clone(),
        key: one.path.clone(),
        id: String::new(),
        arity: 0,
        parameters: Vec::new(),
        modifiers: Vec::new(),
        attributes: Vec::new(),
        signature: if one.signature.is_empty() {
            one.path.clone()
        } else {
            one.signature.clone()
        },
        condition: String::new(),
        attributed: String::new(),
    };
    TypeStructure {
        header: Header {
            symbol: file.to_owned(),
            kind: "file".to_owned(),
            signature: format!("{} file {file}", symbols.language),
            ..Header::default()
        },
        members: symbols.definitions.iter().map(member).collect(),
    }
}

/// Returns the text of each definition without inner ones, and the text outside of all definitions.
fn code_of(symbols: &FileSymbols, text: &str) -> Vec<u8> {
    let lines: Vec<&str> = text.split('\n').collect();
    let all = &symbols.definitions;
    let encloses = |one: &Definition| {
        let inner = format!("{}.", one.path);
        all.iter().any(|other| other.path.starts_with(&inner))
    };
    let mut code = json::encode(&ImplHeader::default());
    for one in all.iter().filter(|one| !encloses(one)) {
        let (start, end) = (one.start as usize, (one.end as usize).min(lines.len()));
        let member = ImplMember {
            kind: one.kind.clone(),
            name: one.name.clone(),
            key: one.path.clone(),
            accessible: true,
            modifiers: Vec::new(),
            signature: String::new(),
            attributes: Vec::new(),
            body: lines.get(start.saturating_sub(1)..end).unwrap_or_default().join("\n"),
            follows: None,
        };
        code.push(b'\n');
        code.extend(json::encode(&member));
    }
    code.push(b'\n');
    code
}

fn docs_of(symbols: &FileSymbols) -> Docs {
    let tagged = |text: &str| {
        let plain = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        format!("<summary>{plain}</summary>")
    };
    let first: Vec<&Definition> = symbols.definitions.iter().filter(|one| !one.path.contains('.')).collect();
    let mut named: Vec<String> = first.iter().take(NAMED).map(|one| format!("{} {}", one.kind, one.name)).collect();
    if first.len() > NAMED {
        named.push(format!("and {} more", first.len() - NAMED));
    }
    let doc = match symbols.doc.as_str() {
        "" => first.iter().find(|one| !one.doc.is_empty()).map_or("", |one| one.doc.as_str()),
        own => own,
    };
    let own = match (named.is_empty(), doc) {
        (true, "") => String::new(),
        (true, doc) => tagged(doc),
        (false, doc) => tagged(&format!("Defines {}. {doc}", named.join(", "))),
    };
    let documented = symbols.definitions.iter().filter(|one| !one.doc.is_empty());
    Docs {
        members: documented.map(|one| (one.path.clone(), tagged(&one.doc))).collect(),
        own,
    }
}

fn row_of(file: &str, symbols: &FileSymbols) -> TypeRow {
    TypeRow {
        accessibility: symbols.language.clone(),
        arity: 0,
        assembly: String::new(),
        files: vec![file.to_owned()],
        generated: false,
        id: format!("{FILE_ID}{}", short_hash(&Digest::of(file.as_bytes()))),
        kind: "file".to_owned(),
        namespace: String::new(),
        project: None,
        symbol: file.to_owned(),
        widened: false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::grammar::language;
    use super::super::tags::parse_tags;
    use super::*;
    use crate::fixture::{blob, run_with};
    use crate::semantic::Semantic;
    use llm::Refusing;
    use std::sync::Arc;

    #[test]
    fn a_file_is_summarised_as_a_type_is() {
        let text = "/** Keeps notes. */\nexport class Store {\n  get(id: string) {\n    if (id === \"\") throw new RangeError(\"no id\");\n    return null;\n  }\n}\n";
        let tags = parse_tags(language("typescript").expect("it"), "a.ts", text)
            .expect("read")
            .symbols
            .to_json();
        let made = |form: &str| {
            let roles = vec![("tags", vec![blob("", tags.clone())]), ("bytes", vec![blob("", text)])];
            let bytes = run_with(&Described, &[("file", "a.ts")], &format!("{{\"form\":\"{form}\"}}"), roles)
                .expect("made")
                .bytes;
            vec![blob("", bytes)]
        };
        let roles = FORMS.map(|form| (form, made(form))).to_vec();
        let semantic = Semantic::new(Arc::new(Refusing));
        let summary = run_with(&semantic, &[("file", "a.ts")], r#"{"model":"extractive"}"#, roles)
            .expect("a summary")
            .bytes;
        let summary = String::from_utf8(summary).expect("text");
        assert!(summary.starts_with("# Semantic: a.ts F_"), "{summary}");
        for claim in ["Defines class Store. Keeps notes.", "A typescript file.", "RangeError"] {
            assert!(summary.contains(claim), "{claim}: {summary}");
        }
    }

    #[test]
    fn documentation_of_a_file_precedes_that_of_its_first_class() {
        let text = "\"\"\"Keeps <notes>.\"\"\"\nclass Store:\n    \"\"\"One store.\"\"\"\n";
        let symbols = parse_tags(language("python").expect("it"), "a.py", text).expect("read").symbols;
        assert_eq!(
            docs_of(&symbols).own,
            "<summary>Defines class Store. Keeps &lt;notes&gt;.</summary>"
        );
    }
}
