//! Source information for reading a tree: its tokens, the parts hidden from the grammar, and the `#if` sections.

use super::members::Receiver;
use super::shown::GrammarText;
use super::tokens::Tokens;
use crate::preprocess::Active;
use std::ops::Range;

/// A C# 14 extension block whose header and braces were blanked for the parse.
pub(crate) struct Extension {
    /// Its tokens, including header and braces.
    pub(crate) range: Range<usize>,
    pub(crate) open: usize,
    /// Tokens of its receiver's type.
    pub(crate) kind: Range<usize>,
    pub(crate) receiver: Receiver,
}

/// Source information for reading a tree.
pub(crate) struct Reading<'t, 'a> {
    pub(crate) tokens: &'a Tokens<'t>,
    /// The text that the grammar parsed.
    pub(crate) shown: &'a GrammarText,
    /// In text order, not nested.
    pub(crate) extensions: &'a [Extension],
    /// The text with its `#if` sections.
    pub(crate) active: &'a Active<'t>,
    /// Whether the tree is free of errors; fragments of a broken declaration look like top-level statements.
    pub(crate) sound: bool,
}

impl Reading<'_, '_> {
    /// Returns the source bytes of a node.
    pub(crate) fn bytes_of_node(&self, node: tree_sitter::Node<'_>) -> Range<usize> {
        self.shown.original(node.byte_range())
    }

    pub(crate) fn range(&self, node: tree_sitter::Node<'_>) -> Range<usize> {
        self.tokens.range(self.bytes_of_node(node))
    }

    /// Returns the innermost `#if` section that contains a whole declaration.
    pub(crate) fn section_of_declaration(&self, range: &Range<usize>) -> Option<usize> {
        let first = self.tokens.all.get(range.start)?.start as usize;
        let last = self.tokens.all.get(range.end.checked_sub(1)?)?.start as usize;
        self.active.common(first, last)
    }
}
