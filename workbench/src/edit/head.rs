//! The head of a declaration: its documentation and attributes. A replacement keeps those that the new text does not have.

use producers::csharp::lexer::lex;
use std::ops::Range;

/// Treatment of the documentation and attributes of a replaced declaration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HeadPolicy {
    /// Each stays unless the new text has its own.
    #[default]
    UnlessBrought,
    /// Both are removed, whatever the new text has.
    Replaced,
}

/// Offsets of the parts of a declaration, as compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    /// Whether the declaration has documentation.
    pub(super) is_documented: bool,
    /// The first attribute, if any.
    pub(super) attributes: Option<usize>,
    /// The declaration itself; 0 if it has no head.
    pub(super) itself: usize,
}

impl Parts {
    pub(super) fn from_declaration(declaration: &str) -> Self {
        let lexed = lex(declaration);
        let mut depth = 0_usize;
        // Comments are not tokens; attributes are the brackets before everything else.
        let first = lexed.tokens.iter().position(|token| match token.text(declaration) {
            "[" => {
                depth += 1;
                false
            }
            "]" => {
                depth = depth.saturating_sub(1);
                false
            }
            _ => depth == 0,
        });
        let start = |at: usize| lexed.tokens.get(at).map_or(declaration.len(), |token| token.start as usize);
        let first = first.unwrap_or(lexed.tokens.len());
        let is_documented = lexed.docs.first().is_some_and(|doc| (doc.0 as usize) < start(0));
        Self {
            is_documented,
            attributes: (first > 0).then(|| start(0)),
            itself: if first > 0 || is_documented { start(first) } else { 0 },
        }
    }
}

/// The replaced range of a declaration, and its new text.
pub(super) struct Replaced {
    pub(super) own: Range<usize>,
    pub(super) new: String,
    /// Description of the kept parts.
    pub(super) kept: Option<&'static str>,
}

/// Keeps the parts that the new text lacks. `compiled` is the text with blanks for the parts that are not compiled.
pub(super) fn keep_missing_head_parts(text: &str, compiled: &str, whole: &Range<usize>, new: &str) -> Replaced {
    let (old, brought) = (Parts::from_declaration(&compiled[whole.clone()]), Parts::from_declaration(new));
    let from = |at: usize, new: String, kept| Replaced {
        own: whole.start + at..whole.end,
        new,
        kept,
    };
    match (brought.is_documented, brought.attributes, old.attributes) {
        (true, Some(_), _) => from(0, new.to_owned(), None),
        (true, None, None) => from(0, new.to_owned(), None),
        (true, None, Some(attributes)) => {
            let kept = &text[whole.start + attributes..whole.start + old.itself];
            let new = [&new[..brought.itself], kept, &new[brought.itself..]].concat();
            from(0, new, Some("its attributes"))
        }
        (false, Some(_), attributes) => {
            let kept = old.is_documented.then_some("its documentation");
            from(attributes.unwrap_or(old.itself), new.to_owned(), kept)
        }
        (false, None, _) => {
            let kept = match (old.is_documented, old.attributes) {
                (true, Some(_)) => Some("its documentation and attributes"),
                (true, None) => Some("its documentation"),
                (false, Some(_)) => Some("its attributes"),
                (false, None) => None,
            };
            from(old.itself, new.to_owned(), kept)
        }
    }
}
