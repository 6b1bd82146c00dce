//! From C# text to its declarations: [`read`] is the whole way, with the guards that keep any text within stated time and memory.
//!
//! Order: inactive code is blanked, tokens are cut, what the grammar need not or cannot see is hidden (all bodies: the *skeleton*), the
//! grammar parses, a cursor walks. When the tree has errors, valid code that the grammar lacks is *repaired*; at last what stands
//! outside the errors is taken. Every byte that the grammar sees knows its place, and every text is cut from the tokens, so the same code
//! has the same texts on each way. Bodies are only looked at for errors, and only where their tokens raise a [`doubt`]; what they mean is for
//! [`crate::csharp::code`] to read.

mod doubt;
pub(crate) mod grammar;
mod header;
mod members;
mod mentions;
#[cfg(test)]
mod odd_tests;
mod reading;
mod repair;
mod shown;
mod tame;
#[cfg(test)]
mod tests;
pub(crate) mod tokens;
mod types;
mod unions;
mod walk;

use super::friends::friends;
use super::generated::is_generated;
use super::model::{Syntax, Tier};
use super::preprocess::Active;
use super::{escapes, lexer, preprocess};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
pub use grammar::parse_only;
use reading::{Extension, Reading};
use shown::{Edit, GrammarText};
use std::collections::BTreeSet;
use std::ops::Range;
use tokens::Tokens;
use tree_sitter::Tree;

/// Largest text that is parsed; tree-sitter needs about 40 bytes of memory for each byte.
pub const LARGEST: usize = 16 << 20;

/// The declarations of a text, and what its reader should know. `file` is only for the place in diagnostics.
pub fn read(text: &str, defines: &BTreeSet<String>, file: &str) -> (Syntax, Vec<Diagnostic>) {
    if text.len() > LARGEST {
        let message = format!("the file is larger than {} MiB and was not read", LARGEST >> 20);
        let diagnostic = Diagnostic::warning(ErrorCode::CS_FILE_LARGE, message)
            .at(file, 0, 0)
            .found(format!("{} bytes", text.len()));
        return (
            nothing(Tier::Nothing),
            vec![diagnostic.hint("leave the file out of the source set, or split it")],
        );
    }
    let active = preprocess::active(text, defines);
    let mut lexed = lexer::lex(&active.text);
    let plain = escapes::plain_names(&active.text, &mut lexed.tokens);
    let broken = unclosed_literal(&lexed);
    let open_comment = lexed.open_comment;
    let tokens = Tokens::of(plain.as_deref().unwrap_or(&active.text), &active.text, lexed);
    let mut diagnostics: Vec<Diagnostic> = active
        .faults
        .iter()
        .take(MOST_FAULTS)
        .map(|fault| {
            let (line, column) = tokens.line_and_column(fault.byte);
            Diagnostic::warning(ErrorCode::CS_PREPROCESSOR, fault.message).at(file, line, column)
        })
        .collect();
    let mut edits: Vec<Edit> = open_comment
        .map(|start| Edit {
            bytes: start as usize..active.text.len(),
            with: "",
        })
        .into_iter()
        .collect();
    let extensions = tame::extensions(&tokens, &mut edits);
    unions::unions(&tokens, &mut edits);
    let hidden = edits.len();
    tame::angle_runs(&tokens, &mut edits);
    let tamed = edits.len() > hidden;
    let way = Way {
        active: &active,
        tokens: &tokens,
        extensions: &extensions,
        edits,
    };
    let Parsed { tree, tier, bodies, error } = way.parse(broken.is_some());
    let mut message = match (tier, &tree) {
        (Tier::Whole | Tier::Repaired, _) => "",
        (Tier::Skeleton, _) if tokens.depth > tame::DEEPEST => {
            "brackets are nested too deeply for the grammar; all declarations were read, bodies may hold errors"
        }
        (Tier::Skeleton, _) if bodies == 1 => "one body could not be parsed; all declarations were read",
        (Tier::Skeleton, _) => "bodies could not be parsed; all declarations were read",
        (_, None) => "the file could not be parsed; nothing was read from it",
        (_, Some(_)) => MISSING,
    };
    let mut place = error.map(|byte| tokens.line_and_column(byte));
    let (mut syntax, odd) = tree.map_or_else(
        || (nothing(tier), None),
        |(tree, shown)| {
            let reading = Reading {
                tokens: &tokens,
                shown: &shown,
                extensions: &extensions,
                active: &active,
                sound: !tree.root_node().has_error(),
            };
            walk::walk(&tree, &reading, tier)
        },
    );
    syntax.is_app = is_app(text, &tokens);
    syntax.is_generated = is_generated(file, text);
    syntax.friends = friends(&tokens);
    if tamed && matches!(tier, Tier::Whole | Tier::Repaired) {
        syntax.tier = Tier::Partial;
        message = "code with too many open '<' was left out";
    }
    if let Some(byte) = odd
        && matches!(tier, Tier::Whole | Tier::Repaired | Tier::Skeleton)
    {
        syntax.tier = Tier::Partial;
        message = MISSING;
        place = Some(tokens.line_and_column(byte));
    }
    if let Some((byte, what)) = broken {
        syntax.tier = Tier::Partial;
        message = what;
        place = Some(tokens.line_and_column(byte));
    }
    if !message.is_empty() {
        let mut diagnostic = partial(file, place, message);
        if syntax.tier == Tier::Skeleton {
            diagnostic.severity = engine::values::diagnostic::Severity::Note;
        }
        diagnostics.push(diagnostic);
    }
    (syntax, diagnostics)
}

