//! What can be shown of chosen types: their outlines, which the index holds, and the sources of those that may fit, read from the workspace unless
//! the shelf has them.

use super::choose::Chosen;
use super::compose::{Texts, limits};
use super::shelf::{Code, Known};
use crate::symbols::meaning::Candidate;
use crate::symbols::outputs::Outputs;
use crate::symbols::source::{Source, sources};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The texts of chosen types, in their order; sources of those that may come to be shown within a budget of tokens.
///
/// # Errors
/// When the outputs cannot be read or are not of our making.
pub fn gather<O: Outputs>(outputs: &mut O, known: &Known, chosen: &[Chosen], budget: usize) -> Result<Vec<Texts>, O::Error> {
    let documents: Vec<_> = chosen
        .iter()
        .filter_map(|one| Some((one.at, known.index.document(one.at)?)))
        .collect();
    let sizes: Vec<usize> = documents.iter().map(|(_, document)| document.size).collect();
    let limits = limits(chosen, &sizes, budget);
    let fitting = documents
        .iter()
        .zip(&limits)
        .filter(|((_, document), limit)| document.size <= **limit);
    let fitting = fitting.map(|(document, _)| document);
    let mut codes: BTreeMap<usize, Arc<Code>> = fitting.clone().filter_map(|(at, _)| Some((*at, known.shelf.get(*at)?))).collect();
    let missing: Vec<(usize, Candidate)> = fitting
        .filter(|(at, _)| !codes.contains_key(at))
        .map(|(at, document)| (*at, candidate(&document.key, &document.files)))
        .collect();
    if !missing.is_empty() {
        let symbols: Vec<&Candidate> = missing.iter().map(|(_, symbol)| symbol).collect();
        let read = sources(outputs, &symbols, usize::MAX)?;
        for ((at, symbol), source) in missing.iter().zip(read) {
            let code = Arc::new(code(&source, &symbol.files));
            known.shelf.put(*at, code.clone());
            codes.insert(*at, code);
        }
    }
    let texts = documents.into_iter().map(|(at, document)| {
        let code = codes.get(&at);
        let outline = document.outline.as_deref().unwrap_or_default();
        Texts {
            key: document.key.clone(),
            places: code.map_or_else(|| document.files.clone(), |code| code.places.clone()),
            outline: String::from_utf8_lossy(outline).into_owned(),
            code: code.and_then(|code| code.text.clone()),
            size: document.size,
        }
    });
    Ok(texts.collect())
}

/// A type of that key, as far as reading its source needs it.
fn candidate(key: &str, files: &[String]) -> Candidate {
    Candidate {
        path: key.to_owned(),
        kind: String::new(),
        accessibility: String::new(),
        files: files.to_vec(),
        type_id: String::new(),
        member_id: None,
        inherited_by: None,
    }
}

/// The parts of a type one behind the other, without the marks and line ends of their files.
fn code(source: &Source, files: &[String]) -> Code {
    let text = |text: &str| text.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace('\r', "\n");
    let parts: Vec<String> = source.parts.iter().map(|part| text(&part.text)).collect();
    let places = source.parts.iter().map(|part| format!("{}:{}-{}", part.file, part.start, part.end));
    match parts.is_empty() {
        true => Code {
            text: None,
            places: files.to_vec(),
        },
        false => Code {
            text: Some(parts.join("\n")),
            places: places.collect(),
        },
    }
}
