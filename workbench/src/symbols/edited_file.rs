//! Files of an edit with their texts before and after it.

use producers::csharp::model::{Syntax, Tier};
use producers::csharp::parse::read;
use std::collections::{BTreeMap, BTreeSet};

/// A file with its text before and after an edit.
pub struct EditedFile {
    /// Path of the file.
    pub path: String,
    /// Text before the edit.
    pub before: String,
    /// Text after the edit.
    pub after: String,
}

impl EditedFile {
    /// Whether the edit added an occurrence of a word.
    pub(super) fn gains(&self, word: &str) -> bool {
        count_of_word(&self.after, word) > count_of_word(&self.before, word)
    }

    /// Returns where files no longer parse as C# that did before an edit.
    pub fn new_syntax_faults(files: &[Self]) -> Vec<String> {
        with_moved_texts(files).0.iter().filter_map(Self::new_syntax_fault).collect()
    }

    /// Returns where the file no longer parses as C#, if it did before the edit.
    fn new_syntax_fault(&self) -> Option<String> {
        let parse = |text: &str| read(text, &BTreeSet::new(), &self.path);
        let is_sound = |syntax: &Syntax| matches!(syntax.tier, Tier::Whole | Tier::Repaired);
        let (after, faults) = parse(&self.after);
        if is_sound(&after) || !is_sound(&parse(&self.before).0) {
            return None;
        }
        let place = faults.iter().find_map(|fault| fault.place.as_ref());
        let place = place.map_or(self.path.clone(), |at| format!("{}:{}:{}", at.file, at.line, at.column));
        Some(format!("{place}: the file no longer parses"))
    }
}

/// Gives a file that edits only moved its text before, because what it lacked there is not lost. Returns the former paths of moved files, too.
pub(super) fn with_moved_texts(files: &[EditedFile]) -> (Vec<EditedFile>, BTreeMap<String, String>) {
    let mut former = BTreeMap::new();
    let texts = files.iter().map(|file| {
        let is_source = |other: &&EditedFile| other.after.is_empty() && other.before == file.after;
        let is_new = file.before.is_empty() && !file.after.is_empty();
        let source = files.iter().find(is_source).filter(|_| is_new);
        former.extend(source.map(|source| (file.path.clone(), source.path.clone())));
        EditedFile {
            path: file.path.clone(),
            before: source.map_or(&file.before, |source| &source.before).clone(),
            after: file.after.clone(),
        }
    });
    (texts.collect(), former)
}

/// Returns how often a text contains a word.
pub(super) fn count_of_word(text: &str, name: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let alone = |at: &usize| !text[..*at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part);
    text.match_indices(name).map(|(at, _)| at).filter(alone).count()
}

#[cfg(test)]
mod tests {
    use super::super::lost_names::lost_names;
    use super::super::samples::Sample;
    use super::*;

    #[test]
    fn a_moved_file_loses_nothing_that_it_lacked_before() {
        let lost_by_move = |text: &str| {
            let mut sample = Sample::from_files(&[("sub/id.cs", text)]);
            let symbols = sample.names();
            let file = |path: &str, before: &str, after: &str| EditedFile {
                path: path.to_owned(),
                before: before.to_owned(),
                after: after.to_owned(),
            };
            let moved = [file("id.cs", text, ""), file("sub/id.cs", "", text)];
            let disk = sample.world();
            assert_eq!(EditedFile::new_syntax_faults(&moved), [""; 0]);
            lost_names(&mut sample, &symbols, &*disk, &moved).expect("outputs").lost
        };
        assert_eq!(
            lost_by_move("namespace N;\nclass Id { int Twice() => Half(new Nowhere()); }\n"),
            [""; 0]
        );
        assert_eq!(lost_by_move("namespace N;\nclass Id { int Twice() => ; }}}\n"), [""; 0]);
    }
}
