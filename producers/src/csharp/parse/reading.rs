//! What a tree is read against: the tokens it was made of, what was hidden from the grammar, and which `#if` holds where.

use super::members::Receiver;
use super::shown::GrammarText;
use super::tokens::Tokens;
use crate::csharp::preprocess::Active;
use std::ops::Range;

/// A C# 14 extension block whose header and braces were blanked for the parse.
pub(crate) struct Extension {
    /// Its tokens, header and braces included.
    pub(crate) range: Range<usize>,
    /// Its `{`.
    pub(crate) open: usize,
    /// The tokens of its receiver's type.
    pub(crate) kind: Range<usize>,
    pub(crate) receiver: Receiver,
}

/// What the tree is read against.
pub(crate) struct Reading<'t, 'a> {
    pub(crate) tokens: &'a Tokens<'t>,
    /// What the tree was made of.
    pub(crate) shown: &'a GrammarText,
    /// In the order of the text, not nested.
    pub(crate) extensions: &'a [Extension],
    /// Which text was compiled under which condition.
    pub(crate) active: &'a Active<'t>,
    /// Whether the tree is free of errors; debris of a broken declaration looks like top-level statements.
    pub(crate) sound: bool,
}

impl Reading<'_, '_> {
    /// The bytes of the text that a node stands for.
    pub(crate) fn bytes(&self, node: tree_sitter::Node<'_>) -> Range<usize> {
        self.shown.original(node.byte_range())
    }

    /// The tokens of a node.
    pub(crate) fn range(&self, node: tree_sitter::Node<'_>) -> Range<usize> {
        self.tokens.range(self.bytes(node))
    }

    /// The section that a declaration stands in, whole.
    pub(crate) fn section(&self, range: &Range<usize>) -> Option<usize> {
        let first = self.tokens.all.get(range.start)?.start as usize;
        let last = self.tokens.all.get(range.end.checked_sub(1)?)?.start as usize;
        self.active.common(first, last)
    }
}
