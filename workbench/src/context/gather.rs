//! What can be shown of chosen types: their outlines, which the index holds, the sources of those that may fit, read from the workspace unless
//! the shelf has them, and those of members that the query names.

use super::choose::Chosen;
use super::compose::limits;
use super::forms::Texts;
use super::members::stretches;
use super::mentioned::Mention;
use super::shelf::{Code, Known};
use crate::symbols::meaning::Candidate;
use crate::symbols::outputs::{Outputs, file_label, read_one};
use crate::symbols::source::{Source, sources};
use producers::text::decode;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of lines of C# for a token, about: indentation takes few.
const BYTES: f64 = 4.6;
/// So many times what it truly is an index may take a source for, or half of that. The source of a type that the query names is read in either case;
/// that of another one only if it fits in any: reading opens the workspace, and what is read may not be shown.
const OVER: usize = 2;

/// The texts of chosen types, in their order; sources of those that may come to be shown within a budget of tokens, and of what `mentions` mean.
///
/// # Errors
/// When the outputs cannot be read or are not of our making.
pub fn gather<O: Outputs>(
    outputs: &mut O,
    known: &Known,
    chosen: &[Chosen],
    mentions: &[Mention],
    budget: usize,
) -> Result<Vec<Texts>, O::Error> {
    let documents: Vec<_> = chosen
        .iter()
        .filter_map(|one| Some((one.at, known.index.document(one.at)?)))
        .collect();
    let sizes: Vec<usize> = documents.iter().map(|(at, _)| known.index.size(*at)).collect();
    let limits = limits(chosen, &sizes, budget);
    let most = |one: &Chosen, size: usize| if one.mention.is_some() { size / OVER } else { size * OVER };
    let fits = chosen
        .iter()
        .zip(&sizes)
        .zip(&limits)
        .map(|((one, size), limit)| most(one, *size) <= *limit);
    let fitting = documents.iter().zip(fits).filter_map(|(document, fits)| fits.then_some(document));
    let mut codes: BTreeMap<usize, Arc<Code>> = fitting.clone().filter_map(|(at, _)| Some((*at, known.shelf.get(*at)?))).collect();
    let (missing, others): (Vec<_>, Vec<_>) = fitting
        .filter(|(at, _)| !codes.contains_key(at))
        .map(|(at, document)| (*at, Candidate::of(&document.key, &document.files), document.language.is_some()))
        .partition(|(.., is_other)| !is_other);
    for (at, file, _) in others {
        let text = read_one(outputs, file_label(&file.path, "bytes"))?.map(|bytes| decode(&bytes, &file.path).0.into_owned());
        let code = Arc::new(Code { text, places: file.files });
        known.shelf.put(at, code.clone());
        codes.insert(at, code);
    }
    if !missing.is_empty() {
        let symbols: Vec<&Candidate> = missing.iter().map(|(_, symbol, _)| symbol).collect();
        let read = sources(outputs, &symbols, usize::MAX)?;
        for ((at, symbol, _), source) in missing.iter().zip(read) {
            let code = Arc::new(code(&source, &symbol.files));
            known.shelf.put(*at, code.clone());
            codes.insert(*at, code);
        }
    }
    let stretches = stretches(outputs, &known.index, mentions)?;
    let texts = documents.into_iter().map(|(at, document)| {
        let named = stretches.iter().filter(|one| known.index.find(&one.path) == Some(at));
        let code = codes.get(&at);
        let outline = document.outline.as_deref().unwrap_or_default();
        Texts {
            key: document.key.clone(),
            language: document.language.clone(),
            places: code.map_or_else(|| document.files.clone(), |code| code.places.clone()),
            outline: String::from_utf8_lossy(outline).into_owned(),
            code: code.and_then(|code| code.text.clone()),
            named: named.cloned().collect(),
            size: code
                .and_then(|code| Some((code.text.as_ref()?.len() as f64 / BYTES).ceil() as usize))
                .unwrap_or_else(|| known.index.size(at)),
        }
    });
    Ok(texts.collect())
}

/// The source of a type as it is kept.
fn code(source: &Source, files: &[String]) -> Code {
    match source.parts.is_empty() {
        true => Code {
            text: None,
            places: files.to_vec(),
        },
        false => Code {
            text: Some(source.readable()),
            places: source.parts.iter().map(|part| part.place()).collect(),
        },
    }
}