/// What is said where errors stand among declarations.
const MISSING: &str = "some code could not be parsed; declarations may be missing";

/// Most faults of directives that are told of one file.
const MOST_FAULTS: usize = 10;

/// Most errors of a tree that are looked at one by one.
const MOST_ERRORS: usize = 1000;

/// The first literal or comment that nothing closes: what stands behind it may have been swallowed.
fn unclosed_literal(lexed: &lexer::Lexed) -> Option<(usize, &'static str)> {
    let literal = lexed
        .tokens
        .iter()
        .find(|token| token.kind == lexer::Kind::Unterminated)
        .map(|token| {
            (
                token.start as usize,
                "a string or character literal is not closed; declarations behind it may be missing",
            )
        });
    let comment = lexed
        .open_comment
        .map(|start| (start as usize, "a comment is not closed; what stands behind it was not read"));
    literal.into_iter().chain(comment).min()
}

/// The way from tokens to a tree.
struct Way<'t, 'a> {
    active: &'a Active<'t>,
    tokens: &'a Tokens<'a>,
    extensions: &'a [Extension],
    /// What is hidden from every parse.
    edits: Vec<Edit>,
}

/// A tree of declarations and how it was had.
struct Parsed {
    tree: Option<(Tree, GrammarText)>,
    tier: Tier,
    /// How many bodies have errors; 0 when that is not known.
    bodies: usize,
    /// The first error.
    error: Option<usize>,
}

impl Way<'_, '_> {
    /// The declarations, as they are or repaired, and what is wrong with the bodies. When brackets or literals are broken nothing proves
    /// that a body ends where it seems to, so the result is no more than partial.
    fn parse(mut self, broken: bool) -> Parsed {
        if broken {
            tame::broken_literals(self.tokens, &mut self.edits);
        }
        let skeleton = tame::skeleton(self.tokens, self.extensions);
        let known = self.edits.len();
        let (mut tree, mut errors) = self.grammar(&skeleton.edits, skeleton.missing);
        let mut tier = Tier::Whole;
        if !errors.is_empty() {
            repair::repairs(self.tokens, &mut self.edits);
            if self.edits.len() > known {
                (tree, errors) = self.grammar(&skeleton.edits, skeleton.missing);
                tier = Tier::Repaired;
            }
        }
        if broken || !errors.is_empty() || skeleton.fault.is_some() {
            let fault = skeleton.fault.map(|at| self.tokens.all[at].start as usize);
            let error = errors.first().map(|range| range.start);
            return Parsed {
                tree,
                tier: Tier::Partial,
                bodies: 0,
                error: error.or(fault).map(|byte| byte.min(self.active.text.len())),
            };
        }
        let (mut bodies, mut error) = (0, None);
        if self.tokens.depth > tame::DEEPEST {
            tier = Tier::Skeleton;
        } else if doubt::any(self.tokens, &skeleton.bodies) {
            let mut errors = self.grammar(&[], 0).1;
            if !errors.is_empty() && tier == Tier::Whole {
                repair::repairs(self.tokens, &mut self.edits);
                if self.edits.len() > known {
                    errors = self.grammar(&[], 0).1;
                    tier = Tier::Repaired;
                }
            }
            if let Some(first) = errors.first() {
                tier = Tier::Skeleton;
                bodies = tame::with_errors(&skeleton.edits, &errors);
                error = Some(first.start);
            }
        }
        Parsed { tree, tier, bodies, error }
    }

    /// The tree of the text with these parts hidden, and its errors; one error of everything for no tree.
    fn grammar(&self, hidden: &[Edit], missing: usize) -> (Option<(Tree, GrammarText)>, Vec<Range<usize>>) {
        let mut shown = GrammarText::new(self.tokens, hidden.iter().chain(&self.edits));
        shown.text.extend(std::iter::repeat_n('}', missing));
        let Some(tree) = grammar::parse(&shown.text) else {
            return (None, std::iter::once(0..self.tokens.source.len()).collect());
        };
        let errors = error_ranges(&tree).into_iter().map(|bytes| shown.original(bytes)).collect();
        (Some((tree, shown)), errors)
    }
}

/// Whether lines of a file-based app stand before the code: `#!`, `#:package`, `#:project`, `#:sdk`, `#:property`.
fn is_app(text: &str, tokens: &Tokens<'_>) -> bool {
    let end = tokens.all.first().map_or(text.len(), |token| token.start as usize);
    text.starts_with("#!") || text[..end].lines().any(|line| line.trim_start().starts_with("#:"))
}

/// No declarations.
pub fn nothing(tier: Tier) -> Syntax {
    Syntax {
        tier,
        usings: Vec::new(),
        types: Vec::new(),
        top_level: false,
        is_app: false,
        is_generated: false,
        friends: Vec::new(),
    }
}

fn partial(file: &str, place: Option<(u32, u32)>, message: &str) -> Diagnostic {
    let (line, column) = place.unwrap_or_default();
    Diagnostic::warning(ErrorCode::CS_PARSE_PARTIAL, message).at(file, line, column)
}

/// The ERROR and MISSING nodes of a tree in the order of the text; one for all when there are too many.
fn error_ranges(tree: &Tree) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let root = tree.root_node();
    if !root.has_error() {
        return found;
    }
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.is_error() || node.is_missing() {
            found.push(node.byte_range());
            if found.len() > MOST_ERRORS {
                return std::iter::once(found[0].start..root.end_byte()).collect();
            }
        } else if node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return found;
            }
        }
    }
}
