//! Gathers the texts of chosen types, from the cache or the workspace: outlines of all, and sources of named types that may fit, of named
//! members, and of the first other types with their members.

use super::answering_members::{LOOKED_AT, rate};
use super::document::Document;
use super::forms::TypeTexts;
use super::members::{MemberText, mentioned_members};
use super::mentioned::Mention;
use super::source_cache::{Code, IndexWithSources};
use super::type_ranking::Chosen;
use crate::symbols::meaning::Candidate;
use crate::symbols::outputs::{Outputs, file_label, read_one, type_label};
use crate::symbols::source::sources_with_members;
use producers::text::decode;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Average bytes per token of C#, where indentation takes few tokens.
const BYTES: f64 = 4.6;
/// Factor by which the index may overestimate a source: one larger than the budget by this factor is not read.
const OVER: usize = 2;

/// The request: the chosen types and the query.
#[derive(Clone, Copy)]
pub struct GatherRequest<'w> {
    /// The types, the most important first.
    pub chosen: &'w [Chosen],
    /// Files and types that the query names.
    pub mentions: &'w [Mention],
    /// Words of the query, each once.
    pub words: &'w [String],
}

/// Returns the texts of chosen types, in their order, with the sources of those that may be shown within a budget of tokens, of members that the
/// query names, and of those that may answer it.
pub fn gather<O: Outputs>(
    outputs: &mut O,
    known: &IndexWithSources,
    wanted: GatherRequest<'_>,
    budget: usize,
) -> Result<Vec<TypeTexts>, O::Error> {
    let GatherRequest { chosen, mentions, words } = wanted;
    let documents = || chosen.iter().filter_map(|one| Some((one, known.index.document(one.at)?)));
    let named = documents().filter(|(one, _)| one.mention.is_some() && known.index.size(one.at) / OVER <= budget);
    let others = documents().filter(|(one, _)| one.mention.is_none()).take(LOOKED_AT);
    let outlines = outlines(outputs, known, chosen)?;
    let codes = codes(outputs, known, named.chain(others).map(|(one, document)| (one.at, &**document)))?;
    let member_texts = mentioned_members(outputs, &known.index, mentions)?;
    let texts = documents().map(|(one, document)| {
        let named: Vec<MemberText> = member_texts
            .iter()
            .filter(|member| known.index.find(&member.path) == Some(one.at))
            .cloned()
            .collect();
        let code = codes.get(&one.at);
        let outline = document
            .outline
            .as_deref()
            .or(outlines.get(&one.at).map(|outline| &**outline))
            .unwrap_or_default();
        let is_named = one.mention.is_some() || !named.is_empty();
        let answering = code.filter(|_| !is_named).map_or(&[][..], |code| &code.members);
        TypeTexts {
            key: document.key.clone(),
            language: document.language.clone(),
            places: code.map_or_else(|| document.files.clone(), |code| code.places.clone()),
            outline: String::from_utf8_lossy(outline).into_owned(),
            code: code.and_then(|code| code.text.clone()),
            named: named.len(),
            members: named.into_iter().chain(answering.iter().cloned()).collect(),
            size: code
                .and_then(|code| Some((code.text.as_ref()?.len() as f64 / BYTES).ceil() as usize))
                .unwrap_or_else(|| known.index.size(one.at)),
        }
    });
    let mut texts: Vec<TypeTexts> = texts.collect();
    let answering = texts.iter_mut().filter(|text| text.named == 0).flat_map(|text| &mut text.members);
    rate(&known.index, words, answering);
    Ok(texts)
}

/// Returns the outlines of types by their indices: reads those that the cache lacks and stores them there.
fn outlines<O: Outputs>(outputs: &mut O, known: &IndexWithSources, chosen: &[Chosen]) -> Result<BTreeMap<usize, Arc<[u8]>>, O::Error> {
    let (mut outlines, mut missing) = (BTreeMap::new(), Vec::new());
    for one in chosen {
        match (known.sources.outline(one.at), known.index.document(one.at)) {
            (Some(outline), _) => _ = outlines.insert(one.at, outline),
            (None, Some(document)) if document.language.is_none() => missing.push((one.at, type_label(&document.key, "outline"))),
            (None, _) => {}
        }
    }
    missing.sort_by(|one, other| one.1.cmp(&other.1));
    let labels: Vec<String> = missing.iter().map(|(_, label)| label.clone()).collect();
    let read = if labels.is_empty() { Vec::new() } else { outputs.read(&labels)? };
    let by_label: BTreeMap<String, Option<Arc<[u8]>>> = read.into_iter().map(|output| (output.label, output.bytes)).collect();
    for (at, label) in missing {
        if let Some(Some(outline)) = by_label.get(&label) {
            known.sources.insert_outline(at, outline.clone());
            outlines.insert(at, outline.clone());
        }
    }
    Ok(outlines)
}

/// Returns the sources of types by their indices: reads those that the cache lacks and stores them there.
fn codes<'d, O: Outputs>(
    outputs: &mut O,
    known: &IndexWithSources,
    types: impl Iterator<Item = (usize, &'d Document)>,
) -> Result<BTreeMap<usize, Arc<Code>>, O::Error> {
    let (mut codes, mut missing) = (BTreeMap::new(), Vec::new());
    for (at, document) in types {
        match known.sources.get(at) {
            Some(code) => drop(codes.insert(at, code)),
            None if document.language.is_some() => {
                let text = read_one(outputs, file_label(&document.key, "bytes"))?;
                let code = Arc::new(Code {
                    text: text.map(|bytes| decode(&bytes, &document.key).0.into_owned()),
                    places: document.files.clone(),
                    members: Vec::new(),
                });
                known.sources.insert_source(at, code.clone());
                codes.insert(at, code);
            }
            None => missing.push((at, Candidate::from_path(&document.key, &document.files))),
        }
    }
    if !missing.is_empty() {
        let symbols: Vec<&Candidate> = missing.iter().map(|(_, symbol)| symbol).collect();
        let read = sources_with_members(outputs, &symbols)?;
        for ((at, symbol), (source, members)) in missing.iter().zip(read) {
            let is_read = !source.parts.is_empty();
            let code = Arc::new(Code {
                text: is_read.then(|| source.readable()),
                places: match is_read {
                    true => source.parts.iter().map(|part| part.file_and_lines()).collect(),
                    false => symbol.files.clone(),
                },
                members: members.iter().map(MemberText::from_source).collect(),
            });
            known.sources.insert_source(*at, code.clone());
            codes.insert(*at, code);
        }
    }
    Ok(codes)
}
