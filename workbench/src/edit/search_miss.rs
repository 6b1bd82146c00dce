//! The text in which a search failed: the file, or the buffer with unsaved edits. The message names it, because reading the file again would not show
//! the buffer.

use super::files::Files;
use super::run::EditRun;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchedText {
    /// The file, which equals the buffer.
    File,
    Buffer,
}

impl SearchedText {
    /// Returns the name of the searched text within a sentence.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::File => "the file",
            Self::Buffer => "the buffer",
        }
    }

    /// Returns the name of the searched text with the path, for the beginning of a sentence.
    pub(super) fn describe_with_path(self, path: &str) -> String {
        match self {
            Self::File => path.to_owned(),
            Self::Buffer => format!("the buffer of {path}, which has edits that are not saved"),
        }
    }

    /// Returns the way to read the text.
    pub(super) fn way(self) -> &'static str {
        match self {
            Self::File => "read the place again and give oldText exactly as in the file",
            Self::Buffer => "compare buffer and file with `diff`, and give oldText exactly as in the buffer",
        }
    }
}

impl<F: Files> EditRun<'_, F> {
    /// Returns which text of a document is edited.
    pub(super) fn searched_text(&self, path: &str) -> SearchedText {
        match self.session.documents.get(path).is_some_and(|document| document.is_edited()) {
            true => SearchedText::Buffer,
            false => SearchedText::File,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::order::Order;
    use super::super::session_tests::Coder;
    use super::super::state::Mode;

    #[test]
    fn a_miss_in_a_buffer_that_is_not_saved_speaks_of_the_buffer() {
        let mut coder = Coder::opened("one\ntwo\n", Mode::Manual);
        let of_file = coder.replace("nowhere", "b");
        assert_eq!(
            of_file.summary,
            "no match in a.cs: it does not occur in the file, and nothing there is similar"
        );
        coder.replace("two", "three");
        let of_buffer = coder.replace("two", "four");
        let begin = "no match in the buffer of a.cs, which has edits that are not saved: it does not occur in the buffer";
        assert!(of_buffer.summary.starts_with(begin), "{}", of_buffer.summary);
        assert!(
            of_buffer
                .guidance
                .is_some_and(|way| way.starts_with("compare buffer and file with `diff`"))
        );
        let patch = "*** Begin Patch\n*** Update File: a.cs\n-two\n+four\n*** End Patch";
        let of_patch = coder.ask(Order::Patch(patch.to_owned())).summary;
        assert!(
            of_patch.starts_with("the buffer of a.cs, which has edits that are not saved: the hunk"),
            "{of_patch}"
        );
    }
}
