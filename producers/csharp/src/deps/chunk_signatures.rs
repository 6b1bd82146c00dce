//! `csharp/chunk-signatures`: the outputs of `//types/T:signatures` of a chunk of types, one after the other.
//!
//! `//index:members` and `//index:declarations` read them. So an edit of a type makes them read the signatures of its chunk, not those of
//! all types.

use engine::seams::producer::{Failure, Input, Inputs, Output, Producer, ProducerId};

/// The producer `csharp/chunk-signatures`.
#[derive(Debug)]
pub struct ChunkSignatures;

impl Producer for ChunkSignatures {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/chunk-signatures", 1)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        Ok(Output::new(signatures(inputs)?.concat()))
    }
}

/// Returns the signatures of all types of the role `members`, each a text, sorted by key. Fails when an input is not text.
pub(super) fn signatures<'i>(inputs: &'i Inputs<'_>) -> Result<Vec<&'i str>, Failure> {
    let mut texts = Vec::new();
    for input in inputs.all("members") {
        texts.extend(signatures_by_type(input)?);
    }
    texts.sort_unstable_by_key(|text| text.split(['\t', '\n']).next());
    Ok(texts)
}

/// Splits an input into the signatures of its types. The first line of a type is the only one that is not indented. Fails when the input is
/// not text.
pub(super) fn signatures_by_type(input: &Input) -> Result<Vec<&str>, Failure> {
    let text = std::str::from_utf8(&input.bytes);
    let text = text.map_err(|_| Failure::permanent(format!("the members of {} are not text", input.item)))?;
    let heads = text.match_indices('\n').map(|(at, _)| at + 1);
    let heads = heads.filter(|&at| text[at..].starts_with(|first| first != '\t'));
    let starts: Vec<usize> = std::iter::once(0).chain(heads).filter(|&at| at < text.len()).collect();
    let ends = starts.iter().copied().skip(1).chain([text.len()]);
    Ok(starts.iter().zip(ends).map(|(&start, end)| &text[start..end]).collect())
}
