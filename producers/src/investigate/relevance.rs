//! Relevance of a type's outline and summary to a question, by common words. No model is asked.

use std::collections::BTreeSet;

/// Words that say nothing about code.
const COMMON: [&str; 34] = [
    "the", "and", "for", "are", "how", "what", "when", "where", "which", "who", "why", "does", "did", "was", "were", "with", "from",
    "this", "that", "there", "here", "have", "has", "can", "could", "should", "would", "into", "its", "our", "any", "all", "not", "use",
];

/// Returns the words of a question that are searched, in lower case.
pub fn question_words(question: &str) -> BTreeSet<String> {
    pieces(question)
        .into_iter()
        .filter(|word| word.chars().count() > 2 && !COMMON.contains(&word.as_str()))
        .map(|word| stem(&word).to_owned())
        .collect()
}

/// Returns the score of a type: words in its name count most, then words in its members and texts, each word once.
pub fn score(words: &BTreeSet<String>, key: &str, text: &str) -> u32 {
    let stems = |text: &str| -> BTreeSet<String> { pieces(text).iter().map(|word| stem(word).to_owned()).collect() };
    let (name, all) = (stems(key), stems(text));
    let hits = |within: &BTreeSet<String>| u32::try_from(words.iter().filter(|word| within.contains(*word)).count()).unwrap_or(u32::MAX);
    hits(&name).saturating_mul(8) + hits(&all).saturating_mul(2)
}

/// Returns the lines of a text that share words with a question, the best first; headings and lines of hashes say nothing about code.
pub fn best_lines<'t>(words: &BTreeSet<String>, text: &'t str, most: usize) -> Vec<&'t str> {
    let mut found: Vec<(u32, usize, &str)> = text
        .lines()
        .enumerate()
        .map(|(at, line)| (score(words, "", line), at, line.trim()))
        .filter(|(score, _, line)| *score > 0 && !line.is_empty() && !line.starts_with('#') && !line.contains("StructureHash:"))
        .collect();
    found.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    found.into_iter().take(most).map(|(_, _, line)| line).collect()
}

/// Returns the words of a text in lower case, with camel case split.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let (mut piece, mut before) = (String::new(), ' ');
    for c in text.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && before.is_lowercase()) {
            pieces.push(std::mem::take(&mut piece));
        }
        if c.is_alphanumeric() {
            piece.extend(c.to_lowercase());
        }
        before = c;
    }
    pieces.push(piece);
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// Returns a word without the commonest English endings, so that `batches` finds `Batch`.
fn stem(word: &str) -> &str {
    for ending in ["ies", "ing", "ed", "es", "er", "s"] {
        if let Some(short) = word.strip_suffix(ending).filter(|short| short.chars().count() > 2) {
            return short;
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_names_are_found_whatever_their_form() {
        let question = question_words("How are large batches processed?");
        assert_eq!(
            question.iter().map(String::as_str).collect::<Vec<_>>(),
            ["batch", "larg", "process"].map(|word| if word == "larg" { "large" } else { word })
        );
        assert!(score(&question, "N.BatchProcessor", "") > score(&question, "N.Other", "batch"));
        assert_eq!(score(&question, "N.Other", "nothing"), 0);
        assert_eq!(
            best_lines(
                &question,
                "# BatchProcess\nKind: batch process | StructureHash: A\nint Size\nvoid ProcessBatch()\nint Batch",
                1
            ),
            ["void ProcessBatch()"]
        );
    }
}
